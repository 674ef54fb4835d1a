import CObjStore
import CSystem
import Glibc
import Synchronization
import Testing

// Functions made at run time with their userdata built in: each kind of callback, through the call that takes it; how
// long what they are made of lives. Threads meet by semaphores, never by sleeping.

/// What a bound function is made of, freed by `free` and by nothing else: a call that came too late would read memory
/// that is gone, which AddressSanitizer reports.
private final class Context {
    /// Outlives the contexts.
    final class Count: Sendable {
        let freed = Atomic<Int>(0), calls = Atomic<Int>(0)
        var now: [Int] { [freed.load(ordering: .acquiring), calls.load(ordering: .acquiring)] }
    }
    let number: Int64
    let count: Count
    /// What a call does, beyond being counted.
    let body: (UnsafeMutableRawPointer?) -> objstore_status

    init(
        _ number: Int64 = 0, _ count: Count, _ body: @escaping (UnsafeMutableRawPointer?) -> objstore_status
    ) {
        (self.number, self.count, self.body) = (number, count, body)
    }

    deinit { count.freed.add(1, ordering: .acquiringAndReleasing) }

    static let free: objstore_free_userdata = { Unmanaged<Context>.fromOpaque($0!).release() }

    /// Found by a call.
    static func called(_ userdata: UnsafeMutableRawPointer?) -> Context {
        let context = Unmanaged<Context>.fromOpaque(userdata!).takeUnretainedValue()
        context.count.calls.add(1, ordering: .acquiringAndReleasing)
        return context
    }
}

/// A function that was bound.
private final class Bound<Function> {
    let count = Context.Count()
    private(set) var function: Function!
    private(set) var handle: OpaquePointer?

    /// What such a function is called with instead of its userdata.
    static var other: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: 0xdead0) }

    typealias Bind<Body> = (
        Body?, UnsafeMutableRawPointer?, objstore_free_userdata?, UnsafeMutablePointer<Function?>?,
        UnsafeMutablePointer<OpaquePointer?>?
    ) -> objstore_status

    init<Body>(
        _ bind: Bind<Body>, number: Int64 = 0, _ body: Body,
        _ action: @escaping (UnsafeMutableRawPointer?) -> objstore_status = { _ in .OBJSTORE_OK }
    ) throws {
        let context = Unmanaged.passRetained(Context(number, count, action)).toOpaque()
        var function: Function?
        try ok(bind(body, context, Context.free, &function, &handle))
        self.function = function
    }

    /// Ends, and was called and freed as often as that.
    func close(calls: Int, sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(count.now == [0, calls], sourceLocation: sourceLocation)
        try ok(objstore_bound_close(handle))
        #expect(count.now == [1, calls], sourceLocation: sourceLocation)
    }
}

/// A thread waits until another one opens it.
private final class Gate: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    init() { sem_init(semaphore, 0, 0) }
    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }
    func open() { sem_post(semaphore) }
    func wait() { while sem_wait(semaphore) != 0 {} }
}

@Suite struct BoundFunctionTests {
    private func zoo() throws -> (OpaquePointer, ClassOf) {
        let store = try openStore(nil, [dogs])
        let dog = try ClassOf(store, dogs)
        try writing(store) { tx in
            for (name, age) in [("Rex", 10), ("Ella", 1), ("Ben", 4)] as [(String, Int64)] {
                try dog.create(tx, ["name": objstore_string(text(name)), "age": objstore_int(age)])
            }
        }
        return (store, dog)
    }

    // MARK: Each kind of callback

    @Test func progress() throws {
        let folder = TestFolder(), (store, _) = try zoo()
        let bound = try Bound<objstore_progress>(
            objstore_bind_progress,
            { done, total, userdata in
                #expect(done <= total && total > 0)
                return Context.called(userdata).body(nil)
            })
        try reading(store) { view in
            try ok(objstore_copy(view, text(folder.store), bound.function, Bound<Any>.other, nil))
        }
        let calls = bound.count.now[1]
        #expect(calls > 0)
        try bound.close(calls: calls)
        let refuser = try Bound<objstore_progress>(
            objstore_bind_progress, { _, _, userdata in Context.called(userdata).body(nil) },
            { _ in objstore_status(rawValue: 12_345)! })
        try reading(store) { view in
            let status = objstore_copy(view, text(folder.path + "/copy"), refuser.function, nil, nil)
            refused(status, .OBJSTORE_ERR_CANCELLED)
            #expect(lastCallbackCode() == 12_345)
            try refuser.close(calls: 1)
            // Too late: it ends the operation.
            refused(
                objstore_copy(view, text(folder.path + "/copy"), refuser.function, nil, nil), .OBJSTORE_ERR_CANCELLED)
            #expect(lastCallbackCode() == Int64(objstore_status.OBJSTORE_ERR_CLOSED_HANDLE.rawValue))
        }
        try ok(objstore_close(store))
    }

