/// Makes paths of nodes: of each step what it leads to is known, so that what cannot be there is an error.
///
/// Knows the classes of the levels: that of the object that is asked about, and those of the elements that the
/// subqueries around are about.
struct PathBinder {
    let binder: QueryBinder
    /// By level; an index in the schema. Nil: there is no such level here.
    private(set) var classes: [Int?]
    /// Ids of the properties that were met.
    var properties: [UInt32] = []
    /// Constants that were made of others.
    var constants: [OwnedValue] = []
    /// Of functions, that were met.
    var calls: [FunctionCall] = []
    /// Some step leads to objects of whatever class.
    private(set) var leadsAnywhere = false
    /// And farther than to what the mixed value of an object links to.
    private(set) var leadsFar = false

    init(_ binder: QueryBinder) {
        self.binder = binder
        classes = [binder.element == nil ? Int(binder.cls.id) : nil]
    }

    var nodes: [QueryNode] { binder.nodes }
    private var schema: Schema { binder.trees.schema }

    /// Where a path has come to.
    struct End {
        /// Of the value, or of the elements of the collection.
        var kind: ValueKind
        /// The class that a link leads to; nil: it is none, or leads to objects of any class.
        var target: Int?
        var collection = Collection.none
        /// Of maps.
        var keyKind = ValueKind.null
        /// A collection lies behind: there may be many of it.
        var isMany = false
        /// A property of a string that is full text.
        var isFullText = false

        enum Collection { case none, list, set, map, keys, origins, allOrigins }

        var isCollection: Bool { collection != .none }
        var isLink: Bool { kind == .link }
    }

    // MARK: Paths

    /// The path whose last step is a node.
    mutating func path(_ index: Int) throws(StoreError) -> (Path, End) {
        // From the end to where it begins.
        var chain: [Int] = [], first = index
        while nodes[first].kind.isStep && first != binder.root {
            chain.append(first)
            first = binder.shape.firstOperand(of: first, in: nodes)
        }
        let isRoot = binder.root >= 0 && first == binder.root
        guard nodes[first].kind == .variable || isRoot else {
            throw binder.error(.invalidQuery, first, "a path is expected here, and not \(binder.described(first))")
        }
        guard let level = isRoot ? 0 : Int(exactly: nodes[first].number), level >= 0, level < classes.count,
            var end = classes[level].map({ End(kind: .link, target: $0) }) ?? elementEnd(level)
        else {
            throw binder.error(
                .invalidQuery, first, "there is no variable of level \(nodes[first].number) here")
        }
        var path = Path(level: level, steps: [])
        for step in chain.reversed() { try add(step, to: &path, &end) }
        return (path, end)
    }

    /// An element of a collection of plain values.
    private func elementEnd(_ level: Int) -> End? { level == 0 ? binder.element.map { End(kind: $0) } : nil }

    private mutating func add(_ index: Int, to path: inout Path, _ end: inout End) throws(StoreError) {
        let node = nodes[index]
        switch node.kind {
        case .property: try property(index, &path, &end)
        case .element: try element(index, &path, &end)
        case .key: try key(index, &path, &end)
        case .keys, .values:
            guard end.collection == .map || end.kind == .mixed && !end.isCollection else {
                throw wrong(index, "a map", end)
            }
            path.steps.append(node.kind == .keys ? .keys : .values)
            let kind = end.collection == .map ? end.keyKind : .string
            if node.kind == .values {
                end.collection = .list
            } else {
                end = End(kind: kind, collection: .keys, isMany: end.isMany)
            }
        case .incoming, .allIncoming: try incoming(index, &path, &end)
        default:
            guard end.isLink, end.isCollection || end.isMany, end.collection != .allOrigins else {
                throw wrong(index, "a collection of objects", end)
            }
            try filter(index, &path, &end)
        }
    }

    private func flatten(_ path: inout Path, _ end: inout End) {
        guard end.isCollection else { return }
        path.steps.append(.elements)
        end.collection = .none
        end.isMany = true
    }

    private mutating func property(_ index: Int, _ path: inout Path, _ end: inout End) throws(StoreError) {
        let name = nodes[index].value
        if end.collection == .map, !name.isNull { return try key(index, &path, &end) }
        if end.isLink, let target = end.target {
            let cls = schema.classes[target], position = try binder.position(index, in: cls),
                spec = cls.columns[position]
            flatten(&path, &end)
            let id = cls.propertyID(position)
            properties.append(id)
            path.steps.append(.property(id))
            end.kind = spec.kind
            end.isFullText = cls.properties[position].isFullText
            end.target = spec.target == 0 ? nil : ClassID.index(spec.target)
            if spec.kind.isCollection {
                let elements = cls.elements(of: position)
                end.collection = spec.kind == .list ? .list : spec.kind == .set ? .set : .map
                end.kind = elements.kind
                end.keyKind = elements.keyKind
            }
            return
        }
        guard !name.isNull else { throw wrong(index, "an object", end) }
        if end.isCollection, end.kind.isText || end.kind == .mixed, QueryBinder.text(name) == "length" {
            flatten(&path, &end)
            path.steps.append(.length)
            end = End(kind: .int, isMany: true)
            return
        }
        if let element = binder.element, path.level == 0, path.steps.isEmpty, element != .mixed {
            throw binder.error(
                .noSuchProperty, index,
                """
                a value has no properties, such as \(QueryBinder.shortened(QueryBinder.text(name) ?? "")): it is \
                \(element.indefinite), and is written as @self
                """)
        }
        guard end.kind == .mixed else { throw wrong(index, "an object, a map or a mixed value", end) }
        flatten(&path, &end)
        leadsFar = leadsFar || path.level > 0 || path.steps.contains { if case .member = $0 { true } else { false } }
        path.steps.append(.member(name))
        leadsAnywhere = true
    }

