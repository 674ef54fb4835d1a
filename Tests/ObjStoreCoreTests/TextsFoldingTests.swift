import Foundation
import Testing

import ObjStoreCore

/// Folding of case and accents, of all scalars, against what Swift and Foundation know.
@Suite struct TextsFoldingTests {
    private static let plain = NaiveText(foldsCase: false, foldsAccents: false)
    private static let cases = NaiveText(foldsCase: true, foldsAccents: false)
    private static let accents = NaiveText(foldsCase: false, foldsAccents: true)
    private static let both = NaiveText(foldsCase: true, foldsAccents: true)
    private static let scalars = UnicodeVersion.scalars

    @Test func foldingTwiceIsFoldingOnce() {
        // Each on a line of its own: no mark passes it.
        let text = String(Self.scalars.flatMap { [$0, "\n"] })
        for naive in NaiveText.all {
            let once = naive.bytes(text), again = naive.bytes(String(decoding: once, as: UTF8.self))
            #expect(once == again, "[\(naive.modifiers)]")
            #expect((once == Array(text.utf8)) == (naive.modifiers == ""), "[\(naive.modifiers)]")
        }
    }

    /// Where nothing is assigned but planes for private use, and selectors.
    @Test func otherScalarsAreThemselves() {
        let text = String([0x32000..<0xe0100, 0xe0200..<0x110000].joined().compactMap { Unicode.Scalar(UInt32($0)) })
        let bytes = Array(text.utf8)
        for naive in NaiveText.all { #expect(naive.bytes(text) == bytes, "[\(naive.modifiers)]") }
    }

    /// What the mappings of letters say of folding: not all, for there is more than pairs.
    @Test func lettersAndTheirOtherCase() {
        let folded = Self.cases.appended(String(Self.scalars))
        let fold = Dictionary(uniqueKeysWithValues: zip(Self.scalars.map(\.value), folded))
        var pairs = 0, changed = 0
        for scalar in Self.scalars {
            let lower = scalar.properties.lowercaseMapping.unicodeScalars
            if lower.count == 1, lower.first != scalar, let other = fold[lower.first!.value],
                lower.first!.properties.uppercaseMapping.unicodeScalars.elementsEqual([scalar])
            {
                pairs += 1
                #expect(fold[scalar.value] == other, "U+\(String(scalar.value, radix: 16))")
            }
            let target = Unicode.Scalar(fold[scalar.value]!)!
            if target == scalar { continue }
            changed += 1
            // Nothing is folded but letters that are the same as capitals, or as small letters.
            let a = scalar.properties, b = target.properties
            #expect(
                a.uppercaseMapping == b.uppercaseMapping || a.lowercaseMapping == b.lowercaseMapping,
                "U+\(String(scalar.value, radix: 16))")
        }
        #expect(pairs > 1350 && changed > 1450, "\(pairs) pairs, \(changed) are folded")
    }

    @Test func accentsOfAllScalars() {
        let lines = Self.scalars.filter { !UnicodeVersion.changed.contains($0) }
        let text = String(lines.flatMap { [$0, "\n"] })
        for naive in [Self.accents, Self.both] {
            let found = naive.appended(text), expected = naive.folded(text)
            if found == expected { continue }
            let line = zip(found, expected).prefix { $0 == $1 }.count { $0.0 == 10 }
            Issue.record("[\(naive.modifiers)] U+\(String(lines[line].value, radix: 16))")
        }
        let changed = Self.accents.appended(text).count
        #expect(changed != 2 * lines.count, "\(changed)")
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func marksOfTextsInCanonicalOrder(seed: UInt64) {
        var random = IndexRandom(seed)
        for _ in 0..<1200 {
            let text = TextsSample.text(&random, 1...10, TextsSample.marks)
            for naive in NaiveText.all {
                #expect(
                    naive.appended(text) == naive.folded(text),
                    "seed \(seed), [\(naive.modifiers)] \(text.scalarsShown)")
            }
        }
    }

