/// The inverse of the links in the values of one mixed property, inside a write transaction: which objects have a link to which,
/// each pair once, however often the value has it.
///
/// ```
///  Dog#7.extra = [Dog#3, Toy#5, Dog#3]      ((Dog, 3), #7) ((Toy, 5), #7) ((Toy, 5), #9)      ((class, key), owner)
///  Dog#9.extra = Toy#5
/// ```
/// An index of object ids: 4 bytes of class, 8 of key. So what leads to a class lies together, and whether anything does is one look-up,
/// which is remembered for the transaction.
final class MixedInverse {
    let index: IndexWriter
    /// By class id, whether links lead to its objects: no entry, nobody has asked yet; "yes" may be out of date.
    private var known: [UInt32: Bool] = [:]

    init(space: WriteSpace) { index = IndexWriter(space: space, root: .null, kind: .objectID, unique: false) }

    func begin(root: Ref) {
        known.removeAll(keepingCapacity: true)
        index.begin(root: root)
    }

    func restore(root: Ref) {
        known.removeAll(keepingCapacity: true)
        index.restore(root: root)
    }

    func removeAll() throws(StoreError) {
        known.removeAll(keepingCapacity: true)
        try index.removeAll()
    }

    /// True only where there are no links.
    @inline(__always) var isEmpty: Bool { index.root.isNull && index.pendingCount == 0 }

    /// Before an entry comes.
    func willInsert(_ target: MixedTarget) { known[target.classID] = true }

    func insert(_ target: MixedTarget, _ owner: Int64) throws(StoreError) {
        willInsert(target)
        try index.insert(target.indexed, owner)
    }

    func remove(_ target: MixedTarget, _ owner: Int64) throws(StoreError) { try index.remove(target.indexed, owner) }

    /// False only where no links lead to objects of a class. O(log n) once in a transaction, then O(1).
    func leads(to classID: UInt32) throws(StoreError) -> Bool {
        if isEmpty { return false }
        if let known = known[classID] { return known }
        let leads = try index.reader().count(in: try IndexReader.range(of: classID)) > 0
        known[classID] = leads
        return leads
    }
}

/// Of the inverse of a mixed property.
extension IndexReader {
    fileprivate static func range(of classID: UInt32) throws(StoreError) -> IndexRange {
        IndexRange(
            lower: try .before(MixedTarget(classID: classID, key: 0).indexed, kind: .objectID),
            upper: try .before(MixedTarget(classID: classID + 1, key: 0).indexed, kind: .objectID))
    }

    /// The objects whose values link to one, ascending, but for one of them.
    func owners(of target: MixedTarget, without: Int64? = nil) throws(StoreError) -> KeyBuffer {
        let owners = KeyBuffer(capacity: 8)
        _ = try forEach(.equal, target.indexed) { (owner) throws(StoreError) in
            if owner != without { owners.append(owner) }
            return true
        }
        return owners
    }

    /// The objects whose values link to some object of a class, ascending, each once.
    func owners(ofClass classID: UInt32) throws(StoreError) -> KeyBuffer {
        let all = KeyBuffer(), owners = KeyBuffer()
        _ = try forEach(in: try IndexReader.range(of: classID)) { (owner) throws(StoreError) in
            all.append(owner)
            return true
        }
        all.sort()
        for index in 0..<all.count where index == 0 || all.keys[index] != all.keys[index - 1] { owners.append(all.keys[index]) }
        return owners
    }
}
