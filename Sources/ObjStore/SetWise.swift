internal import ObjStoreCore

// Changes of many objects in one step, inside a write: those of results, or those that a list, set or map has links to.
// All of them change, or none; none is made an object in memory. What changes meanwhile does not matter: each is
// visited once, also where the condition of the results is about the property that changes.

/// Numbers that can be added to in the store: their sums fit where they are kept.
public protocol Incrementable: Summable {}
extension Int: Incrementable {}
extension Int64: Incrementable {}
extension Float: Incrementable {}
extension Double: Incrementable {}

extension Results {
    /// Sets a property of all objects by name: `dogs.setValue("Toronto", forKey: "currentCity")`. Returns how many
    /// there are.
    ///
    /// A link may be an object or nil; a collection of each gets the elements of an array, a list or, of links, other
    /// results. Links and embedded objects may be described by dictionaries and arrays, as for `create`: each object
    /// gets its own. Errors: `.notInWrite`, `.noSuchProperty`, `.wrongType`, `.notNullable`, `.keyImmutable`,
    /// `.duplicateKey` (also where two would have one unique value), `.wrongView` (frozen, or an unmanaged object to
    /// link to).
    @discardableResult
    @_disfavoredOverload
    public func setValue(_ value: Any?, forKey name: String) throws(ObjStoreError) -> Int {
        try setValue(value, named: name)
    }

    package func setValue(_ value: Any?, named name: String) throws(ObjStoreError) -> Int {
        let (view, list, binding) = try changing("setValue")
        return try binding.setAll(
            value, try binding.info.property(named: name), view,
            { (ids, values) throws(StoreError) in try view.set(list, ids, values) }
        ) {
            list.keys
        }
    }

    /// The same by key path: `dogs.set(\.currentCity, to: "Toronto")`.
    @discardableResult
    public func set<Value: Persistable>(
        _ keyPath: KeyPath<Element, Value>, to value: Value
    ) throws(ObjStoreError) -> Int {
        try setValue(value, named: try KeyPaths.property(keyPath).name)
    }

    /// Adds to a number of all objects; nil stays nil. Returns how many were not nil.
    ///
    /// Errors: `.notInWrite`, `.outOfRange` (a sum of more than 64 bits), `.keyImmutable`, `.duplicateKey`.
    @discardableResult
    public func increment<Value: Incrementable>(
        _ keyPath: KeyPath<Element, Value>, by delta: Value
    ) throws(ObjStoreError) -> Int {
        try increment(try KeyPaths.property(keyPath), delta)
    }

    @discardableResult
    public func increment<Value: Incrementable>(
        _ keyPath: KeyPath<Element, Value?>, by delta: Value
    ) throws(ObjStoreError) -> Int {
        try increment(try KeyPaths.property(keyPath), delta)
    }

    private func increment(_ property: ClassInfo.Property, _ delta: some Incrementable) throws(ObjStoreError) -> Int {
        let (view, list, binding) = try changing("increment")
        return try binding.withValue(delta, property) { (ids, values) throws(StoreError) in
            try view.increment(list, ids[0], values[0])
        }
    }

    /// The transaction, and the list as it shows it now.
    fileprivate func changing(_ operation: String) throws(ObjStoreError) -> (View, ObjStoreCore.Results, ClassBinding) {
        guard !space.isFrozen else {
            throw ObjStoreError(
                .wrongView, "\(operation): the results are frozen", class: ClassInfo.name(of: Element.self))
        }
        let view = try space.handle.writing(operation)
        let (list, binding) = try list()
        return (view, list, binding)
    }
}

extension LinkingObjects {
    /// Sets a property of all objects that link here; see ``Results/setValue(_:forKey:)``.
    @discardableResult
    @_disfavoredOverload
    public func setValue(_ value: Any?, forKey name: String) throws(ObjStoreError) -> Int {
        try results().setValue(value, named: name)
    }
}

/// A list, set or map of links: what concerns the objects that they lead to.
public protocol LinkCollection: _CollectionProperty {
    /// Nil: of an unmanaged object.
    var _place: _CollectionPlace? { get }
}

