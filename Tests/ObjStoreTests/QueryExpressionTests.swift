import Foundation
import ObjStore
import Testing

/// Conditions of `where`, each against a plain loop over random objects, as a whole list in its order; and as the text
/// that they are.
@Suite struct QueryExpressionTests {
    typealias Item = Q.Item
    typealias Condition = @Sendable (Query<Item>) -> Query<Bool>

    // MARK: Comparisons

    /// A property with values, from both sides.
    private func order<V: Persistable & OrderedQueryOperand & Comparable>(
        _ world: Q.World, _ path: KeyPath<Item, V>, _ values: [V], line: Int = #line
    ) throws {
        let all = world.all
        for value in values {
            func get(_ item: Item) -> V { item[keyPath: path] }
            try world.check(all.where { $0[dynamicMember: path] == value }, { get($0) == value }, line: line)
            try world.check(all.where { $0[dynamicMember: path] != value }, { get($0) != value }, line: line)
            try world.check(all.where { $0[dynamicMember: path] < value }, { get($0) < value }, line: line)
            try world.check(all.where { $0[dynamicMember: path] <= value }, { get($0) <= value }, line: line)
            try world.check(all.where { $0[dynamicMember: path] > value }, { get($0) > value }, line: line)
            try world.check(all.where { $0[dynamicMember: path] >= value }, { get($0) >= value }, line: line)
            try world.check(all.where { value == $0[dynamicMember: path] }, { value == get($0) }, line: line)
            try world.check(all.where { value != $0[dynamicMember: path] }, { value != get($0) }, line: line)
            try world.check(all.where { value < $0[dynamicMember: path] }, { value < get($0) }, line: line)
            try world.check(all.where { value <= $0[dynamicMember: path] }, { value <= get($0) }, line: line)
            try world.check(all.where { value > $0[dynamicMember: path] }, { value > get($0) }, line: line)
            try world.check(all.where { value >= $0[dynamicMember: path] }, { value >= get($0) }, line: line)
        }
        try world.check(
            all.where { $0[dynamicMember: path].in(values) }, { values.contains($0[keyPath: path]) }, line: line)
    }

    private func order<V: _PersistableValue & OrderedQueryOperand & Comparable>(
        _ world: Q.World, optional path: KeyPath<Item, V?>, _ values: [V?], line: Int = #line
    ) throws {
        let all = world.all
        for value in values {
            func get(_ item: Item) -> V? { item[keyPath: path] }
            try world.check(all.where { $0[dynamicMember: path] == value }, { get($0) == value }, line: line)
            try world.check(all.where { $0[dynamicMember: path] != value }, { get($0) != value }, line: line)
            try world.check(
                all.where { $0[dynamicMember: path] < value }, { Q.holds(get($0), value, <) }, line: line)
            try world.check(
                all.where { $0[dynamicMember: path] <= value }, { Q.holds(get($0), value, <=) }, line: line)
            try world.check(
                all.where { $0[dynamicMember: path] > value }, { Q.holds(get($0), value, >) }, line: line)
            try world.check(
                all.where { value <= $0[dynamicMember: path] }, { Q.holds(value, get($0), <=) }, line: line)
            try world.check(all.where { value == $0[dynamicMember: path] }, { value == get($0) }, line: line)
        }
        try world.check(
            all.where { $0[dynamicMember: path].in(values) }, { values.contains($0[keyPath: path]) }, line: line)
        let some = values.compactMap(\.self)
        try world.check(
            all.where { $0[dynamicMember: path].in(some) },
            { item in item[keyPath: path].map { some.contains($0) } ?? false }, line: line)
    }

