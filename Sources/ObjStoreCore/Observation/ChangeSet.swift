/// What an observer gets: which objects were deleted, inserted and modified between two versions.
///
/// Immutable except for the observer it is for; it pins both versions while it is referenced, so that deleted objects
/// can still be read.
package final class ChangeSet: @unchecked Sendable {
    package let classID: UInt32
    package let before: Snapshot
    package let after: Snapshot
    /// The first one of an observer that requested it: no lists.
    package let isInitial: Bool
    /// It is too late to say what changed: the observer begins anew with the version after.
    package internal(set) var isLost = false
    /// Found by comparing two versions, so late was it: only real changes.
    package let isCompared: Bool
    package let changes: ClassChanges
    /// Of a result list; nil for a whole class.
    package let indices: Indices?
    /// What its reader has done to the list himself, before what this says.
    var silent: (removed: [Int64], added: [Int64]) = ([], [])
    /// What its reader was not told of led to these versions, oldest first.
    var silentVersions: [Snapshot] = []
    /// Of a list with an order of its own: as it was, until the observer was told.
    var listBefore: KeyBuffer?
    /// The owner of the observed collection is gone: there is nothing in it any more.
    package internal(set) var isOwnerDeleted = false
    /// Of an observed list, set or map: it had elements, and has none now.
    package internal(set) var isCleared = false
    /// Of an observed map.
    package internal(set) var keys: ChangedKeys?
    /// Of results in sections, where `indices` are those in their sections.
    package internal(set) var sections: ChangedSections?
    /// Of a table, or plain values, what was asked; nil: something else is told of.
    var asked: RowsScope?
    /// Nil: what it was is found in its versions.
    var rows: ChangedRows?
    /// Of rows that are objects.
    var columns: ColumnMasks?
    /// What the lists tell of.
    package internal(set) var elements = Elements.objects
    /// The observer it is for.
    weak var observer: Observer?
    /// Set by a handler that could not do its work: it comes again, with what is committed meanwhile.
    package var isUntold = false
    /// Of an observer of one object: it is not there any more, and nothing more is to be told.
    var isOfDeletedObject = false

    package enum Elements: Sendable {
        /// Object keys.
        case objects
        /// Positions of the elements of a list or set, as in `indices`.
        case values
        /// The same of a map.
        case entries
    }

    /// Positions in the list before and after, in the order of the lists of keys.
    package struct Indices: Sendable {
        package internal(set) var deleted: [UInt64] = []
        package internal(set) var inserted: [UInt64] = []
        package internal(set) var modifiedBefore: [UInt64] = []
        package internal(set) var modifiedAfter: [UInt64] = []
        package internal(set) var movedBefore: [UInt64] = []
        package internal(set) var movedAfter: [UInt64] = []
    }

    init(
        classID: UInt32, before: Snapshot, after: Snapshot, changes: ClassChanges, indices: Indices?,
        isInitial: Bool = false, isCompared: Bool = false
    ) {
        self.classID = classID
        self.before = before
        self.after = after
        self.changes = changes
        self.indices = indices
        self.isInitial = isInitial
        self.isCompared = isCompared
    }

    /// That something was committed, and not what: of no class.
    convenience init(
        commits before: Snapshot, _ after: Snapshot, isInitial: Bool = false, isCompared: Bool = false,
        isFromOtherProcess: Bool = false
    ) {
        var changes = ClassChanges(maskWords: 0)
        changes.isFromOtherProcess = isFromOtherProcess
        self.init(
            classID: .max, before: before, after: after, changes: changes, indices: nil, isInitial: isInitial,
            isCompared: isCompared)
    }

    package var isOfCommits: Bool { classID == .max }

    package var fromVersion: UInt64 { before.version }
    package var toVersion: UInt64 { after.version }
    /// Another process committed some of it. (After comparing versions: may have.)
    package var isFromOtherProcess: Bool { changes.isFromOtherProcess }
    package var deleted: [Int64] { changes.deleted }
    package var inserted: [Int64] { changes.inserted }
    package var modified: [Int64] { changes.modified }
    package var moved: [Int64] { changes.moved }
    /// The class as `after` has it; positions of properties in masks are its.
    package var schema: ClassSchema { after.schema.classes[Int(classID)] }

    /// Whether a property of the modification at `index` was written; moved objects follow the modified ones.
    package func hasChanged(_ property: Int, ofModification index: Int) -> Bool {
        changes.masks[index * changes.maskWords + property >> 6] >> UInt64(property & 63) & 1 != 0
    }
}
