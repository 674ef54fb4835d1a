extension IndexWriter {
    /// Takes every pair away: the tree's extents are freed, pending changes are discarded.
    package func removeAll() throws(StoreError) {
        try merge()
        if root.isNull { return }
        try giveUp(root, .indexInner, below: IndexInner.deepest + 1)
        root = .null
    }

    private func giveUp(_ ref: Ref, _ kind: NodeKind, below: Int) throws(StoreError) {
        if kind == .indexInner {
            let node = try builder.space.source.node(ref, kind)
            let level = IndexInner.level(node)
            guard level < below else { throw StoreError(.corrupt, "damaged index: a node of another level") }
            for child in 0..<NodeHeader.count(node) {
                try giveUp(IndexInner.ref(node, child), IndexInner.childKind(node), below: level)
            }
        }
        try builder.space.discardNode(ref, kind)
    }
}
