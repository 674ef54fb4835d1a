/// Which list, set or map: of which object, in which property.
package struct CollectionID: Sendable {
    package var owner: ObjectID
    package var propertyID: UInt32

    package init(owner: ObjectID, propertyID: UInt32) { self.owner = owner; self.propertyID = propertyID }
}

extension Value {
    /// Which collection is in a property, as output: owner and property in the words of the value.
    static func collection(_ kind: ValueKind, _ owner: ObjectID, _ propertyID: UInt32) -> Value {
        Value(
            kind: kind, low: owner.key, high: Int64(bitPattern: UInt64(owner.classID) | UInt64(owner.storeTag) << 32),
            count: Int(propertyID))
    }

    package var asCollection: CollectionID {
        let words = UInt64(bitPattern: high)
        return CollectionID(
            owner: ObjectID(
                classID: UInt32(truncatingIfNeeded: words),
                storeTag: UInt32(truncatingIfNeeded: words >> 32),
                key: low),
            propertyID: UInt32(truncatingIfNeeded: count))
    }
}

/// Which kinds of collections a call is for.
struct CollectionKinds: OptionSet {
    let rawValue: UInt8
    static let list = CollectionKinds(.list), set = CollectionKinds(.set), map = CollectionKinds(.map)
    static let all: CollectionKinds = [.list, .set, .map]

    init(rawValue: UInt8) { self.rawValue = rawValue }
    @inline(__always) init(_ kind: ValueKind) {
        rawValue = kind.isCollection ? 1 << (kind.rawValue - ValueKind.list.rawValue) : 0
    }

    var name: String { self == .list ? "a list" : self == .set ? "a set" : self == .map ? "a map" : "a collection" }
}

/// Reading and changing lists, sets and maps.
///
/// Like all changes each call happens as a whole: values and indexes are checked before the first change.
extension View {
    // MARK: Reading

    /// Calls `body` with the elements, which hold until it returns. Serialised.
    private func reading<T>(
        _ id: CollectionID, _ body: (CollectionElements, ClassSchema, Int) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try serialised { () throws(StoreError) in
            let cls = try classOf(id.owner, try schema)
            let position = try cls.collection(id.propertyID)
            return try body(try elements(of: id.owner.key, cls, position), cls, position)
        }
    }

