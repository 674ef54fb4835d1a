import ObjStoreCore
import ObjStoreSimulation

/// Does the same to a transaction and to the content as plain values.
final class WatchedEditor {
    typealias Key = WatchedContent.Key
    typealias Place = WatchedContent.Place
    typealias Kind = WatchedContent.Kind
    typealias Write = WatchedContent.Write

    private let view: View
    private let numbers: RandomSource
    private(set) var content: WatchedContent
    private(set) var writes: Set<Write> = []
    private var classes: [Kind: UInt32] = [:]
    private var ids: [Kind: [String: UInt32]] = [:]
    private let turnClass: UInt32

    /// Numbers of a history, in one place for all its editors.
    final class RandomSource {
        private var numbers: RandomNumbers
        init(seed: UInt64) { numbers = RandomNumbers(seed: seed) }
        func below(_ count: Int) -> Int { numbers.below(count) }
        func chance(_ chance: Double) -> Bool { numbers.chance(chance) }
        func one<T>(of all: [T]) -> T? { all.isEmpty ? nil : all[below(all.count)] }
    }

    init(_ view: View, _ content: WatchedContent, _ random: RandomSource) throws(StoreError) {
        self.view = view
        self.content = content
        numbers = random
        turnClass = try view.findClass("Turn")
        for kind in Kind.allCases {
            let cls = try view.findClass(kind.name)
            classes[kind] = cls
            var found: [String: UInt32] = [:]
            for name in kind.properties + (kind == .part ? [] : ["id"]) where content.schema.has(name) || kind == .item
            {
                found[name] = try view.findProperty(cls, content.schema.name(name, of: kind))
            }
            ids[kind] = found
        }
    }

    // MARK: Turns

    /// What the last transaction has written that is there; 0: none.
    static func turn(in view: View) throws(StoreError) -> Int64 {
        let cls = try view.findClass("Turn")
        guard let object = try view.first(Query(all: cls)) else { return 0 }
        return Int64(try view.value(object, try view.findProperty(cls, "number"), nil).low)
    }

    func write(turn: Int64) throws(StoreError) {
        let number = try view.findProperty(turnClass, "number")
        if let object = try view.first(Query(all: turnClass)) {
            try view.set(object, number, .int(turn))
        } else {
            _ = try view.create(turnClass, [number], [.int(turn)])
        }
        content.turn = turn
    }

    /// So many bytes that mean nothing.
    func fill(bytes: Int) throws(StoreError) {
        guard let object = try view.first(Query(all: turnClass)) else { return }
        let filling = try view.findProperty(turnClass, "filling"), array = [UInt8](repeating: 7, count: bytes)
        try array.withUnsafeBufferPointer { (bytes) throws(StoreError) in
            try view.set(object, filling, .binary(bytes.baseAddress, bytes.count))
        }
    }

    // MARK: Changes

    private func object(_ place: Place) -> ObjectID {
        ObjectID(classID: classes[place.kind]!, storeTag: view.shared.tag, key: place.key)
    }

    private func some(_ kind: Kind) -> Place? {
        numbers.one(of: content.keys(kind)).map { Place(kind: kind, key: $0) }
    }

    private func withMark(_ mark: Int64, _ body: (Value) throws(StoreError) -> Void) throws(StoreError) {
        guard content.schema.areMarksTexts else { return try body(.int(mark)) }
        try with("m\(mark)", body)
    }

    private func with(_ text: String, _ body: (Value) throws(StoreError) -> Void) throws(StoreError) {
        try Array(text.utf8).withUnsafeBufferPointer { (bytes) throws(StoreError) in
            try body(.string(bytes.baseAddress, bytes.count))
        }
    }

    func change() throws(StoreError) {
        // Much is about tags.
        if content.keys(.tag).count < 2, numbers.chance(0.4) { return try create(.tag, id: freeID(.tag)) }
        switch numbers.below(62) {
        case 0...5: try create(.item, id: freeID(.item))
        case 6: try create(.tag, id: freeID(.tag))
        case 7...8: if let item = some(.item) { try delete(item) }
        case 9: if numbers.chance(0.3), let tag = some(.tag) { try delete(tag) }
        case 10...11: if let place = some(numbers.chance(0.8) ? .item : .tag) { try createAnew(place) }
        case 12...17: if let place = some(numbers.chance(0.7) ? .item : .tag) { try setNumber(place) }
        case 18...20: if let place = some(numbers.chance(0.7) ? .item : .tag) { try setMark(place) }
        case 45...49: if let tag = some(.tag) { try weigh(tag) }
        case 21...24: if let item = some(.item) { try setTag(item, numbers.chance(0.8) ? some(.tag)?.key : nil) }
        case 25...28: if let item = some(.item) { try changePart(item) }
        case 29...33: if let tag = some(.tag) { try changeList(tag) }
        case 34...36: if let tag = some(.tag) { try changeSet(tag) }
        case 37...39: if let tag = some(.tag) { try changeMap(tag) }
        case 40...44: if let tag = some(.tag) { try changeNotes(tag) }
        default: if let tag = some(.tag) { try changeValues(tag) }
        }
    }

