import CObjStore
import Testing

// Observers of queries whose function gets values as native arguments.

/// What a program knows of a query's answer, by nothing but what it was told.
private final class Mirror {
    struct Row: Equatable {
        var name: String
        var age: Int64?
    }
    var rows: [Int64: Row] = [:]
    var events: [String] = []
    var wrong: [String] = []
    var freed = 0
    var status = objstore_status.OBJSTORE_OK
    var token: OpaquePointer?
    /// Values that it was told of itself, and not by the observer, may be older.
    var isExact = true

    private static let function:
        @convention(c) (
            Int32, Int64, UnsafePointer<CChar>?, Int64, UnsafePointer<Int64>?, UnsafeMutableRawPointer?
        ) -> objstore_status = { event, key, name, length, age, userdata in
            let mirror = Unmanaged<Mirror>.fromOpaque(userdata!).takeUnretainedValue()
            let row = Row(
                name: String(decoding: UnsafeRawBufferPointer(start: name, count: Int(length)), as: UTF8.self),
                age: age?.pointee)
            mirror.events.append("\(event) \(row.name) \(row.age.map(String.init) ?? "-")")
            switch event {
            case 0:
                mirror.rows = [:]
                if key != 0 || name != nil || length != 0 || age != nil { mirror.wrong.append("a beginning: \(row)") }
            case 1:
                let known = mirror.rows.removeValue(forKey: key)
                if known == nil || mirror.isExact && known != row { mirror.wrong.append("\(key) deleted: \(row)") }
            case 2:
                if mirror.rows.updateValue(row, forKey: key) != nil { mirror.wrong.append("\(key) inserted: \(row)") }
            case 3:
                if mirror.rows.updateValue(row, forKey: key) == nil { mirror.wrong.append("\(key) modified: \(row)") }
            default: mirror.wrong.append("event \(event)")
            }
            return mirror.status
        }
    static let cast = unsafeBitCast(function, to: objstore_function.self)

    func observe(
        _ query: OpaquePointer?, _ store: OpaquePointer?, _ properties: [objstore_property_id],
        flags: Int = Int(OBJSTORE_TYPED_DELETIONS), _ signature: String = "event, key, str, i64? -> status"
    ) -> objstore_status {
        objstore_query_observe_typed(
            query, store, UInt32(flags), properties, properties.count, text(signature), Mirror.cast,
            Unmanaged.passUnretained(self).toOpaque(),
            { Unmanaged<Mirror>.fromOpaque($0!).takeUnretainedValue().freed += 1 }, &token)
    }
}

private let cats = TestClass(
    name: "Cat",
    properties: [
        ("name", .OBJSTORE_KIND_STRING, 0), ("age", .OBJSTORE_KIND_INT, nullable),
        ("lives", .OBJSTORE_KIND_INT, indexed),
    ], defaults: ["lives": objstore_int(9)])

@Suite struct TypedQueryTests {
    private struct Cattery {
        let store: OpaquePointer
        let cat: ClassOf
        var properties: [objstore_property_id] { [cat["name"], cat["age"]] }

        init(lag: Int64 = .max) throws {
            store = try openStore(nil, [cats]) {
                try ok(objstore_config_set_limit($0, .OBJSTORE_LIMIT_OBSERVER_LAG, lag))
            }
            cat = try ClassOf(store, cats)
        }

        @discardableResult
        func create(_ tx: OpaquePointer, _ name: String, _ age: Int64?, lives: Int64 = 9) throws -> objstore_object {
            try cat.create(
                tx,
                [
                    "name": objstore_string(text(name)), "age": age.map { objstore_int($0) } ?? objstore_null(),
                    "lives": objstore_int(lives),
                ])
        }

        /// What the query finds now, with values.
        func rows(_ query: OpaquePointer) throws -> [Int64: Mirror.Row] {
            try reading(store) { view in
                var results: OpaquePointer?
                try ok(objstore_query_find(query, view, &results))
                var rows: [Int64: Mirror.Row] = [:]
                for object in try objects(results) {
                    let key = object.key
                    var age = objstore_value()
                    try ok(objstore_get(view, object, cat["age"], nil, &age))
                    rows[key] = Mirror.Row(
                        name: try cat.string(view, object, "name")!,
                        age: age.kind == .OBJSTORE_KIND_NULL ? nil : age.data.integer)
                }
                return rows
            }
        }

