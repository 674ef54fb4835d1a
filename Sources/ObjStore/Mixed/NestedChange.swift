internal import ObjStoreCore

/// What happened to a list or dictionary inside of a mixed value between two versions, in this or another process:
/// which elements came, went, moved and were replaced, by positions, and of a dictionary by keys.
///
/// It is a place that is observed: what is there after another value was put there is told by what leads to it. It
/// keeps both versions: let go of it. Any thread.
public struct NestedChange: Sendable {
    private let changes: ObjStoreCore.ChangeSet
    private let sides: ChangeSides
    private let place: ObservedNestedPlace

    fileprivate init(_ changes: ObjStoreCore.ChangeSet, _ place: ObservedNestedPlace) {
        (self.changes, self.place) = (changes, place)
        sides = ChangeSides(changes, place.live)
    }

    /// What is at the place after the change, frozen; nil: nothing, or the object is gone.
    public var value: AnyValue? { shown(before: false) }
    /// What was there.
    public var valueBefore: AnyValue? { shown(before: true) }

    private func shown(before: Bool) -> AnyValue? {
        do throws(ObjStoreError) { return place.value(in: try sides.space(before: before)) } catch {
            sides.live.handle.reports.report(error)
            return nil
        }
    }

    /// The first one of an observer: nothing has changed yet.
    public var isInitial: Bool { changes.isInitial }
    /// It came too late to say what changed (`Store.Configuration.observerLag`): look at everything anew.
    public var isLost: Bool { changes.isLost }
    /// Another process committed some of it.
    public var isFromOtherProcess: Bool { changes.isFromOtherProcess }
    /// The two versions were compared, as they are wherever something is at the place; see
    /// ``CollectionChange/isCompared``.
    public var isCompared: Bool { changes.isCompared }
    /// The owner was deleted, or the property dropped, and nothing more comes.
    public var isOwnerDeleted: Bool { changes.isOwnerDeleted }
    /// There were elements, and there are none.
    public var isCleared: Bool { changes.isCleared }
    public var fromVersion: UInt64 { changes.fromVersion }
    public var toVersion: UInt64 { changes.toVersion }

    // MARK: Positions, ascending: as of `CollectionChange`

    /// Before: of what went, and of what moved.
    public var deletions: [Int] { changes.merged(\.deleted, \.movedBefore) }
    /// After: of what came, and of what moved.
    public var insertions: [Int] { changes.merged(\.inserted, \.movedAfter) }
    /// After: another value is in the place of one, or behind its key, or something in it was changed.
    public var modifications: [Int] { changes.positions(\.modifiedAfter) }
    /// The same elements before.
    public var modificationsBefore: [Int] { changes.positions(\.modifiedBefore) }
    /// Elements of a list that stand elsewhere among the others.
    public var moves: [PositionMove] { changes.moves }

    // MARK: Keys of a dictionary, ascending; none of a list

    public var deletedKeys: [String] { keys(\.deleted) }
    public var insertedKeys: [String] { keys(\.inserted) }
    public var modifiedKeys: [String] { keys(\.modified) }

    private func keys(_ list: KeyPath<ChangedKeys, [CoreValue]>) -> [String] {
        (changes.keys?[keyPath: list] ?? []).map { _StoredValue(value: $0).text }
    }

    /// The store as it was. Errors: `.closedHandle`, `.tooManyReaders`.
    public func before() throws(ObjStoreError) -> Snapshot { Snapshot(try sides.space(before: true)) }
    /// The store as it is after the change. Errors: as of ``before()``.
    public func after() throws(ObjStoreError) -> Snapshot { Snapshot(try sides.space(before: false)) }
}

/// Which place inside of a mixed value is observed, in each version.
private struct ObservedNestedPlace: Sendable {
    let live: ObjectSpace
    private let id: CollectionID
    private let path: [AnyStep]
    private let type: Object.Type
    private let binding: Int
    private let index: UInt32

    /// Errors: `.wrongView`: it is in no store, or frozen.
    init(_ place: AnyPlace?) throws(ObjStoreError) {
        guard let place else {
            throw ObjStoreError(.wrongView, "a list or dictionary that is in no store cannot be observed")
        }
        let binding = place.place.binding
        guard !binding.space.isFrozen else {
            throw ObjStoreError(
                .wrongView, "\(binding.path(place.place.index)) of a frozen object never changes",
                class: binding.info.name)
        }
        (live, id, path) = (binding.space, place.place.id, place.path)
        type = Swift.type(of: place.place.object)
        (self.binding, index) = (binding.position, place.place.index)
    }

    /// Nil: there is nothing.
    func value(in space: ObjectSpace) -> AnyValue? {
        let object = space.materialise(type, space.bindings[binding], id.owner.key)
        let place = AnyPlace(CollectionPlace(object: object, index: index), path)
        return ErrorCollector.unlessGone(space.handle.reports) { place.value() } ?? nil
    }

    /// - Parameter hub: delivers; nil: the store's.
    func observer(
        on hub: ObserverHub?, paused: Bool = false, _ handler: @escaping @Sendable (NestedChange) -> StoreError?
    ) throws(ObjStoreError) -> Observer {
        let options = ObserverOptions(initial: true, paused: paused)
        return try core { () throws(StoreError) in
            try AnyStep.withPath(path) { (path) throws(StoreError) in
                try live.handle.store.observe(mixed: id.owner, id.propertyID, path, options, on: hub) { changes in
                    handler(NestedChange(changes, self))
                }
            }
        }
    }

    /// - Parameter keyPaths: there are none; the elements are no objects of one class.
    func observe(
        _ keyPaths: [String]?, _ handlerPlace: HandlerPlace?,
        _ handler: @escaping @Sendable (NestedChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        guard keyPaths == nil else {
            throw ObjStoreError(.invalidArgument, "what is in a mixed value has no key paths: it is of any kind")
        }
        let live = live
        return try HandlerPlace.token(handlerPlace, live.handle) { (hub) throws(ObjStoreError) in
            try observer(on: hub, paused: HandlerPlace.beginsPaused(handlerPlace)) { change in
                live.telling(handlerPlace) { try handler(change) }
            }
        }
    }
}

extension AnyList: ObservableCollection {
    /// Calls `handler` with what changes in the list, or is put in its place, in this or another process: first an
    /// initial change, then one for all that was committed since the last. As with results, `deliver()`, `wait()` or
    /// the worker call it.
    ///
    /// Errors: `.wrongView` (it is unmanaged or frozen), `.noSuchObject` (its object was deleted, or is not committed
    /// yet), `.notFound`, `.wrongType` (at its place is nothing, or something else), `.readOnly`, `.closedHandle`.
    public func observe(
        _ handler: @escaping @Sendable (NestedChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try _observe(nil, nil, handler) }

    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?, _ handler: @escaping @Sendable (NestedChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try ObservedNestedPlace(self.place).observe(keyPaths, place, handler)
    }
    public var _home: _ObservedHome { _ObservedHome(space: place?.space) }
}

extension AnyMap: ObservableCollection {
    /// Calls `handler` with what changes in the dictionary, also by keys: as of ``AnyList/observe(_:)``.
    public func observe(
        _ handler: @escaping @Sendable (NestedChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try _observe(nil, nil, handler) }

    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?, _ handler: @escaping @Sendable (NestedChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try ObservedNestedPlace(self.place).observe(keyPaths, place, handler)
    }
    public var _home: _ObservedHome { _ObservedHome(space: place?.space) }
}