extension List: LinkCollection where Element: Object {
    public var _place: _CollectionPlace? { place.map { _CollectionPlace($0) } }
}
extension MutableSet: LinkCollection where Element: Object {
    public var _place: _CollectionPlace? { place.map { _CollectionPlace($0) } }
}
extension Map: LinkCollection where Value: _LinkElement {
    public var _place: _CollectionPlace? { place.map { _CollectionPlace($0) } }
}

/// What the values of a map of links are: an optional of a model class.
public protocol _LinkElement: CollectionElement { associatedtype _Linked: Object }
extension Optional: _LinkElement where Wrapped: Object { public typealias _Linked = Wrapped }

/// Where the elements of a collection are.
public struct _CollectionPlace {
    let place: CollectionPlace
    init(_ place: CollectionPlace) { self.place = place }
}

extension LinkCollection {
    /// Sets a property of every object among the elements by name, of each once. Returns how many there are. Of an
    /// unmanaged collection it sets that of each object. See ``Results/setValue(_:forKey:)``.
    @discardableResult
    @_disfavoredOverload
    public func setValue(_ value: Any?, forKey name: String) throws -> Int { try setValue(value, named: name) }

    package func setValue(_ value: Any?, named name: String) throws -> Int {
        guard let place = _place?.place else {
            let objects = _links
            for object in objects { try object.setValue(value, named: name) }
            return objects.count
        }
        let (view, id) = try place.writing("setValue"), target = place.target
        return try target.setAll(
            value, try target.info.property(named: name), view,
            { (ids, values) throws(StoreError) in try view.setObjects(of: id, ids, values) }
        ) { Set(_links.map(\._key)).sorted() }
    }
}

extension StoreWriting {
    /// Deletes all objects of results, as they are when it begins: all, or none. Returns how many there were.
    ///
    /// Errors: `.wrongView` (frozen), `.wrongStore`.
    @discardableResult
    public func delete<T: Object>(_ objects: Results<T>) throws(ObjStoreError) -> Int {
        let (_, view) = try writing("delete")
        let (_, list, _) = try objects.changing("delete")
        return try core { () throws(StoreError) in try view.delete(list) }
    }

    /// The same with the objects that link to one.
    @discardableResult
    public func delete<T: Object>(_ objects: LinkingObjects<T>) throws(ObjStoreError) -> Int {
        try delete(try objects.results())
    }

    /// Deletes every object among the elements of a list, each once: all, or none. The list is empty then. Returns how
    /// many there were.
    ///
    /// Errors: `.wrongView` (of an unmanaged or frozen object), `.wrongStore`, `.noSuchObject` (the owner was deleted).
    @discardableResult
    public func delete<T: Object>(_ objects: List<T>) throws(ObjStoreError) -> Int { try delete(at: objects.place) }

    /// The same with those of a set.
    @discardableResult
    public func delete<T: Object>(_ objects: MutableSet<T>) throws(ObjStoreError) -> Int {
        try delete(at: objects.place)
    }

    /// The same with the values of a map, whose keys stay, with nil.
    @discardableResult
    public func delete<Key, T: Object>(_ objects: Map<Key, T?>) throws(ObjStoreError) -> Int {
        try delete(at: objects.place)
    }

    private func delete(at place: CollectionPlace?) throws(ObjStoreError) -> Int {
        let (_, view) = try writing("delete")
        guard let place else {
            throw ObjStoreError(.wrongView, "the objects of an unmanaged collection: it is in no store")
        }
        let (_, id) = try place.writing("delete")
        return try core { () throws(StoreError) in try view.deleteObjects(of: id) }
    }
}

extension CollectionPlace {
    /// The transaction, and which collection it is there.
    fileprivate func writing(_ operation: String) throws(ObjStoreError) -> (View, CollectionID) {
        guard !binding.space.isFrozen else {
            throw ObjStoreError(.wrongView, "\(operation): the object is frozen", class: binding.info.name)
        }
        if binding.space.isInvalidated { throw ObjStoreError(binding.space.invalidatedError) }
        return (try binding.space.handle.writing(operation), id)
    }

