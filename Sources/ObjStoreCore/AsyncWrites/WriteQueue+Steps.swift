/// The steps of a queue: the writer's lock for the first that waits, bodies and completions, commits.
extension WriteQueue {
    /// Nanoseconds that a transaction is kept for a thread to come: others may be waiting for the lock, also of this
    /// process. For threads that come late again and again, such as that of a loop which is always busy, twice as long
    /// each time: else they would never have a turn.
    private var patience: Int64 { 50_000_000 << Int64(min(lock.withLock { late }, 5)) }

    // MARK: Acquirer

    /// Waits for the writer's lock where something does; false: nothing does.
    @discardableResult
    package func acquire() -> Bool {
        let isWanted = lock.withLock { () -> Bool in
            guard case .idle = stage, !waiting.isEmpty else { return false }
            stage = .acquiring
            return true
        }
        if !isWanted { return false }
        do throws(StoreError) {
            let group = WriteGroup(try begin(), patience: database.machine.monotonic() &+ patience)
            let isNeeded = lock.withLock { () -> Bool in
                stage = waiting.isEmpty ? .idle : .ready(group)
                return !waiting.isEmpty
            }
            if !isNeeded { group.transaction.abandon() }
        } catch {
            lock.withLock {
                stage = .idle
                if !waiting.isEmpty { end([waiting.removeFirst()], .failure(error)) }
            }
        }
        moved()
        return true
    }

    private func begin() throws(StoreError) -> WriteTransaction {
        let transaction = try WriteTransaction.begin(database, timeout: timeout, until: cancellation)
        do throws(StoreError) { try check(transaction) } catch { throw transaction.cancel(because: error, .full) }
        return transaction
    }

    /// Releases the lock that no thread has come for; commits what a group has that no more members come to.
    package func park() {
        let group = lock.withLock { () -> WriteGroup? in
            guard case .ready(let group) = stage else { return nil }
            stage = group.members.isEmpty ? .parked : .idle
            if group.members.isEmpty { late += 1 }
            return group
        }
        if let group { letGo(group) }
        moved()
    }

    /// A transaction that has begun, and that no thread has come for: a write of a thread that waits for its result
    /// goes first. What it was begun for waits again. Nil: there is none, or it is being committed.
    func takeReady() -> WriteTransaction? {
        let group = lock.withLock { () -> WriteGroup? in
            guard case .ready(let group) = stage else { return nil }
            stage = .idle
            return group
        }
        guard let group else { return nil }
        if !group.members.isEmpty { letGo(group) }
        wakeAcquirer()
        return group.members.isEmpty ? group.transaction : nil
    }

    /// Under the lock: another one is the first that waits. Returns a group that it is not to get.
    func firstHasChanged() -> WriteGroup? {
        switch stage {
        case .ready(let group):
            if let first = waiting.first, group.members.isEmpty || first.sharing != .alone { return nil }
            stage = .idle
            return group
        case .parked:
            // It was never told of a turn that it could claim.
            if waiting.first?.isRequest != false { stage = .idle }
            return nil
        case .idle, .acquiring, .running: return nil
        }
    }

    /// A group that is not in any stage any more.
    func letGo(_ group: WriteGroup) {
        guard !group.members.isEmpty else { return group.transaction.abandon() }
        append(TransactionEnd(transaction: group.transaction, writes: group.members))
    }

    /// Under the lock: their results are known. What was not in the order yet takes its place in it.
    func end(_ writes: [AsyncWrite], _ result: Result<UInt64, StoreError>) {
        for write in writes {
            write.result = result
            if write.isRequest {
                if write.ready != nil { untold.append(write) }
            } else {
                enter(write)
            }
        }
    }

    /// Under the lock.
    private func enter(_ write: AsyncWrite) {
        if write.hasEnded || write.isRequest { return }
        write.hasEnded = true
        ended.appendForSure(write)
    }

    // MARK: Lent threads

    /// Calls the completions that are due, then runs the body whose turn it is and those that may be one commit with
    /// it, for a while; returns how many calls there were.
    ///
    /// - Parameter failed: gets what completions return, and failures of bodies that nobody else is told of.
    package func run(_ failed: (StoreError) -> Void) -> Int {
        let end = database.machine.monotonic() &+ slice
        var calls = complete(until: end, failed)
        if fork.isChild { return calls }
        calls += runBodies(until: end, failed)
        return calls
    }

