internal import CSystem

/// Reads the objects of one class in one version: by key, in key order, by position.
///
/// A value of a few words; make one per version and class and copy it freely. `columns` must stay valid as
/// long as the reader is used, and is fastest in ascending order of column ids. Everything it returns is
/// borrowed from the file's map (or, inside a write transaction, from the arena: valid until the next write).
///
/// Costs: `find` one node check per level (two levels up to 29 million objects); values O(1).
package struct ClusterReader: @unchecked Sendable {
    package let source: PageSource
    package let root: Ref
    package let columns: UnsafeBufferPointer<ColumnSpec>

    package init(source: PageSource, root: Ref, columns: UnsafeBufferPointer<ColumnSpec>) {
        self.source = source
        self.root = root
        self.columns = columns
    }

    // MARK: Nodes

    /// What the root is; a class without objects has none.
    package enum Root {
        case empty
        case leaf(UnsafeRawPointer)
        case inner(UnsafeRawPointer)
    }

    @inline(__always)
    package func rootNode() throws(StoreError) -> Root {
        if root.isNull { return .empty }
        let node: UnsafeRawPointer
        if root.isDirty {
            node = UnsafeRawPointer(source.arena.unsafelyUnwrapped.pointer(root))
        } else {
            // The kind is read before the check that the right kind lies there.
            guard _fastPath(root.offset <= source.limit - NodeHeader.size) else {
                throw ClusterReader.damaged("root lies outside the file")
            }
            node = source.base + root.offset
        }
        if NodeHeader.kind(node) == NodeKind.clusterInner.rawValue {
            return .inner(try source.node(root, .clusterInner))
        }
        return .leaf(try source.node(root, .leafHead))
    }

    /// A child of an inner node that is itself inner: one level lower, or the file is damaged.
    @inline(__always)
    func innerChild(_ node: UnsafeRawPointer, _ index: Int) throws(StoreError) -> UnsafeRawPointer {
        let child = try source.node(ClusterInner.ref(node, index), .clusterInner)
        guard _fastPath(NodeHeader.word(child) == NodeHeader.word(node) &- 1) else {
            throw ClusterReader.damaged("levels of the object tree")
        }
        return child
    }

    @inline(__always)
    func leafChild(_ node: UnsafeRawPointer, _ index: Int) throws(StoreError) -> UnsafeRawPointer {
        let head = try source.node(ClusterInner.ref(node, index), .leafHead)
        guard _fastPath(LeafHead.keyBase(head) == ClusterInner.keys(node)[index]) else {
            throw ClusterReader.damaged("a leaf holds other keys")
        }
        return head
    }

    @inline(never)
    static func damaged(_ what: String) -> StoreError { StoreError(.corrupt, "damaged page: \(what)") }

    /// The leaf that has `key` if any has.
    @inline(__always)
    func leaf(_ key: Int64) throws(StoreError) -> UnsafeRawPointer? {
        switch try rootNode() {
        case .empty: return nil
        case .leaf(let head): return head
        case .inner(var node):
            while ClusterInner.level(node) > 1 { node = try innerChild(node, ClusterInner.child(node, key)) }
            return try leafChild(node, ClusterInner.leaf(node, key))
        }
    }

    // MARK: Rows

    /// Number of objects. O(1).
    package func count() throws(StoreError) -> Int {
        switch try rootNode() {
        case .empty: return 0
        case .leaf(let head): return LeafHead.live(head)
        case .inner(let node): return ClusterInner.totalRows(node)
        }
    }

    /// The row of an object, or nil where there is none with this key.
    @inline(__always)
    package func find(_ key: Int64) throws(StoreError) -> RowPosition? {
        guard let head = try leaf(key), let slot = try LeafKeys(source, head).slot(of: key) else { return nil }
        return RowPosition(head: head, slot: slot, key: key)
    }

    /// The first row with a key of at least `key`.
    package func seek(_ key: Int64) throws(StoreError) -> RowPosition? {
        var cursor = LeafCursor(self, from: key)
        while let head = try cursor.next() {
            let keys = LeafKeys(source, head)
            let slot = LeafHead.nextLive(head, from: try keys.first(atLeast: key))
            if slot < LeafHead.rows(head) { return RowPosition(head: head, slot: slot, key: try keys.key(slot)) }
        }
        return nil
    }

    /// The row after another in key order. O(1) within a leaf of 4096 keys.
    @inline(__always)
    package func next(_ row: RowPosition) throws(StoreError) -> RowPosition? {
        let slot = LeafHead.nextLive(row.head, from: row.slot &+ 1), keys = LeafKeys(source, row.head)
        if _fastPath(slot < LeafHead.rows(row.head)) {
            return RowPosition(head: row.head, slot: slot, key: try keys.key(slot))
        }
        return try seek(try keys.end())
    }

    /// The row before which exactly `ordinal` others lie in key order.
    package func row(at ordinal: Int) throws(StoreError) -> RowPosition? {
        guard ordinal >= 0 else { return nil }
        var left = ordinal
        let head: UnsafeRawPointer
        switch try rootNode() {
        case .empty: return nil
        case .leaf(let leaf): head = leaf
        case .inner(var node):
            while true {
                let rows = ClusterInner.rows(node), count = NodeHeader.count(node)
                var index = 0
                while index < count, left >= Int(rows[index]) { left -= Int(rows[index]); index += 1 }
                if index == count { return nil }
                if ClusterInner.level(node) == 1 { head = try leafChild(node, index); break }
                node = try innerChild(node, index)
            }
            guard left < LeafHead.live(head) else { throw ClusterReader.damaged("row counts of the object tree") }
        }
        if left >= LeafHead.live(head) { return nil }
        let slot = LeafHead.slot(head, ordinal: left)
        return RowPosition(head: head, slot: slot, key: try LeafKeys(source, head).key(slot))
    }

    /// How many rows have smaller keys.
    package func ordinal(of key: Int64) throws(StoreError) -> Int {
        var before = 0
        let head: UnsafeRawPointer
        switch try rootNode() {
        case .empty: return 0
        case .leaf(let leaf): head = leaf
        case .inner(var node):
            while true {
                let index = ClusterInner.child(node, key)
                for left in 0..<index { before += Int(ClusterInner.rows(node)[left]) }
                if ClusterInner.level(node) == 1 { head = try leafChild(node, index); break }
                node = try innerChild(node, index)
            }
        }
        return before + LeafHead.liveBefore(head, try LeafKeys(source, head).first(atLeast: key))
    }

    // MARK: Values

    /// The value of column number `column` in a row.
    @inline(__always)
    package func value(_ row: RowPosition, _ column: Int) throws(StoreError) -> Value {
        try LeafReader(source: source).value(row.head, columns[column], hint: column, row.slot)
    }

    /// Prefetches what the values of a row will be read from: misses side by side, not one after the other.
    func prefetch(_ row: RowPosition, _ columns: UnsafePointer<Int>, _ count: Int) {
        for index in 0..<count { cs_prefetch(row.head + LeafHead.directory + columns[index] &<< 6) }
        let reader = LeafReader(source: source)
        for index in 0..<count {
            guard let entry = LeafHead.entry(row.head, id: self.columns[columns[index]].id, hint: columns[index]) else {
                continue
            }
            reader.prefetch(row.head, entry, row.slot)
        }
    }

    /// An int, bool (0/1), the bits of a float or double, or the first word of a pair; nil = null.
    @inline(__always)
    package func int(_ row: RowPosition, _ column: Int) throws(StoreError) -> Int64? {
        let spec = columns.baseAddress.unsafelyUnwrapped + column
        guard let entry = LeafHead.entry(row.head, id: spec.pointee.id, hint: column) else {
            return spec.pointee.fill.isNull ? nil : spec.pointee.fill.low
        }
        guard _fastPath(!entry.isText) else { throw LeafReader.wrongEncoding(spec.pointee) }
        let reader = LeafReader(source: source)
        if reader.isNullNumber(row.head, entry, row.slot) { return nil }
        return try reader.number(row.head, entry, row.slot)
    }

    /// A double; nil = null.
    @inline(__always)
    package func double(_ row: RowPosition, _ column: Int) throws(StoreError) -> Double? {
        guard let bits = try int(row, column) else { return nil }
        return Double(bitPattern: UInt64(bitPattern: bits))
    }

    /// Text or binary; nil = null.
    @inline(__always)
    package func bytes(_ row: RowPosition, _ column: Int) throws(StoreError) -> UnsafeRawBufferPointer? {
        let spec = columns.baseAddress.unsafelyUnwrapped + column
        guard let entry = LeafHead.entry(row.head, id: spec.pointee.id, hint: column) else {
            return spec.pointee.fill.isNull
                ? nil : UnsafeRawBufferPointer(start: spec.pointee.fill.pointer, count: spec.pointee.fill.count)
        }
        guard _fastPath(entry.isText) else { throw LeafReader.wrongEncoding(spec.pointee) }
        let reader = LeafReader(source: source)
        let (pointer, count) = try reader.text(row.head, entry, row.slot)
        if count == 0, spec.pointee.nullable, try reader.isNullText(row.head, entry, row.slot) { return nil }
        return UnsafeRawBufferPointer(start: pointer, count: count)
    }
}

