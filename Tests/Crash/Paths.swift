import ObjStoreCore
import ObjStoreSimulation

/// Random histories of observers with key paths, against what each commit has written, followed along the links of a
/// model: which objects each of them is told of, and of which properties, is exactly what its paths say.
private final class PathHistory {
    private typealias Key = Int64

    private struct Thing {
        var number: Int64 = 0, mark: Int64 = 0
        var link: Key?
        var list: [Key] = []
        /// What is embedded in it; nil: nothing.
        var size: Int64?
    }
    private struct Place: Hashable {
        let cls: Int
        let key: Key
    }
    private struct Write: Hashable {
        let place: Place
        let property: String
    }
    private typealias Model = [Place: Thing]

    /// Class 0: items, which link to tags and have a part inside; class 1: tags, which have a list of items, and link
    /// to tags.
    private static let properties = [["number", "mark", "link", "part"], ["number", "mark", "link", "list"]]
    private static let inside = "part.number"

    /// An observer and what it must be told.
    private final class Reader {
        let cls: Int
        let least: Int64
        /// What its objects must have, as an index of waiting observers knows it; nil: anything.
        let marks: [Int64]?
        /// Nil: nothing is said.
        let paths: [String]?
        let isOneObject: Bool
        let isSorted: Bool
        var name: String {
            "\(properties[cls].last!) \(least) \(marks ?? []) \(paths ?? ["usual"])\(isOneObject ? " of one" : "")"
        }
        var observer: Observer?
        var key: Key?
        /// Since it was told of the last.
        var writes: Set<Write> = []
        var known: Model = [:]
        var isUpToDate = true
        var isTold = false
        var refuses = false
        var isPaused = false

        init(
            _ cls: Int, _ paths: [String]?, least: Int64 = .min, marks: [Int64]? = nil, isOneObject: Bool = false,
            isSorted: Bool = false
        ) {
            (self.cls, self.paths, self.least, self.marks) = (cls, paths, least, marks)
            (self.isOneObject, self.isSorted) = (isOneObject, isSorted)
        }

        func finds(_ place: Place, _ model: Model) -> Bool {
            guard place.cls == cls, let thing = model[place] else { return false }
            if let marks, !marks.contains(thing.mark) { return false }
            return isOneObject ? place.key == key : thing.number >= least
        }
    }

    private let store: Store
    private var classes: [UInt32] = [], ids: [[String: UInt32]] = []
    private var partClass: UInt32 = 0, partNumber: UInt32 = 0
    private var random: RandomNumbers
    private var model: Model = [:]
    private var objects: [Place: ObjectID] = [:]
    /// Since the last delivery: objects that were embedded.
    private var parts: [Place: ObjectID] = [:]
    private var violation: String?
    /// Who stays behind farther than some versions begins anew.
    private let mayLose: Bool
    private(set) var told = 0

    private let readers = [
        Reader(0, nil), Reader(1, nil), Reader(0, ["number"]), Reader(0, ["link"]), Reader(0, ["link.number"]),
        Reader(0, ["link.list.mark", "number"]), Reader(0, ["*"]), Reader(0, ["link.*"]), Reader(0, ["part"]),
        Reader(0, ["part.number"]), Reader(1, ["list"]), Reader(1, ["list.mark"], least: 40),
        Reader(1, ["link.link.link.link.link.mark"]), Reader(1, ["list.part.number", "mark"]),
        Reader(1, ["@links.Item.link.mark"]), Reader(0, ["link.link.@links.Item.link.number"], least: 20),
        Reader(0, ["link.number"], least: 30, isSorted: true), Reader(1, nil, least: 30, isSorted: true),
        Reader(0, nil, marks: [2]), Reader(1, nil, marks: [1, 3], isSorted: true),
        Reader(0, ["number"], least: 20, marks: [0]), Reader(1, ["list.mark"], marks: [4]),
        // Who ask the same have one answer in common.
        Reader(0, nil, marks: [2]), Reader(1, nil, least: 30, isSorted: true),
        Reader(0, ["link.number"], least: 30, isSorted: true), Reader(1, nil, least: 30, isSorted: true),
        Reader(0, nil, isOneObject: true), Reader(1, ["list.mark", "number"], isOneObject: true),
        Reader(0, ["part.number", "link.mark"], isOneObject: true),
    ]

