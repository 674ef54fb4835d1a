import CObjStore
import Testing

/// A62 to A70 and A91 to A98, as texts, through the C interface. Objects come from JSON.
@Suite struct QueryScenarioTests {
    /// A store in memory, whose classes a test describes.
    private final class World {
        private var schema: OpaquePointer?
        private var opened: OpaquePointer?
        private var keyed: Set<String> = []
        var store: OpaquePointer { opened! }

        init(_ classes: String..., embedded: String...) throws {
            try ok(objstore_schema_new(&schema))
            for cls in classes + embedded { try ok(objstore_schema_add_class(schema, text(cls))) }
            for cls in embedded {
                try ok(objstore_schema_set_class_flags(schema, text(cls), UInt32(OBJSTORE_CLASS_EMBEDDED)))
            }
        }

        deinit {
            _ = objstore_close(opened)
            _ = objstore_schema_close(schema)
        }

        func has(_ cls: String, _ kind: objstore_kind, _ flags: Int32, _ names: String...) throws {
            if flags == primaryKey { keyed.insert(cls) }
            for name in names {
                try ok(objstore_schema_add_property(schema, text(cls), text(name), kind, UInt32(flags)))
            }
        }

        func links(_ cls: String, _ name: String, to target: String) throws {
            try ok(objstore_schema_add_link(schema, text(cls), text(name), text(target), 0))
        }

        func lists(_ cls: String, _ name: String, of target: String) throws {
            try ok(
                objstore_schema_add_link_collection(
                    schema, text(cls), text(name), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text(target), 0))
        }

        func inverse(_ cls: String, _ name: String, _ origin: String, _ property: String) throws {
            try ok(objstore_schema_add_inverse(schema, text(cls), text(name), text(origin), text(property)))
        }

        func collects(
            _ cls: String, _ name: String, _ collection: objstore_kind, _ key: objstore_kind, _ kind: objstore_kind
        ) throws {
            try ok(objstore_schema_add_collection(schema, text(cls), text(name), collection, key, kind, 0))
        }

        func open(_ path: String? = nil) throws { opened = try openStore(path, schema) }

        func close() throws {
            try ok(objstore_close(opened))
            opened = nil
        }

        /// What has a primary key is the same object each time.
        func make(_ cls: String, _ objects: String...) throws {
            try writing(store) { tx in
                let id = try Names(tx).cls(cls)
                let policy: objstore_policy =
                    keyed.contains(cls) ? .OBJSTORE_POLICY_MODIFIED : .OBJSTORE_POLICY_ERROR
                for json in objects {
                    try ok(
                        objstore_create_from_json(
                            tx, id, policy, UInt32(OBJSTORE_JSON_RELAXED), text(json), nil, nil, nil,
                            nil, nil))
                }
            }
        }

        /// The property `name` of what a text finds, in order.
        func find(
            _ cls: String, _ condition: String, _ arguments: objstore_value..., by name: String = "name"
        ) throws
            -> [String]
        {
            try reading(store) { view in
                let id = try Names(view).cls(cls), asked = try query(view, id, condition, arguments)
                defer { _ = objstore_query_close(asked) }
                _ = try found(asked, view)
                var results: OpaquePointer?
                try ok(objstore_query_find(asked, view, &results))
                return try names(view, results, try Names(view).property(id, name))
            }
        }

        func names(_ view: OpaquePointer, _ results: OpaquePointer?, _ name: objstore_property_id) throws -> [String] {
            var count: UInt64 = 0
            try ok(objstore_results_count(results, &count))
            return try (0..<count).map { index in
                var object = objstore_object(), buffer = objstore_buffer_init(), value = objstore_null()
                defer { _ = objstore_buffer_free(&buffer) }
                try ok(objstore_results_at(results, index, &object))
                try ok(objstore_get(view, object, name, &buffer, &value))
                return value.kind == .OBJSTORE_KIND_INT ? "\(value.data.integer)" : string(value) ?? "null"
            }
        }

        func refuses(_ cls: String, _ condition: String, _ arguments: objstore_value...) throws -> objstore_status {
            try reading(store) { view in
                var query: OpaquePointer?
                let status = objstore_query_parse(
                    view, try Names(view).cls(cls), text(condition), arguments, arguments.count, &query)
                _ = objstore_query_close(query)
                return status
            }
        }
    }

