import CObjStore
import Glibc
import Testing

private let scalars = TestClass(
    name: "Scalar",
    properties: [
        ("id", .OBJSTORE_KIND_UUID, primaryKey), ("f", .OBJSTORE_KIND_FLOAT, nullable),
        ("fi", .OBJSTORE_KIND_FLOAT, nullable | indexed),
        ("d", .OBJSTORE_KIND_DECIMAL128, nullable), ("di", .OBJSTORE_KIND_DECIMAL128, nullable | indexed),
        ("o", .OBJSTORE_KIND_OBJECT_ID, nullable),
        ("oi", .OBJSTORE_KIND_OBJECT_ID, nullable | indexed), ("u", .OBJSTORE_KIND_UUID, nullable),
        ("ui", .OBJSTORE_KIND_UUID, nullable | indexed),
        ("def", .OBJSTORE_KIND_DECIMAL128, 0),
    ], defaults: ["def": objstore_decimal128_value(decimal("1.50"))])

private let made = TestClass(
    name: "Made", properties: [("id", .OBJSTORE_KIND_OBJECT_ID, primaryKey), ("n", .OBJSTORE_KIND_INT, nullable)])

private func decimal(_ string: String) -> objstore_decimal128 {
    var decimal = objstore_decimal128()
    #expect(objstore_decimal128_from_text(text(string), &decimal) == .OBJSTORE_OK, "\(string)")
    return decimal
}
private func string(_ decimal: objstore_decimal128) -> String {
    var text = [CChar](repeating: 1, count: Int(OBJSTORE_DECIMAL128_TEXT))
    #expect(objstore_decimal128_to_text(decimal, &text) == .OBJSTORE_OK)
    return String(cString: text)
}
private func filled<T: BitwiseCopyable>(_ zero: T, _ first: UInt8, _ last: UInt8) -> T {
    var value = zero
    withUnsafeMutableBytes(of: &value) {
        $0[0] = first
        $0[$0.count - 1] = last
    }
    return value
}
private func uuid(_ first: Int, _ last: Int = 0) -> objstore_uuid { filled(objstore_uuid(), UInt8(first), UInt8(last)) }
private func oid(_ first: Int, _ last: Int = 0) -> objstore_object_id {
    filled(objstore_object_id(), UInt8(first), UInt8(last))
}
private func bytes<T>(_ value: T) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

/// The values of row `index` of 200, in the order of the properties from "f" on; every fifth is null.
private func row(_ index: Int) -> [objstore_value] {
    if index % 5 == 4 { return Array(repeating: objstore_null(), count: 8) }
    let f = objstore_float(index % 7 == 0 ? .nan : Float(index) / 8 - 10),
        d = objstore_decimal128_value(decimal("\(index - 100).\(index % 2 == 0 ? "5" : "50")"))
    let o = objstore_object_id_value(oid(index, 255 - index)), u = objstore_uuid_value(uuid(255 - index, index))
    return [f, f, d, d, o, o, u, u]
}

private func fill(_ store: OpaquePointer, _ cls: ClassOf) throws {
    try writing(store) { tx in
        for index in 0..<200 {
            let properties = scalars.properties.prefix(9).map { cls[$0.name] },
                values = [objstore_uuid_value(uuid(index))] + row(index)
            try ok(objstore_create(tx, cls.id, properties, values, properties.count, nil))
        }
    }
}

