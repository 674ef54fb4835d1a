/// A step of an observer of a list, set or map: by the operations that the log has, else by what it was before and is
/// now.
///
/// ```
///  the log has every splice      ElementSpans ──┐
///                                               ├──► CollectionDifference ──► change set
///  a summary, no log, a silent   both versions ─┘
///  part, objects were changed    read
/// ```
/// The observer keeps nothing but the version that it knows, which has the elements.
struct CollectionStep {
    typealias Part = (reader: ChangeReader, isSilent: Bool)
    typealias Entry = CollectionDifference.Entry

    private let scope: CollectionScope
    private let before: Snapshot
    private let after: Snapshot
    private let parts: [Part]
    private let old: ObservedElements
    /// Nil: it is gone.
    private let new: ObservedElements?
    /// Objects of the elements; in parts that are told.
    private var modified = ModifiedObjects()
    private let maskWords: Int

    /// Nil: nothing happened that the observer is to be told of.
    init?(_ scope: CollectionScope, from before: Snapshot, _ parts: [Part]) throws(StoreError) {
        guard let last = parts.last, let old = try scope.elements(in: before) else { return nil }
        let after = last.reader.to
        (self.scope, self.before, self.after, self.old) = (scope, before, after, old)
        var isConcerned = false
        maskWords = ClassChanges.maskWords(after.schema.classes[scope.toldClass])
        self.parts = parts.map { ($0.reader, $0.isSilent && !InjectedBug.active(.elementUnsilenced)) }
        new = try scope.elements(in: after)
        for part in self.parts where !part.isSilent {
            if try scope.isWritten(part.reader) { isConcerned = true }
            guard let modified = try scope.modifiedObjects(part.reader) else { continue }
            try Memory.check(for: modified.masks.count, each: 128)
            let isSame = try part.reader.to.schemaRef() == after.schemaRef()
            self.modified.add(modified, maskWords: isSame ? nil : maskWords)
            isConcerned = true
        }
        if !isConcerned { return nil }
    }

    /// What is to be told; nil: nothing.
    func told() throws(StoreError) -> ChangeSet? {
        let outcome: Outcome
        if new == nil, !parts.contains(where: \.isSilent) {
            outcome = try vanished()
        } else if let touched = try touched() {
            outcome = touched
        } else if let followed = try followed() {
            outcome = followed
        } else {
            outcome = scope.kind == .list ? try comparedList() : try comparedEntries()
        }
        let isGone = try goes()
        if outcome.difference.isEmpty && !isGone { return nil }
        let changes = ChangeSet(
            classID: UInt32(scope.toldClass), before: before, after: after,
            changes: try changes(of: outcome), indices: outcome.difference.indices,
            // Objects are modified whatever the elements say, and of what is gone nothing is.
            isCompared: parts.contains { $0.reader.isCompared }
                || outcome.isCompared && scope.target == nil && new != nil)
        scope.describe(changes)
        changes.isOwnerDeleted = isGone
        changes.isCleared = outcome.countBefore > 0 && outcome.countAfter == 0
        if scope.kind == .map { changes.keys = try ChangedKeys(outcome) }
        return changes
    }

    /// The owner, or the property, has gone in a part that is told.
    private func goes() throws(StoreError) -> Bool {
        if new != nil { return false }
        for part in parts where !part.isSilent {
            if try scope.elements(in: part.reader.from) != nil, try scope.elements(in: part.reader.to) == nil {
                return true
            }
        }
        return false
    }

    /// A difference, with the elements that it is about, where they are wanted: links of objects, and keys.
    struct Outcome {
        var difference: CollectionDifference
        var deleted: [Entry] = []
        var inserted: [Entry] = []
        /// As they are after.
        var modified: [Entry] = []
        var moved: [Entry] = []
        let countBefore: Int
        let countAfter: Int
        var isCompared = true
    }

    /// With its owner, or its property.
    private func vanished() throws(StoreError) -> Outcome {
        let count = try old.count()
        var outcome = Outcome(
            difference: try CollectionDifference(deletingAllOf: count), countBefore: count, countAfter: 0,
            isCompared: false)
        if scope.hasObjects || scope.kind == .map { outcome.deleted = try old.allEntries() }
        return outcome
    }

    // MARK: By the objects

    /// Where no element came or went, but objects were modified: at their places. Nil: some did, or the objects are too
    /// many to look for each.
    private func touched() throws(StoreError) -> Outcome? {
        guard case .stored(let elements)? = new, parts.count == 1, let reader = parts.first?.reader,
            try !scope.isWritten(reader),
            let places = try scope.places(
                of: modified.told ?? Set(modified.masks.keys), in: elements, reader.to)
        else { return nil }
        let count = try elements.count()
        var outcome = Outcome(
            difference: CollectionDifference(modifiedAt: places), countBefore: count, countAfter: count,
            isCompared: false)
        if scope.hasObjects || scope.kind == .map { outcome.modified = try elements.entries(at: places) }
        return outcome
    }

