import ObjStore
import Synchronization
import Testing

private enum V1 {
    final class Person: Object {
        @Persisted var firstName = ""
        @Persisted var lastName = ""
        @Persisted var age: Int?
        @Persisted var tags: List<String>
        @Persisted var friend: Person?
    }
}

private enum V1b {
    final class Person: Object {
        @Persisted var firstName = ""
        @Persisted var lastName = ""
        @Persisted var age: Int?
        @Persisted var tags: List<String>
        @Persisted var friend: Person?
        @Persisted var email: String?
    }
}

private enum V2 {
    final class Person: Object {
        @Persisted(primaryKey: true) var fullName: String
        @Persisted var age: Int
        @Persisted var labels: List<String>
        @Persisted var friend: Person?
        @Persisted var email: String?
    }
}

private enum Keyed {
    final class Dog: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted(unique: true) var chip: String
        @Persisted var name = ""
    }
    final class Town: Object {
        @Persisted var country = ""
        @Persisted var code: Int
        @Persisted var name = ""
        override class var indexes: [Index] { [Index("country", "code", primaryKey: true)] }
    }
    final class Before: Object {
        override class var storedName: String? { "Label" }
        @Persisted(primaryKey: true) var text: String?
    }
    final class After: Object {
        override class var storedName: String? { "Label" }
        @Persisted(primaryKey: true) var text: String
    }
}

private struct NotToday: Error {}

@Suite struct MigrationTests {
    private func configuration(
        _ folder: Folder, _ type: Object.Type, _ version: UInt64,
        _ block: (@Sendable (Migration, UInt64) throws -> Void)? = nil
    ) -> Store.Configuration {
        var result = Store.Configuration(path: folder.file(), models: [type])
        result.schemaVersion = version
        result.migrationBlock = block
        return result
    }

