internal import ObjStoreCore

/// The object that `where` asks about, a property of it, what is computed of that, or a condition:
/// `{ $0.age < 2 && ($0.name.starts(with: "A") || $0.owner != nil) }`.
///
/// A property that is a `Bool` is a condition, too. Null equals null and nothing else, and is neither less nor greater;
/// what is computed of it is null. Numbers of all types compare exactly, text by code point; NaN equals nothing.
/// docs/swift.md lists what there is.
@dynamicMemberLookup
public struct Query<Value>: Sendable {
    /// In post-order.
    let nodes: QueryNodes
    let scope: QueryScope

    init(_ nodes: QueryNodes, _ scope: QueryScope) {
        self.nodes = nodes
        self.scope = scope
    }
}

/// Where a path leads to.
struct QueryScope: Sendable {
    let space: ObjectSpace
    /// The model that its objects are of, or its elements; -1: none.
    var model: Int
    /// How many of the nodes lead to the last collection on the way; what follows leads on from each of its elements.
    /// 0: there is none, or the nodes are no path.
    var elements = 0
    /// The same of the collection before that one.
    var outer = 0
    /// There may be many values, of which one is enough unless `isAll` is said.
    var isMany = false
    var isAll = false
    /// Also of one object: the elements of a collection of values.
    var isSpread = false

    /// Of what is computed of the values.
    var computed: QueryScope {
        var scope = self
        scope.elements = 0
        return scope
    }

    /// The same of two.
    func with(_ other: QueryScope) -> QueryScope {
        var scope = computed
        scope.isMany = isMany || other.isMany
        scope.isAll = isAll || other.isAll
        scope.isSpread = isSpread || other.isSpread
        return scope
    }
}

// MARK: Comparisons

extension Query where Value: QueryOperand {
    public static func == (left: Query, right: Value) -> Query<Bool> { left.compared(.equal, right) }
    public static func != (left: Query, right: Value) -> Query<Bool> { left.compared(.notEqual, right) }
    public static func == (left: Value, right: Query) -> Query<Bool> { right.compared(left, .equal) }
    public static func != (left: Value, right: Query) -> Query<Bool> { right.compared(left, .notEqual) }
    public static func == <Other: QueryOperand>(left: Query, right: Query<Other>) -> Query<Bool>
    where Other._QueryFamily == Value._QueryFamily { left.compared(.equal, right) }
    public static func != <Other: QueryOperand>(left: Query, right: Query<Other>) -> Query<Bool>
    where Other._QueryFamily == Value._QueryFamily { left.compared(.notEqual, right) }

    /// Is it one of these?
    public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element == Value { isOne(of: values) }
    public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element: QueryOperand, Value == S.Element? {
        isOne(of: values)
    }
}

extension Query where Value: OrderedQueryOperand {
    public static func < (left: Query, right: Value) -> Query<Bool> { left.compared(.less, right) }
    public static func <= (left: Query, right: Value) -> Query<Bool> { left.compared(.lessOrEqual, right) }
    public static func > (left: Query, right: Value) -> Query<Bool> { left.compared(.greater, right) }
    public static func >= (left: Query, right: Value) -> Query<Bool> { left.compared(.greaterOrEqual, right) }
    public static func < (left: Value, right: Query) -> Query<Bool> { right.compared(left, .less) }
    public static func <= (left: Value, right: Query) -> Query<Bool> { right.compared(left, .lessOrEqual) }
    public static func > (left: Value, right: Query) -> Query<Bool> { right.compared(left, .greater) }
    public static func >= (left: Value, right: Query) -> Query<Bool> { right.compared(left, .greaterOrEqual) }
    public static func < <Other: OrderedQueryOperand>(left: Query, right: Query<Other>) -> Query<Bool>
    where Other._QueryFamily == Value._QueryFamily { left.compared(.less, right) }
    public static func <= <Other: OrderedQueryOperand>(left: Query, right: Query<Other>) -> Query<Bool>
    where Other._QueryFamily == Value._QueryFamily { left.compared(.lessOrEqual, right) }
    public static func > <Other: OrderedQueryOperand>(left: Query, right: Query<Other>) -> Query<Bool>
    where Other._QueryFamily == Value._QueryFamily { left.compared(.greater, right) }
    public static func >= <Other: OrderedQueryOperand>(left: Query, right: Query<Other>) -> Query<Bool>
    where Other._QueryFamily == Value._QueryFamily { left.compared(.greaterOrEqual, right) }

    /// Is it in the range? Of many values: is one of them?
    public func contains(_ range: ClosedRange<Value>) -> Query<Bool> where Value: Comparable {
        isBetween(range.lowerBound, range.upperBound)
    }
    public func contains(_ range: Range<Value>) -> Query<Bool> where Value: Comparable {
        isIn(range.lowerBound, below: range.upperBound)
    }
    public func contains<Bound: OrderedQueryOperand>(_ range: ClosedRange<Bound>) -> Query<Bool>
    where Value == Bound? { isBetween(range.lowerBound, range.upperBound) }
    public func contains<Bound: OrderedQueryOperand>(_ range: Range<Bound>) -> Query<Bool>
    where Value == Bound? { isIn(range.lowerBound, below: range.upperBound) }
}

extension Query {
    func compared(
        _ comparison: QueryOperator, _ value: some QueryOperand, _ modifiers: QueryNode.Modifiers = []
    ) -> Query<Bool> {
        combined { nodes in
            nodes.append(constant: value._queryValue)
            nodes.append(comparison, modifiers)
        }
    }

