import ObjStoreCore

/// What texts of random queries are made of: the names of `QueryStore`, and the words of the language.
enum QueryWords {
    struct Class {
        let name: String
        let properties: [Property]
    }

    enum Shape { case plain, link, list, set, map }

    struct Property {
        let name: String
        let kind: ValueKind
        var shape = Shape.plain
        var target: String?
        var flags: SchemaDraft.Flags = []
    }

    static let classes = [
        Class(
            name: "Thing",
            properties: [
                Property(name: "id", kind: .int, flags: .primaryKey),
                Property(name: "b", kind: .bool, flags: .nullable),
                Property(name: "i", kind: .int, flags: .indexed), Property(name: "n", kind: .int, flags: .nullable),
                Property(name: "f", kind: .float), Property(name: "d", kind: .double, flags: [.indexed, .nullable]),
                Property(name: "t", kind: .timestamp, flags: [.indexed, .nullable]),
                Property(name: "dec", kind: .decimal128, flags: .nullable),
                Property(name: "o", kind: .objectID, flags: .nullable),
                Property(name: "u", kind: .uuid, flags: [.indexed, .nullable]),
                Property(name: "s", kind: .string, flags: .indexed),
                Property(name: "r", kind: .string, flags: .nullable),
                Property(name: "w", kind: .string, flags: .fullText),
                Property(name: "x", kind: .binary, flags: .nullable),
                Property(name: "m", kind: .mixed, flags: .indexed), Property(name: "y", kind: .mixed),
                Property(name: "best", kind: .link, shape: .link, target: "Thing"),
                Property(name: "other", kind: .link, shape: .link, target: "Other"),
                Property(name: "ints", kind: .int, shape: .list, flags: .nullable),
                Property(name: "texts", kind: .string, shape: .list),
                Property(name: "doubles", kind: .double, shape: .set),
                Property(name: "notes", kind: .mixed, shape: .map, flags: .nullable),
                Property(name: "counts", kind: .int, shape: .map),
                Property(name: "things", kind: .mixed, shape: .set, flags: .nullable),
                Property(name: "friends", kind: .link, shape: .list, target: "Thing"),
                Property(name: "crowd", kind: .link, shape: .set, target: "Other"),
                Property(name: "named", kind: .link, shape: .map, target: "Thing"),
                Property(name: "part", kind: .link, shape: .link, target: "Part"),
                Property(name: "parts", kind: .link, shape: .list, target: "Part"),
                Property(name: "not", kind: .int), Property(name: "sort", kind: .string),
            ]),
        Class(
            name: "Other",
            properties: [
                Property(name: "k", kind: .int, flags: .indexed), Property(name: "name", kind: .string),
                Property(name: "back", kind: .link, shape: .link, target: "Thing"),
                Property(name: "type", kind: .string), Property(name: "coordinates", kind: .double, shape: .list),
                Property(name: "limit", kind: .int, flags: .nullable),
            ]),
        Class(
            name: "Part",
            properties: [
                Property(name: "size", kind: .int), Property(name: "name", kind: .string),
                Property(name: "inner", kind: .link, shape: .link, target: "Part"),
            ]),
    ]

    static func cls(_ name: String) -> Class { classes.first { $0.name == name }! }

    /// Everything that means something somewhere; also the dictionary of libFuzzer (`query.dict`).
    static let tokens =
        [
            "==", "=", "!=", "<>", "<", "<=", "=<", ">", ">=", "=>", "&&", "||", "!", "(", ")", "{", "}", "[", "]", ",",
            ".", "+", "-", "*", "/", "and", "or", "NOT", "IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE",
            "TEXT", "GEOWITHIN", "ANY", "SOME", "ALL", "NONE", "true", "false", "NULL", "nil", "inf", "nan",
            "TRUEPREDICATE", "FALSEPREDICATE", "SUBQUERY(", "oid(", "uuid(", "binary(", "obj(", "decimal(", "float(",
            "link(", "geoBox(", "geoCircle(", "geoPolygon(", "B64", "SORT(", "DISTINCT(", "LIMIT(", "OFFSET(", "ASC",
            "DESC", "[FIRST]", "[LAST]", "[SIZE]", "[*]", "[0]", "['a']", "@links", "@links.Thing.best",
            "@links.Other.back", "@count", "@size", "@min", "@max", "@sum", "@avg", "@keys", "@values", "@type",
            "@self", "[c]", "[d]", "[cd]", "$0", "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$K1", "$K7", "$x", "0", "1",
            "-1", "9223372036854775807", "-9223372036854775808", "0x1f", "1.5", "1e308", "1.5f", "'a'", "\"\"",
            "'\\u00e9'", "T1:2", "2017-12-1@12:07:53:1", "oid(000000000000000000000001)", "link(1, 3)",
            "uuid(00000000-0000-0001-0000-000000000001)", "decimal(1.50)", "binary('a')",
        ] + classes.flatMap { $0.properties.map(\.name) } + classes.map { "'\($0.name)'" }
}

