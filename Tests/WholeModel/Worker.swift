import ObjStoreCore

/// One transaction: carries random operations out in the store and in the model, and says where they differ.
final class Worker {
    var chance: Chance
    var session: Session
    /// What the transaction should see.
    var content: Content
    var scopes: [(id: UInt64, content: Content)] = []
    /// What was done, for people.
    private(set) var log: [String] = []
    /// By name, how often something was done, or refused as it should be.
    private(set) var counts: [String: Int] = [:]

    init(_ session: Session, _ content: Content, _ chance: Chance) {
        self.session = session
        self.content = content
        self.chance = chance
    }

    var view: View { session.view }
    var plan: Plan { content.plan }

    func note(_ what: @autoclosure () -> String) {
        log.append(what())
        if WholeHistory.traces { print("    \(log[log.count - 1])") }
        if log.count > 12 { log.removeFirst() }
    }
    func count(_ name: String) { counts[name, default: 0] += 1 }

    /// What came of an operation that must succeed, unless `refusals` says how it must fail instead, or `tolerated` how
    /// it may. Whoever was refused has changed nothing: the model stays as it is, and everything is compared now and
    /// then.
    func settle<T>(
        _ name: String, _ result: Result<T, StoreError>, refusals: Set<StatusCode> = [],
        tolerated: Set<StatusCode> = [], _ apply: (T) throws -> Void
    ) throws {
        switch result {
        case .success(let value):
            if !refusals.isEmpty { throw problem("\(name) succeeded, should be refused as \(refusals)") }
            count(name)
            try apply(value)
        case .failure(let error):
            if error.isOfMachine { throw Stop.engine(error) }
            if !refusals.contains(error.code), !tolerated.contains(error.code) {
                throw problem(
                    """
                    \(name): \(error.code) \
                    \(error.message)\(refusals.isEmpty ? "" : ", should be refused as \(refusals)")
                    """
                )
            }
            count(name + " refused")
            if chance.percent(15) { try session.compare(content, "after \(name) was refused") }
        }
    }

    // MARK: Choosing

    func anyClass(where fits: (ClassPlan) -> Bool = { _ in true }) -> ClassPlan? {
        let all = plan.classes.filter(fits)
        return all.isEmpty ? nil : chance.one(all)
    }

    func anyKey(_ cls: String) -> Int64? {
        let keys = content[cls].keys.sorted()
        return keys.isEmpty ? nil : chance.one(keys)
    }

    func anyObject(where fits: (ClassPlan) -> Bool = { _ in true }) -> (cls: ClassPlan, name: Content.Name)? {
        guard let cls = anyClass(where: { fits($0) && !content[$0.name].isEmpty }), let key = anyKey(cls.name) else {
            return nil
        }
        return (cls, Content.Name(cls: cls.name, key: key))
    }

    /// An object, and one of its properties that fits.
    func anyPlace(_ fits: (PropertyPlan) -> Bool) -> (cls: ClassPlan, name: Content.Name, property: PropertyPlan)? {
        guard let (cls, name) = anyObject(where: { $0.properties.contains(where: fits) }) else { return nil }
        return (cls, name, chance.one(cls.properties.filter(fits)))
    }

    func isKeyPart(_ property: PropertyPlan) -> Bool {
        plan.classes.contains { cls in cls.properties.contains { $0.id == property.id } && cls.isKeyPart(property.id) }
    }

    func isEmbedding(_ property: PropertyPlan) -> Bool { property.isLink && plan.isEmbedded(property.target) }

    /// A single value, or an element; nil: there is no object to link to.
    func value(_ property: PropertyPlan) -> Datum? {
        if property.isLink {
            if (property.kind == .link || property.isOptional) && chance.percent(20) { return .null }
            return anyKey(property.target!).map { .link($0) }
        }
        if property.valueKind == .mixed {
            return property.kind == .set ? chance.single(content) : chance.mixed(content)
        }
        if property.isOptional, chance.percent(20) { return .null }
        // Generated ones continue after the greatest.
        if property.isKey, property.kind == .int { return .int(Int64(chance.below(200))) }
        if property.kind == .string, property.isUnique || isKeyPart(property) { return .text("n\(chance.below(60))") }
        return chance.scalar(property.valueKind)
    }

