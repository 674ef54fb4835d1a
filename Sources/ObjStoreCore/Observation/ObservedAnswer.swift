/// The answer to an observed query in one version, and how it follows: what an observer keeps beside the version.
///
/// A value: several observers that ask the same share it (`SharedAnswer`).
struct ObservedAnswer {
    /// Positions in an answer in the order of creation, whose objects alone decide whether they are in it.
    private var ranks: KeyRanks?
    /// Any other answer: as it was found. Nil: it is found when it is needed.
    var list: KeyBuffer?
    /// What is followed in an order.
    var following: Following?
    /// How often a part of an order was found anew.
    var asked = 0
    /// Of one in sections, as it was found, with the list where that is a part of an order; nil: it is followed, or
    /// found when it is needed.
    var sections: SectionList?
    /// Of rows, as they were found; nil: they are found when they are needed.
    var rows: ObservedRows?
    /// From so many times on it is followed: the whole order has to be found for that, and kept.
    static let mostAsked = 8

    /// A box: most answers have none, and there may be very many.
    indirect enum Following {
        /// The whole order; of an answer that is all of it, in place of the list.
        case order(OrderedKeys)
        /// The same of the first objects with their values, and of which these are.
        case firsts(OrderedKeys, [FollowedFirsts])
        /// Elements of a list, set or map; in place of the list, unless that is a part of them.
        case elements(FollowedElements)
        /// Sections, in place of the list.
        case sections(FollowedSections)
        /// Beside the list: those that satisfy a condition that calls functions.
        case matches(KeyBuffer)
        /// Plain values, in place of the rows.
        case values(FollowedValues)
        /// Beside rows: the objects that they are groups of, or the first one of each group.
        case objects(ObservedAnswer)
    }

    var order: OrderedKeys? {
        switch following {
        case .order(let order), .firsts(let order, _): order
        case .elements, .sections, .matches, .values, .objects, nil: nil
        }
    }
    /// Of each DISTINCT.
    var firsts: [FollowedFirsts] { if case .firsts(_, let firsts) = following { firsts } else { [] } }
    var elements: FollowedElements? { if case .elements(let elements) = following { elements } else { nil } }
    var followed: FollowedSections? { if case .sections(let sections) = following { sections } else { nil } }

    typealias Part = (reader: ChangeReader, isSilent: Bool)

    /// What is to be told of a step.
    struct Step {
        let changes: ClassChanges
        let indices: ChangeSet.Indices?
        let isCompared: Bool
        var isOwnerDeleted = false
        var sections: ChangedSections?
        /// What the reader has done himself.
        var silent: (removed: [Int64], added: [Int64]) = ([], [])
        /// As it was; not where it can be found by what is told.
        var listBefore: KeyBuffer?
        var rows: ChangedRows?
        /// Of a map's values.
        var keys: ChangedKeys?
    }

    /// Of a whole class without positions there is nothing to keep.
    init() {}

    /// - Parameter keys: what it is, in its order.
    init(_ scope: ObserverScope, _ keys: UnsafeBufferPointer<Int64>) throws(StoreError) {
        if scope.isList { list = try KeyBuffer(copying: keys) } else { ranks = KeyRanks(keys) }
    }

    /// Of one in sections, which are known.
    init(_ sections: SectionList) { self.sections = sections }

    /// Asks.
    init(_ scope: ObserverScope, in snapshot: Snapshot) throws(StoreError) {
        if scope.sections != nil {
            sections = try SectionList.found(scope, nil, in: snapshot)
            return
        }
        if scope.isRows {
            rows = try ObservedRows.found(scope, nil, in: snapshot)
            return
        }
        let found = try scope.keys(in: snapshot)
        if scope.isList {
            list = found
        } else {
            ranks = KeyRanks(UnsafeBufferPointer(start: found.keys, count: found.count))
        }
    }

