/// Sections that are followed: their objects in one order, that of the keys of the sections and then their own, and how
/// many there are in each.
///
/// ```
///  sections in the order of their keys     F 2      R 2      W 1
///  order                                   a b      c d      e          OrderedKeys, followed by OrderStep
///  as they are shown                       2nd      1st      3rd        by their first objects, or as here
/// ```
/// 8 bytes for each object, some hundred for each section. A step costs what one of the order costs, and looks at each
/// section.
struct FollowedSections {
    private struct Section {
        /// Others never have the same, whatever comes and goes.
        let id: Int
        let key: OwnedValue
        var count: Int
    }

    private var order: OrderedKeys
    /// In the order of their keys.
    private var sections: [Section] = []
    private var lastID = 0
    /// By their ids, as they are shown.
    private var shown: [Int]
    private let shownBy: SectionList.Order

    init(_ list: SectionList, _ order: SectionList.Order) throws(StoreError) {
        let objects = try KeyBuffer(expecting: list.objectCount)
        shown = [Int](repeating: 0, count: list.count)
        shownBy = order
        for section in list.byKey {
            let places = list.places(of: section)
            for place in places { try objects.append(list.objectKey(at: place)) }
            lastID += 1
            sections.append(
                Section(id: lastID, key: try OwnedValue(copying: list.keys[section]), count: places.count))
            shown[section] = lastID
        }
        self.order = try OrderedKeys(objects)
    }

    var count: Int { order.count }

    /// As they would be found.
    func list() throws(StoreError) -> SectionList {
        let layout = Layout(sections, shown)
        return try SectionList(
            of: try layout.byNumber.map { (place) throws(StoreError) in
                let objects = try order.list(layout.places(of: place))
                return (sections[place].key.value, (0..<objects.count).map { objects.keys[$0] })
            })
    }

    /// Where sections are in the order, and which numbers they have.
    private struct Layout {
        /// By the place of a section in the order of keys, and the end.
        private var starts = [0]
        private let ids: [Int]
        /// By the place.
        private var numbers: [Int]
        /// By the number.
        let byNumber: [Int]
        private let placesOfIDs: [Int: Int]

