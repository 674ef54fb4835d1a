internal import CSystem

/// Changes leaves of a write transaction: single values and rows in place where they fit the packed parts,
/// else by encoding the column again, or laying out the head again.
///
/// A leaf is given by the ref of its dirty head; the ref stays the same, the memory behind it may move with
/// every call. Values must have the column's kind, or be null where that is allowed.
final class LeafEditor {
    let space: WriteSpace
    let specs: UnsafeBufferPointer<ColumnSpec>
    /// For each column its rank by id: where its directory line usually is.
    let hints: UnsafeMutablePointer<Int>
    /// The columns by id.
    private let order: [Int]
    private let images: UnsafeMutablePointer<ColumnImage>
    var scratch: Scratch { space.scratch }
    /// For re-encoding one column; made when first needed.
    private let buffers: UnsafeMutablePointer<ColumnBuffer?>
    private(set) var hasBuffers = false

    init(_ space: WriteSpace, _ specs: UnsafeBufferPointer<ColumnSpec>) {
        self.space = space
        self.specs = specs
        order = specs.indices.sorted { specs[$0].id < specs[$1].id }
        hints = .allocate(capacity: max(1, specs.count))
        for (rank, column) in order.enumerated() { hints[column] = rank }
        images = .allocate(capacity: 2 * specs.count + 2)
        buffers = .allocate(capacity: max(1, specs.count))
        buffers.initialize(repeating: nil, count: specs.count)
    }

    deinit {
        hints.deallocate()
        images.deallocate()
        for column in 0..<specs.count { buffers[column]?.release() }
        buffers.deallocate()
    }

    @inline(__always) func head(_ leaf: Ref) -> UnsafeMutableRawPointer { space.arena.table.pointer(leaf) }
    var reader: LeafReader { LeafReader(source: space.source) }

    // MARK: A whole leaf

    /// Encodes a builder's rows as a new leaf.
    func encode(_ builder: LeafBuilder) throws(StoreError) -> Ref {
        scratch.reset()
        let rows = builder.rows
        let presence = builder.presenceOrNil
        let encoder = ColumnEncoder(
            space: space, scratch: scratch, rows: rows, presence: presence,
            slack: rows < LeafHead.rowsPerLeaf && builder.keys == nil)
        var mainCount = 0, secondCount = 0
        var seconds: [ColumnImage] = []
        for column in order {
            let (main, second) = try encoder.encode(builder.columns[column], id: specs[column].id)
            (images + mainCount).initialize(to: main)
            mainCount += 1
            if let second { seconds.append(second) }
        }
        if let keys = builder.keys {
            (images + mainCount).initialize(to: try encoder.encodeKeys(keys))
            mainCount += 1
        }
        for image in seconds {
            (images + mainCount + secondCount).initialize(to: image)
            secondCount += 1
        }
        let all = UnsafeBufferPointer(start: images, count: mainCount + secondCount)
        let bytes = ColumnImage.headBytes(all, presence: presence != nil)
        let (ref, head) = try space.newNode(.leafHead, bytes: bytes, capacity: bytes)
        ColumnImage.layOut(
            all, mainEntries: mainCount,
            .init(
                keyBase: builder.keyBase, rows: rows, live: builder.live, bornEpoch: 0, presence: presence,
                isSparse: builder.keys != nil),
            bytes: bytes, into: head)
        return ref
    }

    /// Frees what a leaf has of columns that the class no longer has.
    func dropUnknownColumns(_ leaf: Ref) throws(StoreError) {
        let head = head(leaf), extents = LeafExtents(space.source)
        var unknown = false
        try forEachUnknownColumn(head) { (entry) throws(StoreError) in
            unknown = true
            try extents.discardColumn(head, entry, space)
        }
        if unknown { try layOutAgain(leaf, replacing: nil, presence: false) }
    }

