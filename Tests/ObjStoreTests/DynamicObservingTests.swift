import Dispatch
import ObjStore
import Testing

/// Lists, sets and maps of dynamic objects are observed as their typed relatives are.
@Suite struct DynamicObservingTests {
    final class Pet: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var age = 0
    }
    final class Owner: Object {
        @Persisted var pets: List<Pet>
        @Persisted var seen: MutableSet<Pet>
        @Persisted var tags: List<String>
        @Persisted var numbers: MutableSet<Int>
        @Persisted var notes: Map<String, Int>
        @Persisted var named: Map<Int, Pet?>
    }

    private func open(_ folder: Folder) throws -> (Store, DynamicObject) {
        do {
            let store = try Store.open(path: folder.file(), models: [Pet.self, Owner.self])
            try store.write { tx in
                let owner = try tx.create(Owner.self, value: [:] as [String: Any])
                for (id, name) in [(1, "a"), (2, "b"), (3, "c")] {
                    owner.pets.append(try tx.create(Pet.self, value: [id, name]))
                }
                owner.tags.append(objectsIn: ["x", "y", "z"])
            }
            try store.close()
        }
        // Without models: the classes are the file's.
        let store = try Store.open(path: folder.file())
        return (store, try #require(store.dynamicObjects("Owner").first))
    }

    @Test func aListOfObjects() throws {
        let folder = Folder(), (store, owner) = try open(folder), pets = owner.collection("pets")
        let told = Received<DynamicCollectionChange>(), ages = Received<[Int]>()
        let token = try pets.observe { told.append($0) }
        let other = try pets.observe(keyPaths: ["age"]) { ages.append($0.modifications) }
        try store.deliver()
        let initial = try #require(told.take().first)
        #expect(initial.isInitial && initial.collection.count == 3 && ages.take() == [[]])
        try store.write { tx in
            let first = try #require(pets.object(at: 0))
            first.name = "renamed"
            try pets.move(from: 0, to: 2)
            try pets.append(try tx.dynamicCreate("Pet", value: [4, "d"] as [Any]))
            try tx.delete(try #require(pets.object(at: 0)))
        }
        try store.deliver()
        var change = try #require(told.take().first)
        #expect(
            change.deletions == [0, 1] && change.insertions == [1, 2] && change.moves == [PositionMove(from: 0, to: 1)])
        #expect(change.deleted.map { $0.name } == [.string("b")] && change.inserted.map { $0.name } == [.string("d")])
        #expect(change.moved.map { $0.name } == [.string("renamed")])
        #expect(try change.changedProperties(ofMove: 0) == ["name"])
        #expect(code { try change.changedProperties(at: 0) } == .outOfRange, "that is the move")
        #expect(change.collection.objects.map { $0?.name } == [.string("c"), .string("renamed"), .string("d")])
        #expect(change.collectionBefore.objects.map { $0?.name } == [.string("a"), .string("b"), .string("c")])
        _ = ages.take()
        try store.write { _ in pets.object(at: 1)?.age = 7 }
        try store.deliver()
        change = try #require(told.take().first)
        #expect(change.modifications == [1] && change.modified.map { $0.age } == [.int(7)])
        #expect(change.modifiedBefore.map { $0.age } == [.int(0)] && ages.take() == [[1]])
        #expect(try change.changedProperties(at: 0) == ["age"] && change.hasChanged("age", at: 0))
        #expect(try !change.hasChanged("name", at: 0))
        #expect(code { try change.hasChanged("wings", at: 0) } == .noSuchProperty)
        #expect(code { try change.hasChanged("age", at: 1) } == .outOfRange)
        // Its name is on no path of the second one.
        try store.write { _ in pets.object(at: 1)?.name = "again" }
        try store.deliver()
        #expect(told.take().map(\.modifications) == [[1]] && ages.take().isEmpty)
        try store.write { tx in try tx.delete(owner) }
        try store.deliver()
        change = try #require(told.take().first)
        #expect(change.isOwnerDeleted && change.deletions == [0, 1, 2] && change.isCleared)
        token.invalidate()
        other.invalidate()
        try store.close()
    }

    @Test func valuesSetsAndMaps() throws {
        let folder = Folder(), (store, owner) = try open(folder)
        let tags = owner.collection("tags"), numbers = owner.collection("numbers"), notes = owner.collection("notes")
        let lists = Received<DynamicCollectionChange>(), sets = Received<DynamicCollectionChange>()
        let maps = Received<DynamicCollectionChange>(), links = Received<DynamicCollectionChange>()
        let tokens = [
            try tags.observe { lists.append($0) }, try numbers.observe { sets.append($0) },
            try notes.observe { maps.append($0) }, try owner.collection("named").observe { links.append($0) },
        ]
        try store.deliver()
        for each in [lists, sets, maps, links] { #expect(each.take().map(\.isInitial) == [true]) }
        try store.write { tx in
            try tags.set("new", at: 1)
            try tags.append("last")
            try numbers.insert(5)
            try numbers.insert(2)
            try notes.set(1, forKey: "one")
            try owner.collection("named").set(owner.collection("pets").object(at: 2), forKey: 9)
        }
        try store.deliver()
        let list = try #require(lists.take().first), map = try #require(maps.take().first)
        #expect(
            list.insertions == [3] && list.modifications == [1] && list.inserted.isEmpty && list.insertedKeys.isEmpty)
        #expect(list.collection.values == [.string("x"), .string("new"), .string("z"), .string("last")])
        #expect(list.modifiedBefore.isEmpty && code { try list.changedProperties(at: 0) } == .outOfRange)
        #expect(sets.take().map(\.insertions) == [[0, 1]])
        #expect(map.insertedKeys == [.string("one")] && map.collection.value(forKey: "one") == .int(1))
        #expect(links.take().map(\.insertedKeys) == [[.int(9)]])
        try store.write { _ in
            try notes.set(2, forKey: "one")
            try owner.collection("named").removeAll()
        }
        try store.deliver()
        #expect(maps.take().map(\.modifiedKeys) == [[.string("one")]])
        let cleared = try #require(links.take().first)
        #expect(cleared.deletedKeys == [.int(9)] && cleared.isCleared)
        for token in tokens { token.invalidate() }
        try store.close()
    }

    @Test func whatCannotBeObserved() throws {
        let folder = Folder(), (store, owner) = try open(folder)
        #expect(code { _ = try owner.collection("nothing").observe { _ in } } == .noSuchProperty)
        #expect(code { _ = try owner.collection("tags").observe(keyPaths: ["age"]) { _ in } } == .invalidArgument)
        #expect(code { _ = try owner.collection("pets").observe(keyPaths: ["wings"]) { _ in } } == .noSuchProperty)
        let pet = try #require(owner.collection("pets").object(at: 0))
        #expect(code { _ = try pet.collection("name").observe { _ in } } == .wrongType)
        let frozen = try #require(try store.freeze().dynamicObjects("Owner").first)
        #expect(code { _ = try frozen.collection("tags").observe { _ in } } == .wrongView)
        try store.write { tx in try tx.delete(owner) }
        #expect(code { _ = try owner.collection("tags").observe { _ in } } == .noSuchObject)
        try store.close()
    }

    @Test func onAQueue() throws {
        let folder = Folder(), (store, owner) = try open(folder), told = DispatchSemaphore(value: 0)
        let positions = Received<[Int]>()
        let token = try owner.collection("tags").observe(on: DispatchQueue(label: "tags")) { change in
            positions.append(change.insertions)
            told.signal()
        }
        told.wait()
        try store.write { _ in try owner.collection("tags").append("new") }
        told.wait()
        #expect(positions.take() == [[], [3]])
        token.invalidate()
        try store.close()
    }
}
