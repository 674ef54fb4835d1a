import CObjStore
import CSystem
import Testing

private func info(_ store: OpaquePointer) throws -> objstore_info {
    var info = objstore_info()
    info.struct_size = UInt32(MemoryLayout<objstore_info>.size)
    try ok(objstore_get_info(store, &info))
    return info
}

private func statistics(_ store: OpaquePointer) throws -> objstore_statistics {
    var statistics = objstore_statistics()
    statistics.struct_size = UInt32(MemoryLayout<objstore_statistics>.size)
    try ok(objstore_get_statistics(store, &statistics))
    return statistics
}

private func status(_ body: () throws -> Void) -> objstore_status {
    do { try body() } catch let failure as Failure { return failure.status } catch { return .OBJSTORE_ERR_INTERNAL }
    return .OBJSTORE_OK
}

// MARK: Schemas

/// Ruling X14, through each way to begin.
@Test func anOutdatedSchemaIsReportedAtTheNextBegin() throws {
    let folder = TestFolder()
    let store = try openStore(folder.store, [persons, dogs]), unknowing = try openStore(folder.store, [])
    let more = TestClass(name: "Person", properties: persons.properties + [("age", .OBJSTORE_KIND_INT, nullable)])
    func open(_ cls: TestClass, version: UInt64) throws {
        try ok(objstore_close(try openStore(folder.store, [cls], version: version)))
    }
    let never: objstore_write_body = { _, _ in
        Issue.record("the body was called")
        return .OBJSTORE_OK
    }
    try open(more, version: 2)
    try writing(store) { tx in
        let names = Names(tx), cls = try names.cls("Person")
        try ok(
            objstore_create(
                tx, cls, [try names.property(cls, "id"), try names.property(cls, "name")],
                [objstore_int(1), objstore_string(text("a"))], 2, nil))
    }
    let less = TestClass(name: "Person", properties: Array(persons.properties.dropLast()))
    try open(less, version: 3)
    var tx: OpaquePointer?
    let ways: [() -> objstore_status] = [
        { objstore_begin(store, &tx) }, { objstore_try_begin(store, &tx) }, { objstore_begin_within(store, 0, &tx) },
        { objstore_write(store, never, nil, nil) },
    ]
    for begin in ways + ways {
        let message = refused(begin(), .OBJSTORE_ERR_SCHEMA_MISMATCH)
        #expect(
            message
                == """
                Person.nick was dropped: the store was opened with schema version 3 meanwhile, and this program uses \
                version 1
                """
        )
        var error = objstore_error_init()
        try ok(objstore_last_error(&error))
        #expect(string(error.class_name) == "Person" && string(error.property_name) == "nick" && tx == nil)
    }
    // Reading continues, and so do handles without a schema of their own.
    let view = try liveView(store)
    #expect(try Names(view).cls("Person") != 0)
    try ok(objstore_view_close(view))
    try writing(unknowing) { _ in }
    try ok(objstore_close(store))
    try ok(objstore_close(unknowing))
}

@Test func aSchemaThatDisagreesNamesClassAndProperty() throws {
    let folder = TestFolder()
    try ok(objstore_close(try openStore(folder.store, [persons])))
    func refusedProperty(_ cls: TestClass, version: UInt64 = 1) -> String? {
        guard
            status({ try ok(objstore_close(try openStore(folder.store, [cls], version: version))) })
                == .OBJSTORE_ERR_SCHEMA_MISMATCH
        else { return nil }
        var error = objstore_error_init()
        guard objstore_last_error(&error) == .OBJSTORE_OK, string(error.class_name) == "Person" else { return nil }
        return string(error.property_name)
    }
    var other = persons
    func changed(_ index: Int, _ property: (String, objstore_kind, Int32)) -> TestClass {
        var properties = persons.properties
        properties[index] = property
        return TestClass(name: "Person", properties: properties)
    }
    #expect(refusedProperty(changed(1, ("name", .OBJSTORE_KIND_INT, 0))) == "name")
    #expect(refusedProperty(changed(1, ("name", .OBJSTORE_KIND_STRING, nullable))) == "name")
    #expect(refusedProperty(changed(1, ("name", .OBJSTORE_KIND_STRING, indexed))) == "name")
    #expect(refusedProperty(changed(0, ("id", .OBJSTORE_KIND_INT, 0))) == "id")
    #expect(refusedProperty(changed(2, ("new", .OBJSTORE_KIND_STRING, nullable))) == "nick")
    other.defaults["name"] = objstore_string(text("nobody"))
    #expect(refusedProperty(other) == "name")
    #expect(
        refusedProperty(TestClass(name: "Person", properties: persons.properties + [("more", .OBJSTORE_KIND_INT, 0)]))
            == "more")
    // The order does not matter, and classes that the program does not name stay.
    try ok(
        objstore_close(
            try openStore(folder.store, [TestClass(name: "Person", properties: persons.properties.reversed()), dogs])))
    let store = try openStore(folder.store, [])
    _ = try ClassOf(store, persons)
    _ = try ClassOf(store, dogs)
    try ok(objstore_close(store))
}

