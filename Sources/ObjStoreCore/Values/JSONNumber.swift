/// Converts a number of a JSON text to the value of a property, without rounding where the property is exact.
///
/// An integer fits int, and float and double where they have exactly that number; a fraction, or a number with an
/// exponent, is the nearest float or double, and never an int; a decimal is exact or refused. None becomes infinite.
package enum JSONNumber {
    /// - Parameter number: an int or a double of a `JSONReader`, valid as long as its text.
    /// - Parameter kind: of the property; of a mixed one a number becomes an int where it is one of 64 bits, a decimal
    ///   where it is a longer integer, else a double.
    /// - Throws: `.wrongType` for a property that is no number, or an int that a fraction is for; `.outOfRange`.
    package static func convert(_ number: Value, to kind: ValueKind) throws(StoreError) -> Value {
        if number.kind == .int { return try convert(int: number, to: kind) }
        guard let pointer = number.pointer else { return try convert(double: number, to: kind) }
        let text = UnsafeRawBufferPointer(start: pointer, count: number.count), isInteger = isInteger(text)
        switch kind {
        case .double:
            if isInteger, number.asDouble.isFinite { return try exactly(text, .double(number.asDouble), kind) }
            return try finite(text, .double(number.asDouble), number.asDouble.isInfinite, kind)
        case .float:
            let float = JSONNumber.float(text)
            if isInteger, float.isFinite { return try exactly(text, .float(float), kind) }
            return try finite(text, .float(float), float.isInfinite, kind)
        case .decimal128: return .decimal128(try Decimal128(text))
        case .mixed:
            if isInteger { return isZero(text) ? .double(number.asDouble) : .decimal128(try Decimal128(text)) }
            return try convert(number, to: .double)
        case .int:
            if isInteger {
                if isZero(text) { return .int(0) }
                throw StoreError(.outOfRange, "\(shown(text)) is no integer of 64 bits")
            }
            throw StoreError(.wrongType, "\(shown(text)) is not written as an integer")
        default: throw StoreError(.wrongType, "a number where \(kind.indefinite) is due")
        }
    }

    private static func convert(int number: Value, to kind: ValueKind) throws(StoreError) -> Value {
        switch kind {
        case .int, .mixed: return number
        case .double:
            let double = Double(number.low)
            guard Int64(exactly: double) == number.low else { throw inexact("\(number.low)", kind) }
            return .double(double)
        case .float:
            let float = Float(number.low)
            guard Int64(exactly: float) == number.low else { throw inexact("\(number.low)", kind) }
            return .float(float)
        case .decimal128: return .decimal128(ExactNumber.decimal(number.low))
        default: throw StoreError(.wrongType, "a number where \(kind.indefinite) is due")
        }
    }

    /// NaN and the infinities, and what Extended JSON says is a double.
    private static func convert(double number: Value, to kind: ValueKind) throws(StoreError) -> Value {
        let double = number.asDouble
        switch kind {
        case .double, .mixed: return number
        case .float:
            if double.isFinite, Float(double).isInfinite {
                throw StoreError(.outOfRange, "\(double) is beyond the range of a float")
            }
            return .float(Float(double))
        case .decimal128 where double.isNaN: return .decimal128(.nan)
        case .decimal128 where double.isInfinite:
            return .decimal128(Decimal128(low: 0, high: Decimal128.infinity.high | (double < 0 ? 1 << 63 : 0)))
        default: throw StoreError(.wrongType, "the double \(double) where \(kind.indefinite) is due")
        }
    }

    private static func exactly(
        _ text: UnsafeRawBufferPointer, _ value: Value, _ kind: ValueKind
    ) throws(StoreError) -> Value {
        if isZero(text) { return value }
        // 2^128 has 39 digits; a decimal 34, and a double that is an integer may have more: this is found by writing it
        // out.
        let magnitude = value.kind == .float ? Double(value.asFloat).magnitude : value.asDouble.magnitude
        guard digits(of: magnitude) == Array(text.drop { $0 == UInt8(ascii: "-") }) else {
            throw inexact(shown(text), kind)
        }
        return value
    }

    /// Of a double that is an integer, all of them.
    private static func digits(of double: Double) -> [UInt8] {
        // Lowest first, nine decimal ones each.
        var words: [UInt32] = []
        var significand = double.significandBitPattern | 1 << 52
        let power = Int(double.exponent) - 52
        if power < 0 { significand >>= UInt64(-power) }
        while significand > 0 {
            words.append(UInt32(significand % 1_000_000_000))
            significand /= 1_000_000_000
        }
        for _ in 0..<max(0, power) {
            var carry: UInt32 = 0
            for index in words.indices {
                let doubled = words[index] * 2 + carry
                carry = doubled >= 1_000_000_000 ? 1 : 0
                words[index] = doubled - carry * 1_000_000_000
            }
            if carry > 0 { words.append(carry) }
        }
        var digits: [UInt8] = []
        for (position, word) in words.reversed().enumerated() {
            let text = Array(String(word).utf8)
            if position > 0 { digits += Array(repeating: UInt8(ascii: "0"), count: 9 - text.count) }
            digits += text
        }
        return digits
    }

    private static func finite(
        _ text: UnsafeRawBufferPointer, _ value: Value, _ isInfinite: Bool, _ kind: ValueKind
    ) throws(StoreError) -> Value {
        if isInfinite { throw StoreError(.outOfRange, "\(shown(text)) is beyond the range of \(kind.indefinite)") }
        return value
    }

    private static func inexact(_ text: String, _ kind: ValueKind) -> StoreError {
        StoreError(.outOfRange, "\(text) is no number that \(kind.indefinite) has exactly")
    }

    private static func isInteger(_ text: UnsafeRawBufferPointer) -> Bool {
        text.allSatisfy { $0 == UInt8(ascii: "-") || $0 &- 0x30 <= 9 }
    }
    /// Of an integer: 0 or -0.
    private static func isZero(_ text: UnsafeRawBufferPointer) -> Bool {
        text.last == UInt8(ascii: "0") && text.count <= (text.first == UInt8(ascii: "-") ? 2 : 1)
    }
    private static func shown(_ text: UnsafeRawBufferPointer) -> String {
        String(decoding: text.prefix(60), as: UTF8.self) + (text.count > 60 ? "…" : "")
    }

    // MARK: Texts of numbers

    /// The nearest double; infinite where it is too large. No locale is involved.
    @inline(__always)
    package static func double(_ text: UnsafeRawBufferPointer) -> Double {
        let parts = NumberParts(text)
        // Below 2^53, and powers of ten up to 10^22, doubles are exact, and so is one operation on them, rounded once.
        if _fastPath(parts.isWhole && parts.digits < 1 << 53 && parts.exponent >= -22 && parts.exponent <= 22) {
            let double = Double(parts.digits)
            let scaled = parts.exponent < 0 ? double / powers[-parts.exponent] : double * powers[parts.exponent]
            return parts.isNegative ? -scaled : scaled
        }
        // Swift's own, of the C locale.
        return Double(String(decoding: text, as: UTF8.self)) ?? .nan
    }

    /// The nearest float: not that of the nearest double, which may lie half way between two.
    static func float(_ text: UnsafeRawBufferPointer) -> Float {
        let parts = NumberParts(text)
        if parts.isWhole, parts.digits < 1 << 24, parts.exponent >= -10, parts.exponent <= 10 {
            let float = Float(parts.digits), power = Float(powers[abs(parts.exponent)])
            let scaled = parts.exponent < 0 ? float / power : float * power
            return parts.isNegative ? -scaled : scaled
        }
        return Float(String(decoding: text, as: UTF8.self)) ?? .nan
    }

    private nonisolated(unsafe) static let powers: UnsafePointer<Double> = {
        let table = UnsafeMutablePointer<Double>.allocate(capacity: 23)
        var power = 1.0
        for exponent in 0...22 {
            (table + exponent).initialize(to: power)
            power *= 10
        }
        return UnsafePointer(table)
    }()
}

