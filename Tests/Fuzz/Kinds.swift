import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// A small store with every kind of thing that one can have and `Subject.small` has not: embedded objects, alone, in
/// lists and maps and in each other, links that cascade, primary keys of two properties and generated ones, counters,
/// unique values, sets and maps of mixed values, links in them.
enum Kinds {
    /// One that was closed, and one as a killed process leaves it, with changes of everything in its log. Made in a
    /// process of its own: the threads that it has do not live on in the cases.
    static func all(_ folder: String) throws -> [Subject] {
        let path = folder + "/kinds"
        let child = ChildProcess.start { send in
            do {
                try make(path)
                send("made")
            } catch { send("\(error)") }
        }
        let (text, _) = child.finish()
        guard text == "made" else { throw StoreError(.internalError, "the store with all kinds: \(text)") }
        defer { for suffix in ["", "-log", "-lock", "-open", "-logged", "-locked"] { unlink(path + suffix) } }
        var subjects = [Subject(name: "kinds", store: try Subject.read(path), log: nil)]
        subjects.append(
            Subject(
                name: "kinds log", store: try Subject.read(path + "-open"), log: try Subject.read(path + "-logged"),
                lock: try Subject.read(path + "-locked")))
        for index in subjects.indices { try subjects[index].findExtents() }
        return subjects
    }

    private static func make(_ path: String) throws {
        var configuration = StoreConfiguration()
        configuration.place = .file(path)
        configuration.schema = try draft()
        let store = try Store.open(configuration)
        var tx = try store.begin()
        try create(tx, 0..<24)
        _ = try tx.commit()
        try store.checkpoint()
        for round in 0..<4 {
            tx = try store.begin()
            try change(tx, round)
            _ = try tx.commit()
        }
        for (from, to) in [("", "-open"), ("-log", "-logged"), ("-lock", "-locked")] {
            Subject.write(try Subject.read(path + from), path + to)
        }
        try store.close()
    }

    private static func draft() throws -> SchemaDraft {
        var draft = SchemaDraft()
        for cls in ["Person", "Dog", "Address", "Part"] { try draft.addClass(cls) }
        for cls in ["Address", "Part"] { try draft.setEmbedded(cls, true) }
        try draft.addProperty("Person", "id", .int, [.primaryKey, .generated])
        try draft.addProperty("Person", "name", .string, [.indexed])
        try draft.addProperty("Person", "nick", .string, [.nullable, .unique])
        try draft.addProperty("Person", "visits", .int, [.counter])
        try draft.addProperty("Person", "tag", .uuid, [.generated])
        try draft.addLink("Person", "best", to: "Person")
        try draft.addCollection("Person", "friends", .list, ElementSchema(kind: .link), target: "Person")
        try draft.addCollection("Person", "dogs", .set, ElementSchema(kind: .link), target: "Dog", .cascade)
        try draft.addLink("Person", "home", to: "Address")
        try draft.addCollection("Person", "places", .list, ElementSchema(kind: .link), target: "Address")
        try draft.addCollection("Person", "rooms", .map, ElementSchema(kind: .link, keyKind: .int), target: "Address")
        try draft.addProperty("Person", "extra", .mixed, [.indexed])
        try draft.addCollection("Person", "things", .set, ElementSchema(kind: .mixed, isNullable: true))
        try draft.addCollection(
            "Person", "notes", .map, ElementSchema(kind: .mixed, isNullable: true, keyKind: .string))
        try draft.addIndex("Person", ["name", "visits"], [])
        try draft.addIndex("Person", ["nick", "extra"], [.unique])
        try draft.addProperty("Dog", "kennel", .string, [])
        try draft.addProperty("Dog", "number", .int, [])
        try draft.addCollection("Dog", "weights", .list, ElementSchema(kind: .double))
        try draft.addLink("Dog", "owner", to: "Person")
        try draft.addIndex("Dog", ["kennel", "number"], [.primaryKey, .unique])
        try draft.addProperty("Address", "city", .string, [.indexed])
        try draft.addLink("Address", "part", to: "Part")
        try draft.addLink("Address", "owner", to: "Person")
        try draft.addProperty("Address", "extra", .mixed, [])
        try draft.addProperty("Part", "size", .int, [])
        try draft.addLink("Part", "inner", to: "Part")
        try draft.addCollection("Part", "parts", .list, ElementSchema(kind: .link), target: "Part")
        return draft
    }

