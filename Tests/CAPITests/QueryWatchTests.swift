import CObjStore
import Foundation
import Synchronization
import Testing

private typealias Map = FunctionModel.Map

/// What the callback does, and was told; any thread.
private final class Watcher: @unchecked Sendable {
    var told: [(done: UInt64, total: UInt64)] = []
    var status = objstore_status.OBJSTORE_OK
    /// Said when it is called so often.
    var last = Int.max
    var inside: () -> Void = {}
    static let freed = Atomic<Int>(0)

    static let progress: objstore_progress = { done, total, userdata in
        let watcher = Unmanaged<Watcher>.fromOpaque(userdata!).takeUnretainedValue()
        watcher.told.append((done, total))
        watcher.inside()
        return watcher.told.count >= watcher.last ? watcher.status : .OBJSTORE_OK
    }

    func watch(_ store: OpaquePointer, every interval: Int64 = 0) -> objstore_status {
        objstore_watch_queries(
            store, interval, Watcher.progress, Unmanaged.passRetained(self).toOpaque(),
            { userdata in
                Unmanaged<Watcher>.fromOpaque(userdata!).release()
                Watcher.freed.add(1, ordering: .relaxed)
            })
    }
}

/// Queries that say how far they have come, and are ended.
@Suite(.serialized) struct QueryWatchTests {
    private func count(_ view: OpaquePointer, _ map: Map, _ condition: String) -> (objstore_status, UInt64) {
        guard let query = try? query(view, map.cls.id, condition) else { return (.OBJSTORE_ERR_INVALID_QUERY, 0) }
        defer { _ = objstore_query_close(query) }
        var count: UInt64 = 0
        return (objstore_query_count(query, view, &count), count)
    }

    @Test func toldAndEnded() throws {
        let map = try Map()
        defer { _ = objstore_close(map.store) }
        let wanted = UInt64(map.keys { $0.x < 50 && $0.good }.count), condition = "x < 50 AND good == true"
        try frozen(map.store) { view in
            let all = Watcher()
            try ok(all.watch(map.store))
            #expect(count(view, map, condition) == (.OBJSTORE_OK, wanted))
            #expect(all.told.count >= 3 && all.told.allSatisfy { $0.total == UInt64(map.all.count) })
            #expect(all.told.last?.done == UInt64(map.all.count))

            let some = Watcher()
            (some.status, some.last) = (objstore_status(rawValue: 12_345)!, 2)
            try ok(some.watch(map.store))
            #expect(count(view, map, condition).0 == .OBJSTORE_ERR_CANCELLED)
            #expect(some.told.count == 2)
            var error = objstore_error_init()
            try ok(objstore_last_error(&error))
            #expect(error.callback_code == 12_345)
            #expect(String(cString: objstore_last_message()).contains("progress"))

            try ok(objstore_watch_queries(map.store, 0, nil, nil, nil))
            #expect(count(view, map, condition) == (.OBJSTORE_OK, wanted))
        }
        try writing(map.store) { tx in
            let watcher = Watcher()
            (watcher.status, watcher.last) = (.OBJSTORE_ERR_CANCELLED, 1)
            try ok(watcher.watch(map.store))
            #expect(count(tx, map, condition).0 == .OBJSTORE_ERR_CANCELLED)
            let query = try query(tx, map.cls.id, condition)
            defer { _ = objstore_query_close(query) }
            var deleted: UInt64 = 9
            #expect(objstore_query_delete(query, tx, &deleted) == .OBJSTORE_ERR_CANCELLED)
            try ok(objstore_watch_queries(map.store, 0, nil, nil, nil))
            #expect(count(tx, map, condition) == (.OBJSTORE_OK, wanted))
            try ok(objstore_query_delete(query, tx, &deleted))
            #expect(deleted == wanted)
        }
        try verify(map.store)
    }

