/// Changing the schema of a store that has objects, with a callback of the application in between.
///
/// ```
///  the file's schema ──► interim ── callback ──► the program's
///                          │                       what became required has no null any more, keys are unique,
///                          │                       indexes and keys are built from what there is now
///                          └ what was there stays as loose as it was, nothing else has changed its values yet
/// ```
/// Both steps are members of one group: they survive as a whole or not at all.
extension Store {
    /// `transaction` becomes the one that is to be committed, or cancelled.
    func migrate(
        _ transaction: inout WriteTransaction, to schema: Schema,
        _ body: (View, View, UInt64, UInt64) throws(StoreError) -> Void
    ) throws(StoreError) {
        let file = transaction.schema, interim = schema.interim(from: file)
        let old = try register(View(store: self, snapshot: Snapshot(transaction), kind: .frozen))
        defer { old.close(waitsForReaders: true) }
        try transaction.change(to: interim ?? schema)
        try lend(transaction) { (view) throws(StoreError) in try body(view, old, file.version, schema.version) }
        for (number, cls) in transaction.schema.classes.enumerated() where cls.hasLooseKey {
            try transaction.state(number).checkKeys()
        }
        guard interim != nil else { return }
        transaction = try transaction.seal()
        try transaction.change(to: schema)
    }
}

extension Schema {
    /// What a migration works with: this schema, as loose as `file` was where both have something. Nil: the same.
    fileprivate func interim(from file: Schema) -> Schema? {
        var result = classes, differs = false
        for (number, before) in file.classes.enumerated() where before !== classes[number] || before.keyIndex != nil {
            guard let looser = classes[number].looser(like: before) else { continue }
            result[number] = looser
            differs = true
        }
        return differs ? Schema(classes: result, version: version) : nil
    }
}

extension ClassSchema {
    fileprivate func looser(like before: ClassSchema) -> ClassSchema? {
        var differs = false
        let looser = properties.map { property in
            var result = property
            let there = before.properties.first { $0.columnID == property.columnID }
            result.isNullable = property.isNullable || there?.isNullable == true
            result.isPrimaryKey = property.isPrimaryKey && there?.isPrimaryKey == true
            // Ints are generated above those of the key's index.
            result.isGenerated = property.isGenerated && property.kind.canBeGenerated(isPrimaryKey: result.isPrimaryKey)
            result.isUnique = property.isUnique && there?.isUnique == true
            result.isIndexed = property.isIndexed && there.map { $0.isIndexed || $0.isUnique } == true
            // Made unique afterwards, of what it has now.
            if property.isUnique, !result.isUnique, there?.isIndexed == true { result.isIndexed = true }
            if result.isNullable != property.isNullable || result.isPrimaryKey != property.isPrimaryKey
                || result.isUnique != property.isUnique
                || result.isIndexed != property.isIndexed || result.isGenerated != property.isGenerated
            {
                differs = true
            }
            return result
        }
        // Objects that are to be embedded get their parents, or go, in the migration.
        let becomesEmbedded = isEmbedded && !before.isEmbedded
        let compounds = indexes.filter(\.isCompound),
            known = compounds.filter { index in before.indexes.contains { $0.id == index.id } }
        let hasKey = looser.contains(where: \.isPrimaryKey) || known.contains(where: \.isPrimaryKey)
        guard differs || becomesEmbedded || hasKey || known.count < compounds.count else { return nil }
        return ClassSchema(
            name: name, id: id, properties: looser, nextColumnID: nextColumnID,
            compounds: known.map {
                IndexSchema(id: $0.id, properties: $0.properties, isUnique: $0.isUnique, isPrimaryKey: $0.isPrimaryKey)
            },
            nextIndexID: nextIndexID, isEmbedded: isEmbedded && !becomesEmbedded, hasLooseKey: hasKey,
            getsKey: !hasKey && keyIndex != nil, becomesEmbedded: becomesEmbedded)
    }
}

