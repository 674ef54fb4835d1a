/// Constants that are more than a token: numbers, times, and `oid(…)` and its like.
extension QueryParser {
    // MARK: Numbers

    /// The number at hand, with a sign before it or none.
    mutating func number(_ sign: QueryToken?) throws(StoreError) {
        let isNegative = sign?.kind == .minus, position = sign?.start ?? token.start
        if token.kind == .word, token.keyword == .infinity || token.keyword == .nan {
            let isInfinite = token.keyword == .infinity
            try advance()
            return try constant(
                .double(!isInfinite ? .nan : isNegative ? -.infinity : .infinity), at: position)
        }
        guard token.isNumber else { throw lexer.expected("a number", token) }
        try constant(number(isNegative: isNegative), at: position)
        try advance()
    }

    private func number(isNegative: Bool) throws(StoreError) -> Value {
        if token.kind == .integer || token.kind == .hexadecimal {
            if let integer = integer(isNegative: isNegative) { return .int(integer) }
            if token.kind == .hexadecimal {
                throw lexer.error("\(lexer.shown(token.start, token.end)) is no int of 64 bits", at: token.start)
            }
        }
        // Without an f, and with the sign right before it: what is there has been read.
        let end = token.kind == .float ? token.end - 1 : token.end
        if isNegative { copy[token.start - 1] = UInt8(ascii: "-") }
        let start = isNegative ? token.start - 1 : token.start
        let text = UnsafeRawBufferPointer(start: copy + start, count: end - start)
        if token.kind == .float {
            let float = JSONNumber.float(text)
            if float.isFinite { return .float(float) }
            throw lexer.error("\(lexer.shown(token.start, token.end)) is beyond the range of a float", at: token.start)
        }
        var value = Value.double(JSONNumber.double(text))
        value.pointer = text.baseAddress
        value.count = text.count
        if value.asDouble.isInfinite {
            do throws(StoreError) { _ = try Decimal128(text) } catch {
                throw lexer.error(
                    "\(lexer.shown(token.start, token.end)) is beyond the range of every number", at: token.start)
            }
        }
        return value
    }

    /// Of a token without sign; nil: it needs more than 64 bits.
    func integer(isNegative: Bool) -> Int64? {
        let isHexadecimal = token.kind == .hexadecimal
        let radix: UInt64 = isHexadecimal ? 16 : 10
        var magnitude: UInt64 = 0
        for byte in lexer.bytes(token.start + (isHexadecimal ? 2 : 0), token.end) {
            let (high, low) = magnitude.multipliedFullWidth(by: radix)
            let (sum, overflow) = low.addingReportingOverflow(UInt64(HexDigits.digit(byte) ?? 0))
            if high != 0 || overflow { return nil }
            magnitude = sum
        }
        if isNegative { return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil }
        return Int64(exactly: magnitude)
    }

    // MARK: Times

    /// Numbers with one byte between them; nil: one is too large.
    private func numbers() -> [Int64]? {
        var numbers: [Int64] = [], index = token.start
        if token.kind == .timestamp { index += 1 }
        while index < token.end {
            let isNegative = lexer.byte(index) == UInt8(ascii: "-")
            if isNegative { index += 1 }
            var number: Int64 = 0
            while index < token.end, QueryLexer.isDigit(lexer.byte(index)) {
                let (product, isLarge) = number.multipliedReportingOverflow(by: 10)
                let digit = Int64(lexer.byte(index) - 0x30)
                let (sum, isLarger) = product.addingReportingOverflow(isNegative ? -digit : digit)
                if isLarge || isLarger { return nil }
                number = sum
                index += 1
            }
            numbers.append(number)
            index += 1
        }
        return numbers
    }

    /// `T12:3`: seconds and nanoseconds since 1970; both negative, as Realm writes it, or `T-12:3`, 3 after -12.
    func timestamp() throws(StoreError) -> Value {
        guard let parts = numbers(), parts.count == 2, parts[1].magnitude < 1_000_000_000,
            parts[1] >= 0 || parts[0] <= 0
        else {
            throw lexer.error(
                """
                \(lexer.shown(token.start, token.end)) is no time: seconds of 64 bits, and less than 1000000000 \
                nanoseconds
                """, at: token.start)
        }
        if parts[1] >= 0 { return .timestamp(seconds: parts[0], nanoseconds: Int32(parts[1])) }
        guard parts[0] > .min else {
            throw lexer.error("\(lexer.shown(token.start, token.end)) is before the first time", at: token.start)
        }
        return .timestamp(seconds: parts[0] - 1, nanoseconds: Int32(parts[1] + 1_000_000_000))
    }

