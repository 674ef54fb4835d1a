/// Elements and keys that are looked for in a collection: of its kinds.
extension TreeAccess {
    /// A value that is looked for among the elements, as they are stored; the cell of a mixed one until the next.
    func asked(
        _ value: Value, elementOf position: Int, _ cls: ClassSchema, into cells: CellBuffers
    ) throws(StoreError) -> Value {
        let stored = try cls.stored(value, elementOf: position, limit: valueLimit, into: cells)
        if stored.kind == .link { try checkTarget(value.givenObject, position, cls) }
        if stored.kind == .mixed { try checkMixedStore(value, position, cls) }
        return stored
    }
}

extension ClassSchema {
    /// A value as an element is stored, but for what its links lead to; the cell of a mixed one until the next.
    func stored(
        _ value: Value, elementOf position: Int, limit: Int, into cells: CellBuffers
    ) throws(StoreError) -> Value {
        let elements = elements(of: position)
        if _slowPath(elements.kind == .mixed) {
            return try cell(value, elementOf: position, limit: limit, into: cells[position])
        }
        try ValueCheck.check(
            value, as: elements.kind, isNullable: elements.isNullable, "an element", position, self, limit: limit)
        return value.asElement
    }

    @inline(never)
    private func cell(
        _ value: Value, elementOf position: Int, limit: Int, into buffer: ByteBuffer
    ) throws(StoreError) -> Value {
        if value.kind == .document, columns[position].kind == .set {
            throw naming(StoreError(.wrongType, ValueCheck.noDocument), position)
        }
        do throws(StoreError) { return try MixedCell.encode(value, limit: limit, into: buffer) } catch {
            throw naming(error, position)
        }
    }

    func check(_ key: Value, keyOf position: Int) throws(StoreError) {
        guard columns[position].kind == .map else {
            throw wrongCollection(position, "a map", "only its entries have keys")
        }
        try ValueCheck.check(
            key, as: elements(of: position).keyKind, isNullable: false, "a key", position, self,
            limit: ClassSchema.longestKey)
    }

    /// A key of a map from its text, as nested values and paths have it.
    func mapKey(_ text: Value, _ position: Int) throws(StoreError) -> Value {
        let kind = elements(of: position).keyKind,
            bytes = UnsafeRawBufferPointer(start: text.pointer, count: text.count)
        let key: Value? =
            switch kind {
            case .int: Int64(FlatValues.name(text)).map { .int($0) }
            case .objectID: .objectID(hex: bytes)
            case .uuid: .uuid(text: bytes)
            default: text
            }
        guard let key else {
            throw naming(
                StoreError(.wrongType, "the key \(text.text) is not the text of \(kind.indefinite)"), position)
        }
        try check(key, keyOf: position)
        return key
    }
}

/// Elements and keys that come into a collection.
extension ObjectWriter {
    /// The list, set or map in a property of an object. `.wrongType`: it is of none of the wanted kinds.
    func editor(
        _ state: ClassState, _ owner: Int64, _ propertyID: UInt32, _ wanted: CollectionKinds
    ) throws(StoreError) -> CollectionEditor {
        let position = try state.schema.collection(propertyID)
        guard wanted.contains(CollectionKinds(state.schema.columns[position].kind)) else {
            throw state.schema.wrongCollection(position, wanted.name, "that is another kind of collection")
        }
        return CollectionEditor(
            writer: self, state: state, elements: try state.elements(owner, position), position: position)
    }

    /// A value that is looked for among the elements, as they are stored; the cell of a mixed one until the next.
    @inline(__always)
    func asked(_ value: Value, elementOf position: Int, _ cls: ClassSchema) throws(StoreError) -> Value {
        let stored = try cls.stored(value, elementOf: position, limit: valueLimit, into: cells)
        if stored.kind == .link { try checkTarget(value.givenObject, position, cls) }
        if _slowPath(stored.kind == .mixed) { try trees.checkMixedStore(value, position, cls) }
        return stored
    }

    /// A value that is to become an element, as it is stored: what a link leads to exists.
    func checked(_ value: Value, elementOf position: Int, _ cls: ClassSchema) throws(StoreError) -> Value {
        if _slowPath(cls.elements(of: position).kind == .mixed) { try checkMixedLinks(value, position, cls) }
        let stored = try asked(value, elementOf: position, cls)
        if stored.kind == .link { try checkExists(stored.low, position, cls, try linkTargets(position, cls)) }
        try enumerations?.check(value, position, cls)
        return stored
    }

    /// A key that may be new.
    func check(_ key: Value, newKeyOf position: Int, _ cls: ClassSchema) throws(StoreError) {
        try cls.check(key, keyOf: position)
        try enumerations?.check(key: key, position, cls)
    }

    /// Replaces elements; embedded objects that lose their place go.
    func replace(
        _ state: ClassState, _ elements: CollectionElements, _ position: Int, _ indexes: Range<Int>,
        _ new: ArraySlice<(key: Value, value: Value)>
    ) throws(StoreError) {
        let owner = elements.owner
        guard let link = state.embedded(position) else { return try state.splice(owner, position, indexes, new) }
        var orphans: [Int64] = []
        try elements.forEach(from: indexes.lowerBound, limit: indexes.count) { (_, value) throws(StoreError) in
            if !value.isNull { try orphans.tryAppend(value.low) }
            return true
        }
        try state.splice(owner, position, indexes, new)
        try deleteOrphans(state, link.target, orphans)
    }
}
