internal import ObjStoreCore

/// A question whose answer is a table, with GROUP or SELECT: it can be asked again and again, and observed.
///
/// ```swift
/// let cities = try dogs.tableResults("GROUP(city) SELECT(city, @count AS n)")
/// print(try cities.table().count)
/// let token = try cities.observe { change in show(try change.table, change.deletions, change.insertions) }
/// ```
/// It is live as results are: the table is of what the store shows when it is asked.
public struct TableResults: Sendable {
    let space: ObjectSpace
    let query: TableQuery

    /// The table as it is now. Errors: `.closedHandle`; those of functions that it calls.
    public func table() throws(ObjStoreError) -> Table {
        let view = space.current
        return Table(table: try core { () throws(StoreError) in try view.table(query) }, space: space)
    }
}

// MARK: What they are of

extension Results {
    /// What a text with GROUP or SELECT says of these, to be observed; see ``table(_:_:)``, which gives it at once.
    public func tableResults(_ text: String, _ arguments: Any?...) throws(ObjStoreError) -> TableResults {
        try tableResults(text, arguments: arguments)
    }

    /// The same of values of each object: `dogs.tableResults { ($0.name, $0.owner.name) }`; see ``select(_:)``.
    public func tableResults<each Column: CollectionElement>(
        _ columns: (Query<Element>) -> (repeat Query<each Column>)
    ) throws(ObjStoreError) -> TableResults {
        let made = columns(try asked.object)
        var parts: [QueryNodes] = []
        for column in repeat each made { parts.append(column.nodes) }
        return try tableResults([QueryNodes.joined(parts, .select)])
    }

    func tableResults(_ text: String, arguments: [Any?]) throws(ObjStoreError) -> TableResults {
        try tableResults { (view, binding) throws(ObjStoreError) in try question(text, arguments, view, binding) }
    }

    func tableResults(_ steps: [QueryNodes]) throws(ObjStoreError) -> TableResults {
        try tableResults { (view, binding) throws(ObjStoreError) in try question(steps, view, binding) }
    }

    private func tableResults(
        made: (View, ClassBinding) throws(ObjStoreError) -> AnyQuery
    ) throws(ObjStoreError) -> TableResults {
        let view = space.current, other = try made(view, try space.binding(Element.self))
        return TableResults(
            space: space,
            query: try asking(view) { (_, _, query) throws(StoreError) in try query.then(other).ofTable() })
    }
}

extension Groups {
    /// The keys, and how many objects there are, to be asked and observed.
    public func tableResults() throws(ObjStoreError) -> TableResults { try results.tableResults(steps) }

    /// Values of each group: `groups.tableResults { ($0.city, $0.count) }`; see ``select(_:)``.
    public func tableResults<each Column: CollectionElement>(
        _ columns: (Group<Element>) -> (repeat Query<each Column>)
    ) throws(ObjStoreError) -> TableResults {
        let made = columns(try results.asked)
        var parts: [QueryNodes] = []
        for column in repeat each made { parts.append(column.nodes) }
        return try results.tableResults(steps + [QueryNodes.joined(parts, .select)])
    }
}

// MARK: Observing

extension TableResults: ObservableCollection {
    /// Calls `handler` with what changes in the table, in this or another process: first an initial change, of what is
    /// there at its delivery, then one for all that was committed since the last. As with results, `deliver()`,
    /// `wait()` or the worker call it.
    ///
    /// Rows of objects are followed: one is modified when something was written that a column reads. A group is known
    /// by its keys, and modified when another value of it is another one; groups are followed as `docs/observing.md`
    /// says.
    /// Errors: `.wrongView` (a table of a ``Snapshot`` never changes), `.readOnly`, `.closedHandle`; `.invalidArgument`
    /// (there are key paths, which are of objects); those of asking.
    public func observe(
        _ handler: @escaping @Sendable (TableChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try _observe(nil, nil, handler) }

    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?, _ handler: @escaping @Sendable (TableChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        guard !space.isFrozen else { throw ObjStoreError(.wrongView, "a table of frozen results never changes") }
        let live = space
        return try live.observe(.table(query), keyPaths, place) { try handler(TableChange($0, live)) }
    }
    public var _home: _ObservedHome { _ObservedHome(space: space) }
}

extension Groups: ObservableCollection {
    /// Calls `handler` with what changes in the table of the groups, which ``table()`` gives: see
    /// ``TableResults/observe(_:)``. Errors: also those of ``table()``.
    public func observe(
        _ handler: @escaping @Sendable (TableChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try _observe(nil, nil, handler) }

    public func _observe(
        _ keyPaths: [String]?, _ place: HandlerPlace?, _ handler: @escaping @Sendable (TableChange) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken { try tableResults()._observe(keyPaths, place, handler) }
    public var _home: _ObservedHome { results._home }
}

extension ObjectSpace {
    /// Observes a question whose answer is no objects.
    func observe(
        _ query: AnyQuery, _ keyPaths: [String]?, _ place: HandlerPlace?,
        _ handler: @escaping @Sendable (ObjStoreCore.ChangeSet) throws -> Void
    ) throws(ObjStoreError) -> NotificationToken {
        try HandlerPlace.token(place, handle) { (hub) throws(ObjStoreError) in
            try core { () throws(StoreError) in
                guard view.kind == .live else {
                    throw StoreError(.wrongView, "what is asked of a \(view.kind) view cannot be observed")
                }
                let options = ObserverOptions(
                    initial: true, keyPaths: keyPaths, paused: HandlerPlace.beginsPaused(place))
                return try handle.store.observe(query, options, on: hub) { changes in
                    self.telling(place) { try handler(changes) }
                }
            }
        }
    }
}

// MARK: On a screen

/// A row of a table as lists show it: `row["city"]`; see ``LiveList``.
public struct TableRow: Sendable {
    public let table: Table
    /// Which row of the table it is.
    public let index: Int

    /// A value; nil: there is no such column.
    public subscript(_ column: String) -> AnyValue? { try? table.value(index, column) }
}

extension TableResults: ListSource {
    public static func _listed(after change: TableChange) -> Pinned<TableRow> { change.rows }
}
extension Groups: ListSource {
    public static func _listed(after change: TableChange) -> Pinned<TableRow> { change.rows }
}
