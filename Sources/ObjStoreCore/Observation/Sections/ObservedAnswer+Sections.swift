/// How an observed answer in sections follows.
extension ObservedAnswer {
    /// Sections that are found anew, of a list that is followed where that is a part of an order.
    mutating func advanceSections(
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
    mutating func advanceFollowed(
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
}
