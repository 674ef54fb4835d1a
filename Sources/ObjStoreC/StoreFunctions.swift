internal import CSystem
public import CObjStore
internal import ObjStoreCore

/// A store, behind its handle.
final class StoreBox {
    let store: Store
    /// The path, NUL-terminated, as long as the handle is open.
    let path: UnsafeMutableBufferPointer<CChar>

    init(_ store: Store) {
        self.store = store
        let text = store.shared.path.utf8CString
        path = .allocate(capacity: text.count)
        _ = path.initialize(from: text)
    }

    deinit { path.deallocate() }
}

@c @implementation
public func objstore_open(_ config: OpaquePointer?, _ store: UnsafeMutablePointer<OpaquePointer?>?) -> objstore_status {
    guard let store else { return failNull("store") }
    store.pointee = nil
    return Handles.pin(config, .config, "config") { (box: ConfigBox) throws(StoreError) in try open(box, store) }
}

@c @implementation
public func objstore_open_default(_ store: UnsafeMutablePointer<OpaquePointer?>?) -> objstore_status {
    guard let store else { return failNull("store") }
    store.pointee = nil
    var answer = objstore_status.OBJSTORE_OK
    let status = withoutHandle { () throws(StoreError) in answer = try open(ConfigBox.standard, store) }
    return status == .OBJSTORE_OK ? answer : status
}

/// What a callback ended it with; else it worked.
private func open(_ box: ConfigBox, _ store: UnsafeMutablePointer<OpaquePointer?>) throws(StoreError) -> objstore_status
{
    let (configuration, callbacks) = box.content
    let call = OpeningCall(callbacks)
    do throws(StoreError) {
        store.pointee = try call.handle(of: try Store.open(call.complete(configuration)))
        return .OBJSTORE_OK
    } catch {
        call.abandon()
        // The error is the callback's.
        if call.answer != .OBJSTORE_OK { return call.answer }
        throw error
    }
}

@c @implementation
public func objstore_close(_ store: OpaquePointer?) -> objstore_status {
    guard let store else { return .OBJSTORE_OK }
    let state = cs_cancel_off()
    defer { cs_cancel_restore(state) }
    if !Handles.isInside(store) {
        // Waiting calls are woken first: closing the handle waits for those calls.
        let stopped = Handles.pin(store, .store, "store", ends: true) { (box: StoreBox) throws(StoreError) in
            try box.store.endWaits()
            return .OBJSTORE_OK
        }
        if stopped == .OBJSTORE_ERR_IN_CALLBACK { return stopped }
    }
    switch Handles.claim(store, .store, "store") {
    case .refused(let status): return status
    case .inherited: return .OBJSTORE_OK
    case .mine(let object):
        let box = object as! StoreBox
        defer { Handles.forget(store) }
        do throws(StoreError) {
            try box.store.close()
            return .OBJSTORE_OK
        } catch {
            return report(error)
        }
    }
}

@c @implementation
public func objstore_get_info(_ store: OpaquePointer?, _ info: UnsafeMutablePointer<objstore_info>?) -> objstore_status
{
    guard let info else { return failNull("info") }
    var result = objstore_status.OBJSTORE_OK
    let used = Handles.use(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        let facts = try box.store.info()
        var full = objstore_info()
        full.store_tag = box.store.shared.tag
        withUnsafeMutableBytes(of: &full.uuid) { $0.copyBytes(from: facts.uuid) }
        full.path = objstore_text(bytes: UnsafePointer(box.path.baseAddress), length: Int64(box.path.count - 1))
        full.schema_version = facts.schemaVersion
        full.format = facts.format
        full.page_bytes = facts.pageBytes
        full.mode = objstore_mode(rawValue: box.store.mode.rawValue)!
        if box.store.wasCreated { full.flags |= UInt32(OBJSTORE_INFO_CREATED) }
        if box.store.wasRecovered { full.flags |= UInt32(OBJSTORE_INFO_RECOVERED) }
        if box.store.shared.isInMemory { full.flags |= UInt32(OBJSTORE_INFO_MEMORY) }
        result = fill(info, full, size: info.pointee.struct_size, least: 8, "info")
    }
    return used == .OBJSTORE_OK ? result : used
}

