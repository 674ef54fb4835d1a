import ObjStoreCore

/// Nested values that may be anything, given to a store that has everything they can describe: what is refused changes
/// nothing, what is made can be described, and is what its description makes.
///
/// ```
///  first    some objects, made of values that are right
///  then     values of any kind, mostly such as the class wants, as a whole object or as one property, by any policy
///  last     the store is verified
/// ```
enum NestedCase {
    /// Returns what became of the last values, in a word.
    static func run(_ random: inout some NumberSource) -> String {
        do throws(StoreError) {
            var configuration = StoreConfiguration()
            configuration.place = .memory("")
            configuration.schema = try draft()
            let store = try Store.open(configuration)
            let tx = try store.begin()
            var answer = "nothing"
            for _ in 0..<1 + random.below(6) { answer = try step(tx, &random) }
            _ = try tx.commit()
            let view = try store.openView()
            let findings = try view.verify { (_, _) throws(StoreError) in }
            precondition(findings.isEmpty, "\(findings)")
            try store.close()
            return answer
        } catch {
            fatalError("what cannot fail: \(error)")
        }
    }

    private static let classes = ["Person", "Dog", "Pair"]

    private static func draft() throws(StoreError) -> SchemaDraft {
        var draft = SchemaDraft()
        for cls in classes + ["Address"] { try draft.addClass(cls) }
        try draft.setEmbedded("Address", true)
        try draft.addProperty("Person", "id", .int, [.primaryKey, .nullable])
        try draft.addProperty("Person", "name", .string, [])
        try draft.addProperty("Person", "nick", .string, [.nullable, .unique])
        try draft.addCollection("Person", "tags", .list, ElementSchema(kind: .string, isNullable: true))
        try draft.addCollection("Person", "marks", .set, ElementSchema(kind: .int))
        try draft.addCollection(
            "Person", "notes", .map, ElementSchema(kind: .double, isNullable: true, keyKind: .string))
        try draft.addLink("Person", "best", to: "Person")
        try draft.addCollection("Person", "friends", .list, ElementSchema(kind: .link), target: "Person")
        try draft.addCollection("Person", "dogs", .set, ElementSchema(kind: .link), target: "Dog", .cascade)
        try draft.addLink("Person", "home", to: "Address")
        try draft.addCollection("Person", "places", .list, ElementSchema(kind: .link), target: "Address")
        try draft.addCollection("Person", "rooms", .map, ElementSchema(kind: .link, keyKind: .int), target: "Address")
        try draft.addProperty("Person", "extra", .mixed, [.indexed])
        let kinds: [ValueKind] = [.bool, .float, .double, .decimal128, .binary, .timestamp, .objectID, .uuid]
        for kind in kinds {
            try draft.addProperty("Dog", kind == .objectID ? "objectID" : "\(kind)", kind, [.nullable])
        }
        try draft.addProperty("Dog", "tag", .uuid, [.generated])
        try draft.addProperty("Pair", "a", .int, [])
        try draft.addProperty("Pair", "b", .string, [])
        try draft.setDefault("Pair", "b", .string(nil, 0))
        try draft.addLink("Pair", "dog", to: "Dog", .cascade)
        try draft.addIndex("Pair", ["a", "b"], .primaryKey)
        try draft.addProperty("Address", "city", .string, [])
        try draft.addProperty("Address", "zip", .int, [.nullable])
        try draft.addLink("Address", "inner", to: "Address")
        try draft.addLink("Address", "owner", to: "Person")
        return draft
    }

    // MARK: One call

    private static func step(_ tx: View, _ random: inout some NumberSource) throws(StoreError) -> String {
        let name = classes[random.below(classes.count)], cls = try tx.findClass(name)
        // Dogs have no primary key: another policy is refused.
        let policy =
            name == "Dog" && !random.chance(0.05) ? UpsertPolicy.error : UpsertPolicy(rawValue: Int32(random.below(3)))!
        let values = Values(), before = try content(tx), count = try tx.count(cls)
        let owner = count > 0 ? try tx.find(Query(all: cls)).object(at: UInt64(random.below(count))) : nil
        if let owner, random.chance(0.4) {
            let property = try tx.propertyInfo(cls, at: random.below(try tx.classInfo(cls).propertyCount))
            values.property(property.name, name, tx, &random)
            do throws(StoreError) {
                _ = try values.use { (values) throws(StoreError) in
                    try tx.set(owner, property.propertyID, from: values, policy)
                }
            } catch {
                return try refused(error, tx, before)
            }
            return "set"
        }
        values.object(name, tx, &random)
        if random.chance(0.1) { values.spoil(&random) }
        let isExact = random.chance(0.1), ignores = random.chance(0.2)
        let made: ObjectID
        do throws(StoreError) {
            made = try values.use { (values) throws(StoreError) in
                try tx.create(cls, from: values, policy, exact: isExact, ignoresUnknown: ignores).0
            }
        } catch {
            return try refused(error, tx, before)
        }
        try again(made, name, cls, tx)
        return "made"
    }

