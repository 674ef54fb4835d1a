import CObjStore
import Testing

private let items = TestClass(
    name: "Item",
    properties: [
        ("n", .OBJSTORE_KIND_INT, nullable), ("i", .OBJSTORE_KIND_INT, nullable | indexed),
        ("d", .OBJSTORE_KIND_DOUBLE, nullable),
        ("s", .OBJSTORE_KIND_STRING, nullable), ("si", .OBJSTORE_KIND_STRING, nullable | indexed),
        ("t", .OBJSTORE_KIND_TIMESTAMP, nullable),
        ("b", .OBJSTORE_KIND_BINARY, nullable), ("f", .OBJSTORE_KIND_BOOL, nullable),
    ])

private func fill(_ store: OpaquePointer, _ cls: ClassOf, _ count: Int) throws {
    try writing(store) { tx in
        for index in 0..<count {
            let null = index % 7 == 0
            try cls.create(
                tx,
                [
                    "n": null ? objstore_null() : objstore_int(Int64(index % 10)),
                    "i": null ? objstore_null() : objstore_int(Int64(index % 10)),
                    "d": null ? objstore_null() : objstore_double(index == 5 ? .nan : Double(index) / 2),
                    "s": null ? objstore_null() : objstore_string(text("name \(index % 5)")),
                    "si": null ? objstore_null() : objstore_string(text("name \(index % 5)")),
                    "t": null ? objstore_null() : objstore_time(Int64(index), 5),
                    "f": null ? objstore_null() : objstore_bool(index % 2 == 0),
                ])
        }
    }
}

/// Every operator on a property with and without an index agrees with a loop.
@Test func comparisonsAgreeWithALoop() throws {
    let store = try openStore(nil, [items])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, items)
    let count = 500
    try fill(store, cls, count)
    let operators: [(objstore_operator, (Int, Int) -> Bool)] = [
        (.OBJSTORE_EQUAL, ==), (.OBJSTORE_NOT_EQUAL, !=), (.OBJSTORE_LESS, <), (.OBJSTORE_LESS_EQUAL, <=),
        (.OBJSTORE_GREATER, >),
        (.OBJSTORE_GREATER_EQUAL, >=),
    ]
    try frozen(store) { view in
        for (op, satisfies) in operators {
            for wanted in [-1, 0, 3, 9, 10] {
                let expected = (0..<count).filter { index in
                    index % 7 == 0 ? op == .OBJSTORE_NOT_EQUAL : satisfies(index % 10, wanted)
                }
                for name in ["n", "i"] {
                    var found: UInt64 = 0
                    try ok(countWhere(view, cls.id, cls[name], op, objstore_int(Int64(wanted)), &found))
                    #expect(found == UInt64(expected.count), "\(name) \(op.rawValue) \(wanted)")
                    var results: OpaquePointer?
                    try ok(findWhere(view, cls.id, cls[name], op, objstore_int(Int64(wanted)), &results))
                    var objects = [objstore_object](repeating: objstore_object(), count: count), filled = 0
                    try ok(objstore_results_objects(results, 0, &objects, count, &filled))
                    #expect(objects.prefix(filled).map { Int($0.key) } == expected)
                    try ok(objstore_results_close(results))
                    var first = objstore_object(), any = false
                    try ok(firstWhere(view, cls.id, cls[name], op, objstore_int(Int64(wanted)), &first, &any))
                    #expect(any == !expected.isEmpty && (!any || Int(first.key) == expected[0]))
                }
            }
            for wanted in 0..<6 {
                let expected = (0..<count).filter {
                    $0 % 7 == 0 ? op == .OBJSTORE_NOT_EQUAL : satisfies($0 % 5, wanted)
                }.count
                for name in ["s", "si"] {
                    var found: UInt64 = 0
                    try ok(
                        countWhere(
                            view, cls.id, cls[name], op, objstore_string(text("name \(wanted)")), &found))
                    #expect(found == UInt64(expected), "\(name) \(op.rawValue) \(wanted)")
                }
            }
        }
        // Null equals null and nothing else; NaN equals nothing.
        var found: UInt64 = 0
        let nulls = (0..<count).filter { $0 % 7 == 0 }.count
        for name in ["n", "i", "d", "s", "si", "t", "b", "f"] {
            try ok(countWhere(view, cls.id, cls[name], .OBJSTORE_EQUAL, objstore_null(), &found))
            #expect(found == UInt64(name == "b" ? count : nulls), "\(name)")
            for op in operators.map(\.0).dropFirst(2) {
                try ok(countWhere(view, cls.id, cls[name], op, objstore_null(), &found))
                #expect(found == 0, "\(name) \(op.rawValue)")
            }
        }
        try ok(countWhere(view, cls.id, cls["d"], .OBJSTORE_EQUAL, objstore_double(.nan), &found))
        #expect(found == 0)
        try ok(countWhere(view, cls.id, cls["d"], .OBJSTORE_NOT_EQUAL, objstore_double(.nan), &found))
        #expect(found == UInt64(count))
        refused(
            countWhere(view, cls.id, cls["b"], .OBJSTORE_LESS, objstore_binary(nil, 0), &found),
            .OBJSTORE_ERR_WRONG_TYPE)
    }
}

