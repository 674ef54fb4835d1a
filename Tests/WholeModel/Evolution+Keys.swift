import ObjStoreCore

/// Other keys, and properties that get what others had.
extension Evolution {
    /// The key goes, or another one comes, of one property or of several, or both. Mostly a migration gives it values
    /// that differ.
    mutating func changeKey(_ number: Int, _ chance: inout Chance) {
        let cls = plan.classes[number]
        if cls.isEmbedded { return }
        if cls.hasKey { dropKey(number, &chance) }
        if !cls.hasKey || chance.percent(70) { addKey(number, except: cls, &chance) }
        if chance.percent(90) { migrates = true }
    }

    /// What was the key is a property like others then, maybe still unique.
    mutating func dropKey(_ number: Int, _ chance: inout Chance) {
        let cls = plan.classes[number]
        name += ", \(cls.name) loses its key"
        for index in cls.properties.indices where cls.properties[index].isKey {
            plan.classes[number].properties[index].isKey = false
            if cls.properties[index].kind == .int { plan.classes[number].properties[index].isGenerated = false }
            plan.classes[number].properties[index].isUnique = chance.percent(30)
        }
        for index in cls.compounds.indices.reversed() where cls.compounds[index].isKey {
            if chance.percent(50) {
                plan.classes[number].compounds.remove(at: index)
            } else {
                plan.classes[number].compounds[index].isKey = false
                plan.classes[number].compounds[index].isUnique = chance.percent(50)
            }
        }
    }

    /// - Parameter old: as the class was: what was its key does not become it again.
    private mutating func addKey(_ number: Int, except old: ClassPlan, _ chance: inout Chance) {
        let cls = plan.classes[number]
        func canBeKey(_ property: PropertyPlan) -> Bool {
            [.int, .string, .objectID, .uuid].contains(property.kind) && !property.isCounter
                && !old.isKeyPart(property.id)
        }
        func isFirst(_ property: PropertyPlan) -> Bool { canBeKey(property) && !added.contains(property.id) }
        var key: Int?
        switch chance.below(4) {
        case 0:
            let new = "p\(plan.nextID)"
            plan.add(
                cls.name, new, chance.one([.int, .string, .objectID, .uuid]),
                chance.percent(30) ? [.primaryKey, .nullable] : [.primaryKey])
            didAdd(to: cls.name)
            key = plan.nextID - 1
            name += ", \(cls.name).\(new) is added as the key"
        case 1:
            let parts = cls.properties.filter {
                (canBeKey($0) || $0.kind == .bool || $0.kind == .timestamp) && !$0.isOptional && !$0.isCounter
                    && !added.contains($0.id)
            }
            guard let first = parts.filter(isFirst).randomElement(using: &chance),
                let second = parts.filter({ $0.id != first.id }).randomElement(using: &chance)
            else { return }
            if cls.compounds.contains(where: { $0.properties == [first.id, second.id] }) { return }
            plan.classes[number].compounds.append(.init(properties: [first.id, second.id], isKey: true))
            key = first.id
            name += ", \(cls.name).(\(first.name), \(second.name)) becomes the key"
        default:
            guard
                let index = cls.properties.indices.filter({ isFirst(cls.properties[$0]) }).randomElement(using: &chance)
            else { return }
            plan.classes[number].properties[index].isKey = true
            plan.classes[number].properties[index].isUnique = false
            plan.classes[number].properties[index].isIndexed = false
            plan.classes[number].properties[index].standard = nil
            if [.objectID, .uuid].contains(cls.properties[index].kind) {
                plan.classes[number].properties[index].isGenerated = chance.percent(40)
            }
            key = cls.properties[index].id
            name += ", \(cls.name).\(cls.properties[index].name) becomes the key"
        }
        if let key, chance.percent(65) { steps.append(.distinct(cls: cls.name, property: key)) }
    }

    // MARK: Copies

    /// A property gets in a migration what another one had, which may go: a new one of its kind, or one that is there,
    /// and then maybe one that cannot.
    mutating func copy(_ number: Int, _ chance: inout Chance) {
        let cls = plan.classes[number]
        guard let old = before.plan.classes.first(where: { $0.name == cls.name }) else { return }
        let source = chance.one(old.properties)
        var target: PropertyPlan?
        if chance.percent(70) {
            let new = "p\(plan.nextID)"
            var flags: SchemaDraft.Flags = []
            if source.isCollection ? source.isOptional : chance.percent(60) { flags.insert(.nullable) }
            if source.cascades { flags.insert(.cascade) }
            // Links lead to a class that is still there.
            if let target = source.target, !plan.classes.contains(where: { $0.name == target }) { return }
            plan.add(cls.name, new, source.kind, to: source.target, of: source.elements, by: source.keys, flags)
            didAdd(to: cls.name)
            target = plan.cls(cls.name).properties.last
            if chance.percent(50),
                let index = plan.classes[number].properties.firstIndex(where: { $0.id == source.id }),
                !cls.isKeyPart(source.id),
                !cls.compounds.contains(where: { $0.properties.contains(source.id) })
            {
                name += ", drop \(cls.name).\(source.name)"
                drop(number, index)
            }
        } else {
            let alike = cls.properties.filter {
                $0.id != source.id && $0.kind == source.kind && $0.elements == source.elements
                    && $0.target == source.target
            }
            target = chance.percent(70) && !alike.isEmpty ? chance.one(alike) : chance.one(cls.properties)
        }
        guard let target else { return }
        name += ", copy \(cls.name).\(source.name) to \(target.name)"
        steps.append(.copy(cls: cls.name, from: source.id, to: target.id))
    }

    /// Another kind under the same name: another property.
    mutating func retype(_ number: Int, _ chance: inout Chance) {
        let cls = plan.classes[number]
        let free = cls.properties.indices.filter { index in
            let id = cls.properties[index].id
            return !added.contains(id) && !cls.isKeyPart(id) && !cls.compounds.contains { $0.properties.contains(id) }
        }
        guard let index = free.randomElement(using: &chance) else { return }
        let old = cls.properties[index], kind = chance.one(Plan.scalars.filter { $0 != old.kind })
        // The name is that of the file, which takes it for the same property.
        guard
            let there = before.plan.classes.first(where: { $0.name == cls.name })?.properties.first(where: {
                $0.id == old.id
            }), there.name == old.name
        else { return }
        name += ", \(cls.name).\(old.name) becomes of kind \(kind)"
        drop(number, index)
        plan.add(cls.name, old.name, kind, chance.percent(50) ? [.nullable] : [])
        didAdd(to: cls.name)
        if chance.percent(90) { migrates = true }
    }
}
