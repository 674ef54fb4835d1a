import ObjStoreCore

/// What a reader does with a change set, and what he finds wrong with it: nothing, or a text that begins with the name
/// of the assertion.
///
/// ```
///  twice       what was told is told again                 owner      that its owner is gone is told, or not, wrongly
///  told        of nothing, or of what is not there          content    what came and went is not what differs
///  positions   objects do not stand where it says           modified   objects, or properties, that nobody wrote
///  moves       more moves than there need be                missed     nothing is told of what has changed
///  sections    not those that came and went                 cleared    that it is empty now
///  columns     of a table, not those that differ
///  keys        of a map, not those at the positions         interval   told sooner than is wanted, or nobody is woken
///  lost        that it begins anew, or not, wrongly         kept       another version, or nothing, by a name
/// ```
extension WatchedReader {
    private typealias Positions = [UInt64]

    /// - Parameter step: from what he knows to the version of the change set.
    func take(_ changes: ChangeSet, _ step: WatchedStep) -> String? {
        if kind.isCommits {
            let isOfSome = step.hasCommits || changes.isCompared && step.isReopened
            return isOfSome && changes.isOfCommits ? nil : "told: \(name) of nothing"
        }
        let wanted = wanted(step.after), before = copy, beforeNames = names, beforeSections = sectioned
        let ends = !isEnded && !exists(in: step.after) && step.hasCommits
        if changes.isOwnerDeleted != ends { return "owner: \(name): \(changes.isOwnerDeleted)" }
        // He has deleted the owner himself: of others' changes before that he is told still.
        if isEnded && !step.isPartlySilent { return "owner: \(name) is told though it has ended" }
        if changes.changes.isEmpty && !ends { return "told: \(name) of nothing" }
        if nested != nil { return takeNested(changes, step, ends: ends) }
        if rows != nil { return takeRows(changes, step, ends: ends) }
        if let problem = apply(changes, step) { return problem }
        if copy != wanted || !isSectioned(as: step.after) { return "content: \(name) has \(shown), not \(wanted)" }
        if names != wantedNames(step.after) { return "content: \(name) has \(names)" }
        if ends {
            isEnded = true
            return nil
        }
        if kind.isMap { return checkMap(changes, step, beforeNames, before) }
        return checkNet(changes, before, wanted) ?? checkModified(changes, step)
            ?? beforeSections.map { checkSections(changes, step, $0) } ?? checkMoves(changes, step, before)
            ?? takeValues(changes, step)
    }

    /// Nothing was told of a step.
    func miss(_ step: WatchedStep) -> String? {
        if isEnded { return isEmpty ? nil : "missed: \(name) has ended, and has \(shown)" }
        if kind.isCommits { return step.hasCommits ? "missed: \(name) is not told of commits" : nil }
        if !exists(in: step.after) { return step.hasCommits ? "missed: \(name) is not told of its end" : nil }
        if !has(step.after) {
            let now =
                wantedNested(step.after)?.description ?? wantedRows(step.after)?.description
                ?? "\(wanted(step.after))"
            return "missed: \(name) has \(shown), and is not told that it is \(now)"
        }
        return missModified(step)
    }

    /// Whether his copy is what a version has.
    func has(_ content: WatchedContent) -> Bool {
        copy == wanted(content) && names == wantedNames(content) && isSectioned(as: content)
            && nested == wantedNested(content) && rows == wantedRows(content)
    }

    /// The same of what was written.
    func missModified(_ step: WatchedStep) -> String? {
        if isEnded || kind.isCommits || nested != nil || rows != nil || !exists(in: step.after) { return nil }
        // What was written with the value that it had is seen in the log alone.
        let isCompared = step.isRough || step.isReopened
        let certain = isCompared || step.hasOtherSchema || step.isPartlySilent ? step.real : step
        takeRetyped(step)
        if step.isPartlySilent { return nil }
        let modified = kind.isMap ? Set(entriesModified(certain)) : Set(modifications(certain).keys.map { "\($0)" })
        return modified.isEmpty ? nil : "missed: \(name) is not told that \(modified.sorted()) are modified"
    }

