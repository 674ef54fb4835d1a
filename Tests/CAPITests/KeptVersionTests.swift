import CObjStore
import Testing

// Versions that a program writes down, and comes back to.

/// What one observer was told: `-0 +1 ~2` by positions, `lost`, `initial`.
private final class Told {
    var lines: [String] = []

    static let handler: objstore_change_handler = { changes, userdata in
        let told = Unmanaged<Told>.fromOpaque(userdata!).takeUnretainedValue()
        var info = objstore_changes_info()
        info.struct_size = UInt32(MemoryLayout<objstore_changes_info>.size)
        var words: [String] = [], status = objstore_changes_get_info(changes, &info)
        if status != .OBJSTORE_OK { return status }
        if info.flags & UInt32(OBJSTORE_CHANGES_LOST) != 0 { words.append("lost") }
        if info.flags & UInt32(OBJSTORE_CHANGES_INITIAL) != 0 { words.append("initial") }
        for (sign, kind) in [
            ("-", objstore_change.OBJSTORE_DELETIONS), ("+", .OBJSTORE_INSERTIONS), ("~", .OBJSTORE_MODIFICATIONS),
        ] {
            var objects: UnsafePointer<objstore_object>?, indices: UnsafePointer<UInt64>?, count = 0
            status = objstore_changes_list(changes, kind, &objects, &indices, &count)
            if status != .OBJSTORE_OK { return status }
            for index in 0..<count { words.append("\(sign)\(indices![index])") }
        }
        told.lines.append(words.joined(separator: " "))
        return .OBJSTORE_OK
    }

    /// Observes all dogs, as a list.
    func observe(_ store: OpaquePointer, _ cls: objstore_class_id, _ flags: Int) throws -> OpaquePointer {
        try reading(store) { view in
            var results: OpaquePointer?, token: OpaquePointer?
            try ok(findAll(view, cls, &results))
            try ok(
                objstore_results_observe(
                    results, UInt32(flags), Told.handler, Unmanaged.passUnretained(self).toOpaque(), nil, &token))
            return token!
        }
    }
}

private func bookmark(_ store: OpaquePointer) throws -> objstore_bookmark {
    var bookmark = objstore_bookmark()
    try reading(store) { try ok(objstore_view_bookmark($0, &bookmark)) }
    return bookmark
}

private func kept(_ store: OpaquePointer) throws -> [objstore_kept_version] {
    var list = [objstore_kept_version](repeating: objstore_kept_version(), count: 20), count = 0
    try ok(objstore_kept_versions(store, &list, list.count, &count))
    return Array(list.prefix(count))
}

