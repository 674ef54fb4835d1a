import CObjStore
import Testing

private let everything = TestClass(
    name: "Everything",
    properties: [
        ("id", .OBJSTORE_KIND_STRING, primaryKey), ("flag", .OBJSTORE_KIND_BOOL, nullable),
        ("number", .OBJSTORE_KIND_INT, nullable | indexed),
        ("real", .OBJSTORE_KIND_DOUBLE, nullable), ("text", .OBJSTORE_KIND_STRING, nullable),
        ("data", .OBJSTORE_KIND_BINARY, nullable),
        ("time", .OBJSTORE_KIND_TIMESTAMP, nullable),
    ])

private let bytes: [UInt8] = [0, 1, 255]

@Test func allTypesAndNullsSurviveReopening() throws {
    let folder = TestFolder()
    var store = try openStore(folder.store, [everything])
    var cls = try ClassOf(store, everything)
    try bytes.withUnsafeBufferPointer { bytes in
        try writing(store) { tx in
            try cls.create(
                tx,
                [
                    "id": objstore_string(text("full")), "flag": objstore_bool(true), "number": objstore_int(.min),
                    "real": objstore_double(-0.0),
                    "text": objstore_string(text("Zürich\u{0}🐕")), "data": objstore_binary(bytes.baseAddress, 3),
                    "time": objstore_time(-5, 999_999_999),
                ])
            try cls.create(tx, ["id": objstore_string(text("empty"))])
            try cls.create(
                tx,
                [
                    "id": objstore_string(text("blank")), "text": objstore_string(text("")),
                    "data": objstore_binary(nil, 0),
                ])
        }
    }
    for _ in 0..<2 {
        try frozen(store) { view in
            let full = try require(cls.find(view, objstore_string(text("full"))))
            let names = ["flag", "number", "real", "text", "data", "time"]
            var values = [objstore_value](repeating: objstore_null(), count: 6)
            try ok(objstore_get_row(view, full, names.map { cls[$0] }, 6, nil, &values))
            #expect(values[0].data.boolean && values[0].kind == .OBJSTORE_KIND_BOOL)
            #expect(values[1].data.integer == .min)
            #expect(values[2].data.real == 0 && values[2].data.real.sign == .minus)
            #expect(string(values[3]) == "Zürich\u{0}🐕")
            #expect(
                Array(UnsafeBufferPointer(start: values[4].data.binary.bytes, count: Int(values[4].data.binary.length)))
                    == bytes)
            #expect(values[5].data.timestamp.seconds == -5 && values[5].data.timestamp.nanoseconds == 999_999_999)
            let empty = try require(cls.find(view, objstore_string(text("empty"))))
            try ok(objstore_get_row(view, empty, names.map { cls[$0] }, 6, nil, &values))
            #expect(values.allSatisfy { $0.kind == .OBJSTORE_KIND_NULL })
            let blank = try require(cls.find(view, objstore_string(text("blank"))))
            try ok(objstore_get_row(view, blank, names.map { cls[$0] }, 6, nil, &values))
            #expect(string(values[3]) == "" && values[3].data.text.bytes != nil)
            #expect(
                values[4].kind == .OBJSTORE_KIND_BINARY && values[4].data.binary.length == 0
                    && values[4].data.binary.bytes != nil)
        }
        try verify(store)
        try ok(objstore_close(store))
        store = try openStore(folder.store, [everything])
        cls = try ClassOf(store, everything)
    }
    try ok(objstore_close(store))
}

