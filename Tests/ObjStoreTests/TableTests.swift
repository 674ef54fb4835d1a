import ObjStore
import Testing

/// Columns and groups, against plain loops over random objects.
@Suite struct TableTests {
    typealias Person = P.Person
    typealias Dog = P.Dog

    @Test func valuesOfEachObject() throws {
        let world = try P.World(), dogs = world.store.objects(Dog.self)
        let found = try dogs.where { $0.age > 1 }.sorted(by: \.name).select {
            ($0.name, $0.age * 2, $0.weight, $0.owner.name.optional, $0.toys.count, $0.colour, $0.owner)
        }
        let wanted = dogs.where { $0.age > 1 }.sorted(by: \.name)
        #expect(found.count == wanted.count && found.count > 3)
        for (row, dog) in zip(found, wanted) {
            #expect(row.0 == dog.name && row.1 == dog.age * 2 && row.3 == dog.owner?.name)
            #expect(row.2 == dog.weight && row.4 == dog.toys.count && row.5 == dog.colour && row.6 == dog.owner)
        }
        #expect(try dogs.select { $0.name } == dogs.map(\.name))
    }

    @Test func groupsByOneKey() throws {
        let world = try P.World(), dogs = world.store.objects(Dog.self)
        let rows = try dogs.group(by: { $0.age }).select {
            ($0.age, $0.count, $0.sum(\.age), $0.avg(\.weight), $0.min(\.name), $0.max(\.weight), $0.max(\.born))
        }
        let groups = Dictionary(grouping: dogs, by: \.age)
        #expect(Set(rows.map(\.0)) == Set(groups.keys) && rows.count == groups.count)
        var order: [Int] = []
        for dog in dogs where !order.contains(dog.age) { order.append(dog.age) }
        #expect(rows.map(\.0) == order)
        for (age, count, sum, mean, name, heaviest, youngest) in rows {
            let members = try #require(groups[age])
            let weights = members.compactMap(\.weight).filter { !$0.isNaN }
            #expect(count == members.count && sum == age * members.count)
            if weights.isEmpty {
                #expect(mean == nil && heaviest == nil)
            } else {
                #expect(abs(mean! - weights.reduce(0, +) / Double(weights.count)) < 1e-9 && heaviest == weights.max())
            }
            #expect(name == members.map(\.name).min { $0.unicodeScalars.lexicographicallyPrecedes($1.unicodeScalars) })
            #expect(youngest == members.compactMap(\.born).max())
        }
    }

    @Test func plans() throws {
        let world = try P.World(), dogs = world.store.objects(Dog.self)
        let text = "age > $0 GROUP(name) SELECT(name, @count)"
        let rows = try dogs.table(text, 2).count
        for plan in [
            try dogs.explain(text, 2, running: true),
            try dogs.where { $0.age > 2 }.group(by: { $0.name }).explain(running: true),
        ] {
            #expect(plan.contains("scan: age > 2") && plan.contains("then: GROUP(name"), "\(plan)")
            #expect(plan.contains("\(rows) row"), "\(plan)")
        }
        #expect(try dogs.explain("age > 2").contains("scan: age > 2"))
        #expect(try dogs.explain(text, 2, asJSON: true).contains(#""filter": "age > 2""#))
        let error = #expect(throws: ObjStoreError.self) { try dogs.explain("agee > 2") }
        #expect(error?.code == .noSuchProperty)
    }

    @Test func stepsOfGroups() throws {
        // So many that there are groups of two and more, whatever the seed.
        let world = try P.World(300), dogs = world.store.objects(Dog.self)
        let rows = try dogs.group(by: { ($0.owner, $0.good) })
            .having { $0.count > 1 && $0.owner != nil }
            .sorted(by: { $0.count }, ascending: false)
            .offset(1).limit(3)
            .select { ($0.owner, $0.owner.name.optional, $0.good, $0.count) }
        struct Key: Hashable { let owner: Int, good: Bool }
        var order: [Key] = [], counts: [Key: Int] = [:]
        for dog in dogs {
            guard let owner = dog.owner else { continue }
            let key = Key(owner: owner.id, good: dog.good)
            if counts[key] == nil { order.append(key) }
            counts[key, default: 0] += 1
        }
        let sorted = order.filter { counts[$0]! > 1 }.enumerated().sorted {
            (-counts[$0.element]!, $0.offset) < (-counts[$1.element]!, $1.offset)
        }
        let wanted = sorted.map(\.element).dropFirst().prefix(3)
        #expect(rows.count == wanted.count && !rows.isEmpty)
        for (row, key) in zip(rows, wanted) {
            #expect(row.0?.id == key.owner && row.1 == row.0?.name && row.2 == key.good && row.3 == counts[key])
        }
    }

