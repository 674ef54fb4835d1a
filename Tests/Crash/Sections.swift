import ObjStoreCore
import ObjStoreSimulation

/// Random histories of observers of sections: of sorted, limited and other results, by own values, by what lies behind
/// links, by first letters, by functions, and of single sections. Each reader has a copy of the sections, to which it
/// does what it is told; that is compared with plain loops over a model.
private final class SectionHistory {
    private typealias Key = Int64

    private struct Item {
        var number: Int64, mark: Int64?, name: String, tag: Key?
    }

    private struct Model {
        var items: [Key: Item] = [:], tags: [Key: (rank: Int64, items: [Key])] = [:]

        /// Stable: keys ascend in the order of creation.
        func sorted(_ isLess: (Item, Item) -> Bool = { _, _ in false }) -> [Key] {
            items.keys.sorted().enumerated().sorted { a, b in
                let (left, right) = (items[a.element]!, items[b.element]!)
                return isLess(left, right) || !isLess(right, left) && a.offset < b.offset
            }.map(\.element)
        }
        func rank(_ item: Item) -> Int64? { item.tag.map { tags[$0]!.rank } }
    }

    /// What says the section of an item: for the library, and for the model, where null is -1.
    private struct Way: Sendable {
        let text: String
        let key: @Sendable (Model, Item) -> Int64
        var isFirstLetter = false
        var isFunction = false

        static let mark = Way(text: "mark") { $1.mark ?? -1 }
        static let tens = Way(text: "number / 40") { $1.number / 40 }
        static let rank = Way(text: "tag.rank") { $0.rank($1) ?? -1 }
        static let letter = Way(
            text: "name",
            key: { (_, item) in
                guard let first = item.name.unicodeScalars.first else { return 0 }
                let capital = first.properties.uppercaseMapping.unicodeScalars
                return Int64((capital.count == 1 ? capital.first! : first).value)
            }, isFirstLetter: true)
        static let function = Way(text: "mark", key: { $1.mark ?? -1 }, isFunction: true)
    }

    private final class Reader {
        let name: String
        let query: String
        let content: (Model) -> [Key]
        let way: Way
        let order: Sections.Flags
        /// The one section that is observed.
        let one: Int64?
        let keyPaths: [String]?
        var observer: Observer?
        lazy var copy = sections(Model())
        var numbers: [Key: Int64] = [:]
        /// Makes its work undone now and then.
        var refuses = false
        var isOwnerDeleted = false

        init(
            _ name: String, _ query: String, _ way: Way, _ order: Sections.Flags = [], one: Int64? = nil,
            keyPaths: [String]? = nil, _ content: @escaping (Model) -> [Key]
        ) {
            (self.name, self.query, self.way, self.order) = (name, query, way, order)
            (self.one, self.keyPaths, self.content) = (one, keyPaths, content)
        }

        var isOfList: Bool { name.hasPrefix("list") }

        func sections(_ model: Model) -> SectionedCopy {
            SectionedCopy(of: content(model), order, one: one) { way.key(model, model.items[$0]!) }
        }
    }

    private let store: Store
    private let classes: [UInt32], itemProperties: [UInt32], tagProperties: [UInt32]
    private var random: RandomNumbers
    private var model = Model()
    private var ids: [Key: ObjectID] = [:], tagIDs: [Key: ObjectID] = [:]
    private var observedTag: Key = -1
    private var violation: String?
    private(set) var told = 0

