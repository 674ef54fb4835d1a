/// What indexes and inverses find of the objects that a condition can be true of: the cheapest of its comparisons that
/// must be true; or what two of them have in common. What else the condition says is asked of each object that it
/// finds.
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
    /// What another property equals, of which there are about as many: only what both find is looked at.
    var other: ColumnTest?
    /// How many objects it finds, those of `oneOf` more than once perhaps.
    let estimate: Int
    /// Nothing else has to be asked: it is the whole condition.
    var isWhole: Bool

    /// How many satisfy the whole condition; nil: it has to be asked of each.
    var count: Int? {
        guard isWhole, other == nil else { return nil }
        switch source {
        case .part, .between: return estimate
        case .comparison, .oneOf: return nil
        }
    }

    /// More alternatives are not looked up one by one.
    static let mostAlternatives = 64
    /// Fewer are looked at one by one, and so are those of an index beside which all others find this many times more.
    static let fewForTwo = 64, mostTimes = 2
}

extension Candidates.Source {
    fileprivate func isAbout(_ id: UInt32, _ cls: ClassSchema) -> Bool {
        switch self {
        case .comparison(let test): test.propertyID == id
        case .between(let low, _): low.propertyID == id
        case .oneOf(let tests): tests.contains { $0.propertyID == id }
        case .part(let part): cls.indexes[part.position].properties.contains { cls.propertyID($0) == id }
        }
    }

    /// How many comparisons it answers, and nothing is left of them; nil: something is.
    fileprivate var conjuncts: Int? {
        switch self {
        case .comparison: 1
        case .between: 2
        case .part(let part): part.isExact ? part.conjuncts : nil
        case .oneOf: nil
        }
    }
}

extension QueryRun {
    /// Nil: a scan is the better way, or the only one.
    ///
    /// - Parameter counting: what has to be asked of nothing is as good, however many that are.
    func candidates(counting: Bool = false) throws(StoreError) -> Candidates? {
        let conjuncts = query.predicate.necessary, beginnings = query.predicate.beginnings
        if conjuncts.isEmpty && beginnings.isEmpty { return nil }
        // Looking at one object costs as much as scanning a few dozens.
        var best: Candidates?, most = max(64, try trees.objectCount(cls) / 50), equal: [(ColumnTest, Int)] = []
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
            guard let count = try BoundTest(test, trees, cls, links).count() else { continue }
            consider(.comparison(test), count, isWhole: false)
            if test.comparison == .equal { equal.append((test, count)) }
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
        if let found = best, !found.isWhole, found.estimate > Candidates.fewForTwo { return both(found, equal) }
        return best
    }

    /// With what another property equals, if that finds hardly more: an index has equal ones in the order of creation,
    /// and to read two such lists costs less than to look at each object of one.
    private func both(_ best: Candidates, _ all: [(test: ColumnTest, count: Int)]) -> Candidates {
        var found = best, most = best.estimate * Candidates.mostTimes
        for (test, count) in all where count <= most && !best.source.isAbout(test.propertyID, cls) {
            (found.other, most) = (test, count - 1)
        }
        if let conjuncts = found.source.conjuncts, found.other != nil {
            found.isWhole = query.predicate.nodes.count == 2 * (conjuncts + 1) - 1
        }
        return found
    }

    /// How many of them satisfy the whole condition.
    func count(of candidates: Candidates) throws(StoreError) -> Int {
        if let count = candidates.count { return count }
        return try keys(of: candidates).count
    }

    /// Those that satisfy the whole condition, ascending.
    func keys(of candidates: Candidates) throws(StoreError) -> KeyBuffer {
        let found = try keys(of: candidates.source)
        if let other = candidates.other { found.keepCommon(with: try keys(of: .comparison(other))) }
        if candidates.isWhole || InjectedBug.active(.queryRestUnasked) { return found }
        let test = try RowTest(query, trees)
        // The version does not have all that the condition is about.
        if test.columns == nil { try check() }
        return try test.kept(of: found)
    }

    /// All that it finds, ascending.
    private func keys(of source: Candidates.Source) throws(StoreError) -> KeyBuffer {
        let found = KeyBuffer()
        func add(_ key: Int64) throws(StoreError) -> Bool {
            try found.append(key)
            return true
        }
        switch source {
        case .comparison(let test): try self.add(test, to: found)
        case .oneOf(let tests): for test in tests { try self.add(test, to: found) }
        case .part(let part):
            _ = try within(part) { (reader, range) throws(StoreError) in try reader.forEach(in: range, add) }
        case .between(let low, let high):
            _ = try within(low, high) { (reader, range) throws(StoreError) in
                if let range { try reader.forEach(in: range, add) }
            }
        }
        return try found.ascending()
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
