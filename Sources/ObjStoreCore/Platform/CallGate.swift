internal import CSystem

/// Calls that must be over before what they work on is closed: closing waits for those of other threads.
///
/// A call enters first and then checks whether it is closed; closing sets that first and then waits. One of them sees
/// the other.
final class CallGate: @unchecked Sendable {
    private let lock = Lock()
    /// The threads that are inside, one entry a call. Under `lock`.
    private var threads: [UInt] = []
    private var isWaitedFor = false
    /// A futex word: how many calls have ended while a thread waited.
    private let ended: UnsafeMutablePointer<UInt32>

    init() {
        ended = .allocate(capacity: 1)
        ended.initialize(to: 0)
    }

    deinit { ended.deallocate() }

    @inline(__always)
    func within<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let me = ThreadIdentity.current
        lock.withLock { threads.append(me) }
        defer { leave(me) }
        return try body()
    }

    private func leave(_ me: UInt) {
        let wakes = lock.withLock { () -> Bool in
            threads.remove(at: threads.lastIndex(of: me)!)
            if isWaitedFor { cs_store32(ended, cs_load32(ended) &+ 1) }
            return isWaitedFor
        }
        if wakes { cs_futex_wake_local(ended, .max) }
    }

    /// This thread makes such a call.
    var isInside: Bool {
        let me = ThreadIdentity.current
        return lock.withLock { threads.contains(me) }
    }

    /// Those of this thread continue: it closes from inside of them.
    func waitForOthers() {
        let me = ThreadIdentity.current
        while true {
            let (isAlone, seen) = lock.withLock { () -> (Bool, UInt32) in
                isWaitedFor = true
                return (!threads.contains { $0 != me }, cs_load32(ended))
            }
            if isAlone { return }
            _ = cs_futex_wait_local(ended, seen, -1)
        }
    }
}
