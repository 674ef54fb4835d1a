import ObjStoreCore

/// Values that are close together, far apart, and at the edges.
struct IndexSampler {
    let kind: ValueKind
    /// 0: few values, 1: many, 2: everything.
    let spread: Int

    private static let prefix64 = [UInt8](repeating: 0x70, count: 64)
    private static let long = (0..<10_240).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    func next(_ random: inout IndexRandom) -> IndexSample {
        if random.below(16) == 0 { return .null }
        switch kind {
        case .bool: return .integer(Int64(random.below(2)))
        case .int:
            switch spread {
            case 0: return .integer(Int64(random.below(20)))
            case 1: return .integer(Int64(random.below(5000)))
            default:
                let edges: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
                if random.below(4) == 0 { return .integer(edges[random.below(edges.count)]) }
                return .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
            }
        case .double:
            let edges: [Double] = [
                -.infinity, .infinity, .nan, -0.0, 0.0, -.leastNonzeroMagnitude, .leastNonzeroMagnitude,
                .greatestFiniteMagnitude,
            ]
            var value = Double(random.below(spread == 0 ? 10 : 2000) - 5) / 4
            if random.below(spread == 2 ? 2 : 6) == 0 { value = edges[random.below(edges.count)] }
            return .double(IndexSample.canonical(value.bitPattern))
        case .float:
            let edges: [Float] = [
                -.infinity, .infinity, .nan, 0.0, -.leastNonzeroMagnitude, .leastNonzeroMagnitude,
                .greatestFiniteMagnitude,
            ]
            if random.below(spread == 2 ? 2 : 6) == 0 { return .float(edges[random.below(edges.count)].bitPattern) }
            return .float((Float(random.below(spread == 0 ? 10 : 2000) - 5) / 4).bitPattern)
        case .uuid, .objectID:
            var bytes = (0..<(kind == .uuid ? 16 : 12)).map { UInt8(truncatingIfNeeded: 0x51 + $0) }
            if spread == 2, random.below(2) == 0 { bytes = bytes.map { _ in UInt8(truncatingIfNeeded: random.next()) } }
            bytes[bytes.count - 1] = UInt8(random.below(spread == 0 ? 20 : 256))
            bytes[8] = UInt8(random.below(spread == 0 ? 2 : 256))
            if random.below(8) == 0 { bytes[0] = UInt8(random.below(256)) }
            return .id(bytes)
        case .decimal128:
            if spread == 0 { return .decimal(NaiveDecimal(UInt64(random.below(20)), 0x3040_0000_0000_0000)) }
            let (low, high) = NaiveDecimal.random(&random)
            return .decimal(NaiveDecimal(low, high))
        case .timestamp:
            if spread == 2, random.below(4) == 0 {
                return .time([.min, -1, 0, .max][random.below(4)], [0, 1, 999_999_999, -1][random.below(4)])
            }
            return .time(
                Int64(random.below(spread == 0 ? 3 : 300)), spread == 1 ? 0 : Int32(random.below(5)) * 1_000_000)
        default:
            var bytes: [UInt8]
            switch random.below(spread == 2 ? 10 : 4) {
            case 0: bytes = (0..<random.below(4)).map { _ in UInt8(97 + random.below(3)) }
            case 1: bytes = Array("https://example.org/item/\(random.below(spread == 0 ? 20 : 4000))".utf8)
            case 2, 3: bytes = (0..<random.below(20)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            case 4: bytes = IndexSampler.prefix64
            case 5: bytes = IndexSampler.prefix64 + [UInt8(random.below(3))]
            case 6: bytes = IndexSampler.prefix64 + (0..<random.below(4)).map { _ in UInt8(random.below(3)) }
            case 7: bytes = Array(IndexSampler.prefix64.prefix(60 + random.below(5)))
            case 8:
                bytes = IndexSampler.long
                bytes[bytes.count - 1] = UInt8(random.below(200))
            default: bytes = Array(IndexSampler.long.prefix(63 + random.below(5)))
            }
            return .text(bytes)
        }
    }
}

extension IndexLimits {
    /// Nodes that split after a few entries.
    static var tiny: IndexLimits {
        var limits = IndexLimits()
        limits.leafEntries = 3
        limits.innerChildren = 3
        limits.runs = 3
        limits.longRun = 4
        return limits
    }
}

/// Random histories: creates, updates, deletes, changes that are undone, reads in between, cancelled and
/// committed transactions. The whole content is compared after every commit.
func indexHistory(
    _ kind: ValueKind, unique: Bool, spread: Int, operations: Int, objects: Int, perCommit: Int, limits: IndexLimits,
    seed: UInt64
) throws -> IndexModel {
    let model = IndexModel(
        kind, unique: unique, limits: limits,
        name: "\(kind) unique \(unique) spread \(spread) objects \(objects) leaf \(limits.leafEntries) seed \(seed)")
    var random = IndexRandom(seed)
    let sampler = IndexSampler(kind: kind, spread: spread)
    var base = (model.rows, model.pairs)
    var done = 0
    while done < operations {
        for _ in 0..<1 + random.below(2 * perCommit) {
            done += 1
            let key = random.below(64) == 0 ? [Int64.min, -1, .max][random.below(3)] : Int64(random.below(objects))
            // Grow, then shrink, by turns.
            let wantsRow = random.below(100) < ((done / (objects * 4)) % 2 == 0 ? 75 : 25)
            if model.rows[key] != nil { try model.remove(key) }
            if wantsRow {
                let value = sampler.next(&random)
                if !unique || !model.hasValue(value) {
                    try model.insert(value, key)
                    if random.below(8) == 0 {
                        try model.remove(key)
                        if random.below(2) == 0 { try model.insert(value, key) }
                    }
                }
            }
            if unique, random.below(4) == 0 {
                let value = sampler.next(&random)
                let expected = model.rows.first { $0.value == value }?.key
                let found = try value.with(kind) { try model.writer.find($0) }
                try model.expect(
                    found == expected,
                    "the writer finds \(String(describing: found)), not \(String(describing: expected))")
            }
            if random.below(perCommit * 2) == 0 {
                let reader = try model.writer.reader()
                try model.check(reader, committed: false)
                try model.probe(reader, sampler.next(&random))
            }
        }
        if random.below(10) == 0 {
            model.cancel(to: base.0, base.1)
            continue
        }
        try model.commit()
        base = (model.rows, model.pairs)
        let reader = IndexReader(source: model.file.source, root: model.root, kind: kind, longValues: model.nowRows)
        for _ in 0..<3 { try model.probe(reader, sampler.next(&random)) }
        if let pair = model.pairs.randomElement(using: &random) { try model.probe(reader, pair.value) }
    }
    for key in Array(model.rows.keys) { try model.remove(key) }
    try model.commit()
    try model.expect(model.root.isNull, "an empty index has a root")
    return model
}
