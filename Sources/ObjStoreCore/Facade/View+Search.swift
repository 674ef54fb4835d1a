/// Queries with one comparison. An index is used where there is one, else the column is scanned.
extension View {
    package func count(_ classID: UInt32, where condition: Condition) throws(StoreError) -> Int {
        try serialised { () throws(StoreError) in try countUnlocked(classID, condition) }
    }

    /// Serialised by the caller.
    func countUnlocked(_ classID: UInt32, _ condition: Condition) throws(StoreError) -> Int {
        let comparison = condition.comparison, value = condition.value
        if condition.isInside, let (cls, position) = try mixed(classID, condition) {
            return try trees.mixedInverse(cls, position).count(.equal, MixedTarget(value).indexed)
        }
        let (cls, position) = try prepare(classID, condition.propertyID, comparison, value)
        if cls.inversePosition(of: position) != nil {
            return try trees.inverse(cls, position).ownerCount(of: value.low)
        }
        if let count = try withMatches(
            cls, position, comparison, value, { (matches) throws(StoreError) in try matches.count() })
        {
            return count
        }
        return try reader(cls).count(position, comparison, value)
    }

    /// The first in the order of creation.
    package func first(_ classID: UInt32, where condition: Condition) throws(StoreError) -> ObjectID? {
        try serialised { () throws(StoreError) in
            let comparison = condition.comparison, value = condition.value
            if condition.isInside, let (cls, position) = try mixed(classID, condition) {
                let owners = try trees.mixedInverse(cls, position).owners(of: MixedTarget(value))
                return owners.count == 0 ? nil : ObjectID(classID: classID, storeTag: shared.tag, key: owners.keys[0])
            }
            let (cls, position) = try prepare(classID, condition.propertyID, comparison, value)
            if cls.inversePosition(of: position) != nil {
                var owner: Int64?
                try trees.inverse(cls, position).forEachOwner(of: value.low) { (key) throws(StoreError) in
                    owner = key
                    return false
                }
                return owner.map { ObjectID(classID: classID, storeTag: shared.tag, key: $0) }
            }
            // An index says how few there are; where there are many, the scan ends soon.
            let reader = try reader(cls)
            var key: Int64?
            let isKnown = try withMatches(cls, position, comparison, value) { (matches) throws(StoreError) -> Bool in
                guard try matches.count() <= View.fewMatches else { return false }
                try matches.forEach { (found) throws(StoreError) in
                    key = min(key ?? .max, found)
                    return true
                }
                return true
            }
            if isKnown != true { key = try reader.first(position, comparison, value)?.key }
            return key.map { ObjectID(classID: classID, storeTag: shared.tag, key: $0) }
        }
    }

    /// The first of all objects in the order of creation.
    package func first(_ classID: UInt32) throws(StoreError) -> ObjectID? {
        try serialised { () throws(StoreError) in
            try reader(try schema.cls(classID)).seek(0).map {
                ObjectID(classID: classID, storeTag: shared.tag, key: $0.key)
            }
        }
    }

    /// At most this many entries of an index are walked to find the one with the least key.
    private static let fewMatches = 1000

    /// All, in the order of creation.
    package func find(_ classID: UInt32, where condition: Condition) throws(StoreError) -> Results {
        let results = Results(
            self, classID, try serialised { () throws(StoreError) in try question(classID, condition) })
        _ = try results.update()
        return results
    }

    /// What results keep of a condition. Serialised by the caller.
    func question(_ classID: UInt32, _ condition: Condition) throws(StoreError) -> Results.Question {
        Results.Question(
            propertyID: condition.propertyID, comparison: condition.comparison,
            value: try OwnedValue(copying: condition.value),
            isInside: condition.isInside ? try mixed(classID, condition) != nil : false)
    }

    /// Where links may lie inside of values; nil: a property of another kind, whose value is the link, or has it among
    /// its elements.
    private func mixed(_ classID: UInt32, _ condition: Condition) throws(StoreError) -> (ClassSchema, Int)? {
        let cls = try schema.cls(classID), position = try cls.position(condition.propertyID), value = condition.value
        guard value.kind == .link else {
            throw cls.named(
                StoreError(
                    .wrongType,
                    "\(cls.name).\(cls.properties[position].name): it links to objects, not to \(value.kindAndText)"),
                position)
        }
        if cls.mixedPosition(of: position) == nil { return nil }
        try checkMixedStore(value, position, cls)
        return (cls, position)
    }

    package func findAll(_ classID: UInt32) throws(StoreError) -> Results {
        let results = Results(self, classID, nil)
        _ = try results.update()
        return results
    }

    /// The keys that satisfy a question, ascending. Serialised by the caller.
    func keys(_ classID: UInt32, _ question: Results.Question?) throws(StoreError) -> KeyBuffer {
        guard let question else {
            let cls = try schema.cls(classID)
            let reader = try reader(cls)
            let keys = try KeyBuffer(expecting: try reader.count())
            try reader.collectAll(into: keys)
            return keys
        }
        let value = question.value.value
        if question.isInside {
            let cls = try schema.cls(classID), position = try cls.position(question.propertyID)
            return try trees.mixedInverse(cls, position).owners(of: MixedTarget(value))
        }
        let (cls, position) = try prepare(classID, question.propertyID, question.comparison, value)
        if cls.inversePosition(of: position) != nil { return try owners(cls, position, ofLinksTo: value.low) }
        let found = KeyBuffer()
        let reader = try reader(cls)
        let total = try reader.count()
        // Sorting the keys of an index costs more than the scan from about a tenth of the objects on.
        let usedIndex = try withMatches(cls, position, question.comparison, value) {
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
        _ = try reader.collect(position, question.comparison, value, into: found)
        return found
    }

    /// What the index of a property says of a comparison; nil: there is none, or a value so long that no index can hold
    /// it. Serialised by the caller.
    private func withMatches<T>(
        _ cls: ClassSchema, _ property: Int, _ comparison: Comparison, _ value: Value,
        _ body: (IndexMatches) throws(StoreError) -> T
    ) throws(StoreError) -> T? {
        if cls.columns[property].kind != .mixed {
            return try withIndex(cls, property, asking: value) { (index) throws(StoreError) in
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
        _ classID: UInt32, _ propertyID: UInt32, _ comparison: Comparison, _ value: Value
    ) throws(StoreError) -> (ClassSchema, Int) {
        let cls = try schema.cls(classID)
        let position = try cls.position(propertyID)
        let kind = cls.columns[position].kind
        let isEquality = comparison == .equal || comparison == .notEqual
        func wrong(_ what: String) -> StoreError {
            cls.named(StoreError(.wrongType, "\(cls.name).\(cls.properties[position].name): \(what)"), position)
        }
        if kind == .mixed, !value.isNull {
            try MixedCell.admit(value, position, cls, limit: .max)
            try checkMixedStore(value, position, cls)
            return (cls, position)
        }
        if cls.inversePosition(of: position) != nil, comparison == .equal, value.kind == .link {
            try checkTarget(value.givenObject, position, cls)
            return (cls, position)
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
            return (cls, position)
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
        return (cls, position)
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
