/// Asynchronous writes, whose bodies and completions are called where change sets are delivered.
extension ObserverHub {
    func attach(_ queue: WriteQueue) { lock.withLock { self.queue = queue } }

    /// Before something is enqueued: where the store delivers on its own thread, that must run.
    func willWrite() throws(StoreError) { if deliversOnWorker { try database.watch.add(self) } }

    /// Whether all asynchronous writes have come to their end since this thread has asked last. Who waits may wait for
    /// that, and perhaps nobody is told of it.
    package func takeEndOfWrites() -> Bool {
        guard let queue = lock.withLock({ queue }) else { return false }
        let thread = ThreadIdentity.current, count = queue.endCount
        return lock.withLock {
            if knownEnds.count > 1000 { knownEnds = [:] }
            return knownEnds.updateValue(count, forKey: thread) ?? 0 < count
        }
    }

    /// Before this thread sleeps until something is due, and has taken the end of writes; false: there is another.
    /// Until it is awake again all that deliver see to it that it is woken by the next.
    package func beginSleep() -> Bool {
        let thread = ThreadIdentity.current
        let (queue, known) = lock.withLock { (self.queue, knownEnds[thread] ?? 0) }
        ThreadIdentity.beginSleep(for: self, ends: known)
        guard let queue, queue.endCount != known else { return true }
        ThreadIdentity.endSleep()
        return false
    }

    /// A thread that sleeps has not learned yet that all writes have come to their end: another one has taken the
    /// signal.
    func isSleeperUntold(_ queue: WriteQueue) -> Bool {
        ThreadIdentity.isAnyAsleep(for: self, ends: queue.endCount)
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