    @Test func A99_versionsOfAPerson() throws {
        let folder = Folder()
        var store = try Store(configuration(folder, V1.Person.self, 1))
        try store.write { tx in
            for number in 0..<4 {
                try tx.create(
                    V1.Person.self,
                    value: ["firstName": "First\(number)", "lastName": "Last\(number)", "tags": ["t\(number)"]])
            }
            let people = tx.objects(V1.Person.self)
            people[0].age = 7
            people[1].friend = people[0]
            people[2].friend = people[3]
        }
        try store.close()
        store = try Store(configuration(folder, V1b.Person.self, 2))
        #expect(store.objects(V1b.Person.self).allSatisfy { $0.email == nil })
        try store.close()

        let seen = Mutex<[UInt64]>([])
        let block: @Sendable (Migration, UInt64) throws -> Void = { migration, oldVersion in
            seen.withLock { $0 += [oldVersion, migration.newVersion] }
            #expect(try migration.renameProperty(onType: "Person", from: "tags", to: "labels") == 4)
            var count = 0
            try migration.enumerateObjects(ofType: "Person") { old, new in
                let new = try #require(new)
                #expect(old.elements("tags").compactMap(\.string) == ["t\(count)"] && new.elements("labels").count == 1)
                new["fullName"] = .string("\(old["firstName"]?.string ?? "") \(old["lastName"]?.string ?? "")")
                if old["age"] == nil { new["age"] = 0 }
                #expect(
                    old.object("friend")?["firstName"]?.string == (count == 1 ? "First0" : count == 2 ? "First3" : nil))
                if count == 3 { try migration.delete(new) }
                count += 1
            }
            #expect(count == 4)
            try migration.transaction.create(V2.Person.self, value: ["fullName": "New", "age": 1])
        }
        // What fails leaves the file as it was.
        #expect(
            code {
                try Store(
                    configuration(folder, V2.Person.self, 3) { migration, version in
                        try block(migration, version)
                        throw NotToday()
                    })
            } == .callback)
        #expect(
            code {
                try Store(
                    configuration(folder, V2.Person.self, 3) { migration, _ in
                        try migration.enumerateObjects(ofType: "Person") { _, new in
                            new?["fullName"] = .string("the same")
                        }
                    })
            } == .schemaMismatch)
        #expect(
            code {
                try Store(
                    configuration(folder, V2.Person.self, 3) { migration, _ in
                        try migration.enumerateObjects(ofType: "Person") { _, new in
                            new?["fullName"] = .string("the same")
                            new?["age"] = 0
                        }
                    })
            } == .duplicateKey)
        #expect(
            code {
                try Store(
                    configuration(folder, V2.Person.self, 3) { migration, _ in
                        try migration.enumerateObjects(ofType: "Person") { _, new in new?["shoe"] = 1 }
                    })
            } == .noSuchProperty)
        #expect(code { try Store(configuration(folder, V2.Person.self, 3)) } == .schemaMismatch)
        seen.withLock { $0 = [] }
        store = try Store(configuration(folder, V2.Person.self, 3, block))
        let people = store.objects(V2.Person.self)
        #expect(people.map(\.fullName) == ["First0 Last0", "First1 Last1", "First2 Last2", "New"])
        #expect(people.map(\.age) == [7, 0, 0, 1])
        #expect(people.map { Array($0.labels) } == [["t0"], ["t1"], ["t2"], []])
        #expect(people[1].friend?.fullName == "First0 Last0" && people[2].friend == nil)
        #expect(try store.object(ofType: V2.Person.self, forPrimaryKey: "New")?.age == 1)
        #expect(try store.verify().isEmpty)
        try store.close()
        try Store(configuration(folder, V2.Person.self, 3, block)).close()
        #expect(seen.withLock { $0 } == [2, 3])
        #expect(code { try Store(configuration(folder, V1.Person.self, 3)) } == .schemaMismatch)
        #expect(code { try Store(configuration(folder, V2.Person.self, 2)) } == .schemaMismatch)
    }

    /// Of the same type before and after, by whichever way it is given.
    @Test func keysChange() throws {
        let folder = Folder()
        var version: UInt64 = 1
        func migrated(_ type: Object.Type, _ block: @escaping @Sendable (Migration) throws -> Void) throws -> Store {
            let store = try Store(configuration(folder, type, version + 1) { migration, _ in try block(migration) })
            version += 1
            return store
        }
        var store = try Store(configuration(folder, Keyed.Dog.self, 1))
        try store.write { tx in
            for id in 1...3 { try tx.create(Keyed.Dog.self, value: ["id": id, "chip": "c\(id)", "name": "n\(id)"]) }
        }
        try store.close()
        let ways: [@Sendable (Transaction, DynamicObject, Int) throws -> Void] = [
            { _, dog, id in dog["id"] = .int(id) }, { _, dog, id in dog.id = .int(id) },
            { _, dog, id in try dog.set("id", to: id) },
            { _, dog, id in try dog.set("id", to: id, update: .modified) },
            { tx, dog, id in
                try tx.create(
                    Keyed.Dog.self, value: ["id": id, "chip": try #require(dog["chip"]?.string)], update: .modified,
                    by: ["chip"])
            },
        ]
        for (number, way) in ways.enumerated() {
            store = try migrated(Keyed.Dog.self) { migration in
                try migration.enumerateObjects(ofType: "Dog") { old, new in
                    try way(migration.transaction, try #require(new), 4 - (try #require(old["id"]?.int)))
                    #expect(new?["id"]?.int == old["id"]?.int.map { 4 - $0 })
                }
            }
            #expect(store.objects(Keyed.Dog.self).map(\.id) == (number % 2 == 0 ? [3, 2, 1] : [1, 2, 3]), "\(number)")
            #expect(
                try store.object(ofType: Keyed.Dog.self, forPrimaryKey: 3)?.name == (number % 2 == 0 ? "n1" : "n3"),
                "\(number)")
            #expect(try store.verify().isEmpty)
            try store.close()
            #expect(
                code {
                    try migrated(Keyed.Dog.self) { migration in
                        try migration.enumerateObjects(ofType: "Dog") { _, new in
                            try way(migration.transaction, try #require(new), 1)
                        }
                    }
                } == .duplicateKey, "\(number)")
        }
        // After it they stay what they are.
        store = try Store(configuration(folder, Keyed.Dog.self, version))
        #expect(
            code { try store.write { _ in try store.objects(Keyed.Dog.self)[0].dynamic().set("id", to: 9) } }
                == .keyImmutable)
        #expect(
            code {
                try store.write { tx in
                    try tx.create(Keyed.Dog.self, value: ["id": 9, "chip": "c1"], update: .modified, by: ["chip"])
                }
            } == .keyImmutable)
    }

    @Test func partsOfKeysChange() throws {
        let folder = Folder()
        var store = try Store(configuration(folder, Keyed.Town.self, 1))
        try store.write { tx in
            for code in 1...2 {
                try tx.create(
                    Keyed.Town.self, value: ["country": "ch", "code": code, "name": "n\(code)"] as [String: Any])
            }
        }
        try store.close()
        #expect(
            code {
                try Store(
                    configuration(folder, Keyed.Town.self, 2) { migration, _ in
                        try migration.enumerateObjects(ofType: "Town") { _, new in new?["code"] = 7 }
                    })
            } == .duplicateKey)
        store = try Store(
            configuration(folder, Keyed.Town.self, 2) { migration, _ in
                try migration.enumerateObjects(ofType: "Town") { old, new in
                    new?["code"] = .int(3 - (try #require(old["code"]?.int)))
                }
            })
        #expect(try store.object(ofType: Keyed.Town.self, by: ["country": "ch", "code": 1])?.name == "n2")
        #expect(try store.verify().isEmpty)
    }

    @Test func nilKeyGetsAValue() throws {
        let folder = Folder()
        var store = try Store(configuration(folder, Keyed.Before.self, 1))
        try store.write { tx in for text in ["a", nil] { try tx.create(Keyed.Before.self, value: ["text": text]) } }
        try store.close()
        store = try Store(
            configuration(folder, Keyed.After.self, 2) { migration, _ in
                try migration.enumerateObjects(ofType: "Label") { old, new in
                    if old["text"] == nil { new?["text"] = "none" }
                }
            })
        #expect(store.objects(Keyed.After.self).map(\.text) == ["a", "none"])
        #expect(try store.object(ofType: Keyed.After.self, forPrimaryKey: "none") != nil)
    }

    /// Ruling X14: what was added is no matter, what was taken away is reported at the next write.
    @Test func outdatedProgramsGetAnError() throws {
        let folder = Folder()
        let store = try Store(configuration(folder, V1.Person.self, 1))
        try store.write { tx in try tx.create(V1.Person.self, value: ["firstName": "Ada", "age": 7]) }
        try Store(configuration(folder, V1b.Person.self, 2)).close()
        try store.write { tx in tx.objects(V1.Person.self)[0].age = 8 }
        let latest = try Store(
            configuration(folder, V2.Person.self, 3) { migration, _ in
                try migration.enumerateObjects(ofType: "Person") { old, new in new?["fullName"] = old["firstName"] }
            })
        for _ in 0..<2 {
            #expect { try store.write { _ in Issue.record("begun") } } throws: { error in
                let error = error as? ObjStoreError
                return error?.code == .schemaMismatch && error?.className == "Person"
                    && error?.message.contains("meanwhile") == true
            }
        }
        #expect(code { try store.beginWrite() } == .schemaMismatch)
        try latest.write { tx in tx.objects(V2.Person.self)[0].age = 9 }
        try store.close()
        try latest.close()
    }
}
