internal import CSystem

/// A growable run of bytes for encoding: log records, the schema, free maps. Little endian; integers that
/// are usually small as LEB128 varints.
///
/// What appends throws `.outOfMemory`; what was there before stays, and of what is longer than one value a part may
/// have come. Making one allocates nothing: the first append does.
package final class ByteBuffer {
    package private(set) var base: UnsafeMutableRawPointer
    package private(set) var count = 0
    private var capacity = 0
    /// How many bytes the first append allocates.
    private let usual: Int

    package init(capacity: Int = 512) {
        usual = capacity
        base = ByteBuffer.nothing
    }

    /// Never read: nothing lies there.
    private nonisolated(unsafe) static let nothing = UnsafeMutableRawPointer(bitPattern: 64).unsafelyUnwrapped

    deinit { if capacity > 0 { free(base) } }

    func removeAll() { count = 0 }
    /// Forgets what was appended after `count` bytes.
    func truncate(_ count: Int) { self.count = count }

    @inline(__always)
    private func room(_ bytes: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        if _slowPath(count &+ bytes > capacity) { try grow(bytes) }
        return base + count
    }

    @inline(never)
    private func grow(_ bytes: Int) throws(StoreError) {
        let more = max(capacity * 2, count + bytes, usual)
        base = capacity == 0 ? try Memory.allocate(more) : try Memory.reallocate(base, more)
        capacity = more
    }

    @inline(__always)
    func append<T: BitwiseCopyable>(_ value: T) throws(StoreError) {
        try room(MemoryLayout<T>.size).storeBytes(of: value, as: T.self)
        count &+= MemoryLayout<T>.size
    }

    @inline(__always)
    func appendVarint(_ value: UInt64) throws(StoreError) {
        let target = try room(10)
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
    func appendSigned(_ value: Int64) throws(StoreError) {
        try appendVarint(UInt64(bitPattern: (value &<< 1) ^ (value &>> 63)))
    }

    /// Appends numbers that take `most` bytes at most: one look at the room for all of them.
    @inline(__always)
    func append(atMost most: Int, _ body: (inout NumberBytes) -> Void) throws(StoreError) {
        let start = try room(most)
        var numbers = NumberBytes(end: start)
        body(&numbers)
        count &+= numbers.end - start
    }

    /// Where numbers are written for which there is room.
    struct NumberBytes {
        fileprivate(set) var end: UnsafeMutableRawPointer

        /// 1 byte.
        @inline(__always)
        mutating func append(_ byte: UInt8) {
            end.storeBytes(of: byte, as: UInt8.self)
            end += 1
        }

        /// 10 bytes at most, 5 of a number of 32 bits.
        @inline(__always)
        mutating func appendVarint(_ value: UInt64) {
            var rest = value
            while rest >= 0x80 {
                append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest &>>= 7
            }
            append(UInt8(truncatingIfNeeded: rest))
        }

        /// 10 bytes at most.
        @inline(__always)
        mutating func appendSigned(_ value: Int64) {
            appendVarint(UInt64(bitPattern: (value &<< 1) ^ (value &>> 63)))
        }
    }

    package func append(bytes: UnsafeRawPointer?, count length: Int) throws(StoreError) {
        if length == 0 { return }
        try room(length).copyMemory(from: bytes!, byteCount: length)
        count &+= length
    }

    /// Room for more bytes, which the caller fills.
    func extend(by length: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        let start = try room(length)
        count &+= length
        return start
    }

    /// Length and UTF-8 bytes.
    func append(text: String) throws(StoreError) {
        try appendVarint(UInt64(text.utf8.count))
        try append(utf8: text)
    }

    /// The UTF-8 bytes alone.
    func append(utf8 text: String) throws(StoreError) {
        var text = text
        let room = try extend(by: text.utf8.count)
        text.withUTF8 { if let from = $0.baseAddress { room.copyMemory(from: from, byteCount: $0.count) } }
    }

    /// Zero bytes up to the next multiple of `alignment`.
    func pad(to alignment: Int) throws(StoreError) {
        let rest = -count & (alignment - 1)
        try room(rest).initializeMemory(as: UInt8.self, repeating: 0, count: rest)
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
