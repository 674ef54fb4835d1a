import CObjStore
import Testing

// Unique properties and compound indexes through the C interface.

private let people = TestClass(
    name: "Person",
    properties: [
        ("id", .OBJSTORE_KIND_INT, primaryKey), ("mail", .OBJSTORE_KIND_STRING, nullable | unique),
        ("last", .OBJSTORE_KIND_STRING, 0),
        ("first", .OBJSTORE_KIND_STRING, nullable), ("born", .OBJSTORE_KIND_INT, nullable),
    ], defaults: ["last": objstore_string(text("Doe"))])
private let unique: Int32 = 8
private let everybody: [([String], UInt32)] = [(["last", "first"], 1), (["born", "last"], 0)]

/// A store with these indexes.
private func openPeople(
    _ path: String? = nil, _ indexes: [([String], UInt32)] = everybody, version: UInt64 = 1
) throws -> OpaquePointer {
    try openStore(path, []) { config in
        let schema = try makeSchema([people])
        defer { _ = objstore_schema_close(schema) }
        for (names, flags) in indexes {
            try ok(objstore_schema_add_index(schema, text("Person"), names.map { text($0) }, names.count, flags))
        }
        try ok(objstore_config_set_schema(config, schema, version))
    }
}

private func find(_ view: OpaquePointer, _ cls: ClassOf, _ names: [String]) throws -> objstore_index_id {
    var id: objstore_index_id = 0
    try ok(objstore_find_index(view, cls.id, names.map { cls[$0] }, names.count, &id))
    return id
}

private func list(
    _ view: OpaquePointer, _ cls: ClassOf, _ index: objstore_index_id, _ from: [objstore_value], _ to: [objstore_value],
    _ flags: UInt32 = 0
) throws -> [Int64] {
    var count: UInt64 = 0
    try ok(countIn(view, index, from, to, flags, &count))
    var results: OpaquePointer?
    try ok(findIn(view, index, from, to, flags, &results))
    defer { _ = objstore_results_close(results) }
    var ids: [Int64] = []
    for position in 0..<count {
        var object = objstore_object()
        try ok(objstore_results_at(results, position, &object))
        ids.append(try cls.int(view, object, "id"))
    }
    var total: UInt64 = 0
    try ok(objstore_results_count(results, &total))
    #expect(total == count)
    return ids
}

private func string(_ value: String) -> objstore_value { objstore_string(text(value)) }

@Test func indexesAreListed() throws {
    let store = try openPeople()
    let cls = try ClassOf(store, people)
    try reading(store) { view in
        var count = 0
        try ok(objstore_index_count(view, cls.id, &count))
        #expect(count == 4)
        var told: [String] = []
        for position in 0..<count {
            var info = objstore_index_info()
            info.struct_size = UInt32(MemoryLayout<objstore_index_info>.size)
            try ok(objstore_index_at(view, cls.id, position, &info))
            var again = info
            again.properties = (9, 9, 9, 9, 9, 9, 9, 9)
            try ok(objstore_index_get_info(view, info.index_id, &again))
            let all = withUnsafeBytes(of: info.properties) { Array($0.bindMemory(to: UInt32.self)) }
            let repeated = withUnsafeBytes(of: again.properties) { Array($0.bindMemory(to: UInt32.self)) }
            #expect(repeated == all && again.class_id == cls.id && again.flags == info.flags)
            let ids = Array(all.prefix(Int(info.property_count)))
            #expect(all.dropFirst(ids.count).allSatisfy { $0 == 0 })
            var found: objstore_index_id = 0
            try ok(objstore_find_index(view, cls.id, ids, ids.count, &found))
            #expect(found == info.index_id)
            let names = people.properties.map(\.name)
            told.append(ids.map { id in names.first { cls[$0] == id }! }.joined(separator: ",") + " \(info.flags)")
        }
        #expect(told == ["id 3", "mail 1", "last,first 1", "born,last 0"])
        var property = objstore_property_info()
        property.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
        try ok(objstore_property_get_info(view, cls["mail"], &property))
        #expect(property.flags == UInt32(nullable | unique))
        var none: objstore_index_id = 0
        let message = refused(
            objstore_find_index(view, cls.id, [cls["first"], cls["last"]], 2, &none), .OBJSTORE_ERR_NO_SUCH_INDEX)
        #expect(message.contains("(first, last)"))
        refused(objstore_find_index(view, cls.id, nil, 0, &none), .OBJSTORE_ERR_NO_SUCH_INDEX)
    }
    try ok(objstore_close(store))
}

