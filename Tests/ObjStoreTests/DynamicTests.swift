import ObjStore
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// D84: stores without models, and what a store says of its classes.
@Suite struct DynamicTests {
    enum Mood: String, PersistableEnum { case calm, wild }

    final class Address: EmbeddedObject {
        @Persisted var city = "Rome"
        @Persisted var lines: List<String>
    }

    final class Person: Object {
        @Persisted(primaryKey: true, generated: true) var id: Int
        @Persisted var name: String
        @Persisted(unique: true) var email: String?
        @Persisted(indexed: true) var age = 18
        @Persisted var visits: Counter = 0
        @Persisted var score: Float = 1.5
        @Persisted var height: Double?
        @Persisted var money = DynamicTests.price
        @Persisted var data: [UInt8] = [1, 2]
        @Persisted var born: Timestamp?
        @Persisted(generated: true) var token: UUID
        @Persisted var on = true
        @Persisted var mood = Mood.calm
        @Persisted var extra: AnyValue
        @Persisted var home: Address?
        @Persisted var places: List<Address>
        @Persisted var best: Person?
        @Persisted var friends: List<Person>
        @Persisted var seen: MutableSet<Person>
        @Persisted var named: Map<UUID, Person?>
        @Persisted var notes: Map<Int, Double?>
        @Persisted var tags: MutableSet<String>
        override class var indexes: [Index] { [Index("name", "age")] }
    }

    final class Reading: Object {
        @Persisted var sensor: String
        @Persisted var time: Int
        @Persisted var value = 0.0
        override class var indexes: [Index] { [Index("sensor", "time", primaryKey: true)] }
    }

    static let price = try! Decimal128("1.10")
    private static let models: [Object.Type] = [Address.self, Person.self, Reading.self]
    private static let key = UUID(uuidString: "00000000-0000-0000-0000-00000000004D")!

    private func filled(_ path: String) throws {
        let store = try Store.open(path: path, models: DynamicTests.models)
        try store.write { tx in
            let ann = try tx.create(
                Person.self,
                value: [
                    "name": "Ann", "home": ["city": "Oslo", "lines": ["a", "b"]], "places": [["city": "Bern"], [:]],
                ] as [String: Any])
            let bob = try tx.create(
                Person.self,
                value: [
                    "name": "Bob", "best": ann, "friends": [ann, ann], "notes": [1: nil, 5: 0.5] as [Int: Double?],
                    "tags": ["x", "y"],
                ] as [String: Any])
            bob.seen.insert(ann)
            bob.named[DynamicTests.key] = ann
            ann.extra = ["a": [1, 2.5, .none]]
            bob.extra = .object(ann)
            try ann.visits.increment(by: 3)
            try tx.create(Reading.self, value: ["n", 1, 2.5] as [Any])
            try tx.create(Reading.self, value: ["n", 2] as [Any])
        }
        try store.close()
    }

