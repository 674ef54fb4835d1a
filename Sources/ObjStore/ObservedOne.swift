public import Dispatch

/// An object or a projection: one thing that is observed, whose handlers get an ``ObjectChange`` of its own type.
///
/// Its requirements do not name that type: classes that have subclasses could not conform then.
public protocol _ObservedOne: AnyObject, SendableMetatype {
    func _observe(
        one keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (ObjectChange<AnyObject>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken
    /// - Parameter keyPaths: of this type.
    static func _names(one keyPaths: [AnyKeyPath]) throws(ObjStoreError) -> [String]
    var _home: _ObservedHome { get }
}

extension _ObservedOne {
    /// Calls `handler` when a property of the object, or of what is embedded in it, was written, or the object deleted:
    /// all at once that was committed since the last call, in this or another process. As with results, `deliver()`,
    /// `wait()` or the worker call it.
    ///
    /// Of a projection: when what is projected was written. The changes have its names, and its values before and
    /// after.
    ///
    /// - Parameter keyPaths: names of properties, of a projection its own; where only others were written nothing is
    ///   reported. Nil: all.
    /// - Parameter initial: with a first call, of the object as it is at its delivery, without properties.
    /// Errors: `.wrongView` (the object is unmanaged or frozen), `.noSuchObject` (it was deleted, or is not committed
    /// yet), `.noSuchProperty`, `.readOnly`, `.closedHandle`; `.invalidQuery`: a property of the projection does not
    /// lead through `@Persisted` properties alone.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, initial: Bool = false,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(keyPaths, .on(nil, since: nil, initial: initial), handler)
    }

    /// The same with key paths: `dog.observe(keyPaths: [\.age]) { change in … }`, of a projection its own.
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<Self>], initial: Bool = false,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(try Self._names(one: keyPaths), .on(nil, since: nil, initial: initial), handler)
    }

    /// The same from a version on that the program has written down: see
    /// ``_Observed/observe(keyPaths:since:_:)``. Where nobody keeps it, the first change has no properties.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, since bookmark: Bookmark,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observe(keyPaths, HandlerPlace(since: bookmark), handler) }
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<Self>], since bookmark: Bookmark,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(try Self._names(one: keyPaths), HandlerPlace(since: bookmark), handler)
    }

    /// The same as `observe(keyPaths:_:)` with a handler that is called on a queue; see
    /// ``_Observed/observe(keyPaths:since:on:_:)-queue``.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, initial: Bool = false, since bookmark: Bookmark? = nil, on queue: DispatchQueue,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(keyPaths, HandlerPlace(queue, since: bookmark, initial: initial), handler)
    }
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<Self>], initial: Bool = false, since bookmark: Bookmark? = nil,
        on queue: DispatchQueue, _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let names = try Self._names(one: keyPaths)
        return try observe(names, HandlerPlace(queue, since: bookmark, initial: initial), handler)
    }

    /// The same on an actor.
    @_disfavoredOverload
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, initial: Bool = false, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let place = HandlerPlace(actor, since: bookmark, initial: initial)
        return try observe(keyPaths, place, HandlerPlace.isolated(actor, handler))
    }
    @_disfavoredOverload
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>], initial: Bool = false, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let names = try Self._names(one: keyPaths), place = HandlerPlace(actor, since: bookmark, initial: initial)
        return try observe(names, place, HandlerPlace.isolated(actor, handler))
    }

    /// What changes, for a task: `for await change in dog.changes() { … }`; see ``ObservableCollection/changes``. There
    /// is no initial one, and it ends when the object is gone.
    public func changes(keyPaths: [String]? = nil, since bookmark: Bookmark? = nil) -> Changes<ObjectChange<Self>> {
        changes(since: bookmark) { () throws(ObjStoreError) in keyPaths }
    }
    public func changes(
        keyPaths: [PartialKeyPath<Self>], since bookmark: Bookmark? = nil
    ) -> Changes<ObjectChange<Self>> {
        changes(since: bookmark) { () throws(ObjStoreError) in try Self._names(one: keyPaths) }
    }

    private func changes(
        since bookmark: Bookmark?, _ names: () throws(ObjStoreError) -> [String]?
    ) -> Changes<ObjectChange<Self>> {
        // Any thread may use what is in a store.
        nonisolated(unsafe) let observed = self
        let names = Result(catching: names)
        return Changes(in: _home.space, since: bookmark) { place, add in
            try observed.observe(try names.get(), place) { change in
                if case .deleted = change { add(change, true) } else { add(change, false) }
            }
        }
    }

    // For other modules of the package.
    package func observing(
        _ names: [String]?, _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observe(names, nil, handler) }
    package func observing(
        _ keyPaths: [PartialKeyPath<Self>], _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observe(try Self._names(one: keyPaths), nil, handler) }
    package func observing(
        _ names: [String]?, since bookmark: Bookmark? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(names, HandlerPlace.on(queue, since: bookmark), handler)
    }
    package func observing<A: Actor>(
        _ names: [String]?, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(names, HandlerPlace(actor, since: bookmark), HandlerPlace.isolated(actor, handler))
    }

    private func observe(
        _ names: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try _observe(one: names, place) { change in
            switch change {
            case .change(let one, let written): try handler(.change(one as! Self, written))
            case .deleted: try handler(.deleted)
            }
        }
    }
}
