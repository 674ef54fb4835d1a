/// Whether bytes are text.
package enum UTF8Check {
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Whether all bytes are ASCII, and every piece of them therefore is valid UTF-8.
    package static func isASCII(_ pointer: UnsafeRawPointer, _ count: Int) -> Bool {
        var position = 0
        while position &+ 64 <= count {
            if pointer.loadUnaligned(fromByteOffset: position, as: SIMD8<UInt64>.self) & SIMD8(repeating: highBits)
                != .zero
            {
                return false
            }
            position &+= 64
        }
        return (position..<count).allSatisfy { pointer.load(fromByteOffset: $0, as: UInt8.self) < 0x80 }
    }

    /// Well-formed UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
    package static func isValid(_ pointer: UnsafeRawPointer?, _ count: Int) -> Bool {
        guard let pointer, count > 0 else { return true }
        var position = 0
        while position < count {
            // Eight ASCII bytes at a time; the last ones together with what was looked at before.
            if count >= 8 {
                let start = min(position, count &- 8)
                if pointer.loadUnaligned(fromByteOffset: start, as: UInt64.self) & highBits == 0 {
                    position = start &+ 8
                    continue
                }
            }
            let byte = pointer.load(fromByteOffset: position, as: UInt8.self)
            if byte < 0x80 {
                position &+= 1
                continue
            }
            let length: Int, low: UInt8, high: UInt8
            switch byte {
            case 0xc2...0xdf: (length, low, high) = (2, 0x80, 0xbf)
            case 0xe0: (length, low, high) = (3, 0xa0, 0xbf)
            case 0xed: (length, low, high) = (3, 0x80, 0x9f)
            case 0xe1...0xef: (length, low, high) = (3, 0x80, 0xbf)
            case 0xf0: (length, low, high) = (4, 0x90, 0xbf)
            case 0xf1...0xf3: (length, low, high) = (4, 0x80, 0xbf)
            case 0xf4: (length, low, high) = (4, 0x80, 0x8f)
            default: return false
            }
            guard position &+ length <= count else { return false }
            let second = pointer.load(fromByteOffset: position &+ 1, as: UInt8.self)
            guard second >= low, second <= high else { return false }
            for offset in 2..<max(2, length)
            where pointer.load(fromByteOffset: position &+ offset, as: UInt8.self) & 0xc0 != 0x80 { return false }
            position &+= length
        }
        return true
    }
}
