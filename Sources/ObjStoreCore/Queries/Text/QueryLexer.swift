/// A piece of the text of a query.
struct QueryToken {
    enum Kind: UInt8 {
        case end
        /// A name or a keyword; a word behind an @.
        case word, atWord
        /// `$0`, `$K0`.
        case argument, keyPath
        case string
        /// Without a sign. A `float` ends with f.
        case integer, hexadecimal, fraction, float
        case date, timestamp
        case open, close, openBrace, closeBrace, openBracket, closeBracket
        case comma, dot, plus, minus, star, slash
        case not, and, or
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    }

    var kind = Kind.end
    var keyword = QueryKeyword.name
    /// Of a word or a string.
    var hasEscapes = false
    /// Its bytes.
    var start = 0
    var end = 0

    var isNumber: Bool { kind.rawValue >= Kind.integer.rawValue && kind.rawValue <= Kind.float.rawValue }
}

/// Cuts the text of a query into tokens, one at a time. Nothing is allocated but for errors.
struct QueryLexer {
    /// Valid UTF-8.
    let base: UnsafePointer<UInt8>
    let count: Int
    var index = 0
    /// Where this text is an argument: where that stands in the query, plus `place` of one for GEOWITHIN; else -1.
    var origin = -1
    static let place = 1 << 32
    var outer: Int { origin & (QueryLexer.place - 1) }

    init(_ text: UnsafeRawBufferPointer) {
        // Never read where there is none.
        base = (text.baseAddress ?? UnsafeRawPointer(bitPattern: 64).unsafelyUnwrapped)
            .assumingMemoryBound(to: UInt8.self)
        count = text.count
    }

    /// 0 behind the end.
    @inline(__always)
    func byte(_ index: Int) -> UInt8 { index < count ? base[index] : 0 }

