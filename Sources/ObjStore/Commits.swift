public import Dispatch
internal import ObjStoreCore

/// What was committed since an observer's last call, one transaction or several, in this or another process: the
/// versions before and after, and not what changed. It keeps both versions: let go of it.
public struct Commits: Sendable {
    private let changes: ObjStoreCore.ChangeSet
    private let sides: ChangeSides

    init(_ changes: ObjStoreCore.ChangeSet, _ live: ObjectSpace) {
        self.changes = changes
        sides = ChangeSides(changes, live)
    }

    /// The first one of an observer that wanted it: nothing was committed yet.
    public var isInitial: Bool { changes.isInitial }
    /// It came too late to say what changed (`Store.Configuration.observerLag`): look at everything anew.
    public var isLost: Bool { changes.isLost }
    /// Another process committed some of it.
    public var isFromOtherProcess: Bool { changes.isFromOtherProcess }
    public var fromVersion: UInt64 { changes.fromVersion }
    public var toVersion: UInt64 { changes.toVersion }

    /// The store as it was. Errors: `.closedHandle`, `.tooManyReaders`.
    public func before() throws(ObjStoreError) -> Snapshot { Snapshot(try sides.space(before: true)) }
    /// The store as the commits made it; it may have moved on since. Errors: as of ``before()``.
    public func after() throws(ObjStoreError) -> Snapshot { Snapshot(try sides.space(before: false)) }
}

extension Store {
    /// Calls `handler` when something was committed, whichever thread or process did it, and does not say what;
    /// several commits at once where they were not delivered in between. As with results, `deliver()`, `wait()` or the
    /// worker call it.
    ///
    /// - Parameter initial: with a first call, before anything was committed.
    /// Errors: `.readOnly` (a store that is never written to), `.closedHandle`.
    public func observeCommits(
        initial: Bool = false, _ handler: @escaping @Sendable (Commits) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observeCommits(initial, nil, handler)
    }

    /// The same from a version on that the program has written down: called once if something was committed since, or
    /// if nobody keeps that version any more (`isLost`); see ``ObservableCollection/observe(keyPaths:since:_:)``.
    public func observeCommits(
        since bookmark: Bookmark, _ handler: @escaping @Sendable (Commits) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observeCommits(false, HandlerPlace(since: bookmark), handler)
    }

    /// The same with a handler that is called on a queue; see ``_Observed/observe(keyPaths:since:on:_:)-queue``.
    public func observeCommits(
        initial: Bool = false, since bookmark: Bookmark? = nil, on queue: DispatchQueue,
        _ handler: @escaping @Sendable (Commits) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observeCommits(initial && bookmark == nil, HandlerPlace(queue, since: bookmark), handler)
    }

    /// The same on an actor: `store.observeCommits(on: MainActor.shared) { _, commits in … }`.
    public func observeCommits<A: Actor>(
        initial: Bool = false, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Commits) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observeCommits(
            initial && bookmark == nil, HandlerPlace(actor, since: bookmark), HandlerPlace.isolated(actor, handler))
    }

    /// The same for a task: `for await commits in store.commits() { … }`; see ``ObservableCollection/changes``.
    public func commits(initial: Bool = false, since bookmark: Bookmark? = nil) -> Changes<Commits> {
        Changes(in: space, since: bookmark) { place, add in
            try self.observeCommits(initial && bookmark == nil, place) { add($0, false) }
        }
    }

    private func observeCommits(
        _ isInitial: Bool, _ place: HandlerPlace?, _ handler: @escaping @Sendable (Commits) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let live = space
        return try HandlerPlace.token(place, live.handle) { (hub) throws(ObjStoreError) in
            try core { () throws(StoreError) in
                let options = ObserverOptions(initial: isInitial, paused: HandlerPlace.beginsPaused(place))
                return try live.handle.store.observeCommits(options, on: hub) { changes in
                    live.telling(place) { try handler(Commits(changes, live)) }
                }
            }
        }
    }
}
