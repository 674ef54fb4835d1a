import Testing

import ObjStoreCore

/// Links and their inverses, against a model that knows nothing of indexes: whole content, all inverses and every way
/// to ask compared after each step that ends something.
@Suite struct LinkTests {
    /// The link properties, as (class, property, target); classes 0 Badge, 1 Person, 2 Dog. Badge comes before what it
    /// leads to.
    private static let links: [(cls: Int, name: String, target: Int)] = [
        (0, "holder", 1), (1, "boss", 1), (2, "owner", 1), (2, "friend", 2),
    ]

    static func draft() throws -> SchemaDraft {
        var draft = SchemaDraft()
        for cls in ["Badge", "Person", "Dog"] { try draft.addClass(cls) }
        try draft.addLink("Badge", "holder", to: "Person")
        try draft.addProperty("Person", "id", .int, [.primaryKey])
        try draft.addLink("Person", "boss", to: "Person", [.nullable])
        try draft.addProperty("Dog", "n", .int, [.indexed])
        try draft.addLink("Dog", "owner", to: "Person")
        try draft.addLink("Dog", "friend", to: "Dog")
        return draft
    }

    private struct Model {
        /// By class: objects by key with their links, in the order of `links` of that class.
        var objects: [[Int64: [Int64?]]] = [[:], [:], [:]]
        /// Of persons.
        var ids: [Int64: Int64] = [:]
    }

    private final class Fixture: StoreHistory<Model> {
        private(set) var classes: [UInt32] = []
        /// By link.
        private(set) var properties: [UInt32] = []
        private var personID: UInt32 = 0, dogNumber: UInt32 = 0
        private var counter: Int64 = 0
        private(set) var nulled = 0, refused = 0

        init(seed: UInt64) throws {
            try super.init(seed, try LinkTests.draft(), Model())
            classes = try ["Badge", "Person", "Dog"].map { try tx.findClass($0) }
            properties = try LinkTests.links.map { try tx.findProperty(classes[$0.cls], $0.name) }
            personID = try tx.findProperty(classes[1], "id")
            dogNumber = try tx.findProperty(classes[2], "n")
        }

        func object(_ cls: Int, _ key: Int64) -> ObjectID {
            ObjectID(classID: classes[cls], storeTag: tx.shared.tag, key: key)
        }
        private var greatest: [Int64] = [0, 0, 0], low: [Int64] = [0, 0, 0]
        func anyKey(_ cls: Int) -> Int64? {
            for _ in 0..<8 {
                let key = Int64(below(Int(greatest[cls]) + 1))
                if model.objects[cls][key] != nil { return key }
            }
            return lowKey(cls)
        }
        /// Mostly the same one.
        func lowKey(_ cls: Int) -> Int64? {
            if model.objects[cls][low[cls]] == nil { low[cls] = model.objects[cls].keys.min() ?? 0 }
            return model.objects[cls][low[cls]] == nil ? nil : low[cls]
        }
        func links(of cls: Int) -> [Int] { LinkTests.links.indices.filter { LinkTests.links[$0].cls == cls } }

        /// Often one of few, so that some have many; null now and then.
        func anyTarget(_ link: Int) -> Int64? {
            let target = LinkTests.links[link].target
            if below(6) == 0 { return nil }
            return below(2) == 0 ? lowKey(target) : anyKey(target)
        }

        func value(_ link: Int, _ key: Int64?) -> Value {
            key.map { .link(object(LinkTests.links[link].target, $0)) } ?? .null
        }

        func create(_ cls: Int) throws {
            let places = links(of: cls)
            var given = places.map { properties[$0] }, targets = places.map { anyTarget($0) }
            var values = zip(places, targets).map { value($0, $1) }
            if below(4) == 0 {
                // What is not given is null.
                given.removeLast()
                values.removeLast()
                targets[targets.count - 1] = nil
            }
            counter += 1
            if cls == 1 {
                given.append(personID)
                values.append(.int(counter))
            } else if cls == 2 {
                given.append(dogNumber)
                values.append(.int(counter % 10))
            }
            let made = try given.withUnsafeBufferPointer { given in
                try values.withUnsafeBufferPointer { values in
                    cls == 1 && below(3) == 0
                        ? try tx.upsert(classes[cls], .all, given, values.baseAddress!).0
                        : try tx.create(classes[cls], given, values.baseAddress!)
                }
            }
            model.objects[cls][made.key] = targets
            greatest[cls] = max(greatest[cls], made.key)
            if cls == 1 { model.ids[made.key] = counter }
        }

