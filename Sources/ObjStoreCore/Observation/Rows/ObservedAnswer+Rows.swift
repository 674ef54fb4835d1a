/// How an observed answer follows whose rows are no objects: tables and plain values.
extension ObservedAnswer {
    /// Rows, which are found anew where something that they depend on was written.
    mutating func advanceRows(
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
    mutating func unfollowed() -> Step?? {
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
}
