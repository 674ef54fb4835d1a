import ObjStore
import Testing

/// Observers that stay behind: how far is said, and from a limit on what they knew is let go of.
@Suite struct ObserverLagTests {
    private final class Shelf: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var title = ""
        @Persisted var books: List<String>
        @Persisted var notes: AnyValue = ["seen": [1]]
    }
    private final class ShelfView: Projection<Shelf> {
        @Projected(\Shelf.title) var name
    }

    private func shelf(lag: Int?) throws -> (Store, Shelf) {
        var configuration = Store.Configuration(.memory(), models: [Shelf.self])
        configuration.observerLag = lag
        let store = try Store(configuration)
        return (store, try store.write { tx in try tx.create(Shelf.self, value: ["id": 1]) })
    }

    /// In everything that is observed.
    private func write(_ shelf: Shelf, _ store: Store) throws {
        try store.write { _ in
            shelf.title += "a"
            shelf.books.append(shelf.title)
            shelf.notes["seen"]?.list?.append(2)
        }
    }

    /// Observers of all kinds, of which each notes whether it was told something or is lost.
    private func observers(_ store: Store, _ shelf: Shelf, _ told: Received<String>) throws -> [NotificationToken] {
        @Sendable func note(_ name: String, _ isInitial: Bool, _ isLost: Bool) {
            if !isInitial { told.append(isLost ? "\(name) is lost" : name) }
        }
        let all = store.objects(Shelf.self)
        return [
            try all.observe { note("results", $0.isInitial, $0.isLost) },
            try all.sectioned(by: \.title).observe { note("sections", $0.isInitial, $0.isLost) },
            try all.projected(to: ShelfView.self).observe { note("projections", $0.isInitial, $0.isLost) },
            try store.dynamicObjects("Shelf").observe { note("dynamic", $0.isInitial, $0.isLost) },
            try shelf.books.observe { note("list", $0.isInitial, $0.isLost) },
            try #require(shelf.notes["seen"]?.list).observe { note("nested", $0.isInitial, $0.isLost) },
            try store.observeCommits { note("commits", $0.isInitial, $0.isLost) },
            try shelf.observe { change in
                guard case .change(_, let written) = change else { return }
                note("object", false, written.isEmpty)
            },
            try ShelfView(projecting: shelf).observe { change in
                guard case .change(let view, let written) = change else { return }
                note("projection", false, written.isEmpty)
                #expect(view.name == "aaaa" || !written.isEmpty)
            },
        ]
    }
    private static let names = [
        "results", "sections", "projections", "dynamic", "list", "nested", "commits", "object", "projection",
    ]

    @Test func itSaysHowFarItIsBehind() throws {
        let (store, shelf) = try shelf(lag: nil), told = Received<String>()
        let tokens = try observers(store, shelf, told)
        try store.deliver()
        #expect(tokens.allSatisfy { $0.lag == 0 } && told.take().isEmpty)
        for behind in 1...3 {
            try write(shelf, store)
            #expect(tokens.map(\.lag) == tokens.map { _ in behind })
        }
        try store.deliver()
        #expect(Set(told.take()) == Set(Self.names) && tokens.allSatisfy { $0.lag == 0 })
        // One that rests, too, and it alone.
        tokens[0].pause()
        try write(shelf, store)
        try write(shelf, store)
        try store.deliver()
        #expect(tokens[0].lag == 2 && tokens.dropFirst().allSatisfy { $0.lag == 0 })
        #expect(Set(told.take()) == Set(Self.names.dropFirst()))
        tokens[0].resume()
        try store.deliver()
        #expect(tokens[0].lag == 0 && told.take() == ["results"])
        for token in tokens { token.invalidate() }
        try store.close()
    }

    @Test func beyondTheLimitItIsLost() throws {
        let (store, shelf) = try shelf(lag: 3), told = Received<String>()
        let tokens = try observers(store, shelf, told)
        try store.deliver()
        for _ in 0..<3 { try write(shelf, store) }
        try store.deliver()
        #expect(Set(told.take()) == Set(Self.names), "as far as it may be")
        try store.write { _ in shelf.title = "" }
        try store.deliver()
        _ = told.take()
        for _ in 0..<4 { try write(shelf, store) }
        try store.deliver()
        #expect(Set(told.take()) == Set(Self.names.map { "\($0) is lost" }))
        #expect(tokens.allSatisfy { $0.lag == 0 })
        // It goes on from there.
        try write(shelf, store)
        try store.deliver()
        #expect(Set(told.take()) == Set(Self.names))
        for token in tokens { token.invalidate() }
        try store.close()
    }

    @Test func theLimitIsOne() throws {
        var configuration = Store.Configuration(.memory(), models: [Shelf.self])
        configuration.observerLag = 0
        #expect(throws: ObjStoreError.self) { try Store(configuration) }
    }
}
