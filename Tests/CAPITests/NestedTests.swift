import CObjStore
import Testing

/// Embedded objects, cascading links, generated keys and nested values through the C interface.
@Suite struct NestedTests {
    private func home() throws -> NamedStore {
        try NamedStore { schema in
            for cls in ["Person", "Dog", "Address"] { try ok(objstore_schema_add_class(schema, text(cls))) }
            try ok(objstore_schema_set_class_flags(schema, text("Address"), UInt32(OBJSTORE_CLASS_EMBEDDED)))
            try ok(
                objstore_schema_add_property(
                    schema, text("Address"), text("city"), .OBJSTORE_KIND_STRING, UInt32(OBJSTORE_PROPERTY_NULLABLE)))
            try ok(
                objstore_schema_add_property(
                    schema, text("Person"), text("id"), .OBJSTORE_KIND_INT,
                    UInt32(OBJSTORE_PROPERTY_PRIMARY_KEY | OBJSTORE_PROPERTY_GENERATED)))
            try ok(objstore_schema_add_property(schema, text("Person"), text("name"), .OBJSTORE_KIND_STRING, 0))
            try ok(objstore_schema_set_default(schema, text("Person"), text("name"), objstore_string(text(""))))
            try ok(
                objstore_schema_add_link_collection(
                    schema, text("Person"), text("dogs"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Dog"),
                    UInt32(OBJSTORE_PROPERTY_CASCADE)))
            try ok(objstore_schema_add_link(schema, text("Person"), text("address"), text("Address"), 0))
            try ok(
                objstore_schema_add_link_collection(
                    schema, text("Person"), text("others"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Address"), 0
                ))
            try ok(objstore_schema_add_property(schema, text("Dog"), text("name"), .OBJSTORE_KIND_STRING, 0))
            try ok(objstore_schema_add_property(schema, text("Dog"), text("age"), .OBJSTORE_KIND_INT, 0))
            try ok(
                objstore_schema_add_property(
                    schema, text("Dog"), text("tag"), .OBJSTORE_KIND_UUID, UInt32(OBJSTORE_PROPERTY_GENERATED)))
        }
    }

    @Test func embeddedObjects() throws {
        let home = try home()
        defer { _ = objstore_close(home.store) }
        try writing(home.store) { tx in
            var jane = objstore_object(), rome = objstore_object(), oslo = objstore_object(), parent = objstore_object()
            var property: objstore_property_id = 0, exists = true
            try ok(objstore_create(tx, home.classes["Person"]!, nil, nil, 0, &jane))
            expect(try home.int(tx, jane, "Person.id") == 1)
            let city = objstore_string(text("Rome"))
            try ok(
                objstore_create_embedded(
                    tx, jane, home["Person.address"], objstore_null(), [home["Address.city"]], [city], 1, &rome))
            try ok(objstore_parent(tx, rome, &parent, &property))
            #expect(parent.key == jane.key && property == home["Person.address"])
            // What is made in its place takes it.
            try ok(objstore_create_embedded(tx, jane, home["Person.address"], objstore_null(), nil, nil, 0, &oslo))
            try ok(objstore_exists(tx, rome, &exists))
            #expect(!exists)
            for place in [objstore_null(), objstore_int(0)] {
                try ok(objstore_create_embedded(tx, jane, home["Person.others"], place, nil, nil, 0, nil))
            }
            expect(try home.count(tx, "Address") == 3)
            var message = refused(
                objstore_set(tx, jane, home["Person.address"], objstore_link(rome)), .OBJSTORE_ERR_NO_SUCH_OBJECT)
            #expect(message.contains("Person.address"))
            message = refused(objstore_create(tx, home.classes["Address"]!, nil, nil, 0, nil), .OBJSTORE_ERR_EMBEDDED)
            #expect(message.contains("Address"))
            message = refused(
                objstore_create_embedded(tx, jane, home["Person.others"], objstore_int(3), nil, nil, 0, nil),
                .OBJSTORE_ERR_OUT_OF_RANGE)
            #expect(message.contains("index 3, where there are 2 elements"))
            _ = refused(objstore_parent(tx, jane, &parent, nil), .OBJSTORE_ERR_WRONG_TYPE)
            try ok(objstore_set(tx, jane, home["Person.address"], objstore_null()))
            expect(try home.count(tx, "Address") == 2)
            try ok(objstore_collection_remove(tx, objstore_collection_of(jane, home["Person.others"]), 0, 1))
            expect(try home.count(tx, "Address") == 1)
            try ok(objstore_delete(tx, jane))
            expect(try home.count(tx, "Address") == 0)
        }
        try verify(home.store)
    }

    /// A change inside of an embedded object is a modification of its owner; the first change set is of the state at
    /// its delivery.
    @Test func observersOfOwners() throws {
        final class Log {
            var calls: [(info: objstore_changes_info, masks: [UInt64])] = []
        }
        let home = try home()
        defer { _ = objstore_close(home.store) }
        var jane = objstore_object(), rome = objstore_object()
        try writing(home.store) { tx in
            try ok(objstore_create(tx, home.classes["Person"]!, nil, nil, 0, &jane))
            try ok(objstore_create_embedded(tx, jane, home["Person.address"], objstore_null(), nil, nil, 0, &rome))
        }
        let log = Log()
        var token: OpaquePointer?
        let handler: objstore_change_handler = { changes, userdata in
            var info = objstore_changes_info_init(), masks: UnsafePointer<UInt64>?, words = 0
            var status = objstore_changes_get_info(changes, &info)
            if status == .OBJSTORE_OK { status = objstore_changes_masks(changes, &masks, &words) }
            Unmanaged<Log>.fromOpaque(userdata!).takeUnretainedValue().calls.append(
                (info, Array(UnsafeBufferPointer(start: masks, count: words))))
            return status
        }
        try ok(
            objstore_observe(
                home.store, home.classes["Person"]!, UInt32(OBJSTORE_OBSERVE_INITIAL), handler,
                Unmanaged.passUnretained(log).toOpaque(), nil, &token))
        var delivered = 0
        try writing(home.store) { tx in
            try ok(objstore_create(tx, home.classes["Person"]!, nil, nil, 0, nil))
            try ok(objstore_set(tx, rome, home["Address.city"], objstore_string(text("Rome"))))
        }
        try ok(objstore_deliver(home.store, &delivered))
        #expect(
            delivered == 1 && log.calls[0].info.flags == UInt32(OBJSTORE_CHANGES_INITIAL)
                && log.calls[0].info.from_version == log.calls[0].info.to_version)
        #expect(log.calls[0].info.insertion_count == 0 && log.calls[0].info.modification_count == 0)
        try ok(objstore_deliver(home.store, &delivered))
        #expect(delivered == 0, "it is not told again")
        try writing(home.store) { tx in
            try ok(objstore_set(tx, rome, home["Address.city"], objstore_string(text("Oslo"))))
        }
        try ok(objstore_deliver(home.store, &delivered))
        #expect(delivered == 1 && log.calls[1].info.from_version == log.calls[0].info.to_version)
        // id, name, dogs, address
        #expect(log.calls[1].info.modification_count == 1 && log.calls[1].masks == [0b1000])
        try ok(objstore_token_close(token))
        withExtendedLifetime(log) {}
    }

    /// One of a link, a list or a map stays where it is given to its own place, and is refused anywhere else.
    @Test func givenWhereTheyAre() throws {
        let home = try NamedStore { schema in
            for cls in ["Person", "Address"] { try ok(objstore_schema_add_class(schema, text(cls))) }
            try ok(objstore_schema_set_class_flags(schema, text("Address"), UInt32(OBJSTORE_CLASS_EMBEDDED)))
            try ok(objstore_schema_add_link(schema, text("Person"), text("address"), text("Address"), 0))
            for (name, kind, keys) in [
                ("others", objstore_kind.OBJSTORE_KIND_LIST, objstore_kind.OBJSTORE_KIND_NULL),
                ("named", .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING),
            ] {
                try ok(
                    objstore_schema_add_link_collection(
                        schema, text("Person"), text(name), kind, keys, text("Address"), 0))
            }
        }
        defer { home.close() }
        let (jane, made): (objstore_object, [objstore_object]) = try writing(home.store) { tx in
            var jane = objstore_object()
            try ok(objstore_create(tx, home.classes["Person"]!, nil, nil, 0, &jane))
            let places = [
                ("address", objstore_null()), ("others", objstore_null()), ("others", objstore_null()),
                ("named", objstore_string(text("a"))), ("named", objstore_string(text("b"))),
            ]
            return (
                jane,
                try places.map { (property, place) in
                    var address = objstore_object()
                    try ok(objstore_create_embedded(tx, jane, home["Person.\(property)"], place, nil, nil, 0, &address))
                    return address
                }
            )
        }
        let others = objstore_collection_of(jane, home["Person.others"]),
            named = objstore_collection_of(jane, home["Person.named"])
        /// By the place in `made`; a key "c" is behind them.
        func give(_ tx: OpaquePointer, _ address: objstore_object, to place: Int) -> objstore_status {
            switch place {
            case 0: objstore_set(tx, jane, home["Person.address"], objstore_link(address))
            case 1, 2: objstore_list_set(tx, others, place - 1, objstore_link(address))
            default:
                objstore_map_set(
                    tx, named, objstore_string(text(["a", "b", "c"][place - 3])), objstore_link(address), nil)
            }
        }
        try writing(home.store) { tx in
            for place in made.indices {
                try ok(give(tx, made[place], to: place))
                for other in 0..<6 where other != place {
                    let property = other == 0 ? "address" : other < 3 ? "others" : "named"
                    #expect(
                        refused(give(tx, made[place], to: other), .OBJSTORE_ERR_EMBEDDED).contains(
                            "Person.\(property): objects of class Address are embedded"))
                }
                refused(give(tx, jane, to: place), .OBJSTORE_ERR_WRONG_TYPE)
            }
            refused(objstore_list_set(tx, others, 2, objstore_link(made[1])), .OBJSTORE_ERR_OUT_OF_RANGE)
            var isNew = true
            try ok(objstore_map_set(tx, named, objstore_string(text("a")), objstore_link(made[3]), &isNew))
            #expect(!isNew)
            expect(try home.count(tx, "Address") == 5)
            for address in made {
                var parent = objstore_object()
                try ok(objstore_parent(tx, address, &parent, nil))
                #expect(parent.key == jane.key)
            }
            // Null takes it out of its key, which stays; then nothing that is given was there.
            try ok(objstore_map_set(tx, named, objstore_string(text("a")), objstore_null(), &isNew))
            #expect(!isNew)
            refused(give(tx, made[3], to: 3), .OBJSTORE_ERR_NO_SUCH_OBJECT)
            expect(try home.count(tx, "Address") == 4)
        }
        try verify(home.store)
    }