private func name(_ kept: objstore_kept_version) -> String {
    withUnsafeBytes(of: kept.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

@Test("What was committed while a program was away is told to it") func sinceARestart() throws {
    let folder = TestFolder(), path = folder.path + "/dogs"
    var store = try openStore(path, [dogs])
    var dog = try ClassOf(store, dogs), objects: [objstore_object] = []
    try writing(store) { tx in
        for index in 0..<4 { objects.append(try dog.create(tx, ["name": objstore_string(text("d\(index)"))])) }
    }
    var seen = try bookmark(store)
    try ok(objstore_keep_version(store, text("index"), &seen))
    try writing(store) { tx in try ok(objstore_set(tx, objects[1], dog["name"], objstore_string(text("other")))) }
    try ok(objstore_close(store))

    store = try openStore(path, [dogs])
    dog = try ClassOf(store, dogs)
    try writing(store) { tx in
        try dog.create(tx, ["name": objstore_string(text("new"))])
        try ok(objstore_delete(tx, objects[0]))
    }
    #expect(try kept(store).map(name) == ["index"])

    let told = Told(), token = try told.observe(store, dog.id, Int(OBJSTORE_OBSERVE_PAUSED))
    try ok(objstore_token_since(token, &seen))
    try ok(objstore_deliver(store, nil))
    #expect(told.lines == [])
    try ok(objstore_token_resume(token))
    try ok(objstore_deliver(store, nil))
    #expect(told.lines == ["-0 +3 ~1"])
    try ok(objstore_deliver(store, nil))
    #expect(told.lines.count == 1)
    var known = objstore_bookmark(), newest = try bookmark(store)
    try ok(objstore_token_bookmark(token, &known))
    #expect(withUnsafeBytes(of: &known, Array.init) == withUnsafeBytes(of: &newest, Array.init))

    // Again, as often as it likes.
    try ok(objstore_token_pause(token))
    try ok(objstore_token_since(token, &seen))
    try ok(objstore_token_resume(token))
    try ok(objstore_deliver(store, nil))
    #expect(told.lines == ["-0 +3 ~1", "-0 +3 ~1"])

    var then: OpaquePointer?, count: UInt64 = 0
    try ok(objstore_view_at(store, &seen, &then))
    try ok(objstore_count(then, dog.id, &count))
    #expect(count == 4)
    try ok(objstore_view_close(then))
    try ok(objstore_release_version(store, text("index")))
    #expect(try kept(store).isEmpty)
    try ok(objstore_token_close(token))
    try ok(objstore_close(store))
}

@Test("A version that nobody keeps: begin anew") func gone() throws {
    let store = try openStore(nil, [dogs]), dog = try ClassOf(store, dogs)
    var seen = try bookmark(store)
    for _ in 0..<3 {
        try writing(store) { tx in try dog.create(tx, ["name": objstore_string(text("d"))]) }
        try ok(objstore_checkpoint(store))
    }
    var then: OpaquePointer?
    let message = refused(objstore_view_at(store, &seen, &then), .OBJSTORE_ERR_VERSION_GONE)
    #expect(message.contains("begin anew") && then == nil, "\(message)")
    #expect(refused(objstore_keep_version(store, text("n"), &seen), .OBJSTORE_ERR_VERSION_GONE).contains("kept"))
    let told = Told(), token = try told.observe(store, dog.id, Int(OBJSTORE_OBSERVE_PAUSED | OBJSTORE_OBSERVE_INITIAL))
    try ok(objstore_token_since(token, &seen))
    try ok(objstore_token_resume(token))
    try ok(objstore_deliver(store, nil))
    #expect(told.lines == ["lost"])
    try writing(store) { tx in try dog.create(tx, ["name": objstore_string(text("d"))]) }
    try ok(objstore_deliver(store, nil))
    #expect(told.lines == ["lost", "+3"])
    try ok(objstore_token_close(token))
    try ok(objstore_close(store))
}

@Test("Only an observer that is paused begins elsewhere") func notPaused() throws {
    let store = try openStore(nil, [dogs]), dog = try ClassOf(store, dogs)
    var seen = try bookmark(store)
    let told = Told(), token = try told.observe(store, dog.id, 0)
    let message = refused(objstore_token_since(token, &seen), .OBJSTORE_ERR_INVALID_ARGUMENT)
    #expect(message.contains("pause"), "\(message)")
    let other = try openStore(nil, [dogs])
    var foreign = try bookmark(other)
    try ok(objstore_token_pause(token))
    #expect(refused(objstore_token_since(token, &foreign), .OBJSTORE_ERR_WRONG_STORE).contains("another store"))
    foreign.bytes.7 ^= 1
    #expect(refused(objstore_token_since(token, &foreign), .OBJSTORE_ERR_INVALID_ARGUMENT).contains("not a bookmark"))
    // It knows what it knew.
    try writing(store) { tx in try dog.create(tx, ["name": objstore_string(text("d"))]) }
    try ok(objstore_token_resume(token))
    try ok(objstore_deliver(store, nil))
    #expect(told.lines == ["+0"])
    try ok(objstore_token_close(token))
    try ok(objstore_close(other))
    try ok(objstore_close(store))
}

@Test("Begun paused, an observer is told nothing, its initial change set neither") func begunPaused() throws {
    let store = try openStore(nil, [dogs]), dog = try ClassOf(store, dogs)
    let told = Told(), token = try told.observe(store, dog.id, Int(OBJSTORE_OBSERVE_PAUSED | OBJSTORE_OBSERVE_INITIAL))
    try writing(store) { tx in try dog.create(tx, ["name": objstore_string(text("d"))]) }
    try ok(objstore_deliver(store, nil))
    #expect(told.lines == [])
    try ok(objstore_token_resume(token))
    try ok(objstore_deliver(store, nil))
    #expect(told.lines == ["initial"])
    try ok(objstore_token_close(token))
    try ok(objstore_close(store))
}

@Test("Kept versions are listed, limited and named") func names() throws {
    let store = try openStore(nil, [dogs])
    for index in 0..<16 { try ok(objstore_keep_version(store, text("n\(index)"), nil)) }
    let message = refused(objstore_keep_version(store, text("more"), nil), .OBJSTORE_ERR_TOO_MANY_VERSIONS)
    #expect(message.contains("16") && message.contains("'n7'"), "\(message)")
    try ok(objstore_keep_version(store, text("n3"), nil))
    let long = String(repeating: "n", count: 65)
    #expect(refused(objstore_keep_version(store, text(long), nil), .OBJSTORE_ERR_INVALID_ARGUMENT).contains("64"))
    #expect(refused(objstore_release_version(store, text("none")), .OBJSTORE_ERR_NOT_FOUND).contains("'none'"))
    let all = try kept(store), here = try bookmark(store)
    #expect(Set(all.map(name)) == Set((0..<16).map { "n\($0)" }))
    for one in all {
        #expect(withUnsafeBytes(of: one.bookmark) { Array($0) } == withUnsafeBytes(of: here) { Array($0) })
    }
    var pins = [objstore_pin](repeating: objstore_pin(), count: 64), count = 0
    try ok(objstore_pins(store, &pins, pins.count, &count))
    let named = pins.prefix(count).filter { $0.holder == .OBJSTORE_PIN_KEPT }
    #expect(named.count == 16 && named.allSatisfy { $0.instance == 0 && $0.process_id == 0 && $0.since_ms > 0 })
    try ok(objstore_close(store))
}
