import ObjStoreCore

/// The content of a store that histories of observers are about, as plain values.
///
/// ```
///  Item ──tag──► Tag ──items, crew, named──► Item        lists, sets and maps of links
///   └─part─► Part, embedded
/// ```
struct WatchedContent {
    typealias Key = Int64

    enum Kind: Int, CaseIterable {
        case item, tag, part

        var name: String { ["Item", "Tag", "Part"][rawValue] }
        /// In the order of masks of what is compared.
        var properties: [String] {
            switch self {
            case .item: ["number", "mark", "tag", "part"]
            case .tag:
                [
                    "number", "mark", "items", "crew", "named", "notes", "scores", "levels", "labels", "weight",
                    "price",
                ]
            case .part: ["number"]
            }
        }
        var links: [String] {
            switch self {
            case .item: ["tag", "part"]
            case .tag: ["items", "crew", "named"]
            case .part: []
            }
        }
    }

    struct Place: Hashable, Comparable {
        let kind: Kind
        let key: Key

        static func < (a: Place, b: Place) -> Bool { (a.kind.rawValue, a.key) < (b.kind.rawValue, b.key) }
    }

    struct Thing: Equatable {
        /// The primary key, which another object may have had before.
        var id: Int64 = 0
        var number: Int64 = 0, mark: Int64 = 0
        var tag: Key?, part: Key?
        var weight = 0.0
        var price = Price()
        var items: [Key] = []
        var crew: Set<Key> = []
        /// `none`: the object is gone.
        var named: [String: Key] = [:]
        /// Mixed.
        var notes: WatchedMixed?
        /// Plain values: a list, a set and a map.
        var scores: [Int64] = []
        var levels: Set<Int64> = []
        var labels: [String: Int64] = [:]
        static let none: Key = -1
    }

    /// A decimal: 1.50 is another one than 1.5, but not more.
    struct Price: Equatable {
        var hundredths: Int64 = 0, places = 0

        var decimal: Decimal128 {
            Decimal128(
                isNegative: false, exponent: Decimal128.bias - places,
                coefficient: UInt128(hundredths / [100, 10, 1][places]))
        }
    }

    /// Something that was written in an object. Of a map the key, too: "named/k".
    struct Write: Hashable {
        let place: Place
        let property: String
    }

    var things: [Place: Thing] = [:]
    var schema = WatchedSchema()
    /// Written by each transaction: who finds it knows which ones are there.
    var turn: Int64 = 0

    subscript(_ kind: Kind, _ key: Key) -> Thing? { things[Place(kind: kind, key: key)] }

    /// In the order of creation.
    func keys(_ kind: Kind) -> [Key] { things.keys.filter { $0.kind == kind }.map(\.key).sorted() }

    /// Of those that are there.
    func keys(_ kind: Kind, _ isWanted: (Thing) -> Bool) -> [Key] { keys(kind).filter { isWanted(self[kind, $0]!) } }

    /// Stable: equal ones stay in the order of creation.
    func sorted(_ keys: [Key], _ kind: Kind, _ isLess: (Thing, Thing) -> Bool) -> [Key] {
        keys.enumerated().sorted { a, b in
            let (left, right) = (self[kind, a.element]!, self[kind, b.element]!)
            return isLess(left, right) || !isLess(right, left) && a.offset < b.offset
        }.map(\.element)
    }

    func targets(_ place: Place, _ property: String) -> [Place] {
        guard let thing = things[place] else { return [] }
        func items(_ keys: some Sequence<Key>) -> [Place] { keys.map { Place(kind: .item, key: $0) } }
        switch property {
        case "tag": return thing.tag.map { [Place(kind: .tag, key: $0)] } ?? []
        case "part": return thing.part.map { [Place(kind: .part, key: $0)] } ?? []
        case "items": return items(thing.items)
        case "crew": return items(thing.crew)
        case "named": return items(thing.named.values.filter { $0 != Thing.none })
        default: return []
        }
    }

    func tag(of item: Thing) -> Thing? { item.tag.flatMap { self[.tag, $0] } }
    func part(of item: Thing) -> Thing? { item.part.flatMap { self[.part, $0] } }
    func items(_ tag: Thing) -> [Thing] { tag.items.map { self[.item, $0]! } }
    /// How many items lead to a tag.
    func followers(_ tag: Key) -> Int { keys(.item) { $0.tag == tag }.count }

