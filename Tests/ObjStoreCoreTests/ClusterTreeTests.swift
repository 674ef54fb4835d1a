import Glibc
import Testing

import ObjStoreCore
import WholeModel

/// The object tree against a dictionary: whole content after every step of random histories.
@Suite struct ClusterTreeTests {
    /// Tree, file and oracle together.
    final class Model {
        var schema: TestSchema
        let file: LeafTestFile
        var root = Ref.null
        var rows: [Int64: [TestValue]] = [:]
        /// Every key there ever was, and -1 so that there is one.
        var keys: [Int64] = [-1]
        var nextKey: Int64
        var random: TestRandom
        var writer: ClusterWriter?
        var space: WriteSpace?
        var operations = 0

        init(_ schema: TestSchema, seed: UInt64, pages: Int = 1 << 18, firstKey: Int64 = 0) {
            self.schema = schema
            file = LeafTestFile(pages: pages, random: TestRandom(seed &+ 77))
            random = TestRandom(seed)
            nextKey = firstKey
        }

        func write() -> ClusterWriter {
            if let writer { return writer }
            let space = file.begin()
            self.space = space
            writer = ClusterWriter(space: space, root: root, columns: schema.columns)
            return writer!
        }

        func reader() throws -> ClusterReader {
            if let writer { return try writer.reader() }
            return ClusterReader(source: file.source, root: root, columns: schema.columns)
        }

        private var commits = 0
        /// What the last commit left, if the next one is to be compared with it.
        var committed: [Int64: [TestValue]] = [:]

        /// The difference between the last commit and now, found by comparing the trees.
        func checkComparison() throws {
            guard schema.columns.count <= 64 else { return }
            let before = ClusterReader(source: file.source, root: root, columns: schema.columns)
            let changes = try TreeComparison.changes(from: before, to: try reader(), maskWords: 1)
            #expect(changes.inserted == rows.keys.filter { committed[$0] == nil }.sorted())
            #expect(changes.deleted == committed.keys.filter { rows[$0] == nil }.sorted())
            let modified = rows.filter { key, row in committed[key].map { $0 != row } ?? false }.keys.sorted()
            #expect(changes.modified == modified)
            for (index, key) in changes.modified.enumerated() {
                guard let old = committed[key], let new = rows[key] else { continue }
                let mask = new.indices.reduce(UInt64(0)) { old[$1] == new[$1] ? $0 : $0 | 1 << UInt64($1) }
                if changes.masks[index] != mask {
                    Issue.record("object \(key): columns \(changes.masks[index]), expected \(mask)")
                }
            }
        }

        /// Puts loose leaves together, as far as `budget` goes, or to the end.
        func compact(from key: Int64 = 0, budget: Int = .max) throws {
            var next: Int64? = key
            repeat { next = try write().compactRows(from: next!, budget: budget) } while next != nil && budget == .max
        }

        func commit() throws {
            guard let writer, let space else { return }
            // Both take as long as all objects: one commit in eight is compared.
            if commits % 8 == 0 { try checkComparison() }
            commits += 1
            if commits % 8 == 0 { committed = rows }
            root = try file.commit(space) { (w) throws(StoreError) in try writer.flush(into: w) }
            self.writer = nil
            self.space = nil
            // What the tree reaches is exactly what the allocator has in use.
            var units = 0
            try ClusterReader.forEachExtent(root: root, source: file.source) { (extent) throws(StoreError) in
                units += extent.units
            }
            #expect(units == file.liveUnitsTotal, "extents leaked or lost")
        }

        func append(_ row: [TestValue], skip: Int64 = 0) throws {
            let key = nextKey + skip
            try TestValue.with(row, schema.kinds) { try write().append(key, $0) }
            rows[key] = row
            keys.append(key)
            nextKey = key + 1
            operations += 1
        }

        func update(_ key: Int64, _ column: Int, _ value: TestValue) throws {
            let found = try TestValue.with([value], [schema.kinds[column]]) { try write().update(key, column, $0[0]) }
            #expect(found == (rows[key] != nil))
            if found { rows[key]![column] = value }
            operations += 1
        }