@Test func aHigherVersionAddsPropertiesWithTheirIndex() throws {
    let folder = TestFolder()
    var store = try openStore(folder.store, [dogs])
    try writing(store) { tx in
        let cls = try ClassOf(store, dogs)
        for index in 0..<5000 { try cls.create(tx, ["name": objstore_string(text("dog \(index)"))]) }
    }
    try ok(objstore_close(store))
    var more = TestClass(
        name: "Dog",
        properties: dogs.properties + [
            ("legs", .OBJSTORE_KIND_INT, indexed), ("owner", .OBJSTORE_KIND_STRING, nullable | indexed),
            ("zero", .OBJSTORE_KIND_DOUBLE, 0),
        ],
        defaults: dogs.defaults)
    more.defaults["legs"] = objstore_int(4)
    for _ in 0..<2 {
        store = try openStore(folder.store, [more], version: 2)
        let cls = try ClassOf(store, more)
        try frozen(store) { view in
            var count: UInt64 = 0
            for (name, value) in [("legs", objstore_int(4)), ("owner", objstore_null()), ("zero", objstore_double(0))] {
                try ok(countWhere(view, cls.id, cls[name], .OBJSTORE_EQUAL, value, &count))
                #expect(count == 5000, "\(name)")
            }
        }
        try verify(store)
        expect(try info(store).schema_version == 2)
        try ok(objstore_close(store))
    }
    #expect(status { _ = try openStore(folder.store, [dogs]) } == .OBJSTORE_ERR_SCHEMA_MISMATCH)
    // A file with the property in some leaves only.
    store = try openStore(folder.store, [more], version: 2)
    let cls = try ClassOf(store, more)
    try writing(store) { tx in
        var first = objstore_object()
        try ok(firstWhere(tx, cls.id, cls["legs"], .OBJSTORE_EQUAL, objstore_int(4), &first, nil))
        try ok(objstore_set(tx, first, cls["legs"], objstore_int(3)))
        try cls.create(
            tx, ["name": objstore_string(text("late")), "legs": objstore_int(3), "zero": objstore_double(1)])
        var count: UInt64 = 0
        try ok(countWhere(tx, cls.id, cls["legs"], .OBJSTORE_EQUAL, objstore_int(3), &count))
        #expect(count == 2)
    }
    try verify(store)
    try ok(objstore_close(store))
}

