import ObjStoreCore

/// Creating, changing and deleting objects.
extension Worker {
    func create() throws {
        guard let cls = anyClass(where: { !$0.isEmbedded }) else { return }
        let given = values(cls, isNew: true)
        note("create \(cls.name) \(given)")
        let result = session.withValues(cls.name, given) { (ids, values) throws(StoreError) in
            try view.create(session.id(cls.name), ids, values)
        }
        try settle("create", result, refusals: isTaken(cls, given) ? [.duplicateKey] : []) {
            try make(cls, $0.key, given)
        }
    }

    func upsert() throws {
        guard let cls = anyClass(where: { $0.hasKey }) else { return }
        var given = values(cls, isNew: true)
        let policy = chance.one([UpsertPolicy.error, .modified, .modified, .all])
        // Half of them name an object that is there.
        let parts = cls.uniques.first(where: \.isKey)!.properties
        let existing = chance.percent(60) ? anyKey(cls.name) : nil
        for part in parts {
            given[part] =
                existing.map { content[Content.Name(cls: cls.name, key: $0), part] } ?? given[part]
                ?? value(cls.property(part))
        }
        let found = content.find(cls.name, key: given)
        note("upsert \(policy) \(cls.name) \(given)")
        let result = session.withValues(cls.name, given) { (ids, values) throws(StoreError) in
            try view.upsert(session.id(cls.name), policy, ids, values)
        }
        guard let found else {
            return try settle("upsert", result, refusals: isTaken(cls, given) ? [.duplicateKey] : []) { made in
                if made.1 != .created { throw problem("upsert of a new object was \(made.1)") }
                try make(cls, made.0.key, given)
            }
        }
        let refusals: Set<StatusCode> = policy == .error || isTaken(cls, found, given) ? [.duplicateKey] : []
        try settle("upsert", result, refusals: refusals) { made in
            try change(cls, found, given, policy, made)
        }
    }

    /// Whether a change would give an object what is another's.
    func isTaken(_ cls: ClassPlan, _ key: Int64, _ given: [Int: Datum]) -> Bool {
        content.isTaken(cls.name, content[cls.name][key]!.values.merging(given) { $1 }, except: key)
    }

    private func change(
        _ cls: ClassPlan, _ key: Int64, _ given: [Int: Datum], _ policy: UpsertPolicy, _ made: (ObjectID, UpsertOutcome)
    ) throws {
        let name = Content.Name(cls: cls.name, key: key)
        let others = given.filter { !cls.isKeyPart($0.key) }
        let outcome: UpsertOutcome =
            (policy == .all ? !others.isEmpty : others.contains { content[name, $0.key] != $0.value })
            ? .changed : .unchanged
        if made.0.key != key || made.1 != outcome {
            throw problem("upsert of \(name) was \(made.1) of #\(made.0.key), should be \(outcome)")
        }
        for (property, value) in given { content[name, property] = value }
    }

    func set() throws {
        guard let (cls, name) = anyObject() else { return }
        var given = values(cls, isNew: false).filter { !cls.isKeyPart($0.key) }
        // Embedded objects can be taken away like that.
        for property in cls.properties where property.kind == .link && isEmbedding(property) && chance.percent(20) {
            given[property.id] = .null
        }
        if chance.percent(60), let one = given.sorted(by: { $0.key < $1.key }).randomElement(using: &chance) {
            given = [one.key: one.value]
        }
        if given.isEmpty { return }
        note("set \(name) \(given)")
        let result = session.withValues(cls.name, given) { (ids, values) throws(StoreError) in
            if ids.count == 1 {
                try view.set(session.object(name), ids[0], values[0])
            } else {
                try view.set(session.object(name), ids, values)
            }
        }
        try settle("set", result, refusals: isTaken(cls, name.key, given) ? [.duplicateKey] : []) {
            for (property, value) in given { content[name, property] = value }
            content.sweep()
        }
    }

