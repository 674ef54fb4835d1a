public import Observation

/// What follows by itself on the main actor, whatever it shows: a ``LiveList``, or ``LiveSections``.
@MainActor
public class LiveSnapshots<Snapshot: Sendable>: Observable {
    private let registrar = ObservationRegistrar()
    private var shown: Snapshot
    private var follower: Task<Void, Never>?
    /// Called after each update.
    public final var onUpdate: ((Snapshot) -> Void)?

    /// - Parameter none: before the first one.
    init(_ snapshots: Snapshots<Snapshot>, _ none: Snapshot) {
        shown = snapshots.next() ?? none
        follower = Task { [weak self] in
            for await snapshot in snapshots {
                guard let self else { return }
                show(snapshot)
            }
        }
    }

    isolated deinit { follower?.cancel() }

    final var snapshot: Snapshot {
        registrar.access(self, keyPath: \.snapshot)
        return shown
    }

    private func show(_ snapshot: Snapshot) {
        registrar.withMutation(of: self, keyPath: \.snapshot) { shown = snapshot }
        onUpdate?(snapshot)
    }

    /// Follows no longer, and goes on showing what it shows.
    public final func stop() {
        follower?.cancel()
        follower = nil
    }
}

/// A list on a screen, which follows by itself: results, a list, set or map, or some of its plain values, groups and
/// tables, projections, or a list or dictionary in a mixed value.
///
/// ```swift
/// let dogs = try LiveList(store.objects(Dog.self).where { $0.age < 3 }.sorted(by: \.name))
/// for row in dogs.rows { print(row.id, row.name) }         // rows are identifiable, their objects frozen
/// dogs.onUpdate = { rows in table.apply(rows.deletions, rows.insertions, rows.modifications, rows.moves) }
/// ```
/// It shows what there is when it is made, and is on the main actor: between two suspensions of that nothing moves. Who
/// reads ``rows`` is told by `withObservationTracking` and what is made on it. Many commits come as one update. It ends
/// with `stop()`, with the store, and when the last reference to it goes.
public final class LiveList<Element>: LiveSnapshots<ListSnapshot<Element>> {
    /// - Parameters:
    ///   - keyPaths: which modifications count, as of `observe`.
    ///   - interval: at least so long between two updates.
    /// Errors: as of `observe`.
    public init(
        _ source: some ListSource<Element>, keyPaths: [String]? = nil, interval: Duration = .zero
    ) throws(ObjStoreError) {
        super.init(try source.snapshots(keyPaths: keyPaths, interval: interval), ListSnapshot())
    }

    /// What is shown now, and what the last update has changed.
    public var rows: ListSnapshot<Element> { snapshot }
}
