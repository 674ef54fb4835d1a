/// One comparison as text: `age < $0`, `name == "Rex"`, `weight != nil`.
///
/// ```
/// property operator operand       operator: = == != <> < <= > >= =< =>
///                                 operand:  $0 $1 …  17  -2.5e3  "text" 'text'  true false  null nil
/// ```
/// The first step of the query language: more than one comparison is refused by name.
package struct ComparisonText: Sendable {
    package enum Operand: Sendable, Equatable {
        case argument(Int)
        case null
        case bool(Bool)
        case int(Int64)
        case double(Double)
        case string(String)
    }

    package let property: String
    package let comparison: Comparison
    package let operand: Operand

    /// `.invalidQuery` with the position, in bytes of UTF-8.
    package init(_ text: String) throws(StoreError) {
        var scanner = ComparisonScanner(text)
        property = try scanner.property()
        comparison = try scanner.comparison()
        operand = try scanner.operand()
        try scanner.end()
    }
}

private struct ComparisonScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    private func error(_ what: String, at position: Int? = nil) -> StoreError {
        StoreError(.invalidQuery, what).at(class: nil, position: position ?? self.position)
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || (0x09...0x0d).contains(byte) { position += 1 }
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_") || byte >= 0x80
    }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private mutating func word() -> String {
        let start = position
        while let byte = peek, ComparisonScanner.isLetter(byte) || ComparisonScanner.isDigit(byte) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    mutating func property() throws(StoreError) -> String {
        skipSpace()
        guard let byte = peek, ComparisonScanner.isLetter(byte) else {
            throw error("a property is expected: a query is `property operator value`")
        }
        let name = word()
        if peek == UInt8(ascii: ".") { throw error("paths of several properties are not supported by this version") }
        return name
    }

    private static let operators: [(String, Comparison)] = [
        ("==", .equal), ("!=", .notEqual), ("<>", .notEqual), ("<=", .lessOrEqual), ("=<", .lessOrEqual),
        (">=", .greaterOrEqual),
        ("=>", .greaterOrEqual), ("=", .equal), ("<", .less), (">", .greater),
    ]

    mutating func comparison() throws(StoreError) -> Comparison {
        skipSpace()
        for (text, comparison) in ComparisonScanner.operators where bytes[position...].starts(with: text.utf8) {
            position += text.utf8.count
            return comparison
        }
        throw error("an operator is expected: ==, !=, <, <=, > or >=")
    }

    mutating func operand() throws(StoreError) -> ComparisonText.Operand {
        skipSpace()
        let start = position
        guard let byte = peek else {
            throw error("a value is expected: $0, a number, a text in quotes, true, false or null")
        }
        switch byte {
        case UInt8(ascii: "$"):
            position += 1
            let digits = word()
            guard let number = Int(digits), digits.utf8.allSatisfy({ ComparisonScanner.isDigit($0) }) else {
                throw error("$ is followed by the number of an argument", at: start)
            }
            return .argument(number)
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try quoted(byte))
        case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try number()
        default:
            let word = word()
            switch word.lowercased() {
            case "true": return .bool(true)
            case "false": return .bool(false)
            case "null", "nil": return .null
            default: throw error("a value is expected: $0, a number, a text in quotes, true, false or null", at: start)
            }
        }
    }

    private mutating func number() throws(StoreError) -> ComparisonText.Operand {
        let start = position
        while let byte = peek {
            let isSign = byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
            let maySign = position == start || bytes[position - 1] | 0x20 == UInt8(ascii: "e")
            guard
                ComparisonScanner.isDigit(byte) || byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e")
                    || isSign && maySign
            else { break }
            position += 1
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if let integer = Int64(text) { return .int(integer) }
        let digits = text.drop { $0 == "-" || $0 == "+" }
        if digits.utf8.allSatisfy({ ComparisonScanner.isDigit($0) }), !digits.isEmpty {
            throw error("\(text) does not fit in 64 bits", at: start)
        }
        guard let double = Double(text), double.isFinite else { throw error("\(text) is no number", at: start) }
        return .double(double)
    }

    private mutating func quoted(_ quote: UInt8) throws(StoreError) -> String {
        let start = position
        position += 1
        var text: [UInt8] = []
        while let byte = peek {
            position += 1
            if byte == quote { return String(decoding: text, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            guard let escaped = peek else { break }
            position += 1
            switch escaped {
            case UInt8(ascii: "n"): text.append(0x0a)
            case UInt8(ascii: "r"): text.append(0x0d)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "0"): text.append(0)
            case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"): text.append(escaped)
            default: throw error("unknown escape in a text", at: position - 2)
            }
        }
        throw error("the text is not closed", at: start)
    }

    mutating func end() throws(StoreError) {
        skipSpace()
        guard position == bytes.count else { throw error("one comparison is all that this version knows") }
    }
}
