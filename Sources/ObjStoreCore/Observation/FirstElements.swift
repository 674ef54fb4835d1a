/// Which elements of a sequence are the first ones with their values, followed: DISTINCT of a collection, in which an
/// element is known by nothing but its place.
///
/// ```
///  elements    b    a    b    c    a        b: 2 elements, the first is 10
///  flags       1    1    0    1    0        a: 2 elements, the first is 20
///  labels     10   20        30             c: 1 element, 30
///
///  c comes to the front: its label is 0, and the one with 30 is not the first any more
/// ```
/// Labels are numbers of the first ones, which ascend, with gaps: they stay where places change. A byte for each
/// element, and some 150 for each value. A step costs O(log n) for each element that comes or goes. Where the first one
/// with a value goes, and there are others, the next one is looked for behind it.
struct FirstElements {
    private struct Known {
        /// Of the first one; nil: it is being looked for.
        var label: Int64?
        /// Elements.
        var count: Int
        let bytes: [OwnedValue]
    }

    private var flags: FlagList
    private var labels: KeyRanks
    private var known: [RowName: Known] = [:]
    private static let gap: Int64 = 1 << 32

    typealias Element = (place: Int, name: RowName)

    /// How many are the first ones.
    var count: Int { labels.count }

    /// - Parameter name: of each element; nil: it has none, and nothing can be followed.
    init?(count: Int, _ name: (Int) throws(StoreError) -> RowName?) throws(StoreError) {
        try Memory.check(for: count, each: 2)
        var set = [UInt8](repeating: 0, count: count), all: [Int64] = []
        (flags, labels) = (FlagList([]), KeyRanks([].withUnsafeBufferPointer { $0 }))
        for place in 0..<count {
            guard let name = try name(place) else { return nil }
            if known[name] != nil {
                known[name]?.count += 1
                continue
            }
            let label = Int64(all.count) * FirstElements.gap
            try learn(name, label)
            set[place] = 1
            all.append(label)
        }
        flags = FlagList(set)
        labels = all.withUnsafeBufferPointer { KeyRanks($0) }
    }

    /// A value that there is from now on.
    private mutating func learn(_ name: RowName, _ label: Int64?) throws(StoreError) {
        try Memory.check(for: 1, each: 150)
        let (own, bytes) = try name.owned()
        known[own] = Known(label: label, count: 1, bytes: bytes)
    }

    /// Whether an element is the first one with its values, and which of these it is.
    func position(of place: Int) -> Int? { flags[place] ? flags.rank(place) : nil }

    /// Where the first one is that has so many before it; there is one.
    func place(at position: Int) -> Int { flags.place(ofSet: position) }

    // MARK: Following

    /// What a step of all elements is of the first ones.
    struct Step {
        /// Ascending.
        var left: [(position: Int, who: Left)] = []
        /// Ascending, with the places among all after the step.
        var come: [(position: Int, place: Int)] = []

        enum Left {
            /// Which of those that leave.
            case gone(Int)
            /// One that stays at a place after the step, and has another one before it.
            case passed(place: Int)
        }
    }

