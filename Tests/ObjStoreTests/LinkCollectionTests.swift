import ObjStore
import Testing

private final class Shelter: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var dogs: List<Hound>
    @Persisted var guests: MutableSet<Hound>
    @Persisted var cages: Map<String, Hound?>
}

private final class Hound: Object {
    @Persisted var name = ""
    @Persisted var friends: List<Hound>
    @Persisted(originProperty: "dogs") var shelters: LinkingObjects<Shelter>
    @Persisted(originProperty: "guests") var visited: LinkingObjects<Shelter>
    @Persisted(originProperty: "cages") var caged: LinkingObjects<Shelter>
    @Persisted(originProperty: "friends") var admirers: LinkingObjects<Hound>
}

private final class OptionalElements: Object {
    @Persisted var hounds: List<Hound?>
}

private final class RequiredValues: Object {
    @Persisted var hounds: Map<String, Hound>
}

/// Lists, sets and maps whose elements are objects, and their owners.
@Suite struct LinkCollectionTests {
    private func open() throws -> Store { try memoryStore([Shelter.self, Hound.self]) }
    private func hound(_ name: String) -> Hound {
        let hound = Hound()
        hound.name = name
        return hound
    }

    @Test func elementsAndTheirInverses() throws {
        let store = try open()
        let a = hound("a"), b = hound("b"), c = hound("c")
        let one = try Shelter(value: ["id": 1]), two = try Shelter(value: ["id": 2])
        try store.write { tx in
            try tx.add([a, b, c])
            try tx.add([one, two])
            one.dogs.append(objectsIn: [a, b, a])
            two.dogs.append(a)
            one.guests.insert(objectsIn: [c, a, c])
            one.cages["x"] = a
            one.cages["y"] = .some(nil)
            two.cages["x"] = b
            #expect(a.shelters.count == 2, "the write sees its changes")
        }
        #expect(
            one.dogs.map(\.name) == ["a", "b", "a"] && one.dogs[1].isSameObject(as: b) && one.dogs.index(of: b) == 1)
        #expect(
            a.shelters.map(\.id) == [1, 2] && a.shelters.count == 2 && a.shelters.first?.id == 1
                && b.shelters.count == 1 && c.shelters.isEmpty)
        #expect(
            one.guests.map(\.name) == ["a", "c"] && one.guests.contains(c) && !one.guests.contains(b)
                && a.visited.map(\.id) == [1])
        #expect(
            one.cages["x"]??.name == "a" && one.cages["y"] == .some(nil) && one.cages["z"] == nil
                && a.caged.map(\.id) == [1] && b.caged.map(\.id) == [2])
        #expect(one.cages.map { $0.value?.name } == ["a", nil])
        #expect("\(one)".contains("dogs = [Hound, Hound, Hound]"))

        try store.write { _ in
            one.dogs.move(from: 0, to: 1)
            one.dogs[2] = c
            one.dogs.swapAt(0, 2)
        }
        #expect(one.dogs.map(\.name) == ["c", "a", "b"] && a.shelters.count == 2)
        let frozen = try one.freeze()
        try store.write { _ in
            one.dogs.remove(at: 1)
            #expect(one.guests.remove(a) && !one.guests.remove(hound("new")) && !one.guests.insert(c))
            one.cages["x"] = nil
        }
        #expect(a.shelters.map(\.id) == [2] && a.visited.isEmpty && a.caged.isEmpty && one.cages.count == 1)
        #expect(
            frozen.dogs.map(\.name) == ["c", "a", "b"] && frozen.dogs[1].isFrozen && frozen.dogs[1].shelters.count == 2)
        #expect(try one.detached().dogs.count == 2)
    }

    @Test func deletedElements() throws {
        let store = try open()
        let hounds = (0..<40).map { hound("\($0)") }
        let shelters = try (0..<3).map { try Shelter(value: ["id": $0]) }
        try store.write { tx in
            try tx.add(hounds)
            try tx.add(shelters)
            for shelter in shelters {
                shelter.dogs.append(objectsIn: hounds + hounds)
                shelter.guests.insert(objectsIn: hounds)
                for (index, hound) in hounds.enumerated() { shelter.cages["\(index)"] = hound }
            }
            for hound in hounds { hound.friends.append(hounds[0]) }
        }
        let received = Received<ChangeSet<Shelter>>()
        let token = try store.objects(Shelter.self).observe { received.append($0) }
        _ = try store.deliver()
        _ = received.take()
        try store.write { tx in try tx.delete(hounds[7]) }
        _ = try store.deliver()
        let left = (0..<40).filter { $0 != 7 }.map { "\($0)" }
        for shelter in shelters {
            #expect(shelter.dogs.map(\.name) == left + left && shelter.guests.map(\.name) == left)
            #expect(shelter.cages.count == 40 && shelter.cages["7"] == .some(nil) && shelter.cages["8"]??.name == "8")
        }
        let change = try #require(received.take().first)
        #expect(change.modifications == [0, 1, 2] && change.deletions.isEmpty)
        #expect(try change.changedProperties(at: 0) == ["dogs", "guests", "cages"])
        token.invalidate()
        #expect(
            hounds[0].admirers.count == 39 && hounds[0].admirers.contains(where: { $0.isSameObject(as: hounds[0]) }))

        // What an owner had goes with it.
        try store.write { tx in try tx.delete(shelters[0]) }
        #expect(hounds[1].shelters.map(\.id) == [1, 2] && hounds[1].caged.count == 2)
        // Undone: everything is as before.
        try store.write { tx in
            try tx.delete(hounds[1])
            try tx.cancel()
        }
        #expect(shelters[1].dogs.count == 78 && hounds[1].shelters.count == 2)
        let deleted = try store.write { tx in try tx.deleteAll(Hound.self) }
        #expect(deleted == 39)
        #expect(
            shelters[1].dogs.isEmpty && shelters[1].guests.isEmpty && shelters[2].cages.count == 40
                && shelters[2].cages.allSatisfy { $0.value == nil })
    }

    /// Unmanaged objects in lists come with their owners, each once, also in a circle; all, or none.
    @Test func graphs() throws {
        let store = try open()
        let a = hound("a"), b = hound("b"), shelter = try Shelter(value: ["id": 1])
        a.friends.append(objectsIn: [b, a, b])
        b.friends.append(a)
        shelter.dogs = [a, b]
        shelter.guests = [b, a, b]
        shelter.cages = ["a": a, "none": nil]
        #expect(shelter.guests.count == 2 && shelter.guests.contains(a) && shelter.dogs.index(of: b) == 1)
        try store.write { tx in try tx.add(shelter) }
        #expect(a.isManaged && b.isManaged && store.objects(Hound.self).count == 2)
        #expect(a.friends.map(\.name) == ["b", "a", "b"] && b.friends[0].isSameObject(as: a) && a.admirers.count == 2)
        #expect(
            shelter.dogs.map(\.name) == ["a", "b"] && shelter.guests.count == 2
                && shelter.cages["a"]??.isSameObject(as: a) == true)

        // Appending adds.
        let c = hound("c"), d = hound("d")
        c.friends.append(d)
        try store.write { _ in shelter.dogs.append(c) }
        #expect(c.isManaged && d.isManaged && shelter.dogs.count == 3 && d.admirers.first?.isSameObject(as: c) == true)

        // None, where one is refused.
        let twin = try Shelter(value: ["id": 1]), e = hound("e")
        twin.dogs = [e]
        #expect(code { try store.write { tx in try tx.add(twin) } } == .duplicateKey)
        #expect(!e.isManaged && store.objects(Hound.self).count == 4)
        try store.write { tx in try tx.add(twin, update: .modified) }
        #expect(shelter.dogs.map(\.name) == ["e"] && e.isManaged && shelter.guests.isEmpty && shelter.cages.isEmpty)

        let created = try store.write { tx in
            try tx.create(
                Shelter.self, value: ["id": 5, "dogs": [a, b], "guests": [b], "cages": ["x": a]] as [String: Any])
        }
        #expect(
            created.dogs.map(\.name) == ["a", "b"] && created.guests.count == 1 && created.cages["x"]??.name == "a")
        #expect(
            code {
                try store.write { tx in
                    _ = try tx.create(Shelter.self, value: ["id": 6, "dogs": [shelter]] as [String: Any])
                }
            } == .wrongType)
    }

    @Test func refusals() throws {
        let store = try open(), other = try open()
        let a = hound("a"), b = hound("b"), stranger = hound("stranger"), shelter = try Shelter(value: ["id": 1])
        try store.write { tx in
            try tx.add(shelter)
            try tx.add([a, b])
            try tx.delete(b)
        }
        try other.write { tx in try tx.add(stranger) }
        #expect(code { try Store.checked { shelter.dogs.append(a) } } == .notInWrite)
        #expect(code { try store.write { _ in shelter.dogs.append(stranger) } } == .wrongStore)
        #expect(code { try store.write { _ in shelter.guests.insert(stranger) } } == .wrongStore)
        #expect(code { try store.write { _ in shelter.cages["x"] = stranger } } == .wrongStore)
        #expect(code { try store.write { _ in shelter.dogs.append(b) } } == .noSuchObject)
        #expect(
            shelter.dogs.isEmpty && shelter.guests.isEmpty && shelter.cages.isEmpty
                && !shelter.guests.contains(hound("new")))
        #expect(code { _ = try memoryStore([OptionalElements.self, Hound.self, Shelter.self]) } == .invalidSchema)
        #expect(code { _ = try memoryStore([RequiredValues.self, Hound.self, Shelter.self]) } == .invalidSchema)
        #expect(code { _ = try memoryStore([Shelter.self]) } == .invalidSchema)
    }
}
