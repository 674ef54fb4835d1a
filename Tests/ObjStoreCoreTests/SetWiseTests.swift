import Testing

import ObjStoreCore

/// Changes of all objects of results or of a collection at once, against dictionaries that are changed one after the
/// other: what is refused has changed nothing, and everything is compared after each step, in both directions of all
/// links.
@Suite struct SetWiseTests {
    /// A dog as it must be. `group` and `rank` together are unique, `chip` alone.
    private struct Dog: Equatable {
        var chip: Int64?
        var age: Int64 = 0
        var city: String?
        var weight: Double? = 1.5
        var group: Int64 = 0
        var rank: Int64?
        var owner: Int64?
        var mates: [Int64] = []
    }

    /// By key; a person is its list, its set and its map of dogs.
    private struct Model: Equatable {
        var dogs: [Int64: Dog] = [:]
        var persons: [Int64: [[Int64?]]] = [:]

        mutating func remove(dogs gone: Set<Int64>) {
            for key in gone { dogs[key] = nil }
            for key in dogs.keys { dogs[key]!.mates.removeAll { gone.contains($0) } }
            for key in persons.keys {
                for place in 0..<2 { persons[key]![place].removeAll { gone.contains($0!) } }
                persons[key]![2] = persons[key]![2].map { $0.flatMap { gone.contains($0) ? nil : $0 } }
            }
        }

        mutating func remove(persons gone: Set<Int64>) {
            for key in gone { persons[key] = nil }
            for key in dogs.keys where dogs[key]!.owner.map({ gone.contains($0) }) == true { dogs[key]!.owner = nil }
        }

        /// Whether a dog may be so, beside the others.
        func isFree(_ dog: Dog, _ key: Int64) -> Bool {
            !dogs.contains { other, it in
                other != key
                    && (it.chip != nil && it.chip == dog.chip
                        || dog.rank != nil && it.group == dog.group && it.rank == dog.rank)
            }
        }
    }

    private enum Field: Int, CaseIterable { case chip, age, city, weight, group, rank, owner }

    private final class Fixture {
        let folder = TestFolder()
        var store: Store, tx: View
        let person: UInt32, dog: UInt32
        /// By `Field`; then mates, and of persons the list, the set and the map.
        let fields: [UInt32], mates: UInt32, dogs: [UInt32], personID: UInt32
        var model = Model(), committed = Model()
        var scopes: [(id: UInt64, model: Model)] = []
        var random: IndexRandom
        var refused = 0, stale = 0, together = 0, undone = 0, deleted = 0, nextPerson: Int64 = 0

        init(seed: UInt64) throws {
            random = IndexRandom(seed)
            store = try Fixture.open(folder)
            let tx = try store.begin()
            let person = try tx.findClass("Person"), dog = try tx.findClass("Dog")
            (self.tx, self.person, self.dog) = (tx, person, dog)
            fields = try Field.allCases.map { try tx.findProperty(dog, "\($0)") }
            mates = try tx.findProperty(dog, "mates")
            dogs = try ["dogs", "fed", "named"].map { try tx.findProperty(person, $0) }
            personID = try tx.findProperty(person, "id")
        }

        static func open(_ folder: TestFolder) throws -> Store {
            var draft = SchemaDraft()
            for cls in ["Person", "Dog"] { try draft.addClass(cls) }
            try draft.addProperty("Person", "id", .int, [.primaryKey])
            try draft.addProperty("Dog", "chip", .int, [.nullable, .unique])
            try draft.addProperty("Dog", "age", .int, [.indexed])
            try draft.addProperty("Dog", "city", .string, [.nullable])
            try draft.addProperty("Dog", "weight", .double, [.nullable])
            try draft.addProperty("Dog", "group", .int, [])
            try draft.addProperty("Dog", "rank", .int, [.nullable])
            try draft.addLink("Dog", "owner", to: "Person")
            try draft.addIndex("Dog", ["group", "rank"], .unique)
            try draft.addIndex("Dog", ["city", "age"], [])
            let links = { (kind: ValueKind) in
                ElementSchema(kind: .link, isNullable: kind == .map, keyKind: kind == .map ? .int : .null)
            }
            try draft.addCollection("Dog", "mates", .list, links(.list), target: "Dog")
            for (name, kind) in [("dogs", ValueKind.list), ("fed", .set), ("named", .map)] {
                try draft.addCollection("Person", name, kind, links(kind), target: "Dog")
            }
            var configuration = StoreConfiguration()
            configuration.place = .file(folder["db"])
            configuration.schema = draft
            configuration.durability = StoreOptions.Durability.none
            return try Store.open(configuration)
        }

