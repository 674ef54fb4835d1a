/// Changes of all objects of results, or of a collection's, in one call: all or nothing, without a call for each.
///
/// Results are taken as they are, in whatever view they were found. An object of them that was deleted since is
/// `.noSuchObject`, like in any other call, and nothing happens.
extension View {
    // MARK: Results

    /// Writes the same values to all objects; returns how many there are.
    ///
    /// `.keyImmutable` for a primary key, but where the one object has it; `.duplicateKey` where two would have a
    /// unique value.
    package func set(
        _ results: Results, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) -> Int {
        try writeAll(results) { (state, keys) throws(StoreError) in try set(state, keys, properties, values) }
    }

    /// Adds to an int, float or double of all objects, but where it is null; returns how many were not.
    package func increment(_ results: Results, _ propertyID: UInt32, _ delta: Value) throws(StoreError) -> Int {
        try writeAll(results) { (state, keys) throws(StoreError) in
            let cls = state.schema, position = try cls.position(propertyID), kind = cls.columns[position].kind
            guard delta.kind == kind, kind == .int || kind == .float || kind == .double else {
                let what =
                    kind == .int || kind == .float || kind == .double
                    ? "\(delta.kind) cannot be added to it" : "nothing can be added to it"
                throw cls.named(
                    StoreError(
                        .wrongType, "\(cls.name).\(cls.properties[position].name) is \(kind.indefinite): \(what)"),
                    position)
            }
            if cls.isKeyPart(position) { throw keyImmutable(cls, position) }
            try enumerations?.checkAddition(position, cls)
            if keys.count == 0 { return 0 }
            return try whole(state) { (transaction) throws(StoreError) in
                try transaction.increment(state, keys, position, delta)
            }
        }
    }

    /// Deletes all objects; returns how many there were.
    package func delete(_ results: Results) throws(StoreError) -> Int {
        try writeAll(results) { (state, keys) throws(StoreError) in try delete(state, keys) }
    }

    /// Deletes objects of any classes, all or none; what goes with one of them may be one of them. `.noSuchObject`: one
    /// is not there, or is given twice.
    package func delete(_ objects: [ObjectID]) throws(StoreError) {
        if kind != .transaction { throw notInWrite }
        lock.lock()
        defer { lock.unlock() }
        let transaction = try usable()
        defer { forget() }
        try transaction.whole { () throws(StoreError) in
            var known = Set<ObjectID>(minimumCapacity: objects.count)
            for object in objects {
                let cls = try classOf(object, try schema)
                guard try transaction.state(Int(cls.id)).contains(object.key) else {
                    throw cls.noSuchObject(object.key)
                }
                guard known.insert(object).inserted else {
                    throw StoreError(.noSuchObject, "the object \(cls.name)#\(object.key) is given twice").at(
                        class: cls.name)
                }
            }
            for (classID, same) in Dictionary(grouping: objects, by: \.classID).sorted(by: { $0.key < $1.key }) {
                let state = try transaction.state(ClassID.index(classID)), keys = KeyBuffer(capacity: same.count)
                for object in same where try state.contains(object.key) { try keys.append(object.key) }
                try transaction.delete(state, try keys.ascending())
            }
        }
    }

    // MARK: Links of a collection

    /// Writes the same values to every object that a list, set or map has links to; returns how many there are.
    package func setObjects(
        of id: CollectionID, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) -> Int {
        try writeAll(id) { (state, keys) throws(StoreError) in try set(state, keys, properties, values) }
    }

    /// Deletes every object that a list, set or map has links to: its elements go, in a map they become null. Returns
    /// how many there were.
    package func deleteObjects(of id: CollectionID) throws(StoreError) -> Int {
        try writeAll(id) { (state, keys) throws(StoreError) in try delete(state, keys) }
    }

    // MARK: Everything

    /// Deletes all objects of all classes; returns how many there were. The schema stays.
    package func deleteEverything() throws(StoreError) -> Int {
        if kind != .transaction { throw notInWrite }
        lock.lock()
        defer { lock.unlock() }
        let transaction = try usable()
        defer { forget() }
        let count = try transaction.whole { () throws(StoreError) in try transaction.deleteEverything() }
        try transaction.spillIfLarge()
        return count
    }

