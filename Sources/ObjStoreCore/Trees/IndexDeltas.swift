internal import CSystem

/// Memory that grows and is forgotten all at once; addresses stay valid until then.
struct IndexBump {
    private var blocks: [UnsafeMutableRawPointer] = []
    private var current: UnsafeMutableRawPointer?
    private var used = 0
    private var size = 0
    private(set) var total = 0

    mutating func allocate(_ count: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        if used &+ count > size || current == nil {
            let want = max(count, min(1 << 20, max(4096, size &* 2)))
            guard let block = cs_try_malloc(want) else {
                throw StoreError(.outOfMemory, "no memory for \(count) bytes of an index change")
            }
            blocks.append(block)
            current = block
            size = want
            used = 0
        }
        let pointer = current.unsafelyUnwrapped + used
        used &+= count
        total &+= count
        return pointer
    }

    /// Takes back what was allocated last.
    mutating func undo(_ pointer: UnsafeRawPointer, _ count: Int) {
        guard let current, pointer + count == UnsafeRawPointer(current + used) else { return }
        used -= count
        total -= count
    }

    /// Whether what it keeps is little enough to wait for another transaction.
    var isSmall: Bool { max(size, total) <= 1 << 16 }

    /// Keeps the last block for the next use.
    mutating func reset() {
        while blocks.count > 1 { free(blocks.removeFirst()) }
        used = 0
        total = 0
    }

    mutating func release() {
        for block in blocks { free(block) }
        blocks = []
        current = nil
        used = 0
        size = 0
        total = 0
    }
}

/// Entries in a piece of memory that grows; reused from merge to merge.
struct IndexEntryBuffer {
    private(set) var base: UnsafeMutablePointer<IndexEntry>?
    var count = 0
    private(set) var capacity = 0

    @inline(__always) subscript(_ index: Int) -> IndexEntry {
        get { base.unsafelyUnwrapped[index] }
        nonmutating set { base.unsafelyUnwrapped[index] = newValue }
    }

    @inline(__always)
    mutating func append(_ entry: IndexEntry) throws(StoreError) {
        if count == capacity { try reserve(count &+ 1) }
        base.unsafelyUnwrapped[count] = entry
        count &+= 1
    }

    @inline(never)
    mutating func reserve(_ wanted: Int) throws(StoreError) {
        if wanted <= capacity { return }
        let room = max(wanted, capacity * 2, 64)
        guard let memory = cs_try_realloc(base, room * MemoryLayout<IndexEntry>.stride) else {
            throw StoreError(.outOfMemory, "no memory for \(room) index changes")
        }
        base = memory.bindMemory(to: IndexEntry.self, capacity: room)
        capacity = room
    }

    mutating func release() {
        free(base)
        base = nil
        count = 0
        capacity = 0
    }
}

/// The changes of an index that wait to be merged into its tree: at most one per (value, object key).
///
/// ```
///   ascending   [ e0 < e1 < e2 < … ]        insertions that came in ascending order: found by halving
///   others      [ e  e  e  … ]  <- table    everything else: found by hash
/// ```
/// The hash is of the value where values are looked up (in a unique index, where at most a removal and an insertion
/// share it; nulls aside, which any number of objects may have), of value and key otherwise; whatever came since the
/// last look-up gets its place in the table with the next one. Changes of new objects, whose keys are greater than all
/// before, need none. Not an owner that cleans up by itself: `release` does.
struct IndexDeltas {
    let isText: Bool
    /// `pending` is queried.
    private let byValue: Bool
    let seed: UInt64
    private let order: IndexOrder

    private var ascending = IndexEntryBuffer()
    private var others = IndexEntryBuffer()
    private var sorted = IndexEntryBuffer()
    private var bytes = IndexBump()
    /// Index in `others` plus one; 0 = free. A power of two long.
    private var table: UnsafeMutablePointer<UInt32>?
    private var mask = 0
    /// How many of `others` have their place in the table.
    private var placed = 0
    /// The greatest object key of any change since `reset`.
    private var greatestKey = Int64.min
    /// Changes that were not undone by their opposite.
    private(set) var live = 0
    private var deadAscending = 0

    /// As many changes as a writer may keep room for between transactions.
    static let small = 2048
    var isSmall: Bool {
        ascending.capacity + others.capacity + sorted.capacity <= IndexDeltas.small && mask < 1 << 13 && bytes.isSmall
    }

    /// Bytes of text that wait.
    var byteCount: Int { bytes.total }