    private var shown: String {
        sectioned?.description ?? nested?.description ?? rows?.description ?? "\(copy)"
    }
    private var isEmpty: Bool { copy.isEmpty && nested?.elements.isEmpty ?? true && rows?.rows.isEmpty ?? true }

    // MARK: Doing what it says

    private func apply(_ changes: ChangeSet, _ step: WatchedStep) -> String? {
        if kind.isMap { return applyMap(changes, step) }
        return kind.sections == nil ? apply(changes) : applySections(changes)
    }

    /// What went and what was moved is taken out from the back, then put in from the front.
    private func apply(_ changes: ChangeSet) -> String? {
        guard kind.hasPositions else { return applyWithout(changes) }
        guard let indices = changes.indices else { return "positions: \(name) has none" }
        let before = copy
        for (positions, keys, what) in [
            (indices.deleted, changes.deleted, "deleted"),
            (indices.modifiedBefore, changes.modified, "modified before"),
            (indices.movedBefore, changes.moved, "moved before"),
        ] {
            if let problem = named(positions, keys, before, what, isAscending: true) { return problem }
        }
        for place in (indices.deleted + indices.movedBefore).sorted(by: >) { copy.remove(at: Int(place)) }
        let coming =
            zip(indices.inserted, changes.inserted).map { ($0, $1) }
            + zip(indices.movedAfter, changes.moved).map { ($0, $1) }
        for (place, key) in coming.sorted(by: { $0.0 < $1.0 }) {
            guard place <= copy.count else { return "positions: \(name): \(place) of \(copy.count)" }
            copy.insert(key, at: Int(place))
        }
        return named(indices.inserted, changes.inserted, copy, "inserted", isAscending: true)
            ?? named(indices.modifiedAfter, changes.modified, copy, "modified after", isAscending: true)
            ?? named(indices.movedAfter, changes.moved, copy, "moved after", isAscending: false)
    }

    private func named(
        _ positions: Positions, _ keys: [Key], _ list: [Key], _ what: String, isAscending: Bool
    ) -> String? {
        let found = positions.map { $0 < list.count ? list[Int($0)] : -1 }
        if found != keys { return "positions: \(name), \(what): \(found), not \(keys)" }
        if isAscending, zip(positions, positions.dropFirst()).contains(where: { $0 >= $1 }) {
            return "positions: \(name), \(what): \(positions) do not ascend"
        }
        return nil
    }

    private func applyWithout(_ changes: ChangeSet) -> String? {
        var own = Set(copy)
        for key in changes.deleted where own.remove(key) == nil {
            return "told: \(name) of the deletion of \(key), which it does not have"
        }
        for key in changes.inserted where !own.insert(key).inserted {
            return "told: \(name) of the insertion of \(key), which it has"
        }
        for key in changes.modified where !own.contains(key) {
            return "told: \(name) of a modification of \(key), which it does not have"
        }
        copy = own.sorted()
        return nil
    }

    private func applyMap(_ changes: ChangeSet, _ step: WatchedStep) -> String? {
        guard let keys = changes.keys, let indices = changes.indices else { return "keys: \(name) has none" }
        let after = exists(in: step.after) ? step.after[.tag, owner]!.named : [:]
        func stand(_ keys: [String], at positions: Positions, in list: [String]) -> Bool {
            positions.map { $0 < list.count ? list[Int($0)] : "" } == keys
        }
        let deleted = keys.deleted.map { String($0) }, inserted = keys.inserted.map { String($0) }
        let modified = keys.modified.map { String($0) }
        let old = names, now = old.filter { !deleted.contains($0) } + inserted
        (names, copy) = (now.sorted(), [])
        for (name, key) in zip(names, names.map { after[$0] }) {
            guard let key else { return "content: \(self.name) has the key \(name)" }
            copy.append(key)
        }
        guard stand(deleted, at: indices.deleted, in: old), stand(inserted, at: indices.inserted, in: names),
            stand(modified, at: indices.modifiedBefore, in: old), stand(modified, at: indices.modifiedAfter, in: names)
        else { return "positions: \(name): \(deleted), \(inserted), \(modified)" }
        return nil
    }

