/// The observers of one handle on a store, and their delivery on threads that the application lends.
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
    private let deliversOnWorker: Bool
    /// Called when something is due, instead of the descriptor; by any thread, with no lock held.
    private let onDue: (@Sendable () -> Void)?
    /// Told of each failure on the store's own thread, where nobody waits for it.
    private let onFailure: (@Sendable (StoreError) -> Void)?
    private let fork = ForkGuard()
    private let lock = Lock()

    // Under the lock.
    private var observers = ObserverList()
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
    ///   - onFailure: told of what fails on the store's thread: a handler, or reading the changes.
    package init(
        _ database: Database, deliversOnWorker: Bool = false, onDue: (@Sendable () -> Void)? = nil,
        onFailure: (@Sendable (StoreError) -> Void)? = nil
    ) {
        self.database = database
        self.deliversOnWorker = deliversOnWorker
        self.onDue = onDue
        self.onFailure = onFailure
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
    ///   - initial: the first change set is empty, and of the version that is the newest at its delivery.
    ///   - handler: let go of when it will not be called any more.
    /// Errors: readOnly, noSuchClass, tooManyReaders, io (no descriptor left).
    package func observe(
        _ query: ObservedQuery, from known: Snapshot? = nil, keys: UnsafeBufferPointer<Int64>? = nil,
        initial: Bool = false,
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
        let mayWait = waits && !ThreadIdentity.isInHandler
        var finishes = false
        while true {
            let count = handlerReturned.current
            let mustWait = lock.withLock { () -> Bool in
                if !observer.isClosed {
                    observer.isClosed = true
                    observers.remove(observer)
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
        let isInHandler = onDue == nil && ThreadIdentity.isInHandler
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
        for observer in lock.withLock({ observers.all }) { observer.close() }
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
        if deliversOnWorker {
            throw StoreError(.notSupported, "the store delivers on its own thread: there is nothing to wait for")
        }
        return try descriptor().descriptor
    }

    /// For `wait` in another way; stays as long as the hub.
    package func waitDescriptor() throws(StoreError) -> Int32 {
        try database.checkOpen()
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
        let isOnWorker = database.watch.isOnThread
        var failure: StoreError?, calls = 0, isReadable = true
        func failed(_ error: StoreError) {
            if failure == nil || error.code == .forked { failure = error }
            if isOnWorker { onFailure?(error) }
        }
        do throws(StoreError) {
            let newest = try database.snapshot()
            var readers: [UInt64: ChangeReader] = [:]
            for observer in due where claim(observer, thread) {
                defer { unclaim(observer) }
                do throws(StoreError) {
                    guard let changes = try changes(for: observer, to: newest, &readers) else { continue }
                    calls += 1
                    if let error = observer.tell(changes) { failed(error) }
                    if fork.isChild { break }
                    if changes.isUntold { takeBack(changes, of: observer) }
                } catch {
                    failed(error)
                    isReadable = false
                }
                if fork.isChild { break }
            }
        } catch {
            failed(error)
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
            // The handler returned in a child, which has this thread alone, and nobody who would end it.
            if fork.isChild { ForkGuard.endChild() }
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
            return observers.all
        }
        ThreadIdentity.enterHandler()
        return due
    }

    private func leave(_ thread: UInt, calls: Int, looksAgain: Bool) {
        ThreadIdentity.leaveHandler()
        // A handler called fork, and this is the child: what other threads held there is held for ever.
        if fork.isChild { return }
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
        if fork.isChild { return }
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

    /// What an observer is told now; nil: nothing. Moves it on to `newest`.
    ///
    /// An initial change set is of that version: what was committed since the observer began is in it, and not told
    /// again.
    private func changes(
        for observer: Observer, to newest: Snapshot, _ readers: inout [UInt64: ChangeReader]
    ) throws(StoreError) -> ChangeSet? {
        var changes: ChangeSet?
        if let known = observer.known, known.version < newest.version {
            changes = try observer.advance(try reader(from: known, to: newest, for: observer, in: &readers))
            lock.withLock { observer.knownVersion = newest.version }
        }
        let isInitial = lock.withLock { () -> Bool in
            defer { observer.wantsInitial = false }
            return observer.wantsInitial
        }
        return isInitial ? observer.initial() : changes
    }

    /// The change set is due again.
    private func takeBack(_ changes: ChangeSet, of observer: Observer) {
        if !changes.isInitial { observer.goBack(before: changes) }
        lock.withLock {
            if changes.isInitial { observer.wantsInitial = true }
            observer.knownVersion = changes.fromVersion
            noticed = max(noticed, changes.toVersion)
        }
    }

    /// One reading of the log serves all observers that know the same version.
    private func reader(
        from known: Snapshot, to newest: Snapshot, for observer: Observer, in readers: inout [UInt64: ChangeReader]
    ) throws(StoreError) -> ChangeReader {
        if let reader = readers[known.version], reader.covers(observer.query.classID) { return reader }
        var classes = lock.withLock {
            Set(observers.all.lazy.filter { $0.knownVersion == known.version }.map(\.query.classID))
        }
        classes.insert(observer.query.classID)
        let reader = try ChangeReader(database, from: known, to: newest, classes: classes)
        readers[known.version] = reader
        return reader
    }
}

/// The observers of a hub, in the order in which they began; one leaves at the same cost however many there are.
///
/// Who leaves makes a hole; the holes are closed when there are as many of them as observers.
struct ObserverList {
    private var places: [Observer?] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var all: [Observer] { places.compactMap { $0 } }

    func contains(where isWanted: (Observer) -> Bool) -> Bool { places.contains { $0.map(isWanted) ?? false } }

    mutating func append(_ observer: Observer) {
        observer.place = places.count
        places.append(observer)
        count += 1
    }

    mutating func remove(_ observer: Observer) {
        // One whose hub was closed while it was made never came in.
        guard let place = observer.place else { return }
        observer.place = nil
        places[place] = nil
        count -= 1
        guard places.count > 2 * count else { return }
        places = all
        for (place, observer) in places.enumerated() { observer!.place = place }
    }
}