    func mapKey(_ property: PropertyPlan) -> Datum {
        property.keys == .string
            ? .text(["", "a", "Ärger", "k\(chance.below(30))", String(repeating: "y", count: 200)][chance.below(5)])
            : property.keys == .int ? .int(Int64(chance.below(40)) - 5) : chance.scalar(property.keys)
    }

    /// What the values of a collection become; nil: there is nothing to link to.
    func elements(_ property: PropertyPlan) -> Datum? {
        let count = chance.one([0, 1, 3, 3, property.elements == .mixed ? 30 : 70])
        func some() -> [Datum]? {
            let all = (0..<count).compactMap { _ in value(property) }
            return all.count == count ? all : nil
        }
        switch property.kind {
        case .list: return some().map { .list($0) }
        case .set: return some().map { .set(Set($0)) }
        default: return some().map { .map(Dictionary($0.map { (mapKey(property), $0) }) { $1 }) }
        }
    }

    /// Random values of a new object, or of one that is changed.
    func values(_ cls: ClassPlan, isNew: Bool) -> [Int: Datum] {
        var values: [Int: Datum] = [:]
        for property in cls.properties where !property.isCollection && !isEmbedding(property) {
            let isNeeded = isNew && property.missing == nil && !property.isGenerated
            guard isNeeded || chance.percent(40), let value = value(property) else { continue }
            values[property.id] = value
        }
        return values
    }

    /// A new object as the model has it; what is generated is read from the store.
    func make(_ cls: ClassPlan, _ key: Int64, _ given: [Int: Datum]) throws {
        if content[cls.name][key] != nil {
            throw problem("a new object of \(cls.name) has the key \(key) of another one")
        }
        var thing = Thing(values: given)
        for property in cls.properties where given[property.id] == nil {
            thing.values[property.id] = property.isGenerated ? try session.read(cls, key, property) : property.missing
        }
        if content.isTaken(cls.name, thing.values) {
            throw problem("a new object of \(cls.name) has a unique value of another one: \(thing.values)")
        }
        content.things[cls.name, default: [:]][key] = thing
    }

    /// Whether the values that a new object gets are another's; what is generated never is.
    func isTaken(_ cls: ClassPlan, _ given: [Int: Datum]) -> Bool {
        var all = given
        for property in cls.properties where all[property.id] == nil {
            all[property.id] = property.isGenerated ? nil : property.missing
        }
        // What is generated represents nothing that exists.
        var reduced = content
        let generated = Set(cls.properties.filter { $0.isGenerated && given[$0.id] == nil }.map(\.id))
        if generated.isEmpty { return content.isTaken(cls.name, all) }
        reduced.plan.classes[plan.classes.firstIndex { $0.name == cls.name }!].properties.removeAll {
            generated.contains($0.id)
        }
        return reduced.isTaken(cls.name, all)
    }

    // MARK: Savepoints

    func scope() throws {
        if scopes.isEmpty || (scopes.count < 4 && chance.percent(40)) {
            try settle("savepoint", attempt { () throws(StoreError) in try view.beginSavepoint() }) {
                scopes.append(($0, content))
            }
        } else {
            // The innermost, or one further out, with those inside.
            let depth = chance.percent(70) ? scopes.count - 1 : chance.below(scopes.count), scope = scopes[depth]
            if chance.percent(50) {
                try settle("release", attempt { () throws(StoreError) in try view.releaseSavepoint(scope.id) }) {
                    scopes.removeSubrange(depth...)
                }
            } else {
                try settle("rollback", attempt { () throws(StoreError) in try view.rollBack(toSavepoint: scope.id) }) {
                    scopes.removeSubrange(depth...)
                    content = scope.content
                }
                if chance.percent(40) { try session.compare(content, "after a rollback to a savepoint") }
            }
        }
    }

    // MARK: One step

    func step() throws {
        let draw = chance.below(100)
        switch draw {
        case 0..<14: try create()
        case 14..<22: try upsert()
        case 22..<30: try assemble()
        case 30..<32: try json()
        case 32..<33: try columns()
        case 33..<41: try set()
        case 41..<44: try increment()
        case 44..<60: try changeCollection()
        case 60..<68: try embed()
        case 68..<74: try delete()
        case 74..<80: try setWise()
        case 80..<85: try editMixed()
        case 85..<91: try refused()
        case 91..<92: if chance.percent(30) { try deleteMany() }
        default: try scope()
        }
    }
}
