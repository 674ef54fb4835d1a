internal import CSystem

/// A thread of its own that sleeps until it is signalled: checkpoints, notifications.
///
/// It blocks every signal, so that the application's handlers run on the application's threads.
/// A forked child has no such thread: there every call does nothing.
package final class BackgroundThread: WorkerThread, @unchecked Sendable {
    private let body: (BackgroundThread) -> Void
    private let fork = ForkGuard()
    /// Two 32-bit futex words: signalled, stopping.
    private let words: UnsafeMutablePointer<UInt32>
    private var thread = pthread_t()
    private var joined = false

    /// `name`: shown by the system's tools, at most 15 bytes.
    package init(name: String, body: @escaping @Sendable (BackgroundThread) -> Void) throws(StoreError) {
        self.body = body
        words = .allocate(capacity: 2)
        words.initialize(repeating: 0, count: 2)
        super.init()
        // The new thread inherits the mask: no signal can hit it before its first instruction.
        var all = sigset_t(), before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        let code = pthread_create(
            &thread, nil,
            { argument in
                let this = Unmanaged<BackgroundThread>.fromOpaque(argument!).takeRetainedValue()
                this.body(this)
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        pthread_sigmask(SIG_SETMASK, &before, nil)
        if code != 0 {
            Unmanaged.passUnretained(self).release()
            joined = true
            if code == EAGAIN {
                throw StoreError(
                    .outOfMemory, "cannot start the thread \(name): there is no memory for it, or there are too many")
            }
            throw systemError(code, "start the thread \(name)")
        }
        _ = cs_thread_name(thread, String(decoding: name.utf8.prefix(15), as: UTF8.self))  // only for show
    }

    deinit {
        precondition(joined || fork.isChild, "a background thread was dropped without stopAndJoin")
        words.deallocate()
    }

    package override var isStopping: Bool { cs_load32(words + 1) != 0 }

    package override func signal() {
        if fork.isChild { return }
        cs_store32(words, 1)
        cs_futex_wake_local(words, 1)
    }

    package override func waitForSignal(timeout: Int64) -> Bool {
        let deadline = timeout > 0 ? cs_monotonic_ns() &+ timeout : timeout
        while !cs_cas32(words, 1, 0) {
            var remaining: Int64 = -1
            if deadline >= 0 {
                remaining = deadline - cs_monotonic_ns()
                if remaining <= 0 { return false }
            }
            _ = cs_futex_wait_local(words, 0, remaining)
        }
        return true
    }

    package override func stopAndJoin() {
        if joined || fork.isChild { return }
        precondition(pthread_equal(pthread_self(), thread) == 0, "a background thread cannot wait for its own end")
        joined = true
        cs_store32(words + 1, 1)
        signal()
        pthread_join(thread, nil)
    }
}