/// A number's text as digits × 10^exponent.
private struct NumberParts {
    var digits: UInt64 = 0
    var exponent = 0
    var isNegative = false
    /// No digit but zeros is missing.
    var isWhole = true

    @inline(__always)
    init(_ text: UnsafeRawBufferPointer) {
        var seenPoint = false, index = 0
        if text.count > 0, text[0] == UInt8(ascii: "-") {
            isNegative = true
            index = 1
        }
        while index < text.count {
            let byte = text[index]
            if byte &- 0x30 <= 9 {
                if digits < 1_000_000_000_000_000_000 {
                    digits = digits &* 10 &+ UInt64(byte &- 0x30)
                    if seenPoint { exponent &-= 1 }
                } else {
                    isWhole = false
                    break
                }
            } else if byte == UInt8(ascii: ".") {
                seenPoint = true
            } else {
                var power = 0, isBelow = false
                index &+= 1
                if index < text.count, text[index] == UInt8(ascii: "-") || text[index] == UInt8(ascii: "+") {
                    isBelow = text[index] == UInt8(ascii: "-")
                    index &+= 1
                }
                while index < text.count {
                    power = min(power &* 10 &+ Int(text[index] &- 0x30), 1 << 30)
                    index &+= 1
                }
                exponent &+= isBelow ? -power : power
                break
            }
            index &+= 1
        }
    }
}
