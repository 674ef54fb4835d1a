/// Where objects are in a part of an index.
struct IndexPlaces {
    private let stretch: IndexStretch
    private let trees: TreeAccess
    private let cls: ClassSchema
    private let index: IndexSchema
    /// Positions of the properties by which objects stand in the index.
    var properties: [Int] { index.properties }
    private let objects: ClusterReader
    /// How many entries of the index are before it, and how many in it.
    private let start: Int
    let count: Int

    init(_ stretch: IndexStretch, _ trees: TreeAccess) throws(StoreError) {
        self.stretch = stretch
        self.trees = trees
        let (cls, position) = try trees.schema.index(stretch.indexID)
        (self.cls, index) = (cls, cls.indexes[position])
        objects = try trees.objects(cls)
        (start, count) = try trees.within(stretch) { (reader, range) throws(StoreError) in
            (try reader.rank(range.lower), try reader.count(in: range))
        }
    }

    /// Where an object is that the version has; nil: not in this part.
    func position(of key: Int64) throws(StoreError) -> Int? {
        guard let row = try objects.find(key) else {
            throw StoreError(.internalError, "object \(key) of \(cls.name) is not in a version that has changed it")
        }
        let keys = IndexKey()
        let value: Value
        if index.isEncoded {
            value = try index.extract(key, into: keys) { (property) throws(StoreError) in
                try objects.value(row, property)
            }
        } else {
            value = try objects.value(row, index.first)
        }
        let rank = try trees.within(stretch, asksLong: value.count > IndexLimits.head) {
            (reader, _) throws(StoreError) in
            try value.withIndexBytes { (value) throws(StoreError) in
                let entry = try IndexEntry(value, key: key, kind: index.kind)
                return try reader.rank(IndexBound(entry, isAfter: false))
            }
        }
        withExtendedLifetime(keys) {}
        return rank >= start && rank < start + count ? rank - start : nil
    }

    func key(at position: Int) throws(StoreError) -> Int64 {
        let key = try trees.within(stretch) { (reader, _) throws(StoreError) in
            var cursor = IndexCursor(reader)
            try cursor.seek(rank: start + position)
            return try cursor.next()
        }
        guard let key else { throw StoreError(.internalError, "an index of \(cls.name) has lost an entry") }
        return key
    }
}
