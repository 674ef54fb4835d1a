/// Links in mixed values, and their inverse.
///
/// An object's value changes as a whole, and what it links to before and after is compared: so an object is in the
/// inverse once for each object that it links to, and places that have the same link need not be counted.
extension ClassState {
    /// Whether a change of a mixed property may have to do with links.
    @inline(never)
    func mayLink(_ property: Int, _ value: Value) throws(StoreError) -> Bool {
        if !mixedInverses[schema.mixedPosition(of: property)!].isEmpty { return true }
        return try MixedLinks.has(value)
    }

    /// Makes links to objects that go null in the value of one object, or in the elements of its collection; a link
    /// that is an element of a set leaves it. Logged like by any other caller. Returns the old cell; nil of a
    /// collection, which cannot be undone.
    func clearMixedLinks(
        _ key: Int64, _ property: Int, where isGone: (MixedTarget) throws(StoreError) -> Bool
    ) throws(StoreError) -> OwnedValue? {
        func damaged(_ what: String) -> StoreError {
            StoreError(
                .corrupt,
                """
                the inverse of \(schema.name).\(schema.properties[property].name) names the object \(key), which \
                \(what)
                """
            )
        }
        let row: RowPosition
        do throws(StoreError) { row = try self.row(key) } catch {
            if error.code != .noSuchObject { throw error }
            throw damaged("does not exist")
        }
        if schema.columns[property].kind.isCollection {
            guard try clearMixedElements(key, property, where: isGone) else { throw damaged("has no such link") }
            return nil
        }
        let old = try OwnedValue(copying: try value(row, property)), builder = DocumentBuilder()
        guard try MixedLinks.has(old.value) else { throw damaged("has no such link") }
        let new = try MixedLinks.without(old.value, builder, where: isGone)
        try update(row, property, new)
        withExtendedLifetime(builder) {}
        return old
    }

    // MARK: Of collections

    /// False: no element had such a link. Cost: O(elements).
    private func clearMixedElements(
        _ owner: Int64, _ property: Int, where isGone: (MixedTarget) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        let elements = try elements(owner, property), kept = KeptTexts()
        var changes: [(index: Int, key: OwnedValue, value: Value?)] = [], index = 0
        try elements.forEach { (key, value) throws(StoreError) in
            defer { index += 1 }
            var isMeant = false
            try MixedLinks.forEach(value) { (link) throws(StoreError) in
                isMeant = try isGone(MixedTarget(link))
                return !isMeant
            }
            if isMeant {
                changes.append(
                    (index, OwnedValue(key), try MixedLinks.element(value, of: elements.kind, kept, where: isGone)))
            }
            return true
        }
        // From the end: the others stay where they are.
        for (index, key, value) in changes.reversed() {
            try splice(owner, property, index..<index + 1, value.map { [(key.value, $0)] } ?? [])
        }
        withExtendedLifetime(kept) {}
        return !changes.isEmpty
    }
}

extension WriteTransaction {
    /// Whether mixed values link to objects of a class. False costs next to nothing.
    @inline(__always)
    func hasMixedLinks(to state: ClassState) throws(StoreError) -> Bool {
        if _fastPath(schema.mixedOrigins.isEmpty) { return false }
        return try findMixedLinks(to: state.schema.classID)
    }

    @inline(never)
    func findMixedLinks(to classID: UInt32) throws(StoreError) -> Bool {
        for origin in schema.mixedOrigins
        where try state(origin.classIndex).mixedInverses[origin.position].leads(to: classID) { return true }
        return false
    }

    /// Whether the object of a link is gone, or its class.
    func isGone(_ link: MixedTarget) throws(StoreError) -> Bool {
        let index = ClassID.index(link.classID)
        guard index >= 0, index < schema.classes.count, !schema.classes[index].isDropped,
            !schema.classes[index].isEmbedded
        else { return true }
        return try !state(index).contains(link.key)
    }

    /// Makes the links in mixed values to all objects of a class null, but for values of its own objects if those go,
    /// too.
    func clearMixedLinks(toClass classID: UInt32, exceptOwn: Bool) throws(StoreError) {
        for origin in schema.mixedOrigins where !exceptOwn || ClassID.of(origin.classIndex) != classID {
            let state = try state(origin.classIndex), inverse = state.mixedInverses[origin.position]
            if try !inverse.leads(to: classID) { continue }
            let owners = try inverse.reader().owners(ofClass: classID)
            for index in 0..<owners.count {
                _ = try state.clearMixedLinks(owners.keys[index], origin.property) { $0.classID == classID }
            }
        }
    }
}

/// Objects whose mixed values lose links to one object, and what they had before.
struct ClearedMixedLinks {
    private var old: [(state: ClassState, property: Int, key: Int64, cell: OwnedValue)] = []
    /// Classes of which elements of collections changed.
    private var changed: [ClassState] = []

    mutating func run(_ target: MixedTarget, in transaction: WriteTransaction) throws(StoreError) {
        for origin in transaction.schema.mixedOrigins {
            let state = try transaction.state(origin.classIndex), inverse = state.mixedInverses[origin.position]
            if try !inverse.leads(to: target.classID) { continue }
            // Its own links go with it.
            let own = state.schema.classID == target.classID ? target.key : nil
            let owners = try inverse.reader().owners(of: target, without: own)
            for index in 0..<owners.count {
                if let cell = try state.clearMixedLinks(owners.keys[index], origin.property, where: { $0 == target }) {
                    old.append((state, origin.property, owners.keys[index], cell))
                } else {
                    changed.append(state)
                    try inverse.didClear(target, owners.keys[index])
                }
            }
        }
    }

    func undo() {
        for state in changed { state.isBroken = true }
        for (state, property, key, cell) in old.reversed() {
            state.undo { () throws(StoreError) in try state.change(try state.row(key), property, cell.value) }
        }
    }
}
