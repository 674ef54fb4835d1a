/// What leads from the sections of one version to those of another: of sections that have the same key and stand in the
/// same order, what leads from one list to the other; what was in the others has moved, or is gone.
///
/// O(n), as `ListDifference`.
struct SectionsDifference {
    private(set) var changes = SectionedChanges()

    /// - Parameters:
    ///   - changed: the objects that were modified.
    ///   - told: those of these modifications that count; nil: all.
    ///   - isOfOne: one section is observed, and where it stands among the others does not matter.
    init(
        _ before: SectionList, _ after: SectionList, changed: Set<Int64>, told: Set<Int64>?, isOfOne: Bool
    ) throws(StoreError) {
        var stays = try before.partners(in: after)
        if !isOfOne {
            let common = stays.indices.filter { stays[$0] != nil }
            for place in SectionedChanges.elsewhere(common.map { stays[$0].unsafelyUnwrapped }) {
                stays[common[place]] = nil
            }
        }
        var isThere = [Bool](repeating: false, count: after.count)
        for case .some(let section) in stays { isThere[section] = true }
        changes.deletedSections = stays.indices.filter { stays[$0] == nil }
        changes.insertedSections = isThere.indices.filter { !isThere[$0] }
        for (section, partner) in stays.enumerated() {
            guard let partner else {
                for (index, place) in before.places(of: section).enumerated() {
                    changes.deleted.append((before.objectKey(at: place), (section, index)))
                }
                continue
            }
            try compare(before, section, after, partner, changed, told)
        }
        for section in changes.insertedSections {
            for (index, place) in after.places(of: section).enumerated() {
                changes.inserted.append((after.objectKey(at: place), (section, index)))
            }
        }
        join()
    }

    private mutating func compare(
        _ before: SectionList, _ section: Int, _ after: SectionList, _ partner: Int, _ changed: Set<Int64>,
        _ told: Set<Int64>?
    ) throws(StoreError) {
        let old = before.places(of: section), new = after.places(of: partner)
        var isSame = old.count == new.count, place = 0
        while isSame && place < old.count {
            isSame = before.objectKey(at: old.lowerBound + place) == after.objectKey(at: new.lowerBound + place)
            place += 1
        }
        if isSame {
            if changed.isEmpty { return }
            for index in 0..<new.count {
                let key = after.objectKey(at: new.lowerBound + index)
                guard changed.contains(key), told?.contains(key) ?? true else { continue }
                changes.modified.append((key, (section, index), (partner, index)))
            }
            return
        }
        let left = try before.objects(of: section), right = try after.objects(of: partner)
        var difference = try ListDifference(left, right, changed: changed)
        if let told { difference.keepModified(told) }
        changes.deleted += difference.deleted.map { (left.keys[$0], (section, $0)) }
        changes.inserted += difference.inserted.map { (right.keys[$0], (partner, $0)) }
        changes.modified += difference.modified.map {
            (left.keys[$0.before], (section, $0.before), (partner, $0.after))
        }
        changes.moved += difference.moved.map { (left.keys[$0.before], (section, $0.before), (partner, $0.after)) }
    }

    /// What went in one section and came in another has moved: the first one to the first place.
    private mutating func join() {
        if changes.deleted.isEmpty || changes.inserted.isEmpty { return }
        var coming: [Int64: [Int]] = [:]
        changes.inserted.sort { $0.at < $1.at }
        changes.deleted.sort { $0.at < $1.at }
        for place in changes.inserted.indices.reversed() {
            coming[changes.inserted[place].key, default: []].append(place)
        }
        var isMoved = [Bool](repeating: false, count: changes.inserted.count)
        changes.deleted.removeAll { gone in
            guard let place = coming[gone.key]?.popLast() else { return false }
            isMoved[place] = true
            changes.moved.append((gone.key, gone.at, changes.inserted[place].at))
            return true
        }
        changes.inserted = changes.inserted.indices.filter { !isMoved[$0] }.map { changes.inserted[$0] }
    }
}

extension SectionList {
    func objects(of section: Int) throws(StoreError) -> KeyBuffer {
        let places = places(of: section), keys = try KeyBuffer(expecting: places.count)
        for place in places { try keys.append(objectKey(at: place)) }
        return keys
    }

    /// Of each section the one of another list that has the same key.
    func partners(in other: SectionList) throws(StoreError) -> [Int?] {
        var partners = [Int?](repeating: nil, count: count), place = 0
        for section in byKey {
            while place < other.count, try SortColumn.order(other.keys[other.byKey[place]], keys[section]) < 0 {
                place += 1
            }
            guard place < other.count else { break }
            if try SortColumn.order(other.keys[other.byKey[place]], keys[section]) == 0 {
                partners[section] = other.byKey[place]
            }
        }
        return partners
    }

    /// A section that he does not have is put behind the nearest one before it that he has, and an object in a section
    /// likewise. One that becomes empty goes.
    func shown(
        to next: SectionList, by shown: SectionList, _: ShownOrder?
    ) throws(StoreError) -> SectionList {
        if shown === self { return next }
        if try shown.isSame(as: self) { return next }
        let difference = try SectionsDifference(self, next, changed: [], told: nil, isOfOne: false).changes
        var reader: [(key: Value, objects: [Int64])] = []
        for section in 0..<shown.count {
            reader.append((shown.keys[section], shown.places(of: section).map { shown.objectKey(at: $0) }))
        }
        func place(of key: Value) throws(StoreError) -> Int? {
            for (place, section) in reader.enumerated() {
                if try SortColumn.order(section.key, key) == 0 { return place }
            }
            return nil
        }
        for (key, at) in difference.deleted + difference.moved.map({ ($0.key, $0.before) }) {
            guard let section = try place(of: keys[at.section]),
                let index = reader[section].objects.firstIndex(of: key)
            else { continue }
            reader[section].objects.remove(at: index)
        }
        for section in difference.insertedSections {
            // One that stands elsewhere takes along what he has in it besides.
            let known = try place(of: next.keys[section]), objects = known.map { reader.remove(at: $0).objects } ?? []
            var behind = section - 1, at: Int?
            while behind >= 0, at == nil {
                at = try place(of: next.keys[behind])
                behind -= 1
            }
            reader.insert((next.keys[section], objects), at: at.map { $0 + 1 } ?? 0)
        }
        let coming = difference.inserted + difference.moved.map { ($0.key, $0.after) }
        for (key, at) in coming.sorted(by: { $0.at < $1.at }) {
            guard let section = try place(of: next.keys[at.section]) else { continue }
            let before = next.places(of: at.section).prefix(at.index).reversed().lazy.map { next.objectKey(at: $0) }
            let behind = before.compactMap { reader[section].objects.lastIndex(of: $0) }.first
            reader[section].objects.insert(key, at: behind.map { $0 + 1 } ?? 0)
        }
        return try SectionList(of: reader.filter { !$0.objects.isEmpty })
    }
}
