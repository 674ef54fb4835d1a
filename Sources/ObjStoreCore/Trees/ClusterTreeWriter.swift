/// Changes the objects of one class inside a write transaction.
///
/// Appending has two ways. A few rows go straight into the packed parts of the last leaf; bulk appends
/// collect unpacked in a builder and are encoded when their leaf is full, or when something reads.
///
/// ```
///            root
///          /      \            dirty nodes: copied on first touch, refs with bit 63
///    [inner]      [inner']     flush: children before parents, dirty ones only
///    /  |  \      /     \
///  leaf leaf leaf leaf  leaf'  ← builder: its rows replace leaf' when encoded
/// ```
/// Errors: `.invalidArgument` and every error of reading before the first change leave the tree as it was.
/// After an error in the middle of a change (`.outOfMemory`, `.corrupt`) `isBroken` is set, every later call
/// fails with that error, and the transaction can only be cancelled.
package final class ClusterWriter {
    let space: WriteSpace
    package let columns: UnsafeBufferPointer<ColumnSpec>
    let editor: LeafEditor
    /// The tree without the rows in the builder.
    var treeRoot: Ref
    private var broken: StoreError?

    /// Made for the first bulk append.
    private var builder: LeafBuilder?
    private var building = false
    /// The builder's rows replace the tree's last leaf (else they are a new one).
    private var replacesLast = false

    /// The last leaf, once it was looked at: its first key, its greatest key.
    private(set) var lastKey: Int64 = -1
    private var lastKnown = false
    /// Rows added to the packed last leaf since it was last encoded.
    private var packedAppends = 0
    /// Where unpacking the leaf, appending and encoding it becomes cheaper than appending in place.
    private static let packedAppendLimit = 128

    package init(space: WriteSpace, root: Ref, columns: UnsafeBufferPointer<ColumnSpec>) {
        self.space = space
        self.columns = columns
        treeRoot = root
        editor = LeafEditor(space, columns)
    }

    /// For the next transaction, which begins with that tree.
    func begin(root: Ref) {
        treeRoot = root
        broken = nil
        builder = nil
        building = false
        replacesLast = false
        lastKnown = false
        packedAppends = 0
        forgetPath()
    }

    /// The whole tree's root, for a savepoint that begins: nothing waits, and nothing of it is changed in place from
    /// now on.
    func settle() throws(StoreError) -> Ref {
        let root = try reader().root
        forgetPath()
        return root
    }

    /// Goes back to what `settle` returned.
    func restore(root: Ref) {
        treeRoot = root
        broken = nil
        building = false
        lastKnown = false
        forgetPath()
    }

    /// Whether it holds no unpacked columns, which are large.
    var isSmall: Bool { builder == nil && !editor.hasBuffers }

    /// Whether a change failed half-way: the transaction must be cancelled.
    package var isBroken: Bool { broken != nil }

    /// The current state, own changes included. Valid until the next change.
    package func reader() throws(StoreError) -> ClusterReader {
        try check()
        if building { try change { () throws(StoreError) in try self.encodeBuilder() } }
        return ClusterReader(source: space.source, root: treeRoot, columns: columns)
    }

    /// The row of an object, own changes included; valid until the next change. In the leaf that was written last it
    /// takes no look at the tree.
    @inline(__always)
    package func find(_ key: Int64) throws(StoreError) -> RowPosition? {
        if _fastPath(pathKeys.contains(key) && !building && broken == nil) {
            let leaf = pathLeaf
            if _fastPath(leaf.isDirty) {
                let head = UnsafeRawPointer(space.arena.table.pointer(leaf))
                return try LeafKeys(space.source, head).slot(of: key).map {
                    RowPosition(head: head, slot: $0, key: key)
                }
            }
        }
        return try reader().find(key)
    }

    @inline(__always) var tree: ClusterReader { ClusterReader(source: space.source, root: treeRoot, columns: columns) }

    @inline(__always)
    private func check() throws(StoreError) { if let broken { throw broken } }

    /// Runs a change that must not fail half-way.
    @inline(__always)
    func change<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        do { return try body() } catch {
            broken = error
            throw error
        }
    }

    // MARK: Validation

    @inline(__always)
    private func validate(_ spec: ColumnSpec, _ value: Value) throws(StoreError) {
        if _fastPath(value.kind == spec.kind) {
            if value.count > 0, value.count > Value.maximumBytes || value.pointer == nil {
                throw ClusterWriter.invalid("a value is too long")
            }
            return
        }
        if value.isNull, spec.nullable { return }
        throw ClusterWriter.invalid(
            value.isNull ? "column \(spec.id) takes no null" : "column \(spec.id) takes \(spec.kind), not \(value.kind)"
        )
    }

    @inline(never)
    private static func invalid(_ what: String) -> StoreError { StoreError(.invalidArgument, what) }

    func findLastKey() throws(StoreError) {
        if lastKnown { return }
        lastKey = -1
        switch try tree.rootNode() {
        case .empty: break
        case .leaf(let head): lastKey = try LeafKeys(space.source, head).key(LeafHead.rows(head) - 1)
        case .inner(var node):
            while ClusterInner.level(node) > 1 { node = try tree.innerChild(node, NodeHeader.count(node) - 1) }
            let head = try tree.leafChild(node, NodeHeader.count(node) - 1)
            lastKey = try LeafKeys(space.source, head).key(LeafHead.rows(head) - 1)
        }
        lastKnown = true
    }

    @inline(__always)
    private func validate(key: Int64) throws(StoreError) {
        try check()
        if !lastKnown { try findLastKey() }
        guard _fastPath(key > lastKey && key < LeafHead.maximumKey) else {
            throw ClusterWriter.invalid("object keys must grow: \(key) after \(lastKey)")
        }
    }

    // MARK: Appending

    /// Adds an object. Its key must be greater than that of every object that is or was in the last leaf.
    package func append(_ key: Int64, _ values: UnsafePointer<Value>) throws(StoreError) {
        try validate(key: key)
        let specs = columns.baseAddress
        for column in 0..<columns.count { try validate(specs.unsafelyUnwrapped[column], values[column]) }
        let slot = Int(key & LeafHead.slotMask)
        if _fastPath(building) {
            let builder = builder.unsafelyUnwrapped
            if _fastPath(LeafHead.keyBase(of: key) == builder.keyBase) {
                do throws(StoreError) { try builder.append(slot: slot, values, space) } catch {
                    broken = error
                    throw error
                }
                lastKey = key
                return
            }
        }
        try change { () throws(StoreError) in try self.appendSlowly(key, slot, values) }
        lastKey = key
    }

    @inline(never)
    private func appendSlowly(_ key: Int64, _ slot: Int, _ values: UnsafePointer<Value>) throws(StoreError) {
        if !building, lastKey >= 0, packedAppends < ClusterWriter.packedAppendLimit,
            LeafHead.keyBase(of: key) == LeafHead.keyBase(of: lastKey), try lastLeaf(key) != nil,
            let leaf = try writableLeaf(key),
            try editor.append(leaf, slot, values)
        {
            packedAppends += 1
            addRows(1)
            return
        }
        try openBuilder(for: key)
        try builder!.append(slot: slot, values, space)
    }

    /// The dense leaf that a new key belongs to, if it is there. Where compaction put leaves together, that was before
    /// a leaf of greater keys: in a file that is as it should be no new key falls into their stretch.
    private func lastLeaf(_ key: Int64) throws(StoreError) -> UnsafeRawPointer? {
        guard let head = try tree.leaf(key), LeafHead.keyBase(head) == LeafHead.keyBase(of: key) else { return nil }
        if LeafHead.isSparse(head) { throw ClusterReader.damaged("the last leaf lists its keys") }
        return head
    }

    /// Adds `count` objects with consecutive keys from the vectors, one for each column.
    package func appendColumns(firstKey: Int64, count: Int, _ vectors: UnsafePointer<ColumnVector>) throws(StoreError) {
        if count <= 0 { return }
        try validate(key: firstKey)
        guard count <= Int(LeafHead.maximumKey - firstKey) else {
            throw ClusterWriter.invalid("object keys are exhausted")
        }
        for column in 0..<columns.count { try validate(columns[column], vectors[column], count) }
        try change { () throws(StoreError) in
            var done = 0
            while done < count {
                let key = firstKey + Int64(done), slot = Int(key & LeafHead.slotMask)
                let run = min(count - done, LeafHead.rowsPerLeaf - slot)
                if !(self.building && LeafHead.keyBase(of: key) == self.builder!.keyBase) {
                    try self.openBuilder(for: key)
                }
                try self.builder!.append(slot: slot, vectors, first: done, count: run, self.space)
                done += run
                self.lastKey = key + Int64(run) - 1
            }
        }
    }

    private func validate(_ spec: ColumnSpec, _ vector: ColumnVector, _ count: Int) throws(StoreError) {
        let anyNull = vector.allNull || vector.validity != nil && (0..<count).contains { vector.isNull($0) }
        if anyNull, !spec.nullable { throw ClusterWriter.invalid("column \(spec.id) takes no null") }
        if vector.allNull { return }
        switch spec.kind {
        case .string, .binary, .list, .set, .map, .mixed:
            guard vector.layout == .text, let offsets = vector.offsets else {
                throw ClusterWriter.invalid("column \(spec.id) takes text")
            }
            var last = offsets[0]
            for row in 1...count {
                let next = offsets[row]
                guard next >= last, next - last <= Int64(Value.maximumBytes) else {
                    throw ClusterWriter.invalid("offsets of column \(spec.id) must ascend")
                }
                last = next
            }
            if last > offsets[0], vector.bytes == nil || offsets[0] < 0 {
                throw ClusterWriter.invalid("column \(spec.id) has no bytes")
            }
        case .bool:
            guard vector.layout == .bytes, vector.numbers != nil else {
                throw ClusterWriter.invalid("column \(spec.id) takes one byte a value")
            }
        case .float:
            guard vector.layout == .singles, vector.numbers != nil else {
                throw ClusterWriter.invalid("column \(spec.id) takes 4 bytes a value")
            }
        default:
            guard vector.layout == .words, vector.numbers != nil else {
                throw ClusterWriter.invalid("column \(spec.id) takes 8 bytes a value")
            }
        }
    }

    /// Prepares the builder for the leaf of `key`: the last one, unpacked, or a new one.
    private func openBuilder(for key: Int64) throws(StoreError) {
        if building { try encodeBuilder() }
        if builder == nil { builder = try LeafBuilder(columns) }
        let keyBase = LeafHead.keyBase(of: key)
        if lastKey >= 0, LeafHead.keyBase(of: lastKey) == keyBase, let head = try lastLeaf(key) {
            try builder!.load(head, columns, hints: editor.hints, space)
            replacesLast = true
        } else {
            builder!.begin(keyBase: keyBase)
            replacesLast = false
        }
        building = true
    }

    /// Puts the builder's rows into the tree.
    private func encodeBuilder() throws(StoreError) {
        let builder = builder!
        building = false
        packedAppends = 0
        if builder.live == 0 { return }
        let before = space.arena.capacityInUse
        let leaf = try editor.encode(builder)
        space.didAppend(bytes: space.arena.capacityInUse - before)
        if replacesLast {
            guard let place = try writablePath(builder.keyBase) else { throw ClusterReader.damaged("a leaf is gone") }
            let head = try space.source.node(place, .leafHead)
            let added = builder.live - LeafHead.live(head)
            try editor.discardKnown(place)
            setLeaf(leaf)
            addRows(added)
        } else {
            try appendLeaf(leaf, keyBase: builder.keyBase, rows: builder.live)
        }
    }

    // MARK: Changing and deleting

    /// Gives an object another value in one column. False: there is no such object.
    package func update(_ key: Int64, _ column: Int, _ value: Value) throws(StoreError) -> Bool {
        guard let row = try find(key) else { return false }
        try update(row, column, value)
        return true
    }

    /// The same for the row that `find` gave, since when no other was changed.
    package func update(_ row: RowPosition, _ column: Int, _ value: Value) throws(StoreError) {
        try check()
        try validate(columns[column], value)
        try change { () throws(StoreError) in
            guard let leaf = try self.writableLeaf(row.key) else { throw ClusterReader.damaged("a leaf is gone") }
            try self.editor.set(leaf, row.slot, column, value)
        }
    }

    /// Whether a row that `find` gave still lies there, its leaf having been changed since and no other.
    @inline(__always)
    func isInPlace(_ row: RowPosition) -> Bool {
        pathKeys.contains(row.key) && pathLeaf.isDirty
            && UnsafeRawPointer(space.arena.table.pointer(pathLeaf)) == row.head
    }

    /// Deletes an object. False: there is no such object.
    package func delete(_ key: Int64) throws(StoreError) -> Bool {
        guard let row = try find(key) else { return false }
        try delete(row)
        return true
    }

    /// The same for the row that `find` gave, since when none was changed.
    func delete(_ row: RowPosition) throws(StoreError) {
        try check()
        if !lastKnown { try findLastKey() }
        try change { () throws(StoreError) in
            guard let leaf = try self.writableLeaf(row.key) else { throw ClusterReader.damaged("a leaf is gone") }
            let left = try self.editor.remove(leaf, row.slot)
            self.addRows(-1)
            if left == 0 {
                try LeafExtents(self.space.source).discardLeaf(leaf, self.space)
                try self.unlinkLeaf()
            }
        }
    }

    /// Frees every extent of the tree, which is empty afterwards. Cost: all heads are read.
    package func discardAll() throws(StoreError) {
        try check()
        try change { () throws(StoreError) in
            if self.building { try self.encodeBuilder() }
            if !self.lastKnown { try self.findLastKey() }
            switch try self.tree.rootNode() {
            case .empty: break
            case .leaf: try LeafExtents(self.space.source).discardLeaf(self.treeRoot, self.space)
            case .inner: try self.discardInner(self.treeRoot)
            }
            self.treeRoot = .null
            self.forgetPath()
        }
    }

    private func discardInner(_ ref: Ref) throws(StoreError) {
        let node = try space.source.node(ref, .clusterInner)
        for index in 0..<NodeHeader.count(node) {
            let child = ClusterInner.ref(node, index)
            if ClusterInner.level(node) == 1 {
                try LeafExtents(space.source).discardLeaf(child, space)
            } else {
                _ = try tree.innerChild(node, index)
                try discardInner(child)
            }
        }
        try space.discardNode(ref, .clusterInner)
    }

    // MARK: The path to a leaf

    /// The inner nodes from the root down to the leaf that was last made writable, and the child taken in each.
    var path: [(ref: Ref, child: Int)] = []
    /// The keys that lead to it, or some of them; empty where there is none.
    var pathKeys: Range<Int64> = 0..<0
    /// The leaf at its end.
    var pathLeaf = Ref.null

    func forgetPath() {
        path.removeAll(keepingCapacity: true)
        pathKeys = 0..<0
    }

    /// The leaf that has `key` if any has, with its whole path dirty; the leaf itself need not be.
    func writablePath(_ key: Int64) throws(StoreError) -> Ref? {
        if pathKeys.contains(key) { return pathLeaf }
        forgetPath()
        let keyBase = LeafHead.keyBase(of: key)
        guard case .inner = try tree.rootNode() else {
            guard try tree.leaf(key) != nil else { return nil }
            pathKeys = keyBase..<(keyBase + Int64(LeafHead.rowsPerLeaf))
            pathLeaf = treeRoot
            return treeRoot
        }
        var (ref, node) = try space.writableNode(treeRoot, .clusterInner)
        treeRoot = ref
        while ClusterInner.level(node) > 1 {
            let child = ClusterInner.child(node, key)
            _ = try tree.innerChild(node, child)
            path.append((ref, child))
            let (childRef, childNode) = try space.writableNode(ClusterInner.ref(node, child), .clusterInner)
            ClusterInner.setRef(node, child, childRef)
            (ref, node) = (childRef, childNode)
        }
        let child = ClusterInner.leaf(node, key)
        path.append((ref, child))
        pathKeys = keyBase..<(keyBase + Int64(LeafHead.rowsPerLeaf))
        pathLeaf = ClusterInner.ref(node, child)
        return pathLeaf
    }

    /// The inner node above that leaf, and the leaf's place in it.
    var lastStep: (ref: Ref, child: Int)? { path.last }

    /// Stores the leaf at the end of the path.
    func setLeaf(_ leaf: Ref) {
        pathLeaf = leaf
        if let last = path.last {
            ClusterInner.setRef(space.arena.table.pointer(last.ref), last.child, leaf)
        } else {
            treeRoot = leaf
        }
    }

    /// Adds to the row counts along the path.
    private func addRows(_ delta: Int) {
        for step in path { ClusterInner.addRows(space.arena.table.pointer(step.ref), step.child, delta) }
    }

    /// A leaf whose head and path are dirty and which has no columns that the class dropped.
    @inline(__always)
    func writableLeaf(_ key: Int64) throws(StoreError) -> Ref? {
        guard let old = try writablePath(key) else { return nil }
        if space.isOwn(old) { return old }
        let (ref, _) = try space.writableNode(old, .leafHead, slack: 64)
        setLeaf(ref)
        try editor.dropUnknownColumns(ref)
        return ref
    }

    // MARK: Commit

    /// Places everything dirty that no savepoint holds in the file, children before parents, and returns the new root.
    package func flush(into writer: ExtentWriter) throws(StoreError) -> Ref {
        try check()
        return try change { () throws(StoreError) in
            if self.building { try self.encodeBuilder() }
            self.forgetPath()
            self.packedAppends = 0
            self.treeRoot = try ClusterFlush(space: self.space, writer: writer).flush(self.treeRoot, self.tree)
            return self.treeRoot
        }
    }
}
