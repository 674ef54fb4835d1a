// `Date`, `Data` and `UUID` of FoundationEssentials, in this layer only: the core and the C library have no Foundation.
internal import CRuntime
internal import ObjStoreCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#elseif canImport(Foundation)
public import Foundation
#endif

#if canImport(FoundationEssentials) || canImport(Foundation)
/// Stored as a timestamp, to the nanosecond as far as a `Date` has it.
///
/// A date beyond ±4·10¹⁸ seconds (or not a number) is stored as a timestamp at that end.
extension Date: _PersistableValue {
    public static var _initial: Date { Date(timeIntervalSince1970: 0) }
    public static var _type: _PropertyType { Timestamp._type }
    public static func _get(_ object: Object, _ index: UInt32) -> Date { Date(Timestamp._get(object, index)) }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Date? { Timestamp._getOptional(object, index).map { Date($0) } }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Date) { Timestamp._set(object, index, Timestamp(value)) }
    public static func _encode(_ value: Date, _ encoder: _RowEncoder) { Timestamp._encode(Timestamp(value), encoder) }
    public static func _convert(_ value: Any?) -> Date? { value as? Date ?? (value as? Timestamp).map { Date($0) } }

    public init(_ timestamp: Timestamp) {
        self.init(timeIntervalSinceReferenceDate: (Double(timestamp.seconds &- Timestamp.referenceDate)) + Double(timestamp.nanoseconds) / 1e9)
    }
}

extension Timestamp {
    /// 2001-01-01, from which a `Date` counts: its fraction is exact from there only.
    fileprivate static let referenceDate: Int64 = 978_307_200

    public init(_ date: Date) {
        let time = date.timeIntervalSinceReferenceDate
        guard time.isFinite, abs(time) < 4e18 else {
            self.init(seconds: time < 0 ? .min / 2 : .max / 2)
            return
        }
        let whole = time.rounded(.down)
        let nanoseconds = Int32(((time - whole) * 1e9).rounded())
        let seconds = Int64(whole) + Timestamp.referenceDate
        self = nanoseconds < 1_000_000_000 ? Timestamp(seconds: seconds, nanoseconds: nanoseconds) : Timestamp(seconds: seconds + 1)
    }
}

extension Date: OrderedQueryOperand {
    public var _queryValue: _QueryValue { Timestamp(self)._queryValue }
}

extension Data: _PersistableValue {
    public static var _initial: Data { Data() }
    public static var _type: _PropertyType { [UInt8]._type }
    public static func _get(_ object: Object, _ index: UInt32) -> Data { Data([UInt8]._get(object, index)) }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Data? { [UInt8]._getOptional(object, index).map { Data($0) } }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Data) { [UInt8]._set(object, index, [UInt8](value)) }
    public static func _encode(_ value: Data, _ encoder: _RowEncoder) { [UInt8]._encode([UInt8](value), encoder) }
    public static func _convert(_ value: Any?) -> Data? { value as? Data ?? (value as? [UInt8]).map { Data($0) } }
}

extension Data: QueryOperand {
    public var _queryValue: _QueryValue { [UInt8](self)._queryValue }
}

extension UUID: _PersistableValue {
    public static var _initial: UUID { UUID(Value.zero(of: .uuid)) }
    /// Not for objects that are read from a store.
    public static var _fresh: UUID { cr_skips_default() ? _initial : UUID() }
    public static var _type: _PropertyType { _PropertyType(.uuid) }
    public static func _get(_ object: Object, _ index: UInt32) -> UUID { _getOptional(object, index) ?? _initial }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> UUID? { object._value(index).map { UUID($0) } }
    public static func _set(_ object: Object, _ index: UInt32, _ value: UUID) { object._set(index, value.value) }
    public static func _encode(_ value: UUID, _ encoder: _RowEncoder) { encoder.append(value.value) }
    public static func _element(_ value: _StoredValue) -> UUID? { value.value.isNull ? nil : UUID(value.value) }
    public static func _hash(_ value: UUID, into hasher: inout Hasher) { hasher.combine(value) }
    /// A uuid; a text is one by `UUID(uuidString:)` only.
    public static func _convert(_ value: Any?) -> UUID? { value as? UUID }

    fileprivate init(_ value: Value) {
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { ValueCell.store(value, $0.baseAddress.unsafelyUnwrapped) }
        self.init(uuid: bytes)
    }

    fileprivate var value: Value { withUnsafeBytes(of: uuid) { .uuid($0.baseAddress.unsafelyUnwrapped) } }
}

extension UUID: OrderedQueryOperand {
    public var _queryValue: _QueryValue {
        let value = value
        return .uuid(value.low, value.high)
    }
}

extension UUID: Aggregatable {
    public static func _aggregate(_ value: _QueryValue) -> UUID? {
        if case .uuid(let low, let high) = value { UUID(Value(kind: .uuid, low: low, high: high)) } else { nil }
    }
}
#endif
