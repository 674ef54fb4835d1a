/// What a pattern is compared with: a text, one number after another. A value that is copied goes on where it was,
/// which is how a search comes back to a place.
///
/// Nothing is read out of bounds, whatever the bytes are: what is no UTF-8 gives some numbers, the same each time.
protocol TextUnits {
    /// `TextUnit.end` behind the last one.
    mutating func next() -> UInt32
    /// Passes units that are not the given one: the next one is that, perhaps.
    mutating func skip(to unit: UInt32)
    /// Passes what `?` takes together with the unit that was just read.
    mutating func skipMarks(behind unit: UInt32)
    /// Goes to so many units before the end. False: there are fewer. Nil: only reading them all would tell.
    mutating func goBeforeEnd(_ count: Int) -> Bool?
}

/// Numbers that no text has.
enum TextUnit {
    static let end = UInt32.max
    /// In patterns of LIKE: `?` and `*`.
    static let one = UInt32.max - 1
    static let many = UInt32.max - 2

    /// Folds ASCII letters where the bit is 0x20, and nothing where it is 0.
    @inline(__always)
    static func folded(_ byte: UInt8, _ caseBit: UInt8) -> UInt8 {
        byte | unsafeBitCast(byte &- 0x41 < 26, to: UInt8.self) &<< 5 & caseBit
    }
}

/// Bytes of binaries.
struct ByteUnits: TextUnits {
    private var position: UnsafePointer<UInt8>
    private let end: UnsafePointer<UInt8>
    private let caseBit: UInt8

    init(_ bytes: UnsafeRawBufferPointer, foldsCase: Bool) {
        position = bytes.baseAddress.map { $0.assumingMemoryBound(to: UInt8.self) } ?? ByteUnits.nothing
        end = position + bytes.count
        caseBit = foldsCase ? 0x20 : 0
    }

    /// Never read where there is none.
    static var nothing: UnsafePointer<UInt8> { UnsafePointer(bitPattern: 64).unsafelyUnwrapped }

    @inline(__always)
    mutating func next() -> UInt32 {
        if position == end { return TextUnit.end }
        let byte = position.pointee
        position += 1
        return UInt32(TextUnit.folded(byte, caseBit))
    }

    @inline(__always)
    mutating func skip(to unit: UInt32) {
        while position < end, UInt32(TextUnit.folded(position.pointee, caseBit)) != unit { position += 1 }
    }

    @inline(__always)
    mutating func skipMarks(behind unit: UInt32) {}

    @inline(__always)
    mutating func goBeforeEnd(_ count: Int) -> Bool? {
        if end - position < count { return false }
        position = end - count
        return true
    }
}

/// Scalars of a text, folded or not.
struct ScalarUnits: TextUnits {
    private var text: ScalarCursor
    private let caseBit: UInt8

    init(_ bytes: UnsafeRawBufferPointer, foldsCase: Bool) {
        text = ScalarCursor(bytes)
        caseBit = foldsCase ? 0x20 : 0
    }

    @inline(__always)
    mutating func next() -> UInt32 {
        if text.isAtEnd { return TextUnit.end }
        let byte = text.byte
        if byte < 0x80 {
            text.position += 1
            return UInt32(TextUnit.folded(byte, caseBit))
        }
        let scalar = text.nextBeyondASCII()
        return caseBit == 0 ? scalar : CaseTable.folded(scalar)
    }

    @inline(__always)
    mutating func skip(to unit: UInt32) { text.skipASCII(to: unit, caseBit) }

    @inline(__always)
    mutating func skipMarks(behind unit: UInt32) {}

    /// Folding makes one scalar of one scalar.
    @inline(__always)
    mutating func goBeforeEnd(_ count: Int) -> Bool? { text.goBeforeEnd(count) }
}

/// Where in a text one is.
struct ScalarCursor {
    var position: UnsafePointer<UInt8>
    let end: UnsafePointer<UInt8>

    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer) {
        position = bytes.baseAddress.map { $0.assumingMemoryBound(to: UInt8.self) } ?? ByteUnits.nothing
        end = position + bytes.count
    }

    @inline(__always)
    var isAtEnd: Bool { position == end }
    /// Not at the end.
    @inline(__always)
    var byte: UInt8 { position.pointee }

    @inline(__always)
    mutating func next() -> UInt32 {
        if byte >= 0x80 { return nextBeyondASCII() }
        defer { position += 1 }
        return UInt32(byte)
    }

    /// What begins with a byte from 0x80 on. Broken bytes come one by one, as surrogates that no text has.
    @inline(__always)
    mutating func nextBeyondASCII() -> UInt32 {
        let first = UInt32(position.pointee), left = end - position
        if first < 0xe0, first >= 0xc2, left >= 2 {
            defer { position += 2 }
            return (first & 0x1f) &<< 6 | rest(1)
        }
        if first < 0xf0, first >= 0xe0, left >= 3 {
            defer { position += 3 }
            return (first & 0x0f) &<< 12 | rest(1) &<< 6 | rest(2)
        }
        if first >= 0xf0, left >= 4 {
            defer { position += 4 }
            return (first & 0x07) &<< 18 | rest(1) &<< 12 | rest(2) &<< 6 | rest(3)
        }
        position += 1
        return 0xdc00 | first
    }

    @inline(__always)
    private func rest(_ offset: Int) -> UInt32 { UInt32(position[offset] & 0x3f) }

    /// Stops before the unit, and before what is not ASCII.
    @inline(__always)
    mutating func skipASCII(to unit: UInt32, _ caseBit: UInt8) {
        while position < end {
            let byte = position.pointee
            if byte >= 0x80 || UInt32(TextUnit.folded(byte, caseBit)) == unit { return }
            position += 1
        }
    }

    @inline(__always)
    mutating func goBeforeEnd(_ count: Int) -> Bool {
        if end - position < count { return false }
        var place = end
        for _ in 0..<count {
            repeat {
                if place == position { return false }
                place -= 1
            } while place.pointee & 0xc0 == 0x80
        }
        position = place
        return true
    }
}
