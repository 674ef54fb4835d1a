import CObjStore
import Testing

/// Queries of lists, sets and maps of plain values.
@Suite struct ValueQueryTests {
    /// Dog.numbers (list), Dog.seen (set), Dog.notes (map) and Dog.things (list of mixed): of one dog.
    private struct Dogs {
        let store: OpaquePointer
        let dog: objstore_class_id, owner: objstore_object
        let properties: [String: objstore_property_id]

        init() throws {
            var schema: OpaquePointer?
            try ok(objstore_schema_new(&schema))
            defer { _ = objstore_schema_close(schema) }
            let dog = text("Dog")
            try ok(objstore_schema_add_class(schema, dog))
            let collections: [(String, objstore_kind, objstore_kind, objstore_kind, Int32)] = [
                ("numbers", .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_INT, nullable),
                ("seen", .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_STRING, 0),
                ("notes", .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_DOUBLE, 0),
                ("things", .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_MIXED, 0),
                ("chips", .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_BINARY, 0),
            ]
            for (name, kind, key, element, flags) in collections {
                try ok(objstore_schema_add_collection(schema, dog, text(name), kind, key, element, UInt32(flags)))
            }
            try ok(
                objstore_schema_add_link_collection(
                    schema, dog, text("friends"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, dog, 0))
            store = try openStore(nil, schema)
            let view = try liveView(store), names = Names(view)
            defer { _ = objstore_view_close(view) }
            let cls = try names.cls("Dog")
            self.dog = cls
            properties = try Dictionary(
                uniqueKeysWithValues: (collections.map(\.0) + ["friends"]).map { ($0, try names.property(cls, $0)) })
            var owner = objstore_object()
            let ids = properties
            try writing(store) { tx in
                try ok(objstore_create(tx, cls, nil, nil, 0, &owner))
                let numbers = [5, 3, 8, 3].map { objstore_int($0) } + [objstore_null()]
                try ok(
                    objstore_list_insert(tx, objstore_collection_of(owner, ids["numbers"]!), 0, numbers, numbers.count))
                for word in ["old", "big", "Odd"] {
                    let seen = objstore_collection_of(owner, ids["seen"]!)
                    try ok(objstore_set_insert(tx, seen, objstore_string(text(word)), nil))
                }
                for (key, number) in [("b", 1.5), ("a", Double.nan), ("c", -2)] {
                    let notes = objstore_collection_of(owner, ids["notes"]!)
                    try ok(objstore_map_set(tx, notes, objstore_string(text(key)), objstore_double(number), nil))
                }
                let things = [objstore_int(3), objstore_string(text("x")), objstore_null(), objstore_link(owner)]
                try ok(
                    objstore_list_insert(tx, objstore_collection_of(owner, ids["things"]!), 0, things, things.count))
            }
            self.owner = owner
        }

        func collection(_ name: String) -> objstore_collection { objstore_collection_of(owner, properties[name]!) }

        func query(_ view: OpaquePointer, _ name: String, _ condition: String) throws -> OpaquePointer {
            var query: OpaquePointer?
            try ok(objstore_query_values(view, collection(name), text(condition), nil, 0, &query))
            return query!
        }

        func ask(_ view: OpaquePointer, _ name: String, _ condition: String) throws -> [objstore_value] {
            let query = try query(view, name, condition)
            defer { _ = objstore_query_close(query) }
            return try CAPITests.values(query, view)
        }

        func ints(_ view: OpaquePointer, _ condition: String) throws -> [Int64?] {
            try ask(view, "numbers", condition).map { $0.kind == .OBJSTORE_KIND_NULL ? nil : $0.data.integer }
        }
    }

