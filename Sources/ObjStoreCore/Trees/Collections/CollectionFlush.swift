/// Placing a collection tree's dirty nodes in the file, and moving them elsewhere.
extension CollectionWriter {
    /// Places every dirty node that no savepoint holds, children before parents. Returns the new root.
    package func flush(into writer: ExtentWriter) throws(StoreError) -> Ref {
        if root.isDirty { begin(root: try flush(root, into: writer)) }
        return root
    }

    private func flush(_ ref: Ref, into writer: ExtentWriter) throws(StoreError) -> Ref {
        if !space.isOwn(ref) { return ref }
        let node = space.arena.table.pointer(ref)
        if NodeHeader.kind(node) == NodeKind.collectionLeaf.rawValue {
            if !space.ownsAll, holdsForeign(CollectionLeaf(node)) { return ref }
            try placeLong(CollectionLeaf(node), writer)
            return try writer.node(ref)
        }
        var staysDirty = false
        for index in 0..<NodeHeader.count(node) {
            let child = CollectionInner.ref(node, index)
            if !child.isDirty { continue }
            let placed = try flush(child, into: writer)
            CollectionInner.setRef(node, index, placed)
            if placed.isDirty { staysDirty = true }
        }
        return staysDirty ? ref : try writer.node(ref)
    }

    /// Whether a savepoint holds a long value of the leaf.
    private func holdsForeign(_ leaf: CollectionLeaf) -> Bool {
        guard leaf.values.mayHaveLong else { return false }
        return (0..<leaf.count).contains { index in
            let stored = leaf.values.stored(index)
            if !stored.isLong { return false }
            let ref = Ref(raw: LongValue(stored.value.pointer!).ref)
            return ref.isDirty && !space.isOwn(ref)
        }
    }

    private func placeLong(_ leaf: CollectionLeaf, _ writer: ExtentWriter) throws(StoreError) {
        guard leaf.values.mayHaveLong else { return }
        for index in 0..<leaf.count {
            let stored = leaf.values.stored(index)
            if !stored.isLong { continue }
            let cell = UnsafeMutableRawPointer(mutating: stored.value.pointer!), old = Ref(raw: LongValue(cell).ref)
            if !old.isDirty { continue }
            let (ref, hash) = try writer.part(old)
            LongValue.store(cell, ref: ref, bytes: LongValue(cell).bytes, hash: hash, born: writer.version)
        }
    }

    /// Moves what is among `victims`, until `budget` bytes have been moved. Returns how many were.
    func move(_ victims: MovedPages, budget: Int) throws(StoreError) -> Int {
        if root.isNull { return 0 }
        var moved = 0
        begin(root: try move(root, .collectionInner, above: nil, victims, budget, &moved))
        return moved
    }

    private func move(
        _ ref: Ref, _ kind: NodeKind, above: UnsafeRawPointer?, _ victims: MovedPages, _ budget: Int, _ moved: inout Int
    ) throws(StoreError) -> Ref {
        if moved >= budget { return ref }
        var own = ref
        var node = kind == .collectionLeaf ? try reader.leaf(ref).node : try reader.inner(ref, above: above)
        if victims.contains(ref, bytes: NodeHeader.bytes(node), born: NodeHeader.born(node)) {
            moved += NodeHeader.bytes(node)
            let copy = try space.writableNode(ref, kind)
            own = copy.ref
            node = UnsafeRawPointer(copy.pointer)
        }
        if kind == .collectionLeaf { return try moveLong(own, CollectionLeaf(node), victims, &moved) }
        for child in 0..<NodeHeader.count(node) {
            let old = CollectionInner.ref(node, child)
            let new = try move(old, CollectionInner.childKind(node), above: node, victims, budget, &moved)
            if new == old { continue }
            let copy = try space.writableNode(own, kind)
            own = copy.ref
            node = UnsafeRawPointer(copy.pointer)
            CollectionInner.setRef(copy.pointer, child, new)
        }
        return own
    }

    private func moveLong(
        _ ref: Ref, _ leaf: CollectionLeaf, _ victims: MovedPages, _ moved: inout Int
    ) throws(StoreError) -> Ref {
        guard leaf.values.mayHaveLong else { return ref }
        var own = ref, leaf = leaf
        for index in 0..<leaf.count where leaf.values.stored(index).isLong {
            let cell = LongValue(leaf.values.stored(index).value.pointer!)
            guard victims.contains(Ref(raw: cell.ref), bytes: cell.bytes, born: cell.born) else { continue }
            let bytes = cell.bytes
            let (part, _) = try space.writablePart(
                Ref(raw: cell.ref), .longValue, bytes: bytes, hash32: cell.hash, born: cell.born, capacity: bytes)
            let copy = try space.writableNode(own, .collectionLeaf)
            own = copy.ref
            leaf = CollectionLeaf(UnsafeRawPointer(copy.pointer))
            LongValue.store(
                UnsafeMutableRawPointer(mutating: leaf.values.stored(index).value.pointer!), ref: part, bytes: bytes,
                hash: 0, born: 0)
            moved += bytes
        }
        return own
    }
}
