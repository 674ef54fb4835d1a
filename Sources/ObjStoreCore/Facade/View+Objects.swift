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

/// Creating, reading, changing and deleting objects.
///
/// Properties are given by id, values must be of exactly the property's kind. Every failing call leaves the
/// transaction as it was: everything is checked before the first change, and what can still fail then (memory,
/// a damaged page) is undone by inverse operations.
extension View {
    // MARK: Creating

    /// Creates an object; what is not given gets its default, or null. `.missingValue`, `.duplicateKey`.
    package func create(
        _ classID: UInt32, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) -> ObjectID {
        try write(classID) { (state) throws(StoreError) in
            if _slowPath(state.schema.isEmbedded) { throw embeddedError(state.schema) }
            let row = try fullRow(state.schema, properties, values)
            let key = try changing(state) { () throws(StoreError) in try state.create(row) }
            return ObjectID(classID: classID, storeTag: shared.tag, key: key)
        }
    }

    /// Creates an object or updates the one with the same primary key. A key that is left out is generated, its
    /// default, or null; else `.missingValue`.
    package func upsert(
        _ classID: UInt32, _ policy: UpsertPolicy, _ properties: UnsafeBufferPointer<UInt32>,
        _ values: UnsafePointer<Value>
    ) throws(StoreError) -> (ObjectID, UpsertOutcome) {
        try write(classID) { (state) throws(StoreError) in
            let cls = state.schema
            guard let primary = cls.primaryKey else { return try upsertTuple(state, policy, properties, values) }
            let positions = try positions(cls, properties)
            let given = (0..<properties.count).first { positions[$0] == primary }
            if given == nil, cls.properties[primary].isGenerated {
                let row = try fullRow(cls, properties, values)
                let key = try changing(state) { () throws(StoreError) in try state.create(row) }
                return (ObjectID(classID: classID, storeTag: shared.tag, key: key), .created)
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
                return (ObjectID(classID: classID, storeTag: shared.tag, key: key), .created)
            }
            if policy == .error {
                try check(columns(values, positions, properties.count, cls), positions, properties.count, cls)
                throw state.duplicate(value)
            }
            let object = ObjectID(classID: classID, storeTag: shared.tag, key: key)
            return (
                object,
                try update(
                    state, key, policy, positions, try columns(values, positions, properties.count, cls),
                    properties.count)
            )
        }
    }