    private lazy var readers: [Reader] = [
        Reader("all, ascending", "", .mark, .ascending) { $0.sorted() },
        Reader("all, of appearance", "", .mark) { $0.sorted() },
        Reader("sorted, descending", "SORT(number ASC, mark DESC)", .tens, .descending) { model in
            model.sorted { ($0.number, -($0.mark ?? -1)) < ($1.number, -($1.mark ?? -1)) }
        },
        Reader("sorted, of appearance", "number < 80 SORT(number DESC)", .mark) { model in
            model.sorted { $0.number > $1.number }.filter { model.items[$0]!.number < 80 }
        },
        Reader("letters", "SORT(name ASC)", .letter, .ascending) { model in
            model.sorted { Array($0.name.utf8).lexicographicallyPrecedes(Array($1.name.utf8)) }
        },
        Reader("letters, of appearance", "SORT(number ASC)", .letter) { $0.sorted { $0.number < $1.number } },
        Reader("least", "SORT(number DESC) LIMIT(6)", .mark) { Array($0.sorted { $0.number > $1.number }.prefix(6)) },
        Reader("page", "SORT(number ASC) OFFSET(2) LIMIT(7)", .rank, .descending) { model in
            Array(model.sorted { $0.number < $1.number }.dropFirst(2).prefix(7))
        },
        Reader("by link", "", .rank, .ascending) { $0.sorted() },
        Reader("by link, sorted", "number >= 20 SORT(number DESC)", .rank) { model in
            model.sorted { $0.number > $1.number }.filter { model.items[$0]!.number >= 20 }
        },
        Reader("linking", "tag.rank > 4", .mark, .ascending) { model in
            model.sorted().filter { (model.rank(model.items[$0]!) ?? 0) > 4 }
        },
        Reader("distinct", "DISTINCT(number)", .mark, .descending) { model in
            var numbers: Set<Int64> = []
            return model.sorted().filter { numbers.insert(model.items[$0]!.number).inserted }
        },
        Reader("list", "", .mark) { [unowned self] in $0.tags[observedTag]?.items ?? [] },
        Reader("list, sorted", "SORT(number ASC)", .tens, .ascending) { [unowned self] model in
            (model.tags[observedTag]?.items ?? []).enumerated().sorted { a, b in
                (model.items[a.element]!.number, a.offset) < (model.items[b.element]!.number, b.offset)
            }.map(\.element)
        },
        Reader("one of all", "", .mark, .ascending, one: 1) { $0.sorted() },
        Reader("one, sorted", "SORT(number DESC)", .tens, one: 1) { $0.sorted { $0.number > $1.number } },
        Reader("one by link", "", .rank, one: 3) { $0.sorted() },
        Reader("by function", "SORT(number ASC)", .function) { $0.sorted { $0.number < $1.number } },
        Reader("key paths", "SORT(mark ASC)", .tens, .ascending, keyPaths: ["name"]) { model in
            model.sorted { ($0.mark ?? -1) < ($1.mark ?? -1) }
        },
        Reader("key paths, of appearance", "SORT(number ASC)", .mark, keyPaths: []) {
            $0.sorted { $0.number < $1.number }
        },
    ]

    init(seed: UInt64) throws(StoreError) {
        random = RandomNumbers(seed: seed)
        var configuration = StoreConfiguration(), draft = SchemaDraft()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        try draft.addClass("Item")
        try draft.addClass("Tag")
        try draft.addProperty("Item", "number", .int, [])
        try draft.addProperty("Item", "mark", .int, .nullable)
        try draft.addProperty("Item", "name", .string, [])
        try draft.addLink("Item", "tag", to: "Tag", .nullable)
        try draft.addProperty("Tag", "rank", .int, [])
        try draft.addCollection("Tag", "items", .list, ElementSchema(kind: .link), target: "Item")
        configuration.schema = draft
        store = try Store.open(configuration)
        let view = try store.openView()
        defer { view.close() }
        let item = try view.findClass("Item"), tag = try view.findClass("Tag")
        classes = [item, tag]
        var properties: [UInt32] = []
        for name in ["number", "mark", "name", "tag"] { properties.append(try view.findProperty(item, name)) }
        itemProperties = properties
        tagProperties = [try view.findProperty(tag, "rank"), try view.findProperty(tag, "items")]
    }

    func run(steps: Int) throws(StoreError) -> String? {
        try write(silencing: [])
        for reader in readers { try observe(reader) }
        check()
        for _ in 0..<steps where violation == nil {
            // Who writes without being told has been told of everything before.
            if random.chance(0.5) { try deliver() }
            let silenced = readers.filter { isUpToDate($0) && random.chance(0.2) }
            try write(silencing: silenced)
            if random.chance(0.6) { try deliver() }
        }
        try deliver()
        try store.close()
        return violation
    }

    private func observe(_ reader: Reader) throws(StoreError) {
        let view = try store.openView()
        defer { view.close() }
        var query = try view.query(classes[0], parsing: reader.query)
        if reader.isOfList { query = try view.query(of: items(of: observedTag)).then(query) }
        let results = try view.find(query), flags = reader.order.union(reader.way.isFirstLetter ? .firstLetter : [])
        let sections: Sections
        if reader.way.isFunction {
            let mark = itemProperties[1]
            sections = try results.sections(flags) { (view, body) throws(StoreError) in
                try body { (object) throws(StoreError) in try view.value(object, mark, nil) }
            }
        } else {
            var text = reader.way.text, made: Result<Sections, StoreError>!
            text.withUTF8 { bytes in
                made = Result { () throws(StoreError) in
                    try results.sections(byParsing: UnsafeRawBufferPointer(bytes), [], flags)
                }
            }
            sections = try made.get()
        }
        show(reader)
        reader.observer = try sections.observe(
            ObserverOptions(keyPaths: reader.keyPaths), one: reader.one.map { $0 < 0 ? .null : .int($0) }
        ) { [unowned self, unowned reader] changes in
            take(changes, reader)
            return nil
        }
    }

