internal import CSystem

/// The two bytes by which a pattern is found: eight places of a text are compared at a time.
struct EndBytes {
    /// Eight times the first byte of the pattern, folded, and the last one.
    let first: UInt64
    let last: UInt64
    /// The bit of small letters, where that byte is one and case is folded.
    private let firstBits: UInt64
    private let lastBits: UInt64

    private static let low: UInt64 = 0x7f7f_7f7f_7f7f_7f7f
    static let highBits: UInt64 = ~low

    /// The same for a vector.
    var pair: cs_byte_pair {
        cs_byte_pair(
            first: UInt8(truncatingIfNeeded: first), last: UInt8(truncatingIfNeeded: last),
            first_bits: UInt8(truncatingIfNeeded: firstBits), last_bits: UInt8(truncatingIfNeeded: lastBits))
    }

    init(_ first: UInt8, _ last: UInt8, foldsCase: Bool) {
        func all(_ byte: UInt8) -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }
        func bits(_ byte: UInt8) -> UInt64 { foldsCase && byte &- 0x61 < 26 ? all(0x20) : 0 }
        self.first = all(first)
        self.last = all(last)
        firstBits = bits(first)
        lastBits = bits(last)
    }

    /// The highest bit of each byte is set where both fit.
    @inline(__always)
    func fitting(_ firsts: UInt64, _ lasts: UInt64) -> UInt64 {
        let other = ((firsts | firstBits) ^ first) | ((lasts | lastBits) ^ last)
        return ~((other & EndBytes.low) &+ EndBytes.low | other | EndBytes.low)
    }
}

/// What a text begins with that fits a pattern, as far as its first eight bytes tell.
struct HeadBytes {
    let head: cs_head

    /// Of a pattern's units, as far as they are ASCII and no `*` or `?`; nil: they begin otherwise.
    ///
    /// - Parameter areBytes: a byte of a text from 0x80 on is nothing else; otherwise any of them may fold to a letter.
    init?(_ units: UnsafePointer<UInt32>, _ count: Int, foldsCase: Bool, areBytes: Bool) {
        var wanted: UInt64 = 0, kept: UInt64 = 0, bits: UInt64 = 0
        var length = 0
        while length < min(count, 8), units[length] < 0x80 {
            let shift = UInt64(8 * length), unit = UInt64(units[length])
            wanted |= unit &<< shift
            kept |= 0xff &<< shift
            if foldsCase, unit >= 0x61, unit <= 0x7a { bits |= 0x20 &<< shift }
            length += 1
        }
        if length == 0 { return nil }
        // In the order of memory: the first byte is the lowest.
        head = cs_head(
            wanted: wanted.littleEndian, kept: kept.littleEndian, bits: bits.littleEndian,
            others: areBytes ? 0 : (kept & EndBytes.highBits).littleEndian)
    }
}

extension TextPattern {
    /// Whether a text has the bytes of the pattern somewhere, folded or not. Where the text of an ASCII pattern is not
    /// ASCII (K is the Kelvin sign, too, and accents may stand behind a letter), it goes on by units; and where so many
    /// places look right that to read each unit once costs less.
    func contains(bytewise text: UnsafeRawBufferPointer) -> Bool {
        if text.count < count { return false }
        guard count > 0, let base = text.baseAddress else { return true }
        let rest = count &- 1, places = text.count &- rest
        let highBits = form == .plain || form == .bytes ? 0 : EndBytes.highBits
        // Bytes that neither loop below looks at.
        if highBits != 0, rest > places, !UTF8Check.isASCII(base, text.count) { return contains(text, from: 0) }
        if places < 8 { return contains(few: places, base, text, highBits) }
        var place = 0, cost = 0
        while place < places {
            // The last ones together with what was looked at before.
            place = min(place, places &- 8)
            let firsts = base.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            let lasts = base.loadUnaligned(fromByteOffset: place &+ rest, as: UInt64.self)
            // What fits and has such a letter in it may begin before, but all of its letters are `count`.
            if (firsts | lasts) & highBits != 0 { return contains(text, from: max(0, place &- rest)) }
            var fitting = ends.fitting(firsts, lasts)
            while fitting != 0 {
                let found = place &+ fitting.trailingZeroBitCount &>> 3
                if fits(base + found) { return true }
                fitting &= fitting &- 1
                cost &+= 8 &+ rest &>> 2
                if _slowPath(cost > 1024 &+ 2 &* found) { return contains(text, from: found &+ 1) }
            }
            place &+= 8
        }
        return false
    }

