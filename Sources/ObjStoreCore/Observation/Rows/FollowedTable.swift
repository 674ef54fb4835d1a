internal import Synchronization

/// A table of groups that can be followed, as far as its query says it: of all objects that satisfy a condition. In
/// which way sums and least values are, is found out.
final class FollowedTable: Sendable {
    let query: TableQuery
    /// Of objects in an order of their own: the first object of each group, in that order; nil: its groups are in the
    /// order of creation, or there is one.
    let firsts: ObserverScope?
    /// Which of two values that are equal comes first is not known.
    private let isOrdered: Bool
    /// 0: exactly; 1: by values; more: neither, so often and one less: trying costs more than asking.
    private let state = Atomic<Int>(0)
    private static let rests = 65
    /// The least or greatest value of a group has gone once: others are kept from now on.
    private let keepsBest = Atomic<Bool>(false)

    /// Nil: it cannot.
    ///
    /// - Parameter paths: what groups are made of.
    init?(_ query: TableQuery, _ objects: ObserverScope, _ paths: ObservedPaths) {
        guard let grouping = query.grouping, query.canFollowGroups else { return nil }
        self.query = query
        switch objects.way {
        case .ranks: (firsts, isOrdered) = (nil, false)
        case .order(_, .uncut):
            guard grouping.slots.allSatisfy(\.isSameInAnyOrder) else { return nil }
            isOrdered = true
            if grouping.keys == 0 {
                firsts = nil
                break
            }
            let firsts = ObserverScope(query.firstsOfGroups(grouping), paths)
            guard case .firsts = firsts.way else { return nil }
            self.firsts = firsts
        case .order, .firsts, .elements, .stretch, .list, .collection, .rows: return nil
        }
    }

    /// How groups are to be found; nil: so that they are not followed.
    var next: GroupFollowing? {
        let state = state.load(ordering: .relaxed)
        if state > 1 {
            self.state.store(state == 2 ? 0 : state - 1, ordering: .relaxed)
            return nil
        }
        return GroupFollowing(
            sums: state == 0 ? .exactly : .byValues, keepsBest: keepsBest.load(ordering: .relaxed))
    }

    func cannot(_ following: GroupFollowing) {
        // Rounded values would have to be added up in the order of the objects.
        state.store(following.sums == .exactly && !isOrdered ? 1 : FollowedTable.rests, ordering: .relaxed)
    }

    func hasLostBest() { keepsBest.store(true, ordering: .relaxed) }
}

extension TableQuery {
    /// Something is asked of what a key leads to: it is read for each group that there is, and not followed.
    var looksBehindKeys: Bool {
        grouping.map { $0.slots.dropFirst($0.keys).contains { if case .value = $0 { true } else { false } } } ?? false
    }

    /// What its groups are made of: keys, and what is added up.
    var valuesOfGroups: [ObjectValue] {
        guard let grouping else { return values }
        return grouping.slots.enumerated().compactMap { number, slot in
            switch slot {
            case .count: nil
            case .value(let value): number < grouping.keys ? value : nil
            case .aggregate(_, let value, _): value
            }
        }
    }

    /// Whether what its groups are made of can be followed.
    fileprivate var canFollowGroups: Bool {
        !callsFunctions && valuesOfGroups.allSatisfy { $0.path.map(QueryPaths.canFollow) ?? true }
    }

    /// Of each group the object that it begins with.
    fileprivate func firstsOfGroups(_ grouping: Grouping) -> Query {
        let keys = grouping.slots.prefix(grouping.keys).compactMap { slot in
            if case .value(let value) = slot { SortKey(of: value) } else { nil }
        }
        return Query(
            objects.classID, storeTag: objects.storeTag, objects.predicate, of: objects.origin,
            steps: objects.steps + [.distinct(keys)], parts: [objects])
    }
}

extension GroupSlot {
    /// What the objects of a group are says it, whichever of them comes first. (Of rounded sums that is found out.)
    fileprivate var isSameInAnyOrder: Bool {
        switch self {
        case .aggregate(.minimum, let value, _), .aggregate(.maximum, let value, _):
            // One of floats may be 0.0 or -0.0: see `GroupTotals.isAmbiguous`.
            value.kind != .decimal128 && value.kind != .mixed
        case .aggregate, .count, .value: true
        }
    }
}
