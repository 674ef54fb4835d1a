import FoundationEssentials
import ObjStore
import Testing

/// Every property of kinds beyond those of `Everything`.
private final class Scalars: Object {
    @Persisted(primaryKey: true) var id: UUID
    @Persisted var single: Float = 0
    @Persisted var singleOrNot: Float?
    @Persisted(indexed: true) var price: Decimal128 = 0
    @Persisted(indexed: true) var priceOrNot: Decimal128?
    @Persisted(indexed: true) var maker = ObjectId()
    @Persisted var makerOrNot: ObjectId?
    @Persisted(indexed: true) var other: UUID?
    @Persisted(indexed: true) var level: Float = 1.5
    @Persisted var rate: Decimal128 = 7
}

private final class Made: Object {
    @Persisted(primaryKey: true) var id = ObjectId.generate()
    @Persisted var name = ""
}

private final class Defaulted: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var token: UUID = UUID(uuidString: "00112233-4455-6677-8899-aabbccddeeff")!
    @Persisted var fresh: UUID = UUID()
    @Persisted var origin: ObjectId = ObjectId("0123456789abcdef01234567")!
}

/// `Float`, `Decimal128`, `ObjectId` and `UUID`: there and back, asked, added up, as keys and in columns.
@Suite struct ScalarTests {
    private func uuid(_ number: UInt8, _ last: UInt8 = 0) -> UUID {
        UUID(uuid: (number, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, last))
    }

