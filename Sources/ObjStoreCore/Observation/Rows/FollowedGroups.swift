/// All groups of a table with what is known of them, and how that follows what happens to their objects.
///
/// ```
///  GROUP(city)                       first  objects  sum     Dog 17: Bern, 5  ──►  Genf, 6
///                  Bern              3      120      840     objects 119, sum 835
///                  Genf              9      14       77      objects 15, sum 83
/// ```
/// Counts, sums and averages are added to and taken from, least and greatest values replaced: see `GroupTotals`. Where
/// the first object of a group goes, the next one is looked for behind it; of objects in an order of their own the
/// first ones are followed beside the groups, by a DISTINCT. Where the one goes that has the least value, the groups
/// are found anew, and from then on the next ones are kept: see `BestValues`.
/// HAVING, SORT, LIMIT and columns are then made of all groups as always: a step costs O(g) of the g groups, whatever
/// the objects.
struct FollowedGroups {
    /// The number of each group, by its keys in the form that equal ones have in common.
    private var numbers: [RowName: Int] = [:]
    /// Of each group, one behind the other, as its first object has them.
    private var keys: [Value] = []
    private let keyCount: Int
    /// Equal keys may differ.
    private let haveForms: Bool
    /// What is shown of a float or double is the form that equal ones have in common.
    private let showsForms: Bool
    private var counts: [Int64] = []
    private var firsts: [Int64] = []
    /// By slots.
    private var summaries: [GroupTotals?]
    /// Groups that have objects, by their first ones.
    private var order: [Int32] = []
    /// While they advance: groups whose first object has gone, which are not in the order, and from where on the next
    /// one is looked for.
    private var orphans: [Int: Int64] = [:]
    /// Bytes of keys: of the groups that were found, and of those that came.
    private let texts = KeptTexts()
    private var ownKeys: [OwnedValue] = []
    /// Their objects are in an order of their own.
    private let isOrdered: Bool
    /// How many objects are in the groups.
    private(set) var objects: Int = 0
    /// Something about a group is another one than when it was found.
    private(set) var isChanged = false

    /// Nil: something is asked that cannot be followed.
    init?(_ groups: AskedGroups, _ query: TableQuery) throws(StoreError) {
        let count = groups.keys.count
        keyCount = groups.grouping.keys
        haveForms = groups.grouping.slots.prefix(keyCount).contains { slot in
            if case .value(let value) = slot { value.kind.hasForms } else { false }
        }
        showsForms = groups.keys.areWords
        isOrdered = !query.objects.steps.isEmpty
        var summaries: [GroupTotals?] = []
        for summary in groups.summaries {
            guard let summary else {
                summaries.append(nil)
                continue
            }
            guard let followed = try summary.followed(count) else { return nil }
            summaries.append(followed)
        }
        self.summaries = summaries
        if isAmbiguous { return nil }
        try Memory.check(for: count, each: 160)
        for group in 0..<count {
            for slot in 0..<keyCount { keys.append(try texts.keep(try groups.slot(slot, group))) }
            guard let name = name(keys[(group * keyCount)...]) else { return nil }
            counts.append(groups.keys.counts[group])
            firsts.append(groups.keys.firsts[group])
            objects += Int(counts[group])
            order.append(Int32(group))
            numbers[name] = group
        }
    }

    /// Nil: keys among which there is a list or map.
    private func name(_ keys: ArraySlice<Value>) -> RowName? { haveForms ? RowName(formsOf: keys) : RowName(keys) }

    /// What it shows of its keys are those of an object. False: too many have been others.
    private mutating func show(_ values: ArraySlice<Value>, _ group: Int) throws(StoreError) -> Bool {
        if ownKeys.count > 4 * keys.count + 256 { return false }
        for (slot, value) in values.enumerated() {
            let shown = showsForms ? GroupKeys.shown(value) : value, place = group * keyCount + slot
            if place < keys.count, keys[place].isSame(as: shown) { continue }
            var kept = shown
            if shown.kind.hasBytes {
                let own = try OwnedValue(copying: shown)
                ownKeys.append(own)
                kept = own.value
            }
            if place < keys.count { keys[place] = kept } else { keys.append(kept) }
        }
        return true
    }

    // MARK: Following

