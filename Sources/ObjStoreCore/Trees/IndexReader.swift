internal import CSystem

/// Looks up one root of an index, without allocation or reference counting. A value of a few words.
///
/// Valid as long as its source and `longValues` are; inside a transaction until the next change.
/// Every method throws `.corrupt` for a damaged page, and `.invalidArgument` for a value of another kind.
package struct IndexReader {
    let source: PageSource
    package let root: Ref
    package let kind: ValueKind
    let order: IndexOrder

    /// `longValues` supplies what texts have beyond 64 bytes, in the snapshot of `root`; the caller keeps it
    /// alive. Other kinds, and text indexes where no value is that long, never use it.
    package init(source: PageSource, root: Ref, kind: ValueKind, longValues: IndexLongValues? = nil) {
        self.source = source
        self.root = root
        self.kind = kind
        order = IndexOrder(kind: kind, longValues: longValues)
    }

    /// How many entries there are. O(1).
    package func count() throws(StoreError) -> Int {
        if root.isNull { return 0 }
        return IndexInner.total(try source.node(root, .indexInner))
    }

    /// The object key of a value; of any where there are several. O(log n).
    @inline(__always)
    package func find(_ value: Value) throws(StoreError) -> Int64? {
        if root.isNull { return nil }
        switch kind {
        case .bool, .int, .link:
            if value.kind == kind { return try find(bits: IndexBits.signed(value.low)) }
        case .double:
            if value.kind == kind { return try find(bits: IndexBits.double(value.asDouble)) }
        case .float:
            if value.kind == kind { return try find(bits: IndexBits.double(Double(value.asFloat))) }
        case .decimal128, .uuid:
            return try value.withIndexBytes { (value) throws(StoreError) in
                try findAny(try IndexEntry(value, key: .max, kind: kind))
            }
        default: break
        }
        return try findAny(try IndexEntry(value, key: .max, kind: kind))
    }

    package func contains(_ value: Value) throws(StoreError) -> Bool { try find(value) != nil }

    /// Whether the pair (value, object key) is there.
    package func contains(_ value: Value, _ key: Int64) throws(StoreError) -> Bool {
        try value.withIndexBytes { (value) throws(StoreError) in
            let target = try IndexEntry(value, key: key, kind: kind)
            return try rank(IndexBound(target, isAfter: true)) > rank(IndexBound(target, isAfter: false))
        }
    }

    /// A number of one word.
    @inline(__always)
    func find(bits: UInt64) throws(StoreError) -> Int64? {
        var node = try source.node(root, .indexInner)
        var level = IndexInner.level(node)
        while true {
            guard IndexInner.encoding(node) == IndexInner.numbers else { throw wrongEncoding() }
            let values = IndexInner.values(node)
            let nulls = IndexInner.nullSeparators(node)
            var child = nulls > 0 ? nulls &- 1 : 0
            if bits >= values.base {
                child = IndexInner.last(values, bits &- values.base, child, NodeHeader.count(node))
            }
            let ref = IndexInner.ref(node, child)
            if level == 1 {
                let leaf = try source.node(ref, .indexLeaf)
                if let key = IndexReader.key(in: leaf, bits: bits) { return key }
                return IndexReader.isBefore(leaf, bits: bits)
                    ? try findBefore(IndexEntry(bits: bits, key: .min, flags: IndexEntry.present)) : nil
            }
            node = try source.node(ref, .indexInner)
            level &-= 1
            guard IndexInner.level(node) == level else { throw wrongLevel() }
        }
    }

    /// A key of a value in a leaf.
    @inline(__always)
    private static func key(in leaf: UnsafeRawPointer, bits: UInt64) -> Int64? {
        if IndexLeaf.isNull(leaf) { return nil }
        if IndexLeaf.encoding(leaf) == IndexLeaf.packed {
            let values = IndexLeaf.values(leaf)
            if bits < values.base { return nil }
            let wanted = bits &- values.base
            let index = IndexInner.last(values, wanted, 0, NodeHeader.count(leaf))
            return values.offset(index) == wanted ? Int64(bitPattern: IndexLeaf.keys(leaf)[index]) : nil
        }
        return findInRuns(leaf, bits: bits, low: nil)
    }

    /// Whether a value is less than all of a leaf.
    @inline(__always)
    private static func isBefore(_ leaf: UnsafeRawPointer, bits: UInt64) -> Bool {
        !IndexLeaf.isNull(leaf)
            && bits
                < (IndexLeaf.encoding(leaf) == IndexLeaf.runs
                    ? IndexLeaf.runWord(leaf, 0, 0) : IndexLeaf.values(leaf)[0])
    }

    /// Looks from below: a separator may have the value although only the leaf before it has entries with it.
    @inline(never)
    private func findBefore(_ target: IndexEntry) throws(StoreError) -> Int64? {
        var target = target
        target.key = .min
        var cursor = IndexCursor(self)
        try cursor.seek(IndexBound(target, isAfter: false))
        guard let leaf = cursor.leaf else { return nil }
        return try IndexSearch.equalKey(leaf, cursor.position, target, order)
    }

    static func findInRuns(_ leaf: UnsafeRawPointer, bits: UInt64, low: UInt32?) -> Int64? {
        guard IndexLeaf.encoding(leaf) == IndexLeaf.runs else { return nil }
        if let low, low != leaf.load(fromByteOffset: 48, as: UInt32.self) { return nil }
        var first = 0, length = NodeHeader.count(leaf)
        while length > 1 {
            let half = length >> 1
            if IndexLeaf.runWord(leaf, first &+ half, 0) <= bits { first = first &+ half }
            length &-= half
        }
        let run = IndexLeaf.run(leaf, first)
        if bits < run.bits { return nil }
        let distance = bits &- run.bits
        if run.step == 0 { return distance == 0 ? run.key &+ Int64(run.run &- 1) : nil }
        return distance < UInt64(run.run) ? run.key &+ Int64(bitPattern: distance) : nil
    }

    /// Any kind of value.
    @inline(never)
    private func findAny(_ target: IndexEntry) throws(StoreError) -> Int64? {
        var node = try source.node(root, .indexInner)
        var level = IndexInner.level(node)
        while true {
            try checkEncoding(node)
            let ref = IndexInner.ref(node, try IndexInner.child(node, target, order, byValue: true))
            if level == 1 { break }
            node = try source.node(ref, .indexInner)
            level -= 1
            guard IndexInner.level(node) == level else { throw wrongLevel() }
        }
        let ref = IndexInner.ref(node, try IndexInner.child(node, target, order, byValue: true))
        if order.isText { source.prefetchLeaf(ref) }
        let leaf = try source.node(ref, .indexLeaf)
        try checkLeaf(leaf)
        let position = try IndexSearch.position(leaf, target, order, isAfter: true)
        if position == 0 { return try findBefore(target) }
        return try IndexSearch.equalKey(leaf, position - 1, target, order)
    }

    // MARK: Hostile pages

    @inline(__always)
    func checkEncoding(_ node: UnsafeRawPointer) throws(StoreError) {
        guard (IndexInner.encoding(node) == IndexInner.text) == order.isText else { throw wrongEncoding() }
    }

    @inline(__always)
    func checkLeaf(_ leaf: UnsafeRawPointer) throws(StoreError) {
        guard IndexLeaf.isNull(leaf) || (IndexLeaf.encoding(leaf) == IndexLeaf.text) == order.isText else {
            throw wrongEncoding()
        }
    }

    @inline(never) func wrongEncoding() -> StoreError {
        StoreError(.corrupt, "damaged index: a node of another kind of value")
    }
    @inline(never) func wrongLevel() -> StoreError { StoreError(.corrupt, "damaged index: a node of another level") }
}

