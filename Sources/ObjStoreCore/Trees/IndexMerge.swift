/// What became of one child of an inner node: nothing, or the nodes `from..<to` of `built`.
struct IndexPatch {
    var child: Int
    var from: Int
    var to: Int
    /// The first new node brings its own separator.
    var separates: Bool
}

/// The merge of waiting changes into the tree: one walk from the root, into the children that change.
///
/// ```
///   changes   [ c0 c1 | c2 | c3 c4 c5 ]        cut by the separators of the node
///                 v      v        v
///   children    child 2  5        9            each returns 0, 1 or more nodes
/// ```
/// As long as each returns one, its ref and count are set in place; otherwise the node is rebuilt from old and new
/// children.
extension IndexWriter {
    func mergeChanges() throws(StoreError) {
        builder.built.removeAll(keepingCapacity: true)
        patches.removeAll(keepingCapacity: true)
        var level = 0
        if root.isNull {
            merged.count = 0
            spans.count = 0
            try mergeSpans(0, changes.count)
            try builder.buildLeaves(merged.base!, merged.count, isAppend: true)
        } else {
            level = IndexInner.level(try builder.space.source.node(root, .indexInner))
            try mergeInner(root, level, 0, changes.count, isLast: true)
        }
        while builder.built.count > 1 || (level == 0 && builder.built.count > 0) {
            let children = builder.built
            builder.built = []
            level += 1
            try builder.buildInner(children, level: level, isAppend: true)
        }
        guard let top = builder.built.popLast() else {
            root = .null
            return
        }
        root = top.ref
        while level > 1 {
            let node = try builder.space.source.node(root, .indexInner)
            if NodeHeader.count(node) > 1 { break }
            let only = IndexInner.ref(node, 0)
            try builder.space.discardNode(root, .indexInner)
            root = only
            level -= 1
        }
    }

    // MARK: Inner nodes

    /// Merges `changes[low..<high]` into a node and appends what it becomes to `built`. The separator of the
    /// first of them is left to the caller. `isLast`: nothing of the tree lies to the right.
    private func mergeInner(_ ref: Ref, _ level: Int, _ low: Int, _ high: Int, isLast: Bool) throws(StoreError) {
        let source = builder.space.source
        var ref = ref
        var node = try source.node(ref, .indexInner)
        guard IndexInner.level(node) == level, (IndexInner.encoding(node) == IndexInner.text) == order.isText else {
            throw StoreError(.corrupt, "damaged index: an inner node of another level or kind")
        }
        let count = NodeHeader.count(node)
        if level == 1, high - low >= 64, (high - low) * 4 >= IndexInner.total(node), try isScattered(node, low, high) {
            return try repack(ref, node, low, high)
        }
        let patchMark = patches.count, builtMark = builder.built.count
        var isAppend = false
        var at = low
        while at < high {
            let child = try IndexInner.child(node, changes[at], order, byValue: unique)
            var end = at + 1
            if child + 1 < count { end = try segmentEnd(node, child, at, high) } else { end = high }
            let mark = builder.built.count
            let childRef = IndexInner.ref(node, child)
            if level == 1 {
                try mergeLeaf(childRef, at, end, isLast: isLast && child + 1 == count)
            } else {
                try mergeInner(childRef, level - 1, at, end, isLast: isLast && child + 1 == count)
            }
            at = end
            if child + 1 == count, builder.built.count > mark + 1 { isAppend = true }
            if try setInPlace(&ref, &node, child, mark, level, isRebuilt: patches.count > patchMark) { continue }
            patches.append(IndexPatch(child: child, from: mark, to: builder.built.count, separates: false))
            if builder.built.count > mark, child > 0, IndexInner.isLongSeparator(node, child) {
                // It represented an entry that may be gone.
                builder.built[mark].separator = try builder.entrySeparator(
                    try firstEntry(builder.built[mark].ref, level - 1))
                patches[patches.count - 1].separates = true
            }
        }
        if patches.count == patchMark {
            builder.built.append(
                IndexChild(ref: ref, count: IndexInner.total(node), separator: .lowest, isSmall: false))
            markSmall(builder.built.count - 1, NodeHeader.bytes(node), count)
            return
        }
        var children: ContiguousArray<IndexChild> = []
        children.reserveCapacity(count + builder.built.count - builtMark)
        var patch = patchMark
        for child in 0..<count {
            guard patch < patches.count, patches[patch].child == child else {
                children.append(try builder.child(node, child))
                continue
            }
            let (from, to, separates) = (patches[patch].from, patches[patch].to, patches[patch].separates)
            patch += 1
            if from == to { continue }
            let first = children.count
            children.append(contentsOf: builder.built[from..<to])
            if !separates, child > 0 { children[first].separator = try builder.separator(of: node, child) }
        }
        patches.removeSubrange(patchMark...)
        builder.built.removeSubrange(builtMark...)
        if !children.isEmpty {
            try joinSmall(&children, level)
            try builder.buildInner(children, level: level, isAppend: isLast && isAppend)
        }
        try builder.space.discardNode(ref, .indexInner)
    }