    /// Those of a list or map may be given in any order, with new ones between them: against an array and a dictionary.
    @Test(arguments: 1...20) func givenInAnotherOrder(seed: UInt64) throws {
        let home = try NamedStore { schema in
            for cls in ["Person", "Address"] { try ok(objstore_schema_add_class(schema, text(cls))) }
            try ok(objstore_schema_set_class_flags(schema, text("Address"), UInt32(OBJSTORE_CLASS_EMBEDDED)))
            try ok(objstore_schema_add_property(schema, text("Address"), text("n"), .OBJSTORE_KIND_INT, 0))
            for (name, kind, keys) in [
                ("others", objstore_kind.OBJSTORE_KIND_LIST, objstore_kind.OBJSTORE_KIND_NULL),
                ("named", .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING),
            ] {
                try ok(
                    objstore_schema_add_link_collection(
                        schema, text("Person"), text(name), kind, keys, text("Address"), 0))
            }
        }
        defer { home.close() }
        var random = CollectionRandom(state: seed)
        try writing(home.store) { tx in
            var jane = objstore_object(), next: Int64 = 0
            try ok(objstore_create(tx, home.classes["Person"]!, nil, nil, 0, &jane))
            let id = home["Address.n"]
            func element(
                _ collection: objstore_collection, _ index: Int
            ) throws -> (key: String, object: objstore_object?) {
                var key = objstore_null(), value = objstore_null()
                try ok(objstore_collection_get(tx, collection, index, nil, &key, &value))
                return (string(key) ?? "", value.kind == .OBJSTORE_KIND_LINK ? value.data.link : nil)
            }
            func number(_ object: objstore_object?) throws -> Int64? {
                guard let object else { return nil }
                var value = objstore_null()
                try ok(objstore_get(tx, object, id, nil, &value))
                return value.data.integer
            }
            for isMap in [false, true] {
                let property = home[isMap ? "Person.named" : "Person.others"],
                    collection = objstore_collection_of(jane, property)
                // Key, number, object key.
                var model: [(key: String, number: Int64?, object: Int64?)] = []
                for step in 0..<40 {
                    var old = try model.indices.map { try element(collection, $0).object }.filter { $0 != nil }
                    if random.below(3) > 0 { old.shuffle(using: &random) }
                    old = old.filter { _ in random.below(4) > 0 }
                    var given: [(key: String, object: objstore_object?, number: Int64?)] = []
                    for object in old { given.append(("", object, try number(object))) }
                    for _ in 0..<random.below(4) {
                        next += 1
                        given.insert(
                            ("", nil, isMap && random.below(4) == 0 ? nil : next), at: random.below(given.count + 1))
                    }
                    var flat = [isMap ? objstore_map_of(Int64(given.count)) : objstore_list_of(Int64(given.count))]
                    var keys = (0..<given.count + 3).map { "k\($0)" }
                    keys.shuffle(using: &random)
                    for index in given.indices {
                        given[index].key = isMap ? keys[index] : ""
                        if isMap { flat.append(objstore_string(text(keys[index]))) }
                        if let object = given[index].object {
                            flat.append(objstore_link(object))
                        } else if let number = given[index].number {
                            flat += [objstore_map_of(1), objstore_string(text("n")), objstore_int(number)]
                        } else {
                            flat.append(objstore_null())
                        }
                    }
                    let policy = [
                        objstore_policy.OBJSTORE_POLICY_ERROR, .OBJSTORE_POLICY_MODIFIED, .OBJSTORE_POLICY_ALL,
                    ][random.below(3)]
                    try ok(objstore_set_from(tx, jane, property, policy, flat, flat.count, nil))
                    if isMap { given.sort { $0.key < $1.key } }
                    var count: UInt64 = 0
                    try ok(objstore_collection_count(tx, collection, &count))
                    #expect(Int(count) == given.count, "seed \(seed), step \(step)")
                    model = []
                    for index in given.indices {
                        let found = try element(collection, index)
                        expect(
                            try found.key == given[index].key && number(found.object) == given[index].number,
                            "seed \(seed), step \(step)")
                        if let object = given[index].object {
                            #expect(found.object?.key == object.key, "seed \(seed), step \(step)")
                        }
                        model.append((found.key, given[index].number, found.object?.key))
                    }
                    // One of them twice, or one that is gone: nothing happens.
                    if let some = try model.indices.compactMap({ try element(collection, $0).object }).last {
                        let twice =
                            isMap
                            ? [
                                objstore_map_of(2), objstore_string(text("x")), objstore_link(some),
                                objstore_string(text("y")), objstore_link(some),
                            ]
                            : [objstore_list_of(2), objstore_link(some), objstore_link(some)]
                        #expect(
                            refused(
                                objstore_set_from(tx, jane, property, .OBJSTORE_POLICY_ERROR, twice, twice.count, nil),
                                .OBJSTORE_ERR_EMBEDDED
                            ).contains("given twice"))
                        for index in model.indices {
                            expect(try element(collection, index).object?.key == model[index].object)
                        }
                    }
                }
            }
            expect(
                try home.count(tx, "Address")
                    == (home.elements(tx, jane, "Person.others") + home.elements(tx, jane, "Person.named")).filter {
                        $0.kind == .OBJSTORE_KIND_LINK
                    }.count)
        }
        try verify(home.store)
    }

    @Test func cascades() throws {
        let home = try home()
        defer { _ = objstore_close(home.store) }
        try writing(home.store) { tx in
            var people = [objstore_object(), objstore_object()], dog = objstore_object()
            for index in people.indices {
                try ok(objstore_create(tx, home.classes["Person"]!, nil, nil, 0, &people[index]))
            }
            for name in ["Rex", "Ben"] {
                try ok(
                    objstore_create(
                        tx, home.classes["Dog"]!, [home["Dog.name"], home["Dog.age"]],
                        [objstore_string(text(name)), objstore_int(1)], 2, &dog))
                for person in people {
                    try ok(
                        objstore_list_insert(
                            tx, objstore_collection_of(person, home["Person.dogs"]), 0, [objstore_link(dog)], 1))
                }
            }
            // Taking a link away deletes nothing.
            try ok(objstore_collection_remove(tx, objstore_collection_of(people[0], home["Person.dogs"]), 1, 1))
            expect(try home.count(tx, "Dog") == 2)
            try ok(objstore_delete(tx, people[0]))
            expect(try home.count(tx, "Dog") == 1)
            var count: UInt64 = 0
            try ok(objstore_collection_count(tx, objstore_collection_of(people[1], home["Person.dogs"]), &count))
            #expect(count == 1)
            try ok(objstore_delete_all(tx, home.classes["Person"]!, &count))
            #expect(count == 1)
            expect(try home.count(tx, "Dog") == 0)
            // What a failed call takes back deletes nothing that was there.
            var exists = false
            try ok(
                objstore_create(
                    tx, home.classes["Dog"]!, [home["Dog.name"], home["Dog.age"]],
                    [objstore_string(text("Rex")), objstore_int(1)], 2, &dog))
            let values = [
                objstore_map_of(2), objstore_string(text("dogs")), objstore_list_of(1), objstore_link(dog),
                objstore_string(text("others")), objstore_list_of(1), objstore_int(1),
            ]
            _ = refused(
                objstore_create_from(
                    tx, home.classes["Person"]!, .OBJSTORE_POLICY_ERROR, 0, values, values.count, nil, nil),
                .OBJSTORE_ERR_WRONG_TYPE)
            try ok(objstore_exists(tx, dog, &exists))
            #expect(exists)
            expect(try home.count(tx, "Person") == 0)
        }
        try verify(home.store)
    }

    @Test func generatedKeysNeverComeTwice() throws {
        let home = try home()
        defer { _ = objstore_close(home.store) }
        var seen: [Int64] = []
        for round in 0..<3 {
            try writing(home.store) { tx in
                var person = objstore_object()
                for _ in 0..<3 {
                    try ok(objstore_create(tx, home.classes["Person"]!, nil, nil, 0, &person))
                    seen.append(try home.int(tx, person, "Person.id"))
                }
                try ok(objstore_delete(tx, person))
                try ok(
                    objstore_create(
                        tx, home.classes["Person"]!, [home["Person.id"]], [objstore_int(Int64(100 * (round + 1)))], 1,
                        nil))
            }
        }
        #expect(seen == [1, 2, 3, 101, 102, 103, 201, 202, 203])
    }

    @Test func nestedValues() throws {
        let home = try home()
        defer { _ = objstore_close(home.store) }
        func string(_ text: String) -> objstore_value { objstore_string(CAPITests.text(text)) }
        try writing(home.store) { tx in
            var jane = objstore_object(), outcome = objstore_outcome.OBJSTORE_OUTCOME_UNCHANGED
            // {"id": 7, "dogs": [["Buster", 5], {"name": "Buddy", "age": 6}], "address": {"city": "Rome"}, "others":
            // [["Oslo"]]}
            let values = [
                objstore_map_of(4), string("id"), objstore_int(7), string("dogs"), objstore_list_of(2),
                objstore_list_of(2), string("Buster"), objstore_int(5),
                objstore_map_of(2), string("name"), string("Buddy"), string("age"), objstore_int(6), string("address"),
                objstore_map_of(1), string("city"), string("Rome"),
                string("others"), objstore_list_of(1), objstore_list_of(1), string("Oslo"),
            ]
            try ok(
                objstore_create_from(
                    tx, home.classes["Person"]!, .OBJSTORE_POLICY_ERROR, 0, values, values.count, &jane, &outcome))
            #expect(outcome == .OBJSTORE_OUTCOME_CREATED)
            expect(try home.count(tx, "Dog") == 2)
            expect(try home.count(tx, "Address") == 2)
            // It exists: nothing of it is made again.
            let message = refused(
                objstore_create_from(
                    tx, home.classes["Person"]!, .OBJSTORE_POLICY_ERROR, 0, values, values.count, nil, nil),
                .OBJSTORE_ERR_DUPLICATE_KEY)
            #expect(message.contains("id = 7"))
            expect(try home.count(tx, "Dog") == 2)
            // What is not given stays.
            let partial = [
                objstore_map_of(2), string("id"), objstore_int(7), string("dogs"), objstore_list_of(1),
                objstore_list_of(2), string("Rex"), objstore_int(1),
            ]
            try ok(
                objstore_create_from(
                    tx, home.classes["Person"]!, .OBJSTORE_POLICY_MODIFIED, 0, partial, partial.count, nil, &outcome))
            #expect(outcome == .OBJSTORE_OUTCOME_CHANGED)
            var count: UInt64 = 0, changed = false
            try ok(objstore_collection_count(tx, objstore_collection_of(jane, home["Person.dogs"]), &count))
            #expect(count == 1)
            expect(try home.count(tx, "Dog") == 3)
            // One property.
            let address = [objstore_map_of(1), string("city"), string("Rome")]
            try ok(objstore_set_from(tx, jane, home["Person.address"], .OBJSTORE_POLICY_MODIFIED, address, 3, &changed))
            #expect(!changed)
            try ok(
                objstore_set_from(
                    tx, jane, home["Person.address"], .OBJSTORE_POLICY_MODIFIED, [objstore_null()], 1, &changed))
            #expect(changed)
            expect(try home.count(tx, "Address") == 1)
        }
        try verify(home.store)
    }

    @Test func whatIsWrongWithNestedValues() throws {
        let home = try home()
        defer { _ = objstore_close(home.store) }
        func string(_ text: String) -> objstore_value { objstore_string(CAPITests.text(text)) }
        try writing(home.store) { tx in
            func message(
                _ values: [objstore_value], _ status: objstore_status, flags: UInt32 = 0, _ cls: String = "Person"
            ) -> String {
                refused(
                    objstore_create_from(
                        tx, home.classes[cls]!, .OBJSTORE_POLICY_ERROR, flags, values, values.count, nil, nil), status)
            }
            let dogs = [
                objstore_map_of(1), string("dogs"), objstore_list_of(2), objstore_list_of(2), string("Rex"),
                objstore_int(1),
            ]
            #expect(
                message(dogs + [objstore_list_of(2), string("Ben"), string("five")], .OBJSTORE_ERR_WRONG_TYPE)
                    == "$.dogs[1].age: Dog.age is of type int, not string (\"five\")")
            #expect(
                message(
                    dogs + [objstore_list_of(4), string("Ben"), objstore_int(1), objstore_null(), objstore_null()],
                    .OBJSTORE_ERR_OUT_OF_RANGE) == "$.dogs[1]: more values (4) than properties (3) of class Dog")
            #expect(
                message([objstore_list_of(1), string("Rex")], .OBJSTORE_ERR_MISSING_VALUE, "Dog").contains(
                    "Dog.age has no default"))
            #expect(
                message(
                    [objstore_list_of(2), string("Rex"), objstore_int(1)], .OBJSTORE_ERR_MISSING_VALUE,
                    flags: UInt32(OBJSTORE_FROM_EXACT), "Dog"
                ).contains("that of tag is missing"))
            #expect(
                message([objstore_map_of(1), string("colour"), objstore_int(1)], .OBJSTORE_ERR_NO_SUCH_PROPERTY, "Dog")
                    .contains("colour"))
            #expect(
                message(
                    [objstore_map_of(2), string("age"), objstore_int(1), string("age"), objstore_int(1)],
                    .OBJSTORE_ERR_INVALID_ARGUMENT, "Dog"
                ).contains("given twice"))
            #expect(
                message([objstore_map_of(1), string("name"), objstore_null()], .OBJSTORE_ERR_NOT_NULLABLE, "Dog")
                    .contains("Dog.name cannot be null"))
            #expect(message([objstore_map_of(1)], .OBJSTORE_ERR_INVALID_ARGUMENT).contains("values[1]: values ends"))
            #expect(
                message([objstore_map_of(0), objstore_int(1)], .OBJSTORE_ERR_INVALID_ARGUMENT).contains(
                    "values[1]: the value before it is complete"))
            #expect(
                message([objstore_map_of(1), objstore_int(1), objstore_int(1)], .OBJSTORE_ERR_WRONG_TYPE).contains(
                    "values[1]"))
            #expect(
                message(
                    Array(repeating: objstore_list_of(1), count: 600) + [objstore_int(1)], .OBJSTORE_ERR_OUT_OF_RANGE
                ).contains("512 deep"))
            for cls in ["Person", "Dog", "Address"] { expect(try home.count(tx, cls) == 0) }
            // Unknown names may be passed over.
            let unknown = [
                objstore_map_of(3), string("name"), string("Rex"), string("vet"), objstore_map_of(1), string("x"),
                objstore_list_of(0), string("age"), objstore_int(1),
            ]
            try ok(
                objstore_create_from(
                    tx, home.classes["Dog"]!, .OBJSTORE_POLICY_ERROR, UInt32(OBJSTORE_FROM_IGNORE_UNKNOWN), unknown,
                    unknown.count, nil, nil))
            expect(try home.count(tx, "Dog") == 1)
        }
        try verify(home.store)
    }

    @Test func describingAndCopying() throws {
        let home = try home(), other = try self.home()
        defer { for store in [home.store, other.store] { _ = objstore_close(store) } }
        func string(_ text: String) -> objstore_value { objstore_string(CAPITests.text(text)) }
        var jane = objstore_object(), buffer = objstore_buffer_init(),
            values = Array(repeating: objstore_null(), count: 64), count = 0
        defer { _ = objstore_buffer_free(&buffer) }
        try writing(home.store) { tx in
            let given = [
                objstore_list_of(5), objstore_int(7), string("Jane"), objstore_list_of(1), objstore_list_of(2),
                string("Rex"), objstore_int(5),
                objstore_list_of(1), string("Rome"), objstore_list_of(0),
            ]
            try ok(
                objstore_create_from(
                    tx, home.classes["Person"]!, .OBJSTORE_POLICY_ERROR, 0, given, given.count, &jane, nil))
        }
        try reading(home.store) { view in
            // A dog is a link, then all of it.
            try ok(objstore_describe(view, jane, 0, &buffer, &values, values.count, &count))
            #expect(count == 14)
            try ok(objstore_describe(view, jane, 1, &buffer, &values, values.count, &count))
            #expect(count == 20)
            let kinds = values[..<count].map(\.kind)
            #expect(
                kinds[0] == .OBJSTORE_KIND_MAP && values[0].data.integer == 5 && kinds[6] == .OBJSTORE_KIND_LIST
                    && kinds[7] == .OBJSTORE_KIND_MAP)
            #expect(
                values[..<count].compactMap { CAPITests.string($0) } == [
                    "id", "name", "Jane", "dogs", "name", "Rex", "age", "tag", "address", "city", "Rome", "others",
                ])
            try ok(objstore_describe(view, jane, Int64(OBJSTORE_UNLIMITED), &buffer, nil, 0, &count))
            #expect(count == 20)
            try writing(other.store) { tx in
                var copy = objstore_object(), outcome = objstore_outcome.OBJSTORE_OUTCOME_UNCHANGED
                try ok(objstore_copy_object(view, jane, tx, .OBJSTORE_POLICY_ERROR, &copy, &outcome))
                #expect(outcome == .OBJSTORE_OUTCOME_CREATED)
                let again = refused(
                    objstore_copy_object(view, jane, tx, .OBJSTORE_POLICY_ERROR, &copy, nil),
                    .OBJSTORE_ERR_DUPLICATE_KEY)
                #expect(again.contains("id = 7"))
                expect(try other.count(tx, "Dog") == 1)
                var same = objstore_object()
                try ok(objstore_copy_object(view, jane, tx, .OBJSTORE_POLICY_MODIFIED, &same, nil))
                #expect(same.key == copy.key)
                var name = objstore_null()
                try ok(objstore_get(tx, copy, other["Person.name"], nil, &name))
                #expect(CAPITests.string(name) == "Jane")
                try ok(objstore_set(tx, copy, other["Person.name"], string("Joan")))
                _ = refused(
                    objstore_copy_object(view, copy, tx, .OBJSTORE_POLICY_ERROR, nil, nil), .OBJSTORE_ERR_WRONG_STORE)
            }
            var name = objstore_null()
            try ok(objstore_get(view, jane, home["Person.name"], &buffer, &name))
            #expect(CAPITests.string(name) == "Jane")
        }
        try verify(other.store)
    }
}
