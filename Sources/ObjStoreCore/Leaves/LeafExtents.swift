/// Everything that a leaf's head refers to: visited, freed, or placed in the file.
package struct LeafExtents {
    let source: PageSource

    package init(_ source: PageSource) { self.source = source }

    package static func entries(_ head: UnsafeRawPointer) -> Range<Int> { 0..<LeafHead.entries(head) }
    package static func entry(_ head: UnsafeRawPointer, _ index: Int) -> LeafEntry {
        LeafEntry(head + LeafHead.directory + index << 6)
    }

    /// Calls `body` with (ref, bytes, born - bornEpoch) of every part of a line that lies in an extent.
    @inline(__always)
    package func forEachPart<Failure: Error>(
        _ head: UnsafeRawPointer, _ entry: LeafEntry,
        _ body: (_ raw: UInt64, _ bytes: Int, _ born: UInt32, _ hash: UInt32, _ kind: PartKind) throws(Failure) -> Void
    ) throws(Failure) {
        let kind: PartKind = entry.isText ? .strings : .numbers
        if entry.isSegmented {
            for index in 0..<entry.segmentCount(rows: LeafHead.rows(head)) {
                let segment = LeafSegment(head + Int(entry.main) + index * LeafSegment.size)
                try body(segment.ref, segment.bytes, segment.born, segment.hash, kind)
            }
        } else if entry.hasMain, !entry.isMainInline {
            try body(entry.main, entry.mainBytes, entry.mainBorn, entry.mainHash, kind)
        }
        if entry.hasAux, !entry.isAuxInline {
            try body(entry.aux, entry.auxBytes, entry.auxBorn, entry.auxHash, .fingerprints)
        }
    }

    // MARK: Long values

    /// The long values of a line in existing rows.
    func forEachLongValue(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ body: (LongValue) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard entry.isText, entry.flags & LeafEntry.Flags.longValues != 0 else { return }
        let rows = LeafHead.rows(head), segmentRows = entry.segmentRows
        var first = 0
        while first < rows {
            let count = min(segmentRows, rows - first)
            let part = try LeafReader(source: source).textSegment(
                head, entry, segment: entry.segmentIndex(first), rows: count)
            if StringSegment.hasLong(part) {
                for row in 0..<count where StringSegment.isLong(part, row) && LeafHead.isLive(head, first + row) {
                    try body(LongValue(part + StringSegment.blobOffset(part) + StringSegment.offset(part, row)))
                }
            }
            first += count
        }
    }

    /// The long value of an existing row in one line.
    func longValue(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ slot: Int) throws(StoreError) -> LongValue? {
        let row = slot & (entry.segmentRows - 1)
        let part = try LeafReader(source: source).textSegment(
            head, entry, segment: entry.segmentIndex(slot), rows: row + 1)
        guard StringSegment.isLong(part, row) else { return nil }
        return LongValue(part + StringSegment.blobOffset(part) + StringSegment.offset(part, row))
    }

    /// The long values of one row.
    func forEachLongValue(
        _ head: UnsafeRawPointer, slot: Int, _ body: (LongValue) throws(StoreError) -> Void
    ) throws(StoreError) {
        for index in LeafExtents.entries(head) {
            let entry = LeafExtents.entry(head, index)
            guard entry.isText, entry.flags & LeafEntry.Flags.longValues != 0 else { continue }
            if let value = try longValue(head, entry, slot) { try body(value) }
        }
    }

    // MARK: Freeing

    /// Frees the parts of one line, not the long values.
    func discardParts(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ space: WriteSpace) {
        let epoch = LeafHead.bornEpoch(head)
        forEachPart(head, entry) { raw, bytes, born, _, _ in
            space.discardPart(Ref(raw: raw), bytes: bytes, born: epoch &+ UInt64(born))
        }
    }

    /// Frees all that one line refers to.
    func discardColumn(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ space: WriteSpace) throws(StoreError) {
        try forEachLongValue(head, entry) { cell throws(StoreError) in
            space.discardPart(Ref(raw: cell.ref), bytes: cell.bytes, born: cell.born)
        }
        discardParts(head, entry, space)
    }

    /// Frees a leaf and everything it refers to.
    func discardLeaf(_ leaf: Ref, _ space: WriteSpace) throws(StoreError) {
        let head = try source.node(leaf, .leafHead)
        for index in LeafExtents.entries(head) {
            let entry = LeafExtents.entry(head, index)
            try discardColumn(head, entry, space)
        }
        try space.discardNode(leaf, .leafHead)
    }

    // MARK: Visiting

    /// Every part is read with all its checks before it is visited.
    func visit(_ leaf: Ref, _ body: (VisitedExtent) throws(StoreError) -> Void) throws(StoreError) {
        let head = try source.node(leaf, .leafHead)
        try body(
            VisitedExtent(unit: leaf.unit, units: PageSize.units(NodeHeader.bytes(head)), born: NodeHeader.born(head)))
        let epoch = LeafHead.bornEpoch(head)
        for index in LeafExtents.entries(head) {
            let entry = LeafExtents.entry(head, index)
            try forEachPart(head, entry) { raw, bytes, born, hash, kind throws(StoreError) in
                if !InjectedBug.active(.rewriteUnchecked) {
                    _ = try source.part(Ref(raw: raw), kind, bytes: bytes, hash32: hash, born: epoch &+ UInt64(born))
                }
                try body(
                    VisitedExtent(unit: Ref(raw: raw).unit, units: PageSize.units(bytes), born: epoch &+ UInt64(born)))
            }
            try forEachLongValue(head, entry) { cell throws(StoreError) in
                if !InjectedBug.active(.rewriteUnchecked) { _ = try LeafReader(source: source).longValue(cell.cell) }
                try body(
                    VisitedExtent(unit: Ref(raw: cell.ref).unit, units: PageSize.units(cell.bytes), born: cell.born))
            }
        }
    }

    // MARK: Placing in the file

    /// Whether no savepoint holds a dirty extent of a leaf.
    func isOwn(_ head: UnsafeRawPointer, _ space: WriteSpace) throws(StoreError) -> Bool {
        func isHeld(_ raw: UInt64) -> Bool { Ref(raw: raw).isDirty && !space.isOwn(Ref(raw: raw)) }
        var isOwn = true
        for index in LeafExtents.entries(head) {
            let entry = LeafExtents.entry(head, index)
            forEachPart(head, entry) { raw, _, _, _, _ in if isHeld(raw) { isOwn = false } }
            try forEachLongValue(head, entry) { cell in if isHeld(cell.ref) { isOwn = false } }
            if !isOwn { return false }
        }
        return true
    }

    /// Makes births expressible before the parts of a dirty leaf are placed: a new leaf gets the version as its
    /// epoch; a leaf older than 2^32 versions is rewritten as a whole.
    func prepareBirths(_ leaf: Ref, version: UInt64, _ space: WriteSpace) throws(StoreError) {
        let head = space.arena.table.pointer(leaf)
        let epoch = LeafHead.bornEpoch(head)
        if epoch == 0 { return LeafHead.setBornEpoch(head, version) }
        guard epoch <= version else {
            throw StoreError(.corrupt, "damaged leaf: it has parts of version \(epoch), which is to come")
        }
        if version - epoch <= UInt64(UInt32.max) { return }
        for index in LeafExtents.entries(head) {
            let line = head + LeafHead.directory + index << 6
            let entry = LeafEntry(line)
            let kind: PartKind = entry.isText ? .strings : .numbers
            for slot in LeafExtents.mainSlots(head, entry) { try copy(slot, kind, epoch, space) }
            if entry.hasAux, !entry.isAuxInline { try copy(PartSlot(aux: line), .fingerprints, epoch, space) }
        }
        LeafHead.setBornEpoch(head, version)
    }

    private func copy(_ slot: PartSlot, _ kind: PartKind, _ epoch: UInt64, _ space: WriteSpace) throws(StoreError) {
        let bytes = slot.bytes
        let (ref, _) = try space.writablePart(
            Ref(raw: slot.ref), kind, bytes: bytes, hash32: slot.hash, born: epoch &+ UInt64(slot.born), capacity: bytes
        )
        slot.setRef(ref.raw)
    }

    static func mainSlots(_ head: UnsafeMutableRawPointer, _ entry: LeafEntry) -> [PartSlot] {
        if entry.isSegmented {
            return (0..<entry.segmentCount(rows: LeafHead.rows(head))).map {
                PartSlot(segment: head + Int(entry.main) + $0 * LeafSegment.size)
            }
        }
        return entry.hasMain && !entry.isMainInline
            ? [PartSlot(main: UnsafeMutableRawPointer(mutating: entry.line))] : []
    }

    /// Places the dirty parts of directory line `index`, if the leaf has it, and stores their places.
    func place(_ leaf: Ref, line index: Int, _ writer: ExtentWriter, _ space: WriteSpace) throws(StoreError) {
        let head = space.arena.table.pointer(leaf)
        guard index < LeafHead.entries(head) else { return }
        let line = head + LeafHead.directory + index << 6
        let entry = LeafEntry(line)
        if entry.hasAux, !entry.isAuxInline { try place(PartSlot(aux: line), head, writer) }
        if entry.isText, entry.flags & LeafEntry.Flags.longValues != 0 {
            try placeLongValues(head, entry, writer, space)
        }
        if entry.isSegmented {
            for segment in 0..<entry.segmentCount(rows: LeafHead.rows(head)) {
                try place(PartSlot(segment: head + Int(entry.main) + segment * LeafSegment.size), head, writer)
            }
        } else if entry.hasMain, !entry.isMainInline {
            try place(PartSlot(main: line), head, writer)
        }
    }

    @inline(__always)
    private func place(_ slot: PartSlot, _ head: UnsafeRawPointer, _ writer: ExtentWriter) throws(StoreError) {
        let old = Ref(raw: slot.ref)
        if !old.isDirty { return }
        let (ref, hash) = try writer.part(old)
        slot.set(ref: ref, hash: hash, born: UInt32(truncatingIfNeeded: writer.version &- LeafHead.bornEpoch(head)))
    }

    /// The cells of dirty long values lie in dirty segments, which are placed after them.
    private func placeLongValues(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ writer: ExtentWriter, _ space: WriteSpace
    ) throws(StoreError) {
        let rows = LeafHead.rows(head), segmentRows = entry.segmentRows
        var first = 0
        while first < rows {
            let count = min(segmentRows, rows - first)
            let raw =
                entry.isSegmented
                ? LeafSegment(head + Int(entry.main) + entry.segmentIndex(first) * LeafSegment.size).ref : entry.main
            if entry.isMainInline || raw & Ref.dirtyBit != 0 {
                let part =
                    entry.isMainInline
                    ? UnsafeMutableRawPointer(mutating: head + Int(entry.main))
                    : space.arena.table.pointer(Ref(raw: raw))
                if StringSegment.hasLong(part) {
                    for row in 0..<count where StringSegment.isLong(part, row) {
                        // The extent of a deleted row is gone; its cell must not look like one.
                        if !LeafHead.isLive(head, first + row) {
                            StringSegment.setLong(part, row, false)
                            continue
                        }
                        let cell = part + StringSegment.blobOffset(part) + StringSegment.offset(part, row)
                        let old = Ref(raw: LongValue(cell).ref)
                        if !old.isDirty { continue }
                        let (ref, hash) = try writer.part(old)
                        LongValue.store(cell, ref: ref, bytes: LongValue(cell).bytes, hash: hash, born: writer.version)
                    }
                }
            }
            first += count
        }
    }
}
