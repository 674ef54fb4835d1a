import CObjStore
import Testing

/// What callers get wrong, and the errors they get.
@Suite struct RefusalTests {
    private let item = TestClass(
        name: "Item",
        properties: [
            ("id", .OBJSTORE_KIND_INT, primaryKey), ("name", .OBJSTORE_KIND_STRING, Int32(OBJSTORE_PROPERTY_NULLABLE)),
        ])

    private func inWrite(_ body: (OpaquePointer, ClassOf) throws -> Void) throws {
        let store = try openStore(nil, [item])
        let cls = try ClassOf(store, item)
        try writing(store) { tx in try body(tx, cls) }
        try ok(objstore_close(store))
    }

    /// More properties than there can be are refused before anything is read.
    @Test func absurdCounts() throws {
        try inWrite { tx, cls in
            var id: objstore_property_id = 0, index: objstore_index_id = 0, object = objstore_object()
            try ok(objstore_find_property(tx, cls.id, text("id"), &id))
            var value = objstore_int(1)
            for count in [3, 70_000, 1 << 40, Int.max] {
                let message = refused(
                    objstore_create(tx, cls.id, &id, &value, min(count, 3) == 3 && count > 3 ? count : 0, &object),
                    count > 3 ? .OBJSTORE_ERR_INVALID_ARGUMENT : .OBJSTORE_ERR_MISSING_VALUE)
                expect(!message.isEmpty)
            }
            refused(objstore_find_index(tx, cls.id, &id, 9, &index), .OBJSTORE_ERR_NO_SUCH_INDEX)
            refused(
                objstore_create_from(tx, cls.id, .OBJSTORE_POLICY_ERROR, 0, &value, Int.max, &object, nil),
                .OBJSTORE_ERR_INVALID_ARGUMENT)
            var two = [id, id], values = [value, value]
            refused(objstore_create(tx, cls.id, &two, &values, 2, &object), .OBJSTORE_ERR_INVALID_ARGUMENT)
        }
    }

    @Test func namesThatAreNoText() throws {
        try inWrite { tx, cls in
            var object = objstore_object()
            var bytes: [CChar] = [110, -1]
            try bytes.withUnsafeMutableBufferPointer { bytes in
                let broken = objstore_string(objstore_text_of(bytes.baseAddress, 2))
                for pair in [[broken, objstore_int(1)], [objstore_string(text("other")), broken]] {
                    let values = [objstore_map_of(2), objstore_string(text("id")), objstore_int(3)] + pair
                    for flags in [0, UInt32(OBJSTORE_FROM_IGNORE_UNKNOWN)] {
                        refused(
                            objstore_create_from(tx, cls.id, .OBJSTORE_POLICY_ERROR, flags, values, 5, &object, nil),
                            .OBJSTORE_ERR_INVALID_UTF8)
                    }
                }
            }
            var count: UInt64 = 1
            try ok(objstore_count(tx, cls.id, &count))
            expect(count == 0)
        }
    }

    @Test func setFrom() throws {
        try inWrite { tx, cls in
            let object = try cls.create(tx, ["id": objstore_int(1)])
            var id: objstore_property_id = 0, name: objstore_property_id = 0, changed = true
            try ok(objstore_find_property(tx, cls.id, text("id"), &id))
            try ok(objstore_find_property(tx, cls.id, text("name"), &name))
            var value = objstore_int(1)
            for policy in [objstore_policy.OBJSTORE_POLICY_MODIFIED, .OBJSTORE_POLICY_ALL] {
                try ok(objstore_set_from(tx, object, id, policy, &value, 1, &changed))
                expect(!changed)
            }
            let message = refused(
                objstore_set_from(tx, object, name, .OBJSTORE_POLICY_ALL, &value, 1, nil), .OBJSTORE_ERR_WRONG_TYPE)
            expect(message.contains("$.name: Item.name"))
            value = objstore_int(2)
            refused(
                objstore_set_from(tx, object, id, .OBJSTORE_POLICY_ALL, &value, 1, nil), .OBJSTORE_ERR_KEY_IMMUTABLE)
        }
    }

    @Test func codeOfAConverter() throws {
        try inWrite { tx, cls in
            var object = objstore_object()
            let status = objstore_create_from_json(
                tx, cls.id, .OBJSTORE_POLICY_ERROR, 0, text("{\"id\": \"x\"}"),
                { _, _, _, _, _, _ in objstore_fail(7, objstore_text_of("no", 2)) }, nil, nil,
                &object, nil)
            refused(status, .OBJSTORE_ERR_CALLBACK)
            var error = objstore_error_init()
            try ok(objstore_last_error(&error))
            expect(error.callback_code == 7)
        }
    }

    @Test func theUsualLimitIsNoOtherOne() throws {
        let folder = TestFolder(), store = try openStore(folder.store, [item])
        for (limit, value) in [
            (objstore_limit.OBJSTORE_LIMIT_CHECKPOINT_IDLE_MS, 2000), (.OBJSTORE_LIMIT_VALUE_BYTES, 64 << 20),
            (.OBJSTORE_LIMIT_TRANSACTION_BYTES, 64 << 20),
        ] as [(objstore_limit, Int64)] {
            try ok(
                objstore_close(
                    try openStore(folder.store, [item]) { try ok(objstore_config_set_limit($0, limit, value)) }))
            #expect(throws: Failure.self) {
                _ = try openStore(folder.store, [item]) { try ok(objstore_config_set_limit($0, limit, value + 1)) }
            }
        }
        try ok(objstore_close(store))
    }

    @Test func aStatusOfInitialDataIsTheLastError() throws {
        let folder = TestFolder()
        refused(objstore_delete_files(text(folder.store)), .OBJSTORE_ERR_NOT_FOUND)
        #expect(throws: Failure.self) {
            _ = try openStore(folder.store, [item]) {
                try ok(
                    objstore_config_set_initial_data($0, { _, _, _ in objstore_status(rawValue: 10_005)! }, nil, nil))
            }
        }
        var error = objstore_error_init()
        try ok(objstore_last_error(&error))
        #expect(error.status.rawValue == 10_005 && error.callback_code == 10_005)
    }
}
