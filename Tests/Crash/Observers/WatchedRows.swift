import ObjStoreCore

/// What a reader has of a table, or of plain values that a query finds: rows, each with what it is known by.
struct WatchedRows: Equatable, CustomStringConvertible {
    /// Of a list or set several may have the same name.
    struct Row: Equatable {
        let name: String
        var cells: [String]
    }

    var rows: [Row] = []
    var names: [String] { rows.map(\.name) }
    var description: String {
        "[" + rows.map { "\($0.name): \($0.cells.joined(separator: " "))" }.joined(separator: ", ") + "]"
    }

    init(_ rows: [Row] = []) { self.rows = rows }

    /// As a table of the library has them.
    static func cells(_ table: Table) -> [[String]] {
        (0..<table.rows).map { row in table.columns.map { text($0.value(row)) } }
    }

    static func text(_ value: Value) -> String {
        switch value.kind {
        case .null: "-"
        case .string: String(value)
        case .double: text(Double(bitPattern: UInt64(bitPattern: value.low)))
        case .decimal128: text(value.asDecimal)
        default: "\(value.low)"
        }
    }
    static func text(_ number: Decimal128) -> String { "\(number.coefficient)e\(number.exponent - Decimal128.bias)" }
    /// With as many places as the price that has most has, and none where there is none.
    static func sum(_ tags: [WatchedContent.Thing]) -> String {
        let places = tags.map(\.price.places).max() ?? 0, sum = tags.reduce(0) { $0 + $1.price.hundredths }
        return text(WatchedContent.Price(hundredths: sum, places: places).decimal)
    }
    static func text(_ number: Double) -> String { "\(number)" }
    static func text(_ number: Int64?) -> String { number.map { "\($0)" } ?? "-" }

    // MARK: Doing what it says

    /// - Parameter after: where rows are that came, or are other ones.
    /// Returns: what is wrong; nil: nothing.
    mutating func take(_ changes: ChangeSet, _ after: WatchedRows) -> String? {
        guard let indices = changes.indices else { return "positions: there are none" }
        for (positions, count) in [
            (indices.deleted, rows.count), (indices.modifiedBefore, rows.count), (indices.movedBefore, rows.count),
            (indices.inserted, after.rows.count), (indices.modifiedAfter, after.rows.count),
            (indices.movedAfter.sorted(), after.rows.count),
        ]
        where zip(positions, positions.dropFirst()).contains(where: { $0 >= $1 })
            || positions.last.map({ $0 >= count }) ?? false
        {
            return "positions: \(positions) of \(count)"
        }
        let before = self
        for place in (indices.deleted + indices.movedBefore).sorted(by: >) { rows.remove(at: Int(place)) }
        for place in (indices.inserted + indices.movedAfter).sorted() {
            guard place <= rows.count else { return "positions: \(place) of \(rows.count)" }
            rows.insert(after.rows[Int(place)], at: Int(place))
        }
        for (old, new) in zip(indices.modifiedBefore, indices.modifiedAfter) {
            guard new < rows.count, rows[Int(new)] == before.rows[Int(old)] else {
                return "positions: what was at \(old) is not at \(new)"
            }
            rows[Int(new)].cells = after.rows[Int(new)].cells
        }
        return nil
    }

    /// What a reader does who has written himself what leads from some rows to others.
    mutating func change(from before: WatchedRows, to after: WatchedRows) {
        if self == before {
            self = after
            return
        }
        let old = Dictionary(uniqueKeysWithValues: before.rows.map { ($0.name, $0.cells) })
        let new = Dictionary(uniqueKeysWithValues: after.rows.map { ($0.name, $0.cells) })
        rows.removeAll { old[$0.name] != nil && new[$0.name] == nil }
        for index in rows.indices {
            let name = rows[index].name
            if let now = new[name], old[name] != now { rows[index].cells = now }
        }
        for (place, row) in after.rows.enumerated() where old[row.name] == nil {
            rows.removeAll { $0.name == row.name }
            let behind = after.rows[..<place].last { row in rows.contains { $0.name == row.name } }
            rows.insert(row, at: behind.map { row in rows.firstIndex { $0.name == row.name }! + 1 } ?? 0)
        }
    }

    /// Whether that is certain: it is what he has, or nothing moves, and each is there once.
    func canChange(from before: WatchedRows, to after: WatchedRows) -> Bool {
        if self == before { return true }
        let lists = [before.names, after.names, names], stayed = Set(before.names).intersection(after.names)
        return lists.allSatisfy { Set($0).count == $0.count }
            && before.names.filter(stayed.contains) == after.names.filter(stayed.contains)
    }

