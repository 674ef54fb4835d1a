import ObjStoreCore

/// What the readers of a history observe: of each kind what is asked, and what a plain loop over the content finds.
struct WatchedKind: Sendable {
    enum Way: Sendable {
        /// All objects of the class, without positions.
        case whole
        /// A query of that text.
        case query(@Sendable (WatchedSchema) -> String)
        /// The owner itself.
        case object
        /// Items whose `tag` leads to the owner.
        case inverse
        /// A property of the owner.
        case collection(String)
        /// A list or map inside of the owner's `notes`, at the end of a path.
        case nested([WatchedMixed.Step])
        /// What is asked of a property of the owner.
        case part(of: String, @Sendable (WatchedSchema) -> String)
        /// What is asked of plain values that a property of the owner has.
        case values(of: String, String)
        case commits
    }
    typealias Content = @Sendable (_ content: WatchedContent, _ owner: Int64) -> [Int64]

    var name: String
    let kind: WatchedContent.Kind
    var way: Way
    /// Which modifications count; nil: nothing is said.
    var paths: [String]?
    /// Properties that it is about, which a schema may lose.
    var needs: [String] = []
    /// What it is sorted by and lies behind a path: whoever has another value has moved, though nobody wrote in it.
    var sortedBy: (@Sendable (WatchedContent, Int64) -> Int)?
    /// By what its objects stand where they do, then by their keys; nil: they do not have that order by themselves.
    var order: (@Sendable (WatchedContent, Int64) -> [Int64])?
    /// Its objects are put into sections.
    var sections: WatchedSections?
    /// The answer, in its order; in that of the sections.
    var content: Content
    /// Of a table, or of plain values; those of a table of objects are these, whose keys are the answer.
    var rows: (@Sendable (WatchedContent, Int64) -> [WatchedRows.Row])?
    /// Of a table of objects: of all of them, whether they are in the answer or not.
    var allRows: (@Sendable (WatchedContent) -> [WatchedRows.Row])?

    var hasOwner: Bool {
        switch way {
        case .object, .inverse, .collection, .nested, .part, .values: true
        case .whole, .query, .commits: false
        }
    }
    /// Whether it has nothing more to tell when its owner is gone.
    var endsWithOwner: Bool {
        switch way {
        case .collection, .nested, .part, .values: true
        default: false
        }
    }
    var isMap: Bool { if case .collection("named") = way { true } else { false } }
    var isCommits: Bool { if case .commits = way { true } else { false } }
    /// Of one object the links are not followed.
    var isObject: Bool { if case .object = way { true } else { false } }
    var hasPositions: Bool {
        switch way {
        case .whole, .object, .commits: false
        default: true
        }
    }

    static func asked(
        _ kind: WatchedContent.Kind, _ text: String, paths: [String]? = nil,
        sortedBy: (@Sendable (WatchedContent, Int64) -> Int)? = nil,
        order: @escaping @Sendable (WatchedContent, Int64) -> [Int64] = { _, _ in [] },
        _ content: @escaping @Sendable (WatchedContent) -> [Int64]
    ) -> WatchedKind {
        // {number} and the like depend on the schema.
        let needs = ["mark", "crew", "extra"].filter { text.contains($0) && (kind == .item || $0 != "mark") }
        return WatchedKind(
            name: text, kind: kind, way: .query { WatchedKind.text(text, kind, $0) }, paths: paths, needs: needs,
            sortedBy: sortedBy, order: order
        ) { (model, _) in content(model) }
    }

    /// Of items `number` may have another name, and `mark` be a text: "mark == #2".
    static func text(_ text: String, _ kind: WatchedContent.Kind, _ schema: WatchedSchema) -> String {
        var result = "", rest = text[...]
        while let first = rest.first {
            if rest.hasPrefix("~number") {
                result += schema.numberName
                rest.removeFirst(7)
            } else if first == "#" {
                rest.removeFirst()
                let digits = rest.prefix { $0.isNumber }
                result += schema.mark(Int64(digits)!)
                rest.removeFirst(digits.count)
            } else {
                result.append(first)
                rest.removeFirst()
            }
        }
        return result
    }