    /// Frees a leaf whose rows live on in another: long values stay with the columns that the class still has.
    func discardKnown(_ leaf: Ref) throws(StoreError) {
        let head = try space.source.node(leaf, .leafHead), extents = LeafExtents(space.source)
        var rest = 0
        try forEachUnknownColumn(head) { (entry) throws(StoreError) in
            let line = (entry.line - head - LeafHead.directory) >> 6
            for index in rest..<line { extents.discardParts(head, LeafExtents.entry(head, index), space) }
            try extents.discardColumn(head, entry, space)
            rest = line + 1
        }
        for index in rest..<LeafHead.entries(head) { extents.discardParts(head, LeafExtents.entry(head, index), space) }
        try space.discardNode(leaf, .leafHead)
    }

    /// Whether a leaf has columns that the class no longer has.
    func hasUnknownColumns(_ head: UnsafeRawPointer) -> Bool {
        var found = false
        forEachUnknownColumn(head) { _ in found = true }
        return found
    }

    /// The lines of a leaf and the columns of the class both ascend.
    @inline(__always)
    private func forEachUnknownColumn<Failure: Error>(
        _ head: UnsafeRawPointer, _ body: (LeafEntry) throws(Failure) -> Void
    ) throws(Failure) {
        let main = LeafHead.mainEntries(head)
        var rank = 0
        for index in 0..<LeafHead.entries(head) {
            if index == main { rank = 0 }
            let entry = LeafEntry(head + LeafHead.directory + index << 6), id = entry.columnID
            while rank < order.count, specs[order[rank]].id < id { rank += 1 }
            if rank < order.count && specs[order[rank]].id == id || id == LeafKeys.column { continue }
            try body(entry)
        }
    }

    /// Replaces one column's lines and lays the head out again; optionally adds the bitmap of existing rows.
    private func layOutAgain(
        _ leaf: Ref, replacing column: Int?, _ main: ColumnImage? = nil, _ second: ColumnImage? = nil, presence: Bool
    )
        throws(StoreError)
    {
        let old = head(leaf)
        var count = 0
        for (rank, candidate) in order.enumerated() {
            if candidate == column {
                (images + count).initialize(to: main!)
            } else if let entry = LeafHead.entry(old, id: specs[candidate].id, hint: rank) {
                (images + count).initialize(to: ColumnImage(old, entry))
            } else {
                continue
            }
            count += 1
        }
        if LeafHead.isSparse(old) {
            (images + count).initialize(to: ColumnImage(old, LeafHead.keyEntry(old)))
            count += 1
        }
        let mainCount = count
        for candidate in order where specs[candidate].kind.isPair {
            if candidate == column {
                (images + count).initialize(to: second!)
            } else if let entry = LeafHead.secondLine(old, id: specs[candidate].id) {
                (images + count).initialize(to: ColumnImage(old, entry))
            } else {
                continue
            }
            count += 1
        }
        let rows = LeafHead.rows(old)
        var bits = LeafHead.presence(old)
        if bits == nil, presence {
            let words = try scratch.allocate(LeafHead.presenceBytes).bindMemory(to: UInt64.self, capacity: 64)
            for word in 0..<64 {
                let left = rows - word << 6
                words[word] = left >= 64 ? ~0 : left <= 0 ? 0 : 1 << UInt64(left) - 1
            }
            bits = UnsafePointer(words)
        }
        let all = UnsafeBufferPointer(start: images, count: count)
        let bytes = ColumnImage.headBytes(all, presence: bits != nil)
        let new = try scratch.allocate(bytes)
        ColumnImage.layOut(
            all, mainEntries: mainCount,
            .init(
                keyBase: LeafHead.keyBase(old), rows: rows, live: LeafHead.live(old),
                bornEpoch: LeafHead.bornEpoch(old), presence: bits,
                isSparse: LeafHead.isSparse(old)),
            bytes: bytes, into: new)
        let target = try space.grow(leaf, capacity: bytes)
        target.copyMemory(from: new, byteCount: bytes)
        space.arena.setBytes(leaf, bytes)
    }

    // MARK: Parts

