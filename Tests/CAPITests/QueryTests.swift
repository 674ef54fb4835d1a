import CObjStore
import CSystem
import Foundation
import Testing

private let animals = TestClass(
    name: "Animal",
    properties: [
        ("age", .OBJSTORE_KIND_INT, nullable), ("name", .OBJSTORE_KIND_STRING, nullable),
        ("weight", .OBJSTORE_KIND_DOUBLE, nullable), ("good", .OBJSTORE_KIND_BOOL, 0),
        ("rank", .OBJSTORE_KIND_INT, nullable | indexed), ("small", .OBJSTORE_KIND_FLOAT, nullable),
    ])

/// What a test put into one object.
private struct Animal {
    let key: Int64
    let age: Int64?
    let name: String?
    let weight: Double?
    let good: Bool
    var rank: Int64? { age.map { $0 * 2 } }
}

/// A store of animals with ties, nulls and holes, and the same as an array.
private struct Zoo {
    let store: OpaquePointer
    let cls: ClassOf
    private(set) var all: [Animal] = []

    init(_ path: String? = nil, count: Int = 600) throws {
        store = try openStore(path, [animals])
        let cls = try ClassOf(store, animals)
        self.cls = cls
        all = try writing(store) { tx in
            try (0..<count).map { index in
                let age = index % 7 == 3 ? nil : Int64(index * 31 % 12)
                let name = index % 11 == 5 ? nil : ["Rex", "rex", "Ella", "bo", "Ärnst", "Rexona", ""][index * 13 % 7]
                let weight = index % 5 == 1 ? nil : index % 17 == 4 ? Double.nan : Double(index * 7 % 23) / 2
                let object = try cls.create(
                    tx,
                    [
                        "age": age.map(objstore_int) ?? objstore_null(),
                        "name": name.map { objstore_string(text($0)) } ?? objstore_null(),
                        "weight": weight.map(objstore_double) ?? objstore_null(),
                        "good": objstore_bool(index % 3 == 0),
                        "rank": age.map { objstore_int($0 * 2) } ?? objstore_null(),
                    ])
                return Animal(key: object.key, age: age, name: name, weight: weight, good: index % 3 == 0)
            }
        }
        // Holes.
        try writing(store) { tx in
            for animal in all where animal.key % 13 == 6 { try ok(objstore_delete(tx, object(animal, tx))) }
        }
        all.removeAll { $0.key % 13 == 6 }
    }

    func object(_ animal: Animal, _ view: OpaquePointer) throws -> objstore_object {
        var info = objstore_info()
        info.struct_size = UInt32(MemoryLayout<objstore_info>.size)
        try ok(objstore_get_info(store, &info))
        return objstore_object(class_id: cls.id, store_tag: info.store_tag, key: animal.key)
    }

    func keys(_ condition: (Animal) -> Bool) -> [Int64] { all.filter(condition).map(\.key) }
}

private func lastError() throws -> objstore_error {
    var error = objstore_error_init()
    try ok(objstore_last_error(&error))
    return error
}

private func string(_ characters: String) -> objstore_value { objstore_string(text(characters)) }

// MARK: Making

