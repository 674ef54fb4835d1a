import Testing

import ObjStoreCore

/// Queries of several comparisons, against loops over the same objects in memory.
@Suite struct QueryTests {
    /// An object as the test knows it.
    struct Row {
        var n: Int64?
        var d: Double?
        var b = false
        var s: String?
        var others: [Int64] = []
    }

    /// A condition as a tree, which evaluates itself.
    indirect enum Tree {
        case truth(Bool)
        case n(Comparison, Int64?), d(Comparison, Double?), b(Bool), s(Comparison, String?), links(Int64)
        case not(Tree), and(Tree, Tree), or(Tree, Tree)

        func holds(_ row: Row) -> Bool {
            func compare<T: Comparable>(_ comparison: Comparison, _ a: T?, _ b: T?) -> Bool {
                switch comparison {
                case .equal: a == b
                case .notEqual: a != b
                case .less: a.map { a in b.map { a < $0 } ?? false } ?? false
                case .lessOrEqual: a.map { a in b.map { a <= $0 } ?? false } ?? false
                case .greater: a.map { a in b.map { a > $0 } ?? false } ?? false
                case .greaterOrEqual: a.map { a in b.map { a >= $0 } ?? false } ?? false
                }
            }
            switch self {
            case .truth(let truth): return truth
            case .n(let comparison, let value): return compare(comparison, row.n, value)
            case .d(let comparison, let value): return compare(comparison, row.d, value)
            case .b(let value): return row.b == value
            case .s(let comparison, let value): return compare(comparison, row.s, value)
            case .links(let key): return row.others.contains(key)
            case .not(let tree): return !tree.holds(row)
            case .and(let left, let right): return left.holds(row) && right.holds(row)
            case .or(let left, let right): return left.holds(row) || right.holds(row)
            }
        }
    }

    /// A store with one class, and what is in it.
    struct Items {
        let store: Store
        let cls: UInt32, n: UInt32, d: UInt32, b: UInt32, s: UInt32, others: UInt32
        var rows: [Int64: Row] = [:]
        var random: IndexRandom

        init(seed: UInt64) throws {
            var draft = SchemaDraft()
            try draft.addClass("Item")
            try draft.addProperty("Item", "n", .int, [.nullable, .indexed])
            try draft.addProperty("Item", "d", .double, [.nullable])
            try draft.addProperty("Item", "b", .bool, [])
            try draft.addProperty("Item", "s", .string, [.nullable])
            try draft.addCollection("Item", "others", .list, ElementSchema(kind: .link), target: "Item")
            var configuration = StoreConfiguration()
            configuration.place = .memory("")
            configuration.schema = draft
            store = try Store.open(configuration)
            let view = try store.openView(), cls = try view.findClass("Item")
            self.cls = cls
            func id(_ name: String) throws -> UInt32 { try view.findProperty(cls, name) }
            (n, d, b, s, others) = try (id("n"), id("d"), id("b"), id("s"), id("others"))
            view.close()
            random = IndexRandom(seed)
        }

        func withText<T>(_ text: String?, _ body: (Value) throws -> T) rethrows -> T {
            guard let text else { return try body(.null) }
            return try Array(text.utf8).withUnsafeBytes { try body(.string($0.baseAddress, $0.count)) }
        }

        mutating func anyRow() -> Row {
            var row = Row()
            row.n = random.below(5) == 0 ? nil : Int64(random.below(40)) - 20
            row.d = random.below(5) == 0 ? nil : Double(random.below(20)) / 4
            row.b = random.below(2) == 0
            row.s = random.below(5) == 0 ? nil : ["", "a", "ab", "b", "Ärger"][random.below(5)]
            return row
        }

        func write(_ row: Row, _ tx: View, _ key: Int64?) throws -> Int64 {
            try withText(row.s) { text in
                let values = [
                    row.n.map { .int($0) } ?? .null, row.d.map { .double($0) } ?? .null, .bool(row.b), text,
                ]
                return try [n, d, b, s].withUnsafeBufferPointer { ids in
                    try values.withUnsafeBufferPointer {
                        guard let key else { return try tx.create(cls, ids, $0.baseAddress!).key }
                        for (id, value) in zip(ids, $0) { try tx.set(object(key), id, value) }
                        return key
                    }
                }
            }
        }

