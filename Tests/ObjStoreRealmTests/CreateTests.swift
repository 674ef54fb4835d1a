import Foundation
import ObjStoreRealm
import Testing

extension RealmExamples {
    /// "Create Objects", of the SDK for all languages, "CRUD - Create - Swift SDK", "Read & Write Data - Swift SDK",
    /// and the example files that "Write Data - Swift SDK" names (`ReadWriteData.codeblock.*`): what is in several of
    /// them is here once.
    @Suite struct Create {
        class DogToy: Object {
            @Persisted var name = ""
        }
        class Dog: Object {
            @Persisted var name = ""
            @Persisted var age = 0
            @Persisted var color = ""
            @Persisted var currentCity = ""
            @Persisted var citiesVisited: MutableSet<String>
            @Persisted var companion: AnyRealmValue
            @Persisted var favoriteToy: DogToy?
            // Map of city name -> favorite park in that city
            @Persisted var favoriteParksByCity: Map<String, String>
        }
        class Person: Object {
            @Persisted(primaryKey: true) var id = 0
            @Persisted var name = ""
            // To-many relationship - a person can have many dogs
            @Persisted var dogs: List<Dog>
            // Embed a single object.
            // Embedded object properties must be marked optional
            @Persisted var address: Address?
            // Backlink to a list of members of a club
            @Persisted(originProperty: "members") var clubs: LinkingObjects<DogClub>
        }
        class DogClub: Object {
            @Persisted var name = ""
            @Persisted var members: List<Person>
            // Embed an array of objects
            @Persisted var regionalOfficeAddresses: List<Address>
        }
        class Address: EmbeddedObject {
            @Persisted var street: String?
            @Persisted var city: String?
            @Persisted var country: String?
            @Persisted var postalCode: String?
        }

        init() { RealmExamples.useRealm(of: DogToy.self, Dog.self, Person.self, DogClub.self, Address.self) }

        private var dogs: [String] { try! Realm().objects(Dog.self).map { "\($0.name) \($0.age)" } }

        // MARK: create

        @Test func createAnObject() {
            // Instantiate the class and set its values.
            let dog = Dog()
            dog.name = "Rex"
            dog.age = 10

            // Get the default realm. You only need to do this once per thread.
            let realm = try! Realm()
            // Open a thread-safe transaction.
            try! realm.write {
                // Add the instance to the realm.
                realm.add(dog)
            }
            #expect(dogs == ["Rex 10"])
        }

        @Test func writeTransaction() {
            // Open the default realm.
            let realm = try! Realm()

            // Prepare to handle exceptions.
            do {
                // Open a thread-safe transaction.
                try realm.write {
                    // Make any writes within this code block.
                    // Realm automatically cancels the transaction
                    // if this code throws an exception. Otherwise,
                    // Realm automatically commits the transaction
                    // after the end of this code block.
                    realm.add(Dog(value: ["name": "Rex"]))
                }
            } catch let error as NSError {
                // Failed to write to realm.
                // ... Handle error ...
                Issue.record(error)
            }
            #expect(dogs == ["Rex 0"])
        }

        // MARK: initialise with a value

        @Test func initializeWithAValue() {
            // (1) Create a Dog object from a dictionary
            let myDog = Dog(value: ["name": "Pluto", "age": 3])

            // (2) Create a Dog object from an array
            let myOtherDog = Dog(value: ["Fido", 5])

            let realm = try! Realm()
            // Add to the realm inside a transaction
            try! realm.write {
                realm.add([myDog, myOtherDog])
            }
            #expect(dogs == ["Pluto 3", "Fido 5"])
        }

        @Test func nestedObjects() {
            let aDog = Dog(value: ["Rex", 1]), anotherDog = Dog(value: ["Spot", 2])
            // Instead of using pre-existing dogs...
            let aPerson = Person(value: [123, "Jane", [aDog, anotherDog]])

            // ...we can create them inline
            let anotherPerson = Person(value: [123, "Jane", [["Buster", 5], ["Buddy", 6]]])

            #expect(aPerson.dogs.map(\.name) == ["Rex", "Spot"] && anotherPerson.dogs.map(\.age) == [5, 6])
            let realm = try! Realm()
            try! realm.write {
                realm.add(aPerson)
                realm.add(anotherPerson, update: .modified)
            }
            #expect(aPerson.dogs.map(\.name) == ["Buster", "Buddy"] && realm.objects(Dog.self).count == 4)
        }

