/// What is moved to the version that handlers are told of, before they are.
protocol Movable: AnyObject {
    func move(to newest: Snapshot)
}

/// How change sets are delivered to the observers of a hub: something is due, a thread that the application lends
/// comes, and calls the handlers of those whose classes have changed.
extension ObserverHub {
    // MARK: Waking

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

    func descriptor() throws(StoreError) -> EventDescriptor {
        if let event = lock.withLock({ due.event }) { return event }
        let new = try EventDescriptor()
        return lock.withLock { due.attach(new) }
    }

    func signal() {
        raise { true }
        if deliversOnWorker { database.watch.wake() }
    }

    /// Signals that something is due, if `isDue` (under the lock) says so and it was not signalled before.
    private func raise(where isDue: () -> Bool) {
        let isNew = lock.withLock { isDue() && due.raise() }
        if isNew { onDue?() }
    }

    /// From the watch: a version became visible.
    func notice(_ version: UInt64) {
        lose(at: version)
        let monotonic = database.machine.monotonic()
        raise {
            noticed = max(noticed, version)
            return followers.known.map { $0.version < version } ?? false
                || apart.contains { isDue($0, at: version, monotonic) }
        }
    }

    /// Under the lock: whether there may be something for one that is apart.
    private func isDue(_ observer: Observer, at version: UInt64, _ now: Int64) -> Bool {
        observer.runner == nil && !observer.isPaused && observer.notBefore <= now
            && (observer.wantsInitial || observer.knownVersion < version && !observer.isHeld(at: version))
    }

    /// Whoever delivers finds out, also where nothing is to be told.
    func noticeReplaced() { raise { true } }

    var nextDue: Int64? {
        lock.withLock {
            if !hasIntervals { return nil }
            return apart.least { observer in
                let isWaiting =
                    observer.runner == nil && !observer.isPaused && observer.notBefore > .min
                    && observer.knownVersion < noticed && !observer.isHeld(at: noticed)
                return isWaiting && !due.isRaised ? observer.notBefore : nil
            }
        }
    }

    func noticeTime() {
        let now = database.machine.monotonic()
        raise { isAnythingDue(at: now) }
    }

    /// Under the lock: whether there may be something for anybody in the version that was noticed last.
    private func isAnythingDue(at now: Int64) -> Bool {
        followers.known.map { $0.version < noticed } ?? false && followers.isBehind
            || apart.contains { isDue($0, at: noticed, now) }
    }

    /// One observer goes on, who may know an old version: the one that all others come to know by him, too.
    func noticeResumed() {
        let published = database.publishedVersion
        lock.withLock { noticed = max(noticed, published) }
        noticeTime()
        if isDueOnWorker { database.watch.wake() }
    }

    var isDueOnWorker: Bool { deliversOnWorker && lock.withLock { due.isRaised } }

    // MARK: Delivery

    /// Calls the handlers of all change sets that are due, on this thread; returns how many calls there were.
    ///
    /// - Parameter changesOnly: bodies and completions of asynchronous writes stay due.
    /// Errors: inCallback, closedHandle; what a handler returned (the first failure, after all were called);
    /// what failed in reading the changes (the observer keeps what it knew, so nothing is lost); `.replaced`: another
    /// store has the place of this one, and all that was committed before has been told.
    package func deliver(changesOnly: Bool = false) throws(StoreError) -> Int {
        try database.checkOpen()
        let thread = ThreadIdentity.current
        try enter(thread)
        let isOnWorker = database.watch.isOnThread
        var failure: StoreError?, calls = 0, isReadable = true
        func failed(_ error: StoreError) {
            if failure == nil || error.code == .forked { failure = error }
            if isOnWorker { onFailure?(error) }
        }
        if !changesOnly, let queue = lock.withLock({ queue }) {
            calls += queue.run(failed)
            if fork.isChild { return calls }
        }
        do throws(StoreError) {
            let newest = try database.snapshot()
            // The watch may not have come to that yet.
            lose(at: newest.version)
            for view in lock.withLock({ Array(moving.values) }) { view.move(to: newest) }
            var readers: [UInt64: ChangeReader] = [:]
            try follow(to: newest, &readers)
            for observer in lock.withLock({ apart.all }).sorted(by: { $0.number < $1.number })
            where claim(observer, thread) {
                defer { unclaim(observer) }
                do throws(StoreError) {
                    while let changes = try changes(for: observer, to: newest, &readers) {
                        calls += 1
                        if let error = observer.tell(changes) { failed(error) }
                        if fork.isChild { break }
                        rest(observer)
                        let isUntold =
                            changes.isUntold
                            || InjectedBug.active(.toldTwice) && !changes.silentVersions.isEmpty
                        if isUntold { takeBack(changes, of: observer) }
                        changes.listBefore = nil
                        if isUntold || changes.after === newest || endsTurn(of: observer) { break }
                    }
                } catch {
                    failed(error)
                    isReadable = false
                    rest(observer)
                }
                if fork.isChild { break }
            }
            // What was committed before is told first.
            if calls == 0 { try database.checkNotReplaced() }
        } catch {
            failed(error)
            isReadable = false
        }
        leave(thread, calls: calls, looksAgain: isReadable)
        if let failure { throw failure }
        return calls
    }