/// Writes a query that is mostly right: each part is drawn for the kind of what stands beside it.
struct QueryWriter<Numbers: NumberSource> {
    var random: Numbers
    private(set) var text = ""
    private var variables = 0

    init(_ random: Numbers) { self.random = random }

    /// Whether one more comes: not when there is nothing left to decide by.
    private mutating func again(_ chance: Double) -> Bool { !random.isExhausted && random.chance(chance) }

    private mutating func pick<T>(_ all: [T]) -> T { all[random.below(all.count)] }

    mutating func query(_ cls: QueryWords.Class) {
        if random.chance(0.9) { condition(cls, "", 3) }
        while again(0.3) { step(cls) }
    }

    private mutating func step(_ cls: QueryWords.Class) {
        text += " "
        switch random.below(4) {
        case 0:
            text += "SORT("
            repeat {
                if text.last != "(" { text += ", " }
                _ = path(cls, "", 2)
                if random.chance(0.1) { text += pick(["[c]", "[d]", "[cd]"]) }
                text += random.chance(0.5) ? " ASC" : " DESC"
            } while again(0.4)
            text += ")"
        case 1:
            text += "DISTINCT("
            repeat {
                if text.last != "(" { text += ", " }
                _ = path(cls, "", 2)
            } while again(0.4)
            text += ")"
        default:
            text += "\(pick(["LIMIT", "OFFSET"]))(\(pick([0, 1, 2, 5, 20, 1000, Int.max])))"
        }
    }

    /// - Parameter root: what stands before a path, such as `$x1.`.
    private mutating func condition(_ cls: QueryWords.Class, _ root: String, _ depth: Int) {
        switch random.below(depth > 0 ? 12 : 6) {
        case 6, 7: several(cls, root, depth, pick([" AND ", " && "]))
        case 8: several(cls, root, depth, pick([" OR ", " || "]))
        case 9:
            text += pick(["NOT (", "!("])
            condition(cls, root, depth - 1)
            text += ")"
        case 10: subquery(cls, root, depth)
        case 11: text += pick(["TRUEPREDICATE", "FALSEPREDICATE"])
        default: comparison(cls, root)
        }
    }

    private mutating func several(_ cls: QueryWords.Class, _ root: String, _ depth: Int, _ between: String) {
        text += "("
        condition(cls, root, depth - 1)
        repeat {
            text += between
            condition(cls, root, depth - 1)
        } while again(0.3)
        text += ")"
    }

    private mutating func subquery(_ cls: QueryWords.Class, _ root: String, _ depth: Int) {
        let all = cls.properties.filter { $0.kind == .link && $0.shape != .link }
        if all.isEmpty { return comparison(cls, root) }
        let property = pick(all)
        variables += 1
        let name = "$v\(variables)"
        text += "SUBQUERY(\(root)\(escaped(property.name, root)), \(name), "
        condition(QueryWords.cls(property.target!), name + ".", depth - 1)
        text += ").@count \(pick([">", "==", "<", "!="])) \(random.below(4))"
    }

    private func escaped(_ name: String, _ root: String) -> String {
        root == "" && ["not"].contains(name) ? "@self." + name : name
    }

