import CObjStore
import CSystem
import Testing

/// Promises of the header's first pages that hold for many functions: reserved members, growing structures, messages,
/// closed functions.
@Suite struct SmallPrintTests {
    private let mixed = TestClass(
        name: "A",
        properties: [
            ("m", .OBJSTORE_KIND_MIXED, 0), ("x", .OBJSTORE_KIND_INT, nullable), ("n", .OBJSTORE_KIND_INT, indexed),
        ],
        defaults: ["n": objstore_int(0)])

    // MARK: Reserved members

    @Test func reservedMembersAreZero() throws {
        let store = try openStore(nil, [mixed])
        defer { _ = objstore_close(store) }
        let a = try ClassOf(store, mixed)
        var bad = objstore_int(1)
        bad.reserved = 77
        try writing(store) { tx in
            let object = try a.create(tx, [:])
            var found = objstore_object(), isFound = false, count: UInt64 = 0, results: OpaquePointer?,
                index: objstore_index_id = 0, order: Int32 = 0
            var buffer = objstore_buffer_init(), properties = [a["n"]], list = [objstore_list_of(1), bad]
            defer { _ = objstore_buffer_free(&buffer) }
            try ok(objstore_find_index(tx, a.id, &properties, 1, &index))
            let refusals: [objstore_status] = [
                objstore_set(tx, object, a["x"], bad), objstore_set(tx, object, a["m"], bad),
                objstore_create(tx, a.id, &properties, &bad, 1, nil),
                objstore_set_row(tx, object, &properties, &bad, 1),
                countWhere(tx, a.id, a["n"], .OBJSTORE_EQUAL, bad, &count),
                findWhere(tx, a.id, a["n"], .OBJSTORE_EQUAL, bad, &results),
                firstWhere(tx, a.id, a["n"], .OBJSTORE_EQUAL, bad, &found, &isFound),
                countIn(tx, index, [bad], [], 0, &count),
                objstore_mixed_set(tx, object, a["m"], nil, 0, bad),
                objstore_mixed_get(tx, object, a["m"], &bad, 1, nil, &list[0], &isFound),
                objstore_document_pack(&list, 2, &buffer, nil),
                objstore_value_compare(bad, bad, &order), objstore_value_to_json(bad, 0, &buffer, nil),
                objstore_set_from(tx, object, a["x"], .OBJSTORE_POLICY_ALL, &bad, 1, nil),
            ]
            for (number, status) in refusals.enumerated() {
                expect(status == .OBJSTORE_ERR_INVALID_ARGUMENT, "call \(number): \(status.rawValue)")
            }
            expect(
                refused(objstore_set(tx, object, a["x"], bad), .OBJSTORE_ERR_INVALID_ARGUMENT).contains(
                    "value.reserved is 77"))
        }
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        try ok(objstore_schema_add_class(schema, text("A")))
        try ok(objstore_schema_add_property(schema, text("A"), text("x"), .OBJSTORE_KIND_INT, 0))
        refused(objstore_schema_set_default(schema, text("A"), text("x"), bad), .OBJSTORE_ERR_INVALID_ARGUMENT)
        refused(
            objstore_schema_set_enumeration(schema, text("A"), text("x"), &bad, 1, 0), .OBJSTORE_ERR_INVALID_ARGUMENT)
    }

