internal import ObjStoreCore

/// What happened to a list, set or map between two versions, in this or another process: which elements came, went,
/// moved and were replaced.
///
/// ```swift
/// let token = try person.tags.observe { change in
///     switch change.kind {
///     case .initial(let tags): show(tags)
///     case .update(let tags, let deletions, let insertions, let modifications): …
///     }
/// }
/// ```
/// It keeps both versions: let go of it. Any thread.
public struct CollectionChange<Observed: _CollectionProperty>: Sendable {
    let changes: ObjStoreCore.ChangeSet
    let sides: ChangeSides
    private let place: ObservedPlace

    init(_ changes: ObjStoreCore.ChangeSet, _ place: ObservedPlace) {
        self.changes = changes
        self.place = place
        sides = ChangeSides(changes, place.live)
    }

    /// As a Realm Swift program reads it.
    public enum Kind {
        /// The first one of an observer: from here on it reports changes.
        case initial(Observed)
        /// Positions of deletions are those before the change, the others those in the collection given here. An
        /// element that moved is a deletion and an insertion.
        case update(Observed, deletions: [Int], insertions: [Int], modifications: [Int])
    }

    public var kind: Kind {
        isInitial
            ? .initial(collection)
            : .update(collection, deletions: deletions, insertions: insertions, modifications: modifications)
    }

    /// The collection as it is after the change, frozen; that of an invalid object where the owner was deleted.
    public var collection: Observed { shown(before: false) }
    /// As it was.
    public var collectionBefore: Observed { shown(before: true) }

    private func shown(before: Bool) -> Observed {
        do throws(ObjStoreError) { return place.collection(in: try sides.space(before: before)) } catch {
            sides.live.handle.reports.report(error)
            return place.collection(in: sides.live)
        }
    }

    /// The first one of an observer: nothing has changed yet.
    public var isInitial: Bool { changes.isInitial }
    /// It came too late to say what changed (`Store.Configuration.observerLag`): look at everything anew.
    public var isLost: Bool { changes.isLost }
    /// Another process committed some of it.
    public var isFromOtherProcess: Bool { changes.isFromOtherProcess }
    /// The log did not say it, so the two versions were compared: an element in whose place an equal one was put is
    /// not seen as modified.
    public var isCompared: Bool { changes.isCompared }
    /// The owner was deleted, or the property dropped, and nothing more comes.
    public var isOwnerDeleted: Bool { changes.isOwnerDeleted }
    /// It had elements, and has none now.
    public var isCleared: Bool { changes.isCleared }
    public var fromVersion: UInt64 { changes.fromVersion }
    public var toVersion: UInt64 { changes.toVersion }

    // MARK: Positions, ascending
    //
    // A list follows: take out `deletions` from the last to the first, put in `insertions` from the first to the last,
    // and read `modifications` anew. What moved is among both of the first, and `moves` says which belong together.

    /// In the collection before: of what went, and of what moved.
    public var deletions: [Int] { changes.merged(\.deleted, \.movedBefore) }
    /// In the collection after: of what came, and of what moved.
    public var insertions: [Int] { changes.merged(\.inserted, \.movedAfter) }
    /// In the collection after: another value was put in the place of one, or behind its key, or an equal one; where
    /// elements are objects, something was written in one of them.
    public var modifications: [Int] { changes.positions(\.modifiedAfter) }
    /// The same elements in the collection before.
    public var modificationsBefore: [Int] { changes.positions(\.modifiedBefore) }

    public typealias Move = PositionMove
    /// Elements of a list that stand elsewhere among the others: positions before and after, ascending by the first.
    public var moves: [Move] { changes.moves }
}

/// Where an element or object was, and where it is.
public struct PositionMove: Sendable, Hashable {
    public let from: Int
    public let to: Int

    public init(from: Int, to: Int) { (self.from, self.to) = (from, to) }
}

extension CollectionChange where Observed: _KeyedCollection {
    /// Keys of the map that went, ascending, as all of these.
    public var deletedKeys: [Observed.Key] { changes.mapKeys(\.deleted) }
    public var insertedKeys: [Observed.Key] { changes.mapKeys(\.inserted) }
    /// Their values were set, also to what they were; or something was written in the object that one leads to.
    public var modifiedKeys: [Observed.Key] { changes.mapKeys(\.modified) }
}

/// Of a list or set of objects.
extension CollectionChange: _ObjectChanges where Observed: _ListedObjects {
    public typealias ChangedObject = Observed.QueriedObject
    public var _changed: _ChangedLists { _ChangedLists(changes: changes, sides: sides) }
}

/// A map, whose entries have keys.
public protocol _KeyedCollection: _CollectionProperty {
    associatedtype Key: CollectionElement
}
extension Map: _KeyedCollection {}

/// A list or set of objects.
public protocol _ListedObjects: _CollectionProperty, ObjectCollection {}
extension List: _ListedObjects where Element: Object {}
extension MutableSet: _ListedObjects where Element: Object {}

