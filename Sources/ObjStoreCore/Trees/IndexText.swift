internal import Glibc

/// The texts of a leaf or an inner node: a common prefix once, then the rest of each one after another.
///
/// ```
///  offset i ─┐                    ┌─ offset i+1
///            [suffix][length, hash][object key]      length and hash: bit 15 of offset i, long values
///                                                    object key: bit 14, separators of equal values
/// ```
struct IndexText {
    let offsets: UnsafeRawPointer
    let prefix: UnsafeRawPointer
    let prefixLength: Int
    let blob: UnsafeRawPointer

    static let keyedBit: UInt16 = 0x4000

    @inline(__always)
    func word(_ index: Int) -> UInt16 { offsets.loadUnaligned(fromByteOffset: index &* 2, as: UInt16.self) }

    /// The suffix that is stored, where it lies, and what comes behind it.
    @inline(__always)
    func suffix(_ index: Int) -> (bytes: UnsafeRawPointer, count: Int, word: UInt16) {
        let word = word(index)
        let start = Int(word & IndexLeaf.offsetMask)
        var end = Int(self.word(index &+ 1) & IndexLeaf.offsetMask)
        if word & (IndexLeaf.longBit | IndexText.keyedBit) != 0 {
            if word & IndexLeaf.longBit != 0 { end &-= IndexLeaf.longTrailer }
            if word & IndexText.keyedBit != 0 { end &-= 8 }
        }
        return (blob + start, end &- start, word)
    }

    /// Length and hash of a long value; `end` is where its suffix ends.
    @inline(__always)
    static func long(_ end: UnsafeRawPointer) -> (length: UInt32, hash: UInt64) {
        (end.loadUnaligned(as: UInt32.self), end.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
    }

    /// How the whole target compares with the common prefix: negative or positive for every entry alike, or 0
    /// where the suffixes decide. (Sign of entries <=> target.)
    @inline(__always)
    func comparePrefix(_ target: IndexEntry) -> Int {
        if prefixLength == 0 { return 0 }
        let order = memcmp(prefix, target.address, min(prefixLength, Int(target.low)))
        if order != 0 { return Int(order) }
        return Int(target.low) < prefixLength ? 1 : 0
    }

    /// Sign of entry `index` <=> target, by value; the target is whole and begins with the prefix. `key` is called only
    /// if a long value must be fetched.
    @inline(__always)
    func compare(_ index: Int, _ target: IndexEntry, _ order: IndexOrder, key: (Int) -> Int64) throws(StoreError) -> Int
    {
        let (bytes, count, word) = suffix(index)
        let rest = Int(target.low) &- prefixLength
        let shared = min(count, rest)
        if shared > 0 {
            let c = memcmp(bytes, target.address + prefixLength, shared)
            if c != 0 { return Int(c) }
        }
        if word & IndexLeaf.longBit == 0 { return count &- rest }
        if rest <= count { return 1 }
        return try compareLong(bytes + count, target, order, key: key(index))
    }

    @inline(never)
    private func compareLong(
        _ end: UnsafeRawPointer, _ target: IndexEntry, _ order: IndexOrder, key: Int64
    ) throws(StoreError) -> Int {
        let (length, hash) = IndexText.long(end)
        let whole = try order.whole(key: key, hash: hash, length: length)
        let c = memcmp(whole.baseAddress!, target.address, min(whole.count, Int(target.low)))
        return c != 0 ? Int(c) : whole.count &- Int(target.low)
    }

    func isWellFormed(count: Int, bytes: Int, keyed: Bool) -> Bool {
        guard bytes <= Int(IndexLeaf.offsetMask), word(0) & IndexLeaf.offsetMask == 0, word(count) == UInt16(bytes)
        else { return false }
        var index = 0
        while index < count {
            let (_, length, word) = suffix(index)
            guard length >= 0, Int(self.word(index + 1) & IndexLeaf.offsetMask) <= bytes else { return false }
            guard keyed || word & IndexText.keyedBit == 0 else { return false }
            if word & IndexLeaf.longBit != 0 {
                let whole = IndexText.long(suffix(index).bytes + length).length
                guard prefixLength + length == IndexLimits.head, Int(whole) > IndexLimits.head,
                    Int(whole) <= IndexKey.longest
                else {
                    return false
                }
            } else if prefixLength + length > IndexLimits.head {
                return false
            }
            index += 1
        }
        return true
    }
}