    // MARK: What it must be

    /// Nothing that came and went, or stayed, is told as the one or the other.
    private func checkNet(_ changes: ChangeSet, _ before: [Key], _ after: [Key]) -> String? {
        func without(_ list: [Key], _ others: [Key]) -> [Key] {
            var rest = Dictionary(others.map { ($0, 1) }, uniquingKeysWith: +)
            return list.filter { key in
                guard let count = rest[key], count > 0 else { return true }
                rest[key] = count - 1
                return false
            }
        }
        let deleted = without(before, after).sorted(), inserted = without(after, before).sorted()
        if changes.deleted.sorted() == deleted && changes.inserted.sorted() == inserted { return nil }
        return "content: \(name): \(changes.deleted) and \(changes.inserted) are told, not \(deleted), \(inserted)"
    }

    /// By the key of each object that it had and has.
    private func modifications(_ step: WatchedStep) -> [Key: Set<String>] {
        let had = Set(kind.content(step.before, owner))
        var modified: [Key: Set<String>] = [:]
        for key in Set(wanted(step.after)) where had.contains(key) {
            modified[key] = step.modified(WatchedContent.Place(kind: kind.kind, key: key), kind)
        }
        return modified
    }

    private func told(
        _ changes: ChangeSet, _ schema: WatchedSchema, possible: [Key: Set<String>] = [:]
    ) -> [Key: Set<String>] {
        var told: [Key: Set<String>] = [:]
        for (index, key) in (changes.modified + changes.moved).enumerated() {
            if changes.asksTable {
                // Its columns are looked at by themselves.
                told[key] = possible[key] ?? []
                continue
            }
            let names = kind.kind.properties.filter { name in
                let stored = schema.name(name, of: kind.kind)
                guard let place = changes.schema.properties.firstIndex(where: { $0.name == stored }) else {
                    return false
                }
                return changes.hasChanged(place, ofModification: index)
            }
            told[key, default: []].formUnion(names)
        }
        return told
    }

    private func checkModified(_ changes: ChangeSet, _ step: WatchedStep) -> String? {
        let possible = modifications(step), told = told(changes, step.after.schema, possible: possible)
        let moved = Set(changes.moved), isExact = !changes.isCompared && !step.isPartlySilent
        for (key, names) in told {
            if let wanted = possible[key] {
                if names.isSubset(of: wanted) || step.isPartlySilent || step.hasOtherSchema { continue }
            } else if moved.contains(key) || step.isPartlySilent {
                // What has moved is told, whatever was written.
                continue
            }
            return "modified: \(name): \(key) in \(names), not in \(possible[key] ?? [])"
        }
        // Where versions are compared, or he has changed some of it himself, what differs is certain.
        for (key, names) in isExact ? possible : step.isPartlySilent ? [:] : modifications(step.real)
        where told[key].map({ !$0.isSuperset(of: names) }) ?? true {
            return "modified: \(name): \(key) in \(told[key] ?? []), not in \(names)"
        }
        return nil
    }

    private func checkMoves(_ changes: ChangeSet, _ step: WatchedStep, _ before: [Key]) -> String? {
        if Set(copy).count < copy.count || Set(before).count < before.count { return nil }
        return checkMoves(Set(changes.moved), step, from: before, to: copy, changes.isCompared)
    }

