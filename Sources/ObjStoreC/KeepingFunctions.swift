public import CObjStore
internal import ObjStoreCore

// Bookmarks, and versions that are kept by names.

func read(_ bookmark: UnsafePointer<objstore_bookmark>) throws(StoreError) -> Bookmark {
    try naming("bookmark") { () throws(StoreError) in
        try Bookmark(reading: UnsafeRawBufferPointer(start: bookmark, count: Bookmark.size))
    }
}

private func write(_ bookmark: Bookmark, to place: UnsafeMutablePointer<objstore_bookmark>) {
    bookmark.write(to: UnsafeMutableRawPointer(place))
}

private let blame: Blame = [.wrongStore: "bookmark", .versionGone: "bookmark"]

@c @implementation
public func objstore_view_bookmark(
    _ view: OpaquePointer?, _ bookmark: UnsafeMutablePointer<objstore_bookmark>?
) -> objstore_status {
    guard let bookmark else { return failNull("bookmark") }
    return Handles.use(view, .view, "view", [.wrongView: "view"]) { (view: View) throws(StoreError) in
        write(try view.store.bookmark(of: view), to: bookmark)
    }
}

@c @implementation
public func objstore_token_bookmark(
    _ token: OpaquePointer?, _ bookmark: UnsafeMutablePointer<objstore_bookmark>?
) -> objstore_status {
    guard let bookmark else { return failNull("bookmark") }
    return Handles.use(token, .token, "token", [.versionGone: "token"]) { (box: TokenBox) throws(StoreError) in
        write(try box.store.bookmark(of: box.observer), to: bookmark)
    }
}

@c @implementation
public func objstore_view_at(
    _ store: OpaquePointer?, _ bookmark: UnsafePointer<objstore_bookmark>?,
    _ frozen: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let frozen else { return failNull("frozen") }
    frozen.pointee = nil
    guard let bookmark else { return failNull("bookmark") }
    return Handles.pin(store, .store, "store", blame) { (box: StoreBox) throws(StoreError) in
        frozen.pointee = try Handles.open(.view, try box.store.view(at: try read(bookmark)), parent: store)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_keep_version(
    _ store: OpaquePointer?, _ name: objstore_text, _ bookmark: UnsafePointer<objstore_bookmark>?
) -> objstore_status {
    Handles.pin(store, .store, "store", blame) { (box: StoreBox) throws(StoreError) in
        let name = try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) }
        var known: Bookmark?
        if let bookmark { known = try read(bookmark) }
        try box.store.keepVersion(name, at: known)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_release_version(_ store: OpaquePointer?, _ name: objstore_text) -> objstore_status {
    Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        try box.store.releaseVersion(try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) })
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_kept_versions(
    _ store: OpaquePointer?, _ versions: UnsafeMutablePointer<objstore_kept_version>?, _ capacity: Int,
    _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        try check(count: capacity, "capacity")
        try check(array: versions, capacity, "versions")
        let all = try box.store.keptVersions()
        for (index, kept) in all.prefix(capacity).enumerated() {
            let place = versions.unsafelyUnwrapped + index
            place.initialize(to: objstore_kept_version())
            place.pointee.version = kept.version
            place.pointee.since_ms = kept.since
            write(kept.bookmark, to: &place.pointee.bookmark)
            withUnsafeMutableBytes(of: &place.pointee.name) { $0.copyBytes(from: kept.name.utf8) }
        }
        count.pointee = all.count
        return .OBJSTORE_OK
    }
}