    /// Of an object, in a property that is a collection. Serialised by the caller; valid until the view moves or
    /// writes.
    func elements(of key: Int64, _ cls: ClassSchema, _ position: Int) throws(StoreError) -> CollectionElements {
        try trees.elements(of: key, cls, position)
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
            return try elements.firstIndex(of: try asked(value, elementOf: position, cls))
        }
    }

    /// A map's value; nil: the key is not there.
    package func value(
        _ id: CollectionID, ofKey key: Value, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> Value? {
        try reading(id) { (elements, cls, position) throws(StoreError) in
            try check(key, keyOf: position, cls)
            guard let found = try elements.value(of: key) else { return nil }
            var value = try cls.out(found, position)
            try handOut(nil, &value, 1, cls, position, buffer)
            return value
        }
    }

    // MARK: Changing

    func changing<T>(
        _ id: CollectionID, _ wanted: CollectionKinds,
        _ body: (ClassState, CollectionElements, Int) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try write(id.owner) { (state) throws(StoreError) in
            let position = try state.schema.collection(id.propertyID)
            guard wanted.contains(CollectionKinds(state.schema.columns[position].kind)) else {
                throw state.schema.wrongCollection(position, wanted.name, "that is another kind of collection")
            }
            let elements = try state.elements(id.owner.key, position)
            return try changing(state) { () throws(StoreError) in try body(state, elements, position) }
        }
    }

    /// Inserts values into a list before `index`, or at its end (`index` = its count, or nil). `.outOfRange`.
    package func insert(_ id: CollectionID, at index: Int?, _ values: UnsafeBufferPointer<Value>) throws(StoreError) {
        try changing(id, .list) { (state, elements, position) throws(StoreError) in
            let cls = state.schema, count = try elements.count(), at = index ?? count
            guard at >= 0, at <= count else { throw cls.outOfRange(position, at, count) }
            if values.isEmpty { return }
            if cls.elements(of: position).kind == .mixed {
                let kept = KeptTexts()
                var cells: [Value] = []
                try cells.tryReserve(values.count)
                for value in values { cells.append(try kept.keep(try checked(value, elementOf: position, cls))) }
                try cells.withUnsafeBufferPointer { (cells) throws(StoreError) in
                    try insert(state, id.owner.key, position, at, cells)
                }
                return withExtendedLifetime(kept) {}
            }
            for value in values { _ = try checked(value, elementOf: position, cls) }
            try insert(state, id.owner.key, position, at, values)
        }
    }

    static let insertedAtOnce = 4096

    private func insert(
        _ state: ClassState, _ key: Int64, _ position: Int, _ at: Int, _ values: UnsafeBufferPointer<Value>
    ) throws(StoreError) {
        // Texts may be lent by this transaction, which may move them with the first step.
        try Memory.check(for: values.count, each: MemoryLayout<Value>.stride)
        var later = Array(values.dropFirst(View.insertedAtOnce))
        let kept = KeptBytes()
        try kept.keep(&later)
        defer { withExtendedLifetime(kept) {} }
        var done = 0
        while done < values.count {
            let some =
                done == 0
                ? Array(values.prefix(View.insertedAtOnce))
                : Array(later.dropFirst(done - View.insertedAtOnce).prefix(View.insertedAtOnce))
            do throws(StoreError) {
                try state.splice(key, position, at + done..<at + done, some.map { (.null, $0.asElement) }[...])
            } catch {
                // What was inserted before cannot stay, and what failed may have left anything.
                if done > 0 { state.isBroken = true }
                throw error
            }
            done += some.count
            try spillIfLarge(state)
        }
    }

    /// Gives an element of a list another value; of embedded objects only the one that is there. `.outOfRange`,
    /// `.embedded`.
    package func set(_ id: CollectionID, at index: Int, _ value: Value) throws(StoreError) {
        try changing(id, .list) { (state, elements, position) throws(StoreError) in
            let count = try elements.count()
            guard index >= 0, index < count else { throw state.schema.outOfRange(position, index, count) }
            let isThere = try isGiven(value, state, position) { () throws(StoreError) in
                try elements.element(at: index).value
            }
            let value = isThere ? value.asElement : try checked(value, elementOf: position, state.schema)
            try state.splice(id.owner.key, position, index..<index + 1, [(.null, value)])
        }
    }

    /// Removes elements by index, of lists, sets and maps. `.outOfRange`.
    package func remove(_ id: CollectionID, at index: Int, count removed: Int) throws(StoreError) {
        try changing(id, .all) { (state, elements, position) throws(StoreError) in
            let count = try elements.count()
            guard index >= 0, removed >= 0, index <= count, removed <= count - index else {
                // The first that does not exist.
                throw state.schema.outOfRange(position, index < 0 || index > count ? index : count, count)
            }
            if removed > 0 { try replace(state, elements, position, index..<index + removed, []) }
        }
    }

    /// Moves an element of a list so that it has index `target` afterwards. `.outOfRange`.
    package func move(_ id: CollectionID, from index: Int, to target: Int) throws(StoreError) {
        try changing(id, .list) { (state, elements, position) throws(StoreError) in
            let count = try elements.count()
            for place in [index, target] where place < 0 || place >= count {
                throw state.schema.outOfRange(position, place, count)
            }
            if index == target { return }
            // It must outlive its place.
            let value = try OwnedValue(copying: try elements.element(at: index).value)
            try state.splice(id.owner.key, position, index..<index + 1, [])
            do throws(StoreError) {
                try state.splice(id.owner.key, position, target..<target, [(.null, value.value)])
            } catch {
                state.isBroken = true
                throw error
            }
        }
    }

    /// Adds a value to a set; false: it was there.
    package func insert(_ id: CollectionID, member value: Value) throws(StoreError) -> Bool {
        try changing(id, .set) { (state, elements, position) throws(StoreError) in
            let value = try checked(value, elementOf: position, state.schema)
            let (index, found) = try elements.search(value)
            if found { return false }
            try state.splice(id.owner.key, position, index..<index, [(.null, value)])
            return true
        }
    }

    /// Takes a value out of a set; false: it was not there.
    package func remove(_ id: CollectionID, member value: Value) throws(StoreError) -> Bool {
        try changing(id, .set) { (state, elements, position) throws(StoreError) in
            let (index, found) = try elements.search(try asked(value, elementOf: position, state.schema))
            if found { try state.splice(id.owner.key, position, index..<index + 1, []) }
            return found
        }
    }

    /// Gives a key of a map a value, of embedded objects null, or the one that is there; true: the key is new.
    /// `.embedded`.
    package func set(_ id: CollectionID, key: Value, _ value: Value) throws(StoreError) -> Bool {
        try changing(id, .map) { (state, elements, position) throws(StoreError) in
            try check(key, newKeyOf: position, state.schema)
            let (index, found) = try elements.search(key)
            if try isGiven(
                value, state, position,
                there: { () throws(StoreError) in found ? try elements.element(at: index).value : .null })
            {
                try state.splice(id.owner.key, position, index..<index + 1, [(key, value.asElement)])
                return false
            }
            let value = try checked(value, elementOf: position, state.schema)
            try replace(state, elements, position, index..<(found ? index + 1 : index), [(key, value)])
            return !found
        }
    }

    /// Takes a key out of a map; false: it was not there.
    package func remove(_ id: CollectionID, key: Value) throws(StoreError) -> Bool {
        try changing(id, .map) { (state, elements, position) throws(StoreError) in
            try check(key, keyOf: position, state.schema)
            let (index, found) = try elements.search(key)
            if found { try replace(state, elements, position, index..<index + 1, []) }
            return found
        }
    }

    package func removeAllElements(_ id: CollectionID) throws(StoreError) {
        try changing(id, .all) { (state, elements, position) throws(StoreError) in
            let count = try elements.count()
            if count > 0 { try replace(state, elements, position, 0..<count, []) }
        }
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

    // MARK: Checks

    /// A value that is looked for among the elements, as they are stored; the cell of a mixed one until the next.
    func asked(_ value: Value, elementOf position: Int, _ cls: ClassSchema) throws(StoreError) -> Value {
        let elements = cls.elements(of: position)
        if _slowPath(elements.kind == .mixed) { return try askedMixed(value, elementOf: position, cls) }
        try ValueCheck.check(
            value, as: elements.kind, isNullable: elements.isNullable, "an element", position, cls,
            limit: shared.database.options.valueLimit)
        if value.kind == .link { try checkTarget(value.givenObject, position, cls) }
        return value.asElement
    }

    /// The same for one that is to become an element: what a link leads to exists.
    func checked(_ value: Value, elementOf position: Int, _ cls: ClassSchema) throws(StoreError) -> Value {
        if _slowPath(cls.elements(of: position).kind == .mixed) { try checkMixedLinks(value, position, cls) }
        let stored = try asked(value, elementOf: position, cls)
        if stored.kind == .link { try checkExists(stored.low, position, cls, try linkTargets(position, cls)) }
        try enumerations?.check(value, position, cls)
        return stored
    }

    @inline(never)
    private func askedMixed(_ value: Value, elementOf position: Int, _ cls: ClassSchema) throws(StoreError) -> Value {
        if value.kind == .document, cls.columns[position].kind == .set {
            throw cls.naming(StoreError(.wrongType, ValueCheck.noDocument), position)
        }
        let cell: Value
        do throws(StoreError) {
            cell = try MixedCell.encode(value, limit: shared.database.options.valueLimit, into: cells[position])
        } catch {
            throw cls.naming(error, position)
        }
        try checkMixedStore(value, position, cls)
        return cell
    }

    func check(_ key: Value, keyOf position: Int, _ cls: ClassSchema) throws(StoreError) {
        guard cls.columns[position].kind == .map else {
            throw cls.wrongCollection(position, "a map", "only its entries have keys")
        }
        try ValueCheck.check(
            key, as: cls.elements(of: position).keyKind, isNullable: false, "a key", position, cls,
            limit: ClassSchema.longestKey)
    }

    /// The same for a key that may be new.
    func check(_ key: Value, newKeyOf position: Int, _ cls: ClassSchema) throws(StoreError) {
        try check(key, keyOf: position, cls)
        try enumerations?.check(key: key, position, cls)
    }

    /// A key of a map from its text, as nested values and paths have it.
    func mapKey(_ text: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) -> Value {
        let kind = cls.elements(of: position).keyKind,
            bytes = UnsafeRawBufferPointer(start: text.pointer, count: text.count)
        let key: Value? =
            switch kind {
            case .int: Int64(FlatValues.name(text)).map { .int($0) }
            case .objectID: .objectID(hex: bytes)
            case .uuid: .uuid(text: bytes)
            default: text
            }
        guard let key else {
            throw cls.naming(
                StoreError(.wrongType, "the key \(text.text) is not the text of \(kind.indefinite)"), position)
        }
        try check(key, keyOf: position, cls)
        return key
    }
}

extension Value {
    /// As collections store it: of a link only the key, since they know class and store.
    @inline(__always) fileprivate var asElement: Value { kind == .link ? Value(kind: .link, low: low) : self }
}

extension ClassSchema {
    /// An element on its way out.
    @inline(__always)
    fileprivate func out(_ value: Value, _ position: Int) throws(StoreError) -> Value {
        if _slowPath(value.kind == .mixed) { return try mixedValue(value, position) }
        return value.kind == .link ? Value(kind: .link, low: value.low, high: Int64(columns[position].target)) : value
    }

    /// The position of a property that is a list, set or map.
    func collection(_ propertyID: UInt32) throws(StoreError) -> Int {
        let position = try position(propertyID)
        guard columns[position].kind.isCollection else {
            throw wrongCollection(position, "a list, set or map", "it is \(columns[position].kind.indefinite)")
        }
        return position
    }

    func wrongCollection(_ position: Int, _ wanted: String, _ what: String) -> StoreError {
        named(
            StoreError(
                .wrongType,
                "\(name).\(properties[position].name) is \(columns[position].kind.indefinite), not \(wanted): \(what)"),
            position)
    }

    func outOfRange(_ position: Int, _ index: Int, _ count: Int) -> StoreError {
        // C's own are unsigned.
        let shown = index == .max ? "beyond \(Int.max)" : "\(index)"
        return named(
            StoreError(.outOfRange, "\(name).\(properties[position].name): index \(shown), \(count.elementsThere)"),
            position)
    }
}
