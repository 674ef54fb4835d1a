public import Dispatch
public import ObjStore

// Handlers that a queue or an actor calls: see `observe(keyPaths:on:_:)` of ObjStore. Where it cannot, nothing is
// observed, and why is reported. Without a queue: as `observe(keyPaths:_:)`.

private func reporting(
    to report: (any Error) -> Void, _ body: () throws -> NotificationToken
) -> NotificationToken {
    do { return try body() } catch {
        report(error)
        return NotificationToken()
    }
}

extension Results {
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: queue, handler) } }
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, ChangeSet<Element>) throws -> Void
    ) async -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: actor, handler) } }
}

extension ProjectedResults {
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (ProjectedChangeSet<Element>) throws -> Void
    ) -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: queue, handler) } }
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, ProjectedChangeSet<Element>) throws -> Void
    ) async -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: actor, handler) } }
}

extension List {
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (CollectionChange<List>) throws -> Void
    ) -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: queue, handler) } }
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, CollectionChange<List>) throws -> Void
    ) async -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: actor, handler) } }
}

extension MutableSet {
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (CollectionChange<MutableSet>) throws -> Void
    ) -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: queue, handler) } }
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, CollectionChange<MutableSet>) throws -> Void
    ) async -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: actor, handler) } }
}

extension Map {
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (CollectionChange<Map>) throws -> Void
    ) -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: queue, handler) } }
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, CollectionChange<Map>) throws -> Void
    ) async -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: actor, handler) } }
}

extension _ObservableObject {
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: queue, handler) } }
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, ObjectChange<Self>) throws -> Void
    ) async -> NotificationToken { reporting(to: report) { try observing(keyPaths, on: actor, handler) } }
}

extension ProjectionType {
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue?,
        _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) -> NotificationToken { reporting(to: rootObject.report) { try observing(keyPaths, on: queue, handler) } }
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A,
        _ handler: @escaping @Sendable (isolated A, ObjectChange<Self>) throws -> Void
    ) async -> NotificationToken {
        reporting(to: rootObject.report) { try observing(keyPaths, on: actor, handler) }
    }
}