    init(seed: UInt64) throws(StoreError) {
        random = RandomNumbers(seed: seed)
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        if seed % 3 == 0 { try configuration.set(.observerLag, 6) }
        mayLose = seed % 3 == 0
        var draft = SchemaDraft()
        for name in ["Item", "Tag", "Part"] {
            try draft.addClass(name)
            try draft.addProperty(name, "number", .int, [])
            if name != "Part" { try draft.addProperty(name, "mark", .int, []) }
        }
        try draft.setEmbedded("Part", true)
        try draft.addLink("Item", "link", to: "Tag", .nullable)
        try draft.addLink("Item", "part", to: "Part", .nullable)
        try draft.addLink("Tag", "link", to: "Tag", .nullable)
        try draft.addCollection("Tag", "list", .list, ElementSchema(kind: .link), target: "Item")
        configuration.schema = draft
        store = try Store.open(configuration)
        let view = try store.openView()
        defer { view.close() }
        for (number, name) in ["Item", "Tag"].enumerated() {
            classes.append(try view.findClass(name))
            var found: [String: UInt32] = [:]
            for property in PathHistory.properties[number] {
                found[property] = try view.findProperty(classes[number], property)
            }
            ids.append(found)
        }
        partClass = try view.findClass("Part")
        partNumber = try view.findProperty(partClass, "number")
    }

    func run(steps: Int) throws(StoreError) -> String? {
        for _ in 0..<8 { try write(silencing: []) }
        for reader in readers { try observe(reader) }
        for _ in 0..<steps where violation == nil {
            try write(silencing: readers.filter { $0.isUpToDate && $0.observer != nil && random.chance(0.1) })
            if random.chance(0.6) { try deliver() }
        }
        try deliver()
        try store.close()
        return violation
    }

    private func observe(_ reader: Reader) throws(StoreError) {
        let handler: Observer.Handler = { [unowned self, unowned reader] changes in
            take(changes, reader)
            return nil
        }
        let options = ObserverOptions(keyPaths: reader.paths)
        reader.known = model
        if reader.isOneObject {
            guard let place = model.keys.filter({ $0.cls == reader.cls }).min(by: { $0.key < $1.key }) else { return }
            reader.key = place.key
            reader.observer = try store.observe(objects[place]!, options, handler: handler)
        } else {
            let view = try store.openView()
            defer { view.close() }
            var conditions = reader.least == .min ? [] : ["number >= \(reader.least)"]
            if let marks = reader.marks {
                conditions.append("mark IN {\(marks.map(String.init).joined(separator: ", "))}")
            }
            let text =
                (conditions.isEmpty ? "TRUEPREDICATE" : conditions.joined(separator: " AND "))
                + (reader.isSorted ? " SORT(mark ASC)" : "")
            let query = try view.query(classes[reader.cls], parsing: text)
            reader.observer = try store.observe(query, options, handler: handler)
        }
    }

    private func fail(_ what: String) { if violation == nil { violation = what } }

    // MARK: Writing

    private func write(silencing silenced: [Reader]) throws(StoreError) {
        var writes: Set<Write> = []
        let view = try store.begin(.atMost(5000))
        try view.withoutNotifying(silenced.compactMap(\.observer))
        for _ in 0...random.below(4) { try change(view, &writes) }
        _ = try view.commit()
        for reader in readers where reader.observer != nil {
            if silenced.contains(where: { $0 === reader }) {
                reader.known = model
            } else {
                reader.writes.formUnion(writes)
                reader.isUpToDate = false
            }
        }
    }

    private func some(_ cls: Int) -> Place? {
        let all = model.keys.filter { $0.cls == cls }.map(\.key).sorted()
        return all.isEmpty ? nil : Place(cls: cls, key: all[random.below(all.count)])
    }

    private func change(_ view: View, _ writes: inout Set<Write>) throws(StoreError) {
        let cls = random.below(2), place = some(cls), tag = some(1)
        func set(_ place: Place, _ property: String, _ value: Value) throws(StoreError) {
            try view.set(objects[place]!, ids[place.cls][property]!, value)
            writes.insert(Write(place: place, property: property))
        }
        switch random.below(20) {
        case 0...3:
            let values = [Int64(random.below(100)), Int64(random.below(5))]
            let id = try view.create(
                classes[cls], [ids[cls]["number"]!, ids[cls]["mark"]!], values.map { .int($0) })
            let new = Place(cls: cls, key: id.key)
            (model[new], objects[new]) = (Thing(number: values[0], mark: values[1]), id)
        case _ where place == nil: break
        case 4:
            guard random.chance(0.4), let place else { break }
            try view.delete(objects[place]!)
            model[place] = nil
            for (other, thing) in model {
                if place.cls == 1, thing.link == place.key {
                    model[other]!.link = nil
                    writes.insert(Write(place: other, property: "link"))
                }
                if place.cls == 0, thing.list.contains(place.key) {
                    model[other]!.list.removeAll { $0 == place.key }
                    writes.insert(Write(place: other, property: "list"))
                }
            }
        case 5...7:
            let value = Int64(random.below(100))
            try set(place!, "number", .int(value))
            model[place!]!.number = value
        case 8...9:
            let value = Int64(random.below(5))
            try set(place!, "mark", .int(value))
            model[place!]!.mark = value
        case 10...13:
            let target = random.chance(0.8) ? tag : nil
            try set(place!, "link", target.map { .link(objects[$0]!) } ?? .null)
            model[place!]!.link = target?.key
        case 14...16:
            guard let tag, let item = some(0) else { break }
            let list = CollectionID(owner: objects[tag]!, propertyID: ids[1]["list"]!)
            let count = model[tag]!.list.count
            if count > 0 && random.chance(0.5) {
                let at = random.below(count)
                try view.remove(list, at: at, count: 1)
                model[tag]!.list.remove(at: at)
            } else {
                var result: Result<Void, StoreError>!
                withUnsafePointer(to: Value.link(objects[item]!)) { value in
                    result = Result { () throws(StoreError) in
                        try view.insert(list, at: count, UnsafeBufferPointer(start: value, count: 1))
                    }
                }
                try result.get()
                model[tag]!.list.append(item.key)
            }
            writes.insert(Write(place: tag, property: "list"))
        default: try changePart(view, &writes)
        }
    }

