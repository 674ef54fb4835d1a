import CObjStore
import Testing

/// Several objects that refer to each other, in one call.
@Suite struct GraphTests {
    @Test func aCircle() throws {
        let home = try graphStore()
        defer { home.close() }
        try writing(home.store) { tx in
            var graph = TestGraph()
            graph.add(
                home.classes["Person"]!,
                [
                    "id": 1, "name": "Jane", "friend": .node(0), "dogs": ["rex": .node(1), "none": nil],
                    "extra": .node(1),
                ],
                flags: OBJSTORE_NODE_ROOT)
            // By position, and what is generated left out.
            graph.add(home.classes["Dog"]!, ["Rex", .node(0), .notGiven])
            let made = try graph.make(tx)
            let (jane, rex) = (made.objects[0], made.objects[1])
            #expect(made.outcomes == [.OBJSTORE_OUTCOME_CREATED, .OBJSTORE_OUTCOME_CREATED] && made.embedded.isEmpty)
            let shown = try home.properties(tx, jane)
            #expect(shown["friend"] == home.shown(jane) && shown["extra"] == home.shown(rex))
            #expect(shown["dogs"] == "{none: null, rex: \(home.shown(rex))}")
            expect(try home.properties(tx, rex)["owner"] == home.shown(jane))
        }
        try verify(home.store)
    }

    @Test func nothing() throws {
        let home = try graphStore()
        defer { home.close() }
        try writing(home.store) { tx in
            let made = try TestGraph().make(tx)
            #expect(made.objects.isEmpty)
            let value = objstore_int(1)
            let message = refused(
                objstore_create_graph(tx, .OBJSTORE_POLICY_ERROR, 0, nil, 0, [value], 1, nil, nil, nil),
                .OBJSTORE_ERR_INVALID_ARGUMENT)
            #expect(message.contains("values[0]"))
        }
    }