    // MARK: Changes

    /// Takes an object out, what is embedded in it, and the links that lead to it; returns what that writes.
    mutating func remove(_ place: Place) -> Set<Write> {
        var writes: Set<Write> = []
        if let part = things[place]?.part { things[Place(kind: .part, key: part)] = nil }
        things[place] = nil
        for (other, thing) in things {
            func wrote(_ property: String) { writes.insert(Write(place: other, property: property)) }
            if place.kind == .tag, thing.tag == place.key {
                things[other]!.tag = nil
                wrote("tag")
            }
            guard place.kind == .item else { continue }
            if thing.items.contains(place.key) {
                things[other]!.items.removeAll { $0 == place.key }
                wrote("items")
            }
            if things[other]!.crew.remove(place.key) != nil { wrote("crew") }
            for (name, target) in thing.named where target == place.key {
                things[other]!.named[name] = Thing.none
                wrote("named")
                wrote("named/" + name)
            }
        }
        return writes
    }
}

/// What the schema is in some version, of what histories change in it.
struct WatchedSchema: Equatable {
    var version: UInt64 = 1
    /// What `number` of items is called now.
    var numberName = "number"
    /// A migration has made marks of items texts, or ints again.
    var areMarksTexts = false
    var isMarkIndexed = false
    /// Properties that come and go, each time as another one: how often they have, odd where they are there.
    var lives: [String: Int] = ["extra": 0, "crew": 1, "mark": 1, "notes": 1]
    var hasSpareClass = false

    func has(_ property: String) -> Bool { lives[property].map { $0 % 2 == 1 } ?? true }

    func name(_ property: String, of kind: WatchedContent.Kind) -> String {
        kind == .item && property == "number" ? numberName : property
    }

    /// As the query language writes it.
    func mark(_ value: Int64) -> String { areMarksTexts ? "'m\(value)'" : "\(value)" }

    func draft() throws(StoreError) -> SchemaDraft {
        var draft = SchemaDraft()
        for name in ["Turn", "Item", "Tag", "Part"] { try draft.addClass(name) }
        try draft.setEmbedded("Part", true)
        try draft.addProperty("Turn", "number", .int, [])
        try draft.addProperty("Turn", "filling", .binary, .nullable)
        try draft.addProperty("Item", "id", .int, .primaryKey)
        try draft.addProperty("Item", numberName, .int, [])
        try draft.addFormerName("Item", numberName, numberName == "number" ? "amount" : "number")
        try draft.addProperty("Item", "mark", areMarksTexts ? .string : .int, isMarkIndexed ? .indexed : [])
        try draft.addLink("Item", "tag", to: "Tag", .nullable)
        try draft.addLink("Item", "part", to: "Part", .nullable)
        if has("extra") {
            try draft.addProperty("Item", "extra", .int, [])
            try draft.setDefault("Item", "extra", .int(7))
        }
        try draft.addProperty("Part", "number", .int, [])
        try draft.addProperty("Tag", "id", .int, .primaryKey)
        try draft.addProperty("Tag", "number", .int, [])
        try draft.addProperty("Tag", "mark", .int, [])
        try draft.addProperty("Tag", "weight", .double, [])
        try draft.addProperty("Tag", "price", .decimal128, [])
        let links = ElementSchema(kind: .link)
        try draft.addCollection("Tag", "items", .list, links, target: "Item")
        if has("crew") { try draft.addCollection("Tag", "crew", .set, links, target: "Item") }
        if has("notes") { try draft.addProperty("Tag", "notes", .mixed, []) }
        let named = ElementSchema(kind: .link, keyKind: .string)
        try draft.addCollection("Tag", "named", .map, named, target: "Item")
        let plain = ElementSchema(kind: .int)
        try draft.addCollection("Tag", "scores", .list, plain)
        try draft.addCollection("Tag", "levels", .set, plain)
        try draft.addCollection("Tag", "labels", .map, ElementSchema(kind: .int, keyKind: .string))
        if hasSpareClass {
            try draft.addClass("Spare")
            try draft.addProperty("Spare", "number", .int, [])
        } else {
            try draft.dropClass("Spare")
        }
        return draft
    }
}
