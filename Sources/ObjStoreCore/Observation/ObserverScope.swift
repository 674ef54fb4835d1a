/// The scope of an observer: the objects that a query finds, in the order of creation, or one of them.
package struct ObserverScope: Sendable {
    let query: Query
    /// Nil: not one object.
    private var key: Int64?
    /// Ids of the columns whose modifications count; nil: of all.
    private var columnIDs: [UInt32]?

    package init(class cls: ClassSchema) { self.init(Query(all: cls.classID)) }

    package init(_ query: Query) { self.query = query }

    /// Errors: as of `QueryRun`; `.notSupported`: a query in the order of an index.
    func check(in snapshot: Snapshot) throws(StoreError) {
        switch query.origin {
        case .objects: break
        case .stretch:
            throw StoreError(.notSupported, "results in the order of an index cannot be observed by this version")
        case .collection:
            throw StoreError(.notSupported, "a query of a list, set or map cannot be observed by this version")
        }
        if !query.steps.isEmpty {
            throw StoreError(
                .notSupported, "a query with SORT, DISTINCT, LIMIT or OFFSET cannot be observed by this version")
        }
        if query.callsFunctions {
            throw StoreError(.notSupported, "a query that calls functions cannot be observed by this version")
        }
        for node in query.predicate.nodes {
            switch node {
            case .paths: break
            case .test(let test) where test.hasTargets: break
            case .truth, .test, .values, .not, .and, .or: continue
            }
            throw StoreError(
                .notSupported,
                """
                a query about collections, words, or about what lies behind a link, cannot be observed by this version
                """)
        }
        try QueryRun(query, .version(snapshot)).check()
    }

    /// As change sets have it: the place of the class in the schema.
    package var classID: UInt32 { UInt32(ClassID.index(query.classID)) }
    package var isWholeClass: Bool { query.predicate.isTrue }

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

    /// The keys that satisfy it in a version, ascending; none where that is older than the class. Costs a scan.
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

    private func holding(_ changes: ClassChanges, from: Snapshot, to: Snapshot) throws(StoreError) -> ClassChanges {
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
