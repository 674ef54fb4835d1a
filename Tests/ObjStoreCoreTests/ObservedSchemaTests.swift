import Testing

import ObjStoreCore

/// Observers of what a newer schema drops, and silent writes by readers who know an older version: single cases; random
/// ones are in `crash observers`.
@Suite struct ObservedSchemaTests {
    private static func describe(_ draft: inout SchemaDraft, age: Bool = true, toy: Bool = true) throws {
        try draft.addClass("Dog")
        try draft.addProperty("Dog", "name", .int, [])
        if age { try draft.addProperty("Dog", "age", .int, .indexed) }
        if toy {
            try draft.addClass("Toy")
            try draft.addProperty("Toy", "size", .int, [])
            try draft.addLink("Dog", "toy", to: "Toy", .nullable)
        } else {
            try draft.dropClass("Toy")
        }
    }

    private static func open(
        _ path: String, version: UInt64, _ describe: (inout SchemaDraft) throws -> Void
    ) throws -> Store {
        var draft = SchemaDraft(), configuration = StoreConfiguration()
        try describe(&draft)
        configuration.place = .file(path)
        configuration.schema = draft
        configuration.schemaVersion = version
        return try Store.open(configuration)
    }

    /// What an observer was told, a line each.
    private final class Told {
        var lines: [String] = []
        var refuses = false

        func take(_ changes: ChangeSet, sections: [UInt64]? = nil) -> StoreError? {
            if refuses {
                refuses = false
                changes.isUntold = true
                return nil
            }
            var line = "deleted \(changes.deleted) at \(changes.indices?.deleted ?? [])"
            if !changes.inserted.isEmpty { line += ", inserted \(changes.inserted)" }
            if !changes.modified.isEmpty { line += ", modified \(changes.modified)" }
            if !changes.moved.isEmpty { line += ", moved \(changes.moved)" }
            if let sections { line += ", sections \(sections)" }
            if changes.isOwnerDeleted { line += ", gone" }
            lines.append(line)
            return nil
        }

        func all() -> [String] {
            defer { lines = [] }
            return lines
        }
    }

    private struct Fixture {
        let folder = TestFolder()
        let store: Store
        let dog: UInt32, toy: UInt32
        let name: UInt32, age: UInt32, link: UInt32
        var path: String { folder["db"] }

        init() throws {
            let path = folder["db"]
            try ObservedSchemaTests.open(path, version: 1) { try ObservedSchemaTests.describe(&$0) }.close()
            var configuration = StoreConfiguration()
            configuration.place = .file(path)
            store = try Store.open(configuration)
            let view = try store.openView()
            defer { view.close() }
            (dog, toy) = (try view.findClass("Dog"), try view.findClass("Toy"))
            (name, age) = (try view.findProperty(dog, "name"), try view.findProperty(dog, "age"))
            link = try view.findProperty(dog, "toy")
        }

        @discardableResult
        func create(_ classID: UInt32, _ properties: [UInt32], _ values: [Value]) throws -> ObjectID {
            let view = try store.begin()
            let object = try properties.withUnsafeBufferPointer { properties in
                try values.withUnsafeBufferPointer { try view.create(classID, properties, $0.baseAddress!) }
            }
            _ = try view.commit()
            return object
        }

        func query(_ classID: UInt32, _ text: String) throws -> Query {
            let view = try store.openView()
            defer { view.close() }
            return try view.query(classID, parsing: text)
        }

        func observe(_ query: Query, paths: [String]? = nil) throws -> (told: Told, observer: Observer) {
            let told = Told()
            return (told, try store.observe(query, ObserverOptions(keyPaths: paths)) { told.take($0) })
        }

        func set(_ object: ObjectID, _ property: UInt32, _ value: Int64, silently observers: [Observer] = []) throws {
            let view = try store.begin()
            try view.withoutNotifying(observers)
            try view.set(object, property, .int(value))
            _ = try view.commit()
        }
    }

