internal import CSystem

/// Frame-of-reference cells of 0, 1, 2, 4, 8, 16, 32 or 64 bits, least significant bits first.
///
/// `value = base + cell`; a cell of 64 bits is the value itself, so that any value fits such a column.
package enum NumberCodec {
    @inline(__always) package static func isWidth(_ width: Int) -> Bool { width <= 64 && (width & (width &- 1)) == 0 }

    /// The least width whose cells hold 0...range.
    @inline(__always) package static func width(range: UInt64) -> Int {
        if range == 0 { return 0 }
        let bits = 64 &- range.leadingZeroBitCount
        return 1 &<< (Int.bitWidth &- (bits &- 1).leadingZeroBitCount)
    }

    @inline(__always) static func bytes(rows: Int, width: Int) -> Int { (rows &* width &+ 7) >> 3 }

    /// Log2 of the rows in a segment of 4 KiB; 12 = never cut.
    @inline(__always) static func segmentShift(_ width: Int) -> Int {
        width <= 8 ? 12 : 15 &- width.trailingZeroBitCount
    }

    /// Width and base for values from `low` to `high`.
    ///
    /// With `slack` (a leaf that grows, or a value that did not fit) what the width leaves over is divided
    /// between both sides, so that a series of new extremes re-encodes the column only when its range has
    /// doubled.
    package static func frame(low: Int64, high: Int64, slack: Bool) -> (width: Int, base: Int64) {
        if low > high { return (0, 0) }
        let range = UInt64(bitPattern: high &- low)
        let width = width(range: range)
        if width == 0 || width == 64 { return (width, low) }
        let top = (1 as UInt64) << UInt64(width) - 1
        if width >= 8, low >= 0, high <= Int64(bitPattern: top), width <= 16 || slack { return (width, 0) }
        if slack, width >= 4 {
            let below = Int64(bitPattern: (top - range) / 2)
            // base + top must stay a valid value too.
            let lowest = low.subtractingReportingOverflow(below)
            let base = lowest.overflow ? Int64.min : lowest.partialValue
            let highest = Int64.max &- Int64(bitPattern: top)
            return (width, Swift.min(base, highest))
        }
        return (width, low)
    }

    // MARK: One cell

    @inline(__always)
    package static func cell(_ part: UnsafeRawPointer, _ index: Int, width: Int, base: Int64) -> Int64 {
        switch width {
        case 8: return base &+ Int64(part.load(fromByteOffset: index, as: UInt8.self))
        case 16: return base &+ Int64(part.load(fromByteOffset: index &<< 1, as: UInt16.self))
        case 32: return base &+ Int64(part.load(fromByteOffset: index &<< 2, as: UInt32.self))
        case 64: return part.load(fromByteOffset: index &<< 3, as: Int64.self)
        default:
            let bit = index &* width
            let byte = part.load(fromByteOffset: bit &>> 3, as: UInt8.self)
            return base &+ Int64((byte &>> UInt8(bit & 7)) & (1 &<< UInt8(width) &- 1))
        }
    }

    /// Stores a value that fits.
    @inline(__always)
    package static func setCell(_ part: UnsafeMutableRawPointer, _ index: Int, width: Int, base: Int64, _ value: Int64)
    {
        let cell = UInt64(bitPattern: value &- base)
        switch width {
        case 8: part.storeBytes(of: UInt8(truncatingIfNeeded: cell), toByteOffset: index, as: UInt8.self)
        case 16: part.storeBytes(of: UInt16(truncatingIfNeeded: cell), toByteOffset: index &<< 1, as: UInt16.self)
        case 32: part.storeBytes(of: UInt32(truncatingIfNeeded: cell), toByteOffset: index &<< 2, as: UInt32.self)
        case 64: part.storeBytes(of: value, toByteOffset: index &<< 3, as: Int64.self)
        default:
            let bit = index &* width
            let mask: UInt8 = (1 &<< UInt8(width) &- 1) &<< UInt8(bit & 7)
            let old = part.load(fromByteOffset: bit &>> 3, as: UInt8.self)
            let new = (old & ~mask) | (UInt8(truncatingIfNeeded: cell) &<< UInt8(bit & 7) & mask)
            part.storeBytes(of: new, toByteOffset: bit &>> 3, as: UInt8.self)
        }
    }

    // MARK: Many cells

    package static func pack(
        _ values: UnsafePointer<Int64>, _ count: Int, width: Int, base: Int64, into part: UnsafeMutableRawPointer
    ) {
        switch width {
        case 0: break
        case 8: packWide(values, count, base, part, UInt8.self)
        case 16: packWide(values, count, base, part, UInt16.self)
        case 32: packWide(values, count, base, part, UInt32.self)
        case 64: memcpy(part, values, count &* 8)
        default:
            let out = part.assumingMemoryBound(to: UInt8.self)
            let perByte = 8 / width
            var index = 0, at = 0
            while index < count {
                var byte: UInt8 = 0, shift: UInt8 = 0
                let end = min(index &+ perByte, count)
                while index < end {
                    byte |= UInt8(truncatingIfNeeded: values[index] &- base) &<< shift
                    shift &+= UInt8(truncatingIfNeeded: width)
                    index &+= 1
                }
                out[at] = byte
                at &+= 1
            }
        }
    }

    @inline(__always)
    private static func packWide<Cell: FixedWidthInteger & UnsignedInteger>(
        _ values: UnsafePointer<Int64>, _ count: Int, _ base: Int64, _ part: UnsafeMutableRawPointer, _: Cell.Type
    ) {
        let out = part.assumingMemoryBound(to: Cell.self)
        var index = 0
        while index < count {
            out[index] = Cell(truncatingIfNeeded: values[index] &- base)
            index &+= 1
        }
    }

    /// Decodes `count` cells from `first` on.
    package static func unpack(
        _ part: UnsafeRawPointer, first: Int, _ count: Int, width: Int, base: Int64,
        into out: UnsafeMutablePointer<Int64>
    ) {
        switch width {
        case 0: out.update(repeating: base, count: count)
        case 8: unpackWide(part + first, count, base, out, UInt8.self)
        case 16: unpackWide(part + first &<< 1, count, base, out, UInt16.self)
        case 32: unpackWide(part + first &<< 2, count, base, out, UInt32.self)
        case 64: memcpy(out, part + first &<< 3, count &* 8)
        default:
            var index = 0
            while index < count {
                out[index] = cell(part, first &+ index, width: width, base: base)
                index &+= 1
            }
        }
    }

    @inline(__always)
    private static func unpackWide<Cell: FixedWidthInteger & UnsignedInteger>(
        _ part: UnsafeRawPointer, _ count: Int, _ base: Int64, _ out: UnsafeMutablePointer<Int64>, _: Cell.Type
    ) {
        let cells = part.assumingMemoryBound(to: Cell.self)
        var index = 0
        while index < count {
            out[index] = base &+ Int64(truncatingIfNeeded: cells[index])
            index &+= 1
        }
    }
}
