import ObjStore
import Testing

private enum Old {
    final class Cat: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var likes: AnyValue
        @Persisted var friends: List<Cat>
    }
}

private enum New {
    final class Cat: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var loves: AnyValue
        @Persisted var friends: List<Cat>
    }
}

/// Objects in values of any type where objects are copied, described, queried and migrated.
extension MixedLinkTests {
    @Test func detachedCopies() throws {
        let rex = dog("Rex"), max = dog("Max", .object(rex))
        rex.companion = [.object(max), ["k": .object(max)], .object(cat(1, .object(rex))), 7]
        try store.write { tx in try tx.add(rex) }
        let frozen = try rex.freeze()
        for source in [rex, frozen, try rex.detached()] {
            let copy = try source.detached(), companion = try #require(copy.companion[0]?.object as? Dog)
            #expect(
                copy !== source && !companion.isManaged && companion.name == "Max"
                    && copy.companion[1]?["k"]?.object === companion)
            #expect(
                companion.companion.object === copy && (copy.companion[2]?.object as? Cat)?.likes.object === copy
                    && copy.companion[3] == 7)
            #expect(try source.detached(depth: 0).companion == [.none, ["k": .none], .none, 7])
            let one = try source.detached(depth: 1)
            #expect(
                (one.companion[0]?.object as? Dog)?.companion.isNone == true
                    && (one.companion[2]?.object as? Cat)?.id == 1)
        }
        // An unmanaged copy is a graph like any other.
        let other = try memoryStore(MixedLinkTests.models), copy = try rex.detached()
        try other.write { tx in try tx.add(copy) }
        #expect(dogs(other) == ["Max", "Rex"] && (copy.companion[2]?.object as? Cat)?.likes == .object(copy))
        #expect(try other.verify() == [])
    }

    @Test func createdFromValues() throws {
        let other = try memoryStore(MixedLinkTests.models)
        let (rex, tom) = try store.write { tx in
            let rex = try tx.create(Dog.self, value: ["name": "Rex", "companion": 1])
            return (
                try tx.create(Dog.self, value: ["name": "Owner", "companion": ["a": rex, "b": [rex, dog("Loose")]]]),
                try tx.create(Cat.self, value: [1, 2, [rex]])
            )
        }
        #expect(rex.companion["a"] == rex.companion["b"]?[0] && dogs() == ["Loose", "Owner", "Rex"])
        #expect((tom.likes[0]?.object as? Dog)?.name == "Rex")
        // The same class of another store, and as a part of other values.
        let copy = try other.write { tx in try tx.create(copying: rex) }
        #expect(copy.companion["a"] == copy.companion["b"]?[0] && dogs(other) == ["Loose", "Owner", "Rex"])
        let second = try other.write { tx in
            try tx.create(Cat.self, value: ["id": 9, "likes": ["x": tom, "y": [tom]]] as [String: Any])
        }
        #expect(
            second.likes["x"] == second.likes["y"]?[0] && (second.likes["x"]?.object as? Cat)?.id == 1
                && other.objects(Cat.self).count == 2)
        #expect(dogs(other) == ["Loose", "Owner", "Rex", "Rex"])
        // The instance that is given stays unmanaged: it is copied.
        let loose = dog("given")
        let nested = try other.write { tx in
            try tx.create(Dog.self, value: ["friend": ["name": "f", "companion": [loose]] as [String: Any]])
        }
        #expect(!loose.isManaged && (nested.friend?.companion[0]?.object as? Dog)?.name == "given")
        // An unmanaged object is described, and described in a property.
        let unmanaged = try Dog(value: ["companion": [loose]])
        #expect(unmanaged.companion[0]?.object === loose)
        try other.write { _ in
            try nested.setValue(["name": "g", "companion": [loose, loose]] as [String: Any], forKey: "friend")
        }
        #expect(
            nested.friend?.companion[0] == nested.friend?.companion[1]
                && dogs(other).filter { $0 == "given" }.count == 2)
        // All or nothing, also what was made before.
        let count = other.objects(Dog.self).count
        try other.write { tx in
            let error = ObjStoreError.of {
                try tx.create(Cat.self, value: ["id": 1, "likes": [loose]] as [String: Any])
            }
            #expect(error?.code == .duplicateKey)
            let inner = ObjStoreError.of {
                try tx.create(Cat.self, value: ["id": 50, "likes": [loose, cat(9)]] as [String: Any])
            }
            #expect(
                inner?.code == .duplicateKey && inner?.message.hasPrefix("$.likes") == true,
                "\(String(describing: inner))")
            #expect(
                code { try tx.create(Cat.self, value: ["id": 50, "likes": [loose, Part()]] as [String: Any]) }
                    == .embedded)
            loose.companion = [.object(loose)]
            #expect(code { try tx.create(Cat.self, value: ["id": 50, "likes": loose]) } == .invalidArgument)
        }
        #expect(other.objects(Dog.self).count == count && other.objects(Cat.self).count == 2)
        #expect(try other.verify() == [])
        #expect(try store.verify() == [])
    }

    @Test func askedFor() throws {
        let rex = dog("Rex"), max = dog("Max")
        try store.write { tx in
            for (id, likes) in [.object(rex), .object(max), .object(rex), [.object(rex)], "Rex", AnyValue.none]
                .enumerated()
            { try tx.add(cat(id, likes)) }
            rex.companion = .object(max)
        }
        func ids(_ results: Results<Cat>) -> [Int] { results.map(\.id) }
        let cats = store.objects(Cat.self)
        #expect(
            ids(cats.where { $0.likes == .object(rex) }) == [0, 2]
                && ids(cats.where { $0.likes == .object(max) }) == [1])
        #expect(
            ids(cats.where { $0.likes == [.object(rex)] }) == [3]
                && ids(cats.where { $0.likes != .object(rex) }) == [1, 3, 4, 5])
        #expect(
            try ids(cats.filter("likes == $0", rex)) == [0, 2]
                && store.objects(Dog.self).where { $0.companion == .object(max) }.count == 1)
        #expect(code { try cats.where { $0.likes == .object(dog("loose")) }.validate() } == .wrongView)
        #expect(code { try cats.where { $0.likes == [.object(dog("loose"))] }.validate() } == .wrongView)
        #expect(code { try cats.where { $0.likes == .object(Part()) }.validate() } == .embedded)
        let foreign = try memoryStore(MixedLinkTests.models).write { tx in try tx.create(Dog.self) }
        #expect(code { try cats.where { $0.likes == .object(foreign) }.validate() } == .wrongStore)
        #expect(
            ids(store.objects(Cat.self, in: ["likes"], from: [AnyValue.object(rex)], to: [AnyValue.object(rex)])) == [
                0, 2,
            ])
        try store.write { tx in try tx.delete(rex) }
        #expect(ids(cats.where { $0.likes == AnyValue.none }) == [0, 2, 5])
    }

    /// A default with an object: each gets its own.
    final class Kennel: Object {
        @Persisted var name = ""
        @Persisted var guest: AnyValue = .object(Guest())
    }
    final class Guest: Object {
        @Persisted var number = 7
    }

    @Test func defaults() throws {
        let store = try memoryStore([Kennel.self, Guest.self])
        try store.write { tx in
            try tx.add(Kennel())
            try tx.create(Kennel.self)
            try tx.create(Kennel.self, value: ["guest": 1])
        }
        #expect(store.objects(Kennel.self).map { ($0.guest.object as? Guest)?.number } == [7, 7, nil])
        #expect(store.objects(Guest.self).count == 2)
    }

    @Test func json() throws {
        let rex = dog("Rex")
        try store.write { tx in try tx.add(cat(1, [.object(rex)])) }
        #expect(try store.objects(Cat.self)[0].json().contains("Rex"))
        #expect(code { try store.objects(Cat.self)[0].likes.json() } == .wrongType)
    }

    /// A value moves to another property with its links.
    @Test func migrations() throws {
        let folder = Folder()
        var configuration = Store.Configuration(path: folder.file(), models: [Old.Cat.self])
        configuration.schemaVersion = 1
        let old = try Store(configuration)
        try old.write { tx in
            let one = Old.Cat(), two = Old.Cat()
            (one.id, two.id) = (1, 2)
            one.likes = ["x": .object(two)]
            two.likes = .object(two)
            two.friends = [one]
            try tx.add(one)
        }
        try old.close()
        configuration = Store.Configuration(path: folder.file(), models: [New.Cat.self])
        configuration.schemaVersion = 2
        configuration.migrationBlock = { migration, _ in
            try migration.enumerateObjects(ofType: "Cat") { old, new in
                let added = New.Cat()
                added.id = old["id"]?.int.map { $0 + 10 } ?? 0
                new?["loves"] = .list(AnyList([old["likes"] ?? .none, .object(added)] + old.elements("friends")))
            }
        }
        let store = try Store(configuration)
        let one = try #require(try store.object(ofType: New.Cat.self, forPrimaryKey: 1)),
            two = try #require(try store.object(ofType: New.Cat.self, forPrimaryKey: 2))
        #expect(
            one.loves[0] == ["x": .object(two)] && two.loves[0] == .object(two)
                && (two.loves[1]?.object as? New.Cat)?.id == 12)
        #expect(two.loves[2] == .object(one) && two.friends.count == 1 && store.objects(New.Cat.self).count == 4)
        #expect(try store.verify() == [])
    }
}
