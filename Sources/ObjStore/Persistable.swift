internal import ObjStoreCore

/// Types that a `@Persisted` property can have: ``List``, ``MutableSet`` and ``Map``, and as single values `Bool`,
/// `Int` (and `Int8` … `Int64`), `Float`, `Double`, ``Decimal128``, `String`, `[UInt8]` and `Data`, ``Timestamp`` and
/// `Date`, ``ObjectId``, `UUID`, enums with ``PersistableEnum``, and an optional of each; an optional of a class
/// derived from ``Object``, which is a link (in lists and sets no optional); ``LinkingObjects``, the inverse of one.
///
/// The requirements are those of the library; conform to ``PersistableEnum`` only.
public protocol Persistable: SendableMetatype {
    /// What the property of an unmanaged object holds.
    associatedtype _Storage = Self
    static var _initial: _Storage { get }
    /// What a new object has in a property that was declared without a default.
    static var _fresh: _Storage { get }
    static var _type: _PropertyType { get }

    // Unmanaged.
    static func _read(_ storage: inout _Storage) -> Self
    static func _write(_ storage: inout _Storage, _ value: Self)
    // Managed: `index` is that of the property in its class.
    static func _get(_ object: Object, _ index: UInt32) -> Self
    static func _set(_ object: Object, _ index: UInt32, _ value: Self)

    /// What the property has while a key path is traced: a value from which computed properties lead to others, so that
    /// it is seen where a key path goes beyond the property.
    static func _traced(_ tracer: _Tracer) -> Self
    /// The value as this type, where it is one; nil represents null.
    static func _convert(_ value: Any?) -> Self?
    static func _encode(_ value: Self, _ encoder: _RowEncoder)
    static func _hash(_ value: Self, into hasher: inout Hasher)

    // The same for code that does not know the type. Requirements with default bodies, so that each type has a
    // specialised version; `offset` is that of the wrapper in the object.
    static var _indexOffset: Int { get }
    static func _flags(_ object: Object, _ offset: Int) -> UInt8
    /// Of an inverse: the name of the link.
    static func _originProperty(_ object: Object, _ offset: Int) -> String?
    static func _anyValue(_ object: Object, _ offset: Int) -> Any
    static func _assign(_ value: Any?, to object: Object, _ offset: Int) -> Bool
    static func _encode(_ object: Object, _ offset: Int, _ encoder: _RowEncoder)
    static func _encodeAny(_ value: Any?, _ encoder: _RowEncoder) -> Bool
    static func _copy(from object: Object, to copy: Object, _ offset: Int)
    static func _bind(_ object: Object, _ offset: Int, _ index: UInt32)
    static func _hash(_ object: Object, _ offset: Int, into hasher: inout Hasher)
    /// Moves what leads to other objects out of an unmanaged object that is going.
    static func _takeReferences(_ object: Object, _ offset: Int, _ references: _References)
}

/// What a property can hold.
public struct _PropertyType: Sendable {
    /// As in `ValueKind`.
    let kind: UInt8
    var isOptional = false
    /// Of lists, sets and maps: kind of the elements, whether they may be nil, kind of the keys.
    private(set) var elementKind: UInt8 = 0
    private(set) var hasOptionalElements = false
    private(set) var keyKind: UInt8 = 0
    /// Of a link, or a collection of links: the class that it leads to; of an inverse: the class that has the link.
    var linked: Object.Type?
    /// Not stored: found through a link.
    var isInverse = false
    /// Of an int: it is counted.
    var isCounter = false
    /// Nothing that is stored for nothing (0, "") is of the type.
    var needsDefault = false
    /// Of an enum, or elements or keys that are enums: writes all cases.
    var cases: (@Sendable (_RowEncoder) -> Void)?
    private(set) var keyCases: (@Sendable (_RowEncoder) -> Void)?
    /// Of integers of fewer than 64 bits.
    var range: ClosedRange<Int64>?
    private(set) var keyRange: ClosedRange<Int64>?

    var valueKind: ValueKind { ValueKind(rawValue: kind) ?? .null }

