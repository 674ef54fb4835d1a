/// Scopes inside a transaction whose changes can be undone while it continues.
extension View {
    /// Begins one inside those that are open; see `WriteTransaction.beginSavepoint`.
    package func beginSavepoint() throws(StoreError) -> UInt64 {
        try ending { (transaction) throws(StoreError) in try transaction.beginSavepoint() }
    }

    /// Ends it and those inside it; the changes stay.
    package func releaseSavepoint(_ id: UInt64) throws(StoreError) {
        try ending { (transaction) throws(StoreError) in try transaction.releaseSavepoint(id) }
    }

    /// Undoes everything since it began and ends it and those inside it.
    package func rollBack(toSavepoint id: UInt64) throws(StoreError) {
        try ending { (transaction) throws(StoreError) in try transaction.rollBack(toSavepoint: id) }
    }

    /// Runs `body`, which calls the application while it changes the transaction, as a whole or not at all: alone among
    /// the changes of all threads, for what fails undoes everything that was done since it began.
    func atOnce(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        let caller = ThreadIdentity.current
        let gate: Lock? = lock.withLock {
            if atOnceThread == caller { return nil }
            if atOnceGate == nil { atOnceGate = Lock() }
            return atOnceGate
        }
        gate?.lock()
        if gate != nil { lock.withLock { atOnceThread = caller } }
        defer {
            if gate != nil { lock.withLock { atOnceThread = 0 } }
            gate?.unlock()
        }
        let savepoint = try ending { (transaction) throws(StoreError) in try transaction.beginSavepoint(ofCall: true) }
        do throws(StoreError) {
            try body()
            try ending { (transaction) throws(StoreError) in try transaction.releaseSavepoint(savepoint, ofCall: true) }
        } catch {
            // The application may have ended the transaction.
            if !isClosed {
                try ending { (transaction) throws(StoreError) in
                    try transaction.rollBack(toSavepoint: savepoint, ofCall: true)
                }
            }
            throw error
        }
    }

    /// Waits where another thread is inside of `atOnce`. Under `lock`, which others have meanwhile.
    @inline(never)
    func waitForOthers() {
        let caller = ThreadIdentity.current
        while atOnceThread != 0 && atOnceThread != caller {
            lock.unlock()
            atOnceGate!.lock()
            atOnceGate!.unlock()
            lock.lock()
        }
    }

    /// Whatever it does, what was read before may have moved or changed.
    private func ending<T>(_ body: (WriteTransaction) throws(StoreError) -> T) throws(StoreError) -> T {
        if kind != .transaction { throw notInWrite }
        lock.lock()
        defer { lock.unlock() }
        let transaction = try writing()
        defer {
            didMove()
            // Classes that were opened since the savepoint are closed.
            writer?.forgetClasses()
        }
        return try body(transaction)
    }
}