    @Test func filteredSortedAndCut() throws {
        let dogs = try Dogs()
        defer { _ = objstore_close(dogs.store) }
        try reading(dogs.store) { view in
            expect(try dogs.ints(view, "") == [5, 3, 8, 3, nil])
            expect(try dogs.ints(view, "@self > 3") == [5, 8])
            expect(try dogs.ints(view, "NOT @self > 3") == [3, 3, nil])
            expect(try dogs.ints(view, "@self == nil OR @self IN {8, 9}") == [8, nil])
            expect(try dogs.ints(view, "SORT(@self ASC)") == [nil, 3, 3, 5, 8])
            expect(try dogs.ints(view, "SORT(@self DESC) DISTINCT(@self) OFFSET(1) LIMIT(2)") == [5, 3])
            expect(try dogs.ints(view, "DISTINCT(@self) LIMIT(3) SORT(@self ASC)") == [3, 5, 8])
            expect(try dogs.ints(view, "LIMIT(0)").isEmpty)
            expect(try dogs.ask(view, "seen", "@self BEGINSWITH[c] 'o'").map { string($0) } == ["Odd", "old"])
            expect(try dogs.ask(view, "notes", "@self < 5").map(\.data.real) == [1.5, -2])
            expect(try dogs.ask(view, "things", "@self.@type == 'link'").map(\.data.link.key) == [dogs.owner.key])
            expect(try dogs.ask(view, "things", "numbers.@count == 5").count == 1)
            let chain = (0..<60_000).map { "@self == \($0 + 10)" }.joined(separator: " OR ")
            expect(try dogs.ints(view, chain).isEmpty)
        }
    }

    @Test func placesKeysAndAggregates() throws {
        let dogs = try Dogs()
        defer { _ = objstore_close(dogs.store) }
        try reading(dogs.store) { view in
            let numbers = try dogs.query(view, "numbers", "SORT(@self DESC)")
            let notes = try dogs.query(view, "notes", "SORT(@self ASC)"), chips = try dogs.query(view, "chips", "")
            defer { for query in [numbers, notes, chips] { _ = objstore_query_close(query) } }
            var values: OpaquePointer?, count = 0, value = objstore_value()
            var places = [UInt64](repeating: 9, count: 5), keys = [objstore_value](repeating: objstore_null(), count: 3)
            try ok(objstore_query_find_values(numbers, view, &values))
            try ok(objstore_values_read(values, 1, 9, nil, &places, nil, &count))
            #expect(count == 4 && places.prefix(4) == [0, 1, 3, 4])
            try ok(objstore_values_read(values, 5, 9, nil, nil, nil, &count))
            #expect(count == 0)
            refused(objstore_values_read(values, 6, 9, nil, nil, nil, &count), .OBJSTORE_ERR_OUT_OF_RANGE)
            for (kind, expected) in [
                (.OBJSTORE_AGGREGATE_SUM, 19), (.OBJSTORE_AGGREGATE_MINIMUM, 3), (.OBJSTORE_AGGREGATE_MAXIMUM, 8),
            ] as [(objstore_aggregate_kind, Int64)] {
                try ok(objstore_values_aggregate(values, kind, &value))
                #expect(value.data.integer == expected)
            }
            try ok(objstore_values_aggregate(values, .OBJSTORE_AGGREGATE_AVERAGE, &value))
            #expect(value.data.real == 4.75)
            try ok(objstore_values_close(values))
            try ok(objstore_query_find_values(notes, view, &values))
            try ok(objstore_values_read(values, 0, 3, nil, nil, &keys, &count))
            #expect(keys.map { string($0) } == ["a", "c", "b"])
            try ok(objstore_values_aggregate(values, .OBJSTORE_AGGREGATE_SUM, &value))
            #expect(value.data.real == -0.5)
            try ok(objstore_values_close(values))
            try ok(objstore_query_find_values(chips, view, &values))
            #expect(
                refused(
                    objstore_values_aggregate(values, .OBJSTORE_AGGREGATE_MAXIMUM, &value), .OBJSTORE_ERR_WRONG_TYPE
                ).contains("Dog.chips"))
            try ok(objstore_values_close(values))
        }
        try writing(dogs.store) { tx in
            try ok(objstore_list_insert(tx, dogs.collection("numbers"), 0, [objstore_int(.max)], 1))
            let query = try dogs.query(tx, "numbers", "")
            defer { _ = objstore_query_close(query) }
            var values: OpaquePointer?, value = objstore_value()
            try ok(objstore_query_find_values(query, tx, &values))
            defer { _ = objstore_values_close(values) }
            refused(
                objstore_values_aggregate(values, .OBJSTORE_AGGREGATE_SUM, &value), .OBJSTORE_ERR_OUT_OF_RANGE)
        }
    }

