/// A table with a small number for each scalar, 0 for nearly all: leaves of 16 numbers, each different one once, middle
/// nodes of 32 leaves, and a top. The digits of the numbers, in base 64 from `$` on, are characters of literals:
/// nothing is made at run time (scripts/unicode-tables).
struct ScalarTable {
    let limit: UInt32
    let top: UnsafePointer<UInt8>
    let middles: UnsafePointer<UInt8>
    let leaves: UnsafePointer<UInt8>

    /// Of a scalar below the limit.
    @inline(__always)
    func value(_ scalar: UInt32) -> Int {
        let scalar = Int(scalar)
        let middle = Int(top[scalar &>> 9] &- 0x24)
        let leaf = ScalarTable.twoDigits(middles, middle &<< 5 &+ scalar &>> 4 & 31)
        return ScalarTable.twoDigits(leaves, leaf &<< 4 &+ scalar & 15)
    }

    @inline(__always)
    private static func twoDigits(_ digits: UnsafePointer<UInt8>, _ index: Int) -> Int {
        let number = Int(UnsafeRawPointer(digits).loadUnaligned(fromByteOffset: 2 &* index, as: UInt16.self)) &- 0x2424
        return number & 0x3f | number &>> 2 & 0xfc0
    }

    @inline(__always)
    static func fourDigits(_ digits: UnsafePointer<UInt8>, _ index: Int) -> UInt32 {
        let number = UnsafeRawPointer(digits).loadUnaligned(fromByteOffset: 4 &* index, as: UInt32.self) &- 0x2424_2424
        return number & 0x3f | number &>> 2 & 0xfc0 | number &>> 4 & 0x3f000 | number &>> 6 & 0xfc0000
    }
}

extension CaseTable {
    private static var table: ScalarTable {
        ScalarTable(limit: limit, top: top.utf8Start, middles: middles.utf8Start, leaves: leaves.utf8Start)
    }

    /// What two scalars have in common that differ in their case alone: mostly the small letter. One scalar always, so
    /// ß and ss differ; for no language in particular, so that I and ı differ, and İ is like itself alone.
    @inline(__always)
    static func folded(_ scalar: UInt32) -> UInt32 {
        if scalar >= limit { return scalar }
        // Capitals and small letters alternate: no branch could be foreseen.
        return (scalar &+ ScalarTable.fourDigits(distances.utf8Start, table.value(scalar))) & 0x3ffff
    }
}

extension AccentTable {
    private static var table: ScalarTable {
        ScalarTable(limit: limit, top: top.utf8Start, middles: middles.utf8Start, leaves: leaves.utf8Start)
    }

    @inline(__always)
    static func value(_ scalar: UInt32) -> Int { scalar < limit ? table.value(scalar) : 0 }

    /// Of a value from `firstTarget` on: a scalar, with its bits.
    @inline(__always)
    static func target(_ value: Int) -> UInt32 { ScalarTable.fourDigits(targets.utf8Start, value &- firstTarget) }
}
