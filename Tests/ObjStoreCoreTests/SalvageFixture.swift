import Foundation
import Testing

import ObjStoreCore

/// A store of several classes with every kind of property, what it holds, and where in its file everything lies.
final class SalvageFixture: @unchecked Sendable {  // immutable once made
    /// A value of the oracle, with bytes of its own.
    typealias Row = [OwnedValue]

    /// An extent of the file and what it is.
    struct Place {
        enum Kind: Equatable {
            case root, schema, freeMap
            case classNode, inner, head
            /// Of a property; nil: of one that the class no longer has.
            case part(Int), fingerprints(Int), longValue(Int)
            /// The list of keys of a sparse leaf.
            case keys
            /// By property; `compound` and a number are compound ones.
            case indexInner(Int), indexLeaf(Int)
        }
        var kind: Kind
        var cls: Int
        var bytes: Range<Int>
        /// Objects that depend on it.
        var keys: Range<Int64>
    }

    let schema: Schema
    let store: [UInt8]
    let log: [UInt8]?
    /// By class and key.
    let oracle: [[Int64: Row]]
    let places: [Place]
    let meta: Meta

    static let compound = 100

    /// "Everything" has an int key, a unique property, indexes of one and of several properties and all kinds; "Named"
    /// a string key; "Plain" neither key nor index. A link's target is the number in its flags.
    static let schema = Schema(
        classes: [
            cls(
                "Everything", 0,
                [
                    ("id", .int, "p"), ("flag", .bool, ""), ("number", .int, "i"), ("score", .double, ""),
                    ("name", .string, ""), ("bytes", .binary, ""),
                    ("time", .timestamp, ""), ("maybe", .int, "n"), ("note", .string, "n"), ("level", .double, "n"),
                    ("tag", .string, "ni"),
                    ("ratio", .float, "ni"), ("price", .decimal128, "ni"), ("code", .uuid, "iu"),
                    ("origin", .objectID, "i"), ("named", .link, "n1"), ("other", .link, "n0"),
                ], [([14, 3], true), ([10, 2, 8], false)]),
            cls("Named", 1, [("key", .string, "p"), ("value", .int, ""), ("text", .string, "")]),
            cls("Plain", 2, [("x", .int, ""), ("y", .double, "n"), ("link", .link, "n0")]),
        ], version: 1)

    private static func cls(
        _ name: String, _ id: UInt32, _ properties: [(String, ValueKind, String)], _ compounds: [([Int], Bool)] = []
    ) -> ClassSchema {
        var all: [PropertySchema] = []
        for (index, (name, kind, flags)) in properties.enumerated() {
            let fallback = Array("lost".utf8).withUnsafeBytes { OwnedValue(.string($0.baseAddress, 4)) }
            all.append(
                PropertySchema(
                    name: name, kind: kind, columnID: UInt32(index), isNullable: flags.contains("n"),
                    isPrimaryKey: flags.contains("p"),
                    isIndexed: flags.contains("i"), isUnique: flags.contains("u"), target: flags.last?.wholeNumberValue,
                    defaultValue: name == "text" ? fallback : nil))
        }
        let indexes = compounds.enumerated().map {
            IndexSchema(id: IndexSchema.firstCompoundID + UInt32($0), properties: $1.0, isUnique: $1.1)
        }
        return ClassSchema(
            name: name, id: id, properties: all, nextColumnID: UInt32(all.count), compounds: indexes,
            nextIndexID: IndexSchema.firstCompoundID + UInt32(indexes.count))
    }

