/// A transaction that several bodies and claims share, one after the other: one version, one record, one sync.
///
/// Each but the first begins with a savepoint, so that it can be undone alone. Under the lock of its queue, or of the
/// one that has its turn.
package final class WriteGroup {
    package let transaction: WriteTransaction
    /// Whose changes the transaction has.
    var members: [AsyncWrite] = []
    /// Where the changes of the one that has its turn begin; nil: it is the first.
    var savepoint: UInt64?
    /// When it takes no more members; nil: it has none.
    var end: Int64?
    /// When the lock is released, or what there is committed, if nobody has come.
    var patience: Int64
    /// The request that was told last that its turn has come.
    var told: UInt64 = 0

    init(_ transaction: WriteTransaction, patience: Int64) {
        self.transaction = transaction
        self.patience = patience
    }

    /// Begins what the next member does.
    ///
    /// Errors: those of savepoints; the commit will say what is wrong.
    func beginNext() throws(StoreError) {
        // Savepoints that the last member has left open end with it.
        if let savepoint {
            try transaction.releaseSavepoint(savepoint, ofCall: true)
        } else {
            transaction.releaseAllSavepoints()
        }
        savepoint = try transaction.beginSavepoint(ofCall: true)
    }
}
