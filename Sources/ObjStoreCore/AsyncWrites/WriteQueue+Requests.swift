/// Requests: transactions without bodies and commits without completions, for coroutines, futures and actors. They
/// learn that something may be claimed, and claim it on the thread that wants it.
extension WriteQueue {
    /// A transaction, to be claimed; its id. `ready` may be called before this returns.
    ///
    /// Errors: `.closedHandle`, `.outOfMemory`.
    package func requestBegin(isAlone: Bool, _ ready: @escaping AsyncWrite.Ready) throws(StoreError) -> UInt64 {
        try add(isAlone ? .alone : .withFollowing, .transactionIsClaimed(ready), nil)
    }

    /// The transaction that was requested, with what it is to be given back to; nil: its turn has not come, or has
    /// passed. Afterwards `ready` is not called any more.
    ///
    /// Errors: those of beginning; `.closedHandle`; `.invalidArgument`: there is no such request.
    package func claimBegin(_ id: UInt64) throws(StoreError) -> (write: AsyncWrite, group: WriteGroup)? {
        var isParked = false
        let claimed = try lock.withLock { () throws(StoreError) -> (AsyncWrite, WriteGroup)? in
            guard let write = requests[id], write.isBegin else { throw WriteQueue.noRequest(id) }
            if case .failure(let error) = write.result {
                requests[id] = nil
                throw error
            }
            guard waiting.first === write, let taken = take(&isParked) else { return nil }
            taken.0.ready = nil
            requests[id] = nil
            return taken
        }
        if isParked { wakeAcquirer() }
        if claimed != nil { waitForTelling(id) }
        return claimed
    }

    /// Ends the turn of a claim.
    package func end(_ write: AsyncWrite, of group: WriteGroup, _ ending: AsyncWrite.Ending) {
        guard end(write, of: group, ending, { _ in }) else { return }
        wakeAcquirer()
        moved()
    }

    /// The version of a commit that was requested; nil: it is not over.
    ///
    /// Errors: those of committing; `.invalidArgument`: there is no such request.
    package func claimCommit(_ id: UInt64) throws(StoreError) -> UInt64? {
        let result = try lock.withLock { () throws(StoreError) -> Result<UInt64, StoreError>? in
            guard let write = requests[id], !write.isBegin else { throw WriteQueue.noRequest(id) }
            guard let result = write.result else { return nil }
            requests[id] = nil
            write.ready = nil
            return result
        }
        guard let result else { return nil }
        waitForTelling(id)
        return try result.get()
    }

    private static func noRequest(_ id: UInt64) -> StoreError {
        StoreError(.invalidArgument, "id: \(id) is no request of this store, or it was claimed or cancelled before")
    }

    /// Requests of transactions that were not claimed fail, with the closing of the store.
    func refuseRequests() {
        let left = lock.withLock { () -> WriteGroup? in
            for write in requests.values where write.isBegin && write.result == nil {
                if waiting.remove(write.id) != nil { end([write], .failure(WriteQueue.closedError)) }
            }
            return firstHasChanged()
        }
        if let left { letGo(left) }
        wakeAcquirer()
        moved()
    }

    /// Tells requests what they wait for: their turn, or their outcome.
    func tellReady() {
        while true {
            let next = lock.withLock { () -> (UInt64, AsyncWrite.Ready)? in
                guard let write = nextToTell(), let ready = write.ready else { return nil }
                telling.append((write.id, ThreadIdentity.current))
                return (write.id, ready)
            }
            guard let (id, ready) = next else { return }
            ready(id)
            if fork.isChild { return }
            lock.withLock { telling.removeAll { $0 == (id, ThreadIdentity.current) } }
            progress.add(1)
            database.machine.wake(progress)
        }
    }

    /// Under the lock.
    private func nextToTell() -> AsyncWrite? {
        if case .ready(let group) = stage, let first = waiting.first, first.isRequest, group.told != first.id,
            !(InjectedBug.active(.asyncReadyOnce) && first.wasTold)
        {
            group.told = first.id
            first.wasTold = true
            return first
        }
        while !untold.isEmpty {
            let write = untold.removeFirst()
            if write.ready != nil { return write }
        }
        return nil
    }

    /// Until no other thread is inside of the request's `ready`.
    func waitForTelling(_ id: UInt64) {
        while true {
            let seen = progress.current, thread = ThreadIdentity.current
            if !lock.withLock({ telling.contains { $0.id == id && $0.thread != thread } }) { return }
            database.machine.wait(progress, while: seen, timeout: -1)
        }
    }
}
