/// A question to the objects of one class: which of them, and in what order. Everything that searches, changes, deletes
/// or observes objects takes one. Immutable; any thread may ask it, in any view of its store.
///
/// ```
///  text ──► QueryParser ──┐
///  nodes ─────────────────┴► QueryTree ──► QueryBinder ──► Query ──► QueryRun, in a version or a transaction
/// ```
package final class Query: Sendable {
    package let classID: UInt32
    /// Of the store that it was made for; 0: it was made inside, for a view.
    let storeTag: UInt32
    let predicate: Predicate
    let origin: QueryOrigin
    let steps: [QueryStep]
    /// What it was made of, with the bytes that the predicate and the steps point to; nil: of no nodes.
    let tree: QueryTree?
    /// Of properties that the tree has by their ids.
    let names: QueryNames?
    /// Functions of the application are called while it is asked.
    package let callsFunctions: Bool
    /// Of queries that it was joined of: they own bytes.
    private let parts: [Query]

    init(
        _ classID: UInt32, storeTag: UInt32 = 0, _ predicate: Predicate = .always, of origin: QueryOrigin = .objects,
        steps: [QueryStep] = [], tree: QueryTree? = nil, names: QueryNames? = nil, parts: [Query] = []
    ) {
        self.classID = classID
        self.storeTag = storeTag
        self.predicate = predicate
        self.origin = origin
        self.steps = steps
        self.tree = tree
        self.names = names
        self.parts = parts
        callsFunctions = predicate.callsFunctions || steps.contains(where: \.callsFunctions)
    }

    /// All objects of a class, in the order of creation.
    package convenience init(all classID: UInt32) { self.init(classID, .always) }

    /// Those that satisfy a predicate, in the order of creation.
    package convenience init(_ classID: UInt32, where predicate: Predicate) { self.init(classID, predicate) }

    /// Those that satisfy `property op value`. The value is copied.
    package convenience init(
        _ classID: UInt32, _ propertyID: UInt32, _ comparison: Comparison, _ value: Value, isInside: Bool = false
    ) throws(StoreError) {
        let test = try ColumnTest(propertyID, comparison, value, isInside: isInside)
        self.init(classID, Predicate(test))
    }

    /// A part of an index.
    package convenience init(_ classID: UInt32, in stretch: IndexStretch) {
        self.init(classID, .always, of: .stretch(stretch))
    }

    /// All objects of the class, in the order of creation.
    var isAll: Bool { isWhole && origin.isObjects }
    /// All of its origin, in the order of that.
    private var isWhole: Bool { predicate.isTrue && steps.isEmpty }

    /// What `next` finds among what this one finds, and in its order.
    ///
    /// Errors: `.invalidArgument`: they are of two classes; `.wrongStore`; `.invalidQuery`: the condition is too deep;
    /// `.notSupported`: `next` is of a part of an index, or of a collection.
    package func then(_ next: Query) throws(StoreError) -> Query {
        if storeTag != 0 && next.storeTag != 0 && storeTag != next.storeTag {
            throw StoreError(.wrongStore, "the queries are of two stores")
        }
        guard classID == next.classID else {
            throw StoreError(.invalidArgument, "the queries are of two classes")
        }
        if next.isAll { return self }
        if isAll { return next }
        guard next.origin.isObjects else {
            throw StoreError(
                .notSupported, "\(next.origin.name) is no condition that objects of another query can satisfy")
        }
        let tag = storeTag == 0 ? next.storeTag : storeTag
        if steps.allSatisfy(\.isSort) || InjectedBug.active(.queryJoinedBefore) {
            return Query(
                classID, storeTag: tag, try predicate.and(next.predicate), of: origin, steps: steps + next.steps,
                tree: try joinedTree(next), names: next.names ?? names, parts: [self, next])
        }
        let filter = next.predicate.isTrue ? [] : [QueryStep.filter(next.predicate)]
        return Query(
            classID, storeTag: tag, predicate, of: origin, steps: steps + filter + next.steps,
            tree: filter.isEmpty ? try joinedTree(next) : nil, names: next.names ?? names,
            parts: [self, next])
    }

    /// The same for one that may give a table.
    package func then(_ next: AnyQuery) throws(StoreError) -> AnyQuery {
        switch next {
        case .objects(let query): .objects(try then(query))
        case .table(let query): .table(try query.of(self))
        case .values:
            throw StoreError(.invalidArgument, "one query is about objects, the other about plain values")
        }
    }

    /// Its first objects.
    package func limited(to count: Int) -> Query {
        Query(
            classID, storeTag: storeTag, predicate, of: origin, steps: steps + [.limit(count)], tree: nil,
            parts: [self])
    }

    /// The same without what it was made of, where its condition can do without.
    var withoutText: Query {
        guard tree != nil || !parts.isEmpty, origin.stretch == nil,
            steps.allSatisfy(\.isCut), let predicate = predicate.copied
        else { return self }
        return Query(classID, storeTag: storeTag, predicate, of: origin, steps: steps)
    }

    // MARK: As a text

    /// The canonical text: the same query is made of it.
    ///
    /// Errors: `.notSupported`: it is of a part of an index, or of a collection, or there is a condition behind a step
    /// that has to come first.
    package func text() throws(StoreError) -> String {
        try checkIsOfClass()
        guard let tree else {
            if isAll { return "TRUEPREDICATE" }
            throw StoreError(
                .notSupported,
                steps.isEmpty
                    ? "this query was made of links, and cannot be written as a text"
                    : """
                    a query of links, and a condition behind a LIMIT, OFFSET or DISTINCT, cannot be written as a text
                    """)
        }
        if tree.nodes.contains(where: { $0.value.kind == .document }) {
            throw StoreError(.notSupported, "a nested list or map cannot be written in a text")
        }
        return try QueryPrinter.text(tree.nodes) { [names] node in names?.name(node) }
    }

    /// Errors: `.notSupported`: what it begins with has no words.
    func checkIsOfClass() throws(StoreError) {
        guard origin.isObjects else {
            throw StoreError(.notSupported, "a query of \(origin.name) cannot be written as a text")
        }
    }

    /// The same, followed by a NUL.
    package func ownedText() throws(StoreError) -> OwnedValue {
        try OwnedValue.text(try text())
    }

    /// Condition and steps of the nodes, which end with a `query` or are a condition.
    private var split: (condition: ArraySlice<QueryNode>, steps: ArraySlice<QueryNode>, count: Int)? {
        guard origin.stretch == nil else { return nil }
        guard let nodes = tree?.nodes else { return isWhole ? ([], [], 0) : nil }
        guard let last = nodes.last, last.kind == .query else { return (nodes[...], [], 0) }
        guard let shape = try? QueryShape(nodes) else { return nil }
        let first = shape.firstOperand(of: nodes.count - 1, in: nodes)
        return (nodes[...first], nodes[(first + 1)..<(nodes.count - 1)], Int(last.operands) - 1)
    }

    /// Nil where one of them has no nodes.
    private func joinedTree(_ next: Query) throws(StoreError) -> QueryTree? {
        guard let mine = split, let other = next.split else { return nil }
        var nodes: [QueryNode] = []
        func isTruth(_ nodes: ArraySlice<QueryNode>) -> Bool {
            nodes.isEmpty || nodes.count == 1 && nodes.first?.kind == .truth && nodes.first?.number == 1
        }
        switch (isTruth(mine.condition), isTruth(other.condition)) {
        case (true, true):
            var truth = QueryNode(.truth)
            truth.number = 1
            nodes = [truth]
        case (true, false): nodes = Array(other.condition)
        case (false, true): nodes = Array(mine.condition)
        case (false, false): nodes = mine.condition + other.condition + [QueryNode(.and, operands: 2)]
        }
        nodes += mine.steps + other.steps
        nodes.append(QueryNode(.query, operands: 1 + mine.count + other.count))
        return try QueryTree(nodes)
    }
}

