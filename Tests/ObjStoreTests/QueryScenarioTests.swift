import ObjStore
import Testing

/// A62 to A70 and A91 to A98: typed as far as there is an expression for it, and as text.
@Suite struct QueryScenarioTests {
    final class Item: Object {
        @Persisted(primaryKey: true) var _id = ObjectId.generate()
        @Persisted(fullText: true) var name = ""
        @Persisted var isComplete = false
        @Persisted var assignee: String?
        @Persisted var priority = 0
        @Persisted var progressMinutes = 0
        @Persisted(originProperty: "items") var projects: LinkingObjects<Project>
    }
    final class Project: Object {
        @Persisted var name = ""
        @Persisted var items: List<Item>
        @Persisted var quota: Int?
    }
    final class Word: Object {
        @Persisted var text = ""
    }

    private static func items() throws -> Results<Item> { try tasks().objects(Item.self) }

    private static func tasks() throws -> Store {
        let store = try memoryStore([Item.self, Project.self])
        try store.write { tx in
            for (name, isComplete, assignee, priority, minutes) in [
                ("Write tests", false, "Alex", 5, 125), ("Run tests", false, "Ali", 9, 10),
                ("Bluehawk Tests", false, nil, 10, 55), ("Create a ticket", true, "Nick", 2, 8),
                ("Schedule a meeting", true, "Chris", 9, 10), ("Get coffee", false, "Dachary", 11, 3),
                ("Assign me to a project", false, "Nick", 2, 0),
            ] as [(String, Bool, String?, Int, Int)] {
                try tx.create(
                    Item.self,
                    value: [
                        "name": name, "isComplete": isComplete, "assignee": assignee, "priority": priority,
                        "progressMinutes": minutes,
                    ] as [String: Any?])
            }
            let items = Array(store.objects(Item.self))
            for (name, quota, part) in [
                ("New Project", nil, items[0..<3]), ("Project with High Quota", 12, items[3..<6]),
                ("Another project", nil, items[5..<6]),
            ] as [(String, Int?, ArraySlice<Item>)] {
                try tx.create(
                    Project.self, value: ["name": name, "quota": quota, "items": Array(part)] as [String: Any?])
            }
        }
        return store
    }

    private static func kennel(_ dogs: [(name: String, age: Int, color: String)]) throws -> Store {
        let store = try memoryStore(K.models)
        try store.write { tx in
            for dog in dogs {
                try tx.create(K.Dog.self, value: ["name": dog.name, "age": dog.age, "color": dog.color])
            }
        }
        return store
    }

    @Test("A62: results are live") func a62() throws {
        let store = try Self.kennel([("Maui", 2, ""), ("Lita", 11, "")]), dogs = store.objects(K.Dog.self)
        #expect(dogs.count == 2)
        try store.write { tx in try tx.create(K.Dog.self, value: ["name": "Ben"]) }
        #expect(dogs.count == 3)
    }

