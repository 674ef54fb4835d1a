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
    let model: Int
}

// MARK: Properties

// By its protocol: the compiler takes structs for classes when a superclass is required.
extension Query where Value: _ObservableObject {
    public subscript<Property: Persistable>(dynamicMember keyPath: KeyPath<Value, Property>) -> Query<Property> {
        step(keyPath)
    }
}

extension Query {
    /// Of the object that a link leads to, or of one that is embedded; null where there is none.
    public subscript<Linked: Object, Property: Persistable>(
        dynamicMember keyPath: KeyPath<Linked, Property>
    ) -> Query<Property> where Value == Linked? { step(keyPath) }

    /// Of each object of a collection: a comparison with it asks whether there is one.
    public subscript<Linked: Object, Property: Persistable>(
        dynamicMember keyPath: KeyPath<Linked, Property>
    ) -> Query<Property> where Value == List<Linked> { step(keyPath) }
    public subscript<Linked: Object, Property: Persistable>(
        dynamicMember keyPath: KeyPath<Linked, Property>
    ) -> Query<Property> where Value == MutableSet<Linked> { step(keyPath) }
    public subscript<Key, Linked: Object, Property: Persistable>(
        dynamicMember keyPath: KeyPath<Linked, Property>
    ) -> Query<Property> where Value == Map<Key, Linked?> { step(keyPath) }
    public subscript<Linked: Object, Property: Persistable>(
        dynamicMember keyPath: KeyPath<Linked, Property>
    ) -> Query<Property> where Value == LinkingObjects<Linked> { step(keyPath) }

    private func step<Root: Object, Property>(_ keyPath: KeyPath<Root, Property>) -> Query<Property> {
        do throws(ObjStoreError) {
            let index = try KeyPaths.index(keyPath), space = scope.space
            let binding = scope.model < 0 ? try space.binding(Root.self) : space.bindings[scope.model]
            var nodes = nodes
            if index < binding.info.properties.count {
                nodes.append(.property, operands: 1, number: Int64(binding.properties[index]))
                return Query<Property>(nodes, QueryScope(space: space, model: binding.target(of: index)))
            }
            let origin = binding.origins[index - binding.info.properties.count]
            let other = space.bindings[origin.model]
            nodes.append(.name, number: Int64(other.classID))
            nodes.append(.incoming, operands: 2, number: Int64(other.properties[Int(origin.property)]))
            return Query<Property>(nodes, QueryScope(space: space, model: origin.model))
        } catch {
            return Query<Property>(QueryNodes(failed: error), scope)
        }
    }

    func combined<Result>(_ body: (inout QueryNodes) -> Void) -> Query<Result> {
        var nodes = nodes
        body(&nodes)
        return Query<Result>(nodes, scope)
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

    /// Is it in the range?
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
        return Query<Bool>(nodes, scope)
    }

    func compared<Other>(
        _ comparison: QueryOperator, _ other: Query<Other>, _ modifiers: QueryNode.Modifiers = []
    ) -> Query<Bool> {
        combined { nodes in
            nodes.append(other.nodes)
            nodes.append(comparison, modifiers)
        }
    }

    fileprivate func isOne<Element: QueryOperand>(of values: some Sequence<Element>) -> Query<Bool> {
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
        combined { nodes in
            nodes.append(constant: low._queryValue)
            nodes.append(constant: high._queryValue)
            nodes.append(.list, operands: 2)
            nodes.append(.between)
        }
    }

    fileprivate func isIn(_ low: some QueryOperand, below high: some QueryOperand) -> Query<Bool> {
        compared(.greaterOrEqual, low) && compared(.less, high)
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
        return Query(nodes, scope)
    }

    private func computed<Other, Result>(_ operation: Arithmetic, _ other: Query<Other>) -> Query<Result> {
        combined { nodes in
            nodes.append(other.nodes)
            nodes.append(.arithmetic, choice: operation.rawValue, operands: 2)
        }
    }
}
