internal import CSystem
public import CObjStore
internal import ObjStoreCore

/// Calls the application's body with a handle that is valid until it returns.
private func run(
    _ body: objstore_write_body, _ userdata: Userdata, _ view: View, _ store: OpaquePointer
) -> StoreError? {
    do throws(StoreError) {
        let handle = try Handles.open(.view, view, parent: store, isLent: true)
        let status = try userdata.call { body(handle, $0) }
        // Unless it has ended the transaction by itself.
        if case .mine = Handles.claim(handle, .view, "transaction") { Handles.forget(handle) }
        return status == .OBJSTORE_OK ? nil : handlerFailure(status.rawValue, "a write body")
    } catch {
        return error
    }
}

/// What calls the application's completion.
private func call(_ completion: objstore_completion?, _ userdata: Userdata) -> AsyncWrite.Completion? {
    guard let completion else { return nil }
    return { result in
        do throws(StoreError) {
            let status: objstore_status
            switch result {
            case .success(let version): status = try userdata.call { completion(.OBJSTORE_OK, version, $0) }
            case .failure(let error):
                let code = report(error)
                status = try userdata.call { completion(code, 0, $0) }
            }
            return status == .OBJSTORE_OK ? nil : handlerFailure(status.rawValue, "a completion")
        } catch {
            return error
        }
    }
}

/// Whether the commit may be one with others.
private func mayGroup(_ flags: UInt32) throws(StoreError) -> Bool {
    let known = UInt32(OBJSTORE_ASYNC_ALLOW_GROUPING)
    try check(flags: flags, known: known)
    return flags & known != 0
}

@c @implementation
public func objstore_write_async(
    _ store: OpaquePointer?, _ flags: UInt32, _ body: objstore_write_body?, _ completion: objstore_completion?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ id: UnsafeMutablePointer<objstore_async_id>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    guard let body else { return failNull("body") }
    return Handles.pin(store, .store, "store", [.readOnly: "store"]) { (box: StoreBox) throws(StoreError) in
        let made = try box.store.writeAsync(
            mayGroup: try mayGroup(flags), { run(body, userdata, $0, store!) },
            completion: call(completion, userdata))
        id?.pointee = made
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_begin_async(
    _ store: OpaquePointer?, _ body: objstore_write_body?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ id: UnsafeMutablePointer<objstore_async_id>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    guard let body else { return failNull("body") }
    return Handles.pin(store, .store, "store", [.readOnly: "store"]) { (box: StoreBox) throws(StoreError) in
        let made = try box.store.beginAsync { run(body, userdata, $0, store!) }
        id?.pointee = made
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_commit_async(
    _ transaction: OpaquePointer?, _ flags: UInt32, _ completion: objstore_completion?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ id: UnsafeMutablePointer<objstore_async_id>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    let mayBeGrouped: Bool
    do throws(StoreError) { mayBeGrouped = try mayGroup(flags) } catch {
        // What is wrong with the handle comes first.
        let checked = Handles.use(transaction, .view, "transaction", ends: true) { (_: View) throws(StoreError) in }
        return checked == .OBJSTORE_OK ? report(error) : checked
    }
    return endTransaction(transaction) { (view) throws(StoreError) in
        let made = try view.commitAsync(mayGroup: mayBeGrouped, completion: call(completion, userdata))
        id?.pointee = made
    }
}

@c @implementation
public func objstore_cancel_async(_ store: OpaquePointer?, _ id: objstore_async_id) -> objstore_status {
    Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        box.store.cancelAsync(id)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_is_writing_async(
    _ store: OpaquePointer?, _ writing: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let writing else { return failNull("writing") }
    return Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        writing.pointee = box.store.isWritingAsync
        return .OBJSTORE_OK
    }
}
