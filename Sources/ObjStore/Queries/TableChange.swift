internal import ObjStoreCore

/// What happened to a table between two versions, in this or another process: which rows came, went, moved and show
/// something else.
///
/// ```swift
/// let token = try dogs.group(by: { $0.city }).observe { change in
///     let table = try change.table
///     for row in change.modifications { print(try table.value(row, "city"), "has changed") }
/// }
/// ```
/// Links in its tables lead to frozen objects. It keeps both versions: let go of it. Any thread.
public struct TableChange: Sendable {
    private let changes: ObjStoreCore.ChangeSet
    private let sides: ChangeSides

    init(_ changes: ObjStoreCore.ChangeSet, _ live: ObjectSpace) {
        self.changes = changes
        sides = ChangeSides(changes, live)
    }

    /// The table as it is after the change. One of groups is the one that was compared, and one of objects is asked for
    /// each time.
    ///
    /// Errors: `.closedHandle`, `.tooManyReaders`; those of asking.
    public var table: Table { get throws(ObjStoreError) { try table(before: false) } }
    /// The table as the version before has it, which lacks what was written without notifying the observer since; the
    /// positions before are those in the rows that he knows. Errors: the same.
    public var tableBefore: Table { get throws(ObjStoreError) { try table(before: true) } }

    private func table(before: Bool) throws(ObjStoreError) -> Table {
        let space = try sides.space(before: before)
        return Table(
            table: try core { () throws(StoreError) in try space.handle.store.table(of: changes, before: before) },
            space: space)
    }

    /// The first one of an observer: nothing has changed yet.
    public var isInitial: Bool { changes.isInitial }
    /// It came too late to say what changed (`Store.Configuration.observerLag`): look at everything anew.
    public var isLost: Bool { changes.isLost }
    /// Another process committed some of it.
    public var isFromOtherProcess: Bool { changes.isFromOtherProcess }
    /// The log did not reach back so far; see ``ChangeSet``.
    public var isCompared: Bool { changes.isCompared }
    /// Of what is asked of a collection: its owner was deleted, and nothing more comes. Also where what is asked about
    /// was dropped by a newer schema.
    public var isOwnerDeleted: Bool { changes.isOwnerDeleted }
    public var fromVersion: UInt64 { changes.fromVersion }
    public var toVersion: UInt64 { changes.toVersion }

    // MARK: Rows, ascending: as of `ChangeSet`

    /// In the table before: of what went, and of what moved.
    public var deletions: [Int] { changes.merged(\.deleted, \.movedBefore) }
    /// In the table after: of what came, and of what moved.
    public var insertions: [Int] { changes.merged(\.inserted, \.movedAfter) }
    /// In the table after: groups with another value, and objects of which something was written that a column reads.
    public var modifications: [Int] { changes.positions(\.modifiedAfter) }
    /// The same rows in the table before.
    public var modificationsBefore: [Int] { changes.positions(\.modifiedBefore) }
    /// Rows that stand elsewhere among the others: before and after, ascending by the first.
    public var moves: [PositionMove] { changes.moves }

    /// The columns that have another value than before in the row `modifications[index]`: none, where an object was
    /// written and shows the same. Errors: `.outOfRange`.
    public func changedColumns(at index: Int) throws(ObjStoreError) -> [String] {
        try changed { () throws(StoreError) in try changes.row(ofModification: index) }
    }

    /// The same of the row that `moves[index]` is about. Errors: `.outOfRange`.
    public func changedColumns(ofMove index: Int) throws(ObjStoreError) -> [String] {
        try changed { () throws(StoreError) in try changes.row(ofMove: index) }
    }

    private func changed(_ row: () throws(StoreError) -> UInt64) throws(ObjStoreError) -> [String] {
        try core { () throws(StoreError) in
            let row = try row()
            var names: [String] = []
            for (column, name) in try changes.columnNames.enumerated()
            where try changes.hasChanged(column: column, atModification: row) {
                names.append(name)
            }
            return names
        }
    }

    /// Those after the change, for lists.
    var rows: Pinned<TableRow> {
        do throws(ObjStoreError) {
            let table = try table
            return Pinned(0..<table.count) { TableRow(table: table, index: $0) }
        } catch {
            sides.live.handle.reports.report(error)
            return Pinned([])
        }
    }

    /// The store as it was. Errors: `.closedHandle`, `.tooManyReaders`.
    public func before() throws(ObjStoreError) -> Snapshot { Snapshot(try sides.space(before: true)) }
    /// The store as it is after the change. Errors: as of ``before()``.
    public func after() throws(ObjStoreError) -> Snapshot { Snapshot(try sides.space(before: false)) }
}
extension TableChange: PositionedChange {}
