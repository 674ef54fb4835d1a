/// The 32 bytes that every node of the file begins with. Parts of a leaf (column segments, fingerprints)
/// have no header: their length, hash and birth are in the leaf's directory.
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

/// What a node is: a number in its first two bytes, which is part of what a first touch checks. Each kind is declared
/// next to the code that knows it (`extension NodeKind` there), with its own look at what its nodes say about
/// themselves.
///
/// ```
///  1 root   2 schema   3 classRoot   4 freeMap   5 leafHead   6 clusterInner
///  7 indexLeaf   8 indexInner   9 collectionLeaf   10 collectionInner
/// ```
package struct NodeKind: Equatable, Sendable, BitwiseCopyable, CustomStringConvertible {
    /// Whether every offset, count and length inside a node stays within its bytes. A plain pointer: what is handed
    /// around at each access has nothing that is counted.
    typealias Check = @convention(c) (_ node: UnsafeRawPointer, _ bytes: Int) -> Bool

    package let rawValue: UInt16
    private let check: Check

    package static let rawValues: ClosedRange<UInt16> = 1...10

    @inline(__always)
    init(_ rawValue: UInt16, _ check: Check) {
        self.rawValue = rawValue
        self.check = check
    }

    @inline(__always) package static func == (a: NodeKind, b: NodeKind) -> Bool { a.rawValue == b.rawValue }

    /// Called once per node and content, after its hash was found right.
    func isWellFormed(_ node: UnsafeRawPointer, bytes: Int) -> Bool { check(node, bytes) }

    /// For messages.
    package var description: String {
        let names = [
            "root", "schema", "classRoot", "freeMap", "leafHead", "clusterInner", "indexLeaf", "indexInner",
            "collectionLeaf", "collectionInner",
        ]
        return NodeKind.rawValues.contains(rawValue) ? names[Int(rawValue) - 1] : "kind \(rawValue)"
    }
}

/// What a part of a leaf is; only strings have inner offsets that a first touch must check.
///
/// ```
///  32 numbers   33 strings   34 fingerprints   35 longValue
/// ```
package struct PartKind: Equatable, Sendable, BitwiseCopyable, CustomStringConvertible {
    package let rawValue: UInt16
    private let check: NodeKind.Check?

    @inline(__always)
    init(_ rawValue: UInt16, _ check: NodeKind.Check? = nil) {
        self.rawValue = rawValue
        self.check = check
    }

    @inline(__always) package static func == (a: PartKind, b: PartKind) -> Bool { a.rawValue == b.rawValue }

    func isWellFormed(_ part: UnsafeRawPointer, bytes: Int) -> Bool { check?(part, bytes) ?? true }

    /// For messages.
    package var description: String {
        let names = ["numbers", "strings", "fingerprints", "longValue"]
        return (32...35).contains(rawValue) ? names[Int(rawValue) - 32] : "kind \(rawValue)"
    }
}
