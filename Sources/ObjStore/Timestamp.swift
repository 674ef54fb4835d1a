/// A moment, to the nanosecond, in UTC: what a store keeps of a time.
///
/// `nanoseconds` count up from `seconds`, also before 1970: half a second before the epoch is (−1, 500,000,000).
public struct Timestamp: Hashable, Sendable {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    public var seconds: Int64
    /// 0 to 999,999,999. A store refuses others with `.outOfRange`.
    public var nanoseconds: Int32

    public init(seconds: Int64, nanoseconds: Int32 = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }
}

extension Timestamp: Comparable {
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}

extension Timestamp: CustomStringConvertible {
    public var description: String {
        let digits = String(nanoseconds)
        return "\(seconds).\(String(repeating: "0", count: max(0, 9 - digits.count)))\(digits)s"
    }
}
