import CObjStore
import Testing

/// D50: classes and properties that the file calls otherwise than the program.
@Suite struct StoredNameTests {
    /// A person with a key, a compound index, links, embedded objects and a collection, by the program's names or by
    /// those of the file.
    private func describe(
        _ schema: OpaquePointer, mapped: Bool, _ more: (OpaquePointer) throws -> Void = { _ in }
    ) throws {
        let person = mapped ? "Person" : "people", address = mapped ? "Address" : "addresses"
        func name(_ own: String, _ stored: String) -> objstore_text { text(mapped ? own : stored) }
        for cls in [person, address] { try ok(objstore_schema_add_class(schema, text(cls))) }
        try ok(objstore_schema_set_class_flags(schema, text(address), UInt32(OBJSTORE_CLASS_EMBEDDED)))
        try ok(
            objstore_schema_add_property(
                schema, text(person), name("number", "_id"), .OBJSTORE_KIND_INT, UInt32(OBJSTORE_PROPERTY_PRIMARY_KEY)))
        try ok(
            objstore_schema_add_property(
                schema, text(person), name("firstName", "first_name"), .OBJSTORE_KIND_STRING, 0))
        try ok(objstore_schema_add_property(schema, text(person), text("age"), .OBJSTORE_KIND_INT, 0))
        try ok(
            objstore_schema_set_default(
                schema, text(person), name("firstName", "first_name"), objstore_string(text("nobody"))))
        try ok(objstore_schema_add_link(schema, text(person), name("bestFriend", "best_friend"), text(person), 0))
        try ok(objstore_schema_add_link(schema, text(person), name("homeAddress", "home_address"), text(address), 0))
        try ok(
            objstore_schema_add_collection(
                schema, text(person), name("nickNames", "nick_names"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL,
                .OBJSTORE_KIND_STRING, 0))
        try ok(
            objstore_schema_add_property(schema, text(address), name("zipCode", "zip_code"), .OBJSTORE_KIND_STRING, 0))
        try ok(objstore_schema_add_index(schema, text(person), [name("firstName", "first_name"), text("age")], 2, 0))
        if mapped {
            for (own, stored) in [
                ("number", "_id"), ("firstName", "first_name"), ("bestFriend", "best_friend"),
                ("homeAddress", "home_address"), ("nickNames", "nick_names"),
            ] {
                try ok(objstore_schema_set_stored_name(schema, text(person), text(own), text(stored)))
            }
            try ok(objstore_schema_set_stored_name(schema, text(address), text("zipCode"), text("zip_code")))
            try ok(objstore_schema_set_stored_class_name(schema, text(person), text("people")))
            try ok(objstore_schema_set_stored_class_name(schema, text(address), text("addresses")))
        }
        try more(schema)
    }

    private func open(
        _ folder: TestFolder, _ version: UInt64 = 1, _ describe: @escaping (OpaquePointer) throws -> Void
    ) throws -> OpaquePointer {
        try openStore(folder.store, []) { config in
            let schema = try makeSchema([])
            defer { _ = objstore_schema_close(schema) }
            try describe(schema)
            try ok(objstore_config_set_schema(config, schema, version))
        }
    }

    private func names(_ view: OpaquePointer, _ cls: String) throws -> [String] {
        let id = try Names(view).cls(cls)
        var info = objstore_class_info()
        info.struct_size = UInt32(MemoryLayout<objstore_class_info>.size)
        try ok(objstore_class_get_info(view, id, &info))
        return try [string(info.name)!]
            + (0..<Int(info.property_count)).map { index in
                var property = objstore_property_info()
                property.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
                try ok(objstore_property_at(view, id, index, &property))
                return string(property.name)!
            }
    }

    private func json(_ view: OpaquePointer, _ object: objstore_object) throws -> String {
        var text = objstore_text(), buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        try ok(objstore_to_json(view, object, 1, 0, &buffer, &text))
        return string(text)!
    }

    @Test("D50: both names are taken, the program's is told") func bothNames() throws {
        let folder = TestFolder()
        let store = try open(folder) { try describe($0, mapped: true) }
        let ann = try writing(store) { tx in
            for (own, stored) in [("Person", "people"), ("Address", "addresses")] {
                expect(try Names(tx).cls(own) == Names(tx).cls(stored))
            }
            let person = try Names(tx).cls("Person")
            for (own, stored) in [
                ("number", "_id"), ("firstName", "first_name"), ("nickNames", "nick_names"), ("age", "age"),
            ] {
                expect(try Names(tx).property(person, own) == Names(tx).property(person, stored))
            }
            expect(
                try names(tx, "people") == [
                    "Person", "number", "firstName", "age", "bestFriend", "homeAddress", "nickNames",
                ])
            expect(try names(tx, "Address") == ["Address", "zipCode"])
            var objects = [objstore_object](repeating: objstore_object(), count: 2)
            let texts = [
                #"{"number": 1, "firstName": "Ann", "age": 3, "nickNames": ["A"], "homeAddress": {"zipCode": "x"}}"#,
                #"{"_id": 2, "first_name": "Bob", "age": 4, "best_friend": 1, "home_address": {"zip_code": "y"}}"#,
            ]
            for (index, value) in texts.enumerated() {
                try ok(
                    objstore_create_from_json(
                        tx, person, .OBJSTORE_POLICY_ERROR, 0, text(value), nil, nil, nil, &objects[index], nil))
            }
            expect(
                try json(tx, objects[1])
                    == #"""
                    {"number":2,"firstName":"Bob","age":4,"bestFriend":{"number":1,"firstName":"Ann","age":3,\#
                    "bestFriend":null,"homeAddress":{"zipCode":"x"},"nickNames":["A"]},"homeAddress":{"zipCode":"y"},\#
                    "nickNames":[]}
                    """#
            )
            let message = refused(
                objstore_create_from_json(
                    tx, person, .OBJSTORE_POLICY_ERROR, 0, text(#"{"number": 3, "firstName": 7, "age": 1}"#), nil, nil,
                    nil, nil, nil), .OBJSTORE_ERR_WRONG_TYPE)
            #expect(message.contains("$.firstName") && message.contains("people.first_name"), "\(message)")
            return objects[0]
        }
        try verify(store)
        try ok(objstore_close(store))
        // A program that maps nothing has the file's names, and nothing else; the same schema: no version is needed.
        let plain = try open(folder) { try describe($0, mapped: false) }
        try reading(plain) { view in
            expect(
                try names(view, "people") == [
                    "people", "_id", "first_name", "age", "best_friend", "home_address", "nick_names",
                ])
            var id: objstore_class_id = 0
            refused(objstore_find_class(view, text("Person"), &id), .OBJSTORE_ERR_NO_SUCH_CLASS)
            expect(
                try json(view, ann)
                    == #"""
                    {"_id":1,"first_name":"Ann","age":3,"best_friend":null,"home_address":{"zip_code":"x"},\#
                    "nick_names":["A"]}
                    """#
            )
        }
        // Beside it, in one process, one that does.
        let mapped = try open(folder) { try describe($0, mapped: true) }
        try reading(mapped) { view in expect(try names(view, "Person").contains("firstName")) }
        try ok(objstore_close(mapped))
        try ok(objstore_close(plain))
    }

    @Test("D50: names that meet are refused") func refusals() throws {
        func fails(_ what: String, _ body: @escaping (OpaquePointer) throws -> Void) {
            do {
                _ = objstore_close(try open(TestFolder()) { try describe($0, mapped: true, body) })
                Issue.record("\(what): opened")
            } catch let failure as Failure {
                #expect(
                    failure.status == .OBJSTORE_ERR_INVALID_SCHEMA && failure.description.contains(what), "\(failure)")
            } catch { Issue.record("\(error)") }
        }
        fails("Person.age: another property is stored as first_name, too") {
            try ok(objstore_schema_set_stored_name($0, text("Person"), text("age"), text("first_name")))
        }
        fails("Person.age: it is stored as number, which is the name of another property") {
            try ok(objstore_schema_set_stored_name($0, text("Person"), text("age"), text("number")))
        }
        fails("both stored as people") {
            try ok(objstore_schema_set_stored_class_name($0, text("Address"), text("people")))
        }
        fails("which is the name of another class") {
            try ok(objstore_schema_set_stored_class_name($0, text("Address"), text("Person")))
        }
        let schema = try makeSchema([])
        defer { _ = objstore_schema_close(schema) }
        try describe(schema, mapped: true)
        refused(
            objstore_schema_set_stored_name(schema, text("Cat"), text("age"), text("a")), .OBJSTORE_ERR_NO_SUCH_CLASS)
        refused(
            objstore_schema_set_stored_name(schema, text("Person"), text("none"), text("a")),
            .OBJSTORE_ERR_NO_SUCH_PROPERTY)
        refused(objstore_schema_set_stored_class_name(schema, text("Cat"), text("a")), .OBJSTORE_ERR_NO_SUCH_CLASS)
        for bad in ["1a", "a b"] {
            refused(
                objstore_schema_set_stored_name(schema, text("Person"), text("age"), text(bad)),
                .OBJSTORE_ERR_INVALID_SCHEMA)
            refused(
                objstore_schema_set_stored_class_name(schema, text("Person"), text(bad)), .OBJSTORE_ERR_INVALID_SCHEMA)
        }
    }

    /// Later versions: the file's names stay, others come, one that was renamed is found by its former name in the
    /// file.
    @Test("D50: with later versions of the schema") func laterVersions() throws {
        let folder = TestFolder()
        try ok(
            objstore_close(
                try open(folder) { schema in
                    try ok(objstore_schema_add_class(schema, text("people")))
                    try ok(
                        objstore_schema_add_property(schema, text("people"), text("fname"), .OBJSTORE_KIND_STRING, 0))
                }))
        let store = try open(folder, 2) { schema in
            try ok(objstore_schema_add_class(schema, text("Person")))
            try ok(objstore_schema_set_stored_class_name(schema, text("Person"), text("people")))
            for (name, stored) in [("firstName", "first_name"), ("lastName", "last_name")] {
                try ok(
                    objstore_schema_add_property(
                        schema, text("Person"), text(name), .OBJSTORE_KIND_STRING,
                        UInt32(name == "lastName" ? OBJSTORE_PROPERTY_NULLABLE : 0)))
                try ok(objstore_schema_set_stored_name(schema, text("Person"), text(name), text(stored)))
            }
            try ok(objstore_schema_add_former_name(schema, text("Person"), text("firstName"), text("fname")))
        }
        try reading(store) { view in expect(try names(view, "Person") == ["Person", "firstName", "lastName"]) }
        try ok(objstore_close(store))
        let plain = try openStore(folder.store, [])
        try reading(plain) { view in expect(try names(view, "people") == ["people", "first_name", "last_name"]) }
        try ok(objstore_close(plain))
    }
}

/// Names of inverses, which queries know.
@Suite struct InverseNameTests {
    /// Person, and Dog with `owner`, which the file calls `boss`, `friends` and `extra`.
    private func schema(_ more: (OpaquePointer) throws -> Void = { _ in }) throws -> OpaquePointer {
        let schema = try makeSchema([])
        for cls in ["Person", "Dog"] { try ok(objstore_schema_add_class(schema, text(cls))) }
        try ok(objstore_schema_add_property(schema, text("Person"), text("name"), .OBJSTORE_KIND_STRING, 0))
        try ok(objstore_schema_add_property(schema, text("Dog"), text("age"), .OBJSTORE_KIND_INT, 0))
        try ok(objstore_schema_add_property(schema, text("Dog"), text("extra"), .OBJSTORE_KIND_MIXED, 0))
        try ok(objstore_schema_add_link(schema, text("Dog"), text("owner"), text("Person"), 0))
        try ok(objstore_schema_set_stored_name(schema, text("Dog"), text("owner"), text("boss")))
        try more(schema)
        return schema
    }

    private func add(
        _ schema: OpaquePointer, _ cls: String, _ name: String, _ origin: String, _ property: String
    ) -> objstore_status {
        objstore_schema_add_inverse(schema, text(cls), text(name), text(origin), text(property))
    }

    @Test func inQueries() throws {
        let schema = try schema { schema in
            try ok(add(schema, "Person", "dogs", "Dog", "owner"))
            try ok(add(schema, "Person", "mentions", "Dog", "extra"))
        }
        defer { _ = objstore_schema_close(schema) }
        let store = try openStore(nil, schema)
        defer { _ = objstore_close(store) }
        var people: [objstore_object] = []
        try writing(store) { tx in
            let names = Names(tx), person = try names.cls("Person"), dog = try names.cls("Dog")
            let owner = try names.property(dog, "owner"), extra = try names.property(dog, "extra")
            for name in ["Ann", "Bob"] {
                var made = objstore_object()
                let value = objstore_string(text(name))
                try ok(objstore_create(tx, person, [try names.property(person, "name")], [value], 1, &made))
                people.append(made)
            }
            let age = try names.property(dog, "age")
            for (years, of) in [(3, 0), (5, 1), (1, 0)] {
                let values = [objstore_int(Int64(years)), objstore_link(people[of]), objstore_link(people[1])]
                try ok(objstore_create(tx, dog, [age, owner, extra], values, 3, nil))
            }
        }
        try reading(store) { view in
            let person = try Names(view).cls("Person")
            func ask(_ condition: String) throws -> [Int64] { try found(view, person, condition) }
            let (ann, bob) = (people[0].key, people[1].key)
            expect(try ask("dogs.@count > 1") == [ann])
            expect(try ask("ANY dogs.age == 5") == [bob])
            expect(try ask("dogs.owner.dogs.age == 1") == [ann])
            expect(try ask("mentions.@count == 3") == [bob])
            let long = try query(view, person, "dogs.@count > 1")
            defer { _ = objstore_query_close(long) }
            expect(try written(long) == "@links.Dog.owner.@count > 1")
            // Nodes, too.
            var nodes = [objstore_query_node](repeating: objstore_query_node(), count: 5)
            let kinds: [objstore_query_kind] = [
                .OBJSTORE_QUERY_VARIABLE, .OBJSTORE_QUERY_PROPERTY, .OBJSTORE_QUERY_COUNT, .OBJSTORE_QUERY_CONSTANT,
                .OBJSTORE_QUERY_COMPARE,
            ]
            for (index, kind) in kinds.enumerated() { nodes[index].kind = UInt8(kind.rawValue) }
            (nodes[1].operands, nodes[2].operands, nodes[4].operands) = (1, 1, 2)
            nodes[1].value = objstore_string(text("dogs"))
            nodes[3].value = objstore_int(1)
            nodes[4].choice = UInt8(objstore_operator.OBJSTORE_EQUAL.rawValue)
            var made: OpaquePointer?
            try ok(objstore_query_new(view, person, nodes, nodes.count, &made))
            defer { _ = objstore_query_close(made) }
            expect(try found(made!, view) == [bob])
        }
    }

    @Test func refused() throws {
        let schema = try schema()
        defer { _ = objstore_schema_close(schema) }
        func refuse(_ status: objstore_status, _ code: objstore_status, _ words: String) {
            #expect(CAPITests.refused(status, code).contains(words))
        }
        refuse(add(schema, "Cat", "dogs", "Dog", "owner"), .OBJSTORE_ERR_NO_SUCH_CLASS, "Cat")
        refuse(add(schema, "Person", "name", "Dog", "owner"), .OBJSTORE_ERR_INVALID_SCHEMA, "Person.name")
        refuse(add(schema, "Person", "1", "Dog", "owner"), .OBJSTORE_ERR_INVALID_SCHEMA, "1")
        refuse(add(schema, "Person", "dogs", "9x", "owner"), .OBJSTORE_ERR_INVALID_SCHEMA, "9x")
        try ok(add(schema, "Person", "dogs", "Dog", "owner"))
        refuse(add(schema, "Person", "dogs", "Dog", "extra"), .OBJSTORE_ERR_INVALID_SCHEMA, "Person.dogs")
        refuse(
            objstore_schema_add_property(schema, text("Person"), text("dogs"), .OBJSTORE_KIND_INT, 0),
            .OBJSTORE_ERR_INVALID_SCHEMA, "Person.dogs")
        // What leads nowhere is found when a store is opened.
        for (origin, property, words) in [
            ("Cat", "owner", "class Cat"), ("Dog", "boss", "property boss"), ("Dog", "age", "Dog.age"),
        ] {
            let other = try self.schema { schema in try ok(add(schema, "Person", "dogs", origin, property)) }
            defer { _ = objstore_schema_close(other) }
            var config: OpaquePointer?, store: OpaquePointer?
            try ok(objstore_config_new(&config))
            defer { _ = objstore_config_close(config) }
            try ok(objstore_config_set_memory(config, text("")))
            let status = objstore_config_set_schema(config, other, 1)
            refuse(
                status == .OBJSTORE_OK ? objstore_open(config, &store) : status, .OBJSTORE_ERR_INVALID_SCHEMA, words)
            #expect(store == nil)
        }
    }
}
