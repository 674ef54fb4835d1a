import CObjStore
import Testing

// What comes between two versions of a schema.

private let unique: Int32 = 8

private func person(_ properties: [(name: String, kind: objstore_kind, flags: Int32)]) -> TestClass {
    TestClass(name: "Person", properties: properties)
}

private let v1 = person([
    ("firstName", .OBJSTORE_KIND_STRING, 0), ("lastName", .OBJSTORE_KIND_STRING, 0), ("age", .OBJSTORE_KIND_INT, 0),
    ("nick", .OBJSTORE_KIND_STRING, nullable),
])

/// What a migration gets, and does.
private final class Migration {
    var calls: [[UInt64]] = []
    var status = objstore_status.OBJSTORE_OK
    var body: (_ store: OpaquePointer, _ tx: OpaquePointer, _ old: OpaquePointer) throws -> Void

    init(_ body: @escaping (OpaquePointer, OpaquePointer, OpaquePointer) throws -> Void = { _, _, _ in }) {
        self.body = body
    }

    func set(_ config: OpaquePointer) throws {
        try ok(
            objstore_config_set_migration(
                config,
                { store, tx, old, from, to, userdata in
                    let migration = Unmanaged<Migration>.fromOpaque(userdata!).takeUnretainedValue()
                    migration.calls.append([from, to])
                    do { try migration.body(store!, tx!, old!) } catch {
                        Issue.record("\(error)")
                        return .OBJSTORE_ERR_INTERNAL
                    }
                    return migration.status
                }, Unmanaged.passUnretained(self).toOpaque(), nil))
    }
}

/// Opens; the status where that fails.
private func opening(
    _ path: String, _ classes: [TestClass], _ version: UInt64, _ migration: Migration?
) throws -> OpaquePointer {
    try openStore(path, classes, version: version) { try migration?.set($0) }
}

private func refusedOpening(
    _ path: String, _ classes: [TestClass], _ version: UInt64, _ migration: Migration?, _ status: objstore_status
) -> String {
    do {
        _ = try opening(path, classes, version, migration)
        Issue.record("opened")
    } catch let failure as Failure {
        #expect(failure.status == status, "\(failure)")
        return failure.description
    } catch { Issue.record("\(error)") }
    return ""
}

/// All objects, in the order of their keys.
private func objects(_ view: OpaquePointer, _ cls: ClassOf) throws -> [objstore_object] {
    var row = objstore_row(), more = false, found: [objstore_object] = []
    try ok(objstore_row_init(view, cls.id, &row))
    while true {
        try ok(objstore_row_next(&row, &more))
        if !more { return found }
        var object = objstore_object()
        try ok(objstore_row_object(&row, &object))
        found.append(object)
    }
}

private func people(_ folder: TestFolder, _ count: Int64 = 5) throws {
    let store = try openStore(folder.store, [v1])
    let cls = try ClassOf(store, v1)
    try writing(store) { tx in
        for number in 0..<count {
            try cls.create(
                tx,
                [
                    "firstName": objstore_string(text("First\(number)")),
                    "lastName": objstore_string(text("Last\(number)")), "age": objstore_int(number * 10),
                    "nick": number % 2 == 0 ? objstore_string(text("n\(number)")) : objstore_null(),
                ])
        }
    }
    try ok(objstore_close(store))
}

@Suite struct MigrationTests {
    @Test("A99: versions of a person") func a99() throws {
        let folder = TestFolder()
        try people(folder)
        let v1b = person(v1.properties + [("email", .OBJSTORE_KIND_STRING, nullable)])
        var store = try opening(folder.store, [v1b], 2, nil)
        try reading(store) { view in
            let cls = try ClassOf(store, v1b)
            for object in try objects(view, cls) { expect(try cls.string(view, object, "email") == nil) }
        }
        try ok(objstore_close(store))
        let v2 = person([
            ("fullName", .OBJSTORE_KIND_STRING, 0), ("age", .OBJSTORE_KIND_INT, 0),
            ("email", .OBJSTORE_KIND_STRING, nullable),
        ])
        let migration = Migration { _, tx, old in
            let before = try ClassOf(tx: old, v1b), after = try ClassOf(tx: tx, v2)
            #expect(before.id == after.id && before["age"] == after["age"] && before["email"] == after["email"])
            for object in try objects(old, before) {
                let name =
                    "\(try before.string(old, object, "firstName")!) \(try before.string(old, object, "lastName")!)"
                try ok(objstore_set(tx, object, after["fullName"], objstore_string(text(name))))
            }
        }
        store = try opening(folder.store, [v2], 3, migration)
        let cls = try ClassOf(store, v2)
        try reading(store) { view in
            let names = try objects(view, cls).map { try cls.string(view, $0, "fullName")! }
            #expect(names == (0..<5).map { "First\($0) Last\($0)" })
        }
        try verify(store)
        try ok(objstore_close(store))
        _ = refusedOpening(folder.store, [v1], 3, migration, .OBJSTORE_ERR_SCHEMA_MISMATCH)
        _ = refusedOpening(folder.store, [v2], 2, migration, .OBJSTORE_ERR_SCHEMA_MISMATCH)
        try ok(objstore_close(try opening(folder.store, [v2], 3, migration)))
        #expect(migration.calls == [[2, 3]])
    }

