internal import ObjStoreCore

/// A value that a text has where a property wants one of another type: what a converter is given.
public enum JSONValue: Sendable, Equatable {
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)

    fileprivate init?(_ value: Value) {
        switch value.kind {
        case .bool: self = .bool(value.low != 0)
        case .int: self = .int(Int(value.low))
        case .double: self = .double(value.asDouble)
        case .string:
            self = .string(
                String(decoding: UnsafeRawBufferPointer(start: value.pointer, count: value.count), as: UTF8.self))
        default: return nil
        }
    }
}

/// Makes a value of the type that a property wants of one that JSON has: a ``Timestamp`` of a text, say, as an
/// ``AnyValue``; nil: it cannot. Called inside the write, whose store it must not use.
public typealias JSONConverter = (_ class: String, _ property: String, _ value: JSONValue) throws -> AnyValue?

extension StoreWriting {
    /// Creates an object from JSON text: an object of names and values, or an array of values in the order of the
    /// properties; nested objects and arrays are links, embedded objects and collections. Names that a class does not
    /// have are passed over. All or nothing.
    ///
    /// Types must fit: a fraction is no integer, a text no date, binary or id, but for `convert` and
    /// ``JSONSyntax/extended``. With `.modified` and `.all` an existing object keeps what is not given.
    ///
    /// Errors: `.invalidJSON`, `.invalidUTF8`, and those of `create`; `position` is the byte, and the message says
    /// line, column and path: `line 3, column 14, at $.dogs[0].age: …`.
    @discardableResult
    public func create<T: Object>(
        _ type: T.Type, json: String, update: UpdatePolicy = .error, syntax: JSONSyntax = .relaxed,
        convert: JSONConverter? = nil
    ) throws(ObjStoreError) -> T {
        let (space, view) = try writing("create")
        let binding = try space.binding(type)
        let id = try JSONSource.withSource(json) { (source) throws(StoreError) in
            try view.create(
                binding.classID, json: source, syntax.core, update.core, JSONSource.converter(convert, view)
            ).0
        }
        return space.materialise(type, binding, id.key)
    }

    /// Creates an object for each element of a JSON array, all or none; returns how many. The rest is as of `create`.
    @discardableResult
    public func createAll<T: Object>(
        _ type: T.Type, json: String, update: UpdatePolicy = .error, syntax: JSONSyntax = .relaxed,
        convert: JSONConverter? = nil
    ) throws(ObjStoreError) -> Int {
        let (space, view) = try writing("createAll")
        let binding = try space.binding(type)
        return try JSONSource.withSource(json) { (source) throws(StoreError) in
            try JSONSource.createAll(view, binding, source, update, syntax, convert)
        }
    }

    /// The same of a file, which is read as it goes. Errors: also `.notFound`, `.io`.
    @discardableResult
    public func createAll<T: Object>(
        _ type: T.Type, jsonFile path: String, update: UpdatePolicy = .error, syntax: JSONSyntax = [],
        convert: JSONConverter? = nil
    ) throws(ObjStoreError) -> Int {
        let (space, view) = try writing("createAll")
        let binding = try space.binding(type)
        return try core { () throws(StoreError) in
            var count = 0
            try view.createAll(
                binding.classID, jsonFile: path, syntax.core, update.core, JSONSource.converter(convert, view)
            ) { _, _ in count += 1 }
            return count
        }
    }

    /// The same of a text that `read` hands out piece by piece: it fills memory with the next bytes and returns how
    /// many, 0 at the end. The text may be larger than memory.
    @discardableResult
    public func createAll<T: Object>(
        _ type: T.Type, update: UpdatePolicy = .error, syntax: JSONSyntax = [], convert: JSONConverter? = nil,
        readingJSON read: @escaping (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws(ObjStoreError) -> Int {
        let source = JSONReader.Source.read { (room) throws(StoreError) in
            do { return try read(room) } catch { throw StoreError(.callback, "the text cannot be read: \(error)") }
        }
        let (space, view) = try writing("createAll")
        let binding = try space.binding(type)
        return try core { () throws(StoreError) in
            try JSONSource.createAll(view, binding, source, update, syntax, convert)
        }
    }
}

private enum JSONSource {
    /// Calls `body` with the bytes of a text, which stay until it returns.
    static func withSource<T>(
        _ json: String, _ body: (JSONReader.Source) throws(StoreError) -> T
    ) throws(ObjStoreError) -> T {
        var json = json
        let result = json.withUTF8 { bytes in
            Result { () throws(StoreError) in try body(.memory(UnsafeRawBufferPointer(bytes))) }
        }
        return try core { () throws(StoreError) in try result.get() }
    }

    static func createAll(
        _ view: View, _ binding: ClassBinding, _ source: JSONReader.Source, _ update: UpdatePolicy,
        _ syntax: JSONSyntax, _ convert: JSONConverter?
    ) throws(StoreError) -> Int {
        var count = 0
        try view.createAll(binding.classID, json: source, syntax.core, update.core, converter(convert, view)) { _, _ in
            count += 1
        }
        return count
    }

    static func converter(_ convert: JSONConverter?, _ view: View) -> View.JSONConvert? {
        guard let convert else { return nil }
        // What it made, until the call has used it.
        let texts = KeptTexts()
        return { (value, kind, propertyID) throws(StoreError) in
            guard let given = JSONValue(value), let (cls, property) = view.names(propertyID) else { return nil }
            let made: AnyValue?
            do { made = try convert(cls, property, given) } catch { throw StoreError(.callback, "\(error)") }
            guard let made else { return nil }
            return try made.withValue { (value) throws(StoreError) in texts.keep(value) }
        }
    }
}

/// Copies of texts and binaries.
private final class KeptTexts {
    private var blocks: [UnsafeMutableRawPointer] = []
    deinit { for block in blocks { block.deallocate() } }

    func keep(_ value: Value) -> Value {
        guard let pointer = value.pointer else { return value }
        let block = UnsafeMutableRawPointer.allocate(byteCount: max(1, value.count), alignment: 1)
        block.copyMemory(from: pointer, byteCount: value.count)
        blocks.append(block)
        var kept = value
        kept.pointer = UnsafeRawPointer(block)
        return kept
    }
}
