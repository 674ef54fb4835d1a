import CObjStore
import CSystem
import Testing

// Mixed properties through the C interface.

private let things = TestClass(
    name: "Thing",
    properties: [
        ("id", .OBJSTORE_KIND_INT, primaryKey), ("extra", .OBJSTORE_KIND_MIXED, 0),
        ("other", .OBJSTORE_KIND_MIXED, nullable),
    ])

private func get(_ view: OpaquePointer, _ object: objstore_object, _ property: objstore_property_id) throws -> Mixed {
    var buffer = objstore_buffer_init(), value = objstore_value()
    defer { _ = objstore_buffer_free(&buffer) }
    try ok(objstore_get(view, object, property, &buffer, &value))
    return try Mixed(value)
}

private func set(
    _ tx: OpaquePointer, _ object: objstore_object, _ property: objstore_property_id, _ value: Mixed
) throws {
    try ok(objstore_set(tx, object, property, try value.packed()))
}

private let document = Mixed.map([
    "name": .text("Rex"), "seen": .list([.int(1), .double(2.5.bitPattern), .null, .bool(true)]),
    "home": .map(["at": .list([.list([]), .map([:])])]),
])

@Test func everyKindComesBackAsItself() throws {
    let folder = TestFolder()
    var store = try openStore(folder.store, [things])
    let cls = try ClassOf(store, things)
    let values: [Mixed] = [
        .null, .bool(false), .bool(true), .int(0), .int(.max), .int(.min), .float(Float(1.5).bitPattern),
        .float(0x7fc0_0001), .double(1.0.bitPattern),
        .double((-0.0).bitPattern), .double(0x7ff8_0000_0000_0123), .decimal(100, 0x303c_0000_0000_0000), .text(""),
        .text("a\0é"),
        .text(String(repeating: "x", count: 100_000)), .bytes([]), .bytes([0, 255]), .time(-5, 999_999_999),
        .id(Array(0..<12)), .uuid(Array(0..<16)),
        .list([]), .map([:]), document,
    ]
    var objects: [objstore_object] = []
    try writing(store) { tx in
        for (id, value) in values.enumerated() {
            objects.append(try cls.create(tx, ["id": objstore_int(Int64(id)), "extra": try value.packed()]))
        }
        for (object, value) in zip(objects, values) {
            expect(try get(tx, object, cls["extra"]) == value)
            expect(try get(tx, object, cls["other"]) == .null)
        }
    }
    try ok(objstore_close(store))
    store = try openStore(folder.store, [things])
    try frozen(store) { view in
        for (object, value) in zip(objects, values) {
            expect(try get(view, object, cls["extra"]) == value)
            // Borrowed, by row and by several properties, too.
            var borrowed = objstore_value(), several = [objstore_value(), objstore_value()]
            try ok(objstore_get(view, object, cls["extra"], nil, &borrowed))
            expect(try Mixed(borrowed) == value)
            try ok(objstore_get_row(view, object, [cls["extra"], cls["id"]], 2, nil, &several))
            expect(try Mixed(several[0]) == value)
            var row = objstore_row()
            try ok(objstore_row_init(view, cls.id, &row))
            try ok(objstore_row_seek(&row, object))
            try ok(objstore_row_value(&row, cls["extra"], nil, &borrowed))
            expect(try Mixed(borrowed) == value)
            var number: Int64 = 0
            refused(objstore_row_int(&row, cls["extra"], &number, nil), .OBJSTORE_ERR_WRONG_TYPE)
        }
    }
    // A live view does not lend, and needs no buffer for numbers.
    try reading(store) { view in
        var value = objstore_value()
        try ok(objstore_get(view, objects[3], cls["extra"], nil, &value))
        refused(objstore_get(view, objects[14], cls["extra"], nil, &value), .OBJSTORE_ERR_WRONG_VIEW)
        refused(objstore_get(view, objects[22], cls["extra"], nil, &value), .OBJSTORE_ERR_WRONG_VIEW)
    }
    try verify(store)
    try ok(objstore_close(store))
}

