internal import CSystem

/// One column of one leaf, unpacked: where bulk appends collect, and where a column is re-encoded.
///
/// Numbers lie as 64-bit words (floats and doubles as bit patterns), values of two words in two arrays, text as
/// offsets into one blob. A value that will
/// not fit a segment already lies in an extent of its own; its row then holds the 24-byte cell.
///
/// Plain pointers without an owner, so that appending costs no reference counting: its creator frees it.
struct ColumnBuffer {
    let kind: ValueKind
    let numbers: UnsafeMutablePointer<Int64>
    /// `Value.high` of kinds that need two words.
    let secondWords: UnsafeMutablePointer<Int64>
    /// 64 words: bit set = null. Not used for text.
    let nulls: UnsafeMutablePointer<UInt64>
    var anyNull = false

    let offsets: UnsafeMutablePointer<UInt32>
    let fingerprints: UnsafeMutablePointer<UInt8>
    /// 64 words: bit set = the row holds a cell.
    let long: UnsafeMutablePointer<UInt64>
    var anyLong = false
    var blob: UnsafeMutableRawPointer
    private let memory: UnsafeMutableRawPointer
    private(set) var blobCapacity: Int

    let isText: Bool
    let isPair: Bool

    /// Errors: `.outOfMemory`.
    init(_ kind: ValueKind) throws(StoreError) {
        self.kind = kind
        let text = kind.isBytes
        isText = text
        isPair = kind.isPair
        let rows = LeafHead.rowsPerLeaf
        blobCapacity = text ? 64 * 1024 : 64
        // All but the blob, which grows, in one piece: words, then smaller ones.
        let numberRows = text ? 1 : rows, secondRows = kind.isPair ? rows : 1, textRows = text ? rows : 1
        memory = try Memory.allocate((numberRows + secondRows + 128) * 8 + (textRows + 1) * 4 + textRows)
        do throws(StoreError) { blob = try Memory.allocate(blobCapacity) } catch {
            memory.deallocate()
            throw error
        }
        numbers = memory.bindMemory(to: Int64.self, capacity: numberRows)
        secondWords = UnsafeMutableRawPointer(numbers + numberRows).bindMemory(to: Int64.self, capacity: secondRows)
        nulls = UnsafeMutableRawPointer(secondWords + secondRows).bindMemory(to: UInt64.self, capacity: 64)
        long = UnsafeMutableRawPointer(nulls + 64).bindMemory(to: UInt64.self, capacity: 64)
        offsets = UnsafeMutableRawPointer(long + 64).bindMemory(to: UInt32.self, capacity: textRows + 1)
        fingerprints = UnsafeMutableRawPointer(offsets + textRows + 1).bindMemory(to: UInt8.self, capacity: textRows)
        clear()
    }

    func release() {
        memory.deallocate()
        free(blob)
    }

    mutating func clear() {
        nulls.update(repeating: 0, count: 64)
        long.update(repeating: 0, count: 64)
        anyNull = false
        anyLong = false
        offsets[0] = 0
    }

    // MARK: Rows in order

    @inline(__always)
    mutating func append(_ value: Value, at row: Int, _ space: WriteSpace) throws(StoreError) {
        if isText {
            if value.isNull {
                appendNullText(at: row)
            } else {
                try appendText(value.pointer, value.count, at: row, space)
            }
        } else if value.isNull {
            numbers[row] = 0
            if isPair { secondWords[row] = 0 }
            setNull(row)
        } else {
            numbers[row] = value.low
            if _slowPath(isPair) { secondWords[row] = value.high }
        }
    }

    /// Row `from` of another column of the same kind. A long value's extent then belongs to this one.
    mutating func append(_ other: ColumnBuffer, _ from: Int, at row: Int) throws(StoreError) {
        if isText {
            let start = Int(offsets[row]), first = Int(other.offsets[from]),
                count = Int(other.offsets[from &+ 1]) &- first
            if start &+ count > blobCapacity { try growBlob(start + count) }
            if count > 0 { ColumnBuffer.copy(other.blob + first, to: blob + start, count) }
            offsets[row &+ 1] = UInt32(truncatingIfNeeded: start &+ count)
            fingerprints[row] = other.fingerprints[from]
            if other.anyLong, other.isLong(from) {
                long[row &>> 6] |= 1 &<< UInt64(row & 63)
                anyLong = true
            }
            return
        }
        numbers[row] = other.numbers[from]
        if isPair { secondWords[row] = other.secondWords[from] }
        if other.anyNull, other.isNull(from) { setNull(row) }
    }

