import CObjStore
import CSystem
import Testing

// Lists, sets and maps through the C interface.

/// A class with one collection of each sort.
struct Boxes {
    let id: objstore_class_id
    let numbers, texts, seen, notes: objstore_property_id

    static func open(_ path: String?) throws -> OpaquePointer {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        let box = text("Box")
        try ok(objstore_schema_add_class(schema, box))
        try ok(objstore_schema_add_property(schema, box, text("name"), .OBJSTORE_KIND_STRING, UInt32(primaryKey)))
        try ok(
            objstore_schema_add_collection(
                schema, box, text("numbers"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_INT, 0))
        try ok(
            objstore_schema_add_collection(
                schema, box, text("texts"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_STRING,
                UInt32(nullable)))
        try ok(
            objstore_schema_add_collection(
                schema, box, text("seen"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_STRING, 0))
        try ok(
            objstore_schema_add_collection(
                schema, box, text("notes"), .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_DOUBLE,
                UInt32(nullable)))
        var config: OpaquePointer?
        try ok(objstore_config_new(&config))
        defer { _ = objstore_config_close(config) }
        try ok(path.map { objstore_config_set_path(config, text($0)) } ?? objstore_config_set_memory(config, text("")))
        try ok(objstore_config_set_schema(config, schema, 1))
        var store: OpaquePointer?
        try ok(objstore_open(config, &store))
        return store!
    }

    init(_ store: OpaquePointer) throws {
        let view = try liveView(store)
        defer { _ = objstore_view_close(view) }
        var id: objstore_class_id = 0
        try ok(objstore_find_class(view, text("Box"), &id))
        func property(_ name: String) throws -> objstore_property_id {
            var property: objstore_property_id = 0
            try ok(objstore_find_property(view, id, text(name), &property))
            return property
        }
        self.id = id
        numbers = try property("numbers")
        texts = try property("texts")
        seen = try property("seen")
        notes = try property("notes")
    }

    func create(_ tx: OpaquePointer, _ name: String) throws -> objstore_object {
        var property: objstore_property_id = 0, object = objstore_object(), value = objstore_string(text(name))
        try ok(objstore_find_property(tx, id, text("name"), &property))
        try ok(objstore_create(tx, id, &property, &value, 1, &object))
        return object
    }

    // MARK: Whole content

    enum Element: Hashable {
        case null, int(Int64), double(Double), text(String)

        init(_ value: objstore_value) {
            switch value.kind {
            case .OBJSTORE_KIND_INT: self = .int(value.data.integer)
            case .OBJSTORE_KIND_DOUBLE: self = .double(value.data.real)
            case .OBJSTORE_KIND_STRING: self = .text(string(value)!)
            default: self = .null
            }
        }
        var value: objstore_value {
            switch self {
            case .null: objstore_null()
            case .int(let number): objstore_int(number)
            case .double(let number): objstore_double(number)
            case .text(let characters): objstore_string(CAPITests.text(characters))
            }
        }
    }

    func read(
        _ view: OpaquePointer, _ object: objstore_object, _ property: objstore_property_id
    ) throws -> [(key: Element, value: Element)] {
        let collection = objstore_collection_of(object, property)
        var count: UInt64 = 0, read = 0, buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        try ok(objstore_collection_count(view, collection, &count))
        var keys = [objstore_value](repeating: objstore_null(), count: Int(count) + 1), values = keys
        try ok(
            keys.withUnsafeMutableBufferPointer { keys in
                values.withUnsafeMutableBufferPointer { values in
                    objstore_collection_read(
                        view, collection, 0, Int(count) + 1, &buffer, property == notes ? keys.baseAddress : nil,
                        values.baseAddress, &read)
                }
            })
        #expect(read == Int(count))
        return (0..<read).map { (Element(keys[$0]), Element(values[$0])) }
    }
}

private func values(
    _ view: OpaquePointer, _ boxes: Boxes, _ object: objstore_object, _ property: objstore_property_id
) throws -> [Boxes.Element] {
    try boxes.read(view, object, property).map(\.value)
}

@Test func listsInsertMoveAndRemove() throws {
    let folder = TestFolder()
    var store = try Boxes.open(folder.store)
    var box = objstore_object()
    let boxes = try Boxes(store)
    try writing(store) { tx in
        box = try boxes.create(tx, "one")
        let list = objstore_collection_of(box, boxes.numbers)
        #expect(try values(tx, boxes, box, boxes.numbers).isEmpty)
        var numbers = (0..<5).map { objstore_int($0) }
        try ok(objstore_list_insert(tx, list, -1, &numbers, 5))
        try ok(objstore_list_set(tx, list, 1, objstore_int(100)))
        try ok(objstore_list_move(tx, list, 0, 4))
        #expect(try values(tx, boxes, box, boxes.numbers) == [100, 2, 3, 4, 0].map { .int($0) })
        try ok(objstore_list_move(tx, list, 4, 1))
        try ok(objstore_collection_remove(tx, list, 2, 2))
        #expect(try values(tx, boxes, box, boxes.numbers) == [100, 0, 4].map { .int($0) })
        // Into the tree, and out of the middle of it.
        numbers = (0..<3000).map { objstore_int($0 * 3) }
        try ok(objstore_list_insert(tx, list, 1, &numbers, 3000))
        var count: UInt64 = 0
        try ok(objstore_collection_count(tx, list, &count))
        #expect(count == 3003)
        var value = objstore_value()
        try ok(objstore_collection_get(tx, list, 2000, nil, nil, &value))
        #expect(value.data.integer == 1999 * 3)
        var index: Int64 = 0
        try ok(objstore_collection_find(tx, list, objstore_int(2997), &index))
        #expect(index == 1000)
        try ok(objstore_collection_find(tx, list, objstore_int(2998), &index))
        #expect(index == -1)
    }
    try ok(objstore_close(store))
    store = try Boxes.open(folder.store)
    try reading(store) { view in
        let all = try values(view, boxes, box, boxes.numbers)
        let middle: [Boxes.Element] = (0..<3000).map { .int($0 * 3) }
        #expect(all == [.int(100)] + middle + [.int(0), .int(4)])
    }
    try writing(store) { tx in
        let list = objstore_collection_of(box, boxes.numbers)
        try ok(objstore_collection_remove(tx, list, 1, 3000))
        #expect(try values(tx, boxes, box, boxes.numbers) == [100, 0, 4].map { .int($0) })
        try ok(objstore_collection_clear(tx, list))
        #expect(try values(tx, boxes, box, boxes.numbers).isEmpty)
    }
    try verify(store)
    try ok(objstore_close(store))
}

@Test func setsAndMapsAreInOrder() throws {
    let store = try Boxes.open(nil)
    let boxes = try Boxes(store)
    try writing(store) { tx in
        let box = try boxes.create(tx, "one")
        let set = objstore_collection_of(box, boxes.seen), map = objstore_collection_of(box, boxes.notes)
        for round in 0..<2 {
            for (position, name) in ["pear", "apple", "pear", "fig", ""].enumerated() {
                var inserted = false
                try ok(objstore_set_insert(tx, set, objstore_string(text(name)), &inserted))
                #expect(inserted == (round == 0 && position != 2))
            }
        }
        #expect(try values(tx, boxes, box, boxes.seen) == ["", "apple", "fig", "pear"].map { .text($0) })
        for number in 0..<500 { try ok(objstore_set_insert(tx, set, objstore_string(text("n\(number % 250)")), nil)) }
        #expect(
            try values(tx, boxes, box, boxes.seen)
                == (["", "apple", "fig", "pear"] + (0..<250).map { "n\($0)" }).sorted().map { .text($0) })
        var removed = false
        try ok(objstore_set_remove(tx, set, objstore_string(text("fig")), &removed))
        #expect(removed)
        try ok(objstore_set_remove(tx, set, objstore_string(text("fig")), &removed))
        #expect(!removed)

        for number in 0..<300 {
            var inserted = false
            try ok(
                objstore_map_set(
                    tx, map, objstore_string(text("k\(number % 100)")), objstore_double(Double(number)), &inserted))
            #expect(inserted == (number < 100))
        }
        var value = objstore_value(), found = false
        try ok(objstore_map_get(tx, map, objstore_string(text("k7")), nil, &value, &found))
        #expect(found && value.data.real == 207)
        try ok(objstore_map_get(tx, map, objstore_string(text("k")), nil, &value, &found))
        #expect(!found && value.kind == .OBJSTORE_KIND_NULL)
        value = objstore_int(42)
        _ = refused(objstore_map_get(tx, map, objstore_string(text("k")), nil, &value, nil), .OBJSTORE_ERR_NOT_FOUND)
        #expect(value.kind == .OBJSTORE_KIND_INT && value.data.integer == 42, "not what was there before")
        try ok(objstore_map_set(tx, map, objstore_string(text("k7")), objstore_null(), nil))
        let entries = try boxes.read(tx, box, boxes.notes)
        #expect(entries.map(\.key) == (0..<100).map { "k\($0)" }.sorted().map { .text($0) })
        #expect(entries.allSatisfy { $0.key == .text("k7") ? $0.value == .null : $0.value != .null })
        var key = objstore_value()
        try ok(objstore_collection_get(tx, map, 0, nil, &key, &value))
        #expect(string(key) == "k0" && value.data.real == 200)
        try ok(objstore_map_remove(tx, map, objstore_string(text("k0")), &removed))
        #expect(removed)
    }
    try verify(store)
    try ok(objstore_close(store))
}

@Test func whatDoesNotFitIsRefused() throws {
    let store = try Boxes.open(nil)
    let boxes = try Boxes(store)
    try writing(store) { tx in
        let box = try boxes.create(tx, "one")
        let list = objstore_collection_of(box, boxes.numbers), set = objstore_collection_of(box, boxes.seen),
            map = objstore_collection_of(box, boxes.notes)
        var mixed = [objstore_int(1), objstore_double(2)]
        #expect(refused(objstore_list_insert(tx, list, 0, &mixed, 2), .OBJSTORE_ERR_WRONG_TYPE).contains("Box.numbers"))
        #expect(try values(tx, boxes, box, boxes.numbers).isEmpty)
        var null = objstore_null()
        _ = refused(objstore_list_insert(tx, list, 0, &null, 1), .OBJSTORE_ERR_NOT_NULLABLE)
        try ok(objstore_list_insert(tx, objstore_collection_of(box, boxes.texts), 0, &null, 1))
        _ = refused(objstore_list_insert(tx, list, 1, &mixed, 1), .OBJSTORE_ERR_OUT_OF_RANGE)
        _ = refused(objstore_list_set(tx, list, 0, objstore_int(1)), .OBJSTORE_ERR_OUT_OF_RANGE)
        _ = refused(objstore_collection_remove(tx, list, 0, 1), .OBJSTORE_ERR_OUT_OF_RANGE)
        var three = (0..<3).map { objstore_int($0) }
        try ok(objstore_list_insert(tx, list, 0, &three, 3))
        for (index, count) in [(2, 2), (3, 1), (2, Int.max), (Int.max, 1), (-1, 0)] {
            _ = refused(objstore_collection_remove(tx, list, index, count), .OBJSTORE_ERR_OUT_OF_RANGE)
        }
        try ok(objstore_collection_clear(tx, list))
        _ = refused(objstore_set_insert(tx, list, objstore_int(1), nil), .OBJSTORE_ERR_WRONG_TYPE)
        _ = refused(objstore_list_set(tx, set, 0, objstore_int(1)), .OBJSTORE_ERR_WRONG_TYPE)
        _ = refused(objstore_map_set(tx, map, objstore_int(1), objstore_null(), nil), .OBJSTORE_ERR_WRONG_TYPE)
        _ = refused(objstore_map_set(tx, map, objstore_null(), objstore_null(), nil), .OBJSTORE_ERR_NOT_NULLABLE)
        _ = refused(
            objstore_map_set(tx, map, objstore_string(text(String(repeating: "k", count: 1025))), objstore_null(), nil),
            .OBJSTORE_ERR_VALUE_TOO_LARGE)
        try ok(
            objstore_map_set(tx, map, objstore_string(text(String(repeating: "k", count: 1024))), objstore_null(), nil))
        // Collections are no values.
        #expect(
            refused(objstore_set(tx, box, boxes.numbers, objstore_int(1)), .OBJSTORE_ERR_WRONG_TYPE).contains(
                "its elements are changed"))
        _ = refused(objstore_set(tx, box, boxes.numbers, objstore_null()), .OBJSTORE_ERR_WRONG_TYPE)
        var value = objstore_value()
        try ok(objstore_get(tx, box, boxes.seen, nil, &value))
        #expect(
            value.kind == .OBJSTORE_KIND_SET && value.data.collection.property_id == boxes.seen
                && value.data.collection.owner.key == box.key)
        var count: UInt64 = 0
        // ANY of its numbers.
        try ok(countWhere(tx, boxes.id, boxes.numbers, .OBJSTORE_EQUAL, objstore_null(), &count))
        #expect(count == 0)
        try ok(objstore_delete(tx, box))
        _ = refused(objstore_collection_count(tx, list, &count), .OBJSTORE_ERR_NO_SUCH_OBJECT)
    }
    try reading(store) { view in
        var info = objstore_property_info()
        info.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
        try ok(objstore_property_get_info(view, boxes.notes, &info))
        #expect(
            info.kind == .OBJSTORE_KIND_DOUBLE && info.collection == .OBJSTORE_KIND_MAP
                && info.key_kind == .OBJSTORE_KIND_STRING && info.flags == UInt32(nullable))
    }
    try ok(objstore_close(store))
}

