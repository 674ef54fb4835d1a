/// The observers of one handle on a store, and their delivery on threads that the application lends.
///
/// ```
/// commit, any process ─► PUBLISHED, futex ─► ChangeWatch (one thread a store) ─► descriptor readable
///                                                                                   │ poll, epoll, asyncio …
///                handler(change set) ◄── ChangeReader: log or trees ◄── deliver() ◄─┘
/// ```
/// A change set goes to one thread, the calls of one handler never overlap, and no lock is held while a
/// handler runs: it may read, write, open and close observers, also its own. It may not deliver or wait.
package final class ObserverHub: @unchecked Sendable {
    package let database: Database
    /// Handlers run on the store's own thread; there is nothing to poll then.
    private let deliversOnWorker: Bool
    /// Called when something is due, instead of the descriptor; by any thread, with no lock held.
    private let onDue: (@Sendable () -> Void)?
    private let fork = ForkGuard()
    private let lock = Lock()

    // Under the lock.
    private var observers: [Observer] = []
    /// Observers that are being made.
    private var reserved = 0
    private var event: EventDescriptor?
    private var isSignalled = false
    private var isClosed = false
    /// The newest version that the watch has reported.
    private var noticed: UInt64 = 0
    /// Threads inside `deliver`.
    private var deliverers: [UInt] = []
    private var workerFailure: StoreError?

    /// Changes whenever a handler returns; who closes a running observer sleeps on it.
    private let handlerReturned: SharedWord

    /// - Parameters:
    ///   - deliversOnWorker: handlers are called by the store's thread, as soon as something is due.
    ///   - onDue: the one who uses the hub waits by other means than a descriptor, and its handlers are the library's
    ///     own: they return at once.
    package init(_ database: Database, deliversOnWorker: Bool = false, onDue: (@Sendable () -> Void)? = nil) {
        self.database = database
        self.deliversOnWorker = deliversOnWorker
        self.onDue = onDue
        let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        word.initialize(to: 0)
        handlerReturned = SharedWord(word)
    }

    deinit {
        precondition(observers.isEmpty || fork.isChild, "an observer hub was dropped without close")
        handlerReturned.address.deallocate()
    }

    package var observerCount: Int { lock.withLock { observers.count } }
    func isClosed(_ observer: Observer) -> Bool { lock.withLock { observer.isClosed } }
    var isNeeded: Bool { lock.withLock { observers.count + reserved > 0 } }

    /// Whether this thread is inside a handler of this hub.
    package var isInCallback: Bool {
        let thread = ThreadIdentity.current
        return lock.withLock { deliverers.contains(thread) }
    }

    // MARK: Observers

    /// Observes from a version on.
    ///
    /// - Parameters:
    ///   - known: the version that the caller has seen; nil: the newest.
    ///   - keys: the objects that satisfied the query in `known`, ascending, if the caller has them.
    ///   - initial: an empty change set says first which version the observer begins with.
    ///   - handler: let go of when it will not be called any more.
    /// Errors: readOnly, noSuchClass, tooManyReaders, io (no descriptor left).
    package func observe(
        _ query: ObservedQuery, from known: Snapshot? = nil, keys: UnsafeBufferPointer<Int64>? = nil, initial: Bool = false,
        handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try database.checkOpen()
        if database.options.isReadOnly { throw StoreError(.readOnly, "a store that nobody writes to cannot be observed") }
        if !deliversOnWorker && onDue == nil { _ = try descriptor() }
        lock.withLock { reserved += 1 }
        do throws(StoreError) {
            // Watched first: what is published after the snapshot was taken is noticed.
            try database.watch.add(self)
            let observer = try make(query, known, keys, initial: initial, handler: handler)
            let isRefused = lock.withLock { () -> Bool in
                if isClosed { return true }
                observers.append(observer)
                reserved -= 1
                return false
            }
            if isRefused { throw closedError }
            if initial || observer.knownVersion < database.publishedVersion { signal() }
            return observer
        } catch {
            lock.withLock { reserved -= 1 }
            database.watch.remove(self)
            throw error
        }
    }

    private func make(
        _ query: ObservedQuery, _ known: Snapshot?, _ keys: UnsafeBufferPointer<Int64>?, initial: Bool,
        handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        let snapshot: Snapshot
        if let known { snapshot = known } else { snapshot = try database.snapshot() }
        guard Int(query.classID) < snapshot.schema.classes.count else {
            throw StoreError(.noSuchClass, "class \(query.classID) does not exist in version \(snapshot.version)")
        }
        var ranks: KeyRanks?
        if let keys {
            ranks = KeyRanks(keys)
        } else if !query.isWholeClass {
            let found = try query.keys(in: snapshot)
            ranks = KeyRanks(UnsafeBufferPointer(start: found.keys, count: found.count))
        }
        return Observer(self, query, known: snapshot, ranks: ranks, wantsInitial: initial, handler: handler)
    }

    private var closedError: StoreError { StoreError(.closedHandle, "the store is closed") }

    func close(_ observer: Observer, waits: Bool) {
        if fork.isChild { return }
        // Waiting inside a handler could be for ever: the other one may be waiting for this one.
        let mayWait = waits && !HandlerThreads.shared.contains(ThreadIdentity.current)
        var finishes = false
        while true {
            let count = handlerReturned.current
            let mustWait = lock.withLock { () -> Bool in
                if !observer.isClosed {
                    observer.isClosed = true
                    observers.removeAll { $0 === observer }
                    // Else its runner finishes it.
                    finishes = observer.runner == nil
                }
                return observer.runner != nil && mayWait
            }
            if !mustWait { break }
            database.machine.wait(handlerReturned, while: count, timeout: -1)
        }
        if finishes { observer.finish() }
        database.watch.remove(self)
    }

    /// Wakes those who wait; nothing is delivered any more. Handlers that run now go on: `close` waits for them.
    ///
    /// Throws `inCallback` inside a handler of this hub, and inside one of another hub while this one's run.
    package func stop() throws(StoreError) {
        if fork.isChild { return }
        let isInHandler = onDue == nil && HandlerThreads.shared.contains(ThreadIdentity.current)
        try lock.withLock { () throws(StoreError) in
            if isInHandler && !deliverers.isEmpty { throw inCallback("closed") }
            isClosed = true
            event?.signal()  // and never drained again
        }
        onDue?()
    }

    /// Stops, and ends all observers. A second call does nothing. Whoever holds the writer's lock lets go of it
    /// between `stop` and this: a handler may be waiting for it.
    package func close() throws(StoreError) {
        try stop()
        if fork.isChild { return }
        for observer in lock.withLock({ observers }) { observer.close() }
        // Handlers of observers that were closed before may still run.
        while true {
            let count = handlerReturned.current
            if lock.withLock({ deliverers.isEmpty }) { return }
            database.machine.wait(handlerReturned, while: count, timeout: -1)
        }
    }

    private func inCallback(_ what: String) -> StoreError {
        StoreError(.inCallback, "the store cannot be \(what) from inside a change handler")
    }

    // MARK: The descriptor

    /// Readable while change sets may be due. It stays the hub's.
    package func notifyDescriptor() throws(StoreError) -> Int32 {
        try database.checkOpen()
        if deliversOnWorker { throw StoreError(.notSupported, "the store delivers on its own thread: there is nothing to wait for") }
        return try descriptor().descriptor
    }

    private func descriptor() throws(StoreError) -> EventDescriptor {
        if let event = lock.withLock({ event }) { return event }
        let new = try EventDescriptor()
        return lock.withLock {
            if let event { return event }
            event = new
            if isSignalled || isClosed { new.signal() }
            return new
        }
    }

    private func signal() {
        raise { true }
        if deliversOnWorker { database.watch.wake() }
    }

    /// Tells that something is due, where `isDue` (under the lock) says so and it was not told before.
    private func raise(where isDue: () -> Bool) {
        let isNew = lock.withLock { () -> Bool in
            guard isDue(), !isSignalled else { return false }
            isSignalled = true
            event?.signal()
            return true
        }
        if isNew { onDue?() }
    }

    /// From the watch: a version became visible.
    func notice(_ version: UInt64) {
        raise {
            noticed = max(noticed, version)
            return observers.contains { $0.knownVersion < version }
        }
    }

    var isDueOnWorker: Bool { deliversOnWorker && lock.withLock { isSignalled } }

    // MARK: Delivery

    /// Calls the handlers of all change sets that are due, on this thread; returns how many calls there were.
    ///
    /// Errors: inCallback, closedHandle; what a handler returned (the first failure, after all were called);
    /// what failed in reading the changes (the observer keeps what it knew, so nothing is lost).
    package func deliver() throws(StoreError) -> Int {
        try database.checkOpen()
        let thread = ThreadIdentity.current
        let due = try enter(thread)
        var failure: StoreError?, calls = 0, isReadable = true
        do throws(StoreError) {
            let newest = try database.snapshot()
            var readers: [UInt64: ChangeReader] = [:]
            for observer in due where claim(observer, thread) {
                defer { unclaim(observer) }
                do throws(StoreError) {
                    if takeInitial(observer) {
                        calls += 1
                        if let error = observer.tellInitial() { failure = failure ?? error }
                        if lock.withLock({ observer.isClosed }) { continue }
                    }
                    guard let known = observer.known, known.version < newest.version else { continue }
                    let reader = try reader(from: known, to: newest, for: observer, in: &readers)
                    let changes = try observer.advance(reader)
                    lock.withLock { observer.knownVersion = newest.version }
                    if let changes {
                        calls += 1
                        if let error = observer.tell(changes) { failure = failure ?? error }
                    }
                } catch {
                    failure = failure ?? error
                    isReadable = false
                }
            }
        } catch {
            failure = error
            isReadable = false
        }
        leave(thread, calls: calls, looksAgain: isReadable)
        if let failure { throw failure }
        return calls
    }

    /// Waits until something is due, at most `timeout` nanoseconds (negative: for ever), and delivers it.
    /// Returns 0 also when the thread handled a signal.
    package func wait(timeout: Int64) throws(StoreError) -> Int {
        try database.checkOpen()
        let event = try descriptor()
        let deadline = timeout < 0 ? -1 : database.machine.monotonic() &+ timeout
        while true {
            let calls = try deliver()
            if calls > 0 { return calls }
            let left = deadline < 0 ? -1 : max(0, deadline - database.machine.monotonic())
            if left == 0 { return 0 }
            switch event.wait(timeout: left) {
            case .ready: break
            case .timedOut, .interrupted: return 0
            }
        }
    }

    /// For the store's own thread. What fails is thrown by the application's next `deliver` or `wait`.
    func deliverOnWorker() {
        do throws(StoreError) { _ = try deliver() } catch {
            lock.withLock { if workerFailure == nil { workerFailure = error } }
        }
    }

    private func enter(_ thread: UInt) throws(StoreError) -> [Observer] {
        let due = try lock.withLock { () throws(StoreError) in
            if isClosed { throw closedError }
            if deliverers.contains(thread) { throw inCallback("delivered or waited for") }
            if let error = workerFailure, !database.watch.isOnThread {
                workerFailure = nil
                throw error
            }
            deliverers.append(thread)
            // Before the newest version is looked up: what comes later makes it readable again.
            isSignalled = false
            event?.drain()
            return observers
        }
        HandlerThreads.shared.enter(thread)
        return due
    }

    private func leave(_ thread: UInt, calls: Int, looksAgain: Bool) {
        HandlerThreads.shared.leave(thread)
        database.watch.count(calls)
        raise {
            deliverers.removeAll { $0 == thread }
            // Observers that another thread had claimed may lag behind what was drained. After a failure to read:
            // quiet until the next commit, or who polls would spin.
            let isBehind = observers.contains { $0.runner == nil && ($0.wantsInitial || $0.knownVersion < noticed) }
            return isBehind && looksAgain && !isClosed
        }
        handlerReturned.add(1)
        database.machine.wake(handlerReturned)
    }

    private func claim(_ observer: Observer, _ thread: UInt) -> Bool {
        lock.withLock {
            if observer.isClosed || observer.runner != nil { return false }
            observer.runner = thread
            return true
        }
    }

    private func unclaim(_ observer: Observer) {
        let finishes = lock.withLock { () -> Bool in
            if observer.isClosed { return true }
            observer.runner = nil
            return false
        }
        if finishes {
            observer.finish()
            lock.withLock { observer.runner = nil }
        }
        handlerReturned.add(1)
        database.machine.wake(handlerReturned)
    }

    private func takeInitial(_ observer: Observer) -> Bool {
        lock.withLock {
            defer { observer.wantsInitial = false }
            return observer.wantsInitial
        }
    }

    /// One reading of the log serves all observers that know the same version.
    private func reader(from known: Snapshot, to newest: Snapshot, for observer: Observer, in readers: inout [UInt64: ChangeReader]) throws(StoreError) -> ChangeReader {
        if let reader = readers[known.version], reader.covers(observer.query.classID) { return reader }
        var classes = lock.withLock { Set(observers.lazy.filter { $0.knownVersion == known.version }.map(\.query.classID)) }
        classes.insert(observer.query.classID)
        let reader = try ChangeReader(database, from: known, to: newest, classes: classes)
        readers[known.version] = reader
        return reader
    }
}

/// The threads that are inside a handler, of any store: they never wait for another handler to return.
final class HandlerThreads: @unchecked Sendable {
    static let shared = HandlerThreads()
    private let lock = Lock()
    /// One entry for each nesting (a handler of one store may deliver another's).
    private var threads: [UInt] = []

    func enter(_ thread: UInt) { lock.withLock { threads.append(thread) } }
    func leave(_ thread: UInt) {
        lock.withLock { if let index = threads.lastIndex(of: thread) { threads.remove(at: index) } }
    }
    func contains(_ thread: UInt) -> Bool { lock.withLock { threads.contains(thread) } }
}
