internal import CSystem
public import CObjStore
internal import ObjStoreCore

/// What an `objstore_row` holds.
private struct RowImage {
    var magic: UInt64
    /// The view's handle: closed and used again, it no longer fits.
    var view: UInt64
    var cursor: RowCursor

    static let magic: UInt64 = 0x776f_725f_6a62_6f01

    @inline(__always)
    static func of(_ row: UnsafeMutablePointer<objstore_row>) -> UnsafeMutablePointer<RowImage> {
        UnsafeMutableRawPointer(row).assumingMemoryBound(to: RowImage.self)
    }
}

private var blame: Blame {
    [
        .noSuchProperty: "property_id", .wrongType: "property_id", .notPositioned: "row", .wrongView: "buffer",
        .nullValue: "is_null",
        .noSuchObject: "row", .invalidArgument: "buffer",
    ]
}

/// Runs a call on a row inside its view.
@inline(__always)
private func withRow(
    _ row: UnsafeMutablePointer<objstore_row>?, _ blame: @autoclosure () -> Blame = ObjStoreC.blame,
    _ body: (inout RowCursor) throws(StoreError) -> Void
) -> objstore_status {
    guard let row else { return failNull("row") }
    let image = RowImage.of(row)
    guard _fastPath(image.pointee.magic == RowImage.magic) else {
        return fail(.wrongKind, "row was not made by objstore_row_init")
    }
    return Handles.use(OpaquePointer(bitPattern: UInt(image.pointee.view)), .view, "row", blame()) {
        (_: View) throws(StoreError) in
        try body(&image.pointee.cursor)
    }
}

@c @implementation
public func objstore_row_init(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ row: UnsafeMutablePointer<objstore_row>?
) -> objstore_status {
    guard let row else { return failNull("row") }
    return Handles.use(view, .view, "view", [.noSuchClass: "class_id"]) { (object: View) throws(StoreError) in
        precondition(MemoryLayout<RowImage>.size <= MemoryLayout<objstore_row>.size)
        let cursor = try RowCursor(object, class_id)
        UnsafeMutableRawPointer(row).initializeMemory(
            as: RowImage.self, to: RowImage(magic: RowImage.magic, view: UInt64(UInt(bitPattern: view)), cursor: cursor)
        )
    }
}

@c @implementation
public func objstore_row_next(
    _ row: UnsafeMutablePointer<objstore_row>?, _ more: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let more else { return failNull("more") }
    return withRow(row) { (cursor) throws(StoreError) in more.pointee = try cursor.next() }
}

@c @implementation
public func objstore_row_seek(_ row: UnsafeMutablePointer<objstore_row>?, _ object: objstore_object) -> objstore_status
{
    withRow(row, [.wrongStore: "object", .noSuchObject: "object", .wrongType: "object", .noSuchClass: "object"]) {
        (cursor) throws(StoreError) in
        try cursor.seek(objectID(object))
    }
}

@c @implementation
public func objstore_row_object(
    _ row: UnsafeMutablePointer<objstore_row>?, _ object: UnsafeMutablePointer<objstore_object>?
) -> objstore_status {
    guard let object else { return failNull("object") }
    return withRow(row) { (cursor) throws(StoreError) in object.pointee = ObjStoreC.object(try cursor.object()) }
}

/// A typed read: hands out the value and whether it is null, or an error if it is null and that was not requested.
@inline(__always)
private func read<T>(
    _ row: UnsafeMutablePointer<objstore_row>?, _ out: UnsafeMutablePointer<T>?, _ isNull: UnsafeMutablePointer<Bool>?,
    whereNull zero: T,
    _ body: (inout RowCursor) throws(StoreError) -> T?
) -> objstore_status {
    guard let out else { return failNull("value") }
    return withRow(row) { (cursor) throws(StoreError) in
        if let value = try body(&cursor) {
            out.pointee = value
            isNull?.pointee = false
            return
        }
        guard let isNull else { throw nullValue() }
        out.pointee = zero
        isNull.pointee = true
    }
}

@inline(never) private func nullValue() -> StoreError {
    StoreError(.nullValue, "the value is null, and is_null was not given")
}

@c @implementation
public func objstore_row_bool(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ value: UnsafeMutablePointer<Bool>?,
    _ is_null: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(row, value, is_null, whereNull: false) { (cursor) throws(StoreError) in try cursor.bool(property_id) }
}

