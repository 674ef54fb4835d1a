internal import CSystem

/// Adding one row to a packed leaf: every column's last part grows by a cell, nothing is unpacked.
///
/// ```
///   int     [....|....|..x       ]   cell behind the last one; a new segment where that is full
///   text    [offsets x][blob xxx ]   offset and bytes behind the last ones; fingerprint likewise
///   nulls   [bits x]                 where the column has a bitmap
/// ```
/// First everything is checked, then everything is written.
extension LeafEditor {
    /// Adds a row behind the last one without unpacking anything. False: something does not fit; nothing was
    /// changed.
    func append(_ leaf: Ref, _ slot: Int, _ values: UnsafePointer<Value>) throws(StoreError) -> Bool {
        scratch.reset()
        let head = head(leaf)
        let rows = LeafHead.rows(head)
        // Skipped keys need the bitmap; a long gap goes through the builder.
        if slot != rows, LeafHead.presence(head) == nil || slot - rows > 32 { return false }
        if !(try canAppend(head, slot, values)) { return false }
        // Nothing of the values may lie in memory that an earlier column's part is about to free.
        let staged = try scratch.allocate(specs.count * MemoryLayout<Value>.stride + 1).bindMemory(
            to: Value.self, capacity: specs.count)
        for column in 0..<specs.count {
            var value = values[column]
            if let pointer = value.pointer, value.count <= StringSegment.inlineValueLimit {
                let copy = try scratch.allocate(value.count + 1)
                ColumnBuffer.copy(pointer, to: copy, value.count)
                value.pointer = UnsafeRawPointer(copy)
            }
            (staged + column).initialize(to: value)
        }
        if slot != rows {
            guard try canAppendGap(head, slot) else { return false }
            for gap in rows..<slot { try appendRow(leaf, gap, nil) }
        }
        try appendRow(leaf, slot, UnsafePointer(staged))
        LeafHead.setLive(head, LeafHead.live(head) + 1)
        if let bits = LeafHead.presence(head) {
            UnsafeMutablePointer(mutating: bits)[slot >> 6] |= 1 << UInt64(slot & 63)
        }
        return true
    }

    private func canAppend(
        _ head: UnsafeMutableRawPointer, _ slot: Int, _ values: UnsafePointer<Value>
    ) throws(StoreError) -> Bool {
        for column in 0..<specs.count {
            let spec = specs[column], value = values[column]
            guard let entry = LeafHead.entry(head, id: spec.id, hint: hints[column]) else {
                if value.isSame(as: spec.fill) { continue }
                return false
            }
            if spec.kind.isBytes {
                guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
                if entry.isAuxInline, slot + 1 >= LeafHead.inlineLimit || slot + 1 > LeafHead.inlineRoom(entry.auxBytes)
                {
                    return false
                }
                if entry.isSegmented { continue }
                if slot + 1 > StringSegment.maximumRows { return false }
                let part = try reader.textSegment(head, entry, segment: 0, rows: 1)
                if StringSegment.isDictionary(part) { return false }
                let long = StringSegment.isTooLong(
                    value.count, blob: StringSegment.offset(part, StringSegment.rows(part)))
                let needed = StringSegment.bytesNeeded(
                    part, replacing: nil, count: long ? StringSegment.cellBytes : value.count, long: long)
                if needed
                    > (entry.isMainInline
                        ? min(LeafHead.inlineRoom(entry.mainBytes), LeafHead.inlineLimit - 1)
                        : StringSegment.targetBytes)
                {
                    return false
                }
                continue
            }
            guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
            if value.isNull, !entry.hasAux { return false }
            if entry.hasAux, LeafHead.bitmapBytes(rows: slot + 1) > LeafHead.inlineRoom(entry.auxBytes) { return false }
            if !LeafEditor.hasRoom(entry, slot) || !value.isNull && !LeafEditor.fits(entry, slot, value.low) {
                return false
            }
            if spec.kind.isPair {
                guard let second = LeafHead.secondLine(head, id: spec.id) else { throw LeafReader.wrongEncoding(spec) }
                if !LeafEditor.hasRoom(second, slot) || !value.isNull && !LeafEditor.fits(second, slot, value.high) {
                    return false
                }
            }
        }
        return true
    }

    /// With a gap only segmented or roomy columns are extended in place.
    private func canAppendGap(_ head: UnsafeMutableRawPointer, _ slot: Int) throws(StoreError) -> Bool {
        for index in 0..<LeafHead.mainEntries(head) {
            let entry = LeafEntry(head + LeafHead.directory + index << 6)
            if entry.isText, !entry.isSegmented { return false }
        }
        return true
    }

    private static func hasRoom(_ entry: LeafEntry, _ slot: Int) -> Bool {
        let width = entry.width
        if width == 0 || entry.isSegmented { return true }
        let bytes = NumberCodec.bytes(rows: slot + 1, width: width)
        if entry.isMainInline { return bytes < LeafHead.inlineLimit && bytes <= LeafHead.inlineRoom(entry.mainBytes) }
        return slot < 1 << NumberCodec.segmentShift(width)
    }

