import Dispatch
import ObjStore
import Observation
import Synchronization
import Testing

/// Sections on a screen, and where else they are observed.
@Suite struct LiveSectionTests {
    final class Land: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
    }
    final class Town: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var size = 0
        @Persisted var land: Land?
        @Persisted var extra: AnyValue
    }

    private static let letters = ["", "a", "Ab", "b", "ba", "éa", "Éb", "ß", "c"]

    private static func map() throws -> Store {
        let store = try memoryStore([Land.self, Town.self])
        try store.write { tx in
            for id in 0..<3 { try tx.create(Land.self, value: [id, "land \(id)"]) }
            for id in 0..<6 {
                let town = try tx.create(Town.self, value: [id, letters[id], id % 3])
                town.land = store.objects(Land.self)[id % 3]
            }
        }
        return store
    }

    private static func change(_ store: Store, _ random: inout Q.Random, _ next: inout Int) throws {
        try store.write { tx in
            let lands = Array(store.objects(Land.self)), towns = Array(store.objects(Town.self))
            for _ in 0...random.number(4) {
                guard random.number(5) > 0, let town = towns.isEmpty ? nil : towns[random.number(towns.count)] else {
                    next += 1
                    let town = try tx.create(
                        Town.self, value: [next, random.one(of: letters), random.number(30)])
                    town.land = random.orNil(random.one(of: lands))
                    continue
                }
                if town.isInvalidated { continue }
                switch random.number(7) {
                case 0, 1: try tx.delete(town)
                case 2: town.size = random.number(30)
                case 3: town.name = random.one(of: letters)
                case 4: town.land = random.orNil(random.one(of: lands))
                case 5: random.one(of: lands).name = random.one(of: letters)
                default: town.extra = random.number(2) == 0 ? .int(1) : .double(1)
                }
            }
        }
    }

    /// What one screen shows, and what it has made of the differences.
    @MainActor private final class Screen {
        let isRight: () -> Bool
        let updates: () -> Int

        init<Key: CollectionElement>(_ source: SectionedResults<Key, Town>) throws {
            func line(_ town: Town) -> String { "\(town.id) \(town.name) \(town.size) \(town.land?.name ?? "-")" }
            func drawn(_ sections: SectionsSnapshot<Key, Town>) -> [Drawn] {
                sections.map { section in
                    Drawn(id: section.id, key: "\(section.key)", rows: section.map { ($0.id, line($0.element)) })
                }
            }
            let live = try LiveSections(source), screen = Shown(drawn(live.sections))
            live.onUpdate = { sections in
                screen.updates += 1
                screen.follow(sections, drawn(sections)) { line($0) }
            }
            updates = { screen.updates }
            isRight = {
                let asked = source.map { section in ("\(section.key)", section.map(line)) }
                func isSame(_ sections: [Drawn]) -> Bool {
                    sections.count == asked.count
                        && zip(sections, asked).allSatisfy { $0.key == $1.0 && $0.rows.map(\.line) == $1.1 }
                }
                return isSame(drawn(live.sections)) && isSame(screen.sections)
            }
        }
    }

    private struct Drawn {
        let id: Int
        let key: String
        var rows: [(id: Int, line: String)]
    }

    @MainActor private final class Shown {
        var sections: [Drawn]
        var updates = 0
        /// Of which id each object and key is.
        private var rowIDs: [String: Int] = [:]
        private var sectionIDs: [String: Int] = [:]

        init(_ sections: [Drawn]) {
            self.sections = sections
            check(sections)
        }

        /// By the differences alone.
        func follow<Key>(
            _ now: SectionsSnapshot<Key, Town>, _ after: [Drawn], _ line: (Town) -> String
        ) {
            #expect(!now.isNew)
            for move in now.moves {
                #expect(sections[move.from.section].rows[move.from.item].id == now[move.to].id)
            }
            for place in now.deletions.reversed() { sections[place.section].rows.remove(at: place.item) }
            for number in now.sectionsToDelete.reversed() {
                #expect(sections[number].rows.isEmpty)
                sections.remove(at: number)
            }
            for number in now.sectionsToInsert {
                sections.insert(Drawn(id: now[number].id, key: "\(now[number].key)", rows: []), at: number)
            }
            for place in now.insertions {
                sections[place.section].rows.insert((now[place].id, line(now[place].element)), at: place.item)
            }
            for place in now.modifications {
                #expect(sections[place.section].rows[place.item].id == now[place].id)
                sections[place.section].rows[place.item].line = line(now[place].element)
            }
            #expect(sections.map(\.id) == after.map(\.id))
            #expect(sections.map { $0.rows.map(\.id) } == after.map { $0.rows.map(\.id) })
            check(after)
            if let row = after.last?.rows.last {
                let place = SectionIndexPath(section: after.count - 1, item: after[after.count - 1].rows.count - 1)
                #expect(now.place(ofID: row.id) == place && now.place(ofID: -1) == nil)
            }
        }

        /// An id goes with its object, and with the key of its section, as long as these are there.
        private func check(_ shown: [Drawn]) {
            var rows: [String: Int] = [:], keys: [String: Int] = [:]
            for section in shown {
                keys[section.key] = section.id
                for row in section.rows { rows[String(row.line.prefix { $0 != " " })] = row.id }
            }
            #expect(keys.count == shown.count && rows.count == shown.reduce(0) { $0 + $1.rows.count })
            let all = Array(keys.values) + Array(rows.values)
            #expect(Set(all).count == all.count)
            for (object, id) in rows { if let known = rowIDs[object] { #expect(known == id) } }
            for (key, id) in keys { if let known = sectionIDs[key] { #expect(known == id) } }
            (rowIDs, sectionIDs) = (rows, keys)
        }
    }

    @MainActor @Test(arguments: [1, 2, 3, 4] as [UInt64]) func sectionsOfAllKindsFollow(_ seed: UInt64) async throws {
        let store = try Self.map(), towns = store.objects(Town.self)
        let screens = try [
            Screen(towns.sectioned(by: \.size)),
            Screen(towns.sorted(by: \.name).sectioned(by: \.size, ascending: false)),
            Screen(towns.sorted(by: \.size).sectioned(byFirstLetterOf: \.name)),
            Screen(towns.sorted(by: \.size).sectioned(byFirstLetterOf: \.name, in: .ofAppearance)),
            Screen(towns.sectioned(by: \.land?.name)), Screen(towns.sorted(by: \.name).sectioned(by: "size / $0", 10)),
            Screen(towns.filter("size > 3 SORT(size DESC) LIMIT(5)").sectioned(by: \.name, in: .ofAppearance)),
            Screen(towns.sorted(by: \.size).sectioned { $0.land?.name ?? "none" }),
        ]
        #expect(screens.allSatisfy { $0.isRight() })
        var random = Q.Random(seed), next = 10
        for round in 0..<40 {
            for _ in 0...random.number(3) { try Self.change(store, &random, &next) }
            var turns = 0
            while turns < 100_000, !screens.allSatisfy({ $0.isRight() }) {
                await Task.yield()
                turns += 1
            }
            try #require(turns < 100_000, "round \(round) of seed \(seed)")
        }
        #expect(screens.allSatisfy { $0.updates() >= 15 })
        try store.close()
    }

    @MainActor @Test func aSectionKeepsItsIdWhereItStandsElsewhere() async throws {
        let store = try memoryStore([Land.self, Town.self]), towns = store.objects(Town.self)
        try store.write { tx in
            for (id, name) in ["a1", "b1", "a2", "b2"].enumerated() {
                try tx.create(Town.self, value: [id, name, id])
            }
        }
        let live = try LiveSections(towns.sorted(by: \.size).sectioned(byFirstLetterOf: \.name, in: .ofAppearance))
        let before = live.sections
        #expect(before.map(\.key) == ["A", "B"] && before.map { $0.map(\.name) } == [["a1", "a2"], ["b1", "b2"]])
        try store.write { _ in towns[0].size = 9 }
        while live.sections.first?.key == "A" { await Task.yield() }
        let after = live.sections
        #expect(
            after.map(\.key) == ["B", "A"] && after.sectionsToDelete.count == 1 && after.sectionsToInsert.count == 1)
        #expect(after.map(\.id) == [before[1].id, before[0].id])
        #expect(after[1].map(\.id) == [before[0][1].id, before[0][0].id] && after[1].index(ofID: -1) == nil)
        // One that is gone and comes again is another one.
        try store.write { _ in for id in [0, 2] { towns[id].name = "b" } }
        while live.sections.count == 2 { await Task.yield() }
        try store.write { _ in towns[0].name = "a" }
        while live.sections.count == 1 { await Task.yield() }
        #expect(live.sections[1].key == "A" && !before.map(\.id).contains(live.sections[1].id))
        // The object has stayed.
        #expect(live.sections[1][0].id == before[0][0].id)
        try store.close()
    }

    @MainActor @Test func whoReadsIsToldAndAListStops() async throws {
        let store = try Self.map(), told = Mutex(0)
        let live = try LiveSections(store.objects(Town.self).sectioned(by: \.size)),
            stopped = try LiveSections(
                store.objects(Town.self).sectioned(by: \.size))
        weak var gone: LiveSections<Int, Town>?
        do {
            let one = try LiveSections(store.objects(Town.self).sectioned(by: \.size), keyPaths: ["name"])
            gone = one
            #expect(one.sections.count == 3)
        }
        stopped.stop()
        func look() -> [Int] {
            withObservationTracking {
                live.sections.map(\.key)
            } onChange: {
                told.withLock { $0 += 1 }
            }
        }
        #expect(look() == [0, 1, 2] && live.sections.isNew)
        try store.write { tx in try tx.create(Town.self, value: [50, "new", 7]) }
        while told.withLock({ $0 }) == 0 { await Task.yield() }
        #expect(look() == [0, 1, 2, 7] && live.sections.sectionsToInsert == [3] && !live.sections.isNew)
        for _ in 0..<500 { await Task.yield() }
        #expect(gone == nil && stopped.sections.count == 3)
        try store.close()
        #expect(live.sections[3][0].id > 0 && stopped.sections.count == 3)
    }

    @Test func snapshotsInALoop() async throws {
        let store = try Self.map(), towns = store.objects(Town.self)
        var seen: [[Int]] = []
        for await sections in try towns.sectioned(by: \.size).snapshots(keyPaths: ["name"]) {
            seen.append(sections.map(\.key))
            switch seen.count {
            case 1: try store.write { _ in towns[0].size = 8 }
            case 2:
                // Not of what modifications do not count of.
                try store.write { _ in towns[0].extra = .int(5) }
                try store.write { tx in try tx.delete(towns.where { $0.size == 1 }) }
            default: try store.close()
            }
        }
        #expect(seen == [[0, 1, 2], [0, 1, 2, 8], [0, 2, 8]])
    }

    @Test func whatCannotFollowSaysWhy() throws {
        let store = try Self.map(), sections = store.objects(Town.self).sectioned(by: \.size)
        #expect(code { _ = try sections.snapshots(keyPaths: ["nothing"]) } == .noSuchProperty)
        #expect(code { _ = try sections.freeze().snapshots() } == .wrongView)
        #expect(code { _ = try sections.snapshots(interval: .seconds(-5)) } == .outOfRange)
        struct Own: Error {}
        let failing = store.objects(Town.self).sectioned { (_: Town) throws -> Int in throw Own() }
        #expect(throws: Own.self) { try failing.snapshots() }
        #expect(throws: Own.self) { try failing.observe(on: DispatchQueue(label: "sections")) { _ in } }
        try store.close()
    }

    /// A function that says something else each time: nothing is wrong but what it says.
    @MainActor @Test func aFunctionThatChangesItsMind() async throws {
        let store = try Self.map(), calls = Atomic(0), towns = store.objects(Town.self)
        let sections = towns.sectioned { (_: Town) -> Int in
            calls.wrappingAdd(1, ordering: .relaxed).newValue / 4 % 5
        }
        let live = try LiveSections(sections)
        var updates = 0
        live.onUpdate = { now in
            updates += 1
            #expect(now.reduce(0) { $0 + $1.count } == 6)
            for section in now { for row in section { #expect(row.size >= 0) } }
        }
        for round in 1...20 {
            try store.write { _ in towns[round % 6].size += 1 }
            while updates < round { await Task.yield() }
        }
        try store.close()
    }

    // MARK: Where handlers are called

    @Test func onAQueue() throws {
        let store = try Self.map(), queue = DispatchQueue(label: "sections"), told = DispatchSemaphore(value: 0)
        let lines = Received<String>(), towns = store.objects(Town.self), sections = towns.sectioned(by: \.size)
        @Sendable func tell(_ line: String) {
            dispatchPrecondition(condition: .onQueue(queue))
            lines.append(line)
            told.signal()
        }
        let bookmark = try store.bookmark
        try store.keepVersion("seen", at: bookmark)
        let tokens = [
            try sections.observe(keyPaths: ["name"], on: queue) { tell("all \($0.sectionsToInsert)") },
            try sections[1].observe(keyPaths: [\.name], on: queue) { tell("one \($0.insertions)") },
        ]
        for _ in 0..<2 { told.wait() }
        try store.write { _ in towns[0].size = 1 }
        for _ in 0..<2 { told.wait() }
        try store.write { _ in towns[1].extra = .int(1) }
        #expect(lines.take().sorted() == ["all []", "all []", "one [[1][0]]", "one []"])
        // Of what nobody is told there.
        queue.sync {}
        #expect(lines.take().isEmpty)
        let back = try sections.observe(keyPaths: [\.name], since: bookmark, on: queue) {
            tell("back \($0.moves.count)")
        }
        told.wait()
        #expect(lines.take() == ["back 1"])
        for token in tokens + [back] { token.invalidate() }
        try store.close()
    }

    @MainActor @Test func onTheMainActor() async throws {
        let store = try Self.map(), towns = store.objects(Town.self)
        var keys: [Int] = []
        let token = try towns.sectioned(by: \.size).observe(on: MainActor.shared) { _, change in
            MainActor.assertIsolated()
            MainActor.assumeIsolated { keys = change.sections.allKeys }
        }
        while keys != [0, 1, 2] { await Task.yield() }
        try store.write { _ in towns[0].size = 9 }
        while keys != [0, 1, 2, 9] { await Task.yield() }
        token.invalidate()
        try store.close()
    }
}
