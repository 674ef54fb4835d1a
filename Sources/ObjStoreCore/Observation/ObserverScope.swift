/// The scope of an observer: the objects that a query finds, in the order of creation, or one of them.
package struct ObserverScope: Sendable {
    let query: Query
    /// Of an answer that has an order of its own, or depends on other objects than those in it; nil: each object of the
    /// class decides for itself.
    let reads: QueryReads?
    /// Of a sorted answer whose objects say by their own values whether they are in it, and where; nil: another one.
    let order: [SortKey]?
    /// Nil: not one object.
    private var key: Int64?
    /// Ids of the columns whose modifications count; nil: of all.
    private var columnIDs: [UInt32]?

    package init(class cls: ClassSchema) { self.init(Query(all: cls.classID)) }

    package init(_ query: Query) {
        self.query = query
        reads = query.isInOrderOfCreation ? nil : QueryReads(query)
        order = query.ownOrder
    }

    /// Errors: as of `QueryRun`; `.notSupported`: a query that calls functions.
    func check(in snapshot: Snapshot) throws(StoreError) {
        if query.callsFunctions {
            throw StoreError(.notSupported, "a query that calls functions cannot be observed by this version")
        }
        try QueryRun(query, .version(snapshot)).check()
    }

    /// As change sets have it: the place of the class in the schema.
    package var classID: UInt32 { UInt32(ClassID.index(query.classID)) }
    package var isWholeClass: Bool { query.predicate.isTrue }

    /// Whose changes have to be looked at.
    func classes(in schema: Schema) -> Set<UInt32> {
        guard let reads else { return [classID] }
        return Set(
            (0..<schema.classes.count).filter { reads.leadsAnywhere || reads.classes.contains($0) }.map { UInt32($0) })
    }

    /// Which properties' modifications count; nil: all.
    func columnMask(in snapshot: Snapshot, maskWords: Int) -> [UInt64]? {
        columnIDs.map { ids in
            var mask = [UInt64](repeating: 0, count: maskWords)
            for (place, column) in snapshot.schema.classes[Int(classID)].columns.enumerated()
            where ids.contains(column.id) {
                mask[place >> 6] |= 1 << UInt64(place & 63)
            }
            return mask
        }
    }

    /// Only what happens to one object.
    package func only(_ key: Int64) -> ObserverScope {
        var scope = self
        scope.key = key
        return scope
    }

    /// Only modifications of one of the properties (positions in `cls`); insertions and deletions are reported all the
    /// same.
    package func modified(in properties: [Int], of cls: ClassSchema) -> ObserverScope {
        var scope = self
        scope.columnIDs = properties.map { cls.columns[$0].id }
        return scope
    }

    /// The keys that satisfy it in a version, in their order; none where that is older than the class. Costs a scan.
    func keys(in snapshot: Snapshot) throws(StoreError) -> KeyBuffer {
        guard Int(classID) < snapshot.schema.classes.count else { return KeyBuffer() }
        return try QueryRun(query, .version(snapshot)).keys()
    }

    /// Turns what happened to objects of the class into what happened to the answer: an object that begins to
    /// satisfy the question is an insertion, one that stops a deletion. Looks at changed objects only.
    func filter(_ changes: ClassChanges, from: Snapshot, to: Snapshot) throws(StoreError) -> ClassChanges {
        var changes = changes
        if let key { changes.keep(only: key) }
        if !isWholeClass { changes = try holding(changes, from: from, to: to) }
        if let columnIDs {
            let columns = to.schema.classes[Int(classID)].columns
            changes.keepModifications(in: columns.indices.filter { columnIDs.contains(columns[$0].id) })
        }
        return changes
    }

    /// What changed in the answer, whatever its order.
    func holding(_ changes: ClassChanges, from: Snapshot, to: Snapshot) throws(StoreError) -> ClassChanges {
        var result = ClassChanges(maskWords: changes.maskWords)
        result.isFromOtherProcess = changes.isFromOtherProcess
        let before = try RowTest(query, .version(from)), after = try RowTest(query, .version(to))
        for key in changes.deleted where try before.holds(key) { try result.append(.deleted, key) }
        for key in changes.inserted where try after.holds(key) { try result.append(.inserted, key) }
        let columns = after.columns
        for (index, key) in changes.modified.enumerated() {
            let mask = changes.masks[(index * changes.maskWords)..<((index + 1) * changes.maskWords)]
            let holds = try after.holds(key)
            var held = holds
            // Where none of the properties was written the answer is the same.
            if columns?.contains(where: { mask[mask.startIndex + $0 >> 6] >> UInt64($0 & 63) & 1 != 0 }) != false {
                held = try before.holds(key)
            }
            switch (held, holds) {
            case (false, false): break
            case (true, false): try result.append(.deleted, key)
            case (false, true): try result.append(.inserted, key)
            case (true, true):
                try result.appendModified(key, mask)
            }
        }
        // What left and what came was found in two passes, each ascending.
        result.deleted.sort()
        result.inserted.sort()
        return result
    }
}

extension Query {
    /// Each object says by its own values whether it is in the answer, and its key where.
    fileprivate var isInOrderOfCreation: Bool { steps.isEmpty && isOfOwnValues }

    /// Its values say where.
    fileprivate var ownOrder: [SortKey]? {
        guard steps.count == 1, case .sort(let keys) = steps[0], isOfOwnValues,
            keys.allSatisfy({ $0.path == nil && $0.calls.isEmpty && !$0.isFirstLetter })
        else { return nil }
        return keys
    }

    private var isOfOwnValues: Bool {
        origin.isObjects
            && predicate.nodes.allSatisfy { node in
                switch node {
                case .paths: false
                case .test(let test): !test.hasTargets
                case .truth, .values, .not, .and, .or: true
                }
            }
    }
}
