internal import Dispatch

extension Store {
    /// Like `write`, from a task, which is suspended until it is done: while it waits for its turn, no thread of the
    /// tasks waits with it.
    ///
    /// The body runs on a thread of the library, one after the other of one ``Store``. A task that is cancelled before
    /// its body begins, also while other writers are waited for, throws `CancellationError` at once, and the body does
    /// not run; afterwards it runs to its end. `write` works in tasks, too, but keeps one of their few threads while it
    /// waits for another writer. Errors: as `write`.
    @discardableResult
    public func asyncWrite<R: Sendable>(_ body: @escaping @Sendable (Transaction) throws -> R) async throws -> R {
        try await inTurn(body)
    }

    /// The same with a body that ends with what is not `Sendable`, and is not returned:
    /// `try await store.asyncWrite { tx in try tx.create(Dog.self) }`. A task may take a ``Reference`` along.
    public func asyncWrite<R>(_ body: @escaping @Sendable (Transaction) throws -> R) async throws {
        try await inTurn { transaction in _ = try body(transaction) }
    }

    private func inTurn<R: Sendable>(_ body: @escaping @Sendable (Transaction) throws -> R) async throws -> R {
        let turn = Turn<R>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard turn.wait(continuation) else { return continuation.resume(throwing: CancellationError()) }
                space.handle.writers.async {
                    guard turn.isWaiting else { return }
                    let result = ThreadWrites.within("the body of asyncWrite") {
                        Result { () throws in
                            try self.write { transaction in
                                guard turn.begin() else { throw CancellationError() }
                                return try body(transaction)
                            }
                        }
                    }
                    turn.end(result)
                }
            }
        } onCancel: {
            turn.cancel()
        }
    }

    /// A task that waits for its turn, has it, or was resumed.
    private final class Turn<R: Sendable>: Sendable {
        private enum State {
            case new
            case waiting(CheckedContinuation<R, any Error>)
            case running(CheckedContinuation<R, any Error>)
            case over
        }
        private let state = Guarded(State.new)

        /// False: it was cancelled before.
        func wait(_ continuation: CheckedContinuation<R, any Error>) -> Bool {
            state.withLock { state in
                guard case .new = state else { return false }
                state = .waiting(continuation)
                return true
            }
        }

        var isWaiting: Bool { state.withLock { if case .waiting = $0 { true } else { false } } }

        /// False: it was cancelled.
        func begin() -> Bool {
            state.withLock { state in
                guard case .waiting(let continuation) = state else { return false }
                state = .running(continuation)
                return true
            }
        }

        func cancel() {
            let waiting = state.withLock { state -> CheckedContinuation<R, any Error>? in
                switch state {
                case .new:
                    state = .over
                    return nil
                case .waiting(let continuation):
                    state = .over
                    return continuation
                case .running, .over: return nil
                }
            }
            waiting?.resume(throwing: CancellationError())
        }

        /// Resumes the task, unless it was resumed as cancelled.
        func end(_ result: sending Result<R, any Error>) {
            let told = state.withLock { state -> CheckedContinuation<R, any Error>? in
                defer { state = .over }
                switch state {
                case .waiting(let continuation), .running(let continuation): return continuation
                case .new, .over: return nil
                }
            }
            told?.resume(with: result)
        }
    }
}
