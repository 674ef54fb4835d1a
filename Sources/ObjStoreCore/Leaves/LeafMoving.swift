/// Moving what a leaf refers to elsewhere in the file, without changing it.
extension LeafExtents {
    /// Whether the head or something that it refers to is among `victims`.
    func touches(_ leaf: Ref, _ victims: MovedPages) throws(StoreError) -> Bool {
        let head = try source.node(leaf, .leafHead)
        if !leaf.isDirty, victims.contains(leaf, bytes: NodeHeader.bytes(head), born: NodeHeader.born(head)) {
            return true
        }
        let epoch = LeafHead.bornEpoch(head)
        for index in LeafExtents.entries(head) {
            let entry = LeafExtents.entry(head, index)
            var found = false
            forEachPart(head, entry) { raw, bytes, born, _, _ in
                found = found || victims.contains(Ref(raw: raw), bytes: bytes, born: epoch &+ UInt64(born))
            }
            if found { return true }
            try forEachLongValue(head, entry) { cell throws(StoreError) in
                found = found || victims.contains(Ref(raw: cell.ref), bytes: cell.bytes, born: cell.born)
            }
            if found { return true }
        }
        return false
    }
}

extension LeafEditor {
    /// Copies every part of a dirty leaf that is among `victims` to the arena. Returns the bytes.
    func moveParts(_ leaf: Ref, _ victims: MovedPages) throws(StoreError) -> Int {
        let head = head(leaf), epoch = LeafHead.bornEpoch(head), extents = LeafExtents(space.source)
        var moved = 0
        for index in 0..<LeafHead.entries(head) {
            let line = head + LeafHead.directory + index << 6
            let entry = LeafEntry(line)
            if entry.hasAux, !entry.isAuxInline {
                moved += try move(PartSlot(aux: line), .fingerprints, head, epoch, victims)
            }
            // Their cells lie in the segments, which are copied for them.
            var rows: [Int] = []
            if entry.isText, entry.flags & LeafEntry.Flags.longValues != 0 {
                for slot in 0..<LeafHead.rows(head) where LeafHead.isLive(head, slot) {
                    guard let cell = try extents.longValue(head, entry, slot) else { continue }
                    if victims.contains(Ref(raw: cell.ref), bytes: cell.bytes, born: cell.born) { rows.append(slot) }
                }
            }
            for slot in rows { moved += try moveLongValue(head, entry, slot) }
            for slot in LeafExtents.mainSlots(head, entry) {
                moved += try move(slot, entry.isText ? .strings : .numbers, head, epoch, victims)
            }
        }
        return moved
    }

    private func move(
        _ slot: PartSlot, _ kind: PartKind, _ head: UnsafeRawPointer, _ epoch: UInt64, _ victims: MovedPages
    ) throws(StoreError) -> Int {
        let bytes = slot.bytes
        guard victims.contains(Ref(raw: slot.ref), bytes: bytes, born: epoch &+ UInt64(slot.born)) else { return 0 }
        _ = try writable(slot, kind, head, capacity: bytes)
        return bytes
    }

    private func moveLongValue(
        _ head: UnsafeMutableRawPointer, _ entry: LeafEntry, _ slot: Int
    ) throws(StoreError) -> Int {
        let part: UnsafeMutableRawPointer, row = slot & (entry.segmentRows - 1)
        if entry.isMainInline {
            part = head + Int(entry.main)
        } else {
            let place = mainSlot(head, entry, slot)
            part = try writable(place, .strings, head, capacity: place.bytes)
        }
        let cell = part + StringSegment.blobOffset(part) + StringSegment.offset(part, row)
        let value = LongValue(cell)
        let (ref, _) = try space.writablePart(
            Ref(raw: value.ref), .longValue, bytes: value.bytes, hash32: value.hash, born: value.born,
            capacity: value.bytes)
        LongValue.store(cell, ref: ref, bytes: value.bytes, hash: 0, born: 0)
        return value.bytes
    }
}

/// What a compaction moves: extents that begin in some pages of the file, or reach into them, and are not younger than
/// its beginning. So none is moved twice.
struct MovedPages {
    /// One bit a page.
    let bits: [UInt64]
    let newest: UInt64

    func contains(_ ref: Ref, bytes: Int, born: UInt64) -> Bool {
        if ref.isDirty || ref.isNull || born > newest { return false }
        return reaches(ref, bytes: bytes)
    }

    /// By the place alone.
    func reaches(_ ref: Ref, bytes: Int) -> Bool {
        let first = ref.offset / PageSize.page, last = (ref.offset + max(bytes, 1) - 1) / PageSize.page
        var page = first
        while page <= last {
            if page >> 6 < bits.count, bits[page >> 6] >> UInt64(page & 63) & 1 != 0 { return true }
            page += 1
        }
        return false
    }
}
