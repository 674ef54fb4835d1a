import Testing

import ObjStoreCore

/// Conditions about what links lead to, of many objects, against loops over the same objects: what the indexes
/// of links, inverses and scans find.
@Suite struct QueryLinkTests {
    struct Person {
        var name: Int64
        var age: Int64?
        var boss: Int?
    }
    struct Dog {
        var age: Int64
        var owner: Int?
        var friends: [Int] = []
    }

    struct World {
        let store: Store
        let dog: UInt32
        var persons: [Person] = [], dogs: [Dog] = []
        var random: IndexRandom

        init(seed: UInt64, persons personCount: Int, dogs dogCount: Int) throws {
            var draft = SchemaDraft()
            for name in ["Person", "Dog"] { try draft.addClass(name) }
            try draft.addProperty("Person", "name", .int, [.indexed])
            try draft.addProperty("Person", "age", .int, [.nullable])
            try draft.addLink("Person", "boss", to: "Person")
            try draft.addProperty("Dog", "age", .int, [])
            try draft.addLink("Dog", "owner", to: "Person")
            try draft.addCollection("Dog", "friends", .list, ElementSchema(kind: .link), target: "Dog")
            var configuration = StoreConfiguration()
            configuration.place = .memory("")
            configuration.schema = draft
            store = try Store.open(configuration)
            random = IndexRandom(seed)
            let tx = try store.begin(), person = try tx.findClass("Person")
            dog = try tx.findClass("Dog")
            func id(_ cls: UInt32, _ name: String) throws -> UInt32 { try tx.findProperty(cls, name) }
            func create(_ cls: UInt32, _ values: [(UInt32, Value)]) throws -> ObjectID {
                try values.map(\.0).withUnsafeBufferPointer { ids in
                    try values.map(\.1).withUnsafeBufferPointer { try tx.create(cls, ids, $0.baseAddress!) }
                }
            }
            var made: [ObjectID] = []
            for number in 0..<personCount {
                let one = Person(
                    name: Int64(number), age: random.below(4) == 0 ? nil : Int64(random.below(100)),
                    boss: number == 0 || random.below(3) == 0 ? nil : random.below(number))
                persons.append(one)
                made.append(
                    try create(
                        person,
                        [
                            (id(person, "name"), .int(one.name)),
                            (id(person, "age"), one.age.map { .int($0) } ?? .null),
                            (id(person, "boss"), one.boss.map { .link(made[$0]) } ?? .null),
                        ]))
            }
            var pack: [ObjectID] = []
            for number in 0..<dogCount {
                var one = Dog(
                    age: Int64(random.below(20)), owner: random.below(5) == 0 ? nil : random.below(personCount))
                if random.below(3) == 0, number > 0 {
                    one.friends = (0..<(1 + random.below(3))).map { _ in random.below(number) }
                }
                dogs.append(one)
                let object = try create(
                    dog,
                    [
                        (id(dog, "age"), .int(one.age)),
                        (id(dog, "owner"), one.owner.map { .link(made[$0]) } ?? .null),
                    ])
                pack.append(object)
                if one.friends.isEmpty { continue }
                let list = CollectionID(owner: object, propertyID: try id(dog, "friends"))
                try one.friends.map { Value.link(pack[$0]) }.withUnsafeBufferPointer {
                    try tx.insert(list, at: nil, $0)
                }
            }
            _ = try tx.commit()
        }

        func owner(_ dog: Dog) -> Person? { dog.owner.map { persons[$0] } }
        func friends(_ dog: Dog) -> [Dog] { dog.friends.map { dogs[$0] } }

        func check(_ view: View, _ text: String, _ holds: (Dog) -> Bool) throws {
            let query = try view.query(dog, parsing: text)
            let expected = dogs.indices.filter { holds(dogs[$0]) }
            let list = try view.find(query).list(), first = try view.first(query)?.key
            let keys = (0..<list.count).map { list.keys[$0] }, all = try view.find(Query(all: dog)).list()
            #expect(keys == expected.map { all.keys[$0] }, "\(text)")
            #expect(try view.count(query) == expected.count, "\(text)")
            #expect(first == expected.first.map { all.keys[$0] }, "\(text)")
        }
    }

    @Test(arguments: [(1, 40, 5000), (2, 3000, 9000), (3, 9000, 5000)])
    func againstLoops(seed: UInt64, persons: Int, dogs: Int) throws {
        let world = try World(seed: seed, persons: persons, dogs: dogs), limit = Int64(persons / 2)
        for isInTransaction in [false, true] {
            let view = isInTransaction ? try world.store.begin() : try world.store.openView()
            // Few targets, half of them, all but few; null behind links.
            for (text, holds) in [
                ("owner.name == 7", { world.owner($0)?.name == 7 }),
                ("owner.name < 20", { world.owner($0).map { $0.name < 20 } ?? false }),
                ("owner.name < \(limit)", { world.owner($0).map { $0.name < limit } ?? false }),
                ("owner.name != 7", { world.owner($0)?.name != 7 }),
                ("NOT owner.name != 7", { world.owner($0)?.name == 7 }),
                ("owner.age == NULL", { world.owner($0)?.age == nil }),
                ("owner.age != NULL", { world.owner($0)?.age != nil }),
                ("owner.boss.name < 10", { world.owner($0)?.boss.map { $0 < 10 } ?? false }),
                ("owner.boss == NULL AND age < 3", { world.owner($0)?.boss == nil && $0.age < 3 }),
                ("owner.name < 50 AND age == 3", { (world.owner($0).map { $0.name < 50 } ?? false) && $0.age == 3 }),
                ("owner.name == 3 OR owner.name == 5", { [3, 5].contains(world.owner($0)?.name) }),
                ("owner.name IN {3, 5, 900000}", { [3, 5].contains(world.owner($0)?.name) }),
                ("friends.age == 3", { world.friends($0).contains { $0.age == 3 } }),
                ("friends.owner.name == 3", { world.friends($0).contains { world.owner($0)?.name == 3 } }),
                ("ALL friends.age > 3", { world.friends($0).allSatisfy { $0.age > 3 } }),
                ("NONE friends.age > 3 AND age == 1", { !world.friends($0).contains { $0.age > 3 } && $0.age == 1 }),
                (
                    "friends.friends.age == 19",
                    {
                        world.friends($0).contains { world.friends($0).contains { $0.age == 19 } }
                    }
                ),
                (
                    "ALL friends.friends.age < 15",
                    {
                        world.friends($0).allSatisfy { world.friends($0).allSatisfy { $0.age < 15 } }
                    }
                ),
                (
                    "NONE friends.friends.age < 15",
                    {
                        !world.friends($0).contains { world.friends($0).contains { $0.age < 15 } }
                    }
                ),
                ("owner.age == age", { world.owner($0)?.age == $0.age }),
                (
                    "SUBQUERY(friends, $x, $x.age > 10).@count == 2",
                    {
                        world.friends($0).count { $0.age > 10 } == 2
                    }
                ),
            ] as [(String, (Dog) -> Bool)] { try world.check(view, text, holds) }
            if isInTransaction { try view.cancel() } else { view.close() }
        }
        try world.store.close()
    }
}
