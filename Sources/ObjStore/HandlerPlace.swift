internal import Dispatch
internal import ObjStoreCore

/// Where the handler of one observer is called, if not where the program delivers: on a queue, or an actor; and from
/// which version on it is told, if not from the newest; of one object, whether there is a first call.
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
    private let isInitial: Bool

    init(
        since: Bookmark? = nil, initial: Bool = false,
        _ schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)? = nil
    ) {
        (self.schedule, self.since, isInitial) = (schedule, since, initial)
    }

    /// An observer begins paused that is to know an older version first.
    static func beginsPaused(_ place: HandlerPlace?) -> Bool { place?.since != nil }

    /// Who begins at an older version is told what has happened since, and nothing first.
    static func wantsInitial(_ place: HandlerPlace?) -> Bool { place?.isInitial == true && place?.since == nil }

    var isElsewhere: Bool { schedule != nil }

    convenience init(_ queue: DispatchQueue, since: Bookmark? = nil, initial: Bool = false) {
        self.init(since: since, initial: initial) { queue.async(execute: $0) }
    }

    convenience init(_ actor: any Actor, since: Bookmark? = nil, initial: Bool = false) {
        self.init(since: since, initial: initial) { work in Task.detached { await HandlerPlace.run(work, on: actor) } }
    }

    /// Nil: neither elsewhere nor from an older version on, and without a first call.
    static func on(_ queue: DispatchQueue?, since: Bookmark?, initial: Bool = false) -> HandlerPlace? {
        if let queue { return HandlerPlace(queue, since: since, initial: initial) }
        return since == nil && !initial ? nil : HandlerPlace(since: since, initial: initial)
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

    /// False: nothing can be delivered any more.
    @discardableResult
    func deliver() -> Bool {
        let state = state.withLock { $0 }
        guard let handle = state.handle, let hub = state.hub else { return false }
        do throws(StoreError) { _ = try hub.deliver() } catch {
            if error.code != .closedHandle { handle.reports.tell(ObjStoreError(error)) }
            return false
        }
        return !handle.store.isClosed
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