        init(_ sections: [Section], _ shown: [Int]) {
            ids = sections.map(\.id)
            for section in sections { starts.append(starts[starts.count - 1] + section.count) }
            let places = Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1, $0) })
            (placesOfIDs, byNumber) = (places, shown.map { places[$0].unsafelyUnwrapped })
            numbers = [Int](repeating: 0, count: sections.count)
            for (number, place) in byNumber.enumerated() { numbers[place] = number }
        }

        func places(of section: Int) -> Range<Int> { starts[section]..<starts[section + 1] }
        func place(ofID id: Int) -> Int? { placesOfIDs[id] }
        func id(at position: UInt64) -> Int { ids[section(at: Int(position))] }
        func id(ofNumber number: Int) -> Int { ids[byNumber[number]] }
        func number(at place: Int) -> Int { numbers[place] }
        func number(ofID id: Int) -> Int? { placesOfIDs[id].map { numbers[$0] } }

        /// The section, by its place, that an object is in.
        func section(at position: Int) -> Int {
            var low = 0, high = ids.count
            while high - low > 1 {
                let middle = (low + high) / 2
                if starts[middle] <= position { low = middle } else { high = middle }
            }
            return low
        }

        func place(_ position: UInt64) -> SectionedChanges.Place {
            let section = section(at: Int(position))
            return (numbers[section], Int(position) - starts[section])
        }
    }

    // MARK: Steps

    /// - Parameter keys: of the order.
    mutating func advance(
        _ scope: ObserverScope, _ sectionScope: SectionScope, _ keys: [SortKey], from before: Snapshot,
        to after: Snapshot, _ few: ObservedAnswer.FewChanges
    ) throws(StoreError) -> ToldDifference {
        let changed = few.changed
        let old = Layout(sections, shown), oldSections = sections
        let step = try OrderStep(scope.query, keys, take(), from: before, to: after, isSectioned: true)
        let (told, indices, order, touched) = try (consume step).told(changed, few.isTold, few.resorted)
        self.order = order
        let side = try OrderStep.Side(scope.query, keys, after)
        try count(told, indices, old, side)
        try show(old, gone: indices.deleted + indices.movedBefore, touched, side)
        let new = Layout(sections, shown)

        var changes = SectionedChanges()
        for (key, position) in zip(told.deleted, indices.deleted) { changes.deleted.append((key, old.place(position))) }
        for (key, position) in zip(told.inserted, indices.inserted) {
            changes.inserted.append((key, new.place(position)))
        }
        for (row, key) in told.modified.enumerated() {
            changes.modified.append(
                (key, old.place(indices.modifiedBefore[row]), new.place(indices.modifiedAfter[row])))
        }
        for (row, key) in told.moved.enumerated() {
            changes.moved.append((key, old.place(indices.movedBefore[row]), new.place(indices.movedAfter[row])))
        }
        changes.deletedSections = old.byNumber.indices.filter { new.number(ofID: old.id(ofNumber: $0)) == nil }
        changes.insertedSections = shown.indices.filter { old.number(ofID: shown[$0]) == nil }
        if sectionScope.only == nil { try moveSections(&changes, old, new) }
        let only = try sectionScope.only.map { (one) throws(StoreError) -> SectionedChanges.Numbers in
            (
                try FollowedSections.find(one.value, in: oldSections).map(old.number(at:)),
                try FollowedSections.find(one.value, in: self.sections).map(new.number(at:))
            )
        }
        let newSections = sections
        let none = [UInt64](repeating: 0, count: changed.maskWords)
        var difference = try changes.told(
            maskWords: told.maskWords, only: only,
            addMask: { key, masks in masks += changed.rowOfModification(key).map { changed.mask($0) } ?? none[...] },
            keyBefore: { oldSections[old.byNumber[$0]].key.value },
            keyAfter: { newSections[new.byNumber[$0]].key.value })
        difference.changes.isFromOtherProcess = told.isFromOtherProcess
        return difference
    }

    /// One owner: changed in place.
    private mutating func take() throws(StoreError) -> OrderedKeys {
        let taken = order
        order = try OrderedKeys(KeyBuffer(capacity: 1))
        return taken
    }

    /// Where a key is, or belongs.
    private static func place(of key: Value, in sections: [Section]) throws(StoreError) -> Int {
        var low = 0, high = sections.count
        while low < high {
            let middle = (low + high) / 2
            if try SortColumn.order(sections[middle].key.value, key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private static func find(_ key: Value, in sections: [Section]) throws(StoreError) -> Int? {
        let place = try place(of: key, in: sections)
        guard place < sections.count, try SortColumn.order(sections[place].key.value, key) == 0 else { return nil }
        return place
    }

    /// How many there are in each section now; those that are empty go.
    private mutating func count(
        _ told: ClassChanges, _ indices: ChangeSet.Indices, _ old: Layout, _ side: OrderStep.Side
    ) throws(StoreError) {
        for position in indices.deleted + indices.movedBefore { sections[old.section(at: Int(position))].count -= 1 }
        for key in told.inserted + told.moved {
            let value = try side.value(0, of: key), place = try FollowedSections.place(of: value, in: sections)
            if place < sections.count, try SortColumn.order(sections[place].key.value, value) == 0 {
                sections[place].count += 1
            } else {
                lastID += 1
                sections.insert(Section(id: lastID, key: try OwnedValue(copying: value), count: 1), at: place)
            }
        }
        sections.removeAll { $0.count == 0 }
    }

    /// How they are shown now. In the order in which they appear those are looked for anew whose first objects may be
    /// others, or have other values.
    private mutating func show(
        _ old: Layout, gone: [UInt64], _ touched: [Int], _ side: OrderStep.Side
    ) throws(StoreError) {
        switch shownBy {
        case .ascending: shown = sections.map(\.id)
        case .descending: shown = sections.reversed().map(\.id)
        case .ofAppearance:
            let layout = Layout(sections, sections.map(\.id))
            var others = Set(gone.map(old.id(at:)))
            for position in touched { others.insert(layout.id(at: UInt64(position))) }
            shown.removeAll { others.contains($0) || layout.place(ofID: $0) == nil }
            func first(_ id: Int) -> Int64 {
                order.key(at: layout.places(of: layout.place(ofID: id).unsafelyUnwrapped).lowerBound)
            }
            for id in others.sorted() where layout.place(ofID: id) != nil {
                let key = first(id)
                var low = 0, high = shown.count
                while low < high {
                    let middle = (low + high) / 2
                    if try side.isLess(first(shown[middle]), key, from: 1) { low = middle + 1 } else { high = middle }
                }
                shown.insert(id, at: low)
            }
        }
    }

    /// Sections that stand elsewhere among the others: they are told as deleted and inserted, and what stayed in them
    /// as moved.
    private func moveSections(_ changes: inout SectionedChanges, _ old: Layout, _ new: Layout) throws(StoreError) {
        if shownBy != .ofAppearance { return }
        let common = old.byNumber.indices.map(old.id(ofNumber:)).filter { new.number(ofID: $0) != nil }
        let elsewhere = SectionedChanges.elsewhere(common.map { new.number(ofID: $0).unsafelyUnwrapped })
        for id in elsewhere.map({ common[$0] }) {
            let before = old.number(ofID: id).unsafelyUnwrapped, after = new.number(ofID: id).unsafelyUnwrapped
            changes.deletedSections.append(before)
            changes.insertedSections.append(after)
            let gone = Set(
                changes.deleted.filter { $0.at.section == before }.map(\.at.index)
                    + changes.moved.filter { $0.before.section == before }.map(\.before.index))
            let come = Set(
                changes.inserted.filter { $0.at.section == after }.map(\.at.index)
                    + changes.moved.filter { $0.after.section == after }.map(\.after.index))
            changes.modified.removeAll { $0.before.section == before }
            let objects = try order.list(new.places(of: new.byNumber[after]))
            let indices = (0..<objects.count).filter { !come.contains($0) }
            let count = old.places(of: old.byNumber[before]).count
            for (index, place) in zip((0..<count).lazy.filter { !gone.contains($0) }, indices) {
                changes.moved.append((objects.keys[place], (before, index), (after, place)))
            }
        }
    }
}
