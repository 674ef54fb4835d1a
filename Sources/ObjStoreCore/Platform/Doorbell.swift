/// A word that counts rings, which threads and processes sleep on, and beside it how many do: ringing costs no system
/// call while none sleeps.
///
/// In shared memory: `0 rings · 8 sleepers`. A sleeper that is killed stays counted; then every ring makes a system
/// call, which finds none.
package struct Doorbell: Sendable {
    private let word, sleepers: SharedWord

    package init(_ address: UnsafeMutableRawPointer) {
        word = SharedWord(address)
        sleepers = SharedWord(address + 8)
    }

    /// To be read before the look at what the bell speaks of.
    package var rings: UInt64 { word.load() }

    /// Sleeps until the bell was rung after `rings` was read, at most `timeout` nanoseconds (negative: for ever);
    /// may return earlier.
    package func wait(_ machine: Machine, while rings: UInt64, timeout: Int64) {
        sleepers.add(1)
        machine.wait(word, while: rings, timeout: timeout)
        sleepers.add(~0)
    }

    /// Wakes at most `count` sleepers; a thread that was about to sleep does not.
    package func ring(_ machine: Machine, count: Int32 = .max) {
        word.add(1)
        if sleepers.load() != 0 { machine.wake(word, count: count) }
    }

    /// Wakes all, whatever the number of sleepers says: for a caller that waits for one of them to end, when the shared
    /// memory may have been overwritten with nonsense.
    func ringForSure(_ machine: Machine) {
        word.add(1)
        machine.wake(word, count: .max)
    }
}
