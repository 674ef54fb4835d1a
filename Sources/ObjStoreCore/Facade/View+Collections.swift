/// Reading lists, sets and maps, and changing them by `CollectionEditor`, under the lock of the view.
extension View {
    // MARK: Reading

    /// Calls `body` with the elements, which hold until it returns. Serialised.
    private func reading<T>(
        _ id: CollectionID, _ body: (CollectionElements, ClassSchema, Int) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try serialised { () throws(StoreError) in
            let cls = try classOf(id.owner, try schema)
            let position = try cls.collection(id.propertyID)
            return try body(try trees.elements(of: id.owner.key, cls, position), cls, position)
        }
    }

    package func elementCount(_ id: CollectionID) throws(StoreError) -> Int {
        try reading(id) { (elements, _, _) throws(StoreError) in try elements.count() }
    }

    /// Calls `body` with the elements from `start` on, as many as there are but at most `limit`: where each is among
    /// them, its key (of maps; else null) and its value. Texts are copied into `buffer` first, or borrowed (`canLend`)
    /// where there is none. Returns how many.
    package func elements(
        _ id: CollectionID, from start: Int, limit: Int, wantsKeys: Bool, _ buffer: UnsafeMutablePointer<OutputBuffer>?,
        _ body: (_ index: Int, _ key: Value, _ value: Value) -> Void
    ) throws(StoreError) -> Int {
        try reading(id) { (elements, cls, position) throws(StoreError) in
            if wantsKeys, elements.kind != .map {
                throw cls.wrongCollection(position, "a map", "only its entries have keys")
            }
            var count = 0
            guard let buffer else {
                try elements.forEach(from: start, limit: limit) { (key, value) throws(StoreError) in
                    // A mixed element is bytes in the store, but need not be a text.
                    let value = try cls.out(value, position)
                    if !canLend, value.pointer != nil || wantsKeys && key.pointer != nil {
                        throw cannotLend(cls, position)
                    }
                    body(count, key, value)
                    count += 1
                    return true
                }
                return count
            }
            var keys: [Value] = [], values: [Value] = []
            try elements.forEach(from: start, limit: limit) { (key, value) throws(StoreError) in
                if wantsKeys { try keys.tryAppend(key) }
                try values.tryAppend(try cls.out(value, position))
                return true
            }
            try keys.withUnsafeMutableBufferPointer { (keys) throws(StoreError) in
                try values.withUnsafeMutableBufferPointer { (values) throws(StoreError) in
                    try OutputBuffer.copy(
                        [wantsKeys ? keys.baseAddress : nil, values.baseAddress].compactMap { $0 }, values.count,
                        into: buffer)
                }
            }
            for (index, value) in values.enumerated() { body(index, wantsKeys ? keys[index] : .null, value) }
            return values.count
        }
    }

    private func handOut(
        _ keys: UnsafeMutablePointer<Value>?, _ values: UnsafeMutablePointer<Value>?, _ count: Int, _ cls: ClassSchema,
        _ position: Int,
        _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) {
        guard let buffer else {
            if canLend { return }
            for index in 0..<count where keys?[index].pointer != nil || values?[index].pointer != nil {
                throw cannotLend(cls, position)
            }
            return
        }
        try OutputBuffer.copy([keys, values].compactMap { $0 }, count, into: buffer)
    }

