/// hash64: a multiply-based hash, seeded per file, at memory speed. It finds damage, not forgery.
enum PageHash {
    @inline(__always)
    static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let product = (a ^ 0x9e37_79b9_7f4a_7c15).multipliedFullWidth(by: b ^ 0xd6e8_feb8_6659_fd93)
        return product.high ^ product.low
    }

    /// Hashes `count` bytes rounded up to a multiple of 32; the bytes up to there must be readable and zero.
    ///
    /// Four independent lanes keep the multiplier busy: 64 bytes a round.
    static func hash(_ bytes: UnsafeRawPointer, count: Int, seed: UInt64) -> UInt64 {
        var a = seed ^ 0x9e37_79b9_7f4a_7c15, b = seed &+ 0xd6e8_feb8_6659_fd93
        var c = seed ^ 0xa076_1d64_78bd_642f, d = seed &+ 0xe703_7ed1_a0b4_28db
        var position = 0
        let rounded = (count &+ 31) & ~31
        while position &+ 64 <= rounded {
            let p = bytes + position
            let w = (p.loadUnaligned(as: UInt64.self) ^ a)
                .multipliedFullWidth(by: p.loadUnaligned(fromByteOffset: 8, as: UInt64.self) ^ 0x8ebc_6af0_9c88_c6e3)
            let x = (p.loadUnaligned(fromByteOffset: 16, as: UInt64.self) ^ b)
                .multipliedFullWidth(by: p.loadUnaligned(fromByteOffset: 24, as: UInt64.self) ^ 0x5899_65cc_7537_4cc3)
            let y = (p.loadUnaligned(fromByteOffset: 32, as: UInt64.self) ^ c)
                .multipliedFullWidth(by: p.loadUnaligned(fromByteOffset: 40, as: UInt64.self) ^ 0x1d8e_4e27_c47d_124f)
            let z = (p.loadUnaligned(fromByteOffset: 48, as: UInt64.self) ^ d)
                .multipliedFullWidth(by: p.loadUnaligned(fromByteOffset: 56, as: UInt64.self) ^ 0xeb44_acca_b455_d165)
            // The multiplicand is mixed in again, so that a zero factor does not forget what came before.
            a = w.high ^ w.low ^ (a &<< 1)
            b = x.high ^ x.low ^ (b &<< 1)
            c = y.high ^ y.low ^ (c &<< 1)
            d = z.high ^ z.low ^ (d &<< 1)
            position &+= 64
        }
        if position < rounded {
            let p = bytes + position
            let w = (p.loadUnaligned(as: UInt64.self) ^ a)
                .multipliedFullWidth(by: p.loadUnaligned(fromByteOffset: 8, as: UInt64.self) ^ 0x8ebc_6af0_9c88_c6e3)
            let x = (p.loadUnaligned(fromByteOffset: 16, as: UInt64.self) ^ b)
                .multipliedFullWidth(by: p.loadUnaligned(fromByteOffset: 24, as: UInt64.self) ^ 0x5899_65cc_7537_4cc3)
            a = w.high ^ w.low ^ (a &<< 1)
            b = x.high ^ x.low ^ (b &<< 1)
        }
        return mix(mix(a, b), mix(c, d) ^ UInt64(truncatingIfNeeded: count))
    }
}
