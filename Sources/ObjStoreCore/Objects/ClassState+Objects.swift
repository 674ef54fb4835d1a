/// Creating, changing and deleting objects.
///
/// Values are given in the order of the class's properties and were validated (`ValueCheck`). Every call
/// happens as a whole: what fails on the way is undone by inverse operations, and a failing undo leaves the
/// transaction fit for nothing but cancelling.
extension ClassState {
    /// The int primary key for an object that is created next: above all that there are, and above all that were given
    /// here up to `GeneratedKeys.greatestKept`, so that none of those comes twice, also when the greatest is deleted.
    /// Where nothing is left above those, only existing ones count: a class is not used up by a key that is gone.
    func generateKey(_ bounds: Enumeration?) throws(StoreError) -> Int64 { try generateKeys(1, bounds) }

    /// The first of this many that follow each other. `.outOfRange`: one would be beyond the bounds.
    func generateKeys(_ count: Int, _ bounds: Enumeration?) throws(StoreError) -> Int64 {
        // At least 0, so that keys begin with 1.
        let last = try indexes[0].bound(atLeast: generatedKeys.greatest)
        if _fastPath(fits(count, above: last, bounds)) {
            generatedKeys.didGenerate(last + Int64(count))
            return last + 1
        }
        return try generateLastKeys(count, bounds)
    }

    @inline(never)
    private func generateLastKeys(_ count: Int, _ bounds: Enumeration?) throws(StoreError) -> Int64 {
        var last: Int64 = 0
        for least in [generatedKeys.kept, 0] {
            last = try indexes[0].bound(atLeast: least)
            guard fits(count, above: last, bounds) else { continue }
            generatedKeys.didGenerate(last + Int64(count))
            return last + 1
        }
        let what = "\(count == 1 ? "no key can" : "\(count) keys cannot") be generated, since there is one of \(last)"
        let isTooNarrow = last <= Int64.max - Int64(count)
        let error = isTooNarrow ? bounds?.refuse(.int(last + Int64(count)), "\(what): ") : nil
        throw schema.naming(error ?? StoreError(.outOfRange, what), schema.primaryKey!)
    }

    private func fits(_ count: Int, above last: Int64, _ bounds: Enumeration?) -> Bool {
        last <= Int64.max - Int64(count) && (count == 0 || bounds?.has(.int(last + Int64(count))) != false)
    }

    /// Object keys go up to here; each is given once.
    static let greatestObjectKey: Int64 = 1 << 62 - 1
    /// The keys of this many new objects. They are not given again, whatever becomes of the transaction.
    @inline(__always)
    func takeObjectKeys(_ count: Int) throws(StoreError) -> Int64 {
        let first = sharedNextKey.pointee
        guard _fastPath(first >= 0 && Int64(count) <= ClassState.greatestObjectKey &- first) else {
            throw StoreError(
                .outOfRange,
                "class \(schema.name) has had \(first) objects: there are no numbers left for \(count) more"
            ).at(class: schema.name)
        }
        sharedNextKey.pointee = first &+ Int64(count)
        return first
    }

    /// Creates an object; `values` has one for each property.
    package func create(_ values: UnsafePointer<Value>) throws(StoreError) -> Int64 {
        if let primary = schema.primaryKey, try indexes[0].find(values[primary]) != nil {
            throw duplicate(values[primary])
        }
        return try createUnchecked(values)
    }

    /// The same where the primary key is known to be free.
    func createUnchecked(_ values: UnsafePointer<Value>) throws(StoreError) -> Int64 {
        if hasConstraints { try checkConstraints(values) }
        let key = try takeObjectKeys(1)
        try insert(key, values)
        ops.create(schema, key: key, values: values)
        return key
    }

    func insert(_ key: Int64, _ values: UnsafePointer<Value>) throws(StoreError) {
        if extractedCount > 0 {
            for index in extracted { try index.prepare(key) { (property) throws(StoreError) in values[property] } }
        }
        try cluster.append(key, values)
        var done = 0, extraction = ExtractionStep()
        do throws(StoreError) {
            while done < indexed.count {
                let (property, index) = indexed[done]
                try index.unretained { (index) throws(StoreError) in try index.insert(values[property], key) }
                done += 1
            }
            if extractedCount > 0 { try insertExtracted(.new, key, &extraction) }
        } catch {
            undo { () throws(StoreError) in
                try removeExtracted(.new, key, before: extraction)
                for (property, index) in indexed[..<done] {
                    try index.takeUnretainedValue().remove(values[property], key)
                }
                _ = try cluster.delete(key)
            }
            throw error
        }
        hasChanges = true
        objectCount += 1
        storedNextKey = max(storedNextKey, key + 1)
        if _slowPath(isCountingKeys) { generatedKeys.didGive(values[schema.primaryKey.unsafelyUnwrapped]) }
    }

    /// Writes one property, also when it has that value already.
    package func update(_ key: Int64, _ property: Int, _ value: Value) throws(StoreError) {
        try update(try row(key), property, value)
    }

    /// The same for the row that `row` gave, since when no other was changed.
    func update(_ row: RowPosition, _ property: Int, _ value: Value) throws(StoreError) {
        try change(row, property, value)
        ops.update(schema, key: row.key, property: property, value: value)
    }

    func change(_ row: RowPosition, _ property: Int, _ value: Value) throws(StoreError) {
        let position = schema.changePlan(property)
        if position >= 0 {
            let old = try self.value(row, property)
            if !old.isSame(as: value) {
                return try indexed[position].index.unretained { (index) throws(StoreError) in
                    try move(row, index, property, from: old, to: value)
                }
            }
        } else if position == ClassSchema.changesTogether {
            return try changeTogether(row, property, value)
        } else if position == ClassSchema.mayLink, try mayLink(property, value) {
            return try changeTogether(row, property, value)
        }
        try cluster.update(row, property, value)
        hasChanges = true
    }

