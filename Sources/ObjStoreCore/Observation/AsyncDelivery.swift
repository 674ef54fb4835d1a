/// Asynchronous writes, whose bodies and completions are called where change sets are delivered.
extension ObserverHub {
    func attach(_ queue: WriteQueue) { lock.withLock { self.queue = queue } }

    /// Before something is enqueued: where the store delivers on its own thread, that must run.
    func willWrite() throws(StoreError) { if deliversOnWorker { try database.watch.add(self) } }

    /// Whether all asynchronous writes have come to their end since this thread has asked last. Who waits may wait for
    /// that, and perhaps nobody is told of it.
    func takeEndOfWrites() -> Bool {
        guard let queue = lock.withLock({ queue }) else { return false }
        let thread = ThreadIdentity.current, count = queue.endCount
        return lock.withLock {
            if waits.seen.count > 1000 { waits.seen = [:] }
            return waits.seen.updateValue(count, forKey: thread) ?? 0 < count
        }
    }

    /// Under the lock: a thread that sleeps in `wait` has not learned yet that all writes have come to their end. (One
    /// that delivers looks for itself.)
    func isSleeperUntold(_ queue: WriteQueue, besides thread: UInt) -> Bool {
        if waits.threads.isEmpty { return false }
        let count = queue.endCount
        return waits.threads.contains {
            $0 != thread && waits.seen[$0] ?? 0 < count && !deliverers.contains($0)
        }
    }

    /// Lets all writes of the queue come to their end; their bodies and completions are called on this thread where no
    /// other comes for them.
    ///
    /// Errors: `.inCallback`.
    func finish(_ queue: WriteQueue) throws(StoreError) {
        if fork.isChild { return }
        let thread = ThreadIdentity.current
        try lock.withLock { () throws(StoreError) in
            if deliverers.contains(thread) { throw inCallback("closed") }
            deliverers.append(thread)
        }
        ThreadIdentity.enterHandler()
        queue.finish { error in onFailure?(error) }
        ThreadIdentity.leaveHandler()
        if fork.isChild { return }
        lock.withLock {
            deliverers.removeAll { $0 == thread }
        }
        database.watch.remove(self)
    }
}

/// Threads inside of `wait`, and of how many ends of all writes threads have learned. Of one that has never asked it is
/// none: it returns once without need.
struct WaitsForWrites {
    var threads: Set<UInt> = []
    var seen: [UInt: UInt64] = [:]
}
