import Foundation
import ObjStore
import Testing

/// Conditions and steps one behind the other, against the same done with arrays.
@Suite struct QueryChainTests {
    typealias Item = Q.Item

    /// Where nil is less than everything, and NaN less than numbers.
    private static func order(_ a: Double?, _ b: Double?) -> Bool {
        guard let a, let b else { return a == nil && b != nil }
        return a.isNaN || b.isNaN ? a.isNaN && !b.isNaN : a < b
    }

    private static func order(_ a: String?, _ b: String?) -> Bool {
        guard let a, let b else { return a == nil && b != nil }
        return a.utf8.lexicographicallyPrecedes(b.utf8)
    }

    /// A property to sort by, and whether one object comes before another.
    private static let keys: [(@Sendable (Bool) -> SortKey<Item>, @Sendable (Item, Item) -> Bool)] = [
        ({ SortKey(\.age, ascending: $0) }, { $0.age < $1.age }),
        ({ SortKey("bonus", ascending: $0) }, { order($0.bonus.map { Double($0) }, $1.bonus.map { Double($0) }) }),
        ({ SortKey(\.height, ascending: $0) }, { order($0.height, $1.height) }),
        ({ SortKey(\.weight, ascending: $0) }, { order($0.weight, $1.weight) }),
        ({ SortKey(\.name, ascending: $0) }, { order($0.name, $1.name) }),
        ({ SortKey("nick", ascending: $0) }, { order($0.nick, $1.nick) }),
        ({ SortKey(\.good, ascending: $0) }, { !$0.good && $1.good }),
        ({ SortKey(\.time, ascending: $0) }, { $0.time < $1.time }),
        ({ SortKey(\.colour, ascending: $0) }, { $0.colour.rawValue < $1.colour.rawValue }),
        ({ SortKey(\.token, ascending: $0) }, { Q.ids.firstIndex(of: $0.token)! < Q.ids.firstIndex(of: $1.token)! }),
        ({ SortKey(\.large, ascending: $0) }, { $0.large < $1.large }),
    ]

    /// Stable.
    private static func sorted(_ items: [Item], _ keys: [(isAscending: Bool, (Item, Item) -> Bool)]) -> [Item] {
        items.enumerated().sorted { a, b in
            for (isAscending, precedes) in keys {
                let (x, y) = isAscending ? (a.element, b.element) : (b.element, a.element)
                if precedes(x, y) { return true }
                if precedes(y, x) { return false }
            }
            return a.offset < b.offset
        }.map(\.element)
    }

    private static func distinct(_ items: [Item], by value: (Item) -> some Hashable) -> [Item] {
        var seen: Set<AnyHashable> = []
        return items.filter { seen.insert(AnyHashable(value($0))).inserted }
    }

    @Test func sorting() throws {
        let world = try Q.World(), all = world.all
        for isAscending in [true, false] {
            for (key, precedes) in Self.keys {
                try world.check(all.sorted(by: [key(isAscending)]), Self.sorted(world.items, [(isAscending, precedes)]))
            }
        }
        try world.check(all.sorted(by: \.age), Self.sorted(world.items, [(true, { $0.age < $1.age })]))
        try world.check(
            all.sorted(by: \.nick, ascending: false),
            Self.sorted(world.items, [(false, { Self.order($0.nick, $1.nick) })])
        )
        try world.check(
            all.sorted(by: [SortKey(\.name, options: .caseInsensitive)]),
            Self.sorted(world.items, [(true, { Self.order($0.name.lowercased(), $1.name.lowercased()) })]))
        for _ in 0..<40 {
            var keys: [SortKey<Item>] = [], orders: [(isAscending: Bool, (Item, Item) -> Bool)] = []
            for _ in 0...world.random.number(3) {
                let (key, precedes) = world.random.one(of: Self.keys), isAscending = world.random.number(2) == 0
                keys.append(key(isAscending))
                orders.append((isAscending, precedes))
            }
            try world.check(all.sorted(by: keys), Self.sorted(world.items, orders))
        }
    }

    @Test func distinctLimitOffset() throws {
        let world = try Q.World(), all = world.all, items = world.items
        try world.check(all.distinct(by: \.age), Self.distinct(items) { $0.age })
        try world.check(all.distinct(by: \.nick), Self.distinct(items) { $0.nick })
        try world.check(all.distinct(by: \.good, \.maybe), Self.distinct(items) { [$0.good, $0.maybe] })
        try world.check(all.distinct(by: ["colour", "good"]), Self.distinct(items) { "\($0.colour)\($0.good)" })
        for count in [0, 1, 7, 1000] {
            try world.check(all.limit(count), Array(items.prefix(count)))
            try world.check(all.offset(count), Array(items.dropFirst(count)))
            try world.check(all.offset(3).limit(count), Array(items.dropFirst(3).prefix(count)))
            try world.check(all.limit(count).offset(3), Array(items.prefix(count).dropFirst(3)))
        }
    }

