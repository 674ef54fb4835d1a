/// Links of descriptions: to objects that are given or described in their place, or to which there is a *reference*, as
/// `ObjectWriter` writes them.
///
/// ```
///  Dog#3                             the object itself
///  12, "rex"                         its primary key
///  {"a": 1, "b": 2}                  the parts of one, and nothing else, where an object has them; else it is one
///  {"$ref": "Dog", "$id": 12}        class, and primary key (a map of its parts) or, where it has none, object key
/// ```
/// A reference to an object that does not exist yet waits until everything is there: so circles come back, and an
/// array's elements may lead to later ones.
extension Assembler {
    /// The link that a value is or describes; `.noSuchObject` where it is a reference to nothing.
    func link(_ cls: ClassSchema, _ position: Int, _ index: Int) throws(StoreError) -> Value {
        let target = try target(cls, position, index)
        if case .waits(_, let error) = target { throw error }
        return target.value(cls, position, in: writer.storeTag)
    }

    /// The same where it may wait.
    func target(_ cls: ClassSchema, _ position: Int, _ index: Int) throws(StoreError) -> WaitingLinks.Target {
        let value = flat[index], target = ClassID.index(cls.columns[position].target)
        if value.isNode { return try node(index, cls, position) }
        if value.isNull || value.kind == .link { return .given(value) }
        if let reference = try reference(target, index) { return reference }
        guard value.kind == .list || value.kind == .map else { return .given(value) }
        return .object(try object(target, index).key)
    }

    /// Nil: the value is no reference.
    private func reference(_ classIndex: Int, _ index: Int) throws(StoreError) -> WaitingLinks.Target? {
        let state = try state(classIndex), cls = state.schema
        if cls.isEmbedded { return nil }
        if let (name, key) = ExtendedJSON.reference(flat.values, index),
            names.propertyIndex("$ref", cls) == nil
        {
            guard let named = names.classIndex(FlatValues.name(flat[name]), schema) else {
                throw StoreError(
                    .noSuchClass, "\"$ref\" names a class \(FlatValues.name(flat[name])), which the store does not have"
                ).at(class: cls.name)
            }
            guard named == classIndex else {
                throw StoreError(
                    .wrongType,
                    "\"$ref\" names class \(FlatValues.name(flat[name])): the link is to objects of class \(cls.name)"
                ).at(class: cls.name)
            }
            guard let found = try object(state, withKeyAt: key) else { throw noKey(cls, key) }
            return found
        }
        guard let keyIndex = cls.keyIndex else { return nil }
        if flat[index].kind == .map {
            // What has more is a description, and so is what does not exist yet.
            guard cls.primaryKey == nil, let parts = try keyParts(cls, keyIndex, index),
                let found = try find(state, parts)
            else { return nil }
            return .object(found)
        }
        if flat[index].kind == .list || cls.primaryKey == nil { return nil }
        return try object(state, withKeyAt: index)
    }

    /// By primary key, or object key where the class has none. Nil: the value is no such key.
    func object(_ state: ClassState, withKeyAt index: Int) throws(StoreError) -> WaitingLinks.Target? {
        let cls = state.schema
        current = index
        guard let keyIndex = cls.keyIndex else {
            guard flat[index].kind == .int else {
                throw StoreError(
                    .wrongType,
                    """
                    \"$id\" of an object of class \(cls.name), which has no primary key, is its object key, an int, \
                    not a \(flat[index].kind)
                    """
                ).at(class: cls.name)
            }
            if try state.contains(flat[index].low) { return .object(flat[index].low) }
            throw StoreError(
                .noSuchObject,
                """
                there is no \(cls.name)#\(flat[index].low), and class \(cls.name) has no primary key by which another \
                one could be found
                """
            ).at(class: cls.name)
        }
        let parts: [(position: Int, value: Value)]
        if let primary = cls.primaryKey {
            let key = try scalar(index, cls.columns[primary].kind, cls, primary)
            guard key.kind == cls.columns[primary].kind || key.isNull && cls.columns[primary].nullable else {
                return nil
            }
            try ValueCheck.check(key, for: primary, of: cls, limit: .max)
            parts = [(primary, key)]
        } else {
            guard let some = try keyParts(cls, keyIndex, index) else {
                throw StoreError(
                    .wrongType,
                    "\"$id\" of an object of class \(cls.name) is a map of \(cls.names(of: cls.indexes[keyIndex]))"
                ).at(class: cls.name)
            }
            parts = some
        }
        if let found = try find(state, parts) { return .object(found) }
        let text = parts.map { "\(cls.properties[$0.position].name) = \($0.value.text)" }.joined(separator: ", ")
        let error = described(StoreError(.noSuchObject, "there is no \(cls.name) with \(text)").at(class: cls.name))
        if options.waiting == nil {
            isDescribed = true
            throw error
        }
        return .waits(parts.map { ($0.position, OwnedValue($0.value)) }, error)
    }

    func noKey(_ cls: ClassSchema, _ index: Int) -> StoreError {
        let primary = cls.columns[cls.primaryKey.unsafelyUnwrapped],
            what = flat[index].isNull ? "null" : flat[index].kind.indefinite
        return StoreError(
            .wrongType,
            "\"$id\" of an object of class \(cls.name) is its primary key, \(primary.kind.indefinite), not \(what)"
        ).at(class: cls.name)
    }