    /// The line's part that has row `slot`, writable, with room for `capacity` bytes.
    @inline(__always)
    func writable(
        _ slot: PartSlot, _ kind: PartKind, _ head: UnsafeRawPointer, capacity: Int
    ) throws(StoreError) -> UnsafeMutableRawPointer {
        let old = Ref(raw: slot.ref)
        let (ref, pointer) = try space.writablePart(
            old, kind, bytes: slot.bytes, hash32: slot.hash, born: LeafHead.bornEpoch(head) &+ UInt64(slot.born),
            capacity: capacity)
        slot.setRef(ref.raw)
        return pointer
    }

    func setBytes(_ slot: PartSlot, _ bytes: Int) {
        slot.setBytes(bytes)
        space.arena.setBytes(Ref(raw: slot.ref), bytes)
    }

    func mainSlot(_ head: UnsafeMutableRawPointer, _ entry: LeafEntry, _ slot: Int) -> PartSlot {
        entry.isSegmented
            ? PartSlot(segment: head + Int(entry.main) + entry.segmentIndex(slot) * LeafSegment.size)
            : PartSlot(main: UnsafeMutableRawPointer(mutating: entry.line))
    }

    // MARK: One value

    /// Gives an existing row another value in one column.
    func set(_ leaf: Ref, _ slot: Int, _ column: Int, _ value: Value) throws(StoreError) {
        scratch.reset()
        let spec = specs[column]
        let head = head(leaf)
        guard let entry = LeafHead.entry(head, id: spec.id, hint: hints[column]) else {
            if value.isSame(as: spec.fill) { return }
            return try reencode(leaf, column, slot, value)
        }
        if spec.kind.isBytes {
            guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
            return try setText(leaf, column, slot, value)
        }
        guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
        if value.isNull {
            if !entry.hasAux { return try addNullBitmap(leaf, column, slot) }
            setNullBit(head, entry, slot, true)
            return
        }
        guard try setNumber(head, entry, slot, value.low) else { return try reencode(leaf, column, slot, value) }
        if spec.kind.isPair {
            guard let second = LeafHead.secondLine(head, id: spec.id) else { throw LeafReader.wrongEncoding(spec) }
            guard try setNumber(head, second, slot, value.high) else { return try reencode(leaf, column, slot, value) }
        }
        if entry.hasAux { setNullBit(head, entry, slot, false) }
    }

    func setNullBit(_ head: UnsafeMutableRawPointer, _ entry: LeafEntry, _ slot: Int, _ null: Bool) {
        let byte = head + Int(entry.aux) + slot >> 3
        let bit: UInt8 = 1 << UInt8(slot & 7)
        let old = byte.load(as: UInt8.self)
        byte.storeBytes(of: null ? old | bit : old & ~bit, as: UInt8.self)
    }

    private func addNullBitmap(_ leaf: Ref, _ column: Int, _ slot: Int) throws(StoreError) {
        let old = head(leaf)
        let entry = LeafHead.entry(old, id: specs[column].id, hint: hints[column])!
        let bytes = LeafHead.bitmapBytes(rows: LeafHead.rows(old))
        let bitmap = try scratch.allocate(bytes)
        memset(bitmap, 0, bytes)
        (bitmap + slot >> 3).storeBytes(of: 1 << UInt8(slot & 7), as: UInt8.self)
        var image = ColumnImage(old, entry)
        image.setInlineAux(bitmap, bytes: bytes)
        let second = LeafHead.secondLine(old, id: specs[column].id).map { ColumnImage(old, $0) }
        try layOutAgain(leaf, replacing: column, image, second, presence: false)
    }

