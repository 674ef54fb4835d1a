/// A query, asked once: of the trees of one version, or of a transaction. One comparison is answered by an index or an
/// inverse where there is one, everything else by a scan of the leaves.
struct QueryRun {
    let query: Query
    let trees: TreeAccess
    let cls: ClassSchema

    /// Errors: `.noSuchClass`: the version is older than the class, or it was dropped.
    init(_ query: Query, _ trees: TreeAccess) throws(StoreError) {
        self.query = query
        self.trees = trees
        cls = try trees.schema.cls(query.classID)
    }

    // All of them may throw `.noSuchProperty` (the version is older than it, or it was dropped) and `.wrongType`.
    // What is bound is a local of each: copying it as a member would count its references.

    func check() throws(StoreError) {
        for node in query.predicate.nodes {
            if case .test(let test) = node { _ = try BoundTest(test, trees, cls) }
        }
    }

    func count() throws(StoreError) -> Int {
        if let stretch = query.stretch { return try trees.count(in: stretch) }
        guard let test = query.predicate.single else {
            return query.predicate.isTrue ? try trees.objectCount(cls) : try scan().count()
        }
        let bound = try BoundTest(test, trees, cls)
        if let count = try bound.count() { return count }
        return try bound.scan(of: query).count()
    }

    /// The key of the first one.
    func first() throws(StoreError) -> Int64? {
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
    func keys() throws(StoreError) -> KeyBuffer {
        if let stretch = query.stretch { return try trees.keys(in: stretch) }
        if query.predicate.isTrue {
            let keys = try KeyBuffer(expecting: try trees.objectCount(cls))
            try scan().collect(into: keys)
            return keys
        }
        if let few = try fewKeys() { return few }
        let keys = KeyBuffer()
        try scan().collect(into: keys)
        return keys
    }

    /// The same, ascending, where something else than a scan finds them.
    func fewKeys() throws(StoreError) -> KeyBuffer? {
        guard let test = query.predicate.single else { return nil }
        return try BoundTest(test, trees, cls).keys()
    }

    func scan() throws(StoreError) -> LeafScan {
        if let test = query.predicate.single {
            let bound = try BoundTest(test, trees, cls)
            if bound.source == .column { return try bound.scan(of: query) }
        }
        var steps: [LeafScan.Step] = []
        for node in query.predicate.nodes {
            switch node {
            case .truth(let truth): steps.append(.truth(truth))
            case .not: steps.append(.not)
            case .and: steps.append(.and)
            case .or: steps.append(.or)
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
        return try LeafScan(try trees.objects(cls), steps, depth: query.predicate.depth, of: query)
    }
}
