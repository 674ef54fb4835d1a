internal import CSystem

extension Value {
    /// Whether two values of one property are the same: bit by bit for floats, doubles and decimals, so that NaN is the
    /// same as NaN, -0.0 is not 0.0 and 1.0 is not 1.00.
    package func isSame(as other: Value) -> Bool {
        guard kind == other.kind else { return false }
        switch kind {
        case .null: return true
        case .string, .binary, .list, .set, .map, .mixed, .document:
            return count == other.count && (count == 0 || memcmp(pointer!, other.pointer!, count) == 0)
        // Where one does not say the class, it is that of the property.
        case .link:
            let classes = (UInt32(truncatingIfNeeded: high), UInt32(truncatingIfNeeded: other.high))
            return low == other.low && (classes.0 == classes.1 || classes.0 == 0 || classes.1 == 0)
        default: return low == other.low && high == other.high
        }
    }

    /// For error messages: short, with quotes around text.
    package var text: String {
        switch kind {
        case .null: return "null"
        case .bool: return low != 0 ? "true" : "false"
        case .int: return String(low)
        case .float: return "\(asFloat)"
        case .double: return "\(asDouble)"
        case .decimal128: return asDecimal.text
        case .objectID:
            return Value.hex(ValueCell.bytes(low).bigEndian, 16) + Value.hex(UInt64(bitPattern: high) & 0xffff_ffff, 8)
        case .uuid:
            let a = ValueCell.bytes(low).bigEndian, b = ValueCell.bytes(high).bigEndian
            return [
                Value.hex(a >> 32, 8), Value.hex(a >> 16 & 0xffff, 4), Value.hex(a & 0xffff, 4), Value.hex(b >> 48, 4),
                Value.hex(b & 0xffff_ffff_ffff, 12),
            ]
            .joined(separator: "-")
        case .timestamp: return "\(low)s \(high)ns"
        case .string:
            let shown = min(count, 60)
            let bytes = UnsafeRawBufferPointer(start: pointer, count: shown)
            // A zero would end the message where it is read as a C string.
            let text = String(decoding: bytes, as: UTF8.self).split(separator: "\0", omittingEmptySubsequences: false)
                .joined(separator: "\\0")
            return "\"" + text + (shown < count ? "…" : "") + "\""
        case .binary: return "\(count) bytes"
        case .link: return "object \(low)"
        case .mixed:
            do throws(StoreError) { return try MixedCell.value(self).text } catch { return "a damaged mixed value" }
        default: return "\(kind)"
        }
    }

    /// For messages about a wrong type: "string ("five")", "null".
    package var kindAndText: String {
        let text = text
        return text == "\(kind)" ? text : "\(kind) (\(text))"
    }

    private static func hex(_ number: UInt64, _ digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }
}