    static let all: [WatchedKind] =
        items + tags + parts + sectioned + ofRows + [
            WatchedKind(name: "all items", kind: .item, way: .whole) { model, _ in model.keys(.item) },
            WatchedKind(name: "all tags", kind: .tag, way: .whole, paths: ["items.part.number", "number"]) { model, _ in
                model.keys(.tag)
            },
            WatchedKind(name: "all parts", kind: .part, way: .whole) { model, _ in model.keys(.part) },
            WatchedKind(name: "an item", kind: .item, way: .object) { model, owner in
                model[.item, owner] == nil ? [] : [owner]
            },
            WatchedKind(name: "a tag", kind: .tag, way: .object, paths: ["items.tag", "number"]) { model, owner in
                model[.tag, owner] == nil ? [] : [owner]
            },
            WatchedKind(name: "inverse", kind: .item, way: .inverse) { model, owner in
                model.keys(.item) { $0.tag == owner }
            },
            WatchedKind(name: "list", kind: .item, way: .collection("items")) { model, owner in
                model[.tag, owner]?.items ?? []
            },
            WatchedKind(name: "set", kind: .item, way: .collection("crew"), needs: ["crew"]) { model, owner in
                model[.tag, owner]?.crew.sorted() ?? []
            },
            WatchedKind(name: "map", kind: .item, way: .collection("named")) { model, owner in
                model[.tag, owner].map { tag in tag.named.keys.sorted().map { tag.named[$0]! } } ?? []
            },
            nested([]), nested([.key("a")]), nested([.key("b")]), nested([.key("seen")]),
            nested([.key("a"), .key("b")]), nested([.key("seen"), .index(0)]), nested([.index(-1)]),
            WatchedKind(name: "commits", kind: .item, way: .commits) { _, _ in [] },
        ]

    private static func nested(_ path: [WatchedMixed.Step]) -> WatchedKind {
        WatchedKind(name: "notes at \(path)", kind: .tag, way: .nested(path), needs: ["notes"]) { _, _ in [] }
    }

    private static func part(
        of property: String, _ text: String, paths: [String]? = nil,
        sortedBy: (@Sendable (WatchedContent, Int64) -> Int)? = nil,
        _ content: @escaping @Sendable (WatchedContent, [Int64]) -> [Int64]
    ) -> WatchedKind {
        WatchedKind(
            name: "\(text) of \(property)", kind: .item, way: .part(of: property) { WatchedKind.text(text, .item, $0) },
            paths: paths, needs: property == "crew" ? [property] : [], sortedBy: sortedBy
        ) { model, owner in
            guard let tag = model[.tag, owner] else { return [] }
            switch property {
            case "items": return content(model, tag.items)
            case "crew": return content(model, tag.crew.sorted())
            default: return content(model, tag.named.keys.sorted().map { tag.named[$0]! }.filter { $0 >= 0 })
            }
        }
    }

    static let parts: [WatchedKind] = [
        part(
            of: "items", "~number >= 30 SORT(tag.number ASC, ~number DESC)",
            sortedBy: { Int($0.tag(of: $0[.item, $1]!)?.number ?? -1) }
        ) { model, list in
            model.sorted(list.filter { model[.item, $0]!.number >= 30 }, .item) { a, b in
                (model.tag(of: a)?.number ?? -1, -a.number) < (model.tag(of: b)?.number ?? -1, -b.number)
            }
        },
        part(of: "items", "~number < 70") { model, list in list.filter { model[.item, $0]!.number < 70 } },
        part(of: "items", "~number >= 20 SORT(~number ASC)", paths: ["part", "tag.number"]) { model, list in
            model.sorted(list.filter { model[.item, $0]!.number >= 20 }, .item) { $0.number < $1.number }
        },
        part(
            of: "items", "SORT(tag.number DESC) LIMIT(4)",
            sortedBy: { Int($0.tag(of: $0[.item, $1]!)?.number ?? -1) }
        ) { model, list in
            Array(
                model.sorted(list, .item) { a, b in
                    (model.tag(of: b)?.number ?? -1) < (model.tag(of: a)?.number ?? -1)
                }.prefix(4))
        },
        part(of: "items", "tag.number > 20 OFFSET(1) LIMIT(3)") { model, list in
            Array(list.filter { (model.tag(of: model[.item, $0]!)?.number ?? 0) > 20 }.dropFirst().prefix(3))
        },
        part(of: "crew", "~number > 5", paths: ["tag"]) { model, list in
            list.filter { model[.item, $0]!.number > 5 }
        },
        part(of: "crew", "~number > 10 SORT(~number DESC)") { model, list in
            model.sorted(list.filter { model[.item, $0]!.number > 10 }, .item) { $1.number < $0.number }
        },
        part(of: "named", "~number < 80 SORT(~number ASC)") { model, list in
            model.sorted(list.filter { model[.item, $0]!.number < 80 }, .item) { $0.number < $1.number }
        },
        part(of: "named", "tag.number >= 10") { model, list in
            list.filter { (model.tag(of: model[.item, $0]!)?.number ?? 0) >= 10 }
        },
        part(of: "items", "DISTINCT(tag.number)") { model, list in
            firsts(list) { model.tag(of: model[.item, $0]!)?.number }
        },
        part(of: "crew", "~number > 5 SORT(~number DESC) DISTINCT(tag.number) LIMIT(3)") { model, list in
            let all = model.sorted(list.filter { model[.item, $0]!.number > 5 }, .item) { $1.number < $0.number }
            return Array(firsts(all) { model.tag(of: model[.item, $0]!)?.number }.prefix(3))
        },
    ]

