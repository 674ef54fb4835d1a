/// Writes nodes as text, each in one way: what is parsed again gives the same nodes, whoever made them.
///
/// ```
/// age < 2 and (name == "Rex" or !(owner == NULL)) SORT(age DESC) LIMIT(10)
/// ```
/// Parentheses are where they are needed; numbers, times and bytes are exact.
package struct QueryPrinter {
    /// A name that a node has by id alone, in `number`: of a `property`, an `incoming`, a `name` or an `object`.
    package typealias Names = (QueryNode) -> String?

    /// What is still to be written, the next one last.
    enum Part {
        case text(StaticString)
        /// With the number of subqueries around it.
        case node(Int, level: Int)
        /// Only what the node adds to the path before it.
        case step(Int)
        case variable(Int)
        /// Of a node.
        case name(Int)
    }

    let nodes: [QueryNode]
    let shape: QueryShape
    private let names: Names
    /// From this node on what is said is about groups of objects.
    private(set) var firstOfGroups = 0
    var parts: [Part] = []
    var output: [UInt8] = []

    /// The text of a query, or of one subtree that ends at `root`. `ofGroup`: which is about a group of objects.
    ///
    /// Errors: `.invalidArgument` for nodes that are no tree, and for a name that nobody knows.
    package static func text(
        _ nodes: [QueryNode], root: Int? = nil, ofGroup: Bool = false, names: Names = { _ in nil }
    ) throws(StoreError) -> String {
        try withoutActuallyEscaping(names) { names throws(StoreError) in
            var printer = QueryPrinter(nodes: nodes, shape: try QueryShape(nodes), names: names)
            printer.firstOfGroups = ofGroup ? -1 : nodes.firstIndex { $0.kind == .group } ?? nodes.count
            try printer.write(root ?? nodes.count - 1)
            return String(decoding: printer.output, as: UTF8.self)
        }
    }

    private init(nodes: [QueryNode], shape: QueryShape, names: @escaping Names) {
        self.nodes = nodes
        self.shape = shape
        self.names = names
    }

    private mutating func write(_ root: Int) throws(StoreError) {
        // A subtree may stand in subqueries.
        var level = 0
        for index in root + 1..<nodes.count where nodes[index].kind == .filter {
            if root >= Int(shape.starts[index - 1]) { level += 1 }
        }
        parts.append(.node(root, level: level))
        while let part = parts.popLast() {
            switch part {
            case .text(let text): write(text)
            case .node(let index, let level): try node(index, level)
            case .step(let index): try step(index)
            case .variable(let level): variable(level)
            case .name(let index): named(try name(index))
            }
        }
    }

    mutating func write(_ text: StaticString) {
        output.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// The name of a node.
    func name(_ index: Int) throws(StoreError) -> [UInt8] {
        let node = nodes[index]
        if node.value.kind == .string { return node.value.utf8 }
        guard let name = names(node) else {
            throw StoreError(.invalidArgument, "node \(index) of the query has no name, and \(node.number) is no id")
        }
        return Array(name.utf8)
    }

    // MARK: Nodes

    /// Operands, with text between them and around.
    private mutating func push(
        _ index: Int, _ level: Int, before: StaticString, between: StaticString, after: StaticString
    ) {
        let operands = shape.operands(of: index, in: nodes)
        parts.append(.text(after))
        for (position, operand) in operands.enumerated() {
            if position > 0 { parts.append(.text(between)) }
            push(operand, level, inParentheses: isWeaker(operand, than: index, isLast: position == 0))
        }
        parts.append(.text(before))
    }

    private mutating func push(_ index: Int, _ level: Int, inParentheses: Bool) {
        if inParentheses { parts.append(.text(")")) }
        parts.append(.node(index, level: level))
        if inParentheses { parts.append(.text("(")) }
    }

    /// An operand needs parentheses.
    private func isWeaker(_ operand: Int, than index: Int, isLast: Bool) -> Bool {
        let outer = nodes[index].binding, inner = nodes[operand].binding
        if inner == 0 || outer == 0 || InjectedBug.active(.queryPrintedBare) { return false }
        // Of a chain of the same the first operand is the chain before; of AND and OR a chain is one node.
        return inner < outer || inner == outer && (isLast || nodes[index].kind != .arithmetic)
    }

    private mutating func node(_ index: Int, _ level: Int) throws(StoreError) {
        let node = nodes[index]
        switch node.kind {
        case .truth: write(node.number != 0 ? "TRUEPREDICATE" : "FALSEPREDICATE")
        case .and: push(index, level, before: "", between: " and ", after: "")
        case .or: push(index, level, before: "", between: " or ", after: "")
        case .not: push(index, level, before: "!(", between: "", after: ")")
        case .compare: compare(index, level)
        case .constant: constant(node.value)
        case .list: push(index, level, before: "{", between: ", ", after: "}")
        case .arithmetic: arithmetic(index, level)
        case .object:
            write("obj(")
            quoted(try name(index), "\"")
            push(index, level, before: ", ", between: "", after: ")")
        case .property, .element, .key, .incoming, .allIncoming, .keys, .values, .type, .count, .variable:
            try path(index, level)
        case .name: named(try name(index))
        case .filter, .aggregate: try path(index, level)
        case .quantified:
            write(
                node.choice == Quantifier.any.rawValue
                    ? "ANY " : node.choice == Quantifier.all.rawValue ? "ALL " : "NONE ")
            push(index, level, before: "", between: "", after: "")
        case .box, .circle, .polygon: place(index)
        case .sortKey:
            parts.append(.text(node.choice == 0 ? " ASC" : " DESC"))
            parts.append(.text(node.modifiers.text))
            parts.append(.node(index - 1, level: level))
        case .sort: push(index, level, before: "SORT(", between: ", ", after: ")")
        case .distinct: push(index, level, before: "DISTINCT(", between: ", ", after: ")")
        case .limit, .offset:
            write(node.kind == .limit ? "LIMIT(" : "OFFSET(")
            output.append(contentsOf: "\(node.number)".utf8)
            write(")")
        case .query: push(index, level, before: "", between: " ", after: "")
        case .group: push(index, level, before: "GROUP(", between: ", ", after: ")")
        case .having: push(index, level, before: "HAVING(", between: "", after: ")")
        case .select: push(index, level, before: "SELECT(", between: ", ", after: ")")
        case .named:
            parts.append(.name(index))
            parts.append(.text(" AS "))
            parts.append(.node(index - 1, level: level))
        case .call:
            named(try name(index))
            push(index, level, before: "(", between: ", ", after: ")")
        }
    }

    private mutating func compare(_ index: Int, _ level: Int) {
        let node = nodes[index], right = index - 1, left = Int(shape.starts[right]) - 1
        push(right, level, inParentheses: isWeaker(right, than: index, isLast: true))
        parts.append(.text(" "))
        parts.append(.text(node.modifiers.text))
        parts.append(.text(QueryOperator(rawValue: node.choice).unsafelyUnwrapped.text))
        push(left, level, inParentheses: isWeaker(left, than: index, isLast: true))
    }

    private mutating func arithmetic(_ index: Int, _ level: Int) {
        switch Arithmetic(rawValue: nodes[index].choice).unsafelyUnwrapped {
        case .add: push(index, level, before: "", between: " + ", after: "")
        case .subtract: push(index, level, before: "", between: " - ", after: "")
        case .multiply: push(index, level, before: "", between: " * ", after: "")
        case .divide: push(index, level, before: "", between: " / ", after: "")
        case .negate:
            // `-1` would be a constant.
            let operand = nodes[index - 1], isNegation = operand.kind == .arithmetic || operand.kind == .constant
            push(index - 1, level, inParentheses: isNegation)
            parts.append(.text("-"))
        }
    }
}

extension QueryNode {
    /// How strongly an operator binds; 0: it is none, and never needs parentheses.
    fileprivate var binding: Int {
        switch kind {
        case .or: 1
        case .and: 2
        case .compare: 4
        case .arithmetic:
            choice <= Arithmetic.subtract.rawValue ? 5 : choice <= Arithmetic.divide.rawValue ? 6 : 0
        default: 0
        }
    }
}

extension QueryTree {
    /// Its canonical text; see `QueryPrinter.text`.
    package func text(names: QueryPrinter.Names = { _ in nil }) throws(StoreError) -> String {
        try QueryPrinter.text(nodes, names: names)
    }
}
