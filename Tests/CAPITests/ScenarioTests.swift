import CObjStore
import CSystem
import Glibc
import Testing

// The acceptance scenarios that need no more than this version has, under their numbers.

@Test("A01: a dog is made in a write, and is there after reopening") func a01() throws {
    let folder = TestFolder()
    var store = try openStore(folder.store, [dogs])
    var cls = try ClassOf(store, dogs)
    try reading(store) { view in
        refused(
            objstore_create(view, cls.id, [cls["name"]], [objstore_string(text("Rex"))], 1, nil),
            .OBJSTORE_ERR_NOT_IN_WRITE)
        expect(try cls.count(view) == 0)
    }
    let rex = try writing(store) { tx in
        try cls.create(tx, ["name": objstore_string(text("Rex")), "age": objstore_int(10)])
    }
    try ok(objstore_close(store))
    store = try openStore(folder.store, [dogs])
    cls = try ClassOf(store, dogs)
    try reading(store) { view in
        expect(try cls.count(view) == 1 && cls.string(view, rex, "name") == "Rex" && cls.int(view, rex, "age") == 10)
    }
    try ok(objstore_close(store))
}

@Test("A02: an object leaves the write body and stays usable") func a02() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, dogs)
    struct Context { var cls: ClassOf; var object = objstore_object() }
    var context = Context(cls: cls)
    let body: objstore_write_body = { view, userdata in
        let context = userdata!.assumingMemoryBound(to: Context.self)
        guard let object = try? context.pointee.cls.create(view!, ["name": objstore_string(text("Yoda"))]) else {
            return .OBJSTORE_ERR_INTERNAL
        }
        context.pointee.object = object
        return .OBJSTORE_OK
    }
    try ok(withUnsafeMutablePointer(to: &context) { objstore_write(store, body, $0, nil) })
    try reading(store) { view in
        expect(try cls.count(view) == 1 && cls.string(view, context.object, "name") == "Yoda")
    }
}

@Test("A03: many objects in one call, one commit") func a03() throws {
    let store = try openStore(nil, [persons])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, persons)
    var before: UInt64 = 0, after: UInt64 = 0
    try reading(store) { try ok(objstore_view_version($0, &before)) }
    // An observer hears of it once.
    var heard = (calls: 0, insertions: 0), token: OpaquePointer?
    let handler: objstore_change_handler = { changes, userdata in
        var info = objstore_changes_info()
        info.struct_size = UInt32(MemoryLayout<objstore_changes_info>.size)
        let status = objstore_changes_get_info(changes, &info)
        let heard = userdata!.assumingMemoryBound(to: (calls: Int, insertions: Int).self)
        heard.pointee.calls += 1
        heard.pointee.insertions += Int(info.insertion_count)
        return status
    }
    let heardWord = UnsafeMutablePointer<(calls: Int, insertions: Int)>.allocate(capacity: 1)
    heardWord.initialize(to: heard)
    defer { heardWord.deallocate() }
    try ok(objstore_observe(store, cls.id, 0, handler, heardWord, nil, &token))
    let names = ["Figrin D'an", "Greedo", "Toro"]
    let bytes = Array(names.joined().utf8),
        offsets = names.reduce(into: [Int64(0)]) { $0.append($0.last! + Int64($1.utf8.count)) }
    try writing(store) { tx in
        try bytes.withUnsafeBufferPointer { bytes in
            try offsets.withUnsafeBufferPointer { offsets in
                try [Int64(1), 2, 3].withUnsafeBufferPointer { ids in
                    var columns = [
                        objstore_column_init(cls["id"], .OBJSTORE_KIND_INT, ids.baseAddress),
                        objstore_column_init(cls["name"], .OBJSTORE_KIND_STRING, bytes.baseAddress),
                    ]
                    columns[1].offsets = offsets.baseAddress
                    columns[1].values_bytes = UInt64(bytes.count)
                    try ok(objstore_insert_rows(tx, cls.id, .OBJSTORE_POLICY_ERROR, columns, 2, 3, nil, nil))
                }
            }
        }
    }
    try reading(store) { view in
        try ok(objstore_view_version(view, &after))
        expect(try cls.count(view) == 3 && after == before + 1)
        expect(try cls.string(view, try require(cls.find(view, objstore_int(2))), "name") == "Greedo")
    }
    try ok(objstore_deliver(store, nil))
    heard = heardWord.pointee
    #expect(heard == (calls: 1, insertions: 3))
    try ok(objstore_token_close(token))
}

