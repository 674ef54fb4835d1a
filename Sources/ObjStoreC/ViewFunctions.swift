internal import CSystem
public import CObjStore
internal import ObjStoreCore

@c @implementation
public func objstore_view_open(
    _ store: OpaquePointer?, _ view: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let view else { return failNull("view") }
    view.pointee = nil
    return Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        view.pointee = try Handles.open(.view, try box.store.openView(), parent: store)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_view_refresh(_ view: OpaquePointer?, _ changed: UnsafeMutablePointer<Bool>?) -> objstore_status {
    Handles.use(view, .view, "view", [.wrongView: "view"]) { (view: View) throws(StoreError) in
        let moved = try view.refresh()
        changed?.pointee = moved
    }
}

@c @implementation
public func objstore_view_set_autorefresh(_ view: OpaquePointer?, _ on: Bool) -> objstore_status {
    Handles.use(view, .view, "view", [.wrongView: "view"]) { (view: View) throws(StoreError) in
        try view.setAutorefresh(on)
    }
}

@c @implementation
public func objstore_view_freeze(
    _ view: OpaquePointer?, _ frozen: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let frozen else { return failNull("frozen") }
    frozen.pointee = nil
    return Handles.pin(view, .view, "view", [.wrongView: "view"]) { (object: View) throws(StoreError) in
        // It outlives the view that it came from: its parent is the store.
        frozen.pointee = try Handles.open(.view, try object.freeze(), parent: Handles.store(of: view!))
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_view_version(_ view: OpaquePointer?, _ version: UnsafeMutablePointer<UInt64>?) -> objstore_status {
    guard let version else { return failNull("version") }
    return Handles.use(view, .view, "view") { (view: View) throws(StoreError) in version.pointee = try view.version() }
}

@c @implementation
public func objstore_view_get_kind(
    _ view: OpaquePointer?, _ kind: UnsafeMutablePointer<objstore_view_kind>?
) -> objstore_status {
    guard let kind else { return failNull("kind") }
    return Handles.use(view, .view, "view") { (view: View) throws(StoreError) in
        kind.pointee = objstore_view_kind(rawValue: view.kind.rawValue)!
    }
}

@c @implementation
public func objstore_view_close(_ view: OpaquePointer?) -> objstore_status {
    guard let view else { return .OBJSTORE_OK }
    return end(view, "view", needsTransaction: false) { (object) throws(StoreError) in object.close() }
}

/// Ends a view for good: closes its handle, whatever `body` throws.
private func end(
    _ handle: OpaquePointer?, _ argument: StaticString, needsTransaction: Bool,
    _ body: (View) throws(StoreError) -> Void
) -> objstore_status {
    let state = cs_cancel_off()
    defer { cs_cancel_restore(state) }
    let checked = Handles.use(handle, .view, argument, ends: true) { (view: View) throws(StoreError) in
        if needsTransaction, view.kind != .transaction {
            throw StoreError(.notInWrite, "\(argument) is a \(view.kind) view, not a transaction")
        }
        if view.isPartOfChanges {
            throw StoreError(.wrongView, "\(argument): the view belongs to a change set, with which it is closed")
        }
        if view.isEndedByBody {
            throw StoreError(
                .inCallback,
                """
                \(argument): the transaction belongs to the call that has called this function, and ends when that \
                returns
                """
            )
        }
    }
    // Closing what a parent process left behind is fine; everything else is not.
    if checked != .OBJSTORE_OK, !(checked == .OBJSTORE_ERR_FORKED && !needsTransaction) { return checked }
    switch Handles.claim(handle!, .view, argument) {
    case .refused(let status): return status
    case .inherited: return .OBJSTORE_OK
    case .mine(let object):
        defer { Handles.forget(handle!) }
        do throws(StoreError) {
            try body(object as! View)
            return .OBJSTORE_OK
        } catch {
            return report(error)
        }
    }
}

// MARK: Transactions

/// Ends a transaction by `body`, and closes its handle whatever that throws.
func endTransaction(_ transaction: OpaquePointer?, _ body: (View) throws(StoreError) -> Void) -> objstore_status {
    end(transaction, "transaction", needsTransaction: true, body)
}

private func begin(
    _ store: OpaquePointer?, _ transaction: UnsafeMutablePointer<OpaquePointer?>?, _ wait: Store.Wait
) -> objstore_status {
    guard let transaction else { return failNull("transaction") }
    transaction.pointee = nil
    return Handles.pin(store, .store, "store", [.readOnly: "store", .alreadyInWrite: "store"]) {
        (box: StoreBox) throws(StoreError) in
        let view = try box.store.begin(wait)
        do throws(StoreError) {
            transaction.pointee = try Handles.open(.view, view, parent: store)
        } catch {
            view.close()
            throw error
        }
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_begin(
    _ store: OpaquePointer?, _ transaction: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    begin(store, transaction, .standard)
}

@c @implementation
public func objstore_try_begin(
    _ store: OpaquePointer?, _ transaction: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    begin(store, transaction, .notAtAll)
}

@c @implementation
public func objstore_begin_within(
    _ store: OpaquePointer?, _ timeout_ms: Int64, _ transaction: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    transaction?.pointee = nil
    guard timeout_ms >= -1 else {
        return fail(.outOfRange, "timeout_ms is \(timeout_ms): 0 or more, or OBJSTORE_FOREVER")
    }
    return begin(store, transaction, .atMost(timeout_ms))
}

/// The version that it made. Without memory to end it, it is cancelled.
private func commit(_ view: View) throws(StoreError) -> UInt64 {
    if cs_memory_is_low(), !cs_memory_refill() {
        view.close()
        throw Handles.memoryIsLow
    }
    return try view.commit()
}

@c @implementation
public func objstore_commit(_ transaction: OpaquePointer?, _ version: UnsafeMutablePointer<UInt64>?) -> objstore_status
{
    end(transaction, "transaction", needsTransaction: true) { (view) throws(StoreError) in
        let committed = try commit(view)
        version?.pointee = committed
    }
}

@c @implementation
public func objstore_cancel(_ transaction: OpaquePointer?) -> objstore_status {
    end(transaction, "transaction", needsTransaction: true) { (view) throws(StoreError) in try view.cancel() }
}

@c @implementation
public func objstore_savepoint_begin(
    _ transaction: OpaquePointer?, _ savepoint: UnsafeMutablePointer<objstore_savepoint>?
) -> objstore_status {
    guard let savepoint else { return failNull("savepoint") }
    return Handles.use(transaction, .view, "transaction", [.notInWrite: "transaction"]) {
        (view: View) throws(StoreError) in
        savepoint.pointee = try view.beginSavepoint()
    }
}

@c @implementation
public func objstore_savepoint_release(
    _ transaction: OpaquePointer?, _ savepoint: objstore_savepoint
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", [.notInWrite: "transaction", .outOfRange: "savepoint"]) {
        (view: View) throws(StoreError) in
        try view.releaseSavepoint(savepoint)
    }
}

@c @implementation
public func objstore_savepoint_rollback(
    _ transaction: OpaquePointer?, _ savepoint: objstore_savepoint
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", ends: true, [.notInWrite: "transaction", .outOfRange: "savepoint"]) {
        (view: View) throws(StoreError) in
        try view.rollBack(toSavepoint: savepoint)
    }
}

@c @implementation
public func objstore_write(
    _ store: OpaquePointer?, _ body: objstore_write_body?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    guard let body else { return failNull("body") }
    return Handles.pin(store, .store, "store", [.readOnly: "store", .alreadyInWrite: "store"]) {
        (box: StoreBox) throws(StoreError) in
        let view = try box.store.begin()
        view.isEndedByBody = true
        let handle: OpaquePointer
        do throws(StoreError) {
            handle = try Handles.open(.view, view, parent: store, isLent: true)
        } catch {
            view.close()
            throw error
        }
        let result = try userdata.call { body(handle, $0) }
        view.isEndedByBody = false
        // No call may use the view any more. It was lent: no other code has closed it.
        guard case .mine = Handles.claim(handle, .view, "transaction") else {
            throw StoreError(.internalError, "the transaction of a body was closed")
        }
        defer { Handles.forget(handle) }
        guard result == .OBJSTORE_OK else {
            view.close()
            return result
        }
        _ = try commit(view)
        return .OBJSTORE_OK
    }
}
