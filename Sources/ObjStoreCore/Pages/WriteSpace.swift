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
    package private(set) var freed: [FreedExtent] = []
    /// What the transaction has written into the file already, to get by with little memory.
    let spilled = SpilledPages()
    /// The arena has become so large that a part of it should be spilled.
    @inline(__always) var isLarge: Bool { arena.capacityInUse > spillsAt }
    private var spillsAt = Int.max
    /// Bytes of full leaves that were appended since something was spilled.
    private var appended = 0
    private(set) var spillLimit = Int.max
    /// Whether a class may have become unusable in this transaction: if not, not each has to be checked.
    var mayBeBroken = false
    /// Memory for one operation on a leaf.
    let scratch = Scratch()
    /// Refs from this one on are of extents that may be changed in place. Dirty ones before it are what an open
    /// savepoint would go back to: they are copied like extents of the file.
    private var firstOwn = Ref.dirtyBit
    /// Dirty extents that were copied or freed since a savepoint began, which still needs them.
    private var superseded: [Ref] = []

    package init(arena: Arena, source: PageSource) {
        self.arena = arena
        self.source = source
    }

    /// For the next transaction.
    ///
    /// - Parameter spillLimit: bytes that it may change before `isLarge`.
    package func begin(_ source: PageSource, version: UInt64, spillLimit: Int) {
        self.source = source
        self.spillLimit = spillLimit
        spillsAt = spillLimit
        appended = 0
        spilled.begin(version: version)
        freed.removeAll(keepingCapacity: true)
        superseded.removeAll(keepingCapacity: true)
        firstOwn = Ref.dirtyBit
        mayBeBroken = false
    }

    /// Whether the extent may be changed in place.
    @inline(__always) func isOwn(_ ref: Ref) -> Bool { ref.raw >= firstOwn }

    /// A new node with an initialized header; the rest has any content.
    func newNode(
        _ kind: NodeKind, bytes: Int, capacity: Int, word: UInt64 = 0
    ) throws(StoreError) -> (ref: Ref, pointer: UnsafeMutableRawPointer) {
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
    func writableNode(
        _ ref: Ref, _ kind: NodeKind, slack: Int = 0
    ) throws(StoreError) -> (ref: Ref, pointer: UnsafeMutableRawPointer) {
        if isOwn(ref) { return (ref, arena.table.pointer(ref)) }
        return try copyNode(ref, kind, slack: slack)
    }

    @inline(never)
    private func copyNode(
        _ ref: Ref, _ kind: NodeKind, slack: Int
    ) throws(StoreError) -> (ref: Ref, pointer: UnsafeMutableRawPointer) {
        let old = try source.node(ref, kind)
        let bytes = ref.isDirty ? arena.bytes(ref) : NodeHeader.bytes(old)
        let (new, pointer) = try arena.allocate(bytes: bytes, capacity: bytes + slack)
        pointer.copyMemory(from: old, byteCount: bytes)
        giveUp(ref, bytes: bytes, born: NodeHeader.born(old))
        return (new, pointer)
    }

    /// The part as a dirty one with room for `capacity` bytes.
    func writablePart(
        _ ref: Ref, _ kind: PartKind, bytes: Int, hash32: UInt32, born: UInt64, capacity: Int
    ) throws(StoreError)
        -> (ref: Ref, pointer: UnsafeMutableRawPointer)
    {
        if isOwn(ref) { return (ref, try arena.reserve(ref, capacity: capacity)) }
        let old = try source.part(ref, kind, bytes: bytes, hash32: hash32, born: born)
        let (new, pointer) = try arena.allocate(bytes: bytes, capacity: max(bytes, capacity))
        pointer.copyMemory(from: old, byteCount: bytes)
        giveUp(ref, bytes: bytes, born: born)
        return (new, pointer)
    }

    /// Room for `capacity` bytes in a dirty node or part, whose memory may move.
    func grow(_ ref: Ref, capacity: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        try arena.reserve(ref, capacity: capacity)
    }

    /// Frees a node (not what it refers to).
    func discardNode(_ ref: Ref, _ kind: NodeKind) throws(StoreError) {
        if ref.isNull { return }
        if isOwn(ref) { return arena.discard(ref) }
        let node = try source.node(ref, kind)
        giveUp(ref, bytes: NodeHeader.bytes(node), born: NodeHeader.born(node))
    }

    /// Frees a part of a leaf.
    func discardPart(_ ref: Ref, bytes: Int, born: UInt64) {
        if ref.isNull { return }
        if isOwn(ref) { return arena.discard(ref) }
        giveUp(ref, bytes: bytes, born: born)
    }

    /// Notes that an extent that is not the transaction's own is not referred to any more.
    @inline(__always)
    private func giveUp(_ ref: Ref, bytes: Int, born: UInt64) {
        if ref.isDirty {
            superseded.append(ref)
        } else if _fastPath(born != spilled.version) || !spilled.giveUp(unit: ref.unit, units: PageSize.units(bytes)) {
            freed.append(FreedExtent(unit: ref.unit, units: PageSize.units(bytes), born: born))
        }
    }

    // MARK: Savepoints

    /// The state of the space when a savepoint began.
    package struct Mark {
        fileprivate var extents: Int
        fileprivate var freed: Int
        fileprivate var superseded: Int
        fileprivate var firstOwn: UInt64
        fileprivate var spills: SpilledPages.Mark
        fileprivate var spillsAt: Int
        fileprivate var appended: Int
    }

    /// From now on no extent there is is changed, until `release` or `rollBack`.
    package func mark() -> Mark {
        let mark = Mark(
            extents: arena.count, freed: freed.count, superseded: superseded.count, firstOwn: firstOwn,
            spills: spilled.mark(), spillsAt: spillsAt,
            appended: appended)
        appended = 0
        firstOwn = Ref(arenaIndex: arena.count).raw
        // What there is stays in memory until the savepoint ends.
        spillsAt = arena.capacityInUse &+ min(spillLimit, Int.max - arena.capacityInUse)
        return mark
    }

    /// The mark will not be returned to.
    package func release(_ mark: Mark) {
        firstOwn = mark.firstOwn
        spillsAt = mark.spillsAt
        appended += mark.appended
        spilled.release(mark.spills)
        // What an outer savepoint needs stays.
        var kept = mark.superseded
        for index in mark.superseded..<superseded.count {
            let ref = superseded[index]
            if isOwn(ref) {
                arena.discard(ref)
            } else {
                superseded[kept] = ref
                kept += 1
            }
        }
        superseded.removeLast(superseded.count - kept)
    }

    /// Forgets every extent that was made since the mark, and restores every one that was freed.
    package func rollBack(to mark: Mark) {
        arena.truncate(mark.extents)
        freed.removeLast(freed.count - mark.freed)
        superseded.removeLast(superseded.count - mark.superseded)
        firstOwn = mark.firstOwn
        spillsAt = mark.spillsAt
        appended = mark.appended
        spilled.rollBack(to: mark.spills)
    }

    // MARK: Spilling

    /// Whether every dirty extent may be changed in place: no savepoint holds one.
    @inline(__always) var ownsAll: Bool { firstOwn == Ref.dirtyBit }

    /// A leaf was filled, `bytes` long, and nothing is appended to it any more. Such leaves are spilled earlier than
    /// what is changed here and there: they are not touched again, most likely, and memory that is used again is in the
    /// cache, and needs no page faults.
    func didAppend(bytes: Int) {
        appended += bytes
        if appended > spillLimit / 4 { spillsAt = min(spillsAt, arena.capacityInUse - 1) }
    }

    /// The extents of `writer` lie in the file: their memory is freed, and `source` sees them.
    func didSpill(_ writer: ExtentWriter, _ source: PageSource) {
        for ref in writer.spilled { arena.discard(ref) }
        arena.trim(Ref(raw: firstOwn).arenaIndex)
        spilled.add(writer.placed)
        self.source = source
        appended = 0
        // What could not be spilled, since a savepoint or something above it needs it in memory, is not tried again at
        // once.
        spillsAt = max(spillsAt, arena.capacityInUse &+ min(spillLimit, Int.max - arena.capacityInUse))
    }
}
