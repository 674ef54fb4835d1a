import CObjStore
import CSystem
import Glibc
import Testing

// Transactions and outcomes that are requested and claimed. Threads meet by a pipe, never by sleeping.

/// Where `ready` tells what may be claimed.
private final class Bell {
    private var ends: (read: Int32, write: Int32) = (0, 0)

    init() {
        var descriptors: [Int32] = [0, 0]
        pipe(&descriptors)
        ends = (descriptors[0], descriptors[1])
    }

    deinit {
        close(ends.read)
        close(ends.write)
    }

    /// As eventfd_write with a descriptor.
    static let ready: objstore_ready = { userdata, id in
        var id = id
        write(Int32(Int(bitPattern: userdata)), &id, 8)
    }
    var userdata: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: Int(ends.write)) }

    private var heard: [objstore_async_id] = []

    /// Until it is told of that one; false: not for 30 seconds. Of others it is told later.
    func hears(_ id: objstore_async_id) -> Bool {
        while true {
            if let index = heard.firstIndex(of: id) {
                heard.remove(at: index)
                return true
            }
            var descriptor = pollfd(fd: ends.read, events: Int16(POLLIN), revents: 0), next: objstore_async_id = 0
            guard poll(&descriptor, 1, 30_000) == 1, read(ends.read, &next, 8) == 8 else { return false }
            heard.append(next)
        }
    }
}

private struct Office {
    let store: OpaquePointer
    let dog: ClassOf
    let bell = Bell()

    init(_ path: String? = nil, configure: (OpaquePointer) throws -> Void = { _ in }) throws {
        store = try openStore(path, [dogs], configure: configure)
        dog = try ClassOf(store, dogs)
    }

    func request(_ flags: Int = 0) throws -> objstore_async_id {
        var id: objstore_async_id = 0
        try ok(objstore_request_begin(store, UInt32(flags), Bell.ready, bell.userdata, &id))
        #expect(id != 0)
        return id
    }

    func claim(_ id: objstore_async_id) throws -> OpaquePointer {
        var tx: OpaquePointer?
        try ok(objstore_claim_begin(store, id, &tx))
        return tx!
    }

    /// Waits for its turn as a coroutine would.
    func turn(_ id: objstore_async_id) throws -> OpaquePointer {
        while true {
            let isTold = bell.hears(id)
            try #require(isTold)
            var tx: OpaquePointer?
            let status = objstore_claim_begin(store, id, &tx)
            if status == .OBJSTORE_ERR_BUSY { continue }
            try ok(status)
            return tx!
        }
    }

    func commit(_ tx: OpaquePointer, grouping: Bool = false) throws -> objstore_async_id {
        var id: objstore_async_id = 0
        let flags = grouping ? UInt32(OBJSTORE_ASYNC_ALLOW_GROUPING) : 0
        try ok(objstore_request_commit(tx, flags, Bell.ready, bell.userdata, &id))
        return id
    }

    func outcome(_ id: objstore_async_id) throws -> UInt64 {
        #expect(bell.hears(id))
        var version: UInt64 = 0
        try ok(objstore_claim_commit(store, id, &version))
        return version
    }

    func add(_ tx: OpaquePointer, _ name: String) throws { try dog.create(tx, ["name": objstore_string(text(name))]) }

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
}