    /// False: the value does not fit the encoding; nothing was changed.
    @inline(__always)
    private func setNumber(
        _ head: UnsafeMutableRawPointer, _ entry: LeafEntry, _ slot: Int, _ value: Int64
    ) throws(StoreError) -> Bool {
        guard LeafEditor.fits(entry, slot, value) else { return false }
        LeafEditor.widenBounds(entry, value)
        let width = entry.width
        if width == 0 { return true }
        if entry.isMainInline {
            NumberCodec.setCell(head + Int(entry.main), slot, width: width, base: entry.base, value)
            return true
        }
        let place = mainSlot(head, entry, slot)
        let part = try writable(place, .numbers, head, capacity: place.bytes)
        NumberCodec.setCell(part, slot & (entry.segmentRows - 1), width: width, base: entry.base, value)
        return true
    }

    /// Whether a number can be stored without another base or width.
    @inline(__always)
    static func fits(_ entry: LeafEntry, _ slot: Int, _ value: Int64) -> Bool {
        let width = entry.width, base = entry.base
        switch width {
        case 64: return true
        case 0: return value == (entry.encoding == LeafEncoding.linear.rawValue ? base &+ Int64(slot) : base)
        default: return value >= base && UInt64(bitPattern: value &- base) >> UInt64(width) == 0
        }
    }

    @inline(__always)
    static func widenBounds(_ entry: LeafEntry, _ value: Int64) {
        let line = UnsafeMutableRawPointer(mutating: entry.line)
        if entry.encoding == LeafEncoding.double.rawValue {
            if entry.width == 0 { return }
            let number = Double(bitPattern: UInt64(bitPattern: value))
            if number < Double(bitPattern: UInt64(bitPattern: entry.base)) {
                line.storeBytes(of: value, toByteOffset: 8, as: Int64.self)
            }
            if number > Double(bitPattern: UInt64(bitPattern: entry.max)) {
                line.storeBytes(of: value, toByteOffset: 16, as: Int64.self)
            }
            return
        }
        if entry.width == 64, value < entry.base { line.storeBytes(of: value, toByteOffset: 8, as: Int64.self) }
        if value > entry.max { line.storeBytes(of: value, toByteOffset: 16, as: Int64.self) }
    }

    /// Unpacks a number column, or one that the leaf does not have yet, changes one row and encodes it again.
    private func reencode(_ leaf: Ref, _ column: Int, _ slot: Int, _ value: Value) throws(StoreError) {
        try reencode(leaf, column) { (buffer, head) throws(StoreError) in
            let spec = specs[column]
            if LeafHead.entry(head, id: spec.id, hint: hints[column]) == nil {
                // The leaf is older than the column: every other row has the fill value.
                for row in 0..<LeafHead.rows(head) {
                    try buffer.append(row == slot ? value : spec.fill, at: row, space)
                }
            } else {
                try ColumnDecoder(space.source, head).decode(spec, hint: hints[column], into: &buffer, space)
                buffer.setNumber(slot, value)
            }
            return true
        }
    }

    /// Changes a number in several rows and encodes their column once. Calls `body` for each row that gets a value; if
    /// one cannot, nothing happens to the leaf.
    func changeNumbers(
        _ leaf: Ref, _ keys: UnsafeBufferPointer<Int64>, _ column: Int, _ change: NumberChange,
        _ body: (_ key: Int64, _ value: Value) -> Void
    ) throws(StoreError) -> NumberFailure {
        scratch.reset()
        var failure = NumberFailure.none
        try reencode(leaf, column) { (buffer, head) throws(StoreError) in
            let spec = specs[column], slots = LeafKeys(space.source, head)
            try ColumnDecoder(space.source, head).decode(spec, hint: hints[column], into: &buffer, space)
            for key in keys {
                guard let slot = try slots.slot(of: key) else {
                    failure = .missing(key)
                    return false
                }
                if case .set(let value) = change {
                    if value.isNull { buffer.setNullNumber(slot) } else { buffer.setNumber(slot, value) }
                    body(key, value)
                    continue
                }
                if buffer.anyNull, buffer.isNull(slot) { continue }
                let old = Value(kind: spec.kind, low: buffer.numbers[slot])
                guard let value = change.apply(to: old) else {
                    failure = .unfit(old)
                    return false
                }
                buffer.numbers[slot] = value.low
                body(key, value)
            }
            return true
        }
        return failure
    }