        func below(_ bound: Int) -> Int { random.below(bound) }
        func object(_ cls: UInt32, _ key: Int64) -> ObjectID {
            ObjectID(classID: cls, storeTag: tx.shared.tag, key: key)
        }
        func anyDog() -> Int64? { model.dogs.isEmpty ? nil : model.dogs.keys.sorted()[below(model.dogs.count)] }
        func anyPerson() -> Int64? {
            model.persons.isEmpty ? nil : model.persons.keys.sorted()[below(model.persons.count)]
        }

        // MARK: Values

        /// One that a change gives to many.
        func anyValue(_ field: Field) -> (set: (inout Dog) -> Void, value: OwnedValue) {
            func number(_ bound: Int) -> Int64 { Int64(below(bound)) }
            switch field {
            case .chip:
                let chip: Int64? = below(4) == 0 ? number(40) : nil
                return ({ $0.chip = chip }, OwnedValue(chip.map { .int($0) } ?? .null))
            case .age:
                let age = number(6)
                return ({ $0.age = age }, OwnedValue(.int(age)))
            case .city:
                let city: String? = below(4) == 0 ? nil : String(repeating: "city \(below(5))", count: below(3) + 1)
                return ({ $0.city = city }, city.map { city in withText(city) { OwnedValue($0) } } ?? OwnedValue(.null))
            case .weight:
                let weight: Double? = below(4) == 0 ? nil : Double(below(8)) / 4
                return ({ $0.weight = weight }, OwnedValue(weight.map { .double($0) } ?? .null))
            case .group:
                let group = number(50)
                return ({ $0.group = group }, OwnedValue(.int(group)))
            case .rank:
                let rank: Int64? = below(3) == 0 ? number(9) : nil
                return ({ $0.rank = rank }, OwnedValue(rank.map { .int($0) } ?? .null))
            case .owner:
                let owner = below(4) == 0 ? nil : anyPerson()
                return ({ $0.owner = owner }, OwnedValue(owner.map { .link(object(person, $0)) } ?? .null))
            }
        }

        private func withText<T>(_ text: String, _ body: (Value) -> T) -> T {
            var text = text
            return text.withUTF8 { body(.string(UnsafeRawPointer($0.baseAddress), $0.count)) }
        }

        func create(_ count: Int) throws {
            for _ in 0..<count {
                var dog = Dog()
                var values: [OwnedValue] = []
                for field in Field.allCases {
                    let (set, value) = anyValue(field)
                    set(&dog)
                    values.append(value)
                }
                if !model.isFree(dog, -1) { continue }
                let key = try withExtendedLifetime(values) {
                    try fields.withUnsafeBufferPointer { fields in
                        try values.map(\.value).withUnsafeBufferPointer {
                            try tx.create(self.dog, fields, $0.baseAddress!)
                        }
                    }
                }.key
                model.dogs[key] = dog
            }
        }

        func createPerson() throws {
            nextPerson += 1
            let key = try [personID].withUnsafeBufferPointer { ids in
                try [Value.int(nextPerson)].withUnsafeBufferPointer { try tx.create(person, ids, $0.baseAddress!) }
            }.key
            model.persons[key] = [[], [], []]
        }

        // MARK: Lists

        /// Dogs by a comparison, which an index answers or none does; in a view of the transaction.
        func ask() throws -> (Results, [Int64]) {
            let age = Int64(below(7)), keys: [Int64], results: Results
            switch below(4) {
            case 0: (results, keys) = (try tx.find(Query(all: dog)), Array(model.dogs.keys))
            case 1:
                results = try tx.find(Query(dog, fields[Field.weight.rawValue], .equal, .double(1)))
                keys = model.dogs.filter { $0.value.weight == 1 }.map(\.key)
            case 2:
                results = try tx.find(Query(dog, fields[Field.age.rawValue], .equal, .int(age)))
                keys = model.dogs.filter { $0.value.age == age }.map(\.key)
            default:
                results = try tx.find(Query(dog, fields[Field.age.rawValue], .less, .int(age)))
                keys = model.dogs.filter { $0.value.age < age }.map(\.key)
            }
            #expect(results.count == keys.count)
            return (results, keys.sorted())
        }

