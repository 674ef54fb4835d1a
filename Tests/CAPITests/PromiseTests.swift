import CObjStore
import CSystem
import Foundation
import Testing

// Promises of the header that were broken once, each by its name.

private let texts = TestClass(
    name: "Text",
    properties: [
        ("id", .OBJSTORE_KIND_INT, primaryKey), ("indexed", .OBJSTORE_KIND_STRING, indexed),
        ("plain", .OBJSTORE_KIND_STRING, 0),
    ])

private func lastError() throws -> objstore_error {
    var error = objstore_error_init()
    try ok(objstore_last_error(&error))
    return error
}

@Test(arguments: [0, 30]) func aCheckpointWaitsNoLongerThanAWriter(milliseconds: Int64) throws {
    let folder = TestFolder()
    let store = try openStore(folder.store, [dogs]) {
        try ok(objstore_config_set_limit($0, .OBJSTORE_LIMIT_WRITE_TIMEOUT_MS, milliseconds))
    }
    let cls = try ClassOf(store, dogs)
    try writing(store) { try cls.create($0, ["name": objstore_string(text("Rex"))]) }
    var tx: OpaquePointer?
    try ok(objstore_begin(store, &tx))
    // Another thread's, which a thread with a transaction of its own may not ask for.
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var outcome = objstore_status.OBJSTORE_OK
    nonisolated(unsafe) let asked = store
    Thread.detachNewThread {
        outcome = objstore_checkpoint(asked)
        done.signal()
    }
    done.wait()
    #expect(outcome == .OBJSTORE_ERR_TIMEOUT)
    try ok(objstore_cancel(tx))
    try ok(objstore_checkpoint(store))
    try ok(objstore_close(store))
}

private final class Calls {
    var token: OpaquePointer?
    var count = 0
}

@Test func aTypedObserverThatClosesItsTokenIsNotCalledAgain() throws {
    let folder = TestFolder()
    let store = try openStore(folder.store, [dogs])
    let cls = try ClassOf(store, dogs)
    let calls = Calls()
    let function: @convention(c) (Int64, UnsafeMutableRawPointer?) -> Void = { _, userdata in
        let calls = Unmanaged<Calls>.fromOpaque(userdata!).takeUnretainedValue()
        calls.count += 1
        #expect(objstore_token_close(calls.token) == .OBJSTORE_OK)
    }
    let cast = unsafeBitCast(function, to: objstore_function.self)
    try ok(
        objstore_observe_typed(
            store, cls.id, nil, 0, text("key -> void"), cast, Unmanaged.passUnretained(calls).toOpaque(), nil,
            &calls.token))
    try writing(store) { tx in for _ in 0..<5 { try cls.create(tx, ["name": objstore_string(text("Rex"))]) } }
    try ok(objstore_deliver(store, nil))
    #expect(calls.count == 1)
    try ok(objstore_close(store))
}

/// A repetition among the rows and a key that exists: the row that comes first is named.
@Test(
    arguments: zip(
        [
            [1, 7, 2, 2, 9], [2, 2, 7, 4, 5], [9, 5, 5, 9, 3], [1, 7, 3, 2, 2], [10, 11, 12, 12, 3], [9, 8, 10, 7, 8],
        ] as [[Int64]], [1, 1, 2, 1, 3, 3]))
func insertRowsNamesTheFirstRowThatCreateWouldRefuse(ids: [Int64], position: Int64) throws {
    let store = try openStore(nil, [texts])
    let cls = try ClassOf(store, texts)
    var tx: OpaquePointer?
    try ok(objstore_begin(store, &tx))
    func create(_ id: Int64) throws {
        try cls.create(
            tx!, ["id": objstore_int(id), "indexed": objstore_string(text("")), "plain": objstore_string(text(""))])
    }
    for id in [3, 7] as [Int64] { try create(id) }
    let offsets = [Int64](repeating: 0, count: ids.count + 1)
    try ids.withUnsafeBytes { ids in
        try offsets.withUnsafeBufferPointer { offsets in
            var columns = [objstore_column_init(cls["id"], .OBJSTORE_KIND_INT, ids.baseAddress)]
            for name in ["indexed", "plain"] {
                columns.append(objstore_column_init(cls[name], .OBJSTORE_KIND_STRING, nil))
                columns[columns.count - 1].offsets = offsets.baseAddress
            }
            refused(
                objstore_insert_rows(tx, cls.id, .OBJSTORE_POLICY_ERROR, columns, 3, offsets.count - 1, nil, nil),
                .OBJSTORE_ERR_DUPLICATE_KEY)
            let error = try lastError()
            #expect(error.position == position)
        }
    }
    for id in ids[..<Int(position)] { try create(id) }
    #expect(throws: Failure.self) { try create(ids[Int(position)]) }
    try ok(objstore_cancel(tx))
    try ok(objstore_close(store))
}

