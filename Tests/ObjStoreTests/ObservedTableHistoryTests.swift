import ObjStore
import Synchronization
import Testing

/// Tables and plain values that are observed in random histories: what a copy is after its change sets is what plain
/// arrays say.
@Suite struct ObservedTableHistoryTests {
    private typealias Row = [AnyValue]
    private typealias Model = Shop.Model

    /// A copy that follows what it is told. One thread at a time.
    private final class Copy: @unchecked Sendable {
        let name: String
        let wanted: (Model) -> [Row]
        var rows: [Row] = []
        var problem: String?
        var told = 0
        var moved = 0
        var token: NotificationToken?

        init(_ name: String, _ wanted: @escaping (Model) -> [Row]) { (self.name, self.wanted) = (name, wanted) }

        func take(_ change: some PositionedChange, _ after: [Row]) {
            told += 1
            if change.isLost { problem = "lost" }
            if change.isInitial { return rows = after }
            for place in change.deletions.reversed() { rows.remove(at: place) }
            for place in change.insertions { rows.insert(after[place], at: place) }
            for place in change.modifications { rows[place] = after[place] }
            moved += change.moves.count
            if rows != after { problem = "\(rows), and there is \(after)" }
        }

        /// Also what is told of columns, of a copy that is told everything.
        func take(_ change: TableChange, checking: Bool) throws {
            let old = rows, after = Self.rows(try change.table)
            if !change.isInitial, checking {
                let before = Self.rows(try change.tableBefore), columns = try change.table.columns
                if before != old { problem = "before it was \(before), and not \(old)" }
                func check(_ from: Int, _ to: Int, _ names: [String]) {
                    let wanted = columns.indices.filter { before[from][$0] != after[to][$0] }.map { columns[$0] }
                    if names != wanted { problem = "\(names) are told of, and not \(wanted)" }
                }
                for (index, to) in change.modifications.enumerated() {
                    check(change.modificationsBefore[index], to, try change.changedColumns(at: index))
                }
                for (index, move) in change.moves.enumerated() {
                    check(move.from, move.to, try change.changedColumns(ofMove: index))
                }
            }
            take(change, after)
        }

        func take<Key>(_ change: ValueChange<Int, Key>, checking: Bool) {
            if !change.isInitial, checking {
                let before = change.valuesBefore.map { [AnyValue.int($0)] }
                if before != rows { problem = "before it was \(before), and not \(rows)" }
            }
            take(change, change.values.map { [.int($0)] })
        }

        private static func rows(_ table: Table) -> [Row] {
            (0..<table.count).map { row in table.columns.map { (try? table.value(row, $0)) ?? .string("?") } }
        }
    }

    private struct Source {
        let name: String
        let wanted: (Model) -> [Row]
        let observe: (_ copy: Copy, _ isAll: Bool, _ since: Bookmark?) throws -> NotificationToken

        func copy(isAll: Bool = true, since bookmark: Bookmark? = nil, _ rows: [Row] = []) throws -> Copy {
            let copy = Copy(name, wanted)
            copy.rows = rows
            copy.token = try observe(copy, isAll, bookmark)
            return copy
        }
    }

    private static func table(
        _ name: String, _ source: some ObservableTable, _ wanted: @escaping (Model) -> [Row]
    ) -> Source {
        Source(name: name, wanted: wanted) { copy, isAll, bookmark in
            guard let bookmark else { return try source.observe { try copy.take($0, checking: isAll) } }
            return try source.observe(since: bookmark) { try copy.take($0, checking: isAll) }
        }
    }

    private static func values<Key>(
        _ name: String, _ source: ValueResults<Int, Key>, _ wanted: @escaping (Model) -> [Int]
    ) -> Source {
        Source(name: name, wanted: { wanted($0).map { [.int($0)] } }) { copy, isAll, bookmark in
            guard let bookmark else { return try source.observe { copy.take($0, checking: isAll) } }
            return try source.observe(since: bookmark) { copy.take($0, checking: isAll) }
        }
    }

    private static func groups(_ model: Model) -> [(city: String, pets: [Model.Pet])] {
        var groups: [(city: String, pets: [Model.Pet])] = []
        for pet in model.pets {
            if let place = groups.firstIndex(where: { $0.city == pet.city }) {
                groups[place].pets.append(pet)
            } else {
                groups.append((pet.city, [pet]))
            }
        }
        return groups
    }