    private func show(_ reader: Reader) {
        reader.copy = reader.sections(model)
        for key in reader.copy.objects { reader.numbers[key] = model.items[key]!.number }
    }

    private func deliver() throws(StoreError) {
        // Also one that cannot do its work the first time.
        for reader in readers { reader.refuses = random.chance(0.2) }
        while try store.hub.deliver() > 0, violation == nil {}
        if violation == nil { check() }
    }

    private func isUpToDate(_ reader: Reader) -> Bool { reader.copy.isSame(as: reader.sections(model)) }
    private func fail(_ what: String) { if violation == nil { violation = what } }
    private func items(of tag: Key) -> CollectionID { CollectionID(owner: tagIDs[tag]!, propertyID: tagProperties[1]) }

    // MARK: Writing

    private func write(silencing silenced: [Reader]) throws(StoreError) {
        let view = try store.begin(.atMost(5000))
        try view.withoutNotifying(silenced.compactMap(\.observer))
        if model.tags.isEmpty { for _ in 0..<3 { try makeTag(view) } }
        if observedTag < 0 { observedTag = model.tags.keys.min()! }
        for _ in 0...random.below(5) { try change(view) }
        _ = try view.commit()
        for reader in silenced {
            show(reader)
            if reader.isOfList, model.tags[observedTag] == nil { reader.isOwnerDeleted = true }
        }
    }

    private func makeTag(_ view: View) throws(StoreError) {
        let rank = Int64(random.below(5)), id = try view.create(classes[1], [tagProperties[0]], [.int(rank)])
        (model.tags[id.key], tagIDs[id.key]) = ((rank, []), id)
    }

    private func withText<T>(_ text: String, _ body: (Value) throws(StoreError) -> T) throws(StoreError) -> T {
        var text = text, result: Result<T, StoreError>!
        text.withUTF8 { bytes in
            result = Result { () throws(StoreError) in
                try body(.string(UnsafeRawPointer(bytes.baseAddress), bytes.count))
            }
        }
        return try result.get()
    }

    private func change(_ view: View) throws(StoreError) {
        let keys = model.items.keys.sorted(), tags = model.tags.keys.sorted()
        let tag = tags.isEmpty ? nil : tags[random.below(tags.count)]
        let mark = random.chance(0.2) ? nil : Int64(random.below(4)), number = Int64(random.below(100))
        let name = ["", "a", "Ab", "b", "ba", "éa", "Éb", "ß", "c"][random.below(9)]
        let link = random.chance(0.7) ? tag : nil
        switch random.below(20) {
        case 0...3:
            let id = try withText(name) { (text) throws(StoreError) in
                try view.create(
                    classes[0], itemProperties,
                    [.int(number), mark.map { .int($0) } ?? .null, text, link.map { .link(tagIDs[$0]!) } ?? .null])
            }
            (model.items[id.key], ids[id.key]) = (Item(number: number, mark: mark, name: name, tag: link), id)
        case 4:
            guard random.chance(0.3), let tag, readers[0].observer != nil else { return try makeTag(view) }
            try view.delete(tagIDs[tag]!)
            model.tags[tag] = nil
            for key in keys where model.items[key]!.tag == tag { model.items[key]!.tag = nil }
        case 5...6:
            guard let tag else { break }
            let rank = Int64(random.below(5))
            try view.set(tagIDs[tag]!, tagProperties[0], .int(rank))
            model.tags[tag]!.rank = rank
        case _ where keys.isEmpty: break
        case 7...8:
            let key = keys[random.below(keys.count)]
            try view.delete(ids[key]!)
            model.items[key] = nil
            for tag in tags { model.tags[tag]!.items.removeAll { $0 == key } }
        case 9...11: try changeList(view, keys)
        case let which:
            let key = keys[random.below(keys.count)]
            switch which {
            case 12...14:
                try view.set(ids[key]!, itemProperties[0], .int(number))
                model.items[key]!.number = number
            case 15...16:
                try view.set(ids[key]!, itemProperties[1], mark.map { .int($0) } ?? .null)
                model.items[key]!.mark = mark
            case 17...18:
                try withText(name) { (text) throws(StoreError) in try view.set(ids[key]!, itemProperties[2], text) }
                model.items[key]!.name = name
            default:
                try view.set(ids[key]!, itemProperties[3], link.map { .link(tagIDs[$0]!) } ?? .null)
                model.items[key]!.tag = link
            }
        }
    }

