/// Wakes one task; raised while none waits, the next one to wait continues at once.
final class TaskSignal: Sendable {
    private enum State { case quiet, raised, waiting(CheckedContinuation<Void, Never>) }
    private let state = Guarded(State.quiet)

    func raise() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard case .waiting(let continuation) = state else {
                state = .raised
                return nil
            }
            state = .quiet
            return continuation
        }
        waiting?.resume()
    }

    /// Until it is raised or the task is cancelled.
    func wait(isolation: isolated (any Actor)? = #isolation) async {
        await withTaskCancellationHandler {
            await waitUntilRaised()
        } onCancel: {
            raise()
        }
    }

    /// The same of a task that does not end when it is cancelled.
    func waitUntilRaised(isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { continuation in
            let isRaised = state.withLock { state -> Bool in
                if case .raised = state {
                    state = .quiet
                    return true
                }
                state = .waiting(continuation)
                return false
            }
            if isRaised { continuation.resume() }
        }
    }
}
