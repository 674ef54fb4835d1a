import ObjStore
import Testing

/// Random conditions, put together of small ones about people and about dogs, against the same of arrays; and orders by
/// what lies behind links.
@Suite struct QueryPathRandomTests {
    typealias Person = P.Person
    typealias Dog = P.Dog
    typealias Both<T> = (condition: @Sendable (Query<T>) -> Query<Bool>, holds: @Sendable (T) -> Bool)

    private static let ofDogs: [Both<Dog>] = [
        ({ $0.age > 3 }, { $0.age > 3 }), ({ $0.age <= 1 }, { $0.age <= 1 }), ({ $0.good }, { $0.good }),
        ({ $0.name == "ab" }, { $0.name == "ab" }), ({ $0.weight < 2 }, { Q.holds($0.weight, 2, <) }),
        ({ $0.weight == nil }, { $0.weight == nil }), ({ $0.owner == nil }, { $0.owner == nil }),
        ({ $0.owner.name == "a" }, { $0.owner?.name == "a" }),
        ({ $0.owner.age > $0.age }, { Q.holds($0.owner?.age, $0.age, >) }),
        ({ $0.colour == .red }, { $0.colour == .red }), ({ $0.toys.count > 1 }, { $0.toys.count > 1 }),
        ({ $0.toys.price > 1.5 }, { $0.toys.contains { ($0.price ?? 0) > 1.5 } }),
        ({ $0.toys.price.max < 3 }, { Q.holds($0.toys.compactMap(\.price).max(), 3, <) }),
        ({ $0.toys.name.starts(with: "a") }, { $0.toys.contains { $0.name.hasPrefix("a") } }),
        ({ $0.tags.contains("b") }, { $0.tags.contains("b") }), ({ $0.tags.none == "" }, { !$0.tags.contains("") }),
        ({ $0.keepers.age.max > 4 }, { Q.holds($0.keepers.map(\.age).max(), 4, >) }),
    ]

    private static let ofPeople: [Both<Person>] = [
        ({ $0.age > 2 }, { $0.age > 2 }), ({ $0.boss == nil }, { $0.boss == nil }),
        ({ $0.boss.name == "a" }, { $0.boss?.name == "a" }),
        ({ $0.boss.age > $0.age }, { Q.holds($0.boss?.age, $0.age, >) }),
        ({ $0.home.name == nil }, { $0.home?.name == nil }),
        ({ $0.homes.size > 2 }, { $0.homes.contains { $0.size > 2 } }),
        ({ $0.scores.contains(3) }, { $0.scores.contains(3) }),
        ({ $0.scores[-1] < 3 }, { Q.holds($0.scores.last, 3, <) }),
        ({ $0.scores.sum > 5 }, { $0.scores.reduce(0, +) > 5 }),
        ({ $0.scores.all > 1 }, { $0.scores.allSatisfy { $0 > 1 } }),
        ({ $0.maybes.min == nil }, { $0.maybes.allSatisfy { $0 == nil } }),
        ({ $0.tags.all.starts(with: "a") }, { $0.tags.allSatisfy { $0.hasPrefix("a") } }),
        ({ $0.notes["a"] > 1 }, { Q.holds($0.notes["a"], 1, >) }),
        ({ $0.notes.keys == "b" }, { $0.notes["b"] != nil }),
        ({ $0.byName["x"].good }, { ($0.byName["x"] ?? nil)?.good ?? false }),
        ({ $0.dogs.age > 4 }, { $0.dogs.contains { $0.age > 4 } }),
        ({ $0.dogs.age.all > 0 }, { $0.dogs.allSatisfy { $0.age > 0 } }),
        ({ $0.dogs.age.contains(2..<3) }, { $0.dogs.contains { $0.age == 2 } }),
        ({ $0.dogs.count > $0.limit }, { $0.dogs.count > $0.limit }),
        ({ $0.dogs.weight.sum >= 2 }, { $0.dogs.compactMap(\.weight).reduce(0, +) >= 2 }),
        ({ $0.dogs.toys.count > 4 }, { $0.dogs.map(\.toys.count).reduce(0, +) > 4 }),
        ({ ($0.dogs.age > 2 && $0.dogs.good).count == 1 }, { $0.dogs.filter { $0.age > 2 && $0.good }.count == 1 }),
        ({ $0.staff.count == 0 }, { $0.staff.isEmpty }), ({ $0.owned.good }, { $0.owned.contains { $0.good } }),
        ({ $0.extra["k"] == 1 }, { $0.extra["k"]?.int == 1 }),
    ]

