/// Where the elements of a list are after another change to it.
struct Realigned {
    /// Of each element that there was; nil: it is gone.
    private var places: [Int?]

    init<Element>(_ before: [Element], _ after: [Element], _ isSame: (Element, Element) -> Bool) {
        places = Array(repeating: nil, count: before.count)
        let most = Swift.min(before.count, after.count)
        var start = 0, end = 0
        while start < most, isSame(before[start], after[start]) { start += 1 }
        while end < most - start, isSame(before[before.count - 1 - end], after[after.count - 1 - end]) { end += 1 }
        for index in 0..<start { places[index] = index }
        for index in 0..<end { places[before.count - 1 - index] = after.count - 1 - index }
        let old = Array(before[start..<before.count - end]), new = Array(after[start..<after.count - end])
        for (from, to) in Realigned.pairs(old, new, isSame) { places[start + from] = start + to }
    }

    /// Some of them, by where they were.
    func now(_ indexes: RangeSet<Int>) -> RangeSet<Int> {
        var found = RangeSet<Int>()
        for index in indexes.ranges.joined() {
            if let place = places[index] { found.insert(contentsOf: place..<place + 1) }
        }
        return found
    }

    /// Which of the old ones is which of the new ones.
    private static func pairs<Element>(
        _ old: [Element], _ new: [Element], _ isSame: (Element, Element) -> Bool
    ) -> [(from: Int, to: Int)] {
        // Mostly elements only went, or only came, which is found in one go.
        if let kept = places(of: new, in: old, isSame) { return kept.enumerated().map { ($1, $0) } }
        if let kept = places(of: old, in: new, isSame) { return kept.enumerated().map { ($0, $1) } }
        let change = new.difference(from: old, by: isSame)
        var gone: Set<Int> = [], come: Set<Int> = []
        for step in change {
            switch step {
            case .remove(let offset, _, _): gone.insert(offset)
            case .insert(let offset, _, _): come.insert(offset)
            }
        }
        return Array(zip(old.indices.filter { !gone.contains($0) }, new.indices.filter { !come.contains($0) }))
    }

    /// Where all of `some` are in `all`, in the same order; nil: they are not.
    private static func places<Element>(
        of some: [Element], in all: [Element], _ isSame: (Element, Element) -> Bool
    ) -> [Int]? {
        var found: [Int] = [], next = 0
        for element in some {
            while next < all.count, !isSame(all[next], element) { next += 1 }
            guard next < all.count else { return nil }
            found.append(next)
            next += 1
        }
        return found
    }
}