    private func complete(until end: Int64, _ failed: (StoreError) -> Void) -> Int {
        let isWanted = lock.withLock { () -> Bool in
            // Without need nobody is to look busy: who waits for the end of all would wait for another.
            if isCompleting || ended.first?.result == nil { return false }
            isCompleting = true
            return true
        }
        if !isWanted { return 0 }
        var calls = 0
        // What it captures is freed without the lock.
        while let write = lock.withLock({ ended.first?.result == nil ? nil : ended.removeFirst() }) {
            guard let completion = write.completion, let result = write.result else { continue }
            calls += 1
            if let error = completion(result) { failed(error) }
            if InjectedBug.active(.asyncTwice) { _ = completion(result) }
            if fork.isChild { return calls }
            if database.machine.monotonic() >= end { break }
        }
        lock.withLock { isCompleting = false }
        moved()
        return calls
    }

    private func runBodies(until end: Int64, _ failed: (StoreError) -> Void) -> Int {
        var calls = 0
        while let (write, group) = takeBody() {
            var body: AsyncWrite.Body?
            lock.withLock { swap(&body, &write.body) }
            calls += 1
            let ending = body.unsafelyUnwrapped(write, group.transaction)
            body = nil
            if fork.isChild { return calls }
            let goesOn = self.end(write, of: group, ending, failed)
            if !goesOn { break }
            if database.machine.monotonic() < end, lock.withLock({ waiting.first?.isRequest == false }) { continue }
            // It waits for others to come, and not for long.
            wakeAcquirer()
            moved()
            break
        }
        return calls
    }

    /// The body whose turn it is, if its transaction has begun; one that was parked is to begin again.
    private func takeBody() -> (AsyncWrite, WriteGroup)? {
        var isParked = false
        let taken = lock.withLock { () -> (AsyncWrite, WriteGroup)? in
            guard waiting.first?.isRequest == false else { return nil }
            return take(&isParked)
        }
        if isParked { wakeAcquirer() }
        return taken
    }

    /// Under the lock: the first that waits gets its turn, if its transaction has begun.
    func take(_ isParked: inout Bool) -> (AsyncWrite, WriteGroup)? {
        switch stage {
        case .ready(let group):
            let isOvertaken =
                InjectedBug.active(.asyncOvertakes) && group.members.isEmpty && waiting.last?.isRequest == false
            let write = isOvertaken ? waiting.removeLast() : waiting.removeFirst()
            stage = .running(write)
            late = 0
            return (write, group)
        case .parked:
            stage = .idle
            isParked = true
            return nil
        case .idle, .acquiring, .running: return nil
        }
    }

    /// Ends the turn of a body or a claim; whether its transaction is now that of the next one.
    func end(
        _ write: AsyncWrite, of group: WriteGroup, _ ending: AsyncWrite.Ending, _ failed: (StoreError) -> Void
    ) -> Bool {
        let isLost = group.savepoint != nil && group.transaction.isBroken
        switch lock.withLock({ decided(ending, write, isLost: isLost) }) {
        case .commit(let writes):
            group.members += writes
            lock.withLock {
                if InjectedBug.active(.asyncEarly) { end(writes, .success(0)) }
                for write in writes { enter(write) }
            }
            if write.sharing != .alone, writes.allSatisfy({ $0.sharing == .withFollowing }), pass(group) {
                return true
            }
            submit(TransactionEnd(transaction: group.transaction, writes: group.members))
        case .cancel(let writes, let error):
            // What it has cancelled by itself is no failure.
            if let error, error.code != .cancelled, !writes.contains(where: { $0.isRequest || $0.completion != nil }) {
                failed(error)
            }
            undo(group, writes, error)
        case .over(let writes, let result):
            lock.withLock {
                end(group.members + writes, result)
                stage = .idle
            }
            wakeAcquirer()
            moved()
        }
        return false
    }

