import class Foundation.NSNull
import ObjStore
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Objects from nested values: unmanaged ones, and in a store.
@Suite struct CreateTests {
    final class Toy2: Object {
        @Persisted var name: String
        @Persisted var age: Int
    }

    @Test func A17_fromADictionary() throws {
        let store = try memoryStore(K.models)
        let pluto = try K.Dog(value: ["name": "Pluto", "age": 3])
        #expect(
            pluto.name == "Pluto" && pluto.age == 3 && pluto.color == "" && pluto.citiesVisited.isEmpty
                && pluto.favoriteParksByCity.isEmpty)
        #expect(pluto.favoriteToy == nil && !pluto.isManaged)
        let created = try store.write { tx in
            try tx.add(pluto)
            return try tx.create(K.Dog.self, value: ["name": "Pluto", "age": 3])
        }
        for dog in [pluto, created] {
            #expect(
                dog.isManaged && dog.name == "Pluto" && dog.age == 3 && dog.color == "" && dog.citiesVisited.isEmpty
                    && dog.favoriteToy == nil)
        }
    }

    @Test func A18_fromAnArray() throws {
        let store = try memoryStore([Toy2.self])
        let fido = try Toy2(value: ["Fido", 5])
        #expect(fido.name == "Fido" && fido.age == 5)
        let created = try store.write { tx in try tx.create(Toy2.self, value: ["Fido", 5]) }
        #expect(created.name == "Fido" && created.age == 5)
    }

    @Test func A19_tooManyValuesAndWrongOnes() throws {
        let store = try memoryStore([Toy2.self] + K.models)
        try store.write { tx in
            for error in [
                ObjStoreError.of { try Toy2(value: ["Fido", 5, "extra"]) },
                .of { try tx.create(Toy2.self, value: ["Fido", 5, "extra"]) },
            ] {
                #expect(error?.code == .outOfRange && error?.className == "Toy2")
                #expect(error?.message.contains("more values (3) than properties (2)") == true)
            }
            for error in [
                ObjStoreError.of { try Toy2(value: ["Fido", "five"]) },
                .of { try tx.create(Toy2.self, value: ["Fido", "five"]) },
            ] {
                #expect(error?.code == .wrongType && error?.className == "Toy2" && error?.propertyName == "age")
            }
            // X1: a prefix is enough where the rest needs no value; `exact` wants all.
            #expect(code { try tx.create(Toy2.self, value: ["Fido"]) } == .missingValue)
            #expect(code { try tx.create(Toy2.self, value: ["Fido"], exact: true) } == .missingValue)
            let whole = try tx.create(Toy2.self, value: ["Fido", 5], exact: true),
                prefix = try tx.create(K.Dog.self, value: ["Fido"])
            #expect(whole.age == 5 && prefix.name == "Fido" && prefix.age == 0)
            #expect(code { try tx.create(K.Dog.self, value: ["Fido"], exact: true) } == .missingValue)
            let nested = ObjStoreError.of {
                try tx.create(K.Person.self, value: [1, "Jane", [["Fido", 1]], nil as String? as Any], exact: true)
            }
            #expect(
                nested?.code == .missingValue && nested?.propertyName == "color"
                    && nested?.message.hasPrefix("$.dogs[0]: ") == true, "\(String(describing: nested))")
            #expect(code { try tx.create(K.Dog.self, value: ["name": NSNull()]) } == .notNullable)
            let nothing = try tx.create(K.Dog.self, value: ["favoriteToy": NSNull()] as [String: Any]),
                unmanaged = try K.Dog(value: ["favoriteToy": NSNull()] as [String: Any])
            #expect(nothing.favoriteToy == nil && unmanaged.favoriteToy == nil)
            // X2: null for what is required is refused, missing is refused without a default.
            #expect(code { try tx.create(K.Dog.self, value: ["name": nil as String? as Any]) } == .notNullable)
            #expect(code { try K.Dog(value: ["name": nil as String? as Any]) } == .notNullable)
        }
        #expect(
            store.objects(Toy2.self).count == 1 && store.objects(K.Person.self).isEmpty
                && store.objects(K.Dog.self).count == 2)
    }

    @Test func A20_nestedInitialisers() throws {
        let store = try memoryStore(K.models)
        let aDog = try K.Dog(value: ["Buster", 5]), anotherDog = try K.Dog(value: ["Buddy", 6])
        let first = try K.Person(value: [123, "Jane", [aDog, anotherDog]])
        let second = try K.Person(value: [124, "Jane", [["Buster", 5], ["Buddy", 6]]])
        #expect(first.dogs[0] === aDog && second.dogs.map(\.name) == ["Buster", "Buddy"])
        try store.write { tx in try tx.add([first, second]) }
        for person in [first, second] {
            #expect(person.dogs.map(\.name) == ["Buster", "Buddy"] && person.dogs.map(\.age) == [5, 6])
        }
        #expect(store.objects(K.Dog.self).count == 4)
        // The same in the store: objects of it are linked to, others are copied.
        let third = try store.write { tx in
            try tx.create(
                K.Person.self,
                value: [125, "Joe", [aDog, K.dog("New"), ["Buster", 5], ["name": "Max"]], ["city": "Rome"]])
        }
        #expect(
            third.dogs[0].isSameObject(as: aDog) && third.dogs.map(\.name) == ["Buster", "New", "Buster", "Max"]
                && third.address?.city == "Rome")
        #expect(store.objects(K.Dog.self).count == 7 && third.address?.parent?.isSameObject(as: third) == true)
    }

    private struct PlainDog {
        var name: String
        var age: Int
        var collar = "red"
    }
    private class Named { let name = "Base" }
    private final class Aged: Named { let age = 7 }

    @Test func A21_fromOtherObjects() throws {
        let store = try memoryStore(K.models + [Toy2.self])
        let toy = try Toy2(value: ["Rex", 3]), dog = K.dog("Rex", 3)
        dog.citiesVisited = ["Rome"]
        let values: [Any] = [PlainDog(name: "Rex", age: 3), toy, dog, (name: "Rex", age: 3)]
        for value in values {
            let copy = try K.Dog(value: value)
            #expect(copy.name == "Rex" && copy.age == 3 && copy.color == "")
            copy.name = "changed"
        }
        #expect(try K.Dog(value: Aged()).age == 7 && (try K.Dog(value: Aged())).name == "Base")
        try store.write { tx in
            for value in values {
                let created = try tx.create(K.Dog.self, value: value)
                #expect(created.name == "Rex" && created.age == 3)
                created.name = "changed"
            }
            // A managed one as well; collections are copied.
            try tx.add(dog)
            let copy = try tx.create(K.Dog.self, value: dog), unmanaged = try K.Dog(value: dog)
            copy.name = "copy"
            unmanaged.citiesVisited.insert("Oslo")
            copy.citiesVisited.insert("Bonn")
            #expect(
                dog.name == "Rex" && Array(dog.citiesVisited) == ["Rome"] && unmanaged.citiesVisited.count == 2
                    && copy.citiesVisited.count == 2)
            #expect(!dog.isSameObject(as: copy))
        }
        #expect(toy.name == "Rex" && dog.name == "Rex")
        for value in [5, "text", Int?.none as Any, Date(timeIntervalSince1970: 0), Color.black] as [Any] {
            #expect(code { try K.Dog(value: value) } == .wrongType, "\(value)")
            #expect(code { try store.write { tx in _ = try tx.create(K.Dog.self, value: value) } } == .wrongType)
        }
        #expect(code { try K.Dog(value: Other()) } == .wrongType)
    }
    final class Other: Object { @Persisted var nothing = 0 }

    @Test func A35_partialUpdate() throws {
        let store = try memoryStore(K.models)
        let rex = K.dog("Rex")
        let jane = try store.write { tx in
            try tx.create(K.Person.self, value: [123, "Jane", [K.Dog](), ["city": "Rome"]])
        }
        try store.write { _ in jane.dogs.append(rex) }
        let updated = try store.write { tx in
            try tx.create(K.Person.self, value: ["id": 123, "dogs": [["Buster", 5]]], update: .modified)
        }
        #expect(
            updated.isSameObject(as: jane) && jane.name == "Jane" && jane.dogs.map(\.name) == ["Buster"]
                && jane.address?.city == "Rome")
        #expect(!rex.isInvalidated && rex.people.isEmpty)
        // An embedded object is described in full, and is the same where it is the same.
        let address = try #require(jane.address), version = try store.version
        try store.write { tx in
            try tx.create(
                K.Person.self, value: ["id": 123, "name": "Jane", "address": ["city": "Rome"]] as [String: Any],
                update: .modified)
        }
        #expect(try store.version == version)
        try store.write { tx in
            try tx.create(
                K.Person.self, value: ["id": 123, "address": ["street": "Via Appia"]] as [String: Any],
                update: .modified)
        }
        #expect(jane.address?.isSameObject(as: address) == true && address.city == nil && address.street == "Via Appia")
        try store.write { tx in
            try tx.create(K.Person.self, value: ["id": 123, "address": nil as String? as Any], update: .modified)
        }
        #expect(address.isInvalidated && jane.address == nil)
        // Itself.
        #expect(try store.write { tx in try tx.create(K.Person.self, value: jane, update: .modified) } === jane)
        #expect(code { try store.write { tx in try tx.create(K.Person.self, value: jane) } } == .duplicateKey)
    }

    enum Mood: String, PersistableEnum { case calm, wild }
    final class All: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var tiny: Int8?
        @Persisted var real: Double
        @Persisted var short: Float?
        @Persisted var price: Decimal128?
        @Persisted var mood: Mood
        @Persisted var day: Date?
        @Persisted var bytes: Data?
        @Persisted var uuid: UUID?
        @Persisted var objectId: ObjectId?
        @Persisted var extra: AnyValue
        @Persisted var moods: List<Mood>
        @Persisted var numbers: MutableSet<Int8>
        @Persisted var byNumber: Map<Int, Double?>
        @Persisted var byId: Map<ObjectId, String>
        @Persisted var byUuid: Map<UUID, Bool>
        @Persisted var friends: List<All>
        @Persisted var best: All?
        @Persisted var rivals: MutableSet<All>
        @Persisted var named: Map<String, All?>
        @Persisted var stamp = UUID()
        @Persisted var toy: K.Toy? = {
            let toy = K.Toy(); toy.name = "born with"; return toy
        }()
    }

    @Test func everyTypeInNestedValues() throws {
        let store = try memoryStore([All.self, K.Toy.self])
        let id = ObjectId.generate(), uuid = UUID(), day = Date(timeIntervalSince1970: 86_400)
        let nested: [String: Any] = [
            "id": 2, "real": 1, "mood": "wild", "tiny": 7, "short": 0.5, "price": Decimal128(3), "day": day,
            "bytes": Data([1, 2]), "uuid": uuid, "objectId": id,
            "extra": ["a": [1, nil, 2.5] as [Any?]], "moods": [Mood.wild, "calm"] as [Any], "numbers": Set([3, 1]),
            "byNumber": [5: 1.5, 6: nil] as [Int: Double?],
            "byId": [id: "x"], "byUuid": [uuid: true], "named": ["nobody": nil] as [String: Any?],
        ]
        let value: [String: Any] = [
            "id": 1, "real": 2.5, "mood": Mood.calm,
            "friends": [
                nested, [3, nil as Int? as Any, 0.5, nil as Int? as Any, nil as Int? as Any, "calm"] as [Any],
            ],
            "best": ["id": 4, "real": 0, "mood": "calm", "toy": nil as String? as Any] as [String: Any],
            "rivals": [["id": 5, "real": 0, "mood": "calm"] as [String: Any]],
            "named": ["x": ["id": 6, "real": 0, "mood": "calm"] as [String: Any], "y": nil] as [String: Any?],
        ]
        func check(_ one: All) {
            #expect(
                one.friends.map(\.id) == [2, 3] && one.best?.id == 4 && one.rivals.map(\.id) == [5]
                    && one.named["x"]??.id == 6 && one.named["y"] == .some(nil))
            let two = one.friends[0]
            #expect(
                two.real == 1 && two.mood == .wild && two.tiny == 7 && two.short == 0.5 && two.price == Decimal128(3)
                    && two.day == day && two.bytes == Data([1, 2]))
            #expect(
                two.uuid == uuid && two.objectId == id && two.extra == ["a": [1, .none, 2.5]]
                    && Array(two.moods) == [.wild, .calm] && Array(two.numbers) == [1, 3])
            #expect(
                two.byNumber[5] == .some(1.5) && two.byNumber[6] == .some(nil) && two.byId[id] == "x"
                    && two.byUuid[uuid] == true && two.named["nobody"] == .some(nil))
            #expect(one.toy?.name == "born with" && two.toy?.name == "born with" && one.best?.toy == nil)
            let stamps = Set([one, two, one.friends[1], one.best].compactMap { $0?.stamp })
            #expect(stamps.count == 4, "a default that is another value each time is another one in each object")
        }
        let unmanaged = try All(value: value)
        check(unmanaged)
        let created = try store.write { tx in try tx.create(All.self, value: value) }
        check(created)
        #expect(store.objects(All.self).count == 6)
        // Known objects are updated, by what is given.
        let stamp = created.friends[0].stamp
        try store.write { tx in
            try tx.create(
                All.self, value: ["id": 1, "friends": [["id": 2, "tiny": 8], created.best as Any]] as [String: Any],
                update: .modified)
        }
        #expect(
            created.friends.map(\.id) == [2, 4] && created.friends[0].tiny == 8 && created.friends[0].stamp == stamp
                && store.objects(All.self).count == 6)
        let other = try memoryStore([All.self, K.Toy.self])
        try other.write { tx in try tx.add(unmanaged) }
        check(unmanaged)
    }

    @Test func A102_everythingComesBack() throws {
        let folder = Folder(), id = ObjectId.generate(), uuid = UUID(), day = Date(timeIntervalSince1970: 1.25)
        let full: [String: Any] = [
            "id": 1, "tiny": -8, "real": -0.5, "short": 1.5, "price": Decimal128(12), "mood": "wild", "day": day,
            "bytes": Data([0, 255]), "uuid": uuid, "objectId": id,
            "extra": "any", "moods": ["calm"], "numbers": [2, 1], "byNumber": [1: nil, 2: 0.5] as [Int: Double?],
            "byId": [id: "x"], "byUuid": [uuid: false],
            "friends": [["id": 2, "real": 0, "mood": "calm"] as [String: Any]],
            "best": ["id": 3, "real": 0, "mood": "calm"] as [String: Any],
        ]
        var stamp = UUID()
        do {
            let store = try Store.open(path: folder.file(), models: [All.self, K.Toy.self])
            stamp = try store.write { tx in try tx.create(All.self, value: full).stamp }
            try store.close()
        }
        let store = try Store.open(path: folder.file(), models: [All.self, K.Toy.self])
        let one = try #require(try store.object(ofType: All.self, forPrimaryKey: 1)),
            two = try #require(one.friends.first)
        #expect(
            one.tiny == -8 && one.real == -0.5 && one.short == 1.5 && one.price == Decimal128(12) && one.mood == .wild
                && one.day == day && one.bytes == Data([0, 255]))
        #expect(
            one.uuid == uuid && one.objectId == id && one.extra == "any" && Array(one.moods) == [.calm]
                && Array(one.numbers) == [1, 2] && one.best?.id == 3)
        #expect(
            one.byNumber[1] == .some(nil) && one.byNumber[2] == .some(0.5) && one.byId[id] == "x"
                && one.byUuid[uuid] == false && one.stamp == stamp)
        // Only what is required was given.
        #expect(
            two.tiny == nil && two.real == 0 && two.short == nil && two.price == nil && two.day == nil
                && two.bytes == nil && two.uuid == nil && two.objectId == nil)
        #expect(
            two.extra.isNone && two.moods.isEmpty && two.numbers.isEmpty && two.byNumber.isEmpty && two.friends.isEmpty
                && two.best == nil && two.named.isEmpty)
    }

    @Test func errorsSayWhere() throws {
        let store = try memoryStore(K.models + [All.self])
        try store.write { tx in
            func error(_ value: Any, _ type: Object.Type = K.Person.self) -> ObjStoreError? {
                .of { try tx.create(type, value: value) }
            }
            var refusal = error(["id": 1, "dogs": [["Rex", 1], ["Ben", "five"]]] as [String: Any])
            #expect(refusal?.code == .wrongType && refusal?.className == "Dog" && refusal?.propertyName == "age")
            #expect(refusal?.message.hasPrefix("$.dogs[1].age: Dog.age") == true, "\(String(describing: refusal))")
            refusal = .of { try K.Person(value: ["id": 1, "dogs": [["Rex", 1], ["Ben", "five"]]] as [String: Any]) }
            #expect(
                refusal?.code == .wrongType && refusal?.message.hasPrefix("$.dogs[1].age: Dog.age") == true,
                "\(String(describing: refusal))")
            refusal = error(["id": 1, "dogs": [["nam": "Rex"]]] as [String: Any])
            #expect(
                refusal?.code == .noSuchProperty && refusal?.className == "Dog" && refusal?.propertyName == "nam"
                    && refusal?.message.hasPrefix("$.dogs[0]: ") == true)
            refusal = error(["id": 1, "dogs": [nil as String? as Any]] as [String: Any])
            #expect(refusal?.code == .notNullable && refusal?.propertyName == "dogs")
            refusal = error(["id": 1, "dogs": 5] as [String: Any])
            #expect(refusal?.code == .wrongType && refusal?.propertyName == "dogs")
            refusal = error(["id": 1, "address": ["city": 5]] as [String: Any])
            #expect(
                refusal?.code == .wrongType && refusal?.className == "Address"
                    && refusal?.message.hasPrefix("$.address.city: ") == true)
            refusal = error(["id": 1, "address": 5] as [String: Any])
            #expect(
                refusal?.code == .wrongType && refusal?.className == "Address"
                    && refusal?.message.hasPrefix("$.address: ") == true)
            refusal = error(["id": 1, "real": 1, "mood": "sad"] as [String: Any], All.self)
            #expect(refusal?.code == .wrongType && refusal?.propertyName == "mood")
            refusal = error(["id": 1, "real": 1, "mood": "calm", "numbers": [1, 300]] as [String: Any], All.self)
            #expect(refusal?.code == .wrongType && refusal?.message.hasPrefix("$.numbers[1]: ") == true)
            refusal = error(["id": 1, "real": 1, "mood": "calm", "byNumber": ["x": 1]] as [String: Any], All.self)
            #expect(refusal?.code == .wrongType && refusal?.propertyName == "byNumber")
            refusal = error(["id": 1, "real": 1, "mood": "calm", "best": ["id": 2]] as [String: Any], All.self)
            #expect(
                refusal?.code == .missingValue && refusal?.message.hasPrefix("$.best") == true,
                "\(String(describing: refusal))")
            let person = try K.Person(value: ["id": 2])
            #expect(error(["id": 1, "dogs": [person]] as [String: Any])?.code == .wrongType)
            #expect(code { try tx.create(K.Dog.self, value: ["name": "x"], update: .modified) } == .noPrimaryKey)
            var deep: [String: Any] = ["id": 0, "real": 0, "mood": "calm"]
            for number in 1...300 { deep = ["id": number, "real": 0, "mood": "calm", "best": deep] }
            #expect(error(deep, All.self)?.code == .outOfRange)
            #expect(code { try All(value: deep) } == .outOfRange)
        }
        for count in [
            store.objects(K.Person.self).count, store.objects(K.Dog.self).count, store.objects(All.self).count,
        ] { #expect(count == 0, "nothing is left of what failed") }
    }

    final class Numbered: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var names: Map<Int, String>
        @Persisted var links: Map<Int, Numbered?>
    }

    @Test func wrongKeysAreNamed() throws {
        let store = try memoryStore([Numbered.self])
        for property in ["names", "links"] {
            #expect {
                try store.write { tx in
                    try tx.create(Numbered.self, value: ["id": 1, property: ["1": nil as Any?]] as [String: Any])
                }
            } throws: { error in
                let error = error as? ObjStoreError,
                    type = property == "names" ? "Map<Int, String>" : "Map<Int, Optional<Numbered>>"
                return error?.code == .wrongType
                    && error?.message
                        == "$.\(property): Numbered.\(property) is of type \(type), whose keys are no String (\"1\")"
            }
        }
        let numbered = try store.write { tx in try tx.create(Numbered.self, value: ["id": 1]) }
        #expect {
            try store.write { _ in try numbered.dynamic().collection("names").set("one", forKey: "x") }
        } throws: { error in
            (error as? ObjStoreError)?.message == #"the keys of names are of type int, not string ("x")"#
        }
    }

    @Test func A86_mapEntries() throws {
        let store = try memoryStore(K.models)
        let dog = try store.write { tx in
            try tx.create(
                K.Dog.self,
                value: [
                    "name": "Wolfie", "favoriteParksByCity": ["New York": "Central Park", "Chicago": "Wiggly Field"],
                ] as [String: Any])
        }
        try store.write { _ in
            dog.favoriteParksByCity["New York"] = "Washington Square Park"
            dog.favoriteParksByCity["Boston"] = "Boston Common"
            dog.favoriteParksByCity.updateValue("Seal Harbor Green", forKey: "Seal Harbor")
        }
        #expect(
            dog.favoriteParksByCity["New York"] == "Washington Square Park"
                && dog.favoriteParksByCity["Boston"] == "Boston Common" && dog.favoriteParksByCity.count == 4)
        try store.write { _ in
            #expect(dog.favoriteParksByCity.removeValue(forKey: "New York"))
            dog.favoriteParksByCity["Chicago"] = nil
        }
        #expect(dog.favoriteParksByCity.keys == ["Boston", "Seal Harbor"])
    }

    /// Swift's own way: properties that are set one by one.
    @Test func A107_theLanguagesOwnInitialiser() throws {
        let store = try memoryStore(K.models)
        let own = K.dog("Pluto", 3), value = try K.Dog(value: ["name": "Pluto", "age": 3])
        try store.write { tx in try tx.add([own, value]) }
        let texts = store.objects(K.Dog.self).map(\.description)
        #expect(texts.count == 2 && texts[0] == texts[1] && own.color == "" && own.citiesVisited.isEmpty)
    }
}
