/// The outcome of an upsert.
package enum UpsertOutcome: Int32, Sendable {
    case unchanged = 0
    case changed = 1
    case created = 2
}

/// What to do where an object with the primary key exists.
package enum UpsertPolicy: Int32, Sendable {
    case error = 0
    /// Write the given properties that differ; nothing where none does.
    case modified = 1
    /// Write all given properties.
    case all = 2
}

/// Creating objects, and updating those that have the same primary key.
extension ObjectWriter {
    /// Creates an object; what is not given gets its default, or null. `.missingValue`, `.duplicateKey`.
    @inline(__always)
    func create(
        _ state: ClassState, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) -> Int64 {
        if _slowPath(state.schema.isEmbedded) { throw state.schema.embeddedError }
        let row = try fullRow(state.schema, properties, values)
        return try changing(state) { () throws(StoreError) in try state.create(row) }
    }

    /// Creates an object or updates the one with the same primary key. A key that is left out is generated, its
    /// default, or null; else `.missingValue`.
    func upsert(
        _ state: ClassState, _ policy: UpsertPolicy, _ properties: UnsafeBufferPointer<UInt32>,
        _ values: UnsafePointer<Value>
    ) throws(StoreError) -> (key: Int64, outcome: UpsertOutcome) {
        let cls = state.schema
        guard let primary = cls.primaryKey else { return try upsertTuple(state, policy, properties, values) }
        let positions = try positions(cls, properties)
        let given = (0..<properties.count).first { positions[$0] == primary }
        if given == nil, cls.properties[primary].isGenerated {
            let row = try fullRow(cls, properties, values)
            let key = try changing(state) { () throws(StoreError) in try state.create(row) }
            return (key, .created)
        }
        // Left out, it is what a new object gets.
        let value = given.map { values[$0] } ?? cls.properties[primary].defaultValue?.value ?? .null
        guard isKey(value, primary, cls) else {
            try check(columns(values, positions, properties.count, cls), positions, properties.count, cls)
            throw cls.named(
                StoreError(
                    .missingValue, "\(cls.name).\(cls.properties[primary].name): the primary key must be given"),
                primary)
        }
        guard let key = try state.find(primaryKey: value) else {
            let row = try fullRow(cls, properties, values)
            let key = try changing(state) { () throws(StoreError) in try state.createUnchecked(row) }
            return (key, .created)
        }
        if policy == .error {
            try check(columns(values, positions, properties.count, cls), positions, properties.count, cls)
            throw state.duplicate(value)
        }
        return (
            key,
            try update(
                state, key, policy, positions, try columns(values, positions, properties.count, cls),
                properties.count)
        )
    }

    /// The same where the primary key is of several properties.
    private func upsertTuple(
        _ state: ClassState, _ policy: UpsertPolicy, _ properties: UnsafeBufferPointer<UInt32>,
        _ values: UnsafePointer<Value>
    ) throws(StoreError) -> (key: Int64, outcome: UpsertOutcome) {
        let cls = state.schema
        guard let position = cls.keyIndex else { throw cls.noPrimaryKey }
        let index = cls.indexes[position], positions = try positions(cls, properties)
        func given(_ part: Int) -> Int? { (0..<properties.count).first { positions[$0] == part } }
        func value(_ part: Int) -> Value? { given(part).map { values[$0] } ?? cls.properties[part].defaultValue?.value }
        var isNew = false
        for part in index.properties where value(part).map({ isKey($0, part, cls) }) != true {
            try check(columns(values, positions, properties.count, cls), positions, properties.count, cls)
            guard cls.properties[part].isGenerated else {
                throw cls.named(
                    StoreError(
                        .missingValue,
                        "\(cls.name).\(cls.properties[part].name): it is part of the primary key, and must be given"),
                    part)
            }
            isNew = true
        }
        guard !isNew, let key = try state.find(key: { value($0).unsafelyUnwrapped }) else {
            let row = try fullRow(cls, properties, values)
            let key = try changing(state) { () throws(StoreError) in try state.create(row) }
            return (key, .created)
        }
        if policy == .error {
            try check(columns(values, positions, properties.count, cls), positions, properties.count, cls)
            throw try state.taken(index) { (part) throws(StoreError) in value(part).unsafelyUnwrapped }
        }
        return (
            key,
            try update(
                state, key, policy, positions, try columns(values, positions, properties.count, cls), properties.count)
        )
    }

    /// Writes some properties of an object, those that differ or all, but for its primary key, which has that value; in
    /// a migration it may get another one.
    private func update(
        _ state: ClassState, _ key: Int64, _ policy: UpsertPolicy, _ positions: UnsafeMutablePointer<Int>,
        _ values: UnsafePointer<Value>, _ given: Int
    ) throws(StoreError) -> UpsertOutcome {
        let cls = state.schema, row = try state.row(key)
        state.cluster.tree.prefetch(row, positions, given)
        // Key out, and what does not differ where that matters. What is there already need not be checked.
        var count = 0
        let changes = scratch.reserve(given), limit = valueLimit
        for index in 0..<given where !cls.isKeyPart(positions[index]) {
            let isThere = try state.value(row, positions[index]).isSame(as: values[index])
            if !isThere || values[index].count > limit || values[index].kind == .link {
                try check(values[index], positions[index], cls)
            }
            if isThere, policy == .modified || cls.isOfKey(positions[index]) { continue }
            positions[count] = positions[index]
            changes[count] = values[index]
            count += 1
        }
        if count == 0 { return .unchanged }
        try changing(state, row) { () throws(StoreError) in try update(state, row, positions, changes, count) }
        return .changed
    }

    /// The same for callers that know the object already.
    func updateExisting(
        _ state: ClassState, _ key: Int64, _ policy: UpsertPolicy, _ properties: UnsafeBufferPointer<UInt32>,
        _ values: UnsafePointer<Value>
    ) throws(StoreError) -> UpsertOutcome {
        let cls = state.schema, positions = try positions(cls, properties)
        return try update(
            state, key, policy, positions, try columns(values, positions, properties.count, cls), properties.count)
    }
}
