/// Reports to owners what happened inside of their embedded objects: a change there is a modification of the owner, in
/// the property that holds it, up to the object that is embedded in none.
///
/// ```
/// Person#7 ──address──► Address#3 ──rooms──► Room#9       Room#9.name was written
///   modified: address      modified: rooms      modified: name
/// ```
/// What came and went needs no such climb: its parent's property was written then.
struct EmbeddedChanges {
    private let snapshot: Snapshot

    /// - Parameter snapshot: the version after the changes.
    init(in snapshot: Snapshot) { self.snapshot = snapshot }

    /// These classes, and those that their objects have inside.
    static func classes(inside classes: Set<UInt32>, of schema: Schema) -> Set<UInt32> {
        var all = classes, next = Array(classes)
        while let id = next.popLast() {
            guard Int(id) < schema.classes.count else { continue }
            for link in schema.owning[Int(id)] where link.isEmbedding {
                if all.insert(UInt32(link.target)).inserted { next.append(UInt32(link.target)) }
            }
        }
        return all
    }

    /// Marks owners as modified, if their class is among the requested ones. O(log n) for each object that changed and
    /// each object around it.
    ///
    /// - Parameter classes: by class id; has what happened to the objects themselves.
    func climb(_ classes: inout [UInt32: ClassChanges], isWanted: (UInt32) -> Bool) throws(StoreError) {
        let schema = snapshot.schema
        var seen: Set<Place> = [], next: [Place] = []
        var touched: [Property: [Int64]] = [:]
        /// Whether some of it comes from another process, by the class whose objects were marked.
        var fromOthers: Set<Int> = []
        for (id, changes) in classes where schema.classes[Int(id)].isEmbedded {
            for key in changes.modified {
                let place = Place(classIndex: Int(id), key: key, isFromOtherProcess: changes.isFromOtherProcess)
                seen.insert(place)
                next.append(place)
            }
        }
        while let place = next.popLast() {
            guard let (property, key) = try owner(of: place) else { continue }
            if isWanted(UInt32(property.classIndex)) {
                touched[property, default: []].append(key)
                if place.isFromOtherProcess { fromOthers.insert(property.classIndex) }
            }
            let around = Place(classIndex: property.classIndex, key: key, isFromOtherProcess: place.isFromOtherProcess)
            if schema.classes[property.classIndex].isEmbedded, seen.insert(around).inserted { next.append(around) }
        }
        for (property, keys) in touched {
            let id = UInt32(property.classIndex)
            var changes =
                classes[id] ?? ClassChanges(maskWords: ClassChanges.maskWords(schema.classes[property.classIndex]))
            changes.addModified(Set(keys).sorted(), property: property.position)
            if fromOthers.contains(property.classIndex) { changes.isFromOtherProcess = true }
            classes[id] = changes
        }
    }

    private struct Place: Hashable {
        let classIndex: Int
        let key: Int64
        let isFromOtherProcess: Bool
    }

    private struct Property: Hashable {
        let classIndex: Int
        let position: Int
    }

    /// Nil: it lies in no property, as while it is being made.
    private func owner(of place: Place) throws(StoreError) -> (Property, key: Int64)? {
        for link in snapshot.schema.incoming[place.classIndex] {
            var owner: Int64?
            try TreeAccess.version(snapshot).forEachOwner(of: place.key, by: link) { (key) throws(StoreError) in
                owner = key
                return false
            }
            if let owner { return (Property(classIndex: link.classIndex, position: link.property), owner) }
        }
        return nil
    }
}
