/// Sums, products and quotients of decimals by IEEE 754-2008: the exact result, rounded to 34 digits, half to even.
///
/// A result is made of up to 256 bits and of whether something lies behind them, and rounded once.
extension Decimal128 {
    package static func + (a: Decimal128, b: Decimal128) -> Decimal128 {
        if a.isNaN || b.isNaN { return .nan }
        if a.isInfinite || b.isInfinite {
            if a.isInfinite && b.isInfinite && a.isNegative != b.isNegative { return .nan }
            return a.isInfinite ? a : b
        }
        let (large, small) = a.exponent >= b.exponent ? (a, b) : (b, a)
        if large.coefficient == 0 && small.coefficient == 0 {
            return Decimal128(
                isNegative: a.isNegative && b.isNegative, exponent: small.exponent, coefficient: 0)
        }
        let distance = large.exponent - small.exponent
        if distance > mostAligned {
            if large.coefficient == 0 { return small }
            let shift = digits - digitCount(large.coefficient)
            if distance - shift > mostAligned {
                // Of the other one, which lies behind all digits, only that it is there matters.
                let hasMore = small.coefficient != 0
                var number = Wide(large.coefficient, times: shift + 2)
                if hasMore && large.isNegative != small.isNegative { number = number - Wide(1) }
                return rounded(large.isNegative, number, large.exponent - shift - 2, hasMore: hasMore)
            }
        }
        let one = Wide(large.coefficient, times: distance), other = Wide(small.coefficient)
        if large.isNegative == small.isNegative {
            return rounded(large.isNegative, one + other, small.exponent, hasMore: false)
        }
        let isNegative = one < other ? small.isNegative : large.isNegative
        let sum = one < other ? other - one : one - other
        return rounded(isNegative && !sum.isZero, sum, small.exponent, hasMore: false)
    }

    package static func - (a: Decimal128, b: Decimal128) -> Decimal128 { a + -b }

    package static prefix func - (a: Decimal128) -> Decimal128 {
        a.isNaN ? .nan : Decimal128(low: a.low, high: a.high ^ 1 << 63)
    }

    package static func * (a: Decimal128, b: Decimal128) -> Decimal128 {
        if a.isNaN || b.isNaN { return .nan }
        let isNegative = a.isNegative != b.isNegative
        if a.isInfinite || b.isInfinite {
            let isZero = a.isFinite && a.coefficient == 0 || b.isFinite && b.coefficient == 0
            return isZero ? .nan : infinity(isNegative)
        }
        return rounded(
            isNegative, Wide(product: a.coefficient, b.coefficient), a.exponent + b.exponent - bias, hasMore: false)
    }

    package static func / (a: Decimal128, b: Decimal128) -> Decimal128 {
        if a.isNaN || b.isNaN || a.isInfinite && b.isInfinite { return .nan }
        let isNegative = a.isNegative != b.isNegative
        if a.isInfinite { return infinity(isNegative) }
        if b.isInfinite { return Decimal128(isNegative: isNegative, exponent: 0, coefficient: 0) }
        let dividend = a.coefficient, divisor = b.coefficient
        if divisor == 0 { return dividend == 0 ? .nan : infinity(isNegative) }
        let ideal = a.exponent - b.exponent + bias
        if dividend == 0 { return rounded(isNegative, Wide(0), ideal, hasMore: false) }
        // At least 35 digits of the quotient, and at most 36.
        let shift = digits + 1 + digitCount(divisor) - digitCount(dividend)
        let (quotient, rest) = divisor.dividingFullWidth(Wide(dividend, times: shift).parts)
        var result = quotient, exponent = ideal - shift
        while rest == 0, exponent < ideal, result % 10 == 0 {
            result /= 10
            exponent += 1
        }
        return rounded(isNegative, Wide(result), exponent, hasMore: rest != 0)
    }

    private static func infinity(_ isNegative: Bool) -> Decimal128 { isNegative ? -infinity : infinity }

    /// Exponents so far from each other, of numbers of 34 digits, are made the same.
    private static let mostAligned = 36