@Test("A04: objects made with a key and filled afterwards") func a04() throws {
    let turtles = TestClass(
        name: "Turtle", properties: [("id", .OBJSTORE_KIND_INT, primaryKey), ("name", .OBJSTORE_KIND_STRING, nullable)])
    let enthusiasts = TestClass(
        name: "TurtleEnthusiast",
        properties: [("id", .OBJSTORE_KIND_STRING, primaryKey), ("name", .OBJSTORE_KIND_STRING, nullable)])
    let store = try openStore(nil, [turtles, enthusiasts])
    defer { _ = objstore_close(store) }
    let turtle = try ClassOf(store, turtles), enthusiast = try ClassOf(store, enthusiasts)
    try writing(store) { tx in
        let max = try turtle.create(tx, ["id": objstore_int(7)])
        try ok(objstore_set(tx, max, turtle["name"], objstore_string(text("Max"))))
        try enthusiast.create(tx, ["id": objstore_string(text("Ali"))])
    }
    try reading(store) { view in
        expect(try turtle.string(view, try require(turtle.find(view, objstore_int(7))), "name") == "Max")
        expect(
            try enthusiast.string(view, try require(enthusiast.find(view, objstore_string(text("Ali")))), "name") == nil
        )
    }
}

@Test("A05: outside a write nothing can be set") func a05() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, dogs)
    let rex = try writing(store) { tx in try cls.create(tx, ["name": objstore_string(text("Rex"))]) }
    try reading(store) { view in
        refused(objstore_set(view, rex, cls["name"], objstore_string(text("Max"))), .OBJSTORE_ERR_NOT_IN_WRITE)
        refused(objstore_increment(view, rex, cls["age"], 1, nil), .OBJSTORE_ERR_NOT_IN_WRITE)
        refused(objstore_delete(view, rex), .OBJSTORE_ERR_NOT_IN_WRITE)
    }
    try reading(store) { view in
        expect(try cls.string(view, rex, "name") == "Rex" && cls.int(view, rex, "age") == 0)
    }
}

@Test("A06: a write is seen as a whole, and not before it ends") func a06() throws {
    let folder = TestFolder()
    let store = try openStore(folder.store, [dogs]), second = try openStore(folder.store, [dogs])
    let cls = try ClassOf(store, dogs)
    let (old, doomed) = try writing(store) { tx in
        (
            try cls.create(tx, ["name": objstore_string(text("old"))]),
            try cls.create(tx, ["name": objstore_string(text("doomed"))])
        )
    }
    try writing(store) { tx in
        try cls.create(tx, ["name": objstore_string(text("a"))])
        try cls.create(tx, ["name": objstore_string(text("b"))])
        try ok(objstore_set(tx, old, cls["age"], objstore_int(5)))
        try ok(objstore_delete(tx, doomed))
        try reading(second) { view in
            expect(try cls.count(view) == 2 && cls.int(view, old, "age") == 0)
        }
    }
    try reading(second) { view in
        var exists = true
        try ok(objstore_exists(view, doomed, &exists))
        expect(try cls.count(view) == 3 && cls.int(view, old, "age") == 5 && !exists)
    }
    try ok(objstore_close(second))
    try ok(objstore_close(store))
}

@Test("A07: a body that fails leaves nothing, and its own status comes back") func a07() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    var cls = try ClassOf(store, dogs)
    let body: objstore_write_body = { view, userdata in
        let cls = userdata!.assumingMemoryBound(to: ClassOf.self).pointee
        guard (try? cls.create(view!, ["name": objstore_string(text("Rex"))])) != nil else {
            return .OBJSTORE_ERR_INTERNAL
        }
        return objstore_fail(42, text("no such customer"))
    }
    refused(withUnsafeMutablePointer(to: &cls) { objstore_write(store, body, $0, nil) }, .OBJSTORE_ERR_CALLBACK)
    var error = objstore_error_init()
    try ok(objstore_last_error(&error))
    #expect(error.callback_code == 42 && string(error.message) == "no such customer")
    #expect(objstore_write(store, { _, _ in objstore_status(rawValue: 10_007)! }, nil, nil).rawValue == 10_007)
    try reading(store) { view in
        expect(try cls.count(view) == 0)
    }
    try writing(store) { tx in try cls.create(tx, ["name": objstore_string(text("next"))]) }
    try reading(store) { view in
        expect(try cls.count(view) == 1)
    }
}