    @Test func requiredAndOptional() throws {
        let folder = TestFolder()
        try people(folder)
        let required = person(v1.properties.map { $0.name == "nick" ? ($0.name, $0.kind, 0) : $0 })
        #expect(
            refusedOpening(folder.store, [required], 2, nil, .OBJSTORE_ERR_SCHEMA_MISMATCH).contains(
                "Person.nick cannot become required: 2 of 5"))
        // A migration that leaves them is refused, too.
        let idle = Migration()
        _ = refusedOpening(folder.store, [required], 2, idle, .OBJSTORE_ERR_SCHEMA_MISMATCH)
        #expect(idle.calls == [[1, 2]])
        let fill = Migration { _, tx, _ in
            let cls = try ClassOf(tx: tx, required)
            for object in try objects(tx, cls) where try cls.string(tx, object, "nick") == nil {
                try ok(objstore_set(tx, object, cls["nick"], objstore_string(text("none"))))
            }
        }
        var store = try opening(folder.store, [required], 2, fill)
        var cls = try ClassOf(store, required)
        try writing(store) { tx in
            let object = try objects(tx, cls)[1]
            expect(try cls.string(tx, object, "nick") == "none")
            refused(objstore_set(tx, object, cls["nick"], objstore_null()), .OBJSTORE_ERR_NOT_NULLABLE)
        }
        try verify(store)
        try ok(objstore_close(store))
        // And back again, without a migration; ids stay.
        store = try opening(folder.store, [v1], 3, nil)
        #expect(try ClassOf(store, v1)["nick"] == cls["nick"])
        cls = try ClassOf(store, v1)
        try writing(store) { tx in try ok(objstore_set(tx, try objects(tx, cls)[0], cls["nick"], objstore_null())) }
        try verify(store)
        try ok(objstore_close(store))
        // Where no object has null, no migration is needed.
        try writing(try openStore(folder.store, [v1], version: 3)) { tx in
            try ok(objstore_set(tx, try objects(tx, cls)[0], cls["nick"], objstore_string(text("x"))))
        }
        store = try opening(folder.store, [required], 4, nil)
        try verify(store)
        try ok(objstore_close(store))
    }

    @Test func anotherKindAndAnotherKey() throws {
        let folder = TestFolder()
        try people(folder, 300)
        let other = person([
            ("firstName", .OBJSTORE_KIND_STRING, primaryKey), ("age", .OBJSTORE_KIND_STRING, indexed),
            ("number", .OBJSTORE_KIND_INT, unique),
        ])
        #expect(
            refusedOpening(folder.store, [other], 2, nil, .OBJSTORE_ERR_SCHEMA_MISMATCH).contains("a migration could"))
        let migration = Migration { _, tx, old in
            let before = try ClassOf(tx: old, v1), after = try ClassOf(tx: tx, other)
            #expect(before["firstName"] == after["firstName"] && before["age"] != after["age"])
            for (number, object) in try objects(old, before).enumerated() {
                try ok(
                    objstore_set(
                        tx, object, after["age"], objstore_string(text("\(try before.int(old, object, "age")) years"))))
                try ok(objstore_set(tx, object, after["number"], objstore_int(Int64(number % self.distinct))))
            }
        }
        distinct = 299
        _ = refusedOpening(folder.store, [other], 2, migration, .OBJSTORE_ERR_DUPLICATE_KEY)
        distinct = 300
        migration.status = .OBJSTORE_ERR_TIMEOUT
        _ = refusedOpening(folder.store, [other], 2, migration, .OBJSTORE_ERR_TIMEOUT)
        migration.status = .OBJSTORE_OK
        // What failed left the file as it was.
        var store = try openStore(folder.store, [v1])
        let cls = try ClassOf(store, v1)
        try reading(store) { view in
            expect(try objects(view, cls).count == 300)
            expect(try cls.int(view, try objects(view, cls)[7], "age") == 70)
        }
        // Another handle has it open, and continues.
        let second = try opening(folder.store, [other], 2, migration)
        let after = try ClassOf(second, other)
        try reading(store) { view in
            var value = objstore_value()
            let object = try objects(view, cls)[7]
            refused(objstore_get(view, object, cls["age"], nil, &value), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
            expect(try after.string(view, object, "age") == "70 years")
            expect(try after.find(view, objstore_string(text("First7"))).map { $0.key } == object.key)
            var count: UInt64 = 0
            try ok(
                countWhere(
                    view, after.id, after["age"], .OBJSTORE_EQUAL, objstore_string(text("70 years")), &count))
            #expect(count == 1)
        }
        try writing(second) { tx in
            refused(
                objstore_create(
                    tx, after.id, [after["firstName"], after["age"], after["number"]],
                    [objstore_string(text("First7")), objstore_string(text("")), objstore_int(1000)], 3, nil),
                .OBJSTORE_ERR_DUPLICATE_KEY)
            try after.create(
                tx,
                [
                    "firstName": objstore_string(text("New")), "age": objstore_string(text("")),
                    "number": objstore_int(1000),
                ])
        }
        try verify(second)
        try ok(objstore_close(second))
        try ok(objstore_close(store))
        #expect(migration.calls.count == 3)
        store = try opening(folder.store, [other], 2, nil)
        try verify(store)
        try ok(objstore_close(store))
    }
    private var distinct: Int {
        get { Self.count.value }
        nonmutating set { Self.count.value = newValue }
    }
    private final class Counter: @unchecked Sendable { var value = 0 }
    private static let count = Counter()

    @Test func renamedInACallback() throws {
        let folder = TestFolder()
        try people(folder)
        let renamed = person([
            ("givenName", .OBJSTORE_KIND_STRING, 0), ("nick", .OBJSTORE_KIND_STRING, 0), ("age", .OBJSTORE_KIND_INT, 0),
        ])
        let migration = Migration { store, tx, old in
            let before = try ClassOf(tx: old, v1), after = try ClassOf(tx: tx, renamed)
            let all = try objects(old, before)
            try ok(objstore_delete(tx, all[0]))
            try after.create(
                tx,
                [
                    "givenName": objstore_string(text("New")), "nick": objstore_string(text("new")),
                    "age": objstore_int(0),
                ])
            var count: UInt64 = 0
            try ok(objstore_migrate_property(tx, after["givenName"], old, before["firstName"], &count))
            #expect(count == 4)
            refused(
                objstore_migrate_property(tx, after["givenName"], old, before["age"], &count), .OBJSTORE_ERR_WRONG_TYPE)
            refused(objstore_migrate_property(tx, after["age"], tx, after["age"], &count), .OBJSTORE_ERR_WRONG_VIEW)
            // `nick` is not required yet.
            expect(try cls(tx, all[1], after) == nil)
            for object in try objects(tx, after) where try cls(tx, object, after) == nil {
                try ok(objstore_set(tx, object, after["nick"], objstore_string(text(""))))
            }
            refused(objstore_close(store), .OBJSTORE_ERR_IN_CALLBACK)
            refused(objstore_commit(tx, nil), .OBJSTORE_ERR_IN_CALLBACK)
        }
        func cls(_ view: OpaquePointer, _ object: objstore_object, _ cls: ClassOf) throws -> String? {
            try cls.string(view, object, "nick")
        }
        let store = try opening(folder.store, [renamed], 2, migration)
        let after = try ClassOf(store, renamed)
        try reading(store) { view in
            expect(
                try objects(view, after).map { try after.string(view, $0, "givenName") } == [
                    "First1", "First2", "First3", "First4", "New",
                ])
        }
        try verify(store)
        try ok(objstore_close(store))
    }

    /// A mixed value of before may link to an object that the migration deleted.
    @Test func renamedWithLinksInMixedValues() throws {
        let folder = TestFolder()
        let before = person([("extra", .OBJSTORE_KIND_MIXED, 0)]), after = person([("other", .OBJSTORE_KIND_MIXED, 0)])
        var store = try openStore(folder.store, [before])
        let cls = try ClassOf(store, before)
        let made = try writing(store) { tx in
            let objects = try (0..<4).map { _ in try cls.create(tx, [:]) }
            var buffer = objstore_buffer_init(), document = objstore_value()
            defer { _ = objstore_buffer_free(&buffer) }
            let values = [objstore_list_of(2), objstore_link(objects[0]), objstore_link(objects[3])]
            try ok(objstore_document_pack(values, values.count, &buffer, &document))
            try ok(objstore_set(tx, objects[1], cls["extra"], objstore_link(objects[0])))
            try ok(objstore_set(tx, objects[2], cls["extra"], document))
            try ok(objstore_set(tx, objects[3], cls["extra"], objstore_link(objects[3])))
            return objects
        }
        try ok(objstore_close(store))
        store = try opening(
            folder.store, [after], 2,
            Migration { _, tx, old in
                let was = try ClassOf(tx: old, before), now = try ClassOf(tx: tx, after)
                try ok(objstore_delete(tx, made[0]))
                var count: UInt64 = 0
                try ok(objstore_migrate_property(tx, now["other"], old, was["extra"], &count))
                #expect(count == 3)
            })
        let other = try ClassOf(store, after)["other"]
        try reading(store) { view in
            func at(_ object: Int, _ path: [objstore_value]) throws -> Int64? {
                var value = objstore_value(), found = false
                try ok(objstore_mixed_get(view, made[object], other, path, path.count, nil, &value, &found))
                #expect(found)
                return value.kind == .OBJSTORE_KIND_LINK ? value.data.link.key : nil
            }
            expect(try at(1, []) == nil && at(2, [objstore_int(0)]) == nil)
            expect(try at(2, [objstore_int(1)]) == made[3].key && at(3, []) == made[3].key)
            var count: UInt64 = 0
            try ok(objstore_incoming_count(view, made[3], other, &count))
            #expect(count == 2)
        }
        try verify(store)
        try ok(objstore_close(store))
    }
}
