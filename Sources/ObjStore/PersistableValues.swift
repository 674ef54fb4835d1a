internal import ObjStoreCore

extension Bool: _PersistableValue {
    public static var _initial: Bool { @inlinable get { false } }
    public static var _type: _PropertyType { _PropertyType(.bool) }
    @inlinable public static func _get(_ object: Object, _ index: UInt32) -> Bool { object._number(index) != 0 }
    @inlinable public static func _getOptional(_ object: Object, _ index: UInt32) -> Bool? {
        object._optionalNumber(index).map { $0 != 0 }
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Bool) { object._set(index, .bool(value)) }
    public static func _encode(_ value: Bool, _ encoder: _RowEncoder) { encoder.append(.bool(value)) }
}

/// Integers are stored in 64 bits whatever their type; a stored number that does not fit in the property's type is
/// reported as `.outOfRange` and read as 0.
public protocol _PersistableInteger: _PersistableValue, FixedWidthInteger {}

extension _PersistableInteger {
    public static var _initial: Self { @inlinable get { 0 } }
    public static var _type: _PropertyType {
        var type = _PropertyType(.int)
        if Self.bitWidth < 64 { type.range = Int64(Self.min)...Int64(Self.max) }
        return type
    }
    @inlinable
    public static func _get(_ object: Object, _ index: UInt32) -> Self {
        fit(object._number(index), object, index)
    }
    @inlinable
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Self? {
        object._optionalNumber(index).map { fit($0, object, index) }
    }
    @inlinable
    static func fit(_ number: Int64, _ object: Object, _ index: UInt32) -> Self {
        if Self.bitWidth == 64
            || number >= Int64(truncatingIfNeeded: Self.min) && number <= Int64(truncatingIfNeeded: Self.max)
        {
            return Self(truncatingIfNeeded: number)
        }
        object._reportOutOfRange(index, number, "\(Self.self)")
        return 0
    }
    @inlinable public static func _set(_ object: Object, _ index: UInt32, _ value: Self) {
        object._setInt(index, Int64(value))
    }
    public static func _traced(_ tracer: _Tracer) -> Self { 2 }
    public static func _encode(_ value: Self, _ encoder: _RowEncoder) { encoder.append(.int(Int64(value))) }
    public static func _hash(_ value: Self, into hasher: inout Hasher) { hasher.combine(value) }
    /// Any integer that fits; never a fraction, never a bool.
    public static func _convert(_ value: Any?) -> Self? {
        if let exact = value as? Self { return exact }
        guard let integer = value as? any FixedWidthInteger else { return nil }
        return Self(exactly: integer)
    }
}

extension Int: _PersistableInteger {}
extension Int64: _PersistableInteger {}
extension Int32: _PersistableInteger {}
extension Int16: _PersistableInteger {}
extension Int8: _PersistableInteger {}

extension Double: _PersistableValue {
    public static var _initial: Double { @inlinable get { 0 } }
    public static var _type: _PropertyType { _PropertyType(.double) }
    @inlinable
    public static func _get(_ object: Object, _ index: UInt32) -> Double {
        Double(bitPattern: UInt64(bitPattern: object._number(index)))
    }
    @inlinable
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Double? {
        object._optionalNumber(index).map { Double(bitPattern: UInt64(bitPattern: $0)) }
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Double) { object._set(index, .double(value)) }
    public static func _traced(_ tracer: _Tracer) -> Double { -2.5 }
    public static func _encode(_ value: Double, _ encoder: _RowEncoder) { encoder.append(.double(value)) }
    /// A double or float, or an integer that a double holds exactly.
    public static func _convert(_ value: Any?) -> Double? {
        switch value {
        case let value as Double: return value
        case let value as Float: return Double(value)
        case let value as any FixedWidthInteger: return Double(exactly: value)
        case let value as GivenNumber: return value.converted(to: .double) { $0.asDouble }
        default: return nil
        }
    }
}

/// Stored in 32 bits, as it is.
extension Float: _PersistableValue {
    public static var _initial: Float { @inlinable get { 0 } }
    public static var _type: _PropertyType { _PropertyType(.float) }
    @inlinable
    public static func _get(_ object: Object, _ index: UInt32) -> Float {
        Float(bitPattern: UInt32(truncatingIfNeeded: object._number(index)))
    }
    @inlinable
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Float? {
        object._optionalNumber(index).map { Float(bitPattern: UInt32(truncatingIfNeeded: $0)) }
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Float) { object._set(index, .float(value)) }
    public static func _traced(_ tracer: _Tracer) -> Float { -2.5 }
    public static func _encode(_ value: Float, _ encoder: _RowEncoder) { encoder.append(.float(value)) }
    /// A float, a double rounded to the nearest one (what is written as 0.1 in a dictionary or a query is a double), or
    /// an integer that a float holds exactly.
    public static func _convert(_ value: Any?) -> Float? {
        switch value {
        case let value as Float: return value
        case let value as Double:
            let nearest = Float(value)
            return nearest.isInfinite && !value.isInfinite ? nil : nearest
        case let value as any FixedWidthInteger: return Float(exactly: value)
        case let value as GivenNumber: return value.converted(to: .float) { $0.asFloat }
        default: return nil
        }
    }
}

