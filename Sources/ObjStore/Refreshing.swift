internal import ObjStoreCore
internal import Synchronization

/// What the store shows, and when that moves.
extension Store {
    /// Whether what is live moves by itself where changes are delivered: before handlers are called by ``deliver()``,
    /// ``wait(atMost:)``, the worker, a queue or an actor (``Results/observe(keyPaths:on:_:)-queue``), when a loop over
    /// changes gets one, and, of a store that was opened for an actor, on that actor whenever something was committed.
    ///
    /// False: it stands still, whoever commits, until ``refresh()`` or a write of its own; changes are reported all the
    /// same, of frozen objects. True at first.
    public var autorefresh: Bool {
        get { handle.autorefresh.load(ordering: .relaxed) }
        set {
            handle.autorefresh.store(newValue, ordering: .relaxed)
            space.follow()
        }
    }

    /// Calls the handlers for which something is due, on this thread, and moves to the newest version; returns whether
    /// there was one. Objects and results show it from now on. Never waits for writers.
    ///
    /// Bodies and completions of asynchronous writes are not called, nor handlers of a store that delivers on its
    /// worker. Inside a write, which sees the newest version, and inside a handler it does nothing: false.
    /// Errors: as of ``deliver()``; it has moved all the same.
    @discardableResult
    public func refresh() throws(ObjStoreError) -> Bool {
        if handle.isWriting { return false }
        return try ObjStore.core { () throws(StoreError) in try handle.store.refresh(space.view) }
    }

    /// ``refresh()`` on the task's actor, when what waits there has had its turn. It never waits for writers nor for a
    /// disk.
    @discardableResult
    public func asyncRefresh(isolation: isolated (any Actor)? = #isolation) async throws(ObjStoreError) -> Bool {
        await Task.yield()
        return try refresh()
    }

    /// Moves on the actor whenever something was committed, as long as there is the store.
    func followCommits(on actor: isolated any Actor) {
        let signal = TaskSignal(), hub: ObserverHub, observer: Observer
        do throws(StoreError) {
            hub = try handle.store.makeHub { signal.raise() }
            observer = try hub.observe(.commits, options: ObserverOptions()) { _ in nil }
        } catch {
            // Nobody writes to it, or it is closed already: it does not move.
            return
        }
        // It keeps neither: an actor usually has the store.
        Task.detached { [weak self, weak actor] in
            while true {
                await signal.wait()
                do throws(StoreError) { _ = try hub.deliver() } catch {
                    if error.code == .closedHandle { return }
                }
                guard let self, let actor else { break }
                await Store.follow(self.handle, on: actor)
            }
            observer.close(waits: false)
        }
    }

    private static func follow(_ handle: StoreHandle, on actor: isolated any Actor) { handle.follow() }
}

extension StoreHandle {
    /// The live view is to show at least what is told now.
    func follow() {
        guard !isWriting, autorefresh.load(ordering: .relaxed) else { return }
        // That the store is closed just now is nobody's failure.
        _ = try? liveSpace().view.refresh()
    }
}
