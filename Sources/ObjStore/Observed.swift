public import Dispatch

/// Whatever is observed through one requirement: collections, and dynamic objects.
public protocol _Observed: SendableMetatype {
    /// What its handlers get.
    associatedtype Change
    /// What beginning to observe throws.
    associatedtype ObservingFailure: Error = ObjStoreError

    func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?, _ handler: @escaping @Sendable (Change) throws -> Void
    ) throws(ObservingFailure) -> NotificationToken
}

/// A collection whose changes can be observed.
public protocol ObservableCollection: _Observed {
    var _home: _ObservedHome { get }
}

/// Where something is that is observed.
public struct _ObservedHome: Sendable {
    /// Nil: in no store.
    let space: ObjectSpace?
}

extension ObservableCollection where Change: Sendable {
    /// What changes, for a task: `for await change in results.changes { … }`.
    ///
    /// The first one is initial. A loop that is slower than the writers gets what happened meanwhile as one change set.
    /// It ends when the task is cancelled or the store closed; if it cannot begin or continue for another reason, that
    /// is reported as by accessors (`Configuration.onError`) and it ends. There is no need to call `deliver()`; no
    /// thread waits. Of what is in no store there are none.
    public var changes: Changes<Change> { changes(since: nil) { _ throws(ObservingFailure) in nil } }

    /// The same for insertions, deletions, and modifications of these properties only.
    ///
    /// - Parameter bookmark: from a version on that the program has written down, as of
    ///   ``_Observed/observe(keyPaths:since:_:)``: there is no initial change.
    public func changes(keyPaths: [String]? = nil, since bookmark: Bookmark? = nil) -> Changes<Change> {
        changes(since: bookmark) { _ throws(ObservingFailure) in keyPaths }
    }

    fileprivate func changes(
        since bookmark: Bookmark?, _ names: (Self.Type) throws(ObservingFailure) -> [String]?
    ) -> Changes<Change> {
        // Any thread may use what is in a store.
        nonisolated(unsafe) let observed = self
        let names = Result { () throws(ObservingFailure) in try names(Self.self) }
        return Changes(in: _home.space, since: bookmark) { place, add in
            try observed._observe(try names.get(), place) { add($0, false) }
        }
    }
}

extension ObservableCollection where Self: _KeyPathObserved, Change: Sendable {
    /// The same with key paths of its objects: `results.changes(keyPaths: [\.age, \.owner?.city])`.
    public func changes(
        keyPaths: [PartialKeyPath<ObservedRoot>], since bookmark: Bookmark? = nil
    ) -> Changes<Change> {
        changes(since: bookmark) { (type) throws(ObservingFailure) in try type._names(keyPaths) }
    }
}

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
    ) throws(ObservingFailure) -> NotificationToken { try observing(keyPaths, since: bookmark, on: queue, handler) }

    /// The same on an actor: `observe(on: MainActor.shared) { _, change in … }`, `observe(on: self) { me, change in …
    /// }`. The actor is kept until the token ends.
    @_disfavoredOverload
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Change) throws -> Void
    ) throws(ObservingFailure) -> NotificationToken { try observing(keyPaths, since: bookmark, on: actor, handler) }

    /// The same as `observe(keyPaths:_:)` from a version on that the program has written down: there is no initial
    /// change, the first one is of what was committed since. Where nobody keeps that version any more
    /// (``Store/keepVersion(_:at:)``), where the schema has changed since, or the collection was not there, the first
    /// one is `isLost`: begin anew.
    ///
    /// Errors: also `.wrongStore`, `.alreadyInWrite`; `.timeout` (another one was writing for so long).
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, since bookmark: Bookmark, _ handler: @escaping @Sendable (Change) throws -> Void
    ) throws(ObservingFailure) -> NotificationToken { try _observe(keyPaths, HandlerPlace(since: bookmark), handler) }

    // For other modules of the package.
    package func observing(
        _ keyPaths: [String]?, since bookmark: Bookmark? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (Change) throws -> Void
    ) throws(ObservingFailure) -> NotificationToken {
        try _observe(keyPaths, HandlerPlace.on(queue, since: bookmark), handler)
    }
    package func observing<A: Actor>(
        _ keyPaths: [String]?, since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Change) throws -> Void
    ) throws(ObservingFailure) -> NotificationToken {
        try _observe(keyPaths, HandlerPlace(actor, since: bookmark), HandlerPlace.isolated(actor, handler))
    }
}

