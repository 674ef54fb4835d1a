internal import ObjStoreCore

/// Results in sections as they were in one version, and what has changed since the snapshot before: a collection of
/// sections, which are collections of rows.
///
/// It keeps its version: let go of it. Any thread.
public struct SectionsSnapshot<Key: CollectionElement, SectionElement: Object>: RandomAccessCollection,
    @unchecked Sendable
{
    // Unchecked: the objects are frozen, and keys are values.
    private let sections: [SectionRows<Key, SectionElement>]
    /// The first one, or one that came too late to say what changed: everything is new.
    public let isNew: Bool
    // Those of a change set, and so a screen follows: take out `deletions` from the last to the first, then
    // `sectionsToDelete`, which are empty; put in `sectionsToInsert` from the first to the last, then `insertions`;
    // draw `modifications` anew.

    /// Places in the snapshot before, ascending: of what went and what moved.
    public let deletions: [SectionIndexPath]
    /// In this one: of what came and what moved.
    public let insertions: [SectionIndexPath]
    /// In this one: of what was changed and has not moved.
    public let modifications: [SectionIndexPath]
    /// What is among both of the first: from where to where.
    public let moves: [SectionChangeSet<Key, SectionElement>.Move]
    /// Numbers in the snapshot before, ascending: of sections that are gone, and of those that stand elsewhere.
    public let sectionsToDelete: [Int]
    /// In this one: of sections that are new, and of those that stand elsewhere.
    public let sectionsToInsert: [Int]

    /// An empty one, before the first.
    init() {
        (sections, isNew, deletions, insertions, modifications) = ([], true, [], [], [])
        (moves, sectionsToDelete, sectionsToInsert) = ([], [], [])
    }

    fileprivate init(
        _ shown: [ResultsSection<Key, SectionElement>], _ change: SectionChangeSet<Key, SectionElement>,
        after ids: inout SectionIDs
    ) {
        let counts = shown.map(\.count)
        isNew = change.isInitial || change.isLost || !ids.follow(change, to: counts)
        if isNew {
            ids.begin(counts)
            (deletions, insertions, modifications, moves) = ([], [], [], [])
            (sectionsToDelete, sectionsToInsert) = ([], [])
        } else {
            (deletions, insertions) = (change.deletions, change.insertions)
            (modifications, moves) = (change.modifications, change.moves)
            (sectionsToDelete, sectionsToInsert) = (change.sectionsToDelete, change.sectionsToInsert)
        }
        sections = zip(shown, ids.all).map { SectionRows($0, id: $1.id, rows: $1.rows) }
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { sections.count }
    public subscript(index: Int) -> SectionRows<Key, SectionElement> { sections[index] }
    /// The row at a place.
    public subscript(place: SectionIndexPath) -> ListRow<SectionElement> { sections[place.section][place.item] }

    /// Where the row with an id is. Cost: O(n).
    public func place(ofID id: Int) -> SectionIndexPath? {
        for (number, section) in sections.enumerated() {
            if let item = section.index(ofID: id) { return SectionIndexPath(section: number, item: item) }
        }
        return nil
    }
}

/// A section in a ``SectionsSnapshot``, and which one it is: a collection of its rows.
public struct SectionRows<Key: CollectionElement, SectionElement: Object>: RandomAccessCollection, Identifiable {
    /// The same as long as there is a section with this key, also where it stands elsewhere, and never another's.
    public let id: Int
    private let section: ResultsSection<Key, SectionElement>
    private let rows: [Int]

    fileprivate init(_ section: ResultsSection<Key, SectionElement>, id: Int, rows: [Int]) {
        (self.section, self.id, self.rows) = (section, id, rows)
    }

    /// What the objects have in common.
    public var key: Key { section.key }

    public var startIndex: Int { 0 }
    public var endIndex: Int { rows.count }
    /// A row has the same id wherever it stands, also in another section.
    public subscript(index: Int) -> ListRow<SectionElement> { ListRow(id: rows[index], element: section[index]) }

    /// Where the row with an id is. Cost: O(n).
    public func index(ofID id: Int) -> Int? { rows.firstIndex(of: id) }
}

/// Which section and which object is which: numbers that go with them.
private struct SectionIDs {
    private(set) var all: [(id: Int, rows: [Int])] = []
    private var last = 0

    private mutating func next() -> Int {
        last += 1
        return last
    }

    mutating func begin(_ counts: [Int]) {
        all = counts.map { count in (next(), (0..<count).map { _ in next() }) }
    }

    /// False: the change does not lead to sections of so many objects. A function that says other keys when it is asked
    /// again does so.
    mutating func follow<Key, SectionElement>(
        _ change: SectionChangeSet<Key, SectionElement>, to counts: [Int]
    ) -> Bool {
        let outgoing = SectionIDs.bySection(change.deletions), incoming = SectionIDs.bySection(change.insertions)
        let oldSections = change.sectionsToDelete, newSections = change.sectionsToInsert
        guard (oldSections.last ?? -1) < all.count,
            outgoing.allSatisfy({ $0.section < all.count && $0.items.last! < all[$0.section].rows.count })
        else { return false }
        let rows = Dictionary(
            uniqueKeysWithValues: change.moves.map { ($0.to, all[$0.from.section].rows[$0.from.item]) })
        let sections = Dictionary(uniqueKeysWithValues: change.elsewhere.map { ($0.after, all[$0.before].id) })
        for (section, items) in outgoing { all[section].rows = all[section].rows.without(items, with: []) { $0 } }
        if !oldSections.isEmpty || !newSections.isEmpty {
            all = all.without(oldSections, with: newSections) { (sections[$0] ?? next(), []) }
        }
        guard (incoming.last?.section ?? -1) < all.count else { return false }
        for (section, items) in incoming {
            all[section].rows = all[section].rows.without([], with: items) {
                rows[SectionIndexPath(section: section, item: $0)] ?? next()
            }
        }
        return all.map(\.rows.count) == counts
    }

    /// Places, ascending, by their sections.
    private static func bySection(_ places: [SectionIndexPath]) -> [(section: Int, items: [Int])] {
        var groups: [(section: Int, items: [Int])] = []
        for place in places {
            if groups.last?.section == place.section {
                groups[groups.count - 1].items.append(place.item)
            } else {
                groups.append((place.section, [place.item]))
            }
        }
        return groups
    }
}

extension SectionedResults {
    /// What is there, again whenever it has changed, for a screen that is drawn by differences; see
    /// ``ListSource/snapshots(keyPaths:interval:)``.
    ///
    /// ```swift
    /// for await sections in try dogs.sectioned(by: \.city).snapshots() { draw(sections) }
    /// ```
    /// Errors: as of `observe`.
    public func snapshots(
        keyPaths: [String]? = nil, interval: Duration = .zero
    ) throws -> Snapshots<SectionsSnapshot<Key, SectionElement>> {
        let ids = Guarded(SectionIDs())
        return try Snapshots(self, keyPaths, interval) { change in
            let shown = Array(change.sections.pinned())
            return ids.withLock { SectionsSnapshot(shown, change, after: &$0) }
        }
    }
}