    @Test func valuesOfEachType() throws {
        let world = try Q.World()
        try order(world, \.age, [-3, 0, 2, 5, 100])
        try order(world, \.small, [0, 3, 127])
        try order(world, \.large, [.min, 0, .max])
        try order(world, \.height, [.nan, -.infinity, 0, 1.5, .infinity])
        try order(world, \.single, [.nan, 0, 0.25, 2])
        try order(world, \.flies, [0, 2, 9])
        try order(world, \.name, ["", "a", "ab", "Zoë", "z"])
        try order(world, \.time, [Timestamp(seconds: 0), Timestamp(seconds: -1, nanoseconds: 1)])
        try order(world, \.token, Q.ids)
        try order(world, optional: \.bonus, [nil, -1, 0, 3])
        try order(world, optional: \.weight, [nil, .nan, 0, 2.5, 9])
        try order(world, optional: \.nick, [nil, "", "ab", "Zoë"])
        try order(world, optional: \.date, [nil, Date(Timestamp(seconds: 0)), Date(Timestamp(seconds: 2))])
        #expect(world.store.lastError == nil)
    }

    @Test func equalityOfOtherTypes() throws {
        let world = try Q.World(), all = world.all
        for flag in [true, false] {
            try world.check(all.where { $0.good == flag }) { $0.good == flag }
            try world.check(all.where { $0.maybe != flag }) { $0.maybe != flag }
        }
        try world.check(all.where { $0.maybe == nil }) { $0.maybe == nil }
        try world.check(all.where { $0.maybe < true }) { $0.maybe == false }
        for colour in Q.Colour.allCases {
            try world.check(all.where { $0.colour == colour }) { $0.colour == colour }
            try world.check(all.where { colour != $0.colourOrNot }) { $0.colourOrNot != colour }
        }
        try world.check(all.where { $0.colourOrNot == .red || $0.colourOrNot == nil }) {
            $0.colourOrNot == .red || $0.colourOrNot == nil
        }
        try world.check(all.where { $0.colour.in([.red, .blue]) }) { $0.colour != .green }
        try world.check(all.where { $0.colourOrNot.in([.red, nil]) }) {
            $0.colourOrNot == nil || $0.colourOrNot == .red
        }
        try world.check(all.where { $0.level == .high }) { $0.level == .high }
        try world.check(all.where { $0.bytes == [0x61, 0x62] }) { $0.bytes == [0x61, 0x62] }
        try world.check(all.where { $0.data != Data("ab".utf8) }) { $0.data != Data("ab".utf8) }
        try world.check(all.where { $0.data == nil }) { $0.data == nil }
        for uuid in Q.uuids { try world.check(all.where { $0.uuid == uuid }) { $0.uuid == uuid } }
        try world.check(all.where { $0.uuid > Q.uuids[1] }) { $0.uuid.map { Q.uuids[2...].contains($0) } ?? false }
        try world.check(all.where { $0.price >= 3 && $0.price.in([3, 4]) }) { [3, 4].contains($0.price) }
        try world.check(all.where { $0.extra == 1 }) { item in
            item.extra.int == 1 || item.extra.double == 1
        }
        try world.check(all.where { $0.extra == AnyValue.none }) { $0.extra.isNone }
    }

    // MARK: Properties with properties

    private func pair<A: Persistable & OrderedQueryOperand, B: Persistable & OrderedQueryOperand, C: Comparable>(
        _ world: Q.World, _ a: KeyPath<Item, A>, _ b: KeyPath<Item, B>, _ left: (A) -> C?, _ right: (B) -> C?,
        line: Int = #line
    ) throws where A._QueryFamily == B._QueryFamily {
        let all = world.all
        func x(_ item: Item) -> C? { left(item[keyPath: a]) }
        func y(_ item: Item) -> C? { right(item[keyPath: b]) }
        try world.check(
            all.where { $0[dynamicMember: a] == $0[dynamicMember: b] }, { x($0) == y($0) }, line: line)
        try world.check(
            all.where { $0[dynamicMember: a] != $0[dynamicMember: b] }, { x($0) != y($0) }, line: line)
        try world.check(
            all.where { $0[dynamicMember: a] < $0[dynamicMember: b] }, { Q.holds(x($0), y($0), <) }, line: line)
        try world.check(
            all.where { $0[dynamicMember: a] <= $0[dynamicMember: b] }, { Q.holds(x($0), y($0), <=) }, line: line)
        try world.check(
            all.where { $0[dynamicMember: a] > $0[dynamicMember: b] }, { Q.holds(x($0), y($0), >) }, line: line)
        try world.check(
            all.where { $0[dynamicMember: a] >= $0[dynamicMember: b] }, { Q.holds(x($0), y($0), >=) }, line: line)
    }

