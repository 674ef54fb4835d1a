internal import ObjStoreCore

/// Nodes of a query, as the core takes them, with the bytes of their constants: what an expression in `where` is, and
/// what a `filter` is given for `$0`, `$1` …
struct QueryNodes: @unchecked Sendable {
    // Unchecked: what nodes point to is in `bytes`; `pointer` is the place there, counted from 1.
    private(set) var nodes: [QueryNode]
    private var bytes: [UInt8] = []
    private var failure: Failure?
    /// Where the path of a collection of objects ends, the first one of its path, of whose elements what follows is
    /// meant: not of the collection as a whole, as for its `count`. See `subquery(_:)`.
    private(set) var collections: [Int] = []
    /// There are variables with the names of `newVariable()`, which are no levels yet.
    private var hasVariables = false

    /// In a class, for it is seldom there, and large.
    private final class Failure: Sendable {
        let error: ObjStoreError
        init(_ error: ObjStoreError) { self.error = error }
    }

    init() { nodes = [] }

    /// Why there is no query.
    init(failed error: ObjStoreError) {
        nodes = []
        failure = Failure(error)
    }

    /// What `body` makes; or why it does not.
    init(_ body: () throws(ObjStoreError) -> QueryNodes) {
        do throws(ObjStoreError) { self = try body() } catch { self.init(failed: error) }
    }

    var failed: Bool { failure != nil }

    /// The object that is asked about.
    static let object: QueryNodes = {
        var nodes = QueryNodes()
        nodes.append(.variable)
        return nodes
    }()

    // MARK: Appending

    mutating func append(
        _ kind: QueryNode.Kind, choice: UInt8 = 0, modifiers: QueryNode.Modifiers = [], operands: Int = 0,
        number: Int64 = 0
    ) {
        var node = QueryNode(kind, operands: operands)
        node.choice = choice
        node.modifiers = modifiers
        node.number = number
        nodes.append(node)
    }

    mutating func append(_ comparison: QueryOperator, _ modifiers: QueryNode.Modifiers = []) {
        append(.compare, choice: comparison.rawValue, modifiers: modifiers, operands: 2)
    }

    /// A property of values of any type with a link, which may be anywhere inside. The language of queries does not
    /// have it: it is a query of its own.
    mutating func appendInside(_ link: _QueryValue) {
        append(constant: link)
        append(.compare, choice: QueryNode.inside, operands: 2)
    }

    mutating func append(constant value: _QueryValue) {
        do throws(ObjStoreError) { try value.withValue { append(.constant, value: $0) } } catch { fail(error) }
    }

    /// A value of a map, by its key.
    mutating func append(key: _QueryValue) {
        do throws(ObjStoreError) {
            try key.withValue { append(.key, operands: 1, value: $0) }
        } catch { fail(error) }
    }

    /// A class by its name, for a step back along its links.
    mutating func append(className: String) {
        var name = className
        name.withUTF8 { append(.name, value: .string($0.baseAddress, $0.count)) }
    }

    /// A function of the values before it.
    mutating func append(call name: String, operands: Int) {
        var name = name
        name.withUTF8 { append(.call, operands: operands, value: .string($0.baseAddress, $0.count)) }
    }

    /// A step of a path by its name.
    mutating func append(_ kind: QueryNode.Kind, name: String) {
        var name = name
        name.withUTF8 { append(kind, operands: 1, value: .string($0.baseAddress, $0.count)) }
    }

    private mutating func append(_ kind: QueryNode.Kind, operands: Int = 0, value: Value) {
        var node = QueryNode(kind, operands: operands)
        node.value = value
        node.value.pointer = nil
        if value.kind.hasBytes, value.count > 0 {
            node.value.pointer = UnsafeRawPointer(bitPattern: bytes.count + 1)
            bytes.append(contentsOf: UnsafeRawBufferPointer(start: value.pointer, count: value.count))
        }
        nodes.append(node)
    }

    mutating func append(_ other: QueryNodes) {
        if failure == nil { failure = other.failure }
        if other.hasVariables { hasVariables = true }
        let start = nodes.count, moved = bytes.count
        if !other.collections.isEmpty { collections += other.collections.map { $0 + start } }
        nodes.append(contentsOf: other.nodes)
        guard !other.bytes.isEmpty else { return }
        bytes.append(contentsOf: other.bytes)
        for index in start..<nodes.count { nodes[index].value.pointer = nodes[index].value.pointer.map { $0 + moved } }
    }

