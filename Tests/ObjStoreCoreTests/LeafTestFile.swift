import CSystem
import Glibc
import Testing

import ObjStoreCore

/// A store file in memory with a page allocator, for tests of trees: begin, change, commit, read.
///
/// Pages are reused at random as soon as the commit after the one that freed them begins, and filled with
/// rubbish until then, so that a tree that keeps a ref to what it gave up is found out.
final class LeafTestFile {
    let base: UnsafeMutableRawPointer
    let capacity: Int
    let checked: UnsafeMutablePointer<UInt16>
    let seed: UInt64 = 0x1234_5678_9abc_def1
    var version: UInt64 = 10
    let arena = try! Arena()
    private var liveUnits: [UInt8]
    /// What lies in use according to the allocator: the sum of `liveUnits`.
    private(set) var liveUnitsTotal = 0
    private var freePages: [Int] = []
    private var nextPage = 3
    private var random: TestRandom
    /// Bytes written by the last commit, padding included.
    private(set) var lastWritten = 0
    private(set) var lastFreed: [FreedExtent] = []

    init(pages: Int, random: TestRandom) {
        capacity = pages * PageSize.page
        base = UnsafeMutableRawPointer(
            mmap(nil, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)!)
        checked = .allocate(capacity: pages * PageSize.unitsPerPage)
        checked.initialize(repeating: 0, count: pages * PageSize.unitsPerPage)
        liveUnits = Array(repeating: 0, count: pages)
        self.random = random
    }

    deinit {
        munmap(base, capacity)
        checked.deallocate()
    }

    var source: PageSource {
        PageSource(base: UnsafeRawPointer(base), limit: capacity, checked: checked, seed: seed, arena: nil)
    }
    var usedBytes: Int { nextPage * PageSize.page }

    func begin() -> WriteSpace {
        arena.reset()
        return WriteSpace(
            arena: arena,
            source: PageSource(
                base: UnsafeRawPointer(base), limit: capacity, checked: checked, seed: seed, arena: arena.table))
    }

    /// Places, writes and frees; returns what `flush` returned.
    func commit(_ space: WriteSpace, _ flush: (ExtentWriter) throws(StoreError) -> Ref) throws -> Ref {
        version += 1
        let writer = ExtentWriter(
            version: version, seed: seed, arena: arena, estimate: arena.capacityInUse,
            takeRun: { [self] (minimum, wanted) throws(StoreError) in
                // Half of the time a single free page where that is enough, else fresh ones.
                if minimum == 1, !freePages.isEmpty, random.below(4) != 0 {
                    return (freePages.remove(at: random.below(freePages.count)), 1)
                }
                let count = random.below(3) == 0 ? minimum : wanted
                guard (nextPage + count) * PageSize.page <= capacity else {
                    throw StoreError(.outOfSpace, "test file is full")
                }
                let page = nextPage
                nextPage += count
                return (page, count)
            },
            release: { [self] (page, count) in for index in page..<page + count { freePages.append(index) } })
        let root = try flush(writer)
        let file = MemoryFile(base: base, capacity: capacity)
        try writer.finish(file)
        lastWritten = file.written
        for placed in writer.placed {
            #expect(liveUnits[placed.page] == 0, "a page in use was written again")
            liveUnits[placed.page] = UInt8(placed.liveUnits)
            liveUnitsTotal += placed.liveUnits
        }
        lastFreed = space.freed
        for extent in space.freed {
            for unit in extent.unit..<extent.unit + extent.units {
                let page = unit / PageSize.unitsPerPage
                #expect(liveUnits[page] > 0, "an extent was freed twice")
                liveUnits[page] -= 1
                liveUnitsTotal -= 1
                memset(base + unit * PageSize.unit, 0xa5, PageSize.unit)
                checked[unit] = 0
                if liveUnits[page] == 0 { freePages.append(page) }
            }
        }
        return root
    }

    /// A source over a copy of the first `bytes` bytes, nothing of it checked yet. The caller frees it.
    func copy(_ bytes: Int) -> (memory: UnsafeMutableRawPointer, checked: UnsafeMutablePointer<UInt16>) {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 4096)
        memory.copyMemory(from: base, byteCount: bytes)
        let words = UnsafeMutablePointer<UInt16>.allocate(capacity: bytes / PageSize.unit)
        words.initialize(repeating: 0, count: bytes / PageSize.unit)
        return (memory, words)
    }
}

private final class MemoryFile: StorageFile, @unchecked Sendable {
    let base: UnsafeMutableRawPointer
    let capacity: Int
    var written = 0
    init(base: UnsafeMutableRawPointer, capacity: Int) {
        self.base = base
        self.capacity = capacity
        super.init()
    }
    override func write(_ vectors: UnsafePointer<WriteVector>, count: Int, at offset: Int) throws(StoreError) {
        var at = offset
        for index in 0..<count {
            precondition(at + vectors[index].count <= capacity)
            memcpy(base + at, vectors[index].base!, vectors[index].count)
            at += vectors[index].count
        }
        precondition(at % PageSize.page == 0 && offset % PageSize.page == 0, "only whole pages are written")
        written += at - offset
    }
}

/// How much the random tests of leaves and trees do: OBJSTORE_TEST_SCALE, 1 where it is not set.
let testScale: Int = getenv("OBJSTORE_TEST_SCALE").flatMap { Int(String(cString: $0)) } ?? 1

