internal import ObjStoreCore

/// Lists, sets, maps and inverses, in a `where`.
public protocol _QueriedCollection {
    associatedtype _QueriedElement
}
extension List: _QueriedCollection { public typealias _QueriedElement = Element }
extension MutableSet: _QueriedCollection { public typealias _QueriedElement = Element }
extension Map: _QueriedCollection { public typealias _QueriedElement = Value }
extension LinkingObjects: _QueriedCollection { public typealias _QueriedElement = Element }

// Where the value is an object, its own properties may have these names: so these are of the types that are none.
extension Query where Value: _QueriedCollection {
    /// Is there an element, or a value of a map, that equals it?
    public func contains(_ element: Value._QueriedElement) -> Query<Bool> where Value._QueriedElement: QueryOperand {
        anyEquals(element)
    }
    /// Is there one that equals one of these?
    public func containsAny<S: Sequence>(in values: S) -> Query<Bool>
    where S.Element == Value._QueriedElement, S.Element: QueryOperand {
        let any: Query<S.Element> = quantified(.any)
        return any.isOne(of: values)
    }

    /// How many elements there are.
    public var count: Query<Int> {
        var nodes = nodes, scope = scope
        nodes.endElements(of: scope.elements)
        nodes.append(.count, operands: 1)
        scope.isMany = scope.outer > 0
        scope.elements = 0
        return Query<Int>(nodes, scope)
    }
}

// MARK: Aggregates

/// Of the elements, or of the values of a map; nil is left out. Of nothing there is no least, greatest and average, and
/// these are null; the sum is 0.
extension Query where Value: _QueriedCollection, Value._QueriedElement: AggregatedQueryOperand {
    public var min: Query<Value._QueriedElement._QueryNullable> { aggregated(.minimum) }
    public var max: Query<Value._QueriedElement._QueryNullable> { aggregated(.maximum) }
}
extension Query where Value: _QueriedCollection, Value._QueriedElement: NumericQueryOperand {
    public var sum: Query<Value._QueriedElement._QueryNullable> { aggregated(.sum) }
    public var avg: Query<Double?> { aggregated(.average) }
}

/// The same of a property of the objects of a collection, `$0.dogs.age.max > 3`, and of the values and keys of a map.
/// Of what is in no collection: `.invalidQuery`.
extension Query where Value: AggregatedQueryOperand {
    public var min: Query<Value._QueryNullable> { aggregated(.minimum) }
    public var max: Query<Value._QueryNullable> { aggregated(.maximum) }
}
extension Query where Value: NumericQueryOperand {
    public var sum: Query<Value._QueryNullable> { aggregated(.sum) }
    public var avg: Query<Double?> { aggregated(.average) }
}

/// Are all elements in the range? Nil is left out; of nothing it is false.
extension Query where Value: _QueriedCollection, Value._QueriedElement: AggregatedQueryOperand {
    public func contains(_ range: ClosedRange<Value._QueriedElement>) -> Query<Bool>
    where Value._QueriedElement: Comparable { isWithin(range.lowerBound, .lessOrEqual, range.upperBound) }
    public func contains(_ range: Range<Value._QueriedElement>) -> Query<Bool>
    where Value._QueriedElement: Comparable { isWithin(range.lowerBound, .less, range.upperBound) }
    public func contains<Bound: AggregatedQueryOperand>(_ range: ClosedRange<Bound>) -> Query<Bool>
    where Value._QueriedElement == Bound? { isWithin(range.lowerBound, .lessOrEqual, range.upperBound) }
    public func contains<Bound: AggregatedQueryOperand>(_ range: Range<Bound>) -> Query<Bool>
    where Value._QueriedElement == Bound? { isWithin(range.lowerBound, .less, range.upperBound) }

    private func isWithin(
        _ low: some QueryOperand, _ below: QueryOperator, _ high: some QueryOperand
    ) -> Query<Bool> { min.compared(.greaterOrEqual, low) && max.compared(below, high) }
}

extension Query {
    fileprivate func aggregated<Result>(_ aggregate: QueryAggregate) -> Query<Result> {
        var nodes = nodes, scope = scope
        if scope.elements == 0 {
            nodes.fail(ObjStoreError(.invalidQuery, "min, max, sum and avg are those of a collection"))
        } else {
            let isOfEach = scope.elements == nodes.nodes.count
            nodes.append(aggregate, of: scope.elements)
            scope.isMany = isOfEach && scope.outer > 0
            scope.isSpread = false
        }
        scope.elements = 0
        return Query<Result>(nodes, scope)
    }
}

/// Where links may be.
public protocol _LinkHolder {
    static var _links: _LinkPlace { get }
}
public enum _LinkPlace: Sendable { case value, elements, inside }
extension Optional: _LinkHolder where Wrapped: Object { public static var _links: _LinkPlace { .value } }
extension AnyValue: _LinkHolder { public static var _links: _LinkPlace { .inside } }
extension List: _LinkHolder {}
extension MutableSet: _LinkHolder {}
extension Map: _LinkHolder {}
extension _LinkHolder where Self: _QueriedCollection {
    public static var _links: _LinkPlace { _QueriedElement.self == AnyValue.self ? .inside : .elements }
}

extension Query where Value: _LinkHolder {
    /// Objects that have a link to the object, as the value, as an element, or anywhere inside of a value of any type:
    /// the inverse of a property that declares none, `store.objects(Shelter.self).where { $0.dogs.links(to: rex) }`. A
    /// collection that has no links: `.wrongType`. Of values of any type it is a whole condition: what else is asked
    /// has a `where` of its own.
    public func links(to object: Object) -> Query<Bool> {
        switch Value._links {
        case .value: compared(.equal, object)
        case .elements: anyEquals(object)
        case .inside: combined { $0.appendInside(object._queryValue) }
        }
    }
}

extension Query {
    fileprivate func anyEquals<Element: QueryOperand>(_ value: Element) -> Query<Bool> {
        let any: Query<Element> = quantified(.any)
        return any.compared(.equal, value)
    }
}
