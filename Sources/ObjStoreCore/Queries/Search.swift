/// Queries with one comparison. An index is used where there is one, else the column is scanned.
extension TreeAccess {
    func count(_ cls: ClassSchema, where condition: Condition) throws(StoreError) -> Int {
        let comparison = condition.comparison, value = condition.value
        if condition.isInside, let position = try mixed(cls, condition) {
            return try mixedInverse(cls, position).count(.equal, MixedTarget(value).indexed)
        }
        let position = try prepare(cls, condition.propertyID, comparison, value)
        if cls.inversePosition(of: position) != nil { return try inverse(cls, position).ownerCount(of: value.low) }
        if let count = try withMatches(
            cls, position, comparison, value, { (matches) throws(StoreError) in try matches.count() })
        {
            return count
        }
        return try objects(cls).count(position, comparison, value)
    }

    /// The key of the first in the order of creation.
    func first(_ cls: ClassSchema, where condition: Condition) throws(StoreError) -> Int64? {
        let comparison = condition.comparison, value = condition.value
        if condition.isInside, let position = try mixed(cls, condition) {
            let owners = try mixedInverse(cls, position).owners(of: MixedTarget(value))
            return owners.count == 0 ? nil : owners.keys[0]
        }
        let position = try prepare(cls, condition.propertyID, comparison, value)
        if cls.inversePosition(of: position) != nil {
            var owner: Int64?
            try inverse(cls, position).forEachOwner(of: value.low) { (key) throws(StoreError) in
                owner = key
                return false
            }
            return owner
        }
        // An index says how few there are; where there are many, the scan ends soon.
        let reader = try objects(cls)
        var key: Int64?
        let isKnown = try withMatches(cls, position, comparison, value) { (matches) throws(StoreError) -> Bool in
            guard try matches.count() <= TreeAccess.fewMatches else { return false }
            try matches.forEach { (found) throws(StoreError) in
                key = min(key ?? .max, found)
                return true
            }
            return true
        }
        return isKnown == true ? key : try reader.first(position, comparison, value)?.key
    }

    /// At most this many entries of an index are walked to find the one with the least key.
    private static let fewMatches = 1000

    /// Whether the link of a condition may lie inside of values; false: it is the value, or among the elements.
    func isInside(_ cls: ClassSchema, _ condition: Condition) throws(StoreError) -> Bool {
        condition.isInside ? try mixed(cls, condition) != nil : false
    }

    /// Where links may lie inside of values; nil: a property of another kind, whose value is the link, or has it among
    /// its elements.
    private func mixed(_ cls: ClassSchema, _ condition: Condition) throws(StoreError) -> Int? {
        let position = try cls.position(condition.propertyID), value = condition.value
        guard value.kind == .link else {
            throw cls.named(
                StoreError(
                    .wrongType,
                    "\(cls.name).\(cls.properties[position].name): it links to objects, not to \(value.kindAndText)"),
                position)
        }
        if cls.mixedPosition(of: position) == nil { return nil }
        try checkMixedStore(value, position, cls)
        return position
    }

    /// The keys of all objects, ascending.
    func keys(_ cls: ClassSchema) throws(StoreError) -> KeyBuffer {
        let reader = try objects(cls)
        let keys = try KeyBuffer(expecting: try reader.count())
        try reader.collectAll(into: keys)
        return keys
    }

    /// The keys of those that satisfy a condition, ascending.
    func keys(_ cls: ClassSchema, where condition: OwnedCondition) throws(StoreError) -> KeyBuffer {
        let value = condition.value.value
        if condition.isInside {
            return try mixedInverse(cls, try cls.position(condition.propertyID)).owners(of: MixedTarget(value))
        }
        let position = try prepare(cls, condition.propertyID, condition.comparison, value)
        if cls.inversePosition(of: position) != nil { return try inverse(cls, position).owners(of: value.low) }
        let found = KeyBuffer()
        let reader = try objects(cls)
        let total = try reader.count()
        // Sorting the keys of an index costs more than the scan from about a tenth of the objects on.
        let usedIndex = try withMatches(cls, position, condition.comparison, value) {
            (matches) throws(StoreError) -> Bool in
            guard try matches.count() <= max(64, total / 10) else { return false }
            try matches.forEach { (key) throws(StoreError) in
                try found.append(key)
                return true
            }
            found.sort()
            return true
        }
        if usedIndex == true { return found }
        _ = try reader.collect(position, condition.comparison, value, into: found)
        return found
    }

    /// What the index of a property says of a comparison; nil: there is none, or a value so long that no index can hold
    /// it.
    private func withMatches<T>(
        _ cls: ClassSchema, _ property: Int, _ comparison: Comparison, _ value: Value,
        _ body: (IndexMatches) throws(StoreError) -> T
    ) throws(StoreError) -> T? {
        if cls.columns[property].kind != .mixed {
            return try withIndex(cls, property, finding: value) { (index) throws(StoreError) in
                try index.withMatches(comparison, value, body)
            }
        }
        // Every byte of a value may become up to eight of a key.
        guard let position = cls.encodedIndexPosition(of: property), value.count <= IndexKey.longest / 8 else {
            return nil
        }
        return try withIndex(cls, at: position, asksLong: value.kind.hasBytes) { (index) throws(StoreError) in
            try index.withMixedMatches(comparison, value, body)
        }
    }

    /// Checks the query: the value must be of the property's kind, or null for equality; of a mixed one of any that
    /// it can have; of a collection of links the link that
    /// is looked for among them (`equal`).
    private func prepare(
        _ cls: ClassSchema, _ propertyID: UInt32, _ comparison: Comparison, _ value: Value
    ) throws(StoreError) -> Int {
        let position = try cls.position(propertyID)
        let kind = cls.columns[position].kind
        let isEquality = comparison == .equal || comparison == .notEqual
        func wrong(_ what: String) -> StoreError {
            cls.named(StoreError(.wrongType, "\(cls.name).\(cls.properties[position].name): \(what)"), position)
        }
        if kind == .mixed, !value.isNull {
            try MixedCell.admit(value, position, cls, limit: .max)
            try checkMixedStore(value, position, cls)
            return position
        }
        if cls.inversePosition(of: position) != nil, comparison == .equal, value.kind == .link {
            try checkTarget(value.givenObject, position, cls)
            return position
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
            return position
        }
        guard value.kind == kind else {
            throw wrong("it is \(kind.indefinite), and is compared with \(value.kindAndText)")
        }
        if kind == .link {
            guard isEquality else { throw wrong("links are only compared for equality") }
            try checkTarget(value.givenObject, position, cls)
        }
        guard kind != .binary || isEquality else { throw wrong("binaries are only compared for equality") }
        try ValueCheck.check(value, for: position, of: cls, limit: Int.max)
        return position
    }
}

extension ClusterReader {
    /// The keys of all objects.
    func collectAll(into keys: KeyBuffer) throws(StoreError) {
        var cursor = LeafCursor(self, from: 0)
        while let head = try cursor.next() {
            try LeafKeys(source, head).forEach { (_, key) throws(StoreError) in
                try keys.append(key)
                return true
            }
        }
    }
}
