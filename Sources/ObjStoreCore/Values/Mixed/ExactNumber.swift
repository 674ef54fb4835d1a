internal import Glibc

/// Compares numbers of different kinds without rounding either.
package enum ExactNumber {
    /// Of values of kind int, float, double or decimal128.
    static func compare(_ a: Value, _ b: Value) -> Int {
        switch (a.kind, b.kind) {
        case (.int, .int): return order(a.low, b.low)
        case (.decimal128, .decimal128): return order(a.asDecimal.orderKey, b.asDecimal.orderKey)
        case (.int, .decimal128): return order(decimal(a.low).orderKey, b.asDecimal.orderKey)
        case (.decimal128, .int): return order(a.asDecimal.orderKey, decimal(b.low).orderKey)
        case (.int, _): return -compare(binary(b), a.low)
        case (_, .int): return compare(binary(a), b.low)
        case (.decimal128, _): return -compare(binary(b), a.asDecimal)
        case (_, .decimal128): return compare(binary(a), b.asDecimal)
        default: return compare(binary(a), binary(b))
        }
    }

    private static func binary(_ value: Value) -> Double {
        value.kind == .float ? Double(value.asFloat) : value.asDouble
    }

    @inline(__always) private static func order<T: Comparable>(_ a: T, _ b: T) -> Int { a == b ? 0 : a < b ? -1 : 1 }

    /// Every int has at most 19 digits.
    static func decimal(_ value: Int64) -> Decimal128 {
        Decimal128(isNegative: value < 0, exponent: Decimal128.bias, coefficient: UInt128(value.magnitude))
    }

    /// The greatest double that is not greater than a number, and whether it is the number.
    package static func floor(_ value: Value) -> (floor: Double, isExact: Bool) {
        switch value.kind {
        case .int:
            var double = Double(value.low)
            if compare(double, value.low) > 0 { double = double.nextDown }
            return (double, compare(double, value.low) == 0)
        case .decimal128: return floor(value.asDecimal)
        default: return (binary(value), true)
        }
    }

    private static func floor(_ decimal: Decimal128) -> (floor: Double, isExact: Bool) {
        if decimal.isNaN { return (.nan, true) }
        if decimal.isInfinite { return (decimal.isNegative ? -.infinity : .infinity, true) }
        if decimal.coefficient == 0 { return (0, true) }
        // Near it, and then step by step. In two factors: 10^-340 alone would be 0.
        let exponent = decimal.exponent - Decimal128.bias
        let magnitude =
            Double(decimal.coefficient) * pow(10, Double(exponent / 2)) * pow(10, Double(exponent - exponent / 2))
        var double = min(magnitude, .greatestFiniteMagnitude)
        if decimal.isNegative { double = -double }
        while compare(double, decimal) > 0 { double = double.nextDown }
        while double.nextUp != .infinity, compare(double.nextUp, decimal) <= 0 { double = double.nextUp }
        return (double, compare(double, decimal) == 0)
    }

    private static func compare(_ a: Double, _ b: Double) -> Int {
        if a.isNaN || b.isNaN { return a.isNaN == b.isNaN ? 0 : a.isNaN ? 1 : -1 }
        return order(a, b)
    }

    private static func compare(_ a: Double, _ b: Int64) -> Int {
        if a.isNaN || a >= 0x1p63 { return 1 }
        if a < -0x1p63 { return -1 }
        let whole = Int64(a.rounded(.towardZero))
        return whole != b ? order(whole, b) : order(a - a.rounded(.towardZero), 0)
    }

    private static func compare(_ a: Double, _ b: Decimal128) -> Int {
        if a.isNaN || b.isNaN { return a.isNaN == b.isNaN ? 0 : a.isNaN ? 1 : -1 }
        if a.isInfinite || b.isInfinite {
            func end(_ isInfinite: Bool, _ isNegative: Bool) -> Int { isInfinite ? (isNegative ? -1 : 1) : 0 }
            return order(end(a.isInfinite, a < 0), end(b.isInfinite, b.isNegative))
        }
        let coefficient = b.coefficient
        let sign = order(a, 0), other = coefficient == 0 ? 0 : b.isNegative ? -1 : 1
        if sign != other || sign == 0 { return order(sign, other) }
        return sign * magnitudes(a.magnitude, coefficient, exponent: b.exponent - Decimal128.bias)
    }

    /// A double above 0 and coefficient × 10^exponent above 0.
    private static func magnitudes(_ a: Double, _ coefficient: UInt128, exponent: Int) -> Int {
        // 2^least <= decimal < 2^(least + 1); far apart the powers of two decide.
        let bits = 128 - coefficient.leadingZeroBitCount
        let least = Double(exponent) * 3.321928094887362 + Double(bits - 1)
        if Double(a.exponent) > least + 1.001 { return 1 }
        if Double(a.exponent) + 1.001 < least { return -1 }
        // a = significand × 2^power
        let power = max(Int(a.exponent), -1022) - 52
        let significand = a.significandBitPattern | (a.isNormal ? 1 << 52 : 0)
        var left = Natural(UInt128(significand)), right = Natural(coefficient)
        if power >= 0 { left.shift(by: power) } else { right.shift(by: -power) }
        if exponent >= 0 { right.multiply(byTenTo: exponent) } else { left.multiply(byTenTo: -exponent) }
        return left.order(to: right)
    }

    /// A natural number of any size.
    private struct Natural {
        /// The lowest first; the highest is not 0.
        private var words: [UInt64]

        init(_ number: UInt128) {
            words = [UInt64(truncatingIfNeeded: number), UInt64(truncatingIfNeeded: number >> 64)]
            trim()
        }

        private mutating func trim() { while words.last == 0 { words.removeLast() } }

        mutating func shift(by bits: Int) {
            multiply(by: 1 << UInt64(bits % 64))
            words.insert(contentsOf: repeatElement(0, count: bits / 64), at: 0)
        }

        mutating func multiply(byTenTo exponent: Int) {
            // 10^19 is the last in a word.
            for _ in 0..<exponent / 19 { multiply(by: UInt64(Decimal128.power(19))) }
            multiply(by: UInt64(Decimal128.power(exponent % 19)))
        }

        private mutating func multiply(by factor: UInt64) {
            var carry: UInt64 = 0
            for index in words.indices {
                let (high, low) = words[index].multipliedFullWidth(by: factor)
                let (sum, overflow) = low.addingReportingOverflow(carry)
                words[index] = sum
                carry = overflow ? high + 1 : high
            }
            if carry > 0 { words.append(carry) }
        }

        func order(to other: Natural) -> Int {
            if words.count != other.words.count { return words.count < other.words.count ? -1 : 1 }
            for index in words.indices.reversed() where words[index] != other.words[index] {
                return words[index] < other.words[index] ? -1 : 1
            }
            return 0
        }
    }
}
