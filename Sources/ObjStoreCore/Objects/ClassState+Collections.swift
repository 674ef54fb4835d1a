/// Changes of lists, sets and maps.
extension ClassState {
    /// The elements of an object's collection, as the transaction sees them, until its next write.
    package func elements(_ key: Int64, _ property: Int) throws(StoreError) -> CollectionElements {
        try elements(try row(key), property)
    }

    func elements(_ row: RowPosition, _ property: Int) throws(StoreError) -> CollectionElements {
        let position = try collectionPosition(property)
        return CollectionElements(
            row.key, schema, property, cell: try value(row, property), tree: collections[position].reader,
            known: collections[position].knownRange(row.key))
    }

    private func collectionPosition(_ property: Int) throws(StoreError) -> Int {
        guard let position = schema.collectionPosition(of: property) else {
            throw StoreError(
                .wrongType,
                """
                \(schema.name).\(schema.properties[property].name) is \(schema.columns[property].kind.indefinite), \
                not a list, set or map
                """
            )
            .at(class: schema.name, property: schema.properties[property].name)
        }
        return position
    }

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
            if let inverse = schema.inversePosition(of: property) {
                try noteLinks(row, property, inverses[inverse], indexes, new)
            }
            if _slowPath(schema.elements(of: property).kind == .mixed) {
                return try replaceMixed(row, property, tree, cell, indexes, new)
            }
            try replace(row, property, tree, cell, indexes, new)
        } catch {
            isBroken = true
            throw error
        }
        hasChanges = true
    }

    /// Links in mixed elements are noted when they have changed: the inverse may look at them then.
    private func replaceMixed(
        _ row: RowPosition, _ property: Int, _ tree: CollectionWriter, _ cell: CollectionCell.Bytes,
        _ indexes: Range<Int>,
        _ new: ArraySlice<(key: Value, value: Value)>
    ) throws(StoreError) {
        let inverse = mixedInverses[schema.mixedPosition(of: property)!]
        try inverse.willChange()
        let links = try mixedElementLinks(row, property, indexes, new, inverse)
        try replace(row, property, tree, cell, indexes, new)
        inverse.note(gone: links.gone, new: links.new, of: row.key)
        hasChanges = true
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

    /// Links are about to go from some indexes, and others come there.
    private func noteLinks(
        _ row: RowPosition, _ property: Int, _ inverse: InverseWriter, _ indexes: Range<Int>,
        _ new: ArraySlice<(key: Value, value: Value)>
    ) throws(StoreError) {
        if !indexes.isEmpty {
            try elements(row, property).forEach(from: indexes.lowerBound, limit: indexes.count) {
                (_, value) throws(StoreError) in
                if !value.isNull { try inverse.note(value.low, of: row.key, isRemoval: true) }
                return true
            }
        }
        for (_, value) in new where !value.isNull { try inverse.note(value.low, of: row.key, isRemoval: false) }
    }

    /// An object goes, and with it its elements in trees, and their links.
    func eraseElements(_ row: RowPosition) throws(StoreError) {
        for (position, inverse) in schema.inverses.enumerated() {
            try elements(row, inverse.first).forEach { (_, value) throws(StoreError) in
                if !value.isNull { try inverses[position].note(value.low, of: row.key, isRemoval: true) }
                return true
            }
        }
        for (position, property) in schema.mixed.enumerated()
        where schema.columns[property].kind.isCollection && !mixedInverses[position].isEmpty {
            let inverse = mixedInverses[position]
            try inverse.willChange()
            inverse.note(
                gone: try mixedElementLinks(row, property, 0..<(try elements(row, property).count()), [], inverse).gone,
                new: [], of: row.key)
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