    private func move(
        _ row: RowPosition, _ index: IndexWriter, _ property: Int, from old: Value, to value: Value
    ) throws(StoreError) {
        let key = row.key
        // The old value lies in the leaf, which does not change before the last step.
        if !InjectedBug.active(.inverseKept) || old.kind != .link { try index.remove(old, key) }
        do throws(StoreError) {
            if !InjectedBug.active(.queryEntryMissing) || index.kind == .link { try index.insert(value, key) }
            do throws(StoreError) {
                try cluster.update(row, property, value)
            } catch {
                undo { () throws(StoreError) in try index.remove(value, key) }
                throw error
            }
        } catch {
            undo { () throws(StoreError) in try index.insert(old, key) }
            throw error
        }
        hasChanges = true
    }

    /// Links to the object stay: `WriteTransaction.delete` is for others.
    package func delete(_ key: Int64) throws(StoreError) {
        try erase(try row(key))
        ops.delete(schema, key: key)
    }

    func erase(_ row: RowPosition) throws(StoreError) {
        let key = row.key
        var done = 0, extraction = ExtractionStep()
        if extractedCount > 0 { for index in extracted { try index.look(at: row, cluster.tree) } }
        do throws(StoreError) {
            // Indexes change no leaf: the row stays where it is up to the last step.
            while done < indexed.count {
                let (property, index) = indexed[done]
                let old = try value(row, property)
                try index.unretained { (index) throws(StoreError) in try index.remove(old, key) }
                done += 1
            }
            if extractedCount > 0 { try removeExtracted(.old, key, &extraction) }
            if !collections.isEmpty { try eraseElements(row) }
            try cluster.delete(row)
        } catch {
            // Its elements are gone, perhaps.
            if extraction.index == extractedCount, !collections.isEmpty { isBroken = true }
            undo { () throws(StoreError) in
                try insertExtracted(.old, key, before: extraction)
                for (property, index) in indexed[..<done] {
                    try index.takeUnretainedValue().insert(try value(key, property), key)
                }
            }
            throw error
        }
        hasChanges = true
        objectCount -= 1
    }

    /// Deletes every object; returns how many there were. Links to them stay. Cost: O(pages), and O(n) in the log.
    func deleteAll() throws(StoreError) -> Int {
        let count = objectCount
        if count == 0 { return 0 }
        let reader = try cluster.reader()
        var next = try reader.seek(.min)
        while let row = next {
            ops.delete(schema, key: row.key)
            next = try reader.next(row)
        }
        do throws(StoreError) { try discardAll() } catch {
            isBroken = true
            throw error
        }
        objectCount = 0
        hasChanges = true
        return count
    }

    /// One property of an int object plus `delta`; the caller has checked the kind.
    package func increment(_ key: Int64, _ property: Int, _ delta: Int64) throws(StoreError) -> Int64 {
        let row = try row(key)
        let old = try value(row, property)
        if old.isNull {
            throw StoreError(
                .nullValue,
                "\(schema.name).\(schema.properties[property].name) is null: there is nothing to add \(delta) to"
            ).at(class: schema.name, property: schema.properties[property].name)
        }
        let (sum, overflow) = old.low.addingReportingOverflow(delta)
        if overflow {
            throw StoreError(
                .outOfRange,
                "\(schema.name).\(schema.properties[property].name): \(old.low) + \(delta) does not fit in 64 bits"
            ).at(class: schema.name, property: schema.properties[property].name)
        }
        try update(row, property, .int(sum))
        return sum
    }

    // MARK: Replay

    /// Applies a logged operation, which fits (`WriteTransaction.misfit`): explicit keys, no checks of uniqueness (they
    /// passed when it was logged).
    func replayCreate(_ key: Int64, _ values: [Value]) throws(StoreError) {
        try values.withUnsafeBufferPointer { (buffer) throws(StoreError) in try insert(key, buffer.baseAddress!) }
        sharedNextKey.pointee = max(sharedNextKey.pointee, key + 1)
    }

    /// The changes of one operation are made together, as they were then.
    func replayUpdate(_ key: Int64, _ changes: [(columnID: UInt32, value: Value)]) throws(StoreError) {
        var positions: [Int] = []
        for change in changes { positions.append(try property(ofColumn: change.columnID)) }
        let row = try row(key)
        if changes.count == 1 { return try change(row, positions[0], changes[0].value) }
        try changeSeveral(row, positions, changes.map(\.value), changes.count)
    }

    func replaySplice(_ key: Int64, column: UInt32, _ splice: Op.Splice) throws(StoreError) {
        try replaceElements(
            try row(key), try property(ofColumn: column), splice.at..<splice.at + splice.removed, splice.inserted[...])
    }

    private func property(ofColumn id: UInt32) throws(StoreError) -> Int {
        guard let property = schema.columns.firstIndex(where: { $0.id == id }) else {
            throw StoreError(.corrupt, "the log changes a column that class \(schema.name) does not have")
        }
        return property
    }

    func replayDelete(_ key: Int64) throws(StoreError) { try erase(try row(key)) }

    // MARK: Errors

    func duplicate(_ value: Value) -> StoreError {
        let name = schema.properties[schema.primaryKey!].name
        return StoreError(
            .duplicateKey, "an object of class \(schema.name) with \(name) = \(value.text) already exists"
        ).at(class: schema.name, property: name)
    }
}