@Test func aRequestIsClaimedCommittedAndClaimed() throws {
    let office = try Office()
    let id = try office.request()
    let tx = try office.turn(id)
    try office.add(tx, "Ben")
    var other: OpaquePointer?
    refused(objstore_claim_begin(office.store, id, &other), .OBJSTORE_ERR_ALREADY_IN_WRITE)
    let commit = try office.commit(tx)
    refused(objstore_view_close(tx), .OBJSTORE_ERR_CLOSED_HANDLE)
    #expect(try office.outcome(commit) > 0)
    #expect(try office.names() == ["Ben"])
    var version: UInt64 = 0
    for unknown in [id, commit, 12345, 0] {
        let message = refused(
            objstore_claim_begin(office.store, unknown, &other), .OBJSTORE_ERR_INVALID_ARGUMENT)
        #expect(message.contains("\(unknown)"))
        refused(objstore_claim_commit(office.store, unknown, &version), .OBJSTORE_ERR_INVALID_ARGUMENT)
    }
    // It ends in every way that a transaction does.
    for end in [objstore_cancel, objstore_view_close] {
        let tx = try office.turn(office.request())
        try office.add(tx, "lost")
        try ok(end(tx))
    }
    let last = try office.turn(office.request())
    try office.add(last, "Rex")
    try ok(objstore_commit(last, nil))
    #expect(try office.names() == ["Ben", "Rex"])
    try ok(objstore_close(office.store))
}

@Test func aTurnThatPassesComesAgain() throws {
    let folder = TestFolder()
    let office = try Office(folder.store)
    let id = try office.request()
    #expect(office.bell.hears(id))
    // A write that is waited for goes first, on the very thread that was to claim.
    try writing(office.store) { tx in
        try office.add(tx, "first")
        var claimed: OpaquePointer?
        refused(objstore_claim_begin(office.store, id, &claimed), .OBJSTORE_ERR_ALREADY_IN_WRITE)
    }
    let tx = try office.turn(id)
    try office.add(tx, "second")
    _ = try office.outcome(office.commit(tx))
    // So does one of another handle.
    let late = try office.request()
    #expect(office.bell.hears(late))
    let second = try openStore(folder.store, [dogs])
    try writing(second) { tx in try office.add(tx, "third") }
    try ok(objstore_close(second))
    let claimed = try office.turn(late)
    try office.add(claimed, "fourth")
    _ = try office.outcome(office.commit(claimed))
    #expect(try office.names() == ["first", "second", "third", "fourth"])
    try ok(objstore_close(office.store))
}

@Test func cancelledRequestsAreNotTold() throws {
    let office = try Office()
    var held: OpaquePointer?
    try ok(objstore_begin(office.store, &held))
    let first = try office.request(), second = try office.request(), third = try office.request()
    var claimed: OpaquePointer?
    try ok(objstore_cancel_async(office.store, first))
    try ok(objstore_cancel_async(office.store, third))
    try ok(objstore_cancel(held))
    // While it is told, and may be claimed.
    #expect(office.bell.hears(second))
    try ok(objstore_cancel_async(office.store, second))
    for id in [first, second, third] {
        refused(objstore_claim_begin(office.store, id, &claimed), .OBJSTORE_ERR_INVALID_ARGUMENT)
    }
    // What is claimed already is undone when it ends; of a commit nobody is told.
    let fourth = try office.request(), tx = try office.turn(fourth)
    try office.add(tx, "lost")
    try ok(objstore_cancel_async(office.store, fourth))
    let commit = try office.commit(tx)
    #expect(office.bell.hears(commit))
    var version: UInt64 = 0
    refused(objstore_claim_commit(office.store, commit, &version), .OBJSTORE_ERR_CANCELLED)
    let fifth = try office.turn(office.request())
    try office.add(fifth, "kept")
    let untold = try office.commit(fifth)
    try ok(objstore_cancel_async(office.store, untold))
    refused(objstore_claim_commit(office.store, untold, &version), .OBJSTORE_ERR_INVALID_ARGUMENT)
    _ = try office.outcome(office.commit(office.turn(office.request())))
    #expect(try office.names() == ["kept"])
    try ok(objstore_close(office.store))
}

