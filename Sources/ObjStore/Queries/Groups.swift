internal import ObjStoreCore

/// Objects of results in groups, of those with equal values of some keys. Each of its methods gives new ones.
///
/// ```
/// for (city, n, age) in try dogs.group(by: { $0.city })
///     .having({ $0.count > 3 }).sorted(by: { $0.count }, ascending: false)
///     .select({ ($0.city, $0.count, $0.avg { $0.age }) }) { … }
/// ```
/// Nil is a key like any other. Without `sorted` groups come in the order of their first objects.
public struct Groups<Element: Object>: Sendable {
    let results: Results<Element>
    /// GROUP, and what comes behind it.
    var steps: [QueryNodes]

    /// Those for which a condition is true.
    public func having(_ condition: (Group<Element>) -> Query<Bool>) -> Groups {
        adding { (nodes) throws(ObjStoreError) in
            var made = condition(try results.asked).nodes
            made.makeCondition()
            nodes = made
            nodes.append(.having, operands: 1)
        }
    }

    /// In the order of a value; those that are equal stay in the order that they have.
    public func sorted<Value: OrderedQueryOperand>(
        by value: (Group<Element>) -> Query<Value>, ascending: Bool = true
    ) -> Groups {
        adding { (nodes) throws(ObjStoreError) in
            nodes = value(try results.asked).nodes
            nodes.append(.sortKey, choice: ascending ? 0 : 1, operands: 1)
            nodes.append(.sort, operands: 1)
        }
    }

    /// So many at most.
    public func limit(_ count: Int) -> Groups {
        adding { (nodes) throws(ObjStoreError) in nodes.append(.limit, number: Int64(count)) }
    }
    /// Without the first ones.
    public func offset(_ count: Int) -> Groups {
        adding { (nodes) throws(ObjStoreError) in nodes.append(.offset, number: Int64(count)) }
    }

    /// Values of each group: `.select { ($0.city, $0.count) }`.
    ///
    /// Errors: `.invalidQuery`: it is no key, and no aggregate; `.wrongType`; `.nullValue`: a value is null, and its
    /// type is no optional, which ``Query/optional`` makes it; those of ``Results/validate()``.
    public func select<each Column: CollectionElement>(
        _ columns: (Group<Element>) -> (repeat Query<each Column>)
    ) throws(ObjStoreError) -> [(repeat each Column)] {
        try tableResults(columns).table().rows()
    }

    /// A table of the keys, and of how many objects there are.
    public func table() throws(ObjStoreError) -> Table { try tableResults().table() }

    /// How the objects of the groups are found, and what is done with them; see ``Results/explain(running:asJSON:)``.
    public func explain(running: Bool = false, asJSON: Bool = false) throws(ObjStoreError) -> String {
        try results.explain(running, asJSON) { (view, binding) throws(ObjStoreError) in
            try results.question(steps, view, binding)
        }
    }

    private func adding(_ step: (inout QueryNodes) throws(ObjStoreError) -> Void) -> Groups {
        var more = self
        more.steps.append(
            QueryNodes { () throws(ObjStoreError) in
                var nodes = QueryNodes()
                try step(&nodes)
                return nodes
            })
        return more
    }
}

/// One of the groups that ``Groups`` asks about: its keys, by their names, and what is computed of its objects.
@dynamicMemberLookup
public struct Group<Element: Object>: Sendable {
    let object: Query<Element>

    /// A key, or what lies behind a key that is a link.
    public subscript<Property: Persistable>(dynamicMember keyPath: KeyPath<Element, Property>) -> Query<Property> {
        object[dynamicMember: keyPath]
    }

    /// How many objects it has.
    public var count: Query<Int> {
        var nodes = QueryNodes.object
        nodes.append(.count, operands: 1)
        return Query(nodes, object.scope.computed)
    }

    // Of values of its objects; nil, and NaN, are left out. Of nothing a sum is 0, and everything else nil.

    public func sum<Value: NumericQueryOperand>(
        _ value: (Query<Element>) -> Query<Value>
    ) -> Query<Value._QueryNullable> {
        aggregated(.sum, value)
    }
    public func avg<Value: NumericQueryOperand>(_ value: (Query<Element>) -> Query<Value>) -> Query<Double?> {
        aggregated(.average, value)
    }
    public func min<Value: OrderedQueryOperand>(
        _ value: (Query<Element>) -> Query<Value>
    ) -> Query<Value._QueryNullable> {
        aggregated(.minimum, value)
    }
    public func max<Value: OrderedQueryOperand>(
        _ value: (Query<Element>) -> Query<Value>
    ) -> Query<Value._QueryNullable> {
        aggregated(.maximum, value)
    }

    private func aggregated<Value, Result>(
        _ aggregate: QueryAggregate, _ value: (Query<Element>) -> Query<Value>
    ) -> Query<Result> {
        var nodes = QueryNodes.object
        nodes.append(aggregate, ofEach: value(object).nodes)
        return Query<Result>(nodes, object.scope.computed)
    }
}

extension Query {
    /// The same, of a type that has null: for columns whose path may lead to nothing, `$0.owner.name.optional`.
    public var optional: Query<Value?> { Query<Value?>(nodes, scope) }
}