    private static func firsts(_ list: [Int64], by value: (Int64) -> Int64?) -> [Int64] {
        var values: Set<Int64?> = []
        return list.filter { values.insert(value($0)).inserted }
    }

    private static let items: [WatchedKind] = [
        asked(.item, "~number < 50") { $0.keys(.item) { $0.number < 50 } },
        asked(
            .item, "~number > 10 SORT(~number DESC, mark ASC)",
            order: { [-$0[.item, $1]!.number, $0[.item, $1]!.mark] }
        ) { model in
            model.sorted(model.keys(.item) { $0.number > 10 }, .item) { ($1.number, $0.mark) < ($0.number, $1.mark) }
        },
        asked(.item, "SORT(mark DESC) OFFSET(2) LIMIT(5)", order: { [-$0[.item, $1]!.mark] }) { model in
            Array(model.sorted(model.keys(.item), .item) { $0.mark > $1.mark }.dropFirst(2).prefix(5))
        },
        asked(
            .item, "~number >= 10 SORT(tag.number DESC, ~number ASC)",
            order: { [-($0.tag(of: $0[.item, $1]!)?.number ?? -1), $0[.item, $1]!.number] }
        ) { model in
            model.sorted(model.keys(.item) { $0.number >= 10 }, .item) { a, b in
                (model.tag(of: b)?.number ?? -1, a.number) < (model.tag(of: a)?.number ?? -1, b.number)
            }
        },
        asked(
            .item, "SORT(tag.number ASC) LIMIT(4)", paths: ["part", "tag.number"],
            order: { [($0.tag(of: $0[.item, $1]!)?.number ?? -1)] }
        ) { model in
            Array(
                model.sorted(model.keys(.item), .item) { a, b in
                    (model.tag(of: a)?.number ?? -1) < (model.tag(of: b)?.number ?? -1)
                }.prefix(4))
        },
        asked(.item, "SORT(~number ASC) DISTINCT(mark)", order: { [$0[.item, $1]!.number] }) { model in
            var marks: Set<Int64> = []
            return model.sorted(model.keys(.item), .item) { $0.number < $1.number }.filter {
                marks.insert(model[.item, $0]!.mark).inserted
            }
        },
        asked(.item, "DISTINCT(tag.number)", paths: []) { model in
            var numbers: Set<Int64?> = []
            return model.keys(.item).filter { numbers.insert(model.tag(of: model[.item, $0]!)?.number).inserted }
        },
        asked(.item, "SORT(mark ASC) DISTINCT(~number) LIMIT(3)", order: { [$0[.item, $1]!.mark] }) { model in
            var numbers: Set<Int64> = []
            let keys = model.sorted(model.keys(.item), .item) { $0.mark < $1.mark }.filter {
                numbers.insert(model[.item, $0]!.number).inserted
            }
            return Array(keys.prefix(3))
        },
        asked(.item, "DISTINCT(mark) SORT(~number DESC)", order: { [-$0[.item, $1]!.number] }) { model in
            var marks: Set<Int64> = []
            let keys = model.keys(.item).filter { marks.insert(model[.item, $0]!.mark).inserted }
            return model.sorted(keys, .item) { $0.number > $1.number }
        },
        asked(.item, "DISTINCT(mark, ~number)") { model in
            var seen: Set<[Int64]> = []
            return model.keys(.item).filter { key in
                let item = model[.item, key]!
                return seen.insert([item.mark, item.number]).inserted
            }
        },
        asked(
            .item, "SORT(~number ASC) DISTINCT(~number) SORT(mark DESC) DISTINCT(tag.number) LIMIT(4)",
            order: { [-$0[.item, $1]!.mark, $0[.item, $1]!.number] }
        ) { model in
            var numbers: Set<Int64> = [], tags: Set<Int64?> = []
            let once = model.sorted(model.keys(.item), .item) { $0.number < $1.number }.filter {
                numbers.insert(model[.item, $0]!.number).inserted
            }
            let twice = model.sorted(once, .item) { $0.mark > $1.mark }.filter {
                tags.insert(model.tag(of: model[.item, $0]!)?.number).inserted
            }
            return Array(twice.prefix(4))
        },
        asked(.item, "LIMIT(4)") { Array($0.keys(.item).prefix(4)) },
        asked(.item, "OFFSET(2)") { Array($0.keys(.item).dropFirst(2)) },
        asked(.item, "SORT(mark ASC) SORT(~number DESC)", order: { [-$0[.item, $1]!.number, $0[.item, $1]!.mark] }) {
            model in
            model.sorted(model.keys(.item), .item) { ($1.number, $0.mark) < ($0.number, $1.mark) }
        },
        asked(.item, "mark == #2") { $0.keys(.item) { $0.mark == 2 } },
        asked(.item, "mark IN {#1, #3} SORT(~number ASC)", paths: ["mark"], order: { [$0[.item, $1]!.number] }) {
            model in
            model.sorted(model.keys(.item) { $0.mark == 1 || $0.mark == 3 }, .item) { $0.number < $1.number }
        },
        asked(.item, "tag.number > 40") { model in
            model.keys(.item) { (model.tag(of: $0)?.number ?? 0) > 40 }
        },
        asked(.item, "part.number > 3", paths: ["part.number"]) { model in
            model.keys(.item) { (model.part(of: $0)?.number ?? 0) > 3 }
        },
        asked(.item, "SORT(part.number DESC) LIMIT(3)", order: { [-($0.part(of: $0[.item, $1]!)?.number ?? -1)] }) {
            model in
            Array(
                model.sorted(model.keys(.item), .item) { a, b in
                    (model.part(of: b)?.number ?? -1) < (model.part(of: a)?.number ?? -1)
                }.prefix(3))
        },
        asked(.item, "tag.items.@count > 2") { model in
            model.keys(.item) { (model.tag(of: $0)?.items.count ?? 0) > 2 }
        },
        asked(.item, "@links.Tag.items.@count >= 1 SORT(~number ASC)", order: { [$0[.item, $1]!.number] }) { model in
            let held = Set(model.keys(.tag).flatMap { model[.tag, $0]!.items })
            return model.sorted(model.keys(.item).filter { held.contains($0) }, .item) { $0.number < $1.number }
        },
        asked(.item, "ANY @links.Tag.crew.number > 50") { model in
            let held = Set(model.keys(.tag) { $0.number > 50 }.flatMap { model[.tag, $0]!.crew })
            return model.keys(.item).filter { held.contains($0) }
        },
        asked(.item, "extra == 7 AND ~number > 30") { $0.keys(.item) { $0.number > 30 } },
    ]

