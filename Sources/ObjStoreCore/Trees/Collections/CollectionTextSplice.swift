internal import CSystem

/// Changes of one element in a leaf with texts: their bytes go to the end of the blob, what a removed one leaves behind
/// stays there until the leaf is full and rewritten.
///
/// ```
///  head  owners  ends │ lows … │+│ … highs … │+│ … blob │+ text│ …           the pieces between the places of change
///        copied, then changed  └─ copied piece by piece into scratch memory ─┘     are copied as they are
/// ```
extension CollectionWriter {
    /// Removes, sets or inserts one element; nil if the leaf has to be rewritten.
    func splicedText(
        _ ref: Ref, _ old: CollectionLeaf, _ positions: Range<Int>, _ new: ContiguousArray<CollectionElement>
    ) throws(StoreError) -> CollectionChild? {
        guard let owner = ownerOfOne(old, positions, new) else { return nil }
        let at = positions.lowerBound, delta = new.count - positions.count
        let text = (new.first?.value.blobBytes ?? 0) + (hasKeys ? new.first?.key.blobBytes ?? 0 : 0)
        let bytes = NodeHeader.bytes(old.node) + delta * widths(old) + text
        guard bytes <= limits.leafBytes else { return nil }

        let image = try space.scratch.allocate(bytes)
        var copy = Copy(from: old.node, to: image)
        if hasKeys { copy.splice(old.keys, count: old.count, at, positions.count, new.first?.key) }
        copy.splice(old.values, count: old.count, at, positions.count, new.first?.value)
        copy.take(upTo: old.node + NodeHeader.bytes(old.node))
        var line = image + CollectionLeaf.columnsAt
        if hasKeys {
            CollectionWriter.addBlob(line, new.first?.key)
            line += CollectionColumn.description
        }
        CollectionWriter.addBlob(line, new.first?.value)
        old.moveEnds(from: owner, by: delta, in: image)
        NodeHeader.setCount(image, old.count + delta)
        NodeHeader.setBytes(image, bytes)

        let firstOwner = old.firstOwner
        let (own, _) = try space.writableNode(ref, .collectionLeaf, slack: 512)
        let node = try space.grow(own, capacity: bytes)
        node.copyMemory(from: image, byteCount: bytes)
        space.arena.setBytes(own, bytes)
        return CollectionChild(owner: firstOwner, ref: own, count: old.count + delta, hasNewFirst: at == 0)
    }

    private static func addBlob(_ line: UnsafeMutableRawPointer, _ stored: StoredValue?) {
        guard let stored, stored.blobBytes > 0 else { return }
        let bytes = line.load(fromByteOffset: 4, as: UInt32.self)
        line.storeBytes(of: bytes + UInt32(stored.blobBytes), toByteOffset: 4, as: UInt32.self)
    }

    /// Copies a leaf piece by piece, with one element another, more or less.
    private struct Copy {
        private var source: UnsafeRawPointer
        private var target: UnsafeMutableRawPointer

        init(from source: UnsafeRawPointer, to target: UnsafeMutableRawPointer) {
            self.source = source
            self.target = target
        }

        mutating func take(upTo end: UnsafeRawPointer) {
            let bytes = end - source
            memcpy(target, source, bytes)
            target += bytes
            source = end
        }

        mutating func splice(_ column: CollectionColumn, count: Int, _ at: Int, _ removed: Int, _ stored: StoredValue?)
        {
            let lows = column.lows.first + (8 - column.lows.width),
                highs = column.highs.first + (8 - column.highs.width)
            let (low, high) = stored.map { column.words(of: $0) } ?? (0, 0)
            word(lows, column.lows.width, at, removed, stored == nil ? nil : low)
            word(highs, column.highs.width, at, removed, stored == nil ? nil : high)
            guard let stored, stored.blobBytes > 0 else { return }
            take(upTo: column.end)
            memcpy(target, stored.value.pointer!, stored.blobBytes)
            target += stored.blobBytes
        }

        private mutating func word(
            _ column: UnsafeRawPointer, _ width: Int, _ at: Int, _ removed: Int, _ value: UInt64?
        ) {
            take(upTo: column + at * width)
            if let value {
                IndexColumn.store(value, target, width: width)
                target += width
            }
            source += removed * width
        }
    }
}
