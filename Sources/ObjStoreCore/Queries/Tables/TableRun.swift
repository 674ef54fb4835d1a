/// A table query, asked once: of the trees of one version, or of a transaction.
///
/// ```
///  RowBlocks ──► GroupKeys: a number for each object ──► GroupSummary: one for each aggregate
///                                                             │
///                     TableColumn ◄── HAVING, SORT, LIMIT ◄───┘
/// ```
struct TableRun {
    let query: TableQuery
    let trees: TreeAccess
    let run: QueryRun
    let reader: ClusterReader
    /// The objects, where they are known already.
    let list: KeyBuffer?

    /// Errors: as of `QueryRun`.
    init(_ query: TableQuery, _ trees: TreeAccess, of list: KeyBuffer? = nil) throws(StoreError) {
        self.query = query
        self.trees = trees
        self.list = list
        run = try QueryRun(query.objects, trees)
        reader = try trees.objects(run.cls)
    }

    func table() throws(StoreError) -> Table {
        if query.grouping == nil { return try table(try ObjectRows(query.columns, run, trees)) }
        return try query.table(of: try groups(), trees)
    }

    /// All groups, before anything is done with them.
    func groups(_ following: GroupFollowing? = nil) throws(StoreError) -> AskedGroups {
        guard let grouping = query.grouping else {
            throw StoreError(.internalError, "a table of objects has no groups")
        }
        return try groups(grouping, following)
    }

    func table(_ rows: ObjectRows) throws(StoreError) -> Table {
        let columns = try rows.emptyColumns()
        while try rows.append(to: columns) {}
        return Table(finished: columns, storeTag: trees.storeTag)
    }

    private func groups(_ grouping: Grouping, _ following: GroupFollowing?) throws(StoreError) -> AskedGroups {
        var numbers: [NumberColumn] = [], readers: [ObjectReader?] = []
        var summaries: [GroupSummary?] = []
        for slot in grouping.slots {
            switch slot {
            case .value(let value):
                readers.append(try ObjectReader(value, trees, run.cls, &numbers))
                summaries.append(nil)
            case .count:
                readers.append(nil)
                summaries.append(nil)
            case .aggregate(let aggregate, let value, let sums):
                readers.append(nil)
                summaries.append(
                    GroupSummary(
                        aggregate, try ObjectReader(value, trees, run.cls, &numbers), sums, following))
            }
        }
        let keyReaders = readers.prefix(grouping.keys).compactMap { $0 }
        let (keys, blocks) = try keys(keyReaders)
        let assigned = try Memory.allocate(Int32.self, RowBlocks.most)
        defer { assigned.deallocate() }
        while try blocks.advance() {
            let sum = summaries.lazy.compactMap { $0 }.first { $0.isSumOfDoubles }
            try keys.assign(blocks, into: assigned, adding: sum)
            var bytes = keys.inPlace
            for case let summary? in summaries {
                if keys.hasAdded, summary === sum { continue }
                if let bytes, try summary.addInPlace(blocks, bytes, groups: keys.count) { continue }
                if let read = bytes { keys.write(read, blocks.count, into: assigned) }
                bytes = nil
                try summary.add(blocks, assigned, groups: keys.count)
            }
        }
        try keys.beginEmpty()
        for summary in summaries { try summary?.extend(to: keys.count) }
        return AskedGroups(grouping, keys, readers, summaries, reader)
    }

    /// Who tells groups apart, and the objects to be told apart.
    private func keys(_ readers: [ObjectReader]) throws(StoreError) -> (GroupKeys, RowBlocks) {
        if readers.allSatisfy({ GroupKeys.isExact($0.value.kind) }) {
            let blocks = if let list { try RowBlocks(reader, list, isAscending: false) } else { try run.blocks() }
            return (GroupKeys(readers, isCounting: true), blocks)
        }
        // Values that are equal in more than one form.
        let list = if let list { list } else { try run.keys() }
        let order = try RowOrder(list, readers.map { SortKey(of: $0.value) }, trees, run.cls)
        try order.sort(first: list.count)
        return (
            GroupKeys(readers, sorted: try order.groupNumbers(), isCounting: true),
            try RowBlocks(reader, list, isAscending: false)
        )
    }
}