    /// Whether the changes of a node above leaves are spread over so many of its leaves that these would come out half
    /// empty, each by itself. New objects of an index with few values come to the ends of these: a few leaves become
    /// many full ones.
    private func isScattered(_ node: UnsafeRawPointer, _ low: Int, _ high: Int) throws(StoreError) -> Bool {
        let count = NodeHeader.count(node), most = (high - low) * count / max(4 * IndexInner.total(node), 1)
        var at = low, touched = 0
        while at < high {
            let child = try IndexInner.child(node, changes[at], order, byValue: unique)
            at = child + 1 < count ? try segmentEnd(node, child, at, high) : high
            touched += 1
            if touched > most { return true }
        }
        return false
    }

    /// Merges a large part of what a node above leaves holds in one go, so that its leaves come out full:
    /// leaf by leaf each would be split and stay half empty.
    private func repack(_ ref: Ref, _ node: UnsafeRawPointer, _ low: Int, _ high: Int) throws(StoreError) {
        let source = builder.space.source
        builder.scratch.reset()
        spans.count = 0
        merged.count = 0
        let count = NodeHeader.count(node)
        for child in 0..<count {
            let leaf = try source.node(IndexInner.ref(node, child), .indexLeaf)
            try checkKind(leaf)
            try IndexBuilder.decode(leaf, into: &spans, &builder.scratch)
        }
        try mergeSpans(low, high)
        let mark = builder.built.count
        if merged.count > 0 { try builder.buildLeaves(merged.base!, merged.count, isAppend: false) }
        for child in 0..<count { try builder.space.discardNode(IndexInner.ref(node, child), .indexLeaf) }
        let leaves = ContiguousArray(builder.built[mark...])
        builder.built.removeSubrange(mark...)
        if !leaves.isEmpty { try builder.buildInner(leaves, level: 1, isAppend: false) }
        try builder.space.discardNode(ref, .indexInner)
    }

    private func markSmall(_ index: Int, _ bytes: Int, _ count: Int) {
        let limits = builder.limits
        builder.built[index].isSmall = builder.isSmall(bytes, limits.innerBytes, (count, limits.innerChildren))
    }

    /// The first change behind `at` that belongs to a later child.
    private func segmentEnd(_ node: UnsafeRawPointer, _ child: Int, _ at: Int, _ high: Int) throws(StoreError) -> Int {
        // Doubling steps, then halving: short segments are usual, and a bulk change has long ones.
        var low = at, step = 1
        while low + step < high, try belongs(node, child, low + step) {
            low += step
            step *= 2
        }
        var end = min(high, low + step)
        while end - low > 1 {
            let middle = (low + end) >> 1
            if try belongs(node, child, middle) { low = middle } else { end = middle }
        }
        return end
    }

