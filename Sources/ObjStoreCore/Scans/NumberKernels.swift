internal import CSystem

/// Loops over packed cells: how many, and which, lie in a range.
///
/// Every comparison of integers is a range of cells `low ... low + span` (unsigned), so there is one kernel
/// a width. Compare results are used as lanes of -1, never turned into branches or `b ? 1 : 0`, which the
/// compiler does not vectorise. Masks of whole words come from CSystem's cells.c where the processor has wider vectors.
enum NumberKernels {
    typealias Bytes = SIMD32<UInt8>

    /// Sum of the byte lanes.
    @inline(__always)
    private static func sum(_ lanes: Bytes) -> Int {
        let words = unsafeBitCast(lanes, to: SIMD4<UInt64>.self)
        let mask = SIMD4<UInt64>(repeating: 0x00ff_00ff_00ff_00ff)
        let pairs = (words & mask) &+ ((words &>> 8) & mask)
        let sums = (pairs &* 0x0001_0001_0001_0001) &>> 48
        return Int(truncatingIfNeeded: sums[0] &+ sums[1] &+ sums[2] &+ sums[3])
    }

    // MARK: Counting

    /// Cells of a part that lie in `low ... low + span`; `count` cells.
    static func count(_ part: UnsafeRawPointer, _ count: Int, width: Int, low: UInt64, span: UInt64) -> Int {
        switch width {
        case 1: return count1(part, count, low: low, span: span)
        case 2:
            return countSmall(
                part, count, 2, low: UInt8(truncatingIfNeeded: low), span: UInt8(truncatingIfNeeded: span))
        case 4:
            return countSmall(
                part, count, 4, low: UInt8(truncatingIfNeeded: low), span: UInt8(truncatingIfNeeded: span))
        case 8: return count8(part, count, low: UInt8(truncatingIfNeeded: low), span: UInt8(truncatingIfNeeded: span))
        case 16:
            return count16(part, count, low: UInt16(truncatingIfNeeded: low), span: UInt16(truncatingIfNeeded: span))
        case 32:
            return count32(part, count, low: UInt32(truncatingIfNeeded: low), span: UInt32(truncatingIfNeeded: span))
        default: return count64(part, count, low: low, span: span)
        }
    }

    private static func count1(_ part: UnsafeRawPointer, _ count: Int, low: UInt64, span: UInt64) -> Int {
        if low == 0, span >= 1 { return count }
        var ones = 0, row = 0
        while row &+ 64 <= count {
            ones &+= part.load(fromByteOffset: row &>> 3, as: UInt64.self).nonzeroBitCount
            row &+= 64
        }
        while row < count {
            ones &+= Int(part.load(fromByteOffset: row &>> 3, as: UInt8.self) &>> UInt8(row & 7) & 1)
            row &+= 1
        }
        return low == 1 ? ones : count &- ones
    }

    /// Widths 2 and 4: every 32 bytes are spread over 4 or 2 vectors of byte lanes.
    private static func countSmall(_ part: UnsafeRawPointer, _ count: Int, _ width: Int, low: UInt8, span: UInt8) -> Int
    {
        let perByte = 8 / width, mask = Bytes(repeating: UInt8(1 &<< width &- 1))
        let lows = Bytes(repeating: low), spans = Bytes(repeating: span)
        let bytes = count / perByte & ~31
        var total = 0, at = 0
        while at < bytes {
            let end = min(bytes, at &+ 32 &* 60)
            var lanes = Bytes(repeating: 0)
            while at < end {
                let packed = part.loadUnaligned(fromByteOffset: at, as: Bytes.self)
                var shift: UInt8 = 0
                while shift < 8 {
                    let cells = (packed &>> Bytes(repeating: shift)) & mask
                    lanes = lanes &- unsafeBitCast((cells &- lows) .<= spans, to: Bytes.self)
                    shift &+= UInt8(width)
                }
                at &+= 32
            }
            total &+= sum(lanes)
        }
        var row = bytes &* perByte
        while row < count {
            let cell = UInt8(truncatingIfNeeded: NumberCodec.cell(part, row, width: width, base: 0))
            if cell &- low <= span { total &+= 1 }
            row &+= 1
        }
        return total
    }

