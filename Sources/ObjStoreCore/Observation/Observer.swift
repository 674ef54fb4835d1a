/// One observer: what it looks at, what it knows, and its handler.
///
/// Its state is that of its hub, under the hub's lock; what belongs to a delivery (`known`, `ranks`) is touched
/// only by the thread that has claimed it.
package final class Observer: @unchecked Sendable {
    /// Gets a change set; what it returns, if anything, is the failure that `deliver` reports.
    package typealias Handler = (ChangeSet) -> StoreError?

    package let scope: ObserverScope
    private var handler: Handler?
    let hub: ObserverHub

    // Under the hub's lock.
    var isClosed = false
    /// Its place in the hub's list.
    var place: Int?
    /// The thread that delivers to it now.
    var runner: UInt?
    var wantsInitial: Bool
    /// The version that it got last; `known` is that version while no thread delivers.
    var knownVersion: UInt64
    /// Changes that it is not told of, and that are not behind it yet; oldest first.
    var silences: [Silence] = []

    /// Under the hub's lock: a transaction that it is not told of has not been published yet. It stays where it is.
    func isHeld(at published: UInt64) -> Bool {
        guard let last = silences.last else { return false }
        return last.after.map { $0.version > published } ?? true
    }

    // Of the thread that has claimed it.
    private(set) var known: Snapshot?
    /// Positions in an answer in the order of creation, whose objects alone decide whether they are in it.
    private var ranks: KeyRanks?
    /// Any other answer: as it was found. Nil: it is found when it is needed.
    private var list: KeyBuffer?
    /// Of a sorted one that is followed, the whole order; of one that is all of it, in place of the list.
    private var order: OrderedKeys?
    /// How often a part of an order was found anew.
    private var asked = 0
    /// From so many times on it is followed: the whole order has to be found for that, and kept.
    private static let mostAsked = 8

    init(
        _ hub: ObserverHub, _ scope: ObserverScope, known: Snapshot, ranks: KeyRanks?, list: KeyBuffer?,
        wantsInitial: Bool, handler: @escaping Handler
    ) {
        self.hub = hub
        self.scope = scope
        self.known = known
        self.ranks = ranks
        self.list = list
        self.wantsInitial = wantsInitial
        self.handler = handler
        knownVersion = known.version
    }

    /// Ends it. Its handler is not called again after this returns; where another thread runs it, that call is
    /// waited for, except from inside a handler (two could wait for each other) and where `waits` is false.
    package func close(waits: Bool = true) { hub.close(self, waits: waits) }

    /// The initial change set, of the version that it knows: empty.
    func initial() -> ChangeSet {
        let known = known!
        let changes = ClassChanges(maskWords: ClassChanges.maskWords(known.schema.classes[Int(scope.classID)]))
        return ChangeSet(
            classID: scope.classID, before: known, after: known, changes: changes,
            indices: ranks == nil && !scope.isList ? nil : ChangeSet.Indices(), isInitial: true)
    }

    /// Moves on to a version; nil where nothing happened to what is observed.
    func advance(_ reader: ChangeReader) throws(StoreError) -> ChangeSet? {
        if scope.isList {
            if let changes = try advanceOrder(reader) { return changes }
            return try advanceList([(reader, false)])
        }
        let before = known!
        let changes = try scope.filter(reader)
        known = reader.to
        guard let changes, !changes.isEmpty else { return nil }
        return ChangeSet(
            classID: scope.classID, before: before, after: reader.to, changes: changes, indices: move(changes),
            isCompared: reader.isCompared)
    }

    /// The same in several parts, of which it is not told of the silent ones.
    func advance(_ parts: [(reader: ChangeReader, isSilent: Bool)]) throws(StoreError) -> ChangeSet? {
        if scope.isList { return try advanceList(parts) }
        let before = known!, after = parts[parts.count - 1].reader.to
        let cls = after.schema.classes[Int(scope.classID)]
        var silenced = SilencedChanges(maskWords: ClassChanges.maskWords(cls))
        for (reader, isSilent) in parts {
            guard let changes = try scope.filter(reader) else { continue }
            silenced.add(
                changes, isSilent: isSilent,
                hasOtherProperties: try reader.to.schemaRef() != after.schemaRef())
        }
        try silenced.finish()
        known = after
        if !InjectedBug.active(.silenceUnplaced) {
            ranks?.change(removing: silenced.removed, adding: silenced.added)
        }
        if silenced.told.isEmpty { return nil }
        let changes = ChangeSet(
            classID: scope.classID, before: before, after: after, changes: silenced.told, indices: move(silenced.told),
            isCompared: parts.contains { $0.reader.isCompared })
        changes.silent = (silenced.removed, silenced.added)
        changes.silentVersions = Observer.silentVersions(parts)
        return changes
    }

    /// An answer that is found anew.
    private func advanceList(
        _ parts: [(reader: ChangeReader, isSilent: Bool)]
    ) throws(StoreError) -> ChangeSet? {
        guard let before = known, let after = parts.last?.reader.to else { return nil }
        let list = try knownList(before)
        var step = ListStep(scope, list, to: after)
        for (reader, isSilent) in parts { try step.add(reader, isSilent: isSilent) }
        let told = try step.told()
        known = after
        (self.list, order) = (step.list, nil)
        guard let told else { return nil }
        let changes = ChangeSet(
            classID: scope.classID, before: before, after: after, changes: told.changes, indices: told.indices,
            isCompared: parts.contains { $0.reader.isCompared })
        changes.listBefore = list
        changes.silentVersions = Observer.silentVersions(parts)
        changes.isOwnerDeleted = step.isOwnerDeleted
        return changes
    }

    private static func silentVersions(_ parts: [(reader: ChangeReader, isSilent: Bool)]) -> [Snapshot] {
        parts.compactMap { $0.isSilent ? $0.reader.to : nil }
    }

    private func knownList(_ known: Snapshot) throws(StoreError) -> KeyBuffer {
        if let list { return list }
        if let order, case .order(_, let part) = scope.way { return try order.list(part) }
        return try scope.keys(in: known)
    }

    /// One that is sorted by its objects' own values, of which few have changed; nil: another one.
    private func advanceOrder(_ reader: ChangeReader) throws(StoreError) -> ChangeSet?? {
        guard case .order(let keys, let part) = scope.way, let before = known,
            try before.schemaRef() == reader.to.schemaRef()
        else { return nil }
        if !scope.reads.concern(reader.classes, reader.to.schema), reader.classes[scope.classID] == nil {
            known = reader.to
            return .some(nil)
        }
        let all = reader.classes[scope.classID]
        let count = all.map { $0.deleted.count + $0.inserted.count + $0.modified.count } ?? 0
        if count > max(64, (order?.count ?? list?.count ?? 0) / 32) { return nil }
        guard let changed = try scope.changes(reader), !changed.isEmpty else {
            known = reader.to
            return .some(nil)
        }
        if changed.deleted.count + changed.inserted.count > max(64, (order?.count ?? list?.count ?? 0) / 32) {
            return nil
        }
        let isWhole = part == 0..<Int.max
        if order == nil && !isWhole {
            asked += 1
            if asked < Observer.mostAsked { return nil }
            asked = 0
        }
        let whole: OrderedKeys
        if let order {
            whole = order
        } else {
            whole = try OrderedKeys(isWhole ? try knownList(before) : try scope.allKeys(in: before))
        }
        let listBefore = isWhole ? nil : try knownList(before)
        // One owner: changed in place. Where that fails it is found again.
        (order, list) = (nil, nil)
        let step = try OrderStep(scope.query, keys, consume whole, from: before, to: reader.to)
        let columns = scope.columnMask(in: reader.to, maskWords: changed.maskWords)
        var (told, indices, after) = try (consume step).told(changed, columns: columns)
        var listAfter: KeyBuffer?
        if let listBefore {
            var masks: [Int64: [UInt64]] = [:]
            for (index, key) in changed.modified.enumerated() {
                let mask = changed.mask(index)
                if let columns, !zip(mask, columns).contains(where: { $0 & $1 != 0 }) { continue }
                masks[key] = Array(mask)
            }
            let found = try after.list(part)
            (told, indices) = try ListStep.difference(
                listBefore, found, masks, changed.maskWords, isFromOtherProcess: changed.isFromOtherProcess)
            listAfter = found
        }
        known = reader.to
        (order, list) = (after, listAfter)
        if told.isEmpty { return .some(nil) }
        let changes = ChangeSet(
            classID: scope.classID, before: before, after: reader.to, changes: told, indices: indices,
            isCompared: reader.isCompared)
        changes.listBefore = listBefore
        return changes
    }

    func tell(_ changes: ChangeSet) -> StoreError? {
        changes.observer = self
        return handler!(changes)
    }

    /// Goes back to before a change set, which its handler did not take.
    func goBack(before changes: ChangeSet) {
        known = changes.before
        if scope.isList { (list, order) = (changes.listBefore, nil) }
        ranks?.change(removing: changes.inserted, adding: changes.deleted)
        ranks?.change(removing: changes.silent.added, adding: changes.silent.removed)
    }

    func observes(_ database: Database) -> Bool { hub.database === database }

    /// Closed while its handler runs: what that was going to say is not wanted any more.
    var isEnded: Bool { hub.isClosed(self) }

    /// Positions before, then the list as it is after, then positions there.
    private func move(_ changes: ClassChanges) -> ChangeSet.Indices? {
        guard var ranks else { return nil }
        self.ranks = nil  // one owner: changed in place
        var indices = ChangeSet.Indices()
        indices.deleted = changes.deleted.map { UInt64(ranks.rank($0)) }
        indices.modifiedBefore = changes.modified.map { UInt64(ranks.rank($0)) }
        ranks.change(removing: changes.deleted, adding: changes.inserted)
        indices.inserted = changes.inserted.map { UInt64(ranks.rank($0)) }
        indices.modifiedAfter = changes.modified.map { UInt64(ranks.rank($0)) }
        self.ranks = ranks
        return indices
    }

    /// Lets go of the version and of the handler. Once, by the thread that closed it or, if it was running, by its
    /// runner.
    func finish() {
        known = nil
        ranks = nil
        (list, order) = (nil, nil)
        handler = nil
        hub.forgetSilences(of: self)
    }
}