    private static func kennel(_ dogs: String...) throws -> World {
        let world = try World("Toy", "Dog")
        try world.has("Toy", .OBJSTORE_KIND_STRING, 0, "name")
        try world.has("Dog", .OBJSTORE_KIND_STRING, nullable, "name", "color")
        try world.has("Dog", .OBJSTORE_KIND_INT, 0, "age")
        try world.links("Dog", "favoriteToy", to: "Toy")
        try world.open()
        for dog in dogs { try world.make("Dog", dog) }
        return world
    }

    private static func tasks() throws -> World {
        let world = try World("Item", "Project")
        try world.has("Item", .OBJSTORE_KIND_INT, primaryKey, "id")
        try world.has("Item", .OBJSTORE_KIND_STRING, Int32(OBJSTORE_PROPERTY_FULL_TEXT), "name")
        try world.has("Item", .OBJSTORE_KIND_BOOL, 0, "isComplete")
        try world.has("Item", .OBJSTORE_KIND_STRING, nullable, "assignee")
        try world.has("Item", .OBJSTORE_KIND_INT, 0, "priority", "progressMinutes")
        try world.has("Project", .OBJSTORE_KIND_INT, primaryKey, "id")
        try world.has("Project", .OBJSTORE_KIND_STRING, 0, "name")
        try world.has("Project", .OBJSTORE_KIND_INT, nullable, "quota")
        try world.lists("Project", "items", of: "Item")
        try world.inverse("Item", "projects", "Project", "items")
        try world.open()
        try world.make(
            "Item", "[1, 'Write tests', false, 'Alex', 5, 125]", "[2, 'Run tests', false, 'Ali', 9, 10]",
            "[3, 'Bluehawk Tests', false, null, 10, 55]", "[4, 'Create a ticket', true, 'Nick', 2, 8]",
            "[5, 'Schedule a meeting', true, 'Chris', 9, 10]", "[6, 'Get coffee', false, 'Dachary', 11, 3]",
            "[7, 'Assign me to a project', false, 'Nick', 2, 0]")
        try world.make(
            "Project", "{id: 1, name: 'New Project', items: [{id: 1}, {id: 2}, {id: 3}]}",
            "{id: 2, name: 'Project with High Quota', quota: 12, items: [{id: 4}, {id: 5}, {id: 6}]}",
            "{id: 3, name: 'Another project', items: [{id: 6}]}")
        return world
    }