@c @implementation
public func objstore_row_int(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ value: UnsafeMutablePointer<Int64>?,
    _ is_null: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(row, value, is_null, whereNull: 0) { (cursor) throws(StoreError) in try cursor.int(property_id) }
}

@c @implementation
public func objstore_row_double(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ value: UnsafeMutablePointer<Double>?,
    _ is_null: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(row, value, is_null, whereNull: 0) { (cursor) throws(StoreError) in try cursor.double(property_id) }
}

@c @implementation
public func objstore_row_float(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ value: UnsafeMutablePointer<Float>?,
    _ is_null: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(row, value, is_null, whereNull: 0) { (cursor) throws(StoreError) in try cursor.float(property_id) }
}

@c @implementation
public func objstore_row_decimal128(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ value: UnsafeMutablePointer<objstore_decimal128>?,
    _ is_null: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(row, value, is_null, whereNull: objstore_decimal128()) { (cursor) throws(StoreError) in
        let found = try cursor.pair(property_id, .decimal128)
        return found.isNull ? nil : objstore_decimal128(low: found.asDecimal.low, high: found.asDecimal.high)
    }
}

@c @implementation
public func objstore_row_object_id(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ value: UnsafeMutablePointer<objstore_object_id>?,
    _ is_null: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(row, value, is_null, whereNull: objstore_object_id()) { (cursor) throws(StoreError) in
        let found = try cursor.pair(property_id, .objectID)
        if found.isNull { return nil }
        var id = objstore_object_id()
        withUnsafeMutableBytes(of: &id) { ValueCell.store(found, $0.baseAddress.unsafelyUnwrapped) }
        return id
    }
}

@c @implementation
public func objstore_row_uuid(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ value: UnsafeMutablePointer<objstore_uuid>?,
    _ is_null: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(row, value, is_null, whereNull: objstore_uuid()) { (cursor) throws(StoreError) in
        let found = try cursor.pair(property_id, .uuid)
        if found.isNull { return nil }
        var uuid = objstore_uuid()
        withUnsafeMutableBytes(of: &uuid) { ValueCell.store(found, $0.baseAddress.unsafelyUnwrapped) }
        return uuid
    }
}

@c @implementation
public func objstore_row_timestamp(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ value: UnsafeMutablePointer<objstore_timestamp>?,
    _ is_null: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(row, value, is_null, whereNull: objstore_timestamp()) { (cursor) throws(StoreError) in
        let found = try cursor.pair(property_id, .timestamp)
        return found.isNull
            ? nil
            : objstore_timestamp(seconds: found.low, nanoseconds: Int32(truncatingIfNeeded: found.high), reserved: 0)
    }
}

@c @implementation
public func objstore_row_text(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ value: UnsafeMutablePointer<objstore_text>?, _ is_null: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(row, value, is_null, whereNull: objstore_text(bytes: nil, length: 0)) { (cursor) throws(StoreError) in
        let found = try cursor.bytes(property_id, .string, try outputBuffer(buffer))
        return found.isNull ? nil : objstore_text(bytes: Value.text(found.pointer), length: Int64(found.count))
    }
}

@c @implementation
public func objstore_row_binary(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ value: UnsafeMutablePointer<objstore_bytes>?, _ is_null: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(row, value, is_null, whereNull: objstore_bytes(bytes: nil, length: 0)) { (cursor) throws(StoreError) in
        let found = try cursor.bytes(property_id, .binary, try outputBuffer(buffer))
        return found.isNull
            ? nil
            : objstore_bytes(
                bytes: Value.nonNull(found.pointer).assumingMemoryBound(to: UInt8.self), length: Int64(found.count))
    }
}

@c @implementation
public func objstore_row_link(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ value: UnsafeMutablePointer<objstore_object>?,
    _ is_null: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(row, value, is_null, whereNull: objstore_object()) { (cursor) throws(StoreError) in
        try cursor.link(property_id).map { ObjStoreC.object($0) }
    }
}

@c @implementation
public func objstore_row_value(
    _ row: UnsafeMutablePointer<objstore_row>?, _ property_id: objstore_property_id,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ value: UnsafeMutablePointer<objstore_value>?
) -> objstore_status {
    guard let value else { return failNull("value") }
    return withRow(row) { (cursor) throws(StoreError) in
        try cursor.value(property_id, try outputBuffer(buffer)).store(to: value, storeTag: cursor.storeTag)
    }
}
