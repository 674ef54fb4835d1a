import CObjStore
import CSystem
import Testing

private func literal(_ text: StaticString) -> objstore_text {
    objstore_text_of(
        UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self), Int64(text.utf8CodeUnitCount))
}

/// Observing, typed observers and bound functions through the C interface.
@Suite struct ObservingTests {
    struct Failure: Error, CustomStringConvertible { let description: String }

    func ok(_ status: objstore_status) throws {
        if status != .OBJSTORE_OK {
            throw Failure(
                description:
                    "\(String(cString: objstore_status_name(status))): \(String(cString: objstore_last_message()))")
        }
    }

    func lastError() -> objstore_error {
        var error = objstore_error_init()
        _ = objstore_last_error(&error)
        return error
    }

    /// A class `City {id int key, name string, population int?}` in memory, and a way to write.
    final class Cities {
        let test = ObservingTests()
        let store: OpaquePointer
        let cls: objstore_class_id
        let properties: [objstore_property_id]
        private(set) var isOpen = true

        init(flags: UInt32 = 0) throws {
            var schema: OpaquePointer?, config: OpaquePointer?, store: OpaquePointer?, view: OpaquePointer?
            try test.ok(objstore_schema_new(&schema))
            try test.ok(objstore_schema_add_class(schema, literal("City")))
            for (name, kind, flags) in [
                ("id", objstore_kind.OBJSTORE_KIND_INT, 1), ("name", .OBJSTORE_KIND_STRING, 0),
                ("population", .OBJSTORE_KIND_INT, 4),
            ] as [(StaticString, objstore_kind, UInt32)] {
                try test.ok(objstore_schema_add_property(schema, literal("City"), literal(name), kind, flags))
            }
            try test.ok(objstore_config_new(&config))
            try test.ok(objstore_config_set_memory(config, literal("")))
            try test.ok(objstore_config_set_schema(config, schema, 1))
            try test.ok(objstore_config_set_flags(config, flags))
            try test.ok(objstore_open(config, &store))
            _ = objstore_schema_close(schema)
            _ = objstore_config_close(config)
            self.store = store!
            try test.ok(objstore_view_open(store, &view))
            var cls: objstore_class_id = 0
            try test.ok(objstore_find_class(view, literal("City"), &cls))
            self.cls = cls
            var ids: [objstore_property_id] = []
            for name in ["id", "name", "population"] as [StaticString] {
                var id: objstore_property_id = 0
                try test.ok(objstore_find_property(view, cls, literal(name), &id))
                ids.append(id)
            }
            properties = ids
            _ = objstore_view_close(view)
        }

        deinit { if isOpen { _ = objstore_close(store) } }

        func close() throws {
            isOpen = false
            try test.ok(objstore_close(store))
        }

        func write(_ body: (OpaquePointer) throws -> Void) throws {
            var transaction: OpaquePointer?
            try test.ok(objstore_begin(store, &transaction))
            do { try body(transaction!) } catch {
                _ = objstore_cancel(transaction)
                throw error
            }
            try test.ok(objstore_commit(transaction, nil))
        }

        @discardableResult
        func create(
            _ transaction: OpaquePointer, _ id: Int64, _ name: String, _ population: Int64?
        ) throws -> objstore_object {
            var object = objstore_object()
            try name.withCString { text in
                let values = [
                    objstore_int(id), objstore_string(objstore_cstr(text)),
                    population.map(objstore_int) ?? objstore_null(),
                ]
                try test.ok(objstore_create(transaction, cls, properties, values, 3, &object))
            }
            return object
        }

        func deliver() throws -> Int {
            var delivered = -1
            try test.ok(objstore_deliver(store, &delivered))
            return delivered
        }
    }

    /// What a handler does, and what it saw; its userdata.
    final class Handler {
        var body: (OpaquePointer) -> objstore_status = { _ in .OBJSTORE_OK }
        var freed = 0
        /// Counted by the thread that delivers, read by others.
        private let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        var calls: Int { Int(cs_load64(word)) }
        init() { word.initialize(to: 0) }
        deinit { word.deallocate() }
        var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
        static func of(_ pointer: UnsafeMutableRawPointer?) -> Handler {
            Unmanaged<Handler>.fromOpaque(pointer!).takeUnretainedValue()
        }
        static let function: objstore_change_handler = { changes, userdata in
            let handler = Handler.of(userdata)
            cs_add64(handler.word, 1)
            return handler.body(changes!)
        }
        static let free: objstore_free_userdata = { Handler.of($0).freed += 1 }
    }

