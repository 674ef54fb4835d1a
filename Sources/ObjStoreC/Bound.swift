public import CObjStore
internal import ObjStoreCore

// MARK: Typed observers

@c @implementation
public func objstore_observe_typed(
    _ store: OpaquePointer?, _ class_id: objstore_class_id, _ properties: UnsafePointer<objstore_property_id>?,
    _ property_count: Int,
    _ signature: objstore_text, _ function: objstore_function?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?,
    _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    guard let token else { return failNull("token") }
    token.pointee = nil
    guard let function else { return failNull("function") }
    return Handles.pin(store, .store, "store", [.noSuchClass: "class_id", .noSuchProperty: "properties"]) {
        (box: StoreBox) throws(StoreError) in
        try check(properties: property_count, "property_count")
        try check(array: properties, property_count, "properties")
        let text: String
        do throws(StoreError) { text = try name(signature) } catch {
            throw StoreError(error.code, "signature: \(error.message)")
        }
        let ids = Array(UnsafeBufferPointer(start: properties, count: property_count))
        let observer = try box.store.observeTyped(
            class_id, ids, signature: text, function: function, userdata: userdata.pointer, around: userdata.around
        ) { status in
            withExtendedLifetime(userdata) {
                (handlerFailure(status), isUntold: userdata.around != nil && Userdata.wasLeft)
            }
        }
        try makeToken(observer, box.store, parent: store!, token)
        return .OBJSTORE_OK
    }
}

// MARK: Bound functions

/// Of all bound functions of this interface.
private let boundCodes = BoundCodes {
    fail(.closedHandle, "the bound function was closed: it must not be called any more").rawValue
}

/// What a bound function needs to exist beyond its calls: the context goes when nothing calls it any more.
private func bind(
    _ body: BoundFunction.Body?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ bound: UnsafeMutablePointer<OpaquePointer?>?, _ bodyName: StaticString, _ hasRoom: Bool,
    _ use: (BoundFunction) -> Void
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    bound?.pointee = nil
    guard let body else { return failNull(bodyName) }
    guard hasRoom else { return failNull("function") }
    guard let bound else { return failNull("bound") }
    if Handles.isSilent { return fail(.inCallback, "\(bodyName): this callback must not call the library") }
    do throws(StoreError) {
        let function = try BoundFunction(
            body, userdata: userdata.pointer, owner: userdata, around: userdata.around, codes: boundCodes)
        bound.pointee = try Handles.open(.bound, function)
        use(function)
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
    bind(
        body.map { unsafeBitCast($0, to: BoundFunction.Body.self) }, userdata, free_userdata, bound, "body",
        function != nil
    ) {
        function!.pointee = unsafeBitCast($0.function, to: objstore_write_body.self)
    }
}

@c @implementation
public func objstore_bind_change_handler(
    _ handler: objstore_change_handler?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ function: UnsafeMutablePointer<objstore_change_handler?>?, _ bound: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    bind(
        handler.map { unsafeBitCast($0, to: BoundFunction.Body.self) }, userdata, free_userdata, bound, "handler",
        function != nil
    ) {
        function!.pointee = unsafeBitCast($0.function, to: objstore_change_handler.self)
    }
}

@c @implementation
public func objstore_bound_close(_ bound: OpaquePointer?) -> objstore_status {
    Handles.close(bound, .bound, "bound")
}
