internal import CSystem

/// Turns an unpacked column into parts: the smallest encoding for the rows that exist.
struct ColumnEncoder {
    let space: WriteSpace
    let scratch: Scratch
    let rows: Int
    /// 64 words: the rows that exist; null = all of them.
    let presence: UnsafePointer<UInt64>?
    /// Whether more rows or values are expected: frames then leave room on both sides.
    let slack: Bool

    /// The line of a column, and that of the second words.
    func encode(_ buffer: ColumnBuffer, id: UInt32) throws(StoreError) -> (main: ColumnImage, second: ColumnImage?) {
        if buffer.isText { return (try encodeText(buffer, id: id), nil) }
        // What need not be stored exactly: rows that do not exist, and nulls.
        var mask: UnsafePointer<UInt64>?
        if presence != nil || buffer.anyNull {
            let words = try scratch.allocate(512).bindMemory(to: UInt64.self, capacity: 64)
            for word in 0..<64 { words[word] = (presence?[word] ?? ~0) & ~buffer.nulls[word] }
            mask = UnsafePointer(words)
        }
        var image =
            buffer.kind == .double
            ? try encodeDoubles(buffer.numbers, mask, id: id) : try encodeIntegers(buffer.numbers, mask, id: id)
        if buffer.anyNull {
            let bytes = LeafHead.bitmapBytes(rows: rows)
            let bitmap = try scratch.allocate(bytes)
            bitmap.copyMemory(from: buffer.nulls, byteCount: bytes)
            image.setInlineAux(bitmap, bytes: bytes)
        }
        if !buffer.isPair { return (image, nil) }
        return (image, try encodeIntegers(buffer.secondWords, mask, id: id))
    }

    // MARK: Numbers

    /// The keys of a sparse leaf, as offsets from its `keyBase`.
    func encodeKeys(_ offsets: UnsafeMutablePointer<Int64>) throws(StoreError) -> ColumnImage {
        try encodeIntegers(offsets, nil, id: LeafKeys.column)
    }

    private func encodeIntegers(
        _ values: UnsafeMutablePointer<Int64>, _ mask: UnsafePointer<UInt64>?, id: UInt32
    ) throws(StoreError) -> ColumnImage {
        var low = Int64.max, high = Int64.min
        if let mask {
            var row = 0
            while row < rows {
                var bits = mask[row >> 6]
                while bits != 0 {
                    let index = row + bits.trailingZeroBitCount
                    if index >= rows { break }
                    low = min(low, values[index])
                    high = max(high, values[index])
                    bits &= bits &- 1
                }
                row += 64
            }
        } else {
            var row = 0
            while row < rows {
                let value = values[row]
                low = min(low, value)
                high = max(high, value)
                row &+= 1
            }
        }
        // Not where the greatest number is followed by the least: readers compare with the first and the last.
        if low < high, let base = linearBase(values, mask), !base.addingReportingOverflow(Int64(rows - 1)).overflow {
            var image = ColumnImage(id: id, encoding: .linear)
            image.base = base
            image.max = high
            return image
        }
        let (width, base) = NumberCodec.frame(low: low, high: high, slack: slack)
        if low > high { low = 0; high = 0 }
        if let mask { fill(values, mask, with: low) }
        var image = ColumnImage(id: id, encoding: .frame)
        image.width = width
        // A cell of 64 bits is the value itself, and `base` only its lower bound.
        image.base = base
        image.max = high
        try encodeParts(values, &image)
        return image
    }

    /// The base of `value = base + slot`, if that describes all rows.
    private func linearBase(_ values: UnsafePointer<Int64>, _ mask: UnsafePointer<UInt64>?) -> Int64? {
        var row = 0
        if let mask {
            var base: Int64?
            while row < rows {
                if mask[row >> 6] >> UInt64(row & 63) & 1 != 0 {
                    let difference = values[row] &- Int64(row)
                    if let base { if base != difference { return nil } } else { base = difference }
                }
                row += 1
            }
            return base
        }
        let base = values[0]
        guard values[rows - 1] &- base == Int64(rows - 1) else { return nil }
        while row < rows {
            if values[row] &- base != Int64(row) { return nil }
            row &+= 1
        }
        return base
    }