    private static func sources(_ store: Store, _ book: Shop.Book) throws -> [Source] {
        let pets = store.objects(Shop.Pet.self)
        func ages(_ pets: [Model.Pet]) -> Int { pets.reduce(0) { $0 + $1.age } }
        func sorted<T>(_ all: [T], _ isBefore: (T, T) -> Bool) -> [T] {
            all.enumerated().sorted { a, b in
                isBefore(a.element, b.element) || !isBefore(b.element, a.element) && a.offset < b.offset
            }.map(\.element)
        }
        return [
            table("rows", try pets.tableResults { ($0.id, $0.city, $0.owner.city.optional) }) { model in
                model.pets.map {
                    [.int($0.id), .string($0.city), $0.owner.map { .string(model.owners[$0]) } ?? .none]
                }
            },
            table("sorted rows", try pets.where { $0.age > 1 }.tableResults("SORT(age DESC) LIMIT(3) SELECT(id, age)"))
            { model in
                sorted(model.pets.filter { $0.age > 1 }) { $0.age > $1.age }.prefix(3).map {
                    [.int($0.id), .int($0.age)]
                }
            },
            table("rows without models", try store.dynamicObjects("Pet").tableResults("age < $0 SELECT(id)", 3)) {
                $0.pets.filter { $0.age < 3 }.map { [.int($0.id)] }
            },
            table("groups", pets.group(by: { $0.city })) { model in
                groups(model).map { [.string($0.city), .int($0.pets.count)] }
            },
            table(
                "sorted groups",
                try pets.group(by: { $0.city }).having { $0.count > 1 }.sorted(by: { $0.sum { $0.age } })
                    .tableResults { ($0.city, $0.sum { $0.age }, $0.count) }
            ) { model in
                sorted(groups(model).filter { $0.pets.count > 1 }) { ages($0.pets) < ages($1.pets) }
                    .map { [.string($0.city), .int(ages($0.pets)), .int($0.pets.count)] }
            },
            table("one group", try pets.tableResults("GROUP() SELECT(@count, @max.age)")) { model in
                [[.int(model.pets.count), model.pets.map(\.age).max().map { .int($0) } ?? .none]]
            },
            values("list", try book.numbers.where { $0 > 3 }) { $0.numbers.filter { $0 > 3 } },
            values("sorted list", try book.numbers.sorted(ascending: false).limit(4)) {
                Array($0.numbers.sorted(by: >).prefix(4))
            },
            values("set", try book.marks.where { $0 < 8 }) { $0.marks.filter { $0 < 8 }.sorted() },
            values("map", try book.notes.where { $0 > 2 }) { model in
                model.notes.sorted { $0.key < $1.key }.map(\.value).filter { $0 > 2 }
            },
            values("sorted map", try book.notes.sorted(ascending: true)) { model in
                sorted(model.notes.sorted { $0.key < $1.key }) { $0.value < $1.value }.map(\.value)
            },
        ]
    }

    /// One copy is told everything, one not what it has written itself, one pauses, and one begins at a bookmark.
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64]) func copiesFollow(_ seed: UInt64) throws {
        let (store, book) = try Shop.open(), sources = try Self.sources(store, book)
        var model = Model(), random = Q.Random(seed)
        let all = try sources.map { try $0.copy() }
        let silent = try sources.map { try $0.copy(isAll: false) }, paused = try sources.map { try $0.copy() }
        func check(_ copies: [Copy], _ step: Int) throws {
            for copy in copies {
                try #require(
                    copy.problem == nil && copy.rows == copy.wanted(model),
                    """
                    \(copy.name), step \(step) of seed \(seed): \(copy.rows), not \(copy.wanted(model)): \
                    \(copy.problem ?? "")
                    """)
            }
        }
        try store.deliver()
        try check(all + silent + paused, 0)
        var bookmark: (mark: Bookmark, model: Model)?
        for step in 1...60 {
            if step % 8 == 1 { for copy in paused { copy.token?.pause() } }
            if step == 50 {
                bookmark = (try store.bookmark, model)
                try store.keepVersion("seen", at: try store.bookmark)
            }
            let isSilent = random.number(3) == 0
            try store.write(withoutNotifying: isSilent ? silent.compactMap(\.token) : []) { tx in
                for _ in 0...random.number(4) { try model.change(tx, book, &random) }
            }
            // They show what they have written already.
            if isSilent { for copy in silent { copy.rows = copy.wanted(model) } }
            try store.deliver()
            try check(all + silent, step)
            if step % 8 == 5 {
                for copy in paused { copy.token?.resume() }
                try store.deliver()
                try check(paused, step)
            }
        }
        for copy in all { #expect(copy.told > 1, "\(copy.name)") }
        #expect(silent.map(\.told).reduce(0, +) < all.map(\.told).reduce(0, +))
        #expect(all.contains { $0.moved > 0 && $0.name == "sorted groups" })
        let (mark, old) = try #require(bookmark)
        let late = try sources.map { try $0.copy(since: mark, $0.wanted(old)) }
        try store.deliver()
        try check(late, 61)
        for copy in all + silent + paused + late { copy.token?.invalidate() }
        try store.close()
    }
}

/// Groups and other tables.
private protocol ObservableTable: ObservableCollection
where Change == TableChange, ObservingFailure == ObjStoreError {
    func observe(_ handler: @escaping @Sendable (TableChange) throws -> Void) throws(ObjStoreError) -> NotificationToken
}
extension TableResults: ObservableTable {}
extension Groups: ObservableTable {}
