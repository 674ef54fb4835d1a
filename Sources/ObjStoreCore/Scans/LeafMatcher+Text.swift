internal import CSystem

/// Texts: fingerprints first, then bytes; in a dictionary each value once.
extension LeafMatcher {
    func findEqualText(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ fingerprint: UInt8,
        _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
        mask.update(repeating: 0, count: 64)
        let reader = LeafReader(source: source)
        let fingerprints = try reader.fingerprints(head, entry)
        /// The segment that was looked at last, if it is a dictionary, and the constant's code there.
        var dictionary: (index: Int, part: UnsafeRawPointer?, code: Int?) = (-1, nil, nil)
        var word = 0
        while word &<< 6 < rows {
            var candidates: UInt64
            if rows &- word &<< 6 >= 64 {
                let a = fingerprints.loadUnaligned(fromByteOffset: word &<< 6, as: SIMD64<UInt8>.self)
                let equal = unsafeBitCast(a .== SIMD64<UInt8>(repeating: fingerprint), to: SIMD8<UInt64>.self)
                // Most blocks of 64 rows have no candidate, and then no mask is made.
                if (equal[0] | equal[1] | equal[2] | equal[3]) | (equal[4] | equal[5] | equal[6] | equal[7]) == 0 {
                    word &+= 1; continue
                }
                candidates = NumberKernels.mask8(fingerprints + word &<< 6, low: fingerprint, span: 0)
            } else {
                candidates = 0
                NumberKernels.mask(
                    fingerprints + word &<< 6, rows &- word &<< 6, width: 8, low: UInt64(fingerprint), span: 0,
                    into: &candidates)
            }
            let segment = entry.segmentIndex(word &<< 6)
            if candidates != 0, entry.segmentRows >= 64 {
                if segment != dictionary.index {
                    let part = try reader.mainPart(head, entry, segment: segment, .strings),
                        isDictionary = StringSegment.isDictionary(part)
                    let isKept = InjectedBug.active(.queryStaleDictionary) && dictionary.part != nil
                    dictionary = (
                        segment, isDictionary ? part : nil,
                        isKept
                            ? dictionary.code
                            : isDictionary ? TextDictionary.code(part, of: constant.pointer, constant.count) : nil
                    )
                }
                if let part = dictionary.part {
                    mask[word] =
                        dictionary.code.map {
                            candidates & LeafMatcher.codes(part, equal: $0, from: word &<< 6 & (entry.segmentRows &- 1))
                        } ?? 0
                    word &+= 1
                    continue
                }
            }
            while candidates != 0 {
                let bit = candidates.trailingZeroBitCount, slot = word &<< 6 &+ bit
                candidates &= candidates &- 1
                if !LeafHead.isLive(head, slot) { continue }
                let (pointer, count) = try reader.text(head, entry, slot)
                if count == constant.count,
                    count == 0 || memcmp(pointer, constant.pointer.unsafelyUnwrapped, count) == 0
                {
                    mask[word] |= 1 &<< UInt64(bit)
                }
            }
            word &+= 1
        }
    }

    /// Cells of mixed values are compared one by one.
    func findMixed(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
        mask.update(repeating: 0, count: 64)
        let reader = LeafReader(source: source),
            fingerprints = try reader.fingerprints(head, entry).assumingMemoryBound(to: UInt8.self)
        let comparison = comparison == .notEqual ? Comparison.equal : comparison
        for slot in 0..<rows where fingerprints[slot] != 0 && LeafHead.isLive(head, slot) {
            let (pointer, count) = try reader.text(head, entry, slot)
            if try MixedOrder.holds(comparison, Value(kind: .mixed, pointer: pointer, count: count), constant) {
                mask[slot &>> 6] |= 1 &<< UInt64(slot & 63)
            }
        }
    }

