internal import CSystem

extension Value {
    /// Whether two values of one property are the same: bit by bit for doubles, so that NaN is the same as NaN
    /// and -0.0 is not 0.0.
    package func isSame(as other: Value) -> Bool {
        guard kind == other.kind else { return false }
        switch kind {
        case .null: return true
        case .string, .binary:
            return count == other.count && (count == 0 || memcmp(pointer!, other.pointer!, count) == 0)
        default: return low == other.low && high == other.high
        }
    }

    /// For error messages: short, with quotes around text.
    package var text: String {
        switch kind {
        case .null: return "null"
        case .bool: return low != 0 ? "true" : "false"
        case .int: return String(low)
        case .double: return "\(asDouble)"
        case .timestamp: return "\(low)s \(high)ns"
        case .string:
            let shown = min(count, 60)
            let bytes = UnsafeRawBufferPointer(start: pointer, count: shown)
            // A zero would end the message where it is read as a C string.
            let text = String(decoding: bytes, as: UTF8.self).split(separator: "\0", omittingEmptySubsequences: false).joined(separator: "\\0")
            return "\"" + text + (shown < count ? "…" : "") + "\""
        case .binary: return "\(count) bytes"
        default: return "\(kind)"
        }
    }
}
