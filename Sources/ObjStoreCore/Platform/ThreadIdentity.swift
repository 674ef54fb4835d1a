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
