import ObjStore
import Testing

/// What is written into a property of an enum is one of its cases, whatever writes it.
@Suite struct EnumerationTests {
    enum State: String, PersistableEnum { case open, done }
    enum Level: Int, PersistableEnum { case low = 1, high = 5 }
    final class Task: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var state: State
        @Persisted var level: Level?
        @Persisted var states: List<State>
        @Persisted var levels: MutableSet<Level>
        @Persisted var marks: Map<String, Level?>
    }

    final class Narrow: Object {
        @Persisted(primaryKey: true) var id: Int16
        @Persisted var tiny: Int8 = 5
        @Persisted var short: Int16?
        @Persisted var all: List<Int32>
        @Persisted var byKey: Map<Int8, Int8>
    }

    /// Integers of fewer bits: what is written fits, whatever writes it.
    @Test func narrowIntegers() throws {
        let store = try memoryStore([Narrow.self])
        try store.write { tx in
            try tx.create(
                Narrow.self,
                json:
                    #"""
                    {"id": -32768, "tiny": -128, "short": 32767, "all": [2147483647, -2147483648], "byKey": {"127": \#
                    -128}}
                    """#
            )
        }
        let one = try #require(store.objects(Narrow.self).first)
        #expect(
            one.id == .min && one.tiny == .min && one.short == .max && Array(one.all) == [.max, .min]
                && one.byKey[127] == -128)
        for (json, path) in [
            (#"{"id": 40000}"#, "$.id"), (#"{"id": 1, "tiny": 128}"#, "$.tiny"),
            (#"{"id": 1, "short": -32769}"#, "$.short"), (#"{"id": 1, "all": [0, 2147483648]}"#, "$.all[1]"),
            (#"{"id": 1, "byKey": {"128": 1}}"#, "$.byKey"), (#"{"id": 1, "byKey": {"1": 200}}"#, "$.byKey"),
        ] {
            do {
                try store.write { tx in try tx.create(Narrow.self, json: json) }
                Issue.record("\(json) was taken")
            } catch let error as ObjStoreError {
                #expect(
                    error.code == .outOfRange && error.message.contains(path) && error.message.contains("bounds"),
                    "\(error)")
            }
        }
        #expect(code { try store.write { tx in try tx.dynamicCreate("Narrow", value: ["id": 70000]) } } == .outOfRange)
        #expect(store.objects(Narrow.self).count == 1)
    }

    final class Small: Object {
        @Persisted(primaryKey: true, generated: true) var id: Int8
        @Persisted var n = 0
        @Persisted var next: Small?
    }
    final class Short: Object {
        @Persisted(primaryKey: true, generated: true) var id: Int16
        @Persisted var n = 0
    }
    final class Medium: Object {
        @Persisted(primaryKey: true, generated: true) var id: Int32
        @Persisted var n = 0
    }

    /// What a store generates fits, too, whoever makes the object.
    @Test func generatedKeysOfNarrowIntegers() throws {
        let store = try memoryStore([Small.self, Short.self, Medium.self])
        try store.write { tx in
            try tx.create(Small.self, value: ["id": 125])
            #expect(try tx.create(Small.self).id == 126)
            #expect(try tx.insert(Small.self, [Column(\.n, [1])]).created == 1)
            try tx.create(Short.self, value: ["id": Int16.max])
            try tx.create(Medium.self, value: ["id": Int32.max])
        }
        #expect(store.objects(Small.self).map(\.id) == [125, 126, 127])
        let chain = Small()
        chain.next = Small()
        let ways: [(Transaction) throws -> Void] = [
            { tx in try tx.create(Small.self) },
            { tx in try tx.create(Small.self, value: ["n": 1], update: .modified) }, { tx in try tx.add(Small()) },
            { tx in try tx.add(Small(), update: .all) }, { tx in try tx.add(chain) },
            { tx in try tx.create(Small.self, value: ["id": 1, "next": ["n": 1]] as [String: Any]) },
            { tx in try tx.create(Small.self, json: "{n: 1}") },
            { tx in try tx.createAll(Small.self, json: "[{n: 1}]", update: .modified) },
            { tx in try tx.create(Small.self, json: "{id: 128}") },
            { tx in try tx.dynamicCreate("Small", value: ["n": 1]) },
            { tx in try tx.insert(Small.self, [Column(\.n, [1])]) },
            { tx in try tx.insert(Small.self, [Column(\.n, [1])], update: .modified) },
        ]
        for (number, way) in ways.enumerated() {
            #expect("\(number)") { try store.write { tx in try way(tx) } } throws: { error in
                let error = error as? ObjStoreError
                return error?.code == .outOfRange && error?.className == "Small" && error?.propertyName == "id"
                    && error?.message.contains("128 is beyond its bounds: -128 to 127") == true
            }
        }
        #expect(store.objects(Small.self).count == 3 && !chain.isManaged)
        #expect(code { try store.write { tx in try tx.create(Short.self) } } == .outOfRange)
        #expect(code { try store.write { tx in try tx.create(Medium.self) } } == .outOfRange)
        // Several at once: all, or none.
        let other = try memoryStore([Small.self])
        #expect(
            code { try other.write { tx in try tx.insert(Small.self, [Column(\.n, Array(0..<128))]) } } == .outOfRange)
        #expect(try other.write { tx in try tx.insert(Small.self, [Column(\.n, Array(0..<127))]).created } == 127)
        #expect(other.objects(Small.self).map(\.id).max() == 127)
        // The greatest that the type has is gone again: it has used nothing up.
        for reopened in [false, true] {
            let folder = Folder()
            var store = try Store(Store.Configuration(path: folder.file(), models: [Medium.self]))
            try store.write { tx in
                try tx.delete(tx.create(Medium.self, value: ["id": Int32.max]))
                if !reopened { #expect(try tx.create(Medium.self).id == 1) }
            }
            if reopened {
                try store.close()
                store = try Store(Store.Configuration(path: folder.file(), models: [Medium.self]))
            }
            try store.write { tx in
                let id = try tx.create(Medium.self).id, next = try tx.create(Medium.self).id
                #expect(id == (reopened ? 1 : 2) && next == id + 1)
            }
        }
    }

    final class Frog: Object {
        @Persisted var jumps: Counter = 2
        @Persisted var friends: List<Frog>
    }

    /// Counters of many objects; and what is of another store is in no list.
    @Test func countersOfResults() throws {
        let store = try memoryStore([Frog.self]), other = try memoryStore([Frog.self])
        let stranger = try other.write { tx in try tx.create(Frog.self) }
        try store.write { tx in
            for _ in 0..<3 { try tx.create(Frog.self) }
            #expect(try store.objects(Frog.self).increment(\.jumps, by: 4) == 3)
            store.objects(Frog.self)[0].friends.append(store.objects(Frog.self)[1])
        }
        #expect(
            try store.objects(Frog.self).map(\.jumps.value) == [6, 6, 6]
                && store.objects(Frog.self).sum(of: \.jumps) == 18)
        #expect(try Store.checked { store.objects(Frog.self)[0].friends.index(of: stranger) } == nil)
    }

    @Test func json() throws {
        let store = try memoryStore([Task.self])
        let fits =
            #"""
            {"id": 1, "state": "done", "level": 5, "states": ["open", "done"], "levels": [1], "marks": {"a": 5, "b": \#
            null}}
            """#
        try store.write { tx in try tx.create(Task.self, json: fits) }
        let task = try #require(store.objects(Task.self).first)
        #expect(
            task.state == .done && task.level == .high && Array(task.states) == [.open, .done]
                && task.levels.contains(.low))
        for (json, path) in [
            (#"{"id": 2, "state": "zebra"}"#, "$.state"), (#"{"id": 1, "level": 2}"#, "$.level"),
            (#"{"id": 1, "states": ["open", "zebra"]}"#, "$.states[1]"),
            (#"{"id": 1, "levels": [3]}"#, "$.levels[0]"), (#"{"id": 1, "marks": {"a": 4}}"#, "$.marks.a"),
        ] {
            do {
                try store.write { tx in try tx.create(Task.self, json: json, update: .modified) }
                Issue.record("\(json) was taken")
            } catch let error as ObjStoreError {
                #expect(
                    error.code == .outOfRange && error.message.contains(path) && error.className == "Task", "\(error)")
            }
        }
        #expect(code { try store.write { tx in try tx.create(Task.self, value: ["id": 3, "state": "zebra"]) } } != nil)
        #expect(store.objects(Task.self).count == 1 && task.state == .done && task.level == .high)
    }
}
