internal import CSystem

/// A query that this thread asks, and that somebody watches: whoever looks at objects says so here, and may be stopped.
///
/// The record of the thread knows it (`cthread.h`): a load and a branch for each leaf where nobody watches.
final class WatchedQuery {
    /// Nanoseconds between two calls; 0: at each look.
    private let interval: Int64
    private let tell: (UInt64) throws(StoreError) -> Void
    private var done: UInt64 = 0
    /// Since the last look at the clock, about as much as objects of a scan.
    private var work = 0
    private var next: Int64

    /// What one look costs at least: the clock is not read for each.
    static let least = 256
    private static let stride = 1 << 16

    /// - Parameter tell: called with how many objects were looked at.
    init(every interval: Int64, tell: @escaping (UInt64) throws(StoreError) -> Void) {
        self.interval = interval
        self.tell = tell
        next = cs_monotonic_ns() &+ interval
    }

    /// Runs `body`, which asks the query.
    func watching<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        try WatchedQuery.with(Unmanaged.passUnretained(self).toOpaque(), body)
    }

    private static func with<T>(
        _ watched: UnsafeRawPointer?, _ body: () throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let thread = cs_thread_current().unsafelyUnwrapped, outer = thread.pointee.watched
        thread.pointee.watched = watched
        defer { thread.pointee.watched = outer }
        return try body()
    }

    /// Whether somebody watches what this thread asks.
    @inline(__always)
    static var isOn: Bool { cs_watched() != nil }

    /// So many objects are looked at; 0: again, which is so much `work`. Only where `isOn`.
    ///
    /// Errors: those of `tell`.
    @inline(never)
    static func look(_ objects: Int, work: Int = least) throws(StoreError) {
        guard let pointer = cs_watched() else { return }
        try Unmanaged<WatchedQuery>.fromOpaque(pointer).takeUnretainedValue().look(objects, work)
    }

    private func look(_ objects: Int, _ more: Int) throws(StoreError) {
        done &+= UInt64(objects)
        if interval > 0 {
            work += max(objects, more)
            if work < WatchedQuery.stride { return }
            work = 0
            if cs_monotonic_ns() < next { return }
        }
        // What is asked meanwhile is not watched.
        try WatchedQuery.with(nil) { () throws(StoreError) in try tell(done) }
        next = cs_monotonic_ns() &+ interval
    }
}
