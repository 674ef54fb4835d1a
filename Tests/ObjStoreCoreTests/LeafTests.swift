import Glibc
import Testing

import ObjStoreCore
import WholeModel

/// Encodings and layouts of single leaves; damage.
@Suite struct LeafTests {
    typealias Model = ClusterTreeTests.Model

    @Test func cellsOfEveryWidth() {
        var random = TestRandom(4)
        for width in [0, 1, 2, 4, 8, 16, 32, 64] {
            #expect(NumberCodec.isWidth(width))
            let top: UInt64 = width == 64 ? .max : (1 << UInt64(width)) - 1
            #expect(NumberCodec.width(range: top) == width)
            if width < 64 { #expect(NumberCodec.width(range: top + 1) > width) }
            for base in [0, -3, Int64.min, Int64.max] as [Int64] {
                for count in [1, 7, 8, 9, 100] {
                    let values = (0..<count).map { _ in
                        base &+ Int64(bitPattern: width == 64 ? random.next() : random.next() % (top + 1))
                    }
                    let part = UnsafeMutableRawPointer.allocate(byteCount: 1024, alignment: 64)
                    defer { part.deallocate() }
                    part.initializeMemory(as: UInt8.self, repeating: 0, count: 1024)
                    NumberCodec.pack(values, count, width: width, base: base, into: part)
                    if width > 0 {
                        for index in 0..<count {
                            #expect(NumberCodec.cell(part, index, width: width, base: base) == values[index])
                        }
                    }
                    var out = [Int64](repeating: 0, count: count)
                    NumberCodec.unpack(part, first: 0, count, width: width, base: base, into: &out)
                    #expect(out == values || width == 0)
                    if width > 0 {
                        for index in 0..<count {
                            NumberCodec.setCell(part, index, width: width, base: base, values[count - 1 - index])
                        }
                        for index in 0..<count {
                            #expect(
                                NumberCodec.cell(part, index, width: width, base: base) == values[count - 1 - index])
                        }
                    }
                }
            }
        }
    }

    @Test func framesHoldTheirValues() {
        let edges: [Int64] = [
            .min, .min + 1, -70_000, -256, -1, 0, 1, 3, 15, 16, 255, 256, 65535, 65536, 1 << 32, .max - 1, .max,
        ]
        for low in edges {
            for high in edges where high >= low {
                for slack in [false, true] {
                    let (width, base) = NumberCodec.frame(low: low, high: high, slack: slack)
                    #expect(width == NumberCodec.width(range: UInt64(bitPattern: high &- low)))
                    if width == 64 || width == 0 { #expect(base == low); continue }
                    let top = Int64(bitPattern: (1 as UInt64) << UInt64(width) - 1)
                    #expect(base <= low)
                    #expect(
                        !base.addingReportingOverflow(top).overflow && base + top >= high,
                        "\(low) \(high) \(slack): \(base), \(width)")
                }
            }
        }
    }

