import ObjStore
import Testing

private struct NoObject: Error {}

/// D50: classes and properties that the file calls otherwise.
@Suite struct StoredNameTests {
    final class Person: Object {
        @Persisted(primaryKey: true) var number: Int
        @Persisted(indexed: true) var firstName = "nobody"
        @Persisted var age = 0
        @Persisted var bestFriend: Person?
        @Persisted var homeAddress: Address?
        @Persisted var nickNames: List<String>
        @Persisted var extra: AnyValue
        @Persisted(originProperty: "bestFriend") var friendsOfMine: LinkingObjects<Person>
        override class var storedNames: KeyValuePairs<String, String> {
            [
                "number": "_id", "firstName": "first_name", "bestFriend": "best_friend", "homeAddress": "home_address",
                "nickNames": "nick_names",
            ]
        }
        override class var storedName: String? { "people" }
        override class var indexes: [Index] { [Index("firstName", "age")] }
    }
    final class Address: EmbeddedObject {
        @Persisted var zipCode = ""
        override class var storedNames: KeyValuePairs<String, String> { ["zipCode": "zip_code"] }
    }

    /// A program with the file's names.
    enum Plain {
        final class people: Object {
            @Persisted(primaryKey: true) var _id: Int
            @Persisted(indexed: true) var first_name = "nobody"
            @Persisted var age = 0
            @Persisted var best_friend: people?
            @Persisted var home_address: Address?
            @Persisted var nick_names: List<String>
            @Persisted var extra: AnyValue
            override class var indexes: [Index] { [Index("first_name", "age")] }
        }
        final class Address: EmbeddedObject {
            @Persisted var zip_code = ""
        }
    }

    @Test("D50: both names are taken, the program's is told") func bothNames() throws {
        let folder = Folder()
        let store = try Store.open(path: folder.file(), models: [Person.self, Address.self])
        try store.write { tx in
            let ann = try tx.create(
                Person.self,
                value: ["number": 1, "firstName": "Ann", "age": 3, "nickNames": ["A"], "homeAddress": ["zipCode": "x"]])
            let bob = try tx.create(
                Person.self,
                value: [
                    "_id": 2, "first_name": "Bob", "best_friend": ["number": 1, "first_name": "Anna"],
                    "homeAddress": ["zip_code": "y"],
                ], update: .modified)
            bob.extra = .object(ann)
            let cleo = Person()
            cleo.number = 3
            cleo.firstName = "Cleo"
            cleo.bestFriend = bob
            try tx.add(cleo)
            #expect(ann.firstName == "Anna" && ann.age == 3 && Array(ann.nickNames) == ["A"])
            #expect(
                bob.bestFriend?.isSameObject(as: ann) == true && bob.homeAddress?.zipCode == "y"
                    && ann.friendsOfMine.map(\.number) == [2])
            guard case .object(let linked) = bob.extra else { throw NoObject() }
            #expect(linked is Person && linked.isSameObject(as: ann))
            #expect(try tx.object(ofType: Person.self, forPrimaryKey: 3)?.firstName == "Cleo")
            #expect(
                try ann.json()
                    == #"""
                    {"number":1,"firstName":"Anna","age":3,"bestFriend":null,"homeAddress":{"zipCode":"x"},\#
                    "nickNames":["A"],"extra":null}
                    """#
            )
            _ = try tx.create(Person.self, json: #"{"number": 4, "first_name": "Dan", "age": 5}"#)
            #expect(try tx.object(ofType: Person.self, forPrimaryKey: 4)?.firstName == "Dan")
        }
        try store.close()
        let plain = try Store.open(path: folder.file(), models: [Plain.people.self, Plain.Address.self])
        #expect(plain.objects(Plain.people.self).map(\.first_name) == ["Anna", "Bob", "Cleo", "Dan"])
        #expect(try plain.object(ofType: Plain.people.self, forPrimaryKey: 1)?.home_address?.zip_code == "x")
        try plain.close()
    }
}