        func object(_ key: Int64) -> ObjectID { ObjectID(classID: cls, storeTag: store.shared.tag, key: key) }

        mutating func create(_ count: Int, _ tx: View) throws {
            for _ in 0..<count {
                let row = anyRow()
                rows[try write(row, tx, nil)] = row
            }
        }

        mutating func change(_ tx: View) throws {
            var gone: Set<Int64> = []
            for key in rows.keys.sorted() {
                switch random.below(20) {
                case 0, 1:
                    try tx.delete(object(key))
                    rows[key] = nil
                    gone.insert(key)
                case 2:
                    var row = anyRow()
                    row.others = rows[key]!.others
                    _ = try write(row, tx, key)
                    rows[key] = row
                case 3:
                    let target = rows.keys.min { abs($0 - key &+ 7) < abs($1 - key &+ 7) }!
                    try [Value.link(object(target))].withUnsafeBufferPointer {
                        try tx.insert(CollectionID(owner: object(key), propertyID: others), at: nil, $0)
                    }
                    rows[key]!.others.append(target)
                default: break
                }
            }
            for (key, row) in rows where row.others.contains(where: gone.contains) {
                rows[key]!.others.removeAll(where: gone.contains)
            }
        }

        mutating func anyTree(_ size: Int) -> Tree {
            if size > 1 {
                let left = 1 + random.below(size - 1)
                switch random.below(5) {
                case 0: return .not(anyTree(size - 1))
                case 1, 2: return .and(anyTree(left), anyTree(size - left))
                default: return .or(anyTree(left), anyTree(size - left))
                }
            }
            let comparison = Comparison(rawValue: UInt8(random.below(6)))!, row = anyRow()
            let isEquality = comparison == .equal || comparison == .notEqual
            switch random.below(12) {
            case 0: return .truth(random.below(2) == 0)
            case 1: return .b(row.b)
            case 2, 3: return .links(rows.keys.sorted()[random.below(rows.count)])
            case 4, 5, 6: return .n(comparison, row.n ?? (isEquality ? nil : 0))
            case 7, 8: return .d(comparison, row.d ?? (isEquality ? nil : 0))
            default: return .s(comparison, row.s ?? (isEquality ? nil : ""))
            }
        }

        func nodes(_ tree: Tree) throws -> [Predicate.Node] {
            func test(_ id: UInt32, _ comparison: Comparison, _ value: Value) throws -> [Predicate.Node] {
                [.test(try ColumnTest(id, comparison, value))]
            }
            switch tree {
            case .truth(let truth): return [.truth(truth)]
            case .n(let comparison, let value): return try test(n, comparison, value.map { .int($0) } ?? .null)
            case .d(let comparison, let value): return try test(d, comparison, value.map { .double($0) } ?? .null)
            case .b(let value): return try test(b, .equal, .bool(value))
            case .s(let comparison, let value): return try withText(value) { try test(s, comparison, $0) }
            case .links(let key): return try test(others, .equal, .link(object(key)))
            case .not(let tree): return try nodes(tree) + [.not]
            case .and(let left, let right): return try nodes(left) + nodes(right) + [.and]
            case .or(let left, let right): return try nodes(left) + nodes(right) + [.or]
            }
        }

        /// Everything that a query answers; how many objects it finds.
        func check(_ tree: Tree, _ view: View, _ note: String) throws -> Int {
            let query = Query(cls, where: try Predicate(try nodes(tree)))
            let expected = rows.filter { tree.holds($0.value) }.keys.sorted()
            let list = try view.find(query).list(), found = (0..<list.count).map { list.keys[$0] }
            #expect(found == expected, "\(note): \(tree)")
            #expect(try view.count(query) == expected.count, "\(note): \(tree)")
            #expect(try view.first(query)?.key == expected.first, "\(note): \(tree)")
            let numbers = expected.compactMap { rows[$0]!.n }, doubles = expected.compactMap { rows[$0]!.d }
            func aggregate(_ id: UInt32, _ kind: AggregateKind) throws -> Value { try view.aggregate(query, id, kind) }
            #expect(try aggregate(n, .sum).low == numbers.reduce(0, +), "\(note): \(tree)")
            let least = try aggregate(n, .minimum), greatest = try aggregate(d, .maximum)
            #expect(least.isNull ? numbers.isEmpty : least.low == numbers.min(), "\(note): \(tree)")
            #expect(greatest.isNull ? doubles.isEmpty : greatest.asDouble == doubles.max(), "\(note): \(tree)")
            #expect(try aggregate(d, .sum).asDouble == doubles.reduce(0, +), "\(note): \(tree)")
            return expected.count
        }
    }

