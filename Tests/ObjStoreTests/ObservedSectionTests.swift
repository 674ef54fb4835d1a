import Glibc
import ObjStore
import Synchronization
import Testing

private enum S {
    final class Owner: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
    }

    final class Item: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var age = 0
        @Persisted var bonus: Int?
        @Persisted var height = 0.0
        @Persisted var name = ""
        @Persisted var owner: Owner?
    }
}

/// Results in sections that are observed.
@Suite struct ObservedSectionTests {
    /// Sections that follow what they are told, as keys and ids.
    private final class Follower<Key: CollectionElement & Equatable>: @unchecked Sendable {
        private let lock = Mutex<Void>(())
        private var sections: [(key: Key, ids: [Int])] = []
        private var count = 0
        private var problem: String?

        init(_ sections: SectionedResults<Key, S.Item>) { self.sections = Follower.content(sections) }

        static func content(_ sections: SectionedResults<Key, S.Item>) -> [(key: Key, ids: [Int])] {
            sections.map { ($0.key, $0.map(\.id)) }
        }

        func take(_ change: SectionChangeSet<Key, S.Item>) {
            lock.withLock { _ in
                if change.isInitial {
                    sections = Follower.content(change.sections)
                    return
                }
                count += 1
                for place in change.deletions.reversed() { sections[place.section].ids.remove(at: place.item) }
                for (number, key) in zip(change.sectionsToDelete, change.deletedKeys).reversed() {
                    let section = sections.remove(at: number)
                    if section.key != key || !section.ids.isEmpty { problem = "section \(number) is \(section)" }
                }
                for (number, key) in zip(change.sectionsToInsert, change.insertedKeys) {
                    sections.insert((key, []), at: number)
                }
                var moved: [SectionIndexPath: Int] = [:], coming = change.inserted.map(\.id)[...]
                for (move, item) in zip(change.moves, change.moved) { moved[move.to] = item.id }
                for place in change.insertions {
                    sections[place.section].ids.insert(moved[place] ?? coming.removeFirst(), at: place.item)
                }
                for (place, item) in zip(change.modifications, change.modified)
                where sections[place.section].ids[place.item] != item.id { problem = "\(item.id) is not at \(place)" }
                // Those of the change set itself are the same.
                let shown = Follower.content(change.sections)
                if shown.map(\.key) != sections.map(\.key) || shown.map(\.ids) != sections.map(\.ids) {
                    problem = "\(sections), not \(shown)"
                }
            }
        }

        func told(_ other: SectionedResults<Key, S.Item>) -> String? {
            lock.withLock { _ in
                let shown = Follower.content(other)
                if let problem { return problem }
                return shown.map(\.key) == sections.map(\.key) && shown.map(\.ids) == sections.map(\.ids)
                    ? nil : "\(sections), not \(shown)"
            }
        }
        var calls: Int { lock.withLock { _ in count } }
    }

    private struct Unexpected: Error {
        let what: String
        init(_ what: String) { self.what = what }
    }

    private static let names = ["", "a", "Ab", "b", "ba", "éa", "Éb", "ß", "ẞ", "c"]

    private func change(_ store: Store, _ random: inout Q.Random) throws {
        try store.write { tx in
            let owners = Array(store.objects(S.Owner.self)), items = Array(store.objects(S.Item.self))
            for _ in 0...random.number(4) {
                guard random.number(5) > 0, let item = items.isEmpty ? nil : items[random.number(items.count)] else {
                    let item = try tx.create(
                        S.Item.self, value: [store.objects(S.Item.self).max(of: \.id).map { $0 + 1 } ?? 0])
                    (item.age, item.name) = (random.number(40), Self.names[random.number(Self.names.count)])
                    item.owner = random.number(3) > 0 ? owners[random.number(owners.count)] : nil
                    continue
                }
                if item.isInvalidated { continue }
                switch random.number(7) {
                case 0: try tx.delete(item)
                case 1: item.age = random.number(40)
                case 2: item.name = Self.names[random.number(Self.names.count)]
                case 3: item.owner = random.number(3) > 0 ? owners[random.number(owners.count)] : nil
                case 4: owners[random.number(owners.count)].name = Self.names[random.number(Self.names.count)]
                case 5: item.bonus = random.number(2) > 0 ? random.number(3) : nil
                default: item.height += 1
                }
            }
        }
    }

    private func kennel() throws -> Store {
        let store = try memoryStore([S.Item.self, S.Owner.self])
        try store.write { tx in for id in 0..<3 { try tx.create(S.Owner.self, value: [id, "owner \(id)"]) } }
        return store
    }

    private func follow<Key: CollectionElement & Equatable>(
        _ make: (Store) throws -> SectionedResults<Key, S.Item>
    ) throws {
        let store = try kennel(), sections = try make(store), follower = Follower(sections)
        let token = try sections.observe { follower.take($0) }
        var random = Q.Random(7)
        for _ in 0..<60 {
            try change(store, &random)
            try store.deliver()
            if let problem = follower.told(sections) { throw Unexpected(problem) }
        }
        #expect(follower.calls > 30)
        token.invalidate()
        try change(store, &random)
        #expect(try store.deliver() == 0)
    }