    @Test func propertiesWithProperties() throws {
        let world = try Q.World()
        try pair(world, \.age, \.age, { $0 }, { $0 })
        try pair(world, \.age, \.bonus, { $0 }, { $0 })
        try pair(world, \.small, \.age, { Int($0) }, { $0 })
        try pair(world, \.flies, \.bonus, { $0.value }, { $0 })
        try pair(world, \.age, \.weight, { Double($0) }, { $0 })
        try pair(world, \.single, \.height, { Double($0) }, { $0 })
        try pair(world, \.height, \.weight, { $0 }, { $0 })
        try pair(world, \.name, \.nick, { $0 }, { $0 })
        try pair(world, \.time, \.date, { $0 }, { $0.map { Timestamp($0) } })
        try pair(world, \.maybe, \.good, { $0.map { $0 ? 1 : 0 } }, { $0 ? 1 : 0 })
        let all = world.all
        try world.check(all.where { $0.colour == $0.colourOrNot }) { $0.colour == $0.colourOrNot }
        try world.check(all.where { $0.bytes == $0.data }) { Data($0.bytes) == $0.data }
    }

    // MARK: Arithmetic

    @Test func arithmetic() throws {
        let world = try Q.World(), all = world.all
        try world.check(all.where { $0.age * 2 + 1 > $0.weight }) { Q.holds(Double($0.age * 2 + 1), $0.weight, >) }
        try world.check(all.where { $0.age + 3 == 5 }) { $0.age + 3 == 5 }
        try world.check(all.where { 3 + $0.age == 5 - $0.small }) { 3 + $0.age == 5 - Int($0.small) }
        try world.check(all.where { $0.age - 1 < $0.age * $0.age }) { $0.age - 1 < $0.age * $0.age }
        try world.check(all.where { 10 / $0.age > 2 }) { $0.age != 0 && 10 / $0.age > 2 }
        try world.check(all.where { $0.age / 2 == -1 }) { $0.age / 2 == -1 }
        try world.check(all.where { -$0.age > 0 && 7 - $0.age > 8 }) { -$0.age > 0 && 7 - $0.age > 8 }
        try world.check(all.where { $0.bonus + 1 == nil }) { $0.bonus == nil }
        try world.check(all.where { $0.bonus * $0.age == 4 }) { ($0.bonus ?? 0) * $0.age == 4 }
        try world.check(all.where { $0.bonus - $0.bonus == 0 }) { $0.bonus != nil }
        // Beyond 64 bits it is null.
        try world.check(all.where { $0.large + 1 > $0.large }) { $0.large < .max }
        try world.check(all.where { !($0.large - 1 < 0 || $0.large - 1 >= 0) }) { $0.large == .min }
        try world.check(all.where { $0.large * 2 != 0 && !($0.large * 2 < 0) && !($0.large * 2 > 0) }) {
            $0.large.multipliedReportingOverflow(by: 2).overflow
        }
        try world.check(all.where { $0.height * 2 - 0.5 <= 3 }) { $0.height * 2 - 0.5 <= 3 }
        try world.check(all.where { $0.height / 0 > 1 }) { $0.height / 0 > 1 }
        try world.check(all.where { $0.weight + $0.height < 4.5 }) { item in
            Q.holds(item.weight.map { $0 + item.height }, 4.5, <)
        }
        try world.check(all.where { $0.age * $0.weight == 3 }) { item in item.weight.map { $0 * Double(item.age) } == 3
        }
        try world.check(all.where { $0.single * 4 == 5 && $0.small + 1 > 2 }) { $0.single * 4 == 5 && $0.small + 1 > 2 }
        try world.check(all.where { ($0.age + 1) * ($0.small - 1) > 6 - 2 * $0.age }) { item in
            (item.age + 1) * (Int(item.small) - 1) > 6 - 2 * item.age
        }
    }

