import CObjStore
import Testing

/// Dog.owner and Dog.friend, Person.boss; Dog is described before Person.
private struct Kennel {
    let store: OpaquePointer
    let dog: objstore_class_id, person: objstore_class_id
    let name: objstore_property_id, owner: objstore_property_id, friend: objstore_property_id
    let id: objstore_property_id, boss: objstore_property_id
    let tag: UInt32

    init(_ path: String?) throws {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        for cls in ["Dog", "Person"] { try ok(objstore_schema_add_class(schema, text(cls))) }
        try ok(objstore_schema_add_property(schema, text("Dog"), text("name"), .OBJSTORE_KIND_STRING, 0))
        try ok(objstore_schema_add_link(schema, text("Dog"), text("owner"), text("Person"), 0))
        try ok(objstore_schema_add_link(schema, text("Dog"), text("friend"), text("Dog"), UInt32(nullable)))
        try ok(objstore_schema_add_property(schema, text("Person"), text("id"), .OBJSTORE_KIND_INT, UInt32(primaryKey)))
        try ok(objstore_schema_add_link(schema, text("Person"), text("boss"), text("Person"), 0))
        let store = try openStore(path, schema)
        let view = try liveView(store)
        defer { _ = objstore_view_close(view) }
        let names = Names(view)
        var info = objstore_info()
        info.struct_size = UInt32(MemoryLayout<objstore_info>.size)
        try ok(objstore_get_info(store, &info))
        tag = info.store_tag
        dog = try names.cls("Dog")
        person = try names.cls("Person")
        name = try names.property(dog, "name")
        owner = try names.property(dog, "owner")
        friend = try names.property(dog, "friend")
        id = try names.property(person, "id")
        boss = try names.property(person, "boss")
        self.store = store
    }

    func addPerson(_ tx: OpaquePointer, _ number: Int64) throws -> objstore_object {
        var object = objstore_object()
        try ok(objstore_create(tx, person, [id], [objstore_int(number)], 1, &object))
        return object
    }

    func addDog(_ tx: OpaquePointer, _ title: String, _ owner: objstore_object?) throws -> objstore_object {
        var object = objstore_object()
        let values = [objstore_string(text(title)), owner.map { objstore_link($0) } ?? objstore_null()]
        try ok(objstore_create(tx, dog, [name, self.owner], values, 2, &object))
        return object
    }

    func link(
        _ view: OpaquePointer, _ object: objstore_object, _ property: objstore_property_id
    ) throws -> objstore_object? {
        var value = objstore_value()
        try ok(objstore_get(view, object, property, nil, &value))
        if value.kind == .OBJSTORE_KIND_NULL { return nil }
        #expect(value.kind == .OBJSTORE_KIND_LINK && value.data.words.2 == 0 && value.data.words.3 == 0)
        return value.data.link
    }
}

private func == (a: objstore_object?, b: objstore_object) -> Bool {
    a.map { $0.class_id == b.class_id && $0.store_tag == b.store_tag && $0.key == b.key } ?? false
}