    @Test func oneGroupOfAll() throws {
        let world = try P.World(), dogs = world.store.objects(Dog.self)
        #expect(try dogs.group().select { $0.count } == [dogs.count])
        let none = try dogs.where { $0.age > 1000 }.group().select { ($0.count, $0.sum(\.age), $0.max(\.age)) }
        #expect(none.count == 1 && none[0].0 == 0 && none[0].1 == 0 && none[0].2 == nil)
    }

    @Test func tablesOfTexts() throws {
        let world = try P.World(), dogs = world.store.objects(Dog.self)
        let table = try dogs.table(
            "age > $0 GROUP(colour) SORT(colour ASC) SELECT(colour, @count AS n, @avg.weight)", 0)
        #expect(table.columns == ["colour", "n", "@avg.weight"])
        let colours = try table.column("colour", as: P.Colour.self), counts = try table.column("n", as: Int.self)
        for (colour, count) in zip(colours, counts) {
            #expect(count == dogs.where { $0.age > 0 && $0.colour == colour }.count)
        }
        #expect(try table.column("@avg.weight", as: Double?.self).count == table.count)
        #expect(try table.value(0, "n") == .int(counts[0]))
        let extras = try world.store.objects(Person.self).table("SELECT(extra, boss)")
        #expect(try extras.column("extra", as: AnyValue.self) == world.all.map(\.extra))
        #expect(try extras.column("boss", as: Person?.self) == world.all.map(\.boss))
        #expect(try dogs.group(by: { $0.colour }).table().columns == ["colour", "@count"])
    }

    @Test func whatIsWrongIsThrown() throws {
        let world = try P.World(), dogs = world.store.objects(Dog.self)
        func error<T>(_ body: () throws -> T) -> String {
            do { return "no error: \(try body())" } catch { return "\(error)" }
        }
        #expect(error { try dogs.group(by: { $0.age }).select { $0.name } }.contains("name is no key of GROUP"))
        #expect(error { try dogs.group(by: { $0.age }).having { $0.name == "a" }.table() }.contains("name is no key"))
        #expect(error { try dogs.select { $0.weight } }.contains("no error"))
        #expect(error { try dogs.table("GROUP(age)").column("n") }.contains("there is no column n"))
        #expect(
            error { try dogs.table("GROUP(age)").column("age", as: String.self) }.contains(
                "an int, which String is not"))
        #expect(
            error { try dogs.table("SELECT(owner.name)").column("owner.name", as: String.self) }.contains(
                "is null in row"))
        #expect(error { try dogs.select { $0.owner.name } }.contains("has no null: ask for an optional"))
        #expect(error { try dogs.table("age > 3") }.contains("gives objects, and a table is asked for"))
        #expect(error { try dogs.filter("GROUP(age)") }.contains("gives a table, and objects are asked for"))
        #expect(error { try dogs.table("GROUP(age)").value(-1, "age") }.contains("row -1 of"))
    }

    @Test func tablesStayAndVersionsCount() throws {
        let world = try P.World(), dogs = world.store.objects(Dog.self)
        let before = dogs.count, frozen = try dogs.freeze()
        let table = try dogs.group().table()
        try world.store.write { try $0.delete(dogs) }
        #expect(try table.column("@count", as: Int.self) == [before])
        #expect(try frozen.group().select { $0.count } == [before])
        #expect(try dogs.group().select { $0.count } == [0])
    }
}
