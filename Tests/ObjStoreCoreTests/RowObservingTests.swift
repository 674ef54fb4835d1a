import ObjStoreCore
import Testing

/// Observers of tables and of plain values in small cases: all of them. Random histories are in Tests/Crash/Observers.
@Suite struct RowObservingTests {
    /// Rows that follow what they are told: what stays has the values that it had.
    private final class Follower {
        let name: String
        let store: Store
        /// What a row is known by, and what it shows.
        typealias Row = (name: String, cells: [String])
        private let content: () -> [Row]
        private(set) var rows: [Row]
        private(set) var problem: String?
        private(set) var told = 0
        private(set) var moved = 0
        var observer: Observer!

        init(_ name: String, _ store: Store, _ content: @escaping () -> [Row]) {
            (self.name, self.store, self.content, rows) = (name, store, content, content())
        }

        private func shown(_ changes: ChangeSet, before: Bool) throws -> [[String]] {
            if changes.elements == .objects || name.contains("GROUP") || name.contains("SELECT") {
                let table = try store.table(of: changes, before: before)
                return (0..<table.rows).map { row in table.columns.map { "\(RowObservingTests.text($0.value(row)))" } }
            }
            let view = try store.view(of: changes, before: before)
            defer { view.close() }
            let values = try store.values(of: changes, before: before, in: view).values()
            return (0..<values.count).map { [RowObservingTests.text(values.value($0))] }
        }

        func take(_ changes: ChangeSet) {
            do { try follow(changes) } catch { problem = "\(error)" }
        }

        private func follow(_ changes: ChangeSet) throws {
            guard let indices = changes.indices else { return problem = "no positions" }
            told += 1
            moved += changes.moved.count
            let before = try shown(changes, before: true), after = try shown(changes, before: false)
            if before != rows.map(\.cells) { problem = "before: \(before), not \(rows.map(\.cells))" }
            let wanted = content(), old = rows
            for place in (indices.deleted + indices.movedBefore).sorted(by: >) { rows.remove(at: Int(place)) }
            for place in (indices.inserted + indices.movedAfter).sorted() {
                guard place <= rows.count, place < wanted.count else { return problem = "position \(place)" }
                rows.insert((wanted[Int(place)].name, after[Int(place)]), at: Int(place))
            }
            for (number, (from, to)) in zip(indices.modifiedBefore, indices.modifiedAfter).enumerated() {
                let was = old[Int(from)]
                if rows[Int(to)].name != was.name { problem = "modified: \(was.name) at \(to)" }
                rows[Int(to)].cells = after[Int(to)]
                try check(changes, number, was.cells, after[Int(to)])
            }
            for (number, (from, to)) in zip(indices.movedBefore, indices.movedAfter).enumerated() {
                try check(changes, indices.modifiedBefore.count + number, old[Int(from)].cells, after[Int(to)])
            }
        }

        /// Columns are told where they have another value.
        private func check(_ changes: ChangeSet, _ number: Int, _ before: [String], _ after: [String]) throws {
            guard name.contains("GROUP") || name.contains("SELECT") else { return }
            for column in before.indices {
                let isTold = try changes.hasChanged(column: column, atModification: UInt64(number))
                if isTold != (before[column] != after[column]) {
                    problem = "column \(column): \(isTold), from \(before) to \(after)"
                }
            }
        }

        var isRight: Bool {
            let wanted = content()
            return problem == nil && rows.map(\.name) == wanted.map(\.name) && rows.map(\.cells) == wanted.map(\.cells)
        }

        var description: String { "\(name): \(rows), not \(content()): \(problem ?? "")" }
    }

    private static func text(_ value: Value) -> String {
        switch value.kind {
        case .null: "-"
        case .double: "\(Double(bitPattern: UInt64(bitPattern: value.low)))"
        default: "\(value.low)"
        }
    }

    private static func string(_ value: Value) -> String {
        String(decoding: UnsafeRawBufferPointer(start: value.pointer, count: value.count), as: UTF8.self)
    }

