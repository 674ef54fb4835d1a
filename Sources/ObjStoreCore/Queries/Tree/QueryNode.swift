/// One node of a query: what a text says, what an expression of a program says, and what `objstore_query_node` is.
///
/// A query is an array of nodes in post-order: the operands of a node are the subtrees right before it, the last one
/// immediately. `age < 2 && owner.name BEGINSWITH[c] "a" SORT(age DESC)` is
///
/// ```
///  0 variable 0     the object that is asked about
///  1 property age   of 0
///  2 constant 2
///  3 compare <      1 and 2
///  4 variable 0
///  5 property owner of 4
///  6 property name  of 5
///  7 constant "a"
///  8 compare BEGINSWITH [c]   6 and 7
///  9 and            3 and 8
/// 10 variable 0
/// 11 property age   of 10
/// 12 sortKey DESC   11
/// 13 sort           12
/// 14 query          9 and 13
/// ```
///
/// Names stand in `value`, as texts; a property that is known by its id has it in `number`, and null for a name. Plain
/// data of 64 bytes without reference counts: who has the nodes owns the bytes that values point to.
package struct QueryNode {
    package var kind: Kind
    /// Which of its kind: a `QueryOperator`, `Arithmetic`, `QueryAggregate`, `Quantifier`, `Place` or a direction.
    package var choice: UInt8 = 0
    /// `[c]` and `[d]`, of comparisons of texts; of a `sortKey` too.
    package var modifiers: Modifiers = []
    /// How many subtrees before it are its operands.
    package var operands: UInt32 = 0
    /// Where the token that made it begins in the text, in bytes of UTF-8: of a comparison its operator, of a step of a
    /// path its name; -1: it does not come from a text.
    package var position: Int32 = -1
    /// The level of a variable, an index in a list, a limit, an id.
    package var number: Int64 = 0
    /// A constant, or a name. A number of a text that is no int is the nearest double and has what was written in
    /// `pointer` and `count`: `JSONNumber.convert` makes of it what a property has.
    package var value: Value = .null

    package init(_ kind: Kind, operands: Int = 0, position: Int = -1) {
        self.kind = kind
        self.operands = UInt32(operands)
        self.position = Int32(truncatingIfNeeded: position)
    }

    package enum Kind: UInt8, Sendable {
        // Truth values.

        /// TRUEPREDICATE (`number` 1) or FALSEPREDICATE (0).
        case truth = 1
        /// Of two or more.
        case and, or
        case not
        /// Two operands, by a `QueryOperator`. Of `between` the second is a list of two.
        case compare

        // Values.

        case constant
        /// A list of constants: `{1, 2}`, or an argument that is one.
        case list
        /// Two operands, by `Arithmetic`; of `negate` one.
        case arithmetic
        /// The object (level 0 in `number`), or what stands for one element inside of the n-th `filter` or `aggregate`
        /// around it, counted from outside.
        case variable
        /// `obj('Class', key)`: the name of a class, its operand the primary key.
        case object

        // Steps of a path; the first operand is the path before it.

        /// By name or id; of a value that may be a map also the key of that name.
        case property
        /// An element of a list, by a `Place`; at `number` if it is `at`.
        case element
        /// `['key']` of a map: a text.
        case key
        /// `@links.Class.property`: second operand `name` of the class; `value` is the property.
        case incoming
        /// `@links`: all objects that link to it.
        case allIncoming
        /// A name, alone; see `incoming`.
        case name
        /// `@keys`, `@values` of a map.
        case keys, values
        /// `@type`.
        case type
        /// `@count`, `@size`, `[SIZE]`: how many elements, of a text characters, of a binary bytes.
        case count
        /// Those elements of a collection, the first operand, for which the second is true: SUBQUERY.
        case filter
        /// A `QueryAggregate` of a collection, the first operand. The second is what is summed of each element: the
        /// variable of its level, or a path from that.
        case aggregate
        /// ANY, ALL or NONE of a path or a list.
        case quantified

        // Places on the earth; operands are constants, in degrees: longitude, latitude, …

        /// Two corners, four operands: all doubles, here and in the other shapes.
        case box
        /// Three operands: the centre, and the radius in radians.
        case circle
        /// Rings, each a `list` of longitudes and latitudes; the first is the outer one.
        case polygon

        // Steps behind the predicate.

        /// One operand; `choice` 0 ascending, 1 descending; `[c]` folds upper and lower case.
        case sortKey
        /// Operands are `sortKey`.
        case sort
        /// Operands are paths.
        case distinct
        /// `number` objects at most; `number` objects left out.
        case limit, offset
        /// All of it: the predicate, then the steps in their order.
        case query = 32

        // Later additions.

        /// A function, by its name in `value`, with its arguments: values.
        case call

        // Tables: what is asked of groups of objects, or of each, instead of the objects themselves.

        /// Operands are values, perhaps `named`: objects with equal ones are a group. None: all objects are one.
        case group
        /// Of a condition about groups.
        case having
        /// The columns of the table: values, perhaps `named`.
        case select
        /// A value with a name: `value`.
        case named
    }

    package struct Modifiers: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// `[c]`: upper and lower case are the same.
        package static let ignoresCase = Modifiers(rawValue: 1)
        /// `[d]`: accents do not count.
        package static let ignoresAccents = Modifiers(rawValue: 2)
    }
}

/// The first six are `Comparison`, by the same numbers.
package enum QueryOperator: UInt8, Sendable {
    case equal = 0, notEqual, less, lessOrEqual, greater, greaterOrEqual
    case isIn, between
    case beginsWith, endsWith, contains, like
    /// All words of the right side are in the text of the left.
    case text
    case geoWithin
}

package enum Arithmetic: UInt8, Sendable { case add = 0, subtract, multiply, divide, negate }
package enum QueryAggregate: UInt8, Sendable { case sum = 0, minimum, maximum, average }
package enum Quantifier: UInt8, Sendable { case any = 0, all, none }
package enum Place: UInt8, Sendable { case at = 0, first, last, every }

/// The nodes of one query with the bytes that they point to. Immutable; any thread.
package final class QueryTree: @unchecked Sendable {
    package let nodes: [QueryNode]
    private let bytes: UnsafeMutableRawPointer?

    /// Takes memory that the values point into.
    init(_ nodes: [QueryNode], owning memory: UnsafeMutableRawPointer?) {
        self.nodes = nodes
        bytes = memory
    }

    /// Copies what the values point to. Errors: `.outOfMemory`.
    package init(_ nodes: [QueryNode]) throws(StoreError) {
        let size = nodes.reduce(0) { $0 + ($1.value.pointer == nil ? 0 : $1.value.count) }
        try Memory.check(for: nodes.count, each: MemoryLayout<QueryNode>.stride)
        let memory = size == 0 ? nil : try Memory.allocate(size)
        var own = nodes, used = 0
        if let memory {
            for index in own.indices {
                let value = own[index].value
                guard value.count > 0, let pointer = value.pointer else { continue }
                (memory + used).copyMemory(from: pointer, byteCount: value.count)
                own[index].value.pointer = UnsafeRawPointer(memory + used)
                used += value.count
            }
        }
        self.nodes = own
        bytes = memory
    }

    deinit { bytes?.deallocate() }
}
