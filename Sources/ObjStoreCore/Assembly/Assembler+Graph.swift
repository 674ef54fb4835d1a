/// Several objects that lead to each other, each described once; see `GraphNode`.
///
/// ```
///  0: Person ["Jane", [→1, →2]]     1: Dog ["Rex", →0]     2: Dog ["Ben", null]
///
///  followed in depth from 0    order 1, 2, 0: what a link leads to is there before the link,
///                              but for one link of each circle (1 → 0), which waits until all are there
/// ```
/// What a property of an object gets is written when all objects are there.
extension Assembler {
    final class Graph {
        let nodes: [GraphNode]
        /// Of what describes a node; of an element, of its place.
        let starts: [Int]
        /// Of objects: positions in the schema; else -1.
        let classes: [Int]
        /// What became of the nodes; -1: nothing yet.
        var keys: [Int64]
        var outcomes: [UpsertOutcome]
        /// The node that is being made.
        var current = 0

        init(_ nodes: [GraphNode], _ starts: [Int], _ classes: [Int]) {
            self.nodes = nodes
            self.starts = starts
            self.classes = classes
            keys = Array(repeating: -1, count: nodes.count)
            outcomes = Array(repeating: .unchanged, count: nodes.count)
        }

        /// Whether failures name the property that they are about as a place.
        var saysProperties: Bool { nodes[current].isDescribed }

        /// Nil: it is not there yet.
        func object(_ node: Int, in storeTag: UInt32) -> ObjectID? {
            keys[node] < 0
                ? nil : ObjectID(classID: ClassID.of(classes[node]), storeTag: storeTag, key: keys[node])
        }

        func didChange(_ node: Int) { if outcomes[node] == .unchanged { outcomes[node] = .changed } }
    }

    /// Makes all of them, in a `run`.
    func make(_ nodes: [GraphNode]) throws(StoreError) -> [GraphNode.Made] {
        var starts: [Int] = [], classes: [Int] = [], indexes: [Int?] = [], next = 0
        for (number, node) in nodes.enumerated() {
            starts.append(flat.starts[next])
            next += 1
            if case .element = node.target { next += 1 }
            do throws(StoreError) {
                let (classIndex, index) = try target(node)
                classes.append(classIndex)
                indexes.append(index)
            } catch {
                throw error.at(class: nil, position: number)
            }
        }
        let graph = Graph(nodes, starts, classes), order = try order(nodes, starts, classes)
        self.graph = graph
        do throws(StoreError) {
            for number in order {
                graph.current = number
                let made = try object(
                    classes[number], starts[number], isRoot: nodes[number].isRoot, by: indexes[number],
                    isAlone: nodes.count == 1)
                graph.keys[number] = made.key
                graph.outcomes[number] = made.outcome
                documents.removeAll(keepingCapacity: true)
            }
            for (number, node) in nodes.enumerated() {
                graph.current = number
                switch node.target {
                case .property(let object, let propertyID):
                    graph.keys[number] = object.key
                    if try set(object, propertyID, starts[number]) { graph.didChange(number) }
                case .element(let parent, let propertyID):
                    graph.keys[number] = try embed(
                        parent, propertyID, at: flat[starts[number]], starts[number] + 1)
                    graph.outcomes[number] = .created
                default: break
                }
            }
            if let waiting = options.waiting { try connect(waiting) }
        } catch {
            throw error.at(class: nil, position: graph.current)
        }
        return try result(graph)
    }

    private func result(_ graph: Graph) throws(StoreError) -> [GraphNode.Made] {
        let nodes = graph.nodes, tag = writer.storeTag
        var result: [GraphNode.Made] = []
        result.reserveCapacity(nodes.count)
        for (number, node) in nodes.enumerated() {
            var object = ObjectID(
                classID: ClassID.of(graph.classes[number]), storeTag: tag, key: graph.keys[number])
            switch node.target {
            case .property(let owner, _): object = owner
            case .element(let parent, let propertyID):
                let cls = try schema.cls(of: parent, in: writer.storeTag)
                object.classID = cls.columns[try cls.position(propertyID)].target
            default: break
            }
            result.append(GraphNode.Made(object: object, outcome: graph.outcomes[number]))
        }
        return result
    }