    @Test func keysOfEveryKind() throws {
        try follow { $0.objects(S.Item.self).sectioned(by: \.age) }
        try follow { $0.objects(S.Item.self).sorted(by: \.name).sectioned(by: \.bonus, in: .ofAppearance) }
        try follow { $0.objects(S.Item.self).sorted(by: \.age).sectioned(byFirstLetterOf: \.name) }
        try follow { $0.objects(S.Item.self).sectioned(byFirstLetterOf: \.name, in: .ofAppearance) }
        try follow { $0.objects(S.Item.self).sectioned(by: \.owner?.name, ascending: false) }
        try follow { $0.objects(S.Item.self).sectioned(by: "age / $0", 10) }
        try follow { try $0.objects(S.Item.self).filter("age > 20 SORT(age DESC) LIMIT(5)").sectioned(by: \.name) }
        try follow { $0.objects(S.Item.self).sorted(by: \.age).sectioned { $0.owner?.name ?? "none" } }
        try follow { $0.objects(S.Item.self).sectioned(by: { $0.name.first }) }
    }

    @Test("D14: sections come and go, and objects have index paths") func d14() throws {
        let store = try kennel(), items = store.objects(S.Item.self)
        try store.write { tx in
            for (id, name) in ["Fido", "Flix", "Rex"].enumerated() {
                try tx.create(S.Item.self, value: ["id": id, "name": name])
            }
        }
        let sections = items.sectioned(byFirstLetterOf: \.name)
        let received = Received<SectionChangeSet<String, S.Item>>()
        let token = try sections.observe { received.append($0) }
        try store.deliver()
        guard case .initial(let first) = received.take()[0].kind else { throw Unexpected("it is no initial one") }
        #expect(first.allKeys == ["F", "R"])
        try store.write { tx in
            try tx.delete(items[1])
            items[1].name = "Willy"
            try tx.create(S.Item.self, value: ["id": 9, "name": "Wolfie"])
        }
        try store.deliver()
        let change = try #require(received.take().first)
        guard
            case .update(let after, let deletions, let insertions, let modifications, let new, let old) = change.kind
        else { throw Unexpected("it is no update") }
        #expect(after.allKeys == ["F", "W"] && new == [1] && old == [1] && modifications.isEmpty)
        #expect(deletions == [SectionIndexPath(item: 1, section: 0), SectionIndexPath(section: 1, item: 0)])
        #expect(insertions.map(\.description) == ["[1][0]", "[1][1]"])
        #expect(change.deletedKeys == ["R"] && change.insertedKeys == ["W"])
        #expect(change.moves == [.init(from: deletions[1], to: insertions[0])] && change.section == nil)
        #expect(change.deleted.map(\.name) == ["Flix"] && change.inserted.map(\.name) == ["Wolfie"])
        #expect(change.moved.map(\.name) == ["Willy"] && change.toVersion == change.fromVersion + 1)
        token.invalidate()
    }

    @Test func keyPathsAndOneSection() throws {
        let store = try kennel(), items = store.objects(S.Item.self)
        try store.write { tx in for id in 0..<4 { try tx.create(S.Item.self, value: ["id": id, "age": id / 2]) } }
        let sections = items.sectioned(by: \.age), received = Received<SectionChangeSet<Int, S.Item>>()
        let all = try sections.observe(keyPaths: [\.name]) { received.append($0) }
        let one = try sections[1].observe(keyPaths: ["name"]) { received.append($0) }
        try store.deliver()
        _ = received.take()
        try store.write { _ in items[0].height = 3 }
        try store.deliver()
        #expect(received.take().isEmpty)
        try store.write { _ in items[0].age = 1 }
        try store.deliver()
        let changes = received.take()
        #expect(changes.count == 2 && changes[0].moves.count == 1)
        #expect(changes[1].insertions == [SectionIndexPath(section: 1, item: 0)] && changes[1].deletions.isEmpty)
        #expect(changes[1].inserted.map(\.id) == [0] && changes[1].section?.map(\.id) == [0, 2, 3])
        try store.write { _ in items[1].name = "x" }
        try store.deliver()
        #expect(received.take().count == 1, "the other section is not told")
        try store.write(withoutNotifying: [all, one]) { _ in for item in items { item.age = 5 } }
        try store.deliver()
        #expect(received.take().isEmpty)
        one.invalidate()
        all.invalidate()
    }