@Test func badSchemasAreRefused() throws {
    var schema: OpaquePointer?
    try ok(objstore_schema_new(&schema))
    defer { _ = objstore_schema_close(schema) }
    for name in ["", "1a", "a b", "a-b", String(repeating: "x", count: 256)] {
        #expect(
            objstore_schema_add_class(schema, text(name))
                == (name.isEmpty ? .OBJSTORE_ERR_INVALID_ARGUMENT : .OBJSTORE_ERR_INVALID_SCHEMA), "\(name)")
    }
    let cls = text("Größe_1")
    try ok(objstore_schema_add_class(schema, cls))
    refused(objstore_schema_add_class(schema, cls), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(
        objstore_schema_add_property(schema, text("Other"), text("a"), .OBJSTORE_KIND_INT, 0),
        .OBJSTORE_ERR_NO_SUCH_CLASS)
    refused(
        objstore_schema_add_property(schema, cls, text("a"), .OBJSTORE_KIND_DOUBLE, 1), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(
        objstore_schema_add_property(schema, cls, text("a"), .OBJSTORE_KIND_INT, 0x41), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(
        objstore_schema_add_property(schema, cls, text("a"), .OBJSTORE_KIND_BINARY, 2), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(objstore_schema_add_property(schema, cls, text("a"), .OBJSTORE_KIND_NULL, 0), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(objstore_schema_add_property(schema, cls, text("a"), .OBJSTORE_KIND_MIXED, 1), .OBJSTORE_ERR_INVALID_SCHEMA)
    try ok(objstore_schema_add_property(schema, cls, text("id"), .OBJSTORE_KIND_INT, 1))
    refused(objstore_schema_add_property(schema, cls, text("id"), .OBJSTORE_KIND_INT, 0), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(
        objstore_schema_add_property(schema, cls, text("key"), .OBJSTORE_KIND_STRING, 1), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(objstore_schema_set_default(schema, cls, text("id"), objstore_string(text("1"))), .OBJSTORE_ERR_WRONG_TYPE)
    refused(objstore_schema_set_default(schema, cls, text("id"), objstore_null()), .OBJSTORE_ERR_NOT_NULLABLE)
    try ok(objstore_schema_set_default(schema, cls, text("id"), objstore_int(1)))
    try ok(objstore_schema_add_property(schema, cls, text("n"), .OBJSTORE_KIND_INT, 0))
    refused(objstore_schema_set_default(schema, cls, text("n"), objstore_double(1)), .OBJSTORE_ERR_WRONG_TYPE)
    refused(objstore_schema_set_default(schema, cls, text("n"), objstore_null()), .OBJSTORE_ERR_NOT_NULLABLE)
    refused(objstore_schema_set_default(schema, cls, text("m"), objstore_int(1)), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
}

@Test func classesAndPropertiesCanBeLookedAt() throws {
    let store = try openStore(nil, [persons, dogs])
    defer { _ = objstore_close(store) }
    try reading(store) { view in
        var count = 0
        try ok(objstore_class_count(view, &count))
        #expect(count == 2)
        var cls = objstore_class_info()
        cls.struct_size = UInt32(MemoryLayout<objstore_class_info>.size)
        try ok(objstore_class_at(view, 1, &cls))
        #expect(string(cls.name) == "Dog" && cls.property_count == 2 && cls.primary_key == 0)
        var property = objstore_property_info()
        property.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
        try ok(objstore_property_at(view, cls.class_id, 1, &property))
        #expect(
            string(property.name) == "age" && property.kind == .OBJSTORE_KIND_INT && property.flags == 0x100
                && property.index == 1)
        #expect(
            property.default_value.kind == .OBJSTORE_KIND_INT && property.default_value.data.integer == 0
                && property.class_id == cls.class_id)
        try ok(objstore_class_at(view, 0, &cls))
        try ok(objstore_property_get_info(view, cls.primary_key, &property))
        #expect(string(property.name) == "id" && property.flags == 1)
        refused(objstore_class_at(view, 2, &cls), .OBJSTORE_ERR_OUT_OF_RANGE)
    }
}

// MARK: Opening

@Test func oneFileIsOneStoreBehindTwoHandles() throws {
    let folder = TestFolder()
    let first = try openStore(folder.store, [dogs])
    symlink(folder.store, folder.path + "/other")
    let second = try openStore(folder.path + "/other", [dogs])
    let cls = try ClassOf(first, dogs)
    let rex = try writing(first) { tx in try cls.create(tx, ["name": objstore_string(text("Rex"))]) }
    try reading(second) { view in
        expect(try cls.string(view, rex, "name") == "Rex")
    }
    expect(try info(first).store_tag == info(second).store_tag && info(first).flags == 1 && info(second).flags == 0)
    #expect(
        status {
            _ = try openStore(folder.store, []) {
                try ok(objstore_config_set_limit($0, .OBJSTORE_LIMIT_VALUE_BYTES, 1000))
            }
        } == .OBJSTORE_ERR_CONFIG_MISMATCH)
    #expect(
        status { _ = try openStore(folder.store, []) { try ok(objstore_config_set_flags($0, 2)) } }
            == .OBJSTORE_ERR_CONFIG_MISMATCH)
    #expect(
        status {
            _ = try openStore(folder.store, []) { try ok(objstore_config_set_creation($0, .OBJSTORE_CREATION_ALWAYS)) }
        } == .OBJSTORE_ERR_ALREADY_EXISTS)
    // A handle of its own for reading.
    let reader = try openStore(folder.store, [dogs]) { try ok(objstore_config_set_mode($0, .OBJSTORE_MODE_READ_ONLY)) }
    var tx: OpaquePointer?
    refused(objstore_begin(reader, &tx), .OBJSTORE_ERR_READ_ONLY)
    #expect(
        status {
            _ = try openStore(folder.store, [persons]) {
                try ok(objstore_config_set_mode($0, .OBJSTORE_MODE_READ_ONLY))
            }
        } == .OBJSTORE_ERR_READ_ONLY)
    // What it would have to become is named.
    let name = dogs.properties[0].name
    for (classes, what) in [
        ([persons], "has no class \(persons.name)"),
        (
            [TestClass(name: dogs.name, properties: dogs.properties + [("other", .OBJSTORE_KIND_INT, 0)])],
            "has no property \(dogs.name).other"
        ),
        (
            [TestClass(name: dogs.name, properties: Array(dogs.properties.dropFirst()))],
            "has a property \(dogs.name).\(name), unlike the program"
        ),
    ] {
        do {
            _ = objstore_close(
                try openStore(folder.store, classes) { config in
                    try ok(objstore_config_set_mode(config, .OBJSTORE_MODE_READ_ONLY))
                    let schema = try makeSchema(classes)
                    defer { _ = objstore_schema_close(schema) }
                    try ok(objstore_config_set_schema(config, schema, 2))
                })
            Issue.record("opened: \(what)")
        } catch let failure as Failure {
            #expect(failure.status == .OBJSTORE_ERR_READ_ONLY && failure.description.contains(what), "\(failure)")
        }
    }
    refused(objstore_delete_files(text(folder.store)), .OBJSTORE_ERR_BUSY)
    try ok(objstore_close(first))
    try reading(second) { view in
        expect(try cls.count(view) == 1)
    }
    try ok(objstore_close(second))
    try ok(objstore_close(reader))
    #expect(
        access(folder.store + "-log", F_OK) != 0 && access(folder.store + "-lock", F_OK) != 0,
        "a closed store is its single file")
    var exists = false
    try ok(objstore_file_exists(text(folder.store), &exists))
    #expect(exists)
    try ok(objstore_delete_files(text(folder.store)))
    try ok(objstore_file_exists(text(folder.store), &exists))
    #expect(!exists)
    refused(objstore_delete_files(text(folder.store)), .OBJSTORE_ERR_NOT_FOUND)
    refused(objstore_delete_files(text(folder.path)), .OBJSTORE_ERR_NOT_A_STORE)
}

