/// Changes the inverse of a collection of links inside a write transaction: which objects have which one in their list,
/// set or map of one property, and how many times.
///
/// It is an index of numbers. A link that an owner has for the n-th time is an entry of its own, whose `low` says n -
/// 1:
///
/// ```
///  list of #7: [#3, #5, #3]      (3, 0, #7) (3, 0, #9) (3, 1, #7) (5, 0, #7)      (target, low, owner), in this order
///  list of #9: [#3]               ───── 3's owners ───   again
/// ```
/// So the entries with low 0 are the owners, each once and ascending, and a list without repetitions pays nothing for
/// them.
///
/// Links that come and go are only noted; which entries change is found at the next read, or at the commit: sorted,
/// those of a pair added up, and looked up once, unless the owner is new. What moves inside a list is no change. Errors
/// as of `IndexWriter`.
package final class InverseWriter: ClassIndex {
    /// A link of an owner each, in the order of their coming; one that goes is a removal.
    private var noted = IndexEntryBuffer()
    /// Owners from this key on have no entries yet.
    private var firstNewOwner: Int64 = 0
    private var waiting = WaitingTargets()
    private var failure: StoreError?

    init(_ schema: IndexSchema, space: WriteSpace) { super.init(schema, space: space) }

    deinit {
        noted.release()
        waiting.release()
    }

    override func begin(root: Ref, _ objects: ClusterReader, nextKey: Int64) {
        super.begin(root: root, objects, nextKey: nextKey)
        noted.count = 0
        firstNewOwner = nextKey
        waiting.end()
        failure = nil
    }

    override var isSmall: Bool { super.isSmall && noted.capacity <= 2 * IndexDeltas.small }

    // MARK: Changes

    override var isEmpty: Bool { writer.root.isNull && writer.pendingCount == 0 && noted.count == 0 }

    override func note(element: Value, of owner: Int64, isRemoval: Bool) throws(StoreError) {
        if !element.isNull { try note(element.low, of: owner, isRemoval: isRemoval) }
    }

    /// An owner gets a link to `target`, perhaps not its first one, or loses one.
    @inline(__always)
    package func note(_ target: Int64, of owner: Int64, isRemoval: Bool) throws(StoreError) {
        var entry = IndexEntry(target: target, occurrence: 0, owner: owner)
        if isRemoval { entry.flags |= IndexEntry.removal }
        try noted.append(entry)
        waiting.note(target)
        if noted.count >= writer.pendingLimit { try resolve() }
    }

    /// Finds the entries that what was noted adds and removes.
    override func resolve() throws(StoreError) {
        if let failure { throw failure }
        if noted.count == 0 { return }
        do throws(StoreError) {
            // Nothing waits now, and no more entries change than were noted: the reader holds, for only the last one
            // can merge.
            let reader = try writer.reader(), entries = noted.base.unsafelyUnwrapped
            try IndexSort.sort(entries, noted.count, isText: false)
            var start = 0, greatest = firstNewOwner
            while start < noted.count {
                let first = entries[start]
                var end = start, net = 0
                while end < noted.count, entries[end].bits == first.bits, entries[end].key == first.key {
                    net += entries[end].isRemoval ? -1 : 1
                    end += 1
                }
                start = end
                if net == 0 { continue }
                let target = IndexBits.toSigned(first.bits)
                let count = first.key >= firstNewOwner ? 0 : try reader.linkCount(from: first.key, to: target)
                greatest = max(greatest, first.key &+ 1)
                guard count &+ net >= 0 else {
                    throw StoreError(
                        .corrupt,
                        """
                        the inverse of a collection does not have the links from object \(first.key) to object \
                        \(target)
                        """
                    )
                }
                guard count &+ net <= InverseWriter.mostLinks else {
                    throw StoreError(
                        .outOfRange,
                        """
                        object \(first.key) would have more than \(InverseWriter.mostLinks) links to object \(target) \
                        in one collection
                        """
                    )
                }
                // Those of one pair are next to each other only if no other object links there: the index puts them in
                // order.
                for occurrence in min(count, count &+ net)..<max(count, count &+ net) {
                    var entry = IndexEntry(target: target, occurrence: UInt32(occurrence), owner: first.key)
                    if net < 0 { entry.flags |= IndexEntry.removal }
                    try writer.add(entry)
                }
            }
            noted.count = 0
            firstNewOwner = greatest
        } catch {
            failure = StoreError(
                error.code,
                "the inverse of a collection cannot be changed any more in this transaction: \(error.message)")
            throw error
        }
    }

    /// The occurrence is a number of 32 bits.
    static let mostLinks = Int(UInt32.max)

    // MARK: Reading, ending

    /// Reads the links to one object, and no others. Deleting objects one by one looks up each time something else than
    /// what has just changed, which keeps waiting. Valid until the next change.
    func reader(ofLinksTo target: Int64) throws(StoreError) -> IndexReader {
        if waiting.excludes(target) {
            if let failure { throw failure }
            return try writer.readerWithoutWaiting()
        }
        let whole = try reader()
        waiting.begin()
        return whole
    }

    override func removeAll() throws(StoreError) {
        noted.count = 0
        try super.removeAll()
    }

    override func restore(root: Ref) {
        noted.count = 0
        failure = nil
        super.restore(root: root)
    }
}

