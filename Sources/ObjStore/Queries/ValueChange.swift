internal import ObjStoreCore

/// What happened between two versions to the plain values that a question finds in a list, set or map, in this or
/// another process: which came, went, moved and were replaced.
///
/// ```swift
/// let token = try dog.rooms.where { $0 > 12 }.observe { change in
///     show(change.values, change.deletions, change.insertions)
/// }
/// ```
/// A value of a list or set is known by what it is: in place of one that was replaced another one came. One of a map is
/// known by its key. It keeps both versions: let go of it. Any thread.
public struct ValueChange<Element: PlainElement, Key>: Sendable {
    private let changes: ObjStoreCore.ChangeSet
    private let sides: ChangeSides
    private let place: ObservedPlace
    private let query: ValueQuery

    fileprivate init(_ changes: ObjStoreCore.ChangeSet, _ place: ObservedPlace, _ query: ValueQuery) {
        (self.changes, self.place, self.query) = (changes, place, query)
        sides = ChangeSides(changes, place.live)
    }

    /// What the question finds after the change, frozen; nothing where the owner was deleted.
    public var values: ValueResults<Element, Key> { shown(before: false) }
    /// What it found in the version before, which lacks what was written without notifying the observer since; the
    /// positions before are those in the values that he knows.
    public var valuesBefore: ValueResults<Element, Key> { shown(before: true) }

    private func shown(before: Bool) -> ValueResults<Element, Key> {
        do throws(ObjStoreError) {
            let space = try sides.space(before: before)
            let found = try core { () throws(StoreError) in
                try space.handle.store.values(of: changes, before: before, in: space.view).values()
            }
            return ValueResults(place.place(in: space), query, found)
        } catch {
            return ValueResults(place.place(in: sides.live), .failed(error))
        }
    }

    /// The first one of an observer: nothing has changed yet.
    public var isInitial: Bool { changes.isInitial }
    /// It came too late to say what changed (`Store.Configuration.observerLag`): look at everything anew.
    public var isLost: Bool { changes.isLost }
    /// Another process committed some of it.
    public var isFromOtherProcess: Bool { changes.isFromOtherProcess }
    /// The log did not reach back so far. (What is found is compared with what was in any case.)
    public var isCompared: Bool { changes.isCompared }
    /// The owner was deleted, or the property dropped, and nothing more comes.
    public var isOwnerDeleted: Bool { changes.isOwnerDeleted }
    public var fromVersion: UInt64 { changes.fromVersion }
    public var toVersion: UInt64 { changes.toVersion }

    // MARK: Positions among what is found, ascending: as of `ChangeSet`

    /// Before: of what went, and of what moved.
    public var deletions: [Int] { changes.merged(\.deleted, \.movedBefore) }
    /// After: of what came, and of what moved.
    public var insertions: [Int] { changes.merged(\.inserted, \.movedAfter) }
    /// After: behind the key is another value. None of lists and sets.
    public var modifications: [Int] { changes.positions(\.modifiedAfter) }
    /// The same before.
    public var modificationsBefore: [Int] { changes.positions(\.modifiedBefore) }
    /// What stands elsewhere among the others: before and after, ascending by the first.
    public var moves: [PositionMove] { changes.moves }

    /// The store as it was. Errors: `.closedHandle`, `.tooManyReaders`.
    public func before() throws(ObjStoreError) -> Snapshot { Snapshot(try sides.space(before: true)) }
    /// The store as it is after the change. Errors: as of ``before()``.
    public func after() throws(ObjStoreError) -> Snapshot { Snapshot(try sides.space(before: false)) }
}
extension ValueChange: PositionedChange {}

/// Keys of a map, in the order of the positions; those that only moved are in none.
extension ValueChange where Key: CollectionElement {
    /// Of `deletions`.
    public var deletedKeys: [Key] { changes.mapKeys(\.deleted) }
    /// Of `insertions`.
    public var insertedKeys: [Key] { changes.mapKeys(\.inserted) }
    /// Of `modifications`.
    public var modifiedKeys: [Key] { changes.mapKeys(\.modified) }
}

extension ValueResults: ObservableCollection {
    /// Calls `handler` with what changes of what is found, in this or another process: first an initial change, of what
    /// is there at its delivery, then one for all that was committed since the last. As with results, `deliver()`,
    /// `wait()` or the worker call it.
    ///
    /// What is found is compared with what was before, at O(n).
    /// Errors: `.wrongView` (it is frozen), `.noSuchObject` (the owner was deleted, or is not committed yet),
    /// `.readOnly`, `.closedHandle`; `.invalidArgument` (there are key paths, which are of objects); those of
    /// ``validate()``.
    public func observe(
        _ handler: @escaping @Sendable (ValueChange<Element, Key>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try _observe(nil, nil, handler) }

    public func _observe(
        _ keyPaths: [String]?, _ handlerPlace: HandlerPlace?,
        _ handler: @escaping @Sendable (ValueChange<Element, Key>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let query = try query, place = try ObservedPlace(place)
        return try space.observe(.values(query), keyPaths, handlerPlace) {
            try handler(ValueChange($0, place, query))
        }
    }
    public var _home: _ObservedHome { _ObservedHome(space: space) }
}

extension ValueResults: ListSource {
    public static func _listed(after change: ValueChange<Element, Key>) -> Pinned<Element> { change.values.pinned() }
}