@Suite struct QueryMakingTests {
    @Test func conditionsAgreeWithALoop() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        let conditions: [(String, (Animal) -> Bool)] = [
            ("age < 4", { $0.age.map { $0 < 4 } ?? false }), ("age != 4", { $0.age != 4 }),
            ("NOT age < 4", { !($0.age.map { $0 < 4 } ?? false) }), ("age == NULL", { $0.age == nil }),
            ("age IN {1, 5, NULL}", { $0.age == 1 || $0.age == 5 || $0.age == nil }),
            ("age IN {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20.0}", { $0.age.map { $0 < 10 } ?? false }),
            ("age BETWEEN {3, 6}", { $0.age.map { $0 >= 3 && $0 <= 6 } ?? false }),
            ("age >= 2.5", { $0.age.map { $0 > 2 } ?? false }), ("age == 2.5", { _ in false }),
            ("rank == 8", { $0.age == 4 }),
            ("rank > 10 AND good == true", { $0.good && $0.age.map { $0 > 5 } ?? false }),
            ("good == true", { $0.good }), ("good != true", { !$0.good }),
            ("name == 'Rex'", { $0.name == "Rex" }), ("name != 'Rex'", { $0.name != "Rex" }),
            ("name BEGINSWITH 'Rex'", { $0.name?.hasPrefix("Rex") ?? false }),
            ("name ENDSWITH 'x'", { $0.name?.hasSuffix("x") ?? false }),
            ("name CONTAINS 'e'", { $0.name?.contains("e") ?? false }), ("name CONTAINS ''", { $0.name != nil }),
            ("name ==[c] 'REX'", { $0.name?.lowercased() == "rex" }),
            ("name LIKE '?ex'", { ["Rex", "rex"].contains($0.name) }),
            ("name LIKE[c] 'R*A'", { $0.name == "Rexona" }), ("name BEGINSWITH[cd] 'a'", { $0.name == "Ärnst" }),
            ("weight < 3", { $0.weight.map { $0 < 3 } ?? false }), ("weight == nan", { _ in false }),
            ("NOT weight < 3", { !($0.weight.map { $0 < 3 } ?? false) }),
            ("weight > age", { a in a.weight.map { w in a.age.map { w > Double($0) } ?? false } ?? false }),
            ("age * 2 == rank", { _ in true }), ("age * 2 == rank OR age == NULL", { _ in true }),
            ("age + 1 > 5", { $0.age.map { $0 > 4 } ?? false }), ("age / 0 == NULL", { _ in true }),
            ("name.@count == 3", { $0.name?.unicodeScalars.count == 3 }),
            (
                "age < 3 AND name == 'Rex' OR good == true",
                {
                    ($0.age.map { $0 < 3 } ?? false) && $0.name == "Rex" || $0.good
                }
            ),
            (
                "!(age < 3 OR weight > 5)",
                { !(($0.age.map { $0 < 3 } ?? false) || ($0.weight.map { $0 > 5 } ?? false)) }
            ),
            ("TRUEPREDICATE", { _ in true }), ("FALSEPREDICATE", { _ in false }), ("", { _ in true }),
            (" \n\t", { _ in true }),
        ]
        for kind in 0..<2 {
            let body: (OpaquePointer) throws -> Void = { view in
                for (condition, satisfies) in conditions {
                    expect(try found(view, zoo.cls.id, condition) == zoo.keys(satisfies), "\(condition)")
                }
            }
            if kind == 0 { try frozen(zoo.store, body) } else { try writing(zoo.store, body) }
        }
    }

    /// A fraction beside a FLOAT is rounded to one.
    @Test func numbersOfOtherKinds() throws {
        let zoo = try Zoo(count: 0)
        defer { _ = objstore_close(zoo.store) }
        try writing(zoo.store) { tx in
            for (small, age) in [(0.1, 1), (0.5, Int64.max), (16_777_216, 9_007_199_254_740_993)] as [(Float, Int64)] {
                try zoo.cls.create(
                    tx, ["small": objstore_float(small), "age": objstore_int(age), "good": objstore_bool(true)])
            }
            func ask(_ condition: String, _ wanted: [Int64], _ arguments: [objstore_value] = []) throws {
                expect(try found(tx, zoo.cls.id, condition, arguments) == wanted, "\(condition)")
            }
            try ask("small == 0.1", [0])
            try ask("small == $0", [0], [objstore_double(0.1)])
            try ask("small == 0.5f", [1])
            try ask("small < 1", [0, 1])
            // No int becomes a double on the way.
            try ask("small == 16777217", [])
            try ask("age == 9007199254740992.0", [])
            try ask("age > 9007199254740992.0", [1, 2])
            try ask("age < 9223372036854775808.0", [0, 1, 2])
            try ask("age >= 9223372036854775808.0", [])
            try ask("age != 1.5", [0, 1, 2])
            try ask("age < inf AND age > -inf", [0, 1, 2])
        }
    }

    @Test func nodesAndTextsAreTheSame() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        let age = zoo.cls["age"], name = zoo.cls["name"]
        func property(_ id: objstore_property_id) -> [objstore_query_node] {
            [node(.OBJSTORE_QUERY_VARIABLE), node(.OBJSTORE_QUERY_PROPERTY, operands: 1, number: Int64(id))]
        }
        let named = [
            node(.OBJSTORE_QUERY_VARIABLE), node(.OBJSTORE_QUERY_PROPERTY, operands: 1, value: string("name")),
        ]
        let constant = { node(.OBJSTORE_QUERY_CONSTANT, value: $0) }
        func compare(_ op: objstore_operator, _ modifiers: Int = 0) -> objstore_query_node {
            node(.OBJSTORE_QUERY_COMPARE, operands: 2, choice: op.rawValue, modifiers: modifiers)
        }
        func key(_ direction: objstore_direction) -> objstore_query_node {
            node(.OBJSTORE_QUERY_SORT_KEY, operands: 1, choice: direction.rawValue)
        }
        let young = comparison(age, .OBJSTORE_LESS, objstore_int(9))
        let beginning = named + [constant(string("r")), compare(.OBJSTORE_BEGINS_WITH, OBJSTORE_IGNORES_CASE)]
        let all: [([objstore_query_node], String)] = [
            ([], ""), ([node(.OBJSTORE_QUERY_TRUTH, number: 1)], "TRUEPREDICATE"),
            ([node(.OBJSTORE_QUERY_TRUTH)], "FALSEPREDICATE"), (young, "age < 9"),
            (young + [node(.OBJSTORE_QUERY_NOT, operands: 1)], "!(age < 9)"),
            (
                young + beginning + young + [node(.OBJSTORE_QUERY_AND, operands: 3)],
                "age < 9 and name BEGINSWITH[c] \"r\" and age < 9"
            ),
            (young + beginning + [node(.OBJSTORE_QUERY_OR, operands: 2)], "age < 9 or name BEGINSWITH[c] \"r\""),
            (
                property(age) + [
                    constant(objstore_int(1)), constant(objstore_int(7)), node(.OBJSTORE_QUERY_LIST, operands: 2),
                    compare(.OBJSTORE_IN),
                ], "age IN {1, 7}"
            ),
            (
                property(age) + [
                    constant(objstore_int(1)), constant(objstore_int(7)), node(.OBJSTORE_QUERY_LIST, operands: 2),
                    compare(.OBJSTORE_BETWEEN),
                ], "age BETWEEN {1, 7}"
            ),
            (
                property(age) + [constant(objstore_int(2))] + [
                    node(
                        .OBJSTORE_QUERY_ARITHMETIC, operands: 2,
                        choice: objstore_arithmetic.OBJSTORE_MULTIPLY.rawValue),
                    constant(objstore_int(10)), compare(.OBJSTORE_GREATER),
                ], "age * 2 > 10"
            ),
            (
                property(name) + [
                    node(.OBJSTORE_QUERY_COUNT, operands: 1), constant(objstore_int(3)), compare(.OBJSTORE_EQUAL),
                ], "name.@count == 3"
            ),
            (
                young + property(age) + [key(.OBJSTORE_DESCENDING)] + named + [
                    key(.OBJSTORE_ASCENDING), node(.OBJSTORE_QUERY_SORT, operands: 2),
                ] + property(age) + [
                    node(.OBJSTORE_QUERY_DISTINCT, operands: 1), node(.OBJSTORE_QUERY_OFFSET, number: 1),
                    node(.OBJSTORE_QUERY_LIMIT, number: 5), node(.OBJSTORE_QUERY_WHOLE, operands: 5),
                ], "age < 9 SORT(age DESC, name ASC) DISTINCT(age) OFFSET(1) LIMIT(5)"
            ),
        ]
        try frozen(zoo.store) { view in
            for (nodes, text) in all {
                let parsed = try query(view, zoo.cls.id, text)
                var made: OpaquePointer?
                try ok(objstore_query_new(view, zoo.cls.id, nodes, nodes.count, &made))
                expect(try written(made!) == (text.isEmpty ? "TRUEPREDICATE" : text))
                expect(try written(parsed) == written(made!))
                expect(try found(made!, view) == found(parsed, view), "\(text)")
                try ok(objstore_query_close(made))
                try ok(objstore_query_close(parsed))
            }
        }
    }

    @Test func arguments() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        func isOneOf(_ ages: Int64...) -> [Int64] { zoo.keys { $0.age.map { ages.contains($0) } ?? false } }
        try frozen(zoo.store) { view in
            func ask(_ condition: String, _ arguments: [objstore_value]) throws -> [Int64] {
                try found(view, zoo.cls.id, condition, arguments)
            }
            let list = [objstore_list_of(3), objstore_int(1), objstore_int(4), objstore_int(9)]
            expect(try ask("age IN $0", list) == isOneOf(1, 4, 9))
            // Elements have no numbers: what follows a list is $1.
            expect(
                try ask("age IN $1 AND name == $2 AND good == $0", [objstore_bool(true)] + list + [string("Rex")])
                    == zoo.keys { $0.good && $0.name == "Rex" && [1, 4, 9].contains($0.age) })
            expect(try ask("age == $0 OR age == $0 + 1", [objstore_int(3)]) == isOneOf(3, 4))
            expect(
                try ask("age BETWEEN $0", [objstore_list_of(2), objstore_int(4), objstore_int(6)]) == isOneOf(4, 5, 6))
            expect(try ask("age IN $0", [objstore_list_of(0)]).isEmpty)
            expect(try ask("age == $0", [objstore_null()]) == zoo.keys { $0.age == nil })
            expect(try ask("$K0 == 4", [string("age")]) == isOneOf(4))
            expect(try ask("age == 4 LIMIT($0) OFFSET($1)", [objstore_int(3), objstore_int(1)]).count == 2)
            // One that is not used is no error.
            expect(try ask("age == 4", list) == isOneOf(4))
            var query: OpaquePointer?
            func refusal(_ condition: String, _ arguments: [objstore_value]) -> objstore_status {
                objstore_query_parse(view, zoo.cls.id, text(condition), arguments, arguments.count, &query)
            }
            refused(refusal("age == $1", [objstore_int(1)]), .OBJSTORE_ERR_INVALID_QUERY)
            expect(try ask("age == $0", list) == ask("age IN $0", list))
            refused(refusal("age IN $0", [objstore_int(1)]), .OBJSTORE_ERR_INVALID_QUERY)
            refused(refusal("age BETWEEN $0", list), .OBJSTORE_ERR_INVALID_QUERY)
            refused(refusal("LIMIT($0)", [objstore_int(-1)]), .OBJSTORE_ERR_INVALID_QUERY)
            refused(refusal("LIMIT($0)", [string("1")]), .OBJSTORE_ERR_INVALID_QUERY)
            var aSet = objstore_null()
            aSet.kind = .OBJSTORE_KIND_SET
            // Lists that are none.
            for bad in [[objstore_list_of(5)] + list, [objstore_list_of(-1)], [objstore_list_of(.max)]] {
                let message = refused(refusal("age IN $0", bad), .OBJSTORE_ERR_INVALID_ARGUMENT)
                #expect(message.hasPrefix("arguments: "), "\(message)")
            }
            for bad in [[objstore_list_of(1), objstore_list_of(0)], [objstore_map_of(0)], [aSet]] {
                refused(refusal("age IN $0", bad), .OBJSTORE_ERR_WRONG_TYPE)
                #expect(query == nil)
            }
            let message = refused(
                refusal("name == $0", [objstore_string(objstore_text_of("\u{ff}", -5))]),
                .OBJSTORE_ERR_INVALID_ARGUMENT)
            #expect(message.hasPrefix("arguments: "), "\(message)")
        }
    }

    /// Text, arguments and nodes may change after the call.
    @Test func everythingIsCopied() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        try frozen(zoo.store) { view in
            let condition = text("name == $0 AND age < 9"), name = text("Rex"),
                wanted = zoo.keys {
                    $0.name == "Rex" && $0.age.map { $0 < 9 } ?? false
                }
            var parsed: OpaquePointer?, made: OpaquePointer?
            try ok(objstore_query_parse(view, zoo.cls.id, condition, [objstore_string(name)], 1, &parsed))
            let nodes = comparison(zoo.cls["name"], .OBJSTORE_EQUAL, objstore_string(name))
            try ok(objstore_query_new(view, zoo.cls.id, nodes, nodes.count, &made))
            for text in [condition, name] {
                memset(UnsafeMutableRawPointer(mutating: text.bytes!), 0x7a, Int(text.length))
            }
            expect(try found(parsed!, view) == wanted)
            expect(try written(parsed!) == "name == \"Rex\" and age < 9")
            expect(try found(made!, view) == zoo.keys { $0.name == "Rex" })
            try ok(objstore_query_close(parsed))
            try ok(objstore_query_close(made))
        }
    }

    @Test func textsAreLent() throws {
        let zoo = try Zoo(count: 1)
        defer { _ = objstore_close(zoo.store) }
        try reading(zoo.store) { view in
            let query = try query(view, zoo.cls.id, "age  <  $0", [objstore_int(2)])
            var lent = objstore_text(), again = objstore_text(), buffer = objstore_buffer_init(),
                copied = objstore_text()
            defer { _ = objstore_buffer_free(&buffer) }
            try ok(objstore_query_text(query, nil, &lent))
            try ok(objstore_query_text(query, nil, &again))
            #expect(lent.bytes == again.bytes && CAPITests.string(lent) == "age < 2")
            try ok(objstore_query_text(query, &buffer, &copied))
            try ok(objstore_query_close(query))
            #expect(CAPITests.string(copied) == "age < 2" && copied.bytes![Int(copied.length)] == 0)
        }
    }
}