extension PageSource {
    /// Prefetches a whole leaf: halving among texts touches most of its lines one after another.
    @inline(__always)
    func prefetchLeaf(_ ref: Ref) {
        guard ref.raw < UInt64(limit) else { return }
        let start = base + Int(ref.raw & ~Ref.tagMask)
        for line in 0..<16 { cs_prefetch(start + line &* 64) }
    }
}

/// Positions of entries inside a leaf.
enum IndexSearch {
    /// How many entries of the leaf are less than the target; with `isAfter` not greater.
    static func position(
        _ leaf: UnsafeRawPointer, _ target: IndexEntry, _ order: IndexOrder, isAfter: Bool
    ) throws(StoreError) -> Int {
        let count = NodeHeader.count(leaf)
        if target.isNull != IndexLeaf.isNull(leaf) { return target.isNull ? 0 : IndexLeaf.entries(leaf) }
        switch IndexLeaf.encoding(leaf) {
        case IndexLeaf.packed:
            let values = IndexLeaf.values(leaf), keys = IndexLeaf.keys(leaf), lows = IndexLeaf.lows(leaf)
            var low = 0, high = count
            while low < high {
                let middle = (low &+ high) >> 1
                let value = values[middle]
                var less = value < target.bits
                if value == target.bits {
                    let nanos = UInt32(truncatingIfNeeded: lows[middle])
                    less = nanos < target.low
                    if nanos == target.low {
                        let key = Int64(bitPattern: keys[middle])
                        less = key < target.key || (isAfter && key == target.key)
                    }
                }
                if less { low = middle &+ 1 } else { high = middle }
            }
            return low
        case IndexLeaf.runs:
            var low = 0, high = count  // runs whose first entry is less (or not greater)
            let nanos = leaf.load(fromByteOffset: 48, as: UInt32.self)
            while low < high {
                let middle = (low &+ high) >> 1
                let value = IndexLeaf.runWord(leaf, middle, 0)
                let key = Int64(bitPattern: IndexLeaf.runWord(leaf, middle, 1))
                var less = value < target.bits
                if value == target.bits {
                    less =
                        nanos < target.low
                        || (nanos == target.low && (key < target.key || (isAfter && key == target.key)))
                }
                if less { low = middle &+ 1 } else { high = middle }
            }
            if low == 0 { return 0 }
            return IndexLeaf.runStart(leaf, low &- 1)
                &+ position(IndexLeaf.run(leaf, low &- 1), target, isAfter: isAfter)
        default:
            let view = IndexLeaf.view(leaf), keys = IndexLeaf.textKeys(leaf)
            let c = view.comparePrefix(target)
            if c != 0 { return c < 0 ? count : 0 }
            var low = 0, high = count
            while low < high {
                let middle = (low &+ high) >> 1
                let c = try view.compare(middle, target, order, key: { Int64(bitPattern: keys[$0]) })
                var less = c < 0
                if c == 0 {
                    let key = Int64(bitPattern: keys[middle])
                    less = key < target.key || (isAfter && key == target.key)
                }
                if less { low = middle &+ 1 } else { high = middle }
            }
            return low
        }
    }

