/// The invariants of every collection tree; for `verify` and for tests. Reads everything.
extension CollectionReader {
    /// Visits every extent that the root reaches, parents before children, each checked before it is visited.
    package func forEachExtent(_ visit: (VisitedExtent) throws(StoreError) -> Void) throws(StoreError) {
        if !root.isNull { try visitNode(root, .collectionInner, above: nil, visit) }
    }

    private func visitNode(
        _ ref: Ref, _ kind: NodeKind, above: UnsafeRawPointer?, _ visit: (VisitedExtent) throws(StoreError) -> Void
    ) throws(StoreError) {
        let node = kind == .collectionLeaf ? try source.node(ref, kind) : try inner(ref, above: above)
        try visit(
            VisitedExtent(unit: ref.unit, units: PageSize.units(NodeHeader.bytes(node)), born: NodeHeader.born(node)))
        if kind == .collectionLeaf {
            let leaf = CollectionLeaf(node)
            guard leaf.values.mayHaveLong else { return }
            for index in 0..<leaf.count {
                let stored = leaf.values.stored(index)
                if !stored.isLong { continue }
                let cell = LongValue(stored.value.pointer!)
                _ = try resolve(stored)
                try visit(
                    VisitedExtent(unit: Ref(raw: cell.ref).unit, units: PageSize.units(cell.bytes), born: cell.born))
            }
            return
        }
        for index in 0..<NodeHeader.count(node) {
            try visitNode(CollectionInner.ref(node, index), CollectionInner.childKind(node), above: node, visit)
        }
    }

    /// Throws `.corrupt` naming the first thing that is wrong: order of owners, order of keys, counts, levels.
    ///
    /// - Parameter isOrdered: sets and maps; no two elements of an owner are then equal.
    package func checkInvariants(hasKeys: Bool, isOrdered: Bool) throws(StoreError) {
        if root.isNull { return }
        var check = Check(hasKeys: hasKeys, isOrdered: isOrdered)
        _ = try checkNode(root, .collectionInner, above: nil, &check)
    }

    private struct Check {
        let hasKeys: Bool
        let isOrdered: Bool
        var lastOwner: Int64 = -1
        var lastKey: OwnedValue?
    }

    private func checkNode(
        _ ref: Ref, _ kind: NodeKind, above: UnsafeRawPointer?, _ check: inout Check
    ) throws(StoreError) -> CollectionChild {
        if kind == .collectionLeaf {
            let leaf = try leaf(ref)
            try checkLeaf(leaf, &check)
            return CollectionChild(owner: leaf.firstOwner, ref: ref, count: leaf.count)
        }
        let node = try inner(ref, above: above)
        guard CollectionInner.isWellFormed(node, bytes: NodeHeader.bytes(node)) || ref.isDirty else {
            throw CollectionReader.wrong("an inner node is not well formed")
        }
        for index in 0..<NodeHeader.count(node) {
            let said = CollectionInner.child(node, index)
            let found = try checkNode(said.ref, CollectionInner.childKind(node), above: node, &check)
            guard said.owner == found.owner, said.count == found.count else {
                throw CollectionReader.wrong(
                    """
                    a child has \(found.count) elements from owner \(found.owner), not \(said.count) from \(said.owner)
                    """
                )
            }
            if let wrong = try wrongHead(node, index) { throw CollectionReader.wrong(wrong) }
        }
        return CollectionChild(owner: CollectionInner.owners(node)[0], ref: ref, count: CollectionInner.total(node))
    }

    /// What is wrong with the head of a child; the child can be read.
    func wrongHead(_ node: UnsafeRawPointer, _ child: Int) throws(StoreError) -> String? {
        guard CollectionInner.hasHeads(node) else { return nil }
        let key = try firstKey(node, child), owners = CollectionInner.owners(node)
        if CollectionInner.prefixLength(node) > 0, owners[child] != owners[0] {
            return "a prefix for the keys of several owners"
        }
        if !CollectionInner.hasPrefix(node, key) {
            return "the first key of a child, \(key.text), has not the prefix of its node"
        }
        return CollectionInner.heads(node)[child] == CollectionInner.head(node, key)
            ? nil : "the first key of a child, \(key.text), has another head"
    }

    private func checkLeaf(_ leaf: CollectionLeaf, _ check: inout Check) throws(StoreError) {
        guard leaf.hasKeys == check.hasKeys else {
            throw CollectionReader.wrong("a leaf \(leaf.hasKeys ? "with" : "without") keys")
        }
        guard leaf.count > 0, leaf.end(leaf.ownerCount - 1) == leaf.count else {
            throw CollectionReader.wrong("a leaf's owners have not its elements")
        }
        for at in 0..<leaf.ownerCount {
            let owner = leaf.owner(at)
            guard owner > check.lastOwner || at == 0 && owner == check.lastOwner, leaf.start(at) < leaf.end(at) else {
                throw CollectionReader.wrong("owner \(owner) stands behind \(check.lastOwner)")
            }
            if owner != check.lastOwner { check.lastKey = nil }
            check.lastOwner = owner
            guard check.isOrdered else { continue }
            for index in leaf.start(at)..<leaf.end(at) {
                let key = try resolve(leaf.keys.stored(index))
                if let last = check.lastKey, CollectionOrder.compare(last.value, key) >= 0 {
                    throw CollectionReader.wrong("element \(key.text) of owner \(owner) is out of order")
                }
                check.lastKey = OwnedValue(key)
            }
        }
    }

    private static func wrong(_ what: String) -> StoreError { StoreError(.corrupt, "collection tree: \(what)") }
}