    /// Moves on from a version; nil where nothing happened to what is observed.
    mutating func advance(
        _ scope: ObserverScope, from before: Snapshot, _ reader: ChangeReader
    ) throws(StoreError) -> Step? {
        if let sections = scope.sections {
            if let step = try advanceFollowed(scope, sections, before, reader) { return step }
            return try advanceSections(scope, before, [(reader, false)])
        }
        if scope.isRows { return try advanceRows(scope, before, [(reader, false)]) }
        if scope.isList {
            let step =
                switch scope.way {
                case .elements(let order, let part): try advanceElements(scope, order, part, before, reader)
                case .stretch: try advanceStretch(scope, before, reader)
                case .ranks, .order, .firsts, .list, .collection, .rows: try advanceOrder(scope, before, reader)
                }
            if let step { return step }
            return try advanceList(scope, before, [(reader, false)])
        }
        guard let changes = try scope.filter(reader), !changes.isEmpty else { return nil }
        return Step(changes: changes, indices: move(changes), isCompared: reader.isCompared)
    }

    /// The same in several parts, of which the silent ones are not told.
    mutating func advance(
        _ scope: ObserverScope, from before: Snapshot, _ parts: [Part]
    ) throws(StoreError) -> Step? {
        if scope.sections != nil { return try advanceSections(scope, before, parts) }
        if scope.isRows { return try advanceRows(scope, before, parts) }
        if scope.isList { return try advanceList(scope, before, parts) }
        let after = parts[parts.count - 1].reader.to
        let cls = after.schema.classes[Int(scope.classID)]
        var silenced = SilencedChanges(maskWords: ClassChanges.maskWords(cls))
        for (reader, isSilent) in parts {
            guard let changes = try scope.filter(reader) else { continue }
            silenced.add(
                changes, isSilent: isSilent,
                hasOtherProperties: try reader.to.schemaRef() != after.schemaRef())
        }
        try silenced.finish()
        if !InjectedBug.active(.silenceUnplaced) {
            ranks?.change(removing: silenced.removed, adding: silenced.added)
        }
        if silenced.told.isEmpty { return nil }
        var step = Step(
            changes: silenced.told, indices: move(silenced.told), isCompared: parts.contains { $0.reader.isCompared })
        step.silent = (silenced.removed, silenced.added)
        return step
    }

    /// An answer that is found anew.
    private mutating func advanceList(
        _ scope: ObserverScope, _ before: Snapshot, _ parts: [Part]
    ) throws(StoreError) -> Step? {
        let list = try knownList(scope, before)
        var step = try ListStep(scope, list, parts)
        for (reader, isSilent) in parts {
            try step.add(reader, isSilent: isSilent, found: try askAgain(scope, step.list, reader))
        }
        let told = try step.told()
        self.list = step.list
        if !scope.keepsMatches { following = nil }
        guard let told else { return nil }
        var result = Step(told, parts, isOwnerDeleted: step.isOwnerDeleted)
        result.listBefore = list
        return result
    }

    /// What a query that calls functions finds, which are called for changed objects alone; nil: another query, or
    /// nothing that it reads was written.
    ///
    /// - Parameter list: what it found before.
    mutating func askAgain(
        _ scope: ObserverScope, _ list: KeyBuffer, _ reader: ChangeReader
    ) throws(StoreError) -> KeyBuffer? {
        guard scope.keepsMatches, try scope.mayDiffer(after: reader) else { return nil }
        var known: KeyBuffer? = scope.query.steps.isEmpty ? list : nil
        if case .matches(let matches)? = following { known = matches }
        // Where that fails they are of the version before, and there is no other.
        following = nil
        let (matches, found) = try scope.askedAgain(known, after: reader)
        following = .matches(matches)
        return found
    }

    func knownList(_ scope: ObserverScope, _ known: Snapshot) throws(StoreError) -> KeyBuffer {
        if let list { return list }
        if let order {
            switch scope.way {
            case .order(_, let part), .firsts(_, let part): return try order.list(part)
            case .ranks, .elements, .stretch, .list, .collection, .rows: break
            }
        }
        if let elements, case .elements(_, let part) = scope.way { return try elements.list(part) }
        return try scope.keys(in: known)
    }

