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
        var crew: Set<Key> = []
        var named: [String: Key] = [:]
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

        /// In a stable order.
        func sorted<T: Comparable>(_ keys: [Key], by value: (Item) -> T) -> [Key] {
            let values = keys.map { value(items[$0]!) }
            return keys.indices.sorted { (values[$0], $0) < (values[$1], $1) }.map { keys[$0] }
        }

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
        /// Of which collection of the observed tag the query is: an index of `tagProperties`; nil: of none.
        var collection: Int?
        /// Of a part of an index of these properties, from some values to some.
        var stretch: (properties: [Int], from: [Int64], to: [Int64])?
        let content: (Model) -> [Key]
        var observer: Observer?
        var copy: [Key] = []
        /// Number and mark of items, rank of tags.
        var values: [Key: [Int64]] = [:]
        /// Makes its work undone now and then.
        var refuses = false
        var isOwnerDeleted = false

        init(
            _ name: String, _ text: String, isOfTags: Bool = false, of collection: Int? = nil,
            _ content: @escaping (Model) -> [Key]
        ) {
            (self.name, self.text, self.isOfTags, self.content) = (name, text, isOfTags, content)
            self.collection = collection
        }

        init(
            _ name: String, _ stretch: (properties: [Int], from: [Int64], to: [Int64]), _ text: String = "",
            _ content: @escaping (Model) -> [Key]
        ) {
            (self.name, self.text, self.isOfTags, self.content) = (name, text, false, content)
            self.stretch = stretch
        }
    }

    private let store: Store
    private let classes: [UInt32], itemProperties: [UInt32], tagProperties: [UInt32]
    private var random: RandomNumbers
    private var model = Model()
    private var ids: [Key: ObjectID] = [:], tagIDs: [Key: ObjectID] = [:]
    /// Begins with so many items, all of them in the observed list: there are fewer readers then, and fewer steps.
    private let startCount: Int
    /// The list of this one is observed.
    private var observedTag: Key = -1
    private var violation: String?
    private(set) var told = 0

    /// Some of them twice: those have one answer in common, as long as both know the same version.
    private lazy var readers: [Reader] =
        startCount > 0
        ? kinds.filter {
            ["chosen of list", "part of list", "ties of list", "first of list", "distinct of list"].contains($0.name)
        }
        : kinds
            + kinds.filter { !$0.name.contains("by") && $0.collection == nil && $0.stretch == nil }
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
        Reader("distinct twice", "number > 5 DISTINCT(number) SORT(number DESC) DISTINCT(mark)") { model in
            let firsts = Set(model.firsts(model.items.keys.sorted()) { [$0.number] })
            let left = model.sorted { $0.number > $1.number }.filter {
                firsts.contains($0) && model.items[$0]!.number > 5
            }
            return model.firsts(left) { [$0.mark] }
        },
        Reader(
            "distinct thrice",
            """
            SORT(tag.rank DESC) DISTINCT(mark, number) DISTINCT(tag.rank, mark) \
            SORT(number ASC) DISTINCT(tag.rank) LIMIT(4)
            """
        ) {
            model in
            let all = model.sorted { (model.rank($1) ?? -1) < (model.rank($0) ?? -1) }
            let once = model.firsts(all) { [$0.mark, $0.number] }
            let twice = model.firsts(once) { [model.rank($0), $0.mark] }
            return Array(model.firsts(model.sorted(twice) { $0.number }) { [model.rank($0)] }.prefix(4))
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
        Reader("list", "", of: 1) { [unowned self] model in list(model) },
        Reader("chosen of list", "mark != 2", of: 1) { [unowned self] model in
            list(model).filter { model.items[$0]!.mark != 2 }
        },
        Reader("part of list", "mark > 1 SORT(number ASC)", of: 1) { [unowned self] model in
            model.sorted(list(model).filter { model.items[$0]!.mark > 1 }) { $0.number }
        },
        Reader("ties of list", "number > 10 SORT(mark DESC)", of: 1) { [unowned self] model in
            model.sorted(list(model).filter { model.items[$0]!.number > 10 }) { -$0.mark }
        },
        Reader("first of list", "number < 80 OFFSET(1) LIMIT(3)", of: 1) { [unowned self] model in
            Array(list(model).filter { model.items[$0]!.number < 80 }.dropFirst().prefix(3))
        },
        Reader("least of list", "SORT(mark ASC) LIMIT(4)", of: 1) { [unowned self] model in
            Array(model.sorted(list(model)) { $0.mark }.prefix(4))
        },
        Reader("behind links of list", "tag.rank > 2 SORT(tag.rank ASC)", of: 1) { [unowned self] model in
            model.sorted(list(model).filter { (model.rank(model.items[$0]!) ?? 0) > 2 }) { model.rank($0)! }
        },
        Reader("distinct of list", "DISTINCT(mark)", of: 1) { [unowned self] model in
            model.firsts(list(model)) { [$0.mark] }
        },
        Reader(
            "page of firsts of list", "number > 10 SORT(number DESC) DISTINCT(mark, tag.rank) OFFSET(1) LIMIT(3)", of: 1
        ) { [unowned self] model in
            let all = model.sorted(list(model).filter { model.items[$0]!.number > 10 }) { -$0.number }
            return Array(model.firsts(all) { [$0.mark, model.rank($0)] }.dropFirst().prefix(3))
        },
        Reader("distinct of set", "SORT(mark DESC) DISTINCT(number)", of: 2) { [unowned self] model in
            model.firsts(model.sorted(crew(model)) { -$0.mark }) { [$0.number] }
        },
        Reader("distinct of map", "mark > 0 DISTINCT(tag.rank)", of: 3) { [unowned self] model in
            model.firsts(named(model).filter { model.items[$0]!.mark > 0 }) { [model.rank($0)] }
        },
        Reader("stretch", ([1, 0], from: [1], to: [3, 60])) { model in
            model.sorted { ($0.mark, $0.number) < ($1.mark, $1.number) }.filter {
                let item = model.items[$0]!
                return (1...3).contains(item.mark) && (item.mark, item.number) <= (3, 60)
            }
        },
        Reader("stretch of one", ([0], from: [20], to: [70])) { model in
            model.sorted { $0.number < $1.number }.filter { (20...70).contains(model.items[$0]!.number) }
        },
        Reader("start of stretch", ([1, 0], from: [2], to: [4]), "LIMIT(5)") { model in
            Array(
                model.sorted { ($0.mark, $0.number) < ($1.mark, $1.number) }
                    .filter { model.items[$0]!.mark >= 2 }.prefix(5))
        },
        Reader("sorted stretch", ([1, 0], from: [0], to: [2]), "SORT(number DESC)") { model in
            model.sorted { $0.mark < $1.mark }.enumerated().sorted { a, b in
                let (left, right) = (model.items[a.element]!, model.items[b.element]!)
                return left.number > right.number || left.number == right.number && a.offset < b.offset
            }.map(\.element).filter { model.items[$0]!.mark <= 2 }
        },
        Reader(
            "distinct of stretch", ([1, 0], from: [1], to: [4, 70]), "DISTINCT(number) SORT(tag.rank ASC) LIMIT(6)"
        ) { model in
            let part = model.sorted { ($0.mark, $0.number) < ($1.mark, $1.number) }.filter {
                let item = model.items[$0]!
                return item.mark >= 1 && (item.mark, item.number) <= (4, 70)
            }
            return Array(model.sorted(model.firsts(part) { [$0.number] }) { model.rank($0) ?? -1 }.prefix(6))
        },
        Reader("part of stretch", ([1, 0], from: [1], to: [4]), "number > 20 AND tag.rank != 3") { model in
            model.sorted { ($0.mark, $0.number) < ($1.mark, $1.number) }.filter {
                let item = model.items[$0]!
                return (1...4).contains(item.mark) && item.number > 20 && model.rank(item) != 3
            }
        },
        Reader("least of stretch", ([0], from: [10], to: [90]), "mark < 3 SORT(mark DESC) LIMIT(4)") { model in
            let part = model.sorted { $0.number < $1.number }.filter {
                let item = model.items[$0]!
                return (10...90).contains(item.number) && item.mark < 3
            }
            return Array(model.sorted(part) { -$0.mark }.prefix(4))
        },
        Reader("page of stretch", ([0], from: [15], to: [85]), "OFFSET(2)") { model in
            Array(
                model.sorted { $0.number < $1.number }.filter { (15...85).contains(model.items[$0]!.number) }.dropFirst(
                    2))
        },
        Reader("set", "", of: 2) { [unowned self] model in crew(model) },
        Reader("part of set", "number < 70 SORT(mark ASC)", of: 2) { [unowned self] model in
            model.sorted(crew(model).filter { model.items[$0]!.number < 70 }) { $0.mark }
        },
        Reader("map", "", of: 3) { [unowned self] model in named(model) },
        Reader("part of map", "mark < 3 SORT(number DESC)", of: 3) { [unowned self] model in
            model.sorted(named(model).filter { model.items[$0]!.mark < 3 }) { -$0.number }
        },
    ]

    private func list(_ model: Model) -> [Key] { model.tags[observedTag]?.items ?? [] }
    private func crew(_ model: Model) -> [Key] { model.tags[observedTag]?.crew.sorted() ?? [] }
    private func named(_ model: Model) -> [Key] {
        model.tags[observedTag].map { tag in tag.named.keys.sorted().map { tag.named[$0]! } } ?? []
    }

    init(seed: UInt64) throws(StoreError) {
        random = RandomNumbers(seed: seed)
        startCount = seed % 20 == 19 ? 5000 : 0
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        var draft = SchemaDraft()
        try draft.addClass("Item")
        try draft.addClass("Tag")
        try draft.addProperty("Item", "number", .int, .indexed)
        try draft.addProperty("Item", "mark", .int, [])
        try draft.addLink("Item", "tag", to: "Tag", .nullable)
        try draft.addIndex("Item", ["mark", "number"], [])
        try draft.addProperty("Tag", "rank", .int, [])
        try draft.addCollection("Tag", "items", .list, ElementSchema(kind: .link), target: "Item")
        try draft.addCollection("Tag", "crew", .set, ElementSchema(kind: .link), target: "Item")
        try draft.addCollection(
            "Tag", "named", .map, ElementSchema(kind: .link, isNullable: true, keyKind: .string), target: "Item")
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
        tagProperties = try ["rank", "items", "crew", "named"].map { (name) throws(StoreError) in
            try view.findProperty(tag, name)
        }
    }

    func run(steps: Int) throws(StoreError) -> String? {
        try write(silencing: [])
        if startCount > 0 { try fillList() }
        for reader in readers {
            let view = try store.openView()
            defer { view.close() }
            var query = try view.query(classes[reader.isOfTags ? 1 : 0], parsing: reader.text)
            if let stretch = reader.stretch { query = try view.query(in: try self.stretch(stretch, view)).then(query) }
            if let collection = reader.collection {
                query = try view.query(of: self.collection(collection, of: observedTag)).then(query)
            }
            reader.copy = reader.content(model)
            for key in reader.copy { reader.values[key] = values(key, reader) }
            reader.observer = try store.hub.observe(ObserverScope(query)) { [unowned self, unowned reader] changes in
                do throws(StoreError) { try take(changes, reader) } catch { return error }
                return nil
            }
        }
        check()
        for _ in 0..<(startCount > 0 ? steps / 4 : steps) where violation == nil {
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

    private func findIndex(_ properties: [UInt32], _ view: View) throws(StoreError) -> UInt32 {
        let result = properties.withUnsafeBufferPointer { properties in
            Result { () throws(StoreError) in try view.findIndex(classes[0], properties) }
        }
        return try result.get()
    }

    private func stretch(
        _ stretch: (properties: [Int], from: [Int64], to: [Int64]), _ view: View
    ) throws(StoreError) -> IndexStretch {
        let index = try findIndex(stretch.properties.map { itemProperties[$0] }, view)
        let values = (stretch.from + stretch.to).map { Value.int($0) }
        let result = values.withUnsafeBufferPointer { values in
            Result { () throws(StoreError) in
                try IndexStretch(
                    index, from: UnsafeBufferPointer(rebasing: values[..<stretch.from.count]),
                    to: UnsafeBufferPointer(rebasing: values[stretch.from.count...]), [])
            }
        }
        return try result.get()
    }

    private func deliver() throws(StoreError) {
        // Also one that cannot do its work the first time.
        for reader in readers { reader.refuses = random.chance(0.2) }
        while try store.hub.deliver() > 0, violation == nil {}
        if violation == nil { check() }
    }

    private func isUpToDate(_ reader: Reader) -> Bool { reader.observer!.lag == 0 }

    private func isGone(_ reader: Reader) -> Bool { reader.collection != nil && model.tags[observedTag] == nil }

    private func fail(_ what: String) { if violation == nil { violation = what } }

    // MARK: Writing

    private func collection(_ number: Int, of tag: Key) -> CollectionID {
        CollectionID(owner: tagIDs[tag]!, propertyID: tagProperties[number])
    }

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

    private func fillList() throws(StoreError) {
        let view = try store.begin(.atMost(5000)), mark = random.chance(0.5) ? 3 : nil as Int64?
        var keys: [Key] = []
        for _ in 0..<startCount { keys.append(try makeItem(view, mark: mark, tag: nil)) }
        // The latest ones are first.
        keys.reverse()
        let links = keys.map { Value.link(ids[$0]!) }, list = collection(1, of: observedTag)
        let result = links.withUnsafeBufferPointer { links in
            Result { () throws(StoreError) in try view.insert(list, at: 0, links) }
        }
        try result.get()
        model.tags[observedTag]!.items.insert(contentsOf: keys, at: 0)
        _ = try view.commit()
    }

    private func makeItem(_ view: View, mark: Int64?, tag: Key?) throws(StoreError) -> Key {
        let number = Int64(random.below(100)), mark = mark ?? Int64(random.below(5))
        let id = try view.create(
            classes[0], itemProperties, [.int(number), .int(mark), tag.map { .link(tagIDs[$0]!) } ?? .null])
        (model.items[id.key], ids[id.key]) = (Item(number: number, mark: mark, tag: tag), id)
        return id.key
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
            _ = try makeItem(view, mark: nil, tag: random.chance(0.7) ? tag : nil)
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
            for tag in tags {
                model.tags[tag]!.items.removeAll { $0 == key }
                model.tags[tag]!.crew.remove(key)
                model.tags[tag]!.named = model.tags[tag]!.named.filter { $0.value != key }
            }
        case 11...14: try changeCollection(view, tags, keys)
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
    private func changeCollection(_ view: View, _ tags: [Key], _ keys: [Key]) throws(StoreError) {
        guard
            let tag = model.tags[observedTag] != nil && random.chance(0.7)
                ? observedTag : tags.isEmpty ? nil : tags[random.below(tags.count)]
        else { return }
        let key = keys[random.below(keys.count)]
        switch random.below(8) {
        case 0: try changeSet(view, tag, key)
        case 1: try changeMap(view, tag, key)
        default: try changeList(view, tag, key)
        }
    }

    private func changeSet(_ view: View, _ tag: Key, _ key: Key) throws(StoreError) {
        let set = collection(2, of: tag), value = Value.link(ids[key]!)
        if random.chance(0.6) {
            _ = try view.insert(set, member: value)
            model.tags[tag]!.crew.insert(key)
        } else {
            _ = try view.remove(set, member: value)
            model.tags[tag]!.crew.remove(key)
        }
    }

    private func changeMap(_ view: View, _ tag: Key, _ key: Key) throws(StoreError) {
        let map = collection(3, of: tag), letter = UInt8(97 + random.below(6)), isRemoved = random.chance(0.3)
        var result: Result<Bool, StoreError>!
        withUnsafeBytes(of: letter) { bytes in
            let name = Value.string(bytes.baseAddress, 1)
            result = Result { () throws(StoreError) in
                isRemoved ? try view.remove(map, key: name) : try view.set(map, key: name, .link(ids[key]!))
            }
        }
        _ = try result.get()
        model.tags[tag]!.named[String(UnicodeScalar(letter))] = isRemoved ? nil : key
    }

    private func changeList(_ view: View, _ tag: Key, _ key: Key) throws(StoreError) {
        let list = collection(1, of: tag), count = model.tags[tag]!.items.count
        switch random.below(count == 0 ? 3 : 7) {
        case 0...2:
            let place = random.below(count + 1)
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
        case 5:
            let place = random.below(count)
            try view.set(list, at: place, .link(ids[key]!))
            model.tags[tag]!.items[place] = key
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
    if told < arguments.told { print("they should be \(arguments.told) at least") }
    return told < arguments.told ? 1 : 0
}
