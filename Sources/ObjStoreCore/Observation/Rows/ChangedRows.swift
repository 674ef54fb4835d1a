/// A table, or plain values, before and after what a change set tells of.
struct ChangedRows {
    let before: ObservedRows
    let after: ObservedRows
    /// Of a map.
    var keys: ChangedKeys?

    func side(before isBefore: Bool) -> ObservedRows { isBefore ? before : after }
}

extension ChangeSet {
    /// It tells of a table, or of plain values.
    package var isOfRows: Bool { asked != nil }

    /// Says of what it tells.
    func describe(_ scope: ObserverScope) {
        guard let asked = scope.rows else { return }
        self.asked = asked
        // Rows that are objects: what was written is told, and not yet what is another value.
        if case .table(let query) = asked, !scope.isRows { columns = ColumnMasks(query) }
        switch asked {
        case .table(let query): elements = query.grouping == nil ? .objects : .values
        case .values(let query):
            elements = query.isOfMap ? .entries : .values
            if query.isOfMap { keys = rows?.keys ?? ChangedKeys() }
        }
    }

    /// Whether a value is another one in the modification at `index`; the moves follow. Errors: `.outOfRange`;
    /// `.wrongType`: it is not of a table.
    package func hasChanged(column: Int, atModification index: UInt64) throws(StoreError) -> Bool {
        try checkColumn(column)
        try checkModification(index)
        return try masks()[Int(index) * maskWords + column >> 6] >> UInt64(column & 63) & 1 != 0
    }

    /// How many words the mask of a modification has.
    package var maskWords: Int { asked?.columnWords ?? changes.maskWords }

    /// Of all modifications, then of all moves: the properties that were written; of a table the columns that have
    /// another value, which are looked for now.
    package func masks() throws(StoreError) -> [UInt64] {
        try columns?.masks(of: self) ?? changes.masks
    }

    /// Errors: those above.
    package func checkColumn(_ column: Int) throws(StoreError) {
        let count = try table().columns.count
        guard column >= 0, column < count else {
            throw StoreError(.outOfRange, "column \(column) of \(count.counted("column"))")
        }
    }

    /// What the columns are called. Errors: `.wrongType`: it is not of a table.
    package var columnNames: [String] {
        get throws(StoreError) { try table().columns.map(\.name) }
    }

    fileprivate func table() throws(StoreError) -> TableQuery {
        guard case .table(let query)? = asked else {
            throw StoreError(.wrongType, "the change set is not of a table: it has no columns")
        }
        return query
    }
}

/// In which columns the rows of a table have other values, whose objects were modified: looked for when it is asked.
///
/// What the reader has written himself he shows as it was then, and not as it was before.
final class ColumnMasks: @unchecked Sendable {
    private let query: TableQuery
    /// From which versions to which ones he has written, oldest first.
    var silent: [(from: Snapshot, to: Snapshot)] = []
    private let lock = Lock()
    private var found: [UInt64]?

    init(_ query: TableQuery) { self.query = query }

    fileprivate func masks(of changes: ChangeSet) throws(StoreError) -> [UInt64] {
        try lock.withLock { () throws(StoreError) in
            if let found { return found }
            let keys = changes.modified + changes.moved, words = changes.maskWords
            var masks: [UInt64] = []
            if !keys.isEmpty {
                try Memory.check(for: keys.count * words, each: 8)
                let old = try RowValues(query, changes.before), new = try RowValues(query, changes.after)
                let own = try silent.map { (part) throws(StoreError) in
                    (from: try RowValues(query, part.from), to: try RowValues(query, part.to))
                }
                for key in keys {
                    var shown = try old.valuesIfThere(of: key)
                    for part in own {
                        guard let was = try part.from.valuesIfThere(of: key),
                            let now = try part.to.valuesIfThere(of: key)
                        else { continue }
                        if shown == nil { shown = now }
                        for column in now.indices where !was[column].isSame(as: now[column]) {
                            shown?[column] = now[column]
                        }
                    }
                    masks += RowValues.mask(shown, try new.valuesIfThere(of: key), words)
                }
            }
            found = masks
            return masks
        }
    }
}

extension Store {
    /// The table before or after a change set. What was found for it is not asked again.
    ///
    /// Errors: `.wrongType`: the change set is not of a table; those of asking.
    package func table(of changes: ChangeSet, before: Bool) throws(StoreError) -> Table {
        let query = try changes.table()
        if let known = changes.rows?.side(before: before).table { return known }
        return try asking(changes, before) { (view) throws(StoreError) in try view.table(query) }
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

    private func asking<T>(
        _ changes: ChangeSet, _ before: Bool, _ body: (View) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let view = try view(of: changes, before: before)
        defer { view.close() }
        return try body(view)
    }
}