@Test func observersHearOfElements() throws {
    let store = try Boxes.open(nil)
    let boxes = try Boxes(store)
    var one = objstore_object(), two = objstore_object()
    try writing(store) { tx in
        one = try boxes.create(tx, "one")
        two = try boxes.create(tx, "two")
        var many = (0..<200).map { objstore_int($0) }
        try ok(objstore_list_insert(tx, objstore_collection_of(two, boxes.numbers), 0, &many, 200))
    }
    try hearing(store, boxes.id) { heard in
        try writing(store) { tx in
            var number = objstore_int(5)
            try ok(objstore_list_insert(tx, objstore_collection_of(one, boxes.numbers), 0, &number, 1))
            try ok(objstore_collection_remove(tx, objstore_collection_of(two, boxes.numbers), 7, 1))
        }
        try ok(objstore_deliver(store, nil))
        #expect(heard().last == 2)
        try writing(store) { tx in
            try ok(
                objstore_set_remove(tx, objstore_collection_of(one, boxes.seen), objstore_string(text("absent")), nil))
        }
        try ok(objstore_deliver(store, nil))
        #expect(heard().last == 2, "nothing was changed")
    }
    try ok(objstore_close(store))
}

// MARK: Random histories

/// Boxes as arrays.
private struct BoxModel: Equatable {
    struct Entry: Hashable {
        var key: Boxes.Element
        var value: Boxes.Element
    }
    var collections: [objstore_property_id: [Entry]] = [:]
}

