internal import ObjStoreCore

/// How JSON text is written.
public struct JSONFormat: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// What JSON has no form for as MongoDB's Extended JSON has it: `{"$date": …}`, `{"$binary": …}`, `{"$oid": …}`,
    /// `{"$uuid": …}`, `{"$numberDecimal": …}`, and of NaN and the infinities `{"$numberDouble": …}`. Else dates,
    /// binaries and ids are texts.
    public static let extended = JSONFormat(rawValue: JSONWriter.Options.extended.rawValue)
    /// One element a line, two spaces a level.
    public static let pretty = JSONFormat(rawValue: JSONWriter.Options.pretty.rawValue)
    /// NaN and the infinities are null; else they are refused (`.outOfRange`), unless `extended` has a form for them.
    public static let nullForNaN = JSONFormat(rawValue: JSONWriter.Options.nullForNaN.rawValue)

    fileprivate var core: JSONWriter.Options { JSONWriter.Options(rawValue: rawValue).intersection(.all) }
}

/// What JSON text may have beyond the standard.
public struct JSONSyntax: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Keys without quotes, strings in single quotes, a comma behind the last element, comments, NaN, Infinity and
    /// -Infinity.
    public static let relaxed = JSONSyntax(rawValue: JSONOptions.relaxed.rawValue)
    /// `{"$date": …}` and the like are the values that ``JSONFormat/extended`` writes so.
    public static let extended = JSONSyntax(rawValue: JSONOptions.extended.rawValue)

    var core: JSONOptions { JSONOptions(rawValue: rawValue).intersection(.all) }
}

extension Object {
    /// The object as JSON text: all its properties, in the order of their declaration.
    ///
    /// A link is the object that it leads to, as far as `depth` goes: 0 follows none, 100 is the most. An object that
    /// lies deeper, or that is being written already (a cycle), is its primary key, or `{"$ref": "Dog", "$id": 12}`
    /// where its class has none, or it is null; with `{"country": "CH", "name": "Bern"}` as `$id` where the key is of
    /// several properties. So are links in values of type ``AnyValue`` in the format ``JSONFormat/extended``, always.
    ///
    /// Errors: `.wrongView` for an unmanaged object, `.noSuchObject`, `.outOfRange`, `.closedHandle`.
    public final func json(depth: Int = 1, format: JSONFormat = []) throws(ObjStoreError) -> String {
        guard let space = _space, let binding = _binding?.takeUnretainedValue() else {
            throw ObjStoreError(
                .wrongView, "an unmanaged object has no JSON text: add it to a store first",
                class: ClassInfo.name(of: type(of: self)))
        }
        return try written(format) { (writer) throws(StoreError) in
            try space.current.write(binding.id(_key), depth: try checked(depth), to: writer)
        }
    }
}

extension List {
    /// The elements as a JSON array, as they are in the text of their object: links are objects with `depth` 1,
    /// references with 0.
    ///
    /// Errors: `.wrongView` for an unmanaged list; the rest as of ``Object/json(depth:format:)``.
    public func json(depth: Int = 1, format: JSONFormat = []) throws(ObjStoreError) -> String {
        try text(of: place, "list", depth, format)
    }
}

extension MutableSet {
    /// The elements as a JSON array, in their order. The rest is as of a ``List``.
    public func json(depth: Int = 1, format: JSONFormat = []) throws(ObjStoreError) -> String {
        try text(of: place, "set", depth, format)
    }
}

extension Map {
    /// The entries as a JSON object; keys that are no texts are written as one. The rest is as of a ``List``.
    public func json(depth: Int = 1, format: JSONFormat = []) throws(ObjStoreError) -> String {
        try text(of: place, "map", depth, format)
    }
}

extension AnyList {
    /// The elements as a JSON array, as they are in the text of their object. An unmanaged list is written as
    /// ``AnyValue`` is.
    public func json(depth: Int = 1, format: JSONFormat = []) throws(ObjStoreError) -> String {
        guard let place else { return try AnyValue.list(self).json(format: format) }
        return try text(of: place.place, "list", depth, format, at: place.path)
    }
}

