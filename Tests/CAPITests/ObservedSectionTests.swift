import CObjStore
import Testing

// Results in sections that are observed, through the C interface.

/// What an observer of sections was told: `S-1(R) S+1(W) -[0][1] +[1][1] ~[0][0]>[0][0] @[1][0]>[1][0]`.
private final class Told {
    private(set) var lines: [String] = []
    var freed = 0
    var kept: OpaquePointer?
    /// Keeps the next change set.
    var keeps = false

    static let handler: objstore_change_handler = { changes, userdata in
        let told = Unmanaged<Told>.fromOpaque(userdata!).takeUnretainedValue()
        do {
            told.lines.append(try describe(changes))
            if told.keeps { try ok(objstore_changes_keep(changes, &told.kept)) }
        } catch { told.lines.append("\(error)") }
        return .OBJSTORE_OK
    }
    static let free: objstore_free_userdata = { Unmanaged<Told>.fromOpaque($0!).takeUnretainedValue().freed += 1 }

    func take() -> [String] {
        defer { lines = [] }
        return lines
    }

    private static func list(_ changes: OpaquePointer?, _ change: objstore_change) throws -> [String] {
        var objects: UnsafePointer<objstore_object>?, indices: UnsafePointer<UInt64>?, count = 0
        var sections: UnsafePointer<UInt64>?, sectionCount = 0
        try ok(objstore_changes_list(changes, change, &objects, &indices, &count))
        try ok(objstore_changes_sections(changes, change, &sections, &sectionCount))
        #expect(sectionCount == count && (count == 0 || objects != nil))
        return (0..<count).map { "[\(sections![$0])][\(indices![$0])]" }
    }

    private static func sections(_ changes: OpaquePointer?, _ change: objstore_change, _ sign: String) throws -> String
    {
        var objects: UnsafePointer<objstore_object>?, numbers: UnsafePointer<UInt64>?, count = 0
        var keys: UnsafePointer<objstore_value>?, keyCount = 0
        try ok(objstore_changes_list(changes, change, &objects, &numbers, &count))
        try ok(objstore_changes_keys(changes, change, &keys, &keyCount))
        #expect(objects == nil && keyCount == count)
        refused(objstore_changes_sections(changes, change, &numbers, &keyCount), .OBJSTORE_ERR_INVALID_ARGUMENT)
        return (0..<count).map { index in
            let key = keys![index]
            let text = key.kind == .OBJSTORE_KIND_INT ? "\(key.data.integer)" : string(key) ?? "null"
            return "S\(sign)\(numbers![index])(\(text))"
        }.joined(separator: " ")
    }

    static func describe(_ changes: OpaquePointer?) throws -> String {
        var info = objstore_changes_info_init(), parts: [String] = []
        try ok(objstore_changes_get_info(changes, &info))
        if info.flags & UInt32(OBJSTORE_CHANGES_INITIAL) != 0 { parts.append("initial") }
        parts.append(try sections(changes, .OBJSTORE_SECTION_DELETIONS, "-"))
        parts.append(try sections(changes, .OBJSTORE_SECTION_INSERTIONS, "+"))
        parts += try list(changes, .OBJSTORE_DELETIONS).map { "-" + $0 }
        parts += try list(changes, .OBJSTORE_INSERTIONS).map { "+" + $0 }
        for (sign, before, after) in [
            ("~", objstore_change.OBJSTORE_MODIFICATIONS, objstore_change.OBJSTORE_MODIFICATIONS_AFTER),
            ("@", .OBJSTORE_MOVES, .OBJSTORE_MOVES_AFTER),
        ] { parts += zip(try list(changes, before), try list(changes, after)).map { "\(sign)\($0)>\($1)" } }
        return parts.filter { !$0.isEmpty }.joined(separator: " ")
    }
}

@Suite struct ObservedSectionTests {
    private final class Kennel {
        let store: OpaquePointer
        let dog: objstore_class_id
        let name: objstore_property_id
        let age: objstore_property_id
        var tokens: [OpaquePointer?] = []

        init() throws {
            store = try openStore(nil, [dogs])
            var view: OpaquePointer?
            try ok(objstore_view_open(store, &view))
            let names = Names(view!)
            dog = try names.cls("Dog")
            (name, age) = (try names.property(dog, "name"), try names.property(dog, "age"))
            try ok(objstore_view_close(view))
        }

