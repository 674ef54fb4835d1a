import ObjStore

/// The kennel of the acceptance scenarios, with everything that nests.
enum K {
    final class Toy: Object {
        @Persisted var name = ""
    }
    final class Dog: Object {
        @Persisted var name = ""
        @Persisted var age = 0
        @Persisted var color = ""
        @Persisted var citiesVisited: MutableSet<String>
        @Persisted var companion: AnyValue
        @Persisted var favoriteToy: Toy?
        @Persisted var favoriteParksByCity: Map<String, String>
        @Persisted(originProperty: "dogs") var people: LinkingObjects<Person>
    }
    final class Address: EmbeddedObject {
        @Persisted var street: String?
        @Persisted var city: String?
        @Persisted var country: String?
        @Persisted var postalCode: String?
        @Persisted(originProperty: "address") var residents: LinkingObjects<Person>
    }
    final class Person: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var dogs: List<Dog>
        @Persisted var address: Address?
    }
    final class DogClub: Object {
        @Persisted var name = ""
        @Persisted var members: List<Person>
        @Persisted var regionalOfficeAddresses: List<Address>
    }
    static let models: [Object.Type] = [Toy.self, Dog.self, Address.self, Person.self, DogClub.self]

    static func dog(_ name: String, _ age: Int = 0) -> Dog {
        let dog = Dog()
        (dog.name, dog.age) = (name, age)
        return dog
    }

    static func address(_ city: String, street: String? = nil) -> Address {
        let address = Address()
        (address.city, address.street) = (city, street)
        return address
    }
}

/// Embedded objects in each other, in all places, with links out of them.
enum R {
    final class ECountry: EmbeddedObject {
        @Persisted var name: String
    }
    final class EAddress: EmbeddedObject {
        @Persisted var propertyOwner: Contact?
        @Persisted var street: String?
        @Persisted var country: ECountry?
        @Persisted var tags: List<String>
    }
    final class Contact: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var address: EAddress?
    }
    final class Business: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var addresses: List<EAddress>
        @Persisted var branches: Map<String, EAddress?>
    }
    static let models: [Object.Type] = [ECountry.self, EAddress.self, Contact.self, Business.self]

    static func address(_ street: String, country: String? = nil, owner: Contact? = nil) -> EAddress {
        let address = EAddress()
        (address.street, address.propertyOwner) = (street, owner)
        if let country {
            address.country = ECountry()
            address.country?.name = country
        }
        return address
    }
}

extension ObjStoreError {
    /// The error that a body throws.
    static func of<R>(_ body: () throws -> R) -> ObjStoreError? {
        do { _ = try body() } catch { return error as? ObjStoreError }
        return nil
    }
}
