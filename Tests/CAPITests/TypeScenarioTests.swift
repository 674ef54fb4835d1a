import CObjStore
import Testing

// The acceptance scenarios of upserts, collections and types, under their numbers.

private func string(_ value: String) -> objstore_value { objstore_string(text(value)) }

/// Frogs, people and dogs.
private func pond(_ path: String? = nil) throws -> NamedStore {
    try NamedStore(path) { schema in
        func add(_ cls: String, _ properties: [(String, objstore_kind, UInt32)]) throws {
            try ok(objstore_schema_add_class(schema, text(cls)))
            for (name, kind, flags) in properties {
                try ok(objstore_schema_add_property(schema, text(cls), text(name), kind, flags))
            }
        }
        func collection(
            _ cls: String, _ name: String, _ kind: objstore_kind, _ key: objstore_kind = .OBJSTORE_KIND_NULL
        ) throws {
            try ok(objstore_schema_add_collection(schema, text(cls), text(name), kind, key, .OBJSTORE_KIND_STRING, 0))
        }
        let key = UInt32(OBJSTORE_PROPERTY_PRIMARY_KEY) | UInt32(OBJSTORE_PROPERTY_GENERATED),
            optional = UInt32(nullable)
        try add(
            "Frog",
            [
                ("_id", .OBJSTORE_KIND_OBJECT_ID, key), ("name", .OBJSTORE_KIND_STRING, optional),
                ("age", .OBJSTORE_KIND_INT, optional),
                ("species", .OBJSTORE_KIND_STRING, optional), ("owner", .OBJSTORE_KIND_STRING, optional),
            ])
        try add("Address", [("street", .OBJSTORE_KIND_STRING, optional)])
        try ok(objstore_schema_set_class_flags(schema, text("Address"), UInt32(OBJSTORE_CLASS_EMBEDDED)))
        try add("Dog", [("name", .OBJSTORE_KIND_STRING, 0)])
        try collection("Dog", "cities", .OBJSTORE_KIND_SET)
        try collection("Dog", "parks", .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING)
        try add(
            "Person",
            [
                ("id", .OBJSTORE_KIND_INT, UInt32(OBJSTORE_PROPERTY_PRIMARY_KEY)),
                ("name", .OBJSTORE_KIND_STRING, optional),
            ])
        try ok(
            objstore_schema_add_link_collection(
                schema, text("Person"), text("dogs"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, text("Dog"), 0))
        try ok(objstore_schema_add_link(schema, text("Person"), text("address"), text("Address"), 0))
    }
}

private extension NamedStore {
    func texts(_ tx: OpaquePointer, _ object: objstore_object, _ name: String) throws -> [String] {
        try elements(tx, object, name).map { CAPITests.string($0)! }
    }

    /// Which properties of a class each modification wrote, while `body` runs in a write.
    func heard(_ cls: String, _ names: [String], _ body: (OpaquePointer) throws -> Void) throws -> [[String]] {
        struct Heard {
            var ids: [objstore_property_id]
            var all: [[Int]] = []
        }
        nonisolated(unsafe) var heard = Heard(ids: names.map { self["\(cls).\($0)"] })
        try withUnsafeMutablePointer(to: &heard) { heard in
            var token: OpaquePointer?
            try ok(
                objstore_observe(
                    store, classes[cls]!, 0,
                    { changes, userdata in
                        let heard = userdata!.assumingMemoryBound(to: Heard.self)
                        var info = objstore_changes_info()
                        info.struct_size = UInt32(MemoryLayout<objstore_changes_info>.size)
                        guard objstore_changes_get_info(changes, &info) == .OBJSTORE_OK else {
                            return .OBJSTORE_ERR_INTERNAL
                        }
                        for index in 0..<info.modification_count {
                            var written: [Int] = []
                            for (position, id) in heard.pointee.ids.enumerated() {
                                var has = false
                                guard objstore_changes_has(changes, index, id, &has) == .OBJSTORE_OK else {
                                    return .OBJSTORE_ERR_INTERNAL
                                }
                                if has { written.append(position) }
                            }
                            heard.pointee.all.append(written)
                        }
                        return .OBJSTORE_OK
                    }, heard, nil, &token))
            try ok(objstore_deliver(store, nil))
            try writing(store) { try body($0) }
            try ok(objstore_deliver(store, nil))
            try ok(objstore_token_close(token))
        }
        return heard.all.map { $0.map { names[$0] } }
    }
}

@Suite struct TypeScenarioTests {
    @Test("A33, A34: an upsert writes what is given, and tells what differs") func a33() throws {
        let pond = try pond()
        defer { pond.close() }
        let kermit = try writing(pond.store) { tx in try pond.from(tx, "Frog", ["name": "Kermit", "age": 4]) }
        let key = try writing(pond.store) { tx in try pond.value(tx, kermit, "Frog._id") }
        let names = ["name", "age", "species", "owner"], all: [Nested] = ["Wirt", 4, "Greyfrog", "L'oric"]
        func upsert(_ tx: OpaquePointer, _ policy: objstore_policy) throws {
            let object = try pond.from(tx, "Frog", .map([("_id", .value(key))] + Array(zip(names, all))), policy)
            #expect(object.key == kermit.key)
        }
        expect(
            try pond.heard("Frog", names) { tx in try upsert(tx, .OBJSTORE_POLICY_MODIFIED) } == [
                ["name", "species", "owner"]
            ])
        expect(try pond.heard("Frog", names) { tx in try upsert(tx, .OBJSTORE_POLICY_MODIFIED) } == [])
        expect(try pond.heard("Frog", names) { tx in try upsert(tx, .OBJSTORE_POLICY_ALL) } == [names])
        try reading(pond.store) { view in expect(try pond.count(view, "Frog") == 1) }
    }

    @Test("A37: the same values again, collections too") func a37() throws {
        let pond = try pond()
        defer { pond.close() }
        let joe: Nested = ["id": 1, "name": "Joe", "dogs": []]
        _ = try writing(pond.store) { tx in try pond.from(tx, "Person", joe) }
        expect(
            try pond.heard("Person", ["name", "dogs"]) { tx in
                _ = try pond.from(tx, "Person", joe, .OBJSTORE_POLICY_MODIFIED)
            } == [])
        expect(
            try pond.heard("Person", ["name", "dogs"]) { tx in
                _ = try pond.from(tx, "Person", joe, .OBJSTORE_POLICY_ALL)
            } == [["name", "dogs"]])
        // Nothing instead of nothing is reported, too.
        expect(
            try pond.heard("Person", ["name", "dogs"]) { tx in
                var object = objstore_object()
                try ok(objstore_find(tx, pond.classes["Person"]!, objstore_int(1), &object, nil))
                try ok(objstore_collection_assign(tx, objstore_collection_of(object, pond["Person.dogs"]), nil, nil, 0))
            } == [["dogs"]])
        try verify(pond.store)
    }

    @Test("A40, A85: sets") func a40() throws {
        let pond = try pond()
        defer { pond.close() }
        try writing(pond.store) { tx in
            let maui = try pond.from(tx, "Dog", ["name": "Maui"]),
                cities = objstore_collection_of(maui, pond["Dog.cities"])
            for city in ["New York", "Boston", "Chicago", "New York"] {
                try ok(objstore_set_insert(tx, cities, string(city), nil))
            }
            expect(try pond.texts(tx, maui, "Dog.cities") == ["Boston", "Chicago", "New York"])
            let lita = try pond.from(
                tx, "Dog", ["name": "Lita", "cities": ["Boston", "New York", "Toronto", "Montreal"]])
            var found = false, index: Int64 = -1
            try ok(
                objstore_collection_find(
                    tx, objstore_collection_of(lita, pond["Dog.cities"]), string("Toronto"), &index))
            #expect(index == 3)
            try ok(objstore_set_remove(tx, cities, string("Chicago"), &found))
            expect(try found && pond.texts(tx, maui, "Dog.cities") == ["Boston", "New York"])
        }
    }

    @Test("A43: several objects to the end of a list") func a43() throws {
        let pond = try pond()
        defer { pond.close() }
        try writing(pond.store) { tx in
            let dachary = try pond.from(tx, "Person", ["id": 1, "name": "Dachary"])
            let dogs = try ["Ben", "Lita", "Maui"].map {
                objstore_link(try pond.from(tx, "Dog", ["name": .value(string($0))]))
            }
            try ok(
                objstore_list_insert(
                    tx, objstore_collection_of(dachary, pond["Person.dogs"]), Int(bitPattern: UInt(OBJSTORE_END)), dogs,
                    3))
            expect(
                try pond.elements(tx, dachary, "Person.dogs").map { try pond.text(tx, $0.data.link, "Dog.name")! } == [
                    "Ben", "Lita", "Maui",
                ])
        }
    }

    @Test("A44: an object by its generated id") func a44() throws {
        let pond = try pond()
        defer { pond.close() }
        try writing(pond.store) { tx in
            let luke = try pond.from(tx, "Frog", ["name": "Luke"]), id = try pond.value(tx, luke, "Frog._id")
            var object = objstore_object(), found = false, other = objstore_object_id()
            try ok(objstore_find(tx, pond.classes["Frog"]!, id, &object, &found))
            #expect(found && object.key == luke.key)
            try ok(objstore_object_id_new(&other))
            try ok(objstore_find(tx, pond.classes["Frog"]!, objstore_object_id_value(other), &object, &found))
            #expect(!found)
        }
    }

    @Test("A45, A46: values of an object and of a set are copies") func a45() throws {
        let pond = try pond()
        defer { pond.close() }
        try writing(pond.store) { tx in
            let maui = try pond.from(tx, "Dog", ["name": "Maui", "cities": ["Boston", "New York"]])
            let jane = try pond.from(tx, "Person", ["id": 1, "dogs": [.link(maui), ["name": "Lita"]]])
            var buffer = objstore_buffer_init(), values = Array(repeating: objstore_null(), count: 100), count = 0
            defer { _ = objstore_buffer_free(&buffer) }
            try ok(objstore_describe(tx, jane, Int64(OBJSTORE_UNLIMITED), &buffer, &values, 100, &count))
            let before = values[..<count].map { CAPITests.string($0) }
            try ok(objstore_collection_assign(tx, objstore_collection_of(maui, pond["Dog.cities"]), nil, nil, 0))
            try ok(objstore_set(tx, maui, pond["Dog.name"], string("Other")))
            #expect(
                values[..<count].map { CAPITests.string($0) } == before && before.contains("Lita")
                    && before.contains("Boston"))
            expect(try pond.elements(tx, maui, "Dog.cities").isEmpty)
        }
    }

    @Test("A72: inside an embedded object") func a72() throws {
        let pond = try pond()
        defer { pond.close() }
        try writing(pond.store) { tx in
            let jane = try pond.from(tx, "Person", ["id": 1, "address": ["street": "Old Street"]]),
                joe = try pond.from(tx, "Person", ["id": 2])
            let address = try pond.value(tx, jane, "Person.address")
            try ok(objstore_set(tx, address.data.link, pond["Address.street"], string("789 Any Street")))
            expect(
                try pond.text(tx, try pond.value(tx, jane, "Person.address").data.link, "Address.street")
                    == "789 Any Street")
            // Where there is none, there is nothing to write to.
            let none = try pond.value(tx, joe, "Person.address")
            #expect(none.kind == .OBJSTORE_KIND_NULL)
            refused(objstore_set(tx, none.data.link, pond["Address.street"], string("x")), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        }
    }

    @Test("A105: what is frozen stays") func a105() throws {
        let pond = try pond()
        defer { pond.close() }
        let rex = try writing(pond.store) { tx in try pond.from(tx, "Dog", ["name": "Rex"]) }
        try frozen(pond.store) { view in
            try writing(pond.store) { tx in try ok(objstore_set(tx, rex, pond["Dog.name"], string("Max"))) }
            expect(try pond.text(view, rex, "Dog.name") == "Rex")
        }
        try frozen(pond.store) { view in expect(try pond.text(view, rex, "Dog.name") == "Max") }
    }

    @Test("A102: every type, filled and not, comes back") func a102() throws {
        let scalars: [(kind: objstore_kind, value: Mixed)] = [
            (.OBJSTORE_KIND_BOOL, .bool(true)), (.OBJSTORE_KIND_INT, .int(.min)),
            (.OBJSTORE_KIND_FLOAT, .float(Float(0.1).bitPattern)),
            (.OBJSTORE_KIND_DOUBLE, .double((-0.0).bitPattern)),
            (.OBJSTORE_KIND_DECIMAL128, .decimal(10, 0x303c_0000_0000_0000)), (.OBJSTORE_KIND_STRING, .text("a\0öß")),
            (.OBJSTORE_KIND_BINARY, .bytes([0, 255])), (.OBJSTORE_KIND_TIMESTAMP, .time(-1, 999_999_999)),
            (.OBJSTORE_KIND_OBJECT_ID, .id(Array(1...12))),
            (.OBJSTORE_KIND_UUID, .uuid(Array(1...16))),
        ]
        func describe(_ schema: OpaquePointer) throws {
            try ok(objstore_schema_add_class(schema, text("All")))
            for (kind, _) in scalars {
                try ok(objstore_schema_add_property(schema, text("All"), text("required\(kind.rawValue)"), kind, 0))
                try ok(
                    objstore_schema_add_property(
                        schema, text("All"), text("optional\(kind.rawValue)"), kind, UInt32(nullable)))
                try ok(
                    objstore_schema_add_collection(
                        schema, text("All"), text("list\(kind.rawValue)"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL,
                        kind, 0))
                try ok(
                    objstore_schema_add_collection(
                        schema, text("All"), text("set\(kind.rawValue)"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, kind,
                        0))
                try ok(
                    objstore_schema_add_collection(
                        schema, text("All"), text("map\(kind.rawValue)"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING,
                        kind, 0))
            }
            try ok(
                objstore_schema_add_property(schema, text("All"), text("mixed"), .OBJSTORE_KIND_MIXED, UInt32(nullable))
            )
            try ok(objstore_schema_add_link(schema, text("All"), text("link"), text("All"), 0))
        }
        let folder = TestFolder(), anything = Mixed.map(["deep": .list([.int(1), .null, .double(2.5.bitPattern)])])
        var store = try NamedStore(folder.store, describe)
        let (full, bare) = try writing(store.store) { tx in
            var given: [(objstore_property_id, objstore_value)] = []
            for (kind, value) in scalars { given.append((store["All.required\(kind.rawValue)"], value.flat[0])) }
            var bare = objstore_object(), full = objstore_object()
            try ok(objstore_create(tx, store.classes["All"]!, given.map(\.0), given.map(\.1), given.count, &bare))
            for (kind, value) in scalars { given.append((store["All.optional\(kind.rawValue)"], value.flat[0])) }
            given.append((store["All.mixed"], try anything.packed()))
            given.append((store["All.link"], objstore_link(bare)))
            try ok(objstore_create(tx, store.classes["All"]!, given.map(\.0), given.map(\.1), given.count, &full))
            for (kind, value) in scalars {
                try ok(
                    objstore_list_insert(
                        tx, objstore_collection_of(full, store["All.list\(kind.rawValue)"]), 0,
                        [value.flat[0], value.flat[0]], 2))
                try ok(
                    objstore_set_insert(
                        tx, objstore_collection_of(full, store["All.set\(kind.rawValue)"]), value.flat[0], nil))
                try ok(
                    objstore_map_set(
                        tx, objstore_collection_of(full, store["All.map\(kind.rawValue)"]), string("key"),
                        value.flat[0], nil))
            }
            return (full, bare)
        }
        store.close()
        store = try NamedStore(folder.store, describe)
        try frozen(store.store) { view in
            for (kind, value) in scalars {
                let number = kind.rawValue
                expect(
                    try Mixed(store.value(view, full, "All.required\(number)")) == value
                        && Mixed(store.value(view, full, "All.optional\(number)")) == value, "\(value)")
                expect(
                    try Mixed(store.value(view, bare, "All.required\(number)")) == value
                        && Mixed(store.value(view, bare, "All.optional\(number)")) == .null, "\(value)")
                expect(
                    try store.elements(view, full, "All.list\(number)").map { try Mixed($0) } == [value, value],
                    "\(value)")
                expect(try store.elements(view, full, "All.set\(number)").map { try Mixed($0) } == [value], "\(value)")
                expect(try store.elements(view, full, "All.map\(number)").map { try Mixed($0) } == [value], "\(value)")
                for name in ["list", "set", "map"] {
                    expect(try store.elements(view, bare, "All.\(name)\(number)").isEmpty)
                }
            }
            expect(
                try Mixed(store.value(view, full, "All.mixed")) == anything
                    && store.value(view, full, "All.link").data.link.key == bare.key)
            expect(
                try store.value(view, bare, "All.mixed").kind == .OBJSTORE_KIND_NULL
                    && store.value(view, bare, "All.link").kind == .OBJSTORE_KIND_NULL)
        }
        try verify(store.store)
        store.close()
    }
}
