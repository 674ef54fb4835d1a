import ObjStoreCore

/// A decimal128 as the tests think of it: its digits one by one, compared without the engine's help.
struct NaiveDecimal: Comparable, Hashable, CustomStringConvertible {
    let low: UInt64
    let high: UInt64
    let isNegative: Bool
    /// 0 zero, 1 finite, 2 infinite, 3 NaN.
    let rank: Int
    /// The power of ten of the first digit.
    let adjusted: Int
    /// Without zeros at the end.
    let digits: [UInt8]

    init(_ low: UInt64, _ high: UInt64) {
        self.low = low
        self.high = high
        let bits = UInt128(high) << 64 | UInt128(low)
        let top = Int(bits >> 122) & 31
        var text: [UInt8] = []
        var exponent = 0
        if top < 24 {
            exponent = Int((bits >> 113) & 0x3fff)
            let coefficient = bits & ((1 << 113) - 1)
            text = Array(String(coefficient).utf8)
            // More than 34 nines is no number that there is: 0.
            if text.count > 34 { text = [48] }
        }
        let length = text.count
        while text.last == 48 { text.removeLast() }
        digits = text
        rank = top == 31 ? 3 : top == 30 ? 2 : text.isEmpty ? 0 : 1
        adjusted = rank == 1 ? exponent - 6176 + length - 1 : 0
        isNegative = high >> 63 != 0 && rank != 0 && rank != 3
    }

    var isNaN: Bool { rank == 3 }
    var description: String {
        Decimal128(low: low, high: high).text + " (\(String(high, radix: 16)) \(String(low, radix: 16)))"
    }

    private func magnitudePrecedes(_ other: NaiveDecimal) -> Bool {
        if rank != other.rank { return rank < other.rank }
        if adjusted != other.adjusted { return adjusted < other.adjusted }
        return digits.lexicographicallyPrecedes(other.digits)
    }

    static func < (a: NaiveDecimal, b: NaiveDecimal) -> Bool {
        if a.isNaN || b.isNaN { return !a.isNaN && b.isNaN }
        if a.isNegative != b.isNegative { return a.isNegative }
        return a.isNegative ? b.magnitudePrecedes(a) : a.magnitudePrecedes(b)
    }
    static func == (a: NaiveDecimal, b: NaiveDecimal) -> Bool {
        a.rank == b.rank && a.isNegative == b.isNegative && a.adjusted == b.adjusted
            && (a.rank != 1 || a.digits == b.digits)
    }
    func hash(into hasher: inout Hasher) {
        hasher.combine(rank)
        hasher.combine(adjusted)
    }

    /// Zeros, infinities, NaNs, the largest, the smallest, and what is no canonical encoding.
    static let edges: [(UInt64, UInt64)] = [
        (0, 0x3040_0000_0000_0000), (0, 0xb040_0000_0000_0000), (0, 0), (0, 0x5ffe_0000_0000_0000), (1, 0),
        (1, 0x8000_0000_0000_0000),
        (0x378d_8e63_ffff_ffff, 0x5fff_ed09_bead_87c0), (0x378d_8e63_ffff_ffff, 0xdfff_ed09_bead_87c0),
        (0x378d_8e64_0000_0000, 0x5fff_ed09_bead_87c0),
        (0, 0x7800_0000_0000_0000), (0, 0xf800_0000_0000_0000), (5, 0x7800_0000_0000_0001), (0, 0x7c00_0000_0000_0000),
        (7, 0xfe00_0000_0000_0000),
        (1, 0x6c10_0000_0000_0000), (1, 0x3040_0000_0000_0000), (10, 0x303e_0000_0000_0000),
        (100, 0x303c_0000_0000_0000), (1, 0xb040_0000_0000_0000),
    ]

    /// Amounts with two decimals mostly, so that equal numbers of other bits meet; else anything.
    static func random<R: RandomNumberGenerator>(_ random: inout R) -> (UInt64, UInt64) {
        switch random.next() % 12 {
        case 0: return edges[Int(random.next() % UInt64(edges.count))]
        case 1: return (random.next(), random.next())
        case 2:
            let digits = Int(random.next() % 35)
            let number =
                (UInt128(random.next()) << 64 | UInt128(random.next())) % (digits == 0 ? 1 : Decimal128.power(digits))
            let value = Decimal128(
                isNegative: random.next() % 2 == 0, exponent: 6176 - 20 + Int(random.next() % 30), coefficient: number)
            return (value.low, value.high)
        default:
            let cents = random.next() % 300, sign = random.next() % 4 == 0 ? UInt64(1) << 63 : 0
            return random.next() % 3 == 0
                ? (cents / 10, 0x303e_0000_0000_0000 | sign) : (cents, 0x303c_0000_0000_0000 | sign)
        }
    }
}

extension TestRandom: RandomNumberGenerator {}