        @discardableResult
        func create(_ dogs: (String, Int64)...) throws -> [objstore_object] {
            try writing(store) { tx in
                try dogs.map { name, age in
                    var object = objstore_object()
                    let values = [objstore_string(text(name)), objstore_int(age)]
                    try ok(objstore_create(tx, dog, [self.name, self.age], values, 2, &object))
                    return object
                }
            }
        }

        func set(_ object: objstore_object, _ property: objstore_property_id, _ value: objstore_value) throws {
            try writing(store) { tx in try ok(objstore_set(tx, object, property, value)) }
        }

        /// The view and all that comes from it is closed at once.
        func observe(
            _ condition: String, _ key: String, _ sectionFlags: Int = 0, one: objstore_value? = nil,
            paths: [String]? = nil, flags: Int = 0
        ) throws -> Told {
            let told = Told()
            var view: OpaquePointer?, results: OpaquePointer?, sections: OpaquePointer?, token: OpaquePointer?
            try ok(objstore_view_open(store, &view))
            let made = try query(view!, dog, condition)
            try ok(objstore_query_find(made, view, &results))
            try ok(objstore_sections_parse(results, text(key), nil, 0, UInt32(sectionFlags), &sections))
            var texts = (paths ?? []).map { text($0) }
            let isSome = paths != nil, count = texts.count
            texts.append(text(""))
            let status = withUnsafePointer(to: one ?? objstore_null()) { key in
                objstore_sections_observe(
                    sections, one == nil ? nil : key, isSome ? texts : nil, count, UInt32(flags), Told.handler,
                    Unmanaged.passUnretained(told).toOpaque(), Told.free, &token)
            }
            try ok(status)
            try ok(objstore_query_close(made))
            try ok(objstore_view_close(view))
            tokens.append(token)
            return told
        }

        func deliver() throws { try ok(objstore_deliver(store, nil)) }

        func close() throws {
            for token in tokens { try ok(objstore_token_close(token)) }
            try ok(objstore_close(store))
        }
    }

    @Test("D14: sections come and go, and objects have index paths") func d14() throws {
        let kennel = try Kennel(), dogs = try kennel.create(("Fido", 1), ("Flix", 2), ("Rex", 3))
        let told = try kennel.observe(
            "", "name", OBJSTORE_SECTIONS_FIRST_LETTER | OBJSTORE_SECTIONS_ASCENDING, flags: OBJSTORE_OBSERVE_INITIAL)
        try kennel.deliver()
        #expect(told.take() == ["initial"])
        try writing(kennel.store) { tx in
            try ok(objstore_delete(tx, dogs[1]))
            try ok(objstore_set(tx, dogs[2], kennel.name, objstore_string(text("Willy"))))
            var object = objstore_object()
            let values = [objstore_string(text("Wolfie")), objstore_int(4)]
            try ok(objstore_create(tx, kennel.dog, [kennel.name, kennel.age], values, 2, &object))
        }
        try kennel.deliver()
        #expect(told.take() == ["S-1(R) S+1(W) -[0][1] +[1][1] @[1][0]>[1][0]"])
        try kennel.set(dogs[0], kennel.age, objstore_int(9))
        try kennel.deliver()
        #expect(told.take() == ["~[0][0]>[0][0]"])
        try kennel.set(dogs[0], kennel.name, objstore_string(text("Anton")))
        try kennel.deliver()
        #expect(told.take() == ["S-0(F) S+0(A) @[0][0]>[0][0]"])
        try kennel.close()
        #expect(told.freed == 1)
    }

    /// An object that becomes the first of the results takes its section along.
    @Test func sectionsInTheOrderOfAppearance() throws {
        let kennel = try Kennel(), dogs = try kennel.create(("a", 1), ("b", 2), ("a", 3), ("c", 4))
        let told = try kennel.observe("SORT(age ASC)", "name", paths: [])
        try kennel.set(dogs[1], kennel.age, objstore_int(0))
        try kennel.deliver()
        // One of the two stands elsewhere: a goes behind b.
        #expect(told.take() == ["S-0(a) S+1(a) @[0][0]>[1][0] @[0][1]>[1][1]"])
        try kennel.set(dogs[2], kennel.age, objstore_int(5))
        try kennel.deliver()
        #expect(told.take() == [])
        try kennel.set(dogs[0], kennel.age, objstore_int(6))
        try kennel.deliver()
        #expect(told.take() == ["S-1(a) S+2(a) @[1][0]>[2][1] @[1][1]>[2][0]"])
        try kennel.close()
    }

