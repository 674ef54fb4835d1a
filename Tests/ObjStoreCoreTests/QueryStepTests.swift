import Testing

import ObjStoreCore

/// SORT, DISTINCT, LIMIT, OFFSET and conditions behind them, in any order, against loops over the same rows.
@Suite struct QueryStepTests {
    typealias Row = QueryTests.Row

    enum Key: CaseIterable { case n, d, b, s }

    /// As the documents say: null first, then NaN, then by value; texts by code point.
    static func order(_ a: Row, _ b: Row, _ key: Key) -> Int {
        func compare<T: Comparable>(_ a: T?, _ b: T?) -> Int {
            guard let a else { return b == nil ? 0 : -1 }
            guard let b else { return 1 }
            return a < b ? -1 : a == b ? 0 : 1
        }
        switch key {
        case .n: return compare(a.n, b.n)
        case .b: return compare(a.b ? 1 : 0, b.b ? 1 : 0)
        case .s:
            // The order of UTF-8 is that of code points.
            guard let x = a.s, let y = b.s else { return compare(a.s == nil ? 0 : 1, b.s == nil ? 0 : 1) }
            return x.utf8.elementsEqual(y.utf8) ? 0 : x.utf8.lexicographicallyPrecedes(y.utf8) ? -1 : 1
        case .d:
            if let x = a.d, let y = b.d, x.isNaN || y.isNaN { return x.isNaN ? (y.isNaN ? 0 : -1) : 1 }
            return compare(a.d, b.d)
        }
    }

    enum Step {
        case sort([(Key, isDescending: Bool)])
        case distinct([Key])
        case limit(Int), offset(Int)

        var text: String {
            switch self {
            case .sort(let keys):
                "SORT(\(keys.map { "\($0.0) \($0.isDescending ? "DESC" : "ASC")" }.joined(separator: ", ")))"
            case .distinct(let keys): "DISTINCT(\(keys.map { "\($0)" }.joined(separator: ", ")))"
            case .limit(let count): "LIMIT(\(count))"
            case .offset(let count): "OFFSET(\(count))"
            }
        }

        func apply(_ list: [(key: Int64, row: Row)]) -> [(key: Int64, row: Row)] {
            switch self {
            case .sort(let keys):
                return list.enumerated().sorted { a, b in
                    for (key, isDescending) in keys {
                        let order = QueryStepTests.order(a.element.row, b.element.row, key)
                        if order != 0 { return isDescending ? order > 0 : order < 0 }
                    }
                    return a.offset < b.offset
                }.map(\.element)
            case .distinct(let keys):
                var kept: [(key: Int64, row: Row)] = []
                for next in list
                where !kept.contains(where: { old in
                    keys.allSatisfy { QueryStepTests.order(old.row, next.row, $0) == 0 }
                }) { kept.append(next) }
                return kept
            case .limit(let count): return Array(list.prefix(count))
            case .offset(let count): return Array(list.dropFirst(count))
            }
        }
    }

    static func anyStep(_ random: inout IndexRandom, _ count: Int) -> Step {
        let keys = (0...random.below(3)).map { _ in Key.allCases[random.below(4)] }
        switch random.below(5) {
        case 0, 1: return .sort(keys.map { ($0, random.below(2) == 0) })
        case 2: return .distinct(keys)
        case 3: return .limit(random.below(4) == 0 ? 0 : random.below(count + 3))
        default: return .offset(random.below(count / 2 + 1))
        }
    }

