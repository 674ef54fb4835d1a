import Testing

import ObjStoreCore

/// Constants of the text of a query, where errors are, random queries, and texts that are no queries.
@Suite struct QueryTextHostileTests {
    private func constant(_ text: String, _ arguments: [QueryArgument] = []) throws -> (shown: String, text: String) {
        let tree = try QueryTree(parsing: "a == " + text, arguments: arguments)
        let written = try tree.text()
        #expect(try QueryTree(parsing: written).shown == tree.shown, "\(text) as \(written)")
        return (String(tree.shown.dropFirst(7).dropLast()), String(written.dropFirst(5)))
    }

    @Test func numbers() throws {
        for (text, shown, canonical) in [
            ("0", "0", "0"), ("-0", "0", "0"), ("+12", "12", "12"), ("007", "7", "7"), ("0x1F", "31", "31"),
            ("-0XfF", "-255", "-255"), ("9223372036854775807", "9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "9.223372036854776e+18~9223372036854775808", "9223372036854775808"),
            ("-18446744073709551616.0", "-1.8446744073709552e+19~-18446744073709551616.0", "-18446744073709551616.0"),
            ("1.5", "1.5", "1.5"), (".5", "0.5", "0.5"), ("-.034", "-0.034", "-0.034"), ("10.", "10.0", "10.0"),
            ("1e3", "1000.0", "1000.0"), ("+2.1E2", "210.0", "210.0"), ("1.50", "1.5", "1.5"), ("-0.0", "-0.0", "-0.0"),
            ("0.1", "0.1", "0.1"), ("- 2.5", "-2.5", "-2.5"), ("5e-324", "5e-324", "5e-324"),
            ("0.12345678901234567890", "0.12345678901234568~0.12345678901234567890", "0.12345678901234567890"),
            ("1e400", "inf~1E+400", "1e400"), ("1.5f", "1.5f", "1.5f"), ("-2F", "-2.0f", "-2.0f"),
            ("16777217f", "16777216.0f", "16777216.0f"), ("inf", "inf", "inf"), ("-Infinity", "-inf", "-inf"),
            ("+INF", "inf", "inf"), ("NaN", "nan", "nan"), ("-nan", "nan", "nan"), ("float(inf)", "inff", "float(inf)"),
            ("float( -1.5f )", "-1.5f", "-1.5f"), ("float('nan')", "nanf", "float(nan)"),
            ("decimal(1.50)", "decimal128 1.50", "decimal(1.50)"),
            ("decimal128('-1e3')", "decimal128 -1E+3", "decimal(-1E+3)"),
            ("DECIMAL(infinity)", "decimal128 Infinity", "decimal(Infinity)"),
        ] {
            let found = try constant(text)
            #expect(found.shown == shown)
            #expect(found.text == canonical)
        }
        // What was written is there, for a property that is a decimal.
        let tree = try QueryTree(parsing: "a == - 0.1"), value = tree.nodes[2].value
        #expect(try JSONNumber.convert(value, to: .decimal128).text == "-0.1")
        #expect(try JSONNumber.convert(value, to: .float).asFloat == -0.1)
    }

    @Test func otherConstants() throws {
        for (text, shown, canonical) in [
            ("TRUE", "true", "true"), ("false", "false", "false"), ("NULL", "null", "NULL"), ("Nil", "null", "NULL"),
            (#"'a"\'\/b'"#, "'a\"'/b'", #""a\"'/b""#), (#""\b\f\n\r\t\0""#, "'\u{8}\u{c}\n\r\t\0'", #""\b\f\n\r\t\0""#),
            (#"'\u00e9\ud83e\uddae\u0001'"#, "'é🦮\u{1}'", #""é🦮\u0001""#), ("''", "''", "\"\""),
            ("bin('ab')", "b[97, 98]", "binary(\"ab\")"), (#"BINARY("\n")"#, "b[10]", "B64\"Cg==\""),
            (#"B64"AP8=""#, "b[0, 255]", "B64\"AP8=\""), ("B64''", "b[]", "binary(\"\")"),
            ("oid(0123456789ABcdef01234567)", "object id 0123456789abcdef01234567", "oid(0123456789abcdef01234567)"),
            (
                "OID( '00000000000000000000000e' )", "object id 00000000000000000000000e",
                "oid(00000000000000000000000e)"
            ),
            (
                "uuid(3b241101-e2bb-4255-8caf-4136c566a962)", "uuid 3b241101-e2bb-4255-8caf-4136c566a962",
                "uuid(3b241101-e2bb-4255-8caf-4136c566a962)"
            ),
            ("T1:2", "T1:2", "T1:2"), ("T-1:999999999", "T-1:999999999", "T-1:999999999"),
            ("T-1:-1", "T-2:999999999", "T-2:999999999"), ("T0:-1", "T-1:999999999", "T-1:999999999"),
            ("1970-1-1@0:0:0", "T0:0", "T0:0"), ("2017-12-1T12:07:53:7", "T1512130073:7", "T1512130073:7"),
            ("1905-12-31@23:59:59:2020", "T-2019686401:2020", "T-2019686401:2020"),
            ("2024-02-29@00:00:00", "T1709164800:0", "T1709164800:0"),
            ("obj('Dog', -1)", "(object 'Dog' -1)", "obj(\"Dog\", -1)"),
            (
                "OBJ('D', oid(00000000000000000000000e))", "(object 'D' object id 00000000000000000000000e)",
                "obj(\"D\", oid(00000000000000000000000e))"
            ),
            ("link(3, -17)", "link 3 -17", "link(3, -17)"), ("link(3,4,5)", "link 21474836483 4", "link(3, 4, 5)"),
            ("{}", "(list)", "{}"), ("{-1, 'a', NULL, 1.5f}", "(list -1 'a' null 1.5f)", "{-1, \"a\", NULL, 1.5f}"),
        ] {
            let found = try constant(text)
            #expect(found.shown == shown)
            #expect(found.text == canonical)
        }
    }

    @Test func arguments() throws {
        let list = QueryArgument.list([.int(1), .staying("x y"), .null])
        #expect(try constant("$1", [.text("aé"), list, .text("b")]).shown == "(list 1 'x y' null)")
        #expect(try constant("$2", [.text("aé"), list, .text("b")]).shown == "'b'")
        #expect(try constant("{$0, $2, $0}", [.text("aé"), list, .text("b")]).shown == "(list 'aé' 'b' 'aé')")
        #expect(try constant("$0", [.value(.link(ObjectID(classID: 1, storeTag: 2, key: 3)))]).text == "link(1, 3, 2)")
        #expect(try constant("obj('D', $0)", [.text("k")]).text == "obj(\"D\", \"k\")")
        // Copies: the caller's bytes may change.
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
        defer { bytes.deallocate() }
        bytes.storeBytes(of: 0x61, as: UInt8.self)
        let tree = try QueryTree(parsing: "a == $0", arguments: [.value(.string(bytes, 1))])
        bytes.storeBytes(of: 0x62, as: UInt8.self)
        #expect(tree.shown == "(== .a 'a')")
        bytes.storeBytes(of: 0xff, as: UInt8.self)
        for (text, argument, code) in [
            ("a == $1", .value(.int(1)), StatusCode.invalidQuery),
            ("a == $99999999999999999999", .value(.int(1)), .invalidQuery),
            ("a == {$0}", list, .invalidQuery), ("a == ANY $0", .value(.int(1)), .invalidQuery),
            ("a BETWEEN $0", list, .invalidQuery), ("a BETWEEN $0", .value(.null), .invalidQuery),
            ("a == $0", .value(Value(kind: .map)), .wrongType),
            ("a == $0", .list([Value(kind: .document)]), .wrongType),
            ("a[$0] == 1", .value(.bool(true)), .invalidQuery), ("a = 1 LIMIT($0)", .value(.int(-1)), .invalidQuery),
            ("$K0 == 1", .value(.int(1)), .invalidQuery), ("$K0 == 1", .text(""), .invalidQuery),
            ("$K0 == 1", .text("a."), .invalidQuery), ("$K0 == 1", .text("a == b"), .invalidQuery),
            ("$K0 == 1", .text("$K0"), .invalidQuery), ("$K0 == 1", .text("a.@count"), .invalidQuery),
            ("a == $0", .value(.string(bytes, 1)), .invalidUTF8), ("$K0 == 1", .value(.string(bytes, 1)), .invalidUTF8),
        ] as [(String, QueryArgument, StatusCode)] {
            let error = #expect(throws: StoreError.self) { try QueryTree(parsing: text, arguments: [argument]) }
            #expect(error?.code == code, "\(text)")
        }
    }

    @Test func placesOfErrors() throws {
        for (text, position, message) in [
            ("(", 1, "a value was expected at byte 1, not the end of the query"),
            ("age > ", 6, "a value was expected at byte 6, not the end of the query"),
            ("age", 3, "an operator, as in `age > 2`, was expected at byte 3, not the end of the query"),
            ("a == 1 & b == 2", 7, "\"&\" has no meaning in a query, at byte 7"),
            (
                "a == 1 b == 2", 7,
                "AND, OR, SORT, DISTINCT, LIMIT, OFFSET, GROUP, SELECT or the end was expected at byte 7, not \"b\""
            ),
            (
                "你好 == 1 )", 12,
                "AND, OR, SORT, DISTINCT, LIMIT, OFFSET, GROUP, SELECT or the end was expected at byte 12, not \")\""
            ),
            ("(a == 1", 7, "\")\", or an operator was expected at byte 7, not the end of the query"),
            ("a == b == c", 7, "AND, OR or the end was expected at byte 7, not \"==\""),
            ("a == (b == c)", 2, "on the right side is a condition where a value was expected, at byte 2"),
            ("a == !b", 5, "a value was expected at byte 5, not \"!\""),
            ("a and b == 1", 2, "an operator, as in `age > 2`, was expected at byte 2, not \"and\""),
            ("a <[c] b", 3, "a value was expected at byte 3, not \"[\""),
            ("a ==[x] b", 5, "c, d or cd (a list has braces, `{1, 2}`) was expected at byte 5, not \"x\""),
            ("a == 'x\n", 5, "the text \"'x\\n\" has no closing quote, at byte 5"),
            ("a == '\\x'", 6, "\"\\x\" is no escape that a query has, at byte 6"),
            ("a == '\\ud800'", 6, "\"\\ud800\" is half of a character, at byte 6"),
            ("a == 2017-13-01@0:0:0", 5, "there is no time \"2017-13-01@0:0:0\", at byte 5"),
            ("a == 2017-02-29@0:0:0", 5, "there is no time \"2017-02-29@0:0:0\", at byte 5"),
            ("a == oid(12)", 5, "\"12\" is not an object id: 24 hexadecimal digits, at byte 5"),
            ("a == B64'x'", 8, "\"'x'\" is not base64 with padding, at byte 8"),
            ("a == 1e7000", 5, "\"1e7000\" is beyond the range of every number, at byte 5"),
            ("a == 0x8000000000000000", 5, "\"0x8000000000000000\" is no int of 64 bits, at byte 5"),
            ("a == T1:1000000000", 5, nil), ("a == T1:-1", 5, nil),
            ("a.[0] == 1", 2, "a property was expected at byte 2, not \"[\""),
            ("a[x] == 1", 2, "an index, a key in quotes, FIRST, LAST, SIZE or * was expected at byte 2, not \"x\""),
            ("a.@foo == 1", 2, nil), ("a.@count.b == 1", 8, nil), ("@links == 1", 7, nil), ("a = 1 SORT(a)", 12, nil),
            ("a = 1 SORT(a ASC,)", 17, "a path was expected at byte 17, not \")\""), ("a = 1 OFFSET(1.5)", 13, nil),
            ("SUBQUERY(a, $x, $x).@count = 1", 18, nil), ("SUBQUERY(a, $x, $x = 1).@type = 1", 0, nil),
        ] as [(String, Int, String?)] {
            let error = #expect(throws: StoreError.self, "\(text)") { try QueryTree(parsing: text) }
            #expect(error?.position == position, "\(text): \(error?.message ?? "")")
            if let message { #expect(error?.message == message) }
        }
        let error = #expect(throws: StoreError.self) { try QueryTree(parsing: "b == $K0", arguments: [.text("a..b")]) }
        #expect(error?.position == 5)
        #expect(error?.message == "in the argument for the key path: a property was expected at byte 2, not \".\"")
    }

    @Test func positionsOfNodes() throws {
        let tree = try QueryTree(parsing: "a.b == 1 and SUBQUERY(c, $x, TRUEPREDICATE).@count > {}")
        #expect(tree.nodes.map(\.position) == [0, 0, 2, 7, 4, 22, 22, 29, 13, 44, 53, 51, 9, 0])
    }

    @Test func limits() throws {
        let deep = QueryLimits.depth
        func nested(_ open: String, _ middle: String, _ close: String, _ count: Int) -> String {
            String(repeating: open, count: count) + middle + String(repeating: close, count: count)
        }
        func isTooDeep(_ text: String) -> Bool {
            do throws(StoreError) {
                _ = try QueryTree(parsing: text)
                return false
            } catch { return error.message.contains("nested more than") }
        }
        for (open, middle, close) in [
            ("(", "a == 1", ")"), ("!", "a == 1", ""), ("a == (", "a == 1", ")"), ("a + (", "1", ") == 1"),
            ("-(", "a", ")"),
            ("SUBQUERY(a, $x, ", "a == 1", ").@count > 1"), ("NOT (", "a == 1", ")"), ("", "a", ".b"),
            ("", "a", " + 1"), ("", "a", "[0]"),
        ] {
            for count in [deep + 1, 100_000] {
                #expect(isTooDeep(nested(open, middle, close, count) + " == 1"), "\(open)\(middle)\(close)")
            }
        }
        try #expect(QueryTree(parsing: nested("(", "a == 1", ")", deep)).nodes.count == 5)
        try #expect(
            QueryTree(parsing: "a == 1" + String(repeating: " or a == 1", count: 50_000)).nodes.count == 50_001 * 4 + 2)
        let many = "a IN {" + String(repeating: "1,", count: QueryLimits.nodes) + "1}"
        let error = #expect(throws: StoreError.self) { try QueryTree(parsing: many) }
        #expect(error?.message.contains("more than 1048576 nodes") == true)
        let long = #expect(throws: StoreError.self) {
            try QueryTree(parsing: "a == '" + String(repeating: "x", count: QueryLimits.text) + "'")
        }
        #expect(long?.code == .invalidQuery)
        #expect(throws: StoreError.self) {
            try QueryTree(
                parsing: "a == 1", arguments: Array(repeating: .value(.null), count: QueryLimits.arguments + 1))
        }
    }

    // MARK: By chance

    @Test(arguments: [UInt64(1), 2, 3, 4]) func randomQueries(seed: UInt64) throws {
        var generator = QueryGenerator(seed), bytes = 0
        for step in 0..<1500 {
            let tree = try QueryTree(generator.query())
            let text = try tree.text()
            let again = try #require(try? QueryTree(parsing: text), "seed \(seed), step \(step): \(text)")
            try #require(again.shown == tree.shown, "seed \(seed), step \(step): \(text)")
            try #require(again.nodes.count == tree.nodes.count)
            #expect(try again.text() == text)
            bytes += text.utf8.count
        }
        print("texts of queries: seed \(seed), \(bytes) bytes")
    }

    /// Queries with bytes changed, cut off, doubled: an error or a query, and that one is stable.
    @Test(arguments: [UInt64(5), 6, 7, 8]) func damagedQueries(seed: UInt64) throws {
        var generator = QueryGenerator(seed), random = QueryRandom(seed &+ 99), good = 0
        let texts = QueryTextTests.valid + QueryTextTests.invalid
        for step in 0..<4000 {
            var bytes = Array((step % 2 == 0 ? try QueryTree(generator.query()).text() : random.pick(texts)).utf8)
            if step % 16 == 15 { bytes = (0..<random.below(60)).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
            for _ in 0...random.below(3) {
                switch random.below(4) {
                case 0: bytes.removeLast(random.below(bytes.count + 1))
                case 1 where !bytes.isEmpty: bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
                case 2 where !bytes.isEmpty: bytes.remove(at: random.below(bytes.count))
                default:
                    bytes.insert(random.pick(Array("()[]{}.,$@'\"\\!-+0a T".utf8)), at: random.below(bytes.count + 1))
                }
            }
            do throws(StoreError) {
                let tree = try QueryHostile.parse(bytes)
                let text = try tree.text()
                #expect(try QueryTree(parsing: text).shown == tree.shown, "seed \(seed), step \(step): \(text)")
                good += 1
            } catch {
                #expect([.invalidQuery, .invalidUTF8].contains(error.code), "seed \(seed), step \(step): \(error)")
                #expect(!error.message.contains("\n"))
                #expect(error.position <= bytes.count)
            }
        }
        print("damaged queries: seed \(seed), \(good) were still queries")
    }

    /// Nodes that a program may give: no text, but an error.
    @Test func malformedNodes() {
        let variable = QueryNode(.variable)
        for nodes in [
            [], [QueryNode(.compare, operands: 2)], [variable, variable], [QueryNode(.property)],
            [variable, QueryNode(.property, operands: 1)], [variable, QueryNode(.aggregate, operands: 1)],
            [variable, QueryNode(.count, operands: 1), QueryNode(.count, operands: 1)],
            [variable, QueryNode(.truth), QueryNode(.filter, operands: 2)],
            [QueryNode(.and, operands: 0xffff_ffff)],
        ] {
            #expect(throws: StoreError.self) { try QueryPrinter.text(nodes) }
        }
    }

    @Test func namesByID() throws {
        var nodes = try QueryTree(parsing: "a.b > 1").nodes
        for index in nodes.indices where nodes[index].kind == .property {
            nodes[index].value = .null
            nodes[index].number = Int64(index)
        }
        let text = try QueryPrinter.text(nodes) { node in
            node.number == 1 ? "not" : "c d"
        }
        #expect(text == #"@self.not.c\ d > 1"#)
        #expect(try QueryPrinter.text(nodes, root: 2) { _ in "x" } == "x.x")
        #expect(throws: StoreError.self) { try QueryPrinter.text(nodes) }
    }

    @Test func partsOfQueries() throws {
        let tree = try QueryTree(parsing: "SUBQUERY(a, $q, $q.b > $q.@sum.c and d == 1).@count - 2 > 1")
        let texts = tree.nodes.indices.map { root in (try? QueryPrinter.text(tree.nodes, root: root)) ?? "-" }
        #expect(
            texts == [
                "@self", "a", "$x", "$x.b", "$x", "-", "-", "$x.@sum.c", "$x.b > $x.@sum.c", "@self", "d", "1",
                "d == 1",
                "$x.b > $x.@sum.c and d == 1", "-",
                "SUBQUERY(a, $x, $x.b > $x.@sum.c and d == 1).@count", "2",
                "SUBQUERY(a, $x, $x.b > $x.@sum.c and d == 1).@count - 2", "1",
                "SUBQUERY(a, $x, $x.b > $x.@sum.c and d == 1).@count - 2 > 1",
                "SUBQUERY(a, $x, $x.b > $x.@sum.c and d == 1).@count - 2 > 1",
            ])
        // A variable that is none there.
        var nodes = tree.nodes
        nodes[2].number = 2
        #expect(throws: StoreError.self) { try QueryPrinter.text(nodes) }
    }
}

private enum QueryHostile {
    static func parse(_ bytes: [UInt8]) throws(StoreError) -> QueryTree {
        // Memory as long as the text: a sanitizer finds reads beyond it.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: bytes)
        return try QueryTree(parsing: UnsafeRawBufferPointer(memory), arguments: [.value(.int(1)), .list([])])
    }
}
