/// How the objects of an observed answer are put into sections. Immutable; any thread.
final class SectionScope: @unchecked Sendable {
    enum Key {
        case value(SectionKey)
        case function((KeyBuffer, Snapshot) throws(StoreError) -> SectionGroups)
    }

    private let key: Key
    let order: SectionList.Order
    /// The one section that is observed; nil: all.
    let only: OwnedValue?

    init(_ key: Key, _ order: SectionList.Order, only: OwnedValue?) {
        (self.key, self.order, self.only) = (key, order, only)
    }

    /// Nil: a function says it.
    var sortKey: SortKey? { if case .value(let key) = key { key.sortKey } else { nil } }

    /// What has to be read to know in which section an object is.
    func add(to reads: inout QueryReads) {
        if let sortKey { reads.add(sortKey) } else { reads.addAnything() }
    }

    /// By what objects stand as their sections do, ascending, and inside of these; nil: their own values do not say it
    /// all.
    func order(of way: ObserverScope.Way) -> [SortKey]? {
        guard let sortKey, sortKey.path.map(QueryPaths.canFollow) ?? true, sortKey.calls.isEmpty else { return nil }
        switch way {
        case .ranks: return [sortKey]
        case .order(let keys, let part): return part == 0..<Int.max ? [sortKey] + keys : nil
        case .firsts, .elements, .stretch, .list, .collection, .rows: return nil
        }
    }

    /// Errors: those of the function.
    func sections(
        of list: KeyBuffer, in snapshot: Snapshot, _ classID: UInt32
    ) throws(StoreError) -> SectionList {
        let groups: SectionGroups
        switch key {
        case .value(let key):
            groups = try SectionGroups(of: list, by: key, .version(snapshot), try snapshot.schema.cls(classID))
        case .function(let function): groups = try function(list, snapshot)
        }
        return try SectionList(list, groups, order)
    }
}

extension SectionList: FoundAnswer {
    static func found(
        _ scope: ObserverScope, _ list: KeyBuffer?, in snapshot: Snapshot
    ) throws(StoreError) -> SectionList {
        guard let sections = scope.sections, Int(scope.classID) < snapshot.schema.classes.count else {
            return try SectionList()
        }
        let list = try KeyBuffer.found(scope, list, in: snapshot)
        return try scope.asking { () throws(StoreError) in
            try sections.sections(of: list, in: snapshot, scope.query.classID)
        }
    }

    func difference(
        to next: SectionList, _ scope: ObserverScope, _ modified: ModifiedObjects, maskWords: Int
    ) throws(StoreError) -> ToldDifference {
        let only = scope.sections?.only
        let difference = try SectionsDifference(
            self, next, changed: Set(modified.masks.keys), told: modified.told, isOfOne: only != nil)
        var numbers: SectionedChanges.Numbers?
        if let only { numbers = (try section(of: only.value), try next.section(of: only.value)) }
        let none = [UInt64](repeating: 0, count: maskWords)
        return try difference.changes.told(
            maskWords: maskWords, only: numbers,
            addMask: { key, masks in masks += modified.masks[key] ?? none },
            keyBefore: { self.keys[$0] }, keyAfter: { next.keys[$0] })
    }
}
