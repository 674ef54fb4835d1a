import Foundation
import Testing

import ObjStoreCore

/// LIKE, against a matcher that tries everything.
@Suite struct TextsLikeTests {
    /// All texts of up to so many letters.
    private static func texts(_ letters: [Character], upTo count: Int) -> [String] {
        var all = [""], last = [""]
        for _ in 0..<count {
            last = last.flatMap { text in letters.map { text + String($0) } }
            all += last
        }
        return all
    }

    @Test func allShortPatterns() {
        let patterns = Self.texts(["a", "b", "*", "?", "\\"], upTo: 5)
        let texts = Self.texts(["a", "b"], upTo: 4) + Self.texts(["a", "*", "\\"], upTo: 2)
        let scalars = texts.map { $0.unicodeScalars.map(\.value) }
        let plain = NaiveText(foldsCase: false, foldsAccents: false)
        let both = NaiveText(foldsCase: true, foldsAccents: true)
        var hits = 0
        for pattern in patterns {
            let parts = NaiveText.parts(pattern) { $0.unicodeScalars.map(\.value) }
            let made = [
                plain.pattern(.like, pattern), plain.pattern(.like, pattern, isBinary: true),
                both.pattern(.like, pattern.uppercased()),
            ]
            for (text, scalars) in zip(texts, scalars) {
                let fits = plain.isLike(scalars[...], parts[...])
                hits += fits ? 1 : 0
                for (index, made) in made.enumerated() where made.matches(text) != fits {
                    Issue.record("'\(text)' LIKE '\(pattern)' is not \(fits), \(index)")
                }
            }
        }
        #expect(hits > 5000, "\(hits)")
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func longPatternsOfAllLetters(seed: UInt64) {
        var random = IndexRandom(seed), hits = 0
        for alphabet in [TextsSample.ascii, TextsSample.letters, TextsSample.marks] {
            for _ in 0..<80 {
                let some = (0..<1 + random.below(3)).map { _ in alphabet[random.below(alphabet.count)] }
                for naive in NaiveText.all {
                    let pattern = TextsSample.text(&random, 0...7, some + ["*", "*", "?"])
                    let parts = NaiveText.parts(pattern, naive.folded), made = naive.pattern(.like, pattern)
                    for _ in 0..<6 {
                        let text = TextsSample.text(&random, 0...8, some)
                        let fits = naive.isLike(naive.folded(text)[...], parts[...])
                        hits += fits ? 1 : 0
                        #expect(
                            made.matches(text) == fits,
                            "seed \(seed): \(text.scalarsShown) LIKE[\(naive.modifiers)] \(pattern.scalarsShown)")
                        guard naive.foldsAccents else { continue }
                        // Canonical forms are the same.
                        for form in [
                            text.decomposedStringWithCanonicalMapping, text.precomposedStringWithCanonicalMapping,
                        ] {
                            #expect(made.matches(form) == fits, "seed \(seed): \(form.scalarsShown)")
                        }
                    }
                }
            }
        }
        #expect(hits > 300, "\(hits)")
    }

    @Test func signs() {
        func like(_ text: String, _ pattern: String, _ modifiers: String = "") -> Bool {
            NaiveText(foldsCase: modifiers.contains("c"), foldsAccents: modifiers.contains("d"))
                .pattern(.like, pattern).matches(text)
        }
        // One scalar, not one byte.
        #expect(like("é", "?") && like("漢", "?") && like("🦄", "?") && !like("🦄", "??"))
        #expect(like("e\u{301}", "??") && !like("e\u{301}", "?"))
        #expect(like("e\u{301}", "?", "d") && like("é", "?", "d") && !like("é", "??", "d"))
        // With all marks, and as one syllable.
        #expect(like("का", "??") && like("का", "?", "d") && like("का", "क*", "d"))
        #expect(like("각", "?", "d") && like("\u{1100}\u{1161}\u{11a8}", "?", "d") && like("각각", "??", "d"))
        #expect(like("각", "가*", "d") && !like("각", "가?"))
        // A backslash.
        #expect(like("*", "\\*") && !like("a", "\\*") && like("?", "\\?") && !like("a", "\\?"))
        #expect(like("\\", "\\\\") && like("\\", "\\") && like("\\a", "\\a") && like("a\\", "a\\"))
        #expect(like("\\*", "\\\\\\*") && like("\\xyz", "\\\\*") && like("a*b", "*\\**"))
        // Stars at the ends.
        #expect(like("abc", "***") && like("abc", "**b**") && like("abc", "a**") && like("abc", "**c"))
        #expect(!like("abc", "*a") && !like("abc", "c*") && !like("abc", "*d*") && like("ABC", "*b*", "c"))
        #expect(like("a\u{301}bc", "ab*", "d") && like("ÁBC", "*b?", "cd"))
        // The rest of a part may begin another one.
        #expect(like("aab", "*ab") && like("ababac", "*abac") && like("mississippi", "m*issip*pi"))
        #expect(like("\u{212a}elvin", "k*N", "c") && !like("\u{212a}elvin", "k*n"))
    }
}