    mutating func fail(_ error: ObjStoreError) { if failure == nil { failure = Failure(error) } }

    // MARK: Conditions

    /// Makes a truth value of a property that is a bool.
    mutating func makeCondition() {
        switch nodes.last?.kind {
        case .truth, .and, .or, .not, .compare: return
        default: break
        }
        append(constant: .bool(true))
        append(.equal)
    }

    /// A chain of ANDs, or of ORs, is one node.
    mutating func join(_ other: QueryNodes, by kind: QueryNode.Kind) {
        makeCondition()
        var other = other, operands: UInt32 = 2
        other.makeCondition()
        if let last = nodes.last, last.kind == kind {
            operands = last.operands + 1
            nodes.removeLast()
        }
        append(other)
        append(kind, operands: Int(operands))
    }

    // MARK: Paths

    /// The path that the first nodes are.
    func prefix(_ count: Int) -> QueryNodes {
        var path = self
        path.nodes.removeSubrange(count...)
        path.collections.removeAll { $0 >= count }
        return path
    }

    /// The last node ends the path of a collection of objects.
    mutating func beginElements() { collections.append(nodes.count - 1) }

    /// The collection whose path `count` nodes are is meant as a whole, or one element of it by its place.
    mutating func endElements(of count: Int) {
        if let last = collections.last, last == count - 1 { collections.removeLast() }
    }

    /// All that are there.
    mutating func endElements() { collections = [] }

    // MARK: Levels

    private static let variables = Guarded<Int64>(0)

    /// The name of a variable that is in no other query: as long as parts of a query are put together, nobody knows
    /// how many subqueries will be around it.
    static func newVariable() -> Int64 {
        variables.withLock { last in
            last += 1
            return last
        }
    }

    mutating func append(variable: Int64) {
        hasVariables = true
        append(.variable, number: variable)
    }

    /// An aggregate of the collection whose path the first nodes are; those behind it lead from each element to what
    /// is added up.
    mutating func append(_ aggregate: QueryAggregate, of collection: Int) {
        endElements(of: collection)
        let variable = QueryNodes.newVariable()
        var node = QueryNode(.variable)
        node.number = variable
        nodes.insert(node, at: collection)
        hasVariables = true
        append(.aggregate, choice: aggregate.rawValue, operands: 2, number: variable)
    }

    /// An aggregate of the objects of a group, which is before it: of a value of each, said as if it were asked about.
    mutating func append(_ aggregate: QueryAggregate, ofEach value: QueryNodes) {
        let variable = QueryNodes.newVariable()
        var value = value
        for index in value.nodes.indices where value.nodes[index].kind == .variable && value.nodes[index].number == 0 {
            value.nodes[index].number = variable
        }
        append(value)
        collections = []
        hasVariables = true
        append(.aggregate, choice: aggregate.rawValue, operands: 2, number: variable)
    }

    /// Those elements of the collection before it for which a condition about a variable is true.
    mutating func append(filter condition: QueryNodes, about variable: Int64) {
        var condition = condition
        condition.makeCondition()
        let nodes = condition
        condition.collections.removeAll { nodes.nodes[nodes.start(ofPathTo: $0)].number == variable }
        append(condition)
        append(.filter, operands: 2, number: variable)
    }

    private func start(ofPathTo end: Int) -> Int {
        var start = end
        while nodes[start].kind != .variable { start -= 1 }
        return start
    }

    /// The elements of a collection for which the condition that these nodes are is true: what they say of
    /// `collection`, or where that is nil, of the only collection of which they say anything, is about one element
    /// then.
    ///
    /// Errors: `.invalidQuery`: they are about no collection, or about several.
    func subquery(_ collection: QueryNodes? = nil) throws(ObjStoreError) -> QueryNodes {
        if let failure { throw failure.error }
        var condition = self, places: [ClosedRange<Int>] = []
        if let collection {
            let count = collection.nodes.count
            for start in nodes.indices where nodes[start].kind == .variable && start + count <= nodes.count {
                let place = start...(start + count - 1)
                if isSame(place, as: collection, 0...(count - 1)) { places.append(place) }
            }
        } else {
            places = collections.map { start(ofPathTo: $0)...$0 }
        }
        guard let first = places.first else {
            throw ObjStoreError(
                .invalidQuery, "what is counted is not a condition about the objects of a collection")
        }
        guard places.allSatisfy({ isSame($0, as: self, first) }) else {
            throw ObjStoreError(
                .invalidQuery, "what is counted is a condition about several collections: it has to be about one")
        }
        let variable = QueryNodes.newVariable()
        for place in places.reversed() {
            var element = QueryNode(.variable)
            element.number = variable
            condition.nodes.replaceSubrange(place, with: CollectionOfOne(element))
        }
        condition.collections = []
        condition.hasVariables = true
        var result = QueryNodes()
        result.nodes = Array(nodes[first])
        result.bytes = bytes
        result.hasVariables = hasVariables
        result.append(filter: condition, about: variable)
        return result
    }