    /// A condition about one of the dogs of a person.
    private func ofTheirDogs(_ world: P.World, _ depth: Int) -> Both<Person> {
        let (condition, holds) = tree(world, depth) { $0.random.one(of: Self.ofDogs) }
        switch world.random.number(8) {
        case 0: return ({ $0.dogs.any(condition) }, { $0.dogs.contains(where: holds) })
        case 1: return ({ $0.dogs.all(condition) }, { $0.dogs.allSatisfy(holds) })
        case 2: return ({ $0.pets.none(condition) }, { !$0.pets.contains(where: holds) })
        case 3: return ({ $0.byName.all(condition) }, { $0.byName.compactMap(\.value).allSatisfy(holds) })
        case 4: return ({ $0.owned.any(condition) }, { $0.owned.contains(where: holds) })
        case 5: return ({ $0.dogs.count(where: condition) > $0.limit }, { $0.dogs.filter(holds).count > $0.limit })
        case 6:
            return (
                { $0.staff.any { $0.pets.all(condition) } },
                { $0.staff.contains { $0.pets.allSatisfy(holds) } }
            )
        default:
            return (
                { person in person.dogs.any { dog in condition(dog) && dog.age > person.age } },
                { person in person.dogs.contains { holds($0) && $0.age > person.age } }
            )
        }
    }

    private func tree<T>(_ world: P.World, _ depth: Int, _ leaf: (P.World) -> Both<T>) -> Both<T> {
        let kind = depth == 0 ? 0 : world.random.number(6)
        if kind == 0 { return leaf(world) }
        let (a, x) = tree(world, depth - 1, leaf)
        if kind == 1 { return ({ !a($0) }, { !x($0) }) }
        let (b, y) = tree(world, depth - 1, leaf)
        return kind < 4 ? ({ a($0) && b($0) }, { x($0) && y($0) }) : ({ a($0) || b($0) }, { x($0) || y($0) })
    }

    @Test func randomConditions() throws {
        let world = try P.World()
        var found = 0
        for _ in 0..<200 {
            let (condition, holds) = tree(world, 3) { world in
                world.random.number(2) == 0 ? world.random.one(of: Self.ofPeople) : ofTheirDogs(world, 2)
            }
            let results = world.all.where(condition)
            try world.check(results, holds)
            if !results.isEmpty, results.count < world.people.count { found += 1 }
        }
        #expect(found > 100, "seed \(world.seed)")
    }

    /// The same while a write changes what they are about, and of a frozen version.
    @Test func inOtherViews() throws {
        let world = try P.World(), store = world.store
        let good = world.all.where { $0.dogs.any { $0.good && $0.toys.count > 0 } || $0.boss.age > 3 }
        func holds(_ person: Person) -> Bool {
            person.dogs.contains { $0.good && $0.toys.count > 0 } || Q.holds(person.boss?.age, 3, >)
        }
        let before = good.map(\.id), frozen = try good.freeze()
        try store.write { _ in
            for dog in world.dogs where dog.id % 2 == 0 { dog.good.toggle() }
            for person in world.people where person.id % 3 == 0 { person.boss = nil }
            let now = world.people.filter(holds).map(\.id)
            #expect(good.map(\.id) == now && now != before && frozen.map(\.id) == before, "seed \(world.seed)")
        }
        try world.check(good, holds)
        #expect(frozen.map(\.id) == before)
    }

