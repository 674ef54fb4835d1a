/// Objects of a JSON text that represent one value, as in MongoDB's Extended JSON, version 2: {"$oid": "…"}.
///
/// A map of the application that looks like one comes back as the map that it was: its key is written with one more
/// `$`, which the reader takes away again.
/// ```
///  in the store        {"$oid": "x"}     {"$$oid": "x"}      {"$other": "x"}
///  in the text         {"$$oid": "x"}    {"$$$oid": "x"}     {"$other": "x"}
/// ```
enum ExtendedJSON {
    private static let reserved = [
        "$oid", "$uuid", "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal", "$date", "$binary", "$type",
        "$ref", "$id",
    ]

    /// Whether a key, but for `$`s before it, is one that means something here.
    static func isReserved(_ key: UnsafeRawBufferPointer) -> Bool {
        guard key.first == UInt8(ascii: "$"), let name = key.firstIndex(where: { $0 != UInt8(ascii: "$") }) else {
            return false
        }
        return reserved.contains { $0.utf8.elementsEqual(UnsafeRawBufferPointer(rebasing: key[(name - 1)...])) }
    }

    /// The key that the application has, of one in a text.
    static func plain(_ key: Value) -> Value {
        guard key.count > 2, let start = key.pointer,
            start.load(fromByteOffset: 1, as: UInt8.self) == UInt8(ascii: "$"),
            isReserved(UnsafeRawBufferPointer(start: start, count: key.count))
        else { return key }
        return .string(start + 1, key.count - 1)
    }

    /// Whether a map is `{"$ref": class, "$id": key}`: the names' places are `name` and `key`.
    static func reference(_ values: UnsafeBufferPointer<Value>, _ start: Int) -> (name: Int, key: Int)? {
        guard values[start].kind == .map, values[start].low == 2 else { return nil }
        let first = start + 1, second = FlatValues.end(values, first + 1)
        func place(_ name: String) -> Int? {
            FlatValues.isSame(values[first], name)
                ? first + 1 : FlatValues.isSame(values[second], name) ? second + 1 : nil
        }
        guard let name = place("$ref"), let key = place("$id"), values[name].kind == .string else { return nil }
        return (name, key)
    }

    /// A map represents itself: its keys become those of the application. One that is a reference is marked.
    static func end(_ map: UnsafeMutableBufferPointer<Value>) {
        let values = UnsafeBufferPointer(map)
        if reference(values, 0) != nil { map[0].high = FlatValues.reference }
        var index = 1
        for _ in 0..<map[0].low {
            map[index] = plain(map[index])
            index = FlatValues.end(values, index + 1)
        }
    }

    /// What an object represents; nil: itself.
    ///
    /// - Parameter object: its flat values, `$` objects within already replaced.
    /// - Parameter texts: takes the bytes of a binary.
    static func value(_ object: UnsafeBufferPointer<Value>, _ texts: inout JSONTexts) throws(StoreError) -> Value? {
        let key = object[1]
        guard key.count > 1, key.pointer.unsafelyUnwrapped.load(as: UInt8.self) == UInt8(ascii: "$") else { return nil }
        let content = object[2]
        if object[0].low == 1, object.count == 3, key.name != "$binary" {
            switch key.name {
            case "$oid": return try text(content, "24 hexadecimal digits", key, Value.objectID(hex:))
            case "$uuid": return try text(content, "32 hexadecimal digits", key, TextForms.uuid)
            case "$numberLong": return try text(content, "an integer of 64 bits", key) { integer($0, Int64.self) }
            case "$numberInt": return try text(content, "an integer of 32 bits", key) { integer($0, Int32.self) }
            case "$numberDouble": return try text(content, "a number", key, double)
            case "$numberDecimal":
                guard content.kind == .string else { throw no(content, "a text", key) }
                return .decimal128(try Decimal128(UnsafeRawBufferPointer(start: content.pointer, count: content.count)))
            case "$date":
                if content.kind == .int {
                    let (seconds, milliseconds) = TextForms.floored(content.low, by: 1000)
                    return .timestamp(seconds: seconds, nanoseconds: Int32(milliseconds) * 1_000_000)
                }
                return try text(content, "an ISO 8601 text with a time zone, or milliseconds", key, TextForms.time)
            default: return nil
            }
        }
        if object[0].low == 1, key.name == "$binary" {
            // {"$binary": {"base64": "…", "subType": "00"}}
            guard let (base64, type) = pair(UnsafeBufferPointer(rebasing: object[2...]), "base64", "subType") else {
                throw StoreError(.invalidArgument, "\"$binary\" has an object with \"base64\" and \"subType\"")
            }
            return try binary(base64, type, key, &texts)
        }
        // Before version 2: {"$binary": "…", "$type": "00"}
        guard let (base64, type) = pair(object, "$binary", "$type") else { return nil }
        return try binary(base64, type, key, &texts)
    }