    /// Adds the row to every column; `values` null = a slot that no object has. Checked by `canAppend`.
    private func appendRow(_ leaf: Ref, _ slot: Int, _ values: UnsafePointer<Value>?) throws(StoreError) {
        let head = head(leaf)
        for column in 0..<specs.count {
            let spec = specs[column]
            guard let entry = LeafHead.entry(head, id: spec.id, hint: hints[column]) else { continue }
            if entry.isText {
                try appendText(head, entry, slot, values?[column] ?? .null)
                continue
            }
            let value = values?[column]
            try appendNumber(head, entry, slot, value.flatMap { $0.isNull ? nil : $0.low })
            if spec.kind.isPair, let second = LeafHead.secondLine(head, id: spec.id) {
                try appendNumber(head, second, slot, value.flatMap { $0.isNull ? nil : $0.high })
            }
            if entry.hasAux {
                PartSlot(aux: UnsafeMutableRawPointer(mutating: entry.line)).setBytes(
                    LeafHead.bitmapBytes(rows: slot + 1))
                if let value, value.isNull { setNullBit(head, entry, slot, true) }
            }
        }
        NodeHeader.setCount(head, slot + 1)
    }

    @inline(__always)
    private func appendNumber(
        _ head: UnsafeMutableRawPointer, _ entry: LeafEntry, _ slot: Int, _ value: Int64?
    ) throws(StoreError) {
        if let value { LeafEditor.widenBounds(entry, value) }
        let width = entry.width
        if width == 0 { return }
        let row = slot & (entry.segmentRows - 1)
        let bytes = NumberCodec.bytes(rows: row + 1, width: width)
        let part: UnsafeMutableRawPointer
        if entry.isMainInline {
            part = head + Int(entry.main)
            PartSlot(main: UnsafeMutableRawPointer(mutating: entry.line)).setBytes(bytes)
        } else {
            let place = mainSlot(head, entry, slot)
            if row == 0 {
                let (ref, memory) = try space.newPart(bytes: bytes, capacity: PageSize.page)
                ColumnEncoder.storeSegment(place.refAddress, ref, bytes: bytes)
                part = memory
                part.storeBytes(of: 0, as: UInt64.self)
            } else {
                let old = place.bytes
                part = try writable(place, .numbers, head, capacity: max(bytes, PageSize.page))
                if bytes > old { memset(part + old, 0, bytes - old) }
                setBytes(place, bytes)
            }
        }
        // A row without a value gets the base (0 for a raw column): inside the frame.
        NumberCodec.setCell(part, row, width: width, base: entry.base, value ?? (width == 64 ? 0 : entry.base))
    }

    private func appendText(
        _ head: UnsafeMutableRawPointer, _ entry: LeafEntry, _ slot: Int, _ value: Value
    ) throws(StoreError) {
        let row = slot & (entry.segmentRows - 1)
        let staged: StagedText
        if entry.isSegmented, row == 0 {
            staged = try stage(value, 0, copy: false)
            let bytes = StringSegment.blobOffset(capacity: 28, long: staged.long) + staged.count
            let (ref, part) = try space.newPart(bytes: bytes, capacity: 2 * PageSize.page)
            StringSegment.initialize(part, rows: 0, capacity: 28, long: staged.long)
            StringSegment.append(part, staged.pointer, count: staged.count, long: staged.long)
            ColumnEncoder.storeSegment(mainSlot(head, entry, slot).refAddress, ref, bytes: bytes)
        } else {
            let old = try reader.textSegment(head, entry, segment: entry.segmentIndex(slot), rows: row)
            // Only full segments are.
            if StringSegment.isDictionary(old) { throw LeafReader.damagedPart() }
            staged = try stage(value, StringSegment.offset(old, row), copy: false)
            let needed = StringSegment.bytesNeeded(old, replacing: nil, count: staged.count, long: staged.long)
            if entry.isMainInline {
                StringSegment.append(head + Int(entry.main), staged.pointer, count: staged.count, long: staged.long)
                PartSlot(main: UnsafeMutableRawPointer(mutating: entry.line)).setBytes(needed)
            } else {
                let place = mainSlot(head, entry, slot)
                let part = try writable(place, .strings, head, capacity: needed + needed / 8)
                StringSegment.append(part, staged.pointer, count: staged.count, long: staged.long)
                setBytes(place, needed)
            }
        }
        if staged.long { LeafEditor.setFlag(entry, LeafEntry.Flags.longValues) }
        let fingerprints: UnsafeMutableRawPointer
        let aux = PartSlot(aux: UnsafeMutableRawPointer(mutating: entry.line))
        if entry.isAuxInline {
            fingerprints = head + Int(entry.aux)
            aux.setBytes(slot + 1)
        } else {
            fingerprints = try writable(aux, .fingerprints, head, capacity: LeafHead.rowsPerLeaf)
            setBytes(aux, slot + 1)
        }
        fingerprints.storeBytes(of: staged.fingerprint, toByteOffset: slot, as: UInt8.self)
    }
}
