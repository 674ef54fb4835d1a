/// By what DISTINCT finds the first object with each value, and how these stand.
struct FirstsOrder {
    /// The values, and behind them what says which object with equal ones is the first.
    let keys: [SortKey]
    /// How many of the keys are values.
    let values: Int
    /// How many steps of the query come before.
    let step: Int
}

/// Where there are several DISTINCTs each finds the first ones of those that the one before it has found.
struct FirstsOrders {
    var all: [FirstsOrder] = []
    /// Of the answer.
    var order: [SortKey] = []

    /// What an object's place depends on.
    var keys: [SortKey] { all.flatMap(\.keys) + order }
}

/// Which objects are the first with their values, followed: all of them stand in one order in which those with equal
/// values are side by side.
///
/// ```
///  DISTINCT(mark)     mark     1     1     2     2     2     3
///  keys                        a     d     b     c     f     e
///  the first ones              a           b                 e
///
///  b gets mark 3               a     d     c     f     b     e
///                              a           c     b               c came, e went
/// ```
/// Of a step only the groups are looked at that a changed object was in, or is in: of each of them who was the first
/// one, and who is. 8 bytes for each object.
struct FollowedFirsts {
    private var keys: OrderedKeys

    /// - Parameter list: all objects, in that order.
    init(_ list: KeyBuffer) throws(StoreError) { keys = try OrderedKeys(list) }

    var count: Int { keys.count }

    /// What a step of all objects is of the first ones.
    mutating func advance(
        _ query: Query, _ order: FirstsOrder, from: Snapshot, to: Snapshot, _ few: ObservedAnswer.FewChanges
    ) throws(StoreError) -> ObservedAnswer.FewChanges {
        let changes = few.changed
        let before = try OrderStep.Side(query, order.keys, from), after = try OrderStep.Side(query, order.keys, to)
        let turned = try TurnedObjects(changes, few.resorted, order.keys, before, after)
        let moving = changes.modified.indices.filter { turned.contains($0) }.map { changes.modified[$0] }

        // The groups, by their values.
        var coming = moving + changes.inserted, groups: [SortValues] = [], places: [OrderedKeys.Place] = []
        for key in changes.deleted + moving {
            groups.append(try before.values(key))
            places.append(try before.place(of: key, in: &keys))
        }
        for key in coming { groups.append(try after.values(key)) }
        let old = try firsts(of: groups, order, before)
        keys.remove(places.sorted())
        try after.sort(&coming) { $0 }
        var arrivals: [(key: Int64, place: OrderedKeys.Place)] = []
        for key in coming { arrivals.append((key, try after.place(for: key, in: &keys))) }
        keys.insert(arrivals)
        if InjectedBug.active(.firstsStale) { groups.removeFirst(places.count) }
        let new = try firsts(of: groups, order, after)

        var result = ClassChanges(maskWords: changes.maskWords)
        result.isFromOtherProcess = changes.isFromOtherProcess
        for key in old.subtracting(new).sorted() { try result.append(.deleted, key) }
        for key in new.subtracting(old).sorted() { try result.append(.inserted, key) }
        var isTold: [Bool] = []
        for (row, key) in changes.modified.enumerated() {
            // One that has not come or gone was the first one before where it is now.
            if turned.contains(row) {
                guard old.contains(key), new.contains(key) else { continue }
            } else {
                if new.contains(key) && !old.contains(key) { continue }
                guard try first(of: try after.values(key), order, after) == key else { continue }
            }
            try result.appendModified(key, changes.mask(row))
            isTold.append(few.isTold?[row] ?? true)
        }
        return (result, few.isTold == nil ? nil : isTold, few.resorted.intersection(result.modified))
    }

    private mutating func firsts(
        of groups: [SortValues], _ order: FirstsOrder, _ side: OrderStep.Side
    ) throws(StoreError) -> Set<Int64> {
        var found: Set<Int64> = []
        for values in groups { if let key = try first(of: values, order, side) { found.insert(key) } }
        return found
    }

    /// Nil: there is none.
    private mutating func first(
        of values: SortValues, _ order: FirstsOrder, _ side: OrderStep.Side
    ) throws(StoreError) -> Int64? {
        let place = try side.place(of: values, order.values, nil, in: &keys)
        guard let key = keys.key(at: place), try side.order(of: key, nil, values, order.values) == 0 else { return nil }
        return key
    }
}