    /// Waits until something is due, at most `timeout` nanoseconds (negative: for ever), and delivers it.
    /// Returns 0 also when the thread handled a signal, and when the last of all asynchronous writes has come to its
    /// end.
    package func wait(timeout: Int64) throws(StoreError) -> Int {
        try database.checkOpen()
        let event = try descriptor()
        let deadline = timeout < 0 ? -1 : database.machine.monotonic() &+ timeout
        var isFirst = true
        while true {
            let calls = isFirst ? try deliverFirst(of: timeout) : try deliver(), isEnd = takeEndOfWrites()
            isFirst = false
            if calls > 0 || isEnd { return calls }
            let left = deadline < 0 ? -1 : max(0, deadline - database.machine.monotonic())
            if left == 0 { return 0 }
            if !beginSleep() { continue }
            defer { ThreadIdentity.endSleep() }
            switch event.wait(timeout: left) {
            // Once more where the time is over: views are moved.
            case .ready, .timedOut: break
            case .interrupted: return 0
            }
        }
    }

    /// As the first thing of a wait so long. What could not be read before is left till something was committed, or the
    /// time is over: a program that waits in a loop would spin.
    package func deliverFirst(of timeout: Int64) throws(StoreError) -> Int {
        let isQuiet = lock.withLock {
            isUnreadable && !due.isRaised && !isClosed && deliverers.isEmpty && workerFailure == nil
        }
        return isQuiet && timeout != 0 ? 0 : try deliver()
    }

    /// For the store's own thread. What fails is thrown by the application's next `deliver` or `wait`.
    func deliverOnWorker() {
        do throws(StoreError) { _ = try deliver() } catch {
            // The handler returned in a child, which has this thread alone, and nothing that would end it.
            if fork.isChild { ForkGuard.endChild() }
            lock.withLock { if workerFailure == nil { workerFailure = error } }
        }
    }

    private func enter(_ thread: UInt) throws(StoreError) {
        try lock.withLock { () throws(StoreError) in
            if isClosed { throw closedError }
            if deliverers.contains(thread) { throw inCallback("delivered or waited for") }
            if let error = workerFailure, !database.watch.isOnThread {
                workerFailure = nil
                throw error
            }
            deliverers.append(thread)
            // Before the newest version is looked up: what comes later makes it readable again.
            self.due.drain()
        }
        ThreadIdentity.enterHandler()
    }

    /// It was told, and is not told again for a while.
    private func rest(_ observer: Observer) {
        lock.withLock {
            if observer.interval > 0 { observer.notBefore = database.machine.monotonic() &+ observer.interval }
        }
    }

    /// It was told of one step: whether it is to be told of no further one now.
    private func endsTurn(of observer: Observer) -> Bool {
        let now = database.machine.monotonic()
        return lock.withLock { observer.isClosed || observer.isPaused || observer.notBefore > now }
    }

    private func leave(_ thread: UInt, calls: Int, looksAgain: Bool) {
        ThreadIdentity.leaveHandler()
        // A handler called fork, and this is the child: what other threads held is held there for ever.
        if fork.isChild { return }
        database.watch.count(calls)
        let monotonic = database.machine.monotonic()
        raise {
            deliverers.removeAll { $0 == thread }
            isUnreadable = !looksAgain
            // Observers that another thread had claimed may lag behind what was drained. After a failure to read:
            // quiet until the next commit, or a poller would spin.
            if let queue, queue.isDue || isSleeperUntold(queue) { return !isClosed }
            return isAnythingDue(at: monotonic) && looksAgain && !isClosed
        }
        handlerReturned.add(1)
        database.machine.wake(handlerReturned)
        // It sleeps till the first of them, which it may not know yet.
        if nextDue != nil { database.watch.wake() }
    }