/// A109: an arbitrary document, one nested element changed, and only that.
@Test func a109OneElementChanges() throws {
    let folder = TestFolder()
    var store = try openStore(folder.store, [things])
    let cls = try ClassOf(store, things), extra = cls["extra"]
    let object = try writing(store) { tx in try cls.create(tx, ["id": objstore_int(1), "extra": try document.packed()])
    }
    try hearing(store, cls.id) { heard in
        try writing(store) { tx in
            var value = objstore_value(), found = false
            func at(_ path: [Mixed.Step]) throws -> objstore_value {
                let steps = path.map(\.value)
                try ok(objstore_mixed_get(tx, object, extra, steps, steps.count, nil, &value, &found))
                return value
            }
            expect(try at([]).kind == .OBJSTORE_KIND_MAP && value.data.integer == 3)
            expect(try at([.key("seen")]).kind == .OBJSTORE_KIND_LIST && value.data.integer == 4)
            expect(try at([.key("seen"), .index(-1)]).kind == .OBJSTORE_KIND_BOOL && value.data.boolean)
            expect(try at([.key("seen"), .index(4)]).kind == .OBJSTORE_KIND_NULL && !found)
            expect(try at([.key("none")]).kind == .OBJSTORE_KIND_NULL && !found)
            let steps = [objstore_string(text("seen")), objstore_int(0)]
            try ok(objstore_mixed_set(tx, object, extra, steps, 2, objstore_int(7)))
            try ok(
                objstore_mixed_insert(
                    tx, object, extra, [steps[0], objstore_int(1)], 2, try Mixed.list([.text("new")]).packed()))
            try ok(
                objstore_mixed_remove(
                    tx, object, extra, [objstore_string(text("home")), objstore_string(text("at")), objstore_int(0)], 3)
            )
            try ok(objstore_mixed_set(tx, object, extra, [objstore_string(text("age"))], 1, objstore_double(0.5)))
        }
        try ok(objstore_deliver(store, nil))
        #expect(heard().last == 1)
    }
    let changed = Mixed.map([
        "age": .double(0.5.bitPattern), "name": .text("Rex"), "home": .map(["at": .list([.map([:])])]),
        "seen": .list([.int(7), .list([.text("new")]), .double(2.5.bitPattern), .null, .bool(true)]),
    ])
    try reading(store) { view in expect(try get(view, object, extra) == changed) }
    try ok(objstore_close(store))
    store = try openStore(folder.store, [things])
    try frozen(store) { view in
        expect(try get(view, object, extra) == changed)
        var keys = [objstore_value](repeating: objstore_null(), count: 4), count = 0, value = objstore_value()
        try ok(objstore_mixed_keys(view, object, extra, nil, 0, 1, 4, nil, &keys, &count))
        #expect(count == 3 && keys[..<3].map { string($0) } == ["home", "name", "seen"])
        try ok(objstore_mixed_keys(view, object, extra, nil, 0, .max, 4, nil, &keys, &count))
        #expect(count == 0)
        refused(
            objstore_mixed_keys(view, object, extra, [objstore_string(text("seen"))], 1, 0, 4, nil, &keys, &count),
            .OBJSTORE_ERR_WRONG_TYPE)
        try ok(objstore_mixed_read(view, object, extra, [objstore_string(text("seen"))], 1, nil, &value, nil))
        expect(try Mixed(value) == changed[[.key("seen")]])
        refused(
            objstore_mixed_read(view, object, extra, [objstore_string(text("none"))], 1, nil, &value, nil),
            .OBJSTORE_ERR_NOT_FOUND)
    }
    try verify(store)
    try ok(objstore_close(store))
}