    func bytes(_ start: Int, _ end: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: base + start, count: end - start)
    }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 <= 9 }
    @inline(__always)
    static func lower(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
    /// A name may begin with it.
    @inline(__always)
    static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
    }
    /// A name may go on with it: `a-b` is one.
    @inline(__always)
    static func isInName(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "-") }

    @inline(__always)
    private mutating func skipBlanks() {
        while index < count, base[index] == 0x20 || base[index] &- 0x09 < 5 { index &+= 1 }
    }

    /// What comes behind blanks, unread.
    func peek() -> UInt8 {
        var other = self
        other.skipBlanks()
        return other.byte(other.index)
    }

    @inline(__always)
    private mutating func take(_ kind: QueryToken.Kind, _ length: Int) -> QueryToken {
        defer { index &+= length }
        return QueryToken(kind: kind, start: index, end: index &+ length)
    }

    mutating func next() throws(StoreError) -> QueryToken {
        skipBlanks()
        guard index < count else { return QueryToken(kind: .end, start: count, end: count) }
        let first = base[index], second = byte(index &+ 1)
        if QueryLexer.isLetter(first) || first == UInt8(ascii: "\\") { return try word(first, second) }
        if QueryLexer.isDigit(first) { return try number() }
        switch first {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return try string(first)
        case UInt8(ascii: "("): return take(.open, 1)
        case UInt8(ascii: ")"): return take(.close, 1)
        case UInt8(ascii: "{"): return take(.openBrace, 1)
        case UInt8(ascii: "}"): return take(.closeBrace, 1)
        case UInt8(ascii: "["): return take(.openBracket, 1)
        case UInt8(ascii: "]"): return take(.closeBracket, 1)
        case UInt8(ascii: ","): return take(.comma, 1)
        case UInt8(ascii: "."): return QueryLexer.isDigit(second) ? try number() : take(.dot, 1)
        case UInt8(ascii: "+"): return take(.plus, 1)
        case UInt8(ascii: "-"): return take(.minus, 1)
        case UInt8(ascii: "*"): return take(.star, 1)
        case UInt8(ascii: "/"): return take(.slash, 1)
        case UInt8(ascii: "!"): return second == UInt8(ascii: "=") ? take(.notEqual, 2) : take(.not, 1)
        case UInt8(ascii: "&") where second == first: return take(.and, 2)
        case UInt8(ascii: "|") where second == first: return take(.or, 2)
        case UInt8(ascii: "="):
            switch second {
            case UInt8(ascii: "="): return take(.equal, 2)
            case UInt8(ascii: "<"): return take(.lessOrEqual, 2)
            case UInt8(ascii: ">"): return take(.greaterOrEqual, 2)
            default: return take(.equal, 1)
            }
        case UInt8(ascii: "<"):
            if second == UInt8(ascii: ">") { return take(.notEqual, 2) }
            return second == UInt8(ascii: "=") ? take(.lessOrEqual, 2) : take(.less, 1)
        case UInt8(ascii: ">"): return second == UInt8(ascii: "=") ? take(.greaterOrEqual, 2) : take(.greater, 1)
        case UInt8(ascii: "@"):
            let start = index
            index &+= 1
            while (byte(index) | 0x20) &- 0x61 < 26 { index &+= 1 }
            guard let keyword = QueryKeyword.behindAt(bytes(start + 1, index)) else {
                throw expected(
                    "@count, @size, @min, @max, @sum, @avg, @type, @keys, @values, @links or @self",
                    QueryToken(kind: .atWord, start: start, end: index))
            }
            return QueryToken(kind: .atWord, keyword: keyword, start: start, end: index)
        default: throw error("\(shown(index, index + 1)) has no meaning in a query", at: index)
        }
    }

    // MARK: Words

    @inline(__always)
    private mutating func word(_ first: UInt8, _ second: UInt8) throws(StoreError) -> QueryToken {
        let start = index
        if first == UInt8(ascii: "$"), let kind = argument(second) {
            return QueryToken(kind: kind, start: start, end: index)
        }
        if first == UInt8(ascii: "T"), QueryLexer.isDigit(second) || second == UInt8(ascii: "-"), timestamp() {
            return QueryToken(kind: .timestamp, start: start, end: index)
        }
        var hasEscapes = false
        while true {
            let byte = byte(index)
            if QueryLexer.isInName(byte) {
                index &+= 1
            } else if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                index &+= try escape(inName: true).length
            } else {
                break
            }
        }
        return QueryToken(
            kind: .word, keyword: hasEscapes ? .name : QueryKeyword.of(bytes(start, index)), hasEscapes: hasEscapes,
            start: start, end: index)
    }

    /// `$0` and `$K0`, but not `$x` and `$0x`.
    private mutating func argument(_ second: UInt8) -> QueryToken.Kind? {
        let isPath = second == UInt8(ascii: "K")
        var end = index + (isPath ? 2 : 1)
        let digits = end
        while QueryLexer.isDigit(byte(end)) { end &+= 1 }
        if end == digits || QueryLexer.isLetter(byte(end)) || byte(end) == UInt8(ascii: "\\") { return nil }
        index = end
        return isPath ? .keyPath : .argument
    }

    /// `T-12:3`: false, and nothing read, where it is something else: `T12` is a name.
    private mutating func timestamp() -> Bool {
        guard let colon = digits(index + 1, signed: true), byte(colon) == UInt8(ascii: ":"),
            let end = digits(colon + 1, signed: true)
        else { return false }
        index = end
        return true
    }

    /// Behind digits that begin at an index; nil: there are none.
    private func digits(_ start: Int, signed: Bool = false) -> Int? {
        let first = signed && byte(start) == UInt8(ascii: "-") ? start + 1 : start
        var end = first
        while QueryLexer.isDigit(byte(end)) { end &+= 1 }
        return end > first ? end : nil
    }

    // MARK: Strings

    private mutating func string(_ quote: UInt8) throws(StoreError) -> QueryToken {
        let start = index
        var hasEscapes = false
        index &+= 1
        while index < count {
            let byte = base[index]
            if byte == quote {
                index &+= 1
                return QueryToken(kind: .string, hasEscapes: hasEscapes, start: start, end: index)
            }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                index &+= try escape(inName: false).length
            } else {
                index &+= 1
            }
        }
        throw error("the text \(shown(start, count)) has no closing quote", at: start)
    }

    // MARK: Numbers

    private mutating func number() throws(StoreError) -> QueryToken {
        let start = index
        if base[index] == UInt8(ascii: "0"), byte(index + 1) | 0x20 == UInt8(ascii: "x") {
            index += 2
            while HexDigits.digit(byte(index)) != nil { index &+= 1 }
            return try end(index == start + 2 ? nil : .hexadecimal, start)
        }
        if let end = date() {
            index = end
            return QueryToken(kind: .date, start: start, end: end)
        }
        var kind = QueryToken.Kind.integer
        while QueryLexer.isDigit(byte(index)) { index &+= 1 }
        if byte(index) == UInt8(ascii: ".") {
            kind = .fraction
            index &+= 1
            while QueryLexer.isDigit(byte(index)) { index &+= 1 }
        }
        if byte(index) | 0x20 == UInt8(ascii: "e") {
            let hasSign = byte(index + 1) == UInt8(ascii: "+") || byte(index + 1) == UInt8(ascii: "-")
            guard let end = digits(index + (hasSign ? 2 : 1)) else {
                index += hasSign ? 2 : 1
                return try self.end(nil, start)
            }
            kind = .fraction
            index = end
        }
        if byte(index) | 0x20 == UInt8(ascii: "f") {
            kind = .float
            index &+= 1
        }
        return try end(kind, start)
    }

    /// A number ends where no name could go on, nor another number.
    private mutating func end(_ kind: QueryToken.Kind?, _ start: Int) throws(StoreError) -> QueryToken {
        let after = byte(index)
        let goesOn = QueryLexer.isInName(after) && after != UInt8(ascii: "-") || after == UInt8(ascii: ".")
        if let kind, !goesOn { return QueryToken(kind: kind, start: start, end: index) }
        while QueryLexer.isInName(byte(index)) || byte(index) == UInt8(ascii: ".") { index &+= 1 }
        throw error("\(shown(start, index)) is no number", at: start)
    }

    /// `2017-12-1@12:07:53:1`, T in place of @.
    private func date() -> Int? {
        guard let year = digits(index), byte(year) == UInt8(ascii: "-"), let month = digits(year + 1),
            byte(month) == UInt8(ascii: "-"), let day = digits(month + 1),
            byte(day) == UInt8(ascii: "@") || byte(day) == UInt8(ascii: "T"), let hour = digits(day + 1),
            byte(hour) == UInt8(ascii: ":"), let minute = digits(hour + 1), byte(minute) == UInt8(ascii: ":"),
            let second = digits(minute + 1)
        else { return nil }
        return byte(second) == UInt8(ascii: ":") ? digits(second + 1) ?? second : second
    }
}
