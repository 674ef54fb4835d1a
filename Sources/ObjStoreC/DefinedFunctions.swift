public import CObjStore
internal import ObjStoreCore

// MARK: Functions that queries call

@c @implementation
public func objstore_watch_queries(
    _ store: OpaquePointer?, _ interval_ms: Int64, _ progress: objstore_progress?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    return Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        guard interval_ms >= 0 else {
            throw StoreError(.outOfRange, "interval_ms is \(interval_ms): 0 or more milliseconds")
        }
        guard let progress else {
            try box.store.watchQueries(nil)
            return .OBJSTORE_OK
        }
        let interval = interval_ms.multipliedReportingOverflow(by: 1_000_000)
        try box.store.watchQueries(
            QueryWatch(every: interval.overflow ? .max / 2 : interval.partialValue) {
                (done, total) throws(StoreError) in
                let status = try userdata.callSilently { progress(done, total, $0) }
                if status == .OBJSTORE_OK { return }
                guard status == .OBJSTORE_ERR_CALLBACK else { throw cancelled(by: "progress", status) }
                let failure = handlerFailure(status.rawValue, "it")
                throw StoreError(.cancelled, "progress: \(failure.message)").callback(failure.callbackCode)
            })
        return .OBJSTORE_OK
    }
}

/// The name of a function: not empty, valid UTF-8.
private func functionName(_ text: objstore_text) throws(StoreError) -> String {
    do throws(StoreError) { return try name(text) } catch { throw error.prefixed("name: ") }
}

@c @implementation
public func objstore_define_function(
    _ store: OpaquePointer?, _ name: objstore_text, _ signature: objstore_text, _ function: objstore_function?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    guard let function else { return failNull("function") }
    return Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        let own = try functionName(name)
        let text = try naming("signature") { () throws(StoreError) -> UnsafeRawBufferPointer in
            let (pointer, count) = try bytes(of: signature)
            guard UTF8Check.isValid(pointer, count) else {
                throw StoreError(.invalidUTF8, "the text is not valid UTF-8")
            }
            return UnsafeRawBufferPointer(start: pointer, count: count)
        }
        try box.store.define(
            own, signature: text, function: function, userdata: userdata.pointer, around: userdata.around
        ) { status in withExtendedLifetime(userdata) { handlerFailure(status, "it") } }
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_undefine_function(_ store: OpaquePointer?, _ name: objstore_text) -> objstore_status {
    Handles.pin(store, .store, "store", [.notFound: "name"]) { (box: StoreBox) throws(StoreError) in
        try box.store.undefine(try functionName(name))
        return .OBJSTORE_OK
    }
}
