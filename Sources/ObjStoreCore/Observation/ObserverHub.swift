/// The observers of one handle on a store: which ones, from when to when. Delivery.swift has how change sets reach
/// them, on threads that the application lends.
///
/// ```
/// commit, any process ─► PUBLISHED, futex ─► ChangeWatch (one thread a store) ─► descriptor readable
///                                                                                   │ poll, epoll, asyncio …
///                handler(change set) ◄── ChangeReader: log or trees ◄── deliver() ◄─┘
/// ```
/// A change set goes to one thread, the calls of one handler never overlap, and no lock is held while a
/// handler runs: it may read, write, open and close observers, also its own. It may not deliver or wait.
package final class ObserverHub: VersionListener, @unchecked Sendable {
    package let database: Database
    /// Handlers run on the store's own thread; there is nothing to poll then.
    let deliversOnWorker: Bool
    /// Called when something is due, instead of the descriptor; by any thread, with no lock held.
    let onDue: (@Sendable () -> Void)?
    /// So many versions an observer may be behind.
    let mostLag: UInt64
    /// Gets each failure on the store's own thread, since no caller waits for it.
    let onFailure: (@Sendable (StoreError) -> Void)?
    let fork = ForkGuard()
    let lock = Lock()

    // Under the lock.
    /// Writes whose bodies and completions are called where change sets are delivered.
    var queue: WriteQueue?
    /// How many ends of all these threads have learned of. One that has never asked returns once without need.
    var knownEnds: [UInt: UInt64] = [:]
    private var shared = ObserverScope.SharedParts()
    private var equals = EqualObservers()
    private(set) var arrivals: UInt64 = 0
    private var everybody: [UInt64: Observer] = [:]
    /// What the index is made for.
    private var indexSchema: Schema?
    /// Who waits for what, of all observers.
    private(set) var index = ObserverIndex()
    /// Those that have a version of their own: something is due, or was just delivered, or they are held.
    private(set) var apart = ObserverList()
    var followers = Followers()
    /// Views that are moved before handlers are called.
    private(set) var moving: [ObjectIdentifier: any Movable] = [:]
    /// Some observer is not told more often than at an interval.
    var hasIntervals = false
    /// Observers that are being made.
    private var reserved = 0
    private var lastNumber: UInt64 = 0
    private(set) var isClosed = false
    /// It gets no observers any more.
    private var isLeft = false
    /// Whether, and by what, delivery was signalled that something is due.
    var due = DueSignal()
    /// The last delivery could not read something: nothing is due before anything happens.
    var isUnreadable = false
    /// The newest version that the watch has reported.
    var noticed: UInt64 = 0
    /// Threads inside `deliver`.
    var deliverers: [UInt] = []
    var workerFailure: StoreError?

    /// Changes whenever a handler returns; a thread that closes a running observer sleeps on it.
    let handlerReturned: SharedWord

    /// - Parameters:
    ///   - deliversOnWorker: handlers are called by the store's thread, as soon as something is due.
    ///   - onDue: the user of the hub waits by other means than a descriptor, and its handlers are the library's
    ///     own: they return at once.
    ///   - onFailure: gets what fails on the store's thread: a handler, or reading the changes.
    package init(
        _ database: Database, deliversOnWorker: Bool = false, mostLag: UInt64 = .max,
        onDue: (@Sendable () -> Void)? = nil,
        onFailure: (@Sendable (StoreError) -> Void)? = nil
    ) {
        self.database = database
        self.deliversOnWorker = deliversOnWorker
        self.onDue = onDue
        self.onFailure = onFailure
        self.mostLag = mostLag
        let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        word.initialize(to: 0)
        handlerReturned = SharedWord(word)
    }

    deinit {
        precondition(everybody.isEmpty || fork.isChild, "an observer hub was dropped without close")
        handlerReturned.address.deallocate()
    }

    package var observerCount: Int { lock.withLock { everybody.count } }
    func isClosed(_ observer: Observer) -> Bool { lock.withLock { observer.isClosed } }
    var isNeeded: Bool {
        let (isObserved, queue) = lock.withLock { (everybody.count + reserved > 0, self.queue) }
        return isObserved || queue?.isActive == true
    }

    /// Whether this thread is inside a handler of this hub.
    package var isInCallback: Bool {
        let thread = ThreadIdentity.current
        return lock.withLock { deliverers.contains(thread) }
    }

    /// It was left, and no handler runs.
    var isOver: Bool { lock.withLock { isLeft && deliverers.isEmpty && everybody.isEmpty && reserved == 0 } }
    func leave() { lock.withLock { isLeft = true } }

    // MARK: Observers

    /// Observes from a version on.
    ///
    /// - Parameters:
    ///   - known: the version that the caller has seen; nil: the newest.
    ///   - keys: the objects that satisfied the query in `known`, in its order, if the caller has them.
    ///   - handler: let go of when it will not be called any more.
    /// Errors: readOnly, noSuchClass, tooManyReaders, io (no descriptor left).
    package func observe(
        _ scope: ObserverScope, from known: Snapshot? = nil, keys: UnsafeBufferPointer<Int64>? = nil,
        options: ObserverOptions = ObserverOptions(), handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try observe(
            scope, from: known, try keys.map { (keys) throws(StoreError) in try ObservedAnswer(scope, keys) }, options,
            handler: handler)
    }

    /// - Parameter answer: in `known`, if the caller has it.
    func observe(
        _ scope: ObserverScope, from known: Snapshot?, _ answer: ObservedAnswer?, _ options: ObserverOptions,
        handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try database.checkOpen()
        if database.options.isReadOnly {
            throw StoreError(.readOnly, "a store that nobody writes to cannot be observed")
        }
        if !deliversOnWorker && onDue == nil { _ = try descriptor() }
        lock.withLock { reserved += 1 }
        do throws(StoreError) {
            // Watched first: what is published after the snapshot was taken is noticed.
            try database.watch.add(self)
            let observer = try make(scope, known, answer, options, handler: handler)
            let began = observer.knownVersion
            let isRefused = lettingGo { () -> (Bool, Snapshot?) in
                if isClosed { return (true, nil) }
                reserved -= 1
                return (false, begin(observer))
            }
            if isRefused { throw closedError }
            if options.isInitial || began < database.publishedVersion { signal() }
            return observer
        } catch {
            lock.withLock { reserved -= 1 }
            database.watch.remove(self)
            throw error
        }
    }

    private func make(
        _ scope: ObserverScope, _ known: Snapshot?, _ answer: ObservedAnswer?,
        _ options: ObserverOptions, handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        let scope = lock.withLock { scope.sharing(&shared) }, snapshot: Snapshot
        if let known { snapshot = known } else { snapshot = try database.snapshot() }
        guard Int(scope.classID) < snapshot.schema.classes.count else {
            if !scope.observesCommits {
                throw StoreError(
                    .noSuchClass, "class \(scope.classID) does not exist in version \(snapshot.version)")
            }
            return Observer(self, nextNumber(), scope, known: snapshot, nil, options: options, handler: handler)
        }
        if !scope.observesCommits { try scope.check(in: snapshot) }
        var answer = answer
        if answer == nil, scope.isList || !scope.isWholeClass && options.hasPositions {
            answer = try ObservedAnswer(scope, in: snapshot)
        }
        return Observer(self, nextNumber(), scope, known: snapshot, answer, options: options, handler: handler)
    }

    private func nextNumber() -> UInt64 {
        lock.withLock { () -> UInt64 in
            lastNumber += 1
            return lastNumber
        }
    }

    // MARK: Who is where; under the lock

    /// In the order in which they began.
    var all: [Observer] { everybody.values.sorted { $0.number < $1.number } }

    func insert(_ observer: Observer) {
        arrivals += 1
        observer.arrival = arrivals
        everybody[observer.number] = observer
        if indexSchema == nil { indexSchema = observer.known?.schema }
        if let indexSchema { index.add(observer, indexSchema) }
        equals.join(observer)
        apart.append(observer)
    }

    func forget(_ observer: Observer) {
        guard everybody.removeValue(forKey: observer.number) != nil else { return }
        if let indexSchema { index.remove(observer, indexSchema) }
        equals.leave(observer)
        if everybody.isEmpty { indexSchema = nil }
    }

    /// Of another schema links lead elsewhere.
    func remake(_ schema: Schema) {
        indexSchema = schema
        index = ObserverIndex(Array(everybody.values), schema)
    }

    /// Says whether a view is moved before handlers are called.
    func move(_ view: any Movable, _ isMoved: Bool) {
        lock.withLock { moving[ObjectIdentifier(view)] = isMoved ? view : nil }
    }

    func addApart(_ observer: Observer) { apart.append(observer) }
    func removeApart(_ observer: Observer) { apart.remove(observer) }

    var closedError: StoreError { StoreError(.closedHandle, "the store is closed") }

    func close(_ observer: Observer, waits: Bool) {
        if fork.isChild { return }
        // Waiting inside a handler could deadlock: the other one may be waiting for this one.
        let mayWait = waits && !ThreadIdentity.isInHandler
        var finishes = false
        while true {
            let count = handlerReturned.current
            let mustWait = lettingGo { () -> (Bool, Snapshot?) in
                var known: Snapshot?
                if !observer.isClosed {
                    observer.isClosed = true
                    known = end(observer)
                    // Else its runner finishes it.
                    finishes = observer.runner == nil
                }
                return (observer.runner != nil && mayWait, known)
            }
            if !mustWait { break }
            database.machine.wait(handlerReturned, while: count, timeout: -1)
        }
        if finishes { observer.finish() }
        database.watch.remove(self)
    }

    /// Wakes waiters; nothing is delivered any more. Handlers that run now continue: `close` waits for them.
    ///
    /// Throws `inCallback` inside a handler of this hub, and inside one of another hub while this one's run.
    package func stop() throws(StoreError) {
        if fork.isChild { return }
        let isInHandler = onDue == nil && ThreadIdentity.isInHandler
        try lock.withLock { () throws(StoreError) in
            if isInHandler && !deliverers.isEmpty { throw inCallback("closed") }
            isClosed = true
            due.end()
        }
        onDue?()
    }

    /// Stops, and ends all observers. A second call does nothing. The holder of the writer's lock releases it
    /// between `stop` and this: a handler may be waiting for it.
    package func close() throws(StoreError) {
        try stop()
        if fork.isChild { return }
        for observer in lock.withLock({ all }) { observer.close() }
        // Handlers of observers that were closed before may still run.
        while true {
            let count = handlerReturned.current
            if lock.withLock({ deliverers.isEmpty }) { return }
            database.machine.wait(handlerReturned, while: count, timeout: -1)
        }
    }

    func inCallback(_ what: String) -> StoreError {
        StoreError(.inCallback, "the store cannot be \(what) from inside a change handler")
    }
}