@Test func uniqueValuesAreRefusedTwice() throws {
    let store = try openPeople()
    let cls = try ClassOf(store, people)
    func expectDuplicate(
        _ status: objstore_status, _ property: String, _ text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let message = refused(status, .OBJSTORE_ERR_DUPLICATE_KEY, sourceLocation: sourceLocation)
        #expect(message.contains(text), "\(message)", sourceLocation: sourceLocation)
        var error = objstore_error_init()
        #expect(objstore_last_error(&error) == .OBJSTORE_OK)
        #expect(
            CAPITests.string(error.class_name) == "Person" && CAPITests.string(error.property_name) == property,
            sourceLocation: sourceLocation)
    }
    try writing(store) { tx in
        let ada = try cls.create(
            tx,
            [
                "id": objstore_int(1), "mail": string("ada@x"), "last": string("Gray"), "first": string("Ada"),
                "born": objstore_int(1815),
            ])
        let eve = try cls.create(tx, ["id": objstore_int(2), "last": string("Gray"), "first": string("Eve")])
        try cls.create(tx, ["id": objstore_int(3), "last": string("Gray")])
        try cls.create(tx, ["id": objstore_int(4), "last": string("Gray")])  // nulls are no one's
        let id = cls["id"], mail = cls["mail"], last = cls["last"], first = cls["first"]
        expectDuplicate(
            objstore_create(tx, cls.id, [id, mail], [objstore_int(5), string("ada@x")], 2, nil), "mail",
            "mail = \"ada@x\"")
        expectDuplicate(
            objstore_create(tx, cls.id, [id, last, first], [objstore_int(5), string("Gray"), string("Ada")], 3, nil),
            "last, first",
            "last = \"Gray\", first = \"Ada\"")
        expectDuplicate(objstore_set(tx, eve, mail, string("ada@x")), "mail", "value")
        expectDuplicate(objstore_set(tx, eve, first, string("Ada")), "last, first", "value")
        expectDuplicate(
            objstore_set_row(tx, eve, [mail, first], [string("eve@x"), string("Ada")], 2), "last, first", "values")
        #expect(try cls.string(tx, eve, "mail") == nil)
        for policy in [objstore_policy.OBJSTORE_POLICY_MODIFIED, .OBJSTORE_POLICY_ALL] {
            expectDuplicate(
                objstore_upsert(tx, cls.id, policy, [id, mail], [objstore_int(2), string("ada@x")], 2, nil, nil),
                "mail", "ada@x")
            expectDuplicate(
                objstore_upsert(tx, cls.id, policy, [id, mail], [objstore_int(9), string("ada@x")], 2, nil, nil),
                "mail", "ada@x")
        }
        // What it has already, and what it releases, may be set.
        try ok(objstore_set(tx, ada, mail, string("ada@x")))
        try ok(objstore_set(tx, ada, first, string("Augusta")))
        try ok(objstore_set(tx, eve, first, string("Ada")))
        try ok(objstore_set(tx, ada, mail, objstore_null()))
        try ok(objstore_set(tx, eve, mail, string("ada@x")))
        #expect(try cls.count(tx) == 4)
    }
    try verify(store)
    try reading(store) { view in
        let mail = try find(view, cls, ["mail"]), names = try find(view, cls, ["last", "first"]),
            primary = try find(view, cls, ["id"])
        func lookUp(_ index: objstore_index_id, _ values: [objstore_value]) throws -> Int64? {
            var object = objstore_object(), found = false
            try ok(objstore_find_by(view, index, values, values.count, &object, &found))
            return found ? try cls.int(view, object, "id") : nil
        }
        #expect(try lookUp(mail, [string("ada@x")]) == 2)
        #expect(try lookUp(mail, [objstore_null()]) == nil)
        #expect(try lookUp(names, [string("Gray"), string("Augusta")]) == 1)
        #expect(try lookUp(names, [string("Gray"), objstore_null()]) == nil)
        #expect(try lookUp(primary, [objstore_int(3)]) == 3)
        var object = objstore_object(), found = false
        refused(objstore_find_by(view, mail, [string("nobody")], 1, &object, nil), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        refused(objstore_find_by(view, names, [string("Gray")], 1, &object, nil), .OBJSTORE_ERR_INVALID_ARGUMENT)
        refused(
            objstore_find_by(
                view, try find(view, cls, ["born", "last"]), [objstore_int(1), string("x")], 2, &object, nil),
            .OBJSTORE_ERR_INVALID_ARGUMENT)
        refused(
            objstore_find_by(view, names, [string("Gray"), objstore_int(1)], 2, &object, nil), .OBJSTORE_ERR_WRONG_TYPE)
        // Where no object can have null, looking it up is a mistake.
        let message = refused(
            objstore_find_by(view, primary, [objstore_null()], 1, &object, &found), .OBJSTORE_ERR_WRONG_TYPE)
        #expect(message.contains("Person.id") && message.contains("null"))
    }
    try ok(objstore_close(store))
}

