/// What a change set says of sections: which came and went, and in which ones the objects of its lists are.
package final class ChangedSections: Sendable {
    /// Numbers before, ascending: of sections that have no objects any more, and of those that stand elsewhere among
    /// the others.
    package let deleted: [UInt64]
    /// Numbers after, ascending: the same of those that are there now.
    package let inserted: [UInt64]
    /// Of these sections.
    package let keys: ChangedKeys
    /// The sections of the objects: in the places of `ChangeSet.indices`.
    package let numbers: ChangeSet.Indices

    init(
        deleted: [UInt64] = [], inserted: [UInt64] = [], keys: ChangedKeys = ChangedKeys(),
        numbers: ChangeSet.Indices = ChangeSet.Indices()
    ) {
        (self.deleted, self.inserted, self.keys, self.numbers) = (deleted, inserted, keys, numbers)
    }

    /// Numbers before and after of the sections that stand elsewhere among the others: they are in both lists, with
    /// equal keys. O(n log n) of those in the lists.
    package func elsewhere() throws(StoreError) -> [(before: Int, after: Int)] {
        if deleted.isEmpty || inserted.isEmpty { return [] }
        func byKey(_ keys: [Value]) throws(StoreError) -> [Int] {
            var failure: StoreError?
            let places = keys.indices.sorted { a, b in
                do throws(StoreError) { return try SortColumn.order(keys[a], keys[b]) < 0 } catch {
                    failure = error
                    return false
                }
            }
            if let failure { throw failure }
            return places
        }
        let coming = try byKey(keys.inserted)
        var found: [(before: Int, after: Int)] = [], next = 0
        for place in try byKey(keys.deleted) {
            let key = keys.deleted[place]
            while next < coming.count, try SortColumn.order(keys.inserted[coming[next]], key) < 0 { next += 1 }
            guard next < coming.count else { break }
            if try SortColumn.order(keys.inserted[coming[next]], key) == 0 {
                found.append((Int(deleted[place]), Int(inserted[coming[next]])))
            }
        }
        return found
    }
}

/// What happened to objects in sections, with their places before and after.
///
/// ```
///  before   F: Fido Flix    R: Rex           deleted     Flix (0, 1)
///  after    F: Fido         W: Rex Wolfie    moved       Rex (1, 0) ─► (1, 0)      inserted    Wolfie (1, 1)
///                                            sections    R deleted (1), W inserted (1)
/// ```
/// An object moves where it is in another section, or in one that stands elsewhere among the others; else as in a list,
/// among those that stayed in its section.
struct SectionedChanges {
    typealias Place = (section: Int, index: Int)
    typealias Pair = (key: Int64, before: Place, after: Place)
    /// Of the one section that is observed; nil: it is not there.
    typealias Numbers = (before: Int?, after: Int?)

    var deleted: [(key: Int64, at: Place)] = []
    var inserted: [(key: Int64, at: Place)] = []
    var modified: [Pair] = []
    var moved: [Pair] = []
    var deletedSections: [Int] = []
    var insertedSections: [Int] = []

    /// - Parameters:
    ///   - only: what is told is about one section: what moves into it comes, and what moves out of it goes.
    ///   - addMask: adds which properties were written in an object.
    ///   - keyBefore: of a section by its number.
    func told(
        maskWords: Int, only: Numbers?, addMask: (Int64, inout [UInt64]) -> Void, keyBefore: (Int) -> Value,
        keyAfter: (Int) -> Value
    ) throws(StoreError) -> ToldDifference {
        var all = only.map { about($0) } ?? self
        all.deleted.sort { $0.at < $1.at }
        all.inserted.sort { $0.at < $1.at }
        all.modified.sort { $0.before < $1.before }
        all.moved.sort { $0.before < $1.before }
        var changes = ClassChanges(maskWords: maskWords), indices = ChangeSet.Indices(), numbers = ChangeSet.Indices()
        func add(_ place: Place, _ list: WritableKeyPath<ChangeSet.Indices, [UInt64]>) {
            indices[keyPath: list].append(UInt64(place.index))
            numbers[keyPath: list].append(UInt64(place.section))
        }
        for one in all.deleted {
            changes.deleted.append(one.key)
            add(one.at, \.deleted)
        }
        for one in all.inserted {
            changes.inserted.append(one.key)
            add(one.at, \.inserted)
        }
        for one in all.modified {
            changes.modified.append(one.key)
            add(one.before, \.modifiedBefore)
            add(one.after, \.modifiedAfter)
            addMask(one.key, &changes.masks)
        }
        for one in all.moved {
            changes.moved.append(one.key)
            add(one.before, \.movedBefore)
            add(one.after, \.movedAfter)
            addMask(one.key, &changes.masks)
        }
        let deleted = all.deletedSections.sorted(), inserted = all.insertedSections.sorted()
        let sections = ChangedSections(
            deleted: deleted.map { UInt64($0) }, inserted: inserted.map { UInt64($0) },
            keys: try ChangedKeys(deleted: deleted.map(keyBefore), inserted: inserted.map(keyAfter)), numbers: numbers)
        return ToldDifference(changes: changes, indices: indices, sections: sections)
    }

    private func about(_ one: Numbers) -> SectionedChanges {
        var own = SectionedChanges()
        func was(_ place: Place) -> Bool { place.section == one.before }
        func `is`(_ place: Place) -> Bool { place.section == one.after }
        own.deleted = deleted.filter { was($0.at) }
        own.inserted = inserted.filter { `is`($0.at) }
        own.modified = modified.filter { was($0.before) }
        for pair in moved {
            switch (was(pair.before), `is`(pair.after)) {
            case (true, true): own.moved.append(pair)
            case (true, false): own.deleted.append((pair.key, pair.before))
            case (false, true): own.inserted.append((pair.key, pair.after))
            case (false, false): break
            }
        }
        if let before = one.before, one.after == nil { own.deletedSections = [before] }
        if let after = one.after, one.before == nil { own.insertedSections = [after] }
        return own
    }

    /// Which sections stand elsewhere among those that stayed: as few as possible.
    ///
    /// - Parameter numbers: of those that stayed, in their order before: the number after.
    /// Returns: the places in `numbers`.
    static func elsewhere(_ numbers: [Int]) -> [Int] {
        let inPlace = Set(ListDifference.longestAscending(numbers))
        return numbers.indices.filter { !inPlace.contains($0) }
    }
}
