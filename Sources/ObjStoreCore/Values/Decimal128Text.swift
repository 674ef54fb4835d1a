/// Decimals as text, without loss: the form of the General Decimal Arithmetic specification, which Python's
/// `decimal` and others share.
///
/// ```
/// 1.00   -0.001   1E+3   0E-6176   Infinity   -Infinity   NaN   sNaN
/// ```
extension Decimal128 {
    /// What cannot be stored exactly is refused: `.outOfRange`; what is no number: `.invalidArgument`.
    package init(_ text: UnsafeRawBufferPointer) throws(StoreError) {
        var parser = DecimalParser(text)
        self = try parser.number()
    }

    package init(_ text: String) throws(StoreError) {
        var copy = text
        // withUTF8 is rethrowing: the error goes around it.
        let result: Result<Decimal128, StoreError> = copy.withUTF8 { bytes in
            do throws(StoreError) { return .success(try Decimal128(UnsafeRawBufferPointer(bytes))) } catch {
                return .failure(error)
            }
        }
        self = try result.get()
    }

    package var text: String {
        let sign = isNegative ? "-" : ""
        if isNaN { return sign + (isSignaling ? "sNaN" : "NaN") }
        if isInfinite { return sign + "Infinity" }
        let digits = String(coefficient), power = exponent - Decimal128.bias
        let adjusted = power + digits.utf8.count - 1
        if power <= 0, adjusted >= -6 {
            if power == 0 { return sign + digits }
            if adjusted >= 0 { return sign + digits.prefix(adjusted + 1) + "." + digits.dropFirst(adjusted + 1) }
            return sign + "0." + String(repeating: "0", count: -adjusted - 1) + digits
        }
        let fraction = digits.utf8.count > 1 ? "." + digits.dropFirst() : ""
        return sign + digits.prefix(1) + fraction + (adjusted < 0 ? "E" : "E+") + String(adjusted)
    }
}

private struct DecimalParser {
    private let text: UnsafeRawBufferPointer
    private var position = 0

    init(_ text: UnsafeRawBufferPointer) { self.text = text }

    private var shown: String {
        let value = Value.string(text.baseAddress, text.count)
        return value.text
    }
    private var noNumber: StoreError {
        StoreError(
            .invalidArgument,
            """
            \(shown) is no decimal number: digits with at most one point, then perhaps E and an exponent; Infinity; NaN
            """
        )
    }
    private func inexact(_ why: String) -> StoreError {
        StoreError(.outOfRange, "\(shown) is not exactly a decimal128: \(why)")
    }

    private var next: UInt8? { position < text.count ? text[position] : nil }
    private static func digit(_ byte: UInt8?) -> UInt8? {
        guard let byte, byte &- 0x30 <= 9 else { return nil }
        return byte - 0x30
    }

    private mutating func sign() -> Bool {
        guard let byte = next, byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") else { return false }
        position += 1
        return byte == UInt8(ascii: "-")
    }

    private mutating func word(_ word: StaticString) -> Bool {
        guard text.count - position == word.utf8CodeUnitCount else { return false }
        for index in 0..<word.utf8CodeUnitCount where text[position + index] | 0x20 != word.utf8Start[index] {
            return false
        }
        position = text.count
        return true
    }

    mutating func number() throws(StoreError) -> Decimal128 {
        let isNegative = sign(), bit: UInt64 = isNegative ? 1 << 63 : 0
        if word("infinity") || word("inf") { return Decimal128(low: 0, high: Decimal128.infinity.high | bit) }
        if word("nan") { return Decimal128(low: 0, high: Decimal128.nan.high | bit) }
        if word("snan") { return Decimal128(low: 0, high: 0x7e00_0000_0000_0000 | bit) }

        // Digits; zeros at the end of them wait, since they may be more than there is room for.
        var coefficient: UInt128 = 0, significant = 0, waiting = 0, afterPoint = 0, any = false, seenPoint = false
        while let byte = next {
            if byte == UInt8(ascii: "."), !seenPoint {
                seenPoint = true
                position += 1
                continue
            }
            guard let digit = DecimalParser.digit(byte) else { break }
            position += 1
            any = true
            if seenPoint { afterPoint += 1 }
            if digit == 0 {
                if significant > 0 { waiting += 1 }
                continue
            }
            significant += waiting + 1
            guard significant <= Decimal128.digits else { throw inexact("it has more than 34 digits") }
            coefficient = coefficient * Decimal128.power(waiting + 1) + UInt128(digit)
            waiting = 0
        }
        guard any else { throw noNumber }
        var exponent = try self.exponent() - afterPoint + waiting + Decimal128.bias
        guard position == text.count else { throw noNumber }
        if coefficient == 0 {
            // Of zero the exponent is cut to what there is.
            return Decimal128(
                isNegative: isNegative, exponent: min(max(exponent, 0), Decimal128.maximumExponent), coefficient: 0)
        }
        // As many of the zeros as there is room for: 1.00 stays 1.00.
        var room = min(waiting, Decimal128.digits - significant)
        if exponent > Decimal128.maximumExponent {
            room = max(room, min(exponent - Decimal128.maximumExponent, Decimal128.digits - significant))
        }
        room = max(0, min(room, exponent))
        coefficient *= Decimal128.power(room)
        exponent -= room
        guard exponent <= Decimal128.maximumExponent else { throw inexact("it is 1E+6145 or more") }
        while exponent < 0, coefficient % 10 == 0 {
            coefficient /= 10
            exponent += 1
        }
        guard exponent >= 0 else { throw inexact("it has digits below 1E-6176") }
        return Decimal128(isNegative: isNegative, exponent: exponent, coefficient: coefficient)
    }

    /// What follows an E; 0 where there is none. Beyond what any number needs it is cut.
    private mutating func exponent() throws(StoreError) -> Int {
        guard let byte = next, byte | 0x20 == UInt8(ascii: "e") else { return 0 }
        position += 1
        let isNegative = sign()
        guard DecimalParser.digit(next) != nil else { throw noNumber }
        var exponent = 0
        while let digit = DecimalParser.digit(next) {
            position += 1
            exponent = min(exponent * 10 + Int(digit), 1 << 40)
        }
        return isNegative ? -exponent : exponent
    }
}
