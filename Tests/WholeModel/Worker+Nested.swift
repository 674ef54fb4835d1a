import ObjStoreCore

/// Nested values and embedded objects.
extension Worker {
    // MARK: Describing

    /// A description of an embedded object, or of what a property gets; nil: there is nothing to link to.
    func description(_ property: PropertyPlan, _ depth: Int = 0) -> Datum? {
        guard isEmbedding(property) else { return property.isCollection ? elements(property) : value(property) }
        let count = chance.below(4)
        switch property.kind {
        case .list: return .list((0..<count).map { _ in place(property, depth) })
        case .map:
            return .map(
                Dictionary(
                    (0..<count).map { _ in (mapKey(property), chance.percent(20) ? .null : place(property, depth)) }
                ) { $1 })
        default: return chance.percent(20) ? .null : place(property, depth)
        }
    }

    private func place(_ property: PropertyPlan, _ depth: Int) -> Datum {
        var values: [String: Datum] = [:]
        for inner in plan.cls(property.target!).properties {
            if isEmbedding(inner) && depth > 1 { continue }
            guard inner.missing == nil || chance.percent(40), let value = description(inner, depth + 1) else {
                continue
            }
            values[inner.name] = value
        }
        return .described(values)
    }

    /// Whether a property's values can be written as nested values: keys of maps are texts there.
    private func isWritable(_ property: PropertyPlan) -> Bool {
        property.kind != .map || property.keys == .int || property.keys == .string
    }

    /// The model takes over what descriptions have become: the keys of embedded objects are the store's choice.
    func adopt(_ name: Content.Name, _ property: PropertyPlan, _ described: Datum) throws {
        guard isEmbedding(property) else { return content[name, property.id] = described }
        let found = try session.read(plan.cls(name.cls), name.key, property)
        content[name, property.id] = found
        func adopt(_ found: Datum, _ described: Datum) throws {
            switch (found, described) {
            case (.null, .null): break
            case (.link(let key), .described(let values)):
                let target = plan.cls(property.target!), inner = Content.Name(cls: target.name, key: key)
                // The same object if it was described again.
                content.things[target.name, default: [:]][key] = Thing()
                for other in target.properties {
                    let value = values[other.name]
                    content.things[target.name]![key]!.values[other.id] = other.missing ?? .null
                    if let value { try self.adopt(inner, other, value) }
                }
            default: throw problem("\(name).\(property.name) became \(found), was described as \(described)")
            }
        }
        switch (found, described) {
        case (.list(let links), .list(let all)):
            if links.count != all.count {
                throw problem("\(name).\(property.name) became \(links.count) objects of \(all.count)")
            }
            for (link, one) in zip(links, all) { try adopt(link, one) }
        case (.map(let links), .map(let all)):
            if Set(links.keys) != Set(all.keys) {
                throw problem("\(name).\(property.name) has the keys \(links.keys), should have \(all.keys)")
            }
            for (key, one) in all { try adopt(links[key]!, one) }
        default: try adopt(found, described)
        }
    }

    /// Where embedded objects have unique values, a description may have one twice, or one of an object that it takes
    /// away.
    private func toleratedOf(_ properties: [PropertyPlan]) -> Set<StatusCode> {
        properties.contains { isEmbedding($0) && !plan.cls($0.target!).uniques.isEmpty } ? [.duplicateKey] : []
    }

    // MARK: Nested values

    /// An object from nested values: made, or found by its key and changed.
    func assemble() throws {
        guard let cls = anyClass(where: { !$0.isEmbedded }) else { return }
        var given = values(cls, isNew: true)
        var policy = UpsertPolicy.error, found: Int64?
        if let unique = cls.uniques.first(where: \.isKey), chance.percent(60) {
            policy = chance.one([.error, .modified, .all])
            let existing = chance.percent(60) ? anyKey(cls.name) : nil
            for part in unique.properties {
                given[part] =
                    existing.map { content[Content.Name(cls: cls.name, key: $0), part] } ?? given[part]
                    ?? value(cls.property(part))
            }
            found = content.find(cls.name, key: given)
        }
        var places: [Int: Datum] = [:]
        for property in cls.properties
        where (property.isCollection || isEmbedding(property)) && isWritable(property) && chance.percent(30) {
            places[property.id] = description(property)
        }
        let names = Dictionary(
            uniqueKeysWithValues: given.merging(places) { $1 }.map { (cls.property($0.key).name, $0.value) })
        note("assemble \(policy) \(cls.name) \(names)")
        let flat = Flat(link: session.object)
        session.describe(cls.name, names, into: flat)
        let result = attempt { () throws(StoreError) in
            try flat.use { (values) throws(StoreError) in try view.create(session.id(cls.name), from: values, policy) }
        }
        let isRefused = found.map { policy == .error || isTaken(cls, $0, given) } ?? isTaken(cls, given)
        try settle(
            "assemble", result, refusals: isRefused ? [.duplicateKey] : [],
            tolerated: toleratedOf(places.keys.map { cls.property($0) })
        ) { made in
            if let found {
                if made.0.key != found { throw problem("assemble changed #\(made.0.key), should change #\(found)") }
                for (property, value) in given { content[Content.Name(cls: cls.name, key: found), property] = value }
            } else {
                if made.1 != .created { throw problem("assemble of a new object was \(made.1)") }
                try make(cls, made.0.key, given)
            }
            for (property, value) in places {
                try adopt(Content.Name(cls: cls.name, key: made.0.key), cls.property(property), value)
            }
            content.sweep()
        }
    }