        /// What was found, and closes it.
        func objects(_ results: OpaquePointer?) throws -> [objstore_object] {
            var info = objstore_info_init()
            try ok(objstore_get_info(store, &info))
            return try keys(results).map { objstore_object(class_id: cat.id, store_tag: info.store_tag, key: $0) }
        }
    }

    /// Random histories: who does what he is told knows the answer, with its values, whatever the query; also where he
    /// falls behind, and begins anew.
    @Test(
        arguments: [
            "TRUEPREDICATE", "age > 4", "age > 4 SORT(name ASC)", "SORT(age DESC) LIMIT(6)",
            "age > 2 SORT(name ASC, age ASC) OFFSET(2) LIMIT(5)", "lives > 3 DISTINCT(name)",
        ], [false, true])
    func whatIsToldIsWhatIsThere(condition: String, beginnings: Bool) throws {
        let cattery = try Cattery(lag: beginnings ? 1 : .max), (store, cat) = (cattery.store, cattery.cat)
        let asked = try reading(store) { try query($0, cat.id, condition) }
        let mirror = Mirror()
        try writing(store) { tx in for n in 0..<20 { try cattery.create(tx, "n\(n % 7)", Int64(n % 9)) } }
        let flags = OBJSTORE_TYPED_DELETIONS | (beginnings ? OBJSTORE_TYPED_BEGINNINGS : 0)
        try ok(mirror.observe(asked, store, cattery.properties, flags: Int(flags)))
        if !beginnings { mirror.rows = try cattery.rows(asked) }
        var random = SplitMix(state: 7), told = [0, 0, 0, 0]
        for round in 0..<150 {
            if round == 1 && beginnings { #expect(mirror.rows.count > 0) }
            for _ in 0...random.below(2) {
                try writing(store) { tx in
                    for _ in 0...random.below(4) {
                        var results: OpaquePointer?
                        try ok(findAll(tx, cat.id, &results))
                        let all = try cattery.objects(results)
                        let age = random.below(5) == 0 ? objstore_null() : objstore_int(Int64(random.below(9)))
                        let any = all.isEmpty ? nil : all[random.below(all.count)]
                        switch (random.below(all.count > 30 ? 2 : 6), any) {
                        case (0...1, let object?): try ok(objstore_delete(tx, object))
                        case (2, let object?): try ok(objstore_set(tx, object, cat["age"], age))
                        case (3, let object?):
                            try ok(
                                objstore_set(
                                    tx, object, cat["name"], objstore_string(text("n\(random.below(7))"))))
                        case (4, let object?):
                            try ok(objstore_set(tx, object, cat["lives"], objstore_int(Int64(random.below(9)))))
                        default: try cattery.create(tx, "n\(random.below(7))", Int64(random.below(9)))
                        }
                    }
                }
            }
            try ok(objstore_deliver(store, nil))
            for event in mirror.events { told[Int(event.prefix(1))!] += 1 }
            mirror.events = []
            expect(try mirror.rows == cattery.rows(asked), "round \(round)")
            #expect(mirror.wrong == [], "round \(round)")
            if !mirror.wrong.isEmpty { break }
        }
        // Half of the rounds are beginnings, if those are told.
        let (few, most) = beginnings ? (3, 100) : (20, 0)
        #expect(told[1] > few && told[2] > few && told[3] > few / 4 && told[0] <= most, "\(told)")
        #expect(beginnings == (told[0] > 10), "\(told)")
        try ok(objstore_query_close(asked))
        try ok(objstore_close(store))
        #expect(mirror.freed == 1)
    }

    @Test func whoBeginsPausedIsToldOfWhatWasBefore() throws {
        let cattery = try Cattery(), (store, cat) = (cattery.store, cattery.cat)
        let asked = try reading(store) { try query($0, cat.id, "age > 4") }
        var then: OpaquePointer?, seen = objstore_bookmark()
        try reading(store) { try ok(objstore_view_freeze($0, &then)) }
        try ok(objstore_view_bookmark(then, &seen))
        try writing(store) { tx in try cattery.create(tx, "Tom", 5) }
        let mirror = Mirror(), flags = OBJSTORE_TYPED_DELETIONS | OBJSTORE_TYPED_PAUSED
        try ok(mirror.observe(asked, store, cattery.properties, flags: Int(flags)))
        try writing(store) { tx in try cattery.create(tx, "Kit", 9) }
        try ok(objstore_deliver(store, nil))
        #expect(mirror.events == [])
        try ok(objstore_token_since(mirror.token, &seen))
        try ok(objstore_token_resume(mirror.token))
        try ok(objstore_deliver(store, nil))
        #expect(mirror.events == ["2 Tom 5", "2 Kit 9"])
        try ok(objstore_view_close(then))
        try ok(objstore_query_close(asked))
        try ok(objstore_close(store))
    }

    @Test func deletionsComeOnlyWhereTheyAreWanted() throws {
        let cattery = try Cattery(), (store, cat) = (cattery.store, cattery.cat)
        let asked = try reading(store) { try query($0, cat.id, "age > 4 SORT(name ASC)") }
        let all = Mirror(), some = Mirror()
        try ok(all.observe(asked, store, cattery.properties))
        try ok(some.observe(asked, store, cattery.properties, flags: 0))
        var tom = objstore_object(), kit = objstore_object()
        try writing(store) { tx in
            tom = try cattery.create(tx, "Tom", 5)
            kit = try cattery.create(tx, "Kit", 9)
            try cattery.create(tx, "Old", nil)
        }
        try ok(objstore_deliver(store, nil))
        #expect(all.events == ["2 Kit 9", "2 Tom 5"] && some.events == all.events)
        // Moved and written: a modification. Nothing that was asked for: nothing.
        try writing(store) { tx in
            try ok(objstore_set(tx, kit, cat["name"], objstore_string(text("Zed"))))
            try ok(objstore_set(tx, tom, cat["lives"], objstore_int(1)))
        }
        try ok(objstore_deliver(store, nil))
        #expect(all.events.dropFirst(2) == ["3 Zed 9"] && some.events == all.events)
        // Not found any more, and deleted: the values before.
        (all.events, some.events) = ([], [])
        try writing(store) { tx in
            try ok(objstore_set(tx, tom, cat["age"], objstore_int(1)))
            try ok(objstore_set(tx, kit, cat["name"], objstore_string(text("Gone"))))
            try ok(objstore_delete(tx, kit))
            try cattery.create(tx, "New", 7)
        }
        try ok(objstore_deliver(store, nil))
        #expect(all.events == ["1 Tom 5", "1 Zed 9", "2 New 7"] && some.events == ["2 New 7"])
        #expect(all.wrong == [] && all.rows.count == 1)
        // A status ends the change set, also among the deletions.
        (all.events, all.status) = ([], objstore_status(rawValue: 77)!)
        try writing(store) { tx in
            var results: OpaquePointer?
            try ok(objstore_query_find(asked, tx, &results))
            for object in try cattery.objects(results) { try ok(objstore_delete(tx, object)) }
            for _ in 0..<3 { try cattery.create(tx, "x", 9) }
        }
        refused(objstore_deliver(store, nil), .OBJSTORE_ERR_CALLBACK)
        #expect(all.events == ["1 New 7"] && some.events.count == 4)
        try ok(objstore_token_close(all.token))
        try ok(objstore_token_close(some.token))
        #expect(all.freed == 1 && some.freed == 1)
        try ok(objstore_query_close(asked))
        try ok(objstore_close(store))
    }

    /// What an observer was not told of, because its program did it, and what others delete of that.
    @Test(arguments: ["TRUEPREDICATE", "age > 4", "age > 4 SORT(name ASC)"])
    func deletionsAfterSilentWrites(condition: String) throws {
        let cattery = try Cattery(), (store, cat) = (cattery.store, cattery.cat)
        let asked = try reading(store) { try query($0, cat.id, condition) }
        let mirror = Mirror()
        try ok(mirror.observe(asked, store, cattery.properties))
        var tom = objstore_object(), kit = objstore_object()
        try writing(store) { tx in tom = try cattery.create(tx, "Tom", 5) }
        try ok(objstore_deliver(store, nil))
        #expect(mirror.events == ["2 Tom 5"])
        try writing(store) { tx in
            kit = try cattery.create(tx, "Kit", 6)
            try ok(objstore_set(tx, tom, cat["name"], objstore_string(text("Thomas"))))
            try ok(objstore_without_notifying(tx, [mirror.token], 1))
        }
        mirror.rows = try cattery.rows(asked)
        try writing(store) { tx in
            try ok(objstore_delete(tx, kit))
            try ok(objstore_delete(tx, tom))
        }
        try ok(objstore_deliver(store, nil))
        #expect(
            Set(mirror.events.dropFirst()) == ["1 Kit 6", "1 Thomas 5"] && mirror.wrong == [] && mirror.rows.isEmpty)
        try ok(objstore_query_close(asked))
        try ok(objstore_close(store))
    }

