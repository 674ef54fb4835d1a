import Dispatch
import ObjStore
import Testing

/// Tables, groups and plain values that are observed. Random histories are in ObservedTableHistoryTests.
@Suite struct ObservedTableTests {
    private typealias Pet = Shop.Pet

    private func pet(_ store: Store, _ id: Int) throws -> Pet {
        try #require(try store.object(ofType: Pet.self, forPrimaryKey: id))
    }

    private func texts(_ table: Table) throws -> [String] {
        try (0..<table.count).map { row in
            try table.columns.map { "\(try table.value(row, $0))" }.joined(separator: " ")
        }
    }

    // MARK: Tables

    @Test func groups() throws {
        let (store, _) = try Shop.open()
        let received = Received<TableChange>()
        let cities = store.objects(Pet.self).group(by: { $0.city })
        let token = try cities.observe { received.append($0) }
        #expect(try store.deliver() == 1)
        let initial = try #require(received.take().first)
        #expect(initial.isInitial && !initial.isLost && initial.deletions.isEmpty && initial.insertions.isEmpty)
        #expect(try texts(initial.table) == [#""Bern" 2"#, #""Zug" 2"#])

        try store.write { tx in
            try pet(store, 0).city = "Zug"
            try tx.create(Pet.self, value: [9, "Chur"])
        }
        #expect(try store.deliver() == 1)
        let change = try #require(received.take().first)
        // Zug has the first pet now.
        #expect(change.moves == [PositionMove(from: 1, to: 0)] || change.moves == [PositionMove(from: 0, to: 1)])
        #expect(change.insertions.contains(2) && change.fromVersion < change.toVersion && !change.isInitial)
        #expect(try texts(change.table) == [#""Zug" 3"#, #""Bern" 1"#, #""Chur" 1"#])
        #expect(try texts(change.tableBefore) == [#""Bern" 2"#, #""Zug" 2"#])
        let count = try change.table.columns[1]
        #expect(try change.changedColumns(ofMove: 0) == [count] && change.changedColumns(at: 0) == [count])
        #expect(code { try change.changedColumns(at: 1) } == .outOfRange)
        #expect(code { try change.changedColumns(at: -1) } == .outOfRange)
        #expect(code { try change.changedColumns(ofMove: 1) } == .outOfRange)
        #expect(change.modifications.count == 1 && change.modificationsBefore.count == 1)
        #expect(try change.before().objects(Pet.self).count == 4 && change.after().objects(Pet.self).count == 5)

        // No group shows it.
        try store.write { _ in
            try pet(store, 0).age = 50
            try pet(store, 1).hidden = 1
        }
        _ = try store.deliver()
        #expect(received.take().isEmpty)
        try store.write { tx in try tx.deleteAll(Pet.self) }
        #expect(try store.deliver() == 1)
        #expect(try #require(received.take().first).deletions == [0, 1, 2])
        token.invalidate()
        try store.close()
    }