    @Test func standStillUntilUpdated() throws {
        let dogs = try Dogs(), live = try liveView(dogs.store)
        defer { _ = objstore_close(dogs.store) }
        let query = try dogs.query(live, "numbers", "@self > 3")
        var values: OpaquePointer?, changed = true, count: UInt64 = 0
        try ok(objstore_query_find_values(query, live, &values))
        try ok(objstore_values_update(values, &changed))
        #expect(!changed)
        try frozen(dogs.store) { before in
            try writing(dogs.store) { tx in
                try ok(objstore_list_insert(tx, dogs.collection("numbers"), 0, [objstore_int(9)], 1))
                expect(try CAPITests.values(query, tx).map(\.data.integer) == [9, 5, 8])
            }
            try ok(objstore_view_refresh(live, nil))
            try ok(objstore_values_count(values, &count))
            #expect(count == 2)
            try ok(objstore_values_update(values, &changed))
            try ok(objstore_values_count(values, &count))
            #expect(changed && count == 3)
            expect(try CAPITests.values(query, before).map(\.data.integer) == [5, 8])
        }
        // Its owner goes.
        try writing(dogs.store) { tx in try ok(objstore_delete(tx, dogs.owner)) }
        try ok(objstore_view_refresh(live, nil))
        try ok(objstore_values_update(values, &changed))
        try ok(objstore_values_count(values, &count))
        #expect(changed && count == 0)
        var gone: OpaquePointer? = live
        refused(
            objstore_query_values(live, dogs.collection("numbers"), text(""), nil, 0, &gone),
            .OBJSTORE_ERR_NO_SUCH_OBJECT)
        #expect(gone == nil)
        // They are closed with their view.
        try ok(objstore_view_close(live))
        refused(objstore_values_count(values, &count), .OBJSTORE_ERR_CLOSED_HANDLE)
        try ok(objstore_query_close(query))
    }

    @Test func whatCannotBe() throws {
        let dogs = try Dogs(), other = try Dogs()
        defer { for store in [dogs.store, other.store] { _ = objstore_close(store) } }
        try reading(dogs.store) { view in
            let numbers = try dogs.query(view, "numbers", "@self > 3"), seen = try dogs.query(view, "seen", "")
            let more = try dogs.query(view, "numbers", "LIMIT(1)"), objects = try query(view, dogs.dog, "")
            defer { for query in [numbers, seen, more, objects] { _ = objstore_query_close(query) } }
            var made: OpaquePointer? = view, lent = objstore_text(), count: UInt64 = 0
            var buffer = objstore_buffer_init()
            defer { _ = objstore_buffer_free(&buffer) }
            func wrong(_ name: String, _ condition: String, _ status: objstore_status) -> String {
                refused(objstore_query_values(view, dogs.collection(name), text(condition), nil, 0, &made), status)
            }
            #expect(wrong("friends", "", .OBJSTORE_ERR_WRONG_TYPE).contains("Dog.friends"))
            #expect(wrong("numbers", "age > 3", .OBJSTORE_ERR_NO_SUCH_PROPERTY).contains("no properties, such as age"))
            #expect(wrong("numbers", "@self == 'a'", .OBJSTORE_ERR_WRONG_TYPE).contains("Dog.numbers: @self is an int"))
            #expect(wrong("chips", "@self < binary('a')", .OBJSTORE_ERR_WRONG_TYPE).contains("Dog.chips"))
            #expect(wrong("seen", "SORT(@self[0] ASC)", .OBJSTORE_ERR_INVALID_QUERY).contains("Dog.seen"))
            _ = wrong("numbers", "1 == 1", .OBJSTORE_ERR_INVALID_QUERY)
            _ = wrong("numbers", "@self", .OBJSTORE_ERR_INVALID_QUERY)
            _ = wrong("numbers", "SELECT(@self)", .OBJSTORE_ERR_NOT_SUPPORTED)
            #expect(made == nil)
            try ok(objstore_query_then(numbers, more, &made))
            expect(try CAPITests.values(made!, view).map(\.data.integer) == [5])
            try ok(objstore_query_close(made))
            refused(objstore_query_then(numbers, seen, &made), .OBJSTORE_ERR_INVALID_ARGUMENT)
            refused(objstore_query_then(numbers, objects, &made), .OBJSTORE_ERR_INVALID_ARGUMENT)
            refused(objstore_query_then(objects, numbers, &made), .OBJSTORE_ERR_INVALID_ARGUMENT)
            refused(objstore_query_count(numbers, view, &count), .OBJSTORE_ERR_INVALID_QUERY)
            refused(objstore_query_table(numbers, view, &made), .OBJSTORE_ERR_INVALID_QUERY)
            refused(objstore_query_find_values(objects, view, &made), .OBJSTORE_ERR_INVALID_QUERY)
            refused(objstore_query_text(numbers, nil, &lent), .OBJSTORE_ERR_NOT_SUPPORTED)
            refused(objstore_query_explain(numbers, view, 0, &buffer, &lent), .OBJSTORE_ERR_NOT_SUPPORTED)
            try reading(other.store) { theirs in
                refused(objstore_query_find_values(numbers, theirs, &made), .OBJSTORE_ERR_WRONG_STORE)
            }
        }
    }