    func info(_ changes: OpaquePointer) throws -> objstore_changes_info {
        var info = objstore_changes_info()
        info.struct_size = UInt32(MemoryLayout<objstore_changes_info>.size)
        try ok(objstore_changes_get_info(changes, &info))
        return info
    }

    func list(
        _ changes: OpaquePointer, _ which: objstore_change
    ) throws -> (objects: [objstore_object], indices: [UInt64]?) {
        var objects: UnsafePointer<objstore_object>?, indices: UnsafePointer<UInt64>?, count = 0
        try ok(objstore_changes_list(changes, which, &objects, &indices, &count))
        #expect(objects != nil)
        return (
            Array(UnsafeBufferPointer(start: objects, count: count)),
            indices.map { Array(UnsafeBufferPointer(start: $0, count: count)) }
        )
    }

    func name(_ view: OpaquePointer?, _ object: objstore_object, _ property: objstore_property_id) throws -> String {
        var value = objstore_null()
        try ok(objstore_get(view, object, property, nil, &value))
        return String(
            decoding: UnsafeRawBufferPointer(start: value.data.text.bytes, count: Int(value.data.text.length)),
            as: UTF8.self)
    }

    // MARK: Classes

    @Test func changeSets() throws {
        let cities = try Cities()
        var token: OpaquePointer?, kept: OpaquePointer?
        var first = objstore_object(), second = objstore_object()
        try cities.write {
            first = try cities.create($0, 1, "Bern", 130_000); second = try cities.create($0, 2, "Basel", nil)
        }
        let handler = Handler()
        var problem: (any Error)?
        try ok(
            objstore_observe(
                cities.store, cities.cls, UInt32(OBJSTORE_OBSERVE_INITIAL), Handler.function, handler.pointer,
                Handler.free, &token))
        handler.body = { changes in
            do {
                let info = try info(changes)
                #expect(
                    info.flags == UInt32(OBJSTORE_CHANGES_INITIAL) && info.from_version == info.to_version
                        && info.class_id == cities.cls && info.mask_words == 1)
                #expect(try list(changes, .OBJSTORE_INSERTIONS).objects.isEmpty)
            } catch { problem = error }
            return .OBJSTORE_OK
        }
        #expect(try cities.deliver() == 1)
        try cities.write { transaction in
            try cities.create(transaction, 3, "Genf", 200_000)
            try ok(objstore_set(transaction, first, cities.properties[2], objstore_int(131_000)))
            try ok(objstore_delete(transaction, second))
        }
        handler.body = { changes in
            do {
                let info = try info(changes)
                #expect(
                    info.flags == 0 && info.deletion_count == 1 && info.insertion_count == 1
                        && info.modification_count == 1)
                #expect(info.to_version > info.from_version)
                let deleted = try list(changes, .OBJSTORE_DELETIONS), inserted = try list(changes, .OBJSTORE_INSERTIONS)
                let modified = try list(changes, .OBJSTORE_MODIFICATIONS)
                #expect(
                    deleted.indices == nil && inserted.indices == nil && deleted.objects[0].key == second.key
                        && deleted.objects[0].store_tag == second.store_tag)
                #expect(modified.objects[0].key == first.key && modified.objects[0].class_id == cities.cls)
                var changed = false
                try ok(objstore_changes_has(changes, 0, cities.properties[2], &changed))
                #expect(changed)
                try ok(objstore_changes_has(changes, 0, cities.properties[1], &changed))
                #expect(!changed)
                var masks: UnsafePointer<UInt64>?, words = 0
                try ok(objstore_changes_masks(changes, &masks, &words))
                #expect(words == 1 && masks?[0] == 0b100)
                var before: OpaquePointer?, after: OpaquePointer?, again: OpaquePointer?
                try ok(objstore_changes_view(changes, .OBJSTORE_BEFORE, &before))
                try ok(objstore_changes_view(changes, .OBJSTORE_AFTER, &after))
                try ok(objstore_changes_view(changes, .OBJSTORE_BEFORE, &again))
                #expect(again == before && before != after)
                #expect(try name(before, second, cities.properties[1]) == "Basel")
                #expect(try name(after, inserted.objects[0], cities.properties[1]) == "Genf")
                var value = objstore_null()
                #expect(objstore_get(after, second, cities.properties[1], nil, &value) == .OBJSTORE_ERR_NO_SUCH_OBJECT)
                // What belongs to the handler stays the handler's.
                #expect(objstore_changes_close(changes) == .OBJSTORE_ERR_IN_CALLBACK)
                #expect(objstore_view_close(before) == .OBJSTORE_ERR_WRONG_VIEW)
                #expect(objstore_deliver(cities.store, nil) == .OBJSTORE_ERR_IN_CALLBACK)
                #expect(objstore_wait(cities.store, 0, nil) == .OBJSTORE_ERR_IN_CALLBACK)
                #expect(objstore_close(cities.store) == .OBJSTORE_ERR_IN_CALLBACK)
                try ok(objstore_changes_keep(changes, &kept))
            } catch { problem = error }
            return .OBJSTORE_OK
        }
        #expect(try cities.deliver() == 1)
        if let problem { throw problem }
        #expect(handler.calls == 2)
        // Kept: the same data, also after the observer has ended.
        #expect(handler.freed == 0)
        try ok(objstore_token_close(token))
        #expect(handler.freed == 1)
        #expect(objstore_token_close(token) == .OBJSTORE_ERR_CLOSED_HANDLE)
        var before: OpaquePointer?, frozen: OpaquePointer?
        try ok(objstore_changes_view(kept, .OBJSTORE_BEFORE, &before))
        #expect(try name(before, second, cities.properties[1]) == "Basel")
        try ok(objstore_view_freeze(before, &frozen))
        try ok(objstore_changes_close(kept))
        var kind = objstore_view_kind.OBJSTORE_VIEW_LIVE
        #expect(objstore_view_get_kind(before, &kind) == .OBJSTORE_ERR_CLOSED_HANDLE)
        #expect(try name(frozen, second, cities.properties[1]) == "Basel")
        var statistics = objstore_statistics()
        statistics.struct_size = UInt32(MemoryLayout<objstore_statistics>.size)
        try ok(objstore_get_statistics(cities.store, &statistics))
        #expect(statistics.observers == 0 && statistics.change_sets == 2)
        try cities.close()
    }

    /// An upsert that changes nothing notifies no observer; one that writes everything does.
    @Test func policies() throws {
        let cities = try Cities()
        try cities.write { for id in 0..<20 { try cities.create($0, Int64(id), "City", 5) } }
        let handler = Handler()
        var token: OpaquePointer?
        var modifications: [UInt64] = [], masks: [UInt64] = []
        handler.body = { changes in
            modifications.append((try? info(changes))?.modification_count ?? 99)
            var words: UnsafePointer<UInt64>?, count = 0
            _ = objstore_changes_masks(changes, &words, &count)
            masks = Array(UnsafeBufferPointer(start: words, count: count))
            return .OBJSTORE_OK
        }
        try ok(objstore_observe(cities.store, cities.cls, 0, Handler.function, handler.pointer, nil, &token))
        for policy in [objstore_policy.OBJSTORE_POLICY_MODIFIED, .OBJSTORE_POLICY_ALL] {
            try cities.write { transaction in
                for id in 0..<20 {
                    try "City".withCString { text in
                        try ok(
                            objstore_upsert(
                                transaction, cities.cls, policy, cities.properties,
                                [objstore_int(Int64(id)), objstore_string(objstore_cstr(text)), objstore_int(5)], 3,
                                nil, nil))
                    }
                }
            }
            #expect(try cities.deliver() == (policy == .OBJSTORE_POLICY_ALL ? 1 : 0))
        }
        #expect(modifications == [20] && masks.count == 20 && masks.allSatisfy { $0 & 0b110 == 0b110 })
        try cities.close()
    }

    // MARK: Results

    @Test func results() throws {
        let cities = try Cities()
        var objects: [objstore_object] = []
        try cities.write {
            for id in 0..<6 { objects.append(try cities.create($0, Int64(id), "City \(id)", Int64(id * 10))) }
        }
        var view: OpaquePointer?, results: OpaquePointer?, token: OpaquePointer?, frozen: OpaquePointer?,
            frozenResults: OpaquePointer?
        try ok(objstore_view_open(cities.store, &view))
        // 2, 3, 4, 5
        try ok(
            findWhere(
                view, cities.cls, cities.properties[2], .OBJSTORE_GREATER_EQUAL, objstore_int(20), &results))
        let handler = Handler()
        try ok(objstore_results_observe(results, 0, Handler.function, handler.pointer, Handler.free, &token))
        // Independent of what it came from.
        try ok(objstore_view_freeze(view, &frozen))
        try ok(findAll(frozen, cities.cls, &frozenResults))
        var none: OpaquePointer?
        #expect(
            objstore_results_observe(frozenResults, 0, Handler.function, handler.pointer, Handler.free, &none)
                == .OBJSTORE_ERR_WRONG_VIEW)
        #expect(none == nil && handler.freed == 1)
        try ok(objstore_results_close(results))
        try ok(objstore_view_close(view))
        try cities.write { transaction in
            let population = cities.properties[2]
            try ok(objstore_set(transaction, objects[0], population, objstore_int(100)))  // comes
            try ok(objstore_set(transaction, objects[1], population, objstore_int(11)))  // stays out
            try ok(objstore_set(transaction, objects[2], population, objstore_int(1)))  // goes
            try ok(objstore_delete(transaction, objects[4]))  // goes
            // Stays, changed.
            try ok(objstore_set(transaction, objects[5], cities.properties[1], objstore_string(literal("Last"))))
        }
        var seen: [[UInt64]?] = []
        handler.body = { changes in
            for which in [
                objstore_change.OBJSTORE_DELETIONS, .OBJSTORE_INSERTIONS, .OBJSTORE_MODIFICATIONS,
                .OBJSTORE_MODIFICATIONS_AFTER,
            ] {
                seen.append((try? list(changes, which))?.indices)
            }
            return .OBJSTORE_OK
        }
        #expect(try cities.deliver() == 1)
        // 2 3 4 5 → 0 3 5
        #expect(seen == [[0, 2], [0], [3], [2]])
        try ok(objstore_token_close(token))
        #expect(handler.freed == 2)
        // Results that are older than their view.
        try ok(objstore_view_open(cities.store, &view))
        try ok(findAll(view, cities.cls, &results))
        try cities.write { try ok(objstore_set($0, objects[0], cities.properties[2], objstore_int(7))) }
        try ok(objstore_view_refresh(view, nil))
        #expect(
            objstore_results_observe(results, 0, Handler.function, handler.pointer, nil, &token)
                == .OBJSTORE_ERR_WRONG_VIEW)
        try ok(objstore_results_update(results, nil))
        try ok(objstore_results_observe(results, 0, Handler.function, handler.pointer, nil, &token))
        try cities.close()
    }

    // MARK: Delivery

    @Test func descriptorAndWaiting() throws {
        let cities = try Cities()
        var descriptor: Int32 = -1, token: OpaquePointer?, delivered = -1
        try ok(objstore_notify_fd(cities.store, &descriptor))
        func isReadable(_ milliseconds: Int32) -> Bool {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&request, 1, milliseconds) > 0
        }
        let handler = Handler()
        try ok(objstore_observe(cities.store, cities.cls, 0, Handler.function, handler.pointer, Handler.free, &token))
        try ok(objstore_wait(cities.store, 20, &delivered))
        #expect(delivered == 0 && !isReadable(0))
        try cities.write { try cities.create($0, 1, "Bern", 1) }
        #expect(isReadable(5000))
        try ok(objstore_wait(cities.store, Int64(OBJSTORE_FOREVER), &delivered))
        #expect(delivered == 1 && handler.calls == 1 && !isReadable(20))
        #expect(objstore_wait(cities.store, -2, nil) == .OBJSTORE_ERR_OUT_OF_RANGE)
        // Not from inside a body of a write.
        final class Inside { var status = objstore_status.OBJSTORE_OK; var store: OpaquePointer? }
        let inside = Inside()
        inside.store = cities.store
        try ok(
            objstore_write(
                cities.store,
                { _, userdata in
                    let inside = Unmanaged<Inside>.fromOpaque(userdata!).takeUnretainedValue()
                    inside.status = objstore_deliver(inside.store, nil)
                    return .OBJSTORE_OK
                }, Unmanaged.passUnretained(inside).toOpaque(), nil))
        #expect(inside.status == .OBJSTORE_ERR_IN_CALLBACK)
        // Closing wakes a call that waits without a timeout.
        final class Waiting: @unchecked Sendable { var store: OpaquePointer?; var status = objstore_status.OBJSTORE_OK }
        let waiting = Waiting()
        waiting.store = cities.store
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { userdata in
                let waiting = Unmanaged<Waiting>.fromOpaque(userdata!).takeUnretainedValue()
                waiting.status = objstore_wait(waiting.store, Int64(OBJSTORE_FOREVER), nil)
                return nil
            }, Unmanaged.passUnretained(waiting).toOpaque())
        usleep(50_000)
        try cities.close()
        pthread_join(thread, nil)
        #expect(waiting.status == .OBJSTORE_ERR_CLOSED_HANDLE && handler.freed == 1)
    }

    @Test func failingHandlers() throws {
        let cities = try Cities()
        let first = Handler(), second = Handler()
        var tokens: [OpaquePointer?] = [nil, nil]
        first.body = { _ in objstore_fail(42, literal("no such customer")) }
        second.body = { _ in objstore_status(rawValue: 10_007)! }
        try ok(objstore_observe(cities.store, cities.cls, 0, Handler.function, first.pointer, nil, &tokens[0]))
        try ok(objstore_observe(cities.store, cities.cls, 0, Handler.function, second.pointer, nil, &tokens[1]))
        try cities.write { try cities.create($0, 1, "Bern", 1) }
        var delivered = -7
        #expect(objstore_deliver(cities.store, &delivered) == .OBJSTORE_ERR_CALLBACK)
        #expect(
            lastError().callback_code == 42 && String(cString: objstore_last_message()) == "no such customer"
                && delivered == -7)
        #expect(first.calls == 1 && second.calls == 1)
        try ok(objstore_token_close(tokens[0]))
        try cities.write { try cities.create($0, 2, "Basel", 1) }
        #expect(objstore_deliver(cities.store, nil) == .OBJSTORE_ERR_CALLBACK)
        #expect(lastError().callback_code == 10_007 && second.calls == 2)
        #expect(try cities.deliver() == 0)
        // An observer that ends itself.
        second.body = { _ in objstore_token_close(tokens[1]) }
        try cities.write { try cities.create($0, 3, "Chur", 1) }
        #expect(try cities.deliver() == 1)
        #expect(objstore_token_close(tokens[1]) == .OBJSTORE_ERR_CLOSED_HANDLE)
        try cities.close()
    }

    /// A handler that waits for the transaction of the thread which closes its token, or the store.
    @Test(arguments: [false, true]) func closingInATransaction(closesToken: Bool) throws {
        let cities = try Cities()
        final class Waiting: @unchecked Sendable {
            var store: OpaquePointer?; var status = objstore_status.OBJSTORE_OK; var began = objstore_status.OBJSTORE_OK
        }
        let waiting = Waiting()
        waiting.store = cities.store
        let handler = Handler()
        handler.body = { _ in
            var transaction: OpaquePointer?
            waiting.began = objstore_begin(waiting.store, &transaction)
            if transaction == nil { return .OBJSTORE_OK }
            // The store that is being closed may have closed the transaction already.
            let cancelled = objstore_cancel(transaction)
            return cancelled == .OBJSTORE_ERR_CLOSED_HANDLE ? .OBJSTORE_OK : cancelled
        }
        var token: OpaquePointer?, transaction: OpaquePointer?
        try ok(objstore_observe(cities.store, cities.cls, 0, Handler.function, handler.pointer, Handler.free, &token))
        try cities.write { try cities.create($0, 1, "Bern", 1) }
        try ok(objstore_begin(cities.store, &transaction))
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { userdata in
                let waiting = Unmanaged<Waiting>.fromOpaque(userdata!).takeUnretainedValue()
                waiting.status = objstore_deliver(waiting.store, nil)
                return nil
            }, Unmanaged.passUnretained(waiting).toOpaque())
        while handler.calls == 0 { usleep(1000) }
        usleep(20_000)
        if closesToken {
            try ok(objstore_token_close(token))
            #expect(handler.freed == 0)
            try ok(objstore_cancel(transaction))
            pthread_join(thread, nil)
            #expect(waiting.began == .OBJSTORE_OK)
            try cities.close()
        } else {
            // Cancels the transaction, which lets the handler continue.
            try cities.close()
            pthread_join(thread, nil)
        }
        #expect(waiting.status == .OBJSTORE_OK && handler.freed == 1 && handler.calls == 1)
    }

    @Test func worker() throws {
        let cities = try Cities(flags: UInt32(OBJSTORE_CONFIG_DELIVER_ON_WORKER))
        var descriptor: Int32 = -1, token: OpaquePointer?
        #expect(objstore_notify_fd(cities.store, &descriptor) == .OBJSTORE_ERR_NOT_SUPPORTED)
        let handler = Handler()
        let main = pthread_self()
        nonisolated(unsafe) var wasElsewhere = false  // read after close, which waits for the handler
        handler.body = { _ in
            wasElsewhere = pthread_equal(pthread_self(), main) == 0; return .OBJSTORE_OK
        }
        try ok(objstore_observe(cities.store, cities.cls, 0, Handler.function, handler.pointer, Handler.free, &token))
        try cities.write { try cities.create($0, 1, "Bern", 1) }
        for _ in 0..<5000 where handler.calls == 0 { usleep(1000) }
        try cities.close()
        #expect(handler.calls == 1 && handler.freed == 1 && wasElsewhere)
    }

    // MARK: Typed observers

    @Test func typed() throws {
        let cities = try Cities()
        final class Seen { var lines: [String] = []; var freed = 0; var status = objstore_status.OBJSTORE_OK }
        let seen = Seen()
        let pointer = Unmanaged.passUnretained(seen).toOpaque()
        let function:
            @convention(c) (Int64, UnsafePointer<CChar>?, Int64, UnsafePointer<Int64>?, Int32, UnsafeMutableRawPointer?)
                -> objstore_status = {
                    id, name, length, population, event, userdata in
                    let seen = Unmanaged<Seen>.fromOpaque(userdata!).takeUnretainedValue()
                    let text = String(decoding: UnsafeRawBufferPointer(start: name, count: Int(length)), as: UTF8.self)
                    seen.lines.append("\(event) \(id) \(text) \(population.map { "\($0.pointee)" } ?? "null")")
                    return seen.status
                }
        let cast = unsafeBitCast(function, to: objstore_function.self)
        let free: objstore_free_userdata = { Unmanaged<Seen>.fromOpaque($0!).takeUnretainedValue().freed += 1 }
        func observe(
            _ signature: String, _ properties: [objstore_property_id], _ token: inout OpaquePointer?
        ) -> objstore_status {
            signature.withCString {
                objstore_observe_typed(
                    cities.store, cities.cls, properties, properties.count, objstore_cstr($0), cast, pointer, free,
                    &token)
            }
        }
        var token: OpaquePointer?
        let all = cities.properties
        #expect(observe("i64, str i64? -> status", all, &token) == .OBJSTORE_ERR_INVALID_SIGNATURE)
        #expect(lastError().position == 9 && token == nil && seen.freed == 1)
        #expect(observe("i64, str, i64 -> status", all, &token) == .OBJSTORE_ERR_WRONG_TYPE)
        #expect(
            lastError().position == 10 && lastError().property_name.length == 10 && lastError().class_name.length == 4)
        #expect(observe("i64, i64 -> status", [all[0], all[0]], &token) == .OBJSTORE_ERR_INVALID_ARGUMENT)
        #expect(observe("i64 -> status", [all[0] + 77], &token) == .OBJSTORE_ERR_NO_SUCH_PROPERTY)
        #expect(observe("", all, &token) == .OBJSTORE_ERR_INVALID_ARGUMENT)
        #expect(seen.freed == 5)
        try ok(observe("i64, str, i64?, event -> status", all, &token))
        var object = objstore_object()
        try cities.write {
            object = try cities.create($0, 1, "Zürich", nil); try cities.create($0, 2, "", 9)
        }
        #expect(try cities.deliver() == 1)
        try cities.write { try ok(objstore_set($0, object, all[2], objstore_int(-5))) }
        #expect(try cities.deliver() == 1)
        #expect(seen.lines == ["2 1 Zürich null", "2 2  9", "3 1 Zürich -5"])
        seen.status = objstore_status(rawValue: 12_345)!
        try cities.write { for id in 5..<9 { try cities.create($0, Int64(id), "x", 1) } }
        #expect(objstore_deliver(cities.store, nil) == .OBJSTORE_ERR_CALLBACK)
        #expect(lastError().callback_code == 12_345 && seen.lines.count == 4)
        try ok(objstore_token_close(token))
        #expect(seen.freed == 6)
        try cities.close()
    }

    // MARK: Bound functions

    @Test func boundFunctions() throws {
        let cities = try Cities()
        final class Context {
            let id: Int64; let cities: Cities; var freed = 0; var bound: OpaquePointer?;
            init(_ id: Int64, _ cities: Cities) { self.id = id; self.cities = cities }
        }
        let body: objstore_write_body = { transaction, userdata in
            let context = Unmanaged<Context>.fromOpaque(userdata!).takeUnretainedValue()
            do { try context.cities.create(transaction!, context.id, "bound", context.id) } catch {
                return .OBJSTORE_ERR_INTERNAL
            }
            return .OBJSTORE_OK
        }
        let free: objstore_free_userdata = { Unmanaged<Context>.fromOpaque($0!).takeUnretainedValue().freed += 1 }
        let contexts = (0..<1000).map { Context(Int64($0), cities) }
        var functions: [objstore_write_body] = []
        for context in contexts {
            var function: objstore_write_body?
            try ok(
                objstore_bind_write_body(
                    body, Unmanaged.passUnretained(context).toOpaque(), free, &function, &context.bound))
            functions.append(function!)
        }
        // A bound handler, ended from inside its own call.
        let handler = Handler()
        var bound: OpaquePointer?, token: OpaquePointer?
        var observed: objstore_change_handler?
        try ok(objstore_bind_change_handler(Handler.function, handler.pointer, Handler.free, &observed, &bound))
        try ok(objstore_observe(cities.store, cities.cls, 0, observed, nil, nil, &token))
        for function in functions.shuffled() { try ok(objstore_write(cities.store, function, nil, nil)) }
        var inserted: UInt64 = 0
        handler.body = { changes in
            inserted = (try? info(changes))?.insertion_count ?? 0
            _ = objstore_token_close(token)
            let status = objstore_bound_close(bound)
            return handler.freed == 0 ? status : .OBJSTORE_ERR_INTERNAL
        }
        #expect(try cities.deliver() == 1)
        #expect(inserted == 1000 && handler.freed == 1)
        for context in contexts { try ok(objstore_bound_close(context.bound)) }
        #expect(contexts.allSatisfy { $0.freed == 1 })
        #expect(objstore_bound_close(contexts[0].bound) == .OBJSTORE_ERR_CLOSED_HANDLE)
        #expect(objstore_bound_close(nil) == .OBJSTORE_OK)
        var function: objstore_write_body?
        #expect(
            objstore_bind_write_body(nil, Unmanaged.passUnretained(contexts[0]).toOpaque(), free, &function, &bound)
                == .OBJSTORE_ERR_INVALID_ARGUMENT)
        #expect(contexts[0].freed == 2)
        try cities.close()
    }
}

