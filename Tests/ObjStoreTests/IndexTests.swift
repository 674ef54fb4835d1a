import ObjStore
import Testing

final class Citizen: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(unique: true) var mail: String?
    @Persisted var last = "Doe"
    @Persisted var first: String?
    @Persisted var born: Int?
    override class var indexes: [Index] { [Index("last", "first", unique: true), Index("born", "last")] }
}

final class Badge: Object {
    @Persisted(unique: true) var number = 1
    override class var indexes: [Index] { [Index("number", "colour")] }
}

/// Unique properties and indexes of several properties.
@Suite struct IndexTests {
    private func citizens(_ store: Store, _ values: [[Any?]]) throws {
        try store.write { tx in for value in values { try tx.create(Citizen.self, value: value) } }
    }

    @Test func uniqueValues() throws {
        let store = try memoryStore([Citizen.self])
        try citizens(
            store, [[1, "ada@x", "Gray", "Ada"], [2, nil, "Gray", "Eve"], [3, nil, "Gray"], [4, nil, "Gray"]])
        try store.write { tx in
            let eve = try #require(try tx.object(ofType: Citizen.self, forPrimaryKey: 2))
            #expect(code { try tx.create(Citizen.self, value: [5, "ada@x"]) } == .duplicateKey)
            #expect(code { try tx.create(Citizen.self, value: [5, nil, "Gray", "Ada"]) } == .duplicateKey)
            #expect(
                code { try tx.create(Citizen.self, value: ["id": 2, "mail": "ada@x"], update: .modified) }
                    == .duplicateKey)
            #expect(code { try tx.add(try Citizen(value: [6, "ada@x"]), update: .all) } == .duplicateKey)
            #expect(code { try Store.checked { eve.mail = "ada@x" } } == .duplicateKey)
            #expect(code { try Store.checked { eve.first = "Ada" } } == .duplicateKey)
            #expect(eve.mail == nil && eve.first == "Eve")
            eve.mail = "eve@x"
            eve.mail = "eve@x"
        }
        #expect(store.objects(Citizen.self).count == 4)
        #expect(try store.object(ofType: Citizen.self, by: ["mail": "eve@x"])?.id == 2)
        #expect(try store.object(ofType: Citizen.self, by: ["first": "Ada", "last": "Gray"])?.id == 1)
        #expect(try store.object(ofType: Citizen.self, by: ["last": "Gray", "first": nil]) == nil)
        #expect(try store.object(ofType: Citizen.self, by: ["mail": nil]) == nil)
        #expect(
            code { try store.object(ofType: Citizen.self, by: ["id": nil]) } == .wrongType, "no object has nil there")
        #expect(try store.object(ofType: Citizen.self, by: ["id": 3])?.id == 3)
        #expect(code { try store.object(ofType: Citizen.self, by: ["last": "Gray"]) } == .noSuchIndex)
        #expect(code { try store.object(ofType: Citizen.self, by: ["born": 3, "last": "Gray"]) } == .noSuchIndex)
        #expect(code { try store.object(ofType: Citizen.self, by: ["mail": 3]) } == .wrongType)
        #expect(code { try store.object(ofType: Citizen.self, by: ["male": 3]) } == .noSuchProperty)
        #expect(code { try Store.checked { try citizens(store, [[7, "x@x"], [8, "x@x"]]) } } == .duplicateKey)
        #expect(store.objects(Citizen.self).count == 4)
    }

    @Test func theOrderOfAnIndex() throws {
        let store = try memoryStore([Citizen.self])
        try citizens(
            store,
            [
                [1, nil, "b", nil, 1990], [2, nil, "a", nil, 1980], [3, nil, "z"], [4, nil, "c", nil, 1980],
                [5, nil, "a", nil, 1990], [6, nil, "a"],
            ])
        func ids(_ results: Results<Citizen>) -> [Int] { results.map(\.id) }
        #expect(ids(store.objects(Citizen.self, in: ["born", "last"])) == [6, 3, 2, 4, 5, 1])
        let eighties = store.objects(Citizen.self, in: ["born", "last"], from: [1980], to: [1980])
        #expect(ids(eighties) == [2, 4] && eighties.count == 2 && eighties.first?.id == 2 && eighties[1].id == 4)
        #expect(
            ids(store.objects(Citizen.self, in: ["born", "last"], from: [nil], includingFrom: false)) == [2, 4, 5, 1])
        #expect(
            ids(
                store.objects(
                    Citizen.self, in: ["born", "last"], from: [1980, "b"], to: [1990, "b"], includingTo: false)) == [
                    4, 5,
                ])
        #expect(ids(store.objects(Citizen.self, in: ["id"], from: [3], to: [4])) == [3, 4])
        let frozen = try eighties.freeze()
        try store.write { tx in
            try tx.create(Citizen.self, value: [7, nil, "b", nil, 1980])
            #expect(ids(eighties) == [2, 7, 4])
        }
        #expect(ids(eighties) == [2, 7, 4] && ids(frozen) == [2, 4])
        #expect(code { try store.objects(Citizen.self, in: ["last"]).validate() } == .noSuchIndex)
        #expect(code { try store.objects(Citizen.self, in: ["born", "last"], from: ["a"]).validate() } == .wrongType)
        #expect(
            code { try store.objects(Citizen.self, in: ["born", "last"], from: [1, "a", 2]).validate() }
                == .invalidArgument)
        #expect(try ids(eighties.where { $0.id != 2 }) == [7, 4] && ids(eighties.filter("id == 2")) == [2])
        #expect(ids(eighties.where { $0.id > 2 }.sorted(by: \.id)) == [4, 7])
        #expect(code { try eighties.queryText } == .notSupported)
        #expect(code { try eighties.observe { _ in } } == nil)
        #expect(code { let _: Int = try eighties.sum(of: \.id) } == .notSupported)
    }

    @Test func schemasThatContradictThemselves() throws {
        #expect(code { try memoryStore([Badge.self]) } == .noSuchProperty)
    }
}