    func increment() throws {
        guard let (cls, name, property) = anyPlace({ $0.kind == .int && !$0.isKey }), !cls.isKeyPart(property.id) else {
            return
        }
        let delta = Int64(chance.below(9)) - 4, old = content[name, property.id]
        note("increment \(name).\(property.name) by \(delta)")
        let result = attempt { () throws(StoreError) in
            try view.increment(session.object(name), session.id(property.id), delta)
        }
        guard case .int(let number) = old else {
            return try settle("increment", result, refusals: [.nullValue]) { _ in }
        }
        let (sum, overflow) = number.addingReportingOverflow(delta)
        if overflow { return try settle("increment", result, refusals: [.outOfRange]) { _ in } }
        try settle(
            "increment", result, refusals: isTaken(cls, name.key, [property.id: .int(sum)]) ? [.duplicateKey] : []
        ) { told in
            if told != sum { throw problem("increment of \(name).\(property.name) gave \(told), should give \(sum)") }
            content[name, property.id] = .int(sum)
        }
    }

    func delete() throws {
        guard let (_, name) = anyObject() else { return }
        note("delete \(name)")
        try settle("delete", attempt { () throws(StoreError) in try view.delete(session.object(name)) }) {
            content.remove([name])
        }
    }

    func deleteMany() throws {
        if chance.percent(20) {
            note("delete everything")
            return try settle("delete everything", attempt { () throws(StoreError) in try view.deleteEverything() }) {
                count in
                if count != content.count { throw problem("\(count) objects were deleted, should be \(content.count)") }
                content.things = content.things.mapValues { _ in [:] }
            }
        }
        guard let cls = anyClass() else { return }
        note("delete all of \(cls.name)")
        try settle("delete all", attempt { () throws(StoreError) in try view.deleteAll(session.id(cls.name)) }) {
            count in
            if count != content[cls.name].count {
                throw problem("\(count) of \(cls.name) were deleted, should be \(content[cls.name].count)")
            }
            content.remove(content[cls.name].keys.map { Content.Name(cls: cls.name, key: $0) })
        }
    }

    // MARK: Many at once

    func setWise() throws {
        if chance.percent(25) { return try setWiseOfCollection() }
        guard let cls = anyClass(where: { $0.properties.contains { $0.kind == .int } }) else { return }
        let asked = chance.one(cls.properties.filter { $0.kind == .int }), bound = Int64(chance.below(40)) - 6
        let results = try must("find") { () throws(StoreError) in
            try view.find(Query(session.id(cls.name), session.id(asked.id), .less, .int(bound)))
        }
        let keys = content[cls.name].filter {
            if case .int(let number) = $0.value.values[asked.id]! { number < bound } else { false }
        }.keys.sorted()
        if results.count != keys.count {
            throw problem("\(cls.name).\(asked.name) < \(bound) finds \(results.count), should find \(keys)")
        }
        switch chance.below(10) {
        case 0, 1:
            if keys.count > 15 && chance.percent(70) { return }
            note("delete \(cls.name) \(keys)")
            try settle("delete results", attempt { () throws(StoreError) in try view.delete(results) }) { count in
                if count != keys.count { throw problem("\(count) were deleted, should be \(keys.count)") }
                content.remove(keys.map { Content.Name(cls: cls.name, key: $0) })
            }
        case 2...6:
            let given = values(cls, isNew: false).filter { !cls.isKeyPart($0.key) }
            note("set \(cls.name) \(keys) \(given)")
            let result = session.withValues(cls.name, given) { (ids, values) throws(StoreError) in
                try view.set(results, ids, values)
            }
            try settleAll("set results", cls, keys, result, counts: keys.count) { _, values in
                values.merge(given) { $1 }
            }
        default:
            let others = cls.properties.filter { $0.kind == .int && !cls.isKeyPart($0.id) }
            if others.isEmpty { return }
            let property = chance.one(others), delta = Int64(chance.below(5)) - 2
            note("increment \(cls.name) \(keys) .\(property.name) by \(delta)")
            let result = attempt { () throws(StoreError) in
                try view.increment(results, session.id(property.id), .int(delta))
            }
            func sum(_ key: Int64) -> (Int64, Bool)? {
                if case .int(let number) = content[cls.name][key]!.values[property.id]! {
                    number.addingReportingOverflow(delta)
                } else {
                    nil
                }
            }
            if keys.contains(where: { sum($0)?.1 == true }) {
                return try settle("increment results", result, refusals: [.outOfRange, .duplicateKey]) { _ in }
            }
            let changed = keys.filter { sum($0) != nil }.count
            try settleAll("increment results", cls, keys, result, counts: changed) { key, values in
                if let sum = sum(key) { values[property.id] = .int(sum.0) }
            }
        }
    }

