/// Conditions about what lies behind a link, with constants on the other side: they become a condition of the class
/// that the link leads to, which columns and indexes answer.
///
/// ```
///  owner.name == "Ann"      owner leads to one of: name == "Ann"
///  owner.name == NULL       owner leads to one of: name == NULL, or is null
///  ALL friends.age > 1      not: friends has one of: not age > 1
/// ```
extension QueryBinder {
    /// Nil: it is none of these.
    func linked(_ index: Int) throws(StoreError) -> Program? {
        guard let (path, quantifierNode) = pathBesideConstants(index) else { return nil }
        var first = path
        while nodes[first].kind.isBehindLinks, !isRoot(shape.firstOperand(of: first, in: nodes)) {
            first = shape.firstOperand(of: first, in: nodes)
        }
        guard first != path, nodes[first].kind == .property, isRoot(first - 1), nodes[first + 1].kind == .property
        else { return nil }
        let position = try position(first, in: cls), spec = cls.columns[position]
        guard spec.target != 0 else { return nil }
        var inner = self
        inner.cls = trees.schema.classes[ClassID.index(spec.target)]
        inner.root = first
        if spec.kind == .link { return try behindLink(index, position, inner) }
        // Elements of maps may be null; counts are of all elements together.
        guard spec.kind != .map, isOfProperties(path, from: first) else { return nil }
        var paths = PathBinder(inner)
        let end = try paths.path(path).1
        // Objects are not compared with null: an error, which is found there.
        if end.isLink, isNull(index - 1) || isNull(Int(shape.starts[index - 1]) - 1) { return nil }
        let quantifier = quantifierNode.flatMap { Quantifier(rawValue: nodes[$0].choice) }
        if quantifier != .all {
            if QueryOperator(rawValue: nodes[index].choice) == .between { return nil }
            inner.lifted = quantifierNode ?? lifted
            let test = try exists(position, try inner.comparison(index), inner)
            let isNone = quantifier == Quantifier.none && !InjectedBug.active(.queryNoneIsAny)
            return isNone ? [test, .not] : [test]
        }
        if !end.isMany, !end.isCollection { inner.lifted = quantifierNode ?? -1 }
        let program = try inner.comparison(index)
        let opposite = InjectedBug.active(.queryAllUnturned) ? program : QueryBinder.not(program)
        return [try exists(position, opposite, inner), .not]
    }

    /// The side that is a path, and its quantifier; the other side is a constant, of IN and BETWEEN a list.
    private func pathBesideConstants(_ index: Int) -> (path: Int, quantifier: Int?)? {
        let right = index - 1, left = Int(shape.starts[right]) - 1
        let operation = QueryOperator(rawValue: nodes[index].choice).unsafelyUnwrapped
        if operation == .text || operation == .geoWithin { return nil }
        let takesList = operation == .isIn || operation == .between
        let path: Int
        if nodes[right].kind == .constant && !takesList || nodes[right].kind == .list && takesList {
            path = left
        } else if nodes[left].kind == .constant && !takesList {
            path = right
        } else {
            return nil
        }
        if nodes[path].kind == .quantified && path != lifted { return (path - 1, path) }
        return (path == lifted ? path - 1 : path, nil)
    }

    private func isNull(_ index: Int) -> Bool { nodes[index].kind == .constant && nodes[index].value.isNull }

    private func isOfProperties(_ path: Int, from first: Int) -> Bool {
        var index = path
        while index > first {
            if nodes[index].kind != .property { return false }
            index -= 1
        }
        return index == first
    }

    private func behindLink(_ index: Int, _ position: Int, _ inner: QueryBinder) throws(StoreError) -> Program {
        let program = try inner.comparison(index)
        let test = try exists(position, program, inner)
        // What lies behind null is null.
        guard try inner.isTrueOfNothing(program) else { return [test] }
        return [test, .test(ColumnTest(cls.propertyID(position), .equal, ofQuery: .null)), .or]
    }

    /// It links to an object of which a condition is true.
    private func exists(
        _ position: Int, _ program: Program, _ inner: QueryBinder
    ) throws(StoreError) -> Predicate.Node {
        let targets = Query(inner.cls.classID, where: try Predicate(program))
        return .test(ColumnTest(cls.propertyID(position), linksTo: targets))
    }

    /// Whether a condition is true where every value is null and no collection has elements.
    private func isTrueOfNothing(_ program: Program) throws(StoreError) -> Bool {
        var stack: [Bool] = []
        for node in program {
            switch node {
            case .truth(let truth): stack.append(truth)
            case .test(let test):
                let isNull = test.value.isNull && !test.hasTargets
                switch test.comparison {
                case .equal: stack.append(isNull)
                case .notEqual: stack.append(!isNull)
                case .less, .lessOrEqual, .greater, .greaterOrEqual: stack.append(false)
                }
            case .values(let test): stack.append(try test.holdsOfNothing())
            case .paths(let test):
                let run = try PathRun(trees, test.properties, levels: test.levels)
                stack.append(try run.holds(test.condition))
            case .not: stack[stack.count - 1].toggle()
            case .and:
                let last = stack.removeLast()
                stack[stack.count - 1] = stack[stack.count - 1] && last
            case .or:
                let last = stack.removeLast()
                stack[stack.count - 1] = stack[stack.count - 1] || last
            }
        }
        return stack[0]
    }
}

extension QueryNode.Kind {
    /// What may stand behind a link in a path that begins with it.
    fileprivate var isBehindLinks: Bool {
        switch self {
        case .property, .element, .key, .keys, .values, .count, .type, .aggregate, .incoming, .allIncoming: true
        default: false
        }
    }
}