    @Test func reading() throws {
        let folder = Folder(), path = folder.file()
        try filled(path)
        let store = try Store.open(path: path)
        let people = store.dynamicObjects("Person")
        #expect(people.count == 2 && people.map { $0.name?.string } == ["Ann", "Bob"])
        let ann = people[0], bob = try #require(try store.dynamicObject(ofType: "Person", forPrimaryKey: 2))
        #expect(bob == people[1] && bob.className == "Person" && ann != bob && !ann.isInvalidated)
        #expect(
            ann["age"] == .int(18) && ann.score == .float(1.5) && ann["height"] == nil && ann.on == .bool(true)
                && ann.mood == .string("calm"))
        #expect(
            ann.money == .decimal128(DynamicTests.price) && ann.data == .data([1, 2]) && ann.visits == .int(3)
                && ann.token?.uuid != nil)
        #expect(ann.extra == ["a": [1, 2.5, .none]])
        let home = try #require(ann.object("home"))
        #expect(
            home.city == .string("Oslo") && home.collection("lines").values == [.string("a"), .string("b")]
                && home.parent == ann && ann.parent == nil)
        #expect(ann.collection("places").objects.map { $0?.city?.string } == ["Bern", "Rome"])
        #expect(bob.object("best") == ann && bob.object("extra") == ann && ann.object("best") == nil)
        #expect(
            bob.collection("friends").objects == [ann, ann] && bob.collection("friends").object(at: 1) == ann
                && bob.collection("seen").contains(ann))
        #expect(
            bob.collection("named").object(forKey: DynamicTests.key) == ann
                && bob.collection("named").keys == [.uuid(DynamicTests.key)])
        #expect(
            bob.collection("notes").keys == [.int(1), .int(5)]
                && bob.collection("notes").value(forKey: 5) == .double(0.5)
                && bob.collection("notes").value(forKey: 1) == nil)
        #expect(
            bob.collection("tags").contains("x") && !bob.collection("tags").contains("z")
                && bob.collection("tags")[0] == .string("x"))
        #expect(
            try people.filter("name == 'Bob'").map { $0 } == [bob] && people.filter("age >= $0", 18).count == 2
                && people.filter("score > 1").count == 2)
        #expect(
            ann.linkingObjects(ofType: "Person", property: "best").map { $0 } == [bob]
                && ann.linkingObjects(ofType: "Person", property: "friends").count == 1)
        #expect(ann.linkingObjects(ofType: "Person", property: "extra").map { $0 } == [bob])
        let reading = try #require(try store.dynamicObject(ofType: "Reading", forPrimaryKey: ["n", 1]))
        #expect(reading.value == .double(2.5))
        #expect(try store.dynamicObject(ofType: "Person", forPrimaryKey: 99) == nil)
        #expect(code { _ = try store.dynamicObject(ofType: "Nobody", forPrimaryKey: 1) } == .noSuchClass)
        #expect(code { _ = try store.dynamicObject(ofType: "Person", forPrimaryKey: "x") } == .wrongType)
        #expect(code { try store.dynamicObjects("Nobody").validate() } == .noSuchClass)
        #expect(code { _ = try Store.checked { ann["nothing"] } } == .noSuchProperty)
        #expect(code { _ = try Store.checked { ann["home"] } } == .wrongType)
        #expect(code { try people.filter("nothing == 1").validate() } == .noSuchProperty)
        #expect(code { try people.filter("age == 'x'").validate() } == .wrongType)
        #expect(code { _ = try people.filter("age == $0") } == .invalidQuery)
        // Outside a write nothing changes.
        #expect(code { try Store.checked { ann.age = 5 } } == .notInWrite)
        #expect(code { try ann.set("age", to: 5) } == .notInWrite)
        try store.close()
        #expect(ann.isInvalidated)
    }

    @Test func writing() throws {
        let folder = Folder(), path = folder.file()
        try filled(path)
        let store = try Store.open(path: path)
        let ann = store.dynamicObjects("Person")[0], bob = store.dynamicObjects("Person")[1]
        try store.write { tx in
            let cid = try tx.dynamicCreate(
                "Person",
                value: [
                    "name": "Cid", "home": ["city": "Ulm"], "best": ["name": "Dan"], "notes": [7: 1], "friends": [ann],
                ] as [String: Any])
            #expect((cid.id?.int ?? 0) > 2)
            #expect(
                cid.age == .int(18) && cid.object("best")?.name == .string("Dan")
                    && cid.collection("notes").value(forKey: 7) == .double(1))
            cid.age = 40
            cid.score = 2
            cid.mood = "wild"
            cid.extra = [1, ["x": .none]]
            try cid.set("places", to: [["city": "a"], ["lines": ["l"]]])
            try cid.set("best", to: bob)
            try cid.set("home", to: nil)
            try cid.increment("visits", by: 4)
            let friends = cid.collection("friends")
            try friends.append(bob)
            try friends.insert(["name": "Eve"], at: 1)
            try friends.move(from: 0, to: 2)
            #expect(friends.objects.map { $0?.name?.string } == ["Eve", "Bob", "Ann"])
            try friends.remove(at: 1)
            try friends.set(cid, at: 0)
            let places = cid.collection("places")
            try places.append(["city": "c"])
            try places.insert(["city": "0"], at: 0)
            #expect(places.objects.map { $0?.city?.string } == ["0", "a", "Rome", "c"])
            let tags = cid.collection("tags")
            #expect(try tags.insert("q") && !tags.insert("q") && tags.remove("q") && !tags.remove("q"))
            let notes = cid.collection("notes")
            try notes.set(2, forKey: 8)
            try notes.set(nil, forKey: 7)
            #expect(try notes.removeValue(forKey: 7) && !notes.removeValue(forKey: 7) && notes.count == 1)
            try cid.collection("named").set(["name": "Fay"], forKey: DynamicTests.key)
            #expect(cid.collection("named").object(forKey: DynamicTests.key)?.name == .string("Fay"))
            // Each that fails is undone by itself.
            #expect(
                code {
                    try tx.dynamicCreate(
                        "Person",
                        value: ["name": "x", "email": "e", "best": ["name": "y", "email": "e"]] as [String: Any])
                } == .duplicateKey)
            #expect(code { try tx.dynamicCreate("Person", value: ["age": 3]) } == .missingValue)
            #expect(code { try tx.dynamicCreate("Person", value: ["name": 5]) } == .wrongType)
            #expect(code { try tx.dynamicCreate("Nobody", value: [:] as [String: Any]) } == .noSuchClass)
            #expect(code { try tx.dynamicCreate("Address", value: [:] as [String: Any]) } == .embedded)
            #expect(code { try cid.set("name", to: nil) } == .notNullable)
            #expect(code { try cid.set("id", to: 77) } == .keyImmutable)
            #expect(code { try cid.set("tags", to: ["a", 5] as [Any]) } == .wrongType)
            #expect(code { try friends.append(5.5) } == .wrongType)
            #expect(code { try friends.append(["nothing": 1]) } == .noSuchProperty)
            #expect(code { try friends.remove(at: 9) } == .outOfRange)
            #expect(code { try cid.set("extra", to: Store.self) } == .wrongType)
            try tx.dynamicCreate("Reading", value: ["n", 2, 9.5] as [Any], update: .modified)
            try tx.delete(bob)
        }
        #expect(
            bob.isInvalidated
                && store.dynamicObjects("Person").compactMap { $0.name?.string }.sorted() == [
                    "Ann", "Cid", "Dan", "Eve", "Fay",
                ])
        #expect(try store.dynamicObjects("Person").filter("age == 40").first?.object("best") == nil)
        #expect(try store.verify().isEmpty)
        try store.close()
        // A program with models sees the same.
        let typed = try Store.open(path: path, models: DynamicTests.models)
        let cid = try #require(typed.objects(Person.self).filter("name == 'Cid'").first)
        #expect(
            cid.age == 40 && cid.score == 2 && cid.mood == .wild && cid.visits.value == 4 && cid.home == nil
                && cid.extra == [1, ["x": .none]])
        #expect(cid.places.map(\.city) == ["0", "a", "Rome", "c"] && Array(cid.places[2].lines) == ["l"])
        #expect(
            cid.friends.map(\.name) == ["Cid", "Ann"] && cid.notes[8] == .some(2)
                && (cid.named[DynamicTests.key] ?? nil)?.name == "Fay")
        #expect(typed.objects(Reading.self).map(\.value) == [2.5, 9.5])
        #expect(try cid.dynamic().name == .string("Cid"))
        #expect(code { _ = try Person().dynamic() } == .wrongView)
        try typed.write { tx in
            let readings = try tx.deleteAll(ofType: "Reading"),
                people = try typed.dynamicObjects("Person").filter("age == 18").deleteAll()
            #expect(readings == 2 && people == 4)
        }
        #expect(typed.objects(Person.self).map(\.name) == ["Cid"])
        try typed.close()
    }

    @Test func describing() throws {
        let folder = Folder(), path = folder.file()
        try filled(path)
        for models in [[], DynamicTests.models] {
            let store = try Store.open(path: path, models: models)
            let schema = try store.schema
            #expect(schema.objectSchema.map(\.className).sorted() == ["Address", "Person", "Reading"])
            let person = try #require(schema["Person"]), address = try #require(schema["Address"])
            #expect(
                address.isEmbedded && !person.isEmbedded && address.primaryKeyProperty == nil
                    && person.primaryKeyProperty?.name == "id" && schema["Nobody"] == nil)
            #expect(
                person.properties.count == 22 && person.indexes == [Index("name", "age")]
                    && schema["Reading"]?.indexes == [Index("sensor", "time", primaryKey: true)])
            func property(_ name: String) throws -> ObjectSchema.Property { try #require(person[name]) }
            #expect(
                try property("id").isGenerated && property("email").isUnique && property("email").isOptional
                    && property("age").isIndexed && property("visits").isCounter)
            #expect(
                try property("age").defaultValue == .int(18) && property("name").defaultValue == nil
                    && property("money").defaultValue == .decimal128(DynamicTests.price))
            #expect(
                try property("score").type == .float && property("extra").type == .any
                    && property("token").type == .uuid && property("born").type == .date
                    && property("data").type == .data)
            #expect(
                try property("home").type == .object && property("home").objectClassName == "Address"
                    && property("home").collection == nil)
            #expect(
                try property("friends").collection == .list && property("seen").collection == .set
                    && property("named").collection == .map && property("named").keyType == .uuid)
            #expect(
                try property("notes").type == .double && property("notes").keyType == .int
                    && property("notes").isOptional && property("tags").type == .string)
            #expect(try store.dynamicObjects("Person")[0].objectSchema == person)
            #expect(
                address.description.hasPrefix("embedded class Address\n    ")
                    && person.description.hasSuffix("\n    (name, age) indexed"))
            #expect("\(schema)" == schema.objectSchema.map { "\($0)" }.joined(separator: "\n"))
            let lines = person.description.split(separator: "\n").map { String($0.drop { $0 == " " }) }
            for line in [
                "id: int primary key generated", "age: int = 18 indexed", "email: string? unique",
                "visits: counter = 0", "extra: any", "home: Address?",
                "friends: list<Person>", "named: map<uuid, Person?>", "notes: map<int, double?>",
                "places: list<Address>",
            ] { #expect(lines.contains(line), "\(line) is not in \(lines)") }
            try store.close()
        }
    }

    /// What a migration gives, and what it makes of a class that no model has any more.
    @Test func migrating() throws {
        final class City: Object {
            @Persisted var name: String
            @Persisted var people: List<String>
        }
        let folder = Folder(), path = folder.file()
        try filled(path)
        var configuration = Store.Configuration(path: path, models: [City.self])
        configuration.schemaVersion = 2
        configuration.migrationBlock = { migration, _ in
            let made = try migration.transaction.dynamicCreate("City", value: ["name": "Oslo"])
            try migration.enumerateObjects(ofType: "Person") { old, new in
                try made.collection("people").append(old.name)
                #expect(
                    (old.name == "Bob" || new?.object("home")?.parent == new)
                        && old.collection("places").count == (old.name == "Ann" ? 2 : 0))
                new?.age = 99
            }
        }
        let store = try Store(configuration)
        #expect(store.objects(City.self).first.map { Array($0.people) } == ["Ann", "Bob"])
        #expect(store.dynamicObjects("Person").map(\.age) == [.int(99), .int(99)])
        #expect(try store.freeze().dynamicObjects("Person").count == 2)
        try store.close()
    }
}
