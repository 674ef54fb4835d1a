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

    // MARK: Structure

    package func begin(_ kind: ValueKind) throws(StoreError) {
        try next()
        let isMap = kind == .map
        try bytes.append(UInt8(ascii: isMap ? "{" : "["))
        open.append((isMap, false))
    }

    package func end() throws(StoreError) {
        guard let last = open.popLast() else { return }
        if last.isFilled { try breakLine() }
        try bytes.append(UInt8(ascii: last.isMap ? "}" : "]"))
    }

    /// Of the value that comes next. Where `extended` would take the object for what it is not, the key gets one more
    /// `$`.
    package func key(_ key: UnsafeRawBufferPointer) throws(StoreError) {
        try put(key)
    }

    private func put(_ key: UnsafeRawBufferPointer) throws(StoreError) {
        try next()
        if options.contains(.extended), ExtendedJSON.isReserved(key) {
            let longer = ByteBuffer()
            try longer.append(UInt8(ascii: "$"))
            try longer.append(bytes: key.baseAddress, count: key.count)
            try string(UnsafeRawBufferPointer(start: longer.base, count: longer.count))
        } else {
            try string(key)
        }
        try endKey()
    }

    private func endKey() throws(StoreError) {
        try bytes.append(UInt8(ascii: ":"))
        if options.contains(.pretty) { try bytes.append(UInt8(ascii: " ")) }
        isBehindKey = true
    }

    package func key(_ key: String) throws(StoreError) {
        // withUTF8 is rethrowing: the error goes around it.
        var key = key
        let result: Result<Void, StoreError> = key.withUTF8 { bytes in
            do throws(StoreError) { return .success(try put(UnsafeRawBufferPointer(bytes))) } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// `{"$ref": "Dog", "$id": …}`: of the id, the value that comes next; then the object ends.
    package func beginReference(to name: String) throws(StoreError) {
        try begin(.map)
        try next()
        try quoted("$ref")
        try endKey()
        try append(name: name)
        try next()
        try quoted("$id")
        try endKey()
    }

    package var isExtended: Bool { options.contains(.extended) }

    /// The separator between a value or key and what came before.
    private func next() throws(StoreError) {
        if isBehindKey {
            isBehindKey = false
            return
        }
        guard let top = open.indices.last else { return }
        if open[top].isFilled { try bytes.append(UInt8(ascii: ",")) }
        open[top].isFilled = true
        try breakLine()
    }

    private func breakLine() throws(StoreError) {
        guard options.contains(.pretty) else { return }
        try bytes.append(UInt8(0x0a))
        for _ in open { try bytes.append(UInt16(0x2020)) }
    }

    // MARK: Values

    /// A value that is no list, set or map; `.outOfRange` for NaN and the infinities, where they are refused.
    package func append(_ value: Value) throws(StoreError) {
        switch value.kind {
        case .null: try word("null")
        case .bool: try word(value.low != 0 ? "true" : "false")
        case .int: try word(String(value.low))
        case .float: try number(value.asFloat.isFinite, value, "\(value.asFloat)")
        case .double: try number(value.asDouble.isFinite, value, "\(value.asDouble)")
        case .decimal128:
            let decimal = value.asDecimal
            if options.contains(.extended) {
                try tagged("$numberDecimal", decimal.text)
            } else {
                try number(decimal.isFinite, value, decimal.jsonText)
            }
        case .string:
            try next()
            try string(UnsafeRawBufferPointer(start: value.pointer, count: value.count))
        case .binary: try binary(UnsafeRawBufferPointer(start: value.pointer, count: value.count))
        case .timestamp: try text(TextForms.time(seconds: value.low, nanoseconds: value.high), "$date")
        case .objectID: try text(value.text, "$oid")
        case .uuid: try text(value.text, "$uuid")
        case .document: try append(node: try MixedNode(value.pointer, value.count))
        case .link, .list, .set, .map, .mixed:
            throw StoreError(.wrongType, "\(value.kind.indefinite) is no value that JSON has a form for")
        }
    }

    package func append(name: String) throws(StoreError) {
        try next()
        try string(name)
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

    private func word(_ text: String) throws(StoreError) {
        try next()
        try append(text)
    }

    private func append(_ text: String) throws(StoreError) {
        try bytes.append(utf8: text)
    }

    private func number(_ isFinite: Bool, _ value: Value, _ text: String) throws(StoreError) {
        if isFinite { return try word(text) }
        if options.contains(.extended) {
            let double = value.kind == .float ? Double(value.asFloat) : value.asDouble
            return try tagged("$numberDouble", double.isNaN ? "NaN" : double < 0 ? "-Infinity" : "Infinity")
        }
        guard options.contains(.nullForNaN) else { throw StoreError(.outOfRange, "JSON has no form for \(text)") }
        try word("null")
    }

    private func text(_ text: String, _ tag: String) throws(StoreError) {
        if options.contains(.extended) { return try tagged(tag, text) }
        try next()
        try quoted(text)
    }

    private func tagged(_ tag: String, _ text: String) throws(StoreError) {
        try word("{\"\(tag)\":")
        try quoted(text)
        try bytes.append(UInt8(ascii: "}"))
    }

    /// A text without anything to escape.
    private func quoted(_ text: String) throws(StoreError) {
        try bytes.append(UInt8(ascii: "\""))
        try append(text)
        try bytes.append(UInt8(ascii: "\""))
    }

    private func binary(_ binary: UnsafeRawBufferPointer) throws(StoreError) {
        try word(options.contains(.extended) ? "{\"$binary\":{\"base64\":\"" : "\"")
        TextForms.base64(
            binary, to: try bytes.extend(by: TextForms.base64Count(binary.count)).assumingMemoryBound(to: UInt8.self))
        try append(options.contains(.extended) ? "\",\"subType\":\"00\"}}" : "\"")
    }

    private func string(_ text: String) throws(StoreError) {
        // withUTF8 is rethrowing: the error goes around it.
        var text = text
        let result: Result<Void, StoreError> = text.withUTF8 { bytes in
            do throws(StoreError) { return .success(try string(UnsafeRawBufferPointer(bytes))) } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Pieces without anything to escape are copied as they are.
    private func string(_ text: UnsafeRawBufferPointer) throws(StoreError) {
        try bytes.append(UInt8(ascii: "\""))
        var start = 0, at = 0
        while at < text.count {
            let byte = text[at]
            if byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") {
                at &+= 1
                continue
            }
            if at > start { try bytes.append(bytes: text.baseAddress.unsafelyUnwrapped + start, count: at - start) }
            try escape(byte)
            at &+= 1
            start = at
        }
        if at > start { try bytes.append(bytes: text.baseAddress.unsafelyUnwrapped + start, count: at - start) }
        try bytes.append(UInt8(ascii: "\""))
    }

    private func escape(_ byte: UInt8) throws(StoreError) {
        try bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x0a: try bytes.append(UInt8(ascii: "n"))
        case 0x09: try bytes.append(UInt8(ascii: "t"))
        case 0x0d: try bytes.append(UInt8(ascii: "r"))
        case 0x08: try bytes.append(UInt8(ascii: "b"))
        case 0x0c: try bytes.append(UInt8(ascii: "f"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): try bytes.append(byte)
        default: try append(byte < 0x10 ? "u000\(String(byte, radix: 16))" : "u00\(String(byte, radix: 16))")
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
