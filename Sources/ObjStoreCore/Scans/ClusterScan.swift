internal import CSystem

/// Scans of one column with one comparison, over all objects in key order. Deleted rows and nulls are skipped
/// as `Comparison` says; leaves whose bounds exclude or include everything are not looked into.
extension ClusterReader {
    /// Prefetches what the next leaves of a scan will touch: the head of the sixth next, the first part of
    /// the second next.
    @inline(__always)
    func prefetchAhead(_ cursor: LeafCursor, column: Int, aux: Bool) throws(StoreError) {
        cursor.prefetchHead(distance: 8, line: column)
        guard let head = try cursor.peek() else { return }
        guard let entry = LeafHead.entry(head, id: columns[column].id, hint: column) else { return }
        var raw = aux ? entry.aux : entry.main
        if aux ? entry.isAuxInline : entry.isMainInline { return }
        if !aux, entry.isSegmented { raw = LeafSegment(head + Int(entry.main)).ref }
        if raw < UInt64(source.limit) {
            let part = source.base + Int(raw & ~Ref.tagMask)
            var offset = 0
            while offset < 1024 { cs_prefetch(part + offset); offset &+= 64 }
        }
    }

    /// How many objects match.
    package func count(_ column: Int, _ comparison: Comparison, _ constant: Value) throws(StoreError) -> Int {
        let matcher = try LeafMatcher(source, columns[column], hint: column, comparison, constant)
        let mask = UnsafeMutablePointer<UInt64>.allocate(capacity: LeafMatcher.maskWords)
        defer { mask.deallocate() }
        let text = constant.kind.isText || columns[column].kind == .mixed
        var cursor = LeafCursor(self, from: 0)
        var total = 0
        while let head = try cursor.next() {
            try prefetchAhead(cursor, column: column, aux: text)
            total &+= try matcher.count(head, mask)
        }
        return total
    }

    /// Appends the keys of matching objects from key `from` on, at most `limit` of them; returns how many.
    @discardableResult
    package func collect(
        _ column: Int, _ comparison: Comparison, _ constant: Value, from: Int64 = 0, into keys: KeyBuffer,
        limit: Int = .max
    ) throws(StoreError) -> Int {
        if limit <= 0 { return 0 }
        let matcher = try LeafMatcher(source, columns[column], hint: column, comparison, constant)
        let mask = UnsafeMutablePointer<UInt64>.allocate(capacity: LeafMatcher.maskWords)
        defer { mask.deallocate() }
        let text = constant.kind.isText || columns[column].kind == .mixed
        var cursor = LeafCursor(self, from: from)
        var found = 0
        while let head = try cursor.next() {
            try prefetchAhead(cursor, column: column, aux: text)
            try matcher.matches(head, into: mask)
            let leafKeys = LeafKeys(source, head)
            for word in 0..<64 {
                var bits = mask[word]
                while bits != 0 {
                    let key = try leafKeys.key(word &<< 6 &+ bits.trailingZeroBitCount)
                    bits &= bits &- 1
                    if key < from { continue }
                    try keys.append(key)
                    found &+= 1
                    if found == limit { return found }
                }
            }
        }
        return found
    }

    /// The matching object with the smallest key of at least `from`.
    package func first(
        _ column: Int, _ comparison: Comparison, _ constant: Value, from: Int64 = 0
    ) throws(StoreError) -> RowPosition? {
        let keys = KeyBuffer(capacity: 1)
        guard try collect(column, comparison, constant, from: from, into: keys, limit: 1) == 1 else { return nil }
        return try find(keys.keys[0])
    }
}