/// Longer than an index can hold: a value is refused by name, a question is answered without the index.
@Test func textsTooLongForAnIndex() throws {
    let store = try openStore(nil, [texts]) {
        try ok(objstore_config_set_limit($0, .OBJSTORE_LIMIT_VALUE_BYTES, 100 << 20))
    }
    let cls = try ClassOf(store, texts)
    let bytes = [CChar](repeating: 0x78, count: 64 << 20 + 1)
    try bytes.withUnsafeBufferPointer { bytes in
        let long = objstore_string(objstore_text_of(bytes.baseAddress, Int64(bytes.count))),
            short = objstore_string(text("a"))
        try writing(store) { tx in
            try cls.create(tx, ["id": objstore_int(1), "indexed": short, "plain": long])
            let object = try cls.create(tx, ["id": objstore_int(2), "indexed": short, "plain": short])
            let message = refused(objstore_set(tx, object, cls["indexed"], long), .OBJSTORE_ERR_VALUE_TOO_LARGE)
            #expect(message.contains("Text.indexed") && message.contains("67108864"), "\(message)")
            let error = try lastError()
            #expect(string(error.property_name) == "indexed")
        }
        try reading(store) { view in
            for (name, comparison, expected) in [
                ("indexed", objstore_operator.OBJSTORE_EQUAL, 0), ("indexed", .OBJSTORE_LESS, 2),
                ("plain", .OBJSTORE_EQUAL, 1), ("plain", .OBJSTORE_LESS, 1),
            ] as [(String, objstore_operator, UInt64)] {
                var count: UInt64 = 99
                try ok(countWhere(view, cls.id, cls[name], comparison, long, &count))
                #expect(count == expected, "\(name) \(comparison)")
            }
        }
    }
    try ok(objstore_close(store))
}

@Test func aPipeIsNoStore() throws {
    let folder = TestFolder()
    #expect(mkfifo(folder.store, 0o600) == 0)
    var exists = true
    try ok(objstore_file_exists(text(folder.store), &exists))
    #expect(!exists)
    refused(objstore_delete_files(text(folder.store)), .OBJSTORE_ERR_NOT_A_STORE)
}

@Test(arguments: ["", "no store, but a text that is longer than a word"]) func aFailedOpenLeavesNothing(
    content: String
) throws {
    let folder = TestFolder()
    try Data(content.utf8).write(to: URL(fileURLWithPath: folder.store))
    #expect(throws: Failure.self) { try openStore(folder.store, [dogs]) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["store"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == Data(content.utf8))
}

/// However much room the caller says there is.
@Test func columnsWithAbsurdCapacities() throws {
    let store = try openStore(nil, [texts])
    let cls = try ClassOf(store, texts)
    try writing(store) {
        try cls.create(
            $0, ["id": objstore_int(7), "indexed": objstore_string(text("a")), "plain": objstore_string(text("b"))])
    }
    try reading(store) { view in
        for capacity in [Int.max, Int.max - 7, Int.max / 8, 1 << 60] {
            var position: Int64 = -1, id: Int64 = 0, key: Int64 = -1, count = 0
            var validity: UInt8 = 0
            try ok(objstore_read_column(view, cls.id, cls["id"], capacity, &position, &id, &validity, &key, &count))
            #expect(count == 1 && id == 7 && key == position && validity == 1)
            position = -1
            var buffer = objstore_buffer_init(), offsets: [Int64] = [9, 9]
            try ok(
                objstore_read_text_column(
                    view, cls.id, cls["plain"], capacity, &position, &buffer, &offsets, &validity, &key, &count))
            #expect(count == 1 && offsets == [0, 1] && key == position)
            _ = objstore_buffer_free(&buffer)
        }
    }
    try ok(objstore_close(store))
}

