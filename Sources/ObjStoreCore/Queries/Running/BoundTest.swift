/// A comparison that was checked against its class, with what can answer it there.
struct BoundTest {
    let test: ColumnTest
    let trees: TreeAccess
    let cls: ClassSchema
    /// Of the property in its class.
    let position: Int
    let source: Source

    enum Source {
        /// Its column, and its index where it has one.
        case column
        /// The inverse of a collection of links: which have a link to the value.
        case inverse
        /// The inverse of a mixed property: which have it anywhere inside.
        case mixedInverse
        /// A query of the class that links lead to.
        case targets
    }
    let links: LinkTargets?

    var comparison: Comparison { test.comparison }
    var value: Value { test.value }

    /// Errors: `.noSuchProperty`; `.wrongType`: the value must be of the property's kind, or null for equality; of a
    /// mixed one of any that it can have; of a collection of links the link that is looked for among them (`equal`).
    ///
    /// - Parameter links: what the links of the query's tests lead to, as far as it is known.
    init(
        _ test: ColumnTest, _ trees: TreeAccess, _ cls: ClassSchema, _ links: LinkTargets? = nil
    ) throws(StoreError) {
        self.test = test
        self.links = links
        self.trees = trees
        self.cls = cls
        position = try cls.position(test.propertyID)
        source = try BoundTest.check(test, position, trees, cls)
    }

    private static func check(
        _ test: ColumnTest, _ position: Int, _ trees: TreeAccess, _ cls: ClassSchema
    ) throws(StoreError) -> Source {
        let kind = cls.columns[position].kind, value = test.value, comparison = test.comparison
        let isEquality = comparison == .equal || comparison == .notEqual
        func wrong(_ what: String) -> StoreError {
            cls.named(StoreError(.wrongType, "\(cls.name).\(cls.properties[position].name): \(what)"), position)
        }
        if test.hasTargets, let targets = test.targets {
            guard cls.columns[position].target == targets.classID else { throw wrong("it links to other objects") }
            return .targets
        }
        if test.isInside {
            guard value.kind == .link else { throw wrong("it links to objects, not to \(value.kindAndText)") }
            if cls.mixedPosition(of: position) != nil {
                try trees.checkMixedStore(value, position, cls)
                return .mixedInverse
            }
        }
        if kind == .mixed, !value.isNull {
            try MixedCell.admit(value, position, cls, limit: .max)
            try trees.checkMixedStore(value, position, cls)
            return .column
        }
        if cls.inversePosition(of: position) != nil, comparison == .equal, value.kind == .link {
            try trees.checkTarget(value.givenObject, position, cls)
            return .inverse
        }
        if kind.isCollection {
            throw wrong(
                """
                it is \(kind.indefinite): a collection is compared with nothing; one of links is only asked for a \
                link, by EQUAL
                """
            )
        }
        if value.isNull {
            guard isEquality else { throw wrong("null is neither less nor greater than anything") }
            return .column
        }
        guard value.kind == kind else {
            throw wrong("it is \(kind.indefinite), and is compared with \(value.kindAndText)")
        }
        if kind == .link {
            guard isEquality else { throw wrong("links are only compared for equality") }
            try trees.checkTarget(value.givenObject, position, cls)
        }
        guard kind != .binary || isEquality else { throw wrong("binaries are only compared for equality") }
        try ValueCheck.check(value, for: position, of: cls, limit: Int.max)
        return .column
    }

    /// Of its column. `query` has the value.
    func scan(of query: Query) throws(StoreError) -> LeafScan {
        if let step = try linkStep() { return try LeafScan(try trees.objects(cls), [step], depth: 1) }
        return try LeafScan(try trees.objects(cls), position, comparison, value, of: query)
    }

    // MARK: Answers of other trees than the column

