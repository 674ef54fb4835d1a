/// Embedded objects that values describe, or that are given where they are already.
extension Assembler {
    /// A single one.
    func embed(
        _ state: ClassState, _ key: Int64, _ link: OwningLink, _ index: Int, isNew: Bool
    ) throws(StoreError) -> Bool {
        let old = try state.value(key, link.property), value = flat[index]
        if value.isNull {
            if old.isNull, isNew || options.policy != .all { return false }
            try writer.changing(state) { () throws(StoreError) in try writer.setEmbedded(state, key, link, .null) }
            return true
        }
        // No node is an embedded object.
        if value.isNode { _ = try node(index, state.schema, link.property) }
        if try writer.isGiven(value, state, link.property, there: { old }) { return false }
        if !old.isNull, options.policy == .modified { return try rewrite(link.target, old.low, index) }
        try makeEmbedded(state, key, link, .link, index)
        return true
    }

    /// Those of a list or map.
    func embedMany(
        _ state: ClassState, _ key: Int64, _ link: OwningLink, _ index: Int, isNew: Bool
    ) throws(StoreError) -> Bool {
        let cls = state.schema, position = link.property, isMap = cls.columns[position].kind == .map
        var old: [(key: OwnedValue, object: Int64?)] = []
        if !isNew {
            try state.elements(key, position).forEach { (key, value) throws(StoreError) in
                old.append((OwnedValue(key), value.isNull ? nil : value.low))
                return true
            }
        }
        var changed = false, count = 0, arranged = Set<Int64>(), kept = Set<Int>(), keys = Set<String>(),
            places: [String: Int] = [:]
        if isMap { for (place, element) in old.enumerated() { places[element.key.value.identity] = place } }
        if !old.isEmpty, let moved = try arrange(state, key, link, index, old, places) {
            arranged = moved
            (old, places) = ([], [:])
            changed = true
        }
        try forEachElement(cls, position, index) { (number, name, at) throws(StoreError) in
            count += 1
            let mapKey = isMap ? try cls.mapKey(name, position) : .null
            if isMap {
                try writer.enumerations?.check(key: mapKey, position, cls)
                guard keys.insert(mapKey.identity).inserted else { throw twice(mapKey, cls, position) }
            }
            let place = isMap ? places[mapKey.identity] : number < old.count ? number : nil
            if let place { kept.insert(place) }
            let existing = place.flatMap { old[$0].object }
            if flat[at].isNull {
                guard isMap else {
                    throw cls.named(
                        StoreError(
                            .notNullable, "\(cls.name).\(cls.properties[position].name): an element cannot be null"),
                        position)
                }
                if place != nil, existing == nil { return }
                try replaceElement(state, key, link, mapKey, .null)
                changed = true
                return
            }
            if flat[at].isNode { _ = try node(at, cls, position) }
            if flat[at].kind == .link, arranged.contains(flat[at].low) { return }
            if try writer.isGiven(
                flat[at], state, position, there: { existing.map { Value(kind: .link, low: $0) } ?? .null })
            {
                return
            }
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

    /// Where embedded objects are given that are elements already, but at other places: takes out all that is not
    /// given, and puts what is given into its order; what is described is made between it then. Returns the keys of
    /// those that are given; nil: each is at its place.
    ///
    /// ```
    ///  there            a b c d
    ///  given            d, {…}, b
    ///  after this       d b             a and c are deleted
    /// ```
    private func arrange(
        _ state: ClassState, _ owner: Int64, _ link: OwningLink, _ index: Int,
        _ old: [(key: OwnedValue, object: Int64?)], _ places: [String: Int]
    ) throws(StoreError) -> Set<Int64>? {
        let cls = state.schema, position = link.property, isMap = cls.columns[position].kind == .map
        let there = Set(old.compactMap(\.object))
        var given: [(key: OwnedValue, object: Int64)] = [], all = Set<Int64>(), isMoved = false
        try forEachElement(cls, position, index) { (number, name, at) throws(StoreError) in
            guard flat[at].kind == .link, flat[at].givenObject.classID == cls.columns[position].target,
                flat[at].givenObject.storeTag == writer.storeTag,
                there.contains(flat[at].low)
            else { return }
            let key = isMap ? try cls.mapKey(name, position) : .null
            guard all.insert(flat[at].low).inserted else {
                let target = schema.classes[link.target].name
                throw cls.named(
                    StoreError(
                        .embedded,
                        """
                        \(cls.name).\(cls.properties[position].name): the \(target)#\(flat[at].low) is given twice, \
                        and an embedded object has one place
                        """
                    ), position)
            }
            let place = isMap ? places[key.identity] : number
            if place.map({ $0 < old.count && old[$0].object == flat[at].low }) != true { isMoved = true }
            given.append((OwnedValue(key), flat[at].low))
        }
        if !isMoved { return nil }
        for place in old.indices.reversed() where old[place].object.map({ !all.contains($0) }) ?? true {
            try removeElements(state, owner, link, place..<place + 1)
        }
        var new = given.map { (key: $0.key.value, value: Value(kind: .link, low: $0.object)) }
        if isMap { new.sort { CollectionOrder.compare($0.key, $1.key) < 0 } }
        if try !isSame(try state.elements(owner, position), new) {
            try writer.changing(state) { () throws(StoreError) in
                try state.splice(owner, position, 0..<new.count, new[...])
            }
        }
        withExtendedLifetime(given) {}
        return all
    }

    @discardableResult
    func makeEmbedded(
        _ state: ClassState, _ owner: Int64, _ link: OwningLink, _ place: ObjectWriter.EmbeddingPlace, _ index: Int
    ) throws(StoreError) -> Int64 {
        try enter(link.target)
        defer { leave() }
        let targets = try self.state(link.target)
        let key = try create(targets, try described(targets.schema, index))
        tell(targets.schema, key, index)
        try put(key, state, owner, link, place)
        return key
    }

    /// On its own, for the stack of the recursion.
    @inline(never)
    private func put(
        _ key: Int64, _ state: ClassState, _ owner: Int64, _ link: OwningLink, _ place: ObjectWriter.EmbeddingPlace
    ) throws(StoreError) {
        try writer.changing(state) { () throws(StoreError) in try writer.put(key, state, owner, link, place) }
    }

    private func tell(_ cls: ClassSchema, _ key: Int64, _ index: Int) {
        options.embedded?(index, ObjectID(classID: cls.classID, storeTag: writer.storeTag, key: key))
    }

    private func removeElements(
        _ state: ClassState, _ owner: Int64, _ link: OwningLink, _ range: Range<Int>
    ) throws(StoreError) {
        try writer.changing(state) { () throws(StoreError) in
            try writer.replace(state, try state.elements(owner, link.property), link.property, range, [])
        }
    }

    private func replaceElement(
        _ state: ClassState, _ owner: Int64, _ link: OwningLink, _ mapKey: Value, _ value: Value
    ) throws(StoreError) {
        try writer.changing(state) { () throws(StoreError) in
            let elements = try state.elements(owner, link.property), (at, found) = try elements.search(mapKey)
            try writer.replace(state, elements, link.property, at..<(found ? at + 1 : at), [(mapKey, value)])
        }
    }

    /// Makes an embedded object what a value describes, which is all of it: what is not given is as in a new one.
    private func rewrite(_ classIndex: Int, _ key: Int64, _ index: Int) throws(StoreError) -> Bool {
        try enter(classIndex)
        defer { leave() }
        let state = try state(classIndex), cls = state.schema
        tell(cls, key, index)
        var parts = try described(cls, index)
        let given = Set(parts.positions + parts.later.map(\.property) + parts.waiting.map(\.position))
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
            parts.values.append(try writer.plain(try writer.missing(cls, position), cls, position))
        }
        var changed = try write(state, key, parts, all: false) || waitingChanges(parts)
        wait(cls, key, parts, isNew: false)
        for part in parts.later where try fill(state, key, part.property, part.value, isNew: false) { changed = true }
        for position in emptied where try empty(state, key, position) { changed = true }
        return changed
    }

    private func empty(_ state: ClassState, _ key: Int64, _ position: Int) throws(StoreError) -> Bool {
        if state.schema.columns[position].kind.isCollection {
            let elements = try state.elements(key, position), count = try elements.count()
            if count == 0 { return false }
            try writer.changing(state) { () throws(StoreError) in
                try writer.replace(state, elements, position, 0..<count, [])
            }
            return true
        }
        guard let link = state.embedded(position), !(try state.value(key, position)).isNull else { return false }
        try writer.changing(state) { () throws(StoreError) in try writer.setEmbedded(state, key, link, .null) }
        return true
    }
}
