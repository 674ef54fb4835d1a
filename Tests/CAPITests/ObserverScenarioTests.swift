import CObjStore
import Testing

// A43 to A61 again, with observers of every kind that watch, through another handle of the file: what each one's copy
// has become by its change sets is what is there.

/// What is observed, as its change sets make it.
private final class Copy {
    let name: String
    let read: (OpaquePointer) throws -> [String]
    var lines: [String] = []
    var told = 0
    var token: OpaquePointer?

    init(_ name: String, _ read: @escaping (OpaquePointer) throws -> [String]) { (self.name, self.read) = (name, read) }

    static let handler: objstore_change_handler = { changes, userdata in
        let copy = Unmanaged<Copy>.fromOpaque(userdata!).takeUnretainedValue()
        do { try copy.follow(changes) } catch { return .OBJSTORE_USER_STATUS }
        return .OBJSTORE_OK
    }
    var me: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// Positions are all that it goes by; what stands at those that are new is read.
    private func follow(_ changes: OpaquePointer?) throws {
        func positions(_ change: objstore_change) throws -> [Int] {
            var objects: UnsafePointer<objstore_object>?, indices: UnsafePointer<UInt64>?, count = 0
            try ok(objstore_changes_list(changes, change, &objects, &indices, &count))
            return (0..<count).map { Int(indices![$0]) }
        }
        told += 1
        var info = objstore_changes_info_init(), view: OpaquePointer?
        try ok(objstore_changes_get_info(changes, &info))
        try ok(objstore_changes_view(changes, .OBJSTORE_AFTER, &view))
        let after = try read(view!)
        if info.flags & UInt32(OBJSTORE_CHANGES_INITIAL) != 0 {
            lines = after
            return
        }
        let gone = try positions(.OBJSTORE_DELETIONS) + positions(.OBJSTORE_MOVES)
        let come = try positions(.OBJSTORE_INSERTIONS) + positions(.OBJSTORE_MOVES_AFTER)
        for at in gone.sorted(by: >) { lines.remove(at: at) }
        for at in come.sorted() { lines.insert(after[at], at: at) }
        for at in try positions(.OBJSTORE_MODIFICATIONS_AFTER) { lines[at] = after[at] }
    }
}

/// Two handles of one file: one writes, one watches.
private final class Kennel {
    private let folder = TestFolder()
    var store: OpaquePointer?
    let watching: OpaquePointer
    let view: OpaquePointer
    let dog: ClassOf
    private let owner: objstore_object
    private var copies: [Copy] = []
    /// What the observer of the owner was told: how many modifications.
    private(set) var written = 0
    private var token: OpaquePointer?
    private static let boxes = TestClass(name: "Box", properties: [("name", .OBJSTORE_KIND_STRING, 0)])
    let pals: objstore_collection, words: objstore_collection, numbers: objstore_collection, notes: objstore_collection

