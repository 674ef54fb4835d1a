/// A table, or plain values, before and after what a change set tells of.
struct ChangedRows {
    let before: ObservedRows
    let after: ObservedRows

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
            if query.isOfMap && keys == nil { keys = ChangedKeys() }
        }
    }

    /// How many words the mask of a modification has.
    package var maskWords: Int { asked?.columnWords ?? changes.maskWords }

    /// Of all modifications, then of all moves: the properties that were written; of a table the columns that have
    /// another value, which are looked for now.
    package func masks() throws(StoreError) -> [UInt64] {
        try columns?.masks(of: self) ?? changes.masks
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
