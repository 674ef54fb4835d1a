import Dispatch
import Glibc
import ObjStore
import Synchronization
import Testing

/// A43 to A61 again, with observers of every kind that watch, through another store of the same file: what each one's
/// copy has become by its change sets is what is there.
@Suite struct ObserverScenarioTests {
    final class Hound: Object {
        @Persisted var name = ""
        @Persisted var age = 0
        @Persisted var keeper: Keeper?
        override class var indexes: [Index] { [Index("name", "age")] }
    }
    final class Keeper: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var dogs: List<Hound>
        @Persisted var favourites: MutableSet<Hound>
        @Persisted var words: List<String>
        @Persisted var numbers: MutableSet<Int>
        @Persisted var notes: Map<String, String>
        @Persisted var diary: AnyValue = ["days": [1, [2]], "by": ["name": "Rex"]]
        @Persisted(originProperty: "keeper") var kept: LinkingObjects<Hound>
    }
    final class Luke: Object {
        @Persisted(primaryKey: true, generated: true) var id: ObjectId
        @Persisted var name = ""
    }
    final class Node: Object {
        @Persisted var name = ""
        @Persisted var next: Node?
    }
    final class HoundView: Projection<Hound> {
        @Projected(\Hound.name) var title
        @Projected(\Hound.keeper?.name) var keeperName
    }

    /// A copy of a list, or of sections, that is changed by change sets alone.
    private final class Copy: @unchecked Sendable {
        let name: String
        var lines: [String] = []
        var told = 0
        let real: () -> [String]
        private(set) var token: NotificationToken?
        private var sections: [(key: String, rows: [String])] = []

        init<S: ListSource>(
            _ name: String, _ source: S, _ keyPaths: [String]? = nil, _ line: @escaping (S.ListElement) -> String,
            real: @escaping () -> [String]
        ) throws {
            self.name = name
            self.real = real
            nonisolated(unsafe) let line = line
            token = try source._observe(keyPaths, nil) { [unowned self] change in
                let elements = S._listed(after: change)
                told += 1
                if change.isInitial {
                    lines = elements.map(line)
                    return
                }
                for sorted in [change.deletions, change.insertions, change.modifications] {
                    #expect(sorted == sorted.sorted())
                }
                for at in change.deletions.reversed() { lines.remove(at: at) }
                for at in change.insertions { lines.insert(line(elements[at]), at: at) }
                for at in change.modifications { lines[at] = line(elements[at]) }
            }
        }

        /// Of sections; each is a line with its key, and one for each object.
        init<Key>(
            _ name: String, sectioned source: SectionedResults<Key, Hound>, _ line: @escaping (Hound) -> String
        ) throws {
            func content(_ sections: SectionedResults<Key, Hound>) -> [(key: String, rows: [String])] {
                sections.map { (String(describing: $0.key), $0.map(line)) }
            }
            self.name = name
            real = { Copy.lines(content(source)) }
            nonisolated(unsafe) let line = line
            token = try source.observe { [unowned self] change in
                let shown = change.sections
                told += 1
                if change.isInitial {
                    sections = shown.map { (String(describing: $0.key), $0.map(line)) }
                } else {
                    for at in change.deletions.reversed() { sections[at.section].rows.remove(at: at.item) }
                    for at in change.sectionsToDelete.reversed() { #expect(sections.remove(at: at).rows.isEmpty) }
                    for (at, key) in zip(change.sectionsToInsert, change.insertedKeys) {
                        sections.insert((String(describing: key), []), at: at)
                    }
                    for at in change.insertions {
                        sections[at.section].rows.insert(line(shown[at.section][at.item]), at: at.item)
                    }
                    for at in change.modifications {
                        sections[at.section].rows[at.item] = line(shown[at.section][at.item])
                    }
                }
                lines = Copy.lines(sections)
            }
        }

        /// Of one section, which is there as long as it has objects.
        init<Key: Equatable>(
            _ name: String, section key: Key, of source: SectionedResults<Key, Hound>,
            _ line: @escaping (Hound) -> String
        ) throws {
            self.name = name
            real = { source.first { $0.key == key }?.map(line) ?? [] }
            nonisolated(unsafe) let line = line
            token = try #require(source.first { $0.key == key }).observe { [unowned self] change in
                let shown = change.section?.map(line) ?? []
                told += 1
                if change.isInitial { return lines = shown }
                for at in change.deletions.reversed() { lines.remove(at: at.item) }
                for at in change.insertions { lines.insert(shown[at.item], at: at.item) }
                for at in change.modifications { lines[at.item] = shown[at.item] }
            }
        }

        private static func lines(_ sections: [(key: String, rows: [String])]) -> [String] {
            sections.flatMap { ["\($0.key):"] + $0.rows }
        }
    }

    /// Two stores of one file: one that writes, one that watches.
    private final class Kennel: @unchecked Sendable {
        let folder = Folder()
        let store: Store, watching: Store
        private var copies: [Copy] = []
        private var others: [NotificationToken] = []
        /// What the observer of the one keeper was told, and that of commits.
        let properties = Received<[String]>(), commits = Received<Bool>()

        init() throws {
            let models: [Object.Type] = [Hound.self, Keeper.self, Luke.self, Node.self]
            store = try Store.open(path: folder.file(), models: models)
            watching = try Store.open(path: folder.file(), models: models)
            try store.write { tx in
                let keeper = try tx.create(Keeper.self, value: ["id": 1, "name": "Dachary"])
                keeper.dogs.append(try tx.create(Hound.self, value: ["name": "Rex", "age": 5, "keeper": keeper]))
                keeper.favourites.insert(keeper.dogs[0])
                keeper.words.append(objectsIn: ["sit", "stay"])
                keeper.numbers.insert(objectsIn: [3059, 3062, 3064])
                keeper.notes["first"] = "1"
            }
            try watch()
        }

        private func watch() throws {
            try watching.refresh()
            let watching = watching, hounds = watching.objects(Hound.self)
            let keeper = try #require(try watching.object(ofType: Keeper.self, forPrimaryKey: 1))
            func line(_ hound: Hound) -> String { "\(hound.name) \(hound.age)" }
            func watch(_ name: String, _ results: Results<Hound>, _ keys: [String]? = nil) throws {
                copies.append(try Copy(name, results, keys, line) { results.map(line) })
            }
            try watch("class", hounds)
            try watch("query", hounds.where { $0.age < 10 })
            try watch("behind a link", hounds.where { $0.keeper.name == "Dachary" })
            try watch("sorted", hounds.sorted(by: \.name))
            try watch("limited", hounds.sorted(by: \.age, ascending: false).limit(3))
            try watch("distinct", hounds.sorted(by: \.age).distinct(by: \.age))
            try watch("of an index", watching.objects(Hound.self, in: ["name", "age"], from: ["B"], to: ["S"]))
            try watch("inverse", keeper.kept.results())
            try watch("query of an inverse", keeper.kept.sorted(by: \.name))
            try watch("query of a list", keeper.dogs.where { $0.age < 10 })
            try watch("sorted query of a list", keeper.dogs.filter("age > 0 SORT(name DESC) LIMIT(3)"))
            let days = try #require(keeper.diary["days"]?.list), by = try #require(keeper.diary["by"]?.dictionary)
            let byKeeper = hounds.sorted(by: \.name).sectioned(by: \.keeper?.name)
            copies += try [
                Copy("sections", sectioned: byKeeper, line),
                Copy("one section", section: "Dachary", of: byKeeper, line),
                Copy("sections as they come", sectioned: hounds.sectioned(by: \.age, in: .ofAppearance), line),
                Copy("list in a value", days, nil, { "\($0)" }) { days.map { "\($0)" } },
                Copy("map in a value", by, nil, { "\($0.key) \($0.value)" }) { by.map { "\($0.key) \($0.value)" } },
                // Of names alone: other modifications are not told.
                Copy("key path", hounds.sorted(by: \.name), ["name"], { $0.name }) {
                    hounds.sorted(by: \.name).map(\.name)
                },
                Copy("list", keeper.dogs, nil, line) { keeper.dogs.map(line) },
                Copy("list of values", keeper.words, nil, { $0 }) { Array(keeper.words) },
                Copy("set of objects", keeper.favourites, nil, line) { keeper.favourites.map(line) },
                Copy("set", keeper.numbers, nil, { "\($0)" }) { keeper.numbers.map { "\($0)" } },
                Copy("map", keeper.notes, nil, { "\($0.key) \($0.value)" }) {
                    keeper.notes.map { "\($0.key) \($0.value)" }
                },
                Copy("dynamic", keeper.dynamic().collection("numbers"), nil, { "\($0)" }) {
                    keeper.numbers.map { "\(AnyValue.int($0))" }
                },
                Copy("projection", watching.objects(HoundView.self), nil, { "\($0.title) \($0.keeperName ?? "-")" }) {
                    watching.objects(HoundView.self).map { "\($0.title) \($0.keeperName ?? "-")" }
                },
                Copy("keepers", watching.objects(Keeper.self), nil, { "\($0.id) \($0.name)" }) {
                    watching.objects(Keeper.self).map { "\($0.id) \($0.name)" }
                },
                Copy("lukes", watching.objects(Luke.self), nil, { $0.name }) {
                    watching.objects(Luke.self).map(\.name)
                },
                Copy("nodes", watching.objects(Node.self), nil, { $0.name }) {
                    watching.objects(Node.self).map(\.name)
                },
            ]
            let tables = [
                ("table", try hounds.sorted(by: \.name).tableResults("SELECT(name, age, keeper.name)")),
                ("groups", try hounds.group(by: { $0.age }).tableResults()),
                ("sums", try hounds.tableResults("age < 15 GROUP(keeper.name) SELECT(@sum.age AS sum, @count)")),
            ]
            for (name, asked) in tables {
                func row(_ table: Table, _ index: Int) -> String {
                    table.columns.map { column in
                        (try? table.value(index, column)).map { "\($0)" } ?? "?"
                    }.joined(separator: " ")
                }
                copies.append(
                    try Copy(name, asked, nil, { row($0.table, $0.index) }) {
                        (try? asked.table()).map { table in (0..<table.count).map { row(table, $0) } } ?? []
                    })
            }
            let numbers = try keeper.numbers.where { $0 < 3063 }, notes = try keeper.notes.where { $0 != "1" }
            copies += try [
                Copy("some numbers", numbers, nil, { "\($0)" }) { numbers.map { "\($0)" } },
                Copy("some notes", notes, nil, { "\($0)" }) { notes.map { "\($0)" } },
            ]
            let properties = properties, commits = commits
            others = [
                try keeper.observe { change in
                    if case .change(_, let written) = change { properties.append(written.map(\.name)) }
                },
                try watching.observeCommits { commits.append($0.isInitial) },
            ]
            try watching.deliver()
            #expect(try follow("the beginning") == 0)
        }

        /// Delivers, compares all copies with what is there, and says how many observers of lists were told something.
        @discardableResult
        func follow(_ after: String) throws -> Int {
            let before = copies.map(\.told)
            try watching.deliver()
            for copy in copies { #expect(copy.lines == copy.real(), "\(copy.name) after \(after)") }
            return zip(before, copies).count { $0 != $1.told }
        }

        var keeper: Keeper { get throws { try #require(try store.object(ofType: Keeper.self, forPrimaryKey: 1)) } }

        func close() throws {
            copies = []
            others = []
            try watching.close()
            try store.close()
        }
    }

    private static func hound(_ name: String, _ age: Int = 0) -> Hound {
        let hound = Hound()
        (hound.name, hound.age) = (name, age)
        return hound
    }

    @Test func A43_A50_appendAsynchronously() throws {
        let kennel = try Kennel(), store = kennel.store
        let appending = try kennel.keeper
        try store.writeAsync { _ in
            appending.dogs.append(objectsIn: [("Ben", 13), ("Lita", 9), ("Maui", 1)].map { Self.hound($0, $1) })
            appending.diary["days"]?.list?.append("three came")
            appending.favourites.insert(objectsIn: appending.dogs.suffix(2))
            appending.words.insert("come", at: 1)
        }
        #expect(store.isPerformingAsynchronousWriteOperations)
        try store.finishAsyncWrites()
        #expect(try kennel.follow("A43") > 12)
        #expect(kennel.properties.take().map(Set.init) == [["dogs", "favourites", "words", "diary"]])
        try store.write { _ in
            let keeper = try kennel.keeper
            for dog in keeper.dogs { dog.keeper = keeper }
        }
        try kennel.follow("owners")
        let completed = Received<Bool>(), renaming = try kennel.keeper
        try store.writeAsync(
            { _ in
                renaming.dogs[0].name = "Bob"
                renaming.words.move(from: 0, to: 2)
                renaming.diary["by"]?["name"] = "Bob"
                renaming.diary["by"]?["before"] = "Rex"
            }, onComplete: { completed.append($0 == nil) })
        try store.finishAsyncWrites()
        #expect(completed.take() == [true])
        try kennel.follow("A50")
        try kennel.close()
    }

    @Test func A44_A45_A46_findAndCopy() throws {
        let kennel = try Kennel(), store = kennel.store
        let id = try store.write { tx in try tx.create(Luke.self, value: ["name": "Luke"]).id }
        #expect(try kennel.follow("A44") == 1)
        #expect(try store.object(ofType: Luke.self, forPrimaryKey: id)?.name == "Luke")
        #expect(try store.object(ofType: Luke.self, forPrimaryKey: ObjectId.generate()) == nil)
        _ = kennel.commits.take()
        // Unmanaged copies are nobody's business.
        let copy = try kennel.keeper.detached()
        copy.name = "another"
        copy.dogs.append(Self.hound("none"))
        copy.numbers.removeAll()
        copy.favourites.removeAll()
        copy.words.removeAll()
        #expect(try kennel.follow("A45") == 0 && kennel.commits.take().isEmpty)
        #expect(try kennel.keeper.numbers.count == 3)
        copy.diary["days"]?[0] = 5
        #expect(try kennel.follow("A45, in a value") == 0)
        try store.write { _ in
            try kennel.keeper.numbers.removeAll()
            try kennel.keeper.favourites.removeAll()
            try kennel.keeper.words.removeAll()
            try kennel.keeper.diary["days"] = []
        }
        #expect(try kennel.follow("A46") >= 5)
        try kennel.close()
    }

    @Test func A47_A48_A49_copiesToAnother() throws {
        let kennel = try Kennel(), other = try Kennel()
        let wolfie = try kennel.store.write { tx in try tx.create(Hound.self, value: ["name": "Wolfie", "age": 1]) }
        try kennel.follow("A47")
        try other.store.write { tx in
            let copy = try tx.create(copying: wolfie)
            copy.age = 2
        }
        #expect(try other.follow("A47, the other") > 0 && kennel.follow("A47, later") == 0)
        #expect(wolfie.age == 1)
        // The key is there: an error tells nobody, and `.modified` tells what differs.
        for (each, name) in [(kennel, "Ann"), (other, "Bob")] {
            try each.store.write { tx in try tx.create(Keeper.self, value: ["id": 2, "name": name]) }
            try each.follow("A48")
        }
        let ann = try #require(try kennel.store.object(ofType: Keeper.self, forPrimaryKey: 2))
        #expect(throws: ObjStoreError.self) { try other.store.write { tx in try tx.create(copying: ann) } }
        #expect(try other.follow("A48, refused") == 0)
        try other.store.write { tx in try tx.create(copying: ann, update: .modified) }
        #expect(try other.follow("A48, modified") == 1)
        // A cycle of values is an error, and nothing is inserted; of objects it is none.
        #expect(throws: ObjStoreError.self) {
            try kennel.store.write { tx in
                let a = try tx.create(Node.self, value: ["name": "a"])
                let b = try tx.create(Node.self, value: ["name": "b", "next": a])
                a.next = b
                try other.store.write { tx in try tx.create(copying: a) }
            }
        }
        #expect(try kennel.follow("A49") == 0 && other.follow("A49, the other") == 0)
        try other.close()
        try kennel.close()
    }

    @Test func A51_to_A54_begunAndCommitted() throws {
        let kennel = try Kennel(), store = kennel.store
        try store.beginAsyncWrite { tx in try tx.create(Hound.self, value: ["name": "lost"]) }
        try store.finishAsyncWrites()
        #expect(try kennel.follow("A51") == 0)
        let completed = Received<Bool>()
        try store.beginAsyncWrite { tx in
            try tx.create(Hound.self, value: ["name": "kept"])
            try store.commitAsyncWrite { completed.append($0 == nil) }
        }
        try store.finishAsyncWrites()
        #expect(try completed.take() == [true] && kennel.follow("A52") > 0)
        let id = try store.beginAsyncWrite { tx in
            try tx.create(Hound.self, value: ["name": "never"])
            try store.commitAsyncWrite { _ in completed.append(false) }
        }
        store.cancelAsyncWrite(id)
        try store.finishAsyncWrites()
        #expect(try completed.take().isEmpty && kennel.follow("A53") == 0)
        try store.beginAsyncWrite { tx in
            try tx.create(Hound.self, value: ["name": "silent"])
            store.cancelAsyncWrite(try store.commitAsyncWrite { _ in completed.append(false) })
        }
        try store.finishAsyncWrites()
        #expect(try completed.take().isEmpty && kennel.follow("A54") > 0)
        #expect(store.objects(Hound.self).map(\.name) == ["Rex", "kept", "silent"])
        try kennel.close()
    }

    @Test func A55_A56_manySmallOnes() async throws {
        let kennel = try Kennel(), store = kennel.store
        try await withThrowingTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    try await store.asyncWrite(allowGrouping: number % 2 == 0) { tx in
                        try tx.create(Hound.self, value: ["name": "dog \(number)", "age": number % 17])
                    }
                }
            }
            for _ in 0..<20 { try kennel.watching.refresh() }
            try await group.waitForAll()
        }
        try kennel.follow("A55")
        #expect(kennel.watching.objects(Hound.self).count == 201)
        for number in 0..<20 {
            try store.writeAsync { tx in try tx.create(Hound.self, value: ["name": "last \(number)"]) }
        }
        try store.close()
        try kennel.follow("A56")
        #expect(kennel.watching.objects(Hound.self).count == 221)
        try kennel.close()
    }

    @Test func A57_A58_awaited() async throws {
        let kennel = try Kennel(), store = kennel.store, holder = Holder()
        await holder.hold(store)
        let task = Task {
            try await store.asyncWrite { tx in try tx.create(Luke.self, value: ["name": "Frodo"]).name }
        }
        #expect(try kennel.follow("A57, while another writes") == 0)
        holder.letGo()
        #expect(try await task.value == "Frodo")
        #expect(try kennel.follow("A57") == 1)
        try kennel.close()
    }

    @Test func A59_A60_positionsAndSilence() throws {
        let kennel = try Kennel(), store = kennel.store
        try store.write { tx in
            for (name, age) in [("A", 1), ("B", 2), ("C", 3), ("D", 3)] {
                try tx.create(Hound.self, value: ["name": name, "age": age])
            }
        }
        try kennel.follow("four more")
        let dogs = store.objects(Hound.self)
        try store.write { tx in
            try tx.delete(dogs[1])
            try tx.create(Hound.self, value: ["name": "E", "age": 20])
            dogs[2].age = 0
        }
        try kennel.follow("A59")
        // Observers of the writer's own are left out, of what it shows already; those of the other store are not.
        let list = try kennel.keeper.dogs
        try store.write { _ in
            list.append(objectsIn: dogs)
            try kennel.keeper.favourites.insert(objectsIn: dogs)
            try kennel.keeper.words[0] = "fetch"
        }
        try kennel.follow("all in the list")
        func copy(_ name: String, _ results: some ListSource<Hound> & Collection<Hound>) throws -> Copy {
            try Copy(name, results, nil, { $0.name }) { results.map(\.name) }
        }
        let silent = try [copy("class", dogs), copy("sorted", dogs.sorted(by: \.name)), copy("list", list)]
        let heard = try copy("heard", dogs)
        try store.deliver()
        func check(_ context: String, told silentTimes: Int, _ heardTimes: Int) throws {
            try store.deliver()
            for copy in silent + [heard] { #expect(copy.lines == copy.real(), "\(copy.name), \(context)") }
            #expect(silent.allSatisfy { $0.told == silentTimes } && heard.told == heardTimes, "\(context)")
            try kennel.follow("A60, \(context)")
        }
        /// Without its observers, whose lists the program changes itself.
        func remove(_ dog: Hound) throws {
            let name = dog.name
            try store.write(withoutNotifying: silent.compactMap(\.token)) { tx in try tx.delete(dog) }
            for copy in silent { copy.lines.removeAll { $0 == name } }
        }
        try remove(dogs[0])
        try check("silent", told: 1, 2)
        // They are told of what comes then, in the lists that they have by now.
        try store.write { tx in
            try tx.delete(dogs[1])
            let dog = try tx.create(Hound.self, value: ["name": "Bb", "age": 4])
            list.insert(dog, at: 1)
            dogs[0].name = "Z"
        }
        try check("and told", told: 2, 3)
        // Also where both are delivered at once.
        try remove(dogs[1])
        try store.write { tx in
            list.append(try tx.create(Hound.self, value: ["name": "Aa"]))
            dogs[0].name = "Y"
        }
        try check("both at once", told: 3, 4)
        try kennel.close()
    }

    @Test func A61_aWriterInTheBackground() throws {
        let kennel = try Kennel(), store = kennel.store, holder = Holder()
        holder.holdNow(store)
        try store.writeAsync { tx in try tx.create(Hound.self, value: ["name": "later"]) }
        #expect(try store.isPerformingAsynchronousWriteOperations && kennel.follow("A61, meanwhile") == 0)
        holder.letGo()
        try store.finishAsyncWrites()
        #expect(try kennel.follow("A61") > 0)
        try kennel.close()
    }
}
