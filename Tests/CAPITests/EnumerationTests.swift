import CObjStore
import Testing

/// Enumerations of a program: what is written is one of their values, whatever writes it.
@Suite struct EnumerationTests {
    private static func schema(
        _ states: [String] = ["open", "done"], without: Set<String> = [],
        _ more: (OpaquePointer) throws -> Void = { _ in }
    ) throws -> OpaquePointer {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        let task = text("Task")
        try ok(objstore_schema_add_class(schema, task))
        try ok(
            objstore_schema_add_property(
                schema, task, text("id"), .OBJSTORE_KIND_INT, UInt32(OBJSTORE_PROPERTY_PRIMARY_KEY)))
        let values = states.map { objstore_string(text($0)) }
        func set(_ name: String, _ values: [objstore_value], _ flags: UInt32 = 0) throws {
            try ok(objstore_schema_set_enumeration(schema, task, text(name), values, values.count, flags))
        }
        if !without.contains("state") {
            try ok(objstore_schema_add_property(schema, task, text("state"), .OBJSTORE_KIND_STRING, 0))
            try set("state", values)
        }
        try ok(
            objstore_schema_add_property(
                schema, task, text("level"), .OBJSTORE_KIND_INT, UInt32(OBJSTORE_PROPERTY_NULLABLE)))
        try set("level", [objstore_int(3), objstore_int(-1), objstore_int(20)])
        try ok(
            objstore_schema_add_collection(
                schema, task, text("tags"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_STRING,
                UInt32(OBJSTORE_PROPERTY_NULLABLE)))
        try set("tags", values)
        try ok(
            objstore_schema_add_collection(
                schema, task, text("seen"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_INT, 0))
        try set("seen", [objstore_int(1), objstore_int(2)])
        try ok(
            objstore_schema_add_collection(
                schema, task, text("marks"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_INT, 0))
        try set("marks", [objstore_int(1), objstore_int(2)])
        try set("marks", values, UInt32(OBJSTORE_ENUMERATION_KEYS))
        try more(schema!)
        return schema!
    }

    private static func store(
        at path: String? = nil, version: UInt64 = 1, _ schema: OpaquePointer
    ) throws -> (store: OpaquePointer, ids: @Sendable (String) -> objstore_property_id, cls: objstore_class_id) {
        defer { _ = objstore_schema_close(schema) }
        let store = try openStore(path, []) { config in try ok(objstore_config_set_schema(config, schema, version)) }
        let view = try liveView(store)
        defer { _ = objstore_view_close(view) }
        let names = Names(view), cls = try names.cls("Task")
        var ids: [String: objstore_property_id] = [:]
        for name in ["id", "state", "level", "tags", "seen", "marks"] { ids[name] = try? names.property(cls, name) }
        let found = ids
        return (store, { found[$0]! }, cls)
    }

    @Test func everyWayIn() throws {
        let (store, id, cls) = try EnumerationTests.store(try EnumerationTests.schema())
        defer { _ = objstore_close(store) }
        let zebra = objstore_string(text("zebra")), open = objstore_string(text("open"))
        func isRefused(_ status: objstore_status, _ what: String, sourceLocation: SourceLocation = #_sourceLocation) {
            let message = refused(status, .OBJSTORE_ERR_OUT_OF_RANGE, sourceLocation: sourceLocation)
            #expect(
                message.contains(what) && message.contains("none of the values of its enumeration"), "\(message)",
                sourceLocation: sourceLocation)
        }
        try writing(store) { tx in
            var task = objstore_object()
            let all = ["id", "state", "level"].map { id($0) }
            isRefused(objstore_create(tx, cls, all, [objstore_int(1), zebra, objstore_null()], 3, nil), "Task.state")
            isRefused(objstore_create(tx, cls, all, [objstore_int(1), open, objstore_int(4)], 3, nil), "Task.level: 4")
            try ok(objstore_create(tx, cls, all, [objstore_int(1), open, objstore_null()], 3, &task))
            isRefused(objstore_set(tx, task, id("state"), zebra), "Task.state")
            isRefused(objstore_set_row(tx, task, all, [objstore_int(1), open, objstore_int(0)], 3), "Task.level")
            isRefused(
                objstore_upsert(
                    tx, cls, .OBJSTORE_POLICY_ALL, all, [objstore_int(1), zebra, objstore_null()], 3, nil, nil),
                "Task.state")
            isRefused(
                objstore_upsert(
                    tx, cls, .OBJSTORE_POLICY_MODIFIED, all, [objstore_int(2), zebra, objstore_null()], 3, nil, nil),
                "Task.state")
            try ok(objstore_set(tx, task, id("level"), objstore_int(20)))
            refused(objstore_increment(tx, task, id("level"), 0, nil), .OBJSTORE_ERR_WRONG_TYPE)
            // Elements and keys.
            let tags = objstore_collection_of(task, id("tags")), seen = objstore_collection_of(task, id("seen")),
                marks = objstore_collection_of(task, id("marks"))
            isRefused(objstore_list_insert(tx, tags, 0, [open, objstore_null(), zebra], 3), "Task.tags")
            try ok(objstore_list_insert(tx, tags, 0, [open, objstore_null()], 2))
            isRefused(objstore_list_set(tx, tags, 0, zebra), "Task.tags")
            isRefused(objstore_collection_assign(tx, tags, nil, [zebra], 1), "Task.tags")
            isRefused(objstore_set_insert(tx, seen, objstore_int(3), nil), "Task.seen")
            isRefused(
                objstore_set_combine(tx, seen, .OBJSTORE_SET_UNION, [objstore_int(1), objstore_int(3)], 2, nil),
                "Task.seen")
            isRefused(objstore_map_set(tx, marks, open, objstore_int(3), nil), "Task.marks: 3")
            isRefused(objstore_map_set(tx, marks, zebra, objstore_int(1), nil), "Task.marks: the key")
            isRefused(objstore_collection_assign(tx, marks, [zebra], [objstore_int(1)], 1), "Task.marks: the key")
            try ok(objstore_map_set(tx, marks, open, objstore_int(2), nil))
            // What is looked for is not there.
            var index: Int64 = 0, found = true
            try ok(objstore_collection_find(tx, tags, zebra, &index))
            #expect(index == -1)
            try ok(objstore_map_remove(tx, marks, zebra, &found))
            #expect(!found)
            // Nested values and JSON.
            let name = { (name: String) in objstore_string(text(name)) }
            let flat = [objstore_map_of(2), name("id"), objstore_int(7), name("state"), zebra]
            isRefused(objstore_create_from(tx, cls, .OBJSTORE_POLICY_ERROR, 0, flat, flat.count, nil, nil), "$.state")
            isRefused(
                objstore_set_from(tx, task, id("tags"), .OBJSTORE_POLICY_ALL, [objstore_list_of(1), zebra], 2, nil),
                "$.tags[0]")
            for (json, place) in [
                ("{\"id\": 7, \"state\": \"zebra\"}", "$.state"),
                ("{\"id\": 7, \"state\": \"open\", \"level\": 5}", "$.level"),
                ("{\"id\": 7, \"state\": \"open\", \"tags\": [\"done\", \"zebra\"]}", "$.tags[1]"),
                ("{\"id\": 1, \"seen\": [9]}", "$.seen[0]"),
                ("{\"id\": 1, \"marks\": {\"zebra\": 1}}", "$.marks.zebra"),
                ("{\"id\": 1, \"marks\": {\"open\": 9}}", "$.marks.open"),
            ] {
                isRefused(
                    objstore_create_from_json(
                        tx, cls, .OBJSTORE_POLICY_MODIFIED, 0, text(json), nil, nil, nil, nil, nil), place)
            }
            try ok(
                objstore_create_from_json(
                    tx, cls, .OBJSTORE_POLICY_ERROR, 0,
                    text("{\"id\": 7, \"state\": \"done\", \"level\": -1, \"tags\": [null]}"), nil, nil, nil, nil, nil))
            // Columns, and many at once.
            var keys: [Int64] = [10, 11], levels: [Int64] = [3, 4]
            try keys.withUnsafeMutableBytes { keys in
                try levels.withUnsafeMutableBytes { levels in
                    var states = Array("opendone".utf8), offsets: [Int64] = [0, 4, 8]
                    try states.withUnsafeMutableBytes { states in
                        try offsets.withUnsafeMutableBufferPointer { offsets in
                            var columns = [objstore_column(), objstore_column(), objstore_column()]
                            (columns[0].property_id, columns[0].kind, columns[0].values) = (
                                id("id"), .OBJSTORE_KIND_INT, UnsafeRawPointer(keys.baseAddress)
                            )
                            (columns[1].property_id, columns[1].kind, columns[1].values) = (
                                id("level"), .OBJSTORE_KIND_INT, UnsafeRawPointer(levels.baseAddress)
                            )
                            (columns[2].property_id, columns[2].kind, columns[2].values, columns[2].offsets) =
                                (
                                    id("state"), .OBJSTORE_KIND_STRING, UnsafeRawPointer(states.baseAddress),
                                    UnsafePointer(offsets.baseAddress)
                                )
                            columns[2].values_bytes = 8
                            isRefused(
                                objstore_insert_rows(tx, cls, .OBJSTORE_POLICY_ERROR, columns, 3, 2, nil, nil),
                                "row 1, Task.level: 4")
                            levels.storeBytes(of: -1, toByteOffset: 8, as: Int64.self)
                            try ok(objstore_insert_rows(tx, cls, .OBJSTORE_POLICY_ERROR, columns, 3, 2, nil, nil))
                        }
                    }
                }
            }
            var results: OpaquePointer?
            try ok(findAll(tx, cls, &results))
            defer { _ = objstore_results_close(results) }
            isRefused(objstore_results_set(results, tx, [id("state")], [zebra], 1, nil), "Task.state")
            refused(
                objstore_results_increment(results, tx, id("level"), objstore_int(1), nil), .OBJSTORE_ERR_WRONG_TYPE)
        }
        try verify(store)
    }

    /// Nothing of it is in the file: another program has others, and what is there stays.
    @Test func ofTheProgramAlone() throws {
        let folder = TestFolder()
        func write(_ states: [String], version: UInt64 = 1, _ state: String, _ key: Int64) throws -> objstore_status {
            let (store, id, cls) = try EnumerationTests.store(
                at: folder.store, version: version, try EnumerationTests.schema(states))
            defer { _ = objstore_close(store) }
            return try writing(store) { tx in
                objstore_create(
                    tx, cls, [id("id"), id("state")], [objstore_int(key), objstore_string(text(state))], 2, nil)
            }
        }
        try ok(try write(["open", "done"], "open", 1))
        try ok(try write(["zebra"], "zebra", 2))
        refused(try write(["zebra"], "open", 3), .OBJSTORE_ERR_OUT_OF_RANGE)
        // Objects that were there get the first of the values.
        let path = folder.path + "/other"
        let first = try EnumerationTests.store(at: path, try EnumerationTests.schema(without: ["state"]))
        try writing(first.store) { tx in
            try ok(objstore_create(tx, first.cls, [first.ids("id")], [objstore_int(1)], 1, nil))
        }
        try ok(objstore_close(first.store))
        let second = try EnumerationTests.store(at: path, version: 2, try EnumerationTests.schema(["late", "early"]))
        defer { _ = objstore_close(second.store) }
        try writing(second.store) { tx in
            var object = objstore_object(), found = false, value = objstore_null()
            try ok(objstore_find(tx, second.cls, objstore_int(1), &object, &found))
            try ok(objstore_get(tx, object, second.ids("state"), nil, &value))
            #expect(string(value) == "late")
            #expect(
                refused(
                    objstore_create(tx, second.cls, [second.ids("id")], [objstore_int(2)], 1, nil),
                    .OBJSTORE_ERR_MISSING_VALUE
                ).contains("Task.state"))
        }
    }

    @Test func describing() throws {
        let schema = try EnumerationTests.schema()
        defer { _ = objstore_schema_close(schema) }
        let task = text("Task"), open = [objstore_string(text("open"))], one = [objstore_int(1)]
        func set(_ name: String, _ values: [objstore_value], _ flags: UInt32 = 0) -> objstore_status {
            objstore_schema_set_enumeration(schema, task, text(name), values, values.count, flags)
        }
        refused(set("nothing", open), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
        refused(set("state", one), .OBJSTORE_ERR_WRONG_TYPE)
        refused(set("state", [open[0], objstore_null()]), .OBJSTORE_ERR_WRONG_TYPE)
        refused(set("state", []), .OBJSTORE_ERR_INVALID_ARGUMENT)
        refused(set("state", open, 1), .OBJSTORE_ERR_WRONG_TYPE)
        refused(set("state", open, 2), .OBJSTORE_ERR_INVALID_ARGUMENT)
        refused(set("seen", open), .OBJSTORE_ERR_WRONG_TYPE)
        refused(objstore_schema_set_enumeration(schema, task, text("state"), nil, 1, 0), .OBJSTORE_ERR_INVALID_ARGUMENT)
        try ok(objstore_schema_add_property(schema, task, text("weight"), .OBJSTORE_KIND_DOUBLE, 0))
        #expect(refused(set("weight", [objstore_double(1)]), .OBJSTORE_ERR_WRONG_TYPE).contains("Task.weight"))
        try ok(
            objstore_schema_add_property(
                schema, task, text("count"), .OBJSTORE_KIND_INT, UInt32(OBJSTORE_PROPERTY_COUNTER)))
        refused(set("count", one), .OBJSTORE_ERR_INVALID_SCHEMA)
        // A default is one of them, whatever comes first.
        refused(
            objstore_schema_set_default(schema, task, text("state"), objstore_string(text("zebra"))),
            .OBJSTORE_ERR_OUT_OF_RANGE)
        try ok(objstore_schema_set_default(schema, task, text("state"), open[0]))
        refused(set("state", [objstore_string(text("zebra"))]), .OBJSTORE_ERR_OUT_OF_RANGE)
        try ok(set("state", [objstore_string(text("zebra")), open[0]]))
    }
}
