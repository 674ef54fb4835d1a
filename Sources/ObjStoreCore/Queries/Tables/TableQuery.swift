/// A question whose answer is a table instead of objects: values of each object that a query finds, or of groups of
/// them. Immutable; any thread may ask it, in any view of its store.
///
/// ```
///  age > 5 SORT(name ASC)   GROUP(city) HAVING(@count > 3) SORT(@count DESC) LIMIT(10)   SELECT(city, @avg.age)
///  └──────── objects ─────┘ └───────────────────── grouping ────────────────────────┘   └─────── columns ────┘
/// ```
package final class TableQuery: Sendable {
    /// Whose values they are, in this order.
    package let objects: Query
    /// Nil: each object is a row.
    let grouping: Grouping?
    let columns: [Column]
    /// What it was made of, with the bytes that programs point to.
    let tree: QueryTree
    let names: QueryNames?
    /// Functions of the application are called while it is asked.
    let callsFunctions: Bool
    /// That of the query that it was joined of: programs point to its bytes.
    private let other: QueryTree?

    /// One column of the table.
    struct Column: Sendable {
        let name: String
        let kind: ValueKind
        /// Of links: the class that they lead to, as an index in the schema; nil: any.
        let target: Int?
        let source: Source

        var callsFunctions: Bool {
            switch source {
            case .object(let value): !value.calls.isEmpty
            case .group(let value): !value.program.calls.isEmpty
            }
        }

        /// It is that slot, as it is.
        func isSlot(_ number: Int) -> Bool {
            if case .group(let value) = source { value.slot == number } else { false }
        }

        enum Source: Sendable {
            /// Of each object.
            case object(ObjectValue)
            /// Of each group, computed from its slots.
            case group(GroupValue)
        }
    }

    init(
        _ objects: Query, _ grouping: Grouping?, _ columns: [Column], _ tree: QueryTree, _ names: QueryNames?,
        keeping other: QueryTree? = nil
    ) {
        self.objects = objects
        self.grouping = grouping
        self.columns = columns
        self.tree = tree
        self.names = names
        self.other = other
        callsFunctions =
            objects.callsFunctions || grouping?.callsFunctions ?? false || columns.contains(where: \.callsFunctions)
    }

    /// The same of what another query finds.
    ///
    /// Errors: those of `Query.then`.
    package func of(_ query: Query) throws(StoreError) -> TableQuery {
        let joined = try query.then(objects)
        guard let whole = joined.tree, let last = whole.nodes.last, let own = tree.nodes.last else {
            return TableQuery(joined, grouping, columns, tree, names)
        }
        // The steps of the table behind those of the objects.
        let shape = try QueryShape(tree.nodes), operands = shape.operands(of: tree.nodes.count - 1, in: tree.nodes)
        let first = operands.reversed().first { tree.nodes[$0].kind == .group || tree.nodes[$0].kind == .select }
        guard let first, own.kind == .query else { return TableQuery(joined, grouping, columns, tree, names) }
        var nodes = last.kind == .query ? Array(whole.nodes.dropLast()) : whole.nodes
        let steps = operands.count { $0 >= first }
        nodes += tree.nodes[Int(shape.starts[first])..<(tree.nodes.count - 1)]
        nodes.append(QueryNode(.query, operands: (last.kind == .query ? Int(last.operands) : 1) + steps))
        return TableQuery(joined, grouping, columns, try QueryTree(nodes), names, keeping: tree)
    }

    /// All that is asked of objects.
    var values: [ObjectValue] {
        let slots = (grouping?.slots ?? []).compactMap { slot -> ObjectValue? in
            switch slot {
            case .value(let value), .aggregate(_, let value, _): value
            case .count: nil
            }
        }
        return slots + columns.compactMap { if case .object(let value) = $0.source { value } else { nil } }
    }

    /// The canonical text, as of `Query.text`.
    package func text() throws(StoreError) -> String {
        // What cannot be said of the objects cannot be said of the table.
        _ = try objects.text()
        return try QueryPrinter.text(tree.nodes) { [names] node in names?.name(node) }
    }
}

/// How objects become groups, and which groups a table has.
struct Grouping: Sendable {
    /// What is known of a group: first its keys, then what somebody asks.
    let slots: [GroupSlot]
    /// How many of the slots are keys.
    let keys: Int
    let steps: [GroupStep]

    var callsFunctions: Bool {
        slots.contains { slot in
            switch slot {
            case .value(let value), .aggregate(_, let value, _): !value.calls.isEmpty
            case .count: false
            }
        }
            || steps.contains { step in
                switch step {
                case .having(let tests):
                    tests.contains { if case .values(let test, _) = $0 { !test.calls.isEmpty } else { false } }
                case .sort(let keys): keys.contains { !$0.value.program.calls.isEmpty }
                case .limit, .offset: false
                }
            }
    }
}

/// One thing that is known of a group.
enum GroupSlot: Sendable {
    /// The same of all its objects, or, behind a key that is a link, of what that leads to: of its first object.
    case value(ObjectValue)
    /// How many objects it has.
    case count
    /// Of the values of its objects; null and NaN do not count.
    case aggregate(QueryAggregate, ObjectValue, PathSum)

    /// Of what it gives where it is not null.
    var kind: ValueKind {
        switch self {
        case .value(let value): value.kind
        case .count: .int
        case .aggregate(.minimum, let value, _), .aggregate(.maximum, let value, _): value.kind
        case .aggregate(.sum, _, .ints): .int
        case .aggregate(_, let value, .decimals): value.kind
        case .aggregate: .double
        }
    }
}

/// A value of a group, computed from its slots.
struct GroupValue: Sendable {
    var program: ValueProgram
    /// What the program's properties are.
    let slots: [Int]

    /// The only slot that it is; nil: it is computed.
    var slot: Int? {
        guard program.steps.count == 1, case .property(let number) = program.steps[0] else { return nil }
        return slots[number]
    }
}

/// What is done with the list of groups: one step behind the other.
enum GroupStep: Sendable {
    case having([GroupTest])
    case sort([(value: GroupValue, isDescending: Bool, modifiers: QueryNode.Modifiers)])
    case limit(Int)
    case offset(Int)
}

/// A node of a condition about groups, in post-order.
enum GroupTest: Sendable {
    case truth(Bool)
    /// A slot and a constant.
    case column(Int, Comparison, Value)
    /// Its properties are slots.
    case values(ValueTest, slots: [Int])
    case not, and, or
}