    @Test func fromNodes() throws {
        let dogs = try Dogs()
        defer { _ = objstore_close(dogs.store) }
        try reading(dogs.store) { view in
            var element = node(.OBJSTORE_QUERY_VARIABLE)
            let constant = node(.OBJSTORE_QUERY_CONSTANT, value: objstore_int(3))
            let compare = node(
                .OBJSTORE_QUERY_COMPARE, operands: 2, choice: objstore_operator.OBJSTORE_EQUAL.rawValue)
            let nodes = [element, constant, compare]
            var query: OpaquePointer?
            try ok(objstore_query_values_new(view, dogs.collection("numbers"), nodes, 3, &query))
            expect(try CAPITests.values(query!, view).map(\.data.integer) == [3, 3])
            try ok(objstore_query_close(query))
            try ok(objstore_query_values_new(view, dogs.collection("numbers"), nil, 0, &query))
            expect(try CAPITests.values(query!, view).count == 5)
            try ok(objstore_query_close(query))
            element.number = 1
            refused(
                objstore_query_values_new(view, dogs.collection("numbers"), [element, constant, compare], 3, &query),
                .OBJSTORE_ERR_INVALID_QUERY)
        }
    }

    @Test func watched() throws {
        let dogs = try Dogs()
        defer { _ = objstore_close(dogs.store) }
        try writing(dogs.store) { tx in
            let many = (0..<5000).map { objstore_int(Int64($0)) }
            try ok(objstore_list_insert(tx, dogs.collection("numbers"), 0, many, many.count))
        }
        try reading(dogs.store) { view in
            let query = try dogs.query(view, "numbers", "@self > 4000")
            defer { _ = objstore_query_close(query) }
            var values: OpaquePointer?
            try ok(
                objstore_watch_queries(
                    dogs.store, 0, { done, total, _ in total == 5005 ? .OBJSTORE_ERR_CANCELLED : .OBJSTORE_OK }, nil,
                    nil))
            refused(objstore_query_find_values(query, view, &values), .OBJSTORE_ERR_CANCELLED)
            #expect(values == nil)
            try ok(objstore_watch_queries(dogs.store, 0, nil, nil, nil))
            expect(try CAPITests.values(query, view).count == 1003)
        }
    }
}

/// What a query of plain values finds; texts stay valid as long as the test runs.
func values(_ query: OpaquePointer, _ view: OpaquePointer) throws -> [objstore_value] {
    var values: OpaquePointer?, count = 0, number: UInt64 = 0
    try ok(objstore_query_find_values(query, view, &values))
    defer { _ = objstore_values_close(values) }
    try ok(objstore_values_count(values, &number))
    var found = [objstore_value](repeating: objstore_null(), count: Int(number))
    try ok(objstore_values_read(values, 0, found.count, &found, nil, nil, &count))
    #expect(count == found.count)
    return found.map { value in
        guard value.kind == .OBJSTORE_KIND_STRING else { return value }
        return objstore_string(text(string(value)!))
    }
}
