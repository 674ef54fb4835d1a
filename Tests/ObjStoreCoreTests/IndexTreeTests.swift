import Testing

import ObjStoreCore

@Suite struct IndexTreeTests {
    // MARK: Small and exhaustive

    /// Every order of inserting seven entries into nodes that split at three, and of removing them.
    @Test(arguments: [ValueKind.int, .string]) func everyOrderOfSevenEntries(_ kind: ValueKind) throws {
        // Neighbours (they form runs), gaps, one value twice, null.
        let int: [IndexSample] = [
            .null, .integer(1), .integer(2), .integer(2), .integer(3), .integer(90), .integer(91),
        ]
        let prefix = [UInt8](repeating: 65, count: 64)
        let text: [IndexSample] = [
            .null, .text([]), .text(prefix), .text(prefix + [1]), .text(prefix + [1]), .text(prefix + [2]),
            .text(prefix + [2, 0]),
        ]
        let values = kind == .int ? int : text
        try indexOrders(kind, values, orders: permutations(7))
    }

    @Test func everyOrderOfSevenKeysOfAUniqueIndex() throws {
        let values = (0..<7).map { IndexSample.integer(Int64($0 < 4 ? $0 : $0 * 10)) }
        try indexOrders(.int, values, orders: permutations(7), unique: true)
    }

    // MARK: Random histories (seeds in the messages)

    @Test(
        arguments: [
            ValueKind.bool, .int, .float, .double, .decimal128, .timestamp, .string, .binary, .objectID, .uuid,
        ], [false, true])
    func randomHistories(_ kind: ValueKind, _ unique: Bool) throws {
        for spread in 0..<3 {
            let seed = UInt64(kind.rawValue) * 100 + (unique ? 50 : 0) + UInt64(spread)
            _ = try indexHistory(
                kind, unique: unique, spread: spread, operations: 1500, objects: unique && kind == .bool ? 5 : 60,
                perCommit: 8, limits: .tiny, seed: seed)
            _ = try indexHistory(
                kind, unique: unique, spread: spread, operations: 1500, objects: unique && kind == .bool ? 5 : 900,
                perCommit: 40, limits: .standard, seed: seed + 10)
        }
    }

    // MARK: Edges

    @Test func integersAtTheEdges() throws {
        try roundTrip(.int, [.min, .min + 1, -1, 0, 1, .max - 1, .max].map { .integer($0) })
    }

    @Test func doublesAreTotallyOrdered() throws {
        let model = try roundTrip(
            .double,
            [
                -Double.infinity, -.greatestFiniteMagnitude, -1, -.leastNonzeroMagnitude, 0, .leastNonzeroMagnitude, 1,
                .infinity, .nan,
            ].map {
                .double($0.bitPattern)
            })
        let reader = IndexReader(source: model.file.source, root: model.root, kind: .double)
        #expect(try reader.find(.double(-0.0)) == 4)
        #expect(try reader.find(.double(0.0)) == 4)
        // Any NaN is the one NaN of the index, but equals nothing in a comparison.
        #expect(try reader.find(.double(Double(bitPattern: 0xfff8_0000_0000_1234))) == 8)
        #expect(try reader.count(.equal, .double(.nan)) == 0)
        #expect(try reader.count(.notEqual, .double(.nan)) == 9)
        #expect(try reader.count(.greater, .double(1)) == 1)
        #expect(try reader.count(.less, .double(.infinity)) == 7)
    }

    @Test func timestampsCompareByBothParts() throws {
        try roundTrip(
            .timestamp,
            [
                .time(.min, 0), .time(-1, -999_999_999), .time(-1, 0), .time(0, -1), .time(0, 0), .time(0, 1),
                .time(0, 999_999_999), .time(.max, 999_999_999),
            ])
    }

