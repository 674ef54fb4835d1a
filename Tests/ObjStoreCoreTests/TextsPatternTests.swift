import Foundation
import Testing

import ObjStoreCore

/// Operators of texts and binaries, against naive loops over arrays of folded scalars.
@Suite struct TextsPatternTests {
    private static let operations: [TextPattern.Operation] = [
        .equal, .less, .lessOrEqual, .greater, .greaterOrEqual, .beginsWith, .endsWith, .contains,
    ]
    private static let plain = NaiveText(foldsCase: false, foldsAccents: false)

    @Test func emptyTexts() {
        for naive in NaiveText.all {
            for isBinary in [false, true] {
                for operation in [TextPattern.Operation.beginsWith, .endsWith, .contains] {
                    let pattern = naive.pattern(operation, "", isBinary: isBinary)
                    #expect(pattern.matches(nil, 0) && pattern.matches("") && pattern.matches("a"))
                }
                for operation in [TextPattern.Operation.equal, .like, .lessOrEqual] {
                    let pattern = naive.pattern(operation, "", isBinary: isBinary)
                    #expect(pattern.matches(nil, 0) && pattern.matches("") && !pattern.matches("a"))
                }
                #expect(naive.pattern(.like, "*", isBinary: isBinary).matches(nil, 0))
                #expect(!naive.pattern(.like, "?", isBinary: isBinary).matches(nil, 0))
                #expect(!naive.pattern(.contains, "a", isBinary: isBinary).matches(nil, 0))
                #expect(naive.pattern(.less, "a", isBinary: isBinary).matches(nil, 0))
            }
        }
        // Nothing is left of an accent.
        let accents = NaiveText(foldsCase: false, foldsAccents: true)
        #expect(accents.pattern(.contains, "\u{301}").matches("a"))
        #expect(accents.pattern(.like, "\u{301}").matches(""))
        #expect(accents.pattern(.like, "").matches("\u{301}\u{302}"))
        #expect(!accents.pattern(.like, "?").matches("\u{301}"))
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func operatorsAgainstLoops(seed: UInt64) {
        var random = IndexRandom(seed), hits = 0, checks = 0
        for alphabet in [TextsSample.ascii, TextsSample.letters, TextsSample.marks] {
            for _ in 0..<50 {
                let some = (0..<1 + random.below(4)).map { _ in alphabet[random.below(alphabet.count)] }
                for naive in NaiveText.all {
                    let pattern = TextsSample.text(&random, 0...4, some), expected = naive.folded(pattern)
                    let patterns = Self.operations.map { ($0, naive.pattern($0, pattern)) }
                    for _ in 0..<8 {
                        let text = TextsSample.text(&random, 0...12, some), units = naive.folded(text)
                        for (operation, pattern) in patterns {
                            let fits = naive.expects(operation, units, expected)
                            hits += fits ? 1 : 0
                            checks += 1
                            if pattern.matches(text) != fits {
                                Issue.record(
                                    """
                                    seed \(seed): \(operation)[\(naive.modifiers)] is not \(fits): \
                                    \(text.scalarsShown) | \(expected)
                                    """)
                            }
                        }
                        let order = naive.order(text, pattern), reverse = naive.order(pattern, text)
                        let less = naive.expects(.less, units, expected), same = units == expected
                        #expect(order == (same ? 0 : less ? -1 : 1) && reverse == -order, "seed \(seed)")
                    }
                }
            }
        }
        #expect(hits > checks / 10 && hits < checks * 9 / 10, "\(hits) of \(checks)")
    }

    /// Texts longer than a word, of few letters: beginnings that go wrong late, and letters that are not ASCII at each
    /// place.
    @Test(arguments: [1, 2, 3] as [UInt64]) func longTextsContain(seed: UInt64) {
        var random = IndexRandom(seed), hits = 0
        for round in 0..<400 {
            let letters: [Unicode.Scalar] = [["a", "b"], ["k", "K", "a"], ["a", "A", "b"], ["e", "a"]][random.below(4)]
            var text = Array(TextsSample.text(&random, 0...60, letters).unicodeScalars)
            let from = random.below(text.count + 1), length = random.below(min(40, text.count - from) + 1)
            var pattern = Array(text[from..<from + length])
            if random.below(3) == 0, !pattern.isEmpty { pattern[random.below(pattern.count)] = letters[0] }
            for _ in 0..<random.below(3) where !text.isEmpty {
                let others: [Unicode.Scalar] = ["\u{212a}", "\u{e9}", "\u{301}"]
                text[random.below(text.count)] = others[random.below(3)]
            }
            for naive in NaiveText.all {
                for operation in [TextPattern.Operation.contains, .beginsWith, .endsWith] {
                    let fits = naive.expects(operation, naive.folded(String(text)), naive.folded(String(pattern)))
                    hits += fits ? 1 : 0
                    #expect(
                        naive.pattern(operation, String(pattern)).matches(String(text)) == fits,
                        "seed \(seed), round \(round): \(operation)[\(naive.modifiers)]")
                }
            }
        }
        #expect(hits > 300, "\(hits)")
    }