    // MARK: Inside

    private func writeAll(
        _ results: Results, _ body: (ClassState, KeyBuffer) throws(StoreError) -> Int
    ) throws(StoreError) -> Int {
        guard results.view.shared.tag == shared.tag else { throw View.wrongResults }
        let keys = results.list()
        return try write(results.classID) { (state) throws(StoreError) in try body(state, try keys.ascending()) }
    }

    private func writeAll(
        _ id: CollectionID, _ body: (ClassState, KeyBuffer) throws(StoreError) -> Int
    ) throws(StoreError) -> Int {
        try write(id.owner) { (owner) throws(StoreError) in
            let cls = owner.schema, position = try cls.collection(id.propertyID)
            guard cls.elements(of: position).kind == .link else {
                throw cls.wrongCollection(
                    position, "a collection of links", "its elements are of type \(cls.elements(of: position).kind)")
            }
            let keys = KeyBuffer()
            try owner.elements(id.owner.key, position).forEach { (_, value) throws(StoreError) in
                if !value.isNull { try keys.append(value.low) }
                return true
            }
            return try body(try writing().state(ClassID.index(cls.columns[position].target)), try keys.ascending())
        }
    }

    static var wrongResults: StoreError { StoreError(.wrongStore, "the results are of another store") }

    private func set(
        _ state: ClassState, _ keys: KeyBuffer, _ properties: UnsafeBufferPointer<UInt32>,
        _ values: UnsafePointer<Value>
    ) throws(StoreError) -> Int {
        let cls = state.schema
        let positions = try positions(cls, properties)
        // They may lie where the first object is changed.
        let owned = try (0..<properties.count).map { (index) throws(StoreError) in
            try OwnedValue(copying: values[index])
        }
        defer { withExtendedLifetime(owned) {} }
        let given = scratch.reserve(properties.count)
        for index in 0..<properties.count { given[index] = owned[index].value }
        let columns = try columns(UnsafePointer(given), positions, properties.count, cls)
        try check(columns, positions, properties.count, cls)
        if keys.count == 0 { return 0 }
        var count = 0
        for index in 0..<properties.count {
            if cls.isKeyPart(positions[index]) {
                guard keys.count == 1, try state.value(keys.keys[0], positions[index]).isSame(as: columns[index]) else {
                    throw keyImmutable(cls, positions[index])
                }
                continue
            }
            positions[count] = positions[index]
            given[count] = columns[index]
            count += 1
        }
        if count > 0 {
            let changes = UnsafePointer(given), positions = UnsafePointer(positions)
            try whole(state) { (transaction) throws(StoreError) in
                try transaction.update(state, keys, positions, changes, count)
            }
        } else {
            _ = try state.row(keys.keys[0])
        }
        return keys.count
    }

    private func delete(_ state: ClassState, _ keys: KeyBuffer) throws(StoreError) -> Int {
        if keys.count > 0 {
            try whole(state) { (transaction) throws(StoreError) in try transaction.delete(state, keys) }
        }
        return keys.count
    }

    /// A change of several steps: all of them, or none.
    func whole<T>(_ state: ClassState, _ body: (WriteTransaction) throws(StoreError) -> T) throws(StoreError) -> T {
        let transaction = try writing()
        defer { forget() }
        return try transaction.whole { () throws(StoreError) in
            try changing(state) { () throws(StoreError) in try body(transaction) }
        }
    }

    /// Nothing that was read or looked up before holds: objects may lie elsewhere, classes may have been closed.
    private func forget() {
        didMove()
        written = nil
    }
}

extension KeyBuffer {
    /// The same keys, ascending, each once: itself where that is what it has.
    func ascending() throws(StoreError) -> KeyBuffer {
        var index = 1
        while index < count, keys[index - 1] < keys[index] { index += 1 }
        if index >= count { return self }
        let sorted = try KeyBuffer(expecting: count), distinct = try KeyBuffer(expecting: count)
        for index in 0..<count { try sorted.append(keys[index]) }
        sorted.sort()
        for index in 0..<count where index == 0 || sorted.keys[index] != sorted.keys[index - 1] {
            try distinct.append(sorted.keys[index])
        }
        return distinct
    }
}
