import ObjStore
import Synchronization
import Testing

class WatchedRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var number = 0
    @Persisted var name = ""
}

/// Queries that say how far they have come, and are ended.
@Suite struct QueryWatchTests {
    private let store: Store
    private static let count = 20_000

    init() throws {
        store = try memoryStore([WatchedRow.self])
        try store.write { tx in
            for id in 0..<Self.count {
                _ = try tx.create(WatchedRow.self, value: ["id": id, "number": id % 1000, "name": "row \(id % 321)"])
            }
        }
    }

    private struct Stopped: Error, Equatable { var done: Int }

    @Test func toldAndEnded() throws {
        let rows = store.objects(WatchedRow.self), told = Mutex<[Int]>([])
        try store.watchQueries(every: .zero) { done, total in
            #expect(total == Self.count)
            told.withLock { $0.append(done) }
        }
        #expect(try rows.where { $0.name.contains("7") && $0.number < 500 }.validate().count > 0)
        #expect(told.withLock { $0 }.last ?? 0 >= Self.count)

        try store.watchQueries(every: .zero) { done, _ in throw Stopped(done: done) }
        let error = #expect(throws: ObjStoreError.self) { try rows.where { $0.name.contains("7") }.validate() }
        #expect(error?.code == .cancelled && (error?.cause as? Stopped)?.done ?? 0 > 0)
        #expect(throws: ObjStoreError.self) { try rows.sorted(by: \.name).explain(running: true) }
        #expect(throws: ObjStoreError.self) { try rows.filter("name CONTAINS '7' SORT(number ASC)").validate() }

        try store.watchQueries(every: .seconds(60)) { done, _ in throw Stopped(done: done) }
        #expect(try rows.where { $0.number == 7 }.validate().count == Self.count / 1000)
        try store.watchQueries(every: .zero, nil)
        #expect(try rows.where { $0.number == 8 }.validate().count == Self.count / 1000)
        #expect(throws: ObjStoreError.self) { try store.watchQueries(every: .seconds(-1), nil) }
    }

    /// Behind all that is read: it is told again, and ends there.
    @Test func endedInsideTheSorting() throws {
        let rows = store.objects(WatchedRow.self), told = Mutex<[Int]>([])
        let sorted = rows.sorted(by: \.id, ascending: false)
        try store.watchQueries(every: .zero) { done, _ in told.withLock { $0.append(done) } }
        #expect(try sorted.explain(running: true).contains("\(Self.count) objects"))
        let all = told.withLock { $0 }, leaves = (Self.count + 4095) / 4096
        let read = try #require(all.firstIndex(of: Self.count)) + 1 + leaves
        try #require(all.count > read + 1)
        for last in [read + 1, all.count] {
            let left = Mutex(last)
            try store.watchQueries(every: .zero) { done, _ in
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast { throw Stopped(done: done) }
            }
            let error = #expect(throws: ObjStoreError.self) { try sorted.explain(running: true) }
            #expect((error?.cause as? Stopped)?.done == Self.count && left.withLock { $0 } == 0)
        }
    }

    @Test func inAWrite() throws {
        try store.watchQueries(every: .zero) { done, _ in throw Stopped(done: done) }
        try store.write { tx in
            let rows = store.objects(WatchedRow.self)
            #expect(throws: ObjStoreError.self) { try rows.where { $0.name.contains("7") }.validate() }
            try tx.create(WatchedRow.self, value: ["id": -1])
            try store.watchQueries(every: .zero, nil)
            let count = try rows.validate().count
            #expect(count == Self.count + 1)
        }
    }

    /// It may read, also with the view that is asked; the query sees what it saw.
    @Test func readsTheStore() throws {
        let rows = store.objects(WatchedRow.self), read = Atomic<Int>(0)
        try store.watchQueries(every: .zero) { [unowned store] _, _ in
            guard try store.object(ofType: WatchedRow.self, forPrimaryKey: 7)?.name == "row 7" else { return }
            read.add(1, ordering: .relaxed)
        }
        #expect(try rows.where { $0.number == 7 }.validate().count == Self.count / 1000)
        let outside = read.load(ordering: .relaxed)
        #expect(outside > 0)
        try store.write { _ in
            let found = try rows.where { $0.number == 8 }.validate().count
            #expect(found == Self.count / 1000)
        }
        #expect(read.load(ordering: .relaxed) > outside)
        try store.watchQueries(every: .zero, nil)
    }

    /// What it asks itself is not watched, or it would be told of that.
    @Test func asksInside() throws {
        let rows = store.objects(WatchedRow.self), told = Mutex(0), found = Mutex<Set<Int>>([])
        try store.watchQueries(every: .zero) { [unowned store] _, _ in
            told.withLock { $0 += 1 }
            let count = try store.objects(WatchedRow.self).where { $0.name.contains("7") }.validate().count
            found.withLock { _ = $0.insert(count) }
        }
        let inside = try rows.where { $0.number == 7 }.validate().count
        #expect(inside == Self.count / 1000 && told.withLock { $0 } < 20)
        try store.watchQueries(every: .zero, nil)
        #expect(try found.withLock { $0 } == [rows.where { $0.name.contains("7") }.validate().count])
    }

    @Test func tasks() async throws {
        try store.watchQueries(every: .zero) { _, _ in try Task.checkCancellation() }
        let store = store
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try store.objects(WatchedRow.self).where { $0.name.contains("7") }.validate().count
        }
        let outcome = await task.result
        #expect(throws: ObjStoreError.self) { try outcome.get() }
        #expect(try store.objects(WatchedRow.self).where { $0.number == 7 }.validate().count == Self.count / 1000)
    }
}

/// What a query may allocate.
@Suite struct QueryMemoryTests {
    @Test func limited() throws {
        let folder = Folder(), count = 20_000
        var configuration = Store.Configuration(path: folder.file(), models: [WatchedRow.self])
        try Store(configuration).write { tx in
            for id in 0..<count {
                _ = try tx.create(WatchedRow.self, value: ["id": id, "number": id % 1000, "name": "row \(id)"])
            }
        }
        configuration.queryLimit = 300_000
        let store = try Store(configuration), rows = store.objects(WatchedRow.self)
        let error = #expect(throws: ObjStoreError.self) { try rows.sorted(by: \.name).explain(running: true) }
        #expect(error?.code == .outOfMemory)
        #expect(try rows.where { $0.number == 7 }.sorted(by: \.name).explain(running: true).contains("20 objects"))
        configuration.queryLimit = nil
        let other = try Store(configuration).objects(WatchedRow.self)
        #expect(try other.sorted(by: \.name).explain(running: true).contains("\(count) objects"))
        configuration.queryLimit = 0
        #expect(throws: ObjStoreError.self) { try Store(configuration) }
    }
}