    /// Objects that a collection has links to.
    private func setWiseOfCollection() throws {
        guard let (_, name, property) = anyPlace({ $0.isCollection && $0.isLink }) else { return }
        let target = plan.cls(property.target!), keys = Set(Content.targets(content[name, property.id])).sorted()
        if chance.percent(30) {
            note("delete objects of \(name).\(property.name)")
            return try settle(
                "delete objects of",
                attempt { () throws(StoreError) in try view.deleteObjects(of: session.collection(name, property.id)) }
            ) { count in
                if count != keys.count { throw problem("\(count) were deleted, should be \(keys.count)") }
                content.remove(keys.map { Content.Name(cls: target.name, key: $0) })
            }
        }
        let given = values(target, isNew: false).filter { !target.isKeyPart($0.key) }
        note("set objects of \(name).\(property.name): \(given)")
        let result = session.withValues(target.name, given) { (ids, values) throws(StoreError) in
            try view.setObjects(of: session.collection(name, property.id), ids, values)
        }
        try settleAll("set objects of", target, keys, result, counts: keys.count) { _, values in
            values.merge(given) { $1 }
        }
    }

    /// A change of several objects. Where it would lead through a state in which two have the same unique value, but
    /// not to one, the engine may refuse it or not.
    private func settleAll(
        _ name: String, _ cls: ClassPlan, _ keys: [Int64], _ result: Result<Int, StoreError>, counts: Int,
        _ change: (Int64, inout [Int: Datum]) -> Void
    ) throws {
        var after = content, mayFail = false
        for key in keys {
            change(key, &after.things[cls.name]![key]!.values)
            if after.isTaken(cls.name, after[cls.name][key]!.values, except: key) { mayFail = true }
        }
        let mustFail = keys.contains { after.isTaken(cls.name, after[cls.name][$0]!.values, except: $0) }
        if mayFail, !mustFail, case .failure(let error) = result, error.code == .duplicateKey { return }
        try settle(name, result, refusals: mustFail ? [.duplicateKey] : []) { count in
            if count != counts { throw problem("\(name) says \(count), should say \(counts)") }
            content = after
            content.sweep()
        }
    }

    // MARK: From columns

    func columns() throws {
        guard let cls = anyClass(where: { !$0.isEmbedded && ["Loose", "Animal"].contains($0.name) }),
            let property = cls.properties.first(where: { $0.kind == .int && !cls.isKeyPart($0.id) })
        else { return }
        if cls.properties.contains(where: { $0.missing == nil && !$0.isGenerated && $0.id != property.id }) { return }
        let rows = chance.one([0, 1, 20, 20, 300])
        let numbers = (0..<rows).map { _ in Int64(chance.below(40)) }
        var keys = [Int64](repeating: 0, count: rows + 1)
        note("columns \(cls.name) \(rows)")
        let result = (numbers + [0]).withUnsafeBufferPointer { numbers in
            let column = InputColumn(
                propertyID: session.id(property.id), kind: .int, values: UnsafeRawPointer(numbers.baseAddress!),
                offsets: nil, validity: nil, valuesBytes: 0)
            return keys.withUnsafeMutableBufferPointer { keys in
                attempt { () throws(StoreError) in
                    try withUnsafePointer(to: column) { (column) throws(StoreError) in
                        try view.insert(
                            session.id(cls.name), .error, UnsafeBufferPointer(start: column, count: 1), rows: rows,
                            keys: keys.baseAddress!
                        ).created
                    }
                }
            }
        }
        // What is left out is the same in each row: a default, or null.
        let isOneKey =
            rows > 1
            && cls.uniques.contains {
                $0.isKey && $0.properties.allSatisfy { $0 != property.id && !cls.property($0).isGenerated }
            }
        let taken =
            property.isUnique && Set(numbers).count < rows || numbers.contains { isTaken(cls, [property.id: .int($0)]) }
        try settle("columns", result, refusals: isOneKey || taken ? [.duplicateKey] : []) { created in
            if created != rows { throw problem("\(created) rows were created of \(rows)") }
            for row in 0..<rows { try make(cls, keys[row], [property.id: .int(numbers[row])]) }
        }
    }
}
