import ObjStoreCore
import ObjStoreSimulation

/// Random histories of observers of lists: sorted, limited, distinct, of what lies behind links, of the objects in a
/// list. Each reader has a copy of what it observes, to which it does what it is told; that is compared with plain
/// loops over a model each time: objects, their order, and the values of those that it was told of.
private final class ListHistory {
    private typealias Key = Int64

    private struct Item {
        var number: Int64, mark: Int64
        var tag: Key?
    }

    private struct Tag {
        var rank: Int64
        var items: [Key] = []
    }

    private struct Model {
        var items: [Key: Item] = [:], tags: [Key: Tag] = [:]

        func sorted(_ isLess: (Item, Item) -> Bool) -> [Key] {
            // Stable: keys ascend in the order of creation.
            items.keys.sorted().enumerated().sorted { a, b in
                let (left, right) = (items[a.element]!, items[b.element]!)
                return isLess(left, right) || !isLess(right, left) && a.offset < b.offset
            }.map(\.element)
        }
        func rank(_ item: Item) -> Int64? { item.tag.map { tags[$0]!.rank } }

        /// Of some items those that are the first with their values.
        func firsts(_ keys: [Key], _ values: (Item) -> [Int64?]) -> [Key] {
            var found: Set<[Int64?]> = []
            return keys.filter { found.insert(values(items[$0]!)).inserted }
        }
    }

    /// An observer and its reader.
    private final class Reader {
        let name: String
        let text: String
        let isOfTags: Bool
        let content: (Model) -> [Key]
        var observer: Observer?
        var copy: [Key] = []
        /// Number and mark of items, rank of tags.
        var values: [Key: [Int64]] = [:]
        /// Makes its work undone now and then.
        var refuses = false
        var isOwnerDeleted = false

        init(_ name: String, _ text: String, isOfTags: Bool = false, _ content: @escaping (Model) -> [Key]) {
            (self.name, self.text, self.isOfTags, self.content) = (name, text, isOfTags, content)
        }
    }

    private let store: Store
    private let classes: [UInt32], itemProperties: [UInt32], tagProperties: [UInt32]
    private var random: RandomNumbers
    private var model = Model()
    private var ids: [Key: ObjectID] = [:], tagIDs: [Key: ObjectID] = [:]
    /// The list of this one is observed.
    private var observedTag: Key = -1
    private var violation: String?
    private(set) var told = 0

    /// Some of them twice: those have one answer in common, as long as both know the same version.
    private lazy var readers: [Reader] =
        kinds
        + kinds.filter { !$0.name.contains("by") && !$0.name.hasSuffix("list") }
        .map { Reader($0.name + ", again", $0.text, isOfTags: $0.isOfTags, $0.content) }
    private lazy var kinds: [Reader] = [
        Reader("sorted", "SORT(number ASC, mark DESC)") { model in
            model.sorted { ($0.number, -$0.mark) < ($1.number, -$1.mark) }
        },
        Reader("least", "number < 60 SORT(number DESC) LIMIT(6)") { model in
            Array(model.sorted { $0.number > $1.number }.filter { model.items[$0]!.number < 60 }.prefix(6))
        },
        Reader("page", "SORT(mark ASC) OFFSET(3) LIMIT(5)") { model in
            Array(model.sorted { $0.mark < $1.mark }.dropFirst(3).prefix(5))
        },
        Reader("sorted twice", "SORT(number ASC) SORT(mark DESC)") { model in
            model.sorted { ($1.mark, $0.number) < ($0.mark, $1.number) }
        },
        Reader("oldest", "number > 20 OFFSET(1) LIMIT(4)") { model in
            Array(model.items.keys.sorted().filter { model.items[$0]!.number > 20 }.dropFirst().prefix(4))
        },
        Reader("distinct", "DISTINCT(mark)") { model in model.firsts(model.items.keys.sorted()) { [$0.mark] } },
        Reader("distinct of an order", "number < 90 SORT(number DESC) DISTINCT(mark)") { model in
            model.firsts(model.sorted { $0.number > $1.number }.filter { model.items[$0]!.number < 90 }) { [$0.mark] }
        },
        Reader("least distinct", "DISTINCT(mark) SORT(number ASC) LIMIT(3)") { model in
            let firsts = Set(model.firsts(model.items.keys.sorted()) { [$0.mark] })
            return Array(model.sorted { $0.number < $1.number }.filter(firsts.contains).prefix(3))
        },
        Reader("distinct behind a link", "SORT(tag.rank ASC) DISTINCT(tag.rank, mark) SORT(mark DESC)") { model in
            let firsts = model.firsts(model.items.keys.sorted()) { [model.rank($0), $0.mark] }
            return model.sorted {
                ($1.mark, model.rank($0) ?? -1) < ($0.mark, model.rank($1) ?? -1)
            }.filter(Set(firsts).contains)
        },
        Reader("linking", "tag.rank > 4") { model in
            model.items.keys.sorted().filter { (model.rank(model.items[$0]!) ?? 0) > 4 }
        },
        Reader("linking, sorted", "tag.rank > 2 AND number < 80 SORT(number DESC)") { model in
            model.sorted { $0.number > $1.number }.filter {
                let item = model.items[$0]!
                return (model.rank(item) ?? 0) > 2 && item.number < 80
            }
        },
        Reader("linking, least", "tag.rank != 3 SORT(mark ASC) LIMIT(4)") { model in
            Array(
                model.sorted { $0.mark < $1.mark }.filter { model.rank(model.items[$0]!) != 3 }.prefix(4))
        },
        Reader("held", "ANY items.mark == 1", isOfTags: true) { model in
            model.tags.keys.sorted().filter { model.tags[$0]!.items.contains { model.items[$0]!.mark == 1 } }
        },
        Reader("two away", "ANY items.tag.rank > 6", isOfTags: true) { model in
            model.tags.keys.sorted().filter {
                model.tags[$0]!.items.contains { (model.rank(model.items[$0]!) ?? 0) > 6 }
            }
        },
        Reader("by link", "number >= 20 SORT(tag.rank DESC, number ASC)") { model in
            model.sorted { (model.rank($1) ?? -1, $0.number) < (model.rank($0) ?? -1, $1.number) }
                .filter { model.items[$0]!.number >= 20 }
        },
        Reader("holding", "ANY items.number > 70 SORT(rank ASC)", isOfTags: true) { model in
            model.tags.keys.sorted().filter { key in
                model.tags[key]!.items.contains { model.items[$0]!.number > 70 }
            }.enumerated().sorted { a, b in
                (model.tags[a.element]!.rank, a.offset) < (model.tags[b.element]!.rank, b.offset)
            }.map(\.element)
        },
        Reader("list", "") { [unowned self] model in model.tags[observedTag]?.items ?? [] },
        Reader("part of list", "mark > 1 SORT(number ASC)") { [unowned self] model in
            (model.tags[observedTag]?.items ?? []).filter { model.items[$0]!.mark > 1 }.enumerated().sorted { a, b in
                (model.items[a.element]!.number, a.offset) < (model.items[b.element]!.number, b.offset)
            }.map(\.element)
        },
    ]