    /// One in an order of which few objects have changed; nil: another one.
    mutating func advanceOrder(
        _ scope: ObserverScope, _ before: Snapshot, _ reader: ChangeReader
    ) throws(StoreError) -> Step?? {
        guard let part = scope.part,
            let few = try few(of: firsts.first?.count ?? order?.count ?? list?.count ?? 0, scope, before, reader)
        else { return nil }
        guard var few = few else { return .some(nil) }
        if order == nil && !scope.isOrdered {
            asked += 1
            if asked < ObservedAnswer.mostAsked { return nil }
            asked = 0
        }
        let isWhole = part == 0..<Int.max, listBefore = isWhole ? nil : try knownList(scope, before)
        let whole: OrderedKeys, keys: [SortKey]
        if let order {
            whole = order
        } else {
            whole = try OrderedKeys(isWhole ? try knownList(scope, before) : try scope.uncut(in: before))
        }
        // One owner: changed in place. Where that fails it is found again.
        var firsts = self.firsts
        (following, list) = (nil, nil)
        switch scope.way {
        case .firsts(let way, _):
            if firsts.isEmpty {
                for stage in way.all { firsts.append(try FollowedFirsts(try scope.all(for: stage, in: before))) }
            }
            for (number, stage) in way.all.enumerated() {
                few = try firsts[number].advance(scope.query, stage, from: before, to: reader.to, few)
            }
            keys = way.order
        case .order(let own, _): keys = own
        case .ranks, .elements, .stretch, .list, .collection, .rows: return nil
        }
        let changed = few.changed
        let step = try OrderStep(scope.query, keys, consume whole, from: before, to: reader.to)
        let (told, indices, after, _) = try (consume step).told(changed, few.isTold, few.resorted)
        var difference = ToldDifference(changes: told, indices: indices)
        if let listBefore {
            let found = try after.list(part)
            difference = try cut(listBefore, found, scope, few)
            list = found
        }
        following = firsts.isEmpty ? .order(after) : .firsts(after, firsts)
        return .some(Step(difference, reader, listBefore))
    }

    /// One of the elements of a list, set or map, to which little has happened; nil: another one.
    mutating func advanceElements(
        _ scope: ObserverScope, _ order: ElementsOrder, _ part: Range<Int>, _ before: Snapshot, _ reader: ChangeReader
    ) throws(StoreError) -> Step?? {
        guard let found = try few(of: elements?.count ?? list?.count ?? 0, scope, before, reader) else { return nil }
        let none = ClassChanges(maskWords: ClassChanges.maskWords(reader.to.schema.classes[Int(scope.classID)]))
        let few = found ?? (none, nil, [])
        guard let changes = try FollowedElements.Changes(scope, from: before, reader, few) else { return nil }
        if changes.isNothing { return .some(nil) }
        let isWhole = part == .uncut, isAll = isWhole && order.firsts.isEmpty
        var followed: FollowedElements
        if let known = elements {
            followed = known
        } else {
            asked += 1
            if asked < (isAll ? 1 : ObservedAnswer.mostAsked) { return nil }
            let all = isAll ? try knownList(scope, before) : try scope.uncut(in: before)
            guard let found = try FollowedElements(scope, order, all, in: before) else { return unfollowed() }
            followed = found
            asked = 0
        }
        let listBefore = isWhole ? nil : try knownList(scope, before)
        // One owner: changed in place. Where that fails it is found again.
        (following, list) = (nil, nil)
        guard var difference = try followed.advance(scope, order, changes, from: before, to: reader.to) else {
            return unfollowed()
        }
        if let listBefore {
            let found = try followed.list(part)
            difference = try cut(listBefore, found, scope, few)
            list = found
        }
        following = .elements(followed)
        difference.changes.isFromOtherProcess = scope.isFromOtherProcess(reader)
        return .some(Step(difference, reader, listBefore))
    }

    /// A part of an index, of which little was changed; nil: too much.
    private mutating func advanceStretch(
        _ scope: ObserverScope, _ before: Snapshot, _ reader: ChangeReader
    ) throws(StoreError) -> Step?? {
        guard let stretch = scope.query.origin.stretch,
            let few = try few(of: try TreeAccess.version(before).count(in: stretch), scope, before, reader)
        else { return nil }
        guard let few else { return .some(nil) }
        guard let told = try StretchStep(scope, from: before, to: reader.to)?.told(few) else { return nil }
        if told.changes.isEmpty { return .some(nil) }
        let listBefore = list
        list = nil
        return .some(Step(told, reader, listBefore))
    }

