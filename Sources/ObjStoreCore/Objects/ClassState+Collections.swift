/// Changes of lists, sets and maps.
extension ClassState {
    private func cell(_ row: RowPosition, _ property: Int) throws(StoreError) -> CollectionCell.Bytes {
        let value = try value(row, property)
        return CollectionCell.Bytes(start: value.pointer, count: value.count)
    }

    /// Replaces the elements at some indexes, which exist, by others, which were checked. Of sets and maps they stay in
    /// order and different: the caller knows where they belong.
    package func splice(
        _ key: Int64, _ property: Int, _ indexes: Range<Int>, _ new: ArraySlice<(key: Value, value: Value)>
    ) throws(StoreError) {
        let row = try row(key)
        // First what is logged: values may lie in the leaf that changes.
        let mark = ops.mark
        ops.splice(schema, key: key, property: property, at: indexes.lowerBound, removed: indexes.count, inserted: new)
        do throws(StoreError) { try replaceElements(row, property, indexes, new) } catch {
            ops.rollBack(to: mark)
            throw error
        }
    }

    /// Whether what a log says was done to a collection can be done to it: the elements are valid in it and, in sets
    /// and maps, between their neighbours.
    func isFit(_ splice: Op.Splice, _ key: Int64, _ property: Int) throws(StoreError) -> Bool {
        let kind = schema.columns[property].kind
        func place(_ element: (key: Value, value: Value)) -> OwnedValue {
            OwnedValue(kind == .map ? element.key : element.value)
        }
        do throws(StoreError) {
            let elements = try elements(key, property), count = try elements.count()
            guard splice.at <= count, splice.removed <= count - splice.at else { return false }
            var last: OwnedValue?
            if kind != .list, splice.at > 0 { last = place(try elements.element(at: splice.at - 1)) }
            for element in splice.inserted {
                try ValueCheck.check(
                    key: element.key, value: element.value, elementOf: property, schema, after: last,
                    longestKey: ClassSchema.longestKey)
                if kind != .list { last = place(element) }
            }
            guard let last, splice.at + splice.removed < count else { return true }
            let next = place(try elements.element(at: splice.at + splice.removed))
            return withExtendedLifetime((last, next)) { CollectionOrder.compare(last.value, next.value) < 0 }
        } catch {
            guard error.isDamage || error.isUnfit else { throw error }
            return false
        }
    }

    func replaceElements(
        _ row: RowPosition, _ property: Int, _ indexes: Range<Int>, _ new: ArraySlice<(key: Value, value: Value)>
    ) throws(StoreError) {
        let tree = collections[try collectionPosition(property)], cell = try cell(row, property)
        do throws(StoreError) {
            if let index = elementIndex(property) { try note(row, property, indexes, new, in: index) }
            try replace(row, property, tree, cell, indexes, new)
        } catch {
            isBroken = true
            throw error
        }
        hasChanges = true
    }

    /// The index that has entries for the elements of a collection; nil: there is none.
    private func elementIndex(_ property: Int) -> ClassIndex? {
        if let position = schema.inversePosition(of: property) { return inverses[position] }
        if _fastPath(schema.elements(of: property).kind != .mixed) { return nil }
        return schema.mixedPosition(of: property).map { mixedInverses[$0] }
    }

    private func replace(
        _ row: RowPosition, _ property: Int, _ tree: CollectionWriter, _ cell: CollectionCell.Bytes,
        _ indexes: Range<Int>,
        _ new: ArraySlice<(key: Value, value: Value)>
    ) throws(StoreError) {
        if CollectionCell.isInTree(cell) {
            try replaceInTree(row, property, tree, indexes, new)
        } else {
            try replaceInCell(row, property, tree, cell, indexes, new)
        }
    }

    private func replaceInCell(
        _ row: RowPosition, _ property: Int, _ tree: CollectionWriter, _ cell: CollectionCell.Bytes,
        _ indexes: Range<Int>,
        _ new: ArraySlice<(key: Value, value: Value)>
    ) throws(StoreError) {
        let elements = schema.elements(of: property)
        var all: [(key: Value, value: Value)] = []
        try CollectionCell.forEach(cell, elements) { key, value in
            all.append((key, value))
            return true
        }
        all.replaceSubrange(indexes, with: new)
        let buffer = ByteBuffer(capacity: 128)
        if try CollectionCell.encode(all[...], elements, limit: CollectionCell.longest, into: buffer) {
            return try setCell(
                row, property, Value(kind: .list, pointer: UnsafeRawPointer(buffer.base), count: buffer.count))
        }
        // The cell is changed last: texts of `all` lie in it.
        let start = try tree.reader.range(row.key)
        guard start.isEmpty else {
            throw CollectionReader.damaged("it has elements of \(row.key), which should have none there")
        }
        try tree.replace(row.key, start, with: all[...])
        try setCell(row, property, CollectionCell.treeMark)
    }

    private func replaceInTree(
        _ row: RowPosition, _ property: Int, _ tree: CollectionWriter, _ indexes: Range<Int>,
        _ new: ArraySlice<(key: Value, value: Value)>
    ) throws(StoreError) {
        let range = try tree.range(row.key)
        guard indexes.upperBound <= range.count else {
            throw CollectionReader.damaged("\(row.key) has \(range.count) elements")
        }
        try tree.replace(
            row.key, range.lowerBound + indexes.lowerBound..<range.lowerBound + indexes.upperBound, with: new)
        let count = range.count - indexes.count + new.count
        if new.count >= indexes.count || count > 16 { return }
        // Few are left: back into the cell, unless they are long.
        var left: [(key: Value, value: Value)] = []
        try (try elements(row, property)).forEach { key, value in
            left.append((key, value))
            return true
        }
        let buffer = ByteBuffer(capacity: 128)
        guard
            try CollectionCell.encode(
                left[...], schema.elements(of: property), limit: CollectionCell.shortestInTree, into: buffer)
        else { return }
        try tree.removeAll(row.key)
        try setCell(row, property, Value(kind: .list, pointer: UnsafeRawPointer(buffer.base), count: buffer.count))
    }

    private func setCell(_ row: RowPosition, _ property: Int, _ cell: Value) throws(StoreError) {
        var cell = cell
        cell.kind = schema.columns[property].kind
        if cell.count == 0 { cell.pointer = nil }
        try cluster.update(row, property, cell)
    }

    /// Elements are about to go from some indexes, and others come there.
    private func note(
        _ row: RowPosition, _ property: Int, _ indexes: Range<Int>, _ new: ArraySlice<(key: Value, value: Value)>,
        in index: ClassIndex
    ) throws(StoreError) {
        try index.willNote()
        if !indexes.isEmpty, !index.isEmpty {
            try elements(row, property).forEach(from: indexes.lowerBound, limit: indexes.count) {
                (_, value) throws(StoreError) in
                try index.note(element: value, of: row.key, isRemoval: true)
                return true
            }
        }
        for (_, value) in new { try index.note(element: value, of: row.key, isRemoval: false) }
    }

    /// An object goes, and with it its elements, and what indexes have for them.
    func eraseElements(_ row: RowPosition) throws(StoreError) {
        for property in schema.collections {
            guard let index = elementIndex(property), !index.isEmpty else { continue }
            try note(row, property, 0..<(try elements(row, property).count()), [], in: index)
        }
        for (position, property) in schema.collections.enumerated()
        where CollectionCell.isInTree(try cell(row, property)) {
            do throws(StoreError) { try collections[position].removeAll(row.key) } catch {
                isBroken = true
                throw error
            }
        }
    }
}
