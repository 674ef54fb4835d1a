/// The objects that a query finds, in its order, up to 4,096 at a time: what tables are made of.
///
/// ```
///  a scan, few objects in the order of creation       slots of one leaf: columns are unpacked as wholes
///  a list in another order                            rows of any leaves, found one by one
/// ```
/// What it gives is valid until the next block.
final class RowBlocks {
    private enum Source {
        /// All objects, or those that a scan lets through.
        case leaves(LeafScan?)
        /// Ascending, each once: neighbours are found in one leaf.
        case list(KeyBuffer, isAscending: Bool)
    }

    let reader: ClusterReader
    private let source: Source
    /// Not all of the objects need exist.
    let mayMiss: Bool
    private var cursor: LeafCursor
    /// Of a list: of the first object of the next block.
    private var next = 0
    private let memory: UnsafeMutablePointer<Int32>
    private let picked: UnsafeMutablePointer<Int32>
    private var rows: UnsafeMutablePointer<RowPosition>?

    private(set) var count = 0
    /// Counted up: of the first block 1.
    private(set) var number = 0
    /// Of a list: of the first object of the block.
    private(set) var start = 0
    /// Not nil: all of them are in this leaf, at `slots`.
    private(set) var head: UnsafeRawPointer?
    private(set) var slots: UnsafePointer<Int32>
    /// Every row of the leaf: the slots are 0, 1, 2 …
    private(set) var isWhole = false

    static let most = LeafHead.rowsPerLeaf

    /// All objects, or those that a scan lets through.
    convenience init(_ reader: ClusterReader, _ scan: LeafScan?) throws(StoreError) {
        try self.init(reader, .leaves(scan))
    }

    /// Objects of a list. `mayMiss`: not all of them need exist.
    convenience init(
        _ reader: ClusterReader, _ list: KeyBuffer, isAscending: Bool, mayMiss: Bool = false
    ) throws(StoreError) {
        try self.init(reader, .list(list, isAscending: isAscending && !mayMiss), mayMiss: mayMiss)
    }

    private init(_ reader: ClusterReader, _ source: Source, mayMiss: Bool = false) throws(StoreError) {
        self.reader = reader
        self.source = source
        self.mayMiss = mayMiss
        cursor = LeafCursor(reader, from: 0)
        memory = try Memory.allocate(Int32.self, 2 * RowBlocks.most)
        picked = memory + RowBlocks.most
        slots = UnsafePointer(memory)
        for slot in 0..<RowBlocks.most { memory[slot] = Int32(truncatingIfNeeded: slot) }
        if case .list(_, isAscending: false) = source { rows = try Memory.allocate(RowPosition.self, RowBlocks.most) }
    }

    deinit {
        memory.deallocate()
        rows?.deallocate()
    }

    /// Goes on to the next block; false: there is none.
    func advance() throws(StoreError) -> Bool {
        number += 1
        switch source {
        case .leaves(let scan): return try advance(scan)
        case .list(let list, let isAscending):
            if _slowPath(WatchedQuery.isOn) { try WatchedQuery.look(0, work: RowBlocks.most) }
            return try isAscending ? advanceInLeaf(list) : advanceByKey(list)
        }
    }

    private func advanceByKey(_ list: KeyBuffer) throws(StoreError) -> Bool {
        start = next
        count = min(RowBlocks.most, list.count - next)
        guard count > 0, let rows else { return false }
        var finder = RowFinder(reader)
        for index in 0..<count {
            let key = list.keys[next &+ index]
            if mayMiss {
                rows[index] =
                    try finder.find(key) ?? RowPosition(head: UnsafeRawPointer(memory), slot: -1, key: key)
            } else {
                rows[index] = try finder.row(key)
            }
        }
        next += count
        return true
    }

    private func advance(_ scan: LeafScan?) throws(StoreError) -> Bool {
        while let head = try cursor.next() {
            if _slowPath(WatchedQuery.isOn) { try WatchedQuery.look(LeafHead.live(head)) }
            self.head = head
            let mask: UnsafePointer<UInt64>
            if let scan {
                mask = try scan.mask(head)
            } else {
                guard let presence = LeafHead.presence(head) else {
                    count = LeafHead.rows(head)
                    slots = UnsafePointer(memory)
                    isWhole = true
                    if count > 0 { return true }
                    continue
                }
                mask = presence
            }
            let rows = LeafHead.rows(head)
            var found = 0
            for word in 0..<(rows &+ 63) &>> 6 {
                var bits = mask[word]
                while bits != 0 {
                    picked[found] = Int32(truncatingIfNeeded: word &<< 6 &+ bits.trailingZeroBitCount)
                    found &+= 1
                    bits &= bits &- 1
                }
            }
            if found == 0 { continue }
            (count, slots, isWhole) = (found, UnsafePointer(picked), found == rows)
            return true
        }
        return false
    }

    private func advanceInLeaf(_ list: KeyBuffer) throws(StoreError) -> Bool {
        guard next < list.count else { return false }
        start = next
        guard let row = try reader.find(list.keys[next]) else { throw RowBlocks.missing(list.keys[next]) }
        if let rows = wholeLeaf(row.head, list) {
            next += rows
            (head, count, slots, isWhole) = (row.head, rows, UnsafePointer(memory), true)
            return true
        }
        let leaf = LeafKeys(reader.source, row.head), end = try leaf.end()
        var found = 0
        while next < list.count, list.keys[next] < end, found < RowBlocks.most {
            guard let slot = try leaf.slot(of: list.keys[next]) else { throw RowBlocks.missing(list.keys[next]) }
            picked[found] = Int32(truncatingIfNeeded: slot)
            found += 1
            next += 1
        }
        // Of a damaged leaf, whose keys do not ascend.
        if found == 0 { throw RowBlocks.missing(list.keys[next]) }
        (head, count, slots, isWhole) = (row.head, found, UnsafePointer(picked), false)
        return true
    }

    /// How many rows a leaf without holes has, where the list has all of them next.
    private func wholeLeaf(_ head: UnsafeRawPointer, _ list: KeyBuffer) -> Int? {
        guard !LeafHead.isSparse(head), LeafHead.presence(head) == nil else { return nil }
        let rows = LeafHead.rows(head), base = LeafHead.keyBase(head), last = next + rows - 1
        // Ascending: between them are all others.
        guard last < list.count, list.keys[next] == base, list.keys[last] == base + Int64(rows - 1) else { return nil }
        return rows
    }

    private static func missing(_ key: Int64) -> StoreError {
        StoreError(.corrupt, "a list names the object \(key), which the version does not have")
    }

    /// There is no such object.
    @inline(__always)
    func isMissing(_ index: Int) -> Bool { mayMiss && rows.unsafelyUnwrapped[index].slot < 0 }

    /// Where an object of the block is.
    @inline(__always)
    func row(_ index: Int) throws(StoreError) -> RowPosition {
        guard let head else { return rows.unsafelyUnwrapped[index] }
        let slot = Int(slots[index])
        return RowPosition(head: head, slot: slot, key: try LeafKeys(reader.source, head).key(slot))
    }
}

extension QueryRun {
    /// All objects that the query finds, in its order.
    func blocks() throws(StoreError) -> RowBlocks {
        let reader = try trees.objects(cls)
        guard query.steps.isEmpty, query.origin.isObjects else {
            return try RowBlocks(reader, try keys(), isAscending: false)
        }
        if query.predicate.isTrue { return try RowBlocks(reader, nil) }
        if let few = try fewKeys() { return try RowBlocks(reader, few, isAscending: true) }
        return try RowBlocks(reader, try scan())
    }
}