        @Test func createWithJSON() {
            // Specify a dog toy in JSON
            let data = "{\"name\": \"Tennis ball\"}".data(using: .utf8)!
            let realm = try! Realm()
            // Insert from data containing JSON
            try! realm.write {
                let json = try! JSONSerialization.jsonObject(with: data, options: [])
                realm.create(DogToy.self, value: json)
            }
            #expect(realm.objects(DogToy.self).map(\.name) == ["Tennis ball"])
        }

        // MARK: embedded objects, maps, sets, any value

        @Test func createAnEmbeddedObject() {
            // Open the default realm
            let realm = try! Realm()

            try! realm.write {
                let address = Address()
                address.street = "123 Fake St"
                address.city = "Springfield"
                address.country = "USA"
                address.postalCode = "90710"

                let contact = Person(value: ["name": "Nick Riviera"])

                // Assign the embedded object property
                contact.address = address

                realm.add(contact)
            }
            #expect(realm.objects(Person.self).first?.address?.city == "Springfield")
        }

        @Test func createAMapProperty() {
            let realm = try! Realm()

            // Record a dog's name and current city
            let dog = Dog()
            dog.name = "Wolfie"
            dog.currentCity = "New York"

            // Set map values
            dog.favoriteParksByCity["New York"] = "Domino Park"

            // Store the data in a realm
            try! realm.write {
                realm.add(dog)
                // You can also set map values inside a write transaction
                dog.favoriteParksByCity["Chicago"] = "Wiggly Field"
                dog.favoriteParksByCity.setValue("Bush Park", forKey: "Ottawa")
            }
            #expect(
                dog.favoriteParksByCity.keys == ["Chicago", "New York", "Ottawa"]
                    && dog.favoriteParksByCity["Ottawa"] == "Bush Park")
        }

        @Test func createAMutableSetProperty() {
            let realm = try! Realm()

            // Record a dog's name and current city
            let dog = Dog()
            dog.name = "Maui"
            dog.currentCity = "New York"

            // Store the data in a realm. Add the dog's current city
            // to the citiesVisited MutableSet
            try! realm.write {
                realm.add(dog)
                // You can only mutate the MutableSet in a write transaction.
                // This means you can't set values at initialization, but must do it during a write.
                dog.citiesVisited.insert(dog.currentCity)
            }

            // You can also add multiple items to the set.
            try! realm.write {
                dog.citiesVisited.insert(objectsIn: ["Boston", "Chicago"])
            }

            print("\(dog.name) has visited: \(dog.citiesVisited)")
            #expect(Array(dog.citiesVisited) == ["Boston", "Chicago", "New York"])
        }

        @Test func createAnAnyRealmValueProperty() {
            // Create a Dog object and then set its properties
            let myDog = Dog()
            myDog.name = "Rex"
            // This dog has no companion.
            // You can set the field's type to "none", which represents `nil`
            myDog.companion = .none

            // Create another Dog whose companion is a cat.
            // We don't have a Cat object, so we'll use a string to describe the companion.
            let theirDog = Dog()
            theirDog.name = "Wolfie"
            theirDog.companion = .string("Fluffy the Cat")

            // Another dog might have a dog as a companion.
            // We do have an object that can represent that, so we can specify the
            // type is a Dog object, and even set the object's value.
            let anotherDog = Dog()
            anotherDog.name = "Fido"
            // Note: this sets Spot as a companion of Fido, but does not set
            // Fido as a companion of Spot. Spot has no companion in this instance.
            anotherDog.companion = .object(Dog(value: ["name": "Spot"]))

            // Add the dogs to the realm
            let realm = try! Realm()
            try! realm.write {
                realm.add([myDog, theirDog, anotherDog])
            }
            // After adding these dogs to the realm, we now have 4 dog objects.
            let dogs = realm.objects(Dog.self)
            XCTAssertEqual(dogs.count, 4)

            // Verify the type of the ``AnyRealmValue`` when attempting to get it. This
            // returns an object whose property contains the matched type.

            // If you only care about one type, check for that type.
            if case let .string(companion) = theirDog.companion {
                XCTAssertEqual(companion, "Fluffy the Cat")
            } else {
                Issue.record("no text")
            }

            // Or if you want to do something with multiple types of data
            // that could be in the value, switch on the type.
            switch anotherDog.companion {
            case .string:
                Issue.record("a text")
            case .object(let companion as Dog):
                XCTAssertEqual(companion.name, "Spot")
            default: Issue.record("something else")
            }
        }

