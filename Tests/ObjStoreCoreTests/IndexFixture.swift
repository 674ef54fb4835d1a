import Glibc

import ObjStoreCore

/// A file in memory for index tests: extents are placed one after another and never reused.
final class IndexFile: StorageFile, @unchecked Sendable {
    let memory: UnsafeMutableRawPointer
    let bytes: Int
    let checked: UnsafeMutablePointer<UInt16>
    private(set) var end = 3 * PageSize.page
    let arena = try! Arena()
    private(set) var version: UInt64 = 1

    override init() {
        bytes = 1 << 29
        // Untouched pages of a fresh mapping cost nothing and are zero.
        memory = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)!
        checked = calloc(bytes / PageSize.unit, 2)!.bindMemory(to: UInt16.self, capacity: bytes / PageSize.unit)
        super.init()
    }

    deinit {
        munmap(memory, bytes)
        free(checked)
    }

    override func write(_ vectors: UnsafePointer<WriteVector>, count: Int, at offset: Int) throws(StoreError) {
        var at = memory + offset
        for index in 0..<count {
            at.copyMemory(from: vectors[index].base!, byteCount: vectors[index].count)
            at += vectors[index].count
        }
    }

    /// What readers read through; the arena of the running transaction is seen too.
    var source: PageSource {
        PageSource(
            base: UnsafeRawPointer(memory), limit: bytes, checked: checked, seed: 0x1234_5678_9abc_def1,
            arena: arena.table)
    }
    var space: WriteSpace { WriteSpace(arena: arena, source: source) }

    /// Flushes a writer as a commit would; the arena is empty afterwards.
    func commit(_ writer: IndexWriter) throws(StoreError) -> Ref {
        try commit { (placer) throws(StoreError) in try writer.flush(into: placer) }
    }

    /// The same with any tree: `flush` places its nodes.
    func commit(_ flush: (ExtentWriter) throws(StoreError) -> Ref) throws(StoreError) -> Ref {
        let placer = ExtentWriter(
            version: version, seed: source.seed, arena: arena, estimate: max(PageSize.page, arena.capacityInUse),
            takeRun: { (minimum, wanted) throws(StoreError) in
                guard self.end + minimum * PageSize.page <= self.bytes else {
                    throw StoreError(.outOfSpace, "the test's file is full")
                }
                defer { self.end += minimum * PageSize.page }
                return (self.end / PageSize.page, minimum)
            }, release: { page, count in self.end = min(self.end, page * PageSize.page) })
        let root = try flush(placer)
        try placer.finish(self)
        arena.reset()
        version += 1
        return root
    }
}

/// A small fast generator: the seed is in every failure's message.
struct IndexRandom: RandomNumberGenerator {
    var state: UInt64
    init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }
    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_f491_4f6c_dd1d
    }
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

/// Whether the bytes come first in lexicographical order. The library's `lexicographicallyPrecedes` takes, in tests
/// that are not optimised, a hundred times as long.
func comesBefore(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    let order = memcmp(a, b, min(a.count, b.count))
    return order != 0 ? order < 0 : a.count < b.count
}

/// A value as the tests think of it, ordered without the engine's help.
enum IndexSample: Hashable, Comparable {
    case null
    case integer(Int64)
    case double(UInt64)
    case time(Int64, Int32)
    case text([UInt8])
    case float(UInt32)
    case id([UInt8])
    /// By its number: 1.0 is 1.00.
    case decimal(NaiveDecimal)

