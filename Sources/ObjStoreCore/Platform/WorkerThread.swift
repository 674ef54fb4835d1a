/// A thread of the engine that sleeps until it is signalled; `Machine.startThread` makes it.
///
/// The body returns when `isStopping`; the creator of the thread calls `stopAndJoin`.
open class WorkerThread: @unchecked Sendable {
    public init() {}
    open var isStopping: Bool { fatalError("abstract") }
    /// Wakes the thread, or makes its next `waitForSignal` return at once. Signals do not add up.
    open func signal() { fatalError("abstract") }
    /// For the body: sleeps until a signal, at most `timeout` nanoseconds (negative: for ever, 0: not at all).
    /// True = there was a signal, which is used up.
    open func waitForSignal(timeout: Int64) -> Bool { fatalError("abstract") }
    /// Tells the body to return and waits until it has. Not from the thread itself; a second call does nothing.
    open func stopAndJoin() { fatalError("abstract") }
}