/// What properties were called where a query was made.
struct QueryNames: Sendable {
    private let schema: Schema
    private let stored: StoredNames

    init(_ schema: Schema, _ stored: StoredNames) {
        self.schema = schema
        self.stored = stored
    }

    /// The name of a property, or of a `name` a class, that a node has by its id; nil: there is none.
    func name(_ node: QueryNode) -> String? {
        guard let id = UInt32(exactly: node.number) else { return nil }
        if node.kind == .name {
            let index = ClassID.index(id)
            return schema.classes.indices.contains(index) ? stored.name(schema.classes[index]) : nil
        }
        let index = PropertyID.classIndex(id)
        guard schema.classes.indices.contains(index) else { return nil }
        let cls = schema.classes[index]
        return PropertyID.position(id, cls.id, cls.columns).map { stored.name(cls, $0) }
    }
}

extension OwnedValue {
    /// A text, and a NUL behind it.
    static func text(_ text: String) throws(StoreError) -> OwnedValue {
        var text = text + "\0", result: Result<OwnedValue, StoreError>?
        text.withUTF8 { bytes in
            result = Result { () throws(StoreError) in
                try OwnedValue(copying: .string(UnsafeRawPointer(bytes.baseAddress), bytes.count))
            }
        }
        return try result.unsafelyUnwrapped.get()
    }
}