    /// Under the lock: what the one that had its turn wants, unless it was cancelled meanwhile.
    ///
    /// - Parameter isLost: it has left the transaction broken, which those before it need not pay for.
    private func decided(
        _ ending: AsyncWrite.Ending, _ write: AsyncWrite, isLost: Bool
    ) -> AsyncWrite.Ending {
        promised.removeAll(keepingCapacity: true)
        guard case .commit(let writes) = ending else { return ending }
        if write.isCancelled { return .cancel(writes, AsyncWrite.cancelled) }
        if isLost {
            return .cancel(
                writes, StoreError(.corrupt, "a failed operation left the transaction unusable: it is undone"))
        }
        return ending
    }

    /// Gives the transaction to the next that waits, if there is one that may have it.
    private func pass(_ group: WriteGroup) -> Bool {
        let now = database.machine.monotonic(), end = group.end ?? (now &+ groupTime)
        func isWanted() -> Bool {
            waiting.first.map { $0.sharing != .alone || InjectedBug.active(.asyncNotAlone) } ?? false
        }
        guard now < end, !group.transaction.isBroken, lock.withLock({ isWanted() }) else { return false }
        do throws(StoreError) { try group.beginNext() } catch { return false }
        return lock.withLock {
            guard isWanted() else { return false }
            (group.end, group.patience) = (end, end)
            stage = .ready(group)
            return true
        }
    }

    /// The changes of one go; those of the members before it stay.
    private func undo(_ group: WriteGroup, _ writes: [AsyncWrite], _ error: StoreError?) {
        let failure = error ?? AsyncWrite.cancelled, transaction = group.transaction
        func cancel(_ writes: [AsyncWrite], _ failure: StoreError) {
            lock.withLock { for write in writes { enter(write) } }
            submit(
                TransactionEnd(
                    transaction: transaction, writes: writes, cancel: TransactionEnd.Cancel(failure: failure)))
        }
        guard let savepoint = group.savepoint else { return cancel(writes, failure) }
        lock.withLock { end(writes, .failure(failure)) }
        do throws(StoreError) {
            try transaction.rollBack(toSavepoint: savepoint, ofCall: true)
            try transaction.checkUsable()
            submit(TransactionEnd(transaction: transaction, writes: group.members))
        } catch {
            // Something has failed in the middle, and the members go with it: for that reason, where it is known.
            cancel(group.members, failure.code == .callback || failure.code == .cancelled ? error : failure)
        }
    }

    /// The end of a turn.
    private func submit(_ end: TransactionEnd) {
        append(end) { stage = .idle }
        wakeAcquirer()
        // Also for who waits for the end of all.
        moved()
    }

    private func append(_ end: TransactionEnd, _ alsoUnderLock: () -> Void = {}) {
        lock.withLock {
            endings.append(end)
            alsoUnderLock()
        }
        wakeCommitter()
    }

    // MARK: Committer and confirmer

    /// Writes the pages and the record of the transaction whose turn it is, or cancels it, and releases its lock;
    /// false: there is none.
    @discardableResult
    package func endNext() -> Bool {
        guard let end = lock.withLock({ endings.first }) else { return false }
        let ended: Result<EndedTransaction, StoreError>
        if let cancel = end.cancel {
            ended = .success(end.transaction.end(because: cancel.failure ?? AsyncWrite.cancelled))
        } else {
            do throws(StoreError) { ended = .success(try end.transaction.end()) } catch {
                // It is not to be used any more, for whatever reason.
                end.transaction.abandon()
                ended = .failure(error)
            }
        }
        lock.withLock {
            endings.removeFirst()
            unconfirmed.append((ended, end.writes))
        }
        wakeConfirmer()
        return true
    }

    /// Waits until the transaction that was ended first is durable, as the handle's durability says; false: there is
    /// none.
    @discardableResult
    package func confirmNext() -> Bool {
        guard let (ended, writes) = lock.withLock({ unconfirmed.first }) else { return false }
        let result: Result<UInt64, StoreError>
        do throws(StoreError) { result = .success(try ended.get().wait(durability)) } catch { result = .failure(error) }
        lock.withLock {
            unconfirmed.removeFirst()
            end(writes, result)
        }
        moved()
        return true
    }
}
