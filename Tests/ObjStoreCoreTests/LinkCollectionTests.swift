import Foundation
import Testing

import ObjStoreCore

/// Lists, sets and maps of links and their inverses, against a model of arrays that is searched from end to end: whole
/// content in both directions after each step that ends something.
@Suite struct LinkCollectionTests {
    /// (class, property, kind, target); classes 0 Person, 1 Dog. Dogs link to dogs, too.
    fileprivate static let properties: [(cls: Int, name: String, kind: ValueKind, target: Int)] = [
        (0, "dogs", .list, 1), (0, "kennel", .set, 1), (0, "named", .map, 1), (0, "friends", .list, 0),
        (1, "pack", .set, 1), (1, "litter", .list, 1),
        (1, "owners", .map, 0),
    ]

    static func draft() throws -> SchemaDraft {
        var draft = SchemaDraft()
        for cls in ["Person", "Dog"] {
            try draft.addClass(cls)
            try draft.addProperty(cls, "n", .int, [.indexed])
        }
        try draft.addLink("Dog", "owner", to: "Person")
        for (cls, name, kind, target) in properties {
            let elements = ElementSchema(kind: .link, keyKind: kind == .map ? .string : .null)
            try draft.addCollection(["Person", "Dog"][cls], name, kind, elements, target: ["Person", "Dog"][target])
        }
        return draft
    }

    private static func open(_ folder: TestFolder) throws -> Store {
        try StoreHistory<Model>.open(folder["db"], try draft())
    }

    struct Entry: Equatable {
        var name: String?
        var target: Int64?
    }

    /// By class: objects by key with their collections, in the order of `properties` of that class, and Dog's owner.
    private struct Model: Equatable {
        var objects: [[Int64: [[Entry]]]] = [[:], [:]]
        var owner: [Int64: Int64] = [:]
    }

    private final class Fixture: StoreHistory<Model> {
        private(set) var classes: [UInt32] = [], ids: [UInt32] = []
        private var n: [UInt32] = [], owner: UInt32 = 0
        private(set) var gone = 0, doubled = 0, inTree = 0
        private var greatest: [Int64] = [0, 0]

        init(seed: UInt64) throws {
            try super.init(seed, try LinkCollectionTests.draft(), Model())
            classes = try ["Person", "Dog"].map { try tx.findClass($0) }
            ids = try LinkCollectionTests.properties.map { try tx.findProperty(classes[$0.cls], $0.name) }
            n = try classes.map { try tx.findProperty($0, "n") }
            owner = try tx.findProperty(classes[1], "owner")
        }

        func object(_ cls: Int, _ key: Int64) -> ObjectID {
            ObjectID(classID: classes[cls], storeTag: tx.shared.tag, key: key)
        }
        func places(of cls: Int) -> [Int] {
            LinkCollectionTests.properties.indices.filter { LinkCollectionTests.properties[$0].cls == cls }
        }
        func link(_ place: Int, _ key: Int64?) -> Value {
            key.map { .link(object(LinkCollectionTests.properties[place].target, $0)) } ?? .null
        }

        /// Often one of few, so that some are linked to by many and more than once.
        func anyKey(_ cls: Int) -> Int64? {
            if below(2) == 0, let least = model.objects[cls].keys.min() {
                return (least..<least + 4).filter { model.objects[cls][$0] != nil }.randomElement(using: &random)
            }
            for _ in 0..<8 {
                let key = Int64(below(Int(greatest[cls]) + 1))
                if model.objects[cls][key] != nil { return key }
            }
            return model.objects[cls].keys.min()
        }

