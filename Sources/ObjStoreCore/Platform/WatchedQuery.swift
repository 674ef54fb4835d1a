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
    /// Rows that are sorted between two looks: well below a millisecond.
    static let stretch = 1 << 14

    /// - Parameter tell: called with how many objects were looked at.
    init(every interval: Int64, tell: @escaping (UInt64) throws(StoreError) -> Void) {
        self.interval = interval
        self.tell = tell
        next = cs_monotonic_ns() &+ interval
    }

    /// Runs `body`, which asks the query.
    func watching<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        let thread = cs_thread_current().unsafelyUnwrapped, outer = thread.pointee.asked.watched
        thread.pointee.asked.watched = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        defer { thread.pointee.asked.watched = outer }
        return try body()
    }

    /// Somebody is being told on this thread: what he asks is not watched, or he would be told of that, and ask again.
    static var isTelling: Bool { cs_thread_current().pointee.telling > 0 }

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

    /// Calls `body` for one stretch of rows after the other, as long as nobody ends the query in between. For passes
    /// over rows that were found.
    @inline(__always)
    static func forEachStretch(of rows: Range<Int>, _ body: (Range<Int>) throws(StoreError) -> Void) throws(StoreError)
    {
        var start = rows.lowerBound
        while rows.upperBound &- start > stretch {
            try body(start..<start &+ stretch)
            start &+= stretch
            if _slowPath(isOn) { try look(0, work: stretch) }
        }
        try body(start..<rows.upperBound)
    }

    /// The same for loops of other kinds, which have come to a place: a look at `next`, from where it is a stretch to
    /// the next one.
    @inline(__always)
    static func look(at place: Int, _ next: inout Int) throws(StoreError) {
        if _fastPath(place < next) { return }
        next = place &+ stretch
        if _slowPath(isOn) { try look(0, work: stretch) }
    }

    private func look(_ objects: Int, _ more: Int) throws(StoreError) {
        done &+= UInt64(objects)
        if interval > 0 {
            work += max(objects, more)
            if work < WatchedQuery.stride { return }
            work = 0
            if cs_monotonic_ns() < next { return }
        }
        let thread = cs_thread_current().unsafelyUnwrapped
        thread.pointee.telling += 1
        defer { thread.pointee.telling -= 1 }
        try tell(done)
        next = cs_monotonic_ns() &+ interval
    }
}
