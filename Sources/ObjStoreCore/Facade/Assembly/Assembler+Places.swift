/// What objects have beside single values: embedded objects, lists, sets and maps.
extension Assembler {
    /// Gives a property what a value describes; returns whether something changed.
    @discardableResult
    func fill(_ state: ClassState, _ key: Int64, _ position: Int, _ index: Int, isNew: Bool) throws(StoreError) -> Bool {
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

    private func fillElements(_ state: ClassState, _ key: Int64, _ position: Int, _ index: Int, isNew: Bool) throws(StoreError) -> Bool {
        let cls = state.schema, kind = cls.columns[position].kind, schema = cls.elements(of: position)
        let kept = schema.kind == .mixed ? KeptTexts() : nil
        defer { withExtendedLifetime(kept) {} }
        var new: [(key: Value, value: Value)] = []
        try forEachElement(cls, position, index) { (number, name, at) throws(StoreError) in
            let value = try schema.kind == .link ? link(cls, position, at) : scalar(at, schema.kind, cls, position)
            current = at
            let stored = try view.checked(value, elementOf: position, cls)
            var element = (key: Value.null, value: kept?.keep(stored) ?? stored)
            if kind == .map {
                element.key = try view.mapKey(name, position, cls)
            }
            new.append(element)
        }
        if kind != .list {
            new = try new.inOrder(CollectionOrder.entries(kind)) { (element) throws(StoreError) in
                if kind == .map { throw twice(element.key, cls, position) }
                return false
            }
        }
        let elements = try state.elements(key, position), count = try elements.count()
        if !isNew && options.policy == .modified, count == new.count, try isSame(elements, new) { return false }
        if isNew && new.isEmpty { return false }
        if count > 0 || new.isEmpty { try view.changing(state) { () throws(StoreError) in try state.splice(key, position, 0..<count, []) } }
        var done = 0
        while done < new.count {
            let some = new[done..<min(new.count, done + Assembler.atOnce)]
            try view.changing(state) { () throws(StoreError) in try state.splice(key, position, done..<done, some) }
            done += some.count
        }
        return true
    }

    private static let atOnce = 4096

    /// Calls `body` with the elements of the list or map at an index: their numbers, of maps their keys, and where they begin.
    private func forEachElement(
        _ cls: ClassSchema, _ position: Int, _ index: Int, _ body: (_ number: Int, _ key: Value, _ at: Int) throws(StoreError) -> Void
    ) throws(StoreError) {
        let value = flat[index], kind = cls.columns[position].kind
        func wrong(_ code: StatusCode, _ what: String) -> StoreError {
            cls.named(StoreError(code, "\(cls.name).\(cls.properties[position].name) is a \(kind): \(what)"), position)
        }
        if value.isNull { throw wrong(.notNullable, "it cannot be null, but empty") }
        guard value.kind == (kind == .map ? .map : .list) else {
            throw wrong(.wrongType, "it is given as a \(kind == .map ? "map" : "list"), not as a \(value.kind) (\(value.text))")
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

    private func twice(_ key: Value, _ cls: ClassSchema, _ position: Int) -> StoreError {
        cls.named(StoreError(.invalidArgument, "\(cls.name).\(cls.properties[position].name): the key \(key.text) is given twice"), position)
    }

    private func isSame(_ elements: CollectionElements, _ new: [(key: Value, value: Value)]) throws(StoreError) -> Bool {
        var index = 0, isSame = true
        try elements.forEach { (key, value) throws(StoreError) in
            isSame = key.isSame(as: new[index].key) && value.isSame(as: new[index].value)
            index += 1
            return isSame
        }
        return isSame
    }

    // MARK: Embedded objects

    /// A single one.
    private func embed(_ state: ClassState, _ key: Int64, _ link: OwningLink, _ index: Int, isNew: Bool) throws(StoreError) -> Bool {
        let old = try state.value(key, link.property), value = flat[index]
        if value.isNull {
            if old.isNull, isNew || options.policy != .all { return false }
            try view.changing(state) { () throws(StoreError) in try view.setEmbedded(state, key, link, .null) }
            return true
        }
        if try view.isGiven(value, state, link.property, there: { old }) { return false }
        if !old.isNull, options.policy == .modified { return try rewrite(link.target, old.low, index) }
        try makeEmbedded(state, key, link, .link, index)
        return true
    }

    /// Those of a list or map.
    private func embedMany(_ state: ClassState, _ key: Int64, _ link: OwningLink, _ index: Int, isNew: Bool) throws(StoreError) -> Bool {
        let cls = state.schema, position = link.property, isMap = cls.columns[position].kind == .map
        var old: [(key: OwnedValue, object: Int64?)] = []
        if !isNew {
            try state.elements(key, position).forEach { (key, value) throws(StoreError) in
                old.append((OwnedValue(key), value.isNull ? nil : value.low))
                return true
            }
        }
        var changed = false, count = 0, kept = Set<Int>(), keys = Set<String>(), places: [String: Int] = [:]
        if isMap { for (place, element) in old.enumerated() { places[element.key.value.identity] = place } }
        try forEachElement(cls, position, index) { (number, name, at) throws(StoreError) in
            count += 1
            let mapKey = isMap ? try view.mapKey(name, position, cls) : .null
            if isMap {
                guard keys.insert(mapKey.identity).inserted else { throw twice(mapKey, cls, position) }
            }
            let place = isMap ? places[mapKey.identity] : number < old.count ? number : nil
            if let place { kept.insert(place) }
            let existing = place.flatMap { old[$0].object }
            if flat[at].isNull {
                guard isMap else { throw cls.named(StoreError(.notNullable, "\(cls.name).\(cls.properties[position].name): an element cannot be null"), position) }
                if place != nil, existing == nil { return }
                try replaceElement(state, key, link, mapKey, .null)
                changed = true
                return
            }
            if try view.isGiven(flat[at], state, position, there: { existing.map { Value(kind: .link, low: $0) } ?? .null }) { return }
            if let existing, options.policy == .modified {
                if try rewrite(link.target, existing, at) { changed = true }
                return
            }
            if !isMap, existing != nil { try removeElements(state, key, link, number..<number + 1) }
            try makeEmbedded(state, key, link, isMap ? .map(OwnedValue(mapKey)) : .list(number), at)
            changed = true
        }
        // What is not described goes.
        if isMap {
            for (place, element) in old.enumerated() where !kept.contains(place) {
                let (at, found) = try state.elements(key, position).search(element.key.value)
                if found { try removeElements(state, key, link, at..<at + 1) }
                changed = true
            }
        } else if old.count > count {
            try removeElements(state, key, link, count..<old.count)
            changed = true
        }
        return changed
    }

    func makeEmbedded(_ state: ClassState, _ owner: Int64, _ link: OwningLink, _ place: View.EmbeddingPlace, _ index: Int) throws(StoreError) {
        let targets = try self.state(link.target)
        let key = try create(targets, try described(targets.schema, index))
        tell(targets.schema, key, index)
        try view.changing(state) { () throws(StoreError) in try view.put(key, state, owner, link, place) }
    }

    private func tell(_ cls: ClassSchema, _ key: Int64, _ index: Int) {
        options.embedded?(index, ObjectID(classID: cls.classID, storeTag: view.shared.tag, key: key))
    }

    private func removeElements(_ state: ClassState, _ owner: Int64, _ link: OwningLink, _ range: Range<Int>) throws(StoreError) {
        try view.changing(state) { () throws(StoreError) in
            try view.replace(state, try state.elements(owner, link.property), link.property, range, [])
        }
    }

    private func replaceElement(_ state: ClassState, _ owner: Int64, _ link: OwningLink, _ mapKey: Value, _ value: Value) throws(StoreError) {
        try view.changing(state) { () throws(StoreError) in
            let elements = try state.elements(owner, link.property), (at, found) = try elements.search(mapKey)
            try view.replace(state, elements, link.property, at..<(found ? at + 1 : at), [(mapKey, value)])
        }
    }

    /// Makes an embedded object what a value describes, which is all of it: what is not given is as in a new one.
    private func rewrite(_ classIndex: Int, _ key: Int64, _ index: Int) throws(StoreError) -> Bool {
        let state = try state(classIndex), cls = state.schema
        tell(cls, key, index)
        var parts = try described(cls, index)
        let given = Set(parts.positions + parts.later.map(\.property))
        var emptied: [Int] = []
        for position in cls.properties.indices where !given.contains(position) {
            if cls.columns[position].kind.isCollection || state.embedded(position) != nil {
                emptied.append(position)
                continue
            }
            // A new generated value would be no other description of the same.
            if cls.properties[position].isGenerated { continue }
            parts.properties.append(cls.propertyID(position))
            parts.positions.append(position)
            parts.values.append(try view.plain(try view.missing(cls, position), cls, position))
        }
        var changed = try write(state, key, parts, all: false)
        for part in parts.later where try fill(state, key, part.property, part.value, isNew: false) { changed = true }
        for position in emptied where try empty(state, key, position) { changed = true }
        return changed
    }

    private func empty(_ state: ClassState, _ key: Int64, _ position: Int) throws(StoreError) -> Bool {
        if state.schema.columns[position].kind.isCollection {
            let elements = try state.elements(key, position), count = try elements.count()
            if count == 0 { return false }
            try view.changing(state) { () throws(StoreError) in try view.replace(state, elements, position, 0..<count, []) }
            return true
        }
        guard let link = state.embedded(position), !(try state.value(key, position)).isNull else { return false }
        try view.changing(state) { () throws(StoreError) in try view.setEmbedded(state, key, link, .null) }
        return true
    }
}

extension Value {
    /// Of a map's key: the same for the same key, and for no other of its kind.
    fileprivate var identity: String { kind == .string ? FlatValues.name(self) : "\(low) \(high)" }
}