/// Walks the leaves of a tree in key order.
package struct LeafCursor {
    private let reader: ClusterReader
    /// The node of level 1 whose children come next; nil before the first and where the root is a leaf.
    private var node: UnsafeRawPointer?
    private var index = 0
    /// The first leaf is the one that has this key if any has; later, the next one begins here or later.
    private var nextKey: Int64
    private var isFirst = true
    private var isDone = false

    /// Begins with the leaf that has `key` if any has: all its keys may be less.
    @inline(__always)
    package init(_ reader: ClusterReader, from key: Int64) {
        self.reader = reader
        nextKey = max(key, 0)
    }

    @inline(__always)
    package mutating func next() throws(StoreError) -> UnsafeRawPointer? {
        if let node, index < NodeHeader.count(node) {
            let head = try reader.leafChild(node, index)
            index &+= 1
            return head
        }
        return try nextNode()
    }

    /// Prefetches the directory line of a leaf that comes `distance` leaves later.
    @inline(__always)
    func prefetchHead(distance: Int, line: Int) {
        guard let node, index &+ distance &- 1 < NodeHeader.count(node) else { return }
        let raw = ClusterInner.refs(node)[index &+ distance &- 1]
        if raw < UInt64(reader.source.limit) {
            cs_prefetch(reader.source.base + Int(raw & ~Ref.tagMask))
            cs_prefetch(reader.source.base + Int(raw & ~Ref.tagMask) + LeafHead.directory + line &<< 6)
        }
    }

    /// The leaf after the one that `next` returned, if it is under the same node.
    @inline(__always)
    func peek() throws(StoreError) -> UnsafeRawPointer? {
        guard let node, index < NodeHeader.count(node) else { return nil }
        return try reader.leafChild(node, index)
    }

    /// Calls `body` with the keys that leaves begin with, of the leaves under one node after the other. Where the root
    /// is a leaf there are none.
    mutating func forEachNode(
        _ body: (UnsafeBufferPointer<Int64>) throws(StoreError) -> Void
    ) throws(StoreError) {
        while try nextNode() != nil, let node {
            let count = NodeHeader.count(node)
            try body(UnsafeBufferPointer(start: ClusterInner.keys(node) + (index - 1), count: count - (index - 1)))
            index = count
        }
    }

    @inline(never)
    private mutating func nextNode() throws(StoreError) -> UnsafeRawPointer? {
        if isDone { return nil }
        // Leaves begin at multiples of 4096.
        if let node { nextKey = ClusterInner.keys(node)[NodeHeader.count(node) - 1] + Int64(LeafHead.rowsPerLeaf) }
        defer { isFirst = false }
        switch try reader.rootNode() {
        case .empty: break
        case .leaf(let head):
            isDone = true
            return head
        case .inner(var at):
            // The nearest subtree to the right of the path, in case the path itself ends too early.
            var fallback: (node: UnsafeRawPointer, child: Int)?
            while true {
                let child = ClusterInner.child(at, nextKey)
                if ClusterInner.level(at) == 1 {
                    let found = isFirst || ClusterInner.keys(at)[child] >= nextKey ? child : child + 1
                    if found < NodeHeader.count(at) { return try enter(at, found) }
                    break
                }
                if child + 1 < NodeHeader.count(at) { fallback = (at, child + 1) }
                at = try reader.innerChild(at, child)
            }
            if let fallback {
                at = try reader.innerChild(fallback.node, fallback.child)
                while ClusterInner.level(at) > 1 { at = try reader.innerChild(at, 0) }
                return try enter(at, 0)
            }
        }
        isDone = true
        node = nil
        return nil
    }

    private mutating func enter(_ node: UnsafeRawPointer, _ child: Int) throws(StoreError) -> UnsafeRawPointer? {
        self.node = node
        index = child + 1
        return try reader.leafChild(node, child)
    }
}
