package import ObjStoreCore

/// Why a history ends: the store and the model differ, or the engine fails (in a simulated machine that may be
/// right).
package enum Stop: Error {
    case problem(String)
    case engine(StoreError)
}

func problem(_ text: String) -> Stop { .problem(text) }

/// A call of the engine, with what it threw as a result.
func attempt<T>(_ body: () throws(StoreError) -> T) -> Result<T, StoreError> {
    do throws(StoreError) { return .success(try body()) } catch { return .failure(error) }
}

/// A call of the engine that must succeed.
@discardableResult
func must<T>(_ what: @autoclosure () -> String, _ body: () throws(StoreError) -> T) throws -> T {
    switch attempt(body) {
    case .success(let value): return value
    case .failure(let error):
        if error.isOfMachine { throw Stop.engine(error) }
        throw problem("\(what()): \(error.code) \(error.message)")
    }
}

extension StoreError {
    /// Not about what was requested.
    var isOfMachine: Bool { [.io, .outOfSpace, .outcomeUnknown, .poisoned, .outOfMemory].contains(code) }
}

/// A view of the store with the ids of the plan's classes and properties.
struct Session {
    let view: View
    let plan: Plan
    private var classes: [String: UInt32] = [:]
    private var properties: [Int: UInt32] = [:]

    init(_ view: View, _ plan: Plan) throws {
        self.view = view
        self.plan = plan
        var names: Set<String> = []
        let all = try must("classes") { () throws(StoreError) in try view.classCount() }
        for index in 0..<all {
            names.insert(try must("class \(index)") { () throws(StoreError) in try view.classInfo(at: index).name })
        }
        if names != Set(plan.classes.map(\.name)) {
            throw problem(
                "the store has the classes \(names.sorted()), should have \(plan.classes.map(\.name).sorted())")
        }
        for cls in plan.classes {
            let id = try must("class \(cls.name)") { () throws(StoreError) in try view.findClass(cls.name) }
            classes[cls.name] = id
            for property in cls.properties {
                properties[property.id] = try must("\(cls.name).\(property.name)") { () throws(StoreError) in
                    try view.findProperty(id, property.name)
                }
            }
            let count = try must("class \(cls.name)") { () throws(StoreError) in try view.classInfo(id).propertyCount }
            if count != cls.properties.count {
                throw problem("\(cls.name) has \(count) properties, should have \(cls.properties.count)")
            }
        }
    }

    func id(_ cls: String) -> UInt32 { classes[cls]! }
    func id(_ property: Int) -> UInt32 { properties[property]! }
    func object(_ cls: String, _ key: Int64) -> ObjectID {
        ObjectID(classID: classes[cls]!, storeTag: view.shared.tag, key: key)
    }
    /// A value that is not a list or map, of a mixed property or element: its links know their class.
    func single(_ value: Value) -> Datum {
        guard value.kind == .link else { return Datum(value) }
        let classID = UInt32(truncatingIfNeeded: value.high)
        return .linkTo(classes.first { $0.value == classID }?.key ?? "class \(classID)", value.low)
    }
    /// The order of sets: links go by the ids of classes.
    func isBefore(_ a: Datum, _ b: Datum) -> Bool {
        if case .linkTo(let first, let x) = a, case .linkTo(let second, let y) = b {
            return (classes[first] ?? 0, x) < (classes[second] ?? 0, y)
        }
        return Datum.isBefore(a, b)
    }
    func object(_ name: Content.Name) -> ObjectID { object(name.cls, name.key) }
    func collection(_ name: Content.Name, _ property: Int) -> CollectionID {
        CollectionID(owner: object(name), propertyID: id(property))
    }

    func flat(_ datum: Datum, _ target: String? = nil) -> Flat { Flat(datum, target, link: object) }