        func create(_ cls: Int) throws {
            let owner = cls == 1 ? anyKey(0) : nil
            var given = [n[cls]], values = [Value.int(Int64(below(10)))]
            if let owner {
                given.append(self.owner)
                values.append(.link(object(0, owner)))
            }
            let made = try given.withUnsafeBufferPointer { given in
                try values.withUnsafeBufferPointer { try tx.create(classes[cls], given, $0.baseAddress!) }
            }
            model.objects[cls][made.key] = places(of: cls).map { _ in [] }
            model.owner[made.key] = cls == 1 ? owner : model.owner[made.key]
            greatest[cls] = max(greatest[cls], made.key)
        }

        func change() throws {
            let place = below(LinkCollectionTests.properties.count), spec = LinkCollectionTests.properties[place]
            guard let key = anyKey(spec.cls), let target = anyKey(spec.target) else { return }
            let at = places(of: spec.cls).firstIndex(of: place)!,
                id = CollectionID(owner: object(spec.cls, key), propertyID: ids[place])
            var entries = model.objects[spec.cls][key]![at]
            defer { model.objects[spec.cls][key]![at] = entries }
            let index = entries.isEmpty ? 0 : below(entries.count)
            switch (spec.kind, below(12)) {
            case (.list, 0...4):
                let place2 = below(3) == 0 ? nil : below(entries.count + 1)
                let targets = (0..<[1, 2, 5, 20, 300][below(5)]).map { _ in
                    below(3) == 0 ? target : anyKey(spec.target)!
                }
                try targets.map { link(place, $0) }.withUnsafeBufferPointer { try tx.insert(id, at: place2, $0) }
                entries.insert(contentsOf: targets.map { Entry(target: $0) }, at: place2 ?? entries.count)
                if entries.count > 40 { inTree += 1 }
            case (.list, 5) where !entries.isEmpty:
                try tx.set(id, at: index, link(place, target))
                entries[index].target = target
            case (.list, 6...7) where !entries.isEmpty:
                let to = below(entries.count)
                try tx.move(id, from: index, to: to)
                entries.insert(entries.remove(at: index), at: to)
            case (.set, 0...6):
                let isNew = !entries.contains { $0.target == target }
                #expect(try tx.insert(id, member: link(place, target)) == isNew)
                if isNew { entries.append(Entry(target: target)) }
                entries.sort { $0.target! < $1.target! }
            case (.set, 7):
                #expect(try tx.remove(id, member: link(place, target)) == entries.contains { $0.target == target })
                entries.removeAll { $0.target == target }
            case (.map, 0...7):
                for name in 0..<[1, 3, 60][below(3)] {
                    let name = "key \(below(5)) \(name)", to = below(6) == 0 ? nil : anyKey(spec.target)
                    let isNew = !entries.contains { $0.name == name }
                    let found = try text(name) { try tx.set(id, key: $0, link(place, to)) }
                    #expect(found == isNew)
                    entries.removeAll { $0.name == name }
                    entries.append(Entry(name: name, target: to))
                }
                entries.sort { $0.name! < $1.name! }
            case (.map, 8) where !entries.isEmpty:
                #expect(try text(entries[index].name!) { try tx.remove(id, key: $0) })
                entries.remove(at: index)
            case (_, 9...10) where !entries.isEmpty:
                let count = below(min(entries.count - index, [1, 3, 100][below(3)])) + 1
                try tx.remove(id, at: index, count: count)
                entries.removeSubrange(index..<index + count)
            case (_, 11):
                guard below(3) == 0 else { return }
                try tx.removeAllElements(id)
                entries = []
            default: break
            }
            if let value = entries.first?.target, spec.kind != .map {
                #expect(try tx.firstIndex(id, of: link(place, value)) == 0)
            }
        }

        private func text<R>(_ string: String, _ body: (Value) throws -> R) rethrows -> R {
            var string = string
            return try string.withUTF8 { try body(.string(UnsafeRawPointer($0.baseAddress), $0.count)) }
        }

        func delete() throws {
            let cls = below(3) == 0 ? 0 : 1
            guard let key = anyKey(cls) else { return }
            try tx.delete(object(cls, key))
            forget(cls, [key])
        }