        /// A collection of dogs: of a person, or the mates of a dog.
        func anyCollection() -> (id: CollectionID, keys: [Int64?])? {
            if below(3) == 0, let key = anyDog() {
                return (CollectionID(owner: object(dog, key), propertyID: mates), model.dogs[key]!.mates)
            }
            guard let key = anyPerson() else { return nil }
            let place = below(3)
            return (CollectionID(owner: object(person, key), propertyID: dogs[place]), model.persons[key]![place])
        }

        func replace(_ id: CollectionID, _ keys: [Int64?]) {
            if id.owner.classID == dog {
                model.dogs[id.owner.key]!.mates = keys.map { $0! }
            } else {
                model.persons[id.owner.key]![dogs.firstIndex(of: id.propertyID)!] = keys
            }
        }

        // MARK: Changes

        /// The same values for dogs, in the order of their keys.
        func setMany(
            _ keys: [Int64], isStale: Bool,
            _ run: (UnsafeBufferPointer<UInt32>, UnsafePointer<Value>) throws(StoreError) -> Int
        ) throws {
            var chosen = Field.allCases.shuffled(using: &random).prefix(below(3) + 1)
            if below(3) == 0 { chosen = [[Field.weight, .group, .age][below(3)]] }
            let changes = chosen.map { anyValue($0) }, ids = chosen.map { fields[$0.rawValue] }
            let values = changes.map(\.value.value)
            var after = model, expected: StatusCode?
            for key in keys where expected == nil {
                guard var new = after.dogs[key] else { expected = .noSuchObject; break }
                for change in changes { change.set(&new) }
                if after.isFree(new, key) { after.dogs[key] = new } else { expected = .duplicateKey }
            }
            // All values are compared with all others, so that the order does not matter.
            if expected == .duplicateKey, isStale { expected = nil } else if isStale { expected = .noSuchObject }
            var status: StatusCode?
            do throws(StoreError) {
                let count = try withExtendedLifetime(changes) { () throws(StoreError) in try call(ids, values, run) }
                #expect(count == keys.count)
                model = after
            } catch {
                status = error.code
                refused += 1
            }
            if isStale {
                #expect(status == .noSuchObject || status == .duplicateKey)
            } else {
                #expect(status == expected, "\(chosen)")
            }
            if keys.count >= 64, status == nil { together += 1 }
        }

        private func call(
            _ ids: [UInt32], _ values: [Value],
            _ run: (UnsafeBufferPointer<UInt32>, UnsafePointer<Value>) throws(StoreError) -> Int
        ) throws(StoreError) -> Int {
            var result: Result<Int, StoreError>!
            ids.withUnsafeBufferPointer { ids in
                values.withUnsafeBufferPointer { values in
                    result = Result { () throws(StoreError) in try run(ids, values.baseAddress!) }
                }
            }
            return try result.get()
        }

        func setResults() throws {
            let (results, keys) = try ask(), isStale = try makeStale(keys)
            try setMany(keys, isStale: isStale) { (ids, values) throws(StoreError) in try tx.set(results, ids, values) }
        }

        /// Now and then one of the objects goes after the list was made.
        func makeStale(_ keys: [Int64]) throws -> Bool {
            guard below(8) == 0, let key = keys.randomElement(using: &random) else { return false }
            try tx.delete(object(dog, key))
            model.remove(dogs: [key])
            stale += 1
            return true
        }

        func setLinked() throws {
            guard let (id, keys) = anyCollection() else { return }
            try setMany(Set(keys.compactMap { $0 }).sorted(), isStale: false) { (ids, values) throws(StoreError) in
                try tx.setObjects(of: id, ids, values)
            }
        }