@Test func modesAndCreation() throws {
    let folder = TestFolder()
    for mode in [objstore_mode.OBJSTORE_MODE_READ_ONLY, .OBJSTORE_MODE_IMMUTABLE] {
        #expect(
            status { _ = try openStore(folder.store, []) { try ok(objstore_config_set_mode($0, mode)) } }
                == .OBJSTORE_ERR_NOT_FOUND)
    }
    #expect(
        status {
            _ = try openStore(folder.store, []) { try ok(objstore_config_set_creation($0, .OBJSTORE_CREATION_NEVER)) }
        } == .OBJSTORE_ERR_NOT_FOUND)
    #expect(status { _ = try openStore(folder.path + "/no/such/folder", []) } == .OBJSTORE_ERR_NOT_FOUND)
    #expect(status { _ = try openStore("/proc/version", []) } != .OBJSTORE_OK)
    var store = try openStore(folder.store, [dogs])
    let cls = try ClassOf(store, dogs)
    try writing(store) { tx in try cls.create(tx, ["name": objstore_string(text("Rex"))]) }
    #expect(
        status {
            _ = try openStore(folder.store, []) {
                try ok(objstore_config_set_mode($0, .OBJSTORE_MODE_READ_WRITE));
                try ok(objstore_config_set_flags($0, 2))
            }
        } == .OBJSTORE_ERR_CONFIG_MISMATCH)
    try ok(objstore_close(store))
    // Immutable: nothing but the file is needed.
    chmod(folder.store, 0o444)
    store = try openStore(folder.store, []) { try ok(objstore_config_set_mode($0, .OBJSTORE_MODE_IMMUTABLE)) }
    try frozen(store) { view in
        expect(try cls.count(view) == 1)
    }
    try verify(store)
    expect(try info(store).mode == .OBJSTORE_MODE_IMMUTABLE && statistics(store).published_version > 0)
    var tx: OpaquePointer?
    refused(objstore_begin(store, &tx), .OBJSTORE_ERR_READ_ONLY)
    #expect(status { _ = try openStore(folder.store, []) } == .OBJSTORE_ERR_CONFIG_MISMATCH)
    try ok(objstore_close(store))
    #expect(access(folder.store + "-lock", F_OK) != 0)
    chmod(folder.store, 0o644)
    store = try openStore(folder.store, []) { try ok(objstore_config_set_flags($0, 2)) }
    try ok(objstore_close(store))
    // Something else of that name stays.
    let other = folder.path + "/other"
    let file = fopen(other, "w")
    fputs(String(repeating: "not a store ", count: 2000), file)
    fclose(file)
    #expect(status { _ = try openStore(other, []) } == .OBJSTORE_ERR_NOT_A_STORE)
    refused(objstore_delete_files(text(other)), .OBJSTORE_ERR_NOT_A_STORE)
    #expect(access(other, F_OK) == 0)
}

