internal import ObjStoreCore

// What crosses threads and tasks in place of objects and collections, which are not `Sendable`.

/// What can be referred to: an object of a store, or a list, set or map of one.
public protocol Referable: AnyObject {
    /// Where it is; errors: `.wrongView`: it is unmanaged.
    func _referred() throws(ObjStoreError) -> _Referred
    static func _at(_ place: _Place, _ scope: _Scope) throws(ObjStoreError) -> Self?
}

/// Which object, list, set or map, as a plain value that crosses threads and tasks: `Reference(rex)`,
/// `Reference(rex.toys)`. ``StoreReading/resolve(_:)`` finds it as it is there, as often as one likes. It pins nothing;
/// of what is frozen it refers to the live one.
public struct Reference<T: Referable>: Sendable, Hashable {
    let place: _Place

    /// Errors: `.wrongView`: the object is unmanaged.
    public init(_ referred: T) throws(ObjStoreError) { try self.init(referred, try referred._referred().place) }

    fileprivate init(_ referred: T, _ place: _Place) throws(ObjStoreError) {
        self.place = place
        // A subclass would be another class of the store.
        guard type(of: referred) == T.self else {
            let own = ClassInfo.name(of: place.owner)
            throw ObjStoreError(.wrongType, "the object is a \(own), not a \(T.self)", class: own)
        }
    }
}

/// An object, list, set or map that any thread or task reads and writes through: a parameter `@ThreadSafe _ rex: Dog?`,
/// a property of a class. It is looked up wherever it is read, as it is there; nil: it was deleted.
///
/// What fails is reported as for properties (docs/swift.md), and the value is nil: an unmanaged object (`.wrongView`),
/// a closed store.
@propertyWrapper
public final class ThreadSafe<T: Referable>: Sendable {
    private struct Held: Sendable {
        let reference: Reference<T>
        let handle: StoreHandle
    }
    private let held: Guarded<Held?>

    public init(wrappedValue: T?) { held = Guarded(ThreadSafe.hold(wrappedValue)) }

    public var wrappedValue: T? {
        get {
            guard let held = held.withLock({ $0 }) else { return nil }
            do throws(ObjStoreError) {
                return try T._at(held.reference.place, _Scope(space: try held.handle.liveSpace()))
            } catch {
                held.handle.reports.report(error)
                return nil
            }
        }
        set {
            let new = ThreadSafe.hold(newValue)
            held.withLock { $0 = new }
        }
    }

    private static func hold(_ value: T?) -> Held? {
        guard let value else { return nil }
        do throws(ObjStoreError) {
            let referred = try value._referred()
            return Held(reference: try Reference(value, referred.place), handle: referred.scope.space.handle)
        } catch {
            ErrorReports.reportOfNoStore(error)
            return nil
        }
    }
}

// MARK: Places

public struct _Referred {
    let place: _Place
    let scope: _Scope
}

/// An object, or a property of one. Equal: of the same object and property, whatever the application calls its class.
public struct _Place: Sendable, Hashable {
    let owner: Object.Type
    /// Of the collection in its class; nil: the object itself.
    let index: UInt32?
    let id: ObjectID

    public static func == (a: _Place, b: _Place) -> Bool { a.id == b.id && a.index == b.index }
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id.storeTag)
        hasher.combine(id.classID)
        hasher.combine(id.key)
        hasher.combine(index)
    }

    /// The object in another view of its store; nil: it is not there.
    fileprivate func object<T: Object>(_ type: T.Type, _ scope: _Scope) throws(ObjStoreError) -> T? {
        let space = scope.space, binding = try space.binding(type)
        guard try core({ () throws(StoreError) in try space.current.exists(id) }) else { return nil }
        return space.materialise(type, binding, id.key)
    }
    fileprivate func collection(_ scope: _Scope) throws(ObjStoreError) -> CollectionPlace? {
        guard let index, let object = try object(owner, scope) else { return nil }
        return CollectionPlace(object: object, index: index)
    }
}

extension Object: Referable {
    public final func _referred() throws(ObjStoreError) -> _Referred { try referred(property: nil) }

    fileprivate final func referred(property index: UInt32?) throws(ObjStoreError) -> _Referred {
        guard let space = _space, let binding = _binding?.takeUnretainedValue() else {
            throw ObjStoreError(
                .wrongView, "an unmanaged object has no place in a store to refer to",
                class: ClassInfo.name(of: type(of: self)))
        }
        let place = _Place(owner: type(of: self), index: index, id: binding.id(_key))
        return _Referred(place: place, scope: _Scope(space: space))
    }

    public static func _at(_ place: _Place, _ scope: _Scope) throws(ObjStoreError) -> Self? {
        try place.object(self, scope)
    }
}

extension CollectionPlace {
    fileprivate static func referred(_ place: CollectionPlace?) throws(ObjStoreError) -> _Referred {
        let place = try CollectionPlace.of(place, to: "referred to")
        return try place.object.referred(property: place.index)
    }
}

extension List: Referable {
    public func _referred() throws(ObjStoreError) -> _Referred { try CollectionPlace.referred(place) }
    public static func _at(_ place: _Place, _ scope: _Scope) throws(ObjStoreError) -> List? {
        try place.collection(scope).map { List($0) }
    }
}

extension MutableSet: Referable {
    public func _referred() throws(ObjStoreError) -> _Referred { try CollectionPlace.referred(place) }
    public static func _at(_ place: _Place, _ scope: _Scope) throws(ObjStoreError) -> MutableSet? {
        try place.collection(scope).map { MutableSet($0) }
    }
}

extension Map: Referable {
    public func _referred() throws(ObjStoreError) -> _Referred { try CollectionPlace.referred(place) }
    public static func _at(_ place: _Place, _ scope: _Scope) throws(ObjStoreError) -> Map? {
        try place.collection(scope).map { Map($0) }
    }
}