@Test func whatCannotBeMixedIsRefused() throws {
    let store = try openStore(nil, [things])
    let cls = try ClassOf(store, things), extra = cls["extra"]
    var nested = Mixed.list([])
    for _ in 1..<100 { nested = .list([nested]) }
    try writing(store) { tx in
        let object = try cls.create(tx, ["id": objstore_int(1), "extra": try document.packed()])
        var buffer = objstore_buffer_init(), value = objstore_value(), found = false
        func packing(_ values: [objstore_value], _ status: objstore_status) -> String {
            refused(objstore_document_pack(values, values.count, &buffer, nil), status)
        }
        // Depth: 100 is allowed, by set, by pack and by path.
        try set(tx, object, extra, nested)
        expect(try get(tx, object, extra) == nested)
        #expect(packing([objstore_list_of(1)] + nested.flat, .OBJSTORE_ERR_OUT_OF_RANGE).contains("100"))
        let down = [objstore_value](repeating: objstore_int(0), count: 99)
        #expect(
            refused(
                objstore_mixed_insert(tx, object, extra, down + [objstore_int(0)], 100, try Mixed.list([]).packed()),
                .OBJSTORE_ERR_OUT_OF_RANGE
            ).contains("100"))
        try ok(objstore_mixed_insert(tx, object, extra, down + [objstore_int(0)], 100, objstore_int(5)))
        refused(
            objstore_mixed_get(
                tx, object, extra, down + [objstore_int(0), objstore_int(0), objstore_int(0)], 102, nil,
                &value, &found),
            .OBJSTORE_ERR_OUT_OF_RANGE)
        // What the array says must be there, and no more.
        _ = packing([], .OBJSTORE_ERR_INVALID_ARGUMENT)
        _ = packing([objstore_list_of(2), objstore_int(1)], .OBJSTORE_ERR_INVALID_ARGUMENT)
        _ = packing([objstore_list_of(-1)], .OBJSTORE_ERR_INVALID_ARGUMENT)
        _ = packing([objstore_int(1), objstore_int(1)], .OBJSTORE_ERR_INVALID_ARGUMENT)
        _ = packing([objstore_map_of(1), objstore_int(1), objstore_int(1)], .OBJSTORE_ERR_WRONG_TYPE)
        _ = packing([objstore_map_of(1), objstore_string(text("a"))], .OBJSTORE_ERR_INVALID_ARGUMENT)
        let a = objstore_string(text("a"))
        #expect(
            packing([objstore_map_of(2), a, objstore_int(1), a, objstore_int(2)], .OBJSTORE_ERR_INVALID_ARGUMENT)
                .contains("\"a\" twice"))
        _ = packing([objstore_list_of(1), objstore_time(0, 1_000_000_000)], .OBJSTORE_ERR_OUT_OF_RANGE)
        // No references or things that are no documents.
        refused(objstore_set(tx, object, extra, objstore_list_of(0)), .OBJSTORE_ERR_WRONG_TYPE)
        refused(objstore_set(tx, object, cls["id"], try document.packed()), .OBJSTORE_ERR_WRONG_TYPE)
        for bad: [UInt8] in [
            [], [2, 1], [12], [12, 1], [12, 1, 1], [12, 3, 0], [12, 1, 1, 1], [12, 1, 1, 1, 9, 9], [12, 2, 0, 0],
            [14, 1, 1, 1, 1, 97], [13, 1, 0],
        ] {
            var bytes = bad
            refused(
                objstore_set(tx, object, extra, objstore_document(&bytes, Int64(bad.count))),
                .OBJSTORE_ERR_INVALID_ARGUMENT)
        }
        // Paths that lead elsewhere.
        try set(tx, object, extra, document)
        func setting(_ path: [Mixed.Step], _ status: objstore_status) {
            let steps = path.map(\.value)
            refused(objstore_mixed_set(tx, object, extra, steps, steps.count, objstore_int(1)), status)
        }
        setting([.index(0)], .OBJSTORE_ERR_WRONG_TYPE)
        setting([.key("seen"), .key("a")], .OBJSTORE_ERR_WRONG_TYPE)
        setting([.key("name"), .index(0)], .OBJSTORE_ERR_WRONG_TYPE)
        setting([.key("seen"), .index(4)], .OBJSTORE_ERR_NOT_FOUND)
        setting([.key("seen"), .index(-5)], .OBJSTORE_ERR_NOT_FOUND)
        setting([.key("none"), .key("a")], .OBJSTORE_ERR_NOT_FOUND)
        refused(
            objstore_mixed_insert(tx, object, extra, [objstore_string(text("new"))], 1, objstore_int(1)),
            .OBJSTORE_ERR_WRONG_TYPE)
        refused(objstore_mixed_insert(tx, object, extra, nil, 0, objstore_int(1)), .OBJSTORE_ERR_INVALID_ARGUMENT)
        refused(objstore_mixed_remove(tx, object, extra, nil, 0), .OBJSTORE_ERR_INVALID_ARGUMENT)
        refused(
            objstore_mixed_set(tx, object, cls["other"], [objstore_int(0)], 1, objstore_int(1)),
            .OBJSTORE_ERR_WRONG_TYPE)
        refused(objstore_mixed_set(tx, object, cls["id"], nil, 0, objstore_int(1)), .OBJSTORE_ERR_WRONG_TYPE)
        expect(try get(tx, object, extra) == document)
        // Without steps it is the property.
        try ok(objstore_mixed_set(tx, object, extra, nil, 0, objstore_int(3)))
        try ok(objstore_mixed_get(tx, object, extra, nil, 0, nil, &value, nil))
        #expect(value.data.integer == 3)
        // Upsert: the same bits are no change, another kind of the same number is one.
        #expect(
            try cls.upsert(tx, .OBJSTORE_POLICY_MODIFIED, ["id": objstore_int(1), "extra": objstore_int(3)])
                == .OBJSTORE_OUTCOME_UNCHANGED)
        #expect(
            try cls.upsert(tx, .OBJSTORE_POLICY_MODIFIED, ["id": objstore_int(1), "extra": objstore_double(3)])
                == .OBJSTORE_OUTCOME_CHANGED)
        #expect(
            try cls.upsert(tx, .OBJSTORE_POLICY_MODIFIED, ["id": objstore_int(1), "extra": try document.packed()])
                == .OBJSTORE_OUTCOME_CHANGED)
        #expect(
            try cls.upsert(tx, .OBJSTORE_POLICY_MODIFIED, ["id": objstore_int(1), "extra": try document.packed()])
                == .OBJSTORE_OUTCOME_UNCHANGED)
        #expect(
            try cls.upsert(tx, .OBJSTORE_POLICY_ALL, ["id": objstore_int(1), "extra": try document.packed()])
                == .OBJSTORE_OUTCOME_CHANGED)
        _ = objstore_buffer_free(&buffer)
    }
    try ok(objstore_close(store))
    // Kinds of properties.
    var schema: OpaquePointer?
    try ok(objstore_schema_new(&schema))
    try ok(objstore_schema_add_class(schema, text("C")))
    refused(
        objstore_schema_add_property(schema, text("C"), text("a"), .OBJSTORE_KIND_MIXED, UInt32(primaryKey)),
        .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(
        objstore_schema_add_property(schema, text("C"), text("a"), .OBJSTORE_KIND_DOCUMENT, 0),
        .OBJSTORE_ERR_INVALID_ARGUMENT)
    refused(
        objstore_schema_add_collection(
            schema, text("C"), text("a"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_DOCUMENT, 0),
        .OBJSTORE_ERR_INVALID_ARGUMENT)
    try ok(objstore_schema_close(schema))
}

private let shelves = TestClass(
    name: "Shelf",
    properties: [
        ("id", .OBJSTORE_KIND_INT, primaryKey), ("any", .OBJSTORE_KIND_MIXED, indexed),
        ("plain", .OBJSTORE_KIND_MIXED, 0), ("code", .OBJSTORE_KIND_MIXED, 8),
    ])

/// Numbers of all kinds are one family, strings and binaries another; through the index and without it.
@Test func mixedValuesAreCompared() throws {
    let folder = TestFolder()
    var store = try openStore(folder.store, [shelves])
    let cls = try ClassOf(store, shelves)
    let values: [Mixed] = [
        .null, .bool(true), .int(1), .double(1.0.bitPattern), .decimal(10, 0x303e_0000_0000_0000), .int(2),
        .double(Double.nan.bitPattern), .text("1"), .bytes([0x31]),
        .text("n"), .time(1, 0), .list([.int(1)]), .list([.double(1.0.bitPattern), .null]), .map(["a": .int(1)]),
        .bool(false), .float(Float(-1.5).bitPattern),
    ]
    try writing(store) { tx in
        for (id, value) in values.enumerated() {
            let packed = try value.packed()
            try cls.create(
                tx,
                [
                    "id": objstore_int(Int64(id)), "any": packed, "plain": packed,
                    "code": try Mixed.list([.int(Int64(id))]).packed(),
                ])
        }
    }
    func check(_ view: OpaquePointer) throws {
        func ask(_ op: objstore_operator, _ value: Mixed, _ wanted: [Int]) throws {
            for name in ["any", "plain"] {
                var results: OpaquePointer?, count: UInt64 = 0, filled = 0, first = objstore_object(), found = false
                try ok(findWhere(view, cls.id, cls[name], op, try value.packed(), &results))
                var objects = [objstore_object](repeating: objstore_object(), count: 100)
                try ok(objstore_results_objects(results, 0, &objects, 100, &filled))
                try ok(objstore_results_close(results))
                #expect(
                    try objects.prefix(filled).map { Int(try cls.int(view, $0, "id")) } == wanted,
                    "\(name) \(op.rawValue) \(value)")
                try ok(countWhere(view, cls.id, cls[name], op, try value.packed(), &count))
                try ok(firstWhere(view, cls.id, cls[name], op, try value.packed(), &first, &found))
                #expect(Int(count) == wanted.count && found == !wanted.isEmpty)
            }
        }
        let all = Array(values.indices)
        try ask(.OBJSTORE_EQUAL, .int(1), [2, 3, 4])
        try ask(.OBJSTORE_NOT_EQUAL, .float(Float(1).bitPattern), all.filter { !(2...4).contains($0) })
        try ask(.OBJSTORE_EQUAL, .bool(true), [1])
        try ask(.OBJSTORE_LESS, .bool(true), [14])
        try ask(.OBJSTORE_LESS, .int(2), [2, 3, 4, 15])
        try ask(.OBJSTORE_GREATER_EQUAL, .int(1), [2, 3, 4, 5])
        try ask(.OBJSTORE_GREATER, .double((-Double.infinity).bitPattern), [2, 3, 4, 5, 15])
        try ask(.OBJSTORE_EQUAL, .double(Double.nan.bitPattern), [])
        try ask(.OBJSTORE_NOT_EQUAL, .double(Double.nan.bitPattern), all)
        try ask(.OBJSTORE_EQUAL, .bytes([0x31]), [7, 8])
        try ask(.OBJSTORE_GREATER, .text("1"), [9])
        try ask(.OBJSTORE_EQUAL, .list([.float(Float(1).bitPattern)]), [11])
        try ask(.OBJSTORE_GREATER, .list([]), [11, 12])
        try ask(.OBJSTORE_EQUAL, .map(["a": .int(1)]), [13])
        try ask(.OBJSTORE_LESS_EQUAL, .map([:]), [])
        try ask(.OBJSTORE_EQUAL, .null, [0])
        try ask(.OBJSTORE_NOT_EQUAL, .null, Array(all.dropFirst()))
        var count: UInt64 = 0
        try ask(.OBJSTORE_LESS, .null, [])
        try ask(.OBJSTORE_GREATER_EQUAL, .null, [])
        #expect(
            refused(
                countWhere(view, cls.id, cls["any"], .OBJSTORE_EQUAL, objstore_list_of(1), &count),
                .OBJSTORE_ERR_WRONG_TYPE
            ).contains("Shelf.any"))
        // The index alone has one order for all.
        var index: objstore_index_id = 0, results: OpaquePointer?,
            objects = [objstore_object](repeating: objstore_object(), count: 100), filled = 0
        try ok(objstore_find_index(view, cls.id, [cls["any"]], 1, &index))
        try ok(findIn(view, index, [], [], 0, &results))
        try ok(objstore_results_objects(results, 0, &objects, 100, &filled))
        try ok(objstore_results_close(results))
        #expect(
            try objects.prefix(filled).map { Int(try cls.int(view, $0, "id")) } == [
                0, 14, 1, 15, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
            ])
        try ok(
            countIn(
                view, index, [objstore_bool(true)], [objstore_string(text("m"))], UInt32(OBJSTORE_RANGE_AFTER_FROM),
                &count))
        #expect(count == 8)
        var object = objstore_object(), found = false
        try ok(objstore_find_index(view, cls.id, [cls["code"]], 1, &index))
        for (wanted, code) in [(5, Mixed.list([.double(5.0.bitPattern)])), (-1, .list([])), (-1, .null)] {
            try ok(objstore_find_by(view, index, [try code.packed()], 1, &object, &found))
            #expect(found == (wanted >= 0))
            if found { #expect(try cls.int(view, object, "id") == Int64(wanted)) }
        }
    }
    try writing(store) { tx in try check(tx) }
    try writing(store) { tx in
        let one = try require(try cls.find(tx, objstore_int(1)))
        #expect(
            refused(
                objstore_set(tx, one, cls["code"], try Mixed.list([.float(Float(5).bitPattern)]).packed()),
                .OBJSTORE_ERR_DUPLICATE_KEY
            ).contains("Shelf"))
        refused(
            objstore_mixed_set(tx, one, cls["code"], [objstore_int(0)], 1, objstore_double(5)),
            .OBJSTORE_ERR_DUPLICATE_KEY)
        expect(try get(tx, one, cls["code"]) == .list([.int(1)]))
        // An element inside moves the object in the index.
        try ok(objstore_mixed_set(tx, one, cls["code"], [objstore_int(0)], 1, objstore_double(1.5)))
        try ok(objstore_mixed_set(tx, one, cls["code"], [objstore_int(0)], 1, objstore_int(1)))
    }
    try verify(store)
    try ok(objstore_close(store))
    store = try openStore(folder.store, [shelves])
    try reading(store) { view in try check(view) }
    try ok(objstore_close(store))
}

