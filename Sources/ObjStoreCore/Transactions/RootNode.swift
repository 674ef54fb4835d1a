/// The root node of a version: where its schema and its classes are.
///
/// ```
///  0 header: count = classes, word = version
/// 32 ref of the schema
/// 40 reserved (24 bytes)
/// 64 refs of the class nodes, one per class in the order of class ids
/// ```
package enum RootNode {
    static let headerSize = 64

    static func isWellFormed(_ node: UnsafeRawPointer, bytes: Int) -> Bool {
        guard bytes == headerSize + 8 * NodeHeader.count(node), !schema(node).isDirty else { return false }
        return (0..<NodeHeader.count(node)).allSatisfy { !classNode(node, $0).isDirty }
    }

    @inline(__always) package static func schema(_ node: UnsafeRawPointer) -> Ref {
        Ref(raw: node.load(fromByteOffset: 32, as: UInt64.self))
    }
    @inline(__always) package static func classNode(_ node: UnsafeRawPointer, _ index: Int) -> Ref {
        Ref(raw: node.load(fromByteOffset: headerSize + 8 * index, as: UInt64.self))
    }
    static func setSchema(_ node: UnsafeMutableRawPointer, _ ref: Ref) {
        node.storeBytes(of: ref.raw, toByteOffset: 32, as: UInt64.self)
    }
    package static func setClassNode(_ node: UnsafeMutableRawPointer, _ index: Int, _ ref: Ref) {
        node.storeBytes(of: ref.raw, toByteOffset: headerSize + 8 * index, as: UInt64.self)
    }
}

/// One class in one version: the roots of its trees, how many objects it has and the next object key.
///
/// ```
///  0 header: count = indexes and inverses of collections, word = class id
/// 32 ref of the cluster tree (null: no objects)
/// 40 number of objects
/// 48 next object key; keys only grow
/// 56 u32 number of collection trees, u32 0
/// 64 one entry of 32 bytes per index: { u32 id (IndexSchema), u8 flags (1 = unique, 2 = inverse of a collection),
///    u8 kind of keys, u16 0, u64 ref,
///    i64 of the primary key's, where it is generated: the greatest that was given (GeneratedKeys), else 0, u64 0 }
/// .. one of 16 bytes per list, set or map property: { u32 column id, u8 kind, u24 0, u64 ref of its tree or null }
/// ```
package enum ClassNode {
    static let headerSize = 64
    static let entrySize = 32

    static let collectionSize = 16

    static func bytes(indexes: Int, collections: Int) -> Int {
        headerSize + entrySize * indexes + collectionSize * collections
    }

    static func isWellFormed(_ node: UnsafeRawPointer, bytes: Int) -> Bool {
        guard bytes == ClassNode.bytes(indexes: NodeHeader.count(node), collections: collectionCount(node)),
            objectCount(node) >= 0, nextKey(node) <= 1 << 62,
            Int64(objectCount(node)) <= nextKey(node), !cluster(node).isDirty
        else { return false }
        return (0..<NodeHeader.count(node)).allSatisfy { !indexRoot(node, $0).isDirty }
            && (0..<collectionCount(node)).allSatisfy { !collectionRoot(node, $0).isDirty }
    }

    @inline(__always) package static func cluster(_ node: UnsafeRawPointer) -> Ref {
        Ref(raw: node.load(fromByteOffset: 32, as: UInt64.self))
    }
    @inline(__always) static func objectCount(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 40, as: Int64.self))
    }
    @inline(__always) static func nextKey(_ node: UnsafeRawPointer) -> Int64 {
        node.load(fromByteOffset: 48, as: Int64.self)
    }
    @inline(__always) static func indexID(_ node: UnsafeRawPointer, _ index: Int) -> UInt32 {
        node.load(fromByteOffset: headerSize + entrySize * index, as: UInt32.self)
    }
    @inline(__always) package static func indexRoot(_ node: UnsafeRawPointer, _ index: Int) -> Ref {
        Ref(raw: node.load(fromByteOffset: headerSize + entrySize * index + 8, as: UInt64.self))
    }

    static func greatestKey(_ node: UnsafeRawPointer, _ index: Int) -> Int64 {
        node.load(fromByteOffset: headerSize + entrySize * index + 16, as: Int64.self)
    }
    static func setGreatestKey(_ node: UnsafeMutableRawPointer, _ index: Int, _ key: Int64) {
        node.storeBytes(of: key, toByteOffset: headerSize + entrySize * index + 16, as: Int64.self)
    }

    static func collectionCount(_ node: UnsafeRawPointer) -> Int { Int(node.load(fromByteOffset: 56, as: UInt32.self)) }
    private static func collectionOffset(_ node: UnsafeRawPointer, _ index: Int) -> Int {
        headerSize + entrySize * NodeHeader.count(node) + collectionSize * index
    }
    static func collectionColumn(_ node: UnsafeRawPointer, _ index: Int) -> UInt32 {
        node.load(fromByteOffset: collectionOffset(node, index), as: UInt32.self)
    }
    static func collectionKind(_ node: UnsafeRawPointer, _ index: Int) -> ValueKind? {
        ValueKind(rawValue: node.load(fromByteOffset: collectionOffset(node, index) + 4, as: UInt8.self))
    }
    static func collectionRoot(_ node: UnsafeRawPointer, _ index: Int) -> Ref {
        Ref(raw: node.load(fromByteOffset: collectionOffset(node, index) + 8, as: UInt64.self))
    }
    /// The tree of a column; null where the node was written before the class had it.
    package static func collectionRoot(_ node: UnsafeRawPointer, column: UInt32) -> Ref {
        for index in 0..<collectionCount(node) where collectionColumn(node, index) == column {
            return collectionRoot(node, index)
        }
        return .null
    }

    /// After the number of indexes was set.
    static func setCollectionCount(_ node: UnsafeMutableRawPointer, _ count: Int) {
        node.storeBytes(of: UInt32(count), toByteOffset: 56, as: UInt32.self)
    }
    static func setCollection(_ node: UnsafeMutableRawPointer, _ index: Int, column: UInt32, kind: ValueKind, root: Ref)
    {
        let entry = node + collectionOffset(node, index)
        entry.initializeMemory(as: UInt8.self, repeating: 0, count: collectionSize)
        entry.storeBytes(of: column, as: UInt32.self)
        entry.storeBytes(of: kind.rawValue, toByteOffset: 4, as: UInt8.self)
        entry.storeBytes(of: root.raw, toByteOffset: 8, as: UInt64.self)
    }

    package static func setCluster(_ node: UnsafeMutableRawPointer, _ ref: Ref) {
        node.storeBytes(of: ref.raw, toByteOffset: 32, as: UInt64.self)
    }
    package static func setObjectCount(_ node: UnsafeMutableRawPointer, _ count: Int) {
        node.storeBytes(of: Int64(count), toByteOffset: 40, as: Int64.self)
    }
    static func setNextKey(_ node: UnsafeMutableRawPointer, _ key: Int64) {
        node.storeBytes(of: key, toByteOffset: 48, as: Int64.self)
    }
    /// The root of an index; null: it is empty, or the node is older than it.
    static func root(_ node: UnsafeRawPointer, of index: IndexSchema) -> Ref {
        for entry in 0..<NodeHeader.count(node) where indexID(node, entry) == index.id { return indexRoot(node, entry) }
        return .null
    }
    static func setIndex(_ node: UnsafeMutableRawPointer, _ index: Int, _ schema: IndexSchema, root: Ref) {
        let entry = node + headerSize + entrySize * index
        entry.initializeMemory(as: UInt8.self, repeating: 0, count: entrySize)
        entry.storeBytes(of: schema.id, as: UInt32.self)
        entry.storeBytes(of: (schema.isUnique ? 1 : 0) | (schema.isInverse ? 2 : 0), toByteOffset: 4, as: UInt8.self)
        entry.storeBytes(of: schema.kind.rawValue, toByteOffset: 5, as: UInt8.self)
        entry.storeBytes(of: root.raw, toByteOffset: 8, as: UInt64.self)
    }
}