    @Test func keyPathsAndTheKeyItself() throws {
        let kennel = try Kennel(), dogs = try kennel.create(("a", 1), ("b", 1), ("c", 2))
        let told = try kennel.observe("", "age", OBJSTORE_SECTIONS_ASCENDING, paths: ["name"])
        // The last of a section becomes the first of the next, and stands where it stood.
        try kennel.set(dogs[1], kennel.age, objstore_int(2))
        try kennel.deliver()
        #expect(told.take() == ["@[0][1]>[1][0]"])
        try kennel.set(dogs[1], kennel.age, objstore_int(2))
        try kennel.deliver()
        #expect(told.take() == [])
        try kennel.set(dogs[1], kennel.name, objstore_string(text("x")))
        try kennel.deliver()
        #expect(told.take() == ["~[1][0]>[1][0]"])
        try kennel.close()
    }

    @Test func oneSection() throws {
        let kennel = try Kennel(), dogs = try kennel.create(("a", 1), ("b", 2), ("c", 2))
        let told = try kennel.observe("", "age", OBJSTORE_SECTIONS_ASCENDING, one: objstore_int(2))
        func set(_ index: Int, _ age: Int64) throws -> [String] {
            try kennel.set(dogs[index], kennel.age, objstore_int(age))
            try kennel.deliver()
            return told.take()
        }
        #expect(try set(0, 3) == [], "it stands elsewhere among the others")
        #expect(try set(0, 2) == ["+[0][0]"])
        #expect(try set(1, 1) == ["-[0][1]"])
        #expect(try set(0, 1) == ["-[1][0]"])
        #expect(try set(2, 1) == ["S-1(2) -[1][0]"])
        #expect(try set(2, 7) == [])
        #expect(try set(1, 2) == ["S+1(2) +[1][0]"])
        try kennel.close()
    }

    @Test func keptChangeSetsAndThoseOfOthers() throws {
        let kennel = try Kennel(), dogs = try kennel.create(("a", 1), ("b", 2))
        let told = try kennel.observe("", "name")
        told.keeps = true
        try kennel.set(dogs[0], kennel.name, objstore_string(text("a long name, which lies in a page of its own")))
        try kennel.deliver()
        let line = told.take()
        told.keeps = false
        for token in kennel.tokens { try ok(objstore_token_close(token)) }
        kennel.tokens = []
        #expect(try Told.describe(told.kept) == line[0] && line[0].contains("which lies"))
        try ok(objstore_changes_close(told.kept))

        let other = Told()
        var token: OpaquePointer?
        try ok(
            objstore_observe(
                kennel.store, kennel.dog, 0,
                { changes, userdata in
                    var numbers: UnsafePointer<UInt64>?, objects: UnsafePointer<objstore_object>?, count = 0
                    var keys: UnsafePointer<objstore_value>?
                    let wrong = objstore_status.OBJSTORE_ERR_WRONG_TYPE
                    refused(objstore_changes_sections(changes, .OBJSTORE_DELETIONS, &numbers, &count), wrong)
                    refused(objstore_changes_keys(changes, .OBJSTORE_SECTION_DELETIONS, &keys, &count), wrong)
                    refused(
                        objstore_changes_list(changes, .OBJSTORE_SECTION_INSERTIONS, &objects, &numbers, &count), wrong)
                    refused(objstore_changes_keys(changes, .OBJSTORE_DELETIONS, &keys, &count), wrong)
                    return .OBJSTORE_OK
                }, Unmanaged.passUnretained(other).toOpaque(), Told.free, &token))
        try kennel.set(dogs[0], kennel.age, objstore_int(3))
        try kennel.deliver()
        try ok(objstore_token_close(token))
        #expect(other.freed == 1)
        try kennel.close()
    }

