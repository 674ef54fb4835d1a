import CObjStore
import Glibc
import Testing

// What the header says is the most, and one more than that; and rows much larger than a page.

private func wide(_ count: Int) -> TestClass {
    TestClass(
        name: "Wide",
        properties: [("id", .OBJSTORE_KIND_INT, primaryKey)]
            + (0..<count).map { ("p\($0)", .OBJSTORE_KIND_STRING, nullable) })
}

/// The text of a property of a row: another one for each, of `length` bytes.
private func value(_ row: Int, _ property: Int, _ length: Int) -> [UInt8] {
    let head = Array("\(row)/\(property)/".utf8)
    return head + [UInt8](repeating: UInt8(97 + (row + property) % 26), count: max(0, length - head.count))
}

/// Rows of `properties` texts of `length` bytes each: created one by one and from columns, read whole and column by
/// column, changed, in the same transaction, after it, and after the store was opened again.
@Test(arguments: [(3000, 60, 300), (3000, 60, 1), (40, 4096, 700), (40, 4097, 40), (1200, 64, 520), (2, 28_000, 1100)])
func rowsLargerThanAPage(_ properties: Int, _ length: Int, _ count: Int) throws {
    let folder = TestFolder(), description = wide(properties)
    var store = try openStore(folder.store, [description])
    var cls = try ClassOf(store, description)
    let ids = description.properties.map { cls[$0.name] }
    var texts: [Int: [Int: [UInt8]]] = [:]
    func expected(_ row: Int, _ property: Int) -> [UInt8] { texts[row]?[property] ?? value(row, property, length) }

    /// Not by way of sequences: this is not optimised.
    func isSame(_ bytes: UnsafeRawPointer?, _ count: Int, _ wanted: [UInt8]) -> Bool {
        count == wanted.count && (count == 0 || memcmp(bytes!, wanted, count) == 0)
    }

    func check(_ view: OpaquePointer, _ rows: [Int]) throws {
        var buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        var values = [objstore_value](repeating: objstore_null(), count: ids.count)
        for row in rows {
            let object = try require(try cls.find(view, objstore_int(Int64(row))))
            try ok(objstore_get_row(view, object, ids, ids.count, &buffer, &values))
            var wrong = 0
            for property in 0..<properties {
                let found = values[property + 1].data.text
                if !isSame(found.bytes, Int(found.length), expected(row, property)) { wrong += 1 }
            }
            #expect(wrong == 0 && values[0].data.integer == Int64(row), "row \(row)")
        }
    }
    func create(_ tx: OpaquePointer, _ row: Int) throws {
        let bytes = (0..<properties).map { value(row, $0, length) }
        let flat = bytes.flatMap { $0 }
        try flat.withUnsafeBytes { flat in
            var values = [objstore_int(Int64(row))], at = 0
            for text in bytes {
                values.append(
                    objstore_string(
                        objstore_text_of(flat.baseAddress!.assumingMemoryBound(to: CChar.self) + at, Int64(text.count)))
                )
                at += text.count
            }
            try ok(objstore_create(tx, cls.id, ids, values, ids.count, nil))
        }
    }
    func update(_ tx: OpaquePointer, _ row: Int, _ property: Int, _ new: [UInt8]) throws {
        let object = try require(try cls.find(tx, objstore_int(Int64(row))))
        try new.withUnsafeBytes {
            try ok(
                objstore_set(
                    tx, object, ids[property + 1],
                    objstore_string(
                        objstore_text_of($0.baseAddress?.assumingMemoryBound(to: CChar.self), Int64(new.count)))))
        }
        texts[row, default: [:]][property] = new
    }

    let single = min(count, 3)
    for row in 0..<single { try writing(store) { tx in try create(tx, row) } }
    if count > single {
        try writing(store) { tx in
            // From columns: one block of bytes for each property.
            var blocks: [[UInt8]] = [], offsets: [[Int64]] = []
            for property in 0..<properties {
                let values = (single..<count).map { value($0, property, length) }
                blocks.append(values.flatMap { $0 })
                offsets.append(values.reduce(into: [0]) { $0.append($0.last! + Int64($1.count)) })
            }
            let keys = (single..<count).map { Int64($0) }
            try keys.withUnsafeBufferPointer { keys in
                var columns = [objstore_column_init(ids[0], .OBJSTORE_KIND_INT, keys.baseAddress)]
                var memory: [UnsafeMutableRawPointer] = []
                defer { memory.forEach { $0.deallocate() } }
                for property in 0..<properties {
                    let block = UnsafeMutableRawPointer.allocate(
                        byteCount: max(1, blocks[property].count), alignment: 1)
                    block.copyMemory(from: blocks[property], byteCount: blocks[property].count)
                    let ends = UnsafeMutablePointer<Int64>.allocate(capacity: offsets[property].count)
                    ends.initialize(from: offsets[property], count: offsets[property].count)
                    memory += [block, UnsafeMutableRawPointer(ends)]
                    var column = objstore_column_init(ids[property + 1], .OBJSTORE_KIND_STRING, block)
                    column.offsets = UnsafePointer(ends)
                    column.values_bytes = UInt64(blocks[property].count)
                    columns.append(column)
                }
                try ok(
                    objstore_insert_rows(
                        tx, cls.id, .OBJSTORE_POLICY_ERROR, columns, columns.count, keys.count, nil, nil))
            }
            try update(tx, count - 1, 0, value(1, 1, 10))
        }
    }
    let some = Array(Set([0, 1, single, count / 2, count - 1].filter { $0 >= 0 && $0 < count }))
    try writing(store) { tx in
        for (number, row) in some.enumerated() {
            try update(
                tx, row, properties / 2,
                value(row, 7, [0, 1, 63, 64, 65, 4096, 4097, 100_000][(number + properties) % 8]))
            try update(tx, row, properties - 1, [])
        }
        try check(tx, some)
    }
    try reading(store) { view in
        try check(view, some)
        // A column, piece by piece.
        var position: Int64 = -1, read = 0, row = 0, buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        var offsets = [Int64](repeating: 0, count: 65)
        repeat {
            try ok(objstore_read_text_column(view, cls.id, ids[1], 64, &position, &buffer, &offsets, nil, nil, &read))
            for index in 0..<read {
                let start = Int(offsets[index]), end = Int(offsets[index + 1])
                #expect(
                    isSame(buffer.bytes.map { UnsafeRawPointer($0) + start }, end - start, expected(row, 0)),
                    "row \(row)")
                row += 1
            }
        } while read > 0
        #expect(row == count)
    }
    try verify(store)
    try ok(objstore_close(store))
    store = try openStore(folder.store, [description])
    cls = try ClassOf(store, description)
    try reading(store) { view in try check(view, some) }
    try writing(store) { tx in try ok(objstore_delete(tx, try require(try cls.find(tx, objstore_int(0))))) }
    try verify(store)
    try ok(objstore_close(store))
}

