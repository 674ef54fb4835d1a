import CObjStore
import Testing

/// The finer rules of creating and updating, by number, as far as C has their idea: it has no unmanaged objects, so
/// nested values take their place, and none can be observed (rule 12). Rule 6 (a null primary key) is in KeyTests.
@Suite struct CreateRuleTests {
    private static let updates: [objstore_policy] = [.OBJSTORE_POLICY_MODIFIED, .OBJSTORE_POLICY_ALL]
    private static let policies: [objstore_policy] = [.OBJSTORE_POLICY_ERROR] + updates

    private func open() throws -> NamedStore {
        try NamedStore { schema in
            for cls in ["Note", "Owner"] { try ok(objstore_schema_add_class(schema, text(cls))) }
            try ok(objstore_schema_add_property(schema, text("Note"), text("text"), .OBJSTORE_KIND_STRING, 0))
            try ok(
                objstore_schema_add_property(
                    schema, text("Owner"), text("id"), .OBJSTORE_KIND_INT, UInt32(OBJSTORE_PROPERTY_PRIMARY_KEY)))
            try ok(objstore_schema_add_property(schema, text("Owner"), text("age"), .OBJSTORE_KIND_INT, 0))
            try ok(objstore_schema_add_property(schema, text("Owner"), text("name"), .OBJSTORE_KIND_STRING, 0))
            try ok(objstore_schema_set_default(schema, text("Owner"), text("name"), objstore_string(text("nobody"))))
            try ok(
                objstore_schema_add_collection(
                    schema, text("Owner"), text("tags"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL,
                    .OBJSTORE_KIND_STRING, 0))
            try ok(
                objstore_schema_add_collection(
                    schema, text("Owner"), text("marks"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_INT, 0
                ))
            try ok(objstore_schema_add_link(schema, text("Owner"), text("best"), text("Owner"), 0))
            try ok(
                objstore_schema_add_link_collection(
                    schema, text("Owner"), text("others"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Owner"), 0))
            try ok(objstore_schema_add_link(schema, text("Owner"), text("note"), text("Note"), 0))
        }
    }

    private func texts(
        _ store: NamedStore, _ tx: OpaquePointer, _ object: objstore_object, _ name: String
    ) throws -> [String] {
        try store.elements(tx, object, name).map { string($0)! }
    }
    private func ints(
        _ store: NamedStore, _ tx: OpaquePointer, _ object: objstore_object, _ name: String
    ) throws -> [Int64] {
        try store.elements(tx, object, name).map(\.data.integer)
    }
    private func link(
        _ store: NamedStore, _ tx: OpaquePointer, _ object: objstore_object, _ name: String
    ) throws -> objstore_object {
        let value = try store.value(tx, object, name)
        #expect(value.kind == .OBJSTORE_KIND_LINK)
        return value.data.link
    }

    @Test("rule 1: collections are replaced", arguments: updates) func collectionsAreReplaced(
        _ policy: objstore_policy
    ) throws {
        let store = try open()
        defer { store.close() }
        try writing(store.store) { tx in
            let first = try store.from(tx, "Owner", ["id": 1, "age": 1, "tags": ["a", "b"], "marks": [1, 2]])
            _ = try store.from(tx, "Owner", ["id": 1, "tags": ["c", "a"], "marks": [2, 3]], policy)
            expect(try texts(store, tx, first, "Owner.tags") == ["c", "a"])
            expect(try ints(store, tx, first, "Owner.marks") == [2, 3])
            let json = #"{"id":1,"tags":["d"],"marks":[]}"#
            try ok(
                objstore_create_from_json(tx, store.classes["Owner"]!, policy, 0, text(json), nil, nil, nil, nil, nil))
            expect(try texts(store, tx, first, "Owner.tags") == ["d"])
            expect(try ints(store, tx, first, "Owner.marks") == [])
        }
    }

    @Test("rule 2: linked objects with a key are updated, others made", arguments: updates) func linkedObjects(
        _ policy: objstore_policy
    ) throws {
        let store = try open()
        defer { store.close() }
        try writing(store.store) { tx in
            let best = try store.from(tx, "Owner", ["id": 2, "age": 20])
            let first = try store.from(tx, "Owner", ["id": 1, "age": 10, "best": .link(best), "note": ["text": "n"]])
            let old = try link(store, tx, first, "Owner.note")
            let values: Nested = [
                "id": 1, "best": ["id": 2, "age": 21], "others": [["id": 2, "name": "B"], ["id": 3, "age": 30]],
                "note": ["text": "n"],
            ]
            _ = try store.from(tx, "Owner", values, policy)
            expect(try link(store, tx, first, "Owner.best").key == best.key)
            expect(try store.int(tx, best, "Owner.age") == 21)
            expect(try store.text(tx, best, "Owner.name") == "B")
            let others = try store.elements(tx, first, "Owner.others").map(\.data.link)
            expect(try others.map { try store.int(tx, $0, "Owner.id") } == [2, 3])
            expect(try store.count(tx, "Owner") == 3)
            expect(try link(store, tx, first, "Owner.note").key != old.key)
            expect(try store.count(tx, "Note") == 2)
        }
        try verify(store.store)
    }

    @Test("rule 3: what is not given stays", arguments: updates) func whatIsNotGiven(_ policy: objstore_policy) throws {
        let store = try open()
        defer { store.close() }
        try writing(store.store) { tx in
            let first = try store.from(
                tx, "Owner", ["id": 1, "age": 10, "name": "Ann", "tags": ["a"], "note": ["text": "n"]])
            _ = try store.from(tx, "Owner", ["id": 1, "age": 11], policy)
            try ok(
                objstore_create_from_json(
                    tx, store.classes["Owner"]!, policy, 0, text(#"{"id":1,"age":12}"#), nil, nil, nil, nil, nil))
            let ids = [store["Owner.id"], store["Owner.age"]]
            try ok(
                objstore_upsert(
                    tx, store.classes["Owner"]!, policy, ids, [objstore_int(1), objstore_int(13)], 2, nil, nil))
            expect(try store.int(tx, first, "Owner.age") == 13)
            expect(try store.text(tx, first, "Owner.name") == "Ann")
            expect(try texts(store, tx, first, "Owner.tags") == ["a"])
            expect(try store.text(tx, link(store, tx, first, "Owner.note"), "Note.text") == "n")
        }
    }

    @Test("rule 4: a missing value", arguments: policies) func missingValue(_ policy: objstore_policy) throws {
        let store = try open()
        defer { store.close() }
        try writing(store.store) { tx in
            _ = try store.from(tx, "Owner", ["id": 1, "age": 1])
            var message = store.refused(tx, "Owner", ["id": 2, "name": "Ann"], .OBJSTORE_ERR_MISSING_VALUE, policy)
            #expect(message.contains("Owner.age"))
            message = store.refused(
                tx, "Owner", ["id": 3, "age": 1, "others": [["id": 4, "age": 1], ["id": 5]]],
                .OBJSTORE_ERR_MISSING_VALUE, policy)
            #expect(message.hasPrefix("$.others[1].age: ") && message.contains("Owner.age"))
            expect(try store.count(tx, "Owner") == 1)
        }
    }

    @Test("rule 5: null for what must not be null", arguments: updates) func nullForARequiredValue(
        _ policy: objstore_policy
    ) throws {
        let store = try open()
        defer { store.close() }
        try writing(store.store) { tx in
            let first = try store.from(tx, "Owner", ["id": 1, "age": 10, "name": "Ann"])
            #expect(
                store.refused(tx, "Owner", ["id": 1, "age": nil], .OBJSTORE_ERR_NOT_NULLABLE, policy).contains(
                    "Owner.age"))
            #expect(
                store.refused(tx, "Owner", ["id": 1, "age": 5, "name": nil], .OBJSTORE_ERR_NOT_NULLABLE, policy)
                    .contains("Owner.name"))
            let json = text(#"{"id":1,"name":"Eve","age":null}"#)
            _ = refused(
                objstore_create_from_json(tx, store.classes["Owner"]!, policy, 0, json, nil, nil, nil, nil, nil),
                .OBJSTORE_ERR_NOT_NULLABLE)
            expect(try store.int(tx, first, "Owner.age") == 10)
            expect(try store.text(tx, first, "Owner.name") == "Ann")
        }
    }

    @Test("rule 7: the later of two with one key wins", arguments: updates) func theLaterWins(
        _ policy: objstore_policy
    ) throws {
        let store = try open()
        defer { store.close() }
        try writing(store.store) { tx in
            _ = try store.from(tx, "Owner", ["id": 7, "age": 1])
            let others: Nested = [["id": 7, "age": 3, "name": "later"], ["id": 8, "age": 8], ["id": 8, "age": 9]]
            let root = try store.from(
                tx, "Owner", ["id": 1, "age": 1, "best": ["id": 7, "age": 2, "name": "earlier"], "others": others],
                policy)
            expect(try store.count(tx, "Owner") == 3)
            let best = try link(store, tx, root, "Owner.best"),
                found = try store.elements(tx, root, "Owner.others").map(\.data.link)
            #expect(best.key == found[0].key && found[1].key == found[2].key)
            expect(try store.int(tx, best, "Owner.age") == 3)
            expect(try store.text(tx, best, "Owner.name") == "later")
            expect(try store.int(tx, found[1], "Owner.age") == 9)
            _ = store.refused(
                tx, "Owner", ["id": 10, "age": 1, "others": [["id": 11, "age": 1], ["id": 11, "age": 2]]],
                .OBJSTORE_ERR_DUPLICATE_KEY)
            expect(try store.count(tx, "Owner") == 3)
        }
    }

    @Test("rule 8: copies of an object") func copies() throws {
        let store = try open(), other = try open()
        defer {
            store.close()
            other.close()
        }
        var first = objstore_object()
        try writing(store.store) { tx in
            let best = try store.from(tx, "Owner", ["id": 2, "age": 20])
            first = try store.from(
                tx, "Owner", ["id": 1, "age": 10, "best": .link(best), "tags": ["a"], "note": ["text": "n"]])
            _ = refused(
                objstore_copy_object(tx, first, tx, .OBJSTORE_POLICY_ERROR, nil, nil), .OBJSTORE_ERR_DUPLICATE_KEY)
            for policy in Self.updates {
                var copy = objstore_object()
                try ok(objstore_copy_object(tx, first, tx, policy, &copy, nil))
                #expect(copy.key == first.key)
            }
            expect(try store.count(tx, "Owner") == 2)
            expect(try store.count(tx, "Note") == 1)
            let note = try link(store, tx, first, "Owner.note")
            var copy = objstore_object()
            try ok(objstore_copy_object(tx, note, tx, .OBJSTORE_POLICY_ERROR, &copy, nil))
            #expect(copy.key != note.key)
            expect(try store.text(tx, copy, "Note.text") == "n")
        }
        try frozen(store.store) { view in
            try writing(other.store) { tx in
                var deep = objstore_object()
                try ok(objstore_copy_object(view, first, tx, .OBJSTORE_POLICY_ERROR, &deep, nil))
                expect(try other.int(tx, link(other, tx, deep, "Owner.best"), "Owner.age") == 20)
                expect(try other.text(tx, link(other, tx, deep, "Owner.note"), "Note.text") == "n")
                expect(try texts(other, tx, deep, "Owner.tags") == ["a"])
                expect(try other.count(tx, "Owner") == 2)
            }
        }
    }

    @Test("rule 9: objects of this store and of another", arguments: policies) func objectsOfAnotherStore(
        _ policy: objstore_policy
    ) throws {
        let store = try open(), other = try open()
        defer {
            store.close()
            other.close()
        }
        try writing(store.store) { tx in
            let first = try store.from(tx, "Owner", ["id": 1, "age": 10])
            // Linking to what is there makes nothing.
            let second = try store.from(tx, "Owner", ["id": 2, "age": 1, "best": .link(first)], policy)
            expect(try link(store, tx, second, "Owner.best").key == first.key)
            expect(try store.count(tx, "Owner") == 2)
            try writing(other.store) { tx in
                #expect(
                    other.refused(
                        tx, "Owner", ["id": 2, "age": 1, "best": .link(first)], .OBJSTORE_ERR_WRONG_STORE, policy
                    ).hasPrefix("$.best: "))
                expect(try other.count(tx, "Owner") == 0)
            }
        }
    }

    @Test("rule 10: one key twice in a copy", arguments: policies) func oneKeyTwice(_ policy: objstore_policy) throws {
        let store = try open(), other = try open()
        defer {
            store.close()
            other.close()
        }
        var first = objstore_object()
        try writing(store.store) { tx in
            let best = try store.from(tx, "Owner", ["id": 2, "age": 20])
            first = try store.from(
                tx, "Owner", ["id": 1, "age": 10, "best": .link(best), "others": [.link(best), .link(best)]])
        }
        try frozen(store.store) { view in
            try writing(other.store) { tx in
                var copy = objstore_object()
                let status = objstore_copy_object(view, first, tx, policy, &copy, nil)
                if policy == .OBJSTORE_POLICY_ERROR {
                    #expect(refused(status, .OBJSTORE_ERR_DUPLICATE_KEY).contains("Owner"))
                    expect(try other.count(tx, "Owner") == 0)
                } else {
                    try ok(status)
                    let best = try link(other, tx, copy, "Owner.best")
                    expect(try other.elements(tx, copy, "Owner.others").map(\.data.link.key) == [best.key, best.key])
                    expect(try other.count(tx, "Owner") == 2)
                }
            }
        }
    }

    @Test("rule 11: what was deleted", arguments: policies) func whatWasDeleted(_ policy: objstore_policy) throws {
        let store = try open()
        defer { store.close() }
        try writing(store.store) { tx in
            let first = try store.from(tx, "Owner", ["id": 1, "age": 10])
            try ok(objstore_delete(tx, first))
            #expect(
                store.refused(
                    tx, "Owner", ["id": 2, "age": 1, "best": .link(first)], .OBJSTORE_ERR_NO_SUCH_OBJECT, policy
                ).hasPrefix("$.best: "))
            _ = refused(objstore_copy_object(tx, first, tx, policy, nil, nil), .OBJSTORE_ERR_NO_SUCH_OBJECT)
            expect(try store.count(tx, "Owner") == 0)
        }
    }
}
