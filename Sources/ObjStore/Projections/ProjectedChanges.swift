internal import ObjStoreCore

// Observing projections is observing their objects, for the properties that are projected.

/// What happened to results of projections between two versions: a ``ChangeSet`` whose objects are projections.
public struct ProjectedChangeSet<Element: ProjectionType>: Sendable {
    /// Of the objects themselves.
    public let base: ChangeSet<Element.Root>

    init(_ base: ChangeSet<Element.Root>) { self.base = base }

    /// As a Realm Swift program reads it; see ``ChangeSet/Kind``.
    public enum Kind: Sendable {
        case initial(ProjectedResults<Element>)
        case update(ProjectedResults<Element>, deletions: [Int], insertions: [Int], modifications: [Int])
    }

    public var kind: Kind {
        isInitial
            ? .initial(results)
            : .update(results, deletions: deletions, insertions: insertions, modifications: modifications)
    }

    /// The first one of an observer: nothing has changed yet.
    public var isInitial: Bool { base.isInitial }
    /// It came too late to say what changed: look at everything anew.
    public var isLost: Bool { base.isLost }
    /// Another process committed some of it.
    public var isFromOtherProcess: Bool { base.isFromOtherProcess }
    /// The log did not reach back so far, so the two versions were compared; see ``ChangeSet/isCompared``.
    public var isCompared: Bool { base.isCompared }
    /// The owner was deleted, or what is asked about was dropped by a newer schema, and nothing more comes.
    public var isOwnerDeleted: Bool { base.isOwnerDeleted }
    public var fromVersion: UInt64 { base.fromVersion }
    public var toVersion: UInt64 { base.toVersion }

    /// Positions, ascending; see ``ChangeSet``.
    public var deletions: [Int] { base.deletions }
    public var insertions: [Int] { base.insertions }
    public var modifications: [Int] { base.modifications }
    public var modificationsBefore: [Int] { base.modificationsBefore }
    public var moves: [ChangeSet<Element.Root>.Move] { base.moves }

    /// The results as they are after the change, frozen.
    public var results: ProjectedResults<Element> { ProjectedResults(base.results) }
    /// As they were before they went.
    public var deleted: [Element] { base.deleted.map { Element(projecting: $0) } }
    public var inserted: [Element] { base.inserted.map { Element(projecting: $0) } }
    public var modified: [Element] { base.modified.map { Element(projecting: $0) } }
    public var moved: [Element] { base.moved.map { Element(projecting: $0) } }
    /// The objects of `modified` as they were.
    public var modifiedBefore: [Element] { base.modifiedBefore.map { Element(projecting: $0) } }
}

// MARK: Results

extension ProjectedResults {
    /// Calls `handler` with what changes of what is projected; see ``Results/observe(keyPaths:_:)``.
    ///
    /// - Parameter keyPaths: names of properties of the projection; nil: all. Modifications of other properties of the
    ///   objects are not reported, insertions and deletions are.
    /// Errors: also `.invalidQuery`: a property does not lead through `@Persisted` properties alone.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (ProjectedChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try observing(keyPaths, handler) }

    // For other modules of the package.
    package func observing(
        _ names: [String]?, _ handler: @escaping @Sendable (ProjectedChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try base.observing(try ProjectionInfo.of(Element.self).observed(names)) {
            try handler(ProjectedChangeSet($0))
        }
    }
}

// MARK: One object

extension ProjectionType {
    public func _observe(
        one keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (ObjectChange<AnyObject>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let info = try ProjectionInfo.of(Self.self), fields = try info.fields(keyPaths)
        let root = rootObject, key = root._key
        return try root.observingChanges(try info.observed(fields), place) { change in
            if change.isLost || change.isInitial {
                return try handler(try change.objectNow(key).map { .change(Self(projecting: $0), []) } ?? .deleted)
            }
            guard let new = change.modified.first, let old = change.modifiedBefore.first else {
                return try handler(.deleted)
            }
            let written = try fields.filter { try $0.wasWritten(change, old, new) }
            if written.isEmpty { return }
            try handler(
                .change(
                    Self(projecting: new),
                    written.map { field in
                        PropertyChange(
                            name: field.name, oldValue: ClassInfo.unwrap(field.path.value(old)),
                            newValue: ClassInfo.unwrap(field.path.value(new)))
                    }))
        }
    }
    public var _home: _ObservedHome { rootObject._home }

    public static func _names(one keyPaths: [AnyKeyPath]) throws(ObjStoreError) -> [String] {
        try ProjectionInfo.names(keyPaths.map { $0 as! PartialKeyPath<Self> })
    }
}

extension ProjectionInfo {
    func fields(_ names: [String]?) throws(ObjStoreError) -> [Field] {
        guard let names else { return fields }
        var found: [Field] = []
        for name in names { found.append(try field(named: name)) }
        return found
    }

    func fields<P: ProjectionType>(_ keyPaths: [PartialKeyPath<P>]) throws(ObjStoreError) -> [Field] {
        var found: [Field] = []
        for keyPath in keyPaths { found.append(try field(keyPath)) }
        return found
    }

    func observed(_ names: [String]?) throws(ObjStoreError) -> [String] { try observed(try fields(names)) }
}

extension ProjectionInfo.Field {
    /// Of a property of the object itself that is what was written; of what lies behind one, whether it is another.
    fileprivate func wasWritten<Root: Object>(
        _ change: ChangeSet<Root>, _ old: Root, _ new: Root
    ) throws(ObjStoreError) -> Bool {
        guard let names = path.names else { return true }
        if names.count == 1 { return try change.changedProperties(at: 0).contains(names[0].name) }
        return !ProjectionInfo.Field.isSame(path.value(old), path.value(new))
    }

    private static func isSame(_ old: Any, _ new: Any) -> Bool {
        func isEqual<Value: Equatable>(_ value: Value) -> Bool { new as? Value == value }
        switch (ClassInfo.unwrap(old), ClassInfo.unwrap(new)) {
        case (nil, nil): return true
        case (let old as Object, let new as Object): return old.isSameObject(as: new) || old._key == new._key
        case (let old as any AnyProjectedCollection, let new as any AnyProjectedCollection):
            let old = old.elements, new = new.elements
            return old.count == new.count && zip(old, new).allSatisfy { isSame($0, $1) }
        case (let old as any Equatable, .some): return isEqual(old)
        default: return false
        }
    }
}
