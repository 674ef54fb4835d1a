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
