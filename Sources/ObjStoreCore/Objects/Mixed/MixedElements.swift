/// Paths into the mixed elements of lists and maps: the first step says which element, the others lead into its value.
extension CollectionElements {
    /// The element that the first step of a path says.
    func element(
        at path: [MixedStep], _ position: Int, _ cls: ClassSchema
    ) throws(StoreError) -> Value? {
        guard let step = path.first else { throw cls.naming(MixedStep.missing(kind), position) }
        let place = try place(of: step, position, cls)
        return place.isThere ? try element(at: place.index).value : nil
    }

    /// Where an element is, or would be inserted.
    func place(
        of step: MixedStep, _ position: Int, _ cls: ClassSchema
    ) throws(StoreError) -> (index: Int, key: Value, isThere: Bool) {
        switch (step, kind) {
        case (.key(let text), .map):
            let key = try cls.mapKey(.string(text.baseAddress, text.count), position)
            let (index, found) = try search(key)
            return (index, key, found)
        case (.index(let given), .list), (.index(let given), .set):
            let count = try count(), index = given < 0 ? given &+ count : given
            return (index, .null, index >= 0 && index < count)
        default:
            throw cls.naming(
                StoreError(.wrongType, "it is \(kind.indefinite): it has no \(step.text)"), position)
        }
    }
}

extension CollectionEditor {
    /// Changes an element, or a value inside one. The log has the element that changes.
    func edit(_ path: [MixedStep], _ action: MixedAction, _ value: Value) throws(StoreError) {
        let cls = cls
        func refuse(_ code: StatusCode, _ what: String) -> StoreError { cls.naming(StoreError(code, what), position) }
        guard let first = path.first else { throw cls.naming(MixedStep.missing(elements.kind), position) }
        if elements.kind == .set {
            throw refuse(.wrongType, "elements of a set have no place: they are added and removed")
        }
        let isNew = path.count == 1 && (action == .insert || action == .set && elements.kind == .map)
        var place = try elements.place(of: first, position, cls)
        if path.count == 1, action == .insert {
            guard case .index(let given) = first else {
                throw refuse(.wrongType, "a value is inserted into a list at an index; that of a key of a map is set")
            }
            let count = try elements.count()
            place = (MixedStep.insertion(given, count), .null, false)
            guard place.index >= 0, place.index <= count else { throw cls.outOfRange(position, given, count) }
        }
        guard place.isThere || isNew else { throw refuse(.notFound, "the \(elements.kind) has no \(first.text)") }
        if isNew, elements.kind == .map { try writer.enumerations?.check(key: place.key, position, cls) }
        let old = place.index..<place.index + (place.isThere ? 1 : 0), key = OwnedValue(place.key)
        defer { withExtendedLifetime(key) {} }
        if path.count == 1 {
            let new =
                action == .remove ? [] : [(key: key.value, value: try writer.checked(value, elementOf: position, cls))]
            return try state.splice(owner, position, old, new[...])
        }
        let cell = try elements.element(at: place.index).value, buffer = ByteBuffer()
        if action != .remove { try writer.checkMixedLinks(value, position, cls) }
        do throws(StoreError) {
            try MixedEdit.run(
                cell, Array(path.dropFirst()), action, value, limit: writer.valueLimit, into: buffer)
        } catch {
            throw cls.naming(error, position)
        }
        try state.splice(
            owner, position, old,
            [(key.value, Value(kind: .mixed, pointer: UnsafeRawPointer(buffer.base), count: buffer.count))])
        withExtendedLifetime(buffer) {}
    }
}

extension MixedStep {
    static func missing(_ kind: ValueKind) -> StoreError {
        StoreError(
            .wrongType,
            "it is \(kind.indefinite), not mixed: the first step of a path says which of its elements is meant")
    }
}

extension MixedEdit {
    /// What a change makes of a cell.
    fileprivate static func run(
        _ cell: Value, _ path: [MixedStep], _ action: MixedAction, _ value: Value, limit: Int, into result: ByteBuffer
    ) throws(StoreError) {
        let buffer = ByteBuffer()
        let edit = try prepare(cell, path, action, value, limit: limit, buffer)
        result.removeAll()
        try edit.append(to: result)
        withExtendedLifetime(buffer) {}
    }
}
