import CObjStore
import Testing

// Primary keys of several properties, primary keys that can be null, and counters, through the C interface.

private let keyOfSeveral = UInt32(OBJSTORE_INDEX_PRIMARY_KEY)

/// Readings of sensors: a sensor and a time name one.
private func readings(_ path: String? = nil, version: UInt64 = 1) throws -> NamedStore {
    try NamedStore(path) { schema in
        try ok(objstore_schema_add_class(schema, text("Reading")))
        try ok(objstore_schema_add_property(schema, text("Reading"), text("sensor"), .OBJSTORE_KIND_STRING, 0))
        try ok(
            objstore_schema_add_property(
                schema, text("Reading"), text("value"), .OBJSTORE_KIND_DOUBLE, UInt32(nullable)))
        try ok(objstore_schema_add_property(schema, text("Reading"), text("time"), .OBJSTORE_KIND_INT, 0))
        try ok(objstore_schema_add_index(schema, text("Reading"), [text("sensor"), text("time")], 2, keyOfSeveral))
        try ok(objstore_schema_add_class(schema, text("Report")))
        try ok(objstore_schema_add_link(schema, text("Report"), text("best"), text("Reading"), 0))
    }
}

private func string(_ value: String) -> objstore_value { objstore_string(text(value)) }

private extension NamedStore {
    var reading: objstore_class_id { classes["Reading"]! }

    var keyIndex: objstore_index_id {
        get throws {
            try CAPITests.reading(store) { view in
                var info = objstore_class_info()
                info.struct_size = UInt32(MemoryLayout<objstore_class_info>.size)
                try ok(objstore_class_get_info(view, reading, &info))
                #expect(info.primary_key == 0)
                return info.key_index
            }
        }
    }

    func put(
        _ tx: OpaquePointer, _ policy: objstore_policy, _ sensor: String, _ time: Int64, _ value: Double?
    ) throws -> objstore_outcome {
        var outcome = objstore_outcome.OBJSTORE_OUTCOME_UNCHANGED
        let ids = [self["Reading.value"], self["Reading.time"], self["Reading.sensor"]]
        try ok(
            objstore_upsert(
                tx, reading, policy, ids,
                [value.map { objstore_double($0) } ?? objstore_null(), objstore_int(time), string(sensor)], 3, nil,
                &outcome))
        return outcome
    }

    func find(_ view: OpaquePointer, _ sensor: String, _ time: Int64) throws -> objstore_object? {
        var object = objstore_object(), found = false
        try ok(objstore_find_by(view, try keyIndex, [string(sensor), objstore_int(time)], 2, &object, &found))
        return found ? object : nil
    }
}

