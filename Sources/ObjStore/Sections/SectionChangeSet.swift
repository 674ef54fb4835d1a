internal import ObjStoreCore

/// What happened to results in sections between two versions, in this or another process: which sections came and went,
/// and where objects came, went, moved and changed.
///
/// ```swift
/// switch change.kind {
/// case .initial(let dogs): show(dogs)
/// case .update(let dogs, let deletions, let insertions, let modifications, let newSections, let oldSections): …
/// }
/// ```
/// Objects and sections are frozen: `deleted` and `modifiedBefore` as they were before, the others as they are after.
/// It keeps both versions: let go of it. Any thread.
public struct SectionChangeSet<Key: CollectionElement, SectionElement: Object>: Sendable {
    let changes: ObjStoreCore.ChangeSet
    private let origin: SectionedResults<Key, SectionElement>
    private let sides: ChangeSides
    private let one: OwnedValue?

    init(_ changes: ObjStoreCore.ChangeSet, _ origin: SectionedResults<Key, SectionElement>, _ one: OwnedValue?) {
        (self.changes, self.origin, self.one) = (changes, origin, one)
        sides = ChangeSides(changes, origin.results.space)
    }

    /// As a Realm Swift program reads it.
    public enum Kind: Sendable {
        /// The first one of an observer: from here on it reports changes.
        case initial(SectionedResults<Key, SectionElement>)
        /// Deletions are places before the change, the others those in the sections given here. An object that moved is
        /// a deletion and an insertion, and so is a section that stands elsewhere among the others.
        case update(
            SectionedResults<Key, SectionElement>, deletions: [SectionIndexPath], insertions: [SectionIndexPath],
            modifications: [SectionIndexPath], sectionsToInsert: [Int], sectionsToDelete: [Int])
    }

    public var kind: Kind {
        isInitial
            ? .initial(sections)
            : .update(
                sections, deletions: deletions, insertions: insertions, modifications: modifications,
                sectionsToInsert: sectionsToInsert, sectionsToDelete: sectionsToDelete)
    }

    /// The first one of an observer: nothing has changed yet.
    public var isInitial: Bool { changes.isInitial }
    /// It came too late to say what changed (`Store.Configuration.observerLag`): look at everything anew.
    public var isLost: Bool { changes.isLost }
    /// Another process committed some of it.
    public var isFromOtherProcess: Bool { changes.isFromOtherProcess }
    /// The log did not reach back so far; see ``ChangeSet``.
    public var isCompared: Bool { changes.isCompared }
    /// Of what is asked of a collection: its owner was deleted, and nothing more comes.
    public var isOwnerDeleted: Bool { changes.isOwnerDeleted }
    public var fromVersion: UInt64 { changes.fromVersion }
    public var toVersion: UInt64 { changes.toVersion }

    // MARK: Sections, ascending
    //
    // They follow: take out `deletions` from the last to the first, then `sectionsToDelete`, which are empty; put in
    // `sectionsToInsert` from the first to the last, then `insertions`.

    /// Numbers before: of sections that have no objects any more, and of those that stand elsewhere among the others.
    public var sectionsToDelete: [Int] { changes.sections?.deleted.map { Int($0) } ?? [] }
    /// Numbers after: of new sections, and of those that stand elsewhere.
    public var sectionsToInsert: [Int] { changes.sections?.inserted.map { Int($0) } ?? [] }
    /// Of `sectionsToDelete`.
    public var deletedKeys: [Key] { keys(\.deleted, before: true) }
    /// Of `sectionsToInsert`.
    public var insertedKeys: [Key] { keys(\.inserted, before: false) }

    /// The sections among both that have equal keys: their numbers before and after.
    var elsewhere: [(before: Int, after: Int)] {
        do throws(StoreError) { return try changes.sections?.elsewhere() ?? [] } catch {
            sides.live.handle.reports.report(ObjStoreError(error))
            return []
        }
    }

    private func keys(_ list: KeyPath<ChangedKeys, [Value]>, before: Bool) -> [Key] {
        guard let keys = changes.sections?.keys[keyPath: list], !keys.isEmpty else { return [] }
        do throws(ObjStoreError) {
            let space = try sides.space(before: before)
            return keys.map { space.sectionKey($0) }
        } catch {
            sides.live.handle.reports.report(error)
            return []
        }
    }

    // MARK: Places, ascending

    private typealias List = KeyPath<ObjStoreCore.ChangeSet.Indices, [UInt64]>

    private func places(_ list: List) -> [SectionIndexPath] {
        guard let sections = changes.sections?.numbers[keyPath: list], let items = changes.indices?[keyPath: list]
        else {
            return []
        }
        return zip(sections, items).map { SectionIndexPath(section: Int($0), item: Int($1)) }
    }
    private func merged(_ list: List, _ moved: List) -> [SectionIndexPath] {
        let moved = places(moved)
        return moved.isEmpty ? places(list) : (places(list) + moved).sorted()
    }

    /// Before: of what went, and of what moved.
    public var deletions: [SectionIndexPath] { merged(\.deleted, \.movedBefore) }
    /// After: of what came, and of what moved.
    public var insertions: [SectionIndexPath] { merged(\.inserted, \.movedAfter) }
    /// After.
    public var modifications: [SectionIndexPath] { places(\.modifiedAfter) }
    /// Of the same objects before.
    public var modificationsBefore: [SectionIndexPath] { places(\.modifiedBefore) }

    /// Of an object that is in another section, or in one that stands elsewhere, or stands elsewhere in its own.
    public struct Move: Sendable, Hashable {
        public let from: SectionIndexPath
        public let to: SectionIndexPath

        public init(from: SectionIndexPath, to: SectionIndexPath) { (self.from, self.to) = (from, to) }
    }
    public var moves: [Move] { zip(places(\.movedBefore), places(\.movedAfter)).map { Move(from: $0, to: $1) } }

    // MARK: Objects

    /// The sections as they are after the change, frozen.
    public var sections: SectionedResults<Key, SectionElement> {
        let results: Results<SectionElement>
        do throws(ObjStoreError) { results = origin.results.inside(try sides.space(before: false)) } catch {
            results = Results(sides.live, .failed(error))
        }
        return SectionedResults(results, origin.source, origin.flags)
    }
    /// The one section that is observed, as it is after the change, frozen; nil: it is not there, or all are observed.
    public var section: ResultsSection<Key, SectionElement>? { one.flatMap { sections.section(with: $0.value) } }
}

extension SectionChangeSet: _ObjectChanges {
    public typealias ChangedObject = SectionElement
    public var _changed: _ChangedLists { _ChangedLists(changes: changes, sides: sides) }
}

/// Where an object is in sections.
public struct SectionIndexPath: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let section: Int
    /// The index in the section.
    public let item: Int

    public init(section: Int, item: Int) { (self.section, self.item) = (section, item) }
    public init(item: Int, section: Int) { self.init(section: section, item: item) }

    public static func < (a: SectionIndexPath, b: SectionIndexPath) -> Bool {
        (a.section, a.item) < (b.section, b.item)
    }
    public var description: String { "[\(section)][\(item)]" }
}
