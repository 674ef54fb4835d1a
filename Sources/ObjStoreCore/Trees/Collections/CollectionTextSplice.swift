internal import CSystem

/// Changes of one element in a leaf with texts: their bytes go to the end of the blob, what a removed one leaves behind stays
/// there until the leaf is full and written anew.
///
/// ```
///  head  owners  ends │ lows … │+│ … highs … │+│ … blob │+ text│ …           the pieces between the places of change
///        copied, then changed  └─ copied piece by piece into scratch memory ─┘     are copied as they are
/// ```
extension CollectionWriter {
    /// Removes, sets or inserts one element; nil where the leaf has to be written anew.
    func splicedText(_ ref: Ref, _ old: CollectionLeaf, _ positions: Range<Int>, _ new: ContiguousArray<CollectionElement>) throws(StoreError) -> CollectionChild? {
        guard new.count <= 1, positions.count <= 1, !old.values.mayHaveLong, old.values.kinds == nil, !hasKeys || old.keys.kinds == nil else { return nil }
        let count = old.count + new.count - positions.count, at = positions.lowerBound
        guard count > 0, count <= limits.leafElements else { return nil }
        // The owner must be there before and after, so that the list of owners stays as it is.
        let owner = new.isEmpty ? old.ownerIndex(ofElement: at) : old.ownerIndex(new[0].owner)
        guard owner < old.ownerCount else { return nil }
        if let element = new.first {
            guard old.owner(owner) == element.owner, takes(element.value, old.values), !hasKeys || takes(element.key, old.keys) else { return nil }
        } else if old.end(owner) - old.start(owner) == 1 { return nil }
        let delta = new.count - positions.count
        let widths = old.values.lows.width + old.values.highs.width + (hasKeys ? old.keys.lows.width + old.keys.highs.width : 0)
        let text = (new.first?.value.blobBytes ?? 0) + (hasKeys ? new.first?.key.blobBytes ?? 0 : 0)
        let bytes = NodeHeader.bytes(old.node) + delta * widths + text
        guard bytes <= limits.leafBytes else { return nil }

        let image = space.scratch.allocate(bytes)
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
        let ends = old.endsAddress(in: image)
        if delta != 0 {
            for index in owner..<old.ownerCount {
                let end = ends.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)
                ends.storeBytes(of: UInt16(Int(end) + delta), toByteOffset: index * 2, as: UInt16.self)
            }
        }
        NodeHeader.setCount(image, count)
        NodeHeader.setBytes(image, bytes)

        let firstOwner = old.firstOwner
        let (own, _) = try space.writableNode(ref, .collectionLeaf, slack: 512)
        let node = try space.grow(own, capacity: bytes)
        node.copyMemory(from: image, byteCount: bytes)
        space.arena.setBytes(own, bytes)
        return CollectionChild(owner: firstOwner, ref: own, count: count)
    }

    /// Whether the column has a place for the value as it is.
    private func takes(_ stored: StoredValue, _ column: CollectionColumn) -> Bool {
        guard stored.kindByte == column.kind, !stored.isLong, stored.value.kind != .null else { return false }
        let (low, high) = column.words(of: stored)
        return low <= IndexColumn.limit(column.lows.width) && high <= IndexColumn.limit(column.highs.width)
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

        mutating func splice(_ column: CollectionColumn, count: Int, _ at: Int, _ removed: Int, _ stored: StoredValue?) {
            let lows = column.lows.first + (8 - column.lows.width), highs = column.highs.first + (8 - column.highs.width)
            let (low, high) = stored.map { column.words(of: $0) } ?? (0, 0)
            word(lows, column.lows.width, at, removed, stored == nil ? nil : low)
            word(highs, column.highs.width, at, removed, stored == nil ? nil : high)
            guard let stored, stored.blobBytes > 0 else { return }
            take(upTo: column.end)
            memcpy(target, stored.value.pointer!, stored.blobBytes)
            target += stored.blobBytes
        }

        private mutating func word(_ column: UnsafeRawPointer, _ width: Int, _ at: Int, _ removed: Int, _ value: UInt64?) {
            take(upTo: column + at * width)
            if let value {
                IndexColumn.store(value, target, width: width)
                target += width
            }
            source += removed * width
        }
    }
}

extension CollectionColumn {
    /// What stands for a value in the two words, above the bases; of a text it goes to the end of the blob.
    fileprivate func words(of stored: StoredValue) -> (low: UInt64, high: UInt64) {
        let low = stored.isText ? UInt64(blobBytes) : UInt64(bitPattern: stored.value.low)
        let high = stored.isText ? UInt64(stored.blobBytes) : UInt64(bitPattern: stored.value.high)
        return (low &- lows.base, high &- highs.base)
    }
}
