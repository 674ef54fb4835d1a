internal import CSystem

/// What a comparison of two values means: all kernels follow it.
extension LeafMatcher {
    /// Negative, zero or positive: by bytes, a prefix first.
    @inline(__always)
    static func order(_ a: UnsafeRawPointer?, _ aCount: Int, _ b: UnsafeRawPointer?, _ bCount: Int) -> Int {
        let common = min(aCount, bCount)
        if common > 0 {
            let result = memcmp(a.unsafelyUnwrapped, b.unsafelyUnwrapped, common)
            if result != 0 { return Int(result) }
        }
        return aCount &- bCount
    }

    /// The same of what a column has, with a constant.
    static func holds(
        _ comparison: Comparison, _ value: Value, _ constant: Value, in kind: ValueKind
    ) throws(StoreError) -> Bool {
        kind == .mixed ? try MixedOrder.holds(comparison, value, constant) : evaluate(comparison, value, constant)
    }

    /// One comparison of two values of the same kind (or null): the definition that every kernel follows.
    static func evaluate(_ comparison: Comparison, _ a: Value, _ b: Value) -> Bool {
        if a.isNull || b.isNull {
            switch comparison {
            case .equal: return a.isNull && b.isNull
            case .notEqual: return !(a.isNull && b.isNull)
            default: return false
            }
        }
        switch a.kind {
        case .float, .double, .decimal128:
            if a.isNaN || b.isNaN { return comparison == .notEqual }
            if a.kind == .decimal128 {
                let x = a.asDecimal.orderKey, y = b.asDecimal.orderKey
                return comparison.holds(x < y ? -1 : x == y ? 0 : 1)
            }
            let x = a.kind == .float ? Double(a.asFloat) : a.asDouble,
                y = b.kind == .float ? Double(b.asFloat) : b.asDouble
            return comparison.holds(x < y ? -1 : x == y ? 0 : 1)
        case .string, .binary: return comparison.holds(order(a.pointer, a.count, b.pointer, b.count))
        case .timestamp, .objectID, .uuid:
            return comparison.holds(
                a.low != b.low ? (a.low < b.low ? -1 : 1) : a.high < b.high ? -1 : a.high == b.high ? 0 : 1)
        default: return comparison.holds(a.low < b.low ? -1 : a.low == b.low ? 0 : 1)
        }
    }
}