    /// Nil: only a scan knows.
    func count() throws(StoreError) -> Int? {
        switch source {
        case .mixedInverse: try trees.mixedInverse(cls, position).count(.equal, MixedTarget(value).indexed)
        case .inverse: try trees.inverse(cls, position).ownerCount(of: value.low)
        case .targets: try countLinks()
        case .column: try withMatches { (matches) throws(StoreError) in try matches.count() }
        }
    }

    enum First {
        case key(Int64), nothing
        /// Only a scan knows.
        case unknown
    }

    /// The one with the least key.
    func first() throws(StoreError) -> First {
        var found: Int64?
        switch source {
        case .targets:
            guard isCollection else { return .unknown }
            let owners = try owners()
            if owners.count > 0 { found = owners.keys[0] }
        case .mixedInverse:
            let owners = try trees.mixedInverse(cls, position).owners(of: MixedTarget(value))
            if owners.count > 0 { found = owners.keys[0] }
        case .inverse:
            try trees.inverse(cls, position).forEachOwner(of: value.low) { (key) throws(StoreError) in
                found = key
                return false
            }
        case .column:
            // An index says how few there are; where there are many, the scan ends soon.
            let isKnown = try withMatches { (matches) throws(StoreError) -> Bool in
                guard try matches.count() <= BoundTest.fewMatches else { return false }
                try matches.forEach { (key) throws(StoreError) in
                    found = min(found ?? .max, key)
                    return true
                }
                return true
            }
            if isKnown != true { return .unknown }
        }
        return found.map { .key($0) } ?? .nothing
    }

    /// At most this many entries of an index are walked to find the one with the least key.
    static let fewMatches = 1000

    /// All, in no order, of a comparison that `count` knows the number of.
    func forEach(_ body: (Int64) throws(StoreError) -> Void) throws(StoreError) {
        if source == .column {
            _ = try withMatches { (matches) throws(StoreError) in
                try matches.forEach { (key) throws(StoreError) in
                    try body(key)
                    return true
                }
            }
        } else if let keys = try keys() {
            for index in 0..<keys.count { try body(keys.keys[index]) }
        }
    }

    /// All, ascending; nil: a scan is the better way, or the only one.
    func keys() throws(StoreError) -> KeyBuffer? {
        switch source {
        case .mixedInverse: return try trees.mixedInverse(cls, position).owners(of: MixedTarget(value))
        case .inverse: return try trees.inverse(cls, position).owners(of: value.low)
        case .targets: return try keysOfLinks()
        case .column: break
        }
        let found = KeyBuffer(), most = try mostSorted
        let usedIndex = try withMatches { (matches) throws(StoreError) -> Bool in
            guard try matches.count() <= most else { return false }
            try matches.forEach { (key) throws(StoreError) in
                try found.append(key)
                return true
            }
            try found.sort()
            return true
        }
        return usedIndex == true ? found : nil
    }

    /// Sorting the keys of an index costs more than the scan from about a tenth of the objects on.
    var mostSorted: Int {
        get throws(StoreError) { max(64, try trees.objectCount(cls) / 10) }
    }

    /// How many `keys` finds, where it does.
    func keysEstimate() throws(StoreError) -> Int? {
        guard let count = try count() else { return nil }
        let isSorted = source == .column || source == .targets && !isCollection
        if isSorted, count > (try mostSorted) { return nil }
        return count
    }

    /// What the index of the property says; nil: there is none, or a value so long that no index can hold it.
    private func withMatches<T>(_ body: (IndexMatches) throws(StoreError) -> T) throws(StoreError) -> T? {
        if cls.columns[position].kind != .mixed {
            return try trees.withIndex(cls, position, finding: value) { (index) throws(StoreError) in
                try index.withMatches(comparison, value, body)
            }
        }
        // Every byte of a value may become up to eight of a key.
        guard let index = cls.encodedIndexPosition(of: position), value.count <= IndexKey.longest / 8 else {
            return nil
        }
        return try trees.withIndex(cls, at: index, asksLong: value.kind.hasBytes) { (index) throws(StoreError) in
            try index.withMixedMatches(comparison, value, body)
        }
    }
}