    @Test func embeddedObjectsAreReported() throws {
        let home = try graphStore()
        defer { home.close() }
        try writing(home.store) { tx in
            var graph = TestGraph()
            graph.add(
                home.classes["Person"]!,
                [
                    "id": 1,
                    "home": ["city": "Rome", "keeper": .node(1), "inner": ["note": [.node(0), ["x": .node(1)]]]],
                    "homes": [["city": "Oslo"], ["Bern"]],
                ])
            graph.add(home.classes["Dog"]!, ["owner": .node(0)])
            let made = try graph.make(tx)
            let (jane, rex) = (home.shown(made.objects[0]), home.shown(made.objects[1]))
            let shown = try home.properties(tx, made.objects[0])
            #expect(
                shown["home"]
                    == """
                    {city: "Rome", inner: {city: null, inner: null, keeper: null, note: [\(jane), {x: \(rex)}]}, \
                    keeper: \(rex), note: null}
                    """)
            // By where they begin: { id 1 home {                                          4
            //   city "Rome" keeper → inner {                                            10
            //     note [ → { x → homes [ { city "Oslo" [ "Bern"                     19, 22
            #expect(made.embedded.keys.sorted() == [4, 10, 19, 22])
            func city(_ index: Int) throws -> String? {
                home.classes["Address"] == made.embedded[index]?.class_id
                    ? try home.text(tx, made.embedded[index]!, "Address.city") : "?"
            }
            expect(try city(4) == "Rome")
            expect(try city(10) == nil)
            expect(try city(19) == "Oslo")
            expect(try city(22) == "Bern")
            expect(try home.count(tx, "Address") == 4)
        }
        try verify(home.store)
    }

    @Test func propertiesAndElementsOfWhatIsThere() throws {
        let home = try graphStore()
        defer { home.close() }
        try writing(home.store) { tx in
            let jane = try home.from(tx, "Person", ["id": 1, "homes": [["city": "Rome"]]])
            func owned(_ name: String, _ flags: Int = 0) -> objstore_node {
                objstore_node_of_property(jane, home["Person.\(name)"], UInt32(flags))
            }
            var graph = TestGraph()
            graph.add(owned("homes", OBJSTORE_NODE_ELEMENT), ["city": "Oslo", "keeper": .node(3)], at: objstore_int(0))
            graph.add(owned("friends"), [.node(2), .node(2), .link(jane)])
            graph.add(home.classes["Person"]!, ["id": 2, "friend": .link(jane)])
            graph.add(home.classes["Dog"]!, ["owner": .node(2)])
            graph.add(owned("homes", OBJSTORE_NODE_ELEMENT), ["city": "Bern"], at: objstore_null())
            graph.add(owned("name"), "Jane")
            let made = try graph.make(tx, .OBJSTORE_POLICY_MODIFIED)
            #expect(
                made.outcomes == [
                    .OBJSTORE_OUTCOME_CREATED, .OBJSTORE_OUTCOME_CHANGED, .OBJSTORE_OUTCOME_CREATED,
                    .OBJSTORE_OUTCOME_CREATED, .OBJSTORE_OUTCOME_CREATED, .OBJSTORE_OUTCOME_CHANGED,
                ])
            #expect(
                made.objects[1].key == jane.key && made.embedded[1]?.key == made.objects[0].key
                    && home.shown(made.objects[4]).hasPrefix("Address"))
            let shown = try home.properties(tx, jane), two = home.shown(made.objects[2])
            #expect(shown["friends"] == "[\(two), \(two), \(home.shown(jane))]" && shown["name"] == "\"Jane\"")
            let cities = try home.elements(tx, jane, "Person.homes").map {
                try home.text(tx, $0.data.link, "Address.city")
            }
            #expect(cities == ["Oslo", "Rome", "Bern"])
            // The same again: what is there already is not written.
            var again = TestGraph()
            again.add(owned("friends"), [.node(1), .node(1), .link(jane)])
            again.add(home.classes["Person"]!, ["id": 2, "friend": .link(jane)])
            #expect(
                try again.make(tx, .OBJSTORE_POLICY_MODIFIED).outcomes
                    == [.OBJSTORE_OUTCOME_UNCHANGED, .OBJSTORE_OUTCOME_UNCHANGED])
        }
        try verify(home.store)
    }

    /// A circle of objects that are there: nothing is written by `modified`, everything by `all`.
    @Test func circlesAgain() throws {
        let home = try graphStore()
        defer { home.close() }
        try writing(home.store) { tx in
            func graph() -> TestGraph {
                var graph = TestGraph()
                for number in 0..<3 {
                    let next = Nested.node((number + 1) % 3)
                    graph.add(
                        home.classes["Person"]!,
                        [
                            "id": .value(objstore_int(Int64(number))), "friend": next, "friends": [next],
                            "extra": [next], "anything": [["a": next]], "home": ["note": next],
                        ])
                }
                return graph
            }
            let first = try graph().make(tx)
            let before = try home.dump(tx)
            #expect(first.outcomes == Array(repeating: .OBJSTORE_OUTCOME_CREATED, count: 3))
            _ = graph().refused(tx, .OBJSTORE_ERR_DUPLICATE_KEY)
            let second = try graph().make(tx, .OBJSTORE_POLICY_MODIFIED)
            #expect(second.outcomes == Array(repeating: .OBJSTORE_OUTCOME_UNCHANGED, count: 3))
            #expect(second.objects.map(\.key) == first.objects.map(\.key))
            let third = try graph().make(tx, .OBJSTORE_POLICY_ALL)
            #expect(third.outcomes == Array(repeating: .OBJSTORE_OUTCOME_CHANGED, count: 3))
            expect(try home.dump(tx) == before)
        }
        try verify(home.store)
    }

    @Test func oneKeyTwice() throws {
        let home = try graphStore()
        defer { home.close() }
        try writing(home.store) { tx in
            var graph = TestGraph()
            graph.add(home.classes["Person"]!, ["id": 1, "name": "Jane", "friend": .node(1)])
            graph.add(home.classes["Person"]!, ["id": 1, "extra": .node(0)])
            let (message, node) = graph.refused(tx, .OBJSTORE_ERR_DUPLICATE_KEY)
            #expect(message.contains("id = 1") && node == 0)
            expect(try home.count(tx, "Person") == 0)
            for policy in [objstore_policy.OBJSTORE_POLICY_MODIFIED, .OBJSTORE_POLICY_ALL] {
                let made = try graph.make(tx, policy)
                #expect(made.objects[0].key == made.objects[1].key)
                let one = home.shown(made.objects[0]), shown = try home.properties(tx, made.objects[0])
                #expect(shown["name"] == "\"Jane\"" && shown["friend"] == one && shown["extra"] == one)
                expect(try home.count(tx, "Person") == 1)
            }
        }
        try verify(home.store)
    }

    /// One that is only led to needs no primary key, one that is wanted does.
    @Test func policiesAndRoots() throws {
        let home = try graphStore()
        defer { home.close() }
        try writing(home.store) { tx in
            for policy in [objstore_policy.OBJSTORE_POLICY_MODIFIED, .OBJSTORE_POLICY_ALL] {
                var graph = TestGraph()
                graph.add(home.classes["Person"]!, ["id": 1, "dogs": ["a": .node(1)]], flags: OBJSTORE_NODE_ROOT)
                graph.add(home.classes["Dog"]!, ["name": "Rex"])
                let made = try graph.make(tx, policy)
                #expect(made.outcomes[1] == .OBJSTORE_OUTCOME_CREATED)
                var root = TestGraph()
                root.add(home.classes["Person"]!, ["id": 2])
                root.add(home.classes["Dog"]!, ["name": "Ben"], flags: OBJSTORE_NODE_ROOT)
                #expect(root.refused(tx, .OBJSTORE_ERR_NO_PRIMARY_KEY, policy).node == 1)
                expect(try home.count(tx, "Person") == 1)
            }
        }
    }

    @Test func byAnotherIndex() throws {
        let home = try NamedStore { schema in
            try ok(objstore_schema_add_class(schema, text("A")))
            try ok(objstore_schema_add_property(schema, text("A"), text("id"), .OBJSTORE_KIND_INT, 1))
            try ok(
                objstore_schema_add_property(
                    schema, text("A"), text("mail"), .OBJSTORE_KIND_STRING,
                    UInt32(OBJSTORE_PROPERTY_UNIQUE | OBJSTORE_PROPERTY_NULLABLE)))
            try ok(objstore_schema_add_link(schema, text("A"), text("next"), text("A"), 0))
        }
        defer { home.close() }
        try writing(home.store) { tx in
            var index: objstore_index_id = 0
            try ok(objstore_find_index(tx, home.classes["A"]!, [home["A.mail"]], 1, &index))
            let one = try home.from(tx, "A", ["id": 1, "mail": "x"])
            var node = objstore_node_of_class(0, UInt32(OBJSTORE_NODE_ROOT)), graph = TestGraph()
            node.index_id = index
            graph.add(node, ["mail": "x", "next": .node(1)])
            graph.add(home.classes["A"]!, ["id": 2, "next": .node(0)])
            let made = try graph.make(tx, .OBJSTORE_POLICY_MODIFIED)
            #expect(made.objects[0].key == one.key && made.outcomes[0] == .OBJSTORE_OUTCOME_CHANGED)
            expect(try home.properties(tx, one)["next"] == home.shown(made.objects[1]))
        }
    }

    @Test func refusedNodes() throws {
        let home = try graphStore()
        defer { home.close() }
        let person = home.classes["Person"]!, dog = home.classes["Dog"]!
        try writing(home.store) { tx in
            let jane = try home.from(tx, "Person", ["id": 1]), gone = try home.from(tx, "Person", ["id": 9])
            try ok(objstore_delete(tx, gone))
            let before = try home.dump(tx)
            func refused(
                _ status: objstore_status, _ part: String, node: Int = 1,
                sourceLocation: SourceLocation = #_sourceLocation, _ fill: (inout TestGraph) -> Void
            ) throws {
                var graph = TestGraph()
                graph.add(person, ["id": 2, "friend": .node(0), "home": ["city": "Rome"], "friends": [.link(jane)]])
                fill(&graph)
                let (message, number) = graph.refused(tx, status, sourceLocation: sourceLocation)
                #expect(
                    message.contains(part) && number == node, "\(message), \(number)", sourceLocation: sourceLocation)
                expect(try home.dump(tx) == before, sourceLocation: sourceLocation)
                expect(try home.count(tx, "Address") == 0, sourceLocation: sourceLocation)
            }
            try refused(.OBJSTORE_ERR_OUT_OF_RANGE, "node 7, where there are 2 nodes") {
                $0.add(dog, ["owner": .node(7)])
            }
            try refused(.OBJSTORE_ERR_OUT_OF_RANGE, "node -2") { $0.add(dog, ["owner": .node(-2)]) }
            try refused(.OBJSTORE_ERR_WRONG_TYPE, "not to an object of class Person") {
                $0.add(person, ["id": 3, "dogs": ["a": .node(0)]])
            }
            try refused(.OBJSTORE_ERR_WRONG_TYPE, "links to") {
                $0.add(person, ["id": 3, "friends": [.node(2)]])
                $0.add(dog, ["name": "x"])
            }
            try refused(.OBJSTORE_ERR_WRONG_TYPE, "not to an object of class Person") {
                $0.add(person, ["id": 3, "home": .node(0)])
            }
            try refused(.OBJSTORE_ERR_EMBEDDED, "Address") { $0.add(home.classes["Address"]!, ["city": "Rome"]) }
            try refused(.OBJSTORE_ERR_NO_SUCH_CLASS, "") { $0.add(objstore_class_id(77), ["city": "Rome"]) }
            try refused(.OBJSTORE_ERR_NO_SUCH_OBJECT, "Person.friends") {
                $0.add(person, ["id": 3, "friends": [.link(gone)]])
            }
            try refused(.OBJSTORE_ERR_DUPLICATE_KEY, "id = 1") { $0.add(person, ["id": 1]) }
            try refused(.OBJSTORE_ERR_INVALID_ARGUMENT, "not given") {
                $0.add(person, ["id": 3, "friends": [.notGiven]])
            }
            try refused(.OBJSTORE_ERR_INVALID_ARGUMENT, "not given") {
                $0.add(person, ["id": 3, "extra": ["a": .notGiven]])
            }
            try refused(.OBJSTORE_ERR_MISSING_VALUE, "Person.id") { $0.add(person, ["id": .notGiven]) }
            // A place where it is deeper than a property.
            try refused(.OBJSTORE_ERR_WRONG_TYPE, "$.home.city: Address.city") {
                $0.add(person, ["id": 3, "home": ["city": 5]])
            }
            try refused(.OBJSTORE_ERR_WRONG_TYPE, "Person.name") { $0.add(person, ["id": 3, "name": 5]) }
            try refused(.OBJSTORE_ERR_WRONG_TYPE, "$.name: Person.name") {
                $0.add(person, ["id": 3, "name": 5], flags: OBJSTORE_NODE_DESCRIBED)
            }
            // A property of what is not there, or of nothing.
            try refused(.OBJSTORE_ERR_NO_SUCH_OBJECT, "") {
                $0.add(objstore_node_of_property(gone, home["Person.name"], 0), "x")
            }
            try refused(.OBJSTORE_ERR_WRONG_TYPE, "which is a property") {
                $0.add(objstore_node_of_property(jane, home["Person.friend"], 0), .node(1))
            }
            try refused(.OBJSTORE_ERR_KEY_IMMUTABLE, "Person.id") {
                $0.add(objstore_node_of_property(jane, home["Person.id"], 0), 7)
            }
            try refused(.OBJSTORE_ERR_INVALID_ARGUMENT, "nodes[1]") {
                $0.add(objstore_node_of_class(0, 0), 7)
            }
            try refused(.OBJSTORE_ERR_INVALID_ARGUMENT, "nodes[1]") {
                var node = objstore_node_of_property(jane, home["Person.id"], 0)
                node.class_id = person
                $0.add(node, 7)
            }
            try refused(.OBJSTORE_ERR_INVALID_ARGUMENT, "nodes[1]") { $0.add(person, ["id": 3], flags: 8) }
            try refused(.OBJSTORE_ERR_INVALID_ARGUMENT, "nodes[1]") {
                $0.add(person, ["id": 3], flags: OBJSTORE_NODE_ELEMENT)
            }
        }
        try verify(home.store)
    }

    /// References are errors everywhere else.
    @Test func referencesElsewhere() throws {
        let home = try graphStore()
        defer { home.close() }
        try writing(home.store) { tx in
            let jane = try home.from(tx, "Person", ["id": 1])
            for value in [objstore_node_link(0), objstore_not_given()] {
                _ = refused(objstore_set(tx, jane, home["Person.friend"], value), .OBJSTORE_ERR_WRONG_STORE)
                _ = refused(objstore_set(tx, jane, home["Person.extra"], value), .OBJSTORE_ERR_WRONG_STORE)
                _ = home.refused(tx, "Person", ["id": 2, "friend": .value(value)], .OBJSTORE_ERR_WRONG_STORE)
                _ = home.refused(tx, "Person", ["id": 2, "extra": [.value(value)]], .OBJSTORE_ERR_WRONG_STORE)
                _ = home.refused(tx, "Person", ["id": 2, "friends": [.value(value)]], .OBJSTORE_ERR_WRONG_STORE)
                _ = home.refused(tx, "Person", ["id": 2, "home": .value(value)], .OBJSTORE_ERR_WRONG_STORE)
            }
            expect(try home.count(tx, "Person") == 1)
        }
    }

    /// Longer than any stack, forwards and backwards; and one object that many lead to.
    @Test(arguments: [true, false])
    func aLongChain(forwards: Bool) throws {
        let home = try graphStore()
        defer { home.close() }
        let count = 100_000
        try writing(home.store) { tx in
            var graph = TestGraph()
            for number in 0..<count {
                let other = forwards ? number + 1 : number - 1
                graph.add(
                    home.classes["Person"]!,
                    [
                        "id": .value(objstore_int(Int64(number))),
                        "friend": other < 0 || other == count ? nil : .node(other),
                    ])
            }
            let made = try graph.make(tx)
            for number in [0, 1, count / 2, count - 1] {
                let other = forwards ? number + 1 : number - 1
                expect(
                    try home.properties(tx, made.objects[number])["friend"]
                        == (made.objects.indices.contains(other) ? home.shown(made.objects[other]) : "null"))
            }
            expect(try home.count(tx, "Person") == count)
        }
        try verify(home.store)
    }
}