private func schema(_ body: (OpaquePointer) throws -> Void) throws {
    var schema: OpaquePointer?
    try ok(objstore_schema_new(&schema))
    defer { _ = objstore_schema_close(schema) }
    try body(schema!)
}

@Test func limitsOfSchemas() throws {
    let item = text("Item")
    try schema { schema in
        try ok(objstore_schema_add_class(schema, item))
        // Names.
        try ok(
            objstore_schema_add_property(schema, item, text(String(repeating: "n", count: 255)), .OBJSTORE_KIND_INT, 0))
        refused(
            objstore_schema_add_property(schema, item, text(String(repeating: "n", count: 256)), .OBJSTORE_KIND_INT, 0),
            .OBJSTORE_ERR_INVALID_SCHEMA)
        try ok(objstore_schema_add_class(schema, text(String(repeating: "c", count: 255))))
        refused(
            objstore_schema_add_class(schema, text(String(repeating: "c", count: 256))), .OBJSTORE_ERR_INVALID_SCHEMA)
        // Properties of an index.
        let names = (0..<9).map { text("i\($0)") }
        for name in names { try ok(objstore_schema_add_property(schema, item, name, .OBJSTORE_KIND_INT, 0)) }
        try ok(objstore_schema_add_index(schema, item, names, 8, 0))
        refused(objstore_schema_add_index(schema, item, names, 9, 0), .OBJSTORE_ERR_INVALID_SCHEMA)
        refused(objstore_schema_add_index(schema, item, names, 1, 0), .OBJSTORE_ERR_INVALID_SCHEMA)
    }
    // Properties: those of two words count twice.
    try schema { schema in
        try ok(objstore_schema_add_class(schema, item))
        for number in 0..<64_998 {
            try ok(objstore_schema_add_property(schema, item, text("p\(number)"), .OBJSTORE_KIND_INT, 0))
        }
        try ok(objstore_schema_add_property(schema, item, text("last"), .OBJSTORE_KIND_TIMESTAMP, 0))
        for kind in [objstore_kind.OBJSTORE_KIND_BOOL, .OBJSTORE_KIND_UUID] {
            #expect(
                refused(objstore_schema_add_property(schema, item, text("more"), kind, 0), .OBJSTORE_ERR_INVALID_SCHEMA)
                    .contains("65000"))
        }
        refused(objstore_schema_add_link(schema, item, text("more"), item, 0), .OBJSTORE_ERR_INVALID_SCHEMA)
        refused(
            objstore_schema_add_collection(
                schema, item, text("more"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_INT, 0),
            .OBJSTORE_ERR_INVALID_SCHEMA)
    }
    // Classes of a store.
    for count in [4096, 4097] {
        try schema { schema in
            for number in 0..<count { try ok(objstore_schema_add_class(schema, text("C\(number)"))) }
            var config: OpaquePointer?, store: OpaquePointer?
            try ok(objstore_config_new(&config))
            defer { _ = objstore_config_close(config) }
            try ok(objstore_config_set_memory(config, text("")))
            try ok(objstore_config_set_schema(config, schema, 1))
            if count == 4096 {
                try ok(objstore_open(config, &store))
                try ok(objstore_close(store))
            } else {
                #expect(refused(objstore_open(config, &store), .OBJSTORE_ERR_INVALID_SCHEMA).contains("4096"))
            }
        }
    }
}

