public import CObjStore
internal import ObjStoreCore

/// Of all bound functions of this interface, by their shapes.
private let boundCodes = BoundShape.allCases.map { shape in
    BoundCodes(shape) {
        fail(.closedHandle, "the bound function was closed: it must not be called any more").rawValue
    }
}

/// What a bound function needs to exist beyond its calls: the context goes when nothing calls it any more.
private func bind<Callback, Plain>(
    _ shape: BoundShape, _ body: Callback?, _ bodyName: StaticString, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ function: UnsafeMutablePointer<Plain?>?,
    _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    bound?.pointee = nil
    guard let body else { return failNull(bodyName) }
    guard let function else { return failNull("function") }
    guard let bound else { return failNull("bound") }
    if Handles.isSilent { return fail(.inCallback, "\(bodyName): this callback must not call the library") }
    do throws(StoreError) {
        let made = try BoundFunction(
            unsafeBitCast(body, to: BoundFunction.Function.self), userdata: userdata.pointer, owner: userdata,
            around: userdata.around, codes: boundCodes[shape.rawValue])
        bound.pointee = try Handles.open(.bound, made)
        function.pointee = unsafeBitCast(made.plain, to: Plain.self)
        return .OBJSTORE_OK
    } catch {
        return report(error)
    }
}

@c @implementation
public func objstore_bind_write_body(
    _ body: objstore_write_body?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_write_body?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.subject, body, "body", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_change_handler(
    _ handler: objstore_change_handler?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_change_handler?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.subject, handler, "handler", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_progress(
    _ progress: objstore_progress?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_progress?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.progress, progress, "progress", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_migration(
    _ migrate: objstore_migration?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_migration?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.migration, migrate, "migrate", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_initial_data(
    _ fill: objstore_initial_data?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_initial_data?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.initialData, fill, "fill", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_compaction(
    _ decide: objstore_compaction?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_compaction?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.compaction, decide, "decide", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_wait_handler(
    _ handler: objstore_wait_handler?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_wait_handler?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.wait, handler, "handler", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_log_handler(
    _ handler: objstore_log_handler?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_log_handler?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.log, handler, "handler", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_report(
    _ report: objstore_report?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_report?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.subject, report, "report", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_section_key(
    _ key: objstore_section_key?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_section_key?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.sectionKey, key, "key", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_completion(
    _ completion: objstore_completion?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_completion?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.completion, completion, "completion", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_ready(
    _ ready: objstore_ready?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_ready?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.ready, ready, "ready", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_json_write(
    _ write: objstore_json_write?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_json_write?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.jsonWrite, write, "write", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_json_read(
    _ read: objstore_json_read?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_json_read?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.jsonRead, read, "read", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_json_convert(
    _ convert: objstore_json_convert?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_json_convert?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.jsonConvert, convert, "convert", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bind_comparator(
    _ compare: objstore_comparator?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_plain_comparator?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(.comparator, compare, "compare", userdata, free_userdata, function, bound)
}

@c @implementation
public func objstore_bound_close(_ bound: OpaquePointer?) -> objstore_status {
    Handles.close(bound, .bound, "bound")
}
