import ObjStoreCore

/// Classes that become embedded, or cease to be.
extension Evolution {
    mutating func changeEmbedding(_ chance: inout Chance) {
        let ordinary = plan.classes.indices.filter { !plan.classes[$0].isEmbedded }
        if chance.percent(40),
            let number = plan.classes.indices.filter({ plan.classes[$0].isEmbedded }).randomElement(using: &chance)
        {
            name += ", \(plan.classes[number].name) is embedded no more"
            plan.classes[number].isEmbedded = false
            return
        }
        func incoming(_ number: Int, where fits: (PropertyPlan) -> Bool) -> Bool {
            plan.classes.contains { $0.properties.contains { $0.target == plan.classes[number].name && fits($0) } }
        }
        // What other values of the histories link to stays ordinary.
        let candidates = ordinary.filter { incoming($0) { $0.kind != .set } }
        let good = candidates.filter { !incoming($0) { $0.kind == .set } }
        guard ordinary.count > 4,
            let number = (chance.percent(90) && !good.isEmpty ? good : candidates).randomElement(using: &chance)
        else { return }
        let cls = plan.classes[number].name
        name += ", \(cls) becomes embedded"
        if plan.classes[number].hasKey { dropKey(number, &chance) }
        plan.classes[number].isEmbedded = true
        if chance.percent(75) {
            steps.append(.house(cls: cls, clearsMixed: chance.percent(80)))
        } else if chance.percent(50) {
            migrates = true
        }
    }
}

extension Content {
    /// How many links, not of mixed values, lead to each object of a class.
    func places(_ cls: String) -> [Int64: Int] {
        var places: [Int64: Int] = [:]
        for owner in plan.classes {
            for property in owner.properties where property.isLink && property.target == cls {
                for thing in self[owner.name].values {
                    for key in Content.targets(thing.values[property.id]!) { places[key, default: 0] += 1 }
                }
            }
        }
        return places
    }

    /// The objects of a class that lie, with the classes that are embedded by a plan, in some object that is not: not
    /// in themselves.
    func rooted(_ cls: String, _ plan: Plan) -> Set<Int64> {
        var known: Set<Name> = [], next: [Name] = []
        for owner in plan.classes where !owner.isEmbedded {
            next += (things[owner.name] ?? [:]).keys.map { Name(cls: owner.name, key: $0) }
        }
        while let name = next.popLast() {
            for property in self.plan.cls(name.cls).properties where property.isLink && plan.isEmbedded(property.target)
            {
                for key in Content.targets(self[name, property.id]) {
                    let target = Name(cls: property.target!, key: key)
                    if known.insert(target).inserted { next.append(target) }
                }
            }
        }
        return Set(known.lazy.filter { $0.cls == cls }.map(\.key))
    }

    func hasMixedLinks(to cls: String) -> Bool {
        plan.classes.contains { owner in
            owner.properties.contains { property in
                property.valueKind == .mixed && mixedOwners(owner.name, property.id).keys.contains { $0.cls == cls }
            }
        }
    }
}
