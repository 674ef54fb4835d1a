import Foundation
import Testing

import ObjStoreCore
import WholeModel

typealias RowContent = [Int64: [TestValue]]

/// A store with a few classes, its observers, and what commits did as the test knows it.
final class ObservedStore {
    static let kinds: [ValueKind] = [.int, .int, .string, .bool, .timestamp, .double]
    static let nullable = [false, false, true, false, true, false]

    let folder = TestFolder()
    let database: Database
    let hub: ObserverHub
    var random: TestRandom
    private var nextID: Int64 = 0
    /// Live keys of class 0.
    private(set) var keys: [Int64] = []
    /// What was done since the last `forget`, as (kind, key, property) in order.
    private(set) var done: [(kind: ChangeKind, key: Int64, property: Int)] = []

    static func schema() -> Schema {
        func column(
            _ name: String, _ index: Int, _ kind: ValueKind, nullable: Bool = false, key: Bool = false,
            indexed: Bool = false
        ) -> PropertySchema {
            PropertySchema(
                name: name, kind: kind, columnID: UInt32(index), isNullable: nullable, isPrimaryKey: key,
                isIndexed: indexed)
        }
        let item = ClassSchema(
            name: "Item", id: 0,
            properties: [
                column("id", 0, .int, key: true), column("number", 1, .int, indexed: true),
                column("text", 2, .string, nullable: true),
                column("flag", 3, .bool), column("time", 4, .timestamp, nullable: true), column("score", 5, .double),
            ], nextColumnID: 6)
        let other = ClassSchema(name: "Other", id: 1, properties: [column("id", 0, .int, key: true)], nextColumnID: 1)
        let wide = ClassSchema(
            name: "Wide", id: 2, properties: (0..<70).map { column("p\($0)", $0, .int) }, nextColumnID: 70)
        return Schema(classes: [item, other, wide], version: 1)
    }

    init(
        seed: UInt64 = 1, inMemory: Bool = false, logBytes: Int = 1 << 20, logLimit: Int = 1 << 20,
        durability: StoreOptions.Durability = .none, onWorker: Bool = false
    ) throws {
        random = TestRandom(seed)
        var options = StoreOptions()
        options.isInMemory = inMemory
        options.logBytes = logBytes
        options.logBytesLimit = logLimit
        options.durability = durability
        options.hasBackgroundThread = false
        database = try Database.open(folder["db"], options: options, machine: RealMachine.shared)
        let transaction = try WriteTransaction.begin(database)
        try transaction.setSchema(ObservedStore.schema())
        try transaction.commit()
        hub = ObserverHub(database, deliversOnWorker: onWorker)
    }

    func close() throws {
        try hub.close()
        try database.close()
    }

    var items: ClassSchema { get throws { try database.snapshot().schema.classes[0] } }

    // MARK: Writing

    func write(_ body: (WriteTransaction, ClassState) throws -> Void) throws {
        let transaction = try WriteTransaction.begin(database)
        do { try body(transaction, try transaction.state(0)) } catch {
            try transaction.cancel()
            throw error
        }
        try transaction.commit()
    }

    func randomValue(_ property: Int) -> TestValue {
        if ObservedStore.nullable[property] && random.chance(20) { return .null }
        switch ObservedStore.kinds[property] {
        case .int: return .int(Int64(random.below(20)))
        case .bool: return .bool(random.chance(50))
        case .double: return .double(Double(random.below(20)).bitPattern)
        case .timestamp: return .timestamp(Int64(random.below(10)), Int64(random.below(3)))
        default:
            return .text(
                Array("text \(random.below(12))\(random.chance(3) ? String(repeating: "long", count: 40) : "")".utf8))
        }
    }

    @discardableResult
    func create(_ items: ClassState) throws -> Int64 {
        var row = (0..<6).map(randomValue)
        nextID += 1
        row[0] = .int(nextID)
        let key = try TestValue.with(row, ObservedStore.kinds) { try items.create($0) }
        keys.append(key)
        done.append((.inserted, key, 0))
        return key
    }

    func update(_ items: ClassState, _ key: Int64, _ property: Int, _ value: TestValue) throws {
        try TestValue.with([value], [ObservedStore.kinds[property]]) { try items.update(key, property, $0[0]) }
        done.append((.modified, key, property))
    }