    private func encodeDoubles(
        _ values: UnsafeMutablePointer<Int64>, _ mask: UnsafePointer<UInt64>?, id: UInt32
    ) throws(StoreError) -> ColumnImage {
        var image = ColumnImage(id: id, encoding: .double)
        var low = Double.infinity, high = -Double.infinity, constant = true
        var first: Int64?
        var row = 0
        while row < rows {
            if mask == nil || mask![row >> 6] >> UInt64(row & 63) & 1 != 0 {
                let bits = values[row], value = Double(bitPattern: UInt64(bitPattern: bits))
                if let first { if first != bits { constant = false } } else { first = bits }
                if value < low { low = value }
                if value > high { high = value }
            }
            row &+= 1
        }
        if let mask { fill(values, mask, with: 0) }
        if constant {
            image.base = first ?? 0
            image.max = image.base
            return image
        }
        image.width = 64
        image.base = Int64(bitPattern: low.bitPattern)
        image.max = Int64(bitPattern: high.bitPattern)
        try encodeParts(values, &image)
        return image
    }

    /// Rows outside the mask get a value that is in the frame.
    private func fill(_ values: UnsafeMutablePointer<Int64>, _ mask: UnsafePointer<UInt64>, with value: Int64) {
        var word = 0
        while word << 6 < rows {
            var holes = ~mask[word]
            while holes != 0 {
                let row = word << 6 + holes.trailingZeroBitCount
                if row >= rows { break }
                values[row] = value
                holes &= holes &- 1
            }
            word += 1
        }
    }

    private func encodeParts(_ values: UnsafePointer<Int64>, _ image: inout ColumnImage) throws(StoreError) {
        let width = image.width, base = image.base
        if width == 0 { return }
        let shift = NumberCodec.segmentShift(width), bytes = NumberCodec.bytes(rows: rows, width: width)
        if rows > 1 << shift {
            let count = (rows + 1 << shift - 1) >> shift
            let table = try scratch.allocate(count * LeafSegment.size)
            for index in 0..<count {
                let first = index << shift, segmentRows = min(rows - first, 1 << shift)
                let segmentBytes = NumberCodec.bytes(rows: segmentRows, width: width)
                let (ref, part) = try space.newPart(bytes: segmentBytes, capacity: slack ? PageSize.page : segmentBytes)
                NumberCodec.pack(values + first, segmentRows, width: width, base: base, into: part)
                ColumnEncoder.storeSegment(table + index * LeafSegment.size, ref, bytes: segmentBytes)
            }
            image.setSegments(table, count: count, shift: shift)
        } else if bytes < LeafHead.inlineLimit {
            let part = try scratch.allocate(bytes)
            NumberCodec.pack(values, rows, width: width, base: base, into: part)
            image.setInlineMain(part, bytes: bytes)
        } else {
            let (ref, part) = try space.newPart(bytes: bytes, capacity: slack ? PageSize.page : bytes)
            NumberCodec.pack(values, rows, width: width, base: base, into: part)
            image.setMain(ref, bytes: bytes)
        }
    }

    static func storeSegment(_ line: UnsafeMutableRawPointer, _ ref: Ref, bytes: Int) {
        line.storeBytes(of: ref.raw, as: UInt64.self)
        line.storeBytes(of: UInt32(bytes), toByteOffset: 8, as: UInt32.self)
        line.storeBytes(of: 0, toByteOffset: 12, as: UInt32.self)
        line.storeBytes(of: 0, toByteOffset: 16, as: UInt64.self)
    }

    // MARK: Text

    private func encodeText(_ buffer: ColumnBuffer, id: UInt32) throws(StoreError) -> ColumnImage {
        var image = ColumnImage(id: id, encoding: .text)
        if rows < LeafHead.inlineLimit {
            image.setInlineAux(buffer.fingerprints, bytes: rows)
        } else {
            let (ref, part) = try space.newPart(bytes: rows, capacity: slack ? LeafHead.rowsPerLeaf : rows)
            part.copyMemory(from: buffer.fingerprints, byteCount: rows)
            image.setAux(ref, bytes: rows)
        }
        let total = Int(buffer.offsets[rows])
        var shift = StringSegment.maximumShift
        while shift > StringSegment.minimumShift, (total / rows) << shift > StringSegment.targetBytes { shift -= 1 }
        var anyLong = false
        if rows > 1 << shift {
            let count = (rows + 1 << shift - 1) >> shift
            let table = try scratch.allocate(count * LeafSegment.size)
            var draft: DictionaryDraft?
            defer { draft?.release() }
            for index in 0..<count {
                let first = index << shift, segmentRows = min(rows - first, 1 << shift)
                // To one that is full no row will be added.
                if segmentRows == 1 << shift,
                    let (ref, bytes) = try encodeDictionary(buffer, first, segmentRows, &draft)
                {
                    ColumnEncoder.storeSegment(table + index * LeafSegment.size, ref, bytes: bytes)
                    continue
                }
                let (ref, bytes, long) = try encodeSegment(
                    buffer, first, segmentRows, capacity: slack ? 1 << shift : segmentRows)
                if long { anyLong = true }
                ColumnEncoder.storeSegment(table + index * LeafSegment.size, ref, bytes: bytes)
            }
            image.setSegments(table, count: count, shift: shift)
        } else {
            let bytes = StringSegment.blobOffset(capacity: rows, long: false) + total
            if bytes < LeafHead.inlineLimit, presence == nil, !buffer.anyLong {
                let part = try scratch.allocate(bytes)
                fillSegment(buffer, 0, rows, capacity: rows, part)
                image.setInlineMain(part, bytes: bytes)
            } else {
                let (ref, bytes, long) = try encodeSegment(buffer, 0, rows, capacity: rows)
                if bytes < LeafHead.inlineLimit {
                    let part = try scratch.allocate(bytes)
                    part.copyMemory(from: space.arena.table.pointer(ref), byteCount: bytes)
                    space.discardPart(ref, bytes: bytes, born: 0)
                    image.setInlineMain(part, bytes: bytes)
                } else {
                    image.setMain(ref, bytes: bytes)
                }
                anyLong = long
            }
        }
        if anyLong { image.flags |= LeafEntry.Flags.longValues }
        return image
    }

