internal import Glibc

/// Changes one index inside a write transaction.
///
/// Changes wait in memory and are merged into the tree all at once, by `flush` or by the first read of a
/// range. `find` in a unique index, or one that is made for it, sees tree and waiting changes together at once.
///
/// The caller keeps the index correct: it removes only pairs that are there and inserts only pairs (in a unique
/// index: values) that are not. An index of a constraint beside the primary key is not unique in this sense: it has any
/// number of nulls, and a replay of a log may see two equal values between two changes. A breach is found by the merge
/// at the latest and throws `.corrupt`.
///
/// A throw of `insert` or `remove` leaves what was there. A throw of a merge (out of memory, damaged page)
/// leaves the writer unusable: every later call throws the same error, the transaction can only be cancelled.
/// One thread at a time.
package final class IndexWriter {
    package let kind: ValueKind
    package let unique: Bool
    private let isLookedUp: Bool
    let builder: IndexBuilder
    let order: IndexOrder
    private let longValues: MergedLongValues
    private var base: Ref
    /// The tree without what waits.
    package var root: Ref { didSet { greatest = nil } }
    var deltas: IndexDeltas
    private var failure: StoreError?
    /// Of an index of ints, once a few that are not there were looked up: no greater one is in the tree. New objects
    /// with growing keys need no look then.
    private var greatest: UInt64?
    private var misses = 0
    /// Changes, and bytes of text in them, that may wait.
    private(set) var pendingLimit = 0
    private var pendingBytes = 0

    // Used by merges only (IndexMerge.swift).
    var changes = UnsafeMutableBufferPointer<IndexEntry>(start: nil, count: 0)
    var spans = IndexEntryBuffer()
    var merged = IndexEntryBuffer()
    var patches: ContiguousArray<IndexPatch> = []

    /// `root` is the tree in the transaction's base snapshot; `longValues` answers for that snapshot (see
    /// there) and may be nil where no text is longer than 64 bytes. `isLookedUp`: `find` is called often.
    package init(
        space: WriteSpace, root: Ref, kind: ValueKind, unique: Bool, isLookedUp: Bool = false,
        longValues: IndexLongValues? = nil,
        limits: IndexLimits = .standard
    ) {
        self.kind = kind
        self.unique = unique
        self.isLookedUp = unique || isLookedUp
        self.base = root
        self.root = root
        self.longValues = MergedLongValues(base: longValues)
        order = IndexOrder(kind: kind, longValues: self.longValues)
        builder = IndexBuilder(space: space, order: order, unique: unique, limits: limits)
        deltas = IndexDeltas(kind: kind, byValue: self.isLookedUp, seed: space.source.seed)
        limitPending()
    }

    /// A change takes 32 bytes, and as much again while it is merged: a quarter of what the transaction may keep in
    /// memory.
    private func limitPending() {
        let bytes = builder.space.spillLimit
        pendingLimit = min(builder.limits.pending, max(bytes / 256, 1024))
        pendingBytes = min(64 << 20, bytes)
    }

    /// For the next transaction, which begins with that tree.
    func begin(root: Ref) {
        base = root
        misses = 0
        limitPending()
        discardAll()
    }

    /// Whether its buffers are worth keeping for the next transaction.
    var isSmall: Bool {
        deltas.isSmall && spans.capacity + merged.capacity <= 4 * IndexDeltas.small && builder.scratch.isSmall
            && builder.kept.isSmall
            && longValues.isSmall
    }

    deinit {
        deltas.release()
        spans.release()
        merged.release()
    }

    /// Changes that wait.
    package var pendingCount: Int { deltas.live }
    /// Whether a flush has something to do.
    package var isDirty: Bool { deltas.live > 0 || root.isDirty }

    /// Adds a pair. Text is copied. Amortised O(1) in memory.
    package func insert(_ value: Value, _ key: Int64) throws(StoreError) {
        if let failure { throw failure }
        try value.withIndexBytes { (value) throws(StoreError) in try add(try IndexEntry(value, key: key, kind: kind)) }
    }

    /// Takes a pair away.
    package func remove(_ value: Value, _ key: Int64) throws(StoreError) {
        if let failure { throw failure }
        try value.withIndexBytes { (value) throws(StoreError) in
            var entry = try IndexEntry(value, key: key, kind: kind)
            entry.flags |= IndexEntry.removal
            try add(entry)
        }
    }

    func add(_ entry: IndexEntry) throws(StoreError) {
        guard try deltas.add(entry) else {
            throw StoreError(.corrupt, "an index change is made twice, of object \(entry.key)")
        }
        if deltas.live >= pendingLimit || deltas.byteCount > pendingBytes { try merge() }
    }

    /// The object key of a value, in the tree or waiting; see `IndexReader.find`. In a unique index, or one that is
    /// looked up, without a merge (but for null).
    package func find(_ value: Value) throws(StoreError) -> Int64? {
        if let failure { throw failure }
        if let greatest, value.kind == kind, IndexBits.signed(value.low) > greatest,
            deltas.isGreater(IndexBits.signed(value.low))
        {
            return nil
        }
        if deltas.live == 0 { return try findInTree(value) }
        if !isLookedUp || value.isNull { return try reader().find(value) }
        let pending = try value.withIndexBytes { (value) throws(StoreError) in
            try deltas.pending(try IndexEntry(value, key: .max, kind: kind))
        }
        switch pending {
        case .inserted(let key): return key
        case .removed: return nil
        case .nothing: return try findInTree(value)
        }
    }

    private func findInTree(_ value: Value) throws(StoreError) -> Int64? {
        let found = try treeReader.find(value)
        if found == nil, kind == .int {
            misses &+= 1
            if misses > 8, greatest == nil { greatest = try greatestInTree() }
        }
        return found
    }

    /// Of an index of ints: at least as much as the greatest value, and at most as much as that or `value`, whichever
    /// is more.
    func bound(atLeast value: Int64) throws(StoreError) -> Int64 {
        if let failure { throw failure }
        if greatest == nil { greatest = try greatestInTree() }
        let bits = IndexBits.signed(value)
        if let greatest, greatest <= bits, deltas.live == 0 || bits < .max && deltas.isGreater(bits + 1) {
            return value
        }
        try merge()
        return max(value, IndexBits.toSigned(try greatestInTree()))
    }

    private func greatestInTree() throws(StoreError) -> UInt64 {
        if root.isNull { return 0 }
        let source = builder.space.source
        var node = try source.node(root, .indexInner), level = IndexInner.level(node)
        while level > 1 {
            node = try source.node(IndexInner.ref(node, NodeHeader.count(node) - 1), .indexInner)
            level -= 1
            guard IndexInner.level(node) == level else { throw treeReader.wrongLevel() }
        }
        let leaf = try source.node(IndexInner.ref(node, NodeHeader.count(node) - 1), .indexLeaf)
        try treeReader.checkLeaf(leaf)
        if IndexLeaf.isNull(leaf) { return 0 }
        if IndexLeaf.encoding(leaf) == IndexLeaf.packed { return IndexLeaf.values(leaf)[NodeHeader.count(leaf) - 1] }
        let run = IndexLeaf.run(leaf, NodeHeader.count(leaf) - 1)
        return run.advanced(run.run - 1).bits
    }

    /// Reads the transaction's own state; merges what waits. Valid until the next change.
    package func reader() throws(StoreError) -> IndexReader {
        if let failure { throw failure }
        try merge()
        return treeReader
    }

    /// Reads the tree, without what waits.
    func readerWithoutWaiting() throws(StoreError) -> IndexReader {
        if let failure { throw failure }
        return treeReader
    }

    private var treeReader: IndexReader {
        IndexReader(source: builder.space.source, root: root, kind: kind, longValues: longValues)
    }

    /// Brings what waits into the tree (dirty nodes in the arena).
    func merge() throws(StoreError) {
        if deltas.live == 0 { return }
        do throws(StoreError) {
            changes = try deltas.inOrder()
            if order.isText { try longValues.keep(changes) }
            try mergeChanges()
            deltas.reset()
            builder.scratch.reset()
            builder.kept.reset()
        } catch {
            failure = StoreError(
                error.code, "an index cannot be changed any more in this transaction: \(error.message)")
            throw error
        }
    }

    /// Merges, and places every dirty node in the file, children before parents. Returns the new root, which
    /// the writer's source need not see: a flushed writer is only good for `discardAll`.
    package func flush(into writer: ExtentWriter) throws(StoreError) -> Ref {
        if let failure { throw failure }
        try merge()
        do throws(StoreError) { try spill(into: writer) } catch {
            failure = error
            throw error
        }
        return root
    }

    /// Places the dirty nodes that no savepoint holds; the transaction continues. What waits keeps waiting.
    func spill(into writer: ExtentWriter) throws(StoreError) {
        if root.isDirty { root = try write(root, .indexInner, writer) }
    }

    /// A node stays where it is if a savepoint holds it or something below it.
    private func write(_ ref: Ref, _ kind: NodeKind, _ writer: ExtentWriter) throws(StoreError) -> Ref {
        if !builder.space.isOwn(ref) { return ref }
        if kind == .indexInner {
            let node = builder.space.arena.table.pointer(ref)
            let below = IndexInner.childKind(node)
            var staysDirty = false
            for child in 0..<NodeHeader.count(node) {
                let old = IndexInner.ref(node, child)
                if !old.isDirty { continue }
                let placed = try write(old, below, writer)
                IndexInner.setRef(node, child, placed)
                if placed.isDirty { staysDirty = true }
            }
            if staysDirty { return ref }
        }
        return try writer.node(ref)
    }

    /// Forgets all changes. The dirty nodes go with the arena, which the transaction resets.
    package func discardAll() {
        longValues.reset()
        restore(root: base)
    }

    /// The whole tree's root, for a savepoint that begins: nothing waits.
    func settle() throws(StoreError) -> Ref { try reader().root }

    /// Goes back to what `settle` returned. The long values that came since stay: they are found by their hash.
    func restore(root: Ref) {
        deltas.reset()
        self.root = root
        failure = nil
        builder.built.removeAll(keepingCapacity: true)
        patches.removeAll(keepingCapacity: true)
        builder.scratch.reset()
        builder.kept.reset()
    }
}

