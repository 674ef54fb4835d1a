/// The writes of one handle that nobody waits for: bodies and requests, one after the other, and commits.
///
/// ```
///            acquirer                lent thread              committer   confirmer
///  waiting ──► has WRITER ─ signal ─► runs the body ────────► pages, log ─► sync ─ signal ─► lent thread: completion
///  a, b, c     for a        │         (and b's, where they     in their             │         in the order in which
///                           │          may be one commit)      order                │         the bodies have ended
///                           └ ready ► claims the transaction,                       └ ready ► claims the outcome
///                                     ends it some time
/// ```
/// Three threads of the library wait where something has to be waited for: for the writer's lock, for pages and log,
/// and for the sync. They are started by the first such write, and sleep while there is nothing to do. Bodies and
/// completions run where change sets are delivered, and nowhere else; what was requested is claimed by whatever thread
/// wants it. The committer never waits for the writer's lock, so that whoever has it gets it released: a sync may have
/// to wait for a checkpoint, which needs that lock.
///
/// The steps are functions (`acquire`, `run`, `claimBegin`, `endNext`, `confirmNext`); the threads do nothing but call
/// them.
package final class WriteQueue: @unchecked Sendable {
    let database: Database
    let durability: StoreOptions.Durability
    /// Nanoseconds that is waited for the writer's lock; negative: for ever.
    let timeout: Int64
    let cancellation: WaitCancellation?
    /// Of what another process may have made of the file; under WRITER.
    let check: (WriteTransaction) throws(StoreError) -> Void
    /// Something is due: called by any thread, with no lock held.
    private let signal: () -> Void
    private let hasThreads: Bool
    let fork = ForkGuard()

    let lock = Lock()
    // Under the lock.
    private var lastID: UInt64 = 0
    /// Bodies and requests in their order.
    var waiting = AsyncWriteList()
    var stage = Stage.idle
    /// How often in a row a turn has passed because no thread came in time.
    var late = 0
    /// Transactions that are to be ended, in their order.
    var endings: [TransactionEnd] = []
    /// Those that have ended, and are not known to be durable, in their order.
    var unconfirmed: [(ended: Result<EndedTransaction, StoreError>, writes: [AsyncWrite])] = []
    /// Those whose bodies have ended, and commits: their completions are called in this order.
    var ended = AsyncWriteList()
    /// What the one that has its turn has said is to be committed.
    var promised: [AsyncWrite] = []
    /// What was requested, until it is claimed or cancelled.
    var requests: [UInt64: AsyncWrite] = [:]
    /// Requests whose outcome is known, and that are to learn it.
    var untold: [AsyncWrite] = []
    /// Whose `ready` is being called, by which threads.
    var telling: [(id: UInt64, thread: UInt)] = []
    /// A thread calls completions.
    var isCompleting = false
    private(set) var isClosed = false
    /// Something was begun since the last of all came to its end; and how often that was.
    var hasBegun = false
    private var ends: UInt64 = 0
    private var acquirer: WorkerThread?, committer: WorkerThread?, confirmer: WorkerThread?

    /// Where the first of those that wait is.
    enum Stage {
        case idle
        /// The writer's lock is being waited for.
        case acquiring
        /// Its transaction has begun; a thread has to come.
        case ready(WriteGroup)
        /// None came for long, so the lock was released to others. The next one that comes wants it again.
        case parked
        case running(AsyncWrite)
    }

    struct TransactionEnd {
        let transaction: WriteTransaction
        let writes: [AsyncWrite]
        /// Nil: commit it.
        var cancel: Cancel?
        struct Cancel { let failure: StoreError? }
    }

    /// Nanoseconds: how long one call runs bodies and completions before the thread goes back to its own work.
    package var slice: Int64 = 200_000
    /// Nanoseconds: how long a group takes members. Its first one waits for its commit as long.
    package var groupTime: Int64 = 2_000_000

    /// Changes whenever something has become due, or has ended.
    package let progress: SharedWord

    /// - Parameter hasThreads: false: the caller makes all the steps itself.
    package init(
        _ database: Database, durability: StoreOptions.Durability, timeout: Int64 = -1,
        until cancellation: WaitCancellation? = nil, hasThreads: Bool = true,
        check: @escaping (WriteTransaction) throws(StoreError) -> Void = { _ in }, signal: @escaping () -> Void = {}
    ) {
        self.database = database
        self.durability = durability
        self.timeout = timeout
        self.cancellation = cancellation
        self.hasThreads = hasThreads
        self.check = check
        self.signal = signal
        let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        word.initialize(to: 0)
        progress = SharedWord(word)
    }

    deinit { progress.address.deallocate() }

    // MARK: Enqueueing

    /// A body that waits for its turn; its id.
    ///
    /// Errors: `.closedHandle`, `.outOfMemory`.
    package func add(
        _ sharing: AsyncWrite.Sharing, completion: AsyncWrite.Completion?, _ body: @escaping AsyncWrite.Body
    ) throws(StoreError) -> UInt64 {
        try add(sharing, .tells(completion), body)
    }

    func add(
        _ sharing: AsyncWrite.Sharing, _ end: AsyncWrite.End, _ body: AsyncWrite.Body?
    ) throws(StoreError) -> UInt64 {
        try startThreads()
        let write = try lock.withLock { () throws(StoreError) in
            try checkOpen()
            let write = newWrite(sharing, end)
            write.body = body
            try waiting.append(write)
            if write.isRequest { requests[write.id] = write }
            hasBegun = true
            return write
        }
        wakeAcquirer()
        return write.id
    }

    /// Commits a transaction that has begun otherwise, and is the queue's from here on, whatever is thrown; the id.
    ///
    /// Errors: `.closedHandle`, `.outOfMemory`, with which it is cancelled.
    func commit(_ transaction: WriteTransaction, _ end: AsyncWrite.End) throws(StoreError) -> UInt64 {
        do throws(StoreError) {
            try startThreads()
            let write = try lock.withLock { () throws(StoreError) in
                try checkOpen()
                let write = newWrite(.none, end)
                if write.isRequest {
                    requests[write.id] = write
                } else {
                    try ended.append(write)
                    write.hasEnded = true
                }
                hasBegun = true
                endings.append(TransactionEnd(transaction: transaction, writes: [write]))
                return write
            }
            wakeCommitter()
            return write.id
        } catch {
            throw transaction.cancel(because: error, durability)
        }
    }

    /// A commit by the one that has its turn: for when the body has ended. Also while the store is being closed.
    package func newCommit(_ sharing: AsyncWrite.Sharing, _ end: AsyncWrite.End) -> AsyncWrite {
        lock.withLock {
            let write = newWrite(sharing, end)
            promised.append(write)
            if write.isRequest { requests[write.id] = write }
            return write
        }
    }

    private func checkOpen() throws(StoreError) { if isClosed { throw WriteQueue.closedError } }
    static var closedError: StoreError { StoreError(.closedHandle, "the store is being closed") }

    private func newWrite(_ sharing: AsyncWrite.Sharing, _ end: AsyncWrite.End) -> AsyncWrite {
        lastID += 1
        return AsyncWrite(id: lastID, sharing, end)
    }

    /// What has not begun never will, and nobody is told. What has its turn is undone when that ends, and its
    /// completion is told. Of what has ended, nobody is told any more. What is over, or unknown, stays.
    package func cancel(_ id: UInt64) {
        // Freed without the lock: what they capture may run code of the application then.
        var left: WriteGroup?, dropped: AsyncWrite?, completion: AsyncWrite.Completion?, ready: AsyncWrite.Ready?
        lock.withLock {
            if let request = requests.removeValue(forKey: id) { swap(&ready, &request.ready) }
            dropped = InjectedBug.active(.asyncCancelLost) ? nil : waiting.remove(id)
            if dropped != nil {
                left = firstHasChanged()
            } else if case .running(let write) = stage, write.id == id {
                write.isCancelled = true
            } else if let write = ended.first(id) ?? promised.first(where: { $0.id == id }) {
                swap(&completion, &write.completion)
            }
        }
        if let left { letGo(left) }
        withExtendedLifetime((dropped, completion, ready)) {}
        waitForTelling(id)
        wakeAcquirer()
        moved()
    }

    // MARK: Activity

    /// Whether something was begun and has not come to its end, its completion included.
    package var isActive: Bool { lock.withLock { isActiveLocked } }

    private var isActiveLocked: Bool {
        if !waiting.isEmpty || !endings.isEmpty || !unconfirmed.isEmpty || !ended.isEmpty || isCompleting {
            return true
        }
        switch stage {
        // Waited for by one that was cancelled.
        case .idle, .acquiring: return false
        case .ready, .parked, .running: return true
        }
    }

    /// How often all has come to its end.
    var endCount: UInt64 { lock.withLock { ends } }

    /// Whether a thread that comes finds something to do.
    package var isDue: Bool {
        lock.withLock {
            if !isCompleting, ended.first?.result != nil { return true }
            switch stage {
            case .ready, .parked: return waiting.first?.isRequest == false
            case .idle, .acquiring, .running: return false
            }
        }
    }

    /// Something has become due, or has ended; also the last of all, which who waits for that must see.
    func moved() {
        tellReady()
        progress.add(1)
        database.machine.wake(progress)
        let isEnd = lock.withLock { () -> Bool in
            if !hasBegun || isActiveLocked { return false }
            hasBegun = false
            ends += 1
            return true
        }
        if isEnd || isDue { signal() }
    }

    // MARK: The threads

    private func startThreads() throws(StoreError) {
        guard hasThreads else { return }
        try lock.withLock { () throws(StoreError) in
            if isClosed || acquirer != nil { return }
            var started: [WorkerThread] = []
            func start(
                _ name: String, _ run: @escaping @Sendable (WriteQueue, WorkerThread) -> Void
            ) throws(StoreError) -> WorkerThread {
                let thread = try database.machine.startThread(name) { [unowned self] in run(self, $0) }
                started.append(thread)
                return thread
            }
            do throws(StoreError) {
                let committer = try start("objstore commit") { (queue, thread) in
                    while !thread.isStopping { if !queue.endNext() { _ = thread.waitForSignal(timeout: -1) } }
                }
                let confirmer = try start("objstore confirm") { (queue, thread) in
                    while !thread.isStopping { if !queue.confirmNext() { _ = thread.waitForSignal(timeout: -1) } }
                }
                acquirer = try start("objstore begin") { (queue, thread) in queue.runAcquirer(thread) }
                (self.committer, self.confirmer) = (committer, confirmer)
            } catch {
                for thread in started { thread.stopAndJoin() }
                throw error
            }
        }
    }

    private func runAcquirer(_ thread: WorkerThread) {
        while !thread.isStopping {
            // Where beginning failed for one, the next wants its turn.
            while !thread.isStopping, acquire() {}
            guard let end = lock.withLock({ if case .ready(let group) = stage { group.patience } else { nil } }) else {
                _ = thread.waitForSignal(timeout: -1)
                continue
            }
            let left = end - database.machine.monotonic()
            if left <= 0 { park() } else { _ = thread.waitForSignal(timeout: left) }
        }
    }

    func wakeAcquirer() { lock.withLock { acquirer }?.signal() }
    func wakeCommitter() { lock.withLock { committer }?.signal() }
    func wakeConfirmer() { lock.withLock { confirmer }?.signal() }

    // MARK: Closing

    /// Nothing is taken any more, and requests fail; what was taken comes to its end, with bodies and completions on
    /// this thread, too. `stop` has to follow.
    package func finish(_ failed: (StoreError) -> Void) {
        if fork.isChild { return }
        lock.withLock { isClosed = true }
        refuseRequests()
        while true {
            let seen = progress.current
            _ = run(failed)
            if fork.isChild { return }
            if !isActive || InjectedBug.active(.asyncCloseHurries) { break }
            database.machine.wait(progress, while: seen, timeout: -1)
        }
    }

    /// Ends the threads. One may be waiting for the lock, for a body that was cancelled: waits are cancelled by now.
    package func stop() {
        if fork.isChild { return }
        let threads = lock.withLock { () -> [WorkerThread?] in
            defer { (acquirer, committer, confirmer) = (nil, nil, nil) }
            return [acquirer, committer, confirmer]
        }
        for thread in threads { thread?.stopAndJoin() }
    }
}
