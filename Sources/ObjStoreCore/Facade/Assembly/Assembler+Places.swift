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
                if case .waits = link { waits = true }
                element.value = link.value(cls, position, view)
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
                schema.kind == .link ? .links(links) : try .nested(nested(index)))
            return true
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
