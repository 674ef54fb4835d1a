import CObjStore
import Testing

// Properties that are dropped and renamed, through the C interface.

private let unique: Int32 = 8

private func person(_ properties: [(name: String, kind: objstore_kind, flags: Int32)]) -> TestClass {
    TestClass(name: "Person", properties: properties)
}

private let first = person([
    ("id", .OBJSTORE_KIND_INT, primaryKey), ("nick", .OBJSTORE_KIND_STRING, nullable | indexed),
    ("name", .OBJSTORE_KIND_STRING, unique),
    ("age", .OBJSTORE_KIND_INT, indexed),
])
private let second = person([
    ("key", .OBJSTORE_KIND_INT, primaryKey), ("fullName", .OBJSTORE_KIND_STRING, unique),
    ("age", .OBJSTORE_KIND_INT, indexed),
])
private let formerNames = [("key", "id"), ("fullName", "title"), ("fullName", "name")]

private func open(
    _ path: String, _ cls: TestClass, former: [(String, String)] = [], index: [String] = [], version: UInt64
) throws -> OpaquePointer {
    try openStore(path, []) { config in
        let schema = try makeSchema([cls])
        defer { _ = objstore_schema_close(schema) }
        for (name, old) in former {
            try ok(objstore_schema_add_former_name(schema, text("Person"), text(name), text(old)))
        }
        if !index.isEmpty {
            try ok(objstore_schema_add_index(schema, text("Person"), index.map { text($0) }, index.count, 0))
        }
        try ok(objstore_config_set_schema(config, schema, version))
    }
}

private func indexes(_ view: OpaquePointer, _ cls: objstore_class_id) throws -> Int {
    var count = 0
    try ok(objstore_index_count(view, cls, &count))
    return count
}

