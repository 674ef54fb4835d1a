/// A compound index of a class inside a write transaction, with the keys that a change is about.
final class CompoundIndex {
    let schema: IndexSchema
    let writer: IndexWriter
    private let old = IndexKey(), new = IndexKey()

    init(_ schema: IndexSchema, _ writer: IndexWriter) {
        self.schema = schema
        self.writer = writer
    }

    /// The key of an object that is to be created.
    func prepare(_ objectKey: Int64, _ values: UnsafePointer<Value>) throws(StoreError) {
        _ = try schema.extract(objectKey, into: new) { (property) throws(StoreError) in values[property] }
    }

    /// The key of an object as it is.
    func look(at row: RowPosition, _ reader: ClusterReader) throws(StoreError) {
        _ = try schema.extract(row.key, into: old) { (property) throws(StoreError) in try reader.value(row, property) }
    }

    /// The keys of an object before and after a change; `nil` where they are one.
    func prepareChange(
        of row: RowPosition, _ reader: ClusterReader, _ newValue: (Int) -> Value?
    ) throws(StoreError) -> (old: Value, new: Value, isShared: Bool)? {
        try look(at: row, reader)
        let value = try schema.extract(row.key, into: new) { (property) throws(StoreError) in
            if let value = newValue(property) { return value }
            return try reader.value(row, property)
        }
        return old.value.isSame(as: value) ? nil : (old.value, value, schema.isShared(value, new))
    }

    func insertNew(_ objectKey: Int64) throws(StoreError) { try writer.insert(new.value, objectKey) }
    func removeNew(_ objectKey: Int64) throws(StoreError) { try writer.remove(new.value, objectKey) }
    func insertOld(_ objectKey: Int64) throws(StoreError) { try writer.insert(old.value, objectKey) }
    func removeOld(_ objectKey: Int64) throws(StoreError) { try writer.remove(old.value, objectKey) }
}

/// Unique values beside the primary key, and changes that concern them or compound indexes.
extension ClassState {
    /// Throws `.duplicateKey` where an object has one of the unique values already. Nothing is changed.
    func checkConstraints(_ values: UnsafePointer<Value>) throws(StoreError) {
        if let (index, _) = try conflict(values) {
            throw try taken(index) { (property) throws(StoreError) in values[property] }
        }
    }

    /// An object that has one of the unique values, and which.
    func conflict(
        _ values: UnsafePointer<Value>, except own: Int64? = nil
    ) throws(StoreError) -> (index: IndexSchema, object: Int64)? {
        for position in schema.constraints {
            let index = schema.indexes[position]
            let key = try index.extract(0, into: lookUpKey) { (property) throws(StoreError) in values[property] }
            if !index.isShared(key, lookUpKey), let other = try indexes[position].find(key), other != own {
                return (index, other)
            }
        }
        return nil
    }

    func taken(_ index: IndexSchema, _ value: (Int) throws(StoreError) -> Value) throws(StoreError) -> StoreError {
        StoreError(
            .duplicateKey, "an object of class \(schema.name) with \(try schema.text(of: index, value)) already exists"
        )
        .at(class: schema.name, property: schema.names(of: index))
    }

    /// At the end of a migration: no two objects have one primary key. `.duplicateKey`. O(n log n) where keys changed.
    func checkKeys() throws(StoreError) {
        guard keysChanged, let position = schema.keyIndex else { return }
        let index = schema.indexes[position], known = try indexes[position].reader(), objects = try reader()
        var next = try objects.seek(.min)
        while let row = next {
            let key = try index.extract(row.key, into: lookUpKey) { (property) throws(StoreError) in
                try objects.value(row, property)
            }
            if try known.count(.equal, key) > 1 {
                throw try taken(index) { (property) throws(StoreError) in try objects.value(row, property) }
            }
            next = try objects.next(row)
        }
    }

