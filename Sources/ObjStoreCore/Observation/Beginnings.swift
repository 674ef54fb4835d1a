/// Where an observer begins that has seen the store before: a program was away, and has written down which version it
/// knew.
extension ObserverHub {
    /// A paused observer knows that version from now on, whatever it knew before, and is told of what was committed
    /// since when it goes on. Nil: of nothing, but that it begins anew; so also where the version has another schema
    /// than the newest, or did not have what is observed.
    ///
    /// Errors: `.closedHandle`; `.invalidArgument`: it is not paused; `.inCallback`: from inside a handler that runs
    /// for it; what asking the query failed with.
    package func begin(_ observer: Observer, at snapshot: Snapshot?) throws(StoreError) {
        try claimPaused(observer)
        defer { unclaim(observer) }
        let newest = try database.snapshot()
        var known: Snapshot?
        if let snapshot, try snapshot.schemaRef() == newest.schemaRef(), try observer.scope.isThere(in: snapshot) {
            known = snapshot
        }
        let former = try observer.setKnown(known)
        // What it pinned goes without the lock.
        defer { withExtendedLifetime(former) {} }
        var passed: [Silence] = []
        defer { withExtendedLifetime(passed) {} }
        lock.withLock {
            observer.wantsInitial = false
            observer.isLost = known == nil
            observer.knownVersion = known?.version ?? 0
            passed = observer.silences
            observer.silences = passed.filter { $0.after == nil }
            noticed = max(noticed, newest.version)
        }
    }

    /// The version that an observer has been told of; inside its handler, that of the change set. A call that runs on
    /// another thread is waited for.
    ///
    /// Errors: `.versionGone`: it was too far behind, and has not begun anew yet; `.inCallback`: inside a handler,
    /// while another thread runs its own.
    func known(of observer: Observer) throws(StoreError) -> Snapshot {
        let thread = ThreadIdentity.current
        while true {
            let count = handlerReturned.current
            let known = try lock.withLock { () throws(StoreError) -> Snapshot?? in
                try checkOpen(observer)
                if let runner = observer.runner, runner != thread { return nil }
                return .some(observer.isApart ? observer.known : followers.known)
            }
            if let known {
                if let known { return known }
                throw StoreError(.versionGone, "the observer was too far behind, and begins anew when it is told next")
            }
            try waitForRunner(since: count, "asked what it knows")
        }
    }

    /// Under the lock.
    private func checkOpen(_ observer: Observer) throws(StoreError) {
        if observer.isClosed || isClosed {
            throw StoreError(.closedHandle, isClosed ? "the store is closed" : "the token was closed")
        }
    }

    /// Two could wait for each other inside of handlers.
    private func waitForRunner(since count: UInt64, _ what: String) throws(StoreError) {
        if ThreadIdentity.isInHandler {
            throw StoreError(
                .inCallback, "an observer cannot be \(what) inside of a handler, while another thread runs its own")
        }
        database.machine.wait(handlerReturned, while: count, timeout: -1)
    }

    private func claimPaused(_ observer: Observer) throws(StoreError) {
        let thread = ThreadIdentity.current
        while true {
            let count = handlerReturned.current
            let runs = try lock.withLock { () throws(StoreError) -> Bool in
                try checkOpen(observer)
                guard observer.isPaused else {
                    throw StoreError(
                        .invalidArgument, "an observer that is not paused may be told at any moment: pause it first")
                }
                if observer.runner != nil { return true }
                observer.runner = thread
                observer.takeGroup()
                return false
            }
            if !runs { return }
            try waitForRunner(since: count, "begun elsewhere")
        }
    }
}

extension Observer {
    /// From a version on, with the answer that it had; nil: it knows nothing. What it knew before is given back.
    fileprivate func setKnown(_ snapshot: Snapshot?) throws(StoreError) -> Snapshot? {
        if let snapshot { try answer(in: snapshot) }
        isOver = false
        defer { known = snapshot }
        return known
    }
}

extension ObserverScope {
    /// Whether a version has what is observed, where that is one thing.
    func isThere(in snapshot: Snapshot) throws(StoreError) -> Bool {
        if observesCommits { return true }
        if case .collection(let collection) = way { return try collection.elements(in: snapshot) != nil }
        if rows?.owner != nil { return try hasOwner(in: snapshot) }
        guard let key else { return true }
        return try snapshot.trees.objects(snapshot.schema.classes[Int(classID)]).find(key) != nil
    }
}