/// Random graphs against what they say: every property of every object afterwards, and what became of each node.
@Test(arguments: 1...40)
func randomGraphs(_ seed: UInt64) throws {
    var random = CollectionRandom(state: seed &* 0x9e37_79b9_7f4a_7c15 | 1)
    let home = try graphStore()
    defer { home.close() }
    var fresh: Int64 = 1000
    for round in 0..<12 {
        try writing(home.store) { tx in
            let policy = [
                objstore_policy.OBJSTORE_POLICY_ERROR, .OBJSTORE_POLICY_MODIFIED, .OBJSTORE_POLICY_ALL,
            ][random.below(3)]
            var graph = RandomGraph(home, try home.dump(tx), count: 1 + random.below(10), policy, &random, &fresh)
            let what = "seed \(seed), round \(round)", before = graph.before
            if random.below(5) == 0 {
                let poisoned = graph.poison(&random)
                let (message, node) = graph.written.refused(tx, .OBJSTORE_ERR_WRONG_TYPE, policy)
                #expect(node == poisoned && message.contains("name"), "\(what): \(message)")
                let after = try home.dump(tx)
                try #require(after == before, "\(what)")
                return
            }
            let made = try graph.written.make(tx, policy)
            graph.check(made, try home.dump(tx), policy, what)
            for object in made.embedded.values where !graph.hasTwins {
                var exists = false
                try ok(objstore_exists(tx, object, &exists))
                #expect(exists, "\(what)")
            }
        }
        try verify(home.store)
    }
}