    /// - Parameters:
    ///   - after: commits after the last checkpoint, of some rows each; the file is then taken as a killed process
    ///     leaves it.
    ///   - keeps: of this many objects only one is kept, and the rest compacted.
    init(rows: Int, after: Int = 0, keeps: Int64 = 1) throws {
        let folder = TestFolder(), path = folder["db"]
        var options = StoreOptions()
        options.hasBackgroundThread = false
        let database = try Database.open(path, options: options, machine: RealMachine.shared)
        var random = Numbers(seed: UInt64(rows))
        var made = 0
        while made < rows {
            let transaction = try WriteTransaction.begin(database)
            if made == 0 { try transaction.setSchema(SalvageFixture.schema) }
            for _ in 0..<min(4000, rows - made) {
                for cls in 0..<3 { try SalvageFixture.create(transaction, cls, made, &random) }
                made += 1
            }
            try transaction.commit(StoreOptions.Durability.none)
        }
        let transaction = try WriteTransaction.begin(database)
        for key in 0..<Int64(rows) where key % 7 == 3 {
            try transaction.delete(0, key)
            try transaction.delete(2, key)
            try transaction.state(1).update(key, 1, .int(key * 1_000_003))
        }
        try transaction.commit(StoreOptions.Durability.none)
        if keeps > 1 {
            let transaction = try WriteTransaction.begin(database)
            for cls in 0..<3 {
                for key in 0..<Int64(rows) where key % keeps != 0 && (cls == 1 || key % 7 != 3) {
                    try transaction.delete(cls, key)
                }
            }
            try transaction.commit(StoreOptions.Durability.none)
            try database.compact(timeout: -1) { _, _ in }
        }
        try database.checkpoint()
        for round in 0..<after {
            let transaction = try WriteTransaction.begin(database)
            for cls in 0..<3 { try SalvageFixture.create(transaction, cls, rows + round, &random) }
            try transaction.state(0).update(Int64(round * 7 + 1), 2, .int(Int64(-round)))
            try transaction.state(0).update(Int64(round * 7 + 1), 15, .null)
            try transaction.state(0).update(Int64(round * 7 + 1), 3, .double(Double(round) + 0.5))
            try transaction.delete(1, Int64(round * 7 + 2))
            try transaction.commit(StoreOptions.Durability.none)
        }
        schema = try database.snapshot().schema
        var oracle: [[Int64: Row]] = []
        do {
            let snapshot = try database.snapshot()
            for cls in schema.classes.indices {
                var objects: [Int64: Row] = [:]
                try snapshot.forEachObject(cls) { (key, values) throws(StoreError) in
                    objects[key] = values.map { OwnedValue($0) }
                }
                oracle.append(objects)
            }
        }
        self.oracle = oracle
        if after == 0 { try database.close() }
        store = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        log = try? [UInt8](Data(contentsOf: URL(fileURLWithPath: path + "-log")))
        if after > 0 { try database.close() }
        try Data(store).write(to: URL(fileURLWithPath: folder["copy"]))
        let image = try StoreImage.open(folder["copy"], machine: RealMachine.shared)
        defer { image.close() }
        meta = try #require(Database.newestMeta(image.slots.map(\.meta))?.meta)
        places = try SalvageFixture.find(image, meta, schema)
    }

