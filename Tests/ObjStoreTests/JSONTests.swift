import ObjStore
import Testing

final class JSONOwner: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var dogs: List<JSONDog>
}
final class JSONDog: Object {
    @Persisted var name = ""
    @Persisted var born: Timestamp?
    @Persisted var extra: AnyValue
    @Persisted var owner: JSONOwner?
}

final class JSONShelf: Object {
    @Persisted var names: List<String>
    @Persisted var numbers: MutableSet<Int>
    @Persisted var dogs: Map<String, JSONDog?>
    @Persisted var byNumber: Map<Int, Double>
    @Persisted var loose: List<AnyValue>
    @Persisted var extra: AnyValue
}

@Suite struct JSONTests {
    @Test(arguments: [0, 1, 2]) func collections(depth: Int) throws {
        let store = try memoryStore([JSONOwner.self, JSONDog.self, JSONShelf.self]), shelf = JSONShelf(),
            rex = JSONDog()
        (rex.name, shelf.names, shelf.numbers, shelf.dogs, shelf.byNumber) = (
            "Rex", ["b", "a"], [3, -1], ["x": rex, "": nil], [10: 0.5, -2: 1]
        )
        let inner: AnyValue = ["a": [1, .object(rex), ["deep": [.none, 2.5]]]]
        shelf.loose.append(objectsIn: [1, [.object(rex), []], inner])
        shelf.extra = inner
        #expect(code { try shelf.names.json() } == .wrongView)
        #expect(code { try shelf.dogs.json() } == .wrongView)
        #expect(try AnyList([1, "a"]).json() == "[1,\"a\"]")
        #expect(code { try AnyList([.object(rex)]).json() } == .wrongType)
        try store.write { (tx) throws in try tx.add(shelf) }
        let link =
            depth == 0 ? #"{"$ref":"JSONDog","$id":0}"# : #"{"name":"Rex","born":null,"extra":null,"owner":null}"#
        func check() throws {
            #expect(try shelf.names.json(depth: depth) == #"["b","a"]"#)
            #expect(try shelf.numbers.json(depth: depth) == "[-1,3]")
            #expect(try shelf.dogs.json(depth: depth) == "{\"\":null,\"x\":\(link)}")
            #expect(try shelf.byNumber.json(depth: depth) == #"{"-2":1.0,"10":0.5}"#)
            #expect(try shelf.loose.json(depth: depth) == "[1,[\(link),[]],{\"a\":[1,\(link),{\"deep\":[null,2.5]}]}]")
            #expect(try shelf.loose[1].list?.json(depth: depth) == "[\(link),[]]")
            #expect(try shelf.extra.dictionary?.json(depth: depth) == "{\"a\":[1,\(link),{\"deep\":[null,2.5]}]}")
            #expect(try shelf.extra["a"]?.list?[2]["deep"]?.list?.json(depth: depth) == "[null,2.5]")
        }
        try check()
        #expect(try shelf.names.json(format: .pretty) == "[\n  \"b\",\n  \"a\"\n]")
        #expect(code { try shelf.names.json(depth: 101) } == .outOfRange)
        let nested = try #require(shelf.loose[1].list)
        try store.write { (tx) throws in
            try check()
            shelf.loose.removeAll()
            #expect(code { try nested.json() } == .notFound)
            shelf.byNumber = [1: .nan]
            #expect(code { try shelf.byNumber.json() } == .outOfRange)
            let names = shelf.names
            try tx.delete(shelf)
            #expect(code { try names.json() } == .noSuchObject)
        }
    }

    @Test func objectsAndResults() throws {
        let store = try memoryStore([JSONOwner.self, JSONDog.self])
        try store.write { tx in
            let owner = JSONOwner(), rex = JSONDog(), bello = JSONDog()
            owner.id = 7
            (rex.name, rex.born, rex.extra) = ("Rex", Timestamp(seconds: 0, nanoseconds: 1), ["seen": [1, 2.5, .none]])
            bello.name = "Bello"
            try tx.add(owner)
            for dog in [rex, bello] {
                try tx.add(dog)
                dog.owner = owner
                owner.dogs.append(dog)
            }
        }
        let owner = try #require(store.objects(JSONOwner.self).first), dogs = store.objects(JSONDog.self)
        let rex = #"{"name":"Rex","born":"1970-01-01T00:00:00.000000001Z","extra":{"seen":[1,2.5,null]},"owner":7}"#
        let bello = #"{"name":"Bello","born":null,"extra":null,"owner":7}"#
        #expect(try owner.json() == "{\"id\":7,\"dogs\":[\(rex),\(bello)]}")
        #expect(try owner.json(depth: 0) == #"{"id":7,"dogs":[{"$ref":"JSONDog","$id":0},{"$ref":"JSONDog","$id":1}]}"#)
        #expect(try dogs.json(depth: 0) == "[\(rex),\(bello)]")
        #expect(
            try dogs.where { $0.name == "Bello" }.json(depth: 0, format: .pretty)
                == """
                [\n  {\n    \"name\": \"Bello\",\n    \"born\": null,\n    \"extra\": null,\n    \"owner\": 7\n  }\n]
                """
        )
        #expect(
            try dogs[0].json(depth: 0, format: .extended).contains(
                #""born":{"$date":"1970-01-01T00:00:00.000000001Z"}"#))
        #expect(code { try JSONDog().json() } == .wrongView)
        #expect(code { try owner.json(depth: 101) } == .outOfRange)
        #expect(code { try owner.json(depth: -1) } == .outOfRange)
        struct Enough: Error {}
        #expect(code { try dogs.writeJSON { _ in throw Enough() } } == .cancelled)
        // In a write what it has written so far.
        try store.write { (_) throws in
            owner.dogs.removeAll()
            #expect(try owner.json() == #"{"id":7,"dogs":[]}"#)
        }
    }

    @Test func mixedValues() throws {
        let value = try AnyValue(json: "{ name: 'Rex', n: 18446744073709551616, list: [true, 1, 1.0, null], }")
        #expect(value["n"] == .decimal128(try Decimal128("18446744073709551616")))
        #expect(value["list"] == [true, 1, 1.0, .none])
        #expect(try value.json() == #"{"list":[true,1,1.0,null],"n":18446744073709551616,"name":"Rex"}"#)
        #expect(try AnyValue(json: "5") == 5)
        #expect(
            try AnyValue(json: #"{"$oid":"507f1f77bcf86cd799439011"}"#, syntax: .extended)
                == .objectId(try #require(ObjectId("507f1f77bcf86cd799439011"))))
        #expect(try AnyValue.double(.nan).json(format: .nullForNaN) == "null")
        #expect(code { try AnyValue.double(.nan).json() } == .outOfRange)
        do throws(ObjStoreError) {
            _ = try AnyValue(json: "{name: 1}", syntax: [])
            Issue.record("no error")
        } catch {
            #expect(error.code == .invalidJSON && error.position == 1)
            #expect(error.message == "line 1, column 2, at $: a key in double quotes was expected, not \"n\"")
        }
    }
}
