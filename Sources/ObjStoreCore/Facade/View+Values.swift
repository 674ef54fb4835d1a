/// Queries of plain values: what `Queries/Values/` finds in the collections that the view shows.
extension View {
    /// All elements of a list, set or map of plain values, in its order.
    ///
    /// Errors: `.noSuchObject`, `.noSuchClass`, `.noSuchProperty`; `.wrongType`: it is no collection, or one of
    /// objects.
    package func valueQuery(_ id: CollectionID) throws(StoreError) -> ValueQuery { try valueQuery(id, nil) }

    /// Those that nodes ask for. `@self` is an element: the variable of level 0.
    ///
    /// Errors: the same; those of queries of objects.
    package func valueQuery(_ id: CollectionID, _ nodes: [QueryNode]) throws(StoreError) -> ValueQuery {
        try valueQuery(id, nodes.isEmpty ? nil : try QueryTree(nodes))
    }

    package func valueQuery(
        _ id: CollectionID, parsing text: String, arguments: [QueryArgument] = []
    ) throws(StoreError) -> ValueQuery {
        try valueQuery(id, try QueryTree(parsing: text, arguments: arguments))
    }

    /// The same of bytes that a program gave.
    package func valueQuery(
        _ id: CollectionID, parsing text: UnsafeRawBufferPointer, arguments: [QueryArgument] = []
    ) throws(StoreError) -> ValueQuery {
        try valueQuery(id, try QueryTree(parsing: text, arguments: arguments))
    }

    private func valueQuery(_ id: CollectionID, _ tree: QueryTree?) throws(StoreError) -> ValueQuery {
        try serialised { () throws(StoreError) in
            let trees = try trees, cls = try classOf(id.owner, trees.schema)
            let position = try cls.collectionOfValues(id.propertyID)
            _ = try trees.elements(of: id.owner.key, cls, position)
            let all = ValueQuery(id, trees, cls, position, store.names)
            guard let tree else { return all }
            do throws(StoreError) { return try all.then(tree, trees, cls, store.names, store.functions) } catch {
                throw cls.named(error, position)
            }
        }
    }

    /// What it finds now, in its order; nothing, where the owner of the collection was deleted.
    ///
    /// Errors: `.wrongStore`; `.noSuchClass`, `.noSuchProperty`: the view is older than they, or they were dropped;
    /// `.outOfMemory`.
    package func find(_ query: ValueQuery) throws(StoreError) -> FoundValues { try findWithVersion(query).0 }

    /// With the version that it was found in.
    func findWithVersion(_ query: ValueQuery) throws(StoreError) -> (FoundValues, UInt64) {
        func find(_ trees: TreeAccess) throws(StoreError) -> (FoundValues, UInt64) {
            (try ValueRun(query, trees).found(), trees.version)
        }
        if query.callsFunctions || isWatched {
            return try calling(of: { (trees) throws(StoreError) in try ValueRun(query, trees).total() }, find)
        }
        return try serialised { () throws(StoreError) in try find(try trees) }
    }

    static func notOfValues(_ what: StaticString) -> StoreError {
        StoreError(.notSupported, "a query of plain values cannot be \(what) in this version")
    }
}
