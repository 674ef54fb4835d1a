import Foundation
import ObjStore
import Testing

/// Results in sections, against what plain Swift makes of an array.
@Suite struct SectionTests {
    private static func kennel(_ names: String...) throws -> Store {
        let store = try memoryStore(K.models)
        try store.write { tx in
            for (age, name) in names.enumerated() { try tx.create(K.Dog.self, value: ["name": name, "age": age]) }
        }
        return store
    }

    @Test("A104: dogs by their first letter") func a104() throws {
        let store = try Self.kennel("Rex", "Wolfie", "Fido", "Spot"), dogs = store.objects(K.Dog.self)
        let sections = dogs.sectioned(byFirstLetterOf: \.name)
        #expect(sections.count == 4 && sections.allKeys == ["F", "R", "S", "W"])
        #expect(sections[0].key == "F" && sections[0].map(\.name) == ["Fido"])
        let asked = dogs.sorted(by: \.name).sectioned(by: { $0.name.first })
        #expect(asked.allKeys == ["F", "R", "S", "W"] && asked[0].map(\.name) == ["Fido"])
        #expect(dogs.sectioned(by: { $0.name.first }).allKeys == ["R", "W", "F", "S"])
        #expect(dogs.sectioned(by: \.name, ascending: false).allKeys == ["Wolfie", "Spot", "Rex", "Fido"])
    }

    // MARK: Against an array

    /// Groups by a key, of which nil is one; NaN is equal to itself.
    private static func groups<Key>(
        _ items: [Q.Item], _ key: (Q.Item) -> Key, _ isEqual: (Key, Key) -> Bool
    ) -> [(key: Key, positions: [Int])] {
        var groups: [(key: Key, positions: [Int])] = []
        for (position, item) in items.enumerated() {
            if let index = groups.firstIndex(where: { isEqual($0.key, key(item)) }) {
                groups[index].positions.append(position)
            } else {
                groups.append((key(item), [position]))
            }
        }
        return groups
    }

