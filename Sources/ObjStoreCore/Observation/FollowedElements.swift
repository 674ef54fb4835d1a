/// In which order the elements of a list, set or map are that a query finds.
struct ElementsOrder {
    /// None: in that of the collection.
    let keys: [SortKey]
    /// Of elements with the same of these values, the first one; none: all.
    let firsts: [SortKey]

    /// Nil: it is no order of elements, or is not followed as one.
    init?(_ steps: [QueryStep], _ keys: [SortKey], _ firsts: FirstsOrders) {
        self.keys = keys
        guard let first = firsts.all.first else {
            self.firsts = []
            return
        }
        self.firsts = Array(first.keys.prefix(first.values))
        // It is the last that happens to them, and equal is what is the same.
        guard firsts.all.count == 1, steps[(first.step + 1)...].allSatisfy(\.isCut),
            self.firsts.allSatisfy({ $0.modifiers.isEmpty })
        else { return nil }
    }
}

/// The answer of a query of a list, set or map, followed: which of the elements are in it, and in which order.
///
/// ```
///  elements   a b c d e f …     flags   1 0 1 1 0 1 …      which satisfy the condition
///  answer     a c d f …         an element stands behind as many as are set before it
///  sorted     d a f c …         looked for by its values; of equal ones that is first which the collection has first
/// ```
/// A step looks at objects that were changed, and are in the collection, and at elements that came and went. It costs
/// what these are, and for each object a look at the links of a list or map, where they lie side by side. A byte for
/// each element, and eight for each of the answer. Where it has the first ones with their values, these are found
/// behind that: `FirstElements`.
struct FollowedElements {
    /// Nil: all are set.
    private var flags: FlagList?
    /// All that satisfy the condition, in their order.
    private var answer: OrderedKeys
    /// Which of these are the first ones; nil: all are in the answer.
    private var firsts: FirstElements?

    /// How many satisfy the condition.
    var count: Int { answer.count }

    /// The objects at some positions of the answer.
    func list(_ part: Range<Int>) throws(StoreError) -> KeyBuffer {
        guard let firsts else { return try answer.list(part) }
        let part = part.clamped(to: 0..<firsts.count), list = try KeyBuffer(expecting: part.count)
        for position in part { try list.append(answer.key(at: firsts.place(at: position))) }
        return list
    }

    typealias Occurrence = SparseDifference.Occurrence

    /// More elements that come and go are not followed one by one.
    private static let mostSpliced = 1024

    /// Nil: they cannot be followed.
    ///
    /// - Parameter list: all that satisfy the condition.
    init?(
        _ scope: ObserverScope, _ order: ElementsOrder, _ list: KeyBuffer, in snapshot: Snapshot
    ) throws(StoreError) {
        answer = try OrderedKeys(list)
        if !order.firsts.isEmpty {
            let values = try RowValues(order.firsts.map(\.of), scope.query.classID, snapshot)
            firsts = try FirstElements(count: list.count) { (place) throws(StoreError) in
                RowName(formsOf: try values.values(of: list.keys[place]))
            }
            if firsts == nil { return nil }
        }
        guard let id = scope.query.origin.collection else { return }
        let scope = try CollectionScope(id, .usual, in: snapshot, tag: scope.query.storeTag)
        // Links of maps may be null.
        if scope.kind != .map, try TreeAccess.version(snapshot).count(in: id) == list.count { return }
        // All elements of one object are in the answer, or none.
        let chosen = try NumberSet(try list.ascending())
        var set: [UInt8] = []
        try scope.elements(in: snapshot)?.forEach { (_, link) throws(StoreError) in
            set.append(!link.isNull && chosen.contains(link.low) ? 1 : 0)
            return true
        }
        flags = FlagList(set)
    }

    /// What happened to a collection, and to objects that may be in it.
    struct Changes {
        let collection: CollectionScope
        let old: CollectionElements
        let new: CollectionElements
        /// Places before of elements that went, after of those that came; each ascends.
        private(set) var gone: [Int] = []
        private(set) var arrived: [Int] = []
        let few: ObservedAnswer.FewChanges
        /// Where the changed objects are in the collection after it, ascending.
        let places: [Int]

        var isNothing: Bool { gone.isEmpty && arrived.isEmpty && places.isEmpty }