    static func count8(_ part: UnsafeRawPointer, _ count: Int, low: UInt8, span: UInt8) -> Int {
        let lows = Bytes(repeating: low), spans = Bytes(repeating: span)
        var total = 0, at = 0
        // Two vectors a round: with one, the speed depends on where the linker puts the loop (1.0 or 1.6 times).
        while at &+ 64 <= count {
            let end = min(count & ~63, at &+ 64 &* 255)
            var a = Bytes(repeating: 0), b = a
            while at < end {
                let first = part.loadUnaligned(fromByteOffset: at, as: Bytes.self)
                let second = part.loadUnaligned(fromByteOffset: at &+ 32, as: Bytes.self)
                a = a &- unsafeBitCast((first &- lows) .<= spans, to: Bytes.self)
                b = b &- unsafeBitCast((second &- lows) .<= spans, to: Bytes.self)
                at &+= 64
            }
            total &+= sum(a) &+ sum(b)
        }
        if at &+ 32 <= count {
            let cells = part.loadUnaligned(fromByteOffset: at, as: Bytes.self)
            total &+= sum(Bytes(repeating: 0) &- unsafeBitCast((cells &- lows) .<= spans, to: Bytes.self))
            at &+= 32
        }
        while at < count {
            if part.load(fromByteOffset: at, as: UInt8.self) &- low <= span { total &+= 1 }
            at &+= 1
        }
        return total
    }

    private static func count16(_ part: UnsafeRawPointer, _ count: Int, low: UInt16, span: UInt16) -> Int {
        typealias Lanes = SIMD16<UInt16>
        let lows = Lanes(repeating: low), spans = Lanes(repeating: span)
        let vectors = count & ~15
        var lanes = Lanes(repeating: 0)
        var row = 0
        // A part has at most 2048 cells: a lane never overflows.
        while row < vectors {
            let cells = part.loadUnaligned(fromByteOffset: row &<< 1, as: Lanes.self)
            lanes = lanes &- unsafeBitCast((cells &- lows) .<= spans, to: Lanes.self)
            row &+= 16
        }
        var total = 0
        for lane in 0..<16 { total &+= Int(lanes[lane]) }
        while row < count {
            if part.load(fromByteOffset: row &<< 1, as: UInt16.self) &- low <= span { total &+= 1 }
            row &+= 1
        }
        return total
    }

    private static func count32(_ part: UnsafeRawPointer, _ count: Int, low: UInt32, span: UInt32) -> Int {
        typealias Lanes = SIMD8<UInt32>
        let lows = Lanes(repeating: low), spans = Lanes(repeating: span)
        let vectors = count & ~7
        var lanes = Lanes(repeating: 0)
        var row = 0
        while row < vectors {
            let cells = part.loadUnaligned(fromByteOffset: row &<< 2, as: Lanes.self)
            lanes = lanes &- unsafeBitCast((cells &- lows) .<= spans, to: Lanes.self)
            row &+= 8
        }
        var total = 0
        for lane in 0..<8 { total &+= Int(lanes[lane]) }
        while row < count {
            if part.load(fromByteOffset: row &<< 2, as: UInt32.self) &- low <= span { total &+= 1 }
            row &+= 1
        }
        return total
    }

    /// Without vector compares of 64-bit words (baseline x86-64): the borrow of a subtraction, four at a time.
    private static func count64(_ part: UnsafeRawPointer, _ count: Int, low: UInt64, span: UInt64) -> Int {
        let cells = part.assumingMemoryBound(to: UInt64.self)
        var outside: UInt64 = 0, row = 0
        while row < count {
            let borrow = span.subtractingReportingOverflow(cells[row] &- low).overflow
            outside &+= UInt64(unsafeBitCast(borrow, to: UInt8.self))
            row &+= 1
        }
        return count &- Int(outside)
    }

    /// Doubles in `low ... high` (NaN never is).
    static func countDoubles(_ part: UnsafeRawPointer, _ count: Int, low: Double, high: Double) -> Int {
        typealias Lanes = SIMD8<Double>
        let lows = Lanes(repeating: low), highs = Lanes(repeating: high)
        let vectors = count & ~7
        var lanes = SIMD8<Int64>(repeating: 0)
        var row = 0
        while row < vectors {
            let cells = part.loadUnaligned(fromByteOffset: row &<< 3, as: Lanes.self)
            let inside =
                unsafeBitCast(cells .>= lows, to: SIMD8<Int64>.self)
                & unsafeBitCast(cells .<= highs, to: SIMD8<Int64>.self)
            lanes = lanes &- inside
            row &+= 8
        }
        var total = Int(lanes.wrappedSum())
        while row < count {
            let cell = part.load(fromByteOffset: row &<< 3, as: Double.self)
            if cell >= low, cell <= high { total &+= 1 }
            row &+= 1
        }
        return total
    }