    // MARK: Many texts at once

    /// Finds those of many texts, one behind the other, that contain the pattern: calls `body` with each. False: it is
    /// another operation, or has to be asked of each text.
    ///
    /// - Parameter ends: of each text, where it ends.
    package func find(
        in texts: UnsafeRawPointer, ends textEnds: UnsafePointer<UInt16>, _ count: Int, _ body: (Int) -> Void
    ) -> Bool {
        guard isBytewise, self.count > 0, count > 0 else { return false }
        let bytes = Int(textEnds[count &- 1]), length = self.count, places = bytes &- length &+ 1
        if places <= 0 { return true }
        if form == .scalars || form == .bases, !UTF8Check.isASCII(texts, bytes) { return false }
        let pair = ends.pair
        var place = 0, row = 0, cost = 0
        while true {
            guard cs_cells_find_pair(texts, &place, places, length &- 1, pair) else { return false }
            if place >= places { return true }
            guard fits(texts + place) else {
                // Where so much looks right the texts are searched one by one, which takes care of that.
                cost &+= 8 &+ length &>> 2
                if cost > 1024 &+ 2 &* place { return false }
                place &+= 1
                continue
            }
            while Int(textEnds[row]) <= place { row &+= 1 }
            // Where it goes beyond the end of its text, so does what begins behind it there.
            if place &+ length <= Int(textEnds[row]) { body(row) }
            place = Int(textEnds[row])
        }
    }

    /// Which of many texts, one behind the other, can fit, as far as their first bytes tell: a bit for each. False:
    /// they tell nothing.
    ///
    /// - Parameter offsets: of each text, where it begins, and the end of the last one.
    package func findBeginnings(
        in texts: UnsafeRawPointer, offsets: UnsafePointer<UInt16>, _ count: Int,
        into mask: UnsafeMutablePointer<UInt64>
    ) -> Bool {
        guard let beginning else { return false }
        cs_heads_begin(texts, offsets, count, beginning.head, mask)
        return true
    }

    private func contains(
        few places: Int, _ base: UnsafeRawPointer, _ text: UnsafeRawBufferPointer, _ highBits: UInt64
    ) -> Bool {
        for place in 0..<places {
            let first = UInt64(base.load(fromByteOffset: place, as: UInt8.self))
            let last = UInt64(base.load(fromByteOffset: place &+ count &- 1, as: UInt8.self))
            if (first | last) & highBits != 0 { return contains(text, from: 0) }
            if ends.fitting(first, last) & 0x80 != 0, fits(base + place) { return true }
        }
        return false
    }

    /// Whether the bytes of the pattern stand there, in a text that goes on for so long.
    @inline(__always)
    private func fits(_ text: UnsafeRawPointer) -> Bool {
        let pattern = bytes.baseAddress.unsafelyUnwrapped
        if !foldsCase { return memcmp(text, pattern, count) == 0 }
        for index in 0..<count {
            let byte = text.load(fromByteOffset: index, as: UInt8.self)
            if TextUnit.folded(byte, 0x20) != pattern.load(fromByteOffset: index, as: UInt8.self) { return false }
        }
        return true
    }

    /// By units; there one begins.
    @inline(never)
    private func contains(_ text: UnsafeRawBufferPointer, from place: Int) -> Bool {
        let text = UnsafeRawBufferPointer(rebasing: text[place...])
        return switch form {
        case .plain, .bytes: contains(ByteUnits(text, foldsCase: foldsCase))
        case .scalars: contains(ScalarUnits(text, foldsCase: foldsCase))
        case .bases: contains(BaseUnits(text, foldsCase: foldsCase))
        }
    }
}
