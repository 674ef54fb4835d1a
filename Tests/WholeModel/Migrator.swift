import ObjStoreCore

/// Carries out what a migration does, in the store and in the model.
struct Migrator {
    let evolution: Evolution
    /// The transaction, with what the schema is while it is migrated.
    let session: Session
    /// The store as it was.
    let old: Session
    var content: Content
    private(set) var counts: [String: Int] = [:]

    init(_ evolution: Evolution, _ view: View, _ old: View) throws {
        self.evolution = evolution
        content = evolution.content
        content.plan = evolution.interim
        session = try Session(view, content.plan)
        self.old = try Session(old, evolution.before.plan)
    }

    private var view: View { session.view }

    /// - Parameter begin: gets the worker, for reports.
    mutating func run(_ begin: (Worker) -> Void) throws {
        for step in evolution.steps {
            if WholeHistory.traces { print("    migration: \(step)") }
            switch step {
            case .work(let steps, let seed):
                let worker = Worker(session, content, Chance(seed))
                begin(worker)
                for _ in 0..<steps { try worker.step() }
                content = worker.content
                for (name, count) in worker.counts { counts["migration: " + name, default: 0] += count }
            case .copy(let cls, let from, let to): try copy(cls, from, to)
            case .house(let cls, let clearsMixed): try house(cls, clearsMixed)
            case .distinct(let cls, let property): try makeDistinct(cls, property)
            case .fill(let cls, let property, let value): try fill(cls, property, value)
            }
        }
        if evolution.comparesInside {
            try session.compare(content, "in the migration")
            try old.compare(evolution.before, "in the old view of a migration")
        }
        content.plan = evolution.plan
    }

    private mutating func set(_ name: Content.Name, _ property: PropertyPlan, _ value: Datum) throws {
        let flat = session.flat(value, property.target)
        try must("setting \(name).\(property.name)") { () throws(StoreError) in
            try flat.use { (values) throws(StoreError) in
                try view.set(session.object(name), session.id(property.id), values[0])
            }
        }
        content[name, property.id] = value
    }

    private mutating func fill(_ cls: String, _ id: Int, _ value: Datum) throws {
        guard let property = content.plan.cls(cls).properties.first(where: { $0.id == id }) else { return }
        for key in content[cls].keys.sorted() where content[Content.Name(cls: cls, key: key), id].isNull {
            try set(Content.Name(cls: cls, key: key), property, value)
        }
    }

    /// But for what an index of several that stays forbids.
    private mutating func makeDistinct(_ cls: String, _ id: Int) throws {
        guard let property = content.plan.cls(cls).properties.first(where: { $0.id == id }) else { return }
        for (number, key) in content[cls].keys.sorted().enumerated() {
            let value: Datum
            switch property.kind {
            case .int: value = .int(Int64(number) + 300)
            case .string: value = .text("d\(number)")
            case .objectID: value = .objectID(Int64(number) + 300, 0)
            default: value = .uuid(Int64(number) + 300, 0)
            }
            let name = Content.Name(cls: cls, key: key)
            if !content.isTaken(cls, content[name]!.values.merging([id: value]) { $1 }, except: key) {
                try set(name, property, value)
            }
        }
    }

    // MARK: One parent

    private mutating func house(_ cls: String, _ clearsMixed: Bool) throws {
        // Half of those without a place get one, in the list of another object.
        let lists = content.plan.classes.flatMap { owner in
            owner.properties.filter { $0.kind == .list && $0.target == cls && owner.name != cls }.map {
                (owner.name, $0)
            }
        }
        var places = content.places(cls)
        for (number, key) in content[cls].keys.sorted().enumerated() where places[key] == nil && number % 2 == 0 {
            guard let (owner, property) = lists.first(where: { !content[$0.0].isEmpty }) else { break }
            let owners = content[owner].keys.sorted(),
                name = Content.Name(cls: owner, key: owners[number % owners.count])
            guard case .list(let all) = content[name, property.id] else { break }
            let flat = session.flat(.link(key), cls)
            try must("giving \(cls)#\(key) a parent") { () throws(StoreError) in
                try flat.use { (values) throws(StoreError) in
                    try view.insert(session.collection(name, property.id), at: nil, values)
                }
            }
            content[name, property.id] = .list(all + [.link(key)])
            counts["migration: given a parent", default: 0] += 1
        }
        while true {
            places = content.places(cls)
            let rooted = content.rooted(cls, evolution.plan),
                wrong = content[cls].keys.filter { places[$0] != 1 || !rooted.contains($0) }.sorted()
            if wrong.isEmpty { break }
            for key in wrong where content[cls][key] != nil {
                try must("deleting \(cls)#\(key)") { () throws(StoreError) in try view.delete(session.object(cls, key))
                }
                content.remove([Content.Name(cls: cls, key: key)])
            }
        }
        if clearsMixed { try clearMixed(cls) }
    }