    /// As few as possible of what nobody wrote; none where all stand as they stood.
    func checkMoves(
        _ moved: Set<Key>, _ step: WatchedStep, from before: [Key], to after: [Key], _ isCompared: Bool
    ) -> String? {
        // What was written with the value that it had counts as unwritten there.
        let isExact = !isCompared && !step.isPartlySilent && kind.paths == nil
        if moved.isEmpty { return nil }
        let stayed = Set(before).intersection(after)
        if before.filter(stayed.contains) == after.filter(stayed.contains) {
            return "moves: \(name): \(moved.sorted()), and nothing has moved"
        }
        if !isExact { return nil }
        func problem(_ keys: Set<Key>) -> String? {
            let least = WatchedReader.leastMoves(before.filter(keys.contains), after.filter(keys.contains))
            let count = moved.intersection(keys).count
            return count <= least
                ? nil : "moves: \(name): \(count) of \(moved.sorted()), where \(least) would do"
        }
        let unwritten = stayed.filter {
            let place = WatchedContent.Place(kind: kind.kind, key: $0)
            return !step.isWritten(place, nil) && step.modified(place, kind) == nil
        }
        let found = problem(unwritten)
        guard found != nil, let value = kind.sortedBy else { return found }
        // Or of those that nothing moves; where it is followed, and not asked anew.
        return problem(unwritten.filter { value(step.before, $0) == value(step.after, $0) }) == nil ? nil : found
    }

    /// How many of some different ones have to go elsewhere, so that they stand in the second order.
    static func leastMoves(_ before: [Key], _ after: [Key]) -> Int {
        let order = Dictionary(uniqueKeysWithValues: before.enumerated().map { ($1, $0) })
        var ends: [Int] = []
        for number in after.map({ order[$0]! }) {
            let place = ends.firstIndex { $0 >= number } ?? ends.count
            if place == ends.count { ends.append(number) } else { ends[place] = number }
        }
        return after.count - ends.count
    }

    /// What he shows of the objects is what they have.
    private func takeValues(_ changes: ChangeSet, _ step: WatchedStep) -> String? {
        guard hasValues else { return nil }
        takeRetyped(step)
        for key in changes.deleted where !copy.contains(key) { values[key] = nil }
        for key in changes.inserted { values[key] = step.after[kind.kind, key] }
        for (key, names) in told(changes, step.after.schema) {
            guard let now = step.after[kind.kind, key] else { return "told: \(name): \(key) is not there" }
            for property in WatchedReader.valued where names.contains(property) { values[key]!.take(property, of: now) }
        }
        for key in copy {
            guard let value = values[key], let now = step.after[kind.kind, key],
                WatchedReader.valued.allSatisfy({ value.value($0) == now.value($0) })
            else { return "values: \(name) has \(values[key].map { "\($0)" } ?? "nothing") of \(key)" }
        }
        return nil
    }

    /// A property of another kind is another one: who shows it has to look.
    private func takeRetyped(_ step: WatchedStep) {
        if step.before.schema.lives["mark"] == step.after.schema.lives["mark"] { return }
        for key in copy { values[key]?.mark = step.after[kind.kind, key]?.mark ?? 0 }
    }

    // MARK: Maps

    /// Keys that it had and has, and behind which something was written.
    private func entriesModified(_ step: WatchedStep) -> [String] {
        let was = step.before[.tag, owner]?.named ?? [:], now = step.after[.tag, owner]?.named ?? [:]
        return now.keys.filter { name in
            guard was[name] != nil else { return false }
            let tag = WatchedContent.Place(kind: .tag, key: owner),
                item = WatchedContent.Place(kind: .item, key: now[name]!)
            return step.isWritten(tag, "named/" + name) || step.modified(item, kind) != nil
        }
    }

    private func checkMap(
        _ changes: ChangeSet, _ step: WatchedStep, _ before: [String], _ old: [Key]
    ) -> String? {
        guard let keys = changes.keys else { return "keys: \(name) has none" }
        func texts(_ values: [Value]) -> Set<String> { Set(values.map { String($0) }) }
        let deleted = texts(keys.deleted), inserted = texts(keys.inserted), modified = texts(keys.modified)
        if deleted != Set(before).subtracting(names) || inserted != Set(names).subtracting(before) {
            return "content: \(name): keys \(deleted) and \(inserted) are told"
        }
        if step.isPartlySilent { return nil }
        let least = Set(entriesModified(step.real)), most = Set(entriesModified(step))
        if least.isSubset(of: modified) && modified.isSubset(of: most) { return nil }
        return "modified: \(name): keys \(modified), not \(most), of which \(least) are certain"
    }
}
