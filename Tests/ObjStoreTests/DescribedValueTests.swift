import ObjStore
import Testing

/// F109: embedded objects and links through values that describe them, by name.
@Suite struct DescribedValueTests {
    private func store() throws -> Store { try Store(Store.Configuration(.memory(), models: K.models)) }

    private func code(_ body: () throws -> Void) -> ObjStoreError.Code? {
        do { try body() } catch { return (error as? ObjStoreError)?.code }
        return nil
    }

    @Test func F109_ofOneObject() throws {
        let store = try store()
        try store.write { tx in
            let jane = try tx.create(K.Person.self, value: ["id": 1, "name": "Jane"])
            try jane.setValue(["city": "Rome", "street": "Via Appia"], forKey: "address")
            #expect(jane.address?.city == "Rome" && jane.address?.street == "Via Appia")
            // In full: what is not given is as in a new one; an array has the values in order.
            try jane.setValue(["country": "Italy"], forKey: "address")
            #expect(jane.address?.country == "Italy" && jane.address?.city == nil)
            try jane.setValue(["Via Sacra", "Rome"] as [Any], forKey: "address")
            #expect(jane.address?.street == "Via Sacra" && tx.objects(K.Address.self).count == 1)
            let rex = try tx.create(K.Dog.self, value: ["name": "Rex"])
            try jane.setValue([rex, ["name": "Bello", "age": 4], ["Wuff", 5]] as [Any], forKey: "dogs")
            #expect(
                jane.dogs.map(\.name) == ["Rex", "Bello", "Wuff"] && jane.dogs[2].age == 5 && rex.people.count == 1)
            try rex.setValue(["name": "Ball"], forKey: "favoriteToy")
            #expect(rex.favoriteToy?.name == "Ball")
            try rex.setValue(nil, forKey: "favoriteToy")
            #expect(rex.favoriteToy == nil)
            // Those with a primary key are updated.
            let club = try tx.create(K.DogClub.self, value: ["name": "Club"])
            try club.setValue(
                [["id": 1, "name": "Janet"], ["id": 2, "name": "Joe", "address": ["city": "Bonn"]]], forKey: "members")
            #expect(
                jane.name == "Janet" && club.members.map(\.id) == [1, 2] && club.members[1].address?.city == "Bonn"
                    && jane.dogs.count == 3)
            try club.setValue([["city": "A"], ["city": "B"]], forKey: "regionalOfficeAddresses")
            #expect(club.regionalOfficeAddresses.map(\.city) == ["A", "B"])
            // What is wrong changes nothing.
            #expect(code { try jane.setValue(["town": "Rome"], forKey: "address") } == .noSuchProperty)
            #expect(code { try jane.setValue(["city": 5], forKey: "address") } == .wrongType)
            #expect(code { try jane.setValue([["name": "X"], ["age": "old"]], forKey: "dogs") } == .wrongType)
            #expect(code { try jane.setValue(5, forKey: "address") } != nil)
            #expect(
                jane.address?.street == "Via Sacra" && jane.dogs.count == 3
                    && tx.objects(K.Dog.self).where { $0.name == "X" }.isEmpty)
        }
        #expect(code { try store.objects(K.Person.self)[0].setValue(["city": "X"], forKey: "address") } == .notInWrite)
    }

    @Test func F109_ofManyObjects() throws {
        let store = try store()
        try store.write { tx in
            for id in 1...3 { try tx.create(K.Person.self, value: ["id": id]) }
            let people = tx.objects(K.Person.self)
            #expect(try people.setValue(["city": "Rome"], forKey: "address") == 3)
            #expect(people.allSatisfy { $0.address?.city == "Rome" } && tx.objects(K.Address.self).count == 3)
            let club = try tx.create(K.DogClub.self, value: ["members": Array(people.prefix(2))])
            #expect(try club.members.setValue(["city": "Bonn"], forKey: "address") == 2)
            #expect(people.map { $0.address?.city } == ["Bonn", "Bonn", "Rome"])
            #expect(code { _ = try people.setValue(["city": 1], forKey: "address") } == .wrongType)
            #expect(people.map { $0.address?.city } == ["Bonn", "Bonn", "Rome"])
        }
    }

    @Test func F109_unmanaged() throws {
        let jane = K.Person()
        try jane.setValue(["city": "Rome"], forKey: "address")
        try jane.setValue([["name": "Rex"], K.dog("Bello")] as [Any], forKey: "dogs")
        #expect(jane.address?.city == "Rome" && jane.dogs.map(\.name) == ["Rex", "Bello"])
        #expect(code { try jane.setValue(["town": "Rome"], forKey: "address") } == .noSuchProperty)
    }
}