@Test func storesInMemoryAreFoundByName() throws {
    func open(_ name: String) throws -> OpaquePointer {
        try openStore(nil, [dogs]) { try ok(objstore_config_set_memory($0, text(name))) }
    }
    let first = try open("capi-memory"), same = try open("capi-memory"), own = try open(""), other = try open("")
    let cls = try ClassOf(first, dogs)
    try writing(first) { tx in try cls.create(tx, ["name": objstore_string(text("Rex"))]) }
    try reading(same) { view in
        expect(try cls.count(view) == 1)
    }
    try reading(own) { view in
        expect(try cls.count(view) == 0)
    }
    expect(try info(first).store_tag == info(same).store_tag && info(own).store_tag != info(other).store_tag)
    expect(try info(first).flags & 4 != 0)
    try ok(objstore_close(first))
    try reading(same) { view in
        expect(try cls.count(view) == 1)
    }
    try ok(objstore_close(same))
    let again = try open("capi-memory")
    try reading(again) { view in
        expect(try cls.count(view) == 0, "it lives until its last handle is closed")
    }
    for store in [again, own, other] { try ok(objstore_close(store)) }
}

@Test func copyIsAStoreOfItsOwn() throws {
    let folder = TestFolder()
    let store = try openStore(folder.store, [persons, dogs])
    let cls = try ClassOf(store, persons)
    let doomed = try writing(store) { tx in
        for id in 0..<10_000 {
            try cls.create(tx, ["id": objstore_int(Int64(id)), "name": objstore_string(text("person \(id)"))])
        }
        return try require(cls.find(tx, objstore_int(9_999)))
    }
    try writing(store) { tx in try ok(objstore_delete(tx, doomed)) }
    let copy = folder.path + "/copy"
    let view = try liveView(store)
    // What is written now is not in the copy.
    try writing(store) { tx in try cls.create(tx, ["id": objstore_int(-1), "name": objstore_string(text("late"))]) }
    nonisolated(unsafe) var calls = 0
    withUnsafeMutablePointer(to: &calls) { calls in
        let stop: objstore_progress = { _, _, _ in objstore_status(rawValue: 10_005)! }
        refused(objstore_copy(view, text(copy), stop, nil, nil), .OBJSTORE_ERR_CANCELLED)
        var error = objstore_error_init()
        _ = objstore_last_error(&error)
        #expect(error.callback_code == 10_005 && access(copy, F_OK) != 0)
        let count: objstore_progress = { done, total, userdata in
            userdata!.assumingMemoryBound(to: Int.self).pointee += 1
            return done <= total ? .OBJSTORE_OK : .OBJSTORE_ERR_INTERNAL
        }
        #expect(objstore_copy(view, text(copy), count, calls, nil) == .OBJSTORE_OK)
    }
    #expect(calls >= 2)
    refused(objstore_copy(view, text(copy), nil, nil, nil), .OBJSTORE_ERR_ALREADY_EXISTS)
    try ok(objstore_view_close(view))
    #expect(access(copy + "-log", F_OK) != 0 && access(copy + "-lock", F_OK) != 0)
    let second = try openStore(copy, [persons, dogs])
    expect(try info(second).store_tag != info(store).store_tag && info(second).flags == 0)
    try frozen(second) { view in
        expect(try cls.count(view) == 9_999 && cls.find(view, objstore_int(-1)) == nil)
        let one = try require(cls.find(view, objstore_int(77)))
        expect(try one.key == 77 && cls.string(view, one, "name") == "person 77")
        var value = objstore_value()
        refused(objstore_get(view, doomed, cls["name"], nil, &value), .OBJSTORE_ERR_WRONG_STORE)
    }
    // Keys are not given out again.
    let new = try writing(second) { tx in
        try cls.create(tx, ["id": objstore_int(9_999), "name": objstore_string(text("new"))])
    }
    #expect(new.key == 10_000)
    try verify(second)
    try ok(objstore_close(second))
    try ok(objstore_close(store))
}

