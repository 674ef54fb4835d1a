import ObjStore
import Testing

private final class Puppy: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted(indexed: true) var age = 0
    @Persisted var currentCity: String?
    @Persisted var weight: Double?
    @Persisted(unique: true) var chip: Int?
    @Persisted var owner: Keeper?
    @Persisted var tags: List<String>
    @Persisted(originProperty: "dogs") var keepers: LinkingObjects<Keeper>
}

private final class Keeper: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var dogs: List<Puppy>
    @Persisted var fed: MutableSet<Puppy>
    @Persisted var named: Map<String, Puppy?>
    @Persisted var seen: MutableSet<String>
    @Persisted(originProperty: "owner") var owned: LinkingObjects<Puppy>
}

/// Scenarios of changing and deleting many objects at once; the others are in ScenarioTests.swift.
@Suite struct ChangeScenarioTests {
    private func open() throws -> Store {
        let store = try memoryStore([Puppy.self, Keeper.self])
        try store.write { tx in
            for (id, name, age) in [(1, "Fall", 5), (2, "Winter", 1), (3, "Summer", 1)] {
                try tx.create(Puppy.self, value: ["id": id, "name": name, "age": age])
            }
            try tx.create(Keeper.self, value: ["id": 1])
        }
        return store
    }

    @Test func A05_collectionsOutsideAWrite() throws {
        let store = try open(), ali = store.objects(Keeper.self)[0], puppies = store.objects(Puppy.self)
        #expect(code { try Store.checked { ali.dogs.append(puppies[0]) } } == .notInWrite)
        #expect(code { try Store.checked { ali.fed.insert(puppies[0]) } } == .notInWrite)
        #expect(code { try Store.checked { ali.named["x"] = puppies[0] } } == .notInWrite)
        #expect(code { try puppies.setValue(1, forKey: "age") } == .notInWrite)
        #expect(code { try puppies.increment(\.age, by: 1) } == .notInWrite)
        #expect(code { try ali.dogs.setValue(1, forKey: "age") } == .notInWrite)
        #expect(code { try ali.setValue(puppies, forKey: "dogs") } == .notInWrite)
        #expect(code { try store.delete(puppies) } == .notInWrite)
        #expect(code { try store.delete(ali.dogs) } == .notInWrite)
        #expect(ali.dogs.isEmpty && ali.fed.isEmpty && ali.named.isEmpty && puppies.count == 3 && puppies[0].age == 5)
    }

    @Test func A09_aQueryInsideTheWriteGetsAnOwner() throws {
        let store = try open()
        try store.write { tx in
            let ali = try tx.create(Keeper.self, value: ["id": 7]),
                young = store.objects(Puppy.self).where { $0.age < 2 }
            #expect(try young.setValue(ali, forKey: "owner") == 2)
            #expect(ali.owned.count == 2 && ali.owned.map(\.name) == ["Winter", "Summer"])
            #expect(store.objects(Puppy.self)[0].owner == nil)
            // Its own condition changes: all of them get it.
            #expect(try young.set(\.age, to: 3) == 2)
            #expect(young.isEmpty && store.objects(Puppy.self).map(\.age) == [5, 3, 3])
            #expect(try store.objects(Puppy.self).increment(\.age, by: 2) == 3)
            #expect(try store.objects(Puppy.self).increment(\.weight, by: 2) == 0)
            #expect(store.objects(Puppy.self).map(\.age) == [7, 5, 5])
            #expect(code { try store.objects(Puppy.self).increment(\.age, by: .max) } == .outOfRange)
            try ali.owned.setValue(nil, forKey: "owner")
            #expect(ali.owned.isEmpty)
        }
        #expect(try store.verify() == [])
    }

    @Test func A71_assignmentAndIncrement() throws {
        let store = try open(), fall = store.objects(Puppy.self)[0]
        try store.write { _ in
            fall.name = "Wolfie"
            fall.age += 1
        }
        #expect(fall.name == "Wolfie" && fall.age == 6)
    }

