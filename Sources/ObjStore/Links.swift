internal import ObjStoreCore

// Links belong to the language of models, but this version cannot store them: an unmanaged object has
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

extension Object: CollectionElement {
    public static var _elementType: _PropertyType { _PropertyType(.link) }
    public static var _emptyElement: Self { self.init() }
    public static func _element(_ value: _StoredValue) -> Self? { nil }
    public static func _convertElement(_ value: Any?) -> Self? { value.flatMap { _convertOptional($0) } }
    public static func _encodeElement(_ value: Object, _ encoder: _RowEncoder) { encoder.append(.null) }
}
