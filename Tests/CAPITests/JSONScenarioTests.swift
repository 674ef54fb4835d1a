import CObjStore
import Glibc
import Testing

/// Person {id, name, dogs, address}, Dog {name, age, born, photo}: the scenarios of JSON, by their numbers.
private final class People {
    let store: OpaquePointer
    var tx: OpaquePointer?
    private(set) var person: objstore_class_id = 0, dog: objstore_class_id = 0

    init() throws {
        var schema: OpaquePointer?, config: OpaquePointer?, opened: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        for cls in ["Person", "Dog", "Address"] { try ok(objstore_schema_add_class(schema, text(cls))) }
        try ok(objstore_schema_set_class_flags(schema, text("Address"), UInt32(OBJSTORE_CLASS_EMBEDDED)))
        for (cls, name, kind, flags) in [
            ("Person", "id", objstore_kind.OBJSTORE_KIND_INT, primaryKey), ("Person", "name", .OBJSTORE_KIND_STRING, 0),
            ("Dog", "name", .OBJSTORE_KIND_STRING, 0),
            ("Dog", "age", .OBJSTORE_KIND_INT, nullable), ("Dog", "born", .OBJSTORE_KIND_TIMESTAMP, nullable),
            ("Dog", "photo", .OBJSTORE_KIND_BINARY, nullable),
            ("Address", "city", .OBJSTORE_KIND_STRING, 0),
        ] { try ok(objstore_schema_add_property(schema, text(cls), text(name), kind, UInt32(flags))) }
        try ok(
            objstore_schema_add_link_collection(
                schema, text("Person"), text("dogs"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Dog"), 0))
        try ok(objstore_schema_add_link(schema, text("Person"), text("address"), text("Address"), 0))
        try ok(objstore_config_new(&config))
        defer { _ = objstore_config_close(config) }
        try ok(objstore_config_set_memory(config, text("")))
        try ok(objstore_config_set_schema(config, schema, 1))
        try ok(objstore_open(config, &opened))
        store = opened!
        try ok(objstore_begin(store, &tx))
        try ok(objstore_find_class(tx, text("Person"), &person))
        try ok(objstore_find_class(tx, text("Dog"), &dog))
    }

    deinit {
        _ = objstore_cancel(tx)
        _ = objstore_close(store)
    }

    func count(_ cls: objstore_class_id) -> UInt64 {
        var count: UInt64 = 0
        _ = objstore_count(tx, cls, &count)
        return count
    }

    /// The object as JSON, or the error: status, position, class, property, message.
    func create(
        _ cls: objstore_class_id, _ json: String, _ flags: UInt32 = 0,
        _ policy: objstore_policy = .OBJSTORE_POLICY_ERROR, _ convert: objstore_json_convert? = nil
    ) -> String {
        var object = objstore_object(), outcome = objstore_outcome.OBJSTORE_OUTCOME_UNCHANGED,
            buffer = objstore_buffer_init(), out = objstore_text()
        defer { _ = objstore_buffer_free(&buffer) }
        guard
            objstore_create_from_json(tx, cls, policy, flags, text(json), convert, nil, nil, &object, &outcome)
                == .OBJSTORE_OK,
            objstore_to_json(tx, object, 1, 0, &buffer, &out) == .OBJSTORE_OK
        else { return People.error }
        return string(out)!
    }

    static var error: String {
        var error = objstore_error()
        error.struct_size = UInt32(MemoryLayout<objstore_error>.size)
        _ = objstore_last_error(&error)
        return
            """
            \(String(cString: objstore_status_name(error.status)).dropFirst(13)) \(error.position) \
            \(string(error.class_name)!).\(string(error.property_name)!) \(string(error.message)!)
            """
    }
}

private let relaxed: UInt32 = 2, extended: UInt32 = 1

@Suite struct JSONScenarioTests {
    @Test func A22_A23_A25_objects() throws {
        let people = try People()
        #expect(
            people.create(people.dog, #"{"name":"Tennis","weight":3,"maker":{"name":[{}]}}"#)
                == #"{"name":"Tennis","age":null,"born":null,"photo":null}"#)
        #expect(people.create(people.dog, #"["Rex", 5]"#) == #"{"name":"Rex","age":5,"born":null,"photo":null}"#)
        #expect(
            people.create(people.dog, "{ name: 'Cucumber', age: 1, }", relaxed)
                == #"{"name":"Cucumber","age":1,"born":null,"photo":null}"#)
        #expect(
            people.create(people.dog, "{ name: 'Cucumber' }").hasPrefix(
                "INVALID_JSON 2 . json: line 1, column 3, at $: "))
        #expect(people.count(people.dog) == 3)
    }

    @Test func A26_nested() throws {
        let people = try People()
        let jane = people.create(
            people.person,
            #"{"id":1,"name":"Jane","dogs":[{"name":"Rex","age":3},["Bello",4]],"address":{"city":"Rome"}}"#)
        #expect(
            jane
                == #"""
                {"id":1,"name":"Jane","dogs":[{"name":"Rex","age":3,"born":null,"photo":null},{"name":"Bello",\#
                "age":4,"born":null,"photo":null}],"address":{"city":"Rome"}}
                """#
        )
        #expect(people.count(people.dog) == 2)
    }

    @Test func A27_A28_A29_whatDoesNotFit() throws {
        let people = try People()
        for (json, error) in [
            (#"{"name":"Rex","age":"5"}"#, "WRONG_TYPE 20 Dog.age line 1, column 21, at $.age: "),
            (#"{"name":"","age":1.5}"#, "WRONG_TYPE 17 Dog.age line 1, column 18, at $.age: "),
            (#"{"name":"","age":true}"#, "WRONG_TYPE 17 Dog.age "),
            (#"{"name":"","age":9223372036854775808}"#, "OUT_OF_RANGE 17 Dog.age "),
            (#"{"name":5}"#, "WRONG_TYPE 8 Dog.name "),
            (#"{"name":1.5}"#, "WRONG_TYPE 8 Dog.name "),
            (#"{"name":"","born":"2026-11-22"}"#, "WRONG_TYPE 18 Dog.born "),
            (#"{"name":"","photo":"eA=="}"#, "WRONG_TYPE 19 Dog.photo "),
            (#"{}"#, "MISSING_VALUE 0 Dog.name "), (#"{"name":null}"#, "NOT_NULLABLE 8 Dog.name "),
            (#"{"name":"a","name":"b"}"#, "INVALID_ARGUMENT "), ("5", "WRONG_TYPE 0 Dog. "),
            (#"["Rex","5"]"#, "WRONG_TYPE 7 Dog.age line 1, column 8, at $[1]: "),
            (#"{"name":"a","name":"b"}"#, "INVALID_ARGUMENT 19 Dog.name line 1, column 20, at $.name: "),
        ] { #expect(people.create(people.dog, json).hasPrefix(error), "\(json): \(people.create(people.dog, json))") }
        #expect(people.count(people.dog) == 0)
    }

    @Test func A28_aConverter() throws {
        let people = try People()
        let convert: objstore_json_convert = { property, kind, value, converted, isConverted, userdata in
            // The library is in use.
            if objstore_count(OpaquePointer(bitPattern: 1), 0, nil) == .OBJSTORE_OK { return .OBJSTORE_ERR_INTERNAL }
            guard value.kind == .OBJSTORE_KIND_STRING else { return .OBJSTORE_OK }
            if string(value)! == "fail" { return objstore_fail(42, text("no date")) }
            converted!.pointee =
                kind == .OBJSTORE_KIND_TIMESTAMP
                ? objstore_time(0, 1) : objstore_binary(value.data.text.bytes, value.data.text.length)
            isConverted!.pointee = true
            return .OBJSTORE_OK
        }
        let made = people.create(
            people.dog, #"{"name":"Rex","born":"zero","photo":"abc"}"#, 0, .OBJSTORE_POLICY_ERROR, convert)
        #expect(made == #"{"name":"Rex","age":null,"born":"1970-01-01T00:00:00.000000001Z","photo":"YWJj"}"#)
        #expect(
            people.create(people.dog, #"{"name":"Rex","born":"fail"}"#, 0, .OBJSTORE_POLICY_ERROR, convert).hasPrefix(
                "CALLBACK 21 Dog.born "))
        #expect(
            people.create(people.dog, #"{"name":"Rex","age":"x"}"#, 0, .OBJSTORE_POLICY_ERROR, convert).hasPrefix(
                "WRONG_TYPE 20 Dog.age "))
        #expect(
            people.create(people.dog, #"{"name":"Rex","born":{"$date":1000}}"#, extended)
                == #"{"name":"Rex","age":null,"born":"1970-01-01T00:00:01Z","photo":null}"#)
        #expect(people.count(people.dog) == 2)
    }

    @Test func referencesInMixedValuesMayLeadToWhatComesLater() throws {
        let home = try NamedStore { schema in
            try ok(objstore_schema_add_class(schema, text("Page")))
            try ok(
                objstore_schema_add_property(
                    schema, text("Page"), text("id"), .OBJSTORE_KIND_INT, UInt32(OBJSTORE_PROPERTY_PRIMARY_KEY)))
            try ok(objstore_schema_add_property(schema, text("Page"), text("extra"), .OBJSTORE_KIND_MIXED, 0))
            try ok(
                objstore_schema_add_collection(
                    schema, text("Page"), text("items"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_MIXED,
                    0))
        }
        defer { home.close() }
        let first = #"{"id":1,"extra":{"to":[{"$ref":"Page","$id":2}]},"items":[5,{"$ref":"Page","$id":1}]}"#
        let second = #"{"id":2,"extra":{"$ref":"Page","$id":1},"items":[]}"#
        try writing(home.store) { tx in
            var count: UInt64 = 0
            func create(_ json: String) -> objstore_status {
                objstore_create_all_from_json(
                    tx, home.classes["Page"]!, .OBJSTORE_POLICY_ERROR, extended, text(json), nil, nil, nil, &count)
            }
            #expect(create("[\(first)]") == .OBJSTORE_ERR_NO_SUCH_OBJECT)
            #expect(People.error.contains(#"at $[0].extra.to[0]["$id"]: there is no Page with id = 2"#))
            expect(try home.count(tx, "Page") == 0)
            try ok(create("[\(first),\(second)]"))
            #expect(count == 2)
            for (key, json) in [(1, first), (2, second)] {
                var buffer = objstore_buffer_init(), out = objstore_text(), object = objstore_object()
                try ok(objstore_find(tx, home.classes["Page"]!, objstore_int(Int64(key)), &object, nil))
                try ok(objstore_to_json(tx, object, 0, extended, &buffer, &out))
                #expect(string(out) == json)
                _ = objstore_buffer_free(&buffer)
            }
        }
        try verify(home.store)
    }

    @Test func A24_fromAFile() throws {
        let folder = TestFolder(), people = try People()
        let path = folder.path + "/other"
        func write(_ json: String) throws {
            let file = fopen(path, "w")!
            fputs(json, file)
            fclose(file)
        }
        func create(_ path: String, _ count: inout UInt64) -> objstore_status {
            objstore_create_all_from_json_file(
                people.tx, people.person, .OBJSTORE_POLICY_MODIFIED, 0, text(path), nil, nil, nil, &count)
        }
        var count: UInt64 = 0
        try write("[" + (0..<20_000).map { "{\"id\":\($0),\"name\":\"p\($0)\"}" }.joined(separator: ",\n") + "]")
        try ok(create(path, &count))
        #expect(count == 20_000 && people.count(people.person) == 20_000)
        // Nothing is written where there is no file, or where something in it is wrong.
        refused(create(folder.path + "/none", &count), .OBJSTORE_ERR_NOT_FOUND)
        refused(create(folder.path, &count), .OBJSTORE_ERR_IO)
        refused(create("", &count), .OBJSTORE_ERR_INVALID_ARGUMENT)
        try write("[{\"id\":30000,\"name\":\"\"},{\"id\":0.5}]")
        refused(create(path, &count), .OBJSTORE_ERR_WRONG_TYPE)
        try write("[{\"id\":30000,\"name\":\"\"},")
        refused(create(path, &count), .OBJSTORE_ERR_INVALID_JSON)
        #expect(people.count(people.person) == 20_000)
    }

    @Test func A24_A108_many() throws {
        let people = try People()
        func rows(_ mark: String) -> String {
            "["
                + (0..<1000).map { "{\"id\":\($0),\"name\":\"p\($0)\($0 % 100 == 0 ? mark : "")\"}" }.joined(
                    separator: ",\n") + "]"
        }
        var count: UInt64 = 0
        try ok(
            objstore_create_all_from_json(
                people.tx, people.person, .OBJSTORE_POLICY_ERROR, 0, text(rows("")), nil, nil, nil, &count))
        #expect(count == 1000 && people.count(people.person) == 1000)
        refused(
            objstore_create_all_from_json(
                people.tx, people.person, .OBJSTORE_POLICY_ERROR, 0, text(rows("")), nil, nil, nil, &count),
            .OBJSTORE_ERR_DUPLICATE_KEY)
        // By pieces; the last element is wrong: nothing stays of the others.
        final class Input {
            var bytes: ArraySlice<UInt8>
            init(_ text: String) { bytes = Array(text.utf8)[...] }
        }
        func stream(_ json: String) -> objstore_status {
            objstore_create_all_from_json_stream(
                people.tx, people.person, .OBJSTORE_POLICY_MODIFIED, 0,
                { room, capacity, count, userdata in
                    let input = Unmanaged<Input>.fromOpaque(userdata!).takeUnretainedValue(),
                        piece = input.bytes.prefix(min(1000, capacity))
                    UnsafeMutableRawBufferPointer(start: room, count: capacity).copyBytes(from: piece)
                    input.bytes = input.bytes.dropFirst(piece.count)
                    count!.pointee = piece.count
                    return .OBJSTORE_OK
                }, nil, Unmanaged.passRetained(Input(json)).toOpaque(), { Unmanaged<Input>.fromOpaque($0!).release() },
                &count)
        }
        refused(stream(String(rows("!").dropLast()) + ",\n{\"id\":\"x\"}]"), .OBJSTORE_ERR_WRONG_TYPE)
        #expect(People.error.contains("line 1001, column 7, at $[1000].id: "))
        #expect(
            people.create(people.person, #"{"id":100}"#, 0, .OBJSTORE_POLICY_MODIFIED)
                == #"{"id":100,"name":"p100","dogs":[],"address":null}"#)
        try ok(stream(rows("!")))
        #expect(
            people.create(people.person, #"{"id":100}"#, 0, .OBJSTORE_POLICY_MODIFIED)
                == #"{"id":100,"name":"p100!","dogs":[],"address":null}"#)
        #expect(people.count(people.person) == 1000)
        refused(
            objstore_create_all_from_json_stream(
                people.tx, people.person, .OBJSTORE_POLICY_ERROR, 0, { _, _, _, _ in objstore_fail(7, text("gone")) },
                nil, nil, nil, nil), .OBJSTORE_ERR_CALLBACK)
        #expect(People.error.contains("gone"))
    }
}
