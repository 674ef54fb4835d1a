import CObjStore
import Testing

/// Frog.things (list), Frog.seen (set), Frog.notes (map by text) and Frog.numbers (map by int) of mixed elements, and
/// Pond.
private struct Frogs {
    let store: OpaquePointer
    let frog: objstore_class_id, pond: objstore_class_id
    let things: objstore_property_id, seen: objstore_property_id, notes: objstore_property_id,
        numbers: objstore_property_id

    init(_ path: String?) throws {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        for cls in ["Frog", "Pond"] { try ok(objstore_schema_add_class(schema, text(cls))) }
        func add(_ name: String, _ kind: objstore_kind, _ key: objstore_kind) throws {
            try ok(objstore_schema_add_collection(schema, text("Frog"), text(name), kind, key, .OBJSTORE_KIND_MIXED, 0))
        }
        try add("things", .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL)
        try add("seen", .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL)
        try add("notes", .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING)
        try add("numbers", .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_INT)
        try ok(objstore_schema_add_property(schema, text("Pond"), text("n"), .OBJSTORE_KIND_INT, UInt32(nullable)))
        store = try openStore(path, schema)
        let view = try liveView(store)
        defer { _ = objstore_view_close(view) }
        let names = Names(view), frog = try names.cls("Frog")
        self.frog = frog
        pond = try names.cls("Pond")
        things = try names.property(frog, "things")
        seen = try names.property(frog, "seen")
        notes = try names.property(frog, "notes")
        numbers = try names.property(frog, "numbers")
        var info = objstore_property_info()
        info.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
        try ok(objstore_property_get_info(view, things, &info))
        expect(
            info.kind == .OBJSTORE_KIND_MIXED && info.collection == .OBJSTORE_KIND_LIST
                && info.flags & UInt32(nullable) != 0)
    }

    func create(_ tx: OpaquePointer, _ cls: objstore_class_id) throws -> objstore_object {
        var object = objstore_object()
        try ok(objstore_create(tx, cls, nil, nil, 0, &object))
        return object
    }

    func kinds(
        _ view: OpaquePointer, _ owner: objstore_object, _ property: objstore_property_id
    ) throws -> [objstore_kind] {
        var values = [objstore_value](repeating: objstore_value(), count: 50), count = 0,
            buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        try ok(
            objstore_collection_read(
                view, objstore_collection_of(owner, property), 0, values.count, &buffer, nil, &values, &count))
        return values.prefix(count).map(\.kind)
    }

}

private func packed(_ values: [objstore_value], _ buffer: inout objstore_buffer) throws -> objstore_value {
    var document = objstore_value()
    try ok(objstore_document_pack(values, values.count, &buffer, &document))
    return document
}

