/// The tree in an array of nodes: where each subtree begins. Making one checks that there is a tree, with as many
/// operands everywhere as there must be, and that each `choice` is one.
package struct QueryShape {
    /// Of each node, the first of its subtree.
    package private(set) var starts: [Int32]

    /// Errors: `.invalidArgument`, `.outOfMemory`.
    package init(_ nodes: [QueryNode]) throws(StoreError) {
        guard !nodes.isEmpty else { throw StoreError(.invalidArgument, "a query has at least one node") }
        guard nodes.count <= Int(Int32.max) else { throw StoreError(.invalidArgument, "too many nodes") }
        starts = []
        try starts.tryReserve(nodes.count)
        // Subtrees that are nobody's operand yet: each begins where the one before it ends.
        var roots: [Int32] = []
        try roots.tryReserve(min(nodes.count, 1024))
        for (index, node) in nodes.enumerated() {
            let operands = Int(node.operands)
            guard node.isWellFormed, operands <= roots.count else {
                throw StoreError(
                    .invalidArgument,
                    "node \(index), \(node.kind) \(node.choice), cannot have \(operands.counted("operand")) here")
            }
            var start = Int32(index)
            if operands > 0 {
                start = roots[roots.count - operands]
                roots.removeLast(operands)
            }
            try roots.tryAppend(start)
            starts.append(start)
        }
        guard roots.count == 1 else {
            throw StoreError(.invalidArgument, "the nodes are \(roots.count) queries, not one")
        }
    }

    /// The operands of a node, the last one first.
    package func operands(of index: Int, in nodes: [QueryNode]) -> [Int] {
        var operands: [Int] = [], next = index - 1
        operands.reserveCapacity(Int(nodes[index].operands))
        for _ in 0..<nodes[index].operands {
            operands.append(next)
            next = Int(starts[next]) - 1
        }
        return operands
    }

    /// The first of two or more operands, or the only one.
    @inline(__always)
    package func firstOperand(of index: Int, in nodes: [QueryNode]) -> Int {
        var next = index - 1
        for _ in 1..<max(1, nodes[index].operands) { next = Int(starts[next]) - 1 }
        return next
    }
}

extension QueryNode {
    /// It has as many operands as its kind takes, and a choice that there is.
    package var isWellFormed: Bool {
        switch kind {
        case .truth, .constant, .variable, .name, .limit, .offset: operands == 0
        case .not, .object, .property, .key, .allIncoming, .keys, .values, .type, .count: operands == 1
        case .element: operands == 1 && Place(rawValue: choice) != nil
        case .quantified: operands == 1 && Quantifier(rawValue: choice) != nil
        case .sortKey: operands == 1 && choice <= 1
        case .incoming, .filter: operands == 2
        case .aggregate: operands == 2 && QueryAggregate(rawValue: choice) != nil
        case .compare: operands == 2 && QueryOperator(rawValue: choice) != nil
        case .arithmetic:
            operands == (choice == Arithmetic.negate.rawValue ? 1 : 2) && Arithmetic(rawValue: choice) != nil
        case .and, .or: operands >= 2
        case .list, .call: true
        case .circle: operands == 3
        case .box: operands == 4
        case .polygon, .sort, .distinct, .query, .select: operands >= 1
        case .group: true
        case .having: operands == 1
        case .named: operands == 1 && value.kind == .string
        }
    }
}