    private func belongs(_ node: UnsafeRawPointer, _ child: Int, _ change: Int) throws(StoreError) -> Bool {
        if IndexInner.encoding(node) == IndexInner.numbers {
            let target = changes[change]
            let isNull = child + 1 < IndexInner.nullSeparators(node)
            if isNull != target.isNull { return target.isNull }
            if !isNull {
                let bits = IndexInner.values(node)[child + 1]
                if target.bits != bits { return target.bits < bits }
                let low = UInt32(truncatingIfNeeded: IndexInner.lows(node)[child + 1])
                if target.low != low { return target.low < low }
                if unique { return false }
            }
            return target.key < Int64(bitPattern: IndexInner.keys(node)[child + 1])
        }
        return try IndexInner.child(node, changes[change], order, byValue: unique) <= child
    }

    /// Puts the one node that a child became in its place. False: the node must be rebuilt.
    private func setInPlace(
        _ ref: inout Ref, _ node: inout UnsafeRawPointer, _ child: Int, _ mark: Int, _ level: Int, isRebuilt: Bool
    ) throws(StoreError) -> Bool {
        guard builder.built.count == mark + 1 else { return false }
        let new = builder.built[mark]
        let width = IndexInner.countWidth(node)
        guard UInt64(new.count) <= IndexColumn.limit(width) else { return false }
        if new.isSmall {
            // In a node that is rebuilt the neighbour's old ref may be void already.
            if isRebuilt { return false }
            if try hasRoomBeside(node, child, new, level) { return false }
        }
        if IndexInner.isLongSeparator(node, child) {
            let first = try firstEntry(new.ref, level - 1)
            let (bytes, count, _) = IndexInner.view(node).suffix(child)
            let (length, hash) = IndexText.long(bytes + count)
            let key = IndexInner.separatorKey(IndexInner.view(node), child)
            guard first.isLong, first.key == key, first.bits == hash, first.low == length else { return false }
        }
        let (own, pointer) = try builder.space.writableNode(ref, .indexInner)
        ref = own
        node = UnsafeRawPointer(pointer)
        IndexInner.setRef(pointer, child, new.ref)
        let counts = IndexInner.countsOffset(node, NodeHeader.count(node))
        IndexColumn.store(UInt64(new.count), pointer + (counts + child * width), width: width)
        builder.built.removeLast()
        return true
    }

    /// The first entry below a node.
    private func firstEntry(_ ref: Ref, _ level: Int) throws(StoreError) -> IndexEntry {
        let source = builder.space.source
        var ref = ref, level = level
        while level > 0 {
            let node = try source.node(ref, .indexInner)
            guard IndexInner.level(node) == level else {
                throw StoreError(.corrupt, "damaged index: a node of another level")
            }
            ref = IndexInner.ref(node, 0)
            level -= 1
        }
        let leaf = try source.node(ref, .indexLeaf)
        guard IndexLeaf.encoding(leaf) == IndexLeaf.text else {
            var list = IndexEntryBuffer()
            defer { list.release() }
            try IndexBuilder.decode(leaf, into: &list, &builder.kept)
            return list[0]
        }
        return try IndexBuilder.text(
            IndexLeaf.view(leaf), 0, key: Int64(bitPattern: IndexLeaf.textKeys(leaf)[0]), in: &builder.kept)
    }

    // MARK: Small nodes

    /// Whether a small child could be joined with a neighbour, judged by their sizes.
    private func hasRoomBeside(
        _ node: UnsafeRawPointer, _ child: Int, _ new: IndexChild, _ level: Int
    ) throws(StoreError) -> Bool {
        let count = NodeHeader.count(node)
        if child > 0, try canJoin(IndexInner.ref(node, child - 1), new.ref, level) { return true }
        return child + 1 < count ? try canJoin(new.ref, IndexInner.ref(node, child + 1), level) : false
    }