extension ObjStoreCore.ChangeSet {
    func merged(_ list: KeyPath<Indices, [UInt64]>, _ moved: KeyPath<Indices, [UInt64]>) -> [Int] {
        self.moved.isEmpty ? positions(list) : (positions(list) + positions(moved)).sorted()
    }

    func positions(_ list: KeyPath<Indices, [UInt64]>) -> [Int] {
        indices.map { $0[keyPath: list].map { Int($0) } } ?? []
    }

    /// Where it is told what was written in a modification; the moves follow. `.outOfRange`.
    func row(ofModification index: Int) throws(StoreError) -> UInt64 {
        try Self.row(index, of: modified.count, "modification")
    }
    func row(ofMove index: Int) throws(StoreError) -> UInt64 {
        try UInt64(modified.count) + Self.row(index, of: moved.count, "move")
    }
    private static func row(_ index: Int, of count: Int, _ what: String) throws(StoreError) -> UInt64 {
        guard index < count else { throw StoreError(.outOfRange, "index \(index) of \(count.counted(what))") }
        return try UInt64(index: index, of: count, what)
    }

    func mapKeys<Key: CollectionElement>(_ list: KeyPath<ChangedKeys, [CoreValue]>) -> [Key] {
        (keys?[keyPath: list] ?? []).map { Key._element(_StoredValue(value: $0)) ?? Key._emptyElement }
    }

    var moves: [PositionMove] {
        zip(positions(\.movedBefore), positions(\.movedAfter)).map { PositionMove(from: $0, to: $1) }
    }
}

/// Where an observed collection is, in each version.
struct ObservedPlace: Sendable {
    let live: ObjectSpace
    let id: CollectionID
    private let type: Object.Type
    private let binding: Int
    private let index: UInt32

    /// Errors: `.wrongView`: it is unmanaged, or frozen.
    init(_ place: CollectionPlace?) throws(ObjStoreError) {
        let place = try CollectionPlace.of(place, to: "observed"), binding = place.binding
        guard !binding.space.isFrozen else {
            throw ObjStoreError(
                .wrongView, "\(binding.path(place.index)) of a frozen object never changes", class: binding.info.name)
        }
        live = binding.space
        id = place.id
        type = Swift.type(of: place.object)
        self.binding = binding.position
        index = place.index
    }

    func place(in space: ObjectSpace) -> CollectionPlace {
        CollectionPlace(object: space.materialise(type, space.bindings[binding], id.owner.key), index: index)
    }

    func collection<Observed: _CollectionProperty>(in space: ObjectSpace) -> Observed {
        Observed._managed(space.materialise(type, space.bindings[binding], id.owner.key), index)
    }

    /// - Parameter hub: delivers; nil: the store's.
    func observer<Observed: _CollectionProperty>(
        _ keyPaths: [String]? = nil, on hub: ObserverHub? = nil, paused: Bool = false,
        _ handler: @escaping @Sendable (CollectionChange<Observed>) -> StoreError?
    ) throws(ObjStoreError) -> Observer {
        try core { () throws(StoreError) in
            try live.handle.store.observe(
                id, ObserverOptions(initial: true, keyPaths: keyPaths, paused: paused), on: hub
            ) {
                handler(CollectionChange($0, self))
            }
        }
    }

    func observe<Observed: _CollectionProperty>(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (CollectionChange<Observed>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let live = live
        return try HandlerPlace.token(place, live.handle) { (hub) throws(ObjStoreError) in
            try observer(keyPaths, on: hub, paused: HandlerPlace.beginsPaused(place)) { change in
                live.telling(place) { try handler(change) }
            }
        }
    }
}

extension List {
    /// Calls `handler` with what changes in the list, in this or another process: first an initial change, of what is
    /// there at its delivery, then one for all that was committed since the last. As with results, `deliver()`,
    /// `wait()` or the worker call it.
    ///
    /// - Parameter keyPaths: of objects: which modifications are reported, as with results.
    /// Errors: `.wrongView` (the list is unmanaged or frozen), `.invalidArgument` (key paths of what are no objects),
    /// `.noSuchProperty`, `.noSuchObject` (its object was deleted, or is not
    /// committed yet), `.readOnly`, `.closedHandle`.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (CollectionChange<List>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observing(keyPaths, handler) }

    // For other modules of the package.
    package func observing(
        _ keyPaths: [String]?, _ handler: @escaping @Sendable (CollectionChange<List>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try _observe(keyPaths, nil, handler) }
}

extension MutableSet {
    /// Calls `handler` with what changes in the set: as of ``List/observe(keyPaths:_:)``.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (CollectionChange<MutableSet>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observing(keyPaths, handler) }

    package func observing(
        _ keyPaths: [String]?, _ handler: @escaping @Sendable (CollectionChange<MutableSet>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try _observe(keyPaths, nil, handler) }
}

extension Map {
    /// Calls `handler` with what changes in the map, also by keys: as of ``List/observe(keyPaths:_:)``.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (CollectionChange<Map>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observing(keyPaths, handler) }

    package func observing(
        _ keyPaths: [String]?, _ handler: @escaping @Sendable (CollectionChange<Map>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try _observe(keyPaths, nil, handler) }
}
