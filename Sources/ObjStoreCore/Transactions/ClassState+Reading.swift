/// What a transaction sees of a class: its own state, until its next write.
extension ClassState {
    /// The object with that primary key, as the transaction sees it.
    package func find(primaryKey value: Value) throws(StoreError) -> Int64? {
        guard schema.primaryKey != nil else { throw schema.noPrimaryKey }
        return try indexed[0].index.unretained { (index) throws(StoreError) in try index.find(value) }
    }

    /// The object whose primary key has these parts, given by position.
    func find(key parts: (Int) -> Value) throws(StoreError) -> Int64? {
        guard let position = schema.keyIndex else { throw schema.noPrimaryKey }
        let key = try schema.indexes[position].extract(0, into: lookUpKey) { (property) throws(StoreError) in
            parts(property)
        }
        return try indexes[position].find(key)
    }

    @inline(__always)
    func hasPrimaryKey(of kind: ValueKind) -> Bool {
        schema.primaryKey.map { schema.columns[$0].kind == kind } ?? false
    }

    package func contains(_ key: Int64) throws(StoreError) -> Bool { try cluster.find(key) != nil }

    /// Where an object lies, until the next change of another.
    @inline(__always)
    package func row(_ key: Int64) throws(StoreError) -> RowPosition {
        guard let row = try cluster.find(key) else { throw noSuchObject(key) }
        return row
    }

    /// Text and binaries point into the transaction's memory until its next write.
    package func value(_ key: Int64, _ property: Int) throws(StoreError) -> Value { try value(try row(key), property) }

    @inline(__always)
    func value(_ row: RowPosition, _ property: Int) throws(StoreError) -> Value {
        try cluster.tree.value(row, property)
    }

    /// What scans and cursors read: the transaction's own state, until its next write.
    package func reader() throws(StoreError) -> ClusterReader { try cluster.reader() }

    // MARK: Elements

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

    func collectionPosition(_ property: Int) throws(StoreError) -> Int {
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

    /// Which of some objects an owner's mixed elements link to; none where it is gone. Cost: O(elements).
    func linked(_ owner: Int64, _ property: Int, among targets: Set<MixedTarget>) throws(StoreError) -> Set<MixedTarget>
    {
        guard let row = try cluster.find(owner) else { return [] }
        var found: Set<MixedTarget> = []
        try elements(row, property).forEach { (_, value) throws(StoreError) in
            try MixedLinks.forEach(value) { link in
                let target = MixedTarget(link)
                if targets.contains(target) { found.insert(target) }
                return found.count < targets.count
            }
            return found.count < targets.count
        }
        return found
    }
}