    @Test func opening() throws {
        let folder = TestFolder()
        let log = try Bound<objstore_log_handler>(
            objstore_bind_log_handler,
            { level, message, userdata in
                #expect(level.rawValue >= 1 && level.rawValue <= 4 && strlen(message!) > 0)
                _ = Context.called(userdata)
            })
        let fill = try Bound<objstore_initial_data>(
            objstore_bind_initial_data,
            { store, tx, userdata in
                #expect(store != nil)
                return Context.called(userdata).body(UnsafeMutableRawPointer(tx))
            },
            { tx in
                var id: objstore_class_id = 0
                let status = objstore_find_class(OpaquePointer(tx), text("Dog"), &id)
                if status != .OBJSTORE_OK { return status }
                return objstore_create(OpaquePointer(tx), id, nil, nil, 0, nil)
            })
        let anyDog = TestClass(
            name: "Dog", properties: [("age", .OBJSTORE_KIND_INT, 0)], defaults: ["age": objstore_int(7)])
        func open(_ version: UInt64, _ configure: (OpaquePointer) throws -> Void) throws -> OpaquePointer {
            try openStore(folder.store, [anyDog], version: version) { config in
                try ok(
                    objstore_config_set_log(config, .OBJSTORE_LOG_DEBUG, log.function, Bound<Any>.other, nil))
                try configure(config)
            }
        }
        var store = try open(1) { config in
            try ok(objstore_config_set_initial_data(config, fill.function, Bound<Any>.other, nil))
        }
        expect(try reading(store) { try ClassOf(store, anyDog).count($0) } == 1)
        try fill.close(calls: 1)
        try ok(objstore_close(store))

        let decide = try Bound<objstore_compaction>(
            objstore_bind_compaction,
            { total, used, compact, userdata in
                #expect(used <= total && used > 0)
                compact!.pointee = true
                return Context.called(userdata).body(nil)
            })
        let migrate = try Bound<objstore_migration>(
            objstore_bind_migration,
            { store, tx, old, from, to, userdata in
                var views = [objstore_view_kind.OBJSTORE_VIEW_LIVE, .OBJSTORE_VIEW_LIVE]
                _ = objstore_view_get_kind(tx, &views[0])
                _ = objstore_view_get_kind(old, &views[1])
                #expect(views == [.OBJSTORE_VIEW_TRANSACTION, .OBJSTORE_VIEW_FROZEN] && store != nil)
                #expect(from == 1 && to == 1 << 40)
                return Context.called(userdata).body(nil)
            })
        store = try open(1 << 40) { config in
            try ok(objstore_config_set_compaction(config, decide.function, Bound<Any>.other, nil))
            try ok(objstore_config_set_migration(config, migrate.function, Bound<Any>.other, nil))
        }
        try decide.close(calls: 1)
        try migrate.close(calls: 1)
        try ok(objstore_close(store))
        let lines = log.count.now[1]
        #expect(lines > 2)
        try log.close(calls: lines)
        // Too late: nothing.
        log.function(.OBJSTORE_LOG_INFO, "line", nil)
        #expect(log.count.now == [1, lines])

        let report = try Bound<objstore_report>(
            objstore_bind_report,
            { line, userdata in
                #expect(line!.pointee.text.length > 0)
                return Context.called(userdata).body(nil)
            })
        var findings: UInt64 = 9
        try ok(objstore_verify_file(text(folder.store), nil, report.function, nil, nil, &findings))
        #expect(findings == 0)
        try report.close(calls: report.count.now[1])
        let late = objstore_verify_file(text(folder.store), nil, report.function, nil, nil, &findings)
        refused(late, .OBJSTORE_ERR_CANCELLED)
        #expect(lastCallbackCode() == Int64(objstore_status.OBJSTORE_ERR_CLOSED_HANDLE.rawValue))
    }

