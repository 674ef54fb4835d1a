/// The steps of a queue: the writer's lock for the first body, bodies and completions, commits.
extension WriteQueue {
    /// How long a transaction is kept for a thread to come: others may be waiting for the lock, also of this process.
    static let patience: Int64 = 50_000_000

    // MARK: Acquirer

    /// Waits for the writer's lock where a body does; false: none does.
    @discardableResult
    package func acquire() -> Bool {
        let isWanted = lock.withLock { () -> Bool in
            guard case .idle = stage, !waiting.isEmpty else { return false }
            stage = .acquiring
            return true
        }
        if !isWanted { return false }
        do throws(StoreError) {
            let transaction = try begin()
            let isNeeded = lock.withLock { () -> Bool in
                stage = waiting.isEmpty ? .idle : .ready(transaction)
                return !waiting.isEmpty
            }
            if !isNeeded { transaction.abandon() }
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

    /// Releases the lock that no thread has come for.
    package func park() {
        let transaction = lock.withLock { () -> WriteTransaction? in
            guard case .ready(let transaction) = stage else { return nil }
            stage = .parked
            return transaction
        }
        transaction?.abandon()
        moved()
    }

    /// Under the lock: their results are known. What was not in the order yet takes its place in it.
    private func end(_ writes: [AsyncWrite], _ result: Result<UInt64, StoreError>) {
        for write in writes {
            write.result = result
            enter(write)
        }
    }

    /// Under the lock.
    private func enter(_ write: AsyncWrite) {
        if write.hasEnded { return }
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
        let isFree = lock.withLock { () -> Bool in
            if isCompleting { return false }
            isCompleting = true
            return true
        }
        if !isFree { return 0 }
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
        guard let claimed = claim() else { return 0 }
        let transaction = claimed.1
        var write = claimed.0
        // Whose changes the transaction has, and where those of the body that runs begin.
        var members: [AsyncWrite] = [], savepoint: UInt64?, calls = 0
        while true {
            var body: AsyncWrite.Body?
            lock.withLock { swap(&body, &write.body) }
            calls += 1
            let ending = body.unsafelyUnwrapped(write, transaction)
            body = nil
            if fork.isChild { return calls }
            switch lock.withLock({ decided(ending, write, isLost: savepoint != nil && transaction.isBroken) }) {
            case .commit(let writes):
                members += writes
                lock.withLock {
                    if InjectedBug.active(.asyncEarly) { self.end(writes, .success(0)) }
                    for write in writes { enter(write) }
                }
                if database.machine.monotonic() < end, writes.allSatisfy(\.mayGroup),
                    let (next, begun) = another(in: transaction, after: savepoint)
                {
                    (write, savepoint) = (next, begun)
                    continue
                }
                submit(TransactionEnd(transaction: transaction, writes: members))
            case .cancel(let writes, let error):
                // What it has cancelled by itself is no failure.
                if let error, error.code != .cancelled, writes.allSatisfy({ $0.completion == nil }) { failed(error) }
                undo(transaction, to: savepoint, members, writes, error)
            case .over(let writes, let result):
                lock.withLock {
                    self.end(members + writes, result)
                    stage = .idle
                }
                wakeAcquirer()
                moved()
            }
            return calls
        }
    }

    /// The body whose turn it is, if its transaction has begun; one that was parked is to begin again.
    private func claim() -> (AsyncWrite, WriteTransaction)? {
        var isParked = false
        let claimed = lock.withLock { () -> (AsyncWrite, WriteTransaction)? in
            switch stage {
            case .ready(let transaction):
                let write = InjectedBug.active(.asyncOvertakes) ? waiting.removeLast() : waiting.removeFirst()
                stage = .running(write)
                return (write, transaction)
            case .parked:
                stage = .idle
                isParked = true
                return nil
            case .idle, .acquiring, .running: return nil
            }
        }
        if isParked { wakeAcquirer() }
        return claimed
    }

    /// Under the lock: what the body wants, unless it was cancelled meanwhile.
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

    /// The next body, whose changes will be one commit with what the transaction has; and a savepoint before them.
    private func another(
        in transaction: WriteTransaction, after savepoint: UInt64?
    ) -> (AsyncWrite, savepoint: UInt64)? {
        if lock.withLock({ waiting.isEmpty }) { return nil }
        let begun: UInt64
        do throws(StoreError) {
            // Savepoints that the last body has left open end with it.
            if let savepoint {
                try transaction.releaseSavepoint(savepoint, ofCall: true)
            } else {
                transaction.releaseAllSavepoints()
            }
            begun = try transaction.beginSavepoint(ofCall: true)
        } catch {
            return nil  // the commit says what is wrong
        }
        return lock.withLock { () -> (AsyncWrite, UInt64)? in
            if waiting.isEmpty { return nil }
            let next = waiting.removeFirst()
            stage = .running(next)
            return (next, begun)
        }
    }

    /// The changes of one body go; those of bodies before it in the transaction stay.
    private func undo(
        _ transaction: WriteTransaction, to savepoint: UInt64?, _ members: [AsyncWrite], _ writes: [AsyncWrite],
        _ error: StoreError?
    ) {
        let failure = error ?? AsyncWrite.cancelled
        guard let savepoint else {
            lock.withLock { for write in writes { enter(write) } }
            return submit(
                TransactionEnd(
                    transaction: transaction, writes: writes, cancel: TransactionEnd.Cancel(failure: failure)))
        }
        do throws(StoreError) {
            try transaction.rollBack(toSavepoint: savepoint, ofCall: true)
            lock.withLock { self.end(writes, .failure(failure)) }
            submit(TransactionEnd(transaction: transaction, writes: members))
        } catch {
            lock.withLock { for write in writes { enter(write) } }
            submit(
                TransactionEnd(
                    transaction: transaction, writes: members + writes, cancel: TransactionEnd.Cancel(failure: error)))
        }
    }

    private func submit(_ end: TransactionEnd) {
        lock.withLock {
            endings.append(end)
            stage = .idle
        }
        wakeCommitter()
        wakeAcquirer()
        // Also for who waits for the end of all.
        moved()
    }

    // MARK: Committer

    /// Ends the transaction whose turn it is, which takes as long as its pages, its record and their sync; false: there
    /// is none.
    @discardableResult
    package func endNext() -> Bool {
        guard let end = lock.withLock({ endings.first }) else { return false }
        var result: Result<UInt64, StoreError>
        do throws(StoreError) {
            if let cancel = end.cancel {
                try end.transaction.cancel(durability)
                result = .failure(cancel.failure ?? AsyncWrite.cancelled)
            } else {
                result = .success(try end.transaction.commit(durability))
            }
        } catch {
            result = .failure(error)
        }
        lock.withLock {
            endings.removeFirst()
            self.end(end.writes, result)
        }
        moved()
        return true
    }
}
