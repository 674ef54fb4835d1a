import ObjStoreCore

/// Inserts the entries in each order, merging and checking after every one; then removes them in the same
/// order and, from a tree built in ascending order, too.
func indexOrders(_ kind: ValueKind, _ values: [IndexSample], orders: [[Int]], unique: Bool = false) throws {
    let rows = Dictionary(uniqueKeysWithValues: values.enumerated().map { (Int64($0), $1) })
    let long = IndexRows(rows)
    let sorted = values.enumerated().sorted {
        $0.element < $1.element || (!($1.element < $0.element) && $0.offset < $1.offset)
    }.map(\.offset)
    let file = IndexFile()
    for order in orders {
        for start in [order, sorted] {
            let writer = IndexWriter(
                space: file.space, root: .null, kind: kind, unique: unique, longValues: long, limits: .tiny)
            var present: Set<Int> = []
            func step(_ item: Int, _ insert: Bool) throws {
                try values[item].with(kind) {
                    insert ? try writer.insert($0, Int64(item)) : try writer.remove($0, Int64(item))
                }
                if insert { present.insert(item) } else { present.remove(item) }
                let reader = try writer.reader()
                var keys: [Int64] = []
                try IndexTree.checkInvariants(reader.root, file.source, kind: kind, unique: unique, longValues: long) {
                    (_, key) throws(StoreError) in keys.append(key)
                }
                let expected = sorted.filter(present.contains).map(Int64.init)
                if keys != expected {
                    throw IndexFailure(
                        description: "\(kind): order \(order) from \(start) at \(item) gives \(keys), not \(expected)")
                }
            }
            for item in start { try step(item, true) }
            for item in order { try step(item, false) }
            if !writer.root.isNull { throw IndexFailure(description: "\(kind): order \(order) leaves something") }
            file.arena.reset()
        }
    }
}

/// A small committed index whose bytes are changed one at a time.
final class IndexDamage {
    private let kind: ValueKind
    private let model: IndexModel
    private let copy: UnsafeMutableRawPointer
    let start = 3 * PageSize.page
    let end: Int
    private var nodes: [(offset: Int, kind: NodeKind, bytes: Int)] = []
    /// Where each node's ref is: parent and byte offset in it.
    private var parents: [Int: (parent: Int, slot: Int)] = [:]
    private let samples: [IndexSample]
    private(set) var found = 0
    private(set) var passed = 0

    init(_ kind: ValueKind) throws {
        self.kind = kind
        var limits = IndexLimits()
        limits.leafBytes = 300
        limits.innerBytes = 300
        model = IndexModel(kind, unique: false, limits: limits, name: "damage of \(kind)")
        var random = IndexRandom(11)
        let sampler = IndexSampler(kind: kind, spread: 2)
        for key in 0..<200 { try model.insert(sampler.next(&random), Int64(key)) }
        if kind == .int { for key in 200..<600 { try model.insert(.integer(Int64(key) * 1), Int64(key)) } }
        try model.commit()
        samples =
            (0..<12).map { _ in sampler.next(&random) } + model.pairs.shuffled(using: &random).prefix(12).map(\.value)
        end = model.file.end
        copy = .allocate(byteCount: end, alignment: 8)
        copy.copyMemory(from: model.file.memory, byteCount: end)
        collect(model.root, .indexInner)
    }

    deinit { copy.deallocate() }

    private func collect(_ ref: Ref, _ kind: NodeKind) {
        let node = model.file.memory + ref.offset
        nodes.append((ref.offset, kind, NodeHeader.bytes(node)))
        guard kind == .indexInner else { return }
        for child in 0..<NodeHeader.count(node) {
            let below = IndexInner.ref(node, child)
            parents[below.offset] = (ref.offset, IndexInner.refOffset(node, child))
            collect(below, IndexInner.childKind(node))
        }
    }

    private func restore() {
        model.file.memory.copyMemory(from: copy, byteCount: end)
        model.file.checked.update(repeating: 0, count: end / PageSize.unit)
        model.file.arena.reset()
    }

