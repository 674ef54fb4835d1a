/// The scope of an observer: the objects that a query finds, in the order of creation, or one of them.
package struct ObserverScope: Sendable {
    let query: Query
    /// What it depends on.
    let reads: QueryReads
    /// Of the classes that it depends on, where these are not all.
    private let classIDs: Set<UInt32>
    /// How it is followed.
    let way: Way
    /// Nil: not one object.
    private var key: Int64?
    /// Ids of the columns whose modifications count; nil: of all.
    private var columnIDs: [UInt32]?

    /// Whether an object is in the answer its own values say, and those of what its links lead to.
    enum Way: Sendable {
        /// In the order of creation.
        case ranks
        /// By its own values; of these the objects at some positions.
        case order([SortKey], Range<Int>)
        /// In any other way: the answer is found anew.
        case list
        /// No answer, but the elements of a list, set or map.
        case collection(CollectionScope)
    }

    /// It has positions by more than the keys of its objects.
    var isList: Bool { if case .ranks = way { false } else { true } }

    package init(class cls: ClassSchema) { self.init(Query(all: cls.classID)) }

    package init(_ query: Query) {
        self.query = query
        let reads = QueryReads(query)
        self.reads = reads
        classIDs = Set(reads.classes.map { UInt32($0) })
        way = ObserverScope.way(query)
    }

    init(_ collection: CollectionScope) {
        query = Query(all: ClassID.of(collection.toldClass))
        reads = QueryReads(query)
        classIDs = collection.classes
        way = .collection(collection)
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
        if !reads.leadsAnywhere { return classIDs }
        return Set((0..<schema.classes.count).map { UInt32($0) })
    }

    func isCovered(by reader: ChangeReader) -> Bool {
        if classIDs.count == 1 && !reads.leadsAnywhere { return reader.covers(classID) }
        return classes(in: reader.to.schema).allSatisfy(reader.covers)
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
        // Its version has what is needed.
        if case .collection = way { return KeyBuffer() }
        guard Int(classID) < snapshot.schema.classes.count else { return KeyBuffer() }
        return try QueryRun(query, .version(snapshot)).keys()
    }

    /// The same in the whole order of which the answer is a part.
    func allKeys(in snapshot: Snapshot) throws(StoreError) -> KeyBuffer {
        guard query.steps.count > 1 else { return try keys(in: snapshot) }
        let all = Query(
            query.classID, storeTag: query.storeTag, query.predicate, steps: [query.steps[0]], parts: [query])
        return try QueryRun(all, .version(snapshot)).keys()
    }

    /// Turns what happened to objects into what happened to the answer: an object that begins to satisfy the question
    /// is an insertion, one that stops a deletion. Looks at changed objects only, and those that link to them. Nil:
    /// nothing happened.
    func filter(_ reader: ChangeReader) throws(StoreError) -> ClassChanges? {
        guard var changes = try changes(reader) else { return nil }
        if let columnIDs {
            let columns = reader.to.schema.classes[Int(classID)].columns
            changes.keepModifications(in: columns.indices.filter { columnIDs.contains(columns[$0].id) })
        }
        return changes
    }

    /// The same, modifications of all columns.
    func changes(_ reader: ChangeReader) throws(StoreError) -> ClassChanges? {
        var changes = reader.classes[classID]
        if let key { changes?.keep(only: key) }
        if isWholeClass { return changes }
        let touched = InjectedBug.active(.linkUntouched) ? [] : try TouchedObjects(reader).keys(of: query)
        if changes == nil && touched?.isEmpty == true { return nil }
        let all = changes ?? ClassChanges(maskWords: ClassChanges.maskWords(reader.to.schema.classes[Int(classID)]))
        return try holding(all, touched, reader)
    }

    /// - Parameter touched: objects whose links lead to something that was changed, ascending; nil: too many.
    private func holding(
        _ changes: ClassChanges, _ touched: [Int64]?, _ reader: ChangeReader
    ) throws(StoreError) -> ClassChanges {
        var result = ClassChanges(maskWords: changes.maskWords)
        result.isFromOtherProcess = changes.isFromOtherProcess
        let before = try RowTest(query, .version(reader.from)), after = try RowTest(query, .version(reader.to))
        guard let touched else { return try compared(changes, before, after, reader) }
        for key in changes.deleted where try before.holds(key) { try result.append(.deleted, key) }
        for key in changes.inserted where try after.holds(key) { try result.append(.inserted, key) }
        let columns = touched.isEmpty ? after.columns : nil
        for (index, key) in changes.modified.enumerated() {
            let holds = try after.holds(key)
            var held = holds
            // Where none of the properties was written the answer is the same.
            if columns.map({ changes.hasWritten($0, in: index) }) != false {
                held = try before.holds(key)
            }
            switch (held, holds) {
            case (false, false): break
            case (true, false): try result.append(.deleted, key)
            case (false, true): try result.append(.inserted, key)
            case (true, true):
                try result.appendModified(key, changes.mask(index))
            }
        }
        if !touched.isEmpty {
            let known = Set(changes.modified).union(changes.inserted).union(changes.deleted)
            for key in touched where !known.contains(key) {
                switch (try before.holds(key), try after.holds(key)) {
                case (true, false): try result.append(.deleted, key)
                case (false, true): try result.append(.inserted, key)
                case (true, true), (false, false): break
                }
            }
            // Of another class.
            result.isFromOtherProcess = result.isFromOtherProcess || isFromOtherProcess(reader)
        }
        // What left and what came was found in several passes, each ascending.
        result.deleted.sort()
        result.inserted.sort()
        return result
    }

    /// The same by what is found in both versions, in the order of creation.
    private func compared(
        _ changes: ClassChanges, _ before: RowTest, _ after: RowTest, _ reader: ChangeReader
    ) throws(StoreError) -> ClassChanges {
        var result = ClassChanges(maskWords: changes.maskWords)
        result.isFromOtherProcess = isFromOtherProcess(reader)
        let unordered = Query(query.classID, storeTag: query.storeTag, query.predicate, parts: [query])
        let old = try QueryRun(unordered, .version(reader.from)).keys()
        let new = try QueryRun(unordered, .version(reader.to)).keys()
        var left = 0, right = 0
        while left < old.count || right < new.count {
            if right == new.count || left < old.count && old.keys[left] < new.keys[right] {
                try result.append(.deleted, old.keys[left])
                left += 1
            } else if left == old.count || new.keys[right] < old.keys[left] {
                try result.append(.inserted, new.keys[right])
                right += 1
            } else {
                left += 1
                right += 1
            }
        }
        for (index, key) in changes.modified.enumerated() {
            guard try before.holds(key), try after.holds(key) else { continue }
            try result.appendModified(key, changes.mask(index))
        }
        return result
    }

    /// Some of what it depends on.
    func isFromOtherProcess(_ reader: ChangeReader) -> Bool {
        reader.classes.contains { id, changes in
            changes.isFromOtherProcess && (reads.leadsAnywhere || reads.classes.contains(Int(id)))
        }
    }

    private static func way(_ query: Query) -> Way {
        guard TouchedObjects.suffice(for: query) else { return .list }
        guard let first = query.steps.first else { return .ranks }
        guard case .sort(let keys) = first,
            keys.allSatisfy({ $0.path == nil && $0.calls.isEmpty && !$0.isFirstLetter })
        else { return .list }
        var start = 0, end = Int.max
        for step in query.steps.dropFirst() {
            switch step {
            case .offset(let count):
                start = min(end, start.addingReportingOverflow(count).overflow ? end : start + count)
            case .limit(let count): end = start.addingReportingOverflow(count).overflow ? end : min(end, start + count)
            case .sort, .distinct, .filter: return .list
            }
        }
        return .order(keys, start..<end)
    }
}
