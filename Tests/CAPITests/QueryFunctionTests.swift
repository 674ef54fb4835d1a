import CObjStore
import Foundation
import Synchronization
import Testing

private typealias Map = FunctionModel.Map
private typealias Place = FunctionModel.Place
private typealias Raw = FunctionModel.Raw
private let norms = FunctionModel.norms
private let norm = FunctionModel.norm
private let halves = FunctionModel.halves
private let half = FunctionModel.half
private let orMinusOne = FunctionModel.orMinusOne
private let allOrMinusOne = FunctionModel.allOrMinusOne
private let doubled = FunctionModel.doubled
private let lengths = FunctionModel.lengths
private let mixedKinds = FunctionModel.mixedKinds

private func define<Function>(
    _ store: OpaquePointer, _ name: String, _ signature: String, _ function: Function, _ userdata: Raw = nil,
    _ free: objstore_free_userdata? = nil
) -> objstore_status { FunctionModel.define(store, name, signature, function, userdata, free) }

private func lastError() throws -> objstore_error {
    var error = objstore_error_init()
    try ok(objstore_last_error(&error))
    return error
}

@Suite struct QueryFunctionTests {
    private func ask(
        _ view: OpaquePointer, _ map: Map, _ condition: String, _ wanted: [Int64], _ arguments: [objstore_value] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let found = try found(view, map.cls.id, condition, arguments)
        #expect(found == wanted, "\(condition)", sourceLocation: sourceLocation)
        var count: UInt64 = 0
        let query = try query(view, map.cls.id, condition, arguments)
        defer { _ = objstore_query_close(query) }
        try ok(objstore_query_count(query, view, &count))
        #expect(count == UInt64(wanted.count), "\(condition)", sourceLocation: sourceLocation)
    }

    @Test func rowsAndColumnsAgreeWithALoop() throws {
        let map = try Map()
        defer { _ = objstore_close(map.store) }
        try ok(define(map.store, "norm", "f64, f64 -> f64", norm))
        try ok(define(map.store, "norms", "f64[], f64[], n -> f64[]", norms))
        try ok(define(map.store, "half", "i64 -> i64?", half))
        try ok(define(map.store, "halves", " n , i64[] -> i64?[] ", halves))
        try ok(define(map.store, "or1", "f64? -> f64", orMinusOne))
        try ok(define(map.store, "or1s", "f64?[], n -> f64[]", allOrMinusOne))
        try ok(define(map.store, "doubled", "str -> str", doubled))
        try ok(define(map.store, "lengths", "str[], n -> i64[]", lengths))
        try ok(define(map.store, "kinds", "bool, f32, time, bin -> bool", mixedKinds))
        func length(_ x: Double, _ y: Double) -> Double { (x * x + y * y).squareRoot() }
        let body: (OpaquePointer) throws -> Void = { view in
            for norm in ["norm", "norms"] {
                try ask(view, map, "\(norm)(x, y) < 40", map.keys { p in p.y.map { length(p.x, $0) < 40 } ?? false })
                try ask(
                    view, map, "NOT \(norm)(x, y) < 40", map.keys { p in p.y.map { length(p.x, $0) >= 40 } ?? true })
                try ask(view, map, "\(norm)(x, y) == NULL", map.keys { $0.y == nil })
                try ask(view, map, "\(norm)(x, y) != 0", map.keys { p in p.y.map { length(p.x, $0) != 0 } ?? true })
                try ask(
                    view, map, "50 >= \(norm)(3, n)", map.keys { $0.n.map { length(3, Double($0)) <= 50 } ?? false })
                try ask(
                    view, map, "\(norm)(x - $0, y + 1) / 2 > n AND rank < 50",
                    map.keys { place in
                        guard let y = place.y, let n = place.n else { return false }
                        let index = place.key
                        return length(place.x - 2, y + 1) / 2 > Double(n) && index % 100 < 50
                    }, [objstore_int(2)])
                try ask(
                    view, map, "\(norm)(\(norm)(x, 1), small) > \(norm)(y, y) AND rank == 7",
                    map.keys { place in
                        place.key % 100 == 7
                            && (place.y.map { length(length(place.x, 1), Double(place.small)) > length($0, $0) }
                                ?? false)
                    })
                // Of a mixed property what is no number is null.
                try ask(view, map, "\(norm)(@self.any, 0) == 3", map.keys { $0.key % 4 == 0 })
                try ask(view, map, "\(norm)(@self.any, 0) == NULL", map.keys { $0.key % 4 > 1 })
                try ask(
                    view, map, "\(norm)(n, 0) IN {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}",
                    map.keys { $0.n.map { abs($0) < 10 } ?? false })
            }
            for half in ["half", "halves"] {
                try ask(view, map, "\(half)(n) == 4", map.keys { $0.n == 8 })
                try ask(view, map, "\(half)(n) == NULL", map.keys { $0.n.map { $0 % 2 != 0 } ?? true })
                try ask(view, map, "\(half)(n + 1) > \(half)(n)", [])
            }
            for name in ["or1", "or1s"] {
                try ask(view, map, "\(name)(y) < 0", map.keys { $0.y == nil })
                try ask(view, map, "\(name)(y) == y", map.keys { $0.y != nil })
            }
            try ask(view, map, "doubled(name) == 'BernBern'", map.keys { $0.name == "Bern" })
            try ask(view, map, "doubled(name) CONTAINS[c] 'mer'", map.keys { $0.name == "Rome" })
            try ask(view, map, "doubled(doubled(name)) ENDSWITH name", map.keys { $0.name != nil })
            try ask(view, map, "lengths(name) == 6", map.keys { $0.name == "Ärnst" })
            try ask(
                view, map, "lengths(doubled(name)) == 12 AND n > 0", map.keys { $0.name == "Ärnst" && $0.n ?? 0 > 0 })
            try ask(view, map, "kinds(good, small, time, raw) == true", map.keys { $0.good && $0.small > 1 })
        }
        try frozen(map.store, body)
        try writing(map.store, body)
    }

