import ObjStore
import Testing

/// Lists, sets, maps and inverses as questions, against the same done with arrays.
@Suite struct QueryCollectionTests {
    private static func check<T: P.Numbered>(_ found: Results<T>, _ expected: [T], _ what: String) throws {
        #expect(try found.validate().map(\.id) == expected.map(\.id), "\(what)")
        #expect(found.count == expected.count && found.first?.id == expected.first?.id, "\(what)")
    }

    private static func check(_ all: [P.Dog], _ source: some ObjectCollection, _ what: String) throws {
        let results = try source.results()
        guard let dogs = results as? Results<P.Dog> else { return #expect(Bool(false), "\(what)") }
        try check(dogs, all, what)
        try check(dogs.where { $0.age < 3 }, all.filter { $0.age < 3 }, what)
        #expect(try dogs.sum(of: \.age) == all.map(\.age).reduce(0, +), "\(what)")
        #expect(try dogs.max(of: \.weight) == all.compactMap(\.weight).max(), "\(what)")
    }

    @Test func listsSetsMapsAndInverses() throws {
        let world = try P.World()
        for person in world.people {
            let what = "person \(person.id), seed \(world.seed)", dogs = Array(person.dogs)
            try Self.check(dogs, person.dogs, what)
            try Self.check(Array(person.pets), person.pets, what)
            try Self.check(person.byName.map(\.value).compactMap { $0 }, person.byName, what)
            try Self.check(Array(person.owned), person.owned, what)
            try Self.check(person.dogs.where { $0.age > 2 || $0.good }, dogs.filter { $0.age > 2 || $0.good }, what)
            try Self.check(
                person.dogs.filter("age < $0 AND owner != nil", 4), dogs.filter { $0.age < 4 && $0.owner != nil }, what)
            try Self.check(
                person.dogs.sorted(by: \.age),
                dogs.enumerated().sorted {
                    ($0.element.age, $0.offset) < ($1.element.age, $1.offset)
                }.map(\.element), what)
            try Self.check(
                person.dogs.sorted(by: [SortKey(\.id, ascending: false)]), dogs.sorted { $0.id > $1.id }, what)
            var seen: Set<Int> = []
            try Self.check(person.dogs.distinct(by: \.id), dogs.filter { seen.insert($0.id).inserted }, what)
            try Self.check(person.dogs.offset(1).limit(2), Array(dogs.dropFirst().prefix(2)), what)
            try Self.check(
                person.dogs.limit(3).where { $0.good }, dogs.prefix(3).filter(\.good), what)
            #expect(try person.homes.where { $0.size > 2 }.map(\.size) == person.homes.map(\.size).filter { $0 > 2 })
            #expect(try person.homes.sorted(by: \.size).map(\.size) == person.homes.map(\.size).sorted())
            let staff = person.staff.filter { $0.age > 1 }.sorted { ($0.age, $0.id) < ($1.age, $1.id) }
            try Self.check(person.staff.where { $0.age > 1 }.sorted(by: \.age), staff, what)
        }
    }

    @Test func live() throws {
        let world = try P.World(), person = try #require(world.people.first)
        let young = try person.dogs.where { $0.age < 3 }, frozen = try young.freeze(), before = Array(young)
        try world.store.write { _ in
            for dog in young { #expect(person.dogs.contains { $0.id == dog.id }) }
            person.dogs.removeAll()
            #expect(young.isEmpty)
            person.dogs.append(objectsIn: world.dogs)
        }
        #expect(young.map(\.id) == world.dogs.filter { $0.age < 3 }.map(\.id))
        #expect(frozen.map(\.id) == before.map(\.id))
        // Each is changed once; then the owner goes.
        try world.store.write { tx in
            person.dogs.append(objectsIn: world.dogs)
            let count = try young.setValue(9, forKey: "age")
            #expect(count == world.dogs.count { $0.age == 9 } && young.isEmpty)
            try tx.delete(person)
            #expect(try young.validate().isEmpty)
        }
        #expect(young.isEmpty && frozen.count == before.count)
        #expect(throws: ObjStoreError.self) { try person.dogs.results() }
    }

    @Test func ofNoStore() throws {
        let loose = P.Person()
        loose.dogs.append(P.Dog())
        for ask in [
            { try loose.dogs.where { $0.age < 3 }.count }, { try loose.pets.limit(1).count },
            { try loose.byName.results().count }, { try loose.owned.sorted(by: \.age).count },
        ] as [() throws -> Int] {
            let error = #expect(throws: ObjStoreError.self) { try ask() }
            #expect(error?.code == .wrongView)
        }
    }

    @Test func dynamic() throws {
        let world = try P.World()
        for person in world.people.prefix(9) {
            let dynamic = try #require(try world.store.dynamicObject(ofType: "Person", forPrimaryKey: person.id))
            let found = try dynamic.collection("dogs").results().filter("age < 3").sorted(by: "id")
            let ids = person.dogs.filter { $0.age < 3 }.map(\.id).sorted()
            #expect(try found.validate().map { $0["id"] } == ids.map { .int($0) })
            let error = #expect(throws: ObjStoreError.self) { try dynamic.collection("scores").results() }
            #expect(error?.code == .wrongType && error?.message.contains("Person.scores") == true)
        }
    }
}
