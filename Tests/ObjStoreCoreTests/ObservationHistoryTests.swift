import Testing

import ObjStoreCore

/// What observers get after random histories, against a naive comparison of whole contents.
@Suite struct ObservationHistoryTests {
    /// One observed question and the list as the test keeps it.
    final class Watched {
        let property: Int?
        let comparison: Comparison
        let constant: TestValue
        let received = Received()
        var observer: Observer?
        var list: [Int64] = []

        init(_ property: Int?, _ comparison: Comparison, _ constant: TestValue) {
            self.property = property
            self.comparison = comparison
            self.constant = constant
        }

        func query(_ cls: ClassSchema) throws -> ObserverScope {
            guard let property else { return ObserverScope(class: cls) }
            return try TestValue.with([constant], [cls.columns[property].kind]) {
                ObserverScope(try Query(cls.classID, cls.propertyID(property), comparison, $0[0]))
            }
        }

        /// Independent of the kernels: on values in memory.
        func holds(_ row: [TestValue]) -> Bool {
            guard let property else { return true }
            func order(_ a: TestValue, _ b: TestValue) -> Int? {
                switch (a, b) {
                case (.int(let x), .int(let y)): x < y ? -1 : x == y ? 0 : 1
                case (.bool(let x), .bool(let y)): x == y ? 0 : y ? -1 : 1
                case (.double(let x), .double(let y)):
                    Double(bitPattern: x) < Double(bitPattern: y)
                        ? -1 : Double(bitPattern: x) == Double(bitPattern: y) ? 0 : 1
                case (.timestamp(let s, let n), .timestamp(let t, let m)):
                    (s, n) < (t, m) ? -1 : (s, n) == (t, m) ? 0 : 1
                case (.text(let x), .text(let y)): comesBefore(x, y) ? -1 : x == y ? 0 : 1
                default: nil
                }
            }
            let value = row[property]
            guard let order = order(value, constant) else {
                // Null equals null and nothing else.
                let isEqual = value == .null && constant == .null
                return comparison == .equal ? isEqual : comparison == .notEqual ? !isEqual : false
            }
            switch comparison {
            case .equal: return order == 0
            case .notEqual: return order != 0
            case .less: return order < 0
            case .lessOrEqual: return order <= 0
            case .greater: return order > 0
            case .greaterOrEqual: return order >= 0
            }
        }

        func answer(_ content: RowContent) -> [Int64] { content.filter { holds($0.value) }.map(\.key).sorted() }
    }

    static func all() -> [Watched] {
        [
            Watched(nil, .equal, .null), Watched(1, .less, .int(10)), Watched(2, .equal, .text(Array("text 3".utf8))),
            Watched(2, .equal, .null),
            Watched(2, .notEqual, .null), Watched(3, .equal, .bool(true)),
            Watched(4, .greaterOrEqual, .timestamp(5, 1)), Watched(5, .greater, .double(7.5.bitPattern)),
        ]
    }

    struct Tally {
        var sets = 0, compared = 0, merged = 0
    }