    @Test func ordersAndSteps() throws {
        let map = try Map(count: 5000)
        defer { _ = objstore_close(map.store) }
        try ok(define(map.store, "norm", "f64, f64 -> f64", norm))
        try ok(define(map.store, "norms", "f64[], f64[], n -> f64[]", norms))
        try ok(define(map.store, "doubled", "str -> str", doubled))
        func order(_ value: @escaping (Place) -> Double?, _ descending: Bool) -> [Int64] {
            map.all.enumerated().sorted { a, b in
                let (x, y) = (value(a.element) ?? -1, value(b.element) ?? -1)
                return x == y ? a.offset < b.offset : descending ? x > y : x < y
            }.map(\.element.key)
        }
        let length: (Place) -> Double? = { place in place.y.map { (place.x * place.x + $0 * $0).squareRoot() } }
        try frozen(map.store) { view in
            for norm in ["norm", "norms"] {
                try ask(view, map, "SORT(\(norm)(x, y) ASC)", order(length, false))
                try ask(
                    view, map, "SORT(\(norm)(x, y) * -1 ASC) LIMIT(100)",
                    Array(order({ length($0).map { 1e9 - $0 } }, false).prefix(100)))
                try ask(view, map, "SORT(\(norm)(x, y) DESC) LIMIT(10)", Array(order(length, true).prefix(10)))
                let distinct = Dictionary(grouping: map.all, by: { length($0) }).values.map { $0[0].key }.sorted()
                try ask(view, map, "DISTINCT(\(norm)(x, y))", distinct)
            }
            let byName = map.all.enumerated().sorted { a, b in
                guard let x = a.element.name, let y = b.element.name else {
                    return a.element.name == nil && (b.element.name != nil || a.offset < b.offset)
                }
                return x.utf8.elementsEqual(y.utf8) ? a.offset < b.offset : x.utf8.lexicographicallyPrecedes(y.utf8)
            }.map(\.element.key)
            try ask(view, map, "SORT(doubled(name)[c] ASC, x ASC) LIMIT(0)", [])
            try ask(view, map, "SORT(doubled(name) ASC)", byName)
        }
    }

