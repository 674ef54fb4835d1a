/// A comparison of a number of what links to an object, or of an aggregate of it, with a constant: what one pass over
/// the class that has the links answers for all objects at once.
///
/// ```
///  @links.Dog.owner.@count > 200
///  SUBQUERY(@links.Dog.owner, $x, $x.age < 5).@count > 200      of those dogs only
///  @links.Dog.owner.@sum.weight > 100
/// ```
final class OriginTest: Sendable {
    /// Those that count.
    let origins: Query
    /// The link.
    let propertyID: UInt32
    /// Of a value of each; nil: how many there are.
    let aggregate: (kind: QueryAggregate, of: ObjectValue, sums: PathSum)?
    let comparison: Comparison
    let constant: Value

    init(
        _ origins: Query, _ propertyID: UInt32, _ aggregate: (kind: QueryAggregate, of: ObjectValue, sums: PathSum)?,
        _ comparison: Comparison, _ constant: Value
    ) {
        self.origins = origins
        self.propertyID = propertyID
        self.aggregate = aggregate
        self.comparison = comparison
        self.constant = constant
    }
}

extension QueryBinder {
    /// Nil: it is something else, and followed object by object.
    func originTest(_ index: Int) throws(StoreError) -> OriginTest? {
        guard let comparison = Comparison(rawValue: nodes[index].choice), nodes[index].modifiers.isEmpty else {
            return nil
        }
        let right = index - 1, left = Int(shape.starts[right]) - 1
        let isTurned = nodes[left].kind == .constant, side = isTurned ? right : left
        let constant = QueryBinder.plain(nodes[isTurned ? left : right].value)
        guard nodes[isTurned ? left : right].kind == .constant, constant.kind == .int || constant.kind == .double,
            nodes[side].kind == .count || nodes[side].kind == .aggregate
        else { return nil }
        var of = shape.firstOperand(of: side, in: nodes), condition: Int?
        if nodes[of].kind == .filter {
            condition = of - 1
            of = shape.firstOperand(of: of, in: nodes)
        }
        guard nodes[of].kind == .incoming, nodes[of - 1].kind == .name,
            isRoot(shape.firstOperand(of: of, in: nodes)),
            let number = storedNames.classIndex(nodes[of - 1], trees.schema)
        else { return nil }
        let origin = trees.schema.classes[number], position = try position(of, in: origin)
        guard origin.columns[position].kind == .link, origin.properties[position].target == Int(cls.id) else {
            return nil
        }
        let predicate =
            try condition.map { (condition) throws(StoreError) in try ofElements(condition, origin) } ?? .always
        guard let predicate else { return nil }
        var aggregate: (kind: QueryAggregate, of: ObjectValue, sums: PathSum)?
        if nodes[side].kind == .aggregate {
            guard let value = try valueOfElements(side - 1, origin), value.kind == .int || value.kind == .double else {
                return nil
            }
            aggregate = (
                QueryAggregate(rawValue: nodes[side].choice).unsafelyUnwrapped, value,
                value.kind == .int ? .ints : .doubles
            )
        }
        return OriginTest(
            Query(origin.classID, where: predicate), origin.propertyID(position), aggregate,
            isTurned ? QueryBinder.turned(comparison) : comparison, constant)
    }

    /// A subtree about the elements of a collection as if it were about the objects of their class; nil: it is about
    /// the object around them, too.
    private func elements(_ index: Int, _ origin: ClassSchema) throws(StoreError) -> QueryBinder? {
        var part: [QueryNode] = []
        for place in Int(shape.starts[index])...index {
            var node = nodes[place]
            if node.kind == .variable {
                if node.number < 1 { return nil }
                node.number -= 1
            }
            part.append(node)
        }
        return try QueryBinder(part, trees, origin, storedNames, functions)
    }

    private func ofElements(_ index: Int, _ origin: ClassSchema) throws(StoreError) -> Predicate? {
        guard root < 0, let binder = try elements(index, origin) else { return nil }
        let program = try binder.condition(binder.nodes.count - 1), predicate = try Predicate(program)
        return predicate.callsFunctions ? nil : predicate
    }

    private func valueOfElements(_ index: Int, _ origin: ClassSchema) throws(StoreError) -> ObjectValue? {
        guard root < 0, nodes[index].kind == .property, let binder = try elements(index, origin) else { return nil }
        let value = try binder.objectValue(binder.nodes.count - 1)
        return value.path == nil && value.calls.isEmpty ? value : nil
    }
}
