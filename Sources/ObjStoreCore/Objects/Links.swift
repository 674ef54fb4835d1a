/// Deleting what links lead to. A class knows only itself; the transaction knows all classes, so deletions begin here.
///
/// ```
///  Person#3 ◄── owner ── Dog#7, Dog#9           delete Person#3:  Dog#7.owner, Dog#9.owner = null, then Person#3 goes
///           index of Dog.owner: (3, 7) (3, 9)
/// ```
/// The index of each incoming link names the objects. Each is updated like by any other caller: logged as it is then,
/// so that a replay sets the same values and derives nothing, and observers see it modified. Links leave lists and
/// sets, whose elements close up; in a map their key gets null.
extension WriteTransaction {
    /// Deletes an object, and what goes with it (`Ownership`); links to them become null in the same step.
    package func delete(_ classIndex: Int, _ key: Int64) throws(StoreError) {
        let state = try state(classIndex)
        if !state.owning.isEmpty { return try deleteOwner(state, key) }
        if state.incoming.isEmpty, try !hasMixedLinks(to: state) { return try state.delete(key) }
        try deleteAlone(state, key)
    }

    /// Deletes an object and no other; links to it become null.
    func deleteAlone(_ state: ClassState, _ key: Int64) throws(StoreError) {
        _ = try state.row(key)
        let mark = ops.mark
        var nulled: [NulledLinks] = [], cleared = ClearedMixedLinks()
        do throws(StoreError) {
            for link in state.incoming {
                let origin = try self.state(link.classIndex)
                if link.isCollection {
                    try removeLinks(
                        to: .to(key), origin, link.property,
                        of: try origin.owners(ofLinksTo: key, link.property, without: origin === state ? key : nil))
                    continue
                }
                let keys = try origin.origins(
                    .equal, Value(kind: .link, low: key), link.property, without: origin === state ? key : nil)
                if keys.count == 0 { continue }
                nulled.append(NulledLinks(state: origin, property: link.property, keys: keys))
                try nulled[nulled.count - 1].run()
            }
            if try hasMixedLinks(to: state) {
                try cleared.run(MixedTarget(classID: state.schema.classID, key: key), in: self)
            }
            try state.delete(key)
        } catch {
            cleared.undo()
            for links in nulled.reversed() { links.undo(linksTo: key) }
            ops.rollBack(to: mark)
            throw error
        }
    }

    /// What fails leaves the class broken.
    func removeLinks(
        to targets: LinkSelection, _ origin: ClassState, _ property: Int, of owners: KeyBuffer
    ) throws(StoreError) {
        do throws(StoreError) {
            for index in 0..<owners.count
            where try origin.removeLinks(owners.keys[index], property, where: targets) == 0 {
                throw StoreError(
                    .corrupt,
                    """
                    the inverse of \(origin.schema.name).\(origin.schema.properties[property].name) names the object \
                    \(owners.keys[index]), which has no such link
                    """
                )
            }
        } catch {
            origin.isBroken = true
            if error.code != .noSuchObject { throw error }
            throw StoreError(
                .corrupt,
                """
                the inverse of \(origin.schema.name).\(origin.schema.properties[property].name) names an object that \
                does not exist
                """
            )
        }
    }

    /// Deletes all objects of a class, and what goes with them; links to them become null. Returns how many objects of
    /// the class there were.
    package func deleteAll(_ classIndex: Int) throws(StoreError) -> Int {
        let state = try state(classIndex)
        if state.objectCount == 0 { return 0 }
        if !state.owning.isEmpty { return try deleteAllOwners(state) }
        do throws(StoreError) {
            // Its own links go with their objects.
            for link in state.incoming where link.classIndex != classIndex {
                let origin = try self.state(link.classIndex)
                if link.isCollection {
                    try removeLinks(to: .all, origin, link.property, of: try origin.ownersOfLinks(link.property))
                    continue
                }
                let keys = try origin.origins(.notEqual, .null, link.property, without: nil)
                // By target so far: an object tree is changed in the order of its own keys.
                try keys.sort()
                var links = NulledLinks(state: origin, property: link.property, keys: keys)
                try links.run()
            }
            if try hasMixedLinks(to: state) { try clearMixedLinks(toClass: state.schema.classID, exceptOwn: true) }
            return try state.deleteAll()
        } catch {
            state.isBroken = true
            throw error
        }
    }
}

extension ClassState {
    /// The objects whose link satisfies the comparison, except one.
    fileprivate func origins(
        _ comparison: Comparison, _ target: Value, _ property: Int, without: Int64?
    ) throws(StoreError) -> KeyBuffer {
        let keys = KeyBuffer(capacity: 8)
        try indexes[schema.indexPosition(of: property)!].reader().forEach(comparison, target) {
            (key) throws(StoreError) in
            if key != without { try keys.append(key) }
            return true
        }
        return keys
    }
}

/// Objects of one class whose link becomes null, and how many it did already.
private struct NulledLinks {
    let state: ClassState
    let property: Int
    let keys: KeyBuffer
    private var done = 0

    init(state: ClassState, property: Int, keys: KeyBuffer) {
        self.state = state
        self.property = property
        self.keys = keys
    }

    mutating func run() throws(StoreError) {
        while done < keys.count {
            let key = keys.keys[done]
            do throws(StoreError) { try state.update(key, property, .null) } catch {
                if state.cluster.isBroken { state.isBroken = true }
                if error.code != .noSuchObject { throw error }
                throw StoreError(
                    .corrupt,
                    """
                    the index of \(state.schema.name).\(state.schema.properties[property].name) names the object \
                    \(key), which does not exist
                    """
                )
            }
            done += 1
        }
    }

    func undo(linksTo target: Int64) {
        state.undo { () throws(StoreError) in
            for index in 0..<done {
                try state.change(try state.row(keys.keys[index]), property, Value(kind: .link, low: target))
            }
        }
    }
}
