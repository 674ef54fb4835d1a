internal import CSystem

/// Changes of one element in a leaf of numbers, in place: what most changes are.
extension CollectionWriter {
    /// Removes, sets or inserts one element where the leaf's columns are of numbers that hold the new one; nil where the leaf
    /// has to be written anew.
    func spliced(_ ref: Ref, _ old: CollectionLeaf, _ positions: Range<Int>, _ new: ContiguousArray<CollectionElement>) throws(StoreError) -> CollectionChild? {
        guard new.count + positions.count <= 2, new.count <= 1, positions.count <= 1, !old.values.mayHaveLong, !isText(old.values.kind) else { return nil }
        if hasKeys, old.keys.kinds != nil || isText(old.keys.kind) { return nil }
        let count = old.count + new.count - positions.count, at = positions.lowerBound
        guard count > 0, count <= limits.leafElements else { return nil }
        // The owner must be there before and after, so that the list of owners stays as it is.
        let owner = new.isEmpty ? old.ownerIndex(ofElement: at) : old.ownerIndex(new[0].owner)
        guard owner < old.ownerCount else { return nil }
        if let element = new.first {
            guard old.owner(owner) == element.owner, fits(element.value, old.values), !hasKeys || fits(element.key, old.keys) else { return nil }
        } else if old.end(owner) - old.start(owner) == 1 { return nil }
        let delta = new.count - positions.count
        let elementBytes = width(old.values) + (hasKeys ? width(old.keys) : 0)
        let bytes = NodeHeader.bytes(old.node) + delta * elementBytes
        guard bytes <= limits.leafBytes else { return nil }

        let (own, _) = try space.writableNode(ref, .collectionLeaf, slack: 512)
        let node = try space.grow(own, capacity: bytes)
        let leaf = CollectionLeaf(node)
        // From the back to the front where it grows: nothing is overwritten before it was moved.
        var moves = InlineArray<4, Move>(repeating: Move(column: node, width: 0, value: 0)), columns = 0
        func add(_ column: CollectionColumn, _ stored: StoredValue?) {
            let low = UInt64(bitPattern: stored?.value.low ?? 0) &- column.lows.base, high = UInt64(bitPattern: stored?.value.high ?? 0) &- column.highs.base
            let lows = UnsafeMutableRawPointer(mutating: column.lows.first + 8 - column.lows.width)
            moves[columns] = Move(column: lows, width: column.lows.width, value: low)
            moves[columns + 1] = Move(column: lows + leaf.count * column.lows.width, width: column.highs.width, value: high)
            columns += 2
        }
        if hasKeys { add(leaf.keys, new.first?.key) }
        add(leaf.values, new.first?.value)
        CollectionWriter.shift(moves, columns, node, used: NodeHeader.bytes(node), count: leaf.count, at: at, delta: delta, stores: !new.isEmpty)
        if delta != 0 {
            let ends = leaf.endsAddress(in: node)
            for index in owner..<leaf.ownerCount {
                let end = ends.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)
                ends.storeBytes(of: UInt16(Int(end) + delta), toByteOffset: index * 2, as: UInt16.self)
            }
            NodeHeader.setCount(node, count)
            NodeHeader.setBytes(node, bytes)
            space.arena.setBytes(own, bytes)
        }
        return CollectionChild(owner: leaf.firstOwner, ref: own, count: count)
    }

    private func isText(_ byte: UInt8) -> Bool { ValueKind(rawValue: byte & ~CollectionColumn.longBit)?.isText ?? true }
    private func width(_ column: CollectionColumn) -> Int { column.lows.width + column.highs.width }

    /// Whether the column has a place for the value as it is.
    private func fits(_ stored: StoredValue, _ column: CollectionColumn) -> Bool {
        guard stored.kindByte == column.kind, column.kinds == nil, stored.value.kind != .null else { return false }
        return UInt64(bitPattern: stored.value.low) &- column.lows.base <= IndexColumn.limit(column.lows.width)
            && UInt64(bitPattern: stored.value.high) &- column.highs.base <= IndexColumn.limit(column.highs.width)
    }

    /// What happens to one column: where it begins, and what the element there is.
    private struct Move {
        var column: UnsafeMutableRawPointer
        var width: Int
        var value: UInt64
    }

    /// Makes room for an element in each of some columns that follow each other, or closes its gap.
    private static func shift(
        _ columns: borrowing InlineArray<4, Move>, _ columnCount: Int, _ node: UnsafeMutableRawPointer, used: Int, count: Int, at: Int,
        delta: Int, stores: Bool
    ) {
        if delta > 0 {
            // Each piece behind the new element moves by what the columns up to it grow.
            var end = node + used, growth = 0, index = columnCount
            for at in 0..<columnCount { growth += columns[at].width }
            while index > 0 {
                index -= 1
                let column = columns[index].column, width = columns[index].width, value = columns[index].value
                let gap = column + at * width
                memmove(gap + growth, gap, end - gap)
                growth -= width
                IndexColumn.store(value, gap + growth, width: width)
                end = gap
            }
        } else if delta < 0 {
            var shrink = 0
            for index in 0..<columnCount {
                let width = columns[index].width
                let gap = columns[index].column + at * width, next = index + 1 < columnCount ? columns[index + 1].column + at * columns[index + 1].width : node + used
                let rest = gap + width
                memmove(gap - shrink, rest, next - rest)
                shrink += width
            }
        } else if stores {
            for index in 0..<columnCount { IndexColumn.store(columns[index].value, columns[index].column + at * columns[index].width, width: columns[index].width) }
        }
    }
}