    private func encodeSegment(
        _ buffer: ColumnBuffer, _ first: Int, _ count: Int, capacity: Int
    ) throws(StoreError)
        -> (ref: Ref, bytes: Int, long: Bool)
    {
        let total = Int(buffer.offsets[first + count] - buffer.offsets[first])
        if presence == nil, !buffer.anyLong, total <= StringSegment.blobBudget {
            let bytes = StringSegment.blobOffset(capacity: capacity, long: false) + total
            let (ref, part) = try space.newPart(bytes: bytes, capacity: slack ? bytes + bytes / 4 : bytes)
            fillSegment(buffer, first, count, capacity: capacity, part)
            return (ref, bytes, false)
        }
        return try encodeMixedSegment(buffer, first, count, capacity: capacity)
    }

    private func fillSegment(
        _ buffer: ColumnBuffer, _ first: Int, _ count: Int, capacity: Int, _ part: UnsafeMutableRawPointer
    ) {
        StringSegment.initialize(part, rows: count, capacity: capacity, long: false)
        let from = buffer.offsets + first, start = from[0]
        let offsets = (part + StringSegment.header).assumingMemoryBound(to: UInt16.self)
        var row = 0
        while row <= count {
            offsets[row] = UInt16(truncatingIfNeeded: from[row] &- start)
            row &+= 1
        }
        memcpy(part + StringSegment.blobOffset(part), buffer.blob + Int(start), Int(from[count] &- start))
    }

    /// Rows that do not exist lose their bytes; what does not fit the blob moves to extents of its own.
    private func encodeMixedSegment(
        _ buffer: ColumnBuffer, _ first: Int, _ count: Int, capacity: Int
    ) throws(StoreError)
        -> (ref: Ref, bytes: Int, long: Bool)
    {
        // Pass 1: the blob's length and whether any value is long.
        var blob = 0, long = false
        for row in first..<first + count where exists(row) {
            let length = Int(buffer.offsets[row + 1] - buffer.offsets[row])
            if buffer.isLong(row) {
                long = true
                blob += StringSegment.cellBytes
            } else if StringSegment.isTooLong(length, blob: blob) {
                long = true
                blob += StringSegment.cellBytes
            } else {
                blob += length
            }
        }
        let bytes = StringSegment.blobOffset(capacity: capacity, long: long) + blob
        let (ref, part) = try space.newPart(bytes: bytes, capacity: slack ? bytes + bytes / 4 : bytes)
        StringSegment.initialize(part, rows: count, capacity: capacity, long: long)
        let to = part + StringSegment.blobOffset(part)
        var at = 0
        for row in first..<first + count {
            StringSegment.setOffset(part, row - first, at)
            if !exists(row) { continue }
            let from = buffer.blob + Int(buffer.offsets[row])
            let length = Int(buffer.offsets[row + 1] - buffer.offsets[row])
            if buffer.isLong(row) {
                memcpy(to + at, from, StringSegment.cellBytes)
            } else if StringSegment.isTooLong(length, blob: at) {
                let (value, memory) = try space.newPart(bytes: length, capacity: length)
                memory.copyMemory(from: from, byteCount: length)
                LongValue.store(to + at, ref: value, bytes: length, hash: 0, born: 0)
            } else {
                if length > 0 { memcpy(to + at, from, length) }
                at += length
                continue
            }
            StringSegment.setLong(part, row - first, true)
            at += StringSegment.cellBytes
        }
        StringSegment.setOffset(part, count, at)
        return (ref, bytes, long)
    }

    private func exists(_ row: Int) -> Bool { presence == nil || presence![row >> 6] >> UInt64(row & 63) & 1 != 0 }
}