@Test func limitOfSize() throws {
    let store = try openStore(nil, [things]) { config in
        try ok(objstore_config_set_limit(config, .OBJSTORE_LIMIT_VALUE_BYTES, 1000))
    }
    let cls = try ClassOf(store, things), extra = cls["extra"]
    try writing(store) { tx in
        let object = try cls.create(
            tx, ["id": objstore_int(1), "extra": objstore_string(text(String(repeating: "x", count: 999)))])
        refused(
            objstore_set(tx, object, extra, objstore_string(text(String(repeating: "x", count: 1000)))),
            .OBJSTORE_ERR_VALUE_TOO_LARGE)
        try set(tx, object, extra, .list([.text(String(repeating: "x", count: 990))]))
        refused(
            objstore_mixed_insert(tx, object, extra, [objstore_int(-1)], 1, objstore_int(1)),
            .OBJSTORE_ERR_VALUE_TOO_LARGE)
        expect(try get(tx, object, extra) == .list([.text(String(repeating: "x", count: 990))]))
    }
    try ok(objstore_close(store))
}

@Test func defaultsAndIntrospection() throws {
    var cls = things
    cls.defaults = ["extra": try document.packed(), "other": objstore_int(7)]
    let folder = TestFolder()
    var store = try openStore(folder.store, [cls])
    let ids = try ClassOf(store, cls)
    let object = try writing(store) { tx in try ids.create(tx, ["id": objstore_int(1)]) }
    try ok(objstore_close(store))
    store = try openStore(folder.store, [cls])
    try reading(store) { view in
        expect(try get(view, object, ids["extra"]) == document)
        expect(try get(view, object, ids["other"]) == .int(7))
        var info = objstore_property_info()
        info.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
        try ok(objstore_property_get_info(view, ids["extra"], &info))
        #expect(info.kind == .OBJSTORE_KIND_MIXED && info.flags & UInt32(nullable) != 0)
        expect(try Mixed(info.default_value) == document)
    }
    try ok(objstore_close(store))
    // Rows that are older than the property read what its default was.
    var more = cls
    more = TestClass(
        name: "Thing", properties: cls.properties + [("late", .OBJSTORE_KIND_MIXED, 0)],
        defaults: cls.defaults.merging(["late": try document.packed()]) { a, _ in a })
    store = try openStore(folder.store, [more], version: 2)
    let late = try ClassOf(store, more)
    try reading(store) { view in expect(try get(view, object, late["late"]) == document) }
    try writing(store) { tx in
        try ok(objstore_mixed_set(tx, object, late["late"], [objstore_string(text("name"))], 1, objstore_null()))
    }
    try reading(store) { view in expect(try get(view, object, late["late"])[[.key("name")]] == .null) }
    try verify(store)
    try ok(objstore_close(store))
}

