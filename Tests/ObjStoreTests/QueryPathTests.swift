import ObjStore
import Testing

/// Conditions about what lies behind links and in collections, each against a plain loop over random objects, and as
/// the text that it is.
@Suite struct QueryPathTests {
    typealias Person = P.Person
    typealias Dog = P.Dog

    @Test func linksAndEmbeddedObjects() throws {
        let world = try P.World(), all = world.all
        try world.check(all.where { $0.boss.name == "a" }) { $0.boss?.name == "a" }
        try world.check(all.where { $0.boss.name != "a" }) { $0.boss?.name != "a" }
        try world.check(all.where { $0.boss.boss.age > 2 }) { Q.holds($0.boss?.boss?.age, 2, >) }
        try world.check(all.where { $0.boss.boss == nil }) { $0.boss?.boss == nil }
        try world.check(all.where { $0.boss.age > $0.age }) { Q.holds($0.boss?.age, $0.age, >) }
        try world.check(all.where { $0.boss.name == $0.home.name }) { $0.boss?.name == $0.home?.name }
        try world.check(all.where { $0.boss.age * 2 - 1 < $0.age + $0.limit }) { person in
            Q.holds(person.boss.map { $0.age * 2 - 1 }, person.age + person.limit, <)
        }
        try world.check(all.where { $0.boss.age.in([1, 3]) }) { [1, 3].contains($0.boss?.age) }
        try world.check(all.where { $0.boss.age.contains(1...3) }) { $0.boss.map { (1...3).contains($0.age) } ?? false }
        try world.check(all.where { $0.boss.age.contains(1..<3) }) { $0.boss.map { (1..<3).contains($0.age) } ?? false }
        try world.check(all.where { $0.home.size >= 2 && $0.home.name != nil }) {
            Q.holds($0.home?.size, 2, >=) && $0.home?.name != nil
        }
        try world.check(all.where { $0.boss.home.name.starts(with: "a", options: .caseInsensitive) }) {
            $0.boss?.home?.name?.lowercased().hasPrefix("a") ?? false
        }
        try world.check(all.where { $0.boss.name.like("a*") || $0.home.name.ends(with: "b") }) {
            $0.boss?.name.hasPrefix("a") ?? false || $0.home?.name?.hasSuffix("b") ?? false
        }
        try world.check(all.where { $0.boss.name.count == 2 }) { $0.boss?.name.count == 2 }
        try world.check(all.where { $0.homes.size > 3 }) { $0.homes.contains { $0.size > 3 } }
        try world.check(all.where { $0.boss.homes.name == "ab" }) {
            $0.boss?.homes.contains { $0.name == "ab" } ?? false
        }
        let dogs = world.store.objects(Dog.self)
        try world.check(dogs.where { $0.owner.boss.name == "b" }, world.dogs.filter { $0.owner?.boss?.name == "b" })
    }

