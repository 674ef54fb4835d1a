import ObjStoreCore

/// An object of the model: its values by the ids of properties.
package struct Thing: Equatable, Sendable {
    var values: [Int: Datum] = [:]
}

/// What a store should contain, as dictionaries; every rule is written down in the simplest way, whatever it costs.
package struct Content: Equatable, Sendable {
    var plan: Plan
    /// By class and key.
    var things: [String: [Int64: Thing]] = [:]

    init(_ plan: Plan) { self.plan = plan }

    subscript(_ cls: String) -> [Int64: Thing] {
        get { things[cls] ?? [:] }
        set { things[cls] = newValue }
    }
    subscript(_ object: Name) -> Thing? { things[object.cls]?[object.key] }
    subscript(_ object: Name, _ property: Int) -> Datum {
        get { things[object.cls]![object.key]!.values[property]! }
        set { things[object.cls]![object.key]!.values[property] = newValue }
    }

    package struct Name: Hashable, Sendable, CustomStringConvertible {
        var cls: String
        var key: Int64
        package var description: String { "\(cls)#\(key)" }
    }

    package var count: Int { things.values.reduce(0) { $0 + $1.count } }

    // MARK: Unique

    /// The unique properties of which another object has the same values already.
    func isTaken(_ cls: String, _ values: [Int: Datum], except key: Int64? = nil) -> Bool {
        for unique in plan.cls(cls).uniques {
            let wanted = unique.properties.map { values[$0] ?? .null }
            // Null belongs to no object, except as a key of one property.
            if wanted.contains(.null), !(unique.isKey && wanted.count == 1) { continue }
            for (other, thing) in self[cls]
            where other != key && unique.properties.map({ thing.values[$0] ?? .null }) == wanted { return true }
        }
        return false
    }

    /// Two objects have the same of something that is unique.
    var hasTaken: Bool {
        plan.classes.contains { cls in self[cls.name].contains { isTaken(cls.name, $0.value.values, except: $0.key) } }
    }

    /// Whom the values of a key name.
    func find(_ cls: String, key values: [Int: Datum]) -> Int64? {
        guard let unique = plan.cls(cls).uniques.first(where: \.isKey) else { return nil }
        let wanted = unique.properties.map { values[$0] ?? .null }
        return self[cls].first { _, thing in unique.properties.map { thing.values[$0]! } == wanted }?.key
    }

    // MARK: Links

    static func targets(_ value: Datum) -> [Int64] {
        switch value {
        case .link(let key): [key]
        case .list(let all): all.flatMap(targets)
        case .set(let all): all.flatMap(targets)
        case .map(let all): all.values.flatMap(targets)
        default: []
        }
    }

    /// The objects with links in a property to each object.
    func owners(_ cls: String, _ property: Int) -> [Int64: [Int64]] {
        var owners: [Int64: [Int64]] = [:]
        for key in self[cls].keys.sorted() {
            for target in Set(Content.targets(self[cls][key]!.values[property]!)) {
                owners[target, default: []].append(key)
            }
        }
        return owners
    }

    /// How many objects link to each object by a property's mixed values, at any depth.
    func mixedOwners(_ cls: String, _ property: Int) -> [Name: Int] {
        func targets(_ value: Datum) -> [Name] {
            switch value {
            case .linkTo(let cls, let key): [Name(cls: cls, key: key)]
            case .list(let all): all.flatMap(targets)
            case .set(let all): all.flatMap(targets)
            case .map(let all): all.values.flatMap(targets)
            default: []
            }
        }
        var owners: [Name: Int] = [:]
        for thing in self[cls].values {
            for target in Set(targets(thing.values[property]!)) { owners[target, default: 0] += 1 }
        }
        return owners
    }

    // MARK: Deleting

    /// Objects go with everything that they own, and every link to one of them.
    mutating func remove(_ first: [Name]) {
        var gone = Set(first), next = first
        while let name = next.popLast() {
            for property in plan.cls(name.cls).properties where plan.owns(property) {
                for key in Content.targets(self[name, property.id]) {
                    let owned = Name(cls: property.target!, key: key)
                    if gone.insert(owned).inserted { next.append(owned) }
                }
            }
        }
        for name in gone { things[name.cls]?[name.key] = nil }
        change(where: \.isLink) { property, value in
            Content.forget(value) { gone.contains(Name(cls: property.target!, key: $0)) }
        }
        forgetMixed(gone.contains)
    }

    /// Links in mixed values to what is gone.
    mutating func forgetMixed(_ isGone: (Name) -> Bool) {
        change(where: { $0.valueKind == .mixed }) { _, value in Content.forgetMixed(value, isGone) }
    }

    private mutating func change(where fits: (PropertyPlan) -> Bool, _ new: (PropertyPlan, Datum) -> Datum) {
        for cls in plan.classes {
            for property in cls.properties where fits(property) {
                for key in self[cls.name].keys {
                    things[cls.name]![key]!.values[property.id] = new(
                        property, things[cls.name]![key]!.values[property.id]!)
                }
            }
        }
    }

    /// A link that led to what is gone is null; elements go, a map's become null.
    static func forget(_ value: Datum, _ isGone: (Int64) -> Bool) -> Datum {
        func isDead(_ value: Datum) -> Bool { if case .link(let key) = value { isGone(key) } else { false } }
        switch value {
        case .link: return isDead(value) ? .null : value
        case .list(let all): return .list(all.filter { !isDead($0) })
        case .set(let all): return .set(all.filter { !isDead($0) })
        case .map(let all): return .map(all.mapValues { isDead($0) ? .null : $0 })
        default: return value
        }
    }

    /// In mixed values every link to what is gone is null, wherever it is; but as an element of a set it leaves.
    static func forgetMixed(_ value: Datum, _ isGone: (Name) -> Bool) -> Datum {
        func isDead(_ value: Datum) -> Bool {
            if case .linkTo(let cls, let key) = value { isGone(Name(cls: cls, key: key)) } else { false }
        }
        switch value {
        case .linkTo: return isDead(value) ? .null : value
        case .list(let all): return .list(all.map { forgetMixed($0, isGone) })
        case .set(let all): return .set(all.filter { !isDead($0) })
        case .map(let all): return .map(all.mapValues { forgetMixed($0, isGone) })
        default: return value
        }
    }

    /// Embedded objects that lost their place go.
    mutating func sweep() {
        while true {
            var housed: Set<Name> = []
            for cls in plan.classes {
                for property in cls.properties where property.isLink && plan.isEmbedded(property.target) {
                    for thing in self[cls.name].values {
                        for key in Content.targets(thing.values[property.id]!) {
                            housed.insert(Name(cls: property.target!, key: key))
                        }
                    }
                }
            }
            let lost = plan.classes.filter(\.isEmbedded).flatMap { cls in
                self[cls.name].keys.map { Name(cls: cls.name, key: $0) }
            }.filter { !housed.contains($0) }
            if lost.isEmpty { return }
            remove(lost)
        }
    }

    // MARK: Comparing

    /// The first differences, for people; nil: none.
    func difference(_ found: Content) -> String? {
        if self == found { return nil }
        var lines: [String] = []
        for cls in plan.classes {
            let keys = Set(self[cls.name].keys).union(found[cls.name].keys).sorted()
            for key in keys {
                guard let wanted = self[cls.name][key] else {
                    lines.append("\(cls.name)#\(key) is there, should not be"); continue
                }
                guard let thing = found[cls.name][key] else { lines.append("\(cls.name)#\(key) is missing"); continue }
                for property in cls.properties where wanted.values[property.id] != thing.values[property.id] {
                    lines.append(
                        """
                        \(cls.name)#\(key).\(property.name) is \
                        \(thing.values[property.id].map { "\($0)" } ?? "unknown"), should be \
                        \(wanted.values[property.id].map { "\($0)" } ?? "unknown")
                        """
                    )
                }
            }
        }
        return "\(lines.count) differences: \(lines.prefix(4).joined(separator: "; "))"
    }
}