    fileprivate func compared(_ value: some QueryOperand, _ comparison: QueryOperator) -> Query<Bool> {
        var nodes = QueryNodes()
        nodes.append(constant: value._queryValue)
        nodes.append(self.nodes)
        nodes.append(comparison)
        return Query<Bool>(nodes, scope.computed)
    }

    func compared<Other>(
        _ comparison: QueryOperator, _ other: Query<Other>, _ modifiers: QueryNode.Modifiers = []
    ) -> Query<Bool> {
        combined { nodes in
            nodes.append(other.nodes)
            nodes.append(comparison, modifiers)
        }
    }

    func isOne<Element: QueryOperand>(of values: some Sequence<Element>) -> Query<Bool> {
        combined { nodes in
            var count = 0
            for value in values {
                nodes.append(constant: value._queryValue)
                count += 1
            }
            nodes.append(.list, operands: count)
            nodes.append(.isIn)
        }
    }

    fileprivate func isBetween(_ low: some QueryOperand, _ high: some QueryOperand) -> Query<Bool> {
        ofOne(
            combined { nodes in
                nodes.append(constant: low._queryValue)
                nodes.append(constant: high._queryValue)
                nodes.append(.list, operands: 2)
                nodes.append(.between)
            })
    }

    fileprivate func isIn(_ low: some QueryOperand, below high: some QueryOperand) -> Query<Bool> {
        ofOne(compared(.greaterOrEqual, low) && compared(.less, high))
    }

    /// Two comparisons of many values are about the same value: about one element of their collection.
    private func ofOne(_ condition: Query<Bool>) -> Query<Bool> {
        guard scope.isMany && !scope.isAll else { return condition }
        return Query<Bool>(
            QueryNodes { () throws(ObjStoreError) in
                guard nodes.failed || !scope.isSpread && !condition.nodes.collections.isEmpty else {
                    throw ObjStoreError(
                        .notSupported,
                        """
                        whether one value of a collection is in a range is not asked by this version: ask about all \
                        of them, or about a property of objects
                        """)
                }
                let isPath = scope.elements > 0 && scope.elements < nodes.nodes.count
                var found = try condition.nodes.subquery(isPath ? nodes.prefix(scope.elements) : nil)
                found.append(.count, operands: 1)
                found.append(constant: .int(0))
                found.append(.greater)
                return found
            }, scope)
    }
}

// MARK: Conditions

extension Query<Bool> {
    public static func && (left: Query, right: Query) -> Query {
        left.combined { $0.join(right.nodes, by: .and) }
    }
    public static func || (left: Query, right: Query) -> Query {
        left.combined { $0.join(right.nodes, by: .or) }
    }
    public static prefix func ! (query: Query) -> Query {
        query.combined { nodes in
            nodes.makeCondition()
            nodes.append(.not, operands: 1)
        }
    }
}

// MARK: Arithmetic

/// Sums that leave 64 bits, and what is divided by zero (of integers), are null.
extension Query where Value: NumericQueryOperand {
    public static func + (left: Query, right: Value) -> Query { left.computed(.add, right) }
    public static func - (left: Query, right: Value) -> Query { left.computed(.subtract, right) }
    public static func * (left: Query, right: Value) -> Query { left.computed(.multiply, right) }
    public static func / (left: Query, right: Value) -> Query { left.computed(.divide, right) }
    public static func + (left: Value, right: Query) -> Query { right.computed(left, .add) }
    public static func - (left: Value, right: Query) -> Query { right.computed(left, .subtract) }
    public static func * (left: Value, right: Query) -> Query { right.computed(left, .multiply) }
    public static func / (left: Value, right: Query) -> Query { right.computed(left, .divide) }
    public static func + (left: Query, right: Query) -> Query { left.computed(.add, right) }
    public static func - (left: Query, right: Query) -> Query { left.computed(.subtract, right) }
    public static func * (left: Query, right: Query) -> Query { left.computed(.multiply, right) }
    public static func / (left: Query, right: Query) -> Query { left.computed(.divide, right) }
    // Numbers of two types: the result is compared with doubles.
    public static func + <Other: NumericQueryOperand>(left: Query, right: Query<Other>) -> Query<Double?> {
        left.computed(.add, right)
    }
    public static func - <Other: NumericQueryOperand>(left: Query, right: Query<Other>) -> Query<Double?> {
        left.computed(.subtract, right)
    }
    public static func * <Other: NumericQueryOperand>(left: Query, right: Query<Other>) -> Query<Double?> {
        left.computed(.multiply, right)
    }
    public static func / <Other: NumericQueryOperand>(left: Query, right: Query<Other>) -> Query<Double?> {
        left.computed(.divide, right)
    }
    public static prefix func - (query: Query) -> Query {
        query.combined { $0.append(.arithmetic, choice: Arithmetic.negate.rawValue, operands: 1) }
    }

    private func computed(_ operation: Arithmetic, _ value: Value) -> Query {
        combined { nodes in
            nodes.append(constant: value._queryValue)
            nodes.append(.arithmetic, choice: operation.rawValue, operands: 2)
        }
    }

    private func computed(_ value: Value, _ operation: Arithmetic) -> Query {
        var nodes = QueryNodes()
        nodes.append(constant: value._queryValue)
        nodes.append(self.nodes)
        nodes.append(.arithmetic, choice: operation.rawValue, operands: 2)
        return Query(nodes, scope.computed)
    }

    private func computed<Other, Result>(_ operation: Arithmetic, _ other: Query<Other>) -> Query<Result> {
        var nodes = nodes
        nodes.append(other.nodes)
        nodes.append(.arithmetic, choice: operation.rawValue, operands: 2)
        return Query<Result>(nodes, scope.with(other.scope))
    }
}
