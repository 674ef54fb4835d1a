import ObjStoreCore

/// What a store's schema becomes at an opening, and what that does to its content.
struct Evolution {
    /// What a migration does, in this order.
    enum Step {
        /// Random operations, in the model and the store.
        case work(steps: Int, seed: UInt64)
        /// A property gets what another one has in the old view.
        case copy(cls: String, from: Int, to: Int)
        /// Each object of a class that becomes embedded gets one parent, or goes.
        case house(cls: String, clearsMixed: Bool)
        /// What becomes the key gets another value in each object.
        case distinct(cls: String, property: Int)
        /// Nulls of a property that becomes required get this value.
        case fill(cls: String, property: Int, Datum)

        var rank: Int {
            switch self {
            case .work: 0
            case .copy: 1
            case .house: 2
            case .distinct: 3
            case .fill: 4
            }
        }
    }

    /// What the store has.
    let before: Content
    var plan: Plan
    /// What the content is when the schema has changed, before a migration.
    var content: Content
    var dropped: [String] = []
    var steps: [Step] = []
    /// There is a migration, maybe one that does nothing.
    var migrates = false
    /// The migration throws in the end.
    var fails = false
    /// In the migration both sides are compared as a whole.
    var comparesInside = false
    /// How the opening must be refused, one of these, for what the objects are; with a migration what it makes of them
    /// decides.
    private(set) var contentRefusals: Set<StatusCode> = []
    /// Properties that are new: what objects get in them is decided, and nothing else changes about them in the same
    /// schema.
    var added: Set<Int> = []
    var name = "reopen"

    /// The same schema, or another one; now and then one that the content forbids.
    init(_ old: Content, _ chance: inout Chance) {
        before = old
        plan = old.plan
        content = old
        if plan.classes.isEmpty {
            name = "first schema"
            become(.first)
            return
        }
        if chance.percent(50) { return }
        for _ in 0..<(1 + chance.below(2)) where dropped.isEmpty { change(&chance) }
        plan.version += 1
        if migrates ? chance.percent(40) : chance.percent(30) {
            steps.append(.work(steps: chance.below(12), seed: chance.next()))
            fails = chance.percent(20)
        }
        steps.sort { $0.rank < $1.rank }
        if !steps.isEmpty { migrates = true }
        if migrates {
            comparesInside = chance.percent(30)
            name += fails ? " with a migration that fails" : " with a migration"
            content.plan = interim
            content.sweep()
            content.plan = plan
        } else {
            content.plan = plan
            contentRefusals = refusals(of: content)
            content.sweep()
        }
    }

    /// What a migration works with: what stays is as loose as it was.
    var interim: Plan {
        var interim = plan
        for (number, cls) in plan.classes.enumerated() {
            guard let old = before.plan.classes.first(where: { $0.name == cls.name }) else { continue }
            interim.classes[number].isEmbedded = cls.isEmbedded && old.isEmbedded
            for (index, property) in cls.properties.enumerated() {
                let there = old.properties.first { $0.id == property.id }
                interim.classes[number].properties[index].isKey = property.isKey && there?.isKey == true
                interim.classes[number].properties[index].isUnique = property.isUnique && there?.isUnique == true
                interim.classes[number].properties[index].isOptional = property.isOptional || there?.isOptional == true
            }
            interim.classes[number].compounds = cls.compounds.filter { old.compounds.contains($0) }
        }
        return interim
    }

    // MARK: What must be refused

    /// For what the schema is, whatever the objects are; one of these.
    var schemaRefusals: Set<StatusCode> {
        var refusals: Set<StatusCode> = []
        if plan.classes.contains(where: { $0.properties.contains { $0.kind == .set && plan.isEmbedded($0.target) } }) {
            refusals.insert(.invalidSchema)
        }
        if !migrates && needsMigration { refusals.insert(.schemaMismatch) }
        return refusals
    }

