internal import CSystem

/// An inner node of a collection tree: its children with the owner of their first element and how many they have; of
/// sets and maps also the head of that element's key, so that a search needs no look into the children.
///
/// ```
///  0            32           32 + s       32 + 2s        32 + 3s        1952          2048
/// +------------+------------+------------+--------------+--------------+-------------+
/// | NodeHeader | i64 owners | u64 refs   | u64 counts   | u64 heads    | prefix      |      60 children, s = 480
/// +------------+------------+------------+--------------+--------------+-------------+
/// | NodeHeader | i64 owners | u64 refs   | u64 counts   |                                84 children, s = 672
/// +------------+------------+------------+--------------+
///
///  word of the header   16      17          18              19            20
///                      +-------+-----------+---------------+-------------+------+
///                      | level | has heads | prefix bytes  | kind of head|  0   |
///                      +-------+-----------+---------------+-------------+------+
/// ```
/// The children of level 1 are leaves. Owners of neighbours may be equal: one's elements then continue in the next
/// child. A root is always an inner node; a tree without elements is the null ref.
///
/// A head is `KeyHead` of the child's first key, behind a prefix that the first keys of all children have, which are
/// then of one owner and of the kind of the heads. Where heads are equal the first keys themselves decide.
package enum CollectionInner {
    static let capacity = 84
    static let capacityWithHeads = 60
    static let longestPrefix = 96
    static let bytes = 2048
    static let maximumLevel = 12
    private static let prefixAt = 1952

    // MARK: Header

    @inline(__always) package static func level(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 16, as: UInt8.self))
    }
    @inline(__always) package static func hasHeads(_ node: UnsafeRawPointer) -> Bool {
        node.load(fromByteOffset: 17, as: UInt8.self) != 0
    }
    @inline(__always) static func prefixLength(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 18, as: UInt8.self))
    }
    @inline(__always) static func headKind(_ node: UnsafeRawPointer) -> UInt8 {
        node.load(fromByteOffset: 19, as: UInt8.self)
    }
    static func word(level: Int, hasHeads: Bool) -> UInt64 { UInt64(level) | (hasHeads ? 0x100 : 0) }
    static func childKind(_ node: UnsafeRawPointer) -> NodeKind {
        level(node) == 1 ? .collectionLeaf : .collectionInner
    }

    // MARK: Children

    @inline(__always) static func capacity(_ node: UnsafeRawPointer) -> Int { capacity(hasHeads: hasHeads(node)) }
    @inline(__always) static func capacity(hasHeads: Bool) -> Int { hasHeads ? capacityWithHeads : capacity }
    @inline(__always) private static func stride(_ node: UnsafeRawPointer) -> Int { capacity(node) &<< 3 }

    @inline(__always) static func owners(_ node: UnsafeRawPointer) -> UnsafePointer<Int64> {
        (node + 32).assumingMemoryBound(to: Int64.self)
    }
    @inline(__always) static func refs(_ node: UnsafeRawPointer) -> UnsafePointer<UInt64> {
        (node + (32 &+ stride(node))).assumingMemoryBound(to: UInt64.self)
    }
    @inline(__always) static func counts(_ node: UnsafeRawPointer) -> UnsafePointer<Int> {
        (node + (32 &+ 2 &* stride(node))).assumingMemoryBound(to: Int.self)
    }
    @inline(__always) package static func ref(_ node: UnsafeRawPointer, _ index: Int) -> Ref {
        Ref(raw: refs(node)[index])
    }
    static func child(_ node: UnsafeRawPointer, _ index: Int) -> CollectionChild {
        CollectionChild(owner: owners(node)[index], ref: ref(node, index), count: counts(node)[index])
    }

    /// The first child whose first owner is not less than `owner` (or, with `orEqual`, is greater).
    @inline(__always)
    static func bound(_ node: UnsafeRawPointer, _ owner: Int64, orEqual: Bool = false) -> Int {
        let owners = owners(node)
        var low = 0, high = NodeHeader.count(node)
        while low < high {
            let middle = (low &+ high) >> 1
            if owners[middle] < owner || orEqual && owners[middle] == owner { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// The children that begin with an element of the owner.
    @inline(__always)
    package static func children(_ node: UnsafeRawPointer, of owner: Int64) -> Range<Int> {
        let owners = owners(node), count = NodeHeader.count(node)
        if owners[0] == owner, owners[count &- 1] == owner { return 0..<count }
        return bound(node, owner)..<bound(node, owner, orEqual: true)
    }

    /// Elements below the children before `child`.
    @inline(__always)
    static func elements(_ node: UnsafeRawPointer, before child: Int) -> Int {
        let counts = counts(node)
        var sum = 0, index = 0
        while index < child {
            sum &+= counts[index]
            index &+= 1
        }
        return sum
    }
    static func total(_ node: UnsafeRawPointer) -> Int { elements(node, before: NodeHeader.count(node)) }

    // MARK: Changing

    static func set(_ node: UnsafeMutableRawPointer, _ index: Int, _ child: CollectionChild) {
        let at = node + (32 &+ index << 3), stride = stride(node)
        at.storeBytes(of: child.owner, as: Int64.self)
        at.storeBytes(of: child.ref.raw, toByteOffset: stride, as: UInt64.self)
        at.storeBytes(of: child.count, toByteOffset: 2 &* stride, as: Int.self)
    }
    static func setRef(_ node: UnsafeMutableRawPointer, _ index: Int, _ ref: Ref) {
        node.storeBytes(of: ref.raw, toByteOffset: 32 &+ stride(node) &+ index << 3, as: UInt64.self)
    }

    /// Moves the children from `from` to the end to `to`, with their heads; what they leave behind becomes zero.
    static func move(_ node: UnsafeMutableRawPointer, from: Int, to: Int) {
        let count = NodeHeader.count(node), stride = stride(node)
        if from == to { return }
        for column in 0..<(hasHeads(node) ? 4 : 3) {
            let start = node + (32 + column * stride)
            // The ranges overlap.
            memmove(start + to << 3, start + from << 3, (count - from) << 3)
            if to < from { memset(start + (count - from + to) << 3, 0, (from - to) << 3) }
        }
    }

    // MARK: Heads

    @inline(__always) static func heads(_ node: UnsafeRawPointer) -> UnsafePointer<UInt64> {
        (node + (32 &+ 3 &* stride(node))).assumingMemoryBound(to: UInt64.self)
    }
    @inline(__always) static func prefix(_ node: UnsafeRawPointer) -> UnsafeRawPointer { node + prefixAt }

    static func setHead(_ node: UnsafeMutableRawPointer, _ index: Int, _ head: UInt64) {
        node.storeBytes(of: head, toByteOffset: 32 &+ 3 &* stride(node) &+ index << 3, as: UInt64.self)
    }

    /// What heads are taken of from now on; they must be set again.
    static func setHeadKind(
        _ node: UnsafeMutableRawPointer, _ kind: ValueKind, prefix: UnsafeRawPointer?, _ length: Int
    ) {
        node.storeBytes(of: UInt8(length), toByteOffset: 18, as: UInt8.self)
        node.storeBytes(of: kind.rawValue, toByteOffset: 19, as: UInt8.self)
        memset(node + prefixAt, 0, longestPrefix)
        if length > 0 { memcpy(node + prefixAt, prefix!, length) }
    }

    /// Whether a first key may have a head here: it has the prefix.
    static func hasPrefix(_ node: UnsafeRawPointer, _ key: Value) -> Bool {
        let length = prefixLength(node)
        return length == 0
            || key.kind.rawValue == headKind(node) && key.count >= length
                && memcmp(prefix(node), key.pointer!, length) == 0
    }

    /// The head of a key that has the prefix.
    static func head(_ node: UnsafeRawPointer, _ key: Value) -> UInt64 {
        KeyHead.of(key, kind: headKind(node), from: prefixLength(node))
    }

    /// Of children that begin with elements of one owner those whose first key may be `key`: those before begin with a
    /// lesser one, those behind with a greater one.
    @inline(__always)
    package static func candidates(_ node: UnsafeRawPointer, _ children: Range<Int>, _ key: Value) -> Range<Int> {
        let length = prefixLength(node)
        if length > 0 {
            if key.kind.rawValue != headKind(node) {
                return key.kind.rawValue < headKind(node)
                    ? children.lowerBound..<children.lowerBound : children.upperBound..<children.upperBound
            }
            let order = key.count == 0 ? 0 : memcmp(prefix(node), key.pointer!, min(length, key.count))
            if order != 0 || key.count < length {
                return order < 0 ? children.upperBound..<children.upperBound : children.lowerBound..<children.lowerBound
            }
        }
        let head = KeyHead.of(key, kind: headKind(node), from: length), heads = heads(node)
        var low = children.lowerBound, high = children.upperBound
        while low < high {
            let middle = (low &+ high) >> 1
            if heads[middle] < head { low = middle &+ 1 } else { high = middle }
        }
        // Few have the same.
        while high < children.upperBound, heads[high] == head { high &+= 1 }
        return low..<high
    }

    static func isWellFormed(_ node: UnsafeRawPointer, bytes: Int) -> Bool {
        let count = NodeHeader.count(node), word = NodeHeader.word(node)
        guard bytes == CollectionInner.bytes, (1...maximumLevel).contains(level(node)), word & ~0xffff_01ff == 0 else {
            return false
        }
        guard (1...capacity(node)).contains(count), prefixLength(node) <= longestPrefix,
            hasHeads(node) || word >> 8 == 0
        else { return false }
        let owners = owners(node), refs = refs(node), counts = counts(node)
        var total = 0
        for index in 0..<count {
            guard owners[index] >= 0, owners[index] <= LeafHead.maximumKey,
                index == 0 || owners[index] >= owners[index - 1]
            else { return false }
            guard refs[index] != 0, refs[index] & Ref.dirtyBit == 0 else { return false }
            guard counts[index] > 0, counts[index] <= 1 << 48 else { return false }
            total += counts[index]
        }
        return total <= 1 << 48
    }
}

/// A node of a collection tree as its parent knows it.
struct CollectionChild {
    /// Of its first element.
    var owner: Int64
    var ref: Ref
    /// Elements below it.
    var count: Int
    /// Its first element may be another than its parent knows.
    var hasNewFirst = true
}

/// The beginning of a key as a number in the order of keys (a "poor man's normalized key"): of two keys the lesser one
/// has no greater head.
enum KeyHead {
    /// - Parameters:
    ///   - kind: the kind that most keys have; those of a lesser kind have the least head, those of a greater one the
    ///     greatest.
    ///   - skipped: bytes of a text that are left out.
    @inline(__always)
    static func of(_ key: Value, kind: UInt8, from skipped: Int) -> UInt64 {
        if key.kind.rawValue != kind { return key.kind.rawValue < kind ? 0 : .max }
        switch key.kind {
        case .string, .binary:
            let count = key.count &- skipped
            if count <= 0 { return 0 }
            let bytes = key.pointer.unsafelyUnwrapped + skipped
            if count >= 8 { return UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) }
            var head: UInt64 = 0, index = 0
            while index < count {
                head |= UInt64(bytes.load(fromByteOffset: index, as: UInt8.self)) &<< UInt64(56 &- 8 &* index)
                index &+= 1
            }
            return head
        case .null, .mixed: return 0
        case .double: return IndexBits.double(key.asDouble)
        case .float: return IndexBits.double(Double(key.asFloat))
        case .decimal128: return UInt64(truncatingIfNeeded: key.asDecimal.orderKey >> 64)
        default: return IndexBits.signed(key.low)
        }
    }
}

extension NodeKind {
    @inline(__always) package static var collectionInner: NodeKind {
        NodeKind(10) { CollectionInner.isWellFormed($0, bytes: $1) }
    }
}
