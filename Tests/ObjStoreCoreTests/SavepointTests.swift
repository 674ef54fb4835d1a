import Testing

import ObjStoreCore
import WholeModel

/// Nested scopes inside transactions, against a stack of models: whole content compared after each step that undoes.
@Suite struct SavepointTests {
    private struct Row: Equatable {
        var id: String
        var age: Int64?
        var text: String?
    }

    private struct Model: Equatable {
        var rows: [Int64: Row] = [:]
        var others: Set<Int64> = []
    }

    private final class Fixture {
        let store: Store
        var transaction: View
        let cls: UInt32, other: UInt32
        let properties: [UInt32]
        let otherProperty: UInt32
        var model = Model()
        var committed = Model()
        /// The open savepoints and what the model was when they began.
        var scopes: [(id: UInt64, model: Model)] = []
        var random: IndexRandom
        /// No key may be given out twice.
        var greatestKey: Int64 = -1
        var undone = 0, released = 0

        /// - Parameter spills: the transaction keeps as few pages in memory as it can be configured to.
        init(seed: UInt64, spills: Bool = false) throws {
            var draft = SchemaDraft()
            try draft.addClass("Person")
            try draft.addProperty("Person", "id", .string, [.primaryKey])
            try draft.addProperty("Person", "age", .int, [.nullable, .indexed])
            try draft.addProperty("Person", "text", .string, [.nullable, .indexed])
            try draft.addClass("Other")
            try draft.addProperty("Other", "n", .int, [.indexed])
            var configuration = StoreConfiguration()
            configuration.place = .memory("")
            configuration.schema = draft
            if spills { try configuration.set(.transactionBytes, 65_536) }
            store = try Store.open(configuration)
            transaction = try store.begin()
            cls = try transaction.findClass("Person")
            other = try transaction.findClass("Other")
            properties = try ["id", "age", "text"].map { [transaction, cls] in try transaction.findProperty(cls, $0) }
            otherProperty = try transaction.findProperty(other, "n")
            random = IndexRandom(seed)
        }

        func below(_ bound: Int) -> Int { random.below(bound) }
        func object(_ cls: UInt32, _ key: Int64) -> ObjectID {
            ObjectID(classID: cls, storeTag: transaction.shared.tag, key: key)
        }
        func anyKey() -> Int64? { model.rows.keys.ascending().randomElement(using: &random) }

        /// Short ones, ones longer than an index stores, ones longer than a segment holds.
        func randomText() -> String {
            let letter = String(UnicodeScalar(UInt8(97 + below(26))))
            switch below(12) {
            case 0: return String(repeating: letter, count: 70 + below(40))
            case 1: return String(repeating: letter, count: 5000 + below(3000))
            default: return letter + String(below(200))
            }
        }

        func with<R>(_ row: Row, _ body: ([Value]) throws -> R) throws -> R {
            let id = Array(row.id.utf8), text = Array((row.text ?? "").utf8)
            return try id.withUnsafeBytes { id in
                try text.withUnsafeBytes { text in
                    try body([
                        .string(id.baseAddress, id.count), row.age.map { Value.int($0) } ?? .null,
                        row.text == nil ? .null : .string(text.baseAddress, text.count),
                    ])
                }
            }
        }

        func create() throws {
            let row = Row(
                id: "\(random.next())" + (below(20) == 0 ? String(repeating: "k", count: 90) : ""),
                age: below(5) == 0 ? nil : Int64(below(50)), text: below(6) == 0 ? nil : randomText())
            let made = try with(row) { values in
                try properties.withUnsafeBufferPointer { properties in
                    try values.withUnsafeBufferPointer { try transaction.create(cls, properties, $0.baseAddress!) }
                }
            }
            if made.key <= greatestKey { Issue.record("key \(made.key) was given out before") }
            greatestKey = made.key
            model.rows[made.key] = row
        }

        func step() throws {
            switch below(30) {
            case 0...6: try create()
            case 7: for _ in 0..<below(400) { try create() }
            case 8...13:
                guard let key = anyKey() else { return }
                var row = model.rows[key]!
                let property = 1 + below(2)
                if property == 1 {
                    row.age = below(5) == 0 ? nil : Int64(below(50))
                } else {
                    row.text = below(6) == 0 ? nil : randomText()
                }
                try with(row) { try transaction.set(object(cls, key), properties[property], $0[property]) }
                model.rows[key] = row
            case 14...16:
                guard let key = anyKey() else { return }
                try transaction.delete(object(cls, key))
                model.rows[key] = nil
            case 17:
                let values = [Value.int(Int64(below(1000)))]
                let made = try values.withUnsafeBufferPointer { values in
                    try [otherProperty].withUnsafeBufferPointer {
                        try transaction.create(other, $0, values.baseAddress!)
                    }
                }
                model.others.insert(made.key)
            case 18:
                guard below(12) == 0 else { return }
                #expect(try transaction.deleteAll(cls) == model.rows.count)
                model.rows = [:]
            case 19: try check()  // reads bring together what waits
            case 20...24:
                if scopes.count < 5 { scopes.append((try transaction.beginSavepoint(), model)) }
            case 25...26:
                guard !scopes.isEmpty else { return }
                let at = below(scopes.count)
                try transaction.releaseSavepoint(scopes[at].id)
                scopes.removeSubrange(at...)
                released += 1
            case 27...28:
                guard !scopes.isEmpty else { return }
                let at = below(scopes.count)
                try transaction.rollBack(toSavepoint: scopes[at].id)
                model = scopes[at].model
                scopes.removeSubrange(at...)
                undone += 1
                try check()
            default:
                guard below(4) == 0 else { return }
                scopes = []
                if below(4) == 0 {
                    try transaction.cancel()
                    model = committed
                } else {
                    _ = try transaction.commit()
                    committed = model
                    let view = try store.openView()
                    #expect(try view.verify { _, _ in } == [])
                    view.close()
                }
                transaction = try store.begin()
                try check()
            }
        }

