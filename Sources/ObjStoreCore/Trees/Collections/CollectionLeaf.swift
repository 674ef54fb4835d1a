/// A leaf of a collection tree: consecutive elements of consecutive owners.
///
/// ```
///  word of the header   16        18        19            20
///                      +---------+---------+-------------+------+
///                      | owners  | columns | owner width |  0   |
///                      +---------+---------+-------------+------+
///  0 header: count = elements
/// 32 lowest owner | 40 descriptions of one column (values) or two (keys, values)
///  owners above the lowest (owners × owner width) | where each one's elements end (owners × 2) | columns
///
///  owners    7        9              12
///  ends      2        5              6
///  values    a  b  |  a  c  d  |  e          7's list begins here or in a leaf before, 12's may continue behind
/// ```
/// Lists and sets have values only; sets are in the order of their values, maps in that of their keys.
struct CollectionLeaf {
    static let columnsAt = 40

    let node: UnsafeRawPointer
    let count: Int
    let ownerCount: Int
    let hasKeys: Bool
    let owners: IndexColumn
    private let ends: UnsafeRawPointer
    /// What the tree is ordered by within an owner, for sets and maps.
    let keys: CollectionColumn
    let values: CollectionColumn

    @inline(__always)
    init(_ node: UnsafeRawPointer) {
        self.node = node
        count = NodeHeader.count(node)
        ownerCount = CollectionLeaf.ownerCount(node)
        hasKeys = CollectionLeaf.columnCount(node) == 2
        let width = CollectionLeaf.ownerWidth(node)
        let start = node + CollectionLeaf.columnsAt + CollectionLeaf.columnCount(node) &* CollectionColumn.description
        owners = IndexColumn(start, width: width, base: node.load(fromByteOffset: 32, as: UInt64.self))
        ends = start + ownerCount &* width
        let first = CollectionColumn(node + CollectionLeaf.columnsAt, data: ends + ownerCount &* 2, count: count)
        keys = first
        values =
            hasKeys
            ? CollectionColumn(
                node + (CollectionLeaf.columnsAt + CollectionColumn.description), data: first.end, count: count) : first
    }

