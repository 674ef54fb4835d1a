/// Compares the links in lists, sets or maps of one property, owner by owner, with their inverse: every link must have
/// its entry there, and there must be as many entries as links. Memory: that of the longest collection.
struct InverseCheck {
    /// "class.property"
    let name: String
    let reader: IndexReader
    let entries: Int

    private var owner: Int64 = -1
    private var targets: [Int64] = []
    private var links = 0
    private var contradictions = 0

    /// Contradictions that are reported one by one; the others are counted.
    private static let told = 20

    init(_ name: String, _ reader: IndexReader, entries: Int) {
        self.name = name
        self.reader = reader
        self.entries = entries
    }

    /// A link of an object; those of one object come one after another.
    mutating func add(
        _ target: Int64, of owner: Int64, _ finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        if owner != self.owner {
            try compare(finding)
            self.owner = owner
        }
        targets.append(target)
    }

    /// - Parameter isWhole: all links could be read.
    mutating func end(isWhole: Bool, _ finding: (String) throws(StoreError) -> Void) throws(StoreError) {
        try compare(finding)
        if contradictions > InverseCheck.told {
            try finding("inverse of \(name): \(contradictions - InverseCheck.told) more links are missing in it")
        }
        if isWhole, links != entries { try finding("inverse of \(name): it has \(entries) entries for \(links) links") }
    }

    private mutating func compare(_ finding: (String) throws(StoreError) -> Void) throws(StoreError) {
        targets.sort()
        var last = Int64.min, occurrence: UInt32 = 0
        for target in targets {
            occurrence = target == last ? occurrence &+ 1 : 0
            last = target
            links += 1
            if try reader.contains(target: target, occurrence: occurrence, owner: owner) { continue }
            contradictions += 1
            if contradictions <= InverseCheck.told {
                try finding(
                    """
                    inverse of \(name): object \(owner) links to object \
                    \(target)\(occurrence == 0 ? "" : " \(occurrence + 1) times"), and it says otherwise
                    """
                )
            }
        }
        targets.removeAll(keepingCapacity: true)
    }
}
