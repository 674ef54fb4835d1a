import Dispatch
import ObjStore
import Testing

/// Loops over changes, of everything that is observed: some properties only, and from a version on that was kept.
@Suite struct ChangeLoopTests {
    final class Pet: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var age = 0
        @Persisted var keeper: Home?
    }
    final class Home: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var city = ""
        @Persisted var pets: List<Pet>
        @Persisted var guests: MutableSet<Pet>
        @Persisted var rooms: Map<String, Pet?>
        @Persisted var words: List<String>
        @Persisted var extra: AnyValue = ["list": [1], "map": ["a": 1]]
    }
    final class PetView: Projection<Pet> {
        @Projected(\Pet.name) var title
        @Projected(\Pet.keeper?.city) var city
    }

    private func home() throws -> (Store, Home, Pet) {
        let store = try memoryStore([Pet.self, Home.self])
        let (home, pet) = try store.write { tx in
            let pet = try tx.create(Pet.self, value: ["id": 1, "name": "Rex", "age": 3])
            let home = try tx.create(Home.self, value: ["id": 1, "city": "Bern"])
            home.pets.append(pet)
            home.guests.insert(pet)
            home.rooms["a"] = pet
            home.words.append("a")
            pet.keeper = home
            return (home, pet)
        }
        return (store, home, pet)
    }

    private func first<Element>(of changes: Changes<Element>) async -> Element? {
        for await change in changes { return change }
        return nil
    }

    /// There is no initial change: the first one is of what was committed since.
    @Test(.timeLimit(.minutes(1))) func fromAVersionOn() async throws {
        let (store, home, pet) = try home(), seen = try store.bookmark
        try store.keepVersion("seen", at: seen)
        try store.write { tx in
            try tx.create(Pet.self, value: ["id": 2, "name": "Bo", "age": 5])
            let other = try #require(try store.object(ofType: Pet.self, forPrimaryKey: 2))
            home.pets.append(other)
            home.guests.insert(other)
            home.rooms["b"] = other
            home.words.append("b")
            home.extra["list"]?.list?.append(2)
            home.extra["map"]?["b"] = 2
        }
        let all = store.objects(Pet.self).sorted(by: \.id)
        #expect(await first(of: all.changes(since: seen))?.insertions == [1])
        #expect(await first(of: all.changes(keyPaths: [\.name], since: seen))?.inserted.map(\.name) == ["Bo"])
        let views = all.projected(to: PetView.self)
        #expect(await first(of: views.changes(since: seen))?.inserted.map(\.title) == ["Bo"])
        let dynamic = store.dynamicObjects("Pet")
        #expect(await first(of: dynamic.changes(keyPaths: ["name"], since: seen))?.insertions == [1])
        let sections = all.sectioned(by: \.age)
        #expect(await first(of: sections.changes(since: seen))?.sectionsToInsert == [1])
        #expect(await first(of: sections[0].changes)?.isInitial == true)
        #expect(await first(of: home.pets.changes(since: seen))?.insertions == [1])
        #expect(await first(of: home.pets.changes(keyPaths: ["name"], since: seen))?.inserted.map(\.id) == [2])
        #expect(await first(of: home.guests.changes(since: seen))?.insertions == [1])
        #expect(await first(of: home.rooms.changes(since: seen))?.insertedKeys == ["b"])
        #expect(await first(of: home.words.changes(since: seen))?.insertions == [1])
        let words = try home.dynamic().collection("words"), old = try home.pets.where { $0.age > 4 }
        #expect(await first(of: words.changes(since: seen))?.insertions == [1])
        #expect(await first(of: old.changes(since: seen))?.insertions == [0])
        let list = try #require(home.extra["list"]?.list), map = try #require(home.extra["map"]?.dictionary)
        #expect(await first(of: list.changes(since: seen))?.insertions == [1])
        #expect(await first(of: map.changes(since: seen))?.insertedKeys == ["b"])
        let commits = try #require(await first(of: store.commits(since: seen)))
        #expect(!commits.isInitial && !commits.isLost && commits.toVersion > commits.fromVersion)
        #expect(try commits.before().objects(Pet.self).count == 1 && commits.after().objects(Pet.self).count == 2)
        guard case .change(let now, let written) = await first(of: home.changes(since: seen)) else {
            throw Unexpected("the home has changed")
        }
        #expect(now.pets.count == 2 && written.map(\.name) == ["pets", "guests", "rooms", "words", "extra"])
        // Nothing has happened to it.
        try store.write { _ in pet.age = 4 }
        guard case .change(_, let aged) = await first(of: pet.changes(since: seen)) else {
            throw Unexpected("the pet has changed")
        }
        #expect(aged.map(\.name) == ["age"])
    }

    /// What nobody has kept is said to be lost, and a bookmark of another store is reported.
    @Test(.timeLimit(.minutes(1))) func fromNoVersion() async throws {
        let (store, home, _) = try home(), seen = try store.bookmark
        for id in 2..<5 {
            try store.write { tx in try tx.create(Pet.self, value: ["id": id]) }
            try store.checkpoint()
        }
        #expect(await first(of: store.objects(Pet.self).changes(since: seen))?.isLost == true)
        #expect(await first(of: home.pets.changes(since: seen))?.isLost == true)
        #expect(await first(of: store.commits(since: seen))?.isLost == true)
        let other = try memoryStore([Pet.self, Home.self])
        #expect(await first(of: other.objects(Pet.self).changes(since: seen)) == nil)
        #expect(other.lastError?.code == .wrongStore)
    }

    @Test(.timeLimit(.minutes(1))) func someProperties() async throws {
        let (store, home, pet) = try home()
        var names = home.pets.changes(keyPaths: [\.name]).makeAsyncIterator()
        var ages = home.guests.changes(keyPaths: ["age"]).makeAsyncIterator()
        var rooms = home.rooms.changes(keyPaths: [\.keeper?.city]).makeAsyncIterator()
        let isInitial = await [names.next()?.isInitial, ages.next()?.isInitial, rooms.next()?.isInitial]
        #expect(isInitial == [true, true, true])
        try store.write { _ in pet.age = 9 }
        #expect(await ages.next()?.modified.map(\.age) == [9])
        try store.write { _ in pet.name = "Max" }
        #expect(await names.next()?.modified.map(\.name) == ["Max"])
        try store.write { _ in home.city = "Basel" }
        #expect(await rooms.next()?.modifiedKeys == ["a"])
        // Of plain values there are none.
        #expect(await first(of: home.words.changes(keyPaths: ["name"])) == nil)
        #expect(store.lastError?.code == .invalidArgument)
    }

    @Test(.timeLimit(.minutes(1))) func oneObject() async throws {
        let (store, _, pet) = try home()
        var all = pet.changes().makeAsyncIterator(), some = pet.changes(keyPaths: [\.name]).makeAsyncIterator()
        let view = PetView(projecting: pet)
        var shown = view.changes().makeAsyncIterator()
        // They begin with the first step.
        func names<T>(_ change: ObjectChange<T>?) -> [String]? {
            switch change {
            case .change(_, let written): written.map(\.name)
            case .deleted: ["deleted"]
            case nil: nil
            }
        }
        let seen = try store.bookmark
        try store.keepVersion("seen", at: seen)
        try store.write { _ in pet.age = 4 }
        var since = pet.changes(since: seen).makeAsyncIterator()
        #expect(names(await since.next()) == ["age"])
        let writing = Task {
            // Until each of them has been told of something.
            for number in 0... {
                if Task.isCancelled { return }
                try await store.asyncWrite { tx in
                    let pet = try #require(try tx.object(ofType: Pet.self, forPrimaryKey: 1))
                    pet.name = "name \(number)"
                }
            }
        }
        #expect(names(await all.next()) == ["name"])
        #expect(names(await some.next()) == ["name"])
        #expect(names(await shown.next()) == ["title"])
        writing.cancel()
        _ = await writing.result
        // It is over with the object.
        try store.write { tx in try tx.delete(pet) }
        func last<T>(_ changes: inout ChangeIterator<ObjectChange<T>>) async -> [String]? {
            var last: [String]?
            while let next = names(await changes.next()) { last = next }
            return last
        }
        let ends = await [last(&all), last(&some), last(&shown), last(&since)]
        #expect(ends == [["deleted"], ["deleted"], ["deleted"], ["deleted"]])
        if await first(of: Pet().changes()) != nil { Issue.record("what is in no store is observed") }
        #expect(store.lastError == nil)
    }

    /// Who asks which commits there were has a queue, or an actor, for that, too.
    @Test(.timeLimit(.minutes(1))) func commitsElsewhere() async throws {
        let (store, _, pet) = try home(), seen = try store.bookmark
        try store.keepVersion("seen", at: seen)
        try store.write { _ in pet.age = 4 }
        let (lines, told) = AsyncStream<String>.makeStream()
        var lists = lines.makeAsyncIterator()
        let queue = DispatchQueue(label: "commits")
        let first = try store.observeCommits(initial: true, on: queue) { commits in
            dispatchPrecondition(condition: .onQueue(queue))
            told.yield("queue \(commits.isInitial)")
        }
        #expect(await lists.next() == "queue true")
        let second = try store.observeCommits(initial: true, since: seen, on: MainActor.shared) { _, commits in
            MainActor.assertIsolated()
            told.yield("actor \(commits.isInitial) \(commits.toVersion > commits.fromVersion)")
        }
        #expect(await lists.next() == "actor false true")
        try store.write { _ in pet.age = 5 }
        var heard: Set<String> = []
        while heard.count < 2, let line = await lists.next() { heard.insert(line) }
        #expect(heard == ["queue false", "actor false true"])
        // What it throws nobody waits for.
        struct Refused: Error {}
        let third = try store.observeCommits(on: queue) { _ in throw Refused() }
        try store.write { _ in pet.age = 6 }
        while store.lastError == nil { await Task.yield() }
        #expect(store.lastError?.code == .callback)
        for token in [first, second, third] { token.invalidate() }
        #expect(throws: ObjStoreError.self) {
            try memoryStore([Pet.self]).observeCommits(since: seen, on: queue) { _ in }
        }
        try store.close()
    }

    private struct Unexpected: Error {
        let what: String
        init(_ what: String) { self.what = what }
    }
}
