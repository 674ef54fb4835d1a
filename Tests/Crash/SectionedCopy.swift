import ObjStoreCore

/// What a reader has of results in sections, to which he does what each change set says, in the order that it
/// documents.
///
/// ```
///  objects that went or moved: taken out, from the last on ─► sections that went, which are empty by now
///                                                                                   │
///  objects that came or moved: put in, from the first on ◄─ sections that came ◄────┘
/// ```
struct SectionedCopy: CustomStringConvertible {
    typealias Section = (key: Int64, objects: [Int64])
    private typealias Place = (section: Int, index: Int)

    private(set) var sections: [Section] = []
    /// One section is observed: the reader does not know its number, which is that of its places.
    private let isOfOne: Bool

    /// Plain loops.
    ///
    /// - Parameters:
    ///   - one: the key of the one section that is observed; nil: all.
    ///   - key: of the section of an object.
    init(of objects: [Int64], _ order: Sections.Flags, one: Int64?, key: (Int64) -> Int64 = { $0 }) {
        isOfOne = one != nil
        for object in objects {
            let key = key(object)
            if let place = sections.firstIndex(where: { $0.key == key }) {
                sections[place].objects.append(object)
            } else {
                sections.append((key, [object]))
            }
        }
        if order.contains(.ascending) { sections.sort { $0.key < $1.key } }
        if order.contains(.descending) { sections.sort { $0.key > $1.key } }
        if let one { sections.removeAll { $0.key != one } }
    }

    var objects: [Int64] { sections.flatMap(\.objects) }
    var keys: [Int64] { sections.map(\.key) }
    var description: String { "[" + sections.map { "\($0.key): \($0.objects)" }.joined(separator: ", ") + "]" }

    func isSame(as other: SectionedCopy) -> Bool {
        keys == other.keys && sections.map(\.objects) == other.sections.map(\.objects)
    }

    /// - Parameter key: of a section, as the reader has it.
    /// Returns: what is wrong; nil: nothing.
    mutating func take(_ changes: ChangeSet, key: (Value) -> Int64) -> String? {
        guard let indices = changes.indices, let told = changes.sections else { return "it has none" }
        func places(_ list: KeyPath<ChangeSet.Indices, [UInt64]>) -> [Place] {
            zip(told.numbers[keyPath: list], indices[keyPath: list]).map { (Int($0), Int($1)) }
        }
        let gone = places(\.deleted), come = places(\.inserted), from = places(\.movedBefore), to = places(\.movedAfter)
        let modified = places(\.modifiedBefore)
        for (list, keys, what) in [
            (gone, changes.deleted, "deleted"), (modified, changes.modified, "modified before"),
            (from, changes.moved, "moved before"),
        ] {
            if let problem = named(list, keys, what) ?? ascending(list, what) { return problem }
        }
        for place in (gone + from).sorted(by: >) { sections[section(place)].objects.remove(at: place.index) }
        for (number, value) in zip(told.deleted, told.keys.deleted).reversed() {
            let section = isOfOne ? 0 : Int(number)
            guard section < sections.count, sections[section].objects.isEmpty, key(value) == sections[section].key
            else {
                return "deletion of \(number)"
            }
            sections.remove(at: section)
        }
        for (number, value) in zip(told.inserted, told.keys.inserted) {
            let section = isOfOne ? 0 : Int(number)
            guard section <= sections.count else { return "insertion of \(number)" }
            sections.insert((key(value), []), at: section)
        }
        let coming = zip(come, changes.inserted).map { ($0, $1) } + zip(to, changes.moved).map { ($0, $1) }
        for (place, object) in coming.sorted(by: { $0.0 < $1.0 }) {
            let section = section(place)
            guard section < sections.count, place.index <= sections[section].objects.count else {
                return "there is no place \(place)"
            }
            sections[section].objects.insert(object, at: place.index)
        }
        return named(come, changes.inserted, "inserted") ?? ascending(come, "inserted")
            ?? named(places(\.modifiedAfter), changes.modified, "modified after")
            ?? named(to, changes.moved, "moved after")
    }

    private func section(_ place: Place) -> Int { isOfOne ? 0 : place.section }

    private func object(_ place: Place) -> Int64 {
        let section = section(place)
        guard section < sections.count, place.index < sections[section].objects.count else { return -1 }
        return sections[section].objects[place.index]
    }

    private func named(_ places: [Place], _ keys: [Int64], _ what: String) -> String? {
        let found = places.map(object)
        return found == keys ? nil : "\(what): \(found), not \(keys)"
    }

    private func ascending(_ places: [Place], _ what: String) -> String? {
        let isAscending = zip(places, places.dropFirst()).allSatisfy { $0 < $1 }
        return isAscending ? nil : "\(what): \(places) do not ascend"
    }
}
