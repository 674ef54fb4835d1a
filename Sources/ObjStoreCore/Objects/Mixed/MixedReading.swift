/// Reading what lies inside mixed values. A path leads from the property's value inwards; that of a collection of mixed
/// elements begins with the element.
extension TreeAccess {
    /// Calls `body` with what a path leads to; nil: nothing. It holds until the body returns.
    func withMixed<T>(
        _ cls: ClassSchema, _ key: Int64, _ propertyID: UInt32, _ path: [MixedStep],
        _ body: (MixedNode?, ClassSchema, Int) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let position = try cls.mixed(propertyID, orElements: true)
        if cls.columns[position].kind.isCollection {
            guard let cell = try elements(of: key, cls, position).element(at: path, position, cls)
            else { return try body(nil, cls, position) }
            let node: MixedNode?
            do throws(StoreError) { node = try MixedNode.of(cell).node(at: path.dropFirst()) } catch {
                throw cls.naming(error, position)
            }
            return try body(node, cls, position)
        }
        let reader = try objects(cls)
        guard let row = try find(cls, key, reader) else { throw cls.noSuchObject(key) }
        let cell = try reader.value(row, position)
        if cell.isNull {
            if let step = path.first { throw cls.naming(MixedEdit.null(step), position) }
            return try body(nil, cls, position)
        }
        let node: MixedNode?
        do throws(StoreError) { node = try MixedNode(cell.pointer, cell.count).node(at: path[...]) } catch {
            throw cls.naming(error, position)
        }
        return try body(node, cls, position)
    }

    /// The value at a path, or nil where there is none. A list or map is only counted, unless `whole`: its kind, and
    /// the number of its elements in `low`. Texts and documents are borrowed.
    static func value(
        _ node: MixedNode, whole: Bool, _ position: Int, _ cls: ClassSchema
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            let value = try node.value()
            if value.kind == .document {
                if !whole { return Value(kind: try node.kind, low: Int64(try MixedContainer(node).count)) }
                try node.check()
            }
            return value
        } catch {
            throw cls.naming(error, position)
        }
    }

    /// Keys of the map at a path, in their order, from `start` on and at most `limit`.
    ///
    /// - Parameter node: of the map.
    static func keys(
        _ node: MixedNode, from start: Int, limit: Int, _ position: Int, _ cls: ClassSchema
    ) throws(StoreError) -> [Value] {
        var keys: [Value] = []
        do throws(StoreError) {
            guard try node.kind == .map else { throw MixedEdit.noMap(try node.kind) }
            let map = try MixedContainer(node)
            for index in min(start, map.count)..<min(start, map.count)
                + min(limit, map.count - min(start, map.count))
            {
                let key = try map.key(index)
                guard UTF8Check.isValid(key.baseAddress, key.count) else {
                    throw MixedNode.damaged("a key that is not valid UTF-8")
                }
                keys.append(.string(key.baseAddress, key.count))
            }
        } catch {
            throw cls.naming(error, position)
        }
        return keys
    }
}

extension ObjectWriter {
    /// Changes one value inside the property's value: the log says which, and not the whole.
    ///
    /// `.notFound` where the path leads nowhere; `.wrongType` where it leads through something else than it says.
    /// - Parameter path: empty only to set the property.
    /// - Parameter value: null to remove.
    func edit(
        _ state: ClassState, _ key: Int64, _ propertyID: UInt32, _ path: [MixedStep], _ action: MixedAction,
        _ value: Value
    ) throws(StoreError) {
        if path.isEmpty, action == .set {
            _ = try state.schema.mixed(propertyID)
            return try set(state, key, propertyID, value)
        }
        let position = try state.schema.mixed(propertyID, orElements: true)
        if state.schema.columns[position].kind.isCollection {
            let editor = CollectionEditor(
                writer: self, state: state, elements: try state.elements(key, position), position: position)
            return try changing(state) { () throws(StoreError) in try editor.edit(path, action, value) }
        }
        if action != .remove { try checkMixedLinks(value, position, state.schema) }
        try changing(state) { () throws(StoreError) in
            try state.edit(key, position, path, action, value, limit: valueLimit, cells[position])
        }
    }
}

extension MixedEdit {
    static func noMap(_ kind: ValueKind) -> StoreError {
        StoreError(.wrongType, "the value is \(kind.indefinite), not a map: it has no keys")
    }
}