    @Test(arguments: 1...UInt64(2 * testScale)) func treesAgainstLoops(seed: UInt64) throws {
        var items = try Items(seed: seed)
        var tx = try items.store.begin()
        try items.create(9000, tx)
        try items.change(tx)
        _ = try tx.commit()
        var some = 0
        for round in 0..<2 {
            let view = try items.store.openView()
            for number in 0..<60 {
                let tree = items.anyTree(1 + number % 9)
                some += try items.check(tree, view, "seed \(seed), round \(round), \(number)") > 0 ? 1 : 0
            }
            view.close()
            // What is not committed counts, too.
            tx = try items.store.begin()
            try items.create(50, tx)
            try items.change(tx)
            for number in 0..<20 {
                some += try items.check(items.anyTree(1 + number % 5), tx, "seed \(seed), transaction") > 0 ? 1 : 0
            }
            _ = try tx.commit()
        }
        #expect(some > 80, "most find something")
        try items.store.close()
    }

    /// A long chain needs no depth; what is nested deeper than that is refused, and not evaluated.
    @Test func longAndDeep() throws {
        let items = try Items(seed: 1)
        let tx = try items.store.begin()
        for number in 0..<200 { _ = try items.write(Row(n: Int64(number)), tx, nil) }
        _ = try tx.commit()
        func test(_ number: Int) throws -> Predicate.Node {
            .test(try ColumnTest(items.n, .equal, .int(Int64(number))))
        }
        var chain = [try test(0)]
        for number in 1..<150 { chain += [try test(number), .or] }
        let view = try items.store.openView()
        #expect(try view.count(Query(items.cls, where: Predicate(chain))) == 150)
        let deep = try (0..<101).map { try test($0) } + Array(repeating: Predicate.Node.or, count: 100)
        let error = #expect(throws: StoreError.self) { try Predicate(deep) }
        #expect(error?.code == .invalidQuery)
        let most = try (0..<100).map { try test($0) } + Array(repeating: Predicate.Node.or, count: 99)
        #expect(try view.count(Query(items.cls, where: Predicate(most))) == 100)
        view.close()
        try items.store.close()
    }

    /// As IEEE 754 has it, and the operators of programs: 1 / -0.0 is negative.
    @Test func negatedZero() throws {
        var items = try Items(seed: 3)
        let tx = try items.store.begin()
        try items.create(300, tx)
        func count(_ text: String) throws -> Int { try tx.count(try tx.query(items.cls, parsing: text)) }
        let zeros = items.rows.values.count { $0.d == 0 }
        #expect(zeros > 0)
        #expect(try count("d == 0 and 1 / d > 0") == zeros)
        #expect(try count("d == 0 and 1 / -d < 0") == zeros)
        #expect(try count("1 / -d > 0") == 0)
        try tx.cancel()
    }

    /// Without a look at all objects, where an index finds few: the same as with one.
    @Test func theFirstOfSeveralComparisons() throws {
        var items = try Items(seed: 4)
        let tx = try items.store.begin()
        try items.create(6000, tx)
        try items.change(tx)
        for text in ["n == 7 and b == true", "n == 7 and d > 100", "n > 3 and n < 5 and s != NULL", "n == 1 or n == 2"]
        {
            let query = try tx.query(items.cls, parsing: text), all = try tx.find(query).list()
            #expect(try tx.first(query)?.key == (all.count > 0 ? all.keys[0] : nil), "\(text)")
        }
        try tx.cancel()
    }
}