    private static func check(_ world: World, _ cls: String, _ cases: [(String, Int)]) throws {
        for (text, count) in cases { #expect(try world.find(cls, text).count == count, "\(text)") }
    }

    @Test("A62: results that are brought up to date") func a62() throws {
        let world = try Self.kennel("{name: 'Maui', age: 2}", "{name: 'Lita', age: 11}")
        try reading(world.store) { view in
            let dog = try Names(view).cls("Dog"), asked = try query(view, dog, "")
            defer { _ = objstore_query_close(asked) }
            var results: OpaquePointer?, count: UInt64 = 0, isOther = false
            try ok(objstore_query_find(asked, view, &results))
            try ok(objstore_results_count(results, &count))
            #expect(count == 2)
            try world.make("Dog", "{name: 'Ben', age: 1}")
            try ok(objstore_view_refresh(view, nil))
            try ok(objstore_results_update(results, &isOther))
            try ok(objstore_results_count(results, &count))
            #expect(count == 3 && isOther)
        }
    }

    @Test("A63: filters on a number and a link") func a63() throws {
        let world = try Self.kennel(
            "{name: 'Rex', age: 1}", "{name: 'Maui', age: 2, favoriteToy: {name: 'Tennis ball'}}",
            "{name: 'Lita', age: 11}")
        #expect(try world.find("Dog", "age < 2") == ["Rex"])
        #expect(try world.find("Dog", "favoriteToy == nil") == ["Rex", "Lita"])
        #expect(try world.find("Dog", "favoriteToy.name == 'Tennis ball'") == ["Maui"])
    }

    @Test("A64: a filter on an embedded object, and its order") func a64() throws {
        let world = try World("Person", embedded: "Address")
        try world.has("Person", .OBJSTORE_KIND_INT, primaryKey, "id")
        try world.has("Address", .OBJSTORE_KIND_STRING, nullable, "city", "street")
        try world.links("Person", "address", to: "Address")
        try world.open()
        try world.make(
            "Person", "{id: 0, address: {city: 'Los Angeles', street: '2 Hay Road'}}",
            "{id: 1, address: {city: 'New York', street: '1 A Street'}}",
            "{id: 2, address: {city: 'Los Angeles', street: '1 Brook Lane'}}", "{id: 9}")
        let city = objstore_string(text("Los Angeles"))
        #expect(try world.find("Person", "address.city == $0 SORT(address.street ASC)", city, by: "id") == ["2", "0"])
    }

    @Test("A65: an object id, and a text that is none") func a65() throws {
        let world = try World("Toy")
        try world.has("Toy", .OBJSTORE_KIND_OBJECT_ID, primaryKey, "_id")
        try world.has("Toy", .OBJSTORE_KIND_STRING, 0, "name")
        try world.open()
        var id = objstore_object_id(), other = objstore_object_id()
        try ok(objstore_object_id_from_text(text("11223344556677889900aabb"), &id))
        try ok(objstore_object_id_from_text(text("11223344556677889900aabc"), &other))
        try writing(world.store) { tx in
            let toy = try Names(tx).cls("Toy"), key = try Names(tx).property(toy, "_id")
            let name = try Names(tx).property(toy, "name")
            for (id, word) in [(id, "ball"), (other, "bone")] {
                let values = [objstore_object_id_value(id), objstore_string(text(word))]
                try ok(objstore_create(tx, toy, [key, name], values, 2, nil))
            }
        }
        #expect(try world.find("Toy", "_id == $0", objstore_object_id_value(id)) == ["ball"])
        #expect(try world.find("Toy", "_id == oid(11223344556677889900aabc)") == ["bone"])
        let word = objstore_string(text("11223344556677889900aabb"))
        #expect(try world.refuses("Toy", "_id == $0", word) == .OBJSTORE_ERR_WRONG_TYPE)
        #expect(try world.refuses("Toy", "_id == '11223344556677889900aabb'") == .OBJSTORE_ERR_WRONG_TYPE)
    }

    @Test("A66: sorted by one property, by two, and behind a link") func a66() throws {
        let world = try World("Item", "Dog", "Owner")
        try world.has("Item", .OBJSTORE_KIND_STRING, 0, "name")
        try world.has("Item", .OBJSTORE_KIND_INT, 0, "priority")
        try world.has("Dog", .OBJSTORE_KIND_STRING, 0, "name")
        try world.has("Owner", .OBJSTORE_KIND_STRING, 0, "name")
        try world.links("Dog", "owner", to: "Owner")
        try world.open()
        try world.make(
            "Item", "['go grocery shopping', 10]", "['throw out the trash', 4]", "['wash and dry the laundry', 2]",
            "['fold the laundry', 2]")
        try world.make("Dog", "{name: 'Barky', owner: {name: 'Moe'}}", "{name: 'Fido', owner: {name: 'Chris'}}")
        func words(_ text: String) throws -> [Substring] {
            try world.find("Item", text).map { $0.split(separator: " ")[0] }
        }
        #expect(try words("SORT(name ASC)") == ["fold", "go", "throw", "wash"])
        #expect(try words("SORT(name DESC)") == ["wash", "throw", "go", "fold"])
        #expect(try words("SORT(priority DESC, name ASC)") == ["go", "throw", "fold", "wash"])
        #expect(try world.find("Dog", "SORT(owner.name ASC)") == ["Fido", "Barky"])
        #expect(try world.find("Dog", "SORT(owner.name DESC)") == ["Barky", "Fido"])
    }

    @Test("A67: upper and lower case of letters beyond ASCII; one order, also when opened again") func a67() throws {
        let folder = TestFolder(), world = try World("Word")
        try world.has("Word", .OBJSTORE_KIND_STRING, 0, "name")
        for round in 0..<2 {
            try world.open(folder.store)
            if round == 0 { try world.make("Word", "['Éa']", "['eb']", "['Ec']", "['ĆA']", "['ća']") }
            #expect(try world.find("Word", "name ==[c] 'éA'") == ["Éa"])
            #expect(try world.find("Word", "name ==[c] 'ĆA'") == ["ĆA", "ća"])
            #expect(try world.find("Word", "name BETWEEN {'A', 'z'}") == ["eb", "Ec"])
            #expect(try world.find("Word", "SORT(name ASC)") == ["Ec", "eb", "Éa", "ĆA", "ća"])
            try world.close()
        }
    }

    @Test("A68: links and inverses are followed") func a68() throws {
        let world = try World("Dog", "Person", "DogClub")
        for cls in ["Dog", "Person", "DogClub"] {
            if cls == "Person" { try world.has(cls, .OBJSTORE_KIND_INT, primaryKey, "id") }
            try world.has(cls, .OBJSTORE_KIND_STRING, 0, "name")
        }
        try world.lists("Person", "dogs", of: "Dog")
        try world.lists("DogClub", "members", of: "Person")
        try world.has("DogClub", .OBJSTORE_KIND_INT, primaryKey, "id")
        try world.inverse("Person", "clubs", "DogClub", "members")
        try world.open()
        try world.make("Person", "{id: 12345, name: 'Ann', dogs: [{name: 'Rex'}]}", "{id: 2, name: 'Bob'}")
        try world.make("DogClub", "{id: 1, name: 'Pooch Pals', members: [{id: 12345}]}")
        #expect(try world.find("Person", "dogs[0].name == 'Rex'", by: "id") == ["12345"])
        #expect(try world.find("Person", "clubs.@count == 1 AND clubs.name == 'Pooch Pals'", by: "id") == ["12345"])
        #expect(try world.find("Dog", "@links.Person.dogs.id == 12345") == ["Rex"])
        #expect(try world.find("DogClub", "members.dogs.name == 'Rex'") == ["Pooch Pals"])
    }

    @Test("A69: aggregates of collections") func a69() throws {
        try Self.check(
            try Self.tasks(), "Project",
            [
                ("items.@avg.priority > 5", 3), ("items.@max.priority < 5", 0), ("items.@min.priority > 5", 1),
                ("items.@count > 5", 0), ("items.@sum.progressMinutes > 100", 1),
            ])
    }

    @Test("A70: a query of a query") func a70() throws {
        let world = try Self.kennel(
            "{name: 'Bo', age: 1, color: 'tan'}", "{name: 'Ax', age: 2, color: 'tan'}",
            "{name: 'Bim', age: 3, color: 'black'}")
        try reading(world.store) { view in
            let dog = try Names(view).cls("Dog"), age = try Names(view).property(dog, "age")
            let tan = try query(view, dog, "color == 'tan'"), word = try query(view, dog, "name BEGINSWITH 'B'")
            var named: OpaquePointer?, all: OpaquePointer?, some: OpaquePointer?
            try ok(objstore_query_then(tan, word, &named))
            defer { for query in [tan, word, named] { _ = objstore_query_close(query) } }
            try ok(objstore_query_find(tan, view, &all))
            try ok(objstore_query_find(named, view, &some))
            #expect(try world.names(view, all, age) == ["1", "2"] && world.names(view, some, age) == ["1"])
            try world.make("Dog", "{name: 'Bo', age: 4, color: 'tan'}")
            try ok(objstore_view_refresh(view, nil))
            for results in [all, some] { try ok(objstore_results_update(results, nil)) }
            #expect(try world.names(view, all, age) == ["1", "2", "4"])
            #expect(try world.names(view, some, age) == ["1", "4"])
        }
    }

    @Test("A91: comparisons") func a91() throws {
        try Self.check(
            try Self.tasks(), "Item",
            [
                ("priority > 5", 4), ("progressMinutes > 120", 1), ("assignee == nil", 1),
                ("progressMinutes BETWEEN {30, 60}", 1), ("progressMinutes IN {10, 20, 30, 40, 50, 60}", 2),
                ("assignee == 'Ali' AND isComplete == true", 0),
            ])
    }

    @Test("A92: any, all and none") func a92() throws {
        try Self.check(
            try Self.tasks(), "Project",
            [
                ("NONE items.isComplete == true", 2), ("ANY items.priority == 10", 1),
                ("ALL items.isComplete == true", 0), ("ANY items.assignee IN {'Alex', 'Ali'}", 1),
                ("NONE items.assignee IN {'Alex', 'Ali'}", 2),
            ])
    }

    @Test("A93: inverses") func a93() throws {
        let world = try Self.tasks()
        try Self.check(
            world, "Item",
            [
                ("@links.Project.items.quota > 10", 3), ("projects.quota > 10", 3),
                ("@links.Project.items.@count == 0", 1), ("@links.@count == 0", 1),
            ])
        #expect(try world.find("Item", "projects.@count > 1") == ["Get coffee"])
        #expect(try world.find("Item", "projects.@count == 0") == ["Assign me to a project"])
    }

    @Test("A94: subqueries") func a94() throws {
        let world = try Self.tasks()
        let byAlex = "SUBQUERY(items, $item, $item.isComplete == false AND $item.assignee == 'Alex').@count > 0"
        #expect(try world.find("Project", byAlex) == ["New Project"])
        try world.make("Project", "{id: 4, name: 'Project with Quota', quota: 2, items: [{id: 4}, {id: 5}, {id: 1}]}")
        let reached = "SUBQUERY(items, $i, $i.isComplete == true).@count >= quota"
        #expect(try world.find("Project", reached) == ["Project with Quota"])
    }

    @Test("A95: arithmetic and words") func a95() throws {
        try Self.check(
            try Self.tasks(), "Item",
            [
                ("2 * priority > 6", 5), ("priority >= 2 * (2 - 1) + 2", 5), ("progressMinutes * priority == 90", 2),
                ("name TEXT 'write'", 1), ("name TEXT 'write -tests'", 0), ("name TEXT 'wri*'", 1),
            ])
    }

    @Test("A96: dictionaries of any values") func a96() throws {
        let world = try World("Bag")
        try world.has("Bag", .OBJSTORE_KIND_STRING, 0, "name")
        try world.collects("Bag", "dict", .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_MIXED)
        try world.open()
        try world.make(
            "Bag", "{name: '1', dict: {foo: 'bar'}}", "{name: '2', dict: {isTrue: false}}",
            "{name: '3', dict: {baz: 'Biz', num: 1.0}}")
        try Self.check(
            world, "Bag",
            [
                ("ANY dict.@keys == 'foo'", 1), ("dict['foo'] == 'bar'", 1), ("dict.@count > 1", 1),
                ("ANY dict.@type == 'string'", 2), ("ALL dict.@type == 'bool'", 1),
                ("NONE dict.@type == 'double'", 2), ("dict.@type == 'string'", 2),
            ])
    }

    @Test("A97: nested values of any type") func a97() throws {
        let world = try World("Team")
        try world.has("Team", .OBJSTORE_KIND_STRING, 0, "name")
        try world.has("Team", .OBJSTORE_KIND_MIXED, 0, "eventLog")
        try world.open()
        try world.make(
            "Team",
            """
            {name: 'Janitorial', eventLog: [{id: 1, priority: 'high', type: ['work_order', 'maintenance']},
                                            {id: 2, priority: 'low', type: ['maintenance']}]}
            """,
            "{name: 'IT', eventLog: [{id: 1, priority: 'high', type: ['hardware', 'repair']}]}")
        try Self.check(
            world, "Team",
            [
                ("eventLog[*].priority == 'high'", 2), ("eventLog[*].type[FIRST] == 'maintenance'", 1),
                ("eventLog[*].type[*] == {'maintenance', 'work_order'}", 0), ("eventLog[*].type.@type == 'list'", 2),
            ])
    }

    @Test("A98: places in circles, boxes and polygons") func a98() throws {
        let world = try World("Company", embedded: "GeoPt")
        try world.has("Company", .OBJSTORE_KIND_STRING, 0, "name")
        try world.links("Company", "location", to: "GeoPt")
        try world.has("GeoPt", .OBJSTORE_KIND_STRING, 0, "type")
        try world.collects("GeoPt", "coordinates", .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_DOUBLE)
        try world.open()
        try world.make(
            "Company", "{name: 'C1', location: {type: 'Point', coordinates: [-122.35, 47.68]}}",
            "{name: 'C2', location: {type: 'Point', coordinates: [-121.85, 47.9]}}", "{name: 'nowhere'}")
        let radians = 44.4 / 6378.1, degrees = 0.25 * Double.pi / 180
        try Self.check(
            world, "Company",
            [
                ("location GEOWITHIN geoCircle([-122.6, 47.8], \(radians))", 1),
                ("location GEOWITHIN geoCircle([-121.9, 47.3], \(degrees))", 0),
                ("location GEOWITHIN geoBox([-122.7, 47.3], [-122.1, 48.1])", 1),
                ("location GEOWITHIN geoBox([-122.4, 47.5], [-121.8, 47.9])", 2),
                (
                    """
                    location GEOWITHIN geoPolygon({[-122.8, 48.0], [-121.8, 48.2], [-121.6, 47.6], [-122.0, 47.0], \
                    [-122.6, 47.2], [-122.8, 48.0]})
                    """, 2
                ),
            ])
    }
}
