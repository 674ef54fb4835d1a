import FoundationEssentials
import ObjStore
import Testing

private final class Kennel: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var dogs: List<String>
    @Persisted var weights: List<Double?>
    @Persisted var days: List<Date>
    @Persisted var colors: List<Color>
    @Persisted var seen: MutableSet<Int>
    @Persisted var tags: MutableSet<String>
    @Persisted var notes: Map<String, String>
    @Persisted var prices: Map<Int, Decimal128?>
}

private final class Begun: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var words: List<String> = ["a", "b"]
}

/// Lists, sets and maps of values as properties: unmanaged, stored, changed, observed, frozen.
@Suite struct CollectionTests {
    @Test func unmanagedOnesAreStoredWithTheirObject() throws {
        let folder = Folder()
        let day = Date(timeIntervalSince1970: 1_000_000)
        do {
            let store = try Store.open(path: folder.file(), models: [Kennel.self])
            let kennel = Kennel()
            kennel.id = 1
            kennel.dogs.append("Rex")
            kennel.dogs.append(objectsIn: ["Ada", "Rex"])
            kennel.weights = [1.5, nil]
            kennel.days.append(day)
            kennel.colors = [.white, .brown]
            kennel.seen.insert(objectsIn: [3, 1, 2, 3])
            kennel.tags = ["b", "a"]
            kennel.notes["x"] = "y"
            kennel.prices = [1: Decimal128(5), 2: nil]
            try store.write { tx in try tx.add(kennel) }
            #expect(Array(kennel.dogs) == ["Rex", "Ada", "Rex"] && kennel.dogs.isManaged)
            try store.write { tx in
                kennel.dogs[1] = "Bo"
                kennel.dogs.insert("First", at: 0)
                kennel.dogs.move(from: 3, to: 1)
                kennel.seen.remove(2)
                kennel.notes["z"] = "last"
                kennel.notes["x"] = nil
            }
            try store.close()
        }
        let store = try Store.open(path: folder.file(), models: [Kennel.self])
        let kennel = try #require(try store.object(ofType: Kennel.self, forPrimaryKey: 1))
        #expect(Array(kennel.dogs) == ["First", "Rex", "Rex", "Bo"])
        #expect(
            Array(kennel.weights) == [1.5, nil] && Array(kennel.days) == [day]
                && Array(kennel.colors) == [.white, .brown])
        #expect(Array(kennel.seen) == [1, 3] && Array(kennel.tags) == ["a", "b"])
        #expect(kennel.notes.keys == ["z"] && kennel.notes["z"] == "last" && kennel.notes["x"] == nil)
        #expect(
            kennel.prices.count == 2 && kennel.prices[1] == .some(Decimal128(5)) && kennel.prices[2] == .some(nil)
                && kennel.prices[3] == nil)
        #expect("\(kennel.dogs) \(kennel.seen) \(kennel.notes)" == "[First, Rex, Rex, Bo] {1, 3} [z: last]")
        #expect(
            kennel.dogs.index(of: "Bo") == 3 && kennel.dogs.index(of: "none") == nil && kennel.seen.contains(3)
                && !kennel.seen.contains(2))
        let copy = try kennel.detached()
        #expect(!copy.dogs.isManaged && Array(copy.dogs) == Array(kennel.dogs) && copy.notes["z"] == "last")
        try store.close()
    }

    @Test func createFromValuesAndUpdatePolicies() throws {
        let store = try memoryStore([Kennel.self, Begun.self])
        try store.write { tx in
            try tx.create(
                Kennel.self,
                value: [
                    "id": 1, "dogs": ["Rex"], "seen": [2, 1, 2], "notes": ["k": "v"], "weights": [1, nil] as [Any?],
                ])
            let begun = try tx.create(Begun.self, value: ["id": 1])
            #expect(Array(begun.words) == ["a", "b"])
            #expect(Array(try tx.create(Begun.self, value: ["id": 2, "words": [String]()]).words).isEmpty)
        }
        let kennel = try #require(store.objects(Kennel.self).first)
        #expect(
            Array(kennel.dogs) == ["Rex"] && Array(kennel.seen) == [1, 2] && kennel.notes["k"] == "v"
                && Array(kennel.weights) == [1, nil])
        // What is not given stays; what is given replaces.
        try store.write { tx in try tx.create(Kennel.self, value: ["id": 1, "dogs": ["Ada", "Bo"]], update: .modified) }
        #expect(Array(kennel.dogs) == ["Ada", "Bo"] && Array(kennel.seen) == [1, 2])
        let version = try store.version
        try store.write { tx in
            try tx.create(
                Kennel.self, value: ["id": 1, "dogs": ["Ada", "Bo"], "seen": [2, 1], "notes": ["k": "v"]],
                update: .modified)
        }
        #expect(try store.version == version, "nothing differs, so nothing is written")
        try store.write { tx in
            let error = code { try tx.create(Kennel.self, value: ["id": 2, "dogs": ["Rex", 7]]) }
            #expect(error == .wrongType)
            let none = try tx.object(ofType: Kennel.self, forPrimaryKey: 2)
            #expect(none == nil)
        }
        #expect(store.objects(Kennel.self).count == 1)
    }

    @Test func changesOutsideAWriteAreRefused() throws {
        let store = try memoryStore([Kennel.self])
        let kennel = Kennel()
        try store.write { tx in try tx.add(kennel) }
        #expect(code { try Store.checked { kennel.dogs.append("Rex") } } == .notInWrite)
        #expect(code { try Store.checked { kennel.notes["a"] = "b" } } == .notInWrite)
        #expect(code { try Store.checked { _ = kennel.dogs[0] } } == .outOfRange)
        let frozen = try kennel.freeze()
        try store.write { _ in kennel.dogs.append("Rex") }
        #expect(frozen.dogs.isEmpty && kennel.dogs.count == 1)
        try store.write { _ in #expect(code { try Store.checked { frozen.dogs.append("Rex") } } == .wrongView) }
        #expect(code { try store.write { _ in kennel.dogs.remove(at: 5) } } == .outOfRange)
        let list = kennel.dogs
        try store.write { tx in try tx.delete(kennel) }
        #expect(list.isInvalidated)
        #expect(code { try Store.checked { _ = list.count } } == .noSuchObject)
    }

    @Test func manyElements() throws {
        let store = try memoryStore([Kennel.self])
        let kennel = Kennel()
        try store.write { tx in
            try tx.add(kennel)
            kennel.dogs.append(objectsIn: (0..<5000).map { "dog \($0)" })
            for number in 0..<2000 { kennel.seen.insert(number * 7919 % 2003) }
            for number in 0..<1000 { kennel.notes["\(number)"] = "n\(number)" }
        }
        var model = (0..<5000).map { "dog \($0)" }
        #expect(Array(kennel.dogs) == model && kennel.dogs[4321] == "dog 4321")
        #expect(
            Array(kennel.seen) == (0..<2000).map { $0 * 7919 % 2003 }.sorted()
                && kennel.notes.keys == (0..<1000).map { "\($0)" }.sorted())
        try store.write { _ in
            kennel.dogs.removeSubrange(100..<4900)
            model.removeSubrange(100..<4900)
            kennel.dogs.replaceSubrange(10..<20, with: ["x"])
            model.replaceSubrange(10..<20, with: ["x"])
            kennel.seen.formIntersection(Array(0..<50))
            kennel.seen.formSymmetricDifference([0, 99])
        }
        #expect(Array(kennel.dogs) == model)
        #expect(
            Array(kennel.seen) == ((0..<2000).map { $0 * 7919 % 2003 }.filter { $0 < 50 && $0 != 0 } + [99]).sorted())
    }

    @Test func observersSeeThem() async throws {
        let store = try memoryStore([Kennel.self])
        let kennel = Kennel()
        try store.write { tx in try tx.add(kennel) }
        var changes = store.objects(Kennel.self).changes.makeAsyncIterator()
        _ = await changes.next()
        try store.write { _ in kennel.dogs.append("Rex") }
        let next = await changes.next()
        let change = try #require(next)
        #expect(change.modifications == [0])
    }

    /// What is added may be made of the list itself: it is taken before the list changes.
    @Test func listsGetWhatIsMadeOfThemselves() throws {
        let list: List<Int> = [1, 2, 3], set: MutableSet<Int> = [1, 2, 3], map: Map<String, Int> = ["a": 1]
        func counts(_ count: @escaping () -> Int) -> some Sequence<Int> {
            sequence(state: 0) { number in
                number += 1; return number > 100 ? nil : count()
            }
        }
        list.append(objectsIn: counts { list.count })
        #expect(list.count == 103 && list[3...].allSatisfy { $0 == 3 })
        list.insert(contentsOf: counts { list.count }, at: 0)
        #expect(list.count == 203 && list[..<100].allSatisfy { $0 == 103 })
        list.replaceSubrange(0..<200, with: counts { list.count })
        #expect(list.count == 103 && list[..<100].allSatisfy { $0 == 203 })
        set.insert(objectsIn: counts { set.count + 10 })
        #expect(Array(set) == [1, 2, 3, 13])
        set.formSymmetricDifference(counts { set.count })
        #expect(Array(set) == [1, 2, 3, 4, 13])
        map.merge(counts { map.count }.map { ("\(map.count)", $0) })
        #expect(map.count == 2 && map["1"] == 1)
        var words: List<String> = ["b", "a"]
        let same = words
        words.sort { same.count == 2 && $0 < $1 }
        #expect(Array(words) == ["a", "b"])
        words.append(objectsIn: words)
        #expect(Array(words) == ["a", "b", "a", "b"])
    }

    /// Swift takes "é" and "e\u{301}" for one text; a store does not, nor does what is no store's yet, or no more.
    @Test func mapsHaveKeysThatSwiftTakesForEqual() throws {
        let one = "é", other = "e\u{301}"
        #expect(one == other)
        func bytes(_ keys: [String]) -> [[UInt8]] {
            keys.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        }
        let both = bytes([one, other])
        let kennel = Kennel()
        kennel.id = 1
        kennel.notes[one] = "one"
        kennel.notes[other] = "other"
        #expect(
            kennel.notes.count == 2 && kennel.notes[one] == "one" && kennel.notes[other] == "other"
                && bytes(kennel.notes.keys) == both)
        let written: Map<String, Int> = ["é": 1, "e\u{301}": 2]
        #expect(
            written.count == 2 && written.removeValue(forKey: one)
                && written.keys.map { Array($0.utf8) } == [Array(other.utf8)])
        let store = try memoryStore([Kennel.self])
        try store.write { tx in try tx.add(kennel) }
        #expect(bytes(kennel.notes.keys) == both)
        let copy = try kennel.detached()
        #expect(copy.notes.count == 2 && copy.notes[one] == "one" && copy.notes[other] == "other")
        copy.name = "changed"
        try store.write { tx in try tx.add(copy, update: .modified) }
        #expect(kennel.name == "changed" && bytes(kennel.notes.keys) == both)
        try store.write { tx in
            let second = try tx.create(Kennel.self, value: kennel.detached(), update: .all)
            #expect(second.id == 1 && bytes(second.notes.keys) == both)
            let dynamic = try #require(try tx.dynamicObject(ofType: "Kennel", forPrimaryKey: 1))
            let third = try tx.dynamicCreate("Kennel", value: ["id": 3])
            try third.set("notes", to: dynamic.collection("notes"))
            #expect(try third.collection("notes").count == 2)
            kennel.notes = kennel.notes
        }
        #expect(bytes(kennel.notes.keys) == both)
        // The same in values of any type.
        let any: AnyValue = ["é": 1, "e\u{301}": 2]
        #expect(
            any.dictionary?.count == 2 && any[one]?.int == 1 && any[other]?.int == 2 && any == any.detached()
                && any != ["é": 1])
    }
}
