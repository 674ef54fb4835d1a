internal import Glibc

/// Numbers as unsigned integers of the same order, and the hash of texts.
enum IndexBits {
    @inline(__always) static func signed(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ (1 << 63) }
    @inline(__always) static func toSigned(_ bits: UInt64) -> Int64 { Int64(bitPattern: bits ^ (1 << 63)) }

    @inline(__always)
    static func double(_ value: Double) -> UInt64 {
        if value != value { return 0xfff8_0000_0000_0000 }
        let pattern = (value + 0.0).bitPattern  // -0.0 + 0.0 is 0.0
        let sign = UInt64(bitPattern: Int64(bitPattern: pattern) >> 63)
        return pattern ^ (sign | 1 << 63)
    }

    static func doublePattern(_ bits: UInt64) -> Int64 {
        Int64(bitPattern: bits >> 63 != 0 ? bits ^ (1 << 63) : ~bits)
    }

    /// Where an empty text points to.
    nonisolated(unsafe) static let nothing: UnsafeRawPointer = UnsafeRawPointer(calloc(1, 16)!)

    /// Reads no byte beyond `count`.
    static func hash(_ bytes: UnsafeRawPointer, _ count: Int, seed: UInt64) -> UInt64 {
        var state = PageHash.mix(seed, UInt64(truncatingIfNeeded: count))
        var position = 0
        while position &+ 16 <= count {
            state =
                PageHash.mix(
                    state ^ bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self),
                    bytes.loadUnaligned(fromByteOffset: position &+ 8, as: UInt64.self)) ^ (state &<< 1)
            position &+= 16
        }
        var a: UInt64 = 0, b: UInt64 = 0
        let rest = count &- position
        if rest >= 8 {
            a = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            b = bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
        } else if rest >= 4 {
            a = UInt64(bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            b = UInt64(bytes.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
        } else if rest > 0 {
            a = UInt64(bytes.load(fromByteOffset: position, as: UInt8.self))
            b =
                UInt64(bytes.load(fromByteOffset: position &+ rest / 2, as: UInt8.self)) << 8
                | UInt64(bytes.load(fromByteOffset: count &- 1, as: UInt8.self))
        }
        return PageHash.mix(state ^ a, b)
    }
}