        func relink() throws {
            let cls = below(3)
            guard let key = anyKey(cls) else { return }
            let places = links(of: cls), at = below(places.count)
            let target = anyTarget(places[at])
            switch below(3) {
            case 0 where cls == 1:
                let given = [personID, properties[places[at]]],
                    values = [Value.int(model.ids[key]!), value(places[at], target)]
                let policy: UpsertPolicy = below(2) == 0 ? .modified : .all
                let outcome = try given.withUnsafeBufferPointer { given in
                    try values.withUnsafeBufferPointer { try tx.upsert(classes[1], policy, given, $0.baseAddress!).1 }
                }
                #expect(
                    outcome == (policy == .modified && model.objects[1][key]![at] == target ? .unchanged : .changed))
            case 1 where cls == 2:
                let other = anyTarget(places[1])
                let given = places.map { properties[$0] }, values = [value(places[0], target), value(places[1], other)]
                guard at == 0 else { return }
                try given.withUnsafeBufferPointer { given in
                    try values.withUnsafeBufferPointer { try tx.set(object(2, key), given, $0.baseAddress!) }
                }
                model.objects[2][key]![1] = other
            default: try tx.set(object(cls, key), properties[places[at]], value(places[at], target))
            }
            model.objects[cls][key]![at] = target
        }

        /// Rows from columns: new ones, and for persons also existing ones.
        func insertColumns() throws {
            let cls = below(3), places = links(of: cls), count = [3, 40, 300][below(3)]
            var numbers: [Int64] = [], keys: [[Int64]] = places.map { _ in [] }
            var validity = places.map { _ in [UInt8](repeating: 0, count: (count + 7) / 8) }
            var targets: [[Int64?]] = []
            for row in 0..<count {
                let existing = cls == 1 && below(5) == 0 ? anyKey(1).flatMap { model.ids[$0] } : nil
                if existing == nil { counter += 1 }
                numbers.append(existing ?? counter)
                targets.append(places.map { anyTarget($0) })
                for place in places.indices {
                    keys[place].append(targets[row][place] ?? -77)
                    if targets[row][place] != nil { validity[place][row / 8] |= 1 << UInt8(row % 8) }
                }
            }
            var columns: [InputColumn] = []
            var memory: [UnsafeMutableRawPointer] = []
            defer { for block in memory { block.deallocate() } }
            func copy<T>(_ array: [T]) -> UnsafeMutableRawPointer {
                let block = UnsafeMutableRawPointer.allocate(
                    byteCount: max(1, array.count) * MemoryLayout<T>.stride, alignment: 8)
                array.withUnsafeBytes { block.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
                memory.append(block)
                return block
            }
            for place in places.indices {
                columns.append(
                    InputColumn(
                        propertyID: properties[places[place]], kind: .link, values: copy(keys[place]), offsets: nil,
                        validity: UnsafePointer(copy(validity[place]).assumingMemoryBound(to: UInt8.self)),
                        valuesBytes: 0))
            }
            if cls != 0 {
                columns.append(
                    InputColumn(
                        propertyID: cls == 1 ? personID : dogNumber, kind: .int, values: copy(numbers), offsets: nil,
                        validity: nil, valuesBytes: 0))
            }
            var made = [Int64](repeating: -1, count: count)
            _ = try columns.withUnsafeBufferPointer { columns in
                try made.withUnsafeMutableBufferPointer {
                    try tx.insert(classes[cls], cls == 1 ? .all : .error, columns, rows: count, keys: $0.baseAddress!)
                }
            }
            for row in 0..<count {
                model.objects[cls][made[row]] = targets[row]
                greatest[cls] = max(greatest[cls], made[row])
                if cls == 1 { model.ids[made[row]] = numbers[row] }
            }
        }

        func delete() throws {
            let cls = [1, 1, 2, 0][below(4)]
            guard let key = below(3) == 0 ? lowKey(cls) : anyKey(cls) else { return }
            try tx.delete(object(cls, key))
            forget(cls, [key])
        }

        func forget(_ cls: Int, _ gone: Set<Int64>) {
            for key in gone {
                model.objects[cls][key] = nil
                if cls == 1 { model.ids[key] = nil }
            }
            for (link, spec) in LinkTests.links.enumerated() where spec.target == cls {
                let at = links(of: spec.cls).firstIndex(of: link)!
                for (origin, targets) in model.objects[spec.cls] {
                    if let target = targets[at], gone.contains(target) {
                        model.objects[spec.cls][origin]![at] = nil
                        nulled += 1
                    }
                }
            }
        }

        /// What must be refused, and change nothing.
        func refuse() throws {
            guard let dog = anyKey(2) else { return }
            func expect(_ code: StatusCode, _ value: Value) {
                var refusal: StoreError?
                do { try tx.set(object(2, dog), properties[2], value) } catch { refusal = error as? StoreError }
                #expect(
                    refusal?.code == code && refusal?.className == "Dog" && refusal?.propertyName == "owner",
                    "\(value): \(String(describing: refusal))")
                refused += 1
            }
            expect(.noSuchObject, .link(object(1, 1 << 40)))
            expect(.noSuchObject, .link(object(1, -5)))
            if let gone = (0..<Int64(100)).first(where: { model.objects[1][$0] == nil }) {
                expect(.noSuchObject, .link(object(1, gone)))
            }
            expect(.wrongType, .link(object(2, dog)))
            expect(.wrongStore, .link(ObjectID(classID: classes[1], storeTag: tx.shared.tag ^ 1, key: 0)))
            expect(.noSuchObject, .link(.none))
            expect(.wrongType, .int(0))
        }

