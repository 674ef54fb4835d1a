import CObjStore
import Testing

/// Queries that begin with a list, set or map.
@Suite struct QueryCollectionTests {
    private static let dog = TestClass(
        name: "Dog", properties: [("name", .OBJSTORE_KIND_STRING, nullable), ("age", .OBJSTORE_KIND_INT, 0)])

    /// Kennel.dogs (list), Kennel.seen (set) and Kennel.boxes (map): of dogs Rex 3, Fido 1, Ann 7 and Bo 1.
    private struct Kennels {
        let store: OpaquePointer
        let kennel: objstore_class_id, dogs: objstore_property_id, seen: objstore_property_id
        let boxes: objstore_property_id, words: objstore_property_id
        let dog: ClassOf
        let owner: objstore_object, members: [objstore_object]

        init() throws {
            let schema = try makeSchema([QueryCollectionTests.dog])
            defer { _ = objstore_schema_close(schema) }
            try ok(objstore_schema_add_class(schema, text("Kennel")))
            let collections: [(String, objstore_kind, objstore_kind, UInt32)] = [
                ("dogs", .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, 0),
                ("seen", .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, 0),
                ("boxes", .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, UInt32(nullable)),
            ]
            for (name, kind, key, flags) in collections {
                try ok(
                    objstore_schema_add_link_collection(
                        schema, text("Kennel"), text(name), kind, key, text("Dog"), flags))
            }
            try ok(
                objstore_schema_add_collection(
                    schema, text("Kennel"), text("words"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL,
                    .OBJSTORE_KIND_STRING, 0))
            let store = try openStore(nil, schema)
            self.store = store
            let view = try liveView(store), names = Names(view)
            defer { _ = objstore_view_close(view) }
            let kennel = try names.cls("Kennel"), dog = try ClassOf(tx: view, QueryCollectionTests.dog)
            let dogs = try names.property(kennel, "dogs"), seen = try names.property(kennel, "seen")
            let boxes = try names.property(kennel, "boxes")
            var owner = objstore_object(), members: [objstore_object] = []
            try writing(store) { tx in
                members = try [("Rex", 3), ("Fido", 1), ("Ann", 7), ("Bo", 1)].map { (name, age) in
                    try dog.create(tx, ["name": objstore_string(text(name)), "age": objstore_int(Int64(age))])
                }
                try ok(objstore_create(tx, kennel, nil, nil, 0, &owner))
                let links = members.map { objstore_link($0) }
                try ok(
                    objstore_list_insert(
                        tx, objstore_collection_of(owner, dogs), 0, [2, 1, 0, 1, 3].map { links[$0] }, 5))
                for link in [0, 2] {
                    try ok(objstore_set_insert(tx, objstore_collection_of(owner, seen), links[link], nil))
                }
                for (key, value) in [("z", links[1]), ("a", links[0]), ("m", objstore_null()), ("b", links[0])] {
                    try ok(
                        objstore_map_set(
                            tx, objstore_collection_of(owner, boxes), objstore_string(text(key)), value, nil))
                }
            }
            (self.kennel, self.dogs, self.seen, self.boxes) = (kennel, dogs, seen, boxes)
            (words, self.dog) = (try names.property(kennel, "words"), dog)
            (self.owner, self.members) = (owner, members)
        }

        func query(_ view: OpaquePointer, _ property: objstore_property_id) throws -> OpaquePointer {
            var query: OpaquePointer?
            try ok(objstore_query_collection(view, objstore_collection_of(owner, property), &query))
            return query!
        }

        /// Which of the dogs: as numbers in `members`.
        func asked(_ view: OpaquePointer, _ property: objstore_property_id, _ condition: String) throws -> [Int] {
            let all = try query(view, property), more = try CAPITests.query(view, dog.id, condition)
            var joined: OpaquePointer?
            try ok(objstore_query_then(all, more, &joined))
            defer { for query in [all, more, joined] { _ = objstore_query_close(query) } }
            return try found(joined!, view).map { key in members.firstIndex { $0.key == key }! }
        }
    }