    /// Moves over what happened to the objects. False: it cannot, and is of no use any more.
    ///
    /// - Parameter firsts: of objects in an order the first ones of each group, if they may be others than before.
    mutating func advance(
        _ query: TableQuery, _ changes: ClassChanges, _ firsts: KeyBuffer?, from before: Snapshot, to after: Snapshot
    ) throws(StoreError) -> Bool {
        guard let slots = query.grouping?.slots else { return false }
        isChanged = !changes.deleted.isEmpty || !changes.inserted.isEmpty || query.looksBehindKeys
        let old = try RowValues(query, before), new = try RowValues(query, after)
        for key in changes.deleted { if try !take(key, try old.values(of: key), slots) { return false } }
        for key in changes.inserted { if try !put(key, try new.values(of: key), slots) { return false } }
        for key in changes.modified {
            let was = try old.values(of: key), now = try new.values(of: key)
            if was.elementsEqual(now, by: { $0.isSame(as: $1) }) { continue }
            isChanged = true
            guard let name = name(was[..<keyCount]) else { return false }
            guard name == self.name(now[..<keyCount]) else {
                if try !take(key, was, slots) { return false }
                if try !put(key, now, slots) { return false }
                continue
            }
            guard let group = numbers[name] else { return false }
            if haveForms, self.firsts[group] == key, try !show(now[..<keyCount], group) { return false }
            if try !replace(was, now, of: key, group, slots) { return false }
        }
        for slot in summaries.indices where summaries[slot]?.settle() == false { return false }
        if isOrdered {
            if isAmbiguous { return false }
            guard let firsts else { return order.count == numbers.count }
            return try arrange(firsts, changes, new)
        }
        return try findFirsts(query, new, in: after)
    }

    /// A least or greatest value has two forms, and which one comes first is not known.
    private var isAmbiguous: Bool { isOrdered && summaries.contains { $0?.isAmbiguous == true } }

    /// Puts the groups in the order of their first objects. False: these are not those of the groups.
    private mutating func arrange(
        _ list: KeyBuffer, _ changes: ClassChanges, _ values: RowValues
    ) throws(StoreError) -> Bool {
        guard list.count == numbers.count else { return false }
        // What has not changed is in the group that it was in.
        var changed = Set(changes.deleted).union(changes.inserted).union(changes.modified)
        if InjectedBug.active(.groupUnarranged) { changed = [] }
        func stays(_ place: Int, _ before: Int) -> Bool {
            let key = list.keys[place]
            return firsts[Int(order[before])] == key && !changed.contains(key)
        }
        let common = min(list.count, order.count)
        var start = 0, end = 0
        while start < common, stays(start, start) { start += 1 }
        while end < common - start, stays(list.count - 1 - end, order.count - 1 - end) { end += 1 }
        var known: [Int64: Int32] = [:]
        for group in order[start..<order.count - end] where !changed.contains(firsts[Int(group)]) {
            known[firsts[Int(group)]] = group
        }
        var middle: [Int32] = []
        for place in start..<list.count - end {
            let key = list.keys[place]
            if let group = known[key] {
                middle.append(group)
                continue
            }
            let keys = try values.values(of: key)[..<keyCount]
            guard let name = name(keys), let group = numbers[name] else { return false }
            firsts[group] = key
            if haveForms, try !show(keys, group) { return false }
            middle.append(Int32(group))
        }
        if !middle.isEmpty || start + end < order.count { isChanged = true }
        order.replaceSubrange(start..<order.count - end, with: middle)
        return true
    }

    /// The least or greatest of a group is not known any more.
    var hasLostBest: Bool { summaries.contains { $0?.hasLostBest == true } }

    /// So many changed objects are worth following: asking looks at a thousand while one is moved to another group.
    var mostChanges: Int {
        max(16, objects >> (summaries.contains { $0?.isKept == true } ? 13 : 10))
    }

    /// What a query finds that finds the first objects of all groups.
    func firstObjects(_ scope: ObserverScope) throws(StoreError) -> ObservedAnswer {
        let list = try KeyBuffer(expecting: order.count)
        for group in order { try list.append(firsts[Int(group)]) }
        return try ObservedAnswer(scope, UnsafeBufferPointer(start: list.keys, count: list.count))
    }

    /// The first objects of those that have lost theirs: a pass over what comes behind these. False: it would be long.
    private mutating func findFirsts(
        _ query: TableQuery, _ values: RowValues, in after: Snapshot
    ) throws(StoreError) -> Bool {
        guard let start = orphans.values.min() else { return true }
        let test = try RowTest(query.objects, .version(after))
        let reader = try after.trees.objects(try after.schema.cls(query.objects.classID))
        var left = 64 + objects >> 7, next = try reader.seek(start)
        while let row = next, !orphans.isEmpty {
            if left == 0 { return false }
            left -= 1
            next = try reader.next(row)
            guard try test.holds(row.key) else { continue }
            let keys = try values.values(row)[..<keyCount]
            guard let name = name(keys) else { return false }
            guard let group = numbers[name], let start = orphans[group], start <= row.key else { continue }
            orphans[group] = nil
            firsts[group] = row.key
            if haveForms, try !show(keys, group) { return false }
            insert(group)
        }
        return orphans.isEmpty
    }