        func increment() throws {
            let (results, keys) = try ask(), isStale = try makeStale(keys)
            let field = [Field.age, .weight, .group, .rank][below(4)], isHuge = field == .age && below(6) == 0
            let delta = isHuge ? Int64.max - 2 : Int64(below(3)) - 1
            var after = model, changed = 0, expected: StatusCode?
            for key in keys where expected == nil {
                guard var new = after.dogs[key] else { expected = .noSuchObject; break }
                switch field {
                case .age:
                    let (sum, overflow) = new.age.addingReportingOverflow(delta)
                    if overflow { expected = .outOfRange }
                    new.age = sum
                case .weight: new.weight = new.weight.map { $0 + Double(delta) }
                case .group: new.group += delta
                default: new.rank = new.rank.map { $0 + delta }
                }
                if field == .weight && new.weight == nil || field == .rank && new.rank == nil { continue }
                changed += 1
                if expected == nil, !after.isFree(new, key) { expected = .duplicateKey }
                if expected == nil { after.dogs[key] = new }
            }
            do throws(StoreError) {
                let value = field == .weight ? Value.double(Double(delta)) : .int(delta)
                #expect(try tx.increment(results, fields[field.rawValue], value) == changed)
                #expect(expected == nil)
                model = after
            } catch {
                #expect(error.code == expected, "\(error.message)")
                refused += 1
            }
            _ = isStale
        }

        func deleteResults() throws {
            let (results, keys) = try ask(), isStale = try makeStale(keys)
            if keys.count > 60, below(4) > 0 { return }
            do throws(StoreError) {
                #expect(try tx.delete(results) == keys.count)
                #expect(!isStale)
                deleted += keys.count
                model.remove(dogs: Set(keys))
            } catch {
                #expect(error.code == .noSuchObject && isStale)
            }
        }

        func deleteLinked() throws {
            guard let (id, keys) = anyCollection() else { return }
            let gone = Set(keys.compactMap { $0 })
            #expect(try tx.deleteObjects(of: id) == gone.count)
            model.remove(dogs: gone)
        }

        func deletePersons() throws {
            let all = try tx.find(Query(all: person))
            #expect(try tx.delete(all) == model.persons.count)
            model.remove(persons: Set(model.persons.keys))
        }

        func assign() throws {
            guard let (id, old) = anyCollection() else { return }
            let isMap = id.propertyID == dogs[2], isSet = id.propertyID == dogs[1]
            if below(2) == 0 {
                let (results, keys) = try ask(), isStale = try makeStale(keys)
                do throws(StoreError) {
                    try tx.assign(id, results)
                    #expect(!isMap && !isStale)
                    // The owner may be a dog that has just gone.
                    replace(id, keys)
                } catch {
                    #expect(error.code == (isMap ? .wrongType : .noSuchObject) && (isMap || isStale))
                }
                return
            }
            let dogs = model.dogs.keys.sorted(), count = [0, 1, 5, 60, 300][below(5)]
            if dogs.isEmpty { return }
            let targets: [Int64?] = (0..<count).map { index in
                isMap && index % 3 == 0 ? nil : dogs[(index * 7 + below(2)) % dogs.count]
            }
            let values = targets.map { $0.map { .link(object(dog, $0)) } ?? Value.null }
            // Keys come twice, in no order.
            let keys = (0..<count).map { Int64(($0 * 37) % max(1, count * 2 / 3)) }
            try values.withUnsafeBufferPointer { values in
                try keys.map { Value.int($0) }.withUnsafeBufferPointer {
                    try tx.assign(id, isMap ? $0.baseAddress! : nil, values.baseAddress, count)
                }
            }
            if isMap {
                let entries = Dictionary(zip(keys, targets)) { _, last in last }
                replace(id, entries.keys.sorted().map { entries[$0]! })
            } else {
                replace(id, isSet ? Set(targets.map { $0! }).sorted() : targets)
            }
            _ = old
        }

        func deleteEverything() throws {
            #expect(try tx.deleteEverything() == model.dogs.count + model.persons.count)
            model = Model()
        }

        // MARK: Scopes

        func scope() throws {
            if scopes.count < 3, below(2) == 0 { return scopes.append((try tx.beginSavepoint(), model)) }
            guard let scope = scopes.popLast() else { return }
            if below(2) == 0 {
                try tx.rollBack(toSavepoint: scope.id)
                model = scope.model
                undone += 1
            } else {
                try tx.releaseSavepoint(scope.id)
            }
        }

