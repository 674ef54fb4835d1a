internal import ObjStoreCore

/// Whether a condition is true of any, all or none of the objects of a collection, all of it of the same one:
/// `$0.dogs.any { $0.age > 3 && $0.name == "Rex" }`. Of an empty collection `all` and `none` are true. What is null, in
/// maps, does not count. The closure may ask about objects outside, too: `{ p in p.dogs.all { $0.age > p.age } }`.
extension Query where Value: _QueriedCollection {
    public func any<Linked: Object>(_ condition: (Query<Linked>) -> Query<Bool>) -> Query<Bool>
    where Value._QueriedElement == Linked { counted(condition).isAny }
    public func any<Linked: Object>(_ condition: (Query<Linked>) -> Query<Bool>) -> Query<Bool>
    where Value._QueriedElement == Linked? { counted(condition).isAny }

    public func all<Linked: Object>(_ condition: (Query<Linked>) -> Query<Bool>) -> Query<Bool>
    where Value._QueriedElement == Linked { counted { !condition($0) }.isNone }
    public func all<Linked: Object>(_ condition: (Query<Linked>) -> Query<Bool>) -> Query<Bool>
    where Value._QueriedElement == Linked? { counted { !condition($0) }.isNone }

    public func none<Linked: Object>(_ condition: (Query<Linked>) -> Query<Bool>) -> Query<Bool>
    where Value._QueriedElement == Linked { counted(condition).isNone }
    public func none<Linked: Object>(_ condition: (Query<Linked>) -> Query<Bool>) -> Query<Bool>
    where Value._QueriedElement == Linked? { counted(condition).isNone }

    /// Of how many objects it is true.
    public func count<Linked: Object>(where condition: (Query<Linked>) -> Query<Bool>) -> Query<Int>
    where Value._QueriedElement == Linked { counted(condition) }
    public func count<Linked: Object>(where condition: (Query<Linked>) -> Query<Bool>) -> Query<Int>
    where Value._QueriedElement == Linked? { counted(condition) }

    private func counted<Linked: Object>(_ condition: (Query<Linked>) -> Query<Bool>) -> Query<Int> {
        let variable = QueryNodes.newVariable()
        var element = QueryNodes()
        element.append(variable: variable)
        let made = condition(Query<Linked>(element, QueryScope(space: scope.space, model: scope.model)))
        var nodes = nodes, inner = made.nodes, scope = scope
        if made.scope.space.handle !== scope.space.handle {
            inner.fail(ObjStoreError(.wrongStore, "the condition was made of objects of another store"))
        }
        nodes.endElements(of: scope.elements)
        nodes.append(filter: inner, about: variable)
        nodes.append(.count, operands: 1)
        scope.elements = 0
        scope.isMany = false
        return Query<Int>(nodes, scope)
    }
}

extension Query<Int> {
    fileprivate var isAny: Query<Bool> { compared(.greater, 0) }
    fileprivate var isNone: Query<Bool> { compared(.equal, 0) }
}

extension Query<Bool> {
    /// Of how many objects of a collection the condition is true, all of it of the same one:
    /// `($0.dogs.age > 3 && $0.dogs.name == "Rex").count > 1`. What it says of the collection as a whole, such as its
    /// own `count`, and of the object stays what it is.
    ///
    /// It is about one collection, else it is reported as `.invalidQuery`.
    public var count: Query<Int> {
        var scope = scope
        scope.elements = 0
        scope.isMany = false
        return Query<Int>(
            QueryNodes { () throws(ObjStoreError) in
                var condition = nodes
                condition.makeCondition()
                var counted = try condition.subquery()
                counted.append(.count, operands: 1)
                return counted
            }, scope)
    }
}

// MARK: Quantified values

/// All, any or none of the values: a comparison with them asks whether it is true of all, one or none of them:
/// `$0.tags.all == "big"`, `$0.tags.none.starts(with: "b")`. Of no values `all` and `none` are true.
extension Query where Value: _QueriedCollection, Value._QueriedElement: QueryOperand {
    public var all: Query<Value._QueriedElement> { quantified(.all) }
    public var none: Query<Value._QueriedElement> { quantified(.none) }
    @_disfavoredOverload public var any: Query<Value._QueriedElement> { quantified(.any) }
}

/// The same of a property of objects of a collection, `$0.dogs.age.all > 3`, and of keys and values of a map.
extension Query where Value: OrderedQueryOperand {
    public var all: Query { quantified(.all) }
    public var none: Query { quantified(.none) }
    @_disfavoredOverload public var any: Query { quantified(.any) }
}

extension Query {
    func quantified<Result>(_ quantifier: Quantifier) -> Query<Result> {
        var nodes = nodes, scope = scope
        nodes.endElements()
        nodes.append(.quantified, choice: quantifier.rawValue, operands: 1)
        scope.elements = 0
        scope.isAll = quantifier == .all
        return Query<Result>(nodes, scope)
    }
}
