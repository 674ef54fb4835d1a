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

private let allowsGrouping = UInt32(OBJSTORE_ASYNC_ALLOW_GROUPING), alone = UInt32(OBJSTORE_ASYNC_ALONE)

/// Whether a transaction is to be shared with nothing.
private func isAlone(_ flags: UInt32) throws(StoreError) -> Bool {
    try check(flags: flags, known: alone)
    return flags != 0
}

/// Ends a transaction by a commit that nobody waits for.
private func endTransaction(
    _ transaction: OpaquePointer?, _ flags: UInt32, _ body: (View, _ mayGroup: Bool) throws(StoreError) -> Void
) -> objstore_status {
    do throws(StoreError) { try check(flags: flags, known: allowsGrouping) } catch {
        // What is wrong with the handle comes first.
        let checked = Handles.use(transaction, .view, "transaction", ends: true) { (_: View) throws(StoreError) in }
        return checked == .OBJSTORE_OK ? report(error) : checked
    }
    return endTransaction(transaction) { (view) throws(StoreError) in try body(view, flags & allowsGrouping != 0) }
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
        try check(flags: flags, known: allowsGrouping | alone)
        let made = try box.store.writeAsync(
            mayGroup: flags & allowsGrouping != 0, isAlone: flags & alone != 0, { run(body, userdata, $0, store!) },
            completion: call(completion, userdata))
        id?.pointee = made
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_begin_async(
    _ store: OpaquePointer?, _ flags: UInt32, _ body: objstore_write_body?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ id: UnsafeMutablePointer<objstore_async_id>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    guard let body else { return failNull("body") }
    return Handles.pin(store, .store, "store", [.readOnly: "store"]) { (box: StoreBox) throws(StoreError) in
        let made = try box.store.beginAsync(isAlone: try isAlone(flags)) { run(body, userdata, $0, store!) }
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
    return endTransaction(transaction, flags) { (view, mayGroup) throws(StoreError) in
        let made = try view.commitAsync(mayGroup: mayGroup, completion: call(completion, userdata))
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

@c @implementation
public func objstore_request_begin(
    _ store: OpaquePointer?, _ flags: UInt32, _ ready: objstore_ready?, _ userdata: UnsafeMutableRawPointer?,
    _ id: UnsafeMutablePointer<objstore_async_id>?
) -> objstore_status {
    guard let ready else { return failNull("ready") }
    guard let id else { return failNull("id") }
    let call = ReadyCall(ready, userdata)
    return Handles.pin(store, .store, "store", [.readOnly: "store"]) { (box: StoreBox) throws(StoreError) in
        id.pointee = try box.store.requestBegin(isAlone: try isAlone(flags), ready: call.make)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_claim_begin(
    _ store: OpaquePointer?, _ id: objstore_async_id, _ transaction: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let transaction else { return failNull("transaction") }
    transaction.pointee = nil
    return Handles.pin(store, .store, "store", [.readOnly: "store"]) { (box: StoreBox) throws(StoreError) in
        guard let view = try box.store.claimBegin(id) else {
            throw StoreError(.busy, "the turn of request \(id) has not come, or has passed")
        }
        transaction.pointee = try Handles.open(.view, view, parent: store)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_request_commit(
    _ transaction: OpaquePointer?, _ flags: UInt32, _ ready: objstore_ready?, _ userdata: UnsafeMutableRawPointer?,
    _ id: UnsafeMutablePointer<objstore_async_id>?
) -> objstore_status {
    guard let ready else { return failNull("ready") }
    guard let id else { return failNull("id") }
    let call = ReadyCall(ready, userdata)
    return endTransaction(transaction, flags) { (view, mayGroup) throws(StoreError) in
        id.pointee = try view.requestCommit(mayGroup: mayGroup, ready: call.make)
    }
}

@c @implementation
public func objstore_claim_commit(
    _ store: OpaquePointer?, _ id: objstore_async_id, _ version: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    guard let version else { return failNull("version") }
    return Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        guard let made = try box.store.claimCommit(id) else {
            throw StoreError(.busy, "commit \(id) is not over")
        }
        version.pointee = made
        return .OBJSTORE_OK
    }
}

/// What tells the application that something may be claimed.
private struct ReadyCall: @unchecked Sendable {
    private let function: objstore_ready
    private let userdata: UnsafeMutableRawPointer?

    init(_ function: @escaping objstore_ready, _ userdata: UnsafeMutableRawPointer?) {
        self.function = function
        self.userdata = userdata
    }

    func make(_ id: UInt64) { function(userdata, id) }
}

@c @implementation
public func objstore_without_notifying(
    _ transaction: OpaquePointer?, _ tokens: UnsafePointer<OpaquePointer?>?, _ count: Int
) -> objstore_status {
    Handles.pin(transaction, .view, "transaction", [.wrongStore: "tokens"]) { (view: View) throws(StoreError) in
        try view.checkIsTransaction()
        try check(count: count, "count")
        try check(array: tokens, count, "tokens")
        var observers: [Observer] = []
        for index in 0..<count {
            let status = Handles.pin(tokens.unsafelyUnwrapped[index], .token, "tokens") { (box: TokenBox) in
                observers.append(box.observer)
                return .OBJSTORE_OK
            }
            if status != .OBJSTORE_OK { return status }
        }
        try view.withoutNotifying(observers)
        return .OBJSTORE_OK
    }
}