    private static func open() throws -> Store {
        var configuration = StoreConfiguration(), draft = SchemaDraft()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        try draft.addClass("Item")
        try draft.addClass("Box")
        try draft.addProperty("Item", "city", .int, [])
        try draft.addProperty("Item", "rank", .int, [])
        try draft.addLink("Item", "box", to: "Box", .nullable)
        try draft.addProperty("Box", "size", .int, [])
        try draft.addCollection("Box", "numbers", .list, ElementSchema(kind: .int))
        try draft.addCollection("Box", "levels", .set, ElementSchema(kind: .int))
        try draft.addCollection("Box", "names", .map, ElementSchema(kind: .int, keyKind: .string))
        configuration.schema = draft
        return try Store.open(configuration)
    }

    private static func create(
        _ view: View, _ cls: UInt32, _ properties: [UInt32], _ values: [Value]
    ) throws -> ObjectID {
        try properties.withUnsafeBufferPointer { properties in
            try values.withUnsafeBufferPointer { try view.create(cls, properties, $0.baseAddress!) }
        }
    }

    private static func states(_ count: Int, of most: Int64) -> [[Int64]] {
        var all: [[Int64]] = [[]]
        for _ in 0..<count { all = all.flatMap { state in (0...most).map { state + [$0] } } }
        return all
    }

    private func follow(
        _ name: String, _ query: AnyQuery, _ store: Store, _ content: @escaping () -> [Follower.Row]
    ) throws -> Follower {
        let follower = Follower(name, store, content)
        follower.observer = try store.observe(query, ObserverOptions()) { changes in
            follower.take(changes)
            return nil
        }
        return follower
    }

