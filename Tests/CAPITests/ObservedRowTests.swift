import CObjStore
import Testing

// Tables and plain values that are observed, through the C interface.

/// What an observer was told: `-0 +1 ~0>0(1) @1>0()`, with the columns that have other values; then the rows after.
private final class Told {
    private(set) var lines: [String] = []
    var freed = 0
    var kept: OpaquePointer?
    var keeps = false
    var isOfTable = true, isOfRows = true

    static let handler: objstore_change_handler = { changes, userdata in
        let told = Unmanaged<Told>.fromOpaque(userdata!).takeUnretainedValue()
        do {
            if told.keeps { try ok(objstore_changes_keep(changes, &told.kept)) }
            if told.isOfRows { told.lines.append(try told.describe(changes)) }
        } catch { told.lines.append("\(error)") }
        return .OBJSTORE_OK
    }
    static let free: objstore_free_userdata = { Unmanaged<Told>.fromOpaque($0!).takeUnretainedValue().freed += 1 }
    var me: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    func take() -> [String] {
        defer { lines = [] }
        return lines
    }

    func rows(_ changes: OpaquePointer?, _ side: objstore_side) throws -> [String] {
        if isOfTable {
            var table: OpaquePointer?
            try ok(objstore_changes_table(changes, side, &table))
            defer { try? ok(objstore_table_close(table)) }
            return try tableLines(table)
        }
        var values: OpaquePointer?
        try ok(objstore_changes_values(changes, side, &values))
        return try valueLines(values)
    }

    private func columns(_ changes: OpaquePointer?, _ index: Int) throws -> String {
        guard isOfTable else { return "" }
        var changed: [String] = [], isChanged = false, masks: UnsafePointer<UInt64>?, words = 0, column = 0
        try ok(objstore_changes_masks(changes, &masks, &words))
        while objstore_changes_column(changes, UInt64(index), column, &isChanged) == .OBJSTORE_OK {
            #expect(isChanged == (masks![index] >> UInt64(column) & 1 != 0))
            if isChanged { changed.append("\(column)") }
            column += 1
        }
        _ = refused(
            objstore_changes_column(changes, UInt64(index), column, &isChanged), .OBJSTORE_ERR_OUT_OF_RANGE)
        return "(\(changed.joined(separator: ",")))"
    }

    private func describe(_ changes: OpaquePointer?) throws -> String {
        var info = objstore_changes_info_init(), parts: [String] = []
        try ok(objstore_changes_get_info(changes, &info))
        if info.flags & UInt32(OBJSTORE_CHANGES_INITIAL) != 0 { parts.append("initial") }
        if info.flags & UInt32(OBJSTORE_CHANGES_OWNER_DELETED) != 0 { parts.append("end") }
        parts += try ObservedCopy.positions(changes, .OBJSTORE_DELETIONS).map { "-\($0)" }
        parts += try ObservedCopy.positions(changes, .OBJSTORE_INSERTIONS).map { "+\($0)" }
        let modified = zip(
            try ObservedCopy.positions(changes, .OBJSTORE_MODIFICATIONS),
            try ObservedCopy.positions(changes, .OBJSTORE_MODIFICATIONS_AFTER))
        parts += try modified.enumerated().map { "~\($1.0)>\($1.1)\(try columns(changes, $0))" }
        let moved = zip(
            try ObservedCopy.positions(changes, .OBJSTORE_MOVES),
            try ObservedCopy.positions(changes, .OBJSTORE_MOVES_AFTER))
        parts += try moved.enumerated().map {
            "@\($1.0)>\($1.1)\(try columns(changes, Int(info.modification_count) + $0))"
        }
        let isGone = info.flags & UInt32(OBJSTORE_CHANGES_OWNER_DELETED) != 0
        return parts.joined(separator: " ")
            + (isGone ? "" : " | " + (try rows(changes, .OBJSTORE_AFTER)).joined(separator: ", "))
    }
}

@Suite struct ObservedRowTests {
    /// Dogs with cities, of which the first has plain values.
    private final class Dogs {
        let store: OpaquePointer
        let named: NamedStore
        var first: objstore_object
        private(set) var tokens: [OpaquePointer?] = []