    /// Mostly one that an object had that was deleted.
    private func freeID(_ kind: Kind) -> Int64 {
        let used = Set(content.keys(kind).map { content[kind, $0]!.id })
        return (0...64).lazy.map { _ in Int64(self.numbers.below(60)) }.first { !used.contains($0) }
            ?? (0...).lazy.map { Int64($0) }.first { !used.contains($0) }!
    }

    private func create(_ kind: Kind, id: Int64) throws(StoreError) {
        var thing = WatchedContent.Thing()
        thing.id = id
        thing.number = Int64(numbers.below(100))
        thing.mark = Int64(numbers.below(5))
        let properties = [ids[kind]!["id"]!, ids[kind]!["number"]!, ids[kind]!["mark"]!]
        var key: Key = 0
        if kind == .item {
            try withMark(thing.mark) { (mark) throws(StoreError) in
                key = try view.create(classes[kind]!, properties, [.int(id), .int(thing.number), mark]).key
            }
        } else {
            key = try view.create(
                classes[kind]!, properties + [ids[kind]!["weight"]!, ids[kind]!["price"]!],
                [.int(id), .int(thing.number), .int(thing.mark), .double(0), .decimal128(.zero)]
            ).key
        }
        content.things[Place(kind: kind, key: key)] = thing
        if kind == .item, numbers.chance(0.6) { try setTag(Place(kind: kind, key: key), some(.tag)?.key) }
        if kind == .tag, numbers.chance(0.8) { try changeNotes(Place(kind: kind, key: key)) }
    }

    private func delete(_ place: Place) throws(StoreError) {
        try view.delete(object(place))
        writes.formUnion(content.remove(place))
    }

    /// Another object under the same primary key: what led to it does not lead to this one, unless it is put there.
    private func createAnew(_ place: Place) throws(StoreError) {
        let old = content.things[place]!
        let owners = content.things.filter { place.kind == .item && $0.value.items.contains(place.key) }.keys
        let led = content.things.filter { place.kind == .tag && $0.value.tag == place.key }.keys
        try delete(place)
        let known = Set(content.things.keys)
        try create(place.kind, id: old.id)
        guard let new = Set(content.things.keys).subtracting(known).first, numbers.chance(0.6) else { return }
        for item in led.sorted() { try setTag(item, new.key) }
        for owner in owners.sorted() { try insert(new.key, into: owner, at: content.things[owner]!.items.count) }
    }

    private func wrote(_ place: Place, _ property: String) { writes.insert(Write(place: place, property: property)) }

    private func setNumber(_ place: Place) throws(StoreError) {
        // Now and then the value that it has.
        var value = numbers.chance(0.15) ? content.things[place]!.number : Int64(numbers.below(100))
        // Or that of another object.
        if numbers.chance(0.3), let other = some(place.kind) { value = content.things[other]!.number }
        try view.set(object(place), ids[place.kind]!["number"]!, .int(value))
        content.things[place]!.number = value
        wrote(place, "number")
    }

    private func setMark(_ place: Place) throws(StoreError) {
        let value = Int64(numbers.below(5))
        if place.kind == .item {
            try withMark(value) { (mark) throws(StoreError) in
                try view.set(object(place), ids[.item]!["mark"]!, mark)
            }
        } else {
            try view.set(object(place), ids[.tag]!["mark"]!, .int(value))
        }
        content.things[place]!.mark = value
        wrote(place, "mark")
    }

    /// A weight and a price. Weights are halves, which sums need not round, and now and then thirds.
    private func weigh(_ tag: Place) throws(StoreError) {
        let weight = Double(numbers.below(40)) / (numbers.chance(0.15) ? 3 : 2)
        try view.set(object(tag), ids[.tag]!["weight"]!, .double(weight))
        content.things[tag]!.weight = weight
        wrote(tag, "weight")
        let price = WatchedContent.Price(hundredths: Int64(numbers.below(5) * 100), places: numbers.below(3))
        try view.set(object(tag), ids[.tag]!["price"]!, .decimal128(price.decimal))
        content.things[tag]!.price = price
        wrote(tag, "price")
    }