    /// Segment operations against an array, with texts of every short length and long cells.
    @Test func stringSegment() throws {
        var random = TestRandom(12)
        let part = UnsafeMutableRawPointer.allocate(byteCount: 1 << 17, alignment: 64)
        defer { part.deallocate() }
        for round in 0..<40 {
            StringSegment.initialize(part, rows: 0, capacity: round % 3 == 0 ? 512 : 28, long: round % 4 == 0)
            var expected: [([UInt8], Bool)] = []
            for _ in 0..<700 {
                let long = random.chance(2)
                var bytes = (0..<(long ? 24 : random.below(random.chance(5) ? 90 : 12))).map { _ in
                    UInt8(truncatingIfNeeded: random.next())
                }
                // A cell whose ref is neither null nor dirty.
                if long { bytes[0] = 1; bytes[7] = 0; bytes[8] = 1 }
                let appends = expected.count < 512 && (expected.isEmpty || random.chance(70))
                let row = random.below(expected.count)
                let needed = StringSegment.bytesNeeded(
                    part, replacing: appends ? nil : row, count: bytes.count, long: long)
                bytes.withUnsafeBytes {
                    if appends {
                        StringSegment.append(part, $0.baseAddress, count: $0.count, long: long)
                    } else {
                        StringSegment.replace(part, row: row, with: $0.baseAddress, count: $0.count, long: long)
                    }
                }
                if appends { expected.append((bytes, long)) } else { expected[row] = (bytes, long) }
                try #require(StringSegment.bytes(part) == needed)
                try #require(StringSegment.isWellFormed(part, bytes: needed))
                try #require(!StringSegment.isWellFormed(part, bytes: needed - 1))
            }
            for (row, value) in expected.enumerated() {
                let start = StringSegment.offset(part, row), end = StringSegment.offset(part, row + 1)
                let found = Array(
                    UnsafeRawBufferPointer(start: part + StringSegment.blobOffset(part) + start, count: end - start))
                try #require(
                    found == value.0 && StringSegment.isLong(part, row) == value.1, "round \(round) row \(row)")
            }
        }
    }

    /// A long text gives way to the first cell of a segment: the blob moves to make room for the bitmap, and never
    /// needs more memory than the larger of before and after.
    @Test func firstLongValueOfASegment() throws {
        for length in [0, 24, 25, 60, 100, 4096] {
            let part = UnsafeMutableRawPointer.allocate(byteCount: 1 << 14, alignment: 64)
            defer { part.deallocate() }
            StringSegment.initialize(part, rows: 0, capacity: 28, long: false)
            let old = [UInt8](repeating: 65, count: length), other = Array("another".utf8)
            for text in [other, old, other] {
                text.withUnsafeBytes { StringSegment.append(part, $0.baseAddress, count: $0.count, long: false) }
            }
            var cell = [UInt8](repeating: 1, count: StringSegment.cellBytes)
            cell[7] = 0
            let needed = StringSegment.bytesNeeded(part, replacing: 1, count: cell.count, long: true)
            let end = max(needed, StringSegment.bytes(part))
            memset(part + end, 0xa5, (1 << 14) - end)
            cell.withUnsafeBytes {
                StringSegment.replace(part, row: 1, with: $0.baseAddress, count: $0.count, long: true)
            }
            #expect(StringSegment.isWellFormed(part, bytes: needed))
            #expect(
                UnsafeRawBufferPointer(start: part + end, count: (1 << 14) - end).allSatisfy { $0 == 0xa5 }, "\(length)"
            )
            let last = part + StringSegment.blobOffset(part) + StringSegment.offset(part, 2)
            #expect(Array(UnsafeRawBufferPointer(start: last, count: other.count)) == other)
        }
    }

    /// Nodes that share their children: 84^8 paths to one leaf. A walk ends at the first extent that it meets again.
    @Test func sharedChildrenEndAWalk() throws {
        let model = Model(TestSchema([(.int, false)]), seed: 9)
        try model.append([.int(1)])
        try model.commit()
        let file = model.file
        var child = model.root
        for level in 1...8 {
            let page = 100 + level, node = file.base + page * PageSize.page
            memset(node, 0, PageSize.page)
            NodeHeader.initialize(node, kind: .clusterInner, bytes: 2048, word: UInt64(level))
            NodeHeader.setCount(node, 84)
            for index in 0..<84 {
                node.storeBytes(of: Int64(index) * 4096, toByteOffset: 32 + 8 * index, as: Int64.self)
                node.storeBytes(of: child.raw, toByteOffset: 704 + 8 * index, as: UInt64.self)
                node.storeBytes(of: 1, toByteOffset: 1376 + 8 * index, as: Int64.self)
            }
            let hash = NodeHeader.computeHash(node, bytes: 2048, seed: file.seed)
            node.storeBytes(of: hash, toByteOffset: 24, as: UInt64.self)
            child = Ref(offset: page * PageSize.page, hash: hash, born: 0)
        }
        let root = child, schema = TestSchema([(.int, false)])
        let error = #expect(throws: StoreError.self) {
            try ClusterReader.checkInvariants(root: root, source: file.source, columns: schema.columns)
        }
        #expect(error?.message.contains("overlap") == true, "\(error?.message ?? "")")
    }

    /// All positions and lengths of a few rows, byte for byte, through commit and reopening.
    @Test func smallLeavesExhaustively() throws {
        for rows in [1, 2, 4] {
            for changed in 0..<rows {
                for length in [0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200, 1000, 4096, 4097] {
                    let model = Model(TestSchema([(.string, true), (.bool, true)]), seed: UInt64(length))
                    for row in 0..<rows {
                        try model.append([
                            .text(Array(repeating: UInt8(97 + row), count: row * 3)),
                            row % 2 == 0 ? .null : .bool(true),
                        ])
                    }
                    if length % 2 == 0 { try model.commit() }
                    try model.update(Int64(changed), 0, .text((0..<length).map { UInt8(truncatingIfNeeded: $0) }))
                    try model.check("\(rows) \(changed) \(length)")
                    try model.commit()
                    try model.update(Int64(rows - 1 - changed), 0, .null)
                    try model.update(Int64(changed), 1, .bool(false))
                    try model.commit()
                    try model.check("\(rows) \(changed) \(length), null")
                    for row in 0..<rows { try model.delete(Int64((row + changed) % rows)) }
                    try model.commit()
                    #expect(model.root.isNull && model.file.liveUnitsTotal == 0)
                }
            }
        }
    }

    /// Whole content of a tree as one number, in every way it can be read.
    static func digest(_ source: PageSource, _ root: Ref, _ schema: TestSchema) throws(StoreError) -> UInt64 {
        let reader = ClusterReader(source: source, root: root, columns: schema.columns)
        var hash: UInt64 = UInt64(try reader.count())
        func add(_ value: Int64) {
            hash = (hash ^ UInt64(bitPattern: value)) &* 0x9e37_79b9_7f4a_7c15; hash ^= hash >> 29
        }
        var row = try reader.seek(0)
        while let at = row {
            add(at.key)
            for column in schema.kinds.indices {
                let value = try reader.value(at, column)
                add(Int64(value.kind.rawValue)); add(value.low); add(value.high); add(Int64(value.count))
                if value.count > 0 {
                    add(
                        Int64(
                            bitPattern: WholeModel.digest(
                                UnsafeRawBufferPointer(start: value.pointer!, count: value.count))))
                }
            }
            row = try reader.next(at)
        }
        for (column, kind) in schema.kinds.enumerated() {
            switch kind {
            case .int:
                add(Int64(try reader.scan(column, .less, .int(3)).count()))
                add(Int64(truncatingIfNeeded: try reader.integers(column, extremes: true).sum))
            case .double:
                add(Int64(try reader.scan(column, .less, .double(40)).count()));
                add(Int64(try reader.doubles(column, extremes: true).count))
            case .string:
                add(Int64(try reader.scan(column, .equal, .string(("a" as StaticString).utf8Start, 1)).count()));
                add(Int64(try reader.scan(column, .greater, .string(("b" as StaticString).utf8Start, 1)).count()))
            default: add(Int64(try reader.scan(column, .notEqual, .null).count()))
            }
        }
        return hash
    }

    /// Any byte of a written file changed: an error or the same content, never another answer or a crash.
    @Test func flippedBytes() throws {
        let model = Model(.everyKind(), seed: 31)
        model.intScale = 5
        for _ in 0..<400 { try model.append(model.randomRow()) }
        try model.commit()
        for _ in 0..<30 { try model.delete(model.randomKey()) }
        for _ in 0..<3800 { try model.append(model.randomRow()) }
        try model.commit()
        let bytes = model.file.usedBytes
        let right = try Self.digest(model.file.source, model.root, model.schema)
        let (memory, checked) = model.file.copy(bytes)
        defer { memory.deallocate(); checked.deallocate() }
        let source = PageSource(
            base: UnsafeRawPointer(memory), limit: bytes, checked: checked, seed: model.file.seed, arena: nil)
        #expect(try Self.digest(source, model.root, model.schema) == right)
        var random = TestRandom(99)
        var errors = 0, same = 0
        for _ in 0..<60 * testScale {
            let at = 3 * PageSize.page + random.below(bytes - 3 * PageSize.page)
            let old = memory.load(fromByteOffset: at, as: UInt8.self)
            memory.storeBytes(of: old ^ UInt8(1 + random.below(255)), toByteOffset: at, as: UInt8.self)
            checked.update(repeating: 0, count: bytes / PageSize.unit)
            do {
                let found = try Self.digest(source, model.root, model.schema)
                #expect(found == right, "byte \(at) changed the answer")
                same += 1
            } catch {
                #expect(error.code == .corrupt)
                errors += 1
            }
            memory.storeBytes(of: old, toByteOffset: at, as: UInt8.self)
        }
        print("flipped bytes: \(errors) errors, \(same) without effect")
        #expect(errors > 30 * testScale)
    }

    /// Heads and inner nodes with hostile fields and a right hash: an error or some answer, never a crash.
    @Test func hostileHeads() throws {
        let model = Model(.everyKind(), seed: 32)
        model.intScale = 5
        for _ in 0..<300 { try model.append(model.randomRow()) }
        for _ in 0..<10 { try model.delete(model.randomKey()) }
        try model.commit()
        for round in 0..<2 {
            if round == 1 {
                for _ in 0..<4500 { try model.append(model.randomRow()) }
                try model.commit()
            }
            let bytes = model.file.usedBytes
            let (memory, checked) = model.file.copy(bytes)
            defer { memory.deallocate(); checked.deallocate() }
            let source = PageSource(
                base: UnsafeRawPointer(memory), limit: bytes, checked: checked, seed: model.file.seed, arena: nil)
            let node = memory + model.root.offset
            let length = NodeHeader.bytes(node)
            var random = TestRandom(UInt64(5 + round))
            var errors = 0
            for _ in 0..<(round == 0 ? 1200 : 80) * testScale {
                let at = random.chance(70) ? random.below(round == 0 ? min(length, 900) : 40) : random.below(length)
                let old = node.load(fromByteOffset: at, as: UInt8.self)
                let new =
                    random.chance(50) ? UInt8(truncatingIfNeeded: random.next()) : old ^ (1 << UInt8(random.below(8)))
                node.storeBytes(of: new, toByteOffset: at, as: UInt8.self)
                // The length itself must stay inside the file for the hash to be computable here.
                if NodeHeader.bytes(node) == length {
                    let hash = NodeHeader.computeHash(node, bytes: length, seed: model.file.seed)
                    node.storeBytes(of: hash, toByteOffset: 24, as: UInt64.self)
                    checked.update(repeating: 0, count: bytes / PageSize.unit)
                    do {
                        _ = try Self.digest(
                            source, Ref(offset: model.root.offset, hash: hash, born: NodeHeader.born(node)),
                            model.schema)
                    } catch { errors += 1 }
                }
                node.storeBytes(of: old, toByteOffset: at, as: UInt8.self)
            }
            #expect(errors > (round == 0 ? 250 : 10) * testScale)
        }
    }

    /// A part that cannot be read: the error comes out, the writer says that it is broken, the old version is whole.
    @Test func brokenWriter() throws {
        let model = Model(.everyKind(), seed: 41)
        for _ in 0..<5000 { try model.append(model.randomRow()) }
        try model.commit()
        let before = try Self.digest(model.file.source, model.root, model.schema)
        let writer = model.write()
        let reader = try model.reader()
        let row = try #require(try reader.seek(100))
        let entry = try #require(LeafHead.entry(row.head, id: 1, hint: 0))
        let ref = entry.isSegmented ? Ref(raw: LeafSegment(row.head + Int(entry.main)).ref) : Ref(raw: entry.main)
        if !entry.isMainInline, entry.hasMain {
            let byte = model.file.base + ref.offset
            let old = byte.load(as: UInt8.self)
            byte.storeBytes(of: old ^ 1, as: UInt8.self)
            model.file.checked[ref.unit] = 0
            #expect(throws: StoreError.self) { _ = try writer.update(row.key, 0, .int(.max / 3)) }
            #expect(writer.isBroken)
            #expect(throws: StoreError.self) { _ = try writer.update(row.key, 9, .bool(true)) }
            #expect(throws: StoreError.self) { try writer.reader() }
            byte.storeBytes(of: old, as: UInt8.self)
        } else {
            Issue.record("the column was expected in an extent")
        }
        #expect(try Self.digest(model.file.source, model.root, model.schema) == before)
    }
}
