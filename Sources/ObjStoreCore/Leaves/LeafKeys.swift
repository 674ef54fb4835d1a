/// Which object key the row in each slot of a leaf has.
///
/// ```
///  dense    slot = key - keyBase          the leaf holds 4096 consecutive keys; a gap is a slot without a row
///  sparse   slot 0   1   2   3   …        few of the keys of a long range are left: rows stand side by side, and a
///           key  k0 <k1 <k2 <k3 <         column of their own, with the id `LeafKeys.column`, has key - keyBase
/// ```
/// Sparse leaves are made by compaction only, never of the last leaf of a tree: keys only grow, so nothing is added to
/// one. It holds every key from its `keyBase` up to that of the next leaf.
package struct LeafKeys {
    /// Greater than the id of any column: its line is the last of the columns.
    package static let column = UInt32.max

    let source: PageSource
    let head: UnsafeRawPointer

    @inline(__always)
    package init(_ source: PageSource, _ head: UnsafeRawPointer) {
        self.source = source
        self.head = head
    }

    @inline(__always)
    package func key(_ slot: Int) throws(StoreError) -> Int64 {
        if _fastPath(!LeafHead.isSparse(head)) { return LeafHead.keyBase(head) &+ Int64(slot) }
        return try listed(slot)
    }

    @inline(never)
    private func listed(_ slot: Int) throws(StoreError) -> Int64 {
        LeafHead.keyBase(head) &+ (try LeafReader(source: source).number(head, LeafHead.keyEntry(head), slot))
    }

    /// The slot of an existing row.
    @inline(__always)
    func slot(of key: Int64) throws(StoreError) -> Int? {
        if _fastPath(!LeafHead.isSparse(head)) {
            let offset = key &- LeafHead.keyBase(head)
            guard _fastPath(offset >= 0 && offset < Int64(LeafHead.rowsPerLeaf)) else { return nil }
            return LeafHead.isLive(head, Int(offset)) ? Int(offset) : nil
        }
        return try find(key)
    }

    @inline(never)
    private func find(_ key: Int64) throws(StoreError) -> Int? {
        let slot = try first(atLeast: key)
        guard slot < LeafHead.rows(head), try listed(slot) == key else { return nil }
        return LeafHead.isLive(head, slot) ? slot : nil
    }

    /// The first slot, with a row or without, whose key is at least `key`; the number of slots where all are less.
    @inline(__always)
    func first(atLeast key: Int64) throws(StoreError) -> Int {
        let base = LeafHead.keyBase(head), rows = LeafHead.rows(head)
        if key <= base { return 0 }
        if _fastPath(!LeafHead.isSparse(head)) { return key &- base < Int64(rows) ? Int(key &- base) : rows }
        return try search(key, rows)
    }

    @inline(never)
    private func search(_ key: Int64, _ rows: Int) throws(StoreError) -> Int {
        var low = 0, high = rows
        while low < high {
            let middle = (low + high) >> 1
            if try listed(middle) < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The key behind all that the leaf can hold, going by the leaf alone.
    func end() throws(StoreError) -> Int64 {
        LeafHead.isSparse(head)
            ? try listed(LeafHead.rows(head) - 1) &+ 1 : LeafHead.keyBase(head) &+ Int64(LeafHead.rowsPerLeaf)
    }

    /// Calls `body` with slot and key of each existing row from `slot` on, in ascending order, until it returns false.
    @inline(__always)
    func forEach(from slot: Int = 0, _ body: (Int, Int64) throws(StoreError) -> Bool) throws(StoreError) {
        let rows = LeafHead.rows(head)
        var slot = LeafHead.nextLive(head, from: slot)
        while slot < rows {
            if !(try body(slot, try key(slot))) { return }
            slot = LeafHead.nextLive(head, from: slot &+ 1)
        }
    }
}