@Test func upsertPolicies() throws {
    let store = try openStore(nil, [persons])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, persons)
    try writing(store) { tx in
        let jones: KeyValuePairs = ["id": objstore_int(1), "name": objstore_string(text("Jones"))]
        expect(try cls.upsert(tx, .OBJSTORE_POLICY_ERROR, jones) == .OBJSTORE_OUTCOME_CREATED)
        #expect(throws: Failure.self) { try cls.upsert(tx, .OBJSTORE_POLICY_ERROR, jones) }
        expect(try cls.upsert(tx, .OBJSTORE_POLICY_MODIFIED, jones) == .OBJSTORE_OUTCOME_UNCHANGED)
        expect(try cls.upsert(tx, .OBJSTORE_POLICY_ALL, jones) == .OBJSTORE_OUTCOME_CHANGED)
        expect(
            try cls.upsert(
                tx, .OBJSTORE_POLICY_MODIFIED, ["name": objstore_string(text("Bowie")), "id": objstore_int(1)])
                == .OBJSTORE_OUTCOME_CHANGED)
        let one = try require(cls.find(tx, objstore_int(1)))
        expect(try cls.string(tx, one, "name") == "Bowie")
        // What is not given stays.
        expect(
            try cls.upsert(tx, .OBJSTORE_POLICY_ALL, ["id": objstore_int(1), "nick": objstore_string(text("D"))])
                == .OBJSTORE_OUTCOME_CHANGED)
        expect(try cls.string(tx, one, "name") == "Bowie" && cls.string(tx, one, "nick") == "D")
        let name = cls["name"]
        var value = objstore_string(text("x"))
        #expect(
            refused(
                objstore_upsert(tx, cls.id, .OBJSTORE_POLICY_ALL, [name], &value, 1, nil, nil),
                .OBJSTORE_ERR_MISSING_VALUE
            ).contains("Person.id"))
        #expect(
            refused(
                objstore_upsert(tx, cls.id, .OBJSTORE_POLICY_ALL, [cls["id"]], [objstore_int(2)], 1, nil, nil),
                .OBJSTORE_ERR_MISSING_VALUE
            ).contains("Person.name"))
        expect(try cls.count(tx) == 1)
    }
    // Nothing differs: not even a new version.
    var before: UInt64 = 0, after: UInt64 = 0
    try reading(store) { try ok(objstore_view_version($0, &before)) }
    var tx: OpaquePointer?
    try ok(objstore_begin(store, &tx))
    expect(
        try cls.upsert(tx!, .OBJSTORE_POLICY_MODIFIED, ["id": objstore_int(1), "name": objstore_string(text("Bowie"))])
            == .OBJSTORE_OUTCOME_UNCHANGED)
    try ok(objstore_commit(tx, &after))
    #expect(before == after)
    try verify(store)
}

@Test func failingSetOfSeveralChangesNothing() throws {
    let store = try openStore(nil, [persons])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, persons)
    try writing(store) { tx in
        let one = try cls.create(
            tx, ["id": objstore_int(1), "name": objstore_string(text("A")), "nick": objstore_string(text("N"))])
        refused(
            objstore_set_row(tx, one, [cls["name"], cls["nick"]], [objstore_string(text("B")), objstore_int(3)], 2),
            .OBJSTORE_ERR_WRONG_TYPE)
        refused(
            objstore_set_row(tx, one, [cls["name"], cls["id"]], [objstore_string(text("B")), objstore_int(2)], 2),
            .OBJSTORE_ERR_KEY_IMMUTABLE)
        expect(try cls.string(tx, one, "name") == "A" && cls.string(tx, one, "nick") == "N")
        // The key's own value is no change.
        try ok(objstore_set_row(tx, one, [cls["name"], cls["id"]], [objstore_string(text("B")), objstore_int(1)], 2))
        expect(try cls.string(tx, one, "name") == "B")
        refused(objstore_set(tx, one, cls["id"], objstore_int(2)), .OBJSTORE_ERR_KEY_IMMUTABLE)
        try ok(objstore_set(tx, one, cls["id"], objstore_int(1)))
    }
    try verify(store)
}

@Test func incrementCountsAndOverflows() throws {
    let counters = TestClass(name: "Counter", properties: [("n", .OBJSTORE_KIND_INT, nullable | indexed)])
    let store = try openStore(nil, [counters])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, counters)
    try writing(store) { tx in
        let counter = try cls.create(tx, ["n": objstore_int(.max - 1)]), none = try cls.create(tx, [:])
        var sum: Int64 = 0
        try ok(objstore_increment(tx, counter, cls["n"], 1, &sum))
        #expect(sum == .max)
        refused(objstore_increment(tx, counter, cls["n"], 1, &sum), .OBJSTORE_ERR_OUT_OF_RANGE)
        refused(objstore_increment(tx, none, cls["n"], 1, &sum), .OBJSTORE_ERR_NULL_VALUE)
        expect(try cls.int(tx, counter, "n") == .max)
        var count: UInt64 = 0
        try ok(countWhere(tx, cls.id, cls["n"], .OBJSTORE_EQUAL, objstore_int(.max), &count))
        #expect(count == 1)
    }
    try verify(store)
}

