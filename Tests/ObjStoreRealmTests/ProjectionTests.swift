import ObjStoreRealm
import Testing

/// Projections, as Realm's documents declare and use them.
extension RealmExamples {
    @Suite struct Projections {
        class Address: EmbeddedObject {
            @Persisted var street: String?
            @Persisted var city: String?
        }
        class Person: Object {
            @Persisted(primaryKey: true) var id: ObjectId
            @Persisted var firstName: String
            @Persisted var lastName = ""
            @Persisted var address: Address?
            @Persisted var friends: List<Person>
            @Persisted var position = Position(persistedValue: 0)
        }
        class PersonProjection: Projection<Person> {
            @Projected(\Person.firstName) var firstName
            @Projected(\Person.lastName.localizedCapitals) var lastNameCaps
            @Projected(\Person.address?.city) var homeCity
            @Projected(\Person.friends.projectTo.firstName) var firstFriendsName: ProjectedCollection<String>
        }
        struct Position: CustomPersistable, Equatable {
            typealias PersistedType = Int
            let meters: Int
            init(persistedValue: Int) { meters = persistedValue }
            var persistableValue: Int { meters }
        }

        private let realm: Realm

        init() throws {
            RealmExamples.useRealm(of: Person.self, Address.self)
            realm = try Realm()
            try realm.write {
                realm.create(
                    Person.self,
                    value: [
                        "id": ObjectId.generate(), "firstName": "Jason", "lastName": "Bourne", "position": 5,
                        "address": ["city": "Zurich"],
                        "friends": [["id": ObjectId.generate(), "firstName": "Daniel"]],
                    ])
            }
        }

        @Test func A103_projection() throws {
            let retrievedPeople = realm.objects(PersonProjection.self)
            let person = try #require(retrievedPeople.first(where: { $0.firstName == "Jason" }))
            let homeCity: String? = person.homeCity
            XCTAssertEqual(homeCity, "Zurich")
            try realm.write { person.firstName = "David" }
            XCTAssertEqual(person.firstName, "David")
            XCTAssertEqual(person.homeCity, "Zurich")
            XCTAssertEqual(person.lastNameCaps, "BOURNE")
            XCTAssertEqual(person.firstFriendsName[0], "Daniel")
            XCTAssertEqual(retrievedPeople.where { $0.firstName == "David" }.count, 1)
            XCTAssertEqual(retrievedPeople.filter("firstName == %@", "David").count, 1)
            XCTAssertEqual(retrievedPeople.sorted(byKeyPath: "firstName", ascending: false).first?.firstName, "David")
            XCTAssertEqual(PersonProjection(projecting: person.rootObject), person)
            XCTAssertEqual(try person.freeze().thaw(), person)
        }

        @Test func observing() throws {
            let person = try #require(realm.objects(PersonProjection.self).where { $0.lastName != "" }.first)
            let changes = Told(), results = Told()
            let token = person.observe(keyPaths: [\PersonProjection.firstName]) { change in
                switch change {
                case .change(let object, let properties):
                    for property in properties {
                        changes.add("\(property.name) \(property.newValue ?? "") \(object.firstName)")
                    }
                case .deleted: changes.add("deleted")
                }
            }
            let other = realm.objects(PersonProjection.self).observe { change in
                if case .update(let all, _, _, let modified) = change.kind { results.add("\(all.count) \(modified)") }
            }
            try realm.store.deliver()
            try realm.write { person.rootObject.lastName = "Webb" }
            try realm.write { person.firstName = "David" }
            try realm.store.deliver()
            XCTAssertEqual(changes.lines, ["firstName David David"])
            XCTAssertEqual(results.lines.count, 1)
            token.invalidate()
            other.invalidate()
        }

        @Test func customTypes() throws {
            XCTAssertEqual(realm.objects(Person.self).where { $0.position == Position(persistedValue: 5) }.count, 1)
            XCTAssertEqual(realm.objects(Person.self).where { $0.position.persistableValue > 4 }.count, 1)
            let person = try #require(realm.objects(Person.self).where { $0.lastName != "" }.first)
            try realm.write { person.position = Position(persistedValue: 9) }
            XCTAssertEqual(person.position.meters, 9)
        }

        private final class Told: @unchecked Sendable {
            // Handlers run where `deliver()` is called.
            private(set) var lines: [String] = []
            func add(_ line: String) { lines.append(line) }
        }
    }
}

extension String {
    fileprivate var localizedCapitals: String { uppercased() }
}
