internal import CSystem

/// Reads the lists, sets or maps of one property: owner object → elements, in order.
///
/// ```
///  position    0  1 | 2  3  4  5  6 | 7  8 …        over all owners, in the order of their object keys
///  owner       7  7 | 9  9  9 12 12 |12 15
///  element     0  1 | 0  1  2  0  1 | 2  0
/// ```
/// What is found stays valid while its version is pinned and, inside a write transaction, until the next write.
package struct CollectionReader {
    let source: PageSource
    let root: Ref

    package init(source: PageSource, root: Ref) { self.source = source; self.root = root }

    // MARK: Positions

    /// Elements of all owners.
    package func count() throws(StoreError) -> Int {
        root.isNull ? 0 : CollectionInner.total(try inner(root, above: nil))
    }

    /// The positions of an owner's elements. Cost: O(log n).
    package func range(_ owner: Int64) throws(StoreError) -> Range<Int> {
        let (lower, end) = try bound(owner)
        if let end { return lower..<max(lower, end) }
        if owner == .max { return lower..<(try count()) }
        return lower..<max(lower, try bound(owner + 1).position)
    }

    /// Where the elements of the first owner not less than `owner` begin, and where `owner`'s end if that was on the
    /// way.
    private func bound(_ owner: Int64) throws(StoreError) -> (position: Int, end: Int?) {
        if root.isNull { return (0, 0) }
        var node = try inner(root, above: nil), position = 0
        while true {
            let child = max(0, CollectionInner.bound(node, owner) - 1)
            position += CollectionInner.elements(node, before: child)
            if CollectionInner.level(node) > 1 {
                node = try inner(CollectionInner.ref(node, child), above: node)
                continue
            }
            let leaf = try leaf(CollectionInner.ref(node, child))
            let index = leaf.ownerIndex(owner)
            if index == leaf.ownerCount { return (position + leaf.count, nil) }
            let start = position + leaf.start(index)
            if leaf.owner(index) != owner { return (start, start) }
            // Elements behind the last of a leaf may be the same owner's.
            return (start, index + 1 < leaf.ownerCount ? position + leaf.end(index) : nil)
        }
    }

    /// The element at a position, which must exist.
    package func value(at position: Int) throws(StoreError) -> Value { try resolve(try cursor(at: position).stored) }

    /// Key and value of a map's entry at a position, which must exist.
    package func entry(at position: Int) throws(StoreError) -> (key: Value, value: Value) {
        let cursor = try cursor(at: position)
        return (cursor.leaf.keys.stored(cursor.index).value, try resolve(cursor.stored))
    }

    /// Where an element with this value (of sets) or key (of maps) lies, or would be inserted, among `owner`'s.
    package func search(_ owner: Int64, _ key: Value) throws(StoreError) -> (position: Int, found: Bool) {
        guard let place = try place(owner, key) else { return (0, false) }
        return (place.position + place.index, place.found)
    }

    /// The value of a key in `owner`'s map; nil: it is not there.
    func value(_ owner: Int64, of key: Value) throws(StoreError) -> Value? {
        guard let place = try place(owner, key), place.found else { return nil }
        return try resolve(place.leaf.values.stored(place.index))
    }

    /// Where the elements of an owner that has some begin.
    func start(_ owner: Int64) throws(StoreError) -> Int { try bound(owner).position }

    /// The leaf, where it begins, and the index in it, where an element is or would be inserted; nil: there are none at
    /// all.
    @inline(__always)
    private func place(
        _ owner: Int64, _ key: Value
    ) throws(StoreError) -> (leaf: CollectionLeaf, position: Int, index: Int, found: Bool)? {
        if root.isNull { return nil }
        var node = try inner(root, above: nil), position = 0
        while true {
            // Children that begin with an element of the owner: the last that begins with none greater.
            var children = CollectionInner.children(node, of: owner)
            if CollectionInner.hasHeads(node) { children = CollectionInner.candidates(node, children, key) }
            var low = children.lowerBound, high = children.upperBound
            // A first key is two waits for memory or three: its leaf's head, then its bytes. Three of them wait
            // together.
            while high &- low > 3 {
                let quarter = (high &- low) >> 2, middle = low &+ 2 &* quarter
                let left = try firstKey(node, low &+ quarter), centre = try firstKey(node, middle),
                    right = try firstKey(node, middle &+ quarter)
                CollectionOrder.prefetch(centre)
                CollectionOrder.prefetch(left)
                CollectionOrder.prefetch(right)
                if CollectionOrder.compare(centre, key) <= 0 {
                    if CollectionOrder.compare(right, key) <= 0 {
                        low = middle &+ quarter &+ 1
                    } else {
                        (low, high) = (middle &+ 1, middle &+ quarter)
                    }
                } else {
                    if CollectionOrder.compare(left, key) <= 0 {
                        (low, high) = (low &+ quarter &+ 1, middle)
                    } else {
                        high = low &+ quarter
                    }
                }
            }
            while low < high {
                let middle = (low + high) >> 1
                if CollectionOrder.compare(try firstKey(node, middle), key) <= 0 {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            let child = max(0, low - 1)
            position += CollectionInner.elements(node, before: child)
            if CollectionInner.level(node) > 1 {
                node = try inner(CollectionInner.ref(node, child), above: node)
                continue
            }
            let leaf = try leaf(CollectionInner.ref(node, child)), (index, found) = try search(leaf, owner, key)
            return (leaf, position, index, found)
        }
    }

    private func search(_ leaf: CollectionLeaf, _ owner: Int64, _ key: Value) throws(StoreError) -> (Int, Bool) {
        let at = leaf.ownerIndex(owner)
        if at == leaf.ownerCount { return (leaf.count, false) }
        if leaf.owner(at) != owner { return (leaf.start(at), false) }
        var low = leaf.start(at), high = leaf.end(at)
        while low < high {
            let middle = (low + high) >> 1
            let order = CollectionOrder.compare(try resolve(leaf.keys.stored(middle)), key)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    /// The key of the first element below a child.
    func firstKey(_ node: UnsafeRawPointer, _ child: Int) throws(StoreError) -> Value {
        var node = node, child = child
        while CollectionInner.level(node) > 1 {
            node = try inner(CollectionInner.ref(node, child), above: node)
            child = 0
        }
        return try resolve(try leaf(CollectionInner.ref(node, child)).keys.stored(0))
    }

    // MARK: Nodes

    /// An inner node; below another it must be one level lower, so that no way down is endless.
    package func inner(_ ref: Ref, above: UnsafeRawPointer?) throws(StoreError) -> UnsafeRawPointer {
        let node = try source.node(ref, .collectionInner)
        if let above, CollectionInner.level(node) != CollectionInner.level(above) - 1 {
            throw CollectionReader.damaged("a node of another level")
        }
        return node
    }
    @inline(__always)
    func leaf(_ ref: Ref) throws(StoreError) -> CollectionLeaf { CollectionLeaf(try source.node(ref, .collectionLeaf)) }

    /// The value itself, of a long text from where it lies.
    @inline(__always)
    func resolve(_ stored: StoredValue) throws(StoreError) -> Value {
        if _fastPath(!stored.isLong) { return stored.value }
        let (pointer, count) = try LeafReader(source: source).longValue(stored.value.pointer!)
        return Value(kind: stored.value.kind, pointer: pointer, count: count)
    }

    static func damaged(_ what: String) -> StoreError { StoreError(.corrupt, "damaged collection tree: \(what)") }

    // MARK: Walking

    /// Moves to the element at a position, which must exist.
    package func cursor(at position: Int) throws(StoreError) -> CollectionCursor {
        if root.isNull { throw CollectionReader.damaged("there is no element at \(position)") }
        var cursor = CollectionCursor(self)
        try cursor.descend(try inner(root, above: nil), position)
        return cursor
    }
}

/// Walks the elements of a collection tree in order. Each step costs a few nanoseconds, a new leaf one look-up in its
/// parent.
package struct CollectionCursor {
    private let reader: CollectionReader
    private var nodes = InlineArray<13, UnsafeRawPointer?>(repeating: nil)
    private var places = InlineArray<13, Int>(repeating: 0)
    private var depth = 0
    private(set) var leaf: CollectionLeaf
    private(set) var index = 0

    fileprivate init(_ reader: CollectionReader) {
        self.reader = reader
        leaf = CollectionLeaf(CollectionCursor.none)
    }

    /// A leaf without elements, where a cursor is before it is moved anywhere.
    private nonisolated(unsafe) static let none: UnsafeRawPointer = {
        let node = calloc(1, 128)! + 8
        NodeHeader.setWord(node, CollectionLeaf.word(owners: 0, columns: 1, ownerWidth: 0))
        return UnsafeRawPointer(node)
    }()

    var stored: StoredValue { leaf.values.stored(index) }
    package var value: Value { get throws(StoreError) { try reader.resolve(stored) } }
    package var key: Value { leaf.keys.stored(index).value }

    fileprivate mutating func descend(_ top: UnsafeRawPointer, _ position: Int) throws(StoreError) {
        var node = top, rest = position
        while true {
            let counts = CollectionInner.counts(node), children = NodeHeader.count(node)
            var child = 0
            while child < children, rest >= counts[child] {
                rest &-= counts[child]
                child &+= 1
            }
            guard child < children, depth < 12 else {
                throw CollectionReader.damaged("there is no element at \(position)")
            }
            nodes[depth] = node
            places[depth] = child
            depth += 1
            if CollectionInner.level(node) == 1 { return try enter(CollectionInner.ref(node, child), rest) }
            node = try reader.inner(CollectionInner.ref(node, child), above: node)
        }
    }

    private mutating func enter(_ ref: Ref, _ index: Int) throws(StoreError) {
        leaf = try reader.leaf(ref)
        guard index >= 0, index < leaf.count else {
            throw CollectionReader.damaged("a leaf has \(leaf.count) elements, its parent says otherwise")
        }
        self.index = index
    }

    /// To the next element, which may be the next owner's; false at the end of the tree.
    package mutating func advance() throws(StoreError) -> Bool {
        index &+= 1
        if _fastPath(index < leaf.count) { return true }
        return try nextLeaf()
    }

    @inline(never)
    private mutating func nextLeaf() throws(StoreError) -> Bool {
        var at = depth - 1
        while at >= 0 {
            let node = nodes[at]!
            if places[at] + 1 < NodeHeader.count(node) { break }
            at -= 1
        }
        if at < 0 {
            index = leaf.count - 1
            return false
        }
        places[at] += 1
        var node = nodes[at]!
        while CollectionInner.level(node) > 1 {
            node = try reader.inner(CollectionInner.ref(node, places[at]), above: node)
            at += 1
            nodes[at] = node
            places[at] = 0
        }
        if places[at] + 1 < NodeHeader.count(node) { reader.source.prefetch(CollectionInner.ref(node, places[at] + 1)) }
        try enter(CollectionInner.ref(node, places[at]), 0)
        return true
    }

    /// What is left of the leaf from here on, at most `count` elements.
    func rest(_ count: Int) -> Range<Int> { index..<min(leaf.count, index + count) }
    /// Moves to the last element of `rest`.
    mutating func skip(to index: Int) { self.index = index }
}
