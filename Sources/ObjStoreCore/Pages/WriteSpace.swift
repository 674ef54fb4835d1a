/// A piece of the file that the current transaction no longer refers to.
package struct FreedExtent: Sendable {
    /// Offset and length in units of 512 bytes.
    package var unit: Int
    package var units: Int
    /// The version that wrote it: no snapshot before that one can see it.
    package var born: UInt64
}

/// How trees change extents inside a write transaction: copy on first touch, in the arena from then on. One serves all
/// transactions of a process, one after the other.
package final class WriteSpace {
    let arena: Arena
    /// Reads the transaction's own state: file and arena.
    private(set) var source: PageSource
    /// What the new version no longer refers to. Dirty extents never appear here.
    private(set) var freed: [FreedExtent] = []
    /// Memory for one operation on a leaf.
    let scratch = Scratch()

    init(arena: Arena, source: PageSource) {
        self.arena = arena
        self.source = source
    }

    /// For the next transaction.
    func begin(_ source: PageSource) {
        self.source = source
        freed.removeAll(keepingCapacity: true)
    }

    /// A new node with an initialized header; the rest has any content.
    func newNode(_ kind: NodeKind, bytes: Int, capacity: Int, word: UInt64 = 0) throws(StoreError) -> (ref: Ref, pointer: UnsafeMutableRawPointer) {
        let (ref, pointer) = try arena.allocate(bytes: bytes, capacity: capacity)
        NodeHeader.initialize(pointer, kind: kind, bytes: bytes, word: word)
        return (ref, pointer)
    }

    /// A new part of a leaf.
    func newPart(bytes: Int, capacity: Int) throws(StoreError) -> (ref: Ref, pointer: UnsafeMutableRawPointer) {
        try arena.allocate(bytes: bytes, capacity: capacity)
    }

    /// The node as a dirty one: itself, or a copy with `slack` bytes of room to grow. The caller stores the
    /// returned ref in the parent.
    @inline(__always)
    func writableNode(_ ref: Ref, _ kind: NodeKind, slack: Int = 0) throws(StoreError) -> (ref: Ref, pointer: UnsafeMutableRawPointer) {
        if ref.isDirty { return (ref, arena.table.pointer(ref)) }
        return try copyNode(ref, kind, slack: slack)
    }

    @inline(never)
    private func copyNode(_ ref: Ref, _ kind: NodeKind, slack: Int) throws(StoreError) -> (ref: Ref, pointer: UnsafeMutableRawPointer) {
        let old = try source.node(ref, kind)
        let bytes = NodeHeader.bytes(old)
        let (new, pointer) = try arena.allocate(bytes: bytes, capacity: bytes + slack)
        pointer.copyMemory(from: old, byteCount: bytes)
        freed.append(FreedExtent(unit: ref.unit, units: PageSize.units(bytes), born: NodeHeader.born(old)))
        return (new, pointer)
    }

    /// The part as a dirty one with room for `capacity` bytes.
    func writablePart(_ ref: Ref, _ kind: PartKind, bytes: Int, hash32: UInt32, born: UInt64, capacity: Int) throws(StoreError)
        -> (ref: Ref, pointer: UnsafeMutableRawPointer)
    {
        if ref.isDirty { return (ref, try arena.reserve(ref, capacity: capacity)) }
        let old = try source.part(ref, kind, bytes: bytes, hash32: hash32, born: born)
        let (new, pointer) = try arena.allocate(bytes: bytes, capacity: max(bytes, capacity))
        pointer.copyMemory(from: old, byteCount: bytes)
        freed.append(FreedExtent(unit: ref.unit, units: PageSize.units(bytes), born: born))
        return (new, pointer)
    }

    /// Room for `capacity` bytes in a dirty node or part, whose memory may move.
    func grow(_ ref: Ref, capacity: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        try arena.reserve(ref, capacity: capacity)
    }

    /// Gives up a node (not what it refers to).
    func discardNode(_ ref: Ref, _ kind: NodeKind) throws(StoreError) {
        if ref.isNull { return }
        if ref.isDirty { return arena.discard(ref) }
        let node = try source.node(ref, kind)
        freed.append(FreedExtent(unit: ref.unit, units: PageSize.units(NodeHeader.bytes(node)), born: NodeHeader.born(node)))
    }

    /// Gives up a part of a leaf.
    func discardPart(_ ref: Ref, bytes: Int, born: UInt64) {
        if ref.isNull { return }
        if ref.isDirty { return arena.discard(ref) }
        freed.append(FreedExtent(unit: ref.unit, units: PageSize.units(bytes), born: born))
    }
}
