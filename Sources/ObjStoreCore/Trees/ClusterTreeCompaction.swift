/// Compaction of object trees: leaves of which much was deleted are put together.
///
/// Deleting leaves a hole in its leaf, because the slot of a row is its key. Where a quarter of a leaf, or more, is
/// holes, its rows and those of its neighbours move side by side into one sparse leaf (`LeafKeys`):
/// ```
///   keyBase 0         4096        8192        12288            0                12288
///   [x..x....x.] [..x....x..] [x.......x.] [xxxxxxxxx]   ─►   [xxxxxxx + keys] [xxxxxxxxx]
/// ```
/// The last leaf of the tree keeps its slots, for rows are added to it; only the texts of the holes go. Nothing that an
/// application can see changes.
extension ClusterWriter {
    /// A leaf is worth being rewritten when it has at most this part of its slots' rows, in quarters.
    private static let loose = 3

    /// Goes through the leaves from the one that has `key` on, until about `budget` rows have been moved. Returns the
    /// key to continue with, nil at the end.
    package func compactRows(from key: Int64, budget: Int) throws(StoreError) -> Int64? {
        _ = try settle()
        try findLastKey()
        return try change { () throws(StoreError) in
            var next = max(key, 0), moved = 0
            var loader: LeafBuilder?
            while moved < budget {
                guard let run = try self.looseRun(from: next) else {
                    let builder = if let loader { loader } else { try LeafBuilder(self.columns) }
                    try self.thinLast(builder)
                    try self.rebuildInner()
                    return nil
                }
                next = run.end
                if run.count == 0 { continue }
                if loader == nil { loader = try LeafBuilder(self.columns) }
                moved += try self.join(run, loader!)
            }
            return next
        }
    }

    /// Frees what leaves have of columns that the class no longer has, from the leaf that has `key` on, until leaves
    /// with about `budget` rows were changed. Returns the key to continue with, nil at the end.
    package func dropColumns(from key: Int64, budget: Int) throws(StoreError) -> Int64? {
        _ = try settle()
        // What to change is found first: the walk must not see its own changes.
        var leaves: [Int64] = [], rows = 0, next: Int64?
        var cursor = LeafCursor(tree, from: max(key, 0))
        while let head = try cursor.next() {
            if rows >= budget {
                next = LeafHead.keyBase(head)
                break
            }
            guard editor.hasUnknownColumns(head) else { continue }
            leaves.append(LeafHead.keyBase(head))
            rows += LeafHead.rows(head)
        }
        try change { () throws(StoreError) in
            for key in leaves where try self.writableLeaf(key) == nil { throw ClusterReader.damaged("a leaf is gone") }
        }
        return next
    }

    /// Neighbouring leaves below one inner node that become one.
    private struct LeafRun {
        /// Keys of the first leaf, and behind the last one that was looked at.
        var start: Int64
        var end: Int64
        /// How many leaves; 0 = none in this node.
        var count: Int
    }

    /// The next run in the inner node that has `key`; nil behind the last node.
    private func looseRun(from key: Int64) throws(StoreError) -> LeafRun? {
        guard case .inner(var node) = try tree.rootNode() else { return nil }
        var following: Int64?
        while ClusterInner.level(node) > 1 {
            let child = ClusterInner.child(node, key)
            if child + 1 < NodeHeader.count(node) { following = ClusterInner.keys(node)[child + 1] }
            node = try tree.innerChild(node, child)
        }
        let keys = ClusterInner.keys(node)
        // The last leaf of the tree is left alone.
        let count = following == nil ? NodeHeader.count(node) - 1 : NodeHeader.count(node)
        var child = 0
        while child < count, keys[child] < LeafHead.keyBase(of: key) { child += 1 }
        var first = child, rows = 0, isLoose = false
        while child < count {
            let head = try tree.leafChild(node, child), live = LeafHead.live(head)
            let leafIsLoose =
                live * 4 <= LeafHead.rows(head) * ClusterWriter.loose
                || live * 4 <= LeafHead.rowsPerLeaf * ClusterWriter.loose
            if rows > 0, !leafIsLoose || rows + live > LeafHead.rowsPerLeaf {
                if child - first > 1 || isLoose { break }
                rows = 0
                isLoose = false
            }
            if rows == 0 { first = child }
            child += 1
            if !leafIsLoose {
                first = child
                continue
            }
            rows += live
            // One that compaction has filled with all there was is not loose by itself.
            if live * 4 <= LeafHead.rows(head) * ClusterWriter.loose { isLoose = true }
        }
        let end = child < NodeHeader.count(node) ? keys[child] : following ?? LeafHead.maximumKey
        if rows > 0, child - first > 1 || isLoose { return LeafRun(start: keys[first], end: end, count: child - first) }
        if child < count { return LeafRun(start: key, end: keys[child], count: 0) }
        return following.map { LeafRun(start: key, end: $0, count: 0) }
    }

