internal import CSystem

/// The values of up to 512 rows of a text or binary column: offsets and bytes in one extent; or, where they are few, a
/// `TextDictionary`, for which only `rows`, `blobOffset` and `isWellFormed` are right of what follows.
///
/// ```
///  0 u32 blobOffset | 4 u8 2 | 5 u8 flags | 6 u16 rows
///  8 u16 offsets[rows + 1], room for more up to the blob (or the bitmap)
///    [64 bytes before the blob, where flag 1 is set: bit = the row's value is long]
///  blobOffset (a multiple of 64): bytes; row i has blob[offsets[i] ..< offsets[i + 1]]
/// ```
/// A long value lies in an extent of its own; its row holds a 24-byte cell {u64 ref, u32 bytes, u32 hash,
/// u64 born}. A value is long when it has more than 4 KiB, or when the blob is full (28 KiB) and it has
/// more than 64 bytes: so 16-bit offsets always suffice and a change never copies more than 64 KiB.
/// Null and empty look the same here; fingerprints distinguish them.
package enum StringSegment {
    static let header = 8
    static let minimumShift = 4
    static let maximumShift = 9
    static let maximumRows = 1 << maximumShift
    static let longBitmap = 64
    package static let cellBytes = 24
    /// Longer values never lie in a segment.
    static let inlineValueLimit = 4096
    /// Up to here the blob takes every value of at most `inlineValueLimit` bytes ...
    static let blobBudget = 28 * 1024
    /// ... and beyond, values of at most this many bytes.
    static let shortValueLimit = 64
    /// A column is cut so that its segments have about this many bytes.
    static let targetBytes = 16 * 1024

    @inline(__always) package static func blobOffset(_ part: UnsafeRawPointer) -> Int {
        Int(part.load(as: UInt32.self))
    }
    @inline(__always) static func hasLong(_ part: UnsafeRawPointer) -> Bool {
        part.load(fromByteOffset: 5, as: UInt8.self) & 1 != 0
    }
    /// See `TextDictionary`.
    @inline(__always) package static func isDictionary(_ part: UnsafeRawPointer) -> Bool {
        part.load(fromByteOffset: 5, as: UInt8.self) & TextDictionary.flag != 0
    }
    /// All offsets and bytes, and nothing else.
    @inline(__always) static func isPlain(_ part: UnsafeRawPointer) -> Bool {
        part.load(fromByteOffset: 5, as: UInt8.self) == 0
    }
    @inline(__always) package static func rows(_ part: UnsafeRawPointer) -> Int {
        Int(part.load(fromByteOffset: 6, as: UInt16.self))
    }
    @inline(__always) package static func offset(_ part: UnsafeRawPointer, _ row: Int) -> Int {
        Int(part.load(fromByteOffset: header &+ row &<< 1, as: UInt16.self))
    }
    @inline(__always) package static func isLong(_ part: UnsafeRawPointer, _ row: Int) -> Bool {
        guard hasLong(part) else { return false }
        return (part + blobOffset(part) - longBitmap + row &>> 3).load(as: UInt8.self) &>> UInt8(row & 7) & 1 != 0
    }
    /// Rows that the offsets have room for.
    static func capacity(_ part: UnsafeRawPointer) -> Int {
        (blobOffset(part) - (hasLong(part) ? longBitmap : 0) - header) / 2 - 1
    }
    package static func bytes(_ part: UnsafeRawPointer) -> Int { blobOffset(part) + offset(part, rows(part)) }

    /// Where the blob begins in a segment with room for `capacity` rows.
    @inline(__always) static func blobOffset(capacity: Int, long: Bool) -> Int {
        (header + 2 * (capacity + 1) + (long ? longBitmap : 0) + 63) & ~63
    }

    /// Whether a value of `count` bytes has to lie outside a blob that has `blob` bytes without it.
    @inline(__always) static func isTooLong(_ count: Int, blob: Int) -> Bool {
        count > shortValueLimit && (count > inlineValueLimit || blob &+ count > blobBudget)
    }

    package static func isWellFormed(_ part: UnsafeRawPointer, bytes: Int) -> Bool {
        guard bytes >= header + 4 else { return false }
        if part.load(fromByteOffset: 5, as: UInt8.self) == TextDictionary.flag {
            return TextDictionary.isWellFormed(part, bytes: bytes)
        }
        let rows = rows(part), blob = blobOffset(part)
        guard (1...maximumRows).contains(rows), part.load(fromByteOffset: 4, as: UInt8.self) == 2,
            part.load(fromByteOffset: 5, as: UInt8.self) <= 1
        else { return false }
        guard blob & 63 == 0, blob >= blobOffset(capacity: rows, long: hasLong(part)), blob <= bytes else {
            return false
        }
        var last = 0
        for row in 0...rows {
            let next = offset(part, row)
            if next < last || row == 0 && next != 0 { return false }
            last = next
        }
        guard last == bytes - blob else { return false }
        if hasLong(part) {
            for row in 0..<rows where isLong(part, row) {
                guard offset(part, row + 1) - offset(part, row) == cellBytes else { return false }
                let cell = LongValue(part + blob + offset(part, row))
                guard cell.ref != 0, cell.ref & Ref.dirtyBit == 0, cell.bytes > 0 else { return false }
            }
        }
        return true
    }

    // MARK: Writing

    package static func initialize(_ part: UnsafeMutableRawPointer, rows: Int, capacity: Int, long: Bool) {
        let blob = blobOffset(capacity: capacity, long: long)
        part.initializeMemory(as: UInt8.self, repeating: 0, count: blob)
        part.storeBytes(of: UInt32(blob), as: UInt32.self)
        part.storeBytes(of: 2, toByteOffset: 4, as: UInt8.self)
        part.storeBytes(of: long ? 1 : 0, toByteOffset: 5, as: UInt8.self)
        setRows(part, rows)
    }
    @inline(__always) static func setRows(_ part: UnsafeMutableRawPointer, _ rows: Int) {
        part.storeBytes(of: UInt16(rows), toByteOffset: 6, as: UInt16.self)
    }
    @inline(__always) static func setOffset(_ part: UnsafeMutableRawPointer, _ row: Int, _ value: Int) {
        part.storeBytes(of: UInt16(truncatingIfNeeded: value), toByteOffset: header &+ row &<< 1, as: UInt16.self)
    }
    @inline(__always) static func setLong(_ part: UnsafeMutableRawPointer, _ row: Int, _ long: Bool) {
        let byte = part + blobOffset(part) - longBitmap + row >> 3
        let bit: UInt8 = 1 << UInt8(row & 7)
        let old = byte.load(as: UInt8.self)
        byte.storeBytes(of: long ? old | bit : old & ~bit, as: UInt8.self)
    }

    /// Bytes of the segment after `replace` or `append` with a value of `count` bytes.
    package static func bytesNeeded(_ part: UnsafeRawPointer, replacing row: Int?, count: Int, long: Bool) -> Int {
        let rows = rows(part)
        var capacity = capacity(part), total = offset(part, rows) + count
        if let row {
            total -= offset(part, row + 1) - offset(part, row)
        } else if rows == capacity {
            capacity = grown(capacity)
        }
        let blob = Swift.max(blobOffset(part), blobOffset(capacity: capacity, long: long || hasLong(part)))
        return blob + total
    }

    private static func grown(_ capacity: Int) -> Int { min(maximumRows, Swift.max(capacity * 2, 28)) }

    /// Moves the blob where the offsets, or the bitmap of long values, need room. The memory is large enough.
    private static func makeRoom(_ part: UnsafeMutableRawPointer, capacity: Int, long: Bool) {
        let old = blobOffset(part), hadLong = hasLong(part), wantLong = long || hadLong
        let new = Swift.max(old, blobOffset(capacity: capacity, long: wantLong))
        if new == old, wantLong == hadLong { return }
        let rows = rows(part)
        memmove(part + new, part + old, offset(part, rows))
        var bits: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
        if hadLong {
            withUnsafeMutableBytes(of: &bits) {
                $0.copyMemory(from: UnsafeRawBufferPointer(start: part + old - longBitmap, count: longBitmap))
            }
        }
        let used = header + 2 * (rows + 1)
        memset(part + used, 0, new - used)
        part.storeBytes(of: UInt32(new), as: UInt32.self)
        if wantLong {
            part.storeBytes(of: 1, toByteOffset: 5, as: UInt8.self)
            withUnsafeBytes(of: &bits) {
                (part + new - longBitmap).copyMemory(from: $0.baseAddress!, byteCount: longBitmap)
            }
        }
    }

    /// Gives a row another value. The memory has room for `bytesNeeded`.
    package static func replace(
        _ part: UnsafeMutableRawPointer, row: Int, with pointer: UnsafeRawPointer?, count: Int, long: Bool
    ) {
        let start = offset(part, row), delta = count - (offset(part, row + 1) - start)
        // Shrinks before the blob moves: in between it must not need more than in the end.
        if delta < 0 { resize(part, row, by: delta) }
        makeRoom(part, capacity: capacity(part), long: long)
        if delta > 0 { resize(part, row, by: delta) }
        if count > 0 { memcpy(part + blobOffset(part) + start, pointer!, count) }
        if hasLong(part) { setLong(part, row, long) }
    }

    /// Moves what lies behind a row's bytes.
    private static func resize(_ part: UnsafeMutableRawPointer, _ row: Int, by delta: Int) {
        let blob = part + blobOffset(part), rows = rows(part), end = offset(part, row + 1)
        memmove(blob + end + delta, blob + end, offset(part, rows) - end)
        let offsets = (part + header).assumingMemoryBound(to: UInt16.self)
        let d = UInt16(truncatingIfNeeded: delta)
        var index = row &+ 1
        while index <= rows { offsets[index] = offsets[index] &+ d; index &+= 1 }
    }

    /// Adds a row. The memory has room for `bytesNeeded`.
    package static func append(_ part: UnsafeMutableRawPointer, _ pointer: UnsafeRawPointer?, count: Int, long: Bool) {
        let rows = rows(part)
        var capacity = capacity(part)
        if rows == capacity { capacity = grown(capacity) }
        makeRoom(part, capacity: capacity, long: long)
        let total = offset(part, rows)
        if count > 0 { memcpy(part + blobOffset(part) + total, pointer!, count) }
        setOffset(part, rows + 1, total + count)
        setRows(part, rows + 1)
        if long { setLong(part, rows, true) }
    }
}