    /// The same where the primary key is of several properties.
    private func upsertTuple(
        _ state: ClassState, _ policy: UpsertPolicy, _ properties: UnsafeBufferPointer<UInt32>,
        _ values: UnsafePointer<Value>
    ) throws(StoreError) -> (ObjectID, UpsertOutcome) {
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
            return (ObjectID(classID: cls.classID, storeTag: shared.tag, key: key), .created)
        }
        if policy == .error {
            try check(columns(values, positions, properties.count, cls), positions, properties.count, cls)
            throw try state.taken(index) { (part) throws(StoreError) in value(part).unsafelyUnwrapped }
        }
        let object = ObjectID(classID: cls.classID, storeTag: shared.tag, key: key)
        return (
            object,
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
        let changes = scratch.reserve(given), limit = shared.database.options.valueLimit
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
            try checkCount(cls, properties)
            // No scratch memory here: a frozen view is read by several threads at a time.
            let memory = UnsafeMutableRawPointer.allocate(
                byteCount: properties.count * 8 + cls.columns.count, alignment: 8)
            defer { memory.deallocate() }
            let positions = memory.bindMemory(to: Int.self, capacity: properties.count)
            for index in 0..<properties.count { positions[index] = try cls.position(properties[index]) }
            let marks = (memory + properties.count * 8).initializeMemory(
                as: Bool.self, repeating: false, count: cls.columns.count)
            try checkOnce(cls, positions, properties.count, marks)
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

    // MARK: Changing

    /// Writes one property, also when it has that value already.
    package func set(_ object: ObjectID, _ propertyID: UInt32, _ value: Value) throws(StoreError) {
        try write(object) { (state) throws(StoreError) in
            let cls = state.schema
            let position = try cls.position(propertyID), value = try column(value, position, cls)
            if _slowPath(cls.columns[position].kind == .link), let link = state.embedded(position) {
                return try changing(state) { () throws(StoreError) in try setEmbedded(state, object.key, link, value) }
            }
            try check(value, position, cls)
            let row = try state.row(object.key)
            if cls.isKeyPart(position) { return try confirm(state, row, position, value) }
            try changing(state, row) { () throws(StoreError) in try state.update(row, position, value) }
        }
    }

    /// Writes several properties, all or none.
    package func set(
        _ object: ObjectID, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) {
        try write(object) { (state) throws(StoreError) in
            let cls = state.schema
            let positions = try positions(cls, properties),
                values = try columns(values, positions, properties.count, cls)
            try check(values, positions, properties.count, cls)
            let row = try state.row(object.key)
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
        guard try state.value(row, primary).isSame(as: value) else { throw keyImmutable(state.schema, primary) }
    }

    /// Adds to an int; returns the sum. `.nullValue`, `.outOfRange`, `.keyImmutable`, `.wrongType`.
    package func increment(_ object: ObjectID, _ propertyID: UInt32, _ delta: Int64) throws(StoreError) -> Int64 {
        try write(object) { (state) throws(StoreError) in
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
            if cls.isKeyPart(position) { throw keyImmutable(cls, position) }
            try enumerations?.checkAddition(position, cls)
            return try changing(state) { () throws(StoreError) in try state.increment(object.key, position, delta) }
        }
    }

    package func delete(_ object: ObjectID) throws(StoreError) {
        try write(object) { (state) throws(StoreError) in
            try changing(state) { () throws(StoreError) in
                if state.incoming.isEmpty, state.owning.isEmpty, try writing().schema.mixedOrigins.isEmpty {
                    try state.delete(object.key)
                } else {
                    try writing().delete(Int(state.schema.id), object.key)
                }
            }
        }
    }

    /// Returns how many there were.
    package func deleteAll(_ classID: UInt32) throws(StoreError) -> Int {
        try write(classID) { (state) throws(StoreError) in
            try changing(state) { () throws(StoreError) in try writing().deleteAll(Int(state.schema.id)) }
        }
    }

    /// Deletes the objects of a class that no link property of any object leads to, and what goes with them; returns
    /// how many of the class. So a migration chooses what becomes of those that would have no parent in a class that
    /// becomes embedded. O(n).
    package func deleteOrphans(_ classID: UInt32) throws(StoreError) -> Int {
        try write(classID) { (state) throws(StoreError) in
            try changing(state) { () throws(StoreError) in try writing().deleteOrphans(Int(state.schema.id)) }
        }
    }

    // MARK: Finding

    /// The object with that primary key, or nil.
    package func find(_ classID: UInt32, _ key: Value) throws(StoreError) -> ObjectID? {
        try serialised { () throws(StoreError) in
            if let found = try lookUp?.find(classID, key) {
                return found.map { ObjectID(classID: classID, storeTag: shared.tag, key: $0) }
            }
            if key.kind == .int, let state = writtenState(classID),
                state._withUnsafeGuaranteedRef({ $0.hasPrimaryKey(of: .int) })
            {
                return try state.unretained { (state) throws(StoreError) in try state.find(primaryKey: key) }
                    .map { ObjectID(classID: classID, storeTag: shared.tag, key: $0) }
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

    // MARK: Checks

    @inline(__always)
    func write<T>(_ classID: UInt32, _ body: (ClassState) throws(StoreError) -> T) throws(StoreError) -> T {
        if kind != .transaction { throw notInWrite }
        lock.lock()
        defer { lock.unlock() }
        if let state = writtenState(classID) { return try writing(state, body) }
        return try writing(try openState(nil, classID), body)
    }

    @inline(__always)
    func write<T>(_ object: ObjectID, _ body: (ClassState) throws(StoreError) -> T) throws(StoreError) -> T {
        if kind != .transaction { throw notInWrite }
        lock.lock()
        defer { lock.unlock() }
        if object.storeTag == shared.tag, let state = writtenState(object.classID) { return try writing(state, body) }
        return try writing(try openState(object, object.classID), body)
    }

    @inline(__always)
    private func writing<T>(
        _ state: Unmanaged<ClassState>, _ body: (ClassState) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try state.unretained { (state) throws(StoreError) in
            let result = try body(state)
            try spillIfLarge(state)
            return result
        }
    }

    /// Where the transaction has changed more than it keeps in memory: to be called where nothing that was read is used
    /// any more.
    @inline(__always)
    func spillIfLarge(_ state: ClassState) throws(StoreError) { if _slowPath(state.space.isLarge) { try spill() } }

    @inline(never)
    private func spill() throws(StoreError) {
        defer { didMove() }
        try writing().spill()
    }

    /// The class, if it is the one that was written last and nothing has gone wrong since.
    @inline(__always)
    func writtenState(_ classID: UInt32) -> Unmanaged<ClassState>? {
        guard let written, written.classID == classID,
            !(written.state._withUnsafeGuaranteedRef { $0.space.mayBeBroken })
        else { return nil }
        return written.state
    }

    @inline(never)
    private func openState(_ object: ObjectID?, _ classID: UInt32) throws(StoreError) -> Unmanaged<ClassState> {
        let transaction = try usable()
        let cls: ClassSchema
        if let object {
            cls = try classOf(object, transaction.schema)
        } else {
            cls = try transaction.schema.cls(classID)
        }
        let state = Unmanaged.passUnretained(try transaction.state(Int(cls.id)))
        written = (classID, state)
        return state
    }

    /// The transaction, unless it can only be cancelled. Serialised by the caller.
    func usable() throws(StoreError) -> WriteTransaction {
        let transaction = try writing()
        if transaction.isBroken {
            throw StoreError(.corrupt, "a failed call could not be undone: the transaction can only be cancelled")
        }
        return transaction
    }

    /// A change of one object's values. Where its leaf was the transaction's own already, and is where it was, so is
    /// everything else: no row looks again.
    @inline(__always)
    private func changing(
        _ state: ClassState, _ row: RowPosition, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let layout = layout
        try changing(state, body)
        if state.cluster.isInPlace(row) { self.layout = layout }
    }

    /// The step that changes something: rows look again, and a failed undo is remembered.
    @inline(__always)
    func changing<T>(_ state: ClassState, _ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        defer { didMove() }
        do throws(StoreError) {
            return try body()
        } catch {
            if state.cluster.isBroken { state.isBroken = true }
            throw error
        }
    }

    /// Positions of the given properties, each once. Valid until the next call.
    func positions(
        _ cls: ClassSchema, _ properties: UnsafeBufferPointer<UInt32>
    ) throws(StoreError) -> UnsafeMutablePointer<Int> {
        try checkCount(cls, properties)
        let positions = scratch.positions(cls.columns.count)
        for index in 0..<properties.count { positions[index] = try cls.position(properties[index]) }
        try checkOnce(cls, positions, properties.count, scratch.marks(cls.columns.count))
        return positions
    }

    /// What the column of a property takes for a value; a cell is valid until the next call.
    @inline(__always)
    private func column(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) -> Value {
        if _slowPath(cls.columns[position].kind == .mixed) { try checkMixedLinks(value, position, cls) }
        return try MixedCell.column(
            value, position, cls, limit: shared.database.options.valueLimit, into: cells[position])
    }

    func columns(
        _ values: UnsafePointer<Value>, _ positions: UnsafePointer<Int>, _ count: Int, _ cls: ClassSchema
    ) throws(StoreError) -> UnsafePointer<Value> {
        if !cls.hasMixed { return values }
        let row = scratch.converted(count)
        for index in 0..<count { row[index] = try column(values[index], positions[index], cls) }
        return UnsafePointer(row)
    }

    func check(
        _ values: UnsafePointer<Value>, _ positions: UnsafePointer<Int>, _ count: Int, _ cls: ClassSchema
    ) throws(StoreError) {
        for index in 0..<count { try check(values[index], positions[index], cls) }
    }

    /// Whether a value may be looked up as primary key; `check` says what is wrong with it.
    private func isKey(_ value: Value, _ primary: Int, _ cls: ClassSchema) -> Bool {
        do throws(StoreError) {
            try check(value, primary, cls)
            return true
        } catch {
            return false
        }
    }

    @inline(__always)
    func check(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        try ValueCheck.check(value, for: position, of: cls, limit: shared.database.options.valueLimit)
        if value.count > ClassSchema.longestKey { try checkLong(value, position, cls) }
        if _slowPath(value.kind == .link) { try checkLink(value, position, cls) }
        if _slowPath(enumerations != nil) { try enumerations?.check(value, position, cls) }
    }

    @inline(never)
    private func checkLong(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        if cls.isOfKey(position) {
            throw cls.named(
                StoreError(
                    .valueTooLarge,
                    """
                    \(cls.name).\(cls.properties[position].name): a key of \(value.count) bytes; at most \
                    \(ClassSchema.longestKey) are allowed
                    """
                ), position)
        }
        if value.count > IndexKey.longest, cls.indexPosition(of: position) != nil {
            throw cls.named(
                StoreError(
                    .valueTooLarge,
                    """
                    \(cls.name).\(cls.properties[position].name): \(value.count) bytes for an indexed property; at \
                    most \(IndexKey.longest) are allowed
                    """
                ), position)
        }
    }

    /// `marks`: one for each property of the class, all false.
    private func checkOnce(
        _ cls: ClassSchema, _ positions: UnsafePointer<Int>, _ count: Int, _ marks: UnsafeMutablePointer<Bool>
    ) throws(StoreError) {
        for index in 0..<count {
            if marks[positions[index]] { throw givenTwice(cls, positions[index]) }
            marks[positions[index]] = true
        }
    }

    /// Of more than a class has, one is given twice: said before anything is looked at.
    @inline(__always)
    private func checkCount(_ cls: ClassSchema, _ properties: UnsafeBufferPointer<UInt32>) throws(StoreError) {
        if properties.count <= cls.columns.count { return }
        // One may have been dropped since its id was looked up.
        for id in properties { _ = try cls.position(id) }
        throw StoreError(
            .invalidArgument, "\(properties.count) properties are given, class \(cls.name) has \(cls.columns.count)"
        ).at(class: cls.name)
    }

    private func givenTwice(_ cls: ClassSchema, _ position: Int) -> StoreError {
        cls.named(StoreError(.invalidArgument, "\(cls.name).\(cls.properties[position].name) is given twice"), position)
    }

    /// A value for each property of the class: given, default or null. Valid until the next call.
    @inline(__always)
    func fullRow(
        _ cls: ClassSchema, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) -> UnsafePointer<Value> {
        guard _fastPath(isRow(cls, properties)) else { return try completeRow(cls, properties, values) }
        for position in 0..<properties.count { try check(values[position], position, cls) }
        return values
    }

    /// Whether the properties are all that the class has, in its order: the values are a row then. A copy of what has
    /// only just been written word by word waits until it has reached the cache.
    @inline(__always)
    private func isRow(_ cls: ClassSchema, _ properties: UnsafeBufferPointer<UInt32>) -> Bool {
        guard properties.count == cls.columns.count, !cls.hasMixed else { return false }
        for position in 0..<properties.count
        where properties[position] != PropertyID.of(cls.id, cls.columns[position].id) { return false }
        return true
    }

    @inline(never)
    private func completeRow(
        _ cls: ClassSchema, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) -> UnsafePointer<Value> {
        try checkCount(cls, properties)
        let row = scratch.reserve(cls.columns.count)
        let marks = scratch.marks(cls.columns.count)
        for index in 0..<properties.count {
            let position = try cls.position(properties[index])
            if marks[position] { throw givenTwice(cls, position) }
            marks[position] = true
            let value = try column(values[index], position, cls)
            try check(value, position, cls)
            row[position] = value
        }
        if properties.count == cls.columns.count { return UnsafePointer(row) }
        for position in 0..<cls.columns.count where !marks[position] { row[position] = try missing(cls, position) }
        return UnsafePointer(row)
    }

    /// What a property gets that was not given.
    func missing(_ cls: ClassSchema, _ position: Int) throws(StoreError) -> Value {
        if let value = cls.properties[position].defaultValue { return value.value }
        if cls.properties[position].isGenerated { return try generated(cls, position) }
        if cls.columns[position].nullable { return .null }
        throw cls.named(
            StoreError(
                .missingValue,
                """
                \(cls.name).\(cls.properties[position].name) has no default and cannot be null: a value must be given
                """),
            position)
    }

    func keyImmutable(_ cls: ClassSchema, _ position: Int) -> StoreError {
        let what = position == cls.primaryKey ? "the primary key" : "part of the primary key"
        return cls.named(
            StoreError(.keyImmutable, "\(cls.name).\(cls.properties[position].name) is \(what): it cannot be changed"),
            position)
    }
}
