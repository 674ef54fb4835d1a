import ObjStore
import Testing

final class Member: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(unique: true) var email: String?
    @Persisted var name = ""
    @Persisted var friend: Member?
}

/// References in values and JSON, and objects that are known by another value than their primary key.
@Suite struct ReferenceTests {
    private func open() throws -> Store { try memoryStore([Member.self]) }

    @Test func circlesInJSON() throws {
        let store = try open()
        try store.write { tx in
            try tx.create(Member.self, json: #"{"id": 1, "name": "a", "friend": {"id": 2, "name": "b", "friend": 1}}"#)
        }
        let one = try #require(try store.object(ofType: Member.self, forPrimaryKey: 1))
        #expect(one.friend?.id == 2 && one.friend?.friend?.id == 1)
        try store.close()
    }

    @Test func byAnotherUniqueValue() throws {
        let store = try open()
        try store.write { tx in
            let one = try tx.create(
                Member.self, value: ["id": 1, "email": "a@x", "name": "a"], update: .modified, by: ["email"])
            let again = try tx.create(
                Member.self, value: ["email": "a@x", "name": "b"], update: .modified, by: ["email"])
            #expect(one.id == again.id && one.name == "b")
            #expect(throws: ObjStoreError.self) {
                try tx.create(Member.self, value: ["id": 9, "email": "a@x"], update: .modified, by: ["email"])
            }
            #expect(throws: ObjStoreError.self) {
                try tx.create(Member.self, value: ["email": "a@x"], update: .modified, by: ["name"])
            }
        }
        #expect(store.objects(Member.self).count == 1)
        try store.close()
    }
}
