internal import ObjStoreCore

// Links in values of any type: `dog.companion = .object(spot)`, also inside lists and dictionaries. An object of a
// store is its class and key there; one of no store is held as it is until the value comes into a store, and the object
// with it.

extension AnyValue {
    /// The object that it links to; nil: it links to none, or its object was deleted.
    public var object: Object? { if case .object(let value) = self { value } else { nil } }

    /// What a link of the core leads to, in a space that shows its store.
    init(link: CoreValue, _ space: ObjectSpace?) throws(StoreError) {
        guard let space else {
            throw StoreError(
                .notSupported, "the value has a link to an object, and belongs to no store in which it could be found")
        }
        let classID = UInt32(truncatingIfNeeded: link.high)
        guard let binding = space.bindings.first(where: { $0.classID == classID }) else {
            let name = try? space.current.classInfo(classID).name
            throw StoreError(
                .noSuchClass,
                """
                the value links to an object of class \(name ?? "id \(classID)"), which is not among the models that \
                the store was opened with
                """
            ).at(class: name)
        }
        self = .object(space.materialise(binding.info.type, binding, link.low))
    }

    static func embedded(_ object: Object) -> StoreError {
        let name = ClassInfo.name(of: type(of: object))
        return StoreError(
            .embedded,
            "objects of class \(name) are embedded: they lie in their parent, and no value of any type links to one"
        ).at(class: name)
    }
}

extension _RowEncoder {
    /// A link inside a value of any type, which says its store. Whether its object is there, the core says.
    func mixedLink(_ object: Object) throws(StoreError) -> Value {
        if object is EmbeddedObject { throw AnyValue.embedded(object) }
        // Those of other stores have copies.
        if let link = links[ObjectIdentifier(object)] { return link }
        guard let binding = object._binding else {
            guard let graph else { throw unmanaged(object).ofCore }
            do throws(ObjStoreError) { return try graph.link(to: object) } catch { throw error.ofCore }
        }
        var id = binding._withUnsafeGuaranteedRef { $0.id(object._key) }
        if linkedStores != nil {
            linkedStores?.insert(id.storeTag)
            id.storeTag = 0
        }
        return .link(id)
    }
}

extension ObjectGraph {
    /// Adds the unmanaged objects in a value, with all that they lead to, then calls `body`, which links to them: all,
    /// or nothing.
    static func adding<T>(
        _ value: AnyValue, _ space: ObjectSpace, _ view: View,
        _ body: (_ links: [ObjectIdentifier: CoreValue]) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let objects = value.unmanagedObjects
        if let embedded = objects.first(where: { $0 is EmbeddedObject }) { throw AnyValue.embedded(embedded) }
        return try adding(objects, space, view, body)
    }
}

extension ClassBinding {
    /// Calls `body` with a value for a mixed property, as the core takes it; its unmanaged objects are added.
    func withMixed<T>(
        _ value: AnyValue, _ property: ClassInfo.Property, _ view: View,
        _ body: (UnsafeBufferPointer<UInt32>, UnsafePointer<Value>) throws(StoreError) -> T
    ) throws(ObjStoreError) -> T {
        let propertyID = properties[Int(property.index)], value = value.detached()
        return try core { () throws(StoreError) in
            try ObjectGraph.adding(value, space, view) { (links) throws(StoreError) in
                try value.withValue(links) { (value) throws(StoreError) in
                    var result: Result<T, StoreError>?
                    withUnsafePointer(to: value) { value in
                        withUnsafePointer(to: propertyID) { propertyID in
                            result = Result { () throws(StoreError) in
                                try body(UnsafeBufferPointer(start: propertyID, count: 1), value)
                            }
                        }
                    }
                    return try result.unsafelyUnwrapped.get()
                }
            }
        }
    }
}

extension AnyValue: _SingleElement {
    public static var _elementType: _PropertyType { _type }
    public static var _emptyElement: AnyValue { AnyValue.none }
    /// Lists and dictionaries show what is at their place.
    public static func _element(_ value: _StoredValue) -> AnyValue? {
        guard let place = value.place else { return nil }
        switch value.value.kind {
        case .document: return place.nested(value.value)
        case .link: return try? AnyValue(link: value.value, place.space)
        default: return AnyValue(scalar: value.value)
        }
    }
    public static func _convertElement(_ value: Any?) -> AnyValue? { _convert(value) }
    public static func _encodeElement(_ value: AnyValue, _ encoder: _RowEncoder) { _encode(value, encoder) }
    public static func _linked(_ value: AnyValue) -> Object? { value.object }
    public static func _objects(_ value: AnyValue) -> [Object] { value.objects }
    public static func _mapped(_ value: AnyValue, _ other: (Object) -> Object?) -> AnyValue? { value.mapObjects(other) }
    public static var _isMixed: Bool { true }
}
