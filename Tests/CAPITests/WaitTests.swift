import CObjStore
import CSystem
import Glibc
import Testing

// What happens while a call waits for other writers: the application is asked whether to continue, and closing the
// handle ends the wait.

private let userStatus = objstore_status(rawValue: objstore_status.OBJSTORE_USER_STATUS.rawValue + 5)!

/// How often the handler was asked; with 0 it continues for ever, else it stops at that time.
private final class Asked: @unchecked Sendable {
    private let words = UnsafeMutablePointer<UInt64>.allocate(capacity: 3)
    var store: OpaquePointer?

    init(enough: UInt64) {
        words.initialize(repeating: 0, count: 3)
        words[2] = enough
    }
    deinit { words.deallocate() }

    /// Since the last look.
    var count: UInt64 {
        let count = cs_load64(words)
        cs_store64(words, 0)
        return count
    }
    var freed: UInt64 { cs_load64(words + 1) }
    func waitUntilAsked() { while cs_load64(words) == 0 { sched_yield() } }

    func set(_ config: OpaquePointer) throws {
        try ok(
            objstore_config_set_wait(
                config,
                { userdata in
                    let asked = Unmanaged<Asked>.fromOpaque(userdata!).takeUnretainedValue()
                    if let store = asked.store { #expect(objstore_flush(store) == .OBJSTORE_ERR_IN_CALLBACK) }
                    let count = cs_add64(asked.words, 1) + 1, enough = asked.words[2]
                    return enough != 0 && count >= enough ? userStatus : .OBJSTORE_OK
                }, Unmanaged.passUnretained(self).toOpaque(),
                { userdata in
                    _ = cs_add64(Unmanaged<Asked>.fromOpaque(userdata!).takeUnretainedValue().words + 1, 1)
                }))
    }
}

private func cancelled(_ status: objstore_status) {
    #expect(refused(status, .OBJSTORE_ERR_CANCELLED).contains("status \(userStatus.rawValue)"))
    var error = objstore_error()
    error.struct_size = UInt32(MemoryLayout<objstore_error>.size)
    _ = objstore_last_error(&error)
    #expect(error.callback_code == Int64(userStatus.rawValue))
}

@Test func waitsAreEndedByTheirHandler() throws {
    let folder = TestFolder(), asked = Asked(enough: 2)
    let writing = try openStore(folder.store, [dogs]),
        waiting = try openStore(folder.store, [dogs], configure: asked.set)
    let view = try liveView(waiting)
    var tx: OpaquePointer?
    try ok(objstore_begin(writing, &tx))
    asked.store = waiting
    nonisolated(unsafe) let store = waiting
    onThread {
        var other: OpaquePointer?
        cancelled(objstore_begin(store, &other))
        #expect(asked.count == 2)
        cancelled(objstore_begin_within(store, 600_000, &other))
        #expect(asked.count == 2)
        // The handler of a shorter wait is not called.
        refused(objstore_begin_within(store, 200, &other), .OBJSTORE_ERR_TIMEOUT)
        refused(objstore_try_begin(store, &other), .OBJSTORE_ERR_BUSY)
        #expect(asked.count == 0)
        cancelled(objstore_checkpoint(store))
        cancelled(objstore_compact(store, nil, nil, nil))
        #expect(asked.count >= 3)
    }
    // Opening has to write: a class is new.
    let opening = Asked(enough: 3), path = folder.store
    onThread {
        do {
            _ = try openStore(path, [dogs, persons], version: 2, configure: opening.set)
            Issue.record("opened while another one wrote")
        } catch let failure as Failure { #expect(failure.status == .OBJSTORE_ERR_CANCELLED) } catch {
            Issue.record(error)
        }
        #expect(opening.count == 3 && opening.freed == 1)
    }
    try ok(objstore_commit(tx, nil))
    // The handler of a call that does not wait is not called, and the handle is as good as before.
    _ = asked.count
    try ok(objstore_begin(waiting, &tx))
    try ok(objstore_commit(tx, nil))
    try ok(objstore_compact(waiting, nil, nil, nil))
    try ok(objstore_checkpoint(waiting))
    try ok(objstore_view_close(view))
    #expect(asked.count == 0 && asked.freed == 0)
    try ok(objstore_close(waiting))
    try ok(objstore_close(writing))
    #expect(asked.freed == 1)
}

/// Also without a handler to ask: closing ends all waits.
@Test(arguments: ["checkpoint", "compact", "verify"]) func closingWakesCallsThatWaitForAWriter(call: String) throws {
    let folder = TestFolder(), asked = Asked(enough: 0)
    let writing = try openStore(folder.store, [dogs]),
        waiting = try openStore(folder.store, [dogs], configure: asked.set)
    let view = try liveView(waiting)
    var tx: OpaquePointer?
    try ok(objstore_begin(writing, &tx))
    nonisolated(unsafe) let store = waiting, shown = view
    let thread = start {
        switch call {
        case "checkpoint": refused(objstore_checkpoint(store), .OBJSTORE_ERR_CLOSED_HANDLE)
        case "compact": refused(objstore_compact(store, nil, nil, nil), .OBJSTORE_ERR_CLOSED_HANDLE)
        default: refused(objstore_verify(shown, nil, nil, nil, nil, nil), .OBJSTORE_ERR_CLOSED_HANDLE)
        }
    }
    asked.waitUntilAsked()
    try ok(objstore_close(waiting))
    join([thread])
    try ok(objstore_commit(tx, nil))
    try ok(objstore_close(writing))
}