    // MARK: Ranges, lists

    @Test func rangesAndLists() throws {
        let world = try Q.World(), all = world.all
        try world.check(all.where { $0.age.contains(1...3) }) { (1...3).contains($0.age) }
        try world.check(all.where { $0.age.contains(1..<3) }) { (1..<3).contains($0.age) }
        try world.check(all.where { $0.age.contains(2..<2) }) { _ in false }
        try world.check(all.where { $0.bonus.contains(1...3) }) { $0.bonus.map { (1...3).contains($0) } ?? false }
        try world.check(all.where { !$0.bonus.contains(1..<3) }) { !($0.bonus.map { (1..<3).contains($0) } ?? false) }
        try world.check(all.where { $0.weight.contains(0.5...2) }) { $0.weight.map { (0.5...2).contains($0) } ?? false }
        try world.check(all.where { $0.name.contains("a"..."b") }) { ("a"..."b").contains($0.name) }
        let times = Timestamp(seconds: -1, nanoseconds: 1)...Timestamp(seconds: 0)
        try world.check(all.where { $0.time.contains(times) }) { times.contains($0.time) }
        try world.check(all.where { ($0.age + 1).contains(0..<4) }) { (0..<4).contains($0.age + 1) }
        try world.check(all.where { $0.age.in([]) }) { _ in false }
        try world.check(all.where { $0.age.in(2...4) }) { (2...4).contains($0.age) }
        try world.check(all.where { !$0.bonus.in(0..<40) }) { $0.bonus == nil }
        try world.check(all.where { $0.name.in(Set(["a", "Zoë", "?"])) }) { ["a", "Zoë"].contains($0.name) }
        try world.check(all.where { item in (item.age * 2).in([2, 4, 5]) }) { [2, 4].contains($0.age * 2) }
        try world.check(all.where { $0.owner.in(Array(world.owners[1...])) }) { $0.owner.map { $0.id > 0 } ?? false }
        try world.check(all.where { $0.owner.in([world.owners[2], nil]) }) { $0.owner == nil || $0.owner?.id == 2 }
    }

    // MARK: Texts

    private static func fold(_ text: String, _ options: StringOptions) -> String {
        var text = text
        if options.contains(.diacriticInsensitive) { text = text.replacingOccurrences(of: "ë", with: "e") }
        return options.contains(.caseInsensitive) ? text.lowercased() : text
    }

