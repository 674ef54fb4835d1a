/// Memory for the cells of the mixed values of one call: one per property.
final class CellBuffers {
    private var buffers: [Int: ByteBuffer] = [:]
    private static let kept = 1 << 16

    subscript(position: Int) -> ByteBuffer {
        // Keeping it does not keep a text of megabytes.
        if let buffer = buffers[position], buffer.count <= CellBuffers.kept { return buffer }
        let buffer = ByteBuffer(capacity: 64)
        buffers[position] = buffer
        return buffer
    }
}

/// Reading and changing what lies inside mixed values. A path leads from the property's value inwards; that of a
/// collection of mixed elements begins with the element.
extension View {
    // MARK: Reading

    /// Calls `body` with what a path leads to; nil: nothing. It holds until the body returns. Serialised.
    func reading<T>(
        _ object: ObjectID, _ propertyID: UInt32, _ path: [MixedStep],
        _ body: (MixedNode?, ClassSchema, Int) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try serialised { () throws(StoreError) in
            let cls = try classOf(object, try schema), position = try cls.mixed(propertyID, orElements: true)
            if cls.columns[position].kind.isCollection {
                guard let cell = try element(at: path, try elements(of: object.key, cls, position), position, cls)
                else { return try body(nil, cls, position) }
                let node: MixedNode?
                do throws(StoreError) { node = try MixedNode.of(cell).node(at: path.dropFirst()) } catch {
                    throw cls.naming(error, position)
                }
                return try body(node, cls, position)
            }
            let reader = try reader(cls)
            guard let row = try row(cls, object.key, reader) else { throw cls.noSuchObject(object.key) }
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
    }

    /// The value at a path, or nil where there is none. A list or map is only counted, unless `whole`: its kind, and
    /// the number of its elements in `low`. Texts and documents are copied into `buffer`, or borrowed.
    package func mixed(
        _ object: ObjectID, _ propertyID: UInt32, _ path: [MixedStep], whole: Bool,
        _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> Value? {
        try reading(object, propertyID, path) { (node, cls, position) throws(StoreError) in
            guard let node else { return path.isEmpty ? .null : nil }
            let value: Value
            do throws(StoreError) {
                value = try node.value()
                if value.kind == .document {
                    if !whole { return Value(kind: try node.kind, low: Int64(try MixedContainer(node).count)) }
                    try node.check()
                }
            } catch {
                throw cls.naming(error, position)
            }
            return try handOut(value, cls, position, buffer)
        }
    }

    /// Calls `body` with keys of the map at a path, in their order, from `start` on and at most `limit`: where each is
    /// among them, and its bytes, copied into `buffer` or borrowed. Returns how many; nil: there is nothing at the
    /// path.
    package func mixedKeys(
        _ object: ObjectID, _ propertyID: UInt32, _ path: [MixedStep], from start: Int, limit: Int,
        _ buffer: UnsafeMutablePointer<OutputBuffer>?,
        _ body: (_ index: Int, _ key: Value) -> Void
    ) throws(StoreError) -> Int? {
        try reading(object, propertyID, path) { (node, cls, position) throws(StoreError) in
            guard let node else {
                if path.isEmpty { throw cls.naming(MixedEdit.noMap(.null), position) }
                return nil
            }
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
            if buffer == nil, !canLend, !keys.isEmpty { throw cannotLend(cls, position) }
            var failure: StoreError?
            keys.withUnsafeMutableBufferPointer { keys in
                do throws(StoreError) {
                    if let buffer, let base = keys.baseAddress { try OutputBuffer.copy(base, keys.count, into: buffer) }
                    for (index, key) in keys.enumerated() { body(index, key) }
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            return keys.count
        }
    }

    // MARK: Changing

    /// Changes one value inside the property's value: the log says which, and not the whole.
    ///
    /// `.notFound` where the path leads nowhere; `.wrongType` where it leads through something else than it says.
    /// - Parameter path: empty only to set the property.
    /// - Parameter value: null to remove.
    package func edit(
        _ object: ObjectID, _ propertyID: UInt32, _ path: [MixedStep], _ action: MixedAction, _ value: Value
    ) throws(StoreError) {
        if path.isEmpty, action == .set {
            try serialised { () throws(StoreError) in _ = try classOf(object, try schema).mixed(propertyID) }
            return try set(object, propertyID, value)
        }
        try write(object) { (state) throws(StoreError) in
            let position = try state.schema.mixed(propertyID, orElements: true)
            if state.schema.columns[position].kind.isCollection {
                let elements = try state.elements(object.key, position)
                return try changing(state) { () throws(StoreError) in
                    try editElement(state, elements, position, path, action, value)
                }
            }
            if action != .remove { try checkMixedLinks(value, position, state.schema) }
            try changing(state) { () throws(StoreError) in
                try state.edit(
                    object.key, position, path, action, value, limit: shared.database.options.valueLimit,
                    cells[position])
            }
        }
    }
}

extension MixedEdit {
    static func noMap(_ kind: ValueKind) -> StoreError {
        StoreError(.wrongType, "the value is \(kind.indefinite), not a map: it has no keys")
    }
}
