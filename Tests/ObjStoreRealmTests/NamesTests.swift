import ObjStoreRealm
import Synchronization
import Testing

extension RealmExamples {
    /// Names that a Realm program uses beyond its documents' examples, each without `try` where Realm has none.
    @Suite struct Names {
        class Dog: Object {
            @Persisted(primaryKey: true) var id = 0
            @Persisted var name = ""
            @Persisted var age = 0
            @Persisted var weight: Double?
            @Persisted var born: Date
            @Persisted var alive = false
            @Persisted var scores: Map<String, Int>
            @Persisted var owner: Person?
        }
        class Person: Object {
            @Persisted(primaryKey: true) var id = 0
            @Persisted var any: AnyRealmValue
            @Persisted var dogs: List<Dog>
            @Persisted(originProperty: "owner") var own: LinkingObjects<Dog>
        }

        private let realm: Realm
        private var dogs: Results<Dog> { realm.objects(Dog.self) }

        init() throws {
            RealmExamples.useRealm(of: Dog.self, Person.self)
            realm = try Realm()
            try realm.write {
                let person = realm.create(Person.self, value: ["id": 1])
                for number in 1...4 {
                    let born = Date(timeIntervalSince1970: Double(number))
                    person.dogs.append(
                        realm.create(
                            Dog.self,
                            value: [
                                "id": number, "name": "dog \(number)", "age": number, "weight": 2.5, "born": born,
                                "alive": number > 1,
                            ]))
                }
            }
        }

        @Test func sections() throws {
            let dogs = realm.objects(Dog.self), newest = [SortDescriptor(keyPath: "age", ascending: false)]
            let sections = dogs.sectioned(by: \.alive)
            XCTAssertEqual(sections.allKeys, [false, true])
            XCTAssertEqual(dogs.sectioned(by: \.alive, ascending: false).allKeys, [true, false])
            let named = dogs.sectioned(by: { String($0.name.suffix(1)) }, sortDescriptors: newest)
            XCTAssertEqual(named.allKeys, ["4", "3", "2", "1"])
            XCTAssertEqual(dogs.sectioned(by: \.age, sortDescriptors: newest).map { $0[0].age }, [4, 3, 2, 1])
            XCTAssertEqual(dogs.sectioned(by: \.age, sortDescriptors: []).count, 4)
            XCTAssertEqual(try sections.freeze().thaw()?.map { $0.map(\.id) } ?? [], [[1], [2, 3, 4]])
        }

        @Test func observedSections() throws {
            let told = Mutex<[String]>([])
            let sections = dogs.sectioned(by: \.alive)
            let all = sections.observe { change in
                guard case .update(_, let deletions, _, _, let new, let old) = change.kind else { return }
                told.withLock { $0.append("all \(deletions) \(new) \(old)") }
            }
            let one = sections[1].observe(keyPaths: ["name"]) { change in
                told.withLock { $0.append("one \(change.insertions) \(change.modifications)") }
            }
            try realm.store.deliver()
            try realm.write {
                dogs[0].alive = true
                dogs[3].name = "x"
            }
            try realm.store.deliver()
            XCTAssertEqual(told.withLock { $0 }, ["one [] []", "all [[0][0]] [] [0]", "one [[0][0]] [[0][3]]"])
            all.invalidate()
            one.invalidate()
            sections.observe(keyPaths: ["nothing"]) { _ in }.invalidate()
        }

