import ObjStore
import Testing

/// Embedded objects, cascading links, generated keys.
@Suite struct EmbeddedTests {
    @Test func A38_addWithAnEmbeddedObject() throws {
        let store = try memoryStore(K.models)
        let person = try K.Person(value: ["id": 1, "name": "Nick Riviera"])
        let address = K.address("Springfield", street: "123 Fake St")
        (address.country, address.postalCode) = ("USA", "90710")
        person.address = address
        #expect(person.address === address && address.parent == nil)
        try store.write { tx in try tx.add(person) }
        #expect(address.isManaged && person.address?.isSameObject(as: address) == true)
        #expect(
            person.address?.street == "123 Fake St" && address.city == "Springfield" && address.country == "USA"
                && address.postalCode == "90710")
        #expect(address.parent?.isSameObject(as: person) == true && address.parent is K.Person)
        #expect(address.residents.map(\.name) == ["Nick Riviera"])
        #expect(store.objects(K.Address.self).count == 1)
        try store.write { tx in try tx.delete(person) }
        #expect(address.isInvalidated && store.objects(K.Address.self).isEmpty, "it went with its parent")
    }

    @Test func A72_optionalChaining() throws {
        let store = try memoryStore(K.models)
        let person = try K.Person(value: ["id": 1, "address": ["street": "123 Fake St", "city": "Rome"]])
        try store.write { tx in try tx.add(person) }
        try store.write { _ in
            person.address?.street = "789 Any Street"
            person.address?.postalCode = "1"
        }
        #expect(
            person.address?.street == "789 Any Street" && person.address?.postalCode == "1"
                && person.address?.city == "Rome")
        try store.write { _ in person.address = nil }
        let version = try store.version
        try store.write { _ in person.address?.street = "nowhere" }
        #expect(person.address == nil && store.objects(K.Address.self).isEmpty)
        #expect(try store.version == version, "nothing was written")
    }

    @Test func A84_lifecycle() throws {
        let store = try memoryStore(R.models)
        let kermit = try R.Contact(value: ["id": 1, "name": "Kermit"])
        let first = R.address("Swamp Lane", country: "Florida")
        kermit.address = first
        let business = try R.Business(value: ["id": 1, "name": "Pond"])
        business.addresses = [R.address("a"), R.address("b", country: "x")]
        try store.write { tx in
            try tx.add([kermit]); try tx.add(business)
        }
        #expect(first.country?.name == "Florida" && first.country?.parent?.isSameObject(as: first) == true)
        #expect(store.objects(R.EAddress.self).count == 3 && store.objects(R.ECountry.self).count == 2)

        let second = R.address("Muppet Road")
        try store.write { _ in kermit.address = second }
        #expect(
            first.isInvalidated && second.isManaged && kermit.address?.isSameObject(as: second) == true
                && kermit.address?.street == "Muppet Road")
        #expect(store.objects(R.EAddress.self).count == 3 && store.objects(R.ECountry.self).count == 1)
        try store.write { tx in
            try tx.delete(business)
            kermit.address = nil
        }
        #expect(
            store.objects(R.EAddress.self).isEmpty && store.objects(R.ECountry.self).isEmpty && second.isInvalidated
                && !kermit.isInvalidated)
    }

    /// Those of a list or map may be given in another order: they stay what they are.
    @Test func givenInAnotherOrder() throws {
        let store = try memoryStore(R.models)
        let business = try R.Business(value: [
            "id": 1, "addresses": [["street": "a"], ["street": "b"], ["street": "c"]],
            "branches": ["x": ["street": "d"]],
        ])
        try store.write { tx in try tx.add(business) }
        let (a, b, c, d) = (
            business.addresses[0], business.addresses[1], business.addresses[2],
            try #require(business.branches["x"] ?? nil)
        )
        try store.write { _ in business.addresses = List(business.addresses.filter { $0.street != "a" }.reversed()) }
        #expect(
            business.addresses.map(\.street) == ["c", "b"] && business.addresses[0].isSameObject(as: c)
                && business.addresses[1].isSameObject(as: b) && a.isInvalidated)
        try store.write { _ in
            business.addresses = [b, R.address("new"), c]
            business.branches = ["y": d, "z": nil]
        }
        #expect(business.addresses.map(\.street) == ["b", "new", "c"] && business.addresses[2].isSameObject(as: c))
        #expect(business.branches.count == 2 && (business.branches["y"] ?? nil)?.isSameObject(as: d) == true)
        #expect(code { try store.write { _ in business.addresses = [b, b] } } == .embedded)
        #expect(code { try store.write { _ in business.addresses = [a] } } != nil)
        #expect(store.objects(R.EAddress.self).count == 4)
    }

    @Test func oneParentEach() throws {
        let store = try memoryStore(R.models), other = try memoryStore(R.models)
        let kermit = try R.Contact(value: ["id": 1, "address": ["street": "Swamp Lane"]]),
            piggy = try R.Contact(value: ["id": 2])
        let business = try R.Business(value: [
            "id": 1, "addresses": [["street": "a"], ["street": "b"]], "branches": ["x": ["street": "c"]],
        ])
        try store.write { tx in
            try tx.add([kermit, piggy]); try tx.add(business)
        }
        let address = try #require(kermit.address)
        #expect(code { try store.write { _ in piggy.address = address } } == .embedded)
        #expect(code { try store.write { _ in business.addresses.append(address) } } == .embedded)
        #expect(code { try store.write { _ in business.addresses[0] = address } } == .embedded)
        #expect(code { try store.write { _ in business.branches["y"] = address } } == .embedded)
        #expect(code { try store.write { _ in business.branches["x"] = business.addresses[0] } } == .embedded)
        #expect(code { try store.write { _ in business.addresses[0] = business.addresses[1] } } == .embedded)
        #expect(
            code { try store.write { _ in business.addresses.insert(contentsOf: [R.EAddress(), address], at: 1) } }
                == .embedded)
        #expect(code { try store.write { tx in try tx.add(R.EAddress()) } } == .embedded)
        #expect(code { try store.write { tx in try tx.create(R.EAddress.self, value: ["street": "x"]) } } == .embedded)
        let thief = try R.Contact(value: ["id": 3, "address": address])
        #expect(code { try store.write { tx in try tx.add(thief) } } == .embedded)
        let twice = try R.Business(value: ["id": 4]), shared = R.address("shared")
        twice.addresses = [shared]
        twice.branches["x"] = shared
        #expect(code { try store.write { tx in try tx.add(twice) } } == .embedded)
        #expect(!twice.isManaged && !shared.isManaged && !thief.isManaged)
        try other.write { tx in
            let stranger = try tx.create(R.Contact.self, value: ["id": 1])
            try Store.checked { #expect(code { try Store.checked { stranger.address = address } } == .wrongStore) }
        }
        #expect(code { try Store.checked { piggy.address = R.EAddress() } } == .notInWrite)
        #expect(
            store.objects(R.EAddress.self).count == 4 && store.objects(R.Contact.self).count == 2
                && store.objects(R.Business.self).count == 1)
        // Where it is already it can stay.
        try store.write { _ in
            kermit.address = kermit.address
            business.addresses = business.addresses
            business.addresses[1] = business.addresses[1]
            business.branches["x"] = business.branches["x"]
        }
        #expect(
            !address.isInvalidated && business.addresses.map(\.street) == ["a", "b"]
                && business.branches["x"]??.street == "c")
        #expect(
            business.addresses.allSatisfy { $0.parent?.isSameObject(as: business) == true }
                && business.branches["x"]??.parent?.isSameObject(as: business) == true)
        #expect(code { try Store.checked { business.addresses[1] = business.addresses[1] } } == .notInWrite)
        // One that is deleted itself leaves its place.
        try store.write { tx in try tx.delete(address) }
        #expect(kermit.address == nil)
    }

    /// Of several that are deleted one may go with another; all or none.
    @Test func deletingSeveral() throws {
        let folder = Folder(), store = try Store.open(path: folder.file(), models: R.models)
        try store.write { tx in
            let one = try R.Business(value: ["id": 1]), two = try R.Business(value: ["id": 2])
            one.addresses = [R.address("a"), R.address("b")]
            try tx.add([one, two])
        }
        let one = try #require(try store.object(ofType: R.Business.self, forPrimaryKey: 1)),
            two = try #require(try store.object(ofType: R.Business.self, forPrimaryKey: 2))
        try store.write { tx in
            #expect(code { try tx.delete([two, one, two]) } == .noSuchObject)
            #expect(!one.isInvalidated && !two.isInvalidated)
            try tx.delete([one as Object, one.addresses[1], one.addresses[0], two])
            #expect(code { try tx.delete([two]) } == .noSuchObject)
        }
        #expect(store.objects(R.Business.self).isEmpty && store.objects(R.EAddress.self).isEmpty)
    }

    /// Objects that have a place each are given places of each other, by the methods of a list and by code that knows
    /// only what it sorts.
    @Test func listsAreSorted() throws {
        let store = try memoryStore(R.models)
        let business = try R.Business(value: ["id": 1])
        business.addresses.append(objectsIn: ["c", "a", "e", "b", "a", "d"].map { R.address($0) })
        try store.write { tx in try tx.add(business) }
        let objects = Array(business.addresses)
        func sortAnything<C: MutableCollection & RandomAccessCollection>(_ collection: C) -> C
        where C.Element == R.EAddress {
            var collection = collection
            collection.sort { ($0.street ?? "") > ($1.street ?? "") }
            return collection
        }
        try store.write { _ in
            var addresses = business.addresses
            addresses.sort { ($0.street ?? "") < ($1.street ?? "") }
        }
        #expect(
            business.addresses.map(\.street) == ["a", "a", "b", "c", "d", "e"]
                && business.addresses[0].isSameObject(as: objects[1]))
        try store.write { _ in _ = sortAnything(business.addresses) }
        #expect(business.addresses.map(\.street) == ["e", "d", "c", "b", "a", "a"])
        try store.write { _ in
            var addresses = business.addresses
            addresses.reverse()
            #expect(addresses.partition { ($0.street ?? "") < "b" } == 4)
            addresses.shuffle()
        }
        #expect(business.addresses.map { $0.street ?? "" }.sorted() == ["a", "a", "b", "c", "d", "e"])
        #expect(objects.allSatisfy { !$0.isInvalidated } && store.objects(R.EAddress.self).count == 6)
        #expect(try store.verify() == [])
        #expect(code { try Store.checked { _ = sortAnything(business.addresses) } } == .notInWrite)
    }

    @Test func listsAndMaps() throws {
        let folder = Folder()
        do {
            let store = try Store.open(path: folder.file(), models: R.models)
            let business = try R.Business(value: ["id": 1]), owner = try R.Contact(value: ["id": 9, "name": "new"])
            business.branches = ["north": R.address("n", country: "N"), "none": nil]
            try store.write { tx in try tx.add(business) }
            #expect(
                business.branches.count == 2 && business.branches["north"]??.country?.name == "N"
                    && business.branches["none"] == .some(nil))
            let a = R.address("a"), b = R.address("b", owner: owner), c = R.address("c"), d = R.address("d")
            try store.write { _ in
                business.addresses.append(objectsIn: [a, b])
                business.addresses.insert(c, at: 0)
                business.addresses[1] = d
                business.branches["none"] = R.address("o")
                business.branches["south"] = R.address("s")
                business.branches["north"] = nil
            }
            #expect(
                business.addresses.map(\.street) == ["c", "d", "b"] && a.isInvalidated && b.isManaged && owner.isManaged
                    && b.propertyOwner == owner)
            #expect(
                business.branches.keys == ["none", "south"] && store.objects(R.EAddress.self).count == 5
                    && store.objects(R.ECountry.self).isEmpty)
            #expect(code { try store.write { _ in business.addresses.insert(R.EAddress(), at: 4) } } == .outOfRange)
            #expect(code { try store.write { _ in business.addresses[3] = R.EAddress() } } == .outOfRange)
            try store.write { _ in
                business.addresses.swapAt(0, 2)
                business.addresses.move(from: 2, to: 1)
            }
            #expect(business.addresses.map(\.street) == ["b", "c", "d"] && !b.isInvalidated && !c.isInvalidated)
            let addresses = try business.dynamic().collection("addresses")
            try store.write { tx in
                try addresses.set(["street": "e"], at: 1)
                #expect(business.addresses.map(\.street) == ["b", "e", "d"] && c.isInvalidated)
                #expect(
                    code { try addresses.set(["street": "e"], at: 3) } == .outOfRange
                        && code { try addresses.set(["none": 1], at: 0) } == .noSuchProperty)
                #expect(
                    business.addresses.map(\.street) == ["b", "e", "d"] && store.objects(R.EAddress.self).count == 5)
                try tx.cancel()
            }
            try store.write { _ in business.addresses.remove(at: 1) }
            #expect(c.isInvalidated && business.addresses.count == 2)
            let e = R.address("e")
            try store.write { _ in business.addresses = [e] }
            #expect(b.isInvalidated && d.isInvalidated && e.isManaged && e.parent?.isSameObject(as: business) == true)
            let m = R.address("m")
            try store.write { _ in business.branches = ["only": m] }
            #expect(m.isManaged && business.branches.keys == ["only"] && store.objects(R.EAddress.self).count == 2)
            try store.close()
        }
        let store = try Store.open(path: folder.file(), models: R.models)
        let business = try #require(store.objects(R.Business.self).first)
        #expect(business.addresses.map(\.street) == ["e"] && business.branches["only"]??.street == "m")
        try store.write { _ in
            business.addresses.removeAll()
            business.branches.removeAll()
        }
        #expect(store.objects(R.EAddress.self).isEmpty)
    }

    /// A link out of an embedded object may lead to its own parent, and to what comes along.
    @Test func graphsThroughEmbeddedObjects() throws {
        let store = try memoryStore(R.models)
        let kermit = try R.Contact(value: ["id": 1]), piggy = try R.Contact(value: ["id": 2])
        kermit.address = R.address("a", owner: kermit)
        piggy.address = R.address("b", owner: kermit)
        kermit.address?.tags = ["x", "y"]
        try store.write { tx in try tx.add(piggy) }
        #expect(
            kermit.isManaged && kermit.address?.propertyOwner == kermit && piggy.address?.propertyOwner == kermit
                && kermit.address?.tags.count == 2)

        // All or none.
        let good = try R.Contact(value: ["id": 3]), twin = try R.Contact(value: ["id": 1])
        good.address = R.address("c", country: "C", owner: twin)
        try store.write { tx in
            #expect(code { try tx.add(good) } == .duplicateKey)
            #expect(!good.isManaged && good.address?.isManaged == false && store.objects(R.EAddress.self).count == 2)
        }
        let place = R.address("d", owner: twin)
        #expect(code { try store.write { _ in piggy.address = place } } == .duplicateKey)
        #expect(!place.isManaged && piggy.address?.street == "b" && store.objects(R.Contact.self).count == 2)
    }

    @Test(arguments: [UpdatePolicy.modified, .all]) func updatesOfEmbeddedObjects(_ policy: UpdatePolicy) throws {
        let store = try memoryStore(R.models)
        let business = try R.Business(
            value: [
                "id": 1, "name": "Pond", "addresses": [["street": "a", "tags": ["t"]], ["street": "b"]],
                "branches": ["x": ["street": "c"]],
            ] as [String: Any])
        try store.write { tx in try tx.add(business) }
        func copy(_ change: (R.Business) -> Void = { _ in }) throws -> R.Business {
            let copy = try business.detached()
            change(copy)
            return copy
        }
        let version = try store.version, same = try copy()
        try store.write { tx in try tx.add(same, update: policy) }
        #expect(
            same.isManaged && same.addresses[0].isSameObject(as: business.addresses[0])
                && store.objects(R.EAddress.self).count == 3)
        if policy == .modified {
            #expect(try store.version == version, "nothing differs, so nothing is written")
        }
        let received = Received<ChangeSet<R.EAddress>>()
        let token = try store.objects(R.EAddress.self).observe { received.append($0) }
        _ = try store.deliver()
        _ = received.take()
        let other = try copy {
            $0.addresses[1].street = "B"
            $0.branches["y"] = R.address("d")
        }
        let instance = other.addresses[1]
        try store.write { tx in try tx.add(other, update: policy) }
        #expect(
            business.addresses.map(\.street) == ["a", "B"] && business.branches.keys == ["x", "y"]
                && Array(business.addresses[0].tags) == ["t"])
        #expect(instance.isManaged && instance.isSameObject(as: business.addresses[1]))
        _ = try store.deliver()
        let change = try #require(received.take().first)
        if policy == .modified {
            #expect(
                change.insertions.count == 1 && change.modifications.count == 1 && change.deletions.isEmpty,
                "what differs alone is written")
        } else {
            #expect(change.insertions.count == 4 && change.deletions.count == 3)
        }
        token.invalidate()
        // What is nil or empty in the object is so afterwards.
        try store.write { tx in try tx.add(try R.Business(value: ["id": 1]), update: policy) }
        #expect(
            business.addresses.isEmpty && business.branches.isEmpty && store.objects(R.EAddress.self).isEmpty
                && business.name == "")
    }

    // MARK: Cascading links, generated keys

    final class Litter: Object {
        @Persisted var number = 0
        @Persisted(onDelete: .cascade) var puppies: List<K.Toy>
        @Persisted(onDelete: .cascade) var mother: K.Toy?
        @Persisted(onDelete: .nothing) var friend: K.Toy?
    }

    @Test func cascades() throws {
        let store = try memoryStore([Litter.self, K.Toy.self])
        let one = Litter(), two = Litter(), shared = K.Toy(), friend = K.Toy()
        (one.number, two.number) = (1, 2)
        one.puppies = [K.Toy(), shared]
        one.mother = K.Toy()
        one.friend = friend
        two.puppies = [shared]
        try store.write { tx in try tx.add([one, two]) }
        #expect(store.objects(K.Toy.self).count == 4)
        try store.write { _ in one.puppies.remove(at: 0) }
        #expect(store.objects(K.Toy.self).count == 4, "taking a link away deletes nothing")
        try store.write { tx in try tx.delete(one) }
        #expect(
            shared.isInvalidated && two.puppies.isEmpty && !friend.isInvalidated && store.objects(K.Toy.self).count == 2
        )
        // What is taken back deletes nothing that was there.
        let bad = Litter()
        bad.friend = K.Toy()
        bad.mother = friend
        try store.write { tx in
            #expect(
                code {
                    try tx.create(Litter.self, value: ["mother": friend, "puppies": [["name": 5]]] as [String: Any])
                } == .wrongType)
            #expect(
                code { try tx.create(Litter.self, value: ["mother": friend, "puppies": [shared]] as [String: Any]) }
                    == .noSuchObject)
            bad.puppies = [shared]  // deleted
            #expect(code { try tx.add(bad) } == .noSuchObject)
        }
        #expect(!friend.isInvalidated && store.objects(Litter.self).count == 1 && store.objects(K.Toy.self).count == 2)
    }

    final class Numbered: Object {
        @Persisted(primaryKey: true, generated: true) var id: Int
        @Persisted(generated: true) var mark: ObjectId
        @Persisted var name = ""
    }
    final class Identified: Object {
        @Persisted(primaryKey: true, generated: true) var id: ObjectId
        @Persisted var next: Identified?
    }
    final class Chosen: Object {
        @Persisted(primaryKey: true) var id = ObjectId.generate()
    }

    @Test func generatedKeys() throws {
        let store = try memoryStore([Numbered.self, Identified.self, Chosen.self])
        let a = Numbered(), b = Numbered(), c = Numbered()
        c.id = 100
        try store.write { tx in
            try tx.add([a, b])
            try tx.delete(b)
            try tx.add(c)
            let d = try tx.create(Numbered.self, value: ["name": "d"])
            #expect(a.id == 1 && c.id == 100 && d.id == 101 && d.mark != ObjectId() && d.mark != a.mark)
            #expect(
                try tx.create(Numbered.self, value: ["id": 100, "name": "c"], update: .modified).isSameObject(as: c))
            let e = Numbered()
            try tx.add(e, update: .modified)
            #expect(e.id == 102, "without a key it is a new one")
        }
        #expect(c.name == "c" && store.objects(Numbered.self).count == 4)
        let first = Identified(), second = Identified()
        (first.next, second.next) = (second, first)
        let chosen = Chosen(), id = chosen.id
        try store.write { tx in
            try tx.add(first)
            try tx.add(chosen)
            let third = try tx.create(Identified.self, value: ["next": first])
            #expect(third.id != first.id && third.next == first)
            #expect(try tx.create(Identified.self, value: ["next": [String: Any]()]).next?.id != ObjectId())
        }
        #expect(
            first.id != second.id && first.id != ObjectId() && second.id != ObjectId() && first.next == second
                && chosen.id == id)
    }

    // MARK: A106

    final class TwoKeys: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted(primaryKey: true) var other: Int
    }
    final class KeyedPart: EmbeddedObject {
        @Persisted(primaryKey: true) var id: Int
    }
    final class Parts: Object {
        @Persisted var parts: MutableSet<K.Address>
    }
    final class CascadingText: Object {
        @Persisted(onDelete: .cascade) var text: String
    }
    final class GeneratedText: Object {
        @Persisted(generated: true) var text: String
    }

    /// A property of an unknown type, or a required link, is refused by the compiler.
    @Test func A106_refusedModels() throws {
        for (models, name, property) in [
            ([TwoKeys.self], "TwoKeys", "other"), ([KeyedPart.self], "KeyedPart", "id"),
            ([Parts.self, K.Address.self, K.Person.self, K.Dog.self, K.Toy.self], "Parts", "parts"),
            ([CascadingText.self], "CascadingText", "text"), ([GeneratedText.self], "GeneratedText", "text"),
        ] as [([Object.Type], String, String)] {
            let error = ObjStoreError.of { try memoryStore(models) }
            #expect(
                error?.code == .invalidSchema && error?.className == name && error?.propertyName == property,
                "\(String(describing: error))")
        }
    }
}
