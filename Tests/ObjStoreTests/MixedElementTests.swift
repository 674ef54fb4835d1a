import ObjStore
import Testing

/// Lists, sets and maps of values of any type (D41).
@Suite struct MixedElementTests {
    final class Frog: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var things: List<AnyValue>
        @Persisted var seen: MutableSet<AnyValue>
        @Persisted var notes: Map<String, AnyValue>
        @Persisted var numbers: Map<Int, AnyValue>
    }
    final class Pond: Object {
        @Persisted var name = ""
        @Persisted var best: AnyValue
    }
    final class Part: EmbeddedObject {
        @Persisted var number = 0
    }
    final class Box: Object {
        @Persisted var part: Part?
    }
    static let models: [Object.Type] = [Frog.self, Pond.self, Part.self, Box.self]
    let store: Store

    init() throws { store = try memoryStore(MixedElementTests.models) }

    func frog(_ id: Int, _ things: [AnyValue] = []) -> Frog {
        let frog = Frog()
        frog.id = id
        frog.things.append(objectsIn: things)
        return frog
    }

    func pond(_ name: String) -> Pond {
        let pond = Pond()
        pond.name = name
        return pond
    }

    var ponds: [String] { store.objects(Pond.self).map(\.name).sorted() }

    /// Whatever gives it an element: deeper than a store has them, and deeper than what describes objects may be.
    @Test(arguments: [150, 198, 199, 200, 201, 250]) func elementsAreNotNestedTooDeep(depth: Int) throws {
        var value: AnyValue = 1, given: Any = 1
        for _ in 0..<depth { (value, given) = ([value], [given]) }
        let deep = value, described = given, frog = frog(1)
        try store.write { tx in try tx.add(frog) }
        let bodies: [(Transaction) throws -> Void] = [
            { _ in frog.things.append(deep) }, { _ in frog.seen.insert(deep) }, { _ in frog.notes["k"] = deep },
            { _ in frog.things = [deep] },
            { tx in _ = try tx.create(Frog.self, value: ["id": 2, "things": [described]] as [String: Any]) },
            { tx in _ = try tx.create(Frog.self, value: ["id": 2, "seen": [described]] as [String: Any]) },
            { tx in _ = try tx.create(Frog.self, value: ["id": 2, "notes": ["k": described]] as [String: Any]) },
            { _ in try frog.setValue([described], forKey: "things") },
            { _ in try frog.setValue(["k": described], forKey: "notes") },
            { tx in try tx.add(try Frog(value: ["id": 3, "things": [described]] as [String: Any])) },
            { _ in try frog.dynamic().collection("things").append(described) },
            { _ in try frog.dynamic().collection("things").append(deep) },
        ]
        for (number, body) in bodies.enumerated() {
            try store.write { tx in
                let code = code { try Store.checked { try body(tx) } }
                #expect(code == .outOfRange, "\(number): \(String(describing: code))")
                try tx.cancel()
            }
        }
        #expect(
            frog.things.isEmpty && frog.seen.isEmpty && frog.notes.count == 0 && store.objects(Frog.self).count == 1)
    }

    /// What no store takes is an element as long as there is none.
    @Test func unmanagedSets() throws {
        var deep: AnyValue = 1, same: AnyValue = 1
        for _ in 0..<5_000 { (deep, same) = ([deep], [same]) }
        let lost: AnyValue = [.object(pond("lost"))], here: AnyValue = .object(pond("here"))
        let seen = MutableSet<AnyValue>([2, deep, 1, lost, same, here, 0.5, lost, 1, [3], here, 2])
        #expect(
            seen.count == 7 && [0.5, 1, 2, [3], deep, same, lost, here].allSatisfy { seen.contains($0) }
                && !seen.contains(3))
        #expect(
            seen.remove(same) && !seen.contains(deep) && seen.insert(deep) && !seen.insert(deep) && seen.remove(1)
                && seen.count == 6)
        let frog = frog(1)
        frog.seen = [1, deep]
        #expect(frog.seen.count == 2)
        #expect(code { try store.write { tx in try tx.add(frog) } } == .outOfRange)
        #expect(!frog.isManaged && store.objects(Frog.self).isEmpty)
    }

    static var every: [AnyValue] {
        [
            .none, true, .int(.max), 1, 1.0, .float(1.5), "", .string(String(repeating: "é", count: 400)), .data([]),
            .data([0, 255]),
            .date(Timestamp(seconds: -5, nanoseconds: 7)), [], [:], [[1, ["a": .none]], ["b": [true, 2.5]]],
        ]
    }

    @Test func elementsOfEveryTypeComeBack() throws {
        let frog = frog(1, MixedElementTests.every)
        for (index, value) in MixedElementTests.every.enumerated() { frog.notes["\(index)"] = value }
        frog.numbers[-3] = ["x": 1]
        try store.write { tx in
            try tx.add(frog)
            #expect(Array(frog.things) == MixedElementTests.every)
        }
        #expect(
            frog.things.isManaged && Array(frog.things) == MixedElementTests.every
                && frog.things.count == MixedElementTests.every.count)
        for (index, value) in MixedElementTests.every.enumerated() {
            #expect(frog.things[index] == value && frog.notes["\(index)"] == value)
        }
        #expect(frog.numbers[-3] == ["x": 1] && frog.notes["none"] == nil)
        // An element is found as it was given: the int is no double, and the other way round.
        #expect(frog.things.index(of: 1.0) == 4 && frog.things.index(of: 1) == 3 && frog.things.index(of: 2) == nil)
        #expect(frog.things.index(of: [[1, ["a": .none]], ["b": [true, 2.5]]]) == 13)
        let copy = try frog.detached()
        #expect(
            Array(copy.things) == MixedElementTests.every && copy.numbers[-3] == ["x": 1]
                && copy.things[13].list?.isManaged == false)
        let frozen = try frog.freeze()
        try store.write { _ in frog.things.removeAll() }
        #expect(Array(frozen.things) == MixedElementTests.every && frog.things.isEmpty)
        #expect(try store.verify() == [])
    }

    @Test func elementsAreLive() throws {
        let frog = frog(1, [1, ["a": [1, 2]], [3]])
        frog.notes["k"] = [1]
        frog.numbers[-5] = ["x": 1]
        try store.write { tx in try tx.add(frog) }
        let thing = frog.things[1], inner = try #require(thing["a"]?.list)
        #expect(inner.isManaged)
        try store.write { _ in
            inner[0] = 7
            inner.append(["deep": .none])
            frog.things[2].list?.insert("first", at: 0)
            frog.notes["k"]?.list?.append(2)
            frog.numbers[-5]?["y"] = 2
            for element in frog.things { element.list?.append("loop") }
        }
        #expect(
            Array(frog.things) == [1, ["a": [7, 2, ["deep": .none]]], ["first", 3, "loop"]]
                && thing == ["a": [7, 2, ["deep": .none]]])
        #expect(frog.notes["k"] == [1, 2] && frog.numbers[-5] == ["x": 1, "y": 2])
        try store.write { _ in
            frog.things.move(from: 2, to: 0)
            frog.things[1] = [.none]
            frog.things.swapAt(0, 1)
            frog.things[2]["a"]?.list?.insert([8], at: 0)
            frog.things[2]["a"]?.list?.swapAt(0, 3)
            frog.things[2]["a"]?.list?.remove(at: 3)
            for (_, value) in frog.numbers { value.dictionary?["z"] = 3 }
        }
        #expect(
            Array(frog.things) == [[.none], ["first", 3, "loop"], ["a": [["deep": .none], 7, 2]]]
                && frog.numbers[-5]?["z"] == 3)
        #expect(code { try Store.checked { inner[0] = 1 } } == .notInWrite)
        #expect(try store.verify() == [])
    }

    @Test func sets() throws {
        let frog = frog(1), here = pond("P")
        frog.seen.insert(objectsIn: ["a", 1, .none, .object(here), 1.0, 1, .object(here), "a"])
        #expect(frog.seen.count == 5 && frog.seen.contains(.object(here)) && !frog.seen.contains(2))
        try store.write { tx in
            try tx.add(frog)
            #expect(
                !frog.seen.insert(1) && frog.seen.insert(2.5) && !frog.seen.insert(.object(here))
                    && frog.seen.remove(2.5) && !frog.seen.remove(7))
        }
        #expect(
            Array(frog.seen) == [.none, 1, 1.0, "a", .object(here)] && frog.seen.contains(1.0)
                && !frog.seen.contains(.object(pond("P"))))
        #expect(code { try store.write { _ in frog.seen.insert([1]) } } == .wrongType)
        // Many: all, or none.
        try store.write { _ in
            #expect(
                code { try Store.checked { frog.seen.insert(objectsIn: [100, .object(pond("lost")), [1]]) } }
                    == .wrongType)
            #expect(!frog.seen.contains(100) && ponds == ["P"])
            frog.seen.formUnion([100, 200, 1])
            frog.seen.formSymmetricDifference([200, 300])
            frog.seen.subtract([300, .object(pond("loose"))])
            frog.seen.formIntersection([.none, 1, 1.0, "a", .object(here), .object(pond("loose")), 400])
        }
        try store.write { tx in try tx.delete(here) }
        #expect(Array(frog.seen) == [.none, 1, 1.0, "a"])
        #expect(try store.verify() == [])
    }

    @Test func linksBringTheirObjects() throws {
        let here = pond("P"), other = pond("Q"),
            frog = frog(1, [.object(here), [.object(here), ["deep": .object(other)]]])
        frog.seen.insert(.object(other))
        frog.notes["p"] = .object(here)
        here.best = .object(frog)
        try store.write { tx in try tx.add(frog) }
        #expect(ponds == ["P", "Q"] && here.best == .object(frog) && frog.things[1][1]?["deep"] == .object(other))
        // Into a list that is there: all of it, or nothing.
        try store.write { _ in
            frog.things.append(.object(pond("R")))
            frog.things[1].list?.append([.object(pond("S"))])
            frog.notes["more"] = ["a": .object(pond("T"))]
        }
        #expect(ponds == ["P", "Q", "R", "S", "T"] && frog.things[2].object?.isManaged == true)
        let lost = pond("lost")
        for refused in [
            { frog.things.insert(.object(lost), at: 99) }, { frog.things[99] = [.object(lost)] },
            { _ = frog.seen.insert([.object(lost)]) },
        ] {
            #expect(code { try store.write { _ in refused() } } != nil)
        }
        #expect(ponds == ["P", "Q", "R", "S", "T"] && !lost.isManaged)
        #expect(code { try store.write { _ in frog.things.append(.object(Part())) } } == .embedded)
        let elsewhere = try memoryStore(MixedElementTests.models)
        let far = try elsewhere.write { tx in try tx.create(Pond.self, value: ["name": "far"]) }
        #expect(code { try store.write { _ in frog.things.append([.object(far)]) } } == .wrongStore)
        try store.write { tx in try tx.delete(here) }
        #expect(frog.things[0].isNone && frog.things[1][0]?.isNone == true && frog.notes["p"]?.isNone == true)
        #expect(try store.verify() == [])
    }

    @Test func valuesCopiesAndUpserts() throws {
        let here = try store.write { tx in try tx.create(Pond.self, value: ["name": "P"]) }
        let values: [String: Any] = [
            "id": 1, "things": [1, [here, "x"], pond("made")] as [Any], "seen": ["a", here] as [Any],
            "notes": ["a": ["b": here]], "numbers": [3: [1]],
        ]
        let frog = try store.write { tx in try tx.create(Frog.self, value: values) }
        #expect(
            frog.things[0] == 1 && frog.things[1] == [.object(here), "x"]
                && (frog.things[2].object as? Pond)?.name == "made")
        #expect(
            Array(frog.seen) == ["a", .object(here)] && frog.notes["a"] == ["b": .object(here)]
                && frog.numbers[3] == [1] && ponds == ["P", "made"])
        // Copies: each object once, as deep as requested.
        let copy = try frog.detached()
        #expect(
            copy.things[1][0]?.object === copy.notes["a"]?["b"]?.object
                && (copy.things[1][0]?.object as? Pond)?.name == "P")
        #expect(copy.seen.contains { $0.object === copy.things[1][0]?.object })
        let alone = try frog.detached(depth: 0)
        #expect(
            Array(alone.things) == [1, [.none, "x"], .none] && Array(alone.seen) == ["a"]
                && alone.notes["a"] == ["b": .none])
        #expect((try frog.things.detached()[2].object as? Pond)?.name == "made")
        let elsewhere = try memoryStore(MixedElementTests.models)
        let moved = try elsewhere.write { tx in try tx.create(Frog.self, value: frog) }
        #expect(
            moved.things[1][0] == moved.notes["a"]?["b"] && moved.seen.contains(moved.things[1][0] ?? .none)
                && elsewhere.objects(Pond.self).count == 2)
        #expect(try elsewhere.verify() == [])
        // What is the same is not written.
        func upsert(_ things: [AnyValue]) throws -> Int {
            nonisolated(unsafe) var heard = 0
            let token = try frog.observe { change in if case .change = change { heard += 1 } }
            try store.deliver()
            let same = Frog()
            same.id = 1
            same.things.append(objectsIn: things)
            same.seen.insert(objectsIn: ["a", .object(here)])
            same.notes["a"] = ["b": .object(here)]
            same.numbers[3] = [1]
            try store.write { tx in try tx.add(same, update: .modified) }
            try store.deliver()
            token.invalidate()
            return heard
        }
        let made = frog.things[2]
        #expect(try upsert([1, [.object(here), "x"], made]) == 0)
        #expect(try upsert([1.0, [.object(here), "x"], made]) == 1 && frog.things[0] == 1.0)
        #expect(try upsert([1.0, [made, "x"], made]) == 1 && frog.things[1][0] == made)
        // By name.
        try store.write { _ in
            try frog.setValue(["y", [2]] as [Any], forKey: "things")
            try frog.setValue(["k": here] as [String: Any], forKey: "notes")
        }
        #expect(Array(frog.things) == ["y", [2]] && frog.notes["k"] == .object(here) && frog.notes.count == 1)
        #expect(try store.verify() == [])
    }

    @Test func json() throws {
        let text =
            #"{"id": 1, "things": [1, 2.5, "x", null, {"a": [true]}], "notes": {"k": [1]}, "numbers": {"4": "four"}}"#
        let frog = try store.write { tx in try tx.create(Frog.self, json: text) }
        #expect(
            Array(frog.things) == [1, 2.5, "x", .none, ["a": [true]]] && frog.notes["k"] == [1]
                && frog.numbers[4] == "four")
        #expect(try frog.json().contains(#""things":[1,2.5,"x",null,{"a":[true]}]"#))
    }
}