    /// The class that its links lead to.
    fileprivate var target: ClassBinding { binding.target(index) }
}

/// Results of any class, as the value of a collection of links.
protocol AnyResults {
    func found() throws(ObjStoreError) -> ObjStoreCore.Results
    var objects: [Object] { get }
}

extension Results: AnyResults {
    func found() throws(ObjStoreError) -> ObjStoreCore.Results { try list().0 }
    var objects: [Object] { map { $0 } }
}

extension Object {
    /// Gives a list or set of links the objects of results, in one step; false: it is none, or the object is unmanaged.
    final func replace(_ property: ClassInfo.Property, with value: Any?) throws(ObjStoreError) -> Bool {
        guard let results = value as? any AnyResults, _binding != nil, property.type.isCollection,
            property.type.hasLinks, property.type.valueKind != .map
        else { return false }
        let (view, id) = try CollectionPlace(object: self, index: property.index).writing("setValue")
        let list = try results.found()
        try core { () throws(StoreError) in try view.assign(id, list) }
        return true
    }
}

extension ClassBinding {
    /// Calls `body` with a value for a property, as the core takes it.
    fileprivate func withValue<T>(
        _ value: Any?, _ property: ClassInfo.Property,
        _ body: (UnsafeBufferPointer<UInt32>, UnsafePointer<Value>) throws(StoreError) -> T
    ) throws(ObjStoreError) -> T {
        let encoder = _RowEncoder()
        encoder.begin(properties[Int(property.index)])
        guard property.accessor._encodeAny(value.flatMap { ClassInfo.unwrap($0) }, encoder) else {
            throw info.wrongType(property, value)
        }
        return try encoder.withRow(body)
    }

    /// Gives many objects a value: by `set` in one step, or, where it is a collection, those with `keys` one after the
    /// other.
    fileprivate func setAll(
        _ value: Any?, _ property: ClassInfo.Property, _ view: View,
        _ set: (UnsafeBufferPointer<UInt32>, UnsafePointer<Value>) throws(StoreError) -> Int, keys: () -> [Int64]
    ) throws(ObjStoreError) -> Int {
        if property.isDescribed(by: value) {
            return try core { () throws(StoreError) in
                try setEach(keys(), view) { (key) throws(StoreError) in
                    do throws(ObjStoreError) { try self.set(id(key), property, described: value, view) } catch {
                        throw error.ofCore
                    }
                }
            }
        }
        if property.type.valueKind == .mixed {
            guard let value = AnyValue._convert(value) else { throw info.wrongType(property, value) }
            return try withMixed(value, property, view, set)
        }
        guard property.type.isCollection else { return try withValue(value, property, set) }
        guard let type = property.accessor as? any _CollectionProperty.Type, let elements = type._convert(value) else {
            throw info.wrongType(property, value)
        }
        let encoder = _RowEncoder(), propertyID = properties[Int(property.index)]
        elements._encode(to: encoder)
        return try encoder.withValues { (values) throws(StoreError) in
            try setEach(keys(), view) { (key) throws(StoreError) in
                _ = try view.set(id(key), propertyID, from: values, .all)
            }
        }
    }

    /// Changes objects one after the other, all or none; returns how many.
    private func setEach(
        _ keys: [Int64], _ view: View, _ body: (Int64) throws(StoreError) -> Void
    ) throws(StoreError) -> Int {
        try view.atOnce { () throws(StoreError) in for key in keys { try body(key) } }
        return keys.count
    }
}

extension ObjStoreCore.Results {
    /// Each once: a query of a list may find an object several times.
    fileprivate var keys: [Int64] {
        let count = count
        var seen: Set<Int64> = []
        return [ObjectID](unsafeUninitializedCapacity: count) { memory, filled in
            // The list does not change: its end is where it was.
            filled = (try? objects(from: 0, into: memory.baseAddress, capacity: count)) ?? 0
        }.map(\.key).filter { seen.insert($0).inserted }
    }
}