    // MARK: Bit masks

    /// Eight byte lanes of 0 or 0xff to eight bits.
    @inline(__always)
    private static func bits(_ lanes: UInt64) -> UInt64 {
        ((lanes & 0x0101_0101_0101_0101) &* 0x0102_0408_1020_4080) &>> 56
    }

    /// Sets the bits of cells in the range, from bit `row0` (a multiple of 64) of `mask` on. Reads whole blocks
    /// of 64 cells where the part has them; bits beyond `count` are zero.
    static func mask(
        _ part: UnsafeRawPointer, _ count: Int, width: Int, low: UInt64, span: UInt64,
        into mask: UnsafeMutablePointer<UInt64>
    ) {
        var row = 0
        if cs_cells_in_range(part, count &>> 6, UInt32(truncatingIfNeeded: width), low, span, mask) {
            row = count & ~63
        }
        while row < count {
            let rows = min(64, count &- row)
            var word: UInt64 = 0
            if rows == 64 {
                switch width {
                case 1:
                    let ones = part.load(fromByteOffset: row &>> 3, as: UInt64.self)
                    word = low == 0 ? (span >= 1 ? ~0 : ~ones) : ones
                case 8:
                    word = mask8(part + row, low: UInt8(truncatingIfNeeded: low), span: UInt8(truncatingIfNeeded: span))
                case 16:
                    word = mask16(
                        part + row &<< 1, low: UInt16(truncatingIfNeeded: low), span: UInt16(truncatingIfNeeded: span))
                case 32:
                    word = mask32(
                        part + row &<< 2, low: UInt32(truncatingIfNeeded: low), span: UInt32(truncatingIfNeeded: span))
                case 64: word = mask64(part + row &<< 3, low: low, span: span)
                default: word = maskSlow(part, row, 64, width: width, low: low, span: span)
                }
            } else {
                word = maskSlow(part, row, rows, width: width, low: low, span: span)
            }
            mask[row &>> 6] = word
            row &+= 64
        }
    }

    private static func maskSlow(
        _ part: UnsafeRawPointer, _ row: Int, _ rows: Int, width: Int, low: UInt64, span: UInt64
    ) -> UInt64 {
        var word: UInt64 = 0, bit = 0
        while bit < rows {
            let cell = UInt64(bitPattern: NumberCodec.cell(part, row &+ bit, width: width, base: 0))
            if cell &- low <= span { word |= 1 &<< UInt64(bit) }
            bit &+= 1
        }
        return word
    }

    @inline(__always)
    private static func word(_ low: Bytes, _ high: Bytes) -> UInt64 {
        let a = unsafeBitCast(low, to: SIMD4<UInt64>.self), b = unsafeBitCast(high, to: SIMD4<UInt64>.self)
        let first = bits(a[0]) | bits(a[1]) &<< 8 | bits(a[2]) &<< 16 | bits(a[3]) &<< 24
        let second = bits(b[0]) | bits(b[1]) &<< 8 | bits(b[2]) &<< 16 | bits(b[3]) &<< 24
        return first | second &<< 32
    }

    @inline(__always)
    static func mask8(_ part: UnsafeRawPointer, low: UInt8, span: UInt8) -> UInt64 {
        let lows = Bytes(repeating: low), spans = Bytes(repeating: span)
        let a = part.loadUnaligned(as: Bytes.self), b = part.loadUnaligned(fromByteOffset: 32, as: Bytes.self)
        return word(
            unsafeBitCast((a &- lows) .<= spans, to: Bytes.self), unsafeBitCast((b &- lows) .<= spans, to: Bytes.self))
    }