    private func lastCallbackCode() -> Int64 {
        var error = objstore_error_init()
        _ = objstore_last_error(&error)
        return error.callback_code
    }

    /// Another handle writes: the handler says that nobody waits for it.
    @Test func waiting() throws {
        let folder = TestFolder(), other = try openStore(folder.store, [dogs])
        let wait = try Bound<objstore_wait_handler>(
            objstore_bind_wait_handler, { userdata in Context.called(userdata).body(nil) }, { _ in .OBJSTORE_ERR_BUSY })
        let store = try openStore(folder.store, []) { config in
            try ok(objstore_config_set_wait(config, wait.function, Bound<Any>.other, nil))
        }
        let started = Gate(), ended = Gate()
        let writer = try BackgroundThreadOfTests {
            var tx: OpaquePointer?
            #expect(objstore_begin(other, &tx) == .OBJSTORE_OK)
            started.open()
            ended.wait()
            #expect(objstore_cancel(tx) == .OBJSTORE_OK)
        }
        started.wait()
        var tx: OpaquePointer?
        refused(objstore_begin(store, &tx), .OBJSTORE_ERR_CANCELLED)
        #expect(lastCallbackCode() == Int64(objstore_status.OBJSTORE_ERR_BUSY.rawValue))
        ended.open()
        writer.join()
        try ok(objstore_close(store))
        try ok(objstore_close(other))
        try wait.close(calls: 1)
    }

    @Test func asynchronousWrites() throws {
        let (store, _) = try zoo()
        let completion = try Bound<objstore_completion>(
            objstore_bind_completion,
            { status, version, userdata in
                #expect(status == .OBJSTORE_OK && version > 1)
                return Context.called(userdata).body(nil)
            })
        var id: objstore_async_id = 0
        try ok(
            objstore_write_async(
                store, 0, { _, _ in .OBJSTORE_OK }, completion.function, Bound<Any>.other, nil, &id))
        var writing = true
        while writing {
            try ok(objstore_wait(store, -1, nil))
            try ok(objstore_is_writing_async(store, &writing))
        }
        try completion.close(calls: 1)

        let told = Gate()
        let ready = try Bound<objstore_ready>(
            objstore_bind_ready,
            { userdata, id in
                #expect(id != 0)
                _ = Context.called(userdata).body(nil)
            },
            { _ in
                told.open()
                return .OBJSTORE_OK
            })
        try ok(objstore_request_begin(store, 0, ready.function, Bound<Any>.other, &id))
        told.wait()
        var tx: OpaquePointer?
        try ok(objstore_claim_begin(store, id, &tx))
        try ok(objstore_cancel(tx))
        try ready.close(calls: ready.count.now[1])
        ready.function(nil, id)
        try ok(objstore_close(store))
    }

