import ObjStoreCore

/// What a store's schema becomes at an opening, and what that does to its content.
struct Evolution {
    enum Migration {
        case none
        /// Nulls of a property that becomes required get this value.
        case fill(cls: String, property: Int, Datum)
        /// Random operations, in the model and the store.
        case work(steps: Int, seed: UInt64)
    }

    var plan: Plan
    /// What the content is when the schema has changed, before a migration.
    var content: Content
    var dropped: [String] = []
    var migration = Migration.none
    /// The migration throws in the end.
    var fails = false
    /// Properties that become unique: behind the migration.
    var uniques: Set<Int> = []
    /// Properties that are new: what objects get in them is decided, and nothing else changes about them in the same schema.
    private var added: Set<Int> = []
    var name = "reopen"

    /// The same schema, or another one; now and then one that the content forbids.
    init(_ old: Content, _ chance: inout Chance) {
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
        if case .none = migration, chance.percent(30) {
            migration = .work(steps: chance.below(12), seed: chance.next())
            fails = chance.percent(25)
            name += fails ? " with a migration that fails" : " with a migration"
        }
        content.plan = plan
    }

    /// What a migration works with: nothing has become unique yet.
    var interim: Plan {
        var interim = plan
        for (number, cls) in plan.classes.enumerated() {
            for (index, property) in cls.properties.enumerated() where uniques.contains(property.id) { interim.classes[number].properties[index].isUnique = false }
        }
        return interim
    }

    private mutating func become(_ plan: Plan) {
        self.plan = plan
        content = Content(plan)
        for cls in plan.classes { content.things[cls.name] = [:] }
    }

    private mutating func change(_ chance: inout Chance) {
        let number = chance.below(plan.classes.count), cls = plan.classes[number]
        /// Properties that no key and no index of several has.
        let free = cls.properties.indices.filter { index in
            !cls.isKeyPart(cls.properties[index].id) && !cls.compounds.contains { $0.properties.contains(cls.properties[index].id) }
        }
        let scalars = free.filter { !cls.properties[$0].isCollection && cls.properties[$0].kind != .link && cls.properties[$0].kind != .mixed && !cls.properties[$0].isCounter && !added.contains(cls.properties[$0].id) }
        switch chance.below(13) {
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
            guard let index = scalars.filter({ cls.properties[$0].kind != .binary && !cls.properties[$0].isUnique }).randomElement(using: &chance) else { return }
            name += ", index \(cls.name).\(cls.properties[index].name)"
            plan.classes[number].properties[index].isIndexed.toggle()
        case 5:
            guard let index = scalars.filter({ !cls.properties[$0].isOptional }).randomElement(using: &chance) else { return }
            name += ", \(cls.name).\(cls.properties[index].name) becomes optional"
            plan.classes[number].properties[index].isOptional = true
        case 6:
            guard case .none = migration, let index = scalars.filter({ cls.properties[$0].isOptional && !cls.properties[$0].isUnique && cls.properties[$0].standard != .null }).randomElement(using: &chance) else { return }
            let property = cls.properties[index]
            name += ", \(cls.name).\(property.name) becomes required"
            plan.classes[number].properties[index].isOptional = false
            migration = .fill(cls: cls.name, property: property.id, chance.scalar(property.kind))
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
            guard let index = scalars.filter({ !cls.properties[$0].isGenerated && !cls.properties[$0].isUnique }).randomElement(using: &chance) else { return }
            name += ", another default of \(cls.name).\(cls.properties[index].name)"
            plan.classes[number].properties[index].standard = chance.scalar(cls.properties[index].kind)
        case 9:
            // Only such that nothing leads to.
            guard case .none = migration, let index = plan.classes.indices.filter({ plan.classes[$0].name.hasPrefix("Extra") }).randomElement(using: &chance) else { return }
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
            guard let index = scalars.filter({ cls.properties[$0].kind != .binary && cls.properties[$0].kind != .bool && !cls.properties[$0].isUnique }).randomElement(using: &chance) else { return }
            name += ", unique \(cls.name).\(cls.properties[index].name)"
            plan.classes[number].properties[index].isUnique = true
            plan.classes[number].properties[index].isIndexed = false
            uniques.insert(cls.properties[index].id)
        }
    }

    private mutating func add(to number: Int, _ chance: inout Chance) {
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
            plan.add(cls, new, kind, chance.percent(50) ? [.nullable] : [], standard: chance.percent(50) ? chance.scalar(kind) : nil)
        }
        let property = plan.cls(cls).properties.last!
        added.insert(property.id)
        for key in content[cls].keys { content.things[cls]![key]!.values[property.id] = property.missing ?? .zero(property.kind) }
    }

    private mutating func drop(_ number: Int, _ index: Int) {
        let property = plan.classes[number].properties.remove(at: index), cls = plan.classes[number].name
        for key in content[cls].keys { content.things[cls]![key]!.values[property.id] = nil }
        content.plan = plan
        content.sweep()
    }
}
