import ObjStore
import Synchronization
import Testing

/// What is frozen, what is thawed, and what crosses threads; scenarios by number.
@Suite struct FreezingTests {
    private static func john() throws -> (Store, K.Person) {
        let store = try memoryStore(K.models)
        let john = try store.write { tx in
            try tx.create(
                K.Person.self,
                value: [
                    "id": 1, "name": "John", "dogs": [["name": "Rex", "citiesVisited": ["Rome"]]],
                    "address": ["city": "Bern"],
                ])
        }
        return (store, john)
    }

    @Test func A87_freezeAndThaw() throws {
        let (store, john) = try FreezingTests.john()
        #expect(!store.isFrozen && !john.isFrozen && !store.objects(K.Person.self).isFrozen)
        let snapshot = try store.freeze(), frozen = try john.freeze(),
            people = try store.objects(K.Person.self).freeze()
        #expect(snapshot.isFrozen && frozen.isFrozen && people.isFrozen && snapshot.objects(K.Person.self).isFrozen)
        // Children are frozen, however they are found.
        let dog = frozen.dogs[0]
        #expect(frozen.dogs.isFrozen && dog.isFrozen && dog.citiesVisited.isFrozen && dog.people.isFrozen)
        #expect(frozen.address?.isFrozen == true && dog.people.first?.isFrozen == true && people[0].dogs[0].isFrozen)
        #expect(try snapshot.object(ofType: K.Person.self, forPrimaryKey: 1)?.isFrozen == true)
        try store.write { _ in
            john.name = "Jack"
            john.dogs[0].name = "Max"
            john.dogs.append(K.dog("Ben"))
        }
        try #expect(
            snapshot.objects(K.Person.self)[0].name == "John" && frozen.name == "John" && people[0].name == "John"
                && frozen.dogs.map(\.name) == ["Rex"] && snapshot.version < store.version)
        // Neither written nor observed.
        #expect(code { try Store.checked { frozen.name = "Joe" } } == .wrongView)
        for write: (Transaction) throws -> Void in [
            { _ in frozen.name = "Joe" }, { _ in frozen.dogs.removeAll() }, { _ in frozen.address?.city = "Basel" },
            { _ in dog.citiesVisited.insert("Paris") }, { _ in dog.favoriteParksByCity["Rome"] = "Borghese" },
            { _ in dog.companion = 5 }, { tx in try tx.delete(frozen) }, { tx in try tx.add(frozen) },
            { _ in try people.setValue("Joe", forKey: "name") }, { _ in frozen.dogs.append(K.dog("Joe")) },
        ] { #expect(code { try store.write(write) } == .wrongView) }
        #expect(code { try frozen.observe { (_: ObjectChange<K.Person>) in } } == .wrongView)
        #expect(code { try people.observe { _ in } } == .wrongView)

        let thawed = try #require(try frozen.thaw())
        #expect(!thawed.isFrozen && thawed.name == "Jack" && !thawed.dogs.isFrozen && thawed.isSameObject(as: john))
        try store.write { _ in thawed.name = "John Michael Kane" }
        #expect(john.name == "John Michael Kane" && frozen.name == "John")
        #expect(try snapshot.thaw() === store && !snapshot.thaw().isFrozen && snapshot.freeze() === snapshot)
        // What is live is its own thawed form, what is frozen its own frozen one.
        #expect(try john.thaw() === john && frozen.freeze() === frozen)
        // A frozen dog in the list of a frozen person: both are thawed first.
        try store.write { _ in
            let person = try #require(try frozen.thaw()), dog = try #require(try dog.thaw())
            person.dogs.append(dog)
            #expect(dog.name == "Max")
        }
        #expect(try john.dogs.map(\.name) == ["Max", "Ben", "Max"] && people.thaw().count == 1)
    }

