import Foundation
import ObjStore
import Testing

// Primary keys of several properties, primary keys that can be nil, counters, classes that are dropped, objects that
// become embedded.

final class SensorReading: Object {
    @Persisted var sensor = ""
    @Persisted var time: Int
    @Persisted var value: Double?
    @Persisted var tags: List<String>
    override class var indexes: [Index] { [Index("sensor", "time", primaryKey: true)] }
}

final class SensorReport: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var best: SensorReading?
}

final class OptionalKey: Object {
    @Persisted(primaryKey: true) var id: String?
    @Persisted var n: Int
}

final class KeyHolder: Object {
    @Persisted var one: OptionalKey?
    @Persisted var many: List<OptionalKey>
    @Persisted var named: Map<String, OptionalKey?>
}

final class FlyCounter: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var fliesEaten: Counter?
    @Persisted var jumps: Counter = 0
}

final class CounterAsKey: Object {
    @Persisted(primaryKey: true) var id: Counter
}

private func memory(_ models: [Object.Type]) throws -> Store {
    try Store(Store.Configuration(.memory(), models: models))
}

@Suite struct PrimaryKeyTests {
    @Test func keyOfSeveralProperties() throws {
        let store = try memory([SensorReading.self, SensorReport.self])
        let first = SensorReading()
        first.sensor = "a"
        first.time = 1
        first.value = 1.5
        try store.write { tx in
            try tx.add(first)
            #expect { try tx.create(SensorReading.self, value: ["sensor": "a", "time": 1]) } throws: {
                ($0 as? ObjStoreError)?.code == .duplicateKey
            }
            let same = try tx.create(
                SensorReading.self, value: ["sensor": "a", "time": 1, "value": 2.5], update: .modified)
            #expect(same == first && first.value == 2.5)
            // What is not given stays; a new one gets defaults.
            try tx.create(SensorReading.self, value: ["sensor": "a", "time": 1, "tags": ["x"]], update: .modified)
            #expect(first.value == 2.5 && Array(first.tags) == ["x"])
            let other = SensorReading()
            other.sensor = "a"
            other.time = 1
            other.value = 4
            #expect { try tx.add(other) } throws: { ($0 as? ObjStoreError)?.code == .duplicateKey }
            try tx.add(other, update: .all)
            #expect(other == first && first.value == 4)
            // Linked objects are found by their keys, too.
            let report = try tx.create(
                SensorReport.self, value: ["id": 1, "best": ["sensor": "a", "time": 1, "value": 7.0]], update: .modified
            )
            #expect(report.best == first && first.value == 7)
            let second = SensorReport()
            second.id = 2
            second.best = SensorReading()
            second.best?.sensor = "a"
            second.best?.time = 1
            try tx.add(second, update: .modified)
            #expect(second.best == first)
            #expect(tx.objects(SensorReading.self).count == 1)
        }
        #expect(try store.object(ofType: SensorReading.self, by: ["time": 1, "sensor": "a"]) == first)
        #expect(try store.object(ofType: SensorReading.self, by: ["time": 2, "sensor": "a"]) == nil)
        #expect { _ = try store.object(ofType: SensorReading.self, forPrimaryKey: "a") } throws: {
            ($0 as? ObjStoreError)?.code == .invalidArgument
        }
        #expect { try store.write { _ in first.time = 2 } } throws: { ($0 as? ObjStoreError)?.code == .keyImmutable }
        #expect(first.time == 1)
        #expect(
            Set([first]).contains(
                try #require(try store.object(ofType: SensorReading.self, by: ["sensor": "a", "time": 1]))))
    }

    /// What is written where a text goes no deeper can be read back.
    @Test func linksByPrimaryKeyInJSON() throws {
        let store = try memory([OptionalKey.self, KeyHolder.self])
        try store.write { tx in
            try tx.create(OptionalKey.self, value: ["id": "a", "n": 1])
            try tx.create(OptionalKey.self, value: ["id": "b", "n": 2])
            let holder = try tx.create(
                KeyHolder.self, json: #"{"one":"a","many":["b","a","b",{"id":"c","n":3}],"named":{"x":"b","y":null}}"#)
            #expect(holder.one?.n == 1 && holder.many.map(\.n) == [2, 1, 2, 3] && holder.named["x"]??.n == 2)
            let text = try holder.json(depth: 0)
            #expect(text == #"{"one":"a","many":["b","a","b","c"],"named":{"x":"b","y":null}}"#)
            let copy = try tx.create(KeyHolder.self, json: text)
            #expect(try copy.json(depth: 0) == text)
            #expect(tx.objects(OptionalKey.self).count == 3)
            #expect { try tx.create(KeyHolder.self, json: #"{"many":["a","zz"]}"#) } throws: { error in
                let error = error as? ObjStoreError
                return error?.code == .noSuchObject && error?.message.contains("$.many[1]") == true
                    && error?.message.contains("OptionalKey with id = \"zz\"") == true
            }
            #expect { try tx.create(KeyHolder.self, json: #"{"one":5}"#) } throws: {
                ($0 as? ObjStoreError)?.code == .wrongType
            }
            #expect(tx.objects(KeyHolder.self).count == 2)
        }
    }

    @Test("rule 6: a nil primary key is a key") func nilKey() throws {
        let store = try memory([OptionalKey.self])
        try store.write { tx in
            try tx.create(OptionalKey.self, value: ["id": "a", "n": 1])
            try tx.create(OptionalKey.self, value: ["id": nil, "n": 2])
            #expect { try tx.create(OptionalKey.self, value: ["n": 3]) } throws: {
                ($0 as? ObjStoreError)?.code == .duplicateKey
            }
            try tx.create(OptionalKey.self, value: ["id": nil, "n": 4], update: .modified)
            let object = OptionalKey()
            object.n = 5
            try tx.add(object, update: .modified)
        }
        #expect(store.objects(OptionalKey.self).count == 2)
        #expect(try store.object(ofType: OptionalKey.self, forPrimaryKey: nil as String?)?.n == 5)
        #expect(try store.object(ofType: OptionalKey.self, forPrimaryKey: "a")?.n == 1)
        #expect(try store.object(ofType: OptionalKey.self, forPrimaryKey: "b") == nil)
    }

    @Test("D52: counters") func counters() throws {
        let store = try memory([FlyCounter.self])
        let frog = FlyCounter()
        frog.id = 1
        try frog.jumps.increment(by: 2)
        try store.write { tx in
            try tx.add(frog)
            #expect(frog.jumps == 2 && frog.fliesEaten == nil)
            try frog.fliesEaten?.increment()
            #expect(frog.fliesEaten == nil)
            frog.fliesEaten = Counter(5)
            try frog.fliesEaten?.increment(by: 10)
            try frog.fliesEaten?.decrement()
            try frog.jumps.increment()
            #expect(frog.fliesEaten?.value == 14 && frog.jumps == 3)
            frog.fliesEaten?.set(1)
            let created = try tx.create(FlyCounter.self, value: ["id": 2, "fliesEaten": 7])
            #expect(created.fliesEaten == 7 && created.jumps == 0)
        }
        #expect(frog.fliesEaten == 1 && frog.jumps.value + 1 == 4)
        #expect(store.objects(FlyCounter.self).where { $0.jumps > 2 }.count == 1)
        #expect(store.objects(FlyCounter.self).where { $0.fliesEaten == 7 }.count == 1)
        #expect {
            try store.write { _ in
                frog.jumps.set(.max)
                try frog.jumps.increment()
            }
        } throws: { ($0 as? ObjStoreError)?.code == .outOfRange }
        #expect(frog.jumps == 3)
        #expect {
            try store.write { _ in
                frog.jumps.set(9); frog.id = 3
            }
        } throws: { ($0 as? ObjStoreError)?.code == .keyImmutable }
        #expect { _ = try memory([CounterAsKey.self]) } throws: { ($0 as? ObjStoreError)?.code == .invalidSchema }
    }
}

