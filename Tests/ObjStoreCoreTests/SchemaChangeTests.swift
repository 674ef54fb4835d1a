import Foundation
import Testing

import ObjStoreCore

/// Properties that are dropped and renamed, through the same calls as the interfaces'.
@Suite struct SchemaChangeTests {
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64]) func histories(seed: UInt64) throws {
        let history = try SchemaHistory(seed: seed)
        for round in 0..<14 {
            for _ in 0..<3 {
                try history.write(60)
                try history.check()
            }
            try history.changeSchema()
            try history.check()
            if round % 4 == 3 { try history.compact() }
            if round % 5 == 4 { try history.salvage() }
            if round % 6 == 2 { try history.copy() }
            try history.check()
        }
        #expect(
            history.drops > 8 && history.renames > 8 && history.adds > 4,
            "\(history.drops) drops, \(history.renames) renames, \(history.adds) adds")
        #expect(history.classDrops > 0)
        #expect(
            history.migrations > 2 && history.refusals > 2,
            "\(history.migrations) migrations, \(history.refusals) refusals")
        try history.end()
    }

    private static func wide(_ draft: inout SchemaDraft, _ names: [String], former: [(String, String)] = []) throws {
        try draft.addClass("T")
        for name in names {
            try draft.addProperty("T", name, name.hasPrefix("s") || name.hasPrefix("r") ? .string : .int, [])
        }
        for (name, old) in former { try draft.addFormerName("T", name, old) }
    }

    /// A drop and a rename write the schema, a class node at most, and nothing of 300,000 objects; the space comes back
    /// with a compaction.
    @Test func nothingIsRewritten() throws {
        let folder = TestFolder(), path = folder["db"]
        var store = try ConstraintTests.open(path, version: 1) { try SchemaChangeTests.wide(&$0, ["a", "s1", "b"]) }
        let rows = 300_000
        let tx = try store.begin(), cls = try tx.findClass("T")
        let ids = try ["a", "s1", "b"].map { try tx.findProperty(cls, $0) }
        for row in 0..<rows {
            // Texts that do not repeat.
            let text = Array("\(row) ".utf8) + [UInt8](repeating: 120, count: 60)
            try text.withUnsafeBytes { text in
                let values: [Value] = [.int(Int64(row)), .string(text.baseAddress, text.count), .int(Int64(row) * 7)]
                _ = try values.withUnsafeBufferPointer { values in
                    try ids.withUnsafeBufferPointer { try tx.create(cls, $0, values.baseAddress!) }
                }
            }
        }
        _ = try tx.commit()
        try store.compact { (_, _) throws(StoreError) in }
        let before = store.shared.database.shared.dbBytes.load()
        let size = try fileBytes(path)
        let other = try ConstraintTests.open(path, version: 2) {
            try SchemaChangeTests.wide(&$0, ["a", "c"], former: [("c", "b")])
        }
        let written = store.shared.database.shared.dbBytes.load() - before
        #expect(written <= 16 << 10, "\(written) bytes for a change of the schema")
        try store.close()
        store = other
        let view = try store.openView()
        #expect(try view.findProperty(cls, "c") == ids[2])
        #expect(try view.aggregate(Query(all: cls), ids[2], .sum).low == Int64(rows) * Int64(rows - 1) / 2 * 7)
        view.close()
        try store.compact { (_, _) throws(StoreError) in }
        let small = try fileBytes(path)
        #expect(small < size / 3, "\(size) bytes, \(small) after the compaction")
        try store.close()
    }

    private func fileBytes(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }

    @Test func errorsNameClassAndProperty() throws {
        let folder = TestFolder(), path = folder["db"]
        func expect(
            _ code: StatusCode, _ property: String?, version: UInt64, mode: StoreConfiguration.Mode = .readWrite,
            _ describe: (inout SchemaDraft) throws -> Void
        ) {
            do {
                try ConstraintTests.open(path, version: version, mode: mode, describe).close()
                Issue.record("accepted: \(String(describing: property))")
            } catch let error as StoreError {
                #expect(
                    error.code == code && error.className == (property == nil ? nil : "T")
                        && error.propertyName == property, "\(error)")
            } catch { Issue.record("\(error)") }
        }
        func wide(_ names: [String], _ former: [(String, String)] = []) -> (inout SchemaDraft) throws -> Void {
            { try SchemaChangeTests.wide(&$0, names, former: former) }
        }
        try ConstraintTests.open(path, version: 3, wide(["a", "b", "s1"])).close()
        // Of a version that is not higher.
        expect(.schemaMismatch, "s1", version: 3, wide(["a", "b"]))
        expect(.schemaMismatch, "c", version: 3, wide(["a", "c", "s1"], [("c", "b")]))
        expect(.schemaMismatch, nil, version: 2, wide(["a", "b"]))
        // Another kind under a former name.
        expect(.schemaMismatch, "r1", version: 4, wide(["a", "r1", "s1"], [("r1", "b")]))
        // Both names in the file: which one is it?
        expect(.schemaMismatch, "a", version: 4, wide(["a", "s1"], [("a", "b")]))
        expect(.schemaMismatch, "c", version: 4, wide(["c", "s1"], [("c", "a"), ("c", "b")]))
        // In the schema itself.
        expect(.invalidSchema, "a", version: 4, wide(["a", "b"], [("a", "b")]))
        expect(.invalidSchema, "b", version: 4, wide(["a", "b"], [("a", "x"), ("b", "x")]))
        expect(.noSuchProperty, "x", version: 4, wide(["a", "b"], [("x", "y")]))
        expect(.invalidSchema, "y", version: 4) { draft in
            try SchemaChangeTests.wide(&draft, ["a"], former: [("a", "y")])
            try draft.addProperty("T", "y", .int, [])
        }
        do {
            var draft = SchemaDraft()
            try SchemaChangeTests.wide(&draft, ["a"])
            try draft.addFormerName("T", "a", "1x")
            Issue.record("a bad name")
        } catch let error as StoreError { #expect(error.code == .invalidSchema) }
        expect(.readOnly, "s1", version: 4, mode: .readOnly, wide(["a", "b"]))
        // Nothing of it changed the file; former names that it does not know mean nothing.
        let store = try ConstraintTests.open(
            path, version: 3, wide(["a", "b", "s1"], [("a", "z"), ("a", "y"), ("b", "w")]))
        try store.close()
        // The primary key goes like any other, and cannot come back.
        try ConstraintTests.open(folder["keys"], version: 1) {
            try $0.addClass("T"); try $0.addProperty("T", "id", .int, .primaryKey);
            try $0.addProperty("T", "a", .int, [])
        }.close()
        let keys = try ConstraintTests.open(folder["keys"], version: 2) {
            try $0.addClass("T"); try $0.addProperty("T", "a", .int, [])
        }
        let tx = try keys.begin(), cls = try tx.findClass("T"), a = try tx.findProperty(cls, "a")
        for _ in 0..<2 {
            _ = try [Value.int(1)].withUnsafeBufferPointer { values in
                try [a].withUnsafeBufferPointer { try tx.create(cls, $0, values.baseAddress!) }
            }
        }
        _ = try tx.commit()
        let view = try keys.openView()
        #expect(
            try view.verify { (_, _) throws(StoreError) in } == [] && view.count(cls) == 2
                && view.classInfo(cls).primaryKey == 0)
        view.close()
        try keys.close()
    }

    /// A handle that has the store open, and no schema of its own, continues with what is left, by the ids it knows,
    /// and what is dropped is an error: in views that move, in rows, in readers, and where objects are written.
    @Test func processesWithTheStoreOpenContinue() throws {
        let folder = TestFolder(), path = folder["db"]
        try ConstraintTests.open(path, version: 1) { try SchemaChangeTests.wide(&$0, ["a", "b", "s1", "c"]) }.close()
        var configuration = StoreConfiguration()
        configuration.place = .file(path)
        let store = try Store.open(configuration)
        var tx = try store.begin()
        let cls = try tx.findClass("T"), ids = try ["a", "b", "s1", "c"].map { try tx.findProperty(cls, $0) }
        let text = Array("text".utf8).withUnsafeBytes { OwnedTexts.keep(.string($0.baseAddress, 4)) }
        func create(_ tx: View, _ ids: [UInt32], _ values: [Value]) throws -> ObjectID {
            try values.withUnsafeBufferPointer { values in
                try ids.withUnsafeBufferPointer { try tx.create(cls, $0, values.baseAddress!) }
            }
        }
        let object = try create(tx, ids, [.int(1), .int(2), text, .int(4)])
        _ = try tx.commit()
        let live = try store.openView()
        let frozen = try live.freeze()
        var row = try RowCursor(live, cls)
        try row.seek(object)
        let readable = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: 2)
        defer { readable.deallocate() }
        _ = readable.initialize(from: [ids[1], ids[3]])
        let reader = try ClassReader(live, cls, UnsafeBufferPointer(readable))
        let all = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: 4)
        defer { all.deallocate() }
        _ = all.initialize(from: ids)
        let wholeReader = try ClassReader(live, cls, UnsafeBufferPointer(all))
        #expect(try row.int(ids[3]) == 4 && reader.number(object.key, 1) == 4 && wholeReader.number(object.key, 3) == 4)
        var told: [ChangeSet] = []
        let observer = try store.observe(cls, ObserverOptions()) {
            told.append($0); return nil
        }

        let other = try ConstraintTests.open(path, version: 2) {
            try SchemaChangeTests.wide(&$0, ["b", "d"], former: [("d", "c")])
        }
        func refused(_ what: String, _ body: () throws -> Void) {
            do {
                try body()
                Issue.record("\(what) was accepted")
            } catch let error as StoreError {
                #expect(error.code == .noSuchProperty, "\(what): \(error)")
            } catch { Issue.record("\(error)") }
        }
        // Not refreshed: what was is still there.
        #expect(try row.int(ids[0]) == 1 && wholeReader.number(object.key, 0) == 1)
        #expect(try live.refresh())
        #expect(
            try row.int(ids[1]) == 2 && row.int(ids[3]) == 4 && reader.number(object.key, 0) == 2
                && reader.number(object.key, 1) == 4)
        refused("a row") { _ = try row.int(ids[0]) }
        refused("a reader") { _ = try wholeReader.number(object.key, 3) }
        refused("a reader again") { _ = try wholeReader.number(object.key, 3) }
        refused("a count") { _ = try live.count(Query(cls, ids[0], .equal, .int(1))) }
        refused("properties") { _ = try live.propertyInfo(ids[2]) }
        tx = try store.begin()
        refused("create") { _ = try create(tx, ids, [.int(1), .int(2), text, .int(4)]) }
        refused("set") { try tx.set(object, ids[0], .int(1)) }
        _ = try create(tx, [ids[1], ids[3]], [.int(20), .int(40)])
        try tx.set(object, ids[3], .int(41))
        _ = try tx.commit()
        #expect(try live.refresh() && row.int(ids[3]) == 41 && live.findProperty(cls, "d") == ids[3])
        // The frozen view is where it was.
        var values = [Value](repeating: .null, count: 4)
        try ids.withUnsafeBufferPointer { try frozen.values(object, $0, nil, into: &values) }
        #expect(values[0].low == 1 && values[2].isSame(as: text) && values[3].low == 4)
        #expect(try frozen.findProperty(cls, "c") == ids[3])
        // Observers get what is left, under the ids they know.
        _ = try store.hub.deliver()
        let changes = try #require(told.first)
        #expect(changes.modified == [object.key] && changes.inserted.count == 1)
        #expect(try changes.hasChanged(ids[3], atModification: 0) && !changes.hasChanged(ids[1], atModification: 0))
        refused("a change") { _ = try changes.hasChanged(ids[0], atModification: 0) }
        store.close(observer)
        told = []
        // One of the old name is another property.
        try other.close()
        let third = try ConstraintTests.open(path, version: 3) { try SchemaChangeTests.wide(&$0, ["b", "d", "a"]) }
        #expect(try live.refresh())
        let again = try live.findProperty(cls, "a")
        #expect(!ids.contains(again))
        #expect(try row.int(again) == 0)
        refused("the old one") { _ = try row.int(ids[0]) }
        live.close()
        frozen.close()
        try third.close()
        try store.close()
    }
}
