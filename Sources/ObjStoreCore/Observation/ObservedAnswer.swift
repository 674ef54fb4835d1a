/// The answer to an observed query in one version, and how it follows: what an observer keeps beside the version.
///
/// A value: several observers that ask the same share it (`SharedAnswer`).
struct ObservedAnswer {
    /// Positions in an answer in the order of creation, whose objects alone decide whether they are in it.
    private var ranks: KeyRanks?
    /// Any other answer: as it was found. Nil: it is found when it is needed.
    private var list: KeyBuffer?
    /// What is followed in an order.
    private var following: Following?
    /// How often a part of an order was found anew.
    private var asked = 0
    /// Of one in sections, as it was found, with the list where that is a part of an order; nil: it is followed, or
    /// found when it is needed.
    private var sections: SectionList?
    /// Of rows, as they were found; nil: they are found when they are needed.
    private var rows: ObservedRows?
    /// From so many times on it is followed: the whole order has to be found for that, and kept.
    private static let mostAsked = 8

    /// A box: most answers have none, and there may be very many.
    private indirect enum Following {
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
        /// Beside rows: the objects that they are groups of.
        case objects(ObservedAnswer)
    }

    private var order: OrderedKeys? {
        switch following {
        case .order(let order), .firsts(let order, _): order
        case .elements, .sections, .matches, .values, .objects, nil: nil
        }
    }
    /// Of each DISTINCT.
    private var firsts: [FollowedFirsts] { if case .firsts(_, let firsts) = following { firsts } else { [] } }
    private var elements: FollowedElements? { if case .elements(let elements) = following { elements } else { nil } }
    private var followed: FollowedSections? { if case .sections(let sections) = following { sections } else { nil } }

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
    private mutating func askAgain(
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

    /// Rows, which are found anew where something that they depend on was written.
    private mutating func advanceRows(
        _ scope: ObserverScope, _ before: Snapshot, _ parts: [Part]
    ) throws(StoreError) -> Step? {
        if parts.count == 1, !parts[0].isSilent, let step = try advanceValues(scope, before, parts[0].reader) {
            return step
        }
        let known = if let rows { rows } else { try ObservedRows.found(scope, nil, in: before) }
        if parts.count == 1, !parts[0].isSilent {
            let reader = parts[0].reader
            if let step = try advanceGroups(scope, known, before, reader) { return step }
            if let step = try advanceGrouped(scope, known, before, reader) { return step }
        }
        following = nil
        var step = try ListStep(scope, known, parts)
        for (reader, isSilent) in parts { try step.add(reader, isSilent: isSilent) }
        let told = try step.told()
        rows = step.list
        guard let told else { return nil }
        var result = Step(told, parts, isOwnerDeleted: step.isOwnerDeleted)
        result.rows = ChangedRows(before: known, after: step.list)
        result.keys = told.keys
        return result
    }

    /// Groups of which few objects have changed; nil: other rows.
    private mutating func advanceGroups(
        _ scope: ObserverScope, _ known: ObservedRows, _ before: Snapshot, _ reader: ChangeReader
    ) throws(StoreError) -> Step?? {
        guard let followed = scope.followedGroups, var groups = known.groups else { return nil }
        let query = followed.query, most = groups.mostChanges, own = reader.classes[scope.classID]
        guard own.map({ $0.deleted.count + $0.inserted.count + $0.modified.count <= most }) ?? true,
            let few = try few(of: groups.objects, scope, before, reader)
        else { return nil }
        rows = known
        let isBehindKeys = query.looksBehindKeys && scope.reads.concern(reader.classes, reader.to.schema)
        let changed = few?.changed ?? ClassChanges(maskWords: 0)
        if changed.deleted.count + changed.inserted.count + changed.modified.count > most { return nil }
        var firsts: ObservedAnswer?, list: KeyBuffer?
        if let order = followed.firsts {
            if case .objects(let known)? = following { firsts = known } else { firsts = try groups.firstObjects(order) }
            // One owner: changed in place. Where that fails it is found again.
            following = nil
            if try firsts?.advance(order, from: before, reader) != nil {
                list = try firsts?.knownList(order, reader.to)
            }
        }
        let isTouched = few != nil || isBehindKeys || list != nil
        if isTouched, try !groups.advance(query, changed, list, from: before, to: reader.to) {
            if groups.hasLostBest { followed.hasLostBest() }
            return nil
        }
        following = firsts.map { .objects($0) }
        if !isTouched || !groups.isChanged { return .some(nil) }
        let found = ObservedRows(try groups.found(query, .version(reader.to)))
        let step = try rowsStep(scope, known, found, reader)
        rows = found
        return .some(step)
    }

    /// What leads from a table to another one; nil: nothing.
    private func rowsStep(
        _ scope: ObserverScope, _ known: ObservedRows, _ found: ObservedRows, _ reader: ChangeReader
    ) throws(StoreError) -> Step? {
        var told = try known.difference(to: found, scope, ModifiedObjects(), maskWords: 0)
        told.changes.isFromOtherProcess = scope.isFromOtherProcess(reader)
        if told.changes.isEmpty { return nil }
        var step = Step(told, [(reader, false)])
        step.rows = ChangedRows(before: known, after: found)
        return step
    }

    /// Plain values of a collection that little has happened to; nil: other rows.
    private mutating func advanceValues(
        _ scope: ObserverScope, _ before: Snapshot, _ reader: ChangeReader
    ) throws(StoreError) -> Step?? {
        guard case .values(let query)? = scope.rows, let followable = query.followable,
            try before.schemaRef() == reader.to.schemaRef(), scope.isAskable(in: before.schema)
        else { return nil }
        if try !scope.mayDiffer(after: reader) { return .some(nil) }
        guard try scope.hasOwner(in: before), try scope.hasOwner(in: reader.to),
            let splices = try reader.splices(
                of: try CollectionScope(query.collection, .own, in: before, tag: query.storeTag))
        else { return nil }
        var followed: FollowedValues
        let old = try ValueRun(query, .version(before)), new = try ValueRun(query, .version(reader.to))
        if case .values(let known)? = following {
            followed = known
        } else {
            asked += 1
            // The first ones are found at once.
            if asked < (followable.isStart ? ObservedAnswer.mostAsked : 1) { return nil }
            asked = 0
            guard let found = try FollowedValues(followable, old, scope) else { return unfollowed() }
            followed = found
        }
        // One owner: changed in place. Where that fails it is found again.
        (following, rows) = (nil, nil)
        guard var told = try followed.advance(followable, scope, from: old, to: new, splices) else {
            return unfollowed()
        }
        following = .values(followed)
        told.changes.isFromOtherProcess = scope.isFromOtherProcess(reader)
        if told.changes.isEmpty { return .some(nil) }
        var step = Step(told, [(reader, false)])
        step.keys = told.keys
        return .some(step)
    }

    /// What could not be followed would not be the next time.
    private mutating func unfollowed() -> Step?? {
        asked = -ObservedAnswer.mostAsked
        return nil
    }

    /// Groups of a part of an order, which is followed; nil: other rows.
    private mutating func advanceGrouped(
        _ scope: ObserverScope, _ known: ObservedRows, _ before: Snapshot, _ reader: ChangeReader
    ) throws(StoreError) -> Step?? {
        guard let grouped = scope.grouped, case .table(let query)? = scope.rows,
            try before.schemaRef() == reader.to.schemaRef()
        else { return nil }
        rows = known
        if try !scope.mayDiffer(after: reader) { return .some(nil) }
        var objects: ObservedAnswer
        if case .objects(let answer)? = following {
            objects = answer
        } else {
            objects = try ObservedAnswer(grouped, in: before)
        }
        // One owner: changed in place. Where that fails it is found again.
        following = nil
        let isChanged = try objects.advance(grouped, from: before, reader) != nil
        let list = try objects.knownList(grouped, reader.to)
        if !isChanged {
            following = .objects(objects)
            return .some(nil)
        }
        let found = try ObservedRows.found(query, of: list, in: reader.to)
        let step = try rowsStep(scope, known, found, reader)
        (rows, following) = (found, .objects(objects))
        return .some(step)
    }

    /// Sections that are found anew, of a list that is followed where that is a part of an order.
    private mutating func advanceSections(
        _ scope: ObserverScope, _ before: Snapshot, _ parts: [Part]
    ) throws(StoreError) -> Step? {
        let known = try knownSections(scope, before)
        var step = try ListStep(scope, known, parts)
        do throws(StoreError) {
            let found = try followPart(of: known, scope, before, parts)
            for (reader, isSilent) in parts {
                var next = found
                if next == nil { next = try askAgain(scope, step.list.list, reader) }
                try step.add(reader, isSilent: isSilent, found: next)
            }
        } catch {
            // It may be of another version than the sections.
            (list, following) = (nil, nil)
            throw error
        }
        let told = try step.told()
        sections = step.list
        if followed != nil { following = nil }
        return told.map { Step($0, parts, isOwnerDeleted: step.isOwnerDeleted) }
    }

    /// The list after a step, where it is a part of an order that is followed; nil: it is found where it is wanted.
    private mutating func followPart(
        of known: SectionList, _ scope: ObserverScope, _ before: Snapshot, _ parts: [Part]
    ) throws(StoreError) -> KeyBuffer? {
        guard let part = scope.part, part != 0..<Int.max else { return nil }
        guard parts.count == 1 else {
            (list, following) = (nil, nil)
            return nil
        }
        guard try scope.mayDiffer(after: parts[0].reader) else { return nil }
        if list == nil && order == nil { list = known.list }
        if try advanceOrder(scope, before, parts[0].reader) == nil {
            (list, following) = (try scope.keys(in: parts[0].reader.to), nil)
        }
        return try knownList(scope, parts[0].reader.to)
    }

    /// Sections by what the objects themselves have, of an answer that these decide; nil: others.
    private mutating func advanceFollowed(
        _ scope: ObserverScope, _ sections: SectionScope, _ before: Snapshot, _ reader: ChangeReader
    ) throws(StoreError) -> Step?? {
        guard let keys = sections.order(of: scope.way),
            let few = try few(of: followed?.count ?? self.sections?.objectCount ?? 0, scope, before, reader)
        else { return nil }
        guard let (changed, isTold, resorted) = few else { return .some(nil) }
        var followed: FollowedSections
        if let known = self.followed {
            followed = known
        } else {
            followed = try FollowedSections(try knownSections(scope, before), sections.order)
        }
        // One owner: changed in place. Where that fails it is found again.
        (following, self.sections, list) = (nil, nil, nil)
        let told = try followed.advance(
            scope, sections, keys, from: before, to: reader.to, (changed, isTold, resorted))
        following = .sections(followed)
        return .some(told.changes.isEmpty ? nil : Step(told, [(reader, false)]))
    }

    private func knownSections(_ scope: ObserverScope, _ known: Snapshot) throws(StoreError) -> SectionList {
        if let sections { return sections }
        if let followed { return try followed.list() }
        return try SectionList.found(scope, nil, in: known)
    }

    private func knownList(_ scope: ObserverScope, _ known: Snapshot) throws(StoreError) -> KeyBuffer {
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
    private mutating func advanceOrder(
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
    private mutating func advanceElements(
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
    private func cut(
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
    private func few(
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

    fileprivate init(_ told: ToldDifference, _ parts: [ObservedAnswer.Part], isOwnerDeleted: Bool = false) {
        self.init(
            changes: told.changes, indices: told.indices, isCompared: parts.contains { $0.reader.isCompared },
            isOwnerDeleted: isOwnerDeleted, sections: told.sections)
    }
}