    // MARK: Orders

    private static func precedes<T: Comparable>(_ a: T?, _ b: T?) -> Bool {
        guard let a, let b else { return a == nil && b != nil }
        return a < b
    }

    private static func sorted(_ people: [Person], _ precedes: (Person, Person) -> Bool) -> [Person] {
        people.enumerated().sorted { a, b in
            precedes(a.element, b.element) || !precedes(b.element, a.element) && a.offset < b.offset
        }.map(\.element)
    }

    @Test func sortedThroughLinks() throws {
        let world = try P.World(), all = world.all, people = world.people
        let byBoss = Self.sorted(people) { Self.precedes($0.boss?.age, $1.boss?.age) }
        try world.check(all.sorted(by: \.boss?.age), byBoss)
        try world.check(all.sorted(by: [SortKey("boss.age")]), byBoss)
        try world.check(try all.filter("SORT(boss.age ASC)"), byBoss)
        try world.check(
            all.sorted(by: \.boss?.boss?.name, ascending: false),
            Self.sorted(people) { Self.precedes($1.boss?.boss?.name, $0.boss?.boss?.name) })
        try world.check(
            all.sorted(by: \.home?.name), Self.sorted(people) { Self.precedes($0.home?.name, $1.home?.name) })
        try world.check(
            all.sorted(by: [SortKey(\.boss?.home?.size, ascending: false), SortKey(\.name)]),
            Self.sorted(people) {
                let a = $0.boss?.home?.size, b = $1.boss?.home?.size
                return a == b ? $0.name < $1.name : Self.precedes(b, a)
            })
        try world.check(
            all.where { $0.boss != nil }.sorted(by: \.boss?.age).limit(5).sorted(by: \.age),
            Self.sorted(Array(Self.sorted(people.filter { $0.boss != nil }) { $0.boss!.age < $1.boss!.age }.prefix(5)))
            {
                $0.age < $1.age
            })
        var seen: Set<[Int?]> = []
        try world.check(
            all.distinct(by: \.boss?.age, \.home?.size),
            people.filter { seen.insert([$0.boss?.age, $0.home?.size]).inserted })
        var names: Set<String?> = []
        try world.check(all.distinct(by: ["boss.name"]), people.filter { names.insert($0.boss?.name).inserted })
        #expect(code { try all.sorted(by: \.boss).validate() } == .notSupported)
        #expect(code { try all.sorted(by: [SortKey("dogs.age")]).validate() } == .invalidQuery)
        #expect(code { try all.sorted(by: [SortKey("boss.agee")]).validate() } == .noSuchProperty)
        #expect(
            try world.store.dynamicObjects("Person").sorted(by: "boss.age").validate().map { $0.id?.int }
                == byBoss.map(\.id))
    }
}

extension P.Person {
    // No properties of the store: what they compute is not seen.
    var bossAge: Int { boss?.age ?? 0 }
    var ownAge: Int? { boss == nil ? nil : age }
    var both: String? { boss.map { $0.name + name } }
}

extension QueryPathRandomTests {
    @Test func keyPathsThatAreNoPaths() throws {
        let all = try P.World(10).all
        let keyPaths: [PartialKeyPath<Person>] = [
            \.bossAge, \.ownAge, \.both, \.boss?.age.magnitude, \.boss?.dogs.count, \.boss?.staff,
            \.home?.name?.count, \.dogs.count,
        ]
        for (number, keyPath) in keyPaths.enumerated() {
            #expect(
                code { try all.distinct(by: keyPath).validate() } == .invalidQuery, "\(number) \(keyPath)")
        }
        #expect(code { try all.sum(of: \.boss?.age) } == .invalidQuery)
        #expect(code { try all.observe(keyPaths: [\.boss?.age]) { _ in } } == nil, "observers follow links")
    }
}