    /// An object goes.
    private mutating func take(_ key: Int64, _ values: [Value], _ slots: [GroupSlot]) throws(StoreError) -> Bool {
        guard let name = name(values[..<keyCount]), let group = numbers[name] else { return false }
        counts[group] -= 1
        objects -= 1
        // One of no keys is there without objects.
        if counts[group] == 0 && keyCount > 0 {
            numbers[name] = nil
            if isOrdered { return true }
            if orphans.removeValue(forKey: group) == nil { order.remove(at: place(group)) }
            return true
        }
        if keyCount > 0, !isOrdered, firsts[group] == key, orphans[group] == nil, !InjectedBug.active(.groupFirstKept) {
            order.remove(at: place(group))
            orphans[group] = key
        }
        return try replace(values, nil, of: key, group, slots)
    }

    /// An object comes.
    private mutating func put(_ key: Int64, _ values: [Value], _ slots: [GroupSlot]) throws(StoreError) -> Bool {
        guard let name = name(values[..<keyCount]) else { return false }
        var group = numbers[name] ?? -1
        if group < 0 {
            group = counts.count
            // Those that are gone stay in the arrays.
            if group > 2 * order.count + 64 { return false }
            try Memory.check(for: 1, each: 160)
            if try !show(values[..<keyCount], group) { return false }
            counts.append(0)
            firsts.append(key)
            for slot in summaries.indices { summaries[slot]?.append() }
            // By its own bytes.
            guard let own = self.name(keys[(group * keyCount)...]) else { return false }
            numbers[own] = group
            if !isOrdered { insert(group) }
        } else if isOrdered {
            // The first one may be another: `arrange`.
        } else if let start = orphans[group] {
            orphans[group] = min(start, key)
        } else if key < firsts[group] || counts[group] == 0 {
            order.remove(at: place(group))
            firsts[group] = key
            if haveForms, try !show(values[..<keyCount], group) { return false }
            insert(group)
        }
        counts[group] += 1
        objects += 1
        return try replace(nil, values, of: key, group, slots)
    }

    private mutating func insert(_ group: Int) { order.insert(Int32(group), at: place(group)) }

    /// Where a group is by its first object, or would be.
    private func place(_ group: Int) -> Int {
        var low = 0, high = order.count
        while low < high {
            let middle = (low + high) / 2
            if firsts[Int(order[middle])] < firsts[group] { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Values of an object in place of those that it had.
    private mutating func replace(
        _ old: [Value]?, _ new: [Value]?, of key: Int64, _ group: Int, _ slots: [GroupSlot]
    ) throws(StoreError) -> Bool {
        var place = 0
        for slot in slots.indices {
            if case .count = slots[slot] { continue }
            if try summaries[slot]?.replace(old?[place], new?[place], of: key, group) == false { return false }
            place += 1
        }
        return true
    }

    // MARK: The table

    /// What is done with the groups, and shown of them.
    func found(_ query: TableQuery, _ trees: TreeAccess) throws(StoreError) -> FoundTable {
        let slots = try Slots(self, query, trees)
        let (table, keys) = try query.table(of: slots, order, nil, storeTag: trees.storeTag, named: true)
        return FoundTable(table, of: keys, following: self)
    }

    private final class Slots: GroupSlots {
        private let groups: FollowedGroups
        private let slots: [GroupSlot]
        /// Of what lies behind keys, by slots; it is not kept, but read of the first object of a group.
        private var behindKeys: [Int: ObjectReader] = [:]
        private var finder: RowFinder

        init(_ groups: FollowedGroups, _ query: TableQuery, _ trees: TreeAccess) throws(StoreError) {
            (self.groups, slots) = (groups, query.grouping?.slots ?? [])
            let cls = try trees.schema.cls(query.objects.classID)
            finder = RowFinder(try trees.objects(cls))
            var columns: [NumberColumn] = []
            for case (let number, .value(let value)) in slots.enumerated() where number >= groups.keyCount {
                behindKeys[number] = try ObjectReader(value, trees, cls, &columns)
            }
        }

        func slot(_ number: Int, _ group: Int) throws(StoreError) -> Value {
            switch slots[number] {
            case .count: return .int(groups.counts[group])
            case .aggregate: return groups.summaries[number]?.value(group) ?? .null
            case .value:
                guard let reader = behindKeys[number] else { return groups.keys[group * groups.keyCount + number] }
                return try reader.value(try finder.row(groups.firsts[group]))
            }
        }

        func words(_: Int) -> (words: UnsafePointer<Int64>, null: Int32)? { nil }
    }
}
