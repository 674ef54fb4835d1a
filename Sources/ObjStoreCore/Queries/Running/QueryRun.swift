/// A query, asked once: of the trees of one version, or of a transaction. One comparison is answered by an index or an
/// inverse where there is one, and so are several that must all be true where one of them leaves few objects;
/// everything else by a scan of the leaves.
struct QueryRun {
    let query: Query
    let trees: TreeAccess
    private let context: Context

    /// The class, or what knows it: one word, so that a run is passed in registers.
    private enum Context {
        case plain(ClassSchema)
        /// It asks about what links lead to.
        case linking(LinkTargets)
    }

    @inline(__always) var cls: ClassSchema {
        switch context {
        case .plain(let cls): cls
        case .linking(let links): links.cls
        }
    }

    @inline(__always) var links: LinkTargets? {
        if case .linking(let links) = context { links } else { nil }
    }

    /// Errors: `.noSuchClass`: the version is older than the class, or it was dropped; `.wrongStore`.
    init(_ query: Query, _ trees: TreeAccess) throws(StoreError) {
        self.query = query
        self.trees = trees
        if query.storeTag != 0 && query.storeTag != trees.storeTag {
            throw StoreError(.wrongStore, "the query is of another store")
        }
        let cls = try trees.schema.cls(query.classID)
        context = query.predicate.hasTargets ? .linking(LinkTargets(cls)) : .plain(cls)
    }

    // All of them may throw `.noSuchProperty` (the version is older than it, or it was dropped) and `.wrongType`.
    // What is bound is a local of each: copying it as a member would count its references.

    func check() throws(StoreError) {
        for node in query.predicate.nodes {
            switch node {
            case .test(let test):
                _ = try BoundTest(test, trees, cls, links)
                if let targets = test.targets { try QueryRun(targets, trees).check() }
            case .values(let test): for id in test.properties { _ = try cls.position(id) }
            case .paths(let test): for id in test.properties { _ = try trees.schema.property(id) }
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
        if _slowPath(!query.origin.isObjects) { return try foundElsewhere() }
        guard let test = query.predicate.single else {
            if query.predicate.isTrue { return try trees.objectCount(cls) }
            if let few = try candidates(counting: true) { return try count(of: few) }
            return try scan().count()
        }
        let bound = try BoundTest(test, trees, cls, links)
        if let count = try bound.count() { return count }
        if _slowPath(cls.hasEncodedIndexes), let few = try candidates(counting: true) {
            return try count(of: few)
        }
        return try bound.scan(of: query).count()
    }

    /// The key of the first one.
    func first() throws(StoreError) -> Int64? {
        if _slowPath(!query.steps.isEmpty) {
            let isUnsorted = InjectedBug.active(.queryOldestIsFirst)
            let steps = isUnsorted ? query.steps.filter { !$0.isSort } : query.steps
            let list = try list(steps + [.limit(1)])
            return list.count > 0 ? list.keys[0] : nil
        }
        if _slowPath(!query.origin.isObjects) { return try firstElsewhere() }
        guard let test = query.predicate.single else {
            if query.predicate.isTrue { return try trees.objects(cls).seek(0)?.key }
            // Where there are many, the scan ends soon.
            if let few = try candidates(), few.estimate <= BoundTest.fewMatches {
                let keys = try keys(of: few)
                return keys.count > 0 ? keys.keys[0] : nil
            }
            return try scan().first()
        }
        let bound = try BoundTest(test, trees, cls, links)
        switch try bound.first() {
        case .key(let key): return key
        case .nothing: return nil
        case .unknown:
            if let few = try candidates(), few.estimate <= BoundTest.fewMatches {
                let keys = try keys(of: few)
                return keys.count > 0 ? keys.keys[0] : nil
            }
            return try bound.scan(of: query).first()
        }
    }

    /// The keys of all, in their order.
    func keys() throws(StoreError) -> KeyBuffer { try list(query.steps) }

    private func list(_ steps: [QueryStep]) throws(StoreError) -> KeyBuffer {
        if let order = try indexOrder(steps) {
            if let first = try first(in: order) { return try apply(steps.dropFirst(), to: first) }
            if let ends = try ends(of: order) { return try apply(steps[...], to: ends) }
        }
        if case .sort(let keys) = steps.first, let limit = QueryRun.end(of: steps.dropFirst()),
            let few = try firstCandidates(keys, limit)
        {
            return try apply(steps[...], to: few)
        }
        if case .distinct(let keys) = steps.first, let firsts = try firstOfEach(keys, nil) {
            return try apply(steps.dropFirst(), to: firsts)
        }
        let counted = InjectedBug.active(.queryCutUnsorted) ? steps.drop(while: \.isSort) : steps[...]
        return try apply(steps[...], to: try satisfying(first: QueryRun.end(of: counted) ?? .max))
    }

    /// The first that satisfy the condition, before any step.
    func satisfying(first limit: Int) throws(StoreError) -> KeyBuffer {
        if !query.origin.isObjects { return try keysElsewhere(first: limit) }
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
        if let test = query.predicate.single {
            if let keys = try BoundTest(test, trees, cls, links).keys() { return keys }
            guard cls.hasEncodedIndexes else { return nil }
        }
        return try candidates().map { (candidates) throws(StoreError) in try keys(of: candidates) }
    }

    func scan() throws(StoreError) -> LeafScan {
        if let test = query.predicate.single {
            let bound = try BoundTest(test, trees, cls, links)
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
            case .values(let test): steps.append(.values(try BoundValues(test, trees, reader, cls)))
            case .paths(let test): steps.append(.values(try BoundValues(test, trees, reader, cls)))
            case .test(let test):
                let bound = try BoundTest(test, trees, cls, links)
                if let step = try bound.linkStep() {
                    steps.append(step)
                } else if bound.source == .column {
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
