/// Applies the records of the log to what was salvaged of the version that they follow.
///
/// A change to an object that is lost changes nothing; a deleted one is no loss any more, nor is a value that the log
/// has a newer one for.
struct LogReplay {
    let image: StoreImage
    let target: SalvageTarget

    /// What could not be applied, by reason.
    private(set) var failures: [(reason: String, count: Int)] = []

    init(_ image: StoreImage, _ target: SalvageTarget) {
        self.image = image
        self.target = target
    }

    /// The schema of the end, and the classes with what the log adds to them.
    mutating func run(_ meta: Meta, _ chain: LogChain, _ classes: inout [ClassSalvage]) throws(StoreError) {
        try image.log.forEachRecord(meta, chain) { (record, reader) throws(StoreError) in
            var cursor = OpCursor(reader, schema: target.schema)
            while true {
                let op: Op?
                do throws(StoreError) { op = try Op.read(&cursor) } catch {
                    guard error.isDamage else { throw error }
                    return fail("the rest of the record of version \(record.version): \(error.message)")
                }
                guard let op else { return }
                try apply(op, &classes)
                // It may have been refused.
                if case .schema = op { cursor.schema = target.schema }
                try target.didChange()
            }
        }
    }

    private mutating func fail(_ reason: String) {
        if let index = failures.firstIndex(where: { $0.reason == reason }) {
            failures[index].count += 1
        } else {
            failures.append((reason, 1))
        }
    }

    /// What fails because of what the operation says is left out, unless a part of it was done.
    private mutating func apply(_ op: Op, _ classes: inout [ClassSalvage]) throws(StoreError) {
        do throws(StoreError) { try applyIfFit(op, &classes) } catch {
            guard !target.transaction.isBroken, error.isDamage || error.isUnfit else { throw error }
            fail("operations that do not fit what there is")
        }
    }

    private mutating func applyIfFit(_ op: Op, _ classes: inout [ClassSalvage]) throws(StoreError) {
        switch op {
        case .schema(let schema):
            if let reason = try target.transaction.misfit(op) { return fail(reason) }
            try target.setSchema(schema)
            while classes.count < schema.classes.count {
                classes.append(ClassSalvage(addedBy: schema, classes.count, target.transaction.space.source))
            }
        case .create(let id, let key, let values):
            let cls = target.schema.classes[Int(id)]
            if cls.isDropped { return fail("new objects of a class that was dropped") }
            let state = try target.state(Int(id))
            guard try state.misfit(newKey: key, values) == nil else {
                return fail("new objects of class \(cls.name) that do not fit")
            }
            if let primary = cls.primaryKey, try state.find(primaryKey: values[primary]) != nil {
                return fail("new objects of class \(cls.name) whose primary key another one has")
            }
            if try values.withUnsafeBufferPointer({ (values) throws(StoreError) in
                try state.conflict(values.baseAddress!)
            }) != nil {
                return fail("new objects of class \(cls.name) with a unique value that another one has")
            }
            try state.replayCreate(key, values)
            classes[Int(id)].objects += 1
        case .update(let id, let key, let changes):
            let cls = target.schema.classes[Int(id)], state = try target.state(Int(id))
            guard try state.contains(key) else { return fail("changes to lost objects of class \(cls.name)") }
            var fit: [(columnID: UInt32, value: Value)] = []
            for change in changes {
                guard !fit.contains(where: { $0.columnID == change.columnID }), try state.misfit(change) == nil else {
                    fail("changes of properties of class \(cls.name) that do not fit")
                    continue
                }
                fit.append(change)
            }
            if fit.isEmpty { return }
            if try isTaken(fit, key, cls, state) {
                return fail("changes of class \(cls.name) to a unique value that another object has")
            }
            try state.replayUpdate(key, fit)
            for change in fit { classes[Int(id)].lostValues[change.columnID]?.remove(key) }
        case .splice(let id, let key, let column, let splice):
            let cls = target.schema.classes[Int(id)], state = try target.state(Int(id))
            guard try state.contains(key) else { return fail("changes to lost objects of class \(cls.name)") }
            // If elements were lost, an index has no meaning.
            if classes[Int(id)].lostValues[column]?.contains(key) == true {
                return fail("changes of lost elements of class \(cls.name)")
            }
            guard try target.transaction.misfit(op) == nil else {
                return fail("changes of elements of class \(cls.name) that do not fit")
            }
            try state.replaySplice(key, column: column, splice)
        case .edit(let id, let key, let column, let edit):
            let cls = target.schema.classes[Int(id)], state = try target.state(Int(id))
            guard try state.contains(key) else { return fail("changes to lost objects of class \(cls.name)") }
            if classes[Int(id)].lostValues[column]?.contains(key) == true {
                return fail("changes inside lost values of class \(cls.name)")
            }
            do throws(StoreError) { try state.replayEdit(key, column: column, edit) } catch {
                guard error.isDamage, !target.transaction.isBroken else { throw error }
                fail("changes inside values of class \(cls.name) that do not fit")
            }
        case .delete(let id, let key):
            let state = try target.state(Int(id))
            guard try state.contains(key) else {
                classes[Int(id)].deletedLost += 1
                return
            }
            try state.replayDelete(key)
            classes[Int(id)].objects -= 1
            for column in classes[Int(id)].lostValues.keys { classes[Int(id)].lostValues[column]!.remove(key) }
        }
    }

    /// The object would have a unique value that another one has.
    private func isTaken(
        _ changes: [(columnID: UInt32, value: Value)], _ key: Int64, _ cls: ClassSchema, _ state: ClassState
    ) throws(StoreError) -> Bool {
        if cls.constraints.isEmpty { return false }
        let row = try state.row(key)
        var values: [Value] = []
        for (property, column) in cls.columns.enumerated() {
            if let change = changes.last(where: { $0.columnID == column.id }) {
                values.append(change.value)
            } else {
                values.append(try state.value(row, property))
            }
        }
        return try values.withUnsafeBufferPointer { (values) throws(StoreError) in
            try state.conflict(values.baseAddress!, except: key)
        } != nil
    }
}