    static func < (a: IndexSample, b: IndexSample) -> Bool {
        switch (a, b) {
        case (.null, .null): return false
        case (.null, _): return true
        case (_, .null): return false
        case (.integer(let x), .integer(let y)): return x < y
        case (.double(let x), .double(let y)):
            let x = Double(bitPattern: x), y = Double(bitPattern: y)
            if x.isNaN || y.isNaN { return !x.isNaN && y.isNaN }
            return x < y
        case (.time(let s, let n), .time(let t, let m)): return s < t || (s == t && n < m)
        case (.text(let x), .text(let y)), (.id(let x), .id(let y)): return comesBefore(x, y)
        case (.float(let x), .float(let y)):
            let x = Float(bitPattern: x), y = Float(bitPattern: y)
            if x.isNaN || y.isNaN { return !x.isNaN && y.isNaN }
            return x < y
        case (.decimal(let x), .decimal(let y)): return x < y
        default: fatalError("values of two kinds")
        }
    }

    /// Hands the value to `body`; its bytes are overwritten and freed afterwards.
    func with<R>(_ kind: ValueKind, _ body: (Value) throws -> R) rethrows -> R {
        switch self {
        case .null: return try body(.null)
        case .integer(let value): return try body(Value(kind: kind, low: value))
        case .double(let bits): return try body(Value(kind: .double, low: Int64(bitPattern: bits)))
        case .time(let seconds, let nanoseconds):
            return try body(.timestamp(seconds: seconds, nanoseconds: nanoseconds))
        case .float(let bits): return try body(.float(Float(bitPattern: bits)))
        case .id(let bytes): return try bytes.withUnsafeBytes { try body(ValueCell.load(kind, $0.baseAddress!)) }
        case .decimal(let number): return try body(.decimal128(Decimal128(low: number.low, high: number.high)))
        case .text(let bytes):
            if bytes.isEmpty { return try body(Value(kind: kind)) }
            let copy = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 1)
            defer {
                memset(copy, 0xdd, bytes.count)
                copy.deallocate()
            }
            bytes.withUnsafeBytes { copy.copyMemory(from: $0.baseAddress!, byteCount: bytes.count) }
            return try body(Value(kind: kind, pointer: UnsafeRawPointer(copy), count: bytes.count))
        }
    }

    init(_ value: Value) {
        switch value.kind {
        case .null: self = .null
        case .double: self = .double(IndexSample.canonical(UInt64(bitPattern: value.low)))
        case .timestamp: self = .time(value.low, Int32(value.high))
        case .float: self = .float(value.asFloat.isNaN ? Float.nan.bitPattern : (value.asFloat + 0.0).bitPattern)
        case .decimal128: self = .decimal(NaiveDecimal(value.asDecimal.low, value.asDecimal.high))
        case .uuid, .objectID:
            self = .id(
                Array(unsafeUninitializedCapacity: 16) { buffer, count in
                    count = ValueCell.size(value.kind)
                    ValueCell.store(value, buffer.baseAddress!)
                })
        case .string, .binary:
            self = .text(
                value.count == 0 ? [] : [UInt8](UnsafeRawBufferPointer(start: value.pointer!, count: value.count)))
        default: self = .integer(value.low)
        }
    }

    /// One zero and one NaN.
    static func canonical(_ bits: UInt64) -> UInt64 {
        let value = Double(bitPattern: bits)
        return value.isNaN ? Double.nan.bitPattern : value == 0 ? 0 : bits
    }

    /// Not a number, of kinds that have it; last in the order.
    static func nan(_ kind: ValueKind) -> IndexSample? {
        switch kind {
        case .double: .double(Double.nan.bitPattern)
        case .float: .float(Float.nan.bitPattern)
        case .decimal128: .decimal(NaiveDecimal(0, 0x7c00_0000_0000_0000))
        default: nil
        }
    }

    /// What the index returns: long texts cut.
    var stored: IndexSample {
        if case .text(let bytes) = self { return .text(Array(bytes.prefix(64))) }
        return self
    }
}

/// The rows of a snapshot, for long values. What it returned is overwritten by the next call.
final class IndexRows: IndexLongValues {
    let rows: [Int64: IndexSample]
    private var last: UnsafeMutableRawBufferPointer?

    init(_ rows: [Int64: IndexSample]) { self.rows = rows }
    deinit { forget() }

