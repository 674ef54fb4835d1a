/// Which objects of an observed class are modified by what happened in the objects that their links lead to, as far as
/// an observer's paths go.
///
/// ```
///  Person observed      City#4.name written ──owners──► Person#7.city, Person#9.city
///                                                         modified: city
/// ```
/// Followed from what was changed, through the inverses of the version after it: an object that linked elsewhere before
/// was written itself. Nothing is looked at that no link leads to.
struct LinkedChanges {
    private let reader: ChangeReader
    private let classIndex: Int
    private let schema: Schema
    private let maskWords: Int
    /// By the key of an observed object: the properties whose links lead to something that was changed.
    private(set) var masks: [Int64: [UInt64]] = [:]

    init(_ reader: ChangeReader, _ classIndex: Int, _ paths: ObservedPaths) throws(StoreError) {
        self.reader = reader
        self.classIndex = classIndex
        schema = reader.to.schema
        maskWords = ClassChanges.maskWords(schema.classes[classIndex])
        if InjectedBug.active(.pathUnfollowed) { return }
        switch paths {
        case .everything(let depth): if paths.leadsAway(from: classIndex, of: schema) { try followAll(depth) }
        case .some(let path):
            for (step, next) in path.steps {
                let property: Int?
                if case .link(let column) = step { property = position(classIndex, column) } else { property = nil }
                for key in try owners(of: try touched(next, by: step), by: step, from: classIndex) {
                    mark(key, property)
                }
            }
            for column in path.mixed {
                let property = position(classIndex, column)
                for key in try mixedOwners(behind: column, of: classIndex) { mark(key, property) }
            }
        }
    }

    private mutating func mark(_ key: Int64, _ property: Int?) {
        var mask = masks[key] ?? Array(repeating: 0, count: maskWords)
        if let property { mask[property >> 6] |= 1 << UInt64(property & 63) }
        masks[key] = mask
    }

    private func position(_ classIndex: Int, _ column: UInt32) -> Int? {
        schema.classes[classIndex].columns.firstIndex { $0.id == column }
    }

    // MARK: Everything so many links away

    private struct Place: Hashable {
        let classIndex: Int
        let key: Int64
    }

    /// From what was changed outwards, one link at a time; each object is looked at once, at its least distance.
    private mutating func followAll(_ depth: Int) throws(StoreError) {
        let distances = schema.linkReach(from: classIndex).distances
        /// Whether an object of a class that is so far from a change can be near enough to an observed one.
        func isNear(_ index: Int, at distance: Int) -> Bool { Int(distances[index]) + distance <= depth }
        var seen: Set<Place> = [], near: [Place] = []
        for (id, changes) in reader.classes where isNear(Int(id), at: 0) && mayBeLinked(Int(id)) {
            for key in changes.modified {
                let place = Place(classIndex: Int(id), key: key)
                seen.insert(place)
                near.append(place)
            }
        }
        for distance in 0..<depth where !near.isEmpty {
            var next: [Place] = []
            while let place = near.popLast() {
                for link in schema.incoming[place.classIndex] {
                    let isInside = schema.classes[place.classIndex].isEmbedded
                    if !isNear(link.classIndex, at: distance + (isInside ? 0 : 1)) { continue }
                    for key in try owners(of: place.key, link) {
                        if link.classIndex == classIndex { mark(key, link.property) }
                        let owner = Place(classIndex: link.classIndex, key: key)
                        if !seen.insert(owner).inserted { continue }
                        // What is embedded is as far from the change as the object that it belongs to.
                        if isInside { near.append(owner) } else { next.append(owner) }
                    }
                }
                for origin in schema.mixedOrigins where isNear(origin.classIndex, at: distance + 1) {
                    for key in try mixedOwners(of: place, origin) {
                        if origin.classIndex == classIndex { mark(key, origin.property) }
                        let owner = Place(classIndex: origin.classIndex, key: key)
                        if seen.insert(owner).inserted { next.append(owner) }
                    }
                }
            }
            near = next
        }
        // An embedded one that was reached last: its owners are no farther.
        while let place = near.popLast() {
            guard schema.classes[place.classIndex].isEmbedded else { continue }
            for link in schema.incoming[place.classIndex] where isNear(link.classIndex, at: depth) {
                for key in try owners(of: place.key, link) {
                    if link.classIndex == classIndex { mark(key, link.property) }
                    let owner = Place(classIndex: link.classIndex, key: key)
                    if seen.insert(owner).inserted { near.append(owner) }
                }
            }
        }
    }

    private func mayBeLinked(_ index: Int) -> Bool { !schema.incoming[index].isEmpty || !schema.mixedOrigins.isEmpty }

    private func owners(of key: Int64, _ link: IncomingLink) throws(StoreError) -> [Int64] {
        var found: [Int64] = []
        try TreeAccess.version(reader.to).forEachOwner(of: key, by: link) { (owner) throws(StoreError) in
            found.append(owner)
            return true
        }
        return found
    }

    private func mixedOwners(of place: Place, _ origin: MixedOrigin) throws(StoreError) -> [Int64] {
        if schema.classes[place.classIndex].isEmbedded { return [] }
        let target = MixedTarget(classID: ClassID.of(place.classIndex), key: place.key)
        guard
            let inverse = try reader.to.trees.mixedInverse(
                schema.classes[origin.classIndex], origin.property)
        else { return [] }
        let found = try inverse.owners(of: target)
        return (0..<found.count).map { found.keys[$0] }
    }

    // MARK: Paths

