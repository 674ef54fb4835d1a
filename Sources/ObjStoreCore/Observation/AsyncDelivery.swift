/// Asynchronous writes, whose bodies and completions are called where change sets are delivered.
extension ObserverHub {
    func attach(_ queue: WriteQueue) { lock.withLock { self.queue = queue } }

    /// Before something is enqueued: where the store delivers on its own thread, that must run.
    func willWrite() throws(StoreError) { if deliversOnWorker { try database.watch.add(self) } }

    /// Whether all asynchronous writes have come to their end since the last call. Who waits may wait for that, and
    /// perhaps nobody is told of it.
    package func takeEndOfWrites() -> Bool { lock.withLock { queue }?.takeEnd() ?? false }

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