    @Test(arguments: [ValueKind.string, .binary]) func textsWithLongCommonPrefixes(_ kind: ValueKind) throws {
        var values: [IndexSample] = [.text([]), .text([0]), .text([0, 0]), .text([255])]
        for length in [1, 7, 8, 9, 62, 63, 64, 65, 66, 127, 128, 129] {
            let prefix = [UInt8](repeating: 0x61, count: length)
            values += [.text(prefix), .text(prefix + [0]), .text(prefix + [1]), .text(prefix + [255])]
        }
        let long = (0..<10_239).map { UInt8(truncatingIfNeeded: $0) }
        for last in 0..<100 { values.append(.text(long + [UInt8(last)])) }
        try roundTrip(kind, Array(Set(values)).sorted())
    }

    /// In an index that is not unique null may occur as often as objects do; dense keys cost nothing.
    @Test(arguments: [ValueKind.int, .string]) func manyNulls(_ kind: ValueKind) throws {
        let model = IndexModel(kind, unique: false, name: "nulls")
        for key in 0..<5000 { try model.insert(.null, Int64(key)) }
        try model.commit()
        #expect(model.shape.leaves == 1 && model.shape.bytes < 300)
        let reader = IndexReader(source: model.file.source, root: model.root, kind: kind)
        #expect(try reader.count(equal: .null) == 5000)
        #expect(try reader.count(.notEqual, .null) == 0)
        #expect(try reader.count(.less, .null) == 0)
        for key in stride(from: 0, to: 5000, by: 7) { try model.remove(Int64(key)) }
        try model.commit()
        try model.probe(IndexReader(source: model.file.source, root: model.root, kind: kind), .null)
    }

    @Test func emptyIndex() throws {
        let file = IndexFile()
        let reader = IndexReader(source: file.source, root: .null, kind: .int)
        #expect(try reader.find(.int(1)) == nil)
        #expect(try reader.count() == 0)
        #expect(try reader.count(.greater, .int(0)) == 0)
        var cursor = IndexCursor(reader)
        try cursor.seek(.start)
        #expect(try cursor.next() == nil)
        #expect(try IndexTree.checkInvariants(.null, file.source, kind: .int, unique: true).entries == 0)
    }

    // MARK: Space

    @Test func sequentialKeysCostNothing() throws {
        let model = try build(.int, unique: true, 100_000) { .integer(Int64($0) + 1000) }
        #expect(model.shape.leaves == 1 && model.shape.bytes < 300)
    }

    @Test func holesInSequentialKeysStayCheap() throws {
        let file = IndexFile()
        var writer = IndexWriter(space: file.space, root: .null, kind: .int, unique: true)
        for key in 0..<100_000 { try writer.insert(.int(Int64(key)), Int64(key)) }
        var root = try file.commit(writer)
        for round in 0..<10 {
            writer = IndexWriter(space: file.space, root: root, kind: .int, unique: true)
            for hole in 0..<10 { let key = Int64(hole * 10_000 + round * 997); try writer.remove(.int(key), key) }
            root = try file.commit(writer)
            let shape = try IndexTree.checkInvariants(root, file.source, kind: .int, unique: true)
            #expect(shape.entries == 100_000 - (round + 1) * 10)
            #expect(shape.bytes < 5000)
        }
    }

    @Test func bytesPerEntry() throws {
        var random = IndexRandom(5)
        let ages = try build(.int, unique: false, 100_000) { _ in .integer(Int64(random.below(100))) }
        #expect(ages.shape.placedBytes < 300_000, "ages 0..99: \(ages.shape)")
        let keys = try build(.int, unique: true, 100_000) { _ in .integer(Int64(bitPattern: random.next())) }
        #expect(keys.shape.placedBytes < 1_150_000, "random 64-bit keys: \(keys.shape)")
    }

