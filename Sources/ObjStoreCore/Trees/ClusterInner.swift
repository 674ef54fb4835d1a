/// An inner node of the object tree: up to 84 children with their first keys and numbers of rows.
///
/// ```
///  0            32             704            1376            2048
/// +------------+--------------+--------------+---------------+
/// | NodeHeader | u64 keys[84] | u64 refs[84] | u64 rows[84]  |
/// +------------+--------------+--------------+---------------+
/// ```
/// `NodeHeader.word` is the level: the children of level 1 are leaves, and their keys are exact. Above, a
/// key is a lower bound of what the child holds. Keys only grow, so nodes fill from left to right and split
/// only at the right edge; a child that becomes empty is taken out.
package enum ClusterInner {
    static let capacity = 84
    static let bytes = 2048
    static let maximumLevel = 12

    @inline(__always) package static func level(_ node: UnsafeRawPointer) -> Int {
        Int(truncatingIfNeeded: NodeHeader.word(node))
    }
    @inline(__always) package static func keys(_ node: UnsafeRawPointer) -> UnsafePointer<Int64> {
        (node + 32).assumingMemoryBound(to: Int64.self)
    }
    @inline(__always) static func refs(_ node: UnsafeRawPointer) -> UnsafePointer<UInt64> {
        (node + 704).assumingMemoryBound(to: UInt64.self)
    }
    @inline(__always) package static func rows(_ node: UnsafeRawPointer) -> UnsafePointer<Int64> {
        (node + 1376).assumingMemoryBound(to: Int64.self)
    }

    @inline(__always) package static func ref(_ node: UnsafeRawPointer, _ index: Int) -> Ref {
        Ref(raw: refs(node)[index])
    }

    /// The last child whose key is at most `key`; 0 where all are greater.
    @inline(__always)
    static func child(_ node: UnsafeRawPointer, _ key: Int64) -> Int {
        let keys = keys(node)
        var low = 0, length = NodeHeader.count(node)
        while length > 1 {
            let half = length &>> 1
            if keys[low &+ half] <= key { low &+= half }
            length &-= half
        }
        return low
    }

    /// The leaf that has a key if any has, in a node of level 1. Leaves are mostly dense: the first guess hits.
    @inline(__always)
    static func leaf(_ node: UnsafeRawPointer, _ key: Int64) -> Int {
        let keys = keys(node), count = NodeHeader.count(node), keyBase = LeafHead.keyBase(of: key)
        let guess = Int(truncatingIfNeeded: (keyBase &- keys[0]) &>> Int64(LeafHead.log2Rows))
        if _fastPath(guess >= 0 && guess < count && keys[guess] == keyBase) { return guess }
        return child(node, keyBase)
    }

    static func totalRows(_ node: UnsafeRawPointer) -> Int {
        var total: Int64 = 0
        let rows = rows(node)
        for index in 0..<NodeHeader.count(node) { total &+= rows[index] }
        return Int(total)
    }

    // MARK: Changing

    static func set(_ node: UnsafeMutableRawPointer, _ index: Int, key: Int64, ref: Ref, rows: Int) {
        node.storeBytes(of: key, toByteOffset: 32 + index << 3, as: Int64.self)
        setRef(node, index, ref)
        node.storeBytes(of: Int64(rows), toByteOffset: 1376 + index << 3, as: Int64.self)
    }
    @inline(__always) static func setRef(_ node: UnsafeMutableRawPointer, _ index: Int, _ ref: Ref) {
        node.storeBytes(of: ref.raw, toByteOffset: 704 + index << 3, as: UInt64.self)
    }
    @inline(__always) static func addRows(_ node: UnsafeMutableRawPointer, _ index: Int, _ delta: Int) {
        node.storeBytes(of: rows(node)[index] &+ Int64(delta), toByteOffset: 1376 + index << 3, as: Int64.self)
    }

    /// Takes out a child; what lies behind moves up.
    static func remove(_ node: UnsafeMutableRawPointer, _ index: Int) {
        let count = NodeHeader.count(node)
        for offset in [32, 704, 1376] {
            let column = node + offset
            (column + index << 3).copyMemory(from: column + (index + 1) << 3, byteCount: (count - index - 1) << 3)
            (column + (count - 1) << 3).storeBytes(of: 0, as: UInt64.self)
        }
        NodeHeader.setCount(node, count - 1)
    }

    // MARK: First touch

    static func isWellFormed(_ node: UnsafeRawPointer, bytes: Int) -> Bool {
        let count = NodeHeader.count(node)
        guard bytes == ClusterInner.bytes, (1...capacity).contains(count),
            (1...UInt64(maximumLevel)).contains(NodeHeader.word(node))
        else { return false }
        let keys = keys(node), refs = refs(node), rows = rows(node)
        for index in 0..<count {
            guard keys[index] >= 0, keys[index] & LeafHead.slotMask == 0, keys[index] <= LeafHead.maximumKey else {
                return false
            }
            if index > 0, keys[index] <= keys[index - 1] { return false }
            guard refs[index] != 0, refs[index] & Ref.dirtyBit == 0 else { return false }
            guard rows[index] > 0, rows[index] <= LeafHead.maximumKey else { return false }
        }
        return true
    }
}

extension NodeKind {
    @inline(__always) package static var clusterInner: NodeKind {
        NodeKind(6) { ClusterInner.isWellFormed($0, bytes: $1) }
    }
}
