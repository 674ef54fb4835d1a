/// A step of an observer of a part of an index: the index of each version says how many entries are before one, so that
/// nothing is kept of the answer.
///
/// ```
///  index before   … │ a b c d e │ …      b: 1, by the values that it had
///  index after    … │ a c d b e │ …      b: 3, by those that it has
/// ```
/// O(log n) for each object of the class that was changed.
struct StretchStep {
    private let scope: ObserverScope
    private let sides: (before: IndexPlaces, after: IndexPlaces)
    /// Positions of the properties by which objects stand in the index.
    private let properties: [Int]

    init?(_ scope: ObserverScope, from before: Snapshot, to after: Snapshot) throws(StoreError) {
        guard let stretch = scope.query.origin.stretch else { return nil }
        self.scope = scope
        let (cls, position) = try after.schema.index(stretch.indexID)
        properties = cls.indexes[position].properties
        sides = (try IndexPlaces(stretch, before), try IndexPlaces(stretch, after))
    }

    /// What is to be told; nil: the answer has to be asked anew.
    func told(_ few: ObservedAnswer.FewChanges) throws(StoreError) -> ToldDifference? {
        let changes = few.changed
        typealias Occurrence = SparseDifference.Occurrence
        var leaving: [Occurrence] = [], coming = leaving, staying = leaving
        for key in changes.deleted { try sides.before.add(key, to: &leaving) }
        for key in changes.inserted { try sides.after.add(key, to: &coming) }
        for (row, key) in changes.modified.enumerated() {
            if changes.hasWritten(properties, in: row) {
                try sides.before.add(key, to: &leaving)
                try sides.after.add(key, to: &coming)
            } else {
                try sides.before.add(key, to: &staying)
            }
        }
        if leaving.isEmpty && coming.isEmpty && staying.isEmpty { return ToldDifference(noneOf: changes) }
        leaving.sort { $0.position < $1.position }
        coming.sort { $0.position < $1.position }
        staying.sort { $0.position < $1.position }
        guard
            let difference = try SparseDifference(
                leaving, coming, staying: staying, countBefore: sides.before.count, changed: Set(changes.modified))
        else { return nil }
        let after = sides.after
        return try difference.told(few) { (position) throws(StoreError) in
            try after.key(at: position)
        }
    }

    /// Where objects are in a part of an index.
    private struct IndexPlaces {
        private let stretch: IndexStretch
        private let trees: TreeAccess
        private let cls: ClassSchema
        private let index: IndexSchema
        private let objects: ClusterReader
        /// How many entries of the index are before it, and how many in it.
        private let start: Int
        let count: Int

        init(_ stretch: IndexStretch, _ snapshot: Snapshot) throws(StoreError) {
            self.stretch = stretch
            trees = .version(snapshot)
            let (cls, position) = try snapshot.schema.index(stretch.indexID)
            (self.cls, index) = (cls, cls.indexes[position])
            objects = try trees.objects(cls)
            (start, count) = try trees.within(stretch) { (reader, range) throws(StoreError) in
                (try reader.rank(range.lower), try reader.count(in: range))
            }
        }

        /// With its position, if it is there.
        func add(_ key: Int64, to list: inout [SparseDifference.Occurrence]) throws(StoreError) {
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
            if rank >= start && rank < start + count { list.append((rank - start, key)) }
            withExtendedLifetime(keys) {}
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
}
