/// How far the entries of an object have come, through the extracted indexes of its class.
struct ExtractionStep {
    var index = 0
    var entry = 0
}

/// Entries of one object in the indexes of which it may have several, or one of several properties.
extension ClassState {
    /// Which entries of an index are meant: those that were there, or those that are to be.
    enum Side {
        case old
        case new

        @inline(__always)
        func entries(_ index: ClassIndex) -> IndexEntries { self == .old ? index.old : index.new }
    }

    /// Inserts the entries of an object from a step on, which says afterwards, and where it throws, how far it came.
    func insertExtracted(_ side: Side, _ key: Int64, _ step: inout ExtractionStep) throws(StoreError) {
        try forEachExtracted(side, &step) { (index, entry) throws(StoreError) in try index.insert(entry, key) }
    }

    func removeExtracted(_ side: Side, _ key: Int64, _ step: inout ExtractionStep) throws(StoreError) {
        try forEachExtracted(side, &step) { (index, entry) throws(StoreError) in try index.remove(entry, key) }
    }

    /// Undoes `removeExtracted`, which came up to `end`.
    func insertExtracted(_ side: Side, _ key: Int64, before end: ExtractionStep) throws(StoreError) {
        try forEachExtracted(side, before: end) { (index, entry) throws(StoreError) in try index.insert(entry, key) }
    }

    /// Undoes `insertExtracted`, which came up to `end`.
    func removeExtracted(_ side: Side, _ key: Int64, before end: ExtractionStep) throws(StoreError) {
        try forEachExtracted(side, before: end) { (index, entry) throws(StoreError) in try index.remove(entry, key) }
    }

    @inline(__always)
    private func forEachExtracted(
        _ side: Side, _ step: inout ExtractionStep, _ body: (ClassIndex, Value) throws(StoreError) -> Void
    ) throws(StoreError) {
        while step.index < extractedCount {
            let index = extracted[step.index], entries = side.entries(index)
            while step.entry < entries.count {
                try body(index, entries[step.entry])
                step.entry += 1
            }
            step.index += 1
            step.entry = 0
        }
    }

    private func forEachExtracted(
        _ side: Side, before end: ExtractionStep, _ body: (ClassIndex, Value) throws(StoreError) -> Void
    ) throws(StoreError) {
        for (position, index) in extracted.enumerated() where position <= end.index {
            let entries = side.entries(index)
            for entry in 0..<(position < end.index ? entries.count : end.entry) { try body(index, entries[entry]) }
        }
    }
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
        let index: ClassIndex
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
        /// `.duplicateKey` where another object has the entry of a unique one already.
        func checkFree(_ index: ClassIndex, _ entry: Value) throws(StoreError) {
            let schema = index.schema
            guard schema.isConstraint, !(schema.isPrimaryKey && self.schema.hasLooseKey) else { return }
            if let other = try index.writer.find(entry), other != key { throw try taken(schema, now) }
        }
        for number in 0..<count {
            let old = try value(row, positions[number])
            if old.isSame(as: values[number]) { continue }
            if schema.isOfKey(positions[number]) { keysChanged = true }
            before.append((number, try OwnedValue(copying: old)))
            guard let position = schema.indexPosition(of: positions[number]) else { continue }
            if !values[number].isNull { try checkFree(family[position], values[number]) }
            moves.append(Move(index: family[position], old: old, new: values[number]))
        }
        for index in extracted where index.schema.properties.contains(where: { given($0) != nil }) {
            try index.look(at: row, reader)
            try index.prepare(key, now)
            try index.old.forEach(notIn: index.new) { entry in
                if InjectedBug.active(.mixedLinkKept) && index.schema.isInverse { return }
                moves.append(Move(index: index, old: entry, new: nil))
            }
            try index.new.forEach(notIn: index.old) { (entry) throws(StoreError) in
                if !index.new.isShared { try checkFree(index, entry) }
                moves.append(Move(index: index, old: nil, new: entry))
            }
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