@Suite struct KeyTests {
    @Test func keyOfSeveralProperties() throws {
        let folder = TestFolder()
        var db = try readings(folder.store)
        let sensor = db["Reading.sensor"], time = db["Reading.time"], value = db["Reading.value"]
        try writing(db.store) { tx in
            expect(try db.put(tx, .OBJSTORE_POLICY_MODIFIED, "a", 1, 1.5) == .OBJSTORE_OUTCOME_CREATED)
            expect(try db.put(tx, .OBJSTORE_POLICY_MODIFIED, "a", 2, 2.5) == .OBJSTORE_OUTCOME_CREATED)
            expect(try db.put(tx, .OBJSTORE_POLICY_MODIFIED, "b", 1, nil) == .OBJSTORE_OUTCOME_CREATED)
            expect(try db.put(tx, .OBJSTORE_POLICY_MODIFIED, "a", 1, 1.5) == .OBJSTORE_OUTCOME_UNCHANGED)
            expect(try db.put(tx, .OBJSTORE_POLICY_MODIFIED, "a", 1, 3.5) == .OBJSTORE_OUTCOME_CHANGED)
            expect(try db.put(tx, .OBJSTORE_POLICY_ALL, "a", 1, 3.5) == .OBJSTORE_OUTCOME_CHANGED)
            // Twice, by any way in.
            let again = [objstore_int(1), string("a"), objstore_double(9)], ids = [time, sensor, value]
            #expect(
                refused(objstore_create(tx, db.reading, ids, again, 3, nil), .OBJSTORE_ERR_DUPLICATE_KEY).contains(
                    "sensor = \"a\", time = 1"))
            #expect(
                refused(
                    objstore_upsert(tx, db.reading, .OBJSTORE_POLICY_ERROR, ids, again, 3, nil, nil),
                    .OBJSTORE_ERR_DUPLICATE_KEY
                ).contains("sensor = \"a\", time = 1"))
            _ = db.refused(tx, "Reading", ["sensor": "a", "time": 1], .OBJSTORE_ERR_DUPLICATE_KEY)
            // A part is missing.
            let message = refused(
                objstore_upsert(tx, db.reading, .OBJSTORE_POLICY_ALL, [sensor], [string("a")], 1, nil, nil),
                .OBJSTORE_ERR_MISSING_VALUE)
            #expect(message.contains("Reading.time"))
            refused(
                objstore_upsert(
                    tx, db.reading, .OBJSTORE_POLICY_ALL, [sensor, time], [string("a"), objstore_null()], 2, nil, nil),
                .OBJSTORE_ERR_NOT_NULLABLE)
            // It never changes.
            let object = try require(try db.find(tx, "a", 2))
            #expect(
                refused(objstore_set(tx, object, time, objstore_int(7)), .OBJSTORE_ERR_KEY_IMMUTABLE).contains(
                    "Reading.time is part of the primary key"))
            refused(
                objstore_set_row(tx, object, [value, sensor], [objstore_double(0), string("c")], 2),
                .OBJSTORE_ERR_KEY_IMMUTABLE)
            refused(objstore_increment(tx, object, time, 1, nil), .OBJSTORE_ERR_KEY_IMMUTABLE)
            try ok(
                objstore_set_row(
                    tx, object, [time, value, sensor], [objstore_int(2), objstore_double(8), string("a")], 3))
            expect(try db.value(tx, object, "Reading.value").data.real == 8)
            refused(
                objstore_set_from(tx, object, time, .OBJSTORE_POLICY_ALL, [objstore_int(5)], 1, nil),
                .OBJSTORE_ERR_KEY_IMMUTABLE)
            // One value is no key.
            var none = objstore_object()
            #expect(
                refused(objstore_find(tx, db.reading, string("a"), &none, nil), .OBJSTORE_ERR_INVALID_ARGUMENT)
                    .contains("Reading.(sensor, time)"))
            let long = String(repeating: "x", count: 1025)
            refused(
                objstore_create(tx, db.reading, [sensor, time], [string(long), objstore_int(1)], 2, nil),
                .OBJSTORE_ERR_VALUE_TOO_LARGE)
            try ok(
                objstore_create(
                    tx, db.reading, [sensor, time], [string(String(long.dropLast())), objstore_int(1)], 2, nil))
        }
        db.close()
        db = try readings(folder.store)
        try frozen(db.store) { view in
            expect(try db.count(view, "Reading") == 4)
            expect(try db.find(view, "b", 1) != nil)
            expect(try db.find(view, "b", 2) == nil)
        }
        try verify(db.store)
        db.close()
    }

    @Test func keyOfSeveralPropertiesInNestedValuesAndJSON() throws {
        let db = try readings()
        try writing(db.store) { tx in
            _ = try db.put(tx, .OBJSTORE_POLICY_ERROR, "a", 2, 1)
            _ = db.refused(
                tx, "Report", ["best": ["time": 2, "sensor": "a", "value": 11.0]], .OBJSTORE_ERR_DUPLICATE_KEY)
            refused(
                objstore_create_from(
                    tx, db.classes["Report"]!, .OBJSTORE_POLICY_ALL, 0, ([:] as Nested).flat, 1, nil, nil),
                .OBJSTORE_ERR_NO_PRIMARY_KEY)
            let object = try db.from(
                tx, "Reading", ["time": 2, "sensor": "a", "value": 11.0], .OBJSTORE_POLICY_MODIFIED)
            expect(try db.find(tx, "a", 2)?.key == object.key)
            expect(try db.value(tx, object, "Reading.value").data.real == 11)
            // A part of a key is a new object's where the rest is not given, which is missing then.
            expect(
                db.refused(tx, "Reading", ["sensor": "a"], .OBJSTORE_ERR_MISSING_VALUE, .OBJSTORE_POLICY_ALL).contains(
                    "time"))
            var report = objstore_object()
            try ok(objstore_create(tx, db.classes["Report"]!, [db["Report.best"]], [objstore_link(object)], 1, &report))
            var buffer = objstore_buffer_init(), json = objstore_text()
            defer { _ = objstore_buffer_free(&buffer) }
            try ok(objstore_to_json(tx, report, 0, 0, &buffer, &json))
            #expect(CAPITests.string(json) == #"{"best":{"$ref":"Reading","$id":{"sensor":"a","time":2}}}"#)
        }
        try verify(db.store)
        db.close()
    }

    @Test func keyOfSeveralPropertiesInColumns() throws {
        let db = try readings()
        func insert(
            _ tx: OpaquePointer, _ policy: objstore_policy, _ times: [Int64], _ sensors: String, _ values: [Double],
            _ counts: inout objstore_insert_counts
        ) -> objstore_status {
            let bytes = Array(sensors.utf8), offsets = (0...bytes.count).map { Int64($0) }
            return times.withUnsafeBytes { times in
                bytes.withUnsafeBytes { bytes in
                    values.withUnsafeBytes { values in
                        offsets.withUnsafeBufferPointer { offsets in
                            var columns = [
                                objstore_column_init(db["Reading.time"], .OBJSTORE_KIND_INT, times.baseAddress!),
                                objstore_column_init(db["Reading.sensor"], .OBJSTORE_KIND_STRING, bytes.baseAddress!),
                                objstore_column_init(db["Reading.value"], .OBJSTORE_KIND_DOUBLE, values.baseAddress!),
                            ]
                            columns[1].values_bytes = UInt64(bytes.count)
                            columns[1].offsets = offsets.baseAddress
                            return objstore_insert_rows(
                                tx, db.reading, policy, columns, 3, offsets.count - 1, nil, &counts)
                        }
                    }
                }
            }
        }
        try writing(db.store) { tx in
            var counts = objstore_insert_counts()
            // The same time of two sensors, the same sensor at two times.
            try ok(insert(tx, .OBJSTORE_POLICY_ERROR, [1, 1, 2], "aba", [1, 2, 3], &counts))
            #expect(counts.created == 3)
            #expect(
                refused(
                    insert(tx, .OBJSTORE_POLICY_ERROR, [5, 1], "ab", [1, 2], &counts), .OBJSTORE_ERR_DUPLICATE_KEY
                ).contains("row 1"))
            #expect(
                refused(
                    insert(tx, .OBJSTORE_POLICY_ERROR, [5, 6, 5], "aaa", [1, 2, 3], &counts),
                    .OBJSTORE_ERR_DUPLICATE_KEY
                ).contains("row 2"))
            expect(try db.count(tx, "Reading") == 3)
            // One is there and is another, one is there and is the same, one is new, and comes again.
            try ok(insert(tx, .OBJSTORE_POLICY_MODIFIED, [1, 2, 7, 7], "bacc", [9, 3, 4, 5], &counts))
            #expect(counts.created == 1 && counts.changed == 2 && counts.unchanged == 1)
            expect(try db.value(tx, try require(try db.find(tx, "c", 7)), "Reading.value").data.real == 5)
            expect(try db.value(tx, try require(try db.find(tx, "b", 1)), "Reading.value").data.real == 9)
        }
        try verify(db.store)
        db.close()
    }

    @Test func keyOfSeveralPropertiesIsDeclaredInFull() throws {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        func add(_ cls: String, _ name: String, _ kind: objstore_kind, _ flags: Int32 = 0) throws {
            try ok(objstore_schema_add_property(schema, text(cls), text(name), kind, UInt32(flags)))
        }
        func key(_ cls: String, _ names: String...) -> objstore_status {
            objstore_schema_add_index(schema, text(cls), names.map { text($0) }, names.count, keyOfSeveral)
        }
        for name in ["A", "B", "C"] { try ok(objstore_schema_add_class(schema, text(name))) }
        try add("A", "i", .OBJSTORE_KIND_INT)
        try add("A", "s", .OBJSTORE_KIND_STRING)
        try add("A", "n", .OBJSTORE_KIND_INT, nullable)
        try add("A", "d", .OBJSTORE_KIND_DOUBLE)
        try add("A", "c", .OBJSTORE_KIND_INT, Int32(OBJSTORE_PROPERTY_COUNTER))
        try ok(objstore_schema_add_link(schema, text("A"), text("l"), text("B"), 0))
        #expect(
            refused(key("A", "i", "n"), .OBJSTORE_ERR_INVALID_SCHEMA).contains(
                "A.n: part of a primary key cannot be null"))
        #expect(refused(key("A", "i", "d"), .OBJSTORE_ERR_INVALID_SCHEMA).contains("A.d: part of a primary key is"))
        #expect(refused(key("A", "l", "i"), .OBJSTORE_ERR_INVALID_SCHEMA).contains("A.l"))
        #expect(refused(key("A", "i", "c"), .OBJSTORE_ERR_INVALID_SCHEMA).contains("A.c: a counter"))
        try ok(key("A", "i", "s"))
        #expect(
            refused(key("A", "s", "i"), .OBJSTORE_ERR_INVALID_SCHEMA).contains(
                "the class has a primary key already: i, s"))
        refused(
            objstore_schema_add_property(schema, text("A"), text("k"), .OBJSTORE_KIND_INT, UInt32(primaryKey)),
            .OBJSTORE_ERR_INVALID_SCHEMA)
        refused(
            objstore_schema_set_class_flags(schema, text("A"), UInt32(OBJSTORE_CLASS_EMBEDDED)),
            .OBJSTORE_ERR_INVALID_SCHEMA)
        try add("B", "i", .OBJSTORE_KIND_INT)
        try add("B", "j", .OBJSTORE_KIND_INT)
        try ok(objstore_schema_set_class_flags(schema, text("B"), UInt32(OBJSTORE_CLASS_EMBEDDED)))
        refused(key("B", "i", "j"), .OBJSTORE_ERR_INVALID_SCHEMA)
        try add("C", "k", .OBJSTORE_KIND_INT, primaryKey)
        try add("C", "j", .OBJSTORE_KIND_INT)
        refused(key("C", "k", "j"), .OBJSTORE_ERR_INVALID_SCHEMA)
        // Counters are ints, and no keys.
        refused(
            objstore_schema_add_property(
                schema, text("B"), text("x"), .OBJSTORE_KIND_STRING, UInt32(OBJSTORE_PROPERTY_COUNTER)),
            .OBJSTORE_ERR_INVALID_SCHEMA)
        try ok(objstore_schema_add_class(schema, text("D")))
        refused(
            objstore_schema_add_property(
                schema, text("D"), text("x"), .OBJSTORE_KIND_INT, UInt32(OBJSTORE_PROPERTY_COUNTER) | UInt32(primaryKey)
            ), .OBJSTORE_ERR_INVALID_SCHEMA)
    }

    /// DOC_FEATURES §6, rule 6.
    @Test(
        "rule 6: a null primary key is a key",
        arguments: [objstore_kind.OBJSTORE_KIND_INT, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_UUID])
    func nullKey(_ kind: objstore_kind) throws {
        let folder = TestFolder()
        let cls = TestClass(
            name: "Thing", properties: [("id", kind, primaryKey | nullable), ("n", .OBJSTORE_KIND_INT, 0)])
        var some = objstore_value()
        some.kind = kind
        switch kind {
        case .OBJSTORE_KIND_INT: some = objstore_int(5)
        case .OBJSTORE_KIND_STRING: some = string("five")
        default:
            some = objstore_uuid_value(objstore_uuid(bytes: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
        }
        var store = try openStore(folder.store, [cls])
        let ids = try ClassOf(store, cls)
        try writing(store) { tx in
            expect(try ids.find(tx, objstore_null()) == nil)
            try ids.create(tx, ["id": some, "n": objstore_int(1)])
            try ids.create(tx, ["id": objstore_null(), "n": objstore_int(2)])
            refused(
                objstore_create(tx, ids.id, [ids["id"], ids["n"]], [objstore_null(), objstore_int(3)], 2, nil),
                .OBJSTORE_ERR_DUPLICATE_KEY)
            // Not given is null, too, in a new object.
            refused(objstore_create(tx, ids.id, [ids["n"]], [objstore_int(3)], 1, nil), .OBJSTORE_ERR_DUPLICATE_KEY)
            expect(
                try ids.upsert(tx, .OBJSTORE_POLICY_MODIFIED, ["id": objstore_null(), "n": objstore_int(2)])
                    == .OBJSTORE_OUTCOME_UNCHANGED)
            expect(
                try ids.upsert(tx, .OBJSTORE_POLICY_ALL, ["id": objstore_null(), "n": objstore_int(4)])
                    == .OBJSTORE_OUTCOME_CHANGED)
            let object = try require(try ids.find(tx, objstore_null()))
            expect(try ids.int(tx, object, "n") == 4)
            refused(objstore_set(tx, object, ids["id"], some), .OBJSTORE_ERR_KEY_IMMUTABLE)
            try ok(objstore_set(tx, object, ids["id"], objstore_null()))
            // Nor is it another key in an upsert.
            var outcome = objstore_outcome.OBJSTORE_OUTCOME_UNCHANGED
            try ok(objstore_upsert(tx, ids.id, .OBJSTORE_POLICY_ALL, [ids["n"]], [objstore_int(4)], 1, nil, &outcome))
            expect(outcome == .OBJSTORE_OUTCOME_CHANGED)
        }
        try frozen(store) { view in
            let object = try require(try ids.find(view, objstore_null()))
            expect(try ids.int(view, object, "n") == 4)
            expect(try ids.int(view, try require(try ids.find(view, some)), "n") == 1)
        }
        try verify(store)
        try ok(objstore_close(store))
        store = try openStore(folder.store, [cls])
        try writing(store) { tx in
            let object = try require(try ids.find(tx, objstore_null()))
            try ok(objstore_delete(tx, object))
            expect(try ids.find(tx, objstore_null()) == nil)
            try ids.create(tx, ["id": objstore_null(), "n": objstore_int(7)])
            expect(try ids.find(tx, objstore_null())?.key != object.key)
        }
        try verify(store)
        try ok(objstore_close(store))
        // It can become required if no object has null, and optional again.
        let required = TestClass(name: "Thing", properties: [("id", kind, primaryKey), ("n", .OBJSTORE_KIND_INT, 0)])
        #expect(throws: Failure.self) { try openStore(folder.store, [required], version: 2) }
        store = try openStore(folder.store, [cls])
        try writing(store) { tx in try ok(objstore_delete(tx, try require(try ids.find(tx, objstore_null())))) }
        try ok(objstore_close(store))
        store = try openStore(folder.store, [required], version: 2)
        try writing(store) { tx in
            refused(
                objstore_create(tx, ids.id, [ids["id"], ids["n"]], [objstore_null(), objstore_int(3)], 2, nil),
                .OBJSTORE_ERR_NOT_NULLABLE)
            var none = objstore_object()
            refused(objstore_find(tx, ids.id, objstore_null(), &none, nil), .OBJSTORE_ERR_WRONG_TYPE)
        }
        try verify(store)
        try ok(objstore_close(store))
    }

    /// Two nulls in columns are one object.
    @Test func nullKeysInColumns() throws {
        let cls = TestClass(
            name: "Thing",
            properties: [("id", .OBJSTORE_KIND_INT, primaryKey | nullable), ("n", .OBJSTORE_KIND_INT, 0)])
        let store = try openStore(nil, [cls]), ids = try ClassOf(store, cls)
        func insert(
            _ tx: OpaquePointer, _ policy: objstore_policy, _ valid: [UInt8], _ counts: inout objstore_insert_counts
        ) -> objstore_status {
            let keys: [Int64] = [1, 2, 3, 4], numbers: [Int64] = [10, 20, 30, 40]
            return keys.withUnsafeBytes { keys in
                numbers.withUnsafeBytes { numbers in
                    valid.withUnsafeBufferPointer { valid in
                        var columns = [
                            objstore_column_init(ids["id"], .OBJSTORE_KIND_INT, keys.baseAddress!),
                            objstore_column_init(ids["n"], .OBJSTORE_KIND_INT, numbers.baseAddress!),
                        ]
                        columns[0].validity = valid.baseAddress
                        return objstore_insert_rows(tx, ids.id, policy, columns, 2, 4, nil, &counts)
                    }
                }
            }
        }
        try writing(store) { tx in
            var counts = objstore_insert_counts()
            refused(insert(tx, .OBJSTORE_POLICY_ERROR, [0b1001], &counts), .OBJSTORE_ERR_DUPLICATE_KEY)
            expect(try ids.count(tx) == 0)
            try ok(insert(tx, .OBJSTORE_POLICY_ALL, [0b1001], &counts))
            #expect(counts.created == 3 && counts.changed == 1)
            expect(try ids.int(tx, try require(try ids.find(tx, objstore_null())), "n") == 30)
            try ok(insert(tx, .OBJSTORE_POLICY_MODIFIED, [0b1101], &counts))
            #expect(counts.created == 1 && counts.changed == 1 && counts.unchanged == 2)
            expect(try ids.int(tx, try require(try ids.find(tx, objstore_null())), "n") == 20)
        }
        try verify(store)
        try ok(objstore_close(store))
    }

    @Test func keyOfSeveralPropertiesByMigration() throws {
        let folder = TestFolder()
        let db = try readings(folder.store)
        try writing(db.store) { tx in
            for time in 0..<300 {
                _ = try db.put(tx, .OBJSTORE_POLICY_ERROR, "s\(time % 3)", Int64(time / 3), Double(time))
            }
        }
        db.close()
        func open(_ version: UInt64, migrates: Bool, _ key: [String], _ flags: UInt32) throws -> OpaquePointer {
            try openStore(folder.store, []) { config in
                let schema = try makeSchema([
                    TestClass(
                        name: "Reading",
                        properties: [
                            ("sensor", .OBJSTORE_KIND_STRING, 0), ("value", .OBJSTORE_KIND_DOUBLE, nullable),
                            ("time", .OBJSTORE_KIND_INT, 0),
                        ])
                ])
                defer { _ = objstore_schema_close(schema) }
                if !key.isEmpty {
                    try ok(objstore_schema_add_index(schema, text("Reading"), key.map { text($0) }, key.count, flags))
                }
                try ok(objstore_config_set_schema(config, schema, version))
                if migrates {
                    try ok(objstore_config_set_migration(config, { _, _, _, _, _, _ in .OBJSTORE_OK }, nil, nil))
                }
            }
        }
        // Another key, none, or only a unique index: by a migration.
        for key in [["time", "sensor"], []] {
            #expect(throws: Failure.self) { try open(2, migrates: false, key, keyOfSeveral) }
        }
        #expect(throws: Failure.self) {
            try open(2, migrates: false, ["sensor", "time"], UInt32(OBJSTORE_INDEX_UNIQUE))
        }
        try ok(objstore_close(try open(2, migrates: true, [], 0)))
        var store = try open(2, migrates: false, [], 0)
        try writing(store) { tx in
            let cls = try Names(tx).cls("Reading"), time = try Names(tx).property(cls, "time")
            var row = objstore_row(), more = false, object = objstore_object()
            try ok(objstore_row_init(tx, cls, &row))
            try ok(objstore_row_next(&row, &more))
            try ok(objstore_row_object(&row, &object))
            try ok(objstore_set(tx, object, time, objstore_int(1)))  // now two of sensor s0 at 1
        }
        try ok(objstore_close(store))
        do {
            _ = try open(3, migrates: true, ["time", "sensor"], keyOfSeveral)
            Issue.record("opened")
        } catch let failure as Failure {
            #expect(
                failure.status == .OBJSTORE_ERR_DUPLICATE_KEY
                    && failure.description.contains("time = 1, sensor = \"s0\""), "\(failure)")
        }
        store = try open(2, migrates: false, [], 0)
        try writing(store) { tx in
            let cls = try Names(tx).cls("Reading"), time = try Names(tx).property(cls, "time")
            var row = objstore_row(), more = false, object = objstore_object()
            try ok(objstore_row_init(tx, cls, &row))
            try ok(objstore_row_next(&row, &more))
            try ok(objstore_row_object(&row, &object))
            try ok(objstore_set(tx, object, time, objstore_int(1000)))
        }
        try ok(objstore_close(store))
        store = try open(3, migrates: true, ["time", "sensor"], keyOfSeveral)
        try verify(store)
        try reading(store) { view in
            let cls = try Names(view).cls("Reading")
            var info = objstore_class_info(), index = objstore_index_info()
            info.struct_size = UInt32(MemoryLayout<objstore_class_info>.size)
            index.struct_size = UInt32(MemoryLayout<objstore_index_info>.size)
            try ok(objstore_class_get_info(view, cls, &info))
            try ok(objstore_index_get_info(view, info.key_index, &index))
            #expect(index.flags == 3 && index.property_count == 2)
            var object = objstore_object(), found = false
            try ok(objstore_find_by(view, info.key_index, [objstore_int(1000), string("s0")], 2, &object, &found))
            #expect(found)
        }
        try ok(objstore_close(store))
    }

    @Test func counters() throws {
        let folder = TestFolder()
        let cls = TestClass(
            name: "Frog",
            properties: [
                ("flies", .OBJSTORE_KIND_INT, Int32(OBJSTORE_PROPERTY_COUNTER) | nullable),
                ("jumps", .OBJSTORE_KIND_INT, Int32(OBJSTORE_PROPERTY_COUNTER)),
            ],
            defaults: ["jumps": objstore_int(0)])
        var store = try openStore(folder.store, [cls])
        let ids = try ClassOf(store, cls)
        try writing(store) { tx in
            let frog = try ids.create(tx, [:])
            var sum: Int64 = 0
            try ok(objstore_increment(tx, frog, ids["jumps"], 3, &sum))
            try ok(objstore_increment(tx, frog, ids["jumps"], -1, &sum))
            #expect(sum == 2)
            refused(objstore_increment(tx, frog, ids["flies"], 1, &sum), .OBJSTORE_ERR_NULL_VALUE)
            try ok(objstore_set(tx, frog, ids["flies"], objstore_int(10)))
            try ok(objstore_increment(tx, frog, ids["flies"], 5, &sum))
            #expect(sum == 15)
            try ok(objstore_set(tx, frog, ids["flies"], objstore_int(1)))
            expect(try ids.int(tx, frog, "flies") == 1)
            try ok(objstore_set(tx, frog, ids["flies"], objstore_null()))
        }
        try reading(store) { view in
            var info = objstore_property_info()
            info.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
            try ok(objstore_property_get_info(view, ids["flies"], &info))
            #expect(
                info.flags == UInt32(OBJSTORE_PROPERTY_COUNTER) | UInt32(nullable) && info.kind == .OBJSTORE_KIND_INT)
        }
        try ok(objstore_close(store))
        // It is distinguished from a plain number, and can become one.
        let plain = TestClass(
            name: "Frog", properties: [("flies", .OBJSTORE_KIND_INT, nullable), ("jumps", .OBJSTORE_KIND_INT, 0)],
            defaults: ["jumps": objstore_int(0)])
        do {
            _ = try openStore(folder.store, [plain])
            Issue.record("opened")
        } catch let failure as Failure {
            #expect(
                failure.status == .OBJSTORE_ERR_SCHEMA_MISMATCH
                    && failure.description.contains("Frog.flies: it is a counter in the file"), "\(failure)")
        }
        store = try openStore(folder.store, [plain], version: 2)
        try verify(store)
        try ok(objstore_close(store))
    }
}

