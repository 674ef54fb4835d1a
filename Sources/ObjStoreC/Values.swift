public import CObjStore
internal import ObjStoreCore

/// Text on its way in. `.invalidArgument` for what is no text at all, `.invalidUTF8` for what is not UTF-8.
func string(_ text: objstore_text) throws(StoreError) -> String {
    let (pointer, count) = try bytes(of: text)
    guard UTF8Check.isValid(pointer, count) else { throw StoreError(.invalidUTF8, "the text is not valid UTF-8") }
    return String(decoding: UnsafeRawBufferPointer(start: pointer, count: count), as: UTF8.self)
}

/// Text that must not be empty.
func name(_ text: objstore_text) throws(StoreError) -> String {
    let name = try string(text)
    if name.isEmpty { throw StoreError(.invalidArgument, "the text is empty") }
    return name
}

@inline(__always)
func bytes(of text: objstore_text) throws(StoreError) -> (UnsafeRawPointer?, Int) {
    if _fastPath(text.length >= 0) {
        if text.bytes == nil, text.length != 0 { throw badText(text) }
        return (UnsafeRawPointer(text.bytes), Int(text.length))
    }
    guard text.length == -1, let bytes = text.bytes else { throw badText(text) }
    var count = 0
    while bytes[count] != 0 { count &+= 1 }
    return (UnsafeRawPointer(bytes), count)
}

@inline(never)
private func badText(_ text: objstore_text) -> StoreError {
    text.bytes == nil
        ? StoreError(.invalidArgument, "the text is NULL with a length of \(text.length)")
        : StoreError(
            .invalidArgument, "the text has a length of \(text.length): it is 0 or more, or -1 for NUL-terminated")
}

@inline(__always)
func bytes(of binary: objstore_bytes, _ what: StaticString) throws(StoreError) -> (UnsafeRawPointer?, Int) {
    guard binary.length >= 0, binary.bytes != nil || binary.length == 0 else {
        throw StoreError(
            .invalidArgument,
            "the \(what) is \(binary.bytes == nil ? "NULL" : "given") with a length of \(binary.length)")
    }
    return (UnsafeRawPointer(binary.bytes), Int(binary.length))
}

extension Value {
    /// A value of the application; text is borrowed from there.
    @inline(__always)
    init(_ value: objstore_value) throws(StoreError) {
        if value.reserved != 0 { throw notReserved("value", value.reserved) }
        switch value.kind {
        case .OBJSTORE_KIND_NULL: self = .null
        case .OBJSTORE_KIND_BOOL: self = Value(kind: .bool, low: value.data.words.0 & 0xff != 0 ? 1 : 0)
        case .OBJSTORE_KIND_INT: self = .int(value.data.integer)
        case .OBJSTORE_KIND_DOUBLE: self = .double(value.data.real)
        case .OBJSTORE_KIND_STRING:
            let (pointer, count) = try bytes(of: value.data.text)
            self = .string(pointer, count)
        case .OBJSTORE_KIND_BINARY:
            let (pointer, count) = try bytes(of: value.data.binary, "binary")
            self = .binary(pointer, count)
        case .OBJSTORE_KIND_TIMESTAMP:
            self = .timestamp(seconds: value.data.timestamp.seconds, nanoseconds: value.data.timestamp.nanoseconds)
        case .OBJSTORE_KIND_FLOAT: self = .float(value.data.single)
        case .OBJSTORE_KIND_DECIMAL128:
            self = .decimal128(Decimal128(low: value.data.decimal128.low, high: value.data.decimal128.high))
        case .OBJSTORE_KIND_OBJECT_ID:
            self = withUnsafeBytes(of: value.data) { .objectID($0.baseAddress.unsafelyUnwrapped) }
        case .OBJSTORE_KIND_UUID: self = withUnsafeBytes(of: value.data) { .uuid($0.baseAddress.unsafelyUnwrapped) }
        case .OBJSTORE_KIND_DOCUMENT:
            let (pointer, count) = try bytes(of: value.data.document, "document")
            self = Value(kind: .document, pointer: pointer, count: count)
        case .OBJSTORE_KIND_LINK: self = .link(ObjStoreC.objectID(value.data.link))
        default:
            // Kinds of later versions fit no property of this one.
            guard let kind = ValueKind(rawValue: UInt8(truncatingIfNeeded: value.kind.rawValue)),
                value.kind.rawValue >= 0, value.kind.rawValue < 15
            else {
                throw StoreError(.wrongType, "no value has the kind \(value.kind.rawValue)")
            }
            self = Value(kind: kind)
        }
    }

