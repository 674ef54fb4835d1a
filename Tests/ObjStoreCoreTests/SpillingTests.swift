import Foundation
import Testing

import ObjStoreCore

/// Transactions that change more than they keep in memory. Random histories of them with savepoints are in
/// `SavepointTests`, with crashes in `crash`.
@Suite struct SpillingTests {
    private static let limit = 512 << 10

    private final class Fixture {
        let store: Store
        let cls: UInt32
        let properties: [UInt32]

        init(_ place: StoreConfiguration.Place = .memory(""), limit: Int = SpillingTests.limit) throws {
            var draft = SchemaDraft()
            try draft.addClass("Thing")
            try draft.addProperty("Thing", "id", .int, [.primaryKey])
            try draft.addProperty("Thing", "age", .int, [.indexed])
            try draft.addProperty("Thing", "name", .string, [])
            var configuration = StoreConfiguration()
            configuration.place = place
            configuration.schema = draft
            try configuration.set(.transactionBytes, Int64(limit))
            store = try Store.open(configuration)
            let view = try store.openView()
            defer { view.close() }
            let cls = try view.findClass("Thing")
            self.cls = cls
            properties = try ["id", "age", "name"].map { try view.findProperty(cls, $0) }
        }

        func create(_ transaction: View, _ id: Int64, age: Int64) throws {
            let name = Array("the name of thing \(id &* 7919)".utf8)
            try name.withUnsafeBytes { name in
                let values = [Value.int(id), .int(age), .string(name.baseAddress, name.count)]
                _ = try properties.withUnsafeBufferPointer { properties in
                    try values.withUnsafeBufferPointer { try transaction.create(cls, properties, $0.baseAddress!) }
                }
            }
        }

