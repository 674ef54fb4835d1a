internal import CSystem

/// How many threads a query of this thread may use: a setting of the store's handle, which the record of the thread
/// knows while a query is asked, as it knows who watches it.
enum QueryThreads {
    /// Nobody can use more.
    package static let most = 256

    /// Runs `body`, which asks a query.
    static func allowing<T>(_ count: Int, _ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        let thread = cs_thread_current().unsafelyUnwrapped, outer = thread.pointee.asked
        thread.pointee.asked.threads = UInt32(count)
        thread.pointee.asked.used = 0
        defer {
            thread.pointee.asked.threads = outer.threads
            thread.pointee.asked.used = outer.used
        }
        return try body()
    }

    /// 0 or 1: the one that asks.
    @inline(__always)
    static var count: Int { Int(cs_query_threads()) }

    /// What it allocates is counted, and so can only be allocated by the thread that asks.
    static var isBudgeted: Bool { cs_thread_current().pointee.asked.budget > 0 }

    /// How many the query has used so far, at most at the same time.
    static var used: Int {
        get { Int(cs_thread_current().pointee.asked.used) }
        set { cs_thread_current().pointee.asked.used = UInt32(newValue) }
    }
}