    private static func check<Key>(
        _ sections: SectionedResults<Key, Q.Item>, _ items: [Q.Item], _ expected: [(key: Key, positions: [Int])],
        _ isEqual: (Key, Key) -> Bool, _ comment: Comment
    ) throws {
        try sections.validate()
        #expect(sections.count == expected.count, comment)
        for (section, group) in zip(sections, expected) {
            #expect(isEqual(section.key, group.key), comment)
            #expect(section.positions == group.positions, comment)
            #expect(section.map(\.id) == group.positions.map { items[$0].id }, comment)
            let found = sections.section(forKey: group.key)
            #expect(found?.positions == group.positions, comment)
            for (index, position) in group.positions.enumerated() {
                let place = sections.place(ofPosition: position), other = sections.place(of: items[position])
                #expect(
                    place?.index == index && place.map { sections[$0.section].positions } == group.positions, comment)
                #expect(other?.section == place?.section && other?.index == index, comment)
            }
        }
    }

    private static func check<Key: CollectionElement & Equatable & Persistable>(
        _ world: Q.World, _ results: Results<Q.Item>, _ keyPath: KeyPath<Q.Item, Key>, _ line: Int = #line
    ) throws {
        func isEqual(_ a: Key, _ b: Key) -> Bool { a == b || "\(a)" == "nan" && "\(b)" == "nan" }
        let items = Array(results), comment: Comment = "line \(line), seed \(world.seed)"
        let groups = groups(items, { $0[keyPath: keyPath] }, isEqual)
        try check(results.sectioned(by: keyPath, in: .ofAppearance), items, groups, isEqual, comment)
        // The order of keys is that in which the store sorts by them.
        let sorted = Array(results.sorted(by: keyPath))
        let ascending = groups.sorted { a, b in
            sorted.firstIndex { $0.isSameObject(as: items[a.positions[0]]) }!
                < sorted.firstIndex { $0.isSameObject(as: items[b.positions[0]]) }!
        }
        try check(results.sectioned(by: keyPath), items, ascending, isEqual, comment)
        try check(results.sectioned(by: keyPath, ascending: false), items, ascending.reversed(), isEqual, comment)
        nonisolated(unsafe) let path = keyPath
        try check(results.sectioned(by: { $0[keyPath: path] }), items, groups, isEqual, comment)
        try check(
            results.sectioned(in: .descending) { $0[keyPath: path] }, items, ascending.reversed(), isEqual, comment)
    }

    @Test func keysOfAllTypes() throws {
        let world = try Q.World()
        for results in [
            world.all, world.all.where { $0.age < 3 }.sorted(by: \.nick), world.all.where { $0.age > 100 },
            world.all.sorted(by: \.height, ascending: false).limit(20),
        ] {
            try Self.check(world, results, \.age)
            try Self.check(world, results, \.bonus)
            try Self.check(world, results, \.small)
            try Self.check(world, results, \.large)
            try Self.check(world, results, \.height)
            try Self.check(world, results, \.weight)
            try Self.check(world, results, \.single)
            try Self.check(world, results, \.name)
            try Self.check(world, results, \.nick)
            try Self.check(world, results, \.good)
            try Self.check(world, results, \.maybe)
            try Self.check(world, results, \.time)
            try Self.check(world, results, \.date)
            try Self.check(world, results, \.colour)
            try Self.check(world, results, \.colourOrNot)
            try Self.check(world, results, \.level)
            try Self.check(world, results, \.bytes)
            try Self.check(world, results, \.data)
            try Self.check(world, results, \.price)
            try Self.check(world, results, \.token)
            try Self.check(world, results, \.uuid)
        }
    }

    @Test func behindLinks() throws {
        let world = try Q.World(), items = Array(world.all), comment: Comment = "seed \(world.seed)"
        let named = Self.groups(items, { $0.owner?.name }, ==)
        try Self.check(world.all.sectioned(by: \.owner?.name, in: .ofAppearance), items, named, ==, comment)
        try Self.check(world.all.sectioned(by: { $0.owner?.name }), items, named, ==, comment)
        func isSame(_ a: Q.Owner?, _ b: Q.Owner?) -> Bool { a?.id == b?.id }
        let owned = Self.groups(items, { $0.owner }, isSame)
        try Self.check(world.all.sectioned(by: \.owner, in: .ofAppearance), items, owned, isSame, comment)
        try Self.check(world.all.sectioned(by: { $0.owner }), items, owned, isSame, comment)
        let byText = world.all.sectioned(by: "owner.name", in: .ofAppearance)
        #expect(byText.allKeys.map(\.string) == named.map(\.key), comment)
        let tens = world.all.sectioned(by: "age / $0", 2, in: .ofAppearance)
        #expect(tens.allKeys.map(\.int) == Self.groups(items, { $0.age / 2 }, ==).map(\.key), comment)
        let counted = world.all.sectioned(by: "friends.@count")
        #expect(counted.allKeys.map(\.int) == Array(Set(items.map(\.friends.count))).sorted(), comment)
    }

    /// Numbers of all types are one key where they are equal; what is nested is one, too.
    @Test func valuesOfAnyType() throws {
        let world = try Q.World(), items = Array(world.all)
        func isEqual(_ a: AnyValue, _ b: AnyValue) -> Bool {
            func number(_ value: AnyValue) -> Double? { value.int.map { Double($0) } ?? value.double }
            if let a = number(a), let b = number(b) { return a == b }
            // A text equals data of its bytes, as DISTINCT has it.
            func bytes(_ value: AnyValue) -> [UInt8]? { value.string.map { Array($0.utf8) } ?? value.data }
            if let a = bytes(a), let b = bytes(b) { return a == b }
            return a == b
        }
        let groups = Self.groups(items, { $0.extra }, isEqual)
        let sections = world.all.sectioned(by: \.extra, in: .ofAppearance)
        #expect(sections.map(\.positions) == groups.map(\.positions), "seed \(world.seed)")
        #expect(zip(sections, groups).allSatisfy { isEqual($0.key, $1.key) }, "seed \(world.seed)")
    }

    @Test func firstLetters() throws {
        let names = ["", "ärger", "Ärger", "éa", "e\u{301}a", "ßa", "ẞa", "ﬁ", "ǆ", "1a", "🐶", "z", "Z", "K", "ı", "İ"]
        let store = try memoryStore([Q.Item.self, Q.Owner.self])
        try store.write { tx in
            for (id, name) in names.enumerated() {
                let item = Q.Item()
                (item.id, item.name) = (id, name)
                try tx.add(item)
            }
            let rex = Q.Item()
            (rex.id, rex.nick) = (100, "rex")
            try tx.add(rex)
        }
        let items = store.objects(Q.Item.self)
        let letters = items.where { $0.id < 100 }.sectioned(byFirstLetterOf: \.name, in: .ofAppearance)
        #expect(letters.allKeys == ["", "Ä", "É", "E", "ß", "ﬁ", "Ǆ", "1", "🐶", "Z", "K", "I", "İ"])
        #expect(letters.section(forKey: "Z")?.map(\.name) == ["z", "Z"])
        #expect(letters.section(forKey: "ß")?.map(\.name) == ["ßa", "ẞa"])
        #expect(letters.section(forKey: "z") == nil)
        let nicks = items.sectioned(byFirstLetterOf: \.nick)
        #expect(nicks.allKeys == [nil, "R"] && nicks[0].count == names.count)
    }

    // MARK: Live

    @Test func liveAndFrozen() throws {
        let store = try Self.kennel("Rex", "Wolfie", "Fido"), dogs = store.objects(K.Dog.self)
        let sections = dogs.sectioned(byFirstLetterOf: \.name), asked = dogs.sectioned(by: { $0.age % 2 })
        let first = sections[0], frozen = try sections.freeze()
        #expect(asked.map(\.count) == [2, 1])
        try store.write { tx in
            try tx.create(K.Dog.self, value: ["name": "ally", "age": 8])
            #expect(sections.allKeys == ["A", "F", "R", "W"] && asked.map(\.count) == [3, 1])
            try tx.delete(dogs[0])
            #expect(sections.allKeys == ["A", "F", "W"] && asked.map(\.key) == [1, 0])
        }
        #expect(sections.allKeys == ["A", "F", "W"])
        #expect(frozen.allKeys == ["F", "R", "W"] && frozen.isFrozen && !sections.isFrozen)
        #expect(frozen[1][0].name == "Rex" && frozen[1][0].isFrozen)
        #expect(try frozen.thaw().allKeys == ["A", "F", "W"])
        // What was taken out stays, with objects as they are.
        #expect(first.map(\.name) == ["Fido"] && first.key == "F" && first.positions == [2])
        try store.write { tx in try tx.delete(first[0]) }
        #expect(first.count == 1 && first[0].isInvalidated)
        #expect(sections.allKeys == ["A", "W"])
    }

    /// Code that knows a collection and nothing else walks over sections, too.
    @Test func asACollection() throws {
        func names(_ sections: some RandomAccessCollection<ResultsSection<String, K.Dog>>) -> [[String]] {
            sections.map { $0.map(\.name) }
        }
        let store = try Self.kennel("Rex", "Wolfie", "Rolf"), dogs = store.objects(K.Dog.self)
        let sections = dogs.sectioned(byFirstLetterOf: \.name)
        #expect(names(sections) == [["Rex", "Rolf"], ["Wolfie"]])
        #expect(sections.first?.last?.name == "Rolf" && sections.last?.key == "W" && sections[0].id == "R")
        #expect(sections.reversed().map(\.key) == ["W", "R"] && sections[0][1...].map(\.name) == ["Rolf"])
        #expect(dogs.where { $0.age > 9 }.sectioned(by: \.age).isEmpty)
    }

    @Test func outOfRange() throws {
        let store = try Self.kennel("Rex"), sections = store.objects(K.Dog.self).sectioned(by: \.age)
        for index in [-1, 1, .max] {
            #expect(throws: ObjStoreError.self) { try Store.checked { _ = sections[index].count } }
        }
        for position in [-1, 1] {
            #expect(throws: ObjStoreError.self) { try Store.checked { _ = sections.place(ofPosition: position) } }
        }
        #expect(sections.place(of: K.Dog()) == nil && sections.section(forKey: 7) == nil)
        let other = try Self.kennel("Max").objects(K.Dog.self)[0]
        do {
            _ = try Store.checked { sections.place(of: other) }
            Issue.record("an object of another store is none")
        } catch let error as ObjStoreError { #expect(error.code == .wrongStore) }
    }

    // MARK: Functions

    @Test func functionsThatThrow() throws {
        struct Refusal: Error {}
        let store = try Self.kennel("Rex", "Wolfie"), dogs = store.objects(K.Dog.self)
        let sections = dogs.sectioned { (dog: K.Dog) throws -> Int in
            if dog.age == 1 { throw Refusal() }
            return dog.age
        }
        #expect(throws: Refusal.self) { try sections.validate() }
        do {
            try Store.checked { #expect(sections.count == 0) }
            Issue.record("it was not reported")
        } catch let error as ObjStoreError { #expect(error.code == .callback) }
        try store.write { tx in try tx.delete(dogs[1]) }
        #expect(sections.allKeys == [0])
    }

    /// It may write where it can: what it deletes is not asked about.
    @Test func functionsThatWrite() throws {
        let store = try Self.kennel("Rex", "Wolfie", "Fido", "Spot"), dogs = store.objects(K.Dog.self)
        try store.write { tx in
            nonisolated(unsafe) let write = tx
            let once = dogs.sectioned { (dog: K.Dog) throws -> String in
                if dog.name == "Rex", dogs.count == 4 { try write.delete(dogs[2]) }
                return dog.name
            }
            #expect(once.allKeys == ["Rex", "Wolfie", "Spot"])
            #expect(dogs.count == 3)
        }
    }

    @Test func whatIsNoKey() throws {
        let store = try memoryStore([Q.Item.self, Q.Owner.self]), items = store.objects(Q.Item.self)
        func code(_ body: () throws -> Void) -> ObjStoreError.Code? {
            do { try body() } catch { return (error as? ObjStoreError)?.code }
            return nil
        }
        for (text, expected) in [
            ("nme", .noSuchProperty), ("age <", .invalidQuery), ("age < 2", .invalidQuery), ("1", .invalidQuery),
            ("tags", .invalidQuery), ("friends.name", .invalidQuery), ("", .invalidQuery), ("name * 2", .wrongType),
            ("age age", .invalidQuery), ("age SORT(age ASC)", .invalidQuery),
        ] as [(String, ObjStoreError.Code)] {
            #expect(code { try items.sectioned(by: text).validate() } == expected, "\(text)")
        }
        #expect(code { try items.sectioned(by: \.age.nonzeroBitCount).validate() } == .invalidQuery)
    }
}
