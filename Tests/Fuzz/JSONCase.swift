import ObjStoreCore

/// One JSON text that may be anything, read in every way: whatever comes of it, it is the same from memory and by
/// pieces, and a value that was read, written and read again is itself.
///
/// ```
///  byte 0   bit 0: extended  ·  bit 1: relaxed  ·  bit 2: element by element  ·  bits 3–7: bytes of a piece, less one
///  then     the text
/// ```
enum JSONCase {
    /// Returns what the reader said, in a word.
    static func run(_ bytes: UnsafeRawBufferPointer) -> String {
        let flags = bytes.first ?? 0, text = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        let options = JSONOptions(rawValue: UInt32(flags & 3)), elements = flags & 4 != 0, piece = Int(flags >> 3) + 1
        let whole = transcript(JSONReader(.memory(text), elements: elements, options: options))
        var at = 0
        let pieces = transcript(
            JSONReader(
                .read({ (room) throws(StoreError) in
                    let count = min(piece, text.count - at, room.count)
                    if count > 0 { room.copyBytes(from: text[at..<at + count]) }
                    at += count
                    return count
                }), elements: elements, options: options))
        precondition(
            whole.values == pieces.values && whole.error == pieces.error,
            "memory and pieces of \(piece) bytes differ: \(whole.error), \(pieces.error)")
        if whole.error == "", !elements { again(text, options) }
        return whole.error == "" ? "read" : String(whole.error.prefix { $0 != " " })
    }

    private static func transcript(_ reader: JSONReader) -> (values: [UInt8], error: String) {
        var values: [UInt8] = []
        do throws(StoreError) {
            while try reader.next() {
                for (index, value) in reader.values.enumerated() {
                    values.append(value.kind.rawValue)
                    withUnsafeBytes(of: value.low) {
                        if value.kind != .string && value.kind != .binary { values += $0 }
                    }
                    values += UnsafeRawBufferPointer(start: value.pointer, count: value.count)
                    values += Array(JSONPath.text(reader.values, index).utf8.suffix(index < 50 ? 20 : 0))
                }
            }
            return (values, "")
        } catch {
            return (values, "\(error.code) \(error.position) \(error.message)")
        }
    }

    /// A document, and what it is after it was written and read, both ways.
    private static func again(_ text: UnsafeRawBufferPointer, _ options: JSONOptions) {
        var first = OutputBuffer(), written = OutputBuffer(), second = OutputBuffer(), third = OutputBuffer()
        defer {
            OutputBuffer.free(&first)
            OutputBuffer.free(&written)
            OutputBuffer.free(&second)
            OutputBuffer.free(&third)
        }
        do throws(StoreError) { _ = try JSONDocument.parse(text, options, into: &first) } catch { return }
        do throws(StoreError) {
            let value = try MixedNode(first.bytes, first.length).value(), isExtended = options.contains(.extended)
            let format: JSONWriter.Options = isExtended ? .extended : options.contains(.relaxed) ? .nullForNaN : []
            let json = try JSONDocument.write(value, format, into: &written)
            _ = try JSONDocument.parse(
                UnsafeRawBufferPointer(start: json.pointer, count: json.count), isExtended ? .extended : [],
                into: &second)
            if options.contains(.relaxed), !isExtended {
                // NaN became null: from there on nothing changes.
                let nulls = try JSONDocument.write(try MixedNode(second.bytes, second.length).value(), [], into: &third)
                precondition(nulls.count == written.length && equal(third, written), "not the same when written again")
            } else {
                precondition(equal(first, second), "not the same when read again")
            }
        } catch {
            fatalError("what was written cannot be read: \(error)")
        }
    }

    private static func equal(_ a: OutputBuffer, _ b: OutputBuffer) -> Bool {
        UnsafeRawBufferPointer(start: a.bytes, count: a.length).elementsEqual(
            UnsafeRawBufferPointer(start: b.bytes, count: b.length))
    }

    /// A text of pieces of JSON, right more often than not, with a few bytes changed.
    static func random(_ random: inout some NumberSource) -> [UInt8] {
        var bytes = [UInt8(truncatingIfNeeded: random.next())]
        value(&random, 0, &bytes)
        if random.chance(0.5) {
            for _ in 0..<1 + random.below(4) {
                let at = random.below(bytes.count)
                switch random.below(3) {
                case 0: bytes[at] = UInt8(truncatingIfNeeded: random.next())
                case 1: if bytes.count > 1 { bytes.remove(at: at) }
                default:
                    let marks = Array("{}[]:,\"'\\/*nt0-.eu$ \n".utf8)
                    bytes.insert(marks[random.below(marks.count)], at: at)
                }
            }
        }
        return bytes
    }

    private static func value(_ random: inout some NumberSource, _ depth: Int, _ bytes: inout [UInt8]) {
        func word(_ text: String) { bytes += Array(text.utf8) }
        switch random.below(depth > 5 ? 6 : 9) {
        case 0: word(["null", "true", "false", "NaN", "-Infinity"][random.below(5)])
        case 1: word(String(Int64(bitPattern: random.next()) >> Int64(random.below(64))))
        case 2:
            word(
                [
                    "0", "-0", "1e400", "9223372036854775808", "0.1", "-1.5e-7",
                    "12345678901234567890123456789012345678901", "1E5",
                ][random.below(8)])
        case 3:
            word(
                ["\"\"", "\"a\\u00e9\\ud83d\\ude00\"", "'it'", "\"\\ud800\"", "\"é€😀\\n\"", "\"\\u0000\""][
                    random.below(6)])
        case 4:
            word(
                [
                    #"{"$oid":"507f1f77bcf86cd799439011"}"#, #"{"$date":"2026-11-22T21:19:35.5Z"}"#,
                    #"{"$date":{"$numberLong":"-1"}}"#, #"{"$binary":{"base64":"AQID","subType":"00"}}"#,
                    #"{"$numberDecimal":"1.10"}"#, #"{"$numberDouble":"NaN"}"#,
                    #"{"$uuid":"6d6ff1a0-0000-4000-8000-0123456789ab"}"#,
                ][random.below(7)])
        case 5: word([" ", "\n", "/* c */1", "// c\n2"][random.below(4)])
        case 6:
            word("[")
            for index in 0..<random.below(5) {
                if index > 0 { word(", ") }
                value(&random, depth + 1, &bytes)
            }
            word(random.chance(0.1) ? ",]" : "]")
        default:
            word("{")
            for index in 0..<random.below(5) {
                if index > 0 { word(",") }
                word(
                    ["\"k\(index)\":", "k\(index):", "'k\(index)' : ", "\"\":", "\"$x\":"][
                        random.below(random.chance(0.8) ? 1 : 5)])
                value(&random, depth + 1, &bytes)
            }
            word("}")
        }
    }
}