    @Test func elements() throws {
        let world = try P.World(), all = world.all
        try world.check(all.where { $0.scores.contains(2) }) { $0.scores.contains(2) }
        try world.check(all.where { !$0.tags.contains("ab") }) { !$0.tags.contains("ab") }
        try world.check(all.where { $0.maybes.contains(nil) }) { $0.maybes.contains(nil) }
        try world.check(all.where { $0.notes.contains(1.5) }) { $0.notes.contains { $0.value == 1.5 } }
        try world.check(all.where { $0.boss.scores.contains(1) }) { $0.boss?.scores.contains(1) ?? false }
        try world.check(all.where { $0.dogs.tags.contains("a") }) { $0.dogs.contains { $0.tags.contains("a") } }
        try world.check(all.where { $0.scores.containsAny(in: [1, 5]) }) { $0.scores.contains { $0 == 1 || $0 == 5 } }
        try world.check(all.where { $0.tags.containsAny(in: Set<String>()) }) { _ in false }
        let two = Array(world.dogs.prefix(20)), ids = Set(two.map(\.id))
        try world.check(all.where { $0.dogs.containsAny(in: two) }) { $0.dogs.contains { ids.contains($0.id) } }
        try world.check(all.where { $0.byName.containsAny(in: [two[0], two[1]]) }) {
            $0.byName.contains { $0.value.map { two[...1].map(\.id).contains($0.id) } ?? false }
        }
        // All of them, and there is one.
        try world.check(all.where { $0.scores.contains(1...4) }) {
            !$0.scores.isEmpty && $0.scores.allSatisfy { (1...4).contains($0) }
        }
        try world.check(all.where { $0.maybes.contains(1..<5) }) {
            let known = $0.maybes.compactMap(\.self)
            return !known.isEmpty && known.allSatisfy { (1..<5).contains($0) }
        }
        try world.check(all.where { $0.notes.contains(0.5...2) }) {
            !$0.notes.isEmpty && $0.notes.allSatisfy { (0.5...2).contains($0.value) }
        }
        // One of them.
        try world.check(all.where { $0.dogs.age.contains(2...3) }) { $0.dogs.contains { (2...3).contains($0.age) } }
        try world.check(all.where { $0.dogs.age.contains(2..<3) }) { $0.dogs.contains { (2..<3).contains($0.age) } }
        try world.check(all.where { !$0.dogs.weight.contains(0.5..<1) }) {
            !$0.dogs.contains { $0.weight.map { (0.5..<1).contains($0) } ?? false }
        }
        try world.check(all.where { ($0.dogs.age + 1).contains(2..<3) }) { $0.dogs.contains { $0.age == 1 } }
        try world.check(all.where { ($0.age + 2 * $0.dogs.age).contains(4..<6) }) { person in
            person.dogs.contains { (4..<6).contains(person.age + 2 * $0.age) }
        }
        try world.check(all.where { $0.staff.scores.max.contains(2..<4) }) {
            $0.staff.contains { $0.scores.max().map { (2..<4).contains($0) } ?? false }
        }
        try world.check(all.where { $0.staff.dogs.age.contains(2..<3) }) {
            $0.staff.contains { $0.dogs.contains { $0.age == 2 } }
        }
        try world.check(all.where { $0.dogs.name == "ab" }) { $0.dogs.contains { $0.name == "ab" } }
        try world.check(all.where { $0.dogs.name != "ab" }) { $0.dogs.contains { $0.name != "ab" } }
        try world.check(all.where { $0.dogs.name.in(["a", "b"]) }) {
            $0.dogs.contains { ["a", "b"].contains($0.name) }
        }
        try world.check(all.where { $0.dogs.colour == .green && $0.dogs.good }) {
            $0.dogs.contains { $0.colour == .green } && $0.dogs.contains { $0.good }
        }
        try world.check(all.where { $0.dogs.age > $0.boss.age }) { person in
            person.dogs.contains { Q.holds($0.age, person.boss?.age, >) }
        }
        try world.check(all.where { $0.dogs.owner == $0.boss }) { person in
            person.dogs.contains { $0.owner?.id == person.boss?.id }
        }
    }

