/// Finds the rows of a leaf whose text matches a pattern: each value of a dictionary is decided once, of other segments
/// only rows that are left are looked at.
struct TextKernel {
    let source: PageSource
    let spec: ColumnSpec
    let hint: Int
    let pattern: TextPattern

    private enum Decision { static let open: UInt8 = 0, no: UInt8 = 1, yes: UInt8 = 2 }

    /// Leaves the rows of the mask that match; those of the mask exist.
    func narrow(_ head: UnsafeRawPointer, _ mask: UnsafeMutablePointer<UInt64>) throws(StoreError) {
        guard let entry = LeafHead.entry(head, id: spec.id, hint: hint) else {
            // The leaf is older than the column: every row has the fill value.
            let fits = !spec.fill.isNull && pattern.matches(spec.fill.pointer, spec.fill.count)
            if !fits { mask.update(repeating: 0, count: LeafScan.words) }
            return
        }
        guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
        let reader = LeafReader(source: source), rows = LeafHead.rows(head), segmentRows = entry.segmentRows
        // 0: null. Where nothing is, they are not fetched.
        let fingerprints =
            spec.nullable ? try reader.fingerprints(head, entry).assumingMemoryBound(to: UInt8.self) : nil
        var first = 0
        while first < rows {
            let count = min(segmentRows, rows &- first)
            defer { first &+= count }
            if TextKernel.isEmpty(mask, first, count) { continue }
            let part = try reader.textSegment(head, entry, segment: entry.segmentIndex(first), rows: count)
            if first &+ count < rows { reader.prefetchTexts(head, entry, first &+ count) }
            if StringSegment.isDictionary(part) {
                decide(part, first, count, fingerprints, mask)
            } else if !search(part, first, count, mask, for: pattern) {
                narrow(part, first, count, mask)
                try look(reader, part, first, count, fingerprints, mask)
            }
        }
    }

    private static func isEmpty(_ mask: UnsafePointer<UInt64>, _ first: Int, _ count: Int) -> Bool {
        var any: UInt64 = 0
        for word in first &>> 6...(first &+ count &- 1) &>> 6 { any |= mask[word] }
        return any == 0
    }

    /// Calls `body` for each row of the mask in a segment that is not null; where it is false the row goes.
    @inline(__always)
    private func filter<Failure: Error>(
        _ first: Int, _ count: Int, _ fingerprints: UnsafePointer<UInt8>?, _ mask: UnsafeMutablePointer<UInt64>,
        _ body: (Int) throws(Failure) -> Bool
    ) throws(Failure) {
        for word in first &>> 6...(first &+ count &- 1) &>> 6 {
            var bits = mask[word]
            while bits != 0 {
                let bit = bits & (0 &- bits), slot = word &<< 6 &+ bits.trailingZeroBitCount
                bits ^= bit
                // Segments of few rows share a word.
                if slot < first || slot >= first &+ count { continue }
                var fits = fingerprints.map { $0[slot] != 0 } ?? true
                if fits { fits = try body(slot &- first) }
                if !fits { mask[word] ^= bit }
            }
        }
    }

    private func decide(
        _ part: UnsafeRawPointer, _ first: Int, _ count: Int, _ fingerprints: UnsafePointer<UInt8>?,
        _ mask: UnsafeMutablePointer<UInt64>
    ) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: TextDictionary.mostValues) { table in
            table.update(repeating: Decision.open)
            filter(first, count, fingerprints, mask) { row in
                let code = TextDictionary.code(part, row)
                if table[code] == Decision.open {
                    let value = TextDictionary.value(part, code)
                    table[code] = pattern.matches(value.pointer, value.count) ? Decision.yes : Decision.no
                }
                return table[code] == Decision.yes
            }
        }
    }

    // MARK: Segments as wholes

    /// Leaves the rows that `find` finds, of a segment of nothing but texts, if so many of its rows are asked for that
    /// it is worth looking at all of them. False: it is another segment, or `find` cannot tell.
    @inline(__always)
    private func narrow(
        _ part: UnsafeRawPointer, _ first: Int, _ count: Int, _ mask: UnsafeMutablePointer<UInt64>,
        _ find: (UnsafeRawPointer, _ offsets: UnsafePointer<UInt16>, _ found: UnsafeMutablePointer<UInt64>) -> Bool
    ) -> Bool {
        // Words of the mask are those of the segment alone.
        guard StringSegment.isPlain(part), first & 63 == 0, count & 63 == 0 || count > 64 else { return false }
        let words = (count &+ 63) &>> 6, start = mask + first &>> 6
        var asked = 0
        for word in 0..<words { asked &+= start[word].nonzeroBitCount }
        if asked &* 2 < count { return false }
        let offsets = (part + StringSegment.header).assumingMemoryBound(to: UInt16.self)
        return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: StringSegment.maximumRows / 64) { found in
            found.update(repeating: 0)
            let found = found.baseAddress.unsafelyUnwrapped
            guard find(part + StringSegment.blobOffset(part), offsets, found) else { return false }
            for word in 0..<words { start[word] &= found[word] }
            return true
        }
    }

    /// Finds what is contained in the texts of a segment; false: each of them has to be looked at.
    private func search(
        _ part: UnsafeRawPointer, _ first: Int, _ count: Int, _ mask: UnsafeMutablePointer<UInt64>,
        for pattern: TextPattern
    ) -> Bool {
        narrow(part, first, count, mask) { texts, offsets, found in
            pattern.find(in: texts, ends: offsets + 1, count) { found[$0 &>> 6] |= 1 &<< UInt64($0 & 63) }
        }
    }

    /// Takes rows away that begin with something else, or lack a part of what fits.
    private func narrow(
        _ part: UnsafeRawPointer, _ first: Int, _ count: Int, _ mask: UnsafeMutablePointer<UInt64>
    ) {
        if pattern.beginning != nil {
            _ = narrow(part, first, count, mask) { texts, offsets, found in
                pattern.findBeginnings(in: texts, offsets: offsets, count, into: found)
            }
        }
        if let longest = pattern.part { _ = search(part, first, count, mask, for: longest) }
    }

    private func look(
        _ reader: LeafReader, _ part: UnsafeRawPointer, _ first: Int, _ count: Int,
        _ fingerprints: UnsafePointer<UInt8>?, _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        let blob = part + StringSegment.blobOffset(part), hasLong = StringSegment.hasLong(part)
        try filter(first, count, fingerprints, mask) { (row) throws(StoreError) in
            let begin = row == 0 ? 0 : StringSegment.offset(part, row)
            var pointer = blob + begin, length = StringSegment.offset(part, row &+ 1) &- begin
            if hasLong, StringSegment.isLong(part, row) { (pointer, length) = try reader.longValue(pointer) }
            return pattern.matches(pointer, length)
        }
    }
}