    private func setTag(_ item: Place, _ tag: Key?) throws(StoreError) {
        let value = tag.map { Value.link(object(Place(kind: .tag, key: $0))) } ?? .null
        try view.set(object(item), ids[.item]!["tag"]!, value)
        content.things[item]!.tag = tag
        wrote(item, "tag")
    }

    /// What is embedded in an item: put there anew, taken away, or changed inside.
    private func changePart(_ item: Place) throws(StoreError) {
        let number = Int64(numbers.below(9)), old = content.things[item]!.part, part = ids[.item]!["part"]!
        let property = ids[.part]!["number"]!
        if let old, numbers.chance(0.6) {
            let place = Place(kind: .part, key: old)
            try view.set(object(place), property, .int(number))
            content.things[place]!.number = number
            return wrote(place, "number")
        }
        if let old { content.things[Place(kind: .part, key: old)] = nil }
        wrote(item, "part")
        if old != nil, numbers.chance(0.4) {
            try view.set(object(item), part, .null)
            content.things[item]!.part = nil
            return
        }
        var result: Result<ObjectID, StoreError>!
        withUnsafePointer(to: property) { property in
            withUnsafePointer(to: Value.int(number)) { value in
                result = Result { () throws(StoreError) in
                    try view.createEmbedded(
                        in: object(item), part, at: .null, UnsafeBufferPointer(start: property, count: 1), value)
                }
            }
        }
        let key = try result.get().key
        content.things[item]!.part = key
        var thing = WatchedContent.Thing()
        thing.number = number
        content.things[Place(kind: .part, key: key)] = thing
    }

    // MARK: Collections

    private func collection(_ tag: Place, _ property: String) -> CollectionID {
        CollectionID(owner: object(tag), propertyID: ids[.tag]![property]!)
    }

    private func insert(_ item: Key, into tag: Place, at index: Int) throws(StoreError) {
        var result: Result<Void, StoreError>!
        withUnsafePointer(to: Value.link(object(Place(kind: .item, key: item)))) { value in
            result = Result { () throws(StoreError) in
                try view.insert(collection(tag, "items"), at: index, UnsafeBufferPointer(start: value, count: 1))
            }
        }
        try result.get()
        content.things[tag]!.items.insert(item, at: index)
        wrote(tag, "items")
    }

    private func changeList(_ tag: Place) throws(StoreError) {
        let list = collection(tag, "items"), count = content.things[tag]!.items.count
        switch numbers.below(count == 0 ? 3 : 7) {
        case 0...2:
            guard let item = some(.item) else { return }
            try insert(item.key, into: tag, at: numbers.below(count + 1))
        case 3...4:
            let place = numbers.below(count)
            try view.remove(list, at: place, count: 1)
            content.things[tag]!.items.remove(at: place)
            wrote(tag, "items")
        case 5:
            let from = numbers.below(count), to = numbers.below(count)
            if from == to { return }
            try view.move(list, from: from, to: to)
            content.things[tag]!.items.insert(content.things[tag]!.items.remove(at: from), at: to)
            wrote(tag, "items")
        default:
            if numbers.chance(0.7) { return }
            try view.removeAllElements(list)
            content.things[tag]!.items = []
            wrote(tag, "items")
        }
    }

    private func changeSet(_ tag: Place) throws(StoreError) {
        guard content.schema.has("crew"), let item = some(.item) else { return }
        let set = collection(tag, "crew"), value = Value.link(object(item))
        let isChanged: Bool
        if numbers.chance(0.6) {
            isChanged = try view.insert(set, member: value)
            content.things[tag]!.crew.insert(item.key)
        } else {
            isChanged = try view.remove(set, member: value)
            content.things[tag]!.crew.remove(item.key)
        }
        if isChanged { wrote(tag, "crew") }
    }

    private func changeMap(_ tag: Place) throws(StoreError) {
        let map = collection(tag, "named"), name = "k\(numbers.below(6))"
        var isChanged = true
        if numbers.chance(0.65) {
            guard let item = some(.item) else { return }
            try with(name) { (key) throws(StoreError) in _ = try view.set(map, key: key, .link(object(item))) }
            content.things[tag]!.named[name] = item.key
        } else {
            try with(name) { (key) throws(StoreError) in isChanged = try view.remove(map, key: key) }
            content.things[tag]!.named[name] = nil
        }
        if !isChanged { return }
        wrote(tag, "named")
        wrote(tag, "named/" + name)
    }

