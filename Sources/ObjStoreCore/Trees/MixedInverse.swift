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
final class MixedInverse {
    let index: IndexWriter
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

    init(space: WriteSpace) { index = IndexWriter(space: space, root: .null, kind: .objectID, unique: false) }

    func begin(root: Ref) {
        forget()
        index.begin(root: root)
    }

    var isSmall: Bool { index.isSmall && noted.capacity <= MixedInverse.mostKept }
    private static let mostKept = 1 << 12

    private func forget() {
        known.removeAll(keepingCapacity: true)
        noted.removeAll(keepingCapacity: noted.capacity <= MixedInverse.mostKept)
        failure = nil
    }

    /// True only where there are no links.
    @inline(__always) var isEmpty: Bool { index.root.isNull && index.pendingCount == 0 && noted.isEmpty }

    // MARK: Changes

    func removeAll() throws(StoreError) {
        forget()
        try index.removeAll()
    }

    /// Before an entry comes.
    func willInsert(_ target: MixedTarget) { known[target.classID] = true }

    func insert(_ target: MixedTarget, _ owner: Int64) throws(StoreError) {
        willInsert(target)
        try index.insert(target.indexed, owner)
    }

    func remove(_ target: MixedTarget, _ owner: Int64) throws(StoreError) { try index.remove(target.indexed, owner) }

    /// Before elements change: what was noted is what they are. Keeps notes few.
    func willChange() throws(StoreError) { if noted.count >= index.pendingLimit { try resolve() } }

    /// An owner's collection has lost these links and got those, an object as often as there were links to it.
    func note(gone: [MixedTarget], new: [MixedTarget], of owner: Int64) {
        for target in gone where !InjectedBug.active(.mixedLinkKept) {
            noted.append(Note(owner: owner, target: target, change: -1))
        }
        for target in new {
            willInsert(target)
            noted.append(Note(owner: owner, target: target, change: 1))
        }
    }

    /// The last links of an owner to an object have just gone, and were noted; nothing had been noted before.
    func didClear(_ target: MixedTarget, _ owner: Int64) throws(StoreError) {
        noted.removeAll { $0.owner == owner && $0.target == target }
        try remove(target, owner)
    }

    /// Brings what was noted into the index.
    func resolve() throws(StoreError) {
        if let failure { throw failure }
        if noted.isEmpty { return }
        do throws(StoreError) {
            noted.sort { $0.owner != $1.owner ? $0.owner < $1.owner : $0.target < $1.target }
            let reader = try index.reader()
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
                if move.isThere { try insert(move.target, move.owner) } else { try remove(move.target, move.owner) }
            }
        } catch {
            failure = StoreError(
                error.code,
                "the inverse of mixed elements cannot be changed any more in this transaction: \(error.message)")
            throw error
        }
    }

    // MARK: Reading, ending

    /// Reads the transaction's own state. Valid until the next change.
    func reader() throws(StoreError) -> IndexReader {
        try resolve()
        return try index.reader()
    }

    func settle() throws(StoreError) -> Ref {
        try resolve()
        return try index.settle()
    }

    /// Goes back to what `settle` returned.
    func restore(root: Ref) {
        forget()
        index.restore(root: root)
    }

    /// After `resolve`.
    func flush(into writer: ExtentWriter) throws(StoreError) -> Ref { try index.flush(into: writer) }

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
        all.sort()
        for index in 0..<all.count where index == 0 || all.keys[index] != all.keys[index - 1] {
            try owners.append(all.keys[index])
        }
        return owners
    }
}