    struct Numbers: RandomNumberGenerator {
        private var state: UInt64
        init(seed: UInt64) { state = seed &+ 0x9e37_79b9_7f4a_7c15 }
        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var z = state
            z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
            z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
            return z ^ (z >> 31)
        }
        mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
    }

    private static func create(
        _ transaction: WriteTransaction, _ cls: Int, _ index: Int, _ random: inout Numbers
    ) throws {
        var kept: [[UInt8]] = []
        func text(_ length: Int) -> Value {
            kept.append((0..<max(1, length)).map { _ in UInt8(97 + random.below(26)) })
            return kept.last!.withUnsafeBytes { .string($0.baseAddress, length) }
        }
        /// One of the few objects before, if it is there; half of them go to the first.
        func link(_ target: Int) throws -> Value {
            let key = random.below(2) == 0 ? 0 : Int64(max(0, index - 1 - random.below(40)))
            return random.below(4) > 0 && index > 0
                ? try transaction.state(target).contains(key) ? Value(kind: .link, low: key) : .null : .null
        }
        var values: [Value]
        switch cls {
        case 0:
            let bytes = text(random.below(30))
            values = [
                .int(Int64(index) * 3 + 1), .bool(random.below(2) == 0), .int(Int64(random.below(100_000))),
                .double(Double(random.below(1 << 40)) / 7),
                text(1 + random.below(12)), .binary(bytes.pointer, bytes.count),
                .timestamp(seconds: Int64(random.below(1 << 30)), nanoseconds: Int32(random.below(999_999_999))),
                random.below(3) == 0 ? .null : .int(Int64(random.below(1 << 50))),
                random.below(3) == 0
                    ? .null : text(random.below(40) == 0 ? 5000 + random.below(3000) : random.below(20)),
                random.below(3) == 0 ? .null : .double(Double(random.below(1 << 40)) / 3),
                random.below(3) == 0 ? .null : text(index % 50 == 0 ? 70 : 1 + random.below(20)),
                random.below(3) == 0
                    ? .null : .float([0, -0.0, .nan, Float(random.below(1 << 20)) / 8][random.below(4)]),
                // Several ways to write one number: an index knows which number, not which way.
                random.below(3) == 0
                    ? .null
                    : .decimal128(
                        Decimal128(
                            isNegative: false, exponent: 6176 - random.below(4),
                            coefficient: UInt128(random.below(500) * 10))),
                Value(
                    kind: .uuid, low: Int64(truncatingIfNeeded: random.next()),
                    high: Int64(truncatingIfNeeded: random.next())),
                Value(
                    kind: .objectID, low: Int64(truncatingIfNeeded: random.next()), high: Int64(random.below(1 << 32))),
                try link(1), try link(0),
            ]
        case 1: values = [text(12 + random.below(4)), .int(Int64(random.below(1 << 45))), text(random.below(15))]
        default:
            values = [
                .int(Int64(random.below(1 << 33))),
                random.below(4) == 0 ? .null : .double(Double(random.below(1 << 33)) / 3), try link(0),
            ]
        }
        _ = try values.withUnsafeBufferPointer { try transaction.state(cls).create($0.baseAddress!) }
        withExtendedLifetime(kept) {}
    }

    // MARK: Where everything lies

    private static func find(_ image: StoreImage, _ meta: Meta, _ schema: Schema) throws -> [Place] {
        let source = image.source(meta)
        var places: [Place] = []
        func add(_ kind: Place.Kind, _ cls: Int, _ ref: Ref, _ bytes: Int, _ keys: Range<Int64> = 0..<0) {
            places.append(Place(kind: kind, cls: cls, bytes: ref.offset..<ref.offset + bytes, keys: keys))
        }
        func node(
            _ kind: Place.Kind, _ cls: Int, _ ref: Ref, _ nodeKind: NodeKind, _ keys: Range<Int64> = 0..<0
        ) throws -> UnsafeRawPointer {
            let node = try source.node(ref, nodeKind)
            add(kind, cls, ref, NodeHeader.bytes(node), keys)
            return node
        }
        let root = try node(.root, -1, meta.root, .root)
        _ = try node(.schema, -1, RootNode.schema(root), .schema)
        _ = try node(.freeMap, -1, meta.freeMap, .freeMap)
        for (index, cls) in schema.classes.enumerated() {
            let classNode = try node(.classNode, index, RootNode.classNode(root, index), .classRoot, 0..<Int64.max)
            func leaf(_ ref: Ref) throws {
                let head = try source.node(ref, .leafHead), rows = LeafHead.rows(head), keys = LeafKeys(source, head)
                func range(_ first: Int, _ end: Int) throws -> Range<Int64> {
                    try keys.key(first)..<(try keys.key(end - 1)) + 1
                }
                let all = try range(0, rows)
                add(.head, index, ref, NodeHeader.bytes(head), all)
                for line in 0..<LeafHead.entries(head) {
                    let entry = LeafEntry(head + LeafHead.directory + line << 6)
                    if entry.columnID == LeafKeys.column {
                        LeafExtents(source).forEachPart(head, entry) { (raw, bytes, _, _, _) in
                            add(.keys, index, Ref(raw: raw), bytes, all)
                        }
                        continue
                    }
                    let property = try #require(cls.properties.firstIndex { $0.columnID == entry.columnID })
                    var segment = 0
                    try LeafExtents(source).forEachPart(head, entry) { (raw, bytes, _, _, kind) throws in
                        if kind == .fingerprints {
                            add(.fingerprints(property), index, Ref(raw: raw), bytes, all)
                        } else {
                            let first = segment * entry.segmentRows
                            add(
                                .part(property), index, Ref(raw: raw), bytes,
                                try range(first, min(rows, first + entry.segmentRows)))
                            segment += 1
                        }
                    }
                    guard entry.isText, entry.flags & LeafEntry.Flags.longValues != 0 else { continue }
                    for slot in 0..<rows where LeafHead.isLive(head, slot) {
                        let part = try LeafReader(source: source).textSegment(
                            head, entry, segment: entry.segmentIndex(slot), rows: 1)
                        let row = slot & (entry.segmentRows - 1)
                        guard StringSegment.isLong(part, row) else { continue }
                        let value = LongValue(part + StringSegment.blobOffset(part) + StringSegment.offset(part, row))
                        add(.longValue(property), index, Ref(raw: value.ref), value.bytes, try range(slot, slot + 1))
                    }
                }
            }
            func tree(_ ref: Ref, _ upper: Int64) throws {
                if NodeHeader.kind(source.base + ref.offset) != NodeKind.clusterInner.rawValue { return try leaf(ref) }
                let inner = try source.node(ref, .clusterInner), keys = ClusterInner.keys(inner),
                    count = NodeHeader.count(inner)
                add(.inner, index, ref, NodeHeader.bytes(inner), keys[0]..<upper)
                for child in 0..<count {
                    try tree(ClusterInner.ref(inner, child), child + 1 < count ? keys[child + 1] : upper)
                }
            }
            if !ClassNode.cluster(classNode).isNull { try tree(ClassNode.cluster(classNode), .max) }
            func indexTree(_ ref: Ref, _ kind: NodeKind, _ property: Int) throws {
                let found = try node(
                    kind == .indexLeaf ? .indexLeaf(property) : .indexInner(property), index, ref, kind)
                if kind == .indexLeaf { return }
                for child in 0..<NodeHeader.count(found) {
                    try indexTree(IndexInner.ref(found, child), IndexInner.childKind(found), property)
                }
            }
            for (position, schema) in cls.indexes.enumerated() where !ClassNode.indexRoot(classNode, position).isNull {
                let name = schema.isCompound ? SalvageFixture.compound + position - cls.plainIndexes : schema.first
                try indexTree(ClassNode.indexRoot(classNode, position), .indexInner, name)
            }
        }
        return places
    }

    func first(_ kind: Place.Kind, _ cls: Int = -1) throws -> Place {
        try #require(places.first { $0.kind == kind && $0.cls == cls })
    }
    func all(_ kind: Place.Kind, _ cls: Int) -> [Place] { places.filter { $0.kind == kind && $0.cls == cls } }

    /// Objects of a class with keys in a range.
    func keys(_ cls: Int, _ range: Range<Int64>) -> Set<Int64> { Set(oracle[cls].keys.filter { range.contains($0) }) }
}

