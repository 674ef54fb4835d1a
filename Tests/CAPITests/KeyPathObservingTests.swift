import CObjStore
import Testing

/// Observers of single objects, of key paths and of commits, and their rests, through the C interface.
@Suite struct KeyPathObservingTests {
    private typealias Cities = ObservingTests.Cities
    private typealias Handler = ObservingTests.Handler
    private let test = ObservingTests()

    private func withPath<T>(_ path: String, _ body: (UnsafePointer<objstore_text>, Int) throws -> T) rethrows -> T {
        try path.withCString { bytes in
            var text = objstore_text_of(bytes, -1)
            return try withUnsafePointer(to: &text) { try body($0, 1) }
        }
    }

    @Test func oneObject() throws {
        let cities = try Cities(), handler = Handler()
        var first = objstore_object(), second = objstore_object(), token: OpaquePointer?
        try cities.write {
            first = try cities.create($0, 1, "Bern", 130_000)
            second = try cities.create($0, 2, "Basel", nil)
        }
        var counts: [UInt64] = []
        handler.body = { changes in
            guard let info = try? test.info(changes) else { return .OBJSTORE_ERR_INTERNAL }
            counts = [info.deletion_count, info.insertion_count, info.modification_count]
            return .OBJSTORE_OK
        }
        try withPath("population") { path, count in
            try test.ok(
                objstore_object_observe(
                    cities.store, first, path, count, 0, Handler.function, handler.pointer, Handler.free, &token))
        }
        try cities.write { try test.ok(objstore_set(transaction: $0, second, cities.properties[2], 5)) }
        #expect(try cities.deliver() == 0, "another object")
        try cities.write { try test.ok(objstore_set($0, first, cities.properties[1], objstore_string(text("B")))) }
        #expect(try cities.deliver() == 0, "another property")
        try cities.write { try test.ok(objstore_set(transaction: $0, first, cities.properties[2], 5)) }
        #expect(try cities.deliver() == 1 && counts == [0, 0, 1])
        try cities.write { try test.ok(objstore_delete($0, first)) }
        #expect(try cities.deliver() == 1 && counts == [1, 0, 0])
        try test.ok(objstore_token_close(token))
        #expect(handler.freed == 1)
        #expect(
            objstore_object_observe(
                cities.store, first, nil, 0, 0, Handler.function, handler.pointer, Handler.free, &token)
                == .OBJSTORE_ERR_NO_SUCH_OBJECT && token == nil && handler.freed == 2)
    }

    @Test func pathsOfAClassAndOfAQuery() throws {
        let cities = try Cities(), handler = Handler()
        var first = objstore_object(), tokens: [OpaquePointer?] = [nil, nil], query: OpaquePointer?
        try cities.write { first = try cities.create($0, 1, "Bern", 130_000) }
        var view: OpaquePointer?
        try test.ok(objstore_view_open(cities.store, &view))
        try test.ok(objstore_query_parse(view, cities.cls, text("population > 5"), nil, 0, &query))
        defer {
            _ = objstore_query_close(query)
            _ = objstore_view_close(view)
        }
        try withPath("population") { path, count in
            try test.ok(
                objstore_observe_paths(
                    cities.store, cities.cls, path, count, 0, Handler.function, handler.pointer, nil, &tokens[0]))
            try test.ok(
                objstore_query_observe_paths(
                    query, cities.store, path, count, 0, Handler.function, handler.pointer, nil, &tokens[1]))
        }
        try cities.write { try test.ok(objstore_set($0, first, cities.properties[1], objstore_string(text("B")))) }
        #expect(try cities.deliver() == 0)
        try cities.write { try test.ok(objstore_set(transaction: $0, first, cities.properties[2], 6)) }
        #expect(try cities.deliver() == 2)
        for token in tokens { try test.ok(objstore_token_close(token)) }

        var token: OpaquePointer?
        for (path, status, part) in [
            ("wings", objstore_status.OBJSTORE_ERR_NO_SUCH_PROPERTY, "City"),
            ("name.x", .OBJSTORE_ERR_WRONG_TYPE, "City.name"), ("", .OBJSTORE_ERR_INVALID_ARGUMENT, "key_paths"),
        ] {
            try withPath(path) { path, count in
                #expect(
                    objstore_observe_paths(
                        cities.store, cities.cls, path, count, 0, Handler.function, nil, nil, &token) == status)
                #expect(String(cString: objstore_last_message()).contains(part))
            }
        }
    }

    @Test func restsAndCommits() throws {
        let cities = try Cities(), handler = Handler()
        var token: OpaquePointer?
        var infos: [objstore_changes_info] = []
        handler.body = { changes in
            if let info = try? test.info(changes) { infos.append(info) }
            return .OBJSTORE_OK
        }
        try test.ok(objstore_observe_commits(cities.store, 0, Handler.function, handler.pointer, nil, &token))
        for id in 1...3 { try cities.write { try cities.create($0, Int64(id), "x", nil) } }
        #expect(try cities.deliver() == 1)
        #expect(infos.count == 1 && infos[0].class_id == 0 && infos[0].to_version == infos[0].from_version + 3)
        try test.ok(objstore_token_pause(token))
        try cities.write { try cities.create($0, 4, "x", nil) }
        #expect(try cities.deliver() == 0)
        try test.ok(objstore_token_resume(token))
        #expect(try cities.deliver() == 1)

        try test.ok(objstore_token_set_interval(token, 100))
        try cities.write { try cities.create($0, 5, "x", nil) }
        #expect(try cities.deliver() == 1, "the first one at once")
        try cities.write { try cities.create($0, 6, "x", nil) }
        try cities.write { try cities.create($0, 7, "x", nil) }
        #expect(try cities.deliver() == 0)
        var delivered = 0
        try test.ok(objstore_wait(cities.store, 10_000, &delivered))
        #expect(delivered == 1 && infos.last!.to_version == infos.last!.from_version + 2)
        for wrong in [-1, 86_400_001, Int64.min, .max] {
            #expect(objstore_token_set_interval(token, wrong) == .OBJSTORE_ERR_OUT_OF_RANGE)
        }
        try test.ok(objstore_token_close(token))
        #expect(objstore_token_pause(token) == .OBJSTORE_ERR_CLOSED_HANDLE)
    }
}

private func objstore_set(
    transaction: OpaquePointer, _ object: objstore_object, _ property: objstore_property_id, _ number: Int64
) -> objstore_status { objstore_set(transaction, object, property, objstore_int(number)) }