    init() throws {
        let schema = try makeSchema([dogs, Kennel.boxes]), box = text("Box")
        try ok(
            objstore_schema_add_link_collection(
                schema, box, text("pals"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Dog"), 0))
        for (name, collection, key, kind) in [
            (
                "words", objstore_kind.OBJSTORE_KIND_LIST, objstore_kind.OBJSTORE_KIND_NULL,
                objstore_kind.OBJSTORE_KIND_STRING
            ),
            ("numbers", .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_INT),
            ("notes", .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_INT),
        ] {
            try ok(objstore_schema_add_collection(schema, box, text(name), collection, key, kind, 0))
        }
        let store = try openStore(folder.store, schema), dog = try ClassOf(store, dogs)
        let boxClass = try ClassOf(store, Kennel.boxes)
        func collection(_ owner: objstore_object, _ name: String) throws -> objstore_collection {
            var property: objstore_property_id = 0
            try reading(store) { view in
                try ok(objstore_find_property(view, boxClass.id, text(name), &property))
            }
            return objstore_collection_of(owner, property)
        }
        owner = try writing(store) { tx in try boxClass.create(tx, ["name": objstore_string(text("box"))]) }
        pals = try collection(owner, "pals")
        words = try collection(owner, "words")
        numbers = try collection(owner, "numbers")
        notes = try collection(owner, "notes")
        self.store = store
        self.dog = dog
        watching = try openStore(folder.store, nil as OpaquePointer?)
        view = try liveView(watching)
        try ok(objstore_view_set_autorefresh(view, true))
        try writing(store) { tx in
            let rex = try add(tx, "Rex", 5)
            var link = objstore_link(rex)
            try ok(objstore_list_insert(tx, pals, 0, &link, 1))
            for number in [3059, 3062, 3064] {
                try ok(objstore_set_insert(tx, numbers, objstore_int(Int64(number)), nil))
            }
            try ok(objstore_map_set(tx, notes, objstore_string(text("first")), objstore_int(1), nil))
        }
        try watch()
    }

    @discardableResult
    func add(_ tx: OpaquePointer, _ name: String, _ age: Int64 = 0) throws -> objstore_object {
        try dog.create(tx, ["name": objstore_string(text(name)), "age": objstore_int(age)])
    }

    func object(_ key: Int64) -> objstore_object {
        objstore_object(class_id: dog.id, store_tag: owner.store_tag, key: key)
    }

    private func lines(_ view: OpaquePointer, _ keys: [Int64], names: Bool = false) throws -> [String] {
        try keys.map { key in
            let name = try dog.string(view, object(key), "name") ?? "?"
            return names ? name : "\(name) \(try dog.int(view, object(key), "age"))"
        }
    }

    private func watch() throws {
        let flags = UInt32(OBJSTORE_OBSERVE_INITIAL)
        for (name, condition, paths) in [
            ("every one", "age >= 0", nil), ("query", "age < 10", nil),
            ("sorted", "TRUEPREDICATE SORT(name ASC)", nil),
            ("limited", "TRUEPREDICATE SORT(age DESC) LIMIT(3)", nil),
            ("distinct", "TRUEPREDICATE SORT(age ASC) DISTINCT(age)", nil),
            ("key path", "TRUEPREDICATE SORT(name ASC)", "name"),
        ] as [(String, String, String?)] {
            let copy = Copy(name) { [unowned self] view in
                try lines(view, try found(view, dog.id, condition), names: paths != nil)
            }
            let query = try query(view, dog.id, condition)
            defer { _ = objstore_query_close(query) }
            let path = paths.map { [text($0)] }
            try ok(
                objstore_query_observe_paths(
                    query, watching, path, path?.count ?? 0, flags, Copy.handler, copy.me, nil, &copy.token))
            copies.append(copy)
        }
        for (name, collection) in [("list", pals), ("words", words), ("set", numbers), ("map", notes)] {
            let copy = Copy(name) { [unowned self] view in try elements(view, collection) }
            try ok(
                objstore_collection_observe(watching, collection, flags, Copy.handler, copy.me, nil, &copy.token))
            copies.append(copy)
        }
        try ok(
            objstore_object_observe(
                watching, owner, nil, 0, 0,
                { _, userdata in
                    Unmanaged<Kennel>.fromOpaque(userdata!).takeUnretainedValue().written += 1
                    return .OBJSTORE_OK
                }, Unmanaged.passUnretained(self).toOpaque(), nil, &token))
        try follow("the beginning")
    }

    private func elements(_ view: OpaquePointer, _ collection: objstore_collection) throws -> [String] {
        var values = [objstore_value](repeating: objstore_value(), count: 300), keys = values, count = 0
        var buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        let isMap = collection.property_id == notes.property_id
        try ok(
            isMap
                ? objstore_collection_read(view, collection, 0, 300, &buffer, &keys, &values, &count)
                : objstore_collection_read(view, collection, 0, 300, &buffer, nil, &values, &count))
        return try (0..<count).map { at in
            let key = isMap ? "\(string(keys[at]) ?? "?"): " : ""
            switch values[at].kind {
            case .OBJSTORE_KIND_LINK: return try lines(view, [values[at].data.link.key])[0]
            case .OBJSTORE_KIND_INT: return "\(key)\(values[at].data.integer)"
            default: return key + (string(values[at]) ?? "null")
            }
        }
    }

    /// Delivers, compares all copies with what the view shows that has followed; how many were told something.
    @discardableResult
    func follow(_ after: String) throws -> Int {
        let before = copies.map(\.told)
        try ok(objstore_refresh(watching, nil, nil))
        for copy in copies { #expect(try copy.lines == copy.read(view), "\(copy.name) after \(after)") }
        return zip(before, copies).count { $0 != $1.told }
    }

    func close() throws {
        for copy in copies { try ok(objstore_token_close(copy.token)) }
        try ok(objstore_token_close(token))
        try ok(objstore_close(watching))
        try ok(objstore_close(store))
    }

    // MARK: Asynchronous writes

    /// A closure as a function of C with its userdata.
    final class Call {
        let kennel: Kennel
        let body: (OpaquePointer) throws -> Void
        var completed: [objstore_status] = []
        init(_ kennel: Kennel, _ body: @escaping (OpaquePointer) throws -> Void) {
            (self.kennel, self.body) = (kennel, body)
        }
        static func of(_ userdata: UnsafeMutableRawPointer?) -> Call {
            Unmanaged<Call>.fromOpaque(userdata!).takeUnretainedValue()
        }
        var me: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
    }

    static let body: objstore_write_body = { tx, userdata in
        do { try Call.of(userdata).body(tx!) } catch { return .OBJSTORE_USER_STATUS }
        return .OBJSTORE_OK
    }
    static let completion: objstore_completion = { status, _, userdata in
        Call.of(userdata).completed.append(status)
        return .OBJSTORE_OK
    }

    /// Until all that was called asynchronously has come to its end.
    func finish() throws {
        var isWriting = true
        while isWriting {
            try ok(objstore_wait(store, 10_000, nil))
            try ok(objstore_is_writing_async(store, &isWriting))
        }
    }
}

@Test("A43, A50: appended asynchronously") func a43Observed() throws {
    let kennel = try Kennel()
    let call = Kennel.Call(kennel) { tx in
        var links = try [("Ben", 13), ("Lita", 9), ("Maui", 1)].map { objstore_link(try kennel.add(tx, $0, $1)) }
        try ok(objstore_list_insert(tx, kennel.pals, 1, &links, 3))
    }
    try ok(objstore_write_async(kennel.store, 0, Kennel.body, Kennel.completion, call.me, nil, nil))
    try kennel.finish()
    #expect(call.completed == [.OBJSTORE_OK])
    #expect(try kennel.follow("A43") >= 6 && kennel.written == 1)
    try kennel.close()
}

@Test("A46, A48, A49: emptied, refused, and undone") func a46Observed() throws {
    let kennel = try Kennel()
    try writing(kennel.store!) { tx in
        try ok(objstore_collection_clear(tx, kennel.numbers))
        try ok(objstore_collection_clear(tx, kennel.notes))
    }
    #expect(try kennel.follow("A46") == 2 && kennel.written == 1)
    var tx: OpaquePointer?
    try ok(objstore_begin(kennel.store, &tx))
    try kennel.add(tx!, "never")
    try ok(objstore_collection_clear(tx, kennel.pals))
    try ok(objstore_cancel(tx))
    #expect(try kennel.follow("A49") == 0)
    try kennel.close()
}

@Test("A51 to A54: begun, committed, cancelled") func a51Observed() throws {
    let kennel = try Kennel()
    let lost = Kennel.Call(kennel) { tx in try kennel.add(tx, "lost") }
    try ok(objstore_begin_async(kennel.store, 0, Kennel.body, lost.me, nil, nil))
    try kennel.finish()
    #expect(try kennel.follow("A51") == 0)
    let kept = Kennel.Call(kennel) { _ in }
    let keeping = Kennel.Call(kennel) { tx in
        try kennel.add(tx, "kept")
        try ok(objstore_commit_async(tx, 0, Kennel.completion, kept.me, nil, nil))
    }
    try ok(objstore_begin_async(kennel.store, 0, Kennel.body, keeping.me, nil, nil))
    try kennel.finish()
    #expect(try kept.completed == [.OBJSTORE_OK] && kennel.follow("A52") > 0)
    var id: objstore_async_id = 0
    try ok(objstore_write_async(kennel.store, 0, Kennel.body, nil, lost.me, nil, &id))
    try ok(objstore_cancel_async(kennel.store, id))
    try kennel.finish()
    #expect(try kennel.follow("A53") == 0)
    try kennel.close()
}

@Test("A55, A56: many small ones, and the end") func a55Observed() throws {
    let kennel = try Kennel()
    var number: Int64 = 0
    let call = Kennel.Call(kennel) { tx in
        try kennel.add(tx, "dog \(number)", number % 17)
        number += 1
    }
    for turn in 0..<200 {
        try ok(objstore_write_async(kennel.store, turn % 2 == 0 ? 1 : 0, Kennel.body, nil, call.me, nil, nil))
    }
    try kennel.finish()
    try kennel.follow("A55")
    for _ in 0..<20 { try ok(objstore_write_async(kennel.store, 0, Kennel.body, nil, call.me, nil, nil)) }
    try ok(objstore_close(kennel.store))
    kennel.store = nil
    try kennel.follow("A56")
    #expect(try kennel.dog.count(kennel.view) == 221)
    try kennel.close()
}

@Test("A59, A60, A61: positions, silence, and a writer that takes its time") func a59Observed() throws {
    let kennel = try Kennel(), store = try #require(kennel.store)
    var dogs: [objstore_object] = []
    try writing(store) { tx in
        dogs = try [("A", 1), ("B", 2), ("C", 3), ("D", 3)].map { try kennel.add(tx, $0, $1) }
    }
    try kennel.follow("four more")
    try writing(store) { tx in
        try ok(objstore_delete(tx, dogs[0]))
        try kennel.add(tx, "E", 20)
        try ok(objstore_set(tx, dogs[2], kennel.dog["age"], objstore_int(0)))
    }
    #expect(try kennel.follow("A59") >= 5)
    // An observer of the writer's that is left out; those of the other handle are not.
    var told = 0, token: OpaquePointer?
    try ok(
        withUnsafeMutablePointer(to: &told) { told in
            let status = objstore_observe(
                store, kennel.dog.id, 0,
                { _, userdata in
                    userdata!.assumingMemoryBound(to: Int.self).pointee += 1
                    return .OBJSTORE_OK
                }, told, nil, &token)
            if status != .OBJSTORE_OK { return status }
            do {
                try writing(store) { tx in
                    try ok(objstore_delete(tx, dogs[1]))
                    try ok(objstore_without_notifying(tx, [token], 1))
                }
                try ok(objstore_refresh(store, nil, nil))
            } catch {
                return .OBJSTORE_USER_STATUS
            }
            return objstore_token_close(token)
        })
    #expect(try told == 0 && kennel.follow("A60") > 0)
    // While this thread has a transaction open, one that was called waits, and nobody is told of it.
    var tx: OpaquePointer?
    try ok(objstore_begin(store, &tx))
    let later = Kennel.Call(kennel) { tx in try kennel.add(tx, "later") }
    try ok(objstore_write_async(store, 0, Kennel.body, Kennel.completion, later.me, nil, nil))
    try kennel.add(tx!, "first")
    #expect(try kennel.follow("A61, meanwhile") == 0)
    try ok(objstore_commit(tx, nil))
    try kennel.finish()
    #expect(try later.completed == [.OBJSTORE_OK] && kennel.follow("A61") > 0)
    try kennel.close()
}