/// Properties beyond the 16,384th are reported like the first ones.
@Test func aClassOfVeryManyPropertiesIsObserved() throws {
    let wide = TestClass(name: "Wide", properties: (0..<16_500).map { ("p\($0)", .OBJSTORE_KIND_BOOL, nullable) })
    let store = try openStore(nil, [wide])
    let cls = try ClassOf(store, wide)
    var object = objstore_object()
    try writing(store) { tx in object = try cls.create(tx, [:]) }
    try hearing(store, cls.id) { heard in
        try writing(store) { tx in try ok(objstore_set(tx, object, cls["p16499"], objstore_bool(true))) }
        try ok(objstore_deliver(store, nil))
        #expect(heard().last == 1)
    }
    try ok(objstore_close(store))
}

/// Callbacks that say by a call that they have ended.
extension ObservingTests {
    /// What a handler got, and how often it is going to be left before.
    final class Told {
        var insertions: [UInt64] = []
        var isInitial = 0
        var leaves = 0
    }

    private static let handler: objstore_change_handler = { changes, userdata in
        let told = Unmanaged<Told>.fromOpaque(userdata!).takeUnretainedValue()
        if told.leaves > 0 {
            told.leaves -= 1
            return .OBJSTORE_OK  // which means nothing
        }
        var info = objstore_changes_info()
        info.struct_size = UInt32(MemoryLayout<objstore_changes_info>.size)
        _ = objstore_changes_get_info(changes, &info)
        told.insertions.append(info.insertion_count)
        if info.flags & UInt32(OBJSTORE_CHANGES_INITIAL) != 0 { told.isInitial += 1 }
        _ = objstore_finish(.OBJSTORE_OK)
        return .OBJSTORE_ERR_IO  // as little
    }