    @Test func reservedMembersOfColumnsCollectionsAndRowsAreZero() throws {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        try ok(objstore_schema_add_class(schema, text("A")))
        try ok(objstore_schema_add_property(schema, text("A"), text("x"), .OBJSTORE_KIND_INT, 0))
        try ok(
            objstore_schema_add_collection(
                schema, text("A"), text("l"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_INT, 0))
        let store = try openStore(nil, schema)
        defer { _ = objstore_close(store) }
        try writing(store) { tx in
            let names = Names(tx), a = try names.cls("A"), x = try names.property(a, "x"),
                l = try names.property(a, "l")
            var data: Int64 = 5
            try withUnsafePointer(to: &data) { data in
                for member in 0..<3 {
                    var column = objstore_column_init(x, .OBJSTORE_KIND_INT, data)
                    withUnsafeMutableBytes(of: &column.reserved) {
                        $0.storeBytes(of: 9, toByteOffset: member * 8, as: UInt64.self)
                    }
                    expect(
                        refused(
                            objstore_insert_rows(tx, a, .OBJSTORE_POLICY_ERROR, &column, 1, 1, nil, nil),
                            .OBJSTORE_ERR_INVALID_ARGUMENT
                        ).contains("column.reserved is 9"))
                }
                var column = objstore_column_init(x, .OBJSTORE_KIND_INT, data), key: Int64 = 0
                column.values_bytes = 8
                var message = refused(
                    objstore_insert_rows(tx, a, .OBJSTORE_POLICY_ERROR, &column, 1, 1, nil, nil),
                    .OBJSTORE_ERR_INVALID_ARGUMENT)
                expect(message == "columns: A.x: values_bytes is 8, not 0, and a column of kind int has none")
                column.values_bytes = 0
                column.offsets = data
                message = refused(
                    objstore_insert_rows(tx, a, .OBJSTORE_POLICY_ERROR, &column, 1, 1, nil, nil),
                    .OBJSTORE_ERR_INVALID_ARGUMENT)
                expect(message == "columns: A.x: offsets is not NULL, and a column of kind int has none")
                column.offsets = nil
                try ok(objstore_insert_rows(tx, a, .OBJSTORE_POLICY_ERROR, &column, 1, 1, &key, nil))
                var object = objstore_object(), results: OpaquePointer?, count: UInt64 = 0
                try ok(findAll(tx, a, &results))
                try ok(objstore_results_at(results, 0, &object))
                _ = objstore_results_close(results)
                var list = objstore_collection_of(object, l), value = objstore_int(1)
                try ok(objstore_list_insert(tx, list, 0, &value, 1))
                expect(
                    refused(objstore_list_insert(tx, list, 0, &value, 1 << 60), .OBJSTORE_ERR_INVALID_ARGUMENT)
                        .hasPrefix("count is "))
                expect(
                    refused(objstore_collection_remove(tx, list, 5, 1), .OBJSTORE_ERR_OUT_OF_RANGE).hasPrefix(
                        "index: A.l: index 5"))
                list.reserved = 4
                let statuses = [
                    objstore_list_insert(tx, list, 0, &value, 1), objstore_collection_clear(tx, list),
                    objstore_collection_count(tx, list, &count),
                ]
                expect(statuses.allSatisfy { $0 == .OBJSTORE_ERR_INVALID_ARGUMENT })
                expect(
                    refused(objstore_collection_count(tx, list, &count), .OBJSTORE_ERR_INVALID_ARGUMENT).hasPrefix(
                        "collection.reserved is 4"))
                list = objstore_collection_of(object, l)
                list.collection_id = 1
                expect(
                    refused(objstore_collection_count(tx, list, &count), .OBJSTORE_ERR_INVALID_ARGUMENT).hasPrefix(
                        "collection.collection_id is 1"))
            }
        }
    }

    // MARK: Growing structures

    /// What an older library does not know stays as it was, and the size says so; an older program gets what it has
    /// room for.
    @Test func structSizeIsWhatWasFilled() throws {
        let store = try openStore(nil, [mixed])
        defer { _ = objstore_close(store) }
        let a = try ClassOf(store, mixed)
        try reading(store) { view in
            var index: objstore_index_id = 0, property = a["n"]
            try ok(objstore_find_index(view, a.id, &property, 1, &index))
            func check<T>(_ type: T.Type, _ fill: (UnsafeMutablePointer<T>) -> objstore_status) throws {
                let known = MemoryLayout<T>.size,
                    memory = UnsafeMutableRawPointer.allocate(byteCount: known + 64, alignment: 16)
                defer { memory.deallocate() }
                for size in [known + 64, known + 8, known, 16] {
                    memset(memory, 0xA5, known + 64)
                    memory.storeBytes(of: UInt32(size), as: UInt32.self)
                    try ok(fill(memory.assumingMemoryBound(to: type)))
                    let filled = min(size, known)
                    expect(memory.load(as: UInt32.self) == UInt32(filled), "\(type): \(size)")
                    for byte in filled..<known + 64 {
                        expect(
                            memory.load(fromByteOffset: byte, as: UInt8.self) == 0xA5, "\(type): \(size), byte \(byte)")
                    }
                    // Once more with what came back.
                    try ok(fill(memory.assumingMemoryBound(to: type)))
                    expect(memory.load(as: UInt32.self) == UInt32(filled))
                }
            }
            try check(objstore_info.self) { objstore_get_info(store, $0) }
            try check(objstore_statistics.self) { objstore_get_statistics(store, $0) }
            try check(objstore_class_info.self) { objstore_class_get_info(view, a.id, $0) }
            try check(objstore_class_info.self) { objstore_class_at(view, 0, $0) }
            try check(objstore_property_info.self) { objstore_property_get_info(view, a["x"], $0) }
            try check(objstore_property_info.self) { objstore_property_at(view, a.id, 0, $0) }
            try check(objstore_index_info.self) { objstore_index_get_info(view, index, $0) }
            try check(objstore_index_info.self) { objstore_index_at(view, a.id, 0, $0) }
            try check(objstore_error.self) { objstore_last_error($0) }
        }
        #expect(
            objstore_info_init().struct_size == UInt32(MemoryLayout<objstore_info>.size)
                && objstore_statistics_init().struct_size == UInt32(MemoryLayout<objstore_statistics>.size))
        #expect(objstore_class_info_init().struct_size == UInt32(MemoryLayout<objstore_class_info>.size))
        #expect(objstore_property_info_init().struct_size == UInt32(MemoryLayout<objstore_property_info>.size))
        #expect(objstore_index_info_init().struct_size == UInt32(MemoryLayout<objstore_index_info>.size))
        #expect(objstore_changes_info_init().struct_size == UInt32(MemoryLayout<objstore_changes_info>.size))
    }