    /// Structures that are passed by value: objstore_object and objstore_value.
    @Test func sectionsAndJSON() throws {
        let (store, dog) = try zoo()
        let key = try Bound<objstore_section_key>(
            objstore_bind_section_key,
            { view, object, key, userdata in
                let context = Context.called(userdata)
                var value = objstore_value()
                // The class id and store tag are right, or the object would not be found.
                let status = objstore_get(view, object, objstore_property_id(context.number), nil, &value)
                if status == .OBJSTORE_OK { key!.pointee = objstore_bool(value.data.integer < 5) }
                return status
            })
        #expect(key.count.now == [0, 0])
        let keyOfAge = try Bound<objstore_section_key>(
            objstore_bind_section_key, number: Int64(dog["age"]),
            { view, object, key, userdata in
                let context = Context.called(userdata)
                var value = objstore_value()
                let status = objstore_get(view, object, objstore_property_id(context.number), nil, &value)
                if status == .OBJSTORE_OK { key!.pointee = objstore_bool(value.data.integer < 5) }
                return status
            })
        try reading(store) { view in
            var results: OpaquePointer?, sections: OpaquePointer?, count: UInt64 = 0
            try ok(findAll(view, dog.id, &results))
            try ok(objstore_sections_by(results, 0, keyOfAge.function, Bound<Any>.other, nil, &sections))
            try ok(objstore_sections_count(sections, &count))
            #expect(count == 2)
            try ok(objstore_sections_close(sections))
            refused(
                objstore_sections_by(results, 0, key.function, nil, nil, &sections), .OBJSTORE_ERR_CALLBACK)

            let write = try Bound<objstore_json_write>(
                objstore_bind_json_write,
                { bytes, length, userdata in
                    let piece = String(
                        decoding: UnsafeRawBufferPointer(start: bytes, count: length), as: UTF8.self)
                    #expect(piece.contains("Ella"))
                    return Context.called(userdata).body(nil)
                })
            try ok(objstore_results_to_json(results, 0, 0, write.function, Bound<Any>.other, nil))
            try write.close(calls: 1)
            try ok(objstore_results_close(results))
        }
        try keyOfAge.close(calls: 3)
        try key.close(calls: 1)

        let bytes = Array(#"[{"name": "Tim", "age": "77"}]"#.utf8)
        nonisolated(unsafe) let place = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        defer { place.deallocate() }
        place.initialize(to: 0)
        let read = try Bound<objstore_json_read>(
            objstore_bind_json_read,
            { target, capacity, count, userdata in
                withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: 3) { given in
                    given[0] = target
                    given[1] = UnsafeMutableRawPointer(bitPattern: capacity)
                    given[2] = UnsafeMutableRawPointer(count)
                    return Context.called(userdata).body(UnsafeMutableRawPointer(given.baseAddress))
                }
            },
            { given in
                let given = given!.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
                let count = min(7, bytes.count - place.pointee, Int(bitPattern: given[1]))
                bytes.withUnsafeBytes {
                    if count > 0 { given[0]!.copyMemory(from: $0.baseAddress! + place.pointee, byteCount: count) }
                }
                place.pointee += count
                given[2]!.storeBytes(of: count, as: Int.self)
                return .OBJSTORE_OK
            })
        let convert = try Bound<objstore_json_convert>(
            objstore_bind_json_convert, number: Int64(dog["name"]),
            { property, kind, value, converted, isConverted, userdata in
                // The text "Tim" fits; this is asked of the binary alone.
                let context = Context.called(userdata)
                #expect(kind == .OBJSTORE_KIND_BINARY && string(value) == "Tim" && property != 0)
                #expect(context.number != 0)
                converted!.pointee = objstore_binary("\u{1}\u{2}", 2)
                isConverted!.pointee = true
                return .OBJSTORE_OK
            })
        let cats = TestClass(
            name: "Cat", properties: [("name", .OBJSTORE_KIND_BINARY, 0), ("age", .OBJSTORE_KIND_STRING, 0)])
        let cattery = try openStore(nil, [cats]), cat = try ClassOf(cattery, cats)
        try writing(cattery) { tx in
            var count: UInt64 = 0
            // One userdata for both, where they have none of their own.
            try ok(
                objstore_create_all_from_json_stream(
                    tx, cat.id, .OBJSTORE_POLICY_ERROR, 0, read.function, convert.function, nil, nil, &count))
            #expect(count == 1)
        }
        try read.close(calls: read.count.now[1])
        try convert.close(calls: 1)
        try ok(objstore_close(cattery))
        try ok(objstore_close(store))
    }

    /// qsort has no userdata: here it sorts objects by what a view says of them.
    @Test func comparators() throws {
        let (store, dog) = try zoo()
        try reading(store) { view in
            var results: OpaquePointer?, count = 0
            try ok(findAll(view, dog.id, &results))
            var objects = [objstore_object](repeating: objstore_object(), count: 3)
            try ok(objstore_results_objects(results, 0, &objects, 3, &count))
            func age(_ object: UnsafeRawPointer?) -> Int64 {
                var value = objstore_value()
                _ = objstore_get(view, object!.load(as: objstore_object.self), dog["age"], nil, &value)
                return value.data.integer
            }
            let compare = try Bound<objstore_plain_comparator>(
                objstore_bind_comparator,
                { a, b, userdata in
                    withUnsafeTemporaryAllocation(of: UnsafeRawPointer?.self, capacity: 2) { pair in
                        (pair[0], pair[1]) = (a, b)
                        return Context.called(userdata).body(UnsafeMutableRawPointer(pair.baseAddress)).rawValue
                    }
                },
                { pair in
                    let pair = pair!.assumingMemoryBound(to: UnsafeRawPointer?.self)
                    let difference = age(pair[0]) - age(pair[1])
                    return objstore_status(rawValue: difference < 0 ? -1 : difference > 0 ? 1 : 0)!
                })
            let function = compare.function!
            qsort(&objects, 3, MemoryLayout<objstore_object>.size, function)
            expect(try objects.map { try dog.int(view, $0, "age") } == [1, 4, 10])
            try compare.close(calls: compare.count.now[1])
            #expect(function(&objects[0], &objects[1]) == 0, "it says nothing any more")
            #expect(String(cString: objstore_last_message()).contains("bound function was closed"))
            try ok(objstore_results_close(results))
        }
        try ok(objstore_close(store))
    }