    /// `2017-12-1@12:07:53:1`, in UTC.
    func date() throws(StoreError) -> Value {
        // Of the year, no hyphen is a sign.
        var index = token.start, parts: [Int64] = []
        while index < token.end {
            var number: Int64 = 0
            while index < token.end, QueryLexer.isDigit(lexer.byte(index)) {
                number = min(number * 10 + Int64(lexer.byte(index) - 0x30), 1 << 40)
                index += 1
            }
            parts.append(number)
            index += 1
        }
        guard parts[0] < 1_000_000, parts[1] >= 1, parts[1] <= 12, parts[2] >= 1,
            parts[2] <= TextForms.days(in: parts[1], parts[0]), parts[3] < 24, parts[4] < 60, parts[5] < 60,
            parts.count == 6 || parts[6] < 1_000_000_000
        else {
            throw lexer.error("there is no time \(lexer.shown(token.start, token.end))", at: token.start)
        }
        let day = TextForms.day(parts[0], parts[1], parts[2])
        return .timestamp(
            seconds: day * 86400 + parts[3] * 3600 + parts[4] * 60 + parts[5],
            nanoseconds: parts.count == 6 ? 0 : Int32(parts[6]))
    }

    // MARK: Calls

    /// `oid(…)`, `uuid(…)`, `decimal(…)`, `float(…)`, `link(…)`: digits and the like, as they are, or in quotes; and
    /// `binary('…')`.
    mutating func called() throws(StoreError) {
        let keyword = token.keyword, position = token.start
        try advance()
        if keyword == .binary || lexer.peek() == UInt8(ascii: "\"") || lexer.peek() == UInt8(ascii: "'") {
            try expect(.open, "\"(\"")
            guard token.kind == .string else { throw lexer.expected("a text in quotes", token) }
            var text = string()
            if keyword == .binary {
                text.kind = .binary
                try constant(text, at: position)
            } else {
                let bytes = UnsafeRawBufferPointer(start: text.pointer, count: text.count)
                try constant(meaning(keyword, bytes, at: position), at: position)
            }
            try advance()
            return try expect(.close, "\")\"")
        }
        // No tokens: some of them begin as numbers do.
        var start = token.end, end = start
        while lexer.byte(end) != UInt8(ascii: ")") {
            guard end < lexer.count else {
                throw lexer.expected("\")\"", QueryToken(kind: .end, start: lexer.count, end: lexer.count))
            }
            end += 1
        }
        lexer.index = end
        while start < end, lexer.byte(start) <= 0x20 { start += 1 }
        while end > start, lexer.byte(end - 1) <= 0x20 { end -= 1 }
        let bytes = UnsafeRawBufferPointer(lexer.bytes(start, end))
        try constant(meaning(keyword, bytes, at: position), at: position)
        try advance()
        try expect(.close, "\")\"")
    }

    private func meaning(
        _ keyword: QueryKeyword, _ bytes: UnsafeRawBufferPointer, at position: Int
    ) throws(StoreError) -> Value {
        let wanted: String
        switch keyword {
        case .objectID:
            if let value = Value.objectID(hex: bytes) { return value }
            wanted = "an object id: 24 hexadecimal digits"
        case .uuid:
            if let value = TextForms.uuid(bytes) { return value }
            wanted = "a uuid: 32 hexadecimal digits"
        case .decimal:
            do throws(StoreError) { return .decimal128(try Decimal128(bytes)) } catch {
                throw lexer.error(
                    error.message.split(whereSeparator: \.isNewline).joined(separator: " "), at: position)
            }
        case .float:
            var text = String(decoding: bytes, as: UTF8.self)
            if text.last == "f", text.dropLast().last?.isNumber == true { text.removeLast() }
            if let float = Float(text) { return .float(float) }
            wanted = "a number"
        default:
            if let value = link(bytes) { return value }
            wanted = "a link: the id of a class, the key of an object"
        }
        let text = String(decoding: bytes.prefix(60), as: UTF8.self).split(whereSeparator: \.isNewline)
        throw lexer.error("\"\(text.joined(separator: " "))\" is not \(wanted)", at: position)
    }

    /// `link(3, -17)`, and with a third number the tag of the store.
    private func link(_ bytes: UnsafeRawBufferPointer) -> Value? {
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: ",", omittingEmptySubsequences: false)
            .map { $0.drop { $0 == " " } }
        guard parts.count == 2 || parts.count == 3, let cls = UInt32(parts[0]), let key = Int64(parts[1]),
            let tag = parts.count == 2 ? 0 : UInt32(parts[2])
        else { return nil }
        return .link(ObjectID(classID: cls, storeTag: tag, key: key))
    }
}
