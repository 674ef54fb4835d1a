/// Makes the condition and the steps of a query from its nodes: names become ids, constants values of the properties
/// that they are compared with. What does not fit is an error that says where, what was found and what was expected.
///
/// ```
///  QueryBinder                conditions, AND, OR, NOT
///    + Operands               properties, constants, what is computed from them
///    + Functions              which function is called, and with what
///    + Comparisons            which test a comparison is
///    + Steps                  SORT, DISTINCT, LIMIT, OFFSET
///    + Tables                 GROUP, HAVING, SELECT
///  PathBinder                 what lies behind links, in collections and in nested documents
/// ```
struct QueryBinder {
    let nodes: [QueryNode]
    let shape: QueryShape
    let trees: TreeAccess
    /// The class that conditions are about: that of the query, or one that a link of it leads to.
    var cls: ClassSchema
    let storedNames: StoredNames
    let functions: QueryFunctions
    /// The node of the link behind which `cls` lies; -1: none, paths begin with the object.
    var root = -1
    /// A quantifier that was taken care of.
    var lifted = -1
    /// Of a query of plain values: what its elements are. `cls` is the class of the collection's owner then, and paths
    /// begin with an element.
    var element: ValueKind?

    /// A path to what conditions are about.
    func isRoot(_ index: Int) -> Bool {
        root < 0 ? nodes[index].kind == .variable && nodes[index].number == 0 : index == root
    }

    typealias Program = [Predicate.Node]

    /// Errors: `.invalidArgument`: the nodes are no tree; `.invalidQuery`: too many, or too deep.
    init(
        _ nodes: [QueryNode], _ trees: TreeAccess, _ cls: ClassSchema, _ storedNames: StoredNames,
        _ functions: QueryFunctions
    ) throws(StoreError) {
        self.nodes = nodes
        self.trees = trees
        self.cls = cls
        self.storedNames = storedNames
        self.functions = functions
        guard nodes.count <= QueryLimits.nodes else {
            throw StoreError(.invalidQuery, "the query has more than \(QueryLimits.nodes) nodes")
        }
        shape = try QueryShape(nodes)
        // Below that many nodes it cannot be.
        if nodes.count > Int(QueryBinder.deepest) { try checkDepth() }
    }

    /// Also protects the stack: everything below calls itself once for each level.
    private func checkDepth() throws(StoreError) {
        try Memory.check(for: nodes.count, each: 2)
        var depths = [UInt16](repeating: 0, count: nodes.count)
        for index in nodes.indices {
            var deepest: UInt16 = 0, next = index - 1
            for _ in 0..<nodes[index].operands {
                deepest = max(deepest, depths[next])
                next = Int(shape.starts[next]) - 1
            }
            depths[index] = deepest + (nodes[index].kind.isLevel ? 1 : 0)
            guard depths[index] <= QueryBinder.deepest else {
                throw error(.invalidQuery, index, "the query is deeper than \(QueryBinder.deepest) levels")
            }
        }
    }

    /// As of a text, whose lists and steps are no levels, either: so what is printed can be read again.
    private static let deepest = UInt16(QueryLimits.depth)

    /// The nodes are a condition, or a `query` of one and steps; `table`: the nodes of those from GROUP or SELECT on.
    func bind() throws(StoreError) -> (predicate: Predicate, steps: [QueryStep], table: [Int]) {
        let root = nodes.count - 1
        guard nodes[root].kind == .query else { return (try predicate(root), [], []) }
        let operands = operands(root)
        let predicate = try predicate(operands[0])
        var steps: [QueryStep] = []
        for (place, operand) in operands.enumerated().dropFirst() {
            if nodes[operand].kind == .group || nodes[operand].kind == .select {
                return (predicate, steps, Array(operands[place...]))
            }
            steps.append(try step(operand))
        }
        return (predicate, steps, [])
    }

    private func predicate(_ index: Int) throws(StoreError) -> Predicate {
        let program = try condition(index)
        do throws(StoreError) { return try Predicate(program) } catch { throw placed(error, index) }
    }

    // MARK: Conditions

    func condition(_ index: Int) throws(StoreError) -> [Predicate.Node] {
        let node = nodes[index]
        switch node.kind {
        case .truth: return [.truth(node.number != 0)]
        case .not: return QueryBinder.not(try condition(operands(index)[0]))
        case .and, .or:
            var cheap: [Program] = [], dear: [Program] = []
            for operand in operands(index) {
                let program = try condition(operand)
                if QueryBinder.isComputed(program) { dear.append(program) } else { cheap.append(program) }
            }
            // What is computed comes last: it looks only at what the others have left.
            return QueryBinder.joined(cheap + dear, node.kind == .and ? .and : .or)
        case .compare: return try comparison(index)
        default:
            throw error(
                .invalidQuery, index,
                "a condition is expected here, such as a comparison, and not \(described(index))")
        }
    }

    static func not(_ program: [Predicate.Node]) -> [Predicate.Node] {
        if program.count == 1, case .truth(let truth) = program[0] { return [.truth(!truth)] }
        return program + [.not]
    }

    /// One behind the other, so that the stack stays low.
    static func joined(_ programs: [[Predicate.Node]], _ operation: Predicate.Node) -> [Predicate.Node] {
        var joined: [Predicate.Node] = []
        for (index, program) in programs.enumerated() {
            joined += program
            if index > 0 { joined.append(operation) }
        }
        return joined
    }

    private static func isComputed(_ program: [Predicate.Node]) -> Bool {
        program.contains {
            switch $0 {
            case .values, .paths: true
            case .truth, .test, .not, .and, .or: false
            }
        }
    }

    // MARK: Helpers

    /// In their order.
    func operands(_ index: Int) -> [Int] { shape.operands(of: index, in: nodes).reversed() }

    /// An error at a node: at its place in the text, or the number of the node.
    func error(_ code: StatusCode, _ index: Int, _ message: String) -> StoreError {
        placed(StoreError(code, message).at(class: cls.name), index)
    }

    func placed(_ error: StoreError, _ index: Int) -> StoreError {
        error.position >= 0
            ? error : error.at(class: nil, position: nodes[index].position >= 0 ? Int(nodes[index].position) : index)
    }

    /// For messages: a subtree as a text.
    func described(_ index: Int) -> String {
        let start = Int(shape.starts[index])
        let part = Array(nodes[start...index])
        let text = try? QueryPrinter.text(part, names: QueryNames(trees.schema, storedNames).name)
        guard let text else { return "\(nodes[index].kind)" }
        return text.count > 60 ? String(text.prefix(57)) + "…" : text
    }

    func notSupported(_ index: Int, _ what: String) -> StoreError {
        error(.notSupported, index, "\(described(index)): this version does not evaluate \(what)")
    }
}

extension QueryNode.Kind {
    /// It is one more around what it has in it.
    fileprivate var isLevel: Bool {
        switch self {
        case .list, .sortKey, .sort, .distinct, .limit, .offset, .query, .group, .having, .select, .named: false
        default: true
        }
    }
}
