import CObjStore
import Foundation
import Testing

/// Five dogs, and two persons who own some of them: the data of docs/query-language.md.
struct DocumentedDogs {
    let store: OpaquePointer
    let dog: objstore_class_id
    /// By key.
    private(set) var names: [Int64: String] = [:]
    private(set) var persons: [objstore_object] = []
    private(set) var dogs: [objstore_object] = []
    /// `$0` Ann, `$1` Rex, `$2` the list {1, 7}.
    var arguments: [objstore_value] {
        [
            objstore_link(persons[0]), objstore_link(dogs[0]), objstore_list_of(2), objstore_int(1), objstore_int(7),
        ]
    }

    init() throws {
        store = try openStore(nil, try DocumentedDogs.schema())
        dog = try reading(store) { try Names($0).cls("Dog") }
        (persons, dogs) = try writing(store, DocumentedDogs.fill)
        for (object, name) in zip(dogs, ["Rex", "Ella", "bo", "Ängie", "Rexona"]) { names[object.key] = name }
    }

    private static func schema() throws -> OpaquePointer {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        let fullText = Int32(OBJSTORE_PROPERTY_FULL_TEXT)
        let person = text("Person"), dog = text("Dog"), home = text("Home")
        try ok(objstore_schema_add_class(schema, home))
        try ok(objstore_schema_set_class_flags(schema, home, UInt32(OBJSTORE_CLASS_EMBEDDED)))
        try ok(objstore_schema_add_property(schema, home, text("city"), .OBJSTORE_KIND_STRING, 0))
        try ok(
            objstore_schema_add_collection(
                schema, home, text("rooms"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_INT, 0))
        try ok(objstore_schema_add_property(schema, home, text("type"), .OBJSTORE_KIND_STRING, 0))
        try ok(
            objstore_schema_add_collection(
                schema, home, text("coordinates"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_DOUBLE, 0))
        try ok(objstore_schema_add_class(schema, person))
        let primaryKey = UInt32(OBJSTORE_PROPERTY_PRIMARY_KEY)
        try ok(objstore_schema_add_property(schema, person, text("name"), .OBJSTORE_KIND_STRING, primaryKey))
        try ok(objstore_schema_add_link(schema, person, text("home"), home, 0))
        try ok(objstore_schema_add_class(schema, dog))
        for (name, kind, flags) in [
            ("name", .OBJSTORE_KIND_STRING, fullText), ("age", .OBJSTORE_KIND_INT, nullable),
            ("weight", .OBJSTORE_KIND_DOUBLE, nullable), ("price", .OBJSTORE_KIND_DECIMAL128, nullable),
            ("born", .OBJSTORE_KIND_TIMESTAMP, nullable), ("vaccinated", .OBJSTORE_KIND_BOOL, 0),
            ("chip", .OBJSTORE_KIND_BINARY, nullable), ("note", .OBJSTORE_KIND_MIXED, 0),
        ] as [(String, objstore_kind, Int32)] {
            try ok(objstore_schema_add_property(schema, dog, text(name), kind, UInt32(flags)))
        }
        try ok(objstore_schema_add_link(schema, dog, text("owner"), person, 0))
        try ok(
            objstore_schema_add_link_collection(
                schema, dog, text("friends"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, dog, 0))
        try ok(
            objstore_schema_add_collection(
                schema, dog, text("tags"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_STRING, 0))
        try ok(
            objstore_schema_add_collection(
                schema, dog, text("toys"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_INT, 0))
        return schema!
    }

    private static func fill(_ tx: OpaquePointer) throws -> (persons: [objstore_object], dogs: [objstore_object]) {
        let names = Names(tx), person = try names.cls("Person"), dog = try names.cls("Dog")
        func create(_ cls: objstore_class_id, _ values: KeyValuePairs<String, objstore_value>) throws -> objstore_object
        {
            var object = objstore_object()
            let properties = try values.map { try names.property(cls, $0.key) }
            try ok(objstore_create(tx, cls, properties, values.map(\.value), values.count, &object))
            return object
        }
        func decimal(_ digits: String) throws -> objstore_value {
            var decimal = objstore_decimal128()
            try ok(objstore_decimal128_from_text(text(digits), &decimal))
            return objstore_decimal128_value(decimal)
        }
        func string(_ characters: String) -> objstore_value { objstore_string(text(characters)) }
        func binary(_ bytes: [UInt8]) -> objstore_value {
            let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
            memory.initialize(from: bytes, count: bytes.count)
            return objstore_binary(memory, Int64(bytes.count))
        }
        let persons = try ["Ann", "Bob"].map { try create(person, ["name": string($0)]) }
        let ann = objstore_link(persons[0]), bob = objstore_link(persons[1])
        let dogs = [
            try create(
                dog,
                [
                    "name": string("Rex"), "age": objstore_int(10), "weight": objstore_double(31.5),
                    "price": try decimal("250.00"), "born": objstore_time(1_425_198_600, 0),
                    "vaccinated": objstore_bool(true), "chip": binary([0, 0xff]), "owner": ann, "note": string("good"),
                ]),
            try create(
                dog,
                [
                    "name": string("Ella"), "age": objstore_int(1), "weight": objstore_double(8.25),
                    "price": try decimal("99.90"), "born": objstore_time(1_715_904_000, 0),
                    "vaccinated": objstore_bool(true), "chip": binary(Array("ab".utf8)), "owner": ann,
                    "note": objstore_int(3),
                ]),
            try create(dog, ["name": string("bo"), "age": objstore_int(1), "vaccinated": objstore_bool(false)]),
            try create(
                dog,
                [
                    "name": string("Ängie"), "weight": objstore_double(12), "price": try decimal("99.9"),
                    "born": objstore_time(1_582_977_600, 500_000_000), "vaccinated": objstore_bool(true), "owner": bob,
                    "note": objstore_double(3),
                ]),
            try create(
                dog,
                [
                    "name": string("Rexona"), "age": objstore_int(7), "weight": objstore_double(.nan),
                    "price": try decimal("40"), "born": objstore_time(1_539_166_210, 0),
                    "vaccinated": objstore_bool(false), "owner": bob, "note": objstore_bool(true),
                ]),
        ]
        let lives = try names.property(person, "home"), house = try names.cls("Home")
        let ids = try ["city", "type"].map { try names.property(house, $0) }
        for (owner, city, rooms, place) in [
            (0, "Bern", [12, 20, 35], [7.44, 46.95]), (1, "Rome", [], [12.5, 41.9]),
        ] as [(Int, String, [Int64], [Double])] {
            var home = objstore_object()
            let values = [string(city), string("Point")]
            try ok(objstore_create_embedded(tx, persons[owner], lives, objstore_null(), ids, values, 2, &home))
            for (name, all) in [("rooms", rooms.map { objstore_int($0) }), ("coordinates", place.map(objstore_double))]
            {
                let list = objstore_collection_of(home, try names.property(house, name))
                try ok(objstore_list_insert(tx, list, 0, all, all.count))
            }
        }
        let friends = try names.property(dog, "friends")
        for (owner, others) in [(0, [1, 2]), (1, [0]), (3, [0, 0]), (4, [2])] {
            let links = others.map { objstore_link(dogs[$0]) }
            try ok(objstore_list_insert(tx, objstore_collection_of(dogs[owner], friends), 0, links, links.count))
        }
        let tags = try names.property(dog, "tags"), toys = try names.property(dog, "toys")
        for (owner, all) in [(0, ["big", "old"]), (2, ["big"])] {
            try ok(objstore_list_insert(tx, objstore_collection_of(dogs[owner], tags), 0, all.map(string), all.count))
        }
        for (owner, key, count) in [(0, "ball", 2), (0, "bone", 5), (1, "ball", 1), (4, "bone", 1)] {
            let map = objstore_collection_of(dogs[owner], toys)
            try ok(objstore_map_set(tx, map, string(key), objstore_int(Int64(count)), nil))
        }
        return (persons, dogs)
    }
}

/// docs/query-language.md: every example finds what stands behind it, also when it is written as a text and read again.
@Suite struct QueryDocumentTests {
    private struct Example {
        let line: Int
        let query: String
        /// `Rex, Ella`, `nothing`, or a status, perhaps with a position.
        let expected: String
    }

    /// - Parameter kind: `query`, or `table`.
    private func examples(_ kind: String = "query") throws -> [Example] {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../docs/query-language.md")
        var examples: [Example] = [], isInside = false
        for (index, line) in try String(contentsOf: path, encoding: .utf8).components(separatedBy: "\n").enumerated() {
            if line.hasPrefix("```") {
                isInside = line == "```\(kind)"
            } else if isInside {
                let parts = line.components(separatedBy: "#")
                examples.append(
                    Example(
                        line: index + 1, query: parts.dropLast().joined(separator: "#").trimmingCharacters(in: [" "]),
                        expected: parts.last!.trimmingCharacters(in: [" "])))
            }
        }
        return examples
    }

    @Test func examplesFindWhatTheDocumentSays() throws {
        let data = try DocumentedDogs(), examples = try examples()
        defer { _ = objstore_close(data.store) }
        #expect(examples.count > 100)
        try frozen(data.store) { view in
            for example in examples {
                var query: OpaquePointer?, error = objstore_error_init()
                let status = objstore_query_parse(
                    view, data.dog, text(example.query), data.arguments, data.arguments.count, &query)
                defer { _ = objstore_query_close(query) }
                let place: Comment = "line \(example.line): \(example.query)"
                if status == .OBJSTORE_OK {
                    let keys = try found(query!, view)
                    expect((keys.isEmpty ? "nothing" : name(keys, data)) == example.expected, place)
                    try again(query!, keys, view, data, place)
                } else {
                    try ok(objstore_last_error(&error))
                    let told = String(cString: objstore_status_name(status)).dropFirst("OBJSTORE_ERR_".count)
                    let expected = example.expected.split(separator: " ")
                    expect(expected.first == told, place)
                    expect(expected.count == 1 || expected[1] == "\(error.position)", place)
                    expect(error.position >= 0 && error.position <= example.query.utf8.count, place)
                    expect(String(cString: objstore_last_message()).hasPrefix("text: "), place)
                }
            }
        }
    }

    @Test func tablesAreWhatTheDocumentSays() throws {
        let data = try DocumentedDogs(), examples = try examples("table")
        defer { _ = objstore_close(data.store) }
        #expect(examples.count > 15)
        try frozen(data.store) { view in
            for example in examples {
                let place: Comment = "line \(example.line): \(example.query)"
                var query: OpaquePointer?, error = objstore_error_init()
                let status = objstore_query_parse(view, data.dog, text(example.query), nil, 0, &query)
                defer { _ = objstore_query_close(query) }
                guard status == .OBJSTORE_OK else {
                    try ok(objstore_last_error(&error))
                    let told = String(cString: objstore_status_name(status)).dropFirst("OBJSTORE_ERR_".count)
                    expect("\(told) \(error.position)" == example.expected, place)
                    continue
                }
                let rows = try rows(query!, view)
                expect((rows.isEmpty ? "nothing" : rows) == example.expected, place)
                let again = try CAPITests.query(view, data.dog, try written(query!))
                defer { _ = objstore_query_close(again) }
                expect(try self.rows(again, view) == rows, place)
                var count: UInt64 = 0
                expect(objstore_query_count(query, view, &count) == .OBJSTORE_ERR_INVALID_QUERY, place)
            }
        }
    }

    @Test(arguments: ["rooms", "tags"]) func valuesAreWhatTheDocumentSays(_ name: String) throws {
        let data = try DocumentedDogs(), examples = try examples("values \(name)")
        defer { _ = objstore_close(data.store) }
        #expect(examples.count > 3)
        try frozen(data.store) { view in
            let names = Names(view), isOfDog = name == "tags"
            let cls = try isOfDog ? data.dog : names.cls("Home")
            var owner = data.dogs[0], found = false
            if !isOfDog {
                var home = objstore_value()
                let lives = try names.property(try names.cls("Person"), "home")
                try ok(objstore_get(view, data.persons[0], lives, nil, &home))
                (owner, found) = (home.data.link, true)
            }
            #expect(found != isOfDog)
            let collection = objstore_collection_of(owner, try names.property(cls, name))
            for example in examples {
                let place: Comment = "line \(example.line): \(example.query)"
                var query: OpaquePointer?, error = objstore_error_init()
                let status = objstore_query_values(
                    view, collection, text(example.query), data.arguments, data.arguments.count, &query)
                defer { _ = objstore_query_close(query) }
                guard status == .OBJSTORE_OK else {
                    try ok(objstore_last_error(&error))
                    let told = String(cString: objstore_status_name(status)).dropFirst("OBJSTORE_ERR_".count)
                    expect("\(told) \(error.position)" == example.expected, place)
                    let message = String(cString: objstore_last_message())
                    expect(message.contains(isOfDog ? "Dog.tags: " : "Home.rooms: "), place)
                    continue
                }
                let shown = try values(query!, view).map(shown).joined(separator: ", ")
                expect((shown.isEmpty ? "nothing" : shown) == example.expected, place)
            }
        }
    }

    /// `1, a | 2, b`.
    private func rows(_ query: OpaquePointer, _ view: OpaquePointer) throws -> String {
        var table: OpaquePointer?, rows: UInt64 = 0, columns = 0
        try ok(objstore_query_table(query, view, &table))
        defer { _ = objstore_table_close(table) }
        try ok(objstore_table_size(table, &rows, &columns))
        return try (0..<rows).map { row in
            try (0..<columns).map { column in
                var value = objstore_value()
                try ok(objstore_table_value(table, row, column, &value))
                return shown(value)
            }.joined(separator: ", ")
        }.joined(separator: " | ")
    }

    private func shown(_ value: objstore_value) -> String {
        switch value.kind {
        case .OBJSTORE_KIND_NULL: return "null"
        case .OBJSTORE_KIND_BOOL: return "\(value.data.boolean)"
        case .OBJSTORE_KIND_INT: return "\(value.data.integer)"
        case .OBJSTORE_KIND_DOUBLE:
            let number = value.data.real
            return number == number.rounded() ? "\(Int(number))" : "\(number)"
        case .OBJSTORE_KIND_DECIMAL128:
            var digits = [CChar](repeating: 0, count: 64)
            let status = objstore_decimal128_to_text(value.data.decimal128, &digits)
            return status == .OBJSTORE_OK ? String(cString: digits) : "?"
        case .OBJSTORE_KIND_TIMESTAMP:
            return "T\(value.data.timestamp.seconds):\(value.data.timestamp.nanoseconds)"
        case .OBJSTORE_KIND_STRING: return string(value) ?? "?"
        default: return "a value of kind \(value.kind)"
        }
    }

    private func name(_ keys: [Int64], _ data: DocumentedDogs) -> String {
        keys.map { data.names[$0]! }.joined(separator: ", ")
    }

    /// Without the arguments, which stand in the text.
    private func again(
        _ query: OpaquePointer, _ keys: [Int64], _ view: OpaquePointer, _ data: DocumentedDogs, _ place: Comment
    ) throws {
        let text = try written(query), second = try CAPITests.query(view, data.dog, text)
        defer { _ = objstore_query_close(second) }
        expect(try written(second) == text, place)
        expect(try found(second, view) == keys, place)
    }
}
