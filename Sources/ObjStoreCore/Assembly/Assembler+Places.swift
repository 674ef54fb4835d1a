/// What objects have besides single values: embedded objects, lists, sets and maps.
extension Assembler {
    /// Gives a property what a value describes; returns whether something changed.
    @discardableResult
    func fill(_ state: ClassState, _ key: Int64, _ position: Int, _ index: Int, isNew: Bool) throws(StoreError) -> Bool
    {
        // Embedded objects, made or changed in place, come here again for what is in them, as deep as they go.
        try Stack.check()
        let cls = state.schema
        return try within(.property(cls, position)) { () throws(StoreError) in
            current = index
            if let link = state.embedded(position) {
                if cls.columns[position].kind == .link { return try embed(state, key, link, index, isNew: isNew) }
                return try embedMany(state, key, link, index, isNew: isNew)
            }
            return try fillElements(state, key, position, index, isNew: isNew)
        }
    }

    // MARK: Given alone

    /// Gives one property of an object what the value at an index describes; returns whether something changed.
    func set(_ object: ObjectID, _ propertyID: UInt32, _ index: Int) throws(StoreError) -> Bool {
        let state = try state(ClassID.index(object.classID)), cls = state.schema,
            position = try cls.position(propertyID)
        _ = try state.row(object.key)
        try willChange()
        if cls.columns[position].kind.isCollection || state.embedded(position) != nil {
            return try fill(state, object.key, position, index, isNew: false)
        }
        path = [.property(cls, position)]
        let value =
            try cls.columns[position].kind == .link
            ? link(cls, position, index) : scalar(index, cls.columns[position].kind, cls, position)
        if cls.isKeyPart(position) {
            guard try state.value(object.key, position).isSame(as: value) else {
                throw cls.keyImmutable(position)
            }
            path = []
            return false
        }
        // What is wrong with it names the property.
        path = []
        let parts = Parts(properties: [propertyID], positions: [position], values: [value])
        return try write(state, object.key, parts, all: options.policy != .modified)
    }

    /// Makes the embedded object that the value at an index describes in a property of its parent, at a place; returns
    /// its key.
    func embed(_ parent: ObjectID, _ propertyID: UInt32, at place: Value, _ index: Int) throws(StoreError) -> Int64 {
        let state = try state(ClassID.index(parent.classID)), position = try state.schema.position(propertyID)
        guard let link = state.embedded(position) else { throw state.schema.notEmbedding(position) }
        let place = try writer.place(place, state, parent.key, position)
        try willChange()
        return try within(.name(state.schema.properties[position].name)) { () throws(StoreError) in
            try makeEmbedded(state, parent.key, link, place, index)
        }
    }

    // MARK: Elements

    /// On its own, for the stack of the recursion.
    @inline(never)
    private func fillElements(
        _ state: ClassState, _ key: Int64, _ position: Int, _ index: Int, isNew: Bool
    ) throws(StoreError) -> Bool {
        let cls = state.schema, kind = cls.columns[position].kind, schema = cls.elements(of: position)
        let kept = schema.kind == .mixed ? KeptTexts() : nil
        defer { withExtendedLifetime(kept) {} }
        var new: [(key: Value, value: Value)] = [], links: [(key: OwnedValue?, link: WaitingLinks.Target)] = []
        var isWaiting = false
        try forEachElement(cls, position, index) { (number, name, at) throws(StoreError) in
            var element = (key: Value.null, value: Value.null)
            var waits = false
            if schema.kind == .link {
                let link = try target(cls, position, at)
                waits = link.isWaiting
                element.value = link.value(cls, position, in: writer.storeTag)
                try links.tryAppend((nil, link))
            } else {
                let before = missing.count
                element.value = try scalar(at, schema.kind, cls, position)
                waits = missing.count > before
            }
            current = at
            isWaiting = isWaiting || waits
            if !waits {
                let stored = try writer.checked(element.value, elementOf: position, cls)
                element.value = if let kept { try kept.keep(stored) } else { stored }
            }
            if kind == .map {
                element.key = try cls.mapKey(name, position)
                try writer.enumerations?.check(key: element.key, position, cls)
                if let last = links.indices.last { links[last].key = OwnedValue(element.key) }
            }
            try new.tryAppend(element)
        }
        if isWaiting {
            options.waiting?.wait(
                .init(classIndex: Int(cls.id), key: key, position: position),
                schema.kind == .link ? .links(links) : try .nested(nested(index)), of: graph?.current)
            return graph == nil
        }
        return try put(new, state, key, position, isNew: isNew)
    }