/// D41: elements of any kind come back as they were given; a set has different ones, in the order of their values, then
/// of their kinds.
@Test func d41CollectionsOfMixed() throws {
    let folder = TestFolder()
    var frogs = try Frogs(folder.store)
    let frog: objstore_object = try writing(frogs.store) { tx in
        let frog = try frogs.create(tx, frogs.frog), pond = try frogs.create(tx, frogs.pond)
        var buffer = objstore_buffer_init(), isNew = false, isKeyNew = false
        defer { _ = objstore_buffer_free(&buffer) }
        let document = try packed(
            [
                objstore_map_of(1), objstore_string(text("a")), objstore_list_of(2), objstore_int(1),
                objstore_link(pond),
            ], &buffer)
        let given = [
            objstore_int(1), objstore_double(1), objstore_null(),
            objstore_string(text(String(repeating: "x", count: 3000))), document, objstore_link(pond),
        ]
        let things = objstore_collection_of(frog, frogs.things), seen = objstore_collection_of(frog, frogs.seen),
            notes = objstore_collection_of(frog, frogs.notes)
        try ok(objstore_list_insert(tx, things, 0, given, given.count))
        for (value, isWanted) in [
            (objstore_double(1), true), (objstore_int(1), true), (objstore_int(1), false),
            (objstore_string(text("a")), true), (objstore_null(), true),
            (objstore_link(pond), true), (objstore_bool(true), true), (objstore_double(0.5), true),
        ] {
            try ok(objstore_set_insert(tx, seen, value, &isNew))
            expect(isNew == isWanted)
        }
        try ok(objstore_map_set(tx, notes, objstore_string(text("k")), document, &isKeyNew))
        try ok(objstore_map_set(tx, objstore_collection_of(frog, frogs.numbers), objstore_int(-7), document, &isKeyNew))
        refused(objstore_set_insert(tx, seen, document, &isNew), .OBJSTORE_ERR_WRONG_TYPE)
        refused(objstore_list_insert(tx, things, 0, [objstore_list_of(0)], 1), .OBJSTORE_ERR_WRONG_TYPE)
        var bad: [UInt8] = [12, 9]
        refused(objstore_list_insert(tx, things, 0, [objstore_document(&bad, 2)], 1), .OBJSTORE_ERR_INVALID_ARGUMENT)
        return frog
    }
    try frozen(frogs.store) { view in
        let wanted: [objstore_kind] = [
            .OBJSTORE_KIND_INT, .OBJSTORE_KIND_DOUBLE, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_STRING,
            .OBJSTORE_KIND_DOCUMENT, .OBJSTORE_KIND_LINK,
        ]
        expect(try frogs.kinds(view, frog, frogs.things) == wanted)
        let seen: [objstore_kind] = [
            .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_BOOL, .OBJSTORE_KIND_DOUBLE, .OBJSTORE_KIND_INT, .OBJSTORE_KIND_DOUBLE,
            .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_LINK,
        ]
        expect(try frogs.kinds(view, frog, frogs.seen) == seen)
        var index: Int64 = 0
        for (value, wanted) in [
            (objstore_double(1), 1), (objstore_int(1), 0), (objstore_int(2), -1), (objstore_null(), 2),
        ] {
            try ok(objstore_collection_find(view, objstore_collection_of(frog, frogs.things), value, &index))
            expect(index == Int64(wanted))
        }
    }
    try verify(frogs.store)
    try ok(objstore_close(frogs.store))
    // The same from the file.
    frogs = try Frogs(folder.store)
    try reading(frogs.store) { view in
        expect(
            try frogs.kinds(view, frog, frogs.things).count == 6
                && frogs.kinds(view, frog, frogs.notes) == [.OBJSTORE_KIND_DOCUMENT])
    }
    try ok(objstore_close(frogs.store))
}

/// A live view needs memory for what is bytes only: an int is none, whatever it lies in.
@Test func mixedElementsThroughALiveView() throws {
    let frogs = try Frogs(nil)
    let frog: objstore_object = try writing(frogs.store) { tx in
        let frog = try frogs.create(tx, frogs.frog)
        try ok(
            objstore_list_insert(
                tx, objstore_collection_of(frog, frogs.things), 0,
                [objstore_int(5), objstore_null(), objstore_bool(true)], 3))
        try ok(
            objstore_list_insert(tx, objstore_collection_of(frog, frogs.things), 3, [objstore_string(text("text"))], 1))
        return frog
    }
    let view = try liveView(frogs.store), things = objstore_collection_of(frog, frogs.things)
    var values = [objstore_value](repeating: objstore_value(), count: 4), value = objstore_value(), count = 0
    try ok(objstore_collection_get(view, things, 0, nil, nil, &value))
    expect(value.data.integer == 5)
    try ok(objstore_collection_read(view, things, 0, 3, nil, nil, &values, &count))
    expect(
        count == 3 && values[0].data.integer == 5 && values[1].kind == .OBJSTORE_KIND_NULL
            && values[2].kind == .OBJSTORE_KIND_BOOL)
    refused(objstore_collection_read(view, things, 0, 4, nil, nil, &values, &count), .OBJSTORE_ERR_WRONG_VIEW)
    try ok(objstore_view_close(view))
    try ok(objstore_close(frogs.store))
}

