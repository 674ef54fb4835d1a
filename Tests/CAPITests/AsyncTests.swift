import CObjStore
import CSystem
import Glibc
import Testing

// Writes that nobody waits for. Threads meet by the library's own descriptor and by barriers, never by sleeping.

private let failed = objstore_status(rawValue: objstore_status.OBJSTORE_USER_STATUS.rawValue + 7)!

/// A store of dogs, what its bodies and completions did, in order, and how many userdata were freed.
private final class Kennel: @unchecked Sendable {
    var store: OpaquePointer
    let dog: ClassOf
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var lines: [String] = []
    private(set) var made = 0
    private var freedCount = 0

    init(_ path: String? = nil, configure: (OpaquePointer) throws -> Void = { _ in }) throws {
        store = try openStore(path, [dogs], configure: configure)
        dog = try ClassOf(store, dogs)
        lock = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
    }

    deinit { lock.deallocate() }

    func note(_ line: String) { locked { lines.append(line) } }
    var noted: [String] { locked { lines } }
    /// A body may run before the completion of the one before it is called, or after: each in its own order.
    var ran: [String] { noted.filter { $0.hasSuffix(" runs") } }
    var told: [String] { noted.filter { !$0.hasSuffix(" runs") } }
    var freed: Int { locked { freedCount } }
    private func locked<T>(_ body: () -> T) -> T {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return body()
    }

    /// Swift closures as functions of C with their userdata.
    final class Calls {
        let kennel: Kennel
        let name: String
        let body: (OpaquePointer) throws -> Void
        let completion: () -> objstore_status
        init(
            _ kennel: Kennel, _ name: String, _ completion: @escaping () -> objstore_status,
            _ body: @escaping (OpaquePointer) throws -> Void
        ) {
            (self.kennel, self.name, self.body, self.completion) = (kennel, name, body, completion)
        }
        static func of(_ userdata: UnsafeMutableRawPointer?) -> Calls {
            Unmanaged<Calls>.fromOpaque(userdata!).takeUnretainedValue()
        }
    }

    static let body: objstore_write_body = { tx, userdata in
        let calls = Calls.of(userdata)
        calls.kennel.note("\(calls.name) runs")
        do { try calls.body(tx!) } catch { return (error as? Failure)?.status ?? failed }
        return .OBJSTORE_OK
    }
    static let completion: objstore_completion = { status, version, userdata in
        let calls = Calls.of(userdata)
        let code = String(cString: objstore_status_name(status))
        #expect(status != .OBJSTORE_OK || version > 0)
        calls.kennel.note("\(calls.name) \(status == .OBJSTORE_OK ? "done" : code)")
        return calls.completion()
    }
    static let free: objstore_free_userdata = { userdata in
        let calls = Unmanaged<Calls>.fromOpaque(userdata!).takeRetainedValue()
        calls.kennel.locked { calls.kennel.freedCount += 1 }
    }

    func calls(
        _ name: String, _ completion: @escaping () -> objstore_status = { .OBJSTORE_OK },
        _ body: @escaping (OpaquePointer) throws -> Void = { _ in }
    ) -> UnsafeMutableRawPointer {
        locked { made += 1 }
        return Unmanaged.passRetained(Calls(self, name, completion, body)).toOpaque()
    }

    @discardableResult
    func write(
        _ name: String, grouping: Bool = false, tells: Bool = true,
        completion: @escaping () -> objstore_status = { .OBJSTORE_OK },
        _ body: @escaping (OpaquePointer) throws -> Void
    ) throws -> objstore_async_id {
        var id: objstore_async_id = 0
        try ok(
            objstore_write_async(
                store, grouping ? 1 : 0, Kennel.body, tells ? Kennel.completion : nil, calls(name, completion, body),
                Kennel.free, &id))
        return id
    }