/// The cell of a value that lies in an extent of its own. Not aligned.
package struct LongValue {
    let cell: UnsafeRawPointer
    @inline(__always) package init(_ cell: UnsafeRawPointer) { self.cell = cell }
    package var ref: UInt64 { cell.loadUnaligned(as: UInt64.self) }
    package var bytes: Int { Int(cell.loadUnaligned(fromByteOffset: 8, as: UInt32.self)) }
    var hash: UInt32 { cell.loadUnaligned(fromByteOffset: 12, as: UInt32.self) }
    var born: UInt64 { cell.loadUnaligned(fromByteOffset: 16, as: UInt64.self) }

    static func store(_ cell: UnsafeMutableRawPointer, ref: Ref, bytes: Int, hash: UInt32, born: UInt64) {
        cell.storeBytes(of: ref.raw, as: UInt64.self)
        cell.storeBytes(of: UInt32(bytes), toByteOffset: 8, as: UInt32.self)
        cell.storeBytes(of: hash, toByteOffset: 12, as: UInt32.self)
        cell.storeBytes(of: born, toByteOffset: 16, as: UInt64.self)
    }
}

/// One byte a value that equal values share; 0 is null.
package enum Fingerprint {
    @inline(__always)
    package static func of(_ bytes: UnsafeRawPointer?, _ count: Int) -> UInt8 {
        var a: UInt64 = 0, b: UInt64 = 0
        if count >= 8 {
            let p = bytes.unsafelyUnwrapped
            a = p.loadUnaligned(as: UInt64.self)
            b = p.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
        } else if count >= 4 {
            let p = bytes.unsafelyUnwrapped
            a = UInt64(p.loadUnaligned(as: UInt32.self))
            b = UInt64(p.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
        } else if count > 0 {
            let p = bytes.unsafelyUnwrapped
            a =
                UInt64(p.load(as: UInt8.self)) | UInt64(p.load(fromByteOffset: count &>> 1, as: UInt8.self)) &<< 8
                | UInt64(p.load(fromByteOffset: count &- 1, as: UInt8.self)) &<< 16
        }
        let h = ((a ^ (b &* 0x9e37_79b9_7f4a_7c15)) &+ UInt64(truncatingIfNeeded: count)) &* 0xd6e8_feb8_6659_fd93
        let f = UInt8(truncatingIfNeeded: h &>> 56)
        return f == 0 ? 1 : f
    }
}

extension PartKind {
    @inline(__always) package static var numbers: PartKind { PartKind(32) }
    @inline(__always) package static var strings: PartKind {
        PartKind(33) { StringSegment.isWellFormed($0, bytes: $1) }
    }
    @inline(__always) package static var fingerprints: PartKind { PartKind(34) }
    @inline(__always) package static var longValue: PartKind { PartKind(35) }
}