    /// How many entries of a run of numbers are less than the target; with `isAfter` not greater.
    static func position(_ run: IndexEntry, _ target: IndexEntry, isAfter: Bool) -> Int {
        let count = run.run
        if run.isNull != target.isNull { return target.isNull ? 0 : count }
        if run.bits > target.bits { return 0 }
        var distance = target.bits &- run.bits  // the entry that has the target's value
        if run.step == 0 {
            if distance > 0 { return count }
            distance = 0
        } else if distance >= UInt64(count) {
            return count
        }
        let before = Int(distance)
        if run.low != target.low {
            return run.low < target.low ? before &+ Int(run.step == 0 ? UInt64(count) : 1) : before
        }
        let key = run.key &+ Int64(before)
        if run.step != 0 { return key < target.key || (isAfter && key == target.key) ? before &+ 1 : before }
        if target.key < key { return 0 }
        let steps = UInt64(bitPattern: target.key &- key)
        if steps >= UInt64(count) { return count }
        return Int(steps) &+ (isAfter ? 1 : 0)
    }

    /// The key of entry `index` if its value is the target's.
    static func equalKey(
        _ leaf: UnsafeRawPointer, _ index: Int, _ target: IndexEntry, _ order: IndexOrder
    ) throws(StoreError) -> Int64? {
        if target.isNull != IndexLeaf.isNull(leaf) { return nil }
        switch IndexLeaf.encoding(leaf) {
        case IndexLeaf.packed:
            if target.isNull { return Int64(bitPattern: IndexLeaf.keys(leaf)[index]) }
            guard IndexLeaf.values(leaf)[index] == target.bits,
                UInt32(truncatingIfNeeded: IndexLeaf.lows(leaf)[index]) == target.low
            else {
                return nil
            }
            return Int64(bitPattern: IndexLeaf.keys(leaf)[index])
        case IndexLeaf.runs:
            return IndexReader.findInRuns(leaf, bits: target.bits, low: target.isNull ? nil : target.low)
        default:
            let view = IndexLeaf.view(leaf), keys = IndexLeaf.textKeys(leaf)
            guard view.comparePrefix(target) == 0 else { return nil }
            guard try view.compare(index, target, order, key: { Int64(bitPattern: keys[$0]) }) == 0 else { return nil }
            return Int64(bitPattern: keys[index])
        }
    }
}
