internal import ObjStoreCore

/// What change sets of objects say alike, of results, of lists and sets of objects, and of sections: objects ascending
/// by position, or in the order of creation, and what was written in them.
public protocol _ObjectChanges: Sendable {
    associatedtype ChangedObject: Object
    var _changed: _ChangedLists { get }
}

/// What lies behind them.
public struct _ChangedLists: Sendable {
    let changes: ObjStoreCore.ChangeSet
    let sides: ChangeSides
}

extension _ObjectChanges {
    /// As they were before they went.
    public var deleted: ChangedObjects<ChangedObject> { objects(\.deleted, before: true) }
    public var inserted: ChangedObjects<ChangedObject> { objects(\.inserted) }
    public var modified: ChangedObjects<ChangedObject> { objects(\.modified) }
    /// Those of `moves`, which are in none of the others.
    public var moved: ChangedObjects<ChangedObject> { objects(\.moved) }
    /// The objects of `modified` as they were.
    public var modifiedBefore: ChangedObjects<ChangedObject> { objects(\.modified, before: true) }

    private func objects(
        _ keys: KeyPath<ObjStoreCore.ChangeSet, [Int64]>, before: Bool = false
    ) -> ChangedObjects<ChangedObject> {
        let changed = _changed
        return ChangedObjects(changed.changes[keyPath: keys], changed.sides, before: before)
    }

    /// Whether a property was written in the object `modified[index]`.
    ///
    /// Errors: `.outOfRange`, `.invalidQuery` (the key path is none of a `@Persisted` property).
    public func hasChanged(_ keyPath: PartialKeyPath<ChangedObject>, at index: Int) throws(ObjStoreError) -> Bool {
        let property = try KeyPaths.property(keyPath), changed = _changed
        let binding = try changed.sides.live.binding(ChangedObject.self)
        return try core { () throws(StoreError) in
            try changed.changes.hasChanged(
                binding.properties[Int(property.index)],
                atModification: try changed.changes.row(ofModification: index))
        }
    }

    /// Names of the properties that were written in the object `modified[index]`. Errors: `.outOfRange`.
    public func changedProperties(at index: Int) throws(ObjStoreError) -> [String] {
        let changes = _changed.changes
        return try written(row: try core { () throws(StoreError) in try changes.row(ofModification: index) }).map(
            \.name)
    }

    /// The same of the object `moved[index]`. Errors: `.outOfRange`.
    public func changedProperties(ofMove index: Int) throws(ObjStoreError) -> [String] {
        let changes = _changed.changes
        return try written(row: try core { () throws(StoreError) in try changes.row(ofMove: index) }).map(\.name)
    }

    /// - Parameter row: of a modification; the moves follow.
    func written(row: UInt64) throws(ObjStoreError) -> [ClassInfo.Property] {
        let changed = _changed, binding = try changed.sides.live.binding(ChangedObject.self)
        return try core { () throws(StoreError) in
            var properties: [ClassInfo.Property] = []
            for property in binding.info.properties
            where try changed.changes.hasChanged(binding.properties[Int(property.index)], atModification: row) {
                properties.append(property)
            }
            return properties
        }
    }
}

/// Frozen objects of a change set, made on first use.
public struct ChangedObjects<Element: Object>: RandomAccessCollection, Sendable {
    private let keys: [Int64]
    private let sides: ChangeSides
    private let isBefore: Bool

    init(_ keys: [Int64], _ sides: ChangeSides, before: Bool) {
        self.keys = keys
        self.sides = sides
        isBefore = before
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { keys.count }

    /// Where there is none, or the store was closed: an invalid object, and the error is reported as by accessors.
    public subscript(index: Int) -> Element {
        do throws(ObjStoreError) {
            guard keys.indices.contains(index) else {
                throw ObjStoreError(.outOfRange, "index \(index) of \(keys.count) changed objects")
            }
            let space = try sides.space(before: isBefore)
            return space.materialise(Element.self, try space.binding(Element.self), keys[index])
        } catch {
            sides.live.handle.reports.report(error)
            return sides.live.invalid()
        }
    }
}
