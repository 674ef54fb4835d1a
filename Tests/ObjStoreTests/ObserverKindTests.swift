import Dispatch
import ObjStore
import Testing

private final class Goat: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var herd = "all"
    @Persisted var numbers: List<Int>
    @Persisted var kids: List<Goat>
    @Persisted var notes: AnyValue = ["seen": [1, 2], "by": ["a": 1]]
}
private final class GoatView: Projection<Goat> {
    @Projected(\Goat.name) var title
}

/// What goes for observers of every kind.
@Suite struct ObserverKindTests {
    /// Goats 1, 2 and 3; the first one has the others as kids, and their numbers and its own.
    private func herd() throws -> (Store, Goat) {
        let store = try memoryStore([Goat.self])
        let goats = try store.write { tx in
            try (1...3).map { try tx.create(Goat.self, value: ["id": $0, "name": "goat \($0)"]) }
        }
        try store.write { _ in
            goats[0].kids.append(objectsIn: goats.dropFirst())
            goats[0].numbers.append(objectsIn: 1...3)
        }
        return (store, goats[0])
    }

    private func goat(_ store: Store, _ id: Int) throws -> Goat {
        try #require(try store.object(ofType: Goat.self, forPrimaryKey: id))
    }

    // MARK: Silent writes

    private func observers(_ store: Store, _ goat: Goat, _ told: Received<String>) throws -> [NotificationToken] {
        @Sendable func note(_ name: String, _ change: some PositionedChange) {
            if change.isInitial { return }
            told.append("\(name) \(change.deletions) \(change.insertions) \(change.modifications)")
        }
        @Sendable func note<T>(_ name: String, one change: ObjectChange<T>) {
            guard case .change(_, let written) = change else { return told.append("\(name) is gone") }
            let now = written.first { $0.name == "name" || $0.name == "title" }?.newValue ?? "nothing"
            told.append("\(name) is \(now): \(written.map(\.name))")
        }
        let goats = store.objects(Goat.self)
        return [
            try goat.observe(keyPaths: ["name"]) { note("object", one: $0) },
            try goat.dynamic().observe(keyPaths: ["name"]) { (change: ObjectChange<DynamicObject>) in
                guard case .change(let now, let written) = change else { return }
                #expect(now.name == .string("told"))
                told.append("dynamic object: \(written.map(\.name))")
            },
            try GoatView(projecting: goat).observe { note("projection", one: $0) },
            try goats.projected(to: GoatView.self).observe { note("projections", $0) },
            try store.observeCommits { commits in
                told.append("commits \(try commits.after().objects(Goat.self).map(\.id))")
            },
            try #require(goat.notes["seen"]?.list).observe { note("nested list", $0) },
            try #require(goat.notes["by"]?.dictionary).observe { change in
                if change.isInitial { return }
                told.append("nested map \(change.insertedKeys) \(change.insertions)")
            },
            try store.dynamicObjects("Goat").observe { note("dynamic", $0) },
            try goat.dynamic().collection("kids").observe { note("dynamic list", $0) },
            try goat.kids.observe { note("list", $0) },
        ]
    }

    /// They are not told of it, also where the write that they are told of is delivered with it; positions are those in
    /// what they have by then.
    @Test(arguments: [true, false]) func silentWrites(isDeliveredBetween: Bool) throws {
        let (store, goat) = try herd(), told = Received<String>()
        let tokens = try observers(store, goat, told)
        try store.deliver()
        #expect(told.take().isEmpty)
        try store.write(withoutNotifying: tokens) { tx in
            try tx.delete(try self.goat(store, 2))
            (goat.name, goat.herd) = ("silent", "other")
            goat.notes["seen"]?.list?.insert(0, at: 0)
            goat.notes["by"]?.dictionary?["b"] = 2
        }
        if isDeliveredBetween { #expect(try store.deliver() == 0 && told.take().isEmpty) }
        try store.write { tx in
            try tx.delete(try self.goat(store, 3))
            try tx.create(Goat.self, value: ["id": 4])
            goat.name = "told"
            goat.notes["seen"]?.list?.insert(9, at: 1)
            goat.notes["by"]?.dictionary?["c"] = 3
        }
        #expect(try store.deliver() == tokens.count)
        #expect(
            told.take().sorted() == [
                "commits [1, 4]", "dynamic [1] [1] [0]", "dynamic list [0] [] []",
                #"dynamic object: ["name", "kids", "notes"]"#,
                "list [0] [] []", "nested list [] [1] []", #"nested map ["c"] [2]"#,
                #"object is told: ["name", "kids", "notes"]"#, #"projection is told: ["title"]"#,
                "projections [1] [1] [0]",
            ])
        try store.write(withoutNotifying: tokens) { tx in try tx.delete(goat) }
        #expect(try store.deliver() == 0 && told.take().isEmpty)
        for token in tokens { token.invalidate() }
        try store.close()
    }

    // MARK: Compared versions

    /// Of a version of another session, which no log leads to, and then of one that the log tells of.
    @Test func compared() throws {
        let folder = Folder(), told = Received<String>()
        func write(_ store: Store) throws {
            try store.write { _ in
                let goat = try self.goat(store, 1)
                goat.name += "a"
                goat.numbers.append(2)
                goat.notes["seen"]?.list?.append(3)
            }
        }
        let first = try Store.open(path: folder.file(), models: [Goat.self])
        try first.write { tx in try tx.create(Goat.self, value: ["id": 1, "numbers": [1]]) }
        let seen = try first.bookmark
        try first.keepVersion("seen", at: seen)
        try write(first)
        try first.close()
        let store = try Store.open(path: folder.file(), models: [Goat.self]), goat = try goat(store, 1)
        let seenList = try #require(goat.notes["seen"]?.list)
        let tokens = [
            try store.objects(Goat.self).observe(since: seen) { told.append("results \($0.isCompared)") },
            try goat.numbers.observe(since: seen) { told.append("list \($0.isCompared)") },
            try goat.numbers.where { $0 > 0 }.observe(since: seen) { told.append("values \($0.isCompared)") },
            try seenList.observe(since: seen) { told.append("nested list \($0.isCompared)") },
        ]
        try store.deliver()
        #expect(told.take().sorted() == ["list true", "nested list true", "results true", "values true"])
        try write(store)
        try store.deliver()
        #expect(told.take().sorted() == ["list false", "nested list true", "results false", "values false"])
        for token in tokens { token.invalidate() }
        try store.close()
    }

    // MARK: Letting go

    private final class Held: @unchecked Sendable {
        var sources: [String: Any] = [:]
        var counts: [String: Int] = [:]
    }

    /// What an observer was made from may be let go of, and the store written to, in its handler.
    @Test func letGoInsideOfHandlers() throws {
        let (store, goat) = try herd(), held = Held()
        @Sendable func tell(_ name: String, _ isInitial: Bool, _ count: Int, insertions: Int) throws {
            guard isInitial else {
                held.counts[name]? += insertions
                return
            }
            held.counts[name] = count
            #expect(held.sources.removeValue(forKey: name) != nil)
            let id = 100 + held.counts.count
            try store.write { tx in
                let new = try tx.create(Goat.self, value: ["id": id, "name": "goat \(id)"])
                let first = try self.goat(store, 1)
                first.kids.append(new)
                first.numbers.append(id)
            }
        }
        func watch<S: ListSource>(_ name: String, _ source: S) throws -> NotificationToken {
            held.sources[name] = source
            return try source._observe(nil, nil) { change in
                try tell(name, change.isInitial, S._listed(after: change).count, insertions: change.insertions.count)
            }
        }
        func watch<Key>(_ name: String, _ sections: SectionedResults<Key, Goat>) throws -> NotificationToken {
            held.sources[name] = sections
            return try sections.observe { change in
                let count = change.sections.map(\.count).reduce(0, +)
                try tell(name, change.isInitial, count, insertions: change.insertions.count)
            }
        }
        func watch<Key>(_ name: String, one section: ResultsSection<Key, Goat>) throws -> NotificationToken {
            held.sources[name] = section
            return try section.observe { change in
                try tell(name, change.isInitial, change.section?.count ?? 0, insertions: change.insertions.count)
            }
        }
        let tokens = [
            try watch("results", store.objects(Goat.self)),
            try watch("query", store.objects(Goat.self).where { $0.id > 0 }.sorted(by: \.name)),
            try watch("query of a list", goat.kids.where { $0.id > 1 }),
            try watch("projections", store.objects(GoatView.self)),
            try watch("dynamic", store.dynamicObjects("Goat")),
            try watch("groups", store.objects(Goat.self).group(by: { $0.name })),
            try watch("table", try store.objects(Goat.self).tableResults("SELECT(id)")),
            try watch("values", try goat.numbers.where { $0 > 0 }),
            try watch("sections", store.objects(Goat.self).sectioned(by: \.name)),
            try watch("one section", one: store.objects(Goat.self).sectioned(by: \.herd)[0]),
        ]
        #expect(held.sources.count == tokens.count)
        while try store.deliver() > 0 {}
        #expect(held.sources.isEmpty)
        var wanted = held.counts.mapValues { _ in 3 + tokens.count }
        wanted["query of a list"] = 2 + tokens.count
        #expect(held.counts == wanted && wanted.count == tokens.count)
        // They are told of what comes then.
        try store.write { tx in goat.kids.append(try tx.create(Goat.self, value: ["id": 200, "name": "last"])) }
        #expect(try store.deliver() == tokens.count - 1)
        wanted = wanted.mapValues { $0 + 1 }
        wanted["values"] = goat.numbers.count
        #expect(held.counts == wanted)
        for token in tokens { token.invalidate() }
        try store.close()
    }

    // MARK: The first call of one object

    /// Of an object, one without a model and a projection, where the program delivers and on a queue: as it is when it
    /// is told, and without properties; of one that has gone meanwhile that it has. Without `initial` there is none.
    @Test func firstCallsOfOneObject() async throws {
        let (store, first) = try herd()
        let told = Received<String>(), elsewhere = Received<String>()
        @Sendable func note<T>(_ name: String, _ change: ObjectChange<T>, _ text: (T) -> String) {
            guard case .change(let one, let written) = change else { return told.append("\(name) is gone") }
            told.append("\(name): \(text(one)) \(written.map(\.name))")
        }
        let queue = DispatchQueue(label: "first")
        let last = try goat(store, 3)
        let tokens = [
            try first.observe(initial: true) { note("object", $0, \.name) },
            try first.observe(keyPaths: [\.name], initial: true) { note("path", $0, \.name) },
            try first.observe { note("none", $0, \.name) },
            try first.dynamic().observe(initial: true) { (change: ObjectChange<DynamicObject>) in
                note("dynamic", change) { goat in
                    ["new", "newer"].first { goat.name == .string($0) } ?? "another"
                }
            },
            try GoatView(projecting: first).observe(initial: true) { note("projection", $0, \.title) },
            try last.observe(initial: true) { note("last", $0, \.name) },
            try first.observe(initial: true, on: queue) { change in
                if case .change(let goat, let written) = change { elsewhere.append("\(goat.name) \(written.count)") }
            },
            // Who begins elsewhere is told what has happened since, and nothing first.
            try first.observe(initial: true, since: try store.bookmark, on: queue) { _ in elsewhere.append("since") },
        ]
        try store.write { tx in
            first.name = "new"
            try tx.delete(last)
        }
        try store.deliver()
        #expect(
            Set(told.take()) == [
                "object: new []", "path: new []", "none: new [\"name\", \"kids\"]", "dynamic: new []",
                "projection: new []",
                "last is gone",
            ])
        try store.write { _ in first.name = "newer" }
        try store.deliver()
        #expect(
            Set(told.take()) == [
                "object: newer [\"name\"]", "path: newer [\"name\"]", "none: newer [\"name\"]",
                "dynamic: newer [\"name\"]", "projection: newer [\"title\"]",
            ])
        // One call of each at least: the queue may have been told of all at once.
        var calls: [String] = []
        while !calls.contains("since") || !calls.contains(where: { $0.hasSuffix(" 0") }) {
            queue.sync {}
            calls += elsewhere.take()
            await Task.yield()
        }
        #expect(calls.filter { $0.hasSuffix(" 0") }.count == 1)
        #expect(calls.first { $0 != "since" }?.hasSuffix(" 0") == true)
        for token in tokens { token.invalidate() }
        try store.close()
    }
}
