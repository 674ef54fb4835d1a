internal import CSystem

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

    /// A scan with one comparison, over all objects in key order. Deleted rows and nulls are skipped as `Comparison`
    /// says.
    package func scan(_ column: Int, _ comparison: Comparison, _ constant: Value) throws(StoreError) -> LeafScan {
        try LeafScan(self, column, comparison, constant)
    }
}
