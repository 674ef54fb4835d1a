internal import CSystem

/// A string segment whose rows share few values: each value once, and a small number for each row that says which.
///
/// ```
///  0 u32 blobOffset | 4 u8 bits of a code (4, 8) | 5 u8 flags = 2 | 6 u16 rows
///  8 u16 values (1 to 256; 16 with codes of 4 bits) | 10 u16 bytes of the texts of all rows together
/// 12 u16 offsets[values + 1], then from a multiple of 8 on the codes
///  blobOffset (a multiple of 8): bytes; value i has blob[offsets[i] ..< offsets[i + 1]]
/// ```
/// The encoder makes one of a segment that is full where that at least halves it; so a row is never appended to one.
/// Null and empty look the same here, too, and no value is long. What has no room any more becomes a plain segment.
package enum TextDictionary {
    static let flag: UInt8 = 2
    static let header = 12
    static let mostValues = 256

    @inline(__always) static func width(_ part: UnsafeRawPointer) -> Int {
        Int(part.load(fromByteOffset: 4, as: UInt8.self))
    }
    @inline(__always) static func values(_ part: UnsafeRawPointer) -> Int {
        Int(part.load(fromByteOffset: 8, as: UInt16.self))
    }
    /// Bytes that the rows' texts would take in a plain segment.
    @inline(__always) package static func total(_ part: UnsafeRawPointer) -> Int {
        Int(part.load(fromByteOffset: 10, as: UInt16.self))
    }
    @inline(__always) static func offset(_ part: UnsafeRawPointer, _ value: Int) -> Int {
        Int(part.load(fromByteOffset: header &+ value &<< 1, as: UInt16.self))
    }
    @inline(__always) static func codesOffset(_ values: Int) -> Int { (header &+ 2 &* (values &+ 1) &+ 7) & ~7 }
    @inline(__always) static func codes(_ part: UnsafeRawPointer) -> UnsafeRawPointer {
        part + codesOffset(values(part))
    }
    @inline(__always) static func code(_ part: UnsafeRawPointer, _ row: Int) -> Int {
        code(codes(part), width(part), row)
    }
    @inline(__always) static func code(_ codes: UnsafeRawPointer, _ width: Int, _ row: Int) -> Int {
        if _fastPath(width == 8) { return Int((codes + row).load(as: UInt8.self)) }
        return Int((codes + row &>> 1).load(as: UInt8.self) &>> UInt8((row & 1) &<< 2) & 15)
    }
    static func width(values: Int) -> Int { values <= 16 ? 4 : 8 }
    static func blobOffset(values: Int, rows: Int) -> Int {
        (codesOffset(values) + (rows * width(values: values) + 7) / 8 + 7) & ~7
    }

    @inline(__always)
    static func value(_ part: UnsafeRawPointer, _ code: Int) -> (pointer: UnsafeRawPointer, count: Int) {
        let start = offset(part, code)
        return (part + StringSegment.blobOffset(part) + start, offset(part, code &+ 1) &- start)
    }
    /// The text of a row.
    @inline(__always)
    package static func text(_ part: UnsafeRawPointer, _ row: Int) -> (pointer: UnsafeRawPointer, count: Int) {
        value(part, code(part, row))
    }

    /// The code of a value, if some row has it, or had it before.
    static func code(_ part: UnsafeRawPointer, of pointer: UnsafeRawPointer?, _ count: Int) -> Int? {
        for code in 0..<values(part) {
            let value = value(part, code)
            if value.count == count, count == 0 || memcmp(value.pointer, pointer!, count) == 0 { return code }
        }
        return nil
    }

    static func isWellFormed(_ part: UnsafeRawPointer, bytes: Int) -> Bool {
        let rows = StringSegment.rows(part), values = values(part)
        guard bytes >= header + 4, (1...StringSegment.maximumRows).contains(rows), (1...mostValues).contains(values),
            width(part) == width(values: values),
            StringSegment.blobOffset(part) == blobOffset(values: values, rows: rows),
            StringSegment.blobOffset(part) <= bytes
        else { return false }
        var last = 0
        for value in 0...values {
            let next = offset(part, value)
            if next < last || next - last > StringSegment.inlineValueLimit || value == 0 && next != 0 { return false }
            last = next
        }
        guard last == bytes - StringSegment.blobOffset(part) else { return false }
        var sum = 0
        for row in 0..<rows {
            let code = code(part, row)
            if code >= values { return false }
            sum += value(part, code).count
        }
        return sum == total(part)
    }

    /// Gives a row another value of the dictionary.
    static func setCode(_ part: UnsafeMutableRawPointer, _ row: Int, _ code: Int, total: Int) {
        NumberCodec.setCell(part + codesOffset(values(part)), row, width: width(part), base: 0, Int64(code))
        part.storeBytes(of: UInt16(truncatingIfNeeded: total), toByteOffset: 10, as: UInt16.self)
    }

    /// Bytes of the plain segment with the same rows, without room for more.
    static func plainBytes(rows: Int, total: Int) -> Int {
        StringSegment.blobOffset(capacity: rows, long: false) + total
    }

    /// The plain segment with the same rows, in memory of `plainBytes`.
    static func expand(_ part: UnsafeRawPointer, into plain: UnsafeMutableRawPointer) {
        let rows = StringSegment.rows(part)
        StringSegment.initialize(plain, rows: rows, capacity: rows, long: false)
        let blob = plain + StringSegment.blobOffset(plain)
        var at = 0
        for row in 0..<rows {
            StringSegment.setOffset(plain, row, at)
            let (pointer, count) = text(part, row)
            if count > 0 { ColumnBuffer.copy(pointer, to: blob + at, count) }
            at += count
        }
        StringSegment.setOffset(plain, rows, at)
    }
}

