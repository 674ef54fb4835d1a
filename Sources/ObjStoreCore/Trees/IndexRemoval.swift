extension IndexWriter {
    /// Takes every pair away: the tree's extents are given up, changes that waited are forgotten.
    package func removeAll() throws(StoreError) {
        try merge()
        try giveUp(root, .indexInner)
        root = .null
    }

    private func giveUp(_ ref: Ref, _ kind: NodeKind) throws(StoreError) {
        if ref.isNull { return }
        let node = try builder.space.source.node(ref, kind)
        if kind == .indexInner {
            for child in 0..<NodeHeader.count(node) { try giveUp(IndexInner.ref(node, child), IndexInner.childKind(node)) }
        }
        try builder.space.discardNode(ref, kind)
    }
}