        func end() throws {
            scopes.removeAll()
            if below(3) == 0 {
                try tx.cancel()
                model = committed
            } else {
                _ = try tx.commit()
                committed = model
            }
            if below(2) == 0 {
                try store.close()
                store = try Fixture.open(folder)
            }
            let view = try store.openView()
            #expect(try view.verify { _, _ in } == [])
            view.close()
            tx = try store.begin()
        }

        // MARK: Comparing

        func compare() throws {
            #expect(try tx.count(dog) == model.dogs.count && tx.count(person) == model.persons.count)
            for (key, wanted) in model.dogs {
                var found = Dog()
                func value(_ field: Field) throws -> Value {
                    try tx.value(object(dog, key), fields[field.rawValue], nil)
                }
                func number(_ field: Field) throws -> Int64? {
                    let value = try value(field)
                    return value.isNull ? nil : value.low
                }
                found.chip = try number(.chip)
                found.age = try number(.age)!
                let city = try value(.city)
                found.city =
                    city.isNull
                    ? nil
                    : String(decoding: UnsafeRawBufferPointer(start: city.pointer, count: city.count), as: UTF8.self)
                let weight = try value(.weight)
                found.weight = weight.isNull ? nil : weight.asDouble
                found.group = try number(.group)!
                found.rank = try number(.rank)
                found.owner = try number(.owner)
                found.mates = try elements(dog, key, mates).map { $0! }
                #expect(found == wanted, "dog \(key)")
            }
            for (key, wanted) in model.persons {
                #expect(try dogs.map { try elements(person, key, $0) } == wanted, "person \(key)")
                let owned = model.dogs.filter { $0.value.owner == key }.map(\.key).sorted()
                #expect(try list(tx.incoming(object(person, key), fields[Field.owner.rawValue])) == owned)
            }
            // The inverse of one dog is as good as that of another.
            if let key = anyDog() {
                for (place, property) in dogs.enumerated() {
                    let owners = model.persons.filter { $0.value[place].contains(key) }.map(\.key).sorted()
                    #expect(
                        try list(tx.incoming(object(dog, key), property)) == owners
                            && tx.incomingCount(object(dog, key), property) == owners.count)
                }
            }
            for age in 0..<Int64(3) {
                let wanted = model.dogs.filter { $0.value.age == age }.count
                #expect(try tx.count(Query(dog, fields[Field.age.rawValue], .equal, .int(age))) == wanted)
            }
        }

        private func elements(_ cls: UInt32, _ key: Int64, _ property: UInt32) throws -> [Int64?] {
            var found: [Int64?] = []
            _ = try tx.elements(
                CollectionID(owner: object(cls, key), propertyID: property), from: 0, limit: .max, wantsKeys: false, nil
            ) { _, _, value in
                found.append(value.isNull ? nil : value.low)
            }
            return found
        }

        private func list(_ results: Results) -> [Int64] { (0..<results.count).map { results.list().keys[$0] } }
    }

    @Test(arguments: 1...5) func historiesOfChangesAtOnce(seed: Int) throws {
        let fixture = try Fixture(seed: UInt64(seed))
        try fixture.create(200)
        for _ in 0..<4 { try fixture.createPerson() }
        for _ in 0..<130 {
            if fixture.model.dogs.count < 80 { try fixture.create(150) }
            switch fixture.below(40) {
            case 0...3: try fixture.create([3, 3, 60][fixture.below(3)])
            case 4: try fixture.createPerson()
            case 5...13: try fixture.setResults()
            case 14...17: try fixture.setLinked()
            case 18...22: try fixture.increment()
            case 23...24: try fixture.deleteResults()
            case 25: try fixture.deleteLinked()
            case 26 where fixture.below(5) == 0: try fixture.deletePersons()
            case 27 where fixture.below(10) == 0: try fixture.deleteEverything()
            case 28...33: try fixture.assign()
            case 34...37: try fixture.scope()
            default: if fixture.scopes.isEmpty { try fixture.end() }
            }
            try fixture.compare()
        }
        #expect(
            fixture.refused > 2 && fixture.together > 0,
            "\(fixture.refused) \(fixture.together) \(fixture.stale) \(fixture.undone)")
        try fixture.tx.cancel()
        try fixture.store.close()
    }
}
