internal import CRuntime
internal import ObjStoreCore

// A write is left when nothing can end it any more: its thread has ended inside of it, or a task began it with
// `beginWrite` and continued, after an `await`, on another thread, or a handler that the library calls on its own
// thread returned. It is then cancelled, and `onError` called: see docs/decisions/0035-writes-left-open.md.

/// How the end of a thread reaches a handle, without keeping it alive.
final class WriteTether: Sendable {
    private let handle = Guarded<UInt?>(nil)

    func hold(_ handle: StoreHandle) {
        let address = UInt(bitPattern: Unmanaged.passUnretained(handle).toOpaque())
        self.handle.withLock { $0 = address }
    }

    /// The handle is going.
    func letGo() { handle.withLock { $0 = nil } }
    var isLoose: Bool { handle.withLock { $0 == nil } }

    /// Nil: it is gone, or going.
    private var strong: StoreHandle? {
        // It cannot be freed inside of the lock: it first takes that to let go.
        handle.withLock { address in
            guard let address, let pointer = UnsafeRawPointer(bitPattern: address) else { return nil }
            return Unmanaged<StoreHandle>.fromOpaque(pointer).strong
        }
    }

    fileprivate var numberOfThisThread: UInt64? {
        guard let number = strong?.numberOfThisThread, number != 0 else { return nil }
        return number
    }

    /// Cancels the open write that this thread has left, as `left` says; returns where to report it.
    fileprivate func abandon(_ left: (StoreHandle) -> UInt64?) -> ErrorReports? {
        guard let handle = strong else { return nil }
        return handle.closeAbandoned(left(handle)) ? handle.reports : nil
    }
}

/// The stores that a thread wrote to.
final class ThreadWrites {
    private var tethers: [WriteTether] = []

    /// Cancels what tasks have left open that ran on this thread before, in any store. Before the thread waits for a
    /// writer: a waiter for such a write, on another thread, may be what it waits for.
    static func abandonLeft() {
        guard let pointer = cr_ending() else { return }
        let tethers = Unmanaged<ThreadWrites>.fromOpaque(pointer)._withUnsafeGuaranteedRef(\.tethers)
        for tether in tethers { tether.abandon(\.numberIfLeft)?.tell(abandoned(byTask)) }
    }

    /// Runs what the program does on a thread that is not its own, and then cancels what it has left open, in any
    /// store.
    static func within<R>(_ what: String, _ body: () throws -> R) rethrows -> R {
        func open() -> [(WriteTether, UInt64)] {
            guard let pointer = cr_ending() else { return [] }
            let tethers = Unmanaged<ThreadWrites>.fromOpaque(pointer)._withUnsafeGuaranteedRef(\.tethers)
            return tethers.compactMap { tether in tether.numberOfThisThread.map { (tether, $0) } }
        }
        let before = open()
        defer {
            for (tether, number) in open() where !before.contains(where: { $0.0 === tether && $0.1 == number }) {
                tether.abandon { _ in number }?.tell(abandoned("\(what) has returned without ending it"))
            }
        }
        return try body()
    }

    /// This thread's end is to reach the handle.
    static func note(_ tether: WriteTether) {
        guard let pointer = cr_ending() else {
            let writes = ThreadWrites()
            writes.tethers.append(tether)
            cr_set_ending(Unmanaged.passRetained(writes).toOpaque()) { pointer in
                let writes = Unmanaged<ThreadWrites>.fromOpaque(pointer).takeRetainedValue()
                for tether in writes.tethers {
                    tether.abandon(\.numberOfThisThread)?.tell(abandoned("the thread that was inside of it has ended"))
                }
            }
            return
        }
        Unmanaged<ThreadWrites>.fromOpaque(pointer)._withUnsafeGuaranteedRef { writes in
            if writes.tethers.contains(where: { $0 === tether }) { return }
            writes.tethers.removeAll(where: \.isLoose)
            writes.tethers.append(tether)
        }
    }
}

private let byTask = "a task began it and went on elsewhere, after an await or at its end: use write { … } in tasks"

private func abandoned(_ why: String) -> ObjStoreError {
    ObjStoreError(.cancelled, "a write of the store was left open, and is cancelled: \(why); nothing of it is stored")
}

extension StoreHandle {
    /// The number of the task that runs on this thread; 0: none.
    @inline(__always)
    static var currentTask: UInt64 { cr_task_number() }

    /// Cancels a write that nothing can end, and reports it.
    private func abandon(_ number: UInt64?, _ why: String) {
        if closeAbandoned(number) { reports.tell(ObjStore.abandoned(why)) }
    }

    /// False: there is none, or another thread was faster.
    fileprivate func closeAbandoned(_ number: UInt64?) -> Bool {
        guard let number, let view = takeAbandoned(number) else { return false }
        view.close()
        return true
    }

    /// Where this thread, or this task, sees that a write that was begun with `beginWrite` can never be ended.
    func abandonIfLeft() {
        if let number = numberIfLeft { return abandon(number, byTask) }
        abandon(numberIfElsewhere, "its task began it on another thread, before an await: use write { … } in tasks")
    }

    /// Looks now and then, on whatever threads tasks run on, whether the thread where a task began a write does
    /// something else. Each priority has threads of its own: the one that has waited longest, if none is at work, is
    /// the one that looks.
    func watch(_ number: UInt64) {
        Task.detached(priority: Task.currentPriority) { [weak self] in
            while let handle = self, handle.isOpen(number) {
                handle.abandonIfLeft()
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}
