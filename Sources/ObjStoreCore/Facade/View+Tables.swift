/// Tables: what `Queries/Tables` makes of the objects that the view shows.
extension View {
    /// Errors: `.wrongStore`; `.noSuchClass`, `.noSuchProperty`: the view is older than they, or they were dropped;
    /// `.outOfMemory`.
    package func table(_ query: TableQuery) throws(StoreError) -> Table {
        try asking(query.objects.classID, query.callsFunctions) { (trees) throws(StoreError) in
            try TableRun(query, trees).table()
        }
    }

    /// Runs `body`, which asks about objects of a class.
    func asking<T>(
        _ classID: UInt32, _ callsFunctions: Bool, _ body: (TreeAccess) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        callsFunctions || isWatched
            ? try calling(classID, body) : try serialised { () throws(StoreError) in try body(try trees) }
    }

    /// How the objects of the table are found, and what is done with them; with `runs` it is asked.
    package func explain(_ query: TableQuery, runs: Bool) throws(StoreError) -> QueryPlan {
        let machine = store.shared.database.machine
        let names = try serialised { () throws(StoreError) in QueryNames(try schema, store.names) }
        return try asking(query.objects.classID, query.callsFunctions) { (trees) throws(StoreError) in
            var plan = try QueryRun(query.objects, trees).plan(names, nil)
            plan.query = try? query.text()
            plan.steps = try query.tree.stepTexts(names)
            if runs {
                let start = machine.monotonic()
                QueryThreads.used = 0
                let table = try TableRun(query, trees).table()
                var outcome = QueryPlan.Outcome()
                outcome.threads = QueryThreads.used
                outcome.microseconds = (machine.monotonic() - start) / 1000
                outcome.objects = try QueryRun(query.objects, trees).count()
                outcome.rows = table.rows
                plan.outcome = outcome
            }
            return plan
        }
    }

    package func explain(_ query: AnyQuery, runs: Bool) throws(StoreError) -> QueryPlan {
        switch query {
        case .objects(let query): try explain(query, runs: runs)
        case .table(let query): try explain(query, runs: runs)
        case .values: throw View.notOfValues("explained")
        }
    }

    // MARK: Arrow

    /// What a query finds as a stream: a table's columns, or all properties of single values.
    package func arrow(_ query: AnyQuery, texts: TextForm) throws(StoreError) -> ArrowStream {
        switch query {
        case .table(let query) where query.grouping != nil:
            return ArrowStream(try table(query), texts: texts)
        case .table(let query):
            return try stream(query.objects.classID, query.columns, query.callsFunctions, texts) {
                (view, trees) throws(StoreError) in
                try ObjectRows(query.columns, try QueryRun(query.objects, trees), trees, texts: texts)
            }
        case .values: throw View.notOfValues("read as Arrow")
        case .objects(let query):
            let columns = try serialised { () throws(StoreError) in
                try TableQuery.columns(
                    of: try trees.schema.cls(query.classID), UnsafeBufferPointer(start: nil, count: 0), store.names)
            }
            return try stream(query.classID, columns, query.callsFunctions, texts) { (view, trees) throws(StoreError) in
                try ObjectRows(columns, try QueryRun(query, trees), trees, texts: texts)
            }
        }
    }

    /// Properties of the objects of results, with the values of this view; none: all of single values. Of an object
    /// that was deleted everything is null.
    package func arrow(
        _ results: Results, _ properties: UnsafeBufferPointer<UInt32>, texts: TextForm
    ) throws(StoreError) -> ArrowStream {
        let (list, version) = results.listAndVersion(), query = results.query
        let columns = try serialised { () throws(StoreError) in
            try TableQuery.columns(of: try trees.schema.cls(results.classID), properties, store.names)
        }
        return try stream(results.classID, columns, false, texts) { (view, trees) throws(StoreError) in
            let cls = try trees.schema.cls(results.classID), reader = try trees.objects(cls)
            // In a transaction the version says little.
            let seen = try view.versionUnlocked(), isCurrent = view.kind != .transaction && seen == version
            let isAscending = isCurrent && query.steps.isEmpty && query.origin.isObjects
            let blocks = try RowBlocks(reader, list, isAscending: isAscending, mayMiss: !isCurrent)
            return try ObjectRows(columns, cls, trees, blocks, texts: texts)
        }
    }

    /// Of a version the rows are read when they are asked for; of a transaction now, for it goes on, and so is what
    /// functions are called for.
    private func stream(
        _ classID: UInt32, _ columns: [TableQuery.Column], _ callsFunctions: Bool, _ texts: TextForm,
        _ rows: (View, TreeAccess) throws(StoreError) -> ObjectRows
    ) throws(StoreError) -> ArrowStream {
        let shown = columns.map { ArrowColumn($0.name, $0.kind, texts) }
        if kind == .transaction || callsFunctions {
            let tables = try asking(classID, callsFunctions) { (trees) throws(StoreError) in
                let rows = try rows(self, trees)
                var tables: [Table] = []
                while let table = try rows.batch(trees.storeTag) { tables.append(table) }
                return tables
            }
            return ArrowStream(shown, TablesSource(tables))
        }
        let view = try freeze()
        do throws(StoreError) {
            let source = try view.asking(classID, false) { (trees) throws(StoreError) in
                RowsSource(view, classID, try rows(view, trees), storeTag: trees.storeTag)
            }
            return ArrowStream(shown, source)
        } catch {
            view.close()
            throw error
        }
    }
}

extension TableQuery {
    /// Properties of a class as columns; none given: all of single values.
    static func columns(
        of cls: ClassSchema, _ properties: UnsafeBufferPointer<UInt32>, _ names: StoredNames
    ) throws(StoreError) -> [Column] {
        var positions: [Int] = []
        for id in properties { positions.append(try cls.position(id)) }
        if properties.isEmpty { positions = cls.columns.indices.filter { !cls.columns[$0].kind.isCollection } }
        guard !positions.isEmpty else {
            throw StoreError(.invalidArgument, "\(cls.name) has no properties of single values").at(class: cls.name)
        }
        var columns: [Column] = []
        for (index, position) in positions.enumerated() {
            let spec = cls.columns[position]
            if positions[..<index].contains(position) {
                throw cls.named(
                    StoreError(.invalidArgument, "\(cls.name).\(cls.properties[position].name) is given twice"),
                    position)
            }
            if spec.kind.isCollection {
                throw cls.wrongCollection(position, "a single value", "elements are read object by object")
            }
            let value = ObjectValue(
                program: ValueProgram(steps: [.property(0)], kind: spec.kind), properties: [cls.propertyID(position)],
                target: cls.properties[position].target)
            columns.append(
                Column(
                    name: names.name(cls, position), kind: spec.kind, target: value.target, source: .object(value)))
        }
        return columns
    }
}