    /// Plain values.
    private func changeValues(_ tag: Place) throws(StoreError) {
        let number = Int64(numbers.below(9)), name = "k\(numbers.below(6))", list = collection(tag, "scores")
        let count = content.things[tag]!.scores.count, place = numbers.below(max(1, count))
        switch numbers.below(9) {
        case 0...2:
            let place = numbers.below(count + 1)
            var result: Result<Void, StoreError>!
            withUnsafePointer(to: Value.int(number)) { value in
                result = Result { () throws(StoreError) in
                    try view.insert(list, at: place, UnsafeBufferPointer(start: value, count: 1))
                }
            }
            try result.get()
            content.things[tag]!.scores.insert(number, at: place)
            wrote(tag, "scores")
        case 3 where count > 0:
            try view.remove(list, at: place, count: 1)
            content.things[tag]!.scores.remove(at: place)
            wrote(tag, "scores")
        case 4 where count > 0:
            try view.set(list, at: place, .int(number))
            content.things[tag]!.scores[place] = number
            wrote(tag, "scores")
        case 5:
            if try view.insert(collection(tag, "levels"), member: .int(number)) { wrote(tag, "levels") }
            content.things[tag]!.levels.insert(number)
        case 6:
            if try view.remove(collection(tag, "levels"), member: .int(number)) { wrote(tag, "levels") }
            content.things[tag]!.levels.remove(number)
        case 7:
            var isChanged = false
            try with(name) { (key) throws(StoreError) in
                isChanged = try view.remove(collection(tag, "labels"), key: key)
            }
            content.things[tag]!.labels[name] = nil
            if isChanged { wrote(tag, "labels") }
        default:
            try with(name) { (key) throws(StoreError) in
                _ = try view.set(collection(tag, "labels"), key: key, .int(number))
            }
            content.things[tag]!.labels[name] = number
            wrote(tag, "labels")
        }
    }

    // MARK: Mixed values

    private func changeNotes(_ tag: Place) throws(StoreError) {
        guard content.schema.has("notes") else { return }
        let old = content.things[tag]!.notes
        guard let old, numbers.chance(0.75), let path = numbers.one(of: old.containers) else {
            let new: WatchedMixed? = numbers.chance(0.15) ? nil : someMixed(depth: 0)
            let property = ids[.tag]!["notes"]!
            if let new {
                try new.with { (value) throws(StoreError) in try view.set(object(tag), property, value) }
            } else {
                try view.set(object(tag), property, .null)
            }
            content.things[tag]!.notes = new
            return wrote(tag, "notes")
        }
        try changeInside(tag, path, old.at(path)!)
    }

    /// - Parameter container: at the end of the path.
    private func changeInside(
        _ tag: Place, _ path: [WatchedMixed.Step], _ container: WatchedMixed
    ) throws(StoreError) {
        let value = someMixed(depth: path.count + 1)
        if case .list(let list) = container {
            let place = numbers.below(max(1, list.count))
            switch list.isEmpty ? 0 : numbers.below(5) {
            case 0...1:
                let place = numbers.below(list.count + 1)
                try edit(tag, path + [.index(place)], .insert, value)
                changeNotes(tag, path) { $0.insert(value, at: place) }
            case 2...3:
                try edit(tag, path + [.index(place)], .remove, nil)
                changeNotes(tag, path) { $0.remove(at: place) }
            default:
                try edit(tag, path + [.index(place)], .set, value)
                changeNotes(tag, path) { $0[place] = value }
            }
        } else if case .map(let map) = container {
            let key = numbers.one(of: WatchedEditor.mixedKeys)!, isRemoved = map[key] != nil && numbers.chance(0.35)
            try edit(tag, path + [.key(key)], isRemoved ? .remove : .set, isRemoved ? nil : value)
            content.things[tag]!.notes!.change(path) {
                var map = map
                map[key] = isRemoved ? nil : value
                $0 = .map(map)
            }
        }
        wrote(tag, "notes")
    }

    private func changeNotes(
        _ tag: Place, _ path: [WatchedMixed.Step], _ change: (inout [WatchedMixed]) -> Void
    ) {
        content.things[tag]!.notes!.change(path) {
            guard case .list(var list) = $0 else { return }
            change(&list)
            $0 = .list(list)
        }
    }