extension Results {
    /// Groups of objects with an equal value: `.group(by: { $0.city })`.
    public func group<Key>(by key: (Query<Element>) -> Query<Key>) -> Groups<Element> { grouped { [key($0).nodes] } }
    /// The same of two, and of three.
    public func group<First, Second>(
        by keys: (Query<Element>) -> (Query<First>, Query<Second>)
    ) -> Groups<Element> {
        grouped { object in
            let (first, second) = keys(object)
            return [first.nodes, second.nodes]
        }
    }
    public func group<First, Second, Third>(
        by keys: (Query<Element>) -> (Query<First>, Query<Second>, Query<Third>)
    ) -> Groups<Element> {
        grouped { object in
            let (first, second, third) = keys(object)
            return [first.nodes, second.nodes, third.nodes]
        }
    }
    /// One group of all objects.
    public func group() -> Groups<Element> { grouped { _ in [] } }

    private func grouped(_ keys: (Query<Element>) -> [QueryNodes]) -> Groups<Element> {
        Groups(
            results: self,
            steps: [
                QueryNodes { () throws(ObjStoreError) in QueryNodes.joined(keys(try asked.object), .group) }
            ])
    }

    /// Values of each object: `for (name, owner) in try dogs.select({ ($0.name, $0.owner.name.optional) })`.
    ///
    /// Errors: `.invalidQuery`: it is not one value of each object; `.nullValue`: a value is null, and its type is no
    /// optional; those of ``validate()``.
    public func select<each Column: CollectionElement>(
        _ columns: (Query<Element>) -> (repeat Query<each Column>)
    ) throws(ObjStoreError) -> [(repeat each Column)] {
        try tableResults(columns).table().rows()
    }

    /// What a text with GROUP or SELECT says of these: `.table("GROUP(city) HAVING(@count > $0) SELECT(city, @count AS
    /// n)", 3)`. Errors: those of ``filter(_:_:)``.
    public func table(_ text: String, _ arguments: Any?...) throws(ObjStoreError) -> Table {
        try tableResults(text, arguments: arguments).table()
    }

    /// How what a text asks for of these is found, objects or a table: `.explain("GROUP(city)", running: true)`; see
    /// ``explain(running:asJSON:)``. Errors: those of ``filter(_:_:)``.
    public func explain(
        _ text: String, _ arguments: Any?..., running: Bool = false, asJSON: Bool = false
    ) throws(ObjStoreError) -> String {
        try explain(running, asJSON) { (view, binding) throws(ObjStoreError) in
            try question(text, arguments, view, binding)
        }
    }

    /// For other libraries: all properties of single values, batch by batch. Fills in a `struct ArrowArrayStream`,
    /// which is the caller's to release, and keeps the version that the store shows now until then.
    public func exportArrow(
        to stream: UnsafeMutableRawPointer, texts: ArrowTexts = .plain
    ) throws(ObjStoreError) {
        try asking(space.current) { (view, _, query) throws(StoreError) in
            try view.arrow(.objects(query), texts: texts.form)
        }
        .export(to: stream)
    }

    // MARK: Inside

    var asked: Group<Element> {
        get throws(ObjStoreError) {
            let binding = try space.binding(Element.self)
            return Group(object: Query(.object, QueryScope(space: space, model: binding.position)))
        }
    }

    func question(
        _ steps: [QueryNodes], _ view: View, _ binding: ClassBinding
    ) throws(ObjStoreError) -> AnyQuery {
        var nodes = QueryNodes()
        nodes.append(.truth, number: 1)
        for step in steps { nodes.append(step) }
        nodes.append(.query, operands: 1 + steps.count)
        return try nodes.withNodes { (nodes) throws(StoreError) in try view.anyQuery(binding.classID, nodes) }
    }

    func question(
        _ text: String, _ arguments: [Any?], _ view: View, _ binding: ClassBinding
    ) throws(ObjStoreError) -> AnyQuery {
        try QueryNodes(arguments: arguments).withArguments { (arguments) throws(StoreError) in
            try view.anyQuery(binding.classID, parsing: text, arguments: arguments)
        }
    }

    fileprivate func explain(
        _ running: Bool, _ asJSON: Bool, _ made: (View, ClassBinding) throws(ObjStoreError) -> AnyQuery
    ) throws(ObjStoreError) -> String {
        let view = space.current, other = try made(view, try space.binding(Element.self))
        return try asking(view) { (view, _, query) throws(StoreError) in
            let plan = try view.explain(try query.then(other), runs: running)
            return asJSON ? try plan.json() : plan.text
        }
    }
}

extension Table {
    /// All rows, as types that have their values.
    fileprivate func rows<each Column: CollectionElement>() throws(ObjStoreError) -> [(repeat each Column)] {
        var rows: [(repeat each Column)] = []
        rows.reserveCapacity(count)
        for row in 0..<count {
            var index = 0
            func next<Value: CollectionElement>(_ type: Value.Type) throws(ObjStoreError) -> Value {
                defer { index += 1 }
                return try value(row, index)
            }
            rows.append((repeat try next((each Column).self)))
        }
        return rows
    }
}

extension QueryNodes {
    /// A step with these operands.
    static func joined(_ parts: [QueryNodes], _ kind: QueryNode.Kind) -> QueryNodes {
        var nodes = QueryNodes()
        for part in parts { nodes.append(part) }
        nodes.append(kind, operands: parts.count)
        return nodes
    }
}