    private func claim(_ observer: Observer, _ thread: UInt) -> Bool {
        let now = database.machine.monotonic()
        return lock.withLock {
            // One that is a follower again, since another thread has told it, is that thread's or nobody's.
            if observer.isClosed || !observer.isApart || observer.runner != nil || observer.isPaused
                || observer.notBefore > now
            {
                return false
            }
            observer.runner = thread
            observer.takeGroup()
            return true
        }
    }

    func unclaim(_ observer: Observer) {
        if fork.isChild { return }
        let finishes = lettingGo { () -> (Bool, Snapshot?) in
            if observer.isClosed { return (true, nil) }
            observer.runner = nil
            return (false, join(observer))
        }
        if finishes {
            observer.finish()
            lock.withLock { observer.runner = nil }
        }
        handlerReturned.add(1)
        database.machine.wake(handlerReturned)
    }

    /// What an observer gets next; nil: nothing. Moves it on, at most to `newest`.
    ///
    /// An initial change set is of that version: what was committed since the observer began is in it, and not reported
    /// again.
    private func changes(
        for observer: Observer, to newest: Snapshot, _ readers: inout [UInt64: ChangeReader]
    ) throws(StoreError) -> ChangeSet? {
        if lock.withLock({ observer.isLost }) {
            let changes = try observer.begin(anewAt: newest), initial = changes == nil ? nil : try observer.initial()
            return lock.withLock {
                observer.isLost = false
                observer.knownVersion = newest.version
                defer { observer.wantsInitial = false }
                return observer.wantsInitial ? initial : changes
            }
        }
        while let known = observer.known, known.version < newest.version {
            let changes: ChangeSet?, to: Snapshot
            if lock.withLock({ observer.silences.isEmpty }) {
                to = newest
                changes = try observer.advance(try reader(from: known, to: newest, for: observer, in: &readers))
            } else {
                let step = nextStep(of: observer, to: newest)
                guard let last = step.last else { break }
                to = last.to
                var parts: [(reader: ChangeReader, isSilent: Bool)] = [], at = known
                for part in step {
                    parts.append((try reader(from: at, to: part.to, for: observer, in: &readers), part.isSilent))
                    at = part.to
                }
                changes = try observer.advance(parts)
            }
            let isInitial = lock.withLock { () -> Bool in
                observer.knownVersion = to.version
                return observer.wantsInitial
            }
            if let changes, !isInitial { return changes }
        }
        let isInitial = lock.withLock { () -> Bool in
            defer { observer.wantsInitial = false }
            return observer.wantsInitial
        }
        return isInitial ? try observer.initial() : nil
    }

    /// The change set is due again.
    private func takeBack(_ changes: ChangeSet, of observer: Observer) {
        if !changes.isInitial && !changes.isLost { observer.goBack(before: changes) }
        lock.withLock {
            if changes.isInitial { observer.wantsInitial = true }
            if changes.isLost {
                observer.isLost = true
                observer.knownVersion = 0
                noticed = max(noticed, changes.toVersion)
                return
            }
            observer.knownVersion = changes.fromVersion
            noticed = max(noticed, changes.toVersion)
        }
    }

    /// One reading of the log serves all observers that know the same version.
    private func reader(
        from known: Snapshot, to newest: Snapshot, for observer: Observer, in readers: inout [UInt64: ChangeReader]
    ) throws(StoreError) -> ChangeReader {
        if let reader = readers[known.version], reader.to === newest,
            observer.arrival <= reader.arrivals || observer.scope.isCovered(by: reader)
        {
            return reader
        }
        let classes = lock.withLock { () -> Set<UInt32> in
            var classes = observer.scope.classes(in: newest.schema)
            for other in apart.all where other.knownVersion == known.version && other !== observer {
                classes.formUnion(other.scope.classes(in: newest.schema))
            }
            return classes
        }
        let reader = try ChangeReader(database, from: known, to: newest, classes: classes)
        readers[known.version] = reader
        return reader
    }
}
