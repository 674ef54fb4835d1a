import ObjStore
import Testing

private final class Friend: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var age = 0
}

private final class Person: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var tags: List<String>
    @Persisted var marks: MutableSet<Int>
    @Persisted var notes: Map<String, Int>
    @Persisted var friends: List<Friend>
    @Persisted var circle: MutableSet<Friend>
    @Persisted var named: Map<String, Friend?>
}

/// Lists, sets and maps that are observed themselves.
@Suite struct ObservedCollectionTests {
    private struct Unexpected: Error {
        let what: String
        init(_ what: String) { self.what = what }
    }

    private func person() throws -> (Store, Person) {
        let store = try memoryStore([Person.self, Friend.self])
        let person = try store.write { tx in
            try tx.create(Person.self, value: ["id": 1, "tags": ["a", "b", "c"], "marks": [1, 2], "notes": ["x": 1]])
        }
        return (store, person)
    }

    @Test func lists() throws {
        let (store, person) = try person()
        let received = Received<CollectionChange<List<String>>>()
        let token = try person.tags.observe { received.append($0) }
        #expect(try store.deliver() == 1)
        let initial = try #require(received.take().first)
        guard case .initial(let tags) = initial.kind else { throw Unexpected("the first change is no initial one") }
        #expect(Array(tags) == ["a", "b", "c"] && tags.isFrozen && initial.isInitial)

        try store.write { _ in
            person.tags[1] = "B"
            person.tags.remove(at: 0)
            person.tags.append("d")
        }
        #expect(try store.deliver() == 1)
        let change = try #require(received.take().first)
        guard case .update(let now, let deletions, let insertions, let modifications) = change.kind else {
            throw Unexpected("the second change is an initial one")
        }
        #expect(deletions == [0] && insertions == [2] && modifications == [0] && change.modificationsBefore == [1])
        #expect(Array(now) == ["B", "c", "d"] && Array(change.collectionBefore) == ["a", "b", "c"])
        #expect(!change.isCompared && !change.isCleared && !change.isOwnerDeleted && change.moves.isEmpty)

        try store.write { _ in person.tags.move(from: 0, to: 2) }
        #expect(try store.deliver() == 1)
        let moved = try #require(received.take().first)
        #expect(moved.moves == [.init(from: 0, to: 2)] && moved.deletions == [0] && moved.insertions == [2])

        try store.write { _ in person.tags.removeAll() }
        try store.write { tx in try tx.delete(person) }
        #expect(try store.deliver() == 1)
        let gone = try #require(received.take().first)
        #expect(gone.isCleared && gone.isOwnerDeleted && gone.deletions == [0, 1, 2])
        token.invalidate()
        try store.close()
    }

    @Test func setsAndMaps() throws {
        let (store, person) = try person()
        let marks = Received<CollectionChange<MutableSet<Int>>>(),
            notes = Received<CollectionChange<Map<String, Int>>>()
        let tokens = [try person.marks.observe { marks.append($0) }, try person.notes.observe { notes.append($0) }]
        #expect(try store.deliver() == 2)
        _ = (marks.take(), notes.take())
        try store.write { _ in
            person.marks.insert(0)
            person.marks.remove(2)
            person.notes["x"] = 1
            person.notes["a"] = 5
        }
        #expect(try store.deliver() == 2)
        let set = try #require(marks.take().first), map = try #require(notes.take().first)
        #expect(set.deletions == [1] && set.insertions == [0] && Array(set.collection) == [0, 1])
        #expect(map.insertedKeys == ["a"] && map.modifiedKeys == ["x"] && map.deletedKeys.isEmpty)
        #expect(map.modifications == [1] && map.modificationsBefore == [0] && map.collection["a"] == 5)
        try store.write(withoutNotifying: [tokens[1]]) { _ in person.notes["x"] = nil }
        #expect(try store.deliver() == 0)
        try store.write { _ in person.notes["b"] = 6 }
        #expect(try store.deliver() == 1)
        #expect(try #require(notes.take().first).insertedKeys == ["b"])
        for token in tokens { token.invalidate() }
        try store.close()
    }