@Test func stretchesOfAnIndex() throws {
    let store = try openPeople()
    let cls = try ClassOf(store, people)
    try writing(store) { tx in
        for (id, born, last) in [
            (1, 1990, "b"), (2, 1980, "a"), (3, nil, "z"), (4, 1980, "c"), (5, 1990, "a"), (6, nil, "a"),
            (7, 2000, "a"),
        ] as [(Int64, Int64?, String)] {
            try cls.create(
                tx,
                [
                    "id": objstore_int(id), "born": born.map { objstore_int($0) } ?? objstore_null(),
                    "last": string(last),
                ])
        }
    }
    try frozen(store) { view in
        let index = try find(view, cls, ["born", "last"]), year = objstore_int(1980), later = objstore_int(1990),
            null = objstore_null()
        let after = UInt32(OBJSTORE_RANGE_AFTER_FROM), before = UInt32(OBJSTORE_RANGE_BEFORE_TO)
        #expect(try list(view, cls, index, [], []) == [6, 3, 2, 4, 5, 1, 7])
        #expect(try list(view, cls, index, [year], [year]) == [2, 4])
        #expect(try list(view, cls, index, [year, string("b")], [later, string("a")]) == [4, 5])
        #expect(try list(view, cls, index, [year, string("c")], [later, string("b")], after | before) == [5])
        #expect(try list(view, cls, index, [null], [], after) == [2, 4, 5, 1, 7])
        #expect(try list(view, cls, index, [], [null]) == [6, 3])
        #expect(try list(view, cls, index, [later], [year]) == [])
        let single = try find(view, cls, ["id"])
        #expect(try list(view, cls, single, [objstore_int(3)], [objstore_int(5)], after) == [4, 5])
        var count: UInt64 = 0
        refused(
            countIn(view, index, [year, year, year], [], 0, &count), .OBJSTORE_ERR_INVALID_ARGUMENT)
        refused(countIn(view, index, [string("x")], [], 0, &count), .OBJSTORE_ERR_WRONG_TYPE)
        refused(countIn(view, index, [], [], 4, &count), .OBJSTORE_ERR_INVALID_ARGUMENT)
    }
    // Results of a stretch are queried again like others, and not observed.
    try reading(store) { view in
        let index = try find(view, cls, ["born", "last"])
        var results: OpaquePointer?, changed = false, count: UInt64 = 0, token: OpaquePointer?
        try ok(findIn(view, index, [objstore_int(2000)], [], 0, &results))
        try writing(store) { tx in try cls.create(tx, ["id": objstore_int(8), "born": objstore_int(2001)]) }
        try ok(objstore_view_refresh(view, nil))
        try ok(objstore_results_update(results, &changed))
        try ok(objstore_results_count(results, &count))
        #expect(changed && count == 2)
        try ok(objstore_results_observe(results, 0, { _, _ in .OBJSTORE_OK }, nil, nil, &token))
        try ok(objstore_token_close(token))
        try ok(objstore_results_close(results))
    }
    try ok(objstore_close(store))
}