    @Test func A73_keyValueCoding() throws {
        let store = try open(), all = store.objects(Puppy.self), ali = store.objects(Keeper.self)[0]
        try store.write { _ in
            try all.first?.setValue("Sparky", forKey: "name")
            #expect(try all.setValue("Toronto", forKey: "currentCity") == 3)
            #expect(try all.setValue(["a", "b"], forKey: "tags") == 3)
        }
        #expect(
            all.map(\.name) == ["Sparky", "Winter", "Summer"]
                && all.allSatisfy { $0.currentCity == "Toronto" && Array($0.tags) == ["a", "b"] })
        let name = try all.first?.value(forKey: "name")
        #expect(name as? String == "Sparky")
        try store.write { _ in
            var error: ObjStoreError?
            do throws(ObjStoreError) { _ = try all.setValue("x", forKey: "town") } catch let refusal { error = refusal }
            #expect(
                error?.code == .noSuchProperty && error?.className == "Puppy" && error?.message.contains("town") == true
            )
            #expect(code { try all[0].setValue("x", forKey: "town") } == .noSuchProperty)
            #expect(code { try all[0].value(forKey: "town") } == .noSuchProperty)
            #expect(code { try ali.dogs.setValue("x", forKey: "town") } == .noSuchProperty)
            #expect(code { try ali.setValue([all[0]], forKey: "owned") } == .noSuchProperty)
            do throws(ObjStoreError) { _ = try all.setValue([ali], forKey: "keepers") } catch let refusal {
                error = refusal
            }
            #expect(
                error?.code == .noSuchProperty && error?.propertyName == "keepers"
                    && error?.message.contains("inverse") == true)
            #expect(code { try all.setValue("seven", forKey: "age") } == .wrongType)
            #expect(code { try all.setValue(nil, forKey: "age") } == .notNullable)
            #expect(code { try all.setValue(["a", 1] as [Any], forKey: "tags") } == .wrongType)
            #expect(code { try all.setValue(Keeper(), forKey: "owner") } == .wrongView)
            #expect(code { try all.setValue(4, forKey: "id") } == .keyImmutable)
            #expect(code { try all.set(\.chip, to: 4) } == .duplicateKey)
            #expect(all.allSatisfy { $0.chip == nil && $0.age < 6 })
            // Lists, sets and maps of links.
            try ali.setValue([all[1], all[2], all[1]], forKey: "dogs")
            #expect(try ali.dogs.setValue("Rome", forKey: "currentCity") == 2)
            ali.fed.insert(all[0])
            #expect(try ali.fed.setValue(9, forKey: "age") == 1)
            try ali.setValue(["x": all[0], "y": nil] as [String: Any?], forKey: "named")
            #expect(try ali.named.setValue(["z"], forKey: "tags") == 1)
        }
        #expect(
            all.map(\.currentCity) == ["Toronto", "Rome", "Rome"] && all[0].age == 9 && Array(all[0].tags) == ["z"]
                && ali.named.count == 2)
        // Of unmanaged objects it sets one after the other.
        let mine = Keeper(), other = Puppy()
        mine.dogs.append(other)
        let set = try mine.dogs.setValue("Oslo", forKey: "currentCity")
        #expect(set == 1 && other.currentCity == "Oslo")
        #expect(code { try all.freeze().setValue(1, forKey: "age") } == .wrongView)
        #expect(try store.verify() == [])
    }

    @Test func A74_aListGetsTheObjectsOfResults() throws {
        let store = try open(), ali = store.objects(Keeper.self)[0],
            puppies = store.objects(Puppy.self).where { $0.age < 2 }
        try store.write { tx in
            try ali.setValue([store.objects(Puppy.self)[0]], forKey: "dogs")
            try ali.setValue(puppies, forKey: "dogs")
            try ali.setValue(puppies, forKey: "fed")
            #expect(
                ali.dogs.map(\.name) == ["Winter", "Summer"] && ali.fed.count == 2 && puppies[0].keepers.count == 1)
            #expect(store.objects(Puppy.self)[0].keepers.isEmpty)
            #expect(code { try ali.setValue(store.objects(Keeper.self), forKey: "dogs") } == .wrongType)
            #expect(code { try ali.setValue(puppies, forKey: "seen") } == .wrongType)
            let other = try tx.create(Keeper.self, value: ["id": 2, "dogs": puppies])
            #expect(other.dogs.count == 2 && puppies[0].keepers.count == 2)
            other.dogs = []
            other.seen = ["b", "a"]
            other.named = ["k": puppies[0]]
            #expect(other.dogs.isEmpty && Array(other.seen) == ["a", "b"] && other.named["k"]??.name == "Winter")
        }
        #expect(ali.dogs.count == 2)
        #expect(try store.verify() == [])
    }

    @Test func A76_deletingResults() throws {
        let store = try open(), young = store.objects(Puppy.self).where { $0.age < 2 }
        try store.write { tx in
            let deleted = try tx.delete(young)
            #expect(deleted == 2)
            #expect(store.objects(Puppy.self).map(\.name) == ["Fall"] && young.isEmpty)
            // It is live: what is deleted is not in it any more.
            let again = try tx.delete(young)
            #expect(again == 0)
        }
        #expect(code { try store.write { tx in try tx.delete(try young.freeze()) } } == .wrongView)
    }

    @Test func A77_dependentsStay() throws {
        let store = try open(), ali = store.objects(Keeper.self)[0], all = store.objects(Puppy.self)
        try store.write { tx in
            try ali.setValue(all, forKey: "dogs")
            try tx.delete(ali)
            #expect(all.count == 3 && ali.isInvalidated)
            let bob = try tx.create(Keeper.self, value: ["id": 2])
            try bob.setValue([all[0], all[1], all[0]], forKey: "dogs")
            try bob.setValue(["x": all[0], "y": all[2]] as [String: Any?], forKey: "named")
            #expect(try tx.delete(bob.dogs) == 2)
            #expect(bob.dogs.isEmpty && all.count == 1 && bob.named.count == 2 && bob.named["x"] == .some(nil))
            #expect(try tx.delete(bob.named) == 1)
            #expect(all.isEmpty && bob.named.count == 2)
            try tx.delete(bob)
            #expect(store.objects(Keeper.self).isEmpty)
            #expect(code { try tx.delete(bob.dogs) } == .noSuchObject)
            #expect(code { try tx.delete(Keeper().dogs) } == .wrongView)
        }
        #expect(try store.verify() == [])
    }

    @Test func A79_deletingEverything() throws {
        let store = try open()
        try store.write { tx in
            try store.objects(Keeper.self)[0].setValue(store.objects(Puppy.self), forKey: "dogs")
            #expect(try tx.deleteAll() == 4)
            #expect(store.objects(Puppy.self).isEmpty && store.objects(Keeper.self).isEmpty)
            try tx.create(Puppy.self, value: ["id": 1])
        }
        #expect(store.objects(Puppy.self).count == 1 && store.objects(Keeper.self).isEmpty)
        #expect(try store.verify() == [])
    }
}
