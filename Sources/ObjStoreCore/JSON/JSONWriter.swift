/// Writes JSON text, piece by piece, into memory that it keeps: UTF-8, RFC 8259.
///
/// Numbers come back as they are from a `JSONReader`: ints and decimals digit by digit, floats and doubles as the
/// shortest number that is nearest to them alone, a double that is a whole number with ".0".
package final class JSONWriter {
    package struct Options: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// One element a line, two spaces for each level.
        package static let pretty = Options(rawValue: 4)
        /// What JSON has no form for as in `JSONOptions.extended`; else dates, binaries and ids are texts, decimals
        /// numbers.
        package static let extended = Options(rawValue: 1)
        /// NaN and the infinities are null; else they are refused, unless `extended` has a form for them.
        package static let nullForNaN = Options(rawValue: 8)
        package static let all: Options = [.pretty, .extended, .nullForNaN]
    }

    let bytes = ByteBuffer()
    private let options: Options
    /// Of the lists and objects that are open: whether they have an element, and whether they are objects.
    private var open: [(isMap: Bool, isFilled: Bool)] = []
    private var isBehindKey = false

    package init(_ options: Options = []) { self.options = options }

    /// What was written; valid until something more is.
    package var text: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes.base, count: bytes.count) }
    /// Forgets what was written, not where in the text it is.
    package func removeText() { bytes.removeAll() }

    /// Memory for a text or binary of this many bytes, escaped, and for what surrounds it.
    private func expect(_ count: Int) throws(StoreError) { try bytes.expect(6 * count + 2 * open.count + 128) }

    // MARK: Structure

    package func begin(_ kind: ValueKind) throws(StoreError) {
        try expect(0)
        next()
        let isMap = kind == .map
        bytes.append(UInt8(ascii: isMap ? "{" : "["))
        open.append((isMap, false))
    }

    package func end() throws(StoreError) {
        try expect(0)
        guard let last = open.popLast() else { return }
        if last.isFilled { breakLine() }
        bytes.append(UInt8(ascii: last.isMap ? "}" : "]"))
    }

    /// Of the value that comes next. Where `extended` would take the object for what it is not, the key gets one more
    /// `$`.
    package func key(_ key: UnsafeRawBufferPointer) throws(StoreError) {
        try expect(key.count)
        put(key)
    }

    private func put(_ key: UnsafeRawBufferPointer) {
        next()
        if options.contains(.extended), ExtendedJSON.isReserved(key) {
            let longer = ByteBuffer()
            longer.append(UInt8(ascii: "$"))
            longer.append(bytes: key.baseAddress, count: key.count)
            string(UnsafeRawBufferPointer(start: longer.base, count: longer.count))
        } else {
            string(key)
        }
        endKey()
    }

    private func endKey() {
        bytes.append(UInt8(ascii: ":"))
        if options.contains(.pretty) { bytes.append(UInt8(ascii: " ")) }
        isBehindKey = true
    }

    package func key(_ key: String) throws(StoreError) {
        try expect(key.utf8.count)
        var key = key
        key.withUTF8 { put(UnsafeRawBufferPointer($0)) }
    }

    /// `{"$ref": "Dog", "$id": …}`: of the id, the value that comes next; then the object ends.
    package func beginReference(to name: String) throws(StoreError) {
        try begin(.map)
        try expect(2 * name.utf8.count + 64)
        next()
        quoted("$ref")
        endKey()
        append(name: name)
        next()
        quoted("$id")
        endKey()
    }

    package var isExtended: Bool { options.contains(.extended) }

    /// The separator between a value or key and what came before.
    private func next() {
        if isBehindKey {
            isBehindKey = false
            return
        }
        guard let top = open.indices.last else { return }
        if open[top].isFilled { bytes.append(UInt8(ascii: ",")) }
        open[top].isFilled = true
        breakLine()
    }

    private func breakLine() {
        guard options.contains(.pretty) else { return }
        bytes.append(UInt8(0x0a))
        for _ in open { bytes.append(UInt16(0x2020)) }
    }

    // MARK: Values

    /// A value that is no list, set or map; `.outOfRange` for NaN and the infinities, where they are refused.
    package func append(_ value: Value) throws(StoreError) {
        try expect(value.kind.isText ? value.count : 0)
        switch value.kind {
        case .null: word("null")
        case .bool: word(value.low != 0 ? "true" : "false")
        case .int: word(String(value.low))
        case .float: try number(value.asFloat.isFinite, value, "\(value.asFloat)")
        case .double: try number(value.asDouble.isFinite, value, "\(value.asDouble)")
        case .decimal128:
            let decimal = value.asDecimal
            if options.contains(.extended) {
                tagged("$numberDecimal", decimal.text)
            } else {
                try number(decimal.isFinite, value, decimal.jsonText)
            }
        case .string:
            next()
            string(UnsafeRawBufferPointer(start: value.pointer, count: value.count))
        case .binary: binary(UnsafeRawBufferPointer(start: value.pointer, count: value.count))
        case .timestamp: text(TextForms.time(seconds: value.low, nanoseconds: value.high), "$date")
        case .objectID: text(value.text, "$oid")
        case .uuid: text(value.text, "$uuid")
        case .document: try append(node: try MixedNode(value.pointer, value.count))
        case .link, .list, .set, .map, .mixed:
            throw StoreError(.wrongType, "\(value.kind.indefinite) is no value that JSON has a form for")
        }
    }

    package func append(name: String) {
        var name = name
        next()
        name.withUTF8 { string(UnsafeRawBufferPointer($0)) }
    }

    private func append(node: MixedNode) throws(StoreError) {
        let kind = try node.kind
        guard kind == .list || kind == .map else { return try append(try node.value()) }
        let container = try MixedContainer(node)
        try begin(kind)
        for index in 0..<container.count {
            if kind == .map {
                let key = try container.key(index)
                guard UTF8Check.isValid(key.baseAddress, key.count) else {
                    throw MixedNode.damaged("a key that is not valid UTF-8")
                }
                try self.key(key)
            }
            try append(node: try container.node(index))
        }
        try end()
    }

    private func word(_ text: String) {
        next()
        append(text)
    }

    private func append(_ text: String) {
        var text = text
        text.withUTF8 { bytes.append(bytes: $0.baseAddress, count: $0.count) }
    }

    private func number(_ isFinite: Bool, _ value: Value, _ text: String) throws(StoreError) {
        if isFinite { return word(text) }
        if options.contains(.extended) {
            let double = value.kind == .float ? Double(value.asFloat) : value.asDouble
            return tagged("$numberDouble", double.isNaN ? "NaN" : double < 0 ? "-Infinity" : "Infinity")
        }
        guard options.contains(.nullForNaN) else { throw StoreError(.outOfRange, "JSON has no form for \(text)") }
        word("null")
    }

    private func text(_ text: String, _ tag: String) {
        if options.contains(.extended) { return tagged(tag, text) }
        next()
        quoted(text)
    }

    private func tagged(_ tag: String, _ text: String) {
        word("{\"\(tag)\":")
        quoted(text)
        bytes.append(UInt8(ascii: "}"))
    }

    /// A text without anything to escape.
    private func quoted(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        append(text)
        bytes.append(UInt8(ascii: "\""))
    }

    private func binary(_ binary: UnsafeRawBufferPointer) {
        word(options.contains(.extended) ? "{\"$binary\":{\"base64\":\"" : "\"")
        TextForms.base64(
            binary, to: bytes.extend(by: TextForms.base64Count(binary.count)).assumingMemoryBound(to: UInt8.self))
        append(options.contains(.extended) ? "\",\"subType\":\"00\"}}" : "\"")
    }

    /// Pieces without anything to escape are copied as they are.
    private func string(_ text: UnsafeRawBufferPointer) {
        bytes.append(UInt8(ascii: "\""))
        var start = 0, at = 0
        while at < text.count {
            let byte = text[at]
            if byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") {
                at &+= 1
                continue
            }
            if at > start { bytes.append(bytes: text.baseAddress.unsafelyUnwrapped + start, count: at - start) }
            escape(byte)
            at &+= 1
            start = at
        }
        if at > start { bytes.append(bytes: text.baseAddress.unsafelyUnwrapped + start, count: at - start) }
        bytes.append(UInt8(ascii: "\""))
    }

    private func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x0a: bytes.append(UInt8(ascii: "n"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0d: bytes.append(UInt8(ascii: "r"))
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x0c: bytes.append(UInt8(ascii: "f"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        default: append(byte < 0x10 ? "u000\(String(byte, radix: 16))" : "u00\(String(byte, radix: 16))")
        }
    }
}

extension Decimal128 {
    /// As a number of JSON. What an integer of more than 34 digits is read as (34 of them and a power of ten) is
    /// written as that integer: with an exponent it would come back as a double.
    fileprivate var jsonText: String {
        let zeros = exponent - Decimal128.bias
        guard isFinite, zeros > 0, coefficient >= 1_000_000_000_000_000_000_000_000_000_000_000 else { return text }
        return (isNegative ? "-" : "") + String(coefficient) + String(repeating: "0", count: zeros)
    }
}
