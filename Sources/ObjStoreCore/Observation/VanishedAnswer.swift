/// The last thing that an observer of a query is told: a newer program has dropped a property, a class or an index
/// that the query is about, and it cannot be asked any more.
///
/// ```
///  Dog.age < 2      version 7: 3, 8, 9          version 8: Dog.age was dropped
///                   └─ all of them are told as deleted, and that what they were in is gone; then nothing
/// ```
struct VanishedAnswer {
    private let scope: ObserverScope
    private let before: Snapshot
    private let parts: [ObservedAnswer.Part]

    /// - Parameter parts: from `before` on; in the last one's version it cannot be asked.
    init(_ scope: ObserverScope, from before: Snapshot, _ parts: [ObservedAnswer.Part]) {
        (self.scope, self.before, self.parts) = (scope, before, parts)
    }

    /// Nil: its reader knows already that nothing more comes, since the owner of what was asked is gone.
    func told(hasPositions: Bool) throws(StoreError) -> ChangeSet? {
        guard let after = parts.last?.reader.to else { return nil }
        let maskWords = ClassChanges.maskWords(after.schema.classes[Int(scope.classID)])
        var difference: ToldDifference
        if scope.isRows {
            difference = try all(ObservedRows.self, maskWords)
        } else {
            difference = try scope.sections == nil ? all(KeyBuffer.self, maskWords) : all(SectionList.self, maskWords)
        }
        if let key = scope.key, try before.trees.objects(before.schema.cls(scope.query.classID)).find(key) != nil {
            try difference.changes.append(.deleted, key)
        }
        let isEnd = try ends()
        if !isEnd && difference.changes.isEmpty { return nil }
        difference.changes.isFromOtherProcess = parts.contains { !$0.isSilent && $0.reader.isFromOtherProcess }
        let told = ChangeSet(
            classID: scope.classID, before: before, after: after, changes: difference.changes,
            indices: hasPositions ? difference.indices : nil, isCompared: parts.contains { $0.reader.isCompared })
        told.sections = difference.sections
        told.keys = difference.keys
        told.isOwnerDeleted = isEnd
        return told
    }

    /// In a part that is told, and not before.
    private func ends() throws(StoreError) -> Bool {
        for part in parts where !part.isSilent {
            if try !scope.isOver(in: part.reader.from), try scope.isOver(in: part.reader.to) { return true }
        }
        return false
    }

    /// What leads from what its reader has to nothing.
    private func all<Answer: FoundAnswer>(_: Answer.Type, _ maskWords: Int) throws(StoreError) -> ToldDifference {
        let none = try Answer.found(scope, KeyBuffer(), in: before)
        if scope.key != nil { return try none.difference(to: none, scope, ModifiedObjects(), maskWords: maskWords) }
        var list = try Answer.found(scope, nil, in: before)
        let order = try ShownOrder(scope, parts)
        for part in parts where part.isSilent && scope.isAskable(in: part.reader.to.schema) {
            let old = try Answer.found(scope, nil, in: part.reader.from)
            try order?.move(over: part.reader)
            list = try old.shown(to: try Answer.found(scope, nil, in: part.reader.to), by: list, order)
        }
        return try list.difference(to: none, scope, ModifiedObjects(), maskWords: maskWords)
    }
}

extension ObserverScope {
    /// Whether a schema has all that it is about. (Of a class that is newer than the schema there is nothing yet.)
    func isAskable(in schema: Schema) -> Bool {
        if case .stretch(let stretch) = query.origin, (try? schema.index(stretch.indexID)) == nil { return false }
        if let rows, !rows.isAskable(in: schema) { return false }
        return schema.hasAll(of: reads)
    }
    /// Whether nothing more is to be told from a version on: what it is about was dropped, or its owner is deleted.
    func isOver(in snapshot: Snapshot) throws(StoreError) -> Bool {
        if observesCommits { return false }
        if case .collection(let collection) = way { return try collection.elements(in: snapshot) == nil }
        if !isAskable(in: snapshot.schema) { return true }
        if rows?.owner != nil { return try !hasOwner(in: snapshot) }
        guard let owner = query.origin.collection?.owner else { return false }
        return try snapshot.trees.objects(try snapshot.schema.cls(owner.classID)).find(owner.key) == nil
    }
}

extension Schema {
    /// Whether nothing was dropped that an answer depends on.
    func hasAll(of reads: QueryReads) -> Bool {
        has(Array(reads.properties)) && reads.classes.allSatisfy { $0 >= classes.count || !classes[$0].isDropped }
    }
}