/// What a migration does beside creating, changing and deleting objects.
extension View {
    /// Gives a property of each object that both views have the value that another one has in `old`: how a property of
    /// the same kind gets another name by a callback. Returns how many there were.
    ///
    /// `.wrongType`: the two are of other kinds. `.notNullable`: some value is null, the property cannot be. O(n);
    /// values are written.
    package func copyProperty(_ propertyID: UInt32, from old: View, _ oldPropertyID: UInt32) throws(StoreError) -> Int {
        guard kind == .transaction else { throw notInWrite }
        guard old.shared === shared else { throw StoreError(.wrongStore, "it is a view of another store") }
        let source = try old.pinnedSnapshot("the old view")
        lock.lock()
        defer { lock.unlock() }
        let transaction = try writing()
        let schema = transaction.schema, index = PropertyID.classIndex(propertyID)
        guard index >= 0, index < schema.classes.count else {
            throw StoreError(.noSuchProperty, "no property has the id \(propertyID)")
        }
        let cls = schema.classes[index], position = try cls.position(propertyID)
        guard index < source.schema.classes.count else {
            throw StoreError(.noSuchProperty, "the old view has no property with the id \(oldPropertyID)")
        }
        let before = source.schema.classes[index], from = try before.position(oldPropertyID)
        let property = cls.properties[position], other = before.properties[from]
        guard property.kind == other.kind, property.elements == other.elements, property.target == other.target else {
            throw cls.naming(
                StoreError(.wrongType, "it is not of the same kind as \(before.name).\(other.name) in the old view"),
                position)
        }
        if let target = property.target, schema.classes[target].isEmbedded {
            throw cls.naming(
                StoreError(
                    .notSupported,
                    "embedded objects stay where they are: say in the schema what the property was called before"),
                position)
        }
        if cls.isOfKey(position) {
            throw cls.naming(
                StoreError(
                    .keyImmutable,
                    "it is \(property.isPrimaryKey ? "" : "part of ")the primary key of objects that exist"), position)
        }
        let savepoint = try transaction.beginSavepoint()
        do throws(StoreError) {
            let count = try copy(property: position, of: cls, from: source, before, from, transaction)
            try transaction.releaseSavepoint(savepoint)
            return count
        } catch {
            written = nil
            try transaction.rollBack(toSavepoint: savepoint)
            throw error
        }
    }

    private func copy(
        property position: Int, of cls: ClassSchema, from source: Snapshot, _ before: ClassSchema, _ from: Int,
        _ transaction: WriteTransaction
    ) throws(StoreError) -> Int {
        defer { didMove() }
        let state = try transaction.state(Int(cls.id)), property = cls.properties[position]
        let reader = ClusterReader(
            source: source.source, root: ClassNode.cluster(try source.trees.node(Int(before.id))),
            columns: before.columns)
        let builder = DocumentBuilder()
        var next = try reader.seek(.min), count = 0
        while let row = next {
            if try state.contains(row.key) {
                var value = try reader.value(row, from)
                if property.kind.isCollection {
                    let elements = CollectionElements(
                        row.key, before, from, cell: value, tree: try source.trees.collection(before, from))
                    try copyElements(
                        elements, to: state, position,
                        property.target.map { (target) throws(StoreError) in try transaction.state(target) },
                        transaction)
                } else {
                    let isGone =
                        value.kind == .link ? try !transaction.state(property.target!).contains(value.low) : false
                    if value.isNull, !cls.properties[position].isNullable {
                        throw cls.naming(
                            StoreError(
                                .notNullable,
                                "\(before.name).\(before.properties[from].name) of \(cls.name)#\(row.key) is null"),
                            position)
                    }
                    if isGone { value = .null }
                    if value.kind == .mixed, try MixedLinks.has(value) {
                        value = try MixedLinks.without(value, builder, where: transaction.isGone)
                    }
                    try state.update(row.key, position, value)
                }
                count += 1
                try spillIfLarge(state)
            }
            next = try reader.next(row)
        }
        return count
    }

    /// - Parameter target: where the objects are that links lead to.
    private func copyElements(
        _ elements: CollectionElements, to state: ClassState, _ position: Int, _ target: ClassState?,
        _ transaction: WriteTransaction
    ) throws(StoreError) {
        let key = elements.owner, kept = KeptTexts()
        defer { withExtendedLifetime(kept) {} }
        var new: [(key: Value, value: Value)] = []
        try elements.forEach { (key, value) throws(StoreError) in
            let isGone = if let target, value.kind == .link { try !target.contains(value.low) } else { false }
            if isGone {
                if elements.kind == .map { try new.tryAppend((key, .null)) }
            } else if value.kind == .mixed, try MixedLinks.has(value) {
                if let value = try MixedLinks.element(value, of: elements.kind, kept, where: transaction.isGone) {
                    try new.tryAppend((key, value))
                }
            } else {
                try new.tryAppend((key, value))
            }
            return true
        }
        try state.splice(key, position, 0..<(try state.elements(key, position).count()), new[...])
    }
}
