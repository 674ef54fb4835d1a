import ObjStore
import Testing

/// Copies: unmanaged ones, and in other stores.
@Suite struct CopyTests {
    final class Frog: Object {
        @Persisted(primaryKey: true) var id = ObjectId.generate()
        @Persisted var name = ""
        @Persisted var pond: Pond?
    }
    final class Pond: Object {
        @Persisted(primaryKey: true) var id = ObjectId.generate()
        @Persisted var name = ""
        @Persisted var frogsThatLiveHere: List<Frog>
        @Persisted var byName: Map<String, Frog?>
        @Persisted var visitors: MutableSet<Frog>
    }

    @Test func A45_unmanagedCopy() throws {
        let store = try memoryStore([Frog.self, Pond.self])
        let pond = try Pond(
            value: ["name": "Big Pond", "frogsThatLiveHere": [["name": "Kermit"], ["name": "Froggy Jay"]]]
                as [String: Any])
        try store.write { tx in try tx.add(pond) }
        let copy = try pond.detached()
        #expect(!copy.isManaged && copy.name == "Big Pond" && copy.id == pond.id)
        #expect(
            copy.frogsThatLiveHere.map(\.name) == ["Kermit", "Froggy Jay"] && !copy.frogsThatLiveHere.isManaged
                && copy.frogsThatLiveHere.allSatisfy { !$0.isManaged })
        copy.frogsThatLiveHere[0].name = "changed"
        copy.frogsThatLiveHere.remove(at: 1)
        copy.name = "changed"
        #expect(pond.name == "Big Pond" && pond.frogsThatLiveHere.map(\.name) == ["Kermit", "Froggy Jay"])
    }

    @Test func circlesKeepTheirIdentity() throws {
        let store = try memoryStore([Frog.self, Pond.self])
        let pond = Pond(), kermit = Frog(), jay = Frog()
        (kermit.name, jay.name) = ("Kermit", "Jay")
        pond.frogsThatLiveHere = [kermit, jay, kermit]
        pond.byName = ["k": kermit, "nobody": nil]
        pond.visitors = [jay]
        kermit.pond = pond
        try store.write { tx in try tx.add(pond) }
        let frozen = try pond.freeze()
        let unmanaged = try pond.detached()
        for source in [pond, frozen, unmanaged] {
            let copy = try source.detached()
            #expect(
                copy.frogsThatLiveHere[0] === copy.frogsThatLiveHere[2]
                    && copy.byName["k"]?.map { $0 === copy.frogsThatLiveHere[0] } == true)
            #expect(
                copy.frogsThatLiveHere[0].pond === copy && copy.visitors[0] === copy.frogsThatLiveHere[1]
                    && copy.byName["nobody"] == .some(nil))
            #expect(copy !== source && !copy.visitors[0].isManaged)
        }
        // As deep as requested.
        let alone = try pond.detached(depth: 0)
        #expect(
            alone.frogsThatLiveHere.isEmpty && alone.visitors.isEmpty && alone.byName.count == 2
                && alone.byName["k"] == .some(nil))
        let frogs = try pond.detached(depth: 1)
        #expect(
            frogs.frogsThatLiveHere.map(\.name) == ["Kermit", "Jay", "Kermit"] && frogs.frogsThatLiveHere[0].pond == nil
        )
        let frog = try kermit.detached(depth: 1)
        #expect(frog.pond != nil && frog.pond?.frogsThatLiveHere.isEmpty == true && frog.pond?.byName.count == 2)
        // Collections and results.
        let list = try pond.frogsThatLiveHere.detached(), few = try pond.frogsThatLiveHere.detached(depth: 0)
        #expect(
            list.map(\.name) == ["Kermit", "Jay", "Kermit"] && list[0] === list[2]
                && list[0].pond?.frogsThatLiveHere[1] === list[1] && !list.isManaged)
        #expect(few.count == 3 && few[0].pond == nil)
        #expect(
            try pond.visitors.detached().map(\.name) == ["Jay"] && (try pond.byName.detached())["k"]??.name == "Kermit")
        let all = try store.objects(Frog.self).detached()
        #expect(
            Set(all.map(\.name)) == ["Kermit", "Jay"] && all.allSatisfy { !$0.isManaged }
                && all.first { $0.name == "Kermit" }?.pond?.frogsThatLiveHere.count == 3)
        try store.write { tx in
            try tx.delete(kermit)
            #expect(code { try kermit.detached() } == .noSuchObject)
        }
        #expect(list[0].name == "Kermit")
    }

    /// Far from recursion's end.
    final class Link: Object {
        @Persisted var number = 0
        @Persisted var next: Link?
    }

    @Test func longChains() throws {
        let store = try memoryStore([Link.self])
        let first = Link()
        var last = first
        for number in 1..<20_000 {
            let next = Link()
            next.number = number
            last.next = next
            last = next
        }
        try store.write { tx in try tx.add(first) }
        var copy: Link? = try first.detached(), count = 0
        while let link = copy {
            #expect(link.number == count && !link.isManaged)
            count += 1
            copy = link.next
            // Else each would let go of the next one inside its own end.
            link.next = nil
        }
        #expect(count == 20_000)
        let other = try memoryStore([Link.self])
        try other.write { tx in try tx.create(copying: first) }
        #expect(other.objects(Link.self).count == 20_000)
    }

    final class Part: EmbeddedObject {
        @Persisted var number = 0
        @Persisted var next: Part?
        @Persisted var others: List<Part>
        @Persisted var link: Link?
    }
    final class Whole: Object {
        @Persisted var link: Link?
        @Persisted var part: Part?
    }

    @Test func longChainsOfEmbeddedObjects() throws {
        let whole = Whole()
        for number in 0..<50_000 {
            let part = Part()
            part.number = number
            if number % 2 == 0 { part.next = whole.part } else if let next = whole.part { part.others = [next] }
            whole.part = part
        }
        var part = try whole.detached(depth: 0).part, count = 50_000
        while let current = part {
            count -= 1
            #expect(current.number == count)
            part = current.next ?? current.others.first
        }
        #expect(count == 0)
        // One of a store is made link by link.
        let store = try memoryStore([Link.self, Part.self, Whole.self]), stored = Whole()
        try store.write { tx in
            try tx.add(stored)
            stored.part = Part()
            var last = stored.part
            for number in 1..<3_000 {
                let part = Part()
                part.number = number
                last?.next = part
                last = part
            }
        }
        part = try stored.detached().part
        while let current = part {
            #expect(!current.isManaged && current.number == count)
            count += 1
            part = current.next
        }
        #expect(count == 3_000)
    }

    /// Embedded objects are as near as their parent: what they lead to is not farther away than what it leads to.
    @Test func linksOfEmbeddedObjects() throws {
        let near = Link(), far = Link(), whole = Whole()
        near.next = far
        whole.link = near
        whole.part = Part()
        whole.part?.next = Part()
        whole.part?.next?.link = far
        far.next = near
        let copy = try whole.detached(depth: 1)
        #expect(copy.link?.next == nil && copy.part?.next?.link != nil && copy.part?.next?.link?.next == nil)
        let all = try whole.detached(depth: 2)
        #expect(all.link?.next === all.part?.next?.link && all.part?.next?.link?.next === all.link)
    }

    final class Repository: Object {
        @Persisted var ownerAndName = ""
        @Persisted var openPullRequestNumbers: MutableSet<Int>
        @Persisted var labels: Map<String, Int>
        @Persisted var authors: List<String?>
    }

    @Test func A46_detachedSet() throws {
        let store = try memoryStore([Repository.self])
        let repository = try Repository(
            value: [
                "ownerAndName": "x/y", "openPullRequestNumbers": [3059, 3062, 3064], "labels": ["a": 1],
                "authors": ["m", nil] as [String?],
            ] as [String: Any])
        try store.write { tx in try tx.add(repository) }
        let copy = try repository.openPullRequestNumbers.detached(), labels = try repository.labels.detached(),
            authors = try repository.authors.detached()
        #expect(Array(copy) == [3059, 3062, 3064] && labels["a"] == 1 && Array(authors) == ["m", nil])
        copy.removeAll()
        labels["a"] = nil
        authors.append("new")
        #expect(
            repository.openPullRequestNumbers.count == 3 && repository.labels.count == 1
                && repository.authors.count == 2)
    }

    @Test func A47_toAnotherStore() throws {
        let one = try memoryStore(K.models), two = try memoryStore(K.models)
        let wolfie = try one.write { tx in
            try tx.create(
                K.Dog.self,
                value: ["name": "Wolfie", "age": 1, "favoriteToy": ["name": "ball"], "citiesVisited": ["Rome"]]
                    as [String: Any])
        }
        let version = try one.version
        let copy = try two.write { tx in
            let copy = try tx.create(copying: wolfie)
            copy.age = 2
            copy.favoriteToy?.name = "bone"
            return copy
        }
        #expect(
            wolfie.age == 1 && copy.age == 2 && copy.name == "Wolfie" && wolfie.favoriteToy?.name == "ball"
                && copy.favoriteToy?.name == "bone")
        #expect(Array(copy.citiesVisited) == ["Rome"])
        #expect(try one.version == version && two.objects(K.Toy.self).count == 1)
        // In one store links are shared, and embedded objects are not.
        let person = try one.write { tx in
            try tx.create(
                K.Person.self, value: ["id": 1, "dogs": [wolfie], "address": ["city": "Rome"]] as [String: Any])
        }
        let club = try one.write { tx in
            let club = try tx.create(
                K.DogClub.self,
                value: ["name": "Pooch Pals", "members": [person], "regionalOfficeAddresses": [["city": "Bonn"]]]
                    as [String: Any])
            let second = try tx.create(copying: club)
            #expect(second.members[0].isSameObject(as: person) && second.regionalOfficeAddresses[0].city == "Bonn")
            #expect(!second.regionalOfficeAddresses[0].isSameObject(as: club.regionalOfficeAddresses[0]))
            return second
        }
        let far = try two.write { tx in try tx.create(copying: club) }
        #expect(
            far.members[0].dogs[0].name == "Wolfie" && far.members[0].address?.city == "Rome"
                && far.regionalOfficeAddresses[0].city == "Bonn")
        #expect(code { try two.write { tx in try tx.add(wolfie) } } == .wrongStore)
    }

    @Test func A48_toAStoreThatHasIt() throws {
        let one = try memoryStore(K.models), two = try memoryStore(K.models)
        let source = try one.write { tx in
            try tx.create(K.Person.self, value: [1, "Jane", [["Rex", 2]], ["city": "Rome"]])
        }
        let existing = try two.write { tx in
            try tx.create(K.Person.self, value: [1, "Old", [["Old", 1]], ["city": "Oslo"]])
        }
        let address = try #require(existing.address)
        #expect(code { try two.write { tx in try tx.create(copying: source) } } == .duplicateKey)
        #expect(existing.name == "Old" && two.objects(K.Dog.self).count == 1)
        let updated = try two.write { tx in try tx.create(copying: source, update: .modified) }
        #expect(
            updated.isSameObject(as: existing) && existing.name == "Jane" && existing.dogs.map(\.name) == ["Rex"]
                && existing.address?.city == "Rome")
        #expect(
            existing.address?.isSameObject(as: address) == true && two.objects(K.Person.self).count == 1
                && source.dogs.count == 1)
        // Deleted objects are no source.
        try one.write { tx in try tx.delete(source) }
        #expect(code { try two.write { tx in try tx.create(copying: source, update: .modified) } } == .noSuchObject)
        // A key that comes twice in one copy.
        let club = try one.write { tx in
            let person = try tx.create(K.Person.self, value: ["id": 5])
            return try tx.create(K.DogClub.self, value: ["members": [person, person]])
        }
        #expect(code { try two.write { tx in try tx.create(copying: club) } } == .duplicateKey)
        #expect(two.objects(K.DogClub.self).isEmpty && two.objects(K.Person.self).count == 1)
    }

    final class Node: Object {
        @Persisted var name = ""
        @Persisted var next: Node?
        @Persisted var others: List<Node>
    }

    @Test func A49_cyclicGraphs() throws {
        let one = try memoryStore([Node.self]), two = try memoryStore([Node.self])
        let a = try Node(value: ["a"]), b = try Node(value: ["b"])
        a.next = b
        b.next = a
        func refused(_ store: Store, _ value: Any) throws {
            let error = ObjStoreError.of { try store.write { tx in _ = try tx.create(Node.self, value: value) } }
            #expect(
                error?.code == .invalidArgument && error?.message.contains("cyclic graph") == true,
                "\(String(describing: error))")
            #expect(store.objects(Node.self).count == 0)
        }
        try refused(two, a)
        try refused(two, ["name": "root", "next": a] as [String: Any])
        try refused(two, ["name": "root", "others": [["x"], a]] as [String: Any])
        // add takes it, and a copy of what is managed elsewhere is refused like the others.
        try one.write { tx in try tx.add(a) }
        #expect(one.objects(Node.self).count == 2 && a.next?.next?.isSameObject(as: a) == true)
        try refused(two, a)
        let itself = try one.write { tx in
            let node = try tx.create(Node.self, value: ["self"])
            node.others.append(node)
            return node
        }
        try refused(two, itself)
        #expect(code { try two.write { tx in try tx.create(copying: a) } } == .invalidArgument)
        let copy = try a.detached()
        try two.write { tx in try tx.add(copy) }
        #expect(two.objects(Node.self).count == 2 && copy.next?.next?.isSameObject(as: copy) == true)
    }

    @Test func A83_inversesFollow() throws {
        let store = try memoryStore([Owned.self, Keeper.self])
        let bowser = try Owned(value: ["name": "Bowser"]), jack = Keeper(), jill = Keeper()
        try store.write { tx in
            try tx.add([jack, jill]); try tx.add(bowser)
        }
        try store.write { _ in jack.dog = bowser }
        #expect(bowser.owners.count == 1)
        try store.write { _ in jill.dog = bowser }
        #expect(bowser.owners.count == 2)
        try store.write { _ in jack.dog = nil }
        #expect(bowser.owners.count == 1 && bowser.owners[0].isSameObject(as: jill))
        try store.write { _ in jill.dog = nil }
        #expect(bowser.owners.count == 0)
    }
    final class Owned: Object {
        @Persisted var name = ""
        @Persisted(originProperty: "dog") var owners: LinkingObjects<Keeper>
    }
    final class Keeper: Object {
        @Persisted var dog: Owned?
    }
}