extension AnyMap {
    /// The entries as a JSON object, as they are in the text of their object. An unmanaged one is written as
    /// ``AnyValue`` is.
    public func json(depth: Int = 1, format: JSONFormat = []) throws(ObjStoreError) -> String {
        guard let place else { return try AnyValue.dictionary(self).json(format: format) }
        return try text(of: place.place, "map", depth, format, at: place.path)
    }
}

private func text(
    of place: CollectionPlace?, _ name: String, _ depth: Int, _ format: JSONFormat, at path: [AnyStep] = []
) throws(ObjStoreError) -> String {
    guard let place else {
        throw ObjStoreError(.wrongView, "an unmanaged \(name) has no JSON text: add its object to a store first")
    }
    return try written(format) { (writer) throws(StoreError) in
        let id = place.id, depth = try checked(depth)
        try AnyStep.withPath(path) { (path) throws(StoreError) in
            try place.binding.space.current.write(id.owner, id.propertyID, path, depth: depth, to: writer)
        }
    }
}

/// The text that `body` writes.
private func written(
    _ format: JSONFormat, _ body: (JSONWriter) throws(StoreError) -> Void
) throws(ObjStoreError) -> String {
    try core { () throws(StoreError) in
        let writer = JSONWriter(format.core)
        try body(writer)
        return String(decoding: writer.text, as: UTF8.self)
    }
}

extension Results {
    /// The objects as a JSON array. The rest is as of ``Object/json(depth:format:)``.
    public func json(depth: Int = 1, format: JSONFormat = []) throws(ObjStoreError) -> String {
        var text: [UInt8] = []
        try writeJSON(depth: depth, format: format) { text += $0 }
        return String(decoding: text, as: UTF8.self)
    }

    /// Hands the same text to `body`, piece by piece; a piece, which may end within a character, is valid until `body`
    /// returns.
    ///
    /// Each object is written as it is when its turn comes, and left out where it is gone; of frozen results all as
    /// they were at one time. What `body` throws ends it.
    public func writeJSON(
        depth: Int = 1, format: JSONFormat = [], _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws(ObjStoreError) {
        let list = try list().0
        try core { () throws(StoreError) in
            try list.writeJSON(depth: try checked(depth), format.core) { (piece) throws(StoreError) in
                do { try body(piece) } catch { throw StoreError(.cancelled, "the text was not taken: \(error)") }
            }
        }
    }
}

extension AnyValue {
    /// The value of a JSON text.
    ///
    /// An integer of 64 bits is an `.int`, a longer one a `.decimal128`, any other number a `.double`.
    ///
    /// Errors: `.invalidJSON` and `.invalidUTF8`, with the byte as `position`, and line, column and path in the
    /// message; `.invalidArgument` for a key that comes twice; `.outOfRange`.
    public init(json: String, syntax: JSONSyntax = .relaxed) throws(ObjStoreError) {
        var json = json
        let result = json.withUTF8 { bytes in
            Result { () throws(StoreError) in
                var output = OutputBuffer()
                defer { OutputBuffer.free(&output) }
                return try AnyValue(
                    copying: JSONDocument.parse(UnsafeRawBufferPointer(bytes), syntax.core, into: &output), nil)
            }
        }
        self = try core { () throws(StoreError) in try result.get() }
    }

    /// The value as JSON text. Errors: `.outOfRange` for NaN and the infinities, `.wrongType` where an object is in it:
    /// that has a text of its own, and the object whose property the value is, too.
    public func json(format: JSONFormat = []) throws(ObjStoreError) -> String {
        if let object = objects.first {
            throw ObjStoreError(.wrongType, "the value has the \(object.name) in it: ask an object for its JSON text")
        }
        return try written(format) { (writer) throws(StoreError) in
            try withValue { (value) throws(StoreError) in try writer.append(value) }
        }
    }
}

private func checked(_ depth: Int) throws(StoreError) -> Int {
    guard (0...View.deepestJSON).contains(depth) else {
        throw StoreError(.outOfRange, "a depth is 0 to \(View.deepestJSON), not \(depth)")
    }
    return depth
}