@Test("A08: a second key under policy error takes the whole write back") func a08() throws {
    let frogs = TestClass(
        name: "Frog", properties: [("id", .OBJSTORE_KIND_INT, primaryKey), ("name", .OBJSTORE_KIND_STRING, 0)])
    let store = try openStore(nil, [frogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, frogs)
    #expect(throws: Failure.self) {
        try writing(store) { tx in
            try cls.upsert(tx, .OBJSTORE_POLICY_ERROR, ["id": objstore_int(1), "name": objstore_string(text("first"))])
            try cls.upsert(
                tx, .OBJSTORE_POLICY_ERROR, ["id": objstore_int(1), "name": objstore_string(text("second"))])
        }
    }
    #expect(String(cString: objstore_last_message()).contains("already exists"))
    try reading(store) { view in
        expect(try cls.count(view) == 0)
    }
}

@Test("A09: the objects of a query are changed in the same write") func a09() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, dogs)
    try writing(store) { tx in
        for (name, age) in [("Fall", 5), ("Winter", 1), ("Summer", 1)] {
            try cls.create(tx, ["name": objstore_string(text(name)), "age": objstore_int(Int64(age))])
        }
        var results: OpaquePointer?, count: UInt64 = 0
        try ok(findWhere(tx, cls.id, cls["age"], .OBJSTORE_LESS, objstore_int(2), &results))
        try ok(objstore_results_count(results, &count))
        for index in 0..<count {
            var dog = objstore_object()
            try ok(objstore_results_at(results, index, &dog))
            try ok(objstore_set(tx, dog, cls["name"], objstore_string(text("young"))))
        }
        try ok(countWhere(tx, cls.id, cls["name"], .OBJSTORE_EQUAL, objstore_string(text("young")), &count))
        #expect(count == 2)
    }
    try reading(store) { view in
        var fall = objstore_object()
        try ok(
            firstWhere(view, cls.id, cls["name"], .OBJSTORE_EQUAL, objstore_string(text("Fall")), &fall, nil))
        expect(try cls.int(view, fall, "age") == 5)
    }
}

@Test("A10: two threads, own handles, each 500 increments") func a10() throws {
    let folder = TestFolder()
    let first = try openStore(folder.store, [dogs])
    let cls = try ClassOf(first, dogs)
    let rex = try writing(first) { tx in
        try cls.create(tx, ["name": objstore_string(text("Rex")), "age": objstore_int(10)])
    }
    let path = folder.store, age = cls["age"]
    join(
        (0..<2).map { _ in
            start {
                guard
                    let store = try? openStore(
                        path, [dogs],
                        configure: { try ok(objstore_config_set_durability($0, .OBJSTORE_DURABILITY_NONE, 0)) })
                else {
                    Issue.record("open")
                    return
                }
                for _ in 0..<500 {
                    do { try writing(store) { tx in try ok(objstore_increment(tx, rex, age, 1, nil)) } } catch {
                        Issue.record("\(error)")
                    }
                }
                #expect(objstore_close(store) == .OBJSTORE_OK)
            }
        })
    try reading(first) { view in
        expect(try cls.int(view, rex, "age") == 1010)
    }
    try verify(first)
    try ok(objstore_close(first))
}

/// The other one is inside its body only after the first has left: by the clock, without waiting for any time.
@Test("A10: a second writer is blocked while the first is inside") func a10blocked() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let words = UnsafeMutablePointer<UInt64>.allocate(capacity: 3)
    words.initialize(repeating: 0, count: 3)
    defer { words.deallocate() }
    let isInside = words, isTrying = words + 1, left = words + 2
    nonisolated(unsafe) let shared = words, sharedStore = store
    var second: OpaquePointer?
    let first = start {
        var tx: OpaquePointer?
        expect(objstore_begin(sharedStore, &tx) == .OBJSTORE_OK)
        cs_store64(shared, 1)
        while cs_load64(shared + 1) == 0 {}
        cs_store64(shared + 2, UInt64(cs_monotonic_ns()))
        expect(objstore_commit(tx, nil) == .OBJSTORE_OK)
    }
    while cs_load64(isInside) == 0 {}
    refused(objstore_try_begin(store, &second), .OBJSTORE_ERR_BUSY)
    cs_store64(isTrying, 1)
    try ok(objstore_begin(store, &second))
    #expect(UInt64(cs_monotonic_ns()) >= cs_load64(left) && cs_load64(left) != 0)
    try ok(objstore_cancel(second))
    join([first])
}

