import Foundation
import ObjStore
import Testing

/// Texts of `filter`, what they are given, and what is refused, of texts and of expressions.
@Suite struct QueryFilterTests {
    typealias Item = Q.Item

    @Test func arguments() throws {
        let world = try Q.World(), all = world.all, owner = world.owners[1]
        try world.check(all.filter("age < $0 AND bonus >= $1", 3, 1)) { $0.age < 3 && ($0.bonus ?? 0) >= 1 }
        try world.check(all.filter("age < $1 AND age > $0 OR age == $1", 0, 3)) { (1...3).contains($0.age) }
        try world.check(all.filter("age IN $0", [1, 2])) { [1, 2].contains($0.age) }
        try world.check(all.filter("age IN $0", 1...2)) { [1, 2].contains($0.age) }
        try world.check(all.filter("name IN $0", Set(["a", "B"]))) { ["a", "B"].contains($0.name) }
        try world.check(all.filter("bonus IN $0", [1, nil] as [Int?])) { $0.bonus == nil || $0.bonus == 1 }
        try world.check(all.filter("age IN $0", [] as [Int])) { _ in false }
        try world.check(all.filter("age BETWEEN $0", [1, 3])) { (1...3).contains($0.age) }
        try world.check(all.filter("age BETWEEN {$0, $1}", 1, UInt8(3))) { (1...3).contains($0.age) }
        try world.check(all.filter("bonus == $0", nil)) { $0.bonus == nil }
        try world.check(all.filter("bonus != $0", Int?.none)) { $0.bonus != nil }
        try world.check(all.filter("colour == $0", Q.Colour.green)) { $0.colour == .green }
        try world.check(all.filter("level IN $0", [Q.Level.high])) { $0.level == .high }
        try world.check(all.filter("date >= $0", Date(Timestamp(seconds: 1)))) {
            $0.date.map { $0 >= Date(Timestamp(seconds: 1)) } ?? false
        }
        try world.check(all.filter("bytes == $0 OR data == $0", [0x61] as [UInt8])) {
            $0.bytes == [0x61] || $0.data == Data([0x61])
        }
        try world.check(all.filter("uuid == $0 OR token == $1", Q.uuids[1], Q.ids[1])) {
            $0.uuid == Q.uuids[1] || $0.token == Q.ids[1]
        }
        try world.check(all.filter("name CONTAINS $0", "xaby".dropFirst().dropLast())) { $0.name.contains("ab") }
        try world.check(all.filter("flies == $0", Counter(2))) { $0.flies.value == 2 }
        try world.check(all.filter("owner == $0", owner)) { $0.owner?.id == 1 }
        try world.check(all.filter("owner == $0", try owner.dynamic())) { $0.owner?.id == 1 }
        try world.check(all.filter("ANY friends == $0", owner)) { $0.friends.contains { $0.id == 1 } }
        try world.check(all.filter("owner IN $0", world.store.objects(Q.Owner.self).where { $0.id < 2 })) {
            ($0.owner?.id ?? 9) < 2
        }
        try world.check(all.filter("extra == $0", AnyValue.int(1))) { $0.extra.int == 1 || $0.extra.double == 1 }
        try world.check(all.filter("")) { _ in true }
        let oldest = try all.filter("good == true SORT(age DESC) LIMIT(2)")
        #expect(oldest.where { $0.age < 100 }.sorted(by: \.id).map(\.id) == oldest.map(\.id).sorted())
    }

