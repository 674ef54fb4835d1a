import CObjStore
import CSystem
import Glibc
import Testing

// What an application adds to the opening of a store: seed, initial data, compaction, deleting what differs; and
// copies.

/// What callbacks got and return.
private final class Calls {
    var count = 0
    var total: UInt64 = 0, used: UInt64 = 0
    var status = objstore_status.OBJSTORE_OK
    var isWanted = false
    var body: (OpaquePointer, OpaquePointer) throws -> Void = { _, _ in }

    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
    static func at(_ userdata: UnsafeMutableRawPointer?) -> Calls {
        Unmanaged<Calls>.fromOpaque(userdata!).takeUnretainedValue()
    }

    func fill(_ config: OpaquePointer) throws {
        try ok(
            objstore_config_set_initial_data(
                config,
                { store, transaction, userdata in
                    let calls = Calls.at(userdata)
                    calls.count += 1
                    do { try calls.body(store!, transaction!) } catch { return .OBJSTORE_ERR_INTERNAL }
                    return calls.status
                }, pointer, nil))
    }

    func compact(_ config: OpaquePointer) throws {
        try ok(
            objstore_config_set_compaction(
                config,
                { total, used, compact, userdata in
                    let calls = Calls.at(userdata)
                    calls.count += 1
                    (calls.total, calls.used) = (total, used)
                    #expect(compact!.pointee == false)
                    compact!.pointee = calls.isWanted
                    return calls.status
                }, pointer, nil))
    }
}

private let userStatus = objstore_status(rawValue: objstore_status.OBJSTORE_USER_STATUS.rawValue + 7)!

private func opening(_ body: () throws -> Void) -> objstore_status { outcome(body).status }

private func outcome(_ body: () throws -> Void) -> Failure {
    do {
        try body()
        return Failure(status: .OBJSTORE_OK, description: "")
    } catch let failure as Failure {
        return failure
    } catch {
        return Failure(status: .OBJSTORE_ERR_INTERNAL, description: "\(error)")
    }
}

private func files(_ folder: TestFolder) -> [String] {
    guard let open = opendir(folder.path) else { return [] }
    defer { closedir(open) }
    var names: [String] = []
    while let entry = readdir(open) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
}

@Suite struct OpeningTests {
    @Test func A12_defaultStore() throws {
        let folder = TestFolder(), calls = Calls()
        defer { _ = objstore_set_default(nil) }
        func config(_ path: String, _ configure: (OpaquePointer) throws -> Void = { _ in }) throws {
            var schema: OpaquePointer?, config: OpaquePointer?
            try ok(objstore_schema_new(&schema))
            try ok(objstore_schema_add_class(schema, text("Dog")))
            try ok(objstore_schema_add_property(schema, text("Dog"), text("name"), .OBJSTORE_KIND_STRING, 0))
            try ok(objstore_schema_add_property(schema, text("Dog"), text("age"), .OBJSTORE_KIND_INT, 0))
            try ok(objstore_config_new(&config))
            try ok(objstore_config_set_path(config, text(path)))
            try ok(objstore_config_set_schema(config, schema, 1))
            try configure(config!)
            try ok(objstore_set_default(config))
            // Nothing that happens to them later counts.
            try ok(objstore_config_set_path(config, text(path + "-other")))
            try ok(objstore_config_close(config))
            try ok(objstore_schema_close(schema))
        }
        func open() throws -> OpaquePointer {
            var store: OpaquePointer?
            try ok(objstore_open_default(&store))
            return store!
        }
        calls.body = { _, tx in
            let cls = try ClassOf(tx: tx, dogs)
            try cls.create(tx, ["name": objstore_string(text("Rex")), "age": objstore_int(1)])
        }
        try config(folder.store, calls.fill)
        let first = try open(), second = try open(), cls = try ClassOf(first, dogs)
        #expect(first != second && calls.count == 1)
        try writing(first) { tx in try cls.create(tx, ["name": objstore_string(text("Ella")), "age": objstore_int(2)]) }
        try reading(second) { view in expect(try cls.count(view) == 2) }
        try config(folder.path + "/copy")
        let third = try open()
        try reading(third) { view in expect(try cls.count(view) == 0) }
        try reading(first) { view in expect(try cls.count(view) == 2) }
        var exists = false
        try ok(objstore_file_exists(text(folder.path + "/copy"), &exists))
        expect(exists)
        // What a callback says ends the opening.
        calls.status = userStatus
        try config(folder.path + "/other", calls.fill)
        var none: OpaquePointer?
        #expect(objstore_open_default(&none) == userStatus && none == nil)
        for store in [first, second, third] { try ok(objstore_close(store)) }
    }

