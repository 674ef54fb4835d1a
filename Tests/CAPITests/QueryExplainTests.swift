import CObjStore
import Foundation
import Testing

/// Plans of queries: what they say is what is done, and what it finds.
@Suite struct QueryExplainTests {
    private let store: OpaquePointer
    private let dog: objstore_class_id

    init() throws {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        let person = text("Person"), dogs = text("Dog")
        try ok(objstore_schema_add_class(schema, person))
        try ok(objstore_schema_add_property(schema, person, text("number"), .OBJSTORE_KIND_INT, 0))
        try ok(objstore_schema_add_class(schema, dogs))
        let indexed = UInt32(OBJSTORE_PROPERTY_INDEXED)
        try ok(objstore_schema_add_property(schema, dogs, text("age"), .OBJSTORE_KIND_INT, indexed))
        try ok(objstore_schema_add_property(schema, dogs, text("weight"), .OBJSTORE_KIND_DOUBLE, 0))
        try ok(objstore_schema_add_link(schema, dogs, text("owner"), person, 0))
        store = try openStore(nil, schema!)
        dog = try reading(store) { try Names($0).cls("Dog") }
        try writing(store) { tx in
            let names = Names(tx), owner = try names.cls("Person"), number = try names.property(owner, "number")
            var owners: [objstore_object] = []
            for index in 0..<20 {
                var object = objstore_object()
                try ok(objstore_create(tx, owner, [number], [objstore_int(Int64(index))], 1, &object))
                owners.append(object)
            }
            let properties = try ["age", "weight", "owner"].map { try names.property(dog, $0) }
            for index in 0..<10_000 {
                let values = [
                    objstore_int(Int64(index % 200)), objstore_double(Double(index)), objstore_link(owners[index % 20]),
                ]
                try ok(objstore_create(tx, dog, properties, values, 3, nil))
            }
        }
    }

    private func plan(_ query: OpaquePointer, _ view: OpaquePointer, _ flags: Int) throws -> [String: Any] {
        var buffer = objstore_buffer_init(), written = objstore_text()
        defer { objstore_buffer_free(&buffer) }
        try ok(objstore_query_explain(query, view, UInt32(flags | OBJSTORE_EXPLAIN_JSON), &buffer, &written))
        let data = Data(bytes: try #require(written.bytes), count: Int(written.length))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test func plansSayWhatIsDone() throws {
        defer { _ = objstore_close(store) }
        try frozen(store) { view in
            for (condition, access, by, estimate, found) in [
                ("", "all", nil, 10_000, 10_000), ("age == 3", "index", "age == 3", 50, 50),
                ("age == 3 AND weight > 5000", "index", "age == 3", 50, 25), ("age < 150", "scan", nil, nil, 7500),
                ("weight > 9000", "scan", nil, nil, 999), ("age > weight", "scan", nil, nil, nil),
                ("age == 1 OR age == 2", "index", "age == 1 or age == 2", 100, 100),
                ("age BETWEEN {3, 4}", "index", "age >= 3 and age <= 4", 100, 100),
                ("owner.number == 3", "links", "owner leads to Person where number == 3", 500, 500),
                // Of more than a fiftieth of all objects a scan looks for them.
                ("owner.number == 3 AND weight < 100", "scan", nil, nil, 5),
                ("SORT(age ASC) LIMIT(7)", "order", "age", 7, 7), ("weight < 10 SORT(age DESC)", "scan", nil, nil, 10),
            ] as [(String, String, String?, Int?, Int?)] {
                let query = try query(view, dog, condition)
                defer { _ = objstore_query_close(query) }
                let plan = try plan(query, view, OBJSTORE_EXPLAIN_RUN)
                let outcome = try #require(plan["found"] as? [String: Any])
                #expect(plan["class"] as? String == "Dog" && plan["objects"] as? Int == 10_000, "\(condition)")
                #expect(plan["access"] as? String == access, "\(condition)")
                #expect(plan["by"] as? String == by, "\(condition)")
                #expect(plan["estimate"] as? Int == estimate, "\(condition)")
                var count: UInt64 = 0
                try ok(objstore_query_count(query, view, &count))
                #expect(outcome["objects"] as? UInt64 == count, "\(condition)")
                if let found { #expect(count == found, "\(condition)") }
                let leaves = plan["leaves"] as? Int
                #expect(leaves == 3, "\(condition)")
                if access == "scan" {
                    let read = outcome["leavesRead"] as? Int, skipped = outcome["leavesSkipped"] as? Int
                    #expect((read ?? 0) + (skipped ?? 0) == leaves, "\(condition)")
                    // The bounds of the first two leaves say that nothing there is so heavy.
                    if condition.hasPrefix("weight > 9000") { #expect(read == 1, "\(condition)") }
                }
                #expect(try self.plan(query, view, 0)["found"] == nil, "\(condition)")
            }
        }
    }

    @Test func forPeople() throws {
        defer { _ = objstore_close(store) }
        try frozen(store) { view in
            let query = try query(view, dog, "age == 3 AND weight > 5000 SORT(weight DESC) LIMIT(2)")
            defer { _ = objstore_query_close(query) }
            var buffer = objstore_buffer_init(), written = objstore_text()
            defer { objstore_buffer_free(&buffer) }
            try ok(objstore_query_explain(query, view, 0, &buffer, &written))
            let lines = String(
                decoding: UnsafeRawBufferPointer(start: written.bytes, count: Int(written.length)), as: UTF8.self)
            #expect(
                lines == """
                    Dog: 10000 objects in 3 leaves
                    index: age == 3, 50 objects
                    of each: age == 3 and weight > 5000.0
                    then: SORT(weight DESC)
                    then: LIMIT(2)

                    """)
            refused(objstore_query_explain(query, view, 4, &buffer, &written), .OBJSTORE_ERR_INVALID_ARGUMENT)
            refused(objstore_query_explain(query, view, 0, nil, &written), .OBJSTORE_ERR_INVALID_ARGUMENT)
        }
    }
}