        func delete(_ key: Int64) throws {
            let found = try write().delete(key)
            #expect(found == (rows[key] != nil))
            rows[key] = nil
            operations += 1
        }

        /// Compares everything, by cursor, by key and by position; checks the invariants.
        func check(_ note: String) throws {
            let reader = try reader()
            try ClusterReader.checkInvariants(root: reader.root, source: reader.source, columns: schema.columns)
            let keys = rows.keys.sorted()
            try #require(try reader.count() == keys.count, "count, \(note)")
            var cursor = try reader.seek(0)
            for (ordinal, key) in keys.enumerated() {
                let row = try #require(cursor, "row \(key), \(note)")
                try #require(row.key == key, "\(note)")
                let expected = rows[key]!
                for column in expected.indices {
                    let found = TestValue(try reader.value(row, column))
                    if found != expected[column] {
                        Issue.record("key \(key) column \(column): \(found), expected \(expected[column]); \(note)");
                        throw Mismatch()
                    }
                }
                if ordinal % 97 == 0 {
                    try #require(try reader.row(at: ordinal)?.key == key)
                    try #require(try reader.ordinal(of: key) == ordinal)
                    try #require(try reader.find(key)?.key == key)
                }
                cursor = try reader.next(row)
            }
            try #require(cursor == nil, "rows beyond the last, \(note)")
            try #require(try reader.row(at: keys.count) == nil)
            for _ in 0..<10 {
                let key = Int64(random.below(Int(nextKey) + 5000))
                try #require((try reader.find(key) != nil) == (rows[key] != nil))
                try #require(try reader.seek(key)?.key == keys.first { $0 >= key })
            }
            checks += 1
            if checks % 4 == 0 { try checkScans(reader, keys, note) }
        }
        /// Scans take longer than all the rest.
        private var checks = 0

        /// Scans and reads of whole columns.
        private func checkScans(_ reader: ClusterReader, _ keys: [Int64], _ note: String) throws {
            if keys.isEmpty { return }
            let some = keys[random.below(keys.count)]
            let from = keys[random.below(keys.count)]
            for column in schema.kinds.indices where schema.kinds[column] == .int || schema.kinds[column] == .string {
                let wanted = rows[some]![column]
                if wanted == .null { continue }
                let found = KeyBuffer()
                try TestValue.with([wanted], [schema.kinds[column]]) {
                    try reader.scan(column, .equal, $0[0]).collect(into: found, from: from)
                }
                let expected = keys.filter { $0 >= from && rows[$0]![column] == wanted }
                if Array(UnsafeBufferPointer(start: found.keys, count: found.count)) != expected {
                    Issue.record("scan of column \(column) from \(from), \(note)")
                }
                guard schema.kinds[column] == .int else { continue }
                var words = [Int64](repeating: 0, count: keys.count)
                let read = try words.withUnsafeMutableBufferPointer {
                    try reader.readColumn(
                        column, fromKey: from, count: keys.count, into: ColumnTarget(words: $0.baseAddress!))
                }
                var values: [Int64] = []
                for key in keys where key >= from {
                    if case .int(let value) = rows[key]![column] { values.append(value) } else { values.append(0) }
                }
                if Array(words.prefix(read)) != values { Issue.record("column \(column) from \(from), \(note)") }
            }
        }
        struct Mismatch: Error {}

        // MARK: Random content

        var intScale = 3