@Test(arguments: [1, 2, 3, 4] as [UInt64])
func randomHistoriesOfCollections(_ seed: UInt64) throws {
    let folder = TestFolder()
    var store = try Boxes.open(folder.store)
    let boxes = try Boxes(store)
    var random = CollectionRandom(state: seed &* 0x9e37_79b9_7f4a_7c15 | 1)
    var model: [Int64: BoxModel] = [:], objects: [Int64: objstore_object] = [:]

    func compare(_ view: OpaquePointer, _ what: String) throws {
        var count: UInt64 = 0
        try ok(objstore_count(view, boxes.id, &count))
        #expect(count == UInt64(model.count), "seed \(seed), \(what)")
        for (key, box) in model {
            for property in [boxes.numbers, boxes.texts, boxes.seen, boxes.notes] {
                let found = try boxes.read(view, objects[key]!, property).map {
                    BoxModel.Entry(key: $0.key, value: $0.value)
                }
                try #require(
                    found == box.collections[property] ?? [],
                    "seed \(seed), \(what), object \(key), property \(property)")
            }
        }
    }
    func element(_ property: objstore_property_id) -> Boxes.Element {
        switch property {
        case boxes.numbers:
            return .int(Int64(random.below(4)) == 0 ? Int64(bitPattern: random.next()) : Int64(random.below(1000)))
        case boxes.texts where random.below(6) == 0, boxes.notes where random.below(6) == 0: return .null
        case boxes.notes: return .double(Double(random.below(100)) / 4)
        default:
            return .text(
                String(repeating: "ab", count: random.below(random.below(30) == 0 ? 600 : 4)) + String(random.below(60))
            )
        }
    }
    func change(_ tx: OpaquePointer) throws {
        if model.isEmpty || random.below(12) == 0 {
            let object = try boxes.create(tx, "box \(random.next())")
            objects[object.key] = object
            model[object.key] = BoxModel()
            return
        }
        let key = model.keys.sorted()[random.below(model.count)], object = objects[key]!
        if random.below(60) == 0 {
            try ok(objstore_delete(tx, object))
            model[key] = nil
            return
        }
        let property = [boxes.numbers, boxes.texts, boxes.seen, boxes.notes][random.below(4)]
        let collection = objstore_collection_of(object, property)
        var entries = model[key]!.collections[property] ?? []
        defer { model[key]!.collections[property] = entries.isEmpty ? nil : entries }
        switch random.below(10) {
        case 0 where !entries.isEmpty:
            let from = random.below(entries.count), count = random.below(entries.count - from + 1)
            try ok(objstore_collection_remove(tx, collection, from, count))
            entries.removeSubrange(from..<from + count)
        case 1 where random.below(5) == 0:
            try ok(objstore_collection_clear(tx, collection))
            entries = []
        default:
            switch property {
            case boxes.numbers, boxes.texts:
                let new = (0..<(random.below(8) == 0 ? random.below(300) : 1 + random.below(3))).map { _ in
                    BoxModel.Entry(key: .null, value: element(property))
                }
                if random.below(4) == 0, entries.count > 1 {
                    let from = random.below(entries.count), to = random.below(entries.count)
                    try ok(objstore_list_move(tx, collection, from, to))
                    entries.insert(entries.remove(at: from), at: to)
                } else if random.below(4) == 0, !entries.isEmpty {
                    let at = random.below(entries.count), value = element(property)
                    try ok(objstore_list_set(tx, collection, at, value.value))
                    entries[at].value = value
                } else {
                    let at = random.below(entries.count + 1)
                    try ok(objstore_list_insert(tx, collection, at, new.map(\.value.value), new.count))
                    entries.insert(contentsOf: new, at: at)
                }
            case boxes.seen:
                let value = element(property)
                if random.below(3) == 0, let known = entries.randomElement(using: &random) {
                    try ok(objstore_set_remove(tx, collection, known.value.value, nil))
                    entries.removeAll { $0.value == known.value }
                } else {
                    try ok(objstore_set_insert(tx, collection, value.value, nil))
                    if !entries.contains(where: { $0.value == value }) {
                        entries.append(BoxModel.Entry(key: .null, value: value))
                    }
                    entries.sort { bytes($0.value).lexicographicallyPrecedes(bytes($1.value)) }
                }
            default:
                let name = Boxes.Element.text("key \(random.below(120))"), value = element(property)
                if random.below(3) == 0 {
                    try ok(objstore_map_remove(tx, collection, name.value, nil))
                    entries.removeAll { $0.key == name }
                } else {
                    try ok(objstore_map_set(tx, collection, name.value, value.value, nil))
                    entries.removeAll { $0.key == name }
                    entries.append(BoxModel.Entry(key: name, value: value))
                    entries.sort { bytes($0.key).lexicographicallyPrecedes(bytes($1.key)) }
                }
            }
        }
    }
    func bytes(_ element: Boxes.Element) -> [UInt8] {
        if case .text(let text) = element { Array(text.utf8) } else { [] }
    }

    for round in 0..<40 {
        let before = model
        var tx: OpaquePointer?
        try ok(objstore_begin(store, &tx))
        for _ in 0..<random.below(60) {
            if random.below(12) == 0 {
                var savepoint: objstore_savepoint = 0
                let here = model
                try ok(objstore_savepoint_begin(tx, &savepoint))
                for _ in 0..<random.below(10) { try change(tx!) }
                if random.below(2) == 0 {
                    try ok(objstore_savepoint_rollback(tx, savepoint))
                    model = here
                } else {
                    try ok(objstore_savepoint_release(tx, savepoint))
                }
            }
            try change(tx!)
        }
        try compare(tx!, "in transaction \(round)")
        if random.below(5) == 0 {
            try ok(objstore_cancel(tx))
            model = before
        } else {
            try ok(objstore_commit(tx, nil))
        }
        if random.below(8) == 0 { try ok(objstore_compact(store, nil, nil, nil)) }
        if random.below(8) == 0 {
            try ok(objstore_close(store))
            store = try Boxes.open(folder.store)
        }
        try reading(store) { view in try compare(view, "after transaction \(round)") }
        try verify(store)
    }
    try writing(store) { tx in
        var count: UInt64 = 0
        try ok(objstore_delete_all(tx, boxes.id, &count))
        model = [:]
    }
    try verify(store)
    try ok(objstore_close(store))
}

struct CollectionRandom: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_f491_4f6c_dd1d
    }
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

/// Texts that the transaction itself lent, more than are inserted in one step.
@Test func elementsLentByTheTransactionAreInserted() throws {
    let store = try Boxes.open(nil), boxes = try Boxes(store)
    defer { _ = objstore_close(store) }
    let count = 9000
    try writing(store) { tx in
        let list = objstore_collection_of(try boxes.create(tx, "a"), boxes.texts)
        let texts = (0..<count).map { objstore_string(text("text \($0) " + String(repeating: "x", count: $0 % 90))) }
        try ok(objstore_list_insert(tx, list, 0, texts, count))
        var lent = Array(repeating: objstore_null(), count: count), found = 0
        try ok(objstore_collection_read(tx, list, 0, count, nil, nil, &lent, &found))
        try ok(objstore_list_insert(tx, list, 1, lent, count))
        var all = Array(repeating: objstore_null(), count: 2 * count)
        try ok(objstore_collection_read(tx, list, 0, 2 * count, nil, nil, &all, &found))
        let expected = texts.map { string($0) }
        #expect(found == 2 * count && all.map { string($0) } == [expected[0]] + expected + expected.dropFirst())
    }
    try verify(store)
}
