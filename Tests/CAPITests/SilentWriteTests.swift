import CObjStore
import Glibc
import Testing

// Transactions that some observers are not told of; and how many versions may be alive.

/// Dogs in a list by creation, its observers, and what these were told: `one -0 +1 ~2`, by positions.
private final class Pound {
    let store: OpaquePointer
    let dog: ClassOf
    fileprivate var told: [String] = []
    private var heard: [Heard] = []

    init(_ path: String? = nil) throws {
        store = try openStore(path, [dogs])
        dog = try ClassOf(store, dogs)
    }

    private final class Heard {
        unowned let pound: Pound
        let name: String
        init(_ pound: Pound, _ name: String) { (self.pound, self.name) = (pound, name) }
    }

    private static let handler: objstore_change_handler = { changes, userdata in
        let heard = Unmanaged<Heard>.fromOpaque(userdata!).takeUnretainedValue()
        var line = heard.name
        for (sign, kind) in [
            ("-", objstore_change.OBJSTORE_DELETIONS), ("+", .OBJSTORE_INSERTIONS), ("~", .OBJSTORE_MODIFICATIONS),
        ] {
            var objects: UnsafePointer<objstore_object>?, indices: UnsafePointer<UInt64>?, count = 0
            let status = objstore_changes_list(changes, kind, &objects, &indices, &count)
            if status != .OBJSTORE_OK { return status }
            for index in 0..<count { line += " \(sign)\(indices![index])" }
        }
        heard.pound.told.append(line)
        return .OBJSTORE_OK
    }

    /// Observes all dogs, as a list.
    func observe(_ name: String) throws -> OpaquePointer {
        try reading(store) { view in
            var results: OpaquePointer?, token: OpaquePointer?
            try ok(findAll(view, dog.id, &results))
            let heard = Heard(self, name)
            self.heard.append(heard)
            try ok(
                objstore_results_observe(
                    results, 0, Pound.handler, Unmanaged.passUnretained(heard).toOpaque(), nil, &token))
            return token!
        }
    }

    @discardableResult
    func create(_ tx: OpaquePointer, _ name: String) throws -> objstore_object {
        try dog.create(tx, ["name": objstore_string(text(name))])
    }

    func rename(_ tx: OpaquePointer, _ object: objstore_object, _ name: String) throws {
        try ok(objstore_set(tx, object, dog["name"], objstore_string(text(name))))
    }

    func write(without tokens: [OpaquePointer?] = [], _ body: (OpaquePointer) throws -> Void) throws {
        try writing(store) { tx in
            try body(tx)
            try ok(objstore_without_notifying(tx, tokens, tokens.count))
        }
    }

    /// What was told since the last call.
    func deliver() throws -> [String] {
        try ok(objstore_deliver(store, nil))
        defer { told = [] }
        return told
    }
}

@Test("A60: a write that one of two observers is not told of") func a60() throws {
    let pound = try Pound()
    var dogs: [objstore_object] = []
    try pound.write { tx in dogs = try ["a", "b", "c"].map { try pound.create(tx, $0) } }
    let one = try pound.observe("one"), two = try pound.observe("two")
    try pound.write(without: [one]) { tx in
        try ok(objstore_delete(tx, dogs[0]))
        try pound.create(tx, "d")
    }
    #expect(try pound.deliver() == ["two -0 +2"])
    #expect(try pound.deliver() == [])
    // The first has shown b, c, d; of the next it is told as such.
    try pound.write { tx in
        try ok(objstore_delete(tx, dogs[1]))
        try pound.create(tx, "e")
    }
    #expect(try pound.deliver() == ["one -0 +2", "two -0 +2"])
    // Both at once, which were not delivered in between; and one that is told of nothing in the end.
    try pound.write { tx in try pound.create(tx, "f") }
    try pound.write(without: [one, two]) { tx in try ok(objstore_delete(tx, dogs[2])) }
    try pound.write(without: [two]) { tx in try pound.create(tx, "g") }
    #expect(try pound.deliver() == ["one +2", "one +3", "two +2"])
    try ok(objstore_close(pound.store))
}

@Test func silenceIsOfOneTransaction() throws {
    let pound = try Pound()
    let one = try pound.observe("one"), two = try pound.observe("two")
    // Undone: silent or not, there is nothing to tell.
    var tx: OpaquePointer?
    try ok(objstore_begin(pound.store, &tx))
    try pound.create(tx!, "lost")
    try ok(objstore_without_notifying(tx, [one], 1))
    try ok(objstore_cancel(tx))
    // Without a change.
    try pound.write(without: [one]) { _ in }
    try pound.write { tx in try pound.create(tx, "a") }
    #expect(try pound.deliver() == ["one +0", "two +0"])
    // Several calls add up, also inside of what is rolled back.
    try writing(pound.store) { tx in
        var savepoint: UInt64 = 0
        try ok(objstore_without_notifying(tx, [one], 1))
        try ok(objstore_savepoint_begin(tx, &savepoint))
        try ok(objstore_without_notifying(tx, [two, two], 2))
        try ok(objstore_savepoint_rollback(tx, savepoint))
        try pound.create(tx, "b")
    }
    #expect(try pound.deliver() == [])
    // A token that is closed before its silence was passed.
    try pound.write(without: [one, two]) { tx in try pound.create(tx, "c") }
    try ok(objstore_token_close(one))
    try pound.write { tx in try pound.create(tx, "d") }
    #expect(try pound.deliver() == ["two +3"])
    try ok(objstore_close(pound.store))
}