@Test func columnsOfMixed() throws {
    let store = try openStore(nil, [things])
    let cls = try ClassOf(store, things)
    var random = MixedRandom(77)
    let values = (0..<600).map { _ in random.value() }
    try writing(store) { tx in
        var bytes: [UInt8] = [], offsets: [Int64] = [0], validity = [UInt8](repeating: 0, count: 75),
            buffer = objstore_buffer_init()
        for (row, value) in values.enumerated() {
            if value != .null {
                let flat = value.flat
                try ok(objstore_document_pack(flat, flat.count, &buffer, nil))
                bytes += UnsafeBufferPointer(start: buffer.bytes, count: buffer.length)
                validity[row >> 3] |= 1 << UInt8(row & 7)
            }
            offsets.append(Int64(bytes.count))
        }
        let ids = (0..<600).map { Int64($0) }
        func insert(_ bytes: [UInt8], _ rows: Int) -> objstore_status {
            ids.withUnsafeBytes { ids in
                bytes.withUnsafeBytes { bytes in
                    offsets.withUnsafeBufferPointer { offsets in
                        validity.withUnsafeBufferPointer { validity in
                            var columns = [
                                objstore_column_init(cls["id"], .OBJSTORE_KIND_INT, ids.baseAddress),
                                objstore_column_init(cls["extra"], .OBJSTORE_KIND_MIXED, bytes.baseAddress),
                            ]
                            columns[1].offsets = offsets.baseAddress
                            columns[1].validity = validity.baseAddress
                            columns[1].values_bytes = UInt64(bytes.count)
                            return objstore_insert_rows(
                                tx, cls.id, .OBJSTORE_POLICY_MODIFIED, columns, 2, rows, nil, nil)
                        }
                    }
                }
            }
        }
        var broken = bytes
        let row = values.firstIndex { if case .list(let list) = $0 { !list.isEmpty } else { false } }!
        broken[Int(offsets[row]) + 1] = 9
        #expect(refused(insert(broken, 600), .OBJSTORE_ERR_INVALID_ARGUMENT).contains("row \(row), Thing.extra"))
        expect(try cls.count(tx) == 0)
        try ok(insert(bytes, 600))
        try ok(insert(bytes, 3))
        for (row, value) in values.enumerated() {
            expect(try get(tx, try require(try cls.find(tx, objstore_int(Int64(row)))), cls["extra"]) == value)
        }
        _ = objstore_buffer_free(&buffer)
    }
    // Out again: by column and packed.
    try reading(store) { view in
        var buffer = objstore_buffer_init(), position: Int64 = -1, offsets = [Int64](repeating: 0, count: 601),
            validity = [UInt8](repeating: 0, count: 75), count = 0
        try ok(
            objstore_read_text_column(
                view, cls.id, cls["extra"], 600, &position, &buffer, &offsets, &validity, nil, &count))
        #expect(count == 600)
        for (row, value) in values.enumerated() where value != .null {
            let node = objstore_document(buffer.bytes! + Int(offsets[row]), offsets[row + 1] - offsets[row])
            expect(try Mixed(node) == value)
        }
        var results: OpaquePointer?
        try ok(findAll(view, cls.id, &results))
        try ok(objstore_results_read(results, 0, 600, [cls["extra"]], 1, &buffer))
        let packed = UnsafeRawPointer(buffer.bytes!), line = 64
        let at = packed.load(fromByteOffset: line + 16, as: UInt64.self),
            from = packed.load(fromByteOffset: line + 24, as: UInt64.self)
        for (row, value) in values.enumerated() where value != .null {
            let offsets = (packed + Int(at)).assumingMemoryBound(to: Int64.self)
            expect(
                try Mixed(objstore_document(packed + Int(from) + Int(offsets[row]), offsets[row + 1] - offsets[row]))
                    == value)
        }
        #expect(packed.load(fromByteOffset: line + 40, as: UInt64.self) == UInt64(values.count { $0 == .null }))
        var found: UInt64 = 0
        try ok(countWhere(view, cls.id, cls["extra"], .OBJSTORE_EQUAL, objstore_null(), &found))
        #expect(found == UInt64(values.count { $0 == .null }))
        try ok(objstore_results_close(results))
        _ = objstore_buffer_free(&buffer)
    }
    try verify(store)
    try ok(objstore_close(store))
}

