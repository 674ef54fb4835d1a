internal import CSystem
public import CObjStore
internal import ObjStoreCore

private let extended: UInt32 = 1, relaxed: UInt32 = 2, pretty: UInt32 = 4, nanAsNull: UInt32 = 8

private func writing(_ flags: UInt32) throws(StoreError) -> JSONWriter.Options {
    guard flags & ~(extended | pretty | nanAsNull) == 0 else {
        throw StoreError(
            .invalidArgument, "flags: 0x\(String(flags, radix: 16)) has others than EXTENDED, PRETTY and NAN_AS_NULL")
    }
    return JSONWriter.Options(rawValue: flags)
}

private func reading(_ flags: UInt32) throws(StoreError) -> JSONOptions {
    guard flags & ~(extended | relaxed) == 0 else {
        throw StoreError(.invalidArgument, "flags: 0x\(String(flags, radix: 16)) has others than EXTENDED and RELAXED")
    }
    return JSONOptions(rawValue: flags)
}

private func checked(depth: UInt32) throws(StoreError) -> Int {
    guard depth <= UInt32(View.deepestJSON) else {
        throw StoreError(.outOfRange, "depth: \(depth) is more than \(View.deepestJSON)")
    }
    return Int(depth)
}

private func hand(_ text: Value, to json: UnsafeMutablePointer<objstore_text>?) {
    json?.pointee = objstore_text(bytes: Value.text(text.pointer), length: Int64(text.count))
}

/// Hands out the text that `body` writes.
private func text(
    _ view: OpaquePointer?, _ depth: UInt32, _ flags: UInt32, _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ json: UnsafeMutablePointer<objstore_text>?,
    _ blame: Blame, _ body: (View, Int, JSONWriter) throws(StoreError) -> Void
) -> objstore_status {
    guard buffer != nil else { return failNull("buffer") }
    return Handles.use(view, .view, "view", blame) { (view: View) throws(StoreError) in
        guard let output = try outputBuffer(buffer) else { return }
        let depth = try checked(depth: depth), writer = JSONWriter(try writing(flags))
        try body(view, depth, writer)
        hand(try writer.copy(into: output), to: json)
    }
}

@c @implementation
public func objstore_to_json(
    _ view: OpaquePointer?, _ object: objstore_object, _ depth: UInt32, _ flags: UInt32,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ json: UnsafeMutablePointer<objstore_text>?
) -> objstore_status {
    text(view, depth, flags, buffer, json, [.noSuchClass: "object", .noSuchObject: "object", .wrongStore: "object"]) {
        (view, depth, writer) throws(StoreError) in
        try view.write(objectID(object), depth: depth, to: writer)
    }
}

@c @implementation
public func objstore_property_to_json(
    _ view: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ steps: UnsafePointer<objstore_value>?,
    _ step_count: Int, _ depth: UInt32, _ flags: UInt32, _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ json: UnsafeMutablePointer<objstore_text>?
) -> objstore_status {
    let blame: Blame = [
        .noSuchClass: "object", .noSuchObject: "object", .wrongStore: "object", .noSuchProperty: "property_id",
        .wrongType: "property_id or steps",
        .notFound: "steps",
    ]
    return text(view, depth, flags, buffer, json, blame) { (view, depth, writer) throws(StoreError) in
        try withPath(steps, step_count) { (path) throws(StoreError) in
            try view.write(objectID(object), property_id, path, depth: depth, to: writer)
        }
    }
}

@c @implementation
public func objstore_results_to_json(
    _ results: OpaquePointer?, _ depth: UInt32, _ flags: UInt32, _ write: objstore_json_write?,
    _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    guard let write else { return failNull("write") }
    guard let handle = results else { return failNull("results") }
    return Handles.pin(results, .results, "results") { (results: Results) throws(StoreError) in
        let depth = try checked(depth: depth), options = try writing(flags)
        // The view, too, cannot be closed by the callback.
        return Handles.pin(Handles.parent(handle), .view, "results") { (_: View) throws(StoreError) in
            try results.writeJSON(depth: depth, options) { (text) throws(StoreError) in
                let status = try userdata.call {
                    write(text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, $0)
                }
                if status != .OBJSTORE_OK { throw cancelled(by: "write", status) }
            }
            return .OBJSTORE_OK
        }
    }
}

@c @implementation
public func objstore_value_to_json(
    _ value: objstore_value, _ flags: UInt32, _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ json: UnsafeMutablePointer<objstore_text>?
) -> objstore_status {
    guard buffer != nil else { return failNull("buffer") }
    return plain([.wrongType: "value", .invalidUTF8: "value", .outOfRange: "value"]) { () throws(StoreError) in
        guard let output = try outputBuffer(buffer) else { return }
        let options = try writing(flags), value = try naming("value") { () throws(StoreError) in try Value(value) }
        hand(try JSONDocument.write(value, options, into: output), to: json)
    }
}

@c @implementation
public func objstore_value_from_json(
    _ json: objstore_text, _ flags: UInt32, _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ value: UnsafeMutablePointer<objstore_value>?
) -> objstore_status {
    guard buffer != nil else { return failNull("buffer") }
    guard let value else { return failNull("value") }
    return plain([.invalidJSON: "json", .invalidUTF8: "json"]) { () throws(StoreError) in
        guard let output = try outputBuffer(buffer) else { return }
        let options = try reading(flags)
        let text = try naming("json") { () throws(StoreError) -> UnsafeRawBufferPointer in
            let (pointer, count) = try bytes(of: json)
            try Memory.check(for: count, each: 32)
            return UnsafeRawBufferPointer(start: pointer, count: count)
        }
        let found = try JSONDocument.parse(text, options, into: output)
        value.pointee = objstore_null()
        found.store(to: value, storeTag: 0)
    }
}