    private func element(_ index: Int, _ path: inout Path, _ end: inout End) throws(StoreError) {
        let place = Place(rawValue: nodes[index].choice).unsafelyUnwrapped
        if place == .every {
            if end.isCollection && end.collection != .allOrigins { return flatten(&path, &end) }
            guard end.kind == .mixed else { throw wrong(index, "a collection", end) }
            path.steps.append(.elements)
            end.isMany = true
            return
        }
        guard end.collection == .list || end.kind == .mixed && !end.isCollection else {
            throw wrong(index, "a list", end)
        }
        path.steps.append(.at(place == .at ? nodes[index].number : place == .first ? 0 : -1))
        end.collection = .none
    }

    private func key(_ index: Int, _ path: inout Path, _ end: inout End) throws(StoreError) {
        guard end.collection == .map || end.kind == .mixed && !end.isCollection else {
            throw wrong(index, "a map", end)
        }
        let key = nodes[index].value, wanted = end.collection == .map ? end.keyKind : .string
        guard key.kind == wanted else {
            throw binder.error(
                .wrongType, index, "\(binder.described(index)): its keys are \(wanted), and this is \(key.kindAndText)")
        }
        path.steps.append(.key(key))
        end.collection = .none
    }

    private mutating func incoming(_ index: Int, _ path: inout Path, _ end: inout End) throws(StoreError) {
        guard end.isLink, end.collection != .map, end.collection != .allOrigins, let target = end.target else {
            throw wrong(index, "an object", end)
        }
        flatten(&path, &end)
        if nodes[index].kind == .allIncoming {
            path.steps.append(.allIncoming)
            (leadsAnywhere, leadsFar) = (true, true)
            end = End(kind: .link, collection: .allOrigins, isMany: end.isMany)
            return
        }
        let place = index - 1
        guard nodes[place].kind == .name, let number = binder.storedNames.classIndex(nodes[place], schema) else {
            let name = QueryBinder.text(nodes[place].value) ?? "of the id \(nodes[place].number)"
            throw binder.placed(StoreError(.noSuchClass, "there is no class \(QueryBinder.shortened(name))"), place)
        }
        let cls = schema.classes[number], position = try binder.position(index, in: cls)
        guard cls.columns[position].target == ClassID.of(target) || cls.mixedPosition(of: position) != nil else {
            throw binder.error(
                .wrongType, index,
                """
                \(binder.storedNames.name(cls)).\(binder.storedNames.name(cls, position)) is no link to \
                \(binder.storedNames.name(schema.classes[target]))
                """)
        }
        let id = cls.propertyID(position)
        properties.append(id)
        path.steps.append(.incoming(id))
        end = End(kind: .link, target: number, collection: .origins, isMany: end.isMany)
    }

    /// SUBQUERY(collection, $x, condition): those elements.
    private mutating func filter(_ index: Int, _ path: inout Path, _ end: inout End) throws(StoreError) {
        let level = begin(end.target)
        let condition = try condition(index - 1)
        endLevel()
        path.steps.append(.filter(condition, level: level))
        end.collection = .none
        end.isMany = true
    }

    /// A level of objects; its number is how many filters and aggregates are around.
    mutating func begin(_ target: Int?) -> Int {
        classes.append(target)
        most = max(most, classes.count)
        return classes.count - 1
    }

    mutating func endLevel() { classes.removeLast() }

    /// How many levels there were at most.
    private(set) var most = 1

    /// Something else is expected before a step or a tail.
    func wrong(_ index: Int, _ wanted: String, _ end: End) -> StoreError {
        let before = binder.shape.firstOperand(of: index, in: nodes)
        let what =
            switch end.collection {
            case .none: end.kind.indefinite
            case .list: "a list"
            case .set: "a set"
            case .map: "a map"
            case .keys: "the keys of a map"
            case .origins, .allOrigins: "what links to an object"
            }
        let isElement = binder.element != nil && nodes[before].number == 0
        let subject =
            nodes[before].kind == .variable
            ? isElement ? "@self, \(what)" : "the object" : "\(binder.described(before)), \(what),"
        return binder.error(.invalidQuery, index, "\(wanted) is expected before \(stepName(index)), and not \(subject)")
    }

    private func stepName(_ index: Int) -> String {
        switch nodes[index].kind {
        case .property, .key: QueryBinder.text(nodes[index].value) ?? "a property"
        case .element: "[…]"
        case .keys: "@keys"
        case .values: "@values"
        case .incoming, .allIncoming: "@links"
        case .count: "@count"
        case .type: "@type"
        case .aggregate: "@\(QueryAggregate(rawValue: nodes[index].choice).unsafelyUnwrapped)"
        default: "SUBQUERY"
        }
    }
}

extension QueryNode.Kind {
    /// A path goes on with it.
    var isStep: Bool {
        switch self {
        case .property, .element, .key, .incoming, .allIncoming, .keys, .values, .filter: true
        default: false
        }
    }
}

extension QueryNode.Kind {
    /// It ends a path.
    var isTail: Bool { self == .count || self == .aggregate || self == .type }
}
