import ObjStoreRealm
import Testing

extension RealmExamples {
    /// "Writes", the overview for all languages.
    @Suite struct Writes {
        class Dog: Object {
            @Persisted var name = ""
            @Persisted var age = 0
            @Persisted var owner: Person?
        }
        class Person: Object {
            @Persisted(primaryKey: true) var id = 0
            @Persisted var name = ""
            @Persisted(originProperty: "owner") var dogs: LinkingObjects<Dog>
        }

        private let realm: Realm

        init() {
            RealmExamples.useRealm(of: Dog.self, Person.self)
            realm = try! Realm()
            try! realm.write {
                realm.add([Dog(value: ["name": "Rex", "age": 1]), Dog(value: ["name": "Old", "age": 9])])
            }
        }

        /// Realm's quick start, and names of values.
        @Test func newObjectsHaveIds() throws {
            class Todo: Object {
                @Persisted(primaryKey: true) var _id: ObjectId
                @Persisted var name = ""
                @Persisted var any: AnyRealmValue
                convenience init(name: String) {
                    self.init()
                    self.name = name
                }
            }
            RealmExamples.useRealm(of: Todo.self)
            let realm = try Realm()
            try realm.write { realm.add(Todo(name: "one")) }
            try realm.write { realm.add(Todo(name: "two")) }
            let todos = realm.objects(Todo.self)
            #expect(todos.map(\.name) == ["one", "two"] && todos[0]._id != todos[1]._id && Todo.className() == "Todo")
            let id = try ObjectId(string: todos[0]._id.stringValue)
            #expect(realm.object(ofType: Todo.self, forPrimaryKey: id)?.name == "one")
            #expect(throws: Realm.Error.self) { try ObjectId(string: "none") }
            try realm.write {
                todos[0].any = .int(5)
                todos[1].any = .object(todos[0])
            }
            #expect(
                todos[0].any.intValue == 5 && todos[0].any.stringValue == nil
                    && todos[1].any.object(Todo.self)?._id == id)
        }

        @Test func runATransaction() {
            try! realm.write {
                // Create a person to take care of some dogs.
                let ali = Person(value: ["id": 1, "name": "Ali"])
                realm.add(ali)

                // Find dogs younger than 2.
                let puppies = realm.objects(Dog.self).filter("age < 2")

                // Give all puppies to Ali.
                puppies.setValue(ali, forKey: "owner")
            }
            #expect(realm.object(ofType: Person.self, forPrimaryKey: 1)?.dogs.map(\.name) == ["Rex"])
        }

        @Test func createAnObject() {
            // Instantiate the class. For convenience, you can initialize
            // objects from dictionaries with appropriate keys and values.
            let dog = Dog(value: ["name": "Max", "age": 5]);

            // Open a thread-safe transaction.
            try! realm.write {
                // Add the instance to the realm.
                realm.add(dog)
            }
            #expect(dog.isManaged && realm.objects(Dog.self).filter("name == 'Max'").first?.age == 5)
        }

        @Test func upsertAnObject() {
            try! realm.write {
                let drew = Person(value: ["id": 1234, "name": "Drew"])
                // Add a new person to the realm. Since nobody with ID 1234
                // has been added yet, this adds the instance to the realm.
                realm.add(drew, update: .modified)

                let andy = Person(value: ["id": 1234, "name": "Andy"])
                // Judging by the ID, it's the same person, just with a
                // different name. When `update` is:
                // - .modified: update the fields that have changed.
                // - .all: replace all of the fields regardless of
                //   whether they've changed.
                // - .error: throw an exception if a key with the same
                //   primary key already exists.
                realm.add(andy, update: .modified)
            }
            #expect(realm.objects(Person.self).map(\.name) == ["Andy"])
        }

        @Test func updateAnObject() {
            // Open a thread-safe transaction.
            try! realm.write {
                // Get a dog to update.
                let dog = realm.objects(Dog.self).first!;

                // Update some properties on the instance.
                // These changes are saved to the realm.
                dog.name = "Wolfie";
                dog.age += 1;
            }
            #expect(realm.objects(Dog.self).map { "\($0.name) \($0.age)" } == ["Wolfie 2", "Old 9"])
        }

        @Test func updateACollection() {
            try! realm.write {
                // Create a person to take care of some dogs.
                let ali = Person(value: ["id": 1, "name": "Ali"])
                realm.add(ali)

                // Find dogs younger than 2.
                let puppies = realm.objects(Dog.self).filter("age < 2")

                // Give all puppies to Ali.
                puppies.setValue(ali, forKey: "owner")
            }
            #expect(realm.objects(Dog.self).map { $0.owner?.name } == ["Ali", nil])
        }

        @Test func deleteAnObject() {
            var dog: Dog! = realm.objects(Dog.self).first
            try! realm.write {
                // Delete the instance from the realm.
                realm.delete(dog);

                // Discard the reference.
                dog = nil;
            }
            #expect(dog == nil && realm.objects(Dog.self).map(\.name) == ["Old"])
        }

        @Test func deleteACollection() {
            try! realm.write {
                // Find dogs younger than 2 years old.
                let puppies = realm.objects(Dog.self).filter("age < 2")

                // Delete the objects in the collection from the realm.
                realm.delete(puppies);
            }
            #expect(realm.objects(Dog.self).map(\.name) == ["Old"])
        }

        @Test func cascadingDelete() {
            let ali = Person(value: ["id": 1, "name": "Ali"])
            try! realm.write {
                realm.add(ali)
                realm.objects(Dog.self).first!.owner = ali
            }
            try! realm.write {
                // Delete Ali's dogs.
                realm.delete(ali.dogs);
                // Delete Ali.
                realm.delete(ali);
            }
            #expect(ali.isInvalidated && realm.objects(Dog.self).map(\.name) == ["Old"])
        }

        @Test func deleteAllInstancesOfAType() {
            try! realm.write {
                // Delete all instances of Dog from the realm.
                let allDogs = realm.objects(Dog.self)
                realm.delete(allDogs);
            }
            #expect(realm.objects(Dog.self).isEmpty)
        }

        /// What the documents of other chapters call.
        @Test func otherNames() throws {
            let ali = Person(value: ["id": 1, "name": "Ali"])
            try realm.write {
                realm.add(ali)
            }
            let numbers = List<Int>([1])
            numbers.append(contentsOf: [2, 3, 5, 7])
            numbers.removeAll { $0 % 2 == 1 }
            #expect(Array(numbers) == [2])
            let notes = Map<String, Int>()
            notes["a"] = 1
            notes.removeObject(for: "a")
            #expect(notes.isEmpty)
            #expect(realm.objects(Person.self).sum(ofProperty: "id") as Int == 1)
            #expect(
                realm.objects(Person.self).max(ofProperty: "id") == 1
                    && realm.objects(Person.self).min(ofProperty: "id") == 1)
            #expect(throws: ObjStoreError.self) {
                try Store.checked { realm.objects(Person.self).sum(ofProperty: "height") as Int }
            }
            let missing = Realm.Configuration(fileURL: URL(fileURLWithPath: "/tmp/objstore-no-such-file"))
            #expect(try !Realm.fileExists(for: missing) && !Realm.deleteFiles(for: missing))
        }

        @Test func deleteEverything() {
            try! realm.write { realm.add(Person(value: ["id": 1])) }
            try! realm.write {
                // Delete all objects from the realm.
                realm.deleteAll();
            }
            #expect(realm.objects(Dog.self).isEmpty && realm.objects(Person.self).isEmpty)
        }
    }
}