@Test func orderAcrossKinds() throws {
    func order(_ a: Mixed, _ b: Mixed) throws -> Int32 {
        var order: Int32 = 9
        try ok(objstore_value_compare(try a.packed(), try b.packed(), &order))
        return order
    }
    func decimal(_ text: String) throws -> Mixed {
        var decimal = objstore_decimal128()
        try ok(objstore_decimal128_from_text(CAPITests.text(text), &decimal))
        return .decimal(decimal.low, decimal.high)
    }
    // Ascending; values of a line are equal.
    let lines: [[Mixed]] = [
        [.null], [.bool(false)], [.bool(true)], [.double((-Double.infinity).bitPattern), try decimal("-Infinity")],
        [try decimal("-1E400")], [.int(.min), .double((-0x1p63).bitPattern)], [.int(.min + 1)],
        [.double((-1.5).bitPattern), try decimal("-1.50")],
        [.int(0), .double((-0.0).bitPattern), .float(0), try decimal("-0E5")],
        [.double(Double.leastNonzeroMagnitude.bitPattern)], [try decimal("0.1")], [.double(0.1.bitPattern)],
        [.float(Float(0.1).bitPattern)],
        [.int(1), .double(1.0.bitPattern), try decimal("1.0"), .float(Float(1).bitPattern)],
        [.int(1 << 53), .double(0x1p53.bitPattern)], [.int(1 << 53 + 1), try decimal("9007199254740993")],
        [.int(.max), try decimal("9223372036854775807")],
        [.double(0x1p63.bitPattern), try decimal("9223372036854775808")],
        [.double(1e300.bitPattern)], [try decimal("1E301")], [.double(Double.greatestFiniteMagnitude.bitPattern)],
        [try decimal("1E309")], [.double(Double.infinity.bitPattern), .float(Float.infinity.bitPattern)],
        [.double(Double.nan.bitPattern), .float(0x7fc0_0000), try decimal("NaN")], [.text(""), .bytes([])],
        [.bytes([0x61]), .text("a")], [.text("aa")], [.text("é")], [.bytes([255])],
        [.time(-1, 0)], [.time(0, 0)], [.time(0, 1)], [.id(Array(repeating: 0, count: 12))],
        [.id([255] + Array(repeating: 0, count: 11))],
        [.uuid(Array(repeating: 0, count: 16))], [.uuid([255] + Array(repeating: 0, count: 15))], [.list([])],
        [.list([.null])], [.list([.null, .null])], [.list([.int(1)]), .list([.double(1.0.bitPattern)])],
        [.list([.int(1), .int(0)])], [.map([:])], [.map(["a": .int(1)])], [.map(["a": .int(1), "b": .null])],
        [.map(["a": .int(2)])], [.map(["b": .null])],
    ]
    for (i, line) in lines.enumerated() {
        for (j, other) in lines.enumerated() {
            for a in line {
                for b in other { expect(try order(a, b) == (i == j ? 0 : i < j ? -1 : 1), "\(a) and \(b)") }
            }
        }
    }
    var result: Int32 = 0
    for (a, b, wanted) in [
        (link(1, 5), objstore_null(), 1), (link(1, 5), link(1, 5), 0), (link(1, 5), link(2, 4), -1),
        (link(1, 5), link(1, 4), 1),
    ] {
        try ok(objstore_value_compare(a, b, &result))
        expect(Int(result) == wanted)
    }
}

/// The link at the end of a path, which is there.
private func link(
    _ view: OpaquePointer, _ object: objstore_object, _ property: objstore_property_id, _ path: [objstore_value]
) throws -> objstore_object? {
    var value = objstore_value(), found = false
    try ok(objstore_mixed_get(view, object, property, path, path.count, nil, &value, &found))
    expect(found)
    return value.kind == .OBJSTORE_KIND_LINK ? value.data.link : nil
}

private func same(_ a: objstore_object?, _ b: objstore_object) -> Bool {
    guard let a else { return false }
    return a.key == b.key && a.class_id == b.class_id && a.store_tag == b.store_tag
}

private func link(_ cls: UInt32, _ key: Int64) -> objstore_value {
    objstore_link(objstore_object(class_id: cls, store_tag: 0, key: key))
}

