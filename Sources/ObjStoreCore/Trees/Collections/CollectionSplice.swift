internal import CSystem

/// Changes of one element, and removals of some, in a leaf of numbers, in place: what most changes are.
extension CollectionWriter {
    /// Sets or inserts one element, or removes some, where the leaf's columns are of numbers that hold the new one; nil
    /// if the leaf has to be rewritten.
    func spliced(
        _ ref: Ref, _ old: CollectionLeaf, _ positions: Range<Int>, _ new: ContiguousArray<CollectionElement>
    ) throws(StoreError) -> CollectionChild? {
        if isText(old.values.kind) || hasKeys && isText(old.keys.kind) { return nil }
        guard let owner = positions.count > 1 ? ownerOfSome(old, positions, new) : ownerOfOne(old, positions, new)
        else { return nil }
        let at = positions.lowerBound, delta = new.count - positions.count, count = old.count + delta
        let bytes = NodeHeader.bytes(old.node) + delta * widths(old)
        guard bytes <= limits.leafBytes else { return nil }

        let (own, _) = try space.writableNode(ref, .collectionLeaf, slack: 512)
        let node = try space.grow(own, capacity: bytes)
        let leaf = CollectionLeaf(node)
        // From the back to the front where it grows: nothing is overwritten before it was moved.
        var moves = InlineArray<4, Move>(repeating: Move(column: node, width: 0, value: 0)), columns = 0
        func add(_ column: CollectionColumn, _ stored: StoredValue?) {
            let (low, high) = stored.map { column.words(of: $0) } ?? (0, 0)
            let lows = UnsafeMutableRawPointer(mutating: column.lows.first + 8 - column.lows.width)
            moves[columns] = Move(column: lows, width: column.lows.width, value: low)
            moves[columns + 1] = Move(
                column: lows + leaf.count * column.lows.width, width: column.highs.width, value: high)
            columns += 2
        }
        if hasKeys { add(leaf.keys, new.first?.key) }
        add(leaf.values, new.first?.value)
        CollectionWriter.shift(
            moves, columns, node, used: NodeHeader.bytes(node), count: leaf.count, at: at, delta: delta,
            stores: !new.isEmpty)
        leaf.moveEnds(from: owner, by: delta, in: node)
        if delta != 0 {
            NodeHeader.setCount(node, count)
            NodeHeader.setBytes(node, bytes)
            space.arena.setBytes(own, bytes)
        }
        return CollectionChild(owner: leaf.firstOwner, ref: own, count: count, hasNewFirst: at == 0)
    }

    private func isText(_ byte: UInt8) -> Bool {
        ValueKind(rawValue: byte & ~CollectionColumn.longBit)?.hasOffsets ?? true
    }

    /// Where the owner is in a leaf of whose elements one is removed, set or inserted; nil where it is another
    /// change, or the leaf has no place for the element as it is.
    func ownerOfOne(_ old: CollectionLeaf, _ positions: Range<Int>, _ new: ContiguousArray<CollectionElement>) -> Int? {
        guard new.count <= 1, positions.count <= 1, old.values.kinds == nil, !old.values.mayHaveLong,
            !hasKeys || old.keys.kinds == nil
        else { return nil }
        let count = old.count + new.count - positions.count
        guard count > 0, count <= limits.leafElements else { return nil }
        // The owner must be there before and after, so that the list of owners stays as it is.
        let owner = new.isEmpty ? old.ownerIndex(ofElement: positions.lowerBound) : old.ownerIndex(new[0].owner)
        guard owner < old.ownerCount else { return nil }
        if let element = new.first {
            guard old.owner(owner) == element.owner, old.values.takes(element.value),
                !hasKeys || old.keys.takes(element.key)
            else { return nil }
        } else if old.end(owner) - old.start(owner) == 1 {
            return nil
        }
        return owner
    }

    /// The same where several are removed.
    private func ownerOfSome(
        _ old: CollectionLeaf, _ positions: Range<Int>, _ new: ContiguousArray<CollectionElement>
    ) -> Int? {
        guard new.isEmpty, old.values.kinds == nil, !old.values.mayHaveLong, !hasKeys || old.keys.kinds == nil else {
            return nil
        }
        let owner = old.ownerIndex(ofElement: positions.lowerBound)
        return old.end(owner) >= positions.upperBound && old.end(owner) - old.start(owner) > positions.count
            ? owner : nil
    }

    /// Bytes of an element without its texts.
    func widths(_ leaf: CollectionLeaf) -> Int {
        leaf.values.lows.width + leaf.values.highs.width + (hasKeys ? leaf.keys.lows.width + leaf.keys.highs.width : 0)
    }

    /// What happens to one column: where it begins, and what the element there is.
    private struct Move {
        var column: UnsafeMutableRawPointer
        var width: Int
        var value: UInt64
    }

    /// Makes room for an element in each of some columns that follow each other, or closes the gap of those that go.
    private static func shift(
        _ columns: borrowing InlineArray<4, Move>, _ columnCount: Int, _ node: UnsafeMutableRawPointer, used: Int,
        count: Int, at: Int,
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
                let width = columns[index].width, gone = -delta * width
                let gap = columns[index].column + at * width,
                    next =
                        index + 1 < columnCount
                        ? columns[index + 1].column + at * columns[index + 1].width : node + used
                let rest = gap + gone
                memmove(gap - shrink, rest, next - rest)
                shrink += gone
            }
        } else if stores {
            for index in 0..<columnCount {
                IndexColumn.store(
                    columns[index].value, columns[index].column + at * columns[index].width, width: columns[index].width
                )
            }
        }
    }
}

extension CollectionColumn {
    /// What represents a value in the two words, above the bases; a text goes to the end of the blob.
    @inline(__always)
    func words(of stored: StoredValue) -> (low: UInt64, high: UInt64) {
        let low = stored.isText ? UInt64(blobBytes) : UInt64(bitPattern: stored.value.low)
        let high = stored.isText ? UInt64(stored.blobBytes) : UInt64(bitPattern: stored.value.high)
        return (low &- lows.base, high &- highs.base)
    }

    /// Whether the column has a place for the value as it is.
    fileprivate func takes(_ stored: StoredValue) -> Bool {
        guard stored.kindByte == kind, !stored.isLong, stored.value.kind != .null else { return false }
        let (low, high) = words(of: stored)
        return low <= IndexColumn.limit(lows.width) && high <= IndexColumn.limit(highs.width)
    }
}