    /// Checks everything that came for one question between two contents.
    func check(
        _ watched: Watched, old: RowContent, new: RowContent, store: ObservedStore, tally: inout Tally,
        _ context: String
    ) throws {
        let sets = watched.received.take()
        #expect(sets.count <= 1, "\(context): \(sets.count) change sets for one delivery")
        let before = watched.answer(old), after = watched.answer(new)
        #expect(watched.list == before)
        watched.list = after
        let real = ObservedStore.difference(old, new)
        let logged = store.expected()
        guard let set = sets.first else {
            #expect(before == after, "\(context): the list changed and nobody was told")
            #expect(real.modified.keys.allSatisfy { !before.contains($0) }, "\(context): a change was not told")
            return
        }
        tally.sets += 1
        if set.isCompared { tally.compared += 1 }
        #expect(!set.changes.isEmpty)
        #expect(!set.isFromOtherProcess, "\(context): nobody else writes")
        for list in [set.deleted, set.inserted, set.modified] {
            #expect(zip(list, list.dropFirst()).allSatisfy { $0 < $1 })
        }

        let was = Set(before), now = Set(after)
        #expect(set.deleted == before.filter { !now.contains($0) }, "\(context): deletions")
        #expect(set.inserted == after.filter { !was.contains($0) }, "\(context): insertions")
        // From the log: everything that was written, also with its old value. From the trees: what differs.
        let wanted = (set.isCompared ? real.modified : logged.modified).filter {
            was.contains($0.key) && now.contains($0.key)
        }
        #expect(set.changes.modifiedMasks == wanted, "\(context): modifications\(set.isCompared ? " (compared)" : "")")

        guard watched.property != nil else { return #expect(set.indices == nil) }
        let indices = try #require(set.indices)
        #expect(indices.deleted.map { before[Int($0)] } == set.deleted)
        #expect(indices.inserted.map { after[Int($0)] } == set.inserted)
        #expect(indices.modifiedBefore.map { before[Int($0)] } == set.modified)
        #expect(indices.modifiedAfter.map { after[Int($0)] } == set.modified)
    }

    /// - Parameter summaries: percent of transactions that log a summary; `lag`: transactions between deliveries.
    func history(
        seed: UInt64, transactions: Int, logBytes: Int, lag: Int, summaries: Int = 0, checkpoints: Int = 5,
        operations: Int = 12
    ) throws -> Tally {
        let store = try ObservedStore(seed: seed, inMemory: true, logBytes: logBytes, logLimit: logBytes)
        var tally = Tally()
        let watched = ObservationHistoryTests.all()
        let cls = try store.items
        for one in watched {
            one.observer = try store.hub.observe(try one.query(cls)) {
                one.received.append($0); return nil
            }
        }
        var old: RowContent = [:]
        store.forget()
        var commits = 0
        for step in 0..<transactions {
            try store.write { transaction, items in
                for _ in 0..<store.random.below(operations) { try store.randomOperation(items) }
                if store.random.chance(summaries) { transaction.forceSummary() }
            }
            commits += 1
            if store.random.chance(checkpoints) { try store.database.checkpoint() }
            if step < transactions - 1 && store.random.below(lag) != 0 { continue }
            if commits > 1 { tally.merged += 1 }
            commits = 0
            let calls = try store.hub.deliver()
            let snapshot = try store.database.snapshot()
            let new = try store.content(snapshot)
            let context = "seed \(seed), step \(step)"
            var told = 0
            for one in watched {
                let sets = tally.sets
                try check(one, old: old, new: new, store: store, tally: &tally, context)
                told += tally.sets - sets
            }
            #expect(calls == told)
            old = new
            store.forget()
        }
        for one in watched { one.observer!.close() }
        try store.close()
        return tally
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func smallCommits(seed: UInt64) throws {
        let tally = try history(seed: seed, transactions: 250, logBytes: 1 << 20, lag: 3)
        #expect(tally.sets > 300 && tally.merged > 30)
        #expect(tally.compared == 0, "the log says everything")
    }

    @Test(arguments: [UInt64(11), 12])
    func summaries(seed: UInt64) throws {
        let tally = try history(
            seed: seed, transactions: 200, logBytes: 1 << 20, lag: 3, summaries: 40, operations: 200)
        #expect(tally.sets > 200 && tally.compared == 0)
    }

    /// A log of 32 KiB laps every twenty commits.
    @Test(arguments: [UInt64(21), 22, 23])
    func lapping(seed: UInt64) throws {
        let tally = try history(
            seed: seed, transactions: 600, logBytes: 32 << 10, lag: 25, summaries: 10, operations: 30)
        #expect(tally.compared > 10 && tally.compared < tally.sets, "\(tally)")
    }

    /// Comparing trees against comparing contents: several leaves, columns of every kind, rows removed at all places.
    @Test(arguments: [UInt64(31), 32])
    func treesAlone(seed: UInt64) throws {
        let store = try ObservedStore(seed: seed, inMemory: true)
        try store.write { _, items in for _ in 0..<10_000 { try store.create(items) } }
        var snapshots: [(Snapshot, RowContent)] = []
        for step in 0..<8 {
            let snapshot = try store.database.snapshot()
            snapshots.append((snapshot, try store.content(snapshot)))
            try store.write { _, items in
                if step == 3 {
                    // Most of one, for compaction to put what is left beside others.
                    for key in store.keys where key < 4096 && key % 8 != 0 { try store.delete(items, key) }
                }
                if step == 5 {
                    // A whole leaf goes.
                    for key in store.keys where key >= 4096 && key < 8192 { try store.delete(items, key) }
                }
                for _ in 0..<(step == 2 ? 1 : 100) { try store.randomOperation(items) }
            }
            if step == 3 || step == 6 { try store.database.compact(timeout: -1) { _, _ in } }
        }
        for (index, from) in snapshots.enumerated() {
            for to in snapshots[index...] {
                let reader = try ChangeReader(store.database, from: from.0, to: to.0, classes: [0], compares: true)
                let real = ObservedStore.difference(from.1, to.1)
                let changes = reader.classes[0] ?? ClassChanges(maskWords: 1)
                #expect(changes.deleted == real.deleted)
                #expect(changes.inserted == real.inserted)
                #expect(changes.modifiedMasks == real.modified, "seed \(seed)")
            }
        }
        snapshots = []
        try store.close()
    }

    /// Compaction moves rows and pages, and observers hear nothing of it; what was written around it they do.
    @Test func compactionIsNoChange() throws {
        let store = try ObservedStore(seed: 17)
        try store.write { _, items in for _ in 0..<9000 { try store.create(items) } }
        try store.write { _, items in for key in store.keys where key % 9 != 0 { try store.delete(items, key) } }
        let received = Received()
        let observer = try store.hub.observe(ObserverScope(class: try store.items)) {
            received.append($0); return nil
        }
        try store.database.compact(timeout: -1) { _, _ in }
        _ = try store.hub.deliver()
        #expect(received.take().allSatisfy { $0.changes.isEmpty })
        let before = try store.content(try store.database.snapshot())
        try store.write { _, items in try store.update(items, 9, 1, .int(4711)) }
        try store.database.compact(timeout: -1) { _, _ in }
        try store.write { _, items in try store.delete(items, 18) }
        _ = try store.hub.deliver()
        let sets = received.take().filter { !$0.changes.isEmpty }
        let real = ObservedStore.difference(before, try store.content(try store.database.snapshot()))
        #expect(
            sets.flatMap(\.changes.deleted) == real.deleted && sets.flatMap(\.modified) == Array(real.modified.keys))
        #expect(real.deleted == [18])
        observer.close()
        try store.close()
    }

    /// An observer that looks on while the ring moves to a larger region misses nothing and compares nothing.
    @Test func logGrowth() throws {
        let store = try ObservedStore(seed: 5, logBytes: 64 << 10)
        let received = Received()
        let observer = try store.hub.observe(ObserverScope(class: try store.items)) {
            received.append($0); return nil
        }
        let region = store.database.shared.ringEntry(store.database.shared.head.current).log.region
        store.forget()
        for _ in 0..<40 { try store.write { _, items in for _ in 0..<3 { try store.create(items) } } }
        try store.database.checkpoint()
        for _ in 0..<40 { try store.write { _, items in for _ in 0..<3 { try store.create(items) } } }
        let now = store.database.shared.ringEntry(store.database.shared.head.current).log.region
        #expect(now != region, "the ring did not grow: the test is too small")
        #expect(try store.hub.deliver() == 1)
        let set = try #require(received.take().first)
        #expect(!set.isCompared && set.inserted == store.expected().inserted && set.inserted.count == 240)
        observer.close()
        try store.close()
    }

    /// A transaction whose list of changes would not fit in the ring leaves the observers to compare.
    @Test func unlisted() throws {
        let store = try ObservedStore(seed: 6, logBytes: 32 << 10, logLimit: 32 << 10)
        try store.write { _, items in for _ in 0..<6000 { try store.create(items) } }
        let received = Received()
        let observer = try store.hub.observe(ObserverScope(class: try store.items)) {
            received.append($0); return nil
        }
        let before = try store.content(try store.database.snapshot())
        store.forget()
        // Every second object: no runs.
        try store.write { _, items in
            for key in stride(from: Int64(0), to: 6000, by: 2) { try store.update(items, key, 1, .int(77)) }
        }
        #expect(try store.hub.deliver() == 1)
        let set = try #require(received.take().first)
        #expect(set.isCompared)
        let real = ObservedStore.difference(before, try store.content(try store.database.snapshot()))
        #expect(set.changes.modifiedMasks == real.modified && set.modified.count == 3000)
        observer.close()
        try store.close()
    }

    /// The same in a savepoint that is rolled back: what is left is listed.
    @Test func unlistedAndUndone() throws {
        let store = try ObservedStore(seed: 7, logBytes: 32 << 10, logLimit: 32 << 10)
        try store.write { _, items in for _ in 0..<6000 { try store.create(items) } }
        let received = Received()
        let observer = try store.hub.observe(ObserverScope(class: try store.items)) {
            received.append($0); return nil
        }
        try store.write { transaction, items in
            try store.update(items, 1, 1, .int(77))
            let savepoint = try transaction.beginSavepoint()
            for key in stride(from: Int64(0), to: 6000, by: 2) { try store.update(items, key, 1, .int(77)) }
            try transaction.rollBack(toSavepoint: savepoint)
            try store.update(items, 5, 1, .int(78))
        }
        #expect(try store.hub.deliver() == 1)
        let set = try #require(received.take().first)
        #expect(!set.isCompared && set.changes.modifiedMasks == [1: 2, 5: 2])
        observer.close()
        try store.close()
    }

    /// The first write of a session starts a new log behind the version that an observer knows already.
    @Test func firstWriteAfterACleanOpen() throws {
        let store = try ObservedStore(seed: 7)
        try store.write { _, items in for _ in 0..<10 { try store.create(items) } }
        try store.close()
        let database = try Database.open(store.folder["db"], options: StoreOptions(), machine: RealMachine.shared)
        let hub = ObserverHub(database)
        let received = Received()
        let observer = try hub.observe(ObserverScope(class: try database.snapshot().schema.classes[0])) {
            received.append($0); return nil
        }
        let transaction = try WriteTransaction.begin(database)
        try transaction.state(0).update(3, 1, .int(50))
        try transaction.commit()
        #expect(try hub.deliver() == 1)
        let set = try #require(received.take().first)
        #expect(
            !set.isCompared && set.modified == [3] && set.hasChanged(1, ofModification: 0)
                && !set.hasChanged(2, ofModification: 0))
        observer.close()
        try hub.close()
        try database.close()
    }