    /// Text, nodes and plan.
    @Test func textsAndPlans() throws {
        let map = try Map(count: 100)
        defer { _ = objstore_close(map.store) }
        try ok(define(map.store, "norm", "f64, f64 -> f64", norm))
        try frozen(map.store) { view in
            let first = try query(view, map.cls.id, "norm( x , -y+1 )<40 SORT(norm(x,1) DESC)")
            var shown = objstore_text()
            try ok(objstore_query_text(first, nil, &shown))
            #expect(string(shown) == "norm(x, -y + 1) < 40 SORT(norm(x, 1) DESC)")
            let again = try query(view, map.cls.id, string(shown)!)
            try ok(objstore_query_text(again, nil, &shown))
            #expect(string(shown) == "norm(x, -y + 1) < 40 SORT(norm(x, 1) DESC)")
            var buffer = objstore_buffer_init()
            defer { _ = objstore_buffer_free(&buffer) }
            try ok(objstore_query_explain(first, view, 0, &buffer, &shown))
            #expect(string(shown)!.contains("scan: computed of x, y by norm\nthen: SORT(norm(x, 1) DESC)"))
            for query in [first, again] { try ok(objstore_query_close(query)) }
            var node = objstore_query_node(), nodes: [objstore_query_node] = []
            node.kind = UInt8(objstore_query_kind.OBJSTORE_QUERY_CONSTANT.rawValue)
            for number in [3.0, 4.0] {
                node.value = objstore_double(number)
                nodes.append(node)
            }
            node.kind = UInt8(objstore_query_kind.OBJSTORE_QUERY_CALL.rawValue)
            node.operands = 2
            node.value = objstore_string(text("norm"))
            nodes.append(node)
            node.kind = UInt8(objstore_query_kind.OBJSTORE_QUERY_CONSTANT.rawValue)
            (node.operands, node.value) = (0, objstore_int(5))
            nodes.append(node)
            node.kind = UInt8(objstore_query_kind.OBJSTORE_QUERY_COMPARE.rawValue)
            (node.operands, node.choice, node.value) = (2, 1, objstore_null())
            nodes.append(node)
            var made: OpaquePointer?, count: UInt64 = 0
            try ok(objstore_query_new(view, map.cls.id, nodes, nodes.count, &made))
            try ok(objstore_query_count(made, view, &count))
            #expect(count == UInt64(map.all.count))
            try ok(objstore_query_close(made))
            nodes[2].value = objstore_null()
            #expect(objstore_query_new(view, map.cls.id, nodes, nodes.count, &made) == .OBJSTORE_ERR_INVALID_QUERY)
            nodes[2].operands = 3
            #expect(objstore_query_new(view, map.cls.id, nodes, nodes.count, &made) == .OBJSTORE_ERR_INVALID_ARGUMENT)
        }
    }