    /// What is to be told of a part.
    func cut(
        _ before: KeyBuffer, _ after: KeyBuffer, _ scope: ObserverScope, _ few: FewChanges
    ) throws(StoreError) -> ToldDifference {
        var masks: [Int64: [UInt64]] = [:], toldKeys: Set<Int64> = []
        for (index, key) in few.changed.modified.enumerated() {
            masks[key] = Array(few.changed.mask(index))
            if few.isTold?[index] != false { toldKeys.insert(key) }
        }
        let modified = ModifiedObjects(masks: masks, told: few.isTold == nil ? nil : toldKeys)
        var difference = try before.difference(to: after, scope, modified, maskWords: few.changed.maskWords)
        difference.changes.isFromOtherProcess = few.changed.isFromOtherProcess
        return difference
    }

    /// Of which modifications it is told (nil: of all), and which objects have to be sorted anew by what lies behind
    /// paths.
    typealias FewChanges = (changed: ClassChanges, isTold: [Bool]?, resorted: Set<Int64>)

    /// What was changed of an answer of so many objects, and of which modifications it is told (nil: of all); nil: too
    /// much to look at each, and inside of that: nothing.
    func few(
        of count: Int, _ scope: ObserverScope, _ before: Snapshot, _ reader: ChangeReader
    ) throws(StoreError) -> FewChanges?? {
        guard try before.schemaRef() == reader.to.schemaRef() else { return nil }
        if !scope.reads.concern(reader.classes, reader.to.schema), reader.classes[scope.classID] == nil,
            !scope.paths.leadsAway(from: Int(scope.classID), of: reader.to.schema)
        {
            return .some(nil)
        }
        let own = reader.classes[scope.classID].map { $0.deleted.count + $0.inserted.count + $0.modified.count }
        if own ?? 0 > max(64, count / 32) { return nil }
        guard let found = try scope.changesOfOrder(reader), !found.changes.isEmpty else { return .some(nil) }
        let moving = found.changes.deleted.count + found.changes.inserted.count + found.resorted.count
        if moving > max(64, count / 32) { return nil }
        return (found.changes, found.told, found.resorted)
    }

    /// Positions before, then the list as it is after, then positions there.
    private mutating func move(_ changes: ClassChanges) -> ChangeSet.Indices? {
        guard var ranks else { return nil }
        self.ranks = nil  // one owner: changed in place
        var indices = ChangeSet.Indices()
        indices.deleted = changes.deleted.map { UInt64(ranks.rank($0)) }
        indices.modifiedBefore = changes.modified.map { UInt64(ranks.rank($0)) }
        if !InjectedBug.active(.rankStale) { ranks.change(removing: changes.deleted, adding: changes.inserted) }
        indices.inserted = changes.inserted.map { UInt64(ranks.rank($0)) }
        indices.modifiedAfter = changes.modified.map { UInt64(ranks.rank($0)) }
        if InjectedBug.active(.rankStale) { ranks.change(removing: changes.deleted, adding: changes.inserted) }
        self.ranks = ranks
        return indices
    }

    /// Back to before a change set, which its handler did not take.
    mutating func goBack(_ scope: ObserverScope, before changes: ChangeSet) {
        (sections, rows) = (nil, nil)
        if scope.isList { (list, following) = (changes.listBefore, nil) }
        ranks?.change(removing: changes.inserted, adding: changes.deleted)
        ranks?.change(removing: changes.silent.added, adding: changes.silent.removed)
    }
}

extension ObservedAnswer.Step {
    /// Nil: nothing is to be told.
    fileprivate init?(_ told: ToldDifference, _ reader: ChangeReader, _ listBefore: KeyBuffer?) {
        if told.changes.isEmpty { return nil }
        self.init(changes: told.changes, indices: told.indices, isCompared: reader.isCompared)
        self.listBefore = listBefore
    }

    init(_ told: ToldDifference, _ parts: [ObservedAnswer.Part], isOwnerDeleted: Bool = false) {
        self.init(
            changes: told.changes, indices: told.indices, isCompared: parts.contains { $0.reader.isCompared },
            isOwnerDeleted: isOwnerDeleted, sections: told.sections)
    }
}
