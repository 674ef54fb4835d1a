/// Places the dirty nodes and parts of one object tree in the file, children before parents.
///
/// Leaves go out in groups of up to 16 (64k rows), column by column, so that a scan of one column reads a
/// long run of the file:
///
/// ```
///   [c0 of leaf 0][c0 of leaf 1]…[c0 of leaf 15][c1 of leaf 0]…[heads of leaves 0…15]
/// ```
///
/// Where a savepoint holds dirty extents they stay in memory, and with them everything above them: what is placed
/// refers to the file only.
struct ClusterFlush {
    let space: WriteSpace
    let writer: ExtentWriter
    private typealias Group = InlineArray<16, Ref>

    func flush(_ root: Ref, _ tree: ClusterReader) throws(StoreError) -> Ref {
        if !root.isDirty { return root }
        switch try tree.rootNode() {
        case .empty: return root
        case .leaf:
            if try !isWholly(root) { return root }
            var leaves = Group(repeating: root)
            try flushLeaves(&leaves, 1)
            return leaves[0]
        case .inner:
            return try flushInner(root)
        }
    }

    private func flushInner(_ ref: Ref) throws(StoreError) -> Ref {
        if !space.isOwn(ref) { return ref }
        let node = space.arena.table.pointer(ref)
        let count = NodeHeader.count(node)
        var staysDirty = false
        if ClusterInner.level(node) > 1 {
            for index in 0..<count {
                let child = ClusterInner.ref(node, index)
                if !child.isDirty { continue }
                let placed = try flushInner(child)
                ClusterInner.setRef(node, index, placed)
                if placed.isDirty { staysDirty = true }
            }
            return staysDirty ? ref : try writer.node(ref)
        }
        var group = Group(repeating: .null), places = InlineArray<16, Int>(repeating: 0)
        var waiting = 0
        for index in 0..<count {
            let child = ClusterInner.ref(node, index)
            if child.isDirty {
                if try isWholly(child) {
                    group[waiting] = child
                    places[waiting] = index
                    waiting += 1
                } else {
                    staysDirty = true
                }
            }
            if waiting == group.count || index == count - 1 {
                try flushLeaves(&group, waiting)
                for at in 0..<waiting { ClusterInner.setRef(node, places[at], group[at]) }
                waiting = 0
            }
        }
        return staysDirty ? ref : try writer.node(ref)
    }

    /// Whether no savepoint holds the dirty leaf, or a dirty extent of it.
    private func isWholly(_ leaf: Ref) throws(StoreError) -> Bool {
        if _fastPath(space.ownsAll) { return true }
        if !space.isOwn(leaf) { return false }
        return try LeafExtents(space.source).isOwn(space.arena.table.pointer(leaf), space)
    }

    /// Replaces dirty heads by their places.
    private func flushLeaves(_ leaves: inout Group, _ count: Int) throws(StoreError) {
        let extents = LeafExtents(space.source)
        var lines = 0
        for index in 0..<count {
            let leaf = leaves[index]
            try extents.prepareBirths(leaf, version: writer.version, space)
            lines = max(lines, LeafHead.entries(space.arena.table.pointer(leaf)))
        }
        for line in 0..<lines {
            for index in 0..<count { try extents.place(leaves[index], line: line, writer, space) }
        }
        for index in 0..<count { leaves[index] = try writer.node(leaves[index]) }
    }
}