    init(seed: UInt64) throws(StoreError) {
        random = RandomNumbers(seed: seed)
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        var draft = SchemaDraft()
        try draft.addClass("Item")
        try draft.addClass("Tag")
        try draft.addProperty("Item", "number", .int, [])
        try draft.addProperty("Item", "mark", .int, [])
        try draft.addLink("Item", "tag", to: "Tag", .nullable)
        try draft.addProperty("Tag", "rank", .int, [])
        try draft.addCollection("Tag", "items", .list, ElementSchema(kind: .link), target: "Item")
        configuration.schema = draft
        store = try Store.open(configuration)
        let view = try store.openView()
        defer { view.close() }
        let item = try view.findClass("Item"), tag = try view.findClass("Tag")
        classes = [item, tag]
        itemProperties = [
            try view.findProperty(item, "number"), try view.findProperty(item, "mark"),
            try view.findProperty(item, "tag"),
        ]
        tagProperties = [try view.findProperty(tag, "rank"), try view.findProperty(tag, "items")]
    }

    func run(steps: Int) throws(StoreError) -> String? {
        try write(silencing: [])
        for reader in readers {
            let view = try store.openView()
            defer { view.close() }
            var query = try view.query(classes[reader.isOfTags ? 1 : 0], parsing: reader.text)
            if reader.name.hasSuffix("list") { query = try view.query(of: items(of: observedTag)).then(query) }
            reader.copy = reader.content(model)
            for key in reader.copy { reader.values[key] = values(key, reader) }
            reader.observer = try store.hub.observe(ObserverScope(query)) { [unowned self, unowned reader] changes in
                do throws(StoreError) { try take(changes, reader) } catch { return error }
                return nil
            }
        }
        check()
        for _ in 0..<steps where violation == nil {
            // Who writes without being told has been told of everything before.
            if random.chance(0.5) { try deliver() }
            let silenced = readers.filter { $0.observer != nil && isUpToDate($0) && random.chance(0.2) }
            try write(silencing: silenced)
            if random.chance(0.6) { try deliver() }
        }
        try deliver()
        try store.close()
        return violation
    }

    private func deliver() throws(StoreError) {
        // Also one that cannot do its work the first time.
        for reader in readers { reader.refuses = random.chance(0.2) }
        while try store.hub.deliver() > 0, violation == nil {}
        if violation == nil { check() }
    }