    /// The class of what is described, and where another index than the primary key's knows it, which.
    private func target(_ node: GraphNode) throws(StoreError) -> (classIndex: Int, index: Int?) {
        let cls: ClassSchema, index: Int?
        switch node.target {
        case .object(let classID): (cls, index) = (try schema.cls(classID), nil)
        case .indexed(let indexID): (cls, index) = try schema.uniqueIndex(indexID)
        case .property(let object, _), .element(let object, _):
            _ = try schema.cls(of: object, in: writer.storeTag)
            return (-1, nil)
        }
        if cls.isEmbedded { throw cls.embeddedError }
        return (Int(cls.id), index)
    }

    // MARK: Order

    /// A node that is being visited, and how far.
    private struct Visit {
        let node: Int
        var next: Int
        let end: Int
        /// Of the packed document before `next`, what it refers to.
        var inDocument: [Int] = []
    }

    /// The nodes that are objects in the order in which they are left when they are visited in depth: without
    /// recursion, for a chain may be long. Checks all references.
    private func order(_ nodes: [GraphNode], _ starts: [Int], _ classes: [Int]) throws(StoreError) -> [Int] {
        var order: [Int] = [], seen = Array(repeating: false, count: nodes.count), path: [Visit] = []
        order.reserveCapacity(nodes.count)
        func begin(_ node: Int) {
            seen[node] = true
            let end = node + 1 < nodes.count ? starts[node + 1] : flat.values.count
            path.append(Visit(node: node, next: starts[node], end: end))
        }
        for first in nodes.indices where !seen[first] {
            begin(first)
            while !path.isEmpty {
                var found: Int?
                do throws(StoreError) { found = try nextReference(&path[path.count - 1], classes) } catch {
                    throw error.at(class: nil, position: path[path.count - 1].node)
                }
                guard let target = found else {
                    let node = path.removeLast().node
                    if classes[node] >= 0 { order.append(node) }
                    continue
                }
                if !seen[target] { begin(target) }
            }
        }
        return order
    }

    /// The next node that one refers to; nil: there is no other.
    private func nextReference(_ visit: inout Visit, _ classes: [Int]) throws(StoreError) -> Int? {
        if let target = visit.inDocument.popLast() { return target }
        while visit.next < visit.end {
            let index = visit.next, value = flat[index]
            visit.next += 1
            if value.isNode, let target = try reference(value.low, index, classes) { return target }
            guard value.kind == .document else { continue }
            for number in nodesIn(value).reversed() {
                if let target = try reference(number, index, classes) { visit.inDocument.append(target) }
            }
            if let target = visit.inDocument.popLast() { return target }
        }
        return nil
    }

    /// The numbers in references of a packed document; none of a damaged one, which is refused where it is written.
    func nodesIn(_ document: Value) -> [Int64] {
        var numbers: [Int64] = []
        try? MixedLinks.forEach(document) { link in
            if link.isNode { numbers.append(link.low) }
            return true
        }
        return numbers
    }

    /// The node that has a number; nil: that of what is not given.
    private func reference(_ number: Int64, _ index: Int, _ classes: [Int]) throws(StoreError) -> Int? {
        if number == -1 { return nil }
        guard number >= 0, number < classes.count else {
            throw StoreError(
                .outOfRange,
                "values[\(index)]: it refers to node \(number), where there \(classes.count == 1 ? "is" : "are") "
                    + classes.count.counted("node"))
        }
        guard classes[Int(number)] >= 0 else {
            throw StoreError(
                .wrongType, "values[\(index)]: it refers to node \(number), which is a property, and no object")
        }
        return Int(number)
    }

    // MARK: References

    /// What a link to a node leads to.
    func node(_ index: Int, _ cls: ClassSchema, _ position: Int) throws(StoreError) -> WaitingLinks.Target {
        let (graph, number) = try referred(by: flat[index], index, cls, position)
        let target = cls.columns[position].target, schema = self.schema
        guard ClassID.of(graph.classes[number]) == target else {
            let link = cls.columns[position].kind.isCollection ? "has links" : "is a link"
            throw cls.naming(
                StoreError(
                    .wrongType,
                    """
                    it \(link) to \(schema.classes[ClassID.index(target)].name), not to an object of class \
                    \(schema.classes[graph.classes[number]].name)
                    """), position)
        }
        return graph.keys[number] < 0 ? .node(number) : .object(graph.keys[number])
    }

    func referred(
        by value: Value, _ index: Int, _ cls: ClassSchema, _ position: Int
    ) throws(StoreError) -> (graph: Graph, number: Int) {
        current = index
        guard let graph else { throw cls.naming(value.givenObject.wrongStore, position) }
        if value.isNotGiven {
            throw cls.naming(
                StoreError(.invalidArgument, "only a property of an object can be one that is not given"), position)
        }
        return (graph, Int(value.low))
    }
}
