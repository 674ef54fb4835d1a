import CObjStore
import Testing

// The acceptance scenarios of nested values, embedded objects and copies, under their numbers.

/// Dog, Person and Address of the kennel; Toy2 has no defaults.
private func kennel() throws -> NamedStore {
    try NamedStore { schema in
        for cls in ["Dog", "Person", "Address", "Toy2", "Wolf"] { try ok(objstore_schema_add_class(schema, text(cls))) }
        try ok(objstore_schema_set_class_flags(schema, text("Address"), UInt32(OBJSTORE_CLASS_EMBEDDED)))
        func scalar(
            _ cls: String, _ name: String, _ kind: objstore_kind, _ flags: UInt32 = 0, _ value: objstore_value? = nil
        ) throws {
            try ok(objstore_schema_add_property(schema, text(cls), text(name), kind, flags))
            if let value { try ok(objstore_schema_set_default(schema, text(cls), text(name), value)) }
        }
        let none = objstore_string(text(""))
        try scalar("Dog", "name", .OBJSTORE_KIND_STRING, 0, none)
        try scalar("Dog", "age", .OBJSTORE_KIND_INT, 0, objstore_int(0))
        try scalar("Dog", "color", .OBJSTORE_KIND_STRING, 0, none)
        try ok(
            objstore_schema_add_collection(
                schema, text("Dog"), text("citiesVisited"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL,
                .OBJSTORE_KIND_STRING, 0))
        try ok(
            objstore_schema_add_collection(
                schema, text("Dog"), text("parks"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_STRING, 0)
        )
        try scalar("Person", "id", .OBJSTORE_KIND_INT, UInt32(OBJSTORE_PROPERTY_PRIMARY_KEY))
        try scalar("Person", "name", .OBJSTORE_KIND_STRING, 0, none)
        try ok(
            objstore_schema_add_link_collection(
                schema, text("Person"), text("dogs"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Dog"), 0))
        try ok(objstore_schema_add_link(schema, text("Person"), text("address"), text("Address"), 0))
        try ok(objstore_schema_add_link(schema, text("Person"), text("dog"), text("Dog"), 0))
        for name in ["street", "city"] { try scalar("Address", name, .OBJSTORE_KIND_STRING, UInt32(nullable)) }
        try scalar("Toy2", "name", .OBJSTORE_KIND_STRING)
        try scalar("Toy2", "age", .OBJSTORE_KIND_INT)
        try scalar("Wolf", "name", .OBJSTORE_KIND_STRING)
        try ok(objstore_schema_add_link(schema, text("Wolf"), text("next"), text("Wolf"), 0))
    }
}

@Test("A17: a dog from names, the rest by default") func a17() throws {
    let k = try kennel()
    defer { k.close() }
    try writing(k.store) { tx in
        let pluto = try k.from(tx, "Dog", ["name": "Pluto", "age": 3])
        expect(
            try k.text(tx, pluto, "Dog.name") == "Pluto" && k.int(tx, pluto, "Dog.age") == 3
                && k.text(tx, pluto, "Dog.color") == "")
        expect(try k.elements(tx, pluto, "Dog.citiesVisited").isEmpty && k.elements(tx, pluto, "Dog.parks").isEmpty)
    }
}

@Test("A18, A107: values in the order of the properties") func a18() throws {
    let k = try kennel()
    defer { k.close() }
    try writing(k.store) { tx in
        let fido = try k.from(tx, "Toy2", ["Fido", 5])
        expect(try k.text(tx, fido, "Toy2.name") == "Fido" && k.int(tx, fido, "Toy2.age") == 5)
        // A prefix, where what is left out has defaults.
        let rex = try k.from(tx, "Dog", ["Rex"])
        expect(try k.text(tx, rex, "Dog.name") == "Rex" && k.int(tx, rex, "Dog.age") == 0)
    }
}

@Test("A19: too many values, a wrong type, a missing value") func a19() throws {
    let k = try kennel()
    defer { k.close() }
    try writing(k.store) { tx in
        #expect(
            k.refused(tx, "Toy2", ["Fido", 5, "extra"], .OBJSTORE_ERR_OUT_OF_RANGE).contains(
                "more values (3) than properties (2)"))
        #expect(k.refused(tx, "Toy2", ["Fido", "five"], .OBJSTORE_ERR_WRONG_TYPE).contains("Toy2.age"))
        #expect(k.refused(tx, "Toy2", ["Fido"], .OBJSTORE_ERR_MISSING_VALUE).contains("Toy2.age"))
        #expect(
            k.refused(tx, "Dog", ["Rex"], .OBJSTORE_ERR_MISSING_VALUE, flags: UInt32(OBJSTORE_FROM_EXACT)).contains(
                "age"))
        expect(try k.count(tx, "Toy2") == 0 && k.count(tx, "Dog") == 0)
    }
}

@Test("A20: dogs inside a person, as objects and as values") func a20() throws {
    let k = try kennel()
    defer { k.close() }
    try writing(k.store) { tx in
        let dogs = [try k.from(tx, "Dog", ["Buster", 5]), try k.from(tx, "Dog", ["Buddy", 6])]
        let jane = try k.from(tx, "Person", [123, "Jane", [.link(dogs[0]), .link(dogs[1])]])
        let joan = try k.from(tx, "Person", [124, "Joan", [["Buster", 5], ["Buddy", 6]]])
        for person in [jane, joan] {
            let names = try k.elements(tx, person, "Person.dogs").map { try k.text(tx, $0.data.link, "Dog.name")! }
            #expect(names == ["Buster", "Buddy"])
        }
        expect(try k.count(tx, "Dog") == 4)
    }
}

@Test("A35: a partial update keeps what is not given and replaces lists") func a35() throws {
    let k = try kennel()
    defer { k.close() }
    try writing(k.store) { tx in
        let jane = try k.from(tx, "Person", [123, "Jane", [["Rex", 1]]])
        let same = try k.from(tx, "Person", ["id": 123, "dogs": [["Buster", 5]]], .OBJSTORE_POLICY_MODIFIED)
        #expect(same.key == jane.key)
        expect(try k.text(tx, jane, "Person.name") == "Jane")
        let dogs = try k.elements(tx, jane, "Person.dogs")
        expect(try dogs.count == 1 && k.text(tx, dogs[0].data.link, "Dog.name") == "Buster")
        expect(try k.count(tx, "Dog") == 2)
    }
}

@Test("A38, A84: embedded objects live and go with their parent") func a38() throws {
    let k = try kennel()
    defer { k.close() }
    try writing(k.store) { tx in
        let nick = try k.from(
            tx, "Person",
            ["id": 1, "name": "Nick Riviera", "address": ["street": "123 Fake St", "city": "Springfield"]])
        let first = try k.value(tx, nick, "Person.address").data.link
        expect(try k.text(tx, first, "Address.city") == "Springfield")
        var exists = true, second = objstore_object()
        try ok(objstore_create_embedded(tx, nick, k["Person.address"], objstore_null(), nil, nil, 0, &second))
        try ok(objstore_exists(tx, first, &exists))
        #expect(!exists)
        expect(try k.count(tx, "Address") == 1)
        try ok(objstore_delete(tx, nick))
        expect(try k.count(tx, "Address") == 0)
    }
    try verify(k.store)
}

@Test("A39, A86: maps by key, in values and one by one") func a39() throws {
    let k = try kennel()
    defer { k.close() }
    try writing(k.store) { tx in
        let wolfie = try k.from(tx, "Dog", ["name": "Wolfie", "parks": ["New York": "Domino Park"]])
        let parks = objstore_collection_of(wolfie, k["Dog.parks"])
        func set(_ key: String, _ value: String) throws {
            try ok(objstore_map_set(tx, parks, objstore_string(text(key)), objstore_string(text(value)), nil))
        }
        try set("Chicago", "Wiggly Field")
        try set("New York", "Central Park")
        expect(try k.elements(tx, wolfie, "Dog.parks").map { string($0)! } == ["Wiggly Field", "Central Park"])
        refused(
            objstore_map_set(tx, parks, objstore_string(text("Boston")), objstore_null(), nil),
            .OBJSTORE_ERR_NOT_NULLABLE)
        var removed = false
        try ok(objstore_map_remove(tx, parks, objstore_string(text("New York")), &removed))
        expect(try removed && k.elements(tx, wolfie, "Dog.parks").count == 1)
    }
}

@Test("A47, A48: a copy in another store goes its own way") func a47() throws {
    let k = try kennel(), other = try kennel()
    defer { for store in [k, other] { store.close() } }
    let wolfie = try writing(k.store) { tx in try k.from(tx, "Dog", ["Wolfie", 1]) }
    let one = try writing(k.store) { tx in try k.from(tx, "Person", [1, "One", [.link(wolfie)]]) }
    try reading(k.store) { view in
        try writing(other.store) { tx in
            var copy = objstore_object()
            try ok(objstore_copy_object(view, wolfie, tx, .OBJSTORE_POLICY_ERROR, &copy, nil))
            try ok(objstore_set(tx, copy, other["Dog.age"], objstore_int(2)))
            expect(try other.int(tx, copy, "Dog.age") == 2)
            let there = try other.from(tx, "Person", [1, "Another"])
            refused(
                objstore_copy_object(view, one, tx, .OBJSTORE_POLICY_ERROR, &copy, nil), .OBJSTORE_ERR_DUPLICATE_KEY)
            expect(try other.count(tx, "Dog") == 1)
            try ok(objstore_copy_object(view, one, tx, .OBJSTORE_POLICY_MODIFIED, &copy, nil))
            expect(try copy.key == there.key && other.text(tx, there, "Person.name") == "One")
        }
        var age = objstore_null()
        try ok(objstore_get(view, wolfie, k["Dog.age"], nil, &age))
        #expect(age.data.integer == 1)
    }
}

@Test("A49: a circle cannot be copied, and nothing is") func a49() throws {
    let k = try kennel(), other = try kennel()
    defer { for store in [k, other] { store.close() } }
    let a = try writing(k.store) { tx in
        let a = try k.from(tx, "Wolf", ["name": "a"]), b = try k.from(tx, "Wolf", ["name": "b", "next": .link(a)])
        try ok(objstore_set(tx, a, k["Wolf.next"], objstore_link(b)))
        return a
    }
    try reading(k.store) { view in
        try writing(other.store) { tx in
            let message = refused(
                objstore_copy_object(view, a, tx, .OBJSTORE_POLICY_ERROR, nil, nil), .OBJSTORE_ERR_INVALID_ARGUMENT)
            #expect(message.contains("a cyclic graph cannot be copied: Wolf#1 leads back to Wolf#0"))
            expect(try other.count(tx, "Wolf") == 0)
        }
    }
}

@Test("A83: how many link to a dog follows at once") func a83() throws {
    let k = try kennel()
    defer { k.close() }
    try writing(k.store) { tx in
        let bowser = try k.from(tx, "Dog", ["Bowser"])
        func owners() throws -> UInt64 {
            var count: UInt64 = 0
            try ok(objstore_incoming_count(tx, bowser, k["Person.dog"], &count))
            return count
        }
        let jack = try k.from(tx, "Person", ["id": 1, "dog": .link(bowser)])
        expect(try owners() == 1)
        let jill = try k.from(tx, "Person", ["id": 2, "dog": .link(bowser)])
        expect(try owners() == 2)
        try ok(objstore_set(tx, jack, k["Person.dog"], objstore_null()))
        expect(try owners() == 1)
        try ok(objstore_set(tx, jill, k["Person.dog"], objstore_null()))
        expect(try owners() == 0)
    }
}

@Test("A106: what no schema can say is refused where it is said") func a106() throws {
    var schema: OpaquePointer?
    try ok(objstore_schema_new(&schema))
    defer { _ = objstore_schema_close(schema) }
    try ok(objstore_schema_add_class(schema, text("Dog")))
    let key = UInt32(OBJSTORE_PROPERTY_PRIMARY_KEY)
    try ok(objstore_schema_add_property(schema, text("Dog"), text("id"), .OBJSTORE_KIND_INT, key))
    #expect(
        refused(
            objstore_schema_add_property(schema, text("Dog"), text("other"), .OBJSTORE_KIND_INT, key),
            .OBJSTORE_ERR_INVALID_SCHEMA
        ).contains("Dog.other"))
    #expect(
        refused(
            objstore_schema_add_property(schema, text("Dog"), text("x"), objstore_kind(rawValue: 77)!, 0),
            .OBJSTORE_ERR_INVALID_ARGUMENT
        ).contains("77"))
    #expect(
        refused(
            objstore_schema_set_class_flags(schema, text("Dog"), UInt32(OBJSTORE_CLASS_EMBEDDED)),
            .OBJSTORE_ERR_INVALID_SCHEMA
        ).contains("Dog.id"))
    try ok(objstore_schema_add_class(schema, text("Address")))
    try ok(objstore_schema_set_class_flags(schema, text("Address"), UInt32(OBJSTORE_CLASS_EMBEDDED)))
    #expect(
        refused(
            objstore_schema_add_property(schema, text("Address"), text("id"), .OBJSTORE_KIND_INT, key),
            .OBJSTORE_ERR_INVALID_SCHEMA
        ).contains("Address.id"))
    for flag in [OBJSTORE_PROPERTY_CASCADE, OBJSTORE_PROPERTY_GENERATED] {
        #expect(
            refused(
                objstore_schema_add_property(schema, text("Dog"), text("name"), .OBJSTORE_KIND_STRING, UInt32(flag)),
                .OBJSTORE_ERR_INVALID_SCHEMA
            ).contains("Dog.name"))
    }
    // A set of embedded objects shows when the store is opened.
    try ok(
        objstore_schema_add_link_collection(
            schema, text("Dog"), text("homes"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, text("Address"), 0))
    var config: OpaquePointer?, store: OpaquePointer?
    try ok(objstore_config_new(&config))
    defer { _ = objstore_config_close(config) }
    try ok(objstore_config_set_memory(config, text("")))
    try ok(objstore_config_set_schema(config, schema, 1))
    #expect(refused(objstore_open(config, &store), .OBJSTORE_ERR_INVALID_SCHEMA).contains("Dog.homes"))
}