    init(kind: ValueKind, byValue: Bool, seed: UInt64) {
        isText = kind.isIndexedAsBytes
        self.byValue = byValue
        self.seed = seed
        order = IndexOrder(kind: kind, longValues: nil)
    }

    mutating func reset() {
        if let table, placed > 0 {
            if mask >= 1 << 16 {
                free(table)
                self.table = nil
            } else {
                memset(table, 0, (mask + 1) * 4)
            }
        }
        ascending.count = 0
        others.count = 0
        placed = 0
        greatestKey = .min
        live = 0
        deadAscending = 0
        bytes.reset()
    }

    mutating func release() {
        ascending.release()
        others.release()
        sorted.release()
        bytes.release()
        free(table)
        table = nil
    }

    // MARK: Changes

    /// Adds an insertion or a removal; its opposite, where it waits, is dropped instead. False: the same
    /// change waits already.
    mutating func add(_ change: IndexEntry) throws(StoreError) -> Bool {
        var change = change
        if isText, !change.isNull { change.bits = IndexBits.hash(change.address, Int(change.low), seed: seed) }
        if change.key > greatestKey {
            greatestKey = change.key
        } else if let found = try find(change) {
            let isRemoval = found.pointee.isRemoval
            if isRemoval == change.isRemoval { return false }
            drop(found)
            return true
        }
        // An address inside `ascending` or `others`, so nothing may be appended between find and drop.
        if !change.isRemoval, ascending.count == 0 || compare(ascending[ascending.count - 1], change) < 0 {
            try ascending.append(try copied(change))
        } else {
            try others.append(try copied(change))
        }
        live += 1
        return true
    }

    /// What waits for a value, not null, of an index whose values are looked up: the key of an insertion, or only a
    /// removal.
    enum Pending {
        case nothing
        case removed
        case inserted(Int64)
    }

    mutating func pending(_ target: IndexEntry) throws(StoreError) -> Pending {
        if live == 0 { return .nothing }
        var target = target
        if isText, !target.isNull { target.bits = IndexBits.hash(target.address, Int(target.low), seed: seed) }
        var removed = false
        if let table = try wholeTable() {
            var slot = Int(truncatingIfNeeded: hash(target)) & mask
            while table[slot] != 0 {
                let entry = others.base.unsafelyUnwrapped + Int(table[slot] &- 1)
                if !entry.pointee.isDead, sameValue(entry.pointee, target) {
                    if !entry.pointee.isRemoval { return .inserted(entry.pointee.key) }
                    removed = true
                }
                slot = (slot &+ 1) & mask
            }
        }
        if ascending.count > 0 {
            target.key = .min
            var index = lowerBound(target)
            while index < ascending.count, sameValue(ascending[index], target) {
                if !ascending[index].isDead { return .inserted(ascending[index].key) }
                index += 1
            }
        }
        return removed ? .removed : .nothing
    }

    /// Whether a number is greater than all of a few that wait, and it is known without a search.
    @inline(__always)
    func isGreater(_ bits: UInt64) -> Bool {
        others.count == 0 && (ascending.count == 0 || ascending[ascending.count &- 1].bits < bits)
    }

    private mutating func copied(_ change: IndexEntry) throws(StoreError) -> IndexEntry {
        if !isText || change.isNull || change.low == 0 { return change }
        let copy = try bytes.allocate(Int(change.low))
        copy.copyMemory(from: change.address, byteCount: Int(change.low))
        var entry = change
        entry.extra = UInt(bitPattern: copy)
        return entry
    }

    private mutating func drop(_ entry: UnsafeMutablePointer<IndexEntry>) {
        live -= 1
        if live == 0 { return reset() }
        entry.pointee.flags |= IndexEntry.dead
        if let base = ascending.base, entry >= base, entry < base + ascending.count {
            // The last one may go at once: what comes next is compared with what is left.
            if entry == base + (ascending.count - 1) {
                if isText, !entry.pointee.isNull { bytes.undo(entry.pointee.address, Int(entry.pointee.low)) }
                ascending.count -= 1
            } else {
                deadAscending += 1
            }
        }
    }