    /// Properties beyond the 64th, from ops, from a summary and from the trees.
    @Test func wideClasses() throws {
        let store = try ObservedStore(seed: 8)
        let wide = try store.database.snapshot().schema.classes[2]
        let values = (0..<70).map { Value.int(Int64($0)) }
        let transaction = try WriteTransaction.begin(store.database)
        let key = try values.withUnsafeBufferPointer { try transaction.state(2).create($0.baseAddress!) }
        try transaction.commit()
        let received = Received()
        let observer = try store.hub.observe(ObserverScope(class: wide)) {
            received.append($0); return nil
        }
        for isSummary in [false, true] {
            let from = try store.database.snapshot()
            let transaction = try WriteTransaction.begin(store.database)
            for property in [1, 65] { try transaction.state(2).update(key, property, .int(isSummary ? 1001 : 1000)) }
            if isSummary { transaction.forceSummary() }
            try transaction.commit()
            _ = try store.hub.deliver()
            let set = try #require(received.take().first)
            let changed = (0..<70).filter { set.hasChanged($0, ofModification: 0) }
            // A summary has one bit for the 63rd and all behind it.
            #expect(changed == (isSummary ? [1] + Array(63..<70) : [1, 65]))
            let compared = try ChangeReader(
                store.database, from: from, to: try store.database.snapshot(), classes: [2], compares: true)
            #expect(compared.classes[2]?.masks == [1 << 1, 1 << 1])
        }
        observer.close()
        try store.close()
    }

