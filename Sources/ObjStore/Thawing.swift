internal import ObjStoreCore

// The way back from what is frozen. What is live is its own thawed form; what is gone is nil. (`@_disfavoredOverload`:
// ObjStoreRealm has the same without `throws`, made of the `package` functions.)

extension Object {
    /// The same object as the store shows it now; itself when it is live already; nil: it was deleted.
    ///
    /// Errors: `.wrongView` for an unmanaged object, `.closedHandle`.
    @_disfavoredOverload
    public final func thaw() throws(ObjStoreError) -> Self? { try thawed() }

    package final func thawed() throws(ObjStoreError) -> Self? {
        guard let space = _space, let binding = _binding?.takeUnretainedValue() else {
            throw ObjStoreError(
                .wrongView, "an unmanaged object cannot be thawed: it belongs to no store",
                class: ClassInfo.name(of: type(of: self)))
        }
        if !space.isFrozen { return self }
        let live = try space.handle.liveSpace(), target = live.bindings[binding.position], id = target.id(_key)
        guard try core({ () throws(StoreError) in try live.current.exists(id) }) else { return nil }
        return live.materialise(type(of: self), target, _key)
    }
}

extension Results {
    /// The same question, answered by what the store shows now. Errors: `.closedHandle`.
    @_disfavoredOverload
    public func thaw() throws(ObjStoreError) -> Results { try thawed() }

    package func thawed() throws(ObjStoreError) -> Results {
        isFrozen ? inside(try space.handle.liveSpace()) : self
    }
}

extension LinkingObjects {
    /// Those that the store shows now, frozen. Errors: `.wrongView`: the object is unmanaged; `.closedHandle`.
    public func freeze() throws(ObjStoreError) -> LinkingObjects { LinkingObjects(try results().freeze()) }

    /// Those that the store shows now; empty where the object that they link to was deleted. Errors: as of `freeze()`.
    public func thaw() throws(ObjStoreError) -> LinkingObjects { LinkingObjects(try results().thawed()) }
}

// MARK: Collections of an object

extension CollectionPlace {
    func frozen() throws(ObjStoreError) -> CollectionPlace {
        CollectionPlace(object: try object.freeze(), index: index)
    }
    func thawed() throws(ObjStoreError) -> CollectionPlace? {
        try object.thawed().map { CollectionPlace(object: $0, index: index) }
    }

    /// The place of a managed collection.
    static func of(_ place: CollectionPlace?, to operation: String) throws(ObjStoreError) -> CollectionPlace {
        if let place { return place }
        throw ObjStoreError(.wrongView, "an unmanaged collection cannot be \(operation): it is a plain value")
    }
}

extension List {
    /// The list in the version that the store shows now, permanently; so are the objects in it. Itself when it is
    /// frozen. Errors: `.wrongView` (unmanaged, or inside a write), `.noSuchObject`, `.closedHandle`.
    public func freeze() throws(ObjStoreError) -> List {
        if isFrozen { return self }
        return List(try CollectionPlace.of(place, to: "frozen").frozen())
    }
    /// The list as the store shows it now; itself when it is live; nil: its object was deleted. Errors: `.wrongView`
    /// (unmanaged), `.closedHandle`.
    @_disfavoredOverload
    public func thaw() throws(ObjStoreError) -> List? { try thawed() }

    package func thawed() throws(ObjStoreError) -> List? {
        let place = try CollectionPlace.of(place, to: "thawed")
        return isFrozen ? try place.thawed().map { List($0) } : self
    }
}

extension MutableSet {
    /// The set in the version that the store shows now: as of ``List/freeze()``.
    public func freeze() throws(ObjStoreError) -> MutableSet {
        if isFrozen { return self }
        return MutableSet(try CollectionPlace.of(place, to: "frozen").frozen())
    }
    /// The set as the store shows it now: as of ``List/thaw()``.
    @_disfavoredOverload
    public func thaw() throws(ObjStoreError) -> MutableSet? { try thawed() }

    package func thawed() throws(ObjStoreError) -> MutableSet? {
        let place = try CollectionPlace.of(place, to: "thawed")
        return isFrozen ? try place.thawed().map { MutableSet($0) } : self
    }
}