/// What to do when it is there, or not, counts for stores in memory, too.
@Test func creationOfStoresInMemory() throws {
    func open(
        _ name: String, _ creation: objstore_creation, _ mode: objstore_mode = .OBJSTORE_MODE_READ_WRITE
    ) throws -> OpaquePointer {
        try openStore(nil, []) { config in
            try ok(objstore_config_set_memory(config, text(name)))
            try ok(objstore_config_set_creation(config, creation))
            try ok(objstore_config_set_mode(config, mode))
        }
    }
    func status(_ body: () throws -> OpaquePointer) -> objstore_status {
        do { try ok(objstore_close(try body())) } catch let failure as Failure { return failure.status } catch {
            return .OBJSTORE_ERR_INTERNAL
        }
        return .OBJSTORE_OK
    }
    #expect(status { try open("promises", .OBJSTORE_CREATION_NEVER) } == .OBJSTORE_ERR_NOT_FOUND)
    #expect(
        status { try open("promises", .OBJSTORE_CREATION_IF_MISSING, .OBJSTORE_MODE_READ_ONLY) }
            == .OBJSTORE_ERR_NOT_FOUND)
    let store = try open("promises", .OBJSTORE_CREATION_ALWAYS)
    #expect(status { try open("promises", .OBJSTORE_CREATION_ALWAYS) } == .OBJSTORE_ERR_ALREADY_EXISTS)
    #expect(status { try open("promises", .OBJSTORE_CREATION_NEVER) } == .OBJSTORE_OK)
    #expect(status { try open("promises", .OBJSTORE_CREATION_IF_MISSING, .OBJSTORE_MODE_READ_ONLY) } == .OBJSTORE_OK)
    #expect(status { try open("", .OBJSTORE_CREATION_ALWAYS) } == .OBJSTORE_OK)
    try ok(objstore_close(store))
}

/// A zero in a key must not end the message.
@Test func messagesShowZeros() throws {
    let notes = TestClass(name: "Note", properties: [("id", .OBJSTORE_KIND_STRING, primaryKey)])
    let store = try openStore(nil, [notes])
    let cls = try ClassOf(store, notes)
    try writing(store) { tx in
        let key = objstore_string(text("a\0b"))
        try cls.create(tx, ["id": key])
        #expect(
            refused(objstore_create(tx, cls.id, [cls["id"]], [key], 1, nil), .OBJSTORE_ERR_DUPLICATE_KEY).contains(
                #""a\0b" already exists"#))
    }
    try ok(objstore_close(store))
}

/// The system gives the ids of ended threads to new ones; their transactions it does not give.
@Test func aTransactionOfAThreadThatEndedBelongsToNoOther() throws {
    let store = try openStore(nil, [dogs])
    nonisolated(unsafe) let shared = store
    nonisolated(unsafe) var tx: OpaquePointer?
    /// Runs `body` on a thread that has ended when this returns.
    func onAThread(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let box = Unmanaged.passRetained(body as AnyObject)
        #expect(
            pthread_create(
                &thread, nil,
                { body in
                    (Unmanaged<AnyObject>.fromOpaque(body!).takeRetainedValue() as! @Sendable () -> Void)()
                    return nil
                }, box.toOpaque()) == 0)
        pthread_join(thread, nil)
    }
    onAThread { #expect(objstore_begin(shared, &tx) == .OBJSTORE_OK) }
    for _ in 0..<4 {
        onAThread {
            var other: OpaquePointer?
            #expect(objstore_try_begin(shared, &other) == .OBJSTORE_ERR_BUSY)
        }
    }
    try ok(objstore_commit(tx, nil))
    try ok(objstore_close(store))
}