        @Test func observing() throws {
            let told = Mutex<[String]>([])
            let results = dogs.observe { change in told.withLock { $0.append("results \(change.modifications)") } }
            let named = dogs.observe(keyPaths: ["age"]) { change in
                told.withLock { $0.append("age \(change.modifications)") }
            }
            let paths = dogs.observe(keyPaths: [\.name]) { change in
                told.withLock { $0.append("name \(change.modifications)") }
            }
            let dog = dogs[0].observe { change in if case .change = change { told.withLock { $0.append("dog") } } }
            let age = dogs[0].observe(keyPaths: [\Dog.age]) { change in
                if case .change = change { told.withLock { $0.append("dog's age") } }
            }
            let scores = dogs[1].scores.observe { change in
                told.withLock { $0.append("scores \(change.insertedKeys)") }
            }
            try realm.store.deliver()
            told.withLock { $0 = [] }
            try realm.write { dogs[0].age = 7 }
            try realm.store.deliver()
            #expect(told.withLock { $0.sorted() } == ["age [0]", "dog", "dog's age", "results [0]"])
            scores.invalidate()
            // What cannot be observed is reported, and the token ends nothing.
            #expect(throws: ObjStoreError.self) {
                try Store.checked { dogs.observe(keyPaths: ["none"]) { _ in }.invalidate() }
            }
            #expect(throws: ObjStoreError.self) { try Store.checked { Dog().observe { _ in }.invalidate() } }
            for token in [results, named, paths, dog, age] { token.invalidate() }
            try realm.write { dogs[0].age = 8 }
            try realm.store.deliver()
            #expect(told.withLock { $0.count } == 4)
        }