    private func isUpToDate(_ reader: Reader) -> Bool { reader.observer!.lag == 0 }

    private func isGone(_ reader: Reader) -> Bool { reader.name.hasSuffix("list") && model.tags[observedTag] == nil }

    private func fail(_ what: String) { if violation == nil { violation = what } }

    // MARK: Writing

    private func items(of tag: Key) -> CollectionID { CollectionID(owner: tagIDs[tag]!, propertyID: tagProperties[1]) }

    private func write(silencing silenced: [Reader]) throws(StoreError) {
        let view = try store.begin(.atMost(5000))
        try view.withoutNotifying(silenced.compactMap(\.observer))
        if model.tags.isEmpty { for _ in 0..<3 { try makeTag(view) } }
        if observedTag < 0 { observedTag = model.tags.keys.min()! }
        for _ in 0...random.below(5) { try change(view) }
        _ = try view.commit()
        for reader in silenced {
            reader.copy = reader.content(model)
            for key in reader.copy { reader.values[key] = values(key, reader) }
            if isGone(reader) { reader.isOwnerDeleted = true }
        }
    }

    private func makeTag(_ view: View) throws(StoreError) {
        let rank = Int64(random.below(10)), id = try view.create(classes[1], [tagProperties[0]], [.int(rank)])
        (model.tags[id.key], tagIDs[id.key]) = (Tag(rank: rank), id)
    }

    private func change(_ view: View) throws(StoreError) {
        let keys = model.items.keys.sorted(), tags = model.tags.keys.sorted()
        let tag = tags.isEmpty ? nil : tags[random.below(tags.count)]
        switch random.below(20) {
        case 0...4:
            let values = [Int64(random.below(100)), Int64(random.below(5))], link = random.chance(0.7) ? tag : nil
            let id = try view.create(
                classes[0], itemProperties,
                values.map { .int($0) } + [link.map { .link(tagIDs[$0]!) } ?? .null])
            (model.items[id.key], ids[id.key]) = (Item(number: values[0], mark: values[1], tag: link), id)
        case 5:
            if random.chance(0.3), let tag, readers[0].observer != nil {
                try view.delete(tagIDs[tag]!)
                model.tags[tag] = nil
                for key in keys where model.items[key]!.tag == tag { model.items[key]!.tag = nil }
            } else {
                try makeTag(view)
            }
        case 6...8:
            guard let tag else { break }
            let rank = Int64(random.below(10))
            try view.set(tagIDs[tag]!, tagProperties[0], .int(rank))
            model.tags[tag]!.rank = rank
        case _ where keys.isEmpty: break
        case 9...10:
            let key = keys[random.below(keys.count)]
            try view.delete(ids[key]!)
            model.items[key] = nil
            for tag in tags { model.tags[tag]!.items.removeAll { $0 == key } }
        case 11...14: try changeList(view, tags, keys)
        case 15:
            let key = keys[random.below(keys.count)], link = random.chance(0.7) ? tag : nil
            try view.set(ids[key]!, itemProperties[2], link.map { .link(tagIDs[$0]!) } ?? .null)
            model.items[key]!.tag = link
        case let which:
            let key = keys[random.below(keys.count)], property = which < 19 ? 0 : 1
            let value = Int64(random.below(property == 0 ? 100 : 5))
            try view.set(ids[key]!, itemProperties[property], .int(value))
            if property == 0 { model.items[key]!.number = value } else { model.items[key]!.mark = value }
        }
    }

    /// Mostly of the one that is observed.
    private func changeList(_ view: View, _ tags: [Key], _ keys: [Key]) throws(StoreError) {
        guard
            let tag = model.tags[observedTag] != nil && random.chance(0.7)
                ? observedTag : tags.isEmpty ? nil : tags[random.below(tags.count)]
        else { return }
        let list = items(of: tag), count = model.tags[tag]!.items.count
        switch random.below(count == 0 ? 3 : 6) {
        case 0...2:
            let key = keys[random.below(keys.count)], place = random.below(count + 1)
            var result: Result<Void, StoreError>!
            withUnsafePointer(to: Value.link(ids[key]!)) { value in
                result = Result { () throws(StoreError) in
                    try view.insert(list, at: place, UnsafeBufferPointer(start: value, count: 1))
                }
            }
            try result.get()
            model.tags[tag]!.items.insert(key, at: place)
        case 3:
            let place = random.below(count)
            try view.remove(list, at: place, count: 1)
            model.tags[tag]!.items.remove(at: place)
        case 4:
            let from = random.below(count), to = random.below(count)
            try view.move(list, from: from, to: to)
            model.tags[tag]!.items.insert(model.tags[tag]!.items.remove(at: from), at: to)
        default:
            if random.chance(0.8) { return }
            try view.removeAllElements(list)
            model.tags[tag]!.items = []
        }
    }

    // MARK: Reading

