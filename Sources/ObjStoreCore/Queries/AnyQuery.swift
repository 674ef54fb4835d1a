/// What a text or nodes are: a question for objects, for a table, or for plain values.
package enum AnyQuery: Sendable {
    case objects(Query)
    case table(TableQuery)
    /// For elements of a list, set or map of plain values.
    case values(ValueQuery)

    /// Errors: `.invalidQuery`.
    package func ofObjects() throws(StoreError) -> Query {
        switch self {
        case .objects(let query): return query
        case .table:
            throw StoreError(.invalidQuery, "a query with GROUP or SELECT gives a table, and objects are asked for")
        case .values: throw AnyQuery.givesValues("objects")
        }
    }

    /// Errors: as of `Query.text`; followed by a NUL.
    package func ownedText() throws(StoreError) -> OwnedValue {
        switch self {
        case .objects(let query): try query.ownedText()
        case .table(let query): try OwnedValue.text(try query.text())
        case .values:
            throw StoreError(.notSupported, "a query of a list, set or map cannot be written as a text")
        }
    }

    /// Errors: `.invalidQuery`.
    package func ofTable() throws(StoreError) -> TableQuery {
        switch self {
        case .table(let query): return query
        case .objects:
            throw StoreError(.invalidQuery, "a query without GROUP and SELECT gives objects, and a table is asked for")
        case .values: throw AnyQuery.givesValues("table")
        }
    }

    /// Errors: `.invalidQuery`.
    package func ofValues() throws(StoreError) -> ValueQuery {
        guard case .values(let query) = self else {
            throw StoreError(.invalidQuery, "the query gives no plain values, and these are asked for")
        }
        return query
    }

    private static func givesValues(_ wanted: StaticString) -> StoreError {
        StoreError(.invalidQuery, "a query of plain values gives no \(wanted)")
    }

    /// What `next` finds among what this one finds.
    ///
    /// Errors: as of `Query.then`; `.invalidArgument`: one is about objects, the other about plain values.
    package func then(_ next: AnyQuery) throws(StoreError) -> AnyQuery {
        switch (self, next) {
        case (.values(let query), .values(let next)): return .values(try query.then(next))
        case (.values, _), (_, .values):
            throw StoreError(.invalidArgument, "one query is about objects, the other about plain values")
        default: return try ofObjects().then(next)
        }
    }
}
