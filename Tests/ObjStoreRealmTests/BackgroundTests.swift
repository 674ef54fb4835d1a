import ObjStoreRealm
import Synchronization
import Testing

extension RealmExamples {
    /// "Perform a Background Write", and what Realm's pages say of writes in the background.
    @Suite struct BackgroundWrites {
        class Dog: Object {
            @Persisted var name = ""
            @Persisted var age = 0
        }
        class Person: Object {
            @Persisted(primaryKey: true) var id = 0
            @Persisted var name = ""
            @Persisted var dogs: List<Dog>
        }

        private let realm: Realm

        init() {
            RealmExamples.useRealm(of: Dog.self, Person.self)
            realm = try! Realm()
            try! realm.write { realm.add(Person(value: ["id": 1, "name": "Dachary"])) }
        }

        private func finish() throws {
            while realm.isPerformingAsynchronousWriteOperations { try realm.store.wait(atMost: .seconds(10)) }
        }

        /// As it is there, but that the completion looks for the person again: in the language mode of Swift 6, what
        /// was handed to one closure is not the other's.
        @Test func performABackgroundWrite() throws {
            let realm = try! Realm()
            // Query for a specific person object on the main thread
            let people = realm.objects(Person.self)
            let thisPerson = people.where { $0.name == "Dachary" }.first
            // Perform an async write to add dogs to that person's dog list.
            // No need to pass a thread-safe reference or frozen object.
            realm.writeAsync {
                thisPerson?.dogs.append(objectsIn: [
                    Dog(value: ["name": "Ben", "age": 13]),
                    Dog(value: ["name": "Lita", "age": 9]),
                    Dog(value: ["name": "Maui", "age": 1]),
                ])
            } onComplete: { _ in
                // Confirm the three dogs were successfully added to the person's dogs list
                let thisPerson = people.where { $0.name == "Dachary" }.first
                XCTAssertEqual(thisPerson!.dogs.count, 3)
                // Query for one of the dogs we added and see that it is present
                let dogs = realm.objects(Dog.self)
                let benDogs = dogs.where { $0.name == "Ben" }
                XCTAssertEqual(benDogs.count, 1)
            }
            #expect(realm.isPerformingAsynchronousWriteOperations)
            try finish()
            #expect(realm.objects(Dog.self).count == 3)
        }

        /// "Pass Instances Across Threads": a reference, and the property wrapper.
        @Test func passInstancesAcrossThreads() async throws {
            let person = try #require(realm.objects(Person.self).first)
            let personRef = ThreadSafeReference(to: person), dogsRef = ThreadSafeReference(to: person.dogs)
            let realm = realm
            try await Task.detached {
                try realm.write {
                    guard let person = realm.resolve(personRef) else { return }
                    person.name = "Jane Doe"
                    realm.resolve(dogsRef)?.append(Dog(value: ["name": "Ben", "age": 13]))
                }
            }.value
            #expect(person.name == "Jane Doe" && person.dogs.map(\.name) == ["Ben"])
            try await rename(person)
            #expect(person.name == "John")
            #expect(throws: Realm.Error.self) { try Store.checked { _ = ThreadSafeReference(to: Person()) } }
            try realm.write { realm.delete(person) }
            #expect(realm.resolve(personRef) == nil && realm.resolve(dogsRef) == nil)
        }
        private func rename(@ThreadSafe _ person: Person?) async throws {
            let realm = realm
            try await Task.detached { try realm.write { person?.name = "John" } }.value
        }

        @Test func beginCommitAndCancel() throws {
            final class Completions: Sendable { let count = Atomic(0) }
            let completions = Completions()
            realm.beginAsyncWrite { [realm] in
                realm.add(Dog(value: ["name": "Ben"]))
                realm.commitAsyncWrite(allowGrouping: true) { error in
                    completions.count.add(error == nil ? 1 : 100, ordering: .relaxed)
                }
            }
            realm.beginAsyncWrite { [realm] in realm.add(Dog(value: ["name": "left open"])) }
            let id = realm.beginAsyncWrite { [realm] in realm.add(Dog(value: ["name": "cancelled"])) }
            realm.cancelAsyncWrite(id)
            realm.beginWrite()
            realm.add(Dog(value: ["name": "Lita"]))
            realm.commitAsyncWrite()
            try finish()
            #expect(realm.objects(Dog.self).map(\.name).sorted() == ["Ben", "Lita"])
            #expect(completions.count.load(ordering: .relaxed) == 1)
            // Where there is nothing to commit that is reported.
            #expect(throws: Realm.Error.self) { try Store.checked { _ = realm.commitAsyncWrite() } }
        }