/// xorshift; the seed is printed by the tests that fail.
struct TestRandom {
    private var state: UInt64
    init(_ seed: UInt64) {
        state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        for _ in 0..<4 { _ = next() }
    }
    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_f491_4f6c_dd1d
    }
    mutating func below(_ bound: Int) -> Int { bound <= 1 ? 0 : Int((next() >> 11) % UInt64(bound)) }
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}

/// A value that owns its bytes: what the oracle keeps.
enum TestValue: Equatable, CustomStringConvertible {
    case null
    case bool(Bool)
    case int(Int64)
    /// Compared by bit pattern.
    case double(UInt64)
    case text([UInt8])
    case timestamp(Int64, Int64)
    /// Compared by bit pattern, too.
    case float(UInt32)
    case decimal(low: UInt64, high: UInt64)
    /// The bytes of a uuid or an object id.
    case id([UInt8])

    init(_ value: Value) {
        switch value.kind {
        case .null: self = .null
        case .bool: self = .bool(value.low != 0)
        case .double: self = .double(UInt64(bitPattern: value.low))
        case .string, .binary: self = .text(Array(UnsafeRawBufferPointer(start: value.pointer, count: value.count)))
        case .timestamp: self = .timestamp(value.low, value.high)
        case .float: self = .float(UInt32(value.low))
        case .decimal128: self = .decimal(low: value.asDecimal.low, high: value.asDecimal.high)
        case .uuid, .objectID:
            self = .id(
                Array(unsafeUninitializedCapacity: 16) { buffer, count in
                    count = ValueCell.size(value.kind)
                    ValueCell.store(value, buffer.baseAddress!)
                })
        default: self = .int(value.low)
        }
    }

    var description: String {
        switch self {
        case .null: "null"
        case .bool(let v): "\(v)"
        case .int(let v): "\(v)"
        case .double(let v): "\(Double(bitPattern: v))"
        case .text(let v): v.count > 40 ? "text(\(v.count))" : "\"\(String(decoding: v, as: UTF8.self))\""
        case .timestamp(let s, let n): "\(s).\(n)"
        case .float(let v): "\(Float(bitPattern: v))"
        case .decimal(let low, let high): NaiveDecimal(low, high).description
        case .id(let bytes): bytes.map { String($0, radix: 16) }.joined(separator: " ")
        }
    }

    /// `Value`s of a whole row, valid inside `body`.
    static func with<R>(
        _ row: [TestValue], _ kinds: [ValueKind], _ body: (UnsafePointer<Value>) throws -> R
    ) rethrows -> R {
        let values = UnsafeMutablePointer<Value>.allocate(capacity: max(1, row.count))
        var memory: [UnsafeMutableRawPointer] = []
        defer {
            values.deallocate()
            for pointer in memory { pointer.deallocate() }
        }
        for (index, value) in row.enumerated() {
            let result: Value
            switch value {
            case .null: result = .null
            case .bool(let v): result = .bool(v)
            case .int(let v): result = .int(v)
            case .double(let v): result = Value(kind: .double, low: Int64(bitPattern: v))
            case .timestamp(let s, let n): result = Value(kind: .timestamp, low: s, high: n)
            case .float(let v): result = .float(Float(bitPattern: v))
            case .decimal(let low, let high): result = .decimal128(Decimal128(low: low, high: high))
            case .id(let bytes): result = bytes.withUnsafeBytes { ValueCell.load(kinds[index], $0.baseAddress!) }
            case .text(let v):
                let copy = UnsafeMutableRawPointer.allocate(byteCount: max(1, v.count), alignment: 1)
                v.withUnsafeBytes { if $0.count > 0 { copy.copyMemory(from: $0.baseAddress!, byteCount: $0.count) } }
                memory.append(copy)
                result = Value(kind: kinds[index], pointer: UnsafeRawPointer(copy), count: v.count)
            }
            (values + index).initialize(to: result)
        }
        return try body(UnsafePointer(values))
    }
}

/// A schema whose memory lives as long as the object.
final class TestSchema {
    let columns: UnsafeBufferPointer<ColumnSpec>
    let kinds: [ValueKind]
    let nullable: [Bool]

    init(_ specs: [ColumnSpec]) {
        let memory = UnsafeMutableBufferPointer<ColumnSpec>.allocate(capacity: specs.count)
        _ = memory.initialize(from: specs)
        columns = UnsafeBufferPointer(memory)
        kinds = specs.map(\.kind)
        nullable = specs.map(\.nullable)
    }
    convenience init(_ columns: [(ValueKind, Bool)]) {
        self.init(
            columns.enumerated().map {
                ColumnSpec(id: UInt32($0.offset + 1), kind: $0.element.0, nullable: $0.element.1)
            })
    }
    deinit { columns.deallocate() }

    static func everyKind() -> TestSchema {
        TestSchema([
            (.int, false), (.string, false), (.timestamp, true), (.bool, true), (.double, true), (.binary, true),
            (.int, true), (.timestamp, false),
            (.double, false), (.bool, false), (.string, true), (.float, true), (.uuid, false), (.objectID, true),
            (.decimal128, true),
            (.float, false), (.uuid, true), (.decimal128, false),
        ])
    }
}