@Test func tokensThatCannotBeSilenced() throws {
    let folder = TestFolder()
    let pound = try Pound(folder.store), other = try Pound(), again = try Pound(folder.store)
    let one = try pound.observe("one"), closed = try pound.observe("closed"), foreign = try other.observe("foreign"),
        second = try again.observe("second")
    try ok(objstore_token_close(closed))
    try pound.write { tx in
        // All or none.
        refused(objstore_without_notifying(tx, [one, closed], 2), .OBJSTORE_ERR_CLOSED_HANDLE)
        #expect(
            refused(objstore_without_notifying(tx, [one, foreign], 2), .OBJSTORE_ERR_WRONG_STORE).contains("token 1"))
        refused(objstore_without_notifying(tx, [one, nil], 2), .OBJSTORE_ERR_INVALID_ARGUMENT)
        try ok(objstore_without_notifying(tx, nil, 0))
        // Of another handle of the same store.
        try ok(objstore_without_notifying(tx, [second], 1))
        try pound.create(tx, "a")
    }
    #expect(try pound.deliver() == ["one +0"])
    #expect(try again.deliver() == [])
    try reading(pound.store) { view in
        refused(objstore_without_notifying(view, [one], 1), .OBJSTORE_ERR_NOT_IN_WRITE)
    }
    // A body that may share its transaction has no silence of its own.
    for flags in [0, OBJSTORE_ASYNC_ALLOW_GROUPING, OBJSTORE_ASYNC_ALONE] {
        final class Call {
            let pound: Pound, token: OpaquePointer
            var status = objstore_status.OBJSTORE_OK
            init(_ pound: Pound, _ token: OpaquePointer) { (self.pound, self.token) = (pound, token) }
        }
        let call = Call(pound, one)
        let body: objstore_write_body = { tx, userdata in
            let call = Unmanaged<Call>.fromOpaque(userdata!).takeUnretainedValue()
            call.status = objstore_without_notifying(tx, [call.token], 1)
            do { try call.pound.create(tx!, "b") } catch { return .OBJSTORE_ERR_INTERNAL }
            return .OBJSTORE_OK
        }
        try ok(
            objstore_write_async(
                pound.store, UInt32(flags), body, nil, Unmanaged.passUnretained(call).toOpaque(), nil, nil))
        var writing = true
        while writing {
            try ok(objstore_wait(pound.store, 10_000, nil))
            try ok(objstore_is_writing_async(pound.store, &writing))
        }
        #expect(
            call.status == (flags == OBJSTORE_ASYNC_ALONE ? .OBJSTORE_OK : .OBJSTORE_ERR_INVALID_ARGUMENT))
    }
    #expect(try pound.deliver().joined().count { $0 == "+" } == 2, "two bodies were not silent")
    for pound in [pound, other, again] { try ok(objstore_close(pound.store)) }
}

@Test("D32: no write begins while too many versions are alive, and the error says who keeps them")
func liveVersions() throws {
    let folder = TestFolder()
    let store = try openStore(folder.store, [dogs]) { config in
        try ok(objstore_config_set_limit(config, .OBJSTORE_LIMIT_VERSIONS, 2))
    }
    let dog = try ClassOf(store, dogs)
    func alive() throws -> UInt64 {
        var statistics = objstore_statistics_init()
        try ok(objstore_get_statistics(store, &statistics))
        return statistics.versions
    }
    #expect(try alive() == 1)
    let old = try liveView(store)
    try writing(store) { tx in try dog.create(tx, ["name": objstore_string(text("a"))]) }
    #expect(try alive() == 2)
    let older = try liveView(store)
    try writing(store) { tx in try dog.create(tx, ["name": objstore_string(text("b"))]) }
    #expect(try alive() == 3)
    var tx: OpaquePointer?
    let message = refused(objstore_begin(store, &tx), .OBJSTORE_ERR_TOO_MANY_VERSIONS)
    #expect(message.contains("3 versions") && message.contains("2 may be") && message.contains("process \(getpid())"))
    // Asynchronous ones, too; another handle has a limit of its own.
    var id: objstore_async_id = 0
    let completion: objstore_completion = { status, _, userdata in
        userdata!.assumingMemoryBound(to: objstore_status.self).pointee = status
        return .OBJSTORE_OK
    }
    nonisolated(unsafe) var told = objstore_status.OBJSTORE_OK
    try withUnsafeMutablePointer(to: &told) { told in
        try ok(objstore_write_async(store, 0, { _, _ in .OBJSTORE_OK }, completion, told, nil, &id))
        var isWriting = true
        while isWriting {
            try ok(objstore_wait(store, 10_000, nil))
            try ok(objstore_is_writing_async(store, &isWriting))
        }
    }
    #expect(told == .OBJSTORE_ERR_TOO_MANY_VERSIONS)
    let unlimited = try openStore(folder.store, [dogs])
    try ok(objstore_begin(unlimited, &tx))
    try ok(objstore_cancel(tx))
    try ok(objstore_close(unlimited))
    try ok(objstore_view_refresh(old, nil))
    #expect(try alive() == 2)
    try writing(store) { tx in try dog.create(tx, ["name": objstore_string(text("c"))]) }
    for view in [old, older] { try ok(objstore_view_close(view)) }
    #expect(try alive() == 1)
    try ok(objstore_close(store))
}

