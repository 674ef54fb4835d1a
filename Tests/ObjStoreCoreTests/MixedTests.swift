import Foundation
import Testing

import ObjStoreCore

/// Mixed values where they meet a hostile file, the log, a comparison and a rescue. What they mean is tested through
/// the C interface.
@Suite struct MixedTests {
    private static let schema = Schema(
        classes: [
            ClassSchema(
                name: "Thing", id: 0,
                properties: [
                    PropertySchema(name: "id", kind: .int, columnID: 0, isPrimaryKey: true),
                    PropertySchema(name: "extra", kind: .mixed, columnID: 1, isNullable: true),
                ], nextColumnID: 2)
        ], version: 1)

    private static func append(_ random: inout IndexRandom, _ depth: Int, to builder: DocumentBuilder) throws {
        let kind = random.below(depth == 0 ? 8 : 12)
        if kind < 8 {
            let text = Array("some text é".utf8.prefix(random.below(9)))
            try text.withUnsafeBytes { bytes in
                let values: [Value] = [
                    .null, .bool(true), .int(Int64(random.below(100_000)) - 50_000), .double(1.5),
                    .string(bytes.baseAddress, bytes.count),
                    .timestamp(seconds: 5, nanoseconds: 7), Value(kind: .uuid, low: 1, high: 2),
                    .binary(bytes.baseAddress, bytes.count),
                ]
                try builder.append(values[kind])
            }
            return
        }
        try builder.begin(kind < 10 ? .list : .map)
        for number in 0..<random.below(6) {
            if kind >= 10 { try Array("key \(number)".utf8).withUnsafeBytes { try builder.key($0) } }
            try append(&random, depth - 1, to: builder)
        }
        try builder.end()
    }

    private static func document(_ random: inout IndexRandom) throws -> [UInt8] {
        let builder = DocumentBuilder()
        try append(&random, 4, to: builder)
        return Array(builder.node)
    }