    @Test func rowsOfObjects() throws {
        let (store, _) = try Shop.open()
        let received = Received<TableChange>(), dynamic = Received<[Int]>()
        let table = try store.objects(Pet.self).sorted(by: \.age).tableResults("SELECT(id, owner.city AS town)")
        let tokens = [
            try table.observe { received.append($0) },
            try store.dynamicObjects("Pet").tableResults("age >= $0 SELECT(id)", 2).observe {
                dynamic.append($0.insertions)
            },
        ]
        #expect(try store.deliver() == 2)
        #expect(try texts(#require(received.take().first).table).first == #"0 "Bern""#)
        _ = dynamic.take()
        try store.write { tx in
            try #require(try tx.object(ofType: Shop.Owner.self, forPrimaryKey: 1)).city = "Chur"
            try pet(store, 0).age = 9
        }
        #expect(try store.deliver() == 2)
        let change = try #require(received.take().first)
        #expect(change.moves == [PositionMove(from: 0, to: 3)])
        #expect(try change.changedColumns(ofMove: 0).isEmpty)
        #expect(change.modifications == [0, 2] && change.modificationsBefore == [1, 3])
        #expect(try change.changedColumns(at: 0) == ["town"] && change.changedColumns(at: 1) == ["town"])
        #expect(try texts(change.table) == [#"1 "Chur""#, #"2 "Bern""#, #"3 "Chur""#, #"0 "Bern""#])
        #expect(dynamic.take() == [[0]])
        #expect(try texts(table.table()) == texts(change.table))

        // What a column reads is written, and is what it was.
        try store.write { _ in try pet(store, 2).owner = try pet(store, 2).owner }
        _ = try store.deliver()
        for same in received.take() { #expect(try same.changedColumns(at: 0).isEmpty) }
        for token in tokens { token.invalidate() }
        try store.close()
    }

    @Test func linksAreFrozen() throws {
        let (store, _) = try Shop.open(), received = Received<TableChange>()
        let token = try store.objects(Pet.self).group(by: { $0.owner }).observe { received.append($0) }
        try store.deliver()
        try store.write { tx in
            let ann = try tx.create(Shop.Owner.self, value: [7, "Chur"])
            try pet(store, 0).owner = ann
        }
        try store.deliver()
        let change = try #require(received.take().last), column = try change.table.columns[0]
        let owners = try change.table.column(column, as: Shop.Owner?.self)
        #expect(owners.compactMap { $0?.id }.sorted() == [0, 1, 7] && owners.allSatisfy { $0?.isFrozen != false })
        #expect(try change.tableBefore.column(column, as: Shop.Owner?.self).compactMap { $0?.city } == ["Bern", "Zug"])
        token.invalidate()
        try store.close()
        // What was found stays.
        #expect(code { try change.table } == nil || code { try change.table } == .closedHandle)
    }

    // MARK: Plain values

    @Test func values() throws {
        let (store, book) = try Shop.open()
        let list = Received<ValueChange<Int, Never>>(), map = Received<ValueChange<Int, String>>()
        let set = Received<ValueChange<Int, Never>>(), any = Received<[AnyValue]>()
        let tokens = [
            try book.numbers.where { $0 > 3 }.observe { list.append($0) },
            try book.marks.filter("@self > 2").observe { set.append($0) },
            try book.notes.where { $0 > 3 }.observe { map.append($0) },
            try book.things.results().observe { any.append(Array($0.values)) },
        ]
        #expect(try store.deliver() == 4)
        let initial = try #require(list.take().first)
        #expect(initial.isInitial && Array(initial.values) == [5, 7] && initial.values.isFrozen)
        _ = (set.take(), map.take(), any.take())
        try store.write { _ in
            book.numbers.insert(8, at: 0)
            book.numbers.insert(0, at: 0)
            book.numbers.removeLast()
            book.marks.insert(objectsIn: [1, 4])
            book.notes["a"] = 5
            book.notes["b"] = nil
            book.notes["c"] = 9
            book.things.append(objectsIn: [.int(1), ["x", 2]])
        }
        #expect(try store.deliver() == 4)
        let change = try #require(list.take().first)
        #expect(Array(change.values) == [8, 5] && Array(change.valuesBefore) == [5, 7])
        #expect(change.deletions == [1] && change.insertions == [0] && change.modifications.isEmpty)
        #expect(change.values.places == [1, 2] && change.valuesBefore.places == [0, 2])
        let entries = try #require(map.take().first)
        #expect(entries.deletedKeys == ["b"] && entries.insertedKeys == ["c"] && entries.modifiedKeys == ["a"])
        #expect(entries.modifications == [0] && entries.modificationsBefore == [0] && entries.moves.isEmpty)
        #expect(entries.values.keys == ["a", "c"] && Array(entries.valuesBefore) == [4, 8])
        #expect(try #require(set.take().first).insertions == [0])
        let things = try #require(any.take().first)
        #expect(things.count == 2 && things[1].list?.first == .string("x"))

        try store.write { tx in try tx.delete(book) }
        #expect(try store.deliver() == 4)
        let gone = try #require(list.take().first)
        #expect(gone.isOwnerDeleted && gone.deletions == [0, 1] && gone.values.isEmpty)
        #expect(Array(gone.valuesBefore) == [8, 5])
        #expect(try #require(map.take().first).deletedKeys == ["a", "c"])
        // Nothing more comes.
        try store.write { tx in try tx.create(Shop.Book.self, value: ["id": 1, "numbers": [9]] as [String: Any]) }
        #expect(try store.deliver() == 0)
        for token in tokens { token.invalidate() }
        try store.close()
    }

    /// A table of what is in a list ends with its owner.
    @Test func tableOfAList() throws {
        let (store, book) = try Shop.open(), received = Received<TableChange>()
        try store.write { _ in book.pets.append(objectsIn: store.objects(Pet.self)) }
        let token = try book.pets.results().group(by: { $0.city }).observe { received.append($0) }
        try store.deliver()
        try store.write { _ in book.pets.remove(at: 0) }
        try store.deliver()
        let change = try #require(received.take().last)
        #expect(change.deletions.count + change.insertions.count > 0 && !change.isOwnerDeleted)
        try store.write { tx in try tx.delete(book) }
        try store.deliver()
        let last = try #require(received.take().last)
        #expect(last.isOwnerDeleted && last.deletions == [0, 1])
        token.invalidate()
        try store.close()
    }

    // MARK: Tokens

    @Test func silentPausedAndResting() throws {
        let (store, book) = try Shop.open(), told = Received<String>()
        let groups = store.objects(Pet.self).group(by: { $0.city })
        let tokens = [
            try groups.observe { told.append("groups \($0.deletions) \($0.insertions) \($0.modifications)") },
            try book.numbers.where { $0 > 3 }.observe { told.append("values \($0.deletions) \($0.insertions)") },
        ]
        #expect(try store.deliver() == 2)
        _ = told.take()
        try store.write(withoutNotifying: tokens) { tx in
            try tx.create(Pet.self, value: [10, "Chur"])
            book.numbers.append(9)
        }
        #expect(try store.deliver() == 0)
        try store.write { tx in
            try tx.create(Pet.self, value: [11, "Chur"])
            book.numbers.append(8)
        }
        #expect(try store.deliver() == 2)
        #expect(Set(told.take()) == ["groups [] [] [2]", "values [] [3]"])
        for token in tokens { token.pause() }
        try store.write { tx in try tx.delete(try pet(store, 10)) }
        try store.write { tx in
            try tx.delete(try pet(store, 11))
            book.numbers.removeAll()
        }
        #expect(try store.deliver() == 0)
        for token in tokens { token.resume() }
        #expect(try store.deliver() == 2)
        #expect(Set(told.take()) == ["groups [2] [] []", "values [0, 1, 2, 3] []"])
        try tokens[0].setInterval(.seconds(3600))
        try store.write { tx in try tx.create(Pet.self, value: [13, "Bern"]) }
        #expect(try store.deliver() == 1 && told.take() == ["groups [] [] [0]"])
        try store.write { tx in try tx.create(Pet.self, value: [12, "Basel"]) }
        #expect(try store.deliver() == 0)
        try tokens[0].setInterval(.zero)
        #expect(try store.deliver() == 1 && told.take() == ["groups [] [2] []"])
        for token in tokens { token.invalidate() }
        try store.close()
    }

    @Test func sinceABookmark() throws {
        let folder = Folder()
        let (store, book) = try Shop.open(Store.Configuration(path: folder.file(), models: Shop.models))
        let seen = try store.bookmark
        try store.keepVersion("seen", at: seen)
        try store.write { tx in
            try tx.create(Pet.self, value: [10, "Chur"])
            book.notes["c"] = 7
        }
        let told = Received<String>(), pets = store.objects(Pet.self)
        var tokens = [
            try pets.group(by: { $0.city }).observe(since: seen) { told.append("groups \($0.insertions)") },
            try pets.tableResults("SELECT(id)").observe(since: seen) { told.append("rows \($0.insertions)") },
            try book.notes.results().observe(since: seen) { told.append("values \($0.insertedKeys)") },
        ]
        #expect(try store.deliver() == 3)
        #expect(Set(told.take()) == ["groups [2]", "rows [4]", #"values ["c"]"#])
        for token in tokens { token.invalidate() }
        // Nobody keeps it any more.
        try store.releaseVersion("seen")
        for id in 20..<23 {
            try store.write { tx in try tx.create(Pet.self, value: [id]) }
            try store.checkpoint()
        }
        tokens = [
            try pets.group(by: { $0.city }).observe(since: seen) { told.append("groups \($0.isLost)") },
            try pets.tableResults("SELECT(id)").observe(since: seen) { told.append("rows \($0.isLost)") },
            try book.notes.results().observe(since: seen) { change in
                told.append("values \(change.isLost) \(change.values.count)")
            },
        ]
        #expect(try store.deliver() == 3)
        #expect(Set(told.take()) == ["groups true", "rows true", "values true 3"])
        for token in tokens { token.invalidate() }
        try store.close()
    }

    /// What the handler of a table throws is thrown by `deliver`, and it is told the rest.
    @Test func handlersThrow() throws {
        struct Refused: Error {}
        let (store, book) = try Shop.open(), told = Received<Bool>()
        let tokens = [
            try store.objects(Pet.self).group().observe { change in
                told.append(change.isInitial)
                if change.isInitial { throw Refused() }
            },
            try book.numbers.results().observe { change in
                told.append(change.isInitial)
                if change.isInitial { throw ObjStoreError(.notFound, "mine") }
            },
        ]
        #expect([.callback, .notFound].contains(code { _ = try store.deliver() }))
        #expect(told.take() == [true, true])
        try store.write { tx in
            try tx.create(Pet.self, value: [10])
            book.numbers.append(1)
        }
        #expect(try store.deliver() == 2 && told.take() == [false, false])
        for token in tokens { token.invalidate() }
        try store.close()
    }

    // MARK: Elsewhere

    @Test(.timeLimit(.minutes(1))) func onAQueue() throws {
        let (store, book) = try Shop.open(), told = DispatchSemaphore(value: 0), lines = Received<String>()
        let queue = DispatchQueue(label: "tables")
        @Sendable func tell(_ line: String) {
            dispatchPrecondition(condition: .onQueue(queue))
            lines.append(line)
            told.signal()
        }
        let tokens = [
            try store.objects(Pet.self).group(by: { $0.city }).observe(on: queue) { tell("groups \($0.insertions)") },
            try store.objects(Pet.self).tableResults("SELECT(id)").observe(on: queue) { tell("rows \($0.insertions)") },
            try book.marks.where { $0 > 3 }.observe(on: queue) { tell("values \($0.insertions)") },
        ]
        for _ in tokens { told.wait() }
        #expect(Set(lines.take()) == ["groups []", "rows []", "values []"])
        try store.write { tx in
            try tx.create(Pet.self, value: [10, "Chur"])
            book.marks.insert(8)
        }
        for _ in tokens { told.wait() }
        #expect(Set(lines.take()) == ["groups [2]", "rows [4]", "values [0]"])
        for token in tokens { token.invalidate() }
        try store.close()
    }

    private actor Screen {
        var lines: [String] = []
        func observe(_ groups: Groups<Pet>) throws -> NotificationToken {
            try groups.observe(on: self) { me, change in me.lines.append("\(change.insertions)") }
        }
    }

    @Test(.timeLimit(.minutes(1))) func onAnActor() async throws {
        let (store, _) = try Shop.open(), screen = Screen()
        let token = try await screen.observe(store.objects(Pet.self).group(by: { $0.city }))
        while await screen.lines != ["[]"] { await Task.yield() }
        try store.write { tx in try tx.create(Pet.self, value: [10, "Chur"]) }
        while await screen.lines != ["[]", "[2]"] { await Task.yield() }
        token.invalidate()
        try store.close()
    }

    @Test(.timeLimit(.minutes(1))) func loops() async throws {
        let (store, book) = try Shop.open(), seen = try store.bookmark
        try store.keepVersion("seen", at: seen)
        var groups = store.objects(Pet.self).group(by: { $0.city }).changes.makeAsyncIterator()
        var values = try book.numbers.where { $0 > 3 }.changes.makeAsyncIterator()
        #expect(await groups.next()?.isInitial == true)
        #expect(await values.next()?.isInitial == true)
        try store.write { tx in
            try tx.create(Pet.self, value: [10, "Chur"])
            book.numbers.append(9)
        }
        let change = try #require(await groups.next()), added = try #require(await values.next())
        #expect(change.insertions == [2] && added.insertions == [2] && Array(added.values) == [5, 7, 9])
        let rows = try store.objects(Pet.self).tableResults { $0.id }
        for await late in rows.changes(since: seen) {
            #expect(late.insertions == [4] && !late.isInitial)
            break
        }
        for await late in try book.numbers.results().changes(since: seen) {
            #expect(late.insertions == [3])
            break
        }
        try store.write { tx in try tx.delete(book) }
        #expect(await values.next()?.isOwnerDeleted == true)
        try store.close()
        #expect(await groups.next() == nil)
        #expect(await values.next() == nil)
    }

    @MainActor @Test(.timeLimit(.minutes(1))) func onAScreen() async throws {
        let (store, book) = try Shop.open()
        let cities = try LiveList(store.objects(Pet.self).group(by: { $0.city }))
        let numbers = try LiveList(book.numbers.where { $0 > 3 })
        #expect(cities.rows.map { $0.element["city"] } == [.string("Bern"), .string("Zug")])
        #expect(numbers.rows.map(\.element) == [5, 7] && cities.rows[0].element["wings"] == nil)
        let zug = cities.rows[1].id
        try store.write { tx in
            try tx.delete(store.objects(Pet.self).where { $0.city == "Bern" })
            book.numbers.insert(6, at: 0)
        }
        while cities.rows.count != 1 || numbers.rows.count != 3 { await Task.yield() }
        #expect(cities.rows[0].id == zug && numbers.rows.map(\.element) == [6, 5, 7])
        #expect(numbers.rows.insertions == [0] && cities.rows.deletions.contains(0))
        cities.stop()
        numbers.stop()
        try store.close()
    }

    // MARK: Refused

    @Test func refused() throws {
        let folder = Folder()
        let (store, book) = try Shop.open(Store.Configuration(path: folder.file(), models: Shop.models))
        let pets = store.objects(Pet.self), groups = pets.group(by: { $0.city })
        let rows = try pets.tableResults("SELECT(id)"), values = try book.numbers.where { $0 > 3 }
        let queue = DispatchQueue(label: "refused")
        // Key paths are of objects.
        #expect(code { _ = try groups.observe(keyPaths: ["age"], on: queue) { _ in } } == .invalidArgument)
        #expect(code { _ = try values.observe(keyPaths: ["age"], on: queue) { _ in } } == .invalidArgument)
        #expect(code { _ = try pets.tableResults("age > 3") } == .invalidQuery)
        #expect(code { _ = try pets.tableResults("SELECT(wings)") } == .noSuchProperty)
        #expect(code { _ = try pets.sorted(by: []).group().limit(-1).observe { _ in } } != nil)
        #expect(code { _ = try values.filter("wings > 3") } != nil)
        let frozen = try store.freeze()
        #expect(code { _ = try frozen.objects(Pet.self).group().observe { _ in } } == .wrongView)
        #expect(code { _ = try frozen.objects(Pet.self).tableResults { $0.id }.observe { _ in } } == .wrongView)
        #expect(code { _ = try values.freeze().observe { _ in } } == .wrongView)
        try store.write { tx in
            let new = try tx.create(Shop.Book.self, value: ["id": 2])
            #expect(code { _ = try new.numbers.results().observe { _ in } } == .noSuchObject)
        }
        try store.write { tx in try tx.delete(book) }
        #expect(code { _ = try values.observe { _ in } } == .noSuchObject)
        try store.close()
        #expect(code { _ = try groups.observe { _ in } } == .closedHandle)
        #expect(code { _ = try rows.observe { _ in } } == .closedHandle)
        #expect(code { _ = try values.observe { _ in } } == .closedHandle)

        var configuration = Store.Configuration(path: folder.file(), models: Shop.models)
        configuration.access = .immutable
        let reader = try Store(configuration), all = reader.objects(Pet.self)
        let readerBook = try #require(reader.objects(Shop.Book.self).first)
        #expect(code { _ = try all.observe { _ in } } == .readOnly)
        #expect(code { _ = try all.group().observe { _ in } } == .readOnly)
        #expect(code { _ = try all.tableResults("SELECT(id)").observe { _ in } } == .readOnly)
        #expect(code { _ = try readerBook.numbers.results().observe { _ in } } == .readOnly)
        try reader.close()
    }

    @Test func nothingOfAMigration() throws {
        let folder = Folder(), codes = Received<ObjStoreError.Code?>()
        var configuration = Store.Configuration(path: folder.file(), models: Shop.models)
        configuration.schemaVersion = 1
        try Shop.open(configuration).store.close()
        configuration.schemaVersion = 2
        configuration.migrationBlock = { (migration, _) in
            let pets = migration.transaction.objects(Pet.self)
            codes.append(code { _ = try pets.group().observe { _ in } })
            codes.append(code { _ = try pets.tableResults("SELECT(id)").observe { _ in } })
        }
        try Store(configuration).close()
        #expect(codes.take() == [.wrongView, .wrongView])
    }
}