    // MARK: What it must be

    /// Of a change set that leads from this to another one: nothing goes and comes, what is told as another row is one,
    /// in the columns that differ, and as few are moved as possible.
    func checkLeast(_ changes: ChangeSet, to after: WatchedRows) -> String? {
        let indices = changes.indices!
        func names(_ positions: [UInt64], _ list: WatchedRows) -> [String] { positions.map { list.rows[Int($0)].name } }
        let gone = names(indices.deleted, self), come = names(indices.inserted, after)
        if let both = gone.first(where: come.contains) { return "content: \(both) has gone and come" }
        let old = indices.modifiedBefore + indices.movedBefore, new = indices.modifiedAfter + indices.movedAfter
        for (number, (from, to)) in zip(old, new).enumerated() {
            let was = rows[Int(from)], now = after.rows[Int(to)]
            if was.name != now.name { return "positions: \(was.name) at \(from) is \(now.name) at \(to)" }
            let isModified = number < indices.modifiedBefore.count
            if isModified && was.cells == now.cells { return "modified: \(was.name), which nothing has changed" }
            for column in was.cells.indices where changes.asksTable {
                let isTold = (try? changes.hasChanged(column: column, atModification: UInt64(number))) ?? false
                if isTold != (was.cells[column] != now.cells[column]) {
                    return "columns: \(column) of \(was.name) is \(isTold ? "" : "not ")told"
                }
            }
        }
        if Set(self.names).count < rows.count || Set(after.names).count < after.rows.count { return nil }
        let least = WatchedReader.leastMoves(
            self.names.filter(Set(after.names).contains).map(Self.number),
            after.names.filter(Set(self.names).contains).map(Self.number))
        // Those that have other values may have been moved in place of others.
        let cells = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0.cells) })
        let isSame = after.rows.allSatisfy { row in cells[row.name].map { $0 == row.cells } ?? true }
        if indices.movedBefore.count < least || isSame && indices.movedBefore.count > least {
            return "moves: \(indices.movedBefore), where \(least) would do"
        }
        return nil
    }

    /// The same for the same name.
    private static func number(_ name: String) -> Int64 { Int64(name.hashValue) }
}

extension ChangeSet {
    /// It has columns.
    var asksTable: Bool { (try? columnNames) != nil }
}

extension WatchedReader {
    func wantedRows(_ content: WatchedContent) -> WatchedRows? {
        guard let rows = kind.rows, kind.isOfRows else { return nil }
        return WatchedRows(exists(in: content) ? rows(content, owner) : [])
    }

    /// - Parameter ends: the owner, or a property, is gone.
    func takeRows(_ changes: ChangeSet, _ step: WatchedStep, ends: Bool) -> String? {
        let before = rows!, wanted = wantedRows(step.after)!
        if let problem = rows!.take(changes, wanted) { return "\(problem), of \(name)" }
        if rows! != wanted { return "content: \(name) has \(rows!), not \(wanted)" }
        isEnded = isEnded || ends
        return before.checkLeast(changes, to: wanted).map { "\($0), of \(name)" }
    }

    /// The table, or the values, of both sides; and in a table of objects the columns that are told.
    func checkSides(_ changes: ChangeSet, _ step: WatchedStep, _ store: Store) throws(StoreError) -> String? {
        guard let content = kind.rows else { return nil }
        for (isBefore, side) in [(true, step.before), (false, step.after)] where exists(in: side) {
            let wanted = content(side, owner), found: [[String]]
            if changes.asksTable {
                found = WatchedRows.cells(try store.table(of: changes, before: isBefore))
            } else {
                let view = try store.view(of: changes, before: isBefore)
                defer { view.close() }
                let values = try store.values(of: changes, before: isBefore, in: view).values()
                found = (0..<values.count).map { [WatchedRows.text(values.value($0))] }
            }
            if found != wanted.map(\.cells) {
                return "content: \(name) shows \(found)\(isBefore ? " before" : ""), not \(wanted.map(\.cells))"
            }
        }
        guard !kind.isOfRows, exists(in: step.after), exists(in: step.before) else { return nil }
        func rows(_ side: WatchedContent) -> [String: [String]] {
            // Of what is not in the answer, too.
            Dictionary(uniqueKeysWithValues: kind.allRows!(side).map { ($0.name, $0.cells) })
        }
        let was = rows(step.before), now = rows(step.after)
        for (number, key) in (changes.modified + changes.moved).enumerated() {
            guard let old = was["\(key)"], let new = now["\(key)"] else { return "told: \(name): \(key) is not there" }
            for column in old.indices {
                let isTold = try changes.hasChanged(column: column, atModification: UInt64(number))
                if isTold != (old[column] != new[column]) {
                    return "columns: \(name): \(column) of \(key) is \(isTold ? "" : "not ")told"
                }
            }
        }
        return nil
    }
}

