internal import ObjStoreCore

/// Finding objects: what ``Store``, ``Transaction`` and ``Snapshot`` have in common.
public protocol StoreReading {
    var _scope: _Scope { get }
}

extension StoreReading {
    /// All objects of a class, in the order of their creation.
    public func objects<T: Object>(_ type: T.Type) -> Results<T> { Results(_scope.space) }

    /// The object with that primary key, which can be nil where it is optional; nil: there is none. By a key of several
    /// properties: ``object(ofType:by:)``.
    ///
    /// Errors: `.noPrimaryKey`, `.noSuchClass`, `.wrongType`, `.closedHandle`. Cost: O(log n).
    public func object<T: Object, Key: _PersistableValue>(
        ofType type: T.Type, forPrimaryKey key: Key?
    ) throws(ObjStoreError) -> T? {
        let space = _scope.space
        let binding = try space.binding(type)
        let encoder = _RowEncoder()
        if let key { Key._encode(key, encoder) } else { encoder.append(.null) }
        guard
            let object = try encoder.withValue({ (value) throws(StoreError) in
                try space.current.find(binding.classID, value)
            })
        else { return nil }
        return space.materialise(type, binding, object.key)
    }

    /// What a reference refers to; nil: the object was deleted, or is not there yet.
    ///
    /// Errors: `.wrongStore`, `.noSuchClass`, `.closedHandle`.
    public func resolve<T: Referable>(_ reference: Reference<T>) throws(ObjStoreError) -> T? {
        try T._at(reference.place, _scope)
    }

    /// Does it permanently show one version?
    public var isFrozen: Bool { _scope.space.isFrozen }

    /// Number of the version that is shown; every commit makes the next one.
    public var version: UInt64 {
        get throws(ObjStoreError) { try core { () throws(StoreError) in try _scope.space.current.version() } }
    }
}

/// A frozen object, which may cross threads and tasks: `let rex = try Frozen(dog); Task { print(rex.name) }`.
@dynamicMemberLookup
public struct Frozen<T: Object>: @unchecked Sendable {
    // Frozen objects do not change, and reading them writes nothing.
    private let object: T

    /// Errors: those of ``Object/freeze()``.
    public init(_ object: T) throws(ObjStoreError) { self.object = try object.freeze() }

    public subscript<Value>(dynamicMember keyPath: KeyPath<T, Value>) -> Value { object[keyPath: keyPath] }

    /// The frozen object itself.
    public var value: T { object }

    /// The same object as it is now; nil: it was deleted.
    public func thaw() throws(ObjStoreError) -> T? { try object.thawed() }
}
