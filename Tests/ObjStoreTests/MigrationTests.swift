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

private struct NotToday: Error {}

@Suite struct MigrationTests {
    private func configuration(_ folder: Folder, _ type: Object.Type, _ version: UInt64, _ block: (@Sendable (Migration, UInt64) throws -> Void)? = nil) -> Store.Configuration {
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
                try tx.create(V1.Person.self, value: ["firstName": "First\(number)", "lastName": "Last\(number)", "tags": ["t\(number)"]])
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
                #expect(old.object("friend")?["firstName"]?.string == (count == 1 ? "First0" : count == 2 ? "First3" : nil))
                if count == 3 { try migration.delete(new) }
                count += 1
            }
            #expect(count == 4)
            try migration.transaction.create(V2.Person.self, value: ["fullName": "New", "age": 1])
        }
        // What fails leaves the file as it was.
        #expect(code { try Store(configuration(folder, V2.Person.self, 3) { migration, version in
            try block(migration, version)
            throw NotToday()
        }) } == .callback)
        #expect(code { try Store(configuration(folder, V2.Person.self, 3) { migration, _ in
            try migration.enumerateObjects(ofType: "Person") { _, new in new?["fullName"] = .string("the same") }
        }) } == .schemaMismatch)
        #expect(code { try Store(configuration(folder, V2.Person.self, 3) { migration, _ in
            try migration.enumerateObjects(ofType: "Person") { _, new in
                new?["fullName"] = .string("the same")
                new?["age"] = 0
            }
        }) } == .duplicateKey)
        #expect(code { try Store(configuration(folder, V2.Person.self, 3) { migration, _ in
            try migration.enumerateObjects(ofType: "Person") { _, new in new?["shoe"] = 1 }
        }) } == .noSuchProperty)
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

    /// Ruling X14: what was added is no matter, what was taken away is told at the next write.
    @Test func whoIsLeftBehindIsTold() throws {
        let folder = Folder()
        let store = try Store(configuration(folder, V1.Person.self, 1))
        try store.write { tx in try tx.create(V1.Person.self, value: ["firstName": "Ada", "age": 7]) }
        try Store(configuration(folder, V1b.Person.self, 2)).close()
        try store.write { tx in tx.objects(V1.Person.self)[0].age = 8 }
        let latest = try Store(configuration(folder, V2.Person.self, 3) { migration, _ in
            try migration.enumerateObjects(ofType: "Person") { old, new in new?["fullName"] = old["firstName"] }
        })
        for _ in 0..<2 {
            #expect { try store.write { _ in Issue.record("begun") } } throws: { error in
                let error = error as? ObjStoreError
                return error?.code == .schemaMismatch && error?.className == "Person" && error?.message.contains("meanwhile") == true
            }
        }
        #expect(code { try store.beginWrite() } == .schemaMismatch)
        try latest.write { tx in tx.objects(V2.Person.self)[0].age = 9 }
        try store.close()
        try latest.close()
    }
}
