import Foundation
import ObjStore
import Testing

/// Lists, sets and maps of plain values as questions, against the same done with arrays.
@Suite struct ValueQueryTests {
    enum Mood: String, PersistableEnum { case good, bad, sleepy }

    final class Dog: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var numbers: List<Int>
        @Persisted var maybes: List<Int?>
        @Persisted var tags: List<String>
        @Persisted var weights: MutableSet<Double>
        @Persisted var scores: Map<String, Int>
        @Persisted var byNumber: Map<Int, String?>
        @Persisted var flags: List<Bool>
        @Persisted var dates: List<Date>
        @Persisted var ids: List<UUID>
        @Persisted var prices: List<Decimal128>
        @Persisted var chips: List<Data>
        @Persisted var moods: List<Mood>
        @Persisted var things: List<AnyValue>
        @Persisted var floats: List<Float?>
        @Persisted var friends: List<Dog>
    }

    private static func filled() throws -> (Store, Dog) {
        let store = try memoryStore([Dog.self])
        let dog = try store.write { tx in
            let dog = Dog()
            dog.id = 1
            try tx.add(dog)
            dog.numbers.append(objectsIn: [5, 3, 8, 3, -1])
            dog.maybes.append(objectsIn: [2, nil, 7, nil, 2])
            dog.tags.append(objectsIn: ["old", "Big", "odd", "äpfel", ""])
            for weight in [2.5, .nan, -1, .infinity] { dog.weights.insert(weight) }
            for (key, value) in [("b", 2), ("a", 9), ("c", -4)] { dog.scores[key] = value }
            dog.byNumber[7] = .some("x")
            dog.byNumber[2] = .some(nil)
            dog.flags.append(objectsIn: [true, false, true])
            dog.dates.append(objectsIn: [50, 10, 30].map { Date(timeIntervalSince1970: $0) })
            dog.ids.append(objectsIn: (0..<3).map { _ in UUID() })
            try dog.prices.append(objectsIn: ["1.5", "-2", "1.50"].map { try Decimal128($0) })
            dog.chips.append(objectsIn: [Data([1, 2]), Data([2]), Data()])
            dog.moods.append(objectsIn: [.sleepy, .good, .bad, .good])
            dog.things.append(objectsIn: [.int(3), .string("x"), .none, .double(2.5), .object(dog), [1, 2]])
            dog.floats.append(objectsIn: [0.1, nil, 3])
            return dog
        }
        return (store, dog)
    }

    @Test func typedConditions() throws {
        let (_, dog) = try Self.filled()
        #expect(try Array(dog.numbers.where { $0 > 3 }) == [5, 8])
        #expect(try Array(dog.numbers.where { $0 * 2 + 1 < 8 && $0 != -1 }) == [3, 3])
        #expect(try Array(dog.numbers.where { !$0.in([3, 5]) }) == [8, -1])
        #expect(try Array(dog.numbers.where { $0.contains(3...5) }) == [5, 3, 3])
        #expect(try Array(dog.maybes.where { $0 == nil || $0 > 5 }) == [nil, 7, nil])
        #expect(try Array(dog.tags.where { $0.starts(with: "o") }) == ["old", "odd"])
        #expect(try Array(dog.tags.where { $0.contains("B", options: .caseInsensitive) }) == ["Big"])
        #expect(try Array(dog.tags.where { $0.like("?l*") || $0 == "" }) == ["old", ""])
        #expect(try Array(dog.weights.where { $0 > 0 }) == [2.5, .infinity])
        #expect(try Array(dog.scores.where { $0 > 0 }) == [9, 2])
        #expect(try Array(dog.byNumber.where { $0 == nil }) == [nil])
        #expect(try Array(dog.flags.where { $0 }) == [true, true] && dog.flags.where { !$0 }.count == 1)
        let noon = Date(timeIntervalSince1970: 20)
        #expect(try Array(dog.dates.where { $0 > noon }).map(\.timeIntervalSince1970) == [50, 30])
        let second = dog.ids[1]
        #expect(try Array(dog.ids.where { $0 == second }) == [second])
        let price = try Decimal128("1.500")
        #expect(try dog.prices.where { $0 == price }.count == 2)
        #expect(try Array(dog.chips.where { $0.starts(with: Data([1])) }) == [Data([1, 2])])
        #expect(try Array(dog.moods.where { $0 != .good }) == [.sleepy, .bad])
        #expect(try Array(dog.floats.where { $0 == 0.1 }) == [0.1])
        #expect(try dog.things.where { $0 == .int(3) }.map(\.int) == [3])
        #expect(try dog.things.where { $0 > 2.0 }.count == 2)
    }

    @Test func stepsAndPlaces() throws {
        let (_, dog) = try Self.filled()
        #expect(try Array(dog.numbers.sorted(ascending: true)) == [-1, 3, 3, 5, 8])
        #expect(try Array(dog.maybes.sorted(ascending: false).distinct()) == [7, 2, nil])
        #expect(try Array(dog.tags.sorted(ascending: true)) == ["", "Big", "odd", "old", "äpfel"])
        #expect(
            try Array(dog.tags.sorted(ascending: true, options: [.caseInsensitive, .diacriticInsensitive]))
                == ["", "äpfel", "Big", "odd", "old"])
        #expect(try Array(dog.numbers.distinct().offset(1).limit(2)) == [3, 8])
        #expect(try Array(dog.numbers.limit(3).where { $0 < 8 }.sorted(ascending: true)) == [3, 5])
        #expect(try Array(dog.numbers.filter("@self > $0 AND NOT @self IN $1 SORT(@self DESC)", 0, [8])) == [5, 3, 3])
        #expect(try Array(dog.weights.sorted(ascending: true)).first?.isNaN == true)
        #expect(try dog.numbers.where { $0 == 3 }.places == [1, 3])
        #expect(try dog.scores.sorted(ascending: true).keys == ["c", "b", "a"])
        #expect(try dog.byNumber.where { $0 == "x" }.keys == [7] && dog.byNumber.where { $0 == "x" }.places == [1])
        #expect(try dog.things.filter("@self[0] == 1").first?.list?.count == 2)
        #expect(try dog.things.filter("id == 1").first?.object?.isSameObject(as: dog) == true)
    }

    @Test func aggregates() throws {
        let (store, dog) = try Self.filled()
        let numbers = try dog.numbers.results()
        #expect(try numbers.sum() == 18 && numbers.min() == -1 && numbers.max() == 8 && numbers.average() == 3.6)
        let maybes = try dog.maybes.results()
        #expect(try maybes.sum() == 11 && maybes.min() == 2 && maybes.max() == 7 && maybes.average() == 11.0 / 3)
        #expect(try dog.numbers.where { $0 > 99 }.max() == nil && dog.numbers.where { $0 > 99 }.sum() == 0)
        #expect(try dog.prices.results().max() == Decimal128("1.5"))
        #expect(try dog.things.results().max().list?.count == 2 && dog.things.results().average().decimal128 != nil)
        try store.write { _ in
            dog.numbers.append(.max)
            let error = #expect(throws: ObjStoreError.self) { try numbers.sum() }
            #expect(error?.code == .outOfRange && error?.message.contains("Dog.numbers") == true)
        }
    }

    @Test func live() throws {
        let (store, dog) = try Self.filled()
        let large = try dog.numbers.where { $0 > 3 }, frozen = try large.freeze()
        try store.write { tx in
            // A loop visits those that were there when it began.
            for number in large { dog.numbers.append(number * 10) }
            #expect(Array(large) == [5, 8, 50, 80])
            let slice = large[1...]
            dog.numbers.removeAll()
            #expect(large.isEmpty && Array(slice) == [8, 50, 80])
            dog.numbers.append(objectsIn: [9, 1])
        }
        #expect(large.count == 1 && large[0] == 9 && large.last == 9 && frozen.isFrozen && Array(frozen) == [5, 8])
        #expect(large.map { $0 } == [9] && large.contains(9) && large.description == "[9]")
        // In the thread of another one's commit.
        try store.write { tx in try tx.delete(dog) }
        #expect(try large.isEmpty && large.validate().isEmpty && Array(frozen) == [5, 8])
        let error = #expect(throws: ObjStoreError.self) { try dog.numbers.results() }
        #expect(error?.code == .noSuchObject)
    }

    @Test func whatCannotBe() throws {
        let (store, dog) = try Self.filled()
        for (text, code) in [
            ("age > 3", .noSuchProperty), ("@self == 'a'", .wrongType), ("GROUP(@self)", .notSupported),
            ("@self >", .invalidQuery),
        ] as [(String, ObjStoreError.Code)] {
            let error = #expect(throws: ObjStoreError.self) { try dog.numbers.filter(text) }
            #expect(error?.code == code, "\(text)")
            #expect(error?.position != nil, "\(text)")
        }
        let negative = try dog.numbers.limit(-1)
        #expect(throws: ObjStoreError.self) { try negative.validate() }
        let (other, rex) = try Self.filled()
        #expect(other.objects(Dog.self).count == 1)
        #expect(throws: ObjStoreError.self) { try dog.things.where { $0 == .object(rex) }.validate() }
        let loose = Dog()
        loose.numbers.append(3)
        for ask in [
            { try loose.numbers.where { $0 < 3 }.count }, { try loose.weights.limit(1).count },
            { try loose.scores.results().count },
        ] as [() throws -> Int] {
            let error = #expect(throws: ObjStoreError.self) { try ask() }
            #expect(error?.code == .wrongView)
        }
        #expect(store.objects(Dog.self).count == 1)
    }

    @Test func dynamic() throws {
        let (store, _) = try Self.filled()
        let dog = try #require(try store.dynamicObject(ofType: "Dog", forPrimaryKey: 1))
        #expect(try dog.collection("numbers").filter("@self > $0 SORT(@self DESC)", 3).map(\.int) == [8, 5])
        #expect(try dog.collection("scores").filter("").map(\.int) == [9, 2, -4])
        let error = #expect(throws: ObjStoreError.self) { try dog.collection("friends").filter("LIMIT(1)") }
        #expect(error?.code == .wrongType && error?.message.contains("Dog.friends") == true)
    }

    @Test func atRandom() throws {
        let (store, dog) = try Self.filled()
        var chance = SystemRandomNumberGenerator()
        for _ in 0..<20 {
            let content = (0..<Int.random(in: 0...60, using: &chance)).map { _ -> Int? in
                Int.random(in: 0...5, using: &chance) == 0 ? nil : Int.random(in: -6...6, using: &chance)
            }
            try store.write { _ in
                dog.maybes.removeAll()
                dog.maybes.append(objectsIn: content)
            }
            let bound = Int.random(in: -6...6, using: &chance), count = Int.random(in: 0...9, using: &chance)
            let expected = content.filter { $0 == nil || $0! >= bound }.dropFirst(2).prefix(count)
            let found = try dog.maybes.where { $0 == nil || $0 >= bound }.offset(2).limit(count)
            #expect(Array(found) == Array(expected), "\(content), \(bound), \(count)")
            let sorted = expected.enumerated().sorted {
                ($0.element ?? .min, $0.offset) < ($1.element ?? .min, $1.offset)
            }.map(\.element)
            #expect(Array(found.sorted(ascending: true)) == sorted, "\(content), \(bound), \(count)")
            #expect(try found.sum() == expected.compactMap { $0 }.reduce(0, +))
        }
    }
}