/// A dictionary that is being made. Its values point to where they were found.
package struct DictionaryDraft {
    private let memory: UnsafeMutableRawPointer
    private let codes: UnsafeMutablePointer<UInt8>
    private let lengths: UnsafeMutablePointer<Int32>
    private let pointers: UnsafeMutablePointer<UnsafeRawPointer?>
    /// By fingerprint the last value that has it, and for each value the one before it; -1: none.
    private let heads: UnsafeMutablePointer<Int16>
    private let next: UnsafeMutablePointer<Int16>
    private(set) var values = 0
    package private(set) var rows = 0
    private var blob = 0
    private(set) var total = 0

    package init() throws(StoreError) {
        memory = try Memory.allocate(512 + 1024 + 2048 + 512 + 512)
        codes = memory.assumingMemoryBound(to: UInt8.self)
        lengths = (memory + 512).assumingMemoryBound(to: Int32.self)
        pointers = (memory + 1536).assumingMemoryBound(to: UnsafeRawPointer?.self)
        heads = (memory + 3584).assumingMemoryBound(to: Int16.self)
        next = (memory + 4096).assumingMemoryBound(to: Int16.self)
    }
    package func release() { free(memory) }

    package mutating func begin() {
        heads.update(repeating: -1, count: 256)
        (values, rows, blob, total) = (0, 0, 0, 0)
    }

    package var bytes: Int { TextDictionary.blobOffset(values: values, rows: rows) + blob }
    /// Whether it pays off.
    var halves: Bool { 2 * bytes <= TextDictionary.plainBytes(rows: rows, total: total) }

    /// Adds a row. False: there are too many values.
    @inline(__always)
    package mutating func append(_ pointer: UnsafeRawPointer?, _ count: Int, fingerprint: UInt8) -> Bool {
        // Null is empty, too, and has another fingerprint.
        let place = count == 0 ? 0 : Int(fingerprint)
        var value = Int(heads[place])
        while value >= 0 {
            if Int(lengths[value]) == count,
                count == 0 || memcmp(pointers[value].unsafelyUnwrapped, pointer.unsafelyUnwrapped, count) == 0
            {
                break
            }
            value = Int(next[value])
        }
        if value < 0 {
            if values == TextDictionary.mostValues { return false }
            value = values
            pointers[value] = pointer
            lengths[value] = Int32(truncatingIfNeeded: count)
            next[value] = heads[place]
            heads[place] = Int16(truncatingIfNeeded: value)
            values &+= 1
            blob &+= count
        }
        codes[rows] = UInt8(truncatingIfNeeded: value)
        rows &+= 1
        total &+= count
        return true
    }

    /// What a segment has, with another value in one row.
    mutating func load(
        _ part: UnsafeRawPointer, replacing row: Int, with pointer: UnsafeRawPointer?, _ count: Int
    ) -> Bool {
        begin()
        for other in 0..<StringSegment.rows(part) {
            let text = other == row ? (pointer ?? part, count) : TextDictionary.text(part, other)
            if !append(text.0, text.1, fingerprint: Fingerprint.of(text.0, text.1)) { return false }
        }
        return true
    }

    /// Writes `bytes` bytes.
    package func write(to part: UnsafeMutableRawPointer) {
        let start = TextDictionary.blobOffset(values: values, rows: rows), width = TextDictionary.width(values: values)
        part.initializeMemory(as: UInt8.self, repeating: 0, count: start)
        part.storeBytes(of: UInt32(start), as: UInt32.self)
        part.storeBytes(of: UInt8(width), toByteOffset: 4, as: UInt8.self)
        part.storeBytes(of: TextDictionary.flag, toByteOffset: 5, as: UInt8.self)
        StringSegment.setRows(part, rows)
        part.storeBytes(of: UInt16(values), toByteOffset: 8, as: UInt16.self)
        part.storeBytes(of: UInt16(total), toByteOffset: 10, as: UInt16.self)
        var at = 0
        for value in 0..<values {
            let count = Int(lengths[value])
            if count > 0 { ColumnBuffer.copy(pointers[value].unsafelyUnwrapped, to: part + start + at, count) }
            at += count
            part.storeBytes(of: UInt16(at), toByteOffset: TextDictionary.header + 2 * (value + 1), as: UInt16.self)
        }
        let to = part + TextDictionary.codesOffset(values)
        if width == 8 { return to.copyMemory(from: codes, byteCount: rows) }
        for pair in 0..<rows / 2 {
            to.storeBytes(of: codes[2 &* pair] | codes[2 &* pair &+ 1] &<< 4, toByteOffset: pair, as: UInt8.self)
        }
        if rows & 1 == 1 { to.storeBytes(of: codes[rows - 1], toByteOffset: rows / 2, as: UInt8.self) }
    }
}

