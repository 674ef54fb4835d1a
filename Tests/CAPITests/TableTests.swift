import CObjStore
import Testing

/// Tables and Arrow streams through the C interface: made of nodes and texts, read by columns, values and batches.
@Suite struct TableTests {
    /// A thousand things in three leaves' worth of keys, with holes.
    private struct Things {
        let store: OpaquePointer
        let cls: objstore_class_id
        let ids: [objstore_property_id]

        init() throws {
            var schema: OpaquePointer?
            try ok(objstore_schema_new(&schema))
            let thing = text("Thing")
            try ok(objstore_schema_add_class(schema, thing))
            for (name, kind, flags) in [
                ("number", .OBJSTORE_KIND_INT, 0), ("part", .OBJSTORE_KIND_INT, nullable),
                ("name", .OBJSTORE_KIND_STRING, nullable), ("good", .OBJSTORE_KIND_BOOL, 0),
            ] as [(String, objstore_kind, Int32)] {
                try ok(objstore_schema_add_property(schema, thing, text(name), kind, UInt32(flags)))
            }
            store = try openStore(nil, schema!)
            let named = try reading(store) { view in
                let names = Names(view), cls = try names.cls("Thing")
                return (cls, try ["number", "part", "name", "good"].map { try names.property(cls, $0) })
            }
            (cls, ids) = named
            try writing(store) { tx in
                for number in 0..<9000 {
                    let name = "n\(number % 3)"
                    try withText(name) { name in
                        let values = [
                            objstore_int(Int64(number)),
                            number % 5 == 0 ? objstore_null() : objstore_int(Int64(number % 4)),
                            objstore_string(name), objstore_bool(number % 2 == 0),
                        ]
                        var object = objstore_object()
                        try ok(objstore_create(tx, cls, ids, values, 4, &object))
                        if number % 7 == 3 { try ok(objstore_delete(tx, object)) }
                    }
                }
            }
        }

        /// What is there.
        var numbers: [Int] { (0..<9000).filter { $0 % 7 != 3 } }
    }

    private func table(_ query: String, _ things: Things, _ view: OpaquePointer) throws -> OpaquePointer {
        let made = try CAPITests.query(view, things.cls, query)
        defer { _ = objstore_query_close(made) }
        var table: OpaquePointer?
        try ok(objstore_query_table(made, view, &table))
        return table!
    }

    private func column(_ table: OpaquePointer, _ index: Int) throws -> objstore_table_column {
        var column = objstore_table_column()
        try ok(objstore_table_column_at(table, index, &column))
        return column
    }

    @Test func columnsAreAsTheHeaderSays() throws {
        let things = try Things()
        let table = try reading(things.store) { view in
            try self.table(
                "part != null GROUP(part) SORT(part DESC) SELECT(part, @count AS n, @min.name, @avg.number)", things,
                view)
        }
        defer { _ = objstore_table_close(table) }
        _ = objstore_close(things.store)  // the table needs it no more
        var rows: UInt64 = 0, columns = 0
        try ok(objstore_table_size(table, &rows, &columns))
        #expect(rows == 4 && columns == 4)
        let part = try column(table, 0), count = try column(table, 1), name = try column(table, 2)
        #expect(string(part.name) == "part" && string(count.name) == "n" && string(name.name) == "@min.name")
        #expect(part.kind == .OBJSTORE_KIND_INT && name.kind == .OBJSTORE_KIND_STRING && part.null_count == 0)
        #expect(part.validity == nil && part.offsets == nil && part.values_bytes == 0)
        let wanted = Dictionary(grouping: things.numbers.filter { $0 % 5 != 0 }, by: { $0 % 4 })
        let parts = part.values!.assumingMemoryBound(to: Int64.self)
        let counts = count.values!.assumingMemoryBound(to: Int64.self)
        for row in 0..<4 {
            #expect(parts[row] == Int64(3 - row))
            #expect(Int(counts[row]) == wanted[3 - row]!.count)
            let offsets = name.offsets!
            #expect(offsets[row + 1] - offsets[row] == 2)
            var value = objstore_value()
            try ok(objstore_table_value(table, UInt64(row), 3, &value))
            let members = wanted[3 - row]!
            #expect(abs(value.data.real - Double(members.reduce(0, +)) / Double(members.count)) < 1e-6)
        }
        #expect(name.values_bytes == 8)
    }