/// The objects of which links have changed that may not be in the tree yet, and some others: bits by hash, kept from
/// the first query on.
private struct WaitingTargets {
    private var bits: UnsafeMutablePointer<UInt64>?
    private var isAsked = false

    private static let words = 4096

    /// Nothing waits now.
    mutating func begin() {
        let bits = bits ?? .allocate(capacity: WaitingTargets.words)
        bits.initialize(repeating: 0, count: WaitingTargets.words)
        self.bits = bits
        isAsked = true
    }

    mutating func end() { isAsked = false }

    mutating func release() { bits?.deallocate() }

    @inline(__always)
    func note(_ target: Int64) {
        if !isAsked { return }
        let (word, bit) = place(target)
        bits.unsafelyUnwrapped[word] |= bit
    }

    func excludes(_ target: Int64) -> Bool {
        if !isAsked { return false }
        let (word, bit) = place(target)
        return bits.unsafelyUnwrapped[word] & bit == 0 || InjectedBug.active(.inverseWaits)
    }

    @inline(__always)
    private func place(_ target: Int64) -> (word: Int, bit: UInt64) {
        let hash = UInt64(bitPattern: target) &* 0x9e37_79b9_7f4a_7c15
        return (Int(hash >> 52), 1 << (hash >> 46 & 63))
    }
}

extension IndexEntry {
    /// An owner's link to an object, the first of them with occurrence 0.
    init(target: Int64, occurrence: UInt32, owner: Int64) {
        self.init(bits: IndexBits.signed(target), low: occurrence, key: owner, flags: IndexEntry.present)
    }
}

/// Of the inverse of a collection of links.
extension IndexReader {
    func contains(target: Int64, occurrence: UInt32, owner: Int64) throws(StoreError) -> Bool {
        let entry = IndexEntry(target: target, occurrence: occurrence, owner: owner)
        return try rank(IndexBound(entry, isAfter: true)) > rank(IndexBound(entry, isAfter: false))
    }

    /// How many links lead to an object, of all owners. O(log n).
    func linkCount(to target: Int64) throws(StoreError) -> Int { try count(in: linkRange(target)) }

    /// Calls `body` with the owner of each of them, until it returns false.
    func forEachLink(to target: Int64, _ body: (Int64) throws(StoreError) -> Bool) throws(StoreError) {
        try forEach(in: linkRange(target), body)
    }

    private func linkRange(_ target: Int64) -> IndexRange {
        IndexRange(
            lower: IndexBound(IndexEntry(target: target, occurrence: 0, owner: .min), isAfter: false),
            upper: IndexBound(IndexEntry(target: target, occurrence: .max, owner: .max), isAfter: true))
    }

    /// How many links an owner has to an object. O(log n), and a look-up more each time they double.
    package func linkCount(from owner: Int64, to target: Int64) throws(StoreError) -> Int {
        var low = 0, high = 1
        while high <= InverseWriter.mostLinks, try contains(target: target, occurrence: UInt32(high - 1), owner: owner)
        {
            low = high
            high *= 2
        }
        // `low` are there, `high` are not.
        while low + 1 < high {
            let middle = (low + high) / 2
            if middle <= InverseWriter.mostLinks,
                try contains(target: target, occurrence: UInt32(middle - 1), owner: owner)
            {
                low = middle
            } else {
                high = middle
            }
        }
        return low
    }

    private func ownerRange(_ target: Int64) -> IndexRange {
        IndexRange(
            lower: IndexBound(IndexEntry(target: target, occurrence: 0, owner: .min), isAfter: false),
            upper: IndexBound(IndexEntry(target: target, occurrence: 0, owner: .max), isAfter: true))
    }

    /// The owners of links to an object: ascending, each once.
    func forEachOwner(of target: Int64, _ body: (Int64) throws(StoreError) -> Bool) throws(StoreError) {
        try forEach(in: ownerRange(target), body)
    }

    /// The same in one piece, but for one of them.
    func owners(of target: Int64, without: Int64? = nil) throws(StoreError) -> KeyBuffer {
        let owners = try KeyBuffer(expecting: try ownerCount(of: target))
        try forEachOwner(of: target) { (owner) throws(StoreError) in
            if owner != without { try owners.append(owner) }
            return true
        }
        return owners
    }

    /// O(log n).
    func ownerCount(of target: Int64) throws(StoreError) -> Int { try count(in: ownerRange(target)) }
}