    private func values(_ key: Key, _ reader: Reader) -> [Int64]? {
        reader.isOfTags ? model.tags[key].map { [$0.rank] } : model.items[key].map { [$0.number, $0.mark] }
    }

    /// Does to the copy what the change set says, in the order that it documents: what went and what was moved is taken
    /// out from the back, then put in from the front.
    private func take(_ changes: ChangeSet, _ reader: Reader) throws(StoreError) {
        if reader.refuses {
            reader.refuses = false
            changes.isUntold = true
            return
        }
        told += 1
        guard let indices = changes.indices else { return fail("positions: \(reader.name) has none") }
        if changes.changes.isEmpty && !changes.isOwnerDeleted { fail("told: \(reader.name) of nothing") }
        if changes.isOwnerDeleted { reader.isOwnerDeleted = true }
        let before = reader.copy
        func check(_ positions: [UInt64], _ keys: [Key], in list: [Key], _ what: String, isAscending: Bool = true) {
            let named = positions.map { Int($0) < list.count ? list[Int($0)] : -1 }
            if named != keys { fail("positions: \(reader.name), \(what): \(named), not \(keys)") }
            if isAscending, zip(positions, positions.dropFirst()).contains(where: { $0 >= $1 }) {
                fail("positions: \(reader.name), \(what): \(positions) do not ascend")
            }
        }
        check(indices.deleted, changes.deleted, in: before, "deleted")
        check(indices.modifiedBefore, changes.modified, in: before, "modified before")
        check(indices.movedBefore, changes.moved, in: before, "moved before")
        var copy = before
        for place in (indices.deleted + indices.movedBefore).sorted(by: >) {
            guard place < copy.count else { return fail("positions: \(reader.name): \(place) of \(copy.count)") }
            copy.remove(at: Int(place))
        }
        let coming =
            zip(indices.inserted, changes.inserted).map { ($0, $1) }
            + zip(indices.movedAfter, changes.moved).map { ($0, $1) }
        for (place, key) in coming.sorted(by: { $0.0 < $1.0 }) {
            guard place <= copy.count else { return fail("positions: \(reader.name): \(place) of \(copy.count)") }
            copy.insert(key, at: Int(place))
        }
        check(indices.inserted, changes.inserted, in: copy, "inserted")
        check(indices.modifiedAfter, changes.modified, in: copy, "modified after")
        check(indices.movedAfter, changes.moved, in: copy, "moved after", isAscending: false)
        reader.copy = copy
        for key in changes.inserted { reader.values[key] = try values(key, reader, changes.after) }
        for (index, key) in (changes.modified + changes.moved).enumerated() {
            let new = try values(key, reader, changes.after)
            for property in new.indices where changes.hasChanged(property, ofModification: index) {
                reader.values[key]![property] = new[property]
            }
        }
    }

    private func values(_ key: Key, _ reader: Reader, _ snapshot: Snapshot) throws(StoreError) -> [Int64] {
        var found: [Int64]?
        try snapshot.forEachObject(reader.isOfTags ? 1 : 0) { (at, values) throws(StoreError) in
            if at == key { found = (0..<(reader.isOfTags ? 1 : 2)).map { Int64(values[$0].low) } }
        }
        guard let found else {
            fail("told: \(reader.name): object \(key) is not in version \(snapshot.version)")
            return [0, 0]
        }
        return found
    }

    private func check() {
        for reader in readers {
            let wanted = reader.content(model)
            if reader.copy != wanted { fail("content: \(reader.name) has \(reader.copy), not \(wanted)") }
            for key in reader.copy where reader.values[key] != values(key, reader) {
                fail(
                    "values: \(reader.name) has \(reader.values[key] ?? []) of \(key), not \(values(key, reader) ?? [])"
                )
            }
            if reader.isOwnerDeleted != isGone(reader) {
                fail("told: \(reader.name) of the owner: \(reader.isOwnerDeleted)")
            }
        }
    }
}

/// What is wrong with the first of so many histories of observed lists; nil: nothing.
func listViolation(seeds: Range<UInt64>, told: inout Int) -> String? {
    for seed in seeds {
        do throws(StoreError) {
            let history = try ListHistory(seed: seed)
            if let violation = try history.run(steps: 60) { return "\(violation), seed \(seed)" }
            told += history.told
        } catch {
            return "unexpected error: \(error), seed \(seed)"
        }
    }
    return nil
}

func runLists(_ arguments: Arguments) -> Int32 {
    var told = 0
    let (count, violation) = arguments.run(usual: 300) { listViolation(seeds: $0..<$0 + 1, told: &told) }
    if let violation {
        print("violation: \(violation)")
        return 1
    }
    print("\(count) histories of observed lists from seed \(arguments.seed), \(told) change sets: 0 violations")
    return 0
}
