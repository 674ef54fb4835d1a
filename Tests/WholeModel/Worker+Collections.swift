import ObjStoreCore

/// Lists, sets and maps, and calls that must be refused.
extension Worker {
    func changeCollection() throws {
        guard let (_, name, property) = anyPlace({ $0.isCollection }) else { return }
        let id = session.collection(name, property.id), old = content[name, property.id]
        if chance.percent(8) { return try clear(name, property) }
        if chance.percent(18), !isEmbedding(property) { return try assign(name, property) }
        switch old {
        case .list(let all): try changeList(name, property, id, all)
        case .set(let all): try changeSet(name, property, id, all)
        case .map(let all): try changeMap(name, property, id, all)
        default: throw problem("\(name).\(property.name) is no collection")
        }
    }

    private func write(
        _ what: String, _ name: Content.Name, _ property: PropertyPlan, _ new: Datum, refusals: Set<StatusCode> = [],
        _ body: () throws(StoreError) -> Void
    ) throws {
        note("\(what) \(name).\(property.name): \(new)")
        try settle(what, attempt(body), refusals: refusals) {
            content[name, property.id] = new
            content.sweep()
        }
    }

    private func clear(_ name: Content.Name, _ property: PropertyPlan) throws {
        try write("clear", name, property, property.missing!) { () throws(StoreError) in
            try view.removeAllElements(session.collection(name, property.id))
        }
    }

    /// Links to the objects of results, in their order.
    private func assignResults(_ name: Content.Name, _ property: PropertyPlan) throws {
        let target = property.target!, keys = content[target].keys.sorted()
        if keys.count > 60 { return }
        let results = try must("find all") { () throws(StoreError) in try view.find(Query(all: session.id(target))) }
        let new: Datum = property.kind == .list ? .list(keys.map { .link($0) }) : .set(Set(keys.map { .link($0) }))
        try write("assign results", name, property, new) { () throws(StoreError) in
            try view.assign(session.collection(name, property.id), results)
        }
    }

    private func assign(_ name: Content.Name, _ property: PropertyPlan) throws {
        if property.isLink, property.kind != .map, chance.percent(30) { return try assignResults(name, property) }
        guard let new = elements(property) else { return }
        let id = session.collection(name, property.id), keys = Flat(link: session.object),
            values = Flat(link: session.object)
        switch new {
        case .list(let all): for one in all { values.add(one, property.target) }
        case .set(let all):
            // Some twice, in any order.
            let sorted = all.sorted { Datum.isBefore($1, $0) }
            for one in sorted + sorted.prefix(2) { values.add(one, property.target) }
        case .map(let all):
            for (key, one) in all.sorted(by: { Datum.isBefore($1.key, $0.key) }) {
                keys.append(key, nil); values.add(one, property.target)
            }
        default: break
        }
        let count = values.values.count
        try write("assign", name, property, new) { () throws(StoreError) in
            try keys.use { (keys) throws(StoreError) in
                try values.use { (values) throws(StoreError) in
                    try view.assign(id, property.kind == .map ? keys.baseAddress : nil, values.baseAddress, count)
                }
            }
        }
    }

    private func changeList(_ name: Content.Name, _ property: PropertyPlan, _ id: CollectionID, _ old: [Datum]) throws {
        var all = old
        switch chance.below(isEmbedding(property) ? 4 : 10) {
        case 0, 1:
            let start = chance.below(all.count + 1),
                count = chance.percent(80) ? min(chance.below(3), all.count - start) : all.count - start
            all.removeSubrange(start..<start + count)
            try write("list remove", name, property, .list(all)) { () throws(StoreError) in
                try view.remove(id, at: start, count: count)
            }
        case 2, 3:
            if all.isEmpty { return }
            let from = chance.below(all.count), to = chance.below(all.count)
            all.insert(all.remove(at: from), at: to)
            try write("list move", name, property, .list(all)) { () throws(StoreError) in
                try view.move(id, from: from, to: to)
            }
        case 4, 5:
            guard !all.isEmpty, let new = value(property) else { return }
            let index = chance.below(all.count), flat = session.flat(new, property.target)
            all[index] = new
            try write("list set", name, property, .list(all)) { () throws(StoreError) in
                try flat.use { (values) throws(StoreError) in try view.set(id, at: index, values[0]) }
            }
        default:
            let count = chance.one([1, 1, 2, 60]), new = (0..<count).compactMap { _ in value(property) }
            if new.count < count { return }
            let at = chance.percent(10) ? all.count + 1 : chance.below(all.count + 1), flat = Flat(link: session.object)
            for one in new { flat.add(one, property.target) }
            if at > all.count {
                return try write("list insert", name, property, .list(all), refusals: [.outOfRange]) {
                    () throws(StoreError) in
                    try flat.use { (values) throws(StoreError) in try view.insert(id, at: at, values) }
                }
            }
            all.insert(contentsOf: new, at: at)
            try write("list insert", name, property, .list(all)) { () throws(StoreError) in
                try flat.use { (values) throws(StoreError) in
                    try view.insert(id, at: at == old.count ? nil : at, values)
                }
            }
        }
    }

