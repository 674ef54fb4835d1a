internal import ObjStoreCore

/// What happened to results between two versions, in this or another process: which objects came, went and changed.
///
/// ```swift
/// switch change.kind {
/// case .initial(let dogs): show(dogs)
/// case .update(let dogs, let deletions, let insertions, let modifications): …
/// }
/// for dog in change.deleted { print("\(dog.name) is gone") }
/// ```
/// Objects are frozen: `deleted` and `modifiedBefore` as they were before, the others as they are after. It keeps both
/// versions: let go of it. Any thread. After the store was closed, objects are as those of any closed store.
public struct ChangeSet<Element: Object>: Sendable {
    let changes: ObjStoreCore.ChangeSet
    private let question: Results<Element>.Question
    private let sides: ChangeSides

    init(_ changes: ObjStoreCore.ChangeSet, _ live: ObjectSpace, _ question: Results<Element>.Question) {
        self.changes = changes
        self.question = question
        sides = ChangeSides(changes, live)
    }

    /// As a Realm Swift program reads it.
    public enum Kind: Sendable {
        /// The first one of an observer: from here on it reports changes.
        case initial(Results<Element>)
        /// Positions of deletions are those before the change, the others those in the results given here. An object
        /// that moved in an order is a deletion and an insertion.
        case update(Results<Element>, deletions: [Int], insertions: [Int], modifications: [Int])
    }

    public var kind: Kind {
        isInitial
            ? .initial(results)
            : .update(results, deletions: deletions, insertions: insertions, modifications: modifications)
    }

    /// The first one of an observer: nothing has changed yet.
    public var isInitial: Bool { changes.isInitial }
    /// It came too late to say what changed (`Store.Configuration.observerLag`): look at everything anew.
    public var isLost: Bool { changes.isLost }
    /// Another process committed some of it.
    public var isFromOtherProcess: Bool { changes.isFromOtherProcess }
    /// The log did not reach back so far, so the two versions were compared: a property that was written with its old
    /// value is not seen as modified.
    public var isCompared: Bool { changes.isCompared }
    public var fromVersion: UInt64 { changes.fromVersion }
    public var toVersion: UInt64 { changes.toVersion }

    /// The owner was deleted, or what is asked about was dropped by a newer schema, and nothing more comes.
    public var isOwnerDeleted: Bool { changes.isOwnerDeleted }

    // MARK: Positions, ascending
    //
    // A list follows: take out `deletions` from the last to the first, put in `insertions` from the first to the last.
    // What moved is among both, and `moves` says which belong together.

    /// In the results before: of what went, and of what moved.
    public var deletions: [Int] { changes.merged(\.deleted, \.movedBefore) }
    /// In the results after: of what came, and of what moved.
    public var insertions: [Int] { changes.merged(\.inserted, \.movedAfter) }
    /// In the results after.
    public var modifications: [Int] { changes.positions(\.modifiedAfter) }
    /// The same objects in the results before.
    public var modificationsBefore: [Int] { changes.positions(\.modifiedBefore) }

    /// Objects that stand elsewhere among the others: their positions before and after, ascending by the first. Only
    /// results with an order of their own have moves.
    public var moves: [Move] { changes.moves }

    /// Where an object was, and where it is.
    public typealias Move = PositionMove

    /// The results as they are after the change, frozen.
    public var results: Results<Element> {
        do throws(ObjStoreError) { return Results(try sides.space(before: false), question) } catch {
            return Results(sides.live, .failed(error))
        }
    }
}

extension ChangeSet: _ObjectChanges {
    public typealias ChangedObject = Element
    public var _changed: _ChangedLists { _ChangedLists(changes: changes, sides: sides) }

    /// The one object that is observed as it is now, of a change set that came too late to say more; nil: it is gone.
    func objectNow(_ key: Int64) throws(ObjStoreError) -> Element? {
        let space = try sides.space(before: false), binding = try space.binding(Element.self)
        let isThere = try core { () throws(StoreError) in try space.view.exists(binding.id(key)) }
        return isThere ? space.materialise(Element.self, binding, key) : nil
    }

    /// What happened to the one object that is observed.
    func objectChange(_ key: Int64) throws(ObjStoreError) -> ObjectChange<AnyObject> {
        if isLost || isInitial { return try objectNow(key).map { .change($0, []) } ?? .deleted }
        guard let new = modified.first, let old = modifiedBefore.first else { return .deleted }
        return .change(
            new,
            try written(row: 0).map { property in
                PropertyChange(
                    name: property.name, oldValue: ClassInfo.unwrap(property.accessor._anyValue(old, property.offset)),
                    newValue: ClassInfo.unwrap(property.accessor._anyValue(new, property.offset)))
            })
    }
}

/// What happened to an object that is observed, or to a projection.
public enum ObjectChange<T> {
    /// The object as it is now, frozen, and what was written. Nothing: it is the first call, which was asked for, or it
    /// came too late to say what (`Store.Configuration.observerLag`, `since:`).
    case change(T, [PropertyChange])
    /// It is gone; no more comes.
    case deleted
}

/// A property of an object that is observed, with what it held before and after; nil represents null.
public struct PropertyChange {
    public let name: String
    public let oldValue: Any?
    public let newValue: Any?
}

/// The two versions of a change set as spaces of objects, made on first use.
final class ChangeSides: Sendable {
    private let changes: ObjStoreCore.ChangeSet
    let live: ObjectSpace
    private let spaces = Guarded<(before: ObjectSpace?, after: ObjectSpace?)>((nil, nil))

    init(_ changes: ObjStoreCore.ChangeSet, _ live: ObjectSpace) {
        self.changes = changes
        self.live = live
    }

    func space(before: Bool) throws(ObjStoreError) -> ObjectSpace {
        if let space = spaces.withLock({ before ? $0.before : $0.after }) { return space }
        let view = try core { () throws(StoreError) in try live.handle.store.view(of: changes, before: before) }
        let new = ObjectSpace(live.handle, view, isFrozen: true)
        return spaces.withLock { spaces in
            if let space = before ? spaces.before : spaces.after { return space }
            if before { spaces.before = new } else { spaces.after = new }
            return new
        }
    }
}
