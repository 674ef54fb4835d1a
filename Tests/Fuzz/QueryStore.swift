import ObjStoreCore

/// A small store for queries: every kind of property, with and without index, links, lists, sets and maps of them,
/// embedded objects, mixed values with anything inside, full text, names that are words. Keys have gaps.
///
/// One view as it was committed, and a transaction that has created, changed and deleted more.
struct QueryStore {
    let store: Store
    let view: View
    let transaction: View
    /// Of the classes in `QueryWords.classes`.
    let classes: [UInt32]

    init() throws(StoreError) {
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        configuration.schema = try QueryStore.draft()
        store = try Store.open(configuration)
        let tx = try store.begin()
        var classes: [UInt32] = []
        for cls in QueryWords.classes { classes.append(try tx.findClass(cls.name)) }
        self.classes = classes
        try QueryStore.fill(tx, 0..<150)
        try QueryStore.delete(tx, classes, every: 5)
        _ = try tx.commit()
        view = try store.openView().freeze()
        transaction = try store.begin()
        try QueryStore.fill(transaction, 150..<170)
        try QueryStore.delete(transaction, classes, every: 11)
    }

    private static func draft() throws(StoreError) -> SchemaDraft {
        var draft = SchemaDraft()
        for cls in ["Thing", "Other", "Part"] { try draft.addClass(cls) }
        try draft.setEmbedded("Part", true)
        for property in QueryWords.classes.joined(\.properties) {
            let (cls, property) = property
            switch property.shape {
            case .plain: try draft.addProperty(cls, property.name, property.kind, property.flags)
            case .link: try draft.addLink(cls, property.name, to: property.target!)
            case .list, .set, .map:
                let isLink = property.kind == .link
                let kind: ValueKind = property.shape == .list ? .list : property.shape == .set ? .set : .map
                let element = ElementSchema(
                    kind: property.kind, isNullable: !isLink && property.flags.contains(.nullable),
                    keyKind: kind == .map ? .string : .null)
                try draft.addCollection(cls, property.name, kind, element, target: isLink ? property.target : nil)
            }
        }
        try draft.addIndex("Thing", ["n", "r"], [])
        return draft
    }

    private static func delete(_ tx: View, _ classes: [UInt32], every: Int) throws(StoreError) {
        for cls in classes.prefix(2) {
            let all = try tx.find(Query(all: cls))
            for index in 0..<all.count where index % every == 2 { try tx.delete(try all.object(at: UInt64(index))) }
        }
    }

