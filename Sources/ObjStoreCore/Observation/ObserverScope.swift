/// The scope of an observer: the objects that a query finds, in the order of creation, or one of them.
package struct ObserverScope: Sendable {
    private(set) var query: Query
    /// What it depends on.
    private(set) var reads: QueryReads
    /// How it is followed.
    let way: Way
    /// Nil: not one object.
    private(set) var key: Int64?
    /// It is told that something was committed, and not what.
    private(set) var observesCommits = false
    /// Of which modifications it is told.
    private(set) var paths: ObservedPaths
    private var extra: Extra?

    /// What few have: in a box, for there may be very many observers.
    private final class Extra: Sendable {
        fileprivate let kept: Kept
        init(_ kept: Kept) { self.kept = kept }
    }

    private struct Kept: Sendable {
        var rows: RowsScope?
        var followed: FollowedTable?
        var grouped: ObserverScope?
        var sections: SectionScope?
        /// Functions of the program are called inside of it.
        var gate: CallGate?
    }

    private mutating func keep(_ change: (inout Kept) -> Void) {
        var kept = extra?.kept ?? Kept()
        change(&kept)
        extra = Extra(kept)
    }

    /// Nil: what is told are objects, or elements.
    var rows: RowsScope? { extra?.kept.rows }
    /// Of groups that may be followed.
    var followedGroups: FollowedTable? { extra?.kept.followed }
    /// The objects of groups that are some of an order, which are followed in their place.
    var grouped: ObserverScope? { extra?.kept.grouped }
    /// Nil: the objects are in none.
    var sections: SectionScope? { extra?.kept.sections }

    /// Whether an object is in the answer its own values say, and those of what its links lead to. In boxes: there may
    /// be very many observers, of which most have none.
    enum Way: Sendable {
        /// In the order of creation.
        case ranks
        /// By its own values, and those behind paths that can be followed; of these the objects at some positions.
        indirect case order([SortKey], Range<Int>)
        /// By the same, those that are the first with their values, and of these again.
        indirect case firsts(FirstsOrders, Range<Int>)
        /// The same of the elements of a list, set or map.
        indirect case elements(ElementsOrder, Range<Int>)
        /// All of a part of an index.
        case stretch
        /// In any other way: the answer is found anew.
        case list
        /// No answer, but the elements of a list, set or map.
        case collection(CollectionScope)
        /// Rows that are no objects, or not followed as these: found anew.
        case rows
    }

    /// It has positions by more than the keys of its objects.
    var isList: Bool { if case .ranks = way { sections != nil } else { true } }

    /// By what its objects stand where they do, then in the order of creation; nil: not by what they have themselves.
    var ownOrder: [SortKey]? {
        guard query.origin.isObjects, !isCollection, !isRows else { return nil }
        var order: [SortKey] = []
        for case .sort(let keys) in query.steps {
            if !keys.allSatisfy(ObserverScope.canFollow) { return nil }
            order = keys + order
        }
        return order
    }
    var isCollection: Bool { if case .collection = way { true } else { false } }
    var isRows: Bool { if case .rows = way { true } else { false } }

    package init(class cls: ClassSchema, _ paths: ObservedPaths = .usual) { self.init(Query(all: cls.classID), paths) }

    package init(_ query: Query, _ paths: ObservedPaths = .usual) {
        self.query = query.withoutText
        self.paths = paths
        let reads = QueryReads(query)
        self.reads = reads
        way = ObserverScope.way(query)
    }

    init(_ collection: CollectionScope) {
        query = Query(all: ClassID.of(collection.toldClass))
        reads = QueryReads(query)
        paths = collection.paths
        way = .collection(collection)
    }

    /// Of a table. Rows of objects are followed as these are, which are modified by what columns read.
    init(_ table: TableQuery, in schema: Schema) {
        query = table.objects.withoutText
        var kept = Kept(rows: .table(table))
        if let paths = table.groupedPaths(in: schema) {
            let objects = ObserverScope(table.objects, .some(paths))
            kept.followed = FollowedTable(table, objects, .some(paths))
            kept.grouped = objects.isSome ? objects : nil
        }
        extra = Extra(kept)
        if let shown = table.shownPaths(in: schema) {
            reads = QueryReads(query)
            paths = .some(shown)
            way = ObserverScope.way(query)
        } else {
            reads = QueryReads(table)
            paths = .own
            way = .rows
        }
    }

    init(_ values: ValueQuery) {
        query = Query(all: values.collection.owner.classID)
        extra = Extra(Kept(rows: .values(values)))
        reads = QueryReads(values)
        paths = .own
        way = .rows
    }

    /// Of whatever is committed.
    package static var commits: ObserverScope {
        var scope = ObserverScope(Query(all: 1), .own)
        scope.observesCommits = true
        return scope
    }

    /// Errors: as of `QueryRun`.
    func check(in snapshot: Snapshot) throws(StoreError) {
        try QueryRun(query, .version(snapshot)).check()
        switch rows {
        case .table(let table): _ = try TableRun(table, .version(snapshot))
        case .values(let values): _ = try ValueRun(values, .version(snapshot))
        case nil: break
        }
    }

    /// As change sets have it: the place of the class in the schema.
    package var classID: UInt32 { UInt32(ClassID.index(query.classID)) }
    /// Of its origin: the class, a collection, or an index all of whose part is observed.
    package var isWholeClass: Bool {
        guard query.predicate.isTrue else { return false }
        if case .stretch = way { return true }
        return query.origin.stretch == nil
    }

    /// Whose changes have to be looked at.
    func classes(in schema: Schema) -> Set<UInt32> {
        if case .collection(let collection) = way { return collection.classes(in: schema) }
        if reads.leadsAnywhere { return Set((0..<schema.classes.count).map { UInt32($0) }) }
        var classes = Set(reads.classes.map { UInt32($0) })
        if rows?.owner != nil { classes.insert(classID) }
        paths.addClasses(from: Int(classID), of: schema, to: &classes)
        return classes
    }

    func isCovered(by reader: ChangeReader) -> Bool {
        classes(in: reader.to.schema).allSatisfy(reader.covers)
    }

    /// Only what happens to one object.
    package func only(_ key: Int64) -> ObserverScope {
        var scope = self
        scope.key = key
        return scope
    }

    /// The same objects in sections.
    func inSections(_ sections: SectionScope) -> ObserverScope {
        var scope = self
        scope.keep { $0.sections = sections }
        if !InjectedBug.active(.sectionStale) { sections.add(to: &scope.reads) }
        return scope
    }

    /// The same, which has what it can in common with others: there may be very many.
    func sharing(_ parts: inout SharedParts) -> ObserverScope {
        var scope = self
        (scope.query, scope.reads) = (parts.query(query), parts.reads(reads))
        return scope
    }

    struct SharedParts {
        private var reads: Set<QueryReads> = []
        private var wholeClasses: [UInt32: Query] = [:]
        private static let most = 256

        fileprivate mutating func reads(_ one: QueryReads) -> QueryReads {
            if reads.count > SharedParts.most { reads.removeAll() }
            return reads.insert(one).memberAfterInsert
        }

        fileprivate mutating func query(_ one: Query) -> Query {
            guard one.isAll else { return one }
            if let known = wholeClasses[one.classID] { return known }
            wholeClasses[one.classID] = one
            return one
        }
    }

    /// Functions that it calls run inside of a gate.
    func calling(within gate: CallGate) -> ObserverScope {
        guard query.callsFunctions || rows?.callsFunctions == true || sections != nil else { return self }
        var scope = self
        scope.keep { $0.gate = gate }
        return scope
    }

    /// The keys that satisfy it in a version, in their order; none where that is older than the class. Costs a scan.
    func keys(in snapshot: Snapshot) throws(StoreError) -> KeyBuffer {
        // Its version has what is needed.
        if isCollection || isRows { return KeyBuffer() }
        guard Int(classID) < snapshot.schema.classes.count else { return KeyBuffer() }
        return try asking { () throws(StoreError) in try QueryRun(query, .version(snapshot)).keys() }
    }

    /// Functions are called inside of it, if there are any.
    func asking<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        guard let gate = extra?.kept.gate else { return try body() }
        return try gate.within(body)
    }

    /// Which part of its order the answer is; nil: it is not followed in one.
    var part: Range<Int>? {
        switch way {
        case .order(_, let part), .firsts(_, let part): part
        case .ranks, .elements, .stretch, .list, .collection, .rows: nil
        }
    }

    /// Objects of an order, of which few may be in the answer.
    private var isSome: Bool {
        switch way {
        case .order(_, let part): part.upperBound < .max
        case .firsts: true
        case .ranks, .elements, .stretch, .list, .collection, .rows: false
        }
    }

    /// All objects of its order are in the answer.
    var isOrdered: Bool { if case .order(_, 0..<Int.max) = way { true } else { false } }

    /// All of which the answer is a part, in their order; of elements of which it has the first ones, all of these.
    func uncut(in snapshot: Snapshot) throws(StoreError) -> KeyBuffer {
        var steps = query.steps.filter { !$0.isCut }
        if case .elements(let order, _) = way, !order.firsts.isEmpty { steps.removeLast() }
        let all = Query(
            query.classID, storeTag: query.storeTag, query.predicate, of: query.origin, steps: steps, parts: [query])
        return try QueryRun(all, .version(snapshot)).keys()
    }

    /// All of which a DISTINCT finds the first ones, by what says which these are.
    func all(for firsts: FirstsOrder, in snapshot: Snapshot) throws(StoreError) -> KeyBuffer {
        let all = Query(
            query.classID, storeTag: query.storeTag, query.predicate, of: query.origin,
            steps: query.steps[..<firsts.step] + [.sort(firsts.keys)], parts: [query])
        return try QueryRun(all, .version(snapshot)).keys()
    }

    /// Turns what happened to objects into what happened to the answer: an object that begins to satisfy the question
    /// is an insertion, one that stops a deletion. Looks at changed objects only, and those that link to them. Nil:
    /// nothing happened.
    func filter(_ reader: ChangeReader) throws(StoreError) -> ClassChanges? {
        guard let (all, told) = try changes(reader) else { return nil }
        guard let told else { return all }
        var changes = all
        changes.keepModifications { told[$0] }
        return changes
    }

    /// The same with all that was modified; `told` says of which modifications it is told (nil: of all).
    func changes(_ reader: ChangeReader) throws(StoreError) -> (changes: ClassChanges, told: [Bool]?)? {
        guard Int(classID) < reader.to.schema.classes.count else { return nil }
        let linked = try linked(reader)
        guard var changes = try ownChanges(reader) else {
            if linked.isEmpty { return nil }
            let none = ClassChanges(maskWords: ClassChanges.maskWords(reader.to.schema.classes[Int(classID)]))
            return (try adding(linked, to: none, reader), nil)
        }
        let own = changes
        if !linked.isEmpty { changes = try adding(linked, to: changes, reader) }
        guard case .some(let path) = paths, !path.isWhole else { return (changes, nil) }
        let properties = ToldProperties(path, reader)
        let told = changes.modified.map { key in
            linked[key] != nil
                || own.rowOfModification(key).map { properties.isTold(key, own.mask($0)) } ?? false
        }
        return (changes, told)
    }

    /// The same with those that have to be sorted anew by what lies behind paths, written or not, and which these are.
    func changesOfOrder(
        _ reader: ChangeReader
    ) throws(StoreError) -> (changes: ClassChanges, told: [Bool]?, resorted: Set<Int64>)? {
        let found = try changes(reader)
        var keys: [SortKey] = []
        switch way {
        case .order(let own, _): keys = own
        case .elements(let own, _): keys = own.keys + own.firsts
        case .firsts(let own, _): keys = own.keys
        case .ranks, .stretch, .list, .collection: break
        // What groups are made of.
        case .rows: if case .table(let query)? = rows { keys = query.valuesOfGroups.map { SortKey(of: $0) } }
        }
        if let key = sections?.sortKey { keys.append(key) }
        if !keys.contains(where: { $0.path != nil }) { return found.map { ($0.changes, $0.told, []) } }
        let resorted =
            InjectedBug.active(.linkUntouched)
            ? [] : try TouchedObjects(reader).keys(sortedBy: keys, Int(classID))
        if resorted.isEmpty { return found.map { ($0.changes, $0.told, []) } }
        let none = [UInt64](
            repeating: 0, count: ClassChanges.maskWords(reader.to.schema.classes[Int(classID)]))
        let known = found?.changes ?? ClassChanges(maskWords: none.count)
        let all = try adding(Dictionary(uniqueKeysWithValues: resorted.map { ($0, none) }), to: known, reader)
        var isTold: [Int64: Bool] = [:]
        for (row, key) in known.modified.enumerated() { isTold[key] = found?.told?[row] ?? true }
        return (all, all.modified.map { isTold[$0] ?? false }, resorted)
    }

    /// What is modified by what its links lead to, and which properties these are.
    func linked(_ reader: ChangeReader) throws(StoreError) -> [Int64: [UInt64]] {
        let masks = try LinkedChanges(reader, Int(classID), paths).masks
        guard let key else { return masks }
        return masks[key].map { [key: $0] } ?? [:]
    }

    /// - Parameter linked: of which objects what lies behind links was changed.
    private func adding(
        _ linked: [Int64: [UInt64]], to changes: ClassChanges, _ reader: ChangeReader
    ) throws(StoreError) -> ClassChanges {
        var result = ClassChanges(maskWords: changes.maskWords)
        (result.deleted, result.inserted) = (changes.deleted, changes.inserted)
        // Of another class.
        result.isFromOtherProcess = changes.isFromOtherProcess || isFromOtherProcess(reader)
        let test = isWholeClass ? nil : try RowTest(query, .version(reader.to), asksStretch: true)
        // Also those that were not in the answer, and that something led to before.
        let gone = reader.classes[classID]?.deleted ?? []
        var row = 0
        func takeOwn(before key: Int64?) throws(StoreError) {
            while row < changes.modified.count, key.map({ changes.modified[row] < $0 }) ?? true {
                try result.appendModified(changes.modified[row], changes.mask(row))
                row += 1
            }
        }
        for key in linked.keys.sorted() {
            try takeOwn(before: key)
            let mask = linked[key].unsafelyUnwrapped
            if row < changes.modified.count, changes.modified[row] == key {
                let both = zip(mask, changes.mask(row)).map { $0 | $1 }
                try result.appendModified(key, both[...])
                row += 1
                continue
            }
            if gone.hasAscending(key) || changes.deleted.hasAscending(key) || changes.inserted.hasAscending(key) {
                continue
            }
            if try test?.holds(key) == false { continue }
            try result.appendModified(key, mask[...])
        }
        try takeOwn(before: nil)
        return result
    }

    /// What was written in objects of the class, and what came and went.
    private func ownChanges(_ reader: ChangeReader) throws(StoreError) -> ClassChanges? {
        var changes = reader.classes[classID]
        if let key {
            changes?.keep(only: key)
            if changes?.isEmpty == true { return nil }
        }
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
        let before = try RowTest(query, .version(reader.from), asksStretch: true)
        let after = try RowTest(query, .version(reader.to), asksStretch: true)
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
        let unordered = Query(
            query.classID, storeTag: query.storeTag, query.predicate,
            of: query.origin.stretch.map { .stretch($0) } ?? .objects, parts: [query])
        let old = try QueryRun(unordered, .version(reader.from)).keys().ascending()
        let new = try QueryRun(unordered, .version(reader.to)).keys().ascending()
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
        classes(in: reader.to.schema).contains { reader.classes[$0]?.isFromOtherProcess ?? false }
    }

    static func way(_ query: Query) -> Way {
        // What functions give is compared as it is; nothing is built on it that needs to be the same another time.
        guard TouchedObjects.suffice(for: query), !query.callsFunctions else { return .list }
        if query.steps.isEmpty && query.origin.isObjects { return .ranks }
        // What comes later goes first, and the order before it decides where that does not.
        var order: [SortKey] = [], firsts = FirstsOrders(), part = Range.uncut
        if let stretch = query.origin.stretch {
            if query.steps.isEmpty && query.predicate.isTrue { return .stretch }
            guard let own = stretch.order else { return .list }
            order = own
        }
        for (number, step) in query.steps.enumerated() {
            let isCut = part != .uncut
            switch step {
            case .offset, .limit: part.cut(by: step)
            case .sort(let keys) where !isCut && keys.allSatisfy(canFollow): order = keys + order
            case .distinct(let keys) where !isCut && keys.allSatisfy(canFollow):
                firsts.all.append(FirstsOrder(keys: keys + order, values: keys.count, step: number))
            case .sort, .distinct, .filter: return .list
            }
        }
        // The first ones are found at once.
        if query.steps.allSatisfy(\.isCut), query.predicate.isTrue, part.upperBound <= TouchedObjects.most {
            return .list
        }
        if query.origin.collection != nil {
            return ElementsOrder(query.steps, order, firsts).map { .elements($0, part) } ?? .list
        }
        if firsts.all.isEmpty { return .order(order, part) }
        firsts.order = order
        return .firsts(firsts, part)
    }

    private static func canFollow(_ key: SortKey) -> Bool {
        key.path.map(QueryPaths.canFollow) ?? true && key.calls.isEmpty && !key.isFirstLetter
    }
}