@Test func columnsWithUniqueValuesAreAllOrNone() throws {
    let store = try openPeople()
    let cls = try ClassOf(store, people)
    func insert(_ tx: OpaquePointer, _ ids: [Int64], _ mails: [String], _ policy: objstore_policy) -> objstore_status {
        var bytes = Array(mails.joined().utf8), offsets: [Int64] = [0]
        for mail in mails { offsets.append(offsets.last! + Int64(mail.utf8.count)) }
        bytes.append(0)
        return ids.withUnsafeBufferPointer { ids in
            bytes.withUnsafeBufferPointer { bytes in
                offsets.withUnsafeBufferPointer { offsets in
                    var columns = [
                        objstore_column_init(cls["id"], .OBJSTORE_KIND_INT, ids.baseAddress),
                        objstore_column_init(cls["mail"], .OBJSTORE_KIND_STRING, bytes.baseAddress),
                    ]
                    columns[1].offsets = offsets.baseAddress
                    columns[1].values_bytes = UInt64(bytes.count - 1)
                    return objstore_insert_rows(tx, cls.id, policy, columns, 2, ids.count, nil, nil)
                }
            }
        }
    }
    try writing(store) { tx in
        try ok(insert(tx, Array(1...100), (1...100).map { "m\($0)" }, .OBJSTORE_POLICY_ERROR))
        for count in [3, 60] {
            let ids = (0..<Int64(count)).map { 1000 + $0 }
            var mails = ids.map { "m\($0)" }
            mails[count - 1] = "m\(ids[1])"  // that of another row
            refused(insert(tx, ids, mails, .OBJSTORE_POLICY_ERROR), .OBJSTORE_ERR_DUPLICATE_KEY)
            mails[count - 1] = "m7"  // that of an object
            let message = refused(insert(tx, ids, mails, .OBJSTORE_POLICY_MODIFIED), .OBJSTORE_ERR_DUPLICATE_KEY)
            var error = objstore_error_init()
            try ok(objstore_last_error(&error))
            #expect(
                error.position == Int64(count - 1) && message.contains("row \(count - 1)")
                    && message.contains("mail = \"m7\""), "\(message)")
            #expect(try cls.count(tx) == 100)
        }
        // In their order: 1 releases its value before 200 takes it, and not after.
        refused(insert(tx, [200, 1], ["m1", "other"], .OBJSTORE_POLICY_ALL), .OBJSTORE_ERR_DUPLICATE_KEY)
        try ok(insert(tx, [1, 200], ["other", "m1"], .OBJSTORE_POLICY_ALL))
        #expect(try cls.count(tx) == 101)
    }
    try verify(store)
    try ok(objstore_close(store))
}

@Test func indexesOfStoresThatExist() throws {
    let folder = TestFolder()
    var store = try openPeople(folder.store, [])
    let cls = try ClassOf(store, people)
    try writing(store) { tx in
        for id in 0..<200 {
            try cls.create(
                tx,
                [
                    "id": objstore_int(Int64(id)), "last": string("l\(id % 50)"),
                    "first": string("f\(id == 150 ? 100 : id)"),
                ])
        }
    }
    try ok(objstore_close(store))
    func expectRefused(
        _ indexes: [([String], UInt32)], _ version: UInt64, _ status: objstore_status, _ text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        do {
            _ = try openPeople(folder.store, indexes, version: version)
            Issue.record("it was opened", sourceLocation: sourceLocation)
        } catch let failure as Failure {
            #expect(
                failure.status == status && failure.description.contains(text), "\(failure)",
                sourceLocation: sourceLocation)
        }
    }
    try expectRefused(everybody, 1, .OBJSTORE_ERR_SCHEMA_MISMATCH, "(last, first)")
    try expectRefused(
        everybody, 2, .OBJSTORE_ERR_DUPLICATE_KEY,
        "the objects Person#100 and Person#150 both have last = \"l0\", first = \"f100\"")
    let last: [([String], UInt32)] = [(["last", "first"], 0), (["first", "id"], 1)]
    store = try openPeople(folder.store, last, version: 2)
    try verify(store)
    try reading(store) { view in
        #expect(
            try list(view, cls, try find(view, cls, ["last", "first"]), [string("l0")], [string("l0")]) == [
                0, 100, 150, 50,
            ])
        var object = objstore_object()
        try ok(
            objstore_find_by(
                view, try find(view, cls, ["first", "id"]), [string("f7"), objstore_int(7)], 2, &object, nil))
        #expect(object.key == 7)
    }
    try ok(objstore_close(store))
    try expectRefused([], 2, .OBJSTORE_ERR_SCHEMA_MISMATCH, "(last, first)")
    store = try openPeople(folder.store, [], version: 3)
    try verify(store)
    try reading(store) { view in
        var count = 0
        try ok(objstore_index_count(view, cls.id, &count))
        #expect(count == 2)
    }
    try ok(objstore_close(store))
}
