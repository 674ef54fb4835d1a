/// The operators that compare a property with a constant.
///
/// Null equals only null; the ordering operators are false where either side is null. Floats, doubles and
/// decimals compare as IEEE 754 says (NaN equals nothing, 1.0 equals 1.00); uuids and object ids by their bytes; text
/// compares by code point (the same as by UTF-8 bytes).
package enum Comparison: UInt8, Sendable {
    case equal = 0
    case notEqual = 1
    case less = 2
    case lessOrEqual = 3
    case greater = 4
    case greaterOrEqual = 5

    /// What it says of two values whose order is negative, zero or positive.
    @inline(__always)
    func holds(_ order: Int) -> Bool {
        switch self {
        case .equal: return order == 0
        case .notEqual: return order != 0
        case .less: return order < 0
        case .lessOrEqual: return order <= 0
        case .greater: return order > 0
        case .greaterOrEqual: return order >= 0
        }
    }
}
