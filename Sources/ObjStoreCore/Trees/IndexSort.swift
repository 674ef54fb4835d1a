internal import CSystem

/// Sorts changes by value, then key.
///
/// Few are sorted by comparing. Many are sorted by the digits of a 64-bit prefix (a number, or eight bytes
/// of text after what all have in common), least significant first, skipping digits that do not vary; then
/// neighbours with equal prefixes are put in order by comparing.
///
/// ```
///   item, usually   | the bits of the prefix that vary | index |      one word
///   item, else      | prefix           | index         |              two
/// ```
enum IndexSort {
    private struct Item {
        var prefix: UInt64
        var index: UInt32
    }

    /// Sorts entries where they are; none is dead.
    static func sort(_ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int, isText: Bool) throws(StoreError) {
        if count <= 64 { return insertionSort(entries, count, isText) }
        if isOrdered(entries, count, isText) { return }
        guard let memory = cs_try_malloc(count * MemoryLayout<IndexEntry>.stride) else { throw noMemory(count) }
        defer { free(memory) }
        let copy = memory.bindMemory(to: IndexEntry.self, capacity: count)
        copy.update(from: entries, count: count)
        _ = try sortMany(copy, count, into: entries, isText)
    }

    /// Sorts those of `entries` that are not dead into `target`, which has room for them; returns how many.
    static func sort(
        _ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int, into target: UnsafeMutablePointer<IndexEntry>,
        isText: Bool
    ) throws(StoreError) -> Int {
        // Keys of objects that are deleted in order: a look is cheap, and ends early where they are in none.
        if count > 64, !isOrdered(entries, count, isText) { return try sortMany(entries, count, into: target, isText) }
        var live = 0
        for index in 0..<count where !entries[index].isDead {
            target[live] = entries[index]
            live &+= 1
        }
        if count <= 64 { insertionSort(target, live, isText) }
        return live
    }

    private static func isOrdered(_ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int, _ isText: Bool) -> Bool {
        var ordered = 1
        while ordered < count, !less(entries[ordered], entries[ordered &- 1], isText) { ordered &+= 1 }
        return ordered == count
    }

    private static func noMemory(_ count: Int) -> StoreError {
        StoreError(.outOfMemory, "no memory to sort \(count) index changes")
    }

    private static func sortMany(
        _ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int, into target: UnsafeMutablePointer<IndexEntry>,
        _ isText: Bool
    ) throws(StoreError) -> Int {
        let skip = isText ? commonPrefix(entries, count) : 0
        var all: UInt64 = .max, any: UInt64 = 0, live = 0
        for index in 0..<count where !entries[index].isDead {
            let prefix = prefix(entries[index], skip, isText)
            all &= prefix
            any |= prefix
            live &+= 1
        }
        let varying = all ^ any, indexBits = UInt64(64 - count.leadingZeroBitCount),
            low = UInt64(varying == 0 ? 0 : varying.trailingZeroBitCount)
        let bits = UInt64(64 - (varying >> low).leadingZeroBitCount)
        let isNarrow = bits &+ indexBits <= 64
        guard
            let memory = cs_try_malloc(2 * live * (isNarrow ? MemoryLayout<UInt64>.stride : MemoryLayout<Item>.stride))
        else { throw noMemory(count) }
        defer { free(memory) }
        if isNarrow {
            let items = memory.bindMemory(to: UInt64.self, capacity: 2 * live),
                mask: UInt64 = bits == 0 ? 0 : .max >> (64 - bits)
            var next = 0
            for index in 0..<count where !entries[index].isDead {
                let prefix = prefix(entries[index], skip, isText)
                items[next] = (prefix &>> low & mask) &<< indexBits | UInt64(truncatingIfNeeded: index)
                next &+= 1
            }
            let sorted = sortByDigits(items, items + live, live, varying: mask << indexBits) { $0 }
            for place in 0..<live {
                target[place] = entries[Int(truncatingIfNeeded: sorted[place] & ~(.max &<< indexBits))]
            }
            try orderEqual(target, live, isText) { sorted[$0] &>> indexBits }
        } else {
            let items = memory.bindMemory(to: Item.self, capacity: 2 * live)
            var next = 0
            for index in 0..<count where !entries[index].isDead {
                items[next] = Item(
                    prefix: prefix(entries[index], skip, isText), index: UInt32(truncatingIfNeeded: index))
                next &+= 1
            }
            let sorted = sortByDigits(items, items + live, live, varying: varying) { $0.prefix }
            for place in 0..<live { target[place] = entries[Int(sorted[place].index)] }
            try orderEqual(target, live, isText) { sorted[$0].prefix }
        }
        return live
    }

