/// Where the links of large lists and maps of a class stand, for who deletes one by one what they lead to.
///
/// ```
///  delete Dog#7, Dog#3, …     each walks through Person#1.dogs as far as its link, until the list is known:
///  target ──► index that it had ──► less those before it that went since: index that it has
///  #7         812,004               31                                    811,973
/// ```
/// What it says is a guess, since a list may be changed by anybody: each place is looked at, and the inverse says how many links
/// there are. A wrong guess costs a walk, and the list is not known any more.
final class LinkPlaces {
    private var known: [KnownPlaces] = []

    /// An object may stand in several lists.
    private static let most = 4
    /// Learning a list costs a few walks through it.
    private static let walks = 4

    /// The indexes of all `count` links to `target`, ascending; nil: they are not known.
    func indexes(of target: Int64, count: Int, _ property: Int, _ elements: CollectionElements, _ range: Range<Int>) throws(StoreError) -> [Int]? {
        let places = try place(property, elements, range)
        guard let places, let indexes = places.indexes(of: target), indexes.count == count else { return forget(places) }
        for index in indexes {
            guard index < range.count, try elements.tree.isLink(to: target, at: range.lowerBound + index) else { return forget(places) }
        }
        return indexes
    }

    /// The links to `target` have become null, or left: those behind them have moved up.
    func remove(_ target: Int64, _ property: Int, _ elements: CollectionElements) {
        known.last { $0.isOf(property, elements.owner) }?.remove(target, closesUp: elements.kind != .map)
    }

    /// What is known of a collection; nil: it has been walked through too seldom.
    private func place(_ property: Int, _ elements: CollectionElements, _ range: Range<Int>) throws(StoreError) -> KnownPlaces? {
        let places: KnownPlaces
        if let index = known.lastIndex(where: { $0.isOf(property, elements.owner) }) {
            places = known[index]
            if index < known.count - 1 {
                known.remove(at: index)
                known.append(places)
            }
        } else {
            places = KnownPlaces(property, elements.owner)
            if known.count == LinkPlaces.most { known.removeFirst() }
            known.append(places)
        }
        if places.isLearnt { return places }
        places.walks += 1
        guard places.walks > LinkPlaces.walks, try places.learn(elements, range) else { return nil }
        return places
    }

    func forgetAll() { known.removeAll() }

    private func forget(_ places: KnownPlaces?) -> [Int]? {
        places?.forget()
        return nil
    }
}

/// The places of one collection's links.
private final class KnownPlaces {
    private let property: Int
    private let owner: Int64
    var walks = 0

    /// By target, from `first` on: the index that its link had, and 1; 0: there is none; `several`: look there.
    private var places: ZeroedMemory?
    private var first: Int64 = 0
    private var span = 0
    private var several: [Int64: [Int]] = [:]
    /// How many links went, as a binary indexed tree over the indexes that they had.
    private var gone: ZeroedMemory?
    private var count = 0

    private static let several = UInt32.max
    /// Bytes that are touched for one element at most, about: where targets lie further from each other, walking is better.
    private static let sparsest = 64
    private static let largest = 1 << 26

    init(_ property: Int, _ owner: Int64) {
        self.property = property
        self.owner = owner
    }

    func isOf(_ property: Int, _ owner: Int64) -> Bool { self.owner == owner && self.property == property }

    var isLearnt: Bool { places != nil }

    func forget() {
        walks = 0
        places = nil
        gone = nil
        several = [:]
    }

    /// False: its links are not remembered, since they lead too far apart.
    func learn(_ elements: CollectionElements, _ range: Range<Int>) throws(StoreError) -> Bool {
        var low = Int64.max, high = Int64.min
        try elements.forEachTarget(in: range) { _, target in
            low = min(low, target)
            high = max(high, target)
        }
        let (distance, isFar) = high.subtractingReportingOverflow(low)
        guard !isFar, distance >= 0, distance / Int64(KnownPlaces.sparsest) < range.count, distance < KnownPlaces.largest, range.count < KnownPlaces.largest else {
            // It is asked again when it has been walked through as often again.
            forget()
            return false
        }
        (first, span, count) = (low, Int(distance) + 1, range.count)
        let memory = try ZeroedMemory(bytes: span * 4)
        let places = memory.base.assumingMemoryBound(to: UInt32.self)
        try elements.forEachTarget(in: range) { index, target in
            let place = places + Int(target &- low)
            switch place.pointee {
            case 0: place.pointee = UInt32(truncatingIfNeeded: index &+ 1)
            case KnownPlaces.several: several[target]!.append(index)
            default:
                several[target] = [Int(place.pointee) - 1, index]
                place.pointee = KnownPlaces.several
            }
        }
        gone = try ZeroedMemory(bytes: (count + 1) * 4)
        self.places = memory
        return true
    }

    private func place(_ target: Int64) -> UnsafeMutablePointer<UInt32>? {
        guard let places, target >= first, target - first < span else { return nil }
        return places.base.assumingMemoryBound(to: UInt32.self) + Int(target - first)
    }

    /// The indexes that links had.
    private func former(_ target: Int64) -> [Int] {
        guard let place = place(target), place.pointee != 0 else { return [] }
        return place.pointee == KnownPlaces.several ? several[target]! : [Int(place.pointee) - 1]
    }

    /// Nil: there are none that are known.
    func indexes(of target: Int64) -> [Int]? {
        guard let gone = gone?.base.assumingMemoryBound(to: UInt32.self) else { return nil }
        return former(target).map { former in
            var before = 0, node = former
            while node > 0 {
                before += Int(gone[node])
                node &= node - 1
            }
            return former - before
        }
    }

    func remove(_ target: Int64, closesUp: Bool) {
        guard let place = place(target), let gone = gone?.base.assumingMemoryBound(to: UInt32.self) else { return }
        if closesUp {
            for former in former(target) {
                var node = former + 1
                while node <= count {
                    gone[node] += 1
                    node += node & -node
                }
            }
        }
        place.pointee = 0
        several[target] = nil
    }
}

extension CollectionElements {
    /// Calls `body` with the index and the target of every link, of elements in the tree.
    @inline(__always)
    fileprivate func forEachTarget(in range: Range<Int>, _ body: (_ index: Int, _ target: Int64) -> Void) throws(StoreError) {
        try forEachLeaf(in: range) { (leaf, rest, index) throws(StoreError) in
            let column = leaf.values
            let isAll = column.kinds == nil && column.kind == ValueKind.link.rawValue
            for at in rest where isAll || column.kindByte(at) == ValueKind.link.rawValue {
                body(index &+ at &- rest.lowerBound, Int64(bitPattern: column.lows[at]))
            }
            return true
        }
    }
}

extension CollectionReader {
    fileprivate func isLink(to target: Int64, at position: Int) throws(StoreError) -> Bool {
        let value = try cursor(at: position).stored.value
        return value.kind == .link && value.low == target
    }
}
