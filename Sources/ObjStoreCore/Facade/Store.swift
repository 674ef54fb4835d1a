/// An open store, as one part of the application opened it: mode, durability and timeout are its own, the
/// content is shared with every other handle, thread and process.
package final class Store: @unchecked Sendable {
    package let shared: SharedStore
    package let mode: StoreConfiguration.Mode
    package let durability: StoreOptions.Durability
    /// Milliseconds to wait for other writers; negative: for ever.
    package let writeTimeout: Int64
    /// No write begins while more versions are alive.
    let maxVersions: Int64
    /// What the program calls what it calls otherwise than the file.
    let names: StoredNames
    let order: DeclaredOrder
    let enumerations: Enumerations
    /// What the program uses of the file; nil: what it finds. Only opening and the writer's lock holder touch it.
    var inUse: SchemaInUse?
    /// It is the first of the process.
    let isFirst: Bool
    /// This handle created the file / replayed its log.
    package let wasCreated: Bool
    package let wasRecovered: Bool

    /// The version that this opening gave the file; nil if it has not, or if the file was changed since. Only
    /// opening touches it.
    var ownVersion: UInt64?

    /// What this handle observes.
    package let hub: ObserverHub

    private let lock = Lock()
    private var closed = false
    /// Of what works on the store's files and is not inside of a view's lock.
    let calls = CallGate()
    /// Of queries that call functions of the application.
    let asking = CallGate()
    /// What queries can call, by the handle that they are made with.
    package let functions = QueryFunctions()
    /// Who is told how far its queries have come.
    let watcher: QueryWatcher
    /// Cancelled when it is about to be closed, or the program does not want to wait longer: all its waits end.
    let waitCancellation: WaitCancellation
    /// Views that must be closed with the store; they do not keep themselves alive through it.
    private var views: [ObjectIdentifier: ViewTether] = [:]
    /// The open transaction, which lives until it is closed.
    private var transaction: View?
    /// Hubs beside the handle's own; see `makeHub`.
    private var hubs: [ObserverHub] = []
    /// Made by the first asynchronous write.
    private var queue: WriteQueue?

    /// - Parameter draft: with the names that the file has.
    init(
        _ shared: SharedStore, _ configuration: StoreConfiguration, _ names: StoredNames, _ draft: SchemaDraft
    ) throws(StoreError) {
        self.shared = shared
        mode = configuration.mode
        durability = configuration.durability
        writeTimeout = configuration.writeTimeout
        maxVersions = configuration.limits[.versions] ?? StoreConfiguration.Limit.versions.standard
        watcher = QueryWatcher(
            mostBytes: configuration.limits[.queryBytes] ?? StoreConfiguration.Limit.queryBytes.standard,
            threads: Int(configuration.limits[.queryThreads] ?? StoreConfiguration.Limit.queryThreads.standard))
        waitCancellation = WaitCancellation(asking: configuration.onWait)
        self.names = names
        order = DeclaredOrder(draft)
        enumerations = Enumerations(draft)
        isFirst = shared.claimFirst()
        wasCreated = isFirst && shared.wasCreated
        wasRecovered = isFirst && shared.database.wasRecovered
        ownVersion = isFirst ? shared.madeVersion : nil
        let log = shared.log, told = configuration.onDeliveryFailure
        hub = ObserverHub(
            shared.database, deliversOnWorker: shared.deliversOnWorker,
            mostLag: UInt64(configuration.limits[.observerLag] ?? StoreConfiguration.Limit.observerLag.standard),
            onFailure: { error in
                log?.write(.error, "delivering changes on the worker failed: \(error.message)")
                told?(error)
            })
    }

    // MARK: Views

    package func openView() throws(StoreError) -> View {
        try calls.within { () throws(StoreError) in
            try checkOpen()
            return try register(View(store: self, snapshot: shared.database.snapshot(), kind: .live))
        }
    }

    /// Closes the view again where the store was closed meanwhile.
    func register(_ view: View) throws(StoreError) -> View {
        let isOpen = lock.withLock { () -> Bool in
            if closed || (waitCancellation.isCancelled && view.kind == .transaction) { return false }
            if view.kind == .transaction { transaction = view } else { views[ObjectIdentifier(view)] = view.tether }
            return true
        }
        guard isOpen else {
            view.close()
            throw closedError
        }
        return view
    }

    func unregister(_ view: View) {
        if view.kind == .live, view.tether.hasFollowed { hub.move(view.tether, false) }
        lock.withLock {
            if view.kind != .transaction {
                views[ObjectIdentifier(view)] = nil
            } else if transaction === view {
                transaction = nil
            }
        }
    }

    // MARK: Observing

    var otherHubs: [ObserverHub] { lock.withLock { hubs } }

    /// A hub for one consumer that waits by its own means; closed with the store at the latest.
    ///
    /// - Parameter onDue: by any thread; returns at once, and calls nothing of the library. What delivers later holds a
    ///   reference to this store, or the last one could go inside of a handler, where it cannot be closed.
    package func makeHub(onDue: @escaping @Sendable () -> Void) throws(StoreError) -> ObserverHub {
        try checkOpen()
        let hub = ObserverHub(shared.database, mostLag: self.hub.mostLag, onDue: onDue)
        let isOpen = lock.withLock { () -> Bool in
            if closed { return false }
            hubs.removeAll { $0.isOver }
            hubs.append(hub)
            return true
        }
        guard isOpen else { throw closedError }
        return hub
    }

    /// Its observers have ended: it is let go of when none of its handlers runs any more.
    package func leave(_ hub: ObserverHub) {
        hub.leave()
        lock.withLock { hubs.removeAll { $0.isOver } }
    }

    /// A second call, also one after the store was closed, does nothing.
    package func close(_ hub: ObserverHub) {
        lock.withLock { hubs.removeAll { $0 === hub } }
        try? hub.close()  // throws for hubs with handlers of the application only
    }

    // MARK: Writing

    /// How long to wait for other writers.
    package enum Wait {
        /// As the configuration says.
        case standard
        case notAtAll
        /// Milliseconds; negative: for ever.
        case atMost(Int64)
    }

    /// Begins a transaction on the newest version, not on that of any view. It is open until it is committed, cancelled
    /// or closed, or until the store is.
    ///
    /// Errors: `.readOnly`, `.alreadyInWrite`, `.busy` (`.notAtAll`), `.timeout`, `.poisoned`, `.tooManyReaders`,
    /// `.tooManyVersions`, `.schemaMismatch` (the file has a higher version of the schema meanwhile, without something
    /// that this handle's has).
    package func begin(_ wait: Wait = .standard) throws(StoreError) -> View {
        try calls.within { () throws(StoreError) in try beginInside(wait) }
    }

    private func beginInside(_ wait: Wait) throws(StoreError) -> View {
        try checkWritable()
        try shared.checkOutside("begin")
        let transaction: WriteTransaction
        switch wait {
        case .standard: transaction = try begin(timeout: writeTimeout, isTry: false)
        case .notAtAll: transaction = try begin(timeout: 0, isTry: true)
        case .atMost(let milliseconds): transaction = try begin(timeout: milliseconds, isTry: false)
        }
        do throws(StoreError) { try check(transaction) } catch {
            shared.willEnd()
            throw transaction.cancel(because: error, .full)
        }
        return try register(View(store: self, transaction: transaction))
    }

    /// What can be said only when it has begun, and nobody else writes.
    private func check(_ transaction: WriteTransaction) throws(StoreError) {
        try inUse?.check(transaction.schema)
        try checkVersions()
    }

    func begin(timeout: Int64, isTry: Bool) throws(StoreError) -> WriteTransaction {
        let transaction: WriteTransaction
        if let ready = shared.takeReady() {
            transaction = ready
        } else {
            transaction = try WriteTransaction.begin(
                shared.database, timeout: nanoseconds(timeout), isTry: isTry, until: waitCancellation)
        }
        shared.didBegin()
        return transaction
    }

    /// Ends the transaction that is open; the store has no writer afterwards, also on failure.
    func end<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        shared.willEnd()
        return try body()
    }

    package func flush() throws(StoreError) {
        try upkeep("flush") { () throws(StoreError) in
            // What is durable there could not be found again. (The store's own thread flushes all the same.)
            try shared.database.checkInPlace()
            try shared.database.flush()
        }
    }

    package func checkpoint() throws(StoreError) {
        try upkeep("checkpoint") { () throws(StoreError) in
            try shared.database.checkpoint(timeout: nanoseconds(writeTimeout), until: waitCancellation)
        }
    }

    func upkeep(_ operation: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        try calls.within { () throws(StoreError) in
            try checkWritable()
            try shared.checkOutside(operation)
            try body()
        }
    }

    /// Makes the file as small as what lives in it, while others read and write; see `Database.compact`.
    package func compact(_ progress: ProgressCallback) throws(StoreError) {
        try upkeep("compact") { () throws(StoreError) in
            try shared.database.compact(timeout: nanoseconds(writeTimeout), until: waitCancellation, progress)
        }
    }

    package func checkOpen() throws(StoreError) {
        try shared.database.checkOpen()
        if isClosed { throw closedError }
        try shared.database.checkNotReplaced()
    }

    var existingQueue: WriteQueue? { lock.withLock { queue } }

    /// - Parameter hasThreads: false: for tests, which make all steps of the queue themselves.
    package func writeQueue(hasThreads: Bool = true) throws(StoreError) -> WriteQueue {
        let made = try lock.withLock { () throws(StoreError) -> (queue: WriteQueue, isNew: Bool) in
            if let queue { return (queue, false) }
            if closed { throw closedError }
            let new = WriteQueue(
                shared.database, durability: durability, timeout: nanoseconds(writeTimeout), until: waitCancellation,
                hasThreads: hasThreads,
                check: { [unowned self] (transaction) throws(StoreError) in try self.check(transaction) },
                signal: { [unowned hub] in hub.signal() })
            queue = new
            return (new, true)
        }
        if made.isNew {
            shared.add(made.queue)
            hub.attach(made.queue)
        }
        return made.queue
    }

    func checkWritable() throws(StoreError) {
        try checkOpen()
        if mode != .readWrite { throw StoreError(.readOnly, "the store is open read-only") }
    }

    private var closedError: StoreError { StoreError(.closedHandle, "the store was closed") }
    package var isClosed: Bool { lock.withLock { closed } }

    // MARK: Closing

    /// Lets asynchronous writes come to their end, on this thread where they need one; then ends observers, and wakes
    /// threads that wait for changes, or to begin a transaction. Before `close`, for callers that close only when no
    /// call is in progress any more. `.inCallback`: from inside a change handler, and nothing has happened.
    package func endWaits() throws(StoreError) {
        try checkNotAsking()
        if isInHandler { throw hub.inCallback("closed") }
        if let queue = existingQueue {
            // The transaction that this thread has open ends with the store, and bodies may be waiting for it.
            let open = lock.withLock { transaction }
            if let open, open.turn?.isClaimed != false, !hub.isInCallback { open.close() }
            try hub.finish(queue)
        }
        try hub.stop()
        waitCancellation.cancel()
        if let queue = existingQueue {
            queue.stop()
            shared.remove(queue)
        }
    }

    /// Ends observers and wakes waiting threads, cancels transactions, closes views, and, as the last handle of the
    /// process, closes the store. The handle is closed whatever is thrown, except for `.inCallback` (from inside a
    /// change handler). Waits for calls of other threads on its views.
    package func close() throws(StoreError) {
        try endWaits()
        let open = lock.withLock { () -> (views: [ViewTether], transaction: View?, hubs: [ObserverHub])? in
            if closed { return nil }
            closed = true
            return (Array(views.values), transaction, hubs)
        }
        guard let open else { return }
        if shared.isInherited { return }
        for view in open.views { view.close() }
        open.transaction?.close(waitsForReaders: true)
        // After the transactions: a handler may be waiting for one of them to end.
        try hub.close()
        for hub in open.hubs { close(hub) }
        asking.waitForOthers()
        calls.waitForOthers()
        functions.removeAll()
        watcher.current = nil
        try shared.leave()
    }

    deinit { try? close() }
}
