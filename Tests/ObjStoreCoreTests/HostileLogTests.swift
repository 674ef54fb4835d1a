import Foundation
import Testing

import ObjStoreCore

/// Logs whose hashes and chain are right and whose operations are anything: recovery refuses what does not fit, or
/// applies it; a salvage leaves it out, and what it makes is sound. Neither traps.
@Suite struct HostileLogTests {
    /// A string key, everything that a class can have beside it, and embedded objects that may lie in each other.
    private static let schema = Schema(
        classes: [
            ClassSchema(
                name: "Person", id: 0,
                properties: [
                    PropertySchema(name: "name", kind: .string, columnID: 0, isPrimaryKey: true),
                    PropertySchema(name: "age", kind: .int, columnID: 1, isIndexed: true),
                    PropertySchema(name: "nick", kind: .string, columnID: 2, isNullable: true, isUnique: true),
                    PropertySchema(name: "best", kind: .link, columnID: 3, isNullable: true, target: 0),
                    PropertySchema(
                        name: "friends", kind: .list, columnID: 4, target: 0, elements: ElementSchema(kind: .link)),
                    PropertySchema(name: "marks", kind: .set, columnID: 5, elements: ElementSchema(kind: .int)),
                    PropertySchema(
                        name: "notes", kind: .map, columnID: 6,
                        elements: ElementSchema(kind: .double, isNullable: true, keyKind: .string)),
                    PropertySchema(name: "any", kind: .mixed, columnID: 7, isNullable: true, isIndexed: true),
                    PropertySchema(name: "home", kind: .link, columnID: 8, isNullable: true, target: 1),
                    PropertySchema(
                        name: "rooms", kind: .map, columnID: 9, target: 1,
                        elements: ElementSchema(kind: .link, isNullable: true, keyKind: .int)),
                ], nextColumnID: 10,
                compounds: [IndexSchema(id: IndexSchema.firstCompoundID, properties: [1, 7], isUnique: true)],
                nextIndexID: IndexSchema.firstCompoundID + 1),
            ClassSchema(
                name: "Room", id: 1,
                properties: [
                    PropertySchema(name: "size", kind: .int, columnID: 0),
                    PropertySchema(name: "inner", kind: .link, columnID: 1, isNullable: true, target: 1),
                    PropertySchema(
                        name: "owner", kind: .link, columnID: 2, isNullable: true, target: 0, isCascading: true),
                ], nextColumnID: 3, isEmbedded: true),
        ], version: 1)

    /// In memory where there is such a place: each case is a few syncs.
    private let folder = Folder()
    private var path: String { folder["db"] }

    private final class Folder: Sendable {
        let path =
            (FileManager.default.isWritableFile(atPath: "/dev/shm")
                ? "/dev/shm" : FileManager.default.temporaryDirectory.path) + "/objstore-test-\(UUID().uuidString)"
        init() { try! FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
        subscript(name: String) -> String { path + "/" + name }
    }

    /// Small files: most of a case is writing them.
    private let options: StoreOptions = {
        var options = StoreOptions()
        options.hasBackgroundThread = false
        options.logBytes = 64 << 10
        options.growthPages = 8
        return options
    }()

