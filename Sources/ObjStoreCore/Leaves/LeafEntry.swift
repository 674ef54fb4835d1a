/// How a column's values are stored within one leaf.
enum LeafEncoding: UInt8 {
    /// value = base + unsigned cell of `width` bits; with 64 bits the cell is the value, with 0 the base is.
    case frame = 1
    /// value = base + slot: no part at all.
    case linear = 2
    /// Bit pattern of the double; with width 0 every value is `base`.
    case double = 3
    /// Fingerprints (aux) and string segments (main).
    case text = 4
}

/// One line of a leaf's directory: a column's encoding, its bounds, and where its parts lie.
///
/// ```
///  0 u32 columnID | 4 u8 encoding | 5 u8 width (bits) | 6 u8 segmentShift | 7 u8 flags
///  8 i64 base     | 16 i64 max
/// 24 u64 main: ref, or offset in the head of the part or of the table of segments
/// 32 u64 aux:  ref, or offset in the head
/// 40 u32 main bytes | 44 u32 hash | 48 u32 born - bornEpoch
/// 52 u32 aux bytes  | 56 u32 hash | 60 u32 born - bornEpoch
///
/// table of segments, 24 bytes each, for all rows a leaf can have:
///  0 u64 ref | 8 u32 bytes | 12 u32 hash | 16 u32 born - bornEpoch | 20 u32 zero
/// ```
/// A segmented column has 1 << segmentShift rows in a segment; segments are never inline.
/// `aux` is the null bitmap (bit set = null; absent where no row is null) or, for text, one fingerprint a
/// row (0 = null). `base` and `max` bound the values of all existing rows that are not null; for doubles
/// they are bit patterns and leave NaN out. Text does not use them.
package struct LeafEntry {
    let line: UnsafeRawPointer

    @inline(__always) package init(_ line: UnsafeRawPointer) { self.line = line }

    package enum Flags {
        static let mainInline: UInt8 = 1
        static let auxInline: UInt8 = 2
        static let segmented: UInt8 = 4
        static let aux: UInt8 = 8
        /// Some row may have its value in an extent of its own.
        package static let longValues: UInt8 = 16
        static let all: UInt8 = 31
    }

    @inline(__always) package var columnID: UInt32 { line.load(as: UInt32.self) }
    @inline(__always) var encoding: UInt8 { line.load(fromByteOffset: 4, as: UInt8.self) }
    @inline(__always) var width: Int { Int(line.load(fromByteOffset: 5, as: UInt8.self)) }
    @inline(__always) var segmentShift: Int { Int(line.load(fromByteOffset: 6, as: UInt8.self)) }
    @inline(__always) package var flags: UInt8 { line.load(fromByteOffset: 7, as: UInt8.self) }
    @inline(__always) var base: Int64 { line.load(fromByteOffset: 8, as: Int64.self) }
    @inline(__always) var max: Int64 { line.load(fromByteOffset: 16, as: Int64.self) }
    @inline(__always) package var main: UInt64 { line.load(fromByteOffset: 24, as: UInt64.self) }
    @inline(__always) var aux: UInt64 { line.load(fromByteOffset: 32, as: UInt64.self) }
    @inline(__always) var mainBytes: Int { Int(line.load(fromByteOffset: 40, as: UInt32.self)) }
    @inline(__always) var mainHash: UInt32 { line.load(fromByteOffset: 44, as: UInt32.self) }
    @inline(__always) var mainBorn: UInt32 { line.load(fromByteOffset: 48, as: UInt32.self) }
    @inline(__always) var auxBytes: Int { Int(line.load(fromByteOffset: 52, as: UInt32.self)) }
    @inline(__always) var auxHash: UInt32 { line.load(fromByteOffset: 56, as: UInt32.self) }
    @inline(__always) var auxBorn: UInt32 { line.load(fromByteOffset: 60, as: UInt32.self) }

    @inline(__always) var hasAux: Bool { flags & Flags.aux != 0 }
    @inline(__always) package var isSegmented: Bool { flags & Flags.segmented != 0 }
    @inline(__always) package var isMainInline: Bool { flags & Flags.mainInline != 0 }
    @inline(__always) var isAuxInline: Bool { flags & Flags.auxInline != 0 }
    @inline(__always) package var isText: Bool { encoding == LeafEncoding.text.rawValue }
    /// Whether there is a main part at all.
    @inline(__always) package var hasMain: Bool { encoding != LeafEncoding.linear.rawValue && (width != 0 || isText) }

    /// Rows in a segment, where segmented; else all rows of a leaf.
    @inline(__always) package var segmentRows: Int { isSegmented ? 1 &<< segmentShift : LeafHead.rowsPerLeaf }

    @inline(__always) package func segmentIndex(_ slot: Int) -> Int { isSegmented ? slot &>> segmentShift : 0 }

    @inline(__always) func segmentCount(rows: Int) -> Int {
        isSegmented ? (rows &+ (1 &<< segmentShift) &- 1) &>> segmentShift : 1
    }

    // MARK: First touch

    /// Whether every access that the line allows stays inside the head or inside a part of the stated length.
    func isWellFormed(
        _ head: UnsafeRawPointer, directoryEnd: Int, headBytes: Int, rows: Int, isSecondLine: Bool
    ) -> Bool {
        guard let encoding = LeafEncoding(rawValue: encoding), flags & ~Flags.all == 0 else { return false }
        guard NumberCodec.isWidth(width) else { return false }
        if isSecondLine, encoding != .frame && encoding != .linear || hasAux { return false }
        switch encoding {
        case .frame: break
        case .linear: if width != 0 { return false }
        case .double: if width != 0 && width != 64 { return false }
        case .text: if width != 0 || !hasAux { return false }
        }
        if !hasMain {
            guard !isSegmented, !isMainInline else { return false }
        } else if isSegmented {
            let shift = segmentShift
            guard !isMainInline else { return false }
            if encoding == .text {
                guard (StringSegment.minimumShift...StringSegment.maximumShift).contains(shift) else { return false }
            } else {
                guard shift == NumberCodec.segmentShift(width), shift < LeafHead.log2Rows else { return false }
            }
            let count = segmentCount(rows: rows)
            let table = main
            guard table & 7 == 0, table >= UInt64(directoryEnd), table <= UInt64(headBytes),
                count * LeafSegment.size <= headBytes - Int(table)
            else { return false }
            for index in 0..<count {
                let segment = LeafSegment(head + Int(table) + index * LeafSegment.size)
                let segmentRows = min(rows - index << shift, 1 << shift)
                guard LeafEntry.isFileRef(segment.ref), isMainLength(segment.bytes, encoding, segmentRows) else {
                    return false
                }
            }
        } else {
            guard
                encoding == .text
                    ? rows <= 1 << StringSegment.maximumShift : rows <= 1 << NumberCodec.segmentShift(width)
            else { return false }
            guard isMainLength(mainBytes, encoding, rows) else { return false }
            if isMainInline {
                guard LeafEntry.isInline(main, mainBytes, directoryEnd, headBytes) else { return false }
                if encoding == .text {
                    let segment = head + Int(main)
                    guard !StringSegment.isDictionary(segment), StringSegment.isWellFormed(segment, bytes: mainBytes),
                        StringSegment.rows(segment) == rows
                    else { return false }
                }
            } else if !LeafEntry.isFileRef(main) {
                return false
            }
        }
        if hasAux {
            guard auxBytes == (encoding == .text ? rows : LeafHead.bitmapBytes(rows: rows)) else { return false }
            if isAuxInline {
                guard LeafEntry.isInline(aux, auxBytes, directoryEnd, headBytes) else { return false }
            } else {
                // A bitmap has at most 512 bytes, so it is always inline.
                guard encoding == .text, LeafEntry.isFileRef(aux) else { return false }
            }
        } else if isAuxInline {
            return false
        }
        return true
    }

    private func isMainLength(_ bytes: Int, _ encoding: LeafEncoding, _ rows: Int) -> Bool {
        encoding == .text ? bytes >= StringSegment.header : bytes == NumberCodec.bytes(rows: rows, width: width)
    }
    private static func isFileRef(_ raw: UInt64) -> Bool { raw != 0 && raw & Ref.dirtyBit == 0 }
    private static func isInline(_ offset: UInt64, _ bytes: Int, _ directoryEnd: Int, _ headBytes: Int) -> Bool {
        offset & 63 == 0 && offset >= UInt64(directoryEnd) && offset <= UInt64(headBytes)
            && LeafHead.inlineRoom(bytes) <= headBytes - Int(offset)
    }
}

