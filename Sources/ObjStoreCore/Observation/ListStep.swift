/// A step of an observer whose answer has an order of its own, or depends on other objects than those in it: the answer
/// is found anew where something happened that it depends on, and compared with the one before.
///
/// ```
///  known ──► silent ──► newest      the list of each version, where it can have changed
///    │         └ applied to what the reader has
///    └──────── ListDifference ──────► deletions, insertions, moves, modifications
/// ```
struct ListStep {
    private let scope: ObserverScope
    private let newest: Snapshot
    private let maskWords: Int
    /// The answer in the version that was looked at last.
    private(set) var list: KeyBuffer
    /// What the reader has: the same, unless he was not told of something.
    private var shown: KeyBuffer
    /// Objects that were modified, with what was written.
    private var masks: [Int64: [UInt64]] = [:]
    private var isFromOtherProcess = false
    private(set) var isOwnerDeleted = false

    init(_ scope: ObserverScope, _ list: KeyBuffer, to newest: Snapshot) {
        self.scope = scope
        self.newest = newest
        self.list = list
        shown = list
        maskWords = ClassChanges.maskWords(newest.schema.classes[Int(scope.classID)])
    }

    mutating func add(_ reader: ChangeReader, isSilent: Bool) throws(StoreError) {
        let hasOtherProperties = try reader.to.schemaRef() != newest.schemaRef()
        if !isSilent, let changes = reader.classes[scope.classID] {
            let columns = scope.columnMask(in: reader.to, maskWords: changes.maskWords)
            for (index, key) in changes.modified.enumerated() {
                let mask = changes.mask(index)
                if let columns, !zip(mask, columns).contains(where: { $0 & $1 != 0 }) { continue }
                let known = masks[key] ?? [UInt64](repeating: 0, count: maskWords)
                masks[key] = hasOtherProperties ? known.map { _ in .max } : zip(known, mask).map { $0 | $1 }
            }
        }
        let isConcerned =
            try reader.from.schemaRef() != reader.to.schemaRef()
            || scope.reads.concern(reader.classes, reader.to.schema)
        if !isSilent {
            isFromOtherProcess = isFromOtherProcess || scope.isFromOtherProcess(reader)
            if let owner = scope.query.origin.collection?.owner,
                let changes = reader.classes[UInt32(ClassID.index(owner.classID))], changes.deleted.contains(owner.key)
            {
                isOwnerDeleted = true
            }
        }
        if !isConcerned { return }
        if InjectedBug.active(.listStale), reader.classes[scope.classID] == nil { return }
        let next = try scope.keys(in: reader.to)
        if isSilent { shown = try ListDifference(list, next, changed: []).applied(to: shown) }
        list = next
    }

    /// What is to be told, when all parts are added; nil: nothing.
    func told() throws(StoreError) -> (changes: ClassChanges, indices: ChangeSet.Indices)? {
        if shown === list && masks.isEmpty && !isOwnerDeleted { return nil }
        let (changes, indices) = try ListStep.difference(
            shown, list, masks, maskWords, isFromOtherProcess: isFromOtherProcess)
        return changes.isEmpty && !isOwnerDeleted ? nil : (changes, indices)
    }

    /// What leads from one list to another, with what was written in which objects.
    static func difference(
        _ before: KeyBuffer, _ after: KeyBuffer, _ masks: [Int64: [UInt64]], _ maskWords: Int, isFromOtherProcess: Bool
    ) throws(StoreError) -> (ClassChanges, ChangeSet.Indices) {
        let difference = try ListDifference(before, after, changed: Set(masks.keys))
        var changes = ClassChanges(maskWords: maskWords)
        changes.isFromOtherProcess = isFromOtherProcess
        changes.deleted = difference.deletedKeys
        changes.inserted = difference.insertedKeys
        changes.modified = difference.modifiedKeys
        changes.moved = difference.movedKeys
        let none = [UInt64](repeating: 0, count: maskWords)
        for key in changes.modified + changes.moved { changes.masks += masks[key] ?? none }
        return (changes, difference.indices)
    }
}