/// Graphs in other stores.
@Suite struct GraphCopyTests {
    final class Node: Object {
        @Persisted var number = 0
        @Persisted var next: Node?
        @Persisted var others: List<Node>
    }
    final class Keyed: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var links: List<Keyed>
        @Persisted var node: Node?
    }

    private func code(_ body: () throws -> Void) -> ObjStoreError.Code? {
        do { try body() } catch { return (error as? ObjStoreError)?.code }
        return nil
    }

    @Test func eachObjectOnce() throws {
        let store = try memoryStore([Node.self, Keyed.self]), other = try memoryStore([Node.self, Keyed.self])
        // Deeper than nested values can be, and one object that all others lead to.
        let (first, shared) = try store.write { tx in
            let shared = try tx.create(Node.self, value: ["number": -1])
            var next: Node?
            for number in 0..<1000 {
                next = try tx.create(
                    Node.self, value: ["number": number, "next": next as Any, "others": [shared, shared]])
            }
            return (try #require(next), shared)
        }
        for source: Node in [first, try first.freeze()] {
            let copy = try other.write { tx -> Node in try tx.create(copying: source) }
            var count = 0, node: Node? = copy
            while let here = node {
                #expect(
                    here.number == 999 - count && here.others.count == 2
                        && here.others[0].isSameObject(as: copy.others[0]))
                node = here.next
                count += 1
            }
            #expect(count == 1000)
        }
        #expect(other.objects(Node.self).count == 2002 && other.objects(Node.self).where { $0.number == -1 }.count == 2)
        // Circles are refused, and nothing is left behind.
        try store.write { _ in shared.next = first }
        #expect(code { _ = try other.write { tx -> Node in try tx.create(copying: first) } } == .invalidArgument)
        #expect(other.objects(Node.self).count == 2002)
    }

    /// DOC_FEATURES §6, rule 10.
    @Test("rule 10: one primary key twice") func onePrimaryKeyTwice() throws {
        let store = try memoryStore([Node.self, Keyed.self]), other = try memoryStore([Node.self, Keyed.self])
        let root = try store.write { tx in
            let leaf = try tx.create(Keyed.self, value: ["id": 3, "node": ["number": 1]])
            return try tx.create(
                Keyed.self,
                value: ["id": 1, "links": [leaf, try tx.create(Keyed.self, value: ["id": 2, "links": [leaf]])]])
        }
        #expect(code { _ = try other.write { tx -> Keyed in try tx.create(copying: root) } } == .duplicateKey)
        #expect(other.objects(Keyed.self).isEmpty && other.objects(Node.self).isEmpty)
        let copy = try other.write { tx -> Keyed in try tx.create(copying: root, update: .modified) }
        #expect(
            copy.links.map(\.id) == [3, 2] && copy.links[1].links[0] == copy.links[0]
                && other.objects(Keyed.self).count == 3)
        // Again: what has no primary key comes again.
        _ = try other.write { tx -> Keyed in try tx.create(copying: root, update: .modified) }
        #expect(other.objects(Keyed.self).count == 3 && other.objects(Node.self).count == 2)
    }
}
