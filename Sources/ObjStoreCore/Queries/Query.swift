/// A question to the objects of one class: which of them, and in what order. Everything that searches, changes, deletes
/// or observes objects takes one. Immutable; any thread may ask it, in any view of its store.
package final class Query: Sendable {
    package let classID: UInt32
    let predicate: Predicate
    /// Not nil: a part of an index, in its order; then the predicate is true.
    let stretch: IndexStretch?

    private init(_ classID: UInt32, _ predicate: Predicate, _ stretch: IndexStretch?) {
        self.classID = classID
        self.predicate = predicate
        self.stretch = stretch
    }

    /// All objects of a class, in the order of creation.
    package convenience init(all classID: UInt32) { self.init(classID, .always, nil) }

    /// Those that satisfy a predicate, in the order of creation.
    package convenience init(_ classID: UInt32, where predicate: Predicate) { self.init(classID, predicate, nil) }

    /// Those that satisfy `property op value`. The value is copied.
    package convenience init(
        _ classID: UInt32, _ propertyID: UInt32, _ comparison: Comparison, _ value: Value, isInside: Bool = false
    ) throws(StoreError) {
        let test = try ColumnTest(propertyID, comparison, value, isInside: isInside)
        self.init(classID, Predicate(test), nil)
    }

    /// A part of an index.
    package convenience init(_ classID: UInt32, in stretch: IndexStretch) {
        self.init(classID, .always, stretch)
    }
}

/// `property op value`: what a predicate is made of.
package struct ColumnTest: Sendable {
    let propertyID: UInt32
    let comparison: Comparison
    /// Objects that have the link `value` as the value, among the elements, or anywhere inside of a mixed value; the
    /// comparison is `equal`.
    let isInside: Bool
    /// Points to the bytes of `owner`, where it has any.
    let value: Value
    private let owner: OwnedValue?

    /// The value is copied.
    package init(
        _ propertyID: UInt32, _ comparison: Comparison, _ value: Value, isInside: Bool = false
    ) throws(StoreError) {
        self.propertyID = propertyID
        self.comparison = comparison
        self.isInside = isInside
        owner = value.kind.isBytes ? try OwnedValue(copying: value) : nil
        self.value = owner?.value ?? value
    }
}

/// Comparisons and what is made of them by AND, OR and NOT: true or false for each object.
///
/// In post-order, as a program for a stack of truth values: `age < 2 && !(name == "Rex")` is
/// `test(age < 2) test(name == "Rex") not and`. Of two operands each, so that a long chain does not need a deep stack.
package struct Predicate: Sendable {
    package enum Node: Sendable {
        case truth(Bool)
        case test(ColumnTest)
        case not, and, or
    }

    /// The one comparison that it is. Not among nodes: nothing is allocated for it.
    let single: ColumnTest?
    private let program: [Node]
    /// How many truth values the stack has at most.
    let depth: Int

    static let deepest = 100

    /// True of every object.
    static let always = Predicate()

    init(_ test: ColumnTest) { self.init(single: test) }

    private init(single: ColumnTest? = nil, program: [Node] = [], depth: Int = 1) {
        self.single = single
        self.program = program
        self.depth = depth
    }

    /// No nodes: true. Errors: `.invalidQuery`: it is deeper than 100 operations.
    package init(_ nodes: [Node]) throws(StoreError) {
        if nodes.count == 1, case .test(let test) = nodes[0] {
            self.init(single: test)
            return
        }
        var height = 0, most = 1
        for node in nodes {
            switch node {
            case .truth, .test: height += 1
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
}
