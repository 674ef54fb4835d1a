import ObjStoreCore
import Testing

/// Conditions, orders and columns about what mixed values link to follow what happens to those objects, of whatever
/// class: a reader's copy is what asking finds.
@Suite struct ObservedMixedLinkTests {
    private final class Reader: @unchecked Sendable {
        let text: String
        var keys: [Int64] = []
        var wrong: String?
        var told = 0, modified = 0
        var observer: Observer?

        init(_ text: String) { self.text = text }

        func take(_ changes: ChangeSet, _ after: [Int64]) {
            guard let indices = changes.indices else { return wrong = "no positions" }
            told += 1
            modified += changes.modified.count
            for place in (indices.deleted + indices.movedBefore).sorted(by: >) { keys.remove(at: Int(place)) }
            for place in (indices.inserted + indices.movedAfter).sorted() {
                guard place <= keys.count, place < after.count else { return wrong = "position \(place)" }
                keys.insert(after[Int(place)], at: Int(place))
            }
            for place in indices.modifiedAfter where place >= keys.count { wrong = "modified \(place)" }
            if keys != after { wrong = "has \(keys), not \(after)" }
        }
    }

    private struct World {
        var notes: [ObjectID] = [], targets: [ObjectID] = [], owners: [ObjectID] = []
    }