    /// One step of moving an object in an index.
    private struct Move {
        let index: IndexWriter
        /// Null values are entries, too; nil: there is none.
        let old: Value?
        let new: Value?
    }

    @inline(never)
    func changeTogether(_ row: RowPosition, _ property: Int, _ value: Value) throws(StoreError) {
        try withUnsafePointer(to: property) { (property) throws(StoreError) in
            try withUnsafePointer(to: value) { (value) throws(StoreError) in try changeTogether(row, property, value, 1)
            }
        }
    }

    /// Writes properties of an object that have more than an index of their own: every key is checked before the first
    /// one moves, and none is seen in between. All or nothing.
    func changeTogether(
        _ row: RowPosition, _ positions: UnsafePointer<Int>, _ values: UnsafePointer<Value>, _ count: Int
    ) throws(StoreError) {
        let key = row.key, reader = cluster.tree
        var moves: [Move] = [], before: [(number: Int, value: OwnedValue)] = []
        func given(_ property: Int) -> Value? { (0..<count).first { positions[$0] == property }.map { values[$0] } }
        func now(_ property: Int) throws(StoreError) -> Value {
            if let value = given(property) { return value }
            return try reader.value(row, property)
        }
        func move(_ position: Int, from old: Value, to new: Value, isShared: Bool) throws(StoreError) {
            let index = schema.indexes[position]
            if index.isConstraint, !(index.isPrimaryKey && schema.hasLooseKey), !isShared,
                let other = try indexes[position].find(new), other != key
            {
                throw try taken(index, now)
            }
            moves.append(Move(index: indexes[position], old: old, new: new))
        }
        for number in 0..<count {
            let old = try value(row, positions[number])
            if old.isSame(as: values[number]) { continue }
            if schema.isOfKey(positions[number]) { keysChanged = true }
            before.append((number, try OwnedValue(copying: old)))
            if schema.columns[positions[number]].kind == .mixed,
                let change = try mixedChange(positions[number], from: old, to: values[number])
            {
                for target in change.gone {
                    moves.append(Move(index: change.inverse.index, old: target.indexed, new: nil))
                }
                for target in change.new {
                    change.inverse.willInsert(target)
                    moves.append(Move(index: change.inverse.index, old: nil, new: target.indexed))
                }
            }
            guard let position = schema.indexPosition(of: positions[number]) else { continue }
            try move(position, from: old, to: values[number], isShared: values[number].isNull)
        }
        for (offset, compound) in compounds.enumerated()
        where compound.schema.properties.contains(where: { given($0) != nil }) {
            guard let keys = try compound.prepareChange(of: row, reader, given) else { continue }
            try move(schema.plainIndexes + offset, from: keys.old, to: keys.new, isShared: keys.isShared)
        }
        // Indexes change no leaf: old values stay where they are.
        var steps = 0, written = 0
        do throws(StoreError) {
            while steps < moves.count * 2 {
                try step(moves, steps, key)
                steps += 1
            }
            while written < before.count {
                let number = before[written].number
                try cluster.update(try self.row(key), positions[number], values[number])
                written += 1
            }
        } catch {
            undo { () throws(StoreError) in
                for (number, value) in before[..<written].reversed() {
                    try cluster.update(try self.row(key), positions[number], value.value)
                }
                while steps > 0 {
                    steps -= 1
                    let move = moves[steps >> 1]
                    if steps & 1 == 0 {
                        if let old = move.old { try move.index.insert(old, key) }
                    } else if let new = move.new {
                        try move.index.remove(new, key)
                    }
                }
            }
            throw error
        }
        hasChanges = true
    }

    private func step(_ moves: [Move], _ step: Int, _ key: Int64) throws(StoreError) {
        let move = moves[step >> 1]
        if step & 1 == 0 {
            if let old = move.old { try move.index.remove(old, key) }
        } else if let new = move.new {
            try move.index.insert(new, key)
        }
    }
}