    /// `storeTag`: of the store that the value was read in, for links.
    @inline(__always)
    func store(to out: UnsafeMutablePointer<objstore_value>, storeTag: UInt32) {
        var value = objstore_null()
        value.kind = unsafeBitCast(Int32(kind.rawValue), to: objstore_kind.self)
        switch kind {
        case .string: value.data.text = objstore_text(bytes: Value.text(pointer), length: Int64(count))
        case .binary, .document:
            value.data.binary = objstore_bytes(
                bytes: UnsafePointer(Value.nonNull(pointer).assumingMemoryBound(to: UInt8.self)), length: Int64(count))
        case .timestamp:
            value.data.timestamp = objstore_timestamp(
                seconds: low, nanoseconds: Int32(truncatingIfNeeded: high), reserved: 0)
        case .null: break
        case .list, .set, .map: value.data.collection = collection(asCollection)
        case .link: value.data.link = object(linkedObject(storeTag: storeTag))
        case .decimal128, .objectID, .uuid:
            withUnsafeMutableBytes(of: &value.data) { ValueCell.store(self, $0.baseAddress.unsafelyUnwrapped) }
        default: value.data.integer = low
        }
        out.pointee = value
    }

    /// An empty text is a pointer that is not NULL.
    @inline(__always)
    static func nonNull(_ pointer: UnsafeRawPointer?) -> UnsafeRawPointer { pointer ?? UnsafeRawPointer(Value.empty) }
    @inline(__always)
    static func text(_ pointer: UnsafeRawPointer?) -> UnsafePointer<CChar> {
        nonNull(pointer).assumingMemoryBound(to: CChar.self)
    }

    private nonisolated(unsafe) static let empty: UnsafeMutableRawPointer = {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
        memory.storeBytes(of: 0, as: UInt64.self)
        return memory
    }()
}

/// Members that later versions may give a meaning are 0 until then: what a program has in them by accident would begin
/// to say something.
@inline(never)
func notReserved<Number: BinaryInteger>(_ what: StaticString, _ number: Number) -> StoreError {
    StoreError(.invalidArgument, "\(what).reserved is \(number), not 0: was it initialised?")
}

/// The usual kinds are written where they belong, word by word: a copy would have to wait for the words.
@inline(__always)
private func convert(_ value: UnsafePointer<objstore_value>, to target: UnsafeMutablePointer<Value>) throws(StoreError)
{
    if value.pointee.reserved != 0 { throw notReserved("value", value.pointee.reserved) }
    switch value.pointee.kind {
    case .OBJSTORE_KIND_INT: target.initialize(to: .int(value.pointee.data.integer))
    case .OBJSTORE_KIND_DOUBLE: target.initialize(to: .double(value.pointee.data.real))
    case .OBJSTORE_KIND_STRING:
        let (pointer, count) = try bytes(of: value.pointee.data.text)
        target.initialize(to: .string(pointer, count))
    case .OBJSTORE_KIND_NULL: target.initialize(to: Value(kind: .null))
    default: target.initialize(to: try Value(value.pointee))
    }
}

/// Converts an array of values, on the stack where it is short.
@inline(__always)
func withValues<T>(
    _ values: UnsafePointer<objstore_value>?, _ count: Int, _ body: (UnsafePointer<Value>) throws(StoreError) -> T
) throws(StoreError) -> T {
    var result: Result<T, StoreError>!
    try Memory.check(for: count, each: 64)
    withUnsafeTemporaryAllocation(of: Value.self, capacity: max(count, 1)) { buffer in
        do throws(StoreError) {
            for index in 0..<count {
                do throws(StoreError) {
                    try convert(values.unsafelyUnwrapped + index, to: buffer.baseAddress.unsafelyUnwrapped + index)
                } catch {
                    throw StoreError(error.code, "values[\(index)]: \(error.message)").namingArgument()
                }
            }
            result = .success(try body(UnsafePointer(buffer.baseAddress.unsafelyUnwrapped)))
        } catch {
            result = .failure(error)
        }
    }
    return try result.get()
}

