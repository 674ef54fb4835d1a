internal import CSystem

/// Tells the application now and then how far a query has come, and ends it where the application wants that.
///
/// ```
///  View.count(query) ─► QueryWatch.watching ─► LeafScan, RowBlocks, RowTest ─► WatchedQuery.look ─► progress
/// ```
package final class QueryWatch: Sendable {
    private let interval: Int64
    private let progress: @Sendable (UInt64, UInt64) throws(StoreError) -> Void

    /// - Parameters:
    ///   - interval: nanoseconds between two calls; 0: as often as something is looked at.
    ///   - progress: called with how many objects were looked at, and how many the class has, or elements of how many;
    ///     what it throws ends the query.
    package init(
        every interval: Int64, _ progress: @escaping @Sendable (UInt64, UInt64) throws(StoreError) -> Void
    ) {
        self.interval = interval
        self.progress = progress
    }

    /// Runs `body`, which asks a query.
    ///
    /// - Parameter total: how much there is to be looked at.
    /// Errors: those of `progress`; `.inCallback`: it has ended, or changed, the transaction.
    func watching<T>(
        _ trees: TreeAccess, _ total: (TreeAccess) throws(StoreError) -> Int, _ body: () throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let total = UInt64(try total(trees)), progress = progress
        var gate: (any TransactionGate)?
        if case .transaction(let transaction) = trees { gate = transaction.gate }
        let query = WatchedQuery(every: interval) { [gate] (done) throws(StoreError) in
            guard let gate else { return try progress(done, total) }
            let mark = gate.leave()
            do throws(StoreError) { try progress(done, total) } catch {
                try gate.enter(mark)
                throw error
            }
            try gate.enter(mark)
        }
        return try withExtendedLifetime(query) { () throws(StoreError) in try query.watching(body) }
    }
}

/// Who watches the queries of a store's handle, what they may allocate, and how many threads they may use: seldom
/// anybody, as a rule anything, and one.
final class QueryWatcher: @unchecked Sendable {
    private let lock = Lock()
    private var watch: QueryWatch?
    /// Not 0: there is something to do around a query. Views read it where it lies, for a reference counted costs more.
    let flag = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    private let mostBytes: Int64
    private let threads: Int

    init(mostBytes: Int64, threads: Int) {
        self.mostBytes = mostBytes
        self.threads = threads
        flag.initialize(to: mostBytes < .max || threads > 1 ? 1 : 0)
    }

    deinit { flag.deallocate() }

    private var isOn: Bool { cs_load64_acquire(flag) != 0 }

    /// Runs `body`, which asks a query.
    ///
    /// Errors: as of `QueryWatch.watching`; `.outOfMemory`: it needs more than it may.
    func watching<T>(
        _ trees: TreeAccess, _ total: (TreeAccess) throws(StoreError) -> Int, _ body: () throws(StoreError) -> T
    ) throws(StoreError) -> T {
        guard isOn else { return try body() }
        func watched() throws(StoreError) -> T {
            guard !WatchedQuery.isTelling, let watch = current else { return try body() }
            return try watch.watching(trees, total, body)
        }
        func limited() throws(StoreError) -> T {
            mostBytes == .max ? try watched() : try Memory.limited(to: mostBytes, watched)
        }
        return threads == 1 ? try limited() : try QueryThreads.allowing(threads, limited)
    }

    var current: QueryWatch? {
        get { lock.withLock { watch } }
        set {
            let old = lock.withLock { () -> QueryWatch? in
                defer { watch = newValue }
                SharedWord(flag).store(newValue != nil || mostBytes < .max || threads > 1 ? 1 : 0)
                return watch
            }
            // Let go outside of the lock: it may be the last reference to what the application gave.
            withExtendedLifetime(old) {}
        }
    }
}
