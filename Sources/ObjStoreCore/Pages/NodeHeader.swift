/// The 32 bytes that every node of the file begins with. Parts of a leaf (column segments, fingerprints)
/// have no header: their length, hash and birth stand in the leaf's directory.
///
/// ```
///  0        2        4                 8                16               24               32
/// +--------+--------+-----------------+----------------+----------------+----------------+
/// | kind   | count  | bytes           | born           | by kind        | hash64         | …
/// +--------+--------+-----------------+----------------+----------------+----------------+
/// ```
/// `bytes` is the used length, header included. `born` is the version that wrote the node. `hash64`
/// covers the bytes 0–23 and 32–(bytes rounded up to 64), the rest of which is zero.
package enum NodeHeader {
    package static let size = 32

    @inline(__always) package static func kind(_ node: UnsafeRawPointer) -> UInt16 { node.load(as: UInt16.self) }
    @inline(__always) package static func count(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 2, as: UInt16.self))
    }
    @inline(__always) package static func bytes(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 4, as: UInt32.self))
    }
    @inline(__always) package static func born(_ node: UnsafeRawPointer) -> UInt64 {
        node.load(fromByteOffset: 8, as: UInt64.self)
    }
    @inline(__always) static func word(_ node: UnsafeRawPointer) -> UInt64 {
        node.load(fromByteOffset: 16, as: UInt64.self)
    }
    @inline(__always) static func hash(_ node: UnsafeRawPointer) -> UInt64 {
        node.load(fromByteOffset: 24, as: UInt64.self)
    }

    @inline(__always) package static func setCount(_ node: UnsafeMutableRawPointer, _ value: Int) {
        node.storeBytes(of: UInt16(truncatingIfNeeded: value), toByteOffset: 2, as: UInt16.self)
    }
    @inline(__always) static func setBytes(_ node: UnsafeMutableRawPointer, _ value: Int) {
        node.storeBytes(of: UInt32(truncatingIfNeeded: value), toByteOffset: 4, as: UInt32.self)
    }
    @inline(__always) static func setWord(_ node: UnsafeMutableRawPointer, _ value: UInt64) {
        node.storeBytes(of: value, toByteOffset: 16, as: UInt64.self)
    }

    package static func initialize(_ node: UnsafeMutableRawPointer, kind: NodeKind, bytes: Int, word: UInt64 = 0) {
        node.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        node.storeBytes(of: kind.rawValue, as: UInt16.self)
        setBytes(node, bytes)
        setWord(node, word)
    }

    /// The hash of a node whose bytes up to the next multiple of 64 are readable, and zero beyond `bytes`.
    package static func computeHash(_ node: UnsafeRawPointer, bytes: Int, seed: UInt64) -> UInt64 {
        let a = node.load(as: UInt64.self), b = born(node), c = word(node)
        let head = PageHash.mix(PageHash.mix(seed ^ a, b), c)
        return PageHash.hash(node + size, count: bytes - size, seed: head)
    }
}

/// What a node is; stored in its first two bytes, and part of what a first touch checks.
package enum NodeKind: UInt16, Sendable {
    case root = 1
    case schema = 2
    case classRoot = 3
    case freeMap = 4
    case leafHead = 5
    case clusterInner = 6
    case indexLeaf = 7
    case indexInner = 8
    case collectionLeaf = 9
    case collectionInner = 10

    /// Whether every offset, count and length inside the node stays within its `bytes`; asked once per
    /// node and content, after its hash was found right.
    func isWellFormed(_ node: UnsafeRawPointer, bytes: Int) -> Bool {
        switch self {
        case .root: return RootNode.isWellFormed(node, bytes: bytes)
        case .schema: return SchemaNode.isWellFormed(node, bytes: bytes)
        case .classRoot: return ClassNode.isWellFormed(node, bytes: bytes)
        case .freeMap: return FreeMapNode.isWellFormed(node, bytes: bytes)
        case .leafHead: return LeafHead.isWellFormed(node, bytes: bytes)
        case .clusterInner: return ClusterInner.isWellFormed(node, bytes: bytes)
        case .indexLeaf: return IndexLeaf.isWellFormed(node, bytes: bytes)
        case .indexInner: return IndexInner.isWellFormed(node, bytes: bytes)
        case .collectionLeaf: return CollectionLeaf.isWellFormed(node, bytes: bytes)
        case .collectionInner: return CollectionInner.isWellFormed(node, bytes: bytes)
        }
    }
}

/// What a part of a leaf is; only strings have inner offsets that a first touch must check.
package enum PartKind: UInt16, Sendable {
    case numbers = 32
    case strings = 33
    case fingerprints = 34
    case longValue = 35

    func isWellFormed(_ part: UnsafeRawPointer, bytes: Int) -> Bool {
        switch self {
        case .numbers, .fingerprints, .longValue: return true
        case .strings: return StringSegment.isWellFormed(part, bytes: bytes)
        }
    }
}
