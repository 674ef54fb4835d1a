public import Dispatch
internal import ObjStoreCore

/// Where the handler of one observer is called, if not where the program delivers: on a queue, or an actor; and from
/// which version on it is told, if not from the newest.
public final class HandlerPlace: Sendable {
    private struct State: Sendable {
        /// Kept until it ends: who delivers has a reference that is not the handler's, so that the store never goes
        /// inside of a handler.
        var handle: StoreHandle?
        var hub: ObserverHub?
    }
    private let state = Guarded(State())
    /// Has work done there, soon; nil: the program delivers.
    private let schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?
    /// What the program has seen.
    let since: Bookmark?

    init(
        since: Bookmark? = nil, _ schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)? = nil
    ) {
        (self.schedule, self.since) = (schedule, since)
    }

    /// An observer begins paused that is to know an older version first.
    static func beginsPaused(_ place: HandlerPlace?) -> Bool { place?.since != nil }

    var isElsewhere: Bool { schedule != nil }

    convenience init(_ queue: DispatchQueue, since: Bookmark? = nil) {
        self.init(since: since) { queue.async(execute: $0) }
    }

    convenience init(_ actor: any Actor, since: Bookmark? = nil) {
        self.init(since: since) { work in Task.detached { await HandlerPlace.run(work, on: actor) } }
    }

    /// Nil: neither elsewhere nor from an older version on.
    static func on(_ queue: DispatchQueue?, since: Bookmark?) -> HandlerPlace? {
        queue.map { HandlerPlace($0, since: since) } ?? since.map { HandlerPlace(since: $0) }
    }

    private static func run(_ work: @Sendable () -> Void, on actor: isolated any Actor) { work() }

    /// The token of an observer, whose handler is called at a place; nil: where the program delivers.
    ///
    /// - Parameter begin: makes it on a hub; nil: on the store's.
    static func token(
        _ place: HandlerPlace?, _ handle: StoreHandle,
        _ begin: (ObserverHub?) throws(ObjStoreError) -> Observer
    ) throws(ObjStoreError) -> NotificationToken {
        guard let place, let schedule = place.schedule else {
            return NotificationToken(try begun(try begin(nil), since: place?.since, handle), handle)
        }
        let hub = try core { () throws(StoreError) in
            try handle.store.makeHub { schedule { place.deliver() } }
        }
        place.state.withLock { $0 = State(handle: handle, hub: hub) }
        do throws(ObjStoreError) {
            return NotificationToken(try begun(try begin(hub), since: place.since, handle), handle, place)
        } catch {
            place.end()
            throw error
        }
    }

    /// An observer that began paused, if it is to know an older version first, and goes on.
    private static func begun(
        _ observer: Observer, since: Bookmark?, _ handle: StoreHandle
    ) throws(ObjStoreError) -> Observer {
        guard let since else { return observer }
        do throws(StoreError) { try handle.store.begin(observer, at: since.core) } catch {
            observer.close(waits: false)
            throw ObjStoreError(error)
        }
        observer.resume()
        return observer
    }

    /// Whether there is an observer, of a store that is open.
    var isOpen: Bool { state.withLock { $0.handle?.store.isClosed == false } }

    func deliver() {
        let state = state.withLock { $0 }
        guard let handle = state.handle, let hub = state.hub else { return }
        do throws(StoreError) { _ = try hub.deliver() } catch {
            if error.code != .closedHandle { handle.reports.tell(ObjStoreError(error)) }
        }
    }

    /// Its observer has ended.
    func end() {
        let state = state.withLock { state in
            defer { state = State() }
            return state
        }
        if let handle = state.handle, let hub = state.hub { handle.store.leave(hub) }
    }
}

extension ObjectSpace {
    /// Calls a handler; what it threw, or what accessors reported in it, is whoever's who delivers.
    func telling(_ place: HandlerPlace?, _ handler: () throws -> Void) -> StoreError? {
        let error = telling("a change handler", handler)
        guard place?.isElsewhere == true else { return error }
        if let error, error.code != .closedHandle { handle.reports.tell(ObjStoreError(error)) }
        return nil
    }
}

/// Whatever is observed through one requirement: collections, and dynamic objects.
public protocol _Observed: SendableMetatype {
    /// What its handlers get.
    associatedtype Change

    func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?, _ handler: @escaping @Sendable (Change) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken
}

/// A collection whose changes can be observed.
public protocol ObservableCollection: _Observed {}