/// Values in one array that may hold lists and maps, as their kind and number of elements.
func flatValues(_ values: UnsafePointer<objstore_value>?, _ count: Int) throws(StoreError) -> [Value] {
    // These, and what is made of them: a document, with the places of its elements.
    try Memory.check(for: count, each: 192)
    var flat: [Value] = []
    flat.reserveCapacity(count)
    for index in 0..<count {
        do throws(StoreError) { flat.append(try Value(counted: values.unsafelyUnwrapped[index])) } catch {
            throw StoreError(error.code, "values[\(index)]: \(error.message)").namingArgument()
        }
    }
    return flat
}

@inline(__always)
func objectID(_ object: objstore_object) -> ObjectID {
    ObjectID(classID: object.class_id, storeTag: object.store_tag, key: object.key)
}
@inline(__always)
func object(_ id: ObjectID) -> objstore_object {
    objstore_object(class_id: id.classID, store_tag: id.storeTag, key: id.key)
}

@inline(__always)
func collection(_ id: CollectionID) -> objstore_collection {
    objstore_collection(owner: object(id.owner), property_id: id.propertyID, reserved: 0, collection_id: 0)
}
@inline(__always)
func collectionID(_ collection: objstore_collection) throws(StoreError) -> CollectionID {
    if collection.reserved != 0 { throw notReserved("collection", collection.reserved).namingArgument() }
    if collection.collection_id != 0 {
        throw StoreError(
            .invalidArgument,
            "collection.collection_id is \(collection.collection_id), not 0: was it made with objstore_collection_of?"
        ).namingArgument()
    }
    return CollectionID(owner: objectID(collection.owner), propertyID: collection.property_id)
}

/// Flags of which only those in `known` have a name.
func check(flags: UInt32, known: UInt32, _ argument: StaticString = "flags") throws(StoreError) {
    guard flags & ~known == 0 else {
        throw StoreError(.invalidArgument, "\(argument): unknown bits in \(flags)").namingArgument()
    }
}

/// Numbers of elements: more than half of the address space is a mistake (a negative number, most likely).
@inline(__always)
func check(count: Int, _ argument: StaticString) throws(StoreError) {
    if count < 0 {
        throw StoreError(.invalidArgument, "\(argument) is \(UInt(bitPattern: count)): too many").namingArgument()
    }
}

@inline(__always)
func check(array: UnsafeRawPointer?, _ count: Int, _ argument: StaticString) throws(StoreError) {
    if array == nil, count > 0 {
        throw StoreError(.invalidArgument, "\(argument) is NULL, with \(count) elements").namingArgument()
    }
}

/// Of an array that is given: no address space holds more.
@inline(__always)
func check(elements count: Int, _ argument: StaticString) throws(StoreError) {
    try check(count: count, argument)
    if count > mostElements {
        throw StoreError(.invalidArgument, "\(argument) is \(count): more than memory can hold").namingArgument()
    }
}

private let mostElements = 1 << 44

/// Of an array that has each property of a class at most once.
@inline(__always)
func check(properties count: Int, _ argument: StaticString) throws(StoreError) {
    try check(count: count, argument)
    if count > mostProperties {
        throw StoreError(.invalidArgument, "\(argument) is \(count): a class has \(mostProperties) properties at most")
            .namingArgument()
    }
}

private let mostProperties = 65_000

/// The buffer, if it is one.
@inline(__always)
func outputBuffer(
    _ buffer: UnsafeMutablePointer<objstore_buffer>?
) throws(StoreError) -> UnsafeMutablePointer<OutputBuffer>? {
    guard let buffer else { return nil }
    let text = UnsafeMutableRawPointer(buffer).assumingMemoryBound(to: OutputBuffer.self)
    guard OutputBuffer.isWellFormed(text) else {
        throw StoreError(
            .invalidArgument, "buffer: bytes, length and capacity contradict each other; was it initialised?"
        ).namingArgument()
    }
    return text
}

@c @implementation
public func objstore_buffer_free(_ buffer: UnsafeMutablePointer<objstore_buffer>?) -> objstore_status {
    do throws(StoreError) {
        if let buffer = try outputBuffer(buffer) { OutputBuffer.free(buffer) }
        return .OBJSTORE_OK
    } catch {
        return report(error)
    }
}