    private func changeSet(_ name: Content.Name, _ property: PropertyPlan, _ id: CollectionID, _ old: Set<Datum>) throws
    {
        let sorted = old.sorted(by: session.isBefore)
        if chance.percent(15), !sorted.isEmpty {
            let start = chance.below(sorted.count), count = 1 + chance.below(min(3, sorted.count - start))
            return try write("set remove at", name, property, .set(old.subtracting(sorted[start..<start + count]))) {
                () throws(StoreError) in
                try view.remove(id, at: start, count: count)
            }
        }
        let removes = chance.percent(35)
        guard let one = removes && chance.percent(70) && !sorted.isEmpty ? chance.one(sorted) : value(property) else {
            return
        }
        let flat = session.flat(one, property.target), isThere = old.contains(one)
        note("set \(removes ? "remove" : "insert") \(name).\(property.name) \(one)")
        let result = attempt { () throws(StoreError) in
            try flat.use { (values) throws(StoreError) in
                removes ? try view.remove(id, member: values[0]) : try view.insert(id, member: values[0])
            }
        }
        try settle(removes ? "set remove" : "set insert", result) { did in
            if did != (removes ? isThere : !isThere) {
                throw problem("\(one) was \(isThere ? "" : "not ")in the set, which was told otherwise")
            }
            content[name, property.id] = .set(removes ? old.subtracting([one]) : old.union([one]))
        }
    }

    private func changeMap(
        _ name: Content.Name, _ property: PropertyPlan, _ id: CollectionID, _ old: [Datum: Datum]
    ) throws {
        var all = old
        let sorted = old.keys.sorted(by: Datum.isBefore)
        if chance.percent(15), !sorted.isEmpty {
            let start = chance.below(sorted.count), count = 1 + chance.below(min(3, sorted.count - start))
            for key in sorted[start..<start + count] { all[key] = nil }
            return try write("map remove at", name, property, .map(all)) { () throws(StoreError) in
                try view.remove(id, at: start, count: count)
            }
        }
        let key = chance.percent(40) && !sorted.isEmpty ? chance.one(sorted) : mapKey(property),
            flatKey = session.flat(key), isThere = old[key] != nil
        if chance.percent(30) {
            note("map remove \(name).\(property.name)[\(key)]")
            let result = attempt { () throws(StoreError) in
                try flatKey.use { (keys) throws(StoreError) in try view.remove(id, key: keys[0]) }
            }
            return try settle("map remove", result) { did in
                if did != isThere {
                    throw problem("\(key) was \(isThere ? "" : "not ")in the map, which was told otherwise")
                }
                all[key] = nil
                content[name, property.id] = .map(all)
                content.sweep()
            }
        }
        guard let new = isEmbedding(property) ? .null : value(property) else { return }
        let flat = session.flat(new, property.target)
        note("map set \(name).\(property.name)[\(key)] = \(new)")
        let result = attempt { () throws(StoreError) in
            try flatKey.use { (keys) throws(StoreError) in
                try flat.use { (values) throws(StoreError) in try view.set(id, key: keys[0], values[0]) }
            }
        }
        try settle("map set", result) { isNew in
            if isNew == isThere {
                throw problem("\(key) was \(isThere ? "" : "not ")in the map, which was told otherwise")
            }
            all[key] = new
            content[name, property.id] = .map(all)
            content.sweep()
        }
    }

    // MARK: What must be refused

