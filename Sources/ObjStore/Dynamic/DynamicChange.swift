internal import ObjStoreCore

/// What happened between two versions to what is observed without model classes: to ``DynamicResults``, as
/// ``ChangeSet`` says it, or to a list, set or map of a ``DynamicObject``, as ``CollectionChange`` does. It keeps both
/// versions: let go of it. Any thread.
///
/// Objects are frozen: `deleted` and `modifiedBefore` as they were before, the others as they are after.
public struct DynamicChange<Observed>: Sendable {
    private let changes: ObjStoreCore.ChangeSet
    private let sides: ChangeSides
    private let show: @Sendable (ObjectSpace) -> Observed

    /// - Parameter show: what is observed, as one version has it.
    init(
        _ changes: ObjStoreCore.ChangeSet, _ live: ObjectSpace, _ show: @escaping @Sendable (ObjectSpace) -> Observed
    ) {
        self.changes = changes
        self.show = show
        sides = ChangeSides(changes, live)
    }

    /// As a Realm Swift program reads it.
    public enum Kind {
        /// The first one of an observer: from here on it reports changes.
        case initial(Observed)
        /// Positions of deletions are those before the change, the others those in what is given here. What moved is a
        /// deletion and an insertion.
        case update(Observed, deletions: [Int], insertions: [Int], modifications: [Int])
    }

    public var kind: Kind {
        let shown = shown(before: false)
        return isInitial
            ? .initial(shown)
            : .update(shown, deletions: deletions, insertions: insertions, modifications: modifications)
    }

    private func shown(before: Bool) -> Observed { show(space(before: before)) }

    private func space(before: Bool) -> ObjectSpace {
        do throws(ObjStoreError) { return try sides.space(before: before) } catch {
            sides.live.handle.reports.report(error)
            return sides.live
        }
    }

    /// The first one of an observer: nothing has changed yet.
    public var isInitial: Bool { changes.isInitial }
    /// It came too late to say what changed (`Store.Configuration.observerLag`): look at everything anew.
    public var isLost: Bool { changes.isLost }
    /// Another process committed some of it.
    public var isFromOtherProcess: Bool { changes.isFromOtherProcess }
    /// See ``ChangeSet/isCompared`` and ``CollectionChange/isCompared``.
    public var isCompared: Bool { changes.isCompared }
    /// The owner was deleted, or what is asked about was dropped by a newer schema, and nothing more comes.
    public var isOwnerDeleted: Bool { changes.isOwnerDeleted }
    public var fromVersion: UInt64 { changes.fromVersion }
    public var toVersion: UInt64 { changes.toVersion }

    /// Positions, ascending; see ``ChangeSet`` and ``CollectionChange``.
    public var deletions: [Int] { changes.merged(\.deleted, \.movedBefore) }
    public var insertions: [Int] { changes.merged(\.inserted, \.movedAfter) }
    public var modifications: [Int] { changes.positions(\.modifiedAfter) }
    public var modificationsBefore: [Int] { changes.positions(\.modifiedBefore) }
    public var moves: [PositionMove] { changes.moves }

    /// Objects, of results or of a list or set of them: those that went, as they were before. Others have none.
    public var deleted: [DynamicObject] { objects(changes.deleted, before: true) }
    public var inserted: [DynamicObject] { objects(changes.inserted) }
    public var modified: [DynamicObject] { objects(changes.modified) }
    /// The objects of `modified` as they were.
    public var modifiedBefore: [DynamicObject] { objects(changes.modified, before: true) }
    /// Those of `moves`, which are in none of the others.
    public var moved: [DynamicObject] { objects(changes.moved) }

    private func objects(_ keys: [Int64], before: Bool = false) -> [DynamicObject] {
        guard changes.elements == .objects, !keys.isEmpty else { return [] }
        let space = space(before: before), tag = sides.live.handle.tag
        return keys.map { DynamicObject(changes.object($0, tag: tag), space) }
    }
}

// MARK: A list, set or map

/// What happened to a list, set or map of a ``DynamicObject``.
public typealias DynamicCollectionChange = DynamicChange<DynamicCollection>

extension DynamicChange where Observed == DynamicCollection {
    /// The collection as it is after the change, frozen; that of an invalid object where the owner was deleted.
    public var collection: DynamicCollection { shown(before: false) }
    /// As it was.
    public var collectionBefore: DynamicCollection { shown(before: true) }