    @Test func inTheirOrder() throws {
        let kennels = try Kennels()
        defer { _ = objstore_close(kennels.store) }
        try reading(kennels.store) { view in
            func ask(_ condition: String) throws -> [Int] { try kennels.asked(view, kennels.dogs, condition) }
            expect(try ask("") == [2, 1, 0, 1, 3])
            expect(try ask("age < 5") == [1, 0, 1, 3])
            expect(try ask("age == 1 LIMIT(2)") == [1, 1])
            expect(try ask("SORT(name ASC)") == [2, 3, 1, 1, 0])
            expect(try ask("SORT(age DESC) LIMIT(3)") == [2, 0, 1])
            expect(try ask("age < 5 DISTINCT(name) OFFSET(1)") == [0, 3])
            expect(try ask("name == 'Nobody'").isEmpty)
            expect(try ask("LIMIT(0)").isEmpty)
            expect(try kennels.asked(view, kennels.seen, "") == [0, 2])
            expect(try kennels.asked(view, kennels.seen, "age > 5") == [2])
            expect(try kennels.asked(view, kennels.boxes, "") == [0, 0, 1])
            expect(try kennels.asked(view, kennels.boxes, "age == 3") == [0, 0])
        }
    }

    @Test func sumsAndChanges() throws {
        let kennels = try Kennels()
        defer { _ = objstore_close(kennels.store) }
        let age = kennels.dog["age"]
        try writing(kennels.store) { tx in
            let all = try kennels.query(tx, kennels.dogs)
            defer { _ = objstore_query_close(all) }
            var value = objstore_value(), objects: UInt64 = 0
            try ok(objstore_query_aggregate(all, tx, age, .OBJSTORE_AGGREGATE_SUM, &value))
            #expect(value.data.integer == 13)
            try ok(objstore_query_aggregate(all, tx, age, .OBJSTORE_AGGREGATE_AVERAGE, &value))
            #expect(value.data.real == 13.0 / 5)
            try ok(objstore_query_aggregate(all, tx, age, .OBJSTORE_AGGREGATE_MINIMUM, &value))
            #expect(value.data.integer == 1)
            // Each object once.
            try ok(objstore_query_increment(all, tx, age, objstore_int(10), &objects))
            #expect(objects == 4)
            expect(try kennels.members.map { try kennels.dog.int(tx, $0, "age") } == [13, 11, 17, 11])
            // What the transaction has done is seen.
            let fido = objstore_collection_of(kennels.owner, kennels.dogs)
            try ok(objstore_collection_remove(tx, fido, 0, 1))
            expect(try kennels.asked(tx, kennels.dogs, "age > 12") == [0])
            let young = try query(tx, kennels.dog.id, "age == 11")
            defer { _ = objstore_query_close(young) }
            var joined: OpaquePointer?
            try ok(objstore_query_then(all, young, &joined))
            defer { _ = objstore_query_close(joined) }
            try ok(objstore_query_delete(joined, tx, &objects))
            #expect(objects == 2)
            expect(try found(all, tx) == [kennels.members[0].key])
            try ok(objstore_query_aggregate(joined, tx, age, .OBJSTORE_AGGREGATE_SUM, &value))
            #expect(value.data.integer == 0)
            try ok(objstore_query_aggregate(joined, tx, age, .OBJSTORE_AGGREGATE_MAXIMUM, &value))
            #expect(value.kind == .OBJSTORE_KIND_NULL)
        }
    }

    @Test func ofOtherVersions() throws {
        let kennels = try Kennels()
        defer { _ = objstore_close(kennels.store) }
        var query: OpaquePointer?, results: OpaquePointer?, changed = false
        let live = try liveView(kennels.store)
        defer { _ = objstore_view_close(live) }
        query = try kennels.query(live, kennels.dogs)
        defer { _ = objstore_query_close(query) }
        try frozen(kennels.store) { before in
            try ok(objstore_query_find(query, live, &results))
            defer { _ = objstore_results_close(results) }
            try writing(kennels.store) { tx in try ok(objstore_delete(tx, kennels.owner)) }
            try ok(objstore_view_refresh(live, nil))
            try ok(objstore_results_update(results, &changed))
            #expect(changed)
            expect(try keys(results).isEmpty)
            expect(try found(query!, live).isEmpty)
            expect(try found(query!, before).count == 5)
            var gone: OpaquePointer? = live
            let message = refused(
                objstore_query_collection(live, objstore_collection_of(kennels.owner, kennels.dogs), &gone),
                .OBJSTORE_ERR_NO_SUCH_OBJECT)
            #expect(gone == nil && message.contains("Kennel"))
        }
    }

