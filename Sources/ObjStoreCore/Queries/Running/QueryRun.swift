/// A query, asked once: of the trees of one version, or of a transaction. One comparison is answered by an index or an
/// inverse where there is one, and so are several that must all be true where one of them leaves few objects;
/// everything else by a scan of the leaves.
struct QueryRun {
    let query: Query
    let trees: TreeAccess
    let cls: ClassSchema

    /// Errors: `.noSuchClass`: the version is older than the class, or it was dropped; `.wrongStore`.
    init(_ query: Query, _ trees: TreeAccess) throws(StoreError) {
        self.query = query
        self.trees = trees
        if query.storeTag != 0 && query.storeTag != trees.storeTag {
            throw StoreError(.wrongStore, "the query is of another store")
        }
        cls = try trees.schema.cls(query.classID)
    }

    // All of them may throw `.noSuchProperty` (the version is older than it, or it was dropped) and `.wrongType`.
    // What is bound is a local of each: copying it as a member would count its references.

    func check() throws(StoreError) {
        for node in query.predicate.nodes {
            switch node {
            case .test(let test): _ = try BoundTest(test, trees, cls)
            case .values(let test): for id in test.properties { _ = try cls.position(id) }
            case .truth, .not, .and, .or: break
            }
        }
    }

    func count() throws(StoreError) -> Int {
        if _slowPath(!query.steps.isEmpty) {
            // Sorting does not change how many there are.
            if let count = QueryRun.count(try found(), after: query.steps) { return count }
            return try keys().count
        }
        return try found()
    }

    /// How many satisfy the condition.
    private func found() throws(StoreError) -> Int {
        if let stretch = query.stretch { return try trees.count(in: stretch) }
        guard let test = query.predicate.single else {
            if query.predicate.isTrue { return try trees.objectCount(cls) }
            if let few = try fewKeys() { return few.count }
            return try scan().count()
        }
        let bound = try BoundTest(test, trees, cls)
        if let count = try bound.count() { return count }
        return try bound.scan(of: query).count()
    }

    /// The key of the first one.
    func first() throws(StoreError) -> Int64? {
        if _slowPath(!query.steps.isEmpty) {
            let list = try list(query.steps + [.limit(1)])
            return list.count > 0 ? list.keys[0] : nil
        }
        if let stretch = query.stretch { return try trees.first(in: stretch) }
        guard let test = query.predicate.single else {
            return query.predicate.isTrue ? try trees.objects(cls).seek(0)?.key : try scan().first()
        }
        let bound = try BoundTest(test, trees, cls)
        switch try bound.first() {
        case .key(let key): return key
        case .nothing: return nil
        case .unknown: return try bound.scan(of: query).first()
        }
    }

    /// The keys of all, in their order.
    func keys() throws(StoreError) -> KeyBuffer { try list(query.steps) }

    private func list(_ steps: [QueryStep]) throws(StoreError) -> KeyBuffer {
        try apply(steps[...], to: try satisfying(first: QueryRun.end(of: steps[...]) ?? .max))
    }

    /// The first that satisfy the condition, before any step.
    private func satisfying(first limit: Int) throws(StoreError) -> KeyBuffer {
        if let stretch = query.stretch { return try trees.keys(in: stretch) }
        if query.predicate.isTrue {
            let keys = try KeyBuffer(expecting: min(limit, try trees.objectCount(cls)))
            try scan().collect(into: keys, limit: limit)
            return keys
        }
        if let few = try fewKeys() { return few }
        let keys = KeyBuffer()
        try scan().collect(into: keys, limit: limit)
        return keys
    }

    /// All, ascending, where something else than a scan finds them.
    func fewKeys() throws(StoreError) -> KeyBuffer? {
        guard let test = query.predicate.single else { return try narrowed() }
        return try BoundTest(test, trees, cls).keys()
    }

    /// Of several comparisons that must all be true: what the index of the rarest one finds, as far as it satisfies the
    /// others.
    private func narrowed() throws(StoreError) -> KeyBuffer? {
        let tests = query.predicate.necessaryTests
        if tests.isEmpty { return nil }
        // Looking at one object costs as much as scanning a few dozens.
        var least = max(64, try trees.objectCount(cls) / 50), rarest: ColumnTest?
        for test in tests {
            if let count = try BoundTest(test, trees, cls).count(), count <= least { (least, rarest) = (count, test) }
        }
        guard let rarest, let candidates = try BoundTest(rarest, trees, cls).keys() else { return nil }
        let test = try RowTest(query, trees), keys = KeyBuffer()
        for index in 0..<candidates.count where try test.holds(candidates.keys[index]) {
            try keys.append(candidates.keys[index])
        }
        return keys
    }

    func scan() throws(StoreError) -> LeafScan {
        if let test = query.predicate.single {
            let bound = try BoundTest(test, trees, cls)
            if bound.source == .column { return try bound.scan(of: query) }
        }
        let reader = try trees.objects(cls)
        var steps: [LeafScan.Step] = []
        for node in query.predicate.nodes {
            switch node {
            case .truth(let truth): steps.append(.truth(truth))
            case .not: steps.append(.not)
            case .and: steps.append(.and)
            case .or: steps.append(.or)
            case .values(let test): steps.append(.values(try BoundValues(test, reader, cls)))
            case .test(let test):
                let bound = try BoundTest(test, trees, cls)
                if bound.source == .column {
                    steps.append(.column(bound.position, test.comparison, test.value))
                } else {
                    // An inverse finds its owners without a scan.
                    steps.append(.keys(try bound.keys().unsafelyUnwrapped))
                }
            }
        }
        return try LeafScan(reader, steps, depth: query.predicate.depth, of: query)
    }
}