        @Test func numbersOfResults() throws {
            #expect(
                dogs.sum(of: \.age) == 10 && dogs.average(of: \.age) == 2.5 && dogs.min(of: \.age) == 1
                    && dogs.max(of: \.weight) == 2.5)
            #expect(
                dogs.sum(ofProperty: "age") as Int == 10 && dogs.average(ofProperty: "age") == 2.5
                    && dogs.max(ofProperty: "age") == 4)
            #expect(
                dogs.min(of: \.born) == Date(timeIntervalSince1970: 1)
                    && dogs.max(ofProperty: "born") == Date(timeIntervalSince1970: 4))
            #expect(throws: ObjStoreError.self) { try Store.checked { dogs.average(ofProperty: "none") } }
            #expect(dogs.objects(at: [0, 2]).map(\.id) == [1, 3] && !dogs.isFrozen && !dogs.isInvalidated)
            #expect(try dogs.freeze().isFrozen && !realm.isFrozen)
            let person = try #require(realm.object(ofType: Person.self, forPrimaryKey: 1))
            #expect(!person.own.isFrozen && !person.own.isInvalidated && !Person().own.isFrozen)
            #expect(
                try realm == Realm()
                    && realm
                        != Realm(
                            configuration: .init(inMemoryIdentifier: "another", objectTypes: [Dog.self, Person.self]))
            )
        }

        @Test func predicates() {
            #expect(
                dogs.filter("alive == YES").count == 3 && dogs.filter("alive == NO").count == 1
                    && dogs.filter("alive = true").count == 3)
            #expect(
                dogs.filter("age == %ld", 3).map(\.id) == [3] && dogs.filter("age > %lld", 2).count == 2
                    && dogs.filter("weight > %lf", 2).count == 4)
            #expect(
                dogs.filter("age < %i", 3).count == 2 && dogs.filter("name == %@", "dog 1").count == 1
                    && dogs.filter("name == 'YES %ld'").count == 0)
            #expect(
                dogs.filter("age > %@ && (alive == YES OR name BEGINSWITH[c] 'DOG') SORT(age DESC)", 2).map(\.id) == [
                    4, 3,
                ]
                    && dogs.filter("age IN %@", [1, 4]).count == 2
                    && dogs.filter("age BETWEEN {%@, %@}", 2, 3).count == 2
                    && dogs.filter("NOT (alive == NO)").filter("age < 4").map(\.id) == [2, 3])
        }

        /// Conditions about other objects, as texts and as Realm's type-safe queries are written; and orders.
        @Test func paths() throws {
            let person = try #require(realm.object(ofType: Person.self, forPrimaryKey: 1))
            try realm.write {
                let other = realm.create(Person.self, value: ["id": 2])
                (dogs[0].owner, dogs[1].owner, dogs[2].owner) = (other, person, person)
                dogs[3].scores["a"] = 7
            }
            func ids(_ text: String, _ arguments: Any...) -> [Int] {
                switch arguments.count {
                case 0: dogs.filter(text).map(\.id)
                case 1: dogs.filter(text, arguments[0]).map(\.id)
                default: dogs.filter(text, arguments[0], arguments[1]).map(\.id)
                }
            }
            #expect(ids("owner.id == 1") == [2, 3] && ids("%K == %@", "owner.id", 2) == [1])
            #expect(ids("%K > %@", "age", 3) == [4] && ids("name == '%K'") == [] && ids("owner.id == %ld", 2) == [1])
            #expect(ids("scores.@count > 0 AND ANY scores.@values == %@", 7) == [4] && ids("scores['a'] == 7") == [4])
            #expect(ids("ANY owner.dogs.age == 4") == [2, 3] && ids("owner.@links.Dog.owner.@count == 2") == [2, 3])
            let people = realm.objects(Person.self)
            func found(_ condition: (Query<Person>) -> Query<Bool>) -> [Int] {
                realm.objects(Person.self).where(condition).map(\.id)
            }
            #expect(
                people.filter("SUBQUERY(dogs, $dog, $dog.age > %@ AND $dog.alive == YES).@count == 2", 2).map(\.id) == [
                    1
                ])
            #expect(found { ($0.dogs.age > 2 && $0.dogs.alive).count == 2 } == [1])
            #expect(found { $0.dogs.age.max > 3 } == [1] && found { $0.dogs.age.avg == 2.5 } == [1])
            #expect(found { $0.dogs.age.sum == 0 } == [2] && found { $0.dogs.count == 0 } == [2])
            #expect(found { $0.own.count == 2 } == [1] && found { $0.dogs.containsAny(in: [dogs[0]]) } == [1])
            func typed(_ condition: (Query<Dog>) -> Query<Bool>) -> [Int] { dogs.where(condition).map(\.id) }
            #expect(typed { $0.owner.id == 1 } == [2, 3] && typed { $0.owner.dogs.age == 4 } == [2, 3])
            #expect(typed { $0.scores["a"] == 7 } == [4] && typed { $0.scores.keys == "a" } == [4])
            #expect(typed { $0.scores.values == 7 } == [4] && typed { $0.scores.contains(5...8) } == [4])
            #expect(
                dogs.sorted(byKeyPath: "owner.id").map(\.id) == [4, 2, 3, 1]
                    && dogs.sorted(by: [SortDescriptor(keyPath: \Dog.owner?.id, ascending: false)]).map(\.id) == [
                        1, 2, 3, 4,
                    ]
                    && SortDescriptor(keyPath: \Dog.owner?.id).keyPath == "owner.id")
            #expect(dogs.distinct(by: ["owner.id"]).map(\.id) == [1, 2, 4])
            #expect(
                code { ids("%K == 1", 5) } == .invalidQuery && code { ids("%K == 1", "owner.di") } == .noSuchProperty)
        }

        /// As the type-safe queries of Realm's documents are written.
        @Test func typeSafeQueries() {
            func ids(_ condition: (Query<Dog>) -> Query<Bool>) -> [Int] { dogs.where(condition).map(\.id) }
            #expect(ids { $0.age > 1 && $0.age < 4 } == [2, 3] && ids { $0.age == 1 || !$0.alive } == [1])
            #expect(ids { $0.age.contains(2...3) } == [2, 3] && ids { $0.age.contains(2..<3) } == [2])
            #expect(ids { $0.name.in(["dog 1", "dog 4"]) } == [1, 4])
            #expect(ids { $0.name.starts(with: "DOG", options: .caseInsensitive) && $0.name.ends(with: "3") } == [3])
            #expect(ids { $0.name.contains("G 2", options: [.caseInsensitive, .diacriticInsensitive]) } == [2])
            #expect(ids { $0.name.like("d?g*1") } == [1] && ids { $0.name.like("D?G*1", caseInsensitive: true) } == [1])
            #expect(ids { $0.name.equals("DOG 2", options: .caseInsensitive) } == [2])
            #expect(ids { $0.weight * 2 >= 5 && $0.age - 1 == 2 } == [3] && ids { $0.owner == nil }.count == 4)
            #expect(realm.objects(Person.self).where { $0.dogs.contains(dogs[2]) }.count == 1)
        }

        @Test func sorted() {
            func ids(_ results: Results<Dog>) -> [Int] { results.map(\.id) }
            #expect(
                ids(dogs.sorted(byKeyPath: "age", ascending: false)) == [4, 3, 2, 1]
                    && ids(dogs.sorted(by: \.alive, ascending: false)) == [2, 3, 4, 1])
            #expect(
                ids(
                    dogs.sorted(by: [
                        SortDescriptor(keyPath: "alive"), SortDescriptor(keyPath: \Dog.age, ascending: false),
                    ])) == [1, 4, 3, 2])
            #expect(ids(dogs.sorted(by: [SortDescriptor(keyPath: "age").reversed()])) == [4, 3, 2, 1])
            #expect(ids(dogs.distinct(by: ["alive"])) == [1, 2] && ids(dogs.distinct(by: [\.alive])) == [1, 2])
            #expect(code { dogs.sorted(byKeyPath: "aeg").count } == .noSuchProperty)
        }

        /// A quote that is escaped ends no text, and what is in one stays as it is.
        @Test func quotedTexts() throws {
            let names = ["it's YES", "it's true", "a'b %@", "\\' NO", "\"NO\""]
            try realm.write {
                for (number, name) in names.enumerated() {
                    realm.add(Dog(value: ["id": 10 + number, "name": name] as [String: Any]))
                }
            }
            func ids(_ text: String) -> [Int] { dogs.filter(text).map(\.id) }
            #expect(
                ids("name == 'it\\'s YES'") == [10] && ids("name == 'it\\'s true'") == [11]
                    && ids("name == 'a\\'b %@'") == [12])
            #expect(
                ids("name == '\\\\\\' NO'") == [13] && ids("name == \"\\\"NO\\\"\"") == [14]
                    && ids("name == '\"NO\"'") == [14])
            #expect(code { dogs.filter("name == 'open\\'").count } == .invalidQuery)
        }

        @Test func valuesThatDoNotFit() throws {
            for misfit in [["age": "x"], ["scores": ["a": "x"]], ["owner": ["id": "x"]], ["owner": 5]]
                as [[String: Any]]
            {
                let value = ["id": 5, "name": "half", "weight": 2.5, "alive": true].merging(misfit) { $1 }
                var dog: Dog?
                #expect(code { dog = Dog(value: value) } != nil, "\(misfit)")
                let made = try #require(dog)
                #expect(
                    made.id == 0 && made.name == "" && made.age == 0 && made.weight == nil && !made.alive
                        && made.scores.count == 0 && made.owner == nil, "\(misfit)")
            }
        }

        @Test func configurations() throws {
            for url in ["http://x/tmp/never.objstore", "never.objstore?a=b"] {
                let configuration = Realm.Configuration(
                    fileURL: URL(string: url), objectTypes: [Dog.self, Person.self])
                #expect(code { try Realm(configuration: configuration) } == .invalidArgument, "\(url)")
                #expect(
                    code { try Realm.deleteFiles(for: configuration) } == .invalidArgument
                        && !Realm.fileExists(for: configuration))
            }
            let seeded = Realm.Configuration(
                inMemoryIdentifier: "seeded", objectTypes: [Dog.self, Person.self],
                seedFilePath: URL(string: "http://x/seed"))
            #expect(code { try Realm(configuration: seeded) } == .invalidArgument)
            func version(_ version: UInt64) -> Realm.Configuration {
                Realm.Configuration(
                    inMemoryIdentifier: "versions", schemaVersion: version, objectTypes: [Dog.self, Person.self])
            }
            #expect(code { try Realm(configuration: version(.max)) } == .outOfRange)
            let fifth = try Realm(configuration: version(5))
            let error = #expect(throws: ObjStoreError.self) { try Realm(configuration: version(1)) }
            #expect(error?.message == "the file has schema version 5, the program asks for 1")
            #expect(fifth.objects(Dog.self).isEmpty)
        }

        private func code<R>(_ body: () throws -> R) -> ObjStoreError.Code? {
            do { _ = try Store.checked(body) } catch { return (error as? ObjStoreError)?.code }
            return nil
        }

        @Test func listsAndMaps() throws {
            let person = try #require(realm.object(ofType: Person.self, forPrimaryKey: 1)), dog = dogs[0]
            func isCollection(_ collection: some RealmCollection) -> Bool { true }
            func value<T: RealmCollectionValue>(_ value: T) -> T { value }
            #expect(isCollection(person.dogs) && isCollection(dogs) && value(5) == 5)
            try realm.write {
                person.dogs.removeObjects(at: [0, 2])
                #expect(person.dogs.map(\.id) == [2, 4])
                // All of them, or none.
                for indexes in [[0, 99], [-1], [Int.max, 0]] {
                    #expect(code { person.dogs.removeObjects(at: indexes) } == .outOfRange)
                }
                #expect(person.dogs.map(\.id) == [2, 4])
                person.dogs.remove(atOffsets: [1])
                #expect(person.dogs.map(\.id) == [2])
                person.dogs.removeAll(keepingCapacity: true)
                #expect(person.dogs.isEmpty)
                dog.scores["a"] = 1
                dog.scores["b", default: 5] += 1
                dog.scores.merge(["a": 10, "c": 3]) { $0 + $1 }
            }
            #expect(dog.scores.object(forKey: "a") == 11 && dog.scores.value(forKey: "b") == 6 && dog.scores["c"] == 3)
            var pairs: [String] = []
            for (key, value) in dog.scores.asKeyValueSequence() { pairs.append("\(key) \(value)") }
            #expect(pairs == ["a 11", "b 6", "c 3"])
        }

        @Test func dynamicNames() throws {
            #expect(
                realm.dynamicObjects("Dog").count == 4
                    && realm.dynamicObject(ofType: "Dog", forPrimaryKey: 3)?.age == .int(3))
            #expect(
                realm.dynamicObject(ofType: "Dog", forPrimaryKey: 9) == nil
                    && code { realm.dynamicObject(ofType: "None", forPrimaryKey: 9) } == .noSuchClass)
            let person = try #require(realm.object(ofType: Person.self, forPrimaryKey: 1))
            try realm.write {
                person.dogs.replace(index: 0, object: dogs[3])
                #expect(code { person.dogs.replace(index: 4, object: dogs[3]) } == .outOfRange)
                #expect(person.dogs.map(\.id) == [4, 2, 3, 4])
                person.dogs.removeSubrange(1...2)
                #expect(person.dogs.map(\.id) == [4, 4])
            }
        }

        @Test func values() throws {
            let person = try #require(realm.object(ofType: Person.self, forPrimaryKey: 1)),
                day = Date(timeIntervalSince1970: 7)
            try realm.write { person.any = .date(day) }
            #expect(person.any.dateValue == day)
            switch person.any {
            case .date(let time): #expect(time == Timestamp(day));
            default: Issue.record("no date")
            }
            try realm.write { person.any = .data(Data([1, 2])) }
            #expect(person.any.dataValue == Data([1, 2]))
            try realm.write { person.any = .fromDictionary(["x": .fromArray([.int(1), .string("y")])]) }
            #expect(person.any.dictionaryValue?["x"]?.listValue?[1].stringValue == "y")
            try realm.write { person.any = AnyRealmValue.fromArray([.none]) }
            #expect(person.any.listValue?.count == 1 && person.any.dateValue == nil)
        }

        @Test func objectsThatATaskDoesNotWant() async throws {
            let realm = realm
            try await Task { try realm.write { realm.create(Person.self, value: ["id": 2]) } }.value
            let third = try realm.write { realm.create(Person.self, value: ["id": 3]) }
            #expect(third.id == 3 && realm.objects(Person.self).count == 3)
        }
    }
}
