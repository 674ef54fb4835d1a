/// Embedded objects: each lies in one property of one other object, its parent, is made there, and goes with it.
extension ObjectWriter {
    // MARK: Making

    /// Makes an embedded object in a property of its parent; what is not given gets its default, or null.
    ///
    /// - Parameter place: of a link null: what it led to goes. Of a list an index, before which it is inserted, or
    ///   null: at its end. Of a map a key: what it led to goes.
    func createEmbedded(
        in state: ClassState, _ owner: Int64, _ propertyID: UInt32, at place: Value,
        _ properties: UnsafeBufferPointer<UInt32>,
        _ values: UnsafePointer<Value>
    ) throws(StoreError) -> ObjectID {
        let position = try state.schema.position(propertyID)
        guard let link = state.embedded(position) else { throw state.schema.notEmbedding(position) }
        let targets = try transaction.state(link.target)
        let place = try self.place(place, state, owner, position)
        let row = try fullRow(targets.schema, properties, values)
        return try changing(state) { () throws(StoreError) in
            let key = try targets.create(row)
            do throws(StoreError) { try put(key, state, owner, link, place) } catch {
                targets.isBroken = true
                throw error
            }
            return object(targets.schema, key)
        }
    }

    /// Where in its parent's property an embedded object is put.
    enum EmbeddingPlace {
        case link
        case list(Int)
        case map(OwnedValue)
    }

    /// Checks what an application says of the place.
    func place(
        _ place: Value, _ state: ClassState, _ owner: Int64, _ position: Int
    ) throws(StoreError) -> EmbeddingPlace {
        let cls = state.schema
        func wrong(_ wanted: String) -> StoreError {
            cls.named(
                StoreError(
                    .wrongType,
                    """
                    \(cls.name).\(cls.properties[position].name): the place in \
                    \(cls.columns[position].kind.indefinite) is \(wanted), not \(place.kind) (\(place.text))
                    """
                ), position)
        }
        switch cls.columns[position].kind {
        case .list:
            let count = try state.elements(owner, position).count()
            if place.isNull { return .list(count) }
            guard place.kind == .int else { throw wrong("an index, or null for its end") }
            guard place.low >= 0, place.low <= count else { throw cls.outOfRange(position, Int(place.low), count) }
            return .list(Int(place.low))
        case .map:
            guard place.kind == cls.elements(of: position).keyKind else {
                throw wrong("a key of type \(cls.elements(of: position).keyKind)")
            }
            try check(place, newKeyOf: position, cls)
            _ = try state.row(owner)
            return .map(OwnedValue(place))
        default:
            _ = try state.row(owner)
            guard place.isNull else { throw wrong("null") }
            return .link
        }
    }

    /// Gives an embedded object its place; what was there goes.
    func put(
        _ key: Int64, _ state: ClassState, _ owner: Int64, _ link: OwningLink, _ place: EmbeddingPlace
    ) throws(StoreError) {
        let value = Value(kind: .link, low: key)
        switch place {
        case .link:
            let row = try state.row(owner), old = try state.value(row, link.property)
            try state.update(row, link.property, value)
            if !old.isNull { try deleteOrphans(state, link.target, [old.low]) }
        case .list(let index): try state.splice(owner, link.property, index..<index, [(.null, value)])
        case .map(let key):
            let elements = try state.elements(owner, link.property), (index, found) = try elements.search(key.value)
            try replace(state, elements, link.property, index..<(found ? index + 1 : index), [(key.value, value)])
        }
    }

    // MARK: Unlinking

    /// Sets a link to an embedded object: to null, or to what it leads to already.
    func setEmbedded(_ state: ClassState, _ key: Int64, _ link: OwningLink, _ value: Value) throws(StoreError) {
        let cls = state.schema, position = link.property
        try ValueCheck.check(value, for: position, of: cls, limit: .max)
        let row = try state.row(key), old = try state.value(row, position)
        if !value.isNull { try confirm(value, cls, link, there: old) }
        try state.update(row, position, value.isNull ? .null : Value(kind: .link, low: value.low))
        if value.isNull, !old.isNull { try deleteOrphans(state, link.target, [old.low]) }
    }

    /// A link to an embedded object may be given only where it is already. `.embedded`: it lies elsewhere.
    /// `.noSuchObject`.
    func confirm(_ value: Value, _ cls: ClassSchema, _ link: OwningLink, there: Value) throws(StoreError) {
        try checkTarget(value.givenObject, link.property, cls)
        if !there.isNull, there.low == value.low { return }
        try checkExists(value.low, link.property, cls, try transaction.state(link.target))
        throw cls.givenEmbedded(link.property, schema.classes[link.target])
    }

    /// Whether an element that is given is the embedded object that is there; false: it is something else, which is to
    /// be checked.
    func isGiven(
        _ value: Value, _ state: ClassState, _ position: Int, there: () throws(StoreError) -> Value
    ) throws(StoreError) -> Bool {
        guard _slowPath(value.kind == .link), let link = state.embedded(position) else { return false }
        try confirm(value, state.schema, link, there: try there())
        return true
    }

    /// Writes properties of an object with owning links. A link to an embedded object can only become null here.
    @inline(never)
    func updateOwner(
        _ state: ClassState, _ row: RowPosition, _ positions: UnsafePointer<Int>, _ values: UnsafePointer<Value>,
        _ count: Int
    ) throws(StoreError) {
        var orphans: [(target: Int, key: Int64)] = []
        for index in 0..<count {
            guard let link = state.embedded(positions[index]) else { continue }
            let old = try state.value(row, positions[index])
            if !old.isNull { orphans.append((link.target, old.low)) }
        }
        try state.update(row, positions, values, count)
        for orphan in orphans { try deleteOrphans(state, orphan.target, [orphan.key]) }
    }

    /// Deletes embedded objects whose place is gone. What fails leaves the transaction fit for nothing but cancelling.
    func deleteOrphans(_ state: ClassState, _ target: Int, _ keys: [Int64]) throws(StoreError) {
        do throws(StoreError) { try transaction.deleteOrphans(target, keys) } catch {
            state.isBroken = true
            throw error
        }
    }
}

extension ClassSchema {
    var embeddedError: StoreError {
        StoreError(.embedded, "class \(name) is embedded: its objects are made in a property of their parent").at(
            class: name)
    }

    func givenEmbedded(_ position: Int, _ target: ClassSchema) -> StoreError {
        named(
            StoreError(
                .embedded,
                """
                \(name).\(properties[position].name): objects of class \(target.name) are embedded: one is \
                made here, another's cannot be given
                """
            ),
            position)
    }

    func notEmbedding(_ position: Int) -> StoreError {
        named(
            StoreError(.wrongType, "\(name).\(properties[position].name) does not hold embedded objects"),
            position)
    }
}