    private func isSame(_ place: ClosedRange<Int>, as other: QueryNodes, _ otherPlace: ClosedRange<Int>) -> Bool {
        guard place.count == otherPlace.count else { return false }
        return zip(place, otherPlace).allSatisfy { index, otherIndex in
            let a = nodes[index], b = other.nodes[otherIndex]
            guard a.kind == b.kind, a.choice == b.choice, a.number == b.number, a.value.kind == b.value.kind else {
                return false
            }
            return a.value.kind.hasBytes
                ? text(a.value) == other.text(b.value) : a.value.low == b.value.low && a.value.high == b.value.high
        }
    }

    private func text(_ value: Value) -> ArraySlice<UInt8> {
        guard let place = value.pointer else { return [] }
        return bytes[(Int(bitPattern: place) - 1)...].prefix(value.count)
    }

    /// Variables become the levels that they are where they stand.
    private mutating func setLevels() throws(ObjStoreError) {
        // From the last node to the first: of each node around, how many operands are to come.
        var around: [(operands: UInt32, isLevel: Bool)] = [], levels: [Int64] = [0]
        for index in nodes.indices.reversed() {
            let node = nodes[index], isLevel = node.kind == .filter || node.kind == .aggregate
            if isLevel {
                levels.append(node.number)
                nodes[index].number = 0
            } else if node.kind == .variable {
                guard let level = levels.lastIndex(of: node.number) else {
                    throw ObjStoreError(.invalidQuery, "an element is used outside of the closure that was given it")
                }
                nodes[index].number = Int64(level)
            }
            if node.operands > 0 {
                around.append((node.operands, isLevel))
                continue
            }
            while let (operands, isLevel) = around.popLast() {
                // The condition, or what is added up, is the last of two operands, and comes first here.
                if isLevel, operands == 2 { levels.removeLast() }
                if operands > 1 {
                    around.append((operands - 1, isLevel))
                    break
                }
            }
        }
    }

    // MARK: For the core

    /// Calls `body` with the nodes; they are valid until it returns.
    func withNodes<T>(_ body: ([QueryNode]) throws(StoreError) -> T) throws(ObjStoreError) -> T {
        if let failure { throw failure.error }
        if hasVariables {
            var own = self
            try own.setLevels()
            own.hasVariables = false
            return try own.withNodes(body)
        }
        if bytes.isEmpty { return try core { () throws(StoreError) in try body(nodes) } }
        let result = bytes.withUnsafeBytes { bytes in
            var own = nodes
            for index in own.indices {
                own[index].value.pointer = own[index].value.pointer.map { place in
                    bytes.baseAddress.unsafelyUnwrapped + (Int(bitPattern: place) - 1)
                }
            }
            return Result { () throws(StoreError) in try body(own) }
        }
        return try core { () throws(StoreError) in try result.get() }
    }

    /// The same with constants, and lists of them, as the arguments of a text.
    func withArguments<T>(_ body: ([QueryArgument]) throws(StoreError) -> T) throws(ObjStoreError) -> T {
        try withNodes { (nodes) throws(StoreError) in
            var arguments: [QueryArgument] = []
            for node in nodes {
                guard node.kind == .list else {
                    arguments.append(.value(node.value))
                    continue
                }
                let elements = arguments.suffix(Int(node.operands))
                let values = elements.compactMap { if case .value(let value) = $0 { value } else { nil } }
                arguments.removeLast(elements.count)
                arguments.append(.list(values))
            }
            return try body(arguments)
        }
    }
}

extension QueryNode {
    fileprivate static let inside = UInt8.max

    /// See `QueryNodes.appendInside`.
    var isInside: Bool { kind == .compare && choice == QueryNode.inside }
}