    /// Behind all that is read: it is told again, and ends there with nothing held.
    @Test func endedInsideTheSorting() throws {
        let map = try Map(count: 20_000)
        defer { _ = objstore_close(map.store) }
        try frozen(map.store) { view in
            let query = try query(view, map.cls.id, "SORT(x DESC, rank ASC)")
            defer { _ = objstore_query_close(query) }
            var results: OpaquePointer?
            let all = Watcher()
            try ok(all.watch(map.store))
            try ok(objstore_query_find(query, view, &results))
            try ok(objstore_results_close(results))
            let leaves = (map.all.count + 4095) / 4096
            let first = try #require(all.told.firstIndex { $0.done == UInt64(map.all.count) }),
                read = first + 1 + 2 * leaves
            try #require(all.told.count > read + 1)
            for last in [read + 1, all.told.count] {
                let some = Watcher()
                (some.status, some.last) = (.OBJSTORE_ERR_CANCELLED, last)
                try ok(some.watch(map.store))
                #expect(objstore_query_find(query, view, &results) == .OBJSTORE_ERR_CANCELLED)
                #expect(some.told.count == last && some.told.last?.done == UInt64(map.all.count))
            }
        }
    }

    @Test func notBeforeItsTime() throws {
        let map = try Map()
        defer { _ = objstore_close(map.store) }
        try frozen(map.store) { view in
            for interval in [Int64(60_000), .max] {
                let watcher = Watcher()
                try ok(watcher.watch(map.store, every: interval))
                #expect(count(view, map, "x < 50").0 == .OBJSTORE_OK)
                #expect(watcher.told.isEmpty)
            }
            let watcher = Watcher()
            #expect(watcher.watch(map.store, every: -1) == .OBJSTORE_ERR_OUT_OF_RANGE)
        }
    }

    @Test func mustNotCallTheLibrary() throws {
        let map = try Map()
        let watcher = Watcher()
        nonisolated(unsafe) var statuses: [objstore_status] = []
        let closed: UnsafeMutablePointer<OpaquePointer?> = .allocate(capacity: 1)
        defer { closed.deallocate() }
        try ok(watcher.watch(map.store))
        try frozen(map.store) { view in
            watcher.inside = {
                statuses.append(objstore_view_open(map.store, closed))
                statuses.append(objstore_close(map.store))
                statuses.append(objstore_view_close(view))
                statuses.append(objstore_watch_queries(map.store, 0, nil, nil, nil))
            }
            #expect(count(view, map, "x < 50").0 == .OBJSTORE_OK)
            watcher.inside = {}
            #expect(statuses.count >= 4 && statuses.allSatisfy { $0 == .OBJSTORE_ERR_IN_CALLBACK })
        }
        try ok(objstore_close(map.store))
    }

    /// Freed once each: when it is replaced, refused, or its store is closed.
    @Test func freed() throws {
        let map = try Map(count: 10)
        let before = Watcher.freed.load(ordering: .relaxed)
        func freed() -> Int { Watcher.freed.load(ordering: .relaxed) - before }
        try ok(Watcher().watch(map.store))
        #expect(freed() == 0)
        try ok(Watcher().watch(map.store))
        #expect(freed() == 1)
        #expect(Watcher().watch(map.store, every: -5) == .OBJSTORE_ERR_OUT_OF_RANGE)
        #expect(freed() == 2)
        try ok(objstore_watch_queries(map.store, 0, nil, nil, nil))
        #expect(freed() == 3)
        try ok(Watcher().watch(map.store))
        try ok(objstore_close(map.store))
        #expect(freed() == 4)
        #expect(Watcher().watch(map.store) == .OBJSTORE_ERR_CLOSED_HANDLE)
        #expect(freed() == 5)
    }

    /// One is replaced while others ask: each call is told to one that is alive.
    @Test func replacedWhileOthersAsk() throws {
        let map = try Map()
        defer { _ = objstore_close(map.store) }
        let wanted = UInt64(map.keys { $0.x < 50 && $0.good }.count)
        try frozen(map.store) { view in
            nonisolated(unsafe) let (view, store, cls) = (view, map.store, map.cls.id)
            let right = Atomic<Int>(0)
            final class Told: Sendable { let count = Atomic<Int>(0) }
            DispatchQueue.concurrentPerform(iterations: 4) { index in
                for _ in 0..<50 {
                    if index == 0 {
                        _ = objstore_watch_queries(
                            store, 0,
                            { _, _, userdata in
                                Unmanaged<Told>.fromOpaque(userdata!).takeUnretainedValue().count.add(
                                    1, ordering: .relaxed)
                                return .OBJSTORE_OK
                            }, Unmanaged.passRetained(Told()).toOpaque(),
                            { Unmanaged<Told>.fromOpaque($0!).release() })
                        continue
                    }
                    guard let query = try? query(view, cls, "x < 50 AND good == true") else { continue }
                    var count: UInt64 = 0
                    if objstore_query_count(query, view, &count) == .OBJSTORE_OK, count == wanted {
                        right.add(1, ordering: .relaxed)
                    }
                    _ = objstore_query_close(query)
                }
            }
            #expect(right.load(ordering: .relaxed) == 150)
        }
    }

