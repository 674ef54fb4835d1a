import Testing

import ObjStoreCore

/// Embedded objects, cascading links and generated values, against a model of nested values: whole content and all
/// parents compared.
@Suite struct OwnershipTests {
    /// Home has embedded rooms in every kind of place, rooms have rooms; homes own other homes by links that cascade.
    static func draft() throws -> SchemaDraft {
        var draft = SchemaDraft()
        for cls in ["Room", "Home"] { try draft.addClass(cls) }
        try draft.setEmbedded("Room", true)
        try draft.addProperty("Room", "n", .int, [.indexed])
        try draft.addLink("Room", "closet", to: "Room")
        try draft.addCollection("Room", "niches", .list, ElementSchema(kind: .link), target: "Room")
        try draft.addProperty("Home", "id", .int, [.primaryKey, .generated])
        try draft.addLink("Home", "hall", to: "Room")
        try draft.addCollection("Home", "rooms", .list, ElementSchema(kind: .link), target: "Room")
        try draft.addCollection("Home", "named", .map, ElementSchema(kind: .link, keyKind: .int), target: "Room")
        try draft.addLink("Home", "annex", to: "Home", [.cascade])
        try draft.addCollection("Home", "sheds", .list, ElementSchema(kind: .link), target: "Home", .cascade)
        try draft.addCollection("Home", "views", .set, ElementSchema(kind: .link), target: "Home")
        return draft
    }

    /// A room and what lies in it.
    private final class Room {
        let key: Int64
        var n: Int64
        var closet: Room?
        var niches: [Room] = []
        init(_ key: Int64, _ n: Int64) { (self.key, self.n) = (key, n) }
        func copy() -> Room {
            let copy = Room(key, n)
            copy.closet = closet?.copy()
            copy.niches = niches.map { $0.copy() }
            return copy
        }
        var all: [Room] { [self] + (closet?.all ?? []) + niches.flatMap(\.all) }
        /// With all that lies in it.
        var text: String { "(\(key) \(n) \(closet?.text ?? "") [\(niches.map(\.text).joined())])" }
    }

    private struct Home {
        var hall: Room?
        var rooms: [Room] = []
        var named: [Int64: Room] = [:]
        var annex: Int64?
        var sheds: [Int64] = []
        var views: Set<Int64> = []
        var all: [Room] { (hall?.all ?? []) + rooms.flatMap(\.all) + named.values.flatMap(\.all) }
        var keys: [Int64] { all.map(\.key) }
    }

    private typealias Model = [Int64: Home]

    private static func copy(_ model: Model) -> Model {
        model.mapValues { home in
            var home = home
            home.hall = home.hall?.copy()
            home.rooms = home.rooms.map { $0.copy() }
            home.named = home.named.mapValues { $0.copy() }
            return home
        }
    }

    private final class Fixture {
        let folder = TestFolder()
        var store: Store
        var tx: View
        let room: UInt32, home: UInt32
        var p: [String: UInt32] = [:]
        var model: Model = [:], committed: Model = [:]
        var scopes: [(id: UInt64, model: Model)] = []
        var random: IndexRandom
        var counter: Int64 = 0
        var cascaded = 0, most = 0
        /// What an observer knows, and the model of that version.
        var told: (version: Snapshot, model: Model)?
        /// Homes that changed in a room only, and comparisons of the versions.
        var changedInside = 0, tellings = 0

        init(seed: UInt64) throws {
            random = IndexRandom(seed)
            store = try Fixture.open(folder)
            tx = try store.begin()
            room = try tx.findClass("Room")
            home = try tx.findClass("Home")
            for name in ["n", "closet", "niches"] { p[name] = try tx.findProperty(room, name) }
            for name in ["id", "hall", "rooms", "named", "annex", "sheds", "views"] {
                p[name] = try tx.findProperty(home, name)
            }
        }

        static func open(_ folder: TestFolder) throws -> Store {
            var configuration = StoreConfiguration()
            configuration.place = .file(folder["db"])
            configuration.schema = try OwnershipTests.draft()
            configuration.durability = StoreOptions.Durability.none
            return try Store.open(configuration)
        }

