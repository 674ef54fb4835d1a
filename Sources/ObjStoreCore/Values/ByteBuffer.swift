internal import CSystem

/// A growable run of bytes for encoding: log records, the schema, free maps. Little endian; integers that
/// are usually small as LEB128 varints.
package final class ByteBuffer {
    package private(set) var base: UnsafeMutableRawPointer
    package private(set) var count = 0
    private var capacity: Int

    package init(capacity: Int = 512) {
        self.capacity = capacity
        base = malloc(capacity)!
    }

    deinit { free(base) }

    func removeAll() { count = 0 }
    /// Forgets what was appended after `count` bytes.
    func truncate(_ count: Int) { self.count = count }

    @inline(__always)
    private func room(_ bytes: Int) -> UnsafeMutableRawPointer {
        if _slowPath(count &+ bytes > capacity) { grow(bytes) }
        return base + count
    }

    @inline(never)
    private func grow(_ bytes: Int) {
        capacity = max(capacity * 2, count + bytes)
        base = realloc(base, capacity)!
    }

    /// Whether there is memory for so much more, before it is appended. Errors: `.outOfMemory`.
    @inline(__always)
    func expect(_ bytes: Int) throws(StoreError) {
        if _slowPath(count &+ bytes > capacity) { try Memory.check(for: 2 * (count + bytes), each: 1) }
    }

    @inline(__always)
    func append<T: BitwiseCopyable>(_ value: T) {
        room(MemoryLayout<T>.size).storeBytes(of: value, as: T.self)
        count &+= MemoryLayout<T>.size
    }

    @inline(__always)
    func appendVarint(_ value: UInt64) {
        let target = room(10)
        var rest = value, length = 0
        while rest >= 0x80 {
            target.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: length, as: UInt8.self)
            rest &>>= 7
            length &+= 1
        }
        target.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: length, as: UInt8.self)
        count &+= length &+ 1
    }

    /// A signed varint: small magnitudes are short.
    @inline(__always)
    func appendSigned(_ value: Int64) {
        appendVarint(UInt64(bitPattern: (value &<< 1) ^ (value &>> 63)))
    }

    package func append(bytes: UnsafeRawPointer?, count length: Int) {
        if length == 0 { return }
        room(length).copyMemory(from: bytes!, byteCount: length)
        count &+= length
    }

    /// Room for more bytes, which the caller fills.
    func extend(by length: Int) -> UnsafeMutableRawPointer {
        defer { count &+= length }
        return room(length)
    }

    /// Length and UTF-8 bytes.
    func append(text: String) {
        var text = text
        text.withUTF8 { bytes in
            appendVarint(UInt64(bytes.count))
            append(bytes: bytes.baseAddress, count: bytes.count)
        }
    }

    /// Zero bytes up to the next multiple of `alignment`.
    func pad(to alignment: Int) {
        let rest = -count & (alignment - 1)
        room(rest).initializeMemory(as: UInt8.self, repeating: 0, count: rest)
        count += rest
    }

    package func store<T: BitwiseCopyable>(_ value: T, at offset: Int) {
        base.storeBytes(of: value, toByteOffset: offset, as: T.self)
    }

    package var reader: ByteReader { ByteReader(UnsafeRawPointer(base), count: count) }
}

/// Decodes what `ByteBuffer` encoded; every read is checked against the end.
package struct ByteReader {
    private(set) var position: UnsafeRawPointer
    private let end: UnsafeRawPointer

    package init(_ base: UnsafeRawPointer, count: Int) {
        position = base
        end = base + count
    }

    package var isAtEnd: Bool { position >= end }
    var remaining: Int { end - position }

    static var truncated: StoreError { StoreError(.corrupt, "encoded data ends too early") }

    mutating func read<T: BitwiseCopyable>(_: T.Type = T.self) throws(StoreError) -> T {
        guard remaining >= MemoryLayout<T>.size else { throw ByteReader.truncated }
        let value = position.loadUnaligned(as: T.self)
        position += MemoryLayout<T>.size
        return value
    }

    mutating func readVarint() throws(StoreError) -> UInt64 {
        var value: UInt64 = 0, shift: UInt64 = 0
        while true {
            guard position < end, shift < 64 else { throw ByteReader.truncated }
            let byte = position.load(as: UInt8.self)
            position += 1
            value |= UInt64(byte & 0x7f) &<< shift
            if byte & 0x80 == 0 { return value }
            shift &+= 7
        }
    }

    /// A varint that must be a sensible count.
    mutating func readCount() throws(StoreError) -> Int {
        let value = try readVarint()
        guard value <= UInt64(Int.max) else { throw ByteReader.truncated }
        return Int(value)
    }

    mutating func readSigned() throws(StoreError) -> Int64 {
        let value = try readVarint()
        return Int64(bitPattern: value &>> 1) ^ -Int64(bitPattern: value & 1)
    }

    mutating func readBytes(_ count: Int) throws(StoreError) -> UnsafeRawPointer {
        guard count >= 0, count <= remaining else { throw ByteReader.truncated }
        defer { position += count }
        return position
    }

    mutating func readText() throws(StoreError) -> String {
        let length = try readCount()
        let bytes = try readBytes(length)
        return String(decoding: UnsafeRawBufferPointer(start: bytes, count: length), as: UTF8.self)
    }
}
