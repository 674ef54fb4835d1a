/// Walks the object tree of a class leaf by leaf and continues behind what is damaged.
///
/// Each node is checked before it is used: bounds, hash, tag, structure, level, order of keys, version. A node that
/// fails is reported with the keys that its parent says are below it, and its siblings are visited all the same.
struct ClusterWalk {
    let source: PageSource
    /// No node of it is younger.
    let version: UInt64

    /// A subtree that cannot be read, or what contradicts itself in one that can.
    struct Damage {
        var keys: Range<Int64>
        /// Rows that cannot be reached; 0 where all can, nil if unknown.
        var rows: Int?
        var message: String
    }

    /// What was found below a node.
    private struct Below {
        var rows = 0
        var isWhole = true
    }

    /// The first key that the next leaf may begin with.
    private var nextKey: Int64 = 0

    init(source: PageSource, version: UInt64) {
        self.source = source
        self.version = version
    }

    /// - Parameters:
    ///   - rows: how many the tree should have, where that is known.
    ///   - visit: each node that is reached; what it throws (`.corrupt`: reached before) makes it a damaged one.
    mutating func run(
        _ root: Ref, rows: Int?, visit: (VisitedExtent) throws(StoreError) -> Void,
        leaf: (UnsafeRawPointer) throws(StoreError) -> Void, damaged: (Damage) throws(StoreError) -> Void
    ) throws(StoreError) {
        nextKey = 0
        if root.isNull {
            if let rows, rows > 0 { try damaged(Damage(keys: 0..<Int64.max, rows: rows, message: "the tree is empty")) }
            return
        }
        let below = try descend(root, level: nil, 0..<Int64.max, rows: rows, visit, leaf, damaged)
        if below.isWhole, let rows, below.rows != rows {
            try damaged(
                Damage(
                    keys: 0..<Int64.max, rows: 0,
                    message: "the class counts \(rows) objects, its tree has \(below.rows)"))
        }
    }

    private mutating func descend(
        _ ref: Ref, level: Int?, _ keys: Range<Int64>, rows: Int?, _ visit: (VisitedExtent) throws(StoreError) -> Void,
        _ leaf: (UnsafeRawPointer) throws(StoreError) -> Void, _ damaged: (Damage) throws(StoreError) -> Void
    ) throws(StoreError) -> Below {
        let node: UnsafeRawPointer, isLeaf: Bool
        do throws(StoreError) {
            (node, isLeaf) = try open(ref, level: level, keys)
            try visit(
                VisitedExtent(
                    unit: ref.unit, units: PageSize.units(NodeHeader.bytes(node)), born: NodeHeader.born(node)))
        } catch {
            guard error.isDamage else { throw error }
            try damaged(Damage(keys: keys, rows: rows, message: error.message))
            return Below(rows: 0, isWhole: false)
        }
        if isLeaf {
            // Leaves begin at multiples of 4096; one that lists its keys may hold more than those up to the next.
            nextKey =
                LeafHead.keyBase(node)
                + (LeafHead.isSparse(node) ? LeafHead.keyBase(of: LeafHead.keyEntry(node).max) : 0)
                + Int64(LeafHead.rowsPerLeaf)
            try leaf(node)
            return Below(rows: LeafHead.live(node), isWhole: true)
        }
        let count = NodeHeader.count(node), level = ClusterInner.level(node), firstKeys = ClusterInner.keys(node)
        var all = Below()
        for index in 0..<count {
            // A leaf that lists its keys has them up to the next one's; the last one has none.
            let upper =
                index + 1 < count
                ? firstKeys[index + 1] : level == 1 ? firstKeys[index] + Int64(LeafHead.rowsPerLeaf) : keys.upperBound
            let range = firstKeys[index]..<max(firstKeys[index], upper), said = Int(ClusterInner.rows(node)[index])
            let below = try descend(
                ClusterInner.ref(node, index), level: level - 1, range, rows: said, visit, leaf, damaged)
            if below.isWhole, below.rows != said {
                try damaged(
                    Damage(keys: range, rows: 0, message: "the tree counts \(said) rows there, and has \(below.rows)"))
            }
            all.rows += below.rows
            if !below.isWhole { all.isWhole = false }
        }
        return all
    }

    /// `level` nil: the root, which may be a leaf or an inner node of any level.
    private func open(
        _ ref: Ref, level: Int?, _ keys: Range<Int64>
    ) throws(StoreError) -> (UnsafeRawPointer, isLeaf: Bool) {
        let isLeaf: Bool
        if let level {
            isLeaf = level == 0
        } else {
            // Which kind to expect is read before the check that it lies there.
            guard ref.offset <= source.limit - NodeHeader.size else {
                throw ClusterReader.damaged("the root of the object tree lies outside the file")
            }
            isLeaf = NodeHeader.kind(source.base + ref.offset) != NodeKind.clusterInner.rawValue
        }
        let node = try source.node(ref, isLeaf ? .leafHead : .clusterInner)
        if !isLeaf, let level, ClusterInner.level(node) != level {
            throw ClusterReader.damaged("levels of the object tree")
        }
        let first = isLeaf ? LeafHead.keyBase(node) : ClusterInner.keys(node)[0]
        guard keys.contains(first) || first == keys.lowerBound else {
            throw ClusterReader.damaged("a node of the object tree holds other keys")
        }
        guard !isLeaf || first >= nextKey else {
            throw ClusterReader.damaged("leaves of the object tree are out of order")
        }
        if level == nil, !isLeaf, NodeHeader.count(node) < 2 {
            throw ClusterReader.damaged("the root of the object tree has one child")
        }
        guard NodeHeader.born(node) <= version else {
            throw ClusterReader.damaged("a node of version \(NodeHeader.born(node)) in version \(version)")
        }
        return (node, isLeaf)
    }
}