    /// Whatever bytes there are: no access leaves them, and what passes the check is what it would be written as.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func hostileDocuments(_ seed: UInt64) throws {
        var random = IndexRandom(seed), sound = 0, refused = 0
        for _ in 0..<4000 {
            var bytes = try MixedTests.document(&random)
            try bytes.withUnsafeBytes { _ = try MixedNode($0.baseAddress, $0.count).check() }
            for _ in 0..<1 + random.below(4) {
                switch random.below(4) {
                case 0: bytes[random.below(bytes.count)] = UInt8(random.below(256))
                case 1: bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
                case 2 where bytes.count > 1: bytes.removeLast(1 + random.below(bytes.count - 1))
                default: bytes.insert(UInt8(random.below(16)), at: random.below(bytes.count + 1))
                }
            }
            // A page of its own, so that whatever lies behind is not ours.
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
            defer { memory.deallocate() }
            memory.copyBytes(from: bytes)
            let node = try MixedNode(memory.baseAddress, memory.count)
            MixedTests.touch(node, 6)
            do {
                _ = try node.check()
                sound += 1
                let builder = DocumentBuilder()
                try MixedTests.copy(node, to: builder)
                #expect(Array(builder.node) == bytes, "seed \(seed): two forms of one value")
            } catch let error as StoreError {
                refused += 1
                #expect(error.code == .corrupt || error.code == .invalidUTF8)
            }
            for _ in 0..<4 {
                let steps = (0..<1 + random.below(3)).map { _ in
                    random.below(2) == 0 ? MixedStep.index(random.below(4) - 1) : .key(Self.literal("key 1"))
                }
                _ = try? node.node(at: steps[...])
                let value: [UInt8] = [2, 5]
                try value.withUnsafeBytes { value in
                    for action in [MixedAction.set, .insert, .remove] {
                        guard
                            let edit = try? MixedEdit(
                                node, steps, action,
                                action == .remove ? UnsafeRawBufferPointer(start: nil, count: 0) : value, depth: 0)
                        else { continue }
                        let buffer = ByteBuffer()
                        try edit.append(to: buffer)
                        #expect(buffer.count == edit.bytes)
                    }
                }
            }
        }
        #expect(sound > 100 && refused > 1000, "seed \(seed): \(sound) sound, \(refused) refused")
    }

    /// Looks at everything that can be reached.
    private static func touch(_ node: MixedNode, _ depth: Int) {
        _ = try? node.value()
        guard depth > 0, let container = try? MixedContainer(node) else { return }
        for index in 0..<min(container.count, 50) {
            if container.kind == .map { _ = try? container.key(index).reduce(0, &+) }
            if let inner = try? container.node(index) { touch(inner, depth - 1) }
        }
        if container.kind == .map { _ = try? container.search(literal("key 1")) }
    }

    private static func copy(_ node: MixedNode, to builder: DocumentBuilder) throws {
        let kind = try node.kind
        guard kind == .list || kind == .map else { return try builder.append(try node.value()) }
        try builder.begin(kind)
        let container = try MixedContainer(node)
        for index in 0..<container.count {
            if kind == .map { try builder.key(try container.key(index)) }
            try copy(try container.node(index), to: builder)
        }
        try builder.end()
    }

    // MARK: In a store

    private static func open(_ folder: TestFolder) throws -> Database {
        var options = StoreOptions()
        options.hasBackgroundThread = false
        return try Database.open(folder["db"], options: options, machine: RealMachine.shared)
    }

    private static func create(_ state: ClassState, _ id: Int64, _ bytes: [UInt8]?) throws -> Int64 {
        try (bytes ?? []).withUnsafeBytes { cell in
            let values: [Value] = [
                .int(id), bytes == nil ? .null : Value(kind: .mixed, pointer: cell.baseAddress, count: cell.count),
            ]
            return try values.withUnsafeBufferPointer { try state.create($0.baseAddress!) }
        }
    }

    private static func content(_ snapshot: Snapshot) throws -> [Int64: [UInt8]] {
        var content: [Int64: [UInt8]] = [:]
        try snapshot.forEachObject(0) { (_, values) throws(StoreError) in
            content[values[0].low] = Array(UnsafeRawBufferPointer(start: values[1].pointer, count: values[1].count))
        }
        return content
    }

    /// {"a": [0, 1, …]}
    private static func numbers(_ count: Int) throws -> [UInt8] {
        let builder = DocumentBuilder()
        try builder.begin(.map)
        try builder.key(literal("a"))
        try builder.begin(.list)
        for number in 0..<count { try builder.append(.int(Int64(number))) }
        try builder.end()
        try builder.end()
        return Array(builder.node)
    }

    private static var a: MixedStep { .key(literal("a")) }

    /// A text that is there for as long as the program.
    private static func literal(_ text: StaticString) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    /// One element of 10,000 changes: the log has the path, whatever the size, and replay comes to the same bytes.
    @Test func anEditIsLoggedByPath() throws {
        let folder = TestFolder(), database = try MixedTests.open(folder)
        var transaction = try WriteTransaction.begin(database)
        try transaction.setSchema(MixedTests.schema)
        _ = try MixedTests.create(try transaction.state(0), 1, try MixedTests.numbers(10_000))
        _ = try MixedTests.create(try transaction.state(0), 2, try MixedTests.numbers(2))
        try transaction.commit(StoreOptions.Durability.full)
        try database.checkpoint()
        let before = try database.snapshot()
        transaction = try WriteTransaction.begin(database)
        let state = try transaction.state(0), start = state.ops.bytes.count
        try state.edit(0, 1, [MixedTests.a, .index(5000)], .set, .int(7))
        #expect(state.ops.bytes.count - start < 24 && !state.ops.isSummary)
        try state.edit(0, 1, [MixedTests.a, .index(-1)], .insert, .double(0.5))
        try state.edit(0, 1, [MixedTests.a, .index(0)], .remove, .null)
        // A failing one leaves nothing behind, in the log neither.
        let bytes = state.ops.bytes.count
        #expect(throws: StoreError.self) { try state.edit(0, 1, [MixedTests.a, .index(50_000)], .set, .int(7)) }
        #expect(throws: StoreError.self) { try state.edit(0, 1, [MixedTests.a, .index(0)], .set, .int(7), limit: 100) }
        #expect(state.ops.bytes.count == bytes)
        try transaction.commit(StoreOptions.Durability.full)
        let after = try database.snapshot()
        // Observers hear of the property, from the log and by comparing.
        for compares in [false, true] {
            let changes = try ChangeReader(database, from: before, to: after, classes: [0], compares: compares)
            #expect(changes.isCompared == compares)
            let found = try #require(changes.classes[0])
            #expect(found.modified == [0])
        }
        let expected = try MixedTests.content(after)
        #expect(expected[1]!.count > 10_000)
        // As it is found after a power cut: replayed, and salvaged.
        let copy = TestFolder()
        for name in ["db", "db-log"] { try FileManager.default.copyItem(atPath: folder[name], toPath: copy[name]) }
        let replayed = try MixedTests.open(copy)
        #expect(try MixedTests.content(try replayed.snapshot()) == expected)
        try replayed.close()
        let rescue = TestFolder()
        for name in ["db", "db-log"] { try FileManager.default.copyItem(atPath: folder[name], toPath: rescue[name]) }
        let salvagedFile = try StoreFiles.salvage(
            rescue["db"], to: rescue["new"], progress: { (_, _) throws(StoreError) in }
        ) { (_) throws(StoreError) in }
        #expect(salvagedFile.losses == 0)
        let salvaged = try Database.open(rescue["new"], options: StoreOptions(), machine: RealMachine.shared)
        #expect(try MixedTests.content(try salvaged.snapshot()) == expected)
        try salvaged.close()
        try database.close()
    }
}