// MARK: What is asked

extension WatchedKind {
    /// Rows that are no objects.
    var isOfRows: Bool {
        switch way {
        case .values: true
        case .query: rows != nil && allRows == nil
        default: false
        }
    }

    static let ofRows: [WatchedKind] = tables + groups + values

    private typealias Cells = @Sendable (WatchedContent, Int64) -> [String]

    /// A table of the objects that another one finds.
    private func table(_ columns: String, paths: [String], _ cells: @escaping Cells) -> WatchedKind {
        var table = self
        let text = name + " " + columns, own = kind
        table.way = .query { WatchedKind.text(text, own, $0) }
        table.needs = columns.contains("mark") && kind == .item && !needs.contains("mark") ? needs + ["mark"] : needs
        table.paths = paths
        table.name = text
        let content = content
        table.rows = { model, owner in
            content(model, owner).map { WatchedRows.Row(name: "\($0)", cells: cells(model, $0)) }
        }
        table.allRows = { model in
            model.keys(own).map { WatchedRows.Row(name: "\($0)", cells: cells(model, $0)) }
        }
        return table
    }

    private static func mark(_ model: WatchedContent, _ item: Int64) -> String {
        model.schema.areMarksTexts ? "m\(model[.item, item]!.mark)" : "\(model[.item, item]!.mark)"
    }
    private static func number(_ model: WatchedContent, _ item: Int64) -> String { "\(model[.item, item]!.number)" }
    private static func tagNumber(_ model: WatchedContent, _ item: Int64) -> String {
        WatchedRows.text(model.tag(of: model[.item, item]!)?.number)
    }

    private static let tables: [WatchedKind] = [
        asked(.item, "~number < 60") { $0.keys(.item) { $0.number < 60 } }
            .table("SELECT(~number, tag.number, mark)", paths: ["number", "tag.number", "mark"]) { model, item in
                [number(model, item), tagNumber(model, item), mark(model, item)]
            },
        asked(
            .item, "SORT(tag.number DESC, ~number ASC) LIMIT(5)",
            order: { [-($0.tag(of: $0[.item, $1]!)?.number ?? -1), $0[.item, $1]!.number] }
        ) { model in
            Array(
                model.sorted(model.keys(.item), .item) { a, b in
                    (model.tag(of: b)?.number ?? -1, a.number) < (model.tag(of: a)?.number ?? -1, b.number)
                }.prefix(5))
        }.table("SELECT(mark, part.number, ~number + 1)", paths: ["mark", "part.number", "number"]) { model, item in
            let thing = model[.item, item]!
            return [mark(model, item), WatchedRows.text(model.part(of: thing)?.number), "\(thing.number + 1)"]
        },
        asked(.tag, "TRUEPREDICATE") { $0.keys(.tag) }
            .table("SELECT(number, items.@count, items.@sum.~number)", paths: ["number", "items.number"]) {
                model, tag in
                let thing = model[.tag, tag]!
                return [
                    "\(thing.number)", "\(thing.items.count)", "\(model.items(thing).reduce(0) { $0 + $1.number })",
                ]
            },
        asked(.tag, "number >= 20") { $0.keys(.tag) { $0.number >= 20 } }
            .table("SELECT(@links.Item.tag.@count AS n, mark)", paths: ["@links.Item.tag", "mark"]) { model, tag in
                ["\(model.followers(tag))", "\(model[.tag, tag]!.mark)"]
            },
    ]

    /// Groups of objects by the text of their keys, in the order of their first ones.
    private static func grouped(
        _ keys: [Int64], by name: (Int64) -> [String]
    ) -> [(name: [String], members: [Int64])] {
        var found: [(name: [String], members: [Int64])] = []
        for key in keys {
            let name = name(key)
            if let place = found.firstIndex(where: { $0.name == name }) {
                found[place].members.append(key)
            } else {
                found.append((name, [key]))
            }
        }
        return found
    }

