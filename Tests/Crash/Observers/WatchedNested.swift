import ObjStoreCore

/// What a reader has of a list or map inside of a mixed value: of a place, where each version has what it has.
struct WatchedNested: Equatable, CustomStringConvertible {
    let isMap: Bool
    /// Of a map, ascending; as long as the elements.
    var names: [String] = []
    var elements: [WatchedMixed] = []

    /// - Parameter value: what is at the place; something else than it was when the observer began is nothing.
    init(isMap: Bool, _ value: WatchedMixed? = nil) {
        self.isMap = isMap
        switch value {
        case .list(let list) where !isMap: elements = list
        case .map(let map) where isMap:
            names = map.keys.sorted()
            elements = names.map { map[$0]! }
        default: break
        }
    }

    var map: [String: WatchedMixed] { Dictionary(uniqueKeysWithValues: zip(names, elements)) }
    var description: String { isMap ? "\(WatchedMixed.map(map))" : "\(elements)" }

    /// A map, of which another one has been changed from a state to another.
    func changed(from before: WatchedNested, to after: WatchedNested) -> WatchedNested {
        var own = map
        let was = before.map, now = after.map
        for name in Set(was.keys).union(now.keys) where was[name] != now[name] { own[name] = now[name] }
        return WatchedNested(isMap: true, .map(own))
    }

    // MARK: Doing what it says

    /// - Parameter after: where values are that came.
    /// Returns: what is wrong; nil: nothing.
    mutating func take(_ changes: ChangeSet, _ after: WatchedNested) -> String? {
        guard let indices = changes.indices, isMap == (changes.keys != nil) else { return "positions: there are none" }
        if let problem = check(changes, indices, after) { return problem }
        let before = self
        for place in (indices.deleted + indices.movedBefore).sorted(by: >) {
            elements.remove(at: Int(place))
            if isMap { names.remove(at: Int(place)) }
        }
        for place in (indices.inserted + indices.movedAfter).sorted() {
            guard place <= elements.count else { return "positions: \(place) of \(elements.count)" }
            elements.insert(after.elements[Int(place)], at: Int(place))
            if isMap { names.insert(after.names[Int(place)], at: Int(place)) }
        }
        for (old, new) in zip(indices.modifiedBefore, indices.modifiedAfter) {
            guard new < elements.count, elements[Int(new)] == before.elements[Int(old)] else {
                return "positions: what was at \(old) is not at \(new)"
            }
            elements[Int(new)] = after.elements[Int(new)]
        }
        return nil
    }

    /// Positions are there, and ascend; of a map the keys are those that stand there.
    private func check(_ changes: ChangeSet, _ indices: ChangeSet.Indices, _ after: WatchedNested) -> String? {
        for (positions, list, what) in [
            (indices.deleted, self, "deleted"), (indices.modifiedBefore, self, "modified before"),
            (indices.movedBefore, self, "moved before"), (indices.inserted, after, "inserted"),
            (indices.modifiedAfter, after, "modified after"), (indices.movedAfter.sorted(), after, "moved after"),
        ]
        where zip(positions, positions.dropFirst()).contains(where: { $0 >= $1 })
            || (positions.last.map { $0 >= list.elements.count } ?? false)
        {
            return "positions: \(positions) of \(list.elements.count), \(what)"
        }
        for (told, positions) in [
            (changes.deleted, indices.deleted), (changes.inserted, indices.inserted),
            (changes.modified, indices.modifiedAfter), (changes.moved, indices.movedAfter),
        ] where told != positions.map({ Int64($0) }) {
            return "positions: \(told), not \(positions)"
        }
        guard let keys = changes.keys else { return nil }
        for (keys, positions, list) in [
            (keys.deleted, indices.deleted, self), (keys.inserted, indices.inserted, after),
            (keys.modified, indices.modifiedAfter, after),
        ] {
            let wanted = positions.map { list.names[Int($0)] }
            if keys.map({ String($0) }) != wanted { return "keys: \(keys.map { String($0) }), not \(wanted)" }
        }
        return nil
    }

    // MARK: What it must be

    /// Of a change set that leads from this to another one. Both are compared as a whole: an equal element that was
    /// written again is not told, and a value that went and came again has moved.
    func checkLeast(_ indices: ChangeSet.Indices, to after: WatchedNested) -> String? {
        func values(_ positions: [UInt64], _ list: WatchedNested) -> [WatchedMixed] {
            positions.map { list.elements[Int($0)] }
        }
        let old = values(indices.modifiedBefore, self), new = values(indices.modifiedAfter, after)
        if zip(old, new).contains(where: { $0 == $1 }) { return "modified: \(new), which nothing has changed" }
        if isMap {
            let was = map, now = after.map, modified = Set(indices.modifiedAfter.map { after.names[Int($0)] })
            let wanted = now.keys.filter { was[$0] != nil && was[$0] != now[$0] }
            if modified != Set(wanted) { return "modified: keys \(modified.sorted()), not \(wanted.sorted())" }
            let gone = indices.deleted.map { names[Int($0)] }
            if let both = gone.first(where: { now[$0] != nil }) { return "content: key \(both) has gone and come" }
            return indices.movedBefore.isEmpty ? nil : "moves: a map has none"
        }
        let gone = values(indices.deleted, self) + old, come = values(indices.inserted, after) + new
        if let both = gone.first(where: come.contains) { return "content: \(both) has gone and come" }
        if values(indices.movedBefore, self) != values(indices.movedAfter, after) {
            return "positions: moved from \(indices.movedBefore) to \(indices.movedAfter)"
        }
        if Set(elements).count < elements.count || Set(after.elements).count < after.elements.count { return nil }
        let numbers = Dictionary(uniqueKeysWithValues: elements.enumerated().map { ($1, Int64($0)) })
        let stayed = after.elements.compactMap { numbers[$0] }
        let least = WatchedReader.leastMoves(stayed.sorted(), stayed)
        return indices.movedBefore.count == least ? nil : "moves: \(indices.movedBefore), where \(least) would do"
    }
}

extension WatchedReader {
    func wantedNested(_ content: WatchedContent) -> WatchedNested? {
        guard case .nested(let path) = kind.way, let nested else { return nil }
        return WatchedNested(isMap: nested.isMap, exists(in: content) ? content[.tag, owner]!.notes?.at(path) : nil)
    }

    /// - Parameter ends: the owner, or the property, is gone.
    func takeNested(_ changes: ChangeSet, _ step: WatchedStep, ends: Bool) -> String? {
        let before = nested!, wanted = wantedNested(step.after)!
        if let problem = nested!.take(changes, wanted) { return "\(problem), of \(name)" }
        if nested! != wanted { return "content: \(name) has \(nested!), not \(wanted)" }
        if changes.isCleared != (!before.elements.isEmpty && wanted.elements.isEmpty) {
            return "cleared: \(name): \(changes.isCleared)"
        }
        if let problem = before.checkLeast(changes.indices!, to: wanted) { return "\(problem), of \(name)" }
        isEnded = isEnded || ends
        if ends { return nil }
        let notes = changes.schema.properties.firstIndex { $0.name == "notes" }!
        for index in 0..<changes.modified.count + changes.moved.count
        where !changes.hasChanged(notes, ofModification: index) {
            return "modified: \(name) in another property"
        }
        return nil
    }
}