    private static let tags: [WatchedKind] = [
        asked(.tag, "items.@count > 2") { $0.keys(.tag) { $0.items.count > 2 } },
        asked(.tag, "items.@sum.~number > 100 SORT(number ASC)", paths: ["number"], order: { [$0[.tag, $1]!.number] }) {
            model in
            model.sorted(model.keys(.tag) { model.items($0).reduce(0) { $0 + $1.number } > 100 }, .tag) {
                $0.number < $1.number
            }
        },
        asked(
            .tag, "SORT(items.@count DESC, number ASC) LIMIT(3)",
            order: { [-Int64($0[.tag, $1]!.items.count), $0[.tag, $1]!.number] }
        ) { model in
            Array(
                model.sorted(model.keys(.tag), .tag) { ($1.items.count, $0.number) < ($0.items.count, $1.number) }
                    .prefix(3))
        },
        asked(.tag, "SUBQUERY(items, $x, $x.~number > 50 AND $x.tag != NULL).@count >= 1") { model in
            model.keys(.tag) { model.items($0).contains { $0.number > 50 && $0.tag != nil } }
        },
        asked(.tag, "ANY crew.~number > 70") { model in
            model.keys(.tag) { $0.crew.contains { model[.item, $0]!.number > 70 } }
        },
        asked(.tag, "@links.Item.tag.@count > 1", paths: ["@links.Item.tag.part.number", "mark"]) { model in
            model.keys(.tag).filter { model.followers($0) > 1 }
        },
        asked(
            .tag, "SORT(@links.Item.tag.@count ASC, number DESC)", sortedBy: { $0.followers($1) },
            order: { [Int64($0.followers($1)), -$0[.tag, $1]!.number] }
        ) { model in
            model.keys(.tag).enumerated().sorted { a, b in
                let left = (model.followers(a.element), -model[.tag, a.element]!.number, a.offset)
                return left < (model.followers(b.element), -model[.tag, b.element]!.number, b.offset)
            }.map(\.element)
        },
        asked(.tag, "mark == 1 OR number < 20") { $0.keys(.tag) { $0.mark == 1 || $0.number < 20 } },
    ]
}