    /// Properties and values of one object, single ones, for the calls that take them.
    func withValues<T>(
        _ cls: String, _ values: [Int: Datum],
        _ body: (UnsafeBufferPointer<UInt32>, UnsafePointer<Value>) throws(StoreError) -> T
    ) -> Result<T, StoreError> {
        let flat = Flat(link: object)
        var ids: [UInt32] = []
        // Not always in the order of the class, but the same in every run.
        let isReversed = values.keys.reduce(0, +) % 2 == 1
        for (property, value) in values.sorted(by: { ($0.key < $1.key) != isReversed }) {
            ids.append(id(property))
            flat.add(value, plan.cls(cls).property(property).target)
        }
        // An empty array may have no address.
        let padded = flat.values + [.null]
        return attempt { () throws(StoreError) in
            defer { withExtendedLifetime(flat) {} }
            return try ids.withUnsafeBufferPointer { (ids) throws(StoreError) in
                try padded.withUnsafeBufferPointer { (values) throws(StoreError) in try body(ids, values.baseAddress!) }
            }
        }
    }

    /// An object as nested values: a map of names.
    func describe(_ cls: String, _ values: [String: Datum], into flat: Flat) {
        flat.begin(map: values.count)
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            flat.append(.text(name), nil)
            describe(plan.cls(cls).property(named: name), value, into: flat)
        }
    }

    func describe(_ property: PropertyPlan, _ value: Datum, into flat: Flat) {
        switch value {
        case .described(let values): describe(property.target!, values, into: flat)
        case .list(let all) where plan.isEmbedded(property.target):
            flat.begin(list: all.count)
            for one in all { describe(property, one, into: flat) }
        case .map(let all) where plan.isEmbedded(property.target):
            flat.begin(map: all.count)
            for (key, one) in all.sorted(by: { Datum.isBefore($1.key, $0.key) }) {
                if case .int(let number) = key { flat.append(.text("\(number)"), nil) } else { flat.append(key, nil) }
                describe(property, one, into: flat)
            }
        default: flat.append(value, property.target)
        }
    }

    // MARK: Reading

    func keys(_ cls: String) throws -> [Int64] {
        try must("all of \(cls)") { () throws(StoreError) in try keys(view.find(Query(all: id(cls)))) }
    }

    func keys(_ results: Results) throws(StoreError) -> [Int64] {
        var keys: [Int64] = []
        for index in 0..<results.count { keys.append(try results.object(at: UInt64(index)).key) }
        return keys
    }

    func read(_ cls: ClassPlan, _ key: Int64, _ property: PropertyPlan) throws -> Datum {
        let object = object(cls.name, key), where_ = "\(cls.name)#\(key).\(property.name)"
        if property.kind == .mixed { return try mixed(object, property, []) }
        if !property.isCollection {
            return try must("reading \(where_)") { () throws(StoreError) in
                Datum(try view.value(object, id(property.id), nil))
            }
        }
        let collection = CollectionID(owner: object, propertyID: id(property.id))
        var keys: [Datum] = [], values: [Datum] = [], documents: [Int] = []
        let (told, count) = try must("reading \(where_)") { () throws(StoreError) in
            let told = try view.elements(collection, from: 0, limit: .max, wantsKeys: property.kind == .map, nil) {
                _, key, value in
                keys.append(Datum(key))
                if value.kind == .document { documents.append(values.count) }
                values.append(property.elements == .mixed ? single(value) : Datum(value))
            }
            return (told, try view.elementCount(collection))
        }
        if told != values.count || count != values.count {
            throw problem("\(where_): \(values.count) elements, told \(told), counted \(count)")
        }
        if !documents.isEmpty, property.elements != .mixed { throw problem("\(where_) has lists or maps as elements") }
        for index in documents {
            values[index] = try mixed(object, property, [property.kind == .map ? keys[index] : .int(Int64(index))])
        }
        let order = property.kind == .map ? keys : values
        if property.kind != .list {
            for (a, b) in zip(order, order.dropFirst()) where !isBefore(a, b) {
                throw problem("\(where_): \(a) stands before \(b)")
            }
        }
        switch property.kind {
        case .list: return .list(values)
        case .set: return .set(Set(values))
        default: return .map(Dictionary(uniqueKeysWithValues: zip(keys, values)))
        }
    }

    private func mixed(_ object: ObjectID, _ property: PropertyPlan, _ path: [Datum]) throws -> Datum {
        func call<T>(_ body: ([MixedStep]) throws(StoreError) -> T) throws -> T {
            let flats = path.map { flat($0) }
            defer { withExtendedLifetime(flats) {} }
            return try must("\(property.name) at \(path)") { () throws(StoreError) in
                var steps: [MixedStep] = []
                for flat in flats { steps.append(try MixedStep(flat.values[0])) }
                return try body(steps)
            }
        }
        let value = try call { (steps) throws(StoreError) in
            try view.mixed(object, id(property.id), steps, whole: false, nil).map { ($0.kind, Int($0.low), single($0)) }
        }
        guard let value else { throw problem("\(property.name): nothing at \(path)") }
        switch value.0 {
        case .list: return .list(try (0..<value.1).map { try mixed(object, property, path + [.int(Int64($0))]) })
        case .map:
            var keys: [Datum] = []
            _ = try call { (steps) throws(StoreError) in
                try view.mixedKeys(object, id(property.id), steps, from: 0, limit: .max, nil) { _, key in
                    keys.append(Datum(key))
                }
            }
            if keys.count != value.1 { throw problem("\(property.name) at \(path): \(keys.count) keys of \(value.1)") }
            var all: [Datum: Datum] = [:]
            for key in keys { all[key] = try mixed(object, property, path + [key]) }
            return .map(all)
        default: return value.2
        }
    }

    func read(_ cls: ClassPlan, _ key: Int64) throws -> Thing {
        var thing = Thing()
        for property in cls.properties { thing.values[property.id] = try read(cls, key, property) }
        return thing
    }

    /// Everything that the view has.
    func content(pause: () -> Void = {}) throws -> Content {
        var content = Content(plan)
        for cls in plan.classes {
            var things: [Int64: Thing] = [:]
            for key in try keys(cls.name) {
                pause()
                things[key] = try read(cls, key)
            }
            let count = try must("count of \(cls.name)") { () throws(StoreError) in try view.count(id(cls.name)) }
            if count != things.count { throw problem("\(cls.name) has \(things.count) objects, counted \(count)") }
            content.things[cls.name] = things
        }
        return content
    }

    // MARK: Comparing

    /// Compares everything: values, then links backwards, parents, keys, unique values and indexes.
    func compare(_ wanted: Content, _ when: String) throws {
        let found = try content()
        if let difference = wanted.difference(found) { throw problem("content: \(when), \(difference)") }
        for cls in plan.classes {
            for property in cls.properties where property.isLink { try compareIncoming(cls, property, wanted, when) }
            for property in cls.properties where property.valueKind == .mixed {
                try compareMixedIncoming(cls, property, wanted, when)
            }
            for unique in cls.uniques { try compareFinding(cls, unique.properties, isKey: unique.isKey, wanted, when) }
            for property in cls.properties where property.isIndexed { try compareIndex(cls, property, wanted, when) }
        }
    }

    private func compareIncoming(_ cls: ClassPlan, _ property: PropertyPlan, _ wanted: Content, _ when: String) throws {
        let owners = wanted.owners(cls.name, property.id)
        for target in wanted[property.target!].keys {
            let object = object(property.target!, target), expected = owners[target] ?? []
            let (found, count) = try must("incoming") { () throws(StoreError) in
                (try keys(view.incoming(object, id(property.id))), try view.incomingCount(object, id(property.id)))
            }
            if found != expected || count != expected.count {
                throw problem(
                    """
                    inverse: \(when), to \(property.target!)#\(target) by \(cls.name).\(property.name) lead \(found) \
                    (counted \(count)), should be \(expected)
                    """
                )
            }
            if plan.isEmbedded(property.target), let owner = expected.first {
                let parent = try must("parent") { () throws(StoreError) in try view.parent(of: object) }
                if parent?.object != self.object(cls.name, owner) || parent?.propertyID != id(property.id) {
                    throw problem(
                        """
                        parent: \(when), that of \(property.target!)#\(target) is \(String(describing: parent)), \
                        should be \(cls.name)#\(owner).\(property.name)
                        """
                    )
                }
            }
        }
    }

    /// How many objects have links to each object in a mixed property or its elements.
    private func compareMixedIncoming(
        _ cls: ClassPlan, _ property: PropertyPlan, _ wanted: Content, _ when: String
    ) throws {
        let owners = wanted.mixedOwners(cls.name, property.id)
        for target in plan.classes {
            for key in wanted[target.name].keys.sorted() {
                let name = Content.Name(cls: target.name, key: key), expected = owners[name] ?? 0
                let count = try must("incoming") { () throws(StoreError) in
                    try view.incomingCount(object(name), id(property.id))
                }
                if count != expected {
                    throw problem(
                        "inverse: \(when), to \(name) lead \(count) \(cls.name).\(property.name), should be \(expected)"
                    )
                }
            }
        }
    }

    private func compareFinding(
        _ cls: ClassPlan, _ properties: [Int], isKey: Bool, _ wanted: Content, _ when: String
    ) throws {
        let ids = properties.map { id($0) }
        let index = try must("index") { () throws(StoreError) in
            try ids.withUnsafeBufferPointer { (ids) throws(StoreError) in try view.findIndex(id(cls.name), ids) }
        }
        for (key, thing) in wanted[cls.name] {
            let values = properties.map { thing.values[$0]! }
            let isNobodys = values.contains(.null) && !(isKey && values.count == 1)
            let flat = Flat(link: object)
            for (property, value) in zip(properties, values) { flat.append(value, cls.property(property).target) }
            let found = try must("unique") { () throws(StoreError) in
                try flat.use { (values) throws(StoreError) in try view.find(by: index, values) }
            }
            if found?.key != (isNobodys ? nil : key) {
                throw problem(
                    "unique: \(when), \(cls.name) \(values) finds \(String(describing: found?.key)), should find \(key)"
                )
            }
            if isKey, properties.count == 1 {
                let byKey = try must("key") { () throws(StoreError) in
                    try flat.use { (values) throws(StoreError) in try view.find(id(cls.name), values[0]) }
                }
                if byKey?.key != key {
                    throw problem(
                        """
                        unique: \(when), \(cls.name) \(values) finds \(String(describing: byKey?.key)), should find \
                        \(key)
                        """
                    )
                }
            }
        }
    }

    private func compareIndex(_ cls: ClassPlan, _ property: PropertyPlan, _ wanted: Content, _ when: String) throws {
        var values = wanted[cls.name].mapValues { $0.values[property.id]! }
        // Numbers of other kinds are equal there: only links are looked for.
        if property.kind == .mixed { values = values.filter { if case .linkTo = $0.value { true } else { false } } }
        for value in Set(values.values).sorted(by: Datum.isBefore).prefix(6) {
            let flat = flat(value)
            let found = try must("index") { () throws(StoreError) in
                try keys(view.find(Query(id(cls.name), id(property.id), .equal, flat.values[0])))
            }
            let expected = values.filter { $0.value == value }.keys.sorted()
            if found.sorted() != expected {
                throw problem(
                    "index: \(when), \(cls.name).\(property.name) = \(value) finds \(found), should find \(expected)")
            }
        }
    }

    /// What `verify` has to say.
    static func verify(_ view: View, _ when: String) throws {
        let findings = try must("verify") { () throws(StoreError) in try view.verify { (_, _) throws(StoreError) in } }
        if let first = findings.first { throw problem("verify: \(when), \(findings.count) findings: \(first)") }
    }
}