/// The columns of objects, made block after block.
final class ObjectRows {
    private let columns: [TableQuery.Column]
    private let texts: TextForm
    /// Of each column, where it has one: it goes on from batch to batch.
    private var dictionaries: [TextCodes?]
    private let readers: [ObjectReader]
    private let numbers: [NumberColumn]
    private let blocks: RowBlocks

    convenience init(
        _ columns: [TableQuery.Column], _ run: QueryRun, _ trees: TreeAccess, texts: TextForm = .plain
    ) throws(StoreError) {
        try self.init(columns, run.cls, trees, try run.blocks(), texts: texts)
    }

    init(
        _ columns: [TableQuery.Column], _ cls: ClassSchema, _ trees: TreeAccess, _ blocks: RowBlocks, texts: TextForm
    ) throws(StoreError) {
        self.columns = columns
        self.texts = texts
        dictionaries = Array(repeating: nil, count: columns.count)
        var readers: [ObjectReader] = [], numbers: [NumberColumn] = []
        for column in columns {
            guard case .object(let value) = column.source else { continue }
            readers.append(try ObjectReader(value, trees, cls, &numbers))
        }
        (self.readers, self.numbers) = (readers, numbers)
        self.blocks = blocks
    }

    func emptyColumns(expecting rows: Int = 0) throws(StoreError) -> [TableColumn] {
        try columns.indices.map { (index) throws(StoreError) in
            let column = columns[index]
            return try TableColumn(
                column.name, column.kind, target: column.target.map { ClassID.of($0) } ?? 0, expecting: rows,
                cells: try cells(index))
        }
    }

    private func cells(_ column: Int) throws(StoreError) -> ColumnCells? {
        switch texts.of(columns[column].kind) {
        case .plain: return nil
        case .views: return .views(TextViews())
        case .dictionary:
            if let known = dictionaries[column], !known.isLarge { return .codes(known) }
            let codes = try TextCodes()
            dictionaries[column] = codes
            return .codes(codes)
        }
    }

    /// The next block; false: there is none.
    func append(to columns: [TableColumn]) throws(StoreError) -> Bool {
        guard try blocks.advance() else { return false }
        for number in numbers { try number.read(blocks) }
        for (index, reader) in readers.enumerated() {
            if let number = reader.number {
                try columns[index].append(number, blocks.count)
            } else if let text = reader.text {
                try columns[index].append(texts: text, blocks)
            } else {
                let column = columns[index]
                try reader.forEach(blocks) { (_, value) throws(StoreError) in try column.append(value) }
            }
        }
        return true
    }
}

extension TableQuery {
    /// What is done with groups, and what is shown of those that are left.
    func table(of groups: AskedGroups, _ trees: TreeAccess) throws(StoreError) -> Table {
        let all = (0..<Int32(groups.keys.count)).map { $0 }
        return try table(of: groups, all, callsFunctions ? FunctionRun(trees) : nil, storeTag: trees.storeTag).table
    }

    /// - Parameters:
    ///   - list: all groups, in the order of their first objects.
    ///   - named: they are to be known in another table: a column for each key.
    func table(
        of groups: any GroupSlots, _ list: [Int32], _ functions: FunctionRun?, storeTag: UInt32, named: Bool = false
    ) throws(StoreError) -> (table: Table, keys: [TableColumn]) {
        guard let grouping else { throw StoreError(.internalError, "a table of objects has no groups") }
        let found = FoundGroups(grouping, groups, list, functions)
        try found.apply(grouping.steps)
        let made = try columns.map { (column) throws(StoreError) in
            guard case .group(let value) = column.source else {
                throw StoreError(.internalError, "a column of groups is one of objects")
            }
            return try found.column(column, value)
        }
        let keys = try (0..<(named ? grouping.keys : 0)).map { (slot) throws(StoreError) in
            // Most tables show what they are grouped by.
            if let shown = columns.firstIndex(where: { $0.isSlot(slot) }) { return made[shown] }
            return try found.column(key: slot)
        }
        return (Table(finished: made, storeTag: storeTag), keys)
    }
}

extension Table {
    fileprivate convenience init(finished columns: [TableColumn], storeTag: UInt32) {
        for column in columns { column.finish() }
        self.init(columns, rows: columns.first?.count ?? 0, storeTag: storeTag)
    }
}
