import ObjStore
import Testing

/// Observers of projections are told of what is projected.
@Suite struct ProjectionObservingTests {
    private func store() throws -> Store {
        let store = try memoryStore(J.models)
        try store.write { tx in
            try tx.create(
                J.Person.self,
                value: [
                    "id": 1, "firstName": "Jason", "lastName": "Bourne", "address": ["city": "Zurich"],
                    "friends": [["id": 3, "firstName": "Marie"]],
                ] as [String: Any])
        }
        return store
    }
    private func jason(_ store: Store) throws -> J.Person {
        try #require(try store.object(ofType: J.Person.self, forPrimaryKey: 1))
    }
    private struct Told: Sendable, Equatable {
        var name = "", old = "", new = ""
    }
    private static func told(_ change: ObjectChange<some ProjectionType>) -> [Told] {
        guard case .change(_, let changes) = change else { return [Told(name: "deleted")] }
        return changes.map { Told(name: $0.name, old: "\($0.oldValue ?? "nil")", new: "\($0.newValue ?? "nil")") }
    }

    @Test func oneObject() throws {
        let store = try store(), person = try jason(store), view = J.PersonProjection(projecting: person)
        let received = Received<[Told]>()
        let token = try view.observe { received.append(Self.told($0)) }
        try store.write { _ in person.lastName = "Webb" }
        try store.write { _ in person.age = 41 }
        try store.deliver()
        #expect(received.take().isEmpty, "neither is projected")
        try store.write { _ in
            view.firstName = "David"
            person.age = 42
        }
        try store.deliver()
        #expect(received.take() == [[Told(name: "firstName", old: "Jason", new: "David")]])
        // What is embedded: the part of it that is projected.
        try store.write { _ in person.address?.zip = "8001" }
        try store.deliver()
        #expect(received.take().isEmpty)
        try store.write { _ in view.homeCity = "Paris" }
        try store.deliver()
        #expect(received.take() == [[Told(name: "homeCity", old: "Zurich", new: "Paris")]])
        try store.write { _ in person.address = nil }
        try store.deliver()
        #expect(received.take() == [[Told(name: "homeCity", old: "Paris", new: "nil")]])
        try store.write { _ in person.friends.append(try J.Person(value: ["id": 4, "firstName": "Nicky"])) }
        try store.deliver()
        #expect(
            received.take() == [[Told(name: "firstFriendsName", old: #"["Marie"]"#, new: #"["Marie", "Nicky"]"#)]])
        try store.write { tx in try tx.delete(person) }
        try store.deliver()
        #expect(received.take() == [[Told(name: "deleted")]])
        token.invalidate()
    }

    @Test func someOfIt() throws {
        let store = try store(), person = try jason(store), view = J.PersonProjection(projecting: person)
        let byName = Received<[Told]>(), byPath = Received<[Told]>()
        let tokens = [
            try view.observe(keyPaths: ["homeCity"]) { byName.append(Self.told($0)) },
            try view.observe(keyPaths: [\.firstName]) { byPath.append(Self.told($0)) },
        ]
        try store.write { _ in
            view.firstName = "David"
            view.homeCity = "Rome"
        }
        try store.deliver()
        #expect(byName.take() == [[Told(name: "homeCity", old: "Zurich", new: "Rome")]])
        #expect(byPath.take() == [[Told(name: "firstName", old: "Jason", new: "David")]])
        tokens.forEach { $0.invalidate() }
    }

    @Test func results() throws {
        let store = try store(), person = try jason(store)
        let all = store.objects(J.PersonProjection.self).where { $0.lastName != "nobody" }.sorted(by: \.firstName)
        let received = Received<ProjectedChangeSet<J.PersonProjection>>()
        let token = try all.observe { received.append($0) }
        try store.deliver()
        let initial = try #require(received.take().first)
        guard case .initial(let there) = initial.kind else { throw Missing() }
        #expect(initial.isInitial && there.map(\.firstName) == ["Jason", "Marie"])
        try store.write { _ in person.age = 50 }
        try store.deliver()
        #expect(received.take().isEmpty, "it is not projected")
        try store.write { tx in
            person.firstName = "David"
            try tx.create(J.Person.self, value: ["id": 7, "firstName": "Zoe"])
            try tx.delete(try #require(try store.object(ofType: J.Person.self, forPrimaryKey: 3)))
        }
        try store.deliver()
        let change = try #require(received.take().first)
        #expect(change.inserted.map(\.firstName) == ["Zoe"] && change.deleted.map(\.firstName) == ["Marie"])
        #expect(change.modified.map(\.firstName) == ["David"] && change.modifiedBefore.map(\.firstName) == ["Jason"])
        guard case .update(let now, let deletions, let insertions, let modifications) = change.kind else {
            throw Missing()
        }
        #expect(
            now.map(\.firstName) == ["David", "Zoe"] && deletions == [1] && insertions == [1] && modifications == [0])
        token.invalidate()
    }
    private struct Missing: Error {}

    /// What is written again with its value is a change of the object's own property; behind something the values
    /// count, and results do not look at them.
    @Test func writtenAgain() throws {
        let store = try store(), person = try jason(store), view = J.PersonProjection(projecting: person)
        let one = Received<[Told]>(), all = Received<ProjectedChangeSet<J.PersonProjection>>()
        let tokens = [
            try view.observe { one.append(Self.told($0)) },
            try store.objects(J.PersonProjection.self).where { $0.id == 1 }.observe { all.append($0) },
        ]
        try store.deliver()
        _ = all.take()
        try store.write { _ in view.firstName = "Jason" }
        try store.deliver()
        #expect(one.take() == [[Told(name: "firstName", old: "Jason", new: "Jason")]])
        #expect(all.take().map(\.modifications) == [[0]])
        try store.write { _ in person.friends[0].firstName = "Marie" }
        try store.deliver()
        #expect(one.take().isEmpty && all.take().map(\.modifications) == [[0]])
        try store.write { _ in view.homeCity = "Zurich" }
        try store.deliver()
        #expect(one.take().isEmpty && all.take().map(\.modifications) == [[0]])
        for token in tokens { token.invalidate() }
    }

    /// As of the objects themselves: whether versions were compared, and whether there is anything to come.
    @Test func comparedAndOver() throws {
        let store = try store(), person = try jason(store)
        let friends = try person.friends.results().projected(to: J.PersonProjection.self)
        let received = Received<ProjectedChangeSet<J.PersonProjection>>()
        let seen = try store.bookmark
        try store.keepVersion("seen", at: seen)
        for name in ["Nicky", "Pamela", "Marie"] {
            try store.write { _ in person.friends[0].firstName = name }
            try store.checkpoint()
        }
        let token = try friends.observe(since: seen) { received.append($0) }
        try store.write { _ in person.friends[0].firstName = "Nicky" }
        try store.deliver()
        let compared = try #require(received.take().first)
        #expect(!compared.isOwnerDeleted && compared.modified.map(\.firstName) == ["Nicky"])
        #expect(compared.isCompared == compared.base.isCompared)
        try store.write { tx in try tx.delete(person) }
        try store.deliver()
        let last = try #require(received.take().first)
        #expect(last.isOwnerDeleted && last.isCompared == last.base.isCompared && last.deletions == [0])
        token.invalidate()
    }

    @Test func loops() async throws {
        let store = try store()
        var changes = store.objects(J.PersonProjection.self).changes(keyPaths: [\.firstName]).makeAsyncIterator()
        #expect(try #require(await changes.next()).results.count == 2)
        try await store.asyncWrite { tx in
            try #require(try store.object(ofType: J.Person.self, forPrimaryKey: 1)).firstName = "David"
        }
        #expect(try #require(await changes.next()).modified.map(\.firstName) == ["David"])
    }

    @Test func whatCannotBeObserved() throws {
        let store = try store(), view = J.Named(projecting: try jason(store))
        // A computed property that reads two: which ones is not known.
        let problem = #expect(throws: ObjStoreError.self) { try view.observe { _ in } }
        #expect(problem?.code == .invalidQuery && problem?.propertyName == "name" && problem?.className == "Named")
        #expect(throws: ObjStoreError.self) { try store.objects(J.Named.self).observe { _ in } }
        let received = Received<Int>()
        let token = try view.observe(keyPaths: [\.age]) { _ in received.append(1) }
        try store.write { _ in view.age = 9 }
        try store.deliver()
        #expect(received.take() == [1])
        #expect(throws: ObjStoreError.self) { try view.observe(keyPaths: ["fullName"]) { _ in } }
        #expect(throws: ObjStoreError.self) { try view.observe(keyPaths: [\.other]) { _ in } }
        token.invalidate()
    }
}