    // MARK: Lifetimes

    /// Closed from inside of its own call, be it nested: what it is made of lives until the outermost one returns.
    @Test(arguments: [1, 4]) func closedFromInside(depth: Int) throws {
        let depths = Atomic<Int>(0)
        var bound: Bound<objstore_progress>!
        bound = try Bound<objstore_progress>(
            objstore_bind_progress,
            { _, _, userdata in
                let context = Context.called(userdata), status = context.body(nil)
                // Read after it was closed.
                return context.count.now[0] == 0 ? status : .OBJSTORE_ERR_INTERNAL
            },
            { _ in
                if depths.add(1, ordering: .relaxed).newValue < depth { return bound.function(1, 2, nil) }
                let status = objstore_bound_close(bound.handle)
                // From now on it is closed for everybody else.
                if bound.function(1, 2, nil) != .OBJSTORE_ERR_CLOSED_HANDLE { return .OBJSTORE_ERR_INTERNAL }
                return status
            })
        #expect(bound.function(1, 2, nil) == .OBJSTORE_OK)
        #expect(bound.count.now == [1, depth])
        #expect(objstore_bound_close(bound.handle) == .OBJSTORE_ERR_CLOSED_HANDLE)
        bound = nil  // a cycle
    }

    /// Closed on another thread while it runs: that does not wait, and the call goes on with what it has.
    @Test func closedWhileItRuns() throws {
        let inside = Gate(), goOn = Gate()
        let bound = try Bound<objstore_write_body>(
            objstore_bind_write_body,
            { _, userdata in
                let context = Context.called(userdata), status = context.body(nil)
                return context.count.now[0] == 0 ? status : .OBJSTORE_ERR_INTERNAL
            },
            { _ in
                inside.open()
                goOn.wait()
                return .OBJSTORE_OK
            })
        let status = Atomic<Int32>(-1)
        nonisolated(unsafe) let function = bound.function!
        let thread = try BackgroundThreadOfTests { status.store(function(nil, nil).rawValue, ordering: .releasing) }
        inside.wait()
        try ok(objstore_bound_close(bound.handle))
        #expect(bound.count.now == [0, 1])
        refused(function(nil, nil), .OBJSTORE_ERR_CLOSED_HANDLE)
        #expect(bound.count.now == [0, 1], "a call that comes too late calls nothing, and frees nothing")
        goOn.open()
        thread.join()
        #expect(status.load(ordering: .acquiring) == 0 && bound.count.now == [1, 1])
    }

    /// An observer whose bound handler ends between two change sets, and one whose store goes first.
    @Test func closedBeforeItsObserver() throws {
        let (store, dog) = try zoo()
        let bound = try Bound<objstore_change_handler>(
            objstore_bind_change_handler, { _, userdata in Context.called(userdata).body(nil) })
        var token: OpaquePointer?
        try ok(objstore_observe(store, dog.id, 0, bound.function, Bound<Any>.other, nil, &token))
        try writing(store) { tx in try dog.create(tx, ["name": objstore_string(text("Tim"))]) }
        try ok(objstore_deliver(store, nil))
        try bound.close(calls: 1)
        try writing(store) { tx in try dog.create(tx, ["name": objstore_string(text("Tom"))]) }
        refused(objstore_deliver(store, nil), .OBJSTORE_ERR_CALLBACK)
        #expect(lastCallbackCode() == Int64(objstore_status.OBJSTORE_ERR_CLOSED_HANDLE.rawValue))
        try ok(objstore_close(store))
        // It does not belong to a store.
        let other = try Bound<objstore_change_handler>(
            objstore_bind_change_handler, { _, userdata in Context.called(userdata).body(nil) })
        #expect(other.function(nil, nil) == .OBJSTORE_OK)
        try other.close(calls: 1)
    }

