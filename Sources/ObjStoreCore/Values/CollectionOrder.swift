internal import CSystem

/// The order of a set's values and of a map's keys: null first, then by kind, then by value; texts byte by byte, that
/// is by code point. -0.0 is 0.0, every NaN is the same and the greatest, 1.0 and 1.00 are one decimal. Mixed values:
/// `MixedOrder`, and of those that are equal there (1 and 1.0) by kind, so that they are two elements.
package enum CollectionOrder {
    package static func compare(_ a: Value, _ b: Value) -> Int {
        if a.kind != b.kind { return Int(a.kind.rawValue) - Int(b.kind.rawValue) }
        switch a.kind {
        case .null: return 0
        case .string, .binary:
            let shared = min(a.count, b.count)
            if shared >= 8 {
                // Most texts differ here.
                let x = UInt64(bigEndian: a.pointer.unsafelyUnwrapped.loadUnaligned(as: UInt64.self))
                let y = UInt64(bigEndian: b.pointer.unsafelyUnwrapped.loadUnaligned(as: UInt64.self))
                if x != y { return x < y ? -1 : 1 }
            }
            if shared > 0 {
                let order = memcmp(a.pointer!, b.pointer!, shared)
                if order != 0 { return Int(order) }
            }
            return a.count - b.count
        case .double: return order(IndexBits.double(a.asDouble), IndexBits.double(b.asDouble))
        case .float: return order(IndexBits.double(Double(a.asFloat)), IndexBits.double(Double(b.asFloat)))
        case .decimal128: return order(a.asDecimal.orderKey, b.asDecimal.orderKey)
        case .mixed: return MixedOrder.compareCells(a, b)
        default: return a.low != b.low ? order(a.low, b.low) : order(a.high, b.high)
        }
    }

    /// Prefetches the bytes of a text that will be compared.
    @inline(__always)
    static func prefetch(_ value: Value) {
        if let bytes = value.pointer { cs_prefetch(bytes) }
    }

    @inline(__always) private static func order<T: Comparable>(_ a: T, _ b: T) -> Int { a == b ? 0 : a < b ? -1 : 1 }
}
