internal import Glibc

/// Checks whether an operation of a log can be applied.
///
/// A record's hash proves that it is whole, but not its origin. So recovery and salvage check here before they apply an
/// operation: what fits is applied as it was, and harms no tree. Recovery refuses the log with what does not fit,
/// salvage leaves it out; that is also the one that sees to what this does not look at: unique values, and that what
/// links lead to is there.
extension WriteTransaction {
    /// Why an operation does not fit what there is; nil: it does.
    func misfit(_ op: Op) throws(StoreError) -> String? {
        switch op {
        case .schema(let new): return try misfit(new)
        case .create(let classID, let key, let values):
            return try misfitting(classID) { (state) throws(StoreError) in try state.misfit(newKey: key, values) }
        case .update(let classID, let key, let changes):
            return try misfitting(classID, key) { (state) throws(StoreError) in try state.misfit(changes) }
        case .splice(let classID, let key, let column, let splice):
            return try misfitting(classID, key) { (state) throws(StoreError) in try state.misfit(splice, key, column) }
        case .edit(let classID, let key, _, _), .delete(let classID, let key):
            // Whether an edit fits is found where it is worked out.
            return try misfitting(classID, key) { (_) in nil }
        }
    }

    private func misfitting(
        _ classID: UInt32, _ key: Int64? = nil, _ check: (ClassState) throws(StoreError) -> String?
    ) throws(StoreError) -> String? {
        let cls = schema.classes[Int(classID)]
        if cls.isDropped { return "an object of a class that was dropped" }
        let state = try state(Int(classID))
        if let key, try !state.contains(key) { return "\(cls.name)#\(key), which does not exist" }
        return try check(state)
    }

    /// A change of a schema is replayed where it only added classes.
    private func misfit(_ new: Schema) throws(StoreError) -> String? {
        guard new.classes.count <= database.shared.limits.classes else {
            return "a schema of \(new.classes.count) classes"
        }
        guard new.classes.count >= schema.classes.count, try schema.hasSameClasses(asFirstOf: new) else {
            return "a schema that changes classes"
        }
        do throws(StoreError) { try new.checkWritable() } catch { return error.message }
        return nil
    }
}

extension Schema {
    /// Whether another one begins with the same classes.
    fileprivate func hasSameClasses(asFirstOf other: Schema) throws(StoreError) -> Bool {
        let own = ByteBuffer(), others = ByteBuffer()
        for (cls, same) in zip(classes, other.classes) {
            try SchemaCodec.append(cls, to: own)
            try SchemaCodec.append(same, to: others)
        }
        return own.count == others.count && memcmp(own.base, others.base, own.count) == 0
    }
}

extension ClassState {
    func misfit(newKey key: Int64, _ values: [Value]) throws(StoreError) -> String? {
        guard key >= storedNextKey, key < LeafHead.maximumKey else {
            return "a new object \(schema.name)#\(key), though keys go on with \(storedNextKey)"
        }
        for property in values.indices {
            if schema.columns[property].kind.isCollection {
                if values[property].kind == schema.columns[property].kind { continue }
                return
                    """
                    a new object \(schema.name)#\(key) with a \(values[property].kind) as \
                    \(schema.properties[property].name)
                    """
            }
            if let reason = try misfit(values[property], property) { return reason }
        }
        return nil
    }

    /// What is written together is written once.
    fileprivate func misfit(_ changes: [(columnID: UInt32, value: Value)]) throws(StoreError) -> String? {
        for (number, change) in changes.enumerated() {
            if let reason = try misfit(change) { return reason }
            if changes[..<number].contains(where: { $0.columnID == change.columnID }) {
                return "a change of one column of class \(schema.name), twice at once"
            }
        }
        return nil
    }

    /// The key of an object never changes, and a collection only by its elements.
    func misfit(_ change: (columnID: UInt32, value: Value)) throws(StoreError) -> String? {
        guard let property = schema.columns.firstIndex(where: { $0.id == change.columnID }) else {
            return "a column \(change.columnID), which class \(schema.name) does not have"
        }
        let name = "\(schema.name).\(schema.properties[property].name)"
        if schema.isKeyPart(property) { return "a change of \(name), which is the primary key" }
        if schema.columns[property].kind.isCollection {
            return "a change of \(name) as a whole, which is a \(schema.columns[property].kind)"
        }
        return try misfit(change.value, property)
    }

    private func misfit(_ value: Value, _ property: Int) throws(StoreError) -> String? {
        do throws(StoreError) {
            try ValueCheck.checkStored(value, for: property, of: schema)
            if schema.isKeyPart(property), value.kind.hasBytes, value.count > ClassSchema.longestKey {
                return "a key of \(value.count) bytes in \(schema.name).\(schema.properties[property].name)"
            }
        } catch {
            guard error.isDamage || error.isUnfit else { throw error }
            return error.message
        }
        return nil
    }

    fileprivate func misfit(_ splice: Op.Splice, _ key: Int64, _ column: UInt32) throws(StoreError) -> String? {
        guard let property = schema.columns.firstIndex(where: { $0.id == column }),
            schema.columns[property].kind.isCollection
        else {
            return "elements of a column \(column), which has none"
        }
        return try isFit(splice, key, property)
            ? nil : "elements of \(schema.name)#\(key).\(schema.properties[property].name) that do not fit"
    }
}