    /// Gives a list, set or map elements in the place of those that it has; they were checked. Returns whether
    /// something changed.
    func put(
        _ elements: [(key: Value, value: Value)], _ state: ClassState, _ key: Int64, _ position: Int, isNew: Bool
    ) throws(StoreError) -> Bool {
        let cls = state.schema, kind = cls.columns[position].kind
        var new = elements
        if kind != .list {
            new = try new.inOrder(CollectionOrder.entries(kind)) { (element) throws(StoreError) in
                if kind == .map { throw twice(element.key, cls, position) }
                return false
            }
        }
        let elements = try state.elements(key, position), count = try elements.count()
        if !isNew && options.policy == .modified, count == new.count, try isSame(elements, new) { return false }
        if isNew && new.isEmpty { return false }
        if count > 0 || new.isEmpty {
            try writer.changing(state) { () throws(StoreError) in try state.splice(key, position, 0..<count, []) }
        }
        var done = 0
        while done < new.count {
            let some = new[done..<min(new.count, done + Assembler.atOnce)]
            try writer.changing(state) { () throws(StoreError) in try state.splice(key, position, done..<done, some) }
            done += some.count
        }
        return true
    }

    private static let atOnce = 4096

    /// Calls `body` with the elements of the list or map at an index: their numbers, of maps their keys, and where they
    /// begin.
    func forEachElement(
        _ cls: ClassSchema, _ position: Int, _ index: Int,
        _ body: (_ number: Int, _ key: Value, _ at: Int) throws(StoreError) -> Void
    ) throws(StoreError) {
        let value = flat[index], kind = cls.columns[position].kind
        func wrong(_ code: StatusCode, _ what: String) -> StoreError {
            cls.named(
                StoreError(code, "\(cls.name).\(cls.properties[position].name) is \(kind.indefinite): \(what)"),
                position)
        }
        if value.isNull { throw wrong(.notNullable, "it cannot be null, but empty") }
        guard value.kind == (kind == .map ? .map : .list) else {
            throw wrong(
                .wrongType,
                "it is given as a \(kind == .map ? "map" : "list"), not as \(value.kind.indefinite) (\(value.text))")
        }
        var next = index + 1
        for number in 0..<Int(value.low) {
            var key = Value.null
            if kind == .map {
                key = flat[next]
                next += 1
            }
            let at = next
            try within(kind == .map ? .name(FlatValues.name(key)) : .index(number)) { () throws(StoreError) in
                current = at
                try body(number, key, at)
            }
            next = flat.end(at)
        }
    }

    func twice(_ key: Value, _ cls: ClassSchema, _ position: Int) -> StoreError {
        cls.named(
            StoreError(
                .invalidArgument, "\(cls.name).\(cls.properties[position].name): the key \(key.text) is given twice"),
            position)
    }

    func isSame(_ elements: CollectionElements, _ new: [(key: Value, value: Value)]) throws(StoreError) -> Bool {
        var index = 0, isSame = true
        try elements.forEach { (key, value) throws(StoreError) in
            isSame = key.isSame(as: new[index].key) && value.isSame(as: new[index].value)
            index += 1
            return isSame
        }
        return isSame
    }
}

extension Value {
    /// Of a map's key: the same for the same key, and for no other of its kind.
    var identity: String { kind == .string ? FlatValues.name(self) : "\(low) \(high)" }
}