extension ColumnEncoder {
    /// A full segment with few values as a dictionary, where that halves it.
    func encodeDictionary(
        _ buffer: ColumnBuffer, _ first: Int, _ count: Int, _ draft: inout DictionaryDraft?
    ) throws(StoreError) -> (ref: Ref, bytes: Int)? {
        let total = Int(buffer.offsets[first + count] &- buffer.offsets[first])
        guard total <= StringSegment.blobBudget, ColumnEncoder.mayRepeat(buffer.fingerprints + first, count) else {
            return nil
        }
        if buffer.anyLong { for row in first..<first + count where buffer.isLong(row) { return nil } }
        if draft == nil { draft = try DictionaryDraft() }
        draft!.begin()
        for row in first..<first + count {
            let start = Int(buffer.offsets[row])
            // Rows that do not exist lose their bytes.
            let exists = presence == nil || presence![row >> 6] >> UInt64(row & 63) & 1 != 0,
                length = exists ? Int(buffer.offsets[row &+ 1]) &- start : 0
            guard draft!.append(buffer.blob + start, length, fingerprint: buffer.fingerprints[row]) else { return nil }
        }
        guard draft!.halves else { return nil }
        let bytes = draft!.bytes
        let (ref, part) = try space.newPart(bytes: bytes, capacity: bytes)
        draft!.write(to: part)
        return (ref, bytes)
    }