    @Test func refusals() throws {
        let cattery = try Cattery(), (store, cat) = (cattery.store, cattery.cat)
        let asked = try reading(store) { try query($0, cat.id, "age > 4") }
        let mirror = Mirror()
        func refuse(
            _ status: objstore_status, _ signature: String = "event, key, str, i64? -> status", flags: Int = 1,
            of properties: [objstore_property_id]? = nil, query: OpaquePointer? = nil, position: Int64? = nil
        ) throws -> String {
            let freed = mirror.freed
            let message = refused(
                mirror.observe(query ?? asked, store, properties ?? cattery.properties, flags: flags, signature), status
            )
            #expect(mirror.freed == freed + 1 && mirror.token == nil)
            var error = objstore_error_init()
            try ok(objstore_last_error(&error))
            if let position { #expect(error.position == position) }
            return message
        }
        expect(
            try refuse(.OBJSTORE_ERR_INVALID_SIGNATURE, "key, str, i64? -> status", position: 15).contains(
                "a word 'event' is missing"))
        expect(
            try refuse(.OBJSTORE_ERR_INVALID_SIGNATURE, "event, str, i46? -> status", position: 12).contains("'i46'"))
        expect(
            try refuse(.OBJSTORE_ERR_WRONG_TYPE, "event, str, i64 -> status", position: 12).contains("Cat.age"))
        expect(
            try refuse(.OBJSTORE_ERR_INVALID_SIGNATURE, "key, str, i64? -> status", flags: 2, position: 15).contains(
                "beginnings are to be told: a word 'event' is missing"))
        expect(try refuse(.OBJSTORE_ERR_INVALID_ARGUMENT, flags: 8).hasPrefix("flags"))
        expect(try refuse(.OBJSTORE_ERR_NO_SUCH_PROPERTY, of: [cat["name"], 12345]).hasPrefix("properties"))
        expect(try refuse(.OBJSTORE_ERR_INVALID_ARGUMENT, of: [cat["name"], cat["name"]]).contains("twice"))
        expect(try refuse(.OBJSTORE_ERR_INVALID_ARGUMENT, "").hasPrefix("signature"))
        // Deletions that are not wanted need no event.
        try ok(mirror.observe(asked, store, cattery.properties, flags: 0, "key, str, i64? -> void"))
        try ok(objstore_token_close(mirror.token))
        // A query of another store.
        let other = try Cattery()
        let theirs = try reading(other.store) { try query($0, other.cat.id, "age > 4") }
        _ = try refuse(.OBJSTORE_ERR_WRONG_STORE, query: theirs)
        for query in [asked, theirs] { try ok(objstore_query_close(query)) }
        try ok(objstore_close(store))
        try ok(objstore_close(other.store))
    }
}

private struct SplitMix {
    var state: UInt64
    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
        return Int((word ^ word >> 31) % UInt64(bound))
    }
}
