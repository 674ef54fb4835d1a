/// The inverse of the links in the values of one mixed property, or in the mixed elements of one collection, inside a
/// write transaction: which objects have a link to which, each pair once, however often the value has it.
///
/// ```
///  Dog#7.extra = [Dog#3, Toy#5, Dog#3]      ((Dog, 3), #7) ((Toy, 5), #7) ((Toy, 5), #9)      ((class, key), owner)
///  Dog#9.extra = Toy#5
/// ```
/// An index of object ids: 4 bytes of class, 8 of key. So what leads to a class lies together, and whether anything
/// does is one look-up, which is remembered for the transaction.
///
/// A mixed value changes as a whole, and the code that changes it knows which pairs come and go. Of a collection single
/// elements change: that links came or went is only noted. When the inverse is read, at a savepoint and at the
/// commit the notes of a pair are added up: more than before, then it is in the inverse; less, then the collection is
/// walked once for all such pairs of its owner, to see which are left.
final class MixedInverse: ClassIndex {
    /// Of a collection: which of some objects an owner links to now; none if it is gone.
    var linked: ((_ owner: Int64, _ targets: Set<MixedTarget>) throws(StoreError) -> Set<MixedTarget>)?
    private var noted: [Note] = []
    private var failure: StoreError?

    private struct Note {
        let owner: Int64
        let target: MixedTarget
        let change: Int
    }

    /// By class id, whether links lead to its objects: no entry: not queried yet; "yes" may be out of date.
    private var known: [UInt32: Bool] = [:]

    init(_ schema: IndexSchema, space: WriteSpace) { super.init(schema, space: space) }

    override func begin(root: Ref, _ objects: ClusterReader, nextKey: Int64) {
        forget()
        super.begin(root: root, objects, nextKey: nextKey)
    }

    override var isSmall: Bool { super.isSmall && noted.capacity <= MixedInverse.mostKept }
    private static let mostKept = 1 << 12

    private func forget() {
        known.removeAll(keepingCapacity: true)
        noted.removeAll(keepingCapacity: noted.capacity <= MixedInverse.mostKept)
        failure = nil
    }

    override var isEmpty: Bool { writer.root.isNull && writer.pendingCount == 0 && noted.isEmpty }

    // MARK: Changes

    override func removeAll() throws(StoreError) {
        forget()
        try super.removeAll()
    }

    override func extract(
        _ objectKey: Int64, into entries: IndexEntries, _ value: (Int) throws(StoreError) -> Value
    ) throws(StoreError) {
        for target in try MixedLinks.targets(try value(schema.first)) { entries.append(target.indexed) }
    }

    override func insert(_ entry: Value, _ owner: Int64) throws(StoreError) {
        known[MixedTarget(indexed: entry).classID] = true
        try super.insert(entry, owner)
    }

    /// While what was noted is what elements are. Keeps notes few.
    override func willNote() throws(StoreError) { if noted.count >= writer.pendingLimit { try resolve() } }

    override func note(element: Value, of owner: Int64, isRemoval: Bool) throws(StoreError) {
        if isRemoval && InjectedBug.active(.mixedLinkKept) { return }
        try MixedLinks.forEach(element) { link in
            let target = MixedTarget(link)
            if !isRemoval { known[target.classID] = true }
            noted.append(Note(owner: owner, target: target, change: isRemoval ? -1 : 1))
            return true
        }
    }

    /// The last links of an owner to an object have just gone, and were noted; nothing had been noted before.
    func didClear(_ target: MixedTarget, _ owner: Int64) throws(StoreError) {
        noted.removeAll { $0.owner == owner && $0.target == target }
        try remove(target.indexed, owner)
    }

    override func resolve() throws(StoreError) {
        if let failure { throw failure }
        if noted.isEmpty { return }
        do throws(StoreError) {
            noted.sort { $0.owner != $1.owner ? $0.owner < $1.owner : $0.target < $1.target }
            let reader = try writer.reader()
            var start = 0, moves: [(target: MixedTarget, owner: Int64, isThere: Bool)] = []
            while start < noted.count {
                let owner = noted[start].owner
                var fewer: Set<MixedTarget> = []
                while start < noted.count, noted[start].owner == owner {
                    let target = noted[start].target
                    var net = 0
                    while start < noted.count, noted[start].owner == owner, noted[start].target == target {
                        net += noted[start].change
                        start += 1
                    }
                    if net > 0, try !reader.contains(target.indexed, owner) { moves.append((target, owner, true)) }
                    if net < 0, try reader.contains(target.indexed, owner) { fewer.insert(target) }
                }
                if fewer.isEmpty { continue }
                for target in fewer.subtracting(try linked.unsafelyUnwrapped(owner, fewer)) {
                    moves.append((target, owner, false))
                }
            }
            noted.removeAll(keepingCapacity: true)
            for move in moves {
                if move.isThere {
                    try insert(move.target.indexed, move.owner)
                } else {
                    try remove(move.target.indexed, move.owner)
                }
            }
        } catch {
            failure = StoreError(
                error.code,
                "the inverse of mixed elements cannot be changed any more in this transaction: \(error.message)")
            throw error
        }
    }

    // MARK: Reading, ending

    override func restore(root: Ref) {
        forget()
        super.restore(root: root)
    }

    /// False only where no links lead to objects of a class. O(log n) once in a transaction, then O(1).
    func leads(to classID: UInt32) throws(StoreError) -> Bool {
        if isEmpty { return false }
        if let known = known[classID] { return known }
        let leads = try reader().count(in: try IndexReader.range(of: classID)) > 0
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
            if owner != without { try owners.append(owner) }
            return true
        }
        return owners
    }

    /// The objects whose values link to some object of a class, ascending, each once.
    func owners(ofClass classID: UInt32) throws(StoreError) -> KeyBuffer {
        let all = KeyBuffer(), owners = KeyBuffer()
        _ = try forEach(in: try IndexReader.range(of: classID)) { (owner) throws(StoreError) in
            try all.append(owner)
            return true
        }
        try all.sort()
        for index in 0..<all.count where index == 0 || all.keys[index] != all.keys[index - 1] {
            try owners.append(all.keys[index])
        }
        return owners
    }
}
