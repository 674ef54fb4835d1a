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
        let ids = try typedProperties(properties, property_count)
        let observer = try box.store.observeTyped(
            class_id, ids, signature: try typedSignature(signature), typed(function, userdata))
        try makeToken(observer, box.store, parent: store!, token)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_query_observe_typed(
    _ query: OpaquePointer?, _ store: OpaquePointer?, _ flags: UInt32,
    _ properties: UnsafePointer<objstore_property_id>?, _ property_count: Int, _ signature: objstore_text,
    _ function: objstore_function?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    guard let token else { return failNull("token") }
    token.pointee = nil
    guard let function else { return failNull("function") }
    return Handles.pin(query, .query, "query", [.invalidQuery: "query"]) { (asked: QueryBox) throws(StoreError) in
        Handles.pin(
            store, .store, "store", [.wrongStore: "query", .noSuchClass: "query", .noSuchProperty: "properties"]
        ) {
            (box: StoreBox) throws(StoreError) in
            let events = UInt32(OBJSTORE_TYPED_DELETIONS | OBJSTORE_TYPED_BEGINNINGS)
            try check(flags: flags, known: events | UInt32(OBJSTORE_TYPED_PAUSED))
            let ids = try typedProperties(properties, property_count)
            let observer = try box.store.observeTyped(
                try asked.query, telling: TypedEvents(rawValue: flags & events),
                paused: flags & UInt32(OBJSTORE_TYPED_PAUSED) != 0, ids, signature: try typedSignature(signature),
                typed(function, userdata))
            try makeToken(observer, box.store, parent: store!, token)
            return .OBJSTORE_OK
        }
    }
}

private func typedProperties(
    _ properties: UnsafePointer<objstore_property_id>?, _ count: Int
) throws(StoreError) -> [objstore_property_id] {
    try check(properties: count, "property_count")
    try check(array: properties, count, "properties")
    return Array(UnsafeBufferPointer(start: properties, count: count))
}

private func typedSignature(_ signature: objstore_text) throws(StoreError) -> String {
    do throws(StoreError) { return try name(signature) } catch {
        throw StoreError(error.code, "signature: \(error.message)")
    }
}

private func typed(_ function: @escaping objstore_function, _ userdata: Userdata) -> TypedFunction {
    TypedFunction(function, userdata: userdata.pointer, around: userdata.around) { status in
        withExtendedLifetime(userdata) {
            (handlerFailure(status), isUntold: userdata.around != nil && Userdata.wasLeft)
        }
    }
}