@Test func statisticsAndPins() throws {
    let folder = TestFolder()
    let store = try openStore(folder.store, [dogs])
    let cls = try ClassOf(store, dogs)
    let start = try statistics(store)
    let view = try liveView(store)
    let pinned = start.published_version
    try writing(store) { tx in try cls.create(tx, ["name": objstore_string(text("Rex"))]) }
    let after = try statistics(store)
    #expect(after.views == 1 && start.views == 0)
    #expect(after.commits == start.commits + 1)
    #expect(after.log_bytes_written > start.log_bytes_written)
    #expect(after.processes == 1)
    #expect(
        after.published_version == after.durable_version && after.published_version > pinned
            && after.oldest_pin == pinned)
    #expect(
        after.file_bytes > 0 && after.live_bytes > 0 && after.live_bytes <= after.file_bytes && after.log_file_bytes > 0
    )
    var pins = [objstore_pin](repeating: objstore_pin(), count: 8), count = 0
    try ok(objstore_pins(store, &pins, 8, &count))
    let mine = try #require(pins.prefix(count).first { $0.holder == .OBJSTORE_PIN_VIEW })
    #expect(
        mine.version == pinned && mine.count == 1 && mine.process_id == Int64(getpid())
            && mine.since_ms > 1_600_000_000_000)
    #expect(pins.prefix(count).contains { $0.holder == .OBJSTORE_PIN_CHECKPOINT })
    try ok(objstore_view_refresh(view, nil))
    try ok(objstore_checkpoint(store))
    try ok(objstore_flush(store))
    expect(try statistics(store).checkpoints > after.checkpoints)
    try ok(objstore_view_close(view))
    expect(try statistics(store).views == 0)
    try ok(objstore_close(store))
}

// MARK: Handles, threads, callbacks

@Test func closingAStoreClosesWhatCameFromIt() throws {
    let store = try openStore(nil, [dogs])
    let cls = try ClassOf(store, dogs)
    let view = try liveView(store)
    var frozen: OpaquePointer?, results: OpaquePointer?, tx: OpaquePointer?, count: UInt64 = 0
    try ok(objstore_view_freeze(view, &frozen))
    try ok(findAll(frozen, cls.id, &results))
    try ok(objstore_begin(store, &tx))
    try cls.create(tx!, ["name": objstore_string(text("gone"))])
    var row = objstore_row(), more = false
    try ok(objstore_row_init(frozen, cls.id, &row))
    // A frozen view outlives the live one.
    try ok(objstore_view_close(view))
    try ok(objstore_row_next(&row, &more))
    try ok(objstore_close(store))
    refused(objstore_count(frozen, cls.id, &count), .OBJSTORE_ERR_CLOSED_HANDLE)
    refused(objstore_results_count(results, &count), .OBJSTORE_ERR_CLOSED_HANDLE)
    refused(objstore_commit(tx, nil), .OBJSTORE_ERR_CLOSED_HANDLE)
    refused(objstore_row_next(&row, &more), .OBJSTORE_ERR_CLOSED_HANDLE)
    refused(objstore_close(store), .OBJSTORE_ERR_CLOSED_HANDLE)
    #expect(
        objstore_close(nil) == .OBJSTORE_OK && objstore_view_close(nil) == .OBJSTORE_OK
            && objstore_results_close(nil) == .OBJSTORE_OK)
}

@Test(arguments: [-1, 600_000] as [Int64]) func closingWakesCallsThatWaitToBegin(timeout: Int64) throws {
    let folder = TestFolder()
    let writing = try openStore(folder.store, [dogs]), waiting = try openStore(folder.store, [dogs])
    var tx: OpaquePointer?
    try ok(objstore_begin(writing, &tx))
    nonisolated(unsafe) let store = waiting
    let hasBegun = UnsafeMutablePointer<UInt64>.allocate(capacity: 2)
    hasBegun.initialize(repeating: 0, count: 2)
    nonisolated(unsafe) let words = hasBegun
    let thread = start {
        var other: OpaquePointer?
        cs_store64(words, 1)
        let status = timeout < 0 ? objstore_begin(store, &other) : objstore_begin_within(store, timeout, &other)
        cs_store64(words + 1, UInt64(status.rawValue))
        if other != nil { Issue.record("a transaction of a closed store") }
    }
    while cs_load64(words) == 0 { sched_yield() }
    try ok(objstore_close(waiting))
    join([thread])
    #expect(cs_load64(words + 1) == UInt64(objstore_status.OBJSTORE_ERR_CLOSED_HANDLE.rawValue))
    try ok(objstore_commit(tx, nil))
    try ok(objstore_close(writing))
    hasBegun.deallocate()
}