    /// A text, and the expression that says the same, are the same query.
    @Test func textsOfExpressions() throws {
        let world = try Q.World(), all = world.all, age = 3
        func same(_ text: String, _ condition: (Query<Item>) -> Query<Bool>, line: Int = #line) throws {
            let written = try all.filter(text), made = all.where(condition)
            #expect(try written.queryText == made.queryText, "line \(line)")
            #expect(written.map(\.id) == made.map(\.id), "line \(line), seed \(world.seed)")
        }
        try same("age < 2") { $0.age < 2 }
        try same("2 > age") { 2 > $0.age }
        try same("age * 2 + 1 > weight") { $0.age * 2 + 1 > $0.weight }
        try same("good == true AND NOT (maybe == false)") { $0.good && !($0.maybe == false) }
        try same("age == 1 OR age == \(age) OR age == 5") { $0.age == 1 || $0.age == age || $0.age == 5 }
        try same("name BEGINSWITH[c] 'a' AND nick ENDSWITH[cd] 'B'") {
            $0.name.starts(with: "a", options: .caseInsensitive)
                && $0.nick.ends(with: "B", options: [.caseInsensitive, .diacriticInsensitive])
        }
        try same("name LIKE 'a*' OR name CONTAINS nick") { $0.name.like("a*") || $0.name.contains($0.nick) }
        try same("name =[c] 'AB' OR nick !=[d] 'e'") {
            $0.name.equals("AB", options: .caseInsensitive) || $0.nick.notEquals("e", options: .diacriticInsensitive)
        }
        try same("age IN {1, 2} AND age BETWEEN {1, 5}") { $0.age.in([1, 2]) && $0.age.contains(1...5) }
        try same("age >= 1 AND age < 5 AND bonus == nil") { $0.age.contains(1..<5) && $0.bonus == nil }
        try same("height < 0.1 AND weight > 2.5e-3") { $0.height < 0.1 && $0.weight > 2.5e-3 }
        try same("-age > -3") { -$0.age > -3 }
        try same("name.@count > 2") { $0.name.count > 2 }
        #expect(
            try all.where { $0.age < 2 }.sorted(by: \.name, ascending: false).distinct(by: \.good).offset(1).limit(3)
                .queryText == all.filter("age < 2 SORT(name DESC) DISTINCT(good) OFFSET(1) LIMIT(3)").queryText)
        #expect(try all.queryText == "TRUEPREDICATE")
    }

    @Test func whereAnObjectIs() throws {
        let world = try Q.World(40), other = try Q.World(5), all = world.all
        for results in [
            all, all.sorted(by: \.name), all.where { $0.age < 2 }, try all.filter("SORT(age DESC) LIMIT(7)"),
        ] {
            let found = Array(results)
            for item in world.items {
                let place = found.firstIndex { $0.isSameObject(as: item) }
                #expect(results.index(of: item) == place && results.firstIndex(of: item) == place)
                #expect(results.contains(item) == (place != nil))
            }
            #expect(results.index(of: Item()) == nil && results.index(of: other.items[0]) == nil)
        }
    }

    // MARK: Misuse

    private func error(_ body: () throws -> some Any) -> ObjStoreError? {
        do { _ = try body() } catch { return error as? ObjStoreError }
        return nil
    }

    @Test func textsThatAreRefused() throws {
        let world = try Q.World(5), all = world.all
        for (text, code, position) in [
            ("age", .invalidQuery, 3), ("age <", .invalidQuery, 5), ("age ~ 2", .invalidQuery, 4),
            ("age < 2 AND", .invalidQuery, 11), ("age < 'x", .invalidQuery, 6), ("age < $1", .invalidQuery, 6),
            ("agee < 2", .noSuchProperty, 0), ("id < 2 AND nme == 'x'", .noSuchProperty, 11),
            ("age < 'old'", .wrongType, 6), ("id > 0 AND name == 5", .wrongType, 19),
            ("age CONTAINS 'x'", .wrongType, 0), ("1 == 2", .invalidQuery, 2), ("ANY age == 2", .invalidQuery, 0),
            ("age < 2 LIMIT(-1)", .invalidQuery, 14), ("owner.nam == 'x'", .noSuchProperty, 6),
            ("age.name == 'x'", .invalidQuery, 4), ("owner.name == 5", .wrongType, 14),
            ("friends.@max.name > 1", .wrongType, 8), ("tags[0].x == 1", .invalidQuery, 8),
            ("SUBQUERY(tags, $x, $x == 't').@count > 1", .invalidQuery, 0), ("owner.@count.x > 1", .invalidQuery, 12),
            ("name TEXT 'x'", .wrongType, 0),
        ] as [(String, ObjStoreError.Code, Int)] {
            let found = error { try all.filter(text, 1) }
            #expect(found?.code == code && found?.position == position, "\(text): \(found.map { "\($0)" } ?? "none")")
        }
        #expect(error { try all.filter("agee < 2") }?.message.contains("did you mean age?") == true)
        #expect(code { try all.filter("age IN $0", [[1]]) } == .wrongType)
        let nested = try all.filter("extra == $0", ["a": 1])
        #expect(nested.map(\.id) == all.where { $0.extra == ["a": 1] }.map(\.id))
        // A list is compared as a whole; of a single value it is IN.
        #expect(try all.filter("age == $0", [1, 2]).map(\.id) == all.filter("age IN $0", [1, 2]).map(\.id))
        #expect(code { try all.filter("owner == $0", Q.Owner()) } == .wrongView)
        #expect(code { try all.filter("owner == $0", all.first) } == .wrongType)
        #expect(code { try all.filter("name == $0", Q.Colour.self) } == .wrongType)
    }

    /// Seeds of which all of five objects were deleted: tests took nil where they meant an object.
    @Test(arguments: [6456, 6920] as [UInt64]) func aWorldIsNeverEmpty(seed: UInt64) throws {
        #expect(try Q.World(5, seed: seed).all.first != nil)
    }

    @Test func expressionsThatAreRefused() throws {
        let world = try Q.World(5), other = try Q.World(5), all = world.all
        func refused(
            _ code: ObjStoreError.Code, line: Int = #line, _ condition: (Query<Item>) -> Query<Bool>
        ) {
            let found = error { try all.where(condition).validate() }
            #expect(found?.code == code && found?.position == nil, "line \(line): \(found.map { "\($0)" } ?? "none")")
        }
        refused(.invalidQuery) { $0.isFrozen }
        refused(.invalidQuery) { ($0.age < 2) == true }
        refused(.invalidQuery) { ($0.good && $0.good) != $0.maybe }
        refused(.wrongView) { $0.owner == Q.Owner() }
        refused(.wrongView) { $0.friends.contains(Q.Owner()) || $0.age == 1 }
        refused(.wrongStore) { $0.owner == other.owners[0] }
        refused(.wrongType) { $0.friends.links(to: world.items[0]) }
        refused(.wrongType) { $0.tags.links(to: world.owners[0]) }
        refused(.notSupported) { $0.extra.links(to: world.owners[0]) && $0.age == 1 }
        refused(.notSupported) { !$0.extra.links(to: world.owners[0]) }
        refused(.outOfRange) { $0.date < Date(timeIntervalSince1970: .nan) }
        // What another closure was given.
        var kept: [Query<Bool>] = []
        for results in [other.all, all] {
            _ = results.where { item in
                kept.append(item.age < 2)
                return item.good
            }
        }
        refused(.wrongStore) { _ in kept[0] }
        #expect(all.where { $0.good && kept[1] }.count == all.where { $0.good && $0.age < 2 }.count)
        #expect(code { try world.store.objects(Q.Owner.self).where { _ in kept[1] }.validate() } == .noSuchProperty)
        refused(.wrongType) { $0.name.search("x") }
        #expect(code { try all.sorted(by: [SortKey("nme")]).validate() } == .noSuchProperty)
        #expect(code { try all.sorted(by: \.isFrozen).validate() } == .invalidQuery)
        #expect(code { try all.sorted(by: [SortKey("owner.nme")]).validate() } == .noSuchProperty)
        #expect(code { try all.sorted(by: [SortKey("friends.name")]).validate() } == .invalidQuery)
        #expect(code { try all.sorted(by: \.owner).validate() } == .notSupported)
        #expect(code { try all.distinct(by: \.friends).validate() } == .invalidQuery)
        #expect(code { try all.limit(-1).validate() } == .invalidQuery)
        #expect(code { try all.offset(-1).validate() } == .invalidQuery)
        #expect(
            code { try memoryStore([Dog.self]).objects(Item.self).where { $0.age == 1 }.validate() } == .noSuchClass)
    }

    /// What was refused once: paths, in texts and closures.
    @Test func paths() throws {
        let world = try Q.World(), all = world.all, owner = world.owners[0], store = world.store
        try world.check(all.where { $0.owner.name == "a" }) { $0.owner?.name == "a" }
        try world.check(all.where { $0.owner.items.age == 1 }) { $0.owner?.items.contains { $0.age == 1 } ?? false }
        try world.check(all.where { $0.friends.name == "a" && $0.team.id < 2 }) {
            $0.friends.contains { $0.name == "a" } && $0.team.contains { $0.id < 2 }
        }
        try world.check(all.where { $0.named.name == "a" }) { $0.named.contains { $0.value?.name == "a" } }
        try world.check(all.where { $0.named["x"] == owner }) { ($0.named["x"] ?? nil)?.id == 0 }
        try world.check(all.where { $0.friends.count > 1 }) { $0.friends.count > 1 }
        try world.check(all.where { $0.tags.contains("t") }) { $0.tags.contains("t") }
        try world.check(all.filter("owner.name IN $0 OR tags.@count == $1", ["a", "A"], 0)) {
            ["a", "A"].contains($0.owner?.name) || $0.tags.isEmpty
        }
        try world.check(all.filter("$K0 == $1 AND ANY $K2 < $3", "owner.name", "a", "friends.id", 2)) {
            $0.owner?.name == "a" && $0.friends.contains { $0.id < 2 }
        }
        try world.check(all.filter("ALL friends == $0", owner)) { $0.friends.allSatisfy { $0.id == 0 } }
        try world.check(all.filter("NONE friends IN $0", Array(world.owners.prefix(2)))) {
            !$0.friends.contains { $0.id < 2 }
        }
        try world.check(
            all.filter("SUBQUERY(owner.@links.Item.owner, $i, $i.age > age AND $i.good == true).@count > $0", 3)
        ) {
            item in
            (item.owner?.items.filter { $0.age > item.age && $0.good }.count ?? 0) > 3
        }
        try world.check(all.filter("extra.@type == 'link' OR extra[0] == $0", 1)) {
            $0.extra.object != nil || $0.extra[0]?.int == 1
        }
        let many = store.objects(Q.Owner.self).where { $0.items.count > 30 }
        #expect(many.map(\.id) == world.owners.filter { $0.items.count > 30 }.map(\.id), "seed \(world.seed)")
        let dear = try store.objects(Q.Owner.self).filter(
            "@links.Item.owner.@max.price >= $0 SORT(@links.Item.owner.@count DESC)", 4)
        #expect(
            Set(dear.map(\.id)) == Set(world.owners.filter { $0.items.contains { $0.price >= 4 } }.map(\.id)),
            "seed \(world.seed)")
        #expect(dear.map(\.items.count) == dear.map(\.items.count).sorted(by: >))
    }

    /// What is wrong at the beginning of a chain is told by all of it, wherever it is used; and it is empty.
    @Test func failedChains() throws {
        let world = try Q.World(5), store = world.store
        let failed = world.all.where { $0.owner == Q.Owner() }
        for results in [failed, failed.where { $0.age < 2 }, failed.sorted(by: \.name), failed.limit(-1)] {
            #expect(code { try results.validate() } == .wrongView && code { try results.queryText } == .wrongView)
            #expect(code { try Store.checked { results.count } } == .wrongView)
            #expect(code { try results.observe { _ in } } == .wrongView)
            #expect(code { try results.filter("age < 2") } == .wrongView)
            #expect(results.count == 0 && results.first == nil && Array(results).isEmpty)
        }
        #expect(store.lastError?.code == .wrongView)
        let found = world.all.where { $0.age < 100 }
        try store.close()
        #expect(code { try found.validate() } == .closedHandle)
        #expect(code { try found.where { $0.age < 2 }.validate() } == .closedHandle)
    }

    // MARK: Without models

    @Test func dynamic() throws {
        let world = try Q.World(), all = world.store.dynamicObjects("Item"), items = world.items
        func ids(_ results: DynamicResults) throws -> [Int] { try results.validate().compactMap { $0.id?.int } }
        let young = try all.filter("age < $0 AND nick != nil", 3)
        #expect(try ids(young) == items.filter { $0.age < 3 && $0.nick != nil }.map(\.id))
        #expect(
            try ids(young.filter("good == true")) == items.filter { $0.age < 3 && $0.nick != nil && $0.good }.map(\.id))
        #expect(
            try ids(young.sorted(by: "id", ascending: false).limit(2).offset(1))
                == Array(items.filter { $0.age < 3 && $0.nick != nil }.map(\.id).reversed().prefix(2).dropFirst()))
        #expect(
            try ids(all.sorted(by: [SortKey("good"), SortKey("id", ascending: false)]))
                == items.sorted { $0.good == $1.good ? $0.id > $1.id : !$0.good }.map(\.id))
        #expect(try all.distinct(by: "good").count == Set(items.map(\.good)).count)
        #expect(try young.queryText == "age < 3 and nick != NULL" && all.queryText == "TRUEPREDICATE")
        #expect(
            try ids(all.filter("owner == $0 OR ANY friends == $0", try world.owners[1].dynamic()))
                == items.filter { $0.owner?.id == 1 || $0.friends.contains { $0.id == 1 } }.map(\.id))
        #expect(error { try all.filter("good == true AND agee < 2") }?.position == 17)
        #expect(code { try all.filter("age < 'x'") } == .wrongType && code { try all.filter("age <") } == .invalidQuery)
        #expect(code { try all.sorted(by: "agee").validate() } == .noSuchProperty)
        #expect(code { try world.store.dynamicObjects("Nobody").filter("a == 1") } == .noSuchClass)
        #expect(code { try world.store.dynamicObjects("Nobody").limit(1).validate() } == .noSuchClass)
        let frozen = try world.store.freeze().dynamicObjects("Item").filter("age < 3"), before = try ids(frozen)
        try world.store.write { _ in for item in items { item.age = 9 } }
        #expect(try young.isEmpty && ids(frozen) == before && !before.isEmpty)
    }
}
