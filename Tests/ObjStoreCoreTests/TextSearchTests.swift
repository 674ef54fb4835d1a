import Foundation
import Testing

import ObjStoreCore

/// Searching for words, against a slow search by characters; and the mark that allows it.
@Suite struct TextSearchTests {
    private static func words(_ text: String) -> [String] {
        var words: [String] = [], word = ""
        for scalar in text.unicodeScalars {
            let isLetter = scalar.value < 0x100 && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            if isLetter, scalar != "ª", scalar != "º" {
                // é is e and an accent.
                let letter = scalar.properties.lowercaseMapping.decomposedStringWithCanonicalMapping.unicodeScalars
                    .first!
                word.unicodeScalars.append(letter)
            } else if !word.isEmpty {
                words.append(word)
                word = ""
            }
        }
        return word.isEmpty ? words : words + [word]
    }

    private static func holds(_ text: String, _ search: String) -> Bool {
        let there = words(text)
        for term in search.split(separator: " ") {
            let wanted = words(String(term))
            for (index, word) in wanted.enumerated() {
                let isBeginning = term.hasSuffix("*") && index == wanted.count - 1
                let isFound = there.contains { isBeginning ? $0.hasPrefix(word) : $0 == word }
                if isFound == term.hasPrefix("-") { return false }
            }
        }
        return true
    }

    private static func store() throws -> Store {
        var draft = SchemaDraft()
        try draft.addClass("Note")
        try draft.addProperty("Note", "text", .string, [.nullable, .fullText])
        try draft.addProperty("Note", "plain", .string, [.nullable])
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        configuration.schema = draft
        return try Store.open(configuration)
    }

    @Test(arguments: 1...3) func againstASlowSearch(seed: UInt64) throws {
        let store = try TextSearchTests.store(), tx = try store.begin(), cls = try tx.findClass("Note")
        let id = try tx.findProperty(cls, "text")
        var random = IndexRandom(seed)
        let pieces = [
            "a", "A", "b", "ab", "é", "É", "e", "ß", "Æ", "æ", "ÿ", "Ø", "µ", "ª", "²", "1", "x1", " ", " ", "-", "*",
            ".",
            "日", "e\u{301}", "\u{0}", "𝄞",
        ]
        func some(_ count: Int) -> String { (0..<count).map { _ in pieces[random.below(pieces.count)] }.joined() }
        var texts: [(key: Int64, text: String)] = []
        for _ in 0..<300 {
            let text = some(random.below(12))
            let key = try Array(text.utf8).withUnsafeBytes { bytes in
                try [id].withUnsafeBufferPointer { ids in
                    try [Value.string(bytes.baseAddress, bytes.count)].withUnsafeBufferPointer {
                        try tx.create(cls, ids, $0.baseAddress!).key
                    }
                }
            }
            texts.append((key, text))
        }
        _ = try [id].withUnsafeBufferPointer { ids in
            try [Value.null].withUnsafeBufferPointer { try tx.create(cls, ids, $0.baseAddress!) }
        }
        for _ in 0..<400 {
            let search = some(1 + random.below(6))
            let query = try Array(search.utf8).withUnsafeBytes { bytes in
                try tx.query(
                    cls, parsing: "text TEXT $0", arguments: [.value(.string(bytes.baseAddress, bytes.count))])
            }
            let list = try tx.find(query).list(), found = (0..<list.count).map { list.keys[$0] }
            // What the slow one takes for a blank is one.
            let plain = String(search.unicodeScalars.map { $0.value <= 0x20 ? " " : Character($0) })
            #expect(
                found == texts.filter { TextSearchTests.holds($0.text, plain) }.map(\.key), "seed \(seed): \(search)")
        }
        try tx.cancel()
    }

    @Test func marks() throws {
        let store = try TextSearchTests.store(), view = try store.openView(), cls = try view.findClass("Note")
        for text in ["plain TEXT 'a'", "text TEXT text", "text TEXT 1", "text TEXT NULL", "ANY text TEXT 'a'"] {
            let error = #expect(throws: StoreError.self) { try view.query(cls, parsing: text) }
            #expect(error?.code == .wrongType || error?.code == .invalidQuery, "\(text)")
        }
        view.close()
        for kind in [ValueKind.int, .binary, .mixed, .bool] {
            var draft = SchemaDraft()
            try draft.addClass("A")
            let error = #expect(throws: StoreError.self) { try draft.addProperty("A", "p", kind, [.fullText]) }
            #expect(error?.code == .invalidSchema)
        }
    }
}
