/// Gives a property the values that another one has in an older version.
extension ObjectWriter {
    /// For each object that both have; returns how many there were. All of them, or none.
    ///
    /// `.wrongType`: the two are of other kinds. `.notNullable`: some value is null, the property cannot be. O(n).
    func copyProperty(
        _ propertyID: UInt32, from source: Snapshot, _ oldPropertyID: UInt32
    ) throws(StoreError) -> Int {
        let transaction: WriteTransaction = self.transaction
        let schema = transaction.schema, (cls, position) = try schema.property(propertyID), index = Int(cls.id)
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
        moved = .rows
        do throws(StoreError) {
            let count = try copy(property: position, of: cls, from: source, before, from, transaction)
            try transaction.releaseSavepoint(savepoint)
            return count
        } catch {
            forgetClasses()
            try transaction.rollBack(toSavepoint: savepoint)
            throw error
        }
    }

    private func copy(
        property position: Int, of cls: ClassSchema, from source: Snapshot, _ before: ClassSchema, _ from: Int,
        _ transaction: WriteTransaction
    ) throws(StoreError) -> Int {
        let state = try transaction.state(Int(cls.id)), property = cls.properties[position]
        let trees = TreeAccess.version(source), reader = try trees.objects(before)
        let builder = DocumentBuilder()
        var next = try reader.seek(.min), count = 0
        while let row = next {
            if try state.contains(row.key) {
                var value = try reader.value(row, from)
                if property.kind.isCollection {
                    let elements = try trees.elements(row, before, from, reader)
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