    /// Of whole characters; `*` and `?` without escapes.
    private static func like(_ text: Substring, _ pattern: Substring) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return like(text, pattern.dropFirst()) || !text.isEmpty && like(text.dropFirst(), pattern)
        }
        return !text.isEmpty && (first == "?" || first == text.first) && like(text.dropFirst(), pattern.dropFirst())
    }

    @Test func texts() throws {
        let world = try Q.World(), all = world.all
        let allOptions: [StringOptions] = [
            [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
        ]
        for options in allOptions {
            func folded(_ text: String) -> String { Self.fold(text, options) }
            for part in ["", "a", "B", "zoë", "Oe", "€", "x\u{1F415}"] {
                let wanted = folded(part)
                try world.check(all.where { $0.name.contains(part, options: options) }) {
                    wanted.isEmpty || folded($0.name).contains(wanted)
                }
                try world.check(all.where { $0.nick.starts(with: part, options: options) }) {
                    $0.nick.map { folded($0).hasPrefix(wanted) } ?? false
                }
                try world.check(all.where { $0.name.ends(with: part, options: options) }) {
                    folded($0.name).hasSuffix(wanted)
                }
                try world.check(all.where { $0.nick.equals(part, options: options) }) {
                    $0.nick.map { folded($0) } == wanted
                }
                try world.check(all.where { $0.nick.notEquals(part, options: options) }) {
                    $0.nick.map { folded($0) } != wanted
                }
            }
            for pattern in ["*", "a*", "?b*", "*B", "z?ë", "a?b", "x?"] {
                try world.check(all.where { $0.name.like(pattern, options: options) }) {
                    Self.like(folded($0.name)[...], folded(pattern)[...])
                }
            }
            try world.check(all.where { $0.name.contains($0.nick, options: options) }) { item in
                item.nick.map { $0.isEmpty || folded(item.name).contains(folded($0)) } ?? false
            }
            try world.check(all.where { $0.nick.starts(with: $0.name, options: options) }) { item in
                item.nick.map { folded($0).hasPrefix(folded(item.name)) } ?? false
            }
            try world.check(all.where { $0.name.equals($0.nick, options: options) }) { item in
                folded(item.name) == item.nick.map { folded($0) }
            }
        }
        try world.check(all.where { $0.nick.like("A*", caseInsensitive: true) }) {
            $0.nick?.lowercased().hasPrefix("a") ?? false
        }
        try world.check(all.where { $0.name.like("a\\*b") }) { $0.name == "a*b" }
        try world.check(all.where { $0.nick.contains(nil) }) { _ in false }
        try world.check(all.where { $0.nick.equals(nil) }) { $0.nick == nil }
        try world.check(all.where { $0.name.count > 2 }) { $0.name.unicodeScalars.count > 2 }
        try world.check(all.where { $0.nick.count == $0.age }) { $0.nick?.unicodeScalars.count == $0.age }
        try world.check(all.where { $0.bytes.starts(with: [0x61]) }) { $0.bytes.first == 0x61 }
        try world.check(all.where { $0.data.contains(Data("b".utf8)) }) { $0.data?.contains(0x62) ?? false }
        try world.check(all.where { $0.bytes.count == 2 }) { $0.bytes.count == 2 }
    }

    // MARK: Links

    @Test func links() throws {
        let world = try Q.World(), all = world.all
        for owner in world.owners {
            let id = owner.id
            try world.check(all.where { $0.owner == owner }) { $0.owner?.id == id }
            try world.check(all.where { owner != $0.owner }) { $0.owner?.id != id }
            try world.check(all.where { $0.owner.links(to: owner) }) { $0.owner?.id == id }
            try world.check(all.where { $0.friends.contains(owner) }) { $0.friends.contains { $0.id == id } }
            try world.check(all.where { !$0.team.contains(owner) }) { !$0.team.contains { $0.id == id } }
            try world.check(all.where { $0.named.contains(owner) }) { $0.named.contains { $0.value?.id == id } }
            try world.check(all.where { $0.friends.links(to: owner) && $0.owner == nil }) {
                $0.owner == nil && $0.friends.contains { $0.id == id }
            }
            try world.check(all.where { $0.extra == .object(owner) }) { ($0.extra.object as? Q.Owner)?.id == id }
        }
        try world.check(all.where { $0.owner == nil }) { $0.owner == nil }
        try world.check(all.where { nil != $0.owner }) { $0.owner != nil }
    }

    // MARK: And, or, not

    private static let conditions: [(Condition, @Sendable (Item) -> Bool)] = [
        ({ $0.age < 2 }, { $0.age < 2 }), ({ $0.age == 3 }, { $0.age == 3 }), ({ $0.good }, { $0.good }),
        ({ $0.bonus > 2 }, { ($0.bonus ?? 0) > 2 }), ({ $0.weight != 1 }, { $0.weight != 1 }),
        ({ $0.name.starts(with: "a") }, { $0.name.hasPrefix("a") }), ({ $0.nick == nil }, { $0.nick == nil }),
        ({ $0.age > $0.bonus }, { Q.holds($0.age, $0.bonus, >) }), ({ 1 >= $0.small }, { $0.small <= 1 }),
        ({ $0.age + 1 == $0.small + 0 }, { $0.age + 1 == Int($0.small) }), ({ $0.owner != nil }, { $0.owner != nil }),
        ({ $0.name.in(["a", "ab", "B"]) }, { ["a", "ab", "B"].contains($0.name) }),
        ({ $0.colour == .red || $0.colour == .blue }, { $0.colour != .green }),
        ({ $0.height.contains(0...1) }, { (0...1).contains($0.height) }),
    ]

    private func tree(_ world: Q.World, _ depth: Int) -> (Condition, @Sendable (Item) -> Bool) {
        let kind = depth == 0 ? 0 : world.random.number(6)
        if kind == 0 { return world.random.one(of: Self.conditions) }
        let (a, x) = tree(world, depth - 1)
        if kind == 1 { return ({ !a($0) }, { !x($0) }) }
        let (b, y) = tree(world, depth - 1)
        return kind < 4 ? ({ a($0) && b($0) }, { x($0) && y($0) }) : ({ a($0) || b($0) }, { x($0) || y($0) })
    }

    @Test func randomTrees() throws {
        let world = try Q.World()
        for _ in 0..<200 {
            let (condition, expected) = tree(world, 4)
            try world.check(world.all.where(condition), expected)
        }
    }

    @Test func boolsAlone() throws {
        let world = try Q.World(), all = world.all
        try world.check(all.where { $0.good }) { $0.good }
        try world.check(all.where { !$0.good }) { !$0.good }
        try world.check(all.where { $0.good && !($0.good || $0.age < 3) }) { _ in false }
        try world.check(
            all.where { item in
                let young = item.age < 2, good = item.good
                return young && good || !young && !good
            }
        ) { ($0.age < 2) == $0.good }
        #expect(
            try all.where { $0.good && $0.age < 2 || !($0.nick == nil) }.queryText
                == #"good == true and age < 2 or !(nick == NULL)"#)
        #expect(try all.where { $0.age < 1 && $0.age < 2 && $0.age < 3 }.queryText == "age < 1 and age < 2 and age < 3")
        // A chain is one node: it is not deep.
        let chain = all.where { item in (1...500).reduce(item.age == 0) { $0 || item.age == $1 + 5 } }
        try world.check(chain) { $0.age == 0 }
    }

    /// Beside values of any type a text and data with its bytes are equal, however it is asked.
    @Test func textsWithBytes() throws {
        let world = try Q.World(60)
        func isA(_ item: Item) -> Bool { item.extra.string == "a" || item.extra.data == Array("a".utf8) }
        try world.check(world.all.where { $0.extra == "a" }, isA)
        try world.check(world.all.where { $0.extra.in(["a", 100]) }, isA)
        try world.check(world.all.where { $0.extra.in(["a", 100, 101, 102, 103, 104, 105, 106, 107, 108]) }, isA)
    }

    /// The same in a transaction, which sees what it has changed, and in a frozen version.
    @Test func inOtherViews() throws {
        let world = try Q.World(), store = world.store
        let young = world.all.where { $0.age * 2 < 3 && $0.bonus != nil }, before = young.map(\.id)
        let frozen = try store.freeze().objects(Item.self).where { $0.age * 2 < 3 && $0.bonus != nil }
        try store.write { tx in
            for item in world.items where item.id % 2 == 0 { item.age += 3 }
            let expected = world.items.filter { $0.age * 2 < 3 && $0.bonus != nil }.map(\.id)
            #expect(young.map(\.id) == expected && expected != before, "seed \(world.seed)")
            #expect(tx.objects(Item.self).where { $0.age * 2 < 3 && $0.bonus != nil }.count == expected.count)
            #expect(frozen.map(\.id) == before)
        }
        #expect(frozen.map(\.id) == before && frozen.count == before.count)
        try world.check(young) { $0.age * 2 < 3 && $0.bonus != nil }
    }
}