        init() throws {
            named = try NamedStore(nil, memory: "") { schema in
                let dog = text("Dog")
                try ok(objstore_schema_add_class(schema, dog))
                for (name, kind) in [
                    ("city", objstore_kind.OBJSTORE_KIND_STRING), ("age", .OBJSTORE_KIND_INT),
                ] { try ok(objstore_schema_add_property(schema, dog, text(name), kind, 0)) }
                try ok(
                    objstore_schema_add_collection(
                        schema, dog, text("tags"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_STRING, 0))
                try ok(
                    objstore_schema_add_collection(
                        schema, dog, text("notes"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_INT, 0))
            }
            store = named.store
            first = objstore_object()
            let all = try create([("Bern", 3), ("Genf", 5), ("Bern", 4)])
            first = all[0]
        }

        var dog: objstore_class_id { named.classes["Dog"]! }

        @discardableResult
        func create(_ dogs: [(String, Int64)]) throws -> [objstore_object] {
            try writing(store) { tx in
                try dogs.map { city, age in
                    try named.from(
                        tx, "Dog",
                        ["city": .value(objstore_string(text(city))), "age": .value(objstore_int(age))])
                }
            }
        }

        func set(_ object: objstore_object, _ name: String, _ value: objstore_value) throws {
            try writing(store) { tx in try ok(objstore_set(tx, object, named["Dog.\(name)"], value)) }
        }

        func observe(
            _ told: Told, flags: Int = 0, _ make: (OpaquePointer) throws -> OpaquePointer
        ) throws -> OpaquePointer? {
            var token: OpaquePointer?
            try reading(store) { view in
                let query = try make(view)
                try ok(
                    objstore_query_observe(query, store, UInt32(flags), Told.handler, told.me, Told.free, &token))
                try ok(objstore_query_close(query))
            }
            tokens.append(token)
            return token
        }

        func table(_ told: Told, flags: Int = 0, _ text: String) throws -> OpaquePointer? {
            try observe(told, flags: flags) { try query($0, dog, text) }
        }

        func values(_ told: Told, _ property: String, _ condition: String) throws -> OpaquePointer? {
            told.isOfTable = false
            return try observe(told) { view in
                var query: OpaquePointer?
                try ok(
                    objstore_query_values(
                        view, objstore_collection_of(first, named["Dog.\(property)"]), text(condition), nil, 0, &query))
                return query!
            }
        }

        func deliver() throws { try ok(objstore_deliver(store, nil)) }

        func close() throws {
            for token in tokens { try ok(objstore_token_close(token)) }
            try ok(objstore_close(store))
        }
    }

    @Test func groupsAreToldByTheirKeys() throws {
        let dogs = try Dogs(), told = Told()
        _ = try dogs.table(told, flags: OBJSTORE_OBSERVE_INITIAL, "GROUP(city) SELECT(city, @count, @sum.age)")
        try dogs.deliver()
        #expect(told.take() == ["initial | Bern 2 7, Genf 1 5"])
        try dogs.set(dogs.first, "age", objstore_int(9))
        try dogs.deliver()
        #expect(told.take() == ["~0>0(2) | Bern 2 13, Genf 1 5"])
        // Its first object goes to the other group, and so their order changes.
        try dogs.set(dogs.first, "city", objstore_string(text("Genf")))
        try dogs.deliver()
        #expect(told.take() == ["~0>1(1,2) @1>0(1,2) | Genf 2 14, Bern 1 4"])
        try dogs.create([("Sion", 1)])
        try dogs.deliver()
        #expect(told.take() == ["+2 | Genf 2 14, Bern 1 4, Sion 1 1"])
        // What leaves all values as they are is not told.
        try dogs.set(dogs.first, "city", objstore_string(text("Genf")))
        try dogs.deliver()
        #expect(told.take() == [])
        try dogs.close()
        #expect(told.freed == 1)
    }

    @Test func rowsOfObjectsAreModifiedByWhatColumnsRead() throws {
        let dogs = try Dogs(), told = Told()
        _ = try dogs.table(told, "age < 10 SORT(age ASC) SELECT(age + 1, city)")
        try dogs.set(dogs.first, "age", objstore_int(7))
        try dogs.deliver()
        #expect(told.take() == ["@0>2(0) | 5 Bern, 6 Genf, 8 Bern"])
        // Written again.
        try dogs.set(dogs.first, "age", objstore_int(7))
        try dogs.deliver()
        #expect(told.take() == ["~2>2() | 5 Bern, 6 Genf, 8 Bern"])
        try writing(dogs.store) { tx in
            var word = objstore_string(text("old"))
            try ok(objstore_list_insert(tx, objstore_collection_of(dogs.first, dogs.named["Dog.tags"]), 0, &word, 1))
        }
        try dogs.deliver()
        #expect(told.take() == [])
        try dogs.set(dogs.first, "age", objstore_int(12))
        try dogs.deliver()
        #expect(told.take() == ["-2 | 5 Bern, 6 Genf"])
        try dogs.close()
    }

    @Test func valuesAreToldByThemselvesAndThoseOfMapsByKeys() throws {
        let dogs = try Dogs(), tags = Told(), notes = Told()
        _ = try dogs.values(tags, "tags", "@self > 'b'")
        _ = try dogs.values(notes, "notes", "@self > 1 SORT(@self DESC)")
        func write(_ words: [String], _ numbers: [(String, Int64)]) throws {
            try writing(dogs.store) { tx in
                let list = objstore_collection_of(dogs.first, dogs.named["Dog.tags"])
                try ok(objstore_collection_clear(tx, list))
                let values = words.map { objstore_string(text($0)) }
                try ok(objstore_list_insert(tx, list, 0, values, values.count))
                for (key, number) in numbers {
                    let map = objstore_collection_of(dogs.first, dogs.named["Dog.notes"])
                    try ok(objstore_map_set(tx, map, objstore_string(text(key)), objstore_int(number), nil))
                }
            }
            try dogs.deliver()
        }
        try write(["a", "c", "d"], [("x", 3), ("y", 1), ("z", 2)])
        #expect(tags.take() == ["+0 +1 | c, d"] && notes.take() == ["+0 +1 | x: 3, z: 2"])
        try write(["d", "c", "a"], [("z", 5)])
        #expect(tags.take() == ["@0>1 | d, c"] || tags.lines.isEmpty)
        #expect(notes.take() == ["@1>0 | z: 5, x: 3"])
        // What is not found, and where it stands, is not told.
        try write(["d", "a", "a", "c"], [("y", 0)])
        #expect(tags.take() == [] && notes.take() == [])
        try writing(dogs.store) { tx in try ok(objstore_delete(tx, dogs.first)) }
        try dogs.deliver()
        #expect(tags.take() == ["end -0 -1"] && notes.take() == ["end -0 -1"])
        try dogs.close()
    }

    @Test func aKeptChangeSetHasBothTables() throws {
        let dogs = try Dogs(), told = Told()
        told.keeps = true
        _ = try dogs.table(told, "GROUP(city)")
        try dogs.create([("Sion", 1)])
        try dogs.deliver()
        var table: OpaquePointer?
        try ok(objstore_changes_table(told.kept, .OBJSTORE_BEFORE, &table))
        #expect(try told.rows(told.kept, .OBJSTORE_AFTER) == ["Bern 2", "Genf 1", "Sion 1"])
        try ok(objstore_changes_close(told.kept))
        try dogs.close()
        #expect(try tableLines(table) == ["Bern 2", "Genf 1"])
        try ok(objstore_table_close(table))
    }

    @Test func whatIsNoTableIsRefused() throws {
        let dogs = try Dogs()
        var token: OpaquePointer?, path = text("age")
        try reading(dogs.store) { view in
            for asked in ["GROUP(city)", "SELECT(age)"] {
                let made = try query(view, dogs.dog, asked)
                let message = refused(
                    objstore_query_observe_paths(made, dogs.store, &path, 1, 0, Told.handler, nil, nil, &token),
                    .OBJSTORE_ERR_INVALID_ARGUMENT)
                #expect(message.contains("key paths are of objects"), "\(message)")
                try ok(objstore_query_close(made))
            }
        }
        let told = Told()
        (told.keeps, told.isOfRows) = (true, false)
        try reading(dogs.store) { view in
            let made = try query(view, dogs.dog, "age > 0")
            try ok(objstore_query_observe(made, dogs.store, 0, Told.handler, told.me, nil, &token))
            try ok(objstore_query_close(made))
        }
        try dogs.set(dogs.first, "age", objstore_int(2))
        try dogs.deliver()
        var table: OpaquePointer?, values: OpaquePointer?, isChanged = false
        let message = refused(
            objstore_changes_table(told.kept, .OBJSTORE_AFTER, &table), .OBJSTORE_ERR_WRONG_TYPE)
        #expect(message.contains("not of a table"), "\(message)")
        _ = refused(objstore_changes_values(told.kept, .OBJSTORE_AFTER, &values), .OBJSTORE_ERR_WRONG_TYPE)
        _ = refused(objstore_changes_column(told.kept, 0, 0, &isChanged), .OBJSTORE_ERR_WRONG_TYPE)
        #expect(table == nil && values == nil)
        try ok(objstore_changes_close(told.kept))
        try ok(objstore_token_close(token))
        try ok(objstore_close(dogs.store))
    }
}