    /// Where each place looks right to the end, or at both ends, nothing is looked at again and again.
    @Test func patternsThatNearlyFitEverywhere() {
        let count = 20_000
        let letters = String(repeating: "a", count: count)
        for naive in NaiveText.all {
            let late = naive.pattern(.contains, String(repeating: "a", count: count / 2) + "b")
            #expect(!late.matches(letters))
            #expect(late.matches(letters + "b"))
            #expect(late.matches("\u{e9}" + letters + "b"))
            let middle = String(repeating: "a", count: 400)
            let pattern = naive.pattern(.contains, middle + "b" + middle)
            #expect(!pattern.matches(letters))
            #expect(!pattern.matches(letters + "b" + middle.dropLast()))
            #expect(pattern.matches(letters + "b" + letters))
            // It changes its way after a few places that looked right, wherever that is.
            for before in 0..<40 {
                #expect(pattern.matches(String(repeating: "a", count: before) + middle + "b" + middle + middle))
            }
        }
    }

    /// Amid what one scalar is decomposed into, the text has not gone on.
    @Test func partsOfOneScalar() {
        let accents = NaiveText(foldsCase: false, foldsAccents: true)
        for (text, part) in [("\u{9cb}xy", "\u{9be}x"), ("가xy", "\u{1161}x"), ("a\u{1d160}xy", "\u{1d16e}x")] {
            for operation in [TextPattern.Operation.contains, .like] {
                #expect(accents.pattern(operation, operation == .like ? "*\(part)?" : part).matches(text), "\(text)")
                #expect(
                    !accents.pattern(operation, operation == .like ? "*\(part)" : part + "x").matches(text), "\(text)")
            }
        }
    }

    /// No byte is read that is not of the text, before or behind it, though it is cut anywhere, or is no text.
    @Test func brokenTextsAtTheEndsOfMemory() throws {
        let page = Int(getpagesize())
        let memory = try #require(mmap(nil, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        defer { munmap(memory, 3 * page) }
        try #require(memory != MAP_FAILED && mprotect(memory + page, page, PROT_READ | PROT_WRITE) == 0)
        var random = IndexRandom(5)
        let bytes: [UInt8] = [0x61, 0x4b, 0x6b, 0xc3, 0xa9, 0xe2, 0x84, 0xaa, 0xf0, 0x9d, 0x85, 0xa0, 0xff, 0x80, 0xea]
        for round in 0..<3000 {
            let count = random.below(24), start = memory + (round % 2 == 0 ? page : 2 * page - count)
            for index in 0..<count {
                start.storeBytes(of: bytes[random.below(bytes.count)], toByteOffset: index, as: UInt8.self)
            }
            let pattern = ["a", "ka", "é", "\u{1d160}", "?", "*k?", "kkkkkkkkkk"][random.below(7)]
            let naive = NaiveText.all[random.below(4)], isBinary = random.below(4) == 0
            for operation in Self.operations + [.like] {
                let pattern = naive.pattern(operation, pattern, isBinary: isBinary)
                #expect(pattern.matches(start, count) == pattern.matches(start, count))
            }
            // As patterns, too.
            let text = UnsafeRawBufferPointer(start: start, count: count)
            for operation in [TextPattern.Operation.equal, .beginsWith, .endsWith, .contains] {
                let own = try TextPattern(
                    operation, text, foldsCase: naive.foldsCase, foldsAccents: naive.foldsAccents, isBinary: isBinary)
                // A cut letter means the same nowhere else.
                if operation == .equal || operation == .beginsWith { #expect(own.matches(start, count)) }
            }
        }
    }

    @Test func binaries() throws {
        func matches(
            _ operation: TextPattern.Operation, _ pattern: [UInt8], _ bytes: [UInt8], c: Bool = false, d: Bool = false
        ) throws -> Bool {
            let pattern = try pattern.withUnsafeBytes {
                try TextPattern(operation, $0, foldsCase: c, foldsAccents: d, isBinary: true)
            }
            return bytes.withUnsafeBytes { pattern.matches($0.baseAddress, $0.count) }
        }
        let text = Array("xÉY".utf8)  // 78 c3 89 59
        #expect(try matches(.contains, [0xc3], text) && matches(.contains, [0x89, 0x59], text))
        #expect(try !matches(.contains, [0x89, 0x79], text) && matches(.contains, [0x89, 0x79], text, c: true))
        // ASCII alone has a case, and nothing an accent.
        #expect(try !matches(.contains, Array("é".utf8), text, c: true, d: true))
        #expect(try !matches(.contains, Array("e".utf8), text, c: true, d: true))
        #expect(try !matches(.equal, [0x6b], Array("\u{212a}".utf8), c: true))
        #expect(
            try matches(.like, Array("x??y".utf8), text, c: true) && !matches(.like, Array("x?y".utf8), text, c: true))
        #expect(try matches(.like, [0x2a, 0xc3, 0x3f, 0x59], text) && !matches(.like, [0x2a, 0xc4, 0x3f, 0x59], text))
        #expect(try matches(.less, [0x80], [0x7f, 0xff]) && matches(.greater, [0x7f, 0xff], [0x80]))
        #expect(try matches(.less, [0x42], [0x61]) == false && matches(.less, [0x42], [0x61], c: true))
        #expect(try matches(.endsWith, [0, 0], [1, 0, 0]) && !matches(.endsWith, [1, 0, 0], [0, 0]))
        let zeros = [UInt8](repeating: 0, count: 30)
        #expect(try matches(.contains, [0, 0, 1], zeros + [1]) && !matches(.contains, [0, 1, 0], zeros + [1]))
        // Bytes that differ from letters in the bit of the case alone.
        #expect(try !matches(.contains, Array("[".utf8), Array("{{{{{{{{{{".utf8), c: true))
        #expect(try !matches(.contains, Array("`".utf8), Array("@@@@@@@@@@".utf8), c: true))
    }
}
