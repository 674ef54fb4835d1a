/// How an object tree grows at its right edge and loses leaves and levels.
extension ClusterWriter {
    /// Adds a leaf at the right edge.
    func appendLeaf(_ leaf: Ref, keyBase: Int64, rows: Int) throws(StoreError) {
        forgetPath()
        switch try tree.rootNode() {
        case .empty:
            treeRoot = leaf
            return
        case .leaf(let head):
            let (ref, node) = try newInner(level: 1)
            ClusterInner.set(node, 0, key: LeafHead.keyBase(head), ref: treeRoot, rows: LeafHead.live(head))
            ClusterInner.set(node, 1, key: keyBase, ref: leaf, rows: rows)
            NodeHeader.setCount(node, 2)
            treeRoot = ref
            return
        case .inner:
            break
        }
        // The right edge, dirty from the root down.
        var edge: [Ref] = []
        var (ref, node) = try space.writableNode(treeRoot, .clusterInner)
        treeRoot = ref
        edge.append(ref)
        while ClusterInner.level(node) > 1 {
            let last = NodeHeader.count(node) - 1
            _ = try tree.innerChild(node, last)
            let (childRef, childNode) = try space.writableNode(ClusterInner.ref(node, last), .clusterInner)
            ClusterInner.setRef(node, last, childRef)
            (ref, node) = (childRef, childNode)
            edge.append(ref)
        }
        // Into the lowest node of the edge that has room; below it new nodes with one child each.
        var level = 1, child = leaf
        while let ref = edge.popLast() {
            let node = space.arena.table.pointer(ref)
            let count = NodeHeader.count(node)
            if count < ClusterInner.capacity {
                ClusterInner.set(node, count, key: keyBase, ref: child, rows: rows)
                NodeHeader.setCount(node, count + 1)
                for above in edge {
                    let parent = space.arena.table.pointer(above)
                    ClusterInner.addRows(parent, NodeHeader.count(parent) - 1, rows)
                }
                return
            }
            let (new, fresh) = try newInner(level: level)
            ClusterInner.set(fresh, 0, key: keyBase, ref: child, rows: rows)
            NodeHeader.setCount(fresh, 1)
            child = new
            level += 1
        }
        let oldRoot = space.arena.table.pointer(treeRoot)
        let (top, fresh) = try newInner(level: level)
        ClusterInner.set(
            fresh, 0, key: ClusterInner.keys(oldRoot)[0], ref: treeRoot, rows: ClusterInner.totalRows(oldRoot))
        ClusterInner.set(fresh, 1, key: keyBase, ref: child, rows: rows)
        NodeHeader.setCount(fresh, 2)
        treeRoot = top
    }

    func newInner(level: Int) throws(StoreError) -> (ref: Ref, node: UnsafeMutableRawPointer) {
        let (ref, node) = try space.newNode(
            .clusterInner, bytes: ClusterInner.bytes, capacity: ClusterInner.bytes, word: UInt64(level))
        (node + NodeHeader.size).initializeMemory(
            as: UInt8.self, repeating: 0, count: ClusterInner.bytes - NodeHeader.size)
        return (ref, node)
    }

    /// Takes the (empty, freed) leaf at the end of the path out of the tree.
    func unlinkLeaf() throws(StoreError) {
        while let step = path.popLast() {
            let node = space.arena.table.pointer(step.ref)
            ClusterInner.remove(node, step.child)
            if NodeHeader.count(node) > 0 {
                try lowerRoot()
                forgetPath()
                return
            }
            space.arena.discard(step.ref)
        }
        treeRoot = .null
        forgetPath()
    }

    /// A root with a single child is none.
    func lowerRoot() throws(StoreError) {
        while case .inner(let node) = try tree.rootNode(), NodeHeader.count(node) == 1 {
            let old = treeRoot
            if ClusterInner.level(node) > 1 { _ = try tree.innerChild(node, 0) }
            treeRoot = ClusterInner.ref(node, 0)
            try space.discardNode(old, .clusterInner)
        }
    }
}