        func object(_ view: View, _ id: Int64) throws -> ObjectID { try #require(try view.find(cls, .int(id))) }

        /// Every object and the index of ages, against `age(id)`.
        func check(_ view: View, _ count: Int64, _ age: (Int64) -> Int64) throws {
            #expect(try view.count(cls) == Int(count))
            var row = try RowCursor(view, cls), ages: [Int64: Int] = [:], wrong = 0, seen: Int64 = 0
            while try row.next() {
                let id = try #require(try row.int(properties[0])), found = try #require(try row.int(properties[1]))
                let (pointer, length, _) = try row.bytes(properties[2], .string, nil)
                if id != seen || found != age(id)
                    || String(decoding: UnsafeRawBufferPointer(start: pointer, count: length), as: UTF8.self)
                        != "the name of thing \(id &* 7919)"
                {
                    wrong += 1
                }
                ages[found, default: 0] += 1
                seen += 1
            }
            #expect(wrong == 0 && seen == count)
            for age in ages.keys.sorted() {
                #expect(try view.count(Query(cls, properties[1], .equal, .int(age))) == ages[age]!)
            }
            for id in stride(from: 0, to: count, by: 997) { #expect(try view.find(cls, .int(id)) != nil) }
        }
    }

    /// What a damaged file calls its own, of the version that is being made, is not believed: nothing is freed.
    @Test func onlyWhatWasSpilledIsGivenUp() {
        let spilled = SpilledPages(), page = PageSize.unitsPerPage
        spilled.begin(version: 5)
        spilled.add([.init(page: 10, liveUnits: 8), .init(page: 11, liveUnits: 3)])
        #expect(!spilled.giveUp(unit: 9 * page, units: 1) && !spilled.giveUp(unit: 10 * page, units: 0))
        #expect(!spilled.giveUp(unit: 10 * page, units: 12))  // more of the second than there is
        #expect(!spilled.giveUp(unit: 11 * page, units: page + 1))  // a third, which is not known
        #expect(spilled.takeEmptied().isEmpty && spilled.placed.map(\.liveUnits) == [8, 3])
        #expect(spilled.giveUp(unit: 10 * page, units: 10))
        #expect(spilled.takeEmptied() == [10] && spilled.placed.map(\.liveUnits) == [1])
        #expect(!spilled.giveUp(unit: 10 * page, units: 10))
        #expect(spilled.giveUp(unit: 11 * page + 2, units: 1) && spilled.takeEmptied() == [11])
    }

    private static let count: Int64 = 30_000

    /// The arena stays small while everything is created and changed, in order and at random, and what is seen is
    /// always the transaction's own state.
    @Test func memoryStaysBounded() throws {
        let fixture = try Fixture()
        let tx = try fixture.store.begin()
        var most = 0
        for id in 0..<Self.count {
            try fixture.create(tx, id, age: id % 90)
            most = max(most, tx.arenaBytes)
        }
        try fixture.check(tx, Self.count) { $0 % 90 }
        for id in 0..<Self.count {
            try tx.set(try fixture.object(tx, id), fixture.properties[1], .int(id % 50))
            most = max(most, tx.arenaBytes)
        }
        try fixture.check(tx, Self.count) { $0 % 50 }
        var random = IndexRandom(1), changed: [Int64: Int64] = [:]
        for _ in 0..<20_000 {
            let id = Int64(random.below(Int(Self.count)))
            changed[id] = Int64(random.below(40))
            try tx.set(try fixture.object(tx, id), fixture.properties[1], .int(changed[id]!))
            most = max(most, tx.arenaBytes)
        }
        // One change, and the merge of an index, may go beyond it.
        #expect(most < 3 * Self.limit, "\(most) bytes")
        #expect(most > Self.limit / 2)
        _ = try tx.commit()
        let view = try fixture.store.openView().freeze()
        try fixture.check(view, Self.count) { changed[$0] ?? $0 % 50 }
        #expect(try view.verify { _, _ in } == [])
        view.close()
        try fixture.store.close()
    }

    /// Pages are written again and again by one transaction: the file does not grow with what it writes.
    @Test func spilledPagesAreReused() throws {
        let fixture = try Fixture(limit: 128 << 10)
        var tx = try fixture.store.begin()
        for id in 0..<Self.count { try fixture.create(tx, id, age: 0) }
        _ = try tx.commit()
        let before = try fixture.store.statistics(), live = before.liveBytes
        tx = try fixture.store.begin()
        var random = IndexRandom(2)
        for _ in 0..<20_000 {
            let name = (0..<20).map { _ in UInt8(97 + random.below(26)) }
            try name.withUnsafeBytes {
                try tx.set(
                    try fixture.object(tx, Int64(random.below(Int(Self.count)))), fixture.properties[2],
                    .string($0.baseAddress, $0.count))
            }
        }
        _ = try tx.commit()
        let after = try fixture.store.statistics()
        #expect(after.fileBytesWritten - before.fileBytesWritten > UInt64(6 * live), "it hardly spilled")
        #expect(after.fileBytes < 4 * live, "\(after.fileBytes) bytes for \(live)")
        try fixture.store.close()
    }

    /// Cancelled, everything is as it was; so it is after a process has ended without a commit.
    @Test func cancelledAfterSpilling() throws {
        let folder = TestFolder()
        let fixture = try Fixture(.file(folder["things"]))
        var tx = try fixture.store.begin()
        for id in 0..<Int64(1000) { try fixture.create(tx, id, age: id % 90) }
        _ = try tx.commit()
        for _ in 0..<3 {
            tx = try fixture.store.begin()
            for id in 1000..<Self.count { try fixture.create(tx, id, age: 1) }
            for id in 0..<Int64(1000) { try tx.set(try fixture.object(tx, id), fixture.properties[1], .int(5)) }
            try tx.cancel()
            let view = try fixture.store.openView().freeze()
            try fixture.check(view, 1000) { $0 % 90 }
            #expect(try view.verify { _, _ in } == [])
            view.close()
        }
        // What they wrote to is free: the next ones go there.
        func size() throws -> Int { try FileManager.default.attributesOfItem(atPath: folder["things"])[.size] as! Int }
        let grown = try size()
        tx = try fixture.store.begin()
        for id in 1000..<Self.count { try fixture.create(tx, id, age: id % 90) }
        _ = try tx.commit()
        let now = try size()
        #expect(now <= grown + 6 * Self.limit, "\(now) bytes after \(grown)")
        try fixture.store.close()
        let again = try Fixture(.file(folder["things"]))
        let view = try again.store.openView().freeze()
        try again.check(view, Self.count) { $0 % 90 }
        view.close()
        try again.store.close()
    }

    /// A savepoint keeps in memory what it would go back to, and only that.
    @Test func aSavepointAroundMuch() throws {
        let fixture = try Fixture()
        let tx = try fixture.store.begin()
        for id in 0..<Self.count { try fixture.create(tx, id, age: id % 90) }
        let outer = try tx.beginSavepoint()
        for id in 0..<Self.count { try tx.set(try fixture.object(tx, id), fixture.properties[1], .int(7)) }
        let inner = try tx.beginSavepoint()
        for id in stride(from: 0, to: Self.count, by: 2) {
            try tx.set(try fixture.object(tx, id), fixture.properties[1], .int(8))
        }
        #expect(tx.arenaBytes < 6 * Self.limit, "\(tx.arenaBytes) bytes")
        try tx.rollBack(toSavepoint: inner)
        try fixture.check(tx, Self.count) { _ in 7 }
        for id in stride(from: 0, to: Self.count, by: 3) {
            try tx.set(try fixture.object(tx, id), fixture.properties[1], .int(9))
        }
        try tx.rollBack(toSavepoint: outer)
        try fixture.check(tx, Self.count) { $0 % 90 }
        _ = try tx.commit()
        let view = try fixture.store.openView().freeze()
        try fixture.check(view, Self.count) { $0 % 90 }
        #expect(try view.verify { _, _ in } == [])
        view.close()
        try fixture.store.close()
    }
}