    @Test func objects() throws {
        let (store, person) = try person()
        let friend = try store.write { tx in
            let friend = try tx.create(Friend.self, value: [1, "Ann"])
            person.friends.append(friend)
            person.named["one"] = friend
            return friend
        }
        let list = Received<CollectionChange<List<Friend>>>(), map = Received<CollectionChange<Map<String, Friend?>>>()
        let tokens = [try person.friends.observe { list.append($0) }, try person.named.observe { map.append($0) }]
        _ = (try store.deliver(), list.take(), map.take())
        try store.write { tx in
            friend.name = "Anna"
            person.friends.append(try tx.create(Friend.self, value: [2, "Bob"]))
        }
        #expect(try store.deliver() == 2)
        let change = try #require(list.take().first)
        #expect(change.modified.map(\.name) == ["Anna"] && change.inserted.map(\.name) == ["Bob"])
        #expect(change.modifications == [0] && change.insertions == [1])
        #expect(try #require(map.take().first).modifiedKeys == ["one"])
        try store.write { tx in try tx.delete(friend) }
        #expect(try store.deliver() == 2)
        #expect(try #require(list.take().first).deleted.map(\.name) == ["Anna"])
        // The key stays, and has nil.
        #expect(try #require(map.take().first).modifiedKeys == ["one"])
        for token in tokens { token.invalidate() }
        try store.close()
    }

    /// Old and new values, and names of what was written, as of results.
    @Test func writtenInObjects() throws {
        let (store, person) = try person()
        let friends = try store.write { tx in
            let friends = try ["Ann", "Bob", "Eve"].enumerated().map { try tx.create(Friend.self, value: [$0, $1]) }
            person.friends.append(objectsIn: friends)
            person.circle.insert(objectsIn: friends)
            return friends
        }
        let list = Received<CollectionChange<List<Friend>>>(), set = Received<CollectionChange<MutableSet<Friend>>>()
        let tokens = [try person.friends.observe { list.append($0) }, try person.circle.observe { set.append($0) }]
        _ = (try store.deliver(), list.take(), set.take())
        try store.write { _ in
            person.friends.move(from: 0, to: 2)
            friends[0].age = 8
            (friends[1].name, friends[1].age) = ("Robert", 7)
        }
        #expect(try store.deliver() == 2)
        let moving = try #require(list.take().first), among = try #require(set.take().first)
        #expect(moving.moves == [.init(from: 0, to: 2)] && moving.moved.map(\.age) == [8])
        #expect(moving.modifications == [0] && moving.modificationsBefore == [1])
        #expect(moving.modified.map(\.name) == ["Robert"] && moving.modifiedBefore.map(\.name) == ["Bob"])
        #expect(try moving.changedProperties(at: 0) == ["name", "age"])
        #expect(try moving.changedProperties(ofMove: 0) == ["age"])
        #expect(try moving.hasChanged(\.age, at: 0) && !moving.hasChanged(\.id, at: 0))
        for index in [-1, 1] {
            #expect(code { try moving.changedProperties(at: index) } == .outOfRange)
            #expect(code { try moving.changedProperties(ofMove: index) } == .outOfRange)
            #expect(code { try moving.hasChanged(\.age, at: index) } == .outOfRange)
        }
        #expect(code { try moving.hasChanged(\.name.count, at: 0) } == .invalidQuery)
        #expect(among.modified.map(\.name) == ["Ann", "Robert"] && among.modified.map(\.age) == [8, 7])
        #expect(among.modifiedBefore.map(\.name) == ["Ann", "Bob"] && among.modifiedBefore.map(\.age) == [0, 0])
        #expect(try among.modified.indices.map { try among.changedProperties(at: $0) } == [["age"], ["name", "age"]])
        #expect(try among.hasChanged(\.name, at: 1) && !among.hasChanged(\.name, at: 0))
        #expect(code { try among.changedProperties(at: 2) } == .outOfRange)
        #expect(code { try among.changedProperties(ofMove: 0) } == .outOfRange)
        for token in tokens { token.invalidate() }
        try store.close()
    }

    @Test func refusals() throws {
        let (store, person) = try person()
        #expect(throws: ObjStoreError.self) { try Person().tags.observe { _ in } }
        #expect(throws: ObjStoreError.self) { try person.freeze().tags.observe { _ in } }
        let tags = person.tags
        try store.write { tx in try tx.delete(person) }
        do {
            _ = try tags.observe { _ in }
            throw Unexpected("a list whose owner was deleted is observed")
        } catch let error as ObjStoreError {
            #expect(error.code == .noSuchObject)
        }
        try store.close()
    }

    @Test func sequences() async throws {
        let (store, person) = try person()
        var changes = person.tags.changes.makeAsyncIterator()
        #expect(await changes.next()?.isInitial == true)
        try store.write { _ in person.tags.append("d") }
        let change = try #require(await changes.next())
        #expect(change.insertions == [3] && change.collection.last == "d")
        try store.write { _ in person.notes["y"] = 2 }
        try store.write { tx in try tx.delete(person) }
        #expect(await changes.next()?.isOwnerDeleted == true)
        try store.close()
        #expect(await changes.next() == nil)
    }
}
