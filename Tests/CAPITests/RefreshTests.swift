import CObjStore
import Testing

// What live views show, and when that moves: by objstore_view_refresh, by objstore_refresh, and by themselves.

/// Two handles of a store of dogs, a live view through the first, and what an observer of that was told.
private final class Kennel {
    let store: OpaquePointer, other: OpaquePointer
    let dog: ClassOf
    let view: OpaquePointer
    /// How many were inserted, and how many the view showed then.
    var told: [(inserted: UInt64, shown: Int)] = []
    var body: () throws -> Void = {}
    private let folder = TestFolder()

    init(flags: UInt32 = 0) throws {
        store = try openStore(folder.store, [dogs]) { try ok(objstore_config_set_flags($0, flags)) }
        other = try openStore(folder.store, [dogs]) { try ok(objstore_config_set_flags($0, flags)) }
        dog = try ClassOf(store, dogs)
        view = try liveView(store)
    }

    func close() throws {
        try ok(objstore_close(store))
        try ok(objstore_close(other))
    }

    /// Through the second handle.
    func add(_ names: String...) throws {
        try writing(other) { tx in
            for name in names { _ = try dog.create(tx, ["name": objstore_string(text(name))]) }
        }
    }

    var shown: Int { get throws { try dog.count(view) } }

    func observe() throws -> OpaquePointer {
        var token: OpaquePointer?
        try ok(
            objstore_observe(
                store, dog.id, 0,
                { changes, userdata in
                    let kennel = Unmanaged<Kennel>.fromOpaque(userdata!).takeUnretainedValue()
                    var info = objstore_changes_info_init()
                    let status = objstore_changes_get_info(changes, &info)
                    if status != .OBJSTORE_OK { return status }
                    do {
                        kennel.told.append((info.insertion_count, try kennel.shown))
                        try kennel.body()
                    } catch {
                        return .OBJSTORE_USER_STATUS
                    }
                    return .OBJSTORE_OK
                }, Unmanaged.passUnretained(self).toOpaque(), nil, &token))
        return token!
    }

    func refresh(_ moved: OpaquePointer? = nil) throws -> Bool {
        var changed = true
        try ok(objstore_refresh(store, moved, &changed))
        return changed
    }
}

@Test func refreshDeliversAndMoves() throws {
    let kennel = try Kennel(), token = try kennel.observe()
    #expect(try !kennel.refresh(kennel.view))
    try kennel.add("Rex")
    try kennel.add("Ben", "Luna")
    #expect(try kennel.refresh(kennel.view))
    // Two commits at once; the view moves when the handlers were called.
    #expect(kennel.told.map(\.inserted) == [3] && kennel.told[0].shown == 0)
    #expect(try kennel.shown == 3)
    #expect(try !kennel.refresh(kennel.view))
    // Without a view it delivers, and none is moved.
    try kennel.add("Max")
    #expect(try !kennel.refresh())
    #expect(try kennel.told.count == 2 && kennel.shown == 3)
    try ok(objstore_token_close(token))
    try kennel.close()
}

@Test func refreshInsideOfAHandlerOrATransactionDoesNothing() throws {
    let kennel = try Kennel(), token = try kennel.observe()
    kennel.body = { [unowned kennel] in
        #expect(try !kennel.refresh(kennel.view))
        refused(objstore_deliver(kennel.store, nil), .OBJSTORE_ERR_IN_CALLBACK)
        // What a handler writes is told next, and only that.
        if kennel.told.count == 1 { try kennel.add("from the handler", "and another") }
    }
    try kennel.add("Rex")
    #expect(try kennel.refresh(kennel.view))
    #expect(kennel.told.map(\.inserted) == [1])
    kennel.body = {}
    #expect(try !kennel.refresh(kennel.view), "the view moved behind the handlers, over what these have written")
    #expect(try kennel.told.map(\.inserted) == [1, 2] && kennel.shown == 3)
    // A transaction of this thread, through whichever handle.
    try kennel.add("Ben")
    var tx: OpaquePointer?
    try ok(objstore_begin(kennel.other, &tx))
    #expect(try !kennel.refresh(kennel.view))
    #expect(try kennel.told.count == 2 && kennel.shown == 3)
    try ok(objstore_cancel(tx))
    #expect(try kennel.refresh(kennel.view))
    #expect(kennel.told.map(\.inserted) == [1, 2, 1])
    try ok(objstore_token_close(token))
    try kennel.close()
}