@Test func propertiesAreDroppedAndRenamed() throws {
    let folder = TestFolder()
    let store = try open(folder.store, first, index: ["nick", "age"], version: 1)
    let old = try ClassOf(store, first)
    var objects: [objstore_object] = []
    try writing(store) { tx in
        for id in 0..<20 as Range<Int64> {
            objects.append(
                try old.create(
                    tx,
                    [
                        "id": objstore_int(id), "nick": objstore_string(text("n\(id)")),
                        "name": objstore_string(text("name \(id)")), "age": objstore_int(id % 3),
                    ]))
        }
    }
    let before = try liveView(store)
    try ok(objstore_view_refresh(before, nil))
    #expect(try indexes(before, old.id) == 5)

    // Nothing of it with the version that the file has.
    func expectMismatch(_ property: String, _ cls: TestClass, _ former: [(String, String)], _ version: UInt64) {
        do {
            _ = try open(folder.store, cls, former: former, version: version)
            Issue.record("\(property): accepted")
        } catch let failure as Failure {
            #expect(failure.status == .OBJSTORE_ERR_SCHEMA_MISMATCH, "\(failure)")
            var error = objstore_error_init()
            #expect(objstore_last_error(&error) == .OBJSTORE_OK)
            #expect(string(error.class_name) == "Person" && string(error.property_name) == property, "\(failure)")
        } catch { Issue.record("\(error)") }
    }
    expectMismatch("nick", second, formerNames, 1)
    expectMismatch(
        "age", person([("id", .OBJSTORE_KIND_INT, primaryKey), ("age", .OBJSTORE_KIND_STRING, indexed)]), [], 2)
    expectMismatch(
        "name", person([("id", .OBJSTORE_KIND_INT, primaryKey), ("name", .OBJSTORE_KIND_STRING, unique)]),
        [("name", "nick")], 2)

    let newer = try open(folder.store, second, former: formerNames, version: 2)
    let new = try ClassOf(newer, second)
    #expect(new["key"] == old["id"] && new["fullName"] == old["name"] && new["age"] == old["age"])
    // The view from before stays on its version until it is refreshed.
    #expect(try old.int(before, objects[7], "id") == 7)
    var count: UInt64 = 0
    try ok(countWhere(before, old.id, old["nick"], .OBJSTORE_EQUAL, objstore_string(text("n7")), &count))
    #expect(count == 1)
    try ok(objstore_view_refresh(before, nil))
    refused(
        countWhere(before, old.id, old["nick"], .OBJSTORE_EQUAL, objstore_string(text("n7")), &count),
        .OBJSTORE_ERR_NO_SUCH_PROPERTY)
    try ok(countWhere(before, old.id, old["name"], .OBJSTORE_EQUAL, objstore_string(text("name 7")), &count))
    #expect(try count == 1 && old.int(before, objects[7], "age") == 1 && indexes(before, old.id) == 3)
    var info = objstore_property_info()
    info.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
    try ok(objstore_property_get_info(before, old["name"], &info))
    #expect(string(info.name) == "fullName" && info.flags == UInt32(unique))
    // What its schema has is not there any more; a handle without one continues to write what is left, by the ids it
    // knows.
    var none: OpaquePointer?
    refused(objstore_begin(store, &none), .OBJSTORE_ERR_SCHEMA_MISMATCH)
    let unknowing = try openStore(folder.store, [])
    defer { _ = objstore_close(unknowing) }
    try writing(unknowing) { tx in
        refused(
            objstore_create(tx, old.id, [old["id"], old["nick"]], [objstore_int(90), objstore_null()], 2, nil),
            .OBJSTORE_ERR_NO_SUCH_PROPERTY)
        refused(
            objstore_create(
                tx, old.id, [old["id"], old["name"], old["age"]],
                [objstore_int(90), objstore_string(text("name 3")), objstore_int(1)], 3, nil),
            .OBJSTORE_ERR_DUPLICATE_KEY)
        try old.create(tx, ["id": objstore_int(90), "name": objstore_string(text("x")), "age": objstore_int(1)])
    }
    _ = objstore_view_close(before)
    try ok(objstore_close(newer))
    try ok(objstore_close(store))

    // The former names stay in the program; a property of a dropped one's name is another one.
    let third = try open(
        folder.store, person(second.properties + [("nick", .OBJSTORE_KIND_STRING, nullable)]), former: formerNames,
        version: 3)
    try reading(third) { view in
        var id: objstore_property_id = 0
        try ok(objstore_find_property(view, new.id, text("nick"), &id))
        #expect(id != old["nick"])
        try ok(countWhere(view, new.id, id, .OBJSTORE_EQUAL, objstore_null(), &count))
        #expect(count == 21)
    }
    try ok(objstore_close(third))
}

@Test func formerNamesThatCannotBe() throws {
    let schema = try makeSchema([second])
    defer { _ = objstore_schema_close(schema) }
    func add(_ cls: String, _ name: String, _ former: String) -> objstore_status {
        objstore_schema_add_former_name(schema, text(cls), text(name), text(former))
    }
    refused(add("Dog", "key", "id"), .OBJSTORE_ERR_NO_SUCH_CLASS)
    refused(add("Person", "id", "key"), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
    refused(add("Person", "key", "1"), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(add("Person", "key", "age"), .OBJSTORE_ERR_INVALID_SCHEMA)
    try ok(add("Person", "key", "id"))
    try ok(add("Person", "key", "id"))
    try ok(add("Person", "key", "number"))
    refused(add("Person", "age", "id"), .OBJSTORE_ERR_INVALID_SCHEMA)
    #expect(
        refused(
            objstore_schema_add_property(schema, text("Person"), text("id"), .OBJSTORE_KIND_INT, 0),
            .OBJSTORE_ERR_INVALID_SCHEMA
        ).contains("key"))
    refused(
        objstore_schema_add_link(schema, text("Person"), text("number"), text("Person"), 0),
        .OBJSTORE_ERR_INVALID_SCHEMA)
}
