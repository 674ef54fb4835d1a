/// Constants and names as text.
extension QueryPrinter {
    mutating func constant(_ value: Value) {
        switch value.kind {
        case .null: write("NULL")
        case .string: quoted(value.utf8, "\"")
        case .binary: binary(value)
        case .float:
            let float = value.asFloat
            append(float.isFinite ? "\(float)f" : "float(\(float.isNaN ? "nan" : "\(float)"))")
        case .double: double(value)
        case .decimal128: append("decimal(\(value.text))")
        case .timestamp: append("T\(value.low):\(value.high)")
        case .objectID: append("oid(\(value.text))")
        case .uuid: append("uuid(\(value.text))")
        case .link:
            let object = value.givenObject
            append("link(\(object.classID), \(object.key)\(object.storeTag == 0 ? "" : ", \(object.storeTag)"))")
        default: append(value.text)
        }
    }

    private mutating func append(_ text: String) { output.append(contentsOf: text.utf8) }

    /// As short as it can be, unless what was written has more digits than a double.
    private mutating func double(_ value: Value) {
        let double = value.asDouble, short = double.isNaN ? "nan" : "\(double)"
        if let pointer = value.pointer, value.count > 0 {
            let written = UnsafeRawBufferPointer(start: pointer, count: value.count)
            let exact = try? Decimal128(written)
            if exact == nil || exact != (try? Decimal128(short)) {
                output.append(contentsOf: written)
                return
            }
        }
        append(short)
    }

    private mutating func binary(_ value: Value) {
        let bytes = UnsafeRawBufferPointer(start: value.pointer, count: value.count)
        if bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) {
            write("binary(")
            quoted(value.utf8, "\"")
            return write(")")
        }
        write("B64\"")
        let count = TextForms.base64Count(bytes.count), start = output.count
        output.append(contentsOf: repeatElement(0, count: count))
        output.withUnsafeMutableBufferPointer { TextForms.base64(bytes, to: $0.baseAddress.unsafelyUnwrapped + start) }
        write("\"")
    }

    /// In quotes, with escapes.
    mutating func quoted(_ bytes: [UInt8], _ quote: UnicodeScalar) {
        let quote = UInt8(ascii: quote)
        output.append(quote)
        for byte in bytes {
            switch byte {
            case quote, UInt8(ascii: "\\"): output += [UInt8(ascii: "\\"), byte]
            case 0..<0x20, 0x7f: escape(byte)
            default: output.append(byte)
            }
        }
        output.append(quote)
    }

    /// A name, escaped where it would end otherwise, or be something else.
    mutating func named(_ bytes: [UInt8]) {
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "$") where index == 0 && QueryPrinter.isArgument(bytes):
                output += [UInt8(ascii: "\\"), byte]
            case _ where QueryLexer.isLetter(byte): output.append(byte)
            case UInt8(ascii: "-"), 0x30...0x39:
                if index > 0 {
                    output.append(byte)
                } else if byte == UInt8(ascii: "-") {
                    output += [UInt8(ascii: "\\"), byte]
                } else {
                    append("\\u003\(byte - 0x30)")
                }
            case 0x20..<0x7f: output += [UInt8(ascii: "\\"), byte]
            default: escape(byte)
            }
        }
    }

    /// `$0` and `$K0` would be arguments, and `$0-1` a difference.
    private static func isArgument(_ name: [UInt8]) -> Bool {
        let rest = name.dropFirst(name.dropFirst().first == UInt8(ascii: "K") ? 2 : 1)
        let end = rest.drop(while: QueryLexer.isDigit)
        return end.count < rest.count && (end.isEmpty || end.first == UInt8(ascii: "-"))
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case 0: append("\\0")
        case 0x08: append("\\b")
        case 0x09: append("\\t")
        case 0x0a: append("\\n")
        case 0x0c: append("\\f")
        case 0x0d: append("\\r")
        default: append("\\u00" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16))
        }
    }
}

extension Value {
    /// Of a text or a binary.
    var utf8: [UInt8] { kind.isText ? Array(UnsafeRawBufferPointer(start: pointer, count: count)) : [] }
}

extension QueryOperator {
    /// With blanks before and, where no `[c]` can come, none behind.
    var text: StaticString {
        switch self {
        case .equal: " =="
        case .notEqual: " !="
        case .less: " <"
        case .lessOrEqual: " <="
        case .greater: " >"
        case .greaterOrEqual: " >="
        case .isIn: " IN"
        case .between: " BETWEEN"
        case .beginsWith: " BEGINSWITH"
        case .endsWith: " ENDSWITH"
        case .contains: " CONTAINS"
        case .like: " LIKE"
        case .text: " TEXT"
        case .geoWithin: " GEOWITHIN"
        }
    }
}

extension QueryAggregate {
    var text: StaticString {
        switch self {
        case .sum: ".@sum"
        case .minimum: ".@min"
        case .maximum: ".@max"
        case .average: ".@avg"
        }
    }
}

extension QueryNode.Modifiers {
    var text: StaticString {
        switch rawValue & 3 {
        case 1: "[c]"
        case 2: "[d]"
        case 3: "[cd]"
        default: ""
        }
    }
}