    @Test func places() throws {
        let world = try P.World(), all = world.all
        try world.check(all.where { $0.scores[0] == 2 }) { $0.scores.first == 2 }
        try world.check(all.where { $0.scores[-1] > 2 }) { Q.holds($0.scores.last, 2, >) }
        try world.check(all.where { $0.scores[1] == nil }) { $0.scores.count < 2 }
        try world.check(all.where { $0.maybes[1] == nil }) { $0.maybes.count < 2 || $0.maybes[1] == nil }
        try world.check(all.where { $0.dogs[0].name == "a" }) { $0.dogs.first?.name == "a" }
        try world.check(all.where { $0.dogs[-1] == nil }) { $0.dogs.isEmpty }
        try world.check(all.where { $0.dogs[0].toys[0].price > 1 }) { Q.holds($0.dogs.first?.toys.first?.price, 1, >) }
        try world.check(all.where { $0.dogs.toys[0].price > 1 }) {
            $0.dogs.contains { Q.holds($0.toys.first?.price, 1, >) }
        }
        try world.check(all.where { $0.dogs.toys[0].price.max > 1 }) {
            Q.holds($0.dogs.compactMap { $0.toys.first?.price }.max(), 1, >)
        }
        try world.check(all.where { $0.dogs[0].age.contains(1..<4) }) {
            $0.dogs.first.map { (1..<4).contains($0.age) } ?? false
        }
        try world.check(all.where { $0.notes["a"] > 1 }) { Q.holds($0.notes["a"], 1, >) }
        try world.check(all.where { $0.notes["a"] == nil }) { $0.notes["a"] == nil }
        try world.check(all.where { $0.byName["x"].age > 2 }) { Q.holds(($0.byName["x"] ?? nil)?.age, 2, >) }
        try world.check(all.where { $0.byName["x"] == nil }) { ($0.byName["x"] ?? nil) == nil }
        let dog = world.dogs[3]
        try world.check(all.where { $0.byName["y"] == dog }) { ($0.byName["y"] ?? nil)?.id == dog.id }
        try world.check(all.where { $0.byName.name == "a" }) { $0.byName.contains { $0.value?.name == "a" } }
        try world.check(all.where { $0.byName.values.name == "a" }) { $0.byName.contains { $0.value?.name == "a" } }
        try world.check(all.where { $0.byName.keys == "x" }) { $0.byName.keys.contains("x") }
        try world.check(all.where { $0.notes.keys.starts(with: "a") }) { $0.notes.keys.contains { $0.hasPrefix("a") } }
        try world.check(all.where { $0.notes.values > 2 }) { $0.notes.contains { $0.value > 2 } }
        try world.check(all.where { $0.rooms.keys > 1 && $0.rooms.values != "a" }) {
            $0.rooms.keys.contains { $0 > 1 } && $0.rooms.contains { $0.value != "a" }
        }
        #expect(
            all.where { $0.rooms[1] == "a" }.map(\.id) == world.people.filter { $0.rooms[1] == "a" }.map(\.id),
            "seed \(world.seed)")
        // Of any value.
        try world.check(all.where { $0.extra["k"] == 1 }) { $0.extra["k"]?.int == 1 }
        try world.check(all.where { $0.extra["k"][1] == 2 }) { $0.extra["k"]?[1]?.int == 2 }
        try world.check(all.where { $0.extra[0] == 1 }) { $0.extra[0]?.int == 1 }
        try world.check(all.where { $0.extra.any == "ab" }) {
            $0.extra.list?.contains("ab") ?? $0.extra.dictionary?.contains { $0.value == "ab" } ?? false
        }
        try world.check(all.where { $0.things.any["k"] == 1 }) { $0.things.contains { $0["k"]?.int == 1 } }
        try world.check(all.where { $0.things[0] == "ab" }) { $0.things.first == "ab" }
        try world.check(all.where { $0.extra.starts(with: "a") }) { $0.extra.string?.hasPrefix("a") ?? false }
    }

    @Test func quantifiers() throws {
        let world = try P.World(), all = world.all
        try world.check(all.where { $0.scores.all > 1 }) { $0.scores.allSatisfy { $0 > 1 } }
        try world.check(all.where { $0.scores.none == 3 }) { !$0.scores.contains(3) }
        try world.check(all.where { $0.scores.any >= 4 }) { $0.scores.contains { $0 >= 4 } }
        try world.check(all.where { $0.scores.all.contains(1...4) }) { $0.scores.allSatisfy { (1...4).contains($0) } }
        try world.check(all.where { $0.scores.all.contains(1..<4) }) { $0.scores.allSatisfy { (1..<4).contains($0) } }
        try world.check(all.where { $0.tags.all.starts(with: "a") }) { $0.tags.allSatisfy { $0.hasPrefix("a") } }
        try world.check(all.where { $0.tags.none.in(["a", "b"]) }) { !$0.tags.contains { ["a", "b"].contains($0) } }
        try world.check(all.where { $0.notes.values.all < 2 }) { $0.notes.allSatisfy { $0.value < 2 } }
        try world.check(all.where { $0.notes.keys.none == "a" }) { $0.notes["a"] == nil }
        try world.check(all.where { $0.dogs.age.all > 1 }) { $0.dogs.allSatisfy { $0.age > 1 } }
        try world.check(all.where { $0.dogs.good.all }) { $0.dogs.allSatisfy(\.good) }
        try world.check(all.where { $0.scores.any == $0.maybes.any }) { person in
            person.scores.contains { person.maybes.contains($0) }
        }
        try world.check(all.where { $0.scores.all < $0.maybes.all }) { person in
            person.scores.allSatisfy { score in person.maybes.allSatisfy { Q.holds(score, $0, <) } }
        }
        try world.check(all.where { $0.dogs.any { $0.age > 2 && $0.good } }) {
            $0.dogs.contains { $0.age > 2 && $0.good }
        }
        try world.check(all.where { $0.pets.all { $0.age > 2 || $0.weight == nil } }) {
            $0.pets.allSatisfy { $0.age > 2 || $0.weight == nil }
        }
        try world.check(all.where { $0.byName.all { $0.good } }) { $0.byName.allSatisfy { $0.value?.good ?? true } }
        try world.check(all.where { $0.byName.none { $0.good } }) { !$0.byName.contains { $0.value?.good ?? false } }
        try world.check(all.where { $0.staff.any { $0.dogs.none { $0.good } } }) {
            $0.staff.contains { !$0.dogs.contains { $0.good } }
        }
        let dog = world.dogs[5]
        try world.check(all.where { $0.dogs.none { $0 == dog } }) { !$0.dogs.contains { $0.id == dog.id } }
        // What is outside of the closure, and two levels of it.
        try world.check(all.where { person in person.dogs.all { $0.age > person.limit } }) { person in
            person.dogs.allSatisfy { $0.age > person.limit }
        }
        try world.check(
            all.where { person in
                person.dogs.any { dog in dog.toys.any { $0.name == dog.name && $0.price > person.scores.min } }
            }
        ) { person in
            person.dogs.contains { dog in
                dog.toys.contains { $0.name == dog.name && Q.holds($0.price, person.scores.min().map(Double.init), >) }
            }
        }
        try world.check(all.where { person in person.dogs.any { dog in person.pets.any { $0.age < dog.age } } }) {
            person in
            person.dogs.contains { dog in person.pets.contains { $0.age < dog.age } }
        }
    }

    @Test func countsAndAggregates() throws {
        let world = try P.World(), all = world.all
        try world.check(all.where { $0.dogs.count > 2 }) { $0.dogs.count > 2 }
        try world.check(all.where { $0.dogs.count == $0.scores.count }) { $0.dogs.count == $0.scores.count }
        try world.check(all.where { $0.dogs.count.contains(1..<3) }) { (1..<3).contains($0.dogs.count) }
        try world.check(all.where { $0.byName.count + $0.pets.count >= 3 }) { $0.byName.count + $0.pets.count >= 3 }
        try world.check(all.where { $0.boss.dogs.count == 0 }) { ($0.boss?.dogs.count ?? 0) == 0 }
        try world.check(all.where { $0.dogs.toys.count > 3 }) { $0.dogs.map(\.toys.count).reduce(0, +) > 3 }
        try world.check(all.where { $0.dogs.name.count > 1 }) { $0.dogs.contains { $0.name.count > 1 } }
        try world.check(all.where { $0.scores.max > 3 }) { Q.holds($0.scores.max(), 3, >) }
        try world.check(all.where { $0.scores.min == nil }) { $0.scores.isEmpty }
        try world.check(all.where { $0.scores.sum >= 5 }) { $0.scores.reduce(0, +) >= 5 }
        try world.check(all.where { $0.scores.sum == 0 }) { $0.scores.reduce(0, +) == 0 }
        func average(_ numbers: [Double]) -> Double? {
            numbers.isEmpty ? nil : numbers.reduce(0, +) / Double(numbers.count)
        }
        try world.check(all.where { $0.scores.avg > 2.5 }) { Q.holds(average($0.scores.map(Double.init)), 2.5, >) }
        try world.check(all.where { $0.scores.avg == nil }) { $0.scores.isEmpty }
        try world.check(all.where { $0.maybes.sum > 3 && $0.maybes.max < 5 }) {
            let known = $0.maybes.compactMap(\.self)
            return known.reduce(0, +) > 3 && Q.holds(known.max(), 5, <)
        }
        try world.check(all.where { $0.notes.max > $0.notes.avg }) {
            let values = $0.notes.map(\.value)
            return Q.holds(values.max(), average(values), >)
        }
        try world.check(all.where { $0.notes.values.sum > 1 && $0.rooms.keys.max == 2 }) {
            $0.notes.map(\.value).reduce(0, +) > 1 && $0.rooms.keys.max() == 2
        }
        try world.check(all.where { $0.dogs.age.max > 4 }) { Q.holds($0.dogs.map(\.age).max(), 4, >) }
        try world.check(all.where { $0.dogs.age.min < $0.age }) { Q.holds($0.dogs.map(\.age).min(), $0.age, <) }
        try world.check(all.where { $0.dogs.age.sum == 7 }) { $0.dogs.map(\.age).reduce(0, +) == 7 }
        try world.check(all.where { $0.dogs.weight.avg <= 1 }) { Q.holds(average($0.dogs.compactMap(\.weight)), 1, <=) }
        try world.check(all.where { $0.dogs.born.max >= Timestamp(seconds: 2) }) {
            Q.holds($0.dogs.compactMap(\.born).max(), Timestamp(seconds: 2), >=)
        }
        try world.check(all.where { $0.dogs.owner.age.max == 5 }) { $0.dogs.compactMap { $0.owner?.age }.max() == 5 }
        try world.check(all.where { $0.dogs.toys.price.max > 3 }) {
            Q.holds($0.dogs.flatMap { $0.toys.compactMap(\.price) }.max(), 3, >)
        }
        try world.check(all.where { $0.staff.scores.max == 5 }) { $0.staff.contains { $0.scores.max() == 5 } }
    }

    @Test func inverses() throws {
        let world = try P.World(), all = world.all, dogs = world.store.objects(Dog.self)
        try world.check(all.where { $0.staff.count > 1 }) { $0.staff.count > 1 }
        try world.check(all.where { $0.owned.name == "ab" }) { $0.owned.contains { $0.name == "ab" } }
        try world.check(all.where { $0.owned.weight.sum > 2 }) { $0.owned.compactMap(\.weight).reduce(0, +) > 2 }
        try world.check(all.where { $0.boss.staff.count == 2 }) { $0.boss?.staff.count == 2 }
        try world.check(dogs.where { $0.keepers.age.max == 5 }, world.dogs.filter { $0.keepers.map(\.age).max() == 5 })
        // Each link counts.
        try world.check(
            dogs.where { $0.keepers.count > 3 },
            world.dogs.filter { dog in
                world.people.map { $0.dogs.filter { $0.id == dog.id }.count }.reduce(0, +) > 3
            })
        let person = world.people[4]
        try world.check(
            dogs.where { $0.keepers.contains(person) || $0.owner.staff.contains(person) },
            world.dogs.filter { dog in
                dog.keepers.contains { $0.id == person.id } || dog.owner.map { $0.id == person.boss?.id } ?? false
            })
    }

    @Test func subqueries() throws {
        let world = try P.World(), all = world.all
        try world.check(all.where { ($0.dogs.age > 2 && $0.dogs.good).count > 0 }) {
            $0.dogs.contains { $0.age > 2 && $0.good }
        }
        try world.check(all.where { ($0.dogs.age > 2 || $0.dogs.name == "a").count >= 2 }) {
            $0.dogs.filter { $0.age > 2 || $0.name == "a" }.count >= 2
        }
        try world.check(all.where { $0.dogs.good.count == 1 }) { $0.dogs.filter(\.good).count == 1 }
        try world.check(all.where { (!($0.dogs.age > 2)).count > $0.limit }) { person in
            person.dogs.filter { !($0.age > 2) }.count > person.limit
        }
        try world.check(all.where { ($0.dogs.age > $0.limit).count == $0.scores.count }) { person in
            person.dogs.filter { $0.age > person.limit }.count == person.scores.count
        }
        try world.check(all.where { ($0.boss.dogs.age > 2 && $0.boss.dogs.weight != nil).count > 0 }) {
            $0.boss?.dogs.contains { $0.age > 2 && $0.weight != nil } ?? false
        }
        try world.check(all.where { ($0.dogs.toys.price > 1 && $0.dogs.toys.count > 2).count > 0 }) {
            $0.dogs.contains { $0.toys.contains { Q.holds($0.price, 1, >) } && $0.toys.count > 2 }
        }
        // What is said of the whole collection is about all of it.
        try world.check(all.where { ($0.dogs.age == $0.dogs.age.max && $0.dogs.count > 1).count > 1 }) { person in
            let oldest = person.dogs.map(\.age).max()
            return person.dogs.count > 1 && person.dogs.filter { $0.age == oldest }.count > 1
        }
        try world.check(all.where { $0.dogs.count(where: { $0.age > 2 }) >= $0.limit }) { person in
            person.dogs.filter { $0.age > 2 }.count >= person.limit
        }
        try world.check(all.where { $0.byName.count(where: { $0.age < 3 }) == 1 }) {
            $0.byName.filter { ($0.value?.age ?? 9) < 3 }.count == 1
        }
        try world.check(all.where { $0.staff.any { ($0.dogs.age > 2 && $0.dogs.good).count > 1 } }) {
            $0.staff.contains { $0.dogs.filter { $0.age > 2 && $0.good }.count > 1 }
        }
        #expect(
            try all.where { ($0.dogs.age > 2 && $0.dogs.good).count > 0 }.queryText
                == all.where { $0.dogs.any { $0.age > 2 && $0.good } }.queryText)
    }

    @Test func refusedConditions() throws {
        let world = try P.World(10), other = try P.World(10), all = world.all
        func refused(
            _ code: ObjStoreError.Code, line: Int = #line, _ condition: (Query<Person>) -> Query<Bool>
        ) {
            let found = ObjStoreError.of { try all.where(condition).validate() }
            #expect(found?.code == code && found?.position == nil, "line \(line): \(found.map { "\($0)" } ?? "none")")
        }
        refused(.invalidQuery) { ($0.age > 2).count > 0 }
        refused(.invalidQuery) { ($0.dogs.age > 2 && $0.pets.age > 2).count > 0 }
        refused(.invalidQuery) { ($0.dogs.age > 2 && $0.boss.dogs.age > 2).count > 0 }
        refused(.invalidQuery) { ($0.dogs.count > 2).count > 0 }
        refused(.invalidQuery) { ($0.notes.values > 2).count > 0 }
        refused(.invalidQuery) { $0.age.max > 2 }
        refused(.invalidQuery) { $0.boss.age.sum > 2 }
        refused(.invalidQuery) { ($0.dogs.age + 1).max > 2 }
        refused(.invalidQuery) { $0.age.all > 2 }
        refused(.notSupported) { $0.notes.values.contains(1..<2) }
        refused(.notSupported) { $0.scores.any.contains(1...2) }
        refused(.notSupported) { $0.staff.notes.values.contains(1..<2) }
        refused(.wrongStore) { $0.dogs.contains(other.dogs[0]) }
        var kept: [Query<Dog>] = []
        refused(.invalidQuery) { person in
            _ = person.dogs.any { dog in
                kept.append(dog)
                return dog.good
            }
            return kept[0].good
        }
        refused(.wrongStore) { person in
            var strange: [Query<Bool>] = []
            _ = other.all.where { other in
                strange.append(other.age > 2)
                return strange[0]
            }
            return person.dogs.any { _ in strange[0] }
        }
    }

    /// A text, and the expression that says the same, are the same query.
    @Test func textsOfExpressions() throws {
        let world = try P.World(), all = world.all
        func same(_ text: String, line: Int = #line, _ condition: (Query<Person>) -> Query<Bool>) throws {
            let written = try all.filter(text), made = all.where(condition)
            #expect(try written.queryText == made.queryText, "line \(line)")
            #expect(written.map(\.id) == made.map(\.id), "line \(line), seed \(world.seed)")
        }
        try same("boss.home.name == 'a'") { $0.boss.home.name == "a" }
        try same("dogs.age > 2") { $0.dogs.age > 2 }
        try same("ANY scores == 2") { $0.scores.contains(2) }
        try same("ANY tags IN {'a', 'b'}") { $0.tags.containsAny(in: ["a", "b"]) }
        try same("scores.@min >= 1 AND scores.@max <= 3") { $0.scores.contains(1...3) }
        try same("ALL scores > 1 AND NONE tags == 'a'") { $0.scores.all > 1 && $0.tags.none == "a" }
        try same("ALL scores BETWEEN {1, 3}") { $0.scores.all.contains(1...3) }
        try same("dogs.@count > 2 AND dogs.@max.age > 3") { $0.dogs.count > 2 && $0.dogs.age.max > 3 }
        try same("dogs.toys.@avg.price > 1.5") { $0.dogs.toys.price.avg > 1.5 }
        try same("scores[0] == 1 AND scores[-1] == 2") { $0.scores[0] == 1 && $0.scores[-1] == 2 }
        try same("notes['a'] > 0.5 AND notes.@keys == 'a'") { $0.notes["a"] > 0.5 && $0.notes.keys == "a" }
        try same("byName.@values.age > 2") { $0.byName.age > 2 }
        try same("extra['k'][*] == 1") { $0.extra["k"].any == 1 }
        try same("@links.Person.boss.age > 2") { $0.staff.age > 2 }
        try same("SUBQUERY(dogs, $d, $d.age > limit AND $d.good == true).@count > 1") {
            ($0.dogs.age > $0.limit && $0.dogs.good).count > 1
        }
        try same("SUBQUERY(dogs, $d, NOT ($d.age > 2)).@count == 0") { $0.dogs.all { $0.age > 2 } }
        try same(
            """
            SUBQUERY(dogs, $d, SUBQUERY($d.toys, $t, $t.name == $d.name AND $t.price > scores.@min).@count > 0).@count \
            > 0
            """
        ) { person in
            person.dogs.any { dog in dog.toys.any { $0.name == dog.name && $0.price > person.scores.min } }
        }
    }
}