        func step() throws {
            switch below(34) {
            case 0...7: try create(below(3))
            case 8: for _ in 0..<below(150) { try create(below(3)) }
            case 9...15: try relink()
            case 16: try insertColumns()
            case 17...20: try delete()
            case 21:
                guard below(3) == 0 else { return }
                let cls = below(3)
                #expect(try tx.deleteAll(classes[cls]) == model.objects[cls].count)
                forget(cls, Set(model.objects[cls].keys))
            case 22: try refuse()
            case 23: try check()
            case 24...26: try beginScope()
            case 27: try releaseScope()
            case 28...29: try rollBackScope()
            default: if below(5) == 0 { try end() }
            }
        }

        /// Every object with its links, every inverse, and every comparison.
        override func check() throws {
            for cls in 0..<3 {
                let places = links(of: cls)
                var found: [Int64: [Int64?]] = [:]
                var row = try RowCursor(tx, classes[cls])
                while try row.next() {
                    let object = try row.object()
                    found[object.key] = try places.map { link in
                        let target = try row.link(properties[link])
                        if let target, target != self.object(LinkTests.links[link].target, target.key) {
                            Issue.record("a link gives \(target)")
                        }
                        let value = try tx.value(object, properties[link], nil)
                        let same = value.isNull ? nil : value.linkedObject(storeTag: tx.shared.tag)
                        if same != target { Issue.record("row and value differ") }
                        return target?.key
                    }
                }
                if found != model.objects[cls] {
                    Issue.record(
                        """
                        class \(cls): the objects are not those of the model: \(found.count) of \
                        \(model.objects[cls].count)
                        """
                    )
                }
            }
            for (link, spec) in LinkTests.links.enumerated() {
                let at = links(of: spec.cls).firstIndex(of: link)!
                var inverse: [Int64: [Int64]] = [:]
                var nulls = 0
                for (origin, targets) in model.objects[spec.cls] {
                    if let target = targets[at] { inverse[target, default: []].append(origin) } else { nulls += 1 }
                }
                #expect(try tx.count(Query(classes[spec.cls], properties[link], .equal, .null)) == nulls)
                for target in model.objects[spec.target].keys {
                    let wanted = inverse[target, default: []].sorted(), object = object(spec.target, target)
                    let results = try tx.incoming(object, properties[link])
                    let found = try (0..<UInt64(results.count)).map { try results.object(at: $0).key }
                    if found != wanted { Issue.record("\(spec.name) of \(target): \(found), not \(wanted)") }
                    if try tx.incomingCount(object, properties[link]) != wanted.count {
                        Issue.record("\(spec.name) of \(target) is not counted right")
                    }
                    if target % 17 == 0 {
                        #expect(
                            try tx.count(Query(classes[spec.cls], properties[link], .notEqual, .link(object)))
                                == model.objects[spec.cls].count - wanted.count)
                        #expect(
                            try tx.first(Query(classes[spec.cls], properties[link], .equal, .link(object)))?
                                .key == wanted.first)
                    }
                }
            }
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func historiesAgainstAModel(seed: UInt64) throws {
        let fixture = try Fixture(seed: seed)
        for _ in 0..<1500 { try fixture.step() }
        try fixture.check()
        #expect(
            fixture.nulled > 50 && fixture.undone > 20 && fixture.reopened > 1 && fixture.refused > 50,
            """
            seed \(seed): \(fixture.nulled) nulled, \(fixture.undone) undone, \(fixture.reopened) reopened, \
            \(fixture.refused) refused
            """
        )
        try fixture.close()
    }

    // MARK: The schema

    private func open(_ folder: TestFolder, _ draft: SchemaDraft, version: UInt64) throws -> Store {
        var configuration = StoreConfiguration()
        configuration.place = .file(folder["db"])
        configuration.schema = draft
        configuration.schemaVersion = version
        return try Store.open(configuration)
    }

    private func refusal(_ body: () throws -> Void) -> StoreError? {
        do { try body() } catch { return error as? StoreError }
        return nil
    }

    @Test func whatASchemaRefuses() throws {
        var draft = SchemaDraft()
        try draft.addClass("Dog")
        for flags in [SchemaDraft.Flags.primaryKey, .indexed] {
            #expect(refusal { try draft.addLink("Dog", "owner", to: "Person", flags) }?.code == .invalidSchema)
        }
        #expect(refusal { try draft.addLink("Dog", "owner", to: "4") }?.code == .invalidSchema)
        let plain = refusal { try draft.addProperty("Dog", "owner", .link, []) }
        #expect(plain?.code == .invalidSchema && plain!.message.contains("objstore_schema_add_link"))
        try draft.addLink("Dog", "owner", to: "Person")
        #expect(refusal { try draft.addLink("Dog", "owner", to: "Person") }?.code == .invalidSchema)
        #expect(refusal { try draft.setDefault("Dog", "owner", Value(kind: .link, low: 0)) }?.code == .wrongType)
        try draft.setDefault("Dog", "owner", .null)
        let missing = refusal { _ = try open(TestFolder(), draft, version: 1) }
        #expect(
            missing?.code == .invalidSchema && missing?.className == "Dog" && missing?.propertyName == "owner",
            "\(String(describing: missing))")
    }

    /// A link to a new class is added to a class that has objects; another target later is refused.
    @Test func aSchemaGrows() throws {
        let folder = TestFolder()
        var draft = SchemaDraft()
        try draft.addClass("Dog")
        try draft.addProperty("Dog", "n", .int, [])
        var store = try open(folder, draft, version: 1)
        var tx = try store.begin()
        let dog = try tx.findClass("Dog"), n = try tx.findProperty(dog, "n")
        var dogs: [ObjectID] = []
        for number in 0..<5000 {
            dogs.append(
                try [n].withUnsafeBufferPointer { n in
                    try withUnsafePointer(to: Value.int(Int64(number))) { try tx.create(dog, n, $0) }
                })
        }
        _ = try tx.commit()
        try store.close()
        try draft.addLink("Dog", "owner", to: "Person")
        try draft.addClass("Person")
        #expect(refusal { _ = try open(folder, draft, version: 1) }?.code == .schemaMismatch)
        store = try open(folder, draft, version: 2)
        tx = try store.begin()
        let owner = try tx.findProperty(dog, "owner"), person = try tx.findClass("Person")
        let info = try tx.propertyInfo(owner)
        #expect(info.target == person && info.flags == [.nullable] && info.kind == .link)
        #expect(try tx.count(Query(dog, owner, .equal, .null)) == 5000)
        let one = try UnsafeBufferPointer<UInt32>(start: nil, count: 0).withNothing { try tx.create(person, $0, $1) }
        for key in [0, 17, 4999] { try tx.set(dogs[key], owner, .link(one)) }
        let results = try tx.incoming(one, owner)
        #expect(try (0..<UInt64(results.count)).map { try results.object(at: $0) } == [dogs[0], dogs[17], dogs[4999]])
        #expect(try tx.commit() > 0)
        let view = try store.openView()
        #expect(try view.verify { _, _ in } == [])
        view.close()
        try store.close()
        var other = SchemaDraft()
        try other.addClass("Person")
        try other.addClass("Dog")
        try other.addProperty("Dog", "n", .int, [])
        try other.addLink("Dog", "owner", to: "Dog")
        let mismatch = refusal { _ = try open(folder, other, version: 3) }
        #expect(
            mismatch?.code == .schemaMismatch && mismatch?.propertyName == "owner", "\(String(describing: mismatch))")
    }

    // MARK: Deleting

    /// Objects that link to a deleted one are reported to observers as modified, once, in that property; a replay finds
    /// the same.
    @Test func observersSeeWhatADeletionNulls() throws {
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        configuration.schema = try LinkTests.draft()
        let store = try Store.open(configuration)
        var tx = try store.begin()
        let classes = try ["Badge", "Person", "Dog"].map { try tx.findClass($0) }
        let holder = try tx.findProperty(classes[0], "holder"), id = try tx.findProperty(classes[1], "id")
        let persons = try (0..<3).map { number in
            try [id].withUnsafeBufferPointer { id in
                try withUnsafePointer(to: Value.int(number)) { try tx.create(classes[1], id, $0) }
            }
        }
        let badges = try (0..<9).map { index in
            try [holder].withUnsafeBufferPointer { holder in
                try withUnsafePointer(to: Value.link(persons[index % 3])) { try tx.create(classes[0], holder, $0) }
            }
        }
        _ = try tx.commit()
        let database = store.shared.database
        let schema = try database.snapshot().schema
        let hub = ObserverHub(database, deliversOnWorker: false)
        let seen = Seen()
        let observer = try hub.observe(ObserverScope(class: schema.classes[0])) { seen.take($0) }
        defer { withExtendedLifetime(observer) {} }
        tx = try store.begin()
        try tx.delete(persons[1])
        _ = try tx.commit()
        _ = try hub.deliver()
        #expect(seen.sets.count == 1)
        #expect(seen.sets.last?.modified == [1, 4, 7].map { badges[$0].key })
        #expect((0..<3).allSatisfy { seen.sets.last?.hasChanged(0, ofModification: $0) == true })
        tx = try store.begin()
        #expect(try tx.deleteAll(classes[1]) == 2)
        _ = try tx.commit()
        _ = try hub.deliver()
        #expect(seen.sets.last?.modified == [0, 2, 3, 5, 6, 8].map { badges[$0].key })
        try hub.close()
        try store.close()
    }

    /// A check that finds nothing proves nothing: links that were broken behind the library's back are found.
    @Test func verifyFindsBrokenLinks() throws {
        let schema = Schema(
            classes: [
                ClassSchema(
                    name: "Dog", id: 0,
                    properties: [PropertySchema(name: "owner", kind: .link, isNullable: true, target: 1)],
                    nextColumnID: 1),
                ClassSchema(name: "Person", id: 1, properties: [], nextColumnID: 0),
            ], version: 1)
        for bug in 0..<3 {
            var options = StoreOptions()
            options.isInMemory = true
            options.hasBackgroundThread = false
            let database = try Database.open("", options: options, machine: RealMachine.shared)
            let transaction = try WriteTransaction.begin(database)
            try transaction.setSchema(schema)
            let persons = try transaction.state(1), dogs = try transaction.state(0)
            for _ in 0..<3 { _ = try withUnsafePointer(to: Value.null) { try persons.create($0) } }
            for key in 0..<3 {
                _ = try withUnsafePointer(to: Value(kind: .link, low: Int64(key))) { try dogs.create($0) }
            }
            if bug == 1 { try persons.delete(2) }  // leaves the link
            if bug == 2 { try dogs.cluster.update(try dogs.row(1), 0, Value(kind: .link, low: 0)) }  // leaves the index
            try transaction.commit()
            let findings = Verifier.findings(try database.snapshot())
            switch bug {
            case 0: #expect(findings == [])
            case 1: #expect(findings == ["index of Dog.owner: object 2 links to object 2, which does not exist"])
            default: #expect(findings == ["index of Dog.owner: it has object 1 for object 1, which has object 0"])
            }
            try database.close()
        }
    }

    private final class Seen: @unchecked Sendable {
        var sets: [ChangeSet] = []
        func take(_ set: ChangeSet) -> StoreError? {
            sets.append(set)
            return nil
        }
    }
}

extension UnsafeBufferPointer<UInt32> {
    /// No properties and no values.
    fileprivate func withNothing<R>(_ body: (UnsafeBufferPointer<UInt32>, UnsafePointer<Value>) throws -> R) throws -> R
    {
        try withUnsafePointer(to: Value.null) { try body(self, $0) }
    }
}