    // MARK: By the log

    /// Nil: the log does not say it, or not what is asked.
    private func followed() throws(StoreError) -> Outcome? {
        guard case .stored(let old) = old, case .stored(let new)? = new, parts.count == 1,
            let reader = parts.first?.reader, modified.masks.isEmpty, let splices = try reader.splices(of: scope)
        else { return nil }
        let count = try old.count()
        guard let spans = ElementSpans(count, splices, replaces: scope.kind == .list) else { return nil }
        let difference = try CollectionDifference(spans, old, new, hasObjects: scope.hasObjects)
        var outcome = Outcome(
            difference: difference, countBefore: count, countAfter: try new.count(), isCompared: false)
        if scope.hasObjects || scope.kind == .map {
            outcome.deleted = try old.entries(at: difference.deleted)
            outcome.inserted = try new.entries(at: difference.inserted)
            outcome.modified = try new.entries(at: difference.modified.map(\.after))
            // Read in their order after, listed in that before.
            let order = difference.moved.indices.sorted { difference.moved[$0].after < difference.moved[$1].after }
            let moved = try new.entries(at: order.map { difference.moved[$0].after })
            outcome.moved = moved
            for (place, number) in order.enumerated() { outcome.moved[number] = moved[place] }
        }
        return outcome
    }

    // MARK: By both versions

    private func comparedList() throws(StoreError) -> Outcome {
        var numbers = ElementNumbers(scope)
        var list = try numbers.list(old), shown = list, at = before
        if parts.contains(where: \.isSilent) {
            for part in parts {
                let next =
                    part.reader.to === after ? try numbers.list(new) : try numbers.list(of: scope, part.reader.to)
                if part.isSilent { shown = try ListDifference(list, next, changed: []).applied(to: shown) }
                (list, at) = (next, part.reader.to)
            }
        }
        if at !== after { list = try numbers.list(new) }
        var found = try ListDifference(shown, list, changed: Set(modified.masks.keys))
        if let told = modified.told { found.keepModified(told) }
        var outcome = Outcome(
            difference: CollectionDifference(found, hasObjects: scope.hasObjects), countBefore: shown.count,
            countAfter: list.count)
        if scope.hasObjects {
            func link(_ key: Int64) -> Entry { (.null, Value(kind: .link, low: key)) }
            outcome.deleted = found.deletedKeys.map(link)
            outcome.inserted = found.insertedKeys.map(link)
            outcome.modified = found.modifiedKeys.map(link)
            outcome.moved = found.movedKeys.map(link)
        }
        return outcome
    }

    private func comparedEntries() throws(StoreError) -> Outcome {
        var entries = try old.allEntries(), shown = entries, at = before
        if parts.contains(where: \.isSilent) {
            for part in parts {
                let next = try scope.elements(in: part.reader.to)?.allEntries() ?? []
                if part.isSilent { shown = silenced(shown, from: entries, to: next) }
                (entries, at) = (next, part.reader.to)
            }
        }
        if at !== after { entries = try new?.allEntries() ?? [] }
        let difference = CollectionDifference(
            shown, entries, scope.kind, changed: modified.told ?? Set(modified.masks.keys))
        return Outcome(
            difference: difference, deleted: difference.deleted.map { shown[$0] },
            inserted: difference.inserted.map { entries[$0] }, modified: difference.modified.map { entries[$0.after] },
            countBefore: shown.count, countAfter: entries.count)
    }

    /// What the reader has when he has done himself what leads from one state to another.
    private func silenced(_ shown: [Entry], from before: [Entry], to after: [Entry]) -> [Entry] {
        let isMap = scope.kind == .map
        func order(_ a: Entry, _ b: Entry) -> Int {
            isMap ? CollectionOrder.compare(a.key, b.key) : CollectionOrder.compare(a.value, b.value)
        }
        var result: [Entry] = [], place = 0, left = 0, right = 0
        func least() -> Entry? {
            var least = place < shown.count ? shown[place] : nil
            if left < before.count, least.map({ order(before[left], $0) < 0 }) ?? true { least = before[left] }
            if right < after.count, least.map({ order(after[right], $0) < 0 }) ?? true { least = after[right] }
            return least
        }
        while let least = least() {
            func take(_ list: [Entry], _ index: inout Int) -> Entry? {
                guard index < list.count, order(list[index], least) == 0 else { return nil }
                index += 1
                return list[index - 1]
            }
            let known = take(shown, &place), was = take(before, &left), now = take(after, &right)
            // Unchanged there: as he has it.
            let isSame =
                switch (was, now) {
                case (nil, nil): true
                case (let was?, let now?): was.value.isSame(as: now.value)
                default: false
                }
            if let entry = isSame ? known : now { result.append(entry) }
        }
        return result
    }