@Test func scalarsSurviveReopening() throws {
    let folder = TestFolder()
    var store = try openStore(folder.store, [scalars])
    var cls = try ClassOf(store, scalars)
    try fill(store, cls)
    for _ in 0..<2 {
        try frozen(store) { view in
            var cursor = objstore_row(), more = false
            try ok(objstore_row_init(view, cls.id, &cursor))
            for index in 0..<200 {
                let expected = row(index)
                try ok(objstore_row_next(&cursor, &more))
                var f: Float = 1, d = decimal("9"), o = oid(1, 1), u = uuid(1, 1), isNull = false
                try ok(objstore_row_float(&cursor, cls["f"], &f, &isNull))
                #expect(
                    isNull == (index % 5 == 4) && (isNull ? f == 0 : f.bitPattern == expected[0].data.single.bitPattern)
                )
                try ok(objstore_row_decimal128(&cursor, cls["d"], &d, &isNull))
                #expect(bytes(d) == bytes(isNull ? objstore_decimal128() : expected[2].data.decimal128))
                try ok(objstore_row_object_id(&cursor, cls["oi"], &o, &isNull))
                #expect(bytes(o) == bytes(isNull ? objstore_object_id() : expected[4].data.object_id))
                try ok(objstore_row_uuid(&cursor, cls["ui"], &u, &isNull))
                #expect(bytes(u) == bytes(isNull ? objstore_uuid() : expected[6].data.uuid))
                try ok(objstore_row_uuid(&cursor, cls["id"], &u, nil))
                #expect(bytes(u) == bytes(uuid(index)))
                try ok(objstore_row_decimal128(&cursor, cls["def"], &d, nil))
                #expect(string(d) == "1.50")
                var value = objstore_value()
                for (property, wanted) in zip(scalars.properties.dropFirst(), expected) {
                    try ok(objstore_row_value(&cursor, cls[property.name], nil, &value))
                    #expect(bytes(value) == bytes(wanted), "\(property.name) of row \(index)")
                }
                if index % 5 == 4 { refused(objstore_row_float(&cursor, cls["f"], &f, nil), .OBJSTORE_ERR_NULL_VALUE) }
            }
            var f: Float = 0, u = uuid(0)
            let message = refused(objstore_row_float(&cursor, cls["d"], &f, nil), .OBJSTORE_ERR_WRONG_TYPE)
            #expect(message.contains("Scalar.d"))
            refused(objstore_row_uuid(&cursor, cls["o"], &u, nil), .OBJSTORE_ERR_WRONG_TYPE)
        }
        try verify(store)
        try ok(objstore_close(store))
        store = try openStore(folder.store, [scalars])
        cls = try ClassOf(store, scalars)
    }
    try ok(objstore_close(store))
}