@Test func aggregates() throws {
    let store = try openStore(nil, [items])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, items)
    func aggregate(_ name: String, _ kind: objstore_aggregate_kind) throws -> objstore_value {
        try reading(store) { view in
            var value = objstore_value()
            try ok(aggregateAll(view, cls.id, cls[name], kind, &value))
            return value
        }
    }
    expect(try aggregate("n", .OBJSTORE_AGGREGATE_SUM).data.integer == 0)
    expect(try aggregate("d", .OBJSTORE_AGGREGATE_SUM).data.real == 0)
    for kind in [
        objstore_aggregate_kind.OBJSTORE_AGGREGATE_MINIMUM, .OBJSTORE_AGGREGATE_MAXIMUM, .OBJSTORE_AGGREGATE_AVERAGE,
    ] {
        expect(try aggregate("n", kind).kind == .OBJSTORE_KIND_NULL)
    }
    try writing(store) { tx in
        for value in [1.5, .nan, -2] { try cls.create(tx, ["d": objstore_double(value)]) }
        for value in [Int64.max, 2, -5] {
            try cls.create(tx, ["n": objstore_int(value), "t": objstore_time(value, 7)])
        }
    }
    expect(try aggregate("d", .OBJSTORE_AGGREGATE_MINIMUM).data.real == -2)
    expect(try aggregate("d", .OBJSTORE_AGGREGATE_MAXIMUM).data.real == 1.5)
    expect(try aggregate("d", .OBJSTORE_AGGREGATE_SUM).data.real.isNaN)
    expect(try aggregate("n", .OBJSTORE_AGGREGATE_MINIMUM).data.integer == -5)
    expect(try aggregate("n", .OBJSTORE_AGGREGATE_SUM).data.integer == .max - 3)
    expect(try aggregate("n", .OBJSTORE_AGGREGATE_AVERAGE).kind == .OBJSTORE_KIND_DOUBLE)
    expect(try aggregate("t", .OBJSTORE_AGGREGATE_MAXIMUM).data.timestamp.seconds == .max)
    #expect(throws: Failure.self) { try aggregate("t", .OBJSTORE_AGGREGATE_SUM) }
    try writing(store) { tx in try cls.create(tx, ["n": objstore_int(10)]) }
    var value = objstore_value()
    try reading(store) { view in
        #expect(
            refused(
                aggregateAll(view, cls.id, cls["n"], .OBJSTORE_AGGREGATE_SUM, &value), .OBJSTORE_ERR_OUT_OF_RANGE
            ).contains("Item.n"))
    }
}

@Test func resultsStandStillUntilTheyAreUpdated() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, dogs)
    try writing(store) { tx in
        for age in [5, 1, 1] {
            try cls.create(tx, ["name": objstore_string(text("x")), "age": objstore_int(Int64(age))])
        }
    }
    try writing(store) { tx in
        var results: OpaquePointer?, count: UInt64 = 0, changed = false
        try ok(findWhere(tx, cls.id, cls["age"], .OBJSTORE_LESS, objstore_int(2), &results))
        try ok(objstore_results_count(results, &count))
        #expect(count == 2)
        // Changing what was looked up still visits every element.
        for index in 0..<count {
            var object = objstore_object()
            try ok(objstore_results_at(results, index, &object))
            try ok(objstore_set(tx, object, cls["age"], objstore_int(9)))
        }
        try ok(objstore_results_count(results, &count))
        #expect(count == 2)
        try ok(objstore_results_update(results, &changed))
        try ok(objstore_results_count(results, &count))
        #expect(changed && count == 0)
        try ok(objstore_results_update(results, &changed))
        #expect(!changed)
        // They go with the view.
        try ok(objstore_results_close(results))
        refused(objstore_results_count(results, &count), .OBJSTORE_ERR_CLOSED_HANDLE)
    }
    var results: OpaquePointer?, count: UInt64 = 0
    try reading(store) { view in try ok(findAll(view, cls.id, &results)) }
    refused(objstore_results_count(results, &count), .OBJSTORE_ERR_CLOSED_HANDLE)
}

