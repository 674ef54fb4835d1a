/// What leads from one state of a list, set or map to another, by positions; see `ListDifference`.
///
/// What has the same place among those that stayed is replaced there: a modification. Values have no identity: one that
/// goes and comes again elsewhere has moved; of sets and maps, whose order says nothing, none has.
struct CollectionDifference {
    typealias Pair = ListDifference.Pair
    typealias Entry = (key: Value, value: Value)

    /// Positions before, ascending.
    private(set) var deleted: [Int] = []
    /// Positions after, ascending.
    private(set) var inserted: [Int] = []
    /// Ascending by both.
    private(set) var modified: [Pair] = []
    /// Ascending by the position before.
    private(set) var moved: [Pair] = []

    var isEmpty: Bool { deleted.isEmpty && inserted.isEmpty && modified.isEmpty && moved.isEmpty }

    private init() {}

    /// Errors: `.outOfMemory`.
    init(deletingAllOf count: Int) throws(StoreError) {
        try Memory.check(for: count, each: 4 * MemoryLayout<Int>.stride)
        deleted = Array(0..<count)
    }

    /// At places, ascending, which are the same before and after.
    init(modifiedAt places: [Int]) { modified = places.map { ($0, $0) } }

    /// Of lists.
    ///
    /// - Parameter hasObjects: they are links: another one in the place of one is another object.
    init(_ list: ListDifference, hasObjects: Bool) {
        (deleted, inserted, modified, moved) = (list.deleted, list.inserted, list.modified, list.moved)
        if hasObjects || deleted.isEmpty || inserted.isEmpty { return }
        let gaps = CollectionDifference.gaps(
            deleted, moved.map(\.before), inserted, moved.map(\.after).sorted())
        var left = 0, right = 0, gone: [Int] = [], new: [Int] = []
        while left < deleted.count, right < inserted.count {
            if gaps.before[left] == gaps.after[right] {
                modified.append((deleted[left], inserted[right]))
                left += 1
                right += 1
            } else if gaps.before[left] < gaps.after[right] {
                gone.append(deleted[left])
                left += 1
            } else {
                new.append(inserted[right])
                right += 1
            }
        }
        deleted = gone + deleted[left...]
        inserted = new + inserted[right...]
        modified.sort { $0.before < $1.before }
    }

    /// Behind how many of those that stayed each one was, or is. All ascend.
    private static func gaps(
        _ deleted: [Int], _ movedBefore: [Int], _ inserted: [Int], _ movedAfter: [Int]
    ) -> (before: [Int], after: [Int]) {
        func gaps(_ places: [Int], _ others: [Int]) -> [Int] {
            var other = 0
            return places.enumerated().map { number, place in
                while other < others.count, others[other] < place { other += 1 }
                return place - number - other
            }
        }
        return (gaps(deleted, movedBefore), gaps(inserted, movedAfter))
    }

    /// Of sets and maps, whose entries ascend.
    ///
    /// - Parameters:
    ///   - changed: objects that were modified, of entries that link to them.
    ///   - isWritten: what is in both was written, also with the value that it had.
    init(
        _ before: [Entry], _ after: [Entry], _ kind: ValueKind, changed: Set<Int64>, isWritten: Bool = false
    ) {
        let isMap = kind == .map
        var left = 0, right = 0
        while left < before.count || right < after.count {
            var order = left == before.count ? 1 : -1
            if left < before.count, right < after.count {
                order = CollectionOrder.compare(
                    isMap ? before[left].key : before[left].value, isMap ? after[right].key : after[right].value)
            }
            if order == 0 {
                let isSame = before[left].value.isSame(as: after[right].value)
                if isMap ? !isSame || isWritten || isChanged(after[right], changed) : isChanged(after[right], changed) {
                    modified.append((left, right))
                } else if !isMap, !isSame {
                    deleted.append(left)
                    inserted.append(right)
                }
            } else if order < 0 {
                deleted.append(left)
            } else {
                inserted.append(right)
            }
            if order <= 0 { left += 1 }
            if order >= 0 { right += 1 }
        }
    }

    private func isChanged(_ entry: Entry, _ changed: Set<Int64>) -> Bool {
        !changed.isEmpty && entry.value.kind == .link && changed.contains(entry.value.low)
    }