@Test func lastErrorTellsClassPropertyAndRow() throws {
    let store = try openStore(nil, [persons])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, persons)
    try writing(store) { tx in
        refused(
            objstore_create(tx, cls.id, [cls["id"], cls["name"]], [objstore_int(1), objstore_null()], 2, nil),
            .OBJSTORE_ERR_NOT_NULLABLE)
        var error = objstore_error_init()
        try ok(objstore_last_error(&error))
        #expect(
            error.status == .OBJSTORE_ERR_NOT_NULLABLE && string(error.class_name) == "Person"
                && string(error.property_name) == "name")
        #expect(error.position == -1 && string(error.message) == String(cString: objstore_last_message()))
        // A program compiled with a shorter structure.
        var short = objstore_error_init()
        short.struct_size = 24
        short.position = 77
        try ok(objstore_last_error(&short))
        #expect(short.status == .OBJSTORE_ERR_NOT_NULLABLE && short.position == 77 && short.struct_size == 24)
        #expect(objstore_fail(42, text("no such customer")) == .OBJSTORE_ERR_CALLBACK)
        try ok(objstore_last_error(&error))
        #expect(error.callback_code == 42 && string(error.message) == "no such customer")
    }
    refused(objstore_config_set_path(nil, text("x")), .OBJSTORE_ERR_INVALID_ARGUMENT)
    #expect(String(cString: objstore_status_name(.OBJSTORE_ERR_IO)) == "OBJSTORE_ERR_IO")
    #expect(String(cString: objstore_status_name(objstore_status(rawValue: 12345)!)) == "unknown status")
}

@Test func rowsFollowTheirView() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, dogs)
    var objects: [objstore_object] = []
    try writing(store) { tx in
        for index in 0..<5 {
            objects.append(
                try cls.create(tx, ["name": objstore_string(text("d\(index)")), "age": objstore_int(Int64(index))]))
        }
    }
    try reading(store) { view in
        var row = objstore_row(), more = false, age: Int64 = 0
        try ok(objstore_row_init(view, cls.id, &row))
        refused(objstore_row_int(&row, cls["age"], &age, nil), .OBJSTORE_ERR_NOT_POSITIONED)
        try ok(objstore_row_next(&row, &more))
        try ok(objstore_row_next(&row, &more))
        try writing(store) { tx in
            try ok(objstore_delete(tx, objects[1]))
            try ok(objstore_set(tx, objects[2], cls["age"], objstore_int(20)))
        }
        try ok(objstore_row_int(&row, cls["age"], &age, nil))
        #expect(age == 1, "the view has not moved")
        try ok(objstore_view_refresh(view, &more))
        refused(objstore_row_int(&row, cls["age"], &age, nil), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        try ok(objstore_row_next(&row, &more))
        try ok(objstore_row_int(&row, cls["age"], &age, nil))
        #expect(more && age == 20)
        refused(objstore_row_seek(&row, objects[1]), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        refused(objstore_row_int(&row, cls["age"], &age, nil), .OBJSTORE_ERR_NOT_POSITIONED)
        try ok(objstore_row_seek(&row, objects[4]))
        try ok(objstore_row_next(&row, &more))
        #expect(!more)
        try ok(objstore_row_next(&row, &more))
        #expect(!more)
    }
    // A transaction that walks and writes: what it creates is visited, what it deletes is not.
    try writing(store) { tx in
        var row = objstore_row(), more = false, seen: [Int64] = []
        try ok(objstore_row_init(tx, cls.id, &row))
        while true {
            try ok(objstore_row_next(&row, &more))
            if !more { break }
            var age: Int64 = 0
            try ok(objstore_row_int(&row, cls["age"], &age, nil))
            seen.append(age)
            if age == 0 { try ok(objstore_delete(tx, objects[3])) }
            if age == 20 { try cls.create(tx, ["name": objstore_string(text("new")), "age": objstore_int(100)]) }
        }
        #expect(seen == [0, 20, 4, 100])
    }
    try verify(store)
}

@Test func textIsLentWhereTheHeaderSaysSo() throws {
    let store = try openStore(nil, [persons])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, persons)
    let long = String(repeating: "é", count: 10_000)
    let one = try writing(store) { tx in
        let one = try cls.create(tx, ["id": objstore_int(1), "name": objstore_string(text(long))])
        var value = objstore_value()
        try ok(objstore_get(tx, one, cls["name"], nil, &value))
        #expect(string(value) == long)
        return one
    }
    try reading(store) { view in
        var value = objstore_value()
        refused(objstore_get(view, one, cls["name"], nil, &value), .OBJSTORE_ERR_WRONG_VIEW)
        // A null needs no memory.
        try ok(objstore_get(view, one, cls["nick"], nil, &value))
        #expect(value.kind == .OBJSTORE_KIND_NULL)
        var small = [UInt8](repeating: 0, count: 8)
        try small.withUnsafeMutableBytes { memory in
            var buffer = objstore_buffer_over(memory.baseAddress, memory.count)
            try ok(objstore_get(view, one, cls["name"], &buffer, &value))
            #expect(buffer.owner == 1 && string(value) == long && value.data.text.bytes![20_000] == 0)
            try ok(objstore_buffer_free(&buffer))
            #expect(buffer.bytes == nil && buffer.capacity == 0)
        }
    }
}