        class Todo: Object {
            @Persisted(primaryKey: true) var _id: ObjectId
            @Persisted var name: String
            @Persisted var owner: String
            @Persisted var status: String
        }

        actor RealmActor {
            // An implicitly-unwrapped optional is used here to let us pass `self` to
            // `Realm(actor:)` within `init`
            var realm: Realm!
            init() async throws {
                realm = try await Realm(actor: self)
            }

            var count: Int { realm.objects(Todo.self).count }

            func createTodo(name: String, owner: String, status: String) async throws {
                try await realm.asyncWrite {
                    realm.create(
                        Todo.self,
                        value: [
                            "_id": ObjectId.generate(),
                            "name": name,
                            "owner": owner,
                            "status": status,
                        ])
                }
            }
        }

        /// "Write to an Actor-Isolated Realm".
        @Test func A57_writeToAnActorIsolatedRealm() async throws {
            RealmExamples.useRealm(of: Todo.self)
            let actor = try await RealmActor()
            func createObject() async throws {
                // Because this function is not isolated to this actor,
                // you must await operations completed on the actor
                try await actor.createTodo(
                    name: "Take the ring to Mount Doom", owner: "Frodo", status: "In Progress")
                let taskCount = await actor.count
                print("The actor currently has \(taskCount) tasks")
            }
            try await createObject()
            #expect(await actor.count == 1)
        }

        /// "Perform Writes using Async/Await Syntax".
        @MainActor @Test func performWritesUsingAsyncAwait() async throws {
            RealmExamples.useRealm(of: Dog.self, Person.self)
            let realm = try await Realm(actor: MainActor.shared)
            let dog = try await realm.asyncWrite { realm.create(Dog.self, value: ["name": "Rex"]) }
            #expect(dog.name == "Rex" && realm.objects(Dog.self).count == 1)
            #expect(await !realm.asyncRefresh())
        }

        /// "Interface-Driven Writes".
        @Test func A60_interfaceDrivenWrites() throws {
            let collection = realm.objects(Person.self)[0].dogs
            let notified = Atomic(0),
                token = realm.objects(Dog.self).observe { change in
                    if !change.isInitial { notified.add(change.insertions.count, ordering: .relaxed) }
                }
            try realm.store.deliver()
            // Perform an interface-driven write
            realm.beginWrite()
            collection.insert(Dog(), at: 0)
            // And making sure the change notification doesn't apply the change a second time
            try realm.commitWrite(withoutNotifying: [token])
            try realm.write(withoutNotifying: [token]) { realm.add(Dog()) }
            try realm.store.deliver()
            #expect(notified.load(ordering: .relaxed) == 0 && realm.objects(Dog.self).count == 2)
            try realm.write { realm.add(Dog()) }
            try realm.store.deliver()
            #expect(notified.load(ordering: .relaxed) == 1)
        }

        /// "Frozen Objects".
        @Test func A87_frozenObjects() throws {
            let realm = try Realm()
            let people = realm.objects(Person.self)
            // Get an immutable copy of the realm, of results, and of an object
            let frozenRealm = try realm.freeze(), frozenPeople = try people.freeze()
            let frozenPerson = try #require(try people.first?.freeze())
            #expect(frozenRealm.isFrozen && frozenPeople.isFrozen && frozenPerson.isFrozen && !realm.thaw().isFrozen)
            // Thaw one, and modify it
            let thawedPerson = frozenPerson.thaw()
            #expect(thawedPerson?.isFrozen == false && frozenPeople.thaw()?.count == 1)
            try realm.write { thawedPerson?.name = "John Michael Kane" }
            #expect(people[0].name == "John Michael Kane" && frozenPerson.name == "Dachary")
            #expect(try frozenPerson.dogs.thaw()?.isFrozen == false && people[0].dogs.freeze().isFrozen)
            try realm.write { realm.deleteAll() }
            #expect(frozenPerson.thaw() == nil && frozenPerson.dogs.thaw() == nil)
            #expect(throws: Realm.Error.self) { try Store.checked { _ = Person().thaw() } }
            realm.invalidate()
            #expect(thawedPerson?.isInvalidated == true && realm.objects(Person.self).isEmpty)
        }
    }
}
