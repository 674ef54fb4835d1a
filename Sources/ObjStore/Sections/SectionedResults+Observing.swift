internal import ObjStoreCore

extension SectionedResults {
    /// Calls `handler` with what changes: first an initial change set, then one for all that was committed since the
    /// last, as ``Results/observe(keyPaths:_:)`` does. A change of what says the key of a section counts in any case.
    ///
    /// A function that says the keys is called for all objects after each commit that is delivered, with frozen objects
    /// of that version.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) throws -> Void
    ) throws -> NotificationToken { try observing(keyPaths, handler) }

    // For other modules of the package.
    package func observing(
        _ names: [String]?, _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) throws -> Void
    ) throws -> NotificationToken { try observe(names, one: nil, nil, handler) }

    /// What the function that says the keys throws is thrown as it is.
    fileprivate func observe(
        _ names: [String]?, one: Key?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) throws -> Void
    ) throws -> NotificationToken {
        let live = results.space
        var thrown: (any Error)?
        do {
            return try HandlerPlace.token(place, live.handle) { (hub) throws(ObjStoreError) in
                do {
                    return try observer(names, one: one, on: hub, paused: HandlerPlace.beginsPaused(place)) { change in
                        live.telling(place) { try handler(change) }
                    }
                } catch {
                    thrown = error
                    throw error as? ObjStoreError ?? ObjStoreError(.callback, "\(error)")
                }
            }
        } catch { throw thrown ?? error }
    }

    /// - Parameters:
    ///   - one: the key of the one section that is observed; nil: all.
    ///   - hub: delivers; nil: the store's.
    fileprivate func observer(
        _ keyPaths: [String]?, one: Key?, on hub: ObserverHub? = nil, paused: Bool = false,
        _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) -> StoreError?
    ) throws -> Observer {
        let space = results.space
        guard !space.isFrozen else {
            throw ObjStoreError(
                .wrongView, "frozen results never change", class: ClassInfo.name(of: SectionElement.self))
        }
        var key: OwnedValue?
        if let one {
            key = try core { () throws(StoreError) in
                try withEncoded(CollectionOfOne(one)) { (values) throws(StoreError) in
                    try OwnedValue(copying: values[0])
                }
            }
        }
        let list = try results.asking(space.view) { (view, _, query) throws(StoreError) in try view.find(query) }
        let sections = try make(of: list), owned = key
        return try core { () throws(StoreError) in
            while true {
                do throws(StoreError) {
                    return try sections.observe(
                        ObserverOptions(initial: true, keyPaths: keyPaths, paused: paused), one: owned?.value,
                        on: hub
                    ) { handler(SectionChangeSet($0, self, owned)) }
                } catch {
                    // Another thread has moved the view meanwhile.
                    guard error.code == .wrongView, list.view.kind == .live else { throw error }
                    _ = try sections.update()
                }
            }
        }
    }

    /// The section with a key as the core has it.
    func section(with key: Value) -> ResultsSection<Key, SectionElement>? {
        reporting(nil) {
            let (sections, binding) = try now()
            return try core { () throws(StoreError) in try sections.find(key: key) }
                .map { ResultsSection($0, of: sections, self, binding) }
        }
    }
}

extension ResultsSection {
    /// Calls `handler` with what changes in the section with this key: what moves into it is an insertion, what moves
    /// out of it a deletion; where it stands among the others is not told. Otherwise as
    /// ``SectionedResults/observe(keyPaths:_:)``.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) throws -> Void
    ) throws -> NotificationToken { try observing(keyPaths, handler) }

    // For other modules of the package.
    package func observing(
        _ names: [String]?, _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) throws -> Void
    ) throws -> NotificationToken { try _observe(names, nil, handler) }
}

extension SectionedResults: ObservableCollection, _KeyPathObserved {
    public typealias ObservingFailure = any Error

    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) throws -> Void
    ) throws -> NotificationToken { try observe(keyPaths, one: nil, place, handler) }
    public var _home: _ObservedHome { _ObservedHome(space: results.space) }

    public static func _names(_ keyPaths: [PartialKeyPath<SectionElement>]) throws -> [String] {
        try ClassInfo.names(keyPaths)
    }
}

extension ResultsSection: ObservableCollection, _KeyPathObserved {
    public typealias ObservingFailure = any Error

    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) throws -> Void
    ) throws -> NotificationToken {
        guard let parent else {
            throw ObjStoreError(
                .wrongView, "this section is one of nothing, and never changes",
                class: ClassInfo.name(of: SectionElement.self))
        }
        return try parent.observe(keyPaths, one: key, place, handler)
    }
    public var _home: _ObservedHome { _ObservedHome(space: parent?.results.space) }

    public static func _names(_ keyPaths: [PartialKeyPath<SectionElement>]) throws -> [String] {
        try ClassInfo.names(keyPaths)
    }
}
