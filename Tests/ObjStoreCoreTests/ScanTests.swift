import Testing

import ObjStoreCore

/// Every scan against a plain loop over the oracle's rows.
@Suite struct ScanTests {
    /// The definition of a comparison, written apart from the engine's.
    static func holds(_ comparison: Comparison, _ a: TestValue, _ b: TestValue) -> Bool {
        func ordered<T: Comparable>(_ x: T, _ y: T) -> Bool {
            switch comparison {
            case .equal: x == y
            case .notEqual: !(x == y)
            case .less: x < y
            case .lessOrEqual: x <= y
            case .greater: x > y
            case .greaterOrEqual: x >= y
            }
        }
        switch (a, b) {
        case (.null, .null): return comparison == .equal
        case (.null, _), (_, .null): return comparison == .notEqual
        case (.bool(let x), .bool(let y)): return ordered(x ? 1 : 0, y ? 1 : 0)
        case (.int(let x), .int(let y)): return ordered(x, y)
        case (.double(let x), .double(let y)): return ordered(Double(bitPattern: x), Double(bitPattern: y))
        case (.timestamp(let s, let n), .timestamp(let t, let m)): return ordered(Stamp(s: s, n: n), Stamp(s: t, n: m))
        case (.float(let x), .float(let y)): return ordered(Float(bitPattern: x), Float(bitPattern: y))
        case (.id(let x), .id(let y)): return ordered(Text(bytes: x), Text(bytes: y))
        case (.decimal(let a, let b), .decimal(let c, let d)):
            let x = NaiveDecimal(a, b), y = NaiveDecimal(c, d)
            return x.isNaN || y.isNaN ? comparison == .notEqual : ordered(x, y)
        case (.text(let x), .text(let y)): return ordered(Text(bytes: x), Text(bytes: y))
        default: fatalError("kinds differ")
        }
    }
    struct Stamp: Comparable {
        var s: Int64, n: Int64
        static func < (a: Stamp, b: Stamp) -> Bool { (a.s, a.n) < (b.s, b.n) }
    }
    struct Text: Comparable {
        var bytes: [UInt8]
        static func < (a: Text, b: Text) -> Bool { comesBefore(a.bytes, b.bytes) }
    }
    static let comparisons: [Comparison] = [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]

    typealias Model = ClusterTreeTests.Model

