internal import CSystem

/// Lets in one thread after the other, and nobody who is inside already: he would wait for himself.
final class Turn: @unchecked Sendable {
    private let turn = Lock()
    /// Of who is inside.
    private let state = Lock()
    private var inside: pthread_t?

    /// Nil: this thread is inside already.
    func take<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result? {
        let isInside = state.withLock { inside.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
        if isInside { return nil }
        turn.lock()
        state.withLock { inside = pthread_self() }
        defer {
            state.withLock { inside = nil }
            turn.unlock()
        }
        return try body()
    }
}
