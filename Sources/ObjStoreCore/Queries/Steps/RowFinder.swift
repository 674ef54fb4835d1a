/// Finds one row after the other: where the next one is in the same leaf, without a walk from the root.
struct RowFinder {
    let reader: ClusterReader
    private var keys: LeafKeys?
    private var range: Range<Int64> = 0..<0

    init(_ reader: ClusterReader) { self.reader = reader }

    /// The row of an object that exists. Errors: `.corrupt`: it does not.
    mutating func row(_ key: Int64) throws(StoreError) -> RowPosition {
        guard let row = try find(key) else {
            throw StoreError(.corrupt, "a list names the object \(key), which the version does not have")
        }
        return row
    }

    /// Nil: there is no such object.
    @inline(__always)
    mutating func find(_ key: Int64) throws(StoreError) -> RowPosition? {
        if range.contains(key), let keys, let slot = try keys.slot(of: key) {
            return RowPosition(head: keys.head, slot: slot, key: key)
        }
        guard let row = try reader.find(key) else { return nil }
        let leaf = LeafKeys(reader.source, row.head)
        let base = LeafHead.keyBase(row.head)
        range = base..<max(base, try leaf.end())
        keys = leaf
        return row
    }
}