    /// A class that is added, and properties that are added, while there is an observer.
    @Test func schemaChanges() throws {
        let store = try ObservedStore(seed: 9)
        try store.write { _, items in for _ in 0..<5 { try store.create(items) } }
        let received = Received()
        let observer = try store.hub.observe(ObserverScope(class: try store.items)) {
            received.append($0); return nil
        }
        for isSummary in [false, true] {
            let old = try store.database.snapshot().schema
            let transaction = try WriteTransaction.begin(store.database)
            let id = old.classes[0].nextColumnID
            let more = PropertySchema(name: "more\(id)", kind: .int, columnID: id)
            let item = ClassSchema(
                name: "Item", id: 0, properties: old.classes[0].properties + [more], nextColumnID: id + 1)
            try transaction.setSchema(Schema(classes: [item] + old.classes.dropFirst(), version: old.version + 1))
            try transaction.state(0).update(2, Int(id), .int(9))
            if isSummary { transaction.forceSummary() }
            try transaction.commit()
            try store.write { _, items in try store.update(items, 3, 1, .int(isSummary ? 44 : 33)) }
            #expect(try store.hub.deliver() == 1)
            let set = try #require(received.take().first)
            try #require(set.modified == [2, 3])
            #expect(set.hasChanged(Int(id), ofModification: 0) && !set.hasChanged(1, ofModification: 0))
            #expect(set.hasChanged(1, ofModification: 1) && set.isCompared == isSummary)
        }
        observer.close()
        try store.close()
    }

