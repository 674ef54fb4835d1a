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

@Suite struct JSONTests {
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
        #expect(try dogs.where { $0.name == "Bello" }.json(depth: 0, format: .pretty) == "[\n  {\n    \"name\": \"Bello\",\n    \"born\": null,\n    \"extra\": null,\n    \"owner\": 7\n  }\n]")
        #expect(try dogs[0].json(depth: 0, format: .extended).contains(#""born":{"$date":"1970-01-01T00:00:00.000000001Z"}"#))
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
        #expect(try AnyValue(json: #"{"$oid":"507f1f77bcf86cd799439011"}"#, syntax: .extended) == .objectId(try #require(ObjectId("507f1f77bcf86cd799439011"))))
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
