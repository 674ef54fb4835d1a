/// A table, and by what each of its rows is known in another table of the same query: by its object, or by the keys of
/// its group. Immutable.
final class FoundTable: @unchecked Sendable {
    let table: Table
    /// Of groups that can be followed.
    let groups: FollowedGroups?
    private let names: Names

    private enum Names {
        case objects(KeyBuffer)
        /// The keys of groups, whether they are columns of the table or not.
        case groups([TableColumn])
    }

    init(_ table: Table, of objects: KeyBuffer) { (self.table, groups, names) = (table, nil, .objects(objects)) }

    /// - Parameter keys: of the groups that are left.
    init(_ table: Table, of keys: [TableColumn], following groups: FollowedGroups?) {
        (self.table, self.groups, names) = (table, groups, .groups(keys))
    }

    /// What a row is known by. Bytes belong to the table.
    func name(_ row: Int) -> RowName {
        switch names {
        case .objects(let keys): return .number(keys.keys[row])
        case .groups(let keys): return RowName(keys.lazy.map { $0.value(row) })
        }
    }
}

/// What a row of an answer is known by in another answer to the same question.
enum RowName: Hashable {
    case number(Int64)
    case value(ElementValue)
    case values([ElementValue])

    /// By values, as they are.
    init(_ values: some Collection<Value>) {
        if values.count == 1, let value = values.first {
            self = .value(ElementValue(value))
        } else {
            self = .values(values.map { ElementValue($0) })
        }
    }

    /// By the forms that equal values have in common. Nil: a list or map is among them.
    init?(formsOf values: some Collection<Value>) {
        if values.count == 1, let value = values.first {
            guard let form = value.keyForm else { return nil }
            self = .value(ElementValue(form))
            return
        }
        var forms: [ElementValue] = []
        for value in values {
            guard let form = value.keyForm else { return nil }
            forms.append(ElementValue(form))
        }
        self = .values(forms)
    }
}

extension TableRun {
    /// The table with what its rows are known by.
    func found(_ followed: FollowedTable?) throws(StoreError) -> FoundTable {
        if query.grouping == nil {
            let list = try run.keys(), isAscending = query.objects.steps.isEmpty && query.objects.origin.isObjects
            let blocks = try RowBlocks(reader, list, isAscending: isAscending)
            return FoundTable(try table(try ObjectRows(query.columns, run.cls, trees, blocks, texts: .plain)), of: list)
        }
        let following = followed?.next, groups = try groups(following)
        if let following {
            if let found = try FollowedGroups(groups, query) { return try found.found(query, trees) }
            followed?.cannot(following)
        }
        return try found(groups, (0..<Int32(groups.keys.count)).map { $0 })
    }

    /// The table without groups.
    func foundNothing() throws(StoreError) -> FoundTable { try found(try groups(), []) }

    private func found(_ groups: AskedGroups, _ list: [Int32]) throws(StoreError) -> FoundTable {
        let functions = query.callsFunctions ? FunctionRun(trees) : nil
        let (table, keys) = try query.table(of: groups, list, functions, storeTag: trees.storeTag, named: true)
        return FoundTable(table, of: keys, following: nil)
    }
}