    /// Userdata is freed once where nothing is made of it, too.
    @Test func refusedOnes() throws {
        let count = Context.Count()
        func userdata() -> UnsafeMutableRawPointer {
            Unmanaged.passRetained(Context(0, count) { _ in .OBJSTORE_OK }).toOpaque()
        }
        var function: objstore_progress?, bound: OpaquePointer? = OpaquePointer(bitPattern: 8)
        let progress: objstore_progress = { _, _, _ in .OBJSTORE_OK }
        let invalid = objstore_status.OBJSTORE_ERR_INVALID_ARGUMENT
        #expect(
            refused(objstore_bind_progress(nil, userdata(), Context.free, &function, &bound), invalid).hasPrefix(
                "progress"))
        #expect(bound == nil && count.now[0] == 1)
        refused(objstore_bind_progress(progress, userdata(), Context.free, nil, &bound), invalid)
        refused(objstore_bind_progress(progress, userdata(), Context.free, &function, nil), invalid)
        #expect(count.now[0] == 3 && function == nil)
        // A callback that must not call the library can make none.
        let hook = try Bound<objstore_log_handler>(
            objstore_bind_log_handler, { _, _, userdata in _ = Context.called(userdata).body(nil) },
            { _ in
                var function: objstore_wait_handler?, bound: OpaquePointer?
                let status = objstore_bind_wait_handler({ _ in .OBJSTORE_OK }, nil, nil, &function, &bound)
                #expect(status == .OBJSTORE_ERR_IN_CALLBACK && bound == nil)
                return .OBJSTORE_OK
            })
        try ok(
            objstore_close(
                try openStore(nil, [dogs]) { config in
                    try ok(objstore_config_set_log(config, .OBJSTORE_LOG_DEBUG, hook.function, nil, nil))
                }))
        #expect(hook.count.now[1] > 0)
        try hook.close(calls: hook.count.now[1])
    }

    /// Made, called and closed on many threads at once; each call finds its own context or says that it comes too late,
    /// and each context goes once. No more are closed than those whose code is certainly not used again.
    @Test func manyOnManyThreads() throws {
        struct Entry: @unchecked Sendable {
            let function: objstore_progress
            let bound: OpaquePointer
            let number: Int64
        }
        final class Place: Sendable { let lock = Mutex<Entry?>(nil) }
        let places = (0..<16).map { _ in Place() }, count = Context.Count(), wrong = Atomic<Int>(0)
        let made = Atomic<Int>(0)
        let threads = try (0..<4).map { thread in
            try BackgroundThreadOfTests {
                var random = SystemRandomNumberGenerator()
                for round in 0..<3000 {
                    let place = places[Int(random.next(upperBound: UInt(16)))]
                    if round % 60 == 0 {
                        // Another one instead.
                        let number = Int64(thread) << 32 | Int64(round)
                        let context = Context(number, count) { _ in .OBJSTORE_OK }
                        var function: objstore_progress?, bound: OpaquePointer?
                        let status = objstore_bind_progress(
                            { asked, _, userdata in
                                let context = Context.called(userdata)
                                return asked == UInt64(context.number) ? .OBJSTORE_OK : .OBJSTORE_ERR_INTERNAL
                            }, Unmanaged.passRetained(context).toOpaque(), Context.free, &function, &bound)
                        if status != .OBJSTORE_OK { wrong.add(1, ordering: .relaxed) }
                        made.add(1, ordering: .relaxed)
                        let new = Entry(function: function!, bound: bound!, number: number)
                        let old = place.lock.withLock { entry in
                            let old = entry
                            entry = new
                            return old?.bound
                        }
                        if objstore_bound_close(old) != .OBJSTORE_OK { wrong.add(1, ordering: .relaxed) }
                        continue
                    }
                    // Called outside of the lock: another thread may close it now.
                    guard let entry = place.lock.withLock({ $0 }) else { continue }
                    let status = entry.function(UInt64(entry.number), 0, nil)
                    if status != .OBJSTORE_OK && status != .OBJSTORE_ERR_CLOSED_HANDLE {
                        wrong.add(1, ordering: .relaxed)
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(wrong.load(ordering: .relaxed) == 0)
        for place in places { try ok(objstore_bound_close(place.lock.withLock { $0?.bound })) }
        #expect(count.now[0] == made.load(ordering: .relaxed) && count.now[1] > 1000)
    }
}