// MARK: Errors

@Suite struct QueryErrorTests {
    @Test func errorsSayWhere() throws {
        let zoo = try Zoo(count: 1)
        defer { _ = objstore_close(zoo.store) }
        try reading(zoo.store) { view in
            func refuse(
                _ condition: String, _ status: objstore_status, at position: Int64, _ words: String...,
                sourceLocation: SourceLocation = #_sourceLocation
            ) throws {
                var query: OpaquePointer? = view
                let message = refused(
                    objstore_query_parse(view, zoo.cls.id, text(condition), nil, 0, &query), status,
                    sourceLocation: sourceLocation)
                let error = try lastError()
                #expect(
                    query == nil && error.position == position, "\(error.position): \(message)",
                    sourceLocation: sourceLocation)
                for word in words + ["text: "] {
                    #expect(message.contains(word), "\(message)", sourceLocation: sourceLocation)
                }
            }
            try refuse("aeg < 2", .OBJSTORE_ERR_NO_SUCH_PROPERTY, at: 0, "Animal", "aeg", "did you mean age?")
            try refuse("age < 2 AND Wieght > 1", .OBJSTORE_ERR_NO_SUCH_PROPERTY, at: 12, "weight")
            try refuse("colour == 'x'", .OBJSTORE_ERR_NO_SUCH_PROPERTY, at: 0, "Animal", "colour")
            #expect(!String(cString: objstore_last_message()).contains("did you mean"))
            let error = try lastError()
            #expect(CAPITests.string(error.class_name) == "Animal" && CAPITests.string(error.property_name) == "colour")
            try refuse("age == 'x'", .OBJSTORE_ERR_WRONG_TYPE, at: 7, "Animal.age", "int", "string")
            try refuse("age == true", .OBJSTORE_ERR_WRONG_TYPE, at: 7)
            try refuse("good == 1", .OBJSTORE_ERR_WRONG_TYPE, at: 8)
            try refuse("name == age", .OBJSTORE_ERR_WRONG_TYPE, at: 5)
            try refuse("age BEGINSWITH 'x'", .OBJSTORE_ERR_WRONG_TYPE, at: 0)
            try refuse("name CONTAINS 1", .OBJSTORE_ERR_WRONG_TYPE, at: 14)
            try refuse("age == ", .OBJSTORE_ERR_INVALID_QUERY, at: 7, "the end of the query")
            try refuse("age == 1 SORT(age)", .OBJSTORE_ERR_INVALID_QUERY, at: 17, "ASC or DESC")
            try refuse("age == 1 LIMIT(-1)", .OBJSTORE_ERR_INVALID_QUERY, at: 15)
            try refuse("age === 1", .OBJSTORE_ERR_INVALID_QUERY, at: 6)
            try refuse("age == 'x", .OBJSTORE_ERR_INVALID_QUERY, at: 7, "closing quote")
            try refuse("age == '\\x'", .OBJSTORE_ERR_INVALID_QUERY, at: 8)
            try refuse("1 == 2", .OBJSTORE_ERR_INVALID_QUERY, at: 2, "constant")
            try refuse("good", .OBJSTORE_ERR_INVALID_QUERY, at: 4)
            try refuse("age.name == 1", .OBJSTORE_ERR_INVALID_QUERY, at: 4)
            try refuse("age == 1 SORT(nmae ASC)", .OBJSTORE_ERR_NO_SUCH_PROPERTY, at: 14, "did you mean name?")
            try refuse("age == 1 DISTINCT(agge)", .OBJSTORE_ERR_NO_SUCH_PROPERTY, at: 18, "did you mean age?")
            try refuse(String(repeating: "(", count: 200) + "age == 1", .OBJSTORE_ERR_INVALID_QUERY, at: 100)
            // Not one text: its bytes.
            var query: OpaquePointer?
            let bytes: [CChar] = [0x61, 0x20, -1]
            bytes.withUnsafeBufferPointer {
                refused(
                    objstore_query_parse(view, zoo.cls.id, objstore_text_of($0.baseAddress, 3), nil, 0, &query),
                    .OBJSTORE_ERR_INVALID_UTF8)
            }
            let message = refused(
                objstore_query_parse(view, 999, text("age == 1"), nil, 0, &query), .OBJSTORE_ERR_NO_SUCH_CLASS)
            #expect(message.hasPrefix("class_id"))
            // A text that a user typed is an argument, and can mean nothing else.
            let typed = try CAPITests.query(view, zoo.cls.id, "name == $0", [string("' OR TRUEPREDICATE OR '")])
            expect(try found(typed, view).isEmpty)
            try ok(objstore_query_close(typed))
        }
    }

    @Test func nodesThatAreNoQuery() throws {
        let zoo = try Zoo(count: 1)
        defer { _ = objstore_close(zoo.store) }
        let young = comparison(zoo.cls["age"], .OBJSTORE_LESS, objstore_int(9))
        func changed(_ index: Int, _ change: (inout objstore_query_node) -> Void) -> [objstore_query_node] {
            var nodes = young
            change(&nodes[index])
            return nodes
        }
        let limit = node(.OBJSTORE_QUERY_LIMIT, number: 1), whole = node(.OBJSTORE_QUERY_WHOLE, operands: 2)
        let invalid: [[objstore_query_node]] = [
            young + young, Array(young.dropLast()), Array(young.dropFirst()), [node(.OBJSTORE_QUERY_AND)],
            young + [node(.OBJSTORE_QUERY_AND, operands: 1)], young + [node(.OBJSTORE_QUERY_NOT, operands: 2)],
            changed(0) { $0.kind = 0 }, changed(0) { $0.kind = 99 }, changed(0) { $0.operands = 1 },
            changed(1) { $0.operands = .max }, changed(3) { $0.choice = 0 }, changed(3) { $0.choice = 15 },
            changed(2) { $0.choice = 1 }, changed(3) { $0.reserved = 1 }, changed(3) { $0.modifiers = 4 },
            changed(2) { $0.value.reserved = 1 },
        ]
        let meaningless: [([objstore_query_node], Int64)] = [
            ([node(.OBJSTORE_QUERY_CONSTANT, value: objstore_int(1))], 0), ([limit], 0),
            (Array(young[..<2]), 1), (young + [limit, whole, limit, whole], 5),
            (young + [node(.OBJSTORE_QUERY_LIMIT, number: -1), whole], 4), (young + young + [whole], 7),
        ]
        try reading(zoo.store) { view in
            var query: OpaquePointer?
            for (index, nodes) in invalid.enumerated() {
                query = view
                let message = refused(
                    objstore_query_new(view, zoo.cls.id, nodes, nodes.count, &query), .OBJSTORE_ERR_INVALID_ARGUMENT)
                #expect(query == nil && message.hasPrefix("nodes: "), "\(index): \(message)")
            }
            for (nodes, position) in meaningless {
                let message = refused(
                    objstore_query_new(view, zoo.cls.id, nodes, nodes.count, &query), .OBJSTORE_ERR_INVALID_QUERY)
                expect(try lastError().position == position, "\(message)")
                #expect(message.hasPrefix("nodes: "), "\(message)")
            }
            func refuse(_ nodes: [objstore_query_node], _ status: objstore_status, at position: Int64) throws {
                let message = refused(objstore_query_new(view, zoo.cls.id, nodes, nodes.count, &query), status)
                expect(try lastError().position == position && message.hasPrefix("nodes: "), "\(message)")
            }
            try refuse(changed(1) { $0.number = 0 }, .OBJSTORE_ERR_NO_SUCH_PROPERTY, at: 1)
            try refuse(changed(1) { $0.number = 1 << 40 }, .OBJSTORE_ERR_NO_SUCH_PROPERTY, at: 1)
            try refuse(changed(1) { $0.value = string("agee") }, .OBJSTORE_ERR_NO_SUCH_PROPERTY, at: 1)
            #expect(String(cString: objstore_last_message()).contains("did you mean age?"))
            try refuse(changed(2) { $0.value = string("x") }, .OBJSTORE_ERR_WRONG_TYPE, at: 2)
            try refuse(changed(2) { $0.value.kind = objstore_kind(rawValue: 77)! }, .OBJSTORE_ERR_WRONG_TYPE, at: 2)
            try refuse(changed(2) { $0.value = objstore_list_of(0) }, .OBJSTORE_ERR_WRONG_TYPE, at: 2)
            try refuse(changed(0) { $0.number = 1 }, .OBJSTORE_ERR_INVALID_QUERY, at: 0)
        }
    }

    @Test func handles() throws {
        let zoo = try Zoo(), other = try Zoo(count: 3)
        defer { _ = objstore_close(other.store) }
        let live = try liveView(zoo.store), good = try query(live, zoo.cls.id, "good == true")
        let elsewhere = try liveView(other.store)
        var results: OpaquePointer?, count: UInt64 = 0, object = objstore_object(), value = objstore_value()
        var lent = objstore_text(), buffer = objstore_buffer_init(), joined: OpaquePointer?, token: OpaquePointer?
        func ask(_ query: OpaquePointer?, _ view: OpaquePointer?) -> [objstore_status] {
            [
                objstore_query_count(query, view, &count), objstore_query_first(query, view, &object, nil),
                objstore_query_find(query, view, &results),
                objstore_query_aggregate(query, view, zoo.cls["age"], .OBJSTORE_AGGREGATE_SUM, &value),
                objstore_query_read(query, view, 1, [zoo.cls["age"]], 1, &buffer),
            ]
        }
        func all(_ statuses: [objstore_status], are status: objstore_status, _ prefix: String) {
            for (index, one) in statuses.enumerated() { #expect(one == status, "\(index): \(one.rawValue)") }
            let message = String(cString: objstore_last_message())
            #expect(message.hasPrefix(prefix), "\(message)")
        }
        // A view of another store.
        all(ask(good, elsewhere), are: .OBJSTORE_ERR_WRONG_STORE, "query")
        try writing(other.store) { tx in
            let age = other.cls["age"]
            all(
                [
                    objstore_query_set(good, tx, [age], [objstore_int(1)], 1, nil),
                    objstore_query_increment(good, tx, age, objstore_int(1), nil), objstore_query_delete(good, tx, nil),
                ], are: .OBJSTORE_ERR_WRONG_STORE, "query")
        }
        let theirs = try query(elsewhere, other.cls.id, "good == true")
        refused(objstore_query_then(good, theirs, &joined), .OBJSTORE_ERR_WRONG_STORE)
        refused(
            objstore_query_observe(good, other.store, 0, { _, _ in .OBJSTORE_OK }, nil, nil, &token),
            .OBJSTORE_ERR_WRONG_STORE)
        try ok(objstore_query_close(theirs))
        // Handles of other kinds.
        all(ask(live, live), are: .OBJSTORE_ERR_WRONG_KIND, "query")
        all(ask(good, good), are: .OBJSTORE_ERR_WRONG_KIND, "view")
        refused(objstore_query_text(live, nil, &lent), .OBJSTORE_ERR_WRONG_KIND)
        refused(objstore_view_close(good), .OBJSTORE_ERR_WRONG_KIND)
        // Closed ones. What was found stays.
        let wanted = zoo.keys(\.good)
        var kept: OpaquePointer?
        try ok(objstore_query_find(good, live, &kept))
        let frozen = try objstoreFrozen(live)
        try ok(objstore_query_close(good))
        all(ask(good, live), are: .OBJSTORE_ERR_CLOSED_HANDLE, "query")
        refused(objstore_query_text(good, nil, &lent), .OBJSTORE_ERR_CLOSED_HANDLE)
        refused(objstore_query_close(good), .OBJSTORE_ERR_CLOSED_HANDLE)
        try ok(objstore_query_close(nil))
        try writing(zoo.store) { tx in
            try ok(objstore_set(tx, zoo.object(zoo.all[0], tx), zoo.cls["good"], objstore_bool(!zoo.all[0].good)))
        }
        var changed = false, elsewhereFound: OpaquePointer?
        try ok(objstore_results_in(frozen, kept, &elsewhereFound))
        expect(try keys(elsewhereFound) == wanted)
        try ok(objstore_view_refresh(live, nil))
        try ok(objstore_results_update(kept, &changed))
        #expect(changed)
        expect(Set(try keys(kept)).symmetricDifference(wanted) == [zoo.all[0].key])
        // With the store.
        let late = try query(live, zoo.cls.id, "good == true")
        try ok(objstore_view_close(live))
        try ok(objstore_query_count(late, frozen, &count))
        try ok(objstore_view_close(frozen))
        try ok(objstore_close(zoo.store))
        refused(objstore_query_count(late, elsewhere, &count), .OBJSTORE_ERR_CLOSED_HANDLE)
        _ = objstore_buffer_free(&buffer)
    }

    private func objstoreFrozen(_ view: OpaquePointer) throws -> OpaquePointer {
        var frozen: OpaquePointer?
        try ok(objstore_view_freeze(view, &frozen))
        return frozen!
    }
}