    @Test func nodesMakeTheSameAsTexts() throws {
        let things = try Things()
        defer { _ = objstore_close(things.store) }
        func node(
            _ kind: objstore_query_kind, _ operands: Int = 0, choice: UInt8 = 0, number: Int64 = 0,
            value: objstore_value = objstore_null()
        ) -> objstore_query_node {
            objstore_query_node(
                kind: UInt8(kind.rawValue), choice: choice, modifiers: 0, reserved: 0, operands: UInt32(operands),
                number: number,
                value: value)
        }
        let variable = node(.OBJSTORE_QUERY_VARIABLE)
        let part = [variable, node(.OBJSTORE_QUERY_PROPERTY, 1, number: Int64(things.ids[1]))]
        let count = [variable, node(.OBJSTORE_QUERY_COUNT, 1)]
        let sum = [
            variable, node(.OBJSTORE_QUERY_VARIABLE, number: 1),
            node(.OBJSTORE_QUERY_PROPERTY, 1, number: Int64(things.ids[0])),
            node(.OBJSTORE_QUERY_AGGREGATE, 2, choice: UInt8(objstore_aggregate_kind.OBJSTORE_AGGREGATE_SUM.rawValue)),
        ]
        try reading(things.store) { view in
            try withText("n") { name in
                let nodes =
                    [node(.OBJSTORE_QUERY_TRUTH, number: 1)] + part + [node(.OBJSTORE_QUERY_GROUP, 1)] + count + [
                        node(.OBJSTORE_QUERY_CONSTANT, value: objstore_int(1)),
                        node(.OBJSTORE_QUERY_COMPARE, 2, choice: UInt8(objstore_operator.OBJSTORE_GREATER.rawValue)),
                        node(.OBJSTORE_QUERY_HAVING, 1),
                    ] + part + count + [node(.OBJSTORE_QUERY_COLUMN, 1, value: objstore_string(name))] + sum + [
                        node(.OBJSTORE_QUERY_SELECT, 3), node(.OBJSTORE_QUERY_WHOLE, 4),
                    ]
                var query: OpaquePointer?
                try ok(objstore_query_new(view, things.cls, nodes, nodes.count, &query))
                defer { _ = objstore_query_close(query) }
                #expect(
                    try written(query!)
                        == "TRUEPREDICATE GROUP(part) HAVING(@count > 1) SELECT(part, @count AS n, @sum.number)")
            }
            // No tree, or none of a table.
            var query: OpaquePointer?
            let wrong =
                [node(.OBJSTORE_QUERY_TRUTH, number: 1)] + part + [
                    node(.OBJSTORE_QUERY_COLUMN, 1), node(.OBJSTORE_QUERY_SELECT, 1), node(.OBJSTORE_QUERY_WHOLE, 2),
                ]
            #expect(objstore_query_new(view, things.cls, wrong, wrong.count, &query) == .OBJSTORE_ERR_INVALID_ARGUMENT)
            let twice =
                [node(.OBJSTORE_QUERY_TRUTH, number: 1)] + part + [node(.OBJSTORE_QUERY_SELECT, 1)] + part + [
                    node(.OBJSTORE_QUERY_SELECT, 1), node(.OBJSTORE_QUERY_WHOLE, 3),
                ]
            #expect(objstore_query_new(view, things.cls, twice, twice.count, &query) == .OBJSTORE_ERR_INVALID_QUERY)
            let loose = part + [node(.OBJSTORE_QUERY_SELECT, 1)]
            #expect(objstore_query_new(view, things.cls, loose, loose.count, &query) == .OBJSTORE_ERR_INVALID_QUERY)
        }
    }

    @Test func whatWantsObjectsIsTold() throws {
        let things = try Things()
        defer { _ = objstore_close(things.store) }
        try reading(things.store) { view in
            let table = try CAPITests.query(view, things.cls, "GROUP(part)"),
                all = try CAPITests.query(view, things.cls, "part > 1")
            defer {
                _ = objstore_query_close(table)
                _ = objstore_query_close(all)
            }
            var object = objstore_object(), found = false, results: OpaquePointer?, joined: OpaquePointer?,
                made: OpaquePointer?
            #expect(objstore_query_first(table, view, &object, &found) == .OBJSTORE_ERR_INVALID_QUERY)
            #expect(objstore_query_find(table, view, &results) == .OBJSTORE_ERR_INVALID_QUERY)
            #expect(objstore_query_then(table, all, &joined) == .OBJSTORE_ERR_INVALID_QUERY)
            #expect(objstore_query_table(all, view, &made) == .OBJSTORE_ERR_INVALID_QUERY && made == nil)
            #expect(said(objstore_last_message()).contains("gives objects"))
            try ok(objstore_query_then(all, table, &joined))
            #expect(try written(joined!) == "part > 1 GROUP(part)")
            defer { _ = objstore_query_close(joined) }
            var buffer = objstore_buffer_init(), plan = objstore_text()
            try ok(objstore_query_explain(joined, view, UInt32(OBJSTORE_EXPLAIN_RUN), &buffer, &plan))
            defer { objstore_buffer_free(&buffer) }
            let lines = string(plan) ?? ""
            #expect(lines.contains("then: GROUP(part)") && lines.contains("2 rows"), "\(lines)")
        }
        try writing(things.store) { tx in
            let table = try CAPITests.query(tx, things.cls, "GROUP(part)")
            defer { _ = objstore_query_close(table) }
            #expect(objstore_query_delete(table, tx, nil) == .OBJSTORE_ERR_INVALID_QUERY)
        }
    }

    private func said(_ message: UnsafePointer<CChar>?) -> String { message.map { String(cString: $0) } ?? "" }

    // MARK: Arrow

    /// The numbers of the first column, and how many rows each batch had.
    private func drain(_ stream: inout ArrowArrayStream) -> (numbers: [Int64], batches: [Int]) {
        var schema = ArrowSchema(), numbers: [Int64] = [], batches: [Int] = []
        #expect(stream.get_schema(&stream, &schema) == 0)
        #expect(String(cString: schema.format) == "+s" && schema.n_children > 0)
        schema.release(&schema)
        #expect(schema.release == nil)
        while true {
            var array = ArrowArray()
            #expect(stream.get_next(&stream, &array) == 0)
            guard array.release != nil else { break }
            let child = array.children[0]!.pointee
            let values = child.buffers[1]!.assumingMemoryBound(to: Int64.self)
            numbers += (0..<Int(array.length)).map { values[$0] }
            batches.append(Int(array.length))
            array.release(&array)
        }
        return (numbers, batches)
    }

    @Test func streamsOfObjectsTablesAndResults() throws {
        let things = try Things(), wanted = things.numbers.map { Int64($0) }
        defer { _ = objstore_close(things.store) }
        try reading(things.store) { view in
            var stream = ArrowArrayStream()
            let all = try CAPITests.query(view, things.cls, ""),
                few = try CAPITests.query(view, things.cls, "number < 100 SORT(number DESC)")
            defer {
                _ = objstore_query_close(all)
                _ = objstore_query_close(few)
            }
            try ok(objstore_query_arrow(all, view, 0, &stream))
            let (numbers, batches) = drain(&stream)
            #expect(numbers == wanted && batches.count == 1)
            stream.release(&stream)
            #expect(stream.release == nil)

            var results: OpaquePointer?
            try ok(objstore_query_find(few, view, &results))
            defer { _ = objstore_results_close(results) }
            try ok(objstore_results_arrow(results, [things.ids[0], things.ids[2]], 2, 0, &stream))
            #expect(drain(&stream).numbers == wanted.filter { $0 < 100 }.reversed())
            stream.release(&stream)
            try ok(objstore_results_arrow(results, nil, 0, 0, &stream))
            #expect(drain(&stream).numbers == wanted.filter { $0 < 100 }.reversed())
            stream.release(&stream)

            let grouped = try table("GROUP(part) SORT(part ASC)", things, view)
            try ok(objstore_table_arrow(grouped, 0, &stream))
            try ok(objstore_table_close(grouped))
            #expect(drain(&stream).numbers == [0, 0, 1, 2, 3])
            stream.release(&stream)

            #expect(
                objstore_results_arrow(results, [things.ids[0], things.ids[0]], 2, 0, &stream)
                    == .OBJSTORE_ERR_INVALID_ARGUMENT)
            #expect(stream.release == nil)
        }
    }

    /// Rows whose objects were deleted are null; batches that somebody has stay when the store is closed.
    @Test func streamsOfWhatWasDeletedAndClosed() throws {
        let things = try Things()
        var live: OpaquePointer?, results: OpaquePointer?, stream = ArrowArrayStream(), late = ArrowArrayStream()
        try ok(objstore_view_open(things.store, &live))
        let query = try CAPITests.query(live!, things.cls, "number < 20")
        try ok(objstore_query_find(query, live, &results))
        try writing(things.store) { tx in
            let gone = try CAPITests.query(tx, things.cls, "number < 10")
            try ok(objstore_query_delete(gone, tx, nil))
            _ = objstore_query_close(gone)
        }
        try ok(objstore_view_refresh(live, nil))
        try ok(objstore_results_arrow(results, nil, 0, 0, &stream))
        var array = ArrowArray()
        #expect(stream.get_next(&stream, &array) == 0)
        let before = things.numbers.filter { $0 < 20 }
        #expect(Int(array.length) == before.count)
        #expect(Int(array.children[0]!.pointee.null_count) == before.filter { $0 < 10 }.count)
        try ok(objstore_query_arrow(query, live, 0, &late))
        _ = objstore_query_close(query)
        try ok(objstore_close(things.store))
        var none = ArrowArray()
        #expect(late.get_next(&late, &none) != 0 && none.release == nil)
        #expect(said(late.get_last_error(&late)).contains("clos"))
        late.release(&late)
        stream.release(&stream)
        let values = array.children[0]!.pointee.buffers[1]!.assumingMemoryBound(to: Int64.self)
        #expect(values[before.count - 1] == Int64(before.last!))
        array.release(&array)
    }
}

private func withText<T>(_ string: String, _ body: (objstore_text) throws -> T) rethrows -> T {
    let utf8 = Array(string.utf8)
    return try utf8.withUnsafeBufferPointer { bytes in
        try bytes.withMemoryRebound(to: CChar.self) {
            try body(objstore_text(bytes: $0.baseAddress, length: Int64(utf8.count)))
        }
    }
}
