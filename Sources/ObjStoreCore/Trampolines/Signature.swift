/// The arguments of a typed callback: parsed from text such as "i64, str, f64? -> status".
///
/// ```
/// signature = [ word { "," word } ] "->" ( "status" | "void" )      blanks are free between the parts
/// word      = ( "bool" | "i64" | "f32" | "f64" | "time" | "str" | "bin" ) [ "?" ] | "key" | "event"
/// ```
package struct Signature: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case bool, i64, f32, f64, time, str, bin
        /// These take no property.
        case key, event

        /// What a property must be.
        var value: ValueKind? {
            switch self {
            case .bool: .bool
            case .i64: .int
            case .f32: .float
            case .f64: .double
            case .time: .timestamp
            case .str: .string
            case .bin: .binary
            case .key, .event: nil
            }
        }
    }

    package struct Word: Sendable {
        package var kind: Kind
        package var isNullable: Bool
        /// Byte in the text where it begins.
        package var position: Int
    }

    package static let maximumWords = 64
    package private(set) var words: [Word] = []
    package private(set) var returnsStatus = false
    /// Byte in the text where "->" begins.
    package private(set) var arrow = 0

    /// Errors: invalidSignature, whose position is the byte that is wrong (the length: the text ends too early).
    package init(parsing text: UnsafeRawBufferPointer) throws(StoreError) {
        var parser = Parser(text: text)
        parser.skipBlanks()
        if !parser.isAtArrow {
            while true {
                let word = try Signature.word(&parser)
                if words.count == Signature.maximumWords {
                    throw Signature.wrong(word.position, "more than \(Signature.maximumWords) words")
                }
                words.append(word)
                if parser.next == UInt8(ascii: ",") {
                    parser.position += 1
                    parser.skipBlanks()
                } else if parser.isAtArrow {
                    break
                } else {
                    // A lone '-' is right so far.
                    throw Signature.wrong(
                        parser.position + (parser.next == UInt8(ascii: "-") ? 1 : 0),
                        "',' or '->' expected after a word")
                }
            }
        }
        arrow = parser.position
        parser.position += 2
        parser.skipBlanks()
        let position = parser.position
        switch parser.identifier() {
        case "status": returnsStatus = true
        case "void": returnsStatus = false
        case "": throw Signature.wrong(position, "'status' or 'void' expected after '->'")
        case let other: throw Signature.wrong(position, "'\(other)' is no result: 'status' or 'void'")
        }
        parser.skipBlanks()
        if parser.next != nil { throw Signature.wrong(parser.position, "nothing may follow the result") }
    }

    private static func word(_ parser: inout Parser) throws(StoreError) -> Word {
        let position = parser.position
        let name = parser.identifier()
        if name.isEmpty {
            throw wrong(position, "a word expected: \(Kind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        guard let kind = Kind(rawValue: name) else {
            throw wrong(position, "'\(name)' is no word: \(Kind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        parser.skipBlanks()
        var isNullable = false
        if parser.next == UInt8(ascii: "?") {
            if kind.value == nil { throw wrong(parser.position, "'\(name)' is never null") }
            isNullable = true
            parser.position += 1
            parser.skipBlanks()
        }
        return Word(kind: kind, isNullable: isNullable, position: position)
    }

    struct Parser {
        let text: UnsafeRawBufferPointer
        var position = 0

        var next: UInt8? { position < text.count ? text[position] : nil }
        var isAtArrow: Bool {
            position + 1 < text.count && text[position] == UInt8(ascii: "-") && text[position + 1] == UInt8(ascii: ">")
        }

        mutating func skipBlanks() {
            while let byte = next, byte == 0x20 || (0x09...0x0d).contains(byte) { position += 1 }
        }

        /// Letters, digits and underscores; "" where there is none.
        mutating func identifier() -> String {
            let start = position
            while let byte = next,
                (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
                    || byte == 0x5f
            { position += 1 }
            return String(decoding: text[start..<position], as: UTF8.self)
        }
    }

    static func wrong(_ position: Int, _ what: String) -> StoreError {
        StoreError(.invalidSignature, "byte \(position) of the signature: \(what)").at(class: nil, position: position)
    }

    // MARK: Against what is wanted

    /// Whether a call can say that it is about an object that is gone.
    ///
    /// Errors: invalidSignature.
    func checkEvent(toTell what: String) throws(StoreError) {
        if words.contains(where: { $0.kind == .event }) { return }
        throw Signature.wrong(arrow, "\(what) are to be told: a word 'event' is missing, which tells them apart")
    }

    /// Whether the words fit the properties, one word for each, in order.
    ///
    /// Errors: invalidSignature for too many or too few words, wrongType with class, property and position.
    package func check(_ properties: [Int], of cls: ClassSchema) throws(StoreError) {
        var used = 0
        for word in words {
            guard let kind = word.kind.value else { continue }
            guard used < properties.count else {
                throw Signature.wrong(
                    word.position, "a word without a property (properties that are given: \(properties.count))")
            }
            let property = cls.properties[properties[used]]
            used += 1
            func misfit(_ what: String) -> StoreError {
                StoreError(.wrongType, "byte \(word.position) of the signature: \(what)").at(
                    class: cls.name, property: property.name, position: word.position)
            }
            if property.kind != kind {
                throw misfit(
                    """
                    '\(word.kind.rawValue)' does not fit \(cls.name).\(property.name), which is of type \
                    \(property.kind)
                    """
                )
            }
            if property.isNullable && !word.isNullable {
                throw misfit("\(cls.name).\(property.name) can be null: '\(word.kind.rawValue)?'")
            }
            if !property.isNullable && word.isNullable {
                throw misfit("\(cls.name).\(property.name) cannot be null: '\(word.kind.rawValue)' without '?'")
            }
        }
        if used < properties.count {
            throw Signature.wrong(
                arrow, "\(properties.count) properties, but words for \(used == 0 ? "none" : "only \(used)") of them")
        }
    }
}
