internal import CSystem

/// Unpacks a column of a leaf, whole or in runs of rows.
struct ColumnDecoder {
    let reader: LeafReader
    let head: UnsafeRawPointer

    init(_ source: PageSource, _ head: UnsafeRawPointer) {
        reader = LeafReader(source: source)
        self.head = head
    }

    /// All rows into `buffer`, which is empty; rows that do not exist get any value.
    func decode(_ spec: ColumnSpec, hint: Int, into buffer: inout ColumnBuffer, _ space: WriteSpace) throws(StoreError)
    {
        let rows = LeafHead.rows(head)
        guard let entry = LeafHead.entry(head, id: spec.id, hint: hint) else {
            for row in 0..<rows { try buffer.append(spec.fill, at: row, space) }
            return
        }
        if buffer.isText {
            guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
            return try decodeText(entry, rows, into: &buffer)
        }
        guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
        try numbers(entry, first: 0, count: rows, into: buffer.numbers)
        if buffer.isPair {
            guard let second = LeafHead.secondLine(head, id: spec.id) else { throw LeafReader.wrongEncoding(spec) }
            try numbers(second, first: 0, count: rows, into: buffer.secondWords)
        }
        if entry.hasAux {
            buffer.nulls.update(repeating: 0, count: 64)
            memcpy(buffer.nulls, head + Int(entry.aux), LeafHead.bitmapBytes(rows: rows))
            for word in 0..<64 where buffer.nulls[word] != 0 { buffer.anyNull = true }
        }
    }

    /// `count` numbers from slot `first` on.
    func numbers(_ entry: LeafEntry, first: Int, count: Int, into out: UnsafeMutablePointer<Int64>) throws(StoreError) {
        let width = entry.width, base = entry.base
        if width == 0 {
            if entry.encoding == LeafEncoding.linear.rawValue {
                for index in 0..<count { out[index] = base &+ Int64(first &+ index) }
            } else {
                out.update(repeating: base, count: count)
            }
            return
        }
        if !entry.isSegmented {
            let part = try reader.mainPart(head, entry, segment: 0, .numbers)
            return NumberCodec.unpack(part, first: first, count, width: width, base: base, into: out)
        }
        let shift = entry.segmentShift
        var slot = first
        let end = first + count
        while slot < end {
            let index = slot >> shift, inside = slot & (1 << shift - 1)
            let run = min(end - slot, 1 << shift - inside)
            let part = try reader.mainPart(head, entry, segment: index, .numbers)
            NumberCodec.unpack(part, first: inside, run, width: width, base: base, into: out + (slot - first))
            slot += run
        }
    }

    private func decodeText(_ entry: LeafEntry, _ rows: Int, into buffer: inout ColumnBuffer) throws(StoreError) {
        memcpy(buffer.fingerprints, try reader.fingerprints(head, entry), rows)
        let shift = entry.isSegmented ? entry.segmentShift : LeafHead.log2Rows
        var row = 0
        while row < rows {
            let count = min(rows - row, 1 << shift)
            let part = try reader.textSegment(head, entry, segment: row >> shift, rows: count)
            if StringSegment.isDictionary(part) {
                try decodeDictionary(part, row, count, into: &buffer)
                row += count
                continue
            }
            let bytes = StringSegment.offset(part, count), start = Int(buffer.offsets[row])
            if start + bytes > buffer.blobCapacity { try buffer.growBlob(start + bytes) }
            memcpy(buffer.blob + start, part + StringSegment.blobOffset(part), bytes)
            for index in 0..<count {
                buffer.offsets[row &+ index &+ 1] = UInt32(
                    truncatingIfNeeded: start &+ StringSegment.offset(part, index &+ 1))
            }
            if StringSegment.hasLong(part) {
                for index in 0..<count where StringSegment.isLong(part, index) {
                    // The cell of a deleted row stays behind; its extent is gone, and it is never read.
                    buffer.long[(row + index) >> 6] |= 1 << UInt64((row + index) & 63)
                    buffer.anyLong = true
                }
            }
            row += count
        }
    }

    private func decodeDictionary(
        _ part: UnsafeRawPointer, _ first: Int, _ count: Int, into buffer: inout ColumnBuffer
    ) throws(StoreError) {
        var at = Int(buffer.offsets[first])
        if at + TextDictionary.total(part) > buffer.blobCapacity {
            try buffer.growBlob(at + TextDictionary.total(part))
        }
        for row in 0..<count {
            let (pointer, length) = TextDictionary.text(part, row)
            if length > 0 { ColumnBuffer.copy(pointer, to: buffer.blob + at, length) }
            at &+= length
            buffer.offsets[first &+ row &+ 1] = UInt32(truncatingIfNeeded: at)
        }
    }
}