    /// It had elements, and has none now.
    public var isCleared: Bool { changes.isCleared }

    /// Keys of a map that went, came, or have another value, ascending; of lists and sets none.
    public var deletedKeys: [AnyValue] { keys(\.deleted) }
    public var insertedKeys: [AnyValue] { keys(\.inserted) }
    public var modifiedKeys: [AnyValue] { keys(\.modified) }

    private func keys(_ list: KeyPath<ChangedKeys, [CoreValue]>) -> [AnyValue] {
        let space = space(before: false)
        var keys: [AnyValue] = []
        for key in changes.keys?[keyPath: list] ?? [] {
            do throws(StoreError) { keys.append(try AnyValue(copying: key, space)) } catch {
                space.handle.reports.report(ObjStoreError(error))
            }
        }
        return keys
    }
}

// MARK: Results

/// What happened to ``DynamicResults``.
public typealias DynamicResultsChange = DynamicChange<DynamicResults>

extension DynamicChange where Observed == DynamicResults {
    /// The results as they are after the change, frozen.
    public var results: DynamicResults { shown(before: false) }
}

// MARK: What was written in objects

extension DynamicChange {
    /// Whether a property was written in the object `modified[index]`.
    ///
    /// Errors: `.outOfRange` (also where what is observed has no objects), `.noSuchProperty`.
    public func hasChanged(_ name: String, at index: Int) throws(ObjStoreError) -> Bool {
        let view = try sides.space(before: false).view
        return try core { () throws(StoreError) in
            let row = try ofObjects().row(ofModification: index)
            return try changes.hasChanged(try view.findProperty(classID, name), atModification: row)
        }
    }

    /// Names of the properties that were written in the object `modified[index]`. Errors: `.outOfRange`.
    public func changedProperties(at index: Int) throws(ObjStoreError) -> [String] {
        try changed(row: try core { () throws(StoreError) in try ofObjects().row(ofModification: index) }).map(\.name)
    }

    /// The same of the object `moved[index]`. Errors: `.outOfRange`.
    public func changedProperties(ofMove index: Int) throws(ObjStoreError) -> [String] {
        try changed(row: try core { () throws(StoreError) in try ofObjects().row(ofMove: index) }).map(\.name)
    }

    private func ofObjects() throws(StoreError) -> ObjStoreCore.ChangeSet {
        if changes.elements == .objects { return changes }
        throw StoreError(.outOfRange, "what was modified are no objects, in which properties are written")
    }

    private var classID: UInt32 { changes.object(0, tag: 0).classID }

    /// The moves follow the modifications.
    private func changed(row: UInt64) throws(ObjStoreError) -> [(id: UInt32, name: String)] {
        let view = try sides.space(before: false).view
        return try core { () throws(StoreError) in
            var properties: [(id: UInt32, name: String)] = []
            for place in 0..<(try view.classInfo(classID).propertyCount) {
                let info = try view.propertyInfo(classID, at: place)
                if try changes.hasChanged(info.propertyID, atModification: row) {
                    properties.append((info.propertyID, info.name))
                }
            }
            return properties
        }
    }
}

// MARK: One object

extension DynamicChange where Observed == DynamicObject {
    /// What happened to the one object that is observed.
    func objectChange() throws(ObjStoreError) -> ObjectChange<DynamicObject> {
        if isLost || isInitial {
            let now = shown(before: false)
            return now.isInvalidated ? .deleted : .change(now, [])
        }
        guard let new = modified.first, let old = modifiedBefore.first else { return .deleted }
        return .change(
            new,
            try changed(row: 0).map { property in
                PropertyChange(
                    name: property.name, oldValue: old.content(ofProperty: property.id),
                    newValue: new.content(ofProperty: property.id))
            })
    }
}

extension DynamicObject {
    /// What a property holds, whatever that is; nil: null, or there was no such property in that version.
    fileprivate func content(ofProperty id: UInt32) -> Any? {
        reporting(nil) { () throws(StoreError) in
            let info: PropertyInfo
            do throws(StoreError) { info = try view.propertyInfo(id) } catch {
                guard error.code == .noSuchProperty else { throw error }
                return nil
            }
            if info.kind.isCollection { return collection(info.name) }
            return try withValue(info) { (value) throws(StoreError) -> Any? in
                if value.isNull { return nil }
                return value.kind == .link ? linked(value) : try AnyValue(copying: value, space)
            }
        }
    }
}