    /// The text of a chain is that of the steps in one text; a condition behind a limit has none.
    @Test func randomChains() throws {
        let world = try Q.World()
        for _ in 0..<150 {
            var results = world.all, expected = world.items, isText = true
            for _ in 0..<world.random.number(6) {
                switch world.random.number(7) {
                case 0:
                    results = results.where { $0.age < 3 }
                    expected = expected.filter { $0.age < 3 }
                case 1:
                    results = results.where { $0.nick != nil && $0.good }
                    expected = expected.filter { $0.nick != nil && $0.good }
                case 2:
                    results = try results.filter("bonus > $0 OR name BEGINSWITH 'a'", 1)
                    expected = expected.filter { ($0.bonus ?? 0) > 1 || $0.name.hasPrefix("a") }
                case 3:
                    let (key, precedes) = world.random.one(of: Self.keys), isAscending = world.random.number(2) == 0
                    results = results.sorted(by: [key(isAscending)])
                    expected = Self.sorted(expected, [(isAscending, precedes)])
                case 4:
                    results = results.distinct(by: \.name)
                    expected = Self.distinct(expected) { $0.name }
                case 5:
                    let count = world.random.number(80)
                    results = results.limit(count)
                    expected = Array(expected.prefix(count))
                default:
                    let count = world.random.number(10)
                    results = results.offset(count)
                    expected = Array(expected.dropFirst(count))
                }
            }
            if (try? results.queryText) == nil { isText = false }
            if isText {
                try world.check(results, expected)
            } else {
                #expect(code { try results.queryText } == .notSupported)
                #expect(results.count == expected.count, "seed \(world.seed)")
                #expect(results.map(\.id) == expected.map(\.id), "seed \(world.seed)")
            }
        }
    }

    /// What is added later is in all of a chain; a list that was walked over stays what it was.
    @Test func chainsAreLive() throws {
        let store = try memoryStore([Dog.self])
        let tan = store.objects(Dog.self).where { $0.age == 1 }, named = try tan.filter("name BEGINSWITH 'B'")
        let first = named.sorted(by: \.name, ascending: false).limit(2), pinned = first.pinned()
        #expect(tan.isEmpty && named.isEmpty && first.isEmpty)
        try store.write { tx in
            for (id, name) in ["Bo", "Ax", "Bella", "Bim"].enumerated() {
                try tx.create(Dog.self, value: [id, name, 1])
            }
        }
        #expect(tan.count == 4 && named.map(\.name) == ["Bo", "Bella", "Bim"])
        #expect(first.map(\.name) == ["Bo", "Bim"] && first[1].name == "Bim" && first.last?.name == "Bim")
        #expect(
            pinned.isEmpty && first.reversed().map(\.name) == ["Bim", "Bo"] && first.firstIndex { $0.id == 3 } == 1)
        let frozen = try first.freeze()
        try store.write { tx in
            try tx.create(Dog.self, value: [9, "Bz", 1])
            #expect(first.map(\.name) == ["Bz", "Bo"] && frozen.map(\.name) == ["Bo", "Bim"])
        }
        #expect(first.first?.name == "Bz" && frozen.map(\.name) == ["Bo", "Bim"])
    }

    /// What has an order or a limit is added up, changed and deleted as it is.
    @Test func aggregatesAndChanges() throws {
        let store = try memoryStore([Dog.self])
        try store.write { tx in
            for id in 0..<10 {
                try tx.create(Dog.self, value: [id, "dog \(id % 3)", id * 7 % 10, Double(id)] as [Any?])
            }
        }
        let oldest = store.objects(Dog.self).sorted(by: \.age, ascending: false).limit(3)
        #expect(oldest.map(\.age) == [9, 8, 7])
        #expect(try oldest.sum(of: \.age) == 24 && oldest.min(of: \.age) == 7 && oldest.average(of: \.age) == 8)
        try store.write { tx in
            let changed = try oldest.set(\.name, to: "old")
            let deleted = try tx.delete(store.objects(Dog.self).where { $0.name == "old" }.sorted(by: \.age).limit(1))
            #expect(changed == 3 && deleted == 1)
        }
        #expect(store.objects(Dog.self).where { $0.name == "old" }.sorted(by: \.age).map(\.age) == [8, 9])
        #expect(oldest.map(\.age) == [9, 8, 6])
    }
}
