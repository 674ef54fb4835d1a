// What programs may try to persist, and the error for it: else the compiler says only that a type does not conform to
// Persistable.

#if canImport(FoundationEssentials)
public import FoundationEssentials
#elseif canImport(Foundation)
public import Foundation
#endif

/// Never used: the compiler refuses each type that conforms.
public protocol _Unpersistable: Persistable, _NeverOptional, _NeverElement where _Storage == Self {}
/// The same of an optional, and of an element.
public protocol _NeverOptional: _OptionalPersistable where _OptionalStorage == Self? {}
public protocol _NeverElement: _SingleElement {}

extension _Unpersistable {
    public static var _initial: Self { preconditionFailure("\(Self.self) is not persisted") }
    public static var _type: _PropertyType { preconditionFailure("\(Self.self) is not persisted") }
    public static func _get(_ object: Object, _ index: UInt32) -> Self { _initial }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Self) {}
    public static func _encode(_ value: Self, _ encoder: _RowEncoder) {}
}

extension _NeverOptional {
    public static var _noValue: Self? { nil }
    public static var _optionalType: _PropertyType { preconditionFailure("\(Self.self) is not persisted") }
    public static func _readOptional(_ storage: inout Self?) -> Self? { nil }
    public static func _writeOptional(_ storage: inout Self?, _ value: Self?) {}
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Self? { nil }
    public static func _setOptional(_ object: Object, _ index: UInt32, _ value: Self?) {}
    public static func _tracedOptional(_ tracer: _Tracer) -> Self? { nil }
    public static func _convertOptional(_ value: Any) -> Self? { nil }
    public static func _encodeOptional(_ value: Self?, _ encoder: _RowEncoder) {}
}

extension _NeverElement {
    public static var _elementType: _PropertyType { preconditionFailure("\(Self.self) is not persisted") }
    public static func _element(_ value: _StoredValue) -> Self? { nil }
    public static var _emptyElement: Self { preconditionFailure("\(Self.self) is not persisted") }
    public static func _convertElement(_ value: Any?) -> Self? { nil }
    public static func _encodeElement(_ value: Self, _ encoder: _RowEncoder) {}
}