/// As many properties as a class can have, in one object.
@Test func theWidestClass() throws {
    let description = TestClass(
        name: "Wide",
        properties: (0..<65_000).map { ("p\($0)", $0 % 2 == 0 ? .OBJSTORE_KIND_STRING : .OBJSTORE_KIND_INT, nullable) })
    let folder = TestFolder()
    var store = try openStore(folder.store, [description])
    let cls = try ClassOf(store, description)
    let ids = description.properties.map { cls[$0.name] }
    let some = text("sixty bytes of text, give or take a few, as any text may have")
    var object = objstore_object()
    try writing(store) { tx in
        let values = (0..<65_000).map { $0 % 2 == 0 ? objstore_string(some) : objstore_int(Int64($0)) }
        for _ in 0..<3 { try ok(objstore_create(tx, cls.id, ids, values, ids.count, &object)) }
        try ok(objstore_set(tx, object, ids[64_999], objstore_int(-1)))
    }
    try ok(objstore_close(store))
    store = try openStore(folder.store, [description])
    try reading(store) { view in
        var buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        var values = [objstore_value](repeating: objstore_null(), count: ids.count)
        try ok(objstore_get_row(view, object, ids, ids.count, &buffer, &values))
        let wrong = (0..<65_000).filter { index in
            if index % 2 == 0 { return string(values[index]) != string(some) }
            return values[index].data.integer != (index == 64_999 ? -1 : Int64(index))
        }
        #expect(wrong == [])
    }
    try verify(store)
    try ok(objstore_close(store))
}

/// Texts and binaries at the limit of the configuration, and one byte more; also at the default.
@Test(arguments: [1000, 4096, 64 << 20]) func limitOfValues(_ limit: Int) throws {
    let description = TestClass(
        name: "T",
        properties: [
            ("text", .OBJSTORE_KIND_STRING, nullable), ("data", .OBJSTORE_KIND_BINARY, nullable),
            ("indexed", .OBJSTORE_KIND_STRING, nullable | indexed),
        ])
    let store = try openStore(nil, [description]) { config in
        if limit != 64 << 20 { try ok(objstore_config_set_limit(config, .OBJSTORE_LIMIT_VALUE_BYTES, Int64(limit))) }
    }
    let cls = try ClassOf(store, description)
    let bytes = [CChar](repeating: 0x61, count: limit + 1)
    try bytes.withUnsafeBufferPointer { bytes in
        func value(_ name: String, _ count: Int) -> objstore_value {
            name == "data"
                ? objstore_binary(bytes.baseAddress, Int64(count))
                : objstore_string(objstore_text_of(bytes.baseAddress, Int64(count)))
        }
        try writing(store) { tx in
            let object = try cls.create(tx, [:])
            for name in ["text", "data", "indexed"] {
                try ok(objstore_set(tx, object, cls[name], value(name, limit)))
                let message = refused(
                    objstore_set(tx, object, cls[name], value(name, limit + 1)), .OBJSTORE_ERR_VALUE_TOO_LARGE)
                #expect(message.contains("T.\(name)") && message.contains("\(limit)"), "\(message)")
            }
        }
        try reading(store) { view in
            for name in ["text", "indexed"] {
                var count: UInt64 = 0
                try ok(countWhere(view, cls.id, cls[name], .OBJSTORE_EQUAL, value(name, limit), &count))
                #expect(count == 1)
            }
        }
    }
    try verify(store)
    try ok(objstore_close(store))
}