        // MARK: copy to another realm

        @Test func copyToAnotherRealm() {
            let realm = try! Realm()

            try! realm.write {
                realm.add(Dog(value: ["name": "Wolfie", "age": 1]))
            }

            // Later, fetch the instance we want to copy
            let wolfie = realm.objects(Dog.self).first(where: { $0.name == "Wolfie" })!

            // Open the other realm
            let types = realm.configuration.objectTypes
            let otherRealm = try! Realm(
                configuration: Realm.Configuration(inMemoryIdentifier: "first realm", objectTypes: types))
            try! otherRealm.write {
                // Copy to the other realm
                let wolfieCopy = otherRealm.create(type(of: wolfie), value: wolfie)
                wolfieCopy.age = 2

                // Verify that the copy is separate from the original
                XCTAssertNotEqual(wolfie.age, wolfieCopy.age)
            }
            #expect(otherRealm.objects(Dog.self).map(\.age) == [2])
        }

        // MARK: update

        @Test func modifyAnObject() {
            let realm = try! Realm()
            try! realm.write { realm.add(Dog(value: ["name": "Rex", "age": 1])) }
            // Get a dog to update
            let dog = realm.objects(Dog.self).first!

            // Open a thread-safe transaction
            try! realm.write {
                // Update some properties on the instance.
                // These changes are saved to the realm
                dog.name = "Wolfie"
                dog.age += 1
            }
            #expect(dogs == ["Wolfie 2"])
        }

        @Test func updatePropertiesWithKeyValueCoding() {
            let before = try! Realm()  // or the store in memory would be gone again
            try! before.write { before.add([Dog(value: ["name": "Rex"]), Dog(value: ["name": "Spot"])]) }
            let realm = try! Realm()

            let allDogs = realm.objects(Dog.self)

            try! realm.write {
                allDogs.first?.setValue("Sparky", forKey: "name")
                // Move the dogs to Toronto for vacation
                allDogs.setValue("Toronto", forKey: "currentCity")
            }
            #expect(allDogs.map(\.name) == ["Sparky", "Spot"] && allDogs.map(\.currentCity) == ["Toronto", "Toronto"])
        }

        @Test func updateAnEmbeddedObject() {
            let realm = try! Realm()
            try! realm.write {
                realm.add(Person(value: ["id": 1, "address": ["city": "Springfield"]] as [String: Any]))
            }
            // Modify an embedded object
            // Open the default realm
            let contact = realm.object(ofType: Person.self, forPrimaryKey: 1)!
            try! realm.write {
                contact.address?.street = "Hollywood Upstairs Medical College"
                contact.address?.city = "Los Angeles"
                contact.address?.postalCode = "90210"
            }
            #expect(contact.address?.city == "Los Angeles")
            try! realm.write {
                let newAddress = Address(value: [
                    "street": "Hollywood Upstairs Medical College", "city": "Los Angeles", "country": "USA",
                    "postalCode": "90210",
                ])
                // Overwrite the embedded object
                contact.address = newAddress
            }
            #expect(contact.address?.country == "USA")
        }

        // MARK: upsert

        @Test func upsertAnObject() {
            let realm = try! Realm()
            try! realm.write {
                let person1 = Person(value: ["id": 1234, "name": "Jones"])
                // Add a new person to the realm. Since nobody with ID 1234
                // has been added yet, this adds the instance to the realm.
                realm.add(person1, update: .modified)

                let person2 = Person(value: ["id": 1234, "name": "Bowie"])
                // Judging by the ID, it's the same person, just with a
                // different name. When `update` is:
                // - .modified: update the fields that have changed.
                // - .all: replace all of the fields regardless of
                //   whether they've changed.
                // - .error: throw an exception if a key with the same
                //   primary key already exists.
                realm.add(person2, update: .modified)
            }
            #expect(realm.objects(Person.self).map(\.name) == ["Bowie"])
        }

        @Test func partialUpdate() {
            let before = try! Realm()
            try! before.write { before.add(Person(value: [123, "Jane", [["Rex", 1]]])) }
            let realm = try! Realm()
            try! realm.write {
                // Use .modified to only update the provided values.
                // Note that the "name" property will remain the same
                // for the person with primary key "id" 123.
                realm.create(
                    Person.self,
                    value: ["id": 123, "dogs": [["Buster", 5]]],
                    update: .modified)
            }
            let person = realm.object(ofType: Person.self, forPrimaryKey: 123)
            #expect(person?.name == "Jane" && person?.dogs.map(\.name) == ["Buster"])
        }

