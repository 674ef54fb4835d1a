internal import CSystem

/// Where a row lies: the head of its leaf, and its slot there. Valid while its version is pinned and, inside
/// a write transaction, until the next write.
package struct RowPosition: @unchecked Sendable {
    package let head: UnsafeRawPointer
    package let slot: Int
    package let key: Int64

    @inline(__always) init(head: UnsafeRawPointer, slot: Int, key: Int64) {
        self.head = head
        self.slot = slot
        self.key = key
    }
}

/// Reads single values of leaves: from the map or the arena, without copying.
package struct LeafReader {
    let source: PageSource

    @inline(__always) package init(source: PageSource) { self.source = source }

    // MARK: Numbers

    /// The value of a number column as stored: int, bool, bit pattern of a float or double, one word of a pair.
    @inline(__always)
    func number(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ slot: Int) throws(StoreError) -> Int64 {
        let width = entry.width
        let base = entry.base
        if width == 0 { return entry.encoding == LeafEncoding.linear.rawValue ? base &+ Int64(slot) : base }
        let flags = entry.flags
        if flags & (LeafEntry.Flags.mainInline | LeafEntry.Flags.segmented) == 0 {
            let part = try self.part(entry.main, .numbers, head, entry.mainBytes, entry.mainHash, entry.mainBorn)
            return NumberCodec.cell(part, slot, width: width, base: base)
        }
        if flags & LeafEntry.Flags.mainInline != 0 {
            return NumberCodec.cell(head + Int(entry.main), slot, width: width, base: base)
        }
        let shift = entry.segmentShift
        let segment = LeafSegment(head + Int(entry.main) + (slot &>> shift) &* LeafSegment.size)
        let part = try self.part(segment.ref, .numbers, head, segment.bytes, segment.hash, segment.born)
        return NumberCodec.cell(part, slot & (1 &<< shift &- 1), width: width, base: base)
    }

    /// Whether a null bitmap says that the row is null (numbers only; null bitmaps are always inline).
    @inline(__always)
    func isNullNumber(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ slot: Int) -> Bool {
        guard entry.hasAux else { return false }
        return (head + Int(entry.aux) + slot &>> 3).load(as: UInt8.self) &>> UInt8(slot & 7) & 1 != 0
    }

    /// A part that lies in an extent of its own.
    @inline(__always)
    func part(
        _ raw: UInt64, _ kind: PartKind, _ head: UnsafeRawPointer, _ bytes: Int, _ hash: UInt32, _ born: UInt32
    ) throws(StoreError)
        -> UnsafeRawPointer
    {
        // A part that was found right under a shorter length (a hostile file) must not be read past the file.
        if _slowPath(raw < Ref.dirtyBit && Int(raw & ~Ref.tagMask) &+ bytes > source.limit) {
            throw LeafReader.damagedPart()
        }
        return try source.part(
            Ref(raw: raw), kind, bytes: bytes, hash32: hash, born: LeafHead.bornEpoch(head) &+ UInt64(born))
    }

    /// The extent of segment `index` (or of the only part) and the rows it must have; not for inline parts.
    @inline(__always)
    func mainPart(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, segment index: Int, _ kind: PartKind
    ) throws(StoreError) -> UnsafeRawPointer {
        if entry.isSegmented {
            let segment = LeafSegment(head + Int(entry.main) + index &* LeafSegment.size)
            return try part(segment.ref, kind, head, segment.bytes, segment.hash, segment.born)
        }
        if entry.isMainInline { return head + Int(entry.main) }
        return try part(entry.main, kind, head, entry.mainBytes, entry.mainHash, entry.mainBorn)
    }

    /// Calls `body` with each part of packed numbers, its first row (a multiple of 64) and its number of rows.
    @inline(__always)
    func forEachPart(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ body: (UnsafeRawPointer, Int, Int) -> Void
    ) throws(StoreError) {
        let segmentRows = entry.segmentRows
        var row = 0
        while row < rows {
            let count = min(segmentRows, rows &- row)
            body(try mainPart(head, entry, segment: entry.segmentIndex(row), .numbers), row, count)
            row &+= count
        }
    }

    /// Segment `index` of a text column, holding at least `rows` rows.
    @inline(__always)
    package func textSegment(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, segment index: Int, rows: Int
    ) throws(StoreError) -> UnsafeRawPointer {
        let part = try mainPart(head, entry, segment: index, .strings)
        if _slowPath(StringSegment.rows(part) < rows) { throw LeafReader.damagedPart() }
        return part
    }

    /// One fingerprint a row for the whole leaf.
    @inline(__always)
    func fingerprints(_ head: UnsafeRawPointer, _ entry: LeafEntry) throws(StoreError) -> UnsafeRawPointer {
        if entry.isAuxInline { return head + Int(entry.aux) }
        return try part(entry.aux, .fingerprints, head, entry.auxBytes, entry.auxHash, entry.auxBorn)
    }

    /// Prefetches what a value will be read from.
    @inline(__always)
    func prefetch(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ slot: Int) {
        guard entry.hasMain, !entry.isMainInline else { return }
        var raw = entry.main, bytes = entry.mainBytes, row = slot, shift = LeafHead.log2Rows
        if entry.isSegmented {
            let segment = LeafSegment(head + Int(raw) + entry.segmentIndex(slot) &* LeafSegment.size)
            shift = entry.segmentShift
            row = slot & (1 &<< shift &- 1)
            (raw, bytes) = (segment.ref, segment.bytes)
        }
        // Those of the transaction were touched a moment ago, most likely.
        guard raw < UInt64(source.limit) else { return }
        let part = source.base + Int(raw & ~Ref.tagMask)
        if entry.isText {
            cs_prefetch(part)
            cs_prefetch(part + StringSegment.header + row &<< 1)
            cs_prefetch(part + textGuess(bytes, row, shift))
        } else {
            cs_prefetch(part + (row &* entry.width) &>> 3)
        }
    }

    /// Prefetches the beginning of a segment of texts that is read as a whole next: its offsets, and so many bytes that
    /// what reads on has time to fetch the others.
    @inline(__always)
    func prefetchTexts(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ slot: Int) {
        guard entry.isSegmented else { return }
        let segment = LeafSegment(head + Int(entry.main) + entry.segmentIndex(slot) &* LeafSegment.size)
        let raw = segment.ref
        guard raw < UInt64(source.limit) else { return }
        let part = source.base + Int(raw & ~Ref.tagMask)
        let end = StringSegment.blobOffset(capacity: 1 &<< entry.segmentShift, long: false) &+ 1536
        var offset = 0
        while offset < min(end, segment.bytes) {
            cs_prefetch(part + offset)
            offset &+= 64
        }
    }

    /// Where in a segment the text of a row will be, give or take a cache line.
    @inline(__always)
    private func textGuess(_ bytes: Int, _ row: Int, _ shift: Int) -> Int {
        let blob = StringSegment.blobOffset(capacity: 1 &<< shift, long: false)
        return bytes > blob ? blob &+ ((bytes &- blob) &* row) &>> shift : 0
    }

    // MARK: Text

    /// The bytes of a row; an empty text may be null (see `isNullText`). The caller checked the encoding.
    @inline(__always)
    func text(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ slot: Int
    ) throws(StoreError) -> (pointer: UnsafeRawPointer, count: Int) {
        var row = slot
        let part: UnsafeRawPointer
        if entry.isSegmented {
            let shift = entry.segmentShift
            row = slot & (1 &<< shift &- 1)
            let segment = LeafSegment(head + Int(entry.main) + (slot &>> shift) &* LeafSegment.size)
            let bytes = segment.bytes
            part = try self.part(segment.ref, .strings, head, bytes, segment.hash, segment.born)
            // Fetched while the offsets are.
            cs_prefetch(part + textGuess(bytes, row, shift))
        } else {
            part = try mainPart(head, entry, segment: 0, .strings)
        }
        guard _fastPath(row < StringSegment.rows(part)) else { throw LeafReader.damagedPart() }
        if _slowPath(!StringSegment.isPlain(part)) {
            if StringSegment.isDictionary(part) { return TextDictionary.text(part, row) }
            if StringSegment.isLong(part, row) {
                return try longValue(part + StringSegment.blobOffset(part) + StringSegment.offset(part, row))
            }
        }
        let start = StringSegment.offset(part, row), end = StringSegment.offset(part, row &+ 1)
        return (part + StringSegment.blobOffset(part) + start, end &- start)
    }

    @inline(never)
    func longValue(_ cell: UnsafeRawPointer) throws(StoreError) -> (pointer: UnsafeRawPointer, count: Int) {
        let value = LongValue(cell)
        let raw = value.ref, bytes = value.bytes
        if raw & Ref.dirtyBit == 0, Ref(raw: raw).offset > source.limit - bytes { throw LeafReader.damagedPart() }
        return (try source.part(Ref(raw: raw), .longValue, bytes: bytes, hash32: value.hash, born: value.born), bytes)
    }

    @inline(__always)
    func isNullText(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ slot: Int) throws(StoreError) -> Bool {
        try fingerprints(head, entry).load(fromByteOffset: slot, as: UInt8.self) == 0
    }

    // MARK: Any value

    /// The value of a column in an existing row; text is borrowed from the page.
    func value(_ head: UnsafeRawPointer, _ spec: ColumnSpec, hint: Int, _ slot: Int) throws(StoreError) -> Value {
        guard let entry = LeafHead.entry(head, id: spec.id, hint: hint) else { return spec.fill }
        switch spec.kind {
        case .string, .binary, .list, .set, .map, .mixed:
            guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
            let (pointer, count) = try text(head, entry, slot)
            if count == 0, spec.nullable, try isNullText(head, entry, slot) { return .null }
            return Value(kind: spec.kind, pointer: pointer, count: count)
        case .timestamp, .decimal128, .objectID, .uuid:
            guard !entry.isText, let second = LeafHead.secondLine(head, id: spec.id) else {
                throw LeafReader.wrongEncoding(spec)
            }
            if isNullNumber(head, entry, slot) { return .null }
            return Value(kind: spec.kind, low: try number(head, entry, slot), high: try number(head, second, slot))
        default:
            guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
            if isNullNumber(head, entry, slot) { return .null }
            return Value(kind: spec.kind, low: try number(head, entry, slot), high: Int64(spec.target))
        }
    }

    @inline(never)
    static func damagedPart() -> StoreError {
        StoreError(.corrupt, "damaged page: a part of a leaf is shorter than its directory says")
    }
    @inline(never)
    static func wrongEncoding(_ spec: ColumnSpec) -> StoreError {
        StoreError(.corrupt, "damaged page: column \(spec.id) is not stored as \(spec.kind)")
    }
}
