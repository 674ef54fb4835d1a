/// Scopes inside a transaction whose changes can be undone while it goes on.
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

    /// Whatever it does, what was read before may lie elsewhere, or be something else.
    private func ending<T>(_ body: (WriteTransaction) throws(StoreError) -> T) throws(StoreError) -> T {
        if kind != .transaction { throw notInWrite }
        lock.lock()
        defer { lock.unlock() }
        let transaction = try writing()
        defer {
            didMove()
            // Classes that were opened since the savepoint are closed.
            written = nil
        }
        return try body(transaction)
    }
}