// MARK: Creating

private var creating: Blame {
    [
        .noSuchClass: "class_id", .notInWrite: "transaction", .noPrimaryKey: "class_id", .invalidJSON: "json",
        .invalidUTF8: "json", .embedded: "class_id",
    ]
}

/// What a callback that failed has said, or its status.
func failed(_ status: objstore_status, _ callback: StaticString) -> StoreError {
    let thread = cs_thread_current()!.pointee
    if status == .OBJSTORE_ERR_CALLBACK, thread.status == status.rawValue {
        return StoreError(.callback, String(cString: objstore_last_message())).callback(thread.callback_code)
    }
    return StoreError(.callback, "\(callback) returned \(status.rawValue)").callback(Int64(status.rawValue))
}

/// The application's converter; it may not use the library, whose transaction is in use.
private func converter(_ convert: objstore_json_convert?, _ userdata: Userdata) -> View.JSONConvert? {
    guard let convert else { return nil }
    return { (value, kind, propertyID) throws(StoreError) in
        var given = objstore_value(), made = objstore_null(), isConverted = false
        value.store(to: &given, storeTag: 0)
        let valueKind = unsafeBitCast(Int32(kind.rawValue), to: objstore_kind.self)
        let status = try userdata.callSilently { convert(propertyID, valueKind, given, &made, &isConverted, $0) }
        guard status == .OBJSTORE_OK else { throw failed(status, "convert") }
        return isConverted ? try Value(made) : nil
    }
}

private func source(_ json: objstore_text) throws(StoreError) -> JSONReader.Source {
    do throws(StoreError) {
        let (pointer, count) = try bytes(of: json)
        return .memory(UnsafeRawBufferPointer(start: pointer, count: count))
    } catch {
        throw StoreError(error.code, "json: \(error.message)")
    }
}

@c @implementation
public func objstore_create_from_json(
    _ transaction: OpaquePointer?, _ class_id: objstore_class_id, _ policy: objstore_policy, _ flags: UInt32,
    _ json: objstore_text,
    _ convert: objstore_json_convert?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ object: UnsafeMutablePointer<objstore_object>?, _ outcome: UnsafeMutablePointer<objstore_outcome>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    return Handles.pin(transaction, .view, "transaction", creating) { (view: View) throws(StoreError) in
        let policy = try ObjStoreC.policy(policy), options = try reading(flags)
        let (id, done) = try view.create(
            class_id, json: try source(json), options, policy, converter(convert, userdata))
        object?.pointee = ObjStoreC.object(id)
        outcome?.pointee = objstore_outcome(rawValue: done.rawValue)!
        return .OBJSTORE_OK
    }
}

private typealias Creation = (
    _ view: View, _ options: JSONOptions, _ policy: UpsertPolicy, _ convert: View.JSONConvert?,
    _ made: (ObjectID, UpsertOutcome) -> Void
) throws(StoreError) -> Void

/// Creates all objects of an array, and counts them.
private func createAll(
    _ transaction: OpaquePointer?, _ policy: objstore_policy, _ flags: UInt32, _ convert: objstore_json_convert?,
    _ userdata: Userdata,
    _ count: UnsafeMutablePointer<UInt64>?, _ create: Creation
) -> objstore_status {
    Handles.pin(transaction, .view, "transaction", creating) { (view: View) throws(StoreError) in
        let policy = try ObjStoreC.policy(policy), options = try reading(flags)
        var made: UInt64 = 0
        try create(view, options, policy, converter(convert, userdata)) { _, _ in made += 1 }
        count?.pointee = made
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_create_all_from_json_file(
    _ transaction: OpaquePointer?, _ class_id: objstore_class_id, _ policy: objstore_policy, _ flags: UInt32,
    _ path: objstore_text,
    _ convert: objstore_json_convert?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ count: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    return createAll(transaction, policy, flags, convert, userdata, count) {
        (view, options, policy, convert, made) throws(StoreError) in
        let path = try ObjStoreC.path(path)
        try view.createAll(class_id, jsonFile: path, options, policy, convert, made)
    }
}

@c @implementation
public func objstore_create_all_from_json(
    _ transaction: OpaquePointer?, _ class_id: objstore_class_id, _ policy: objstore_policy, _ flags: UInt32,
    _ json: objstore_text,
    _ convert: objstore_json_convert?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ count: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    return createAll(transaction, policy, flags, convert, userdata, count) {
        (view, options, policy, convert, made) throws(StoreError) in
        try view.createAll(class_id, json: try source(json), options, policy, convert, made)
    }
}

@c @implementation
public func objstore_create_all_from_json_stream(
    _ transaction: OpaquePointer?, _ class_id: objstore_class_id, _ policy: objstore_policy, _ flags: UInt32,
    _ read: objstore_json_read?,
    _ convert: objstore_json_convert?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ count: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    guard let read else { return failNull("read") }
    return createAll(transaction, policy, flags, convert, userdata, count) {
        (view, options, policy, convert, made) throws(StoreError) in
        let source = JSONReader.Source.read { (room) throws(StoreError) in
            var count = 0
            let status = try userdata.call { read(room.baseAddress, room.count, &count, $0) }
            guard status == .OBJSTORE_OK else { throw failed(status, "read") }
            return count
        }
        try view.createAll(class_id, json: source, options, policy, convert, made)
    }
}