    @discardableResult
    func begin(_ name: String, _ body: @escaping (OpaquePointer) throws -> Void) throws -> objstore_async_id {
        var id: objstore_async_id = 0
        try ok(objstore_begin_async(store, 0, Kennel.body, calls(name, body), Kennel.free, &id))
        return id
    }

    private func calls(
        _ name: String, _ body: @escaping (OpaquePointer) throws -> Void
    ) -> UnsafeMutableRawPointer { calls(name, { .OBJSTORE_OK }, body) }

    @discardableResult
    func commit(_ name: String, _ tx: OpaquePointer, grouping: Bool = false) throws -> objstore_async_id {
        var id: objstore_async_id = 0
        try ok(
            objstore_commit_async(
                tx, grouping ? 1 : 0, Kennel.completion, calls(name), Kennel.free, &id))
        return id
    }

    func create(_ tx: OpaquePointer, _ name: String) throws {
        try dog.create(tx, ["name": objstore_string(text(name))])
    }

    /// Names of the dogs, in the order in which they were made.
    func names() throws -> [String] {
        try reading(store) { view in
            var results: OpaquePointer?
            try ok(findAll(view, dog.id, &results))
            defer { _ = objstore_results_close(results) }
            var count: UInt64 = 0
            try ok(objstore_results_count(results, &count))
            return try (0..<count).map { index in
                var object = objstore_object()
                try ok(objstore_results_at(results, index, &object))
                return try dog.string(view, object, "name") ?? "none"
            }
        }
    }

    var isWriting: Bool {
        var writing = false
        #expect(objstore_is_writing_async(store, &writing) == .OBJSTORE_OK)
        return writing
    }

    /// Delivers until nothing is left; the statuses other than OK that deliveries returned.
    @discardableResult
    func drain() throws -> [objstore_status] {
        var statuses: [objstore_status] = [], idle = 0
        while isWriting {
            var delivered = 0
            let status = objstore_wait(store, 10_000, &delivered)
            if status != .OBJSTORE_OK { statuses.append(status) }
            idle = delivered == 0 && status == .OBJSTORE_OK ? idle + 1 : 0
            if idle == 3 { throw Failure(status: status, description: "nothing came in 30 s: \(noted)") }
        }
        return statuses
    }

    func close() throws {
        try ok(objstore_close(store))
        #expect(freed == made, "every userdata is freed, once")
    }
}

@Test("A43: three dogs appended asynchronously and synchronously") func a43() throws {
    let kennel = try Kennel()
    for name in ["Ben", "Lita", "Maui"] { try kennel.write(name) { tx in try kennel.create(tx, name) } }
    try kennel.drain()
    try writing(kennel.store) { tx in try kennel.create(tx, "Rex") }
    #expect(try kennel.names() == ["Ben", "Lita", "Maui", "Rex"])
    try kennel.close()
}

@Test("A50: the flag is set right after the call, and the completion sees what was written") func a50() throws {
    let kennel = try Kennel()
    let me = pthread_self()
    var seen: [String] = [], wasWriting = false
    try kennel.write(
        "a",
        completion: {
            expect(pthread_equal(pthread_self(), me) != 0)
            seen = (try? kennel.names()) ?? []
            wasWriting = kennel.isWriting
            return .OBJSTORE_OK
        }
    ) { tx in
        expect(pthread_equal(pthread_self(), me) != 0)
        try kennel.create(tx, "Ben")
    }
    #expect(kennel.isWriting && kennel.noted.isEmpty)
    try kennel.drain()
    #expect(seen == ["Ben"] && wasWriting && !kennel.isWriting && kennel.noted == ["a runs", "a done"])
    try kennel.close()
}

@Test("A51, A52: what a body leaves open is undone; what it commits is told once") func a51() throws {
    let kennel = try Kennel()
    try kennel.begin("open") { tx in try kennel.create(tx, "lost") }
    try kennel.begin("a") { tx in
        try kennel.create(tx, "Ben")
        try kennel.commit("commit", tx)
        refused(objstore_create(tx, kennel.dog.id, nil, nil, 0, nil), .OBJSTORE_ERR_CLOSED_HANDLE)
    }
    #expect(try kennel.drain() == [])
    #expect(kennel.ran == ["open runs", "a runs"] && kennel.told == ["commit done"])
    #expect(try kennel.names() == ["Ben"])
    try kennel.close()
}