        func randomValue(_ column: Int) -> TestValue {
            if schema.nullable[column], random.chance(12) { return .null }
            switch schema.kinds[column] {
            case .bool: return .bool(random.chance(30))
            case .int: return .int(randomInt())
            case .double: return .double(randomDouble().bitPattern)
            case .timestamp:
                return .timestamp(
                    1_700_000_000 + randomInt() % 1_000_000, random.chance(80) ? 0 : Int64(random.below(1_000_000_000)))
            case .float:
                return .float(
                    random.chance(5) ? UInt32(truncatingIfNeeded: random.next()) : Float(randomDouble()).bitPattern)
            case .decimal128:
                let (low, high) = NaiveDecimal.random(&random)
                return .decimal(low: low, high: high)
            case .uuid, .objectID: return .id(randomID(schema.kinds[column]))
            default: return .text(randomText())
            }
        }
        /// Of one process in one second, of any, few enough to meet again.
        func randomID(_ kind: ValueKind) -> [UInt8] {
            let count = kind == .uuid ? 16 : 12
            var bytes = (0..<count).map { UInt8(truncatingIfNeeded: 0x5a + $0) }
            switch random.below(4) {
            case 0: bytes = bytes.map { _ in UInt8(truncatingIfNeeded: random.next()) }
            case 1: bytes = Array(repeating: [0, 0x7f, 0x80, 0xff][random.below(4)], count: count)
            default:
                bytes[count - 1] = UInt8(random.below(256))
                bytes[7] = [0, 0x7f, 0x80, 0xff][random.below(4)]
            }
            return bytes
        }
        func randomInt() -> Int64 {
            switch random.below(40) {
            case 0: return [Int64.min, .max, 0, -1, 1, 255, 256, 65535, 65536, 1 << 32, -(1 << 31)][random.below(11)]
            case 1: return Int64(bitPattern: random.next())
            default:
                let bits = [0, 1, 2, 4, 8, 16, 32, 62][min(7, intScale)]
                return Int64(random.next() & ((1 << UInt64(bits)) - 1)) - (intScale % 2 == 1 ? 5 : 0)
            }
        }
        func randomDouble() -> Double {
            switch random.below(20) {
            case 0:
                return [.nan, .infinity, -.infinity, 0.0, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude][
                    random.below(7)]
            default: return Double(random.below(1000)) / 8
            }
        }
        /// How many texts there are, most of the time; 0: any.
        var texts = 0

        func randomText() -> [UInt8] {
            if texts > 0, random.chance(98) {
                let number = random.below(texts)
                return Array("text\(String(repeating: "-", count: number % 40))\(number)".utf8)
            }
            let length: Int
            switch random.below(200) {
            case 0: length = 4000 + random.below(200)
            case 1: length = random.below(30_000)
            case 2...8: length = random.below(300)
            case 9...20: length = 0
            default: length = random.below(20)
            }
            let first = UInt8(97 + random.below(5))
            return (0..<length).map { $0 == 0 ? first : UInt8(97 + ($0 * 7 + length) % 26) }
        }
        func randomRow() -> [TestValue] { schema.kinds.indices.map(randomValue) }
        func randomKey() -> Int64 {
            // Not the dictionary's order, which differs from process to process.
            if random.chance(95) {
                for _ in 0..<20 {
                    let key = keys[random.below(keys.count)]
                    if rows[key] != nil { return key }
                }
            }
            return Int64(random.below(Int(nextKey) + 10))
        }
    }

    static let historySeeds: [UInt64] = Array(1...UInt64(3 * testScale))

    @Test(arguments: historySeeds)
    func randomHistory(seed: UInt64) throws {
        let model = Model(.everyKind(), seed: seed, firstKey: seed % 2 == 0 ? 0 : 4090)
        for step in 0..<240 {
            model.intScale = model.random.below(8)
            switch model.random.below(10) {
            case 0...2:
                let count = model.random.chance(8) ? 300 + model.random.below(900) : 1 + model.random.below(30)
                for _ in 0..<count {
                    try model.append(
                        model.randomRow(), skip: model.random.chance(3) ? Int64(model.random.below(60)) : 0)
                }
                if model.random.chance(3) { model.nextKey += Int64(model.random.below(20_000)) }
            case 3...5:
                for _ in 0..<1 + model.random.below(40) {
                    let column = model.random.below(model.schema.kinds.count)
                    try model.update(model.randomKey(), column, model.randomValue(column))
                }
            case 6:
                for _ in 0..<1 + model.random.below(60) { try model.delete(model.randomKey()) }
            case 7:
                if model.random.chance(20) {
                    // A run of keys: whole leaves become empty.
                    let from = Int64(model.random.below(Int(model.nextKey) + 1)),
                        length = Int64(model.random.below(9000))
                    for key in model.rows.keys.sorted() where key >= from && key < from + length {
                        try model.delete(key)
                    }
                }
            case 8:
                if model.random.chance(25) {
                    try model.compact(
                        from: model.random.chance(50) ? 0 : model.randomKey(),
                        budget: model.random.chance(50) ? .max : 100 + model.random.below(3000))
                }
            default:
                try model.commit()
            }
            if step % 8 == 0 || step > 235 { try model.check("seed \(seed) step \(step)") }
        }
        try model.commit()
        try model.check("seed \(seed), end")
        print("object tree: seed \(seed), \(model.operations) operations, \(model.rows.count) rows")
    }