    /// Encodes a column again from what `fill` puts into an empty buffer; false: it stays as it is.
    private func reencode(
        _ leaf: Ref, _ column: Int, _ fill: (inout ColumnBuffer, _ head: UnsafeRawPointer) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let spec = specs[column]
        var buffer = if let kept = buffers[column] { kept } else { try ColumnBuffer(spec.kind) }
        buffer.clear()
        // The blob may move while the buffer grows.
        hasBuffers = true
        defer { buffers[column] = buffer }
        guard try fill(&buffer, head(leaf)) else { return }
        var old = head(leaf)
        let encoder = ColumnEncoder(
            space: space, scratch: scratch, rows: LeafHead.rows(old), presence: LeafHead.presence(old), slack: true)
        let (main, second) = try encoder.encode(buffer, id: spec.id)
        old = head(leaf)
        if let entry = LeafHead.entry(old, id: spec.id, hint: hints[column]) {
            let extents = LeafExtents(space.source)
            extents.discardParts(old, entry, space)
            if let line = LeafHead.secondLine(old, id: spec.id) { extents.discardParts(old, line, space) }
        }
        try layOutAgain(leaf, replacing: column, main, second, presence: false)
    }

    // MARK: Text

    func setText(_ leaf: Ref, _ column: Int, _ slot: Int, _ value: Value) throws(StoreError) {
        var head = head(leaf)
        let id = specs[column].id
        var entry = LeafHead.entry(head, id: id, hint: hints[column])!
        let row = entry.isSegmented ? slot & (1 << entry.segmentShift - 1) : slot
        let old = try reader.textSegment(head, entry, segment: entry.segmentIndex(slot), rows: row + 1)
        if _slowPath(StringSegment.isDictionary(old)) { return try setDictionaryText(leaf, column, slot, value) }
        let oldStart = StringSegment.offset(old, row), oldEnd = StringSegment.offset(old, row + 1)
        let others = StringSegment.offset(old, StringSegment.rows(old)) - (oldEnd - oldStart)
        let wasLong = StringSegment.isLong(old, row)
        let freed = wasLong ? LongValue(old + StringSegment.blobOffset(old) + oldStart) : nil

        // The bytes may lie in the very memory that is about to move.
        let staged = try stage(value, others, copy: true)
        let needed = StringSegment.bytesNeeded(old, replacing: row, count: staged.count, long: staged.long)
        if let freed { space.discardPart(Ref(raw: freed.ref), bytes: freed.bytes, born: freed.born) }

        let part: UnsafeMutableRawPointer
        if entry.isMainInline {
            if needed > LeafHead.inlineRoom(entry.mainBytes) || needed >= LeafHead.inlineLimit {
                try enlargeInlineText(leaf, column, needed)
                head = self.head(leaf)
                entry = LeafHead.entry(head, id: id, hint: hints[column])!
            }
        }
        if entry.isMainInline {
            part = head + Int(entry.main)
            StringSegment.replace(part, row: row, with: staged.pointer, count: staged.count, long: staged.long)
            PartSlot(main: UnsafeMutableRawPointer(mutating: entry.line)).setBytes(needed)
        } else {
            let place = mainSlot(head, entry, slot)
            part = try writable(place, .strings, head, capacity: needed)
            StringSegment.replace(part, row: row, with: staged.pointer, count: staged.count, long: staged.long)
            setBytes(place, needed)
        }
        if staged.long { LeafEditor.setFlag(entry, LeafEntry.Flags.longValues) }

        try setFingerprint(head, entry, slot, staged.fingerprint)
    }

