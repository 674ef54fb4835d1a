internal import ObjStoreCore

// MARK: Handlers

extension Results {
    /// Calls `handler` with what changes, in this or another process: first an initial change set, of what is there at
    /// its delivery, then one for all that was committed since the last. What changes inside of an embedded object is a
    /// modification of its owner.
    ///
    /// - Parameters:
    ///   - keyPaths: names of properties; modifications of others are not reported, insertions and deletions are. Nil:
    ///     of all.
    ///   - handler: called by `deliver()`, `wait()` or the worker, never by two threads at a time. It may read and
    ///     write, and open and end observers; what it throws, `deliver()` throws. The live store shows what it gets,
    ///     or newer.
    /// Returns the token that ends it: keep it. The cost of a change follows what changed, not the number of objects.
    /// Errors: `.wrongView` (results of a ``Snapshot`` never change), `.readOnly` (a store that is never written to),
    /// `.noSuchProperty`, those of ``validate()``.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observing(keyPaths, handler)
    }

    // For other modules of the package.
    package func observing(
        _ names: [String]?, _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(names: names, nil, handler)
    }

    func observe(
        names: [String]?, _ place: HandlerPlace?, _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let live = space
        return try HandlerPlace.token(place, live.handle) { (hub) throws(ObjStoreError) in
            try observer(names, on: hub, paused: HandlerPlace.beginsPaused(place)) { change in
                live.telling(place) { try handler(change) }
            }
        }
    }

    /// - Parameters:
    ///   - keyPaths: which modifications count; nil: as usual.
    ///   - hub: delivers; nil: the store's.
    func observer(
        _ keyPaths: [String]?, on hub: ObserverHub? = nil, paused: Bool = false,
        _ handler: @escaping @Sendable (ChangeSet<Element>) -> StoreError?
    ) throws(ObjStoreError) -> Observer {
        guard !space.isFrozen else {
            throw ObjStoreError(.wrongView, "frozen results never change", class: ClassInfo.name(of: Element.self))
        }
        let live = space, question = question
        return try asking(space.view) { (view, _, query) throws(StoreError) in
            let options = ObserverOptions(initial: true, keyPaths: keyPaths, paused: paused)
            return try view.find(query).observeNow(options, on: hub) { handler(ChangeSet($0, live, question)) }
        }
    }
}

extension ObjStoreCore.Results {
    /// What the query finds, against what the view shows: it may move meanwhile.
    func observeNow(
        _ options: ObserverOptions, on hub: ObserverHub?, _ handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        while true {
            do throws(StoreError) { return try observe(options, on: hub, handler: handler) } catch {
                // Another thread has moved it.
                guard error.code == .wrongView, view.kind == .live else { throw error }
                _ = try update()
            }
        }
    }
}

/// What a class of the models has in common with itself, so that closures can name it. For ``Object`` only.
public protocol _ObservableObject: Object, _ObservedOne {}
extension Object: _ObservableObject {}

extension _ObservableObject {
    public func _observe(
        one keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (ObjectChange<AnyObject>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let key = _key
        return try observingChanges(keyPaths, place) { try handler(try $0.objectChange(key)) }
    }

    public var _home: _ObservedHome { _ObservedHome(space: _space) }

    public static func _names(one keyPaths: [AnyKeyPath]) throws(ObjStoreError) -> [String] {
        try ClassInfo.names(keyPaths.map { $0 as! PartialKeyPath<Self> })
    }

    /// What changes, as a change set.
    func observingChanges(
        _ names: [String]?, _ place: HandlerPlace?, _ handler: @escaping @Sendable (ChangeSet<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let name = ClassInfo.name(of: type(of: self))
        guard let live = _space, let binding = _binding?.takeUnretainedValue() else {
            throw ObjStoreError(.wrongView, "an unmanaged object cannot be observed: it is in no store", class: name)
        }
        guard type(of: self) == Self.self else {
            throw ObjStoreError(
                .wrongType, "the handler is given \(Self.self), and the object is \(ClassInfo.indefinite(name))",
                class: name)
        }
        return try live.observe(binding.id(_key), names, place) { try handler(ChangeSet<Self>($0, live, .all)) }
    }
}

extension ObjectSpace {
    /// Observes an object of it.
    func observe(
        _ id: ObjectID, _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (ObjStoreCore.ChangeSet) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        func refused(_ code: ObjStoreError.Code, _ why: (String) -> String) -> ObjStoreError {
            let name = try? current.classInfo(id.classID).name
            return ObjStoreError(code, why(name.map { "\($0)#\(id.key)" } ?? "\(id.key)"), class: name)
        }
        guard !isFrozen else { throw refused(.wrongView) { _ in "a frozen object never changes" } }
        if handle.isWriting, (try? current.exists(id)) == true, (try? view.exists(id)) == false {
            throw refused(.noSuchObject) {
                "the object \($0) is not committed yet: it can be observed after the write"
            }
        }
        return try HandlerPlace.token(place, handle) { (hub) throws(ObjStoreError) in
            try core { () throws(StoreError) in
                let options = ObserverOptions(
                    initial: HandlerPlace.wantsInitial(place), keyPaths: keyPaths,
                    paused: HandlerPlace.beginsPaused(place))
                return try handle.store.observe(id, in: view, options, on: hub) { changes in
                    self.telling(place) { try handler(changes) }
                }
            }
        }
    }
}

extension ClassInfo {
    static func names<Root: Object>(_ keyPaths: [PartialKeyPath<Root>]) throws(ObjStoreError) -> [String] {
        var names: [String] = []
        for keyPath in keyPaths { names.append(try KeyPaths.name(keyPath)) }
        return names
    }
}

extension ObjectSpace {
    /// Calls a handler of the application, which sees what is reported to it; returns what it threw, or what accessors
    /// reported in it.
    func telling(_ what: String, _ handler: () throws -> Void) -> StoreError? {
        // That the store is closed just now is no failure of the handler.
        handle.follow()
        let collector = ErrorCollector()
        do {
            try ThreadWrites.within(what) { try collector.run(handler) }
            return collector.first?.ofCore
        } catch let error as ObjStoreError {
            return error.ofCore
        } catch {
            return StoreError(.callback, "\(what) threw \(error)")
        }
    }
}
