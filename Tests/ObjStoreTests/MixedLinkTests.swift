import ObjStore
import Testing

/// Links to objects in values of any type. A41 and A42 are in TypeScenarioTests.
@Suite struct MixedLinkTests {
    final class Part: EmbeddedObject {
        @Persisted var number = 0
        @Persisted var likes: AnyValue
    }
    final class Dog: Object {
        @Persisted var name = ""
        @Persisted var companion: AnyValue
        @Persisted var friend: Dog?
        @Persisted var part: Part?
    }
    /// No links but in values of any type.
    final class Cat: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var age = 0
        @Persisted(indexed: true) var likes: AnyValue
    }
    static let models: [Object.Type] = [Part.self, Dog.self, Cat.self]
    let store: Store

    init() throws { store = try memoryStore(MixedLinkTests.models) }

    func dog(_ name: String, _ companion: AnyValue = .none) -> Dog {
        let dog = Dog()
        (dog.name, dog.companion) = (name, companion)
        return dog
    }

    func cat(_ id: Int, _ likes: AnyValue = .none) -> Cat {
        let cat = Cat()
        (cat.id, cat.likes) = (id, likes)
        return cat
    }

    func dogs(_ store: Store? = nil) -> [String] { (store ?? self.store).objects(Dog.self).map(\.name).sorted() }

    @Test func referencesToWhatComesLater() throws {
        let json =
            #"""
            [{"id":1,"likes":[{"$ref":"Cat","$id":2},{"all":[{"$ref":"Cat","$id":1}]}]},{"id":2,\#
            "likes":{"$ref":"Cat","$id":3}},{"id":3,"likes":null}]
            """#
        try store.write { tx in
            #expect(throws: ObjStoreError.self) {
                try tx.createAll(
                    Cat.self, json: #"[{"id":1,"likes":[{"$ref":"Cat","$id":9}]},{"id":2}]"#, syntax: .extended)
            }
            #expect(store.objects(Cat.self).isEmpty)
            let count = try tx.createAll(Cat.self, json: json, syntax: .extended)
            #expect(count == 3)
        }
        let cats = Array(store.objects(Cat.self))
        #expect(
            cats[0].likes == [.object(cats[1]), ["all": [.object(cats[0])]]] && cats[1].likes == .object(cats[2])
                && cats[2].likes == .none)
    }

    @Test func writtenAndRead() throws {
        let rex = dog("Rex"), tom = cat(1)
        try store.write { tx in
            try tx.add(rex)
            try tx.add(tom)
            rex.companion = .object(tom)
            #expect(
                rex.companion.object?.isSameObject(as: tom) == true && rex.companion == .object(tom)
                    && rex.companion != .object(rex))
            #expect(
                (rex.companion.object as? Cat)?.id == 1 && "\(rex.companion)" == "Cat(1)" && rex.companion.list == nil)
            rex.companion = ["best": .object(tom), "all": [.object(rex), 5, ["deep": .object(tom)]]]
            rex.companion["all"]?.list?.append(.object(tom))
            rex.companion["next"] = .object(rex)
            tom.likes = [.object(rex)]
        }
        let expected: AnyValue = [
            "best": .object(tom), "all": [.object(rex), 5, ["deep": .object(tom)], .object(tom)], "next": .object(rex),
        ]
        #expect(rex.companion == expected && rex.companion.detached() == expected)
        #expect("\(rex)".contains("best: Cat(1)"))
        #expect(rex.companion["all"]?[2]?["deep"]?.object?.isManaged == true)
        #expect(rex.companion["all"]?.list?.map { $0.object != nil } == [true, false, false, true])
        // By name, by rows and by columns.
        try store.write { tx in
            try rex.setValue(["x": tom, "y": [rex]] as [String: Any], forKey: "companion")
            #expect(rex.companion == ["x": .object(tom), "y": [.object(rex)]])
            try tx.create(Cat.self, value: ["id": 2, "likes": tom])
            try tx.insert(Cat.self, [Column(\.id, [3, 4]), Column(\.likes, [.object(tom), ["a": .object(rex)]])])
        }
        let likes = try (2...4).map { try #require(try store.object(ofType: Cat.self, forPrimaryKey: $0)).likes }
        #expect(likes == [.object(tom), .object(tom), ["a": .object(rex)]])
        #expect(try rex.value(forKey: "companion") as? AnyValue == rex.companion)
        #expect(try store.verify() == [])
        // Of no store: the instance.
        let loose = dog("Loose")
        #expect(
            AnyValue.object(loose) == .object(loose) && AnyValue.object(loose) != .object(dog("Loose"))
                && AnyValue.object(loose) != AnyValue.none)
    }

    @Test func deletionsGiveNone() throws {
        let rex = dog("Rex"), tom = cat(1), tim = cat(2)
        tim.likes = .object(tom)
        rex.companion = ["a": [.object(tom), .object(tim), ["b": [.object(tom)]]], "c": .object(tom)]
        try store.write { tx in
            try tx.add(rex)
            try tx.add(tim, update: .modified)
        }
        let frozen = try rex.freeze()
        nonisolated(unsafe) var heard: [[String]] = []
        let token = try rex.observe { change in
            if case .change(_, let properties) = change { heard.append(properties.map(\.name)) }
        }
        try store.deliver()
        try store.write { tx in try tx.delete(tom) }
        try store.deliver()
        token.invalidate()
        #expect(
            rex.companion == ["a": [.none, .object(tim), ["b": [.none]]], "c": .none] && tim.likes.isNone
                && heard == [["companion"]])
        #expect((frozen.companion["c"]?.object as? Cat)?.id == 1 && frozen.companion["c"]?.object?.isFrozen == true)
        try store.write { tx in try tx.deleteAll(Cat.self) }
        #expect(rex.companion["a"]?[1]?.isNone == true)
        #expect(code { try store.write { _ in rex.companion = .object(tom) } } == .noSuchObject)
        #expect(code { try store.write { _ in rex.companion["c"] = [.object(tom)] } } == .noSuchObject)
        // A frozen object represents the one that is there, as in links.
        let there = try store.write { tx in try tx.create(Cat.self, value: ["id": 3]) }
        let shown = try there.freeze()
        try store.write { _ in rex.companion = .object(shown) }
        #expect(rex.companion == .object(there) && rex.companion != .object(shown))
        #expect(try store.verify() == [])
    }

    @Test func graphsAreAddedOnceAlsoInCircles() throws {
        let a = dog("a"), b = dog("b"), c = dog("c"), tom = cat(1)
        a.companion = [.object(b), .object(tom), .object(b)]
        b.companion = ["x": ["y": .object(a)]]
        b.friend = c
        c.companion = .object(c)
        tom.likes = .object(a)
        try store.write { tx in
            try tx.add(tom)
            #expect(a.isManaged && b.isManaged && c.isManaged)
            try tx.add(a)
        }
        #expect(dogs() == ["a", "b", "c"] && store.objects(Cat.self).count == 1)
        #expect(
            a.companion == [.object(b), .object(tom), .object(b)] && b.companion["x"]?["y"] == .object(a)
                && c.companion == .object(c))
        #expect(tom.likes == .object(a))
        // Embedded objects lead on, too, and what an object embeds may lead back to it.
        let whole = dog("whole"), part = Part()
        part.likes = [.object(whole), .object(dog("liked"))]
        whole.part = part
        try store.write { tx in try tx.add(whole) }
        #expect(whole.part?.likes[0] == .object(whole) && (whole.part?.likes[1]?.object as? Dog)?.name == "liked")
        // A long chain needs no deep stack.
        var first = dog("0")
        for number in 1..<5000 { first = dog("\(number)", [.object(first)]) }
        try store.write { tx in try tx.add(first) }
        #expect(store.objects(Dog.self).count == 5005)
        #expect(try store.verify() == [])
    }

    @Test func assignmentsAddWhatIsUnmanaged() throws {
        let rex = try store.write { tx in try tx.create(Dog.self, value: ["name": "Rex", "companion": ["list": []]]) }
        try store.write { tx in
            rex.companion["list"]?.list?.append(.object(dog("1")))
            rex.companion["key"] = ["deep": .object(dog("2", .object(dog("3"))))]
            rex.companion["list"]?[0] = .object(dog("4"))
            let twice = dog("5")
            rex.companion["both"] = [.object(twice), .object(twice)]
            #expect(
                twice.isManaged && rex.companion["both"]?[0] == .object(twice)
                    && rex.companion["both"]?[1] == .object(twice))
            try rex.setValue(dog("6"), forKey: "companion")
            #expect((rex.companion.object as? Dog)?.name == "6")
            let all = dog("7")
            try tx.objects(Dog.self).set(\.companion, to: [.object(all), .object(rex)])
            #expect(rex.companion == [.object(all), .object(rex)])
        }
        #expect(dogs() == ["1", "2", "3", "4", "5", "6", "7", "Rex"])
        #expect(store.objects(Dog.self).filter { $0.companion.list?.count == 2 }.count == 7)
        #expect(try store.verify() == [])
    }

    @Test func whatFailsAddsNothing() throws {
        let other = try memoryStore(MixedLinkTests.models)
        let foreign = try other.write { tx in try tx.create(Dog.self, value: ["name": "foreign"]) }
        let rex = dog("Rex", ["k": 1]), loose = dog("loose", .object(dog("behind"))), part = Part()
        let tom = cat(1)
        try store.write { tx in
            try tx.add(rex)
            try tx.add(tom)
        }
        func refused(_ wanted: ObjStoreError.Code, _ value: AnyValue, _ where: SourceLocation = #_sourceLocation) throws
        {
            let bodies: [(Transaction) throws -> Void] = [
                { _ in rex.companion = value }, { _ in rex.companion["k"] = value },
                { _ in try rex.setValue(value, forKey: "companion") },
                { tx in try tx.objects(Dog.self).set(\.companion, to: value) },
                { tx in try tx.add(self.dog("new", value)) },
                { tx in try tx.add(self.cat(5, value)) }, { tx in try tx.add(self.cat(1, value), update: .modified) },
            ]
            for (number, body) in bodies.enumerated() {
                try store.write { tx in
                    #expect(
                        code { try Store.checked { try body(tx) } } == wanted, "\(number) \(value)",
                        sourceLocation: `where`)
                }
                #expect(
                    dogs() == ["Rex"] && store.objects(Cat.self).count == 1 && !loose.isManaged
                        && loose.companion.object?.isManaged == false, "\(number)", sourceLocation: `where`)
            }
            #expect(rex.companion == ["k": 1] && tom.likes.isNone)
        }
        try refused(.wrongStore, .object(foreign))
        try refused(.wrongStore, [.object(loose), .object(foreign)])
        try refused(.wrongStore, ["a": .object(loose), "b": [.object(foreign)]])
        try refused(.embedded, .object(part))
        try refused(.embedded, [["x": .object(loose)], .object(part)])
        var deep: AnyValue = .object(loose)
        for _ in 0..<110 { deep = [deep] }
        try refused(.outOfRange, deep)
        #expect(
            code {
                try store.write { tx in
                    try tx.insert(Cat.self, [Column(\.id, [3]), Column(\.likes, [[.object(foreign)]])])
                }
            } == .wrongStore)
        #expect(
            code {
                try store.write { tx in try tx.insert(Cat.self, [Column(\.id, [3]), Column(\.likes, [.object(loose)])])
                }
            } == .wrongView)
        // An object that is there is updated, and then refused for what closes a circle.
        let own = cat(1)
        (own.age, own.likes) = (9, [.object(own), .object(foreign)])
        try store.write { tx in #expect(code { try tx.add(own, update: .modified) } == .wrongStore) }
        #expect(store.objects(Cat.self).count == 1 && tom.age == 0 && !own.isManaged)
        // Outside of a write, and of a frozen object.
        #expect(code { try Store.checked { rex.companion = .object(loose) } } == .notInWrite)
        let frozen = try rex.freeze()
        #expect(code { try store.write { _ in frozen.companion = .object(loose) } } == .wrongView)
        // A place that is not there, an owner that is gone.
        try store.write { tx in
            #expect(
                code {
                    try Store.checked {
                        rex.companion = [1]; rex.companion.list?.insert(.object(loose), at: 7)
                    }
                } == .outOfRange)
        }
        try store.write { tx in
            try tx.delete(rex)
            #expect(code { try Store.checked { rex.companion = .object(loose) } } == .noSuchObject)
        }
        // A part that has a parent is none either.
        let owner = dog("owner")
        owner.part = Part()
        try store.write { tx in
            try tx.add(owner)
            #expect(
                code { try Store.checked { owner.companion = owner.part.map { .object($0) } ?? .none } } == .embedded)
        }
        #expect(dogs() == ["owner"] && !loose.isManaged)
        #expect(try store.verify() == [])
    }

    /// The second object of a graph is refused: nothing of it stays, and it can be added later.
    @Test func addIsAllOrNothing() throws {
        try store.write { tx in try tx.add(cat(1)) }
        let first = dog("first"), second = cat(1), third = dog("third")
        first.companion = [.object(third), .object(second)]
        third.companion = .object(first)
        try store.write { tx in #expect(code { try tx.add(first) } == .duplicateKey) }
        #expect(dogs().isEmpty && !first.isManaged && !third.isManaged && first.companion[1]?.object === second)
        second.id = 2
        try store.write { tx in try tx.add(first) }
        #expect(dogs() == ["first", "third"] && third.companion == .object(first))
    }

    @Test func classesThatAreNoModels() throws {
        let folder = Folder()
        do {
            let store = try Store.open(path: folder.file(), models: MixedLinkTests.models)
            try store.write { tx in
                try tx.add(cat(1, .object(dog("Rex"))))
                try tx.add(cat(2, ["a": [.object(dog("Max"))], "b": 1]))
            }
            try store.close()
        }
        let store = try Store.open(path: folder.file(), models: [Cat.self])
        let one = try #require(try store.object(ofType: Cat.self, forPrimaryKey: 1)),
            two = try #require(try store.object(ofType: Cat.self, forPrimaryKey: 2))
        for body in [
            { _ = one.likes }, { _ = two.likes["a"]?[0] }, { _ = two.likes.detached() }, { _ = try one.detached() },
        ] as [() throws -> Void] {
            let error = ObjStoreError.of { try Store.checked { try body() } }
            #expect(
                error?.code == .noSuchClass
                    && error?.message.contains("class Dog, which is not among the models") == true,
                "\(String(describing: error))")
        }
        // What is beside can be read, and changed.
        #expect(two.likes["b"] == 1)
        try store.write { _ in two.likes["b"] = 2 }
        try store.close()
        let all = try Store.open(path: folder.file(), models: MixedLinkTests.models)
        #expect(
            (try #require(try all.object(ofType: Cat.self, forPrimaryKey: 2)).likes["a"]?[0]?.object as? Dog)?.name
                == "Max")
    }

    @Test func upserts() throws {
        let tom = cat(1)
        try store.write { tx in try tx.add(tom) }
        func update(_ likes: AnyValue, _ policy: UpdatePolicy) throws -> [[String]] {
            nonisolated(unsafe) var heard: [[String]] = []
            let token = try tom.observe { change in
                if case .change(_, let properties) = change { heard.append(properties.map(\.name).sorted()) }
            }
            try store.deliver()
            try store.write { tx in try tx.add(cat(1, likes), update: policy) }
            try store.deliver()
            token.invalidate()
            return heard
        }
        // Objects with a primary key are found, those without are made.
        let second = cat(2)
        second.age = 5
        #expect(try update(["x": .object(second), "y": .object(dog("Rex"))], .modified) == [["likes"]])
        #expect(second.isManaged && tom.likes["x"] == .object(second) && dogs() == ["Rex"])
        let again = cat(2), rex = store.objects(Dog.self)[0]
        again.age = 6
        #expect(try update(["x": .object(again), "y": .object(rex)], .modified) == [])
        #expect(second.age == 6 && store.objects(Cat.self).count == 2 && dogs() == ["Rex"])
        #expect(try update(["x": .object(second), "y": .object(rex)], .all) == [["age", "likes"]])
        // Circles.
        func circle() -> Cat {
            let one = cat(1), two = cat(2)
            one.likes = [.object(two), .object(one)]
            two.likes = .object(one)
            return one
        }
        try store.write { tx in try tx.add(circle(), update: .modified) }
        #expect(
            tom.likes == [.object(second), .object(tom)] && second.likes == .object(tom)
                && store.objects(Cat.self).count == 2)
        nonisolated(unsafe) var heard = 0
        let token = try tom.observe { _ in heard += 1 }
        try store.deliver()
        try store.write { tx in try tx.add(circle(), update: .modified) }
        try store.deliver()
        token.invalidate()
        #expect(heard == 0)
        try store.write { tx in
            try tx.create(Cat.self, value: ["id": 1, "likes": [tom, cat(2), cat(3)]], update: .modified)
        }
        #expect(
            tom.likes[1] == .object(second) && (tom.likes[2]?.object as? Cat)?.id == 3
                && store.objects(Cat.self).count == 3)
        #expect(try store.verify() == [])
    }

    final class Tag: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted(originProperty: "extra") var about: LinkingObjects<Page>
        @Persisted(originProperty: "items") var listed: LinkingObjects<Page>
        @Persisted(originProperty: "byName") var grouped: LinkingObjects<Page>
    }
    final class Page: Object {
        @Persisted var number = 0
        @Persisted var extra: AnyValue
        @Persisted var items: List<AnyValue>
        @Persisted var byName: Map<String, AnyValue>
    }

    @Test func inverses() throws {
        let store = try memoryStore([Tag.self, Page.self]), one = Tag(), two = Tag(),
            pages = (0..<4).map { _ in Page() }
        try store.write { tx in
            (one.id, two.id) = (1, 2)
            try tx.add(one)
            try tx.add(two)
            for (number, page) in pages.enumerated() {
                page.number = number
                try tx.add(page)
            }
            pages[0].extra = .object(one)
            pages[1].extra = ["a": [.object(one), .object(one), ["b": .object(two)]]]
            pages[1].items.append(objectsIn: [5, .object(one), [[.object(two)]]])
            pages[2].items.append(["x": .object(one)])
            pages[2].byName = ["k": [.object(one)], "l": .object(one)]
            try check(one, [0, 1], [1, 2], [2])
        }
        func check(_ tag: Tag, _ about: [Int], _ listed: [Int], _ grouped: [Int]) throws {
            for (found, wanted) in [(tag.about, about), (tag.listed, listed), (tag.grouped, grouped)] {
                #expect(
                    found.map(\.number) == wanted && found.count == wanted.count && found.first?.number == wanted.first)
                let results = try found.results()
                #expect(try results.sum(of: \.number) == wanted.reduce(0, +))
                if results.isEmpty == false { #expect(results[0].number == wanted[0]) }
            }
        }
        try check(one, [0, 1], [1, 2], [2])
        try check(two, [1], [1], [])
        #expect(try one.about.results().freeze().map(\.number) == [0, 1])

        nonisolated(unsafe) var heard: [[Int]] = []
        let token = try one.about.results().observe { change in
            heard.append([change.deletions.count, change.insertions.count, change.modifications.count])
        }
        try store.deliver()
        try store.write { (_) throws in
            pages[3].extra = [[.object(one)]]
            pages[1].extra["a"]?.list?[2] = .none
            pages[0].extra = .none
            try check(one, [1, 3], [1, 2], [2])
            try check(two, [], [1], [])
        }
        try store.deliver()
        token.invalidate()
        #expect(heard.dropFirst() == [[1, 1, 1]])
        try store.write { tx in
            let about = one.about
            try tx.delete(one.listed.results())
            try check(one, [3], [], [])
            try tx.delete(one)
            #expect(about.count == 0 && about.first == nil && pages[3].extra == [[.none]])
        }
        #expect(try store.verify() == [])
    }

    final class Pen: Object {
        @Persisted var dogs: List<Dog>
        @Persisted var guests: MutableSet<Dog>
        @Persisted var cages: Map<String, Dog?>
    }

    @Test func inversesWithoutDeclaration() throws {
        let store = try memoryStore(MixedLinkTests.models + [Pen.self, Page.self, Tag.self]), one = dog("1"),
            two = dog("2"), pen = Pen(), page = Page()
        try store.write { tx in
            for dog in [one, two] { try tx.add(dog) }
            try tx.add(pen)
            try tx.add(page)
            pen.dogs = [one, two, one]
            pen.guests = [two]
            pen.cages = ["x": one, "y": nil]
            page.extra = [["k": .object(one)]]
        }
        func pens(_ condition: (Query<Pen>) -> Query<Bool>) -> Int { store.objects(Pen.self).where(condition).count }
        #expect(pens { $0.dogs.links(to: one) } == 1 && pens { $0.dogs.links(to: two) } == 1)
        #expect(pens { $0.guests.links(to: one) } == 0 && pens { $0.guests.links(to: two) } == 1)
        #expect(pens { $0.cages.links(to: one) } == 1 && pens { $0.cages.links(to: two) } == 0)
        let pages = store.objects(Page.self).where { $0.extra.links(to: one) }
        #expect(pages.count == 1 && pages.first?.isSameObject(as: page) == true && pages.map(\.number) == [0])
        #expect(pages.where { $0.number == 0 }.count == 1 && pages.where { $0.number == 1 }.isEmpty)
        #expect(store.objects(Page.self).where { $0.items.links(to: one) }.isEmpty)
        #expect(code { try store.objects(Pen.self).where { $0.dogs.links(to: page) }.validate() } == .wrongType)
        #expect(code { try store.objects(Pen.self).where { $0.dogs.links(to: Dog()) }.validate() } == .wrongView)
    }
}
