/// The answer of a query of plain values, followed: which of the elements are in it, and in which order.
///
/// ```
///  elements   7 1 9 4 9 …     flags   1 0 1 1 1 …      @self > 3: 9 came at place 2, behind one that is set
///  sorted     4 7 9 9 …       by the values, which are kept; of a map then by the key
/// ```
/// A step looks at elements that came and went, and costs what these are, and O(limit) where there is one. A byte for
/// each element, 64 bytes for each one in an order. Of equal elements the first ones are found behind that:
/// `FirstElements`.
struct FollowedValues {
    /// Nil: all are set.
    private var flags: FlagList?
    private var order: SortedElements?
    /// How many satisfy the conditions.
    private var count: Int
    /// Which of these are the first ones; nil: all are in the answer.
    private var firsts: FirstElements?
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
        if asked.isDistinct {
            firsts = try FirstElements(count: found.count) { (index) in RowName(formsOf: [found.value(index)]) }
            if firsts == nil { return nil }
        }
        if asked.part != .uncut { part = try shown(asked, run, scope) }
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
        let countBefore = firsts?.count ?? count
        count += coming.count - leaving.count
        var left: [Moved] = [], come = left
        if order == nil {
            for one in leaving { left.append((flags?.rank(one.place) ?? one.place, one.entry)) }
            updateFlags(gone, arrived, arrivedFlags)
            for one in coming {
                let isMisplaced = InjectedBug.active(.valueMisplaced)
                come.append((isMisplaced ? one.place : flags?.rank(one.place) ?? one.place, one.entry))
            }
        } else {
            updateFlags(gone, arrived, arrivedFlags)
            // One owner: changed in place.
            guard var order else { return nil }
            self.order = nil
            for (position, index) in try order.remove(leaving.map(\.entry)) {
                left.append((position, leaving[index].entry))
            }
            for (position, index) in try order.insert(coming.map(\.entry)) {
                come.append((position, coming[index].entry))
            }
            self.order = order
        }
        if asked.isDistinct {
            guard let moved = try advanceFirsts(left, come, after) else { return nil }
            (left, come) = moved
        }
        if let known = part {
            let found = try shown(asked, after, scope)
            part = found
            return try known.difference(to: found, scope, ModifiedObjects(), maskWords: after.mask.count)
        }
        return try told(left, come, after, countBefore: countBefore)
    }

    /// An element with its position in the answer.
    private typealias Moved = (position: Int, entry: Entry)

    /// What leaves the first ones, and comes to them, after a step of all.
    private mutating func advanceFirsts(
        _ left: [Moved], _ come: [Moved], _ run: ValueRun
    ) throws(StoreError) -> (left: [Moved], come: [Moved])? {
        // One owner: changed in place.
        guard var firsts else { return nil }
        self.firsts = nil
        var leaving: [FirstElements.Element] = [], coming: [FirstElements.Element] = []
        for one in left {
            guard let name = RowName(formsOf: [one.entry.value]) else { return nil }
            leaving.append((one.position, name))
        }
        for one in come {
            guard let name = RowName(formsOf: [one.entry.value]) else { return nil }
            coming.append((one.position, name))
        }
        var effort = LookUpEffort(elements: count)
        let step = try firsts.advance(leaving: leaving, coming: coming) { (name, places) throws(StoreError) in
            var found = places.upperBound, isTooLong = false
            try forEach(in: places, run) { (place, entry) throws(StoreError) in
                isTooLong = !effort.takes(elements: 1)
                if RowName(formsOf: [entry.value]) == name { found = place }
                return found == places.upperBound && !isTooLong
            }
            return isTooLong ? nil : found
        }
        guard let step else { return nil }
        self.firsts = firsts
        func entry(_ place: Int) throws(StoreError) -> Entry {
            var found: Entry = (.null, .null)
            try forEach(in: place..<place + 1, run) { (_, entry) throws(StoreError) in
                found = entry
                return false
            }
            return found
        }
        return (
            try step.left.map { (one) throws(StoreError) in
                switch one.who {
                case .gone(let index): (one.position, left[index].entry)
                case .passed(let place): (one.position, try entry(place))
                }
            },
            try step.come.map { (one) throws(StoreError) in (one.position, try entry(one.place)) }
        )
    }

    /// Those at some positions of all that satisfy the conditions, in their order, until the body returns false.
    private func forEach(
        in part: Range<Int>, _ run: ValueRun, _ body: (Int, Entry) throws(StoreError) -> Bool
    ) throws(StoreError) {
        if let order {
            for place in part where try !body(place, order.entry(at: place)) { return }
            return
        }
        if part.isEmpty { return }
        var position = part.lowerBound
        var place = flags?.place(ofSet: position) ?? position
        try run.elements()?.forEach(from: place) { (key, value) throws(StoreError) in
            place += 1
            if let flags, !flags[place - 1] { return true }
            position += 1
            return try body(position - 1, (key, try run.value(value))) && position < part.upperBound
        }
    }

    private mutating func updateFlags(_ gone: [Int], _ arrived: [Int], _ isSet: [Bool]) {
        guard var flags else { return }
        self.flags = nil  // one owner: changed in place
        for place in gone.reversed() { flags.remove(place) }
        for (place, isSet) in zip(arrived, isSet) { flags.insert(isSet, at: place) }
        self.flags = flags
    }

    /// What is told of elements that left and came; nil: too much.
    private func told(
        _ left: [Moved], _ come: [Moved], _ run: ValueRun, countBefore: Int
    ) throws(StoreError) -> ToldDifference? {
        // The same for the same element: of a map by its key.
        var numbers: [ElementValue: Int64] = [:], entries: [Int64: Entry] = [:], changed: Set<Int64> = []
        func number(_ entry: Entry) -> Int64 {
            let name = ElementValue(run.isOfMap ? entry.key : entry.value), next = Int64(numbers.count)
            if let known = numbers[name] { return known }
            numbers[name] = next
            return next
        }
        let leaving = left.map { one in
            let number = number(one.entry)
            entries[number] = one.entry
            return (one.position, number)
        }
        let coming = come.map { one in
            let number = number(one.entry)
            if let was = entries[number] {
                if run.isOfMap && !was.value.isSame(as: one.entry.value) { changed.insert(number) }
            } else {
                entries[number] = one.entry
            }
            return (one.position, number)
        }
        guard
            let difference = try SparseDifference(
                leaving, coming, countBefore: countBefore, changed: changed)
        else { return nil }
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
        var places: [Int: Int64] = [:]
        for one in coming { places[one.0] = one.1 }
        for _ in modified { told.changes.masks += mask }
        for pair in moved {
            told.changes.masks += places[pair.after].map(changed.contains) == true ? mask : none
        }
        if run.isOfMap {
            told.keys = try ChangedKeys(
                deleted: difference.deleted.compactMap { entries[$0.key]?.key },
                inserted: difference.inserted.compactMap { entries[$0.key]?.key },
                modified: modified.compactMap { pair in places[pair.after].flatMap { entries[$0]?.key } })
        }
        return told
    }

    // MARK: A part

    /// What is shown of the answer.
    private func shown(
        _ asked: FollowableValues, _ run: ValueRun, _ scope: ObserverScope
    ) throws(StoreError) -> ObservedRows {
        let part = asked.part.clamped(to: 0..<(firsts?.count ?? count))
        var values: [Value] = [], keys: [Value] = []
        func show(_ entry: Entry) throws(StoreError) {
            try values.tryAppend(entry.value)
            try keys.tryAppend(entry.key)
        }
        let places = part.map { firsts?.place(at: $0) ?? $0 }
        if let order {
            for place in places { try show(order.entry(at: place)) }
        } else if let elements = try run.elements() {
            for (key, value) in try elements.entries(at: places.map { flags?.place(ofSet: $0) ?? $0 }) {
                try show((key, try run.value(value)))
            }
        }
        return try ObservedRows(values, run.isOfMap ? keys : nil, run.mask)
    }
}