extension Map {
    /// The map in the version that the store shows now: as of ``List/freeze()``.
    public func freeze() throws(ObjStoreError) -> Map {
        if isFrozen { return self }
        return Map(try CollectionPlace.of(place, to: "frozen").frozen())
    }
    /// The map as the store shows it now: as of ``List/thaw()``.
    @_disfavoredOverload
    public func thaw() throws(ObjStoreError) -> Map? { try thawed() }

    package func thawed() throws(ObjStoreError) -> Map? {
        let place = try CollectionPlace.of(place, to: "thawed")
        return isFrozen ? try place.thawed().map { Map($0) } : self
    }
}

extension AnyList {
    /// Does it permanently show one version?
    public var isFrozen: Bool { place?.place.object.isFrozen ?? false }
    /// As of ``List/freeze()``.
    public func freeze() throws(ObjStoreError) -> AnyList {
        if isFrozen { return self }
        return AnyList(AnyPlace(try CollectionPlace.of(place?.place, to: "frozen").frozen(), place?.path ?? []))
    }
    /// As of ``List/thaw()``: what is at its place, which may have another value by now.
    public func thaw() throws(ObjStoreError) -> AnyList? {
        let own = try CollectionPlace.of(place?.place, to: "thawed"), path = place?.path ?? []
        return isFrozen ? try own.thawed().map { AnyList(AnyPlace($0, path)) } : self
    }
}

extension AnyMap {
    /// Does it permanently show one version?
    public var isFrozen: Bool { place?.place.object.isFrozen ?? false }
    /// As of ``List/freeze()``.
    public func freeze() throws(ObjStoreError) -> AnyMap {
        if isFrozen { return self }
        return AnyMap(AnyPlace(try CollectionPlace.of(place?.place, to: "frozen").frozen(), place?.path ?? []))
    }
    /// As of ``List/thaw()``: what is at its place, which may have another value by now.
    public func thaw() throws(ObjStoreError) -> AnyMap? {
        let own = try CollectionPlace.of(place?.place, to: "thawed"), path = place?.path ?? []
        return isFrozen ? try own.thawed().map { AnyMap(AnyPlace($0, path)) } : self
    }
}

// MARK: Without models

extension DynamicObject {
    /// Does it permanently show one version? Those of a migration do not.
    public var isFrozen: Bool { fixedView == nil && space.isFrozen }

    /// The object as the store shows it now, permanently; itself when it is frozen. Errors: as of ``Object/freeze()``;
    /// `.wrongView` also in a migration.
    public func freeze() throws(ObjStoreError) -> DynamicObject {
        try checkIsOfStore("frozen")
        let frozen = DynamicObject(id, try space.freeze())
        guard try core({ () throws(StoreError) in try frozen.view.exists(id) }) else {
            throw ObjStoreError(.noSuchObject, "the object \(self) was deleted or never existed")
        }
        return frozen
    }

    /// The same object as the store shows it now; itself when it is live; nil: it was deleted. Errors: as of
    /// ``Object/thaw()``.
    public func thaw() throws(ObjStoreError) -> DynamicObject? {
        try checkIsOfStore("thawed")
        if !isFrozen { return self }
        let live = DynamicObject(id, try space.handle.liveSpace())
        return try core({ () throws(StoreError) in try live.view.exists(id) }) ? live : nil
    }

    private func checkIsOfStore(_ operation: String) throws(ObjStoreError) {
        if fixedView != nil {
            throw ObjStoreError(.wrongView, "an object of a migration cannot be \(operation): it goes with that")
        }
    }
}

extension DynamicCollection {
    /// Does it permanently show one version?
    public var isFrozen: Bool { object.isFrozen }
    /// As of its object.
    public func freeze() throws(ObjStoreError) -> DynamicCollection { DynamicCollection(try object.freeze(), name) }
    /// As of its object.
    public func thaw() throws(ObjStoreError) -> DynamicCollection? {
        try object.thaw().map { DynamicCollection($0, name) }
    }
}

extension DynamicResults {
    /// Do they permanently show one version?
    public var isFrozen: Bool { space.isFrozen }
    /// As of ``Results/freeze()``.
    public func freeze() throws(ObjStoreError) -> DynamicResults { inside(try space.freeze()) }
    /// As of ``Results/thaw()``.
    public func thaw() throws(ObjStoreError) -> DynamicResults {
        isFrozen ? inside(try space.handle.liveSpace()) : self
    }
}
