internal import CSystem

/// Makes object ids that no other process makes: time, its maker, a counter.
///
/// ```
///  0        4              9         12
/// ┌────────┬──────────────┬─────────┐
/// │seconds │ random, of   │ counter │   all big-endian: ids of one process ascend
/// │        │ this process │         │
/// └────────┴──────────────┴─────────┘
/// ```
/// Without a lock, so that it works in the child of a fork that found another thread here.
package enum ObjectIDGenerator {
    /// Random for a process, then handed down to children, which differ by their process id.
    private static let seed = ThisProcess.random().0
    private nonisolated(unsafe) static let counter: UnsafeMutablePointer<UInt64> = {
        let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        word.initialize(to: ThisProcess.random().0)
        return word
    }()

    package static func next() -> Value {
        let seconds = ThisProcess.seconds & 0xffff_ffff
        let maker = PageHash.mix(seed, UInt64(ThisProcess.number) | 1 << 40) & 0xff_ffff_ffff
        let number = cs_add64(counter, 1) & 0xff_ffff
        let front = seconds << 32 | maker >> 8
        return Value(
            kind: .objectID, low: Int64(bitPattern: front ^ 1 << 63), high: Int64((maker & 0xff) << 24 | number))
    }
}

/// Makes uuids of version 4: random ones.
package enum UUIDGenerator {
    package static func next() -> Value {
        let words = ThisProcess.random()
        let front = words.0 & ~0xf000 | 0x4000, back = words.1 & ~(3 << 62) | 1 << 63
        return Value(kind: .uuid, low: Int64(bitPattern: front ^ 1 << 63), high: Int64(bitPattern: back ^ 1 << 63))
    }
}

extension Value {
    /// 24 hexadecimal digits; nil: it is something else.
    package static func objectID(hex text: UnsafeRawBufferPointer) -> Value? {
        guard text.count == 24, let a = number(text, 0, 16), let b = number(text, 16, 8) else { return nil }
        return Value(kind: .objectID, low: Int64(bitPattern: a ^ 1 << 63), high: Int64(b))
    }

    /// 32 hexadecimal digits, in groups of 8, 4, 4, 4 and 12 with hyphens between; nil: it is something else.
    package static func uuid(text: UnsafeRawBufferPointer) -> Value? {
        guard text.count == 36, [8, 13, 18, 23].allSatisfy({ text[$0] == UInt8(ascii: "-") }) else { return nil }
        guard let a = number(text, 0, 8), let b = number(text, 9, 4), let c = number(text, 14, 4),
            let d = number(text, 19, 4), let e = number(text, 24, 12)
        else {
            return nil
        }
        return Value(
            kind: .uuid, low: Int64(bitPattern: (a << 32 | b << 16 | c) ^ 1 << 63),
            high: Int64(bitPattern: (d << 48 | e) ^ 1 << 63))
    }

    private static func number(_ text: UnsafeRawBufferPointer, _ start: Int, _ digits: Int) -> UInt64? {
        var number: UInt64 = 0
        for byte in text[start..<start + digits] {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(byte - 0x30)
            case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"):
                number = number << 4 | UInt64((byte | 0x20) - 0x57)
            default: return nil
            }
        }
        return number
    }
}
