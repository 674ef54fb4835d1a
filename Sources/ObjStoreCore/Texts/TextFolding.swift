internal import CSystem

/// Two texts, neither of which is a pattern: the order of results, and what is distinct among them.
extension TextPattern {
    /// Negative, zero or positive: by code point, of what folding leaves.
    package static func compareFolded(
        _ a: UnsafeRawPointer?, _ aCount: Int, _ b: UnsafeRawPointer?, _ bCount: Int, foldsCase: Bool,
        foldsAccents: Bool
    ) -> Int {
        let a = UnsafeRawBufferPointer(start: a, count: a == nil ? 0 : aCount)
        let b = UnsafeRawBufferPointer(start: b, count: b == nil ? 0 : bCount)
        if foldsAccents { return order(BaseUnits(a, foldsCase: foldsCase), BaseUnits(b, foldsCase: foldsCase)) }
        if foldsCase { return order(ScalarUnits(a, foldsCase: true), ScalarUnits(b, foldsCase: true)) }
        return order(a, b)
    }

    /// Appends a text in UTF-8 that is the same for texts that `compareFolded` finds equal, and for no others.
    ///
    /// Errors: `.outOfMemory`.
    package static func appendFolded(
        _ text: UnsafeRawPointer?, _ count: Int, foldsCase: Bool, foldsAccents: Bool, to target: ByteBuffer
    ) throws(StoreError) {
        let bytes = UnsafeRawBufferPointer(start: text, count: text == nil ? 0 : count)
        if foldsAccents {
            try append(BaseUnits(bytes, foldsCase: foldsCase), to: target)
        } else if foldsCase {
            try append(ScalarUnits(bytes, foldsCase: true), to: target)
        } else {
            try target.append(bytes: bytes.baseAddress, count: bytes.count)
        }
    }

    /// By bytes, which is by code point; a prefix first.
    @inline(__always)
    static func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let common = min(a.count, b.count)
        if common > 0 {
            let order = memcmp(a.baseAddress.unsafelyUnwrapped, b.baseAddress.unsafelyUnwrapped, common)
            if order != 0 { return Int(order) }
        }
        return a.count &- b.count
    }

    /// Of two units that differ: the end comes first.
    @inline(__always)
    static func order(_ a: UInt32, _ b: UInt32) -> Int {
        if a == TextUnit.end { return -1 }
        return b == TextUnit.end || a > b ? 1 : -1
    }

    private static func order<Units: TextUnits>(_ a: Units, _ b: Units) -> Int {
        var a = a, b = b
        while true {
            let unit = a.next(), other = b.next()
            if unit != other { return order(unit, other) }
            if unit == TextUnit.end { return 0 }
        }
    }

    private static func append<Units: TextUnits>(_ text: Units, to target: ByteBuffer) throws(StoreError) {
        var text = text
        while true {
            let unit = text.next()
            if unit == TextUnit.end { return }
            try target.append(atMost: 4) { bytes in
                func rest(_ shift: UInt32) { bytes.append(UInt8(truncatingIfNeeded: unit &>> shift & 0x3f | 0x80)) }
                if unit < 0x80 {
                    bytes.append(UInt8(truncatingIfNeeded: unit))
                } else if unit < 0x800 {
                    bytes.append(UInt8(truncatingIfNeeded: unit &>> 6 | 0xc0))
                    rest(0)
                } else if unit < 0x10000 {
                    bytes.append(UInt8(truncatingIfNeeded: unit &>> 12 | 0xe0))
                    rest(6)
                    rest(0)
                } else {
                    bytes.append(UInt8(truncatingIfNeeded: unit &>> 18 | 0xf0))
                    rest(12)
                    rest(6)
                    rest(0)
                }
            }
        }
    }
}