// MARK: Asking

@Suite struct QueryAskingTests {
    /// Every step in every order, against loops.
    @Test func stepsInAllOrdersAgreeWithALoop() throws {
        typealias List = [Animal]
        /// Null first, then NaN.
        func order<T: Comparable>(_ a: T?, _ b: T?) -> Int {
            guard let a, let b else { return a == nil ? (b == nil ? 0 : -1) : 1 }
            return a < b ? -1 : a > b ? 1 : 0
        }
        func orderOfWeights(_ a: Double?, _ b: Double?) -> Int {
            order(a.map { $0.isNaN ? -.infinity : $0 }, b.map { $0.isNaN ? -.infinity : $0 })
        }
        func codePoints(_ name: String?) -> [UInt32]? { name.map { $0.unicodeScalars.map(\.value) } }
        func orderOfNames(_ a: String?, _ b: String?) -> Int {
            guard let a = codePoints(a), let b = codePoints(b) else {
                return a == nil ? (b == nil ? 0 : -1) : 1
            }
            return a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
        }
        func sorted(_ list: List, _ order: (Animal, Animal) -> Int) -> List {
            list.enumerated().sorted {
                let both = order($0.element, $1.element)
                return both == 0 ? $0.offset < $1.offset : both < 0
            }.map(\.element)
        }
        func distinct(_ list: List, _ isSame: (Animal, Animal) -> Bool) -> List {
            list.reduce(into: []) { kept, next in if !kept.contains(where: { isSame($0, next) }) { kept.append(next) } }
        }
        let steps: [(String, (List) -> List)] = [
            (
                "SORT(age ASC, name DESC)",
                {
                    sorted($0) {
                        let ages = order($0.age, $1.age)
                        return ages == 0 ? -orderOfNames($0.name, $1.name) : ages
                    }
                }
            ),
            ("SORT(weight DESC)", { sorted($0) { -orderOfWeights($0.weight, $1.weight) } }),
            (
                "DISTINCT(weight, good)",
                { distinct($0) { orderOfWeights($0.weight, $1.weight) == 0 && $0.good == $1.good } }
            ),
            ("LIMIT(29)", { Array($0.prefix(29)) }), ("OFFSET(7)", { Array($0.dropFirst(7)) }),
        ]
        let zoo = try Zoo(count: 300)
        defer { _ = objstore_close(zoo.store) }
        var buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        func ask(_ view: OpaquePointer, _ chosen: [Int]) throws {
            for (condition, satisfies) in [
                ("TRUEPREDICATE", { _ in true }), ("age != 3 and weight != 1.5", { $0.age != 3 && $0.weight != 1.5 }),
            ] as [(String, (Animal) -> Bool)] {
                let text = ([condition] + chosen.map { steps[$0].0 }).joined(separator: " ")
                let wanted = chosen.reduce(zoo.all.filter(satisfies)) { steps[$1].1($0) }.map(\.key)
                let asked = try query(view, zoo.cls.id, text)
                expect(try found(asked, view) == wanted, "\(text)")
                try ok(objstore_query_read(asked, view, 1000, nil, 0, &buffer))
                expect(packedKeys(buffer) == wanted, "\(text)")
                expect(try written(asked) == text)
                try ok(objstore_query_close(asked))
            }
        }
        try frozen(zoo.store) { view in
            func choose(_ chosen: [Int]) throws {
                try ask(view, chosen)
                for next in steps.indices where !chosen.contains(next) { try choose(chosen + [next]) }
            }
            try choose([])
        }
        try writing(zoo.store) { tx in
            for chosen in [[0], [1, 3], [3, 1], [4, 2, 0, 3], [0, 1, 2, 3, 4]] { try ask(tx, chosen) }
        }
    }

    private func packedKeys(_ buffer: objstore_buffer) -> [Int64] {
        let bytes = UnsafeRawPointer(buffer.bytes!), head = bytes.load(as: objstore_packed.self)
        let keys = (bytes + Int(head.keys_offset)).assumingMemoryBound(to: Int64.self)
        return (0..<Int(head.row_count)).map { keys[$0] }
    }

