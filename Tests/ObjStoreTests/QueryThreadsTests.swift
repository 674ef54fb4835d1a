import ObjStore
import Testing

final class ThreadedRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var number = 0
    @Persisted var weight: Double?
    @Persisted var name = ""
}

/// Queries whose scans several threads make: what one finds, in its order.
@Suite struct QueryThreadsTests {
    private static let count = 70 * 4096

    private static func fill(_ store: Store) throws {
        let ids = Array(0..<count)
        try store.write { tx in
            try tx.insert(
                ThreadedRow.self,
                [
                    Column(\.id, ids), Column(\.number, ids.map { $0 * 7919 % 1009 }),
                    Column(\.weight, ids.map { $0 % 7 == 0 ? nil : Double($0 % 501) - 250 }),
                    Column(\.name, ids.map { "row \($0 % 321)" }),
                ])
        }
    }

    private static func asked(_ store: Store, _ condition: String) throws -> [String] {
        let rows = try store.objects(ThreadedRow.self).filter(condition).validate()
        let ids = stride(from: 0, to: rows.count, by: 211).map { rows[$0].id }, sum: Int = try rows.sum(of: \.number)
        let least: Double? = try rows.min(of: \.weight), greatest: Int? = try rows.max(of: \.number)
        return ["\(rows.count)", "\(ids)", "\(sum)", "\(String(describing: least))", "\(String(describing: greatest))"]
    }

    @Test func asOneThread() throws {
        let folder = Folder()
        var configuration = Store.Configuration(path: folder.file(), models: [ThreadedRow.self])
        let one = try Store(configuration)
        try Self.fill(one)
        configuration.queryThreads = 3
        let three = try Store(configuration)
        for condition in ["number < 300", "name CONTAINS '7' AND weight > 0", "number + 1 == 7", "TRUEPREDICATE"] {
            #expect(try Self.asked(one, condition) == Self.asked(three, condition), "\(condition)")
            let plan = try three.objects(ThreadedRow.self).filter(condition).explain(running: true)
            #expect(plan.contains("threads: 3"), "\(condition)")
        }
        #expect(try !one.objects(ThreadedRow.self).filter("number < 300").explain(running: true).contains("threads"))
        // With what is not committed.
        var found: [[String]] = []
        for store in [one, three] {
            _ = try? store.write { tx in
                try tx.delete(store.objects(ThreadedRow.self).filter("id BETWEEN {100000, 130000}"))
                try tx.insert(ThreadedRow.self, [Column(\.id, Array(Self.count..<Self.count + 5000))])
                found.append(try Self.asked(store, "number < 300 OR name == ''"))
                throw CancellationError()
            }
        }
        #expect(found.count == 2 && found[0] == found[1])
        #expect(try Self.asked(one, "number < 300") == Self.asked(three, "number < 300"))
    }

    @Test func numbers() throws {
        for wrong in [0, -1, 257, .max] {
            var configuration = Store.Configuration(.memory(), models: [ThreadedRow.self])
            configuration.queryThreads = wrong
            let error = #expect(throws: ObjStoreError.self) { try Store(configuration) }
            #expect(error?.code == .outOfRange)
        }
    }
}