    private func canJoin(_ a: Ref, _ b: Ref, _ level: Int) throws(StoreError) -> Bool {
        let kind: NodeKind = level == 1 ? .indexLeaf : .indexInner
        let x = try builder.space.source.node(a, kind), y = try builder.space.source.node(b, kind)
        // Kind of encoding, and null or not.
        guard x.load(fromByteOffset: 16, as: UInt16.self) == y.load(fromByteOffset: 16, as: UInt16.self) else {
            return false
        }
        let bytes = NodeHeader.bytes(x) + NodeHeader.bytes(y), count = NodeHeader.count(x) + NodeHeader.count(y)
        let limits = builder.limits
        let most =
            level > 1
            ? limits.innerChildren : IndexLeaf.encoding(x) == IndexLeaf.runs ? limits.runs : limits.leafEntries
        guard bytes * 4 <= (level == 1 ? limits.leafBytes : limits.innerBytes) * 3, count * 4 <= most * 3 else {
            return false
        }
        return level > 1 || IndexLeaf.encoding(x) != IndexLeaf.packed
            || IndexLeaf.data + count * IndexLeaf.joinedWidth(x, y) <= limits.leafBytes
    }

    /// Joins small children with a neighbour where both fit into one node.
    private func joinSmall(_ children: inout ContiguousArray<IndexChild>, _ level: Int) throws(StoreError) {
        var index = 0
        while index < children.count {
            if children[index].isSmall {
                if index > 0, try join(&children, index - 1, level) { continue }
                if index + 1 < children.count, try join(&children, index, level) { continue }
            }
            index += 1
        }
    }

    private func join(
        _ children: inout ContiguousArray<IndexChild>, _ index: Int, _ level: Int
    ) throws(StoreError) -> Bool {
        let a = children[index], b = children[index + 1]
        guard try canJoin(a.ref, b.ref, level) else { return false }
        let source = builder.space.source
        let kind: NodeKind = level == 1 ? .indexLeaf : .indexInner
        var joined: IndexChild
        if level == 1 {
            builder.scratch.reset()
            spans.count = 0
            merged.count = 0
            try IndexBuilder.decode(try source.node(a.ref, kind), into: &spans, &builder.scratch)
            try IndexBuilder.decode(try source.node(b.ref, kind), into: &spans, &builder.scratch)
            for span in 0..<spans.count { try appendSpan(spans[span]) }
            guard let leaf = try builder.buildOneLeaf(merged.base!, merged.count) else { return false }
            joined = leaf
        } else {
            var all: ContiguousArray<IndexChild> = []
            let x = try source.node(a.ref, kind), y = try source.node(b.ref, kind)
            for child in 0..<NodeHeader.count(x) { all.append(try builder.child(x, child)) }
            let middle = all.count
            for child in 0..<NodeHeader.count(y) { all.append(try builder.child(y, child)) }
            all[middle].separator = b.separator
            guard let node = try builder.buildOneInner(all, level: level - 1) else { return false }
            joined = node
        }
        try builder.space.discardNode(a.ref, kind)
        try builder.space.discardNode(b.ref, kind)
        joined.separator = a.separator
        children[index] = joined
        children.remove(at: index + 1)
        return true
    }

    // MARK: Leaves

    private func mergeLeaf(_ ref: Ref, _ low: Int, _ high: Int, isLast: Bool) throws(StoreError) {
        let leaf = try builder.space.source.node(ref, .indexLeaf)
        try checkKind(leaf)
        if IndexLeaf.encoding(leaf) == IndexLeaf.packed, high - low <= 64, try splice(ref, leaf, low, high) { return }
        builder.scratch.reset()
        spans.count = 0
        merged.count = 0
        try IndexBuilder.decode(leaf, into: &spans, &builder.scratch)
        let last = spans[spans.count - 1]
        var isAppend = false
        if isLast {
            isAppend =
                try order.compare(last.advanced(last.isNull || !order.isText ? last.run - 1 : 0), changes[low]) < 0
        }
        try mergeSpans(low, high)
        if merged.count > 0 { try builder.buildLeaves(merged.base!, merged.count, isAppend: isAppend) }
        try builder.space.discardNode(ref, .indexLeaf)
    }