    private mutating func find(_ wanted: IndexEntry) throws(StoreError) -> UnsafeMutablePointer<IndexEntry>? {
        if live == 0 { return nil }
        if let table = try wholeTable() {
            var slot = Int(truncatingIfNeeded: hash(wanted)) & mask
            while table[slot] != 0 {
                let entry = others.base.unsafelyUnwrapped + Int(table[slot] &- 1)
                if !entry.pointee.isDead, entry.pointee.key == wanted.key, sameValue(entry.pointee, wanted) {
                    return entry
                }
                slot = (slot &+ 1) & mask
            }
        }
        if ascending.count > 0 {
            let index = lowerBound(wanted)
            if index < ascending.count, !ascending[index].isDead, ascending[index].key == wanted.key,
                sameValue(ascending[index], wanted)
            {
                return ascending.base.unsafelyUnwrapped + index
            }
        }
        return nil
    }

    /// The first of the ascending ones that is not less. All texts here are whole: nothing throws.
    private func lowerBound(_ target: IndexEntry) -> Int {
        var low = 0, high = ascending.count
        if compare(ascending[high - 1], target) < 0 { return high }
        while low < high {
            let middle = (low + high) >> 1
            if compare(ascending[middle], target) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func compare(_ a: IndexEntry, _ b: IndexEntry) -> Int {
        if let order = try? order.compare(a, b) { return order }
        preconditionFailure("whole texts need nobody to ask")
    }

    // MARK: Hash table

    @inline(__always)
    private func sameValue(_ a: IndexEntry, _ b: IndexEntry) -> Bool {
        if a.bits != b.bits || a.low != b.low || (a.flags ^ b.flags) & IndexEntry.present != 0 { return false }
        return !isText || a.isNull || memcmp(a.address, b.address, Int(a.low)) == 0
    }

    @inline(__always)
    private func hash(_ entry: IndexEntry) -> UInt64 {
        let value = entry.bits ^ UInt64(entry.low) &<< 29 ^ seed
        return PageHash.mix(value, byValue && !entry.isNull ? 0x2545_f491_4f6c_dd1d : UInt64(bitPattern: entry.key))
    }

    /// The table with all of `others`; nil when there are none.
    @inline(__always)
    private mutating func wholeTable() throws(StoreError) -> UnsafeMutablePointer<UInt32>? {
        if placed < others.count { try placeRest() }
        return others.count > 0 ? table : nil
    }

    @inline(never)
    private mutating func placeRest() throws(StoreError) {
        if table == nil || others.count &* 2 >= mask { return try growTable() }
        while placed < others.count {
            place(placed)
            placed += 1
        }
    }

    private func place(_ index: Int) {
        var slot = Int(truncatingIfNeeded: hash(others[index])) & mask
        while table.unsafelyUnwrapped[slot] != 0 { slot = (slot &+ 1) & mask }
        table.unsafelyUnwrapped[slot] = UInt32(truncatingIfNeeded: index + 1)
    }

    /// Twice the table, without what is dead.
    private mutating func growTable() throws(StoreError) {
        var kept = 0
        for index in 0..<others.count where !others[index].isDead {
            others[kept] = others[index]
            kept += 1
        }
        others.count = kept
        var size = 64
        while size < (kept + 1) * 4 { size *= 2 }
        guard let new = cs_try_calloc(size, 4) else {
            throw StoreError(.outOfMemory, "no memory for \(size) index changes")
        }
        free(table)
        table = new.bindMemory(to: UInt32.self, capacity: size)
        mask = size - 1
        for index in 0..<kept { place(index) }
        placed = kept
    }

    // MARK: In order

    /// All live changes in ascending order; valid until the next change.
    mutating func inOrder() throws(StoreError) -> UnsafeMutableBufferPointer<IndexEntry> {
        if others.count == 0, deadAscending == 0 {
            return UnsafeMutableBufferPointer(start: ascending.base, count: ascending.count)
        }
        sorted.count = 0
        try sorted.reserve(live)
        let moved =
            others.count == 0
            ? 0
            : try IndexSort.sort(
                others.base.unsafelyUnwrapped, others.count, into: sorted.base.unsafelyUnwrapped, isText: isText)
        sorted.count = moved
        if moved == live { return UnsafeMutableBufferPointer(start: sorted.base, count: moved) }
        // Merge from behind; the ascending ones come from their own buffer.
        sorted.count = live
        var target = live - 1, a = moved - 1, b = ascending.count - 1
        while b >= 0 {
            if ascending[b].isDead {
                b -= 1
            } else if a >= 0, compare(sorted[a], ascending[b]) > 0 {
                sorted[target] = sorted[a]
                target -= 1
                a -= 1
            } else {
                sorted[target] = ascending[b]
                target -= 1
                b -= 1
            }
        }
        return UnsafeMutableBufferPointer(start: sorted.base, count: live)
    }
}
