/// The answer of a query of plain values, followed: which of the elements are in it, and in which order.
///
/// ```
///  elements   7 1 9 4 9 …     flags   1 0 1 1 1 …      @self > 3: 9 came at place 2, behind one that is set
///  sorted     4 7 9 9 …       by the values, which are kept; of a map then by the key
/// ```
/// A step looks at elements that came and went, and costs what these are, and O(limit) where there is one. A byte for
/// each element, 64 bytes for each one in an order.
struct FollowedValues {
    /// Nil: all are set.
    private var flags: FlagList?
    private var order: SortedElements?
    private var count: Int
    /// What is shown, where that is a part; what it is in its collection is not known of it.
    private var part: ObservedRows?

    typealias Entry = CollectionDifference.Entry

    /// More elements that come and go are not followed one by one.
    private static let mostSpliced = 1024

    /// Nil: it has elements that cannot be followed. Costs what asking does.
    init?(_ asked: FollowableValues, _ run: ValueRun, _ scope: ObserverScope) throws(StoreError) {
        let found = try run.found(asked.steps)
        count = found.count
        if let key = asked.order {
            for index in 0..<found.count where !run.isOfMap && FollowableValues.isAmbiguous(found.value(index)) {
                return nil
            }
            order = try SortedElements(found, by: key, isOfMap: run.isOfMap)
        }
        if !asked.tests.isEmpty {
            let total = try run.total()
            try Memory.check(for: total, each: 2)
            var set = [UInt8](repeating: 0, count: total)
            for index in 0..<found.count { set[found.place(index)] = 1 }
            flags = FlagList(set)
        }
        if asked.part != 0..<Int.max { part = try shown(asked, run, scope) }
    }

    // MARK: Following

    /// What is told of a step; nil: it cannot be followed, and nothing else may be asked of this any more.
    mutating func advance(
        _ asked: FollowableValues, _ scope: ObserverScope, from before: ValueRun, to after: ValueRun,
        _ splices: [ElementSplice]
    ) throws(StoreError) -> ToldDifference? {
        let old = try before.elements(), new = try after.elements()
        guard let old, let new,
            let spans = ElementSpans(try old.count(), splices, replaces: old.kind == .list),
            spans.changedCount <= FollowedValues.mostSpliced
        else { return nil }
        let outcome = try spans.outcome(), isOfMap = after.isOfMap
        let gone = (outcome.gone + outcome.written.map(\.before)).sorted()
        let arrived = (outcome.new + outcome.written.map(\.after)).sorted()

        // Of the elements that went those that were in the answer, and of those that came those that are.
        typealias Moving = (place: Int, entry: Entry)
        var leaving: [Moving] = [], coming: [Moving] = [], arrivedFlags: [Bool] = []
        for (place, entry) in zip(gone, try old.entries(at: gone)) where flags?[place] ?? true {
            leaving.append((place, (entry.key, try before.value(entry.value))))
        }
        let tests = try after.tests(asked.tests)
        for (place, entry) in zip(arrived, try new.entries(at: arrived)) {
            let value = try after.value(entry.value)
            var isSet = true
            for test in tests where try !test.holds(value) { isSet = false }
            arrivedFlags.append(isSet)
            if !isSet { continue }
            if order != nil && !isOfMap && FollowableValues.isAmbiguous(value) { return nil }
            coming.append((place, (entry.key, value)))
        }
        let countBefore = count
        count += coming.count - leaving.count
        var left: [SparseDifference.Occurrence] = [], come = left
        // The same for the same element: of a map by its key.
        var numbers: [ElementValue: Int64] = [:], values: [Int64: Value] = [:], changed: Set<Int64> = []
        func number(_ entry: Entry) -> Int64 {
            let name = ElementValue(isOfMap ? entry.key : entry.value), next = Int64(numbers.count)
            if let known = numbers[name] { return known }
            numbers[name] = next
            return next
        }
        for one in leaving { values[number(one.entry)] = one.entry.value }
        if isOfMap {
            for one in coming {
                let number = number(one.entry)
                if let was = values[number], !was.isSame(as: one.entry.value) { changed.insert(number) }
            }
        }
        if order == nil {
            for one in leaving { left.append((flags?.rank(one.place) ?? one.place, number(one.entry))) }
            updateFlags(gone, arrived, arrivedFlags)
            for one in coming {
                let isMisplaced = InjectedBug.active(.valueMisplaced)
                come.append((isMisplaced ? one.place : flags?.rank(one.place) ?? one.place, number(one.entry)))
            }
        } else {
            updateFlags(gone, arrived, arrivedFlags)
            // One owner: changed in place.
            guard var order else { return nil }
            self.order = nil
            for (position, index) in try order.remove(leaving.map(\.entry)) {
                left.append((position, number(leaving[index].entry)))
            }
            for (position, index) in try order.insert(coming.map(\.entry)) {
                come.append((position, number(coming[index].entry)))
            }
            self.order = order
        }
        if let known = part {
            let found = try shown(asked, after, scope)
            part = found
            return try known.difference(to: found, scope, ModifiedObjects(), maskWords: after.mask.count)
        }
        guard let difference = try SparseDifference(left, come, countBefore: countBefore, changed: changed) else {
            return nil
        }
        return try told(difference, after, leaving.map(\.entry) + coming.map(\.entry), come, changed, number)
    }

