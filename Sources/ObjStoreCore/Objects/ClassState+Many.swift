/// Changes of a class that touch several properties or many objects.
extension ClassState {
    /// Writes several properties of an object, all or none; `positions` are distinct, none is the primary key.
    ///
    /// What has its value already is logged as changed, but not written: its page need not be copied. `row` is what `row`
    /// gave, since when no other was changed.
    func update(_ row: RowPosition, _ positions: UnsafePointer<Int>, _ values: UnsafePointer<Value>, _ count: Int) throws(StoreError) {
        if count == 1 { return try update(row, positions[0], values[0]) }
        var differing = 0, last = 0
        for index in 0..<count where !(try value(row, positions[index]).isSame(as: values[index])) {
            differing += 1
            last = index
        }
        // First what is logged: values may lie in the leaf that changes.
        let mark = ops.mark
        for index in 0..<count { ops.update(schema, key: row.key, property: positions[index], value: values[index]) }
        do throws(StoreError) {
            // One that fails changes nothing, several have to be undone.
            if differing == 1 { try change(row, positions[last], values[last]) }
            if differing > 1 { try changeSeveral(row, positions, values, count) }
        } catch {
            ops.rollBack(to: mark)
            throw error
        }
        hasChanges = true
    }

    private func changeSeveral(_ row: RowPosition, _ positions: UnsafePointer<Int>, _ values: UnsafePointer<Value>, _ count: Int) throws(StoreError) {
        var old: [(index: Int, value: OwnedValue)] = []
        for index in 0..<count {
            let value = try value(row, positions[index])
            if !value.isSame(as: values[index]) { old.append((index, OwnedValue(value))) }
        }
        var done = 0
        do throws(StoreError) {
            while done < old.count {
                let index = old[done].index
                try change(try self.row(row.key), positions[index], values[index])
                done += 1
            }
        } catch {
            undo { () throws(StoreError) in
                for (index, value) in old[..<done].reversed() { try change(try self.row(row.key), positions[index], value.value) }
            }
            throw error
        }
    }

    /// Fills the index of a property that objects got without being written: every one has `fill`.
    func fillIndex(of property: Int) throws(StoreError) {
        guard let position = schema.indexPosition(of: property) else { return }
        let reader = try self.reader()
        var next = try reader.seek(.min)
        while let row = next {
            try indexes[position].insert(try reader.value(row, property), row.key)
            next = try reader.next(row)
        }
        hasChanges = true
    }
}

extension WriteTransaction {
    /// Makes `new` the schema, as the first thing that the transaction does.
    ///
    /// The commit is a barrier: it is acknowledged with a checkpoint. A log with changes on both sides of a
    /// change of schema need not be replayed that way.
    func change(to new: Schema) throws(StoreError) {
        let old = schema
        try setSchema(new)
        for (index, cls) in old.classes.enumerated() where cls !== new.classes[index] {
            let known = Set(cls.columns.map(\.id))
            let state = try state(index)
            for property in new.classes[index].indexes where !known.contains(new.classes[index].columns[property].id) {
                try state.fillIndex(of: property)
            }
        }
        ops.becomeSummary()
    }
}

extension ClassState {
    /// Creates an object whose primary key is known to be free.
    func createUnchecked(_ values: UnsafePointer<Value>) throws(StoreError) -> Int64 {
        let key = sharedNextKey.pointee
        sharedNextKey.pointee = key + 1
        try insert(key, values)
        ops.create(schema, key: key, values: values)
        return key
    }

    /// Creates `count` objects with consecutive keys from vectors, one for each property; primary keys are known
    /// to be free. Returns the first key.
    ///
    /// `row` gathers the values of one, for indexes and for the log. What fails leaves the class unusable.
    package func createColumns(
        _ vectors: UnsafePointer<ColumnVector>, count: Int, row: (Int, UnsafeMutablePointer<Value>) throws(StoreError) -> Void
    ) throws(StoreError) -> Int64 {
        let first = sharedNextKey.pointee
        sharedNextKey.pointee = first + Int64(count)
        try cluster.appendColumns(firstKey: first, count: count, vectors)
        // A single op for each while the log keeps ops: small inserts are then no barrier.
        let isLogged = !ops.isSummary && count <= ClassState.mostLogged
        if !isLogged { ops.createRun(schema, firstKey: first, count: count) }
        if isLogged || !schema.indexes.isEmpty {
            let values = UnsafeMutablePointer<Value>.allocate(capacity: schema.columns.count)
            defer { values.deallocate() }
            for offset in 0..<count {
                try row(offset, values)
                for (position, property) in schema.indexes.enumerated() { try indexes[position].insert(values[property], first + Int64(offset)) }
                if isLogged { ops.create(schema, key: first + Int64(offset), values: values) }
            }
        }
        hasChanges = true
        objectCount += count
        storedNextKey = max(storedNextKey, first + Int64(count))
        return first
    }

    private static let mostLogged = 4096

    /// Keys below it are not given out, though no object here has had them.
    package func raiseNextKey(to key: Int64) {
        sharedNextKey.pointee = max(sharedNextKey.pointee, key)
        storedNextKey = max(storedNextKey, key)
        hasChanges = true
    }
}