@available(
    *, unavailable,
    message: "a link is optional, `var owner: Person?`: it is nil when the object that it led to is deleted"
)
extension Object: Persistable {
    public typealias _Storage = Object?
    public static var _initial: Object? { nil }
    public static var _type: _PropertyType { _optionalType }
    public static func _read(_ storage: inout Object?) -> Self { preconditionFailure("a link is optional") }
    public static func _write(_ storage: inout Object?, _ value: Object) {}
    public static func _get(_ object: Object, _ index: UInt32) -> Self { preconditionFailure("a link is optional") }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Object) {}
    public static func _traced(_ tracer: _Tracer) -> Self { preconditionFailure("a link is optional") }
    public static func _convert(_ value: Any?) -> Self? { nil }
    public static func _encode(_ value: Object, _ encoder: _RowEncoder) {}
}
@available(*, unavailable, message: "declare it as Map<String, …>, or as AnyValue")
extension Dictionary: Persistable, _OptionalPersistable, CollectionElement, _SingleElement, _NeverOptional,
    _NeverElement, _Unpersistable
{}
@available(*, unavailable, message: "declare it as MutableSet<…>")
extension Set: Persistable, _OptionalPersistable, CollectionElement, _SingleElement, _NeverOptional, _NeverElement,
    _Unpersistable
{}
@available(*, unavailable, message: "integers are stored with a sign: declare it as Int")
extension UInt: Persistable, _OptionalPersistable, CollectionElement, _SingleElement, _NeverOptional, _NeverElement,
    _Unpersistable
{}
@available(
    *, unavailable, message: "integers are stored with a sign: declare it as Int, or as Decimal128 for all 64 bits"
)
extension UInt64: Persistable, _OptionalPersistable, CollectionElement, _SingleElement, _NeverOptional, _NeverElement,
    _Unpersistable
{}
@available(*, unavailable, message: "integers are stored with a sign: declare it as Int64")
extension UInt32: Persistable, _OptionalPersistable, CollectionElement, _SingleElement, _NeverOptional, _NeverElement,
    _Unpersistable
{}
@available(*, unavailable, message: "integers are stored with a sign: declare it as Int32")
extension UInt16: Persistable, _OptionalPersistable, CollectionElement, _SingleElement, _NeverOptional, _NeverElement,
    _Unpersistable
{}
@available(
    *, unavailable,
    message: "integers are stored with a sign: declare it as Int16, or many as [UInt8], whose type is no list"
)
extension UInt8: Persistable, _OptionalPersistable, CollectionElement, _SingleElement, _NeverOptional, _NeverElement,
    _Unpersistable
{}
@available(*, unavailable, message: "declare it as String")
extension Character: Persistable, _OptionalPersistable, CollectionElement, _SingleElement, _NeverOptional,
    _NeverElement, _Unpersistable
{}
@available(*, unavailable, message: "declare it as String")
extension Substring: Persistable, _OptionalPersistable, CollectionElement, _SingleElement, _NeverOptional,
    _NeverElement, _Unpersistable
{}
@available(*, unavailable, message: "a list is empty rather than nil: declare it as List<…>")
extension List: _OptionalPersistable, _NeverOptional {}
@available(*, unavailable, message: "a set is empty rather than nil: declare it as MutableSet<…>")
extension MutableSet: _OptionalPersistable, _NeverOptional {}
@available(*, unavailable, message: "a map is empty rather than nil: declare it as Map<…>")
extension Map: _OptionalPersistable, _NeverOptional {}
@available(*, unavailable, message: "an AnyValue can be .none: declare it as AnyValue")
extension AnyValue: _OptionalPersistable, _NeverOptional {}
@available(*, unavailable, message: "lists in each other are List<AnyValue>, or an AnyValue")
extension List: CollectionElement, _SingleElement, _NeverElement {}
@available(*, unavailable, message: "collections in each other are List<AnyValue>, or an AnyValue")
extension MutableSet: CollectionElement, _SingleElement, _NeverElement {}
@available(*, unavailable, message: "collections in each other are List<AnyValue>, or an AnyValue")
extension Map: CollectionElement, _SingleElement, _NeverElement {}
// Arrays: those of bytes are values, others are lists, whose changes are stored element by element.
@available(*, unavailable, message: "declare it as List<Bool>")
extension Bool: _Byte {}
@available(*, unavailable, message: "declare it as List<Int>")
extension Int: _Byte {}
@available(*, unavailable, message: "declare it as List<Int8>")
extension Int8: _Byte {}
@available(*, unavailable, message: "declare it as List<Int16>")
extension Int16: _Byte {}
@available(*, unavailable, message: "declare it as List<Int32>")
extension Int32: _Byte {}
@available(*, unavailable, message: "declare it as List<Int64>")
extension Int64: _Byte {}
@available(*, unavailable, message: "declare it as List<Float>")
extension Float: _Byte {}
@available(*, unavailable, message: "declare it as List<Double>")
extension Double: _Byte {}
@available(*, unavailable, message: "declare it as List<Int>")
extension UInt: _Byte {}
@available(*, unavailable, message: "declare it as List<Int32>")
extension UInt16: _Byte {}
@available(*, unavailable, message: "declare it as List<Int64>")
extension UInt32: _Byte {}
@available(*, unavailable, message: "declare it as List<Int>, or as List<Decimal128> for all 64 bits")
extension UInt64: _Byte {}
@available(*, unavailable, message: "declare it as List<String>")
extension Character: _Byte {}
@available(*, unavailable, message: "declare it as List<String>")
extension Substring: _Byte {}
@available(*, unavailable, message: "declare it as List<AnyValue>")
extension Set: _Byte {}
@available(*, unavailable, message: "declare it as List<Decimal128>")
extension Decimal128: _Byte {}
@available(*, unavailable, message: "declare it as List<String>")
extension String: _Byte {}
@available(*, unavailable, message: "declare it as List<Timestamp>")
extension Timestamp: _Byte {}
@available(*, unavailable, message: "declare it as List<ObjectId>")
extension ObjectId: _Byte {}
@available(*, unavailable, message: "declare it as List<AnyValue>")
extension AnyValue: _Byte {}
@available(*, unavailable, message: "declare it as List<…> of this class")
extension Object: _Byte {}
@available(*, unavailable, message: "declare it as List<…>; or as AnyValue, whose lists can be in each other")
extension Array: _Byte {}
@available(*, unavailable, message: "declare it as List<…>")
extension Optional: _Byte {}
@available(*, unavailable, message: "declare it as List<AnyValue>: a dictionary is one of its elements")
extension Dictionary: _Byte {}

#if canImport(FoundationEssentials) || canImport(Foundation)
@available(*, unavailable, message: "declare it as List<Data>")
extension Data: _Byte {}
@available(*, unavailable, message: "declare it as List<Date>")
extension Date: _Byte {}
@available(*, unavailable, message: "declare it as List<UUID>")
extension UUID: _Byte {}
@available(*, unavailable, message: "declare it as List<Decimal128>")
extension Decimal: _Byte {}
@available(*, unavailable, message: "declare it as List<String>, and keep its absoluteString")
extension URL: _Byte {}
@available(*, unavailable, message: "declare it as Decimal128")
extension Decimal: Persistable, _OptionalPersistable, CollectionElement, _SingleElement, _NeverOptional, _NeverElement,
    _Unpersistable
{}
#endif