    /// Another key, or none, or a property of another kind.
    private var needsMigration: Bool {
        plan.classes.contains { cls in
            guard let old = before.plan.classes.first(where: { $0.name == cls.name }) else { return false }
            func keys(_ cls: ClassPlan) -> [ClassPlan.Compound] { cls.compounds.filter(\.isKey) }
            return keys(cls) != keys(old)
                || cls.properties.contains { property in
                    let there = old.properties.first { $0.id == property.id }
                    return property.isKey != (there?.isKey ?? false)
                        || (there == nil && old.properties.contains { $0.name == property.name })
                }
        }
    }

    /// For what the objects have when the schema becomes the plan; one of these.
    func refusals(of content: Content) -> Set<StatusCode> {
        var refusals: Set<StatusCode> = []
        if content.hasTaken { refusals.insert(.duplicateKey) }
        for cls in plan.classes {
            guard let old = before.plan.classes.first(where: { $0.name == cls.name }) else { continue }
            let keys = Set(cls.uniques.filter(\.isKey).flatMap(\.properties))
            func isLong(_ value: Datum?) -> Bool {
                if case .text(let text) = value { text.utf8.count > 1024 } else { false }
            }
            if content[cls.name].values.contains(where: { thing in keys.contains { isLong(thing.values[$0]) } }) {
                refusals.insert(.valueTooLarge)
            }
            if cls.isEmbedded, !old.isEmbedded {
                let places = content.places(cls.name), rooted = content.rooted(cls.name, plan)
                if content[cls.name].keys.contains(where: { places[$0] != 1 || !rooted.contains($0) })
                    || content.hasMixedLinks(to: cls.name)
                {
                    refusals.insert(.schemaMismatch)
                }
            }
        }
        return refusals
    }

    private mutating func become(_ plan: Plan) {
        self.plan = plan
        content = Content(plan)
        for cls in plan.classes { content.things[cls.name] = [:] }
    }