    @Test func rowsAreRead() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        var buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        try reading(zoo.store) { view in
            let query = try query(view, zoo.cls.id, "age > 8 SORT(age DESC)")
            defer { _ = objstore_query_close(query) }
            let wanted = zoo.all.filter { $0.age.map { $0 > 8 } ?? false }.enumerated().sorted {
                $0.element.age! == $1.element.age! ? $0.offset < $1.offset : $0.element.age! > $1.element.age!
            }.map(\.element)
            for count in [0, 1, 10, wanted.count, 5000] {
                try ok(objstore_query_read(query, view, count, [zoo.cls["age"], zoo.cls["name"]], 2, &buffer))
                let expected = wanted.prefix(count)
                expect(packedKeys(buffer) == expected.map(\.key))
                let bytes = UnsafeRawPointer(buffer.bytes!)
                let column = (bytes + 64).load(as: objstore_packed_column.self)
                let ages = (bytes + Int(column.values_offset)).assumingMemoryBound(to: Int64.self)
                expect(expected.indices.allSatisfy { ages[$0] == expected[$0].age })
            }
            let age = zoo.cls["age"]
            refused(objstore_query_read(query, view, 1, [age, 0], 2, &buffer), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
            refused(objstore_query_read(query, view, 1, [age, age], 2, &buffer), .OBJSTORE_ERR_INVALID_ARGUMENT)
        }
    }

    @Test func aggregates() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        try frozen(zoo.store) { view in
            func ask(
                _ condition: String, _ property: String, _ kind: objstore_aggregate_kind
            ) throws -> objstore_value {
                let query = try query(view, zoo.cls.id, condition)
                defer { _ = objstore_query_close(query) }
                var value = objstore_value()
                try ok(objstore_query_aggregate(query, view, zoo.cls[property], kind, &value))
                return value
            }
            let chosen: [(String, [Animal])] = [
                ("", zoo.all), ("good == true", zoo.all.filter(\.good)),
                ("name CONTAINS 'e'", zoo.all.filter { $0.name?.contains("e") ?? false }),
                ("age == 3 OR rank == 10", zoo.all.filter { $0.age == 3 || $0.age == 5 }),
                ("LIMIT(10)", Array(zoo.all.prefix(10))), ("OFFSET(100)", Array(zoo.all.dropFirst(100))),
                ("age == 99", []),
            ]
            for (condition, animals) in chosen {
                let ages = animals.compactMap(\.age)
                expect(
                    try ask(condition, "age", .OBJSTORE_AGGREGATE_SUM).data.integer == ages.reduce(0, +), "\(condition)"
                )
                let least = try ask(condition, "age", .OBJSTORE_AGGREGATE_MINIMUM),
                    most = try ask(condition, "age", .OBJSTORE_AGGREGATE_MAXIMUM),
                    average = try ask(condition, "age", .OBJSTORE_AGGREGATE_AVERAGE)
                if ages.isEmpty {
                    #expect([least, most, average].allSatisfy { $0.kind == .OBJSTORE_KIND_NULL }, "\(condition)")
                } else {
                    #expect(least.data.integer == ages.min() && most.data.integer == ages.max(), "\(condition)")
                    #expect(average.data.real == Double(ages.reduce(0, +)) / Double(ages.count), "\(condition)")
                }
                // NaN is skipped by the least and the greatest, and makes a sum NaN.
                let weights = animals.compactMap(\.weight), numbers = weights.filter { !$0.isNaN }
                let heaviest = try ask(condition, "weight", .OBJSTORE_AGGREGATE_MAXIMUM),
                    sum = try ask(condition, "weight", .OBJSTORE_AGGREGATE_SUM)
                if let greatest = numbers.max() { #expect(heaviest.data.real == greatest, "\(condition)") }
                #expect(
                    weights.contains(where: \.isNaN) ? sum.data.real.isNaN : sum.data.real == numbers.reduce(0, +),
                    "\(condition)")
            }
            let all = try query(view, zoo.cls.id, "")
            defer { _ = objstore_query_close(all) }
            var value = objstore_value()
            refused(
                objstore_query_aggregate(all, view, zoo.cls["name"], .OBJSTORE_AGGREGATE_SUM, &value),
                .OBJSTORE_ERR_WRONG_TYPE)
            refused(
                objstore_query_aggregate(all, view, 0, .OBJSTORE_AGGREGATE_SUM, &value), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
            refused(
                objstore_query_aggregate(all, view, zoo.cls["age"], objstore_aggregate_kind(rawValue: 9)!, &value),
                .OBJSTORE_ERR_INVALID_ARGUMENT)
        }
    }

    @Test func queriesOfQueries() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        try frozen(zoo.store) { view in
            func join(_ first: String, _ second: String) throws -> OpaquePointer {
                let one = try query(view, zoo.cls.id, first), two = try query(view, zoo.cls.id, second)
                var joined: OpaquePointer?
                try ok(objstore_query_then(one, two, &joined))
                // It does not need them any more.
                try ok(objstore_query_close(one))
                try ok(objstore_query_close(two))
                return joined!
            }
            // Conditions become one; steps follow. An order stays, and the next one comes behind it.
            let together = [
                ("age < 5", "name == 'Rex'", "age < 5 and name == \"Rex\""),
                (
                    "age < 5 OR age == 9", "good == true OR age == 1",
                    "(age < 5 or age == 9) and (good == TRUE or age == 1)"
                ),
                ("", "age < 5 LIMIT(3)", "age < 5 LIMIT(3)"), ("age < 5 LIMIT(3)", "", "age < 5 LIMIT(3)"),
                (
                    "age < 5 SORT(name ASC)", "good == true SORT(age DESC) LIMIT(9)",
                    "age < 5 and good == TRUE SORT(name ASC) SORT(age DESC) LIMIT(9)"
                ),
                ("LIMIT(50)", "SORT(age DESC) LIMIT(4)", "TRUEPREDICATE LIMIT(50) SORT(age DESC) LIMIT(4)"),
                ("", "", "TRUEPREDICATE"),
            ]
            for (first, second, text) in together {
                let joined = try join(first, second)
                expect(try written(joined).lowercased() == text.lowercased())
                expect(try found(joined, view) == found(view, zoo.cls.id, text), "\(text)")
                try ok(objstore_query_close(joined))
            }
            // Behind what limits, a condition is about what is left.
            func weight(_ animal: Animal) -> Double { animal.weight.map { $0.isNaN ? -1 : $0 } ?? -2 }
            let heaviest = zoo.all.enumerated().sorted {
                let (a, b) = (weight($0.element), weight($1.element))
                return a == b ? $0.offset < $1.offset : a > b
            }.map(\.element)
            let limited = [
                ("SORT(weight DESC) LIMIT(40)", heaviest.prefix(40).filter(\.good)),
                ("SORT(weight DESC) OFFSET(40)", heaviest.dropFirst(40).filter(\.good)),
                (
                    "DISTINCT(age)",
                    zoo.all.reduce(into: [Animal]()) { kept, next in
                        if !kept.contains(where: { $0.age == next.age }) { kept.append(next) }
                    }.filter(\.good)
                ),
            ]
            for (first, wanted) in limited {
                let joined = try join(first, "good == true")
                expect(try found(joined, view) == wanted.map(\.key), "\(first)")
                var lent = objstore_text()
                refused(objstore_query_text(joined, nil, &lent), .OBJSTORE_ERR_NOT_SUPPORTED)
                let more = try query(view, zoo.cls.id, "age < 6 LIMIT(3)")
                var third: OpaquePointer?
                try ok(objstore_query_then(joined, more, &third))
                expect(
                    try found(third!, view)
                        == Array(wanted.filter { $0.age.map { $0 < 6 } ?? false }.prefix(3)).map(\.key))
                for query in [joined, more, third] { try ok(objstore_query_close(query)) }
            }
        }
    }

    @Test func queriesOfTwoClasses() throws {
        let store = try openStore(nil, [animals, dogs])
        defer { _ = objstore_close(store) }
        try reading(store) { view in
            let one = try query(view, ClassOf(tx: view, animals).id, "age < 5"),
                two = try query(view, ClassOf(tx: view, dogs).id, "age < 5")
            var joined: OpaquePointer? = view
            refused(objstore_query_then(one, two, &joined), .OBJSTORE_ERR_INVALID_ARGUMENT)
            #expect(joined == nil)
            // A property of the other class.
            let nodes = comparison(try ClassOf(tx: view, dogs)["age"], .OBJSTORE_LESS, objstore_int(5))
            refused(
                objstore_query_new(view, try ClassOf(tx: view, animals).id, nodes, nodes.count, &joined),
                .OBJSTORE_ERR_NO_SUCH_PROPERTY)
            try ok(objstore_query_close(one))
            try ok(objstore_query_close(two))
        }
    }

    @Test func ranges() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        try reading(zoo.store) { view in
            var index: objstore_index_id = 0, range: OpaquePointer?, value = objstore_value(), lent = objstore_text()
            var token: OpaquePointer?, joined: OpaquePointer?
            try ok(objstore_find_index(view, zoo.cls.id, [zoo.cls["rank"]], 1, &index))
            try ok(
                objstore_query_range(view, index, [objstore_int(4)], 1, [objstore_int(10)], 1, 0, &range))
            let inOrder = zoo.all.filter { $0.rank.map { $0 >= 4 && $0 <= 10 } ?? false }.enumerated().sorted {
                $0.element.rank! == $1.element.rank!
                    ? $0.offset < $1.offset : $0.element.rank! < $1.element.rank!
            }.map(\.element)
            expect(try found(range!, view) == inOrder.map(\.key))
            refused(
                objstore_query_aggregate(range, view, zoo.cls["age"], .OBJSTORE_AGGREGATE_SUM, &value),
                .OBJSTORE_ERR_NOT_SUPPORTED)
            refused(objstore_query_text(range, nil, &lent), .OBJSTORE_ERR_NOT_SUPPORTED)
            try ok(objstore_query_observe(range, zoo.store, 0, { _, _ in .OBJSTORE_OK }, nil, nil, &token))
            try ok(objstore_token_close(token))
            // More behind it, in its order.
            let good = try query(view, zoo.cls.id, "good == true LIMIT(5)")
            try ok(objstore_query_then(range, good, &joined))
            expect(try found(joined!, view) == inOrder.filter(\.good).prefix(5).map(\.key))
            var turned: OpaquePointer?
            refused(objstore_query_then(good, range, &turned), .OBJSTORE_ERR_NOT_SUPPORTED)
            for query in [range, joined, good] { try ok(objstore_query_close(query)) }
        }
    }

    /// One query, asked by several threads at a time, in views of their own and in one.
    @Test func threads() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        let conditions = ["age < 5 AND name CONTAINS[c] 'E' SORT(weight DESC, name ASC) LIMIT(50)", "rank == 8", ""]
        try frozen(zoo.store) { view in
            for condition in conditions {
                nonisolated(unsafe) let query = try query(view, zoo.cls.id, condition), shared = view,
                    store = zoo.store
                let wanted = try found(query, view)
                DispatchQueue.concurrentPerform(iterations: 4) { thread in
                    do {
                        for round in 0..<50 {
                            if (thread + round) % 2 == 0 {
                                expect(try found(query, shared) == wanted)
                            } else {
                                try reading(store) { expect(try found(query, $0) == wanted) }
                            }
                            _ = try written(query)
                        }
                    } catch { Issue.record(error) }
                }
                try ok(objstore_query_close(query))
            }
        }
    }

    /// It is closed while others ask it: each call finds what it should, or that it is closed.
    @Test func closingWhileOthersAsk() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        try frozen(zoo.store) { view in
            let wanted = zoo.keys(\.good).count
            for _ in 0..<50 {
                nonisolated(unsafe) let query = try query(view, zoo.cls.id, "good == true"), shared = view
                DispatchQueue.concurrentPerform(iterations: 3) { thread in
                    if thread == 0 {
                        expect(objstore_query_close(query) == .OBJSTORE_OK)
                        return
                    }
                    while true {
                        var count: UInt64 = 0
                        let status = objstore_query_count(query, shared, &count)
                        if status == .OBJSTORE_ERR_CLOSED_HANDLE { break }
                        expect(status == .OBJSTORE_OK && Int(count) == wanted)
                    }
                }
            }
        }
    }
}

