internal import CRuntime
internal import ObjStoreCore

/// Twelve bytes that name something, wherever it is made: the time in seconds, random bytes of the process, a counter.
///
/// ```swift
/// @Persisted(primaryKey: true) var id = ObjectId.generate()
/// ```
/// The order is that of the bytes: ids of one process ascend.
public struct ObjectId: Sendable {
    // As in a `Value`.
    private let low: Int64
    private let high: UInt32

    init(_ value: Value) {
        low = value.low
        high = UInt32(truncatingIfNeeded: value.high)
    }

    /// Zeros.
    public init() {
        low = .min
        high = 0
    }

    /// An id that is made only once.
    public static func generate() -> ObjectId { ObjectId(ObjectIDGenerator.next()) }

    /// From 24 hexadecimal digits; nil where the text is something else.
    public init?(_ hex: String) {
        var hex = hex
        guard let value = hex.withUTF8({ Value.objectID(hex: UnsafeRawBufferPointer($0)) }) else { return nil }
        self.init(value)
    }

    /// From 12 bytes; nil where there are more or fewer.
    public init?(bytes: [UInt8]) {
        guard bytes.count == ValueCell.size(.objectID) else { return nil }
        self.init(bytes.withUnsafeBytes { Value.objectID($0.baseAddress.unsafelyUnwrapped) })
    }

    public var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: ValueCell.size(.objectID)) { buffer, count in
            count = ValueCell.size(.objectID)
            ValueCell.store(value, UnsafeMutableRawPointer(buffer.baseAddress.unsafelyUnwrapped))
        }
    }

    /// 24 hexadecimal digits.
    public var hex: String { value.text }
    /// When it was made, to the second.
    public var timestamp: Timestamp { Timestamp(seconds: (low ^ .min) >> 32 & 0xffff_ffff) }

    var value: Value { Value(kind: .objectID, low: low, high: Int64(high)) }
}

extension ObjectId: Comparable, Hashable {
    public static func < (left: ObjectId, right: ObjectId) -> Bool { (left.low, left.high) < (right.low, right.high) }
}

extension ObjectId: CustomStringConvertible, LosslessStringConvertible {
    public var description: String { hex }
}

extension ObjectId: _PersistableValue {
    public static var _initial: ObjectId { ObjectId() }
    /// Not for objects that are read from a store.
    public static var _fresh: ObjectId { cr_skips_default() ? ObjectId() : generate() }
    public static var _type: _PropertyType { _PropertyType(.objectID) }
    public static func _get(_ object: Object, _ index: UInt32) -> ObjectId { _getOptional(object, index) ?? ObjectId() }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> ObjectId? {
        object._value(index).map { ObjectId($0) }
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: ObjectId) { object._set(index, value.value) }
    public static func _encode(_ value: ObjectId, _ encoder: _RowEncoder) { encoder.append(value.value) }
    public static func _hash(_ value: ObjectId, into hasher: inout Hasher) { hasher.combine(value) }
    /// An id; a text is one by `ObjectId(_:)` only.
    public static func _convert(_ value: Any?) -> ObjectId? { value as? ObjectId }
}