        /// Every object, every way to it.
        func check() throws {
            #expect(try transaction.count(cls) == model.rows.count)
            #expect(try transaction.count(other) == model.others.count)
            var row = try RowCursor(transaction, cls)
            var found: [Int64: Row] = [:]
            while try row.next() {
                let id = try #require(try string(&row, 0)), text = try string(&row, 2)
                found[try row.object().key] = Row(id: id, age: try row.int(properties[1]), text: text)
            }
            if found != model.rows {
                Issue.record("the objects are not those of the model: \(found.count) of \(model.rows.count)")
            }
            for (key, row) in model.rows {
                try with(row) { values in
                    if try transaction.find(cls, values[0])?.key != key {
                        Issue.record("the primary key of \(key) finds another")
                    }
                }
            }
            for age in 0..<Int64(50) {
                let wanted = model.rows.values.filter { $0.age == age }.count
                if try transaction.count(Query(cls, properties[1], .equal, .int(age))) != wanted {
                    Issue.record("age \(age): not \(wanted)")
                }
            }
            for key in model.rows.keys.ascending().prefix(20) {
                let text = model.rows[key]!.text
                let wanted = model.rows.values.filter { $0.text == text }.count
                try with(model.rows[key]!) { values in
                    if try transaction.count(Query(cls, properties[2], .equal, values[2])) != wanted {
                        Issue.record("text \(text ?? "null"): not \(wanted)")
                    }
                }
            }
        }

        private func string(_ row: inout RowCursor, _ property: Int) throws -> String? {
            let (pointer, count, isNull) = try row.bytes(properties[property], .string, nil)
            return isNull ? nil : String(decoding: UnsafeRawBufferPointer(start: pointer, count: count), as: UTF8.self)
        }
    }

    @Test(arguments: [1, 2] as [UInt64], [false, true]) func historiesAgainstModels(
        seed: UInt64, spills: Bool
    ) throws {
        let fixture = try Fixture(seed: seed, spills: spills)
        for _ in 0..<1200 { try fixture.step() }
        #expect(fixture.undone > 30 && fixture.released > 30, "\(fixture.undone) undone, \(fixture.released) released")
        fixture.transaction.close()
        try fixture.store.close()
    }

    @Test func namesOfEndedSavepointsAreRefused() throws {
        let fixture = try Fixture(seed: 1)
        let tx = fixture.transaction
        let outer = try tx.beginSavepoint(), inner = try tx.beginSavepoint()
        try tx.releaseSavepoint(outer)
        for ended in [outer, inner, 0, 99] {
            #expect(throws: StoreError.self) { try tx.rollBack(toSavepoint: ended) }
            #expect(throws: StoreError.self) { try tx.releaseSavepoint(ended) }
        }
        let next = try tx.beginSavepoint()
        #expect(next != outer && next != inner)
        try fixture.create()
        _ = try tx.commit()  // ends it
        #expect(throws: StoreError.self) { try tx.rollBack(toSavepoint: next) }
        let after = try fixture.store.begin()
        #expect(try after.count(fixture.cls) == 1)
        after.close()
        try fixture.store.close()
    }

    /// Undoing everything is doing nothing: no version, nothing in the log.
    @Test(arguments: [false, true]) func undoneTransactionMakesNoVersion(spills: Bool) throws {
        let fixture = try Fixture(seed: 2, spills: spills)
        for _ in 0..<10 { try fixture.create() }
        let version = try fixture.transaction.commit()
        let tx = try fixture.store.begin()
        fixture.transaction = tx
        let savepoint = try tx.beginSavepoint()
        for _ in 0..<5000 { try fixture.create() }  // enough to make the log a summary
        _ = try tx.deleteAll(fixture.cls)
        try tx.rollBack(toSavepoint: savepoint)
        #expect(try tx.commit() == version)
        try fixture.store.close()
    }

    /// Many scopes in one transaction: each frees the copies that it made.
    @Test func scopesKeepNoMemory() throws {
        let fixture = try Fixture(seed: 3)
        for _ in 0..<3000 { try fixture.create() }
        var least = Int.max, most = 0
        for round in 0..<400 {
            let savepoint = try fixture.transaction.beginSavepoint()
            for key in fixture.model.rows.keys.ascending().prefix(3) {
                try fixture.transaction.set(fixture.object(fixture.cls, key), fixture.properties[1], .int(Int64(round)))
            }
            if round % 2 == 0 {
                try fixture.transaction.releaseSavepoint(savepoint)
            } else {
                try fixture.transaction.rollBack(toSavepoint: savepoint)
            }
            if round > 20 {
                least = min(least, fixture.transaction.arenaBytes)
                most = max(most, fixture.transaction.arenaBytes)
            }
        }
        #expect(most - least < 100_000, "\(least) to \(most) bytes")
        fixture.transaction.close()
        try fixture.store.close()
    }
}
