internal import ObjStoreCore

/// What happened to a list, set or map of a ``DynamicObject`` between two versions: as ``CollectionChange``, of
/// elements whose types the program need not know. It keeps both versions: let go of it. Any thread.
public struct DynamicCollectionChange: Sendable {
    private let changes: ObjStoreCore.ChangeSet
    private let sides: ChangeSides
    private let owner: ObjectID
    private let name: String

    init(_ changes: ObjStoreCore.ChangeSet, _ owner: ObjectID, _ name: String, _ live: ObjectSpace) {
        self.changes = changes
        self.owner = owner
        self.name = name
        sides = ChangeSides(changes, live)
    }

    /// The collection as it is after the change, frozen; that of an invalid object where the owner was deleted.
    public var collection: DynamicCollection { shown(before: false) }
    /// As it was.
    public var collectionBefore: DynamicCollection { shown(before: true) }

    private func shown(before: Bool) -> DynamicCollection {
        DynamicCollection(DynamicObject(owner, space(before: before)), name)
    }

    private func space(before: Bool) -> ObjectSpace {
        do throws(ObjStoreError) { return try sides.space(before: before) } catch {
            sides.live.handle.reports.report(error)
            return sides.live
        }
    }

    /// The first one of an observer: nothing has changed yet.
    public var isInitial: Bool { changes.isInitial }
    /// It came too late to say what changed (`Store.Configuration.observerLag`): look at everything anew.
    public var isLost: Bool { changes.isLost }
    /// Another process committed some of it.
    public var isFromOtherProcess: Bool { changes.isFromOtherProcess }
    /// See ``CollectionChange/isCompared``.
    public var isCompared: Bool { changes.isCompared }
    /// The owner was deleted, or the property dropped, and nothing more comes.
    public var isOwnerDeleted: Bool { changes.isOwnerDeleted }
    /// It had elements, and has none now.
    public var isCleared: Bool { changes.isCleared }
    public var fromVersion: UInt64 { changes.fromVersion }
    public var toVersion: UInt64 { changes.toVersion }

    /// Positions, ascending; see ``CollectionChange``.
    public var deletions: [Int] { changes.merged(\.deleted, \.movedBefore) }
    public var insertions: [Int] { changes.merged(\.inserted, \.movedAfter) }
    public var modifications: [Int] { changes.positions(\.modifiedAfter) }
    public var modificationsBefore: [Int] { changes.positions(\.modifiedBefore) }
    public var moves: [PositionMove] { changes.moves }

    /// Keys of a map that went, came, or have another value, ascending; of lists and sets none.
    public var deletedKeys: [AnyValue] { keys(\.deleted) }
    public var insertedKeys: [AnyValue] { keys(\.inserted) }
    public var modifiedKeys: [AnyValue] { keys(\.modified) }

    private func keys(_ list: KeyPath<ChangedKeys, [CoreValue]>) -> [AnyValue] {
        let space = space(before: false)
        var keys: [AnyValue] = []
        for key in changes.keys?[keyPath: list] ?? [] {
            do throws(StoreError) { keys.append(try AnyValue(copying: key, space)) } catch {
                space.handle.reports.report(ObjStoreError(error))
            }
        }
        return keys
    }

    /// Of a list or set of objects: those that went, as they were before; others have none.
    public var deleted: [DynamicObject] { objects(changes.deleted, before: true) }
    public var inserted: [DynamicObject] { objects(changes.inserted) }
    public var modified: [DynamicObject] { objects(changes.modified) }
    /// The objects of `modified` as they were.
    public var modifiedBefore: [DynamicObject] { objects(changes.modified, before: true) }
    /// Those of `moves`, which are in none of the others.
    public var moved: [DynamicObject] { objects(changes.moved) }

    private func objects(_ keys: [Int64], before: Bool = false) -> [DynamicObject] {
        guard changes.elements == .objects, !keys.isEmpty else { return [] }
        let space = space(before: before), tag = owner.storeTag
        return keys.map { DynamicObject(changes.object($0, tag: tag), space) }
    }
}

extension DynamicCollection: ObservableCollection {
    /// Calls `handler` with what changes in the collection: as of ``List/observe(keyPaths:_:)``, also by the keys of a
    /// map.
    ///
    /// Errors: as there; `.noSuchProperty`; `.wrongView` of an object of a ``Migration``, too.
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (DynamicCollectionChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try _observe(keyPaths, nil, handler) }

    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (DynamicCollectionChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let live = object.space, owner = object.id, name = name
        guard object.fixedView == nil, !live.isFrozen else {
            throw ObjStoreError(
                .wrongView, "\(object.className).\(name) of a frozen object never changes", class: object.className,
                property: name)
        }
        let id = try core { () throws(StoreError) in try self.place() }
        return try HandlerPlace.token(place, live.handle) { (hub) throws(ObjStoreError) in
            try core { () throws(StoreError) in
                let isPaused = HandlerPlace.beginsPaused(place)
                let options = ObserverOptions(initial: true, keyPaths: keyPaths, paused: isPaused)
                return try live.handle.store.observe(id, options, on: hub) { changes in
                    live.telling(place) { try handler(DynamicCollectionChange(changes, owner, name, live)) }
                }
            }
        }
    }
}