    /// Counts and collects with every operator and constants at, next to and beyond the values.
    static func compareScans(_ model: Model, _ note: String) throws {
        let reader = try model.reader()
        let keys = model.rows.keys.sorted()
        for column in model.schema.kinds.indices {
            var constants: [TestValue] = [.null]
            for _ in 0..<3 {
                if !keys.isEmpty { constants.append(model.rows[keys[model.random.below(keys.count)]]![column]) }
            }
            constants.append(model.randomValue(column))
            switch model.schema.kinds[column] {
            case .int: constants += [.int(.min), .int(.max), .int(0)]
            case .double:
                constants += [.nan, .infinity, -.infinity, 0.0, -0.0, .leastNonzeroMagnitude, -1].map {
                    .double(($0 as Double).bitPattern)
                }
            case .timestamp:
                constants += [.timestamp(.min, 0), .timestamp(.max, 999_999_999), .timestamp(1_700_000_000, 0)]
            case .bool: constants += [.bool(true), .bool(false)]
            case .float:
                constants += [
                    .nan, .infinity, -.infinity, 0, -0.0, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, -1, 1,
                ].map { .float(($0 as Float).bitPattern) }
            case .decimal128: constants += NaiveDecimal.edges.map { .decimal(low: $0.0, high: $0.1) }
            case .uuid, .objectID:
                for byte in [0, 0x80, 0xff] as [UInt8] {
                    constants.append(.id(Array(repeating: byte, count: model.schema.kinds[column] == .uuid ? 16 : 12)))
                }
            default: constants += [.text([]), .text([98]), .text(Array(repeating: 99, count: 5000))]
            }
            for comparison in comparisons {
                for constant in constants {
                    let expected = keys.filter { holds(comparison, model.rows[$0]![column], constant) }
                    try TestValue.with([constant], [model.schema.kinds[column]]) { value in
                        let scan = try reader.scan(column, comparison, value[0]), found = try scan.count()
                        try #require(
                            found == expected.count,
                            "\(note): column \(column) \(comparison) \(constant): \(found), expected \(expected.count)")
                        let buffer = KeyBuffer()
                        try scan.collect(into: buffer)
                        try #require(
                            Array(UnsafeBufferPointer(start: buffer.keys, count: buffer.count)) == expected,
                            "\(note): \(comparison) \(constant)")
                        try #require(try scan.first() == expected.first)
                        if !keys.isEmpty {
                            let middle = keys[model.random.below(keys.count)]
                            buffer.clear()
                            try scan.collect(into: buffer, from: middle, limit: 5)
                            let some = expected.filter { $0 >= middle }.prefix(5)
                            try #require(
                                Array(UnsafeBufferPointer(start: buffer.keys, count: buffer.count)) == Array(some),
                                "\(note)")
                        }
                    }
                }
            }
        }
    }

    static func compareAggregates(_ model: Model, _ note: String) throws {
        let reader = try model.reader()
        for (column, kind) in model.schema.kinds.enumerated() {
            let values = model.rows.keys.sorted().map { model.rows[$0]![column] }
            if kind == .int {
                let ints = values.compactMap { if case .int(let v) = $0 { v } else { nil } }
                let expected = ints.reduce(Int128(0)) { $0 + Int128($1) }
                let sum = try reader.integers(column, extremes: false),
                    all = try reader.integers(column, extremes: true)
                try #require(
                    sum.sum == expected && sum.count == ints.count,
                    "\(note): sum of \(column): \(sum), expected \(expected)")
                try #require(all.sum == expected && all.count == ints.count)
                if let low = ints.min(), let high = ints.max() {
                    try #require(all.minimum == low && all.maximum == high, "\(note)")
                }
            } else if kind == .double {
                let doubles = values.compactMap { if case .double(let v) = $0 { Double(bitPattern: v) } else { nil } }
                let expected = doubles.reduce(0, +), scale = doubles.reduce(0) { $0 + abs($1) }
                for found in [
                    try reader.doubles(column, extremes: false).sum, try reader.doubles(column, extremes: true).sum,
                ] {
                    let close =
                        found == expected || found.isNaN && expected.isNaN || abs(found - expected) <= 1e-9 * scale
                    // Where infinities or greatest magnitudes meet, the order of addition decides.
                    try #require(close || !scale.isFinite || scale > 1e300, "\(note): \(found), expected \(expected)")
                }
                let all = try reader.doubles(column, extremes: true)
                try #require(
                    all.count == doubles.count && (try reader.doubles(column, extremes: false).count) == doubles.count)
                try #require(all.minimum == doubles.filter { !$0.isNaN }.min() ?? .infinity, "\(note)")
                try #require(all.maximum == doubles.filter { !$0.isNaN }.max() ?? -.infinity, "\(note)")
            } else if kind == .float {
                let floats = values.compactMap {
                    if case .float(let v) = $0 { Double(Float(bitPattern: v)) } else { nil }
                }
                let found = try reader.floats(column), expected = floats.reduce(0, +)
                try #require(
                    found.count == floats.count && (found.sum == expected || found.sum.isNaN && expected.isNaN),
                    "\(note): \(found)")
                try #require(found.minimum == floats.filter { !$0.isNaN }.min() ?? .infinity, "\(note)")
                try #require(found.maximum == floats.filter { !$0.isNaN }.max() ?? -.infinity, "\(note)")
            }
        }
    }

    static func compareColumns(_ model: Model, _ note: String) throws {
        let reader = try model.reader()
        let keys = model.rows.keys.sorted()
        for (column, kind) in model.schema.kinds.enumerated() {
            let from = model.random.below(keys.count + 2), count = 1 + model.random.below(keys.count + 5)
            let words = UnsafeMutablePointer<Int64>.allocate(capacity: count),
                bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: count)
            let second = UnsafeMutablePointer<Int64>.allocate(capacity: count),
                offsets = UnsafeMutablePointer<Int64>.allocate(capacity: count + 1)
            let validity = UnsafeMutablePointer<UInt8>.allocate(capacity: count / 8 + 1),
                singles = UnsafeMutablePointer<UInt32>.allocate(capacity: count)
            defer {
                words.deallocate(); bytes.deallocate(); second.deallocate(); singles.deallocate(); offsets.deallocate();
                validity.deallocate()
            }
            let text = TextBuffer()
            let isText = kind == .string || kind == .binary
            let target = ColumnTarget(
                words: isText || kind == .bool || kind == .float ? nil : words, bytes: kind == .bool ? bytes : nil,
                singles: kind == .float ? singles : nil, secondWords: kind.isPair ? second : nil,
                offsets: isText ? offsets : nil, text: isText ? text : nil, validity: validity)
            let read = try reader.readColumn(column, from: from, count: count, into: target)
            try #require(read == max(0, min(count, keys.count - from)), "\(note)")
            for index in 0..<read {
                let expected = model.rows[keys[from + index]]![column]
                let valid = validity[index / 8] >> UInt8(index % 8) & 1 == 1
                let found: TestValue
                if !valid {
                    found = .null
                } else {
                    switch kind {
                    case .bool: found = .bool(bytes[index] != 0)
                    case .double: found = .double(UInt64(bitPattern: words[index]))
                    case .float: found = .float(singles[index])
                    case .timestamp, .decimal128, .uuid, .objectID:
                        found = TestValue(Value(kind: kind, low: words[index], high: second[index]))
                    case .string, .binary:
                        found = .text(
                            Array(
                                UnsafeRawBufferPointer(
                                    start: text.pointer + Int(offsets[index]),
                                    count: Int(offsets[index + 1] - offsets[index]))))
                    default: found = .int(words[index])
                    }
                }
                try #require(found == expected, "\(note): column \(column) row \(from + index)")
            }
        }
    }

    @Test(arguments: Array(101...UInt64(100 + testScale)))
    func everyOperatorAndType(seed: UInt64) throws {
        let model = Model(.everyKind(), seed: seed)
        for round in 0..<8 {
            model.intScale = round
            for _ in 0..<model.random.below(round < 5 ? 150 : 1500) {
                try model.append(model.randomRow(), skip: model.random.chance(1) ? 3 : 0)
            }
            if round % 2 == 1 {
                for _ in 0..<100 {
                    let column = model.random.below(model.schema.kinds.count)
                    try model.update(model.randomKey(), column, model.randomValue(column))
                    if round > 2 { try model.delete(model.randomKey()) }
                }
            }
            if round % 3 == 2 { try model.commit() }
            let note = "seed \(seed) round \(round)"
            try Self.compareScans(model, note)
            try Self.compareAggregates(model, note)
            for _ in 0..<4 { try Self.compareColumns(model, note) }
        }
    }

    /// Every width, dense and with holes: values at both ends of the frame.
    @Test(arguments: [0, 1, 2, 4, 8, 16, 32, 64])
    func everyWidth(width: Int) throws {
        for base in [0, -5, 1 << 40, Int64.min] as [Int64] {
            for rows in base == 0 ? [1, 2, 63, 64, 65, 511, 513, 1025, 2049, 4097] : [2, 65, 600] {
                let model = Model(TestSchema([(.int, false), (.int, true)]), seed: UInt64(width * 1000 + rows))
                let top: UInt64 = width == 64 ? .max : (1 << UInt64(width)) - 1
                for index in 0..<rows {
                    let cell =
                        index == 0
                        ? 0 : index == 1 ? top : top == .max ? model.random.next() : model.random.next() % (top + 1)
                    let value = TestValue.int(base &+ Int64(bitPattern: cell))
                    try model.append([value, model.random.chance(10) ? .null : value])
                }
                try model.commit()
                let reader = try model.reader()
                for constant in [
                    base, base &+ Int64(bitPattern: top), base &+ Int64(bitPattern: top / 2), base &- 1,
                    base &+ Int64(bitPattern: top) &+ 1,
                ] {
                    for comparison in Self.comparisons {
                        for column in 0...1 {
                            let expected = model.rows.values.count {
                                Self.holds(comparison, $0[column], .int(constant))
                            }
                            try #require(
                                try reader.scan(column, comparison, .int(constant)).count() == expected,
                                "width \(width) base \(base) rows \(rows) \(comparison) \(constant)")
                        }
                    }
                }
                if rows <= 65 || rows > 2000 {
                    for _ in 0..<(rows / 20 + 1) { try model.delete(model.randomKey()) }
                    if !model.rows.isEmpty {
                        try Self.compareAggregates(model, "width \(width) base \(base) rows \(rows)")
                    }
                    try model.check("width \(width)")
                }
            }
        }
    }

    @Test func wrongConstantIsAnError() throws {
        let model = Model(TestSchema([(.int, false)]), seed: 1)
        try model.append([.int(1)])
        let reader = try model.reader()
        #expect(throws: StoreError.self) { try reader.scan(0, .equal, .bool(true)) }
        #expect(throws: StoreError.self) { try reader.scan(0, .less, .double(1)) }
    }
}
