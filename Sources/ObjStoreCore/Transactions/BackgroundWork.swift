internal import CSystem

/// The thread of a store that makes checkpoints, and syncs relaxed commits when they are due.
final class BackgroundWork: @unchecked Sendable {
    private let lock = Lock()
    /// Monotonic time at which relaxed commits must be synced.
    private var syncDeadline: Int64?
    private var wantsCheckpoint = false
    private var thread: WorkerThread?
    /// Nothing was committed since the last checkpoint: the thread sleeps until the next commit.
    private var isAsleep = false
    /// Kept until `stop`: a store must be closed.
    private let database: Database
    private let machine: Machine

    /// Objects changed since the last checkpoint that was due.
    private var changes = 0

    init(_ database: Database) throws(StoreError) {
        self.database = database
        machine = database.machine
    }

    /// The thread starts with the first commit: who only reads has none.
    private func start() {
        guard thread == nil, let new = try? machine.startThread("objstore", { [unowned self] in self.run($0) }) else { return }
        thread = new
    }

    /// After a commit: is a checkpoint due?
    func didCommit(_ database: Database) {
        let head = database.shared.ringEntry(database.shared.head.load())
        let start = database.shared.logStart.load()
        // Another process may have moved LOGSTART past the entry that was read.
        guard LogStart.epoch(start) == LogStart.low(head.log.epoch), head.log.lsn >= LogStart.lsn(start) else { return }
        let used = Int(head.log.lsn - LogStart.lsn(start))
        let isDue = used >= min(database.options.checkpointBytes, head.log.region.bytes / 4)
        signal {
            let isDue = isDue || self.changes >= database.options.checkpointOperations
            if isDue { self.changes = 0 }
            self.wantsCheckpoint = self.wantsCheckpoint || isDue
            return isDue || self.isAsleep || self.thread == nil
        }
    }

    func didChange(_ objects: Int) { lock.withLock { changes += objects } }

    func syncWithin(milliseconds: Int) {
        let deadline = machine.monotonic() + Int64(milliseconds) * 1_000_000
        signal {
            if let now = self.syncDeadline, now <= deadline { return false }
            self.syncDeadline = deadline
            return true
        }
    }

    private func signal(_ change: () -> Bool) {
        let thread: WorkerThread? = lock.withLock {
            let needed = change()
            if self.thread == nil { start() }
            return needed ? self.thread : nil
        }
        thread?.signal()
    }

    func stop() {
        let running = lock.withLock { () -> WorkerThread? in
            defer { thread = nil }
            return thread
        }
        running?.stopAndJoin()
    }

    private func run(_ thread: WorkerThread) {
        var isIdle = false
        while !thread.isStopping {
            let deadline = lock.withLock { syncDeadline }
            var timeout: Int64 = isIdle ? -1 : database.options.checkpointIdle
            if let deadline { timeout = max(0, min(deadline - machine.monotonic(), timeout < 0 ? .max : timeout)) }
            let wasSignalled = thread.waitForSignal(timeout: timeout)
            if thread.isStopping { break }
            let (checkpointDue, syncDue) = lock.withLock { () -> (Bool, Bool) in
                let sync = syncDeadline.map { $0 <= machine.monotonic() } ?? false
                if sync { syncDeadline = nil }
                defer { wantsCheckpoint = false }
                return (wantsCheckpoint, sync)
            }
            isIdle = !wasSignalled && !checkpointDue && !syncDue && deadline == nil
            lock.withLock { isAsleep = isIdle }
            // What fails here fails in the next call of the application too, with a message: poison, a full disk.
            if syncDue { try? database.flush() }
            if checkpointDue || isIdle { try? database.checkpoint(atLeast: database.shared.head.current) }
        }
    }
}