    private func edit(
        _ tag: Place, _ path: [WatchedMixed.Step], _ action: MixedAction, _ value: WatchedMixed?
    ) throws(StoreError) {
        let steps = WatchedMixed.path(path), property = ids[.tag]!["notes"]!
        guard let value else { return try view.edit(object(tag), property, steps, action, .null) }
        try value.with { (value) throws(StoreError) in try view.edit(object(tag), property, steps, action, value) }
    }

    private static let mixedKeys = ["a", "b", "seen"]

    /// The whole of it is mostly a map.
    private func someMixed(depth: Int) -> WatchedMixed {
        switch numbers.below(10) + [5, 3, 0, 20][min(depth, 3)] {
        case 5...6, 13: return .list((0..<numbers.below(5)).map { _ in someMixed(depth: depth + 1) })
        case 7...12, 14:
            var map: [String: WatchedMixed] = [:]
            for key in WatchedEditor.mixedKeys where numbers.chance(0.6) { map[key] = someMixed(depth: depth + 1) }
            return .map(map)
        case 4: return .text(["x", "", "seen"][numbers.below(3)])
        default: return .int(Int64(numbers.below(8)))
        }
    }

    // MARK: Schema

    /// Inside of a migration: the marks of all items, as the new schema has them.
    func convertMarks() throws(StoreError) {
        for key in content.keys(.item) {
            let place = Place(kind: .item, key: key)
            try withMark(content.things[place]!.mark) { (mark) throws(StoreError) in
                try view.set(object(place), ids[.item]!["mark"]!, mark)
            }
            wrote(place, "mark")
        }
    }

    // MARK: Comparing

    /// What is wrong with the content of the view; nil: nothing. So the plain values can be trusted.
    func difference() throws(StoreError) -> String? {
        for kind in Kind.allCases {
            let found = try view.find(Query(all: classes[kind]!))
            var keys: [Key] = []
            for index in 0..<found.count { keys.append(try found.object(at: UInt64(index)).key) }
            if keys != content.keys(kind) { return "\(kind.name): \(keys), not \(content.keys(kind))" }
            for key in keys {
                let place = Place(kind: kind, key: key), thing = content.things[place]!
                func number(_ name: String) throws(StoreError) -> Int64 {
                    Int64(try view.value(object(place), ids[kind]![name]!, nil).low)
                }
                if try number("number") != thing.number { return "number of \(place)" }
                if kind == .part { continue }
                if try number("id") != thing.id { return "id of \(place)" }
                if kind == .tag {
                    if try number("mark") != thing.mark { return "mark of \(place)" }
                    let weight = try view.value(object(place), ids[kind]!["weight"]!, nil).asDouble
                    if weight != thing.weight { return "weight of \(place)" }
                    let price = try view.value(object(place), ids[kind]!["price"]!, nil).asDecimal
                    if WatchedRows.text(price) != WatchedRows.text(thing.price.decimal) { return "price of \(place)" }
                    for (name, wanted) in [("items", thing.items), ("crew", thing.crew.sorted())]
                    where content.schema.has(name) {
                        var elements: [Key] = []
                        _ = try view.elements(collection(place, name), from: 0, limit: .max, wantsKeys: false, nil) {
                            elements.append($2.low)
                        }
                        if elements != wanted { return "\(name) of \(place): \(elements), not \(wanted)" }
                    }
                    var named: [Key] = []
                    _ = try view.elements(collection(place, "named"), from: 0, limit: .max, wantsKeys: false, nil) {
                        named.append($2.isNull ? WatchedContent.Thing.none : $2.low)
                    }
                    if content.schema.has("notes"),
                        try WatchedMixed.read(view, object(place), ids[kind]!["notes"]!) != thing.notes
                    {
                        return "notes of \(place), which should be \(thing.notes?.description ?? "null")"
                    }
                    for (name, wanted) in [
                        ("scores", thing.scores), ("levels", thing.levels.sorted()),
                        ("labels", thing.labels.keys.sorted().map { thing.labels[$0]! }),
                    ] {
                        var elements: [Int64] = []
                        _ = try view.elements(collection(place, name), from: 0, limit: .max, wantsKeys: false, nil) {
                            elements.append($2.low)
                        }
                        if elements != wanted { return "\(name) of \(place): \(elements), not \(wanted)" }
                    }
                    if named != thing.named.keys.sorted().map({ thing.named[$0]! }) {
                        return "named of \(place): \(named), not \(thing.named)"
                    }
                } else {
                    let tag = try view.value(object(place), ids[kind]!["tag"]!, nil)
                    if (tag.isNull ? nil : tag.low) != thing.tag { return "tag of \(place)" }
                }
            }
        }
        return nil
    }
}
