internal import CSystem

/// What the calling thread does between two checks of something.
package enum ThisThread {
    /// Calls `body` with a number that is another one where this thread did something else since its last step: it
    /// changed what a view shows, waited for something, or was busy for a millisecond. That another thread ran instead
    /// is none of these.
    ///
    /// So the steps of one algorithm, between which nothing of the program is called, have the same number, however
    /// late they come; and a thread that has learnt from another one that something has changed gets another one.
    package static func step<T>(_ body: (UInt64) -> T) -> T {
        let number = cs_step_begin()
        defer { cs_step_end() }
        return body(number)
    }

    /// Between two such numbers the thread was busy, and nothing else: that may be a slow machine, too.
    package static func wasOnlyBusy(_ a: UInt64, _ b: UInt64) -> Bool {
        a / UInt64(CS_WAITED) == b / UInt64(CS_WAITED)
    }
    /// It changed what others may look at.
    package static func hasMoved(_ a: UInt64, _ b: UInt64) -> Bool {
        a / UInt64(CS_MOVED) != b / UInt64(CS_MOVED)
    }

    /// It changed what others may look at.
    package static func didMove() { cs_thread_current().pointee.moves &+= 1 }
}
