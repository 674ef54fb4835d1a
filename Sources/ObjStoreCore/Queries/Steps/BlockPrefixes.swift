internal import CSystem

/// Where a text lies, in one word: 48 bits of its address, and its length, of 65,535 bytes or more 65,535. Valid as
/// long as the version, or until the next change.
struct TextPlace {
    private let word: UInt64

    static let null = TextPlace(word: 0)
    private init(word: UInt64) { self.word = word }

    @inline(__always)
    init(_ pointer: UnsafeRawPointer, _ count: Int) {
        word = UInt64(UInt(bitPattern: pointer)) &<< 16 | UInt64(truncatingIfNeeded: min(count, 65_535))
    }

    @inline(__always) var isNull: Bool { word == 0 }
    /// How long it is has to be asked elsewhere.
    @inline(__always) var isLong: Bool { word & 65_535 == 65_535 }
    @inline(__always) var count: Int { Int(word & 65_535) }
    @inline(__always) var pointer: UnsafeRawPointer? { UnsafeRawPointer(bitPattern: UInt(word &>> 16)) }
}

/// Eight bytes of a property of each object of a block, whose order is that of the values, where they differ: as
/// `SortColumn` has them. Leaf by leaf, segment by segment.
final class BlockPrefixes {
    private let position: Int
    private let kind: ValueKind
    private let flip: UInt64
    private let number: NumberColumn?
    private let memory: UnsafeMutablePointer<UInt64>
    /// A bit for each object of a block.
    private let mask: UnsafeMutablePointer<UInt64>
    /// Of the block that was read: of texts, where they lie; nil: nobody wants to know.
    let places: UnsafeMutablePointer<TextPlace>?
    /// So far some value was null; and some other value had the prefix of null.
    private(set) var hasNull = false
    private(set) var hasLeast = false

    /// A kind of which there are such prefixes.
    static func has(_ kind: ValueKind) -> Bool { kind.isText || NumberColumn.has(kind) }

    init(
        _ reader: ClusterReader, _ position: Int, _ kind: ValueKind, isDescending: Bool, wantsPlaces: Bool = false
    ) throws(StoreError) {
        self.position = position
        self.kind = kind
        flip = isDescending ? ~0 : 0
        number = kind.isText ? nil : try NumberColumn(reader, position)
        memory = try Memory.allocate(UInt64.self, RowBlocks.most + RowBlocks.most / 64)
        mask = memory + RowBlocks.most
        guard wantsPlaces else {
            places = nil
            return
        }
        do throws(StoreError) { places = try Memory.allocate(TextPlace.self, RowBlocks.most) } catch {
            memory.deallocate()
            throw error
        }
    }

    deinit {
        memory.deallocate()
        places?.deallocate()
    }

    func read(_ block: RowBlocks) throws(StoreError) -> UnsafePointer<UInt64> {
        if let number { try readNumbers(number, block) } else { try readTexts(block) }
        return UnsafePointer(memory)
    }

    /// Calls `body` with the objects of a block whose prefixes are at most `limit`, and these. Of texts the others are
    /// hardly looked at.
    @inline(__always)
    func forEach(
        _ block: RowBlocks, atMost limit: UInt64, _ body: (Int, UInt64) throws(StoreError) -> Void
    ) throws(StoreError) {
        if kind.isText, try findTexts(block, atMost: limit) {
            for word in 0..<(block.count &+ 63) &>> 6 {
                var bits = mask[word]
                while bits != 0 {
                    let index = word &<< 6 &+ bits.trailingZeroBitCount
                    if memory[index] <= limit { try body(index, memory[index]) }
                    bits &= bits &- 1
                }
            }
            return
        }
        let prefixes = try read(block)
        for index in 0..<block.count where prefixes[index] <= limit { try body(index, prefixes[index]) }
    }

    // MARK: Numbers

    private func readNumbers(_ column: NumberColumn, _ block: RowBlocks) throws(StoreError) {
        try column.read(block)
        let values = column.values, count = block.count
        switch kind {
        case .double:
            for index in 0..<count {
                memory[index] = SortColumn.prefix(Double(bitPattern: UInt64(bitPattern: values[index]))) ^ flip
            }
        case .float:
            for index in 0..<count {
                let value = Float(bitPattern: UInt32(truncatingIfNeeded: values[index]))
                memory[index] = SortColumn.prefix(Double(value)) ^ flip
            }
        default:
            let sign = flip ^ 1 << 63
            var least = 0
            for index in 0..<count {
                memory[index] = UInt64(bitPattern: values[index]) ^ sign
                least &+= values[index] == .min ? 1 : 0
            }
            if least > 0 {
                for index in 0..<count where values[index] == .min && !column.isNull(index) { hasLeast = true }
            }
        }
        if column.hasNulls {
            hasNull = true
            for index in 0..<count where column.isNull(index) { memory[index] = flip }
        }
    }

    // MARK: Texts