    private func forget() {
        guard let last else { return }
        memset(last.baseAddress!, 0xee, last.count)
        last.deallocate()
    }

    override func bytes(of objectKey: Int64) throws(StoreError) -> UnsafeRawBufferPointer {
        guard case .text(let bytes)? = rows[objectKey] else {
            throw StoreError(.corrupt, "no long value of object \(objectKey) in the snapshot")
        }
        forget()
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        bytes.withUnsafeBytes { copy.copyMemory(from: $0) }
        last = copy
        return UnsafeRawBufferPointer(start: copy.baseAddress, count: bytes.count)
    }
}

struct IndexFailure: Error, CustomStringConvertible {
    var description: String
}

/// An index, and beside it a sorted array that says what must be in it.
final class IndexModel {
    struct Pair: Comparable, Hashable {
        var value: IndexSample
        var key: Int64
        static func < (a: Pair, b: Pair) -> Bool { a.value < b.value || (!(b.value < a.value) && a.key < b.key) }
    }

    let file = IndexFile()
    let kind: ValueKind
    let unique: Bool
    let limits: IndexLimits
    let name: String
    private(set) var root = Ref.null
    private(set) var space: WriteSpace
    private(set) var writer: IndexWriter
    /// Object key to value, now and in the base snapshot.
    private(set) var rows: [Int64: IndexSample] = [:]
    private(set) var pairs: [Pair] = []
    private(set) var shape = IndexShape()

    init(_ kind: ValueKind, unique: Bool, limits: IndexLimits = .standard, name: String) {
        self.kind = kind
        self.unique = unique
        self.limits = limits
        self.name = name
        space = file.space
        writer = IndexWriter(
            space: space, root: .null, kind: kind, unique: unique, longValues: IndexRows([:]), limits: limits)
    }

