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

    /// The same with key paths: `results.observe(keyPaths: [\.age]) { change in … }`.
    ///
    /// Errors: also `.invalidQuery` for a key path that is none of a `@Persisted` property of the class.
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<Element>], _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observing(keyPaths, handler)
    }

    // For other modules of the package.
    package func observing(
        _ names: [String]?, _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(try indexes(names), handler)
    }
    package func observing(
        _ keyPaths: [PartialKeyPath<Element>], _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(try indexes(keyPaths), handler)
    }

    private func observe(
        _ indexes: [UInt32]?, _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let live = space
        let observer = try observer(indexes) { change in live.telling("a change handler") { try handler(change) } }
        return NotificationToken(observer, space.handle)
    }

    func indexes(_ names: [String]?) throws(ObjStoreError) -> [UInt32]? {
        guard let names else { return nil }
        return try ClassInfo.of(Element.self).indexes(names)
    }

    func indexes(_ keyPaths: [PartialKeyPath<Element>]) throws(ObjStoreError) -> [UInt32] {
        try ClassInfo.indexes(keyPaths)
    }

    /// - Parameters:
    ///   - indexes: of the properties whose modifications count; nil: of all.
    ///   - hub: delivers; nil: the store's.
    func observer(
        _ indexes: [UInt32]?, on hub: ObserverHub? = nil,
        _ handler: @escaping @Sendable (ChangeSet<Element>) -> StoreError?
    ) throws(ObjStoreError) -> Observer {
        guard !space.isFrozen else {
            throw ObjStoreError(.wrongView, "frozen results never change", class: ClassInfo.name(of: Element.self))
        }
        let live = space, question = question
        return try asking(space.view) { (view, binding, query) throws(StoreError) in
            let list = try view.find(query)
            while true {
                do throws(StoreError) {
                    return try list.observe(
                        initial: true, on: hub, properties: indexes?.map { binding.properties[Int($0)] }
                    ) {
                        handler(ChangeSet($0, live, question))
                    }
                } catch {
                    // Another thread has moved the view meanwhile.
                    guard error.code == .wrongView else { throw error }
                    _ = try list.update()
                }
            }
        }
    }
}

/// What a class of the models has in common with itself, so that closures can name it. For ``Object`` only.
public protocol _ObservableObject: Object {}
extension Object: _ObservableObject {}

extension _ObservableObject {
    /// Calls `handler` when a property of the object, or of what is embedded in it, was written, or the object deleted:
    /// all at once that was committed since the last call, in this or another process. As with results, `deliver()`,
    /// `wait()` or the worker call it.
    ///
    /// - Parameter keyPaths: names of properties; others are not reported. Nil: all.
    /// Errors: `.wrongView` (the object is unmanaged or frozen), `.noSuchObject` (it was deleted, or is not committed
    /// yet), `.noSuchProperty`, `.readOnly`, `.closedHandle`.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observing(keyPaths, handler)
    }

    /// The same with key paths: `dog.observe(keyPaths: [\.age]) { change in … }`.
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<Self>], _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observing(keyPaths, handler)
    }

    // For other modules of the package.
    package func observing(
        _ names: [String]?, _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(
            try names.map { (names) throws(ObjStoreError) in try ClassInfo.of(type(of: self)).indexes(names) }, handler)
    }
    package func observing(
        _ keyPaths: [PartialKeyPath<Self>], _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observe(try ClassInfo.indexes(keyPaths), handler)
    }

    /// The same with what is changed as a change set.
    func observingChanges(
        _ names: [String]?, _ handler: @escaping @Sendable (ChangeSet<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observeChanges(
            try names.map { (names) throws(ObjStoreError) in try ClassInfo.of(type(of: self)).indexes(names) }, handler)
    }

    private func observe(
        _ indexes: [UInt32]?, _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try observeChanges(indexes) { try handler(try $0.objectChange()) }
    }

    private func observeChanges(
        _ indexes: [UInt32]?, _ handler: @escaping @Sendable (ChangeSet<Self>) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        let name = ClassInfo.name(of: type(of: self))
        guard let live = _space, let binding = _binding?.takeUnretainedValue() else {
            throw ObjStoreError(.wrongView, "an unmanaged object cannot be observed: it is in no store", class: name)
        }
        guard !live.isFrozen else { throw ObjStoreError(.wrongView, "a frozen object never changes", class: name) }
        guard type(of: self) == Self.self else {
            throw ObjStoreError(
                .wrongType, "the handler is given \(Self.self), and the object is \(ClassInfo.indefinite(name))",
                class: name)
        }
        let properties = indexes?.map { binding.properties[Int($0)] }
        if live.handle.isWriting, binding.exists(_key), (try? live.view.exists(binding.id(_key))) == false {
            throw ObjStoreError(
                .noSuchObject, "the object \(name)#\(_key) is not committed yet: it can be observed after the write",
                class: name)
        }
        let observer = try core { () throws(StoreError) in
            try live.handle.store.observe(binding.id(_key), in: live.view, properties: properties) { changes in
                live.telling("a change handler") { try handler(ChangeSet<Self>(changes, live, .all)) }
            }
        }
        return NotificationToken(observer, live.handle)
    }
}

