/// Writes inverses that have names in the program as what they are: `dogs` of a person, where the schema says so, as
/// `@links.Dog.owner`. So all that comes behind, and the text of a query, knows one form only.
struct InverseNaming {
    private let nodes: [QueryNode]
    private let shape: QueryShape
    private let schema: Schema
    private let names: StoredNames
    private var result: [QueryNode] = []
    /// By level, the class of what a variable stands for, as an index; nil: no objects of one class.
    private var levels: [Int?]
    /// Behind GROUP: what it calls its keys, which hides other names.
    private var aliases: [String] = []

    /// What a path has come to.
    private struct End {
        /// Of objects, or collections of them, their class.
        var cls: Int?
        /// Names behind it are keys.
        var isMap = false
    }

    private init(_ tree: QueryTree, _ cls: ClassSchema, _ schema: Schema, _ names: StoredNames) throws(StoreError) {
        nodes = tree.nodes
        shape = try QueryShape(tree.nodes)
        self.schema = schema
        self.names = names
        levels = [Int(cls.id)]
    }

    /// The tree itself, where it has no such name. Errors: as of `QueryTree` and `QueryShape`.
    static func named(
        _ tree: QueryTree, _ cls: ClassSchema, _ schema: Schema, _ names: StoredNames
    ) throws(StoreError) -> QueryTree {
        guard names.hasInverses else { return tree }
        let isThere = tree.nodes.contains { node in
            node.kind == .property && QueryBinder.text(node.value).map { names.hasInverse(named: $0) } ?? false
        }
        guard isThere else { return tree }
        var naming = try InverseNaming(tree, cls, schema, names)
        _ = try naming.visit(tree.nodes.count - 1)
        return try QueryTree(naming.result)
    }

    private mutating func visit(_ index: Int) throws(StoreError) -> End {
        try Stack.check()
        let node = nodes[index], operands = shape.operands(of: index, in: nodes).reversed()
        switch node.kind {
        case .variable:
            result.append(node)
            let level = Int(exactly: node.number) ?? -1
            return End(cls: levels.indices.contains(level) ? levels[level] : nil)
        case .property:
            let before = try visit(index - 1)
            if !aliases.isEmpty, nodes[index - 1].kind == .variable, levels.count == 1,
                let name = QueryBinder.text(node.value), aliases.contains(name)
            {
                result.append(node)
                return End()
            }
            return property(node, before)
        case .incoming:
            for operand in operands { _ = try visit(operand) }
            result.append(node)
            return End(cls: names.classIndex(nodes[index - 1], schema))
        case .filter, .aggregate:
            var end = End()
            for (number, operand) in operands.enumerated() {
                if number == 0 {
                    end = try visit(operand)
                } else {
                    levels.append(end.cls)
                    _ = try visit(operand)
                    levels.removeLast()
                }
            }
            result.append(node)
            return node.kind == .filter ? End(cls: end.cls) : End()
        case .group:
            for operand in operands { _ = try visit(operand) }
            result.append(node)
            aliases += operands.compactMap { nodes[$0].kind == .named ? QueryBinder.text(nodes[$0].value) : nil }
            return End()
        case .element, .key, .values, .quantified:
            var end = End()
            for (number, operand) in operands.enumerated() {
                let found = try visit(operand)
                if number == 0 { end = found }
            }
            result.append(node)
            return End(cls: end.cls, isMap: node.kind == .quantified && end.isMap)
        default:
            for operand in operands { _ = try visit(operand) }
            result.append(node)
            return End()
        }
    }

    private mutating func property(_ node: QueryNode, _ before: End) -> End {
        guard let number = before.cls, !before.isMap else {
            result.append(node)
            return End(cls: before.cls)
        }
        let cls = schema.classes[number], name = QueryBinder.text(node.value)
        // No property of the program has the name; one may be called so in the file.
        guard let name, let inverse = names.inverse(name, cls), let origin = names.classIndex(inverse.cls, schema),
            let link = names.propertyIndex(inverse.property, schema.classes[origin])
        else {
            result.append(node)
            let position =
                name.map { names.propertyIndex($0, cls) }
                ?? UInt32(exactly: node.number).flatMap { PropertyID.position($0, cls.id, cls.columns) }
            // Where there is none the binder says what is wrong.
            guard let position else { return End() }
            let column = cls.columns[position]
            return End(cls: column.target == 0 ? nil : ClassID.index(column.target), isMap: column.kind == .map)
        }
        var cell = QueryNode(.name)
        (cell.number, cell.position) = (Int64(ClassID.of(origin)), node.position)
        result.append(cell)
        var incoming = QueryNode(.incoming, operands: 2)
        (incoming.number, incoming.position) = (Int64(schema.classes[origin].propertyID(link)), node.position)
        result.append(incoming)
        return End(cls: origin)
    }
}

extension StoredNames {
    /// The class that a node names, or has by its id.
    func classIndex(_ node: QueryNode, _ schema: Schema) -> Int? {
        if let name = QueryBinder.text(node.value) { return classIndex(name, schema) }
        guard let id = UInt32(exactly: node.number) else { return nil }
        let index = ClassID.index(id)
        return schema.classes.indices.contains(index) && !schema.classes[index].isDropped ? index : nil
    }
}