    private static func create(_ tx: View, _ range: Range<Int>) throws {
        let person = try tx.findClass("Person")
        for number in range {
            // More than a leaf's row holds, now and then.
            let many = number % 7 == 3 ? 40 : number % 4
            func list(_ count: Int, _ body: (Int) -> String) -> String {
                "[" + (0..<count).map(body).joined(separator: ",") + "]"
            }
            func part(_ depth: Int) -> String {
                depth == 0
                    ? "null"
                    : #"""
                    {"size":\#(depth),"inner":\#(part(depth - 1)),"parts":\#(list(depth - 1) { #"{"size":\#($0)}"# })}
                    """#
            }
            func address(_ n: Int) -> String {
                #"{"city":"city \#(n % 3)","part":\#(part(n % 4)),"extra":{"n":[\#(n),null,{"deep":"\#(n)"}]}}"#
            }
            let rooms =
                "{"
                + (0..<number % 5).map { #""\#($0 * 3)":\#($0 == 2 ? "null" : address($0))"# }.joined(separator: ",")
                + "}"
            let notes =
                "{"
                + (0..<many).map { #""k\#($0)":\#($0 % 3 == 0 ? "[1,{\"a\":true}]" : "\($0)")"# }.joined(separator: ",")
                + "}"
            let weights = list(many) { "\($0).5" }
            let dogs = list(number % 3) { #"{"kennel":"k\#(number)","number":\#($0),"weights":\#(weights)}"# }
            let text = #"""
                {"id":\#(number + 1),"name":"name \#(number % 5)",
                "nick":\#(number % 3 == 0 ? "null" : "\"nick \(number)\""),
                "visits":\#(number),
                "dogs":\#(dogs),
                "home":\#(number % 4 == 0 ? "null" : address(number)),"places":\#(list(number % 3, address)),
                "rooms":\#(rooms),
                "extra":\#(["null", "5", "\"text\"", "{\"a\":[1,2,{\"b\":null}]}"][number % 4]),
                "things":\#(list(many) { $0 % 2 == 0 ? "\($0)" : "\"t\($0)\"" }),"notes":\#(notes)}
                """#
            _ = try text.utf8.withContiguousStorageIfAvailable { bytes in
                try tx.create(person, json: .memory(UnsafeRawBufferPointer(bytes)), [], .error, nil)
            }
        }
        let all = try tx.find(Query(all: person)), best = try tx.findProperty(person, "best"),
            extra = try tx.findProperty(person, "extra"), friends = try tx.findProperty(person, "friends")
        let notes = try tx.findProperty(person, "notes"), things = try tx.findProperty(person, "things")
        for number in 0..<all.count where number % 3 != 1 {
            let object = try all.object(at: UInt64(number)),
                other = Value.link(try all.object(at: UInt64(number * 7 % all.count)))
            try tx.set(object, best, other)
            if number % 4 == 0 { try tx.set(object, extra, other) }
            for _ in 0..<number % 3 {
                try withUnsafePointer(to: other) {
                    try tx.insert(
                        CollectionID(owner: object, propertyID: friends), at: 0,
                        UnsafeBufferPointer(start: $0, count: 1))
                }
            }
            _ = try tx.insert(CollectionID(owner: object, propertyID: things), member: other)
            var key = "link"
            try key.withUTF8 {
                _ = try tx.set(
                    CollectionID(owner: object, propertyID: notes),
                    key: .string(UnsafeRawPointer($0.baseAddress), $0.count), other)
            }
        }
    }

    /// Something of everything, as operations of the log.
    private static func change(_ tx: View, _ round: Int) throws {
        let person = try tx.findClass("Person"), all = try tx.find(Query(all: person))
        func object(_ number: Int) throws -> ObjectID { try all.object(at: UInt64((round * 5 + number) % all.count)) }
        for name in ["home", "best", "extra", "nick"] {
            try tx.set(try object(1), try tx.findProperty(person, name), .null)
        }
        _ = try tx.increment(try object(2), try tx.findProperty(person, "visits"), 10)
        for name in ["places", "friends", "things"] {
            let id = CollectionID(owner: try object(3), propertyID: try tx.findProperty(person, name)),
                count = try tx.elementCount(id)
            if count > 0 { try tx.remove(id, at: 0, count: 1) }
        }
        let key: StaticString = "a",
            path = [
                MixedStep.key(UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount)), .index(0),
            ]
        let edited = try object(4), extra = try tx.findProperty(person, "extra")
        do throws(StoreError) { try tx.edit(edited, extra, path, .insert, .int(7)) } catch {
            if error.code != .notFound && error.code != .wrongType { throw error }
        }
        try tx.delete(try object(0))
        try create(tx, 100 + round * 2..<102 + round * 2)
    }
}
