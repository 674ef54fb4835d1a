import CObjStore
import Testing

/// Dogs with owners, toys and whatever; owners with dogs: links in circles.
private struct Kennel {
    let store: OpaquePointer
    private(set) var properties: [String: objstore_property_id] = [:]
    private(set) var classes: [String: objstore_class_id] = [:]

    init() throws {
        var schema: OpaquePointer?, config: OpaquePointer?, opened: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        for cls in ["Dog", "Person", "Toy"] { try ok(objstore_schema_add_class(schema, text(cls))) }
        for (cls, name, kind, flags) in [
            ("Dog", "name", objstore_kind.OBJSTORE_KIND_STRING, Int32(0)),
            ("Dog", "weight", .OBJSTORE_KIND_DOUBLE, nullable), ("Dog", "born", .OBJSTORE_KIND_TIMESTAMP, nullable),
            ("Dog", "photo", .OBJSTORE_KIND_BINARY, nullable), ("Dog", "extra", .OBJSTORE_KIND_MIXED, nullable),
            ("Person", "id", .OBJSTORE_KIND_INT, primaryKey),
            ("Toy", "label", .OBJSTORE_KIND_STRING, 0),
        ] { try ok(objstore_schema_add_property(schema, text(cls), text(name), kind, UInt32(flags))) }
        try ok(
            objstore_schema_add_collection(
                schema, text("Dog"), text("notes"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_INT, 0))
        try ok(objstore_schema_add_link(schema, text("Dog"), text("owner"), text("Person"), 0))
        try ok(
            objstore_schema_add_link_collection(
                schema, text("Dog"), text("toys"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Toy"), 0))
        try ok(
            objstore_schema_add_link_collection(
                schema, text("Person"), text("dogs"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, text("Dog"), 0))
        try ok(objstore_config_new(&config))
        defer { _ = objstore_config_close(config) }
        try ok(objstore_config_set_memory(config, text("")))
        try ok(objstore_config_set_schema(config, schema, 1))
        try ok(objstore_open(config, &opened))
        store = opened!
        let view = try liveView(store)
        defer { _ = objstore_view_close(view) }
        for (cls, names) in [
            ("Dog", ["name", "weight", "born", "photo", "extra", "notes", "owner", "toys"]),
            ("Person", ["id", "dogs"]), ("Toy", ["label"]),
        ] {
            var id: objstore_class_id = 0
            try ok(objstore_find_class(view, text(cls), &id))
            classes[cls] = id
            for name in names {
                var property: objstore_property_id = 0
                try ok(objstore_find_property(view, id, text(name), &property))
                properties["\(cls).\(name)"] = property
            }
        }
    }

    func create(
        _ tx: OpaquePointer, _ cls: String, _ values: KeyValuePairs<String, objstore_value>
    ) throws -> objstore_object {
        var object = objstore_object()
        try ok(
            objstore_create(
                tx, classes[cls]!, values.map { properties["\(cls).\($0.key)"]! }, values.map(\.value), values.count,
                &object))
        return object
    }

    func collection(_ object: objstore_object, _ property: String) -> objstore_collection {
        var collection = objstore_collection()
        collection.owner = object
        collection.property_id = properties[property]!
        return collection
    }

    /// Rex with an owner, who has Rex and Bello, and a toy.
    func fill(_ tx: OpaquePointer) throws -> (rex: objstore_object, owner: objstore_object) {
        let owner = try create(tx, "Person", ["id": objstore_int(7)]),
            toy = try create(tx, "Toy", ["label": objstore_string(text("ball"))])
        let rex = try create(
            tx, "Dog",
            [
                "name": objstore_string(text("Rex \"x\"")), "weight": objstore_double(12),
                "born": objstore_time(1_795_382_375, 500_000_000),
                "photo": objstore_binary(text("abc").bytes, 3), "owner": objstore_link(owner),
            ])
        let bello = try create(tx, "Dog", ["name": objstore_string(text("Bello"))])
        for dog in [rex, bello] {
            try ok(objstore_set_insert(tx, collection(owner, "Person.dogs"), objstore_link(dog), nil))
        }
        try ok(objstore_list_insert(tx, collection(rex, "Dog.toys"), 0, [objstore_link(toy)], 1))
        try ok(objstore_map_set(tx, collection(rex, "Dog.notes"), objstore_string(text("b")), objstore_int(2), nil))
        try ok(objstore_map_set(tx, collection(rex, "Dog.notes"), objstore_string(text("a")), objstore_int(1), nil))
        var buffer = objstore_buffer_init(), extra = objstore_value()
        defer { _ = objstore_buffer_free(&buffer) }
        try ok(objstore_value_from_json(text("{seen: [1, 2.5, null]}"), json.relaxed, &buffer, &extra))
        try ok(objstore_set(tx, rex, properties["Dog.extra"]!, extra))
        return (rex, owner)
    }
}

/// OBJSTORE_JSON_…: the header checks that they are these (layout.c).
private let json = (extended: UInt32(1), relaxed: UInt32(2), pretty: UInt32(4), nanAsNull: UInt32(8))

private func written(
    _ view: OpaquePointer, _ object: objstore_object, depth: UInt32, _ flags: UInt32 = 0
) throws -> String {
    var buffer = objstore_buffer_init(), out = objstore_text()
    defer { _ = objstore_buffer_free(&buffer) }
    try ok(objstore_to_json(view, object, depth, flags, &buffer, &out))
    #expect(out.bytes![Int(out.length)] == 0 && buffer.length == out.length)
    return string(out)!
}

/// What comes of a text, written again; or the status, position and message of the error.
private func again(_ input: String, _ reading: UInt32 = 0, _ writing: UInt32 = 0) -> String {
    var buffer = objstore_buffer_init(), second = objstore_buffer_init(), value = objstore_value(),
        out = objstore_text()
    defer {
        _ = objstore_buffer_free(&buffer)
        _ = objstore_buffer_free(&second)
    }
    let status = objstore_value_from_json(text(input), reading, &buffer, &value)
    if status == .OBJSTORE_OK, objstore_value_to_json(value, writing, &second, &out) == .OBJSTORE_OK {
        return string(out)!
    }
    var error = objstore_error()
    error.struct_size = UInt32(MemoryLayout<objstore_error>.size)
    _ = objstore_last_error(&error)
    return "\(String(cString: objstore_status_name(error.status))) \(error.position) \(string(error.message)!)"
}

@Suite struct JSONTests {
    @Test func valuesThereAndBack() {
        #expect(again(#"{"b":[1,2.5,{}],"a":null,"é":"\u0000\n"}"#) == #"{"a":null,"b":[1,2.5,{}],"é":"\u0000\n"}"#)
        #expect(again("9223372036854775807") == "9223372036854775807")
        #expect(again("18446744073709551616") == "18446744073709551616")
        #expect(again("true") == "true")
        #expect(again("{ name: 'Rex', } // dog", json.relaxed) == #"{"name":"Rex"}"#)
        #expect(again(#"{"$date":"2026-11-22T21:19:35+01:00"}"#, json.extended) == "\"2026-11-22T20:19:35Z\"")
        #expect(
            again(#"{"$uuid":"6d6ff1a000004000800001 23456789ab"}"#, json.extended).hasPrefix(
                "OBJSTORE_ERR_INVALID_ARGUMENT 44 line 1"))
        #expect(again("[NaN]", json.relaxed, json.nanAsNull) == "[null]")
        #expect(again("[NaN]", json.relaxed, json.extended) == #"[{"$numberDouble":"NaN"}]"#)
        #expect(again("[NaN]", json.relaxed) == "OBJSTORE_ERR_OUT_OF_RANGE -1 value: JSON has no form for nan")
        #expect(again("[1]", 0, json.pretty) == "[\n  1\n]")
    }

    @Test func whereATextIsWrong() {
        #expect(
            again("{\"a\":\n [1, x]}")
                == "OBJSTORE_ERR_INVALID_JSON 11 json: line 2, column 6, at $.a[1]: a value was expected, not \"x\"")
        #expect(
            again("{a:1}").hasPrefix(
                "OBJSTORE_ERR_INVALID_JSON 1 json: line 1, column 2, at $: a key in double quotes was expected"))
        #expect(again("[\"\\ud800\"]").hasPrefix("OBJSTORE_ERR_INVALID_UTF8 2 json: line 1, column 3, at $[0]"))
        #expect(
            again(#"{"x":{"a":1,"a":2}}"#).hasPrefix(
                "OBJSTORE_ERR_INVALID_ARGUMENT 16 line 1, column 17, at $.x.a: a map has the key \"a\" twice"))
        #expect(
            again("[1e400]")
                == "OBJSTORE_ERR_OUT_OF_RANGE 1 line 1, column 2, at $[0]: 1e400 is beyond the range of a double")
        #expect(
            again(String(repeating: "[", count: 101) + String(repeating: "]", count: 101)).hasPrefix(
                "OBJSTORE_ERR_OUT_OF_RANGE 100"))
    }

    @Test func objectsAndWhatTheyLinkTo() throws {
        let kennel = try Kennel()
        defer { _ = objstore_close(kennel.store) }
        var tx: OpaquePointer?
        try ok(objstore_begin(kennel.store, &tx))
        let (rex, owner) = try kennel.fill(tx!)
        let head =
            #""name":"Rex \"x\"","weight":12.0,"born":"2026-11-22T21:19:35.5Z","photo":"YWJj","#
            + #""extra":{"seen":[1,2.5,null]},"notes":{"a":1,"b":2},"owner":"#
        let bello =
            #"{"name":"Bello","weight":null,"born":null,"photo":null,"extra":null,"notes":{},"owner":null,"toys":[]}"#
        func check(_ view: OpaquePointer) throws {
            // Links as references: primary key, or class and key.
            #expect(try written(view, rex, depth: 0) == "{\(head)7,\"toys\":[{\"$ref\":\"Toy\",\"$id\":0}]}")
            // The owner's dogs are beyond the depth.
            #expect(
                try written(view, rex, depth: 1)
                    == """
                    {\(head){\"id\":7,\"dogs\":[{\"$ref\":\"Dog\",\"$id\":0},{\"$ref\":\"Dog\",\"$id\":1}]},\"toys\"\
                    :[{\"label\":\"ball\"}]}
                    """
            )
            // Deep enough: but Rex is being written already.
            #expect(
                try written(view, rex, depth: 100)
                    == """
                    {\(head){\"id\":7,\"dogs\":[{\"$ref\":\"Dog\",\"$id\":0},\(bello)]},\"toys\":[{\"label\":\"ball\"\
                    }]}
                    """
            )
            #expect(
                try written(view, owner, depth: 100)
                    == "{\"id\":7,\"dogs\":[{\(head)7,\"toys\":[{\"label\":\"ball\"}]},\(bello)]}")
        }
        try check(tx!)
        try ok(objstore_commit(tx, nil))
        let live = try liveView(kennel.store)
        defer { _ = objstore_view_close(live) }
        try check(live)
        var frozen: OpaquePointer?
        try ok(objstore_view_freeze(live, &frozen))
        try check(frozen!)
        #expect(
            try written(live, rex, depth: 0, json.extended).contains(
                #""born":{"$date":"2026-11-22T21:19:35.5Z"},"photo":{"$binary":{"base64":"YWJj","subType":"00"}}"#))
        #expect(
            try written(live, owner, depth: 0, json.pretty)
                == """
                {\n  \"id\": 7,\n  \"dogs\": [\n    {\n      \"$ref\": \"Dog\",\n      \"$id\": 0\n    },\n    {\n    \
                  \"$ref\": \"Dog\",\n      \"$id\": 1\n    }\n  ]\n}
                """
        )

        // What has no form names its property, and the buffer is as it was.
        try ok(objstore_begin(kennel.store, &tx))
        try ok(objstore_set(tx, rex, kennel.properties["Dog.weight"]!, objstore_double(.nan)))
        var buffer = objstore_buffer_init()
        #expect(
            refused(objstore_to_json(tx, rex, 0, 0, &buffer, nil), .OBJSTORE_ERR_OUT_OF_RANGE)
                == "Dog.weight: JSON has no form for nan")
        #expect(buffer.bytes == nil)
        #expect(try written(tx!, rex, depth: 0, json.nanAsNull).contains("\"weight\":null"))
        try ok(objstore_cancel(tx))
        _ = objstore_view_close(frozen)
    }

    /// Values of properties as they are in the text of their object, and what a path leads to.
    @Test func propertiesAndPaths() throws {
        let kennel = try Kennel()
        defer { _ = objstore_close(kennel.store) }
        var tx: OpaquePointer?, buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        try ok(objstore_begin(kennel.store, &tx))
        let (rex, owner) = try kennel.fill(tx!)
        func value(
            _ object: objstore_object, _ property: String, _ steps: [objstore_value] = [], depth: UInt32 = 1,
            _ flags: UInt32 = 0
        ) throws -> String {
            var out = objstore_text()
            try ok(
                objstore_property_to_json(
                    tx, object, kennel.properties[property]!, steps, steps.count, depth, flags, &buffer, &out))
            return string(out)!
        }
        #expect(try value(rex, "Dog.name") == #""Rex \"x\"""#)
        #expect(try value(rex, "Dog.weight") == "12.0")
        #expect(try value(rex, "Dog.notes") == #"{"a":1,"b":2}"#)
        #expect(try value(rex, "Dog.toys") == #"[{"label":"ball"}]"#)
        #expect(try value(rex, "Dog.toys", depth: 0) == #"[{"$ref":"Toy","$id":0}]"#)
        #expect(try value(rex, "Dog.owner", depth: 0) == "7")
        #expect(try value(owner, "Person.dogs", depth: 0) == #"[{"$ref":"Dog","$id":0},{"$ref":"Dog","$id":1}]"#)
        #expect(try value(rex, "Dog.extra") == #"{"seen":[1,2.5,null]}"#)
        let seen = objstore_string(text("seen"))
        #expect(try value(rex, "Dog.extra", [seen]) == "[1,2.5,null]")
        #expect(try value(rex, "Dog.extra", [seen, objstore_int(-2)]) == "2.5")
        #expect(try value(rex, "Dog.extra", [seen, objstore_int(2)]) == "null")
        #expect(try value(rex, "Dog.extra", [seen], depth: 1, json.pretty) == "[\n  1,\n  2.5,\n  null\n]")
        func error(_ property: String, _ steps: [objstore_value], _ status: objstore_status) -> String? {
            refused(
                objstore_property_to_json(
                    tx, rex, kennel.properties[property]!, steps, steps.count, 0, 0, &buffer, nil), status)
        }
        #expect(
            error("Dog.extra", [seen, objstore_int(3)], .OBJSTORE_ERR_NOT_FOUND)?.contains(
                "Dog.extra: there is no [\"seen\"][3]") == true)
        #expect(
            error("Dog.extra", [seen, seen], .OBJSTORE_ERR_WRONG_TYPE)?.contains(
                "Dog.extra: the value at [\"seen\"] is a list") == true)
        #expect(error("Dog.name", [seen], .OBJSTORE_ERR_WRONG_TYPE)?.contains("Dog.name") == true)
        refused(
            objstore_property_to_json(tx, owner, kennel.properties["Dog.name"]!, nil, 0, 0, 0, &buffer, nil),
            .OBJSTORE_ERR_NO_SUCH_PROPERTY)
        try ok(objstore_set(tx, rex, kennel.properties["Dog.weight"]!, objstore_double(.nan)))
        #expect(error("Dog.weight", [], .OBJSTORE_ERR_OUT_OF_RANGE) == "Dog.weight: JSON has no form for nan")
        try ok(objstore_cancel(tx))
    }

    private final class Taken {
        var text = "", pieces = 0, freed = 0, stopsAt = Int.max
        var results: OpaquePointer?, view: OpaquePointer?
    }

    /// In pieces, all of them one text; the callback may call the library, but not close what it came from.
    @Test func resultsInPieces() throws {
        let kennel = try Kennel()
        defer { _ = objstore_close(kennel.store) }
        var tx: OpaquePointer?
        try ok(objstore_begin(kennel.store, &tx))
        for number in 0..<5000 { _ = try kennel.create(tx!, "Dog", ["name": objstore_string(text("dog \(number)"))]) }
        try ok(objstore_commit(tx, nil))
        let live = try liveView(kennel.store), taken = Taken()
        defer { _ = objstore_view_close(live) }
        var results: OpaquePointer?
        try ok(findAll(live, kennel.classes["Dog"]!, &results))
        defer { _ = objstore_results_close(results) }
        taken.results = results
        taken.view = live
        func run() -> objstore_status {
            objstore_results_to_json(
                results, 0, 0,
                { bytes, length, userdata in
                    let taken = Unmanaged<Taken>.fromOpaque(userdata!).takeUnretainedValue()
                    taken.text += String(decoding: UnsafeRawBufferPointer(start: bytes, count: length), as: UTF8.self)
                    taken.pieces += 1
                    refused(objstore_results_close(taken.results), .OBJSTORE_ERR_IN_CALLBACK)
                    refused(objstore_view_close(taken.view), .OBJSTORE_ERR_IN_CALLBACK)
                    var moved = false
                    #expect(objstore_view_refresh(taken.view, &moved) == .OBJSTORE_OK)
                    return taken.pieces == taken.stopsAt ? objstore_status(rawValue: 10007)! : .OBJSTORE_OK
                }, Unmanaged.passUnretained(taken).toOpaque(),
                { Unmanaged<Taken>.fromOpaque($0!).takeUnretainedValue().freed += 1 })
        }
        try ok(run())
        let dogs = (0..<5000).map {
            #"{"name":"dog \#($0)","weight":null,"born":null,"photo":null,"extra":null,"#
                + #""notes":{},"owner":null,"toys":[]}"#
        }
        #expect(taken.text == "[" + dogs.joined(separator: ",") + "]")
        #expect(taken.pieces > 5 && taken.freed == 1)

        // One is gone when its turn comes.
        try ok(objstore_begin(kennel.store, &tx))
        var gone = objstore_object()
        try ok(objstore_results_at(results, 4999, &gone))
        try ok(objstore_delete(tx, gone))
        try ok(objstore_commit(tx, nil))
        (taken.text, taken.pieces) = ("", 0)
        try ok(run())
        #expect(taken.text == "[" + dogs.dropLast().joined(separator: ",") + "]")

        // The callback ends it.
        (taken.text, taken.pieces, taken.stopsAt) = ("", 0, 2)
        refused(run(), .OBJSTORE_ERR_CANCELLED)
        #expect(taken.pieces == 2 && taken.freed == 3)
    }
}