/// A path leads into elements: its first step is the index, or the text of the key.
@Test func pathsIntoMixedElements() throws {
    let frogs = try Frogs(nil)
    try writing(frogs.store) { tx in
        let frog = try frogs.create(tx, frogs.frog)
        var buffer = objstore_buffer_init(), value = objstore_value(), found = false
        defer { _ = objstore_buffer_free(&buffer) }
        let list = try packed([objstore_list_of(2), objstore_int(1), objstore_int(2)], &buffer)
        try ok(objstore_list_insert(tx, objstore_collection_of(frog, frogs.things), 0, [objstore_int(5), list], 2))
        try ok(objstore_map_set(tx, objstore_collection_of(frog, frogs.numbers), objstore_int(-7), list, nil))
        let key = objstore_string(text("-7"))
        try ok(
            objstore_mixed_set(
                tx, frog, frogs.things, [objstore_int(-1), objstore_int(0)], 2, objstore_string(text("new"))))
        try ok(objstore_mixed_insert(tx, frog, frogs.numbers, [key, objstore_int(-1)], 2, objstore_int(3)))
        try ok(objstore_mixed_get(tx, frog, frogs.things, [objstore_int(1)], 1, nil, &value, nil))
        expect(value.kind == .OBJSTORE_KIND_LIST && value.data.integer == 2)
        try ok(objstore_mixed_get(tx, frog, frogs.things, [objstore_int(1), objstore_int(0)], 2, nil, &value, nil))
        expect(string(value) == "new")
        try ok(objstore_mixed_get(tx, frog, frogs.numbers, [key, objstore_int(2)], 2, nil, &value, nil))
        expect(value.data.integer == 3)
        try ok(objstore_mixed_set(tx, frog, frogs.notes, [objstore_string(text("k"))], 1, objstore_int(9)))
        try ok(objstore_mixed_remove(tx, frog, frogs.things, [objstore_int(0)], 1))
        try ok(objstore_mixed_get(tx, frog, frogs.things, [objstore_int(1)], 1, nil, &value, &found))
        expect(!found)
        // What a path cannot say.
        refused(objstore_mixed_get(tx, frog, frogs.things, nil, 0, nil, &value, nil), .OBJSTORE_ERR_WRONG_TYPE)
        refused(objstore_mixed_set(tx, frog, frogs.things, nil, 0, objstore_int(1)), .OBJSTORE_ERR_WRONG_TYPE)
        refused(objstore_mixed_set(tx, frog, frogs.things, [key], 1, objstore_int(1)), .OBJSTORE_ERR_WRONG_TYPE)
        // In the same words as a key among nested values.
        let wrong = [objstore_map_of(1), objstore_string(text("x")), objstore_int(1)]
        for message in [
            refused(
                objstore_mixed_set(tx, frog, frogs.numbers, [wrong[1]], 1, objstore_int(1)), .OBJSTORE_ERR_WRONG_TYPE),
            refused(
                objstore_set_from(tx, frog, frogs.numbers, .OBJSTORE_POLICY_ERROR, wrong, wrong.count, nil),
                .OBJSTORE_ERR_WRONG_TYPE),
        ] {
            #expect(message.contains(#"Frog.numbers: the key "x" is not the text of an int"#))
        }
        refused(
            objstore_mixed_set(tx, frog, frogs.seen, [objstore_int(0)], 1, objstore_int(1)), .OBJSTORE_ERR_WRONG_TYPE)
        refused(
            objstore_mixed_set(tx, frog, frogs.things, [objstore_int(7)], 1, objstore_int(1)), .OBJSTORE_ERR_NOT_FOUND)
        refused(
            objstore_mixed_remove(tx, frog, frogs.notes, [objstore_string(text("none"))], 1), .OBJSTORE_ERR_NOT_FOUND)
    }
    try ok(objstore_close(frogs.store))
}