    /// From each way to put objects into groups, or nowhere, to each other one: rows of objects and of groups, in their
    /// orders, parts of them, values behind a link.
    @Test(arguments: [(3, 2), (4, 1)]) func everyPairOfTables(count: Int, most: Int64) throws {
        let store = try Self.open(), view = try store.openView()
        defer { view.close() }
        let item = try view.findClass("Item"), box = try view.findClass("Box")
        let city = try view.findProperty(item, "city"), rank = try view.findProperty(item, "rank")
        let link = try view.findProperty(item, "box"), size = try view.findProperty(box, "size")
        var ids: [ObjectID] = [], state = [Int64](repeating: 0, count: count), isTurned = false
        let first = try store.begin(.atMost(5000))
        let owner = try Self.create(first, box, [size], [.int(0)])
        for index in 0..<count {
            ids.append(
                try Self.create(
                    first, item, [city, rank, link],
                    [.int(0), .int(Int64(index)), index == 1 ? .null : Value.link(owner)]))
        }
        _ = try first.commit()
        func ranked(_ object: Int) -> Int64 { Int64(isTurned ? count - object : object) }
        func objects(where isWanted: (Int) -> Bool = { _ in true }) -> [Int] {
            (0..<count).filter { state[$0] > 0 && isWanted($0) }
        }
        func groups() -> [(city: Int64, members: [Int])] {
            var found: [(city: Int64, members: [Int])] = []
            for object in objects() {
                if let place = found.firstIndex(where: { $0.city == state[object] }) {
                    found[place].members.append(object)
                } else {
                    found.append((state[object], [object]))
                }
            }
            return found
        }
        func sum(_ members: [Int]) -> Int64 { members.reduce(0) { $0 + ranked($1) } }
        func grouped(_ group: (city: Int64, members: [Int])) -> Follower.Row {
            (
                "\(group.city)",
                [
                    "\(group.city)", "\(group.members.count)", "\(sum(group.members))",
                    "\(group.members.map(ranked).min()!)",
                    "\(Double(sum(group.members)) / Double(group.members.count))",
                ]
            )
        }
        let columns = "city, @count, @sum.rank, @min.rank, @avg.rank"
        let cases: [(text: String, content: () -> [Follower.Row])] = [
            (
                "city > 0 SELECT(city, rank * 2 AS twice)",
                {
                    objects().map { ("\($0)", ["\(state[$0])", "\(ranked($0) * 2)"]) }
                }
            ),
            (
                "city > 0 SORT(rank ASC) LIMIT(2) SELECT(rank)",
                {
                    objects().sorted { ranked($0) < ranked($1) }.prefix(2).map { ("\($0)", ["\(ranked($0))"]) }
                }
            ),
            (
                "city > 0 SELECT(box.size, city)",
                {
                    objects().map { ("\($0)", [$0 == 1 ? "-" : "\(isTurned ? 1 : 0)", "\(state[$0])"]) }
                }
            ),
            ("city > 0 GROUP(city) SELECT(\(columns))", { groups().map(grouped) }),
            (
                "city > 0 GROUP(city) SORT(@sum.rank DESC) SELECT(\(columns))",
                {
                    groups().enumerated().sorted { a, b in
                        let (left, right) = (sum(a.element.members), sum(b.element.members))
                        return left == right ? a.offset < b.offset : left > right
                    }.map { grouped($0.element) }
                }
            ),
            (
                "city > 0 GROUP(city) HAVING(@count > 1) SELECT(@count)",
                {
                    groups().filter { $0.members.count > 1 }.map { ("\($0.city)", ["\($0.members.count)"]) }
                }
            ),
            (
                "city > 0 GROUP(city, rank) OFFSET(1) LIMIT(2)",
                {
                    objects().dropFirst().prefix(2).map {
                        ("\(state[$0]) \(ranked($0))", ["\(state[$0])", "\(ranked($0))", "1"])
                    }
                }
            ),
            (
                "city > 0 GROUP() SELECT(@count, @max.rank)",
                {
                    [("", ["\(objects().count)", objects().map(ranked).max().map { "\($0)" } ?? "-"])]
                }
            ),
        ]
        var followers: [Follower] = []
        for (text, content) in cases {
            followers.append(try follow(text, try view.anyQuery(item, parsing: text), store, content))
            // Those who ask the same have one answer in common.
            followers.append(try follow(text, try view.anyQuery(item, parsing: text), store, content))
        }
        func step(to next: [Int64]) throws {
            let view = try store.begin(.atMost(5000))
            isTurned.toggle()
            for object in 0..<count {
                if next[object] != state[object] { try view.set(ids[object], city, .int(next[object])) }
                try view.set(ids[object], rank, .int(ranked(object)))
            }
            try view.set(owner, size, .int(isTurned ? 1 : 0))
            _ = try view.commit()
            state = next
            _ = try store.hub.deliver()
            for follower in followers where !follower.isRight {
                Issue.record("\(follower.description)")
                throw StoreError(.internalError, "stopped")
            }
        }
        let all = Self.states(count, of: most)
        for one in all {
            for other in all {
                try step(to: one)
                try step(to: other)
            }
        }
        for follower in followers { #expect(follower.told > all.count, "\(follower.name)") }
        #expect(followers.contains { $0.moved > 0 && $0.name.contains("GROUP") })
        for follower in followers { follower.observer.close() }
        try store.close()
    }

    /// From each content of a list, a set and a map to each other one: values that satisfy a condition, in orders of
    /// their own, and parts of them.
    @Test func everyPairOfValues() throws {
        let store = try Self.open(), view = try store.openView()
        defer { view.close() }
        let box = try view.findClass("Box")
        let ids = try ["numbers", "levels", "names"].map { try view.findProperty(box, $0) }
        let first = try store.begin(.atMost(5000))
        let owner = try Self.create(first, box, [try view.findProperty(box, "size")], [.int(0)])
        _ = try first.commit()
        _ = try view.refresh()
        let (list, set, map) = (
            CollectionID(owner: owner, propertyID: ids[0]), CollectionID(owner: owner, propertyID: ids[1]),
            CollectionID(owner: owner, propertyID: ids[2])
        )
        var state: [Int64] = []
        func named(_ index: Int) -> String { ["a", "b", "c"][index] }
        func rows(_ numbers: [Int64]) -> [Follower.Row] { numbers.map { ("\($0)", ["\($0)"]) } }
        func distinct(_ numbers: [Int64]) -> [Int64] { Array(Set(numbers)).sorted() }
        let cases: [(CollectionID, String, () -> [Follower.Row])] = [
            (list, "@self > 0", { rows(state.filter { $0 > 0 }) }),
            (list, "SORT(@self DESC)", { rows(state.sorted(by: >)) }),
            (list, "@self < 2 LIMIT(2)", { rows(Array(state.filter { $0 < 2 }.prefix(2))) }),
            (set, "@self > 0 SORT(@self DESC)", { rows(distinct(state).filter { $0 > 0 }.reversed()) }),
            (
                map, "@self > 0",
                {
                    state.enumerated().filter { $0.element > 0 }.map { (named($0.offset), ["\($0.element)"]) }
                }
            ),
            (
                map, "SORT(@self DESC)",
                {
                    state.enumerated().sorted { a, b in
                        a.element == b.element ? a.offset < b.offset : a.element > b.element
                    }.map { (named($0.offset), ["\($0.element)"]) }
                }
            ),
        ]
        var followers: [Follower] = []
        for (collection, text, content) in cases {
            followers.append(try follow(text, .values(try view.valueQuery(collection, parsing: text)), store, content))
        }
        func step(to next: [Int64]) throws {
            let view = try store.begin(.atMost(5000))
            try view.removeAllElements(list)
            try next.map { Value.int($0) }.withUnsafeBufferPointer { try view.insert(list, at: nil, $0) }
            for value in distinct(state) where !next.contains(value) { _ = try view.remove(set, member: .int(value)) }
            for value in next { _ = try view.insert(set, member: .int(value)) }
            for index in 0..<3 {
                var key = named(index)
                try key.withUTF8 { bytes in
                    let key = Value.string(bytes.baseAddress, bytes.count)
                    if index < next.count {
                        try view.set(map, key: key, .int(next[index]))
                    } else {
                        _ = try view.remove(map, key: key)
                    }
                }
            }
            _ = try view.commit()
            state = next
            _ = try store.hub.deliver()
            for follower in followers where !follower.isRight {
                Issue.record("\(follower.description)")
                throw StoreError(.internalError, "stopped")
            }
        }
        let all = (0...3).flatMap { Self.states($0, of: 2) }
        for one in all {
            for other in all {
                try step(to: one)
                try step(to: other)
            }
        }
        for follower in followers { #expect(follower.told > all.count, "\(follower.name)") }
        var ends = 0
        let last = try store.observe(.values(try view.valueQuery(list, parsing: "@self > 0")), ObserverOptions()) {
            if $0.isOwnerDeleted { ends += 1 }
            return nil
        }
        for follower in followers { follower.observer.close() }
        let end = try store.begin(.atMost(5000))
        try end.delete(owner)
        _ = try end.commit()
        _ = try store.hub.deliver()
        #expect(ends == 1)
        last.close()
        try store.close()
    }

    /// Each step is computed once, also the first, and also after commits that concern nobody: all are lent one table.
    @Test(arguments: ["GROUP(city) SELECT(city, @avg.rank)", "GROUP(city) SELECT(city, @min.box.size, @count)"])
    func thoseWhoAskTheSameShareEachStep(text: String) throws {
        let store = try Self.open(), view = try store.openView()
        defer { view.close() }
        let item = try view.findClass("Item"), box = try view.findClass("Box")
        let names = try ["city", "rank", "box"].map { try view.findProperty(item, $0) }
        let size = try view.findProperty(box, "size")
        func write(_ body: (View) throws -> Void) throws {
            let view = try store.begin(.atMost(5000))
            try body(view)
            _ = try view.commit()
        }
        var ids: [ObjectID] = [], boxes: [ObjectID] = []
        try write { view in
            for index in 0..<40 {
                ids.append(
                    try Self.create(view, item, names, [.int(Int64(index % 4)), .int(Int64(index)), .null]))
            }
            boxes.append(try Self.create(view, box, [size], [.int(1)]))
        }
        _ = try view.refresh()
        var told: [Int: Table] = [:]
        let observers = try (0..<4).map { number in
            try store.observe(try view.anyQuery(item, parsing: text), ObserverOptions()) { changes in
                told[number] = try? store.table(of: changes, before: false)
                return nil
            }
        }
        for round in 0..<12 {
            // Of nothing that they ask; then one of them rests, and comes back.
            if round % 3 == 1 {
                try write { try $0.set(boxes[0], size, .int(Int64(round))) }
                _ = try store.hub.deliver()
                let other = try store.begin(.atMost(5000))
                _ = try other.commit()
            }
            let isPaused = round % 4 == 3
            if isPaused { observers[2].pause() }
            try write { try $0.set(ids[round], names[0], .int(Int64(round + 10))) }
            told = [:]
            _ = try store.hub.deliver()
            if isPaused {
                observers[2].resume()
                _ = try store.hub.deliver()
            }
            let first = try #require(told[0])
            #expect(told.count == 4)
            for (number, table) in told where !isPaused || number != 2 {
                #expect(table === first, "round \(round), observer \(number)")
            }
        }
        for observer in observers { observer.close() }
        try store.close()
    }

    /// A column behind a link whose property a newer schema has dropped: all rows are told as deleted, nothing more.
    @Test func aColumnIsDropped() throws {
        let folder = TestFolder()
        func open(_ version: UInt64?, hasSize: Bool = true) throws -> Store {
            var configuration = StoreConfiguration(), draft = SchemaDraft()
            configuration.place = .file(folder["store"])
            configuration.durability = .relaxed(milliseconds: 1000)
            try draft.addClass("Item")
            try draft.addClass("Box")
            try draft.addProperty("Item", "city", .int, [])
            try draft.addLink("Item", "box", to: "Box", .nullable)
            try draft.addProperty("Box", "other", .int, [])
            if hasSize { try draft.addProperty("Box", "size", .int, []) }
            // Without a schema it is not refused whatever becomes of that.
            if let version { (configuration.schema, configuration.schemaVersion) = (draft, version) }
            return try Store.open(configuration)
        }
        try open(1).close()
        let store = try open(nil), view = try store.openView()
        defer { view.close() }
        let item = try view.findClass("Item"), city = try view.findProperty(item, "city")
        let first = try store.begin(.atMost(5000))
        let object = try Self.create(first, item, [city], [.int(3)])
        _ = try first.commit()
        _ = try view.refresh()
        var ends: [String: Int] = [:], told: [String: Int] = [:]
        let texts = [
            "SELECT(city, box.size)", "SORT(city ASC) SELECT(box.size)", "GROUP(box.size)",
            "GROUP(city) SELECT(@sum.box.size)",
            "LIMIT(3) SELECT(box.size + 1)", "SELECT(box.other)",
        ]
        let observers = try texts.map { text in
            try store.observe(try view.anyQuery(item, parsing: text), ObserverOptions()) { changes in
                told[text, default: 0] += 1
                if changes.isOwnerDeleted {
                    ends[text, default: 0] += 1
                    if changes.indices?.deleted != [0] { Issue.record("\(text): \(changes.indices?.deleted ?? [])") }
                }
                return nil
            }
        }
        try open(2, hasSize: false).close()
        _ = try store.hub.deliver()
        let second = try store.begin(.atMost(5000))
        try second.set(object, city, .int(4))
        _ = try second.commit()
        _ = try store.hub.deliver()
        for text in texts.dropLast() { #expect(ends[text] == 1 && told[text] == 1, "\(text)") }
        #expect(ends["SELECT(box.other)"] == nil)
        for observer in observers { observer.close() }
        try store.close()
    }

    /// He has put a value there himself, and another has put back what was before: that is another one than he shows.
    @Test func columnsDifferFromWhatIsShown() throws {
        let store = try Self.open(), view = try store.openView()
        defer { view.close() }
        let item = try view.findClass("Item"), city = try view.findProperty(item, "city")
        let rank = try view.findProperty(item, "rank")
        func write(silencing observers: [Observer] = [], _ body: (View) throws -> Void) throws {
            let view = try store.begin(.atMost(5000))
            if !observers.isEmpty { try view.withoutNotifying(observers) }
            try body(view)
            _ = try view.commit()
        }
        var ids: [ObjectID] = []
        try write { view in
            for index in 0..<2 {
                ids.append(try Self.create(view, item, [city, rank], [.int(1), .int(Int64(index))]))
            }
        }
        _ = try view.refresh()
        for text in ["SELECT(rank, city)", "SORT(rank ASC) SELECT(rank, city)", "GROUP(rank) SELECT(rank, @sum.city)"] {
            var columns: [[Bool]] = []
            let asked = try view.anyQuery(item, parsing: text)
            let observer = try store.observe(asked, ObserverOptions()) { changes in
                for index in 0..<changes.modified.count + changes.moved.count {
                    columns.append(
                        (0..<2).map { (try? changes.hasChanged(column: $0, atModification: UInt64(index))) ?? false })
                }
                return nil
            }
            try write(silencing: [observer]) { try $0.set(ids[0], city, .int(7)) }
            try write { try $0.set(ids[0], city, .int(1)) }
            try write(silencing: [observer]) { try $0.set(ids[1], city, .int(3)) }
            _ = try store.hub.deliver()
            #expect(columns == [[false, true]], "\(text)")
            observer.close()
        }
        try store.close()
    }

    /// A map whose property a newer schema has dropped: the keys of what was found are told, with the end.
    @Test func aMapIsDropped() throws {
        let folder = TestFolder()
        func open(_ version: UInt64?, hasNames: Bool = true) throws -> Store {
            var configuration = StoreConfiguration(), draft = SchemaDraft()
            configuration.place = .file(folder["store"])
            configuration.durability = .relaxed(milliseconds: 1000)
            try draft.addClass("Box")
            try draft.addProperty("Box", "size", .int, [])
            if hasNames {
                try draft.addCollection("Box", "names", .map, ElementSchema(kind: .int, keyKind: .string))
            }
            if let version { (configuration.schema, configuration.schemaVersion) = (draft, version) }
            return try Store.open(configuration)
        }
        try open(1).close()
        let store = try open(nil), view = try store.openView()
        defer { view.close() }
        let box = try view.findClass("Box"), names = try view.findProperty(box, "names")
        let first = try store.begin(.atMost(5000))
        let owner = try Self.create(first, box, [try view.findProperty(box, "size")], [.int(0)])
        let map = CollectionID(owner: owner, propertyID: names)
        for (key, number) in [("a", 1), ("b", 5), ("c", 7)] {
            var key = key
            try key.withUTF8 { _ = try first.set(map, key: .string($0.baseAddress, $0.count), .int(Int64(number))) }
        }
        _ = try first.commit()
        _ = try view.refresh()
        var told: [String] = []
        let query = AnyQuery.values(try view.valueQuery(map, parsing: "@self > 2"))
        let observer = try store.observe(query, ObserverOptions()) { changes in
            told.append("\(changes.isOwnerDeleted) \((changes.keys?.deleted ?? []).map(Self.string))")
            return nil
        }
        try open(2, hasNames: false).close()
        _ = try store.hub.deliver()
        #expect(told == ["true [\"b\", \"c\"]"])
        observer.close()
        try store.close()
    }
}
