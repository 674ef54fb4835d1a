/// The head of a leaf: which rows live, and a directory that says where each column's parts lie.
///
/// A leaf holds the rows of 4096 consecutive object keys, `slot = key - keyBase`; compaction puts those that are left
/// of several such leaves side by side in one that lists their keys (`LeafKeys`). Its columns are cut into parts of at
/// most about 4 KiB (numbers) or 512 rows (text), so that a change copies one part and the head, never the whole leaf.
/// Small parts lie in the head itself.
///
/// ```
///  0            32                      64          128               64+64n
/// +------------+-----------------------+-----------+-----+-----------+--------+----------+--------+
/// | NodeHeader | entries, live,        | directory | ... | directory |presence| part     | inline |
/// | word =     | presence, mainEntries | line 0    |     | line n-1  |bitmap  | tables   | parts  |
/// | keyBase    | bornEpoch             |           |     |           |        |          |        |
/// +------------+-----------------------+-----------+-----+-----------+--------+----------+--------+
///  32 u16 entries        number of directory lines
///  34 u8  flags          1 = sparse: the last column is that of the keys
///  35 u8  log2Rows       12
///  36 u16 live           rows that exist
///  38 u16 presence       offset / 64 of the 512-byte bitmap of existing rows; 0 = all of them
///  40 u16 mainEntries    lines of columns; the lines after them hold the second words of pairs
///  42 –   reserved, zero
///  48 u64 bornEpoch      births of parts are stored as differences to this version
///  56 –   reserved, zero
/// ```
/// `NodeHeader.count` is the number of slots in use: the last row ever appended has slot count - 1.
/// Everything after the directory is aligned to 64 bytes.
package enum LeafHead {
    static let log2Rows = 12
    static let rowsPerLeaf = 1 << log2Rows
    static let slotMask = Int64(rowsPerLeaf - 1)
    package static let directory = 64
    static let presenceBytes = rowsPerLeaf / 8
    /// Parts smaller than this lie in the head.
    static let inlineLimit = 1024

    @inline(__always) package static func keyBase(of key: Int64) -> Int64 { key & ~slotMask }

    @inline(__always) package static func rows(_ head: UnsafeRawPointer) -> Int { NodeHeader.count(head) }
    @inline(__always) static func keyBase(_ head: UnsafeRawPointer) -> Int64 {
        Int64(bitPattern: NodeHeader.word(head))
    }
    @inline(__always) package static func entries(_ head: UnsafeRawPointer) -> Int {
        Int(head.load(fromByteOffset: 32, as: UInt16.self))
    }
    @inline(__always) static func live(_ head: UnsafeRawPointer) -> Int {
        Int(head.load(fromByteOffset: 36, as: UInt16.self))
    }
    @inline(__always) static func mainEntries(_ head: UnsafeRawPointer) -> Int {
        Int(head.load(fromByteOffset: 40, as: UInt16.self))
    }
    @inline(__always) static func isSparse(_ head: UnsafeRawPointer) -> Bool {
        head.load(fromByteOffset: 34, as: UInt8.self) != 0
    }
    /// The line of the keys of a sparse leaf.
    @inline(__always) static func keyEntry(_ head: UnsafeRawPointer) -> LeafEntry {
        LeafEntry(head + directory + (mainEntries(head) &- 1) &<< 6)
    }
    @inline(__always) static func bornEpoch(_ head: UnsafeRawPointer) -> UInt64 {
        head.load(fromByteOffset: 48, as: UInt64.self)
    }

    static func initialize(
        _ head: UnsafeMutableRawPointer, bytes: Int, keyBase: Int64, rows: Int, entries: Int, mainEntries: Int,
        live: Int, bornEpoch: UInt64
    ) {
        NodeHeader.initialize(head, kind: .leafHead, bytes: bytes, word: UInt64(bitPattern: keyBase))
        NodeHeader.setCount(head, rows)
        (head + 32).initializeMemory(as: UInt8.self, repeating: 0, count: 32)
        head.storeBytes(of: UInt16(entries), toByteOffset: 32, as: UInt16.self)
        head.storeBytes(of: UInt8(log2Rows), toByteOffset: 35, as: UInt8.self)
        setLive(head, live)
        head.storeBytes(of: UInt16(mainEntries), toByteOffset: 40, as: UInt16.self)
        head.storeBytes(of: bornEpoch, toByteOffset: 48, as: UInt64.self)
    }

    @inline(__always) static func setSparse(_ head: UnsafeMutableRawPointer) {
        head.storeBytes(of: 1, toByteOffset: 34, as: UInt8.self)
    }
    @inline(__always) static func setLive(_ head: UnsafeMutableRawPointer, _ live: Int) {
        head.storeBytes(of: UInt16(live), toByteOffset: 36, as: UInt16.self)
    }
    @inline(__always) package static func setBornEpoch(_ head: UnsafeMutableRawPointer, _ version: UInt64) {
        head.storeBytes(of: version, toByteOffset: 48, as: UInt64.self)
    }
    @inline(__always) static func setPresence(_ head: UnsafeMutableRawPointer, offset: Int) {
        head.storeBytes(of: UInt16(offset >> 6), toByteOffset: 38, as: UInt16.self)
    }

    /// The bitmap of existing rows, 64 words; null where every row exists. Bits beyond `rows` are zero.
    @inline(__always) static func presence(_ head: UnsafeRawPointer) -> UnsafePointer<UInt64>? {
        let offset = Int(head.load(fromByteOffset: 38, as: UInt16.self)) &<< 6
        return offset == 0 ? nil : (head + offset).assumingMemoryBound(to: UInt64.self)
    }

    /// Whether the row exists.
    @inline(__always) package static func isLive(_ head: UnsafeRawPointer, _ slot: Int) -> Bool {
        guard slot < rows(head) else { return false }
        guard let bits = presence(head) else { return true }
        return bits[slot &>> 6] &>> UInt64(slot & 63) & 1 != 0
    }

    /// The first existing row at or after `slot`; `rows` where there is none.
    @inline(__always) static func nextLive(_ head: UnsafeRawPointer, from slot: Int) -> Int {
        let rows = rows(head)
        guard let bits = presence(head), slot < rows else { return min(slot, rows) }
        var word = slot &>> 6
        var w = bits[word] & (~0 &<< UInt64(slot & 63))
        while w == 0 {
            word &+= 1
            if word &<< 6 >= rows { return rows }
            w = bits[word]
        }
        return word &<< 6 &+ w.trailingZeroBitCount
    }

    /// The slot of the `ordinal`-th existing row; the caller knows that there are more than `ordinal`.
    static func slot(_ head: UnsafeRawPointer, ordinal: Int) -> Int {
        guard let bits = presence(head) else { return ordinal }
        var left = ordinal
        for word in 0..<64 {
            var w = bits[word]
            let ones = w.nonzeroBitCount
            if left >= ones { left -= ones; continue }
            while left > 0 { w &= w &- 1; left -= 1 }
            return word << 6 + w.trailingZeroBitCount
        }
        return rows(head)
    }

    /// How many rows exist before `slot`.
    static func liveBefore(_ head: UnsafeRawPointer, _ slot: Int) -> Int {
        guard let bits = presence(head) else { return min(slot, rows(head)) }
        var count = 0, word = 0
        while word < slot >> 6 { count += bits[word].nonzeroBitCount; word += 1 }
        if slot & 63 != 0 { count += (bits[word] & ((1 << UInt64(slot & 63)) - 1)).nonzeroBitCount }
        return count
    }

    /// The line of a column: the one at `hint` in the usual case, else found by binary search.
    @inline(__always) package static func entry(_ head: UnsafeRawPointer, id: UInt32, hint: Int) -> LeafEntry? {
        let line = head + directory + hint &<< 6
        if _fastPath(hint < mainEntries(head) && line.load(as: UInt32.self) == id) { return LeafEntry(line) }
        return search(head, id: id, from: 0, to: mainEntries(head))
    }

    /// The line of the second words of a pair: a timestamp's nanoseconds, the rest of a uuid.
    static func secondLine(_ head: UnsafeRawPointer, id: UInt32) -> LeafEntry? {
        search(head, id: id, from: mainEntries(head), to: entries(head))
    }

    @inline(never)
    private static func search(_ head: UnsafeRawPointer, id: UInt32, from: Int, to: Int) -> LeafEntry? {
        var low = from, high = to
        while low < high {
            let middle = (low + high) >> 1
            let line = head + directory + middle << 6
            let found = line.load(as: UInt32.self)
            if found == id { return LeafEntry(line) }
            if found < id { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// Room that an inline part of `bytes` bytes takes in a head: a power of two, so that a small leaf that
    /// grows row by row is laid out again only when a part has doubled. In a full leaf nothing is wasted:
    /// its inline parts are bitmaps of 512 bytes.
    @inline(__always) static func inlineRoom(_ bytes: Int) -> Int {
        bytes <= 64 ? 64 : 1 &<< (Int.bitWidth &- (bytes &- 1).leadingZeroBitCount)
    }

    @inline(__always) static func bitmapBytes(rows: Int) -> Int { ((rows &+ 63) >> 6) &<< 3 }

    // MARK: First touch

    static func isWellFormed(_ head: UnsafeRawPointer, bytes: Int) -> Bool {
        guard bytes >= directory, bytes & 63 == 0 else { return false }
        let rows = rows(head), entries = entries(head), main = mainEntries(head), live = live(head),
            base = keyBase(head)
        guard (1...rowsPerLeaf).contains(rows), (1...rows).contains(live), main <= entries else { return false }
        guard base >= 0, base & slotMask == 0, base <= maximumKey else { return false }
        guard head.load(fromByteOffset: 34, as: UInt8.self) <= 1,
            head.load(fromByteOffset: 35, as: UInt8.self) == UInt8(log2Rows)
        else { return false }
        let end = directory + entries << 6
        guard end <= bytes else { return false }
        if let bits = presence(head) {
            let offset = UnsafeRawPointer(bits) - head
            guard offset >= end, offset <= bytes - presenceBytes else { return false }
            var count = 0
            for word in 0..<64 {
                let beyond = rows - word << 6
                if beyond <= 0 {
                    if bits[word] != 0 { return false }
                } else if beyond < 64, bits[word] >> UInt64(beyond) != 0 {
                    return false
                }
                count += bits[word].nonzeroBitCount
            }
            guard count == live else { return false }
        } else if live != rows {
            return false
        }
        for index in 0..<entries {
            let entry = LeafEntry(head + directory + index << 6)
            if index > 0, index != main, entry.columnID <= LeafEntry(head + directory + (index - 1) << 6).columnID {
                return false
            }
            guard entry.isWellFormed(head, directoryEnd: end, headBytes: bytes, rows: rows, isSecondLine: index >= main)
            else { return false }
        }
        if isSparse(head) {
            guard main > 0 else { return false }
            let keys = keyEntry(head)
            guard keys.columnID == LeafKeys.column, keys.encoding <= LeafEncoding.linear.rawValue, !keys.hasAux,
                keys.width < 64, keys.base >= 0, keys.max >= keys.base, keys.max <= maximumKey - base
            else { return false }
        }
        return true
    }

    /// Object keys are below this: leaf arithmetic never overflows.
    package static let maximumKey: Int64 = 1 << 62
}

extension NodeKind {
    @inline(__always) package static var leafHead: NodeKind {
        NodeKind(5) { LeafHead.isWellFormed($0, bytes: $1) }
    }
}