/// Columns without the generated ones.
@Suite struct GeneratedColumnTests {
    @Test(arguments: [5, 20_000]) func generatedWhereNotGiven(count: Int) throws {
        let generated = Int32(OBJSTORE_PROPERTY_GENERATED)
        let cls = TestClass(
            name: "Thing",
            properties: [
                ("id", .OBJSTORE_KIND_INT, primaryKey | generated), ("tag", .OBJSTORE_KIND_UUID, generated),
                ("n", .OBJSTORE_KIND_INT, 0),
            ])
        let store = try openStore(nil, [cls]), ids = try ClassOf(store, cls)
        defer { _ = objstore_close(store) }
        func insert(
            _ tx: OpaquePointer, _ names: [String], _ policy: objstore_policy, _ columns: [[Int64]],
            _ counts: inout objstore_insert_counts
        ) -> objstore_status {
            let memory = columns.map { column in
                let memory = UnsafeMutablePointer<Int64>.allocate(capacity: column.count)
                memory.initialize(from: column, count: column.count)
                return memory
            }
            defer { for block in memory { block.deallocate() } }
            let given = zip(names, memory).map { objstore_column_init(ids[$0], .OBJSTORE_KIND_INT, $1) }
            return objstore_insert_rows(tx, ids.id, policy, given, given.count, columns[0].count, nil, &counts)
        }
        func tag(_ tx: OpaquePointer, _ object: objstore_object) throws -> [UInt8] {
            var value = objstore_null()
            try ok(objstore_get(tx, object, ids["tag"], nil, &value))
            return withUnsafeBytes(of: value.data.uuid.bytes) { Array($0) }
        }
        try writing(store) { tx in
            var counts = objstore_insert_counts()
            try ids.create(tx, ["id": objstore_int(100), "n": objstore_int(-1)])
            try ok(insert(tx, ["n"], .OBJSTORE_POLICY_ERROR, [Array(0..<Int64(count))], &counts))
            #expect(counts.created == UInt64(count))
            // Above all that there are, in the order of the rows; and so on with the next one.
            var tags: Set<[UInt8]> = []
            for row in 0..<count {
                let object = try require(try ids.find(tx, objstore_int(101 + Int64(row))))
                expect(try ids.int(tx, object, "n") == Int64(row))
                tags.insert(try tag(tx, object))
            }
            #expect(tags.count == count)
            let next = try ids.create(tx, ["n": objstore_int(-2)])
            expect(try ids.int(tx, next, "id") == 101 + Int64(count))
            // An object that is there keeps what it has.
            let there = try require(try ids.find(tx, objstore_int(101))), before = try tag(tx, there)
            try ok(insert(tx, ["id", "n"], .OBJSTORE_POLICY_ALL, [[101, 1 << 40], [7, 8]], &counts))
            #expect(counts.created == 1 && counts.changed == 1)
            expect(try tag(tx, there) == before && ids.int(tx, there, "n") == 7)
            expect(try tag(tx, try require(try ids.find(tx, objstore_int(1 << 40)))) != before)
            // A policy, and no key: all are new.
            try ok(insert(tx, ["n"], .OBJSTORE_POLICY_MODIFIED, [[1, 2]], &counts))
            #expect(counts.created == 2)
            expect(try ids.int(tx, try require(try ids.find(tx, objstore_int((1 << 40) + 2))), "n") == 2)
            // No more can be made than there are.
            try ids.create(tx, ["id": objstore_int(.max - 1), "n": objstore_int(0)])
            refused(insert(tx, ["n"], .OBJSTORE_POLICY_ERROR, [[1, 2]], &counts), .OBJSTORE_ERR_OUT_OF_RANGE)
            expect(try ids.count(tx) == count + 6)
        }
        try verify(store)
    }
}

