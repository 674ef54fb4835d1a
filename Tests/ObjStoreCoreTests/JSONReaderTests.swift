import Testing

import ObjStoreCore

@Suite struct JSONReaderTests {
    /// Each text from memory, byte by byte, and by three bytes: the same values, or the same error at the same byte.
    private func expect(
        _ text: String, _ wanted: String, _ options: JSONOptions = [], elements: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for piece in [nil, 1, 3] {
            let found = JSONSample.read(text, options, elements: elements, piece: piece)
            #expect(found == wanted, "\(text), by \(piece ?? 0)", sourceLocation: sourceLocation)
        }
    }

    @Test func whatTheStandardHas() {
        expect(
            #"{"name":"Rex","age":5,"w":1.50,"n":null,"b":[true,false,{}],"e":[]}"#,
            #"{"name":"Rex","age":5,"w":#1.50,"n":null,"b":[true,false,{}],"e":[]}"#)
        expect(" \t\r\n[ 1 , 2 ] \n", "[1,2]")
        expect("\u{feff}{}", "{}")
        expect("\"\"", "\"\"")
        expect("{\"\":0}", "{\"\":0}")
        expect("null", "null")
        // A key that comes twice is handed on; the user decides what that means.
        expect(#"{"a":1,"a":2}"#, #"{"a":1,"a":2}"#)
    }

    @Test func numbersAtTheEdges() {
        expect("0", "0")
        expect("-0", "#-0")
        expect("-0.0", "#-0.0")
        expect("9223372036854775807", "9223372036854775807")
        expect("-9223372036854775808", "-9223372036854775808")
        expect("9223372036854775808", "#9223372036854775808")
        expect("-9223372036854775809", "#-9223372036854775809")
        expect("18446744073709551616", "#18446744073709551616")
        expect("123456789012345678901234567890", "#123456789012345678901234567890")
        expect("1e400", "#1e400")
        expect("1E-2", "#1E-2")
        expect("1.0", "#1.0")
        for (text, at) in [
            ("01", 0), ("-01", 1), ("1.", 2), (".5", 0), ("-", 1), ("1e", 2), ("1e+", 3), ("+1", 0), ("1x", 1),
            ("1.2.3", 3), ("0x10", 1), ("NaN", 0), ("-Infinity", 1),
        ] {
            expect(text, "invalidJSON \(at)")
        }
        let long = String(repeating: "1", count: JSONReader.longestNumber)
        expect(long, "#" + long)
        expect(" " + long + "1", "outOfRange 1")
    }

    @Test func escapesAndUnicode() {
        expect(#""a\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t""#, "\"aé😀\"\\/\u{8}\u{c}\n\r\t\"")
        expect(#""x\u0000y""#, "\"x\\0y\"")
        expect("\"é€😀 and more than eight bytes\"", "\"é€😀 and more than eight bytes\"")
        for (text, at) in [
            (#""\ud83d""#, 1), (#""\ud83d\u0041""#, 1), (#""a\ude00""#, 2), (#""\ud83d\ud83d""#, 1),
            (#"{"\ud800":1}"#, 2),
        ] { expect(text, "invalidUTF8 \(at)") }
        for (text, at) in [
            (#""\u12""#, 1), (#""\u12g4""#, 1), (#""\q""#, 1), (#""\'""#, 1), ("\"abc", 0), ("\"abc\\", 0),
            ("\"a\tb\"", 2), ("\"a\u{0}\"", 2), ("'a'", 0),
        ] {
            expect(text, "invalidJSON \(at)")
        }
        for bytes in [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82]] as [[UInt8]] {
            for piece in [nil, 1] {
                #expect(JSONSample.read(bytes: [0x22, 0x61, 0x62] + bytes + [0x22], piece: piece) == "invalidUTF8 3")
            }
        }
        // Where no string is, a character is only the wrong one.
        expect("{\"a\":😀}", "invalidJSON 5")
        // UTF-16 is none.
        #expect(JSONSample.read(bytes: [0xff, 0xfe, 0x7b, 0x00]) == "invalidUTF8 0")
    }

    @Test func whereATextIsWrong() {
        for (text, at) in [
            ("", 0), ("  ", 2), ("[1,2", 4), ("[1,]", 3), ("[,1]", 1), ("{\"a\":1,}", 7), ("{\"a\" 1}", 5),
            ("{a:1}", 1), ("{\"a\":1} x", 8), ("[1,2]]", 5), ("tru", 0),
            ("truex", 0), ("nulls", 0), ("{\"a\":}", 5), ("{1:2}", 1), ("{\"a\":1", 6), ("{", 1), ("[", 1), ("]", 0),
            ("[1 2]", 3), ("1 2", 2), ("/**/1", 0), ("[1}", 2), ("\u{7f}", 0),
        ] { expect(text, "invalidJSON \(at)") }
    }

    @Test func relaxed() {
        // The sample of the Java documentation (A23).
        expect(
            #"{ name: "Doctor Cucumber", age: 1, species: "bullfrog", owner: "Wirt" }"#,
            #"{"name":"Doctor Cucumber","age":1,"species":"bullfrog","owner":"Wirt"}"#, .relaxed)
        expect(
            "// first\n{ _a1: 'It\\'s \"x\"', /* * ** */ $b: [1,2,], é: 'z', }",
            #"{"_a1":"It's "x"","$b":[1,2],"é":"z"}"#, .relaxed)
        expect("[NaN, Infinity, -Infinity]", "[nan,inf,-inf]", .relaxed)
        expect("[1,2,] // end", "1 | 2", .relaxed, elements: true)
        expect("{\"a\":1}", "{\"a\":1}", .relaxed)
        for (text, at) in [
            ("{a-b:1}", 2), ("{1a:1}", 1), ("[1,,2]", 3), ("[,]", 1), ("{,}", 1), ("/* x", 0), ("/", 0), ("'a", 0),
            ("{a}", 2), ("NaNs", 0), ("name", 0),
        ] {
            expect(text, "invalidJSON \(at)", .relaxed)
        }
        #expect(JSONSample.read(bytes: [0x7b, 0xff, 0x3a, 0x31, 0x7d], .relaxed) == "invalidUTF8 1")
    }

    @Test func elementByElement() {
        expect(#"[{"a":1}, {"a":2} ,3]"#, #"{"a":1} | {"a":2} | 3"#, elements: true)
        expect("[]", "", elements: true)
        expect(" [ ] ", "", elements: true)
        expect("[1,2,x]", "1 | 2 | invalidJSON 5", elements: true)
        expect("[1,2] y", "1 | 2 | invalidJSON 6", elements: true)
        expect("[1,2", "1 | 2 | invalidJSON 4", elements: true)
        expect("{\"a\":1}", "invalidJSON 0", elements: true)
        expect("3", "invalidJSON 0", elements: true)
    }

    @Test func depth() {
        let most = JSONReader.maximumDepth
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        expect(nested(most), nested(most))
        expect(nested(most + 1), "outOfRange \(most)")
        expect(String(repeating: "[", count: 1_000_000), "outOfRange \(most)")
        expect("[" + nested(most) + "]", nested(most), elements: true)
    }

    /// More than pieces hold, elements of all sizes: nothing is lost where the window slides or grows, and lines are
    /// counted.
    @Test func aLongText() {
        var random = IndexRandom(7), text = "[", wanted: [String] = []
        for index in 0..<3000 {
            let string = String(repeating: "é\\n", count: random.chance(0.01) ? random.below(60_000) : random.below(40))
            text += (index == 0 ? "" : ",") + "\n{\"n\":\(index), \"t\":\"\(string)\"}"
            wanted.append("{\"n\":\(index),\"t\":\(string.utf8.count)}")
        }
        let bytes = Array((text + ",\n!]").utf8)
        bytes.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) -> Void in
            for piece in [nil, 65536, 1000] {
                let reader = JSONReader(JSONSample.source(bytes, piece), elements: true)
                var seen = 0
                do throws(StoreError) {
                    while try reader.next() {
                        let values = reader.values
                        let length = values[4].count / 3 * 4
                        if "{\"n\":\(values[2].low),\"t\":\(length)}" != wanted[seen] || reader.element != seen {
                            Issue.record("element \(seen), by \(piece ?? 0)")
                            return
                        }
                        seen += 1
                    }
                    Issue.record("no error")
                } catch {
                    #expect(error.position == bytes.count - 2)
                    #expect(error.message == "line 3002, column 1, at $[3000]: a value was expected, not \"!\"")
                }
                #expect(seen == 3000)
            }
        }
    }

    @Test func whatTheReaderIsGiven() {
        // Fails, or says that it filled more than there was room for.
        for (wanted, read) in [
            (
                StatusCode.io,
                { (_: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int in throw StoreError(.io, "gone") }
            ),
            (.invalidArgument, { (room: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int in room.count + 1 }),
            (.invalidArgument, { (_: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int in -1 }),
        ] {
            let reader = JSONReader(.read(read), elements: true)
            do throws(StoreError) {
                _ = try reader.next()
                Issue.record("no error")
            } catch {
                #expect(error.code == wanted)
            }
            // Nothing more comes after an error.
            #expect((try? reader.next()) == false)
        }
        let text = Array("\"12345678\"".utf8)
        text.withUnsafeBytes { text in
            for (limit, code) in [(8, StatusCode.ok), (7, .valueTooLarge)] {
                let reader = JSONReader(.memory(text), elements: false, textLimit: limit)
                do throws(StoreError) {
                    _ = try reader.next()
                    #expect(code == .ok)
                } catch {
                    #expect(error.code == code)
                }
            }
        }
    }

    /// Path and place of each value of a text, and of a key that of its member.
    @Test func paths() throws {
        let text = "{\"a\":1,\n \"dogs\":[{\"age\":2},{}, {\"age\":[], \"x y\":null}],\"z\":{}}"
        let found = try JSONSample.values(text) { (reader) throws(StoreError) -> [String] in
            reader.values.indices.map { JSONPath.text(reader.values, $0) }
        }
        #expect(
            found == [
                "", ".a", ".a", ".dogs", ".dogs", ".dogs[0]", ".dogs[0].age", ".dogs[0].age", ".dogs[1]", ".dogs[2]",
                ".dogs[2].age", ".dogs[2].age",
                ".dogs[2][\"x y\"]", ".dogs[2][\"x y\"]", ".z", ".z",
            ])
        let error = try JSONSample.values(text) { (reader) throws(StoreError) in
            reader.naming(StoreError(.wrongType, "no").at(class: "Dog", property: "age"), value: 7)
        }
        #expect(error.message == "line 2, column 17, at $.dogs[0].age: no")
        #expect(error.position == 24 && error.className == "Dog" && error.propertyName == "age")
    }

    // MARK: Numbers

    private func convert(_ text: String, _ kind: ValueKind) -> String {
        do throws(StoreError) {
            return try JSONSample.values(text, .all) { (reader) throws(StoreError) in
                let value = try JSONNumber.convert(reader.values[0], to: kind)
                return "\(value.kind) \(value.text)"
            }
        } catch {
            return "\(error.code)"
        }
    }

    /// X3: an integer fits a float or double that has exactly it, a fraction no int; nothing becomes infinite.
    @Test func numbersForProperties() {
        for (text, kind, wanted) in [
            ("5", ValueKind.int, "int 5"), ("5.0", .int, "wrongType"), ("5e0", .int, "wrongType"),
            ("-0", .int, "int 0"), ("9223372036854775808", .int, "outOfRange"),
            ("NaN", .int, "wrongType"),
            ("5", .double, "double 5.0"), ("0.1", .double, "double 0.1"), ("-0", .double, "double -0.0"),
            ("9007199254740992", .double, "double 9007199254740992.0"),
            ("9007199254740993", .double, "outOfRange"), ("9007199254740993.0", .double, "double 9007199254740992.0"),
            ("9223372036854775808", .double, "double 9.223372036854776e+18"),
            ("9223372036854775809", .double, "outOfRange"), ("1e308", .double, "double 1e+308"),
            ("1e309", .double, "outOfRange"), ("1e-400", .double, "double 0.0"),
            ("1606938044258990275541962092341162602522202993782792835301376", .double, "double 1.6069380442589903e+60"),
            ("1606938044258990275541962092341162602522202993782792835301377", .double, "outOfRange"),
            ("NaN", .double, "double nan"), ("-Infinity", .double, "double -inf"),
            ("16777216", .float, "float 16777216.0"), ("16777217", .float, "outOfRange"),
            ("16777217.0", .float, "float 16777216.0"), ("0.1", .float, "float 0.1"), ("1e39", .float, "outOfRange"),
            ("340282346638528859811704183484516925440", .float, "float 3.4028235e+38"),
            ("Infinity", .float, "float inf"),
            // Half way between two floats but for a digit that a double does not have.
            ("1.00000005960464477540", .float, "float 1.0000001"), ("1.00000005960464477539", .float, "float 1.0"),
            ("5", .decimal128, "decimal128 5"), ("1.10", .decimal128, "decimal128 1.10"),
            ("1e400", .decimal128, "decimal128 1E+400"),
            ("12345678901234567890123456789012345", .decimal128, "outOfRange"),
            ("NaN", .decimal128, "decimal128 NaN"), ("-Infinity", .decimal128, "decimal128 -Infinity"),
            ("5", .mixed, "int 5"), ("5.0", .mixed, "double 5.0"),
            ("18446744073709551616", .mixed, "decimal128 18446744073709551616"), ("1e400", .mixed, "outOfRange"),
            ("-0", .mixed, "double -0.0"),
            (#"{"$numberDouble":"1e300"}"#, .float, "outOfRange"), (#"{"$numberDouble":"1.5"}"#, .float, "float 1.5"),
            (#"{"$numberDouble":"1.5"}"#, .decimal128, "wrongType"),
            (#"{"$numberDouble":"5"}"#, .mixed, "double 5.0"), (#"{"$numberDouble":"5"}"#, .int, "wrongType"),
            ("1", .bool, "wrongType"), ("1", .string, "wrongType"), ("1.5", .timestamp, "wrongType"),
        ] { #expect(convert(text, kind) == wanted, "\(text) for a \(kind)") }
    }

    /// The fast ways against Swift's own reading, near the edges of both: random digits, powers of ten from -340 to
    /// 310.
    @Test func doublesAreTheNearest() {
        var random = IndexRandom(3)
        for round in 0..<40_000 {
            var text = random.chance(0.5) ? "-" : ""
            text +=
                String(1 + random.below(9))
                + String((0..<random.below(20)).map { _ in Character(String(random.below(10))) })
            if random.chance(0.6) {
                text += "." + String((0...random.below(20)).map { _ in Character(String(random.below(10))) })
            }
            if random.chance(0.7) { text += "e\(round % 2 == 0 ? random.below(50) - 25 : random.below(650) - 340)" }
            var copy = text
            let found = copy.withUTF8 { JSONNumber.double(UnsafeRawBufferPointer($0)) }
            if found.bitPattern != Double(text)!.bitPattern { Issue.record("\(text): \(found)") }
        }
    }
}