        /// Nil: too much, or it is not known.
        init?(
            _ scope: ObserverScope, from before: Snapshot, _ reader: ChangeReader, _ few: ObservedAnswer.FewChanges
        ) throws(StoreError) {
            guard let id = scope.query.origin.collection, before.schema.has([id.propertyID]),
                try before.trees.objects(try before.schema.cls(id.owner.classID)).find(id.owner.key) != nil
            else { return nil }
            collection = try CollectionScope(id, scope.paths, in: before, tag: scope.query.storeTag)
            guard case .stored(let old)? = try collection.elements(in: before),
                case .stored(let new)? = try collection.elements(in: reader.to)
            else { return nil }
            (self.old, self.new, self.few) = (old, new, few)
            if try collection.isWritten(reader) {
                guard let splices = try reader.splices(of: collection),
                    let spans = ElementSpans(try old.count(), splices, replaces: collection.kind == .list),
                    spans.changedCount <= FollowedElements.mostSpliced
                else { return nil }
                let outcome = try spans.outcome()
                gone = (outcome.gone + outcome.written.map(\.before)).sorted()
                arrived = (outcome.new + outcome.written.map(\.after)).sorted()
            }
            let changed = few.changed
            guard
                let places = try collection.places(
                    of: Set(changed.modified + changed.inserted + changed.deleted), in: new, reader.to)
            else { return nil }
            self.places = places
        }

        /// Where an element was that has stayed.
        func before(_ place: Int) -> Int {
            var place = place - arrived.placeAscending(place)
            for one in gone {
                if one > place { break }
                place += 1
            }
            return place
        }

        func hasArrived(_ place: Int) -> Bool {
            arrived.hasAscending(place)
        }
    }

    /// What is told of a step; nil: it cannot be followed, and nothing else may be asked of this any more.
    mutating func advance(
        _ scope: ObserverScope, _ order: ElementsOrder, _ changes: Changes, from before: Snapshot, to after: Snapshot
    ) throws(StoreError) -> ToldDifference? {
        let keys = order.keys, few = changes.few, deleted = Set(few.changed.deleted),
            inserted = Set(few.changed.inserted)
        let sides =
            keys.isEmpty
            ? nil : (try OrderStep.Side(scope.query, keys, before), try OrderStep.Side(scope.query, keys, after))
        var turned: Set<Int64> = [], rows: [Int64: Int] = [:]
        for (row, key) in few.changed.modified.enumerated() { rows[key] = row }
        if let sides {
            let all = try TurnedObjects(few.changed, few.resorted, keys, sides.0, sides.1)
            for (key, row) in rows where all.contains(row) { turned.insert(key) }
        }

        // Elements that leave their places in the answer, come to one, or stay where they are and are told of.
        var leaving: [(place: Int, key: Int64)] = [], coming = leaving, staying = leaving
        for (place, entry) in zip(changes.gone, try changes.old.entries(at: changes.gone)) where isSet(place) {
            leaving.append((place, entry.value.low))
        }
        let test = scope.isWholeClass ? nil : try RowTest(scope.query, .version(after))
        var arrivedFlags: [Bool] = []
        for (place, entry) in zip(changes.arrived, try changes.new.entries(at: changes.arrived)) {
            var isSet = !entry.value.isNull
            if isSet, let test { isSet = try test.holds(entry.value.low) }
            arrivedFlags.append(isSet)
            if isSet { coming.append((place, entry.value.low)) }
        }
        var flips: [(place: Int, isSet: Bool)] = []
        for (place, entry) in zip(changes.places, try changes.new.entries(at: changes.places))
        where !changes.hasArrived(place) {
            let key = entry.value.low, old = changes.before(place)
            if deleted.contains(key) || turned.contains(key) { leaving.append((old, key)) }
            if inserted.contains(key) || turned.contains(key) { coming.append((place, key)) }
            if !turned.contains(key), rows[key] != nil { staying.append((old, key)) }
            if deleted.contains(key) || inserted.contains(key) { flips.append((place, inserted.contains(key))) }
        }
        coming.sort { $0.place < $1.place }
        let both = SparseDifference.countOfBoth(leaving.map(\.key), coming.map(\.key))
        if SparseDifference.isTooLong(leaving.count + coming.count, both: both, staying: staying.count) { return nil }

        // Where they were.
        let countBefore = answer.count
        var effort = LookUpEffort(elements: try changes.new.count())
        guard let left = try positions(leaving, sides?.0, before: true, &effort),
            let known = try positions(staying, sides?.0, before: false, &effort)
        else { return nil }
        answer.remove(left.map { answer.place(at: $0.position) })
        try updateFlags(changes, arrivedFlags, flips)

        // Where they are.
        let arrived: [Occurrence]
        if let side = sides?.1 {
            guard let found = try insert(coming, side, changes, &effort) else { return nil }
            arrived = found
        } else {
            arrived = coming.map { (flags?.rank($0.place) ?? $0.place, $0.key) }
            for (index, one) in arrived.enumerated() where !(index...answer.count + index).contains(one.position) {
                throw missing(one.key)
            }
            answer.insert(arrived.enumerated().map { ($1.key, answer.place(at: $1.position - $0)) })
        }
        let changed = Set(few.changed.modified)
        if !order.firsts.isEmpty {
            let values = (
                try RowValues(order.firsts.map(\.of), scope.query.classID, before),
                try RowValues(order.firsts.map(\.of), scope.query.classID, after)
            )
            return try advanceFirsts(values, left, arrived, staying: known, few, changed, &effort)
        }
        guard
            let difference = try SparseDifference(
                left, arrived, staying: known, countBefore: countBefore, changed: changed)
        else { return nil }
        return try difference.told(few) { (position) in answer.key(at: position) }
    }

