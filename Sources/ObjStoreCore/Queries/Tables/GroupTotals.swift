/// What is known of one aggregate of all groups, so that it follows when an object of a group comes, goes, or has
/// another value: ints alone, which add up whatever their order.
enum GroupTotals {
    /// And how many values there are.
    case sums([Int128], [Int64], isMean: Bool)
    case least([Int64], [Int64])
    case greatest([Int64], [Int64])
}

extension GroupTotals {
    /// A group that has nothing yet.
    mutating func append() {
        switch self {
        case .sums(var sums, var counts, let isMean):
            self = .sums([], [], isMean: isMean)
            sums.append(0)
            counts.append(0)
            self = .sums(sums, counts, isMean: isMean)
        case .least(var best, var counts):
            self = .least([], [])
            best.append(0)
            counts.append(0)
            self = .least(best, counts)
        case .greatest(var best, var counts):
            self = .greatest([], [])
            best.append(0)
            counts.append(0)
            self = .greatest(best, counts)
        }
    }

    /// False: what is the least now is not known.
    mutating func replace(_ old: Value?, _ new: Value?, _ group: Int) -> Bool {
        let old = old?.isNull == false ? old : nil, new = new?.isNull == false ? new : nil
        let change = (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
        switch self {
        case .sums(var sums, var counts, let isMean):
            // One owner: changed in place.
            self = .sums([], [], isMean: isMean)
            sums[group] += Int128(new?.low ?? 0) - Int128(old?.low ?? 0)
            counts[group] += Int64(change)
            self = .sums(sums, counts, isMean: isMean)
            return true
        case .least(var best, var counts):
            self = .least([], [])
            let isKnown = GroupTotals.replace(&best[group], &counts[group], old?.low, new?.low, change, by: <)
            self = .least(best, counts)
            return isKnown
        case .greatest(var best, var counts):
            self = .greatest([], [])
            let isKnown = GroupTotals.replace(&best[group], &counts[group], old?.low, new?.low, change, by: >)
            self = .greatest(best, counts)
            return isKnown
        }
    }

    func value(_ group: Int) -> Value {
        switch self {
        case .sums(let sums, let counts, isMean: true): GroupSummary.mean(sums[group], of: counts[group])
        case .sums(let sums, _, isMean: false): GroupSummary.sum(sums[group])
        case .least(let best, let counts), .greatest(let best, let counts):
            counts[group] == 0 ? .null : .int(best[group])
        }
    }
}

extension GroupTotals {
    private static func replace(
        _ best: inout Int64, _ count: inout Int64, _ old: Int64?, _ new: Int64?, _ change: Int,
        by isBetter: (Int64, Int64) -> Bool
    ) -> Bool {
        count += Int64(change)
        // It is the only one, or as good as any.
        if let new, count == 1 || !isBetter(best, new) {
            best = new
            return true
        }
        // Others may have had it, too.
        guard let old, old == best, count > 0, !InjectedBug.active(.groupExtremeKept) else { return true }
        return false
    }
}
