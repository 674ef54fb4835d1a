/// A search for words: what TEXT asks for.
///
/// Words are made of letters and digits of ASCII and Latin-1; everything else separates them. Upper and lower case are
/// the same, and accents do not count. All words of the search have to be in the text, in any order; one behind a minus
/// must not be; of one in front of a star only the beginning is given.
///
/// ```
///  write -tests sch*      write · not tests · sch…
/// ```
struct TextSearch: Sendable {
    fileprivate struct Term: Sendable {
        /// Folded: one byte for each character.
        let word: [UInt8]
        let isBeginning: Bool
        let isExcluded: Bool
    }
    private let terms: [Term]
    private let longest: Int

    init(_ text: UnsafeRawBufferPointer) {
        var terms: [Term] = [], start = 0
        while start < text.count {
            if text[start] <= 0x20 {
                start += 1
                continue
            }
            var end = start
            while end < text.count, text[end] > 0x20 { end += 1 }
            var words: [[UInt8]] = [], word: [UInt8] = []
            var reader = TextSearch.Letters(text.baseAddress! + start, end - start)
            while let letter = reader.next() {
                if letter != 0 {
                    word.append(letter)
                } else if !word.isEmpty {
                    words.append(word)
                    word = []
                }
            }
            if !word.isEmpty { words.append(word) }
            for (index, word) in words.enumerated() {
                terms.append(
                    Term(
                        word: word,
                        isBeginning: text[end - 1] == UInt8(ascii: "*") && index == words.count - 1,
                        isExcluded: text[start] == UInt8(ascii: "-")))
            }
            start = end
        }
        self.terms = terms
        longest = terms.reduce(0) { max($0, $1.word.count) }
    }

    func matches(_ pointer: UnsafeRawPointer?, _ count: Int) -> Bool {
        guard let pointer, count > 0 else { return terms.allSatisfy(\.isExcluded) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: longest + terms.count + 1) { memory in
            // The beginning of a word, as much as terms are long; then which terms were found.
            let word = memory.baseAddress.unsafelyUnwrapped, found = word + longest
            found.update(repeating: 0, count: terms.count)
            var length = 0, reader = Letters(pointer, count)
            while true {
                let letter = reader.next()
                if let letter, letter != 0 {
                    if length < longest { word[length] = letter }
                    length &+= 1
                    continue
                }
                if length > 0 {
                    for (index, term) in terms.enumerated() where term.isWord(word, length) {
                        if term.isExcluded { return false }
                        found[index] = 1
                    }
                    length = 0
                }
                if letter == nil { break }
            }
            for (index, term) in terms.enumerated() where !term.isExcluded && found[index] == 0 { return false }
            return true
        }
    }

    /// The characters of a text, folded: letters and digits as one byte, everything else as 0.
    private struct Letters {
        private var place: UnsafeRawPointer
        private let end: UnsafeRawPointer

        init(_ pointer: UnsafeRawPointer, _ count: Int) {
            place = pointer
            end = pointer + count
        }

        @inline(__always)
        mutating func next() -> UInt8? {
            if place == end { return nil }
            let byte = place.load(as: UInt8.self)
            place += 1
            if byte < 0x80 {
                switch byte {
                case 0x30...0x39, 0x61...0x7a: return byte
                case 0x41...0x5a: return byte | 0x20
                default: return 0
                }
            }
            // U+0080 to U+00FF are C2 and C3, and one more byte; the rest of other characters are separators, too.
            guard byte == 0xc2 || byte == 0xc3, place < end else { return 0 }
            let last = place.load(as: UInt8.self)
            place += 1
            return TextSearch.fold(byte == 0xc2 ? last : last | 0x40)
        }
    }

    /// A character from U+0080 on.
    private static func fold(_ character: UInt8) -> UInt8 {
        switch character {
        case 0xc0...0xc5, 0xe0...0xe5: UInt8(ascii: "a")
        case 0xc7, 0xe7: UInt8(ascii: "c")
        case 0xc8...0xcb, 0xe8...0xeb: UInt8(ascii: "e")
        case 0xcc...0xcf, 0xec...0xef: UInt8(ascii: "i")
        case 0xd1, 0xf1: UInt8(ascii: "n")
        case 0xd2...0xd6, 0xf2...0xf6: UInt8(ascii: "o")
        case 0xd9...0xdc, 0xf9...0xfc: UInt8(ascii: "u")
        case 0xdd, 0xfd, 0xff: UInt8(ascii: "y")
        // Æ, Ð, Ø, Þ, which are made of nothing else; ß and µ.
        case 0xc6, 0xd0, 0xd8, 0xde: character | 0x20
        case 0xdf, 0xe6, 0xf0, 0xf8, 0xfe, 0xb5: character
        default: 0
        }
    }
}

extension TextSearch.Term {
    /// Whether it is a word of a length, or its beginning.
    @inline(__always)
    fileprivate func isWord(_ other: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        if isBeginning ? length < word.count : length != word.count { return false }
        for index in 0..<word.count where word[index] != other[index] { return false }
        return true
    }
}