    @inline(__always)
    private static func mask16(_ part: UnsafeRawPointer, low: UInt16, span: UInt16) -> UInt64 {
        typealias Lanes = SIMD8<UInt16>
        let lows = Lanes(repeating: low), spans = Lanes(repeating: span)
        var word: UInt64 = 0, block = 0
        while block < 8 {
            let cells = part.loadUnaligned(fromByteOffset: block &<< 4, as: Lanes.self)
            let inside = unsafeBitCast((cells &- lows) .<= spans, to: Lanes.self)
            let bytes = unsafeBitCast(SIMD8<UInt8>(truncatingIfNeeded: inside), to: UInt64.self)
            word |= bits(bytes) &<< UInt64(block &<< 3)
            block &+= 1
        }
        return word
    }

    @inline(__always)
    private static func mask32(_ part: UnsafeRawPointer, low: UInt32, span: UInt32) -> UInt64 {
        typealias Lanes = SIMD8<UInt32>
        let lows = Lanes(repeating: low), spans = Lanes(repeating: span)
        var word: UInt64 = 0, block = 0
        while block < 8 {
            let cells = part.loadUnaligned(fromByteOffset: block &<< 5, as: Lanes.self)
            let inside = unsafeBitCast((cells &- lows) .<= spans, to: Lanes.self)
            let bytes = unsafeBitCast(SIMD8<UInt8>(truncatingIfNeeded: inside), to: UInt64.self)
            word |= bits(bytes) &<< UInt64(block &<< 3)
            block &+= 1
        }
        return word
    }

    @inline(__always)
    private static func mask64(_ part: UnsafeRawPointer, low: UInt64, span: UInt64) -> UInt64 {
        let cells = part.assumingMemoryBound(to: UInt64.self)
        var outside: UInt64 = 0, row = 0
        while row < 64 {
            let borrow = span.subtractingReportingOverflow(cells[row] &- low).overflow
            outside |= UInt64(unsafeBitCast(borrow, to: UInt8.self)) &<< UInt64(row)
            row &+= 1
        }
        return ~outside
    }

    static func maskDoubles(
        _ part: UnsafeRawPointer, _ count: Int, low: Double, high: Double, into mask: UnsafeMutablePointer<UInt64>
    ) {
        typealias Lanes = SIMD8<Double>
        let cells = part.assumingMemoryBound(to: Double.self)
        let lows = Lanes(repeating: low), highs = Lanes(repeating: high)
        var row = 0
        if cs_cells_in_doubles(part, count &>> 6, low, high, mask) { row = count & ~63 }
        while row < count {
            let rows = min(64, count &- row)
            var word: UInt64 = 0, bit = 0
            while bit &+ 8 <= rows {
                let eight = part.loadUnaligned(fromByteOffset: (row &+ bit) &<< 3, as: Lanes.self)
                let inside =
                    unsafeBitCast(eight .>= lows, to: SIMD8<Int64>.self)
                    & unsafeBitCast(eight .<= highs, to: SIMD8<Int64>.self)
                let bytes = unsafeBitCast(SIMD8<UInt8>(truncatingIfNeeded: inside), to: UInt64.self)
                word |= bits(bytes) &<< UInt64(bit)
                bit &+= 8
            }
            while bit < rows {
                let cell = cells[row &+ bit]
                let inside = unsafeBitCast(cell >= low, to: UInt8.self) & unsafeBitCast(cell <= high, to: UInt8.self)
                word |= UInt64(inside) &<< UInt64(bit)
                bit &+= 1
            }
            mask[row &>> 6] = word
            row &+= 64
        }
    }

    // MARK: Sums

    /// Sum of doubles in a fixed order of eight lanes. Prefetches as much memory from `next` on as it reads: the
    /// hardware does not look beyond a page of 4 KiB by itself.
    static func sumDoubles(_ part: UnsafeRawPointer, _ count: Int, next: UnsafeRawPointer) -> Double {
        typealias Lanes = SIMD8<Double>
        // Eight sums of two: with more, the sixteen registers of the base instruction set do not hold them.
        var a = Lanes(repeating: 0), b = a
        var row = 0
        while row &+ 32 <= count {
            let at = part + row &<< 3
            cs_prefetch(next + row &<< 3)
            cs_prefetch(next + row &<< 3 + 64)
            cs_prefetch(next + row &<< 3 + 128)
            cs_prefetch(next + row &<< 3 + 192)
            a += at.loadUnaligned(as: Lanes.self)
            b += at.loadUnaligned(fromByteOffset: 64, as: Lanes.self)
            a += at.loadUnaligned(fromByteOffset: 128, as: Lanes.self)
            b += at.loadUnaligned(fromByteOffset: 192, as: Lanes.self)
            row &+= 32
        }
        var total = (a + b).sum()
        while row < count {
            total += part.load(fromByteOffset: row &<< 3, as: Double.self)
            row &+= 1
        }
        return total
    }

