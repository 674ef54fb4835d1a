/// What is known of one aggregate of all groups, so that it follows when an object of a group comes, goes, or has
/// another value, and is at each time what asking anew would find, bit by bit.
///
/// Ints add up whatever their order, doubles and decimals as long as `ExactSum` can; other doubles are kept, and added
/// up again. A least or greatest value is replaced; where it goes, the next one is known if some are kept.
struct GroupTotals {
    enum Way {
        case ints, doubles, decimals, kept
        case least, greatest
    }

    private let way: Way
    private let isMean: Bool
    /// How many values count.
    private var counts: [Int64]
    // Of these, the one that the way needs.
    private var ints: [Int128] = []
    private var exact: [ExactSum] = []
    private var kept: [KeptNumbers] = []
    private var stale: Set<Int> = []
    private var best: [Value] = []
    /// The bytes of the best ones that have any.
    private var texts: [Int: OwnedValue] = [:]
    /// In place of both: with the next ones.
    private var next: [BestValues] = []
    private var keepsNext = false
    /// The best of a group has gone, and nobody knows the next one.
    private(set) var hasLostBest = false

    init(ints: [Int128], _ counts: [Int64], isMean: Bool) {
        (way, self.isMean, self.counts, self.ints) = (.ints, isMean, counts, ints)
    }

    init(exact: [ExactSum], _ counts: [Int64], isMean: Bool, isOfDecimals: Bool) {
        (way, self.isMean, self.counts, self.exact) = (isOfDecimals ? .decimals : .doubles, isMean, counts, exact)
    }

    init(kept: [KeptNumbers], _ counts: [Int64], isMean: Bool) {
        (way, self.isMean, self.counts, self.kept) = (.kept, isMean, counts, kept)
    }

    /// Few changes of it are followed: values are moved for them.
    var isKept: Bool { way == .kept }

    /// - Parameter best: null of groups that have none. Errors: `.outOfMemory`.
    init(best: [Value], _ counts: [Int64], isLeast: Bool) throws(StoreError) {
        (way, isMean, self.counts, self.best) = (isLeast ? .least : .greatest, false, counts, best)
        for group in best.indices where best[group].kind.isBytes { try keep(best[group], group) }
    }

    /// - Parameter next: as they were offered. Errors: `.outOfMemory`.
    init(keeping next: [BestValues], _ counts: [Int64], isLeast: Bool) throws(StoreError) {
        (way, isMean, self.counts, self.next) = (isLeast ? .least : .greatest, false, counts, next)
        keepsNext = true
        let room = room
        for group in next.indices { try self.next[group].finish(room: room) }
    }

    private var room: Int { BestValues.room(groups: next.count) }

    /// The bytes belong to it from now on.
    private mutating func keep(_ value: Value, _ group: Int) throws(StoreError) {
        texts[group] = nil
        best[group] = value
        guard value.kind.isBytes else { return }
        let kept = try OwnedValue(copying: value)
        texts[group] = kept
        best[group] = kept.value
    }

    /// A group that has nothing yet.
    mutating func append() {
        counts.append(0)
        switch way {
        case .ints: ints.append(0)
        case .doubles: exact.append(.doubles)
        case .decimals: exact.append(.decimals)
        case .kept: kept.append(KeptNumbers())
        case .least, .greatest:
            if keepsNext { next.append(BestValues(isLeast: way == .least)) } else { best.append(.null) }
        }
    }

    // MARK: Following