    static func anyRow(_ random: inout IndexRandom) -> Row {
        var row = Row()
        let ints: [Int64?] = [nil, .min, .max, 0, -1, 1, 7]
        row.n = random.below(3) == 0 ? ints[random.below(ints.count)] : Int64(random.below(1000)) - 500
        let doubles: [Double?] = [nil, .nan, -.infinity, .infinity, 0, -0.0, .leastNonzeroMagnitude, -1.5]
        row.d = random.below(2) == 0 ? doubles[random.below(doubles.count)] : Double(random.below(100)) / 8
        row.b = random.below(2) == 0
        let stems = [
            "", "a", "Müller", "customer number ", "customer number 1", String(repeating: "long and alike ", count: 9),
        ]
        row.s =
            random.below(6) == 0
            ? nil : stems[random.below(stems.count)] + (random.below(3) == 0 ? "" : "\(random.below(60))")
        if random.below(20) == 0 { row.s? += "\0" }
        return row
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func stepsAgainstLoops(seed: UInt64) throws {
        var items = try QueryTests.Items(seed: seed)
        let tx = try items.store.begin()
        for _ in 0..<700 {
            let row = QueryStepTests.anyRow(&items.random)
            items.rows[try items.write(row, tx, nil)] = row
        }
        for key in items.rows.keys.sorted() where items.random.below(4) == 0 {
            try tx.delete(items.object(key))
            items.rows[key] = nil
        }
        func check(_ view: View) throws {
            let all = items.rows.sorted { $0.key < $1.key }.map { (key: $0.key, row: $0.value) }
            for round in 0..<40 {
                var list = all, text = "TRUEPREDICATE"
                if items.random.below(2) == 0 {
                    let limit = Int64(items.random.below(1000)) - 500
                    text = "n < \(limit)"
                    list = list.filter { $0.row.n.map { $0 < limit } ?? false }
                }
                for _ in 0..<(1 + items.random.below(4)) {
                    let step = QueryStepTests.anyStep(&items.random, 500)
                    text += " " + step.text
                    list = step.apply(list)
                }
                let query = try view.query(items.cls, parsing: text)
                let found = try view.find(query).list()
                let keys = (0..<found.count).map { found.keys[$0] }
                #expect(keys == list.map(\.key), "seed \(seed), round \(round): \(text)")
                #expect(try view.count(query) == list.count, "\(text)")
                #expect(try view.first(query)?.key == list.first?.key, "\(text)")
                let again = try view.find(try view.query(items.cls, parsing: try query.text())).list()
                #expect((0..<again.count).map { again.keys[$0] } == keys, "\(text)")
            }
        }
        try check(tx)
        try tx.commit()
        try check(try items.store.openView())
    }

    /// Around the sizes of lists and of values from which on values have a bucket each, by one key and by two.
    @Test func sortsOfAllSizes() throws {
        let tops: [Int64] = [1023, 1024, 2047, 2048, 4095], count = 16_390
        var configuration = StoreConfiguration(), draft = SchemaDraft()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        try draft.addClass("Item")
        for name in ["id", "n"] + tops.map({ "m\($0)" }) { try draft.addProperty("Item", name, .int, []) }
        configuration.schema = draft
        let store = try Store.open(configuration), tx = try store.begin()
        let cls = try tx.findClass("Item")
        let properties = try (["id", "n"] + tops.map { "m\($0)" }).map { try tx.findProperty(cls, $0) }
        var random = IndexRandom(12), rows: [[Int64]] = [], ids: [Int64: Int64] = [:]
        for id in 0..<count {
            // Some neighbours, some far apart, and both ends.
            let numbers = tops.map { top in
                id < 2 ? Int64(id) * top : Int64(random.below(id % 3 == 0 ? Int(top) + 1 : 300))
            }
            rows.append([Int64(id), Int64(random.below(5))] + numbers)
            let values = rows[id].map { Value.int($0) }
            let object = try properties.withUnsafeBufferPointer { properties in
                try values.withUnsafeBufferPointer { try tx.create(cls, properties, $0.baseAddress!) }
            }
            ids[object.key] = Int64(id)
        }
        for size in [4095, 4096, 4097, 8191, 8192, 8193, 16_384] {
            for (number, top) in tops.enumerated() {
                for (text, isBefore) in [
                    ("m\(top) ASC", { (a: [Int64], b: [Int64]) in a[2 + number] < b[2 + number] }),
                    ("m\(top) DESC, n ASC", { a, b in (b[2 + number], a[1]) < (a[2 + number], b[1]) }),
                    ("m\(top) ASC, n DESC", { a, b in (a[2 + number], b[1]) < (b[2 + number], a[1]) }),
                ] {
                    let found = try tx.find(try tx.query(cls, parsing: "id < \(size) SORT(\(text))")).list()
                    let wanted = rows[..<size].sorted { a, b in isBefore(a, b) || !isBefore(b, a) && a[0] < b[0] }
                    let wrong = wanted.indices.first { $0 >= found.count || ids[found.keys[$0]] != wanted[$0][0] }
                    #expect(found.count == size && wrong == nil, "\(size): \(text)")
                }
            }
        }
        try tx.cancel()
        try store.close()
    }

    /// A condition behind LIMIT is about what that has left; behind SORT it is one with that before.
    @Test func conditionsBehindSteps() throws {
        var items = try QueryTests.Items(seed: 5)
        let tx = try items.store.begin()
        try items.create(400, tx)
        try tx.commit()
        let view = try items.store.openView()
        let all = items.rows.sorted { $0.key < $1.key }.map { (key: $0.key, row: $0.value) }
        func keys(_ texts: [String]) throws -> [Int64] {
            var query = Query(all: items.cls)
            for text in texts { query = try query.then(try view.query(items.cls, parsing: text)) }
            let found = try view.find(query).list()
            #expect(try view.count(query) == found.count)
            return (0..<found.count).map { found.keys[$0] }
        }
        #expect(
            try keys(["n > 0", "LIMIT(50)", "b == true", "SORT(d DESC)"])
                == QueryStepTests.Step.sort([(.d, true)]).apply(
                    Array(all.filter { $0.row.n ?? 0 > 0 }.prefix(50)).filter(\.row.b)
                ).map(\.key))
        let sorted = QueryStepTests.Step.sort([(.s, false)]).apply(all)
        #expect(
            try keys(["SORT(s ASC)", "b == true", "n > 0"])
                == sorted.filter { $0.row.b && $0.row.n ?? 0 > 0 }.map(\.key))
        let first = try view.query(items.cls, parsing: "n > 0 SORT(s ASC)")
        #expect(
            try first.then(try view.query(items.cls, parsing: "b == true LIMIT(3)")).text()
                == "n > 0 and b == true SORT(s ASC) LIMIT(3)")
        let limited = try view.query(items.cls, parsing: "LIMIT(3)").then(first)
        #expect(throws: StoreError.self) { try limited.text() }
    }

    /// Equal objects are sorted by the next key, a level deeper: as many keys as there may be fit a thread's stack of
    /// 1 MiB, and more are refused.
    @Test func manyKeys() throws {
        var items = try QueryTests.Items(seed: 7)
        let tx = try items.store.begin()
        try items.create(100, tx)
        try tx.commit()
        let view = try items.store.openView()
        func text(_ step: String, _ count: Int, _ direction: String) -> String {
            step + "(" + Array(repeating: "b" + direction, count: count).joined(separator: ", ") + ")"
        }
        for (step, direction) in [("SORT", " ASC"), ("DISTINCT", "")] {
            let most = try view.query(items.cls, parsing: text(step, QueryLimits.sortKeys, direction))
            let one = try view.query(items.cls, parsing: text(step, 1, direction))
            let found = try view.find(most).list(), expected = try view.find(one).list()
            #expect((0..<found.count).map { found.keys[$0] } == (0..<expected.count).map { expected.keys[$0] })
            for count in [QueryLimits.sortKeys + 1, 100_000] {
                let error = #expect(throws: StoreError.self) {
                    try view.query(items.cls, parsing: text(step, count, direction))
                }
                #expect(error?.code == .invalidQuery)
                #expect(error?.message == "\(step) has \(count) keys: at most 256 are allowed")
            }
        }
    }

    /// A name that is no property may be as long as a text: what is said of it is not.
    @Test func longNames() throws {
        let items = try QueryTests.Items(seed: 8), view = try items.store.openView()
        let name = String(repeating: "x", count: 1 << 20)
        for (text, code) in [
            ("\(name) == 1", StatusCode.noSuchProperty), ("@links.\(name).a.@count == 1", .noSuchClass),
        ] {
            let error = #expect(throws: StoreError.self) { try view.query(items.cls, parsing: text) }
            #expect(error?.code == code && error!.message.utf8.count < 200)
        }
    }

    /// Sums of what a limited query finds are of those alone.
    @Test func aggregatesOfSteps() throws {
        var items = try QueryTests.Items(seed: 6)
        let tx = try items.store.begin()
        try items.create(300, tx)
        try tx.commit()
        let view = try items.store.openView()
        let query = try view.query(items.cls, parsing: "SORT(n DESC) LIMIT(10)")
        let greatest = items.rows.values.compactMap(\.n).sorted(by: >).prefix(10).reduce(0, +)
        #expect(try view.aggregate(query, items.n, .sum).low == greatest)
    }
}