/// The store's own counters are not moved by keys of users, whatever becomes of these.
@Suite struct GeneratedKeyTests {
    private static let things = TestClass(
        name: "Thing",
        properties: [
            ("id", .OBJSTORE_KIND_INT, primaryKey | Int32(OBJSTORE_PROPERTY_GENERATED)),
            ("n", .OBJSTORE_KIND_INT, nullable),
        ])

    private func id(_ tx: OpaquePointer, _ cls: ClassOf, given: Int64? = nil) throws -> Int64 {
        let object = given == nil ? try cls.create(tx, [:]) : try cls.create(tx, ["id": objstore_int(given!)])
        return try cls.int(tx, object, "id")
    }

    @Test(arguments: [Int64.max, Int64.max - 1, 1 << 62, (1 << 62) - 1, (1 << 62) - 2, (1 << 61) + 1] as [Int64])
    func largeKeys(key: Int64) throws {
        let folder = TestFolder()
        var store = try openStore(folder.store, [Self.things])
        var cls = try ClassOf(store, Self.things)
        // Neither what is cancelled nor what a savepoint undoes moves anything.
        for _ in 0..<2 {
            var tx: OpaquePointer?
            try ok(objstore_begin(store, &tx))
            expect(try id(tx!, cls, given: key) == key)
            try ok(objstore_cancel(tx))
        }
        try writing(store) { tx in
            var savepoint: objstore_savepoint = 0
            try ok(objstore_savepoint_begin(tx, &savepoint))
            expect(try id(tx, cls, given: key) == key)
            try ok(objstore_savepoint_rollback(tx, savepoint))
            expect(try id(tx, cls) == 1)
        }
        // While it is there, the next is above it, as long as there is one.
        try writing(store) { tx in
            expect(try id(tx, cls, given: key) == key)
            for next in 1..<4 {
                if key <= .max - Int64(next) {
                    expect(try id(tx, cls) == key + Int64(next))
                } else {
                    let message = refused(objstore_create(tx, cls.id, nil, nil, 0, nil), .OBJSTORE_ERR_OUT_OF_RANGE)
                    #expect(
                        message.hasSuffix(
                            "Thing.id: no key can be generated, since there is one of 9223372036854775807"))
                }
            }
            // Given ones continue, and so does the class.
            expect(try id(tx, cls, given: 7) == 7)
        }
        try writing(store) { tx in try ok(objstore_delete_all(tx, cls.id, nil)) }
        for _ in 0..<2 {
            try ok(objstore_close(store))
            store = try openStore(folder.store, [Self.things])
            cls = try ClassOf(store, Self.things)
            try writing(store) { tx in
                let first = try id(tx, cls)
                expect(first > 7 && first < 100)
                expect(try id(tx, cls) == first + 1)
            }
            try verify(store)
        }
        try ok(objstore_close(store))
    }

    /// A key that was generated does not come again, though its object is deleted, the store closed or copied.
    @Test func noKeyComesTwice() throws {
        let folder = TestFolder()
        var store = try openStore(folder.store, [Self.things])
        var cls = try ClassOf(store, Self.things)
        try writing(store) { tx in
            expect(try id(tx, cls, given: 1000) == 1000 && id(tx, cls) == 1001)
            try ok(objstore_delete_all(tx, cls.id, nil))
            expect(try id(tx, cls) == 1002)
            try ok(objstore_delete_all(tx, cls.id, nil))
        }
        let view = try liveView(store)
        try ok(objstore_copy(view, text(folder.path + "/copy"), nil, nil, nil))
        try ok(objstore_view_close(view))
        try ok(objstore_close(store))
        for (path, wanted) in [(folder.store, Int64(1003)), (folder.path + "/copy", 1003)] {
            store = try openStore(path, [Self.things])
            cls = try ClassOf(store, Self.things)
            try writing(store) { tx in expect(try id(tx, cls) == wanted) }
            try ok(objstore_close(store))
        }
    }
}
