import CObjStore
import Testing

// Scenarios of changing and deleting that need links, collections or results; the others are in ScenarioTests.swift.

/// Owners, which have lists, sets and maps of dogs, and dogs, which link to an owner.
private struct Pets {
    let store: OpaquePointer
    let person: objstore_class_id, dog: objstore_class_id
    let name: objstore_property_id, dogs: objstore_property_id, seen: objstore_property_id, notes: objstore_property_id
    let dogName: objstore_property_id, age: objstore_property_id, city: objstore_property_id,
        owner: objstore_property_id, chip: objstore_property_id

    init(_ path: String? = nil) throws {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        for cls in ["Person", "Dog"] { try ok(objstore_schema_add_class(schema, text(cls))) }
        try ok(objstore_schema_add_property(schema, text("Person"), text("name"), .OBJSTORE_KIND_STRING, 0))
        try ok(
            objstore_schema_add_link_collection(
                schema, text("Person"), text("dogs"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Dog"), 0))
        try ok(
            objstore_schema_add_collection(
                schema, text("Person"), text("seen"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_STRING, 0)
        )
        try ok(
            objstore_schema_add_collection(
                schema, text("Person"), text("notes"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_STRING,
                0))
        try ok(objstore_schema_add_property(schema, text("Dog"), text("name"), .OBJSTORE_KIND_STRING, 0))
        try ok(objstore_schema_add_property(schema, text("Dog"), text("age"), .OBJSTORE_KIND_INT, 0))
        try ok(objstore_schema_add_property(schema, text("Dog"), text("city"), .OBJSTORE_KIND_STRING, UInt32(nullable)))
        try ok(objstore_schema_add_link(schema, text("Dog"), text("owner"), text("Person"), 0))
        try ok(
            objstore_schema_add_property(schema, text("Dog"), text("chip"), .OBJSTORE_KIND_INT, UInt32(nullable | 8)))
        store = try openStore(path, schema)
        let view = try liveView(store)
        defer { _ = objstore_view_close(view) }
        let names = Names(view)
        let person = try names.cls("Person"), dog = try names.cls("Dog")
        (self.person, self.dog) = (person, dog)
        name = try names.property(person, "name")
        dogs = try names.property(person, "dogs")
        seen = try names.property(person, "seen")
        notes = try names.property(person, "notes")
        dogName = try names.property(dog, "name")
        age = try names.property(dog, "age")
        city = try names.property(dog, "city")
        owner = try names.property(dog, "owner")
        chip = try names.property(dog, "chip")
    }

    func createPerson(_ tx: OpaquePointer, _ name: String) throws -> objstore_object {
        var object = objstore_object()
        try ok(objstore_create(tx, person, [self.name], [objstore_string(text(name))], 1, &object))
        return object
    }

    func createDogs(_ tx: OpaquePointer, _ dogs: KeyValuePairs<String, Int64>) throws -> [objstore_object] {
        try dogs.map { name, age in
            var object = objstore_object()
            try ok(
                objstore_create(
                    tx, dog, [dogName, self.age], [objstore_string(text(name)), objstore_int(age)], 2, &object))
            return object
        }
    }

    func young(_ view: OpaquePointer) throws -> OpaquePointer {
        var results: OpaquePointer?
        try ok(findWhere(view, dog, age, .OBJSTORE_LESS, objstore_int(2), &results))
        return results!
    }

    func all(_ view: OpaquePointer) throws -> OpaquePointer {
        var results: OpaquePointer?
        try ok(findAll(view, dog, &results))
        return results!
    }

    func value(
        _ view: OpaquePointer, _ object: objstore_object, _ property: objstore_property_id
    ) throws -> objstore_value {
        var value = objstore_value()
        try ok(objstore_get(view, object, property, nil, &value))
        return value
    }

    func count(_ view: OpaquePointer, _ cls: objstore_class_id) throws -> UInt64 {
        var count: UInt64 = 0
        try ok(objstore_count(view, cls, &count))
        return count
    }

    /// Keys of the dogs of a person.
    func elements(_ view: OpaquePointer, _ owner: objstore_object) throws -> [Int64] {
        var values = [objstore_value](repeating: objstore_value(), count: 100), count = 0
        try ok(
            objstore_collection_read(
                view, objstore_collection_of(owner, dogs), 0, values.count, nil, nil, &values, &count))
        return values.prefix(count).map(\.data.link.key)
    }

    func link(_ dogs: [objstore_object]) -> [objstore_value] { dogs.map { objstore_link($0) } }
}

@Test("A05: outside a write no list, set or map changes, and nothing at once") func a05Collections() throws {
    let pets = try Pets()
    defer { _ = objstore_close(pets.store) }
    let ali = try writing(pets.store) { tx in
        let ali = try pets.createPerson(tx, "Ali")
        _ = try pets.createDogs(tx, ["Fall": 5])
        return ali
    }
    let word = objstore_string(text("w"))
    try reading(pets.store) { view in
        let results = try pets.all(view), list = objstore_collection_of(ali, pets.dogs)
        for status in [
            objstore_list_insert(view, list, 0, [objstore_value()], 1),
            objstore_set_insert(view, objstore_collection_of(ali, pets.seen), word, nil),
            objstore_map_set(view, objstore_collection_of(ali, pets.notes), word, word, nil),
            objstore_collection_assign(view, list, nil, nil, 0),
            objstore_collection_assign_results(view, list, results),
            objstore_collection_delete_objects(view, list, nil),
            objstore_collection_set_objects(view, list, nil, nil, 0, nil),
            objstore_results_set(results, view, [pets.age], [objstore_int(1)], 1, nil),
            objstore_results_increment(results, view, pets.age, objstore_int(1), nil),
            objstore_results_delete(results, view, nil),
            objstore_delete_everything(view, nil),
        ] { refused(status, .OBJSTORE_ERR_NOT_IN_WRITE) }
    }
    try reading(pets.store) { view in
        expect(
            try pets.count(view, pets.dog) == 1 && pets.count(view, pets.person) == 1 && pets.elements(view, ali) == [])
    }
}

@Test("A09: a query inside the write, and its objects get an owner, whose inverse has them at once") func a09Owner()
    throws
{
    let pets = try Pets()
    defer { _ = objstore_close(pets.store) }
    let dogs = try writing(pets.store) { tx in try pets.createDogs(tx, ["Fall": 5, "Winter": 1, "Summer": 1]) }
    try writing(pets.store) { tx in
        let ali = try pets.createPerson(tx, "Ali"), young = try pets.young(tx)
        var changed: UInt64 = 0, inverse: UInt64 = 0
        try ok(objstore_results_set(young, tx, [pets.owner], [objstore_link(ali)], 1, &changed))
        try ok(objstore_incoming_count(tx, ali, pets.owner, &inverse))
        expect(try changed == 2 && inverse == 2 && pets.value(tx, dogs[0], pets.owner).kind == .OBJSTORE_KIND_NULL)
        for dog in dogs[1...] { expect(try pets.value(tx, dog, pets.owner).data.link.key == ali.key) }
        // What the question is about changes for all of the list.
        try ok(objstore_results_set(young, tx, [pets.age], [objstore_int(7)], 1, &changed))
        #expect(changed == 2)
        try ok(objstore_results_increment(young, tx, pets.age, objstore_int(2), &changed))
        expect(try changed == 2 && dogs.map { try pets.value(tx, $0, pets.age).data.integer } == [5, 9, 9])
        var isOther = false, count: UInt64 = 9
        try ok(objstore_results_update(young, &isOther))
        try ok(objstore_results_count(young, &count))
        #expect(isOther && count == 0)
    }
    try verify(pets.store)
}

@Test("A73: properties that are chosen at run time, of one object, of results and of a list") func a73() throws {
    let pets = try Pets()
    defer { _ = objstore_close(pets.store) }
    try writing(pets.store) { tx in
        let dogs = try pets.createDogs(tx, ["Fall": 5, "Winter": 1, "Summer": 1]), all = try pets.all(tx),
            ali = try pets.createPerson(tx, "Ali")
        var changed: UInt64 = 0
        try ok(objstore_set(tx, dogs[0], pets.dogName, objstore_string(text("Sparky"))))
        try ok(
            objstore_results_set(
                all, tx, [pets.city, pets.age], [objstore_string(text("Toronto")), objstore_int(3)], 2, &changed))
        #expect(changed == 3)
        for dog in dogs {
            expect(
                try string(pets.value(tx, dog, pets.city)) == "Toronto"
                    && pets.value(tx, dog, pets.age).data.integer == 3)
        }
        expect(
            try string(pets.value(tx, dogs[0], pets.dogName)) == "Sparky"
                && string(pets.value(tx, dogs[1], pets.dogName)) == "Winter")
        // Unknown keys, and values that do not fit, change nothing.
        refused(
            objstore_results_set(
                all, tx, [pets.city, pets.name], [objstore_value(), objstore_string(text("x"))], 2, &changed),
            .OBJSTORE_ERR_NO_SUCH_PROPERTY)
        refused(
            objstore_results_set(all, tx, [pets.city, pets.age], [objstore_value(), objstore_value()], 2, &changed),
            .OBJSTORE_ERR_NOT_NULLABLE)
        let message = refused(
            objstore_results_set(all, tx, [pets.city, pets.chip], [objstore_value(), objstore_int(1)], 2, &changed),
            .OBJSTORE_ERR_DUPLICATE_KEY)
        #expect(message.contains("chip = 1"))
        refused(objstore_results_increment(all, tx, pets.age, objstore_int(.max), nil), .OBJSTORE_ERR_OUT_OF_RANGE)
        for dog in dogs {
            expect(
                try string(pets.value(tx, dog, pets.city)) == "Toronto"
                    && pets.value(tx, dog, pets.chip).kind == .OBJSTORE_KIND_NULL)
        }
        // A list: each of its objects once.
        let list = objstore_collection_of(ali, pets.dogs)
        try ok(objstore_list_insert(tx, list, 0, pets.link([dogs[2], dogs[1], dogs[2]]), 3))
        try ok(objstore_collection_set_objects(tx, list, [pets.city], [objstore_value()], 1, &changed))
        expect(
            try changed == 2
                && dogs.map { try pets.value(tx, $0, pets.city).kind == .OBJSTORE_KIND_NULL } == [false, true, true])
        refused(
            objstore_collection_set_objects(
                tx, objstore_collection_of(ali, pets.seen), [pets.city], [objstore_value()], 1, &changed),
            .OBJSTORE_ERR_WRONG_TYPE)
        // Text that the transaction has lent is a value like any other.
        let sparky = try pets.value(tx, dogs[0], pets.dogName)
        try ok(objstore_results_set(all, tx, [pets.city, pets.dogName], [sparky, sparky], 2, &changed))
        for dog in dogs {
            expect(
                try string(pets.value(tx, dog, pets.city)) == "Sparky"
                    && string(pets.value(tx, dog, pets.dogName)) == "Sparky")
        }
    }
    try verify(pets.store)
}

@Test("A74: a list gets the objects of results") func a74() throws {
    let pets = try Pets()
    defer { _ = objstore_close(pets.store) }
    let (ali, dogs) = try writing(pets.store) { tx in
        let dogs = try pets.createDogs(tx, ["Fall": 5, "Winter": 1, "Summer": 1]),
            ali = try pets.createPerson(tx, "Ali")
        try ok(objstore_list_insert(tx, objstore_collection_of(ali, pets.dogs), 0, pets.link([dogs[0], dogs[0]]), 2))
        return (ali, dogs)
    }
    // Results of another view of the store, as they are.
    let view = try liveView(pets.store), puppies = try pets.young(view)
    defer { _ = objstore_view_close(view) }
    try writing(pets.store) { tx in
        let list = objstore_collection_of(ali, pets.dogs)
        try ok(objstore_collection_assign_results(tx, list, puppies))
        expect(try pets.elements(tx, ali) == [dogs[1].key, dogs[2].key])
        var count: UInt64 = 9
        try ok(objstore_incoming_count(tx, dogs[0], pets.dogs, &count))
        #expect(count == 0)
        var persons: OpaquePointer?
        try ok(findAll(tx, pets.person, &persons))
        refused(objstore_collection_assign_results(tx, list, persons), .OBJSTORE_ERR_WRONG_TYPE)
        refused(
            objstore_collection_assign_results(tx, objstore_collection_of(ali, pets.seen), puppies),
            .OBJSTORE_ERR_WRONG_TYPE)
        try ok(objstore_delete(tx, dogs[2]))
        refused(objstore_collection_assign_results(tx, list, puppies), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        expect(try pets.elements(tx, ali) == [dogs[1].key])
        // Values, also the collection's own; sets and maps have each once.
        try ok(objstore_collection_assign(tx, list, nil, pets.link([dogs[1], dogs[0], dogs[1]]), 3))
        expect(try pets.elements(tx, ali) == [dogs[1].key, dogs[0].key, dogs[1].key])
        let words = ["b", "a", "b"].map { objstore_string(text($0)) }, seen = objstore_collection_of(ali, pets.seen),
            notes = objstore_collection_of(ali, pets.notes)
        try ok(objstore_collection_assign(tx, seen, nil, words, 3))
        try ok(objstore_collection_assign(tx, notes, words, ["1", "2", "3"].map { objstore_string(text($0)) }, 3))
        var keys = [objstore_value](repeating: objstore_value(), count: 4), values = keys, read = 0
        try ok(objstore_collection_read(tx, notes, 0, 4, nil, &keys, &values, &read))
        #expect(
            keys.prefix(read).map { string($0) } == ["a", "b"] && values.prefix(read).map { string($0) } == ["2", "3"])
        try ok(objstore_collection_read(tx, seen, 0, 4, nil, nil, &values, &read))
        #expect(values.prefix(read).map { string($0) } == ["a", "b"])
        try ok(objstore_collection_assign(tx, seen, nil, [values[1]], 1))
        try ok(objstore_collection_read(tx, seen, 0, 4, nil, nil, &values, &read))
        #expect(values.prefix(read).map { string($0) } == ["b"])
        refused(objstore_collection_assign(tx, notes, nil, words, 3), .OBJSTORE_ERR_INVALID_ARGUMENT)
        refused(objstore_collection_assign(tx, seen, words, words, 3), .OBJSTORE_ERR_WRONG_TYPE)
        refused(objstore_collection_assign(tx, seen, nil, [words[0], objstore_value()], 2), .OBJSTORE_ERR_NOT_NULLABLE)
        try ok(objstore_collection_assign(tx, notes, nil, nil, 0))
        try ok(objstore_collection_read(tx, seen, 0, 4, nil, nil, &values, &read))
        #expect(read == 1)
    }
    try verify(pets.store)
}

@Test("A76: the objects of a query are deleted") func a76() throws {
    let pets = try Pets()
    defer { _ = objstore_close(pets.store) }
    let dogs = try writing(pets.store) { tx in try pets.createDogs(tx, ["Fall": 5, "Winter": 1, "Summer": 1]) }
    try writing(pets.store) { tx in
        let young = try pets.young(tx)
        var deleted: UInt64 = 0
        try ok(objstore_results_delete(young, tx, &deleted))
        expect(
            try deleted == 2 && pets.count(tx, pets.dog) == 1 && string(pets.value(tx, dogs[0], pets.dogName)) == "Fall"
        )
        // X9: the list is what it was, and deleting an object twice is an error.
        refused(objstore_results_delete(young, tx, &deleted), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        refused(objstore_results_set(young, tx, [pets.age], [objstore_int(1)], 1, nil), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        try ok(objstore_results_update(young, nil))
        try ok(objstore_results_delete(young, tx, &deleted))
        #expect(deleted == 0)
    }
    // One that is gone: nothing happens to the others.
    try writing(pets.store) { tx in
        let more = try pets.createDogs(tx, ["a": 1, "b": 1, "c": 1]), young = try pets.young(tx)
        try ok(objstore_delete(tx, more[1]))
        refused(objstore_results_delete(young, tx, nil), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        refused(
            objstore_results_set(young, tx, [pets.city], [objstore_string(text("x"))], 1, nil),
            .OBJSTORE_ERR_NO_SUCH_OBJECT)
        expect(try pets.count(tx, pets.dog) == 3 && pets.value(tx, more[0], pets.city).kind == .OBJSTORE_KIND_NULL)
    }
    try verify(pets.store)
}

@Test("A77: what a list leads to stays, unless it is deleted first") func a77() throws {
    let pets = try Pets()
    defer { _ = objstore_close(pets.store) }
    let (first, second) = try writing(pets.store) { tx in
        let persons = [try pets.createPerson(tx, "first"), try pets.createPerson(tx, "second")]
        for person in persons {
            let ponds = try pets.createDogs(tx, ["one": 1, "two": 2])
            try ok(
                objstore_list_insert(tx, objstore_collection_of(person, pets.dogs), 0, pets.link(ponds + [ponds[0]]), 3)
            )
        }
        return (persons[0], persons[1])
    }
    try writing(pets.store) { tx in
        try ok(objstore_delete(tx, first))
        expect(try pets.count(tx, pets.dog) == 4)
        var deleted: UInt64 = 0
        try ok(objstore_collection_delete_objects(tx, objstore_collection_of(second, pets.dogs), &deleted))
        expect(try deleted == 2 && pets.elements(tx, second) == [] && pets.count(tx, pets.dog) == 2)
        try ok(objstore_delete(tx, second))
        expect(try pets.count(tx, pets.dog) == 2 && pets.count(tx, pets.person) == 0)
        refused(
            objstore_collection_delete_objects(tx, objstore_collection_of(second, pets.dogs), &deleted),
            .OBJSTORE_ERR_NO_SUCH_OBJECT)
    }
    try verify(pets.store)
}

@Test("A79: everything is deleted, and the schema is there") func a79() throws {
    let folder = TestFolder()
    let pets = try Pets(folder.store)
    defer { _ = objstore_close(pets.store) }
    try writing(pets.store) { tx in
        let dogs = try pets.createDogs(tx, ["one": 1, "two": 2])
        for name in ["a", "b"] {
            let person = try pets.createPerson(tx, name)
            try ok(objstore_list_insert(tx, objstore_collection_of(person, pets.dogs), 0, pets.link(dogs), 2))
            try ok(objstore_set(tx, dogs[0], pets.owner, objstore_link(person)))
        }
    }
    try writing(pets.store) { tx in
        var deleted: UInt64 = 0
        try ok(objstore_delete_everything(tx, &deleted))
        expect(try deleted == 4 && pets.count(tx, pets.dog) == 0 && pets.count(tx, pets.person) == 0)
        try ok(objstore_delete_everything(tx, &deleted))
        #expect(deleted == 0)
        _ = try pets.createDogs(tx, ["new": 1])
    }
    try reading(pets.store) { view in
        var classes = 0
        try ok(objstore_class_count(view, &classes))
        expect(try classes == 2 && pets.count(view, pets.dog) == 1 && pets.count(view, pets.person) == 0)
    }
    try verify(pets.store)
    // Cancelled, nothing has happened.
    var tx: OpaquePointer?
    try ok(objstore_begin(pets.store, &tx))
    try ok(objstore_delete_everything(tx, nil))
    try ok(objstore_cancel(tx))
    try reading(pets.store) { view in expect(try pets.count(view, pets.dog) == 1) }
}
