import Testing

import ObjStoreCore

@Suite struct JSONWriterTests {
    private func write(_ values: [Value], _ options: JSONWriter.Options = []) throws(StoreError) -> String {
        var document = OutputBuffer()
        defer { OutputBuffer.free(&document) }
        let writer = JSONWriter(options)
        try writer.append(try JSONSample.pack(values, into: &document))
        return String(decoding: writer.text, as: UTF8.self)
    }

    private func withString<T>(_ text: String, _ body: (Value) throws(StoreError) -> T) throws(StoreError) -> T {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, text.utf8.count), alignment: 1)
        defer { bytes.deallocate() }
        bytes.copyBytes(from: text.utf8)
        return try body(.string(bytes.baseAddress, text.utf8.count))
    }

    @Test func scalars() throws {
        #expect(try write([.int(.min)]) == "-9223372036854775808")
        #expect(try write([.double(0.1)]) == "0.1")
        #expect(try write([.double(5)]) == "5.0")
        #expect(try write([.double(1e300)]) == "1e+300")
        #expect(try write([.double(-0.0)]) == "-0.0")
        #expect(try write([.float(0.1)]) == "0.1")
        #expect(try write([.bool(true)]) == "true")
        #expect(try write([.decimal128(try Decimal128("1.10"))]) == "1.10")
        #expect(try write([.decimal128(try Decimal128("1.10"))], .extended) == #"{"$numberDecimal":"1.10"}"#)
        #expect(try write([.timestamp(seconds: -1, nanoseconds: 500_000_000)]) == "\"1969-12-31T23:59:59.5Z\"")
        #expect(try write([.timestamp(seconds: 0, nanoseconds: 0)], .extended) == #"{"$date":"1970-01-01T00:00:00Z"}"#)
        try withString("a\"\\\u{1}\n/é\u{7f}\u{0}") { (value) throws(StoreError) in
            let found = try write([value])
            #expect(found == "\"a\\\"\\\\\\u0001\\n/é\u{7f}\\u0000\"")
            let bytes = try write([.binary(value.pointer, 2)]),
                tagged = try write([.binary(value.pointer, 1)], .extended)
            #expect(bytes == "\"YSI=\"" && tagged == #"{"$binary":{"base64":"YQ==","subType":"00"}}"#)
        }
        for value in [Value.double(.nan), .double(.infinity), .float(-.infinity), .decimal128(.nan)] {
            #expect(throws: StoreError.self) { try write([value]) }
            #expect(try write([value], .nullForNaN) == "null")
        }
        #expect(try write([.float(-.infinity)], .extended) == #"{"$numberDouble":"-Infinity"}"#)
    }

    @Test func structureAndPretty() throws {
        try withString("a") { (key) throws(StoreError) in
            let values = [
                Value(kind: .map, low: 1), key, Value(kind: .list, low: 3), .int(1), Value(kind: .list),
                Value(kind: .map),
            ]
            let plain = try write(values), pretty = try write(values, .pretty)
            #expect(plain == #"{"a":[1,[],{}]}"#)
            #expect(pretty == "{\n  \"a\": [\n    1,\n    [],\n    {}\n  ]\n}")
        }
    }

    /// Random documents, written and read back: the same bytes again, plain where kinds are those that JSON has, else
    /// extended.
    @Test(arguments: [false, true]) func roundTrips(isExtended: Bool) throws {
        var random = IndexRandom(11)
        for _ in 0..<400 {
            let sample = RandomDocument(&random, isExtended: isExtended)
            var packed = OutputBuffer(), again = OutputBuffer()
            defer {
                OutputBuffer.free(&packed)
                OutputBuffer.free(&again)
            }
            let document = try JSONSample.pack(sample.values, into: &packed)
            let writer = JSONWriter(isExtended ? .extended : random.chance(0.3) ? .pretty : [])
            try writer.append(document)
            let text = Array(writer.text), piece = 1 + random.below(40)
            try text.withUnsafeBytes { (text: UnsafeRawBufferPointer) throws in
                let reader = JSONReader(
                    JSONSample.source(text, random.chance(0.5) ? piece : nil), elements: false,
                    options: isExtended ? .extended : [])
                #expect(try reader.next())
                let values = try reader.values.map { (value) throws(StoreError) in
                    value.kind == .int || value.kind == .double ? try JSONNumber.convert(value, to: .mixed) : value
                }
                _ = try JSONSample.pack(values, into: &again)
                if packed.length != again.length
                    || !(0..<packed.length).allSatisfy({
                        packed.bytes!.load(fromByteOffset: $0, as: UInt8.self)
                            == again.bytes!.load(fromByteOffset: $0, as: UInt8.self)
                    })
                {
                    Issue.record("\(String(decoding: text, as: UTF8.self))")
                }
                #expect(try reader.next() == false)
            }
        }
    }

    /// The first one was found by libFuzzer, seed 1: written with an exponent, it came back as a double.
    @Test(arguments: [
        "20010000000000000000000000000000000", "-\(UInt128(1) << 112)00", "1" + String(repeating: "0", count: 300),
        "9223372036854775808", "1e300",
    ])
    func integersOfManyDigits(text: String) throws {
        var first = OutputBuffer(), written = OutputBuffer(), second = OutputBuffer()
        defer {
            OutputBuffer.free(&first)
            OutputBuffer.free(&written)
            OutputBuffer.free(&second)
        }
        let bytes = Array(text.utf8)
        _ = try bytes.withUnsafeBytes { try JSONDocument.parse($0, [], into: &first) }
        let json = try JSONDocument.write(try MixedNode(first.bytes, first.length).value(), [], into: &written)
        _ = try JSONDocument.parse(UnsafeRawBufferPointer(start: json.pointer, count: json.count), [], into: &second)
        let same = UnsafeRawBufferPointer(start: first.bytes, count: first.length).elementsEqual(
            UnsafeRawBufferPointer(start: second.bytes, count: second.length))
        #expect(same, "\(text) was written as \(FlatValues.name(json))")
    }

    @Test func points() {
        for (seconds, nanoseconds, text) in [
            (0, 0, "1970-01-01T00:00:00Z"), (1_795_382_375, 1, "2026-11-22T21:19:35.000000001Z"),
            (951_782_400, 0, "2000-02-29T00:00:00Z"), (-62_135_596_800, 0, "0001-01-01T00:00:00Z"),
            (253_402_300_799, 999_000_000, "9999-12-31T23:59:59.999Z"), (253_402_300_800, 0, "+010000-01-01T00:00:00Z"),
            (-62_167_219_201, 0, "-000001-12-31T23:59:59Z"),
            (Int64.max, 0, "+292277026596-12-04T15:30:07Z"), (Int64.min, 0, "-292277022657-01-27T08:29:52Z"),
        ] as [(Int64, Int64, String)] {
            #expect(TextForms.time(seconds: seconds, nanoseconds: nanoseconds) == text)
            let read = time(text)
            #expect(read?.low == seconds && read?.high == nanoseconds, "\(text)")
        }
        let east: Int64 = 1_795_382_375 - 5400
        #expect(time("2026-11-22T21:19:35+01:30")?.low == east)
        for text in [
            "2026-11-22", "2026-11-22T21:19:35", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
            "2026-11-22T24:00:00Z", "2026-11-22T21:19:35.Z",
            "2026-11-22T21:19:35.0000000001Z", "2026-11-22T21:19:35Zx", "+292277026596-12-04T15:30:08Z", "",
        ] { #expect(time(text) == nil, "\(text)") }
        // Every day of 800 years follows the one before.
        let broken = (-146_097..<146_097).first { (day: Int64) in
            time(TextForms.time(seconds: day * 86400, nanoseconds: 0))?.low != day * 86400
        }
        #expect(broken == nil)
    }

    private func time(_ text: String) -> Value? {
        var text = text
        return text.withUTF8 { TextForms.time(UnsafeRawBufferPointer($0)) }
    }

    @Test func base64() {
        var random = IndexRandom(5)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8(random.below(256)) }
            var text = [UInt8](repeating: 0, count: TextForms.base64Count(count)),
                back = [UInt8](repeating: 0, count: count + 3)
            bytes.withUnsafeBytes { bytes in
                text.withUnsafeMutableBufferPointer { if count > 0 { TextForms.base64(bytes, to: $0.baseAddress!) } }
            }
            let length = text.withUnsafeBytes { text in
                back.withUnsafeMutableBufferPointer { TextForms.binary(base64: text, to: $0.baseAddress!) }
            }
            #expect(length == count && Array(back.prefix(count)) == bytes)
        }
        for wrong in ["A", "AA", "AAA", "AA=A", "====", "AB==", "AAB=", "A A=", "AA==AA=="] {
            var back = [UInt8](repeating: 0, count: 16)
            let length = Array(wrong.utf8).withUnsafeBytes { text in
                back.withUnsafeMutableBufferPointer { TextForms.binary(base64: text, to: $0.baseAddress!) }
            }
            #expect(length == nil, "\(wrong)")
        }
    }

    @Test func extended() {
        for (text, wanted) in [
            (#"{"$oid":"507f1f77bcf86cd799439011"}"#, "507f1f77bcf86cd799439011"),
            (#"{"$uuid":"6d6ff1a0-0000-4000-8000-0123456789ab"}"#, "6d6ff1a0-0000-4000-8000-0123456789ab"),
            (#"{"$date":"1970-01-01T00:00:01.5Z"}"#, "1s 500000000ns"),
            (#"{"$date":{"$numberLong":"-1"}}"#, "-1s 999000000ns"), (#"{"$date":1500}"#, "1s 500000000ns"),
            (#"{"$date":-9223372036854775808}"#, "-9223372036854776s 192000000ns"),
            (#"{"$binary":{"base64":"AQID","subType":"00"}}"#, "3 bytes"),
            (
                #"{"$binary":{"subType":"04","base64":"AAECAwQFBgcICQoLDA0ODw=="}}"#,
                "00010203-0405-0607-0809-0a0b0c0d0e0f"
            ),
            (#"{"$binary":"AQI=","$type":"00"}"#, "2 bytes"), (#"{"$type":"00","$binary":"AQI="}"#, "2 bytes"),
            (#"{"$binary":5,"a":1}"#, #"{"$binary":5,"a":1}"#), (#"{"$numberInt":"-5"}"#, "-5"),
            (#"{"$numberDouble":"-Infinity"}"#, "-inf"), (#"{"$numberDouble":"1.5"}"#, "1.5"),
            (#"{"$numberDecimal":"1.10"}"#, "1.10"), (#"{"a":[{"$numberLong":"7"}]}"#, #"{"a":[7]}"#),
            // Nothing that represents a value.
            (#"{"$other":1}"#, #"{"$other":1}"#),
            (#"{"$oid":"507f1f77bcf86cd799439011","b":1}"#, #"{"$oid":"507f1f77bcf86cd799439011","b":1}"#),
            ("{\"$\":1}", "{\"$\":1}"), ("{}", "{}"),
            (#"{"$oid":"x"}"#, "invalidArgument 11"), (#"{"$oid":5}"#, "invalidArgument 9"),
            (#"{"$date":"yesterday"}"#, "invalidArgument 20"),
            (#"{"$numberLong":"9223372036854775808"}"#, "invalidArgument 36"),
            (#"{"$numberInt":"2147483648"}"#, "invalidArgument 26"),
            (#"{"$numberDouble":"1e999"}"#, "invalidArgument 24"),
            (#"{"$numberDouble":"0x1p3"}"#, "invalidArgument 24"), (#"{"$numberDecimal":"x"}"#, "invalidArgument 21"),
            (#"{"$binary":{"base64":"AQ","subType":"00"}}"#, "invalidArgument 41"),
            (#"{"$binary":{"base64":"AQ=="}}"#, "invalidArgument 28"),
            (#"{"$binary":{"base64":"AQ==","subType":"04"}}"#, "invalidArgument 43"),
            (#"{"$binary":[1,2]}"#, "invalidArgument 16"), (#"{"$binary":5}"#, "invalidArgument 12"),
        ] {
            for piece in [nil, 1] { #expect(JSONSample.read(text, .extended, piece: piece) == wanted, "\(text)") }
            if !wanted.hasPrefix("invalid") {
                #expect(JSONSample.read(text).hasPrefix("{"), "\(text): only where it is asked for")
            }
        }
    }
}

/// A document made by chance, of values that JSON has, or that Extended JSON has too.
private final class RandomDocument {
    private(set) var values: [Value] = []
    private var memory: [UnsafeMutableRawBufferPointer] = []

    init(_ random: inout IndexRandom, isExtended: Bool) { append(&random, isExtended, 0) }
    deinit { for piece in memory { piece.deallocate() } }

    private func append(_ random: inout IndexRandom, _ isExtended: Bool, _ depth: Int) {
        switch random.below(isExtended ? 14 : 9) {
        case 0: values.append(.null)
        case 1: values.append(.bool(random.chance(0.5)))
        case 2, 3: values.append(.int(Int64(bitPattern: random.next()) >> Int64(random.below(64))))
        case 4:
            let double = Double(bitPattern: random.next())
            values.append(.double(double.isFinite || isExtended && !double.isNaN ? double : 0.5))
        case 5, 6: values.append(string(&random))
        case 7 where depth < 6:
            let count = random.below(5)
            values.append(Value(kind: .list, low: Int64(count)))
            for _ in 0..<count { append(&random, isExtended, depth + 1) }
        case 8 where depth < 6:
            let count = random.below(5)
            values.append(Value(kind: .map, low: Int64(count)))
            for index in 0..<count {
                values.append(string(&random, "\(index)"))
                append(&random, isExtended, depth + 1)
            }
        case 9:
            values.append(
                .timestamp(
                    seconds: Int64(bitPattern: random.next()) >> Int64(random.below(40)),
                    nanoseconds: Int32(random.below(1_000_000_000))))
        case 10:
            values.append(
                Value(kind: .objectID, low: Int64(bitPattern: random.next()), high: Int64(random.next() >> 32)))
        case 11:
            values.append(
                Value(kind: .uuid, low: Int64(bitPattern: random.next()), high: Int64(bitPattern: random.next())))
        case 12:
            values.append(
                .decimal128(
                    Decimal128(
                        isNegative: random.chance(0.5), exponent: random.below(12_000),
                        coefficient: UInt128(random.next()))))
        case 13:
            let bytes = string(&random)
            values.append(.binary(bytes.pointer, bytes.count))
        default: values.append(.double(Double(random.below(1000)) / 8))
        }
    }

    private func string(_ random: inout IndexRandom, _ first: String = "") -> Value {
        var text = first
        for _ in 0..<random.below(random.chance(0.1) ? 300 : 12) {
            text.unicodeScalars.append(
                UnicodeScalar(
                    [0, 0x22, 0x5c, 0x0a, 0x1f, 0x61, 0xe9, 0x20ac, 0x1f600, 0x10ffff, 0x2028].randomElement(&random))!)
        }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, text.utf8.count), alignment: 1)
        bytes.copyBytes(from: text.utf8)
        memory.append(bytes)
        return .string(bytes.baseAddress, text.utf8.count)
    }
}

extension [UInt32] {
    fileprivate func randomElement(_ random: inout IndexRandom) -> UInt32 { self[random.below(count)] }
}