// MARK: Versions

@Suite struct QueryVersionTests {
    @Test func liveViewsAndTransactions() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        let live = try liveView(zoo.store), query = try query(live, zoo.cls.id, "age == 3 SORT(name ASC)")
        defer {
            for close in [objstore_query_close(query), objstore_view_close(live)] { #expect(close == .OBJSTORE_OK) }
        }
        let before = try found(query, live)
        var created = objstore_object()
        try writing(zoo.store) { tx in
            created = try zoo.cls.create(tx, ["age": objstore_int(3), "good": objstore_bool(true)])
            // Null is the least.
            let index = before.prefix { key in zoo.all.first { $0.key == key }!.name == nil }.count
            var expected = before
            expected.insert(created.key, at: index)
            expect(try found(query, tx) == expected)
            expect(try found(query, live) == before)
            var point: objstore_savepoint = 0
            try ok(objstore_savepoint_begin(tx, &point))
            try ok(objstore_delete(tx, created))
            expect(try found(query, tx) == before)
            try ok(objstore_savepoint_rollback(tx, point))
            expect(try found(query, tx) == expected)
        }
        expect(try found(query, live) == before)
        try ok(objstore_view_refresh(live, nil))
        expect(try found(query, live).contains(created.key))
    }

    /// Views that are older than the class, or the property; and what was dropped since.
    @Test func olderViewsAndDroppedProperties() throws {
        let folder = TestFolder()
        let dogs = TestClass(
            name: "Dog",
            properties: [("name", .OBJSTORE_KIND_STRING, 0), ("age", .OBJSTORE_KIND_INT, indexed)],
            defaults: ["age": objstore_int(0)])
        let first = try openStore(folder.store, [dogs])
        let before = try liveView(first)
        try writing(first) { tx in
            try ClassOf(tx: tx, dogs).create(tx, ["name": string("Rex"), "age": objstore_int(7)])
        }
        let older = try liveView(first)
        let more = TestClass(
            name: "Dog", properties: dogs.properties + [("legs", .OBJSTORE_KIND_INT, indexed)],
            defaults: ["age": objstore_int(0), "legs": objstore_int(4)])
        let second = try openStore(folder.store, [more, persons], version: 2)
        var count: UInt64 = 0, results: OpaquePointer?, object = objstore_object(), value = objstore_value()
        var oldest: OpaquePointer?
        try reading(second) { view in
            let dog = try ClassOf(tx: view, more), person = try ClassOf(tx: view, persons)
            // A view of another handle of the same store.
            let legs = try query(view, dog.id, "legs == 4"), computed = try query(view, dog.id, "legs + 1 == 5"),
                sorted = try query(view, dog.id, "SORT(legs ASC)"), age = try query(view, dog.id, "age == 7")
            // In the order of an index, one after the other; and of the few that another index finds.
            let walked = try query(view, dog.id, "NOT (legs == 5) SORT(age ASC) LIMIT(1)"),
                picked = try query(view, dog.id, "NOT (legs == 5) AND age == 7")
            for query in [legs, computed, sorted, age, walked, picked] { expect(try found(query, view) == [0]) }
            for query in [legs, computed, sorted, walked, picked] {
                for status in [
                    objstore_query_find(query, older, &results), objstore_query_first(query, older, &object, nil),
                ] { refused(status, .OBJSTORE_ERR_NO_SUCH_PROPERTY) }
            }
            refused(objstore_query_count(legs, older, &count), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
            #expect(String(cString: objstore_last_message()).contains("query"))
            refused(objstore_query_count(computed, older, &count), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
            refused(
                objstore_query_aggregate(age, older, dog["legs"], .OBJSTORE_AGGREGATE_SUM, &value),
                .OBJSTORE_ERR_NO_SUCH_PROPERTY)
            expect(try found(age, older) == [0])
            expect(try found(age, before) == [])
            let named = try query(view, person.id, "name == 'Ann'"), all = try query(view, person.id, "")
            for query in [named, all] {
                refused(objstore_query_count(query, older, &count), .OBJSTORE_ERR_NO_SUCH_CLASS)
                refused(objstore_query_find(query, older, &results), .OBJSTORE_ERR_NO_SUCH_CLASS)
                expect(try found(query, view) == [])
            }
            for query in [legs, computed, sorted, age, walked, picked, named, all] {
                try ok(objstore_query_close(query))
            }
        }
        oldest = try query(older, try ClassOf(tx: older, dogs).id, "name == 'Rex' AND age == 7")
        // Dropped, and renamed: a query goes with the id.
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        try ok(objstore_schema_add_class(schema, text("Dog")))
        try ok(objstore_schema_add_property(schema, text("Dog"), text("title"), .OBJSTORE_KIND_STRING, 0))
        try ok(objstore_schema_add_former_name(schema, text("Dog"), text("title"), text("name")))
        let name = try query(older, try ClassOf(tx: older, dogs).id, "name == 'Rex'")
        let third = try openStore(folder.store, []) { try ok(objstore_config_set_schema($0, schema, 3)) }
        try ok(objstore_schema_close(schema))
        try reading(third) { view in
            expect(try found(name, view) == [0])
            expect(try written(name) == "name == \"Rex\"")
            refused(objstore_query_count(oldest, view, &count), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
            refused(objstore_query_find(oldest, view, &results), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
        }
        expect(try found(oldest!, older) == [0])
        try ok(objstore_query_close(oldest))
        try ok(objstore_query_close(name))
        for view in [before, older] { try ok(objstore_view_close(view)) }
        for store in [first, second, third] { try ok(objstore_close(store)) }
    }

    /// Names of the program, where the file has others.
    @Test func storedNames() throws {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        try ok(objstore_schema_add_class(schema, text("Dog")))
        try ok(objstore_schema_add_property(schema, text("Dog"), text("age"), .OBJSTORE_KIND_INT, 0))
        try ok(objstore_schema_set_stored_name(schema, text("Dog"), text("age"), text("a_age")))
        let store = try openStore(nil, schema)
        try ok(objstore_schema_close(schema))
        defer { _ = objstore_close(store) }
        try reading(store) { view in
            let cls = try Names(view).cls("Dog"), query = try query(view, cls, "age < 2 AND a_age > 0")
            expect(try found(query, view).isEmpty)
            expect(try written(query) == "age < 2 and a_age > 0")
            let nodes = comparison(try Names(view).property(cls, "age"), .OBJSTORE_LESS, objstore_int(2))
            var made: OpaquePointer?, none: OpaquePointer?
            try ok(objstore_query_new(view, cls, nodes, nodes.count, &made))
            expect(try written(made!) == "age < 2")
            let message = refused(
                objstore_query_parse(view, cls, text("agee < 2"), nil, 0, &none), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
            #expect(message.contains("did you mean age?"), "\(message)")
            for query in [query, made] { try ok(objstore_query_close(query)) }
        }
    }
}

// MARK: Changing

@Suite struct QueryChangingTests {
    private func change(
        _ zoo: Zoo, _ condition: String, _ body: (OpaquePointer, OpaquePointer) throws -> Void
    ) throws {
        try writing(zoo.store) { tx in
            let query = try query(tx, zoo.cls.id, condition)
            defer { _ = objstore_query_close(query) }
            try body(query, tx)
        }
    }

    @Test func setting() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        var objects: UInt64 = 0
        try change(zoo, "age == 3") { query, tx in
            try ok(
                objstore_query_set(
                    query, tx, [zoo.cls["age"], zoo.cls["name"]], [objstore_int(33), string("new")], 2, &objects))
            #expect(Int(objects) == zoo.keys { $0.age == 3 }.count && objects > 0)
            // It no longer finds them.
            expect(try found(query, tx) == [])
            expect(try found(tx, zoo.cls.id, "age == 33 AND name == 'new'") == zoo.keys { $0.age == 3 })
            try ok(objstore_query_set(query, tx, [zoo.cls["age"]], [objstore_int(1)], 1, &objects))
            #expect(objects == 0)
            try ok(objstore_query_set(query, tx, nil, nil, 0, nil))
        }
        // With steps: those that are left.
        try change(zoo, "age == 33 LIMIT(2)") { query, tx in
            try ok(objstore_query_set(query, tx, [zoo.cls["age"]], [objstore_int(34)], 1, &objects))
            #expect(objects == 2)
            expect(try found(tx, zoo.cls.id, "age == 34") == Array(zoo.keys { $0.age == 3 }.prefix(2)))
        }
        try change(zoo, "age == 34") { query, tx in
            refused(
                objstore_query_set(query, tx, [zoo.cls["age"]], [string("x")], 1, &objects), .OBJSTORE_ERR_WRONG_TYPE)
            refused(
                objstore_query_set(query, tx, [zoo.cls["good"]], [objstore_null()], 1, &objects),
                .OBJSTORE_ERR_NOT_NULLABLE)
            refused(
                objstore_query_set(query, tx, [0], [objstore_null()], 1, &objects), .OBJSTORE_ERR_NO_SUCH_PROPERTY)
            expect(try found(query, tx).count == 2)
        }
        try reading(zoo.store) { view in
            let query = try query(view, zoo.cls.id, "age == 34")
            for status in [
                objstore_query_set(query, view, [zoo.cls["age"]], [objstore_int(1)], 1, nil),
                objstore_query_increment(query, view, zoo.cls["age"], objstore_int(1), nil),
                objstore_query_delete(query, view, nil),
            ] {
                let message = refused(status, .OBJSTORE_ERR_NOT_IN_WRITE)
                #expect(message.hasPrefix("transaction"), "\(message)")
            }
            try ok(objstore_query_close(query))
        }
        try verify(zoo.store)
    }

    @Test func incrementing() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        var objects: UInt64 = 0
        let good = zoo.all.filter(\.good)
        try change(zoo, "good == true SORT(age DESC)") { query, tx in
            // Null stays null, and does not count.
            try ok(objstore_query_increment(query, tx, zoo.cls["age"], objstore_int(100), &objects))
            #expect(Int(objects) == good.filter { $0.age != nil }.count)
            expect(try found(tx, zoo.cls.id, "age >= 100") == good.filter { $0.age != nil }.map(\.key))
            try ok(objstore_query_increment(query, tx, zoo.cls["rank"], objstore_int(1000), &objects))
            expect(try found(tx, zoo.cls.id, "rank >= 1000") == good.filter { $0.age != nil }.map(\.key))
            refused(
                objstore_query_increment(query, tx, zoo.cls["age"], objstore_double(1), &objects),
                .OBJSTORE_ERR_WRONG_TYPE)
            refused(
                objstore_query_increment(query, tx, zoo.cls["name"], objstore_int(1), &objects),
                .OBJSTORE_ERR_WRONG_TYPE)
            // All or none.
            refused(
                objstore_query_increment(query, tx, zoo.cls["age"], objstore_int(.max), &objects),
                .OBJSTORE_ERR_OUT_OF_RANGE)
            expect(try found(tx, zoo.cls.id, "age >= 100") == good.filter { $0.age != nil }.map(\.key))
        }
        try verify(zoo.store)
    }

    @Test func deleting() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        var objects: UInt64 = 0, tx: OpaquePointer?
        let keys = zoo.keys { _ in true }
        try ok(objstore_begin(zoo.store, &tx))
        let all = try query(tx, zoo.cls.id, "")
        try ok(objstore_query_delete(all, tx, &objects))
        #expect(Int(objects) == keys.count)
        expect(try found(all, tx!) == [])
        try ok(objstore_cancel(tx))
        try change(zoo, "age == 3 OR name == 'Rex'") { query, tx in
            try ok(objstore_query_delete(query, tx, &objects))
            #expect(Int(objects) == zoo.keys { $0.age == 3 || $0.name == "Rex" }.count)
            expect(try found(all, tx) == zoo.keys { $0.age != 3 && $0.name != "Rex" })
        }
        // The three oldest.
        var oldest: [Int64] = []
        try change(zoo, "SORT(age DESC) LIMIT(3)") { query, tx in
            oldest = try found(query, tx)
            try ok(objstore_query_delete(query, tx, &objects))
            #expect(objects == 3)
            // Then the next three.
            expect(Set(try found(query, tx)).isDisjoint(with: oldest))
        }
        try reading(zoo.store) { view in
            expect(try found(all, view) == zoo.keys { $0.age != 3 && $0.name != "Rex" && !oldest.contains($0.key) })
        }
        // By a range of an index.
        try writing(zoo.store) { tx in
            var index: objstore_index_id = 0, range: OpaquePointer?
            try ok(objstore_find_index(tx, zoo.cls.id, [zoo.cls["rank"]], 1, &index))
            try ok(objstore_query_range(tx, index, [objstore_int(10)], 1, nil, 0, 0, &range))
            let wanted = try found(range!, tx)
            try ok(objstore_query_delete(range, tx, &objects))
            #expect(Int(objects) == wanted.count)
            expect(try found(tx, zoo.cls.id, "rank >= 10") == [])
            try ok(objstore_query_close(range))
        }
        try ok(objstore_query_close(all))
        try verify(zoo.store)
    }
}

// MARK: Observing

@Suite struct QueryObservingTests {
    private final class Heard {
        var told: [[UInt64]] = []
        var freed = 0
        static let handler: objstore_change_handler = { changes, userdata in
            var info = objstore_changes_info()
            info.struct_size = UInt32(MemoryLayout<objstore_changes_info>.size)
            _ = objstore_changes_get_info(changes, &info)
            let heard = Unmanaged<Heard>.fromOpaque(userdata!).takeUnretainedValue()
            heard.told.append([
                UInt64(info.flags), info.deletion_count, info.insertion_count, info.modification_count,
            ])
            return .OBJSTORE_OK
        }
        static let free: objstore_free_userdata = { Unmanaged<Heard>.fromOpaque($0!).takeUnretainedValue().freed += 1 }
        var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
    }

    @Test(arguments: [false, true]) func changes(fromNodes: Bool) throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        let heard = Heard(), initial = UInt32(OBJSTORE_OBSERVE_INITIAL)
        var token: OpaquePointer?, query: OpaquePointer?
        try reading(zoo.store) { view in
            if fromNodes {
                let nodes =
                    comparison(zoo.cls["age"], .OBJSTORE_EQUAL, objstore_int(3))
                    + comparison(zoo.cls["good"], .OBJSTORE_EQUAL, objstore_bool(true))
                    + [node(.OBJSTORE_QUERY_AND, operands: 2)]
                try ok(objstore_query_new(view, zoo.cls.id, nodes, nodes.count, &query))
            } else {
                query = try CAPITests.query(view, zoo.cls.id, "age == 3 AND good == true")
            }
        }
        try ok(objstore_query_observe(query, zoo.store, initial, Heard.handler, heard.pointer, Heard.free, &token))
        // The observer does not need the query.
        try ok(objstore_query_close(query))
        try ok(objstore_deliver(zoo.store, nil))
        #expect(heard.told.map { Array($0.dropFirst()) } == [[0, 0, 0]])
        #expect(heard.told[0][0] & UInt64(OBJSTORE_CHANGES_INITIAL) != 0)
        heard.told = []
        let inside = zoo.all.filter { $0.age == 3 && $0.good }, outside = zoo.all.filter { $0.age != 3 && $0.good }
        try writing(zoo.store) { tx in
            let age = zoo.cls["age"], name = zoo.cls["name"]
            try ok(objstore_set(tx, zoo.object(outside[0], tx), age, objstore_int(3)))  // comes
            try ok(objstore_set(tx, zoo.object(inside[0], tx), age, objstore_int(4)))  // goes
            try ok(objstore_delete(tx, zoo.object(inside[1], tx)))  // goes
            try ok(objstore_set(tx, zoo.object(inside[2], tx), name, string("other")))  // changes
            try ok(objstore_set(tx, zoo.object(outside[1], tx), name, string("other")))  // is not its business
            try zoo.cls.create(tx, ["age": objstore_int(3), "good": objstore_bool(true)])  // comes
            try zoo.cls.create(tx, ["age": objstore_int(3), "good": objstore_bool(false)])
        }
        try ok(objstore_deliver(zoo.store, nil))
        #expect(heard.told.map { Array($0.dropFirst()) } == [[2, 2, 1]])
        try writing(zoo.store) { tx in try zoo.cls.create(tx, ["age": objstore_int(9), "good": objstore_bool(true)]) }
        heard.told = []
        try ok(objstore_deliver(zoo.store, nil))
        #expect(heard.told.isEmpty && heard.freed == 0)
        try ok(objstore_token_close(token))
        #expect(heard.freed == 1)
    }

    @Test func whatCannotBeObserved() throws {
        let zoo = try Zoo(count: 5)
        defer { _ = objstore_close(zoo.store) }
        let heard = Heard()
        var token: OpaquePointer?, refusals = 0
        try reading(zoo.store) { view in
            func refuse(_ condition: String, _ flags: UInt32, _ status: objstore_status) throws {
                let query = try query(view, zoo.cls.id, condition)
                token = view
                refused(
                    objstore_query_observe(query, zoo.store, flags, Heard.handler, heard.pointer, Heard.free, &token),
                    status)
                refusals += 1
                #expect(token == nil && heard.freed == refusals)
                try ok(objstore_query_close(query))
            }
            try refuse("good == true", 1 << 20, .OBJSTORE_ERR_INVALID_ARGUMENT)
            // All objects: as objstore_observe.
            let all = try query(view, zoo.cls.id, "")
            try ok(objstore_query_observe(all, zoo.store, 0, Heard.handler, heard.pointer, Heard.free, &token))
            try ok(objstore_query_close(all))
        }
        try writing(zoo.store) { tx in try zoo.cls.create(tx, ["good": objstore_bool(true)]) }
        try ok(objstore_deliver(zoo.store, nil))
        #expect(heard.told.map { Array($0.dropFirst()) } == [[0, 1, 0]])
        try ok(objstore_token_close(token))
    }

    /// What stands elsewhere in an order is a move: with its indices before and after, and what was written.
    @Test func moves() throws {
        let zoo = try Zoo(count: 0)
        defer { _ = objstore_close(zoo.store) }
        let dogs = try writing(zoo.store) { tx in
            try (0..<5).map {
                try zoo.cls.create(tx, ["age": objstore_int(10 * Int64($0)), "good": objstore_bool(true)])
            }
        }
        var token: OpaquePointer?
        let all = try reading(zoo.store) { view in
            let query = try query(view, zoo.cls.id, "SORT(age ASC)")
            try ok(objstore_query_observe(query, zoo.store, 0, MoveLog.handler, nil, nil, &token))
            try ok(objstore_query_close(query))
            return zoo.cls["age"]
        }
        try writing(zoo.store) { tx in
            try ok(objstore_set(tx, dogs[1], all, objstore_int(35)))
            try ok(objstore_set(tx, dogs[4], all, objstore_int(41)))
        }
        try ok(objstore_deliver(zoo.store, nil))
        // The last one was modified where it is; the second stands behind the fourth.
        #expect(MoveLog.heard == ["0 0 1 1", "3: 4", "4: 4", "5: 1", "6: 3", "has: true true", "words: 2"])
        try ok(objstore_token_close(token))
    }

    private enum MoveLog {
        nonisolated(unsafe) static var heard: [String] = []
        static let handler: objstore_change_handler = { changes, _ in
            var info = objstore_changes_info_init()
            guard objstore_changes_get_info(changes, &info) == .OBJSTORE_OK else { return .OBJSTORE_ERR_INTERNAL }
            heard.append("\(info.deletion_count) \(info.insertion_count) \(info.modification_count) \(info.move_count)")
            for which in [
                objstore_change.OBJSTORE_MODIFICATIONS, .OBJSTORE_MODIFICATIONS_AFTER, .OBJSTORE_MOVES,
                .OBJSTORE_MOVES_AFTER,
            ] {
                var objects: UnsafePointer<objstore_object>?, indices: UnsafePointer<UInt64>?, count = 0
                guard objstore_changes_list(changes, which, &objects, &indices, &count) == .OBJSTORE_OK else {
                    return .OBJSTORE_ERR_INTERNAL
                }
                heard.append("\(which.rawValue): " + (0..<count).map { "\(indices![$0])" }.joined(separator: " "))
            }
            var view: OpaquePointer?, property = objstore_property_id(), has = [false, false],
                masks: UnsafePointer<UInt64>?, words = 0
            _ = objstore_changes_view(changes, .OBJSTORE_AFTER, &view)
            _ = objstore_find_property(view, info.class_id, text("age"), &property)
            for row in 0...1 { _ = objstore_changes_has(changes, UInt64(row), property, &has[row]) }
            _ = objstore_changes_masks(changes, &masks, &words)
            heard += ["has: \(has[0]) \(has[1])", "words: \(words)"]
            return objstore_changes_has(changes, 2, property, &has[0]) == .OBJSTORE_ERR_OUT_OF_RANGE
                ? .OBJSTORE_OK : .OBJSTORE_ERR_INTERNAL
        }
    }

    /// Results with steps are updated when they are asked to be.
    @Test func resultsAreUpdated() throws {
        let zoo = try Zoo()
        defer { _ = objstore_close(zoo.store) }
        try reading(zoo.store) { view in
            let query = try query(view, zoo.cls.id, "SORT(age DESC, name ASC) LIMIT(5)")
            var results: OpaquePointer?, changed = true, token: OpaquePointer?
            try ok(objstore_query_find(query, view, &results))
            try ok(objstore_results_observe(results, 0, Heard.handler, nil, nil, &token))
            try ok(objstore_token_close(token))
            try ok(objstore_results_update(results, &changed))
            #expect(!changed)
            let created = try writing(zoo.store) { tx in
                try zoo.cls.create(tx, ["age": objstore_int(500), "good": objstore_bool(true)])
            }
            try ok(objstore_view_refresh(view, nil))
            try ok(objstore_results_update(results, &changed))
            #expect(changed)
            let first = try keys(results)
            #expect(first.count == 5 && first[0] == created.key)
            expect(try found(query, view) == first)
            try ok(objstore_query_close(query))
        }
    }
}