/// A random graph, and what must be there when it was made.
private struct RandomGraph {
    struct Node {
        let isPerson: Bool
        let id: Int64
        /// In the order of the class; nil: it is not given.
        var values: [(name: String, value: Nested?)]
        let isList: Bool
    }

    let home: NamedStore
    let before: [String: [String: String]]
    var nodes: [Node] = []
    private var links: [String] = []

    var hasTwins: Bool {
        let ids = nodes.filter(\.isPerson).map(\.id)
        return Set(ids).count < ids.count
    }

    init(
        _ home: NamedStore, _ before: [String: [String: String]], count: Int, _ policy: objstore_policy,
        _ random: inout CollectionRandom, _ fresh: inout Int64
    ) {
        self.home = home
        self.before = before
        let persons = (0..<count).map { _ in random.below(3) > 0 }
        for number in 0..<count {
            fresh += 1
            let id = policy == .OBJSTORE_POLICY_ERROR ? fresh : Int64(random.below(8))
            let isList = random.below(2) == 0
            func link(_ toPerson: Bool, _ random: inout CollectionRandom) -> Nested {
                let all = persons.indices.filter { persons[$0] == toPerson }
                return all.isEmpty || random.below(5) == 0 ? nil : .node(all[random.below(all.count)])
            }
            func some(_ random: inout CollectionRandom) -> [Nested] {
                var all: [Nested] = []
                for _ in 0..<random.below(4) {
                    if case .value(let value) = link(true, &random), value.kind != .OBJSTORE_KIND_NULL {
                        all.append(.value(value))
                    }
                }
                return all
            }
            func mixed(_ random: inout CollectionRandom, _ depth: Int = 0) -> Nested {
                switch random.below(depth > 2 ? 4 : 6) {
                case 0: return nil
                case 1: return .value(objstore_int(Int64(random.below(3))))
                case 2: return link(true, &random)
                case 3: return link(false, &random)
                case 4: return .list((0..<random.below(3)).map { _ in mixed(&random, depth + 1) })
                default:
                    return .map((0..<random.below(3)).map { ("k\($0)", mixed(&random, depth + 1)) })
                }
            }
            func address(_ random: inout CollectionRandom, _ depth: Int = 0) -> Nested {
                var all: [(String, Nested)] = []
                if random.below(2) == 0 { all.append(("city", .value(objstore_string(text("c\(random.below(3))"))))) }
                if random.below(2) == 0 { all.append(("keeper", link(false, &random))) }
                if random.below(2) == 0 { all.append(("note", mixed(&random))) }
                if random.below(3) == 0, depth < 3 { all.append(("inner", address(&random, depth + 1))) }
                return .map(all)
            }
            let name = Nested.value(objstore_string(text("n\(random.below(3))")))
            let values: [(String, Nested)] =
                persons[number]
                ? [
                    ("id", .value(objstore_int(id))), ("name", name), ("friend", link(true, &random)),
                    ("friends", .list(some(&random))), ("known", .list(some(&random))),
                    ("dogs", .map((0..<random.below(3)).map { ("k\($0)", link(false, &random)) })),
                    ("extra", mixed(&random)), ("anything", .list((0..<random.below(3)).map { _ in mixed(&random) })),
                    ("home", random.below(2) == 0 ? nil : address(&random)),
                    ("homes", .list((0..<random.below(3)).map { _ in address(&random) })),
                ] : [("name", name), ("owner", link(true, &random))]
            nodes.append(
                Node(
                    isPerson: persons[number], id: id,
                    values: values.map { ($0, $0 == "id" || random.below(3) > 0 ? $1 : Nested?.none) }, isList: isList))
        }
    }