    private func checkKind(_ leaf: UnsafeRawPointer) throws(StoreError) {
        guard IndexLeaf.isNull(leaf) || (IndexLeaf.encoding(leaf) == IndexLeaf.text) == order.isText else {
            throw StoreError(.corrupt, "damaged index: a leaf of another kind of value")
        }
    }

    /// Nulls come in runs in every index, texts never.
    @inline(__always)
    private func isRun(_ span: IndexEntry) -> Bool { (span.isNull || !order.isText) && span.run > 1 }

    /// Merges `spans` and `changes[low..<high]` to `merged`.
    private func mergeSpans(_ low: Int, _ high: Int) throws(StoreError) {
        var index = 0
        // What is left of the run at `index`.
        var current = spans.count > 0 ? spans[0] : IndexEntry.lowest
        for at in low..<high {
            let change = changes[at]
            var found = 1
            while index < spans.count {
                if isRun(current) {
                    let before = IndexSearch.position(current, change, isAfter: false)
                    if before > 0 {
                        var part = current
                        part.extra = UInt(before - 1)
                        try appendSpan(part)
                    }
                    if before < current.run {
                        current = current.advanced(before)
                        found = try order.compare(current, change)
                        break
                    }
                } else {
                    found = try order.compare(current, change)
                    if found >= 0 { break }
                    try appendSpan(current)
                }
                index += 1
                if index < spans.count { current = spans[index] }
            }
            if change.isRemoval {
                guard index < spans.count, found == 0 else {
                    throw StoreError(.corrupt, "an index does not have what object \(change.key) had")
                }
                if isRun(current) {
                    current = current.advanced(1)
                } else {
                    index += 1
                    if index < spans.count { current = spans[index] }
                }
            } else {
                if index < spans.count, found == 0 {
                    throw StoreError(.corrupt, "an index has what object \(change.key) gets already")
                }
                try appendSpan(change)
            }
        }
        while index < spans.count {
            try appendSpan(current)
            index += 1
            if index < spans.count { current = spans[index] }
        }
    }

    /// Appends to `merged`, making runs of what follows on.
    @inline(__always)
    private func appendSpan(_ span: IndexEntry) throws(StoreError) {
        if merged.count > 0 {
            let last = merged[merged.count - 1]
            if unique, try isSameValue(last, span) {
                throw StoreError(.corrupt, "a unique index has one value twice, of object \(span.key)")
            }
            if (last.flags ^ span.flags) & IndexEntry.present == 0, last.isNull || !order.isText, last.low == span.low,
                last.key < span.key, last.key &+ Int64(last.run) == span.key
            {
                let growth = span.bits &- (last.bits &+ last.step &* UInt64(truncatingIfNeeded: last.run &- 1))
                if growth <= 1, last.run == 1 || last.step == growth, span.run == 1 || span.step == growth {
                    var joined = last
                    joined.extra = last.extra &+ span.extra &+ 1
                    if growth == 1 { joined.flags |= IndexEntry.ascending }
                    merged[merged.count - 1] = joined
                    return
                }
            }
        }
        var span = span
        if span.isNull || !order.isText, span.run == 1 { span.flags &= ~IndexEntry.ascending }
        try merged.append(span)
    }

    private func isSameValue(_ a: IndexEntry, _ b: IndexEntry) throws(StoreError) -> Bool {
        if order.isText {
            if (a.flags ^ b.flags) & IndexEntry.present != 0 || a.low != b.low { return false }
            // Two long ones of the tree are known to differ.
            if a.isLong, !a.isWhole, !b.isWhole { return false }
            return try order.compareValues(a, b) == 0
        }
        if (a.flags ^ b.flags) & IndexEntry.present != 0 || a.low != b.low { return false }
        return a.bits &+ a.step &* UInt64(truncatingIfNeeded: a.run &- 1) == b.bits
    }
}
