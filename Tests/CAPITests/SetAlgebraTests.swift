import CObjStore
import Testing

/// D59: sets of ints, texts and anything, and sets of links.
private struct Kennel {
    let store: OpaquePointer
    let cls: objstore_class_id
    let ints: objstore_property_id, texts: objstore_property_id, things: objstore_property_id,
        pals: objstore_property_id, list: objstore_property_id

    init() throws {
        var schema: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        try ok(objstore_schema_add_class(schema, text("Dog")))
        for (name, kind) in [
            ("ints", objstore_kind.OBJSTORE_KIND_INT), ("texts", .OBJSTORE_KIND_STRING),
            ("things", .OBJSTORE_KIND_MIXED),
        ] {
            try ok(
                objstore_schema_add_collection(
                    schema, text("Dog"), text(name), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, kind, 0))
        }
        try ok(
            objstore_schema_add_link_collection(
                schema, text("Dog"), text("pals"), .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, text("Dog"), 0))
        try ok(
            objstore_schema_add_collection(
                schema, text("Dog"), text("list"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_INT, 0))
        store = try openStore(nil, schema)
        let view = try liveView(store)
        defer { _ = objstore_view_close(view) }
        let names = Names(view), cls = try names.cls("Dog")
        self.cls = cls
        (ints, texts) = (try names.property(cls, "ints"), try names.property(cls, "texts"))
        (things, pals, list) = (
            try names.property(cls, "things"), try names.property(cls, "pals"), try names.property(cls, "list")
        )
    }

    func create(_ tx: OpaquePointer) throws -> objstore_object {
        var object = objstore_object()
        try ok(objstore_create(tx, cls, nil, nil, 0, &object))
        return object
    }

    func combine(
        _ tx: OpaquePointer, _ set: objstore_collection, _ operation: objstore_set_operation, _ values: [objstore_value]
    ) throws -> UInt64 {
        var changed: UInt64 = 0
        try ok(objstore_set_combine(tx, set, operation, values, values.count, &changed))
        return changed
    }

    func relation(_ view: OpaquePointer, _ set: objstore_collection, _ values: [objstore_value]) throws -> UInt32 {
        var relation: UInt32 = 99
        try ok(objstore_set_compare(view, set, values, values.count, &relation))
        return relation
    }

    func values(_ view: OpaquePointer, _ set: objstore_collection) throws -> [objstore_value] {
        var values = [objstore_value](repeating: objstore_value(), count: 5000), count = 0
        try ok(objstore_collection_read(view, set, 0, values.count, nil, nil, &values, &count))
        return Array(values.prefix(count))
    }
}

private let operations: [objstore_set_operation] = [
    .OBJSTORE_SET_UNION, .OBJSTORE_SET_SUBTRACTION, .OBJSTORE_SET_INTERSECTION, .OBJSTORE_SET_SYMMETRIC_DIFFERENCE,
]

/// A85: Maui {New York, Toronto}, Lita {Boston, New York, Toronto, Montreal}.
@Test func a85SetsAreCombined() throws {
    let kennel = try Kennel()
    func cities(_ names: String...) -> [objstore_value] { names.map { objstore_string(text($0)) } }
    try writing(kennel.store) { tx in
        let maui = objstore_collection_of(try kennel.create(tx), kennel.texts),
            lita = objstore_collection_of(try kennel.create(tx), kennel.texts)
        expect(try kennel.combine(tx, maui, .OBJSTORE_SET_UNION, cities("Toronto", "New York", "Toronto")) == 2)
        expect(
            try kennel.combine(tx, lita, .OBJSTORE_SET_UNION, cities("Boston", "New York", "Toronto", "Montreal")) == 4)
        // Of the other set itself: its values lie in the store.
        expect(
            try kennel.relation(tx, maui, kennel.values(tx, lita))
                == UInt32(OBJSTORE_SETS_INTERSECT | OBJSTORE_SETS_SUBSET))
        expect(
            try kennel.relation(tx, lita, kennel.values(tx, maui))
                == UInt32(OBJSTORE_SETS_INTERSECT | OBJSTORE_SETS_SUPERSET))
        expect(
            try kennel.combine(tx, maui, .OBJSTORE_SET_UNION, cities("Boston")) == 1
                && kennel.values(tx, maui).map { string($0)! } == ["Boston", "New York", "Toronto"])
        expect(
            try kennel.combine(tx, maui, .OBJSTORE_SET_SUBTRACTION, cities("Boston", "Rome")) == 1
                && kennel.values(tx, maui).count == 2)
        expect(
            try kennel.combine(tx, maui, .OBJSTORE_SET_INTERSECTION, cities("Boston")) == 2
                && kennel.values(tx, maui).isEmpty)
        expect(try kennel.combine(tx, maui, .OBJSTORE_SET_UNION, kennel.values(tx, lita)) == 4)
        expect(try kennel.combine(tx, maui, .OBJSTORE_SET_UNION, kennel.values(tx, maui)) == 0)
        expect(
            try kennel.combine(tx, maui, .OBJSTORE_SET_SYMMETRIC_DIFFERENCE, kennel.values(tx, maui)) == 4
                && kennel.relation(tx, maui, []) == UInt32(OBJSTORE_SETS_SUBSET | OBJSTORE_SETS_SUPERSET))
    }
    try verify(kennel.store)
    try ok(objstore_close(kennel.store))
}

/// Small sets, in their rows, and large ones, in the tree, against Swift's.
@Test(arguments: [1, 2, 3] as [UInt64]) func setsAgainstAModel(_ seed: UInt64) throws {
    let kennel = try Kennel()
    var random = MixedRandom(seed)
    try writing(kennel.store) { tx in
        let dog = try kennel.create(tx), set = objstore_collection_of(dog, kennel.ints),
            texts = objstore_collection_of(dog, kennel.texts)
        var model: Set<Int64> = []
        for _ in 0..<120 {
            let range = [6, 40, 3000][random.below(3)], count = random.below([4, 30, 900][random.below(3)] + 1)
            let others = (0..<count).map { _ in Int64(random.below(range)) }, operation = operations[random.below(4)]
            let wanted =
                switch operation {
                case .OBJSTORE_SET_UNION: model.union(others)
                case .OBJSTORE_SET_SUBTRACTION: model.subtracting(others)
                case .OBJSTORE_SET_INTERSECTION: model.intersection(others)
                default: model.symmetricDifference(others)
                }
            var relation = UInt32(0)
            if !model.isDisjoint(with: others) { relation |= UInt32(OBJSTORE_SETS_INTERSECT) }
            if model.isSubset(of: others) { relation |= UInt32(OBJSTORE_SETS_SUBSET) }
            if model.isSuperset(of: others) { relation |= UInt32(OBJSTORE_SETS_SUPERSET) }
            let numbers = others.map { objstore_int($0) },
                words = others.map { objstore_string(text(String(repeating: "w", count: 9) + "\($0)")) }
            expect(
                try kennel.relation(tx, set, numbers) == relation && kennel.relation(tx, texts, words) == relation,
                "seed \(seed)")
            let changed = UInt64(model.symmetricDifference(wanted).count)
            expect(
                try kennel.combine(tx, set, operation, numbers) == changed
                    && kennel.combine(tx, texts, operation, words) == changed, "seed \(seed)")
            model = wanted
            expect(try kennel.values(tx, set).map(\.data.integer) == model.sorted(), "seed \(seed)")
            expect(
                try kennel.values(tx, texts).map { Int64(string($0)!.dropFirst(9))! }.sorted() == model.sorted(),
                "seed \(seed)")
        }
    }
    try verify(kennel.store)
    try ok(objstore_close(kennel.store))
}

/// The first value that is copied has no bytes, the last more than a block of copies.
@Test func emptyAndLongTextsAreCombined() throws {
    let kennel = try Kennel()
    try writing(kennel.store) { tx in
        let texts = objstore_collection_of(try kennel.create(tx), kennel.texts),
            long = String(repeating: "w", count: 40_000)
        let values = ["", "a", long].map { objstore_string(text($0)) }
        expect(try kennel.relation(tx, texts, [values[0]]) == UInt32(OBJSTORE_SETS_SUBSET))
        expect(try kennel.combine(tx, texts, .OBJSTORE_SET_UNION, [values[0]]) == 1)
        expect(
            try kennel.combine(tx, texts, .OBJSTORE_SET_UNION, values) == 2
                && kennel.values(tx, texts).map { string($0)! } == ["", "a", long])
        try ok(objstore_collection_assign(tx, texts, nil, values, values.count))
        expect(
            try kennel.relation(tx, texts, values)
                == UInt32(OBJSTORE_SETS_INTERSECT | OBJSTORE_SETS_SUBSET | OBJSTORE_SETS_SUPERSET))
    }
    try verify(kennel.store)
    try ok(objstore_close(kennel.store))
}

/// 0.0 and -0.0 are equal: the first stays, however they come.
@Test func ofEqualValuesTheFirstStays() throws {
    let kennel = try Kennel()
    try writing(kennel.store) { tx in
        let things = objstore_collection_of(try kennel.create(tx), kennel.things)
        func signs() throws -> [FloatingPointSign] { try kennel.values(tx, things).map(\.data.real.sign) }
        for first in [0.0, -0.0] {
            let values = [objstore_double(first), objstore_double(-first)]
            try ok(objstore_collection_assign(tx, things, nil, values, 2))
            expect(try signs() == [first.sign])
            try ok(objstore_collection_clear(tx, things))
            expect(try kennel.combine(tx, things, .OBJSTORE_SET_UNION, values) == 1 && signs() == [first.sign])
            try ok(objstore_collection_clear(tx, things))
            for value in values { try ok(objstore_set_insert(tx, things, value, nil)) }
            expect(try signs() == [first.sign])
        }
    }
    try ok(objstore_close(kennel.store))
}

@Test func setsOfLinksAndOfAnything() throws {
    let kennel = try Kennel()
    try writing(kennel.store) { tx in
        let dogs = try (0..<4).map { _ in try kennel.create(tx) }, links = dogs.map { objstore_link($0) }
        let pals = objstore_collection_of(dogs[0], kennel.pals), things = objstore_collection_of(dogs[0], kennel.things)
        func incoming(_ dog: Int, _ property: objstore_property_id) throws -> UInt64 {
            var count: UInt64 = 0
            try ok(objstore_incoming_count(tx, dogs[dog], property, &count))
            return count
        }
        for (set, property) in [(pals, kennel.pals), (things, kennel.things)] {
            expect(
                try kennel.combine(tx, set, .OBJSTORE_SET_UNION, [links[3], links[1], links[2]]) == 3
                    && incoming(1, property) == 1)
            expect(
                try kennel.combine(tx, set, .OBJSTORE_SET_INTERSECTION, [links[2], links[0]]) == 2
                    && incoming(1, property) == 0 && incoming(2, property) == 1)
        }
        expect(
            try kennel.combine(
                tx, things, .OBJSTORE_SET_UNION,
                [objstore_double(1), objstore_int(1), objstore_null(), objstore_int(1)]) == 3)
        expect(
            try kennel.relation(tx, things, [objstore_int(1)])
                == UInt32(OBJSTORE_SETS_INTERSECT | OBJSTORE_SETS_SUPERSET))
        expect(try kennel.combine(tx, things, .OBJSTORE_SET_SUBTRACTION, [objstore_int(1), links[2]]) == 2)
        // What is refused changes nothing.
        let ints = objstore_collection_of(dogs[0], kennel.ints)
        refused(
            objstore_set_combine(tx, ints, .OBJSTORE_SET_UNION, [objstore_int(1), objstore_double(1)], 2, nil),
            .OBJSTORE_ERR_WRONG_TYPE)
        expect(
            refused(
                objstore_set_combine(tx, ints, .OBJSTORE_SET_UNION, [objstore_int(1), objstore_null()], 2, nil),
                .OBJSTORE_ERR_NOT_NULLABLE
            ).contains("Dog.ints"))
        refused(
            objstore_set_combine(
                tx, pals, .OBJSTORE_SET_UNION,
                [objstore_link(objstore_object(class_id: dogs[0].class_id, store_tag: dogs[0].store_tag, key: 99))], 1,
                nil), .OBJSTORE_ERR_NO_SUCH_OBJECT)
        refused(
            objstore_set_combine(tx, objstore_collection_of(dogs[0], kennel.list), .OBJSTORE_SET_UNION, nil, 0, nil),
            .OBJSTORE_ERR_WRONG_TYPE)
        var relation: UInt32 = 0
        refused(
            objstore_set_compare(tx, objstore_collection_of(dogs[0], kennel.list), nil, 0, &relation),
            .OBJSTORE_ERR_WRONG_TYPE)
        expect(try kennel.values(tx, ints).isEmpty && kennel.values(tx, pals).count == 1)
    }
    try verify(kennel.store)
    try ok(objstore_close(kennel.store))
}