@Test("A53, A54: a body that was cancelled never runs; a commit happens, and nobody is told") func a53() throws {
    let kennel = try Kennel()
    // Held, so that none of them begins.
    var held: OpaquePointer?
    try ok(objstore_begin(kennel.store, &held))
    let first = try kennel.write("a") { tx in try kennel.create(tx, "a") }
    try kennel.write("b") { tx in try kennel.create(tx, "b") }
    let last = try kennel.begin("c") { _ in }
    try ok(objstore_cancel_async(kennel.store, first))
    try ok(objstore_cancel_async(kennel.store, last))
    try ok(objstore_cancel_async(kennel.store, last))
    try ok(objstore_cancel_async(kennel.store, 12345))
    #expect(kennel.freed == 2)
    try ok(objstore_cancel(held))
    try kennel.begin("d") { tx in
        try kennel.create(tx, "d")
        let commit = try kennel.commit("commit", tx)
        try ok(objstore_cancel_async(kennel.store, commit))
    }
    try kennel.drain()
    #expect(kennel.ran == ["b runs", "d runs"] && kennel.told == ["b done"])
    #expect(try kennel.names() == ["b", "d"])
    // The only one that waits, and then none.
    for _ in 0..<20 {
        let id = try kennel.write("e") { tx in try kennel.create(tx, "e") }
        try ok(objstore_cancel_async(kennel.store, id))
    }
    try kennel.drain()
    #expect(try kennel.names() == ["b", "d"])
    try writing(kennel.store) { tx in try kennel.create(tx, "f") }
    try kennel.close()
}

@Test("X6: a body that cancels its own write is undone, and its completion is told") func ownCancel() throws {
    let kennel = try Kennel()
    var id: objstore_async_id = 0
    id = try kennel.write("a") { tx in
        try kennel.create(tx, "a")
        try ok(objstore_cancel_async(kennel.store, id))
    }
    try kennel.write("b") { tx in
        try kennel.create(tx, "b")
        try ok(objstore_cancel(tx))
        refused(objstore_commit(tx, nil), .OBJSTORE_ERR_CLOSED_HANDLE)
    }
    try kennel.write("c") { tx in
        try kennel.create(tx, "c")
        try ok(objstore_commit(tx, nil))
        expect(try kennel.names() == ["c"])
    }
    #expect(try kennel.drain() == [])
    #expect(kennel.ran == ["a runs", "b runs", "c runs"])
    #expect(kennel.told == ["a OBJSTORE_ERR_CANCELLED", "b OBJSTORE_ERR_CANCELLED", "c done"])
    #expect(try kennel.names() == ["c"])
    try kennel.close()
}

@Test("A55: commits that may be one take fewer syncs", arguments: [false, true]) func a55(_ isGrouped: Bool) throws {
    let folder = TestFolder()
    let kennel = try Kennel(folder.store)
    var before = objstore_statistics(), after = objstore_statistics()
    before.struct_size = UInt32(MemoryLayout<objstore_statistics>.size)
    after.struct_size = before.struct_size
    try ok(objstore_get_statistics(kennel.store, &before))
    for number in 0..<200 {
        try kennel.begin("\(number)") { tx in
            try kennel.create(tx, "\(number)")
            try kennel.commit("commit \(number)", tx, grouping: isGrouped)
        }
    }
    try kennel.drain()
    try ok(objstore_get_statistics(kennel.store, &after))
    // How many are one depends on the machine: some are on any. Of those that are not grouped, some share a sync.
    let syncs = after.syncs - before.syncs
    #expect(isGrouped ? syncs < 200 : syncs <= 400, "\(syncs)")
    #expect(try kennel.names() == (0..<200).map(String.init))
    #expect(kennel.noted.filter { $0.hasSuffix("done") } == (0..<200).map { "commit \($0) done" })
    try kennel.close()
}