/// Every operator with and without an index, against the same asked of the rows.
@Test func scalarsAreQueried() throws {
    let store = try openStore(nil, [scalars])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, scalars)
    try fill(store, cls)
    let operators: [objstore_operator] = [
        .OBJSTORE_EQUAL, .OBJSTORE_NOT_EQUAL, .OBJSTORE_LESS, .OBJSTORE_LESS_EQUAL, .OBJSTORE_GREATER,
        .OBJSTORE_GREATER_EQUAL,
    ]
    let constants: [(String, [objstore_value])] = [
        ("f", [0, -0.0, -1.25, 100, .nan, .infinity].map { objstore_float($0) } + [objstore_null()]),
        (
            "d",
            ["0", "-0.5", "3.5", "3.50", "99.51", "-Infinity", "NaN"].map { objstore_decimal128_value(decimal($0)) } + [
                objstore_null()
            ]
        ),
        (
            "o",
            [oid(0), oid(3, 252), oid(127, 255), oid(128), oid(255, 255)].map { objstore_object_id_value($0) } + [
                objstore_null()
            ]
        ),
        (
            "u",
            [uuid(0), uuid(252, 3), uuid(127, 128), uuid(128), uuid(255, 255)].map { objstore_uuid_value($0) } + [
                objstore_null()
            ]
        ),
    ]
    /// Below, equal, above; nil: neither.
    func order(_ a: objstore_value, _ b: objstore_value) -> Int? {
        switch a.kind {
        case .OBJSTORE_KIND_FLOAT:
            let x = a.data.single, y = b.data.single
            return x < y ? -1 : x > y ? 1 : x == y ? 0 : nil
        case .OBJSTORE_KIND_DECIMAL128:
            // These are all exact as doubles.
            let x = Double(string(a.data.decimal128))!, y = Double(string(b.data.decimal128))!
            return x < y ? -1 : x > y ? 1 : x == y ? 0 : nil
        default:
            let x = bytes(a.data), y = bytes(b.data)
            return x.lexicographicallyPrecedes(y) ? -1 : x == y ? 0 : 1
        }
    }
    try frozen(store) { view in
        for (name, values) in constants {
            let place = scalars.properties.firstIndex { $0.name == name }! - 1
            for value in values {
                for (index, op) in operators.enumerated() {
                    let isNull = value.kind == .OBJSTORE_KIND_NULL
                    let expected = (0..<200).filter { number in
                        let stored = row(number)[place]
                        if isNull || stored.kind == .OBJSTORE_KIND_NULL {
                            let same = isNull && stored.kind == .OBJSTORE_KIND_NULL
                            return index == 0 ? same : index == 1 ? !same : false
                        }
                        guard let order = order(stored, value) else { return index == 1 }
                        return [order == 0, order != 0, order < 0, order <= 0, order > 0, order >= 0][index]
                    }.count
                    for column in [name, name + "i"] {
                        var count: UInt64 = 0
                        try ok(countWhere(view, cls.id, cls[column], op, value, &count))
                        #expect(
                            count == expected,
                            """
                            \(column) operator \(index) value \
                            \(values.firstIndex { bytes($0) == bytes(value) } ?? -1)
                            """
                        )
                    }
                }
            }
        }
        var count: UInt64 = 0
        // Numbers of other kinds: exactly. 0.1 is no float.
        for (value, expected) in [
            (objstore_double(-1.25), objstore_float(-1.25)), (objstore_int(100), objstore_float(100)),
            (objstore_decimal128_value(decimal("-1.250")), objstore_float(-1.25)),
            (objstore_double(0.1), objstore_float(.nan)), (objstore_int(.max), objstore_float(.nan)),
        ] {
            for column in ["f", "fi"] {
                var other: UInt64 = 99
                try ok(countWhere(view, cls.id, cls[column], .OBJSTORE_EQUAL, value, &count))
                try ok(countWhere(view, cls.id, cls[column], .OBJSTORE_EQUAL, expected, &other))
                #expect(count == other)
            }
        }
        refused(
            countWhere(view, cls.id, cls["f"], .OBJSTORE_EQUAL, objstore_string(text("1")), &count),
            .OBJSTORE_ERR_WRONG_TYPE)
        func aggregate(_ name: String, _ kind: objstore_aggregate_kind) throws -> objstore_value {
            var value = objstore_value()
            try ok(aggregateAll(view, cls.id, cls[name], kind, &value))
            return value
        }
        expect(try aggregate("f", .OBJSTORE_AGGREGATE_MINIMUM).data.single == -9.875)
        expect(try aggregate("f", .OBJSTORE_AGGREGATE_MAXIMUM).data.single == 14.75)
        expect(try aggregate("f", .OBJSTORE_AGGREGATE_SUM).data.real.isNaN)
        expect(
            try string(aggregate("d", .OBJSTORE_AGGREGATE_MINIMUM).data.decimal128) == "-100.5"
                && string(aggregate("di", .OBJSTORE_AGGREGATE_MAXIMUM).data.decimal128) == "98.5")
        expect(bytes(try aggregate("o", .OBJSTORE_AGGREGATE_MAXIMUM).data.object_id) == bytes(oid(198, 57)))
        expect(bytes(try aggregate("u", .OBJSTORE_AGGREGATE_MINIMUM).data.uuid) == bytes(uuid(57, 198)))
        expect(try string(aggregate("di", .OBJSTORE_AGGREGATE_SUM).data.decimal128).isEmpty == false)
        var value = objstore_value()
        let message = refused(
            aggregateAll(view, cls.id, cls["u"], .OBJSTORE_AGGREGATE_AVERAGE, &value), .OBJSTORE_ERR_WRONG_TYPE)
        #expect(message.contains("Scalar.u"))
    }
}