    /// One change, one commit, over and over: the packed leaf never goes through the builder for long.
    @Test(arguments: [UInt64(11), 12])
    func smallTransactions(seed: UInt64) throws {
        let model = Model(.everyKind(), seed: seed)
        for step in 0..<750 * testScale {
            if step % 400 == 0 { model.intScale = model.random.below(8) }
            switch model.random.below(10) {
            case 0...5: try model.append(model.randomRow(), skip: model.random.chance(5) ? 1 : 0)
            case 6, 7, 8:
                let column = model.random.below(model.schema.kinds.count)
                try model.update(model.randomKey(), column, model.randomValue(column))
            default: try model.delete(model.randomKey())
            }
            try model.commit()
            if step % 150 == 0 { try model.check("seed \(seed) step \(step)") }
        }
        try model.check("end")
    }

    /// Many rows with narrow values: full leaves, several levels, whole content compared.
    @Test func bulkAndLevels() throws {
        let model = Model(TestSchema([(.int, false), (.string, true), (.int, false), (.double, false)]), seed: 5)
        for index in 0..<20_000 {
            try model.append([
                .int(Int64(index)), index % 10 == 0 ? .null : .text(Array("name \(index % 977)".utf8)),
                .int(Int64(index % 100)), .double(Double(index).bitPattern),
            ])
        }
        try model.commit()
        try model.check("bulk")
        // A leaf every 4096 keys: more than 84 leaves and a second inner level, with one row each.
        for _ in 0..<400 {
            model.nextKey = LeafHead.keyBase(of: model.nextKey) + 4096 + Int64(model.random.below(4096))
            try model.append([.int(model.nextKey), .null, .int(1), .double(0)])
        }
        try model.commit()
        try model.check("two levels")
        let keys = model.rows.keys.sorted()
        for key in keys.prefix(20_200) { try model.delete(key) }
        try model.check("mostly deleted")
        try model.commit()
        try model.check("mostly deleted, written")
        for key in keys.dropFirst(20_200) { try model.delete(key) }
        try model.check("empty")
        try model.commit()
        #expect(model.root.isNull)
        #expect(model.file.liveUnitsTotal == 0)
    }

    /// Old objects go at random, new ones come: what is left of old leaves is put together, and the tree stays small.
    /// Seven objects deleted in every order, in one leaf, in one leaf each, and in leaves of one to three; every other
    /// time the last three come while others go.
    @Test func everyOrderOfDeletingSeven() throws {
        let gaps: [[Int64]] = [
            [0, 0, 0, 0, 0, 0, 0], [0, 4095, 4095, 4095, 4095, 4095, 4095], [4090, 0, 10, 0, 0, 4090, 0],
        ]
        var orders: [[Int]] = [[]]
        for item in 0..<7 {
            orders = orders.flatMap { order in
                (0...order.count).map { Array(order[..<$0]) + [item] + Array(order[$0...]) }
            }
        }
        #expect(orders.count == 5040)
        var model = Model(TestSchema([(.int, false), (.string, true)]), seed: 3, pages: 1 << 12)
        for (number, order) in orders.enumerated() {
            if number % 60 == 0 { model = Model(model.schema, seed: UInt64(number), pages: 1 << 12) }
            let gaps = gaps[number % 3], comeLater = number % 2 == 0
            var made: [Int64] = []
            func put() throws {
                try model.append(
                    [.int(Int64(made.count)), made.count % 3 == 0 ? .null : .text(Array("object \(made.count)".utf8))],
                    skip: gaps[made.count])
                made.append(model.nextKey - 1)
            }
            while made.count < (comeLater ? 4 : 7) { try put() }
            if number % 5 != 0 { try model.commit() }
            // One that is not there yet waits until it is.
            var waiting: [Int] = []
            for item in order {
                if item < made.count { try model.delete(made[item]) } else { waiting.append(item) }
                if made.count < 7 { try put() }
                if number % 7 == 0 { try model.compact() }
                try model.check("order \(order), \(item)")
            }
            for item in waiting {
                try model.delete(made[item])
                try model.check("order \(order), \(item) at last")
            }
            if number % 5 != 1 { try model.commit() }
            if number % 5 != 1, !model.root.isNull || model.file.liveUnitsTotal != 0 {
                Issue.record("order \(order) leaves something")
            }
        }
    }