/// What is observed, and its objects have key paths.
public protocol _KeyPathObserved: _Observed {
    associatedtype ObservedRoot
    static func _names(_ keyPaths: [PartialKeyPath<ObservedRoot>]) throws(ObservingFailure) -> [String]
}

extension _KeyPathObserved {
    /// The same with key paths of its objects: `observe(keyPaths: [\.age, \.owner?.city]) { change in … }`.
    ///
    /// Errors: also `.invalidQuery` for a key path that is none of a `@Persisted` property of the class.
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<ObservedRoot>], since bookmark: Bookmark? = nil,
        _ handler: @escaping @Sendable (Change) throws -> Void
    ) throws(ObservingFailure) -> NotificationToken { try observing(keyPaths, since: bookmark, handler) }

    /// The same on a queue; see ``_Observed/observe(keyPaths:since:on:_:)-queue``.
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<ObservedRoot>], since bookmark: Bookmark? = nil, on queue: DispatchQueue,
        _ handler: @escaping @Sendable (Change) throws -> Void
    ) throws(ObservingFailure) -> NotificationToken {
        try observing(try Self._names(keyPaths), since: bookmark, on: queue, handler)
    }

    /// The same on an actor.
    @_disfavoredOverload
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<ObservedRoot>], since bookmark: Bookmark? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Change) throws -> Void
    ) throws(ObservingFailure) -> NotificationToken {
        try observing(try Self._names(keyPaths), since: bookmark, on: actor, handler)
    }

    // For other modules of the package.
    package func observing(
        _ keyPaths: [PartialKeyPath<ObservedRoot>], since bookmark: Bookmark? = nil,
        _ handler: @escaping @Sendable (Change) throws -> Void
    ) throws(ObservingFailure) -> NotificationToken {
        try _observe(try Self._names(keyPaths), bookmark.map { HandlerPlace(since: $0) }, handler)
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

extension Results: ObservableCollection {
    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observe(names: keyPaths, place, handler) }
    public var _home: _ObservedHome { _ObservedHome(space: space) }
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
    public var _home: _ObservedHome { base._home }
}

extension List: ObservableCollection {
    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (CollectionChange<List>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try ObservedPlace(self.place).observe(keyPaths, place, handler) }
    public var _home: _ObservedHome { _ObservedHome(space: place?.binding.space) }
}

extension MutableSet: ObservableCollection {
    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (CollectionChange<MutableSet>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try ObservedPlace(self.place).observe(keyPaths, place, handler) }
    public var _home: _ObservedHome { _ObservedHome(space: place?.binding.space) }
}

extension Map: ObservableCollection {
    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (CollectionChange<Map>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try ObservedPlace(self.place).observe(keyPaths, place, handler) }
    public var _home: _ObservedHome { _ObservedHome(space: place?.binding.space) }
}

// MARK: Key paths

extension Results: _KeyPathObserved {
    public static func _names(_ keyPaths: [PartialKeyPath<Element>]) throws(ObjStoreError) -> [String] {
        try ClassInfo.names(keyPaths)
    }
}

extension ProjectedResults: _KeyPathObserved {
    public static func _names(_ keyPaths: [PartialKeyPath<Element>]) throws(ObjStoreError) -> [String] {
        try ProjectionInfo.names(keyPaths)
    }
}

extension List: _KeyPathObserved where Element: Object {
    public static func _names(_ keyPaths: [PartialKeyPath<Element>]) throws(ObjStoreError) -> [String] {
        try ClassInfo.names(keyPaths)
    }
}

extension MutableSet: _KeyPathObserved where Element: Object {
    public static func _names(_ keyPaths: [PartialKeyPath<Element>]) throws(ObjStoreError) -> [String] {
        try ClassInfo.names(keyPaths)
    }
}

extension Map: _KeyPathObserved where Value: _LinkElement {
    public static func _names(_ keyPaths: [PartialKeyPath<Value._Linked>]) throws(ObjStoreError) -> [String] {
        try ClassInfo.names(keyPaths)
    }
}

extension ProjectionInfo {
    /// Of the projection, as its observers are given them.
    static func names<P: ProjectionType>(_ keyPaths: [PartialKeyPath<P>]) throws(ObjStoreError) -> [String] {
        try ProjectionInfo.of(P.self).fields(keyPaths).map(\.name)
    }
}
