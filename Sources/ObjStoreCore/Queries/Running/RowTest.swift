/// Asks the predicate of a query about single objects, of one version or of a transaction. What a comparison is about
/// that the version does not have is false.
struct RowTest {
    private enum Step {
        case truth(Bool)
        case column(Int, Comparison, Value)
        case values(BoundValues)
        /// Which owners have a link to the object with the key.
        case inverse(IndexReader, Int64)
        case mixedInverse(IndexReader, Value)
        /// Which of its links in a column lead to an object of which another test is true.
        indirect case targets(Int, RowTest)
        case not, and, or
    }

    private let query: Query
    private let trees: TreeAccess
    private let cls: ClassSchema?
    private let reader: ClusterReader?
    private let steps: [Step]
    /// The part of an index that they are in.
    private let stretch: IndexPlaces?
    /// The positions of the columns that the answer depends on; nil: the version does not have all of them.
    let columns: [Int]?

    /// - Parameter asksStretch: also whether objects are in the part of an index that the query is of.
    /// Errors: as of `BoundTest`.
    init(_ query: Query, _ trees: TreeAccess, asksStretch: Bool = false) throws(StoreError) {
        self.query = query
        self.trees = trees
        let number = ClassID.index(query.classID)
        guard number < trees.schema.classes.count else {
            (reader, steps, columns, cls, stretch) = (nil, [], nil, nil, nil)
            return
        }
        let cls = trees.schema.classes[number]
        self.cls = cls
        let reader = try trees.objects(cls)
        var steps: [Step] = [], columns: [Int] = [], hasAll = true
        for node in query.predicate.nodes {
            switch node {
            case .truth(let truth): steps.append(.truth(truth))
            case .not: steps.append(.not)
            case .and: steps.append(.and)
            case .or: steps.append(.or)
            case .values(let test):
                guard test.properties.allSatisfy({ PropertyID.position($0, cls.id, cls.columns) != nil }) else {
                    steps.append(.truth(false))
                    hasAll = false
                    continue
                }
                let bound = try BoundValues(test, trees, reader, cls)
                columns += bound.positions
                steps.append(.values(bound))
            case .paths(let test):
                guard trees.schema.has(test.properties) else {
                    steps.append(.truth(false))
                    hasAll = false
                    continue
                }
                columns += test.properties.compactMap { PropertyID.position($0, cls.id, cls.columns) }
                steps.append(.values(try BoundValues(test, trees, reader, cls)))
            case .test(let test):
                guard PropertyID.position(test.propertyID, cls.id, cls.columns) != nil else {
                    steps.append(.truth(false))
                    hasAll = false
                    continue
                }
                let bound = try BoundTest(test, trees, cls)
                columns.append(bound.position)
                switch bound.source {
                case .column: steps.append(.column(bound.position, test.comparison, test.value))
                case .inverse: steps.append(.inverse(try trees.inverse(cls, bound.position), test.value.low))
                case .targets:
                    steps.append(.targets(bound.position, try RowTest(test.targets.unsafelyUnwrapped, trees)))
                case .mixedInverse:
                    let target = MixedTarget(test.value).indexed
                    steps.append(.mixedInverse(try trees.mixedInverse(cls, bound.position), target))
                }
            }
        }
        stretch =
            asksStretch
            ? try query.origin.stretch.map { (stretch) throws(StoreError) in try IndexPlaces(stretch, trees) } : nil
        if let stretch { columns += stretch.properties }
        (self.reader, self.steps, self.columns) = (reader, steps, hasAll ? columns : nil)
    }

    /// The object exists in the version.
    func holds(_ key: Int64) throws(StoreError) -> Bool {
        guard let reader else { return false }
        if let stretch, try stretch.position(of: key) == nil { return false }
        if steps.isEmpty { return true }
        guard let row = try reader.find(key) else {
            throw StoreError(.corrupt, "the log names the object \(key), which the version does not have")
        }
        var stack: UInt128 = 0
        for step in steps {
            switch step {
            case .truth(let truth): stack = stack << 1 | (truth ? 1 : 0)
            case .column(let position, let comparison, let constant):
                let holds = try LeafMatcher.holds(
                    comparison, try reader.value(row, position), constant, in: reader.columns[position].kind)
                stack = stack << 1 | (holds ? 1 : 0)
            case .values(let test): stack = stack << 1 | (try test.holds(row) ? 1 : 0)
            case .inverse(let inverse, let target):
                stack = stack << 1 | (try inverse.contains(target: target, occurrence: 0, owner: key) ? 1 : 0)
            case .mixedInverse(let inverse, let target):
                stack = stack << 1 | (try inverse.contains(target, key) ? 1 : 0)
            case .targets(let position, let test):
                stack = stack << 1 | (try holds(row, position, test) ? 1 : 0)
            case .not: stack ^= 1
            case .and: stack = stack >> 1 & ~1 | (stack & stack >> 1 & 1)
            case .or: stack = stack >> 1 | stack & 1
            }
        }
        return stack & 1 != 0
    }

    /// The objects of a list of which it is true, in its order: `limit` of them at most.
    func kept(of list: KeyBuffer, first limit: Int = .max) throws(StoreError) -> KeyBuffer {
        let kept = KeyBuffer()
        for index in 0..<list.count {
            if _slowPath(WatchedQuery.isOn) { try WatchedQuery.look(1) }
            guard try holds(list.keys[index]) else { continue }
            try kept.append(list.keys[index])
            if kept.count == limit { break }
        }
        return kept
    }

    /// Whether a link in a column leads to an object of which another test is true.
    private func holds(_ row: RowPosition, _ position: Int, _ test: RowTest) throws(StoreError) -> Bool {
        guard let reader, let cls else { return false }
        if !cls.columns[position].kind.isCollection {
            let link = try reader.value(row, position)
            return link.isNull ? false : try test.holds(link.low)
        }
        var holds = false
        try trees.elements(row, cls, position, reader).forEach { (_, link) throws(StoreError) in
            if !link.isNull { holds = try test.holds(link.low) }
            return !holds
        }
        return holds
    }
}