    @Test func churnWithCompaction() throws {
        let model = Model(TestSchema([(.int, false), (.string, true), (.double, false), (.timestamp, true)]), seed: 21)
        func put() throws {
            try model.append([
                .int(model.nextKey), model.nextKey % 10 == 0 ? .null : .text(Array("name \(model.nextKey)".utf8)),
                .double(Double(model.nextKey).bitPattern), .timestamp(model.nextKey, 7),
            ])
        }
        for _ in 0..<12_000 { try put() }
        try model.commit()
        let size = model.file.liveUnitsTotal
        var most = 0, shuffler = IndexRandom(7)
        for round in 0..<40 {
            var keys = model.rows.keys.sorted()
            keys.shuffle(using: &shuffler)
            for key in keys.prefix(2400) { try model.delete(key) }
            for _ in 0..<2400 { try put() }
            try model.compact()
            if round % 8 == 7 { try model.check("round \(round)") }
            try model.commit()
            most = max(most, model.file.liveUnitsTotal)
        }
        try model.check("after")
        #expect(most * 10 < size * 17, "\(size) units at first, \(most) at most")
        // And without it the tree grows: the rows of old leaves lie between holes.
        for key in model.rows.keys.sorted() { try model.update(key, 0, .int(-key)) }
        try model.check("all updated")
        try model.commit()
        for key in model.rows.keys.sorted().dropLast(10) { try model.delete(key) }
        try model.compact()
        try model.commit()
        try model.check("ten left")
        #expect(model.file.liveUnitsTotal < 100)
    }