    @Test func initialDataOnce() throws {
        let folder = TestFolder(), calls = Calls()
        var inside: OpaquePointer?
        calls.body = { store, tx in
            inside = store
            let cls = try ClassOf(tx: tx, dogs)
            try cls.create(tx, ["name": objstore_string(text("Rex"))])
            expect(try cls.count(tx) == 1)
            // Neither may end inside.
            refused(objstore_close(store), .OBJSTORE_ERR_IN_CALLBACK)
            refused(objstore_commit(tx, nil), .OBJSTORE_ERR_IN_CALLBACK)
            refused(objstore_cancel(tx), .OBJSTORE_ERR_IN_CALLBACK)
            var other: OpaquePointer?
            refused(objstore_begin(store, &other), .OBJSTORE_ERR_ALREADY_IN_WRITE)
            // The schema is not there yet for others.
            try reading(store) { view in
                var id: objstore_class_id = 0
                refused(objstore_find_class(view, text("Dog"), &id), .OBJSTORE_ERR_NO_SUCH_CLASS)
            }
        }
        let store = try openStore(folder.store, [dogs], configure: calls.fill)
        #expect(store == inside)
        let second = try openStore(folder.store, [dogs], configure: calls.fill)
        let cls = try ClassOf(store, dogs)
        try reading(store) { view in expect(try cls.count(view) == 1) }
        try verify(store)
        try ok(objstore_close(second))
        try ok(objstore_close(store))
        let again = try openStore(folder.store, [dogs, persons], version: 2, configure: calls.fill)
        try reading(again) { view in expect(try cls.count(view) == 1) }
        try ok(objstore_close(again))
        #expect(calls.count == 1)
        let memory = try openStore(nil, [dogs], configure: calls.fill)
        try reading(memory) { view in expect(try cls.count(view) == 1) }
        try ok(objstore_close(memory))
        #expect(calls.count == 2)
    }

    /// Values without names are in the order that the program declares, whatever the file has.
    @Test func orderOfDeclaration() throws {
        let folder = TestFolder(), kind = objstore_kind.OBJSTORE_KIND_STRING,
            nullable = Int32(OBJSTORE_PROPERTY_NULLABLE)
        func cls(_ names: [String]) -> TestClass {
            TestClass(name: "T", properties: names.map { ($0, kind, nullable) })
        }
        func made(_ names: [String], version: UInt64) throws -> [String] {
            let store = try openStore(folder.store, [cls(names)], version: version)
            var texts: [String] = []
            try writing(store) { tx in
                var id: objstore_class_id = 0, object = objstore_object(), buffer = objstore_buffer_init(),
                    json = objstore_text()
                try ok(objstore_find_class(tx, text("T"), &id))
                let values =
                    [objstore_list_of(Int64(names.count))] + names.map { objstore_string(text($0.uppercased())) }
                try ok(objstore_create_from(tx, id, .OBJSTORE_POLICY_ERROR, 0, values, values.count, &object, nil))
                try ok(objstore_to_json(tx, object, 0, 0, &buffer, &json))
                texts.append(string(json)!)
                let array = "[" + names.map { "\"\($0.uppercased())\"" }.joined(separator: ",") + "]"
                try ok(
                    objstore_create_from_json(
                        tx, id, .OBJSTORE_POLICY_ERROR, 0, text(array), nil, nil, nil, &object, nil))
                try ok(objstore_to_json(tx, object, 0, 0, &buffer, &json))
                texts.append(string(json)!)
                refused(
                    objstore_create_from_json(
                        tx, id, .OBJSTORE_POLICY_ERROR, 0, text("[null, 5]"), nil, nil, nil, &object, nil),
                    .OBJSTORE_ERR_WRONG_TYPE)
                let message = String(cString: objstore_last_message())
                expect(message.contains("$[1]") && message.contains("T.\(names[1])"))
                _ = objstore_buffer_free(&buffer)
            }
            try ok(objstore_close(store))
            return texts
        }
        for (names, version) in [(["a", "c"], 1), (["c", "a"], 1), (["a", "b", "c"], 2), (["c", "b", "a"], 2)]
            as [([String], UInt64)]
        {
            let json = "{" + names.map { "\"\($0)\":\"\($0.uppercased())\"" }.joined(separator: ",") + "}"
            #expect(try made(names, version: version) == [json, json])
        }
    }