    /// What is embedded in an item: put there anew, taken away, or changed inside.
    private func changePart(_ view: View, _ writes: inout Set<Write>) throws(StoreError) {
        guard let item = some(0) else { return }
        let size = Int64(random.below(9))
        if model[item]!.size != nil, let part = parts[item], random.chance(0.6) {
            try view.set(part, partNumber, .int(size))
            writes.insert(Write(place: item, property: PathHistory.inside))
            model[item]!.size = size
        } else if model[item]!.size != nil, random.chance(0.4) {
            try view.set(objects[item]!, ids[0]["part"]!, .null)
            writes.insert(Write(place: item, property: "part"))
            model[item]!.size = nil
        } else {
            var result: Result<ObjectID, StoreError>!
            withUnsafePointer(to: partNumber) { property in
                withUnsafePointer(to: Value.int(size)) { value in
                    result = Result { () throws(StoreError) in
                        try view.createEmbedded(
                            in: objects[item]!, ids[0]["part"]!, at: .null,
                            UnsafeBufferPointer(start: property, count: 1), value)
                    }
                }
            }
            parts[item] = try result.get()
            writes.insert(Write(place: item, property: "part"))
            model[item]!.size = size
        }
    }

    // MARK: What is to be told

    /// Whether something of an object was written that existed when the reader was told of the last.
    private func isWritten(_ place: Place, _ property: String?, _ reader: Reader) -> Bool {
        guard reader.known[place] != nil, model[place] != nil else { return false }
        return reader.writes.contains { write in
            write.place == place && (property == nil || write.property == property)
        }
    }

    /// With a change inside of what is embedded.
    private func isWrittenAsWhole(_ place: Place, _ property: String, _ reader: Reader) -> Bool {
        isWritten(place, property, reader) || property == "part" && isWritten(place, PathHistory.inside, reader)
    }

    private func targets(_ place: Place, _ property: String, _ model: Model) -> [Place] {
        guard let thing = model[place] else { return [] }
        return property == "link"
            ? thing.link.map { [Place(cls: 1, key: $0)] } ?? [] : thing.list.map { Place(cls: 0, key: $0) }
    }

    private func isTold(_ path: ArraySlice<String>, _ place: Place, _ reader: Reader) -> Bool {
        let first = path.first!, rest = path.dropFirst()
        if first == "*" { return isWritten(place, nil, reader) }
        if first == "@links" {
            // Items that lead here, or did, or whose way has changed.
            let further = rest.dropFirst(2)
            for item in Set(model.keys).union(reader.known.keys) where item.cls == 0 {
                let led = reader.known[item]?.link == place.key, leads = model[item]?.link == place.key
                if (model[item] == nil || reader.known[item] == nil) && (led || leads) { return true }
                if isWritten(item, "link", reader) && (led || leads) { return true }
                if leads && isTold(further, item, reader) { return true }
            }
            return false
        }
        if rest.isEmpty { return isWrittenAsWhole(place, first, reader) }
        if isWritten(place, first, reader) { return true }
        if first == "part" { return isWritten(place, PathHistory.inside, reader) }
        return targets(place, first, model).contains { isTold(rest, $0, reader) }
    }

    /// Something was written in it, or so many links behind it.
    private func isTouched(_ place: Place, _ links: Int, _ reader: Reader) -> Bool {
        if isWritten(place, nil, reader) { return true }
        if links == 0 { return false }
        let property = place.cls == 0 ? ["link"] : ["link", "list"]
        return property.contains { targets(place, $0, model).contains { isTouched($0, links - 1, reader) } }
    }

