/// Creating, reading, changing and deleting objects: what `ObjectWriter` does in the transaction, and what `TreeAccess`
/// reads, under the lock of the view.
extension View {
    // MARK: Writing

    /// Creates an object; what is not given gets its default, or null. `.missingValue`, `.duplicateKey`.
    package func create(
        _ classID: UInt32, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) -> ObjectID {
        object(
            classID,
            try write(classID) { (writer, state) throws(StoreError) in try writer.create(state, properties, values) })
    }

    /// Creates an object or updates the one with the same primary key. A key that is left out is generated, its
    /// default, or null; else `.missingValue`.
    package func upsert(
        _ classID: UInt32, _ policy: UpsertPolicy, _ properties: UnsafeBufferPointer<UInt32>,
        _ values: UnsafePointer<Value>
    ) throws(StoreError) -> (ObjectID, UpsertOutcome) {
        let (key, outcome) = try write(classID) { (writer, state) throws(StoreError) in
            try writer.upsert(state, policy, properties, values)
        }
        return (object(classID, key), outcome)
    }

    /// Makes an embedded object in a property of its parent; what is not given gets its default, or null.
    ///
    /// - Parameter place: of a link null: what it led to goes. Of a list an index, before which it is inserted, or
    ///   null: at its end. Of a map a key: what it led to goes.
    package func createEmbedded(
        in parent: ObjectID, _ propertyID: UInt32, at place: Value, _ properties: UnsafeBufferPointer<UInt32>,
        _ values: UnsafePointer<Value>
    ) throws(StoreError) -> ObjectID {
        try write(parent) { (writer, state) throws(StoreError) in
            try writer.createEmbedded(in: state, parent.key, propertyID, at: place, properties, values)
        }
    }

    /// Writes one property, also when it has that value already.
    package func set(_ object: ObjectID, _ propertyID: UInt32, _ value: Value) throws(StoreError) {
        try write(object) { (writer, state) throws(StoreError) in
            try writer.set(state, object.key, propertyID, value)
        }
    }

    /// Writes several properties, all or none.
    package func set(
        _ object: ObjectID, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) {
        try write(object) { (writer, state) throws(StoreError) in
            try writer.set(state, object.key, properties, values)
        }
    }

    /// Adds to an int; returns the sum. `.nullValue`, `.outOfRange`, `.keyImmutable`, `.wrongType`.
    package func increment(_ object: ObjectID, _ propertyID: UInt32, _ delta: Int64) throws(StoreError) -> Int64 {
        try write(object) { (writer, state) throws(StoreError) in
            try writer.increment(state, object.key, propertyID, delta)
        }
    }

    package func delete(_ object: ObjectID) throws(StoreError) {
        try write(object) { (writer, state) throws(StoreError) in try writer.delete(state, object.key) }
    }

    /// Returns how many there were.
    package func deleteAll(_ classID: UInt32) throws(StoreError) -> Int {
        try write(classID) { (writer, state) throws(StoreError) in try writer.deleteAll(state) }
    }

    /// Deletes the objects of a class that no link property of any object leads to, and what goes with them; returns
    /// how many of the class. So a migration chooses what becomes of those that would have no parent in a class that
    /// becomes embedded. O(n).
    package func deleteOrphans(_ classID: UInt32) throws(StoreError) -> Int {
        try write(classID) { (writer, state) throws(StoreError) in try writer.deleteOrphans(state) }
    }

    // MARK: Reading

