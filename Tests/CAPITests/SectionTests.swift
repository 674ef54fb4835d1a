import CObjStore
import Testing

/// Results in sections, through the C interface.
@Suite struct SectionTests {
    /// The library calls it; it calls the test.
    private final class Asked {
        var answer: (OpaquePointer?, objstore_object) throws -> objstore_value
        var freed = 0
        var calls = 0
        init(_ answer: @escaping (OpaquePointer?, objstore_object) throws -> objstore_value) { self.answer = answer }

        static let function: objstore_section_key = { view, object, key, userdata in
            let asked = Unmanaged<Asked>.fromOpaque(userdata!).takeUnretainedValue()
            asked.calls += 1
            do {
                key!.pointee = try asked.answer(view, object)
                return .OBJSTORE_OK
            } catch let failure as Failure {
                return failure.status
            } catch { return objstore_fail(42, text("\(error)")) }
        }
        static let free: objstore_free_userdata = { Unmanaged<Asked>.fromOpaque($0!).takeRetainedValue().freed += 1 }

        func sections(_ results: OpaquePointer?, _ flags: Int = 0) throws -> OpaquePointer {
            var sections: OpaquePointer?
            try ok(
                objstore_sections_by(
                    results, UInt32(flags), Asked.function, Unmanaged.passRetained(self).toOpaque(), Asked.free,
                    &sections))
            return sections!
        }
    }

    private struct Section: Equatable {
        var key: String?
        var start: Int
        var names: [String]
        var positions: [Int]
    }

    private struct Kennel {
        let view: OpaquePointer
        let dog: objstore_class_id
        let name: objstore_property_id
        let age: objstore_property_id

        init(_ view: OpaquePointer) throws {
            self.view = view
            let names = Names(view)
            dog = try names.cls("Dog")
            (name, age) = (try names.property(dog, "name"), try names.property(dog, "age"))
        }

        func find(_ condition: String = "") throws -> OpaquePointer {
            let made = try query(view, dog, condition)
            defer { _ = objstore_query_close(made) }
            var results: OpaquePointer?
            try ok(objstore_query_find(made, view, &results))
            return results!
        }

        func name(of object: objstore_object) throws -> String {
            var buffer = objstore_buffer_init(), value = objstore_null()
            defer { _ = objstore_buffer_free(&buffer) }
            try ok(objstore_get(view, object, name, &buffer, &value))
            return string(value)!
        }

        @discardableResult
        func create(_ names: String...) throws -> [objstore_object] {
            try names.enumerated().map { age, name in
                var object = objstore_object()
                let values = [objstore_string(text(name)), objstore_int(Int64(age))]
                try ok(objstore_create(view, dog, [self.name, self.age], values, 2, &object))
                return object
            }
        }

        func list(_ sections: OpaquePointer?) throws -> [Section] {
            var count: UInt64 = 0
            try ok(objstore_sections_count(sections, &count))
            return try (0..<count).map { index in
                var buffer = objstore_buffer_init(), section = objstore_section()
                defer { _ = objstore_buffer_free(&buffer) }
                try ok(objstore_sections_at(sections, index, &buffer, &section))
                var objects = [objstore_object](repeating: objstore_object(), count: 100)
                var positions = [UInt64](repeating: 0, count: 100), got = 0
                try ok(objstore_sections_objects(sections, index, 0, &objects, &positions, 100, &got))
                #expect(got == Int(section.count))
                let key = section.key.kind == .OBJSTORE_KIND_INT ? "\(section.key.data.integer)" : string(section.key)
                return Section(
                    key: key, start: Int(section.start), names: try objects[..<got].map { try name(of: $0) },
                    positions: positions[..<got].map { Int($0) })
            }
        }
    }

    private static func made(
        _ results: OpaquePointer?, _ key: String, _ flags: Int = 0, _ arguments: [objstore_value] = []
    ) throws -> OpaquePointer {
        var sections: OpaquePointer?
        try ok(objstore_sections_parse(results, text(key), arguments, arguments.count, UInt32(flags), &sections))
        return sections!
    }