extension String: _PersistableValue {
    public static var _initial: String { @inlinable get { "" } }
    public static var _type: _PropertyType { _PropertyType(.string) }
    public static func _get(_ object: Object, _ index: UInt32) -> String { object._text(index) ?? "" }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> String? { object._text(index) }
    public static func _set(_ object: Object, _ index: UInt32, _ value: String) {
        var value = value
        value.withUTF8 { object._set(index, .string(UnsafeRawPointer($0.baseAddress), $0.count)) }
    }
    public static func _traced(_ tracer: _Tracer) -> String { "aB" }
    public static func _encode(_ value: String, _ encoder: _RowEncoder) { encoder.append(value) }
    public static func _hash(_ value: String, into hasher: inout Hasher) { hasher.combine(value) }
    public static func _convert(_ value: Any?) -> String? {
        if let text = value as? String { return text }
        return (value as? Substring).map { String($0) }
    }
}

/// The elements of an array that is persisted: bytes. A protocol, so that an array of other things is refused with a
/// word of what to declare (Unpersistable.swift).
public protocol _Byte {}
extension UInt8: _Byte {}

extension Array: Persistable, _OptionalPersistable, CollectionElement, _SingleElement, PlainElement, _PersistableValue
where Element: _Byte {
    public typealias _OptionalStorage = [Element]?
    public static var _initial: [Element] { @inlinable get { [] } }
    public static var _type: _PropertyType { _PropertyType(.binary) }
    public static func _get(_ object: Object, _ index: UInt32) -> [Element] { _getOptional(object, index) ?? [] }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> [Element]? {
        unsafeBitCast(object._bytes(index), to: [Element]?.self)
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: [Element]) {
        value.withUnsafeBytes { object._set(index, .binary($0.baseAddress, $0.count)) }
    }
    public static func _encode(_ value: [Element], _ encoder: _RowEncoder) {
        value.withUnsafeBytes { encoder.append($0, .binary) }
    }
}

extension Timestamp: _PersistableValue {
    public static var _initial: Timestamp { Timestamp(seconds: 0) }
    public static var _type: _PropertyType { _PropertyType(.timestamp) }
    public static func _get(_ object: Object, _ index: UInt32) -> Timestamp { object._timestamp(index) ?? _initial }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Timestamp? { object._timestamp(index) }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Timestamp) {
        object._set(index, .timestamp(seconds: value.seconds, nanoseconds: value.nanoseconds))
    }
    public static func _encode(_ value: Timestamp, _ encoder: _RowEncoder) {
        encoder.append(.timestamp(seconds: value.seconds, nanoseconds: value.nanoseconds))
    }
}

/// An enum that can be stored, by its raw value, an `Int` or a `String`:
/// ```swift
/// enum Color: String, PersistableEnum { case red, green }
/// ```
/// What is written is one of the cases, whatever writes it: JSON, a dictionary (`.outOfRange`). Objects that are there
/// when a property is added have its default, or the first case. A stored raw value that is no case any more is
/// reported as `.outOfRange` and read as the first case.
public protocol PersistableEnum: _PersistableValue, RawRepresentable, CaseIterable, QueryOperand
where RawValue: _PersistableValue & QueryOperand {}

extension PersistableEnum {
    public static var _initial: Self { allCases[allCases.startIndex] }
    public static var _type: _PropertyType {
        var type = RawValue._type
        type.range = nil
        type.cases = { encoder in for value in allCases { RawValue._encode(value.rawValue, encoder) } }
        return type
    }
    public static func _get(_ object: Object, _ index: UInt32) -> Self {
        fromRaw(RawValue._get(object, index), object, index) ?? _initial
    }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Self? {
        RawValue._getOptional(object, index).flatMap { fromRaw($0, object, index) }
    }
    /// Nil where it is no case, which is reported.
    private static func fromRaw(_ raw: RawValue, _ object: Object, _ index: UInt32) -> Self? {
        if let value = Self(rawValue: raw) { return value }
        object._reportOutOfRange(index, raw, "\(Self.self)")
        return nil
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Self) {
        RawValue._set(object, index, value.rawValue)
    }
    public static func _encode(_ value: Self, _ encoder: _RowEncoder) { RawValue._encode(value.rawValue, encoder) }
    public static func _hash(_ value: Self, into hasher: inout Hasher) { RawValue._hash(value.rawValue, into: &hasher) }
    public static func _convert(_ value: Any?) -> Self? {
        value as? Self ?? RawValue._convert(value).flatMap { Self(rawValue: $0) }
    }
    public var _queryValue: _QueryValue { rawValue._queryValue }
}
