import Foundation
import ObjStoreCore

/// The naive meaning of texts that are folded: arrays of scalars, made by Foundation and the properties that Swift has.
struct NaiveText {
    let foldsCase: Bool
    let foldsAccents: Bool

    static let all = [false, true].flatMap { c in [false, true].map { NaiveText(foldsCase: c, foldsAccents: $0) } }

    var modifiers: String { (foldsCase ? "c" : "") + (foldsAccents ? "d" : "") }

    func folded(_ text: String) -> [UInt32] {
        let parts = foldsAccents ? NaiveText.stripped(text) : text.unicodeScalars.map(\.value)
        return foldsCase ? parts.map { NaiveText.cases[$0] ?? $0 } : parts
    }

    /// The engine's own, which another test checks for all scalars.
    private static let cases: [UInt32: UInt32] = {
        let scalars = UnicodeVersion.scalars
        let folded = NaiveText(foldsCase: true, foldsAccents: false).appended(String(scalars))
        return Dictionary(uniqueKeysWithValues: zip(scalars.map(\.value), folded).filter { $0 != $1 })
    }()

    static func stripped(_ text: String) -> [UInt32] {
        text.decomposedStringWithCanonicalMapping.unicodeScalars
            .filter { $0.properties.generalCategory != .nonspacingMark }.map(\.value)
    }

    /// What the engine makes of a text.
    func appended(_ text: String) -> [UInt32] {
        String(validating: bytes(text), as: UTF8.self)!.unicodeScalars.map(\.value)
    }

    /// The same in UTF-8. Strings with other scalars may be equal.
    func bytes(_ text: String) -> [UInt8] {
        let buffer = ByteBuffer()
        var text = text
        text.withUTF8 { bytes in
            try! TextPattern.appendFolded(
                bytes.baseAddress, bytes.count, foldsCase: foldsCase, foldsAccents: foldsAccents, to: buffer)
        }
        return Array(UnsafeRawBufferPointer(start: buffer.base, count: buffer.count))
    }

    func pattern(_ operation: TextPattern.Operation, _ text: String, isBinary: Bool = false) -> TextPattern {
        Array(text.utf8)
            .withUnsafeBytes {
                try! TextPattern(
                    operation, $0, foldsCase: foldsCase, foldsAccents: foldsAccents, isBinary: isBinary)
            }
    }

    /// Whether two texts are the same.
    func areEqual(_ a: String, _ b: String) -> Bool { pattern(.equal, a).matches(b) }

    func order(_ a: String, _ b: String) -> Int {
        var a = a, b = b
        return a.withUTF8 { a in
            b.withUTF8 { b in
                TextPattern.compareFolded(
                    a.baseAddress, a.count, b.baseAddress, b.count, foldsCase: foldsCase, foldsAccents: foldsAccents
                )
                .signum()
            }
        }
    }

    // MARK: What operators mean

    func expects(_ operation: TextPattern.Operation, _ text: [UInt32], _ pattern: [UInt32]) -> Bool {
        switch operation {
        case .equal: text == pattern
        case .less: text.lexicographicallyPrecedes(pattern)
        case .lessOrEqual: !pattern.lexicographicallyPrecedes(text)
        case .greater: pattern.lexicographicallyPrecedes(text)
        case .greaterOrEqual: !text.lexicographicallyPrecedes(pattern)
        case .beginsWith: Array(text.prefix(pattern.count)) == pattern
        case .endsWith: Array(text.suffix(pattern.count)) == pattern
        case .contains:
            text.count >= pattern.count
                && (0...text.count - pattern.count).contains { Array(text[$0..<$0 + pattern.count]) == pattern }
        case .like: preconditionFailure()
        }
    }

    enum Part: Equatable { case many, one, unit(UInt32) }

    /// A pattern of LIKE: what stands between its signs is folded by `fold`.
    static func parts(_ pattern: String, _ fold: (String) -> [UInt32]) -> [Part] {
        var parts: [Part] = [], text = "", rest = pattern.unicodeScalars[...]
        func end() {
            parts += fold(text).map { .unit($0) }
            text = ""
        }
        while let scalar = rest.popFirst() {
            switch scalar {
            case "*", "?":
                end()
                parts.append(scalar == "*" ? .many : .one)
            case "\\":
                if let next = rest.first, next == "*" || next == "?" || next == "\\" {
                    text.unicodeScalars.append(rest.removeFirst())
                } else {
                    text.unicodeScalars.append(scalar)
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
        end()
        return parts
    }

    /// Tries everything.
    func isLike(_ text: ArraySlice<UInt32>, _ pattern: ArraySlice<Part>) -> Bool {
        guard let part = pattern.first else { return text.isEmpty }
        switch part {
        case .many:
            return (text.startIndex...text.endIndex).contains { isLike(text[$0...], pattern.dropFirst()) }
        case .unit(let unit): return text.first == unit && isLike(text.dropFirst(), pattern.dropFirst())
        case .one:
            guard var before = text.first else { return false }
            var rest = text.dropFirst()
            while foldsAccents, let next = rest.first, NaiveText.joins(before, next) {
                before = next
                rest = rest.dropFirst()
            }
            return isLike(rest, pattern.dropFirst())
        }
    }

    /// Marks that are no accents join what is before them, and so do the letters of a Korean syllable.
    private static func joins(_ before: UInt32, _ scalar: UInt32) -> Bool {
        let category = Unicode.Scalar(scalar)!.properties.generalCategory
        if category == .spacingMark || category == .enclosingMark { return true }
        let isLetter = { (letter: UInt32) in letter >= 0x1100 && letter <= 0x11ff }
        guard isLetter(before), isLetter(scalar) else { return false }
        // One grapheme of two letters.
        var both = String.UnicodeScalarView()
        both.append(Unicode.Scalar(before)!)
        both.append(Unicode.Scalar(scalar)!)
        return String(both).count == 1
    }
}

extension TextPattern {
    func matches(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { matches($0.baseAddress, $0.count) }
    }
}

extension String {
    init(_ scalars: [Unicode.Scalar]) {
        var view = UnicodeScalarView()
        view.append(contentsOf: scalars)
        self.init(view)
    }

    /// For messages.
    var scalarsShown: String { unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ") }
}

/// The engine may know an older Unicode than the Swift that tests it.
enum UnicodeVersion {
    /// Of the tables (the first line of CaseTable.swift), or older.
    static func isKnown(_ scalar: Unicode.Scalar) -> Bool {
        guard let age = scalar.properties.age else { return false }
        return age.major < 14 || age.major == 14 && age.minor == 0
    }

    /// All but planes for private use.
    static let scalars = [0..<0x32000, 0xe0000..<0xe0200].joined().compactMap { Unicode.Scalar(UInt32($0)) }.filter(
        isKnown)
    /// Marks that were of another kind in the version of the tables.
    static let changed: Set<Unicode.Scalar> = ["\u{1171e}"]
}