    /// One transaction that merges several times: what is there is packed again with what comes.
    @Test(arguments: [ValueKind.int, .string], [false, true]) func bulkInSeveralMerges(
        _ kind: ValueKind, _ unique: Bool
    ) throws {
        var limits = IndexLimits()
        limits.pending = 1000
        let model = IndexModel(kind, unique: unique, limits: limits, name: "bulk of \(kind) unique \(unique)")
        var random = IndexRandom(21)
        for round in 0..<2 {
            for key in 0..<5000 {
                let number = Int64(bitPattern: random.next())
                let value =
                    key % 50 == 0 && !unique
                    ? IndexSample.null : kind == .int ? .integer(number) : .text(Array("name \(number)".utf8))
                try model.insert(value, Int64(key + round * 5000))
            }
            for key in stride(from: round, to: 5000, by: 9) { try model.remove(Int64(key)) }
            try model.commit()
            if round == 0 { #expect(model.shape.placedBytes < 5000 * (kind == .int ? 13 : 32), "\(model.shape)") }
        }
        let reader = IndexReader(source: model.file.source, root: model.root, kind: kind)
        for pair in model.pairs.shuffled(using: &random).prefix(50) { try model.probe(reader, pair.value) }
    }

    @Test func removeAllFreesEveryExtent() throws {
        let file = IndexFile()
        var writer = IndexWriter(space: file.space, root: .null, kind: .int, unique: false)
        for key in 0..<20_000 { try writer.insert(.int(Int64(key % 700)), Int64(key)) }
        let root = try file.commit(writer)
        var extents = 0
        try IndexTree.forEachExtent(root, file.source) { (_) throws(StoreError) in extents += 1 }
        let space = file.space
        writer = IndexWriter(space: space, root: root, kind: .int, unique: false)
        try writer.insert(.int(5000), 1_000_000)
        try writer.removeAll()
        #expect(space.freed.count == extents && Set(space.freed.map(\.unit)).count == extents)
        #expect(try writer.reader().count() == 0)
        #expect(try file.commit(writer).isNull)
    }

    // MARK: Changes that wait

    @Test(arguments: [ValueKind.int, .string]) func whatIsUndoneLeavesNothing(_ kind: ValueKind) throws {
        let model = IndexModel(kind, unique: true, name: "undo")
        let sample: (Int) -> IndexSample = { kind == .int ? .integer(Int64($0)) : .text(Array("text \($0)".utf8)) }
        for key in 0..<100 { try model.insert(sample(key), Int64(key)) }
        try model.commit()
        let root = model.root
        for key in [100, 101, 102] { try model.insert(sample(key), Int64(key)) }
        try model.remove(50)
        #expect(try sample(50).with(kind) { try model.writer.find($0) } == nil)
        #expect(try sample(101).with(kind) { try model.writer.find($0) } == 101)
        try model.insert(sample(50), 50)
        for key in [101, 102, 100] { try model.remove(Int64(key)) }
        #expect(model.writer.pendingCount == 0 && !model.writer.isDirty)
        try model.commit()
        #expect(model.root == root)
    }

    @Test func breachesAreFound() throws {
        let file = IndexFile()
        var writer = IndexWriter(space: file.space, root: .null, kind: .int, unique: true)
        for key in 0..<300 { try writer.insert(.int(Int64(key * 3)), Int64(key)) }
        let root = try file.commit(writer)
        let breaches: [(IndexWriter) throws -> Void] = [
            { try $0.remove(.int(1), 1) },
            { try $0.remove(.int(3), 2) },
            { try $0.insert(.int(3), 5000) },
            { try $0.insert(.int(3), 1) },
            {
                try $0.insert(.int(8000), 1); try $0.insert(.int(8000), 2)
            },
        ]
        for breach in breaches {
            writer = IndexWriter(space: file.space, root: root, kind: .int, unique: true)
            try breach(writer)
            let error = #expect(throws: StoreError.self) { try writer.reader() }
            #expect(error?.code == .corrupt)
            // Nothing but a cancel helps.
            #expect(throws: StoreError.self) { try writer.insert(.int(1), 1) }
            #expect(throws: StoreError.self) { try file.commit(writer) }
            writer.discardAll()
            file.arena.reset()
            #expect(try writer.find(.int(3)) == 1)
        }
        writer = IndexWriter(space: file.space, root: root, kind: .int, unique: true)
        try writer.insert(.int(1), 7)
        #expect(throws: StoreError.self) { try writer.insert(.int(1), 7) }
        #expect(throws: StoreError.self) { try writer.insert(.double(1), 7) }
        #expect(throws: StoreError.self) { try writer.find(.bool(true)) }
        // These left what was there.
        #expect(try writer.reader().count() == 301)
        let text = IndexWriter(space: file.space, root: .null, kind: .string, unique: false)
        let byte = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
        defer { byte.deallocate() }
        #expect(throws: StoreError.self) { try text.insert(.string(UnsafeRawPointer(byte), 64 << 20 | 1), 1) }
    }

    // MARK: Damage

    @Test(arguments: [ValueKind.int, .timestamp, .string, .uuid]) func everyDamagedByteIsFoundOrHarmless(
        _ kind: ValueKind
    ) throws {
        let damage = try IndexDamage(kind)
        for offset in stride(from: damage.start, to: damage.end, by: 7) {
            try damage.flip(offset, 1 << UInt8(offset % 8))
        }
        #expect(damage.found > 0)
    }

    /// Bytes are changed and hashes made right again: wrong answers are possible, crashes are not.
    @Test(arguments: [ValueKind.int, .timestamp, .string, .uuid, .objectID, .decimal128]) func hostilePagesDoNotCrash(
        _ kind: ValueKind
    ) throws {
        let damage = try IndexDamage(kind)
        var random = IndexRandom(UInt64(kind.rawValue))
        for _ in 0..<300 { damage.forge(&random) }
        #expect(damage.found > 0 && damage.passed > 0)
    }

    // MARK: Help

    @discardableResult
    private func roundTrip(_ kind: ValueKind, _ sorted: [IndexSample]) throws -> IndexModel {
        var kept: IndexModel?
        for limits in [IndexLimits.tiny, .standard] {
            for unique in [true, false] {
                let model = IndexModel(
                    kind, unique: unique, limits: limits, name: "\(kind) unique \(unique) leaf \(limits.leafEntries)")
                var random = IndexRandom(3)
                for (key, value) in sorted.enumerated().shuffled(using: &random) {
                    try model.insert(value, Int64(key))
                    #expect(try value.with(kind) { try model.writer.find($0) } == Int64(key))
                }
                try model.commit()
                #expect(model.pairs.map(\.key) == (0..<sorted.count).map(Int64.init))
                let reader = IndexReader(
                    source: model.file.source, root: model.root, kind: kind, longValues: model.nowRows)
                for value in sorted { try model.probe(reader, value) }
                for key in (0..<sorted.count).shuffled(using: &random).prefix(sorted.count / 2) {
                    try model.remove(Int64(key))
                }
                try model.commit()
                let rest = IndexReader(
                    source: model.file.source, root: model.root, kind: kind, longValues: model.nowRows)
                for value in sorted { try model.probe(rest, value) }
                // The first form again for what follows.
                for (key, value) in sorted.enumerated() where model.rows[Int64(key)] == nil {
                    try model.insert(value, Int64(key))
                }
                try model.commit()
                kept = model
            }
        }
        return kept!
    }

    private func build(
        _ kind: ValueKind, unique: Bool, _ count: Int, _ value: (Int) -> IndexSample
    ) throws -> (file: IndexFile, shape: IndexShape) {
        let file = IndexFile()
        let writer = IndexWriter(space: file.space, root: .null, kind: kind, unique: unique)
        for key in 0..<count { try value(key).with(kind) { try writer.insert($0, Int64(key)) } }
        let root = try file.commit(writer)
        let shape = try IndexTree.checkInvariants(root, file.source, kind: kind, unique: unique)
        #expect(shape.entries == count)
        return (file, shape)
    }
}

/// All orders of `count` things.
private func permutations(_ count: Int) -> [[Int]] {
    var result: [[Int]] = [[]]
    for item in 0..<count {
        result = result.flatMap { order in (0...order.count).map { Array(order[..<$0]) + [item] + Array(order[$0...]) }
        }
    }
    return result
}