    /// - Parameters:
    ///   - exponent: biased; it may be any.
    ///   - hasMore: something that is not 0 lies behind the digits.
    private static func rounded(
        _ isNegative: Bool, _ number: Wide, _ exponent: Int, hasMore: Bool
    ) -> Decimal128 {
        // So many digits have to go: what is beyond 34, or below the least exponent.
        let excess = max(number.digitCount - digits, -exponent)
        var exponent = exponent, coefficient = number.low
        if excess > 0 {
            coefficient = excess > number.digitCount ? 0 : number.rounded(by: excess, hasMore: hasMore)
            exponent += excess
            if coefficient > maximumCoefficient {
                coefficient /= 10
                exponent += 1
            }
        }
        if coefficient == 0 {
            return Decimal128(
                isNegative: isNegative, exponent: min(max(exponent, 0), maximumExponent), coefficient: 0)
        }
        while exponent > maximumExponent {
            guard coefficient <= maximumCoefficient / 10 else { return infinity(isNegative) }
            coefficient *= 10
            exponent -= 1
        }
        return Decimal128(isNegative: isNegative, exponent: exponent, coefficient: coefficient)
    }

    // MARK: Of other numbers

    /// With the fewest digits that mean the double.
    package init(shortest number: Double) {
        if number.isNaN || number.isInfinite {
            self = number.isNaN ? .nan : number < 0 ? -Decimal128.infinity : .infinity
            return
        }
        // A double has at most 17 digits, and its exponents are within those of a decimal.
        self = (try? Decimal128(number.description)) ?? .nan
    }

    package init(shortest number: Float) {
        if number.isNaN || number.isInfinite {
            self.init(shortest: Double(number))
            return
        }
        self = (try? Decimal128(number.description)) ?? .nan
    }
}

/// A number of 256 bits.
private struct Wide {
    var high: UInt128
    var low: UInt128

    init(_ low: UInt128) { (high, self.low) = (0, low) }
    init(high: UInt128, low: UInt128) { (self.high, self.low) = (high, low) }
    init(product a: UInt128, _ b: UInt128) { (high, low) = a.multipliedFullWidth(by: b) }

    /// `number` times ten to the power of `shift`: up to 70, and less than 78 digits.
    init(_ number: UInt128, times shift: Int) {
        self.init(product: number, Decimal128.power(min(shift, 35)))
        if shift > 35 {
            let factor = Decimal128.power(shift - 35), lower = Wide(product: low, factor)
            (high, low) = (lower.high + high * factor, lower.low)
        }
    }

    var isZero: Bool { high == 0 && low == 0 }
    var parts: (high: UInt128, low: UInt128) { (high, low) }

    static func < (a: Wide, b: Wide) -> Bool { a.high != b.high ? a.high < b.high : a.low < b.low }

    static func + (a: Wide, b: Wide) -> Wide {
        let (low, carries) = a.low.addingReportingOverflow(b.low)
        return Wide(high: a.high + b.high + (carries ? 1 : 0), low: low)
    }

    /// `b` is not greater.
    static func - (a: Wide, b: Wide) -> Wide {
        let (low, borrows) = a.low.subtractingReportingOverflow(b.low)
        return Wide(high: a.high - b.high - (borrows ? 1 : 0), low: low)
    }

    /// Ten to the power of `exponent`, up to 70.
    static func power(_ exponent: Int) -> Wide {
        exponent <= 35
            ? Wide(Decimal128.power(exponent))
            : Wide(product: Decimal128.power(35), Decimal128.power(exponent - 35))
    }

    /// Decimal digits; of 0 none. At most 77.
    var digitCount: Int {
        if isZero { return 0 }
        let bits = high == 0 ? 128 - low.leadingZeroBitCount : 256 - high.leadingZeroBitCount
        let guess = (bits * 1233) >> 12
        if guess > 70 { return guess }
        return self < Wide.power(guess) ? guess : guess + 1
    }

    /// Without its last digits, half to even; at most 34 digits are left, or one more by rounding up.
    func rounded(by excess: Int, hasMore: Bool) -> UInt128 {
        var number = self, left = excess, more = hasMore, last: (divisor: UInt128, rest: UInt128) = (1, 0)
        while left > 0 {
            more = more || last.rest != 0
            let divisor = Decimal128.power(min(left, 35))
            let (quotient, rest) = divisor.dividingFullWidth((number.high % divisor, number.low))
            number = Wide(high: number.high / divisor, low: quotient)
            last = (divisor, rest)
            left -= 35
        }
        let half = last.divisor / 2
        let isUp = last.rest > half || last.rest == half && (more || number.low & 1 == 1)
        return number.low + (isUp ? 1 : 0)
    }
}