    init(_ kind: ValueKind) { self.kind = kind.rawValue }

    init(_ kind: ValueKind, of elements: _PropertyType, keys: _PropertyType? = nil) {
        self.kind = kind.rawValue
        elementKind = elements.kind
        hasOptionalElements = elements.isOptional
        keyKind = keys?.kind ?? 0
        linked = elements.linked
        cases = elements.cases
        keyCases = keys?.cases
        range = elements.range
        keyRange = keys?.range
    }

    var isCollection: Bool { valueKind.isCollection }
    /// One value or a collection of them; or a collection of values of any type, which may have some.
    var hasLinks: Bool { valueKind == .link || elementKind == ValueKind.link.rawValue || hasMixedElements }
    /// A value of any type, or a collection of them.
    var isMixed: Bool { valueKind == .mixed || hasMixedElements }
    var hasMixedElements: Bool { elementKind == ValueKind.mixed.rawValue }
    var elements: ElementSchema {
        ElementSchema(
            kind: ValueKind(rawValue: elementKind) ?? .null, isNullable: hasOptionalElements,
            keyKind: ValueKind(rawValue: keyKind) ?? .null)
    }
}

extension Persistable where _Storage == Self {
    @inlinable public static func _read(_ storage: inout Self) -> Self { storage }
    @inlinable public static func _write(_ storage: inout Self, _ value: Self) { storage = value }
    public static func _traced(_ tracer: _Tracer) -> Self { _initial }
}

extension Persistable {
    public static var _fresh: _Storage { @inlinable get { _initial } }
    public static func _convert(_ value: Any?) -> Self? { value as? Self }
    /// Primary keys have a better one.
    public static func _hash(_ value: Self, into hasher: inout Hasher) {}

    public static var _indexOffset: Int { MemoryLayout<Persisted<Self>>.offset(of: \.index) ?? 0 }

    @inline(__always)
    static func wrapper(_ object: Object, _ offset: Int) -> UnsafeMutablePointer<Persisted<Self>> {
        (Unmanaged.passUnretained(object).toOpaque() + offset).assumingMemoryBound(to: Persisted<Self>.self)
    }

    /// Not while a key path is traced either: the prototype is no store's.
    @inline(__always)
    private static func isManaged(_ index: UInt32) -> Bool { index < Persisted<Self>._tracing }

    @inline(__always)
    private static func current(_ object: Object, _ offset: Int) -> Self {
        let wrapper = wrapper(object, offset)
        let index = wrapper.pointee.index
        return isManaged(index) ? _get(object, index) : _read(&wrapper.pointee.value)
    }

    @inline(__always)
    private static func assign(_ value: Self, to object: Object, _ offset: Int) {
        let wrapper = wrapper(object, offset)
        let index = wrapper.pointee.index
        if isManaged(index) { _set(object, index, value) } else { _write(&wrapper.pointee.value, value) }
    }

    public static func _flags(_ object: Object, _ offset: Int) -> UInt8 { wrapper(object, offset).pointee.flags }

    public static func _originProperty(_ object: Object, _ offset: Int) -> String? { nil }

    public static func _anyValue(_ object: Object, _ offset: Int) -> Any { current(object, offset) }

    public static func _assign(_ value: Any?, to object: Object, _ offset: Int) -> Bool {
        guard let converted = _convert(value) else { return false }
        assign(converted, to: object, offset)
        return true
    }

    public static func _encode(_ object: Object, _ offset: Int, _ encoder: _RowEncoder) {
        _encode(current(object, offset), encoder)
    }

    public static func _encodeAny(_ value: Any?, _ encoder: _RowEncoder) -> Bool {
        guard let converted = _convert(value) else { return false }
        _encode(converted, encoder)
        return true
    }

    public static func _copy(from object: Object, to copy: Object, _ offset: Int) {
        assign(current(object, offset), to: copy, offset)
    }

    /// The property is the store's from now on. The payload is let go.
    public static func _bind(_ object: Object, _ offset: Int, _ index: UInt32) {
        let wrapper = wrapper(object, offset)
        wrapper.pointee.value = _initial
        wrapper.pointee.index = index
    }