@Test func claimsThatMayBeGroupedAreOneCommit() throws {
    let folder = TestFolder()
    let office = try Office(folder.store)
    var held: OpaquePointer?
    try ok(objstore_begin(office.store, &held))
    let ids = try (0..<6).map { try office.request($0 == 4 ? OBJSTORE_ASYNC_ALONE : 0) }
    try ok(objstore_cancel(held))
    var commits: [Int: objstore_async_id] = [:], versions: [Int: UInt64] = [:]
    for (number, id) in ids.enumerated() {
        let tx = try office.turn(id)
        try office.add(tx, "\(number)")
        if number == 1 { try ok(objstore_cancel(tx)) } else { commits[number] = try office.commit(tx, grouping: true) }
    }
    for (number, commit) in commits { versions[number] = try office.outcome(commit) }
    #expect(try office.names() == ["0", "2", "3", "4", "5"])
    // 1 is undone alone, and ends the group; 4 shares with nothing before it or behind it.
    #expect(versions[2] == versions[3] && Set(versions.values).count == 4)
    try ok(objstore_close(office.store))
}

@Test func whatBeginningRefusesIsSaidWhereItIsClaimed() throws {
    let folder = TestFolder()
    let office = try Office(folder.store) { config in
        try ok(objstore_config_set_limit(config, .OBJSTORE_LIMIT_WRITE_TIMEOUT_MS, 30))
    }
    let other = try openStore(folder.store, [dogs])
    var held: OpaquePointer?, claimed: OpaquePointer?
    try ok(objstore_begin(other, &held))
    let id = try office.request()
    #expect(office.bell.hears(id))
    // This thread has one open; when it has ended, it learns what became of its request.
    refused(objstore_claim_begin(office.store, id, &claimed), .OBJSTORE_ERR_ALREADY_IN_WRITE)
    try ok(objstore_cancel(held))
    refused(objstore_claim_begin(office.store, id, &claimed), .OBJSTORE_ERR_TIMEOUT)
    refused(objstore_claim_begin(office.store, id, &claimed), .OBJSTORE_ERR_INVALID_ARGUMENT)
    try ok(objstore_close(other))
    try ok(objstore_close(office.store))
}

@Test func closingRefusesRequestsAndFinishesCommits() throws {
    let folder = TestFolder()
    let office = try Office(folder.store)
    for number in 0..<5 {
        let tx = try office.turn(office.request())
        try office.add(tx, "\(number)")
        _ = try office.commit(tx, grouping: number % 2 == 0)
    }
    // One that is claimed and open, and others that wait.
    let open = try office.turn(office.request())
    try office.add(open, "lost")
    for _ in 0..<3 { _ = try office.request() }
    try ok(objstore_close(office.store))
    refused(objstore_commit(open, nil), .OBJSTORE_ERR_CLOSED_HANDLE)
    let again = try Office(folder.store)
    #expect(try again.names() == (0..<5).map(String.init))
    try ok(objstore_close(again.store))
}

@Test func manyThreadsRequestAndClaim() throws {
    let folder = TestFolder()
    let office = try Office(folder.store)
    final class Worker {
        let office: Office, number: Int
        init(_ office: Office, _ number: Int) { (self.office, self.number) = (office, number) }
    }
    var threads: [pthread_t] = []
    for number in 0..<8 {
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                let worker = Unmanaged<Worker>.fromOpaque(argument!).takeRetainedValue()
                // A bell of its own: what is told is its own.
                let own = worker.office.withOwnBell()
                do {
                    for turn in 0..<40 {
                        let tx = try own.turn(own.request())
                        try own.add(tx, "\(worker.number) \(turn)")
                        _ = try own.outcome(own.commit(tx, grouping: worker.number % 2 == 0))
                    }
                } catch { Issue.record(error) }
                return nil
            }, Unmanaged.passRetained(Worker(office, number)).toOpaque())
        try #require(code == 0)
        threads.append(thread)
    }
    for thread in threads { pthread_join(thread, nil) }
    let names = try office.names()
    for number in 0..<8 {
        #expect(names.filter { $0.hasPrefix("\(number) ") } == (0..<40).map { "\(number) \($0)" })
    }
    #expect(names.count == 320)
    try verify(office.store)
    try ok(objstore_close(office.store))
}

extension Office {
    private init(_ store: OpaquePointer, _ dog: ClassOf) { (self.store, self.dog) = (store, dog) }
    fileprivate func withOwnBell() -> Office { Office(store, dog) }
}
