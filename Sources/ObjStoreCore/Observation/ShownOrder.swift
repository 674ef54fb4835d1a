/// Where an object belongs in the list of a reader who has not been told of everything yet, by the values that he has:
/// those of the version that he has been told of, and what he has written himself since.
///
/// ```
///  he knows      a 1   b 5   c 9
///  others write  a 7         unseen
///  he writes     x 8         a 1   b 5   x 8   c 9       and not behind a, where it stands in the version
/// ```
final class ShownOrder {
    private let scope: ObserverScope
    private let keys: [SortKey]
    private let told: OrderStep.Side
    /// As he has written it.
    private var own: [Int64: OrderStep.Side] = [:]
    private var now: OrderStep.Side
    /// Objects that he has given another place.
    private(set) var turned: Set<Int64> = []

    /// Nil: he has written in no part himself, or objects do not have that order by themselves.
    ///
    /// - Parameter parts: from the version that he knows on.
    init?(_ scope: ObserverScope, _ parts: [ObservedAnswer.Part]) throws(StoreError) {
        guard let known = parts.first?.reader.from, parts.contains(where: \.isSilent), let keys = scope.ownOrder,
            scope.isAskable(in: known.schema)
        else { return nil }
        self.keys = keys
        self.scope = scope
        told = try OrderStep.Side(scope.query, keys, known)
        now = told
    }

    /// What comes next he has written himself.
    func move(over reader: ChangeReader) throws(StoreError) {
        let before = try OrderStep.Side(scope.query, keys, reader.from)
        now = try OrderStep.Side(scope.query, keys, reader.to)
        turned = []
        let touched = try TouchedObjects(reader).keys(sortedBy: keys, Int(scope.classID))
        for key in touched.union(reader.classes[scope.classID]?.modified ?? []) {
            // Something may lead to one that came, or went.
            guard try before.has(key), try now.has(key), try !before.hasSameValues(key, now) else { continue }
            turned.insert(key)
        }
    }

    /// An object is where he has put it.
    func note(_ key: Int64) { own[key] = now }

    /// Puts one that he has written into his list.
    func insert(_ key: Int64, into list: inout [Int64]) throws(StoreError) {
        note(key)
        let values = try now.values(key)
        var low = 0, high = list.count
        while low < high {
            let middle = (low + high) / 2, other = list[middle]
            let order = try (own[other] ?? told).order(of: other, nil, values, keys.count)
            if order == 0 ? other < key : order < 0 { low = middle + 1 } else { high = middle }
        }
        list.insert(key, at: low)
    }
}
