import ObjStore
import Testing

/// People, dogs and toys that lead to each other in all ways, at random, and the same questions asked of arrays.
enum P {
    enum Colour: String, PersistableEnum { case red, green }

    protocol Numbered: Object { var id: Int { get } }

    final class Town: EmbeddedObject {
        @Persisted var name: String?
        @Persisted var size = 0
    }
    final class Toy: Object {
        @Persisted var name = ""
        @Persisted var price: Double?
    }
    final class Dog: Object, Numbered {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var age = 0
        @Persisted var weight: Double?
        @Persisted var good = false
        @Persisted var born: Timestamp?
        @Persisted var colour = Colour.red
        @Persisted var owner: Person?
        @Persisted var toys: List<Toy>
        @Persisted var tags: List<String>
        @Persisted(originProperty: "dogs") var keepers: LinkingObjects<Person>
    }
    final class Person: Object, Numbered {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var age = 0
        @Persisted var limit = 0
        @Persisted var boss: Person?
        @Persisted var home: Town?
        @Persisted var homes: List<Town>
        @Persisted var dogs: List<Dog>
        @Persisted var pets: MutableSet<Dog>
        @Persisted var byName: Map<String, Dog?>
        @Persisted var scores: List<Int>
        @Persisted var maybes: List<Int?>
        @Persisted var tags: MutableSet<String>
        @Persisted var notes: Map<String, Double>
        @Persisted var rooms: Map<Int, String>
        @Persisted var extra: AnyValue
        @Persisted var things: List<AnyValue>
        @Persisted(originProperty: "boss") var staff: LinkingObjects<Person>
        @Persisted(originProperty: "owner") var owned: LinkingObjects<Dog>
    }
    static let models: [Object.Type] = [Town.self, Toy.self, Dog.self, Person.self]

    static let names = ["a", "ab", "Ab", "b", ""]

    final class World {
        let seed: UInt64
        var random: Q.Random
        let store: Store
        private(set) var dogs: [Dog]
        private(set) var people: [Person]
        var all: Results<Person> { store.objects(Person.self) }

        init(_ count: Int = 60, seed: UInt64 = Q.seed()) throws {
            self.seed = seed
            var random = Q.Random(seed)
            store = try memoryStore(P.models)
            (dogs, people) = try store.write { tx in
                let people = try (0..<count).map { try tx.create(Person.self, value: ["id": $0]) }
                let dogs = try (0..<count).map { try tx.create(Dog.self, value: ["id": $0]) }
                let toys = try (0..<count).map { _ in
                    let toy = Toy()
                    (toy.name, toy.price) = (random.one(of: names), random.orNil(Double(random.number(8)) / 2))
                    try tx.add(toy)
                    return toy
                }
                for dog in dogs { World.fill(dog, people, toys, &random) }
                for person in people { World.fill(person, people, dogs, &random) }
                for dog in dogs where random.number(9) == 0 { try tx.delete(dog) }
                for person in people where random.number(9) == 0 { try tx.delete(person) }
                return (dogs.filter { !$0.isInvalidated }, people.filter { !$0.isInvalidated })
            }
            self.random = random
        }

        private static func fill(_ dog: Dog, _ people: [Person], _ toys: [Toy], _ random: inout Q.Random) {
            dog.name = random.one(of: names)
            dog.age = random.number(6)
            dog.weight = random.orNil(Double(random.number(6)) / 2)
            dog.good = random.number(2) == 0
            dog.born = random.orNil(Timestamp(seconds: Int64(random.number(3))))
            dog.colour = random.one(of: Colour.allCases)
            dog.owner = random.orNil(random.one(of: people))
            for _ in 0..<random.number(4) { dog.toys.append(random.one(of: toys)) }
            for _ in 0..<random.number(3) { dog.tags.append(random.one(of: names)) }
        }

        private static func fill(_ person: Person, _ people: [Person], _ dogs: [Dog], _ random: inout Q.Random) {
            func town() -> Town {
                let town = Town()
                (town.name, town.size) = (random.orNil(random.one(of: names)), random.number(5))
                return town
            }
            person.name = random.one(of: names)
            person.age = random.number(6)
            person.limit = random.number(4)
            person.boss = random.orNil(random.one(of: people))
            if random.number(3) > 0 { person.home = town() }
            for _ in 0..<random.number(3) { person.homes.append(town()) }
            // Some of them twice.
            let few = Array(dogs.shuffled(using: &random).prefix(4))
            for _ in 0..<random.number(5) { person.dogs.append(random.one(of: few)) }
            for _ in 0..<random.number(3) { person.pets.insert(random.one(of: few)) }
            for _ in 0..<random.number(4) {
                person.byName[random.one(of: ["x", "y", "z"])] = random.orNil(random.one(of: few))
            }
            for _ in 0..<random.number(4) { person.scores.append(random.number(6)) }
            for _ in 0..<random.number(4) { person.maybes.append(random.orNil(random.number(6))) }
            for _ in 0..<random.number(3) { person.tags.insert(random.one(of: names)) }
            for _ in 0..<random.number(3) { person.notes[random.one(of: names)] = Double(random.number(6)) / 2 }
            for _ in 0..<random.number(3) { person.rooms[random.number(3)] = random.one(of: names) }
            person.extra = random.one(of: [
                .none, 1, "ab", [1, "ab"], [[1], 2], ["k": 1], ["k": [1, 2]], ["l": "ab"], .object(few[0]),
            ])
            for _ in 0..<random.number(3) { person.things.append(random.one(of: [1, "ab", ["k": 1], [1, 2]])) }
        }

        /// The list, its count and its first are those of the objects for which the condition holds; and so is what the
        /// text of the query finds.
        func check(_ found: Results<Person>, _ expected: (Person) -> Bool, line: Int = #line) throws {
            try check(found, people.filter(expected), line: line)
        }

        func check<T: Numbered>(_ found: Results<T>, _ expected: [T], line: Int = #line) throws {
            let ids = expected.map(\.id)
            #expect(try found.validate().map(\.id) == ids, "line \(line), seed \(seed)")
            #expect(found.count == ids.count && found.first?.id == ids.first, "line \(line), seed \(seed)")
            let text = try found.queryText, again = try store.objects(T.self).filter(text)
            #expect(again.map(\.id) == ids, "line \(line), seed \(seed): \(text)")
            #expect(try again.queryText == text, "line \(line), seed \(seed)")
        }
    }
}
