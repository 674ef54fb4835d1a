internal import CSystem

/// Texts of a block on their way into a column: of a whole leaf segment by segment, with one copy of all bytes.
extension TableColumn {
    /// The texts, or binaries, of a property of all objects of a block.
    func append(texts position: Int, _ block: RowBlocks) throws(StoreError) {
        let reader = block.reader, spec = reader.columns[position]
        guard let head = block.head, let entry = LeafHead.entry(head, id: spec.id, hint: position) else {
            for index in 0..<block.count {
                let value = block.isMissing(index) ? .null : try reader.value(try block.row(index), position)
                try append(value)
            }
            return
        }
        guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
        switch cells {
        case .codes(let codes): return try CellRun.append(block, head, entry, spec, codes, to: self)
        case .views(let views): return try CellRun.append(block, head, entry, spec, views, to: self)
        case nil: break
        }
        let leaf = LeafReader(source: reader.source), first = count
        try reserve(rows: block.count)
        if block.isWhole {
            try appendSegments(leaf, head, entry, spec, position, block.count)
        } else {
            for index in 0..<block.count {
                let (pointer, length) = try leaf.text(head, entry, Int(block.slots[index]))
                try appendText(pointer, length)
            }
        }
        try setValidity(leaf, head, entry, spec, block, first)
    }

    private func appendSegments(
        _ leaf: LeafReader, _ head: UnsafeRawPointer, _ entry: LeafEntry, _ spec: ColumnSpec, _ position: Int,
        _ rows: Int
    ) throws(StoreError) {
        let shift = entry.isSegmented ? entry.segmentShift : LeafHead.log2Rows
        var row = 0
        while row < rows {
            let count = min(rows - row, 1 << shift)
            let part = try leaf.textSegment(head, entry, segment: row >> shift, rows: count)
            if StringSegment.isPlain(part) {
                try appendTexts(
                    part + StringSegment.blobOffset(part), bytes: StringSegment.offset(part, count), count
                ) { StringSegment.offset(part, $0 &+ 1) }
            } else {
                for index in 0..<count {
                    let (pointer, length) = try leaf.text(head, entry, row + index)
                    try appendText(pointer, length)
                }
            }
            row += count
        }
    }

    /// Null is what has no bytes and no fingerprint.
    private func setValidity(
        _ leaf: LeafReader, _ head: UnsafeRawPointer, _ entry: LeafEntry, _ spec: ColumnSpec, _ block: RowBlocks,
        _ first: Int
    ) throws(StoreError) {
        guard spec.nullable else { return setValid(first, block.count) }
        let prints = try leaf.fingerprints(head, entry).assumingMemoryBound(to: UInt8.self), slots = block.slots
        for index in 0..<block.count {
            let isNull = prints[Int(slots[index])] == 0 && length(of: first + index) == 0
            if isNull { setNull(first + index) } else { setValid(first + index) }
        }
    }
}