    /// Another value for a row of numbers, which is not null.
    @inline(__always)
    func setNumber(_ row: Int, _ value: Value) {
        numbers[row] = value.low
        if isPair { secondWords[row] = value.high }
        nulls[row &>> 6] &= ~(1 &<< UInt64(row & 63))
    }

    @inline(__always)
    mutating func setNullNumber(_ row: Int) {
        numbers[row] = 0
        if isPair { secondWords[row] = 0 }
        setNull(row)
    }

    /// A row that does not exist.
    func appendGap(at row: Int) {
        if isText {
            appendNullText(at: row)
        } else {
            numbers[row] = 0
            if isPair { secondWords[row] = 0 }
        }
    }

    @inline(__always) mutating func setNull(_ row: Int) {
        nulls[row &>> 6] |= 1 &<< UInt64(row & 63)
        anyNull = true
    }

    @inline(__always) private func appendNullText(at row: Int) {
        offsets[row &+ 1] = offsets[row]
        fingerprints[row] = 0
    }

    @inline(__always)
    mutating func appendText(
        _ pointer: UnsafeRawPointer?, _ count: Int, at row: Int, _ space: WriteSpace
    ) throws(StoreError) {
        if _slowPath(count > StringSegment.inlineValueLimit) {
            return try appendLong(pointer.unsafelyUnwrapped, count, at: row, space)
        }
        let start = Int(offsets[row])
        if _slowPath(start &+ count > blobCapacity) { try growBlob(start + count) }
        let end = blob + start
        if count > 0 {
            let from = pointer.unsafelyUnwrapped
            ColumnBuffer.copy(from, to: end, count)
        }
        offsets[row &+ 1] = UInt32(truncatingIfNeeded: start &+ count)
        fingerprints[row] = Fingerprint.of(pointer, count)
    }

    @inline(never)
    private mutating func appendLong(
        _ pointer: UnsafeRawPointer, _ count: Int, at row: Int, _ space: WriteSpace
    ) throws(StoreError) {
        let (ref, memory) = try space.newPart(bytes: count, capacity: count)
        memory.copyMemory(from: pointer, byteCount: count)
        try appendCell(ref: ref, bytes: count, hash: 0, born: 0, at: row)
        fingerprints[row] = Fingerprint.of(pointer, count)
    }

    mutating func appendCell(ref: Ref, bytes: Int, hash: UInt32, born: UInt64, at row: Int) throws(StoreError) {
        let start = Int(offsets[row])
        if start + StringSegment.cellBytes > blobCapacity { try growBlob(start + StringSegment.cellBytes) }
        LongValue.store(blob + start, ref: ref, bytes: bytes, hash: hash, born: born)
        offsets[row + 1] = UInt32(start + StringSegment.cellBytes)
        long[row >> 6] |= 1 << UInt64(row & 63)
        anyLong = true
    }

    @inline(__always) func isLong(_ row: Int) -> Bool { long[row &>> 6] &>> UInt64(row & 63) & 1 != 0 }
    @inline(__always) func isNull(_ row: Int) -> Bool { nulls[row &>> 6] &>> UInt64(row & 63) & 1 != 0 }

    /// memcpy without the call for short values: two overlapping words.
    @inline(__always)
    static func copy(_ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, _ count: Int) {
        if count > 32 {
            memcpy(to, from, count)
        } else if count >= 16 {
            let a = from.loadUnaligned(as: SIMD16<UInt8>.self),
                b = from.loadUnaligned(fromByteOffset: count &- 16, as: SIMD16<UInt8>.self)
            to.storeBytes(of: a, as: SIMD16<UInt8>.self)
            to.storeBytes(of: b, toByteOffset: count &- 16, as: SIMD16<UInt8>.self)
        } else if count >= 8 {
            let a = from.loadUnaligned(as: UInt64.self),
                b = from.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
            to.storeBytes(of: a, as: UInt64.self)
            to.storeBytes(of: b, toByteOffset: count &- 8, as: UInt64.self)
        } else if count >= 4 {
            let a = from.loadUnaligned(as: UInt32.self),
                b = from.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
            to.storeBytes(of: a, as: UInt32.self)
            to.storeBytes(of: b, toByteOffset: count &- 4, as: UInt32.self)
        } else {
            var index = 0
            while index < count {
                to.storeBytes(of: from.load(fromByteOffset: index, as: UInt8.self), toByteOffset: index, as: UInt8.self)
                index &+= 1
            }
        }
    }

    mutating func growBlob(_ bytes: Int) throws(StoreError) {
        let capacity = max(bytes, blobCapacity * 2)
        blob = try Memory.reallocate(blob, capacity)
        blobCapacity = capacity
    }
}