extension ClassInfo {
    func indexes(_ names: [String]) throws(ObjStoreError) -> [UInt32] {
        var indexes: [UInt32] = []
        for name in names { indexes.append(try property(named: name).index) }
        return indexes
    }

    static func indexes<Root: Object>(_ keyPaths: [PartialKeyPath<Root>]) throws(ObjStoreError) -> [UInt32] {
        var indexes: [UInt32] = []
        for keyPath in keyPaths { indexes.append(try KeyPaths.property(keyPath).index) }
        return indexes
    }
}

extension ObjectSpace {
    /// Calls a handler of the application, which sees what is reported to it; returns what it threw, or what accessors
    /// reported in it.
    func telling(_ what: String, _ handler: () throws -> Void) -> StoreError? {
        // That the store is closed just now is no failure of the handler.
        if !handle.isWriting { _ = try? handle.liveSpace().view.refresh() }
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

// MARK: Sequences

extension Results {
    /// What changes, for a task: `for await change in results.changes { … }`.
    ///
    /// The first one is initial. A loop that is slower than the writers gets what happened meanwhile as one change set.
    /// It ends when the task is cancelled or the store closed; if it cannot begin or continue for another reason, that
    /// is reported as by accessors (`Configuration.onError`) and it ends. There is no need to call `deliver()`; no
    /// thread waits.
    public var changes: ChangeSequence<Element> { ChangeSequence(self) { () throws(ObjStoreError) in nil } }

    /// The same for insertions, deletions, and modifications of these properties only.
    public func changes(keyPaths: [String]) -> ChangeSequence<Element> {
        ChangeSequence(self) { () throws(ObjStoreError) in try indexes(keyPaths) }
    }
    public func changes(keyPaths: [PartialKeyPath<Element>]) -> ChangeSequence<Element> {
        ChangeSequence(self) { () throws(ObjStoreError) in try indexes(keyPaths) }
    }
}

/// The changes of results; see ``Results/changes``. Each loop over it starts again.
public struct ChangeSequence<Element: Object>: AsyncSequence, Sendable {
    public typealias Failure = Never
    private let results: Results<Element>
    private let indexes: Result<[UInt32]?, ObjStoreError>

    init(_ results: Results<Element>, _ indexes: () throws(ObjStoreError) -> [UInt32]?) {
        self.results = results
        self.indexes = Result(catching: indexes)
    }

    public func makeAsyncIterator() -> Iterator { Iterator(ChangeSource(results, indexes)) }

    public struct Iterator: AsyncIteratorProtocol {
        private let source: ChangeSource<Element>

        init(_ source: ChangeSource<Element>) { self.source = source }

        public mutating func next() async -> ChangeSet<Element>? { await source.next() }
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ChangeSet<Element>? {
            await source.next()
        }
    }
}

/// What one loop over changes waits for and gets.
final class ChangeSource<Element: Object>: Sendable {
    private let results: Results<Element>
    private let indexes: Result<[UInt32]?, ObjStoreError>
    private let signal = TaskSignal()
    private let state = Guarded(State())

    private struct State {
        var hub: ObserverHub?
        var isOver = false
        /// Delivered, and not handed out yet: an initial one, and one more at most.
        var due: [ChangeSet<Element>] = []
    }

    init(_ results: Results<Element>, _ indexes: Result<[UInt32]?, ObjStoreError>) {
        self.results = results
        self.indexes = indexes
    }

    deinit { end() }

    func next() async -> ChangeSet<Element>? {
        do throws(ObjStoreError) {
            while !Task.isCancelled {
                if let change = state.withLock({ $0.due.isEmpty ? nil : $0.due.removeFirst() }) { return change }
                guard let hub = try hub() else { return nil }
                if try core({ () throws(StoreError) in try hub.deliver() }) == 0 { await signal.wait() }
            }
        } catch {
            if error.code != .closedHandle { results.space.handle.reports.report(error) }
        }
        end()
        return nil
    }

    /// Begins at the first call; nil: it is over.
    private func hub() throws(ObjStoreError) -> ObserverHub? {
        let (known, isOver) = state.withLock { ($0.hub, $0.isOver) }
        if known != nil || isOver { return known }
        let signal = signal
        let hub = try core { () throws(StoreError) in try results.space.handle.store.makeHub { signal.raise() } }
        state.withLock { $0.hub = hub }
        // The hub's observer, and it must not keep alive what ends it.
        _ = try results.observer(try indexes.get(), on: hub) { [weak self] change in
            self?.state.withLock { $0.due.append(change) }
            return nil
        }
        return hub
    }

    private func end() {
        let hub = state.withLock { state in
            defer { state = State(isOver: true) }
            return state.hub
        }
        if let hub { results.space.handle.store.close(hub) }
    }
}
