/// A decimal number of IEEE 754-2008, decimal128 in the binary encoding (BID): its bits, its order, its parts.
///
/// ```
///  127   126                                                  0
/// ┌────┬──────────────┬─────────────────────────────────────────┐
/// │sign│ exponent, 14 │ coefficient, 113 bits                   │   top two bits of the exponent not 11
/// ├────┼──┬───────────┴───┬─────────────────────────────────────┤
/// │sign│11│ exponent, 14  │ 100 before it: above 10^34 - 1, so 0 │
/// │sign│11110 …            infinity        │11111 … NaN          │
/// └────┴──────────────────────────────────────────────────────────┘
/// value = (-1)^sign × coefficient × 10^(exponent - 6176)
/// ```
/// A coefficient above 10^34 - 1 counts as 0, as the standard says. Values are kept bit by bit: 1.00 stays 1.00.
/// Their order is numerical: 1.0 and 1.00 are equal, and so are the zeros; NaN is equal to NaN and greater than
/// everything else.
package struct Decimal128: Sendable {
    package var low: UInt64
    package var high: UInt64

    @inline(__always)
    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    package static let bias = 6176
    package static let maximumExponent = 12287
    package static let digits = 34
    /// 10^34 - 1.
    static let maximumCoefficient: UInt128 = 9_999_999_999_999_999_999_999_999_999_999_999

    package static let zero = Decimal128(low: 0, high: 0x3040_0000_0000_0000)
    package static let infinity = Decimal128(low: 0, high: 0x7800_0000_0000_0000)
    package static let nan = Decimal128(low: 0, high: 0x7c00_0000_0000_0000)

    /// `exponent` is the stored one, 0 to 12287; `coefficient` at most 10^34 - 1.
    package init(isNegative: Bool, exponent: Int, coefficient: UInt128) {
        low = UInt64(truncatingIfNeeded: coefficient)
        high = UInt64(truncatingIfNeeded: coefficient >> 64) | UInt64(exponent) << 49 | (isNegative ? 1 << 63 : 0)
    }

    // MARK: Parts

    @inline(__always) package var isNegative: Bool { high >> 63 != 0 }
    @inline(__always) package var isFinite: Bool { high & 0x7800_0000_0000_0000 != 0x7800_0000_0000_0000 }
    @inline(__always) package var isNaN: Bool { high & 0x7c00_0000_0000_0000 == 0x7c00_0000_0000_0000 }
    @inline(__always) package var isInfinite: Bool { high & 0x7c00_0000_0000_0000 == 0x7800_0000_0000_0000 }
    /// A NaN that arithmetic would report.
    @inline(__always) package var isSignaling: Bool { high & 0x7e00_0000_0000_0000 == 0x7e00_0000_0000_0000 }
    private var isLargeForm: Bool { high & 0x6000_0000_0000_0000 == 0x6000_0000_0000_0000 }

    /// Of a finite number, biased.
    package var exponent: Int { Int(truncatingIfNeeded: (isLargeForm ? high >> 47 : high >> 49) & 0x3fff) }
    /// Of a finite number.
    package var coefficient: UInt128 {
        if isLargeForm { return 0 }
        let bits = UInt128(high & 0x0001_ffff_ffff_ffff) << 64 | UInt128(low)
        return bits > Decimal128.maximumCoefficient ? 0 : bits
    }

    // MARK: Order

    /// An unsigned number in the order of the values; equal for equal values, and only for them.
    ///
    /// ```
    ///  127         126 … 113                     112 … 0
    /// ┌───────────┬─────────────────────────────┬────────────────────────────────┐
    /// │1 = not < 0│ exponent of the 34 digits   │ coefficient, as long as it was │   all but the first bit inverted
    /// │           │ + 34; infinity 3ffe         │ scaled to 34 digits            │   where negative; NaN all ones
    /// └───────────┴─────────────────────────────┴────────────────────────────────┘
    /// ```
    package var orderKey: UInt128 {
        if !isFinite {
            if isNaN { return .max }
            return Decimal128.key(isNegative: isNegative, UInt128(0x3ffe) << 113)
        }
        let coefficient = coefficient
        if coefficient == 0 { return 1 << 127 }
        let missing = Decimal128.digits &- Decimal128.digitCount(coefficient)
        let magnitude =
            UInt128(truncatingIfNeeded: exponent &- missing &+ Decimal128.digits) &<< 113 | coefficient
            &* Decimal128.power(missing)
        return Decimal128.key(isNegative: isNegative, magnitude)
    }

    @inline(__always) private static func key(isNegative: Bool, _ magnitude: UInt128) -> UInt128 {
        isNegative ? ~(magnitude | 1 << 127) : magnitude | 1 << 127
    }

    /// The shortest number that has this order key.
    package init(orderKey: UInt128) {
        if orderKey == .max {
            self = .nan
            return
        }
        let isNegative = orderKey >> 127 == 0
        let magnitude = (isNegative ? ~orderKey : orderKey) & (UInt128.max >> 1)
        var exponent = Int(magnitude >> 113)
        if exponent >= 0x3ffe {
            self = Decimal128(low: 0, high: Decimal128.infinity.high | (isNegative ? 1 << 63 : 0))
            return
        }
        var coefficient = magnitude & (1 << 113 - 1)
        if coefficient == 0 {
            self = .zero
            return
        }
        exponent -= Decimal128.digits
        while exponent < Decimal128.maximumExponent, coefficient % 10 == 0 || exponent < 0 {
            coefficient /= 10
            exponent += 1
        }
        self.init(isNegative: isNegative, exponent: exponent, coefficient: coefficient)
    }

    // MARK: Powers of ten

    private nonisolated(unsafe) static let powers: UnsafePointer<UInt128> = {
        let table = UnsafeMutablePointer<UInt128>.allocate(capacity: digits + 2)
        var power: UInt128 = 1
        for exponent in 0...digits + 1 {
            (table + exponent).initialize(to: power)
            power &*= 10
        }
        return UnsafePointer(table)
    }()

    /// 10 to the power of 0 to 35.
    @inline(__always) package static func power(_ exponent: Int) -> UInt128 { powers[exponent] }

    /// Decimal digits of a number from 1 to 10^34 - 1.
    @inline(__always)
    package static func digitCount(_ number: UInt128) -> Int {
        // 1233 / 4096 is a little less than log10(2): right, or one too few.
        let guess = ((128 &- number.leadingZeroBitCount) &* 1233) &>> 12
        return guess &+ Int(truncatingIfNeeded: unsafeBitCast(number >= powers[guess], to: UInt8.self))
    }
}

extension Decimal128: Comparable, Hashable {
    package static func == (a: Decimal128, b: Decimal128) -> Bool { a.orderKey == b.orderKey }
    package static func < (a: Decimal128, b: Decimal128) -> Bool { a.orderKey < b.orderKey }
    package func hash(into hasher: inout Hasher) { hasher.combine(orderKey) }
}