    @Test func whoAsksForADroppedPropertyIsToldOnce() throws {
        let fixture = try Fixture(), store = fixture.store
        let dogs = try (0..<4).map {
            try fixture.create(fixture.dog, [fixture.name, fixture.age], [.int(Int64($0)), .int(Int64(10 - $0))])
        }
        let byValue = try fixture.observe(try fixture.query(fixture.dog, "age < 10"))
        let twin = try fixture.observe(try fixture.query(fixture.dog, "age < 10"))
        let sorted = try fixture.observe(try fixture.query(fixture.dog, "SORT(age ASC) LIMIT(3)"))
        let refusing = try fixture.observe(try fixture.query(fixture.dog, "age >= 8 SORT(name ASC)"))
        let distinct = try fixture.observe(try fixture.query(fixture.dog, "DISTINCT(age)"))
        let other = try fixture.observe(try fixture.query(fixture.dog, "name < 3"))
        let path = try fixture.observe(Query(all: fixture.dog), paths: ["age"])
        let indexID = try Self.index(store, fixture.dog, fixture.age)
        let none = UnsafeBufferPointer<Value>(start: nil, count: 0)
        let stretch = try fixture.observe(
            Query(fixture.dog, in: try IndexStretch(indexID, from: none, to: none, [])))
        refusing.told.refuses = true
        let view = try store.openView(), inSections = Told()
        let sections = try Array("age".utf8).withUnsafeBytes {
            try view.find(Query(all: fixture.dog)).sections(byParsing: $0, [], [])
        }
        let observer = try sections.observe(ObserverOptions()) {
            inSections.take($0, sections: $0.sections?.deleted)
        }
        view.close()

        let second = try ObservedSchemaTests.open(fixture.path, version: 2) {
            try ObservedSchemaTests.describe(&$0, age: false)
        }
        _ = try store.hub.deliver()
        #expect(byValue.told.all() == ["deleted [1, 2, 3] at [0, 1, 2], gone"])
        #expect(twin.told.all() == ["deleted [1, 2, 3] at [0, 1, 2], gone"])
        #expect(sorted.told.all() == ["deleted [3, 2, 1] at [0, 1, 2], gone"])
        #expect(distinct.told.all() == ["deleted [0, 1, 2, 3] at [0, 1, 2, 3], gone"])
        #expect(stretch.told.all() == ["deleted [3, 2, 1, 0] at [0, 1, 2, 3], gone"])
        #expect(inSections.all() == ["deleted [0, 1, 2, 3] at [0, 0, 0, 0], sections [0, 1, 2, 3], gone"])
        #expect(refusing.told.all().isEmpty)
        _ = try store.hub.deliver()
        #expect(refusing.told.all() == ["deleted [0, 1, 2] at [0, 1, 2], gone"])

        // Nothing more comes, and no error; others go on.
        try fixture.set(dogs[0], fixture.name, 5)
        #expect(try store.hub.deliver() == 1)
        #expect(other.told.all() == ["deleted [0] at [0]"])
        for one in [byValue, twin, sorted, refusing, distinct, path, stretch] { #expect(one.told.all().isEmpty) }
        let transaction = try store.begin()
        try transaction.delete(dogs[1])
        _ = try transaction.commit()
        _ = try store.hub.deliver()
        #expect(other.told.all() == ["deleted [1] at [0]"] && path.told.all() == ["deleted [1] at []"])
        for one in [byValue, twin, sorted, refusing, distinct, stretch] { #expect(one.told.all().isEmpty) }
        #expect(inSections.all().isEmpty)
        observer.close()
        try second.close()
        try store.close()
    }

    @Test func whoseClassIsDroppedIsToldOnce() throws {
        let fixture = try Fixture(), store = fixture.store
        let size = try size(fixture)
        let toys = try (0..<3).map { try fixture.create(fixture.toy, [size], [.int(Int64($0))]) }
        try fixture.create(fixture.dog, [fixture.name, fixture.age, fixture.link], [.int(1), .int(1), .link(toys[1])])
        let all = Told(), one = Told(), dogs = Told()
        var observers = [
            try store.observe(fixture.toy, ObserverOptions()) { all.take($0) },
            try store.observe(toys[1], ObserverOptions()) { one.take($0) },
            try store.observe(fixture.dog, ObserverOptions()) { dogs.take($0) },
        ]
        let asked = try fixture.observe(try fixture.query(fixture.toy, "size > 0 SORT(size DESC)"))
        let behind = try fixture.observe(try fixture.query(fixture.dog, "toy.size > 0"))
        observers += [asked.observer, behind.observer]

        let second = try ObservedSchemaTests.open(fixture.path, version: 2) {
            try ObservedSchemaTests.describe(&$0, toy: false)
        }
        _ = try store.hub.deliver()
        #expect(all.all() == ["deleted [0, 1, 2] at [], gone"])
        #expect(one.all() == ["deleted [1] at [], gone"])
        #expect(asked.told.all() == ["deleted [2, 1] at [0, 1], gone"])
        #expect(behind.told.all() == ["deleted [0] at [0], gone"])
        #expect(dogs.all().isEmpty)
        try fixture.create(fixture.dog, [fixture.name, fixture.age], [.int(2), .int(2)])
        #expect(try store.hub.deliver() == 1)
        #expect(dogs.all() == ["deleted [] at [], inserted [1]"])
        for observer in observers { observer.close() }
        try second.close()
        try store.close()
    }

    private static func index(_ store: Store, _ classID: UInt32, _ property: UInt32) throws -> UInt32 {
        let view = try store.openView()
        defer { view.close() }
        return try [property].withUnsafeBufferPointer { try view.findIndex(classID, $0) }
    }

    private func size(_ fixture: Fixture) throws -> UInt32 {
        let view = try fixture.store.openView()
        defer { view.close() }
        return try view.findProperty(fixture.toy, "size")
    }

    /// Somebody has taken it out of his list, and put it in again himself, before he was told.
    @Test func whatIsPutInSilentlyIsNotThereTwice() throws {
        let fixture = try Fixture(), store = fixture.store
        let dogs = try [5, 10, 20].map {
            try fixture.create(fixture.dog, [fixture.name, fixture.age], [.int(0), .int($0)])
        }
        let sorted = try fixture.observe(try fixture.query(fixture.dog, "age < 50 SORT(age ASC) LIMIT(9)"))
        try fixture.set(dogs[1], fixture.age, 99)
        try fixture.set(dogs[1], fixture.age, 30, silently: [sorted.observer])
        try fixture.set(dogs[0], fixture.age, 6)
        while try store.hub.deliver() > 0 {}
        // His list is 0, 2, 1, and so it stays.
        #expect(sorted.told.all() == ["deleted [] at [], modified [1]", "deleted [] at [], modified [0]"])
        sorted.observer.close()
        try store.close()
    }

    /// The answer is found anew, and in the order of creation.
    @Test func whatIsPutInSilentlyStandsInTheOrderOfCreation() throws {
        let fixture = try Fixture(), store = fixture.store
        let toys = try (0..<2).map { try fixture.create(fixture.toy, [try size(fixture)], [.int(Int64($0))]) }
        let dogs = try (0..<4).map { number in
            try fixture.create(
                fixture.dog, [fixture.name, fixture.age, fixture.link],
                [.int(0), .int(0), number == 3 ? .null : .link(toys[number == 0 ? 0 : 1])])
        }
        // Counts are asked anew: 1 and 2 have a toy that two have.
        let asked = try fixture.observe(try fixture.query(fixture.dog, "toy.@links.Dog.toy.@count > 1"))
        func lead(_ dog: Int, _ toy: Int?, _ silently: [Observer]) throws {
            let view = try store.begin()
            try view.withoutNotifying(silently)
            try view.set(dogs[dog], fixture.link, toy.map { .link(toys[$0]) } ?? .null)
            _ = try view.commit()
        }
        // Others take out 1 and 2; he puts in 0 and 3, one after the other.
        try lead(2, nil, [])
        try lead(3, 0, [asked.observer])
        while try store.hub.deliver() > 0 {}
        #expect(asked.told.all() == ["deleted [1, 2] at [1, 2]"])
        asked.observer.close()
        try store.close()
    }
}