@Test func whereAnObjectStands() throws {
    let store = try openStore(nil, [dogs, persons]), other = try openStore(nil, [dogs])
    defer { for each in [store, other] { _ = objstore_close(each) } }
    let cls = try ClassOf(store, dogs), people = try ClassOf(store, persons)
    func make(_ tx: OpaquePointer, _ cls: ClassOf, _ name: String) throws -> objstore_object {
        try cls.create(tx, ["name": objstore_string(text(name)), "age": objstore_int(1)])
    }
    let stranger = try writing(other) { tx in try make(tx, try ClassOf(tx: tx, dogs), "x") }
    try writing(store) { tx in
        let made = try ["b", "a", "d", "c"].map { try make(tx, cls, $0) }
        let person = try people.create(tx, ["id": objstore_int(1), "name": objstore_string(text("p"))])
        let asked = try query(tx, cls.id, "name != 'd' SORT(name DESC)")
        defer { _ = objstore_query_close(asked) }
        var results: OpaquePointer?
        try ok(objstore_query_find(asked, tx, &results))
        func place(_ object: objstore_object) throws -> UInt64? {
            var index: UInt64 = 99, found = true
            try ok(objstore_results_find_object(results, object, &index, &found))
            #expect(found || index == 99)
            return found ? index : nil
        }
        #expect(try made.map(place) == [1, 2, nil, 0])
        #expect(try place(person) == nil)
        var index: UInt64 = 0, found = false
        refused(objstore_results_find_object(results, stranger, &index, &found), .OBJSTORE_ERR_WRONG_STORE)
        // Also of what was deleted since, until they are updated.
        try ok(objstore_delete(tx, made[0]))
        #expect(try place(made[0]) == 1)
        try ok(objstore_results_update(results, nil))
        #expect(try made.map(place) == [nil, 1, nil, 0])
    }
}

@Test func packedRowsAreAsDocumented() throws {
    let store = try openStore(nil, [items])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, items)
    try fill(store, cls, 20)
    try writing(store) { tx in
        var results: OpaquePointer?, buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        try ok(findAll(tx, cls.id, &results))
        var third = objstore_object()
        try ok(objstore_results_at(results, 3, &third))
        try ok(objstore_delete(tx, third))
        let properties = [cls["s"], cls["n"], cls["t"], cls["f"]]
        try ok(objstore_results_read(results, 2, 10, properties, 4, &buffer))
        let bytes = UnsafeRawPointer(buffer.bytes!)
        let head = bytes.load(as: objstore_packed.self)
        #expect(
            head.magic == 0x4B50_4F4F && head.layout == 1 && head.row_count == 10 && head.column_count == 4
                && head.deleted_count == 1)
        #expect(
            head.total_bytes == UInt64(buffer.length) && head.class_id == cls.id && head.store_tag == third.store_tag)
        let keys = (bytes + Int(head.keys_offset)).assumingMemoryBound(to: Int64.self)
        #expect((0..<10).map { keys[$0] } == (2..<12).map { $0 == 3 ? -1 : Int64($0) })
        let columns = (0..<4).map { (bytes + 64 + 48 * $0).load(as: objstore_packed_column.self) }
        #expect(
            columns.map(\.property_id) == properties
                && columns.allSatisfy { $0.null_count == 2 && $0.values_offset % 8 == 0 })
        for row in 0..<10 {
            let index = row + 2
            let isNull = index % 7 == 0 || index == 3
            for column in columns {
                let bits = (bytes + Int(column.validity_offset)).assumingMemoryBound(to: UInt8.self)
                #expect((bits[row >> 3] >> UInt8(row & 7) & 1 == 0) == isNull)
            }
            let offsets = (bytes + Int(columns[0].offsets_offset)).assumingMemoryBound(to: Int64.self)
            let name = UnsafeRawBufferPointer(
                start: bytes + Int(columns[0].values_offset) + Int(offsets[row]),
                count: Int(offsets[row + 1] - offsets[row]))
            #expect(String(decoding: name, as: UTF8.self) == (isNull ? "" : "name \(index % 5)"))
            #expect(
                (bytes + Int(columns[1].values_offset)).load(fromByteOffset: row * 8, as: Int64.self)
                    == (isNull ? 0 : Int64(index % 10)))
            let time = (bytes + Int(columns[2].values_offset)).load(
                fromByteOffset: row * 16, as: objstore_timestamp.self)
            #expect(
                time.seconds == (isNull ? 0 : Int64(index)) && time.nanoseconds == (isNull ? 0 : 5)
                    && time.reserved == 0)
            let isSet: UInt8 = !isNull && index % 2 == 0 ? 1 : 0
            #expect((bytes + Int(columns[3].values_offset)).load(fromByteOffset: row, as: UInt8.self) == isSet)
        }
        try ok(objstore_results_read(results, 20, 10, properties, 4, &buffer))
        #expect(UnsafeRawPointer(buffer.bytes!).load(as: objstore_packed.self).row_count == 0)
        refused(objstore_results_read(results, 21, 10, properties, 4, &buffer), .OBJSTORE_ERR_OUT_OF_RANGE)
    }
}