    private func find(_ state: ClassState, _ parts: [(position: Int, value: Value)]) throws(StoreError) -> Int64? {
        if state.schema.primaryKey != nil { return try state.find(primaryKey: parts[0].value) }
        return try state.find(key: { position in parts.first { $0.position == position }.unsafelyUnwrapped.value })
    }

    /// The parts of a primary key, where a map has all of them and nothing else.
    private func keyParts(
        _ cls: ClassSchema, _ keyIndex: Int, _ index: Int
    ) throws(StoreError) -> [(position: Int, value: Value)]? {
        let properties = cls.indexes[keyIndex].properties
        guard flat[index].kind == .map, Int(flat[index].low) == properties.count else { return nil }
        var parts: [(position: Int, value: Value)] = [], at = index + 1
        for _ in properties {
            guard let position = names.propertyIndex(FlatValues.name(flat[at]), cls),
                properties.contains(position),
                !parts.contains(where: { $0.position == position })
            else { return nil }
            let value = try scalar(at + 1, cls.columns[position].kind, cls, position)
            try ValueCheck.check(value, for: position, of: cls, limit: .max)
            parts.append((position, value))
            at = flat.end(at + 1)
        }
        current = index
        return parts
    }

    // MARK: Waiting

    /// What waits of an object that is there now; what it got is waited for no longer.
    func wait(_ cls: ClassSchema, _ key: Int64, _ parts: Parts, isNew: Bool) {
        guard let waiting = options.waiting else { return }
        func place(_ position: Int) -> WaitingLinks.Place {
            .init(classIndex: Int(cls.id), key: key, position: position)
        }
        if !isNew && !waiting.isEmpty {
            for position in parts.positions { waiting.forget(place(position)) }
            for part in parts.later { waiting.forget(place(part.property)) }
        }
        for (position, what) in parts.waiting { waiting.wait(place(position), what, of: graph?.current) }
    }

    /// Values in which references wait, kept.
    func nested(_ start: Int) throws(StoreError) -> WaitingLinks.Nested {
        defer { missing = [:] }
        return try .init(
            flat.values[start..<flat.end(start)], Dictionary(uniqueKeysWithValues: missing.map { ($0 - start, $1) }),
            options.convert)
    }

    /// Gives what waited what it leads to.
    func connect(_ waiting: WaitingLinks) throws(StoreError) {
        let all = waiting.take()
        if all.isEmpty { return }
        try willChange()
        for (place, what, node) in all {
            let state = try state(place.classIndex)
            // An embedded object, whose parent was given another one since.
            guard try state.contains(place.key) else { continue }
            if let node { graph?.current = node }
            let changed =
                switch what {
                case .links(let links): try connect(state, place, links)
                case .nested(let nested): try connect(state, place, nested)
                }
            if changed, let node { graph?.didChange(node) }
        }
    }

    /// Whether what waits counts as a change before it is known what it leads to.
    func waitingChanges(_ parts: Parts) -> Bool { graph == nil && !parts.waiting.isEmpty }

    private func connect(
        _ state: ClassState, _ place: WaitingLinks.Place, _ links: [(key: OwnedValue?, link: WaitingLinks.Target)]
    ) throws(StoreError) -> Bool {
        let cls = state.schema
        var elements: [(key: Value, value: Value)] = []
        for (key, target) in links {
            var target = target
            switch target {
            case .given, .object: break
            case .node(let number): target = .object((graph?.keys[number]).unsafelyUnwrapped)
            case .waits(let parts, let error):
                guard
                    let found = try find(
                        try self.state(ClassID.index(cls.columns[place.position].target)),
                        parts.map { ($0.position, $0.value.value) })
                else {
                    isDescribed = true
                    throw error
                }
                target = .object(found)
            }
            elements.append((key?.value ?? .null, target.value(cls, place.position, in: writer.storeTag)))
        }
        guard cls.columns[place.position].kind.isCollection else { return try give(state, place, elements[0].value) }
        for index in elements.indices {
            elements[index].value = try writer.checked(elements[index].value, elementOf: place.position, cls)
        }
        return try put(elements, state, place.key, place.position, isNew: false)
    }

    private func connect(
        _ state: ClassState, _ place: WaitingLinks.Place, _ nested: WaitingLinks.Nested
    ) throws(StoreError) -> Bool {
        let before = (flat, options.convert)
        (options.convert, awaited) = (nested.convert, nested.missing)
        defer {
            // Its values lie in memory that nothing here names.
            withExtendedLifetime(nested) {}
            (flat, options.convert, awaited) = (before.0, before.1, [:])
        }
        let cls = state.schema
        return try nested.values.withUnsafeBufferPointer { (values) throws(StoreError) in
            flat = try FlatValues(checking: values)
            if cls.columns[place.position].kind.isCollection {
                return try fill(state, place.key, place.position, 0, isNew: false)
            }
            return try give(state, place, try scalar(0, .mixed, cls, place.position))
        }
    }

    private func give(_ state: ClassState, _ place: WaitingLinks.Place, _ value: Value) throws(StoreError) -> Bool {
        let parts = Parts(
            properties: [state.schema.propertyID(place.position)], positions: [place.position], values: [value])
        return try write(state, place.key, parts, all: graph != nil && options.policy == .all)
    }
}