    /// A call with exactly one thing wrong: it is refused as that, and leaves nothing behind.
    func refused() throws {
        switch chance.below(9) {
        case 0:
            // A required value is missing.
            guard
                let cls = anyClass(where: {
                    !$0.isEmbedded && $0.properties.contains { $0.missing == nil && !$0.isGenerated }
                })
            else { return }
            var given = values(cls, isNew: true)
            given[chance.one(cls.properties.filter { $0.missing == nil && !$0.isGenerated }).id] = nil
            note("create without a value \(cls.name) \(given)")
            let result = session.withValues(cls.name, given) { (ids, values) throws(StoreError) in
                try view.create(session.id(cls.name), ids, values)
            }
            try settle("missing value", result, refusals: [.missingValue]) { _ in }
        case 1, 2:
            // Null, or a value of another kind, beside good ones.
            guard let (cls, name, property) = anyPlace({ !$0.isCollection && !$0.isLink && $0.kind != .mixed }),
                !cls.isKeyPart(property.id)
            else { return }
            var given = values(cls, isNew: false).filter { !cls.isKeyPart($0.key) }
            let isNull = !property.isOptional && chance.percent(50)
            given[property.id] = isNull ? .null : property.kind == .uuid ? .text("no uuid") : .uuid(1, 2)
            note("set a wrong value of \(name).\(property.name) \(given)")
            let result = session.withValues(cls.name, given) { (ids, values) throws(StoreError) in
                try view.set(session.object(name), ids, values)
            }
            try settle("wrong value", result, refusals: [isNull ? .notNullable : .wrongType]) { _ in }
        case 3:
            // Another's key, in the middle of nested values with embedded objects.
            guard let (cls, name) = anyObject(where: { $0.name == "Person" }), let key = cls.key else { return }
            var names = [key.name: content[name, key.id]]
            for property in cls.properties where isEmbedding(property) && property.kind == .list {
                names[property.name] = description(property)
            }
            note("assemble with a key of another \(names)")
            let flat = Flat(link: session.object)
            session.describe(cls.name, names, into: flat)
            let result = attempt { () throws(StoreError) in
                try flat.use { (values) throws(StoreError) in
                    try view.create(session.id(cls.name), from: values, .error)
                }
            }
            try settle("nested duplicate", result, refusals: [.duplicateKey, .missingValue]) { _ in }
        case 4:
            // An embedded description of the wrong kind, at the end of what else is made.
            guard let (cls, name, property) = anyPlace({ isEmbedding($0) && $0.kind == .list }),
                let town = plan.cls(property.target!).properties.first(where: { $0.missing == nil })
            else { return }
            let flat = Flat(link: session.object)
            let bad = Datum.list([.described([town.name: value(town)!]), .described([town.name: .null])])
            session.describe(property, bad, into: flat)
            note("replace by a wrong description \(cls.name) \(name)")
            let result = attempt { () throws(StoreError) in
                try flat.use { (values) throws(StoreError) in
                    try view.set(session.object(name), session.id(property.id), from: values, .all)
                }
            }
            try settle("wrong description", result, refusals: [.notNullable, .wrongType, .missingValue, .duplicateKey])
            { _ in }
        case 5:
            // An object that never was.
            guard let (_, name, property) = anyPlace({ $0.isLink && $0.kind == .link && !isEmbedding($0) }) else {
                return
            }
            let nobody = session.object(property.target!, (content[property.target!].keys.max() ?? 0) + 1_000_000)
            note("link to nobody \(name).\(property.name)")
            let result = attempt { () throws(StoreError) in
                try view.set(session.object(name), session.id(property.id), .link(nobody))
            }
            try settle("link to nobody", result, refusals: [.noSuchObject]) { _ in }
        case 6, 7: try refusedMixed()
        default:
            // A link, or an embedded object, among elements that cannot have it.
            guard
                let (_, name, property) = anyPlace({
                    $0.kind == .list && $0.elements != .mixed && ($0.isLink || !$0.isOptional)
                })
            else { return }
            let good = value(property).map { [$0] } ?? []
            let flat = Flat(link: session.object)
            for one in isEmbedding(property) ? [] : good { flat.append(one, property.target) }
            flat.append(property.elements == .uuid ? .text("no uuid") : .uuid(1, 2), nil)
            note("insert a wrong element \(name).\(property.name)")
            let result = attempt { () throws(StoreError) in
                try flat.use { (values) throws(StoreError) in
                    try view.insert(session.collection(name, property.id), at: nil, values)
                }
            }
            try settle("wrong element", result, refusals: [.wrongType, .embedded]) { _ in }
        }
    }
}
