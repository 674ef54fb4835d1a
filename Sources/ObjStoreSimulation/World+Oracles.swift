internal import CFibers
#if canImport(Glibc)
internal import Glibc
#endif

/// What oracles of an engine need besides `Oracle`'s calls.
extension World {
    /// Runs code of an oracle inside a task: its accesses are no scheduling points.
    package func quietly(_ body: () -> Void) {
        fiber_pause(true)
        defer { fiber_pause(false) }
        body()
    }

    /// Whether a file has sectors that are clean, but not what the medium holds.
    package func hasLostSectors(_ path: String) -> Bool { (folders[path]?.lostCount ?? 0) > 0 }
}

extension DiskFile {
    /// The bytes that the medium certainly has if nothing is pending.
    package func copyDurable(into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int) {
        memset(buffer, 0, count)
        let available = max(0, min(count, size - offset))
        if available > 0 { buffer.copyMemory(from: durable + offset, byteCount: available) }
    }
}