/// One segment of a column, in the table of segments.
package struct LeafSegment {
    static let size = 24
    let line: UnsafeRawPointer
    @inline(__always) package init(_ line: UnsafeRawPointer) { self.line = line }
    @inline(__always) package var ref: UInt64 { line.load(as: UInt64.self) }
    @inline(__always) var bytes: Int { Int(line.load(fromByteOffset: 8, as: UInt32.self)) }
    @inline(__always) var hash: UInt32 { line.load(fromByteOffset: 12, as: UInt32.self) }
    @inline(__always) var born: UInt32 { line.load(fromByteOffset: 16, as: UInt32.self) }
}

/// Where the ref, length, hash and birth of one part are in a dirty head: in a line of the directory or in
/// a table of segments.
struct PartSlot {
    let refAddress: UnsafeMutableRawPointer
    private let info: UnsafeMutableRawPointer

    init(main line: UnsafeMutableRawPointer) { refAddress = line + 24; info = line + 40 }
    init(aux line: UnsafeMutableRawPointer) { refAddress = line + 32; info = line + 52 }
    init(segment line: UnsafeMutableRawPointer) { refAddress = line; info = line + 8 }

    var ref: UInt64 { refAddress.load(as: UInt64.self) }
    var bytes: Int { Int(info.load(as: UInt32.self)) }
    var hash: UInt32 { info.load(fromByteOffset: 4, as: UInt32.self) }
    var born: UInt32 { info.load(fromByteOffset: 8, as: UInt32.self) }

    func setRef(_ raw: UInt64) { refAddress.storeBytes(of: raw, as: UInt64.self) }
    func setBytes(_ bytes: Int) { info.storeBytes(of: UInt32(bytes), as: UInt32.self) }
    func set(ref: Ref, hash: UInt32, born: UInt32) {
        setRef(ref.raw)
        info.storeBytes(of: hash, toByteOffset: 4, as: UInt32.self)
        info.storeBytes(of: born, toByteOffset: 8, as: UInt32.self)
    }
}
