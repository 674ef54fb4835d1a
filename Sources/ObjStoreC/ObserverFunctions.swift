public import CObjStore
internal import ObjStoreCore

// Observers that say more: which key paths, of one object, of whatever is committed; and what is said of them later.

private func options(
    _ flags: UInt32, _ paths: UnsafePointer<objstore_text>?, _ count: Int
) throws(StoreError) -> ObserverOptions {
    try check(observeFlags: flags)
    try check(elements: count, "key_path_count")
    try check(array: paths, count, "key_paths")
    var options = options(flags)
    guard let paths else { return options }
    var list: [String] = []
    for index in 0..<count {
        list.append(try naming("key_paths") { () throws(StoreError) in try name(paths[index]) })
    }
    options.keyPaths = list
    return options
}

var observedCollection: Blame {
    [
        .wrongStore: "collection", .noSuchClass: "collection", .noSuchProperty: "collection",
        .wrongType: "collection", .noSuchObject: "collection",
    ]
}

/// Begins an observer of a store, and gives its token. `begin` gets what calls the application's handler.
func beginObserving(
    _ store: OpaquePointer?, _ handler: objstore_change_handler?, _ userdata: Userdata,
    _ token: UnsafeMutablePointer<OpaquePointer?>?, _ blame: Blame = [:],
    _ begin: (Store, @escaping Observer.Handler) throws(StoreError) -> Observer
) -> objstore_status {
    guard let token else { return failNull("token") }
    token.pointee = nil
    guard let handler else { return failNull("handler") }
    return Handles.pin(store, .store, "store", blame) { (box: StoreBox) throws(StoreError) in
        let object = box.store, handle = store!
        let observer = try begin(object) { call(handler, userdata, $0, object, handle) }
        try makeToken(observer, object, parent: handle, token)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_query_observe_paths(
    _ query: OpaquePointer?, _ store: OpaquePointer?, _ key_paths: UnsafePointer<objstore_text>?,
    _ key_path_count: Int, _ flags: UInt32, _ handler: objstore_change_handler?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    token?.pointee = nil
    return Handles.pin(query, .query, "query", [.invalidQuery: "query"]) { (asked: QueryBox) throws(StoreError) in
        beginObserving(store, handler, userdata, token, [.wrongStore: "query"]) { (store, handler) throws(StoreError) in
            try store.observe(asked.any, try options(flags, key_paths, key_path_count), handler: handler)
        }
    }
}

@c @implementation
public func objstore_observe_paths(
    _ store: OpaquePointer?, _ class_id: objstore_class_id, _ key_paths: UnsafePointer<objstore_text>?,
    _ key_path_count: Int, _ flags: UInt32, _ handler: objstore_change_handler?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    beginObserving(store, handler, Userdata(userdata, free_userdata), token, [.noSuchClass: "class_id"]) {
        (store, handler) throws(StoreError) in
        try store.observe(class_id, try options(flags, key_paths, key_path_count), handler: handler)
    }
}

@c @implementation
public func objstore_results_observe_paths(
    _ results: OpaquePointer?, _ key_paths: UnsafePointer<objstore_text>?, _ key_path_count: Int, _ flags: UInt32,
    _ handler: objstore_change_handler?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    guard let token else { return failNull("token") }
    token.pointee = nil
    guard let handler else { return failNull("handler") }
    return Handles.pin(results, .results, "results", [.wrongView: "results"]) { (object: Results) throws(StoreError) in
        let options = try options(flags, key_paths, key_path_count)
        // The observer outlives results and view: it belongs to the store.
        let handle = Handles.store(of: results!), store = object.view.store
        let observer = try object.observe(options) { call(handler, userdata, $0, store, handle) }
        try makeToken(observer, store, parent: handle, token)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_collection_observe_paths(
    _ store: OpaquePointer?, _ collection: objstore_collection, _ key_paths: UnsafePointer<objstore_text>?,
    _ key_path_count: Int, _ flags: UInt32, _ handler: objstore_change_handler?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    beginObserving(store, handler, Userdata(userdata, free_userdata), token, observedCollection) {
        (store, handler) throws(StoreError) in
        try store.observe(
            try collectionID(collection), try options(flags, key_paths, key_path_count), handler: handler)
    }
}

@c @implementation
public func objstore_object_observe(
    _ store: OpaquePointer?, _ object: objstore_object, _ key_paths: UnsafePointer<objstore_text>?,
    _ key_path_count: Int, _ flags: UInt32, _ handler: objstore_change_handler?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    let blame: Blame = [.wrongStore: "object", .noSuchClass: "object", .noSuchObject: "object"]
    return beginObserving(store, handler, Userdata(userdata, free_userdata), token, blame) {
        (store, handler) throws(StoreError) in
        try store.observe(objectID(object), try options(flags, key_paths, key_path_count), handler: handler)
    }
}

@c @implementation
public func objstore_sections_observe(
    _ sections: OpaquePointer?, _ one: UnsafePointer<objstore_value>?, _ key_paths: UnsafePointer<objstore_text>?,
    _ key_path_count: Int, _ flags: UInt32, _ handler: objstore_change_handler?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    guard let token else { return failNull("token") }
    token.pointee = nil
    guard let handler else { return failNull("handler") }
    let blame: Blame = [.wrongView: "sections", .wrongType: "one", .wrongStore: "one", .invalidUTF8: "one"]
    return Handles.pin(sections, .sections, "sections", blame) { (object: Sections) throws(StoreError) in
        let options = try options(flags, key_paths, key_path_count), key: Value?
        if let one { key = try naming("one") { () throws(StoreError) in try Value(one.pointee) } } else { key = nil }
        // The observer outlives sections, results and view: it belongs to the store.
        let handle = Handles.store(of: sections!), store = object.view.store
        let observer = try object.observe(options, one: key) { call(handler, userdata, $0, store, handle) }
        try makeToken(observer, store, parent: handle, token)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_observe_commits(
    _ store: OpaquePointer?, _ flags: UInt32, _ handler: objstore_change_handler?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    beginObserving(store, handler, Userdata(userdata, free_userdata), token) { (store, handler) throws(StoreError) in
        try store.observeCommits(try options(flags, nil, 0), handler: handler)
    }
}

// MARK: Tokens

@c @implementation
public func objstore_token_pause(_ token: OpaquePointer?) -> objstore_status {
    Handles.use(token, .token, "token") { (box: TokenBox) throws(StoreError) in box.observer.pause() }
}

@c @implementation
public func objstore_token_resume(_ token: OpaquePointer?) -> objstore_status {
    Handles.use(token, .token, "token") { (box: TokenBox) throws(StoreError) in box.observer.resume() }
}

@c @implementation
public func objstore_token_since(
    _ token: OpaquePointer?, _ bookmark: UnsafePointer<objstore_bookmark>?
) -> objstore_status {
    guard let bookmark else { return failNull("bookmark") }
    return Handles.use(token, .token, "token") { (box: TokenBox) throws(StoreError) in
        try box.store.begin(box.observer, at: try read(bookmark))
    }
}

@c @implementation
public func objstore_token_lag(_ token: OpaquePointer?, _ versions: UnsafeMutablePointer<UInt64>?) -> objstore_status {
    guard let versions else { return failNull("versions") }
    return Handles.use(token, .token, "token") { (box: TokenBox) throws(StoreError) in
        versions.pointee = box.observer.lag
    }
}

@c @implementation
public func objstore_token_set_interval(_ token: OpaquePointer?, _ interval_ms: Int64) -> objstore_status {
    Handles.use(token, .token, "token", [.outOfRange: "interval_ms"]) { (box: TokenBox) throws(StoreError) in
        try box.observer.setInterval(milliseconds: interval_ms)
    }
}
