/// Objects of an observed class that were modified, with what was written; and those of which an observer is told.
struct ModifiedObjects {
    private(set) var masks: [Int64: [UInt64]] = [:]
    /// Nil: all.
    private(set) var told: Set<Int64>?

    init() {}

    init(masks: [Int64: [UInt64]], told: Set<Int64>?) { (self.masks, self.told) = (masks, told) }

    /// All of a class.
    init(_ reader: ChangeReader, _ classIndex: Int, _ paths: ObservedPaths) throws(StoreError) {
        masks = try LinkedChanges(reader, classIndex, paths).masks
        var properties: ToldProperties?
        if case .some(let path) = paths, !path.isWhole {
            properties = ToldProperties(path, reader)
            told = Set(masks.keys)
        }
        guard let changes = reader.classes[UInt32(classIndex)] else { return }
        for (index, key) in changes.modified.enumerated() {
            let mask = changes.mask(index)
            if let linked = masks[key] {
                masks[key] = zip(linked, mask).map { $0 | $1 }
            } else {
                masks[key] = Array(mask)
            }
            if properties?.isTold(key, mask) == true { told?.insert(key) }
        }
    }

    var isUntold: Bool { told?.isEmpty ?? masks.isEmpty }

    /// - Parameter maskWords: of the version at the end, where its properties are others: which of them were written is
    ///   not known.
    mutating func add(_ more: ModifiedObjects, maskWords: Int?) {
        if more.masks.isEmpty { return }
        if let told = more.told { self.told = (self.told ?? []).union(told) }
        for (key, mask) in more.masks {
            if let maskWords {
                masks[key] = Array(repeating: .max, count: maskWords)
            } else {
                masks[key] = masks[key].map { zip($0, mask).map { $0 | $1 } } ?? mask
            }
        }
    }
}

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
    private var modified = ModifiedObjects()
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
        if !isSilent {
            modified.add(
                try ModifiedObjects(reader, Int(scope.classID), scope.paths),
                maskWords: hasOtherProperties ? maskWords : nil)
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
        if isSilent {
            shown = try ListDifference(list, next, changed: []).applied(to: shown, isByCreation: scope.isByCreation)
        }
        list = next
    }

    /// What is to be told, when all parts are added; nil: nothing.
    func told() throws(StoreError) -> (changes: ClassChanges, indices: ChangeSet.Indices)? {
        if shown === list && modified.isUntold && !isOwnerDeleted { return nil }
        let (changes, indices) = try ListStep.difference(
            shown, list, modified, maskWords, isFromOtherProcess: isFromOtherProcess)
        return changes.isEmpty && !isOwnerDeleted ? nil : (changes, indices)
    }

    /// What leads from one list to another, with what was written in which objects.
    static func difference(
        _ before: KeyBuffer, _ after: KeyBuffer, _ modified: ModifiedObjects, _ maskWords: Int,
        isFromOtherProcess: Bool
    ) throws(StoreError) -> (ClassChanges, ChangeSet.Indices) {
        var difference = try ListDifference(before, after, changed: Set(modified.masks.keys))
        if let told = modified.told { difference.keepModified(told) }
        var changes = ClassChanges(maskWords: maskWords)
        changes.isFromOtherProcess = isFromOtherProcess
        changes.deleted = difference.deletedKeys
        changes.inserted = difference.insertedKeys
        changes.modified = difference.modifiedKeys
        changes.moved = difference.movedKeys
        let none = [UInt64](repeating: 0, count: maskWords)
        for key in changes.modified + changes.moved { changes.masks += modified.masks[key] ?? none }
        return (changes, difference.indices)
    }
}
