import CObjStore
import Testing

/// References in nested values, and objects that are known by another value than their primary key, through the C
/// interface.
@Suite struct ReferenceTests {
    private func kennel() throws -> NamedStore {
        try NamedStore { schema in
            for cls in ["Dog", "Toy"] { try ok(objstore_schema_add_class(schema, text(cls))) }
            try ok(
                objstore_schema_add_property(
                    schema, text("Dog"), text("id"), .OBJSTORE_KIND_INT,
                    UInt32(OBJSTORE_PROPERTY_PRIMARY_KEY | OBJSTORE_PROPERTY_GENERATED)))
            try ok(
                objstore_schema_add_property(
                    schema, text("Dog"), text("chip"), .OBJSTORE_KIND_STRING,
                    UInt32(OBJSTORE_PROPERTY_NULLABLE | OBJSTORE_PROPERTY_UNIQUE)))
            try ok(
                objstore_schema_add_property(
                    schema, text("Dog"), text("age"), .OBJSTORE_KIND_INT, UInt32(OBJSTORE_PROPERTY_NULLABLE)))
            try ok(objstore_schema_add_link(schema, text("Dog"), text("best"), text("Dog"), 0))
            try ok(
                objstore_schema_add_link_collection(
                    schema, text("Dog"), text("toys"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Toy"), 0))
            try ok(
                objstore_schema_add_property(
                    schema, text("Toy"), text("label"), .OBJSTORE_KIND_STRING, UInt32(OBJSTORE_PROPERTY_NULLABLE)))
        }
    }

    private func index(_ home: NamedStore, _ tx: OpaquePointer, _ name: String) throws -> objstore_index_id {
        var index: objstore_index_id = 0, property = home[name]
        try ok(objstore_find_index(tx, home.classes["Dog"]!, &property, 1, &index))
        return index
    }

    @Test func circlesAndObjectKeys() throws {
        let home = try kennel()
        defer { home.close() }
        try writing(home.store) { tx in
            let one = try home.from(tx, "Dog", ["id": 1, "best": ["id": 2, "best": 1], "toys": [["label": "ball"]]])
            let two = try home.value(tx, one, "Dog.best").data.link
            expect(try home.int(tx, two, "Dog.id") == 2)
            expect(try home.value(tx, two, "Dog.best").data.link.key == one.key)
            let toy = try home.elements(tx, one, "Dog.toys")[0].data.link
            let three = try home.from(
                tx, "Dog", ["id": 3, "toys": [["$ref": "Toy", "$id": .value(objstore_int(toy.key))]]])
            expect(try home.elements(tx, three, "Dog.toys")[0].data.link.key == toy.key)
            expect(try home.count(tx, "Toy") == 1)
            let message = home.refused(tx, "Dog", ["id": 4, "best": 5], .OBJSTORE_ERR_NO_SUCH_OBJECT)
            #expect(message.contains("$.best") && message.contains("id = 5"))
            _ = home.refused(tx, "Dog", ["id": 4, "toys": [["$ref": "Dog", "$id": 1]]], .OBJSTORE_ERR_WRONG_TYPE)
            expect(try home.count(tx, "Dog") == 3)
        }
        try verify(home.store)
    }

    @Test func byAnotherUniqueValue() throws {
        let home = try kennel()
        defer { home.close() }
        try writing(home.store) { tx in
            let chip = try index(home, tx, "Dog.chip")
            func upsert(
                _ nested: Nested, _ policy: objstore_policy = .OBJSTORE_POLICY_MODIFIED
            ) throws -> (objstore_object, objstore_outcome) {
                var object = objstore_object(), outcome = objstore_outcome.OBJSTORE_OUTCOME_UNCHANGED
                let flat = nested.flat
                try ok(objstore_upsert_from_by(tx, chip, policy, 0, flat, flat.count, &object, &outcome))
                return (object, outcome)
            }
            let (first, made) = try upsert(["chip": "x", "age": 1])
            let (again, changed) = try upsert(["chip": "x", "age": 2])
            let (_, unchanged) = try upsert(["chip": "x"])
            #expect(
                made == .OBJSTORE_OUTCOME_CREATED && changed == .OBJSTORE_OUTCOME_CHANGED
                    && unchanged == .OBJSTORE_OUTCOME_UNCHANGED && first.key == again.key)
            expect(try home.int(tx, first, "Dog.age") == 2)
            // Null belongs to no single object.
            let (null, _) = try upsert(["age": 3]), (other, _) = try upsert(["age": 3])
            #expect(null.key != other.key && null.key != first.key)
            func refused(_ nested: Nested, _ policy: objstore_policy, _ status: objstore_status) -> String {
                let flat = nested.flat
                return CAPITests.refused(
                    objstore_upsert_from_by(tx, chip, policy, 0, flat, flat.count, nil, nil), status)
            }
            _ = refused(["chip": "x"], .OBJSTORE_POLICY_ERROR, .OBJSTORE_ERR_DUPLICATE_KEY)
            #expect(
                refused(["chip": "x", "id": 99], .OBJSTORE_POLICY_MODIFIED, .OBJSTORE_ERR_KEY_IMMUTABLE).contains(
                    "Dog.id"))
            let flat = (["age": 1] as Nested).flat
            _ = CAPITests.refused(
                objstore_upsert_from_by(tx, 0, .OBJSTORE_POLICY_ALL, 0, flat, flat.count, nil, nil),
                .OBJSTORE_ERR_NO_SUCH_INDEX)
            expect(try home.count(tx, "Dog") == 3)
        }
        try verify(home.store)
    }

    @Test func objectsThatNothingLinksTo() throws {
        let home = try kennel()
        defer { home.close() }
        try writing(home.store) { tx in
            _ = try home.from(tx, "Dog", ["toys": [["label": "kept"]]])
            for _ in 0..<3 { _ = try home.from(tx, "Toy", [:]) }
            var count: UInt64 = 0
            try ok(objstore_delete_orphans(tx, home.classes["Toy"]!, &count))
            #expect(count == 3)
            expect(try home.count(tx, "Toy") == 1)
        }
        try verify(home.store)
    }
}