        // MARK: delete

        private func someDogs() -> Realm {
            let realm = try! Realm()
            try! realm.write {
                realm.add([Dog(value: ["name": "Rex", "age": 1]), Dog(value: ["name": "Old", "age": 9])])
            }
            return realm
        }

        @Test func deleteAnObject() {
            let realm = someDogs()
            // Previously, we've added a dog object to the realm.
            let dog = Dog(value: ["name": "Max", "age": 5])
            try! realm.write {
                realm.add(dog)
            }

            // Delete the instance from the realm.
            try! realm.write {
                realm.delete(dog)
            }
            #expect(dog.isInvalidated && dogs == ["Rex 1", "Old 9"])
        }

        @Test func deleteACollectionTypeSafe() {
            let realm = someDogs()
            try! realm.write {
                // Find dogs younger than 2 years old.
                let puppies = realm.objects(Dog.self).where {
                    $0.age < 2
                }

                // Delete the objects in the collection from the realm.
                realm.delete(puppies)
            }
            #expect(dogs == ["Old 9"])
        }

        @Test func deleteACollection() {
            let realm = someDogs()
            try! realm.write {
                // Find dogs younger than 2 years old.
                let puppies = realm.objects(Dog.self).filter("age < 2")

                // Delete the objects in the collection from the realm.
                realm.delete(puppies)
            }
            #expect(dogs == ["Old 9"])
        }

        @Test func deleteAllOfAClass() {
            let realm = someDogs()
            try! realm.write {
                // Delete all instances of Dog from the realm.
                let allDogs = realm.objects(Dog.self)
                realm.delete(allDogs)
            }
            #expect(dogs.isEmpty)
        }

        @Test func deleteAll() {
            let realm = someDogs()
            try! realm.write {
                // Delete all objects from the realm.
                realm.deleteAll()
            }
            #expect(dogs.isEmpty)
        }
    }

    /// What the names do where it goes wrong.
    @Suite struct Errors {
        private final class Key: Object {
            @Persisted(primaryKey: true) var id = 0
            @Persisted var name = ""
        }

        private let realm: Realm

        init() {
            RealmExamples.useRealm(of: Key.self)
            realm = try! Realm()
        }

        @Test func whatIsReportedUndoesTheWrite() {
            let error = #expect(throws: ObjStoreError.self) {
                try realm.write {
                    realm.add(Key(value: ["id": 1]))
                    realm.add(Key(value: ["id": 1]))
                }
            }
            #expect(error?.code == .duplicateKey && realm.objects(Key.self).isEmpty)
            #expect(throws: ObjStoreError.self) { try realm.write { realm.create(Key.self, value: ["id": "one"]) } }
            #expect(throws: ObjStoreError.self) { try realm.write { _ = Key(value: ["name": 5]) } }
            #expect(throws: ObjStoreError.self) {
                try realm.write { realm.objects(Key.self).filter("nme == 'a'").setValue("b", forKey: "name") }
            }
            #expect(throws: ObjStoreError.self) { try realm.write { realm.delete(Key()) } }
        }

        @Test func outsideOfAWrite() {
            realm.add(Key(value: ["id": 1]))
            #expect(realm.store.lastError?.code == .notInWrite && realm.objects(Key.self).isEmpty)
        }

        @Test func namesThatAreNoProperties() throws {
            try realm.write { realm.create(Key.self, value: ["id": 7, "name": "a", "colour": "red"] as [String: Any]) }
            #expect(realm.object(ofType: Key.self, forPrimaryKey: 7)?.name == "a")
        }

        @Test func argumentsOfAPredicate() throws {
            try realm.write { realm.add((0..<5).map { Key(value: [$0, "100%@ \($0)"]) }) }
            #expect(realm.objects(Key.self).filter("id > %@", 2).map(\.id) == [3, 4])
            #expect(realm.objects(Key.self).filter("id == %d", 2).map(\.id) == [2])
            #expect(realm.objects(Key.self).filter("name == '100%@ 3'").map(\.id) == [3])
        }

        @Test func oneStoreForAConfiguration() throws {
            let again = try Realm()
            #expect(again.store === realm.store)
            try realm.write { again.add(Key(value: ["id": 1])) }
            #expect(again.objects(Key.self).count == 1)
        }
    }
}