    /// An object of a group has another value; nil: it is not in the group. False: what the aggregate is now is not
    /// known.
    mutating func replace(_ old: Value?, _ new: Value?, of key: Int64, _ group: Int) throws(StoreError) -> Bool {
        let old = counted(old), new = counted(new)
        counts[group] += (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
        switch way {
        case .ints:
            ints[group] += Int128(new?.low ?? 0) - Int128(old?.low ?? 0)
            return true
        case .doubles:
            if let number = old.flatMap(ValueProgram.number), !exact[group].remove(number) { return false }
            if let number = new.flatMap(ValueProgram.number), !exact[group].add(number) { return false }
            return true
        case .decimals:
            // First what comes: it may have the exponent that the other one was the last to have.
            if let number = new.flatMap(ValueProgram.decimal), !exact[group].add(number) { return false }
            if let number = old.flatMap(ValueProgram.decimal), !exact[group].remove(number) { return false }
            return true
        case .kept:
            kept[group].replace(old.flatMap(ValueProgram.number), new.flatMap(ValueProgram.number), of: key)
            stale.insert(group)
            return true
        case .least, .greatest:
            if keepsNext {
                try replaceNext(old, new, of: key, group)
                return true
            }
            hasLostBest = try !replaceBest(old, new, group)
            return !hasLostBest
        }
    }

    /// When all is replaced. False: what the aggregate is now is not known.
    mutating func settle() -> Bool {
        for group in stale {
            if keepsNext {
                if next[group].isLost { hasLostBest = true }
            } else {
                kept[group].settle()
            }
        }
        stale = []
        return !hasLostBest
    }

    /// The least or greatest of a group is 0.0 or -0.0, whichever comes first.
    var isAmbiguous: Bool {
        keepsNext ? next.contains { $0.best.isZeroOfFloats } : best.contains { $0.isZeroOfFloats }
    }

    /// Nil: it does not count, as where it is asked.
    private func counted(_ value: Value?) -> Value? {
        guard let value, !value.isNull, !value.isNaN else { return nil }
        switch way {
        case .doubles, .kept: return ValueProgram.number(value) == nil ? nil : value
        case .decimals: return ValueProgram.decimal(value) == nil ? nil : value
        case .ints, .least, .greatest: return value
        }
    }

    private mutating func replaceNext(_ old: Value?, _ new: Value?, of key: Int64, _ group: Int) throws(StoreError) {
        if let old { try next[group].remove(old, of: key) }
        if let new { try next[group].insert(new, of: key, room: room) }
        if counts[group] == 0 { next[group].clear() }
        stale.insert(group)
    }

    private mutating func replaceBest(_ old: Value?, _ new: Value?, _ group: Int) throws(StoreError) -> Bool {
        let known = best[group]
        func order(_ value: Value) throws(StoreError) -> Int {
            let order = try MixedOrder.compare(value, known)
            return way == .least ? order : -order
        }
        if counts[group] == 0 {
            try keep(.null, group)
            return true
        }
        if let new {
            if counts[group] == 1 {
                try keep(new, group)
                return true
            }
            let place = try order(new)
            if place < 0 {
                try keep(new, group)
                return true
            }
            // 1.0 and 1.00, 0.0 and -0.0: the first one in the order of the objects counts.
            if place == 0 { return new.isSame(as: known) }
        }
        // Others may have had it, too.
        guard let old, try order(old) == 0, !InjectedBug.active(.groupExtremeKept) else { return true }
        return false
    }

    func value(_ group: Int) -> Value {
        let count = counts[group]
        switch way {
        case .ints where isMean: return GroupSummary.mean(ints[group], of: count)
        case .ints: return GroupSummary.sum(ints[group])
        case .doubles where isMean: return GroupSummary.mean(exact[group].double, of: count)
        case .doubles: return .double(exact[group].double)
        case .kept where isMean: return GroupSummary.mean(kept[group].sum, of: count)
        case .kept: return .double(kept[group].sum)
        case .decimals where isMean: return GroupSummary.mean(exact[group].decimal, of: count)
        case .decimals: return .decimal128(exact[group].decimal)
        case .least, .greatest: return keepsNext ? next[group].best : best[group]
        }
    }
}

extension Value {
    fileprivate var isZeroOfFloats: Bool {
        switch kind {
        case .double: asDouble == 0
        case .float: asFloat == 0
        default: false
        }
    }
}
