internal import CSystem

/// Cancels waits for other threads and processes: the store is about to be closed, or the program does not want to wait
/// any longer.
package final class WaitCancellation: @unchecked Sendable {
    /// How often `ask` is called: a delay of this length is not noticed by the user who interrupts it.
    static let interval: Int64 = 200_000_000

    private let word: UnsafeMutablePointer<UInt32>
    private let ask: (@Sendable () throws(StoreError) -> Void)?

    /// - Parameter ask: throws to end the waiting call; runs on its thread, which holds no lock except perhaps that of
    ///   checkpoints.
    package init(asking ask: (@Sendable () throws(StoreError) -> Void)? = nil) {
        word = .allocate(capacity: 1)
        word.initialize(to: 0)
        self.ask = ask
    }

    deinit { word.deallocate() }

    /// Set once; sleeping threads check it now and then.
    package var isCancelled: Bool { cs_load32(word) != 0 }
    package func cancel() { cs_store32(word, 1) }

    private func check() throws(StoreError) {
        if isCancelled { throw StoreError(.closedHandle, "the store was closed") }
    }

    /// Waits for a lock, at most `timeout` nanoseconds (negative: for ever); returns false on a timeout.
    ///
    /// Errors: `.closedHandle` if cancelled; whatever `ask` throws.
    func acquire(_ lock: ExclusiveLock, timeout: Int64, _ machine: Machine) throws(StoreError) -> Bool {
        var left = timeout
        if let ask {
            let deadline = timeout < 0 ? -1 : machine.monotonic() &+ timeout
            while left < 0 || left > WaitCancellation.interval {
                if try lock.acquire(timeout: WaitCancellation.interval, until: self) { return true }
                try check()
                try ask()
                if deadline >= 0 { left = max(0, deadline - machine.monotonic()) }
            }
        }
        if try lock.acquire(timeout: left, until: self) { return true }
        try check()
        return false
    }
}