    private static func groups(
        _ kind: WatchedContent.Kind, _ text: String,
        _ rows: @escaping @Sendable (WatchedContent) -> [WatchedRows.Row]
    ) -> WatchedKind {
        var all = asked(kind, text) { _ in [] }
        all.order = nil
        all.rows = { model, _ in rows(model) }
        return all
    }

    private static let groups: [WatchedKind] = [
        groups(.item, "GROUP(mark) SELECT(mark, @count, @sum.~number, @max.~number, @min.~number)") { model in
            grouped(model.keys(.item)) { [mark(model, $0)] }.map { name, members in
                let numbers = members.map { model[.item, $0]!.number }
                return WatchedRows.Row(
                    name: name[0],
                    cells: name + [
                        "\(members.count)", "\(numbers.reduce(0, +))", "\(numbers.max()!)", "\(numbers.min()!)",
                    ])
            }
        },
        groups(.item, "~number < 70 GROUP(tag.number) HAVING(@count > 1) SORT(@count DESC)") { model in
            let all = grouped(model.keys(.item) { $0.number < 70 }) { [tagNumber(model, $0)] }
                .filter { $0.members.count > 1 }
            return all.enumerated().sorted { a, b in
                let (left, right) = (a.element.members.count, b.element.members.count)
                return left == right ? a.offset < b.offset : left > right
            }.map { WatchedRows.Row(name: $1.name[0], cells: $1.name + ["\($1.members.count)"]) }
        },
        groups(.item, "GROUP(tag) SELECT(tag, tag.number AS n, @avg.~number)") { model in
            grouped(model.keys(.item)) { [WatchedRows.text(model[.item, $0]!.tag)] }.map { name, members in
                let numbers = members.map { model[.item, $0]!.number }
                let mean = Double(numbers.reduce(0, +)) / Double(numbers.count)
                return WatchedRows.Row(
                    name: name[0], cells: name + [tagNumber(model, members[0]), WatchedRows.text(mean)])
            }
        },
        groups(.item, "~number >= 30 GROUP() SELECT(@count, @sum.part.number, @min.~number)") { model in
            let items = model.keys(.item) { $0.number >= 30 }
            let parts = items.compactMap { model.part(of: model[.item, $0]!)?.number }
            let least = items.map { model[.item, $0]!.number }.min()
            return [
                WatchedRows.Row(
                    name: "", cells: ["\(items.count)", "\(parts.reduce(0, +))", WatchedRows.text(least)])
            ]
        },
        groups(.tag, "GROUP(mark) SORT(@sum.number DESC) LIMIT(2) SELECT(@sum.number, @avg.number)") { model in
            grouped(model.keys(.tag)) { ["\(model[.tag, $0]!.mark)"] }
                .map { name, members in
                    (name[0], members.reduce(0) { $0 + model[.tag, $1]!.number }, Int64(members.count))
                }
                .enumerated().sorted { a, b in
                    a.element.1 == b.element.1 ? a.offset < b.offset : a.element.1 > b.element.1
                }
                .prefix(2).map { _, group in
                    let mean = Double(group.1) / Double(group.2)
                    return WatchedRows.Row(name: group.0, cells: ["\(group.1)", WatchedRows.text(mean)])
                }
        },
        groups(.item, "SORT(~number ASC) LIMIT(6) GROUP(mark)") { model in
            let least = model.sorted(model.keys(.item), .item) { $0.number < $1.number }.prefix(6)
            return grouped(Array(least)) { [mark(model, $0)] }.map { name, members in
                WatchedRows.Row(name: name[0], cells: name + ["\(members.count)"])
            }
        },
        groups(
            .item,
            "SORT(tag.number DESC, ~number ASC) LIMIT(5) GROUP(tag.number) SELECT(tag.number, @sum.part.number, @count)"
        ) { model in
            let first = model.sorted(model.keys(.item), .item) { a, b in
                (model.tag(of: b)?.number ?? -1, a.number) < (model.tag(of: a)?.number ?? -1, b.number)
            }.prefix(5)
            return grouped(Array(first)) { [tagNumber(model, $0)] }.map {
                name, members in
                let sum = members.reduce(0) { $0 + (model.part(of: model[.item, $1]!)?.number ?? 0) }
                return WatchedRows.Row(name: name[0], cells: name + ["\(sum)", "\(members.count)"])
            }
        },
        groups(.tag, "SORT(number ASC) DISTINCT(number) OFFSET(1) LIMIT(3) GROUP(price) SELECT(@sum.weight)") { model in
            var numbers: Set<Int64> = []
            let some = model.sorted(model.keys(.tag), .tag) { $0.number < $1.number }.filter {
                numbers.insert(model[.tag, $0]!.number).inserted
            }.dropFirst().prefix(3)
            return grouped(Array(some)) { ["\(model[.tag, $0]!.price.hundredths)"] }.map { _, members in
                let weight = members.reduce(0.0) { $0 + model[.tag, $1]!.weight }
                return WatchedRows.Row(
                    name: WatchedRows.text(model[.tag, members[0]]!.price.decimal), cells: ["\(weight)"])
            }
        },
        groups(.tag, "GROUP(mark) SELECT(mark, @sum.weight, @avg.weight, @min.weight, @sum.price, @max.price)") {
            model in
            grouped(model.keys(.tag)) { ["\(model[.tag, $0]!.mark)"] }.map { name, members in
                let tags = members.map { model[.tag, $0]! }
                // One after the other: sums of thirds depend on it.
                let weight = tags.reduce(0.0) { $0 + $1.weight }
                // Of equal ones the first.
                let most = tags.map(\.price).first { price in
                    !tags.contains { $0.price.hundredths > price.hundredths }
                }!
                return WatchedRows.Row(
                    name: name[0],
                    cells: name + [
                        "\(weight)", "\(weight / Double(tags.count))", "\(tags.map(\.weight).min()!)",
                        WatchedRows.sum(tags), WatchedRows.text(most.decimal),
                    ])
            }
        },
        groups(.item, "GROUP(mark) SELECT(mark, @sum.tag.weight, @avg.tag.weight)") { model in
            grouped(model.keys(.item)) { [mark(model, $0)] }.map { name, members in
                let weights = members.compactMap { model.tag(of: model[.item, $0]!)?.weight }
                let sum = weights.reduce(0.0, +), mean = sum / Double(weights.count)
                return WatchedRows.Row(name: name[0], cells: name + ["\(sum)", weights.isEmpty ? "-" : "\(mean)"])
            }
        },
        groups(.tag, "GROUP() SELECT(@sum.weight, @sum.price)") { model in
            let tags = model.keys(.tag).map { model[.tag, $0]! }
            return [
                WatchedRows.Row(name: "", cells: ["\(tags.reduce(0.0) { $0 + $1.weight })", WatchedRows.sum(tags)])
            ]
        },
        groups(.tag, "GROUP(price) SELECT(price, @count, @min.weight)") { model in
            grouped(model.keys(.tag)) { ["\(model[.tag, $0]!.price.hundredths)"] }.map { _, members in
                // 1.0 and 1.00 are one group, with the key of its first object.
                let price = WatchedRows.text(model[.tag, members[0]]!.price.decimal)
                let least = members.map { model[.tag, $0]!.weight }.min()!
                return WatchedRows.Row(name: price, cells: [price, "\(members.count)", "\(least)"])
            }
        },
        groups(.tag, "GROUP(items.@count) SELECT(items.@count AS c, @count, @max.number)") { model in
            grouped(model.keys(.tag)) { ["\(model[.tag, $0]!.items.count)"] }.map { name, members in
                WatchedRows.Row(
                    name: name[0],
                    cells: name + ["\(members.count)", "\(members.map { model[.tag, $0]!.number }.max()!)"])
            }
        },
        groups(.item, "~number > 15 GROUP(mark, tag.mark) OFFSET(1) LIMIT(4) SELECT(@count, @max.~number)") { model in
            grouped(model.keys(.item) { $0.number > 15 }) { key in
                [mark(model, key), WatchedRows.text(model.tag(of: model[.item, key]!)?.mark)]
            }.dropFirst().prefix(4).map { name, members in
                WatchedRows.Row(
                    name: name.joined(separator: "/"),
                    cells: ["\(members.count)", "\(members.map { model[.item, $0]!.number }.max()!)"])
            }
        },
        // Of all objects in an order.
        groups(
            .item, "SORT(tag.number DESC, ~number ASC) GROUP(mark) SELECT(mark, @count, @max.~number)"
        ) { model in
            let all = model.sorted(model.keys(.item), .item) { a, b in
                (model.tag(of: b)?.number ?? -1, a.number) < (model.tag(of: a)?.number ?? -1, b.number)
            }
            return grouped(all) { [mark(model, $0)] }.map { name, members in
                WatchedRows.Row(
                    name: name[0],
                    cells: name + ["\(members.count)", "\(members.map { model[.item, $0]!.number }.max()!)"])
            }
        },
        groups(.tag, "number > 5 SORT(number DESC) GROUP(price) SELECT(price, @count, @sum.number)") { model in
            let all = model.sorted(model.keys(.tag) { $0.number > 5 }, .tag) { $0.number > $1.number }
            return grouped(all) { ["\(model[.tag, $0]!.price.hundredths)"] }.map { _, members in
                let price = WatchedRows.text(model[.tag, members[0]]!.price.decimal)
                let sum = members.reduce(0) { $0 + model[.tag, $1]!.number }
                return WatchedRows.Row(name: price, cells: [price, "\(members.count)", "\(sum)"])
            }
        },
        groups(.item, "SORT(~number DESC) DISTINCT(mark) GROUP(tag.number)") { model in
            var marks: Set<String> = []
            let firsts = model.sorted(model.keys(.item), .item) { $0.number > $1.number }.filter {
                marks.insert(mark(model, $0)).inserted
            }
            return grouped(firsts) { [tagNumber(model, $0)] }.map { name, members in
                WatchedRows.Row(name: name[0], cells: name + ["\(members.count)"])
            }
        },
    ]

