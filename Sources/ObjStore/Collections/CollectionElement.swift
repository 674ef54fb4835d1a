internal import ObjStoreCore

/// What a ``List``, ``MutableSet`` or ``Map`` can hold: the types of single properties, and (in lists and maps) their
/// optionals; and links to objects: `List<Dog>`, `MutableSet<Dog>`, `Map<String, Dog?>`.
public protocol CollectionElement: SendableMetatype {
    static var _elementType: _PropertyType { get }
    /// Nil: what is stored is no value of this type.
    static func _element(_ value: _StoredValue) -> Self?
    /// What replaces a value that cannot be read.
    static var _emptyElement: Self { get }
    static func _convertElement(_ value: Any?) -> Self?
    static func _encodeElement(_ value: Self, _ encoder: _RowEncoder)
    /// Nil: it is a value, or null.
    static func _linked(_ value: Self) -> Object?
    /// The objects in it, at any depth.
    static func _objects(_ value: Self) -> [Object]
    /// The same with other objects; nil: it has none any more.
    static func _mapped(_ value: Self, _ other: (Object) -> Object?) -> Self?
    /// Of any type (``AnyValue``): what is nested in it is copied out of the store, or shown.
    static var _isMixed: Bool { get }
}

/// What is no optional: what a ``MutableSet`` can hold.
public protocol _SingleElement: CollectionElement {}

extension CollectionElement {
    public static func _linked(_ value: Self) -> Object? { nil }
    public static func _objects(_ value: Self) -> [Object] { _linked(value).map { [$0] } ?? [] }
    public static func _mapped(_ value: Self, _ other: (Object) -> Object?) -> Self? {
        _linked(value).flatMap { other($0) }.flatMap { _convertElement($0) }
    }
    public static var _isMixed: Bool { false }
    /// For descriptions: of an object only its name, for links lead in circles.
    static func _text(_ value: Self) -> String { _linked(value)?.name ?? "\(value)" }
}

/// A value of the core; texts are borrowed.
public struct _StoredValue {
    let value: Value
    /// Of a link: what it leads to.
    var target: ClassBinding?
    /// Of a mixed element: where it is.
    var place: AnyPlace?

    /// As the plainest type that holds it.
    var any: Any? {
        switch value.kind {
        // A uuid is a type of Foundation, which reads it itself.
        case .null, .link, .list, .set, .map, .mixed, .document, .uuid: nil
        case .bool: value.low != 0
        case .int: value.low
        case .float: value.asFloat
        case .double: value.asDouble
        case .decimal128: Decimal128(value.asDecimal)
        case .string: text
        case .binary: [UInt8](UnsafeRawBufferPointer(start: value.pointer, count: value.count))
        case .timestamp: Timestamp(seconds: value.low, nanoseconds: Int32(truncatingIfNeeded: value.high))
        case .objectID: ObjectId(value)
        }
    }

    var text: String {
        String(decoding: UnsafeRawBufferPointer(start: value.pointer, count: value.count), as: UTF8.self)
    }
}

extension _PersistableValue {
    public static var _elementType: _PropertyType { _type }
    public static var _emptyElement: Self { _initial }
    public static func _element(_ value: _StoredValue) -> Self? { value.value.isNull ? nil : _convert(value.any) }
    public static func _convertElement(_ value: Any?) -> Self? { value == nil ? nil : _convert(value) }
    public static func _encodeElement(_ value: Self, _ encoder: _RowEncoder) { _encode(value, encoder) }
}

extension _PersistableInteger {
    public static func _element(_ value: _StoredValue) -> Self? {
        value.value.isNull ? nil : Self(exactly: value.value.low)
    }
}

extension Double {
    public static func _element(_ value: _StoredValue) -> Double? { value.value.isNull ? nil : value.value.asDouble }
}

extension String {
    public static func _element(_ value: _StoredValue) -> String? { value.value.isNull ? nil : value.text }
}

extension Optional: CollectionElement where Wrapped: _SingleElement {
    public static var _elementType: _PropertyType {
        var type = Wrapped._elementType
        type.isOptional = true
        return type
    }
    public static var _emptyElement: Wrapped? { nil }
    public static func _element(_ value: _StoredValue) -> Wrapped?? {
        value.value.isNull ? .some(nil) : Wrapped._element(value).map { .some($0) }
    }
    public static func _convertElement(_ value: Any?) -> Wrapped?? {
        guard let value = value.flatMap({ ClassInfo.unwrap($0) }) else { return .some(nil) }
        return Wrapped._convertElement(value).map { .some($0) }
    }
    public static func _encodeElement(_ value: Wrapped?, _ encoder: _RowEncoder) {
        if let value { Wrapped._encodeElement(value, encoder) } else { encoder.append(.null) }
    }
    public static func _linked(_ value: Wrapped?) -> Object? { value.flatMap { Wrapped._linked($0) } }
    public static func _objects(_ value: Wrapped?) -> [Object] { value.map { Wrapped._objects($0) } ?? [] }
    public static func _mapped(_ value: Wrapped?, _ other: (Object) -> Object?) -> Wrapped?? {
        .some(value.flatMap { Wrapped._mapped($0, other) })
    }
    public static var _isMixed: Bool { Wrapped._isMixed }
}

/// Values of one call, in the memory of a `_RowEncoder`; nothing moves until `body` returns.
///
/// - Parameter links: to unmanaged objects that have just been stored. `.wrongView`: another one.
func withEncoded<Element: CollectionElement, T>(
    _ elements: some Sequence<Element>, links: [ObjectIdentifier: Value] = [:],
    _ body: (UnsafeBufferPointer<Value>) throws(StoreError) -> T
) throws(StoreError) -> T {
    let encoder = _RowEncoder()
    encoder.links = links
    var count = 0
    for element in elements {
        encoder.begin(0)
        Element._encodeElement(element, encoder)
        count += 1
    }
    if let refusal = encoder.refusal { throw refusal.ofCore }
    var result: Result<T, StoreError>?
    encoder.drain { _, values in
        result = Result { () throws(StoreError) in try body(UnsafeBufferPointer(start: values, count: count)) }
    }
    return try result.unsafelyUnwrapped.get()
}