    private func readTexts(_ block: RowBlocks) throws(StoreError) {
        let reader = block.reader, spec = reader.columns[position]
        guard let head = block.head, let entry = LeafHead.entry(head, id: spec.id, hint: position) else {
            for index in 0..<block.count {
                let value = try reader.value(try block.row(index), position)
                set(index, value.pointer, value.count, isNull: value.isNull)
            }
            return
        }
        guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
        let leaf = LeafReader(source: reader.source), slots = block.slots, count = block.count
        let prints = places == nil ? nil : try leaf.fingerprints(head, entry).assumingMemoryBound(to: UInt8.self)
        let shift = entry.isSegmented ? entry.segmentShift : LeafHead.log2Rows
        var first = 0
        while first < count {
            let segment = Int(slots[first]) &>> shift
            var end = block.isWhole ? min(count, first &+ 1 &<< shift) : first &+ 1
            while end < count, Int(slots[end]) &>> shift == segment { end &+= 1 }
            let row = Int(slots[end &- 1]) & (1 &<< shift &- 1)
            let part = try leaf.textSegment(head, entry, segment: entry.segmentIndex(Int(slots[first])), rows: row &+ 1)
            if block.isWhole, end < count { leaf.prefetchTexts(head, entry, end) }
            if StringSegment.isPlain(part) {
                readPlain(part, slots, first..<end, 1 &<< shift &- 1, isWhole: block.isWhole)
            } else {
                for index in first..<end {
                    let (pointer, length) = try leaf.text(head, entry, Int(slots[index]))
                    set(index, pointer, length, isNull: false)
                }
            }
            if let prints, let places, spec.nullable {
                for index in first..<end where prints[Int(slots[index])] == 0 && places[index].count == 0 {
                    places[index] = .null
                }
            }
            first = end
        }
    }

    /// Of a leaf whose segments are nothing but texts, all of which are asked for: finds those whose prefixes are at
    /// most `limit`, perhaps others, and reads their prefixes alone. False: it is another block.
    private func findTexts(_ block: RowBlocks, atMost limit: UInt64) throws(StoreError) -> Bool {
        let reader = block.reader, spec = reader.columns[position]
        guard block.isWhole, let head = block.head, let entry = LeafHead.entry(head, id: spec.id, hint: position)
        else { return false }
        guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
        guard entry.segmentRows >= 64 else { return false }
        let leaf = LeafReader(source: reader.source), count = block.count
        var first = 0
        while first < count {
            let rows = min(entry.segmentRows, count &- first)
            let part = try leaf.textSegment(head, entry, segment: entry.segmentIndex(first), rows: rows)
            if first &+ rows < count { leaf.prefetchTexts(head, entry, first &+ rows) }
            guard StringSegment.isPlain(part) else { return false }
            let blob = part + StringSegment.blobOffset(part), last = StringSegment.offset(part, rows) &- 8
            let offsets = (part + StringSegment.header).assumingMemoryBound(to: UInt16.self)
            let found = mask + first &>> 6
            cs_heads_at_most(blob, offsets, rows, flip, limit, found)
            for word in 0..<(rows &+ 63) &>> 6 {
                var bits = found[word]
                while bits != 0 {
                    let row = word &<< 6 &+ bits.trailingZeroBitCount, start = Int(offsets[row])
                    memory[first &+ row] = self.word(blob, start, Int(offsets[row &+ 1]) &- start, last)
                    bits &= bits &- 1
                }
            }
            first &+= rows
        }
        return true
    }

    /// Of a segment that has nothing but offsets and bytes.
    private func readPlain(
        _ part: UnsafeRawPointer, _ slots: UnsafePointer<Int32>, _ range: Range<Int>, _ mask: Int, isWhole: Bool
    ) {
        let blob = part + StringSegment.blobOffset(part)
        let offsets = (part + StringSegment.header).assumingMemoryBound(to: UInt16.self)
        // Where eight bytes can be taken at once.
        let last = StringSegment.offset(part, StringSegment.rows(part)) &- 8
        if isWhole {
            var start = 0
            for row in 0..<range.count {
                let end = Int(offsets[row &+ 1])
                memory[range.lowerBound &+ row] = word(blob, start, end &- start, last)
                start = end
            }
        } else {
            for index in range {
                let row = Int(slots[index]) & mask, start = Int(offsets[row])
                memory[index] = word(blob, start, Int(offsets[row &+ 1]) &- start, last)
            }
        }
        guard let places else { return }
        for index in range {
            let row = Int(slots[index]) & mask, start = Int(offsets[row])
            places[index] = TextPlace(blob + start, Int(offsets[row &+ 1]) &- start)
        }
    }

    @inline(__always)
    private func word(_ blob: UnsafeRawPointer, _ start: Int, _ length: Int, _ last: Int) -> UInt64 {
        if _slowPath(start > last) { return SortColumn.bytes(.string(blob + start, length), from: 0) ^ flip }
        let word = UInt64(bigEndian: (blob + start).loadUnaligned(as: UInt64.self))
        // Of none of the bytes nothing.
        let kept: UInt64 = length >= 8 ? ~0 : ~(~0 &>> UInt64(truncatingIfNeeded: 8 &* length))
        return word & kept ^ flip
    }

    @inline(__always)
    private func set(_ index: Int, _ pointer: UnsafeRawPointer?, _ count: Int, isNull: Bool) {
        // Null has no bytes, either: what is equal is sorted by the values.
        memory[index] = isNull ? flip : SortColumn.bytes(.string(pointer, count), from: 0) ^ flip
        guard let places else { return }
        if isNull {
            places[index] = .null
        } else {
            // An empty text may lie nowhere.
            places[index] = TextPlace(pointer ?? UnsafeRawPointer(memory), count)
        }
    }
}