/// Links in elements: null, or out of their set, when the object goes; what links to it is found, and observed.
@Test func linksInMixedElements() throws {
    let folder = TestFolder()
    let frogs = try Frogs(folder.store)
    var made: [objstore_object] = [], ponds: [objstore_object] = []
    try writing(frogs.store) { tx in
        for _ in 0..<3 { made.append(try frogs.create(tx, frogs.frog)) }
        for _ in 0..<2 { ponds.append(try frogs.create(tx, frogs.pond)) }
        var buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        let deep = try packed(
            [objstore_list_of(2), objstore_link(ponds[0]), objstore_list_of(1), objstore_link(ponds[1])], &buffer)
        try ok(
            objstore_list_insert(
                tx, objstore_collection_of(made[0], frogs.things), 0,
                [deep, objstore_link(ponds[0]), objstore_int(11), deep], 4))
        try ok(objstore_list_insert(tx, objstore_collection_of(made[2], frogs.things), 0, [objstore_link(ponds[0])], 1))
        try ok(objstore_set_insert(tx, objstore_collection_of(made[1], frogs.seen), objstore_link(ponds[0]), nil))
        try ok(objstore_set_insert(tx, objstore_collection_of(made[1], frogs.seen), objstore_int(4), nil))
        try ok(
            objstore_map_set(
                tx, objstore_collection_of(made[1], frogs.notes), objstore_string(text("k")), objstore_link(ponds[0]),
                nil))
        // One of two places goes: it is linked still. Both: it is not.
        expect(try incoming(tx, ponds[1], frogs.things) == [made[0].key])
        try ok(objstore_collection_remove(tx, objstore_collection_of(made[0], frogs.things), 3, 1))
        expect(try incoming(tx, ponds[1], frogs.things) == [made[0].key])
        try ok(objstore_mixed_remove(tx, made[0], frogs.things, [objstore_int(0), objstore_int(1)], 2))
        expect(try incoming(tx, ponds[1], frogs.things) == [])
        refused(
            objstore_list_insert(
                tx, objstore_collection_of(made[0], frogs.things), 0,
                [
                    objstore_link(
                        objstore_object(class_id: ponds[0].class_id, store_tag: ponds[0].store_tag ^ 1, key: 0))
                ], 1), .OBJSTORE_ERR_WRONG_STORE)
    }
    // Observed: what links to the first pond.
    nonisolated(unsafe) var heard: [[UInt64]] = []
    var view: OpaquePointer?, results: OpaquePointer?, token: OpaquePointer?
    try ok(objstore_view_open(frogs.store, &view))
    try ok(objstore_incoming(view, ponds[0], frogs.things, &results))
    try withUnsafeMutablePointer(to: &heard) { heard in
        try ok(
            objstore_results_observe(
                results, 0,
                { changes, userdata in
                    var info = objstore_changes_info()
                    info.struct_size = UInt32(MemoryLayout<objstore_changes_info>.size)
                    _ = objstore_changes_get_info(changes, &info)
                    userdata!.assumingMemoryBound(to: [[UInt64]].self).pointee.append([
                        info.deletion_count, info.insertion_count, info.modification_count,
                    ])
                    return .OBJSTORE_OK
                }, heard, nil, &token))
        try ok(objstore_deliver(frogs.store, nil))
        heard.pointee = []
        try writing(frogs.store) { tx in
            try ok(
                objstore_list_insert(tx, objstore_collection_of(made[1], frogs.things), 0, [objstore_link(ponds[0])], 1)
            )
            try ok(objstore_collection_clear(tx, objstore_collection_of(made[2], frogs.things)))
            try ok(objstore_list_insert(tx, objstore_collection_of(made[0], frogs.things), 0, [objstore_int(1)], 1))
        }
        try ok(objstore_deliver(frogs.store, nil))
        expect(heard.pointee == [[1, 1, 1]])
        heard.pointee = []
        try writing(frogs.store) { tx in
            try ok(objstore_delete(tx, ponds[0]))
            for property in [frogs.things, frogs.seen, frogs.notes] {
                var count: UInt64 = 0
                refused(objstore_incoming_count(tx, ponds[0], property, &count), .OBJSTORE_ERR_NO_SUCH_OBJECT)
            }
        }
        try ok(objstore_deliver(frogs.store, nil))
        expect(heard.pointee == [[2, 0, 0]])
        try ok(objstore_token_close(token))
    }
    try ok(objstore_results_close(results))
    try ok(objstore_view_close(view))
    try reading(frogs.store) { view in
        expect(
            try frogs.kinds(view, made[0], frogs.things) == [
                .OBJSTORE_KIND_INT, .OBJSTORE_KIND_DOCUMENT, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_INT,
            ])
        expect(
            try frogs.kinds(view, made[1], frogs.seen) == [.OBJSTORE_KIND_INT]
                && frogs.kinds(view, made[1], frogs.notes) == [.OBJSTORE_KIND_NULL])
    }
    try verify(frogs.store)
    try ok(objstore_close(frogs.store))
}