        func forget(_ cls: Int, _ lost: Set<Int64>) {
            for key in lost { model.objects[cls][key] = nil }
            if cls == 1 {
                for key in lost { model.owner[key] = nil }
            } else {
                model.owner = model.owner.filter { !lost.contains($0.value) }
            }
            for (place, spec) in LinkCollectionTests.properties.enumerated() where spec.target == cls {
                let at = places(of: spec.cls).firstIndex(of: place)!
                for (key, all) in model.objects[spec.cls] {
                    func isLost(_ entry: Entry) -> Bool { entry.target.map { lost.contains($0) } ?? false }
                    let count = all[at].count(where: isLost)
                    if count == 0 { continue }
                    gone += count
                    if count > 1 { doubled += 1 }
                    model.objects[spec.cls][key]![at] =
                        spec.kind == .map
                        ? all[at].map { isLost($0) ? Entry(name: $0.name, target: nil) : $0 }
                        : all[at].filter { !isLost($0) }
                }
            }
        }

        /// What must be refused, and change nothing.
        func refuse() throws {
            let place = below(3)
            guard let key = anyKey(0) else { return }
            let id = CollectionID(owner: object(0, key), propertyID: ids[place]),
                kind = LinkCollectionTests.properties[place].kind
            func expect(_ code: StatusCode, _ value: Value) {
                var refusal: StoreError?
                do {
                    switch kind {
                    case .list:
                        try withUnsafePointer(to: value) {
                            try tx.insert(id, at: nil, UnsafeBufferPointer(start: $0, count: 1))
                        }
                    case .set: _ = try tx.insert(id, member: value)
                    default: _ = try text("key") { try tx.set(id, key: $0, value) }
                    }
                } catch { refusal = error as? StoreError }
                let name = LinkCollectionTests.properties[place].name
                #expect(
                    refusal?.code == code && refusal?.className == "Person" && refusal?.propertyName == name,
                    "\(value): \(String(describing: refusal))")
            }
            expect(.noSuchObject, .link(object(1, 1 << 40)))
            expect(.noSuchObject, .link(object(1, -5)))
            expect(.wrongType, .link(object(0, key)))
            expect(.wrongStore, .link(ObjectID(classID: classes[1], storeTag: tx.shared.tag ^ 1, key: 0)))
            expect(.wrongType, .int(0))
            if kind != .map { expect(.notNullable, .null) }
        }

        func step() throws {
            switch below(40) {
            case 0...2: try create(below(2))
            case 3: for _ in 0..<below(60) { try create(below(2)) }
            case 4...21: try change()
            case 22: for _ in 0..<30 { try change() }
            case 23...27: try delete()
            case 28:
                guard below(6) == 0 else { return }
                let cls = below(2)
                #expect(try tx.deleteAll(classes[cls]) == model.objects[cls].count)
                forget(cls, Set(model.objects[cls].keys))
            case 29: try refuse()
            case 30...32: try beginScope()
            case 33: try releaseScope()
            case 34...35: try rollBackScope()
            default: if below(4) == 0 { try end() }
            }
        }