        func below(_ bound: Int) -> Int { random.below(bound) }
        func room(_ key: Int64) -> ObjectID { ObjectID(classID: room, storeTag: tx.shared.tag, key: key) }
        func home(_ key: Int64) -> ObjectID { ObjectID(classID: home, storeTag: tx.shared.tag, key: key) }
        func place(_ owner: ObjectID, _ name: String) -> CollectionID {
            CollectionID(owner: owner, propertyID: p[name]!)
        }
        func anyHome() -> Int64? { model.isEmpty ? nil : model.keys.sorted()[below(model.count)] }

        func make(_ parent: ObjectID, _ name: String, _ at: Value) throws -> Room {
            counter += 1
            let number = counter
            let made = try [p["n"]!].withUnsafeBufferPointer { given in
                try [Value.int(number)].withUnsafeBufferPointer {
                    try tx.createEmbedded(in: parent, p[name]!, at: at, given, $0.baseAddress!)
                }
            }
            return Room(made.key, number)
        }

        func createHome() throws {
            let none = UnsafeBufferPointer<UInt32>(start: nil, count: 0)
            let made: ObjectID
            if below(4) == 0 {
                // A key that was given: generated ones continue above it.
                let id = (try greatest()) + Int64(below(5)) + 1
                made = try [p["id"]!].withUnsafeBufferPointer { given in
                    try [Value.int(id)].withUnsafeBufferPointer { try tx.create(home, given, $0.baseAddress!) }
                }
            } else {
                let before = try greatest()
                made = try withUnsafePointer(to: Value.null) {
                    below(2) == 0 ? try tx.create(home, none, $0) : try tx.upsert(home, .all, none, $0).0
                }
                let id = try tx.value(made, p["id"]!, nil).low
                #expect(id > before)
            }
            model[made.key] = Home()
        }

        func greatest() throws -> Int64 {
            var greatest: Int64 = 0
            for key in model.keys { greatest = max(greatest, try tx.value(home(key), p["id"]!, nil).low) }
            return greatest
        }

        /// A new room somewhere in a home.
        func furnish() throws {
            guard let key = anyHome() else { return }
            var own = model[key]!
            let owner = home(key)
            switch below(5) {
            case 0: own.hall = try make(owner, "hall", .null)
            case 1:
                let at = below(own.rooms.count + 1)
                own.rooms.insert(
                    try make(owner, "rooms", at == own.rooms.count && below(2) == 0 ? .null : .int(Int64(at))), at: at)
            case 2:
                let at = Int64(below(6))
                own.named[at] = try make(owner, "named", .int(at))
            default:
                let all = own.all
                if all.isEmpty { return }
                let inner = all[below(all.count)]
                if below(2) == 0 {
                    inner.closet = try make(room(inner.key), "closet", .null)
                } else {
                    inner.niches.append(try make(room(inner.key), "niches", .null))
                }
            }
            model[key] = own
        }

        /// A room loses its place, or is deleted itself.
        func clear() throws {
            guard let key = anyHome() else { return }
            var own = model[key]!
            let owner = home(key)
            switch below(8) {
            case 0:
                if below(2) == 0 {
                    try tx.set(owner, p["hall"]!, .null)
                } else {
                    try [p["hall"]!, p["annex"]!].withUnsafeBufferPointer { given in
                        try [Value.null, .null].withUnsafeBufferPointer { try tx.set(owner, given, $0.baseAddress!) }
                    }
                    own.annex = nil
                }
                own.hall = nil
            case 1 where !own.rooms.isEmpty:
                let at = below(own.rooms.count), count = below(min(3, own.rooms.count - at) + 1)
                try tx.remove(place(owner, "rooms"), at: at, count: count)
                own.rooms.removeSubrange(at..<at + count)
            case 2 where own.rooms.count > 1:
                let from = below(own.rooms.count), to = below(own.rooms.count)
                try tx.move(place(owner, "rooms"), from: from, to: to)
                own.rooms.insert(own.rooms.remove(at: from), at: to)
            case 3:
                let at = Int64(below(6))
                #expect(try tx.remove(place(owner, "named"), key: .int(at)) == (own.named[at] != nil))
                own.named[at] = nil
            case 4 where below(3) == 0:
                try tx.removeAllElements(place(owner, "rooms"))
                own.rooms = []
            case 5:
                // The map keeps the key, with null: the model leaves it out again.
                guard let at = own.named.keys.min() else { return }
                _ = try tx.set(place(owner, "named"), key: .int(at), .null)
                #expect(try tx.value(place(owner, "named"), ofKey: .int(at), nil)?.isNull == true)
                _ = try tx.remove(place(owner, "named"), key: .int(at))
                own.named[at] = nil
            default:
                let all = own.all
                if all.isEmpty { return }
                let gone = all[below(all.count)]
                try tx.delete(room(gone.key))
                if own.hall === gone { own.hall = nil }
                own.rooms.removeAll { $0 === gone }
                if let at = own.named.first(where: { $0.value === gone })?.key {
                    own.named[at] = nil
                    _ = try tx.remove(place(owner, "named"), key: .int(at))
                }
                for other in all {
                    if other.closet === gone { other.closet = nil }
                    other.niches.removeAll { $0 === gone }
                }
            }
            model[key] = own
        }