    private static func values(
        of property: String, _ text: String, _ wanted: @escaping @Sendable ([Int64]) -> [Int64]
    ) -> WatchedKind {
        var all = WatchedKind(name: "\(text) of \(property)", kind: .tag, way: .values(of: property, text)) { _, _ in []
        }
        all.rows = { model, owner in
            guard let tag = model[.tag, owner] else { return [] }
            let numbers = property == "scores" ? tag.scores : tag.levels.sorted()
            return wanted(numbers).map { WatchedRows.Row(name: "\($0)", cells: ["\($0)"]) }
        }
        return all
    }

    private static func labels(
        _ text: String, _ wanted: @escaping @Sendable ([(name: String, value: Int64)]) -> [(name: String, value: Int64)]
    ) -> WatchedKind {
        var all = WatchedKind(name: "\(text) of labels", kind: .tag, way: .values(of: "labels", text)) { _, _ in [] }
        all.rows = { model, owner in
            let labels = model[.tag, owner]?.labels ?? [:]
            return wanted(labels.keys.sorted().map { (name: $0, value: labels[$0]!) }).map {
                WatchedRows.Row(name: $0.name, cells: ["\($0.value)"])
            }
        }
        return all
    }

    private static let values: [WatchedKind] = [
        values(of: "scores", "@self > 2") { $0.filter { $0 > 2 } },
        values(of: "scores", "SORT(@self DESC) LIMIT(3)") { Array($0.sorted(by: >).prefix(3)) },
        values(of: "scores", "DISTINCT(@self)") { list in
            var seen: Set<Int64> = []
            return list.filter { seen.insert($0).inserted }
        },
        values(of: "scores", "") { $0 },
        values(of: "levels", "@self < 6 SORT(@self DESC)") { $0.filter { $0 < 6 }.reversed() },
        values(of: "scores", "@self > 0 SORT(@self ASC)") { $0.filter { $0 > 0 }.sorted() },
        values(of: "scores", "@self > 1 OFFSET(1) LIMIT(3)") { Array($0.filter { $0 > 1 }.dropFirst().prefix(3)) },
        values(of: "levels", "@self IN {1, 3, 4, 7}") { $0.filter { [1, 3, 4, 7].contains($0) } },
        labels("NOT @self == 2 SORT(@self DESC)") { list in
            list.filter { $0.value != 2 }.enumerated().sorted { a, b in
                a.element.value == b.element.value ? a.offset < b.offset : a.element.value > b.element.value
            }.map(\.element)
        },
        labels("@self < 5 LIMIT(2)") { Array($0.filter { $0.value < 5 }.prefix(2)) },
        labels("@self > 1") { $0.filter { $0.value > 1 } },
        labels("SORT(@self ASC) OFFSET(1)") { list in
            list.enumerated().sorted { a, b in
                a.element.value == b.element.value ? a.offset < b.offset : a.element.value < b.element.value
            }.dropFirst().map(\.element)
        },
    ]
}