@Test("A11: a writer killed at any time leaves whole transactions") func a11() async throws {
    let folder = TestFolder()
    let path = folder.store
    var least: UInt64 = 0
    for round in 1...3 {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, round = round as Int] in
            let store = try openStore(path, [dogs])
            let cls = try ClassOf(store, dogs)
            // By another thread after some transactions, wherever the writer is then.
            let left = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
            left.initialize(to: UInt64(round * 3))
            var thread = pthread_t()
            pthread_create(
                &thread, nil,
                { left in
                    while cs_load64(left!) > 0 { usleep(50) }
                    kill(getpid(), SIGKILL)
                    return nil
                }, left)
            let file = open(path + "-acknowledged", O_CREAT | O_RDWR, 0o600)
            var total = try reading(store) { try cls.count($0) }
            let rex = objstore_string(text("Rex"))
            while true {
                try writing(store) { tx in for _ in 0..<50 { try cls.create(tx, ["name": rex]) } }
                total += 50
                pwrite(file, &total, 8, 0)
                if cs_load64(left) > 0 { cs_add64(left, ~0) }
            }
        }
        var acknowledged: UInt64 = 0
        let file = open(path + "-acknowledged", O_RDONLY)
        #expect(pread(file, &acknowledged, 8, 0) == 8)
        close(file)
        let store = try openStore(path, [dogs])
        let cls = try ClassOf(store, dogs)
        let count = try reading(store) { try cls.count($0) }
        #expect(count % 50 == 0 && count >= acknowledged && acknowledged > least)
        least = acknowledged
        try verify(store)
        try ok(objstore_close(store))
    }
    unlink(path + "-acknowledged")
}

@Test("A14: an object of one store is refused by another") func a14() throws {
    let one = try openStore(nil, [dogs]), two = try openStore(nil, [dogs])
    defer { _ = objstore_close(one); _ = objstore_close(two) }
    let cls = try ClassOf(one, dogs)
    let rex = try writing(one) { tx in try cls.create(tx, ["name": objstore_string(text("Rex"))]) }
    try writing(two) { tx in
        #expect(
            refused(objstore_set(tx, rex, cls["age"], objstore_int(1)), .OBJSTORE_ERR_WRONG_STORE).contains("object"))
        refused(objstore_delete(tx, rex), .OBJSTORE_ERR_WRONG_STORE)
    }
    try reading(two) { view in
        expect(try cls.count(view) == 0)
    }
}

@Test("A15: reading after the store was closed is an error, not a crash") func a15() throws {
    let store = try openStore(nil, [dogs])
    let cls = try ClassOf(store, dogs)
    let rex = try writing(store) { tx in try cls.create(tx, ["name": objstore_string(text("Rex"))]) }
    let view = try liveView(store)
    try ok(objstore_close(store))
    var value = objstore_value()
    refused(objstore_get(view, rex, cls["age"], nil, &value), .OBJSTORE_ERR_CLOSED_HANDLE)
}

/// In C there are no unmanaged objects; what does not change either are results of a frozen view and of a transaction.
@Test("A16: what never changes cannot be observed") func a16() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, dogs)
    let handler: objstore_change_handler = { _, _ in .OBJSTORE_OK }
    var token: OpaquePointer?
    func check(_ view: OpaquePointer) throws {
        var results: OpaquePointer?
        try ok(findWhere(view, cls.id, cls["age"], .OBJSTORE_LESS, objstore_int(2), &results))
        #expect(
            refused(objstore_results_observe(results, 0, handler, nil, nil, &token), .OBJSTORE_ERR_WRONG_VIEW)
                .hasPrefix("results"))
        #expect(token == nil)
        try ok(objstore_results_close(results))
    }
    try frozen(store, check)
    try writing(store, check)
    refused(objstore_observe(store, 99, 0, handler, nil, nil, &token), .OBJSTORE_ERR_NO_SUCH_CLASS)
}

@Test("A29: missing and null values of a required property") func a29() throws {
    let store = try openStore(nil, [persons])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, persons)
    try writing(store) { tx in
        #expect(
            refused(objstore_create(tx, cls.id, [cls["id"]], [objstore_int(1)], 1, nil), .OBJSTORE_ERR_MISSING_VALUE)
                .contains("Person.name"))
        #expect(
            refused(
                objstore_create(tx, cls.id, [cls["id"], cls["name"]], [objstore_int(1), objstore_null()], 2, nil),
                .OBJSTORE_ERR_NOT_NULLABLE
            ).contains("Person.name"))
        expect(try cls.count(tx) == 0)
    }
}

