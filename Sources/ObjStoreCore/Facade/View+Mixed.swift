/// Reading and changing what lies inside mixed values. A path leads from the property's value inwards; that of a
/// collection of mixed elements begins with the element.
extension View {
    /// Calls `body` with what a path leads to; nil: nothing. It holds until the body returns. Serialised.
    func reading<T>(
        _ object: ObjectID, _ propertyID: UInt32, _ path: [MixedStep],
        _ body: (MixedNode?, ClassSchema, Int) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try serialised { () throws(StoreError) in
            let trees = try trees, cls = try classOf(object, trees.schema)
            return try trees.withMixed(cls, object.key, propertyID, path, body)
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
            return try handOut(try TreeAccess.value(node, whole: whole, position, cls), cls, position, buffer)
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
            var keys = try TreeAccess.keys(node, from: start, limit: limit, position, cls)
            if buffer == nil, !canLend, !keys.isEmpty { throw cannotLend(cls, position) }
            if let buffer {
                try keys.withUnsafeMutableBufferPointer { (keys) throws(StoreError) in
                    if let base = keys.baseAddress { try OutputBuffer.copy(base, keys.count, into: buffer) }
                }
            }
            for (index, key) in keys.enumerated() { body(index, key) }
            return keys.count
        }
    }

    /// Changes one value inside the property's value: the log says which, and not the whole.
    ///
    /// `.notFound` where the path leads nowhere; `.wrongType` where it leads through something else than it says.
    /// - Parameter path: empty only to set the property.
    /// - Parameter value: null to remove.
    package func edit(
        _ object: ObjectID, _ propertyID: UInt32, _ path: [MixedStep], _ action: MixedAction, _ value: Value
    ) throws(StoreError) {
        try write(object) { (writer, state) throws(StoreError) in
            try writer.edit(state, object.key, propertyID, path, action, value)
        }
    }
}