@Test("A56: closing waits for all that was begun") func a56() throws {
    let folder = TestFolder()
    var kennel = try Kennel(folder.store)
    for number in 0..<20 {
        try kennel.write("\(number)") { tx in
            try kennel.create(tx, "\(number)")
            if number == 7 {
                // What is begun now would have nobody to wait for it.
                refused(
                    objstore_write_async(kennel.store, 0, Kennel.body, nil, nil, nil, nil), .OBJSTORE_ERR_CLOSED_HANDLE)
                refused(objstore_close(kennel.store), .OBJSTORE_ERR_IN_CALLBACK)
            }
        }
    }
    try kennel.close()
    #expect(kennel.noted.count == 40)
    kennel = try Kennel(folder.store)
    #expect(try kennel.names() == (0..<20).map(String.init))
    // A transaction that is left open would keep them waiting for ever: it is cancelled.
    var left: OpaquePointer?
    try ok(objstore_begin(kennel.store, &left))
    try kennel.write("last") { tx in try kennel.create(tx, "last") }
    try kennel.begin("begin") { tx in
        try kennel.create(tx, "begun")
        try kennel.commit("commit", tx)
    }
    try kennel.close()
    #expect(kennel.ran == ["last runs", "begin runs"] && kennel.told == ["last done", "commit done"])
    kennel = try Kennel(folder.store)
    #expect(try kennel.names().suffix(2) == ["last", "begun"])
    try kennel.close()
}

@Test("A61: another thread's write is not waited for") func a61() throws {
    let kennel = try Kennel()
    let gate = UnsafeMutablePointer<UInt64>.allocate(capacity: 2)
    gate.initialize(repeating: 0, count: 2)
    defer { gate.deallocate() }
    let other = try BackgroundThreadOfTests { [gate] in
        try? writing(kennel.store) { tx in
            cs_store64(gate, 1)
            while cs_load64(gate + 1) == 0 { sched_yield() }
            try kennel.create(tx, "first")
        }
    }
    while cs_load64(gate) == 0 { sched_yield() }
    try kennel.write("a") { tx in try kennel.create(tx, "second") }
    var delivered = 1
    try ok(objstore_deliver(kennel.store, &delivered))
    #expect(delivered == 0 && kennel.isWriting && kennel.noted.isEmpty)
    cs_store64(gate + 1, 1)
    try kennel.drain()
    other.join()
    #expect(try kennel.names() == ["first", "second"])
    try kennel.close()
}

@Test func failuresAreToldAndTheQueueGoesOn() throws {
    let kennel = try Kennel()
    try kennel.write("a") { tx in
        try kennel.create(tx, "a")
        throw Failure(status: failed, description: "")
    }
    try kennel.write("silent", tells: false) { tx in
        try kennel.create(tx, "silent")
        throw Failure(status: failed, description: "")
    }
    try kennel.begin("begin") { tx in
        try kennel.create(tx, "begin")
        try kennel.commit("commit", tx)
        throw Failure(status: failed, description: "")
    }
    try kennel.write("complaint", completion: { failed }) { tx in try kennel.create(tx, "complaint") }
    try kennel.write("b") { tx in try kennel.create(tx, "b") }
    // Of the silent one and of the completion's own.
    #expect(try kennel.drain() == [.OBJSTORE_ERR_CALLBACK, .OBJSTORE_ERR_CALLBACK])
    #expect(kennel.ran == ["a runs", "silent runs", "begin runs", "complaint runs", "b runs"])
    #expect(
        kennel.told == ["a OBJSTORE_ERR_CALLBACK", "commit OBJSTORE_ERR_CALLBACK", "complaint done", "b done"])
    #expect(try kennel.names() == ["complaint", "b"])
    try kennel.close()
}