    private mutating func comparison(_ cls: QueryWords.Class, _ root: String) {
        let isReversed = random.chance(0.1), start = text.utf8.count
        var (kind, isMany) = path(cls, root, 3)
        if random.chance(isMany ? 0.5 : 0.01) {
            insert(pick(["ANY ", "ALL ", "NONE ", "SOME "]), at: start)
            isMany = false
        }
        if random.chance(0.1), kind == .int || kind == .double || kind == .float || kind == .decimal128 {
            text += pick([" + ", " - ", " * ", " / "])
            if random.chance(0.5) { constant(kind) } else { property(of: kind, cls, root) }
        }
        if random.chance(0.05) { kind = pick([.int, .string, .double, .null, .timestamp, .bool, .mixed]) }
        let operation: String
        switch kind {
        case .string, .binary:
            operation =
                pick(["==", "!=", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "<", ">=", "IN", "=="])
                + (random.chance(0.3) ? pick(["[c]", "[d]", "[cd]"]) : "")
        case .bool, .link: operation = pick(["==", "!=", "IN"])
        default: operation = pick(["==", "!=", "<", "<=", ">", ">=", "IN", isMany ? "==" : "BETWEEN", "=="])
        }
        if isReversed, operation != "BETWEEN", !operation.hasPrefix("IN") {
            let place = text.utf8.index(text.startIndex, offsetBy: start), left = String(text[place...])
            text.removeSubrange(place...)
            constant(kind)
            text += " \(operation) " + left
            return
        }
        text += " \(operation.replacing("IN[", with: "IN ["[...])) "
        if operation == "BETWEEN" || operation.hasPrefix("IN") {
            text += "{"
            for number in 0..<(operation == "BETWEEN" ? 2 : random.below(4)) {
                if number > 0 { text += ", " }
                constant(kind)
            }
            text += "}"
        } else if random.chance(0.15) {
            property(of: kind, cls, root)
        } else {
            constant(kind)
        }
    }

    private mutating func insert(_ word: String, at place: Int) {
        text.insert(contentsOf: word, at: text.utf8.index(text.startIndex, offsetBy: place))
    }

    /// Mostly of the same kind.
    private mutating func property(of kind: ValueKind, _ cls: QueryWords.Class, _ root: String) {
        let all = cls.properties.filter { $0.kind == kind }
        if all.isEmpty || random.chance(0.05) { return _ = path(cls, root, 1) }
        text += root + escaped(pick(all).name, root)
    }

    /// Returns what kind of value it reaches, and whether there are many of them.
    private mutating func path(
        _ cls: QueryWords.Class, _ root: String, _ steps: Int
    ) -> (kind: ValueKind, isMany: Bool) {
        var cls = cls, left = steps, root = root, isMany = false
        while true {
            if random.chance(0.06), left > 0 {
                text += root
                if cls.name != "Thing" || random.chance(0.3) {
                    text += "@links.@count"
                    return (.int, false)
                }
                text += pick(["@links.Thing.best", "@links.Thing.friends", "@links.Other.back"])
                isMany = true
                (cls, root) = (text.hasSuffix("back") ? QueryWords.cls("Other") : cls, ".")
            }
            let property = pick(cls.properties)
            text += root + escaped(property.name, root)
            let target = property.target.map { QueryWords.cls($0) }
            switch property.shape {
            case .plain:
                if property.kind == .mixed, random.chance(0.5) {
                    text += pick([
                        ".a", "[0]", "['a']", "[*]", ".@type", ".b.c", "[FIRST]", "[*].a", ".@count", "[LAST]",
                    ])
                    return (text.hasSuffix("@type") ? .string : .mixed, isMany || text.contains("[*]"))
                }
                return (property.kind, isMany)
            case .link where left == 0 || random.chance(0.1): return (.link, isMany)
            case .link: (cls, root) = (target!, ".")
            case .list, .set, .map:
                if random.chance(0.25) {
                    text += pick([".@count", ".@size", "[SIZE]"])
                    return (.int, isMany)
                }
                var isOne = false
                if property.shape == .list, random.chance(0.2) {
                    text += pick(["[0]", "[FIRST]", "[LAST]", "[1]"])
                    isOne = true
                }
                if property.shape == .map, random.chance(0.6) {
                    text += pick(["['a']", ".a", ".@values", "[*]", ".@keys"])
                    if text.hasSuffix("@keys") { return (.string, true) }
                    isOne = text.hasSuffix("a") || text.hasSuffix("]")
                }
                if !isOne { isMany = true }
                if property.kind != .link {
                    if property.kind == .int || property.kind == .double, random.chance(0.3) {
                        text += pick([".@sum", ".@min", ".@max", ".@avg"])
                        return (property.kind, false)
                    }
                    return (property.kind, isMany)
                }
                if left == 0 || random.chance(0.1) { return (.link, isMany) }
                if random.chance(0.1) { text += pick([".@sum", ".@min", ".@max", ".@avg"]) }
                (cls, root) = (target!, ".")
            }
            left -= 1
        }
    }

    private mutating func constant(_ kind: ValueKind) {
        if random.chance(0.08) { return text += pick(["NULL", "$4", "$0", "$1", "$5"]) }
        switch kind {
        case .bool: text += pick(["true", "false"])
        case .int: text += pick(["0", "1", "-3", "5", "7", "9223372036854775807", "-9223372036854775808", "2.5", "$0"])
        case .float: text += pick(["0.5", "1.5f", "-1", "1e39", "nan", "inf", "16777217"])
        case .double: text += pick(["0.25", "-1.75", "1e308", "nan", "-inf", "3", "0.1"])
        case .decimal128: text += pick(["decimal(0.01)", "0.03", "decimal(nan)", "5", "decimal(-1e6000)", "0.1"])
        case .timestamp: text += pick(["T0:0", "T-1:-1", "T2:1", "1970-1-1@0:0:1:0"])
        case .objectID: text += pick(["oid(000000000000000000000001)", "oid(000000000000000500000002)"])
        case .uuid: text += pick(["uuid(00000000-0000-0001-0000-000000000001)"])
        case .string: text += pick(["'a'", "''", "'AB'", "'é'", "'stra'", "'*a?'", "'\\\\*'", "$1", "'word -some'"])
        case .binary: text += pick(["binary('a')", "B64''", "binary('ab')"])
        case .link: text += pick(["NULL", "obj('Thing', 3)", "link(1, 4)", "$3", "obj('Other', 1)", "link(2, 1)"])
        default: text += pick(["5", "'a'", "1.5", "true", "NULL", "T0:0", "$0", "$3", "obj('Thing', 3)"])
        }
    }
}