    private static func refused(_ error: StoreError, _ tx: View, _ before: [[UInt8]]) throws(StoreError) -> String {
        precondition(error.code != .internalError && error.code != .corrupt, "\(error)")
        let after = try content(tx)
        precondition(after == before, "a call that was refused has changed something: \(error)")
        return "\(error.code)"
    }

    /// An object with a primary key is what its description makes of it: nothing differs.
    private static func again(_ object: ObjectID, _ name: String, _ cls: UInt32, _ tx: View) throws(StoreError) {
        if name == "Dog" { return }
        let outcome = try tx.describe(object, depth: 0, nil) { (values) throws(StoreError) in
            var result: Result<(ObjectID, UpsertOutcome), StoreError>!
            values.withUnsafeBufferPointer { values in
                result = Result { () throws(StoreError) in try tx.create(cls, from: values, .modified) }
            }
            return try result.get()
        }
        precondition(
            outcome.0 == object && outcome.1 == .unchanged,
            "\(name)#\(object.key) is another thing than its description: \(outcome.1)")
    }

    /// Everything that is there.
    private static func content(_ tx: View) throws(StoreError) -> [[UInt8]] {
        var all: [[UInt8]] = []
        for name in classes + ["Address"] {
            var text: [UInt8] = []
            try tx.find(Query(all: try tx.findClass(name))).writeJSON(depth: 0, .extended) {
                (piece) throws(StoreError) in
                text += piece
            }
            all.append(text)
        }
        return all
    }

    // MARK: Values

    /// Nested values in the making, with the memory of their texts.
    private final class Values {
        private var values: [Value] = []
        private var texts: [OwnedValue] = []

        func use<T>(_ body: (UnsafeBufferPointer<Value>) throws(StoreError) -> T) throws(StoreError) -> T {
            defer { withExtendedLifetime(self) {} }
            var result: Result<T, StoreError>!
            values.withUnsafeBufferPointer { values in result = Result { () throws(StoreError) in try body(values) } }
            return try result.get()
        }

        private func append(_ text: String, _ kind: ValueKind = .string) {
            var text = text
            texts.append(
                text.withUTF8 {
                    OwnedValue(
                        kind == .string
                            ? .string(UnsafeRawPointer($0.baseAddress), $0.count)
                            : .binary(UnsafeRawPointer($0.baseAddress), $0.count))
                })
            values.append(texts[texts.count - 1].value)
        }

        /// Something that is no tree of values.
        func spoil(_ random: inout some NumberSource) {
            switch random.below(3) {
            case 0: values.remove(at: random.below(values.count))
            case 1: values.insert(.int(7), at: random.below(values.count))
            default:
                values[random.below(values.count)] = Value(
                    kind: random.chance(0.5) ? .list : .map, low: Int64(bitPattern: random.next()))
            }
        }

        private static let properties: [String: [String]] = [
            "Person": [
                "id", "name", "nick", "tags", "marks", "notes", "best", "friends", "dogs", "home", "places", "rooms",
                "extra",
            ],
            "Dog": ["bool", "float", "double", "decimal128", "binary", "timestamp", "objectID", "uuid", "tag"],
            "Pair": ["a", "b", "dog"], "Address": ["city", "zip", "inner", "owner"],
        ]

        func object(_ cls: String, _ tx: View, _ random: inout some NumberSource, depth: Int = 0) {
            let names = Values.properties[cls]!
            if random.chance(0.1) {
                let count = random.below(names.count + 2)
                values.append(Value(kind: .list, low: Int64(count)))
                for index in 0..<count { property(names[min(index, names.count - 1)], cls, tx, &random, depth: depth) }
                return
            }
            // What must be given mostly is.
            var given = names.filter {
                ["id", "name", "a", "city"].contains($0) ? !random.chance(0.03) : random.chance(depth > 3 ? 0.1 : 0.3)
            }
            if random.chance(0.02) { given.append("nobody") }
            if random.chance(0.02), let first = given.first { given.append(first) }
            values.append(Value(kind: .map, low: Int64(given.count)))
            for name in given {
                append(name)
                property(name, cls, tx, &random, depth: depth)
            }
        }

