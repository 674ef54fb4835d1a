import CObjStore
import Foundation
import Testing

/// Person.pets (list), Person.fed (set) and Person.named (map), of dogs.
private struct Owners {
    let store: OpaquePointer
    let dog: objstore_class_id, person: objstore_class_id
    let pets: objstore_property_id, fed: objstore_property_id, named: objstore_property_id
    let tag: UInt32

    init(_ path: String?) throws {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        for cls in ["Person", "Dog"] { try ok(objstore_schema_add_class(schema, text(cls))) }
        try ok(
            objstore_schema_add_link_collection(
                schema, text("Person"), text("pets"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Dog"), 0))
        try ok(
            objstore_schema_add_link_collection(
                schema, text("Person"), text("fed"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, text("Dog"), 0))
        try ok(
            objstore_schema_add_link_collection(
                schema, text("Person"), text("named"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, text("Dog"),
                UInt32(nullable)))
        try ok(objstore_schema_add_property(schema, text("Dog"), text("name"), .OBJSTORE_KIND_STRING, UInt32(nullable)))
        store = try openStore(path, schema)
        let view = try liveView(store)
        defer { _ = objstore_view_close(view) }
        let names = Names(view)
        let person = try names.cls("Person")
        self.person = person
        dog = try names.cls("Dog")
        pets = try names.property(person, "pets")
        fed = try names.property(person, "fed")
        named = try names.property(person, "named")
        var info = objstore_info()
        info.struct_size = UInt32(MemoryLayout<objstore_info>.size)
        try ok(objstore_get_info(store, &info))
        tag = info.store_tag
    }

    func create(_ tx: OpaquePointer, _ cls: objstore_class_id) throws -> objstore_object {
        var object = objstore_object()
        try ok(objstore_create(tx, cls, nil, nil, 0, &object))
        return object
    }

    /// Keys of the objects among the elements; -1 = null.
    func elements(_ view: OpaquePointer, _ owner: objstore_object, _ property: objstore_property_id) throws -> [Int64] {
        var values = [objstore_value](repeating: objstore_value(), count: 200), count = 0
        try ok(
            objstore_collection_read(
                view, objstore_collection_of(owner, property), 0, values.count, nil, nil, &values, &count))
        return values.prefix(count).map { value in
            if value.kind == .OBJSTORE_KIND_NULL { return -1 }
            #expect(
                value.kind == .OBJSTORE_KIND_LINK && value.data.link.class_id == dog
                    && value.data.link.store_tag == owner.store_tag)
            return value.data.link.key
        }
    }
}

@Test func collectionsOfLinks() throws {
    let folder = TestFolder()
    var owners = try Owners(folder.store)
    var people: [objstore_object] = [], dogs: [objstore_object] = []
    try writing(owners.store) { tx in
        for _ in 0..<3 { people.append(try owners.create(tx, owners.person)) }
        for _ in 0..<4 { dogs.append(try owners.create(tx, owners.dog)) }
        let links = [0, 1, 0].map { objstore_link(dogs[$0]) }
        let pets = people.map { objstore_collection_of($0, owners.pets) },
            fed = objstore_collection_of(people[0], owners.fed)
        try ok(objstore_list_insert(tx, pets[0], Int(bitPattern: UInt(OBJSTORE_END)), links, 3))
        try ok(objstore_list_insert(tx, pets[1], 0, links, 1))
        var isNew = true, index: Int64 = 0
        for dog in [2, 0, 2] { try ok(objstore_set_insert(tx, fed, objstore_link(dogs[dog]), &isNew)) }
        #expect(!isNew)
        let named = objstore_collection_of(people[0], owners.named)
        try ok(objstore_map_set(tx, named, objstore_string(text("x")), objstore_link(dogs[0]), nil))
        try ok(objstore_map_set(tx, named, objstore_string(text("y")), objstore_null(), nil))
        try ok(objstore_collection_find(tx, pets[0], links[1], &index))
        #expect(index == 1)
        try ok(objstore_collection_find(tx, fed, objstore_link(dogs[3]), &index))
        #expect(index == -1)

        // What is refused names class, property and what was expected, and changes nothing.
        func refusal(_ code: objstore_status, _ value: objstore_value, _ words: String...) throws {
            let message = refused(objstore_list_insert(tx, pets[2], 0, [links[0], value], 2), code)
            #expect(words.allSatisfy { message.contains($0) })
            var error = objstore_error_init()
            try ok(objstore_last_error(&error))
            #expect(string(error.class_name) == "Person" && string(error.property_name) == "pets")
        }
        var stranger = dogs[0], gone = dogs[0]
        stranger.store_tag ^= 1
        gone.key = 77
        try refusal(.OBJSTORE_ERR_WRONG_TYPE, objstore_link(people[0]), "Person.pets", "links to Dog", "Person#0")
        try refusal(.OBJSTORE_ERR_WRONG_TYPE, objstore_int(1), "Person.pets", "link")
        try refusal(.OBJSTORE_ERR_NO_SUCH_OBJECT, objstore_link(gone), "Person.pets", "Dog#77")
        try refusal(.OBJSTORE_ERR_WRONG_STORE, objstore_link(stranger), "Person.pets")
        try refusal(.OBJSTORE_ERR_NOT_NULLABLE, objstore_null(), "Person.pets")
        refused(objstore_list_set(tx, pets[0], 0, objstore_link(gone)), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        refused(objstore_set_insert(tx, fed, objstore_link(people[0]), nil), .OBJSTORE_ERR_WRONG_TYPE)
        refused(
            objstore_map_set(tx, named, objstore_string(text("z")), objstore_link(gone), nil),
            .OBJSTORE_ERR_NO_SUCH_OBJECT)
        #expect(try owners.elements(tx, people[2], owners.pets).isEmpty)
    }
    _ = objstore_close(owners.store)
    owners = try Owners(folder.store)
    defer { _ = objstore_close(owners.store) }
    try reading(owners.store) { view in
        for index in people.indices { people[index].store_tag = owners.tag }
        for index in dogs.indices { dogs[index].store_tag = owners.tag }
        #expect(
            try owners.elements(view, people[0], owners.pets) == [0, 1, 0]
                && owners.elements(view, people[0], owners.fed) == [0, 2])
        // A list that has it twice counts once.
        #expect(try incoming(view, dogs[0], owners.pets) == [0, 1] && incoming(view, dogs[2], owners.fed) == [0])
        #expect(try incoming(view, dogs[0], owners.named) == [0] && incoming(view, dogs[3], owners.pets).isEmpty)
        var results: OpaquePointer?
        refused(objstore_incoming(view, people[0], owners.pets, &results), .OBJSTORE_ERR_WRONG_TYPE)
        // ANY of them is another one.
        try ok(
            findWhere(view, owners.person, owners.pets, .OBJSTORE_NOT_EQUAL, objstore_link(dogs[0]), &results))
        var count: UInt64 = 0
        try ok(objstore_results_count(results, &count))
        #expect(count == 1)
        try ok(objstore_results_close(results))
        refused(
            findWhere(view, owners.person, owners.pets, .OBJSTORE_EQUAL, objstore_null(), &results),
            .OBJSTORE_ERR_INVALID_QUERY)
        var stranger = dogs[0]
        stranger.store_tag ^= 1
        for (object, status) in [
            (people[0], objstore_status.OBJSTORE_ERR_WRONG_TYPE), (stranger, .OBJSTORE_ERR_WRONG_STORE),
        ] {
            let any = comparison(owners.pets, .OBJSTORE_EQUAL, objstore_link(object), any: true)
            refused(asking(view, owners.person, any) { objstore_query_find($0, view, &results) }, status)
        }
        var info = objstore_property_info()
        info.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
        try ok(objstore_property_get_info(view, owners.named, &info))
        #expect(
            info.kind == .OBJSTORE_KIND_LINK && info.collection == .OBJSTORE_KIND_MAP
                && info.target_class_id == owners.dog && info.flags == UInt32(nullable))
        try ok(objstore_property_get_info(view, owners.pets, &info))
        #expect(info.target_class_id == owners.dog && info.flags == 0)
    }
    try writing(owners.store) { tx in
        try ok(objstore_delete(tx, dogs[0]))
        #expect(
            try owners.elements(tx, people[0], owners.pets) == [1]
                && owners.elements(tx, people[1], owners.pets).isEmpty)
        #expect(
            try owners.elements(tx, people[0], owners.fed) == [2]
                && owners.elements(tx, people[0], owners.named) == [-1, -1])
        var point: objstore_savepoint = 0
        try ok(objstore_savepoint_begin(tx, &point))
        var count: UInt64 = 0
        try ok(objstore_delete_all(tx, owners.dog, &count))
        #expect(try count == 3 && owners.elements(tx, people[0], owners.fed).isEmpty)
        try ok(objstore_savepoint_rollback(tx, point))
        #expect(try incoming(tx, dogs[1], owners.pets) == [0])
        try ok(objstore_delete(tx, people[0]))
        #expect(try incoming(tx, dogs[1], owners.pets).isEmpty && incoming(tx, dogs[2], owners.fed).isEmpty)
    }
}

@Test func collectionsOfLinksInTheSchema() throws {
    var schema: OpaquePointer?
    try ok(objstore_schema_new(&schema))
    defer { _ = objstore_schema_close(schema) }
    try ok(objstore_schema_add_class(schema, text("A")))
    func add(_ collection: objstore_kind, _ key: objstore_kind, _ flags: UInt32) -> objstore_status {
        objstore_schema_add_link_collection(schema, text("A"), text("x"), collection, key, text("B"), flags)
    }
    let message = refused(
        objstore_schema_add_collection(
            schema, text("A"), text("x"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_LINK, 0),
        .OBJSTORE_ERR_INVALID_SCHEMA)
    #expect(message.contains("objstore_schema_add_link_collection"))
    refused(add(.OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, UInt32(nullable)), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(add(.OBJSTORE_KIND_SET, .OBJSTORE_KIND_STRING, 0), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(add(.OBJSTORE_KIND_MAP, .OBJSTORE_KIND_NULL, 0), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(add(.OBJSTORE_KIND_INT, .OBJSTORE_KIND_NULL, 0), .OBJSTORE_ERR_INVALID_SCHEMA)
    refused(add(.OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, UInt32(indexed)), .OBJSTORE_ERR_INVALID_ARGUMENT)
    try ok(add(.OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, 0))
    var config: OpaquePointer?, store: OpaquePointer?
    try ok(objstore_config_new(&config))
    defer { _ = objstore_config_close(config) }
    try ok(objstore_config_set_memory(config, text("")))
    try ok(objstore_config_set_schema(config, schema, 1))
    let missing = refused(objstore_open(config, &store), .OBJSTORE_ERR_INVALID_SCHEMA)
    #expect(missing.contains("A.x") && missing.contains("B"))
}

@Test func severalObjectsAreDeletedTogether() throws {
    let owners = try Owners(nil)
    defer { _ = objstore_close(owners.store) }
    var people: [objstore_object] = [], dogs: [objstore_object] = []
    func deleted(_ tx: OpaquePointer, _ objects: [objstore_object], _ status: objstore_status = .OBJSTORE_OK) {
        #expect(
            objstore_delete_objects(tx, objects, objects.count) == status, "\(String(cString: objstore_last_message()))"
        )
    }
    try writing(owners.store) { tx in
        people = try (0..<3).map { _ in try owners.create(tx, owners.person) }
        dogs = try (0..<100).map { _ in try owners.create(tx, owners.dog) }
        for (number, person) in people.enumerated() {
            let links = (dogs + dogs.reversed()).map { objstore_link($0) }
            try ok(objstore_list_insert(tx, objstore_collection_of(person, owners.pets), 0, links, links.count))
            for dog in dogs[number...] {
                try ok(objstore_set_insert(tx, objstore_collection_of(person, owners.fed), objstore_link(dog), nil))
            }
            for (index, dog) in dogs.enumerated() {
                try ok(
                    objstore_map_set(
                        tx, objstore_collection_of(person, owners.named),
                        objstore_string(text(String(format: "%03d", index))), objstore_link(dog), nil))
            }
        }
        // All or none.
        deleted(tx, [dogs[0], people[0], dogs[0]], .OBJSTORE_ERR_NO_SUCH_OBJECT)
        #expect(String(cString: objstore_last_message()) == "objects: the object Dog#0 is given twice")
        var stranger = dogs[1]
        stranger.store_tag ^= 1
        deleted(tx, [dogs[0], stranger], .OBJSTORE_ERR_WRONG_STORE)
        stranger = dogs[1]
        stranger.class_id = 77
        deleted(tx, [dogs[0], stranger], .OBJSTORE_ERR_NO_SUCH_CLASS)
        deleted(tx, [])
        refused(objstore_delete_objects(tx, nil, 1), .OBJSTORE_ERR_INVALID_ARGUMENT)
        #expect(
            try owners.elements(tx, people[0], owners.pets).count == 200
                && incoming(tx, dogs[0], owners.pets) == people.map(\.key))
        // Of two classes; every second dog.
        deleted(tx, stride(from: 0, to: 100, by: 2).map { dogs[$0] } + [people[1]])
        deleted(tx, [dogs[1], dogs[2]], .OBJSTORE_ERR_NO_SUCH_OBJECT)
        #expect(try incoming(tx, dogs[1], owners.pets) == [people[0].key, people[2].key])
    }
    let odd = (0..<50).map { Int64($0 * 2 + 1) }
    try reading(owners.store) { view in
        for person in [people[0], people[2]] {
            #expect(try owners.elements(view, person, owners.pets) == odd + odd.reversed())
            #expect(try owners.elements(view, person, owners.fed) == odd.filter { $0 >= person.key })
            #expect(try owners.elements(view, person, owners.named) == (0..<100).map { $0 % 2 == 1 ? Int64($0) : -1 })
        }
        var alive = true
        try ok(objstore_exists(view, people[1], &alive))
        #expect(!alive)
        refused(objstore_delete_objects(view, dogs, 1), .OBJSTORE_ERR_NOT_IN_WRITE)
    }
    try verify(owners.store)
}

/// A walk through a large list or map ends behind the last link to the object that goes, however many there are.
@Test(arguments: [[0], [2999], [0, 2999], [1, 2, 3, 1500], [1400, 2998, 2999], Array(0..<2999), Array(0..<3000)])
func anObjectLeavesALargeCollection(places: [Int]) throws {
    let owners = try Owners(nil)
    defer { _ = objstore_close(owners.store) }
    var person = objstore_object(), gone = objstore_object(), stays = objstore_object()
    let here = Set(places)
    try writing(owners.store) { tx in
        (person, gone, stays) = (
            try owners.create(tx, owners.person), try owners.create(tx, owners.dog), try owners.create(tx, owners.dog)
        )
        let links = (0..<3000).map { objstore_link(here.contains($0) ? gone : stays) }
        try ok(objstore_list_insert(tx, objstore_collection_of(person, owners.pets), 0, links, links.count))
        let keys = (0..<3000).map { objstore_string(text(String(format: "%04d", $0))) }
        try ok(objstore_collection_assign(tx, objstore_collection_of(person, owners.named), keys, links, links.count))
    }
    try writing(owners.store) { tx in try ok(objstore_delete(tx, gone)) }
    try reading(owners.store) { view in
        func read(_ property: objstore_property_id) throws -> [Int64] {
            var values = [objstore_value](repeating: objstore_value(), count: 3001), count = 0
            try ok(
                objstore_collection_read(
                    view, objstore_collection_of(person, property), 0, values.count, nil, nil, &values, &count))
            return values.prefix(count).map { $0.kind == .OBJSTORE_KIND_NULL ? -1 : $0.data.link.key }
        }
        #expect(try read(owners.pets) == Array(repeating: stays.key, count: 3000 - here.count))
        #expect(try read(owners.named) == (0..<3000).map { here.contains($0) ? -1 : stays.key })
        let owning = try incoming(view, stays, owners.pets)
        #expect(owning == (here.count < 3000 ? [person.key] : []))
    }
    try verify(owners.store)
}
