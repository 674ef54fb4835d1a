public import CObjStore
internal import ObjStoreCore

@c @implementation
public func objstore_decimal128_from_text(
    _ text: objstore_text, _ decimal: UnsafeMutablePointer<objstore_decimal128>?
) -> objstore_status {
    guard let decimal else { return failNull("decimal") }
    do throws(StoreError) {
        let found = try naming("text") { () throws(StoreError) in
            let (pointer, count) = try bytes(of: text)
            guard UTF8Check.isValid(pointer, count) else {
                throw StoreError(.invalidUTF8, "the text is not valid UTF-8")
            }
            return try Decimal128(UnsafeRawBufferPointer(start: pointer, count: count))
        }
        decimal.pointee = objstore_decimal128(low: found.low, high: found.high)
        return .OBJSTORE_OK
    } catch {
        return report(error)
    }
}

@c @implementation
public func objstore_decimal128_to_text(
    _ decimal: objstore_decimal128, _ text: UnsafeMutablePointer<CChar>?
) -> objstore_status {
    guard let text else { return failNull("text") }
    var at = 0
    for byte in Decimal128(low: decimal.low, high: decimal.high).text.utf8 {
        text[at] = CChar(bitPattern: byte)
        at += 1
    }
    text[at] = 0
    return .OBJSTORE_OK
}

@c @implementation
public func objstore_object_id_new(_ object_id: UnsafeMutablePointer<objstore_object_id>?) -> objstore_status {
    guard let object_id else { return failNull("object_id") }
    ValueCell.store(ObjectIDGenerator.next(), UnsafeMutableRawPointer(object_id))
    return .OBJSTORE_OK
}
