import ObjStoreCore

/// One property of the model's schema.
package struct PropertyPlan: Equatable, Sendable {
    /// Stays when the name changes.
    let id: Int
    var name: String
    let kind: ValueKind
    /// Of links and collections of links.
    var target: String?
    /// Of collections.
    var elements = ValueKind.null
    var keys = ValueKind.null
    /// Of collections: the elements.
    var isOptional = false
    var isIndexed = false
    var isUnique = false
    var isKey = false
    var isGenerated = false
    var isCounter = false
    var cascades = false
    var standard: Datum?
    var formerNames: [String] = []

    var isCollection: Bool { kind == .list || kind == .set || kind == .map }
    /// What its values, or its elements, are.
    var valueKind: ValueKind { isCollection ? elements : kind }
    var isLink: Bool { valueKind == .link }
    /// What a new object has that was not given it; nil: it must be given.
    var missing: Datum? {
        switch kind {
        case .list: .list([])
        case .set: .set([])
        case .map: .map([:])
        default: standard ?? (isOptional || kind == .link || kind == .mixed ? .null : nil)
        }
    }
}

package struct ClassPlan: Equatable, Sendable {
    struct Compound: Equatable, Sendable {
        var properties: [Int]
        var isUnique = false
        var isKey = false
    }

    var name: String
    var isEmbedded = false
    var properties: [PropertyPlan] = []
    var compounds: [Compound] = []

    func property(_ id: Int) -> PropertyPlan { properties.first { $0.id == id }! }
    func property(named name: String) -> PropertyPlan { properties.first { $0.name == name }! }
    var key: PropertyPlan? { properties.first(where: \.isKey) }
    var hasKey: Bool { key != nil || compounds.contains(where: \.isKey) }
    func isKeyPart(_ id: Int) -> Bool {
        property(id).isKey || compounds.contains { $0.isKey && $0.properties.contains(id) }
    }
    /// What no two objects may have the same of.
    var uniques: [(properties: [Int], isKey: Bool)] {
        properties.filter { $0.isKey || $0.isUnique }.map { ([$0.id], $0.isKey) }
            + compounds.filter { $0.isUnique || $0.isKey }.map { ($0.properties, $0.isKey) }
    }
}

