/// Escapes in names and strings, and errors about a place in the text.
extension QueryLexer {
    struct Escape {
        var scalar: UInt32
        /// Bytes of it in the text; what it means has never more.
        var length: Int
    }

    /// At `index`, where a `\` is: `\n`, `\u00e9`, `\ud83d\ude00`. In a name also what would end it: `\ `, `\.`.
    func escape(inName: Bool) throws(StoreError) -> Escape {
        let letter = byte(index + 1)
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "/"):
            return Escape(scalar: UInt32(letter), length: 2)
        case UInt8(ascii: "b"): return Escape(scalar: 0x08, length: 2)
        case UInt8(ascii: "f"): return Escape(scalar: 0x0c, length: 2)
        case UInt8(ascii: "n"): return Escape(scalar: 0x0a, length: 2)
        case UInt8(ascii: "r"): return Escape(scalar: 0x0d, length: 2)
        case UInt8(ascii: "t"): return Escape(scalar: 0x09, length: 2)
        case UInt8(ascii: "0"): return Escape(scalar: 0, length: 2)
        case UInt8(ascii: "u"):
            guard let unit = codeUnit(index) else { break }
            switch unit {
            case 0xd800...0xdbff:
                guard let low = codeUnit(index + 6), (0xdc00...0xdfff).contains(low) else {
                    throw error("\(shown(index, index + 6)) is half of a character", at: index)
                }
                return Escape(scalar: 0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00), length: 12)
            case 0xdc00...0xdfff: throw error("\(shown(index, index + 6)) is half of a character", at: index)
            default: return Escape(scalar: unit, length: 6)
            }
        // Printable, and neither a letter nor a digit.
        case 0x20..<0x7f where inName && !QueryLexer.isDigit(letter) && (letter | 0x20) &- 0x61 >= 26:
            return Escape(scalar: UInt32(letter), length: 2)
        default: break
        }
        throw error("\(shown(index, min(count, index + 2))) is no escape that a query has", at: index)
    }

    /// Of `\uXXXX`.
    private func codeUnit(_ start: Int) -> UInt32? {
        guard start + 6 <= count, base[start] == UInt8(ascii: "\\"), base[start + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt32 = 0
        for index in start + 2..<start + 6 {
            guard let digit = HexDigits.digit(base[index]) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    /// Writes what bytes of a token mean, which the lexer has seen, and returns how many bytes that are.
    func unescape(_ start: Int, _ end: Int, inName: Bool, to target: UnsafeMutablePointer<UInt8>) -> Int {
        var other = self, written = 0
        other.index = start
        while other.index < end {
            let byte = base[other.index]
            guard byte == UInt8(ascii: "\\"), let escape = try? other.escape(inName: inName),
                let scalar = UnicodeScalar(escape.scalar)
            else {
                target[written] = byte
                written += 1
                other.index += 1
                continue
            }
            for unit in UTF8.encode(scalar).unsafelyUnwrapped {
                target[written] = unit
                written += 1
            }
            other.index += escape.length
        }
        return written
    }

    // MARK: Errors

    /// "a value was expected at byte 7, not ")"".
    @inline(never)
    func expected(_ what: String, _ token: QueryToken) -> StoreError {
        let found =
            token.kind == .end
            ? origin < 0 ? "the end of the query" : "the end of \(purpose)" : shown(token.start, token.end)
        return place(
            StoreError(.invalidQuery, "\(what) was expected at byte \(token.start), not \(found)"), token.start)
    }

    /// An error whose words do not name the place.
    @inline(never)
    func error(_ what: String, at position: Int, _ code: StatusCode = .invalidQuery) -> StoreError {
        place(StoreError(code, "\(what), at byte \(position)"), position)
    }

    private func place(_ error: StoreError, _ position: Int) -> StoreError {
        if origin < 0 { return error.at(class: nil, position: position) }
        return error.prefixed("in the argument for \(purpose): ").at(class: nil, position: outer)
    }

    /// Of an argument.
    private var purpose: String { origin < QueryLexer.place ? "the key path" : "the place" }

    /// For messages: on one line, and short.
    func shown(_ start: Int, _ end: Int) -> String {
        let end = min(end, count), cut = min(end, start + 60)
        var text = "\""
        for scalar in String(decoding: bytes(min(start, cut), cut), as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0x0a: text += "\\n"
            case 0..<0x20, 0x7f: text += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + (cut < end ? "…\"" : "\"")
    }
}
