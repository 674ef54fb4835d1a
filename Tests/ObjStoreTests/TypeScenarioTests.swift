import Foundation
import ObjStore
import Synchronization
import Testing

/// The acceptance scenarios of upserts and collections, by number.
@Suite struct TypeScenarioTests {
    final class Frog: Object {
        @Persisted(primaryKey: true, generated: true) var _id: ObjectId
        @Persisted var name = ""
        @Persisted var age = 0
        @Persisted var species: String?
        @Persisted var owner: String?
    }
    final class Enthusiast: Object {
        @Persisted(primaryKey: true, generated: true) var _id: ObjectId
        @Persisted var name: String?
        @Persisted var age = 0
    }

    /// What an observer of an object hears of a write: the properties that were written, each time.
    private func heard<T: Object>(
        of object: T, _ store: Store, _ body: (Transaction) throws -> Void
    ) throws -> [[String]] {
        let all = Mutex<[[String]]>([])
        let token = try object.observe { change in
            if case .change(_, let properties) = change { all.withLock { $0.append(properties.map(\.name).sorted()) } }
        }
        defer { withExtendedLifetime(token) {} }
        try store.deliver()
        try store.write { tx in try body(tx) }
        try store.deliver()
        return all.withLock { $0 }
    }

    @Test func A33_upsertOfAll() throws {
        let store = try memoryStore([Frog.self])
        try store.write { tx in
            let kermit = try tx.create(Frog.self, value: ["name": "Kermit"])
            let values: [String: Any] = [
                "_id": kermit._id, "name": "Wirt", "age": 4, "species": "Greyfrog", "owner": "L'oric",
            ]
            #expect(try tx.create(Frog.self, value: values, update: .all) == kermit)
            #expect(
                kermit.name == "Wirt" && kermit.age == 4 && kermit.species == "Greyfrog" && kermit.owner == "L'oric")
        }
        #expect(store.objects(Frog.self).count == 1)
    }

    @Test func A34_upsertReportsWhatDiffers() throws {
        let store = try memoryStore([Enthusiast.self])
        let drew = try store.write { tx in try tx.create(Enthusiast.self, value: ["name": "Drew", "age": 25]) }
        let andy = Enthusiast()
        (andy._id, andy.name, andy.age) = (drew._id, "Andy", 25)
        #expect(try heard(of: drew, store) { tx in try tx.add(andy, update: .modified) } == [["name"]])
        #expect(drew.name == "Andy" && drew.age == 25 && store.objects(Enthusiast.self).count == 1)
    }

    @Test func A37_theSameValuesAgain() throws {
        let store = try memoryStore(K.models)
        let joe = try store.write { tx in try tx.create(K.Person.self, value: ["id": 1, "name": "Joe"]) }
        func again() -> K.Person {
            let person = K.Person()
            (person.id, person.name) = (1, "Joe")
            return person
        }
        #expect(try heard(of: joe, store) { tx in try tx.add(again(), update: .modified) } == [])
        #expect(try heard(of: joe, store) { tx in try tx.add(again(), update: .all) } == [["address", "dogs", "name"]])
        #expect(
            try heard(of: joe, store) { tx in
                try tx.create(K.Person.self, value: ["id": 1, "name": "Joe"], update: .modified)
            } == [])
        #expect(
            try heard(of: joe, store) { tx in
                try tx.create(K.Person.self, value: ["id": 1, "name": "Joe"], update: .all)
            } == [["name"]])
    }

    @Test func A39_map() throws {
        let store = try memoryStore(K.models)
        let wolfie = K.dog("Wolfie")
        wolfie.favoriteParksByCity["New York"] = "Domino Park"
        try store.write { tx in
            try tx.add(wolfie)
            wolfie.favoriteParksByCity["Chicago"] = "Wiggly Field"
            wolfie.favoriteParksByCity.setValue("Bush Park", forKey: "Ottawa")
        }
        let parks = wolfie.favoriteParksByCity
        #expect(
            parks.count == 3 && parks["New York"] == "Domino Park" && parks["Chicago"] == "Wiggly Field"
                && parks["Ottawa"] == "Bush Park")
    }

    @Test func A40_set() throws {
        let store = try memoryStore(K.models)
        let maui = K.dog("Maui")
        try store.write { tx in
            try tx.add(maui)
            maui.citiesVisited.insert("New York")
        }
        try store.write { _ in maui.citiesVisited.insert(objectsIn: ["Boston", "Chicago", "New York"]) }
        #expect(Set(maui.citiesVisited) == ["Boston", "Chicago", "New York"] && maui.citiesVisited.count == 3)
    }

    private func companions(_ store: Store) throws {
        let rex = K.dog("Rex"), wolfie = K.dog("Wolfie"), fido = K.dog("Fido")
        wolfie.companion = .string("Fluffy the Cat")
        fido.companion = .object(K.dog("Spot"))
        try store.write { tx in try tx.add([rex, wolfie, fido]) }
    }

    @Test func A41_companions() throws {
        let store = try memoryStore(K.models)
        try companions(store)
        let dogs = store.objects(K.Dog.self)
        #expect(dogs.count == 4 && Set(dogs.map(\.name)) == ["Rex", "Wolfie", "Fido", "Spot"])
        #expect(dogs.where { $0.name == "Spot" }.first?.companion.isNone == true)
        #expect(try store.verify() == [])
    }

    @Test func A42_companionsByType() throws {
        let store = try memoryStore(K.models)
        try companions(store)
        var seen: [String: String] = [:]
        for dog in store.objects(K.Dog.self) {
            switch dog.companion {
            case .string(let text): seen[dog.name] = text
            case .object(let other as K.Dog): seen[dog.name] = "the dog \(other.name)"
            case .none: seen[dog.name] = "none"
            default: seen[dog.name] = "something else"
            }
        }
        #expect(seen == ["Rex": "none", "Wolfie": "Fluffy the Cat", "Fido": "the dog Spot", "Spot": "none"])
        let wolfie = try #require(store.objects(K.Dog.self).where { $0.name == "Wolfie" }.first)
        #expect(
            wolfie.companion.int == nil && wolfie.companion.object == nil && wolfie.companion.string == "Fluffy the Cat"
        )
    }

    @Test func A43_appendSeveral() throws {
        let store = try memoryStore(K.models)
        let dachary = try store.write { tx in try tx.create(K.Person.self, value: ["id": 1, "name": "Dachary"]) }
        try store.write { _ in dachary.dogs.append(objectsIn: [K.dog("Ben", 13), K.dog("Lita", 9), K.dog("Maui", 1)]) }
        #expect(
            dachary.dogs.map(\.name) == ["Ben", "Lita", "Maui"]
                && store.objects(K.Dog.self).where { $0.name == "Ben" }.count == 1)
    }

    @Test func A44_generatedId() throws {
        let store = try memoryStore([Enthusiast.self])
        let luke = Enthusiast()
        luke.name = "Luke"
        try store.write { tx in try tx.add(luke) }
        #expect(try store.object(ofType: Enthusiast.self, forPrimaryKey: luke._id)?.name == "Luke")
        #expect(try store.object(ofType: Enthusiast.self, forPrimaryKey: ObjectId.generate()) == nil)
    }

    @Test func A85_setAlgebra() throws {
        let store = try memoryStore(K.models)
        let maui = K.dog("Maui"), lita = K.dog("Lita"), boston = K.dog("B")
        maui.citiesVisited.insert(objectsIn: ["New York", "Toronto"])
        lita.citiesVisited.insert(objectsIn: ["Boston", "New York", "Toronto", "Montreal"])
        boston.citiesVisited.insert("Boston")
        try store.write { tx in
            try tx.add([maui, lita, boston])
            #expect(
                maui.citiesVisited.intersects(lita.citiesVisited) && maui.citiesVisited.isSubset(of: lita.citiesVisited)
            )
            maui.citiesVisited.formUnion(boston.citiesVisited)
            #expect(maui.citiesVisited.count == 3)
            maui.citiesVisited.subtract(boston.citiesVisited)
            #expect(maui.citiesVisited.count == 2)
            maui.citiesVisited.formIntersection(boston.citiesVisited)
            #expect(maui.citiesVisited.isEmpty)
        }
    }

    @Test func A105_handedOutAndFrozen() throws {
        let store = try memoryStore(K.models)
        let rex = try store.write { tx in try tx.create(K.Dog.self, value: ["name": "Rex"]) }
        let frozen = try rex.freeze()
        try store.write { _ in rex.name = "Max" }
        #expect(rex.name == "Max" && frozen.name == "Rex")
    }
}
