/// Where the links of large lists and maps of a class are, for deleting one by one what they lead to.
///
/// ```
///  delete Dog#7, Dog#3, …     each walks through Person#1.dogs as far as its link, until the list is known:
///  target ──► block that its link was in ──► less those before it that went since: where it is
///  #7         50,750: 812,000 to 812,015     31                                    811,969 to 811,984
/// ```
/// What it says is a guess, since a list may be changed by other code: the links are looked for there, and the inverse
/// says how many there are. A wrong guess costs a walk, and the list is not known any more.
final class LinkPlaces {
    private var known: [KnownPlaces] = []

    /// An object may be in several lists.
    private static let most = 4
    /// Learning a list costs a few walks through it.
    private static let walks = 4

    /// The indexes of all `count` links to `target`, ascending; nil: they are not known.
    func indexes(
        of target: Int64, count: Int, _ property: Int, _ elements: CollectionElements, _ range: Range<Int>
    ) throws(StoreError) -> [Int]? {
        let places = try place(property, elements, range)
        guard let places else { return nil }
        var indexes: [Int] = []
        for block in places.blocks(of: target) {
            let block = block.clamped(to: 0..<range.count)
            let positions = range.lowerBound + block.lowerBound..<range.lowerBound + block.upperBound
            try elements.forEachLink(.to(target), in: positions, atMost: count) { (index, _) throws(StoreError) in
                indexes.append(block.lowerBound + index)
            }
        }
        if indexes.count == count { return indexes }
        places.forget()
        return nil
    }

    /// The links to `target` have become null, or left: those behind them have moved up.
    func remove(_ target: Int64, _ property: Int, _ elements: CollectionElements) {
        known.last { $0.isOf(property, elements.owner) }?.remove(target, closesUp: elements.kind != .map)
    }

    /// What is known of a collection; nil: it has been walked through too seldom.
    private func place(
        _ property: Int, _ elements: CollectionElements, _ range: Range<Int>
    ) throws(StoreError) -> KnownPlaces? {
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
}

/// The places of one collection's links.
private final class KnownPlaces {
    private let property: Int
    private let owner: Int64
    var walks = 0

    /// By target, from `first` on: the block that its link was in, and 1; 0: there is none; `several`: look there.
    private var places: ZeroedMemory?
    private var first: Int64 = 0
    private var span = 0
    /// A block for each link, ascending.
    private var several: [Int64: [Int]] = [:]
    /// How many links of each block went, as a binary indexed tree.
    private var gone: [UInt32] = []
    private var count = 0
    /// Of blocks, 2 to the power of it.
    private var shift = 0

    private static let several = UInt16.max
    /// Bytes that are touched for one element at most, about: where targets lie further from each other, walking is
    /// better.
    private static let sparsest = 64
    private static let largest = 1 << 26
    private static let sample = 1000

    init(_ property: Int, _ owner: Int64) {
        self.property = property
        self.owner = owner
    }

    func isOf(_ property: Int, _ owner: Int64) -> Bool { self.owner == owner && self.property == property }

    var isLearnt: Bool { places != nil }

    func forget() {
        walks = 0
        places = nil
        gone = []
        several = [:]
    }

    /// False: its links are not remembered, since they lead too far apart.
    func learn(_ elements: CollectionElements, _ range: Range<Int>) throws(StoreError) -> Bool {
        guard range.count < KnownPlaces.largest, let targets = try span(elements, range) else {
            // It is queried again when it has been walked through as often again.
            forget()
            return false
        }
        (first, span, count, shift) = (targets.first, targets.count, range.count, 0)
        while count >> shift >= Int(KnownPlaces.several) - 1 { shift += 1 }
        let memory = try ZeroedMemory(bytes: span * 2)
        let places = memory.base.assumingMemoryBound(to: UInt16.self)
        let low = first, shift = UInt64(shift)
        // Where the first links lead everywhere, nearly every page is going to be written, in no order.
        var highest = low
        try elements.forEachTarget(in: range.lowerBound..<min(range.lowerBound + KnownPlaces.sample, range.upperBound))
        { highest = max(highest, $1) }
        memory.populate(Int(highest &- low) * 2)
        try elements.forEachTarget(in: range) { index, target in
            let place = places + Int(target &- low)
            let block = index &>> shift
            switch place.pointee {
            case 0: place.pointee = UInt16(truncatingIfNeeded: block &+ 1)
            case KnownPlaces.several: several[target]!.append(block)
            default:
                several[target] = [Int(place.pointee) - 1, block]
                place.pointee = KnownPlaces.several
            }
        }
        gone = Array(repeating: 0, count: count >> self.shift + 2)
        self.places = memory
        return true
    }