        func property(_ name: String, _ cls: String, _ tx: View, _ random: inout some NumberSource, depth: Int = 0) {
            if random.chance(0.03) { return any(&random, 0) }
            switch name {
            case "id", "zip", "a":
                random.chance(0.1) ? values.append(.null) : values.append(.int(Int64(random.below(6))))
            case "name", "b", "city": append(["", "x", "Ä", String(repeating: "y", count: 70)][random.below(4)])
            case "nick": random.chance(0.3) ? values.append(.null) : append("n\(random.below(4))")
            case "tags": several(&random, .list) { (_, random) in append("t\(random.below(3))") }
            case "marks": several(&random, .list) { (_, random) in values.append(.int(Int64(random.below(5)))) }
            case "notes":
                several(&random, .map) { (number, random) in
                    append("k\(random.chance(0.05) ? 0 : number)")
                    random.chance(0.2) ? values.append(.null) : values.append(.int(Int64(number)))
                }
            case "best": target("Person", tx, &random, depth)
            case "friends": several(&random, .list) { (_, random) in target("Person", tx, &random, depth + 1) }
            case "dogs": several(&random, .list) { (_, random) in target("Dog", tx, &random, depth + 1) }
            case "dog": target("Dog", tx, &random, depth)
            case "owner": target("Person", tx, &random, depth + 2)
            case "home", "inner":
                random.chance(0.2) || depth > 4
                    ? values.append(.null) : object("Address", tx, &random, depth: depth + 1)
            case "places": several(&random, .list) { (_, random) in object("Address", tx, &random, depth: depth + 1) }
            case "rooms":
                several(&random, .map) { (number, random) in
                    append("\(number)")
                    random.chance(0.2) ? values.append(.null) : object("Address", tx, &random, depth: depth + 1)
                }
            default: any(&random, 0)
            }
        }

        private func several<R: NumberSource>(_ random: inout R, _ kind: ValueKind, _ body: (Int, inout R) -> Void) {
            let count = random.below(4)
            values.append(Value(kind: kind, low: Int64(count)))
            for number in 0..<count { body(number, &random) }
        }

        /// An object, described or there, or its key, or nothing.
        private func target(_ cls: String, _ tx: View, _ random: inout some NumberSource, _ depth: Int) {
            switch random.below(depth > 4 ? 2 : 6) {
            case 0: values.append(.null)
            case 1:
                let id = (try? tx.findClass(cls)) ?? 0
                // Perhaps there is none.
                values.append(
                    .link(
                        ObjectID(
                            classID: id, storeTag: random.chance(0.02) ? 1 : tx.shared.tag, key: Int64(random.below(5)))
                    ))
            case 2 where cls == "Person": values.append(.int(Int64(random.below(6))))
            default: object(cls, tx, &random, depth: depth + 1)
            }
        }

        private func any(_ random: inout some NumberSource, _ depth: Int) {
            switch random.below(depth > 4 ? 10 : 12) {
            case 0: values.append(.null)
            case 1: values.append(.bool(random.chance(0.5)))
            case 2: values.append(.int(Int64(bitPattern: random.next())))
            case 3: values.append(.double([0, -0.0, .nan, .infinity, 1e300, 0.1][random.below(6)]))
            case 4: values.append(.float([0, 1.5, -.infinity][random.below(3)]))
            case 5:
                values.append(
                    .timestamp(
                        seconds: Int64(bitPattern: random.next()),
                        nanoseconds: Int32(truncatingIfNeeded: random.below(1_000_000_002))))
            case 6: append("text \(random.below(3))")
            case 7: append("\u{0}\u{1}", .binary)
            case 8:
                values.append(
                    Value(
                        kind: random.chance(0.5) ? .objectID : .uuid, low: Int64(bitPattern: random.next()),
                        high: Int64(random.below(1 << 30))))
            case 9:
                values.append(
                    Value(
                        kind: .decimal128, low: Int64(bitPattern: random.next()), high: Int64(bitPattern: random.next())
                    ))
            case 10: several(&random, .list) { (_, random) in any(&random, depth + 1) }
            default:
                several(&random, .map) { (number, random) in
                    append("k\(number)")
                    any(&random, depth + 1)
                }
            }
        }
    }
}
