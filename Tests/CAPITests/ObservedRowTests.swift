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
    /// Of rows that are objects, those that were modified.
    var objects: (([objstore_object]) -> Void)?
    /// What the handler does besides.
    var deed: (() throws -> Void)?

    static let handler: objstore_change_handler = { changes, userdata in
        let told = Unmanaged<Told>.fromOpaque(userdata!).takeUnretainedValue()
        do {
            if told.keeps { try ok(objstore_changes_keep(changes, &told.kept)) }
            if told.isOfRows { told.lines.append(try told.describe(changes)) }
            told.objects?(try ObservedCopy.objects(changes, .OBJSTORE_MODIFICATIONS))
            try told.deed?()
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

    /// What C has for a view of some of an object under other names: a table, whose rows are objects.
    @Test("A103: a view under other names, read, set and observed") func a103() throws {
        let named = try NamedStore(nil, memory: "") { schema in
            for (name, properties) in [("Address", ["city", "street"]), ("Person", ["firstName", "lastName"])] {
                try ok(objstore_schema_add_class(schema, text(name)))
                for property in properties {
                    try ok(
                        objstore_schema_add_property(schema, text(name), text(property), .OBJSTORE_KIND_STRING, 0))
                }
            }
            try ok(
                objstore_schema_add_link(
                    schema, text("Person"), text("address"), text("Address"), UInt32(OBJSTORE_PROPERTY_NULLABLE)))
        }
        let store = named.store, told = Told()
        let (address, jason) = try writing(store) { tx in
            let address = try named.from(tx, "Address", ["city": "Zurich", "street": "Limmatquai"])
            let jason = try named.from(tx, "Person", ["firstName": "Jason", "lastName": "Bourne"])
            try ok(objstore_set(tx, jason, named["Person.address"], objstore_link(address)))
            return (address, jason)
        }
        func set(_ object: objstore_object, _ property: String, _ value: String) throws {
            try writing(store) { tx in try ok(objstore_set(tx, object, named[property], objstore_string(text(value)))) }
            try ok(objstore_deliver(store, nil))
        }
        var token: OpaquePointer?, shown: [objstore_object] = []
        told.objects = { shown = $0 }
        try reading(store) { view in
            let view = try query(view, jason.class_id, "SELECT(firstName AS name, address.city AS homeCity)")
            try ok(
                objstore_query_observe(
                    view, store, UInt32(OBJSTORE_OBSERVE_INITIAL), Told.handler, told.me, Told.free, &token))
            try ok(objstore_query_close(view))
        }
        try ok(objstore_deliver(store, nil))
        #expect(told.take() == ["initial | Jason Zurich"])
        // What is shown is an object, which is set.
        try set(jason, "Person.firstName", "David")
        #expect(told.take() == ["~0>0(0) | David Zurich"] && shown.map(\.key) == [jason.key])
        try reading(store) { view in
            var value = objstore_null(), buffer = objstore_buffer_init()
            defer { _ = objstore_buffer_free(&buffer) }
            try ok(objstore_get(view, shown[0], named["Person.firstName"], &buffer, &value))
            expect(string(value) == "David")
        }
        try set(address, "Address.city", "Bern")
        #expect(told.take() == ["~0>0(1) | David Bern"])
        // What is not shown.
        try set(jason, "Person.lastName", "Webb")
        try set(address, "Address.street", "Aarstrasse")
        #expect(told.take() == [])
        try ok(objstore_token_close(token))
        try ok(objstore_close(store))
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

    /// As of any other kind: paused, silent, from a bookmark on, at an interval; how far it is behind.
    @Test func theyRestAndComeBack() throws {
        let dogs = try Dogs()
        let told = Told(), values = Told(), rows = Told()
        let tokens = [
            try dogs.table(told, "GROUP(city) SELECT(city, @count)"), try dogs.values(values, "notes", "@self > 1"),
            try dogs.table(rows, "age > 3 SELECT(age)"),
        ]
        func note(_ key: String, _ number: Int64, silent: Bool = false) throws {
            try writing(dogs.store) { tx in
                if silent { try ok(objstore_without_notifying(tx, tokens, tokens.count)) }
                let map = objstore_collection_of(dogs.first, dogs.named["Dog.notes"])
                try ok(objstore_map_set(tx, map, objstore_string(text(key)), objstore_int(number), nil))
                try dogs.named.from(
                    tx, "Dog", ["city": .value(objstore_string(text(key))), "age": .value(objstore_int(number))])
            }
        }
        // What is noted below is kept so long.
        let view = try liveView(dogs.store)
        var frozen: OpaquePointer?
        try ok(objstore_view_freeze(view, &frozen))
        defer { for each in [frozen, view] { _ = objstore_view_close(each) } }
        for token in tokens { try ok(objstore_token_pause(token)) }
        try note("a", 4)
        try dogs.deliver()
        #expect(told.lines.isEmpty && values.lines.isEmpty && rows.lines.isEmpty)
        for token in tokens {
            var lag: UInt64 = 0
            try ok(objstore_token_lag(token, &lag))
            #expect(lag == 1)
        }
        // What he writes himself stands in his copy before he is told of the rest.
        try note("b", 5, silent: true)
        try note("c", 6)
        var bookmarks = [objstore_bookmark](repeating: objstore_bookmark(), count: 3)
        for (at, token) in tokens.enumerated() { try ok(objstore_token_bookmark(token, &bookmarks[at])) }
        for token in tokens { try ok(objstore_token_resume(token)) }
        try dogs.deliver()
        #expect(told.take() == ["+2 | Bern 2, Genf 1, a 1, b 1", "+4 | Bern 2, Genf 1, a 1, b 1, c 1"])
        #expect(values.take() == ["+0 | a: 4, b: 5", "+2 | a: 4, b: 5, c: 6"])
        #expect(rows.take() == ["+2 | 5, 4, 4, 5", "+4 | 5, 4, 4, 5, 6"])
        // Once more from what was noted, where nothing was silent.
        for (at, token) in tokens.enumerated() {
            try ok(objstore_token_pause(token))
            try ok(objstore_token_since(token, &bookmarks[at]))
            try ok(objstore_token_resume(token))
        }
        try dogs.deliver()
        #expect(told.take() == ["+2 +3 +4 | Bern 2, Genf 1, a 1, b 1, c 1"])
        #expect(values.take() == ["+0 +1 +2 | a: 4, b: 5, c: 6"])
        #expect(rows.take() == ["+2 +3 +4 | 5, 4, 4, 5, 6"])
        for token in tokens { try ok(objstore_token_set_interval(token, 3_600_000)) }
        try note("d", 7)
        try dogs.deliver()
        try note("e", 8)
        try dogs.deliver()
        #expect(told.take().count == 1 && values.take().count == 1 && rows.take().count == 1)
        try dogs.close()
    }

    /// View, results, sections, queries and values that observers were made of, inside of a handler.
    @Test func whatObserversWereMadeOfIsClosedInside() throws {
        let dogs = try Dogs(), view = try liveView(dogs.store), told = (0..<4).map { _ in Told() }
        var results: OpaquePointer?, sections: OpaquePointer?, values: OpaquePointer?, tags: OpaquePointer?
        let asked = try query(view, dogs.dog, "age > 0 SORT(age ASC)"),
            groups = try query(view, dogs.dog, "GROUP(city)")
        var tokens = [OpaquePointer?](repeating: nil, count: 4)
        try ok(objstore_query_find(asked, view, &results))
        try ok(objstore_sections_parse(results, text("city"), nil, 0, 0, &sections))
        let list = objstore_collection_of(dogs.first, dogs.named["Dog.notes"])
        try ok(objstore_query_values(view, list, text(""), nil, 0, &tags))
        try ok(objstore_query_find_values(tags, view, &values))
        try ok(objstore_results_observe(results, 0, Told.handler, told[0].me, Told.free, &tokens[0]))
        try ok(objstore_sections_observe(sections, nil, nil, 0, 0, Told.handler, told[1].me, Told.free, &tokens[1]))
        try ok(objstore_query_observe(groups, dogs.store, 0, Told.handler, told[2].me, Told.free, &tokens[2]))
        try ok(objstore_query_observe(tags, dogs.store, 0, Told.handler, told[3].me, Told.free, &tokens[3]))
        (told[0].isOfRows, told[1].isOfRows, told[3].isOfTable) = (false, false, false)
        var closed = 0
        told[0].deed = {
            if closed > 0 { return }
            try ok(objstore_values_close(values))
            try ok(objstore_sections_close(sections))
            try ok(objstore_results_close(results))
            for query in [asked, groups, tags] { try ok(objstore_query_close(query)) }
            try ok(objstore_view_close(view))
            closed += 1
        }
        told[1].deed = { closed += 10 }
        for age in 6...7 {
            try writing(dogs.store) { tx in
                try ok(objstore_set(tx, dogs.first, dogs.named["Dog.age"], objstore_int(Int64(age))))
                try ok(objstore_set(tx, dogs.first, dogs.named["Dog.city"], objstore_string(text("C\(age)"))))
                try ok(objstore_map_set(tx, list, objstore_string(text("age")), objstore_int(Int64(age)), nil))
            }
            try dogs.deliver()
        }
        #expect(closed == 21)
        #expect(told[2].take() == ["+0 @0>2(1) | C6 1, Genf 1, Bern 1", "-0 +0 | C7 1, Genf 1, Bern 1"])
        #expect(told[3].take() == ["+0 | age: 6", "~0>0 | age: 7"])
        for token in tokens { try ok(objstore_token_close(token)) }
        #expect(told.map(\.freed) == [1, 1, 1, 1])
        try dogs.close()
    }
}
