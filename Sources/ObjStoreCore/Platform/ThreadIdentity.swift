internal import CSystem

/// Identifies threads of this process: a number that no other thread ever has, also when this one has ended.
enum ThreadIdentity {
    static var current: UInt { UInt(cs_thread_current().pointee.number) }
    /// As the process sees itself.
    static var process: UInt64 { UInt64(cs_process_id()) }
    /// Inside a change handler, of any store: it never waits for another handler to return.
    static var isInHandler: Bool { cs_thread_current().pointee.handlers > 0 }
    /// One for each nesting: a handler of one store may deliver another's.
    static func enterHandler() { cs_thread_current().pointee.handlers += 1 }
    static func leaveHandler() { cs_thread_current().pointee.handlers -= 1 }
    /// Around a sleep until a hub has something for this thread, which knows so many ends of all asynchronous writes.
    /// What is looked at after the first is not older.
    static func beginSleep(for hub: AnyObject, ends: UInt64) {
        cs_sleep_begin(Unmanaged.passUnretained(hub).toOpaque(), ends)
    }
    static func endSleep() { cs_sleep_end() }
    /// Whether a thread sleeps for the hub that knows fewer ends.
    static func isAnyAsleep(for hub: AnyObject, ends: UInt64) -> Bool {
        cs_any_asleep(Unmanaged.passUnretained(hub).toOpaque(), ends)
    }
    static func sleep(_ nanoseconds: Int64) { cs_sleep_ns(nanoseconds) }
}

/// A lock of the process, not of an object: `fork` takes it, so that a child finds it free.
enum StoresLock {
    static func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        cs_global_lock(Int32(CS_LOCK_STORES))
        defer { cs_global_unlock(Int32(CS_LOCK_STORES)) }
        return try body()
    }
}
