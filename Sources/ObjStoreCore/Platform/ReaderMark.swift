internal import CSystem

/// Says that this thread reads a view without a lock, so that a thread that closes the view can wait for it: a store
/// into the thread's own record (`cthread.h`). One at a time.
struct ReaderMark {
    private let thread: UnsafeMutablePointer<cs_thread>

    // Not `@inline(__always)`: a debug build shows that nothing else makes system calls (syscalls.sh); a release build
    // inlines them anyway.

    /// The reader checks afterwards whether the view is still open.
    static func enter(_ view: UnsafeRawPointer) -> ReaderMark {
        let thread = cs_thread_current().unsafelyUnwrapped
        cs_enter(thread, Int32(CS_PLACE_VIEW), view)
        return ReaderMark(thread: thread)
    }

    func leave() { cs_leave(thread, Int32(CS_PLACE_VIEW)) }

    /// Returns when no thread is inside the view; the caller has made sure that no more get in.
    static func waitForAll(_ view: UnsafeRawPointer) {
        cs_barrier_all_threads()
        var pause: Int64 = 1_000
        while cs_any_inside(view) {
            cs_sleep_ns(pause)
            pause = min(pause * 2, 1_000_000)
        }
    }
}
