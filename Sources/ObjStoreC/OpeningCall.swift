internal import CSystem
import CObjStore
internal import ObjStoreCore

/// What a configuration calls while a store is opened.
struct OpeningCallbacks {
    var initialData: (function: objstore_initial_data, userdata: Userdata)?
    var migration: (function: objstore_migration, userdata: Userdata)?
    var compaction: (function: objstore_compaction, userdata: Userdata)?
}

/// One call of `objstore_open`: what it shows to callbacks, and what they answer.
final class OpeningCall: @unchecked Sendable {
    private let callbacks: OpeningCallbacks
    /// That of the store, as soon as it had to be shown.
    private var handle: OpaquePointer?
    /// What a callback ended the opening with; it is for the application to say why.
    private(set) var answer = objstore_status.OBJSTORE_OK

    init(_ callbacks: OpeningCallbacks) { self.callbacks = callbacks }

    /// The configuration with the callbacks of this call.
    func complete(_ configuration: StoreConfiguration) -> StoreConfiguration {
        var result = configuration
        if let (function, userdata) = callbacks.initialData {
            nonisolated(unsafe) let function = function
            result.steps.initialData = { (view) throws(StoreError) in
                try self.lend([view]) { store, views in userdata.status { function(store, views[0], $0) } }
            }
        }
        if let (function, userdata) = callbacks.migration {
            nonisolated(unsafe) let function = function
            result.steps.migration = { (new, old, from, to) throws(StoreError) in
                try self.lend([new, old]) { store, views in
                    userdata.status { function(store, views[0], views[1], from, to, $0) }
                }
            }
        }
        if let (function, userdata) = callbacks.compaction {
            nonisolated(unsafe) let function = function
            result.steps.compaction = { (total, used) throws(StoreError) in
                var isWanted = false
                try self.ask { userdata.status { function(total, used, &isWanted, $0) } }
                return isWanted
            }
        }
        return result
    }

    /// The handle of the store, permanently or while the opening lasts.
    func handle(of store: Store) throws(StoreError) -> OpaquePointer {
        if let handle { return handle }
        let made = try Handles.open(.store, StoreBox(store))
        handle = made
        return made
    }

    /// The opening has failed, and closed the store.
    func abandon() {
        if let handle, case .mine = Handles.claim(handle, .store, "store") { Handles.forget(handle) }
        handle = nil
    }

    /// Calls a callback that sees the store through `views`.
    private func lend(_ views: [View], _ body: (OpaquePointer, [OpaquePointer]) -> objstore_status) throws(StoreError) {
        let store = try handle(of: views[0].store)
        var handles: [OpaquePointer] = []
        defer {
            for handle in handles { if case .mine = Handles.claim(handle, .view, "view") { Handles.forget(handle) } }
        }
        for view in views { handles.append(try Handles.open(.view, view, parent: store, isLent: true)) }
        // It cannot be closed inside.
        try ask { Handles.pin(store, .store, "store") { (_: StoreBox) throws(StoreError) in body(store, handles) } }
    }

    /// Calls a callback. What failed in it, or what it said by `objstore_fail`, is the last error, else its status.
    private func ask(_ body: () -> objstore_status) throws(StoreError) {
        let thread = cs_thread_current()!, before = thread.pointee.status, nothing: Int32 = -1
        thread.pointee.status = nothing
        defer { if thread.pointee.status == nothing { thread.pointee.status = before } }
        let status = try ApplicationCall.run(body), isSilent = thread.pointee.status == nothing
        if isSilent { thread.pointee.status = before }
        if status == .OBJSTORE_OK { return }
        answer = status
        let message = "a callback ended the opening with status \(status.rawValue)"
        if isSilent { remember(status.rawValue, message, callbackCode: Int64(status.rawValue)) }
        throw StoreError(.callback, message)
    }
}
