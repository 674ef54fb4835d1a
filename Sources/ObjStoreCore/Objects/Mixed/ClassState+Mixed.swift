/// Changes inside mixed values.
extension ClassState {
    /// Sets, inserts or removes one value inside that of a property. All or nothing.
    ///
    /// `.notFound` where the path leads nowhere; `.wrongType` where it leads through something else than it says.
    package func edit(
        _ key: Int64, _ property: Int, _ path: [MixedStep], _ action: MixedAction, _ value: Value,
        limit: Int = Value.maximumBytes,
        _ buffer: ByteBuffer? = nil
    ) throws(StoreError) {
        let row = try row(key), cell = try self.value(row, property), buffer = buffer ?? ByteBuffer()
        let edit: MixedEdit
        do throws(StoreError) {
            edit = try MixedEdit.prepare(cell, path, action, value, limit: limit, buffer)
        } catch {
            throw schema.naming(error, property)
        }
        try self.edit(row, property, edit)
        withExtendedLifetime(buffer) {}
    }

    /// Writes what an edit of the property's value makes of it. All or nothing.
    private func edit(_ row: RowPosition, _ property: Int, _ edit: MixedEdit) throws(StoreError) {
        // First what is logged: keys may lie in the leaf that changes.
        let mark = ops.mark
        ops.edit(schema, key: row.key, property: property, edit)
        do throws(StoreError) { try apply(row, property, edit) } catch {
            ops.rollBack(to: mark)
            throw error
        }
    }

    private func apply(_ row: RowPosition, _ property: Int, _ edit: MixedEdit) throws(StoreError) {
        let buffer = ByteBuffer(capacity: max(64, edit.bytes))
        try edit.append(to: buffer)
        let value = Value(kind: .mixed, pointer: UnsafeRawPointer(buffer.base), count: buffer.count)
        // An object that never had links gets one only by what is new: the rest is not searched for them.
        let part =
            edit.value.isEmpty
            ? Value.null : Value(kind: .mixed, pointer: edit.value.baseAddress, count: edit.value.count)
        let addsLinks = try MixedLinks.has(part)
        if !addsLinks, schema.changePlan(property) == ClassSchema.mayLink,
            mixedInverses[schema.mixedPosition(of: property)!].isEmpty
        {
            try cluster.update(row, property, value)
            hasChanges = true
        } else {
            try change(row, property, value)
        }
        withExtendedLifetime(buffer) {}
    }

    /// Applies a logged edit; `.corrupt` where it does not fit.
    func replayEdit(_ key: Int64, column: UInt32, _ logged: Op.Edit) throws(StoreError) {
        guard let property = schema.columns.firstIndex(where: { $0.id == column }),
            schema.columns[property].kind == .mixed
        else { throw OpCursor.unknownColumn }
        let row = try row(key), cell = try value(row, property)
        let edit: MixedEdit
        do throws(StoreError) {
            try checkStored(logged)
            let depth =
                logged.action == .remove ? 0 : try MixedNode(logged.value.baseAddress, logged.value.count).check()
            edit = try MixedEdit(
                MixedNode(cell.pointer, cell.count), logged.path, logged.action, logged.value, depth: depth)
            guard edit.bytes <= Value.maximumBytes else {
                throw MixedCell.tooLarge(edit.bytes, Value.maximumBytes)
            }
        } catch {
            throw StoreError(
                .corrupt, "the log changes a value of \(schema.name)#\(key) that is not there: \(error.message)")
        }
        try apply(row, property, edit)
    }

    /// What a node does not say of itself.
    private func checkStored(_ logged: Op.Edit) throws(StoreError) {
        for case .key(let key) in logged.path where !UTF8Check.isValid(key.baseAddress, key.count) {
            throw MixedNode.damaged("a key that is not valid UTF-8")
        }
        if logged.action == .remove { return }
        try ValueCheck.checkLinks(Value(kind: .mixed, pointer: logged.value.baseAddress, count: logged.value.count))
    }
}
