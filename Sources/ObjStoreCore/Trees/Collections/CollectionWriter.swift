/// Sizes that decide when nodes of collection trees split and merge. Tests make them tiny.
package struct CollectionLimits: Sendable {
    package var leafBytes = 2048
    package var leafElements = 4096
    /// At most; nodes with heads have fewer.
    package var innerChildren = CollectionInner.capacity

    package init() {}
    package static let standard = CollectionLimits()
}

/// Changes the lists, sets or maps of one property inside a write transaction.
///
/// Everything is one operation: the elements at some positions are replaced by others. A leaf that becomes too large is
/// split, one that becomes too small is put together with a neighbour; inner nodes likewise.
///
/// A throw (out of memory, damaged page) may leave the tree half changed: the transaction can then only be cancelled,
/// or rolled back to a savepoint.
package final class CollectionWriter {
    let space: WriteSpace
    let hasKeys: Bool
    /// Inner nodes that are made have the heads of keys: of sets and maps.
    let hasHeads: Bool
    let limits: CollectionLimits
    package private(set) var root: Ref { didSet { known = nil } }
    /// Where the elements of the owner that was looked up last are.
    private var known: (owner: Int64, range: Range<Int>)?
    /// The elements that a call gives, and those of the leaf, or leaves, that are being rewritten.
    private var given: ContiguousArray<CollectionElement> = []
    private var work: ContiguousArray<CollectionElement> = []

    /// - Parameter isOrdered: sets and maps, whose elements are searched.
    package init(space: WriteSpace, root: Ref, hasKeys: Bool, isOrdered: Bool, limits: CollectionLimits = .standard) {
        self.space = space
        self.root = root
        self.hasKeys = hasKeys
        hasHeads = isOrdered
        self.limits = limits
    }

    /// For the next transaction, which begins with that tree; also back to a savepoint.
    package func begin(root: Ref) { self.root = root }

    package var reader: CollectionReader { CollectionReader(source: space.source, root: root) }

    /// The positions of an owner's elements, remembered until others change.
    func range(_ owner: Int64) throws(StoreError) -> Range<Int> {
        if let known, known.owner == owner { return known.range }
        let range = try reader.range(owner)
        known = (owner, range)
        return range
    }

    /// The same where it is known without a look.
    @inline(__always)
    func knownRange(_ owner: Int64) -> Range<Int>? { known.flatMap { $0.owner == owner ? $0.range : nil } }

    // MARK: Changing

    /// Replaces the elements at `positions`, all of `owner`, by others of the same owner.
    ///
    /// - Parameter elements: keys and values; texts are copied. Of maps and sets in order.
    package func replace(
        _ owner: Int64, _ positions: Range<Int>, with elements: ArraySlice<(key: Value, value: Value)>
    ) throws(StoreError) {
        var range = known.flatMap { $0.owner == owner ? $0.range : nil }
        given.removeAll(keepingCapacity: elements.count < 256)
        for (key, value) in elements {
            given.append(CollectionElement(owner: owner, key: StoredValue(key), value: try stored(value)))
        }
        try replace(positions, with: given)
        space.scratch.reset()
        if let old = range {
            range = old.lowerBound..<old.upperBound + elements.count - positions.count
            known = (owner, range!)
        }
    }

    /// Removes all elements of an owner. Cost: O(log n) and the pages that they fill.
    package func removeAll(_ owner: Int64) throws(StoreError) {
        let range = try reader.range(owner)
        if !range.isEmpty { try replace(range, with: []) }
        space.scratch.reset()
    }

    /// Frees the whole tree.
    package func discardAll() throws(StoreError) {
        if root.isNull { return }
        try discard(root, .collectionInner, above: nil)
        root = .null
    }

    /// A text that is too long for a leaf gets an extent of its own.
    private func stored(_ value: Value) throws(StoreError) -> StoredValue {
        guard value.kind.hasOffsets, value.count > StoredValue.longestInline else { return StoredValue(value) }
        let (ref, pointer) = try space.newPart(bytes: value.count, capacity: value.count)
        pointer.copyMemory(from: value.pointer!, byteCount: value.count)
        let cell = try space.scratch.allocate(StringSegment.cellBytes)
        LongValue.store(cell, ref: ref, bytes: value.count, hash: 0, born: 0)
        return StoredValue(
            Value(kind: value.kind, pointer: UnsafeRawPointer(cell), count: StringSegment.cellBytes), isLong: true)
    }

    private func replace(_ positions: Range<Int>, with new: ContiguousArray<CollectionElement>) throws(StoreError) {
        if positions.isEmpty, new.isEmpty { return }
        if root.isNull {
            guard positions.isEmpty else { throw CollectionReader.damaged("there are no elements to replace") }
            work = new
            try grow(try leaves(tail: 0))
            return
        }
        switch try replaceInner(root, above: nil, positions, with: new) {
        case .same(let child): root = child.ref
        case .several(let children): try grow(children)
        }
        try shrink()
    }

    /// Puts inner nodes above the children until there is one.
    private func grow(_ children: [CollectionChild]) throws(StoreError) {
        if children.isEmpty {
            root = .null
            return
        }
        var children = children
        var level = 1
        if let kind = try innerLevel(children[0].ref) { level = kind + 1 }
        repeat {
            children = try innerNodes(children[...], level: level)
            level += 1
        } while children.count > 1
        root = children[0].ref
    }

    /// The level of an inner node; nil for a leaf.
    private func innerLevel(_ ref: Ref) throws(StoreError) -> Int? {
        // Only nodes that were just made come here: they are in the arena.
        let node = space.arena.table.pointer(ref)
        return NodeHeader.kind(node) == NodeKind.collectionInner.rawValue ? CollectionInner.level(node) : nil
    }

    /// A root with one inner child is not needed.
    private func shrink() throws(StoreError) {
        while !root.isNull {
            let node = try reader.inner(root, above: nil)
            guard CollectionInner.level(node) > 1, NodeHeader.count(node) == 1 else { return }
            let child = CollectionInner.ref(node, 0)
            try space.discardNode(root, .collectionInner)
            root = child
        }
    }

    // MARK: Inner nodes

    /// What became of a node.
    private enum Outcome {
        /// One node, as before.
        case same(CollectionChild)
        /// None, or several.
        case several([CollectionChild])
    }

    private func replaceInner(
        _ ref: Ref, above: UnsafeRawPointer?, _ positions: Range<Int>, with new: ContiguousArray<CollectionElement>
    ) throws(StoreError) -> Outcome {
        let old = try reader.inner(ref, above: above)
        let count = NodeHeader.count(old), level = CollectionInner.level(old)
        let counts = CollectionInner.counts(old), total = CollectionInner.total(old)
        guard positions.upperBound <= total else {
            throw CollectionReader.damaged("positions \(positions) do not exist")
        }
        // An element that goes between two children goes to the end of the first: appending fills leaves.
        let lowest = positions.lowerBound - (positions.isEmpty ? 1 : 0)
        var first = 0, before = 0
        if lowest >= total - counts[count - 1] {
            // An append looks at no other child.
            first = count - 1
            before = total - counts[first]
        } else {
            while first + 1 < count, lowest >= before + counts[first] {
                before += counts[first]
                first += 1
            }
        }
        var last = first, end = before + counts[first]
        while positions.upperBound > end {
            last += 1
            end += counts[last]
        }
        let (own, node) = try space.writableNode(ref, .collectionInner)
        if first == last {
            let local = positions.lowerBound - before..<positions.upperBound - before
            let outcome = try replaceChild(node, first, level, local, with: new)
            if case .same(let child) = outcome {
                let change = child.count - CollectionInner.counts(node)[first]
                CollectionInner.set(node, first, child)
                if child.hasNewFirst { try renewHeads(node, first..<first + 1) }
                return try settle(
                    own, node, first..<first + 1, total: total + change, hasNewFirst: first == 0 && child.hasNewFirst)
            }
            guard case .several(let children) = outcome else { fatalError("two cases") }
            return try put(children, own, node, first..<first + 1)
        }
        // The first and the last keep something, unless they go as a whole; those between go.
        var children: [CollectionChild] = []
        for index in first...last {
            let child = CollectionInner.child(UnsafeRawPointer(node), index)
            let lower = max(0, positions.lowerBound - before), upper = min(child.count, positions.upperBound - before)
            before += child.count
            let insertion = index == first ? new : []
            if lower == 0, upper == child.count, insertion.isEmpty {
                try discard(child.ref, CollectionInner.childKind(node), above: node)
                continue
            }
            switch try replaceChild(node, index, level, lower..<upper, with: insertion) {
            case .same(let child): children.append(child)
            case .several(let some): children += some
            }
        }
        return try put(children, own, node, first..<last + 1)
    }

    private func replaceChild(
        _ node: UnsafeRawPointer, _ index: Int, _ level: Int, _ positions: Range<Int>,
        with new: ContiguousArray<CollectionElement>
    ) throws(StoreError) -> Outcome {
        let ref = CollectionInner.ref(node, index)
        return level > 1
            ? try replaceInner(ref, above: node, positions, with: new) : try replaceLeaf(ref, positions, with: new)
    }

    /// Puts `children` where those in `range` were.
    private func put(
        _ children: [CollectionChild], _ ref: Ref, _ node: UnsafeMutableRawPointer, _ range: Range<Int>
    ) throws(StoreError) -> Outcome {
        let count = NodeHeader.count(node), total = count - range.count + children.count
        if total == 0 {
            try space.discardNode(ref, .collectionInner)
            return .several([])
        }
        if total <= min(limits.innerChildren, CollectionInner.capacity(node)) {
            let changed = range.lowerBound..<range.lowerBound + children.count
            CollectionInner.move(node, from: range.upperBound, to: changed.upperBound)
            for (index, child) in children.enumerated() { CollectionInner.set(node, changed.lowerBound + index, child) }
            NodeHeader.setCount(node, total)
            try renewHeads(node, changed)
            return try settle(
                ref, node, changed, total: CollectionInner.total(node), hasNewFirst: range.lowerBound == 0)
        }
        var all: [CollectionChild] = []
        for index in 0..<range.lowerBound { all.append(CollectionInner.child(node, index)) }
        all += children
        for index in range.upperBound..<count { all.append(CollectionInner.child(node, index)) }
        let level = CollectionInner.level(node)
        try space.discardNode(ref, .collectionInner)
        // At the right edge more is likely to follow: nodes before it are left full.
        return .several(try innerNodes(all[...], level: level, fillsLeft: range.upperBound == count))
    }

    /// After children in `changed` are new: those that are small are put together with a neighbour. `total`: elements
    /// below.
    private func settle(
        _ ref: Ref, _ node: UnsafeMutableRawPointer, _ changed: Range<Int>, total: Int, hasNewFirst: Bool
    ) throws(StoreError) -> Outcome {
        var index = changed.lowerBound, end = changed.upperBound
        while index < end, NodeHeader.count(node) > 1 {
            if try !isSmall(node, index) {
                index += 1
                continue
            }
            let left = index > 0 ? index - 1 : index
            if try merge(node, left) {
                end -= 1
                index = left
            } else {
                index += 1
            }
        }
        return .same(
            CollectionChild(owner: CollectionInner.owners(node)[0], ref: ref, count: total, hasNewFirst: hasNewFirst))
    }

    private func isSmall(_ node: UnsafeRawPointer, _ index: Int) throws(StoreError) -> Bool {
        let ref = CollectionInner.ref(node, index)
        if CollectionInner.level(node) > 1 {
            return NodeHeader.count(try reader.inner(ref, above: node)) < mostChildren / 4
        }
        let leaf = try reader.leaf(ref)
        return NodeHeader.bytes(leaf.node) < limits.leafBytes / 4 && leaf.count < max(2, limits.leafElements / 4)
    }

    /// Makes one child of two neighbours, where they fit; whether they did.
    private func merge(_ node: UnsafeMutableRawPointer, _ left: Int) throws(StoreError) -> Bool {
        let a = CollectionInner.child(node, left), b = CollectionInner.child(node, left + 1)
        let merged: CollectionChild
        if CollectionInner.level(node) > 1 {
            let second = try reader.inner(b.ref, above: node),
                count = NodeHeader.count(try reader.inner(a.ref, above: node))
            guard count + NodeHeader.count(second) <= mostChildren * 3 / 4 else { return false }
            let (own, first) = try space.writableNode(a.ref, .collectionInner)
            for index in 0..<NodeHeader.count(second) {
                CollectionInner.set(first, count + index, CollectionInner.child(second, index))
            }
            NodeHeader.setCount(first, count + NodeHeader.count(second))
            try renewHeads(first)
            try space.discardNode(b.ref, .collectionInner)
            merged = CollectionChild(owner: a.owner, ref: own, count: a.count + b.count)
        } else {
            let first = try reader.leaf(a.ref), second = try reader.leaf(b.ref)
            guard NodeHeader.bytes(first.node) + NodeHeader.bytes(second.node) <= limits.leafBytes,
                first.count + second.count <= limits.leafElements * 3 / 4
            else { return false }
            work.removeAll(keepingCapacity: true)
            first.append(0..<first.count, to: &work)
            second.append(0..<second.count, to: &work)
            let plan = CollectionLeaf.LeafPlan(work[...], hasKeys: hasKeys)
            guard plan.bytes <= limits.leafBytes * 3 / 4 else { return false }
            merged = try newLeaf(plan, work[...])
            try space.discardNode(a.ref, .collectionLeaf)
            try space.discardNode(b.ref, .collectionLeaf)
        }
        CollectionInner.set(node, left, merged)
        CollectionInner.move(node, from: left + 2, to: left + 1)
        NodeHeader.setCount(node, NodeHeader.count(node) - 1)
        return true
    }

    /// Nodes above `children`, evenly filled, or all but the last full.
    private func innerNodes(
        _ children: ArraySlice<CollectionChild>, level: Int, fillsLeft: Bool = false
    ) throws(StoreError) -> [CollectionChild] {
        guard level <= CollectionInner.maximumLevel else {
            throw StoreError(.outOfRange, "a collection tree of \(level) levels is too high")
        }
        let most = mostChildren, nodes = (children.count + most - 1) / most
        var made: [CollectionChild] = [], start = children.startIndex
        for index in 0..<nodes {
            let left = children.endIndex - start
            let count =
                fillsLeft && index + 1 < nodes
                ? min(most, left - (nodes - index - 1)) : (left + nodes - index - 1) / (nodes - index)
            let (ref, node) = try space.newNode(
                .collectionInner, bytes: CollectionInner.bytes, capacity: CollectionInner.bytes,
                word: CollectionInner.word(level: level, hasHeads: hasHeads))
            (node + NodeHeader.size).initializeMemory(
                as: UInt8.self, repeating: 0, count: CollectionInner.bytes - NodeHeader.size)
            var total = 0
            for (at, child) in children[start..<start + count].enumerated() {
                CollectionInner.set(node, at, child)
                total += child.count
            }
            NodeHeader.setCount(node, count)
            try renewHeads(node)
            made.append(CollectionChild(owner: children[start].owner, ref: ref, count: total))
            start += count
        }
        return made
    }

    /// Children of a node that is made.
    private var mostChildren: Int { min(limits.innerChildren, CollectionInner.capacity(hasHeads: hasHeads)) }

    /// Sets the heads of children that are others, or begin with another element.
    private func renewHeads(_ node: UnsafeMutableRawPointer, _ changed: Range<Int>) throws(StoreError) {
        guard CollectionInner.hasHeads(node) else { return }
        let owners = CollectionInner.owners(node)
        if CollectionInner.prefixLength(node) > 0, owners[0] != owners[NodeHeader.count(node) - 1] {
            return try renewHeads(node)
        }
        for index in changed {
            let key = try reader.firstKey(node, index)
            if !CollectionInner.hasPrefix(node, key) { return try renewHeads(node) }
            CollectionInner.setHead(node, index, CollectionInner.head(node, key))
        }
    }

    /// Finds the prefix of all first keys, and sets every head. Cost: a look into each child.
    private func renewHeads(_ node: UnsafeMutableRawPointer) throws(StoreError) {
        guard CollectionInner.hasHeads(node) else { return }
        let count = NodeHeader.count(node), owners = CollectionInner.owners(node)
        // Nulls come first: the last key has the kind that most have. Keys between two have what these have in
        // common.
        let first = try reader.firstKey(node, 0), last = try reader.firstKey(node, count - 1)
        var length = 0
        if count > 1, owners[0] == owners[count - 1], first.kind == last.kind,
            last.kind == .string || last.kind == .binary
        {
            let most = min(first.count, last.count, CollectionInner.longestPrefix)
            while length < most,
                first.pointer!.load(fromByteOffset: length, as: UInt8.self)
                    == last.pointer!.load(fromByteOffset: length, as: UInt8.self)
            { length += 1 }
        }
        CollectionInner.setHeadKind(node, last.kind, prefix: last.pointer, length)
        for index in 0..<count {
            CollectionInner.setHead(node, index, CollectionInner.head(node, try reader.firstKey(node, index)))
        }
    }

    // MARK: Leaves

    private func replaceLeaf(
        _ ref: Ref, _ positions: Range<Int>, with new: ContiguousArray<CollectionElement>
    ) throws(StoreError) -> Outcome {
        let old = try reader.leaf(ref)
        guard old.hasKeys == hasKeys, positions.upperBound <= old.count else {
            throw CollectionReader.damaged("positions \(positions) of a leaf do not exist")
        }
        if let child = try spliced(ref, old, positions, new) { return .same(child) }
        if let child = try splicedText(ref, old, positions, new) { return .same(child) }
        work.removeAll(keepingCapacity: true)
        old.append(0..<positions.lowerBound, to: &work)
        work += new
        old.append(positions.upperBound..<old.count, to: &work)
        let plan = CollectionLeaf.LeafPlan(work[...], hasKeys: hasKeys)
        if !work.isEmpty, plan.bytes <= limits.leafBytes, plan.count <= limits.leafElements, space.isOwn(ref) {
            // In the same extent: through scratch memory, for texts lie in what is overwritten.
            try discardLong(old, positions)
            let image = try space.scratch.allocate(plan.bytes)
            image.copyMemory(from: old.node, byteCount: NodeHeader.size)
            plan.write(work[...], image)
            NodeHeader.setBytes(image, plan.bytes)
            let node = try space.grow(ref, capacity: plan.bytes)
            node.copyMemory(from: image, byteCount: plan.bytes)
            space.arena.setBytes(ref, plan.bytes)
            return .same(
                CollectionChild(
                    owner: work[0].owner, ref: ref, count: plan.count, hasNewFirst: positions.lowerBound == 0))
        }
        // Before the old leaf, in which texts lie, is freed.
        let tail = positions.lowerBound == old.count ? new.count : 0
        let made = try leaves(tail: tail)
        try discardLong(old, positions)
        try space.discardNode(ref, .collectionLeaf)
        return made.count == 1 ? .same(made[0]) : .several(made)
    }

    /// Writes `work` into as few leaves as hold it; the last `tail` elements were appended.
    private func leaves(tail: Int) throws(StoreError) -> [CollectionChild] {
        var made: [CollectionChild] = []
        try write(work[...], tail: tail, &made)
        return made
    }

    private func write(
        _ elements: ArraySlice<CollectionElement>, tail: Int, _ made: inout [CollectionChild]
    ) throws(StoreError) {
        if elements.isEmpty { return }
        let plan = CollectionLeaf.LeafPlan(elements, hasKeys: hasKeys)
        if elements.count == 1 || plan.bytes <= limits.leafBytes && plan.count <= limits.leafElements {
            made.append(try newLeaf(plan, elements))
            return
        }
        // What was there before an append was a leaf, and stays one; more will follow.
        if tail > 0, tail < elements.count, tail <= elements.count / 2 {
            try write(elements.dropLast(tail), tail: 0, &made)
            return try write(elements.suffix(tail), tail: 0, &made)
        }
        let parts = max(
            2, (plan.bytes + limits.leafBytes - 1) / limits.leafBytes,
            (plan.count + limits.leafElements - 1) / limits.leafElements)
        // Parts of equal weight: its share of the columns, and the bytes of its texts.
        let fixed = max(1, (plan.bytes - plan.values.blobBytes - plan.keys.blobBytes) / plan.count)
        var start = elements.startIndex, weight = 0, written = 0
        let whole = fixed * plan.count + plan.values.blobBytes + plan.keys.blobBytes
        for index in elements.indices {
            weight += fixed + elements[index].value.blobBytes + (hasKeys ? elements[index].key.blobBytes : 0)
            if weight * parts >= whole * (written + 1), index + 1 < elements.endIndex, written + 1 < parts {
                try write(elements[start..<index + 1], tail: 0, &made)
                start = index + 1
                written += 1
            }
        }
        // One heavy element at the end may have left everything in one part.
        if start == elements.startIndex {
            let middle = elements.startIndex + elements.count / 2
            try write(elements[..<middle], tail: 0, &made)
            start = middle
        }
        try write(elements[start...], tail: 0, &made)
    }

    private func newLeaf(
        _ plan: CollectionLeaf.LeafPlan, _ elements: ArraySlice<CollectionElement>
    ) throws(StoreError) -> CollectionChild {
        let (ref, node) = try space.newNode(.collectionLeaf, bytes: plan.bytes, capacity: plan.bytes + plan.bytes / 4)
        plan.write(elements, node)
        return CollectionChild(owner: elements.first!.owner, ref: ref, count: plan.count)
    }

    // MARK: Freeing

    /// Frees a node with everything below it.
    private func discard(_ ref: Ref, _ kind: NodeKind, above: UnsafeRawPointer?) throws(StoreError) {
        if kind == .collectionLeaf {
            let leaf = try reader.leaf(ref)
            try discardLong(leaf, 0..<leaf.count)
        } else {
            let node = try reader.inner(ref, above: above)
            for index in 0..<NodeHeader.count(node) {
                try discard(CollectionInner.ref(node, index), CollectionInner.childKind(node), above: node)
            }
        }
        try space.discardNode(ref, kind)
    }

    /// Frees the long texts of some elements.
    private func discardLong(_ leaf: CollectionLeaf, _ range: Range<Int>) throws(StoreError) {
        guard leaf.values.mayHaveLong else { return }
        for index in range {
            let stored = leaf.values.stored(index)
            if !stored.isLong { continue }
            let cell = LongValue(stored.value.pointer!)
            space.discardPart(Ref(raw: cell.ref), bytes: cell.bytes, born: cell.born)
        }
    }
}