    @Test func whatCannotBe() throws {
        let kennels = try Kennels(), other = try Kennels()
        defer { for store in [kennels.store, other.store] { _ = objstore_close(store) } }
        try reading(kennels.store) { view in
            let all = try kennels.query(view, kennels.dogs), more = try query(view, kennels.dog.id, "age < 5")
            let kennel = try query(view, kennels.kennel, "")
            defer { for query in [all, more, kennel] { _ = objstore_query_close(query) } }
            var made: OpaquePointer? = view, lent = objstore_text(), token: OpaquePointer?
            #expect(
                refused(
                    objstore_query_collection(view, objstore_collection_of(kennels.owner, kennels.words), &made),
                    .OBJSTORE_ERR_WRONG_TYPE
                ).contains("Kennel.words"))
            #expect(made == nil)
            refused(
                objstore_query_collection(view, objstore_collection_of(other.owner, other.dogs), &made),
                .OBJSTORE_ERR_WRONG_STORE)
            refused(
                objstore_query_collection(view, objstore_collection_of(kennels.members[0], kennels.dogs), &made),
                .OBJSTORE_ERR_NO_SUCH_PROPERTY)
            refused(objstore_query_then(more, all, &made), .OBJSTORE_ERR_NOT_SUPPORTED)
            refused(objstore_query_then(all, kennel, &made), .OBJSTORE_ERR_INVALID_ARGUMENT)
            refused(objstore_query_text(all, nil, &lent), .OBJSTORE_ERR_NOT_SUPPORTED)
            try ok(objstore_query_observe(all, kennels.store, 0, { _, _ in .OBJSTORE_OK }, nil, nil, &token))
            try ok(objstore_token_close(token))
            try reading(other.store) { theirs in
                var count: UInt64 = 0
                refused(objstore_query_count(all, theirs, &count), .OBJSTORE_ERR_WRONG_STORE)
            }
            // All objects of the class are no condition.
            let everything = try query(view, kennels.dog.id, "")
            defer { _ = objstore_query_close(everything) }
            for (first, second) in [(all, everything), (everything, all)] {
                try ok(objstore_query_then(first, second, &made))
                expect(try found(made!, view).count == 5)
                try ok(objstore_query_close(made))
            }
        }
    }

    @Test func tablesSectionsAndPlans() throws {
        let kennels = try Kennels()
        defer { _ = objstore_close(kennels.store) }
        try reading(kennels.store) { view in
            let all = try kennels.query(view, kennels.dogs)
            let grouped = try query(view, kennels.dog.id, "age < 5 GROUP(name) SELECT(name, @count AS n)")
            defer { for query in [all, grouped] { _ = objstore_query_close(query) } }
            var joined: OpaquePointer?, table: OpaquePointer?, rows: UInt64 = 0, columns = 0
            try ok(objstore_query_then(all, grouped, &joined))
            defer { _ = objstore_query_close(joined) }
            try ok(objstore_query_table(joined, view, &table))
            defer { _ = objstore_table_close(table) }
            try ok(objstore_table_size(table, &rows, &columns))
            var counts: [String: Int64] = [:]
            for row in 0..<rows {
                var name = objstore_value(), number = objstore_value()
                try ok(objstore_table_value(table, row, 0, &name))
                try ok(objstore_table_value(table, row, 1, &number))
                counts[string(name)!] = number.data.integer
            }
            #expect(counts == ["Fido": 2, "Rex": 1, "Bo": 1])

            var results: OpaquePointer?, sections: OpaquePointer?, section = objstore_section()
            try ok(objstore_query_find(all, view, &results))
            defer { _ = objstore_results_close(results) }
            try ok(objstore_sections_parse(results, text("age"), nil, 0, 0, &sections))
            defer { _ = objstore_sections_close(sections) }
            try ok(objstore_sections_at(sections, 1, nil, &section))
            #expect(section.key.data.integer == 1 && section.count == 3)

            var buffer = objstore_buffer_init(), plan = objstore_text()
            defer { _ = objstore_buffer_free(&buffer) }
            try ok(objstore_query_explain(joined, view, UInt32(OBJSTORE_EXPLAIN_JSON), &buffer, &plan))
            for part in [#""access": "collection""#, #""by": "dogs""#, #""estimate": 5"#, #""filter": "age < 5""#] {
                #expect(string(plan)!.contains(part), "\(string(plan)!)")
            }
        }
    }
}
