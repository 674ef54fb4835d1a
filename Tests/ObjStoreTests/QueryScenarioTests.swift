import ObjStore
import Testing

/// A62, A63, A65 to A67, A70, A91 and A95: as far as conditions are about properties of the class itself.
@Suite struct QueryScenarioTests {
    final class Item: Object {
        @Persisted(primaryKey: true) var _id = ObjectId.generate()
        @Persisted var name = ""
        @Persisted var isComplete = false
        @Persisted var assignee: String?
        @Persisted var priority = 0
        @Persisted var progressMinutes = 0
    }
    final class Word: Object {
        @Persisted var text = ""
    }

    private static func items() throws -> Results<Item> {
        let store = try memoryStore([Item.self])
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
        }
        return store.objects(Item.self)
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
        try store.write { _ in dogs[1].favoriteToy = K.Toy() }
        #expect(try dogs.filter("age < 2").map(\.name) == ["Rex"] && dogs.where { $0.age < 2 }.map(\.name) == ["Rex"])
        #expect(
            try dogs.filter("favoriteToy == nil").map(\.name) == ["Rex", "Lita"]
                && dogs.where { $0.favoriteToy == nil }.map(\.name) == ["Rex", "Lita"])
    }

    @Test("A65: an object id, and a text that is none") func a65() throws {
        let items = try Self.items(), id = items[2]._id
        #expect(try items.filter("_id == $0", id).map(\.name) == ["Bluehawk Tests"])
        #expect(items.where { $0._id == id }.count == 1)
        #expect(code { try items.filter("_id == $0", "11223344556677889900aabb") } == .wrongType)
        #expect(code { try items.filter("_id == '11223344556677889900aabb'") } == .wrongType)
    }

    @Test("A66: sorted by one property and by two") func a66() throws {
        let store = try memoryStore([Item.self]), items = store.objects(Item.self)
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

    @Test("A95: arithmetic") func a95() throws {
        let items = try Self.items()
        for (text, count) in [
            ("2 * priority > 6", 5), ("priority >= 2 * (2 - 1) + 2", 5), ("progressMinutes * priority == 90", 2),
        ] { #expect(try items.filter(text).count == count, "\(text)") }
        #expect(items.where { 2 * $0.priority > 6 }.count == 5)
        #expect(items.where { $0.priority >= 2 * (2 - 1) + 2 }.count == 5)
        #expect(items.where { $0.progressMinutes * $0.priority == 90 }.count == 2)
    }
}
