internal import CSystem

/// How prefixes become codes: numbers in the same order, with so few bits that the index of an object fits beside them.
///
/// ```
///  prefix   0 1 1|0 1 0 1|0 1 1|1 1 0 0|0 0      bits that all have in common are left out: those at both ends
///  code             0 1 0 1     1 1 0 0          always, those between where there are many prefixes
/// ```
/// Where even that does not fit, the lowest bits are left out, too.
package struct PrefixCode {
    private let shift: UInt64
    private let mask: UInt64
    /// How many a code has.
    package let bits: Int
    /// Equal codes are equal prefixes.
    package let isExact: Bool
    /// The prefixes are in order.
    package let isSorted: Bool

    /// Of some prefixes, at least one. Many are changed: what they have in common in the middle is taken out; their
    /// order, and which of them are equal, stays. Errors: those of whoever watches.
    package init(_ prefixes: UnsafeMutablePointer<UInt64>, _ count: Int, room: Int) throws(StoreError) {
        let first = prefixes[0]
        var differ: UInt64 = 0, previous = first, isSorted = true
        try WatchedQuery.forEachStretch(of: 1..<max(1, count)) { (stretch) throws(StoreError) in
            for index in stretch {
                let prefix = prefixes[index]
                differ |= prefix ^ first
                isSorted = isSorted && previous <= prefix
                previous = prefix
            }
        }
        self.isSorted = isSorted
        if count >= PrefixCode.leastPacked, let parts = PrefixCode.parts(differ) {
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                withUnsafePointer(to: parts) {
                    cs_pack_bits(prefixes + stretch.lowerBound, stretch.count, $0)
                }
            }
            differ = ~0 &>> UInt64(64 &- differ.nonzeroBitCount)
        }
        let low = differ == 0 ? 0 : differ.trailingZeroBitCount,
            width = 64 - (differ &>> UInt64(low)).leadingZeroBitCount
        bits = min(width, room)
        isExact = width <= room
        shift = UInt64(low + width - bits)
        mask = bits == 64 ? ~0 : 1 &<< UInt64(bits) &- 1
    }

    @inline(__always)
    package func callAsFunction(_ prefix: UInt64) -> UInt64 { prefix &>> shift & mask }

    /// Fewer are not worth it.
    private static let leastPacked = 4096

    /// Nil: they lie in too many places, or nearly all of them differ.
    private static func parts(_ differ: UInt64) -> cs_bit_parts? {
        guard differ.nonzeroBitCount + 8 <= 64 - differ.leadingZeroBitCount - differ.trailingZeroBitCount else {
            return nil
        }
        var parts = cs_bit_parts(), rest = differ, bits: UInt64 = 0
        while rest != 0 {
            let from = UInt64(rest.trailingZeroBitCount), length = UInt64((~(rest &>> from)).trailingZeroBitCount)
            let number = Int(parts.count)
            guard number < 8 else { return nil }
            withUnsafeMutableBytes(of: &parts.parts) {
                let part = $0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: cs_bit_part.self) + number
                part.pointee = cs_bit_part(mask: (1 &<< length &- 1) &<< from, shift: from - bits)
            }
            parts.count += 1
            bits += length
            rest &= ~((1 &<< length &- 1) &<< from)
        }
        return parts
    }
}
