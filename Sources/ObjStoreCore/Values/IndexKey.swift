internal import CSystem

/// A key of a compound index, or of the index of a mixed property: values encoded so that the order of the bytes is the
/// order of the tuples, and a tuple that begins another one's values begins its bytes, too.
///
/// ```
/// null                0
/// bool                1 · 0 or 1
/// int, link           1 · 8 bytes, big-endian, top bit inverted
/// float, double       1 · 4 or 8 bytes, big-endian: all bits inverted of negative ones, the top bit of others
/// timestamp           1 · seconds like an int · 4 bytes of nanoseconds
/// decimal128          1 · Decimal128.orderKey, 16 bytes
/// object id, uuid     1 · their bytes
/// string, binary      1 · the bytes, 0 as 0 255 · 0 0
/// mixed               1 · see MixedKey.swift
/// ```
/// What an index of one property takes for equal has equal bytes: zeros, NaNs, decimals that are one number. In a
/// unique index the key of the object follows where there is a null (8 bytes like an int).
package final class IndexKey {
    private(set) var buffer = ByteBuffer(capacity: IndexKey.usual)
    private static let usual = 128
    /// The longest text that can be indexed, and the longest key, in bytes.
    package static let longest = 64 << 20
    private(set) var hasNull = false

    package init() {}

    /// Valid until the next change.
    @inline(__always) package var value: Value { .binary(UnsafeRawPointer(buffer.base), buffer.count) }

    @inline(__always)
    func removeAll() {
        // Keeping it does not keep a long text.
        if _slowPath(buffer.count > 1 << 16) { buffer = ByteBuffer(capacity: IndexKey.usual) }
        buffer.removeAll()
        hasNull = false
    }

    @inline(__always)
    package func append(_ value: Value) throws(StoreError) {
        if value.isNull {
            hasNull = true
            return try buffer.append(UInt8(0))
        }
        try buffer.append(UInt8(1))
        guard value.kind.isScalar || value.kind == .link else {
            throw StoreError(.invalidArgument, "\(value.kind.indefinite) cannot be part of an index")
        }
        try append(content: value)
        try checkLength()
    }

    @inline(__always)
    func checkLength() throws(StoreError) {
        if buffer.count > IndexKey.longest {
            throw StoreError(.valueTooLarge, "the key of an index takes more than \(IndexKey.longest) bytes")
        }
    }

    /// What follows the 1 of a value that is not null.
    @inline(__always)
    func append(content value: Value) throws(StoreError) {
        switch value.kind {
        case .bool: try buffer.append(UInt8(truncatingIfNeeded: value.low))
        case .int, .link: try buffer.append(IndexBits.signed(value.low).bigEndian)
        case .double: try buffer.append(IndexBits.double(value.asDouble).bigEndian)
        case .float: try buffer.append(IndexKey.bits(value.asFloat).bigEndian)
        case .timestamp:
            try buffer.append(IndexBits.signed(value.low).bigEndian)
            try buffer.append(UInt32(truncatingIfNeeded: value.high).bigEndian)
        case .decimal128:
            let key = value.asDecimal.orderKey
            try buffer.append(UInt64(truncatingIfNeeded: key >> 64).bigEndian)
            try buffer.append(UInt64(truncatingIfNeeded: key).bigEndian)
        case .objectID:
            try buffer.append(ValueCell.bytes(value.low))
            try buffer.append(UInt32(truncatingIfNeeded: value.high).bigEndian)
        case .uuid:
            try buffer.append(ValueCell.bytes(value.low))
            try buffer.append(ValueCell.bytes(value.high))
        default: try append(text: value)
        }
    }

    @inline(__always)
    func append(objectKey: Int64) throws(StoreError) { try buffer.append(IndexBits.signed(objectKey).bigEndian) }

    /// What all keys begin with whose next value is a text with this beginning.
    func append(beginning bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try buffer.append(UInt8(1))
        try append(text: .string(bytes.baseAddress, bytes.count))
        buffer.truncate(buffer.count - 2)
    }

    /// Of an index of texts alone, whose keys are the texts.
    func append(bytes: UnsafeRawBufferPointer) throws(StoreError) {
        if let base = bytes.baseAddress { try buffer.append(bytes: base, count: bytes.count) }
    }
    var text: Value { .string(UnsafeRawPointer(buffer.base), buffer.count) }

    func append(text value: Value) throws(StoreError) {
        var start = value.pointer, rest = value.count
        while rest > 0, let here = start {
            let zero = memchr(here, 0, rest).map { UnsafeRawPointer($0) }
            let plain = zero.map { $0 - here } ?? rest
            try buffer.append(bytes: here, count: plain)
            if zero == nil { break }
            try buffer.append(UInt16(0xff00))  // 0, then 255
            start = here + plain + 1
            rest -= plain + 1
        }
        try buffer.append(UInt16(0))
    }

    /// An unsigned integer in the order of the values: -0.0 is 0.0, every NaN is one and the greatest.
    @inline(__always)
    private static func bits(_ value: Float) -> UInt32 {
        if value != value { return 0xffc0_0000 }
        let pattern = (value + 0.0).bitPattern
        let sign = UInt32(bitPattern: Int32(bitPattern: pattern) >> 31)
        return pattern ^ (sign | 1 << 31)
    }

    /// The least bytes that are greater than everything that begins with these. There are such: the first is 0 or 1.
    package func becomeEnd() {
        var count = buffer.count
        while count > 0, buffer.base.load(fromByteOffset: count - 1, as: UInt8.self) == 0xff { count -= 1 }
        buffer.truncate(count)
        if count == 0 { return }
        buffer.store(buffer.base.load(fromByteOffset: count - 1, as: UInt8.self) + 1, at: count - 1)
    }
}
