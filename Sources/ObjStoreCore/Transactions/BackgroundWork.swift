internal import CSystem

/// The thread of a store that makes checkpoints, syncs relaxed commits when they are due, and compacts after many
/// deletions.
package final class BackgroundWork: @unchecked Sendable {
    private let lock = Lock()
    /// Monotonic time at which relaxed commits must be synced.
    private var syncDeadline: Int64?
    /// There were such commits.
    private var hasRelaxed = false
    private var wantsCheckpoint = false
    private var thread: WorkerThread?
    /// For ever: the thread's own last commit, in a compaction, must not start another one.
    private var isStopped = false
    /// Nothing was committed since the last checkpoint: the thread sleeps until the next commit.
    private var isAsleep = false
    /// Kept until `stop`: a store must be closed.
    private let database: Database
    private let machine: Machine

    /// Objects changed since the last checkpoint that was due.
    private var changes = 0
    /// Objects deleted by this process since it last compacted.
    private var deletions = 0
    /// Fewer deletions are not worth a compaction.
    private static let fewDeletions = 1 << 14

    package init(_ database: Database) throws(StoreError) {
        self.database = database
        machine = database.machine
    }

    /// The thread starts with the first commit: a process that only reads has none.
    private func start() {
        guard thread == nil, !isStopped,
            let new = try? machine.startThread("objstore", { [unowned self] in self.run($0) })
        else { return }
        thread = new
    }

    /// After a commit: is a checkpoint due?
    package func didCommit(_ database: Database) {
        // What is wrong the next call of the application says.
        guard let head = try? database.shared.headEntry() else { return }
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

    func didChange(_ objects: Int, deleted: Int) {
        lock.withLock {
            changes += objects
            deletions += deleted
        }
    }

    package func syncWithin(milliseconds: Int) {
        let deadline = machine.monotonic() + Int64(milliseconds) * 1_000_000
        signal {
            self.hasRelaxed = true
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

    /// Returns whether relaxed commits may be left without a sync.
    package func stop() -> Bool {
        let running = lock.withLock { () -> WorkerThread? in
            defer { thread = nil }
            isStopped = true
            return thread
        }
        running?.stopAndJoin()
        return lock.withLock { hasRelaxed }
    }

    package var isRunning: Bool { lock.withLock { thread != nil } }

    private func run(_ thread: WorkerThread) {
        var isIdle = false
        while !thread.isStopping {
            let deadline = lock.withLock { syncDeadline }
            var timeout: Int64 = isIdle ? -1 : database.options.checkpointIdle
            if let deadline { timeout = max(0, min(deadline - machine.monotonic(), timeout < 0 ? .max : timeout)) }
            let wasSignalled = thread.waitForSignal(timeout: timeout)
            if thread.isStopping { break }
            let syncDue = takeDueSync()
            let checkpointDue = lock.withLock { () -> Bool in
                defer { wantsCheckpoint = false }
                return wantsCheckpoint
            }
            isIdle = !wasSignalled && !checkpointDue && !syncDue && deadline == nil
            lock.withLock { isAsleep = isIdle }
            // What fails here fails in the next call of the application too, with a message: poison, a full disk.
            if syncDue { try? database.flush() }
            if checkpointDue || isIdle {
                try? database.checkpoint(atLeast: database.shared.head.current, isIdle: isIdle)
            }
            if checkpointDue || isIdle, wantsCompaction() { compact(thread) }
        }
    }

    /// Whether relaxed commits must be synced now; the caller does it.
    private func takeDueSync() -> Bool {
        lock.withLock {
            guard let deadline = syncDeadline, deadline <= machine.monotonic() else { return false }
            syncDeadline = nil
            return true
        }
    }

    // MARK: Compaction

    /// Whether this process has deleted a quarter of what there was.
    private func wantsCompaction() -> Bool {
        let deleted = lock.withLock { deletions }
        guard deleted >= BackgroundWork.fewDeletions, let objects = try? database.snapshot().objectCount() else {
            return false
        }
        return deleted * 3 >= objects
    }

    /// In steps, each of which gives way to writers that are waiting; between them what else is due is done.
    private func compact(_ thread: WorkerThread) {
        let deleted = lock.withLock { () -> Int in
            defer { deletions = 0 }
            return deletions
        }
        let isDone: Void? = try? database.compact(timeout: 1_000_000_000) { (_, _) throws(StoreError) in
            if thread.isStopping { throw StoreError(.cancelled, "the store is being closed") }
            if takeDueSync() { try? database.flush() }
        }
        // A long transaction was in its way, or a full disk: another time.
        if isDone == nil { lock.withLock { deletions += deleted } }
    }
}
