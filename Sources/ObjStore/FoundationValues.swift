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
/// A date beyond ±4·10¹⁸ seconds, or none at all (not a number), is refused with `.outOfRange`.
extension Date: _PersistableValue {
    public static var _initial: Date { Date(timeIntervalSince1970: 0) }
    public static var _type: _PropertyType { Timestamp._type }
    public static func _get(_ object: Object, _ index: UInt32) -> Date { Date(Timestamp._get(object, index)) }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Date? {
        Timestamp._getOptional(object, index).map { Date($0) }
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Date) {
        if let refusal = value.refusal { return object._refuse(refusal, index) }
        Timestamp._set(object, index, Timestamp(value))
    }
    public static func _encode(_ value: Date, _ encoder: _RowEncoder) {
        if let refusal = value.refusal { return encoder.refuse(ObjStoreError(refusal)) }
        Timestamp._encode(Timestamp(value), encoder)
    }
    public static func _convert(_ value: Any?) -> Date? {
        if let date = value as? Date { return date.refusal == nil ? date : nil }
        return (value as? Timestamp).map { Date($0) }
    }

    /// Why no store takes it.
    var refusal: StoreError? {
        if Timestamp.canBe(self) { return nil }
        return StoreError(
            .outOfRange, "a date \(timeIntervalSince1970) seconds from 1970 is none that can be stored: up to 4e18 can")
    }

    public init(_ timestamp: Timestamp) {
        self.init(
            timeIntervalSinceReferenceDate: (Double(timestamp.seconds &- Timestamp.referenceDate)) + Double(
                timestamp.nanoseconds) / 1e9)
    }
}

extension ClassInfo {
    /// Of a date that no store takes, or the first inside of what is given.
    static func dateRefusal(_ given: Any, _ left: Int = ClassInfo.deepest) -> StoreError? {
        guard left > 0, let value = ClassInfo.unwrap(given) else { return nil }
        if let date = value as? Date { return date.refusal }
        let nested =
            (value as? any GivenArray)?.givenElements ?? (value as? any GivenSet)?.givenMembers
            ?? (value as? any GivenDictionary)?.givenEntries.map(\.value)
        return nested?.lazy.compactMap { dateRefusal($0, left - 1) }.first
    }
}

extension Timestamp {
    /// A date, too.
    public static func _convert(_ value: Any?) -> Timestamp? {
        if let date = value as? Date { return date.refusal == nil ? Timestamp(date) : nil }
        return value as? Timestamp
    }

    /// 2001-01-01, from which a `Date` counts: its fraction is exact from there only.
    fileprivate static let referenceDate: Int64 = 978_307_200

    fileprivate static func canBe(_ date: Date) -> Bool { abs(date.timeIntervalSinceReferenceDate) < 4e18 }

    /// Of a date beyond ±4·10¹⁸ seconds, or not a number, it is one that no store takes: its nanoseconds are -1.
    public init(_ date: Date) {
        let time = date.timeIntervalSinceReferenceDate
        guard Timestamp.canBe(date) else {
            self.init(seconds: time < 0 ? .min / 2 : .max / 2, nanoseconds: -1)
            return
        }
        let whole = time.rounded(.down)
        let nanoseconds = Int32(((time - whole) * 1e9).rounded())
        let seconds = Int64(whole) + Timestamp.referenceDate
        self =
            nanoseconds < 1_000_000_000
            ? Timestamp(seconds: seconds, nanoseconds: nanoseconds) : Timestamp(seconds: seconds + 1)
    }
}

extension Date: AggregatedQueryOperand {
    public typealias _QueryFamily = Timestamp
    public var _queryValue: _QueryValue { refusal.map { .refused(ObjStoreError($0)) } ?? Timestamp(self)._queryValue }
}

extension Date: Aggregatable {
    public static func _aggregate(_ value: _QueryValue) -> Date? { Timestamp._aggregate(value).map { Date($0) } }
}

extension Data: _PersistableValue {
    public static var _initial: Data { Data() }
    public static var _type: _PropertyType { [UInt8]._type }
    public static func _get(_ object: Object, _ index: UInt32) -> Data { Data([UInt8]._get(object, index)) }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Data? {
        [UInt8]._getOptional(object, index).map { Data($0) }
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Data) {
        [UInt8]._set(object, index, [UInt8](value))
    }
    public static func _encode(_ value: Data, _ encoder: _RowEncoder) { [UInt8]._encode([UInt8](value), encoder) }
    public static func _convert(_ value: Any?) -> Data? { value as? Data ?? (value as? [UInt8]).map { Data($0) } }
}

extension Data: TextQueryOperand {
    public typealias _QueryFamily = [UInt8]
    public var _queryValue: _QueryValue { [UInt8](self)._queryValue }
}

extension UUID: _PersistableValue {
    public static var _initial: UUID { UUID(Value.zero(of: .uuid)) }
    /// Not for objects that are read from a store.
    public static var _fresh: UUID { cr_skips_default() ? _initial : UUID() }
    public static var _type: _PropertyType { _PropertyType(.uuid) }
    public static func _get(_ object: Object, _ index: UInt32) -> UUID { _getOptional(object, index) ?? _initial }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> UUID? {
        object._value(index).map { UUID($0) }
    }
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
