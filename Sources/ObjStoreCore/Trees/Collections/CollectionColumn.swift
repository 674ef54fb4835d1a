/// An element, or the key of one, as a leaf of a collection tree holds it.
///
/// A text of more than `longestInline` bytes lies in an extent of its own: `value.pointer` is then its cell
/// (`LongValue`).
struct StoredValue {
    var value: Value
    var isLong: Bool

    static let longestInline = 512

    @inline(__always) init(_ value: Value, isLong: Bool = false) { self.value = value; self.isLong = isLong }

    /// The bytes that it takes in the blob of a column.
    @inline(__always) var blobBytes: Int { isLong ? StringSegment.cellBytes : value.kind.hasOffsets ? value.count : 0 }
    var kindByte: UInt8 { value.kind.rawValue | (isLong ? CollectionColumn.longBit : 0) }

    /// Texts, and the cells of mixed values, need both words for their place in the blob.
    @inline(__always) var isText: Bool { value.kind.hasOffsets }
}

/// The elements (or the keys) of a leaf as columns: the two words of each value above a common base, and the bytes of
/// texts.
///
/// ```
/// description, 24 bytes:
///  0 u8 kind | 1 u8 kind width (0 or 1) | 2 u8 low width | 3 u8 high width | 4 u32 bytes of the blob |
///  8 u64 low base | 16 u64 high base
/// data:
///  kinds n × kind width | lows n × low width | highs n × high width | blob
/// ```
/// Without kinds every value is of `kind`. Bit 7 of a kind: the text is long, the blob has its cell. Of texts the low
/// word is where they begin in the blob, the high word how long they are there. Null has zeros above the bases.
struct CollectionColumn {
    static let description = 24
    static let longBit: UInt8 = 0x80

    let kind: UInt8
    let kinds: UnsafeRawPointer?
    let lows: IndexColumn
    let highs: IndexColumn
    let blob: UnsafeRawPointer
    let blobBytes: Int
    /// Behind the column.
    let end: UnsafeRawPointer

