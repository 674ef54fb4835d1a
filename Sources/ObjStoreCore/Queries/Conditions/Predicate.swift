/// Comparisons and what is made of them by AND, OR and NOT: true or false for each object.
///
/// In post-order, as a program for a stack of truth values: `age < 2 && !(name == "Rex")` is
/// `test(age < 2) test(name == "Rex") not and`. Of two operands each, so that a long chain does not need a deep stack.
package struct Predicate: Sendable {
    package enum Node: Sendable {
        case truth(Bool)
        case test(ColumnTest)
        /// What no column and no index answers: computed for each object that is left.
        case values(ValueTest)
        /// The same of what lies behind paths.
        case paths(PathTest)
        case not, and, or
    }

    /// The one comparison that it is. Not among nodes: nothing is allocated for it.
    let single: ColumnTest?
    private let program: [Node]
    /// How many truth values the stack has at most.
    let depth: Int
    /// Some comparison is about what links lead to.
    let hasTargets: Bool
    /// Some comparison is about values behind paths: of collections, inverses, aggregates, subqueries.
    let hasPaths: Bool
    /// Some comparison calls a function of the application.
    let callsFunctions: Bool

    static let deepest = 100

    /// True of every object.
    static let always = Predicate()

    init(_ test: ColumnTest) { self.init(single: test) }

    private init(single: ColumnTest? = nil, program: [Node] = [], depth: Int = 1) {
        self.single = single
        self.program = program
        self.depth = depth
        hasTargets =
            single.map { $0.hasTargets }
            ?? program.contains { if case .test(let test) = $0 { test.hasTargets } else { false } }
        hasPaths = program.contains { if case .paths = $0 { true } else { false } }
        callsFunctions = program.contains {
            switch $0 {
            case .values(let test): !test.calls.isEmpty
            case .paths(let test): !test.calls.isEmpty
            case .test(let test): test.targets?.callsFunctions == true
            case .truth, .not, .and, .or: false
            }
        }
    }

    /// No nodes: true. Errors: `.invalidQuery`: it is deeper than 100 operations.
    package init(_ nodes: [Node]) throws(StoreError) {
        if nodes.count == 1 {
            switch nodes[0] {
            case .test(let test):
                self.init(single: test)
                return
            case .truth(true):
                self.init()
                return
            default: break
            }
        }
        var height = 0, most = 1
        for node in nodes {
            switch node {
            case .truth, .test, .values, .paths: height += 1
            case .not: break
            case .and, .or: height -= 1
            }
            most = max(most, height)
        }
        assert(nodes.isEmpty || height == 1, "a predicate has one value")
        guard most <= Predicate.deepest else {
            throw StoreError(
                .invalidQuery, "the condition is \(most) operations deep: at most \(Predicate.deepest) are allowed")
        }
        self.init(program: nodes, depth: most)
    }

    var isTrue: Bool { single == nil && program.isEmpty }

    var nodes: [Node] { single.map { [.test($0)] } ?? program }

    /// With bytes of its own; nil: it is not of comparisons with constants alone.
    var copied: Predicate? {
        var copies: [Node] = []
        for node in nodes {
            guard case .test(let test) = node else {
                switch node {
                case .truth, .not, .and, .or: copies.append(node)
                case .test, .values, .paths: return nil
                }
                continue
            }
            guard !test.hasTargets,
                let copy = try? ColumnTest(test.propertyID, test.comparison, test.value, isInside: test.isInside)
            else { return nil }
            copies.append(.test(copy))
        }
        return try? Predicate(copies)
    }

    /// Both are true. Errors: as of `init`.
    func and(_ other: Predicate) throws(StoreError) -> Predicate {
        if isTrue { return other }
        if other.isTrue { return self }
        return try Predicate(nodes + other.nodes + [.and])
    }

    /// What every object that it is true of satisfies: of each list one comparison at least. The operands of ANDs at
    /// the top, and of ORs between them.
    var necessary: [[ColumnTest]] {
        if let single { return [[single]] }
        var stack: [[[ColumnTest]]] = []
        for node in program {
            switch node {
            case .test(let test): stack.append([[test]])
            case .truth, .values, .paths: stack.append([])
            case .not: stack[stack.count - 1] = []
            case .and:
                let last = stack.removeLast()
                stack[stack.count - 1] += last
            case .or:
                let last = stack.removeLast(), top = stack.count - 1
                if let right = last.first, let left = stack[top].first,
                    left.count + right.count <= Candidates.mostAlternatives
                {
                    stack[top] = [left + right]
                } else {
                    stack[top] = []
                }
            }
        }
        return stack.last ?? []
    }

    /// Operands of ANDs at the top that ask for the beginning of a text.
    var beginnings: [ValueTest] {
        var stack: [[ValueTest]] = []
        for node in program {
            switch node {
            case .values(let test): stack.append(test.beginning == nil ? [] : [test])
            case .truth, .test, .paths: stack.append([])
            case .not: stack[stack.count - 1] = []
            case .and:
                let last = stack.removeLast()
                stack[stack.count - 1] += last
            case .or:
                stack.removeLast()
                stack[stack.count - 1] = []
            }
        }
        return stack.last ?? []
    }

    /// Comparisons of which one has to be true, and nothing else.
    var isOneOf: Bool {
        program.allSatisfy {
            switch $0 {
            case .test, .or: true
            case .truth, .values, .paths, .not, .and: false
            }
        }
    }
}

/// `property op value`: what a predicate is made of, where a column, an index or an inverse can answer it.
package struct ColumnTest: Sendable {
    let propertyID: UInt32
    let comparison: Comparison
    /// Objects that have the link `value` as the value, among the elements, or anywhere inside of a mixed value; the
    /// comparison is `equal`.
    let isInside: Bool
    /// Points to the bytes of `owner`, or to those of the query that it is part of.
    let value: Value
    let hasTargets: Bool
    /// The value's bytes, or the query that finds the targets. In one place, so that a copy counts one reference.
    private let owner: (any AnyObject & Sendable)?

    /// Not nil: objects with a link, as the value or among the elements, to one that it finds; there is no value.
    var targets: Query? { hasTargets ? owner.map { unsafeDowncast($0, to: Query.self) } : nil }

    /// The value is copied.
    package init(
        _ propertyID: UInt32, _ comparison: Comparison, _ value: Value, isInside: Bool = false
    ) throws(StoreError) {
        self.propertyID = propertyID
        self.comparison = comparison
        self.isInside = isInside
        hasTargets = false
        let bytes = value.kind.isBytes ? try OwnedValue(copying: value) : nil
        owner = bytes
        self.value = bytes?.value ?? value
    }

    /// Of a value whose bytes the query owns.
    init(_ propertyID: UInt32, _ comparison: Comparison, ofQuery value: Value) {
        self.propertyID = propertyID
        self.comparison = comparison
        isInside = false
        hasTargets = false
        owner = nil
        self.value = value
    }

    /// Of a link, or of a list or set of links.
    init(_ propertyID: UInt32, linksTo targets: Query) {
        self.propertyID = propertyID
        hasTargets = true
        owner = targets
        comparison = .equal
        isInside = false
        value = .null
    }
}
