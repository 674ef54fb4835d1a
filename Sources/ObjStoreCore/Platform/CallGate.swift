internal import CSystem

/// Calls that must be over before what they work on is closed: who closes waits for those of other threads.
///
/// A call enters first and asks then whether all is closed; who closes says so first and waits then. One of them sees the other.
final class CallGate: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let left: UnsafeMutablePointer<pthread_cond_t>
    /// The threads that are inside, one entry a call. Under `mutex`.
    private var threads: [UInt] = []
    private var isWaitedFor = false

    init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        left = .allocate(capacity: 1)
        left.initialize(to: pthread_cond_t())
        pthread_cond_init(left, nil)
    }

    deinit {
        pthread_cond_destroy(left)
        left.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inline(__always)
    func within<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        enter()
        defer { leave() }
        return try body()
    }

    private func enter() {
        let me = ThreadIdentity.current
        pthread_mutex_lock(mutex)
        threads.append(me)
        pthread_mutex_unlock(mutex)
    }

    private func leave() {
        let me = ThreadIdentity.current
        pthread_mutex_lock(mutex)
        threads.remove(at: threads.lastIndex(of: me)!)
        if isWaitedFor { pthread_cond_broadcast(left) }
        pthread_mutex_unlock(mutex)
    }

    /// Those of this thread go on: it closes from inside of them.
    func waitForOthers() {
        let me = ThreadIdentity.current
        pthread_mutex_lock(mutex)
        isWaitedFor = true
        while threads.contains(where: { $0 != me }) { pthread_cond_wait(left, mutex) }
        pthread_mutex_unlock(mutex)
    }
}