    func setFingerprint(
        _ head: UnsafeMutableRawPointer, _ entry: LeafEntry, _ slot: Int, _ fingerprint: UInt8
    ) throws(StoreError) {
        if entry.isAuxInline {
            (head + Int(entry.aux) + slot).storeBytes(of: fingerprint, as: UInt8.self)
        } else {
            let place = PartSlot(aux: UnsafeMutableRawPointer(mutating: entry.line))
            // Written only where it differs: the part is not copied for nothing.
            if try reader.fingerprints(head, entry).load(fromByteOffset: slot, as: UInt8.self) == fingerprint { return }
            (try writable(place, .fingerprints, head, capacity: place.bytes) + slot).storeBytes(
                of: fingerprint, as: UInt8.self)
        }
    }

    struct StagedText {
        var pointer: UnsafeRawPointer?
        var count: Int
        var long: Bool
        var fingerprint: UInt8
    }

    /// The bytes that go into the segment: a copy of the value in scratch memory, or the cell of an extent of
    /// its own that the value was copied to.
    @inline(__always)
    func stage(_ value: Value, _ blob: Int, copy: Bool) throws(StoreError) -> StagedText {
        if value.isNull { return StagedText(pointer: nil, count: 0, long: false, fingerprint: 0) }
        let fingerprint = Fingerprint.of(value.pointer, value.count)
        if StringSegment.isTooLong(value.count, blob: blob) {
            let (ref, memory) = try space.newPart(bytes: value.count, capacity: value.count)
            memory.copyMemory(from: value.pointer!, byteCount: value.count)
            let cell = try scratch.allocate(StringSegment.cellBytes)
            LongValue.store(cell, ref: ref, bytes: value.count, hash: 0, born: 0)
            return StagedText(
                pointer: UnsafeRawPointer(cell), count: StringSegment.cellBytes, long: true, fingerprint: fingerprint)
        }
        if !copy {
            return StagedText(pointer: value.pointer, count: value.count, long: false, fingerprint: fingerprint)
        }
        let memory = try scratch.allocate(value.count + 1)
        if value.count > 0 { ColumnBuffer.copy(value.pointer!, to: memory, value.count) }
        return StagedText(pointer: UnsafeRawPointer(memory), count: value.count, long: false, fingerprint: fingerprint)
    }

    /// More room for an inline segment: in the head, or in an extent from 1 KiB on.
    private func enlargeInlineText(_ leaf: Ref, _ column: Int, _ needed: Int) throws(StoreError) {
        let old = head(leaf)
        let entry = LeafHead.entry(old, id: specs[column].id, hint: hints[column])!
        var image = ColumnImage(old, entry)
        if needed < LeafHead.inlineLimit {
            image.mainRoom = needed
        } else {
            let (ref, part) = try space.newPart(bytes: entry.mainBytes, capacity: needed + needed / 4)
            part.copyMemory(from: old + Int(entry.main), byteCount: entry.mainBytes)
            image.setMain(ref, bytes: entry.mainBytes)
        }
        try layOutAgain(leaf, replacing: column, image, nil, presence: false)
    }

    static func setFlag(_ entry: LeafEntry, _ flag: UInt8) {
        UnsafeMutableRawPointer(mutating: entry.line).storeBytes(
            of: entry.flags | flag, toByteOffset: 7, as: UInt8.self)
    }

    // MARK: Rows

    /// Deletes an existing row; returns how many are left. The caller unlinks an empty leaf.
    func remove(_ leaf: Ref, _ slot: Int) throws(StoreError) -> Int {
        scratch.reset()
        var head = head(leaf)
        if LeafHead.presence(head) == nil {
            try layOutAgain(leaf, replacing: nil, presence: true)
            head = self.head(leaf)
        }
        try LeafExtents(space.source).forEachLongValue(head, slot: slot) { cell in
            space.discardPart(Ref(raw: cell.ref), bytes: cell.bytes, born: cell.born)
        }
        let bits = UnsafeMutablePointer(mutating: LeafHead.presence(head)!)
        bits[slot >> 6] &= ~(1 << UInt64(slot & 63))
        let live = LeafHead.live(head) - 1
        LeafHead.setLive(head, live)
        return live
    }
}
