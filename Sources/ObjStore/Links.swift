internal import ObjStoreCore

// Links and lists belong to the language of models, but this version cannot store them: an unmanaged object has
// them, and a store whose classes have one does not open (`.notSupported`, naming class and property).

extension Object: _OptionalPersistable {
    public typealias _OptionalStorage = Object?
    public static var _noValue: Object? { nil }
    public static var _optionalType: _PropertyType {
        var type = _PropertyType(.link)
        type.isOptional = true
        return type
    }
    // What is written is of the property's class, which is `Self` here.
    public static func _readOptional(_ storage: inout Object?) -> Self? { storage.map { unsafeDowncast($0, to: self) } }
    public static func _writeOptional(_ storage: inout Object?, _ value: Object?) { storage = value }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Self? {
        object._reportUnsupported(index)
        return nil
    }
    public static func _setOptional(_ object: Object, _ index: UInt32, _ value: Object?) { object._reportUnsupported(index) }
    public static func _tracedOptional(_ tracer: _Tracer) -> Self? { nil }
    public static func _convertOptional(_ value: Any) -> Self? {
        guard let object = value as? Object, type(of: object) == self else { return nil }
        return unsafeDowncast(object, to: self)
    }
    public static func _encodeOptional(_ value: Object?, _ encoder: _RowEncoder) { encoder.append(.null) }
}

/// A list of an unmanaged object. This version cannot store lists: a class with one does not open.
public final class List<Element> {
    private var elements: [Element] = []

    public init() {}
    public func append(_ element: Element) { elements.append(element) }
}

extension List: RandomAccessCollection, MutableCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { elements.count }
    public subscript(index: Int) -> Element {
        get { elements[index] }
        set { elements[index] = newValue }
    }
}

extension List: Persistable {
    public typealias _Storage = List?
    public static var _initial: List? { nil }
    public static var _type: _PropertyType { _PropertyType(.list) }
    public static func _read(_ storage: inout List?) -> List {
        if let storage { return storage }
        let list = List()
        storage = list
        return list
    }
    public static func _write(_ storage: inout List?, _ value: List) { storage = value }
    public static func _get(_ object: Object, _ index: UInt32) -> List {
        object._reportUnsupported(index)
        return List()
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: List) { object._reportUnsupported(index) }
    public static func _traced(_ tracer: _Tracer) -> List { List() }
    public static func _encode(_ value: List, _ encoder: _RowEncoder) { encoder.append(.null) }
}