    /// Returns where the sorted items are: in one of the two pieces of memory.
    @inline(__always)
    private static func sortByDigits<T>(
        _ items: UnsafeMutablePointer<T>, _ spare: UnsafeMutablePointer<T>, _ count: Int, varying: UInt64,
        _ prefix: (T) -> UInt64
    ) -> UnsafeMutablePointer<T> {
        var from = items, to = spare
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 2048) { counts in
            let counts = counts.baseAddress.unsafelyUnwrapped
            var shift = varying == 0 ? 64 : UInt64(varying.trailingZeroBitCount)
            while shift < 64 {
                if (varying &>> shift) & 2047 != 0 {
                    counts.update(repeating: 0, count: 2048)
                    for index in 0..<count {
                        counts[Int(truncatingIfNeeded: prefix(from[index]) &>> shift) & 2047] &+= 1
                    }
                    var sum = 0
                    for digit in 0..<2048 {
                        let next = sum &+ counts[digit]
                        counts[digit] = sum
                        sum = next
                    }
                    for index in 0..<count {
                        let item = from[index]
                        let digit = Int(truncatingIfNeeded: prefix(item) &>> shift) & 2047
                        to[counts[digit]] = item
                        counts[digit] &+= 1
                    }
                    swap(&from, &to)
                }
                shift &+= 11
            }
        }
        return from
    }

    /// Puts entries with equal prefixes in order: usually there are none, or they are already in that of their keys.
    @inline(__always)
    private static func orderEqual(
        _ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int, _ isText: Bool, _ prefix: (Int) -> UInt64
    ) throws(StoreError) {
        var start = 0
        while start < count {
            let first = prefix(start)
            var end = start &+ 1, ordered = true
            while end < count, prefix(end) == first {
                if ordered, less(entries[end], entries[end &- 1], isText) { ordered = false }
                end &+= 1
            }
            if !ordered { try mergeSort(entries + start, end &- start, isText) }
            start = end
        }
    }

    private static func mergeSort(
        _ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int, _ isText: Bool
    ) throws(StoreError) {
        if count <= 16 { return insertionSort(entries, count, isText) }
        guard let memory = cs_try_malloc((count / 2) * MemoryLayout<IndexEntry>.stride) else { throw noMemory(count) }
        mergeSort(entries, count, isText, memory.bindMemory(to: IndexEntry.self, capacity: count / 2))
        free(memory)
    }

    @inline(__always)
    private static func prefix(_ entry: IndexEntry, _ skip: Int, _ isText: Bool) -> UInt64 {
        isText ? textPrefix(entry, skip) : numberPrefix(entry)
    }

    /// Nulls get the smallest prefix; values that share it are distinguished by comparing.
    @inline(__always)
    private static func numberPrefix(_ entry: IndexEntry) -> UInt64 { entry.isNull ? 0 : entry.bits }

    private static func textPrefix(_ entry: IndexEntry, _ skip: Int) -> UInt64 {
        if entry.isNull { return 0 }
        let rest = Int(entry.low) &- skip
        if rest >= 8 { return UInt64(bigEndian: (entry.address + skip).loadUnaligned(as: UInt64.self)) }
        var prefix: UInt64 = 0
        var byte = 0
        while byte < rest {
            prefix |=
                UInt64(entry.address.load(fromByteOffset: skip &+ byte, as: UInt8.self)) &<< UInt64(56 &- 8 &* byte)
            byte &+= 1
        }
        return prefix
    }

    private static func commonPrefix(_ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int) -> Int {
        var first: IndexEntry?
        var common = 0
        for index in 0..<count where !entries[index].isNull && !entries[index].isDead {
            let entry = entries[index]
            guard let first else {
                first = entry
                common = min(Int(entry.low), 1 << 16)
                continue
            }
            common = min(common, Int(entry.low))
            var same = 0
            while same < common,
                first.address.load(fromByteOffset: same, as: UInt8.self)
                    == entry.address.load(fromByteOffset: same, as: UInt8.self)
            {
                same &+= 1
            }
            common = same
            if common == 0 { break }
        }
        return common
    }

    @inline(__always)
    private static func less(_ a: IndexEntry, _ b: IndexEntry, _ isText: Bool) -> Bool {
        if (a.flags ^ b.flags) & IndexEntry.present != 0 { return a.isNull }
        if !a.isNull {
            if isText {
                let c = memcmp(a.address, b.address, min(Int(a.low), Int(b.low)))
                if c != 0 { return c < 0 }
            } else if a.bits != b.bits {
                return a.bits < b.bits
            }
            if a.low != b.low { return a.low < b.low }
        }
        return a.key < b.key
    }

    private static func insertionSort(_ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int, _ isText: Bool) {
        var index = 1
        while index < count {
            let entry = entries[index]
            var place = index
            while place > 0, less(entry, entries[place &- 1], isText) {
                entries[place] = entries[place &- 1]
                place &-= 1
            }
            entries[place] = entry
            index &+= 1
        }
    }

    private static func mergeSort(
        _ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int, _ isText: Bool,
        _ scratch: UnsafeMutablePointer<IndexEntry>
    ) {
        if count <= 16 { return insertionSort(entries, count, isText) }
        let half = count / 2
        mergeSort(entries, half, isText, scratch)
        mergeSort(entries + half, count - half, isText, scratch)
        if !less(entries[half], entries[half - 1], isText) { return }
        scratch.update(from: entries, count: half)
        var a = 0, b = half, target = 0
        while a < half {
            if b < count, less(entries[b], scratch[a], isText) {
                entries[target] = entries[b]
                b &+= 1
            } else {
                entries[target] = scratch[a]
                a &+= 1
            }
            target &+= 1
        }
    }
}
