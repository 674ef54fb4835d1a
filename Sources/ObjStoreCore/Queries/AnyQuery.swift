/// What a text or nodes are: a question for objects, or for a table.
package enum AnyQuery: Sendable {
    case objects(Query)
    case table(TableQuery)

    /// Errors: `.invalidQuery`.
    package func ofObjects() throws(StoreError) -> Query {
        guard case .objects(let query) = self else {
            throw StoreError(.invalidQuery, "a query with GROUP or SELECT gives a table, and objects are asked for")
        }
        return query
    }

    /// Errors: as of `Query.text`; followed by a NUL.
    package func ownedText() throws(StoreError) -> OwnedValue {
        switch self {
        case .objects(let query): try query.ownedText()
        case .table(let query): try OwnedValue.text(try query.text())
        }
    }

    /// Errors: `.invalidQuery`.
    package func ofTable() throws(StoreError) -> TableQuery {
        guard case .table(let query) = self else {
            throw StoreError(.invalidQuery, "a query without GROUP and SELECT gives objects, and a table is asked for")
        }
        return query
    }
}