        func relate() throws {
            guard let key = anyHome(), let other = anyHome() else { return }
            switch below(3) {
            case 0:
                try tx.set(home(key), p["annex"]!, .link(home(other)))
                model[key]!.annex = other
            case 1:
                try [Value.link(home(other))].withUnsafeBufferPointer {
                    try tx.insert(place(home(key), "sheds"), at: nil, $0)
                }
                model[key]!.sheds.append(other)
            default:
                _ = try tx.insert(place(home(key), "views"), member: .link(home(other)))
                model[key]!.views.insert(other)
            }
        }

        /// Something inside of a room changes, and nothing else.
        func number() throws {
            guard let key = anyHome(), let one = model[key]!.all.randomElement(using: &random) else { return }
            counter += 1
            one.n = counter
            try tx.set(room(one.key), p["n"]!, .int(counter))
        }

        func deleteHome() throws {
            guard let key = anyHome() else { return }
            var gone: Set<Int64> = [], next = [key]
            while let one = next.popLast() {
                if !gone.insert(one).inserted { continue }
                next += model[one]!.sheds + [model[one]!.annex].compactMap { $0 }
            }
            cascaded += gone.count - 1
            try tx.delete(home(key))
            forget(gone)
        }

        func forget(_ gone: Set<Int64>) {
            for key in gone { model[key] = nil }
            for key in model.keys {
                if let annex = model[key]!.annex, gone.contains(annex) { model[key]!.annex = nil }
                model[key]!.sheds.removeAll { gone.contains($0) }
                model[key]!.views.subtract(gone)
            }
        }