    /// Old and new values, and names of what was written, as of results.
    @Test func writtenInObjects() throws {
        let store = try kennel(), items = store.objects(S.Item.self), sections = items.sectioned(by: \.age)
        try store.write { tx in for id in 0..<4 { try tx.create(S.Item.self, value: ["id": id, "age": id / 2]) } }
        let received = Received<SectionChangeSet<Int, S.Item>>()
        let all = try sections.observe { received.append($0) }, one = try sections[1].observe { received.append($0) }
        try store.deliver()
        _ = received.take()
        try store.write { _ in
            (items[0].name, items[0].height) = ("x", 2)
            (items[1].age, items[1].bonus) = (1, 5)
            items[3].name = "y"
        }
        try store.deliver()
        let changes = received.take()
        #expect(changes.count == 2)
        let change = changes[0], own = changes[1]
        #expect(change.modified.map(\.name) == ["x", "y"] && change.modifiedBefore.map(\.name) == ["", ""])
        #expect(change.modifications.map(\.description) == ["[0][0]", "[1][2]"])
        #expect(change.modificationsBefore.map(\.description) == ["[0][0]", "[1][1]"])
        #expect(
            try change.changedProperties(at: 0) == ["height", "name"] && change.changedProperties(at: 1) == ["name"])
        #expect(change.moved.map(\.id) == [1] && change.moves.map(\.to.description) == ["[1][0]"])
        #expect(try change.changedProperties(ofMove: 0) == ["age", "bonus"])
        #expect(try change.hasChanged(\.height, at: 0) && !change.hasChanged(\.height, at: 1))
        for index in [-1, 2] {
            #expect(code { try change.changedProperties(at: index) } == .outOfRange)
            #expect(code { try change.hasChanged(\.height, at: index) } == .outOfRange)
            #expect(code { try change.changedProperties(ofMove: index) } == .outOfRange)
        }
        #expect(own.inserted.map(\.id) == [1] && own.modifiedBefore.map(\.id) == [3])
        #expect(own.modified.map(\.name) == ["y"] && own.modifiedBefore.map(\.name) == [""])
        #expect(try own.changedProperties(at: 0) == ["name"])
        #expect(code { try own.changedProperties(ofMove: 0) } == .outOfRange)
        one.invalidate()
        all.invalidate()
    }

    @Test func sequences() async throws {
        let store = try kennel(), items = store.objects(S.Item.self)
        try store.write { tx in try tx.create(S.Item.self, value: ["id": 0, "age": 1]) }
        var keys: [[Int]] = []
        for await change in items.sectioned(by: \.age).changes(keyPaths: [\.age]) {
            keys.append(change.insertedKeys)
            if keys.count == 3 { break }
            try store.write { _ in items[0].age += 1 }
        }
        #expect(keys == [[], [2], [3]])
    }

    @Test func refused() throws {
        let store = try kennel(), items = store.objects(S.Item.self), sections = items.sectioned(by: \.age)
        #expect(code { try sections.freeze().observe { _ in } } == .wrongView)
        #expect(code { try sections.observe(keyPaths: ["ages"]) { _ in } } == .noSuchProperty)
        #expect(code { try items.sectioned(by: "age > 1").observe { _ in } } == .invalidQuery)
        var section: ResultsSection<Int, S.Item>?
        _ = try? Store.checked { section = sections[0] }
        #expect(code { try section?.observe { _ in } } == .wrongView)
        struct Own: Error {}
        let failing = items.sectioned { (_: S.Item) throws -> Int in throw Own() }
        let token = try failing.observe { _ in }
        try store.write { tx in try tx.create(S.Item.self, value: ["id": 0]) }
        #expect(throws: ObjStoreError.self) { try store.deliver() }
        #expect(throws: Own.self) { try failing.observe { _ in } }
        token.invalidate()
    }

    /// Two threads write, one reads and makes sections anew, and a thread of the library delivers.
    @Test func manyThreads() throws {
        var configuration = Store.Configuration(.memory(), models: [S.Item.self, S.Owner.self])
        configuration.deliversOnWorker = true
        let store = try Store(configuration)
        try store.write { tx in for id in 0..<3 { try tx.create(S.Owner.self, value: [id, "owner \(id)"]) } }
        let byAge = store.objects(S.Item.self).sorted(by: \.name).sectioned(by: "age / 10")
        let byFunction = store.objects(S.Item.self).sectioned { $0.name }
        let one = Follower(byAge), other = Follower(byFunction)
        let tokens = [try byAge.observe { one.take($0) }, try byFunction.observe { other.take($0) }]
        let failures = Received<String>()
        onThreads(3) { number in
            var random = Q.Random(UInt64(number))
            for _ in 0..<40 {
                do {
                    if number < 2 { try change(store, &random) } else { _ = byFunction.map(\.count) }
                } catch { failures.append("\(error)") }
            }
        }
        #expect(failures.take() == [])
        while tokens.contains(where: { $0.lag > 0 }) { sched_yield() }
        // Which waits for the last call.
        for token in tokens { token.invalidate() }
        #expect(one.told(byAge) == nil && other.told(byFunction) == nil)
        try store.close()
    }
}
