/// Small changes of packed leaves without decoding them: elements are moved within the three columns.
extension IndexWriter {
    /// Changes a packed leaf in place while values, keys and sizes fit. False: nothing was touched.
    func splice(_ ref: Ref, _ leaf: UnsafeRawPointer, _ low: Int, _ high: Int) throws(StoreError) -> Bool {
        let limits = builder.limits
        let values = IndexLeaf.values(leaf), keys = IndexLeaf.keys(leaf), lows = IndexLeaf.lows(leaf)
        let isNull = IndexLeaf.isNull(leaf)
        var inserted = 0
        for at in low..<high {
            let change = changes[at]
            if change.isNull != isNull { return false }
            if change.isRemoval { continue }
            inserted += 1
            guard change.bits >= values.base, change.bits &- values.base <= IndexColumn.limit(values.width),
                change.key >= Int64(bitPattern: keys.base),
                UInt64(bitPattern: change.key) &- keys.base <= IndexColumn.limit(keys.width),
                UInt64(change.low) >= lows.base, UInt64(change.low) &- lows.base <= IndexColumn.limit(lows.width)
            else { return false }
        }
        let old = NodeHeader.count(leaf)
        let width = values.width + keys.width + lows.width
        let count = old + inserted
        if count > limits.leafEntries || IndexLeaf.data + count * width > limits.leafBytes { return false }
        // Leaves whose last entry goes are unlinked by the general way.
        if high - low - inserted >= old { return false }
        let (own, _) = try builder.space.writableNode(
            ref, .indexLeaf, slack: max(0, limits.leafBytes - NodeHeader.bytes(leaf)))
        let node = try builder.space.grow(own, capacity: IndexLeaf.data + count * width)
        for at in low..<high where changes[at].isRemoval {
            let change = changes[at]
            let index = try IndexSearch.position(UnsafeRawPointer(node), change, order, isAfter: false)
            let count = NodeHeader.count(node)
            let keys = IndexLeaf.keys(node)
            guard index < count, IndexLeaf.values(node)[index] == change.bits,
                Int64(bitPattern: keys[index]) == change.key,
                UInt32(truncatingIfNeeded: IndexLeaf.lows(node)[index]) == change.low
            else { throw StoreError(.corrupt, "an index does not have what object \(change.key) had") }
            IndexWriter.close(node, index, count, values.width, keys.width, lows.width)
            NodeHeader.setCount(node, count - 1)
        }
        for at in low..<high where !changes[at].isRemoval {
            let change = changes[at]
            let index = try IndexSearch.position(UnsafeRawPointer(node), change, order, isAfter: false)
            let count = NodeHeader.count(node)
            if index < count || (unique && index > 0) { try checkNeighbours(node, index, count, change) }
            IndexWriter.open(node, index, count, values.width, keys.width, lows.width)
            NodeHeader.setCount(node, count + 1)
            let value = node + (IndexLeaf.data + index * values.width)
            let keyStart = node + (IndexLeaf.data + (count + 1) * values.width)
            let lowStart = keyStart + (count + 1) * keys.width
            IndexColumn.store(change.bits &- values.base, value, width: values.width)
            IndexColumn.store(
                UInt64(bitPattern: change.key) &- keys.base, keyStart + index * keys.width, width: keys.width)
            IndexColumn.store(UInt64(change.low) &- lows.base, lowStart + index * lows.width, width: lows.width)
        }
        let entries = NodeHeader.count(node), bytes = IndexLeaf.data + entries * width
        NodeHeader.setBytes(node, bytes)
        builder.space.arena.setBytes(own, bytes)
        builder.built.append(
            IndexChild(
                ref: own, count: entries, separator: .lowest,
                isSmall: builder.isSmall(bytes, limits.leafBytes, (entries, limits.leafEntries))))
        return true
    }

    private func checkNeighbours(
        _ node: UnsafeRawPointer, _ index: Int, _ count: Int, _ change: IndexEntry
    ) throws(StoreError) {
        let values = IndexLeaf.values(node), lows = IndexLeaf.lows(node), keys = IndexLeaf.keys(node)
        for neighbour in [index - 1, index] where neighbour >= 0 && neighbour < count {
            guard values[neighbour] == change.bits, UInt32(truncatingIfNeeded: lows[neighbour]) == change.low else {
                continue
            }
            if unique { throw StoreError(.corrupt, "a unique index has one value twice, of object \(change.key)") }
            if Int64(bitPattern: keys[neighbour]) == change.key {
                throw StoreError(.corrupt, "an index has what object \(change.key) gets already")
            }
        }
    }

    /// Makes room for entry `index` in the three columns of a leaf of `count`.
    private static func open(_ leaf: UnsafeMutableRawPointer, _ index: Int, _ count: Int, _ a: Int, _ b: Int, _ c: Int)
    {
        let start = leaf + IndexLeaf.data
        let end = start + count * (a + b + c)
        let lowAt = start + (count * (a + b) + index * c)
        let keyAt = start + (count * a + index * b)
        let valueAt = start + index * a
        // From the end: each piece moves by the widths of the elements that come before it.
        (lowAt + (a + b + c)).copyMemory(from: lowAt, byteCount: end - lowAt)
        (keyAt + (a + b)).copyMemory(from: keyAt, byteCount: lowAt - keyAt)
        (valueAt + a).copyMemory(from: valueAt, byteCount: keyAt - valueAt)
    }

    /// Takes entry `index` out of the three columns of a leaf of `count`.
    private static func close(_ leaf: UnsafeMutableRawPointer, _ index: Int, _ count: Int, _ a: Int, _ b: Int, _ c: Int)
    {
        let start = leaf + IndexLeaf.data
        let end = start + count * (a + b + c)
        let lowAt = start + (count * (a + b) + index * c)
        let keyAt = start + (count * a + index * b)
        let valueAt = start + index * a
        valueAt.copyMemory(from: valueAt + a, byteCount: keyAt - valueAt - a)
        (keyAt - a).copyMemory(from: keyAt + b, byteCount: lowAt - keyAt - b)
        (lowAt - a - b).copyMemory(from: lowAt + c, byteCount: end - lowAt - c)
    }
}