    @Test func roundTripThroughAFile() throws {
        let folder = Folder()
        let singles: [Float] = [
            0, -0.0, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0.1, .nan,
        ]
        let prices = try [
            "0", "1.00", "-1E-6176", "9.999999999999999999999999999999999E+6144", "Infinity", "NaN", "-0.00", "12.5",
        ].map { try Decimal128($0) }
        let makers = [[0], [255], [0x7f, 0xff], [0x80]].map { start in
            ObjectId(bytes: start + Array(repeating: start[0], count: 12 - start.count))!
        }
        do {
            let store = try Store.open(path: folder.file(), models: [Scalars.self])
            try store.write { tx in
                for index in 0..<8 {
                    let object = Scalars()
                    object.id = uuid(UInt8(index * 36))
                    object.single = singles[index]
                    object.price = prices[index]
                    object.maker = makers[index % 4]
                    if index % 2 == 0 {
                        object.singleOrNot = singles[index]
                        object.makerOrNot = makers[3 - index % 4]
                    }
                    try tx.add(object)
                    // Set one by one instead of with the object.
                    if index % 2 == 0 {
                        object.priceOrNot = prices[index]
                        object.other = uuid(9, UInt8(index))
                    }
                }
            }
            #expect(try store.verify() == [])
            try store.close()
        }
        let store = try Store.open(path: folder.file(), models: [Scalars.self])
        let all = store.objects(Scalars.self)
        #expect(all.count == 8)
        for (index, object) in all.enumerated() {
            #expect(
                object.id == uuid(UInt8(index * 36)) && object.level == 1.5 && object.rate == 7
                    && object.maker == makers[index % 4])
            #expect(object.single.bitPattern == singles[index].bitPattern)
            #expect(object.price.low == prices[index].low && object.price.high == prices[index].high)
            #expect(
                (object.singleOrNot?.bitPattern, object.priceOrNot?.description)
                    == (index % 2 == 0 ? (singles[index].bitPattern, prices[index].description) : (nil, nil)))
            #expect(
                object.makerOrNot == (index % 2 == 0 ? makers[3 - index % 4] : nil)
                    && object.other == (index % 2 == 0 ? uuid(9, UInt8(index)) : nil))
            #expect(try store.object(ofType: Scalars.self, forPrimaryKey: object.id) == object)
        }
        #expect(try store.object(ofType: Scalars.self, forPrimaryKey: uuid(1)) == nil)
        #expect(try store.verify() == [] && store.lastError == nil)
    }

    @Test func asking() throws {
        let store = try memoryStore([Scalars.self])
        try store.write { tx in
            for index in 0..<100 {
                let object = Scalars()
                object.id = uuid(UInt8(index))
                object.single = Float(index) / 4 - 10
                object.level = Float(index % 10)
                object.price = try Decimal128("\(index / 10).\(index % 10)\(index % 2 == 0 ? "0" : "")")
                object.maker = ObjectId(bytes: [UInt8(index * 2), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(index)])!
                if index % 5 == 0 { object.other = uuid(UInt8(200 - index)) }
                try tx.add(object)
            }
        }
        let all = store.objects(Scalars.self)
        let half = try Decimal128("0.5"), one = try Decimal128("1.0")
        #expect(
            all.where { $0.single < -9 }.count == 4 && all.where { $0.single >= 0 }.count == 60
                && all.where { $0.single == 0.25 }.count == 1)
        #expect(all.where { $0.level > 7 }.count == 20 && all.where { $0.level != 7 }.count == 90)
        #expect(
            all.where { $0.price <= half }.count == 6 && all.where { $0.price == one }.count == 1
                && all.where { $0.price > 9 }.count == 9)
        #expect(all.where { $0.maker > ObjectId(bytes: [100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])! }.count == 50)
        #expect(
            all.where { $0.other >= uuid(190) }.count == 3 && all.where { $0.other == nil }.count == 80
                && all.where { $0.id < uuid(10) }.count == 10)
        #expect(try all.filter("single > 14.7").count == 1 && all.filter("level == 3").count == 10)
        #expect(try all.filter("price == $0", one).count == 1 && all.filter("price == 2").count == 1)
        #expect(code { try all.filter("price == $0", "1.00") } == .wrongType, "a text is no decimal by itself")
        #expect(
            try all.filter("id == $0", uuid(5)).count == 1 && all.filter("maker == $0", all[3].maker).first == all[3])
        #expect(try all.filter("price > 1.5").count == 84 && all.filter("price == 1.50").count == 1)
        #expect(
            code { try all.filter("id == '05000000-0000-0000-ff00-000000000000'") } == .wrongType,
            "a text is no uuid by itself")
        #expect(code { try all.filter("maker == $0", all[3].maker.hex) } == .wrongType)

        #expect(try all.sum(of: \.single) == 237.5 && all.average(of: \.single) == 2.375)
        #expect(try all.min(of: \.single) == -10 && all.max(of: \.single) == 14.75)
        #expect(
            try all.where { $0.level == 3 }.sum(of: \.single) == 20
                && all.where { $0.level == 99 }.sum(of: \.single) == 0)
        #expect(
            try all.max(of: \.price)?.description == "9.9"
                && all.where { $0.level == 2 }.min(of: \.price)?.description == "0.20")
        #expect(
            try all.min(of: \.maker) == all[0].maker && all.max(of: \.other) == uuid(200)
                && all.where { $0.level == 3 }.max(of: \.other) == nil)
        #expect(store.lastError == nil)
    }

    @Test func keysAndColumns() throws {
        let store = try memoryStore([Scalars.self, Made.self])
        let ids = (0..<3000).map { uuid(UInt8($0 % 256), UInt8($0 / 256)) },
            makers = ids.map { _ in ObjectId.generate() }
        try store.write { tx in
            try tx.insert(
                Scalars.self,
                [
                    Column(\.id, ids), Column(\.single, ids.indices.map { Float($0) }), Column(\.maker, makers),
                    Column(\.price, ids.indices.map { $0 % 7 == 0 ? .nan : Decimal128($0) }),
                    Column(\.other, ids.indices.map { $0 % 3 == 0 ? nil : ids[$0] }),
                    Column(\.singleOrNot, ids.indices.map { $0 % 4 == 1 ? -0.5 : nil }),
                ])
            #expect(
                code { try tx.insert(Scalars.self, [Column(\.id, [uuid(1), uuid(1)])], update: .error) }
                    == .duplicateKey)
            #expect(
                try tx.insert(
                    Scalars.self, [Column(\.id, [ids[5], uuid(1, 99), uuid(1, 99)]), Column(\.single, [-1, -2, -3])],
                    update: .all)
                    == InsertCounts(created: 1, changed: 2, unchanged: 0))
            #expect(code { try tx.create(Scalars.self, value: ["id": ids[7]]) } == .duplicateKey)
            #expect(
                try tx.create(
                    Scalars.self, value: ["id": ids[7], "single": 0.5, "price": "1.10", "maker": makers[0]],
                    update: .modified
                ).price.description == "1.10")
            #expect(code { try tx.create(Scalars.self, value: ["id": 7]) } == .wrongType)
            #expect(code { try tx.create(Scalars.self, value: ["id": uuid(2, 99), "price": 1.5]) } == .wrongType)
            for name in ["a", "b"] { try tx.create(Made.self, value: ["name": name]) }
        }
        let all = store.objects(Scalars.self)
        #expect(
            all.count == 3001 && all[5].single == -1 && all[3000].single == -3 && all[9].single == 9
                && all[3000].price == 0)
        for index in stride(from: 9, to: 3000, by: 111) {
            #expect(
                all[index].other == (index % 3 == 0 ? nil : ids[index])
                    && all[index].singleOrNot == (index % 4 == 1 ? -0.5 : nil))
            #expect(all[index].maker == makers[index] && all[index].price.isNaN == (index % 7 == 0))
        }
        #expect(try store.object(ofType: Scalars.self, forPrimaryKey: ids[2999])?.single == 2999)
        let made = store.objects(Made.self)
        #expect(made[0].id < made[1].id && Set(made.map(\.id)).count == 2)
        let found = try #require(try store.object(ofType: Made.self, forPrimaryKey: made[1].id))
        #expect(found.name == "b" && Set([found, made[1]]).count == 1)
        #expect(code { try store.object(ofType: Made.self, forPrimaryKey: "x") } == .wrongType)
        #expect(try store.verify() == [] && store.lastError == nil)
    }

    @Test func defaults() throws {
        let store = try memoryStore([Defaulted.self])
        let made = try store.write { tx in try (1...2).map { try tx.create(Defaulted.self, value: ["id": $0]) } }
        #expect(
            made.allSatisfy {
                $0.token.uuidString == "00112233-4455-6677-8899-AABBCCDDEEFF"
                    && $0.origin.hex == "0123456789abcdef01234567"
            })
        #expect(made[0].fresh != made[1].fresh)
    }

    // MARK: The types themselves

    @Test func decimals() throws {
        let plain = try Decimal128("12.5"), long = try Decimal128("12.50")
        #expect(
            plain == long && plain.hashValue == long.hashValue && plain.description == "12.5"
                && long.description == "12.50" && plain.low != long.low)
        #expect(
            Decimal128(Int.min).description == "-9223372036854775808" && (-3 as Decimal128) < 0
                && Decimal128.nan > .infinity && Decimal128.nan == .nan)
        #expect(try Decimal128("-Infinity") < Decimal128(Int.min) && Decimal128.infinity.isFinite == false)
        #expect(
            code { try Decimal128("12,50") } == .invalidArgument && code { try Decimal128("1E+9999") } == .outOfRange)
    }

    @Test func objectIds() throws {
        let id = try #require(ObjectId("00FFa0b1c2d3e4f506172839"))
        #expect(
            id.hex == "00ffa0b1c2d3e4f506172839"
                && id.bytes == [0, 255, 0xa0, 0xb1, 0xc2, 0xd3, 0xe4, 0xf5, 6, 0x17, 0x28, 0x39]
                && ObjectId(bytes: id.bytes) == id)
        #expect(id.timestamp.seconds == 0xffa0b1)
        for text in ["", "0", "00ffa0b1c2d3e4f50617283g", "00ffa0b1c2d3e4f5061728390", " 0ffa0b1c2d3e4f506172839"] {
            #expect(ObjectId(text) == nil)
        }
        #expect(ObjectId(bytes: [1]) == nil && ObjectId().bytes == Array(repeating: 0, count: 12))
        let made = (0..<1000).map { _ in ObjectId.generate() }
        #expect(Set(made).count == 1000 && Set(made.map { $0.bytes[4..<9] }).count == 1, "one process, one name")
        #expect(abs(Double(made[0].timestamp.seconds) - Date().timeIntervalSince1970) < 60)
        let order = [
            ObjectId(bytes: [0x7f] + Array(repeating: 255, count: 11))!,
            ObjectId(bytes: [0x80] + Array(repeating: 0, count: 11))!,
        ]
        #expect(order[0] < order[1])
    }
}