    /// Makes one node wrong; which.
    mutating func poison(_ random: inout CollectionRandom) -> Int {
        let number = random.below(nodes.count), index = nodes[number].isPerson ? 1 : 0
        nodes[number].values[index].value = 5
        return number
    }

    var written: TestGraph {
        var graph = TestGraph()
        for node in nodes {
            graph.add(
                home.classes[node.isPerson ? "Person" : "Dog"]!,
                node.isList
                    ? .list(node.values.map { $0.value ?? .notGiven })
                    : .map(node.values.compactMap { name, value in value.map { (name, $0) } }))
        }
        return graph
    }

    /// A given value as it is shown when it is stored.
    private func shown(_ value: Nested, of name: String, _ made: TestGraph.Made) -> String {
        switch value {
        case .list(let all):
            if name == "known" {
                let keys = Set(all.map { shown($0, of: "", made) })
                return "[" + keys.sorted { key($0) < key($1) }.joined(separator: ", ") + "]"
            }
            return "[" + all.map { shown($0, of: name == "homes" ? "home" : "", made) }.joined(separator: ", ") + "]"
        case .map(let all):
            var entries = all.map { ($0, shown($1, of: $0 == "inner" && name == "home" ? "home" : "", made)) }
            if name == "home" {
                for missing in ["city", "keeper", "note", "inner"] where !all.contains(where: { $0.0 == missing }) {
                    entries.append((missing, "null"))
                }
            }
            return "{" + entries.map { "\($0): \($1)" }.sorted().joined(separator: ", ") + "}"
        case .value(let value):
            if value.kind == .OBJSTORE_KIND_LINK { return home.shown(made.objects[Int(value.data.link.key)]) }
            var next = 0
            return home.shown([value], &next)
        }
    }