    /// The values of an object that has these keys, in any order, and no others.
    private static func pair(_ object: UnsafeBufferPointer<Value>, _ first: String, _ second: String) -> (Value, Value)?
    {
        guard object[0].kind == .map, object[0].low == 2, object.count == 5, object[1].kind == .string,
            object[3].kind == .string
        else { return nil }
        if object[1].name == first, object[3].name == second { return (object[2], object[4]) }
        return object[1].name == second && object[3].name == first ? (object[4], object[2]) : nil
    }

    private static func binary(
        _ base64: Value, _ type: Value, _ key: Value, _ texts: inout JSONTexts
    ) throws(StoreError) -> Value {
        guard base64.kind == .string, type.kind == .string, type.count >= 1, type.count <= 2,
            let subType = UInt8(type.name, radix: 16)
        else {
            throw StoreError(.invalidArgument, "\"$binary\" has texts for \"base64\" and \"subType\"")
        }
        return try binary(base64, isUUID: subType == 4, key, &texts)
    }

    private static func binary(
        _ base64: Value, isUUID: Bool, _ key: Value, _ texts: inout JSONTexts
    ) throws(StoreError) -> Value {
        let target = try texts.room(base64.count).assumingMemoryBound(to: UInt8.self)
        guard
            let count = TextForms.binary(
                base64: UnsafeRawBufferPointer(start: base64.pointer, count: base64.count), to: target)
        else {
            throw no(base64, "base64", key)
        }
        if isUUID {
            guard count == 16 else { throw StoreError(.invalidArgument, "a uuid has 16 bytes, not \(count)") }
            return .uuid(target)
        }
        texts.use(count)
        return .binary(target, count)
    }

    private static func text(
        _ content: Value, _ what: String, _ key: Value, _ parse: (UnsafeRawBufferPointer) -> Value?
    ) throws(StoreError) -> Value {
        guard content.kind == .string,
            let value = parse(UnsafeRawBufferPointer(start: content.pointer, count: content.count))
        else { throw no(content, what, key) }
        return value
    }

    private static func integer<T: FixedWidthInteger & SignedInteger>(
        _ text: UnsafeRawBufferPointer, _ type: T.Type
    ) -> Value? {
        T(String(decoding: text, as: UTF8.self)).map { .int(Int64($0)) }
    }

    private static func double(_ text: UnsafeRawBufferPointer) -> Value? {
        switch String(decoding: text, as: UTF8.self) {
        case "NaN": .double(.nan)
        case "Infinity": .double(.infinity)
        case "-Infinity": .double(-.infinity)
        // Not what Swift reads beside decimal numbers.
        case let text:
            text.utf8.allSatisfy { $0 &- 0x30 <= 9 || "+-.eE".utf8.contains($0) }
                ? Double(text).flatMap { $0.isFinite ? .double($0) : nil } : nil
        }
    }

    private static func no(_ content: Value, _ what: String, _ key: Value) -> StoreError {
        StoreError(.invalidArgument, "\(key.text) has \(what), not \(content.text)")
    }
}

extension Value {
    fileprivate var name: String {
        String(decoding: UnsafeRawBufferPointer(start: pointer, count: count), as: UTF8.self)
    }
}