/// One damaged copy of a fixture's files: checked, salvaged, compared.
final class DamagedStore {
    let folder = TestFolder()
    let fixture: SalvageFixture
    var path: String { folder["damaged"] }
    var newPath: String { folder["new"] }

    init(_ fixture: SalvageFixture, _ change: (inout [UInt8], inout [UInt8]?) -> Void) throws {
        self.fixture = fixture
        var store = fixture.store, log = fixture.log
        change(&store, &log)
        try Data(store).write(to: URL(fileURLWithPath: path))
        if let log { try Data(log).write(to: URL(fileURLWithPath: path + "-log")) }
    }

    /// Flips a bit in the middle of each place.
    convenience init(_ fixture: SalvageFixture, _ places: [SalvageFixture.Place]) throws {
        try self.init(fixture) { store, _ in
            for place in places { store[place.bytes.lowerBound + place.bytes.count / 2] ^= 0x10 }
        }
    }

    func verify() throws -> [ReportEntry] {
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        var report: [ReportEntry] = []
        let check = try StoreFiles.verify(path, progress: { (_, _) throws(StoreError) in }) {
            (entry) throws(StoreError) in report.append(entry)
        }
        #expect(check.findings == report.findings.count)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before, "verify changed the file")
        try expectNoOtherFiles()
        return report
    }

    func salvage() throws -> (report: [ReportEntry], losses: Int) {
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        var report: [ReportEntry] = []
        let salvaged = try StoreFiles.salvage(path, to: newPath, progress: { (_, _) throws(StoreError) in }) {
            (entry) throws(StoreError) in report.append(entry)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before, "salvage changed the file")
        try expectNoOtherFiles()
        return (report, salvaged.losses)
    }

    private func expectNoOtherFiles() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(names).isSubset(of: ["damaged", "damaged-log", "damaged-lock", "new"]), "\(names)")
    }

    /// What the new store holds, by class and key; it must be sound.
    func content() throws -> [[Int64: SalvageFixture.Row]] {
        var options = StoreOptions()
        options.hasBackgroundThread = false
        let database = try Database.open(newPath, options: options, machine: RealMachine.shared)
        var content: [[Int64: SalvageFixture.Row]] = []
        do {
            let snapshot = try database.snapshot()
            #expect(Verifier.findings(snapshot) == [])
            for cls in snapshot.schema.classes.indices {
                var objects: [Int64: SalvageFixture.Row] = [:]
                try snapshot.forEachObject(cls) { (key, values) throws(StoreError) in
                    objects[key] = values.map { OwnedValue($0) }
                }
                content.append(objects)
            }
        }
        try database.close()
        return content
    }
}

extension [ReportEntry] {
    var findings: [String] { compactMap { if case .finding(let text) = $0 { text } else { nil } } }
    var notes: [String] { compactMap { if case .note(let text) = $0 { text } else { nil } } }
    func lost(_ cls: String) -> Int? {
        for entry in self { if case .cls(cls, _, let lost) = entry { return lost } }
        return nil
    }
    func lost(_ cls: String, _ property: String) -> Int {
        for entry in self { if case .property(cls, property, let lost) = entry { return lost } }
        return 0
    }
}