    /// Lowers `minimum` and raises `maximum` to the doubles of a part; NaN is neither less nor greater than any.
    static func extremes(_ part: UnsafeRawPointer, _ count: Int, _ minimum: inout Double, _ maximum: inout Double) {
        // Written out, it becomes one instruction for two lanes. A comparison of whole vectors goes through a Bool for
        // each.
        var low = SIMD4<Double>(repeating: minimum), high = SIMD4<Double>(repeating: maximum)
        var row = 0
        while row &+ 4 <= count {
            let v = part.loadUnaligned(fromByteOffset: row &<< 3, as: SIMD4<Double>.self)
            low = SIMD4(
                v[0] < low[0] ? v[0] : low[0], v[1] < low[1] ? v[1] : low[1], v[2] < low[2] ? v[2] : low[2],
                v[3] < low[3] ? v[3] : low[3])
            high = SIMD4(
                v[0] > high[0] ? v[0] : high[0], v[1] > high[1] ? v[1] : high[1], v[2] > high[2] ? v[2] : high[2],
                v[3] > high[3] ? v[3] : high[3])
            row &+= 4
        }
        for lane in 0..<4 {
            if low[lane] < minimum { minimum = low[lane] }
            if high[lane] > maximum { maximum = high[lane] }
        }
        while row < count {
            let value = part.load(fromByteOffset: row &<< 3, as: Double.self)
            if value < minimum { minimum = value }
            if value > maximum { maximum = value }
            row &+= 1
        }
    }

    /// Lanes of all ones where the bits (of 8 rows) are set.
    @inline(__always)
    private static func lanes(_ bits: UInt64) -> SIMD8<UInt64> {
        let each = SIMD8<UInt64>(1, 2, 4, 8, 16, 32, 64, 128)
        let set = (SIMD8<UInt64>(repeating: bits) & each) .== each
        return unsafeBitCast(set, to: SIMD8<UInt64>.self)
    }

    /// Sum of the doubles whose bit is set; the memory of all 64 is readable.
    static func sumDoubles(_ part: UnsafeRawPointer, where bits: UInt64) -> Double {
        var sums = SIMD8<Double>(repeating: 0), block = 0
        while block < 64 {
            let cells = part.loadUnaligned(fromByteOffset: block &<< 3, as: SIMD8<UInt64>.self)
            sums += unsafeBitCast(cells & lanes(bits &>> UInt64(block) & 0xff), to: SIMD8<Double>.self)
            block &+= 8
        }
        return sums.sum()
    }

    /// Wrapping sum of the numbers whose bit is set.
    static func sumNumbers(_ numbers: UnsafePointer<Int64>, where bits: UInt64) -> UInt64 {
        var sums = SIMD8<UInt64>(repeating: 0), block = 0
        while block < 64 {
            let cells = UnsafeRawPointer(numbers + block).loadUnaligned(as: SIMD8<UInt64>.self)
            sums = sums &+ (cells & lanes(bits &>> UInt64(block) & 0xff))
            block &+= 8
        }
        var total: UInt64 = 0
        for lane in 0..<8 { total &+= sums[lane] }
        return total
    }

    /// Sum of unsigned cells of up to 32 bits; a part has at most 4096 of them, so 64 bits suffice.
    static func sumCells(_ part: UnsafeRawPointer, _ count: Int, width: Int) -> UInt64 {
        var total: UInt64 = 0, row = 0
        switch width {
        case 8:
            let cells = part.assumingMemoryBound(to: UInt8.self)
            while row < count { total &+= UInt64(cells[row]); row &+= 1 }
        case 16:
            let cells = part.assumingMemoryBound(to: UInt16.self)
            while row < count { total &+= UInt64(cells[row]); row &+= 1 }
        case 32:
            let cells = part.assumingMemoryBound(to: UInt32.self)
            while row < count { total &+= UInt64(cells[row]); row &+= 1 }
        default:
            while row < count {
                total &+= UInt64(bitPattern: NumberCodec.cell(part, row, width: width, base: 0)); row &+= 1
            }
        }
        return total
    }
}
