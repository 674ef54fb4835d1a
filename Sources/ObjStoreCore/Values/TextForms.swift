/// Values that JSON has no form for, as texts: points in time (ISO 8601), binaries (base64), uuids. Reading returns nil
/// where a text is something else.
package enum TextForms {
    // MARK: Time

    /// `2026-11-22T21:19:35.000000001Z`: in UTC, with as many digits of a second as there are; a year beyond 0 to 9999
    /// has a sign. In the proleptic Gregorian calendar, where the year 0 is 1 BC.
    package static func time(seconds: Int64, nanoseconds: Int64) -> String {
        let (day, second) = floored(seconds, by: 86400)
        let (year, month, dayOfMonth) = civil(day)
        var text =
            year >= 0 && year <= 9999 ? padded(year, 4) : (year < 0 ? "-" : "+") + padded(Int64(year.magnitude), 6)
        text +=
            """
            -\(padded(month, 2))-\(padded(dayOfMonth, 2))T\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2))\
            :\(padded(second % 60, 2))
            """
        if nanoseconds > 0 {
            var fraction = padded(nanoseconds, 9)
            while fraction.last == "0" { fraction.removeLast() }
            text += "." + fraction
        }
        return text + "Z"
    }

    /// Takes what `time` makes, up to nine digits of a second, and an offset such as +01:00 in place of Z. Nothing may
    /// be left out.
    package static func time(_ text: UnsafeRawBufferPointer) -> Value? {
        var rest = Scanner(text: text)
        let sign: Int64 = rest.take("-") ? -1 : 1, isLong = sign < 0 || rest.take("+")
        guard let year = rest.number(isLong ? 5...12 : 4...4), rest.take("-"), let month = rest.number(2...2),
            month >= 1, month <= 12, rest.take("-"),
            let day = rest.number(2...2), day >= 1, day <= days(in: month, sign * year),
            rest.take("T") || rest.take("t") || rest.take(" "),
            let hour = rest.number(2...2), hour < 24, rest.take(":"), let minute = rest.number(2...2), minute < 60,
            rest.take(":"),
            let second = rest.number(2...2), second < 60
        else { return nil }
        var nanoseconds: Int64 = 0
        if rest.take(".") {
            let start = rest.position
            guard let fraction = rest.number(1...9) else { return nil }
            nanoseconds = fraction
            for _ in rest.position - start..<9 { nanoseconds *= 10 }
        }
        var offset: Int64 = 0
        if !rest.take("Z"), !rest.take("z") {
            let isWest = rest.take("-")
            guard isWest || rest.take("+"), let hours = rest.number(2...2), hours < 24, rest.take(":"),
                let minutes = rest.number(2...2), minutes < 60
            else { return nil }
            offset = (hours * 3600 + minutes * 60) * (isWest ? -1 : 1)
        }
        guard rest.isAtEnd, (sign * year).magnitude < 300_000_000_000 else { return nil }
        // The first and the last year are not whole.
        let seconds =
            Int128(self.day(sign * year, month, day)) * 86400 + Int128(hour * 3600 + minute * 60 + second - offset)
        return Int64(exactly: seconds).map { .timestamp(seconds: $0, nanoseconds: Int32(nanoseconds)) }
    }

    /// A whole number of units, and a rest that is not negative.
    static func floored(_ number: Int64, by unit: Int64) -> (Int64, Int64) {
        let (quotient, rest) = number.quotientAndRemainder(dividingBy: unit)
        return rest < 0 ? (quotient - 1, rest + unit) : (quotient, rest)
    }

    /// Years begin in March, so that the day that comes and goes is their last; 400 of them have 146097 days.
    private static func civil(_ day: Int64) -> (Int64, Int64, Int64) {
        let shifted = day + 719468
        let era = (shifted >= 0 ? shifted : shifted - 146096) / 146097, inEra = shifted - era * 146097
        let yearOfEra = (inEra - inEra / 1460 + inEra / 36524 - inEra / 146096) / 365
        let inYear = inEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100), month = (5 * inYear + 2) / 153
        return (
            yearOfEra + era * 400 + (month < 10 ? 0 : 1), month < 10 ? month + 3 : month - 9,
            inYear - (153 * month + 2) / 5 + 1
        )
    }

    /// Days since 1970-01-01.
    static func day(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1, era = (shifted >= 0 ? shifted : shifted - 399) / 400,
            ofEra = shifted - era * 400
        let inYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + inYear - 719468
    }

    static func days(in month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    private static func padded(_ number: Int64, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    private struct Scanner {
        let text: UnsafeRawBufferPointer
        var position = 0
        var isAtEnd: Bool { position == text.count }

        mutating func take(_ character: UnicodeScalar) -> Bool {
            guard position < text.count, UInt32(text[position]) == character.value else { return false }
            position += 1
            return true
        }

        mutating func number(_ digits: ClosedRange<Int>) -> Int64? {
            let start = position
            var number: Int64 = 0
            while position < text.count, position - start < digits.upperBound, text[position] &- 0x30 <= 9 {
                number = number * 10 + Int64(text[position] - 0x30)
                position += 1
            }
            return position - start >= digits.lowerBound ? number : nil
        }
    }

    // MARK: UUID

    /// 32 hexadecimal digits with hyphens behind 8, 12, 16 and 20 of them, or with none.
    static func uuid(_ text: UnsafeRawBufferPointer) -> Value? {
        guard text.count == 36 || text.count == 32 else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { bytes in
            var at = 0
            for index in 0..<16 {
                if text.count == 36, index == 4 || index == 6 || index == 8 || index == 10 {
                    guard text[at] == UInt8(ascii: "-") else { return nil }
                    at += 1
                }
                guard let high = HexDigits.digit(text[at]), let low = HexDigits.digit(text[at + 1]) else { return nil }
                bytes[index] = high << 4 | low
                at += 2
            }
            return .uuid(bytes.baseAddress!)
        }
    }

    // MARK: Base64

    private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

    package static func base64Count(_ bytes: Int) -> Int { (bytes + 2) / 3 * 4 }

    /// Fills `base64Count` bytes.
    package static func base64(_ bytes: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>) {
        let digits = alphabet.utf8Start
        var at = 0, next = target
        while at < bytes.count {
            let left = bytes.count - at
            let group =
                UInt32(bytes[at]) << 16 | (left > 1 ? UInt32(bytes[at + 1]) << 8 : 0)
                | (left > 2 ? UInt32(bytes[at + 2]) : 0)
            next[0] = digits[Int(group >> 18)]
            next[1] = digits[Int(group >> 12 & 63)]
            next[2] = left > 1 ? digits[Int(group >> 6 & 63)] : UInt8(ascii: "=")
            next[3] = left > 2 ? digits[Int(group & 63)] : UInt8(ascii: "=")
            at += 3
            next += 4
        }
    }

    /// Fills at most `text.count / 4 * 3` bytes and returns how many. Standard alphabet, with padding, without blanks.
    package static func binary(base64 text: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>) -> Int? {
        guard text.count % 4 == 0 else { return nil }
        var count = 0
        for start in stride(from: 0, to: text.count, by: 4) {
            let isLast = start + 4 == text.count
            let padding =
                isLast && text[start + 3] == UInt8(ascii: "=") ? (text[start + 2] == UInt8(ascii: "=") ? 2 : 1) : 0
            var group: UInt32 = 0
            for index in 0..<4 - padding {
                guard let digit = sixBits(text[start + index]) else { return nil }
                group = group << 6 | digit
            }
            group <<= UInt32(6 * padding)
            // Bits that no byte takes are 0: so each binary has one form.
            if padding > 0, group & (padding == 1 ? 0xff : 0xffff) != 0 { return nil }
            for index in 0..<3 - padding {
                target[count] = UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * index))
                count += 1
            }
        }
        return count
    }

    private static func sixBits(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - 0x41)
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - 0x61 + 26)
        case 0x30...0x39: UInt32(byte - 0x30 + 52)
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

enum HexDigits {
    /// The value of a hexadecimal digit.
    @inline(__always)
    static func digit(_ byte: UInt8) -> UInt8? {
        if byte &- 0x30 <= 9 { return byte &- 0x30 }
        let letter = (byte | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }
}
