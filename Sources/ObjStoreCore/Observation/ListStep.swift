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

/// What an observer is told of, as it was found in one version: a list, or sections.
protocol FoundAnswer: AnyObject {
    /// - Parameter list: what the query finds; nil: it is asked.
    static func found(_ scope: ObserverScope, _ list: KeyBuffer?, in snapshot: Snapshot) throws(StoreError) -> Self

    /// What a reader has who has had `shown`, and has done to it himself what leads from this one to `next`.
    ///
    /// - Parameter order: where objects belong in what he has; nil: behind those that they are behind.
    func shown(to next: Self, by shown: Self, _ order: ShownOrder?) throws(StoreError) -> Self

    /// What leads from this one to `next`, with what was written in which objects.
    func difference(
        to next: Self, _ scope: ObserverScope, _ modified: ModifiedObjects, maskWords: Int
    ) throws(StoreError) -> ToldDifference
}

struct ToldDifference {
    var changes: ClassChanges
    var indices: ChangeSet.Indices
    var sections: ChangedSections?
    /// Of a map's values.
    var keys: ChangedKeys?

    init(changes: ClassChanges, indices: ChangeSet.Indices, sections: ChangedSections? = nil) {
        (self.changes, self.indices, self.sections) = (changes, indices, sections)
    }

    /// Nothing of some changes.
    init(noneOf changes: ClassChanges) {
        self.init(changes: ClassChanges(maskWords: changes.maskWords), indices: ChangeSet.Indices())
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
struct ListStep<Answer: FoundAnswer> {
    private let scope: ObserverScope
    private let newest: Snapshot
    private let maskWords: Int
    /// The answer in the version that was looked at last.
    private(set) var list: Answer
    /// What the reader has: the same, unless he was not told of something.
    private var shown: Answer
    /// By what he puts there what he has written himself.
    private let order: ShownOrder?
    private var modified = ModifiedObjects()
    private var isFromOtherProcess = false
    private(set) var isOwnerDeleted = false

    /// - Parameter parts: at least one, which are going to be added.
    init(_ scope: ObserverScope, _ list: Answer, _ parts: [ObservedAnswer.Part]) throws(StoreError) {
        self.scope = scope
        newest = parts[parts.count - 1].reader.to
        self.list = list
        shown = list
        order = try ShownOrder(scope, parts)
        maskWords = ClassChanges.maskWords(newest.schema.classes[Int(scope.classID)])
    }

    /// - Parameter found: what the query finds after it; nil: it is asked where it is wanted.
    mutating func add(_ reader: ChangeReader, isSilent: Bool, found: KeyBuffer? = nil) throws(StoreError) {
        let hasOtherProperties = try reader.to.schemaRef() != newest.schemaRef()
        if !isSilent && !scope.isRows {
            modified.add(
                try ModifiedObjects(reader, Int(scope.classID), scope.paths),
                maskWords: hasOtherProperties ? maskWords : nil)
        }
        if !isSilent {
            isFromOtherProcess = isFromOtherProcess || scope.isFromOtherProcess(reader)
            if let owner = scope.query.origin.collection?.owner ?? scope.rows?.owner,
                let changes = reader.classes[UInt32(ClassID.index(owner.classID))], changes.deleted.contains(owner.key)
            {
                isOwnerDeleted = true
            }
        }
        if try !scope.mayDiffer(after: reader) { return }
        if InjectedBug.active(.listStale), reader.classes[scope.classID] == nil { return }
        let next = try Answer.found(scope, found, in: reader.to)
        if isSilent {
            try order?.move(over: reader)
            shown = try list.shown(to: next, by: shown, order)
        }
        list = next
    }

    /// What is to be told, when all parts are added; nil: nothing.
    func told() throws(StoreError) -> ToldDifference? {
        if shown === list && modified.isUntold && !isOwnerDeleted { return nil }
        var told = try shown.difference(to: list, scope, modified, maskWords: maskWords)
        told.changes.isFromOtherProcess = isFromOtherProcess
        return told.changes.isEmpty && !isOwnerDeleted ? nil : told
    }
}

extension ObserverScope {
    /// Whether what happened may have made the answer another one.
    func mayDiffer(after reader: ChangeReader) throws(StoreError) -> Bool {
        if case .values(let values)? = rows { return try mayDiffer(values, after: reader) }
        return try reader.from.schemaRef() != reader.to.schemaRef() || reads.concern(reader.classes, reader.to.schema)
    }
}

extension KeyBuffer: FoundAnswer {
    static func found(
        _ scope: ObserverScope, _ list: KeyBuffer?, in snapshot: Snapshot
    ) throws(StoreError) -> KeyBuffer {
        if let list { return list }
        return try scope.keys(in: snapshot)
    }

    func shown(
        to next: KeyBuffer, by shown: KeyBuffer, _ order: ShownOrder?
    ) throws(StoreError) -> KeyBuffer {
        try ListDifference(self, next, changed: order?.turned ?? []).applied(to: shown, order)
    }

    func difference(
        to next: KeyBuffer, _: ObserverScope, _ modified: ModifiedObjects, maskWords: Int
    ) throws(StoreError) -> ToldDifference {
        var difference = try ListDifference(self, next, changed: Set(modified.masks.keys))
        if let told = modified.told { difference.keepModified(told) }
        var changes = ClassChanges(maskWords: maskWords)
        changes.deleted = difference.deletedKeys
        changes.inserted = difference.insertedKeys
        changes.modified = difference.modifiedKeys
        changes.moved = difference.movedKeys
        let none = [UInt64](repeating: 0, count: maskWords)
        for key in changes.modified + changes.moved { changes.masks += modified.masks[key] ?? none }
        return ToldDifference(changes: changes, indices: difference.indices)
    }
}