    /// By the operations themselves.
    init(
        _ spans: ElementSpans, _ before: CollectionElements, _ after: CollectionElements, hasObjects: Bool
    ) throws(StoreError) {
        var (gone, new, written) = try spans.outcome()
        if before.kind != .list {
            let old = try before.entries(at: gone), now = try after.entries(at: new)
            self.init(old, now, before.kind, changed: [], isWritten: true)
            deleted = deleted.map { gone[$0] }
            inserted = inserted.map { new[$0] }
            modified = modified.map { (gone[$0.before], new[$0.after]) }
            return
        }
        self.init()
        if hasObjects, !written.isEmpty {
            let old = try before.entries(at: written.map(\.before)), now = try after.entries(at: written.map(\.after))
            let others = written.indices.filter { old[$0].value.low != now[$0].value.low }.map { written[$0] }
            gone = (gone + others.map(\.before)).sorted()
            new = (new + others.map(\.after)).sorted()
            written = []
        }
        modified = written
        (deleted, inserted) = (gone, new)
        if !gone.isEmpty && !new.isEmpty { try findMoves(before, after) }
    }

    /// What went and came again elsewhere has moved; at the same place it is as it was.
    private mutating func findMoves(
        _ before: CollectionElements, _ after: CollectionElements
    ) throws(StoreError) {
        let old = try before.entries(at: deleted), now = try after.entries(at: inserted)
        // Where a value is first; its other occurrences hang on that.
        var places: [ElementValue: Int] = [:], next = [Int](repeating: -1, count: old.count)
        for number in old.indices.reversed() {
            next[number] = places.updateValue(number, forKey: ElementValue(old[number].value)) ?? -1
        }
        var pairs: [Pair] = []
        for number in now.indices {
            guard let first = places[ElementValue(now[number].value)], first >= 0 else { continue }
            places[ElementValue(now[number].value)] = next[first]
            pairs.append((first, number))
        }
        if pairs.isEmpty { return }
        let gaps = CollectionDifference.gaps(deleted, [], inserted, [])
        // In the same gap, in the same order: there nothing has happened.
        let still = pairs.filter { gaps.before[$0.before] == gaps.after[$0.after] }
        let ascending = ListDifference.longestAscending(still.map(\.before)).map { still[$0].before }
        let isStill = Set(ascending), paired = Set(pairs.map(\.before)), arrived = Set(pairs.map(\.after))
        moved = pairs.filter { !isStill.contains($0.before) }.map { (deleted[$0.before], inserted[$0.after]) }
        moved.sort { $0.before < $1.before }
        deleted = deleted.indices.filter { !paired.contains($0) }.map { deleted[$0] }
        inserted = inserted.indices.filter { !arrived.contains($0) }.map { inserted[$0] }
    }

    var indices: ChangeSet.Indices {
        var indices = ChangeSet.Indices()
        indices.deleted = deleted.map { UInt64($0) }
        indices.inserted = inserted.map { UInt64($0) }
        indices.modifiedBefore = modified.map { UInt64($0.before) }
        indices.modifiedAfter = modified.map {
            UInt64(InjectedBug.active(.elementMisplaced) ? $0.before : $0.after)
        }
        indices.movedBefore = moved.map { UInt64($0.before) }
        indices.movedAfter = moved.map { UInt64($0.after) }
        return indices
    }
}

/// An element as a key of tables: equal are those that are the same, bit by bit.
struct ElementValue: Hashable {
    let value: Value

    init(_ value: Value) { self.value = value }

    static func == (a: ElementValue, b: ElementValue) -> Bool { a.value.isSame(as: b.value) }

    func hash(into hasher: inout Hasher) {
        hasher.combine(value.kind)
        if value.kind.hasOffsets {
            hasher.combine(bytes: UnsafeRawBufferPointer(start: value.pointer, count: value.count))
        } else {
            hasher.combine(value.low)
        }
    }
}

extension CollectionElements {
    /// The entries at some positions, which ascend. They hold as long as the elements.
    func entries(at places: [Int]) throws(StoreError) -> [CollectionDifference.Entry] {
        try Memory.check(for: places.count, each: MemoryLayout<CollectionDifference.Entry>.stride)
        var entries: [CollectionDifference.Entry] = []
        entries.reserveCapacity(places.count)
        // A search costs as much as walking over some.
        if places.count < 8 || places.count < (places[places.count - 1] - places[0]) / 8 {
            for place in places { entries.append(try element(at: place)) }
            return entries
        }
        var index = places[0]
        try forEach(from: index) { key, value in
            if index == places[entries.count] { entries.append((key, value)) }
            index += 1
            return entries.count < places.count
        }
        guard entries.count == places.count else { throw CollectionReader.damaged("elements of \(owner) are missing") }
        return entries
    }

    func allEntries() throws(StoreError) -> [CollectionDifference.Entry] { try entries(at: Array(0..<(try count()))) }
}