    /// The same from a JSON text, of values that JSON has.
    func json() throws {
        guard let cls = anyClass(where: { !$0.isEmbedded && ($0.name == "Person" || $0.name == "Loose") }) else {
            return
        }
        var given: [Int: Datum] = [:], members: [String] = []
        func text(_ datum: Datum) -> String? {
            switch datum {
            case .null: "null"
            case .bool(let value): "\(value)"
            case .int(let value): "\(value)"
            case .text(let text):
                "\""
                    + text.unicodeScalars.map {
                        $0.value < 32 || $0 == "\"" || $0 == "\\"
                            ? "\\u" + String(repeating: "0", count: 4 - String($0.value, radix: 16).count)
                                + String($0.value, radix: 16) : String($0)
                    }.joined() + "\""
            case .list(let all):
                all.allSatisfy { text($0) != nil } ? "[" + all.map { text($0)! }.joined(separator: ", ") + "]" : nil
            case .map(let all):
                all.values.allSatisfy { text($0) != nil }
                    ? "{"
                        + all.sorted { Datum.isBefore($0.key, $1.key) }.map { text($0.key)! + ": " + text($0.value)! }
                        .joined(separator: ", ") + "}" : nil
            default: nil
            }
        }
        for property in cls.properties where !property.isLink && (property.missing == nil || chance.percent(50)) {
            guard let value = property.isCollection ? elements(property) : value(property), let text = text(value)
            else { continue }
            given[property.id] = value
            members.append("\"\(property.name)\": \(text)")
        }
        if cls.properties.contains(where: { $0.missing == nil && given[$0.id] == nil }) { return }
        let source = "{\(members.joined(separator: ", "))}"
        note("json \(cls.name) \(source.prefix(300))")
        let result = Array(source.utf8).withUnsafeBytes { bytes in
            attempt { () throws(StoreError) in
                try view.create(session.id(cls.name), json: .memory(bytes), [], .error, nil)
            }
        }
        try settle("json", result, refusals: isTaken(cls, given) ? [.duplicateKey] : []) { made in
            try make(cls, made.0.key, given)
        }
    }

    // MARK: Embedded objects

    func embed() throws {
        guard let (_, name, property) = anyPlace(isEmbedding) else { return }
        if chance.percent(30), isWritable(property) { return try replace(name, property) }
        let target = plan.cls(property.target!), given = values(target, isNew: true), old = content[name, property.id]
        var place = Datum.null, isOut = false
        switch old {
        case .list(let all) where chance.percent(70):
            place = .int(Int64(chance.below(all.count + 1)))
            if chance.percent(5) { (place, isOut) = (.int(Int64(all.count + 1)), true) }
        case .map: place = mapKey(property)
        default: break
        }
        note("embed \(name).\(property.name) at \(place) \(given)")
        let flat = session.flat(place)
        let result = session.withValues(target.name, given) { (ids, values) throws(StoreError) in
            try view.createEmbedded(in: session.object(name), session.id(property.id), at: flat.values[0], ids, values)
        }
        try settle(
            "embed", result,
            refusals: isOut ? [.outOfRange, .duplicateKey] : isTaken(target, given) ? [.duplicateKey] : []
        ) { made in
            try make(target, made.key, given)
            switch (old, place) {
            case (.list(var all), .int(let index)):
                all.insert(.link(made.key), at: Int(index))
                content[name, property.id] = .list(all)
            case (.list(let all), _): content[name, property.id] = .list(all + [.link(made.key)])
            case (.map(var all), _):
                all[place] = .link(made.key)
                content[name, property.id] = .map(all)
            default: content[name, property.id] = .link(made.key)
            }
            content.sweep()
        }
    }

    /// A property of an object becomes what nested values describe.
    func replace(_ name: Content.Name, _ property: PropertyPlan) throws {
        guard let described = description(property) else { return }
        let policy = chance.one([UpsertPolicy.modified, .all])
        note("replace \(policy) \(name).\(property.name) by \(described)")
        let flat = Flat(link: session.object)
        session.describe(property, described, into: flat)
        let result = attempt { () throws(StoreError) in
            try flat.use { (values) throws(StoreError) in
                try view.set(session.object(name), session.id(property.id), from: values, policy)
            }
        }
        try settle("replace", result, tolerated: toleratedOf([property])) { _ in
            try adopt(name, property, described)
            content.sweep()
        }
    }
}
