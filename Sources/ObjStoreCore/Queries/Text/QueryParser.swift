/// Makes the nodes of a query from its text.
///
/// Operands go to `nodes` as they are read, operators wait in `pending` until what binds less strongly comes: so the
/// nodes are in post-order by themselves, and no nesting of the text needs the stack.
struct QueryParser {
    /// An operator that waits for its last operand, or an open parenthesis. The higher the number, the more strongly it
    /// binds.
    struct Pending {
        enum Kind: UInt8 { case group = 0, subquery, call, or, and, not, compare, add, multiply, negate }

        var kind: Kind
        var choice: UInt8 = 0
        var modifiers: QueryNode.Modifiers = []
        /// Of `and`, `or` and `call`.
        var operands: UInt32 = 2
        /// Of a function.
        var name = Value.null
        var position: Int
        /// Of the operands so far.
        var depth = 0
    }

    var lexer: QueryLexer
    var token = QueryToken()
    /// Of the text, to be changed: what strings and names mean is written over them.
    var copy: UnsafeMutablePointer<UInt8>
    let arguments: QueryArguments
    var nodes: [QueryNode] = []
    var pending: [Pending] = []
    /// `$x` of each open subquery, from outside.
    var variables: [UnsafeBufferPointer<UInt8>] = []
    /// Of the operand that came last: whether it is a truth value, how deep it is.
    var isTruth = false
    var depth = 0
    /// Parentheses and subqueries that are not closed.
    var open = 0
    /// NOTs whose operands are read.
    var negations = 0
    /// Behind GROUP: what is said is about groups.
    var isGrouped = false

    /// - Parameters:
    ///   - copy: of the text, as long.
    ///   - origin: see `QueryLexer`.
    init(
        _ text: UnsafeRawBufferPointer, copy: UnsafeMutableRawPointer, _ arguments: QueryArguments, origin: Int = -1
    ) throws(StoreError) {
        lexer = QueryLexer(text)
        lexer.origin = origin
        self.copy = copy.assumingMemoryBound(to: UInt8.self)
        self.arguments = arguments
        try nodes.tryReserve(min(text.count / 4 + 8, 1 << 17))
        try advance()
    }

    mutating func query() throws(StoreError) {
        // Without a condition, also where there are only blanks: about all objects.
        if token.kind == .end || beginsWithSteps {
            try append(.truth, operands: 0, number: 1, at: 0)
        } else {
            try predicate()
        }
        try steps()
    }

    private var beginsWithSteps: Bool {
        guard token.kind == .word, isCall else { return false }
        switch token.keyword {
        case .sort, .distinct, .limit, .offset, .group, .select: return true
        default: return false
        }
    }

    // MARK: Tokens and nodes

    @inline(__always)
    mutating func advance() throws(StoreError) { token = try lexer.next() }

    @inline(__always)
    mutating func expect(_ kind: QueryToken.Kind, _ what: StaticString) throws(StoreError) {
        guard token.kind == kind else { throw lexer.expected("\(what)", token) }
        try advance()
    }

    /// A keyword that is one only in front of a parenthesis.
    var isCall: Bool { lexer.peek() == UInt8(ascii: "(") }

    @inline(__always)
    mutating func append(_ node: QueryNode) throws(StoreError) {
        guard nodes.count < QueryLimits.nodes else {
            throw lexer.error("the query has more than \(QueryLimits.nodes) nodes", at: token.start)
        }
        try nodes.tryAppend(node)
    }

    /// A node whose operands have been appended.
    @inline(__always)
    mutating func append(
        _ kind: QueryNode.Kind, operands: Int, choice: UInt8 = 0, modifiers: QueryNode.Modifiers = [],
        number: Int64 = 0, value: Value = .null, at position: Int
    ) throws(StoreError) {
        var node = QueryNode(kind, operands: operands, position: lexer.origin < 0 ? position : lexer.outer)
        node.choice = choice
        node.modifiers = modifiers
        node.number = number
        node.value = value
        try append(node)
    }

    /// A node over one that is `below` levels deep.
    mutating func deepen(_ below: Int, at position: Int) throws(StoreError) {
        depth = below + 1
        if _slowPath(depth > QueryLimits.depth) { throw tooDeep(position) }
    }

    func tooDeep(_ position: Int) -> StoreError {
        lexer.error("the query is nested more than \(QueryLimits.depth) deep", at: position)
    }

    /// c, d, cd or dc.
    var modifiers: QueryNode.Modifiers? {
        guard token.kind == .word, !token.hasEscapes, token.end - token.start <= 2 else { return nil }
        var found: QueryNode.Modifiers = []
        for byte in lexer.bytes(token.start, token.end) {
            switch byte | 0x20 {
            case UInt8(ascii: "c"): guard found.insert(.ignoresCase).inserted else { return nil }
            case UInt8(ascii: "d"): guard found.insert(.ignoresAccents).inserted else { return nil }
            default: return nil
            }
        }
        return found
    }
}

extension QueryOperator {
    /// `[c]` and `[d]` may follow.
    package var takesModifiers: Bool {
        switch self {
        case .equal, .notEqual, .isIn, .beginsWith, .endsWith, .contains, .like: true
        default: false
        }
    }
}