    /// The objects at the end of a step of which something was written that a path from there tells of.
    private func touched(_ path: ObservedPath, by step: ObservedPath.Step) throws(StoreError) -> Set<Int64> {
        var found: Set<Int64> = []
        if let changes = reader.classes[UInt32(path.classIndex)], path.classIndex < schema.classes.count {
            let told = ToldProperties(path, reader)
            for (index, key) in changes.modified.enumerated() where told.isTold(key, changes.mask(index)) {
                found.insert(key)
            }
        }
        for (step, next) in path.steps {
            found.formUnion(try owners(of: try touched(next, by: step), by: step, from: path.classIndex))
        }
        for column in path.mixed { found.formUnion(try mixedOwners(behind: column, of: path.classIndex)) }
        return found
    }

    /// The objects of a class whose mixed values in a column have links to something that was written.
    private func mixedOwners(behind column: UInt32, of index: Int) throws(StoreError) -> Set<Int64> {
        guard let property = position(index, column),
            let number = schema.classes[index].mixedPosition(of: property)
        else { return [] }
        let origin = MixedOrigin(classIndex: index, property: property, position: number)
        var found: Set<Int64> = []
        for (id, changes) in reader.classes {
            for key in changes.modified {
                found.formUnion(try mixedOwners(of: Place(classIndex: Int(id), key: key), origin))
            }
        }
        return found
    }

    /// The objects before a step whose way leads to these.
    private func owners(
        of keys: Set<Int64>, by step: ObservedPath.Step, from origin: Int
    ) throws(StoreError) -> Set<Int64> {
        var found: Set<Int64> = []
        switch step {
        case .link(let column):
            guard let property = position(origin, column) else { return [] }
            let isCollection = schema.classes[origin].columns[property].kind.isCollection
            let link = IncomingLink(classIndex: origin, property: property, isCollection: isCollection)
            for key in keys { found.formUnion(try owners(of: key, link)) }
        case .inverse(let index, let column):
            // Also those that lead here no more, and those that have begun to.
            let changes = reader.classes[UInt32(index)]
            var before = Set(changes?.deleted ?? []), after = keys.union(changes?.inserted ?? [])
            if let changes, let property = position(index, column) {
                for (row, key) in changes.modified.enumerated() where changes.hasWritten([property], in: row) {
                    before.insert(key)
                    after.insert(key)
                }
            }
            try addTargets(of: before, index, column, in: reader.from, of: origin, to: &found)
            try addTargets(of: after, index, column, in: reader.to, of: origin, to: &found)
        }
        return found
    }

    private func addTargets(
        of keys: Set<Int64>, _ index: Int, _ column: UInt32, in snapshot: Snapshot, of target: Int,
        to found: inout Set<Int64>
    ) throws(StoreError) {
        guard index < snapshot.schema.classes.count, !keys.isEmpty else { return }
        let cls = snapshot.schema.classes[index], trees = TreeAccess.version(snapshot)
        guard let property = cls.columns.firstIndex(where: { $0.id == column }) else { return }
        let objects = try trees.objects(cls), isMixed = cls.mixedPosition(of: property) != nil
        func add(_ value: Value) throws(StoreError) -> Bool {
            if !isMixed {
                if !value.isNull { found.insert(value.low) }
                return true
            }
            // Among others to objects of this class.
            try MixedLinks.forEach(value) { (link) throws(StoreError) in
                let link = MixedTarget(link)
                if ClassID.index(link.classID) == target { found.insert(link.key) }
                return true
            }
            return true
        }
        for key in keys {
            guard let row = try objects.find(key) else { continue }
            if cls.columns[property].kind.isCollection {
                try trees.elements(row, cls, property, objects).forEach { (_, value) throws(StoreError) in
                    try add(value)
                }
            } else {
                _ = try add(try objects.plainValue(row, property))
            }
        }
    }
}

/// Which properties of the objects of one class count as modified, by the masks of what was written.
///
/// That of an embedded object is in a mask also where something inside was written; a path that goes on into it asks
/// what that was.
struct ToldProperties {
    private let isWhole: Bool
    private var mask: [UInt64]
    /// Of embedded objects that paths go into: told where they were put there, or taken away.
    private var placeMask: [UInt64]
    private let direct: ClassChanges?

    init(_ path: ObservedPath, _ reader: ChangeReader) {
        let schema = reader.to.schema, cls = schema.classes[path.classIndex]
        isWhole = path.isWhole
        mask = [UInt64](repeating: 0, count: ClassChanges.maskWords(cls))
        placeMask = mask
        var hasPlaces = false
        for (place, column) in cls.columns.enumerated() {
            if path.columns.contains(column.id) {
                mask[place >> 6] |= 1 << UInt64(place & 63)
            } else if path.steps.contains(where: { $0.step == .link(column.id) }) {
                if schema.classes[ClassID.index(column.target)].isEmbedded {
                    placeMask[place >> 6] |= 1 << UInt64(place & 63)
                    hasPlaces = true
                } else {
                    mask[place >> 6] |= 1 << UInt64(place & 63)
                }
            }
        }
        direct = hasPlaces ? reader.direct[UInt32(path.classIndex)] : nil
    }

    func isTold(_ key: Int64, _ written: ArraySlice<UInt64>) -> Bool {
        if isWhole || zip(written, mask).contains(where: { $0 & $1 != 0 }) { return true }
        guard let direct, let row = direct.rowOfModification(key) else { return false }
        return zip(direct.mask(row), placeMask).contains { $0 & $1 != 0 }
    }
}