    /// - Parameter data: where the column begins; eight bytes before it must be readable.
    @inline(__always)
    init(_ line: UnsafeRawPointer, data: UnsafeRawPointer, count: Int) {
        kind = line.load(as: UInt8.self)
        let kindWidth = Int(line.load(fromByteOffset: 1, as: UInt8.self))
        let lowWidth = Int(line.load(fromByteOffset: 2, as: UInt8.self)),
            highWidth = Int(line.load(fromByteOffset: 3, as: UInt8.self))
        kinds = kindWidth == 0 ? nil : data
        let low = data + count &* kindWidth
        lows = IndexColumn(low, width: lowWidth, base: line.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        let high = low + count &* lowWidth
        highs = IndexColumn(high, width: highWidth, base: line.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
        blob = high + count &* highWidth
        blobBytes = Int(line.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        end = blob + blobBytes
    }

    @inline(__always)
    func kindByte(_ index: Int) -> UInt8 { kinds.map { $0.load(fromByteOffset: index, as: UInt8.self) } ?? kind }

    /// Element `index`; texts point into the leaf.
    @inline(__always)
    func stored(_ index: Int) -> StoredValue {
        let byte = kindByte(index)
        let kind = ValueKind(rawValue: byte & ~CollectionColumn.longBit) ?? .null
        if kind == .null { return StoredValue(.null) }
        let low = Int64(bitPattern: lows[index]), high = Int64(bitPattern: highs[index])
        if !kind.hasOffsets { return StoredValue(Value(kind: kind, low: low, high: high)) }
        return StoredValue(
            Value(kind: kind, pointer: blob + Int(low), count: Int(high)), isLong: byte & CollectionColumn.longBit != 0)
    }

    /// Whether some text may be in an extent of its own.
    @inline(__always)
    var mayHaveLong: Bool { kinds != nil || kind & CollectionColumn.longBit != 0 }

    // MARK: First touch

    /// Whether the widths are ones that there are.
    static func hasSaneWidths(_ line: UnsafeRawPointer) -> Bool {
        line.load(fromByteOffset: 1, as: UInt8.self) <= 1 && line.load(fromByteOffset: 2, as: UInt8.self) <= 8
            && line.load(fromByteOffset: 3, as: UInt8.self) <= 8
    }

    /// Bytes of the data of a column; widths were found sane.
    static func dataBytes(_ line: UnsafeRawPointer, count: Int) -> Int {
        let widths =
            Int(line.load(fromByteOffset: 1, as: UInt8.self)) + Int(line.load(fromByteOffset: 2, as: UInt8.self))
            + Int(line.load(fromByteOffset: 3, as: UInt8.self))
        return count * widths + Int(line.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
    }

    /// Whether every text lies in the blob and every kind exists; the column lies inside the node.
    func isWellFormed(count: Int) -> Bool {
        // Columns of numbers, as most are, need no look at each.
        if kinds == nil {
            guard CollectionColumn.isKind(kind) else { return false }
            if ValueKind(rawValue: kind & ~CollectionColumn.longBit)?.hasOffsets != true { return true }
        }
        for index in 0..<count {
            let byte = kindByte(index)
            guard CollectionColumn.isKind(byte) else { return false }
            guard ValueKind(rawValue: byte & ~CollectionColumn.longBit)!.hasOffsets else { continue }
            let start = lows[index], length = highs[index]
            guard start <= UInt64(blobBytes), length <= UInt64(blobBytes) - start else { return false }
            if byte & CollectionColumn.longBit != 0 {
                guard length == UInt64(StringSegment.cellBytes) else { return false }
                let raw = LongValue(blob + Int(start)).ref
                guard raw != 0, raw & Ref.dirtyBit == 0 else { return false }
            }
        }
        return true
    }

    private static func isKind(_ byte: UInt8) -> Bool {
        guard let kind = ValueKind(rawValue: byte & ~longBit),
            kind == .null || kind == .link || kind == .mixed || kind.isScalar
        else { return false }
        return byte & longBit == 0 || kind.hasOffsets
    }
}

/// How values become a column: the widths and bases that hold them all, found before anything is written.
struct CollectionColumnPlan {
    private var kind: UInt8 = 0
    private var kindWidth = 0
    private var isEmpty = true
    private var hasNumbers = false
    private var lowest = Int64.max, highest = Int64.min
    private var lowestHigh = Int64.max, highestHigh = Int64.min
    private(set) var blobBytes = 0
    private var longestText = 0
    private var hasText = false

    mutating func add(_ stored: StoredValue) {
        let byte = stored.kindByte
        if isEmpty {
            kind = byte
            isEmpty = false
        } else if byte != kind {
            kindWidth = 1
        }
        if stored.value.kind == .null { return }
        if stored.isText {
            hasText = true
            blobBytes &+= stored.blobBytes
            longestText = max(longestText, stored.blobBytes)
        } else {
            hasNumbers = true
            lowest = min(lowest, stored.value.low)
            highest = max(highest, stored.value.low)
            lowestHigh = min(lowestHigh, stored.value.high)
            highestHigh = max(highestHigh, stored.value.high)
        }
    }

    /// Base and width of both words, once everything was added.
    private func frame() -> (low: (base: Int64, width: Int), high: (base: Int64, width: Int)) {
        if !hasNumbers && !hasText { return ((0, 0), (0, 0)) }
        var low = (least: lowest, most: highest), high = (least: lowestHigh, most: highestHigh)
        if hasText {
            low = (min(low.least, 0), max(low.most, Int64(blobBytes)))
            high = (min(high.least, 0), max(high.most, Int64(longestText)))
        }
        func width(_ range: (least: Int64, most: Int64)) -> Int {
            IndexColumn.width(UInt64(bitPattern: range.most &- range.least))
        }
        return ((low.least, width(low)), (high.least, width(high)))
    }

    /// Bytes of the data for `count` values.
    func bytes(_ count: Int) -> Int {
        let frame = frame()
        return count * (kindWidth + frame.low.width + frame.high.width) + blobBytes
    }

    /// Writes the description and, from `data` on, the column; returns what lies behind it.
    func write<Values: Sequence>(
        _ values: Values, count: Int, _ line: UnsafeMutableRawPointer, _ data: UnsafeMutableRawPointer
    ) -> UnsafeMutableRawPointer
    where Values.Element == StoredValue {
        let frame = frame()
        line.storeBytes(of: kind, as: UInt8.self)
        line.storeBytes(of: UInt8(kindWidth), toByteOffset: 1, as: UInt8.self)
        line.storeBytes(of: UInt8(frame.low.width), toByteOffset: 2, as: UInt8.self)
        line.storeBytes(of: UInt8(frame.high.width), toByteOffset: 3, as: UInt8.self)
        line.storeBytes(of: UInt32(blobBytes), toByteOffset: 4, as: UInt32.self)
        line.storeBytes(of: frame.low.base, toByteOffset: 8, as: Int64.self)
        line.storeBytes(of: frame.high.base, toByteOffset: 16, as: Int64.self)
        let lows = data + count * kindWidth, highs = lows + count * frame.low.width,
            blob = highs + count * frame.high.width
        var index = 0, used = 0
        for stored in values {
            if kindWidth == 1 { data.storeBytes(of: stored.kindByte, toByteOffset: index, as: UInt8.self) }
            var low: UInt64 = 0, high: UInt64 = 0
            if stored.isText {
                let length = stored.blobBytes
                low = UInt64(bitPattern: Int64(used) &- frame.low.base)
                high = UInt64(bitPattern: Int64(length) &- frame.high.base)
                if length > 0 { (blob + used).copyMemory(from: stored.value.pointer!, byteCount: length) }
                used &+= length
            } else if stored.value.kind != .null {
                low = UInt64(bitPattern: stored.value.low &- frame.low.base)
                high = UInt64(bitPattern: stored.value.high &- frame.high.base)
            }
            IndexColumn.store(low, lows + index &* frame.low.width, width: frame.low.width)
            IndexColumn.store(high, highs + index &* frame.high.width, width: frame.high.width)
            index &+= 1
        }
        return blob + blobBytes
    }
}