@Test(arguments: [1, 16, 5000]) func scalarColumns(count: Int) throws {
    let store = try openStore(nil, [scalars])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, scalars)
    let ids = (0..<count).map { uuid($0 % 256, $0 / 256) }, floats = (0..<count).map { Float($0) - 0.5 },
        decimals = (0..<count).map { decimal("\($0).0") }
    let oids = (0..<count).map { oid($0 / 256, $0 % 256) }, validity = [UInt8](repeating: 0x7f, count: (count + 7) / 8)
    var counts = objstore_insert_counts()
    try writing(store) { tx in
        try ids.withUnsafeBufferPointer { ids in
            try floats.withUnsafeBufferPointer { floats in
                try decimals.withUnsafeBufferPointer { decimals in
                    try oids.withUnsafeBufferPointer { oids in
                        try validity.withUnsafeBufferPointer { validity in
                            var columns = [
                                objstore_column_init(cls["id"], .OBJSTORE_KIND_UUID, ids.baseAddress),
                                objstore_column_init(cls["fi"], .OBJSTORE_KIND_FLOAT, floats.baseAddress),
                                objstore_column_init(cls["di"], .OBJSTORE_KIND_DECIMAL128, decimals.baseAddress),
                                objstore_column_init(cls["oi"], .OBJSTORE_KIND_OBJECT_ID, oids.baseAddress),
                                objstore_column_init(cls["u"], .OBJSTORE_KIND_UUID, ids.baseAddress),
                            ]
                            for index in 1...4 { columns[index].validity = validity.baseAddress }
                            try ok(
                                objstore_insert_rows(
                                    tx, cls.id, .OBJSTORE_POLICY_ERROR, columns, 5, count, nil, &counts))
                            refused(
                                objstore_insert_rows(
                                    tx, cls.id, .OBJSTORE_POLICY_ERROR, columns, 5, count, nil, &counts),
                                .OBJSTORE_ERR_DUPLICATE_KEY)
                            try ok(
                                objstore_insert_rows(
                                    tx, cls.id, .OBJSTORE_POLICY_MODIFIED, columns, 5, count, nil, &counts))
                            #expect(counts.unchanged == UInt64(count))
                            columns[1].kind = .OBJSTORE_KIND_DOUBLE
                            refused(
                                objstore_insert_rows(tx, cls.id, .OBJSTORE_POLICY_ALL, columns, 5, count, nil, &counts),
                                .OBJSTORE_ERR_WRONG_TYPE)
                        }
                    }
                }
            }
        }
    }
    try verify(store)
    try frozen(store) { view in
        func read<T: BitwiseCopyable>(_ name: String, _ other: T) throws -> (values: [T], validity: [UInt8]) {
            var values = [T](repeating: other, count: count), validity = [UInt8](repeating: 0, count: (count + 7) / 8),
                position: Int64 = -1, filled = 0
            try ok(objstore_read_column(view, cls.id, cls[name], count, &position, &values, &validity, nil, &filled))
            #expect(filled == count)
            return (values, validity)
        }
        let f = try read("fi", Float(7)), d = try read("di", decimal("7")), o = try read("oi", oid(7, 7)),
            u = try read("u", uuid(7, 7))
        let id = try read("id", uuid(7, 7))
        for index in 0..<count {
            let isNull = index % 8 == 7
            guard f.validity[index / 8] >> UInt8(index % 8) & 1 == (isNull ? 0 : 1),
                f.values[index] == (isNull ? 0 : floats[index]),
                bytes(d.values[index]) == bytes(isNull ? objstore_decimal128() : decimals[index]),
                bytes(o.values[index]) == bytes(isNull ? objstore_object_id() : oids[index]),
                bytes(u.values[index]) == bytes(isNull ? objstore_uuid() : ids[index]),
                bytes(id.values[index]) == bytes(ids[index])
            else {
                Issue.record("row \(index) of \(count)")
                return
            }
        }
        // The same from a packed buffer.
        var results: OpaquePointer?
        try ok(findAll(view, cls.id, &results))
        defer { _ = objstore_results_close(results) }
        var buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        let names = ["fi", "di", "oi", "u"]
        try ok(objstore_results_read(results, 0, count, names.map { cls[$0] }, 4, &buffer))
        let packed = UnsafeRawPointer(buffer.bytes!),
            lines = (packed + 64).assumingMemoryBound(to: objstore_packed_column.self)
        #expect((0..<4).map { lines[$0].values_bytes } == [4, 16, 12, 16].map { UInt64($0 * count) })
        f.values.withUnsafeBytes {
            #expect(memcmp($0.baseAddress!, packed + Int(lines[0].values_offset), $0.count) == 0)
        }
        d.values.withUnsafeBytes {
            #expect(memcmp($0.baseAddress!, packed + Int(lines[1].values_offset), $0.count) == 0)
        }
        o.values.withUnsafeBytes {
            #expect(memcmp($0.baseAddress!, packed + Int(lines[2].values_offset), $0.count) == 0)
        }
        u.values.withUnsafeBytes {
            #expect(memcmp($0.baseAddress!, packed + Int(lines[3].values_offset), $0.count) == 0)
        }
        #expect(lines[0].null_count == UInt64(count / 8))
    }
}

