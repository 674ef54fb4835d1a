import ObjStore
import Testing

private enum First {
    final class Guest: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted(indexed: true) var nick: String?
        @Persisted(unique: true) var name = ""
        @Persisted var tags: List<String>
        @Persisted var friend: Guest?
        @Persisted var age = 0
        override class var indexes: [Index] { [Index("name", "age")] }
    }
}

private enum Second {
    final class Guest: Object {
        @Persisted(primaryKey: true) var number: Int
        @Persisted(unique: true) var fullName = ""
        @Persisted var labels: List<String>
        @Persisted var age = 0
        @Persisted var mail: String?
        override class var formerNames: KeyValuePairs<String, String> {
            ["number": "id", "fullName": "title", "fullName": "name", "labels": "tags"]
        }
        override class var indexes: [Index] { [Index("fullName", "age")] }
    }
}

private enum Wrong {
    final class Guest: Object {
        @Persisted(primaryKey: true) var number: Int
        @Persisted var fullName = ""
        override class var formerNames: KeyValuePairs<String, String> { ["number": "id", "name": "fullName"] }
    }
}

/// Properties that are dropped and renamed.
@Suite struct SchemaTests {
    @Test func droppedAndRenamed() throws {
        let folder = Folder()
        func configuration(_ type: Object.Type, _ version: UInt64) -> Store.Configuration {
            var configuration = Store.Configuration(path: folder.file(), models: [type])
            configuration.schemaVersion = version
            return configuration
        }
        let old = try Store(configuration(First.Guest.self, 1))
        try old.write { tx in
            for id in 0..<10 {
                try tx.create(
                    First.Guest.self,
                    value: ["id": id, "nick": "n\(id)", "name": "name \(id)", "tags": ["a", "b\(id)"], "age": id * 10])
            }
        }
        let frozen = try old.freeze()
        #expect(code { try Store(configuration(Second.Guest.self, 1)) } == .schemaMismatch)
        #expect(code { try Store(configuration(Wrong.Guest.self, 2)) } == .noSuchProperty)
        let store = try Store(configuration(Second.Guest.self, 2))
        let guests = store.objects(Second.Guest.self)
        #expect(guests.map(\.fullName) == (0..<10).map { "name \($0)" } && guests.map(\.age).reduce(0, +) == 450)
        let third = try #require(try store.object(ofType: Second.Guest.self, forPrimaryKey: 3))
        #expect(Array(third.labels) == ["a", "b3"] && third.mail == nil)
        #expect(try store.object(ofType: Second.Guest.self, by: ["fullName": "name 4"])?.number == 4)
        try store.write { tx in
            third.fullName = "third"
            third.labels.append("c")
            try tx.create(Second.Guest.self, value: ["number": 20, "fullName": "twentieth", "mail": "x@y"])
        }
        #expect(
            store.objects(Second.Guest.self, in: ["fullName", "age"], from: ["third"], to: ["third"]).map(\.number) == [
                3
            ])
        // A program with the old model open gets an error, and reads nothing else instead.
        let stale = old.objects(First.Guest.self)
        #expect(stale.first?.nick == "n0")
        try old.refresh()
        #expect(code { try Store.checked { _ = stale.first?.age } } == .noSuchProperty)
        #expect(frozen.objects(First.Guest.self).map(\.nick) == (0..<10).map { "n\($0)" })
        #expect(try store.verify().isEmpty)
        try store.close()
        try old.close()
        #expect(code { try Store(configuration(First.Guest.self, 1)) } == .schemaMismatch)
        let again = try Store(configuration(Second.Guest.self, 3))
        #expect(again.objects(Second.Guest.self).map(\.fullName).sorted().last == "twentieth")
        try again.close()
    }
}
