public import CObjStore
internal import ObjStoreCore

private func read(
    _ text: objstore_text, _ what: String, _ parse: (UnsafeRawBufferPointer) -> Value?,
    into target: UnsafeMutableRawPointer
) -> objstore_status {
    do throws(StoreError) {
        let found = try naming("text") { () throws(StoreError) in
            let (pointer, count) = try bytes(of: text)
            guard UTF8Check.isValid(pointer, count) else {
                throw StoreError(.invalidUTF8, "the text is not valid UTF-8")
            }
            guard let found = parse(UnsafeRawBufferPointer(start: pointer, count: count)) else {
                throw StoreError(.invalidArgument, "\(Value.string(pointer, count).text) is not \(what)")
            }
            return found
        }
        ValueCell.store(found, target)
        return .OBJSTORE_OK
    } catch {
        return report(error)
    }
}

private func write(_ value: Value, _ text: UnsafeMutablePointer<CChar>) -> objstore_status {
    var next = text
    for byte in value.text.utf8 {
        next.pointee = CChar(bitPattern: byte)
        next += 1
    }
    next.pointee = 0
    return .OBJSTORE_OK
}

@c @implementation
public func objstore_object_id_from_text(
    _ text: objstore_text, _ object_id: UnsafeMutablePointer<objstore_object_id>?
) -> objstore_status {
    guard let object_id else { return failNull("object_id") }
    return read(text, "an object id: 24 hexadecimal digits", Value.objectID(hex:), into: object_id)
}

@c @implementation
public func objstore_object_id_to_text(
    _ object_id: objstore_object_id, _ text: UnsafeMutablePointer<CChar>?
) -> objstore_status {
    guard let text else { return failNull("text") }
    return write(withUnsafeBytes(of: object_id) { .objectID($0.baseAddress!) }, text)
}

@c @implementation
public func objstore_uuid_from_text(
    _ text: objstore_text, _ uuid: UnsafeMutablePointer<objstore_uuid>?
) -> objstore_status {
    guard let uuid else { return failNull("uuid") }
    return read(
        text, "a uuid: 32 hexadecimal digits, with hyphens behind 8, 12, 16 and 20 of them", Value.uuid(text:),
        into: uuid)
}

@c @implementation
public func objstore_uuid_to_text(_ uuid: objstore_uuid, _ text: UnsafeMutablePointer<CChar>?) -> objstore_status {
    guard let text else { return failNull("text") }
    return write(withUnsafeBytes(of: uuid) { .uuid($0.baseAddress!) }, text)
}
