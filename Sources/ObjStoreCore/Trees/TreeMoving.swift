/// Moving a tree's extents elsewhere in the file: they and the nodes above them become dirty, and commit places them.
extension ClusterWriter {
    /// Moves what is among `victims`, until `budget` bytes have been moved. Returns how many were.
    func move(_ victims: MovedPages, budget: Int) throws(StoreError) -> Int {
        _ = try settle()
        return try change { () throws(StoreError) in
            // What to move is found first: the walk must not see its own changes.
            var nodes: [Int64] = [], leaves: [Int64] = []
            switch try self.tree.rootNode() {
            case .empty: return 0
            case .leaf(let head):
                if try LeafExtents(self.space.source).touches(self.treeRoot, victims) {
                    leaves.append(LeafHead.keyBase(head))
                }
            case .inner(let node): try self.find(in: node, self.treeRoot, victims, &nodes, &leaves)
            }
            var moved = 0
            // A writable path is a moved one.
            for key in nodes where moved < budget {
                self.forgetPath()
                _ = try self.writablePath(key)
                moved += ClusterInner.bytes
            }
            for key in leaves where moved < budget {
                guard let leaf = try self.writableLeaf(key) else { throw ClusterReader.damaged("a leaf is gone") }
                moved += self.space.arena.bytes(leaf) + (try self.editor.moveParts(leaf, victims))
            }
            return moved
        }
    }

    /// The first keys of inner nodes and leaves that are to move.
    private func find(
        in node: UnsafeRawPointer, _ ref: Ref, _ victims: MovedPages, _ nodes: inout [Int64], _ leaves: inout [Int64]
    ) throws(StoreError) {
        if victims.contains(ref, bytes: ClusterInner.bytes, born: NodeHeader.born(node)) {
            nodes.append(ClusterInner.keys(node)[0])
        }
        for index in 0..<NodeHeader.count(node) {
            let child = ClusterInner.ref(node, index)
            if ClusterInner.level(node) > 1 {
                try find(in: try tree.innerChild(node, index), child, victims, &nodes, &leaves)
            } else if try LeafExtents(space.source).touches(child, victims) {
                leaves.append(ClusterInner.keys(node)[index])
            }
        }
    }
}

extension IndexWriter {
    /// Moves what is among `victims`, until `budget` bytes have been moved. Returns how many were.
    func move(_ victims: MovedPages, budget: Int) throws(StoreError) -> Int {
        root = try settle()
        if root.isNull { return 0 }
        var moved = 0
        root = try move(root, .indexInner, below: IndexInner.deepest + 1, victims, budget, &moved)
        return moved
    }

    private func move(
        _ ref: Ref, _ kind: NodeKind, below: Int, _ victims: MovedPages, _ budget: Int, _ moved: inout Int
    ) throws(StoreError) -> Ref {
        let space = builder.space
        // A leaf is looked at only where it may be one of them; it has at most a page, and begins where it is.
        if kind == .indexLeaf, ref.isDirty || moved >= budget || !victims.reaches(ref, bytes: 1) { return ref }
        var node = try space.source.node(ref, kind), own = ref
        if moved < budget, victims.contains(ref, bytes: NodeHeader.bytes(node), born: NodeHeader.born(node)) {
            moved += NodeHeader.bytes(node)
            let copy = try space.writableNode(ref, kind)
            own = copy.ref
            node = UnsafeRawPointer(copy.pointer)
        }
        if kind == .indexLeaf { return own }
        let level = IndexInner.level(node)
        guard level < below else { throw StoreError(.corrupt, "damaged index: a node of another level") }
        for child in 0..<NodeHeader.count(node) {
            let old = IndexInner.ref(node, child)
            let new = try move(old, IndexInner.childKind(node), below: level, victims, budget, &moved)
            if new == old { continue }
            let copy = try space.writableNode(own, kind)
            own = copy.ref
            node = UnsafeRawPointer(copy.pointer)
            IndexInner.setRef(copy.pointer, child, new)
        }
        return own
    }
}