    /// From the lowest target to the highest, which the heads of leaves bound, and if that is too much, the links give
    /// exactly; nil: they lie too far apart.
    private func span(
        _ elements: CollectionElements, _ range: Range<Int>
    ) throws(StoreError) -> (first: Int64, count: Int)? {
        var low = Int64.max, high = Int64.min
        try elements.forEachLeaf(in: range) { (leaf, _, _) throws(StoreError) in
            let lows = leaf.values.lows, most = Int64(clamping: IndexColumn.limit(lows.width))
            let (end, isFar) = Int64(bitPattern: lows.base).addingReportingOverflow(most)
            low = min(low, Int64(bitPattern: lows.base))
            high = isFar ? .max : max(high, end)
            return true
        }
        if let span = KnownPlaces.span(low, high, range.count) { return span }
        (low, high) = (.max, .min)
        try elements.forEachTarget(in: range) { _, target in
            low = min(low, target)
            high = max(high, target)
        }
        return KnownPlaces.span(low, high, range.count)
    }

    private static func span(_ low: Int64, _ high: Int64, _ links: Int) -> (first: Int64, count: Int)? {
        let (distance, isFar) = high.subtractingReportingOverflow(low)
        guard !isFar, distance >= 0, distance / Int64(sparsest) < links, distance < largest else { return nil }
        return (low, Int(distance) + 1)
    }

    private func place(_ target: Int64) -> UnsafeMutablePointer<UInt16>? {
        guard let places, UInt64(bitPattern: target &- first) < UInt64(span) else { return nil }
        return places.base.assumingMemoryBound(to: UInt16.self) + Int(target - first)
    }

    /// For each of its links.
    private func formerBlocks(_ target: Int64) -> [Int] {
        guard let place = place(target), place.pointee != 0 else { return [] }
        return place.pointee == KnownPlaces.several ? several[target]! : [Int(place.pointee) - 1]
    }

    /// Where its links are now: indexes, ascending, none twice.
    func blocks(of target: Int64) -> [Range<Int>] {
        var blocks: [Range<Int>] = [], last = -1
        for block in formerBlocks(target) where block != last {
            blocks.append(start(block)..<start(block + 1))
            last = block
        }
        return blocks
    }

    private func start(_ block: Int) -> Int {
        var gone = 0, node = block
        while node > 0 {
            gone += Int(self.gone[node])
            node &= node - 1
        }
        return min(block << shift, count) - gone
    }

    func remove(_ target: Int64, closesUp: Bool) {
        guard let place = place(target) else { return }
        if closesUp {
            for block in formerBlocks(target) {
                var node = block + 1
                while node < gone.count {
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
    fileprivate func forEachTarget(
        in range: Range<Int>, _ body: (_ index: Int, _ target: Int64) -> Void
    ) throws(StoreError) {
        try forEachLeaf(in: range) { (leaf, rest, index) throws(StoreError) in
            let column = leaf.values, lows = column.lows, first = index &- rest.lowerBound
            if column.kinds == nil {
                guard column.kind == ValueKind.link.rawValue else { return true }
                for at in rest { body(first &+ at, Int64(bitPattern: lows[at])) }
            } else {
                for at in rest where column.kindByte(at) == ValueKind.link.rawValue {
                    body(first &+ at, Int64(bitPattern: lows[at]))
                }
            }
            return true
        }
    }
}
