import ObjStoreCore

/// Values that a mixed property can have, among them those that are hard to tell apart: neighbours of doubles, one
/// number in several kinds, texts with zeros, documents that begin like others.
enum MixedSample {
    static func next(_ random: inout IndexRandom, depth: Int = 2) throws -> OwnedValue {
        switch random.below(depth > 0 ? 20 : 17) {
        case 0: return OwnedValue(.null)
        case 1: return OwnedValue(.bool(random.below(2) == 0))
        case 2...4: return OwnedValue(.int(integer(&random)))
        case 5...6: return OwnedValue(.double(double(&random)))
        case 7: return OwnedValue(.float(Float(double(&random))))
        case 8...10: return OwnedValue(.decimal128(decimal(&random)))
        case 11...13: return text(&random)
        case 14:
            return OwnedValue(
                .timestamp(
                    seconds: Int64(random.below(5)) - 2, nanoseconds: Int32([0, 1, 999_999_999][random.below(3)])))
        case 15:
            return OwnedValue(
                Value(kind: .objectID, low: Int64(random.below(5)) - 2, high: Int64(random.below(3)) << 30))
        case 16:
            return OwnedValue(
                Value(
                    kind: .uuid, low: Int64(random.below(5)) - 2,
                    high: [.min, .max, Int64(random.below(4))][random.below(3)]))
        default:
            let builder = DocumentBuilder()
            try document(&random, depth, to: builder)
            return OwnedValue(Value(kind: .document, pointer: builder.node.baseAddress, count: builder.node.count))
        }
    }

    private static func integer(_ random: inout IndexRandom) -> Int64 {
        switch random.below(5) {
        case 0: return Int64(random.below(7)) - 3
        case 1:
            return [.min, .max, .min + 1, .max - 1, 1 << 53, 1 << 62][random.below(6)] &+ Int64(random.below(3)) &- 1
        case 2: return Int64(bitPattern: random.next()) >> Int64(random.below(64))
        default: return Int64(random.below(40))
        }
    }

    private static func double(_ random: inout IndexRandom) -> Double {
        switch random.below(6) {
        case 0:
            return [
                0, -0.0, .nan, -.nan, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude,
                -.leastNonzeroMagnitude,
            ][random.below(9)]
        case 1: return Double(bitPattern: random.next())
        case 2:
            let near = Double(integer(&random))
            return [near, near.nextUp, near.nextDown][random.below(3)]
        default: return Double(random.below(40)) / 4
        }
    }

    private static func decimal(_ random: inout IndexRandom) -> Decimal128 {
        func random34(_ random: inout IndexRandom) -> UInt128 {
            (UInt128(random.next()) << 64 | UInt128(random.next())) % Decimal128.power(34)
        }
        switch random.below(6) {
        case 0:
            let (low, high) = NaiveDecimal.random(&random)
            return Decimal128(low: low, high: high)
        case 1:
            // All exponents, far beyond the doubles too.
            return Decimal128(
                isNegative: random.below(2) == 0, exponent: random.below(12_288),
                coefficient: random34(&random) >> UInt128(random.below(112)))
        case 2:
            // An int, or right beside it.
            let number = UInt128(integer(&random).magnitude), zeros = random.below(12)
            return Decimal128(
                isNegative: random.below(2) == 0, exponent: Decimal128.bias - zeros,
                coefficient: number * Decimal128.power(zeros) + UInt128(random.below(3)))
        case 3:
            // Around the smallest and the largest doubles.
            let exponent = Decimal128.bias + [-357, -342, -324, 275, 308][random.below(5)] + random.below(4)
            return Decimal128(
                isNegative: random.below(2) == 0, exponent: exponent,
                coefficient: random34(&random) >> UInt128(random.below(112)))
        default:
            let zeros = random.below(3)
            return Decimal128(
                isNegative: false, exponent: Decimal128.bias - 2 - zeros,
                coefficient: UInt128(random.below(1000) * 25) * Decimal128.power(zeros))
        }
    }

    private static func text(_ random: inout IndexRandom) -> OwnedValue {
        let stem = [UInt8](repeating: 0x6c, count: 66)
        let bytes: [UInt8] =
            switch random.below(8) {
            case 0: [UInt8](repeating: 0, count: random.below(3))
            case 1: Array("a\0b\(random.below(3))".utf8)
            case 2: stem + [UInt8(97 + random.below(4))]
            case 3: stem + [0, UInt8(97 + random.below(2))] + [UInt8](repeating: 0x7a, count: random.below(200))
            default: Array("n\(random.below(30))".utf8)
            }
        return bytes.withUnsafeBytes {
            OwnedValue(
                Value(kind: random.below(4) == 0 ? .binary : .string, pointer: $0.baseAddress, count: bytes.count))
        }
    }

    private static func document(_ random: inout IndexRandom, _ depth: Int, to builder: DocumentBuilder) throws {
        let isMap = random.below(2) == 0
        try builder.begin(isMap ? .map : .list)
        for number in 0..<random.below(4) {
            // Keys of which one begins another.
            if isMap { try Array(["a", "a\0", "ab", "b"][number].utf8).withUnsafeBytes { try builder.key($0) } }
            if depth > 1, random.below(4) == 0 {
                try document(&random, depth - 1, to: builder)
            } else {
                let value = try next(&random, depth: 0)
                try withExtendedLifetime(value) { try builder.append(value.value) }
            }
        }
        try builder.end()
    }
}