    /// What is told of the first ones, after a step of all.
    ///
    /// - Parameters:
    ///   - values: of which they are the first ones, in both versions.
    ///   - staying: those that were changed where they are.
    private mutating func advanceFirsts(
        _ values: (before: RowValues, after: RowValues), _ left: [Occurrence], _ arrived: [Occurrence],
        staying: [Occurrence], _ few: ObservedAnswer.FewChanges, _ changed: Set<Int64>, _ effort: inout LookUpEffort
    ) throws(StoreError) -> ToldDifference? {
        // One owner: changed in place.
        guard var firsts else { return nil }
        self.firsts = nil
        var leaving: [(key: Int64, element: FirstElements.Element)] = [], coming: [FirstElements.Element] = []
        func name(_ key: Int64, _ values: RowValues) throws(StoreError) -> RowName? {
            RowName(formsOf: try values.values(of: key))
        }
        for one in left {
            guard let name = try name(one.key, values.before) else { return nil }
            leaving.append((one.key, (one.position, name)))
        }
        for one in arrived {
            guard let name = try name(one.key, values.after) else { return nil }
            coming.append((one.position, name))
        }
        // Where they are, and are told of: who has other values goes as one thing, and comes as another.
        var told: [(before: Int, after: Int, key: Int64)] = []
        let places = SparseDifference.after(staying.map(\.position), left, arrived)
        for (one, place) in zip(staying, places) {
            guard let was = try name(one.key, values.before), let new = try name(one.key, values.after) else {
                return nil
            }
            if was != new {
                leaving.append((one.key, (one.position, was)))
                coming.append((place, new))
            } else if let position = firsts.position(of: one.position) {
                told.append((position, place, one.key))
            }
        }
        leaving.sort { $0.element.place < $1.element.place }
        coming.sort { $0.place < $1.place }
        let countBefore = firsts.count
        let step = try firsts.advance(leaving: leaving.map(\.element), coming: coming) {
            (wanted, places) throws(StoreError) in
            for place in places {
                guard effort.takes(elements: 1) else { return nil }
                if try name(answer.key(at: place), values.after) == wanted { return place }
            }
            return places.upperBound
        }
        guard let step else { return nil }
        let stayed = told.filter { firsts.position(of: $0.after) != nil }.map { ($0.before, $0.key) }
        let difference = try SparseDifference(
            step.left.map { one in
                switch one.who {
                case .gone(let index): (one.position, leaving[index].key)
                case .passed(let place): (one.position, answer.key(at: place))
                }
            },
            step.come.map { ($0.position, answer.key(at: $0.place)) }, staying: stayed, countBefore: countBefore,
            changed: changed)
        self.firsts = firsts
        return try difference?.told(few) { (position) in answer.key(at: firsts.place(at: position)) }
    }

    private func isSet(_ place: Int) -> Bool { flags?[place] ?? true }

    private mutating func updateFlags(
        _ changes: Changes, _ arrived: [Bool], _ flips: [(place: Int, isSet: Bool)]
    ) throws(StoreError) {
        if flags == nil {
            // With a condition some may be out from now on.
            if arrived.allSatisfy({ $0 }) && flips.allSatisfy(\.isSet) { return }
            flags = FlagList(Array(repeating: 1, count: try changes.old.count()))
        }
        var flags = self.flags.unsafelyUnwrapped
        self.flags = nil  // one owner: changed in place
        for place in changes.gone.reversed() { flags.remove(place) }
        for (place, isSet) in zip(changes.arrived, arrived) { flags.insert(isSet, at: place) }
        if !InjectedBug.active(.elementUnflagged) {
            for (place, isSet) in flips { flags.change(place, to: isSet) }
        }
        self.flags = flags
    }