@Test func membersOfAGroupFailAlone() throws {
    let kennel = try Kennel()
    var held: OpaquePointer?
    try ok(objstore_begin(kennel.store, &held))
    for number in 0..<9 {
        try kennel.write("\(number)", grouping: true) { tx in
            try kennel.create(tx, "\(number)")
            var savepoint: objstore_savepoint = 0
            try ok(objstore_savepoint_begin(tx, &savepoint))
            if number == 3 { try ok(objstore_cancel(tx)) }
            if number == 5 { throw Failure(status: failed, description: "") }
        }
    }
    try ok(objstore_cancel(held))
    try kennel.drain()
    #expect(try kennel.names() == [0, 1, 2, 4, 6, 7, 8].map(String.init))
    #expect(
        kennel.told
            == (0..<9).map {
                "\($0) \($0 == 3 ? "OBJSTORE_ERR_CANCELLED" : $0 == 5 ? "OBJSTORE_ERR_CALLBACK" : "done")"
            })
    try kennel.close()
}

@Test func synchronousWritesGoFirst() throws {
    let kennel = try Kennel()
    // Begun for the body already, or about to be: in neither case does this thread wait for itself.
    for number in 0..<50 {
        try kennel.write("async \(number)") { tx in
            try kennel.create(tx, "async \(number)")
            var other: OpaquePointer?
            refused(objstore_begin(kennel.store, &other), .OBJSTORE_ERR_ALREADY_IN_WRITE)
        }
        if number % 2 == 0 { sched_yield() }
        var tx: OpaquePointer?
        try ok(objstore_begin(kennel.store, &tx))
        try kennel.create(tx!, "\(number)")
        if number % 3 == 0 { try kennel.commit("commit \(number)", tx!) } else { try ok(objstore_commit(tx, nil)) }
        try kennel.drain()
    }
    #expect(try kennel.names() == (0..<50).flatMap { ["\($0)", "async \($0)"] })
    try kennel.close()
}

@Test func theStoresOwnThreadRunsThem() throws {
    let kennel = try Kennel(configure: { config in
        try ok(objstore_config_set_flags(config, UInt32(OBJSTORE_CONFIG_DELIVER_ON_WORKER)))
    })
    let me = pthread_self()
    for number in 0..<30 {
        try kennel.write("\(number)", grouping: number % 2 == 0) { tx in
            expect(pthread_equal(pthread_self(), me) == 0)
            try kennel.create(tx, "\(number)")
        }
    }
    while kennel.isWriting { sched_yield() }
    #expect(try kennel.names() == (0..<30).map(String.init) && kennel.noted.count == 60)
    try kennel.write("last") { tx in try kennel.create(tx, "last") }
    try kennel.close()
    #expect(kennel.noted.count == 62)
}

@Test func readOnlyStoresRefuseAtOnce() throws {
    let folder = TestFolder()
    try ok(objstore_close(try openStore(folder.store, [dogs])))
    let store = try openStore(folder.store, [dogs]) { config in
        try ok(objstore_config_set_mode(config, .OBJSTORE_MODE_READ_ONLY))
    }
    refused(objstore_write_async(store, 0, Kennel.body, nil, nil, nil, nil), .OBJSTORE_ERR_READ_ONLY)
    refused(objstore_begin_async(store, 0, Kennel.body, nil, nil, nil), .OBJSTORE_ERR_READ_ONLY)
    try ok(objstore_close(store))
}

/// A thread that a test waits for.
final class BackgroundThreadOfTests {
    private var thread = pthread_t()
    private final class Box { let body: () -> Void; init(_ body: @escaping () -> Void) { self.body = body } }

    init(_ body: @escaping () -> Void) throws {
        let code = pthread_create(
            &thread, nil,
            { argument in
                Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().body()
                return nil
            }, Unmanaged.passRetained(Box(body)).toOpaque())
        try #require(code == 0)
    }

    func join() { pthread_join(thread, nil) }
}
