/// A sum of doubles or decimals that nothing was rounded in: it is the same in whatever order they are added up,
/// and values can be taken out of it again.
///
/// ```
///  3.5 + 0.25 - 1.5      total 9, magnitude 21, of 2^-2       2^53 are the digits of a double
///  12.50 + 3 - 0.5       total 1500, magnitude 1600, of 10^-2   10^34 those of a decimal
/// ```
/// `magnitude` adds up what the values are without their signs. As long as it fits into the digits, so does the sum of
/// any of the values, whichever come first. Most sums of decimals are exact, and those of doubles that hold whole
/// numbers, halves, quarters; not of doubles such as 0.1.
package struct ExactSum: BitwiseCopyable {
    private var total: Int128 = 0
    private var magnitude: Int128 = 0
    /// Both count it: an exponent of 2, or a biased one of 10.
    private var unit: Int
    /// Of decimals: how many values have the exponent. It is that of the sum: 1.50 + 2 is 3.50.
    private var unitValues = 0

    private init(unit: Int, unitValues: Int) { (self.unit, self.unitValues) = (unit, unitValues) }

    /// Of nothing: 0, which the first decimal is added to.
    package static let doubles = ExactSum(unit: 0, unitValues: 0)
    package static let decimals = ExactSum(unit: Decimal128.bias, unitValues: 1)

    // MARK: Doubles

    package var double: Double { Double(sign: .plus, exponent: unit, significand: Double(total)) }

    private static let mostOfDoubles: Int128 = 1 << 53

    /// False: the sum depends on the order from here on, and it is of no use any more.
    package mutating func add(_ value: Double) -> Bool {
        guard var number = ExactSum.parts(value) else { return false }
        if number.digits == 0 { return true }
        if magnitude == 0 { unit = number.exponent }
        let shift = number.exponent - unit
        guard abs(shift) <= 53 else { return false }
        if shift < 0 {
            // At most 2^53 both, times as much.
            total <<= Int128(-shift)
            magnitude <<= Int128(-shift)
            unit = number.exponent
        } else {
            number.digits <<= Int128(shift)
        }
        total += number.digits
        magnitude += abs(number.digits)
        return magnitude <= ExactSum.mostOfDoubles || InjectedBug.active(.sumUnordered)
    }

    /// Of a value that was added.
    package mutating func remove(_ value: Double) -> Bool {
        guard let number = ExactSum.parts(value) else { return false }
        let digits = number.digits << Int128(number.digits == 0 ? 0 : number.exponent - unit)
        total -= digits
        magnitude -= abs(digits)
        return true
    }

    /// An odd number times a power of two, or 0. Nil: infinite, or so large that sums might be.
    private static func parts(_ value: Double) -> (digits: Int128, exponent: Int)? {
        guard value.isFinite, value.magnitude < 0x1p900 else { return nil }
        if value == 0 { return (0, 0) }
        let isNormal = value.isNormal, pattern = value.significandBitPattern
        let digits = isNormal ? pattern | 1 << 52 : pattern, zeros = digits.trailingZeroBitCount
        let exponent = (isNormal ? Int(value.exponentBitPattern) : 1) - 1075
        let number = Int128(digits >> UInt64(zeros))
        return (value < 0 ? -number : number, exponent + zeros)
    }

    // MARK: Decimals

    package var decimal: Decimal128 {
        Decimal128(isNegative: total < 0, exponent: unit, coefficient: UInt128(total.magnitude))
    }

    /// False: the sum depends on the order from here on, and it is of no use any more.
    package mutating func add(_ value: Decimal128) -> Bool {
        guard value.isFinite else { return false }
        var digits = Int128(value.coefficient)
        if value.exponent < unit {
            guard ExactSum.scale(&total, by: unit - value.exponent),
                ExactSum.scale(&magnitude, by: unit - value.exponent)
            else { return false }
            (unit, unitValues) = (value.exponent, 0)
        } else if !ExactSum.scale(&digits, by: value.exponent - unit) {
            return false
        }
        if value.exponent == unit { unitValues += 1 }
        total += value.isNegative ? -digits : digits
        magnitude += digits
        return magnitude <= Int128(Decimal128.maximumCoefficient)
    }

    /// Of a value that was added. False: it was the last one with the exponent of the sum.
    package mutating func remove(_ value: Decimal128) -> Bool {
        var digits = Int128(value.coefficient)
        guard ExactSum.scale(&digits, by: value.exponent - unit) else { return false }
        if value.exponent == unit { unitValues -= 1 }
        total -= value.isNegative ? -digits : digits
        magnitude -= digits
        return unitValues > 0
    }

    /// Times a power of ten, which leaves it below 10^34; false: it does not. 0 may be scaled as far as others can be.
    private static func scale(_ number: inout Int128, by exponent: Int) -> Bool {
        guard exponent < Decimal128.digits else { return false }
        let (scaled, isBeyond) = number.multipliedReportingOverflow(by: Int128(Decimal128.power(exponent)))
        number = scaled
        return !isBeyond && scaled.magnitude <= Decimal128.maximumCoefficient
    }
}
