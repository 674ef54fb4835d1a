internal import CSystem
internal import Glibc

/// What the operating system says to whoever makes ids: the time, the process, random bits.
enum ThisProcess {
    static var number: UInt32 { UInt32(bitPattern: getpid()) }

    /// Since 1970.
    static var seconds: UInt64 { UInt64(truncatingIfNeeded: cs_realtime_ns() / 1_000_000_000) }

    /// By one system call.
    static func random() -> (UInt64, UInt64) {
        var words: (UInt64, UInt64) = (0, 0)
        // At most 256 bytes are never cut short.
        let count = withUnsafeMutableBytes(of: &words) { cs_random($0.baseAddress, 16) }
        precondition(count == 16, "getrandom failed")
        return words
    }
}