    @Test func initialDataThatFails() throws {
        let folder = TestFolder(), calls = Calls()
        calls.status = userStatus
        var given: objstore_status = .OBJSTORE_OK, leaked: OpaquePointer?
        calls.body = { store, tx in
            given = objstore_fail(5, text("not today"))
            _ = objstore_view_open(store, &leaked)  // closed with the store
        }
        #expect(opening { _ = try openStore(folder.store, [dogs], configure: calls.fill) } == userStatus)
        #expect(given == .OBJSTORE_ERR_CALLBACK && String(cString: objstore_last_message()) == "not today")
        refused(objstore_view_refresh(leaked, nil), .OBJSTORE_ERR_CLOSED_HANDLE)
        #expect(files(folder) == [])
        calls.body = { _, tx in throw Failure(status: .OBJSTORE_ERR_INTERNAL, description: "") }
        #expect(opening { _ = try openStore(nil, [dogs], configure: calls.fill) } == .OBJSTORE_ERR_INTERNAL)
        // A file that was there stays, as it was.
        try ok(objstore_close(try openStore(folder.store, [])))
        #expect(opening { _ = try openStore(folder.store, [dogs], configure: calls.fill) } == .OBJSTORE_ERR_INTERNAL)
        #expect(files(folder) == ["store"])
        calls.status = .OBJSTORE_OK
        calls.body = { _, tx in try ClassOf(tx: tx, dogs).create(tx, ["name": objstore_string(text("Rex"))]) }
        let store = try openStore(folder.store, [dogs], configure: calls.fill)
        let cls = try ClassOf(store, dogs)
        try reading(store) { view in expect(try cls.count(view) == 1) }
        try ok(objstore_close(store))
        #expect(calls.count == 4)
        #expect(
            opening { _ = try openStore(folder.store, [], configure: calls.fill) } == .OBJSTORE_ERR_INVALID_ARGUMENT)
    }

    /// A file that was made for nothing is not left behind.
    @Test func failedCreation() throws {
        let folder = TestFolder()
        let keys = TestClass(name: "Dog", properties: [("name", .OBJSTORE_KIND_STRING, 0)])
        #expect(
            opening {
                _ = try openStore(folder.store, [keys]) { config in
                    var schema: OpaquePointer?
                    try ok(objstore_schema_new(&schema))
                    defer { _ = objstore_schema_close(schema) }
                    try ok(objstore_schema_add_class(schema, text("Dog")))
                    try ok(objstore_schema_add_link(schema, text("Dog"), text("owner"), text("Nobody"), 0))
                    try ok(objstore_config_set_schema(config, schema, 1))
                }
            } == .OBJSTORE_ERR_INVALID_SCHEMA)
        #expect(files(folder) == [])
    }

    @Test func seed() throws {
        let folder = TestFolder(), seed = folder.path + "/other"
        func open(_ path: String?, _ seed: String) throws -> OpaquePointer {
            try openStore(path, [dogs]) { try ok(objstore_config_set_seed($0, text(seed))) }
        }
        #expect(opening { _ = try open(folder.store, seed) } == .OBJSTORE_ERR_NOT_FOUND)
        #expect(files(folder) == [])
        let original = try openStore(seed, [dogs, persons])
        let cls = try ClassOf(original, dogs)
        let rex = try writing(original) { tx in
            try cls.create(tx, ["name": objstore_string(text("Rex")), "age": objstore_int(3)])
        }
        // Another process writes it.
        #expect(opening { _ = try open(folder.store, seed) } == .OBJSTORE_ERR_NEEDS_LOG)
        #expect(files(folder) == ["other", "other-lock", "other-log"])
        try ok(objstore_close(original))
        for path in [folder.store, nil] {
            let calls = Calls()
            let store = try openStore(path, [dogs]) { config in
                try ok(objstore_config_set_seed(config, text(seed)))
                try calls.fill(config)
            }
            #expect(calls.count == 0)
            let copied = objstore_object(class_id: rex.class_id, store_tag: try tag(store), key: rex.key)
            try reading(store) { view in expect(try cls.count(view) == 1 && cls.string(view, copied, "name") == "Rex") }
            try writing(store) { tx in try cls.create(tx, ["name": objstore_string(text("Fido"))]) }
            try verify(store)
            try ok(objstore_close(store))
        }
        #expect(files(folder) == ["other", "store"])
        // On the first opening only.
        unlink(seed)
        let store = try open(folder.store, seed)
        try reading(store) { view in expect(try cls.count(view) == 2) }
        try ok(objstore_close(store))
    }

    @Test("D81: a seed is the file that was meant") func seedOfASHA256() throws {
        let folder = TestFolder(), seed = folder.path + "/other", digits = String(repeating: "0", count: 64)
        try ok(objstore_close(try openStore(seed, [dogs])))
        func open(_ path: String?, _ digest: String) throws {
            let store = try openStore(path, [dogs]) { config in
                try ok(objstore_config_set_seed(config, text(seed)))
                try ok(objstore_config_set_seed_sha256(config, text(digest)))
            }
            try ok(objstore_close(store))
        }
        for path in [folder.store, nil] {
            let refused = outcome { try open(path, digits) }
            #expect(refused.status == .OBJSTORE_ERR_CORRUPT)
            let words = refused.description.split(separator: " ")
            expect(words.suffix(2) == ["not", digits[...]])
            #expect(files(folder) == (path == nil ? ["other", "store"] : ["other"]))
            // What it has instead.
            let digest = try #require(words.dropLast(2).last).dropLast()
            expect(digest.utf8.count == 64)
            try open(path, digest.uppercased())
        }
        for wrong in [
            "", String(digits.dropLast()), digits + "0", "x" + digits.dropLast(), String(digits.dropLast(2)) + "é",
        ] {
            let refused = outcome { try open(nil, wrong) }
            #expect(
                refused.status == .OBJSTORE_ERR_INVALID_ARGUMENT && refused.description.contains("digest: a SHA-256 "))
        }
        #expect(
            opening {
                _ = try openStore(folder.path + "/none", [dogs]) {
                    try ok(objstore_config_set_seed_sha256($0, text(digits)))
                }
            } == .OBJSTORE_ERR_INVALID_ARGUMENT)
        #expect(files(folder) == ["other", "store"])
    }

    @Test func deleteWhereItDiffers() throws {
        let folder = TestFolder()
        let other = TestClass(
            name: "Dog", properties: [("name", .OBJSTORE_KIND_STRING, 0), ("age", .OBJSTORE_KIND_DOUBLE, 0)])
        func open(_ classes: [TestClass], _ version: UInt64 = 1) throws -> OpaquePointer {
            try openStore(folder.store, classes, version: version) {
                try ok(objstore_config_set_flags($0, UInt32(OBJSTORE_CONFIG_DELETE_IF_MIGRATION_NEEDED)))
            }
        }
        func count(_ store: OpaquePointer, _ cls: TestClass) throws -> Int {
            let cls = try ClassOf(store, cls)
            return try reading(store) { try cls.count($0) }
        }
        var store = try open([dogs])
        _ = try writing(store) { tx in try ClassOf(store, dogs).create(tx, ["name": objstore_string(text("Rex"))]) }
        #expect(opening { _ = try open([other]) } == .OBJSTORE_ERR_BUSY)
        try ok(objstore_close(store))
        // New classes and a higher number are no reason.
        store = try open([dogs, persons], 2)
        expect(try count(store, dogs) == 1)
        try ok(objstore_close(store))
        for (cls, version) in [(other, 2), (dogs, 3), (other, 1)] as [(TestClass, UInt64)] {
            store = try open([cls], version)
            expect(try count(store, cls) == 0)
            let ids = try ClassOf(store, cls)
            _ = try writing(store) { tx in
                try ids.create(
                    tx,
                    [
                        "name": objstore_string(text("Rex")),
                        "age": cls.properties[1].kind == .OBJSTORE_KIND_INT ? objstore_int(1) : objstore_double(1),
                    ])
            }
            try verify(store)
            try ok(objstore_close(store))
        }
        #expect(opening { _ = try openStore(folder.store, [dogs]) } == .OBJSTORE_ERR_SCHEMA_MISMATCH)
    }

    @Test func compactionWhenOpened() throws {
        let folder = TestFolder(), calls = Calls()
        var store = try openStore(folder.store, [dogs], configure: calls.compact)
        let cls = try ClassOf(store, dogs)
        #expect(calls.count == 1)
        let objects = try writing(store) { tx in
            try (0..<20_000).map {
                try cls.create(
                    tx, ["name": objstore_string(text("a long name of a dog \($0)")), "age": objstore_int(1)])
            }
        }
        try writing(store) { tx in for object in objects.dropFirst(100) { try ok(objstore_delete(tx, object)) } }
        let second = try openStore(folder.store, [dogs], configure: calls.compact)
        #expect(calls.count == 1)
        try ok(objstore_close(second))
        try ok(objstore_close(store))
        var before = stat(), after = stat()
        stat(folder.store, &before)
        calls.status = userStatus
        #expect(opening { _ = try openStore(folder.store, [dogs], configure: calls.compact) } == userStatus)
        calls.status = .OBJSTORE_OK
        store = try openStore(folder.store, [dogs], configure: calls.compact)
        #expect(calls.total == UInt64(before.st_size) && calls.used < calls.total / 2)
        try ok(objstore_close(store))
        calls.isWanted = true
        store = try openStore(folder.store, [dogs], configure: calls.compact)
        #expect(calls.count == 4)
        stat(folder.store, &after)
        #expect(after.st_size < before.st_size / 2)
        try reading(store) { view in expect(try cls.count(view) == 100) }
        try verify(store)
        try ok(objstore_close(store))
    }

    @Test func copies() throws {
        let folder = TestFolder(), copy = folder.path + "/copy", other = folder.path + "/other"
        for path in [folder.store, nil] {
            let store = try openStore(path, [dogs])
            let cls = try ClassOf(store, dogs)
            _ = try writing(store) { tx in try cls.create(tx, ["name": objstore_string(text("Rex"))]) }
            var tx: OpaquePointer?
            try ok(objstore_begin(store, &tx))
            let fido = try cls.create(tx!, ["name": objstore_string(text("Fido"))])
            try reading(store) { view in
                try ok(objstore_copy(view, text(copy), nil, nil, nil))
                refused(objstore_copy(view, text(copy), nil, nil, nil), .OBJSTORE_ERR_ALREADY_EXISTS)
            }
            // `progress` may read the transaction, but not change it.
            struct Context {
                var tx: OpaquePointer; var cls: objstore_class_id; var object: objstore_object; var counted: UInt64 = 0;
                var writes = false; var refused = objstore_status.OBJSTORE_OK
            }
            var context = Context(tx: tx!, cls: cls.id, object: fido)
            let progress: objstore_progress = { _, _, userdata in
                let context = userdata!.assumingMemoryBound(to: Context.self)
                let status = objstore_count(context.pointee.tx, context.pointee.cls, &context.pointee.counted)
                if !context.pointee.writes { return status }
                context.pointee.refused = objstore_delete(context.pointee.tx, context.pointee.object)
                return context.pointee.refused
            }
            try ok(withUnsafeMutablePointer(to: &context) { objstore_copy(tx, text(other), progress, $0, nil) })
            #expect(context.counted == 2)
            context.writes = true
            refused(
                withUnsafeMutablePointer(to: &context) {
                    objstore_copy(tx, text(folder.path + "/third"), progress, $0, nil)
                }, .OBJSTORE_ERR_CANCELLED)
            #expect(context.refused == .OBJSTORE_ERR_IN_CALLBACK)
            refused(objstore_copy(tx, text(other), nil, nil, nil), .OBJSTORE_ERR_ALREADY_EXISTS)
            try ok(objstore_cancel(tx))
            try ok(objstore_close(store))
            for (path, count) in [(copy, 1), (other, 2)] {
                let copied = try openStore(path, [dogs])
                try reading(copied) { view in expect(try cls.count(view) == count) }
                try verify(copied)
                try ok(objstore_close(copied))
                try ok(objstore_delete_files(text(path)))
                refused(objstore_delete_files(text(path)), .OBJSTORE_ERR_NOT_FOUND)
            }
        }
        #expect(files(folder) == ["store"])
    }

    @Test("A13: a store with a subset of the classes") func a13() throws {
        let toys = TestClass(name: "DogToy", properties: [("name", .OBJSTORE_KIND_STRING, 0)])
        let store = try openStore(nil, [toys])
        defer { _ = objstore_close(store) }
        let cls = try ClassOf(store, toys)
        try writing(store) { tx in
            var id: objstore_class_id = 0
            refused(objstore_find_class(tx, text("Dog"), &id), .OBJSTORE_ERR_NO_SUCH_CLASS)
            refused(objstore_create(tx, cls.id + 1, nil, nil, 0, nil), .OBJSTORE_ERR_NO_SUCH_CLASS)
            try cls.create(tx, ["name": objstore_string(text("ball"))])
        }
        try reading(store) { view in expect(try cls.count(view) == 1) }
    }

    @Test("A101: in memory, delete if migration needed, compaction when opened, copy onto a file") func a101() throws {
        var store = try openNamed("a101")
        let cls = try ClassOf(store, dogs)
        let folder = TestFolder()
        _ = try writing(store) { tx in try cls.create(tx, ["name": objstore_string(text("Rex"))]) }
        let second = try openNamed("a101")
        try ok(objstore_close(store))
        try reading(second) { view in
            expect(try cls.count(view) == 1)
            try ok(objstore_copy(view, text(folder.store), nil, nil, nil))
            refused(objstore_copy(view, text(folder.store), nil, nil, nil), .OBJSTORE_ERR_ALREADY_EXISTS)
        }
        try ok(objstore_close(second))
        store = try openNamed("a101")
        try reading(store) { view in expect(try cls.count(view) == 0) }
        try ok(objstore_close(store))
        // The rest: deleteWhereItDiffers, compactionWhenOpened.
    }
}

private func openNamed(_ name: String) throws -> OpaquePointer {
    try openStore(nil, [dogs]) { try ok(objstore_config_set_memory($0, text(name))) }
}

private func tag(_ store: OpaquePointer) throws -> UInt32 {
    var info = objstore_info()
    info.struct_size = UInt32(MemoryLayout<objstore_info>.size)
    try ok(objstore_get_info(store, &info))
    return info.store_tag
}