@Test func refreshMovesAlsoWhereAHandlerFails() throws {
    let kennel = try Kennel(), token = try kennel.observe()
    struct Wrong: Error {}
    kennel.body = { throw Wrong() }
    try kennel.add("Rex")
    refused(objstore_refresh(kennel.store, kennel.view, nil), .OBJSTORE_ERR_CALLBACK)
    #expect(try kennel.shown == 1)
    try ok(objstore_token_close(token))
    try kennel.close()
}

@Test func viewsThatFollowByThemselves() throws {
    let kennel = try Kennel(), token = try kennel.observe()
    try ok(objstore_view_set_autorefresh(kennel.view, true))
    #expect(try kennel.shown == 0)
    try kennel.add("Rex")
    #expect(try kennel.shown == 0, "nothing moves before something is delivered")
    try ok(objstore_deliver(kennel.store, nil))
    // It shows what the handler is told of.
    #expect(kennel.told.map(\.shown) == [1])
    // By the caller's wish it shows the same version then, be the commits ever so many.
    try kennel.add("Ben")
    try kennel.add("Luna")
    #expect(try !kennel.refresh())
    #expect(try kennel.told.map(\.shown) == [1, 3] && kennel.shown == 3)
    // Also without observers, and at the end of a wait.
    try ok(objstore_token_close(token))
    try kennel.add("Max")
    var delivered = 1
    try ok(objstore_wait(kennel.store, 1, &delivered))
    #expect(try delivered == 0 && kennel.shown == 4)
    // Of one that is refreshed, whether that has moved it is said all the same.
    try kennel.add("Moe")
    #expect(try kennel.refresh(kennel.view))
    try ok(objstore_view_set_autorefresh(kennel.view, false))
    try kennel.add("last")
    try ok(objstore_deliver(kennel.store, nil))
    #expect(try kennel.shown == 5)
    try ok(objstore_view_set_autorefresh(kennel.view, true))
    try ok(objstore_view_close(kennel.view))
    try ok(objstore_deliver(kennel.store, nil))
    // Views of another handle are that one's.
    let foreign = try liveView(kennel.other)
    try ok(objstore_view_set_autorefresh(foreign, true))
    try kennel.add("more")
    try ok(objstore_deliver(kennel.store, nil))
    #expect(try kennel.dog.count(foreign) == 6)
    try ok(objstore_deliver(kennel.other, nil))
    #expect(try kennel.dog.count(foreign) == 7)
    refused(objstore_refresh(kennel.store, foreign, nil), .OBJSTORE_ERR_WRONG_STORE)
    try kennel.close()
}

@Test func refreshLeavesAsynchronousBodiesAndTheWorkerAlone() throws {
    let kennel = try Kennel()
    let ran = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    ran.initialize(to: 0)
    defer { ran.deallocate() }
    try ok(
        objstore_write_async(
            kennel.store, 0,
            { _, userdata in
                userdata!.assumingMemoryBound(to: Int.self).pointee += 1
                return .OBJSTORE_OK
            }, nil, ran, nil, nil))
    for _ in 0..<50 { #expect(try !kennel.refresh(kennel.view)) }
    #expect(ran.pointee == 0)
    var delivered = 0
    while delivered == 0 { try ok(objstore_wait(kennel.store, 10_000, &delivered)) }
    #expect(ran.pointee == 1)
    try kennel.close()

    let worked = try Kennel(flags: UInt32(OBJSTORE_CONFIG_DELIVER_ON_WORKER))
    try worked.add("Rex")
    #expect(try worked.refresh(worked.view))
    try worked.close()
}
