/// Scalars of a text without accents: decomposed (NFD), combining marks (Mn) left out, then folded or not. So texts are
/// the same that have the same canonical form, and those that differ in accents alone.
struct BaseUnits: TextUnits {
    private var text: ScalarCursor
    private let foldsCase: Bool
    private let caseBit: UInt8
    /// What is left of a decomposed scalar, the next one in the lowest 21 bits; 0: nothing.
    private var pending: UInt64 = 0
    /// Other than 0: amid marks that stay and have a combining class, however they stand in the text: first all of the
    /// lowest class, and so on. It is the class whose turn it is.
    private var turn = 0
    /// Where those begin.
    private var run: (position: UnsafePointer<UInt8>, pending: UInt64)

    init(_ bytes: UnsafeRawBufferPointer, foldsCase: Bool) {
        text = ScalarCursor(bytes)
        self.foldsCase = foldsCase
        caseBit = foldsCase ? 0x20 : 0
        run = (text.position, 0)
    }

    @inline(__always)
    mutating func next() -> UInt32 {
        if pending == 0, turn == 0 {
            if text.isAtEnd { return TextUnit.end }
            if text.byte < 0x80 {
                let byte = text.byte
                text.position += 1
                return UInt32(TextUnit.folded(byte, caseBit))
            }
        }
        return nextBeyondASCII()
    }

    @inline(never)
    private mutating func nextBeyondASCII() -> UInt32 {
        if turn != 0 { return nextInTurn() }
        while pending == 0 {
            if text.isAtEnd { return TextUnit.end }
            let start = text.position
            var scalar = text.next()
            let value = AccentTable.value(scalar)
            if value == 1 || value == 2 { continue }
            if value >= AccentTable.firstTarget { scalar = AccentTable.target(value) }
            if value == 0 || value >= AccentTable.firstTarget && scalar &>> 21 == 0 {
                return foldsCase ? CaseTable.folded(scalar) : scalar
            }
            text.position = start
            break
        }
        // Of several parts, or a mark that stays.
        let before = (text.position, pending)
        let (scalar, value) = nextDecomposed()
        if value < 4 { return foldsCase ? CaseTable.folded(scalar) : scalar }
        run = before
        (text.position, pending) = before
        turn = 1
        return nextInTurn()
    }

    /// Within a run, or behind it.
    private mutating func nextInTurn() -> UInt32 {
        while true {
            let before = (text.position, pending)
            let (scalar, value) = nextDecomposed()
            if value >= 4 {
                if value &- 3 == turn { return scalar }
            } else if value != 1 {
                // Here the run ends: once more for the next class, or on behind it.
                turn &+= 1
                if turn > AccentTable.classes {
                    turn = 0
                    (text.position, pending) = before
                    return next()
                }
                (text.position, pending) = run
            }
        }
    }

    /// A scalar of the decomposed text, with its value in the table.
    @inline(__always)
    private mutating func nextDecomposed() -> (scalar: UInt32, value: Int) {
        if pending != 0 {
            let scalar = UInt32(truncatingIfNeeded: pending & 0x1fffff)
            pending &>>= 21
            return (scalar, AccentTable.value(scalar))
        }
        if text.isAtEnd { return (TextUnit.end, 0) }
        let scalar = text.next(), value = AccentTable.value(scalar)
        if value == AccentTable.syllable {
            pending = Jamo.tail(scalar)
            return (Jamo.leading(scalar), 0)
        }
        if value < AccentTable.firstTarget { return (scalar, value) }
        var target = AccentTable.target(value), place = value, shift: UInt64 = 0
        let first = target & 0x1fffff
        while target & 1 &<< 21 != 0 {
            place &+= 1
            target = AccentTable.target(place)
            pending |= UInt64(target & 0x1fffff) &<< shift
            shift &+= 21
        }
        return (first, AccentTable.value(first))
    }

    /// Only ASCII, where nothing is decomposed.
    @inline(__always)
    mutating func skip(to unit: UInt32) {
        if pending == 0, turn == 0 { text.skipASCII(to: unit, caseBit) }
    }

    /// Marks that are no accents, and the rest of a Korean syllable: so a text and its canonical form fit the same.
    @inline(never)
    mutating func skipMarks(behind unit: UInt32) {
        var before = unit
        while true {
            var rest = self
            let unit = rest.next()
            guard AccentTable.value(unit) >= 3 || Jamo.joins(before, unit) else { return }
            before = unit
            self = rest
        }
    }

    @inline(__always)
    mutating func goBeforeEnd(_ count: Int) -> Bool? { nil }
}

/// Korean syllables, which are computed from their letters (Unicode, 3.12): all combinations of those that may begin
/// one, stand in its middle, and end it.
private enum Jamo {
    private static let first: UInt32 = 0xac00, middles: UInt32 = 21
    /// No letter is one.
    private static let ends: UInt32 = 28

    @inline(__always)
    static func leading(_ syllable: UInt32) -> UInt32 { 0x1100 &+ (syllable &- first) / (middles &* ends) }

    /// One or two letters of 21 bits.
    @inline(__always)
    static func tail(_ syllable: UInt32) -> UInt64 {
        let number = (syllable &- first) % (middles &* ends), end = number % ends
        return UInt64(0x1161 &+ number / ends) | (end == 0 ? 0 : UInt64(0x11a7 &+ end) &<< 21)
    }

    private enum Place { case none, leading, middle, end }

    private static func place(_ scalar: UInt32) -> Place {
        switch scalar {
        case 0x1100...0x115f, 0xa960...0xa97c: .leading
        case 0x1160...0x11a7, 0xd7b0...0xd7c6: .middle
        case 0x11a8...0x11ff, 0xd7cb...0xd7fb: .end
        default: .none
        }
    }

    /// Whether they belong to one syllable, old ones too (Unicode, annex 29).
    static func joins(_ before: UInt32, _ scalar: UInt32) -> Bool {
        switch (place(before), place(scalar)) {
        case (.leading, .leading), (.leading, .middle), (.middle, .middle), (.middle, .end), (.end, .end): true
        default: false
        }
    }
}