    /// The library asks it in a view of the version in which the observer looks.
    private final class Asked {
        let age: objstore_property_id
        var freed = 0
        var views: Set<OpaquePointer> = []
        var status = objstore_status.OBJSTORE_OK
        init(_ age: objstore_property_id) { self.age = age }

        static let function: objstore_section_key = { view, object, key, userdata in
            let asked = Unmanaged<Asked>.fromOpaque(userdata!).takeUnretainedValue()
            asked.views.insert(view!)
            if asked.status != .OBJSTORE_OK { return asked.status }
            var value = objstore_null()
            let status = objstore_get(view, object, asked.age, nil, &value)
            refused(objstore_view_close(view), .OBJSTORE_ERR_IN_CALLBACK)
            key!.pointee = objstore_int(value.data.integer / 10)
            return status
        }
        static let free: objstore_free_userdata = { Unmanaged<Asked>.fromOpaque($0!).takeUnretainedValue().freed += 1 }
    }

    @Test func sectionsByAFunction() throws {
        let kennel = try Kennel(), dogs = try kennel.create(("a", 1), ("b", 12)), asked = Asked(kennel.age)
        let told = Told()
        var view: OpaquePointer?, results: OpaquePointer?, sections: OpaquePointer?, token: OpaquePointer?
        try ok(objstore_view_open(kennel.store, &view))
        let made = try query(view!, kennel.dog, "")
        try ok(objstore_query_find(made, view, &results))
        try ok(
            objstore_sections_by(
                results, 0, Asked.function, Unmanaged.passUnretained(asked).toOpaque(), Asked.free, &sections))
        try ok(
            objstore_sections_observe(
                sections, nil, nil, 0, 0, Told.handler, Unmanaged.passUnretained(told).toOpaque(), Told.free, &token))
        try ok(objstore_query_close(made))
        try ok(objstore_view_close(view))
        #expect(asked.freed == 0, "the observer has it")
        try kennel.set(dogs[0], kennel.age, objstore_int(15))
        try kennel.deliver()
        #expect(told.take() == ["S-0(0) @[0][0]>[0][0]"])
        #expect(asked.views.count == 2)
        asked.status = objstore_status(rawValue: 12345)!
        try kennel.set(dogs[1], kennel.age, objstore_int(25))
        refused(objstore_deliver(kennel.store, nil), .OBJSTORE_ERR_CALLBACK)
        #expect(told.take() == [])
        asked.status = .OBJSTORE_OK
        try kennel.set(dogs[1], kennel.age, objstore_int(26))
        try kennel.deliver()
        #expect(told.take() == ["S+1(2) @[0][1]>[1][0]"])
        try ok(objstore_token_close(token))
        #expect(asked.freed == 1 && told.freed == 1)
        try kennel.close()
    }

    @Test func aViewThatHasMoved() throws {
        let kennel = try Kennel(), dogs = try kennel.create(("a", 1))
        var view: OpaquePointer?, results: OpaquePointer?, sections: OpaquePointer?, token: OpaquePointer?
        try ok(objstore_view_open(kennel.store, &view))
        let made = try query(view!, kennel.dog, "")
        try ok(objstore_query_find(made, view, &results))
        try ok(objstore_sections_parse(results, text("age"), nil, 0, 0, &sections))
        try kennel.set(dogs[0], kennel.age, objstore_int(2))
        try ok(objstore_view_refresh(view, nil))
        let told = Told(), userdata = Unmanaged.passUnretained(told).toOpaque()
        func observe() -> objstore_status {
            objstore_sections_observe(sections, nil, nil, 0, 0, Told.handler, userdata, Told.free, &token)
        }
        refused(observe(), .OBJSTORE_ERR_WRONG_VIEW)
        // The list is as new as the view, and the sections are not.
        try ok(objstore_results_update(results, nil))
        refused(observe(), .OBJSTORE_ERR_WRONG_VIEW)
        try ok(objstore_sections_update(sections, nil))
        try ok(observe())
        try ok(objstore_token_close(token))
        #expect(told.freed == 3)
        try ok(objstore_query_close(made))
        try ok(objstore_view_close(view))
        try kennel.close()
    }
}
