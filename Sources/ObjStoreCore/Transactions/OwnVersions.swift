/// Which versions this process committed: all others come from other processes.
///
/// Ranges, ascending. Bounded: what is not looked up any more is forgotten, and after a number of ranges also the
/// oldest, which then count as another process's.
final class OwnVersions: @unchecked Sendable {
    private static let limit = 4096
    private let lock = Lock()
    private var ranges: [ClosedRange<UInt64>] = []

    /// Before HEAD moves: a thread that sees the version finds it here.
    func note(_ versions: ClosedRange<UInt64>) {
        lock.withLock {
            if let last = ranges.last, last.upperBound + 1 == versions.lowerBound {
                ranges[ranges.count - 1] = last.lowerBound...versions.upperBound
                return
            }
            // A commit that failed after it was noted is followed by one of the same version.
            while let last = ranges.last, last.upperBound >= versions.lowerBound {
                ranges.removeLast()
                if last.lowerBound < versions.lowerBound { ranges.append(last.lowerBound...(versions.lowerBound - 1)) }
            }
            ranges.append(versions)
            if ranges.count > OwnVersions.limit { ranges.removeFirst(OwnVersions.limit / 2) }
        }
    }

    func contains(_ version: UInt64) -> Bool {
        lock.withLock {
            var low = 0, high = ranges.count
            while low < high {
                let middle = (low + high) / 2
                if ranges[middle].upperBound < version { low = middle + 1 } else { high = middle }
            }
            return low < ranges.count && ranges[low].contains(version)
        }
    }
}
