/// Changing and deleting objects, one at a time.
extension ObjectWriter {
    /// Writes one property, also when it has that value already.
    @inline(__always)
    func set(_ state: ClassState, _ key: Int64, _ propertyID: UInt32, _ value: Value) throws(StoreError) {
        let cls = state.schema
        let position = try cls.position(propertyID), value = try column(value, position, cls)
        if _slowPath(cls.columns[position].kind == .link), let link = state.embedded(position) {
            return try changing(state) { () throws(StoreError) in try setEmbedded(state, key, link, value) }
        }
        try check(value, position, cls)
        let row = try state.row(key)
        if cls.isKeyPart(position) { return try confirm(state, row, position, value) }
        try changing(state, row) { () throws(StoreError) in try state.update(row, position, value) }
    }

    /// Writes several properties, all or none.
    func set(
        _ state: ClassState, _ key: Int64, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) {
        let cls = state.schema
        let positions = try positions(cls, properties),
            values = try columns(values, positions, properties.count, cls)
        try check(values, positions, properties.count, cls)
        let row = try state.row(key)
        var count = properties.count
        var changes = values
        if (0..<count).contains(where: { cls.isKeyPart(positions[$0]) }) {
            // The key stays; the others move up.
            let others = scratch.reserve(count)
            for index in 0..<count where cls.isKeyPart(positions[index]) {
                try confirm(state, row, positions[index], values[index])
            }
            count = 0
            for index in 0..<properties.count where !cls.isKeyPart(positions[index]) {
                positions[count] = positions[index]
                others[count] = values[index]
                count += 1
            }
            changes = UnsafePointer(others)
        }
        if count == 0 { return }
        try changing(state, row) { () throws(StoreError) in try update(state, row, positions, changes, count) }
    }

    /// Writes several properties that were checked; embedded objects that lose their place go.
    @inline(__always)
    func update(
        _ state: ClassState, _ row: RowPosition, _ positions: UnsafePointer<Int>, _ values: UnsafePointer<Value>,
        _ count: Int
    ) throws(StoreError) {
        if _fastPath(state.owning.isEmpty) { return try state.update(row, positions, values, count) }
        try updateOwner(state, row, positions, values, count)
    }

    /// A primary key may be given where it stays what it is.
    private func confirm(_ state: ClassState, _ row: RowPosition, _ primary: Int, _ value: Value) throws(StoreError) {
        guard try state.value(row, primary).isSame(as: value) else { throw state.schema.keyImmutable(primary) }
    }

    /// Adds to an int; returns the sum. `.nullValue`, `.outOfRange`, `.keyImmutable`, `.wrongType`.
    func increment(_ state: ClassState, _ key: Int64, _ propertyID: UInt32, _ delta: Int64) throws(StoreError) -> Int64
    {
        let cls = state.schema
        let position = try cls.position(propertyID)
        guard cls.columns[position].kind == .int else {
            throw cls.named(
                StoreError(
                    .wrongType,
                    """
                    \(cls.name).\(cls.properties[position].name) is \(cls.columns[position].kind.indefinite), not \
                    an int
                    """
                ), position)
        }
        if cls.isKeyPart(position) { throw cls.keyImmutable(position) }
        try enumerations?.checkAddition(position, cls)
        return try changing(state) { () throws(StoreError) in try state.increment(key, position, delta) }
    }

    /// Deletes an object, and what goes with it; links to it become null.
    func delete(_ state: ClassState, _ key: Int64) throws(StoreError) {
        try changing(state) { () throws(StoreError) in
            if state.incoming.isEmpty, state.owning.isEmpty, schema.mixedOrigins.isEmpty {
                try state.delete(key)
            } else {
                try transaction.delete(Int(state.schema.id), key)
            }
        }
    }

    /// Returns how many there were.
    func deleteAll(_ state: ClassState) throws(StoreError) -> Int {
        try changing(state) { () throws(StoreError) in try transaction.deleteAll(Int(state.schema.id)) }
    }

    /// Deletes the objects of a class that no link property of any object leads to, and what goes with them.
    func deleteOrphans(_ state: ClassState) throws(StoreError) -> Int {
        try changing(state) { () throws(StoreError) in try transaction.deleteOrphans(Int(state.schema.id)) }
    }
}
