/// The findings of a walk through an index.
package struct IndexShape: Sendable {
    package var entries = 0
    package var leaves = 0
    package var inner = 0
    /// Levels above the leaves; 0 of an empty index.
    package var levels = 0
    /// Used bytes of all nodes.
    package var bytes = 0
    /// Bytes in units of 512, as the file has them.
    package var placedBytes = 0

    package init() {}
}

package enum IndexTree {
    /// Visits every extent of an index; stops at the first damaged page by throwing `.corrupt`.
    package static func forEachExtent(
        _ root: Ref, _ source: PageSource, _ visit: (VisitedExtent) throws(StoreError) -> Void
    ) throws(StoreError) {
        if root.isNull { return }
        try walk(root, .indexInner, IndexInner.deepest + 1, source, visit)
    }

    private static func walk(
        _ ref: Ref, _ kind: NodeKind, _ above: Int, _ source: PageSource,
        _ visit: (VisitedExtent) throws(StoreError) -> Void
    ) throws(StoreError) {
        let node = try source.node(ref, kind)
        try visit(
            VisitedExtent(unit: ref.unit, units: PageSize.units(NodeHeader.bytes(node)), born: NodeHeader.born(node)))
        guard kind == .indexInner else { return }
        guard IndexInner.level(node) < above else {
            throw StoreError(.corrupt, "damaged index: a node of another level")
        }
        for child in 0..<NodeHeader.count(node) {
            try walk(IndexInner.ref(node, child), IndexInner.childKind(node), IndexInner.level(node), source, visit)
        }
    }

    /// Checks levels, order of all entries, separators, counts and encodings; throws `.corrupt` naming what
    /// is wrong. `longValues` as for `IndexReader`. `visit` gets every entry's key and value in order (texts
    /// longer than 64 bytes cut); the pages were checked on first touch.
    @discardableResult
    package static func checkInvariants(
        _ root: Ref, _ source: PageSource, kind: ValueKind, unique: Bool, longValues: IndexLongValues? = nil,
        visit: (Value, Int64) throws(StoreError) -> Void = { (_, _) throws(StoreError) in }
    ) throws(StoreError) -> IndexShape {
        try checkInvariants(
            root, source, kind: kind, unique: unique, longValues: longValues,
            damaged: { (_, error) throws(StoreError) in throw error }, visit: visit)
    }

    /// The same; what is wrong below a child goes to `damaged` with the child's ref, and where that does not throw, the
    /// check continues with the next child.
    static func checkInvariants(
        _ root: Ref, _ source: PageSource, kind: ValueKind, unique: Bool, longValues: IndexLongValues?,
        damaged: (Ref, StoreError) throws(StoreError) -> Void, visit: (Value, Int64) throws(StoreError) -> Void
    ) throws(StoreError) -> IndexShape {
        let checker = IndexChecker(source: source, kind: kind, unique: unique, longValues: longValues)
        defer { checker.release() }
        if root.isNull { return checker.shape }
        let node = try source.node(root, .indexInner)
        checker.shape.levels = IndexInner.level(node)
        if NodeHeader.count(node) == 1, IndexInner.level(node) > 1 { throw checker.wrong("the root has one child") }
        _ = try checker.check(root, IndexInner.level(node), expected: IndexInner.total(node), damaged, visit)
        return checker.shape
    }
}

/// One walk of `checkInvariants`.
private final class IndexChecker {
    let source: PageSource
    let kind: ValueKind
    let unique: Bool
    let order: IndexOrder
    let longValues: IndexLongValues?
    var shape = IndexShape()
    private var memory = IndexBump()
    private var entries = IndexEntryBuffer()
    private var last: IndexEntry?
    /// The separator that the next entry must not be less than.
    private var bound: IndexEntry?

    init(source: PageSource, kind: ValueKind, unique: Bool, longValues: IndexLongValues?) {
        self.source = source
        self.kind = kind
        self.unique = unique
        self.longValues = longValues
        order = IndexOrder(kind: kind, longValues: longValues)
    }

    func release() {
        memory.release()
        entries.release()
    }

    func wrong(_ what: String) -> StoreError { StoreError(.corrupt, "damaged index: \(what)") }

