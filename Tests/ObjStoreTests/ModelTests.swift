import FoundationEssentials
import Glibc
import ObjStore
import Synchronization
import Testing

/// Model classes: every type there and back, defaults, discovery, and what is refused at open.
@Suite struct ModelTests {
    // MARK: Types

    @Test func everyTypeRoundTripsThroughAFile() throws {
        let folder = Folder()
        let extremes: [(String, Int, Int8, Double, [UInt8], Timestamp)] = [
            ("", 0, 0, 0, [], Timestamp(seconds: 0)),
            (
                "low", .min, .min, -.greatestFiniteMagnitude, [0],
                Timestamp(seconds: -62_135_596_800, nanoseconds: 999_999_999)
            ),
            (
                "high", .max, .max, .infinity, Array(repeating: 255, count: 100_000),
                Timestamp(seconds: 253_402_300_799, nanoseconds: 1)
            ),
            (
                "a\u{0}b — Zürich 🐕", 1 << 40, -1, Double.leastNonzeroMagnitude, Array("x\0y".utf8),
                Timestamp(seconds: 1, nanoseconds: 500_000_000)
            ),
        ]
        do {
            let store = try Store.open(path: folder.file(), models: [Everything.self])
            try store.write { tx in
                for (text, number, tiny, real, bytes, time) in extremes {
                    let object = Everything()
                    object.key = "required " + text
                    object.flag = number > 0
                    object.number = number
                    object.tiny = tiny
                    object.short = Int16(tiny)
                    object.medium = Int32(truncatingIfNeeded: number)
                    object.long = Int64(number)
                    object.real = real
                    object.text = text
                    object.bytes = bytes
                    object.time = time
                    object.color = .white
                    object.size = .large
                    try tx.add(object)
                    let full = Everything()
                    full.key = "optional " + text
                    full.flagOrNot = number > 0
                    full.numberOrNot = number
                    full.tinyOrNot = tiny
                    full.realOrNot = real
                    full.textOrNot = text
                    full.bytesOrNot = bytes
                    full.timeOrNot = time
                    full.colorOrNot = .black
                    full.sizeOrNot = .small
                    // Set one by one instead of with the object.
                    let empty = Everything()
                    empty.key = "set " + text
                    try tx.add(empty)
                    empty.number = number
                    empty.tiny = tiny
                    empty.real = real
                    empty.text = text
                    empty.bytes = bytes
                    empty.time = time
                    empty.numberOrNot = number
                    empty.textOrNot = text
                    empty.textOrNot = nil
                    try tx.add(full)
                }
            }
            try store.close()
        }
        let store = try Store.open(path: folder.file(), models: [Everything.self])
        try Store.checked {
            for (text, number, tiny, real, bytes, time) in extremes {
                let object = try #require(try store.object(ofType: Everything.self, forPrimaryKey: "required " + text))
                #expect(object.flag == (number > 0))
                #expect(object.number == number)
                #expect(object.tiny == tiny)
                #expect(object.short == Int16(tiny))
                #expect(object.medium == Int32(truncatingIfNeeded: number))
                #expect(object.long == Int64(number))
                #expect(object.real == real)
                #expect(object.text == text)
                #expect(object.bytes == bytes)
                #expect(object.time == time)
                #expect(object.color == .white)
                #expect(object.size == .large)
                #expect(
                    object.flagOrNot == nil && object.numberOrNot == nil && object.tinyOrNot == nil
                        && object.realOrNot == nil)
                #expect(object.textOrNot == nil && object.bytesOrNot == nil && object.timeOrNot == nil)
                #expect(object.colorOrNot == nil && object.sizeOrNot == nil)
                let full = try #require(try store.object(ofType: Everything.self, forPrimaryKey: "optional " + text))
                #expect(full.flagOrNot == (number > 0))
                #expect(full.numberOrNot == number)
                #expect(full.tinyOrNot == tiny)
                #expect(full.realOrNot == real)
                #expect(full.textOrNot == text)
                #expect(full.bytesOrNot == bytes)
                #expect(full.timeOrNot == time)
                #expect(full.colorOrNot == .black)
                #expect(full.sizeOrNot == .small)
                let set = try #require(try store.object(ofType: Everything.self, forPrimaryKey: "set " + text))
                #expect(
                    set.number == number && set.tiny == tiny && set.real == real && set.text == text
                        && set.bytes == bytes && set.time == time)
                #expect(set.numberOrNot == number && set.textOrNot == nil)
            }
        }
        let nan = try store.write { tx in try tx.create(Everything.self, value: try sample("nan", ["real": Double.nan]))
        }
        #expect(nan.real.isNaN)
    }

    /// All required properties of `Everything`, and more.
    private func sample(_ key: String, _ more: [String: Any] = [:]) throws -> [String: Any] {
        let values: [String: Any] = [
            "key": key, "flag": true, "number": 1, "tiny": 1, "short": 1, "medium": 1, "long": 1, "real": 1.5,
            "text": "t", "bytes": [1, 2] as [UInt8],
            "time": Timestamp(seconds: 1), "color": "black", "size": 2,
        ]
        return values.merging(more) { $1 }
    }

    @Test func datesAndData() throws {
        final class Event: Object {
            @Persisted(primaryKey: true) var id: Int
            @Persisted(indexed: true) var date: Date
            @Persisted var dateOrNot: Date?
            @Persisted var data: Data
            @Persisted var dataOrNot: Data?
        }
        let store = try memoryStore([Event.self])
        let dates =
            [0, 1e-3, -0.5, 700_000_000.123_456, 800_000_000.987_654_321, -63_000_000_000, 1e10].map {
                Date(timeIntervalSinceReferenceDate: $0)
            } + [Date()]
        try store.write { tx in
            for (id, date) in dates.enumerated() {
                let event = Event()
                event.id = id
                event.date = date
                event.dateOrNot = id % 2 == 0 ? date : nil
                event.data = Data([1, 2, UInt8(id)])
                try tx.add(event)
            }
        }
        for (event, date) in zip(store.objects(Event.self), dates) {
            #expect(event.date == date)
            #expect(event.dateOrNot == (event.id % 2 == 0 ? date : nil))
            #expect(event.data == Data([1, 2, UInt8(event.id)]))
            #expect(event.dataOrNot == nil)
        }
        #expect(store.objects(Event.self).where { $0.date < dates[0] }.count == 2)
        #expect(store.objects(Event.self).where { $0.data == Data([1, 2, 3]) }.map(\.id) == [3])
        #expect(Timestamp(Date(timeIntervalSince1970: -0.25)) == Timestamp(seconds: -1, nanoseconds: 750_000_000))
    }

    @Test func refusedValues() throws {
        let store = try memoryStore([Everything.self, Dog.self])
        let object = try store.write { tx in try tx.create(Everything.self, value: try sample("a")) }
        // Each is reported by the write, which undoes what came before.
        func refused(_ change: (Everything) -> Void) -> ObjStoreError.Code? {
            code {
                try store.write { _ in
                    object.number = 99
                    change(object)
                }
            }
        }
        #expect(refused { $0.time = Timestamp(seconds: 0, nanoseconds: 1_000_000_000) } == .outOfRange)
        #expect(refused { $0.time = Timestamp(seconds: 0, nanoseconds: -1) } == .outOfRange)
        #expect(refused { $0.key = "b" } == .keyImmutable)
        #expect(refused { $0.key = "a" } == nil)
        #expect(object.number == 99)
        try store.write { _ in object.number = 1 }
        #expect(refused { $0.text = String(repeating: "x", count: 65 << 20) } == .valueTooLarge)
        #expect(object.number == 1)
        #expect(object.text == "t")
        // Caught inside, the write continues.
        try store.write { _ in
            #expect(code { try Store.checked { object.key = "b" } } == .keyImmutable)
            object.number = 7
        }
        #expect(object.number == 7)
    }

    @Test func storedValuesThatThePropertyCannotHold() throws {
        // The same class name with other Swift types, as a later version of a program might have it.
        enum Old {
            final class Thing: Object {
                @Persisted var number: Int
                @Persisted var kind: String
            }
        }
        enum New {
            final class Thing: Object {
                @Persisted var number: Int8
                @Persisted var kind: Color
            }
        }
        let folder = Folder()
        let store = try Store.open(path: folder.file(), models: [Old.Thing.self])
        try store.write { tx in _ = try tx.create(Old.Thing.self, value: [300, "pink"]) }
        let other = try Store.open(path: folder.file(), models: [New.Thing.self])
        let thing = try #require(other.objects(New.Thing.self).first)
        #expect(code { try Store.checked { _ = thing.number } } == .outOfRange)
        #expect(code { try Store.checked { _ = thing.kind } } == .outOfRange)
        try store.write { tx in
            store.objects(Old.Thing.self)[0].number = -128
            store.objects(Old.Thing.self)[0].kind = "white"
        }
        try other.refresh()
        #expect(thing.number == -128)
        #expect(thing.kind == .white)
    }

    // MARK: Defaults

    final class Counted: Object {
        static let made = Atomic<Int>(0)
        @Persisted(primaryKey: true) var id = Counted.made.add(1, ordering: .relaxed).newValue
        @Persisted var label = "constant"
        @Persisted var random = Int.random(in: 0...Int.max)
        @Persisted var note: String? = nil
    }

    @Test func defaultsAreEvaluatedForNewObjectsOnly() throws {
        let folder = Folder()
        let store = try Store.open(path: folder.file(), models: [Counted.self])
        let before = Counted.made.load(ordering: .relaxed)
        let (first, second) = try store.write { tx in
            (try tx.create(Counted.self), try tx.create(Counted.self, value: ["label": "x"]))
        }
        #expect(Counted.made.load(ordering: .relaxed) == before + 2)
        #expect(first.id == before + 1 && second.id == before + 2)
        #expect(first.label == "constant" && second.label == "x")
        #expect(first.random != second.random)
        #expect(first.note == nil)
        for object in store.objects(Counted.self) { _ = object.label }
        #expect(Counted.made.load(ordering: .relaxed) == before + 2, "reading makes no new defaults")
        // What is another each time is no part of the schema: the file opens again.
        _ = try Store.open(path: folder.file(), models: [Counted.self])
        // An update leaves alone what is not given.
        let random = first.random
        try store.write { tx in
            _ = try tx.create(Counted.self, value: ["id": first.id, "label": "new"], update: .modified)
        }
        #expect(first.random == random && first.label == "new")
    }

    class Animal: Object {
        @Persisted var legs = 4
        @Persisted private var secret = "s"
        var plain = [1]
        lazy var lazily = 3
        var doubled: Int { legs * 2 }
        var whisper: String { secret }
    }
    final class Bird: Animal {
        @Persisted(primaryKey: true) var ring: String
        @Persisted private(set) var flights = 0
        func fly() { flights += 1 }
    }

    @Test func inheritedPrivateAndPlainProperties() throws {
        let store = try memoryStore([Bird.self])
        let bird = try Bird(value: ["ring": "A1", "legs": 2])
        bird.plain = [7]
        try store.write { tx in
            try tx.add(bird)
            bird.fly()
        }
        #expect(bird.plain == [7], "the same instance")
        let other = try #require(try store.object(ofType: Bird.self, forPrimaryKey: "A1"))
        #expect(other.legs == 2 && other.flights == 1 && other.whisper == "s" && other.doubled == 4)
        #expect(other.plain == [1] && other.lazily == 3)
        #expect("\(other)" == "Bird { legs = 2, secret = s, ring = A1, flights = 1 }")
    }

    // MARK: Open

    final class Person: Object { @Persisted var boss: Person? }
    final class Album: Object {
        @Persisted var titles: List<Person>
    }
    final class TwoKeys: Object {
        @Persisted(primaryKey: true) var first: Int
        @Persisted(primaryKey: true) var second: Int
    }
    final class DoubleKey: Object { @Persisted(primaryKey: true) var key: Double }
    final class OptionalKey: Object { @Persisted(primaryKey: true) var key: Double? }
    final class BytesIndex: Object { @Persisted(indexed: true) var bytes: [UInt8] }
    class Generic<T: Persistable>: Object { @Persisted var value: T }
    final class OfText: Generic<String> { @Persisted var number: Int }

    @Test func modelsThatCannotBeStored() throws {
        func refusal(_ model: Object.Type) -> ObjStoreError? {
            do { _ = try memoryStore([model]) } catch { return error as? ObjStoreError }
            return nil
        }
        for (model, code, name, property) in [
            (Album.self, ObjStoreError.Code.invalidSchema, "Album", "titles"),
            (TwoKeys.self, .invalidSchema, "TwoKeys", "second"), (DoubleKey.self, .invalidSchema, "DoubleKey", "key"),
            (OptionalKey.self, .invalidSchema, "OptionalKey", "key"),
            (BytesIndex.self, .invalidSchema, "BytesIndex", "bytes"),
        ] as [(Object.Type, ObjStoreError.Code, String, String)] {
            let error = refusal(model)
            #expect(error?.code == code)
            #expect(error?.className == name)
            #expect(error?.propertyName == property)
            #expect(error?.message.contains("\(name).\(property)") == true)
        }
        // Unmanaged objects have links and lists.
        let ann = Person()
        ann.boss = ann
        let album = Album()
        album.titles.append(ann)
        #expect(Array(album.titles) == [ann])
        // A generic superclass is no obstacle.
        let store = try memoryStore([OfText.self])
        try store.write { tx in _ = try tx.create(OfText.self, value: ["x", 1]) }
        #expect(store.objects(OfText.self).first?.value == "x")
    }

    @Test func schemaChanges() throws {
        enum First { final class Thing: Object { @Persisted var a = 1 } }
        enum Second {
            final class Thing: Object {
                @Persisted var a = 1
                @Persisted var b = "new"
                @Persisted var c: Double?
            }
        }
        enum Third { final class Thing: Object { @Persisted var a = "text" } }
        let folder = Folder()
        do {
            let store = try Store.open(path: folder.file(), models: [First.Thing.self])
            try store.write { tx in _ = try tx.create(First.Thing.self) }
            try store.close()
        }
        #expect(code { try Store.open(path: folder.file(), models: [Second.Thing.self]) } == .schemaMismatch)
        var configuration = Store.Configuration(path: folder.file(), models: [Second.Thing.self])
        configuration.schemaVersion = 2
        let store = try Store(configuration)
        let thing = try #require(store.objects(Second.Thing.self).first)
        #expect(thing.a == 1 && thing.b == "new" && thing.c == nil)
        do {
            _ = try Store.open(path: folder.file(), models: [Third.Thing.self])
            Issue.record("another type was accepted")
        } catch {
            #expect(error.code == .schemaMismatch)
        }
    }

    @Test func openErrors() throws {
        let folder = Folder()
        #expect(code { try Store.open(path: folder.path + "/missing/x.objstore") } == .notFound)
        var existing = Store.Configuration(path: folder.file(), models: [Dog.self])
        existing.access = .existing
        #expect(code { try Store(existing) } == .notFound)
        existing.schemaVersion = 0
        #expect(code { try Store(existing) } == .outOfRange)
        let file = open(folder.file("text"), O_CREAT | O_WRONLY, 0o600)
        write(file, String(repeating: "not a store ", count: 2000), 24_000)
        Glibc.close(file)
        #expect(code { try Store.open(path: folder.file("text")) } == .notAStore)
        let store = try Store.open(path: folder.file(), models: [Dog.self])
        #expect(code { try store.write { tx in try tx.create(Toy.self) } } == .noSuchClass)
        #expect(code { try store.write { tx in try tx.add(Toy()) } } == .noSuchClass)
        #expect(code { try store.objects(Toy.self).validate() } == .noSuchClass)
        #expect(code { try store.object(ofType: Toy.self, forPrimaryKey: 1) } == .noSuchClass)
        var readOnly = Store.Configuration(path: folder.file(), models: [Dog.self])
        readOnly.access = .readOnly
        #expect(code { try Store(readOnly).write { _ in } } == .readOnly)
        readOnly.models = [Toy.self]
        #expect(code { try Store(readOnly) } == .readOnly)
    }

    /// As Realm's: a declared id is a new one in each object that a program makes.
    @Test func idsThatAreDeclaredWithoutADefault() throws {
        final class Todo: Object {
            @Persisted(primaryKey: true) var id: ObjectId
            @Persisted var mark: UUID
            @Persisted(generated: true) var number: ObjectId
            @Persisted var other: ObjectId?
        }
        let store = try memoryStore([Todo.self]), todos = [Todo(), Todo(), Todo()]
        #expect(
            Set(todos.map(\.id)).count == 3 && Set(todos.map(\.mark)).count == 3
                && todos.allSatisfy { $0.other == nil && $0.number == ObjectId() })
        let ids = todos.map(\.id), marks = todos.map(\.mark)
        try store.write { tx in try tx.add(todos) }
        #expect(todos.map(\.id) == ids && todos.map(\.mark) == marks && Set(todos.map(\.number)).count == 3)
        for (id, mark) in zip(ids, marks) {
            #expect(try store.object(ofType: Todo.self, forPrimaryKey: id)?.mark == mark)
        }
        // One that is gone, and one that is given.
        try store.write { tx in try tx.delete(todos[0]) }
        #expect(code { try Store.checked { _ = todos[0].mark } } == .noSuchObject)
        let given = ObjectId.generate()
        #expect(try store.write { tx in try tx.create(Todo.self, value: ["id": given, "mark": marks[1]]) }.id == given)
        #expect(code { try store.write { tx in try tx.create(Todo.self, value: ["mark": marks[1]]) } } == .missingValue)
    }

    @Test func durabilities() throws {
        for durability in [Store.Durability.full, .relaxed(within: .milliseconds(20)), .none] {
            let folder = Folder()
            var configuration = Store.Configuration(path: folder.file(), models: [Dog.self])
            configuration.durability = durability
            let store = try Store(configuration)
            try store.write { tx in _ = try tx.create(Dog.self, value: [1, "Rex"]) }
            try store.flush()
            #expect(try store.statistics().durableVersion == store.version)
            try store.close()
            #expect(try Store(configuration).objects(Dog.self).map(\.name) == ["Rex"])
            configuration.durability = .relaxed(within: .zero)
            #expect(code { try Store(configuration) } == .outOfRange)
        }
    }
}
