/// What change sets of tables and plain values give.
extension ChangeSet {
    /// Whether a value is another one in the modification at `index`; the moves follow. Errors: `.outOfRange`;
    /// `.wrongType`: it is not of a table.
    package func hasChanged(column: Int, atModification index: UInt64) throws(StoreError) -> Bool {
        try checkColumn(column)
        try checkModification(index)
        return try masks()[Int(index) * maskWords + column >> 6] >> UInt64(column & 63) & 1 != 0
    }

    /// Errors: those above.
    package func checkColumn(_ column: Int) throws(StoreError) {
        let count = try askedTable().columns.count
        guard column >= 0, column < count else {
            throw StoreError(.outOfRange, "column \(column) of \(count.counted("column"))")
        }
    }

    /// What the columns are called. Errors: `.wrongType`: it is not of a table.
    package var columnNames: [String] {
        get throws(StoreError) { try askedTable().columns.map(\.name) }
    }

    fileprivate func askedTable() throws(StoreError) -> TableQuery {
        guard case .table(let query)? = asked else {
            throw StoreError(.wrongType, "the change set is not of a table: it has no columns")
        }
        return query
    }
}

extension Store {
    /// The table before or after a change set. What was found for it is not asked again.
    ///
    /// Errors: `.wrongType`: the change set is not of a table; those of asking.
    package func table(of changes: ChangeSet, before: Bool) throws(StoreError) -> Table {
        let query = try changes.askedTable()
        if let known = changes.rows?.side(before: before).table { return known }
        let view = try view(of: changes, before: before)
        defer { view.close() }
        return try view.table(query)
    }

    /// The plain values before or after a change set, in a view of that side.
    ///
    /// Errors: `.wrongType`: the change set is not of a query of plain values; those of asking.
    package func values(of changes: ChangeSet, before: Bool, in view: View) throws(StoreError) -> ValueResults {
        guard case .values(let query)? = changes.asked else {
            throw StoreError(.wrongType, "the change set is not of a query of plain values")
        }
        if let known = changes.rows?.side(before: before).values { return ValueResults(view, query, known) }
        return try ValueResults(view, query)
    }
}