    mutating func change(_ chance: inout Chance) {
        let number = chance.below(plan.classes.count), cls = plan.classes[number]
        /// Properties that no key and no index of several has.
        let free = cls.properties.indices.filter { index in
            !cls.isKeyPart(cls.properties[index].id)
                && !cls.compounds.contains { $0.properties.contains(cls.properties[index].id) }
        }
        let scalars = free.filter {
            !cls.properties[$0].isCollection && cls.properties[$0].kind != .link && cls.properties[$0].kind != .mixed
                && !cls.properties[$0].isCounter && !added.contains(cls.properties[$0].id)
        }
        switch chance.below(22) {
        case 13...15: changeKey(number, &chance)
        case 16...18: changeEmbedding(&chance)
        case 19, 20: copy(number, &chance)
        case 21: retype(number, &chance)
        case 0, 1: add(to: number, &chance)
        case 2:
            guard cls.properties.count > 2, let index = free.randomElement(using: &chance) else { return }
            name += ", drop \(cls.name).\(cls.properties[index].name)"
            drop(number, index)
        case 3:
            let index = chance.below(cls.properties.count), property = cls.properties[index], new = "p\(plan.nextID)"
            name += ", rename \(cls.name).\(property.name) to \(new)"
            plan.nextID += 1
            plan.classes[number].properties[index].formerNames.append(property.name)
            plan.classes[number].properties[index].name = new
        case 4:
            guard
                let index = scalars.filter({ cls.properties[$0].kind != .binary && !cls.properties[$0].isUnique })
                    .randomElement(using: &chance)
            else { return }
            name += ", index \(cls.name).\(cls.properties[index].name)"
            plan.classes[number].properties[index].isIndexed.toggle()
        case 5:
            guard let index = scalars.filter({ !cls.properties[$0].isOptional }).randomElement(using: &chance) else {
                return
            }
            name += ", \(cls.name).\(cls.properties[index].name) becomes optional"
            plan.classes[number].properties[index].isOptional = true
        case 6:
            guard
                let index = scalars.filter({
                    cls.properties[$0].isOptional && !cls.properties[$0].isUnique
                        && cls.properties[$0].standard != .null
                }).randomElement(using: &chance)
            else { return }
            let property = cls.properties[index]
            name += ", \(cls.name).\(property.name) becomes required"
            plan.classes[number].properties[index].isOptional = false
            steps.append(.fill(cls: cls.name, property: property.id, chance.scalar(property.kind)))
        case 7:
            let new = "Extra\(plan.nextID)"
            name += ", new class \(new)"
            plan.nextID += 1
            plan.add(new, "id", .string, [.primaryKey])
            plan.add(new, "kinds", .list, of: chance.one(Plan.scalars))
            plan.add(new, "who", .link, to: plan.classes[0].name)
            plan.add(new, "bag", .list, of: .mixed)
            content.things[new] = [:]
        case 8:
            guard
                let index = scalars.filter({ !cls.properties[$0].isGenerated && !cls.properties[$0].isUnique })
                    .randomElement(using: &chance)
            else { return }
            name += ", another default of \(cls.name).\(cls.properties[index].name)"
            plan.classes[number].properties[index].standard = chance.scalar(cls.properties[index].kind)
        case 9:
            // Only such that nothing leads to.
            guard steps.isEmpty,
                let index = plan.classes.indices.filter({ plan.classes[$0].name.hasPrefix("Extra") }).randomElement(
                    using: &chance)
            else { return }
            let name = plan.classes[index].name
            self.name += ", drop class \(name)"
            if plan.classes.contains(where: { $0.properties.contains { $0.target == name } }) { return }
            plan.classes.remove(at: index)
            content.things[name] = nil
            content.plan = plan
            let old = content
            content.forgetMixed { $0.cls == name }
            if content != old { self.name += " that mixed values link to" }
            dropped.append(name)
        case 10:
            // An index of several, which some free property may be the last of, or away with one.
            if let index = cls.compounds.indices.filter({ !cls.compounds[$0].isKey }).randomElement(using: &chance) {
                name += ", drop index \(index) of \(cls.name)"
                plan.classes[number].compounds.remove(at: index)
            } else if scalars.count > 1 {
                let picked = scalars.shuffled(using: &chance).prefix(2).map { cls.properties[$0].id }
                name += ", index \(cls.name) \(picked)"
                plan.classes[number].compounds.append(.init(properties: picked))
            }
        default:
            guard
                let index = scalars.filter({
                    cls.properties[$0].kind != .binary && cls.properties[$0].kind != .bool
                        && !cls.properties[$0].isUnique
                }).randomElement(using: &chance)
            else { return }
            name += ", unique \(cls.name).\(cls.properties[index].name)"
            plan.classes[number].properties[index].isUnique = true
            plan.classes[number].properties[index].isIndexed = false
        }
    }

    mutating func add(to number: Int, _ chance: inout Chance) {
        let cls = plan.classes[number].name, new = "p\(plan.nextID)"
        name += ", add \(cls).\(new)"
        switch chance.below(9) {
        case 0: plan.add(cls, new, .list, of: chance.one(Plan.scalars))
        case 1: plan.add(cls, new, .link, to: chance.one(plan.classes).name)
        case 2: plan.add(cls, new, .map, to: chance.one(plan.classes).name, by: .string, [.nullable])
        case 3: plan.add(cls, new, .mixed)
        case 4: plan.add(cls, new, .list, of: .mixed)
        case 5: plan.add(cls, new, .set, of: .mixed)
        case 6: plan.add(cls, new, .map, of: .mixed, by: .string)
        default:
            let kind = chance.one(Plan.scalars)
            plan.add(
                cls, new, kind, chance.percent(50) ? [.nullable] : [],
                standard: chance.percent(50) ? chance.scalar(kind) : nil)
        }
        didAdd(to: cls)
    }

    /// The objects that are there get what the last property of a class has then.
    mutating func didAdd(to cls: String) {
        let property = plan.cls(cls).properties.last!
        added.insert(property.id)
        for key in content[cls].keys {
            content.things[cls]![key]!.values[property.id] = property.missing ?? .zero(property.kind)
        }
    }

    mutating func drop(_ number: Int, _ index: Int) {
        let property = plan.classes[number].properties.remove(at: index), cls = plan.classes[number].name
        for key in content[cls].keys { content.things[cls]![key]!.values[property.id] = nil }
    }
}
