/// Asking queries that call functions of the application, or are watched by one. These may use the store meanwhile:
/// whoever asks holds no lock then.
///
/// ```
///  live, frozen   the version that the view shows is pinned, and nothing is locked
///  transaction    its lock is left for each call; until the query is answered nobody can change it
/// ```
extension View {
    /// Runs `body`, which asks such a query about objects of a class, or one that is watched.
    ///
    /// Errors: `.inCallback`: the function has ended the transaction.
    func calling<T>(
        _ classID: UInt32, _ body: (TreeAccess) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try calling(of: { (trees) throws(StoreError) in try trees.objectCount(try trees.schema.cls(classID)) }, body)
    }

    /// The same, of anything.
    ///
    /// - Parameter total: how much there is to be looked at.
    func calling<T>(
        of total: (TreeAccess) throws(StoreError) -> Int, _ body: (TreeAccess) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try store.asking.within { () throws(StoreError) in
            func watched(_ trees: TreeAccess) throws(StoreError) -> T {
                try store.watcher.watching(trees, total) { () throws(StoreError) in try body(trees) }
            }
            if kind == .transaction { return try callingInWrite(watched) }
            return try watched(.version(try pinnedSnapshot("ask")))
        }
    }

    private func callingInWrite<T>(_ body: (TreeAccess) throws(StoreError) -> T) throws(StoreError) -> T {
        lock.lock()
        defer { lock.unlock() }
        guard let transaction else { throw closedError }
        // The next change has to look for its class, and is refused.
        writer?.forgetClasses()
        let gate = transaction.gate ?? ViewGate(self)
        transaction.gate = gate
        askers += 1
        defer { askers -= 1 }
        return try withExtendedLifetime(gate) { () throws(StoreError) in try body(.transaction(transaction)) }
    }

    /// Errors: `.inCallback`: a query that calls functions is being asked.
    func checkNotAsked(_ what: String) throws(StoreError) {
        if askers > 0 {
            throw StoreError(
                .inCallback,
                """
                a query that calls functions, or is watched, is being asked in the transaction: until it is answered \
                the transaction \(what)
                """)
        }
    }
}

/// Leaves the lock of a transaction's view.
private final class ViewGate: TransactionGate {
    private unowned let view: View

    init(_ view: View) { self.view = view }

    func leave() -> UInt64 {
        let mark = view.epoch
        view.lock.unlock()
        return mark
    }

    func enter(_ mark: UInt64) throws(StoreError) {
        view.lock.lock()
        guard !view.isClosed, view.epoch == mark else {
            throw StoreError(
                .inCallback,
                "the transaction was changed, or ended, by a function that a query in it calls, or that watches one"
            )
        }
    }
}

extension Store {
    /// Errors: `.closedHandle`; `.inCallback`: a function of a query is closing the store that it was called by.
    func checkNotAsking() throws(StoreError) {
        if asking.isInside {
            throw StoreError(
                .inCallback, "the store cannot be closed by a function that a query of it calls, or that watches one")
        }
    }
}
