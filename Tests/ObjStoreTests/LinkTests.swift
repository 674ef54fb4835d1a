import Testing

import ObjStore

final class Owner: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var boss: Owner?
    @Persisted(originProperty: "owner") var pets: LinkingObjects<Pet>
    @Persisted(originProperty: "boss") var reports: LinkingObjects<Owner>
}
/// Without a primary key.
final class Pet: Object {
    @Persisted var name = ""
    @Persisted var owner: Owner?
    @Persisted var friend: Pet?
    @Persisted(originProperty: "friend") var admirers: LinkingObjects<Pet>
}

@Suite struct LinkTests {
    private func open() throws -> Store { try memoryStore([Pet.self, Owner.self]) }

    @Test func linksAndTheirInverses() throws {
        let store = try open()
        let ann = try Owner(value: ["id": 1, "name": "Ann"]), bob = try Owner(value: ["id": 2, "name": "Bob"])
        #expect(ann.pets.count == 0 && Array(ann.pets).isEmpty && ann.pets.first == nil)
        try store.write { tx in try tx.add([ann, bob]) }
        var pets: [Pet] = []
        try store.write { tx in
            for index in 0..<10 {
                pets.append(
                    try tx.create(Pet.self, value: ["name": "pet \(index)", "owner": index % 2 == 0 ? ann : bob]))
            }
            pets[9].owner = nil
            bob.boss = ann
            #expect(ann.pets.count == 5 && bob.pets.count == 4, "the write sees its changes")
        }
        #expect(pets[0].owner == ann && pets[1].owner == bob && pets[9].owner == nil)
        #expect(pets[0].owner?.isSameObject(as: ann) == true && pets[0].owner?.name == "Ann")
        #expect(ann.pets.map(\.name) == ["pet 0", "pet 2", "pet 4", "pet 6", "pet 8"])
        #expect(bob.pets.first?.name == "pet 1" && bob.pets[3].name == "pet 7" && bob.pets.count == 4)
        #expect(ann.reports.map(\.id) == [2] && bob.boss == ann && bob.reports.isEmpty)
        #expect(pets[0].owner?.boss == nil && pets[1].owner?.boss?.name == "Ann")
        #expect((try ann.value(forKey: "pets") as? LinkingObjects<Pet>)?.count == 5)
        #expect(try pets[1].value(forKey: "owner") as? Owner == bob)

        // Asking.
        let all = store.objects(Pet.self)
        #expect(all.where { $0.owner == ann }.count == 5 && all.where { $0.owner == nil }.map(\.name) == ["pet 9"])
        #expect(all.where { $0.owner != ann }.count == 5)
        #expect(try all.filter("owner == $0", bob).map(\.name) == bob.pets.map(\.name))
        #expect(code { try all.where { $0.owner == Owner() }.validate() } == .wrongView)
        #expect(code { try all.filter("owner == $0", pets[0]) } == .wrongType)
        #expect(code { try all.filter("owner < $0", ann).validate() } == .wrongType)

        // Frozen objects lead to frozen ones of the same version.
        let frozen = try pets[1].freeze()
        try store.write { _ in
            pets[1].owner = ann
            bob.name = "Robert"
        }
        #expect(frozen.owner?.name == "Bob" && frozen.owner?.isFrozen == true && frozen.owner?.pets.count == 4)
        #expect(pets[1].owner?.name == "Ann" && bob.pets.count == 3)
        #expect(try bob.pets.results().where { $0.name == "pet 3" }.map(\.name) == ["pet 3"])
        #expect(code { _ = try Owner().pets.results() } == .wrongView)
    }

