import ObjStoreCore

/// What lies inside mixed values, of properties and of elements.
extension Worker {
    /// A change by a path, whose first step names the element where the property is a list or map.
    func editMixed() throws {
        guard let (_, name, property) = anyPlace({ $0.valueKind == .mixed && $0.kind != .set }) else { return }
        if chance.percent(40) { return try replace(name, property) }
        // A way inwards, to a list or map.
        var path: [Datum] = [], steps: [Datum] = [], here = content[name, property.id]
        while path.count < 8 {
            var next: (Datum, Datum)?
            switch here {
            case .list(let all): next = all.indices.randomElement(using: &chance).map { (.int(Int64($0)), all[$0]) }
            case .map(let all):
                next = all.keys.sorted(by: Datum.isBefore).randomElement(using: &chance).map { ($0, all[$0]!) }
            default: break
            }
            guard let next, next.1.isContainer, chance.percent(60) else { break }
            path.append(next.0)
            steps.append(given(next.0, in: here))
            here = next.1
        }
        let value = chance.mixed(content, depth: 2)
        var action = MixedAction.set, step = Datum.null
        switch here {
        case .list(let all):
            action = all.isEmpty ? .insert : chance.one([.insert, .set, .remove])
            step = .int(Int64(chance.below(all.count + (action == .insert ? 1 : 0))))
        case .map(let all):
            action = all.isEmpty || chance.percent(70) ? .set : .remove
            step = action == .remove ? chance.one(all.keys.sorted(by: Datum.isBefore)) : .text("k\(chance.below(9))")
        default: return try replace(name, property)
        }
        path.append(step)
        steps.append(action == .insert ? step : given(step, in: here))
        note("mixed \(name).\(property.name) \(action) \(steps) \(value)")
        let flats = (steps + [value]).map { session.flat($0) }
        let result = attempt { () throws(StoreError) in
            defer { withExtendedLifetime(flats) {} }
            var path: [MixedStep] = []
            for flat in flats.dropLast() { path.append(try MixedStep(flat.values[0])) }
            try view.edit(
                session.object(name), session.id(property.id), path, action,
                action == .remove ? .null : flats[flats.count - 1].values[0])
        }
        try settle(property.isCollection ? "mixed element" : "mixed", result) {
            content[name, property.id] = content[name, property.id].edited(path[...], action, value)
        }
    }

    /// An index counts from the end now and then.
    private func given(_ step: Datum, in container: Datum) -> Datum {
        if case .list(let all) = container, case .int(let index) = step, chance.percent(25) {
            .int(index - Int64(all.count))
        } else {
            step
        }
    }

    /// What mixed values refuse: links to no object, deep inside too, lists and maps in sets.
    func refusedMixed() throws {
        guard let (_, name, property) = anyPlace({ $0.valueKind == .mixed }),
            let cls = anyClass(where: { !$0.isEmbedded })
        else { return }
        let nobody = Datum.linkTo(cls.name, (content[cls.name].keys.max() ?? 0) + 1_000_000)
        let isContainer = property.kind == .set && chance.percent(50)
        var wrong = nobody
        if isContainer {
            wrong = .list([chance.single(content)])
        } else if property.kind != .set, chance.percent(50) {
            wrong = .list([chance.mixed(content), .map([.text("k"): nobody])])
        }
        let flat = session.flat(wrong)
        note("put \(wrong) into \(name).\(property.name)")
        let id = session.collection(name, property.id), key = session.flat(.text("k"))
        let result = attempt { () throws(StoreError) in
            try flat.use { (values) throws(StoreError) in
                switch property.kind {
                case .list: try view.insert(id, at: nil, values)
                case .set: _ = try view.insert(id, member: values[0])
                case .map: _ = try key.use { (keys) throws(StoreError) in try view.set(id, key: keys[0], values[0]) }
                default: try view.set(session.object(name), session.id(property.id), values[0])
                }
            }
        }
        try settle(
            isContainer ? "list in a set" : "mixed link to nobody", result,
            refusals: [isContainer ? .wrongType : .noSuchObject]
        ) { _ in }
    }
}

extension Datum {
    fileprivate var isContainer: Bool {
        switch self {
        case .list, .map: true
        default: false
        }
    }

    fileprivate func edited(_ path: ArraySlice<Datum>, _ action: MixedAction, _ value: Datum) -> Datum {
        let step = path.first!, rest = path.dropFirst()
        switch (self, step) {
        case (.list(var all), .int(let index)):
            if !rest.isEmpty {
                all[Int(index)] = all[Int(index)].edited(rest, action, value)
            } else if action == .insert {
                all.insert(value, at: Int(index))
            } else if action == .remove {
                all.remove(at: Int(index))
            } else {
                all[Int(index)] = value
            }
            return .list(all)
        case (.map(var all), _):
            all[step] = rest.isEmpty ? (action == .remove ? nil : value) : all[step]!.edited(rest, action, value)
            return .map(all)
        default: return self
        }
    }
}