    // MARK: Where elements were

    /// Their positions in the answer, ascending; nil: it cannot be told which ones they are.
    ///
    /// - Parameter before: they leave: of an object that is there several times, all of them.
    private mutating func positions(
        _ elements: [(place: Int, key: Int64)], _ side: OrderStep.Side?, before isLeaving: Bool,
        _ effort: inout LookUpEffort
    ) throws(StoreError) -> [Occurrence]? {
        var found: [Occurrence] = []
        if let side {
            var counts: [Int64: Int] = [:]
            for element in elements { counts[element.key, default: 0] += 1 }
            for (key, count) in counts {
                let equals = try equals(to: key, side)
                guard effort.takes(keys: equals.count) else { return nil }
                let positions = answer.positions(of: key, in: equals)
                guard positions.count == count || !isLeaving else { return nil }
                found += positions.map { ($0, key) }
            }
            if !elements.isEmpty && found.isEmpty { throw missing(elements[0].key) }
        } else {
            for element in elements {
                let position = flags?.rank(element.place) ?? element.place
                guard position < answer.count, answer.key(at: position) == element.key else {
                    throw missing(element.key)
                }
                found.append((position, element.key))
            }
        }
        return found.sorted { $0.position < $1.position }
    }

    private func missing(_ key: Int64) -> StoreError {
        StoreError(.internalError, "an observed answer does not have the object \(key) where it belongs")
    }

    /// Where objects are that have the same values as one.
    private mutating func equals(to key: Int64, _ side: OrderStep.Side) throws(StoreError) -> Range<Int> {
        let values = try side.values(key), levels = values.values.count
        let start = answer.position(of: try side.place(of: values, levels, nil, in: &answer))
        return start..<max(start, answer.position(of: try side.place(of: values, levels, .max, in: &answer)))
    }

    // MARK: Where elements are in an order

    /// - Parameter coming: in the order of the collection.
    /// Returns: their positions, ascending; nil: that takes too long.
    private mutating func insert(
        _ coming: [(place: Int, key: Int64)], _ side: OrderStep.Side, _ changes: Changes, _ effort: inout LookUpEffort
    ) throws(StoreError) -> [Occurrence]? {
        var found: [(gap: Int, place: Int, key: Int64)] = []
        // Of those with equal values, by where these are.
        var ties: [Int: ElementTies] = [:]
        let places = Set(coming.map(\.place))
        for element in coming {
            let equals = try equals(to: element.key, side)
            var gap = equals.lowerBound
            if InjectedBug.active(.elementTieLost) {
                gap = equals.upperBound
            } else if !equals.isEmpty {
                if ties[gap] == nil {
                    ties[gap] = try ElementTies(equals, as: element.key, answer, side, changes.new, places, &effort)
                }
                guard let before = try ties[gap]?.count(before: element.place, answer, side, flags, &effort) else {
                    return nil
                }
                gap += before
            }
            found.append((gap, element.place, element.key))
        }
        // Of those at one place the values decide, then the collection.
        try side.sort(&found, { $0.key }, by: { $0.place })
        var arrivals: [(key: Int64, place: OrderedKeys.Place)] = []
        for one in found { arrivals.append((one.key, answer.place(at: one.gap))) }
        answer.insert(arrivals)
        return found.enumerated().map { ($1.gap + $0, $1.key) }
    }
}

/// How much may be looked up before it is cheaper to ask anew: as much as elements are sorted in that time.
struct LookUpEffort {
    /// In some 100 ns.
    private var left: Int
    private let elements: Int

    init(elements: Int) { (left, self.elements) = (max(elements, 1 << 12), elements) }

    private mutating func takes(_ cost: Int) -> Bool {
        left -= cost
        return left >= 0
    }

    /// Keys that lie side by side are compared with one.
    mutating func takes(keys: Int) -> Bool { takes(1 + keys / 100) }
    /// The links of all elements are.
    mutating func takesScan() -> Bool { takes(1 + elements / 1000) }
    /// Elements are looked at.
    mutating func takes(elements: Int) -> Bool { takes(elements) }
    /// Keys are put into a table.
    mutating func takes(tableOf keys: Int) -> Bool { takes(keys / 2) }
}
