/// Which of some objects with equal values a collection has before others that come to them, asked in the order of the
/// collection.
///
/// ```
///  elements   a  B  c  D  e  X  f  B  Y      B D B have equal values, X and Y come and have the same
///  before X   B D: found at its places, or at D, the nearest one
///  before Y   B D B: found back to X at most
/// ```
struct ElementTies {
    private let elements: CollectionElements
    /// Of those that come, and are in no order yet.
    private let coming: Set<Int>
    /// Positions in the answer.
    private let equals: Range<Int>
    private let key: Int64
    /// Where the collection has the objects, ascending; nil: they are many.
    private var places: [Int]?
    /// Nil: they are too many even for a table.
    private var table: Set<Int64>?
    /// What was asked last.
    private var last = (place: -1, count: 0)

    /// So many are looked for one by one.
    private static let mostLookedFor = 16
    /// So many are put into a table; of more those that are not there are seldom met.
    private static let mostKnown = 4096
    private static let block = 64

    /// - Parameters:
    ///   - equals: their positions in the answer; not none.
    ///   - key: an object with the same values.
    ///   - coming: places of elements that are not in the answer yet.
    /// Where it takes too long, so does the next question.
    init(
        _ equals: Range<Int>, as key: Int64, _ answer: OrderedKeys, _ side: OrderStep.Side,
        _ elements: CollectionElements, _ coming: Set<Int>, _ effort: inout LookUpEffort
    ) throws(StoreError) {
        (self.equals, self.key, self.elements, self.coming) = (equals, key, elements, coming)
        guard equals.count <= ElementTies.mostKnown, effort.takes(tableOf: equals.count) else { return }
        let table = Set(equals.map { answer.key(at: $0) })
        guard table.count <= ElementTies.mostLookedFor else {
            self.table = table
            return
        }
        var places: [Int] = []
        for key in table {
            guard effort.takesScan() else { return }
            try elements.forEachLink(.to(key)) { (place, _) in if !coming.contains(place) { places.append(place) } }
        }
        self.places = places.sorted()
    }

    /// How many of them are before a place; nil: it takes too long.
    mutating func count(
        before place: Int, _ answer: OrderedKeys, _ side: OrderStep.Side, _ flags: FlagList?,
        _ effort: inout LookUpEffort
    ) throws(StoreError) -> Int? {
        if let places { return places.placeAscending(place) }
        guard let nearest = try nearest(before: place, side, flags, &effort) else { return nil }
        if let nearest {
            guard effort.takes(keys: equals.count) else { return nil }
            let positions = answer.positions(of: nearest.key, in: equals)
            var occurrence = 1
            if positions.count > 1 {
                guard effort.takesScan() else { return nil }
                occurrence = try count(of: nearest.key, until: nearest.place)
            }
            guard occurrence > 0, occurrence <= positions.count else {
                throw StoreError(
                    .internalError, "an observed order has the object \(nearest.key) \(positions.count) times")
            }
            last.count = positions[occurrence - 1] + 1 - equals.lowerBound
        }
        last.place = place
        return last.count
    }

    /// The nearest of them before a place, but behind that which was asked last; nil: it takes too long, and inside of
    /// that: there is none.
    private func nearest(
        before place: Int, _ side: OrderStep.Side, _ flags: FlagList?, _ effort: inout LookUpEffort
    ) throws(StoreError) -> (place: Int, key: Int64)?? {
        let values = table == nil ? try side.values(key) : nil
        var end = place, links: [Value] = []
        while end > last.place + 1 {
            let start = max(last.place + 1, end - ElementTies.block)
            links.removeAll(keepingCapacity: true)
            try elements.forEach(from: start, limit: end - start) { (_, link) in
                links.append(link)
                return true
            }
            for index in links.indices.reversed() {
                let link = links[index]
                guard effort.takes(elements: 1) else { return nil }
                if link.isNull || flags?[start + index] == false || coming.contains(start + index) { continue }
                if let table {
                    if table.contains(link.low) { return .some((start + index, link.low)) }
                } else if let values, try side.order(of: link.low, nil, values, values.values.count) == 0 {
                    return .some((start + index, link.low))
                }
            }
            end = start
        }
        return .some(nil)
    }

    private func count(of key: Int64, until last: Int) throws(StoreError) -> Int {
        var count = 0
        func add(_ place: Int, _: Value) { if place <= last && !coming.contains(place) { count += 1 } }
        if elements.kind != .set, let range = try elements.range() {
            let part = range.lowerBound..<range.lowerBound + last + 1
            try elements.forEachLink(.to(key), in: part, atMost: .max, add)
        } else {
            try elements.forEachLink(.to(key), add)
        }
        return count
    }
}