    /// The element at an index. `.outOfRange`.
    package func element(
        _ id: CollectionID, at index: Int, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> (key: Value, value: Value) {
        try reading(id) { (elements, cls, position) throws(StoreError) in
            let count = try elements.count()
            guard index >= 0, index < count else { throw cls.outOfRange(position, index, count) }
            var (key, value) = try elements.element(at: index)
            value = try cls.out(value, position)
            try handOut(&key, &value, 1, cls, position, buffer)
            return (key, value)
        }
    }

    /// The index of the first element that equals `value`; nil: there is none.
    package func firstIndex(_ id: CollectionID, of value: Value) throws(StoreError) -> Int? {
        try reading(id) { (elements, cls, position) throws(StoreError) in
            let cells = cells(of: position, cls)
            defer { withExtendedLifetime(cells) {} }
            return try elements.firstIndex(of: try trees.asked(value, elementOf: position, cls, into: cells))
        }
    }

    /// A map's value; nil: the key is not there.
    package func value(
        _ id: CollectionID, ofKey key: Value, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> Value? {
        try reading(id) { (elements, cls, position) throws(StoreError) in
            try cls.check(key, keyOf: position)
            guard let found = try elements.value(of: key) else { return nil }
            var value = try cls.out(found, position)
            try handOut(nil, &value, 1, cls, position, buffer)
            return value
        }
    }

    /// How the set relates to the values. Cost: O(n + m log m), of few values O(m log n).
    package func relation(
        _ id: CollectionID, to values: UnsafePointer<Value>?, _ count: Int
    ) throws(StoreError) -> SetRelation {
        try reading(id) { (elements, cls, position) throws(StoreError) in
            guard elements.kind == .set else {
                throw cls.wrongCollection(position, "a set", "it is another kind of collection")
            }
            let kept = KeptTexts(), cells = cells(of: position, cls), trees = try trees
            defer { withExtendedLifetime((kept, cells)) {} }
            return try elements.relation(
                to: try kept.members(values, count) { (value) throws(StoreError) in
                    try trees.asked(value, elementOf: position, cls, into: cells)
                })
        }
    }

    /// Where mixed elements that are looked for get their cells: frozen views are read by several threads at a time.
    private func cells(of position: Int, _ cls: ClassSchema) -> CellBuffers {
        kind == .frozen && cls.elements(of: position).kind == .mixed ? CellBuffers() : cells
    }

    // MARK: Changing

    private func changing<T>(
        _ id: CollectionID, _ wanted: CollectionKinds, _ body: (CollectionEditor) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try write(id.owner) { (writer, state) throws(StoreError) in
            let editor = try writer.editor(state, id.owner.key, id.propertyID, wanted)
            return try writer.changing(state) { () throws(StoreError) in try body(editor) }
        }
    }

    /// Inserts values into a list before `index`, or at its end (`index` = its count, or nil). `.outOfRange`.
    package func insert(_ id: CollectionID, at index: Int?, _ values: UnsafeBufferPointer<Value>) throws(StoreError) {
        try changing(id, .list) { (list) throws(StoreError) in try list.insert(values, at: index) }
    }

    /// Gives an element of a list another value; of embedded objects only the one that is there. `.outOfRange`,
    /// `.embedded`.
    package func set(_ id: CollectionID, at index: Int, _ value: Value) throws(StoreError) {
        try changing(id, .list) { (list) throws(StoreError) in try list.set(value, at: index) }
    }

    /// Removes elements by index, of lists, sets and maps. `.outOfRange`.
    package func remove(_ id: CollectionID, at index: Int, count removed: Int) throws(StoreError) {
        try changing(id, .all) { (elements) throws(StoreError) in try elements.remove(at: index, count: removed) }
    }

    /// Moves an element of a list so that it has index `target` afterwards. `.outOfRange`.
    package func move(_ id: CollectionID, from index: Int, to target: Int) throws(StoreError) {
        try changing(id, .list) { (list) throws(StoreError) in try list.move(from: index, to: target) }
    }

    /// Adds a value to a set; false: it was there.
    package func insert(_ id: CollectionID, member value: Value) throws(StoreError) -> Bool {
        try changing(id, .set) { (set) throws(StoreError) in try set.insert(member: value) }
    }

    /// Takes a value out of a set; false: it was not there.
    package func remove(_ id: CollectionID, member value: Value) throws(StoreError) -> Bool {
        try changing(id, .set) { (set) throws(StoreError) in try set.remove(member: value) }
    }

    /// Gives a key of a map a value, of embedded objects null, or the one that is there; true: the key is new.
    /// `.embedded`.
    package func set(_ id: CollectionID, key: Value, _ value: Value) throws(StoreError) -> Bool {
        try changing(id, .map) { (map) throws(StoreError) in try map.set(value, ofKey: key) }
    }

    /// Takes a key out of a map; false: it was not there.
    package func remove(_ id: CollectionID, key: Value) throws(StoreError) -> Bool {
        try changing(id, .map) { (map) throws(StoreError) in try map.remove(key: key) }
    }

    package func removeAllElements(_ id: CollectionID) throws(StoreError) {
        try changing(id, .all) { (elements) throws(StoreError) in try elements.removeAll() }
    }

    /// Replaces all elements; `keys` are a map's, else nil. Of equal values a set takes the first, of a key that comes
    /// twice a map the last value.
    package func assign(
        _ id: CollectionID, _ keys: UnsafePointer<Value>?, _ values: UnsafePointer<Value>?, _ count: Int
    ) throws(StoreError) {
        try changing(id, .all) { (elements) throws(StoreError) in try elements.assign(keys, values, count) }
    }

    /// Replaces all links of a list or set by links to the objects of results, in their order. `.noSuchObject` where
    /// one was deleted since.
    package func assign(_ id: CollectionID, _ results: Results) throws(StoreError) {
        let found = try list(of: results)
        try changing(id, [.list, .set]) { (elements) throws(StoreError) in
            try elements.assign(found, ofClass: results.classID)
        }
    }

    /// Makes the set what the operation says: all of it, or nothing. Returns how many elements came or went. Cost: O(n
    /// + m log m), of few values but for an intersection O(m log n).
    package func combine(
        _ id: CollectionID, _ operation: SetOperation, _ values: UnsafePointer<Value>?, _ count: Int
    ) throws(StoreError) -> Int {
        try changing(id, .set) { (set) throws(StoreError) in try set.combine(operation, values, count) }
    }
}
