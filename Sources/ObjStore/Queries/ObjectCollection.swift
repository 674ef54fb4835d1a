internal import ObjStoreCore

/// A list, set or map of links, or an inverse: its objects can be filtered, sorted and cut, like those of a class.
///
/// ```swift
/// for dog in try kennel.dogs.where({ $0.age < 2 }).sorted(by: \.name) { … }
/// ```
/// What comes of it is in the order of the collection until it is sorted, with an object as often as it is there; of a
/// map without the keys whose value is nil. It is live, like all results, and shows the objects that are there then;
/// none, when the owner was deleted.
///
/// Errors of all: `.wrongView`: an unmanaged object's; `.noSuchObject`: the owner was deleted; those of ``Results``.
public protocol ObjectCollection {
    associatedtype QueriedObject: Object
    /// Its objects as results: for what cannot be asked here, such as sums and sections.
    func results() throws(ObjStoreError) -> Results<QueriedObject>
}

extension LinkingObjects: ObjectCollection {}
extension List: ObjectCollection where Element: Object {
    public func results() throws(ObjStoreError) -> Results<Element> { try CollectionPlace.results(place) }
}
extension MutableSet: ObjectCollection where Element: Object {
    public func results() throws(ObjStoreError) -> Results<Element> { try CollectionPlace.results(place) }
}
extension Map: ObjectCollection where Value: _LinkElement {
    public func results() throws(ObjStoreError) -> Results<Value._Linked> { try CollectionPlace.results(place) }
}

extension ObjectCollection {
    /// Those for which a condition is true; see ``Results/where(_:)``.
    public func `where`(
        _ condition: (Query<QueriedObject>) -> Query<Bool>
    ) throws(ObjStoreError) -> Results<QueriedObject> { try results().where(condition) }

    /// The same as text, and steps behind it; see ``Results/filter(_:_:)``.
    @_disfavoredOverload
    public func filter(_ text: String, _ arguments: Any?...) throws(ObjStoreError) -> Results<QueriedObject> {
        try results().filter(text, arguments: arguments)
    }

    /// In the order of a property: `.sorted(by: \.name)`.
    public func sorted<Value: Persistable>(
        by keyPath: KeyPath<QueriedObject, Value>, ascending: Bool = true
    ) throws(ObjStoreError) -> Results<QueriedObject> { try results().sorted(by: keyPath, ascending: ascending) }

    /// In the order of several properties.
    public func sorted(by keys: [SortKey<QueriedObject>]) throws(ObjStoreError) -> Results<QueriedObject> {
        try results().sorted(by: keys)
    }

    /// Of those that have the same value, or the same values, the first one: `.distinct(by: \.name)`.
    public func distinct(
        by keyPaths: PartialKeyPath<QueriedObject>...
    ) throws(ObjStoreError) -> Results<QueriedObject> { try results().distinct(by: keyPaths) }

    /// So many at most.
    public func limit(_ count: Int) throws(ObjStoreError) -> Results<QueriedObject> { try results().limit(count) }

    /// Without the first ones.
    public func offset(_ count: Int) throws(ObjStoreError) -> Results<QueriedObject> { try results().offset(count) }
}

extension CollectionPlace {
    /// - Parameter place: nil: of an unmanaged object.
    static func results<Element: Object>(_ place: CollectionPlace?) throws(ObjStoreError) -> Results<Element> {
        guard let place else {
            throw ObjStoreError(
                .wrongView, "a collection of an unmanaged object is in no store: only what is there can be asked",
                class: ClassInfo.name(of: Element.self))
        }
        let space = place.binding.space
        return Results(space, .query(try core { () throws(StoreError) in try space.current.query(of: place.id) }))
    }
}