    public static func _takeReferences(_ object: Object, _ offset: Int, _ references: _References) {}

    /// For primary keys.
    public static func _hash(_ object: Object, _ offset: Int, into hasher: inout Hasher) {
        _hash(current(object, offset), into: &hasher)
    }
}

/// Types whose optional is ``Persistable``.
public protocol _OptionalPersistable: SendableMetatype {
    associatedtype _OptionalStorage
    static var _noValue: _OptionalStorage { get }
    static var _optionalType: _PropertyType { get }
    static func _readOptional(_ storage: inout _OptionalStorage) -> Self?
    static func _writeOptional(_ storage: inout _OptionalStorage, _ value: Self?)
    static func _getOptional(_ object: Object, _ index: UInt32) -> Self?
    static func _setOptional(_ object: Object, _ index: UInt32, _ value: Self?)
    static func _tracedOptional(_ tracer: _Tracer) -> Self?
    static func _convertOptional(_ value: Any) -> Self?
    static func _encodeOptional(_ value: Self?, _ encoder: _RowEncoder)
    static func _takeReferences(_ storage: inout _OptionalStorage, _ references: _References)
}

extension _OptionalPersistable {
    public static func _takeReferences(_ storage: inout _OptionalStorage, _ references: _References) {}
}

extension Optional: Persistable where Wrapped: _OptionalPersistable {
    public typealias _Storage = Wrapped._OptionalStorage
    public static var _initial: _Storage { @inlinable get { Wrapped._noValue } }
    public static var _type: _PropertyType { Wrapped._optionalType }
    @inlinable public static func _read(_ storage: inout _Storage) -> Wrapped? { Wrapped._readOptional(&storage) }
    @inlinable public static func _write(_ storage: inout _Storage, _ value: Wrapped?) {
        Wrapped._writeOptional(&storage, value)
    }
    @inlinable public static func _get(_ object: Object, _ index: UInt32) -> Wrapped? {
        Wrapped._getOptional(object, index)
    }
    @inlinable public static func _set(_ object: Object, _ index: UInt32, _ value: Wrapped?) {
        Wrapped._setOptional(object, index, value)
    }
    public static func _traced(_ tracer: _Tracer) -> Wrapped? { Wrapped._tracedOptional(tracer) }
    public static func _convert(_ value: Any?) -> Wrapped?? {
        guard let value else { return .some(nil) }
        return Wrapped._convertOptional(value).map { .some($0) }
    }
    public static func _encode(_ value: Wrapped?, _ encoder: _RowEncoder) { Wrapped._encodeOptional(value, encoder) }
    public static func _takeReferences(_ object: Object, _ offset: Int, _ references: _References) {
        Wrapped._takeReferences(&wrapper(object, offset).pointee.value, references)
    }
}

/// Values: the optional of one holds the value itself.
public protocol _PersistableValue: Persistable, _OptionalPersistable, _SingleElement, PlainElement
where _Storage == Self, _OptionalStorage == Self? {}

extension _PersistableValue {
    public static var _noValue: Self? { @inlinable get { nil } }
    public static var _optionalType: _PropertyType {
        var type = _type
        type.isOptional = true
        return type
    }
    @inlinable public static func _readOptional(_ storage: inout Self?) -> Self? { storage }
    @inlinable public static func _writeOptional(_ storage: inout Self?, _ value: Self?) { storage = value }
    @inlinable
    public static func _setOptional(_ object: Object, _ index: UInt32, _ value: Self?) {
        if let value { _set(object, index, value) } else { object._setNull(index) }
    }
    /// Not nil: a key path may continue from here.
    public static func _tracedOptional(_ tracer: _Tracer) -> Self? { _traced(tracer) }
    public static func _convertOptional(_ value: Any) -> Self? { _convert(value) }
    public static func _encodeOptional(_ value: Self?, _ encoder: _RowEncoder) {
        if let value { _encode(value, encoder) } else { encoder.append(.null) }
    }
}