/// The stored schema: an encoded byte string behind the header (`SchemaCodec`).
enum SchemaNode {
    static func isWellFormed(_ node: UnsafeRawPointer, bytes: Int) -> Bool { bytes > NodeHeader.size }
}

/// The stored free map of a meta: `count` = pages that were allocated for it, `word` = pages of the file, then
/// runs as `FreeSpace.encode` writes them.
package enum FreeMapNode {
    static func isWellFormed(_ node: UnsafeRawPointer, bytes: Int) -> Bool { bytes >= NodeHeader.size }

    /// The bytes to write into `run` (whole pages) and the ref to store in a meta; nil when they do not fit.
    package static func encode(
        _ space: FreeSpace, version: UInt64, run: PageRun, seed: UInt64
    ) throws(StoreError) -> (image: ByteBuffer, ref: Ref)? {
        let buffer = ByteBuffer(capacity: 4096)
        for _ in 0..<(NodeHeader.size / 8) { try buffer.append(UInt64(0)) }
        try space.encode(into: buffer, version: version, collapseLimbo: InjectedBug.active(.noLimbo))
        let bytes = buffer.count
        guard bytes <= run.count * PageSize.page else { return nil }
        NodeHeader.initialize(buffer.base, kind: .freeMap, bytes: bytes, word: UInt64(space.pages))
        NodeHeader.setCount(buffer.base, run.count)
        buffer.store(version, at: 8)
        try buffer.pad(to: PageSize.page)
        let hash = NodeHeader.computeHash(UnsafeRawPointer(buffer.base), bytes: bytes, seed: seed)
        buffer.store(hash, at: 24)
        return (buffer, Ref(offset: run.page * PageSize.page, hash: hash, born: version))
    }
}

extension NodeKind {
    @inline(__always) package static var root: NodeKind {
        NodeKind(1) { RootNode.isWellFormed($0, bytes: $1) }
    }
    @inline(__always) package static var schema: NodeKind {
        NodeKind(2) { SchemaNode.isWellFormed($0, bytes: $1) }
    }
    @inline(__always) package static var classRoot: NodeKind {
        NodeKind(3) { ClassNode.isWellFormed($0, bytes: $1) }
    }
    @inline(__always) package static var freeMap: NodeKind {
        NodeKind(4) { FreeMapNode.isWellFormed($0, bytes: $1) }
    }
}