    @Test("A63: filters on a number and a link") func a63() throws {
        let store = try Self.kennel([("Rex", 1, ""), ("Maui", 2, ""), ("Lita", 11, "")]),
            dogs = store.objects(K.Dog.self)
        try store.write { _ in
            dogs[1].favoriteToy = K.Toy()
            dogs[1].favoriteToy?.name = "Tennis ball"
        }
        #expect(try dogs.filter("age < 2").map(\.name) == ["Rex"] && dogs.where { $0.age < 2 }.map(\.name) == ["Rex"])
        #expect(
            try dogs.filter("favoriteToy == nil").map(\.name) == ["Rex", "Lita"]
                && dogs.where { $0.favoriteToy == nil }.map(\.name) == ["Rex", "Lita"])
        #expect(try dogs.filter("favoriteToy.name == 'Tennis ball'").map(\.name) == ["Maui"])
        #expect(dogs.where { $0.favoriteToy.name == "Tennis ball" }.map(\.name) == ["Maui"])
    }

    @Test("A64: a filter on an embedded object, and its order") func a64() throws {
        let store = try memoryStore(K.models), people = store.objects(K.Person.self)
        try store.write { tx in
            for (id, (city, street)) in [
                ("Los Angeles", "2 Hay Road"), ("New York", "1 A Street"), ("Los Angeles", "1 Brook Lane"),
            ].enumerated() {
                try tx.create(K.Person.self, value: ["id": id, "address": ["city": city, "street": street]])
            }
            try tx.create(K.Person.self, value: ["id": 9])
        }
        let text = try people.filter("address.city == $0 SORT(address.street ASC)", "Los Angeles")
        let typed = people.where { $0.address.city == "Los Angeles" }.sorted(by: \.address?.street)
        #expect(text.map(\.id) == [2, 0] && typed.map(\.id) == [2, 0])
    }

    @Test("A65: an object id, and a text that is none") func a65() throws {
        let items = try Self.items(), id = items[2]._id
        #expect(try items.filter("_id == $0", id).map(\.name) == ["Bluehawk Tests"])
        #expect(items.where { $0._id == id }.count == 1)
        #expect(code { try items.filter("_id == $0", "11223344556677889900aabb") } == .wrongType)
        #expect(code { try items.filter("_id == '11223344556677889900aabb'") } == .wrongType)
    }

    @Test("A66: sorted by one property and by two") func a66() throws {
        let store = try memoryStore([Item.self, Project.self]), items = store.objects(Item.self)
        try store.write { tx in
            for (name, priority) in [
                ("go grocery shopping", 10), ("throw out the trash", 4), ("wash and dry the laundry", 2),
                ("fold the laundry", 2),
            ] { try tx.create(Item.self, value: ["name": name, "priority": priority] as [String: Any]) }
        }
        func words(_ results: Results<Item>) -> [Substring?] { results.map { $0.name.split(separator: " ").first } }
        let ascending: [Substring?] = ["fold", "go", "throw", "wash"]
        #expect(words(items.sorted(by: \.name)) == ascending)
        #expect(words(items.sorted(by: \.name, ascending: false)) == ascending.reversed())
        #expect(
            words(items.sorted(by: [SortKey(\.priority, ascending: false), SortKey(\.name)])) == [
                "go", "throw", "fold", "wash",
            ])
        #expect(try words(items.filter("SORT(priority DESC, name ASC)")) == ["go", "throw", "fold", "wash"])
        let owned = try memoryStore(P.models), dogs = owned.objects(P.Dog.self)
        try owned.write { tx in
            for (id, (dog, owner)) in [("Barky", "Moe"), ("Fido", "Chris")].enumerated() {
                try tx.create(
                    P.Dog.self, value: ["id": id, "name": dog, "owner": ["id": id, "name": owner]] as [String: Any])
            }
        }
        #expect(dogs.sorted(by: \.owner?.name).map(\.name) == ["Fido", "Barky"])
        #expect(try dogs.filter("SORT(owner.name DESC)").map(\.name) == ["Barky", "Fido"])
    }

    @Test("A67: upper and lower case of letters beyond ASCII; one order, also when opened again") func a67() throws {
        let folder = Folder(), words = ["Éa", "eb", "Ec", "ĆA", "ća"]
        var orders: [[String]] = []
        for round in 0..<2 {
            let store = try Store.open(path: folder.file(), models: [Word.self]), all = store.objects(Word.self)
            if round == 0 { try store.write { tx in for word in words { try tx.create(Word.self, value: [word]) } } }
            #expect(all.where { $0.text.equals("éA", options: .caseInsensitive) }.map(\.text) == ["Éa"])
            #expect(all.where { $0.text.equals("ĆA", options: .caseInsensitive) }.map(\.text) == ["ĆA", "ća"])
            #expect(all.where { $0.text.contains("A"..."z") }.map(\.text) == ["eb", "Ec"])
            orders.append(all.sorted(by: \.text).map(\.text))
            try store.close()
        }
        #expect(orders[0] == orders[1] && orders[0] == ["Ec", "eb", "Éa", "ĆA", "ća"])
    }

    @Test("A68: links and inverses are followed") func a68() throws {
        let store = try memoryStore(P.models)
        try store.write { tx in
            let rex = try tx.create(P.Dog.self, value: ["id": 1, "name": "Rex"] as [String: Any])
            try tx.create(P.Person.self, value: ["id": 12345, "dogs": [rex]] as [String: Any])
            try tx.create(P.Person.self, value: ["id": 2])
        }
        let people = store.objects(P.Person.self), dogs = store.objects(P.Dog.self)
        #expect(people.where { $0.dogs[0].name == "Rex" }.map(\.id) == [12345])
        #expect(try people.filter("dogs[0].name == 'Rex'").first?.dogs[0].name == "Rex")
        #expect(dogs.where { $0.keepers.count == 1 && $0.keepers.id == 12345 }.map(\.name) == ["Rex"])
        #expect(try dogs.filter("@links.Person.dogs.@count == 1").first?.keepers.first?.id == 12345)
    }

    @Test("A69: aggregates of collections") func a69() throws {
        let projects = try Self.tasks().objects(Project.self)
        for (text, count) in [
            ("items.@avg.priority > 5", 3), ("items.@max.priority < 5", 0), ("items.@min.priority > 5", 1),
            ("items.@count > 5", 0), ("items.@sum.progressMinutes > 100", 1),
        ] { #expect(try projects.filter(text).count == count, "\(text)") }
        #expect(projects.where { $0.items.priority.avg > 5 }.count == 3)
        #expect(projects.where { $0.items.priority.max < 5 }.isEmpty)
        #expect(projects.where { $0.items.priority.min > 5 }.count == 1)
        #expect(projects.where { $0.items.count > 5 }.isEmpty)
        #expect(projects.where { $0.items.progressMinutes.sum > 100 }.count == 1)
    }

    @Test("A70: a query of a query") func a70() throws {
        let store = try Self.kennel([("Bo", 1, "tan"), ("Ax", 2, "tan"), ("Bim", 3, "black")])
        let tan = store.objects(K.Dog.self).where { $0.color == "tan" }
        let named = try tan.filter("name BEGINSWITH 'B'"), same = tan.where { $0.name.starts(with: "B") }
        #expect(tan.count == 2 && named.map(\.age) == [1] && same.map(\.age) == [1])
        try store.write { tx in try tx.create(K.Dog.self, value: ["name": "Bo", "age": 4, "color": "tan"]) }
        #expect(tan.map(\.age) == [1, 2, 4] && named.map(\.age) == [1, 4] && same.map(\.age) == [1, 4])
    }

    @Test("A91: comparisons") func a91() throws {
        let items = try Self.items()
        for (text, count) in [
            ("priority > 5", 4), ("progressMinutes > 120", 1), ("assignee == nil", 1),
            ("progressMinutes BETWEEN {30, 60}", 1), ("progressMinutes IN {10, 20, 30, 40, 50, 60}", 2),
            ("assignee == 'Ali' AND isComplete == true", 0),
        ] { #expect(try items.filter(text).count == count, "\(text)") }
        #expect(items.where { $0.priority > 5 }.count == 4 && items.where { $0.progressMinutes > 120 }.count == 1)
        #expect(
            items.where { $0.assignee == nil }.count == 1
                && items.where { $0.progressMinutes.contains(30...60) }.count == 1
        )
        #expect(items.where { $0.progressMinutes.in([10, 20, 30, 40, 50, 60]) }.count == 2)
        #expect(items.where { $0.assignee == "Ali" && $0.isComplete }.isEmpty)
    }

    @Test("A92: any, all and none") func a92() throws {
        let projects = try Self.tasks().objects(Project.self)
        for (text, count) in [
            ("NONE items.isComplete == true", 2), ("ANY items.priority == 10", 1), ("ALL items.isComplete == true", 0),
            ("ANY items.assignee IN {'Alex', 'Ali'}", 1), ("NONE items.assignee IN {'Alex', 'Ali'}", 2),
        ] { #expect(try projects.filter(text).count == count, "\(text)") }
        #expect(projects.where { $0.items.none { $0.isComplete } }.count == 2)
        #expect(projects.where { $0.items.isComplete.none }.count == 2)
        #expect(projects.where { $0.items.any { $0.priority == 10 } }.count == 1)
        #expect(projects.where { $0.items.priority == 10 }.count == 1)
        #expect(projects.where { $0.items.all { $0.isComplete } }.isEmpty)
        #expect(projects.where { $0.items.assignee.in(["Alex", "Ali"]) }.count == 1)
        #expect(projects.where { $0.items.assignee.none.in(["Alex", "Ali"]) }.count == 2)
    }

    @Test("A93: inverses") func a93() throws {
        let items = try Self.items()
        for (text, count) in [
            ("@links.Project.items.quota > 10", 3), ("@links.Project.items.@count > 1", 1),
            ("@links.Project.items.@count == 0", 1), ("@links.@count == 0", 1),
            // By the name of the inverse.
            ("projects.quota > 10", 3), ("projects.@count > 1", 1), ("projects.@count == 0", 1),
            ("SUBQUERY(projects, $p, $p.items.projects.@count > 1).@count == 2", 1),
        ] { #expect(try items.filter(text).count == count, "\(text)") }
        #expect(items.where { $0.projects.quota > 10 }.count == 3)
        #expect(items.where { $0.projects.count > 1 }.map(\.name) == ["Get coffee"])
        #expect(items.where { $0.projects.count == 0 }.map(\.name) == ["Assign me to a project"])
    }

    @Test("A94: subqueries") func a94() throws {
        let store = try Self.tasks(), projects = store.objects(Project.self), items = store.objects(Item.self)
        let byAlex = try projects.filter(
            "SUBQUERY(items, $item, $item.isComplete == false AND $item.assignee == 'Alex').@count > 0")
        #expect(byAlex.map(\.name) == ["New Project"])
        #expect(
            projects.where { (!$0.items.isComplete && $0.items.assignee == "Alex").count > 0 }.map(\.name) == [
                "New Project"
            ]
        )
        try store.write { tx in
            let three = [items[3], items[4], items[0]]
            try tx.create(
                Project.self, value: ["name": "Project with Quota", "quota": 2, "items": three] as [String: Any])
        }
        #expect(
            try projects.filter("SUBQUERY(items, $i, $i.isComplete == true).@count >= quota").map(\.name) == [
                "Project with Quota"
            ])
        #expect(
            projects.where { $0.items.count(where: { $0.isComplete }) >= $0.quota }.map(\.name) == [
                "Project with Quota"
            ])
    }

    @Test("A95: arithmetic") func a95() throws {
        let items = try Self.items()
        for (text, count) in [
            ("2 * priority > 6", 5), ("priority >= 2 * (2 - 1) + 2", 5), ("progressMinutes * priority == 90", 2),
        ] { #expect(try items.filter(text).count == count, "\(text)") }
        #expect(items.where { 2 * $0.priority > 6 }.count == 5)
        #expect(items.where { $0.priority >= 2 * (2 - 1) + 2 }.count == 5)
        #expect(items.where { $0.progressMinutes * $0.priority == 90 }.count == 2)
        for (words, count) in [("write", 1), ("write -tests", 0), ("wri*", 1)] {
            #expect(try items.filter("name TEXT $0", words).count == count, "\(words)")
            #expect(items.where { $0.name.search(words) }.count == count, "\(words)")
        }
    }

    final class Bag: Object {
        @Persisted var dict: Map<String, AnyValue>
    }
    final class Team: Object {
        @Persisted var name = ""
        @Persisted var eventLog: AnyValue
    }

    @Test("A96: dictionaries of any values") func a96() throws {
        let store = try memoryStore([Bag.self]), bags = store.objects(Bag.self)
        try store.write { tx in
            for dict in [["foo": "bar"], ["isTrue": false], ["baz": "Biz", "num": 1.0]] as [[String: AnyValue]] {
                try tx.create(Bag.self, value: ["dict": dict])
            }
        }
        for (text, count) in [
            ("ANY dict.@keys == 'foo'", 1), ("dict['foo'] == 'bar'", 1), ("dict.@count > 1", 1),
            ("ANY dict.@type == 'string'", 2), ("ALL dict.@type == 'bool'", 1), ("NONE dict.@type == 'double'", 2),
            ("dict.@type == 'string'", 2),
        ] { #expect(try bags.filter(text).count == count, "\(text)") }
        #expect(bags.where { $0.dict.keys == "foo" }.count == 1 && bags.where { $0.dict["foo"] == "bar" }.count == 1)
        #expect(bags.where { $0.dict.count > 1 }.count == 1 && bags.where { $0.dict.values == false }.count == 1)
    }

    @Test("A97: nested values of any type") func a97() throws {
        let store = try memoryStore([Team.self]), teams = store.objects(Team.self)
        try store.write { tx in
            try tx.create(
                Team.self,
                value: [
                    "Janitorial",
                    [
                        ["id": 1, "priority": "high", "type": ["work_order", "maintenance"]],
                        ["id": 2, "priority": "low", "type": ["maintenance"]],
                    ],
                ])
            try tx.create(
                Team.self, value: ["IT", [["id": 1, "priority": "high", "type": ["hardware", "repair"]]]])
        }
        for (text, count) in [
            ("eventLog[*].priority == 'high'", 2), ("eventLog[*].type[FIRST] == 'maintenance'", 1),
            ("eventLog[*].type[*] == {'maintenance', 'work_order'}", 0), ("eventLog[*].type.@type == 'list'", 2),
        ] { #expect(try teams.filter(text).count == count, "\(text)") }
        #expect(teams.where { $0.eventLog.any["priority"] == "high" }.count == 2)
        #expect(teams.where { $0.eventLog.any["type"][0] == "maintenance" }.map(\.name) == ["Janitorial"])
        #expect(teams.where { $0.eventLog[0]["type"].any == "repair" }.map(\.name) == ["IT"])
    }

    @Test("A98: places in circles, boxes and polygons") func a98() throws {
        let store = try memoryStore([GeoShop.self, GeoSpot.self]), shops = store.objects(GeoShop.self)
        try store.write { tx in
            for (name, place) in [("C1", [-122.35, 47.68]), ("C2", [-121.85, 47.9])] as [(String, [Double])] {
                try tx.create(
                    GeoShop.self,
                    value: ["name": name, "home": ["type": "Point", "coordinates": place] as [String: Any]]
                        as [String: Any])
            }
            try tx.create(GeoShop.self, value: ["name": "nowhere"])
        }
        func point(_ longitude: Double, _ latitude: Double) -> GeoPoint {
            GeoPoint(latitude: latitude, longitude: longitude)
        }
        let circle = GeoCircle(center: point(-122.6, 47.8), radius: .kilometers(44.4))
        let small = GeoCircle(center: point(-121.9, 47.3), radius: .degrees(0.25))
        let box = GeoBox(bottomLeft: point(-122.7, 47.3), topRight: point(-122.1, 48.1))
        let other = GeoBox(bottomLeft: point(-122.4, 47.5), topRight: point(-121.8, 47.9))
        let polygon = GeoPolygon(outerRing: [
            point(-122.8, 48.0), point(-121.8, 48.2), point(-121.6, 47.6), point(-122.0, 47.0), point(-122.6, 47.2),
            point(-122.8, 48.0),
        ])
        func check(_ shape: some GeoShape, _ count: Int) throws {
            #expect(shops.where { $0.home.geoWithin(shape) }.count == count)
            #expect(try shops.filter("home GEOWITHIN $0", shape).count == count)
        }
        try check(circle, 1)
        try check(small, 0)
        try check(box, 1)
        try check(other, 2)
        try check(polygon, 2)
    }
}