    /// A property that a condition is about is dropped: everything leaves the list, whatever the condition would be
    /// without it, and nothing more comes.
    @Test func droppedProperty() throws {
        let store = try ObservedStore(seed: 10)
        try store.write { _, items in for _ in 0..<5 { try store.create(items) } }
        let received = Received(), items = try store.items, score = items.propertyID(5)
        let observers = try [
            ObserverScope(Query(items.classID, score, .greaterOrEqual, .double(-.infinity))),
            ObserverScope(
                Query(
                    items.classID,
                    where: Predicate([.test(ColumnTest(score, .less, .double(-.infinity))), .not]))),
        ].map { scope in
            try store.hub.observe(scope) {
                received.append($0); return nil
            }
        }
        let old = try store.database.snapshot().schema
        let transaction = try WriteTransaction.begin(store.database)
        let item = ClassSchema(
            name: "Item", id: 0, properties: Array(old.classes[0].properties.dropLast()),
            nextColumnID: old.classes[0].nextColumnID)
        try transaction.setSchema(Schema(classes: [item] + old.classes.dropFirst(), version: old.version + 1))
        try transaction.state(0).update(2, 1, .int(9))
        try transaction.commit()
        #expect(try store.hub.deliver() == 2)
        let sets = received.take()
        #expect(sets.map(\.deleted) == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]] && sets.allSatisfy { $0.modified.isEmpty })
        #expect(sets.allSatisfy { $0.isOwnerDeleted })
        try store.write { _, items in try store.update(items, 3, 1, .int(7)) }
        #expect(try store.hub.deliver() == 0)
        for observer in observers { observer.close() }
        try store.close()
    }

    @Test func ranks() {
        var random = TestRandom(77)
        for start in [0, 1, 600, 5000] {
            var model = Set((0..<start).map { Int64($0) * 3 })
            var ranks = model.sorted().withUnsafeBufferPointer { KeyRanks($0) }
            for _ in 0..<60 {
                let size = random.below(3) == 0 ? 700 : 10
                let removed = model.filter { _ in random.below(max(1, model.count)) < size / 2 }.sorted()
                var added: Set<Int64> = []
                for _ in 0..<random.below(size) {
                    let key = Int64(random.below(20_000))
                    if !model.contains(key) { added.insert(key) }
                }
                ranks.change(removing: removed, adding: added.sorted())
                model.subtract(removed)
                model.formUnion(added)
                let list = model.sorted()
                #expect(ranks.count == list.count)
                for _ in 0..<20 where !list.isEmpty {
                    let index = random.below(list.count)
                    #expect(ranks.rank(list[index]) == index && ranks.contains(list[index]))
                }
            }
        }
    }
}
