import CObjStore
import Foundation
import Testing

/// Queries whose scans several threads make: what one finds, in its order.
@Suite struct QueryThreadsTests {
    private static let count = 70 * 4096
    private static let things = TestClass(
        name: "Thing", properties: [("a", .OBJSTORE_KIND_INT, 0), ("b", .OBJSTORE_KIND_DOUBLE, 0)])
    private static let conditions = ["a < 300", "a < 300 OR b > 990.0", "a + 1 == 7", "TRUEPREDICATE", "NOT (b <= a)"]

    private static func open(_ path: String, threads: Int64) throws -> OpaquePointer {
        try openStore(path, [things]) { try ok(objstore_config_set_limit($0, .OBJSTORE_LIMIT_QUERY_THREADS, threads)) }
    }

    private static func fill(_ store: OpaquePointer) throws {
        let cls = try ClassOf(store, things)
        let a = (0..<count).map { Int64($0 * 7919 % 1009) }, b = a.map { Double(1000 - $0) }
        try writing(store) { tx in
            try a.withUnsafeBytes { a in
                try b.withUnsafeBytes { b in
                    let columns = [
                        objstore_column_init(cls["a"], .OBJSTORE_KIND_INT, a.baseAddress),
                        objstore_column_init(cls["b"], .OBJSTORE_KIND_DOUBLE, b.baseAddress),
                    ]
                    try ok(objstore_insert_rows(tx, cls.id, .OBJSTORE_POLICY_ERROR, columns, 2, count, nil, nil))
                }
            }
        }
    }

    /// How many, their keys in order, and sums and extremes.
    private static func asked(_ store: OpaquePointer, _ condition: String) throws -> [String] {
        let cls = try ClassOf(store, things)
        var answers: [String] = []
        try frozen(store) { view in
            let query = try query(view, cls.id, condition)
            defer { _ = objstore_query_close(query) }
            var count: UInt64 = 0, results: OpaquePointer?
            try ok(objstore_query_count(query, view, &count))
            answers.append("\(count)")
            try ok(objstore_query_find(query, view, &results))
            defer { _ = objstore_results_close(results) }
            var keys = Hasher(), object = objstore_object()
            for position in stride(from: 0, to: count, by: 97) {
                try ok(objstore_results_at(results, position, &object))
                keys.combine(object.key)
            }
            answers.append("\(keys.finalize())")
            for property in ["a", "b"] {
                for kind in [objstore_aggregate_kind.OBJSTORE_AGGREGATE_SUM, .OBJSTORE_AGGREGATE_MINIMUM] {
                    var value = objstore_value()
                    try ok(objstore_query_aggregate(query, view, cls[property], kind, &value))
                    answers.append("\(value.kind.rawValue) \(value.data.integer)")
                }
            }
        }
        return answers
    }

    @Test func asOneThread() throws {
        let folder = TestFolder()
        let one = try Self.open(folder.store, threads: 1), four = try Self.open(folder.store, threads: 4)
        defer { for store in [one, four] { _ = objstore_close(store) } }
        try Self.fill(one)
        let cls = try ClassOf(four, Self.things)
        for condition in Self.conditions { #expect(try Self.asked(one, condition) == Self.asked(four, condition)) }
        try frozen(four) { view in
            let query = try query(view, cls.id, "a < 300")
            defer { _ = objstore_query_close(query) }
            for flags in [OBJSTORE_EXPLAIN_RUN, OBJSTORE_EXPLAIN_RUN | OBJSTORE_EXPLAIN_JSON] {
                var buffer = objstore_buffer_init(), told = objstore_text()
                defer { objstore_buffer_free(&buffer) }
                try ok(objstore_query_explain(query, view, UInt32(flags), &buffer, &told))
                let text = String(
                    decoding: UnsafeRawBufferPointer(start: told.bytes, count: Int(told.length)), as: UTF8.self)
                #expect(text.contains("threads") && text.contains("4"))
            }
        }
    }

    /// Several threads ask at the same time, each with others; then all is closed under them.
    @Test func manyAsk() throws {
        let folder = TestFolder()
        nonisolated(unsafe) let store = try Self.open(folder.store, threads: 3)
        try Self.fill(store)
        let wanted = try Self.asked(store, "a < 300")
        DispatchQueue.concurrentPerform(iterations: 4) { index in
            if index == 3 {
                expect((try? Self.asked(store, "a < 300")) == wanted)
                _ = objstore_close(store)
                return
            }
            for _ in 0..<20 {
                guard let answers = try? Self.asked(store, "a < 300") else { return }
                expect(answers == wanted)
            }
        }
        #expect(objstore_close(store) == .OBJSTORE_ERR_CLOSED_HANDLE)
    }

    @Test func numbers() throws {
        var config: OpaquePointer?
        try ok(objstore_config_new(&config))
        defer { _ = objstore_config_close(config) }
        for wrong in [Int64(0), -1, 257, .max] {
            refused(
                objstore_config_set_limit(config, .OBJSTORE_LIMIT_QUERY_THREADS, wrong), .OBJSTORE_ERR_OUT_OF_RANGE)
        }
        for right in [Int64(1), 256] { try ok(objstore_config_set_limit(config, .OBJSTORE_LIMIT_QUERY_THREADS, right)) }
    }
}
