/// Changes of many objects in one call: all or nothing, without a call for each. An object that is not there is
/// `.noSuchObject`, like in any other call, and nothing happens.
extension ObjectWriter {
    /// Writes the same values to all objects; returns how many there are.
    ///
    /// `.keyImmutable` for a primary key, but where the one object has it; `.duplicateKey` where two would have a
    /// unique value.
    func set(
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
                    throw cls.keyImmutable(positions[index])
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

    /// Adds to an int, float or double of all objects, but where it is null; returns how many were not.
    func increment(
        _ state: ClassState, _ keys: KeyBuffer, _ propertyID: UInt32, _ delta: Value
    ) throws(StoreError) -> Int {
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
        if cls.isKeyPart(position) { throw cls.keyImmutable(position) }
        try enumerations?.checkAddition(position, cls)
        if keys.count == 0 { return 0 }
        return try whole(state) { (transaction) throws(StoreError) in
            try transaction.increment(state, keys, position, delta)
        }
    }

    /// Deletes all objects; returns how many there were.
    func delete(_ state: ClassState, _ keys: KeyBuffer) throws(StoreError) -> Int {
        if keys.count > 0 {
            try whole(state) { (transaction) throws(StoreError) in try transaction.delete(state, keys) }
        }
        return keys.count
    }

    /// Deletes objects of any classes, all or none; what goes with one of them may be one of them. `.noSuchObject`: one
    /// is not there, or is given twice.
    func delete(_ objects: [ObjectID]) throws(StoreError) {
        let transaction: WriteTransaction = self.transaction
        defer { forgetAll() }
        try transaction.whole { () throws(StoreError) in
            var known = Set<ObjectID>(minimumCapacity: objects.count)
            for object in objects {
                let cls = try schema.cls(of: object, in: storeTag)
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

    /// Deletes all objects of all classes; returns how many there were. The schema stays.
    func deleteEverything() throws(StoreError) -> Int {
        let transaction: WriteTransaction = self.transaction
        defer { forgetAll() }
        let count = try transaction.whole { () throws(StoreError) in try transaction.deleteEverything() }
        try transaction.spillIfLarge()
        return count
    }

    /// The state of the class and the keys of the objects that a list, set or map has links to.
    func targets(
        _ owner: ClassState, _ key: Int64, _ propertyID: UInt32
    ) throws(StoreError) -> (state: ClassState, keys: KeyBuffer) {
        let cls = owner.schema, position = try cls.collectionOfLinks(propertyID)
        let keys = KeyBuffer()
        try owner.elements(key, position).forEach { (_, value) throws(StoreError) in
            if !value.isNull { try keys.append(value.low) }
            return true
        }
        return (try transaction.state(ClassID.index(cls.columns[position].target)), try keys.ascending())
    }
}

extension KeyBuffer {
    /// The same keys, ascending, each once: itself where that is what it has.
    func ascending() throws(StoreError) -> KeyBuffer {
        var index = 1
        while index < count, keys[index - 1] < keys[index] { index += 1 }
        if index >= count { return self }
        try Memory.check(for: count, each: 16)
        let sorted = try KeyBuffer(expecting: count), distinct = try KeyBuffer(expecting: count)
        for index in 0..<count { try sorted.append(keys[index]) }
        try sorted.sort()
        for index in 0..<count where index == 0 || sorted.keys[index] != sorted.keys[index - 1] {
            try distinct.append(sorted.keys[index])
        }
        return distinct
    }
}
