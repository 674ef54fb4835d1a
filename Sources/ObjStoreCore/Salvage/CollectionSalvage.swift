/// Copies the elements of lists, sets and maps: those before the first that cannot be read.
struct CollectionSalvage {
    let cls: ClassSchema
    let property: Int
    let tree: CollectionReader

    /// How many elements are inserted at a time.
    private static let batch = 4096

    /// Gives the object with that key, which has none yet in `state`, its elements. Returns why some are lost; nil:
    /// none is.
    func copy(_ row: RowPosition, _ reader: ClusterReader, to state: ClassState) throws(StoreError) -> String? {
        let kind = cls.columns[property].kind
        var waiting: [(key: OwnedValue, value: OwnedValue)] = [], done = 0, last: OwnedValue?
        func flush() throws(StoreError) {
            let some = waiting.map { (key: $0.key.value, value: $0.value.value) }
            try state.replaceElements(try state.row(row.key), property, done..<done, some[...])
            done += waiting.count
            waiting.removeAll(keepingCapacity: true)
        }
        var reason: String?
        do throws(StoreError) {
            let elements = CollectionElements(row.key, cls, property, cell: try reader.value(row, property), tree: tree)
            let expected = try elements.count()
            try elements.forEach { (key, value) throws(StoreError) in
                try ValueCheck.check(
                    key: key, value: value, elementOf: property, cls, after: last, longestKey: ClassSchema.longestKey)
                let owned = (key: OwnedValue(key), value: try OwnedValue(copying: value))
                if kind != .list { last = kind == .map ? owned.key : owned.value }
                waiting.append(owned)
                if waiting.count == CollectionSalvage.batch { try flush() }
                return true
            }
            if done + waiting.count < expected {
                reason = "only \(done + waiting.count) of \(expected) elements can be read"
            }
        } catch {
            guard error.isDamage || error.isUnfit else { throw error }
            reason = "elements from \(done + waiting.count) on: \(error.message)"
        }
        if !waiting.isEmpty { try flush() }
        return reason
    }
}