    // MARK: As change sets have it

    private func changes(of outcome: Outcome) throws(StoreError) -> ClassChanges {
        let difference = outcome.difference
        var changes = ClassChanges(maskWords: maskWords)
        changes.isFromOtherProcess = parts.contains { !$0.isSilent && scope.isFromOtherProcess($0.reader) }
        if scope.hasObjects {
            changes.deleted = outcome.deleted.map(\.value.low)
            changes.inserted = outcome.inserted.map(\.value.low)
            changes.modified = outcome.modified.map(\.value.low)
            changes.moved = outcome.moved.map(\.value.low)
            let none = [UInt64](repeating: 0, count: maskWords)
            for key in changes.modified + changes.moved { changes.masks += modified.masks[key] ?? none }
            return changes
        }
        changes.deleted = difference.deleted.map { Int64($0) }
        changes.inserted = difference.inserted.map { Int64($0) }
        changes.modified = difference.modified.map { Int64($0.after) }
        changes.moved = difference.moved.map { Int64($0.after) }
        // Of each, the property was written.
        var mask = [UInt64](repeating: 0, count: maskWords)
        if let position = try? after.schema.classes[scope.ownerClass].position(scope.id.propertyID) {
            mask[position >> 6] = 1 << UInt64(position & 63)
        }
        for _ in 0..<changes.modified.count + changes.moved.count { changes.masks += mask }
        return changes
    }
}

/// Equal numbers for equal elements, so that lists can be compared as lists of keys.
private struct ElementNumbers {
    private let isOfObjects: Bool
    private var numbers: [ElementValue: Int64] = [:]

    init(_ scope: CollectionScope) { isOfObjects = scope.hasObjects }

    mutating func list(of scope: CollectionScope, _ snapshot: Snapshot) throws(StoreError) -> KeyBuffer {
        try list(try scope.elements(in: snapshot))
    }

    /// The elements must stay as long as this. Nil: there are none.
    mutating func list(_ elements: ObservedElements?) throws(StoreError) -> KeyBuffer {
        let list = KeyBuffer()
        guard let elements else { return list }
        let count = try elements.count()
        try list.reserve(count)
        if !isOfObjects { try Memory.check(for: count, each: 2 * MemoryLayout<(ElementValue, Int64)>.stride) }
        try elements.forEach { (_, value) throws(StoreError) in
            try list.append(isOfObjects ? value.low : number(value))
            return true
        }
        return list
    }

    private mutating func number(_ value: Value) -> Int64 {
        let next = Int64(numbers.count)
        if let known = numbers[ElementValue(value)] { return known }
        numbers[ElementValue(value)] = next
        return next
    }
}

/// Keys of a map that change sets tell of; each list ascends.
package final class ChangedKeys: @unchecked Sendable {
    package let deleted: [Value]
    package let inserted: [Value]
    package let modified: [Value]
    private let kept: KeptTexts

    init() { (deleted, inserted, modified, kept) = ([], [], [], KeptTexts()) }

    /// Of sections, and of what a query of a map finds. Copies.
    init(deleted: [Value], inserted: [Value], modified: [Value] = []) throws(StoreError) {
        let kept = KeptTexts()
        func keep(_ keys: [Value]) throws(StoreError) -> [Value] {
            try keys.map { (key) throws(StoreError) in try kept.keep(key) }
        }
        (self.deleted, self.inserted, self.modified) = (try keep(deleted), try keep(inserted), try keep(modified))
        self.kept = kept
    }

    /// Copies: they outlive the elements.
    init(_ outcome: CollectionStep.Outcome) throws(StoreError) {
        let kept = KeptTexts()
        func keep(_ entries: [CollectionStep.Entry]) throws(StoreError) -> [Value] {
            try Memory.check(for: entries.count, each: MemoryLayout<Value>.stride)
            var keys: [Value] = []
            for (key, _) in entries { keys.append(try kept.keep(key)) }
            return keys
        }
        self.kept = kept
        deleted = try keep(outcome.deleted)
        modified = try keep(outcome.modified)
        let new = try keep(outcome.inserted)
        inserted = InjectedBug.active(.elementKeyLost) ? Array(new.dropLast()) : new
    }
}