@Test("A30, A31: upserts by all and by modified") func a30() throws {
    let store = try openStore(nil, [persons])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, persons)
    for (policy, key) in [(objstore_policy.OBJSTORE_POLICY_ALL, Int64(1)), (.OBJSTORE_POLICY_MODIFIED, 1234)] {
        try writing(store) { tx in
            try cls.upsert(
                tx, policy,
                ["id": objstore_int(key), "name": objstore_string(text("Jones")), "nick": objstore_string(text("J"))])
            try cls.upsert(tx, policy, ["id": objstore_int(key), "name": objstore_string(text("Bowie"))])
        }
        try reading(store) { view in
            let one = try require(cls.find(view, objstore_int(key)))
            expect(try cls.string(view, one, "name") == "Bowie" && cls.string(view, one, "nick") == "J")
        }
    }
    try reading(store) { view in
        expect(try cls.count(view) == 2)
    }
}

@Test("A32: an existing key without a policy") func a32() throws {
    let store = try openStore(nil, [persons])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, persons)
    try writing(store) { tx in
        let one = try cls.create(tx, ["id": objstore_int(1), "name": objstore_string(text("stored"))])
        #expect(
            refused(
                objstore_create(
                    tx, cls.id, [cls["id"], cls["name"]], [objstore_int(1), objstore_string(text("new"))], 2, nil),
                .OBJSTORE_ERR_DUPLICATE_KEY
            ).contains("already exists"))
        expect(try cls.string(tx, one, "name") == "stored" && cls.count(tx) == 1)
    }
}

@Test("A36: an upsert needs a primary key") func a36() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, dogs)
    try writing(store) { tx in
        let message = refused(
            objstore_upsert(
                tx, cls.id, .OBJSTORE_POLICY_ALL, [cls["name"]], [objstore_string(text("Rex"))], 1, nil, nil),
            .OBJSTORE_ERR_NO_PRIMARY_KEY)
        #expect(message.contains("does not have a primary key"))
    }
}

@Test("A71: set and increment in a write") func a71() throws {
    let store = try openStore(nil, [dogs])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, dogs)
    let dog = try writing(store) { tx in
        try cls.create(tx, ["name": objstore_string(text("Fido")), "age": objstore_int(9)])
    }
    try writing(store) { tx in
        try ok(objstore_set(tx, dog, cls["name"], objstore_string(text("Wolfie"))))
        try ok(objstore_increment(tx, dog, cls["age"], 1, nil))
    }
    try reading(store) { view in
        expect(try cls.string(view, dog, "name") == "Wolfie" && cls.int(view, dog, "age") == 10)
    }
}

@Test("A75: a deleted object is an error to read") func a75() throws {
    let store = try openStore(nil, [persons])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, persons)
    let obiwan = try writing(store) { tx in
        try cls.create(tx, ["id": objstore_int(1), "name": objstore_string(text("Obi-Wan"))])
    }
    try writing(store) { tx in
        try ok(objstore_delete(tx, obiwan))
        refused(objstore_delete(tx, obiwan), .OBJSTORE_ERR_NO_SUCH_OBJECT)
    }
    try reading(store) { view in
        var value = objstore_value(), exists = true
        refused(objstore_get(view, obiwan, cls["name"], nil, &value), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        try ok(objstore_exists(view, obiwan, &exists))
        expect(try !exists && cls.count(view) == 0)
    }
}

@Test("A78: all objects of one class are deleted, the others stay") func a78() throws {
    let store = try openStore(nil, [persons, dogs])
    defer { _ = objstore_close(store) }
    let person = try ClassOf(store, persons), dog = try ClassOf(store, dogs)
    try writing(store) { tx in
        for (id, name) in [(1, "Boba"), (2, "Jango")] {
            try person.create(tx, ["id": objstore_int(Int64(id)), "name": objstore_string(text("\(name) Fett"))])
        }
        try dog.create(tx, ["name": objstore_string(text("Team"))])
    }
    try writing(store) { tx in
        var count: UInt64 = 0
        try ok(objstore_delete_all(tx, person.id, &count))
        #expect(count == 2)
    }
    try reading(store) { view in
        expect(try person.count(view) == 0 && dog.count(view) == 1 && person.find(view, objstore_int(1)) == nil)
    }
    // The keys are free again, the object keys are not.
    let new = try writing(store) { tx in
        try person.create(tx, ["id": objstore_int(1), "name": objstore_string(text("new"))])
    }
    #expect(new.key == 2)
    try verify(store)
}
