import CObjStore
import Glibc
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

    @Test("A59: a deletion, an insertion and a modification; A90: of two properties") func a59() throws {
        let cities = try Cities(), handler = Handler()
        var objects: [objstore_object] = [], token: OpaquePointer?, view: OpaquePointer?
        try cities.write { tx in
            for id in 0..<4 { objects.append(try cities.create(tx, Int64(id), "\(id)", Int64(id))) }
        }
        try test.ok(objstore_view_open(cities.store, &view))
        defer { _ = objstore_view_close(view) }
        for text in ["id >= 0", "id >= 0 SORT(id ASC)", "SORT(id ASC) LIMIT(9)"] {
            var told: [[UInt64]] = [], query: OpaquePointer?
            handler.body = { changes in
                let lists: [objstore_change] = [.OBJSTORE_DELETIONS, .OBJSTORE_INSERTIONS, .OBJSTORE_MODIFICATIONS]
                if let info = try? test.info(changes), info.flags & UInt32(OBJSTORE_CHANGES_INITIAL) == 0 {
                    told = lists.map { (try? test.list(changes, $0).indices) ?? [] }
                } else {
                    told = [[99]]
                }
                return .OBJSTORE_OK
            }
            try test.ok(objstore_query_parse(view, cities.cls, CAPITests.text(text), nil, 0, &query))
            let names = (["population", "name"] as [String]).map { name in strdup(name)! }
            let paths = names.map { objstore_text_of($0, -1) }
            defer { for name in names { free(name) } }
            try test.ok(
                objstore_query_observe_paths(
                    query, cities.store, paths, 2, UInt32(OBJSTORE_OBSERVE_INITIAL), Handler.function, handler.pointer,
                    nil, &token))
            #expect(try cities.deliver() == 1 && told == [[99]])
            var new = objstore_object()
            try cities.write { tx in
                try test.ok(objstore_delete(tx, objects[1]))
                new = try cities.create(tx, 50 + Int64(objects[3].key), "new", nil)
                try test.ok(objstore_set(transaction: tx, objects[2], cities.properties[2], 7))
            }
            #expect(try cities.deliver() == 1 && told == [[1], [3], [2]], "\(text)")
            try test.ok(objstore_token_close(token))
            try test.ok(objstore_query_close(query))
            objects.remove(at: 1)
            objects.append(new)
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
            withPath(path) { path, count in
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