@Test("A87: results are asked again in a frozen view, and thawed in a live one") func a87() throws {
    let pound = try Pound()
    try pound.write { tx in try pound.create(tx, "a") }
    let live = try liveView(pound.store)
    var view: OpaquePointer?, results: OpaquePointer?, frozen: OpaquePointer?, thawed: OpaquePointer?, count: UInt64 = 0
    try ok(objstore_view_freeze(live, &view))
    try ok(findAll(live, pound.dog.id, &results))
    try ok(objstore_results_in(view, results, &frozen))
    var object = objstore_object()
    try ok(objstore_results_at(frozen, 0, &object))
    try pound.write { tx in
        try pound.rename(tx, object, "b")
        try pound.create(tx, "c")
    }
    try ok(objstore_view_refresh(live, nil))
    try ok(objstore_results_update(frozen, nil))
    try ok(objstore_results_count(frozen, &count))
    #expect(try count == 1 && pound.dog.string(view!, object, "name") == "a")
    refused(objstore_delete(view, object), .OBJSTORE_ERR_NOT_IN_WRITE)
    var token: OpaquePointer?
    refused(objstore_results_observe(frozen, 0, { _, _ in .OBJSTORE_OK }, nil, nil, &token), .OBJSTORE_ERR_WRONG_VIEW)
    try ok(objstore_results_in(live, frozen, &thawed))
    try ok(objstore_results_count(thawed, &count))
    #expect(try count == 2 && pound.dog.string(live, object, "name") == "b")
    // In a transaction they see what it has done.
    try pound.write { tx in
        try pound.create(tx, "d")
        var inside: OpaquePointer?
        try ok(objstore_results_in(tx, frozen, &inside))
        try ok(objstore_results_count(inside, &count))
        expect(count == 3)
        try pound.rename(tx, object, "John Michael Kane")
    }
    try ok(objstore_view_refresh(live, nil))
    #expect(try pound.dog.string(live, object, "name") == "John Michael Kane")
    let other = try Pound(), foreign = try liveView(other.store)
    refused(objstore_results_in(foreign, frozen, &thawed), .OBJSTORE_ERR_WRONG_STORE)
    for pound in [pound, other] { try ok(objstore_close(pound.store)) }
}

@Test("A88, A89: an object is a plain value that any thread looks up, also in a live view of another one") func a88()
    throws
{
    let pound = try Pound()
    var jane = objstore_object()
    try pound.write { tx in jane = try pound.create(tx, "Jane") }
    let live = try liveView(pound.store)
    final class Call {
        let pound: Pound, live: OpaquePointer, object: objstore_object, isDeletion: Bool
        var seen: String?, problem: (any Error)?
        init(_ pound: Pound, _ live: OpaquePointer, _ object: objstore_object, isDeletion: Bool) {
            (self.pound, self.live, self.object, self.isDeletion) = (pound, live, object, isDeletion)
        }
        func run() throws {
            seen = try pound.dog.string(live, object, "name")
            try pound.write { tx in
                if isDeletion { return try ok(objstore_delete(tx, object)) }
                try pound.rename(tx, object, "Jane Doe")
            }
        }
    }
    var found = false
    for isDeletion in [false, true] {
        let call = Call(pound, live, jane, isDeletion: isDeletion)
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                let call = Unmanaged<Call>.fromOpaque(argument!).takeUnretainedValue()
                do { try call.run() } catch { call.problem = error }
                return nil
            }, Unmanaged.passUnretained(call).toOpaque())
        try #require(code == 0)
        pthread_join(thread, nil)
        if let problem = call.problem { throw problem }
        #expect(call.seen == (isDeletion ? "Jane Doe" : "Jane"))
        try ok(objstore_view_refresh(live, nil))
        try ok(objstore_exists(live, jane, &found))
        #expect(found != isDeletion)
        if !isDeletion { #expect(try pound.dog.string(live, jane, "name") == "Jane Doe") }
    }
    try ok(objstore_close(pound.store))
}