    private func changeList(_ view: View, _ keys: [Key]) throws(StoreError) {
        guard let count = model.tags[observedTag]?.items.count else { return }
        let list = items(of: observedTag)
        switch random.below(count == 0 ? 3 : 5) {
        case 0...2:
            let key = keys[random.below(keys.count)], place = random.below(count + 1)
            var result: Result<Void, StoreError>!
            withUnsafePointer(to: Value.link(ids[key]!)) { value in
                result = Result { () throws(StoreError) in
                    try view.insert(list, at: place, UnsafeBufferPointer(start: value, count: 1))
                }
            }
            try result.get()
            model.tags[observedTag]!.items.insert(key, at: place)
        case 3:
            let place = random.below(count)
            try view.remove(list, at: place, count: 1)
            model.tags[observedTag]!.items.remove(at: place)
        default:
            let from = random.below(count), to = random.below(count)
            try view.move(list, from: from, to: to)
            model.tags[observedTag]!.items.insert(model.tags[observedTag]!.items.remove(at: from), at: to)
        }
    }

    // MARK: Reading

    private func take(_ changes: ChangeSet, _ reader: Reader) {
        if reader.refuses {
            (reader.refuses, changes.isUntold) = (false, true)
            return
        }
        told += 1
        if changes.changes.isEmpty && !changes.isOwnerDeleted { fail("told: \(reader.name) of nothing") }
        if changes.isOwnerDeleted { reader.isOwnerDeleted = true }
        if let problem = reader.copy.take(changes, key: { key($0, reader) }) {
            return fail("sections: \(reader.name), \(problem)")
        }
        for (index, key) in (changes.modified + changes.moved).enumerated()
        where changes.hasChanged(0, ofModification: index) {
            reader.numbers[key] = model.items[key]?.number
        }
        for key in changes.inserted { reader.numbers[key] = model.items[key]?.number }
        if let paths = reader.keyPaths {
            for index in changes.modified.indices where paths.isEmpty || !changes.hasChanged(2, ofModification: index) {
                fail("told: \(reader.name) of a modification of other properties")
            }
        }
    }

    private func key(_ value: Value, _ reader: Reader) -> Int64 {
        if value.isNull { return -1 }
        if !reader.way.isFirstLetter { return value.low }
        let text = String(decoding: UnsafeRawBufferPointer(start: value.pointer, count: value.count), as: UTF8.self)
        return text.unicodeScalars.first.map { Int64($0.value) } ?? 0
    }

    private func check() {
        for reader in readers {
            let wanted = reader.sections(model)
            if !reader.copy.isSame(as: wanted) { fail("sections: \(reader.name) has \(reader.copy), not \(wanted)") }
            if reader.keyPaths == nil {
                for key in reader.copy.objects where reader.numbers[key] != model.items[key]!.number {
                    fail("values: \(reader.name) has \(reader.numbers[key] ?? -1) of \(key)")
                }
            }
            if reader.isOfList, reader.isOwnerDeleted != (model.tags[observedTag] == nil) {
                fail("told: \(reader.name) of the owner: \(reader.isOwnerDeleted)")
            }
        }
    }
}

/// What is wrong with the first of so many histories of observed sections; nil: nothing.
func sectionViolation(seeds: Range<UInt64>, told: inout Int) -> String? {
    for seed in seeds {
        do throws(StoreError) {
            let history = try SectionHistory(seed: seed)
            if let violation = try history.run(steps: 60) { return "\(violation), seed \(seed)" }
            told += history.told
        } catch {
            return "unexpected error: \(error), seed \(seed)"
        }
    }
    return nil
}

func runSections(_ arguments: Arguments) -> Int32 {
    var told = 0
    let (count, violation) = arguments.run(usual: 300) { sectionViolation(seeds: $0..<$0 + 1, told: &told) }
    if let violation {
        print("violation: \(violation)")
        return 1
    }
    print("\(count) histories of observed sections from seed \(arguments.seed), \(told) change sets: 0 violations")
    return 0
}