    /// Each kind of collection, alone.
    @Test func collections() throws {
        let (store, john) = try FreezingTests.john()
        let dog = john.dogs[0]
        try store.write { _ in
            dog.favoriteParksByCity["Rome"] = "Borghese"
            dog.companion = ["best": ["Max", "Ben"]]
        }
        let list = try john.dogs.freeze(), set = try dog.citiesVisited.freeze(),
            map = try dog.favoriteParksByCity.freeze()
        let people = try dog.people.freeze(), companions = try #require(try dog.companion.dictionary?.freeze())
        let best = try #require(try dog.companion["best"]?.list?.freeze())
        #expect(
            list.isFrozen && set.isFrozen && map.isFrozen && people.isFrozen && companions.isFrozen && best.isFrozen)
        #expect(list[0].isFrozen && companions["best"]?.list?.isFrozen == true && people[0].isFrozen)
        try store.write { _ in
            dog.citiesVisited.insert("Paris")
            dog.favoriteParksByCity["Rome"] = "Pincio"
            dog.companion["best"]?.list?.append("Joe")
            dog.companion["worst"] = "Jack"
            john.dogs.append(K.dog("Ben"))
        }
        #expect(list.count == 1 && Array(set) == ["Rome"] && map["Rome"] == "Borghese" && best.count == 2)
        #expect(companions.count == 1 && people.count == 1)
        #expect(
            try list.thaw()?.count == 2 && set.thaw()?.count == 2 && map.thaw()?["Rome"] == "Pincio"
                && best.thaw()?.count == 3 && companions.thaw()?["worst"] == "Jack")
        #expect(try people.thaw().count == 1 && list.freeze() === list && set.freeze() === set && map.freeze() === map)
        #expect(try john.dogs.thaw()?.isFrozen == false && best.freeze() === best && companions.freeze() === companions)
        #expect(code { try store.write { _ in list.append(K.dog("Joe")) } } == .wrongView)
        #expect(code { try store.write { _ in best.append(1) } } == .wrongView)
        #expect(code { try store.write { _ in companions["a"] = 1 } } == .wrongView)
        // They are gone with their object.
        try store.write { tx in try tx.deleteAll() }
        #expect(try list.thaw() == nil && set.thaw() == nil && map.thaw() == nil && best.thaw() == nil)
        #expect(try companions.thaw() == nil && people.thaw().isEmpty && list.count == 1 && map.count == 1)
        // Unmanaged ones are no part of a store.
        let plain = K.dog("Joe")
        for attempt: () throws -> Any? in [
            { try plain.freeze() }, { try plain.thaw() }, { try plain.citiesVisited.freeze() },
            { try plain.citiesVisited.thaw() }, { try plain.favoriteParksByCity.freeze() },
            { try plain.people.freeze() },
            { try plain.favoriteParksByCity.thaw() }, { try AnyList().freeze() }, { try AnyMap().thaw() },
            { try List<Int>().freeze() }, { try List<Int>().thaw() },
        ] { #expect(code(attempt) == .wrongView) }
        #expect(store.lastError == nil)
    }

    /// By the names of classes and properties.
    @Test func dynamic() throws {
        let (store, john) = try FreezingTests.john()
        let person = try john.dynamic(), frozen = try person.freeze(), all = try store.dynamicObjects("Person").freeze()
        let dogs = try person.collection("dogs").freeze()
        #expect(
            frozen.isFrozen && all.isFrozen && dogs.isFrozen && all[0].isFrozen && dogs.object(at: 0)?.isFrozen == true)
        #expect(!person.isFrozen && !store.dynamicObjects("Person").isFrozen && !person.collection("dogs").isFrozen)
        try store.write { tx in
            john.name = "Jack"
            john.dogs.removeAll()
            #expect(code { try Store.checked { frozen.name = "Joe" } } != nil)
            #expect(code { try dogs.removeAll() } != nil)
        }
        #expect(frozen.name?.string == "John" && all[0].name?.string == "John" && dogs.count == 1)
        #expect(try frozen.thaw()?.name?.string == "Jack" && all.thaw()[0].name?.string == "Jack")
        #expect(try dogs.thaw()?.count == 0 && person.thaw()?.isFrozen == false && frozen.freeze() == frozen)
        try store.write { tx in try tx.deleteAll() }
        #expect(try frozen.thaw() == nil && dogs.thaw() == nil && all.thaw().isEmpty && all.count == 1)
        #expect(code { try person.freeze() } == .noSuchObject)
    }

    /// What is frozen keeps the store open; thawed, it is that store, or shows it again.
    @Test func thawingWithoutTheStore() throws {
        let folder = Folder()
        var store: Store? = try Store.open(path: folder.file(), models: [Dog.self])
        let dog = try #require(try store?.write { tx in try tx.create(Dog.self, value: [1, "Rex"]) }).freeze()
        var snapshot: Snapshot? = try store?.freeze()
        store = nil
        let thawed = try #require(try dog.thaw()), again = try #require(try snapshot?.thaw())
        #expect(thawed.name == "Rex" && again.objects(Dog.self).count == 1)
        try again.write { _ in thawed.name = "Max" }
        #expect(thawed.name == "Max" && dog.name == "Rex")
        #expect(try snapshot?.thaw() === again)
        snapshot = nil
        try again.close()
        #expect(code { try dog.thaw() } == .closedHandle)
    }

    @Test func A88_aReferenceToAnotherThread() throws {
        let store = try memoryStore([WPerson.self])
        let jane = try store.write { tx in try tx.create(WPerson.self, value: [1, "Jane"]) }
        let reference = try Reference(jane), errors = Errors()
        onThreads(1) { _ in
            do {
                try store.write { tx in
                    guard let person = try tx.resolve(reference) else { return errors.add(ObjStoreErrorSample.missing) }
                    person.name = "Jane Doe"
                }
            } catch { errors.add(error as? ObjStoreError ?? ObjStoreErrorSample.missing) }
        }
        #expect(errors.all.isEmpty && jane.name == "Jane Doe")
        try store.write { tx in try tx.delete(jane) }
        onThreads(1) { _ in
            do {
                if try store.resolve(reference) != nil { errors.add(ObjStoreErrorSample.missing) }
            } catch { errors.add(ObjStoreErrorSample.missing) }
        }
        #expect(errors.all.isEmpty)
    }

    @Test func referencesToCollections() async throws {
        let (store, john) = try FreezingTests.john()
        let reference = try Reference(john.dogs), frozen = try Reference(try john.dogs.freeze())
        #expect(reference == frozen && reference.hashValue == frozen.hashValue)
        let names = try await Task.detached { () throws -> [String] in
            try store.write { tx in
                guard let dogs = try tx.resolve(reference) else { return [] }
                dogs.append(try tx.create(K.Dog.self, value: ["name": "Ella"]))
                return dogs.map(\.name)
            }
        }.value
        #expect(names == john.dogs.map(\.name) && names.last == "Ella")
        #expect(code { try Reference(List<K.Dog>()) } == .wrongView)
        let other = try memoryStore(K.models)
        #expect(code { try other.resolve(reference) } == .wrongStore)
        try store.write { tx in try tx.delete(john) }
        #expect(try store.resolve(reference) == nil)
        try store.close()
        #expect(code { try store.resolve(reference) } == .closedHandle)
    }

    // MARK: @ThreadSafe

    private final class Carrier: @unchecked Sendable {
        @ThreadSafe var person: K.Person?
        init(_ person: K.Person?) { _person = ThreadSafe(wrappedValue: person) }
    }

    private func rename(
        _ store: Store, @ThreadSafe _ person: K.Person?, @ThreadSafe dogs: List<K.Dog>?
    ) async throws {
        try await Task.detached {
            try store.write { _ in
                person?.name = "Jack"
                dogs?.removeAll()
            }
        }.value
    }

    @Test func threadSafe() async throws {
        let (store, john) = try FreezingTests.john(), carrier = Carrier(john)
        try await rename(store, john, dogs: john.dogs)
        #expect(john.name == "Jack" && john.dogs.isEmpty)
        let name = await Task.detached { carrier.person?.name }.value
        #expect(name == "Jack")
        carrier.person = try john.freeze()
        #expect(carrier.person?.isFrozen == false, "of what is frozen it holds the live one")
        #expect(code { try Store.checked { carrier.person = K.Person() } } == .wrongView)
        #expect(carrier.person == nil)
        carrier.person = john
        try store.write { tx in try tx.delete(john) }
        #expect(carrier.person == nil)
    }

    @Test func frozenObjectsInTasks() async throws {
        let (store, john) = try FreezingTests.john()
        let frozen = try Frozen(john)
        try store.write { _ in john.name = "Jack" }
        let names = try await Task.detached { [frozen.name, try frozen.thaw()?.name ?? "none"] }.value
        #expect(names == ["John", "Jack"])
    }

    // MARK: invalidate

    @Test func invalidating() throws {
        let (store, john) = try FreezingTests.john(), happened = Happened()
        let people = store.objects(K.Person.self), dogs = john.dogs, frozen = try john.freeze()
        let dynamic = try john.dynamic(), all = store.dynamicObjects("Person"), residents = john.dogs[0].people
        let token = try people.observe { change in
            if !change.isInitial { happened.add("\(change.results.count) \(store.objects(K.Person.self).count)") }
        }
        try store.deliver()
        let pinned = try store.statistics().oldestPinnedVersion
        try store.write { _ in #expect(code { try store.invalidate() } == .alreadyInWrite) }
        try store.writeAsync { tx in
            try tx.object(ofType: K.Person.self, forPrimaryKey: 1)?.name = "Jack"
            happened.add("body")
        }
        try store.invalidate()
        #expect(happened.all.first == "body", "it waits for them")
        #expect(john.isInvalidated && people.isInvalidated && dogs.isInvalidated && dynamic.isInvalidated)
        #expect(people.isEmpty && people.first == nil && Array(people).isEmpty && all.isEmpty && residents.isEmpty)
        #expect(store.lastError == nil && !frozen.isInvalidated && frozen.name == "John")
        #expect(code { try Store.checked { _ = john.name } } == .closedHandle)
        #expect(code { try Store.checked { _ = dogs.count } } == .closedHandle)
        #expect(code { try people.validate() } == .closedHandle)
        // The store is usable; what came from it before is not, also inside of a write.
        let again = try #require(store.objects(K.Person.self).first)
        #expect(again.name == "Jack" && !again.isInvalidated)
        try store.write { tx in
            #expect(
                code { try Store.checked { _ = john.name } } == .closedHandle && people.isEmpty && john.isInvalidated)
            #expect(code { try Store.checked { john.name = "Joe" } } == .closedHandle)
            #expect(code { try Store.checked { dogs.removeAll() } } == .closedHandle)
            #expect(code { try tx.delete(john) } == .closedHandle && code { try dynamic.set("name", to: "Joe") } != nil)
            #expect(code { try tx.add(john) } != nil)
            again.name = "Jim"
            try tx.create(K.Person.self, value: ["id": 2])
        }
        #expect(try frozen.thaw()?.name == "Jim")
        try store.deliver()
        #expect(happened.all.last == "2 2")
        for _ in 0..<3 { try store.invalidate() }
        #expect(again.isInvalidated && store.objects(K.Person.self).count == 2 && pinned != nil)
        withExtendedLifetime(token) {}
    }

    /// The version that it showed can be reused.
    @Test func invalidatingLetsGoOfTheVersion() throws {
        let folder = Folder()
        let store = try Store.open(path: folder.file(), models: [Dog.self])
        let writing = try Store.open(path: folder.file(), models: [Dog.self])
        try store.refresh()
        let version = try store.version
        try writing.write { tx in try tx.create(Dog.self, value: [1]) }
        try writing.write { tx in try tx.create(Dog.self, value: [2]) }
        #expect(try writing.statistics().oldestPinnedVersion == version)
        try store.invalidate()
        #expect(try writing.statistics().oldestPinnedVersion != version && store.objects(Dog.self).count == 2)
    }

    @Test func invalidatingWhileATaskWrites() async throws {
        let store = try memoryStore([Dog.self]), holder = Holder()
        await holder.hold(store)
        let task = Task.detached { try await store.asyncWrite { tx in try tx.create(Dog.self, value: [1]).id } }
        while !store.isPerformingAsynchronousWriteOperations { await Task.yield() }
        #expect(code { try store.invalidate() } == .busy)
        holder.letGo()
        #expect(try await task.value == 1)
        try store.invalidate()
        #expect(store.objects(Dog.self).count == 1)
    }

    // MARK: Versions

    @Test func tooManyVersions() throws {
        let folder = Folder()
        var configuration = Store.Configuration(path: folder.file(), models: [Dog.self])
        configuration.maximumNumberOfActiveVersions = 3
        let store = try Store(configuration)
        var held: [Snapshot] = []
        try store.write { tx in try tx.create(Dog.self, value: [0]) }
        var refused: ObjStoreError?
        for id in 1...10 {
            held.append(try store.freeze())
            do { try store.write { tx in try tx.create(Dog.self, value: [id]) } } catch {
                refused = error as? ObjStoreError
                break
            }
        }
        #expect(refused?.code == .tooManyVersions && refused?.message.contains("versions") == true, "\(refused as Any)")
        let versions = try store.statistics().versions
        #expect(versions > 3)
        held.removeAll()
        try store.write { tx in try tx.create(Dog.self, value: [100]) }
        #expect(try store.statistics().versions < versions)
        configuration.maximumNumberOfActiveVersions = 0
        #expect(code { try Store(configuration) } == .outOfRange)
    }
}
