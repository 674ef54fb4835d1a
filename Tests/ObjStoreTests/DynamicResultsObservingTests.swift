import Dispatch
import ObjStore
import Testing

/// Results and objects without model classes are observed as those of the models are.
@Suite struct DynamicResultsObservingTests {
    final class Ear: EmbeddedObject {
        @Persisted var side = ""
    }
    final class Keeper: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
    }
    final class Beast: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var age = 0
        @Persisted var keeper: Keeper?
        @Persisted var toys: List<String>
        @Persisted var ear: Ear?
        @Persisted var extra: AnyValue
    }
    private struct Unexpected: Error {
        let what: String
        init(_ what: String) { self.what = what }
    }
    private static let models: [Object.Type] = [Beast.self, Keeper.self, Ear.self]

    /// Two stores of one file: the first has no models, the second writes as another program does.
    private func zoo(_ folder: Folder, _ count: Int = 4) throws -> (store: Store, other: Store) {
        let other = try Store.open(path: folder.file(), models: Self.models)
        try other.write { tx in
            let ann = try tx.create(Keeper.self, value: [1, "Ann"])
            for id in 0..<count { try tx.create(Beast.self, value: [id, "beast \(id)", id, ann]) }
        }
        return (try Store.open(path: folder.file()), other)
    }

    private func beast(_ store: Store, _ id: Int) throws -> DynamicObject {
        try #require(try store.dynamicObject(ofType: "Beast", forPrimaryKey: id))
    }

    // MARK: Results

    @Test func filteredSortedAndLimited() throws {
        let folder = Folder(), (store, other) = try zoo(folder), all = store.dynamicObjects("Beast")
        let old = try all.filter("age >= 1").sorted(by: "age"), few = old.limit(2)
        let told = Received<DynamicResultsChange>(), fewTold = Received<[[Int]]>()
        let tokens = [
            try old.observe { told.append($0) },
            try few.observe { fewTold.append([$0.deletions, $0.insertions]) },
        ]
        try store.deliver()
        let initial = try #require(told.take().first)
        guard case .initial(let first) = initial.kind else { throw Unexpected("it is no initial one") }
        #expect(first.map { $0.id } == [.int(1), .int(2), .int(3)] && fewTold.take() == [[[], []]])
        try store.write { tx in
            let one = try beast(store, 1)
            one.age = 9
            one.name = "last"
            try tx.delete(try beast(store, 2))
            try tx.dynamicCreate("Beast", value: ["id": 7, "age": 1] as [String: Any])
        }
        try store.deliver()
        let change = try #require(told.take().first)
        guard case .update(let now, let deletions, let insertions, let modifications) = change.kind else {
            throw Unexpected("it is no update")
        }
        #expect(now.map { $0.id } == [.int(7), .int(3), .int(1)])
        #expect(deletions == [0, 1] && insertions == [0, 2] && modifications.isEmpty)
        #expect(change.moves == [PositionMove(from: 0, to: 2)] && change.moved.map { $0.name } == [.string("last")])
        #expect(try Set(change.changedProperties(ofMove: 0)) == ["name", "age"])
        #expect(change.deleted.map { $0.name } == [.string("beast 2")] && change.inserted.map { $0.id } == [.int(7)])
        #expect(code { _ = try change.changedProperties(at: 0) } == .outOfRange, "that is the move")
        #expect(fewTold.take() == [[[0, 1], [0, 1]]])
        // What another program writes is told, and what is live follows.
        try other.write { tx in try #require(try tx.object(ofType: Beast.self, forPrimaryKey: 3)).age = 4 }
        try store.deliver()
        let theirs = try #require(told.take().first)
        #expect(theirs.modifications == [1] && theirs.modificationsBefore == [1])
        #expect(theirs.modified.map { $0.age } == [.int(4)] && theirs.modifiedBefore.map { $0.age } == [.int(3)])
        #expect(try theirs.changedProperties(at: 0) == ["age"] && old[1].age == .int(4))
        #expect(try theirs.hasChanged("age", at: 0) && !theirs.hasChanged("name", at: 0))
        #expect(code { _ = try theirs.hasChanged("wings", at: 0) } == .noSuchProperty)
        #expect(code { _ = try theirs.hasChanged("age", at: 1) } == .outOfRange)
        #expect(code { _ = try theirs.changedProperties(at: -1) } == .outOfRange)
        #expect(code { _ = try theirs.changedProperties(ofMove: 0) } == .outOfRange)
        for token in tokens { token.invalidate() }
        try other.close()
        try store.close()
    }

    /// What a list of ids is after a change set says the same as asking.
    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func randomHistories(_ seed: UInt64) throws {
        let folder = Folder(), (store, other) = try zoo(folder), all = store.dynamicObjects("Beast")
        let sources = [
            all, all.sorted(by: [SortKey("name"), SortKey("age", ascending: false)]),
            try all.filter("age > 3 SORT(age ASC) LIMIT(4)"), try all.filter("keeper.name = 'Ann'"),
            all.distinct(by: "age"),
            try #require(store.dynamicObjects("Keeper").first).linkingObjects(
                ofType: "Beast", property: "keeper"),
        ]
        let lists = Received<(Int, DynamicResultsChange)>()
        let tokens = try sources.enumerated().map { (number, source) in
            try source.observe { lists.append((number, $0)) }
        }
        var shown = [[AnyValue?]](repeating: [], count: sources.count)
        var random = Q.Random(seed), next = 100
        func ids(_ results: DynamicResults) -> [AnyValue?] { results.map { $0.id } }
        func follow() throws {
            try store.deliver()
            for (number, change) in lists.take() {
                if change.isInitial {
                    shown[number] = ids(change.results)
                    continue
                }
                let before = shown[number]
                #expect(
                    change.deleted.map { $0.id }
                        == Array(Set(change.deletions).subtracting(change.moves.map(\.from)))
                        .sorted().map { before[$0] })
                for at in change.deletions.reversed() { shown[number].remove(at: at) }
                var coming = change.inserted.map { $0.id }[...], moved: [Int: AnyValue?] = [:]
                for (move, object) in zip(change.moves, change.moved) {
                    moved[move.to] = object.id
                    #expect(before[move.from] == object.id)
                }
                for at in change.insertions { shown[number].insert(moved[at] ?? coming.removeFirst(), at: at) }
                #expect(change.modified.map { $0.id } == change.modifications.map { shown[number][$0] })
                #expect(shown[number] == ids(change.results))
            }
            for (number, source) in sources.enumerated() {
                try #require(shown[number] == ids(source), "results \(number) of seed \(seed)")
            }
        }
        try follow()
        for _ in 0..<40 {
            try (random.number(2) == 0 ? store : other).write { tx in
                for _ in 0...random.number(4) {
                    let beasts = Array(tx.dynamicObjects("Beast"))
                    guard random.number(4) > 0, !beasts.isEmpty else {
                        next += 1
                        try tx.dynamicCreate("Beast", value: ["id": next, "age": random.number(8)])
                        continue
                    }
                    let one = beasts[random.number(beasts.count)]
                    switch random.number(5) {
                    case 0: try tx.delete(one)
                    case 1: one.name = .string("n\(random.number(4))")
                    case 2: one.setObject("keeper", random.number(2) == 0 ? nil : tx.dynamicObjects("Keeper").first)
                    default: one.age = .int(random.number(8))
                    }
                }
            }
            try follow()
        }
        for token in tokens { token.invalidate() }
        try other.close()
        try store.close()
    }

    @Test func keyPathsAreTexts() throws {
        let folder = Folder(), (store, other) = try zoo(folder), all = store.dynamicObjects("Beast")
        let ages = Received<[Int]>(), keepers = Received<[Int]>()
        let tokens = [
            try all.observe(keyPaths: ["age"]) { ages.append($0.modifications) },
            try all.observe(keyPaths: ["keeper.name"]) { keepers.append($0.modifications) },
        ]
        try store.deliver()
        #expect(ages.take() == [[]] && keepers.take() == [[]])
        try store.write { _ in all[1].name = "x" }
        try store.deliver()
        #expect(ages.take().isEmpty && keepers.take().isEmpty)
        try store.write { _ in
            all[1].age = 5
            all[0].object("keeper")?.name = "Eve"
        }
        try store.deliver()
        #expect(ages.take() == [[1]] && keepers.take() == [[0, 1, 2, 3]])
        for token in tokens { token.invalidate() }
        try other.close()
        try store.close()
    }

    @Test func refused() throws {
        let folder = Folder(), (store, other) = try zoo(folder), all = store.dynamicObjects("Beast")
        let typed = other.objects(Beast.self)
        func same(_ dynamic: () throws -> Void, _ typed: () throws -> Void) -> Bool {
            func error(_ body: () throws -> Void) -> ObjStoreError? {
                do { try body() } catch { return error as? ObjStoreError }
                return nil
            }
            let one = error(dynamic), two = error(typed)
            return one != nil && one?.code == two?.code && one?.message == two?.message
                && one?.className == two?.className && one?.propertyName == two?.propertyName
        }
        #expect(
            same({ _ = try all.observe(keyPaths: ["wings"]) { _ in } }) {
                _ = try typed.observe(keyPaths: ["wings"]) { _ in }
            })
        #expect(
            same({ _ = try all.observe(keyPaths: ["keeper.wings"]) { _ in } }) {
                _ = try typed.observe(keyPaths: ["keeper.wings"]) { _ in }
            })
        #expect(
            same({ _ = try store.freeze().dynamicObjects("Beast").observe { _ in } }) {
                _ = try other.freeze().objects(Beast.self).observe { _ in }
            })
        #expect(code { _ = try store.dynamicObjects("Nothing").observe { _ in } } == .noSuchClass)
        #expect(code { _ = try all.sorted(by: "wings").observe { _ in } } == .noSuchProperty)
        let one = try beast(store, 1), typedOne = try #require(typed.first)
        #expect(
            same({ _ = try one.observe(keyPaths: ["wings"]) { _ in } }) {
                _ = try typedOne.observe(keyPaths: ["wings"]) { _ in }
            })
        #expect(
            code { _ = try #require(try store.freeze().dynamicObjects("Beast").first).observe { _ in } } == .wrongView)
        try store.write { tx in
            let new = try tx.dynamicCreate("Beast", value: [50])
            let error = code { _ = try new.observe { _ in } }
            #expect(error == .noSuchObject)
            try tx.delete(one)
        }
        #expect(code { _ = try one.observe { _ in } } == .noSuchObject)
        var nowhere: DynamicObject?
        _ = try? Store.checked { nowhere = all[99] }
        #expect(code { _ = try nowhere?.observe { _ in } } == .noSuchObject)
        try other.close()
        try store.close()
        #expect(code { _ = try all.observe { _ in } } == .closedHandle)
        #expect(code { _ = try one.observe { _ in } } == .closedHandle)
    }

    @Test func nothingOfAMigration() throws {
        let folder = Folder()
        var configuration = Store.Configuration(path: folder.file(), models: Self.models)
        configuration.schemaVersion = 1
        do {
            let store = try Store(configuration)
            try store.write { tx in for id in 0..<4 { try tx.create(Beast.self, value: [id]) } }
            try store.close()
        }
        let codes = Received<ObjStoreError.Code?>()
        configuration.schemaVersion = 2
        configuration.migrationBlock = { (migration, _) in
            try migration.enumerateObjects(ofType: "Beast") { old, new in
                codes.append(code { _ = try old.observe { _ in } })
                codes.append(code { _ = try new?.observe { _ in } })
            }
            codes.append(code { _ = try migration.transaction.dynamicObjects("Beast").observe { _ in } })
            let typed = migration.transaction.objects(Beast.self)
            codes.append(code { _ = try typed.observe { _ in } })
            codes.append(code { _ = try typed.sectioned(by: \.age).observe { _ in } })
        }
        try Store(configuration).close()
        #expect(codes.take() == [ObjStoreError.Code?](repeating: .wrongView, count: 11))
    }

    // MARK: One object

    private func describe(_ value: Any?) -> String {
        switch value {
        case nil: "nil"
        case let object as DynamicObject where object.className == "Ear": "Ear \(object.side ?? "")"
        case let object as DynamicObject: "\(object.className) \(object.name ?? "")"
        case let collection as DynamicCollection: "\(collection.values)"
        case let value?: "\(value)"
        }
    }

    @Test func oneObject() throws {
        let folder = Folder(), (store, other) = try zoo(folder), one = try beast(store, 1)
        let told = Received<[String]>(), ages = Received<[String]>(), gone = Received<Bool>()
        @Sendable func tell(_ change: ObjectChange<DynamicObject>, _ list: Received<[String]>) {
            switch change {
            case .change(let object, let properties):
                #expect(object == one)
                list.append(properties.map { "\($0.name): \(describe($0.oldValue)) -> \(describe($0.newValue))" })
            case .deleted: gone.append(true)
            }
        }
        let tokens = [
            try one.observe { tell($0, told) }, try one.observe(keyPaths: ["age"]) { tell($0, ages) },
        ]
        #expect(try store.deliver() == 0)
        try store.write { tx in
            one.age = 8
            try one.collection("toys").append("ball")
            try one.set("ear", to: ["side": "left"])
            one.extra = [1, "two"]
            one.setObject("keeper", try tx.dynamicCreate("Keeper", value: [2, "Eve"] as [Any]))
        }
        try store.deliver()
        let all = [
            "age: 1 -> 8", #"keeper: Keeper "Ann" -> Keeper "Eve""#, #"toys: [] -> ["ball"]"#,
            #"ear: nil -> Ear "left""#, #"extra: nil -> [1, "two"]"#,
        ]
        // Key paths say whether a change is told, and then all of it is.
        #expect(told.take() == [all] && ages.take() == [all])
        try other.write { tx in
            let mine = try #require(try tx.object(ofType: Beast.self, forPrimaryKey: 1))
            mine.ear?.side = "right"
            mine.extra = .object(try #require(try tx.object(ofType: Keeper.self, forPrimaryKey: 1)))
        }
        try store.deliver()
        #expect(told.take() == [[#"ear: Ear "left" -> Ear "right""#, #"extra: [1, "two"] -> Keeper "Ann""#]])
        #expect(ages.take().isEmpty)
        try store.write { tx in try tx.delete(one) }
        try store.deliver()
        #expect(gone.take() == [true, true] && told.take().isEmpty)
        #expect(try store.deliver() == 0)
        for token in tokens { token.invalidate() }
        try other.close()
        try store.close()
    }

    // MARK: Elsewhere

    @Test func onAQueue() throws {
        let folder = Folder(), (store, other) = try zoo(folder), told = DispatchSemaphore(value: 0)
        let queue = DispatchQueue(label: "beasts"), lines = Received<String>()
        @Sendable func tell(_ line: String) {
            dispatchPrecondition(condition: .onQueue(queue))
            lines.append(line)
            told.signal()
        }
        let one = try beast(store, 1)
        let tokens = [
            try store.dynamicObjects("Beast").observe(keyPaths: ["name"], on: queue) { change in
                tell("results \(change.modifications)")
            },
            try one.observe(on: queue) { change in
                if case .change(_, let properties) = change { tell("object \(properties.map(\.name))") }
            },
        ]
        told.wait()
        try other.write { tx in
            let mine = try #require(try tx.object(ofType: Beast.self, forPrimaryKey: 1))
            (mine.name, mine.age) = ("y", 3)
        }
        told.wait()
        told.wait()
        #expect(Set(lines.take()) == ["object [\"name\", \"age\"]", "results []", "results [1]"])
        for token in tokens { token.invalidate() }
        try other.close()
        try store.close()
    }

    private actor Screen {
        var lines: [String] = []
        func observe(_ results: DynamicResults, _ object: DynamicObject) throws -> [NotificationToken] {
            [
                try results.observe(on: self) { me, change in me.lines.append("results \(change.insertions)") },
                try object.observe(keyPaths: ["age"], on: self) { me, change in
                    guard case .change(let now, _) = change else { return }
                    me.lines.append("object \(now.age ?? "")")
                },
            ]
        }
    }

    @Test func onAnActor() async throws {
        let folder = Folder(), (store, other) = try zoo(folder), screen = Screen()
        let tokens = try await screen.observe(store.dynamicObjects("Beast"), try beast(store, 1))
        while await screen.lines != ["results []"] { await Task.yield() }
        try other.write { tx in try tx.create(Beast.self, value: [9]) }
        while await screen.lines.count < 2 { await Task.yield() }
        try other.write { tx in try #require(try tx.object(ofType: Beast.self, forPrimaryKey: 1)).age = 6 }
        while await !screen.lines.contains("object 6") { await Task.yield() }
        #expect(await screen.lines[1] == "results [4]")
        for token in tokens { token.invalidate() }
        try other.close()
        try store.close()
    }

    @Test func sinceABookmark() throws {
        let folder = Folder(), (store, other) = try zoo(folder), one = try beast(store, 1)
        let bookmark = try store.bookmark
        try store.keepVersion("seen", at: bookmark)
        try other.write { tx in
            try #require(try tx.object(ofType: Beast.self, forPrimaryKey: 1)).age = 6
            try tx.create(Beast.self, value: [9])
        }
        try store.refresh()
        let told = Received<[[Int]]>(), written = Received<[String]>()
        let tokens = [
            try store.dynamicObjects("Beast").observe(since: bookmark) { change in
                #expect(!change.isInitial)
                told.append([change.insertions, change.modifications])
            },
            try one.observe(since: bookmark) { change in
                if case .change(_, let properties) = change { written.append(properties.map(\.name)) }
            },
        ]
        try store.deliver()
        #expect(told.take() == [[[4], [1]]] && written.take() == [["age"]])
        for token in tokens { token.invalidate() }
        try other.close()
        try store.close()
    }

    // MARK: Loops and lists

    @Test func loops() async throws {
        let folder = Folder(), (store, other) = try zoo(folder), all = store.dynamicObjects("Beast")
        var seen: [[Int]] = []
        for await change in all.changes(keyPaths: ["age"]) {
            seen.append(change.insertions + change.modifications)
            switch seen.count {
            case 1: try other.write { tx in try tx.create(Beast.self, value: [9]) }
            case 2:
                try other.write { tx in try #require(try tx.object(ofType: Beast.self, forPrimaryKey: 1)).name = "x" }
                try other.write { tx in try #require(try tx.object(ofType: Beast.self, forPrimaryKey: 2)).age = 8 }
            default: break
            }
            if seen.count == 3 { break }
        }
        #expect(seen == [[], [4], [2]])
        var toys: [[AnyValue]] = []
        for await change in try beast(store, 1).collection("toys").changes {
            toys.append(change.collection.values)
            if toys.count == 3 { break }
            try store.write { _ in try beast(store, 1).collection("toys").append("toy \(toys.count)") }
        }
        #expect(toys == [[], ["toy 1"], ["toy 1", "toy 2"]])
        var changes = 0
        for await change in all.changes {
            changes += 1
            if change.isInitial { try store.close() }
        }
        #expect(changes == 1)
        try other.close()
    }

    @MainActor @Test func aLiveList() async throws {
        let folder = Folder(), (store, other) = try zoo(folder), all = store.dynamicObjects("Beast").sorted(by: "name")
        let list = try LiveList(all)
        #expect(list.rows.map { $0.element.id } == (0..<4).map { .int($0) })
        try other.write { tx in
            try #require(try tx.object(ofType: Beast.self, forPrimaryKey: 2)).name = "a"
            try tx.create(Beast.self, value: [9, "z"])
        }
        while list.rows.count < 5 { await Task.yield() }
        #expect(list.rows.map { $0.element.id } == [2, 0, 1, 3, 9].map { .int($0) })
        #expect(list.rows.moves == [PositionMove(from: 2, to: 0)] && list.rows.insertions == [0, 4])
        list.stop()
        try other.close()
        try store.close()
    }
}
