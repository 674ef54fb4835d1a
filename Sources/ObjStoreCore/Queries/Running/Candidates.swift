/// What indexes and inverses find of the objects that a condition can be true of: the cheapest of its comparisons that
/// must be true. What else the condition says is asked of each object that it finds.
struct Candidates {
    enum Source {
        case comparison(ColumnTest)
        /// Two bounds of one property with an index.
        case between(ColumnTest, ColumnTest)
        /// One of them is true.
        case oneOf([ColumnTest])
        /// Several comparisons, or the beginning of a text.
        case part(IndexPart)
    }

    let source: Source
    /// How many objects it finds, those of `oneOf` more than once perhaps.
    let estimate: Int
    /// Nothing else has to be asked: it is the whole condition.
    let isWhole: Bool

    /// How many satisfy the whole condition; nil: it has to be asked of each.
    var count: Int? {
        guard isWhole else { return nil }
        switch source {
        case .part, .between: return estimate
        case .comparison, .oneOf: return nil
        }
    }

    /// More alternatives are not looked up one by one.
    static let mostAlternatives = 64
}

extension QueryRun {
    /// Nil: a scan is the better way, or the only one.
    ///
    /// - Parameter counting: what has to be asked of nothing is as good, however many that are.
    func candidates(counting: Bool = false) throws(StoreError) -> Candidates? {
        let conjuncts = query.predicate.necessary, beginnings = query.predicate.beginnings
        if conjuncts.isEmpty && beginnings.isEmpty { return nil }
        // Looking at one object costs as much as scanning a few dozens.
        var best: Candidates?, most = max(64, try trees.objectCount(cls) / 50)
        func consider(_ source: Candidates.Source, _ estimate: Int?, isWhole: Bool) {
            guard let estimate else { return }
            let found = Candidates(source: source, estimate: estimate, isWhole: isWhole)
            if counting, found.count != nil, best?.count == nil {
                best = found
                most = -1
            }
            guard estimate <= most else { return }
            most = estimate
            best = found
        }
        for tests in conjuncts where tests.count > 1 && tests.count <= Candidates.mostAlternatives {
            var sum: Int? = 0
            for test in tests {
                guard let so = sum, so <= most, let count = try BoundTest(test, trees, cls, links).count() else {
                    sum = nil
                    break
                }
                sum = so + count
            }
            consider(.oneOf(tests), sum, isWhole: query.predicate.isOneOf)
        }
        let single = conjuncts.compactMap { $0.count == 1 ? $0[0] : nil }
        for test in single {
            consider(.comparison(test), try BoundTest(test, trees, cls, links).count(), isWhole: false)
        }
        for low in single where low.comparison == .greater || low.comparison == .greaterOrEqual {
            for high in single
            where high.propertyID == low.propertyID && (high.comparison == .less || high.comparison == .lessOrEqual) {
                let count = try within(low, high) { (reader, range) throws(StoreError) in
                    guard let range else { return 0 }
                    return try reader.count(in: range)
                }
                consider(.between(low, high), count, isWhole: query.predicate.nodes.count == 3)
            }
        }
        for part in try parts(single, beginnings) {
            let count = try within(part) { (reader, range) throws(StoreError) in try reader.count(in: range) }
            let isWhole = part.isExact && query.predicate.nodes.count == 2 * part.conjuncts - 1
            consider(.part(part), count, isWhole: isWhole || InjectedBug.active(.queryPartWhole))
        }
        return best
    }

    /// How many of them satisfy the whole condition.
    func count(of candidates: Candidates) throws(StoreError) -> Int {
        if let count = candidates.count { return count }
        return try keys(of: candidates).count
    }

    /// Those that satisfy the whole condition, ascending.
    func keys(of candidates: Candidates) throws(StoreError) -> KeyBuffer {
        let found = KeyBuffer()
        switch candidates.source {
        case .comparison(let test): try add(test, to: found)
        case .oneOf(let tests): for test in tests { try add(test, to: found) }
        case .part(let part):
            _ = try within(part) { (reader, range) throws(StoreError) in
                try reader.forEach(in: range) { (key) throws(StoreError) in
                    try found.append(key)
                    return true
                }
            }
        case .between(let low, let high):
            _ = try within(low, high) { (reader, range) throws(StoreError) in
                guard let range else { return }
                try reader.forEach(in: range) { (key) throws(StoreError) in
                    try found.append(key)
                    return true
                }
            }
        }
        let ascending = try found.ascending()
        if candidates.isWhole || InjectedBug.active(.queryRestUnasked) { return ascending }
        let test = try RowTest(query, trees)
        // The version does not have all that the condition is about.
        if test.columns == nil { try check() }
        return try test.kept(of: ascending)
    }

    private func add(_ test: ColumnTest, to found: KeyBuffer) throws(StoreError) {
        try BoundTest(test, trees, cls, links).forEach { (key) throws(StoreError) in try found.append(key) }
    }

    /// The part of an index between two bounds; the range is nil where nothing can lie there. Nil: there is no index.
    private func within<T>(
        _ low: ColumnTest, _ high: ColumnTest, _ body: (IndexReader, IndexRange?) throws(StoreError) -> T
    ) throws(StoreError) -> T? {
        let position = try cls.position(low.propertyID)
        guard cls.columns[position].kind != .mixed, low.value.kind == high.value.kind, !low.value.isNull,
            !low.value.isNaN, !high.value.isNaN, high.value.count <= IndexKey.longest
        else { return nil }
        let longer = low.value.count > high.value.count ? low.value : high.value
        return try trees.withIndex(cls, position, finding: longer) { (reader) throws(StoreError) in
            let isOpen = low.comparison == .greater || high.comparison == .less
            if !LeafMatcher.evaluate(isOpen ? .less : .lessOrEqual, low.value, high.value) {
                return try body(reader, nil)
            }
            return try low.value.withIndexBytes { (from) throws(StoreError) in
                try high.value.withIndexBytes { (to) throws(StoreError) in
                    let kind = reader.kind
                    let lower: IndexBound =
                        low.comparison == .greater || InjectedBug.active(.queryBoundOpen)
                        ? try .after(from, kind: kind) : try .before(from, kind: kind)
                    let upper: IndexBound =
                        high.comparison == .less ? try .before(to, kind: kind) : try .after(to, kind: kind)
                    return try body(reader, IndexRange(lower: lower, upper: upper))
                }
            }
        }
    }
}