/// A42: companions of A41's dogs, read by their type.
@Test func a42TheTypeOfAMixedValue() throws {
    let dogs = TestClass(
        name: "Dog", properties: [("name", .OBJSTORE_KIND_STRING, 0), ("companion", .OBJSTORE_KIND_MIXED, 0)])
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, dogs), name = cls["name"], companion = cls["companion"]
    var made: [String: objstore_object] = [:]
    try writing(store) { tx in
        for dog in ["Rex", "Wolfie", "Spot", "Fido"] {
            made[dog] = try cls.create(tx, ["name": objstore_string(text(dog))])
        }
        try ok(objstore_set(tx, made["Wolfie"]!, companion, objstore_string(text("Fluffy the Cat"))))
        try ok(objstore_set(tx, made["Fido"]!, companion, objstore_link(made["Spot"]!)))
    }
    try frozen(store) { view in
        func read(_ dog: String) throws -> objstore_value {
            var value = objstore_value()
            try ok(objstore_get(view, made[dog]!, companion, nil, &value))
            return value
        }
        for dog in ["Rex", "Spot"] { expect(try read(dog).kind == .OBJSTORE_KIND_NULL) }
        expect(try string(read("Wolfie")) == "Fluffy the Cat")
        let friend = try read("Fido")
        expect(friend.kind == .OBJSTORE_KIND_LINK && same(friend.data.link, made["Spot"]!))
        var found = objstore_value()
        try ok(objstore_get(view, friend.data.link, name, nil, &found))
        expect(string(found) == "Spot")
        // Asked for another type.
        var row = objstore_row(), number: Int64 = 7, isNull = false
        try ok(objstore_row_init(view, cls.id, &row))
        try ok(objstore_row_seek(&row, made["Wolfie"]!))
        refused(objstore_row_int(&row, companion, &number, &isNull), .OBJSTORE_ERR_WRONG_TYPE)
        expect(number == 7)
    }
}

/// A41, F72: a mixed value links to an object, alone or inside lists and maps; when the object goes, each place becomes
/// null.
@Test func a41LinksInMixedValues() throws {
    let folder = TestFolder()
    var store = try openStore(folder.store, [things])
    let cls = try ClassOf(store, things), extra = cls["extra"], other = cls["other"]
    let made: [objstore_object] = try writing(store) { tx in
        let objects = [
            try cls.create(tx, ["id": objstore_int(1)]), try cls.create(tx, ["id": objstore_int(2)]),
            try cls.create(tx, ["id": objstore_int(3)]),
        ]
        try ok(objstore_set(tx, objects[0], extra, objstore_link(objects[1])))
        var buffer = objstore_buffer_init(), document = objstore_value()
        defer { _ = objstore_buffer_free(&buffer) }
        let values = [
            objstore_map_of(2), objstore_string(text("a")), objstore_list_of(2), objstore_link(objects[1]),
            objstore_link(objects[2]), objstore_string(text("b")), objstore_link(objects[1]),
        ]
        try ok(objstore_document_pack(values, values.count, &buffer, &document))
        try ok(objstore_set(tx, objects[0], other, document))
        try ok(objstore_mixed_set(tx, objects[2], other, nil, 0, document))
        try ok(objstore_mixed_set(tx, objects[2], other, [objstore_string(text("c"))], 1, objstore_link(objects[2])))
        return objects
    }
    let fido = made[0], spot = made[1], max = made[2]
    let a = objstore_string(text("a")), b = objstore_string(text("b")), c = objstore_string(text("c"))
    try frozen(store) { view in
        var value = objstore_value(), values = [objstore_value](repeating: objstore_null(), count: 8), length = 0
        try ok(objstore_get(view, fido, extra, nil, &value))
        expect(value.kind == .OBJSTORE_KIND_LINK && same(value.data.link, spot))
        expect(try same(link(view, fido, other, [a, objstore_int(1)]), max))
        expect(
            try incoming(view, spot, extra).count == 1 && incoming(view, spot, other).count == 2
                && incoming(view, max, other).count == 2 && incoming(view, fido, other).count == 0)
        // Inside a document that was read the store is not said.
        try ok(objstore_get(view, fido, other, nil, &value))
        try ok(objstore_document_unpack(value, &values, values.count, &length))
        expect(
            length == 7 && values[3].kind == .OBJSTORE_KIND_LINK && values[3].data.link.key == spot.key
                && values[3].data.link.store_tag == 0)
        // A companion is one-way; it is found by the question, too.
        var found: UInt64 = 0
        try ok(countWhere(view, cls.id, extra, .OBJSTORE_EQUAL, objstore_link(spot), &found))
        expect(found == 1)
        for (target, property, owners) in [
            (spot, extra, [fido]), (spot, other, [fido, max]), (max, other, [fido, max]), (fido, other, []),
        ] {
            expect(try incoming(view, target, property) == owners.map(\.key))
        }
    }
    try writing(store) { tx in
        expect(
            refused(
                objstore_set(
                    tx, fido, extra,
                    objstore_link(
                        objstore_object(class_id: spot.class_id, store_tag: spot.store_tag ^ 1, key: spot.key))),
                .OBJSTORE_ERR_WRONG_STORE
            ).contains("Thing.extra"))
        refused(
            objstore_set(
                tx, fido, extra,
                objstore_link(objstore_object(class_id: spot.class_id, store_tag: spot.store_tag, key: 1 << 40))),
            .OBJSTORE_ERR_NO_SUCH_OBJECT)
        refused(
            objstore_set(
                tx, fido, extra, objstore_link(objstore_object(class_id: 99, store_tag: spot.store_tag, key: 0))),
            .OBJSTORE_ERR_NO_SUCH_CLASS)
        try ok(objstore_delete(tx, spot))
        refused(objstore_set(tx, fido, extra, objstore_link(spot)), .OBJSTORE_ERR_NO_SUCH_OBJECT)
    }
    try ok(objstore_close(store))
    store = try openStore(folder.store, [things])
    try reading(store) { view in
        expect(try get(view, fido, extra) == .null)
        for object in [fido, max] {
            expect(
                try link(view, object, other, [a, objstore_int(0)])?.key == nil
                    && link(view, object, other, [b])?.key == nil)
            expect(try link(view, object, other, [a, objstore_int(1)])?.key == max.key)
        }
        guard let now = try link(view, max, other, [c]) else { return expect(false, "the link is gone") }
        expect(now.key == max.key)
        expect(try incoming(view, now, other).count == 2)
    }
    try verify(store)
    try ok(objstore_close(store))
}