@Test func oldHandlesNeverFitNewObjects() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, dogs)
    let old = try liveView(store)
    try ok(objstore_view_close(old))
    var seen: Set<OpaquePointer> = [old]
    for _ in 0..<3000 {
        let view = try liveView(store)
        #expect(seen.insert(view).inserted)
        try ok(objstore_view_close(view))
    }
    var count: UInt64 = 0
    refused(objstore_count(old, cls.id, &count), .OBJSTORE_ERR_CLOSED_HANDLE)
}

/// Counts how often userdata was freed.
private let countFree: objstore_free_userdata = { $0!.assumingMemoryBound(to: Int.self).pointee += 1 }

@Test func userdataIsFreedOnce() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let freed = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    defer { freed.deallocate() }
    func count(_ body: () -> Void) -> Int {
        freed.pointee = 0
        body()
        return freed.pointee
    }
    var times = 0
    let fine: objstore_write_body = { _, _ in .OBJSTORE_OK }
    times = count { #expect(objstore_write(store, fine, freed, countFree) == .OBJSTORE_OK) }
    #expect(times == 1)
    times = count { #expect(objstore_write(store, nil, freed, countFree) == .OBJSTORE_ERR_INVALID_ARGUMENT) }
    #expect(times == 1)
    times = count { #expect(objstore_write(nil, fine, freed, countFree) == .OBJSTORE_ERR_INVALID_ARGUMENT) }
    #expect(times == 1)
    times = count { #expect(objstore_copy(nil, text("x"), nil, freed, countFree) == .OBJSTORE_ERR_INVALID_ARGUMENT) }
    #expect(times == 1)
    var config: OpaquePointer?, logged: OpaquePointer?
    try ok(objstore_config_new(&config))
    try ok(objstore_config_set_memory(config, text("")))
    let handler: objstore_log_handler = { _, _, _ in }
    times = count {
        #expect(
            objstore_config_set_log(config, objstore_log_level(rawValue: 9)!, handler, freed, countFree)
                == .OBJSTORE_ERR_INVALID_ARGUMENT)
    }
    #expect(times == 1)
    times = count {
        #expect(objstore_config_set_log(config, .OBJSTORE_LOG_DEBUG, handler, freed, countFree) == .OBJSTORE_OK)
    }
    #expect(times == 0)
    try ok(objstore_open(config, &logged))
    times = count { _ = objstore_config_close(config) }
    #expect(times == 0, "the store has it still")
    times = count { _ = objstore_close(logged) }
    #expect(times == 1)
}

/// What a log handler got, and what the library said when it called it.
private final class LogLines: @unchecked Sendable {
    var lines: [String] = []
    var store: OpaquePointer?
    var statuses: [objstore_status] = []
}

@Test func logHandlersHearAndMayNotCall() throws {
    let log = LogLines()
    let other = try openStore(nil, [dogs])
    log.store = other
    defer { _ = objstore_close(other) }
    let store = try openStore(nil, [dogs]) { config in
        try ok(
            objstore_config_set_log(
                config, .OBJSTORE_LOG_DEBUG,
                { _, message, userdata in
                    let log = Unmanaged<LogLines>.fromOpaque(userdata!).takeUnretainedValue()
                    log.lines.append(String(cString: message!))
                    var view: OpaquePointer?
                    log.statuses.append(objstore_view_open(log.store, &view))
                }, Unmanaged.passUnretained(log).toOpaque(), nil))
    }
    let cls = try ClassOf(store, dogs)
    try writing(store) { tx in try cls.create(tx, ["name": objstore_string(text("Rex"))]) }
    try ok(objstore_close(store))
    #expect(
        log.lines.contains { $0.hasPrefix("opened") } && log.lines.contains { $0.hasPrefix("version") }
            && log.lines.contains { $0.hasPrefix("closed") })
    #expect(log.statuses.allSatisfy { $0 == .OBJSTORE_ERR_IN_CALLBACK })
}

@Test func whatCannotBeDoneInAWriteBodyIsRefused() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let body: objstore_write_body = { view, userdata in
        let store = OpaquePointer(userdata!)
        var other: OpaquePointer?
        refused(objstore_commit(view, nil), .OBJSTORE_ERR_IN_CALLBACK)
        refused(objstore_cancel(view), .OBJSTORE_ERR_IN_CALLBACK)
        refused(objstore_view_close(view), .OBJSTORE_ERR_IN_CALLBACK)
        refused(objstore_close(store), .OBJSTORE_ERR_IN_CALLBACK)
        refused(objstore_begin(store, &other), .OBJSTORE_ERR_ALREADY_IN_WRITE)
        refused(objstore_try_begin(store, &other), .OBJSTORE_ERR_ALREADY_IN_WRITE)
        refused(objstore_flush(store), .OBJSTORE_ERR_ALREADY_IN_WRITE)
        refused(objstore_checkpoint(store), .OBJSTORE_ERR_ALREADY_IN_WRITE)
        // Reading continues, through views of its own too.
        #expect(objstore_view_open(store, &other) == .OBJSTORE_OK)
        #expect(objstore_view_close(other) == .OBJSTORE_OK)
        return .OBJSTORE_OK
    }
    try ok(objstore_write(store, body, UnsafeMutableRawPointer(store), nil))
}

