internal import Dispatch
internal import ObjStoreCore
internal import Synchronization

extension ObjectSpace {
    /// Opens a store, and a live space of it.
    static func open(_ configuration: Store.Configuration) throws(ObjStoreError) -> ObjectSpace {
        var infos: [ClassInfo] = []
        for model in configuration.models {
            let info = try ClassInfo.of(model)
            if !infos.contains(where: { $0.type == model }) { infos.append(info) }
        }
        var settings = try configuration.core(infos)
        let reports = ErrorReports(configuration.onError)
        // No caller waits for what a handler does on the library's thread. That the store is being closed is no failure
        // of a handler.
        settings.onDeliveryFailure = { error in if error.code != .closedHandle { reports.tell(ObjStoreError(error)) } }
        let store: ObjStoreCore.Store, view: View
        do throws(StoreError) {
            store = try ObjStoreCore.Store.open(settings)
            view = try store.openView()
        } catch {
            throw ObjStoreError(error)
        }
        return ObjectSpace(try StoreHandle(store, infos, view, reports), view, isFrozen: false)
    }
}

extension Store {
    /// Opens, creates or recovers a store for an actor, which does other things meanwhile: files, locks, recovery,
    /// ``Configuration/migrationBlock`` and ``Configuration/initialData`` are a thread of the library's.
    ///
    /// ```swift
    /// actor Todos {
    ///     private var store: Store!
    ///     func open() async throws { store = try await Store(configuration: .todos, actor: self) }
    ///     func add(_ name: String) async throws {
    ///         try await store.asyncWrite { tx in try tx.create(Todo.self, value: ["name": name]) }
    ///     }
    ///     var count: Int { store.objects(Todo.self).count }
    /// }
    /// ```
    /// What is live follows what is committed, on the actor: between two suspensions it stands still (``autorefresh``).
    /// The compiler keeps the objects that the actor gets on it: they are not `Sendable`. The store itself is, and is
    /// like any other one. A task that is cancelled meanwhile throws `CancellationError`, at the latest when what it
    /// waits for is there. Errors: as ``init(_:)``.
    public convenience init(
        configuration: Configuration = .defaultConfiguration, actor: isolated any Actor
    ) async throws {
        let isCancelled = Flag()
        var settings = configuration
        settings.onWait = {
            try configuration.onWait?()
            if isCancelled.isSet.load(ordering: .acquiring) { throw CancellationError() }
        }
        let final = settings
        let opened = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (continuation: CheckedContinuation<Result<ObjectSpace, ObjStoreError>, Never>) in
                DispatchQueue.global().async {
                    continuation.resume(returning: Result { () throws(ObjStoreError) in try ObjectSpace.open(final) })
                }
            }
        } onCancel: {
            isCancelled.isSet.store(true, ordering: .releasing)
        }
        if Task.isCancelled {
            // Nobody else has it.
            if let store = try? opened.get().handle.store { try store.close() }
            throw CancellationError()
        }
        self.init(try opened.get())
        followCommits(on: actor)
    }

    private final class Flag: Sendable { let isSet = Atomic(false) }
}