    func check(
        _ ref: Ref, _ level: Int, expected: Int, _ damaged: (Ref, StoreError) throws(StoreError) -> Void,
        _ visit: (Value, Int64) throws(StoreError) -> Void
    ) throws(StoreError) -> Int {
        let node = try source.node(ref, level == 0 ? .indexLeaf : .indexInner)
        shape.bytes += NodeHeader.bytes(node)
        shape.placedBytes += PageSize.roundedToUnit(NodeHeader.bytes(node))
        if level == 0 {
            // Before a run that claims to have billions of entries is walked.
            guard IndexLeaf.entries(node) == expected else {
                throw wrong("a leaf has \(IndexLeaf.entries(node)) entries where \(expected) are said to be")
            }
            return try checkLeaf(node, visit)
        }
        shape.inner += 1
        guard IndexInner.level(node) == level else {
            throw wrong("a node of level \(IndexInner.level(node)) stands at \(level)")
        }
        guard (IndexInner.encoding(node) == IndexInner.text) == order.isText else {
            throw wrong("an inner node of another kind")
        }
        let nulls = IndexInner.nullSeparators(node)
        var total = 0
        for child in 0..<NodeHeader.count(node) {
            let below = Int(IndexInner.counts(node).offset(child)), ref = IndexInner.ref(node, child)
            do throws(StoreError) {
                if child > 0 {
                    let separator = try self.separator(node, child, isNull: child < nulls)
                    // Greater than all before, not greater than what follows.
                    if let last, try order.compare(last, separator) >= 0 {
                        throw wrong("a separator is not greater than what is before it")
                    }
                    bound = separator
                }
                total += try check(ref, level - 1, expected: below, damaged, visit)
            } catch {
                try damaged(ref, error)
                // A check that continues does not know what comes before the next entry.
                total += below
                (last, bound) = (nil, nil)
            }
        }
        guard total == expected else { throw wrong("\(total) entries where \(expected) are said to be") }
        return total
    }

    private func separator(_ node: UnsafeRawPointer, _ index: Int, isNull: Bool) throws(StoreError) -> IndexEntry {
        if order.isText {
            let view = IndexInner.view(node)
            let key = IndexInner.separatorKey(view, index)
            return isNull
                ? IndexEntry(bits: 0, key: key, flags: 0) : try IndexBuilder.text(view, index, key: key, in: &memory)
        }
        let key = Int64(bitPattern: IndexInner.keys(node)[index])
        if isNull { return IndexEntry(bits: 0, key: key, flags: 0) }
        return IndexEntry(
            bits: IndexInner.values(node)[index], low: UInt32(truncatingIfNeeded: IndexInner.lows(node)[index]),
            key: key,
            flags: IndexEntry.present)
    }

    private func checkLeaf(
        _ leaf: UnsafeRawPointer, _ visit: (Value, Int64) throws(StoreError) -> Void
    ) throws(StoreError) -> Int {
        shape.leaves += 1
        guard IndexLeaf.isNull(leaf) || (IndexLeaf.encoding(leaf) == IndexLeaf.text) == order.isText else {
            throw wrong("a leaf of another kind")
        }
        entries.count = 0
        try IndexBuilder.decode(leaf, into: &entries, &memory)
        var count = 0
        for index in 0..<entries.count {
            let run = entries[index]
            let isRun = run.isNull || !order.isText
            let isStored = isRun && IndexLeaf.encoding(leaf) == IndexLeaf.runs
            if isStored, index > 0, run.run == 1, run.step != 0 { throw wrong("a run of one that ascends") }
            if let bound, try order.compare(bound, run) > 0 {
                throw wrong("an entry is less than the separator before it")
            }
            bound = nil
            let entriesOfRun = isRun ? run.run : 1
            for offset in 0..<entriesOfRun {
                let entry = isRun ? single(run.advanced(offset)) : run
                if let last {
                    guard try order.compare(last, entry) < 0 else {
                        throw wrong("entries are out of order at object \(entry.key)")
                    }
                    if unique, !entry.isNull, try order.compareValues(last, entry) == 0 {
                        throw wrong("one value twice, of object \(entry.key)")
                    }
                }
                if entry.isLong {
                    let whole = try order.whole(key: entry.key, hash: entry.bits, length: entry.low)
                    guard IndexBits.hash(whole.baseAddress!, whole.count, seed: source.seed) == entry.bits else {
                        throw wrong("object \(entry.key) has another value than the index")
                    }
                }
                try visit(entry.value(kind), entry.key)
                last = entry
            }
            count += entriesOfRun
        }
        if order.isText, memory.total > 1 << 20 { try keepOnlyLast() }
        shape.entries += count
        return count
    }

    /// Forgets all texts but the one that the next leaf is compared with. Called between leaves: no bound waits.
    private func keepOnlyLast() throws(StoreError) {
        guard var entry = last, !entry.isNull, entry.head > 0 else { return memory.reset() }
        let bytes = [UInt8](UnsafeRawBufferPointer(start: entry.address, count: entry.head))
        memory.reset()
        let home = try memory.allocate(bytes.count)
        home.copyMemory(from: bytes, byteCount: bytes.count)
        entry.extra = UInt(bitPattern: home)
        last = entry
    }

    /// The first entry of a run alone.
    private func single(_ run: IndexEntry) -> IndexEntry {
        var entry = run
        entry.extra = 0
        return entry
    }
}