@Test func waitingForTheWriterHasALimit() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    var mine: OpaquePointer?
    try ok(objstore_begin(store, &mine))
    nonisolated(unsafe) let shared = store
    onThread {
        var other: OpaquePointer?
        refused(objstore_try_begin(shared, &other), .OBJSTORE_ERR_BUSY)
        refused(objstore_begin_within(shared, 20, &other), .OBJSTORE_ERR_TIMEOUT)
        refused(objstore_begin_within(shared, 0, &other), .OBJSTORE_ERR_TIMEOUT)
        #expect(other == nil)
    }
    // Another thread may end it; then this one is free to begin.
    nonisolated(unsafe) let tx = mine
    onThread { #expect(objstore_commit(tx, nil) == .OBJSTORE_OK) }
    try ok(objstore_begin(store, &mine))
    try ok(objstore_cancel(mine))
}

/// Runs a body on a thread of its own and waits for it.
func onThread(_ body: @escaping @Sendable () -> Void) {
    join([start(body)])
}

private final class Body: @unchecked Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

func start(_ body: @escaping @Sendable () -> Void) -> pthread_t {
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { argument in
            Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
            return nil
        }, Unmanaged.passRetained(Body(body)).toOpaque())
    return thread
}

func join(_ threads: [pthread_t]) { for thread in threads { pthread_join(thread, nil) } }

/// Frozen views are closed under readers: each read succeeds with the right value or says that the view is closed.
@Test func viewsAreClosedUnderReaders() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, dogs)
    let rex = try writing(store) { tx in
        try cls.create(tx, ["name": objstore_string(text("Rex")), "age": objstore_int(10)])
    }
    nonisolated(unsafe) let shared = store
    let age = cls["age"], id = cls.id
    let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 3)
    word.initialize(repeating: 0, count: 3)
    nonisolated(unsafe) let current = word
    let readers = (0..<3).map { _ in
        start {
            var reads = 0, closed = 0
            while cs_load64(current + 1) == 0 {
                guard let view = OpaquePointer(bitPattern: UInt(cs_load64(current))) else { continue }
                var row = objstore_row(), value: Int64 = 0
                var status = objstore_row_init(view, id, &row)
                if status == .OBJSTORE_OK { status = objstore_row_seek(&row, rex) }
                for _ in 0..<50 where status == .OBJSTORE_OK {
                    status = objstore_row_int(&row, age, &value, nil)
                    if status == .OBJSTORE_OK {
                        if reads == 0 { cs_add64(current + 2, 1) }; reads += 1;
                        if value != 10 { Issue.record("read \(value)") }
                    }
                }
                if status == .OBJSTORE_ERR_CLOSED_HANDLE {
                    closed += 1
                } else if status != .OBJSTORE_OK {
                    Issue.record("\(String(cString: objstore_last_message()))")
                }
            }
        }
    }
    var rounds = 0
    while rounds < 2000 || (cs_load64(current + 2) < 3 && rounds < 200_000) {
        rounds += 1
        let live = try liveView(shared)
        var view: OpaquePointer?
        try ok(objstore_view_freeze(live, &view))
        cs_store64(current, UInt64(UInt(bitPattern: view)))
        if rounds % 8 == 0 { usleep(20) }
        try ok(objstore_view_close(live))
        try ok(objstore_view_close(view))
    }
    cs_store64(current + 1, 1)
    join(readers)
    #expect(cs_load64(current + 2) == 3, "every reader has read")
    word.deallocate()
}
