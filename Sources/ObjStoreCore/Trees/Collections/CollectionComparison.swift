/// Which owners' elements differ between two versions of a collection tree. Cost: that of the pages that are not in
/// both.
///
/// A changed tree is a copy of the old one along the changed paths. Pages of the new one that are no younger than the
/// old version are pages of the old one, too, with everything below them:
///
/// ```
///        new root                old root            1. walk the young pages of the new tree: they name those that
///       ╱    │    ╲             ╱    │    ╲             both trees have, and the owners in young leaves
///    same  [new]  same       same  [old]  same       2. walk the old tree, but not below what both have
/// ```
package enum CollectionComparison {
    /// Calls `body` with every owner whose elements differ, in ascending order.
    package static func forEachChangedOwner(
        from old: CollectionReader, of oldVersion: UInt64, to new: CollectionReader,
        _ body: (Int64) throws(StoreError) -> Void
    ) throws(StoreError) {
        if old.root == new.root { return }
        var walk = Walk(oldVersion: oldVersion)
        if !new.root.isNull { try walk.visit(new.root, .collectionInner, above: nil, new, isNew: true) }
        if !old.root.isNull { try walk.visit(old.root, .collectionInner, above: nil, old, isNew: false) }
        for owner in walk.owners.sorted() where !(try areEqual(owner, old, new)) { try body(owner) }
    }

    private struct Walk {
        let oldVersion: UInt64
        var shared: Set<UInt64> = []
        var owners: Set<Int64> = []

        init(oldVersion: UInt64) { self.oldVersion = oldVersion }

        mutating func visit(
            _ ref: Ref, _ kind: NodeKind, above: UnsafeRawPointer?, _ reader: CollectionReader, isNew: Bool
        ) throws(StoreError) {
            if !isNew, shared.contains(ref.raw) { return }
            let node = kind == .collectionLeaf ? try reader.source.node(ref, kind) : try reader.inner(ref, above: above)
            if isNew, NodeHeader.born(node) <= oldVersion {
                shared.insert(ref.raw)
                return
            }
            if kind == .collectionLeaf {
                let leaf = CollectionLeaf(node)
                for index in 0..<leaf.ownerCount { owners.insert(leaf.owner(index)) }
                return
            }
            for index in 0..<NodeHeader.count(node) {
                try visit(
                    CollectionInner.ref(node, index), CollectionInner.childKind(node), above: node, reader, isNew: isNew
                )
            }
        }
    }

    /// Whether an owner has the same elements in both versions.
    private static func areEqual(
        _ owner: Int64, _ old: CollectionReader, _ new: CollectionReader
    ) throws(StoreError) -> Bool {
        let before = try old.range(owner), after = try new.range(owner)
        guard before.count == after.count else { return false }
        if before.isEmpty { return true }
        var a = try old.cursor(at: before.lowerBound), b = try new.cursor(at: after.lowerBound)
        for index in 0..<before.count {
            if index > 0 { _ = (try a.advance(), try b.advance()) }
            guard try a.value.isSame(as: try b.value) else { return false }
            if a.leaf.hasKeys, !a.key.isSame(as: b.key) { return false }
        }
        return true
    }
}
