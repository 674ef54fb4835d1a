import ObjStore
import Testing

/// What observers of tables and plain values are asked about, as objects and as a plain model.
enum Shop {
    final class Owner: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var city = ""
    }
    final class Pet: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var city = ""
        @Persisted var age = 0
        @Persisted var owner: Owner?
        @Persisted var hidden = 0
    }
    final class Book: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var numbers: List<Int>
        @Persisted var marks: MutableSet<Int>
        @Persisted var notes: Map<String, Int>
        @Persisted var things: List<AnyValue>
        @Persisted var pets: List<Pet>
    }
    static let models: [Object.Type] = [Owner.self, Pet.self, Book.self]

    /// Two owners in Bern and Zug, and pets 0 to 3: aged 0, 1, 2, 3, in Bern, Zug, Bern, Zug.
    static func open(_ configuration: Store.Configuration? = nil) throws -> (store: Store, book: Book) {
        let store = try configuration.map { try Store($0) } ?? memoryStore(models)
        let book = try store.write { tx in
            let owners = [
                try tx.create(Owner.self, value: [0, "Bern"]), try tx.create(Owner.self, value: [1, "Zug"]),
            ]
            for id in 0..<4 {
                try tx.create(Pet.self, value: [id, id % 2 == 0 ? "Bern" : "Zug", id, owners[id % 2]])
            }
            return try tx.create(
                Book.self,
                value: ["id": 1, "numbers": [5, 1, 7], "marks": [2, 9], "notes": ["a": 4, "b": 8]] as [String: Any])
        }
        return (store, book)
    }

    /// The same as plain values, in the order of their creation.
    struct Model {
        struct Pet {
            let id: Int
            var city: String
            var age: Int
            var owner: Int?
        }
        var owners = ["Bern", "Zug"]
        var pets = (0..<4).map { Pet(id: $0, city: $0 % 2 == 0 ? "Bern" : "Zug", age: $0, owner: $0 % 2) }
        var numbers = [5, 1, 7]
        var marks: Set<Int> = [2, 9]
        var notes = ["a": 4, "b": 8]
        private var next = 4

        /// Does the same to both.
        mutating func change(_ tx: Transaction, _ book: Book, _ random: inout Q.Random) throws {
            func pet(_ index: Int) throws -> Shop.Pet {
                try #require(try tx.object(ofType: Shop.Pet.self, forPrimaryKey: pets[index].id))
            }
            let cities = ["Bern", "Zug", "Chur"], keys = ["a", "b", "c", "d"]
            let which = pets.isEmpty ? 0 : random.number(pets.count)
            switch random.number(14) {
            case 0, 1:
                let new = Pet(id: next, city: random.one(of: cities), age: random.number(6), owner: nil)
                try tx.create(Shop.Pet.self, value: [new.id, new.city, new.age])
                pets.append(new)
                next += 1
            case 2 where !pets.isEmpty:
                try tx.delete(try pet(which))
                pets.remove(at: which)
            case 3 where !pets.isEmpty:
                pets[which].city = random.one(of: cities)
                try pet(which).city = pets[which].city
            case 4 where !pets.isEmpty:
                pets[which].age = random.number(6)
                try pet(which).age = pets[which].age
            case 5 where !pets.isEmpty:
                let owner = random.orNil(random.number(2))
                pets[which].owner = owner
                try pet(which).owner = try owner.flatMap {
                    try tx.object(ofType: Owner.self, forPrimaryKey: $0)
                }
            case 6 where !pets.isEmpty: try pet(which).hidden += 1
            case 7:
                let owner = random.number(2)
                owners[owner] = random.one(of: cities)
                try #require(try tx.object(ofType: Owner.self, forPrimaryKey: owner)).city = owners[owner]
            case 8, 9:
                let place = random.number(numbers.count + 1), value = random.number(10)
                numbers.insert(value, at: place)
                book.numbers.insert(value, at: place)
            case 10 where !numbers.isEmpty:
                let place = random.number(numbers.count)
                numbers.remove(at: place)
                book.numbers.remove(at: place)
            case 11 where numbers.count > 1:
                let place = random.number(numbers.count), value = random.number(10)
                numbers[place] = value
                book.numbers[place] = value
            case 12:
                let value = random.number(10)
                if marks.remove(value) != nil {
                    book.marks.remove(value)
                } else {
                    marks.insert(value)
                    book.marks.insert(value)
                }
            default:
                let key = random.one(of: keys), value = random.orNil(random.number(10))
                notes[key] = value
                book.notes[key] = value
            }
        }
    }
}
