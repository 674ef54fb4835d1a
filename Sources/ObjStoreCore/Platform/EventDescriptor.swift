internal import CSystem

/// A file descriptor that is readable while something is due: for poll, epoll, asyncio, libdispatch.
///
/// Stays open until the last reference goes, so that no thread waits on a number that means another file.
package final class EventDescriptor: @unchecked Sendable {
    package let descriptor: Int32

    package init() throws(StoreError) {
        descriptor = cs_eventfd()
        if descriptor < 0 { throw systemError(cs_errno(), "make a descriptor for notifications") }
    }

    deinit { close(descriptor) }

    /// Makes it readable; does nothing where it is.
    package func signal() {
        var one: UInt64 = 1
        // EAGAIN: readable 2^64 - 2 times over.
        while write(descriptor, &one, 8) < 0 && cs_errno() == EINTR {}
    }

    /// Makes it quiet.
    package func drain() {
        var count: UInt64 = 0
        while read(descriptor, &count, 8) < 0 && cs_errno() == EINTR {}
    }

    package enum Outcome: Sendable {
        case ready
        case timedOut
        /// The thread handled a signal.
        case interrupted
    }

    /// Sleeps until it is readable, at most `timeout` nanoseconds (negative: for ever).
    package func wait(timeout: Int64) -> Outcome {
        let deadline = timeout < 0 ? -1 : cs_monotonic_ns() &+ timeout
        while true {
            // poll counts milliseconds: round up, or the last one is spent spinning.
            let left = deadline < 0 ? -1 : max(0, deadline &- cs_monotonic_ns())
            let milliseconds = left < 0 ? -1 : min((left &+ 999_999) / 1_000_000, 1 << 30)
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let result = poll(&request, 1, Int32(milliseconds))
            if result > 0 { return .ready }
            if result < 0 { return .interrupted }
            if left == 0 || (deadline >= 0 && cs_monotonic_ns() >= deadline) { return .timedOut }
        }
    }
}
