/// Making queries: what `QueryBinder` makes of nodes or a text, with the names that the view's store has.
extension View {
    /// The query of nodes; none: of all objects. Values are copied.
    ///
    /// Errors, with the place of the node: `.noSuchClass`, `.noSuchProperty`, `.wrongType`, `.invalidQuery`,
    /// `.notSupported`, `.invalidUTF8`, `.noPrimaryKey`, `.wrongStore`; `.invalidArgument`: they are no tree;
    /// `.outOfMemory`. Also `.invalidQuery`: it gives a table.
    package func query(_ classID: UInt32, _ nodes: [QueryNode]) throws(StoreError) -> Query {
        try anyQuery(classID, nodes).ofObjects()
    }

    /// The query of a text; an empty one: of all objects. See `QueryTree.init(parsing:arguments:)` for the grammar.
    ///
    /// Errors: the same, with the place in the text, in bytes.
    package func query(
        _ classID: UInt32, parsing text: String, arguments: [QueryArgument] = []
    ) throws(StoreError) -> Query {
        try anyQuery(classID, parsing: text, arguments: arguments).ofObjects()
    }

    /// One that gives objects, or a table.
    package func anyQuery(_ classID: UInt32, _ nodes: [QueryNode]) throws(StoreError) -> AnyQuery {
        try anyQuery(classID, nodes.isEmpty ? nil : try QueryTree(nodes))
    }

    package func anyQuery(
        _ classID: UInt32, parsing text: String, arguments: [QueryArgument] = []
    ) throws(StoreError) -> AnyQuery {
        if text.isEmpty && arguments.isEmpty { return try anyQuery(classID, nil as QueryTree?) }
        return try anyQuery(classID, try QueryTree(parsing: text, arguments: arguments))
    }

    /// The same of bytes that a program gave.
    package func anyQuery(
        _ classID: UInt32, parsing text: UnsafeRawBufferPointer, arguments: [QueryArgument] = []
    ) throws(StoreError) -> AnyQuery {
        if text.isEmpty && arguments.isEmpty { return try anyQuery(classID, nil as QueryTree?) }
        return try anyQuery(classID, try QueryTree(parsing: text, arguments: arguments))
    }

    private func anyQuery(_ classID: UInt32, _ tree: QueryTree?) throws(StoreError) -> AnyQuery {
        try serialised { () throws(StoreError) in
            let trees = try trees, cls = try trees.schema.cls(classID)
            guard let given = tree else { return .objects(Query(classID, storeTag: trees.storeTag)) }
            let tree = try InverseNaming.named(given, cls, trees.schema, store.names)
            let binder = try QueryBinder(tree.nodes, trees, cls, store.names, store.functions)
            let (predicate, steps, table) = try binder.bind()
            let names = QueryNames(trees.schema, store.names)
            if table.isEmpty {
                return .objects(
                    Query(
                        classID, storeTag: trees.storeTag, predicate, steps: steps, tree: tree, names: names))
            }
            let (grouping, columns) = try binder.bindTable(table)
            let objects = Query(
                classID, storeTag: trees.storeTag, predicate, steps: steps, tree: try binder.objects(table),
                names: names)
            return .table(TableQuery(objects, grouping, columns, tree, names))
        }
    }
}