    // MARK: Messages

    @Test func messagesWithNULAreWhole() throws {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        let name = "a\0b"
        let message = refused(objstore_schema_add_class(schema, text(name)), .OBJSTORE_ERR_INVALID_SCHEMA)
        #expect(message.contains("a\\0b"))
        var error = objstore_error_init()
        try ok(objstore_last_error(&error))
        #expect(string(error.message) == message && error.message.length == message.utf8.count)
        #expect(objstore_fail(3, text("one\0two")) == .OBJSTORE_ERR_CALLBACK)
        #expect(String(cString: objstore_last_message()) == "one\\0two")
    }

    @Test func grammar() throws {
        let store = try openStore(nil, [mixed])
        let a = try ClassOf(store, mixed), view = try liveView(store)
        var results: OpaquePointer?, count: UInt64 = 0
        try ok(findAll(view, a.id, &results))
        _ = objstore_results_close(results)
        #expect(
            refused(objstore_results_count(results, &count), .OBJSTORE_ERR_CLOSED_HANDLE)
                == "results: the results were closed")
        #expect(
            refused(objstore_results_count(view, &count), .OBJSTORE_ERR_WRONG_KIND) == "results is a view, not results")
        try ok(findAll(view, a.id, &results))
        #expect(
            refused(objstore_view_version(results, &count), .OBJSTORE_ERR_WRONG_KIND) == "view is results, not a view")
        try writing(store) { tx in
            let object = try a.create(tx, [:])
            var row = objstore_row(), seconds = objstore_timestamp()
            try ok(objstore_row_init(tx, a.id, &row))
            try ok(objstore_row_seek(&row, object))
            expect(
                refused(objstore_row_timestamp(&row, a["n"], &seconds, nil), .OBJSTORE_ERR_WRONG_TYPE).hasSuffix(
                    "A.n is an int, not a timestamp"))
            var id = objstore_object_id()
            try ok(objstore_object_id_new(&id))
            expect(
                refused(objstore_set(tx, object, a["n"], objstore_object_id_value(id)), .OBJSTORE_ERR_WRONG_TYPE)
                    .contains("object id"))
        }
        try ok(objstore_close(store))
    }

    // MARK: Paths from the end

    /// What is inserted at an index is found there.
    @Test func insertingFromTheEnd() throws {
        let store = try openStore(nil, [mixed])
        defer { _ = objstore_close(store) }
        let a = try ClassOf(store, mixed)
        try writing(store) { tx in
            let object = try a.create(tx, [:])
            for index in -4...3 {
                var flat = [objstore_list_of(3), objstore_int(1), objstore_int(2), objstore_int(3)],
                    buffer = objstore_buffer_init(), document = objstore_value()
                defer { _ = objstore_buffer_free(&buffer) }
                try ok(objstore_document_pack(&flat, 4, &buffer, &document))
                try ok(objstore_set(tx, object, a["m"], document))
                var step = objstore_int(Int64(index)), found = objstore_value()
                try ok(objstore_mixed_insert(tx, object, a["m"], &step, 1, objstore_int(9)))
                try ok(objstore_mixed_get(tx, object, a["m"], &step, 1, nil, &found, nil))
                expect(found.data.integer == 9, "\(index)")
            }
            for index in [-6, 5, Int64.min, Int64.max] as [Int64] {
                var step = objstore_int(index)
                refused(objstore_mixed_insert(tx, object, a["m"], &step, 1, objstore_int(9)), .OBJSTORE_ERR_NOT_FOUND)
            }
        }
    }

    // MARK: Numbers of elements

    @Test func tooManyRowsAreRefused() throws {
        let store = try openStore(nil, [mixed])
        defer { _ = objstore_close(store) }
        let a = try ClassOf(store, mixed)
        try writing(store) { tx in
            var data = [Int64](repeating: 1, count: 4)
            try data.withUnsafeMutableBytes { data in
                for rows in [1 << 60, 1 << 45, Int.max] {
                    refused(
                        objstore_insert_rows(tx, a.id, .OBJSTORE_POLICY_ERROR, nil, 0, rows, nil, nil),
                        .OBJSTORE_ERR_INVALID_ARGUMENT)
                    var column = objstore_column_init(a["x"], .OBJSTORE_KIND_INT, data.baseAddress)
                    refused(
                        objstore_insert_rows(tx, a.id, .OBJSTORE_POLICY_ERROR, &column, 1, rows, nil, nil),
                        .OBJSTORE_ERR_INVALID_ARGUMENT)
                }
            }
            expect(try a.count(tx) == 0)
        }
    }

    // MARK: Bound functions

    @Test func closedFunctionsCallNothing() throws {
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        let dog = try ClassOf(store, dogs)
        let body: objstore_write_body = { tx, userdata in
            var id: objstore_class_id = 0
            userdata!.assumingMemoryBound(to: Int.self).pointee += 1
            return objstore_find_class(tx, text("Dog"), &id)
        }
        let calls = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        calls.initialize(to: 0)
        defer { calls.deallocate() }
        var closed: [objstore_write_body] = []
        for round in 1...600 {
            var function: objstore_write_body?, bound: OpaquePointer?
            try ok(
                objstore_bind_write_body(
                    body, calls, { $0!.assumingMemoryBound(to: Int.self).pointee += 1000 }, &function, &bound))
            try ok(objstore_write(store, function, nil, nil))
            try ok(objstore_bound_close(bound))
            #expect(calls.pointee == round * 1001)
            closed.append(function!)
            // The last 256 that were closed are distinguished from those that are alive.
            let old = closed[max(0, closed.count - 200)]
            let message = refused(objstore_write(store, old, nil, nil), .OBJSTORE_ERR_CLOSED_HANDLE)
            #expect(message.contains("bound function"))
            #expect(calls.pointee == round * 1001)
        }
        // A handler that is closed before its observer.
        var handler: objstore_change_handler?, bound: OpaquePointer?, token: OpaquePointer?
        try ok(objstore_bind_change_handler({ _, _ in .OBJSTORE_OK }, nil, nil, &handler, &bound))
        try ok(objstore_observe(store, dog.id, 0, handler, nil, nil, &token))
        try ok(objstore_bound_close(bound))
        try writing(store) { tx in try dog.create(tx, ["name": objstore_string(text("Rex"))]) }
        #expect(refused(objstore_deliver(store, nil), .OBJSTORE_ERR_CALLBACK).contains("bound function was closed"))
        try ok(objstore_token_close(token))
    }

    // MARK: Observers

    /// Closing one costs the same with 100 and with many: their order of closing is the worst for each way of keeping
    /// them.
    @Test func closingObserversCostsTheSame() throws {
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        let dog = try ClassOf(store, dogs)
        func nanosecondsEach(_ count: Int, oldestFirst: Bool) throws -> Int64 {
            var tokens: [OpaquePointer?] = []
            for _ in 0..<count {
                var token: OpaquePointer?
                try ok(objstore_observe(store, dog.id, 0, { _, _ in .OBJSTORE_OK }, nil, nil, &token))
                tokens.append(token)
            }
            if !oldestFirst { tokens.reverse() }
            let start = nanosecondsOfThisThread()
            for token in tokens { try ok(objstore_token_close(token)) }
            return (nanosecondsOfThisThread() - start) / Int64(count)
        }
        // Not of the clock: on a machine that others use, what takes long is interrupted, and what is short is not.
        func nanosecondsOfThisThread() -> Int64 {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }
        for oldestFirst in [true, false] {
            var few = Int64.max, many = Int64.max
            for _ in 0..<5 { few = min(few, try nanosecondsEach(500, oldestFirst: oldestFirst)) }
            for _ in 0..<2 { many = min(many, try nanosecondsEach(50_000, oldestFirst: oldestFirst)) }
            // A search among them would make it a hundred times as much.
            #expect(many < few * 12, "\(few) ns each of 500, \(many) ns each of 50,000")
        }
    }

    @Test func failuresOnTheWorkerAreLogged() throws {
        final class Log { var lines: [(Int32, String)] = [] }
        nonisolated(unsafe) let log = Log()
        let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        let context = UnsafeMutablePointer<(Unmanaged<Log>, UnsafeMutablePointer<pthread_mutex_t>)>.allocate(
            capacity: 1)
        context.initialize(to: (.passUnretained(log), lock))
        let store = try openStore(nil, [dogs]) { config in
            try ok(objstore_config_set_flags(config, UInt32(OBJSTORE_CONFIG_DELIVER_ON_WORKER)))
            try ok(
                objstore_config_set_log(
                    config, .OBJSTORE_LOG_ERROR,
                    { level, line, context in
                        let (log, lock) = context!.assumingMemoryBound(
                            to: (Unmanaged<Log>, UnsafeMutablePointer<pthread_mutex_t>).self
                        ).pointee
                        pthread_mutex_lock(lock)
                        log.takeUnretainedValue().lines.append((level.rawValue, String(cString: line!)))
                        pthread_mutex_unlock(lock)
                    }, context, nil))
        }
        let dog = try ClassOf(store, dogs)
        var tokens: [OpaquePointer?] = [nil, nil, nil]
        try ok(
            objstore_observe(
                store, dog.id, 0, { _, _ in objstore_fail(5, text("disk of mine is full")) }, nil, nil, &tokens[0]))
        try ok(objstore_observe(store, dog.id, 0, { _, _ in .OBJSTORE_OK }, nil, nil, &tokens[1]))
        try ok(objstore_observe(store, dog.id, 0, { _, _ in objstore_status(rawValue: 12345)! }, nil, nil, &tokens[2]))
        try writing(store) { tx in try dog.create(tx, ["name": objstore_string(text("Rex"))]) }
        // Until the worker has called all three.
        var statistics = objstore_statistics_init()
        repeat { try ok(objstore_get_statistics(store, &statistics)) } while statistics.change_sets < 3
        try ok(objstore_close(store))
        let errors = log.lines.filter { $0.0 == objstore_log_level.OBJSTORE_LOG_ERROR.rawValue }.map(\.1)
        #expect(
            errors.count == 2 && errors[0].contains("disk of mine is full") && errors[1].contains("12345"), "\(errors)")
    }

    // MARK: Texts of identifiers, tables

    @Test func identifiersAsTexts() throws {
        var id = objstore_object_id(), uuid = objstore_uuid(), room = [CChar](repeating: 1, count: 64)
        try ok(objstore_object_id_from_text(text("0123456789abcdefABCDEF01"), &id))
        #expect(
            withUnsafeBytes(of: id) { Array($0) } == [
                0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xab, 0xcd, 0xef, 0x01,
            ])
        try ok(objstore_object_id_to_text(id, &room))
        #expect(
            room[24] == 0 && room[25] == 1
                && room.withUnsafeBufferPointer({ String(cString: $0.baseAddress!) }) == "0123456789abcdefabcdef01")
        try ok(objstore_uuid_from_text(text("f0E1d2c3-0011-2233-4455-66778899aaBB"), &uuid))
        #expect(
            withUnsafeBytes(of: uuid) { Array($0) } == [
                0xf0, 0xe1, 0xd2, 0xc3, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
            ])
        try ok(objstore_uuid_to_text(uuid, &room))
        #expect(
            room[36] == 0 && room[37] == 1
                && room.withUnsafeBufferPointer({ String(cString: $0.baseAddress!) })
                    == "f0e1d2c3-0011-2233-4455-66778899aabb"
        )
        let before = uuid
        for bad in [
            "", "0", "0123456789abcdefabcdef0", "0123456789abcdefabcdef012", "0123456789abcdefabcdef0g",
            "f0e1d2c3_0011-2233-4455-66778899aabb",
        ] {
            refused(objstore_object_id_from_text(text(bad), &id), .OBJSTORE_ERR_INVALID_ARGUMENT)
            refused(objstore_uuid_from_text(text(bad), &uuid), .OBJSTORE_ERR_INVALID_ARGUMENT)
        }
        #expect(withUnsafeBytes(of: before) { Array($0) } == withUnsafeBytes(of: uuid) { Array($0) })
        refused(objstore_uuid_from_text(objstore_text_of(nil, 3), &uuid), .OBJSTORE_ERR_INVALID_ARGUMENT)
    }

    private func row(_ name: String?, _ kind: objstore_kind, _ flags: Int32 = 0) -> objstore_property_row {
        var row = objstore_property_row()
        row.name = name.flatMap { text($0).bytes }
        row.kind = kind
        row.flags = UInt32(flags)
        return row
    }

    @Test func tablesDescribeWhatCallsDo() throws {
        var rows = [
            row("id", .OBJSTORE_KIND_INT, primaryKey), row("name", .OBJSTORE_KIND_STRING, nullable),
            row("age", .OBJSTORE_KIND_INT, indexed), row("tags", .OBJSTORE_KIND_STRING),
            row("scores", .OBJSTORE_KIND_DOUBLE, nullable), row("friend", .OBJSTORE_KIND_LINK, 0x10),
            row("pack", .OBJSTORE_KIND_LINK),
        ]
        rows[1].former_name = text("nick").bytes
        rows[2].default_value = objstore_int(3)
        rows[2].stored_name = text("age_in_years").bytes
        rows[3].collection = .OBJSTORE_KIND_SET
        rows[4].collection = .OBJSTORE_KIND_MAP
        rows[4].key_kind = .OBJSTORE_KIND_STRING
        rows[5].target = text("Dog").bytes
        rows[6].target = text("Dog").bytes
        rows[6].collection = .OBJSTORE_KIND_LIST
        var schema: OpaquePointer?, same: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        try ok(objstore_schema_add_rows(schema, text("Dog"), 0, rows, rows.count))
        try ok(objstore_schema_new(&same))
        let dog = text("Dog")
        try ok(objstore_schema_add_class(same, dog))
        try ok(objstore_schema_add_property(same, dog, text("id"), .OBJSTORE_KIND_INT, UInt32(primaryKey)))
        try ok(objstore_schema_add_property(same, dog, text("name"), .OBJSTORE_KIND_STRING, UInt32(nullable)))
        try ok(objstore_schema_add_former_name(same, dog, text("name"), text("nick")))
        try ok(objstore_schema_add_property(same, dog, text("age"), .OBJSTORE_KIND_INT, UInt32(indexed)))
        try ok(objstore_schema_set_default(same, dog, text("age"), objstore_int(3)))
        try ok(objstore_schema_set_stored_name(same, dog, text("age"), text("age_in_years")))
        try ok(
            objstore_schema_add_collection(
                same, dog, text("tags"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_STRING, 0))
        try ok(
            objstore_schema_add_collection(
                same, dog, text("scores"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_DOUBLE,
                UInt32(nullable)))
        try ok(objstore_schema_add_link(same, dog, text("friend"), dog, 0x10))
        try ok(
            objstore_schema_add_link_collection(
                same, dog, text("pack"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, dog, 0))

        // A file that was made by one opens with the other, at the same version: no class differs.
        let folder = TestFolder()
        _ = objstore_close(try openStore(folder.store, schema))
        let store = try openStore(folder.store, same)
        try reading(store) { view in
            var id: objstore_class_id = 0, ids = [objstore_property_id](repeating: 0, count: rows.count)
            try ok(objstore_find_rows(view, dog, rows, rows.count, &id, &ids))
            expect(id == (try Names(view).cls("Dog")))
            for (index, row) in rows.enumerated() {
                expect(ids[index] == (try Names(view).property(id, String(cString: row.name!))))
            }
            try ok(objstore_find_rows(view, dog, rows, rows.count, nil, nil))
            // Nothing is filled where one is not there.
            var others = [rows[0], row("nose", .OBJSTORE_KIND_INT)], kept: objstore_class_id = 7
            expect(
                refused(objstore_find_rows(view, dog, &others, 2, &kept, &ids), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
                    .hasPrefix("rows[1]: "))
            expect(kept == 7)
            refused(objstore_find_rows(view, text("Cat"), &others, 1, &kept, &ids), .OBJSTORE_ERR_NO_SUCH_CLASS)
        }
        _ = objstore_close(store)
        _ = objstore_schema_close(schema)
        _ = objstore_schema_close(same)
    }

    @Test func badTablesAddNothing() throws {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        func refuse(_ bad: objstore_property_row, _ status: objstore_status, _ part: String, flags: UInt32 = 0) {
            var rows = [row("good", .OBJSTORE_KIND_INT), bad]
            let message = refused(objstore_schema_add_rows(schema, text("A"), flags, &rows, 2), status)
            expect(message.hasPrefix("rows[1]: ") && message.contains(part), "\(message)")
        }
        refuse(row(nil, .OBJSTORE_KIND_INT), .OBJSTORE_ERR_INVALID_ARGUMENT, "name is NULL")
        refuse(row("good", .OBJSTORE_KIND_INT), .OBJSTORE_ERR_INVALID_SCHEMA, "good")
        refuse(row("a", .OBJSTORE_KIND_NULL), .OBJSTORE_ERR_INVALID_SCHEMA, "A.a")
        refuse(row("a", .OBJSTORE_KIND_LIST), .OBJSTORE_ERR_INVALID_SCHEMA, "collection")
        refuse(row("a", .OBJSTORE_KIND_LINK), .OBJSTORE_ERR_INVALID_SCHEMA, "target")
        refuse(row("a", objstore_kind(rawValue: 99)!), .OBJSTORE_ERR_INVALID_ARGUMENT, "99")
        refuse(row("a", .OBJSTORE_KIND_INT, 0x4000), .OBJSTORE_ERR_INVALID_ARGUMENT, "0x4000")
        var bad = row("a", .OBJSTORE_KIND_INT)
        bad.reserved.3 = 8
        refuse(bad, .OBJSTORE_ERR_INVALID_ARGUMENT, "reserved is 8")
        bad = row("a", .OBJSTORE_KIND_INT)
        bad.target = text("A").bytes
        refuse(bad, .OBJSTORE_ERR_INVALID_SCHEMA, "target is for links, not for an int")
        bad = row("a", .OBJSTORE_KIND_LINK, Int32(OBJSTORE_PROPERTY_UNIQUE))
        bad.target = text("A").bytes
        refuse(bad, .OBJSTORE_ERR_INVALID_SCHEMA, "A.a: a link cannot be unique by itself")
        bad = row("a", .OBJSTORE_KIND_INT)
        bad.key_kind = .OBJSTORE_KIND_INT
        refuse(bad, .OBJSTORE_ERR_INVALID_SCHEMA, "maps")
        bad = row("a", .OBJSTORE_KIND_INT)
        bad.default_value = objstore_string(text("five"))
        refuse(bad, .OBJSTORE_ERR_WRONG_TYPE, "default_value")
        bad = row("a", .OBJSTORE_KIND_INT)
        bad.former_name = text("not a name").bytes
        refuse(bad, .OBJSTORE_ERR_INVALID_SCHEMA, "not a name")
        refused(objstore_schema_add_rows(schema, text("A"), 2, nil, 0), .OBJSTORE_ERR_INVALID_ARGUMENT)
        refused(objstore_schema_add_rows(schema, text("A"), 0, nil, 1), .OBJSTORE_ERR_INVALID_ARGUMENT)
        var keyed = [row("id", .OBJSTORE_KIND_INT, primaryKey)]
        refused(
            objstore_schema_add_rows(schema, text("A"), UInt32(OBJSTORE_CLASS_EMBEDDED), &keyed, 1),
            .OBJSTORE_ERR_INVALID_SCHEMA)
        // Of all this nothing stayed.
        try ok(objstore_schema_add_rows(schema, text("A"), 0, &keyed, 1))
        refused(objstore_schema_add_rows(schema, text("A"), 0, &keyed, 1), .OBJSTORE_ERR_INVALID_SCHEMA)
    }
}