// MARK: Random histories

@Test(arguments: [1, 2, 3, 4] as [UInt64])
func randomHistoriesOfMixed(_ seed: UInt64) throws {
    let folder = TestFolder()
    var store = try openStore(folder.store, [things])
    let cls = try ClassOf(store, things), properties = [cls["extra"], cls["other"]]
    var random = MixedRandom(seed), model: [Int64: [Mixed]] = [:], objects: [Int64: objstore_object] = [:],
        committed = model
    var edits = 0, refusals = 0, counter: Int64 = 0

    func compare(_ view: OpaquePointer, _ what: String) throws {
        expect(try cls.count(view) == model.count, "seed \(seed), \(what)")
        for (key, values) in model {
            for (property, value) in zip(properties, values) {
                try #require(try get(view, objects[key]!, property) == value, "seed \(seed), \(what), object \(key)")
            }
        }
    }
    func change(_ tx: OpaquePointer) throws {
        if model.isEmpty || random.below(12) == 0 {
            let values = [random.value(), random.value()]
            counter += 1
            let object = try cls.create(
                tx, ["id": objstore_int(counter), "other": try values[1].packed(), "extra": try values[0].packed()])
            objects[object.key] = object
            model[object.key] = values
            return
        }
        let key = model.keys.sorted()[random.below(model.count)], object = objects[key]!, which = random.below(2)
        switch random.below(12) {
        case 0 where random.below(4) == 0:
            try ok(objstore_delete(tx, object))
            model[key] = nil
        case 0, 1:
            let value = random.value()
            try set(tx, object, properties[which], value)
            model[key]![which] = value
        case 2:
            let values = [random.value(2), random.value(2)]
            try ok(objstore_set_row(tx, object, properties, try values.map { try $0.packed() }, 2))
            model[key] = values
        default:
            let path = random.path(model[key]![which]), value = random.value(2),
                kind = [Mixed.Change.set, .insert, .remove][random.below(3)]
            let steps = path.map(\.value), given = try value.packed()
            // Whatever is there is found by its path.
            var found = false, read = objstore_value()
            let status = objstore_mixed_read(tx, object, properties[which], steps, steps.count, nil, &read, &found)
            let there = model[key]![which][path[...]]
            if let there {
                expect(status == .OBJSTORE_OK && found, "seed \(seed)"); expect(try Mixed(read) == there)
            } else {
                expect(status != .OBJSTORE_OK || !found)
            }
            var after = model[key]![which]
            let isPossible = after.apply(kind, path[...], value) && after.depth <= 100
            let done =
                switch kind {
                case .set: objstore_mixed_set(tx, object, properties[which], steps, steps.count, given)
                case .insert: objstore_mixed_insert(tx, object, properties[which], steps, steps.count, given)
                case .remove: objstore_mixed_remove(tx, object, properties[which], steps, steps.count)
                }
            try #require(
                (done == .OBJSTORE_OK) == isPossible,
                "seed \(seed): \(kind) \(path): \(String(cString: objstore_last_message()))")
            if isPossible { edits += 1 } else { refusals += 1 }
            if isPossible { model[key]![which] = after }
            try #require(try get(tx, object, properties[which]) == model[key]![which], "seed \(seed), \(kind) \(path)")
        }
    }

    for round in 0..<40 {
        var tx: OpaquePointer?
        try ok(objstore_begin(store, &tx))
        var scopes: [(id: objstore_savepoint, model: [Int64: [Mixed]])] = []
        for _ in 0..<random.below(30) {
            switch random.below(14) {
            case 0:
                var point: objstore_savepoint = 0
                try ok(objstore_savepoint_begin(tx, &point))
                scopes.append((point, model))
            case 1:
                guard let scope = scopes.popLast() else { break }
                if random.below(2) == 0 {
                    try ok(objstore_savepoint_rollback(tx, scope.id))
                    model = scope.model
                    try compare(tx!, "round \(round), rolled back")
                } else {
                    try ok(objstore_savepoint_release(tx, scope.id))
                }
            default: try change(tx!)
            }
        }
        while let scope = scopes.popLast() { try ok(objstore_savepoint_release(tx, scope.id)) }
        try compare(tx!, "round \(round)")
        if random.below(5) == 0 {
            try ok(objstore_cancel(tx))
            model = committed
        } else {
            try ok(objstore_commit(tx, nil))
            committed = model
        }
        if random.below(6) == 0 {
            try verify(store)
            try ok(objstore_close(store))
            store = try openStore(folder.store, [things])
        }
        try reading(store) { view in try compare(view, "round \(round), after the end") }
    }
    try verify(store)
    try ok(objstore_close(store))
    #expect(edits > 60 && refusals > 50, "seed \(seed): \(edits) edits, \(refusals) refusals")
    print("mixed, seed \(seed): \(edits) edits, \(refusals) refusals, \(model.count) objects")
}
