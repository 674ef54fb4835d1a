import Foundation
import ObjStore
import Testing

/// What `JSONSerialization` makes of a text.
@Suite struct ParsedTests {
    final class Toy: Object {
        @Persisted var name: String
        @Persisted var price: Double?
    }
    final class Pet: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name: String?
        @Persisted var good: Bool?
        @Persisted var age: Int?
        @Persisted var weight: Double?
        @Persisted var small: Float?
        @Persisted var toy: Toy?
        @Persisted var toys: List<Toy>
        @Persisted var numbers: List<Int>
        @Persisted var scores: Map<String, Double>
        @Persisted var extra: AnyValue
        @Persisted var token: ObjectId?
        @Persisted var uuid: UUID?
        @Persisted var date: Date?
        @Persisted var data: Data?
    }

    private let store: Store
    init() throws { store = try memoryStore([Toy.self, Pet.self]) }

    private func parsed(_ text: String) throws -> Any {
        try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }
    private func create(_ text: String, update: UpdatePolicy = .error) throws -> Pet {
        let tree = try parsed(text)
        return try store.write { tx in try tx.create(Pet.self, parsed: tree, update: update) }
    }

    @Test func everyKindOfValue() throws {
        let pet = try create(
            """
            {"id": 1, "name": "Rex", "good": true, "age": 9223372036854775807, "weight": 3, "small": 0.5,
             "toy": {"name": "ball", "price": 2}, "toys": [{"name": "bone"}], "numbers": [1, 2],
             "scores": {"a": 1, "b": 2.5},
             "extra": {"yes": true, "one": 1, "half": 0.5, "none": null, "all": [false, 0]}}
            """)
        #expect(pet.good == true && pet.age == .max && pet.weight == 3 && pet.small == 0.5 && pet.toy?.price == 2)
        #expect(pet.toys.map(\.name) == ["bone"] && Array(pet.numbers) == [1, 2] && pet.scores["b"] == 2.5)
        #expect(pet.extra == ["yes": true, "one": 1, "half": 0.5, "none": .none, "all": [false, 0]])
        #expect(pet.extra["yes"] == .bool(true) && pet.extra["one"] == .int(1) && pet.extra["half"] == .double(0.5))
    }

    @Test func namesThatAreNoProperties() throws {
        let text =
            #"""
            {"id": 1, "colour": "red", "toy": {"name": "ball", "maker": {"x": [1]}}, "toys": [{"name": "a", "b": \#
            null}]}
            """#
        let pet = try create(text)
        #expect(pet.toy?.name == "ball" && pet.toys.count == 1)
        #expect(try create(#"{"id": 1, "name": "Rex", "colour": 5}"#, update: .modified).toy?.name == "ball")
        // What a program writes itself is checked.
        let tree = try parsed(text)
        #expect(
            code { try store.write { tx in try tx.create(Pet.self, value: tree, update: .modified) } }
                == .noSuchProperty)
        #expect(code { try create(#"{"id": 2, "toy": {"price": 5}}"#) } == .missingValue)
    }

    @Test(arguments: [
        #"{"id": true}"#, #"{"id": 1.0}"#, #"{"id": 1, "good": 1}"#, #"{"id": 1, "good": 0}"#,
        #"{"id": 1, "age": false}"#, #"{"id": 1, "weight": true}"#,
        #"{"id": 1, "numbers": [1, true]}"#, #"{"id": 1, "numbers": [1.5]}"#, #"{"id": 1, "scores": {"a": false}}"#,
        #"{"id": 1, "age": 9223372036854775808}"#,
        #"{"id": 1, "token": "507f1f77bcf86cd799439011"}"#,
        #"{"id": 1, "uuid": "00112233-4455-6677-8899-aabbccddeeff"}"#,
        #"{"id": 1, "date": "2020-01-01T00:00:00Z"}"#, #"{"id": 1, "data": "AAAA"}"#, #"{"id": 1, "name": 5}"#,
        #"{"id": 1, "toys": [{"name": true}]}"#,
    ])
    func valuesOfAnotherType(_ text: String) throws {
        #expect(code { try create(text) } == .wrongType)
        // The same door for programs tells them apart, too.
        let tree = try parsed(text)
        #expect(code { try store.write { tx in try tx.create(Pet.self, value: tree) } } == .wrongType)
        #expect(store.objects(Pet.self).isEmpty && store.objects(Toy.self).isEmpty)
    }

    @Test func classesOfFoundation() throws {
        let tree = NSMutableDictionary()
        tree["id"] = NSNumber(value: 7)
        tree["good"] = NSNumber(value: false)
        tree["toys"] = NSArray(array: [NSDictionary(dictionary: ["name": NSString("ball")])])
        tree["extra"] = NSArray(array: [NSNumber(value: true), NSNumber(value: 2), NSNull()])
        tree["name"] = NSNull()
        let pet = try store.write { tx in try tx.create(Pet.self, parsed: tree) }
        #expect(pet.id == 7 && pet.good == false && pet.name == nil && pet.toys.first?.name == "ball")
        #expect(pet.extra == [true, 2, .none])
    }

    final class Amount: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var double: Double?
        @Persisted var float: Float?
        @Persisted var exact: Decimal128?
        @Persisted var any: AnyValue
        @Persisted var doubles: List<Double>
    }

    /// A number is what its text says, as where the library reads the text itself.
    @Test func numbersOfManyDigits() throws {
        let store = try memoryStore([Amount.self])
        func show(_ amount: Amount) -> String {
            """
            \(amount.double as Any) \(amount.float as Any) \(amount.exact as Any) \(amount.any) \
            \(Array(amount.doubles))
            """
        }
        func outcome(_ body: (Transaction) throws -> Amount) -> String {
            do { return try store.write { tx in show(try body(tx)) } } catch { return "refused: \(error)" }
        }
        let numbers = [
            "98765432109876543210", "-98765432109876543210", "18446744073709551615", "9223372036854775808",
            "0.12345678901234567890123", "12345678901234567890.5",
            "0.30000000000000004", "3.141592653589793", "-123456789.12345679", "0.1", "1.7976931348623157e308",
            "5e-324", "9007199254740993", "9007199254740992", "123456789012345678901234567890",
        ]
        for text in numbers {
            for property in ["double", "float", "exact", "any"] {
                // JSONSerialization tells no more of these than a double does.
                if property == "exact",
                    !text.contains(where: { $0.isNumber }) || text.contains(".") || text.contains("e")
                {
                    continue
                }
                let json = #"{"id": 1, "\#(property)": \#(text)}"#, tree = try parsed(json)
                let parsed = outcome { tx in try tx.create(Amount.self, parsed: tree, update: .all) },
                    read = outcome { tx in try tx.create(Amount.self, json: json, update: .all) }
                let isRefused = read.hasPrefix("refused") && parsed.hasPrefix("refused")
                #expect(parsed == read || isRefused, "\(json)")
                #expect(outcome { tx in try tx.create(Amount.self, value: tree, update: .all) } == parsed, "\(json)")
            }
        }
        for _ in 0..<2_000 {
            let number = Double.random(in: -1e6...1e6),
                tree = try parsed(#"{"id": 1, "double": \#(number), "any": \#(number), "doubles": [\#(number)]}"#)
            try store.write { tx in
                let amount = try tx.create(Amount.self, parsed: tree, update: .all)
                #expect(amount.double == number && amount.any == .double(number) && amount.doubles[0] == number)
                #expect(try Amount(value: tree).double == number)
            }
        }
    }

    @Test func decimalsOfFoundation() throws {
        let store = try memoryStore([Amount.self]), text = "12345678901234567890.12345",
            decimal = try #require(Decimal(string: text))
        let amount = try store.write { tx in
            try tx.create(Amount.self, value: ["id": 1, "exact": decimal] as [String: Any])
        }
        #expect(amount.exact == (try Decimal128(text)))
        for given in [NSDecimalNumber(string: text), NSDecimalNumber(decimal: decimal), decimal] as [Any] {
            try store.write { _ in
                amount.exact = nil
                try amount.setValue(given, forKey: "exact")
            }
            #expect(amount.exact == (try Decimal128(text)))
        }
        try store.write { _ in
            try amount.setValue(NSDecimalNumber(string: "98765432109876543210"), forKey: "any")
            #expect(amount.any == .decimal128(try Decimal128("98765432109876543210")))
            try amount.setValue(NSDecimalNumber(string: "0.1"), forKey: "any")
            #expect(amount.any == .double(0.1))
            try amount.setValue(NSNumber(value: 1e20), forKey: "any")
            #expect(amount.any == .double(1e20))
            try amount.setValue([NSNumber(value: UInt64.max)], forKey: "any")
            #expect(amount.any[0] == .decimal128(try Decimal128("18446744073709551615")))
            try amount.setValue(UInt64.max, forKey: "exact")
            #expect(amount.exact == (try Decimal128("18446744073709551615")))
        }
        let long = "1.23456789012345678901234567890123456789",
            tooLong = [NSDecimalNumber(string: long), try #require(Decimal(string: long))] as [Any]
        for given in tooLong {
            #expect { try store.write { _ in try amount.setValue(given, forKey: "exact") } } throws: { error in
                let error = error as? ObjStoreError
                return error?.code == .outOfRange && error?.className == "Amount" && error?.propertyName == "exact"
            }
        }
        #expect { try store.write { _ in try amount.setValue(NSDecimalNumber(string: "1.5"), forKey: "id") } } throws: {
            error in
            (error as? ObjStoreError)?.message == "Amount.id is of type Int, not NSNumber (1.5)"
        }
        #expect(
            code {
                try store.write { tx in
                    try tx.dynamicCreate(
                        "Amount", value: ["id": 2, "double": NSDecimalNumber(string: "0.1")] as [String: Any])
                }
            } == nil)
        #expect(store.objects(Amount.self)[1].double == 0.1)
    }

    /// Texts are no ids by themselves wherever values come in.
    @Test func textsAreNoIds() throws {
        let hex = "507f1f77bcf86cd799439011", uuid = "00112233-4455-6677-8899-aabbccddeeff"
        let pet = try create(#"{"id": 1}"#)
        #expect(code { try store.write { _ in try pet.setValue(hex, forKey: "token") } } == .wrongType)
        #expect(
            code { try store.write { _ in try store.objects(Pet.self).setValue(uuid, forKey: "uuid") } } == .wrongType)
        #expect(code { try store.objects(Pet.self).filter("token == $0", hex) } == .wrongType)
        #expect(code { try Pet(value: ["id": 2, "uuid": uuid]) } == .wrongType)
        #expect(
            code { try store.write { tx in try tx.dynamicCreate("Pet", value: ["id": 2, "token": hex]) } } == .wrongType
        )
        try store.write { _ in try pet.setValue(ObjectId(hex), forKey: "token") }
        #expect(pet.token?.hex == hex)
    }

    /// Casts that convert would go through each of them again at every level, and use up the stack.
    @Test func deeplyNested() throws {
        var list: Any = [Any](), dictionary: Any = [String: Any](), hashable: Any = [AnyHashable: Any]()
        for _ in 0..<5000 {
            list = [list] as [Any]
            dictionary = ["a": dictionary] as [String: Any]
            hashable = [AnyHashable("a"): hashable] as [AnyHashable: Any]
        }
        for value in [list, dictionary, hashable] {
            for way in [["id": 1, "extra": value], ["id": 1, "toy": value], ["id": 1, "toys": value]] as [[String: Any]]
            {
                #expect(throws: ObjStoreError.self) { try store.write { tx in try tx.create(Pet.self, value: way) } }
                #expect(throws: ObjStoreError.self) { try store.write { tx in try tx.create(Pet.self, parsed: way) } }
                #expect(throws: ObjStoreError.self) { try Pet(value: way) }
            }
        }
        #expect(store.objects(Pet.self).isEmpty)
    }

    /// Whatever types a dictionary or an array is of.
    @Test func dictionariesOfAnyType() throws {
        let pets = try store.write { tx in
            [
                try tx.create(Pet.self, value: ["id": 1, "age": 2] as [String: Int]),
                try tx.create(Pet.self, value: ["id": 2, "age": nil] as [String: Int?]),
                try tx.create(
                    Pet.self, value: ["id": 3, "scores": ["a": 1.5] as [AnyHashable: Any]] as [AnyHashable: Any]),
                try tx.create(
                    Pet.self,
                    value: [
                        "id": 4, "toys": [["name": "x"]] as [[String: String]], "extra": ["a": [1, nil] as [Int?]],
                    ] as [String: Any]),
                try tx.create(
                    Pet.self, value: ["id": 5, "numbers": [7, 8][0...], "extra": [UInt8(1)]] as [String: Any]),
                try tx.create(Pet.self, value: ["id": 6, "numbers": Set([7]), "extra": [Any]()] as [String: Any]),
            ]
        }
        #expect(
            pets.map(\.age) == [2, nil, nil, nil, nil, nil] && pets[2].scores["a"] == 1.5 && pets[3].toys[0].name == "x"
        )
        #expect(pets[3].extra == ["a": [1, .none]] && Array(pets[4].numbers) == [7, 8] && pets[4].extra == .data([1]))
        #expect(Array(pets[5].numbers) == [7] && pets[5].extra == [])
        #expect(code { try store.write { tx in try tx.create(Pet.self, value: [1: 2] as [Int: Int]) } } == .wrongType)
    }
}
