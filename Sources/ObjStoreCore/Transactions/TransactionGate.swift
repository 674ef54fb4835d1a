/// Leaves a transaction, in the middle of reading it, to a function of the application: others may read it meanwhile,
/// nobody may change it.
protocol TransactionGate: AnyObject {
    /// Says what the transaction is like, for `enter`.
    func leave() -> UInt64
    /// Errors: `.inCallback`: it was changed, or has ended.
    func enter(_ mark: UInt64) throws(StoreError)
}