    func fail(_ what: String) -> IndexFailure { IndexFailure(description: "\(name): \(what)") }
    func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
        if !condition { throw fail(what()) }
    }

    private func place(_ pair: Pair) -> Int {
        var low = 0, high = pairs.count
        while low < high {
            let middle = (low + high) / 2
            if pairs[middle] < pair { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func hasValue(_ value: IndexSample) -> Bool {
        let index = place(Pair(value: value, key: .min))
        return index < pairs.count && !(value < pairs[index].value)
    }

    func insert(_ value: IndexSample, _ key: Int64) throws {
        try value.with(kind) { try writer.insert($0, key) }
        let pair = Pair(value: value, key: key)
        pairs.insert(pair, at: place(pair))
        rows[key] = value
    }

    func remove(_ key: Int64) throws {
        let value = rows[key]!
        try value.with(kind) { try writer.remove($0, key) }
        let index = place(Pair(value: value, key: key))
        try expect(pairs[index] == Pair(value: value, key: key), "the model lost object \(key)")
        pairs.remove(at: index)
        rows[key] = nil
    }

    /// Commits and compares the whole content; also which extents were freed.
    func commit() throws {
        var before: [Int: Int] = [:]
        try IndexTree.forEachExtent(root, file.source) { (extent) throws(StoreError) in
            before[extent.unit] = extent.units
        }
        root = try file.commit(writer)
        var after: [Int: Int] = [:]
        try IndexTree.forEachExtent(root, file.source) { (extent) throws(StoreError) in
            after[extent.unit] = extent.units
        }
        var freed: [Int: Int] = [:]
        for extent in space.freed {
            try expect(freed[extent.unit] == nil, "an extent is freed twice")
            freed[extent.unit] = extent.units
        }
        for (unit, units) in before {
            try expect((after[unit] == units) != (freed[unit] == units), "extent \(unit) is lost or freed in use")
        }
        for unit in freed.keys { try expect(before[unit] != nil, "extent \(unit) is freed but was not there") }
        begin()
        try check(IndexReader(source: file.source, root: root, kind: kind, longValues: nowRows))
    }

    func cancel(to rows: [Int64: IndexSample], _ pairs: [Pair]) {
        writer.discardAll()
        file.arena.reset()
        self.rows = rows
        self.pairs = pairs
        begin()
    }

    private(set) var nowRows = IndexRows([:])

    private func begin() {
        space = file.space
        nowRows = IndexRows(rows)
        writer = IndexWriter(space: space, root: root, kind: kind, unique: unique, longValues: nowRows, limits: limits)
    }

    /// Whole content and shape of the committed tree.
    func check(_ reader: IndexReader, committed: Bool = true) throws {
        var index = 0
        var problem: String?
        shape = try IndexTree.checkInvariants(
            reader.root, file.source, kind: kind, unique: unique, longValues: committed ? nowRows : IndexRows(rows)
        ) {
            (value, key) throws(StoreError) in
            if problem != nil { return }
            guard index < self.pairs.count else {
                problem = "more than \(self.pairs.count) entries"
                return
            }
            let pair = self.pairs[index]
            if key != pair.key || IndexSample(value) != pair.value.stored {
                problem = "entry \(index) is (\(IndexSample(value)), \(key)), not \(pair)"
            }
            index += 1
        }
        if let problem { throw fail(problem) }
        try expect(index == pairs.count && shape.entries == index, "\(index) entries, not \(pairs.count)")
        var keys: [Int64] = []
        keys.reserveCapacity(pairs.count)
        try reader.forEach(in: IndexRange(lower: .start, upper: nil)) { (key) throws(StoreError) in
            keys.append(key)
            return true
        }
        try expect(keys == pairs.map(\.key), "forEach gives other keys")
    }

    /// Compares answers about one value with the model.
    func probe(_ reader: IndexReader, _ value: IndexSample) throws {
        let before = place(Pair(value: value, key: .min))
        var after = before
        while after < pairs.count, !(value < pairs[after].value) { after += 1 }
        let nulls = place(Pair(value: .null, key: .max)) + (rows[.max] == .null ? 1 : 0)
        let nans = IndexSample.nan(kind).map { pairs.count - place(Pair(value: $0, key: .min)) } ?? 0
        let isNaN = IndexSample.nan(kind).map { !(value < $0) } ?? false
        try value.with(kind) { value in
            let found = try reader.find(value)
            let isRight = found.map { key in pairs[before..<after].contains { $0.key == key } } ?? (before == after)
            try expect(isRight, "find gives \(String(describing: found))")
            var expected: [Comparison: Int] = [.equal: after - before, .notEqual: pairs.count - (after - before)]
            expected[.less] = value.isNull ? 0 : before - nulls
            expected[.lessOrEqual] = value.isNull ? 0 : after - nulls
            expected[.greater] = value.isNull ? 0 : pairs.count - after - nans
            expected[.greaterOrEqual] = value.isNull ? 0 : pairs.count - before - nans
            if isNaN {
                for comparison in expected.keys { expected[comparison] = 0 }
                expected[.notEqual] = pairs.count
            }
            for (comparison, count) in expected {
                let answer = try reader.count(comparison, value)
                try expect(answer == count, "count \(comparison) gives \(answer), not \(count)")
                var visited = 0
                try reader.forEach(comparison, value) { (_) throws(StoreError) in
                    visited += 1
                    return visited < 40
                }
                try expect(visited == min(40, count), "forEach \(comparison) visits \(visited) of \(count)")
            }
            if before < pairs.count {
                try expect(try reader.contains(value, pairs[before].key) == (after > before), "contains is wrong")
                var cursor = IndexCursor(reader)
                try value.withIndexBytes { (value) throws(StoreError) in try cursor.seek(.before(value, kind: kind)) }
                for offset in 0..<min(5, pairs.count - before) {
                    try expect(try cursor.next() == pairs[before + offset].key, "the cursor is wrong at \(offset)")
                }
            }
        }
    }
}