    /// Flips bits of one byte: an error, or the right content.
    func flip(_ offset: Int, _ bits: UInt8) throws {
        defer { restore() }
        restore()
        let byte = model.file.memory + offset
        byte.storeBytes(of: byte.load(as: UInt8.self) ^ bits, as: UInt8.self)
        do {
            try model.check(
                IndexReader(source: model.file.source, root: model.root, kind: kind, longValues: model.nowRows))
            passed += 1
        } catch let error as StoreError {
            guard error.code == .corrupt else { throw error }
            found += 1
        }
    }

    /// Changes some bytes of a node, makes all hashes right again, and uses the index in every way.
    func forge(_ random: inout IndexRandom) {
        defer { restore() }
        restore()
        let memory = model.file.memory
        let node = nodes[random.below(nodes.count)]
        for _ in 0..<1 + random.below(3) {
            // Mostly the directory at the beginning, where lengths and widths are.
            let span = random.below(3) == 0 ? node.bytes : min(node.bytes, 80)
            let byte = memory + (node.offset + random.below(span))
            let edges: [UInt8] = [0, 1, 2, 8, 0x7f, 0x80, 0xff, UInt8(truncatingIfNeeded: random.next())]
            byte.storeBytes(of: edges[random.below(edges.count)], as: UInt8.self)
        }
        memory.storeBytes(of: node.kind.rawValue, toByteOffset: node.offset, as: UInt16.self)
        var at = node.offset
        var ref = rehash(at)
        while let (parent, slot) = parents[at] {
            memory.storeBytes(of: ref.raw, toByteOffset: parent + slot, as: UInt64.self)
            at = parent
            ref = rehash(at)
        }
        use(ref)
    }

    private func rehash(_ offset: Int) -> Ref {
        let node = model.file.memory + offset
        let bytes = min(max(NodeHeader.bytes(node), NodeHeader.size), model.file.bytes - offset - 64)
        let hash = NodeHeader.computeHash(node, bytes: bytes, seed: model.file.source.seed)
        node.storeBytes(of: hash, toByteOffset: 24, as: UInt64.self)
        return Ref(offset: offset, hash: hash, born: NodeHeader.born(node))
    }

    private func use(_ root: Ref) {
        let reader = IndexReader(source: model.file.source, root: root, kind: kind, longValues: model.nowRows)
        attempt { _ = try IndexTree.forEachExtent(root, self.model.file.source) { (_) throws(StoreError) in } }
        for sample in samples {
            attempt { try sample.with(self.kind) { value in _ = try reader.find(value) } }
            attempt { try sample.with(self.kind) { value in _ = try reader.count(.less, value) } }
            attempt {
                try sample.with(self.kind) { value in
                    var left = 100
                    _ = try reader.forEach(.greaterOrEqual, value) { (_) throws(StoreError) in
                        left -= 1
                        return left > 0
                    }
                    var cursor = IndexCursor(reader)
                    try value.withIndexBytes { (value) throws(StoreError) in
                        try cursor.seek(.before(value, kind: self.kind))
                    }
                    for _ in 0..<50 { if try cursor.next() == nil { break } }
                }
            }
        }
        // A forged run may claim 2^48 entries: walking them is slow, not unsafe.
        if (try? reader.count()) ?? .max < 100_000 {
            attempt {
                try IndexTree.checkInvariants(
                    root, self.model.file.source, kind: self.kind, unique: false, longValues: self.model.nowRows)
            }
        }
        let writer = IndexWriter(
            space: model.file.space, root: root, kind: kind, unique: false, longValues: model.nowRows)
        attempt {
            for (index, sample) in self.samples.enumerated() {
                try sample.with(self.kind) { try writer.insert($0, Int64(1000 + index)) }
                if index % 4 == 0 { _ = try writer.reader() }
            }
            for pair in self.model.pairs.prefix(20) {
                try pair.value.with(self.kind) { try writer.remove($0, pair.key) }
            }
            _ = try writer.reader()
        }
    }

    private func attempt(_ body: () throws -> Void) {
        do {
            try body()
            passed += 1
        } catch {
            found += 1
        }
    }
}
