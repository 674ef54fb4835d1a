import ObjStore
import Testing

/// Class projections: what they show of objects, what is set through them, and what observers of them are told.
enum J {
    class Address: EmbeddedObject {
        @Persisted var city: String
        @Persisted var zip: String?
        @Persisted var lines: List<String>
    }
    class Person: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var firstName = ""
        @Persisted var lastName = ""
        @Persisted var age = 0
        @Persisted var address: Address?
        @Persisted var home: Address!
        @Persisted var boss: Person?
        @Persisted var friends: List<Person>
        @Persisted var tags: MutableSet<String>
        @Persisted(originProperty: "boss") var staff: LinkingObjects<Person>

        /// Nothing of an object that has no friends.
        var bestFriend: String { friends.first!.firstName }
        var fullName: String {
            get { "\(firstName) \(lastName)" }
            set {
                let parts = newValue.split(separator: " ")
                firstName = parts.first.map { String($0) } ?? ""
                lastName = parts.last.map { String($0) } ?? ""
            }
        }
    }
    class Plain: Object { @Persisted var label = "" }
    static let models: [Object.Type] = [Person.self, Address.self, Plain.self]

    class PersonProjection: Projection<Person> {
        @Projected(\Person.firstName) var firstName
        @Projected(\Person.address?.city) var homeCity
        @Projected(\Person.friends.projectTo.firstName) var firstFriendsName: ProjectedCollection<String>
    }
    /// A subclass adds to what its superclass shows.
    final class Detailed: PersonProjection {
        @Projected(\Person.address?.zip) var zip
        @Projected(\Person.home.city) var city
        @Projected(\Person.boss?.address?.city) var bossCity
        @Projected(\Person.boss) var boss
        @Projected(\Person.firstName.count) var length
        @Projected(\Person.tags) var tags
        @Projected(\Person.staff.projectTo.lastName) var staffNames: ProjectedCollection<String>
        @Projected(\Person.friends.projectTo.address) var addresses: ProjectedCollection<Address?>
    }
    final class Named: Projection<Person> {
        @Projected(\Person.fullName) var name
        @Projected(\Person.age) var age
        @Projected(\Person.bestFriend) var best
        let other = 3
    }
    final class Nothing: Projection<Person> {}
    final class Label: Projection<Plain> { @Projected(\Plain.label) var text }
    final class Text: Projection<Plain> { @Projected(\Plain.label) var text }
}

@Suite struct ProjectionTests {
    private func store() throws -> Store {
        let store = try memoryStore(J.models)
        try store.write { tx in
            try tx.create(
                J.Person.self,
                value: [
                    "id": 1, "firstName": "Jason", "lastName": "Bourne", "age": 40, "address": ["city": "Zurich"],
                    "boss": ["id": 2, "firstName": "Pamela", "lastName": "Landy"] as [String: Any],
                    "friends": [
                        ["id": 3, "firstName": "Marie", "address": ["city": "Goa"]] as [String: Any],
                        ["id": 4, "firstName": "Nicky"],
                    ],
                    "tags": ["cia"],
                ] as [String: Any])
        }
        return store
    }
    private func jason(_ store: Store) throws -> J.Person {
        try #require(try store.object(ofType: J.Person.self, forPrimaryKey: 1))
    }