/// The long values of a transaction's own entries, and behind them those of the base snapshot.
private final class MergedLongValues: IndexLongValues {
    private struct Name: Hashable {
        var key: Int64
        var hash: UInt64
    }

    private let base: IndexLongValues?
    private var own: [Name: UnsafeRawBufferPointer] = [:]
    private var memory = IndexBump()

    init(base: IndexLongValues?) { self.base = base }
    deinit { memory.release() }

    /// Remembers the long values that are about to enter the tree.
    func keep(_ changes: UnsafeMutableBufferPointer<IndexEntry>) throws(StoreError) {
        for change in changes where change.isLong && !change.isRemoval {
            let name = Name(key: change.key, hash: change.bits)
            if own[name] != nil { continue }
            let copy = try memory.allocate(Int(change.low))
            copy.copyMemory(from: change.address, byteCount: Int(change.low))
            own[name] = UnsafeRawBufferPointer(start: copy, count: Int(change.low))
        }
    }

    var isSmall: Bool { memory.isSmall }

    func reset() {
        if !own.isEmpty { own.removeAll() }
        memory.reset()
    }

    override func bytes(of objectKey: Int64) throws(StoreError) -> UnsafeRawBufferPointer {
        guard let base else { throw StoreError(.corrupt, "an index has a long value, and nobody to ask for it") }
        return try base.bytes(of: objectKey)
    }

    override func bytes(of objectKey: Int64, hash: UInt64) throws(StoreError) -> UnsafeRawBufferPointer {
        if !own.isEmpty, let bytes = own[Name(key: objectKey, hash: hash)] { return bytes }
        return try bytes(of: objectKey)
    }
}