    private mutating func updateFlags(_ gone: [Int], _ arrived: [Int], _ isSet: [Bool]) {
        guard var flags else { return }
        self.flags = nil  // one owner: changed in place
        for place in gone.reversed() { flags.remove(place) }
        for (place, isSet) in zip(arrived, isSet) { flags.insert(isSet, at: place) }
        self.flags = flags
    }

    /// - Parameters:
    ///   - entries: that left or came; `come`: where they are that came.
    private func told(
        _ difference: SparseDifference, _ run: ValueRun, _ entries: [Entry], _ come: [SparseDifference.Occurrence],
        _ changed: Set<Int64>, _ number: (Entry) -> Int64
    ) throws(StoreError) -> ToldDifference {
        let modified = difference.unmoved.sorted { $0.before < $1.before }, moved = difference.moved
        let mask = run.mask, none = [UInt64](repeating: 0, count: mask.count)
        var told = ToldDifference(
            changes: ClassChanges(maskWords: mask.count), indices: ChangeSet.Indices())
        told.changes.deleted = difference.deleted.map { Int64($0.position) }
        told.changes.inserted = difference.inserted.map { Int64($0.position) }
        told.changes.modified = modified.map { Int64($0.after) }
        told.changes.moved = moved.map { Int64($0.after) }
        told.indices.deleted = difference.deleted.map { UInt64($0.position) }
        told.indices.inserted = difference.inserted.map { UInt64($0.position) }
        told.indices.modifiedBefore = modified.map { UInt64($0.before) }
        told.indices.modifiedAfter = modified.map { UInt64($0.after) }
        told.indices.movedBefore = moved.map { UInt64($0.before) }
        told.indices.movedAfter = moved.map { UInt64($0.after) }
        var numbers: [Int: Int64] = [:]
        for one in come { numbers[one.position] = one.key }
        for _ in modified { told.changes.masks += mask }
        for pair in moved {
            told.changes.masks += numbers[pair.after].map(changed.contains) == true ? mask : none
        }
        if run.isOfMap {
            var keys: [Int64: Value] = [:]
            for entry in entries { keys[number(entry)] = entry.key }
            told.keys = try ChangedKeys(
                deleted: difference.deleted.compactMap { keys[$0.key] },
                inserted: difference.inserted.compactMap { keys[$0.key] },
                modified: modified.compactMap { pair in numbers[pair.after].flatMap { keys[$0] } })
        }
        return told
    }

    // MARK: A part

    /// What is shown of the answer.
    private func shown(
        _ asked: FollowableValues, _ run: ValueRun, _ scope: ObserverScope
    ) throws(StoreError) -> ObservedRows {
        let part = asked.part.clamped(to: 0..<count)
        var values: [Value] = [], keys: [Value] = []
        if let order {
            try order.forEach(in: part) { (value, key) throws(StoreError) in
                try values.tryAppend(value)
                try keys.tryAppend(key)
            }
        } else if let elements = try run.elements() {
            let places = part.map { flags?.place(ofSet: $0) ?? $0 }
            for (key, value) in try elements.entries(at: places) {
                try values.tryAppend(try run.value(value))
                try keys.tryAppend(key)
            }
        }
        return try ObservedRows(values, run.isOfMap ? keys : nil, run.mask)
    }
}
