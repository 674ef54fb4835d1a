import ObjStore
import Observation
import Synchronization
import Testing

/// Lists on a screen, and what is there again whenever it has changed.
@Suite struct LiveListTests {
    final class City: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var population = 0
    }
    final class Atlas: Object {
        @Persisted var cities: List<City>
        @Persisted var seen: MutableSet<City>
        @Persisted var words: List<String>
        @Persisted var marks: MutableSet<Int>
        @Persisted var notes: Map<String, String?>
        @Persisted var extra: AnyValue = ["list": [1, [2]], "map": ["a": 1]]
    }
    final class CityName: Projection<City> {
        @Projected(\City.name) var title
    }

    private static func atlas() throws -> Store {
        let store = try memoryStore([City.self, Atlas.self])
        try store.write { tx in
            for (id, name, population) in [(1, "Bern", 134), (2, "Basel", 173), (3, "Zug", 31), (4, "Chur", 38)] {
                try tx.create(City.self, value: [id, name, population])
            }
            let atlas = try tx.create(Atlas.self, value: [:] as [String: Any])
            atlas.cities.append(objectsIn: store.objects(City.self))
            atlas.words.append(objectsIn: ["a", "b", "a"])
            atlas.marks.insert(objectsIn: [3, 1])
            atlas.notes["x"] = "1"
        }
        return store
    }

    /// A random write to everything that the lists show.
    private static func change(_ store: Store, _ random: inout Numbers, _ next: inout Int) throws {
        try store.write { tx in
            let atlas = try #require(store.objects(Atlas.self).first), cities = store.objects(City.self)
            for _ in 0...random.below(3) {
                switch random.below(14) {
                case 0, 1:
                    next += 1
                    let city = try tx.create(
                        City.self, value: [next, "city \(next)", random.below(100)])
                    if random.below(2) == 0 { atlas.cities.insert(city, at: random.below(atlas.cities.count + 1)) }
                    atlas.seen.insert(city)
                case 2: if cities.count > 2 { try tx.delete(cities[random.below(cities.count)]) }
                case 3, 4: if !cities.isEmpty { cities[random.below(cities.count)].population = random.below(100) }
                case 5:
                    let count = atlas.cities.count
                    if count > 1 { atlas.cities.move(from: random.below(count), to: random.below(count)) }
                case 6: atlas.words.insert("w\(random.below(5))", at: random.below(atlas.words.count + 1))
                case 7: if !atlas.words.isEmpty { atlas.words.remove(at: random.below(atlas.words.count)) }
                case 8: atlas.marks.insert(random.below(20))
                case 9: atlas.marks.remove(random.below(20))
                case 10, 11: change(try #require(atlas.extra["list"]?.list), &random)
                case 12: atlas.extra["map"]?["k\(random.below(6))"] = random.below(3) == 0 ? nil : .int(random.below(9))
                default:
                    let key = "k\(random.below(6))"
                    if random.below(3) == 0 {
                        atlas.notes.removeValue(forKey: key)
                    } else {
                        atlas.notes[key] = "\(random.below(9))"
                    }
                }
            }
        }
    }

    private static func change(_ list: AnyList, _ random: inout Numbers) {
        switch random.below(4) {
        case 0: list.insert(.int(random.below(9)), at: random.below(list.count + 1))
        case 1: if list.count > 1 { list.swapAt(random.below(list.count), random.below(list.count)) }
        case 2: if !list.isEmpty { list.remove(at: random.below(list.count)) }
        default: if !list.isEmpty { list[random.below(list.count)] = [.int(random.below(9))] }
        }
    }

    private struct Numbers {
        var state: UInt64
        mutating func below(_ end: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(end))
        }
    }

    /// What one list shows, by its rows, and by what a screen has made of the differences.
    @MainActor private final class Screen<Element> {
        let list: LiveList<Element>
        let line: (Element) -> String
        let real: () -> [String]
        var drawn: [String]
        var ids: [Int]

        init(
            _ source: some ListSource<Element>, _ line: @escaping (Element) -> String,
            _ real: @escaping () -> [String]
        ) throws {
            list = try LiveList(source)
            self.line = line
            self.real = real
            drawn = list.rows.map { line($0.element) }
            ids = list.rows.map(\.id)
            list.onUpdate = { [unowned self] in draw($0) }
        }

        /// By the differences alone; and an id goes with its element.
        func draw(_ rows: ListSnapshot<Element>) {
            let moved = Dictionary(uniqueKeysWithValues: rows.moves.map { ($0.to, ids[$0.from]) })
            for at in rows.deletions.reversed() {
                drawn.remove(at: at)
                ids.remove(at: at)
            }
            let known = Set(ids)
            for at in rows.insertions {
                drawn.insert(line(rows[at].element), at: at)
                ids.insert(rows[at].id, at: at)
                if let id = moved[at] { #expect(rows[at].id == id) } else { #expect(!known.contains(rows[at].id)) }
            }
            for at in rows.modifications { drawn[at] = line(rows[at].element) }
            #expect(ids == rows.map(\.id) && Set(ids).count == ids.count)
        }

        var isRight: Bool { list.rows.map { line($0.element) } == real() && drawn == real() }
    }

    @MainActor @Test(arguments: [1, 2, 3]) func listsOfAllKindsFollow(_ seed: UInt64) async throws {
        let store = try LiveListTests.atlas(), atlas = try #require(store.objects(Atlas.self).first)
        let all = store.objects(City.self), sorted = all.sorted(by: \.population), few = sorted.limit(3)
        func line(_ city: City) -> String { "\(city.name) \(city.population)" }
        let cities = try [
            Screen(all, line) { all.map(line) }, Screen(sorted, line) { sorted.map(line) },
            Screen(few, line) { few.map(line) },
            Screen(all.where { $0.population > 50 }, line) {
                all.where { $0.population > 50 }.map(line)
            },
            Screen(atlas.cities, line) { atlas.cities.map(line) },
            Screen(atlas.seen, line) { atlas.seen.map(line) },
        ]
        let names = store.objects(CityName.self).sorted(by: \.name)
        let titles = try Screen(names, { $0.title }) { names.map { $0.title } }
        let words = try Screen(atlas.words, { $0 }) { Array(atlas.words) }
        let marks = try Screen(atlas.marks, { "\($0)" }) { atlas.marks.map { "\($0)" } }
        let notes = try Screen(atlas.notes, { "\($0.key): \($0.value ?? "")" }) {
            atlas.notes.map { "\($0.key): \($0.value ?? "")" }
        }
        let dynamic = try atlas.dynamic().collection("words")
        let values = try Screen(dynamic, { "\($0)" }) { dynamic.values.map { "\($0)" } }
        let extra = try (#require(atlas.extra["list"]?.list), #require(atlas.extra["map"]?.dictionary))
        let mixed = try Screen(extra.0, { "\($0)" }) { extra.0.map { "\($0)" } }
        let keyed = try Screen(extra.1, { "\($0.key): \($0.value)" }) { extra.1.map { "\($0.key): \($0.value)" } }
        func followed() -> Bool {
            cities.allSatisfy { $0.isRight } && titles.isRight && words.isRight && marks.isRight && notes.isRight
                && values.isRight && mixed.isRight && keyed.isRight
        }
        // There is something from the start.
        #expect(titles.list.rows.map(\.title) == ["Basel", "Bern", "Chur", "Zug"])
        #expect(followed() && mixed.drawn == ["1", "[2]"])
        var random = Numbers(state: seed), next = 10
        for round in 0..<40 {
            for _ in 0...random.below(3) { try LiveListTests.change(store, &random, &next) }
            var turns = 0
            while turns < 100_000, !followed() {
                await Task.yield()
                turns += 1
            }
            try #require(turns < 100_000, "round \(round) of seed \(seed)")
        }
    }

    /// What is put in the place of a list is no list, or another one; and its object may go.
    @MainActor @Test func aListInsideOfAValueThatIsReplaced() async throws {
        let store = try LiveListTests.atlas(), atlas = try #require(store.objects(Atlas.self).first)
        let list = try LiveList(try #require(atlas.extra["list"]?.list))
        func until(_ wanted: [String]) async {
            while list.rows.map({ "\($0.element)" }) != wanted { await Task.yield() }
        }
        await until(["1", "[2]"])
        try store.write { _ in atlas.extra["list"] = 7 }
        await until([])
        try store.write { _ in atlas.extra["list"] = [3, 4] }
        await until(["3", "4"])
        try store.write { tx in try tx.delete(atlas) }
        await until([])
        #expect(store.lastError == nil)
    }

    @MainActor @Test func whoReadsIsToldByObservation() async throws {
        let store = try LiveListTests.atlas()
        let list = try LiveList(store.objects(City.self).sorted(by: \.name)), told = Mutex(0)
        func look() -> [String] {
            withObservationTracking {
                list.rows.map(\.name)
            } onChange: {
                told.withLock { $0 += 1 }
            }
        }
        #expect(look() == ["Basel", "Bern", "Chur", "Zug"])
        for _ in 0..<100 { await Task.yield() }
        #expect(told.withLock { $0 } == 0)
        try store.write { tx in try tx.create(City.self, value: [5, "Aarau", 22]) }
        while told.withLock({ $0 }) == 0 { await Task.yield() }
        #expect(look() == ["Aarau", "Basel", "Bern", "Chur", "Zug"])
        #expect(list.rows.insertions == [0] && !list.rows.isNew)
        let id = list.rows[1].id
        #expect(list.rows.index(ofID: id) == 1 && list.rows.index(ofID: -1) == nil)
    }

    @MainActor @Test func aListStopsAndGoes() async throws {
        let store = try LiveListTests.atlas()
        let stopped = try LiveList(store.objects(City.self))
        weak var gone: LiveList<City>?
        do {
            let list = try LiveList(store.objects(City.self))
            gone = list
            #expect(list.rows.count == 4)
        }
        stopped.stop()
        try store.write { tx in try tx.create(City.self, value: [5, "Aarau", 22]) }
        for _ in 0..<500 { await Task.yield() }
        #expect(gone == nil && stopped.rows.count == 4)
        // Neither holds an old version any more: each write has one to itself.
        try store.close()
        #expect(stopped.rows.count == 4)
    }

    @Test func whatCannotFollowSaysWhy() async throws {
        let store = try LiveListTests.atlas()
        #expect(code { _ = try store.objects(City.self).snapshots(keyPaths: ["nothing"]) } == .noSuchProperty)
        #expect(code { _ = try List<City>().snapshots() } == .wrongView)
        #expect(code { _ = try AnyMap(["a": 1]).snapshots() } == .wrongView)
        let atlas = try #require(store.objects(Atlas.self).first), list = try #require(atlas.extra["list"]?.list)
        #expect(code { _ = try list.snapshots(keyPaths: ["name"]) } == .invalidArgument)
        let frozen = try store.freeze().objects(City.self)
        #expect(code { _ = try frozen.snapshots() } == .wrongView)
        #expect(code { _ = try store.objects(City.self).snapshots(interval: .seconds(-5)) } == .outOfRange)
    }

    @Test func snapshotsInALoop() async throws {
        let store = try LiveListTests.atlas()
        let names = store.objects(City.self).sorted(by: \.name)
        var lists: [[String]] = []
        let snapshots = try names.snapshots(keyPaths: ["name"])
        for await rows in snapshots {
            lists.append(rows.map(\.name))
            switch lists.count {
            case 1: try store.write { tx in try tx.delete(names[0]) }
            case 2:
                // Not of what modifications do not count of.
                try store.write { _ in names[0].population = 1 }
                try store.write { _ in names[0].name = "Zwingen" }
            default: try store.close()
            }
        }
        #expect(
            lists == [
                ["Basel", "Bern", "Chur", "Zug"], ["Bern", "Chur", "Zug"], ["Chur", "Zug", "Zwingen"],
            ])
    }
}