    /// What a function of a query asks is a query of its own, told as such.
    @Test func queriesInFunctions() throws {
        let map = try Map(count: 5000)
        defer { _ = objstore_close(map.store) }
        final class Asker {
            var ask: () -> Void = {}
        }
        let asker = Asker(), watcher = Watcher()
        let same: @convention(c) (Double, UnsafeMutablePointer<Double>?, UnsafeMutableRawPointer?) -> objstore_status =
            {
                x, result, userdata in
                Unmanaged<Asker>.fromOpaque(userdata!).takeUnretainedValue().ask()
                result!.pointee = x
                return .OBJSTORE_OK
            }
        try ok(
            FunctionModel.define(
                map.store, "same", "f64 -> f64", same, Unmanaged.passUnretained(asker).toOpaque()))
        try frozen(map.store) { view in
            try ok(watcher.watch(map.store))
            var asked = 0
            asker.ask = {
                asked += 1
                if asked == 2 { expect(count(view, map, "x < 50").0 == .OBJSTORE_OK) }
            }
            #expect(count(view, map, "same(x) < 50") == (.OBJSTORE_OK, UInt64(map.keys { $0.x < 50 }.count)))
            #expect(asked >= map.all.count)
            // Leaf by leaf: the inner one begins anew, and then the outer one goes on.
            let dones = watcher.told.map(\.done)
            #expect(dones.count == 4 && dones[0] == dones[1] && dones[2] == dones[3])
            #expect(dones[0] < dones[2] && dones[3] == UInt64(map.all.count))
        }
    }
    /// A limit of the handle: what needs more is refused, and nothing has happened.
    @Test func bytesOfAQuery() throws {
        for (limit, isEnough) in [(Int64(20_000), false), (4 << 20, true), (.max, true)] {
            let store = try openStore(nil, [FunctionModel.places]) {
                try ok(objstore_config_set_limit($0, .OBJSTORE_LIMIT_QUERY_BYTES, limit))
            }
            defer { _ = objstore_close(store) }
            let cls = try ClassOf(store, FunctionModel.places)
            try writing(store) { tx in
                for index in 0..<9000 {
                    try cls.create(
                        tx,
                        [
                            "x": objstore_double(Double(index * 37 % 1009)), "rank": objstore_int(Int64(index % 100)),
                            "small": objstore_float(0), "good": objstore_bool(false),
                            "time": FunctionModel.objstore_time(0, 0), "raw": objstore_binary("", 0),
                        ])
                }
            }
            try frozen(store) { view in
                let sorted = try query(view, cls.id, "SORT(x DESC)"), few = try query(view, cls.id, "rank == 7")
                defer { for query in [sorted, few] { _ = objstore_query_close(query) } }
                var results: OpaquePointer?, count: UInt64 = 0
                let status = objstore_query_find(sorted, view, &results)
                #expect(status == (isEnough ? .OBJSTORE_OK : .OBJSTORE_ERR_OUT_OF_MEMORY))
                if isEnough {
                    try ok(objstore_results_count(results, &count))
                    #expect(count == 9000)
                    try ok(objstore_results_close(results))
                } else {
                    #expect(String(cString: objstore_last_message()).contains("OBJSTORE_LIMIT_QUERY_BYTES"))
                }
                try ok(objstore_query_count(few, view, &count))
                #expect(count == 90)
                try ok(objstore_query_count(sorted, view, &count))
                #expect(count == 9000)
            }
        }
    }
}