    /// The properties that an object counts as modified in; nil: not at all.
    private func expected(_ place: Place, _ reader: Reader) -> Set<String>? {
        var names: Set<String> = [], isIncluded = false
        for property in PathHistory.properties[place.cls] where isWrittenAsWhole(place, property, reader) {
            names.insert(property)
        }
        if let paths = reader.paths {
            for path in paths.map({ $0.split(separator: ".").map(String.init) }) {
                guard isTold(path[...], place, reader) else { continue }
                isIncluded = true
                if path.count > 1, ["link", "list"].contains(path[0]) { names.insert(path[0]) }
            }
            return isIncluded ? names : nil
        }
        if !reader.isOneObject {
            for property in place.cls == 0 ? ["link"] : ["link", "list"]
            where targets(place, property, model).contains(where: { isTouched($0, 3, reader) }) {
                names.insert(property)
            }
        }
        return names.isEmpty ? nil : names
    }

    // MARK: Reading

    private func take(_ changes: ChangeSet, _ reader: Reader) {
        if reader.refuses {
            reader.refuses = false
            changes.isUntold = true
            return
        }
        told += 1
        if reader.isTold { fail("told: \(reader.name) twice") }
        reader.isTold = true
        if changes.isLost {
            if !mayLose || !changes.changes.isEmpty { fail("told: \(reader.name) is lost") }
            return
        }
        compare(changes, reader)
    }

    private func compare(_ changes: ChangeSet?, _ reader: Reader) {
        var modified: [Key: Set<String>] = [:], deleted: Set<Key> = [], inserted: Set<Key> = []
        for place in Set(model.keys).union(reader.known.keys) {
            switch (reader.finds(place, reader.known), reader.finds(place, model)) {
            case (true, false): deleted.insert(place.key)
            case (false, true): inserted.insert(place.key)
            case (false, false): break
            case (true, true): if let names = expected(place, reader) { modified[place.key] = names }
            }
        }
        guard let changes else {
            if modified.count + deleted.count + inserted.count > 0 {
                fail("paths: \(reader.name) is told nothing of \(modified), \(deleted) deleted, \(inserted) inserted")
            }
            return
        }
        if Set(changes.deleted) != deleted || Set(changes.inserted) != inserted {
            let told = "\(changes.deleted) and \(changes.inserted)"
            fail("content: \(reader.name): \(told) are told, not \(deleted), \(inserted)")
        }
        var found: [Key: Set<String>] = [:]
        for (index, key) in (changes.modified + changes.moved).enumerated() {
            let names = PathHistory.properties[reader.cls].filter { name in
                changes.hasChanged(
                    changes.schema.properties.firstIndex { $0.name == name }!, ofModification: index)
            }
            found[key] = Set(names)
        }
        // What has moved is told, whatever was written: one of those that were changed.
        for key in changes.moved where modified[key] == nil {
            if found[key]!.isEmpty { fail("paths: \(reader.name): \(key) has moved by nothing") }
            found[key] = nil
        }
        if found != modified { fail("paths: \(reader.name): \(found) is told, not \(modified)") }
    }

    private func deliver() throws(StoreError) {
        for reader in readers where reader.observer != nil {
            (reader.refuses, reader.isTold) = (random.chance(0.1), false)
            if random.chance(0.15) {
                reader.isPaused.toggle()
                if reader.isPaused { reader.observer!.pause() } else { reader.observer!.resume() }
            }
        }
        while try store.hub.deliver() > 0, violation == nil {}
        for reader in readers where reader.observer != nil && violation == nil {
            if reader.isPaused {
                if reader.isTold { fail("told: \(reader.name), which is paused") }
                continue
            }
            if !reader.isTold { compare(nil, reader) }
            reader.writes = []
            reader.isUpToDate = true
            reader.known = model
        }
    }
}

/// What is wrong with the first of so many histories of observers with key paths; nil: nothing.
func pathViolation(seeds: Range<UInt64>, told: inout Int) -> String? {
    for seed in seeds {
        do throws(StoreError) {
            let history = try PathHistory(seed: seed)
            if let violation = try history.run(steps: 60) { return "\(violation), seed \(seed)" }
            told += history.told
        } catch {
            return "unexpected error: \(error), seed \(seed)"
        }
    }
    return nil
}

func runPaths(_ arguments: Arguments) -> Int32 {
    var told = 0
    let (count, violation) = arguments.run(usual: 300) { pathViolation(seeds: $0..<$0 + 1, told: &told) }
    if let violation {
        print("violation: \(violation)")
        return 1
    }
    print("\(count) histories of observed paths from seed \(arguments.seed), \(told) change sets: 0 violations")
    return 0
}
