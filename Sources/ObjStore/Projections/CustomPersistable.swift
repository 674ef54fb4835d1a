internal import ObjStoreCore

// Type projections: properties of types of the program, stored as what these are made of.

/// A type of the program that is stored as another one, `PersistedType`: a number, a text, bytes, a date, an id or an
/// enum.
///
/// ```swift
/// struct Celsius: CustomPersistable {
///     var degrees: Double
///     init(persistedValue: Double) { degrees = persistedValue }
///     var persistableValue: Double { degrees }
/// }
/// final class Reading: Object {
///     @Persisted var temperature: Celsius
///     @Persisted var others: List<Celsius>
/// }
/// ```
/// The file has the stored type, and so have JSON, `filter` with a text and other languages. In a `where` values of
/// either are compared: `$0.temperature == Celsius(3)`, `$0.temperature.persistableValue < 3`. Where not every stored
/// value is one of the type: ``FailableCustomPersistable``.
public protocol CustomPersistable: _CustomPersistable, _SingleElement, PlainElement {
    init(persistedValue: PersistedType)
}

/// The same of a type that not every stored value can become: `init?` returns nil for those that are none.
///
/// A stored value that is none is read as nil where the property is optional, else as what is stored for nothing (0,
/// ""), or, if that is none either, as the default of the property; and is reported as `.outOfRange`. So a property
/// that is not optional may need a default, `@Persisted var link = Link("a")!` (else `.invalidSchema`), and lists, sets
/// and maps cannot have such elements.
public protocol FailableCustomPersistable: _CustomPersistable {
    init?(persistedValue: PersistedType)
}

/// What ``CustomPersistable`` and ``FailableCustomPersistable`` have in common; conform to one of these.
public protocol _CustomPersistable: Persistable, _OptionalPersistable, QueryOperand
where _Storage == Self?, _OptionalStorage == Self? {
    /// What the file has.
    associatedtype PersistedType: _PersistableValue & QueryOperand
    /// What is stored for the value.
    var persistableValue: PersistedType { get }
    /// Nil: it is none of the type.
    static func _loaded(_ value: PersistedType) -> Self?
}

extension CustomPersistable {
    public static func _loaded(_ value: PersistedType) -> Self? { Self(persistedValue: value) }
}

extension FailableCustomPersistable {
    public static func _loaded(_ value: PersistedType) -> Self? { Self(persistedValue: value) }
}

extension _CustomPersistable {
    public static var _initial: Self? { nil }
    public static var _type: _PropertyType {
        var type = PersistedType._type
        type.needsDefault = zero == nil
        return type
    }
    public static func _read(_ storage: inout Self?) -> Self {
        if let value = storage ?? zero { return value }
        // Of an unmanaged object: no store takes such a class.
        preconditionFailure("a property of type \(Self.self) that is not optional needs a default")
    }
    public static func _write(_ storage: inout Self?, _ value: Self) { storage = value }
    public static func _get(_ object: Object, _ index: UInt32) -> Self {
        // Nil: the object is gone, which was reported.
        guard let stored = PersistedType._getOptional(object, index) else { return placeholder(object, index) }
        if let value = _loaded(stored) { return value }
        object._reportOutOfRange(index, stored, "\(Self.self)")
        return placeholder(object, index)
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Self) {
        PersistedType._set(object, index, value.persistableValue)
    }
    public static func _traced(_ tracer: _Tracer) -> Self {
        var storage = _loaded(PersistedType._traced(tracer)) ?? zero ?? tracer.initialValue as? Self
        return _read(&storage)
    }
    public static func _encode(_ value: Self, _ encoder: _RowEncoder) {
        PersistedType._encode(value.persistableValue, encoder)
    }
    public static func _hash(_ value: Self, into hasher: inout Hasher) {
        PersistedType._hash(value.persistableValue, into: &hasher)
    }
    /// The type itself, or what is stored for it.
    public static func _convert(_ value: Any?) -> Self? {
        value as? Self ?? PersistedType._convert(value).flatMap { _loaded($0) }
    }

    /// What a new object begins with that has no default; nil: it must have one.
    private static var zero: Self? { _loaded(PersistedType._initial) }

    /// For what cannot be read.
    private static func placeholder(_ object: Object, _ index: UInt32) -> Self {
        var storage = zero ?? (try? ClassInfo.of(type(of: object)))?.initialValue(Int(index)) as? Self
        return _read(&storage)
    }

    public var _queryValue: _QueryValue { persistableValue._queryValue }
}

// MARK: Optionals

extension _CustomPersistable {
    public static var _noValue: Self? { nil }
    public static var _optionalType: _PropertyType { PersistedType._optionalType }
    public static func _readOptional(_ storage: inout Self?) -> Self? { storage }
    public static func _writeOptional(_ storage: inout Self?, _ value: Self?) { storage = value }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Self? {
        guard let stored = PersistedType._getOptional(object, index) else { return nil }
        if let value = _loaded(stored) { return value }
        object._reportOutOfRange(index, stored, "\(Self.self)")
        return nil
    }
    public static func _setOptional(_ object: Object, _ index: UInt32, _ value: Self?) {
        PersistedType._setOptional(object, index, value?.persistableValue)
    }
    public static func _tracedOptional(_ tracer: _Tracer) -> Self? { _loaded(PersistedType._traced(tracer)) ?? zero }
    public static func _convertOptional(_ value: Any) -> Self? { _convert(value) }
    public static func _encodeOptional(_ value: Self?, _ encoder: _RowEncoder) {
        PersistedType._encodeOptional(value?.persistableValue, encoder)
    }
}

// MARK: Elements

extension CustomPersistable {
    public static var _elementType: _PropertyType { PersistedType._elementType }
    public static func _element(_ value: _StoredValue) -> Self? {
        PersistedType._element(value).map { Self(persistedValue: $0) }
    }
    public static var _emptyElement: Self { Self(persistedValue: PersistedType._emptyElement) }
    public static func _convertElement(_ value: Any?) -> Self? { value == nil ? nil : _convert(value) }
    public static func _encodeElement(_ value: Self, _ encoder: _RowEncoder) { _encode(value, encoder) }
}

// MARK: Queries

extension Query where Value: _CustomPersistable {
    /// What is stored for the value, with all that its type can be asked: `$0.temperature.persistableValue < 3`.
    public var persistableValue: Query<Value.PersistedType> { Query<Value.PersistedType>(nodes, scope) }
}

extension Query where Value: _OptionalCustom {
    public var persistableValue: Query<Value._Custom.PersistedType?> {
        Query<Value._Custom.PersistedType?>(nodes, scope)
    }
}

/// An optional of a type of the program.
public protocol _OptionalCustom {
    associatedtype _Custom: _CustomPersistable
}
extension Optional: _OptionalCustom where Wrapped: _CustomPersistable {
    public typealias _Custom = Wrapped
}

extension StoreReading {
    /// The same where the primary key is of a type of the program.
    public func object<T: Object, Key: _CustomPersistable>(
        ofType type: T.Type, forPrimaryKey key: Key?
    ) throws(ObjStoreError) -> T? { try object(ofType: type, forPrimaryKey: key?.persistableValue) }
}