    /// Which of the 64 rows from `row` on have a code.
    @inline(__always)
    private static func codes(_ part: UnsafeRawPointer, equal code: Int, from row: Int) -> UInt64 {
        let width = TextDictionary.width(part), count = min(64, StringSegment.rows(part) &- row)
        guard count > 0 else { return 0 }
        var mask: UInt64 = 0
        NumberKernels.mask(
            TextDictionary.codes(part) + (row &* width) &>> 3, count, width: width, low: UInt64(code), span: 0,
            into: &mask)
        return mask
    }

    /// Each value of a dictionary is compared once. `table` is scratch memory, a byte a value.
    private func findOrdered(
        _ head: UnsafeRawPointer, _ part: UnsafeRawPointer, _ first: Int, _ count: Int,
        _ fingerprints: UnsafePointer<UInt8>, _ table: UnsafeMutablePointer<UInt8>,
        _ mask: UnsafeMutablePointer<UInt64>
    ) {
        for code in 0..<TextDictionary.values(part) {
            let value = TextDictionary.value(part, code)
            table[code] =
                comparison.holds(
                    LeafMatcher.order(value.pointer, value.count, constant.pointer, constant.count)) ? 1 : 0
        }
        for row in 0..<count where fingerprints[first &+ row] != 0 {
            mask[(first &+ row) &>> 6] |= UInt64(table[TextDictionary.code(part, row)]) &<< UInt64((first &+ row) & 63)
        }
    }

    func findOrderedText(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
        mask.update(repeating: 0, count: 64)
        let reader = LeafReader(source: source)
        let fingerprints = try reader.fingerprints(head, entry).assumingMemoryBound(to: UInt8.self)
        let segmentRows = entry.segmentRows
        // The first eight bytes decide nearly always: compared as one word.
        let wanted = LeafMatcher.prefix(constant.pointer, constant.count)
        let greaterWanted: UInt64 = comparison == .greater || comparison == .greaterOrEqual ? 1 : 0
        var first = 0
        while first < rows {
            let count = min(segmentRows, rows &- first)
            let part = try reader.textSegment(head, entry, segment: entry.segmentIndex(first), rows: count)
            if StringSegment.isDictionary(part) {
                (mask + 64).withMemoryRebound(to: UInt8.self, capacity: TextDictionary.mostValues) { table in
                    findOrdered(head, part, first, count, fingerprints, table, mask)
                }
                first &+= count
                continue
            }
            let blob = part + StringSegment.blobOffset(part), hasLong = StringSegment.hasLong(part)
            let blobBytes = StringSegment.offset(part, count)
            var start = 0
            for row in 0..<count {
                let end = StringSegment.offset(part, row &+ 1), slot = first &+ row
                let begin = start
                start = end
                if fingerprints[slot] == 0 || !LeafHead.isLive(head, slot) { continue }
                var pointer = blob + begin, length = end &- begin
                if hasLong, StringSegment.isLong(part, row) {
                    (pointer, length) = try reader.longValue(pointer)
                } else if begin &+ 8 <= blobBytes {
                    var word = UInt64(bigEndian: pointer.loadUnaligned(as: UInt64.self))
                    if length < 8 { word &= length == 0 ? 0 : ~0 &<< UInt64(64 &- length &<< 3) }
                    if word != wanted {
                        let lower = UInt64(unsafeBitCast(word < wanted, to: UInt8.self))
                        mask[slot &>> 6] |= (lower ^ greaterWanted) &<< UInt64(slot & 63)
                        continue
                    }
                }
                if comparison.holds(LeafMatcher.order(pointer, length, constant.pointer, constant.count)) {
                    mask[slot &>> 6] |= 1 &<< UInt64(slot & 63)
                }
            }
            first &+= count
        }
    }

    /// The first eight bytes as a number that orders like them; missing ones are zero.
    private static func prefix(_ bytes: UnsafeRawPointer?, _ count: Int) -> UInt64 {
        var word: UInt64 = 0
        for index in 0..<8 {
            word =
                word << 8
                | (index < count ? UInt64(bytes.unsafelyUnwrapped.load(fromByteOffset: index, as: UInt8.self)) : 0)
        }
        return word
    }
}