    private func key(_ shown: String) -> Int { Int(shown.split(separator: "#")[1])! }

    func check(
        _ made: TestGraph.Made, _ after: [String: [String: String]], _ policy: objstore_policy, _ what: String
    ) {
        var expected: [String: [String: [String]]] = before.mapValues { $0.mapValues { [$0] } }
        var given: [String: [String: [String]]] = [:], counts: [String: Int] = [:]
        for (number, node) in nodes.enumerated() {
            let object = home.shown(made.objects[number])
            counts[object, default: 0] += 1
            for (name, value) in node.values {
                if let value { given[object, default: [:]][name, default: []].append(shown(value, of: name, made)) }
            }
        }
        for (number, node) in nodes.enumerated() {
            let object = home.shown(made.objects[number]), new = given[object] ?? [:]
            if expected[object] == nil {
                expected[object] =
                    node.isPerson
                    ? [
                        "name": ["\"nobody\""], "friend": ["null"], "friends": ["[]"], "known": ["[]"],
                        "dogs": ["{}"], "extra": ["null"], "anything": ["[]"], "home": ["null"], "homes": ["[]"],
                    ] : ["name": ["null"], "owner": ["null"], "tag": ["\(OBJSTORE_KIND_UUID_NUMBER)"]]
            }
            expected[object]!.merge(new) { $1 }
            guard counts[object] == 1 else { continue }
            let outcome = made.outcomes[number]
            guard let old = before[object] else {
                #expect(outcome == .OBJSTORE_OUTCOME_CREATED, "\(what), node \(number)")
                continue
            }
            #expect(node.isPerson && policy != .OBJSTORE_POLICY_ERROR, "\(what), node \(number)")
            let changes =
                policy == .OBJSTORE_POLICY_ALL
                ? new.keys.contains { $0 != "id" } : new.contains { old[$0.key] != $0.value[0] }
            #expect(
                outcome == (changes ? .OBJSTORE_OUTCOME_CHANGED : .OBJSTORE_OUTCOME_UNCHANGED),
                "\(what), node \(number): \(new), \(old)")
        }
        #expect(Set(after.keys) == Set(expected.keys), "\(what)")
        for (object, properties) in after {
            for (name, value) in properties {
                #expect(
                    expected[object]?[name]?.contains(value) == true,
                    "\(what): \(object).\(name) is \(value), not \(expected[object]?[name] ?? [])")
            }
        }
    }
}

private let OBJSTORE_KIND_UUID_NUMBER = 10
