extension View {
    /// Another number whenever what the view shows may be another: after a refresh, after each write of a transaction.
    package var stamp: UInt64 { kind == .frozen ? 0 : lock.withLock { epoch } }
}