extension _Observed {
    /// The same as `observe(keyPaths:_:)` with a handler that is called on a queue: nobody has to deliver. With a
    /// concurrent queue on any of its threads, and never on two at a time. What it throws or reports goes to
    /// `Configuration.onError`.
    ///
    /// - Parameter bookmark: what the program has seen, as of ``observe(keyPaths:since:_:)``.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, since bookmark: Bookmark? = nil, on queue: DispatchQueue,
        _ handler: @escaping @Sendable (Change) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observing(keyPaths, since: bookmark, on: queue, handler) }

    /// The same on an actor: `observe(on: MainActor.shared) { _, change in … }`, `observe(on: self) { me, change in …
    /// }`. The actor is kept until the token ends.
    @_disfavoredOverload
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Change) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observing(keyPaths, since: bookmark, on: actor, handler) }

    /// The same as `observe(keyPaths:_:)` from a version on that the program has written down: there is no initial
    /// change, the first one is of what was committed since. Where nobody keeps that version any more
    /// (``Store/keepVersion(_:at:)``), where the schema has changed since, or the collection was not there, the first
    /// one is `isLost`: begin anew.
    ///
    /// Errors: also `.wrongStore`, `.alreadyInWrite`; `.timeout` (another one was writing for so long).
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, since bookmark: Bookmark, _ handler: @escaping @Sendable (Change) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try _observe(keyPaths, HandlerPlace(since: bookmark), handler) }

    // For other modules of the package.
    package func observing(
        _ keyPaths: [String]?, since bookmark: Bookmark? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (Change) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try _observe(keyPaths, HandlerPlace.on(queue, since: bookmark), handler)
    }
    package func observing<A: Actor>(
        _ keyPaths: [String]?, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Change) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try _observe(keyPaths, HandlerPlace(actor, since: bookmark), HandlerPlace.isolated(actor, handler))
    }
}

extension HandlerPlace {
    /// What is called on an actor, which it is.
    static func isolated<A: Actor, Change>(
        _ actor: A, _ handler: @escaping @Sendable (isolated A, Change) throws -> Void
    ) -> @Sendable (Change) throws -> Void {
        { change in
            nonisolated(unsafe) let change = change
            try actor.assumeIsolated { try handler($0, change) }
        }
    }
}

extension _ObservableObject {
    /// The same as `observe(keyPaths:_:)` with a handler that is called on a queue; see
    /// ``_Observed/observe(keyPaths:on:_:)-queue``.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, since bookmark: Bookmark? = nil, on queue: DispatchQueue,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observing(keyPaths, since: bookmark, on: queue, handler) }

    /// The same on an actor.
    @_disfavoredOverload
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observing(keyPaths, since: bookmark, on: actor, handler) }

    /// The same from a version on that the program has written down: see
    /// ``_Observed/observe(keyPaths:since:_:)``. Where nobody keeps it, the first change has no properties.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, since bookmark: Bookmark,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(names: keyPaths, HandlerPlace(since: bookmark), handler)
    }

    package func observing(
        _ keyPaths: [String]?, since bookmark: Bookmark? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(names: keyPaths, HandlerPlace.on(queue, since: bookmark), handler)
    }
    package func observing<A: Actor>(
        _ keyPaths: [String]?, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(names: keyPaths, HandlerPlace(actor, since: bookmark), HandlerPlace.isolated(actor, handler))
    }
}

extension ProjectionType {
    /// The same as `observe(keyPaths:_:)` with a handler that is called on a queue; see
    /// ``_Observed/observe(keyPaths:on:_:)-queue``.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, since bookmark: Bookmark? = nil, on queue: DispatchQueue,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observing(keyPaths, since: bookmark, on: queue, handler) }

    /// The same on an actor.
    @_disfavoredOverload
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observing(keyPaths, since: bookmark, on: actor, handler) }

    /// The same from a version on that the program has written down: see
    /// ``_Observed/observe(keyPaths:since:_:)``. Where nobody keeps it, the first change has no properties.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, since bookmark: Bookmark,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(names: keyPaths, HandlerPlace(since: bookmark), handler)
    }

    package func observing(
        _ keyPaths: [String]?, since bookmark: Bookmark? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(names: keyPaths, HandlerPlace.on(queue, since: bookmark), handler)
    }
    package func observing<A: Actor>(
        _ keyPaths: [String]?, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(names: keyPaths, HandlerPlace(actor, since: bookmark), HandlerPlace.isolated(actor, handler))
    }
}

extension Results: ObservableCollection {
    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observe(names: keyPaths, place, handler) }
}

extension ProjectedResults: ObservableCollection {
    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (ProjectedChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try base.observe(names: try ProjectionInfo.of(Element.self).observed(keyPaths), place) {
            try handler(ProjectedChangeSet($0))
        }
    }
}

extension List: ObservableCollection {
    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (CollectionChange<List>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try ObservedPlace(self.place).observe(keyPaths, place, handler) }
}

extension MutableSet: ObservableCollection {
    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (CollectionChange<MutableSet>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try ObservedPlace(self.place).observe(keyPaths, place, handler) }
}

extension Map: ObservableCollection {
    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (CollectionChange<Map>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try ObservedPlace(self.place).observe(keyPaths, place, handler) }
}
