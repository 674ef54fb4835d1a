internal import CSystem

/// Says to who waits for others that there is nothing to wait for any more: the store is about to be closed, or the
/// program does not want to wait on.
package final class EndOfWaits: @unchecked Sendable {
    /// How often the program is asked: nobody notices that one cannot wait for this long to be interrupted.
    static let interval: Int64 = 200_000_000

    private let word: UnsafeMutablePointer<UInt32>
    private let ask: (@Sendable () throws(StoreError) -> Void)?

    /// - Parameter ask: throws where the call that waits is to end; on its thread, and of locks it has that of
    ///   checkpoints at most.
    package init(asking ask: (@Sendable () throws(StoreError) -> Void)? = nil) {
        word = .allocate(capacity: 1)
        word.initialize(to: 0)
        self.ask = ask
    }

    deinit { word.deallocate() }

    /// Set once, and looked at by sleeping threads now and then.
    package var isHere: Bool { cs_load32(word) != 0 }
    package func come() { cs_store32(word, 1) }

    private func check() throws(StoreError) {
        if isHere { throw StoreError(.closedHandle, "the store was closed") }
    }

    /// Waits for a lock, at most `timeout` nanoseconds (negative: for ever); false: in vain.
    ///
    /// Errors: `.closedHandle` where the end has come; what the program says when it is asked.
    func acquire(_ lock: ExclusiveLock, timeout: Int64, _ machine: Machine) throws(StoreError) -> Bool {
        var left = timeout
        if let ask {
            let deadline = timeout < 0 ? -1 : machine.monotonic() &+ timeout
            while left < 0 || left > EndOfWaits.interval {
                if try lock.acquire(timeout: EndOfWaits.interval, until: self) { return true }
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
