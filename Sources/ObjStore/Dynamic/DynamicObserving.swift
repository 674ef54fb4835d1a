internal import ObjStoreCore

// Observing without model classes is observing with them, of properties by their names.

extension DynamicResults: ObservableCollection {
    /// Calls `handler` with what changes, in this or another process: first an initial change, then one for all that
    /// was committed since the last; as ``Results/observe(keyPaths:_:)``.
    ///
    /// - Parameter keyPaths: names of properties, also through links (`"owner.city"`); modifications of others are not
    ///   reported, insertions and deletions are. Nil: of all.
    /// Errors: as there; `.noSuchClass`.
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (DynamicResultsChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try _observe(keyPaths, nil, handler) }

    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (DynamicResultsChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let live = space
        return try HandlerPlace.token(place, live.handle) { (hub) throws(ObjStoreError) in
            try observer(keyPaths, on: hub, paused: HandlerPlace.beginsPaused(place)) { change in
                live.telling(place) { try handler(change) }
            }
        }
    }

    public var _home: _ObservedHome { _ObservedHome(space: space) }

    private func observer(
        _ keyPaths: [String]?, on hub: ObserverHub?, paused: Bool = false,
        _ handler: @escaping @Sendable (DynamicResultsChange) -> StoreError?
    ) throws(ObjStoreError) -> Observer {
        guard !space.isFrozen else {
            throw ObjStoreError(.wrongView, "frozen results never change", class: className)
        }
        let live = space, query = try query(live.view)
        return try core { () throws(StoreError) in
            let options = ObserverOptions(initial: true, keyPaths: keyPaths, paused: paused)
            return try live.view.find(query).observeNow(options, on: hub) { changes in
                handler(DynamicChange(changes, live) { inside($0) })
            }
        }
    }
}

extension DynamicObject: _Observed {
    /// Calls `handler` when a property of the object, or of what is embedded in it, was written, or the object deleted;
    /// as the `observe` of an ``Object``. Old and new values are an ``AnyValue``, a ``DynamicObject`` where they are
    /// links or embedded objects, and a ``DynamicCollection`` of lists, sets and maps.
    ///
    /// - Parameter keyPaths: names of properties; others are not reported. Nil: all.
    /// - Parameter initial: with a first call, of the object as it is at its delivery, without properties.
    /// Errors: `.wrongView` (it is frozen, or of a ``Migration``), `.noSuchObject` (it was deleted, or is not committed
    /// yet), `.noSuchProperty`, `.readOnly`, `.closedHandle`.
    public func observe(
        keyPaths: [String]? = nil, initial: Bool = false,
        _ handler: @escaping @Sendable (ObjectChange<DynamicObject>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try _observe(keyPaths, .on(nil, since: nil, initial: initial), handler)
    }

    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (ObjectChange<DynamicObject>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let live = space, id = id
        guard fixedView == nil else {
            throw ObjStoreError(.wrongView, "an object of a migration cannot be observed", class: className)
        }
        return try live.observe(id, keyPaths, place) { changes in
            try handler(try DynamicChange(changes, live) { DynamicObject(id, $0) }.objectChange())
        }
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
        let live = object.space
        return try HandlerPlace.token(place, live.handle) { (hub) throws(ObjStoreError) in
            try observer(keyPaths, on: hub, paused: HandlerPlace.beginsPaused(place)) { change in
                live.telling(place) { try handler(change) }
            }
        }
    }

    public var _home: _ObservedHome { _ObservedHome(space: object.space) }

    private func observer(
        _ keyPaths: [String]?, on hub: ObserverHub?, paused: Bool = false,
        _ handler: @escaping @Sendable (DynamicCollectionChange) -> StoreError?
    ) throws(ObjStoreError) -> Observer {
        let live = object.space, owner = object.id, name = name
        guard object.fixedView == nil, !live.isFrozen else {
            throw ObjStoreError(
                .wrongView, "\(object.className).\(name) of a frozen object never changes", class: object.className,
                property: name)
        }
        return try core { () throws(StoreError) in
            let options = ObserverOptions(initial: true, keyPaths: keyPaths, paused: paused)
            return try live.handle.store.observe(try place(), options, on: hub) { changes in
                handler(DynamicChange(changes, live) { DynamicCollection(DynamicObject(owner, $0), name) })
            }
        }
    }
}