        /// Every collection, and every inverse.
        override func check() throws {
            var buffer = OutputBuffer()
            defer { OutputBuffer.free(&buffer) }
            for cls in 0..<2 {
                var count = 0
                for (key, collections) in model.objects[cls] {
                    count += 1
                    for (place, wanted) in zip(places(of: cls), collections) {
                        let id = CollectionID(owner: object(cls, key), propertyID: ids[place]),
                            spec = LinkCollectionTests.properties[place]
                        var found: [Entry] = []
                        _ = try tx.elements(id, from: 0, limit: .max, wantsKeys: spec.kind == .map, &buffer) {
                            _, name, value in
                            let target = value.isNull ? nil : value.linkedObject(storeTag: tx.shared.tag)
                            if let target, target.classID != classes[spec.target] {
                                Issue.record("a link to \(target)")
                            }
                            let name =
                                name.isNull
                                ? nil
                                : String(
                                    decoding: UnsafeRawBufferPointer(start: name.pointer, count: name.count),
                                    as: UTF8.self)
                            found.append(Entry(name: name, target: target?.key))
                        }
                        if found != wanted {
                            Issue.record(
                                """
                                \(spec.name) of \(key): \(found.count) elements that are not the model's \
                                \(wanted.count)
                                """
                            )
                        }
                    }
                }
                #expect(try tx.count(classes[cls]) == count)
            }
            for (place, spec) in LinkCollectionTests.properties.enumerated() {
                let at = places(of: spec.cls).firstIndex(of: place)!
                var inverse: [Int64: Set<Int64>] = [:]
                for (key, all) in model.objects[spec.cls] {
                    for entry in all[at] { if let target = entry.target { inverse[target, default: []].insert(key) } }
                }
                try checkInverse(ids[place], spec.target, inverse)
            }
            var inverse: [Int64: Set<Int64>] = [:]
            for (dog, person) in model.owner { inverse[person, default: []].insert(dog) }
            try checkInverse(owner, 0, inverse)
        }

        private func checkInverse(_ property: UInt32, _ target: Int, _ inverse: [Int64: Set<Int64>]) throws {
            for key in model.objects[target].keys {
                let wanted = inverse[key, default: []].sorted(), object = object(target, key)
                let results = try tx.incoming(object, property)
                let found = try (0..<UInt64(results.count)).map { try results.object(at: $0).key }
                if found != wanted { Issue.record("property \(property), incoming of \(key): \(found), not \(wanted)") }
                if try tx.incomingCount(object, property) != wanted.count {
                    Issue.record("\(key) is not counted right")
                }
            }
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func historiesAgainstAModel(seed: UInt64) throws {
        let fixture = try Fixture(seed: seed)
        for _ in 0..<700 { try fixture.step() }
        try fixture.check()
        #expect(
            fixture.gone > 50 && fixture.doubled > 5 && fixture.undone > 5 && fixture.reopened > 0
                && fixture.inTree > 10,
            """
            seed \(seed): \(fixture.gone) gone, \(fixture.doubled) doubled, \(fixture.undone) undone, \
            \(fixture.reopened) reopened, \(fixture.inTree) in the tree
            """
        )
        fixture.tx.close()
        let view = try fixture.store.openView(), path = fixture.folder["copy"]
        try view.copy(to: path) { (_, _) throws(StoreError) in }
        let copy = try Database.open(path, options: StoreOptions(), machine: RealMachine.shared)
        #expect(Verifier.findings(try copy.snapshot()) == [])
        let names = ["dogs", "kennel", "named"]
        func links(_ snapshot: Snapshot) throws -> [Int] {
            let cls = snapshot.schema.classes[0]
            return try names.map { try snapshot.trees.inverse(cls, cls.propertyIndex(named: $0)!)!.count() }
        }
        #expect(try links(copy.snapshot()) == links(try #require(view.snapshot)))
        try copy.close()
        view.close()
        try fixture.store.close()
    }

    // MARK: Small cases

