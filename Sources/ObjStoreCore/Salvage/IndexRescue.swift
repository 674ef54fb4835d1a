/// Values of an indexed property whose own pages are damaged, read from its index: the pairs (value, object key) of the
/// same version, each of whose pages was checked.
///
/// The index is walked once for each window of requested keys, so that memory is bounded.
struct IndexRescue {
    let source: PageSource
    let version: UInt64
    let root: Ref
    let kind: ValueKind

    private static let window: Int64 = 1 << 18
    private var keys: Range<Int64> = 0..<0
    private var values: [Int64: OwnedValue] = [:]
    /// Pairs that contradict each other: neither is believed.
    private var doubtful: Set<Int64> = []

    init(source: PageSource, version: UInt64, root: Ref, kind: ValueKind) {
        self.source = source
        self.version = version
        self.root = root
        self.kind = kind
    }

    /// Nil where the index does not say it, or not all of it: texts are cut after 64 bytes, floats and doubles have one
    /// zero and one NaN, decimals one way to write a number. Valid until the next call.
    mutating func value(of key: Int64) throws(StoreError) -> Value? {
        if !keys.contains(key) {
            keys = key..<key + IndexRescue.window
            values = [:]
            doubtful = []
            try collect()
        }
        return doubtful.contains(key) ? nil : values[key]?.value
    }

    private mutating func collect() throws(StoreError) {
        if root.isNull { return }
        let used = UsedUnits(fileBytes: source.limit)
        var entries = IndexEntryBuffer(), memory = IndexBump()
        defer {
            entries.release()
            memory.release()
        }
        try walk(root, .indexInner, above: IndexInner.deepest + 1, used, &entries, &memory)
    }

    private mutating func walk(
        _ ref: Ref, _ kind: NodeKind, above: Int, _ used: UsedUnits, _ entries: inout IndexEntryBuffer,
        _ memory: inout IndexBump
    ) throws(StoreError) {
        let node: UnsafeRawPointer
        do throws(StoreError) {
            node = try source.node(ref, kind)
            guard kind == .indexLeaf || IndexInner.level(node) < above else { return }
            guard NodeHeader.born(node) <= version else { return }
            try used.insert(
                VisitedExtent(
                    unit: ref.unit, units: PageSize.units(NodeHeader.bytes(node)), born: NodeHeader.born(node)))
            if kind == .indexLeaf { return try take(node, &entries, &memory) }
        } catch {
            // What it would have said is not known: the values stay lost.
            guard error.isDamage else { throw error }
            return
        }
        for child in 0..<NodeHeader.count(node) {
            try walk(
                IndexInner.ref(node, child), IndexInner.childKind(node), above: IndexInner.level(node), used, &entries,
                &memory)
        }
    }

    private mutating func take(
        _ leaf: UnsafeRawPointer, _ entries: inout IndexEntryBuffer, _ memory: inout IndexBump
    ) throws(StoreError) {
        let isText = kind.isIndexedAsBytes
        guard IndexLeaf.isNull(leaf) || (IndexLeaf.encoding(leaf) == IndexLeaf.text) == isText else {
            throw StoreError(.corrupt, "damaged index: a leaf of another kind")
        }
        entries.count = 0
        memory.reset()
        try IndexBuilder.decode(leaf, into: &entries, &memory)
        for index in 0..<entries.count {
            let entry = entries[index]
            let run = entry.isNull || !isText ? entry.run : 1
            // Of a run, the part that lies in the window.
            let first = max(entry.key, keys.lowerBound), last = min(entry.key &+ Int64(run - 1), keys.upperBound - 1)
            guard first <= last else { continue }
            for key in first...last {
                let single = run == 1 ? entry : entry.advanced(Int(key - entry.key))
                guard let value = exact(single) else { continue }
                if let other = values[key], !other.value.isSame(as: value) { doubtful.insert(key) }
                values[key] = try OwnedValue(copying: value)
            }
        }
    }

    /// Nil where the entry has not all of the value.
    private func exact(_ entry: IndexEntry) -> Value? {
        if entry.isNull { return .null }
        if entry.isLong { return nil }
        let value = entry.value(kind)
        switch kind {
        case .decimal128: return nil
        case .double: return value.asDouble == 0 || value.isNaN ? nil : value
        case .float: return value.asFloat == 0 || value.isNaN ? nil : value
        default: return value
        }
    }
}