    private mutating func clearMixed(_ cls: String) throws {
        for owner in content.plan.classes {
            for property in owner.properties where property.valueKind == .mixed {
                for key in content[owner.name].keys.sorted() {
                    let name = Content.Name(cls: owner.name, key: key)
                    guard
                        Content.forgetMixed(content[name, property.id], { $0.cls == cls }) != content[name, property.id]
                    else { continue }
                    if property.isCollection {
                        try must("clearing \(name).\(property.name)") { () throws(StoreError) in
                            try view.removeAllElements(session.collection(name, property.id))
                        }
                        content[name, property.id] = property.missing!
                    } else {
                        try set(name, property, .null)
                    }
                }
            }
        }
    }

    // MARK: Copies

    private mutating func copy(_ cls: String, _ from: Int, _ to: Int) throws {
        guard let target = content.plan.cls(cls).properties.first(where: { $0.id == to }) else { return }
        let source = evolution.before.plan.cls(cls).property(from)
        let result = attempt { () throws(StoreError) in
            try view.copyProperty(session.id(to), from: old.view, old.id(from))
        }
        var after = content, refusals: Set<StatusCode> = [], tolerated: Set<StatusCode> = [], count = 0
        if target.kind != source.kind || target.elements != source.elements || target.keys != source.keys
            || target.target != source.target
            || (target.isCollection && target.isOptional != source.isOptional)
        {
            refusals = [.wrongType]
        } else if content.plan.isEmbedded(target.target) {
            refusals = [.notSupported]
        } else if content.plan.cls(cls).isKeyPart(to) {
            refusals = [.keyImmutable]
        } else {
            for key in content[cls].keys.sorted() {
                guard let before = evolution.before[cls][key] else { continue }
                var value = before.values[from]!
                if source.isLink {
                    value = Content.forget(value) { content[Content.Name(cls: source.target!, key: $0)] == nil }
                }
                if source.valueKind == .mixed { value = Content.forgetMixed(value) { content[$0] == nil } }
                count += 1
                if value.isNull, !target.isOptional, !target.isLink, target.kind != .mixed {
                    refusals.insert(.notNullable)
                }
                after.things[cls]![key]!.values[to] = value
                if after.isTaken(cls, after[cls][key]!.values, except: key) { tolerated.insert(.duplicateKey) }
            }
            if after.hasTaken { refusals.formUnion(tolerated) }
        }
        switch result {
        case .success(let copied):
            if !refusals.isEmpty {
                throw problem(
                    "copying \(cls).\(source.name) to \(target.name) succeeded, should be refused as \(refusals)")
            }
            if copied != count {
                throw problem("\(cls).\(source.name) was copied of \(copied) objects, should be of \(count)")
            }
            counts["migration: copied", default: 0] += 1
            content = after
        case .failure(let error):
            if error.isOfMachine { throw Stop.engine(error) }
            if !refusals.union(tolerated).contains(error.code) {
                throw problem(
                    """
                    copying \(cls).\(source.name) to \(target.name): \(error.code) \(error.message), should be \
                    refused as \(refusals)
                    """
                )
            }
            counts["migration: copied refused", default: 0] += 1
        }
        if evolution.comparesInside {
            try session.compare(content, "after a copy of \(cls).\(source.name) to \(target.name)")
        }
    }
}