    func delete(_ items: ClassState, _ key: Int64) throws {
        try items.delete(key)
        keys.removeFirst(equalTo: key)
        done.append((.deleted, key, 0))
    }

    func randomOperation(_ items: ClassState) throws {
        switch random.below(10) {
        case 0..<3: try create(items)
        case 3..<8 where !keys.isEmpty:
            let property = 1 + random.below(5)
            try update(items, keys[random.below(keys.count)], property, randomValue(property))
        case 8..<10 where !keys.isEmpty: try delete(items, keys[random.below(keys.count)])
        default: break
        }
    }

    func forget() { done.removeAll() }

    // MARK: What should be seen

    func content(_ snapshot: Snapshot) throws -> RowContent {
        let cls = snapshot.schema.classes[0]
        let reader = try snapshot.trees.objects(cls)
        var rows: RowContent = [:]
        var row = try reader.seek(.min)
        while let found = row {
            rows[found.key] = try cls.columns.indices.map { TestValue(try reader.value(found, $0)) }
            row = try reader.next(found)
        }
        return rows
    }

    /// What `done` comes to.
    func expected() -> (deleted: [Int64], inserted: [Int64], modified: [Int64: UInt64]) {
        var inserted: Set<Int64> = [], deleted: Set<Int64> = [], modified: [Int64: UInt64] = [:]
        for (kind, key, property) in done {
            switch kind {
            case .inserted: inserted.insert(key)
            case .modified: if !inserted.contains(key) { modified[key, default: 0] |= 1 << UInt64(property) }
            case .deleted:
                modified[key] = nil
                if inserted.remove(key) == nil { deleted.insert(key) }
            }
        }
        return (deleted.sorted(), inserted.sorted(), modified)
    }

    /// The naive way: every value of every object of both versions.
    static func difference(
        _ old: RowContent, _ new: RowContent
    ) -> (deleted: [Int64], inserted: [Int64], modified: [Int64: UInt64]) {
        var modified: [Int64: UInt64] = [:]
        for (key, row) in new {
            guard let before = old[key], before != row else { continue }
            modified[key] = row.indices.reduce(0) { row[$1] == before[$1] ? $0 : $0 | 1 << UInt64($1) }
        }
        return (old.keys.filter { new[$0] == nil }.sorted(), new.keys.filter { old[$0] == nil }.sorted(), modified)
    }
}

extension ClassChanges {
    var modifiedMasks: [Int64: UInt64] {
        Dictionary(uniqueKeysWithValues: modified.enumerated().map { ($1, masks[$0 * maskWords]) })
    }
}

/// Change sets in the order in which they came; from any thread.
final class Received: @unchecked Sendable {
    private let lock = Lock()
    private var list: [ChangeSet] = []
    func append(_ changes: ChangeSet) { lock.withLock { list.append(changes) } }
    /// And forgets them.
    func take() -> [ChangeSet] {
        lock.withLock {
            defer { list.removeAll() }
            return list
        }
    }
}

/// A number that threads count.
final class Counter: @unchecked Sendable {
    private let lock = Lock()
    private var count = 0
    func add(_ more: Int = 1) { lock.withLock { count += more } }
    var value: Int { lock.withLock { count } }
}

/// Captured by a handler, counts when the handler is let go of.
final class Held: Sendable {
    private let count: @Sendable () -> Void
    init(_ count: @escaping @Sendable () -> Void) { self.count = count }
    deinit { count() }
    func touch() {}
}

/// `store-writer` on a store: a process of its own.
final class OtherWriter {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ path: String) throws {
        // Both are built into one folder.
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        var program = folder.appendingPathComponent("store-writer")
        if !FileManager.default.isExecutableFile(atPath: program.path) {
            program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(
                "store-writer")
        }
        process.executableURL = program
        process.arguments = [path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let first = try line()
        try #require(first == "ready", "the other process said '\(first)'")
    }

    deinit {
        if process.isRunning {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }

    private func line() throws -> String {
        var bytes: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The numbers of the answer.
    @discardableResult
    func ask(_ command: String) throws -> [Int] {
        try input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
        let answer = try line()
        try #require(answer.hasPrefix("ok"), "\(command): \(answer)")
        return answer.split(separator: " ").dropFirst().compactMap { Int($0) }
    }

    func exit() throws {
        try input.fileHandleForWriting.write(contentsOf: Data("exit\n".utf8))
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }
}