    /// All lists of up to four of three objects, in two owners at a time: what the deletion of each object leaves, and
    /// what a roll-back brings back; with long lists around them, so that they lie in the tree, and without.
    @Test(arguments: [0, 70]) func everySmallList(padding: Int) throws {
        let folder = TestFolder(), store = try LinkCollectionTests.open(folder)
        let tx = try store.begin()
        let person = try tx.findClass("Person"), dog = try tx.findClass("Dog"),
            dogs = try tx.findProperty(person, "dogs")
        func create(_ cls: UInt32) throws -> ObjectID {
            try withUnsafePointer(to: Value.int(0)) { value in
                try [try tx.findProperty(cls, "n")].withUnsafeBufferPointer { try tx.create(cls, $0, value) }
            }
        }
        let owners = try (0..<2).map { _ in try create(person) }, targets = try (0..<4).map { _ in try create(dog) }
        let around = [Int](repeating: 3, count: padding)
        var lists: [[Int]] = [[]]
        for length in 0..<4 {
            lists += lists.filter { $0.count == length }.flatMap { list in (0..<3).map { list + [$0] } }
        }
        #expect(lists.count == 121)
        func read(_ owner: ObjectID) throws -> [Int] {
            var found: [Int] = []
            _ = try tx.elements(
                CollectionID(owner: owner, propertyID: dogs), from: 0, limit: .max, wantsKeys: false, nil
            ) { _, _, value in
                found.append(targets.firstIndex { $0.key == value.low }!)
            }
            return found
        }
        for (number, list) in lists.enumerated() {
            let contents = [list + around, around + lists[number * 7 % lists.count]]
            for (owner, content) in zip(owners, contents) {
                let id = CollectionID(owner: owner, propertyID: dogs)
                try tx.removeAllElements(id)
                try content.map { Value.link(targets[$0]) }.withUnsafeBufferPointer { try tx.insert(id, at: nil, $0) }
            }
            func check(_ contents: [[Int]], without gone: Int? = nil) throws {
                for (owner, content) in zip(owners, contents) { #expect(try read(owner) == content) }
                for target in 0..<3 where target != gone {
                    let wanted = zip(owners, contents).filter { $1.contains(target) }.map(\.0)
                    let results = try tx.incoming(targets[target], dogs)
                    let found = try (0..<UInt64(results.count)).map { try results.object(at: $0) }
                    #expect(try found == wanted && tx.incomingCount(targets[target], dogs) == wanted.count)
                }
            }
            try check(contents)
            for gone in 0..<3 {
                let point = try tx.beginSavepoint()
                try tx.delete(targets[gone])
                try check(contents.map { $0.filter { $0 != gone } }, without: gone)
                try tx.rollBack(toSavepoint: point)
                try check(contents)
            }
        }
        _ = try tx.commit()
        let view = try store.openView()
        #expect(try view.verify { _, _ in } == [])
        view.close()
        try store.close()
    }

    /// How often a list has an object is found by the index alone, where most of what it had goes and comes again.
    @Test func oneObjectManyTimes() throws {
        let folder = TestFolder(), store = try LinkCollectionTests.open(folder)
        var tx = try store.begin()
        let person = try tx.findClass("Person"), dog = try tx.findClass("Dog"),
            dogs = try tx.findProperty(person, "dogs")
        func create(_ cls: UInt32) throws -> ObjectID {
            let n = try tx.findProperty(cls, "n")
            return try withUnsafePointer(to: Value.int(0)) { value in
                try [n].withUnsafeBufferPointer { try tx.create(cls, $0, value) }
            }
        }
        let owner = try create(person), targets = try (0..<2).map { _ in try create(dog) },
            id = CollectionID(owner: owner, propertyID: dogs)
        var count = 0
        for step in [1, 1, 2, 3, -5, 7, 4096, -4000, 10_000, 1, -1, -10_105, 300, -300] {
            if step > 0 {
                try [Value](repeating: .link(targets[0]), count: step).withUnsafeBufferPointer {
                    try tx.insert(id, at: 0, $0)
                }
            } else {
                try tx.remove(id, at: 0, count: -step)
            }
            count += step
            _ = try tx.commit()
            let view = try store.openView()
            let snapshot = try #require(view.snapshot), cls = snapshot.schema.classes[0]
            let inverse = try #require(try snapshot.trees.inverse(cls, cls.propertyIndex(named: "dogs")!))
            #expect(try inverse.linkCount(from: owner.key, to: targets[0].key) == count && inverse.count() == count)
            #expect(try view.verify { _, _ in } == [] && view.incomingCount(targets[0], dogs) == (count > 0 ? 1 : 0))
            view.close()
            tx = try store.begin()
        }
        #expect(count == 0)
        tx.close()
        try store.close()
    }

    // MARK: The schema, observers, damage

    private func refusal(_ body: () throws -> Void) -> StoreError? {
        do { try body() } catch { return error as? StoreError }
        return nil
    }

    /// A class that has objects gets a list of links; another target later is refused.
    @Test func aSchemaGrows() throws {
        let folder = TestFolder()
        func open(_ draft: SchemaDraft, version: UInt64) throws -> Store {
            var configuration = StoreConfiguration()
            configuration.place = .file(folder["db"])
            configuration.schema = draft
            configuration.schemaVersion = version
            return try Store.open(configuration)
        }
        var draft = SchemaDraft()
        try draft.addClass("Dog")
        try draft.addProperty("Dog", "n", .int, [.indexed])
        var store = try open(draft, version: 1), tx = try store.begin()
        let dog = try tx.findClass("Dog"), n = try tx.findProperty(dog, "n")
        let dogs = try (0..<3000).map { number in
            try withUnsafePointer(to: Value.int(Int64(number))) { value in
                try [n].withUnsafeBufferPointer { try tx.create(dog, $0, value) }
            }
        }
        _ = try tx.commit()
        try store.close()
        let links = ElementSchema(kind: .link)
        #expect(refusal { try draft.addCollection("Dog", "pack", .list, links) }?.code == .invalidSchema)
        #expect(
            refusal {
                try draft.addCollection(
                    "Dog", "pack", .list, ElementSchema(kind: .link, isNullable: true), target: "Dog")
            }?.code == .invalidSchema)
        var grown = draft, other = draft
        try grown.addCollection("Dog", "pack", .list, links, target: "Dog")
        store = try open(grown, version: 2)
        let view = try store.openView()
        #expect(try view.verify { _, _ in } == [], "before anything is written")
        view.close()
        tx = try store.begin()
        let pack = try tx.findProperty(dog, "pack")
        #expect(try tx.propertyInfo(pack).target == dog && tx.incomingCount(dogs[5], pack) == 0)
        let some = dogs[..<40].map { Value.link(ObjectID(classID: dog, storeTag: tx.shared.tag, key: $0.key)) }
        let owner = ObjectID(classID: dog, storeTag: tx.shared.tag, key: dogs[2999].key)
        try some.withUnsafeBufferPointer { try tx.insert(CollectionID(owner: owner, propertyID: pack), at: nil, $0) }
        _ = try tx.commit()
        let after = try store.openView()
        #expect(try after.verify { _, _ in } == [])
        after.close()
        try store.close()
        try other.addClass("Cat")
        try other.addCollection("Dog", "pack", .list, links, target: "Cat")
        let mismatch = refusal { _ = try open(other, version: 3) }
        #expect(
            mismatch?.code == .schemaMismatch && mismatch?.propertyName == "pack", "\(String(describing: mismatch))")
    }

    /// An observer of what leads to an object is notified when an owner begins and ceases to have it, by itself or
    /// because it is deleted.
    @Test(arguments: [false, true]) func observersOfAnInverse(comparesTrees: Bool) throws {
        let folder = TestFolder(), store = try LinkCollectionTests.open(folder)
        var tx = try store.begin()
        let person = try tx.findClass("Person"), dog = try tx.findClass("Dog"),
            dogs = try tx.findProperty(person, "dogs")
        func create(_ cls: UInt32) throws -> ObjectID {
            let n = try tx.findProperty(cls, "n")
            return try withUnsafePointer(to: Value.int(0)) { value in
                try [n].withUnsafeBufferPointer { try tx.create(cls, $0, value) }
            }
        }
        let people = try (0..<3).map { _ in try create(person) }, pets = try (0..<2).map { _ in try create(dog) }
        func append(_ owner: Int, _ targets: [Int]) throws {
            try targets.map { Value.link(pets[$0]) }.withUnsafeBufferPointer {
                try tx.insert(CollectionID(owner: people[owner], propertyID: dogs), at: nil, $0)
            }
        }
        func commit(_ body: () throws -> Void) throws {
            tx = try store.begin()
            try body()
            if comparesTrees { tx.transaction!.forceSummary() }
            _ = try tx.commit()
        }
        try append(0, [0, 0])
        _ = try tx.commit()
        let hub = ObserverHub(store.shared.database, deliversOnWorker: false), view = try store.openView()
        var heard: [[Int]] = []
        let lock = Lock()
        let observer = try view.incoming(pets[0], dogs).observe(ObserverOptions(), on: hub) { set in
            lock.withLock { heard.append([set.deleted.count, set.inserted.count, set.modified.count]) }
            return nil
        }
        defer { withExtendedLifetime(observer) {} }
        func next() throws -> [Int]? {
            _ = try hub.deliver()
            return lock.withLock { heard.popLast() }
        }
        try commit { try append(1, [1, 0]) }
        #expect(try next() == [0, 1, 0])
        try commit { try append(2, [1]) }
        #expect(try next() ?? [0, 0, 0] == [0, 0, 0])
        try commit { try tx.remove(CollectionID(owner: people[0], propertyID: dogs), at: 0, count: 1) }
        #expect(try next() == [0, 0, 1])
        try commit { try tx.remove(CollectionID(owner: people[0], propertyID: dogs), at: 0, count: 1) }
        #expect(try next() == [1, 0, 0])
        try commit { try tx.delete(pets[0]) }
        #expect(try next() == [1, 0, 0])
        try hub.close()
        view.close()
        try store.close()
    }

    private static let plain = Schema(
        classes: [
            ClassSchema(
                name: "Pack", id: 0,
                properties: [
                    PropertySchema(
                        name: "dogs", kind: .list, columnID: 0, target: 1, elements: ElementSchema(kind: .link)),
                    PropertySchema(
                        name: "named", kind: .map, columnID: 1, target: 1,
                        elements: ElementSchema(kind: .link, isNullable: true, keyKind: .int)),
                ], nextColumnID: 2),
            ClassSchema(
                name: "Dog", id: 1, properties: [PropertySchema(name: "n", kind: .int, columnID: 0)], nextColumnID: 1),
        ], version: 1)

    private func database(_ place: String, _ dogs: Int, _ body: (WriteTransaction) throws -> Void) throws -> Database {
        var options = StoreOptions()
        options.isInMemory = place.isEmpty
        options.hasBackgroundThread = false
        let database = try Database.open(place, options: options, machine: RealMachine.shared)
        let transaction = try WriteTransaction.begin(database)
        try transaction.setSchema(LinkCollectionTests.plain)
        for number in 0..<dogs {
            _ = try withUnsafePointer(to: Value.int(Int64(number))) { try transaction.state(1).create($0) }
        }
        let packs = try transaction.state(0)
        for _ in 0..<3 {
            _ = try [Value.zero(of: .list), .zero(of: .map)].withUnsafeBufferPointer {
                try packs.create($0.baseAddress!)
            }
        }
        try body(transaction)
        try transaction.commit()
        return database
    }

    private func links(_ keys: [Int64]) -> ArraySlice<(key: Value, value: Value)> {
        keys.map { (key: .null, value: Value(kind: .link, low: $0)) }[...]
    }

    /// A check that finds nothing proves nothing: inverses that were broken behind the library's back are found.
    @Test func verifyFindsBrokenInverses() throws {
        for (bug, count) in [(0, 3), (1, 3), (2, 3), (3, 3), (4, 3), (1, 50), (2, 50), (3, 50)] {
            let database = try database("", 60) { transaction in
                let packs = try transaction.state(0)
                let all = (0..<Int64(count)).map { $0 == 2 ? 1 : $0 }
                try packs.splice(0, 0, 0..<0, links(all))
                try packs.splice(1, 0, 0..<0, links([0]))
                switch bug {
                case 1: try packs.inverses[0].note(1, of: 0, isRemoval: true)
                case 2: try packs.inverses[0].note(1, of: 1, isRemoval: false)
                case 3:
                    try packs.inverses[0].note(1, of: 0, isRemoval: true)
                    try packs.inverses[0].note(1, of: 2, isRemoval: false)
                case 4: try transaction.state(1).delete(1)  // leaves the links
                default: break
                }
            }
            let findings = Verifier.findings(try database.snapshot())
            let missing = "inverse of Pack.dogs: object 0 links to object 1 2 times, and it says otherwise"
            switch bug {
            case 0: #expect(findings == [])
            case 1:
                #expect(findings == [missing, "inverse of Pack.dogs: it has \(count) entries for \(count + 1) links"])
            case 2: #expect(findings == ["inverse of Pack.dogs: it has \(count + 2) entries for \(count + 1) links"])
            case 3: #expect(findings == [missing])
            default: #expect(findings.first == "index of Pack.dogs: object 0 links to object 1, which does not exist")
            }
            try database.close()
        }
    }

    /// What a salvage loses of a class leaves the lists of others, and their maps have null; the rest stays.
    @Test func salvageDropsLinksToLostObjects() throws {
        let folder = TestFolder(), dogs = 20_000
        let database = try database(folder["db"], dogs) { transaction in
            let packs = try transaction.state(0)
            for pack in 0..<3 as Range<Int64> {
                try packs.splice(pack, 0, 0..<0, links((0..<1000).map { ($0 * 37 + pack) % Int64(dogs) } + [5]))
                try packs.splice(
                    pack, 1, 0..<0,
                    (0..<8).map { (key: .int($0), value: $0 == 3 ? .null : Value(kind: .link, low: $0 * 2500)) }[...])
            }
        }
        let snapshot = try database.snapshot()
        let reader = try snapshot.trees.objects(snapshot.schema.classes[1])
        let head = try #require(try reader.seek(4096 * 2)).head
        let damaged = head - snapshot.source.base
        try database.close()
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder["db"])))
        bytes[damaged + 40] ^= 0xff
        try Data(bytes).write(to: URL(fileURLWithPath: folder["db"]))
        var findings: [String] = []
        _ = try StoreFiles.salvage(folder["db"], to: folder["new"], progress: { (_, _) throws(StoreError) in }) {
            (entry) throws(StoreError) in findings.append("\(entry)")
        }
        #expect(
            findings.contains {
                $0.contains("property dogs") && $0.contains("an object of class Dog that they linked to is lost")
            }, "\(findings)")
        let salvaged = try Database.open(folder["new"], options: StoreOptions(), machine: RealMachine.shared)
        let after = try salvaged.snapshot(), lost = Int64(4096 * 2)..<Int64(4096 * 3)
        #expect(Verifier.findings(after) == [])
        var seen = 0
        try after.forEachObject(0) { (key, values) throws(StoreError) in
            var list: [Int64] = [], map: [Int64?] = []
            try after.elements(0, 0, of: key, values[0]).forEach { (_, value) throws(StoreError) in
                list.append(value.low); return true
            }
            try after.elements(0, 1, of: key, values[1]).forEach { (_, value) throws(StoreError) in
                map.append(value.isNull ? nil : value.low); return true
            }
            let all = (0..<1000 as Range<Int64>).map { ($0 * 37 + key) % Int64(dogs) } + [5]
            #expect(list == all.filter { !lost.contains($0) } && list.count < all.count)
            #expect(map == (0..<8 as Range<Int64>).map { $0 == 3 || lost.contains($0 * 2500) ? nil : $0 * 2500 })
            seen += 1
        }
        #expect(seen == 3)
        try salvaged.close()
    }
}