    @Test func namedScalars() {
        func check(
            _ a: String, _ b: String, _ expected: (none: Bool, c: Bool, d: Bool, cd: Bool),
            _ location: SourceLocation = #_sourceLocation
        ) {
            let found = (
                Self.plain.areEqual(a, b), Self.cases.areEqual(a, b), Self.accents.areEqual(a, b),
                Self.both.areEqual(a, b)
            )
            #expect(found == expected, "\(a) (\(a.scalarsShown)), \(b) (\(b.scalarsShown))", sourceLocation: location)
        }
        let never = (none: false, c: false, d: false, cd: false)
        let byCase = (none: false, c: true, d: false, cd: true), byAccent = (none: false, c: false, d: true, cd: true)
        let byEither = (none: false, c: true, d: true, cd: true), byBoth = (none: false, c: false, d: false, cd: true)
        // One scalar of one.
        check("ẞ", "ß", byCase)
        check("ß", "ss", never)
        check("ﬁ", "fi", never)
        check("ﬅ", "ﬆ", byCase)
        // Small letters that have the same capital.
        check("Σ", "σ", byCase)
        check("ς", "σ", byCase)
        check("ſ", "S", byCase)
        check("µ", "μ", byCase)
        check("ϐ", "β", byCase)
        check("ẛ", "ṡ", byCase)
        // Signs that are letters.
        check("\u{212a}", "k", byCase)
        check("\u{212a}", "K", byEither)
        check("\u{212b}", "\u{c5}", byEither)
        check("\u{212b}", "å", byCase)
        check("\u{2126}", "ω", byCase)
        // For no language.
        check("İ", "i", byBoth)
        check("İ", "I", byAccent)
        check("ı", "I", never)
        check("ı", "i", never)
        // Titles.
        check("Ǆ", "ǆ", byCase)
        check("ǅ", "ǆ", byCase)
        check("ᾈ", "ᾀ", byCase)
        check("ᾈ", "α", byBoth)
        // Scripts whose capitals came later, or are the folded ones.
        check("Ა", "ა", byCase)
        check("Ꭰ", "ꭰ", byCase)
        check("Ᏸ", "ᏸ", byCase)
        check("𐐀", "𐐨", byCase)
        check("𞤀", "𞤢", byCase)
        check("Ⱥ", "ⱥ", byCase)
        // Accents.
        check("é", "e\u{301}", byAccent)
        check("é", "e", byAccent)
        check("É", "e", byBoth)
        check("ế", "e", byAccent)
        check("й", "и", byAccent)
        check("ᾧ", "ω", byAccent)
        check("a\u{fe0f}", "a", byAccent)
        check("\u{301}", "", byAccent)
        check("か\u{3099}", "が", byAccent)
        check("が", "か", byAccent)
        check("שׁ", "ש", byAccent)
        check("\u{f900}", "\u{8c48}", byAccent)
        check("\u{37e}", ";", byAccent)
        // No canonical decomposition.
        check("ø", "o", never)
        check("ł", "l", never)
        check("ﬀ", "ff", never)
        // Hangul.
        check("각", "\u{1100}\u{1161}\u{11a8}", byAccent)
        check("가", "\u{1100}\u{1161}", byAccent)
        check("각", "가", never)
        check("\u{d7a3}", "\u{1112}\u{1175}\u{11c2}", byAccent)
        // Marks that stay, composed or not, in any order.
        check("\u{9cb}", "\u{9c7}\u{9be}", byAccent)
        check("\u{9cb}", "\u{9c7}", never)
        check("\u{1d160}", "\u{1d158}\u{1d165}\u{1d16e}", byAccent)
        check("\u{1d15f}", "\u{1d158}\u{1d165}", byAccent)
        check("a\u{302e}\u{16ff0}", "a\u{16ff0}\u{302e}", byAccent)
        check("\u{1d15f}\u{16ff0}", "\u{1d158}\u{16ff0}\u{1d165}", byAccent)
        check("a\u{302e}\u{302f}", "a\u{302f}\u{302e}", never)
    }
}

/// Texts made by chance.
enum TextsSample {
    static let ascii = Array("aAbBkKsS ".unicodeScalars)
    /// Letters of all lengths in UTF-8, and those whose folded ones have other lengths.
    static let letters = Array("aAkKsSiIéÉ\u{212a}ſßẞςσΣıİﬅﬆⱥȺжЖйЙǆǅ𐐀𐐨漢\u{f900}".unicodeScalars)
    /// Marks with and without classes, that are removed or stay; what joins them, and letters of Hangul.
    static let marks = Array(
        """
        ae\u{e9}\u{301}\u{327}\u{345}\u{5b0}\u{302e}\u{302f}\u{16ff0}\u{1b44}\u{1d165}\u{1d16d}\u{1d16e}\u{1d15f}\
        \u{1d160}\u{1d158}\u{20dd}\u{93e}\u{915}\u{9c7}\u{9be}\u{9cb}\u{cc0}\u{f71}\u{fe0f}\u{ac00}\u{ac01}\u{1100}\
        \u{1161}\u{11a8}\u{d7a3}\u{ff9e}
        """.unicodeScalars)

    static func text(
        _ random: inout IndexRandom, _ counts: ClosedRange<Int>, _ alphabet: [Unicode.Scalar]
    ) -> String {
        let count = counts.lowerBound + random.below(counts.count)
        return String((0..<count).map { _ in alphabet[random.below(alphabet.count)] })
    }
}
