/// Making queries: what `QueryBinder` makes of nodes or a text, with the names that the view's store has.
extension View {
    /// The query of nodes; none: of all objects. Values are copied.
    ///
    /// Errors, with the place of the node: `.noSuchClass`, `.noSuchProperty`, `.wrongType`, `.invalidQuery`,
    /// `.notSupported`, `.invalidUTF8`, `.noPrimaryKey`, `.wrongStore`; `.invalidArgument`: they
    /// are no tree; `.outOfMemory`.
    package func query(_ classID: UInt32, _ nodes: [QueryNode]) throws(StoreError) -> Query {
        try query(classID, nodes.isEmpty ? nil : try QueryTree(nodes))
    }

    /// The query of a text; an empty one: of all objects. See `QueryTree.init(parsing:arguments:)` for the grammar.
    ///
    /// Errors: the same, with the place in the text, in bytes.
    package func query(
        _ classID: UInt32, parsing text: String, arguments: [QueryArgument] = []
    ) throws(StoreError) -> Query {
        if text.isEmpty && arguments.isEmpty { return try query(classID, nil as QueryTree?) }
        return try query(classID, try QueryTree(parsing: text, arguments: arguments))
    }

    /// The same of bytes that a program gave.
    package func query(
        _ classID: UInt32, parsing text: UnsafeRawBufferPointer, arguments: [QueryArgument] = []
    ) throws(StoreError) -> Query {
        if text.isEmpty && arguments.isEmpty { return try query(classID, nil as QueryTree?) }
        return try query(classID, try QueryTree(parsing: text, arguments: arguments))
    }

    private func query(_ classID: UInt32, _ tree: QueryTree?) throws(StoreError) -> Query {
        try serialised { () throws(StoreError) in
            let trees = try trees, cls = try trees.schema.cls(classID)
            guard let tree else { return Query(classID, storeTag: trees.storeTag) }
            let (predicate, steps) = try QueryBinder(tree.nodes, trees, cls, store.names).bind()
            return Query(
                classID, storeTag: trees.storeTag, predicate, steps: steps, tree: tree,
                names: QueryNames(trees.schema, store.names))
        }
    }
}
