/// Uuids and decimals as indexes keep them: 16 bytes whose order is that of the values.
///
/// ```
/// uuid         its bytes
/// decimal128   Decimal128.orderKey, big-endian: 1.0 and 1.00 are one key
/// ```
extension Value {
    static let indexBytes = 16

    /// Calls `body` with the value as `IndexEntry` takes it: one of these kinds then has its bytes at `pointer`, which
    /// are valid until `body` returns.
    @inline(__always)
    package func withIndexBytes<T>(_ body: (Value) throws(StoreError) -> T) throws(StoreError) -> T {
        switch kind {
        case .uuid, .decimal128:
            if pointer != nil { return try body(self) }
            var words = indexWords
            return try withUnsafePointer(to: &words) { (words) throws(StoreError) -> T in
                var value = self
                value.pointer = UnsafeRawPointer(words)
                value.count = Value.indexBytes
                return try body(value)
            }
        default: return try body(self)
        }
    }

    /// The 16 bytes, as they lie in memory.
    private var indexWords: (UInt64, UInt64) {
        if kind == .uuid { return (ValueCell.bytes(low), ValueCell.bytes(high)) }
        let key = asDecimal.orderKey
        return (UInt64(truncatingIfNeeded: key >> 64).bigEndian, UInt64(truncatingIfNeeded: key).bigEndian)
    }

    /// The plainest value that has these 16 bytes.
    static func indexed(_ kind: ValueKind, _ bytes: UnsafeRawPointer) -> Value {
        if kind == .uuid { return .uuid(bytes) }
        let high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        return .decimal128(Decimal128(orderKey: UInt128(high) << 64 | UInt128(low)))
    }

    /// Not a number: equal to nothing in a question, and last in an index.
    @inline(__always)
    package var isNaN: Bool {
        switch kind {
        case .double: asDouble.isNaN
        case .float: asFloat.isNaN
        case .decimal128: asDecimal.isNaN
        default: false
        }
    }
}

extension ValueKind {
    /// NaN of a kind that has it.
    var nan: Value? {
        switch self {
        case .double: .double(.nan)
        case .float: .float(.nan)
        case .decimal128: .decimal128(.nan)
        default: nil
        }
    }
}
