/// The last thing that an observer of a query is told: a newer program has dropped a property, a class or an index
/// that the query is about, and it cannot be asked any more.
///
/// ```
///  Dog.age < 2      version 7: 3, 8, 9          version 8: Dog.age was dropped
///                   └─ all of them are told as deleted, and that what they were in is gone; then nothing
/// ```
struct VanishedAnswer {
    /// What its reader has.
    private var list: KeyBuffer

    /// - Parameter parts: from `before` on; in the last one's version it cannot be asked.
    init(_ scope: ObserverScope, from before: Snapshot, _ parts: [ObservedAnswer.Part]) throws(StoreError) {
        list = try VanishedAnswer.keys(scope, in: before)
        for part in parts where part.isSilent && scope.isAskable(in: part.reader.to.schema) {
            let old = try VanishedAnswer.keys(scope, in: part.reader.from)
            let new = try VanishedAnswer.keys(scope, in: part.reader.to)
            list = try ListDifference(old, new, changed: []).applied(to: list, isByCreation: scope.isByCreation)
        }
    }

    private static func keys(_ scope: ObserverScope, in snapshot: Snapshot) throws(StoreError) -> KeyBuffer {
        guard let key = scope.key else { return try scope.keys(in: snapshot) }
        let list = KeyBuffer()
        if try snapshot.trees.objects(try snapshot.schema.cls(scope.query.classID)).find(key) != nil {
            try list.append(key)
        }
        return list
    }

    func told(
        _ scope: ObserverScope, _ before: Snapshot, _ parts: [ObservedAnswer.Part], hasPositions: Bool
    ) throws(StoreError) -> ChangeSet? {
        guard let after = parts.last?.reader.to else { return nil }
        var changes = ClassChanges(maskWords: ClassChanges.maskWords(after.schema.classes[Int(scope.classID)]))
        changes.isFromOtherProcess = parts.contains { !$0.isSilent && $0.reader.isFromOtherProcess }
        for place in 0..<list.count { try changes.append(.deleted, list.keys[place]) }
        var indices: ChangeSet.Indices?
        if hasPositions {
            var all = ChangeSet.Indices()
            all.deleted = (0..<list.count).map { UInt64($0) }
            indices = all
        }
        let told = ChangeSet(
            classID: scope.classID, before: before, after: after, changes: changes, indices: indices,
            isCompared: parts.contains { $0.reader.isCompared })
        told.isOwnerDeleted = true
        if scope.sections != nil {
            let gone = try SectionList.found(scope, nil, in: before).difference(
                to: SectionList(), scope, ModifiedObjects(), maskWords: changes.maskWords)
            told.sections = gone.sections
        }
        return told
    }
}

extension ObserverScope {
    /// Whether a schema has all that it is about. (Of a class that is newer than the schema there is nothing yet.)
    func isAskable(in schema: Schema) -> Bool {
        if case .stretch(let stretch) = query.origin, (try? schema.index(stretch.indexID)) == nil { return false }
        return schema.has(Array(reads.properties))
            && reads.classes.allSatisfy { $0 >= schema.classes.count || !schema.classes[$0].isDropped }
    }
    /// Whether there is nothing more to be told from a version on: what it is about was dropped, or its owner is
    /// deleted.
    func isOver(in snapshot: Snapshot) throws(StoreError) -> Bool {
        if observesCommits { return false }
        if case .collection(let collection) = way { return try collection.elements(in: snapshot) == nil }
        if !isAskable(in: snapshot.schema) { return true }
        guard let owner = query.origin.collection?.owner else { return false }
        return try snapshot.trees.objects(try snapshot.schema.cls(owner.classID)).find(owner.key) == nil
    }
}