    @Test func A103_view() throws {
        let store = try store(), person = try jason(store)
        let view = J.PersonProjection(projecting: person)
        #expect(
            view.firstName == "Jason" && view.homeCity == "Zurich"
                && Array(view.firstFriendsName) == ["Marie", "Nicky"])
        try store.write { _ in view.firstName = "David" }
        #expect(person.firstName == "David" && view.firstName == "David" && view.homeCity == "Zurich")
        #expect(try jason(store).firstName == "David" && jason(store).address?.city == "Zurich")
    }

    /// Also where the key path itself can only be read, as one with a `?` in it.
    @Test func writesGoThrough() throws {
        let store = try store(), person = try jason(store), view = J.Detailed(projecting: person)
        try store.write { _ in
            view.homeCity = "Paris"
            view.zip = "75001"
            view.firstFriendsName[1] = "Nicolette"
            view.addresses[0]?.city = "Delhi"
            view.boss = try store.object(ofType: J.Person.self, forPrimaryKey: 3)
            view.tags.insert("treadstone")
        }
        #expect(
            person.address?.city == "Paris" && person.address?.zip == "75001"
                && person.friends[1].firstName == "Nicolette")
        #expect(person.boss?.id == 3 && view.bossCity == "Delhi" && Array(person.tags) == ["cia", "treadstone"])
        try store.write { _ in view.zip = nil }
        #expect(person.address != nil && view.zip == nil)
        try store.write { _ in person.home = try J.Address(value: ["city": "Rome"]) }
        try store.write { _ in view.city = "Oslo" }
        #expect(view.city == "Oslo" && person.home.city == "Oslo")
        let named = J.Named(projecting: person)
        #expect(named.best == "Marie" && named.name == "Jason Bourne")
        try store.write { _ in named.name = "Max Planck" }
        #expect(person.firstName == "Max" && person.lastName == "Planck" && named.name == "Max Planck")
    }

    @Test func reading() throws {
        let store = try store(), view = J.Detailed(projecting: try jason(store))
        #expect(view.length == 5 && view.boss?.id == 2 && view.bossCity == nil && view.zip == nil)
        #expect(view.addresses.map { $0?.city } == ["Goa", nil] && view.firstFriendsName.first == "Marie")
        #expect(view.firstFriendsName.map(\.count) == [5, 5] && view.firstFriendsName[0] == "Marie")
        #expect(Array(view.firstFriendsName.reversed()) == ["Nicky", "Marie"] && !view.firstFriendsName.isInvalidated)
        let boss = J.Detailed(projecting: try #require(view.boss))
        #expect(Array(boss.staffNames) == ["Bourne"] && boss.firstFriendsName.isEmpty && boss.homeCity == nil)
        #expect("\(view.firstFriendsName)" == #"["Marie", "Nicky"]"#)
        let text = "\(J.PersonProjection(projecting: try jason(store)))"
        #expect(
            text == #"PersonProjection { firstName = Jason, homeCity = Zurich, firstFriendsName = ["Marie", "Nicky"] }"#
        )
    }

    @Test func unmanaged() throws {
        let person = J.Person(), view = J.Detailed(projecting: person)
        view.firstName = "Eve"
        #expect(person.firstName == "Eve" && view.homeCity == nil && view.firstFriendsName.isEmpty && !view.isFrozen)
        person.address = J.Address()
        person.friends.append(J.Person())
        view.homeCity = "Bern"
        view.firstFriendsName[0] = "Ann"
        #expect(person.address?.city == "Bern" && person.friends[0].firstName == "Ann")
        #expect(throws: ObjStoreError.self) { try view.freeze() }
        #expect(throws: ObjStoreError.self) { try view.observe { _ in } }
        #expect(view == J.Detailed(projecting: person) && view != J.Detailed(projecting: J.Person()))
    }

    // MARK: What cannot be done

    private func error(_ body: () throws -> Void) -> ObjStoreError? {
        do {
            try Store.checked(body)
            return nil
        } catch { return error as? ObjStoreError }
    }
    /// It gives this, and that is reported.
    private func expect<T: Equatable>(
        _ body: @autoclosure () -> T, gives value: T, _ code: ObjStoreError.Code?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var found: T?
        let problem = error { found = body() }
        #expect(found == value && problem?.code == code, sourceLocation: sourceLocation)
    }

    @Test func outsideOfAWrite() throws {
        let store = try store(), view = J.Detailed(projecting: try jason(store))
        #expect(error { view.firstName = "David" }?.code == .notInWrite)
        #expect(error { view.homeCity = "Paris" }?.code == .notInWrite)
        #expect(error { view.firstFriendsName[0] = "x" }?.code == .notInWrite)
        #expect(view.firstName == "Jason" && view.homeCity == "Zurich" && view.firstFriendsName[0] == "Marie")
        #expect(throws: ObjStoreError.self) { try store.write { _ in view.homeCity = nil } }
        #expect(view.homeCity == "Zurich")
    }

    @Test func nothingOnTheWay() throws {
        let store = try store(), view = J.Detailed(projecting: try jason(store))
        try store.write { _ in view.rootObject.address = nil }
        expect(view.homeCity, gives: nil, nil)
        expect(view.zip, gives: nil, nil)
        // What is no optional reads as the zero of its type, and says why.
        var city = "?"
        let problem = error { city = view.city }
        #expect(city == "" && problem?.code == .noSuchObject && problem?.propertyName == "home")
        #expect(problem?.message == "Person.home.city: there is no object, Person.home is nil")
        for set in [{ view.homeCity = "Paris" }, { view.city = "Paris" }, { view.zip = nil }] {
            #expect(throws: ObjStoreError.self) { try store.write { _ in set() } }
        }
        let length = error { view.length = 3 }
        #expect(length?.code == .invalidArgument && length?.message.contains("Person.firstName") == true)
        #expect(length?.message.contains("reading only") == true)
    }

    @Test func deletedAndClosed() throws {
        let store = try store(), person = try jason(store), view = J.Detailed(projecting: person)
        try store.write { tx in try tx.delete(person) }
        #expect(view.isInvalidated)
        expect(view.firstName, gives: "", .noSuchObject)
        expect(view.homeCity, gives: nil, .noSuchObject)
        expect(view.firstFriendsName.isEmpty, gives: true, .noSuchObject)
        #expect("\(view)" == "Detailed { deleted or closed }")
        #expect(throws: ObjStoreError.self) { try store.write { _ in view.firstName = "x" } }
        #expect(throws: ObjStoreError.self) { try view.observe { _ in } }
        let all = store.objects(J.PersonProjection.self), one = try #require(all.first)
        try store.close()
        #expect(all.isInvalidated)
        expect(one.firstName, gives: "", .closedHandle)
        expect(all.count, gives: 0, .closedHandle)
    }

    @Test func frozen() throws {
        let store = try store(), view = J.PersonProjection(projecting: try jason(store)), frozen = try view.freeze()
        try store.write { _ in view.firstName = "David" }
        #expect(frozen.isFrozen && frozen.firstName == "Jason" && frozen.firstFriendsName.isFrozen && !view.isFrozen)
        #expect(try frozen.thaw()?.firstName == "David")
        #expect(error { frozen.firstName = "x" } != nil && error { frozen.homeCity = "x" } != nil)
        #expect(throws: ObjStoreError.self) { try frozen.observe { _ in } }
        let results = try store.objects(J.PersonProjection.self).freeze()
        try store.write { tx in try tx.delete(view.rootObject) }
        #expect(results.isFrozen && results.where { $0.id == 1 }.first?.firstName == "David" && results.count == 4)
        #expect(try results.thaw().count == 3 && frozen.thaw() == nil)
    }

    @Test func equality() throws {
        let store = try store(), person = try jason(store)
        let view = J.PersonProjection(projecting: person), other = J.PersonProjection(projecting: try jason(store))
        #expect(view == other && Set([view, other]).count == 1)
        #expect(view != J.PersonProjection(projecting: try #require(person.boss)))
        #expect(view != (J.Detailed(projecting: person) as J.PersonProjection))
        let plain = try store.write { tx in try tx.create(J.Plain.self) }
        let again = try #require(store.objects(J.Label.self).first)
        #expect(again == J.Label(projecting: plain) && Set([again, J.Label(projecting: plain)]).count == 1)
    }

    // MARK: Results

    @Test func results() throws {
        let store = try store(), all = store.objects(J.PersonProjection.self)
        #expect(all.count == 4 && Set(all.map(\.firstName)) == ["Jason", "Pamela", "Marie", "Nicky"])
        // Conditions have the names of the class.
        let found = all.where { $0.firstName.starts(with: "J") && $0.address.city == "Zurich" }
        #expect(found.count == 1 && found[0].homeCity == "Zurich" && found.first == found[0])
        #expect(
            all.sorted(by: \.firstName, ascending: false).map(\.firstName) == ["Pamela", "Nicky", "Marie", "Jason"])
        #expect(try all.filter("lastName != '' SORT(age ASC)").map(\.firstName) == ["Pamela", "Jason"])
        let sorted = all.sorted(by: \.firstName)
        #expect(sorted[1..<3].map(\.firstName) == ["Marie", "Nicky"] && sorted.last?.firstName == "Pamela")
        #expect(sorted.limit(1).first?.firstName == "Jason" && sorted.offset(3).first?.firstName == "Pamela")
        #expect(all.distinct(by: \.lastName).count == 3 && sorted.firstIndex(of: found[0]) == 0)
        #expect(sorted.contains(found[0]) && sorted.reversed().first?.firstName == "Pamela")
        func generic<C: RandomAccessCollection>(_ c: C) -> [String] where C.Element == J.PersonProjection {
            c.distance(from: c.startIndex, to: c.endIndex) == c.count ? c.map(\.firstName) : []
        }
        #expect(generic(sorted) == ["Jason", "Marie", "Nicky", "Pamela"])
        var seen = 0
        try store.write { _ in
            for person in all.where({ $0.firstName != "" }) {
                person.firstName = ""
                seen += 1
            }
        }
        #expect(seen == 4 && all.where { $0.firstName != "" }.isEmpty)
        #expect(store.objects(J.Person.self).projected(to: J.PersonProjection.self).count == 4)
        expect(sorted[9].isInvalidated, gives: true, .outOfRange)
        #expect(throws: ObjStoreError.self) { try all.filter("homeCity == 'Zurich'") }
    }

    @Test func classesThatShowNothing() throws {
        let store = try store()
        let problem = #expect(throws: ObjStoreError.self) { try store.objects(J.Nothing.self).validate() }
        #expect(
            problem?.code == .invalidSchema && problem?.message.contains("Nothing has no @Projected property") == true)
        let other = try memoryStore([J.Plain.self]).objects(J.PersonProjection.self)
        #expect(throws: ObjStoreError.self) { try other.validate() }
        expect(other.isEmpty, gives: true, .noSuchClass)
    }
}
