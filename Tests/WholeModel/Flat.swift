import ObjStoreCore

/// A datum as values of the engine, in the form that nested values have there; owns the memory of texts.
final class Flat {
    private(set) var values: [Value] = []
    private var texts: [OwnedValue] = []
    private var documents: [DocumentBuilder] = []
    /// The object of class `target` with that key.
    private let link: (String, Int64) -> ObjectID

    init(link: @escaping (String, Int64) -> ObjectID) { self.link = link }

    convenience init(_ datum: Datum, _ target: String?, link: @escaping (String, Int64) -> ObjectID) {
        self.init(link: link)
        add(datum, target)
    }

    private func own(_ bytes: [UInt8], _ kind: ValueKind) {
        texts.append(bytes.withUnsafeBytes { OwnedValue(Value(kind: kind, pointer: $0.baseAddress, count: $0.count)) })
        values.append(texts[texts.count - 1].value)
    }

    func append(_ datum: Datum, _ target: String?) {
        switch datum {
        case .null: values.append(.null)
        case .bool(let value): values.append(.bool(value))
        case .int(let value): values.append(.int(value))
        case .float(let value): values.append(.float(value))
        case .double(let value): values.append(.double(value))
        case .decimal(let value): values.append(Value(kind: .decimal128, low: value, high: 0x303c_0000_0000_0000))
        case .text(let text): own(Array(text.utf8), .string)
        case .binary(let bytes): own(bytes, .binary)
        case .timestamp(let seconds, let nanoseconds):
            values.append(.timestamp(seconds: seconds, nanoseconds: nanoseconds))
        case .objectID(let low, let high): values.append(Value(kind: .objectID, low: low, high: high))
        case .uuid(let low, let high): values.append(Value(kind: .uuid, low: low, high: high))
        case .link(let key): values.append(.link(link(target!, key)))
        case .linkTo(let cls, let key): values.append(.link(link(cls, key)))
        case .list(let all):
            values.append(Value(kind: .list, low: Int64(all.count)))
            for one in all { append(one, target) }
        case .set(let all): append(.list(all.sorted { Datum.isBefore($1, $0) }), target)
        case .map(let all):
            values.append(Value(kind: .map, low: Int64(all.count)))
            for (key, value) in all.sorted(by: { Datum.isBefore($0.key, $1.key) }) {
                if case .int(let number) = key { own(Array("\(number)".utf8), .string) } else { append(key, nil) }
                append(value, target)
            }
        case .described: preconditionFailure("described objects are written by Session.describe")
        }
    }

    /// A single value: a list or map, which is mixed then, as a document.
    func add(_ datum: Datum, _ target: String?) {
        switch datum {
        case .list, .map:
            let builder = DocumentBuilder()
            do throws(StoreError) { try build(datum, builder) } catch { fatalError("\(datum): \(error)") }
            documents.append(builder)
            values.append(Value(kind: .document, pointer: builder.node.baseAddress, count: builder.node.count))
        default: append(datum, target)
        }
    }

    private func build(_ datum: Datum, _ builder: DocumentBuilder) throws(StoreError) {
        switch datum {
        case .list(let all):
            try builder.begin(.list)
            for one in all { try build(one, builder) }
            try builder.end()
        case .map(let all):
            try builder.begin(.map)
            for (key, value) in all.sorted(by: { Datum.isBefore($1.key, $0.key) }) {
                guard case .text = key else { preconditionFailure("\(key) is no key of a mixed map") }
                append(key, nil)
                let bytes = values.removeLast()
                try builder.key(UnsafeRawBufferPointer(start: bytes.pointer, count: bytes.count))
                try build(value, builder)
            }
            try builder.end()
        default:
            append(datum, nil)
            try builder.append(values.removeLast())
        }
    }

    func begin(map count: Int) { values.append(Value(kind: .map, low: Int64(count))) }
    func begin(list count: Int) { values.append(Value(kind: .list, low: Int64(count))) }

    func use<T>(_ body: (UnsafeBufferPointer<Value>) throws(StoreError) -> T) throws(StoreError) -> T {
        defer { withExtendedLifetime(self) {} }
        return try values.withUnsafeBufferPointer(body)
    }
}

extension Datum {
    /// A single value that the engine returned; borrowed bytes are copied.
    init(_ value: Value) {
        func bytes() -> [UInt8] { Array(UnsafeRawBufferPointer(start: value.pointer, count: value.count)) }
        switch value.kind {
        case .bool: self = .bool(value.low != 0)
        case .int: self = .int(value.low)
        case .float: self = .float(value.asFloat)
        case .double: self = .double(value.asDouble)
        // Zero is zero, as which number of digits it may be kept.
        case .decimal128:
            self =
                value.high == 0x303c_0000_0000_0000 || value.low == 0 && value.high == 0x3040_0000_0000_0000
                ? .decimal(value.low) : .text("a decimal with another exponent")
        case .string: self = .text(String(decoding: bytes(), as: UTF8.self))
        case .binary: self = .binary(bytes())
        case .timestamp: self = .timestamp(value.low, Int32(truncatingIfNeeded: value.high))
        case .objectID: self = .objectID(value.low, value.high)
        case .uuid: self = .uuid(value.low, value.high)
        case .link: self = .link(value.low)
        default: self = .null
        }
    }
}
