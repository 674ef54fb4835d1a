internal import Glibc

/// Sorts changes by value, then key.
///
/// Few are sorted by comparing. Many are sorted by the digits of a 64-bit prefix (a number, or eight bytes
/// of text after what all have in common), least significant first, skipping digits that do not vary; then
/// neighbours with equal prefixes are put in order by comparing.
enum IndexSort {
    private struct Item {
        var prefix: UInt64
        var index: UInt32
    }

    static func sort(_ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int, isText: Bool) throws(StoreError) {
        if count < 2 { return }
        if count <= 64 { return insertionSort(entries, count, isText) }
        // Keys of objects that are deleted in order: a look is cheap, and ends early where they are in none.
        var ordered = 1
        while ordered < count, !less(entries[ordered], entries[ordered &- 1], isText) { ordered &+= 1 }
        if ordered == count { return }
        let bytes = count * MemoryLayout<Item>.stride
        guard let memory = malloc(2 * bytes), let copy = malloc(count * MemoryLayout<IndexEntry>.stride) else {
            throw StoreError(.outOfMemory, "no memory to sort \(count) index changes")
        }
        defer {
            free(memory)
            free(copy)
        }
        var from = memory.bindMemory(to: Item.self, capacity: count)
        var to = (memory + bytes).bindMemory(to: Item.self, capacity: count)
        let skip = isText ? commonPrefix(entries, count) : 0
        var all: UInt64 = .max, any: UInt64 = 0
        for index in 0..<count {
            let prefix = isText ? textPrefix(entries[index], skip) : numberPrefix(entries[index])
            all &= prefix
            any |= prefix
            from[index] = Item(prefix: prefix, index: UInt32(truncatingIfNeeded: index))
        }
        let varying = all ^ any
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 2048) { counts in
            let counts = counts.baseAddress.unsafelyUnwrapped
            var shift: UInt64 = 0
            while shift < 64 {
                if (varying &>> shift) & 2047 != 0 {
                    counts.update(repeating: 0, count: 2048)
                    for index in 0..<count { counts[Int(truncatingIfNeeded: from[index].prefix &>> shift) & 2047] &+= 1 }
                    var sum = 0
                    for digit in 0..<2048 {
                        let next = sum &+ counts[digit]
                        counts[digit] = sum
                        sum = next
                    }
                    for index in 0..<count {
                        let item = from[index]
                        let digit = Int(truncatingIfNeeded: item.prefix &>> shift) & 2047
                        to[counts[digit]] = item
                        counts[digit] &+= 1
                    }
                    swap(&from, &to)
                }
                shift &+= 11
            }
        }
        let old = copy.bindMemory(to: IndexEntry.self, capacity: count)
        old.update(from: entries, count: count)
        for index in 0..<count { entries[index] = old[Int(from[index].index)] }
        // Equal prefixes: usually none or already in order of their keys.
        var start = 0
        while start < count {
            var end = start &+ 1
            var ordered = true
            while end < count, from[end].prefix == from[start].prefix {
                if ordered, less(entries[end], entries[end &- 1], isText) { ordered = false }
                end &+= 1
            }
            if !ordered { mergeSort(entries + start, end &- start, isText, old) }
            start = end
        }
    }

    /// Nulls get the smallest prefix; values that share it are told apart by comparing.
    @inline(__always)
    private static func numberPrefix(_ entry: IndexEntry) -> UInt64 { entry.isNull ? 0 : entry.bits }

    private static func textPrefix(_ entry: IndexEntry, _ skip: Int) -> UInt64 {
        if entry.isNull { return 0 }
        let rest = Int(entry.low) &- skip
        if rest >= 8 { return UInt64(bigEndian: (entry.address + skip).loadUnaligned(as: UInt64.self)) }
        var prefix: UInt64 = 0
        var byte = 0
        while byte < rest {
            prefix |= UInt64(entry.address.load(fromByteOffset: skip &+ byte, as: UInt8.self)) &<< UInt64(56 &- 8 &* byte)
            byte &+= 1
        }
        return prefix
    }

    private static func commonPrefix(_ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int) -> Int {
        var first: IndexEntry?
        var common = 0
        for index in 0..<count where !entries[index].isNull {
            let entry = entries[index]
            guard let first else {
                first = entry
                common = min(Int(entry.low), 1 << 16)
                continue
            }
            common = min(common, Int(entry.low))
            var same = 0
            while same < common, first.address.load(fromByteOffset: same, as: UInt8.self) == entry.address.load(fromByteOffset: same, as: UInt8.self) {
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
        _ entries: UnsafeMutablePointer<IndexEntry>, _ count: Int, _ isText: Bool, _ scratch: UnsafeMutablePointer<IndexEntry>
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