    @inline(__always) static func ownerCount(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 16, as: UInt16.self))
    }
    @inline(__always) static func columnCount(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 18, as: UInt8.self))
    }
    @inline(__always) static func ownerWidth(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 19, as: UInt8.self))
    }
    static func word(owners: Int, columns: Int, ownerWidth: Int) -> UInt64 {
        UInt64(owners) | UInt64(columns) << 16 | UInt64(ownerWidth) << 24
    }

    @inline(__always) func owner(_ index: Int) -> Int64 { Int64(bitPattern: owners[index]) }
    var firstOwner: Int64 { owner(0) }
    /// Behind the last element of owner `index`.
    @inline(__always) func end(_ index: Int) -> Int {
        Int(ends.loadUnaligned(fromByteOffset: index &* 2, as: UInt16.self))
    }
    @inline(__always) func start(_ index: Int) -> Int { index == 0 ? 0 : end(index &- 1) }

    /// An owner has got, or lost, an element: its end and those behind it move. `leaf` is a copy, or the leaf itself.
    func moveEnds(from owner: Int, by delta: Int, in leaf: UnsafeMutableRawPointer) {
        if delta == 0 { return }
        let ends = leaf + (self.ends - node)
        for index in owner..<ownerCount {
            let end = ends.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)
            ends.storeBytes(of: UInt16(Int(end) + delta), toByteOffset: index * 2, as: UInt16.self)
        }
    }

    /// The first owner that is not less than `owner`; `ownerCount` where all are less.
    @inline(__always)
    func ownerIndex(_ owner: Int64) -> Int {
        var low = 0, high = ownerCount
        while low < high {
            let middle = (low &+ high) >> 1
            if self.owner(middle) < owner { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// The owner that has element `index`.
    func ownerIndex(ofElement index: Int) -> Int {
        var low = 0, high = ownerCount &- 1
        while low < high {
            let middle = (low &+ high) >> 1
            if end(middle) <= index { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    // MARK: First touch

    static func isWellFormed(_ node: UnsafeRawPointer, bytes: Int) -> Bool {
        let count = NodeHeader.count(node), owners = ownerCount(node), columns = columnCount(node),
            width = ownerWidth(node)
        guard count > 0, owners > 0, owners <= count, (1...2).contains(columns), width <= 8 else { return false }
        var needed = columnsAt + columns * CollectionColumn.description
        guard bytes >= needed else { return false }
        needed += owners * (width + 2)
        for column in 0..<columns {
            let line = node + columnsAt + column * CollectionColumn.description
            guard CollectionColumn.hasSaneWidths(line) else { return false }
            needed += CollectionColumn.dataBytes(line, count: count)
        }
        guard bytes == needed else { return false }
        let leaf = CollectionLeaf(node)
        var lastOwner: Int64 = -1, lastEnd = 0
        for index in 0..<owners {
            guard leaf.owner(index) > lastOwner, leaf.end(index) > lastEnd else { return false }
            lastOwner = leaf.owner(index)
            lastEnd = leaf.end(index)
        }
        guard lastEnd == count, lastOwner <= LeafHead.maximumKey, leaf.values.isWellFormed(count: count) else {
            return false
        }
        return !leaf.hasKeys || leaf.keys.isWellFormed(count: count)
    }
}

/// One element in memory, between leaves.
struct CollectionElement {
    var owner: Int64
    /// Of maps; else null.
    var key: StoredValue
    var value: StoredValue

    init(owner: Int64, key: StoredValue = StoredValue(.null), value: StoredValue) {
        self.owner = owner; self.key = key; self.value = value
    }
}

extension CollectionLeaf {
    @inline(__always)
    func element(_ index: Int, owner: Int64) -> CollectionElement {
        hasKeys
            ? CollectionElement(owner: owner, key: keys.stored(index), value: values.stored(index))
            : CollectionElement(owner: owner, value: values.stored(index))
    }

    /// Appends the elements of a range; texts point into the leaf.
    func append(_ range: Range<Int>, to elements: inout ContiguousArray<CollectionElement>) {
        if range.isEmpty { return }
        var at = ownerIndex(ofElement: range.lowerBound)
        for index in range {
            while end(at) <= index { at &+= 1 }
            elements.append(element(index, owner: owner(at)))
        }
    }

    /// What a leaf with some elements will look like.
    struct LeafPlan {
        private(set) var owners = 0
        private(set) var keys = CollectionColumnPlan()
        private(set) var values = CollectionColumnPlan()
        let ownerWidth: Int
        let hasKeys: Bool
        let count: Int

        init(_ elements: ArraySlice<CollectionElement>, hasKeys: Bool) {
            var last = Int64.min
            for element in elements {
                if element.owner != last {
                    owners += 1
                    last = element.owner
                }
                if hasKeys { keys.add(element.key) }
                values.add(element.value)
            }
            count = elements.count
            self.hasKeys = hasKeys
            ownerWidth = count == 0 ? 0 : IndexColumn.width(UInt64(bitPattern: last &- elements.first!.owner))
        }

        var columns: Int { hasKeys ? 2 : 1 }
        var bytes: Int {
            columnsAt + columns * CollectionColumn.description + owners * (ownerWidth + 2) + values.bytes(count)
                + (hasKeys ? keys.bytes(count) : 0)
        }

        /// Writes the leaf; `node` has room for `bytes` and a header of that length.
        func write(_ elements: ArraySlice<CollectionElement>, _ node: UnsafeMutableRawPointer) {
            NodeHeader.setCount(node, count)
            NodeHeader.setWord(node, CollectionLeaf.word(owners: owners, columns: columns, ownerWidth: ownerWidth))
            let lowest = elements.first!.owner
            node.storeBytes(of: lowest, toByteOffset: 32, as: Int64.self)
            let ownersAt = node + columnsAt + columns * CollectionColumn.description
            let endsAt = ownersAt + owners * ownerWidth
            var at = -1, last = Int64.min, index = 0
            for element in elements {
                if element.owner != last {
                    at += 1
                    last = element.owner
                    IndexColumn.store(UInt64(bitPattern: last &- lowest), ownersAt + at * ownerWidth, width: ownerWidth)
                }
                index += 1
                endsAt.storeBytes(of: UInt16(truncatingIfNeeded: index), toByteOffset: at * 2, as: UInt16.self)
            }
            var data = endsAt + owners * 2
            let line = node + columnsAt
            if hasKeys {
                data = keys.write(elements.lazy.map(\.key), count: count, line, data)
                _ = values.write(elements.lazy.map(\.value), count: count, line + CollectionColumn.description, data)
            } else {
                _ = values.write(elements.lazy.map(\.value), count: count, line, data)
            }
        }
    }
}

extension NodeKind {
    @inline(__always) package static var collectionLeaf: NodeKind {
        NodeKind(9) { CollectionLeaf.isWellFormed($0, bytes: $1) }
    }
}
