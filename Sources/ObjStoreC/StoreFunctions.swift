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
    return Handles.pin(config, .config, "config") { (box: ConfigBox) throws(StoreError) in
        let configuration = box.lock.withLock { box.configuration }
        store.pointee = try Handles.open(.store, StoreBox(try Store.open(configuration)))
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_close(_ store: OpaquePointer?) -> objstore_status {
    guard let store else { return .OBJSTORE_OK }
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
public func objstore_get_info(_ store: OpaquePointer?, _ info: UnsafeMutablePointer<objstore_info>?) -> objstore_status {
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
    Handles.pin(store, .store, "store", [.readOnly: "store", .alreadyInWrite: "store"]) { (box: StoreBox) throws(StoreError) in
        try box.store.flush()
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_checkpoint(_ store: OpaquePointer?) -> objstore_status {
    Handles.pin(store, .store, "store", [.readOnly: "store", .alreadyInWrite: "store"]) { (box: StoreBox) throws(StoreError) in
        try box.store.checkpoint()
        return .OBJSTORE_OK
    }
}