    /// Nil: it would take too long, and it is of no use any more.
    ///
    /// - Parameters:
    ///   - leaving: with their places before, which ascend.
    ///   - coming: with their places after, which ascend.
    ///   - next: the first element with a value at some places after; the end of these: there is none; nil: that takes
    ///     too long.
    mutating func advance(
        leaving: [Element], coming: [Element],
        next: (RowName, Range<Int>) throws(StoreError) -> Int?
    ) throws(StoreError) -> Step? {
        let before = labels
        var step = Step(), lost: [RowName: Int] = [:], first: [RowName: Int] = [:], arrived: [RowName: Int] = [:]

        // Those that leave, the last one first, so that places hold.
        for index in leaving.indices.reversed() {
            let (place, name) = leaving[index]
            guard let one = known[name] else { throw missing() }
            known[name]?.count -= 1
            if flags[place] {
                guard let label = one.label else { throw missing() }
                step.left.append((before.rank(label), .gone(index)))
                labels.change(removing: [label], adding: [])
                known[name]?.label = nil
                lost[name] = place - index
            }
            flags.remove(place)
        }
        for (place, name) in coming {
            flags.insert(false, at: place)
            if known[name] == nil { try learn(name, nil) } else { known[name]?.count += 1 }
            if first[name] == nil { first[name] = place }
            arrived[name, default: 0] += 1
        }

        // Who is the first one with each value.
        let gaps = coming.indices.map { coming[$0].place - $0 }
        var firsts: [Element] = [], done: Set<RowName> = []
        for (_, name) in leaving + coming where done.insert(name).inserted {
            guard let one = known[name] else { throw missing() }
            if one.count == 0 {
                known[name] = nil
                continue
            }
            let new = first[name]
            if let label = one.label {
                let place = flags.place(ofSet: labels.rank(label))
                guard let new, new < place, !InjectedBug.active(.firstElementKept) else { continue }
                step.left.append((before.rank(label), .passed(place: place)))
                labels.change(removing: [label], adding: [])
                flags.change(place, to: false)
                known[name]?.label = nil
                firsts.append((new, name))
            } else if let new, one.count == arrived[name] {
                firsts.append((new, name))
            } else {
                guard let lost = lost[name] else { throw missing() }
                // Of those that stay: behind whoever came before it.
                let start = lost + gaps.placeAscending(lost + 1), end = new ?? flags.count
                guard let found = start < end ? try next(name, start..<end) : end else { return nil }
                guard found < flags.count else { throw missing() }
                firsts.append((found, name))
            }
        }
        firsts.sort { $0.place < $1.place }
        for (place, name) in firsts {
            let label = label(at: flags.rank(place))
            labels.change(removing: [], adding: [label])
            flags.change(place, to: true)
            known[name]?.label = label
        }
        step.left.sort { $0.position < $1.position }
        for (place, _) in firsts { step.come.append((flags.rank(place), place)) }
        return step
    }

    private func missing() -> StoreError {
        StoreError(.internalError, "an observed DISTINCT does not have an element that its collection has")
    }

    /// For one that has so many before it.
    private mutating func label(at rank: Int) -> Int64 {
        if let label = room(at: rank) { return label }
        spread()
        // There are gaps now.
        return room(at: rank).unsafelyUnwrapped
    }

    private func room(at rank: Int) -> Int64? {
        let low = rank > 0 ? labels[rank - 1] : nil, high = rank < labels.count ? labels[rank] : nil
        switch (low, high) {
        case (nil, nil): return 0
        case (nil, let high?): return high > .min / 2 ? high - FirstElements.gap : nil
        case (let low?, nil): return low < .max / 2 ? low + FirstElements.gap : nil
        case (let low?, let high?): return high - low > 1 ? low + (high - low) / 2 : nil
        }
    }

    /// Labels with gaps again.
    private mutating func spread() {
        for (name, one) in known {
            if let label = one.label { known[name]?.label = Int64(labels.rank(label)) * FirstElements.gap }
        }
        labels = (0..<labels.count).map { Int64($0) * FirstElements.gap }.withUnsafeBufferPointer { KeyRanks($0) }
    }
}

extension RowName {
    /// The same with bytes of its own.
    fileprivate func owned() throws(StoreError) -> (name: RowName, bytes: [OwnedValue]) {
        var bytes: [OwnedValue] = []
        func own(_ element: ElementValue) throws(StoreError) -> ElementValue {
            guard element.value.kind.hasBytes else { return element }
            let own = try OwnedValue(copying: element.value)
            bytes.append(own)
            return ElementValue(own.value)
        }
        switch self {
        case .number: return (self, [])
        case .value(let element): return (.value(try own(element)), bytes)
        case .values(let elements):
            return (.values(try elements.map { (element) throws(StoreError) in try own(element) }), bytes)
        }
    }
}
