internal import Dispatch
internal import Synchronization

extension Store {
    /// Like `write`, from a task, which is suspended until it is done: while it waits for its turn, no thread of the tasks waits with it.
    ///
    /// The body runs on a thread of the library, one after the other of one ``Store``. A task that is cancelled before its turn throws
    /// `CancellationError`, and its body does not run; afterwards it runs to its end. `write` works in tasks, too, but keeps one of their few
    /// threads while it waits for another writer. Errors: as `write`.
    @discardableResult
    public func asyncWrite<R: Sendable>(_ body: @escaping @Sendable (Transaction) throws -> R) async throws -> R {
        let turn = Turn()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                space.handle.writers.async {
                    continuation.resume(with: Result { () throws in
                        guard turn.begin() else { throw CancellationError() }
                        return try self.write(body)
                    })
                }
            }
        } onCancel: {
            turn.cancel()
        }
    }

    /// Whether a body runs or was cancelled: what comes first.
    private final class Turn: Sendable {
        private let isTaken = Atomic(false)
        func begin() -> Bool { isTaken.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged }
        func cancel() { _ = begin() }
    }
}