        func refuse() throws {
            guard let key = anyHome(), let one = model[key]!.all.first else { return }
            let owner = home(key), link = Value.link(room(one.key))
            func code(_ body: () throws -> Void) -> StatusCode? {
                do { try body() } catch { return (error as? StoreError)?.code }
                return nil
            }
            // What is there already may be given.
            #expect(
                code { try tx.set(owner, p["hall"]!, link) } == (model[key]!.hall?.key == one.key ? nil : .embedded))
            #expect(
                code { try [link].withUnsafeBufferPointer { try tx.insert(place(owner, "rooms"), at: nil, $0) } }
                    == .embedded)
            #expect(
                code { _ = try tx.set(place(owner, "named"), key: .int(1), link) }
                    == (model[key]!.named[1]?.key == one.key ? nil : .embedded))
            #expect(
                code {
                    try [p["hall"]!].withUnsafeBufferPointer { given in
                        try [link].withUnsafeBufferPointer { _ = try tx.create(home, given, $0.baseAddress!) }
                    }
                } == .embedded)
            #expect(
                code {
                    try [p["n"]!].withUnsafeBufferPointer { given in
                        try [Value.int(1)].withUnsafeBufferPointer { _ = try tx.create(room, given, $0.baseAddress!) }
                    }
                } == .embedded)
            #expect(code { _ = try make(owner, "rooms", .int(Int64(model[key]!.rooms.count + 1))) } == .outOfRange)
            #expect(code { _ = try make(owner, "rooms", .bool(true)) } == .wrongType)
            #expect(code { _ = try make(owner, "hall", .int(0)) } == .wrongType)
            #expect(code { _ = try make(owner, "annex", .null) } == .wrongType)
            #expect(code { _ = try tx.parent(of: owner) } == .wrongType)
        }

        // MARK: Comparing

        func compare() throws {
            let all = model.values.flatMap(\.all)
            most = max(most, all.count)
            #expect(try tx.count(home) == model.count)
            #expect(try tx.count(room) == all.count)
            for (key, own) in model {
                let owner = home(key)
                try compare(try tx.value(owner, p["hall"]!, nil), own.hall, in: owner, "hall")
                try compare(try links(owner, "rooms"), own.rooms, in: owner, "rooms")
                let named = own.named.sorted { $0.key < $1.key }
                try compare(try links(owner, "named"), named.map(\.value), in: owner, "named")
                let annex = try tx.value(owner, p["annex"]!, nil)
                #expect((annex.isNull ? nil : annex.low) == own.annex)
                #expect(try links(owner, "sheds") == own.sheds)
                #expect(try links(owner, "views") == own.views.sorted())
            }
        }

        private func links(_ owner: ObjectID, _ name: String) throws -> [Int64] {
            var all: [Int64] = []
            _ = try tx.elements(place(owner, name), from: 0, limit: .max, wantsKeys: false, nil) { _, _, value in
                all.append(value.low)
            }
            return all
        }

        private func compare(_ value: Value, _ wanted: Room?, in parent: ObjectID, _ name: String) throws {
            #expect((value.isNull ? nil : value.low) == wanted?.key)
            if let wanted { try compare(wanted, in: parent, name) }
        }

        private func compare(_ keys: [Int64], _ wanted: [Room], in parent: ObjectID, _ name: String) throws {
            #expect(keys == wanted.map(\.key))
            for one in wanted { try compare(one, in: parent, name) }
        }

        private func compare(_ wanted: Room, in parent: ObjectID, _ name: String) throws {
            let object = room(wanted.key), found = try tx.parent(of: object)
            #expect(found?.object == parent && found?.propertyID == p[name]!)
            #expect(try tx.value(object, p["n"]!, nil).low == wanted.n)
            try compare(try tx.value(object, p["closet"]!, nil), wanted.closet, in: object, "closet")
            try compare(try links(object, "niches"), wanted.niches, in: object, "niches")
        }

        // MARK: Observing

        /// What observers of homes and of rooms got since the last time, from the log and from the trees: all that
        /// differs in an object, or in what is embedded in it, is a modification of that property.
        func tell() throws {
            let now = (version: try store.shared.database.snapshot(), model: committed)
            defer { told = now }
            guard let (before, old) = told, before.version < now.version.version else { return }
            tellings += 1
            let new = now.model
            let homes = difference(old.mapValues(parts), new.mapValues(parts))
            let rooms = difference(roomParts(old), roomParts(new))
            for compares in [false, true] {
                let reader = try ChangeReader(
                    store.shared.database, from: before, to: now.version,
                    classes: [UInt32(ClassID.index(home)), UInt32(ClassID.index(room))], compares: compares)
                check(reader.classes[UInt32(ClassID.index(home))], homes, isExact: reader.isCompared, "homes")
                check(reader.classes[UInt32(ClassID.index(room))], rooms, isExact: reader.isCompared, "rooms")
                // An observer of homes only gets the same of them.
                let only = try ChangeReader(
                    store.shared.database, from: before, to: now.version, classes: [UInt32(ClassID.index(home))],
                    compares: compares)
                check(only.classes[UInt32(ClassID.index(home))], homes, isExact: reader.isCompared, "homes alone")
            }
            changedInside += homes.modified.keys.count { old[$0]!.keys == new[$0]!.keys }
        }

        private func check(_ told: ClassChanges?, _ wanted: Difference, isExact: Bool, _ what: String) {
            let masks = told?.modifiedMasks ?? [:]
            #expect(told?.deleted ?? [] == wanted.deleted && told?.inserted ?? [] == wanted.inserted, "\(what)")
            #expect(told?.isFromOtherProcess != true)
            if isExact {
                #expect(masks == wanted.modified, "\(what), compared")
            } else {
                // Also what was written as it was before, or came and went inside.
                for (key, mask) in wanted.modified { #expect(masks[key, default: 0] & mask == mask, "\(what) \(key)") }
            }
        }

        private typealias Difference = (deleted: [Int64], inserted: [Int64], modified: [Int64: UInt64])

        private func difference(_ old: [Int64: [String]], _ new: [Int64: [String]]) -> Difference {
            var modified: [Int64: UInt64] = [:]
            for (key, parts) in new {
                guard let before = old[key], before != parts else { continue }
                modified[key] = parts.indices.reduce(0) { parts[$1] == before[$1] ? $0 : $0 | 1 << UInt64($1) }
            }
            return (old.keys.filter { new[$0] == nil }.sorted(), new.keys.filter { old[$0] == nil }.sorted(), modified)
        }

        /// Property by property, with all that lies inside.
        private func parts(_ home: Home) -> [String] {
            [
                "", home.hall?.text ?? "", home.rooms.map(\.text).joined(),
                home.named.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.text)" }.joined(),
                "\(home.annex ?? -1)", "\(home.sheds)", "\(home.views.sorted())",
            ]
        }

        private func roomParts(_ model: Model) -> [Int64: [String]] {
            var all: [Int64: [String]] = [:]
            for room in model.values.flatMap(\.all) {
                all[room.key] = ["\(room.n)", room.closet?.text ?? "", room.niches.map(\.text).joined()]
            }
            return all
        }

        func step() throws {
            switch below(100) {
            case 0..<12: try createHome()
            case 12..<40: try furnish()
            case 40..<52: try number()
            case 52..<68: try clear()
            case 68..<80: try relate()
            case 80..<84: try deleteHome()
            case 84..<88: try refuse()
            case 88..<92:
                if scopes.count < 3 { scopes.append((try tx.beginSavepoint(), OwnershipTests.copy(model))) }
            case 92..<95:
                guard let scope = scopes.popLast() else { return }
                if below(2) == 0 {
                    try tx.rollBack(toSavepoint: scope.id)
                    model = scope.model
                } else {
                    try tx.releaseSavepoint(scope.id)
                }
            case 95:
                if below(3) != 0 { return }
                if below(2) == 0 {
                    #expect(try tx.deleteAll(home) == model.count)
                    model = [:]
                } else {
                    _ = try tx.deleteAll(room)
                    for key in model.keys {
                        for at in model[key]!.named.keys { _ = try tx.remove(place(home(key), "named"), key: .int(at)) }
                        model[key]!.hall = nil
                        model[key]!.rooms = []
                        model[key]!.named = [:]
                    }
                }
            default: try end()
            }
        }

        func end() throws {
            scopes = []
            if below(4) == 0 {
                try tx.cancel()
                model = OwnershipTests.copy(committed)
            } else {
                _ = try tx.commit()
                committed = OwnershipTests.copy(model)
                // Of several commits together, or of one.
                if below(3) != 0 { try tell() }
            }
            let view = try store.openView()
            #expect(try view.verify { (_, _) throws(StoreError) in } == [])
            try view.close()
            if below(8) == 0 {
                told = nil
                try store.close()
                store = try Fixture.open(folder)
            }
            tx = try store.begin()
            try compare()
        }
    }

    @Test(arguments: [UInt64(1), 2, 3, 4]) func randomHistories(seed: UInt64) throws {
        let fixture = try Fixture(seed: seed)
        for number in 0..<1500 {
            try fixture.step()
            if number % 10 == 0 { try fixture.compare() }
        }
        try fixture.end()
        try fixture.tx.cancel()
        fixture.told = nil
        try fixture.store.close()
        #expect(
            fixture.tellings > 10 && fixture.changedInside > 5,
            "seed \(seed): \(fixture.tellings) tellings, \(fixture.changedInside) of changes inside only")
        #expect(
            fixture.cascaded > 5 && fixture.most > 20,
            "seed \(seed): \(fixture.cascaded) cascades, \(fixture.most) rooms at most")
    }
}