    /// One property. Text is copied into `buffer`, or borrowed (`canLend`) where there is none.
    package func value(
        _ object: ObjectID, _ propertyID: UInt32, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> Value {
        if kind == .frozen { return try valueAlone(object, propertyID, buffer) }
        lock.lock()
        defer { lock.unlock() }
        return try valueAlone(object, propertyID, buffer)
    }

    @inline(__always)
    private func valueAlone(
        _ object: ObjectID, _ propertyID: UInt32, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> Value {
        if _fastPath(object.storeTag == shared.tag), let found = try lookUp?.find(object, propertyID) {
            let value = try found.reader.value(found.row, found.column)
            if _fastPath((value.pointer == nil || (buffer == nil && kind == .frozen)) && !value.kind.isIndirect) {
                return value
            }
            if value.kind == .mixed, let plain = mixedAlone(value, buffer) { return plain }
        }
        return try anyValue(object, propertyID, buffer)
    }

    /// The value of a cell, if it needs no buffer; what is wrong with it, others say better.
    private func mixedAlone(_ cell: Value, _ buffer: UnsafeMutablePointer<OutputBuffer>?) -> Value? {
        guard let value = try? MixedCell.value(cell), value.pointer == nil || (buffer == nil && kind == .frozen) else {
            return nil
        }
        return value
    }

    @inline(never)
    private func anyValue(
        _ object: ObjectID, _ propertyID: UInt32, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> Value {
        let cls = try classOf(object, try schema)
        let reader = try reader(cls)
        guard let row = try reader.find(object.key) else { throw cls.noSuchObject(object.key) }
        let position = try cls.position(propertyID)
        if cls.columns[position].kind.isCollection {
            return .collection(cls.columns[position].kind, object, propertyID)
        }
        return try handOut(try reader.value(row, position), cls, position, buffer)
    }

    /// Several properties of one object into `values`; on failure their content is undefined.
    package func values(
        _ object: ObjectID, _ properties: UnsafeBufferPointer<UInt32>, _ buffer: UnsafeMutablePointer<OutputBuffer>?,
        into values: UnsafeMutablePointer<Value>
    ) throws(StoreError) {
        try serialised { () throws(StoreError) in
            let cls = try classOf(object, try schema)
            let reader = try reader(cls)
            guard let row = try reader.find(object.key) else { throw cls.noSuchObject(object.key) }
            try cls.checkCount(properties)
            // No scratch memory here: a frozen view is read by several threads at a time.
            let memory = UnsafeMutableRawPointer.allocate(
                byteCount: properties.count * 8 + cls.columns.count, alignment: 8)
            defer { memory.deallocate() }
            let positions = memory.bindMemory(to: Int.self, capacity: properties.count)
            for index in 0..<properties.count { positions[index] = try cls.position(properties[index]) }
            let marks = (memory + properties.count * 8).initializeMemory(
                as: Bool.self, repeating: false, count: cls.columns.count)
            try cls.checkOnce(positions, properties.count, marks)
            for index in 0..<properties.count {
                if cls.columns[positions[index]].kind.isCollection {
                    values[index] = .collection(cls.columns[positions[index]].kind, object, properties[index])
                    continue
                }
                var value = try reader.value(row, positions[index])
                if _slowPath(value.kind == .mixed) { value = try cls.mixedValue(value, positions[index]) }
                if buffer == nil, !canLend, value.pointer != nil { throw cannotLend(cls, positions[index]) }
                values[index] = value
            }
            if let buffer { try OutputBuffer.copy(values, properties.count, into: buffer) }
        }
    }

    /// A value on its way out of the view.
    @inline(__always)
    func handOut(
        _ value: Value, _ cls: ClassSchema, _ position: Int, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> Value {
        var copy = value
        if _slowPath(value.kind == .mixed) { copy = try cls.mixedValue(value, position) }
        guard copy.kind.hasBytes else { return copy }
        guard let buffer else {
            if canLend { return copy }
            throw cannotLend(cls, position)
        }
        try OutputBuffer.copy(&copy, 1, into: buffer)
        return copy
    }

    @inline(never)
    func cannotLend(_ cls: ClassSchema, _ position: Int) -> StoreError {
        cls.named(
            StoreError(
                .wrongView,
                """
                \(cls.name).\(cls.properties[position].name): a live view does not lend text, since it may move: a \
                buffer is needed
                """
            ), position)
    }

    // MARK: Finding

    /// The object with that primary key, or nil.
    package func find(_ classID: UInt32, _ key: Value) throws(StoreError) -> ObjectID? {
        try serialised { () throws(StoreError) in
            if let found = try lookUp?.find(classID, key) {
                return found.map { object(classID, $0) }
            }
            if key.kind == .int, let state = writer?.written(classID),
                state._withUnsafeGuaranteedRef({ $0.hasPrimaryKey(of: .int) })
            {
                return try state.unretained { (state) throws(StoreError) in try state.find(primaryKey: key) }
                    .map { object(classID, $0) }
            }
            let trees = try trees
            return try trees.find(try trees.schema.cls(classID), primaryKey: key).map { object(classID, $0) }
        }
    }

    package func exists(_ object: ObjectID) throws(StoreError) -> Bool {
        if object == .none { return false }
        return try serialised { () throws(StoreError) in
            let cls = try classOf(object, try schema)
            return try reader(cls).find(object.key) != nil
        }
    }

    /// The object that an embedded one lies in, and in which property; nil only while it is being made, or, in a
    /// migration, where it has none yet. O(log n) for each property that leads to its class.
    package func parent(of object: ObjectID) throws(StoreError) -> (object: ObjectID, propertyID: UInt32)? {
        try serialised { () throws(StoreError) in
            let trees = try trees, schema = trees.schema
            guard let (owner, link) = try trees.parent(of: object.key, try classOf(object, schema)) else { return nil }
            let origin = schema.classes[link.classIndex]
            return (self.object(origin.classID, owner), origin.propertyID(link.property))
        }
    }
}
