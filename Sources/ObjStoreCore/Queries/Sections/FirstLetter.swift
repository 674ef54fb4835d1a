/// The letter that a text is found under in a register: its first code point, as a capital where it has one.
///
/// Texts that begin alike by `[c]` have the same letter: it is folded first, so that ẞ and ß are one. A capital of
/// several code points is none (ß stays ß), and accents stay (É is not E).
enum FirstLetter {
    /// Nil: the text is empty.
    static func of(_ text: Value) -> Unicode.Scalar? {
        var units = ScalarUnits(UnsafeRawBufferPointer(start: text.pointer, count: text.count), foldsCase: true)
        let unit = units.next()
        if unit == TextUnit.end { return nil }
        if unit < 0x80 { return Unicode.Scalar(UInt8(unit >= 0x61 && unit <= 0x7a ? unit - 0x20 : unit)) }
        guard let small = Unicode.Scalar(unit) else { return "\u{fffd}" }
        let capital = small.properties.uppercaseMapping.unicodeScalars
        return capital.count == 1 ? capital.first : small
    }

    /// A number whose order is that of the letters; never 0, which is that of null.
    static func number(_ text: Value) -> UInt64 { of(text).map { UInt64($0.value) + 2 } ?? 1 }

    /// As a text that is all of a buffer.
    static func text(_ text: Value, _ bytes: ByteBuffer) throws(StoreError) -> Value {
        bytes.removeAll()
        let count = try append(text, to: bytes)
        return .string(UnsafeRawPointer(bytes.base), count)
    }

    /// As a text in a buffer, whose beginning is counted from that of the buffer.
    static func append(_ text: Value, to bytes: ByteBuffer) throws(StoreError) -> Int {
        guard let letter = of(text) else { return 0 }
        let before = bytes.count
        for byte in UTF8.encode(letter).unsafelyUnwrapped { try bytes.append(byte) }
        return bytes.count - before
    }
}
