import CObjStore
import Testing

// Classes that are dropped, and objects that become embedded.

private let plain = TestClass(
    name: "Note", properties: [("body", .OBJSTORE_KIND_STRING, indexed), ("blob", .OBJSTORE_KIND_BINARY, nullable)])
private let others = TestClass(name: "Other", properties: [("n", .OBJSTORE_KIND_INT, primaryKey)])

/// Opens with a schema that `describe` makes.
private func open(
    _ path: String, _ version: UInt64, _ migration: objstore_migration? = nil,
    _ describe: @escaping (OpaquePointer) throws -> Void
) throws -> OpaquePointer {
    try openStore(path, []) { config in
        let schema = try makeSchema([])
        defer { _ = objstore_schema_close(schema) }
        try describe(schema)
        try ok(objstore_config_set_schema(config, schema, version))
        if let migration { try ok(objstore_config_set_migration(config, migration, nil, nil)) }
    }
}

private func refusal(
    _ status: objstore_status, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> OpaquePointer
) -> String {
    do {
        _ = objstore_close(try body())
        Issue.record("opened", sourceLocation: sourceLocation)
    } catch let failure as Failure {
        #expect(failure.status == status, "\(failure)", sourceLocation: sourceLocation)
        return failure.description
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
    return ""
}

private func add(_ schema: OpaquePointer, _ cls: TestClass) throws {
    try ok(objstore_schema_add_class(schema, text(cls.name)))
    for property in cls.properties {
        try ok(
            objstore_schema_add_property(
                schema, text(cls.name), text(property.name), property.kind, UInt32(property.flags)))
    }
}

private func liveBytes(_ store: OpaquePointer) throws -> UInt64 {
    var statistics = objstore_statistics()
    statistics.struct_size = UInt32(MemoryLayout<objstore_statistics>.size)
    try ok(objstore_get_statistics(store, &statistics))
    return statistics.live_bytes
}

private func classNames(_ store: OpaquePointer) throws -> [String] {
    try reading(store) { view in
        var count = 0
        try ok(objstore_class_count(view, &count))
        let names = try (0..<count).map { index in
            var info = objstore_class_info()
            info.struct_size = UInt32(MemoryLayout<objstore_class_info>.size)
            try ok(objstore_class_at(view, index, &info))
            return string(info.name)!
        }
        var info = objstore_class_info()
        info.struct_size = UInt32(MemoryLayout<objstore_class_info>.size)
        refused(objstore_class_at(view, count, &info), .OBJSTORE_ERR_OUT_OF_RANGE)
        return names
    }
}

@Suite struct DroppedClassTests {
    @Test func withAllItsObjects() throws {
        let folder = TestFolder()
        func describe(_ schema: OpaquePointer) throws {
            try add(schema, plain)
            try ok(
                objstore_schema_add_collection(
                    schema, text("Note"), text("tags"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_STRING,
                    0))
            try ok(
                objstore_schema_add_link_collection(
                    schema, text("Note"), text("friends"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Note"), 0))
            try ok(objstore_schema_add_link(schema, text("Note"), text("about"), text("Other"), 0))
            try add(schema, others)
            // Parts of notes.
            try ok(objstore_schema_add_class(schema, text("Page")))
            try ok(objstore_schema_add_property(schema, text("Page"), text("number"), .OBJSTORE_KIND_INT, 0))
            try ok(objstore_schema_set_class_flags(schema, text("Page"), UInt32(OBJSTORE_CLASS_EMBEDDED)))
            try ok(
                objstore_schema_add_link_collection(
                    schema, text("Note"), text("pages"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Page"), 0))
        }
        func dropped(_ schema: OpaquePointer) throws {
            try add(schema, others)
            try ok(objstore_schema_drop_class(schema, text("Note")))
            try ok(objstore_schema_drop_class(schema, text("NeverThere")))
        }
        var store = try open(folder.store, 1, nil, describe)
        let notes = try ClassOf(store, plain), other = try ClassOf(store, others)
        var some = objstore_object()
        try writing(store) { tx in
            let names = Names(tx), page = try names.cls("Page")
            var target = objstore_object()
            try ok(objstore_create(tx, other.id, [other["n"]], [objstore_int(1)], 1, &target))
            let tags = try names.property(notes.id, "tags"), friends = try names.property(notes.id, "friends"),
                pages = try names.property(notes.id, "pages")
            let blob = [UInt8](repeating: 7, count: 30_000)
            for number in 0..<2000 {
                let note = try blob.withUnsafeBufferPointer { blob in
                    let value = objstore_binary(blob.baseAddress!, number % 50 == 0 ? Int64(blob.count) : 3)
                    return try notes.create(tx, ["body": objstore_string(text("note \(number)")), "blob": value])
                }
                some = note
                try ok(objstore_set(tx, note, try names.property(notes.id, "about"), objstore_link(target)))
                let word = objstore_string(text("tag \(number % 7)"))
                try ok(objstore_set_insert(tx, objstore_collection_of(note, tags), word, nil))
                try ok(objstore_list_insert(tx, objstore_collection_of(note, friends), 0, [objstore_link(note)], 1))
                try ok(
                    objstore_create_embedded(
                        tx, note, pages, objstore_null(), [try names.property(page, "number")],
                        [objstore_int(Int64(number))], 1, nil))
            }
        }
        // It is observed.
        nonisolated(unsafe) var deleted: [UInt64] = []
        let full = try liveBytes(store)
        let watcher = store
        var token: OpaquePointer?
        try withUnsafeMutablePointer(to: &deleted) { deleted in
            try ok(
                objstore_observe(
                    watcher, notes.id, 0,
                    { changes, userdata in
                        var info = objstore_changes_info()
                        info.struct_size = UInt32(MemoryLayout<objstore_changes_info>.size)
                        if objstore_changes_get_info(changes, &info) == .OBJSTORE_OK {
                            userdata!.assumingMemoryBound(to: [UInt64].self).pointee.append(info.deletion_count)
                        }
                        return .OBJSTORE_OK
                    }, deleted, nil, &token))
            try ok(objstore_deliver(watcher, nil))
            var frozenView: OpaquePointer?
            let live = try liveView(watcher)
            try ok(objstore_view_freeze(live, &frozenView))
            #expect(
                refusal(.OBJSTORE_ERR_SCHEMA_MISMATCH) { try open(folder.store, 1, nil, dropped) }.contains(
                    "class Note is to be dropped"))
            store = try open(folder.store, 2, nil, dropped)
            try ok(objstore_deliver(watcher, nil))
            #expect(deleted.pointee.last == 2000)
            // What was frozen has it still.
            expect(try notes.count(frozenView!) == 2000)
            expect(try notes.string(frozenView!, some, "body") == "note 1999")
            try ok(objstore_view_refresh(live, nil))
            var value = objstore_value(), found: objstore_class_id = 0, count: UInt64 = 0, exists = true
            refused(objstore_get(live, some, notes["body"], nil, &value), .OBJSTORE_ERR_NO_SUCH_CLASS)
            refused(objstore_count(live, notes.id, &count), .OBJSTORE_ERR_NO_SUCH_CLASS)
            refused(objstore_find_class(live, text("Note"), &found), .OBJSTORE_ERR_NO_SUCH_CLASS)
            refused(objstore_exists(live, some, &exists), .OBJSTORE_ERR_NO_SUCH_CLASS)
            try ok(objstore_token_close(token))
            try ok(objstore_view_close(frozenView))
            try ok(objstore_view_close(live))
        }
        #expect(try classNames(store) == ["Other", "Page"])
        try writing(store) { tx in
            // Nothing of it is left, nor what lay in it; what it linked to is.
            expect(try other.count(tx) == 1)
            var count: UInt64 = 9
            try ok(objstore_count(tx, try Names(tx).cls("Page"), &count))
            #expect(count == 0)
            refused(objstore_create(tx, notes.id, nil, nil, 0, nil), .OBJSTORE_ERR_NO_SUCH_CLASS)
            refused(objstore_delete(tx, some), .OBJSTORE_ERR_NO_SUCH_CLASS)
        }
        try verify(store)
        try ok(objstore_close(watcher))
        let left = try liveBytes(store)
        #expect(left < full / 10, "\(full) \(left)")
        try ok(objstore_close(store))
        // It stays away, and the program can keep saying so.
        store = try open(folder.store, 2, nil, dropped)
        try ok(objstore_close(store))
        store = try open(folder.store, 3, nil, dropped)
        try ok(objstore_close(store))
        // One of that name is another class.
        store = try open(folder.store, 3) { schema in try add(schema, plain) }
        let again = try ClassOf(store, plain)
        #expect(again.id != notes.id && again["body"] != notes["body"])
        try writing(store) { tx in
            expect(try again.count(tx) == 0)
            try again.create(tx, ["body": objstore_string(text("new"))])
        }
        #expect(try classNames(store) == ["Other", "Page", "Note"])
        // Copies are as they are.
        try reading(store) { view in try ok(objstore_copy(view, text(folder.path + "/copy"), nil, nil, nil)) }
        try ok(objstore_close(store))
        store = try open(folder.path + "/copy", 3) { schema in try add(schema, plain) }
        #expect(try ClassOf(store, plain).id == again.id)
        try verify(store)
        try ok(objstore_close(store))
    }

    @Test func notWhereSomethingLeadsToIt() throws {
        let folder = TestFolder()
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        try ok(objstore_schema_add_class(schema, text("Note")))
        refused(objstore_schema_drop_class(schema, text("Note")), .OBJSTORE_ERR_INVALID_SCHEMA)
        try ok(objstore_schema_drop_class(schema, text("Gone")))
        refused(objstore_schema_add_class(schema, text("Gone")), .OBJSTORE_ERR_INVALID_SCHEMA)
        refused(objstore_schema_drop_class(schema, text("9")), .OBJSTORE_ERR_INVALID_SCHEMA)
        try ok(objstore_schema_close(schema))
        var store = try open(folder.store, 1) { schema in
            try add(schema, others)
            try add(schema, plain)
            try ok(
                objstore_schema_add_link_collection(
                    schema, text("Note"), text("all"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, text("Other"), 0))
        }
        let notes = try ClassOf(store, plain)
        try writing(store) { tx in try notes.create(tx, ["body": objstore_string(text("one"))]) }
        try ok(objstore_close(store))
        let message = refusal(.OBJSTORE_ERR_SCHEMA_MISMATCH) {
            try open(folder.store, 2) { schema in try ok(objstore_schema_drop_class(schema, text("Other"))) }
        }
        #expect(message.contains("Note.all leads to class Other, which is to be dropped"))
        // Both, or the property too.
        store = try open(folder.store, 2) { schema in
            try add(schema, plain)
            try ok(objstore_schema_drop_class(schema, text("Other")))
        }
        #expect(try classNames(store) == ["Note"])
        try reading(store) { view in expect(try notes.count(view) == 1) }
        try verify(store)
        try ok(objstore_close(store))
    }

    /// A migration sees what is dropped in the old view, and only there.
    @Test func inAMigration() throws {
        let folder = TestFolder()
        var store = try open(folder.store, 1) { schema in
            try add(schema, others)
            try add(schema, plain)
        }
        let other = try ClassOf(store, others)
        try writing(store) { tx in for number in 0..<10 { try other.create(tx, ["n": objstore_int(Int64(number))]) } }
        try ok(objstore_close(store))
        func describe(_ schema: OpaquePointer) throws {
            try add(schema, plain)
            try ok(objstore_schema_drop_class(schema, text("Other")))
        }
        _ = refusal(.OBJSTORE_ERR_TIMEOUT) {
            try open(folder.store, 2, { _, _, _, _, _, _ in .OBJSTORE_ERR_TIMEOUT }, describe)
        }
        store = try open(folder.store, 1) { _ in }
        try reading(store) { view in expect(try other.count(view) == 10) }
        try ok(objstore_close(store))
        store = try open(
            folder.store, 2,
            { _, tx, old, _, _, _ in
                var class_id: objstore_class_id = 0, count: UInt64 = 0
                guard objstore_find_class(tx, text("Other"), &class_id) == .OBJSTORE_ERR_NO_SUCH_CLASS else {
                    return .OBJSTORE_ERR_INTERNAL
                }
                guard objstore_find_class(old, text("Other"), &class_id) == .OBJSTORE_OK,
                    objstore_count(old, class_id, &count) == .OBJSTORE_OK
                else { return .OBJSTORE_ERR_INTERNAL }
                var note: objstore_class_id = 0, body: objstore_property_id = 0
                _ = objstore_find_class(tx, text("Note"), &note)
                _ = objstore_find_property(tx, note, text("body"), &body)
                return objstore_create(tx, note, [body], [objstore_string(text("there were \(count)"))], 1, nil)
            }, describe)
        try verify(store)
        let notes = try ClassOf(store, plain)
        try reading(store) { view in
            var count: UInt64 = 0
            try ok(
                countWhere(
                    view, notes.id, notes["body"], .OBJSTORE_EQUAL, objstore_string(text("there were 10")), &count))
            #expect(count == 1)
        }
        try ok(objstore_close(store))
    }
}

/// D77: objects become embedded.
@Suite struct EmbeddingTests {
    private func describe(
        _ schema: OpaquePointer, embedded: Bool, collection: objstore_kind = .OBJSTORE_KIND_LIST
    ) throws {
        try ok(objstore_schema_add_class(schema, text("Person")))
        try ok(objstore_schema_add_property(schema, text("Person"), text("name"), .OBJSTORE_KIND_STRING, 0))
        try ok(objstore_schema_add_class(schema, text("Address")))
        try ok(objstore_schema_add_property(schema, text("Address"), text("street"), .OBJSTORE_KIND_STRING, 0))
        try ok(objstore_schema_add_link(schema, text("Person"), text("home"), text("Address"), 0))
        try ok(
            objstore_schema_add_link_collection(
                schema, text("Person"), text("others"), collection, .OBJSTORE_KIND_NULL, text("Address"), 0))
        if embedded {
            try ok(objstore_schema_set_class_flags(schema, text("Address"), UInt32(OBJSTORE_CLASS_EMBEDDED)))
        }
    }

    /// Persons with a home and two other addresses each; `more` does what is wrong.
    private func persons(
        _ folder: TestFolder, _ more: (NamedStore, OpaquePointer, [objstore_object]) throws -> Void = { _, _, _ in }
    ) throws {
        let db = try NamedStore(folder.store) { try describe($0, embedded: false) }
        defer { db.close() }
        try writing(db.store) { tx in
            var all: [objstore_object] = []
            for number in 0..<5 {
                all.append(
                    try db.from(
                        tx, "Person",
                        [
                            "name": .value(objstore_string(text("P\(number)"))), "home": ["street": "Home"],
                            "others": [["street": "A"], ["street": "B"]],
                        ]))
            }
            try more(db, tx, all)
        }
    }

    @Test("D77: each has one parent") func eachHasOneParent() throws {
        let folder = TestFolder()
        try persons(folder)
        #expect(
            refusal(.OBJSTORE_ERR_SCHEMA_MISMATCH) { try open(folder.store, 1) { try describe($0, embedded: true) } }
                .contains("class Address is not embedded in the file"))
        #expect(
            refusal(.OBJSTORE_ERR_INVALID_SCHEMA) {
                try open(folder.store, 2) { try describe($0, embedded: true, collection: .OBJSTORE_KIND_SET) }
            }.contains("embedded"))
        var store = try open(folder.store, 2) { try describe($0, embedded: true) }
        try verify(store)
        try writing(store) { tx in
            let names = Names(tx), person = try names.cls("Person"), address = try names.cls("Address")
            var row = objstore_row(), more = false, object = objstore_object(), parent = objstore_object(),
                home = objstore_value(), count: UInt64 = 0
            try ok(objstore_row_init(tx, person, &row))
            try ok(objstore_row_next(&row, &more))
            try ok(objstore_row_object(&row, &object))
            try ok(objstore_get(tx, object, try names.property(person, "home"), nil, &home))
            try ok(objstore_parent(tx, home.data.link, &parent, nil))
            #expect(parent.key == object.key && parent.class_id == person)
            // It goes with its parent from now on, and is made there only.
            try ok(objstore_delete(tx, object))
            try ok(objstore_count(tx, address, &count))
            #expect(count == 12)
            refused(
                objstore_create(
                    tx, address, [try names.property(address, "street")], [objstore_string(text("x"))], 1, nil),
                .OBJSTORE_ERR_EMBEDDED)
        }
        try verify(store)
        try ok(objstore_close(store))
        // And back: nothing goes with its parent any more.
        store = try open(folder.store, 3) { try describe($0, embedded: false) }
        try writing(store) { tx in
            let names = Names(tx), address = try names.cls("Address")
            var count: UInt64 = 0
            try ok(objstore_delete_all(tx, try names.cls("Person"), nil))
            try ok(objstore_count(tx, address, &count))
            #expect(count == 12)
            try ok(
                objstore_create(
                    tx, address, [try names.property(address, "street")], [objstore_string(text("x"))], 1, nil))
        }
        try verify(store)
        try ok(objstore_close(store))
    }

    @Test("D77: none, or several parents") func noneOrSeveralParents() throws {
        for several in [false, true] {
            let folder = TestFolder()
            try persons(folder) { db, tx, all in
                if several {
                    let home = try db.value(tx, all[0], "Person.home")
                    try ok(objstore_set(tx, all[1], db["Person.home"], home))
                } else {
                    _ = try db.from(tx, "Address", ["street": "Nowhere"])
                }
            }
            // With two parents of one, the other's old home has none.
            let message = refusal(.OBJSTORE_ERR_SCHEMA_MISMATCH) {
                try open(folder.store, 2) { try describe($0, embedded: true) }
            }
            #expect(
                message.contains(
                    several ? "2 of 15 objects do not have one parent" : "1 of 16 objects do not have one parent"),
                "\(message)")
            #expect(message.contains(several ? "2 links lead to it" : "no object links to it"), "\(message)")
            // The file is as it was.
            var store = try open(folder.store, 1) { try describe($0, embedded: false) }
            try verify(store)
            try ok(objstore_close(store))
            // A migration that does nothing is refused, too; one that deletes the others is not.
            _ = refusal(.OBJSTORE_ERR_SCHEMA_MISMATCH) {
                try open(folder.store, 2, { _, _, _, _, _, _ in .OBJSTORE_OK }) { try describe($0, embedded: true) }
            }
            store = try open(
                folder.store, 2,
                { _, tx, _, _, _, _ in
                    do {
                        let tx = tx!, names = Names(tx), person = try names.cls("Person"),
                            address = try names.cls("Address"), home = try names.property(person, "home")
                        // The second person's home is its own again.
                        var row = objstore_row(), more = false, object = objstore_object(), fresh = objstore_object()
                        try ok(objstore_row_init(tx, person, &row))
                        try ok(objstore_row_next(&row, &more))
                        try ok(objstore_row_next(&row, &more))
                        try ok(objstore_row_object(&row, &object))
                        try ok(
                            objstore_create(
                                tx, address, [try names.property(address, "street")], [objstore_string(text("Own"))], 1,
                                &fresh))
                        try ok(objstore_set(tx, object, home, objstore_link(fresh)))
                        var orphans: [objstore_object] = []
                        try ok(objstore_row_init(tx, address, &row))
                        while true {
                            try ok(objstore_row_next(&row, &more))
                            if !more { break }
                            try ok(objstore_row_object(&row, &object))
                            var links: UInt64 = 0, elements: UInt64 = 0
                            try ok(objstore_incoming_count(tx, object, home, &links))
                            try ok(objstore_incoming_count(tx, object, try names.property(person, "others"), &elements))
                            if links + elements == 0 { orphans.append(object) }
                        }
                        for orphan in orphans { try ok(objstore_delete(tx, orphan)) }
                        return .OBJSTORE_OK
                    } catch {
                        Issue.record("\(error)")
                        return .OBJSTORE_ERR_INTERNAL
                    }
                }
            ) { try describe($0, embedded: true) }
            try verify(store)
            try reading(store) { view in
                var count: UInt64 = 0
                try ok(objstore_count(view, try Names(view).cls("Address"), &count))
                #expect(count == 15)
            }
            try ok(objstore_close(store))
        }
    }

    /// Each has one parent, but some of them only each other: nothing would lead to them any more.
    @Test("D77: none lies in itself") func noneLiesInItself() throws {
        func describe(_ schema: OpaquePointer, embedded: [String]) throws {
            for cls in ["Book", "Page", "Part"] {
                try ok(objstore_schema_add_class(schema, text(cls)))
                try ok(
                    objstore_schema_add_property(
                        schema, text(cls), text("title"), .OBJSTORE_KIND_STRING, UInt32(OBJSTORE_PROPERTY_NULLABLE)))
                if embedded.contains(cls) {
                    try ok(objstore_schema_set_class_flags(schema, text(cls), UInt32(OBJSTORE_CLASS_EMBEDDED)))
                }
            }
            try ok(
                objstore_schema_add_link_collection(
                    schema, text("Book"), text("pages"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Page"), 0))
            try ok(objstore_schema_add_link(schema, text("Page"), text("part"), text("Part"), 0))
            try ok(
                objstore_schema_add_link_collection(
                    schema, text("Part"), text("pages"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, text("Page"),
                    UInt32(OBJSTORE_PROPERTY_NULLABLE)))
            try ok(
                objstore_schema_add_link_collection(
                    schema, text("Part"), text("parts"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Part"), 0))
        }
        /// A book with a page, in which lies a part with another page and another part; then circles of this many
        /// objects.
        func books(_ folder: TestFolder, circle: Int) throws {
            let db = try NamedStore(folder.store) { try describe($0, embedded: []) }
            defer { db.close() }
            try writing(db.store) { tx in
                _ = try db.from(tx, "Book", ["pages": [["part": ["pages": ["a": [:]], "parts": [[:]]]]]])
                func append(_ part: objstore_object, _ other: objstore_object) throws {
                    try ok(
                        objstore_list_insert(
                            tx, objstore_collection_of(part, db["Part.parts"]), 0, [objstore_link(other)], 1))
                }
                let first = try db.from(tx, "Part", [:])
                var last = first
                for _ in 1..<circle {
                    let next = try db.from(tx, "Part", [:])
                    try append(last, next)
                    last = next
                }
                // Through another class, or not; and something that only lies in the circle.
                if circle == 3 {
                    let page = try db.from(tx, "Page", ["part": .value(objstore_link(first))])
                    try ok(
                        objstore_map_set(
                            tx, objstore_collection_of(last, db["Part.pages"]), objstore_string(text("k")),
                            objstore_link(page), nil))
                } else {
                    try append(last, first)
                }
                try append(first, try db.from(tx, "Part", [:]))
            }
        }
        for circle in 1...3 {
            let folder = TestFolder()
            try books(folder, circle: circle)
            let message = refusal(.OBJSTORE_ERR_SCHEMA_MISMATCH) {
                try open(folder.store, 2) { try describe($0, embedded: ["Page", "Part"]) }
            }
            // Of pages as of parts.
            #expect(
                message.contains(
                    circle == 3
                        ? "1 of 3 objects lie in themselves"
                        : "\(circle + 1) of \(circle + 3) objects lie in themselves"), "\(message)")
            // Where pages are no parts of parts the circle has a parent that is not embedded.
            if circle == 3 {
                _ = try ok(objstore_close(try open(folder.store, 2) { try describe($0, embedded: ["Part"]) }))
                let others = refusal(.OBJSTORE_ERR_SCHEMA_MISMATCH) {
                    try open(folder.store, 3) { try describe($0, embedded: ["Page", "Part"]) }
                }
                #expect(others.contains("Page cannot become embedded: 1 of 3 objects lie in themselves"), "\(others)")
            }
            // A migration opens the circles.
            let store = try open(
                folder.store, 4,
                { _, tx, _, _, _, _ in
                    do {
                        let tx = tx!, names = Names(tx), part = try names.cls("Part")
                        var row = objstore_row(), more = false, object = objstore_object()
                        try ok(objstore_row_init(tx, part, &row))
                        try ok(objstore_row_next(&row, &more))
                        while more {
                            try ok(objstore_row_object(&row, &object))
                            // The first two are of the book.
                            if object.key > 1 { break }
                            try ok(objstore_row_next(&row, &more))
                        }
                        try ok(objstore_delete(tx, object))
                        // What lay in it goes, too, as no object has it.
                        while true {
                            var orphans: [objstore_object] = []
                            for cls in ["Part", "Page"] {
                                let id = try names.cls(cls)
                                try ok(objstore_row_init(tx, id, &row))
                                while true {
                                    try ok(objstore_row_next(&row, &more))
                                    if !more { break }
                                    try ok(objstore_row_object(&row, &object))
                                    var all: UInt64 = 0
                                    for (owner, property) in [
                                        ("Book", "pages"), ("Page", "part"), ("Part", "pages"), ("Part", "parts"),
                                    ] {
                                        let link = try names.property(try names.cls(owner), property)
                                        var count: UInt64 = 0
                                        if objstore_incoming_count(tx, object, link, &count) == .OBJSTORE_OK {
                                            all += count
                                        }
                                    }
                                    if all == 0 { orphans.append(object) }
                                }
                            }
                            if orphans.isEmpty { return .OBJSTORE_OK }
                            for orphan in orphans { try ok(objstore_delete(tx, orphan)) }
                        }
                    } catch {
                        Issue.record("\(error)")
                        return .OBJSTORE_ERR_INTERNAL
                    }
                }
            ) { try describe($0, embedded: ["Page", "Part"]) }
            try verify(store)
            try reading(store) { view in
                for (cls, count) in [("Page", 2), ("Part", 2)] {
                    var found: UInt64 = 0
                    try ok(objstore_count(view, try Names(view).cls(cls), &found))
                    #expect(found == count, "\(cls)")
                }
            }
            try ok(objstore_close(store))
        }
    }
}
