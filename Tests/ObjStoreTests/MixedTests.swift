import FoundationEssentials
import ObjStore
import Testing

private final class PFrog: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var favorite: AnyValue
    @Persisted var notes: AnyValue = ["seen": []]
}

private final class Shelf: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var any: AnyValue
    @Persisted var plain: AnyValue
    @Persisted(unique: true) var code: AnyValue
}

@Suite struct MixedTests {
    private static let uuid = UUID()
    private static var values: [AnyValue] {
        [
            .none, .bool(true), .int(.max), .int(-1), .float(1.5), .double(1), .decimal128(Decimal128(5)),
            .string("Fluffy the Cat"), .string(""),
            .data([0, 255]), .date(Timestamp(seconds: -5, nanoseconds: 999_999_999)), .objectId(ObjectId()),
            .uuid(uuid), [], [:],
            ["b": [1, 2.5, .none, true], "a": ["é": "x"]],
        ]
    }

    /// A41, without the object: what is stored is known when it is read.
    @Test func everyCaseComesBack() throws {
        let folder = Folder()
        do {
            let store = try Store.open(path: folder.file(), models: [PFrog.self])
            try store.write { tx in
                for (id, value) in MixedTests.values.enumerated() {
                    let frog = PFrog()
                    frog.id = id
                    frog.favorite = value
                    try tx.add(frog)
                    try tx.create(PFrog.self, value: ["id": 100 + id, "favorite": value])
                }
                let ids = MixedTests.values.indices.map { 200 + $0 }
                try tx.insert(PFrog.self, [Column(\.id, ids), Column(\.favorite, MixedTests.values)])
            }
            try store.close()
        }
        let store = try Store.open(path: folder.file(), models: [PFrog.self])
        for first in [0, 100, 200] {
            for (id, value) in MixedTests.values.enumerated() {
                let frog = try #require(try store.object(ofType: PFrog.self, forPrimaryKey: first + id))
                #expect(frog.favorite == value, "\(first + id)")
                #expect(frog.favorite.detached() == value)
                #expect(first == 200 || frog.notes == ["seen": []])
            }
        }
        let frog = try #require(try store.object(ofType: PFrog.self, forPrimaryKey: 7))
        #expect(
            frog.favorite.string == "Fluffy the Cat" && frog.favorite.int == nil && frog.favorite[0] == nil
                && frog.favorite["a"] == nil)
        let whole = try #require(try store.object(ofType: PFrog.self, forPrimaryKey: 5)).favorite
        #expect(whole.double == 1 && whole.int == nil && whole != .int(1) && whole.bool == nil)
    }

    /// A109: one nested element changes, and only that.
    @Test func nestedElementsChange() throws {
        let store = try memoryStore([PFrog.self])
        let frog = PFrog()
        frog.id = 1
        frog.favorite = ["seen": [1, 2.5], "home": ["at": [[]]]]
        let before = frog.favorite
        frog.favorite["seen"]?[0] = 5
        #expect(frog.favorite["seen"]?[0] == 5 && before["seen"]?[1] == 2.5)
        try store.write { tx in try tx.add(frog) }
        #expect(frog.favorite.dictionary?.isManaged == true && frog.favorite.dictionary?.keys == ["home", "seen"])
        try store.write { _ in
            frog.favorite["seen"]?[0] = 7
            frog.favorite["seen"]?.list?.insert(["new": .none], at: 1)
            frog.favorite["seen"]?[1]?["new"] = .string("x")
            frog.favorite["home"]?["at"]?[0] = nil
            frog.favorite["age"] = 3
            frog.favorite["seen"]?.list?.append(.data([1]))
        }
        let expected: AnyValue = ["seen": [7, ["new": "x"], 2.5, .data([1])], "home": ["at": []], "age": 3]
        #expect(frog.favorite == expected)
        #expect("\(frog.favorite)" == "[age: 3, home: [at: []], seen: [7, [new: \"x\"], 2.5, 1 bytes]]")
        let frozen = try frog.freeze()
        let map = try #require(frog.favorite.dictionary)
        try store.write { _ in
            map["age"] = nil
            map["none"] = AnyValue.none
        }
        #expect(
            map.keys == ["home", "none", "seen"] && map["none"] == AnyValue.none && map["age"] == nil && map.count == 3)
        let seen = try #require(frozen.favorite["seen"]?.list)
        #expect(frozen.favorite == expected && Array(seen).count == 4)
        #expect(map.map(\.key) == ["home", "none", "seen"])
        // Copies belong to no object.
        let copy = try frog.detached()
        copy.favorite["home"] = 1
        #expect(frog.favorite["home"] == ["at": []] && copy.favorite["home"] == 1)
        // Outside of a write it is reported, and nothing changes.
        #expect(throws: ObjStoreError.self) { try Store.checked { frog.favorite["home"] = 1 } }
        #expect(throws: ObjStoreError.self) { try store.write { _ in frozen.favorite["home"] = 1 } }
        // A list is set beyond its end.
        #expect(throws: ObjStoreError.self) { try store.write { _ in frog.favorite["seen"]?.list?.insert(1, at: 50) } }
        #expect(frog.favorite["home"] == ["at": []] && frog.favorite["seen"]?.list?.count == 4)
    }

    @Test func observersHearOfElements() throws {
        let store = try memoryStore([PFrog.self])
        let frog = PFrog()
        frog.id = 1
        frog.favorite = [1, 2]
        try store.write { tx in try tx.add(frog) }
        nonisolated(unsafe) var heard: [[String]] = []
        let token = try frog.observe { change in
            if case .change(_, let properties) = change { heard.append(properties.map(\.name)) }
        }
        try store.deliver()
        try store.write { _ in frog.favorite[1] = "two" }
        try store.deliver()
        #expect(heard == [["favorite"]])
        token.invalidate()
    }

    @Test func valuesOfAnyTypeAreQueried() throws {
        let store = try memoryStore([Shelf.self])
        let values: [AnyValue] = [
            .none, true, 1, 1.0, .decimal128(Decimal128(1)), 2, "1", .data([0x31]), "n", [1], ["a": 1],
        ]
        try store.write { tx in
            for (id, value) in values.enumerated() {
                try tx.create(Shelf.self, value: ["id": id, "any": value, "plain": value, "code": [id]])
            }
        }
        func ids(_ results: Results<Shelf>) -> [Int] { results.map(\.id) }
        let shelves = store.objects(Shelf.self)
        #expect(
            ids(shelves.where { $0.any == 1 }) == [2, 3, 4] && ids(shelves.where { $0.plain == 1.0 }) == [2, 3, 4])
        #expect(
            ids(shelves.where { $0.any != true }) == [0, 2, 3, 4, 5, 6, 7, 8, 9, 10]
                && ids(shelves.where { $0.plain == AnyValue.none }) == [0])
        #expect(ids(shelves.where { $0.any >= "1" }) == [6, 7, 8] && ids(shelves.where { $0.plain < 2 }) == [2, 3, 4])
        #expect(
            ids(shelves.where { $0.any == [.double(1)] }) == [9] && ids(shelves.where { $0.plain == ["a": 1] }) == [10])
        #expect(try ids(shelves.filter("plain > $0", 1)) == [5])
        #expect(try ids(shelves.filter(shelves.where { $0.any > 1 }.queryText)) == [5], "any is a word of the language")
        #expect(ids(store.objects(Shelf.self, in: ["any"])) == Array(values.indices))
        #expect(ids(store.objects(Shelf.self, in: ["any"], from: [2], to: ["m"])) == [5, 6, 7])
        #expect(try store.object(ofType: Shelf.self, by: ["code": AnyValue.list(AnyList([5]))])?.id == 5)
        #expect(throws: ObjStoreError.self) {
            try store.write { tx in try tx.create(Shelf.self, value: ["id": 50, "code": [5.0]]) }
        }
        var deep: AnyValue = []
        for _ in 0..<120 { deep = [deep] }
        #expect(throws: ObjStoreError.self) { _ = try shelves.where { $0.any == deep }.validate() }
        nonisolated(unsafe) var heard: [[Int]] = []
        let token = try shelves.where { $0.any > 1 }.observe { change in
            if case .update(_, let deletions, let insertions, _) = change.kind {
                heard.append([deletions.count, insertions.count])
            }
        }
        try store.deliver()
        try store.write { _ in
            shelves[5].any = "two"
            shelves[6].any = 1.5
        }
        try store.deliver()
        #expect(heard == [[1, 1]])
        token.invalidate()
        #expect(try store.verify() == [])
    }

    @Test func whatCannotBeMixedIsRefused() throws {
        let store = try memoryStore([PFrog.self])
        var deep: AnyValue = []
        for _ in 1..<100 { deep = [deep] }
        let frog = PFrog()
        frog.id = 1
        frog.favorite = deep
        try store.write { tx in try tx.add(frog) }
        #expect(frog.favorite == deep)
        #expect(throws: ObjStoreError.self) { try store.write { _ in frog.favorite = [deep] } }
        #expect(throws: ObjStoreError.self) {
            try store.write { tx in try tx.create(PFrog.self, value: ["id": 2, "favorite": [deep]]) }
        }
        #expect(throws: ObjStoreError.self) {
            try store.write { tx in try tx.create(PFrog.self, value: ["id": 2, "favorite": UInt64.max]) }
        }
        #expect(throws: ObjStoreError.self) {
            try store.write { tx in try tx.create(PFrog.self, value: ["id": 2, "favorite": 0..<2]) }
        }
        try store.write { tx in
            try tx.create(
                PFrog.self,
                value: [
                    "id": 3,
                    "favorite": ["a": [1, nil, Date(timeIntervalSince1970: 5), Data([1])] as [Any?]] as [String: Any],
                ])
            try frog.setValue(["x": 1], forKey: "favorite")
        }
        let other = try #require(try store.object(ofType: PFrog.self, forPrimaryKey: 3))
        #expect(other.favorite == ["a": [1, .none, .date(Timestamp(seconds: 5)), .data([1])]])
        #expect(frog.favorite == ["x": 1])
        // An empty array is a list, whatever it could have; one of bytes is data.
        let list = AnyValue.list(AnyList()),
            cases: [(Any, AnyValue)] = [([Any](), list), ([Int](), list), ([UInt8](), .data([]))]
        for (empty, wanted) in cases {
            try store.write { _ in try frog.setValue(["empty": empty], forKey: "favorite") }
            #expect(frog.favorite == ["empty": wanted])
        }
    }

    /// A list or dictionary whose place has another value by now, or none, says so.
    @Test func listsWhosePlaceHasSomethingElse() throws {
        let store = try memoryStore([PFrog.self])
        let frog = try store.write { tx in try tx.create(PFrog.self, value: ["id": 1]) }
        func hold(_ value: AnyValue) throws { try store.write { _ in frog.favorite = value } }
        for (held, others) in [
            (
                ["a": [1, 2]] as AnyValue,
                ["a": 5, "a": ["x": 1], "a": "text", "b": 1] as KeyValuePairs<String, AnyValue>
            ),
            (["a": ["x": 1]], ["a": 5, "a": [1], "a": .none, "b": 1]),
        ] {
            for (key, other) in others {
                try hold(held)
                let list = frog.favorite["a"]?.list, map = frog.favorite["a"]?.dictionary
                #expect((list?.count ?? map?.count ?? 0) > 0)
                try hold(.dictionary(AnyMap([key: other])))
                let expected: ObjStoreError.Code = key == "a" ? .wrongType : .notFound
                if let list {
                    #expect(
                        code { try Store.checked { list.count } } == expected
                            && code { try Store.checked { Array(list) } } == expected)
                    #expect(
                        code { try Store.checked { list.detached() } } == expected
                            && code { try Store.checked { list.first } } == expected)
                }
                if let map {
                    #expect(
                        code { try Store.checked { map.count } } == expected
                            && code { try Store.checked { Array(map) } } == expected)
                    #expect(
                        code { try Store.checked { map.keys } } == expected
                            && code { try Store.checked { map.detached() } } == expected)
                }
            }
        }
        // An element of a list that is gone, or another kind of value.
        try hold([[1, 2], ["x": 1]])
        let list = try #require(frog.favorite[0]?.list), map = try #require(frog.favorite[1]?.dictionary)
        try hold([5, 6])
        #expect(
            code { try Store.checked { list.count } } == .wrongType
                && code { try Store.checked { map.isEmpty } } == .wrongType)
        try hold([])
        #expect(
            code { try Store.checked { list.count } } == .notFound
                && code { try Store.checked { map.isEmpty } } == .notFound)
        do { try Store.checked { list.count } } catch {
            let error = try #require(error as? ObjStoreError)
            #expect(
                error.className == "PFrog" && error.propertyName == "favorite" && error.message.contains("favorite[0]"))
        }
    }
}
