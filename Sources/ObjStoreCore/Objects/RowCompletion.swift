/// Completing a row: which properties are given, what the others get, whether all of it may be written.
extension ObjectWriter {
    /// Positions of the given properties, each once. Valid until the next call.
    func positions(
        _ cls: ClassSchema, _ properties: UnsafeBufferPointer<UInt32>
    ) throws(StoreError) -> UnsafeMutablePointer<Int> {
        try cls.checkCount(properties)
        let positions = scratch.positions(cls.columns.count)
        for index in 0..<properties.count { positions[index] = try cls.position(properties[index]) }
        try cls.checkOnce(positions, properties.count, scratch.marks(cls.columns.count))
        return positions
    }

    /// What the column of a property takes for a value; a cell is valid until the next call.
    @inline(__always)
    func column(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) -> Value {
        if _slowPath(cls.columns[position].kind == .mixed) { try checkMixedLinks(value, position, cls) }
        return try MixedCell.column(
            value, position, cls, limit: valueLimit, into: cells[position])
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
    func isKey(_ value: Value, _ primary: Int, _ cls: ClassSchema) -> Bool {
        do throws(StoreError) {
            try check(value, primary, cls)
            return true
        } catch {
            return false
        }
    }

    @inline(__always)
    func check(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        try ValueCheck.check(value, for: position, of: cls, limit: valueLimit)
        if value.count > ClassSchema.longestKey { try cls.checkLong(value, position) }
        if _slowPath(value.kind == .link) { try checkLink(value, position, cls) }
        if _slowPath(enumerations != nil) { try enumerations?.check(value, position, cls) }
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
        try cls.checkCount(properties)
        let row = scratch.reserve(cls.columns.count)
        let marks = scratch.marks(cls.columns.count)
        for index in 0..<properties.count {
            let position = try cls.position(properties[index])
            if marks[position] { throw cls.givenTwice(position) }
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

    /// What a new object gets in a property that is generated.
    @inline(never)
    func generated(_ cls: ClassSchema, _ position: Int) throws(StoreError) -> Value {
        switch cls.columns[position].kind {
        case .objectID: ObjectIDGenerator.next()
        case .uuid: UUIDGenerator.next()
        default:
            .int(try transaction.state(Int(cls.id)).generateKey(enumerations?.find(position, cls)?.values))
        }
    }

    /// What `missing` gives, as applications give it: of a mixed property it is a cell.
    func plain(_ value: Value, _ cls: ClassSchema, _ position: Int) throws(StoreError) -> Value {
        value.kind == .mixed ? try cls.mixedValue(value, position) : value
    }
}

extension ClassSchema {
    /// Texts that are too long for a key or an index.
    @inline(never)
    func checkLong(_ value: Value, _ position: Int) throws(StoreError) {
        if isOfKey(position) {
            throw named(
                StoreError(
                    .valueTooLarge,
                    """
                    \(name).\(properties[position].name): a key of \(value.count) bytes; at most \
                    \(ClassSchema.longestKey) are allowed
                    """
                ), position)
        }
        if value.count > IndexKey.longest, indexPosition(of: position) != nil {
            throw named(
                StoreError(
                    .valueTooLarge,
                    """
                    \(name).\(properties[position].name): \(value.count) bytes for an indexed property; at \
                    most \(IndexKey.longest) are allowed
                    """
                ), position)
        }
    }

    /// `marks`: one for each property of the class, all false.
    func checkOnce(
        _ positions: UnsafePointer<Int>, _ count: Int, _ marks: UnsafeMutablePointer<Bool>
    ) throws(StoreError) {
        for index in 0..<count {
            if marks[positions[index]] { throw givenTwice(positions[index]) }
            marks[positions[index]] = true
        }
    }

    /// Of more than a class has, one is given twice: said before anything is looked at.
    @inline(__always)
    func checkCount(_ properties: UnsafeBufferPointer<UInt32>) throws(StoreError) {
        if properties.count <= columns.count { return }
        // One may have been dropped since its id was looked up.
        for id in properties { _ = try position(id) }
        throw StoreError(
            .invalidArgument, "\(properties.count) properties are given, class \(name) has \(columns.count)"
        ).at(class: name)
    }

    func givenTwice(_ position: Int) -> StoreError {
        named(StoreError(.invalidArgument, "\(name).\(properties[position].name) is given twice"), position)
    }

    func keyImmutable(_ position: Int) -> StoreError {
        let what = position == primaryKey ? "the primary key" : "part of the primary key"
        return named(
            StoreError(.keyImmutable, "\(name).\(properties[position].name) is \(what): it cannot be changed"),
            position)
    }
}