    @Test func deletedTargets() throws {
        let store = try open()
        let ann = try Owner(value: ["id": 1])
        try store.write { tx in
            try tx.add(ann)
            for index in 0..<3 {
                try tx.create(Pet.self, value: ["name": "\(index)", "owner": index == 1 ? nil : ann])
            }
        }
        let received = Received<ChangeSet<Pet>>()
        let token = try store.objects(Pet.self).observe { received.append($0) }
        _ = try store.deliver()
        _ = received.take()
        let pets = Array(store.objects(Pet.self))
        try store.write { tx in try tx.delete(ann) }
        _ = try store.deliver()
        #expect(pets.map(\.owner) == [nil, nil, nil])
        let change = try #require(received.take().first)
        #expect(change.modifications == [0, 2] && change.deletions.isEmpty && change.insertions.isEmpty)
        #expect(
            try change.changedProperties(at: 0) == ["owner"] && change.modifiedBefore[1].owner?.id == 1
                && change.modified[1].owner == nil)
        #expect(ann.pets.count == 0, "nothing leads to what is gone")
        token.invalidate()
        let bob = try Owner(value: ["id": 2])
        #expect(code { try store.write { _ in pets[0].owner = ann } } == .noSuchObject)
        try store.write { tx in
            pets[0].owner = bob  // added
            try tx.deleteAll(Owner.self)
        }
        #expect(pets[0].owner == nil && bob.isInvalidated)
    }

    /// Unmanaged objects come with what leads to them: each once, also in a circle; all, or none.
    @Test func graphs() throws {
        let store = try open()
        let a = Pet(), b = Pet(), c = Pet(), owner = try Owner(value: ["id": 7])
        (a.name, b.name, c.name) = ("a", "b", "c")
        (a.friend, b.friend, c.friend) = (b, c, a)
        for pet in [a, b, c] { pet.owner = owner }
        owner.boss = owner
        #expect(a.friend === b && a.owner === owner)
        try store.write { tx in try tx.add(a) }
        #expect(store.objects(Pet.self).count == 3 && store.objects(Owner.self).count == 1)
        #expect(a.isManaged && b.isManaged && c.isManaged && owner.isManaged)
        #expect(
            a.friend?.isSameObject(as: b) == true && b.friend?.isSameObject(as: c) == true
                && c.friend?.isSameObject(as: a) == true)
        #expect(owner.boss == owner && owner.pets.count == 3 && a.admirers.map(\.name) == ["c"])

        #expect(
            "\(owner)" == "Owner { id = 7, name = , boss = Owner(7) }"
                && "\(a)" == "Pet { name = a, owner = Owner(7), friend = Pet }")

        // None, where one of them is refused.
        let good = Pet(), twin = try Owner(value: ["id": 7])
        good.owner = twin
        good.friend = Pet()
        #expect(code { try store.write { tx in try tx.add(good) } } == .duplicateKey)
        #expect(!good.isManaged && !twin.isManaged && store.objects(Pet.self).count == 3)
        try store.write { tx in
            #expect(code { try tx.add(good) } == .duplicateKey)
            #expect(store.objects(Pet.self).count == 3, "the write goes on, and nothing of it is there")
            twin.name = "the other"
            #expect(code { try tx.add(good, update: .modified) } == .noPrimaryKey)
            twin.boss = try Owner(value: ["id": 8])
            twin.boss?.boss = twin
            try tx.add(twin, update: .modified)
            try tx.add(good)
        }
        #expect(store.objects(Pet.self).count == 5 && owner.name == "the other" && twin.isSameObject(as: owner))
        #expect(owner.boss?.id == 8 && owner.boss?.boss == owner, "an update writes every property")

        // Assigning adds.
        let newcomer = Pet()
        newcomer.friend = Pet()
        try store.write { _ in a.friend = newcomer }
        #expect(
            store.objects(Pet.self).count == 7 && a.friend?.isSameObject(as: newcomer) == true
                && newcomer.friend?.isManaged == true)
        #expect(
            code {
                try store.write { _ in
                    a.friend = {
                        let pet = Pet(); pet.owner = try? Owner(value: ["id": 7]); return pet
                    }()
                }
            } == .duplicateKey)
        #expect(a.friend?.isSameObject(as: newcomer) == true && store.objects(Pet.self).count == 7)
        #expect(code { try Store.checked { a.friend = Pet() } } == .notInWrite)
        // A copy of a circle would have no end: nothing is inserted.
        let copied = Pet()
        copied.friend = copied
        #expect(code { try store.write { tx in _ = try tx.create(Pet.self, value: copied) } } == .invalidArgument)
        #expect(code { try store.write { tx in _ = try tx.create(Pet.self, value: ["friend": owner]) } } == .wrongType)
        #expect(store.objects(Pet.self).count == 7)
    }

    final class Crate: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var next: Crate?
        @Persisted var labels: List<String>
    }

    /// Lists of the objects of a graph are stored with them, or not at all.
    @Test func graphsWithLists() throws {
        let store = try memoryStore([Crate.self])
        let a = try Crate(value: ["id": 1]), b = try Crate(value: ["id": 2])
        (a.next, b.next) = (b, a)
        a.labels = ["x", "y"]
        b.labels = ["z"]
        try store.write { tx in try tx.add(a) }
        #expect(Array(b.labels) == ["z"] && a.next?.next?.labels.count == 2)
        let again = try Crate(value: ["id": 1]), c = try Crate(value: ["id": 3])
        again.next = c
        c.labels = ["new"]
        try store.write { tx in try tx.add(again, update: .modified) }
        #expect(a.labels.isEmpty && a.next?.id == 3 && Array(c.labels) == ["new"])
        let twin = try Crate(value: ["id": 3]), d = try Crate(value: ["id": 4])
        (d.next, twin.labels) = (twin, ["twice"])
        #expect(code { try store.write { tx in try tx.add(d) } } == .duplicateKey)
        #expect(store.objects(Crate.self).count == 3 && Array(c.labels) == ["new"])
    }

    /// A long chain needs no deep recursion, neither to be added nor to be let go.
    @Test func longChains() throws {
        let store = try open()
        let first = Pet()
        var last = first
        for _ in 0..<20_000 {
            let next = Pet()
            last.friend = next
            last = next
        }
        try store.write { tx in try tx.add(first) }
        #expect(store.objects(Pet.self).count == 20_001)
        var length = 0
        var pet: Pet? = first
        while let next = pet?.friend {
            pet = next
            length += 1
        }
        #expect(length == 20_000 && pet?.isSameObject(as: last) == true)
    }

    @Test func columnsOfLinks() throws {
        let store = try open(), other = try open()
        let ann = try Owner(value: ["id": 1]), stranger = try Owner(value: ["id": 1])
        try store.write { tx in try tx.add(ann) }
        try other.write { tx in try tx.add(stranger) }
        let owners = (0..<100).map { $0 % 3 == 0 ? ann : nil }
        try store.write { tx in
            try tx.insert(Pet.self, [Column(\.owner, owners), Column(\.name, owners.indices.map { "\($0)" })])
        }
        #expect(ann.pets.count == 34 && ann.pets[1].name == "3")
        #expect(
            code { try store.write { tx in _ = try tx.insert(Pet.self, [Column(\.owner, [stranger])]) } } == .wrongStore
        )
        #expect(
            code { try store.write { tx in _ = try tx.insert(Pet.self, [Column(\.owner, [Owner()])]) } } == .wrongView)
        #expect(store.objects(Pet.self).count == 100)
        #expect(code { try store.write { _ in ann.pets[0].owner = stranger } } == .wrongStore)
    }

    final class Lost: Object { @Persisted var owner: Owner? }
    final class BadInverse: Object { @Persisted(originProperty: "name") var pets: LinkingObjects<Pet> }
    final class NoInverse: Object { @Persisted var pets: LinkingObjects<Pet> }
    final class IndexedLink: Object { @Persisted(indexed: true) var owner: Owner? }
    final class UniqueLink: Object { @Persisted(unique: true) var owner: Owner? }
    final class IndexedList: Object { @Persisted(indexed: true) var marks: List<Int> }
    final class UniqueSet: Object { @Persisted(unique: true) var owners: MutableSet<Owner> }

    @Test func modelsThatCannotBeStored() throws {
        for (models, name, property) in [
            ([Lost.self], "Lost", "owner"), ([BadInverse.self, Pet.self, Owner.self], "BadInverse", "pets"),
            ([NoInverse.self], "NoInverse", "pets"),
            ([IndexedLink.self, Owner.self, Pet.self], "IndexedLink", "owner"),
            ([UniqueLink.self, Owner.self, Pet.self], "UniqueLink", "owner"),
            ([IndexedList.self], "IndexedList", "marks"),
            ([UniqueSet.self, Owner.self, Pet.self], "UniqueSet", "owners"), ([Owner.self], "Owner", "pets"),
        ] as [([Object.Type], String, String)] {
            var error: ObjStoreError?
            do { _ = try memoryStore(models) } catch let refusal as ObjStoreError { error = refusal }
            #expect(
                error?.code == .invalidSchema && error?.className == name && error?.propertyName == property,
                "\(String(describing: error))")
        }
        let store = try open()
        try store.write { tx in try tx.create(Owner.self, value: ["id": 1]) }
        let owner = try #require(store.objects(Owner.self).first)
        #expect(code { try store.write { _ in owner.pets = owner.pets } } == .invalidArgument)
        #expect(code { _ = try store.objects(Pet.self).validate().max(of: \.owner?.id) } == .invalidQuery)
    }
}