@Test func identifiersAsKeys() throws {
    let store = try openStore(nil, [scalars, made])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, scalars), ids = try ClassOf(store, made)
    var first = objstore_object_id(), second = objstore_object_id()
    try ok(objstore_object_id_new(&first))
    try ok(objstore_object_id_new(&second))
    #expect(bytes(first) != bytes(second) && bytes(first)[4..<9] == bytes(second)[4..<9])
    try writing(store) { tx in
        try ids.create(tx, ["id": objstore_object_id_value(first), "n": objstore_int(1)])
        try ids.create(tx, ["id": objstore_object_id_value(second), "n": objstore_int(2)])
        var object = objstore_object()
        func create(_ cls: ClassOf, _ value: objstore_value) -> objstore_status {
            objstore_create(tx, cls.id, [cls["id"]], [value], 1, &object)
        }
        let message = refused(create(ids, objstore_object_id_value(first)), .OBJSTORE_ERR_DUPLICATE_KEY)
        #expect(
            message.contains(
                bytes(first).map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()))
        try cls.create(tx, ["id": objstore_uuid_value(uuid(1, 2))])
        #expect(
            refused(create(cls, objstore_uuid_value(uuid(1, 2))), .OBJSTORE_ERR_DUPLICATE_KEY).contains(
                "01000000-0000-0000-0000-000000000002"))
        #expect(refused(create(cls, objstore_object_id_value(first)), .OBJSTORE_ERR_WRONG_TYPE).contains("Scalar.id"))
        #expect(refused(create(cls, objstore_null()), .OBJSTORE_ERR_NOT_NULLABLE).contains("Scalar.id"))
        #expect(
            refused(
                objstore_set(
                    tx, try require(cls.find(tx, objstore_uuid_value(uuid(1, 2)))), cls["d"], objstore_float(0.5)),
                .OBJSTORE_ERR_WRONG_TYPE
            ).contains("0.5"))
    }
    try frozen(store) { view in
        let found = try require(ids.find(view, objstore_object_id_value(second)))
        var value = objstore_value()
        try ok(objstore_get(view, found, ids["n"], nil, &value))
        #expect(value.data.integer == 2)
        expect(try cls.find(view, objstore_uuid_value(uuid(1, 3))) == nil)
        var object = objstore_object(), isThere = false
        refused(
            objstore_find(view, cls.id, objstore_object_id_value(first), &object, &isThere), .OBJSTORE_ERR_WRONG_TYPE)
    }
    var schema: OpaquePointer?
    try ok(objstore_schema_new(&schema))
    defer { _ = objstore_schema_close(schema) }
    try ok(objstore_schema_add_class(schema, text("K")))
    for kind in [objstore_kind.OBJSTORE_KIND_FLOAT, .OBJSTORE_KIND_DECIMAL128, .OBJSTORE_KIND_DOUBLE] {
        refused(
            objstore_schema_add_property(schema, text("K"), text("k"), kind, UInt32(primaryKey)),
            .OBJSTORE_ERR_INVALID_SCHEMA)
    }
}

@Test func decimalsAsText() throws {
    for (given, plain) in [
        ("1.00", "1.00"), ("+1e3", "1E+3"), ("-.5", "-0.5"), ("nan", "NaN"), ("-inf", "-Infinity"),
        ("0E-9999", "0E-6176"),
    ] {
        #expect(string(decimal(given)) == plain)
    }
    #expect(
        string(objstore_decimal128(low: 0x378d_8e63_ffff_ffff, high: 0xdfff_ed09_bead_87c0))
            == "-9.999999999999999999999999999999999E+6144")
    #expect(string(decimal("-0.000001234567890123456789012345678901234")).utf8.count == 42)
    var number = decimal("5")
    #expect(
        refused(objstore_decimal128_from_text(text("five"), &number), .OBJSTORE_ERR_INVALID_ARGUMENT).contains("five"))
    refused(objstore_decimal128_from_text(text("1E+6145"), &number), .OBJSTORE_ERR_OUT_OF_RANGE)
    refused(objstore_decimal128_from_text(objstore_text_of(nil, 3), &number), .OBJSTORE_ERR_INVALID_ARGUMENT)
    #expect(string(number) == "5", "left as it was")
}