    @Test(arguments: [
        ("nrm(x, y) < 1", "INVALID_QUERY", 0, "there is no function nrm: did you mean norm?"),
        ("NORM(x) < 1", "INVALID_QUERY", 0, "there is no function NORM: did you mean norm?"),
        ("x > 1 AND norm(x) < 1", "INVALID_QUERY", 10, "function norm takes 2 arguments (f64, f64), and 1 is given"),
        ("norm() < 1", "INVALID_QUERY", 0, "and none are given"),
        ("norm(x, name) < 1", "WRONG_TYPE", 8, "argument 2 of norm, name, is a string: f64 is expected"),
        ("norm(x, '1') < 1", "WRONG_TYPE", 8, "argument 2 of norm, \"1\", is a string: f64 is expected"),
        ("norm(x, {1}) < 1", "INVALID_QUERY", 8, "one value is expected"),
        ("norm(x, @self) < 1", "WRONG_TYPE", 8, "is a link"),
        ("half(1.5) < 1", "WRONG_TYPE", 5, "is a double: i64 is expected"),
        ("norm(x, y) < 'a'", "WRONG_TYPE", 11, "norm(x, y) is a double, and is compared with \"a\""),
        ("norm(x, y < 1) < 1", "INVALID_QUERY", 13, "a condition is no argument"),
        ("norm(x, y", "INVALID_QUERY", 9, "\",\" or \")\" of the arguments was expected"),
        ("norm(x,, y) < 1", "INVALID_QUERY", 7, "a value was expected"),
        ("norm(x, y)", "INVALID_QUERY", 10, "an operator"),
        ("norm(x, (y, 1)) < 1", "INVALID_QUERY", 10, "\")\""),
        ("ANY norm(x, y) < 1", "INVALID_QUERY", 8, ""),
        ("norm(ANY x, y) < 1", "INVALID_QUERY", 5, "is no collection"),
        ("SORT(norm(x ASC)", "INVALID_QUERY", 12, ""),
        ("SORT(norm(x, y) == 1 ASC)", "INVALID_QUERY", 21, "a condition is nothing to sort by"),
    ])
    func refusals(_ condition: String, _ status: String, _ position: Int, _ message: String) throws {
        let map = try Map(count: 1)
        defer { _ = objstore_close(map.store) }
        try ok(define(map.store, "norm", "f64, f64 -> f64", norm))
        try ok(define(map.store, "half", "i64 -> i64?", half))
        try frozen(map.store) { view in
            var made: OpaquePointer?
            let found = objstore_query_parse(view, map.cls.id, text(condition), nil, 0, &made)
            #expect(String(cString: objstore_status_name(found)) == "OBJSTORE_ERR_" + status)
            let error = try lastError(), said = string(error.message) ?? ""
            #expect(
                error.position == Int64(position) && (message.isEmpty || said.contains(message)),
                "\(error.position) \(said)")
        }
    }

    @Test(arguments: [
        ("f64, f65 -> f64", 5), ("f64 - f64", 5), ("f64", 3), ("", 0), ("-> ", 3), ("f64 -> f64 f64", 11),
        ("f64[], n -> f64", 0), ("f64 -> f64[]", 0), ("f64[] -> f64[]", 6), ("f64[], n, n -> f64[]", 10),
        ("f64, n -> f64", 5), ("f64[ -> f64[]", 5), ("f64[], n -> str[]", 12), ("key -> f64", 0), ("f64 -> status", 7),
        ("f64?? -> f64", 4), ("f64 -> n", 7), (String(repeating: "i64, ", count: 64) + "i64 -> i64", 320),
    ])
    func signatures(_ signature: String, _ position: Int) throws {
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        let freed = Counter()
        #expect(
            define(store, "f", signature, norm, freed.pointer, Counter.free) == .OBJSTORE_ERR_INVALID_SIGNATURE)
        let error = try lastError()
        #expect(error.position == Int64(position), "\(string(error.message) ?? "")")
        #expect(freed.count == 1)
    }

    @Test func names() throws {
        let store = try openStore(nil, [dogs])
        defer { _ = objstore_close(store) }
        for name in [
            "", "9a", "a b", "a-b", "é", "sort", "Sort", "LIKE", "not", "Not", "oid", "B64", "$f", "a.b",
            String(repeating: "a", count: 256),
        ] {
            #expect(define(store, name, "f64 -> f64", norm) == .OBJSTORE_ERR_INVALID_ARGUMENT, "\(name)")
        }
        for name in ["a", "_", "T12", "sorted", "f9_", String(repeating: "a", count: 255)] {
            try ok(define(store, name, "f64, f64 -> f64", norm))
            try ok(objstore_undefine_function(store, text(name)))
            #expect(objstore_undefine_function(store, text(name)) == .OBJSTORE_ERR_NOT_FOUND)
        }
    }

    /// What is called, and how often it was freed.
    private final class Counter: @unchecked Sendable {
        let calls = Atomic<Int>(0), freed = Atomic<Int>(0)
        var pointer: Raw { Unmanaged.passUnretained(self).toOpaque() }
        var count: Int { freed.load(ordering: .sequentiallyConsistent) }
        /// Before a call returns.
        var body: (() -> objstore_status)?
        static let free: objstore_free_userdata = { of($0).freed.add(1, ordering: .sequentiallyConsistent) }
        static func of(_ pointer: Raw) -> Counter { Unmanaged<Counter>.fromOpaque(pointer!).takeUnretainedValue() }
        /// "f64 -> f64": the same.
        static let same: @convention(c) (Double, UnsafeMutablePointer<Double>?, Raw) -> objstore_status = {
            let counter = of($2)
            counter.calls.add(1, ordering: .sequentiallyConsistent)
            $1!.pointee = $0
            return counter.body?() ?? .OBJSTORE_OK
        }
    }

    @Test func queriesKeepWhatTheyWereMadeWith() throws {
        let map = try Map(count: 50)
        let first = Counter(), second = Counter(), third = Counter()
        try ok(define(map.store, "same", "f64 -> f64", Counter.same, first.pointer, Counter.free))
        var view: OpaquePointer?, count: UInt64 = 0
        try ok(objstore_view_open(map.store, &view))
        let old = try query(view!, map.cls.id, "same(x) >= 0")
        try ok(define(map.store, "same", "f64 -> f64", Counter.same, second.pointer, Counter.free))
        let new = try query(view!, map.cls.id, "same(x) >= 0")
        try ok(objstore_undefine_function(map.store, text("same")))
        #expect(first.count == 0 && second.count == 0)
        for (query, counter) in [(old, first), (new, second)] {
            try ok(objstore_query_count(query, view, &count))
            #expect(count == UInt64(map.all.count) && counter.calls.load(ordering: .relaxed) == map.all.count)
        }
        var made: OpaquePointer?
        #expect(
            objstore_query_parse(view, map.cls.id, text("same(x) > 0"), nil, 0, &made) == .OBJSTORE_ERR_INVALID_QUERY)
        try ok(objstore_query_close(old))
        #expect(first.count == 1)
        try ok(define(map.store, "same", "f64 -> f64", Counter.same, third.pointer, Counter.free))
        // The query, the view and the function go with the store.
        try ok(objstore_close(map.store))
        #expect(first.count == 1 && second.count == 1 && third.count == 1)
    }

    @Test func failures() throws {
        let map = try Map(count: 5000)
        defer { _ = objstore_close(map.store) }
        let counter = Counter()
        try ok(define(map.store, "same", "f64 -> f64", Counter.same, counter.pointer))
        func failed(_ condition: String, _ wanted: objstore_status = .OBJSTORE_ERR_CALLBACK) throws -> objstore_error {
            try frozen(map.store) { view in
                let query = try query(view, map.cls.id, condition)
                defer { _ = objstore_query_close(query) }
                var count: UInt64 = 0, results: OpaquePointer?, value = objstore_value(), object = objstore_object()
                #expect(objstore_query_find(query, view, &results) == wanted && results == nil)
                #expect(objstore_query_first(query, view, &object, nil) == wanted)
                #expect(
                    objstore_query_aggregate(query, view, map.cls["x"], .OBJSTORE_AGGREGATE_SUM, &value) == wanted)
                #expect(objstore_query_count(query, view, &count) == wanted)
                return try lastError()
            }
        }
        counter.body = { objstore_fail(77, text("no such place")) }
        for condition in ["same(x) > 1", "rank < 3 AND same(x) > 1", "DISTINCT(same(x))"] {
            let error = try failed(condition)
            #expect(string(error.message) == "function same: no such place" && error.callback_code == 77)
        }
        counter.body = { objstore_status(rawValue: 10_005)! }
        let error = try failed("same(x) > 1")
        #expect(string(error.message) == "function same: it returned 10005" && error.callback_code == 10_005)
        let isLeft: @convention(c) (Double, UnsafeMutablePointer<Double>?, Raw) -> objstore_status = { _, _, _ in
            .OBJSTORE_OK
        }
        try ok(define(map.store, "left", "f64 -> f64", isLeft, nil, objstore_must_finish))
        #expect(string(try failed("left(x) > 1").message)!.hasPrefix("function left: a callback was left"))
        let badText: @convention(c) (UnsafeMutablePointer<objstore_text>?, Raw) -> objstore_status = {
            $0!.pointee = objstore_text_of(unsafeBitCast($1, to: UnsafePointer<CChar>.self), 1)
            return .OBJSTORE_OK
        }
        let byte = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
        byte.pointee = 0xff
        defer { byte.deallocate() }
        try ok(define(map.store, "bad", "-> str", badText, Raw(byte)))
        #expect(string(try failed("bad() == 'a'", .OBJSTORE_ERR_INVALID_UTF8).message)!.hasPrefix("function bad: "))
        let badTime: @convention(c) (UnsafeMutablePointer<objstore_timestamp>?, Raw) -> objstore_status = { time, _ in
            time!.pointee.nanoseconds = -1
            return .OBJSTORE_OK
        }
        try ok(define(map.store, "bad", "-> time", badTime))
        #expect(string(try failed("bad() == time", .OBJSTORE_ERR_OUT_OF_RANGE).message)!.hasPrefix("function bad: "))
    }

    /// What a function may do with the store that it is called for.
    @Test(arguments: ["live", "frozen", "transaction"])
    func storeInsideOfACall(_ kind: String) throws {
        let map = try Map(count: 5000)
        defer { _ = objstore_close(map.store) }
        try ok(define(map.store, "norm", "f64, f64 -> f64", norm))
        var view: OpaquePointer?
        if kind == "transaction" {
            try ok(objstore_begin(map.store, &view))
        } else {
            try ok(objstore_view_open(map.store, &view))
            if kind == "frozen" {
                let live = view
                try ok(objstore_view_freeze(live, &view))
                try ok(objstore_view_close(live))
            }
        }
        let counter = Counter(), refusals = Atomic<Int>(0), asked = view
        let object = try map.object(map.all[3]), x = map.cls["x"], cls = map.cls.id
        counter.body = {
            var value = objstore_value(), count: UInt64 = 0, query: OpaquePointer?
            guard objstore_get(asked, object, x, nil, &value) == .OBJSTORE_OK, value.data.real == map.all[3].x,
                objstore_query_parse(asked, cls, text("norm(x, y) < 20"), nil, 0, &query) == .OBJSTORE_OK,
                objstore_query_count(query, asked, &count) == .OBJSTORE_OK, count > 0,
                objstore_query_close(query) == .OBJSTORE_OK
            else { return .OBJSTORE_ERR_INTERNAL }
            let inWrite: [objstore_status] =
                kind == "transaction"
                ? [
                    objstore_set(asked, object, x, objstore_double(1)), objstore_delete(asked, object),
                    objstore_commit(asked, nil), objstore_cancel(asked),
                ] : [objstore_view_close(asked), objstore_close(map.store)]
            if inWrite.allSatisfy({ $0 == .OBJSTORE_ERR_IN_CALLBACK }) {
                refusals.add(1, ordering: .relaxed)
            }
            return .OBJSTORE_OK
        }
        try ok(define(map.store, "same", "f64 -> f64", Counter.same, counter.pointer))
        let condition = "same(x) >= 0 AND rank == 3", wanted = map.keys { $0.key % 100 == 3 }
        #expect(try found(view!, cls, condition) == wanted)
        #expect(refusals.load(ordering: .relaxed) == counter.calls.load(ordering: .relaxed))
        #expect(refusals.load(ordering: .relaxed) >= wanted.count)
        if kind == "transaction" {
            try ok(objstore_set(view, object, x, objstore_double(1)))
            try ok(objstore_commit(view, nil))
        } else {
            // Another version, while a live view is asked.
            let written = Atomic<Int>(0)
            counter.body = {
                guard written.exchange(1, ordering: .relaxed) == 0 else { return .OBJSTORE_OK }
                var tx: OpaquePointer?
                guard objstore_begin(map.store, &tx) == .OBJSTORE_OK,
                    objstore_delete_all(tx, cls, nil) == .OBJSTORE_OK, objstore_commit(tx, nil) == .OBJSTORE_OK
                else { return .OBJSTORE_ERR_INTERNAL }
                return kind == "live" ? objstore_view_refresh(asked, nil) : .OBJSTORE_OK
            }
            let asking = try query(view!, cls, condition), late = try query(view!, cls, condition)
            var results: OpaquePointer?, count: UInt64 = 0
            try ok(objstore_query_find(asking, view, &results))
            try ok(objstore_results_count(results, &count))
            #expect(count == UInt64(wanted.count))
            try ok(objstore_query_count(late, view, &count))
            #expect(count == UInt64(kind == "live" ? 0 : wanted.count))
            for made in [asking, late] { try ok(objstore_query_close(made)) }
            try ok(objstore_view_close(view))
        }
    }

    /// The key of sections calls a function, which may read, and cannot close the view.
    @Test func keysOfSections() throws {
        let map = try Map(count: 3000)
        defer { _ = objstore_close(map.store) }
        final class Closer {
            var view: OpaquePointer?
            var refused = 0, calls = 0
        }
        let closer = Closer()
        let tens: @convention(c) (Int64, UnsafeMutablePointer<Int64>?, Raw) -> objstore_status = {
            n, result, userdata in
            let closer = Unmanaged<Closer>.fromOpaque(userdata!).takeUnretainedValue()
            closer.calls += 1
            if objstore_view_close(closer.view) == .OBJSTORE_ERR_IN_CALLBACK { closer.refused += 1 }
            result!.pointee = n / 10
            return .OBJSTORE_OK
        }
        try ok(define(map.store, "tens", "i64 -> i64", tens, Unmanaged.passUnretained(closer).toOpaque()))
        for isWrite in [false, true] {
            let body: (OpaquePointer) throws -> Void = { view in
                let query = try query(view, map.cls.id, "n != NULL")
                defer { _ = objstore_query_close(query) }
                var results: OpaquePointer?, sections: OpaquePointer?, count: UInt64 = 0
                try ok(objstore_query_find(query, view, &results))
                (closer.view, closer.calls, closer.refused) = (view, 0, 0)
                let ascending = UInt32(OBJSTORE_SECTIONS_ASCENDING)
                try ok(objstore_sections_parse(results, text("tens(n)"), nil, 0, ascending, &sections))
                let groups = Dictionary(grouping: map.all.compactMap(\.n), by: { $0 / 10 })
                let keys = groups.keys.sorted()
                try ok(objstore_sections_count(sections, &count))
                #expect(count == UInt64(keys.count) && closer.calls == map.all.filter { $0.n != nil }.count)
                #expect(closer.refused == closer.calls)
                for (index, key) in keys.enumerated() {
                    var section = objstore_section()
                    try ok(objstore_sections_at(sections, UInt64(index), nil, &section))
                    #expect(section.key.data.integer == key && section.count == UInt64(groups[key]!.count))
                }
                var changed = true
                try ok(objstore_sections_update(sections, &changed))
                #expect(!changed)
                try ok(objstore_sections_close(sections))
                try ok(objstore_results_close(results))
            }
            if isWrite { try writing(map.store, body) } else { try frozen(map.store, body) }
        }
    }

    @Test func endlessCallsEnd() throws {
        let map = try Map(count: 10)
        defer { _ = objstore_close(map.store) }
        let counter = Counter()
        try ok(define(map.store, "same", "f64 -> f64", Counter.same, counter.pointer))
        try frozen(map.store) { view in
            let query = try query(view, map.cls.id, "same(x) >= 0")
            defer { _ = objstore_query_close(query) }
            counter.body = {
                var count: UInt64 = 0
                return objstore_query_count(query, view, &count)
            }
            var count: UInt64 = 0
            #expect(objstore_query_count(query, view, &count) == .OBJSTORE_ERR_CALLBACK)
        }
    }

    @Test func manyThreads() throws {
        let map = try Map()
        defer { _ = objstore_close(map.store) }
        try ok(define(map.store, "norm", "f64, f64 -> f64", norm))
        try ok(define(map.store, "norms", "f64[], f64[], n -> f64[]", norms))
        let wanted = UInt64(map.keys { p in p.y.map { p.x * p.x + $0 * $0 < 900 } ?? false }.count)
        let right = Atomic<Int>(0)
        try frozen(map.store) { view in
            let queries = try ["norm", "norms"].map { try query(view, map.cls.id, "\($0)(x, y) < 30") }
            nonisolated(unsafe) let shared = (view, queries, map.store)
            DispatchQueue.concurrentPerform(iterations: 16) { index in
                var count: UInt64 = 0
                if index % 4 == 0 {
                    // Others that are made meanwhile change nothing.
                    _ = define(shared.2, "norm", "f64, f64 -> f64", norm)
                }
                if objstore_query_count(shared.1[index % 2], shared.0, &count) == .OBJSTORE_OK, count == wanted {
                    right.add(1, ordering: .relaxed)
                }
            }
            for query in queries { try ok(objstore_query_close(query)) }
        }
        #expect(right.load(ordering: .relaxed) == 16)
    }

    @Test func changesByQueriesAndObserving() throws {
        let map = try Map(count: 300)
        defer { _ = objstore_close(map.store) }
        try ok(define(map.store, "norm", "f64, f64 -> f64", norm))
        var view: OpaquePointer?, token: OpaquePointer?
        try ok(objstore_view_open(map.store, &view))
        let query = try query(view!, map.cls.id, "norm(x, y) < 60")
        // Every deletion that it is told of counts.
        let handler: objstore_change_handler = { changes, userdata in
            var info = objstore_changes_info_init()
            if objstore_changes_get_info(changes, &info) != .OBJSTORE_OK { return .OBJSTORE_ERR_INTERNAL }
            userdata!.assumingMemoryBound(to: UInt64.self).pointee += info.deletion_count
            return .OBJSTORE_OK
        }
        let gone = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        gone.initialize(to: 0)
        defer { gone.deallocate() }
        try ok(objstore_query_observe(query, map.store, 0, handler, gone, nil, &token))
        let wanted = map.keys { p in p.y.map { p.x * p.x + $0 * $0 < 3600 } ?? false }
        try writing(map.store) { tx in
            var count: UInt64 = 0
            try ok(objstore_query_set(query, tx, [map.cls["x"]], [objstore_double(1000)], 1, &count))
            #expect(count == UInt64(wanted.count) && count > 0)
            try ok(objstore_query_count(query, tx, &count))
            #expect(count == 0)
        }
        try ok(objstore_deliver(map.store, nil))
        #expect(gone.pointee == UInt64(wanted.count))
        try ok(objstore_token_close(token))
        var results: OpaquePointer?, changed = false, count: UInt64 = 0
        try ok(objstore_query_find(query, view, &results))
        try ok(objstore_results_count(results, &count))
        #expect(count == UInt64(wanted.count))
        try ok(objstore_view_refresh(view, &changed))
        try ok(objstore_results_update(results, &changed))
        try ok(objstore_results_count(results, &count))
        #expect(changed && count == 0)
        try ok(objstore_results_close(results))
        try ok(objstore_query_close(query))
        try ok(objstore_view_close(view))
    }

    /// What functions gave is kept: one commit that changes one object calls them once.
    @Test func observersCallThemForWhatWasWritten() throws {
        let map = try Map(count: 300)
        defer { _ = objstore_close(map.store) }
        let calls = UnsafeMutablePointer<Int>.allocate(capacity: 2)
        calls.initialize(repeating: 0, count: 2)
        defer { calls.deallocate() }
        let counted: @convention(c) (Double, UnsafeMutablePointer<Double>?, Raw) -> objstore_status = {
            x, result, calls in
            calls!.assumingMemoryBound(to: Int.self).pointee += 1
            result!.pointee = x * 2
            return .OBJSTORE_OK
        }
        try ok(define(map.store, "twice", "f64 -> f64", counted, calls))
        var view: OpaquePointer?
        try ok(objstore_view_open(map.store, &view))
        for condition in ["twice(x) < 60", "twice(x) < 60 SORT(rank ASC) LIMIT(20)"] {
            let query = try query(view!, map.cls.id, condition)
            let handler: objstore_change_handler = { _, told in
                told!.assumingMemoryBound(to: Int.self).pointee += 1
                return .OBJSTORE_OK
            }
            var token: OpaquePointer?
            try ok(objstore_query_observe(query, map.store, 0, handler, calls + 1, nil, &token))
            func set(_ place: Int, _ x: Double) throws {
                try writing(map.store) { tx in
                    try ok(objstore_set(tx, try map.object(map.all[place]), map.cls["x"], objstore_double(x)))
                }
                try ok(objstore_deliver(map.store, nil))
            }
            try set(0, 1)
            (calls[0], calls[1]) = (0, 0)
            for place in 1...20 { try set(place, place % 2 == 0 ? 1 : 1000) }
            #expect(calls[0] == 20 && calls[1] > 5, "\(condition): \(calls[0]), \(calls[1])")
            try ok(objstore_token_close(token))
            try ok(objstore_query_close(query))
        }
        try ok(objstore_view_close(view))
    }
}