    /// Three persons (keys 0–2), of whom #0 has the rooms #0 and, in it, #1, and a document.
    private func make() throws -> (store: [UInt8], log: [UInt8]) {
        let database = try Database.open(path, options: options, machine: RealMachine.shared)
        let transaction = try WriteTransaction.begin(database)
        try transaction.setSchema(HostileLogTests.schema)
        for name in ["a", "b", "c"] {
            _ = try HostileLogTests.person(name).withUnsafeBufferPointer {
                try transaction.state(0).create($0.baseAddress!)
            }
        }
        for _ in 0..<2 {
            _ = try [.int(1), .null, .null].withUnsafeBufferPointer { try transaction.state(1).create($0.baseAddress!) }
        }
        try transaction.state(0).update(0, 8, Value(kind: .link, low: 0))
        try transaction.state(1).update(0, 1, Value(kind: .link, low: 1))
        try transaction.state(0).splice(0, 5, 0..<0, [(.null, .int(1)), (.null, .int(5))])
        try transaction.commit(StoreOptions.Durability.none)
        try database.checkpoint()
        let next = try WriteTransaction.begin(database)
        try next.state(0).update(1, 1, .int(7))
        try next.commit(StoreOptions.Durability.none)
        let files = try ["", "-log"].map { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + $0))) }
        try database.close()
        return (files[0], files[1])
    }

    private nonisolated(unsafe) static var texts: [OwnedValue] = []
    private static func text(_ text: String, _ kind: ValueKind = .string) -> Value {
        let value = Array(text.utf8).withUnsafeBytes {
            OwnedValue(Value(kind: kind, pointer: $0.baseAddress, count: $0.count))
        }
        texts.append(value)
        return value.value
    }

    private static func person(_ name: String, age: Value = .int(1), nick: Value = .null, any: Value = .null) -> [Value]
    {
        [
            text(name), age, nick, .null, Value(kind: .list), Value(kind: .set), Value(kind: .map), any, .null,
            Value(kind: .map),
        ]
    }

    private static func link(_ key: Int64) -> Value { Value(kind: .link, low: key) }

    /// What a log may say, by name.
    private static func operations() -> [(String, (ForgedOps) -> Void)] {
        let everything: [Value] = [
            .null, .bool(true), .int(1), .int(.max), .float(1), .double(.nan), text("x"), text("\u{1}", .binary),
            .timestamp(seconds: 1, nanoseconds: 2),
            Value(kind: .uuid, low: 1, high: 2), Value(kind: .objectID, low: 1, high: 2),
            Value(kind: .decimal128, low: -1, high: -1), link(0), link(-1), link(99), link(.max),
            Value(kind: .list), Value(kind: .set), Value(kind: .map), text("\u{2}\u{1}", .mixed),
            text("\u{c}\u{ff}\u{ff}", .mixed), text("x", .document),
        ]
        var all: [(String, (ForgedOps) -> Void)] = []
        for (number, value) in everything.enumerated() {
            for column in 0...10 as ClosedRange<UInt64> {
                all.append(("update \(column) to \(value.kind) \(number)", { $0.update(0, 1, [(column, value)]) }))
                all.append(
                    (
                        "update \(column) twice, to \(value.kind) \(number)",
                        { $0.update(0, 1, [(1, .int(3)), (column, value), (column, .int(2)), (column, value)]) }
                    ))
                for at in [0, 1, .max] as [UInt64] {
                    all.append(
                        (
                            "splice \(column) at \(at), \(value.kind) \(number)",
                            {
                                $0.splice(
                                    0, 0, column, at: at, removed: at &- 1, keys: [text("k"), text("k")],
                                    [value, value])
                            }
                        ))
                    all.append(
                        (
                            "insert into \(column) at \(at), \(value.kind) \(number)",
                            { $0.splice(0, 0, column, at: at, removed: 0, [value, value]) }
                        ))
                }
            }
            all.append(
                (
                    "create with \(value.kind) \(number)",
                    { ops in
                        for column in 0..<10 {
                            var values = person("d\(number)")
                            values[column] = value
                            ops.create(0, Int64(10 + column), values)
                        }
                    }
                ))
        }
        for key in [-1, 0, 2, 3, 1 << 12, 1 << 40, 1 << 62 - 1, 1 << 62, .max - 1, .max, .min] as [Int64] {
            all.append(("create \(key)", { $0.create(0, key, person("d")) }))
            all.append(
                (
                    "create \(key), then others",
                    {
                        $0.create(0, key, person("d")); $0.create(0, key, person("e")); $0.create(0, 5, person("f"))
                    }
                ))
            all.append(("delete \(key)", { $0.delete(0, key) }))
            all.append(
                (
                    "delete \(key) twice",
                    {
                        $0.delete(0, key); $0.delete(0, key)
                    }
                ))
            all.append(("update \(key)", { $0.update(0, key, [(1, .int(5))]) }))
            all.append(("update \(key) of nothing", { $0.update(0, key, []) }))
            all.append(("splice \(key)", { $0.splice(0, key, 5, at: 0, removed: 0, [.int(0)]) }))
            all.append(("edit \(key)", { $0.edit(0, key, 7, [.index(0)], .insert, [2, 1]) }))
            all.append(("link to \(key)", { $0.update(0, 1, [(3, link(key)), (8, link(key))]) }))
            all.append(("links to \(key)", { $0.splice(0, 1, 4, at: 0, removed: 0, [link(key), link(key), link(1)]) }))
            all.append(
                (
                    "rooms \(key)",
                    { $0.splice(0, 1, 9, at: 0, removed: 0, keys: [.int(1), .int(2)], [link(key), link(0)]) }
                ))
        }
        all += [
            (
                "one key twice",
                {
                    $0.create(0, 3, person("a")); $0.create(0, 4, person("a"))
                }
            ),
            (
                "one unique value twice",
                {
                    $0.create(0, 3, person("d", nick: text("n"))); $0.create(0, 4, person("e", nick: text("n")));
                    $0.update(0, 1, [(2, text("n"))])
                }
            ),
            (
                "one compound value twice",
                {
                    $0.create(0, 3, person("d", any: text("\u{2}\u{1}", .mixed)));
                    $0.update(0, 1, [(7, text("\u{2}\u{1}", .mixed)), (1, .int(1))])
                }
            ),
            ("no such class", { $0.delete(2, 0) }), ("class far away", { $0.delete(.max, 0) }),
            ("a room of two", { $0.update(0, 1, [(8, link(0))]) }),
            (
                "a room of one, three times",
                { $0.splice(0, 0, 9, at: 0, removed: 0, keys: [.int(1), .int(2)], [link(0), link(0)]) }
            ),
            ("a room in itself", { $0.create(1, 2, [.int(1), link(2), .null]) }),
            (
                "rooms in a circle",
                {
                    $0.create(1, 2, [.int(1), .null, .null]); $0.create(1, 3, [.int(1), link(2), link(2)]);
                    $0.update(1, 2, [(1, link(3))])
                }
            ),
            ("a room that leads back", { $0.update(1, 1, [(1, link(0))]) }),
            (
                "a room that leads back, and no one else to it",
                {
                    $0.update(1, 1, [(1, link(0))]); $0.update(0, 0, [(8, .null)])
                }
            ),
            ("an orphan that cascades", { $0.create(1, 2, [.int(1), .null, link(1)]) }),
            (
                "orphans in each other",
                {
                    $0.create(1, 2, [.int(1), .null, .null]); $0.create(1, 3, [.int(1), link(2), link(0)])
                }
            ),
            ("the owner goes, its rooms stay", { $0.delete(0, 0) }),
            (
                "a list in a mixed value that is none",
                { $0.edit(0, 0, 7, [.key(UnsafeRawBufferPointer(start: nil, count: 0))], .set, [2, 1]) }
            ),
            ("a schema that says the same", { $0.schema(schema) }),
            ("a schema without classes", { $0.schema(Schema(classes: [], version: 2)) }),
            (
                "a schema of other types",
                {
                    $0.schema(
                        Schema(
                            classes: schema.classes.reversed().enumerated().map { with($1, id: UInt32($0)) { $0 } },
                            version: 2))
                }
            ),
            (
                "a schema without a property",
                {
                    $0.schema(
                        Schema(
                            classes: [with(schema.classes[0], id: 0) { Array($0.dropLast()) }, schema.classes[1]],
                            version: 2))
                }
            ),
            (
                "a schema with an index more",
                {
                    $0.schema(
                        Schema(
                            classes: [
                                with(schema.classes[0], id: 0) {
                                    $0.map {
                                        var p = $0; p.isIndexed = p.kind.isScalar; return p
                                    }
                                }, schema.classes[1],
                            ], version: 2))
                }
            ),
            (
                "a class more, and its objects",
                { ops in
                    ops.schema(Schema(classes: schema.classes + [with(schema.classes[1], id: 2) { $0 }], version: 2))
                    ops.create(2, 0, [.int(1), .null, .null])
                }
            ),
            (
                "a schema behind changes",
                {
                    $0.update(0, 1, [(1, .int(1))]); $0.schema(Schema(classes: schema.classes, version: 2));
                    $0.update(0, 1, [(1, .int(2))])
                }
            ),
        ]
        return all
    }

    private static func with(
        _ cls: ClassSchema, id: UInt32, _ change: ([PropertySchema]) -> [PropertySchema]
    ) -> ClassSchema {
        let properties = change(cls.properties)
        return ClassSchema(
            name: id == 2 ? "More" : cls.name, id: id, properties: properties, nextColumnID: cls.nextColumnID,
            isEmbedded: cls.isEmbedded)
    }

    @Test func whateverTheLogSays() throws {
        let files = try make()
        #expect(try #require(try ForgedLog(store: files.store, log: files.log)).records.count == 1)
        for (name, operations) in HostileLogTests.operations() {
            var forged = try #require(try ForgedLog(store: files.store, log: files.log))
            let ops = ForgedOps()
            operations(ops)
            forged.append(ops)
            var log = files.log
            forged.write(into: &log)
            try write(files.store, log)
            try salvage("salvage: \(name)")
            recover("recovery: \(name)")
        }
    }

    private func write(_ store: [UInt8], _ log: [UInt8]) throws {
        for name in ["db", "db-log", "db-lock", "new", "new-log", "new-lock"] {
            try? FileManager.default.removeItem(atPath: folder[name])
        }
        try Data(store).write(to: URL(fileURLWithPath: path))
        try Data(log).write(to: URL(fileURLWithPath: path + "-log"))
    }

    private func salvage(_ what: Comment) throws {
        _ = try StoreFiles.salvage(
            path, to: folder["new"], progress: { (_, _) throws(StoreError) in }, report: { (_) throws(StoreError) in })
        var findings: [String] = []
        _ = try StoreFiles.verify(folder["new"], progress: { (_, _) throws(StoreError) in }) {
            (entry) throws(StoreError) in
            if case .finding(let text) = entry { findings.append(text) }
        }
        #expect(findings == [], what)
    }

    /// Opened, or refused with an error that says why; what is open can be read and written, and closed.
    private func recover(_ what: Comment) {
        do throws(StoreError) {
            let database = try Database.open(path, options: options, machine: RealMachine.shared)
            do {
                let snapshot = try database.snapshot()
                _ = Verifier.findings(snapshot)
            }
            try database.close()
        } catch {
            #expect(error.code == .corrupt, "\(what): \(error.code) \(error.message)")
        }
    }
}