    @Test(arguments: [false, true]) func changesThatAHandlerDidNotTakeComeAgain(ofResults: Bool) throws {
        let cities = try Cities(), told = Told()
        let userdata = Unmanaged.passUnretained(told).toOpaque()
        var token: OpaquePointer?, view: OpaquePointer?, results: OpaquePointer?, count = 0
        if ofResults {
            try ok(objstore_view_open(cities.store, &view))
            try ok(
                findWhere(
                    view, cities.cls, cities.properties[0], .OBJSTORE_GREATER, objstore_int(0), &results))
            try ok(
                objstore_results_observe(
                    results, UInt32(OBJSTORE_OBSERVE_INITIAL), Self.handler, userdata, objstore_must_finish, &token))
            try ok(objstore_view_close(view))
        } else {
            try ok(
                objstore_observe(
                    cities.store, cities.cls, UInt32(OBJSTORE_OBSERVE_INITIAL), Self.handler, userdata,
                    objstore_must_finish, &token))
        }
        told.leaves = 1
        #expect(objstore_deliver(cities.store, &count) == .OBJSTORE_ERR_CALLBACK)
        #expect(told.isInitial == 0)
        try ok(objstore_deliver(cities.store, &count))
        #expect(told.isInitial == 1 && told.insertions == [0])
        for round in 1...3 as ClosedRange<Int64> {
            try cities.write { transaction in try cities.create(transaction, 2 * round, "a", nil) }
            told.leaves = Int(round)
            for _ in 1...round { #expect(objstore_deliver(cities.store, &count) == .OBJSTORE_ERR_CALLBACK) }
            try cities.write { transaction in try cities.create(transaction, 2 * round + 1, "b", nil) }
            try ok(objstore_deliver(cities.store, &count))
            #expect(told.insertions.last == 2, "the one that was left, and the one since")
        }
        #expect(told.insertions == [0, 2, 2, 2])
        withExtendedLifetime(told) { _ = objstore_token_close(token) }
        try cities.close()
    }

    @Test func aTransactionBodyThatWasLeftIsUndone() throws {
        let cities = try Cities()
        let body: objstore_write_body = { transaction, userdata in
            var cls: objstore_class_id = 0, ids: [objstore_property_id] = [0, 0]
            _ = objstore_find_class(transaction, literal("City"), &cls)
            _ = objstore_find_property(transaction, cls, literal("id"), &ids[0])
            _ = objstore_find_property(transaction, cls, literal("name"), &ids[1])
            // The primary key of the one that was left before would be there already.
            let status = objstore_create(
                transaction, cls, ids, [objstore_int(5), objstore_string(literal("x"))], 2, nil)
            if status != .OBJSTORE_OK { return objstore_finish(status) }
            if userdata != nil { _ = objstore_finish(.OBJSTORE_OK) }
            return .OBJSTORE_OK
        }
        #expect(objstore_write(cities.store, body, nil, objstore_must_finish) == .OBJSTORE_ERR_CALLBACK)
        #expect(String(cString: objstore_last_message()).contains("left before it had finished"))
        #expect(objstore_finish(.OBJSTORE_ERR_IO) == .OBJSTORE_ERR_IO)  // of no effect here
        #expect(objstore_write(cities.store, body, nil, objstore_must_finish) == .OBJSTORE_ERR_CALLBACK)
        var function: objstore_write_body?, bound: OpaquePointer?
        try ok(objstore_bind_write_body(body, nil, objstore_must_finish, &function, &bound))
        #expect(objstore_write(cities.store, function, nil, nil) == .OBJSTORE_ERR_CALLBACK)
        try ok(objstore_bound_close(bound))
        try ok(objstore_write(cities.store, body, UnsafeMutableRawPointer(bitPattern: 1), objstore_must_finish))
        try cities.close()
    }
}