    /// Objects, each of a number alone.
    private static func fill(_ tx: View, _ range: Range<Int>) throws(StoreError) {
        let thing = try tx.findClass("Thing"), other = try tx.findClass("Other")
        for number in range {
            try create(
                tx, other,
                """
                {"k":\(number % 9),"name":"\(texts[number % texts.count])","type":"Point",\
                "coordinates":[\(number % 40 - 20),\(number % 7)],"limit":\(number)}
                """)
            func list(_ count: Int, _ body: (Int) -> String) -> String {
                "[" + (0..<count).map(body).joined(separator: ",") + "]"
            }
            func part(_ depth: Int) -> String {
                depth == 0
                    ? "null" : #"{"size":\#(depth + number % 3),"inner":\#(part(depth - 1)),"name":"p\#(number % 4)"}"#
            }
            let text = texts[number * 3 % texts.count], mixed = mixed[number % mixed.count]
            let notes =
                "{"
                + (0..<number % 4).map { #""\#(["a", "b", "x y"][$0 % 3])":\#(self.mixed[$0])"# }.joined(separator: ",")
                + "}"
            let keys = ["a", "b", "c"]
            let counts =
                "{" + (0..<number % 3).map { "\"\(keys[$0])\":\($0 + number % 5)" }.joined(separator: ",") + "}"
            try create(
                tx, thing,
                """
                {"id":\(number),"b":\(["true", "false", "null"][number % 3]),"i":\(number % 13 - 4),\
                "n":\(number % 4 == 0 ? "null" : "\(number * 7 % 11)"),"f":\(number % 9).5,\
                "d":\(number % 5 == 0 ? "null" : "\(number % 17 - 8).25"),"s":"\(text)",\
                "r":\(number % 3 == 0 ? "null" : "\"\(texts[number % texts.count])\""),\
                "w":"\(text) some words of \(number % 6)","m":\(mixed),\
                "y":\(self.mixed[number * 5 % self.mixed.count]),\
                "ints":\(list(number % 4) { $0 == 2 ? "null" : "\($0 + number % 3)" }),\
                "texts":\(list(number % 3) { "\"\(texts[($0 + number) % texts.count])\"" }),\
                "doubles":\(list(number % 3) { "\($0).5" }),"notes":\(notes),\
                "counts":\(counts),\
                "things":\(list(number % 3) { self.mixed[($0 + number) % 5] }),\
                "part":\(part(number % 3)),"parts":\(list(number % 3) { _ in part(1) }),\
                "not":\(number % 2),"sort":"\(text)"}
                """)
        }
        try finish(tx, thing, other, range)
    }

    private static func create(_ tx: View, _ cls: UInt32, _ text: String) throws(StoreError) {
        var text = text
        let result: Result<Void, StoreError> = text.withUTF8 { bytes in
            do throws(StoreError) {
                _ = try tx.create(cls, json: .memory(UnsafeRawBufferPointer(bytes)), [], .error, nil)
                return .success(())
            } catch { return .failure(error) }
        }
        try result.get()
    }

    /// What JSON does not say: links, and the kinds that it has no numbers of.
    private static func finish(
        _ tx: View, _ thing: UInt32, _ other: UInt32, _ range: Range<Int>
    ) throws(StoreError) {
        let things = try tx.find(Query(all: thing)), others = try tx.find(Query(all: other))
        func property(_ name: String) throws(StoreError) -> UInt32 { try tx.findProperty(thing, name) }
        let best = try property("best"), friend = try property("other"), mixed = try property("m")
        let friends = try property("friends"), crowd = try property("crowd"), named = try property("named")
        let back = try tx.findProperty(other, "back")
        let kinds: [(UInt32, (Int64) -> Value)] = [
            (try property("t"), { .timestamp(seconds: $0 % 7 - 3, nanoseconds: Int32($0 % 2)) }),
            (
                try property("dec"),
                { $0 % 5 == 4 ? .null : Value(kind: .decimal128, low: $0 % 9, high: 0x303e_0000_0000_0000) }
            ),
            (try property("o"), { Value(kind: .objectID, low: $0 % 6, high: Int64($0 % 3)) }),
            (try property("u"), { Value(kind: .uuid, low: $0 % 8, high: $0 % 2) }),
        ]
        for number in max(0, things.count - range.count)..<things.count {
            let object = try things.object(at: UInt64(number))
            func thing(_ step: Int) throws(StoreError) -> Value {
                .link(try things.object(at: UInt64((number * step + 1) % things.count)))
            }
            func other(_ step: Int) throws(StoreError) -> Value {
                .link(try others.object(at: UInt64(number * step % others.count)))
            }
            for (id, value) in kinds { try tx.set(object, id, value(Int64(number))) }
            if number % 3 != 0 { try tx.set(object, best, try thing(7)) }
            if number % 4 != 0 { try tx.set(object, friend, try other(3)) }
            if number % 10 == 9 { try tx.set(object, mixed, try thing(3)) }
            for step in 0..<number % 4 {
                try withOne(try thing(step + 2)) { (values) throws(StoreError) in
                    try tx.insert(CollectionID(owner: object, propertyID: friends), at: 0, values)
                }
                _ = try tx.insert(CollectionID(owner: object, propertyID: crowd), member: try other(step + 1))
            }
            if number % 3 == 1 {
                let key: StaticString = "a"
                _ = try tx.set(
                    CollectionID(owner: object, propertyID: named), key: .string(key.utf8Start, key.utf8CodeUnitCount),
                    try thing(5))
            }
            if number % 2 == 0, case let target = try others.object(at: UInt64(number % others.count)) {
                try tx.set(target, back, .link(object))
            }
        }
    }

    private static func withOne(
        _ value: Value, _ body: (UnsafeBufferPointer<Value>) throws(StoreError) -> Void
    ) throws(StoreError) {
        let one = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        defer { one.deallocate() }
        one.initialize(to: value)
        try body(UnsafeBufferPointer(start: one, count: 1))
    }

    private static let texts = [
        "", "a", "A", "ab", "é", "Straße", "a*c?", "b word", "zz\u{1F984}", "the same beginning 1",
    ]
    /// As JSON.
    private static let mixed = [
        "null", "5", "\"a\"", "1.5", "true", "[1,2,{\"b\":null}]", "{\"a\":[1,\"a\",[3]],\"b\":{\"c\":7}}", "\"zz\"",
        "{\"a\":5}",
    ]
}

extension [QueryWords.Class] {
    /// Each with the name of its class.
    fileprivate func joined(
        _ properties: KeyPath<QueryWords.Class, [QueryWords.Property]>
    ) -> [(String, QueryWords.Property)] {
        flatMap { cls in cls[keyPath: properties].map { (cls.name, $0) } }
    }
}