    /// Whether the fingerprints of some rows leave it open that few values come again and again: of 64 values that are
    /// all different 57 have fingerprints of their own, and fewer than 49 one time in ten thousand.
    private static func mayRepeat(_ fingerprints: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        let samples = min(64, count), step = count / samples
        var a: UInt64 = 0, b: UInt64 = 0, c: UInt64 = 0, d: UInt64 = 0
        var index = 0
        while index < samples {
            let fingerprint = fingerprints[index &* step], bit: UInt64 = 1 &<< UInt64(fingerprint & 63),
                quarter = fingerprint &>> 6
            a |= quarter == 0 ? bit : 0
            b |= quarter == 1 ? bit : 0
            c |= quarter == 2 ? bit : 0
            d |= quarter == 3 ? bit : 0
            index &+= 1
        }
        return (a.nonzeroBitCount &+ b.nonzeroBitCount &+ c.nonzeroBitCount &+ d.nonzeroBitCount) &* 4 <= samples &* 3
    }
}

extension LeafEditor {
    /// Gives an existing row of a dictionary another text: another code; another dictionary; or, where that does not
    /// halve the segment any more, a plain one.
    @inline(never)
    func setDictionaryText(_ leaf: Ref, _ column: Int, _ slot: Int, _ value: Value) throws(StoreError) {
        let head = head(leaf)
        let entry = LeafHead.entry(head, id: specs[column].id, hint: hints[column])!,
            row = slot & (entry.segmentRows - 1)
        let old = try reader.textSegment(head, entry, segment: entry.segmentIndex(slot), rows: row + 1),
            place = mainSlot(head, entry, slot)
        let rows = StringSegment.rows(old), others = TextDictionary.total(old) - TextDictionary.text(old, row).count
        if !StringSegment.isTooLong(value.count, blob: others) {
            let fingerprint = value.isNull ? 0 : Fingerprint.of(value.pointer, value.count)
            if let code = TextDictionary.code(old, of: value.pointer, value.count) {
                let part = try writable(place, .strings, head, capacity: place.bytes)
                TextDictionary.setCode(part, row, code, total: others + value.count)
                return try setFingerprint(head, entry, slot, fingerprint)
            }
            var draft = try DictionaryDraft()
            defer { draft.release() }
            if draft.load(old, replacing: row, with: value.pointer, value.count), draft.halves {
                let bytes = draft.bytes, image = try scratch.allocate(bytes)
                draft.write(to: image)
                return try replaceSegment(place, head, image, bytes) { () throws(StoreError) in
                    try setFingerprint(head, entry, slot, fingerprint)
                }
            }
        }
        // The bytes may lie in the very memory that is about to move.
        var value = value
        if let pointer = value.pointer, value.count <= StringSegment.inlineValueLimit {
            let copy = try scratch.allocate(value.count + 1)
            ColumnBuffer.copy(pointer, to: copy, value.count)
            value.pointer = UnsafeRawPointer(copy)
        }
        let bytes = TextDictionary.plainBytes(rows: rows, total: TextDictionary.total(old)),
            image = try scratch.allocate(bytes)
        TextDictionary.expand(old, into: image)
        try replaceSegment(place, head, image, bytes) { () throws(StoreError) in try setText(leaf, column, slot, value)
        }
    }

    private func replaceSegment(
        _ place: PartSlot, _ head: UnsafeRawPointer, _ image: UnsafeRawPointer, _ bytes: Int,
        _ then: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let part = try writable(place, .strings, head, capacity: max(bytes, place.bytes))
        part.copyMemory(from: image, byteCount: bytes)
        setBytes(place, bytes)
        try then()
    }
}
