import Testing

import ObjStoreCore

/// Rows inside a transaction, while it writes: each shows what its object is now, wherever that lies.
@Suite struct RowCursorTests {
    private struct Model: Equatable {
        var age: Int64?
        var score: Double
        var text: String
    }

    /// A row, and the object it was put on; nil before that.
    private struct Watched {
        var row: RowCursor
        var key: Int64?
    }

    private static let classText = "Person"

    private final class Fixture {
        let store: Store
        var transaction: View
        let cls: UInt32
        let properties: [UInt32]
        var model: [Int64: Model] = [:]
        /// Its keys, ascending.
        var keys: [Int64] = []
        var watched: [Watched] = []
        var random: IndexRandom

        init(seed: UInt64) throws {
            var draft = SchemaDraft()
            try draft.addClass(classText)
            try draft.addProperty(classText, "age", .int, [.nullable, .indexed])
            try draft.addProperty(classText, "score", .double, [])
            try draft.addProperty(classText, "text", .string, [])
            var configuration = StoreConfiguration()
            configuration.place = .memory("")
            configuration.schema = draft
            store = try Store.open(configuration)
            transaction = try store.begin()
            cls = try transaction.findClass(classText)
            properties = try ["age", "score", "text"].map { [transaction] in
                try transaction.findProperty(try transaction.findClass(classText), $0)
            }
            random = IndexRandom(seed)
        }

        func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }
        func anyKey() -> Int64? { keys.isEmpty ? nil : keys[below(keys.count)] }
        func id(_ key: Int64) -> ObjectID { ObjectID(classID: cls, storeTag: transaction.shared.tag, key: key) }

        func randomModel() -> Model {
            // Ages that fit a byte, two, eight: some re-encode the column of their leaf.
            let age: Int64? =
                below(6) == 0
                ? nil
                : below(40) == 0 ? .max - Int64(below(9)) : below(10) == 0 ? Int64(below(60_000)) : Int64(below(100))
            return Model(
                age: age, score: Double(below(1000)) / 8,
                text: String(repeating: "x", count: below(30) == 0 ? 700 : below(12)))
        }

        func withValues<R>(_ model: Model, _ body: ([Value]) throws -> R) throws -> R {
            let utf8 = Array(model.text.utf8)
            return try utf8.withUnsafeBytes { bytes in
                let bits = Int64(bitPattern: model.score.bitPattern)
                return try body([
                    model.age.map { Value.int($0) } ?? .null, Value(kind: .double, low: bits),
                    .string(bytes.baseAddress, bytes.count),
                ])
            }
        }

        func step() throws {
            switch below(20) {
            case 0...3:  // one more, or many
                for _ in 0..<(below(8) == 0 ? 300 : 1) {
                    let new = randomModel()
                    let made = try withValues(new) { values in
                        try properties.withUnsafeBufferPointer { properties in
                            try values.withUnsafeBufferPointer {
                                try transaction.create(cls, properties, $0.baseAddress!)
                            }
                        }
                    }
                    model[made.key] = new
                    keys.append(made.key)
                }
            case 4...10:  // one property
                guard let key = anyKey() else { return }
                let new = randomModel(), property = below(3)
                try withValues(new) { try transaction.set(id(key), properties[property], $0[property]) }
                switch property {
                case 0: model[key]!.age = new.age
                case 1: model[key]!.score = new.score
                default: model[key]!.text = new.text
                }
            case 11...12:  // all of them
                guard let key = anyKey() else { return }
                let new = randomModel()
                try withValues(new) { values in
                    try properties.withUnsafeBufferPointer { properties in
                        try values.withUnsafeBufferPointer { try transaction.set(id(key), properties, $0.baseAddress!) }
                    }
                }
                model[key] = new
            case 13...14:
                guard let key = anyKey() else { return }
                try transaction.delete(id(key))
                model[key] = nil
                keys.remove(at: keys.firstIndex(of: key)!)
            case 15...16:  // another place for a row
                guard let key = anyKey(), !watched.isEmpty else { return }
                let index = below(watched.count)
                try watched[index].row.seek(id(key))
                watched[index].key = key
            case 17...18:  // its next one
                guard !watched.isEmpty else { return }
                let index = below(watched.count)
                guard let old = watched[index].key else { return }
                let next = keys.first { $0 > old }
                #expect(try watched[index].row.next() == (next != nil))
                watched[index].key = next
                if next == nil { watched[index].row = try RowCursor(transaction, cls) }
            default:  // a commit in between, seldom
                guard below(6) == 0 else { return }
                _ = try transaction.commit()
                transaction = try store.begin()
                try watchAgain()
            }
        }

        func watchAgain() throws {
            watched = try (0..<4).map { _ in Watched(row: try RowCursor(transaction, cls)) }
        }

        /// Every row against the model.
        func check() throws {
            for index in watched.indices {
                guard let key = watched[index].key else { continue }
                guard let wanted = model[key] else {
                    #expect(throws: StoreError.self) { try watched[index].row.int(properties[0]) }
                    continue
                }
                let found = Model(
                    age: try watched[index].row.int(properties[0]),
                    score: try #require(try watched[index].row.double(properties[1])),
                    text: try text(&watched[index].row))
                if found != wanted { Issue.record("object \(key) is \(found), not \(wanted)") }
                if try watched[index].row.object() != id(key) {
                    Issue.record("the row of object \(key) stands on another")
                }
            }
        }

        func text(_ row: inout RowCursor) throws -> String {
            let (pointer, count, _) = try row.bytes(properties[2], .string, nil)
            return String(decoding: UnsafeRawBufferPointer(start: pointer, count: count), as: UTF8.self)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func rowsFollowWrites(seed: UInt64) throws {
        let fixture = try Fixture(seed: seed)
        try fixture.watchAgain()
        for _ in 0..<1500 {
            try fixture.step()
            try fixture.check()
        }
        #expect(fixture.model.count > 1000)
        fixture.transaction.close()
        try fixture.store.close()
    }

    /// A row walks while each object is changed through another way.
    @Test func updatingWhileWalking() throws {
        let fixture = try Fixture(seed: 9)
        try fixture.withValues(Model(age: 1, score: 0, text: "a")) { values in
            try fixture.properties.withUnsafeBufferPointer { properties in
                try values.withUnsafeBufferPointer { values in
                    for _ in 0..<4500 {
                        _ = try fixture.transaction.create(fixture.cls, properties, values.baseAddress!)
                    }
                }
            }
        }
        for round in 1...3 {
            var row = try RowCursor(fixture.transaction, fixture.cls)
            var seen = 0
            while try row.next() {
                let score = try #require(try row.double(fixture.properties[1]))
                if score != Double(round - 1) { Issue.record("object \(seen) has \(score) in round \(round)") }
                try fixture.transaction.set(
                    try row.object(), fixture.properties[1],
                    Value(kind: .double, low: Int64(bitPattern: (score + 1).bitPattern)))
                if try row.double(fixture.properties[1]) != score + 1 {
                    Issue.record("object \(seen) was not written in round \(round)")
                }
                seen += 1
            }
            #expect(seen == 4500)
            if round == 2 {
                _ = try fixture.transaction.commit()
                fixture.transaction = try fixture.store.begin()
            }
        }
        fixture.transaction.close()
        try fixture.store.close()
    }
}