    /// The last leaf keeps its slots and frees the texts of its holes, once.
    @Test func theLastLeafIsThinned() throws {
        for (index, few) in [3, 40].enumerated() {
            let model = Model(TestSchema([(.int, false), (.string, true), (.binary, false)]), seed: UInt64(23 + index))
            for _ in 0..<6000 {
                let kind = model.nextKey % 5
                try model.append([
                    .int(model.nextKey), kind == 0 ? .null : .text(Array("one of seven, \(model.nextKey % 7)".utf8)),
                    .text(Array(repeating: UInt8(kind), count: kind == 1 ? 9000 : 700)),
                ])
            }
            try model.commit()
            let size = model.file.liveUnitsTotal
            for key in model.rows.keys.sorted() where key % Int64(few) != 0 { try model.delete(key) }
            try model.compact()
            try model.check("thinned")
            try model.commit()
            #expect(
                model.file.liveUnitsTotal * (few - 1) < size * 2,
                "\(size) units at first, \(model.file.liveUnitsTotal) after")
            let root = model.root
            try model.compact()
            try model.commit()
            #expect(model.root == root, "a compact tree is left as it is")
            for _ in 0..<20 { try model.append([.int(model.nextKey), .null, .text([1, 2, 3])]) }
            try model.check("appended")
            try model.commit()
            // The leaf with the last rows goes; the one before, whose keys are listed, is the last.
            for key in model.rows.keys.sorted() where key >= 4096 { try model.delete(key) }
            for key in model.rows.keys.sorted().dropFirst(3) { try model.delete(key) }
            try model.compact()
            try model.check("three left")
            try model.commit()
            #expect(model.file.liveUnitsTotal < 160)
            try model.append([.int(1), .text([65]), .text([])], skip: 5000)
            try model.check("end")
        }
    }

    /// A leaf for each few objects, far more inner nodes than the rest needs: they are put together, too.
    @Test func innerNodesAreRebuilt() throws {
        let model = Model(TestSchema([(.int, false)]), seed: 22)
        for index in 0..<12_000 {
            model.nextKey = Int64(index) * 4096 + Int64(index % 100)
            try model.append([.int(Int64(index))])
        }
        try model.commit()
        guard case .inner(let root) = try model.reader().rootNode() else { throw Model.Mismatch() }
        #expect(ClusterInner.level(root) == 3)
        try model.compact()
        try model.check("compacted")
        try model.commit()
        guard case .inner(let now) = try model.reader().rootNode() else { throw Model.Mismatch() }
        #expect(ClusterInner.level(now) == 2)
        for key in model.rows.keys.sorted().dropFirst(1) where key % 3 != 0 { try model.delete(key) }
        try model.compact()
        try model.append([.int(1)], skip: 5000)
        try model.check("less")
        try model.commit()
        try model.compact()
        try model.commit()
        guard case .inner(let last) = try model.reader().rootNode() else { throw Model.Mismatch() }
        #expect(ClusterInner.level(last) == 1)
        try model.check("end")
    }

    @Test func discardAllFreesEverything() throws {
        let model = Model(.everyKind(), seed: 9)
        for _ in 0..<6000 { try model.append(model.randomRow()) }
        try model.commit()
        for _ in 0..<50 { try model.update(model.randomKey(), 1, .text(Array(repeating: 65, count: 5000))) }
        try model.write().discardAll()
        model.rows = [:]
        try model.append(model.randomRow())
        try model.commit()
        try model.check("one row")
        try model.write().discardAll()
        model.rows = [:]
        try model.commit()
        #expect(model.file.liveUnitsTotal == 0)
    }

    /// 64 MiB in one cell: comes back, and never lies in a segment.
    @Test func hugeValue() throws {
        let model = Model(TestSchema([(.int, false), (.binary, true)]), seed: 3)
        for index in 0..<100 { try model.append([.int(Int64(index)), .text([1, 2, 3])]) }
        try model.commit()
        let huge = TestValue.text(pattern(64 << 20))
        try model.update(50, 1, huge)
        try model.commit()
        #expect(model.file.lastWritten < (64 << 20) + (64 << 10))
        try model.check("huge")
        try model.update(10, 0, .int(7))
        try model.commit()
        #expect(model.file.lastWritten <= 2 * PageSize.page)
        try model.delete(50)
        try model.commit()
        #expect(model.file.liveUnitsTotal < 64)
        try model.check("gone")
    }

    /// Columns that came or went: fill values, dropped parts, all without rewriting a leaf.
    @Test func columnsComeAndGo() throws {
        let first = TestSchema([
            ColumnSpec(id: 1, kind: .int, nullable: false), ColumnSpec(id: 2, kind: .string, nullable: true),
            ColumnSpec(id: 3, kind: .timestamp, nullable: false),
        ])
        let model = Model(first, seed: 4)
        for index in 0..<5000 {
            let text: [UInt8] = Array(repeating: 66, count: index % 500 == 0 ? 6000 : 7)
            try model.append([.int(Int64(index * 3)), .text(text), .timestamp(Int64(index), 5)])
        }
        try model.commit()
        let fill: StaticString = "filled"
        let second = TestSchema([
            ColumnSpec(id: 1, kind: .int, nullable: false),
            ColumnSpec(id: 4, kind: .int, nullable: false, fill: .int(-7)),
            ColumnSpec(id: 5, kind: .string, nullable: true, fill: .string(fill.utf8Start, 6)),
            ColumnSpec(id: 6, kind: .timestamp, nullable: true),
            ColumnSpec(id: 7, kind: .bool, nullable: false, fill: .bool(true)),
        ])
        model.schema = second
        model.rows = model.rows.mapValues { [$0[0], .int(-7), .text(Array("filled".utf8)), .null, .bool(true)] }
        model.committed = model.rows
        try model.check("added, nothing written")
        let before = model.file.liveUnitsTotal
        try model.update(10, 1, .int(-7))
        try model.update(11, 1, .int(12))
        try model.update(12, 2, .null)
        try model.update(13, 3, .timestamp(1, 2))
        try model.update(14, 4, .bool(false))
        try model.append([.int(1), .int(2), .text([]), .null, .bool(false)])
        try model.check("changed")
        try model.commit()
        try model.check("written")
        #expect(model.file.liveUnitsTotal < before)
        try model.append([.int(1), .int(-7), .text(Array("filled".utf8)), .null, .bool(true)])
        try model.commit()
        try model.check("one more")
        // Columns in another order than their ids.
        let third = TestSchema([second.columns[3], second.columns[0], second.columns[4]])
        model.schema = third
        model.rows = model.rows.mapValues { [$0[3], $0[0], $0[4]] }
        model.committed = model.rows
        try model.check("reordered")
        for key in stride(from: Int64(0), to: 5000, by: 50) { try model.update(key, 0, .timestamp(key, 9)) }
        try model.append([.null, .int(4), .bool(true)])
        try model.commit()
        try model.check("reordered, written")
    }

    /// Births are stored as 32-bit differences: a leaf older than that is rewritten as a whole.
    @Test func oldLeafIsRewritten() throws {
        let model = Model(.everyKind(), seed: 8)
        for _ in 0..<3000 { try model.append(model.randomRow()) }
        try model.commit()
        for age in [1 << 31, 1 << 32, (1 << 32) + 5] as [UInt64] {
            model.file.version += age
            try model.update(3, 0, .int(4))
            try model.commit()
            try model.check("older by \(age)")
        }
    }

    @Test func wrongArgumentsChangeNothing() throws {
        let model = Model(TestSchema([(.int, false), (.string, true)]), seed: 1)
        try model.append([.int(1), .null])
        let writer = model.write()
        func fails(_ body: () throws(StoreError) -> Void) {
            do { try body(); Issue.record("no error") } catch { #expect(error.code == .invalidArgument) }
        }
        let wrong: [[Value]] = [[.null, .null], [.bool(true), .null], [.int(1), .int(1)]]
        for row in wrong {
            row.withUnsafeBufferPointer { row in
                fails { () throws(StoreError) in try writer.append(5, row.baseAddress!) }
            }
        }
        let right: [Value] = [.int(1), .null]
        right.withUnsafeBufferPointer { row in
            fails { () throws(StoreError) in try writer.append(0, row.baseAddress!) }
            fails { () throws(StoreError) in try writer.append(-1, row.baseAddress!) }
            fails { () throws(StoreError) in try writer.append(LeafHead.maximumKey, row.baseAddress!) }
        }
        fails { () throws(StoreError) in _ = try writer.update(0, 0, .null) }
        fails { () throws(StoreError) in _ = try writer.update(0, 1, .int(1)) }
        #expect(!writer.isBroken)
        #expect(try writer.update(99, 0, .int(2)) == false)
        #expect(try writer.delete(99) == false)
        try model.commit()
        try model.check("unchanged")
    }

    /// Values that point into the page they are about to change.
    @Test func borrowedValues() throws {
        let model = Model(TestSchema([(.string, false), (.string, false)]), seed: 2)
        for index in 0..<600 {
            try model.append([.text(Array("value number \(index)".utf8)), .text(Array("x\(index)".utf8))])
        }
        try model.commit()
        let writer = model.write()
        for key in Int64(0)..<600 {
            let other = Int64((key * 7 + 13) % 600)
            let reader = try writer.reader()
            let value = try reader.value(try #require(try reader.find(other)), Int(key % 2))
            model.rows[key]![0] = TestValue(value)
            #expect(try writer.update(key, 0, value))
        }
        for key in Int64(600)..<900 {
            let reader = try writer.reader()
            let row = try #require(try reader.find(key - 300))
            let values = [try reader.value(row, 0), try reader.value(row, 1)]
            model.rows[key] = values.map { TestValue($0) }
            try values.withUnsafeBufferPointer { try writer.append(key, $0.baseAddress!) }
        }
        model.nextKey = 900
        try model.check("borrowed")
        try model.commit()
        try model.check("borrowed, written")
    }

    @Test func columnVectors() throws {
        let model = Model(.everyKind(), seed: 21)
        try model.append(model.randomRow())
        var count = 1
        for round in 0..<6 {
            let rows = round == 4 ? 9000 : count
            count += 700
            var data: [[TestValue]] = []
            for _ in 0..<rows { data.append(model.randomRow()) }
            if round == 1 { model.nextKey += 3000 }
            try appendVectors(model, data)
            for (index, row) in data.enumerated() {
                model.rows[model.nextKey + Int64(index)] = row
                model.keys.append(model.nextKey + Int64(index))
            }
            model.nextKey += Int64(rows)
            if round % 2 == 0 { try model.append(model.randomRow()) }
            try model.check("round \(round)")
            if round % 3 == 0 { try model.commit() }
        }
        try model.commit()
        try model.check("end")
    }

    private func appendVectors(_ model: Model, _ rows: [[TestValue]]) throws {
        var vectors: [ColumnVector] = []
        var owned: [UnsafeMutableRawPointer] = []
        func allocate(_ bytes: Int) -> UnsafeMutableRawPointer {
            let pointer = UnsafeMutableRawPointer.allocate(byteCount: bytes + 8, alignment: 8)
            owned.append(pointer)
            return pointer
        }
        defer { for pointer in owned { pointer.deallocate() } }
        for (column, kind) in model.schema.kinds.enumerated() {
            let validity = allocate(rows.count / 8 + 1).assumingMemoryBound(to: UInt8.self)
            validity.update(repeating: 0, count: rows.count / 8 + 1)
            let words = allocate(rows.count * 8).assumingMemoryBound(to: Int64.self)
            let bytes = allocate(rows.count).assumingMemoryBound(to: UInt8.self)
            let second = allocate(rows.count * 8).assumingMemoryBound(to: Int64.self)
            let singles = allocate(rows.count * 4).assumingMemoryBound(to: UInt32.self)
            let offsets = allocate((rows.count + 1) * 8).assumingMemoryBound(to: Int64.self)
            var blob: [UInt8] = []
            offsets[0] = 0
            for (index, row) in rows.enumerated() {
                words[index] = 99
                bytes[index] = 1
                second[index] = 7
                singles[index] = 0x7f80_0001
                validity[index / 8] |= row[column] == .null ? 0 : 1 << UInt8(index % 8)
                switch row[column] {
                case .null: break
                case .bool(let v): bytes[index] = v ? 3 : 0
                case .int(let v): words[index] = v
                case .double(let v): words[index] = Int64(bitPattern: v)
                case .timestamp(let s, let n): (words[index], second[index]) = (s, n)
                case .float(let v): singles[index] = v
                case .decimal, .id:
                    TestValue.with([row[column]], [kind]) { (words[index], second[index]) = ($0[0].low, $0[0].high) }
                case .text(let v): blob += v
                }
                offsets[index + 1] = Int64(blob.count)
            }
            let text = allocate(blob.count)
            blob.withUnsafeBytes { if $0.count > 0 { text.copyMemory(from: $0.baseAddress!, byteCount: $0.count) } }
            let valid = model.schema.nullable[column] ? UnsafePointer(validity) : nil
            switch kind {
            case .bool: vectors.append(ColumnVector(layout: .bytes, numbers: UnsafeRawPointer(bytes), validity: valid))
            case .string, .binary:
                vectors.append(
                    ColumnVector(
                        layout: .text, offsets: UnsafePointer(offsets), bytes: UnsafeRawPointer(text), validity: valid))
            case .float:
                vectors.append(ColumnVector(layout: .singles, numbers: UnsafeRawPointer(singles), validity: valid))
            default:
                vectors.append(
                    ColumnVector(
                        layout: .words, numbers: UnsafeRawPointer(words),
                        secondWords: kind.isPair ? UnsafePointer(second) : nil, validity: valid))
            }
        }
        try vectors.withUnsafeBufferPointer {
            try model.write().appendColumns(firstKey: model.nextKey, count: rows.count, $0.baseAddress!)
        }
    }
}