private enum Before {
    final class Person: Object {
        @Persisted var name = ""
        @Persisted var home: Address?
        @Persisted var others: List<Address>
    }
    final class Address: Object {
        @Persisted var street = ""
    }
    final class Old: Object {
        @Persisted var n: Int
        @Persisted var person: Person?
    }
}

private enum After {
    final class Person: Object {
        @Persisted var name = ""
        @Persisted var home: Address?
        @Persisted var others: List<Address>
    }
    final class Address: EmbeddedObject {
        @Persisted var street = ""
    }
}

@Suite struct SchemaChangeTests {
    private func configuration(
        _ folder: Folder, _ models: [Object.Type], _ version: UInt64, dropping: [String] = []
    ) -> Store.Configuration {
        var result = Store.Configuration(path: folder.file(), models: models)
        result.schemaVersion = version
        result.droppedClasses = dropping
        return result
    }

    @Test func droppedClass() throws {
        let folder = Folder()
        var store = try Store(configuration(folder, [Before.Person.self, Before.Address.self, Before.Old.self], 1))
        try store.write { tx in
            let person = try tx.create(Before.Person.self, value: ["name": "Ada"])
            for n in 0..<10 { try tx.create(Before.Old.self, value: ["n": n, "person": person]) }
        }
        try store.close()
        #expect {
            _ = try Store(configuration(folder, [Before.Person.self, Before.Address.self], 1, dropping: ["Old"]))
        } throws: { ($0 as? ObjStoreError)?.code == .schemaMismatch }
        #expect {
            _ = try Store(configuration(folder, [Before.Person.self, Before.Address.self], 2, dropping: ["Address"]))
        } throws: { ($0 as? ObjStoreError)?.code == .invalidSchema }
        #expect { _ = try Store(configuration(folder, [], 2, dropping: ["Person"])) } throws: { error in
            (error as? ObjStoreError)?.code == .schemaMismatch && (error as? ObjStoreError)?.className == "Old"
        }
        store = try Store(
            configuration(folder, [Before.Person.self, Before.Address.self], 2, dropping: ["Old", "NeverThere"]))
        #expect(store.objects(Before.Person.self).count == 1)
        try store.close()
        // Another class of that name.
        store = try Store(configuration(folder, [Before.Person.self, Before.Address.self, Before.Old.self], 2))
        #expect(store.objects(Before.Old.self).isEmpty)
        try store.close()
    }

    @Test("D77: objects become embedded") func objectsBecomeEmbedded() throws {
        let folder = Folder()
        var store = try Store(configuration(folder, [Before.Person.self, Before.Address.self], 1))
        try store.write { tx in
            try tx.create(
                Before.Person.self, value: ["name": "Ada", "home": ["street": "One"], "others": [["street": "Two"]]])
            try tx.create(Before.Person.self, value: ["name": "Eve", "home": ["street": "Three"]])
        }
        let orphan = try store.write { tx in try tx.create(Before.Address.self, value: ["street": "Nowhere"]) }
        #expect { _ = try Store(configuration(folder, [After.Person.self, After.Address.self], 2)) } throws: { error in
            (error as? ObjStoreError)?.code == .schemaMismatch
                && (error as? ObjStoreError)?.message.contains("1 of 4 objects do not have one parent") == true
        }
        try store.write { tx in try tx.delete(orphan) }
        try store.close()
        var migrating = configuration(folder, [After.Person.self, After.Address.self], 2)
        migrating.migrationBlock = { migration, _ in
            try migration.enumerateObjects(ofType: "Address") { old, new in
                let street = old["street"]?.string
                #expect(new?.parent?["name"]?.string == (street == "Three" ? "Eve" : "Ada") && old.parent == nil)
            }
            try migration.enumerateObjects(ofType: "Person") { old, new in
                #expect(old.parent == nil && new?.parent == nil)
            }
            let addresses = migration.transaction.objects(After.Address.self)
            #expect(addresses.map { ($0.parent as? After.Person)?.name } == ["Ada", "Ada", "Eve"])
        }
        store = try Store(migrating)
        let people = store.objects(After.Person.self)
        #expect(people.compactMap { $0.home?.street } == ["One", "Three"])
        #expect(people[0].others[0].parent?.isSameObject(as: people[0]) == true)
        try store.write { tx in
            try tx.delete(people[0])
            people[0].home = After.Address()
        }
        #expect(people.count == 1 && people[0].home?.street == "")
        try store.close()
    }
}