@Test func linksOfTheSchema() throws {
    var schema: OpaquePointer?
    try ok(objstore_schema_new(&schema))
    defer { _ = objstore_schema_close(schema) }
    try ok(objstore_schema_add_class(schema, text("Dog")))
    let message = refused(
        objstore_schema_add_property(schema, text("Dog"), text("owner"), .OBJSTORE_KIND_LINK, 0),
        .OBJSTORE_ERR_INVALID_SCHEMA)
    #expect(message.contains("objstore_schema_add_link"))
    for flags in [primaryKey, indexed] {
        refused(
            objstore_schema_add_link(schema, text("Dog"), text("owner"), text("Person"), UInt32(flags)),
            .OBJSTORE_ERR_INVALID_SCHEMA)
    }
    refused(
        objstore_schema_add_link(schema, text("Cat"), text("owner"), text("Person"), 0), .OBJSTORE_ERR_NO_SUCH_CLASS)
    try ok(objstore_schema_add_link(schema, text("Dog"), text("owner"), text("Person"), 0))
    refused(
        objstore_schema_add_link(schema, text("Dog"), text("owner"), text("Person"), 0), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(
        objstore_schema_set_default(schema, text("Dog"), text("owner"), objstore_link(objstore_object())),
        .OBJSTORE_ERR_WRONG_TYPE)
    try ok(objstore_schema_set_default(schema, text("Dog"), text("owner"), objstore_null()))
    var config: OpaquePointer?, store: OpaquePointer?
    try ok(objstore_config_new(&config))
    defer { _ = objstore_config_close(config) }
    try ok(objstore_config_set_memory(config, text("")))
    try ok(objstore_config_set_schema(config, schema, 1))
    let missing = refused(objstore_open(config, &store), .OBJSTORE_ERR_INVALID_SCHEMA)
    var error = objstore_error_init()
    try ok(objstore_last_error(&error))
    #expect(missing.contains("Person") && string(error.class_name) == "Dog" && string(error.property_name) == "owner")

    let kennel = try Kennel(nil)
    defer { _ = objstore_close(kennel.store) }
    try reading(kennel.store) { view in
        var info = objstore_property_info()
        info.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
        try ok(objstore_property_get_info(view, kennel.owner, &info))
        expect(
            info.kind == .OBJSTORE_KIND_LINK && info.target_class_id == kennel.person && info.flags == UInt32(nullable))
        try ok(objstore_property_get_info(view, kennel.name, &info))
        expect(info.target_class_id == 0)
    }
}

@Test func linksAreWrittenAndRead() throws {
    let folder = TestFolder()
    var kennel = try Kennel(folder.store)
    let (ann, bob, dogs) = try writing(kennel.store) { tx in
        let ann = try kennel.addPerson(tx, 1), bob = try kennel.addPerson(tx, 2)
        return (
            ann, bob, try (0..<10).map { try kennel.addDog(tx, "\($0)", $0 % 3 == 0 ? nil : $0 % 2 == 0 ? ann : bob) }
        )
    }
    try writing(kennel.store) { tx in
        try ok(objstore_set(tx, dogs[0], kennel.owner, objstore_link(ann)))
        try ok(
            objstore_set_row(tx, dogs[1], [kennel.owner, kennel.friend], [objstore_null(), objstore_link(dogs[1])], 2))
        var outcome = objstore_outcome.OBJSTORE_OUTCOME_CREATED
        for (policy, wanted) in [
            (objstore_policy.OBJSTORE_POLICY_MODIFIED, objstore_outcome.OBJSTORE_OUTCOME_CHANGED),
            (.OBJSTORE_POLICY_MODIFIED, .OBJSTORE_OUTCOME_UNCHANGED), (.OBJSTORE_POLICY_ALL, .OBJSTORE_OUTCOME_CHANGED),
        ] {
            try ok(
                objstore_upsert(
                    tx, kennel.person, policy, [kennel.id, kennel.boss], [objstore_int(2), objstore_link(ann)], 2, nil,
                    &outcome))
            expect(outcome == wanted)
        }
        expect(try incoming(tx, ann, kennel.owner) == [dogs[0], dogs[2], dogs[4], dogs[8]].map(\.key))
    }
    for round in 0..<2 {
        try frozen(kennel.store) { view in
            expect(
                try kennel.link(view, dogs[0], kennel.owner) == ann && kennel.link(view, dogs[5], kennel.owner) == bob)
            expect(
                try kennel.link(view, dogs[1], kennel.owner) == nil
                    && kennel.link(view, dogs[1], kennel.friend) == dogs[1])
            expect(try kennel.link(view, bob, kennel.boss) == ann && kennel.link(view, ann, kennel.boss) == nil)
            expect(try incoming(view, ann, kennel.owner) == [dogs[0], dogs[2], dogs[4], dogs[8]].map(\.key))
            expect(try incoming(view, bob, kennel.owner) == [dogs[5], dogs[7]].map(\.key))
            expect(
                try incoming(view, ann, kennel.boss) == [bob.key]
                    && incoming(view, dogs[1], kennel.friend) == [dogs[1].key])

            // A row, several values, columns, packed rows.
            var row = objstore_row(), more = false, target = objstore_object(), isNull = false, number: Int64 = 0
            try ok(objstore_row_init(view, kennel.dog, &row))
            var found: [Int64?] = []
            while objstore_row_next(&row, &more) == .OBJSTORE_OK, more {
                try ok(objstore_row_link(&row, kennel.owner, &target, &isNull))
                if isNull { refused(objstore_row_link(&row, kennel.owner, &target, nil), .OBJSTORE_ERR_NULL_VALUE) }
                expect(
                    isNull
                        ? target.class_id == 0 && target.store_tag == 0 && target.key == 0
                        : target.class_id == kennel.person && target.store_tag == kennel.tag)
                found.append(isNull ? nil : target.key)
                var value = objstore_value()
                try ok(objstore_row_value(&row, kennel.owner, nil, &value))
                expect(isNull ? value.kind == .OBJSTORE_KIND_NULL : value.data.link == target)
            }
            expect(found == [ann.key, nil, ann.key, nil, ann.key, bob.key, nil, bob.key, ann.key, nil])
            try ok(objstore_row_seek(&row, dogs[0]))
            refused(objstore_row_link(&row, kennel.name, &target, nil), .OBJSTORE_ERR_WRONG_TYPE)
            refused(objstore_row_int(&row, kennel.owner, &number, nil), .OBJSTORE_ERR_WRONG_TYPE)
            var values = [objstore_value](repeating: objstore_value(), count: 2)
            try ok(objstore_get_row(view, dogs[1], [kennel.owner, kennel.friend], 2, nil, &values))
            expect(values[0].kind == .OBJSTORE_KIND_NULL && values[1].data.link == dogs[1])
            var position: Int64 = -1, keys = [Int64](repeating: 7, count: 10), validity: [UInt8] = [0, 0], count = 0
            try ok(objstore_read_column(view, kennel.dog, kennel.owner, 10, &position, &keys, &validity, nil, &count))
            expect(
                count == 10 && validity == [0b1011_0101, 0b01] && keys[0] == ann.key && keys[5] == bob.key
                    && keys[1] == 0)

            // Asking.
            var matches: UInt64 = 0, has = false
            try ok(
                countWhere(view, kennel.dog, kennel.owner, .OBJSTORE_NOT_EQUAL, objstore_link(ann), &matches))
            expect(matches == 6)
            try ok(countWhere(view, kennel.dog, kennel.owner, .OBJSTORE_EQUAL, objstore_null(), &matches))
            expect(matches == 4)
            try ok(
                firstWhere(view, kennel.dog, kennel.owner, .OBJSTORE_EQUAL, objstore_link(bob), &target, &has)
            )
            expect(has && target == dogs[5])
            refused(
                countWhere(view, kennel.dog, kennel.owner, .OBJSTORE_LESS, objstore_link(ann), &matches),
                .OBJSTORE_ERR_WRONG_TYPE)
            refused(
                countWhere(view, kennel.dog, kennel.owner, .OBJSTORE_EQUAL, objstore_link(dogs[0]), &matches),
                .OBJSTORE_ERR_WRONG_TYPE)
            var sum = objstore_value()
            refused(
                aggregateAll(view, kennel.dog, kennel.owner, .OBJSTORE_AGGREGATE_SUM, &sum),
                .OBJSTORE_ERR_WRONG_TYPE)
        }
        try verify(kennel.store)
        if round == 0 {
            try ok(objstore_close(kennel.store))
            kennel = try Kennel(folder.store)
        }
    }
    try ok(objstore_close(kennel.store))
}

@Test func linksThatAreRefused() throws {
    let kennel = try Kennel(nil), other = try Kennel(nil)
    defer { for store in [kennel.store, other.store] { _ = objstore_close(store) } }
    let stranger = try writing(other.store) { try other.addPerson($0, 1) }
    try writing(kennel.store) { tx in
        let ann = try kennel.addPerson(tx, 1), gone = try kennel.addPerson(tx, 2), dog = try kennel.addDog(tx, "a", ann)
        try ok(objstore_delete(tx, gone))
        var never = ann
        never.key = -1
        for (bad, status) in [
            (gone, objstore_status.OBJSTORE_ERR_NO_SUCH_OBJECT), (never, .OBJSTORE_ERR_NO_SUCH_OBJECT),
            (objstore_object(), .OBJSTORE_ERR_NO_SUCH_OBJECT), (dog, .OBJSTORE_ERR_WRONG_TYPE),
            (stranger, .OBJSTORE_ERR_WRONG_STORE),
        ] {
            let value = objstore_link(bad)
            var keys: [Int64] = [ann.key, bad.key]
            for call in 0..<5 {
                var position: Int64 = -1
                let refusal: objstore_status
                switch call {
                case 0: refusal = objstore_set(tx, dog, kennel.owner, value)
                case 1: refusal = objstore_set_row(tx, dog, [kennel.owner], [value], 1)
                case 2:
                    refusal = objstore_create(
                        tx, kennel.dog, [kennel.name, kennel.owner], [objstore_string(text("b")), value], 2, nil)
                case 3:
                    // The property's class is the person's own: what is of the wrong class is so here, too.
                    refusal = objstore_upsert(
                        tx, kennel.person, .OBJSTORE_POLICY_MODIFIED, [kennel.id, kennel.boss],
                        [objstore_int(1), value], 2, nil, nil)
                default:
                    // Columns have keys only.
                    if status != .OBJSTORE_ERR_NO_SUCH_OBJECT || bad.class_id == 0 { continue }
                    position = 1
                    let names: [Int64] = [0, 1, 2]
                    refusal = "xy".withCString { bytes in
                        keys.withUnsafeMutableBufferPointer { keys in
                            names.withUnsafeBufferPointer { offsets in
                                var columns = [
                                    objstore_column_init(kennel.owner, .OBJSTORE_KIND_LINK, keys.baseAddress),
                                    objstore_column_init(kennel.name, .OBJSTORE_KIND_STRING, bytes),
                                ]
                                columns[1].offsets = offsets.baseAddress
                                columns[1].values_bytes = 2
                                return objstore_insert_rows(
                                    tx, kennel.dog, .OBJSTORE_POLICY_ERROR, columns, 2, 2, nil, nil)
                            }
                        }
                    }
                }
                refused(refusal, status)
                var error = objstore_error_init()
                try ok(objstore_last_error(&error))
                expect(
                    string(error.class_name) == (call == 3 ? "Person" : "Dog")
                        && string(error.property_name) == (call == 3 ? "boss" : "owner") && error.position == position)
            }
        }
        refused(objstore_set(tx, dog, kennel.owner, objstore_int(0)), .OBJSTORE_ERR_WRONG_TYPE)
        refused(objstore_set(tx, dog, kennel.name, objstore_link(ann)), .OBJSTORE_ERR_WRONG_TYPE)
        expect(try kennel.link(tx, dog, kennel.owner) == ann && incoming(tx, ann, kennel.owner) == [dog.key])
        var count: UInt64 = 0, results: OpaquePointer?
        refused(objstore_incoming_count(tx, dog, kennel.owner, &count), .OBJSTORE_ERR_WRONG_TYPE)
        refused(objstore_incoming(tx, ann, kennel.id, &results), .OBJSTORE_ERR_WRONG_TYPE)
        refused(objstore_incoming(tx, gone, kennel.owner, &results), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        refused(objstore_incoming(tx, stranger, kennel.owner, &results), .OBJSTORE_ERR_WRONG_STORE)
        try linksTo(tx, gone, kennel.owner, [])
        refused(
            countWhere(tx, kennel.dog, kennel.owner, .OBJSTORE_EQUAL, objstore_link(stranger), &count),
            .OBJSTORE_ERR_WRONG_STORE)
        refused(
            countWhere(tx, kennel.dog, kennel.owner, .OBJSTORE_EQUAL, objstore_link(dog), &count),
            .OBJSTORE_ERR_WRONG_TYPE)
        refused(
            countWhere(tx, kennel.dog, kennel.name, .OBJSTORE_EQUAL, objstore_link(ann), &count),
            .OBJSTORE_ERR_WRONG_TYPE)
        // ANY is of many.
        let any = comparison(kennel.owner, .OBJSTORE_EQUAL, objstore_link(ann), any: true)
        refused(asking(tx, kennel.dog, any) { objstore_query_count($0, tx, &count) }, .OBJSTORE_ERR_INVALID_QUERY)
        refused(objstore_incoming(tx, ann, 0, &results), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
        try ok(objstore_count(tx, kennel.dog, &count))
        expect(count == 1)
    }
    try verify(kennel.store)
}

/// Many at once from columns; then the target goes, alone and with all of its class; each is undone by a savepoint,
/// too.
@Test func deletingWhatLinksLeadTo() throws {
    let kennel = try Kennel(nil)
    defer { _ = objstore_close(kennel.store) }
    let count = 5000
    let people = try writing(kennel.store) { tx in try (0..<5).map { try kennel.addPerson(tx, $0) } }
    try writing(kennel.store) { tx in
        let keys = (0..<count).map { people[$0 % 5].key }, offsets = (0...Int64(count)).map { $0 }
        let validity = (0..<(count + 7) / 8).map { _ in UInt8(0xfd) }
        let names = [UInt8](repeating: 97, count: count)
        try keys.withUnsafeBufferPointer { keys in
            try offsets.withUnsafeBufferPointer { offsets in
                try validity.withUnsafeBufferPointer { validity in
                    try names.withUnsafeBufferPointer { names in
                        var columns = [
                            objstore_column_init(kennel.owner, .OBJSTORE_KIND_LINK, keys.baseAddress),
                            objstore_column_init(kennel.name, .OBJSTORE_KIND_STRING, names.baseAddress),
                        ]
                        columns[0].validity = validity.baseAddress
                        columns[1].offsets = offsets.baseAddress
                        columns[1].values_bytes = UInt64(count)
                        try ok(
                            objstore_insert_rows(tx, kennel.dog, .OBJSTORE_POLICY_ERROR, columns, 2, count, nil, nil))
                    }
                }
            }
        }
    }
    func counts(_ view: OpaquePointer) throws -> [UInt64] {
        var found: [UInt64] = [], number: UInt64 = 0
        for person in people {
            var exists = false
            try ok(objstore_exists(view, person, &exists))
            if !exists { continue }
            try ok(objstore_incoming_count(view, person, kennel.owner, &number))
            found.append(number)
        }
        try ok(countWhere(view, kennel.dog, kennel.owner, .OBJSTORE_EQUAL, objstore_null(), &number))
        return found + [number]
    }
    let full = try reading(kennel.store, counts)
    #expect(full.reduce(0, +) == UInt64(count) && full.last == UInt64(count / 8))
    try writing(kennel.store) { tx in
        var point: objstore_savepoint = 0, deleted: UInt64 = 0
        try ok(objstore_savepoint_begin(tx, &point))
        try ok(objstore_delete(tx, people[2]))
        expect(try counts(tx) == [full[0], full[1], full[3], full[4], full[5] + full[2]])
        try ok(objstore_savepoint_rollback(tx, point))
        expect(try counts(tx) == full)
        try ok(objstore_savepoint_begin(tx, &point))
        try ok(objstore_delete_all(tx, kennel.person, &deleted))
        expect(try deleted == 5 && counts(tx) == [UInt64(count)])
        try ok(objstore_savepoint_rollback(tx, point))
        expect(try counts(tx) == full)
        try ok(objstore_delete(tx, people[2]))
    }
    try verify(kennel.store)
    try writing(kennel.store) { tx in try ok(objstore_delete_all(tx, kennel.person, nil)) }
    expect(try reading(kennel.store, counts) == [UInt64(count)])
    try verify(kennel.store)
}