/// A schema of the model. To give the model another class or kind of property, describe it in `Plan.first`: everything
/// else follows from what is here. (What is inside mixed values: `Chance.mixed` and `Content.forgetMixed`.)
package struct Plan: Equatable, Sendable {
    var classes: [ClassPlan] = []
    var version: UInt64 = 1
    var nextID = 1

    func cls(_ name: String) -> ClassPlan { classes.first { $0.name == name }! }
    func isEmbedded(_ name: String?) -> Bool { name.map { cls($0).isEmbedded } ?? false }
    /// An object goes with the one that has it in this property.
    func owns(_ property: PropertyPlan) -> Bool {
        property.isLink && (property.cascades || isEmbedded(property.target))
    }

    mutating func add(
        _ cls: String, _ name: String, _ kind: ValueKind, to target: String? = nil, of elements: ValueKind = .null,
        by keys: ValueKind = .null,
        _ flags: SchemaDraft.Flags = [], standard: Datum? = nil
    ) {
        let property = PropertyPlan(
            id: nextID, name: name, kind: kind, target: target,
            elements: target != nil && kind != .link ? .link : elements, keys: keys,
            isOptional: flags.contains(.nullable),
            isIndexed: flags.contains(.indexed), isUnique: flags.contains(.unique), isKey: flags.contains(.primaryKey),
            isGenerated: flags.contains(.generated),
            isCounter: flags.contains(.counter), cascades: flags.contains(.cascade), standard: standard)
        nextID += 1
        if let index = classes.firstIndex(where: { $0.name == cls }) {
            classes[index].properties.append(property)
        } else {
            classes.append(ClassPlan(name: cls, properties: [property]))
        }
    }

    mutating func addIndex(_ cls: String, _ names: [String], isUnique: Bool = false, isKey: Bool = false) {
        let index = classes.firstIndex { $0.name == cls }!
        classes[index].compounds.append(
            .init(properties: names.map { classes[index].property(named: $0).id }, isUnique: isUnique, isKey: isKey))
    }

    static let scalars: [ValueKind] = [
        .bool, .int, .float, .double, .decimal128, .string, .binary, .timestamp, .objectID, .uuid,
    ]

    static let first: Plan = {
        var plan = Plan()
        // Properties have no spaces in their names.
        func name(_ kind: ValueKind) -> String { kind == .objectID ? "objectID" : "\(kind)" }
        // Every kind, required and optional, with and without an index, alone and as elements.
        plan.add("Kinds", "id", .int, [.primaryKey, .generated])
        for (index, kind) in scalars.enumerated() {
            plan.add(
                "Kinds", "r_\(name(kind))", kind, kind != .binary && index % 2 == 0 ? [.indexed] : [],
                standard: index % 3 == 0 ? nil : Chance.standard(kind))
            plan.add(
                "Kinds", "o_\(name(kind))", kind,
                kind != .binary && index % 2 == 1 ? [.nullable, .indexed] : [.nullable],
                standard: index % 4 == 1 ? Chance.standard(kind) : nil)
        }
        plan.add("Kinds", "any", .mixed, [.indexed])
        plan.add("Kinds", "tally", .int, [.counter], standard: .int(0))
        plan.addIndex("Kinds", ["r_int", "o_string"])
        plan.add("Many", "id", .uuid, [.primaryKey, .generated])
        for kind in scalars {
            plan.add("Many", "l_\(name(kind))", .list, of: kind, kind == .int || kind == .string ? [.nullable] : [])
            plan.add("Many", "s_\(name(kind))", .set, of: kind)
            plan.add(
                "Many", "m_\(name(kind))", .map, of: kind, by: [.int, .string, .objectID, .uuid][plan.nextID % 4],
                [.nullable])
        }
        // Links of every kind, with and without cascades; embedded objects two levels deep.
        plan.add("Person", "name", .string, [.primaryKey])
        plan.add("Person", "year", .int, standard: .int(2000))
        plan.add("Person", "city", .string, [.nullable])
        plan.add("Person", "nick", .string, [.nullable, .unique])
        plan.addIndex("Person", ["city", "year"], isUnique: true)
        plan.add("Person", "best", .link, to: "Person")
        plan.add("Person", "friends", .list, to: "Person")
        plan.add("Person", "fans", .set, to: "Person")
        plan.add("Person", "roles", .map, to: "Person", by: .string, [.nullable])
        plan.add("Person", "pet", .link, to: "Animal", [.cascade])
        plan.add("Person", "herd", .list, to: "Animal", [.cascade])
        plan.add("Person", "home", .link, to: "Place")
        plan.add("Person", "places", .list, to: "Place")
        plan.add("Person", "rooms", .map, to: "Place", by: .int, [.nullable])
        plan.add("Person", "extra", .mixed)
        plan.add("Person", "bag", .list, of: .mixed)
        plan.add("Person", "marks", .set, of: .mixed)
        plan.add("Animal", "tag", .objectID, [.primaryKey, .generated])
        plan.add("Animal", "age", .int, [.indexed], standard: .int(1))
        plan.add("Animal", "owner", .link, to: "Person")
        plan.add("Animal", "pups", .list, to: "Animal", [.cascade])
        plan.add("Animal", "liked", .set, to: "Animal")
        plan.add("Place", "town", .string, [.indexed])
        plan.add("Place", "zip", .int, [.nullable, .indexed])
        plan.add("Place", "inner", .link, to: "Place")
        plan.add("Place", "niches", .list, to: "Place")
        plan.add("Place", "codes", .list, of: .int)
        plan.add("Place", "host", .link, to: "Person")
        plan.add("Place", "things", .list, of: .mixed)
        plan.classes[plan.classes.firstIndex { $0.name == "Place" }!].isEmbedded = true
        // Keys of several properties, of one that may be null, none.
        plan.add("Ticket", "row", .int)
        plan.add("Ticket", "seat", .string)
        plan.add("Ticket", "price", .decimal128, [.nullable, .indexed])
        plan.add("Ticket", "holder", .link, to: "Person")
        plan.addIndex("Ticket", ["row", "seat"], isKey: true)
        plan.add("Maybe", "id", .string, [.primaryKey, .nullable])
        plan.add("Maybe", "number", .int, [.nullable, .unique])
        plan.add("Maybe", "code", .uuid, [.nullable, .unique])
        plan.add("Loose", "n", .int, [.indexed])
        plan.add("Loose", "kinds", .link, to: "Kinds")
        plan.add("Loose", "tickets", .list, to: "Ticket")
        plan.add("Loose", "note", .mixed, [.indexed])
        plan.add("Loose", "labels", .map, of: .mixed, by: .string)
        plan.add("Loose", "odds", .set, of: .mixed)
        // Parts lie in many places: they can become embedded, where each has one.
        plan.add("Part", "number", .int, [.indexed], standard: .int(0))
        plan.add("Part", "label", .string, [.nullable])
        plan.add("Part", "inner", .link, to: "Part")
        plan.add("Part", "spare", .list, to: "Part")
        plan.add("Part", "notes", .list, of: .mixed)
        plan.add("Loose", "parts", .list, to: "Part")
        plan.add("Loose", "shelf", .map, to: "Part", by: .string, [.nullable])
        plan.add("Ticket", "part", .link, to: "Part")
        return plan
    }()
}