    @Test("A104: dogs by their first letter") func a104() throws {
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        try writing(store) { tx in try Kennel(tx).create("Rex", "Wolfie", "Fido", "Spot") }
        try reading(store) { view in
            let kennel = try Kennel(view), results = try kennel.find("SORT(name ASC)")
            let sections = try Self.made(results, "name", OBJSTORE_SECTIONS_FIRST_LETTER)
            let asked = Asked { view, object in objstore_string(text(String(try kennel.name(of: object).first!))) }
            for each in [sections, try asked.sections(results)] {
                let list = try kennel.list(each)
                #expect(list.count == 4 && list.map(\.key) == ["F", "R", "S", "W"])
                #expect(list.map(\.names) == [["Fido"], ["Rex"], ["Spot"], ["Wolfie"]])
                try ok(objstore_sections_close(each))
            }
            #expect(asked.calls == 4 && asked.freed == 1)
        }
    }

    @Test func ordersAndPlaces() throws {
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        let all = try writing(store) { tx in try Kennel(tx).create("b", "a", "C", "A", "b", "", "B") }
        try reading(store) { view in
            let kennel = try Kennel(view), results = try kennel.find(), letter = OBJSTORE_SECTIONS_FIRST_LETTER
            #expect(
                try kennel.list(try Self.made(results, "name", letter)) == [
                    Section(key: "B", start: 0, names: ["b", "b", "B"], positions: [0, 4, 6]),
                    Section(key: "A", start: 3, names: ["a", "A"], positions: [1, 3]),
                    Section(key: "C", start: 5, names: ["C"], positions: [2]),
                    Section(key: "", start: 6, names: [""], positions: [5]),
                ])
            let ascending = try Self.made(results, "name", letter | OBJSTORE_SECTIONS_ASCENDING)
            #expect(try kennel.list(ascending).map(\.key) == ["", "A", "B", "C"])
            let descending = try Self.made(results, "name", OBJSTORE_SECTIONS_DESCENDING)
            #expect(try kennel.list(descending).map(\.key) == ["b", "a", "C", "B", "A", ""])
            let pairs = try Self.made(results, "age / $0", 0, [objstore_int(2)])
            #expect(try kennel.list(pairs).map(\.key) == ["0", "1", "2", "3"])

            var section: UInt64 = 9, index: UInt64 = 9, found = false
            for (number, list) in try kennel.list(ascending).enumerated() {
                try ok(objstore_sections_find_key(ascending, objstore_string(text(list.key!)), &section, &found))
                #expect(found && section == number)
                for (place, position) in list.positions.enumerated() {
                    try ok(objstore_sections_find_position(ascending, UInt64(position), &section, &index, &found))
                    #expect(found && section == number && index == place)
                    try ok(objstore_sections_find_object(ascending, all[position], &section, &index, &found))
                    #expect(found && section == number && index == place)
                }
            }
            (section, index) = (9, 9)
            for key in [objstore_string(text("b")), objstore_null(), objstore_int(1), objstore_link(all[0])] {
                try ok(objstore_sections_find_key(ascending, key, &section, &found))
                #expect(!found && section == 9)
            }
            var none = all[0]
            none.key = 4711
            try ok(objstore_sections_find_object(ascending, none, &section, &index, &found))
            #expect(!found && section == 9 && index == 9)

            // A part of a section.
            var objects = [objstore_object](repeating: objstore_object(), count: 2), got = 0
            let bs = try Self.made(results, "name", letter)
            try ok(objstore_sections_objects(bs, 0, 1, &objects, nil, 2, &got))
            #expect(got == 2 && objects.map(\.key) == [all[4].key, all[6].key])
            try ok(objstore_sections_objects(bs, 0, 3, nil, nil, 2, &got))
            #expect(got == 0)
            refused(objstore_sections_objects(bs, 0, 4, nil, nil, 2, &got), .OBJSTORE_ERR_OUT_OF_RANGE)
            refused(objstore_sections_objects(bs, 4, 0, nil, nil, 2, &got), .OBJSTORE_ERR_OUT_OF_RANGE)
            var made: OpaquePointer?
            refused(objstore_sections_parse(results, text("age"), nil, 0, 3, &made), .OBJSTORE_ERR_INVALID_ARGUMENT)
            #expect(made == nil)
        }
    }

    @Test func textsOut() throws {
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        try writing(store) { tx in
            let kennel = try Kennel(tx)
            try kennel.create("Rex")
            let sections = try Self.made(try kennel.find(), "name")
            var section = objstore_section()
            try ok(objstore_sections_at(sections, 0, nil, &section))
            #expect(string(section.key) == "Rex")
            // What is lent stays while the transaction writes, until the sections are updated.
            try kennel.create("Max")
            #expect(string(section.key) == "Rex")
        }
        try reading(store) { view in
            let kennel = try Kennel(view), results = try kennel.find(), sections = try Self.made(results, "name")
            var section = objstore_section()
            refused(objstore_sections_at(sections, 0, nil, &section), .OBJSTORE_ERR_WRONG_VIEW)
            try ok(objstore_sections_at(try Self.made(results, "age"), 0, nil, &section))
        }
        try frozen(store) { view in
            let kennel = try Kennel(view), sections = try Self.made(try kennel.find(), "name")
            var section = objstore_section()
            try ok(objstore_sections_at(sections, 1, nil, &section))
            #expect(string(section.key) == "Max" && section.start == 1 && section.count == 1)
        }
    }

    @Test func updates() throws {
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        try writing(store) { tx in
            let kennel = try Kennel(tx), made = try kennel.create("Rex", "Max", "Rex"), results = try kennel.find()
            let sections = try Self.made(results, "name")
            var changed = true
            try ok(objstore_sections_update(sections, &changed))
            #expect(!changed)
            // Stands still, keeps what is deleted, and then does not.
            try kennel.create("Max")
            try ok(objstore_delete(tx, made[0]))
            var count: UInt64 = 0, got = 0
            var objects = [objstore_object](repeating: objstore_object(), count: 4)
            try ok(objstore_sections_count(sections, &count))
            try ok(objstore_sections_objects(sections, 0, 0, &objects, nil, 4, &got))
            #expect(count == 2 && got == 2 && objects[0].key == made[0].key)
            var buffer = objstore_buffer_init()
            defer { _ = objstore_buffer_free(&buffer) }
            try ok(objstore_sections_read(sections, 0, 0, 4, [kennel.age], 1, &buffer))
            let rows = UnsafeRawPointer(buffer.bytes!).loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            let deleted = UnsafeRawPointer(buffer.bytes!).loadUnaligned(fromByteOffset: 56, as: UInt64.self)
            #expect(rows == 2 && deleted == 1)
            // Made of results that still have it, it is in no section.
            let again = try Self.made(results, "name")
            #expect(try kennel.list(again).map(\.positions) == [[1], [2]])
            var section: UInt64 = 0, index: UInt64 = 0, found = true
            try ok(objstore_sections_find_position(again, 0, &section, &index, &found))
            #expect(!found)
            try ok(objstore_sections_find_object(again, made[0], &section, &index, &found))
            #expect(!found)
            try ok(objstore_sections_update(sections, &changed))
            #expect(changed)
            #expect(try kennel.list(sections).map(\.names) == [["Max", "Max"], ["Rex"]])
            try ok(objstore_results_count(results, &count))
            #expect(count == 3)
            // Another value alone is a change, too.
            try ok(objstore_set(tx, made[1], kennel.name, objstore_string(text("Ally"))))
            try ok(objstore_sections_update(sections, &changed))
            #expect(changed)
            #expect(try kennel.list(sections).map(\.key) == ["Ally", "Rex", "Max"])
            // The results may go.
            try ok(objstore_results_close(results))
            try ok(objstore_sections_update(sections, &changed))
            #expect(!changed)
        }
    }

    @Test func ofNothing() throws {
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        try reading(store) { view in
            let kennel = try Kennel(view), results = try kennel.find(), asked = Asked { _, _ in objstore_null() }
            for sections in [try Self.made(results, "name"), try asked.sections(results, OBJSTORE_SECTIONS_DESCENDING)]
            {
                var section = objstore_section(), index: UInt64 = 0, number: UInt64 = 0, found = true
                #expect(try kennel.list(sections).isEmpty)
                refused(objstore_sections_at(sections, 0, nil, &section), .OBJSTORE_ERR_OUT_OF_RANGE)
                try ok(objstore_sections_find_key(sections, objstore_null(), &number, &found))
                #expect(!found)
                refused(
                    objstore_sections_find_position(sections, 0, &number, &index, &found), .OBJSTORE_ERR_OUT_OF_RANGE)
            }
            #expect(asked.calls == 0)
        }
    }

    // MARK: Functions

    @Test func answersOfFunctions() throws {
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        let all = try writing(store) { tx in try Kennel(tx).create("a", "b", "c", "d", "e", "f", "g", "h") }
        let other = try openStore(nil, [dogs])
        defer { _ = objstore_close(other) }
        let foreign = try writing(other) { tx in try Kennel(tx).create("x")[0] }
        try reading(store) { view in
            let kennel = try Kennel(view), results = try kennel.find()
            // Equal numbers are one key, and so is NaN; null comes first, then by kinds.
            let answers = [
                objstore_int(1), objstore_double(.nan), objstore_double(1), objstore_null(), objstore_float(.nan),
                objstore_bool(true), objstore_link(all[0]), objstore_float(1),
            ]
            let asked = Asked { _, object in answers[all.firstIndex { $0.key == object.key }!] }
            var sections = try asked.sections(results)
            #expect(try kennel.list(sections).map(\.positions) == [[0, 2, 7], [1, 4], [3], [5], [6]])
            sections = try asked.sections(results, OBJSTORE_SECTIONS_ASCENDING)
            #expect(try kennel.list(sections).map(\.positions) == [[3], [5], [1, 4], [0, 2, 7], [6]])
            var section = objstore_section()
            try ok(objstore_sections_at(sections, 4, nil, &section))
            #expect(section.key.kind == .OBJSTORE_KIND_LINK && section.key.data.link.key == all[0].key)

            for (answer, flags, status) in [
                (objstore_link(foreign), 0, .OBJSTORE_ERR_WRONG_STORE),
                (objstore_string(objstore_text_of("\u{ff}", 1)), 0, .OBJSTORE_ERR_INVALID_UTF8),
                (objstore_string(objstore_text_of(nil, 3)), 0, .OBJSTORE_ERR_INVALID_ARGUMENT),
                (objstore_int(1), OBJSTORE_SECTIONS_FIRST_LETTER, .OBJSTORE_ERR_WRONG_TYPE),
                (objstore_time(0, -1), 0, .OBJSTORE_ERR_OUT_OF_RANGE),
                (Self.of(kind: .OBJSTORE_KIND_LIST), 0, .OBJSTORE_ERR_WRONG_TYPE),
                (Self.of(kind: objstore_kind(rawValue: 99)!), 0, .OBJSTORE_ERR_WRONG_TYPE),
            ] as [(objstore_value, Int, objstore_status)] {
                let asked = Asked { _, _ in answer }
                var sections: OpaquePointer? = results
                let pointer = Unmanaged.passRetained(asked).toOpaque()
                let message = refused(
                    objstore_sections_by(results, UInt32(flags), Asked.function, pointer, Asked.free, &sections), status
                )
                #expect(sections == nil && asked.freed == 1 && message.hasPrefix("function: "), "\(message)")
            }
        }
    }

    private static func of(kind: objstore_kind) -> objstore_value {
        var value = objstore_null()
        value.kind = kind
        return value
    }

    @Test func failingFunctions() throws {
        struct Refusal: Error {}
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        try writing(store) { tx in
            let kennel = try Kennel(tx)
            try kennel.create("a", "b")
            let results = try kennel.find(), asked = Asked { _, object in objstore_int(object.key) }
            let sections = try asked.sections(results), before = try kennel.list(sections)
            asked.answer = { _, _ in throw Refusal() }
            refused(objstore_sections_update(sections, nil), .OBJSTORE_ERR_CALLBACK)
            var error = objstore_error_init()
            try ok(objstore_last_error(&error))
            #expect(error.callback_code == 42 && string(error.message) == "Refusal()")
            asked.answer = { _, _ in
                throw Failure(status: objstore_status(rawValue: 10_007)!, description: "")
            }
            refused(objstore_sections_update(sections, nil), .OBJSTORE_ERR_CALLBACK)
            try ok(objstore_last_error(&error))
            #expect(error.callback_code == 10_007)
            #expect(try kennel.list(sections) == before && asked.freed == 0)
            try ok(objstore_sections_close(sections))
            #expect(asked.freed == 1)
            refused(objstore_sections_update(sections, nil), .OBJSTORE_ERR_CLOSED_HANDLE)
        }
    }

    /// What can never end is refused; everything else works, writing included.
    @Test func callsOfFunctions() throws {
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        try writing(store) { tx in
            let kennel = try Kennel(tx), all = try kennel.create("a", "b", "c"), results = try kennel.find()
            nonisolated(unsafe) var own: OpaquePointer?
            let asked = Asked { view, object in
                refused(objstore_view_close(view), .OBJSTORE_ERR_IN_CALLBACK)
                refused(objstore_commit(view, nil), .OBJSTORE_ERR_IN_CALLBACK)
                refused(objstore_cancel(view), .OBJSTORE_ERR_IN_CALLBACK)
                refused(objstore_close(store), .OBJSTORE_ERR_IN_CALLBACK)
                if own == nil {
                    refused(objstore_results_close(results), .OBJSTORE_ERR_IN_CALLBACK)
                } else {
                    refused(objstore_sections_update(own, nil), .OBJSTORE_ERR_IN_CALLBACK)
                    refused(objstore_sections_close(own), .OBJSTORE_ERR_IN_CALLBACK)
                }
                if object.key == all[0].key {
                    // The next one is not asked about any more, and the new one not yet.
                    if own == nil { try ok(objstore_delete(view, all[1])) }
                    try kennel.create("d")
                }
                return objstore_string(text(try kennel.name(of: object)))
            }
            own = try asked.sections(results)
            #expect(try kennel.list(own).map(\.key) == ["a", "c"] && asked.calls == 2)
            var changed = false
            try ok(objstore_sections_update(own, &changed))
            #expect(try kennel.list(own).map(\.key) == ["a", "c", "d"] && changed && asked.calls == 5)
        }
        let left = try reading(store) { view in try keys(Kennel(view).find()) }
        #expect(left.count == 4)
    }

    @Test func handles() throws {
        let store = try openStore(nil, [dogs])
        var sections: OpaquePointer?, count: UInt64 = 0
        let asked = Asked { _, _ in objstore_null() }
        try reading(store) { view in
            let kennel = try Kennel(view), results = try kennel.find()
            sections = try asked.sections(results)
            let message = refused(objstore_results_count(sections, &count), .OBJSTORE_ERR_WRONG_KIND)
            #expect(message == "results is sections, not results" || message.contains("sections"))
            refused(objstore_sections_count(results, &count), .OBJSTORE_ERR_WRONG_KIND)
            #expect(asked.freed == 0)
        }
        // They end with the view.
        refused(objstore_sections_count(sections, &count), .OBJSTORE_ERR_CLOSED_HANDLE)
        #expect(asked.freed == 1)
        try ok(objstore_sections_close(nil))
        _ = objstore_close(store)
    }
}