    @Test(arguments: 1...2) func answersFollow(seed: Int) throws {
        var configuration = StoreConfiguration(), draft = SchemaDraft()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        for name in ["Note", "Tag", "Item", "Owner"] { try draft.addClass(name) }
        try draft.addProperty("Note", "about", .mixed, .nullable)
        try draft.addProperty("Note", "number", .int, .nullable)
        try draft.addCollection("Note", "things", .list, ElementSchema(kind: .mixed, isNullable: true))
        try draft.addProperty("Tag", "name", .int, .nullable)
        try draft.addProperty("Item", "name", .int, .nullable)
        try draft.addProperty("Item", "weight", .double, .nullable)
        try draft.addLink("Owner", "note", to: "Note", .nullable)
        configuration.schema = draft
        let store = try Store.open(configuration)
        var view = try store.begin(.atMost(5000))
        let classes = try ["Note", "Tag", "Item", "Owner"].map { try view.findClass($0) }
        let about = try view.findProperty(classes[0], "about"), number = try view.findProperty(classes[0], "number")
        let all = try view.findProperty(classes[0], "things"), note = try view.findProperty(classes[3], "note")
        let names = [try view.findProperty(classes[1], "name"), try view.findProperty(classes[2], "name")]
        let weight = try view.findProperty(classes[2], "weight")
        _ = try view.commit()

        let texts: [(cls: Int, text: String)] = [
            (0, "about.name == 3"), (0, "about.name > 2 SORT(number ASC)"), (0, "SORT(about.name DESC, number ASC)"),
            (0, "about.name != 1 SORT(about.weight ASC) LIMIT(4)"), (0, "DISTINCT(about.name)"),
            (0, "ANY things.name == 2"), (0, "NONE things.name > 3 AND number < 50"), (0, "about['to'].name > 0"),
            (0, "things.@count > 0 AND things[0].name < 3"), (3, "note.about.name == 2"),
            (3, "SORT(note.about.name ASC)"), (1, "ANY @links.Note.about.about.name > 0"),
            (1, "ANY @links.Note.about.number > 20"),
            (2, "@links.Note.things.@count > 1 SORT(@links.Note.things.@count DESC)"),
            (0, "SUBQUERY(@links.Owner.note, $o, $o.note.about.name == 1).@count > 0"), (0, "about.name.name == 1"),
        ]
        let asking = try store.openView()
        defer { asking.close() }
        var readers: [Reader] = []
        for (cls, text) in texts {
            let reader = Reader(text), query = try asking.query(classes[cls], parsing: text)
            reader.keys = try Self.keys(asking, query)
            reader.observer = try store.hub.observe(ObserverScope(query)) { changes in
                do {
                    let now = try store.openView()
                    defer { now.close() }
                    reader.take(changes, try Self.keys(now, query))
                } catch { reader.wrong = "\(error)" }
                return nil
            }
            readers.append(reader)
        }

        var random = IndexRandom(UInt64(seed)), world = World()
        func create(_ cls: Int) throws -> ObjectID {
            var none: UInt32 = 0, nothing = Value.null
            return try view.create(classes[cls], UnsafeBufferPointer(start: &none, count: 0), &nothing)
        }
        func mixed() throws -> OwnedValue {
            switch random.below(8) {
            case 0: return OwnedValue(.null)
            case 1: return OwnedValue(.int(Int64(random.below(4))))
            case 2,
                6 where !world.targets.isEmpty:
                let builder = DocumentBuilder()
                let key = Array("to".utf8)
                try builder.begin(.map)
                try key.withUnsafeBytes { try builder.key(UnsafeRawBufferPointer($0)) }
                try builder.append(.link(world.targets[random.below(world.targets.count)]))
                try builder.end()
                return OwnedValue(Value(kind: .document, pointer: builder.node.baseAddress, count: builder.node.count))
            case 3 where !world.notes.isEmpty: return OwnedValue(.link(world.notes[random.below(world.notes.count)]))
            default:
                if world.targets.isEmpty { return OwnedValue(.null) }
                return OwnedValue(.link(world.targets[random.below(world.targets.count)]))
            }
        }
        for step in 0..<300 {
            view = try store.begin(.atMost(5000))
            for _ in 0...random.below(3) {
                switch random.below(14) {
                case 0,
                    1 where world.notes.count < 20:
                    world.notes.append(try create(0))
                case 2,
                    3 where world.targets.count < 10:
                    world.targets.append(try create(1 + random.below(2)))
                case 4 where world.owners.count < 10: world.owners.append(try create(3))
                case 5 where random.below(3) == 0 && !world.targets.isEmpty:
                    try view.delete(world.targets.remove(at: random.below(world.targets.count)))
                case 6 where random.below(4) == 0 && !world.notes.isEmpty:
                    try view.delete(world.notes.remove(at: random.below(world.notes.count)))
                case 7 where !world.owners.isEmpty && !world.notes.isEmpty:
                    try view.set(
                        world.owners[random.below(world.owners.count)], note,
                        .link(world.notes[random.below(world.notes.count)]))
                case 8...10 where !world.notes.isEmpty:
                    let place = world.notes[random.below(world.notes.count)], value = try mixed()
                    switch random.below(3) {
                    case 0: try view.set(place, number, .int(Int64(random.below(99))))
                    case 1: try view.set(place, about, value.value)
                    default:
                        try withUnsafePointer(to: value.value) {
                            try view.insert(
                                CollectionID(owner: place, propertyID: all), at: 0,
                                UnsafeBufferPointer(start: $0, count: 1))
                        }
                    }
                    withExtendedLifetime(value) {}
                default:
                    if world.targets.isEmpty { continue }
                    let target = world.targets[random.below(world.targets.count)]
                    if target.classID == classes[2], random.below(3) == 0 {
                        try view.set(target, weight, .double(Double(random.below(5))))
                    } else {
                        try view.set(target, names[target.classID == classes[1] ? 0 : 1], .int(Int64(random.below(5))))
                    }
                }
            }
            _ = try view.commit()
            _ = try store.hub.deliver()
            let now = try store.openView()
            defer { now.close() }
            for (reader, (cls, text)) in zip(readers, texts) {
                if reader.wrong == nil {
                    let wanted = try Self.keys(now, try now.query(classes[cls], parsing: text))
                    if reader.keys != wanted { reader.wrong = "missed: has \(reader.keys), not \(wanted)" }
                }
                if let wrong = reader.wrong {
                    Issue.record("step \(step), \(text): \(wrong)")
                    return
                }
            }
        }
        for reader in readers {
            // Names of names are nothing here.
            #expect(
                reader.told > 0 || reader.text.contains("name.name") || reader.text.contains("SUBQUERY"),
                "\(reader.text): \(reader.told)")
            reader.observer?.close()
        }
        try store.close()
    }

    private static func keys(_ view: View, _ query: Query) throws -> [Int64] {
        let list = try view.find(query).list()
        return (0..<list.count).map { list.keys[$0] }
    }
}