    /// Puts the leaves of a run together; returns how many rows moved.
    private func join(_ run: LeafRun, _ loader: LeafBuilder) throws(StoreError) -> Int {
        let joined = try LeafBuilder(columns)
        try joined.beginSparse(keyBase: run.start)
        forgetPath()
        guard try writablePath(run.start) != nil, let step = lastStep else {
            throw ClusterReader.damaged("a leaf is gone")
        }
        for child in step.child..<(step.child + run.count) {
            let leaf = ClusterInner.ref(space.arena.table.pointer(step.ref), child)
            let head = try space.source.node(leaf, .leafHead)
            try loader.load(head, columns, hints: editor.hints, space)
            // The extents of its long values go with the rows.
            try joined.gather(loader, LeafKeys(space.source, head), space)
            try editor.discardKnown(leaf)
        }
        let leaf = try editor.encode(joined)
        let node = space.arena.table.pointer(step.ref)
        ClusterInner.set(node, step.child, key: run.start, ref: leaf, rows: joined.live)
        for _ in 1..<max(1, run.count) { ClusterInner.remove(node, step.child + 1) }
        forgetPath()
        try lowerRoot()
        return joined.live
    }

    /// Writes the last leaf of the tree without what its holes had, where that is much of it.
    private func thinLast(_ loader: LeafBuilder) throws(StoreError) {
        guard lastKey >= 0, let head = try tree.leaf(lastKey),
            LeafHead.live(head) * 4 <= LeafHead.rows(head) * ClusterWriter.loose
        else { return }
        let keys = LeafKeys(space.source, head)
        try loader.load(head, columns, hints: editor.hints, space)
        let texts = loader.textBytes
        // Numbers have their width, whether there is a row or not.
        guard texts.holes >= PageSize.page, texts.holes * 4 >= texts.all else { return }
        let thinned = try LeafBuilder(columns)
        if LeafHead.isSparse(head) {
            try thinned.beginSparse(keyBase: loader.keyBase)
            try thinned.gather(loader, keys, space)
        } else {
            try thinned.copy(loader)
        }
        forgetPath()
        guard let place = try writablePath(lastKey) else { throw ClusterReader.damaged("a leaf is gone") }
        try editor.discardKnown(place)
        setLeaf(try editor.encode(thinned))
        forgetPath()
    }

    /// Rebuilds the inner nodes if there are twice as many as needed.
    private func rebuildInner() throws(StoreError) {
        guard case .inner(let root) = try tree.rootNode(), ClusterInner.level(root) > 1 else { return }
        var leaves: [(key: Int64, ref: Ref, rows: Int)] = []
        var nodes: [Ref] = []
        func collect(_ ref: Ref) throws(StoreError) {
            let node = try space.source.node(ref, .clusterInner)
            nodes.append(ref)
            for index in 0..<NodeHeader.count(node) {
                if ClusterInner.level(node) == 1 {
                    leaves.append(
                        (
                            ClusterInner.keys(node)[index], ClusterInner.ref(node, index),
                            Int(ClusterInner.rows(node)[index])
                        ))
                } else {
                    _ = try tree.innerChild(node, index)
                    try collect(ClusterInner.ref(node, index))
                }
            }
        }
        try collect(treeRoot)
        var needed = 0, width = leaves.count
        repeat {
            width = (width + ClusterInner.capacity - 1) / ClusterInner.capacity
            needed += width
        } while width > 1
        if nodes.count <= 2 * needed { return }
        for node in nodes { try space.discardNode(node, .clusterInner) }
        var level = 1
        while leaves.count > 1 || level == 1 {
            var above: [(key: Int64, ref: Ref, rows: Int)] = []
            var first = 0
            while first < leaves.count {
                let children = leaves[first..<min(first + ClusterInner.capacity, leaves.count)]
                let (ref, node) = try newInner(level: level)
                for (index, child) in children.enumerated() {
                    ClusterInner.set(node, index, key: child.key, ref: child.ref, rows: child.rows)
                }
                NodeHeader.setCount(node, children.count)
                above.append((children.first!.key, ref, children.reduce(0) { $0 + $1.rows }))
                first += children.count
            }
            leaves = above
            level += 1
        }
        treeRoot = leaves[0].ref
        forgetPath()
        try lowerRoot()
    }
}
