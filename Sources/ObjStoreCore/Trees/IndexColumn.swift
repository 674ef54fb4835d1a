/// Unsigned integers of 0 to 8 bytes each above a common base (frame of reference), as index nodes store them.
///
/// An element is read as the eight bytes that *end* with it, shifted down: one way for every width, and
/// never a byte behind the column. What lies before the column (a node's header) must be 8 bytes or more.
struct IndexColumn {
    /// Eight bytes before the end of element 0.
    let first: UnsafeRawPointer
    let width: Int
    let shift: UInt64
    let mask: UInt64
    let base: UInt64

    @inline(__always)
    init(_ start: UnsafeRawPointer, width: Int, base: UInt64) {
        first = start + (width &- 8)
        self.width = width
        shift = UInt64(truncatingIfNeeded: 64 &- 8 &* width) & 63
        mask = width == 0 ? 0 : .max
        self.base = base
    }

    /// Element `index` without the base.
    @inline(__always)
    func offset(_ index: Int) -> UInt64 {
        ((first + index &* width).loadUnaligned(as: UInt64.self) &>> shift) & mask
    }

    @inline(__always)
    subscript(_ index: Int) -> UInt64 { base &+ offset(index) }

    /// Bytes that hold every number up to `range`.
    @inline(__always)
    static func width(_ range: UInt64) -> Int { (71 &- range.leadingZeroBitCount) >> 3 }

    /// The largest number that `width` bytes hold.
    @inline(__always)
    static func limit(_ width: Int) -> UInt64 {
        width == 0 ? 0 : UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- 8 &* width)
    }

    /// Stores an element of a column that is written from its beginning and ends at `end`: may overwrite
    /// elements behind it, but nothing behind the column.
    @inline(__always)
    static func storeForward(
        _ value: UInt64, _ element: UnsafeMutableRawPointer, width: Int, end: UnsafeMutableRawPointer
    ) {
        if element + 8 <= end {
            element.storeBytes(of: value, as: UInt64.self)
        } else {
            store(value, element, width: width)
        }
    }

    /// Stores an element and nothing else.
    @inline(__always)
    static func store(_ value: UInt64, _ element: UnsafeMutableRawPointer, width: Int) {
        var rest = value
        var byte = 0
        while byte < width {
            element.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: byte, as: UInt8.self)
            rest &>>= 8
            byte &+= 1
        }
    }
}