@c @implementation
public func objstore_flush(_ store: OpaquePointer?) -> objstore_status {
    Handles.pin(store, .store, "store", [.readOnly: "store", .alreadyInWrite: "store"]) {
        (box: StoreBox) throws(StoreError) in
        try box.store.flush()
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_checkpoint(_ store: OpaquePointer?) -> objstore_status {
    Handles.pin(store, .store, "store", [.readOnly: "store", .alreadyInWrite: "store"]) {
        (box: StoreBox) throws(StoreError) in
        try box.store.checkpoint()
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_get_statistics(
    _ store: OpaquePointer?, _ statistics: UnsafeMutablePointer<objstore_statistics>?
) -> objstore_status {
    guard let statistics else { return failNull("statistics") }
    return Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        let now = try box.store.statistics()
        var full = objstore_statistics()
        full.published_version = now.published
        full.durable_version = now.durable
        full.checkpoint_version = now.checkpoint
        full.file_bytes = UInt64(now.fileBytes)
        full.live_bytes = UInt64(now.liveBytes)
        full.free_bytes = UInt64(now.freeBytes)
        full.pinned_bytes = UInt64(now.pinnedBytes)
        full.log_file_bytes = UInt64(now.logFileBytes)
        full.log_used_bytes = UInt64(now.logUsedBytes)
        full.oldest_pin = now.oldestPin
        full.reader_slots = UInt64(now.readerSlots)
        full.processes = UInt64(now.processes)
        full.commits = now.commits
        full.checkpoints = now.checkpoints
        full.syncs = now.syncs
        full.log_bytes_written = now.logBytesWritten
        full.file_bytes_written = now.fileBytesWritten
        full.views = UInt64(now.views)
        full.mapped_bytes = UInt64(now.mappedBytes)
        full.arena_bytes = UInt64(now.arenaBytes)
        full.versions = UInt64(now.versions)
        full.observers = UInt64(now.observers)
        full.change_sets = now.changeSets
        return fill(statistics, full, size: statistics.pointee.struct_size, least: 16, "statistics")
    }
}

@c @implementation
public func objstore_pins(
    _ store: OpaquePointer?, _ pins: UnsafeMutablePointer<objstore_pin>?, _ capacity: Int,
    _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        try check(count: capacity, "capacity")
        try check(array: pins, capacity, "pins")
        let all = try box.store.pins()
        for (index, pin) in all.prefix(capacity).enumerated() {
            pins.unsafelyUnwrapped[index] = objstore_pin(
                version: pin.version, since_ms: pin.since, instance: pin.instance, process_id: pin.process,
                holder: objstore_pin_holder(rawValue: pin.holder.rawValue)!, count: UInt32(pin.count), reserved: 0)
        }
        count.pointee = all.count
        return .OBJSTORE_OK
    }
}

/// The application's progress callback; none: nothing is called.
private func report(
    _ progress: objstore_progress?, _ userdata: Userdata, _ done: UInt64, _ total: UInt64
) throws(StoreError) {
    guard let progress else { return }
    let status = try userdata.call { progress(done, total, $0) }
    if status != .OBJSTORE_OK { throw cancelled(by: "progress", status) }
}

@c @implementation
public func objstore_compact(
    _ store: OpaquePointer?, _ progress: objstore_progress?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    return Handles.pin(store, .store, "store", [.readOnly: "store", .alreadyInWrite: "store"]) {
        (box: StoreBox) throws(StoreError) in
        try box.store.compact { (done, total) throws(StoreError) in try report(progress, userdata, done, total) }
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_copy(
    _ view: OpaquePointer?, _ path: objstore_text, _ progress: objstore_progress?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    return Handles.pin(view, .view, "view", [.alreadyExists: "path", .notFound: "path", .invalidArgument: "path"]) {
        (view: View) throws(StoreError) in
        try view.copy(to: try ObjStoreC.path(path)) { (done, total) throws(StoreError) in
            try report(progress, userdata, done, total)
        }
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_verify(
    _ view: OpaquePointer?, _ progress: objstore_progress?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?,
    _ report: UnsafeMutablePointer<objstore_buffer>?, _ findings: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    return Handles.pin(view, .view, "view", [.wrongView: "view"]) { (view: View) throws(StoreError) in
        let output = try outputBuffer(report)
        let found = try view.verify { (done, total) throws(StoreError) in
            try ObjStoreC.report(progress, userdata, done, total)
        }
        if let output {
            var text = found.joined(separator: "\n")
            if !found.isEmpty { text += "\n" }
            var failure: StoreError?
            text.withUTF8 { bytes in
                do throws(StoreError) {
                    let out = try OutputBuffer.start(output, bytes.count + 1)
                    if let base = bytes.baseAddress { out.copyMemory(from: base, byteCount: bytes.count) }
                    out.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
                    output.pointee.length = bytes.count
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
        }
        findings?.pointee = UInt64(found.count)
        return found.isEmpty ? .OBJSTORE_OK : fail(.corrupt, "\(found.count) findings, the first: \(found[0])")
    }
}
